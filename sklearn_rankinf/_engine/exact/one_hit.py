"""The distribution of a statistic of a single hit in a long list without ties.

The value is the weight of the rank of the hit, which is uniform, and no rank has more than the one
before it: the share of ranks with at least a given weight is found by bisection. Of average
precision it is ``floor(1 / x) / n``.
"""

from __future__ import annotations

import numpy as np

from sklearn_rankinf._engine.estimates import TailEstimates
from sklearn_rankinf._statistics import Floats, Integers, Statistic, horizon_of

# Rounding error of a ratio of counts.
_ROUNDING = 1e-13


class OneHit:
    """The distribution of the weight of a random rank."""

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
            return p, np.log(p), np.full(t.shape, _ROUNDING)

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
