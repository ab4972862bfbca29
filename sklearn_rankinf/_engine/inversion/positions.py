"""Passes from hit to hit: where the first, the second and each further hit may fall.

What all placements of j hits with the last one at a rank weigh together is the sum over all ranks
before it of what j - 1 hits weigh, times the weight of one hit: for all ranks at once a cumulative
sum. For lists of single items, few hits and real tilts that costs far less than walking through the
list.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sklearn_rankinf._engine.hypergeometric import log_binomial
from sklearn_rankinf._engine.inversion.bands import Bands
from sklearn_rankinf._engine.statistics import Floats, Increments

# Up to so many products passes at one tilt, and at many, take less time than walking through
# merged blocks. For the latter all placements must not be more than that, in logarithms.
_MOST_PRODUCTS, _FEW_PRODUCTS, _LOG_PLACEMENTS = 1.2e6, 3e5, 600.0
# Sums are brought back to the middle of the range of floats after so many hits, of which each must
# not weigh more than this, in logarithms. What matters must be no smaller than that.
_TOGETHER, _LOG_HIT, _SMALLEST = 4, 120.0, 1e-200


def apply_to(increments: Increments, n_positives: int) -> bool:
    """Whether all blocks are single items, and hits few enough for these passes."""
    n = increments.sizes.size
    return n == increments.n_samples and n * n_positives <= _MOST_PRODUCTS


def are_few(increments: Increments, n_positives: int) -> bool:
    """Whether hits are few enough for passes at many tilts."""
    n = increments.sizes.size
    return n * n_positives <= _FEW_PRODUCTS and log_binomial(n, n_positives) <= _LOG_PLACEMENTS


def log_mgfs(increments: Increments, n_positives: int, tilts: Floats) -> Floats:
    """Natural logarithm of ``E exp(tilt S)`` for each tilt; nan where it is too steep."""
    n = increments.sizes.size
    values = np.full(tilts.shape, np.nan)
    # A pass loses what is far smaller at the ranks that matter than at its end: it has to begin
    # where a hit adds least.
    reversed_ = _reversed(increments, n_positives)
    adds_most_first = increments.of_one_hit[0] > increments.of_one_hit[-1]
    steep = np.abs(tilts) * _largest_gain(increments, n_positives) > _LOG_HIT
    for is_positive in (True, False):
        same = np.flatnonzero(((tilts > 0.0) == is_positive) & ~steep)
        if same.size:
            listed = reversed_ if adds_most_first == is_positive else increments
            *_, (log_scale, _, weights) = _placements(listed, n_positives, tilts[same])
            values[same] = np.log(weights.sum(axis=1)) + log_scale
    return values - log_binomial(n, n_positives)


def likely_bands(
    increments: Increments, n_positives: int, tilt: float, share: float
) -> Bands | None:
    """Paths that carry the tilted distribution; None where floats do not reach so far.

    Positions of a hit are left out where they carry less than `share` of the likeliest.
    """
    if abs(tilt) * _largest_gain(increments, n_positives) > _LOG_HIT:
        return None
    n, width = increments.sizes.size, increments.sizes.size - n_positives + 1
    tilts, reversed_ = np.array([tilt]), _reversed(increments, n_positives)
    before = np.array([of[0] for _, _, of in _placements(increments, n_positives, tilts)])
    after = np.array([of[0] for _, of, _ in _placements(reversed_, n_positives, tilts)])
    after = after[::-1, ::-1]
    with np.errstate(over="ignore"):
        shares = before * after
    if not np.isfinite(shares).all():
        return None
    matters = shares >= share * shares.max(axis=1, keepdims=True)
    if not min(before[matters].min(), after[matters].min()) > _SMALLEST:
        return None
    hits, ranks = np.arange(n_positives), np.arange(n)
    earliest = hits + matters.argmax(axis=1)
    latest = hits + width - 1 - matters[:, ::-1].argmax(axis=1)
    return Bands(
        np.searchsorted(latest, ranks, side="right"),
        np.searchsorted(earliest, ranks, side="right"),
        np.ones(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
    )


def _placements(
    increments: Increments, n_positives: int, tilts: Floats
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Weights of all placements of the first hits, hit by hit, in ``exp(log_scale)``.

    That is, the log scale, the weights of all hits before the last, and those of all of them. One
    row for each tilt, one column for each rank where the last of them may be: hit j, from 0 on, at
    ranks j to j + n - m.
    """
    c, width = increments, increments.sizes.size - n_positives + 1
    ratios = np.exp(np.outer(tilts, c.cross))
    own = c.linear + c.square
    at_last_rank = own[width:] + c.cross[width:] * np.arange(1, n_positives)
    entering = np.exp(np.outer(tilts, at_last_rank))
    of_a_hit = np.exp(np.outer(tilts, own[:width]))
    weights, log_scale = of_a_hit.copy(), np.zeros(tilts.size)
    yield log_scale, np.ones_like(weights), weights
    for hit in range(1, n_positives):
        np.multiply(of_a_hit[:, 1:], ratios[:, hit : hit + width - 1], out=of_a_hit[:, :-1])
        of_a_hit[:, -1] = entering[:, hit - 1]
        before = weights.cumsum(axis=1)
        if hit % _TOGETHER == 0:
            log_scale = log_scale + np.log(before[:, -1])
            before /= before[:, -1:].copy()
        weights = before * of_a_hit
        yield log_scale, before, weights


def _largest_gain(c: Increments, n_positives: int) -> float:
    """The most that a hit adds, wherever it and those before it may be."""
    ranks = np.arange(c.sizes.size)
    fewest = np.maximum(ranks - (ranks.size - n_positives), 0)
    most = np.minimum(ranks, n_positives - 1)
    own = c.linear + c.square
    return float(max(np.abs(c.cross * hits + own).max() for hits in (fewest, most)))


def _reversed(c: Increments, n_positives: int) -> Increments:
    """The list from its end: what counts there is the hits behind a hit, not those before it."""
    linear = c.linear + (n_positives - 1) * c.cross
    return Increments(c.sizes[::-1], -c.cross[::-1], linear[::-1], c.square[::-1])
