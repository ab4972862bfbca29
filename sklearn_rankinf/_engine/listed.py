"""Distributions of rank statistics: what they answer, and those that are given by their atoms."""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

import numpy as np

from sklearn_rankinf._engine.estimates import (
    LOG_WHOLE,
    ROUNDING_OF_LISTS,
    ROUNDING_OF_LOGS,
    TINY,
    TailEstimates,
)
from sklearn_rankinf._statistics import Floats

# Logarithms up to here are rounded by less than that.
_SMALL_LOGARITHM = 30.0


class Distribution(Protocol):
    """Tails, quantiles and support of a distribution."""

    @property
    def is_listed(self) -> bool:
        """Whether every atom is known."""

    def tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), its log, and the relative error."""

    def quantile(self, q: Floats, sign: int) -> Floats:
        """Smallest v with ``P(S <= v) >= q`` (sign -1) or ``P(S > v) <= q`` (sign 1)."""

    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""


@runtime_checkable
class BoundedDistribution(Distribution, Protocol):
    """A distribution that is not listed, with guaranteed bounds of its tails."""

    def bounds(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Guaranteed bounds of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1)."""


@runtime_checkable
class EstimatedDistribution(Distribution, Protocol):
    """A distribution whose tails have errors by parts, and solvers."""

    def estimates(self, t: Floats, sign: int) -> TailEstimates:
        """Tails with the parts of their errors, and the solvers that answered."""


class ListedDistribution:
    """A distribution given by its atoms.

    Parameters
    ----------
    values : ndarray of shape (n_atoms,)
        Ascending values.
    log_weights : ndarray of shape (n_atoms,)
        Natural logarithms of their weights, which need not be normalised. Small whole weights stay
        whole, so that a probability is a ratio of counts.
    solver : str, default="enumeration"
        Name of the algorithm that found them.
    """

    is_listed = True

    def __init__(self, values: Floats, log_weights: Floats, solver: str = "enumeration") -> None:
        self.values, self._solver = values, solver
        self._up_to = cumulative_shares(log_weights)[:2]
        self._from = tuple(sums[::-1] for sums in cumulative_shares(log_weights[::-1])[:2])
        # Large logarithms are rounded in proportion to their size.
        largest = float(np.abs(log_weights).max())
        self._error = ROUNDING_OF_LISTS + ROUNDING_OF_LOGS * max(0.0, largest - _SMALL_LOGARITHM)

    @property
    def n_kept(self) -> int:
        """Numbers that are kept in lists."""
        return 5 * self.values.size

    def tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), its log, and the relative error."""
        if sign > 0:
            sums, index = self._from, np.searchsorted(self.values, t, side="left")
            outside = index == self.values.size
        else:
            sums, index = self._up_to, np.searchsorted(self.values, t, side="right") - 1
            outside = index < 0
        index = np.clip(index, 0, self.values.size - 1)
        p, log_p = (np.asarray(part[index]) for part in sums)
        error = np.full(t.shape, self._error)
        return np.where(outside, 0.0, p), np.where(outside, -np.inf, log_p), error

    def estimates(self, t: Floats, sign: int) -> TailEstimates:
        """The same with the parts of the errors, and the solver."""
        _, log_p, error = self.tail(t, sign)
        return TailEstimates.of(log_p, self._solver, rounding=error)

    def quantile(self, q: Floats, sign: int) -> Floats:
        """Smallest value v with ``P(S <= v) >= q`` (sign -1) or ``P(S > v) <= q`` (sign 1)."""
        if sign < 0:
            index = np.searchsorted(self._up_to[0], q * (1.0 - 1e-12), side="left")
        else:
            strictly_above = np.append(self._from[0][1:], 0.0)
            reached = np.searchsorted(strictly_above[::-1], q * (1.0 + 1e-12), side="right")
            index = self.values.size - reached
        return np.asarray(self.values[np.clip(index, 0, self.values.size - 1)])

    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        return float(self.values[0]), float(self.values[-1])


class AffineDistribution:
    """The distribution of ``offset + scale X``, with a positive scale, by that of X."""

    def __init__(self, distribution: Distribution, offset: float, scale: float = 1.0) -> None:
        self._distribution, self._offset, self._scale = distribution, offset, scale

    @property
    def is_listed(self) -> bool:
        """Whether every atom is known."""
        return self._distribution.is_listed

    @property
    def n_kept(self) -> float:
        """Numbers that are kept in lists."""
        return float(getattr(self._distribution, "n_kept", 0.0))

    def tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), its log, and the relative error."""
        return self._distribution.tail((t - self._offset) / self._scale, sign)

    def estimates(self, t: Floats, sign: int) -> TailEstimates:
        """The same with the parts of the errors, and the solvers that answered."""
        assert isinstance(self._distribution, EstimatedDistribution)
        return self._distribution.estimates((t - self._offset) / self._scale, sign)

    def quantile(self, q: Floats, sign: int) -> Floats:
        """Smallest v with ``P(S <= v) >= q`` (sign -1) or ``P(S > v) <= q`` (sign 1)."""
        return np.asarray(self._offset + self._scale * self._distribution.quantile(q, sign))

    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        low, high = self._distribution.support()
        return self._offset + self._scale * low, self._offset + self._scale * high

    def bounds(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Guaranteed bounds of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1)."""
        assert isinstance(self._distribution, BoundedDistribution)
        return self._distribution.bounds((t - self._offset) / self._scale, sign)


def cumulative_shares(log_weights: Floats) -> tuple[Floats, Floats, float]:
    """Shares of the total up to each weight, their logarithms, and the logarithm of the total."""
    top = float(log_weights.max())
    # Whole numbers of placements add up without rounding, the others in extended precision.
    if top + math.log(float(np.exp(log_weights - top).sum())) < LOG_WHOLE:
        weights, top = np.rint(np.exp(log_weights)), 0.0
    else:
        weights = np.exp(log_weights - top)
    sums = np.cumsum(weights, dtype=np.longdouble)
    shares, log_total = np.asarray(sums / sums[-1], dtype=float), math.log(float(sums[-1])) + top
    with np.errstate(divide="ignore"):
        log_shares = np.log(shares)
    tiny = int(np.searchsorted(shares, TINY))
    if tiny:
        log_shares[:tiny] = np.logaddexp.accumulate(log_weights[:tiny]) - log_total
    return shares, log_shares, log_total
