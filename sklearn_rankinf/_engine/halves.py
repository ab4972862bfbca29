"""Exact tails of laws of few blocks, listed by halves.

The hits of all blocks but the last few and of the last few are listed separately: a value is the
sum of one from each list, given the hits that the first half holds. With the second list sorted a
tail is a sum over the first, so the work grows like the square root of the number of outcomes.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.special import logsumexp

from sklearn_rankinf._engine.statistics import Floats, Increments, Integers, log_binomial

_Listed = tuple[Integers, Floats, Floats]


class Halves:
    """Tails of an additive rank statistic from two lists of partial outcomes.

    Parameters
    ----------
    increments : Increments
        The statistic, block by block.
    n_positives : int
        Number of positives.
    split : int
        First block of the second half.
    """

    def __init__(self, increments: Increments, n_positives: int, split: int) -> None:
        self._log_placements = log_binomial(increments.n_samples, n_positives)
        first = _from_the_top(increments, n_positives, split)
        second = _from_the_bottom(increments, n_positives, split)
        self._first = _by_hits(first, n_positives)
        self._second = [_with_tails(*part) for part in _by_hits(second, n_positives)]

    def log_tail(self, t: Floats, sign: int) -> Floats:
        """Log of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1)."""
        terms = [np.full((1, t.size), -np.inf)]
        for (first, logs), (second, up_to, from_) in zip(self._first, self._second, strict=True):
            if first.size and second.size:
                rest = t - first[:, None]
                if sign > 0:
                    beyond = from_[np.searchsorted(second, rest, side="left")]
                else:
                    beyond = up_to[np.searchsorted(second, rest, side="right")]
                terms.append(logs[:, None] + beyond)
        total = np.concatenate(terms)
        with np.errstate(divide="ignore"):
            return np.asarray(logsumexp(total, axis=0)) - self._log_placements


def best_split(sizes: Integers, n_positives: int) -> tuple[int, float]:
    """The split with the shortest lists, and their length together."""
    down = _numbers_of_partial_outcomes(sizes, n_positives)
    up = _numbers_of_partial_outcomes(sizes[::-1], n_positives)[::-1]
    length = down + up
    split = int(np.argmin(length))
    return split, float(length[split])


def _numbers_of_partial_outcomes(sizes: Integers, n_positives: int) -> Floats:
    """How many outcomes the first 0, 1, 2, ... blocks have that can be completed."""
    ways = np.zeros(n_positives + 1)
    ways[0] = 1.0
    remaining = int(sizes.sum())
    numbers = [1.0]
    for size in sizes:
        remaining -= int(size)
        ways = np.cumsum(ways)
        if size < n_positives:
            ways[size + 1 :] -= ways[: n_positives - size].copy()
        ways[: max(0, n_positives - remaining)] = 0.0
        numbers.append(float(ways.sum()))
    return np.asarray(numbers)


def _by_hits(listed: _Listed, n_positives: int) -> list[tuple[Floats, Floats]]:
    """Values and log weights for each number of hits."""
    hits, values, logs = listed
    order = np.argsort(hits, kind="stable")
    values, logs = values[order], logs[order]
    bounds = np.searchsorted(hits[order], np.arange(n_positives + 2))
    return [(values[a:b], logs[a:b]) for a, b in pairwise(bounds)]


def _with_tails(values: Floats, logs: Floats) -> tuple[Floats, Floats, Floats]:
    """Ascending values, the log of the weight below each place, and from each place on."""
    order = np.argsort(values)
    values, logs = values[order], logs[order]
    nothing = np.array([-np.inf])
    if not values.size:
        return values, nothing, nothing
    up_to = np.concatenate([nothing, _log_cumsum(logs)])
    from_ = np.concatenate([_log_cumsum(logs[::-1])[::-1], nothing])
    return values, up_to, from_


def _log_cumsum(logs: Floats) -> Floats:
    top = logs.max()
    if logs.min() < top - 600.0:
        return np.asarray(np.logaddexp.accumulate(logs))
    return np.asarray(np.log(np.cumsum(np.exp(logs - top))) + top)


def _from_the_top(increments: Increments, n_positives: int, split: int) -> _Listed:
    """Hits, value and log weight of every outcome of the blocks before the split."""
    hits, values, logs = np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1)
    remaining = increments.n_samples - increments.starts - increments.sizes
    for block in range(split):
        y, weights = _hits_of_block(increments, n_positives, block)
        after = hits[:, None] + y
        kept = (after <= n_positives) & (n_positives - after <= remaining[block])
        gains = _gains(increments, block, hits[:, None], y)
        values = (values[:, None] + gains)[kept]
        logs = (logs[:, None] + weights)[kept]
        hits = after[kept]
    return hits, values, logs


def _from_the_bottom(increments: Increments, n_positives: int, split: int) -> _Listed:
    """Hits before the split, what the blocks from there on add, and log weight of every outcome."""
    hits, values, logs = np.full(1, n_positives, dtype=np.int64), np.zeros(1), np.zeros(1)
    starts = increments.starts
    for block in range(increments.sizes.size - 1, split - 1, -1):
        y, weights = _hits_of_block(increments, n_positives, block)
        before = hits[:, None] - y
        kept = (before >= 0) & (before <= starts[block])
        gains = _gains(increments, block, before, y)
        values = (values[:, None] + gains)[kept]
        logs = (logs[:, None] + weights)[kept]
        hits = before[kept]
    return hits, values, logs


def _hits_of_block(increments: Increments, n_positives: int, block: int) -> tuple[Integers, Floats]:
    """Possible hits in a block, and the logs of the numbers of their placements."""
    size = int(increments.sizes[block])
    y = np.arange(min(size, n_positives) + 1)
    ratios = (size - y[1:] + 1.0) / y[1:]
    return y, np.concatenate([[0.0], np.cumsum(np.log(ratios))])


def _gains(increments: Increments, block: int, before: Integers, y: Integers) -> Floats:
    return np.asarray(
        y
        * (
            increments.cross[block] * before
            + increments.linear[block]
            + increments.square[block] * y
        )
    )
