"""The reciprocal rank, which has few values.

It is not a sum over blocks. A block of ``g`` equal scores after ``a`` items counts its expectation
over random tie-breaking. "The first positive" in doc/theory.rst.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sklearn_rankinf._metrics.values import CallableMetric
from sklearn_rankinf._statistics import (
    Denominators,
    Floats,
    HitBlocks,
    HitValues,
    Integers,
    log_binomial,
    log_pmf,
    log_tail,
)

# Weights of atoms are numbers of placements up to this logarithm, and in proportion to them beyond.
_LARGE_LOG_COUNT = 40.0


@dataclass(frozen=True, repr=False)
class ReciprocalRank(CallableMetric):
    r"""Reciprocal rank: one over the rank of the first positive.

    See Also
    --------
    sklearn.metrics.label_ranking_average_precision_score : Mean of the reciprocal rank over rows
        with one label each.

    Notes
    -----
    If the first positive is in a block of g equal scores, y of them positive, after :math:`a`
    samples with better scores, the value is the expectation over random tie-breaking [1]_,

    .. math:: \sum_{j=1}^{g-y+1} \binom{g-j}{y-1} \Big/ \binom{g}{y} \cdot \frac{1}{a + j}.

    Without ties the p-value of a first positive at rank r is
    :math:`1 - \binom{n-r}{m} / \binom{n}{m}`. The p-value is never below the prevalence, since only
    the first positive counts.

    References
    ----------
    .. [1] Voorhees, E. M. (1999). The TREC-8 question answering track report. Proceedings of the
       8th Text REtrieval Conference, 77-82.

    Examples
    --------
    >>> from sklearn_rankinf import ReciprocalRank, metric_test
    >>> y_true, y_score = [0, 1, 0, 1, 0, 0, 1, 0], [8, 7, 6, 5, 4, 3, 2, 1]
    >>> result = metric_test(y_true, y_score, metric=ReciprocalRank())
    >>> result.statistic, round(result.pvalue * 56, 9)
    (0.5, 36.0)
    >>> ReciprocalRank()([0, 1], [0.5, 0.5])
    0.75
    """

    distribution = "listed"
    has_exact_mean = True

    @property
    def symbol(self) -> str:
        return "RR"

    def best(self, n_samples: int, n_positives: int) -> float:
        return 1.0 if n_positives else 0.0

    def evaluate(self, tie_sizes: Integers, hits: Integers) -> float:
        found = np.flatnonzero(hits)
        if not found.size:
            return 0.0
        first = found[0]
        start = np.array([tie_sizes[:first].sum()])
        values = mean_reciprocals_of_firsts(start, tie_sizes[first : first + 1])
        return float(values[hits[first] - 1])

    def hit_values(self, n_samples: int, n_positives: int, tie_sizes: Integers | None) -> HitValues:
        if tie_sizes is None:
            return _first_reciprocals
        starts = np.cumsum(tie_sizes) - tie_sizes
        values = mean_reciprocals_of_firsts(starts, tie_sizes)
        return partial(_first_mean_reciprocals, starts, values)

    def totals(self, blocks: HitBlocks, *, are_kept: bool) -> Floats:
        """Reciprocal rank of the first hit of each list, the mean over all orders of its block."""
        first = blocks.before == 0
        sizes = blocks.sizes[first]
        values = mean_reciprocals_of_firsts(blocks.starts[first], sizes)
        reciprocals = np.zeros(blocks.n_lists)
        at = np.cumsum(sizes) - sizes + blocks.hits[first] - 1
        reciprocals[blocks.lists[first]] = values[at]
        return reciprocals

    def denominators(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> Denominators | None:
        """The ranks of the first positive."""
        return (1, range(1, n_samples - n_positives + 2)) if tie_sizes is None else None

    def atoms(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> tuple[Floats, Floats]:
        return first_hit_atoms(n_samples, n_positives, tie_sizes)

    def significant_hits(
        self, alpha: float, n_samples: int, n_positives: int
    ) -> tuple[float, int, int]:
        ranks = range(1, n_samples - n_positives + 1)
        # As for hits at k, a tail of probability 1 is above every level.
        level = min(math.log(alpha * (1.0 + 1e-12)), -np.finfo(float).tiny)
        k = bisect_right(ranks, level, key=lambda k: float(log_tail(1, n_samples, n_positives, k)))
        return (1.0 / k if k else math.nan), 1, k

    def expected_in(self, model: Any, effect: float, n_samples: int, n_positives: int) -> float:
        return float(model.expected_reciprocal_rank(n_samples, n_positives, effect))


def _first_reciprocals(ranks: Integers) -> Floats:
    """One over the first rank, which starts at 0, of each row."""
    return np.asarray(1.0 / (ranks[:, 0] + 1.0))


def _first_mean_reciprocals(starts: Integers, values: Floats, places: Integers) -> Floats:
    """Values of the first blocks with hits, by the number of hits in them."""
    n_first = np.sum(places == places[:, :1], axis=1)
    return np.asarray(values[starts[places[:, 0]] + n_first - 1])


def first_hit_atoms(n: int, m: int, tie_sizes: Integers | None) -> tuple[Floats, Floats]:
    """Ascending values, and logarithms of their weights, if possible numbers of placements.

    If the first block with hits has y of them among g items, after a items, there are
    ``C(n - a - g, m - y) C(g, y)`` placements.
    """
    if m == 0:
        return np.zeros(1), np.zeros(1)
    if tie_sizes is None:
        ahead = np.arange(n - m + 1.0)
        values, hit = 1.0 / (ahead + 1.0), m / (n - ahead)
        misses = np.cumsum(np.log1p(-hit[:-1]), dtype=np.longdouble)
        log_p = np.log(hit)
        log_p[1:] += misses.astype(float)
    else:
        values, log_p = _atoms_of_blocks(n, m, tie_sizes)
    order = np.argsort(values, kind="stable")
    # Differences of larger logarithms would lose digits.
    return values[order], log_p[order] + min(log_binomial(n, m), _LARGE_LOG_COUNT)


def _atoms_of_blocks(n: int, m: int, sizes: Integers) -> tuple[Floats, Floats]:
    """Values for each number of hits in the first block with hits, and their log probabilities."""
    starts = np.cumsum(sizes) - sizes
    start, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    found = np.arange(n) - start + 1
    possible = (found <= m) & (m - found <= n - start - size)
    start, size, found = start[possible], size[possible], found[possible]
    log_p = log_pmf(0, n, m, start) + log_pmf(found, n - start, m, size)
    return mean_reciprocals_of_firsts(starts, sizes)[possible], log_p


def mean_reciprocals_of_firsts(starts: Integers, sizes: Integers) -> Floats:
    """``E 1 / (a + J)`` with J the first of y random places of g, for y = 1, ..., g block by block.

    The recursion ``(a + g - y + 1) E_y = 1 + E_{y+1} y (g - y) / (y + 1)`` starts at
    ``E_g = 1 / (a + 1)`` and has only positive terms. The affine steps of all blocks are composed
    in pairs, over distances that double.
    """
    a, g = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    before = np.cumsum(sizes) - sizes
    y = np.arange(1.0, a.size + 1.0) - np.repeat(before, sizes)
    level = 1.0 / (a + g - y + 1.0)
    slope = y * (g - y) / (y + 1.0) * level
    reach = 1
    while reach < sizes.max() and slope.any():
        level[:-reach] += slope[:-reach] * level[reach:]
        slope[:-reach] *= slope[reach:]
        slope[-reach:] = 0.0
        reach *= 2
    return np.asarray(level)
