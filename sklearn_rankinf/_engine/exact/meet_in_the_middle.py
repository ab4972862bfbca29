"""Exact tails of distributions of few blocks, listed by halves.

The hits of all blocks but the last few and of the last few are listed separately: a value is the
sum of one from each list, given the hits that the first half holds. With the second list sorted a
tail is a sum over the first, so the work grows like the square root of the number of outcomes.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from scipy.special import logsumexp

from sklearn_rankinf._engine.exact.enumeration import Listed, partial_outcomes
from sklearn_rankinf._engine.hypergeometric import log_binomial
from sklearn_rankinf._engine.statistics import Floats, Increments, Integers

# Sums of both halves that are held in memory together.
_MOST_AT_ONCE = 1_000_000
# More partial outcomes are not counted.
_TOO_MANY = 1e15


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
        pairs = zip(_by_hits(first, n_positives), _by_hits(second, n_positives), strict=True)
        # Values and log weights of both halves, for every number of hits that both can have.
        self._parts = [
            (*of_first, *_ascending(*of_second))
            for of_first, of_second in pairs
            if of_first[0].size and of_second[0].size
        ]
        self._tails: dict[int, list[Floats]] = {}

    @property
    def n_kept(self) -> int:
        """Numbers that are kept."""
        return sum(2 * first.size + 4 * second.size for first, _, second, _ in self._parts)

    def log_tail(self, t: Floats, sign: int) -> Floats:
        """Log of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1)."""
        n_first = sum(first.size for first, _, _, _ in self._parts)
        n_chunks = -(-t.size * n_first // _MOST_AT_ONCE)
        chunks = np.array_split(t, max(1, min(t.size, n_chunks)))
        return np.concatenate([self._log_tail(chunk, sign) for chunk in chunks])

    def _log_tail(self, t: Floats, sign: int) -> Floats:
        if sign not in self._tails:
            self._tails[sign] = [_log_tails(logs, sign) for _, _, _, logs in self._parts]
        terms = []
        for (first, logs, second, _), tails in zip(self._parts, self._tails[sign], strict=True):
            rest = t[:, None] - first
            place = np.searchsorted(second, rest, side="left" if sign > 0 else "right")
            terms.append(logs + tails[place])
        with np.errstate(divide="ignore"):
            # Along the last axis numpy sums in pairs, which keeps the digits.
            total = logsumexp(np.concatenate(terms, axis=1), axis=1)
        return np.asarray(total) - self._log_placements


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
        if numbers[-1] > _TOO_MANY:
            break
    return np.pad(numbers, (0, sizes.size + 1 - len(numbers)), constant_values=math.inf)


def _by_hits(listed: Listed, n_positives: int) -> list[tuple[Floats, Floats]]:
    """Values and log weights for each number of hits."""
    hits, values, logs = listed
    order = np.argsort(hits, kind="stable")
    values, logs = values[order], logs[order]
    bounds = np.searchsorted(hits[order], np.arange(n_positives + 2))
    return [(values[a:b], logs[a:b]) for a, b in pairwise(bounds)]


def _ascending(values: Floats, logs: Floats) -> tuple[Floats, Floats]:
    order = np.argsort(values)
    return values[order], logs[order]


def _log_tails(logs: Floats, sign: int) -> Floats:
    """Log of the weight from each place on (sign 1) or below it (sign -1)."""
    if sign > 0:
        return np.append(_log_cumsum(logs[::-1])[::-1], -np.inf)
    return np.append(-np.inf, _log_cumsum(logs))


def _log_cumsum(logs: Floats) -> Floats:
    top = logs.max()
    if logs.min() < top - 600.0:
        return np.asarray(np.logaddexp.accumulate(logs))
    sums = np.cumsum(np.exp(logs - top), dtype=np.longdouble)
    return np.asarray(np.log(sums.astype(float)) + top)


def _from_the_top(increments: Increments, n_positives: int, split: int) -> Listed:
    """Hits, value and log weight of every outcome of the blocks before the split."""
    return partial_outcomes(increments[slice(split)], n_positives, increments.n_samples)


def _from_the_bottom(increments: Increments, n_positives: int, split: int) -> Listed:
    """Hits before the split, what the blocks from there on add, and log weight of every outcome."""
    turned = increments.from_the_end(n_positives)
    n_blocks = increments.sizes.size - split
    hits, values, logs = partial_outcomes(
        turned[slice(n_blocks)], n_positives, increments.n_samples
    )
    return n_positives - hits, values, logs
