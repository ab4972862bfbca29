"""Tails with two positives, by two-pointer counting.

With a first positive in a block, the second one reaches a value down to some block, which a binary
search finds: O(blocks log(blocks)) for each value ("Two and three positives" in doc/theory.rst).
"""

from __future__ import annotations

import math

import numpy as np

from sklearn_rankinf._engine.estimates import TailEstimates
from sklearn_rankinf._statistics.increments import Floats, Increments


class TwoPositives:
    """Tails of an additive rank statistic of two positives, in blocks of equal scores.

    Parameters
    ----------
    increments : Increments
        Increments to which `apply_to` agrees.
    """

    def __init__(self, increments: Increments) -> None:
        if increments.is_linear:
            # Increments do not depend on the order of the blocks.
            increments = increments[np.argsort(-increments.linear, kind="stable")]
        self._sizes = increments.sizes
        self._first, self._second = increments.of_one_hit, increments.of_one_hit + increments.cross
        self._both = 2.0 * (increments.linear + 2.0 * increments.square)
        self._n_up_to = np.append(0, np.cumsum(self._sizes))

    @staticmethod
    def apply_to(increments: Increments) -> bool:
        """Whether a second positive adds no more than it would in a better block."""
        second = increments.of_one_hit + increments.cross
        return increments.is_linear or bool(np.all(np.diff(second) <= 0.0))

    def n_reaching(self, t: float) -> int:
        """Number of placements with a value of at least t."""
        # Blocks that the second positive may be in, from the first one on.
        n_blocks = np.searchsorted(-self._second, self._first - t, side="right")
        ends = np.arange(1, self._sizes.size + 1)
        behind = self._n_up_to[np.maximum(n_blocks, ends)] - self._n_up_to[ends]
        within = (self._sizes * (self._sizes - 1) // 2)[self._both >= t]
        return int(np.sum(self._sizes * behind)) + int(np.sum(within))

    def tail(self, t: Floats, sign: int) -> TailEstimates:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1).

        A quotient of two integers, rounded, and its logarithm.
        """
        beyond = t if sign > 0 else np.nextafter(t, np.inf)
        n_from = np.array([self.n_reaching(value) for value in beyond.tolist()])
        n_all = math.comb(int(self._n_up_to[-1]), 2)
        with np.errstate(divide="ignore"):
            log_p = np.log((n_from if sign > 0 else n_all - n_from) / n_all)
        return TailEstimates.of(log_p, "two positives", rounding=1e-13)
