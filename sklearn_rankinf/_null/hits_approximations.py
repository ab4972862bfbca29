"""Binomial and normal approximations of the distribution of hits at k.

"Hits needed" in the theory page of the documentation states their errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats
from scipy.special import log_ndtr, ndtr, ndtri

from sklearn_rankinf._engine import HitsDistribution
from sklearn_rankinf._statistics import Floats


class ApproximateHits:
    """An approximation of the distribution of hits at k, on the values that hits can have.

    It has a single value if the exact distribution has.

    Parameters
    ----------
    exact : HitsDistribution
        The distribution that is approximated.
    """

    is_listed = False

    def __init__(self, exact: HitsDistribution) -> None:
        self._exact = exact
        low, high = exact.support()
        self._constant = np.asarray(low) == np.asarray(high)

    def tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """Upper (sign 1) or lower (sign -1) tail and its log; the error is unknown."""
        p, log_p = self._approximate_tail(t * self._exact.divisor, sign)
        error = np.full(p.shape, np.inf)
        if not self._constant.any():
            return p, log_p, error
        exact = self._exact.tail(t, sign)
        return tuple(  # type: ignore[return-value]
            np.where(self._constant, one, other)
            for one, other in zip(exact, (p, log_p, error), strict=True)
        )

    def quantile(self, q: Floats, sign: int) -> Floats:
        """Smallest value v with ``P(S <= v) >= q`` (sign -1) or ``P(S > v) <= q`` (sign 1)."""
        value = self._approximate_quantile(q, sign) / self._exact.divisor
        return np.asarray(np.where(self._constant, self._exact.support()[0], value))

    def support(self) -> tuple[Any, Any]:
        """Smallest and largest value."""
        low, high = (
            np.where(self._constant, exact, np.asarray(end) / self._exact.divisor)
            for exact, end in zip(self._exact.support(), self._approximate_ends(), strict=True)
        )
        return (low, high) if low.ndim else (float(low), float(high))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw from the distribution, for every entry of k independently."""
        shape = shape + self._exact.before.shape
        return self.quantile(rng.uniform(1e-300, 1.0, size=shape), -1)

    def _approximate_tail(self, hits: Floats, sign: int) -> tuple[Floats, Floats]:
        raise NotImplementedError

    def _approximate_quantile(self, q: Floats, sign: int) -> Floats:
        raise NotImplementedError

    def _approximate_ends(self) -> tuple[Any, Any]:
        raise NotImplementedError


class BinomialHits(ApproximateHits):
    """Hits as if items were drawn with replacement: binomial with k trials, whole numbers only."""

    def __init__(self, exact: HitsDistribution) -> None:
        super().__init__(exact)
        self._trials = exact.before + exact.counted
        self._share = exact.n_positives / exact.n_samples

    def _approximate_tail(self, hits: Floats, sign: int) -> tuple[Floats, Floats]:
        return binomial_tail(hits, self._trials, self._share, sign)

    def _approximate_quantile(self, q: Floats, sign: int) -> Floats:
        distribution = stats.binom(self._trials, self._share)
        return np.asarray(distribution.isf(q) if sign > 0 else distribution.ppf(q), dtype=float)

    def _approximate_ends(self) -> tuple[Any, Any]:
        return np.zeros_like(self._trials), self._trials


class NormalHits(ApproximateHits):
    """The normal approximation by mean and variance, with a continuity correction.

    Parameters
    ----------
    exact : HitsDistribution
        The distribution that is approximated.
    mean, deviation : float
        Exact mean and standard deviation of the statistic, given the ties.
    """

    def __init__(self, exact: HitsDistribution, mean: float, deviation: float) -> None:
        super().__init__(exact)
        self._mean = np.asarray(mean * exact.divisor)
        self._deviation = np.where(self._constant, 1.0, deviation * exact.divisor)
        self._half = 0.5 / exact.n_units

    def _approximate_tail(self, hits: Floats, sign: int) -> tuple[Floats, Floats]:
        units = hits * self._exact.n_units
        hits = (np.ceil(units) if sign > 0 else np.floor(units)) / self._exact.n_units
        return normal_tail(hits, self._mean, self._deviation, sign, self._half)

    def _approximate_quantile(self, q: Floats, sign: int) -> Floats:
        limit = self._mean - sign * ndtri(q) * self._deviation - self._half
        # A limit on a value, up to rounding, is that value.
        return np.asarray(np.ceil(limit * self._exact.n_units - 1e-9) / self._exact.n_units)

    def _approximate_ends(self) -> tuple[Any, Any]:
        everywhere = np.full(self._half.shape, np.inf)
        return -everywhere, everywhere


def binomial_tail(hits: Any, trials: Any, share: float, sign: int) -> tuple[Floats, Floats]:
    """``P(B >= hits)`` (sign 1) or ``P(B <= hits)`` (sign -1) and its logarithm.

    Where the probability underflows the logarithm is that of its bound by a geometric series.
    """
    distribution = stats.binom(trials, share)
    hits = np.ceil(hits) if sign > 0 else np.floor(hits)
    p = np.asarray(distribution.sf(hits - 1.0) if sign > 0 else distribution.cdf(hits))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p = np.log(p)
        possible = (hits >= 0.0) & (hits <= trials) & (0.0 < share < 1.0)
        odds = share / (1.0 - share) if share < 1.0 else np.inf
        up = (trials - hits) / (hits + 1.0) * odds
        down = hits / ((trials - hits + 1.0) * odds)
        bound = distribution.logpmf(hits) - np.log1p(-(up if sign > 0 else down))
    return p, np.asarray(np.where((p < 1e-290) & possible, bound, log_p))


def normal_tail(
    hits: Any, mean: Any, deviation: Any, sign: int, half: Any
) -> tuple[Floats, Floats]:
    """Upper or lower normal tail from half a step before `hits`, and its logarithm."""
    z = sign * (mean - hits) / deviation + half / deviation
    return np.asarray(ndtr(z)), np.asarray(log_ndtr(z))
