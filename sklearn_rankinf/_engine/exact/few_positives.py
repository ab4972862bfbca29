"""Tails with one, two or three positives, by counting placements.

With a first positive in a block, the second one reaches a value down to some block, which a binary
search finds: O(n log n) for each value and n blocks ("Two and three positives" in doc/theory.rst).
Of three positives the first one leaves two in later blocks: O(n**2 log n).
"""

from __future__ import annotations

import math

import numpy as np

from sklearn_rankinf._engine.estimates import ROUNDING_OF_LISTS, TailEstimates
from sklearn_rankinf._statistics import Floats, Increments, Integers, Statistic, horizon_of


class OneHit:
    """The distribution of the weight of a random rank, of a single hit in a list without ties.

    No rank has more than the one before it: the share of ranks with at least a given weight is
    found by bisection. Of average precision it is ``floor(1 / x) / n``.
    """

    is_listed = True

    def __init__(self, statistic: Statistic, n_samples: int) -> None:
        self._statistic, self._n_samples = statistic, n_samples
        self._n_ranks = horizon_of(statistic, n_samples)

    def tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), its log, and the relative error."""
        if sign > 0:
            count = self._n_above(t, strictly=False)
        else:
            count = self._n_samples - self._n_above(t, strictly=True)
        p = count / self._n_samples
        with np.errstate(divide="ignore"):
            return p, np.log(p), np.full(t.shape, ROUNDING_OF_LISTS)

    def estimates(self, t: Floats, sign: int) -> TailEstimates:
        """The same with the parts of the errors, and the solver."""
        _, log_p, error = self.tail(t, sign)
        return TailEstimates.of(log_p, "closed form", rounding=error)

    def quantile(self, q: Floats, sign: int) -> Floats:
        """Smallest v with ``P(S <= v) >= q`` (sign -1) or ``P(S > v) <= q`` (sign 1)."""
        n = self._n_samples
        if sign > 0:
            n_above = np.floor(q * n * (1.0 + 1e-12))
        else:
            n_above = n - np.ceil(q * n * (1.0 - 1e-12))
        return self._weights(np.clip(n_above, 0, n - 1).astype(np.int64) + 1)

    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        highest, lowest = self._weights(np.array([1, self._n_samples])).tolist()
        return lowest, highest

    def _n_above(self, t: Floats, strictly: bool) -> Integers:
        """Number of items of at least, or more than, a weight."""
        low, high = np.zeros(t.shape, np.int64), np.full(t.shape, self._n_samples, np.int64)
        while np.any(low < high):
            rank = (low + high) // 2 + 1
            weight = self._weights(np.minimum(rank, self._n_samples))
            reached = (weight > t) if strictly else (weight >= t)
            reached &= low < high
            low, high = np.where(reached, rank, low), np.where(reached, high, rank - 1)
            high = np.maximum(low, high)
        return low

    def _weights(self, ranks: Integers) -> Floats:
        """Weights of ranks; of those behind the horizon 0."""
        inside = np.minimum(ranks, self._n_ranks)
        weights = self._statistic.tied(inside - 1, 1, self._n_samples, 1).of_one_hit
        return np.where(ranks <= self._n_ranks, weights, 0.0)


class FewPositives:
    """Tails of an additive rank statistic of two or three positives, in blocks of equal scores.

    Parameters
    ----------
    increments : Increments
        Increments to which `apply_to` agrees.
    n_positives : int
        Number of positives, 2 or 3.
    """

    def __init__(self, increments: Increments, n_positives: int) -> None:
        if increments.is_linear:
            # Increments do not depend on the order of the blocks.
            increments = increments[np.argsort(-increments.linear, kind="stable")]
        self._m, self._blocks = n_positives, increments
        self._n_up_to = np.append(0, np.cumsum(increments.sizes))
        before = range(n_positives)
        # What one hit and two hits of a block add, by the number of hits before the block.
        self._one = [increments.of_one_hit + h * increments.cross for h in before]
        self._two = [2.0 * (one + increments.square) for one in self._one]

    @staticmethod
    def apply_to(increments: Increments, n_positives: int) -> bool:
        """Whether no later positive adds more than it would in a better block."""
        later = (increments.of_one_hit + h * increments.cross for h in range(1, n_positives))
        return increments.is_linear or all(np.all(np.diff(one) <= 0.0) for one in later)

    @property
    def n_searches(self) -> float:
        """Number of binary searches for one value."""
        return float(self._blocks.sizes.size) ** (self._m - 1)

    def n_reaching(self, t: float) -> int:
        """Number of placements with a value of at least t."""
        if self._m == 2:
            return self._n_pairs(0, 0, t)
        sizes, (first, _, third) = self._blocks.sizes, self._one
        two, n_all = self._two[0], int(self._n_up_to[-1])
        three = 3.0 * (first + 2.0 * self._blocks.square)
        n_triples = sizes * (sizes - 1) // 2 * (sizes - 2) // 3
        number = int(n_triples[three >= t].sum())
        # Two hits in one block, and the third one in a later block.
        reached = self._n_up_to[np.searchsorted(-third, two - t, side="right")]
        behind = np.maximum(reached - self._n_up_to[1:], 0)
        number += int(np.sum(sizes * (sizes - 1) // 2 * behind))
        # One hit, and two in later blocks, which add no more than the largest increments there.
        most = np.maximum(self._one[1], np.maximum(third, 0.5 * self._two[1]))
        least = np.minimum(self._one[1], np.minimum(third, 0.5 * self._two[1]))
        most = np.append(np.maximum.accumulate(most[:0:-1])[::-1], -np.inf)
        least = np.append(np.minimum.accumulate(least[:0:-1])[::-1], np.inf)
        rest = t - first
        is_certain = 2.0 * least >= rest + 1e-9 * abs(t)
        n_left = n_all - self._n_up_to[1:]
        number += int(np.sum((sizes * (n_left * (n_left - 1) // 2))[is_certain]))
        is_possible = ~is_certain & (2.0 * most >= rest - 1e-9 * abs(t))
        for block in np.flatnonzero(is_possible).tolist():
            number += int(sizes[block]) * self._n_pairs(block + 1, 1, float(rest[block]))
        return number

    def _n_pairs(self, start: int, before: int, t: float) -> int:
        """Placements of two hits from a block on that add at least t, with hits before them."""
        first, second = self._one[before][start:], self._one[before + 1][start:]
        sizes, n_up_to = self._blocks.sizes[start:], self._n_up_to[start:]
        # Blocks that the second hit may be in, from the first one on.
        n_blocks = np.searchsorted(-second, first - t, side="right")
        ends = np.arange(1, sizes.size + 1)
        behind = n_up_to[np.maximum(n_blocks, ends)] - n_up_to[ends]
        within = (sizes * (sizes - 1) // 2)[self._two[before][start:] >= t]
        return int(np.sum(sizes * behind)) + int(np.sum(within))

    def tail(self, t: Floats, sign: int) -> TailEstimates:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1).

        A quotient of two integers, rounded, and its logarithm.
        """
        beyond = t if sign > 0 else np.nextafter(t, np.inf)
        n_from = np.array([self.n_reaching(value) for value in beyond.tolist()], dtype=np.int64)
        n_all = math.comb(int(self._n_up_to[-1]), self._m)
        with np.errstate(divide="ignore"):
            log_p = np.log((n_from if sign > 0 else n_all - n_from) / n_all)
        return TailEstimates.of(log_p, "two or three positives", rounding=1e-13)
