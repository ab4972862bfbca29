"""Null distributions of recall, precision, enrichment and F-score at k.

"Hits needed" in the theory page of the documentation states the errors of the binomial and normal
approximations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.special import ndtri

from sklearn_rankinf._engine import HitsDistribution, ListedDistribution
from sklearn_rankinf._null.distribution import METHODS, NullDistribution
from sklearn_rankinf._statistics import (
    Floats,
    HitsAtK,
    binomial_tail,
    cached_property,
    linear_moments,
    normal_tail,
)


class ApproximateHits:
    """An approximation of the distribution of hits at k, on the values that hits can have.

    It has a single value if the exact distribution has.
    """

    is_listed = False

    def __init__(self, exact: HitsDistribution) -> None:
        self._exact = exact
        low, high = exact.support()
        self._is_constant = bool(low == high)

    def tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """Upper (sign 1) or lower (sign -1) tail and its log; the error is unknown."""
        if self._is_constant:
            return self._exact.tail(t, sign)
        p, log_p = self._approximate_tail(t * self._exact.divisor, sign)
        return p, log_p, np.full(p.shape, np.inf)

    def quantile(self, q: Floats, sign: int) -> Floats:
        """Smallest value v with ``P(S <= v) >= q`` (sign -1) or ``P(S > v) <= q`` (sign 1)."""
        if self._is_constant:
            return np.full(np.shape(q), self._exact.support()[0])
        return np.asarray(self._approximate_quantile(q, sign) / self._exact.divisor)

    def support(self) -> tuple[Any, Any]:
        """Smallest and largest value."""
        if self._is_constant:
            return self._exact.support()
        low, high = self._approximate_ends()
        return float(low / self._exact.divisor), float(high / self._exact.divisor)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw from the distribution."""
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
        return 0, self._trials


class NormalHits(ApproximateHits):
    """The normal approximation by exact mean and deviation, with a continuity correction."""

    def __init__(self, exact: HitsDistribution, mean: float, deviation: float) -> None:
        super().__init__(exact)
        self._mean = np.asarray(mean * exact.divisor)
        self._deviation = np.asarray(1.0 if self._is_constant else deviation * exact.divisor)
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
        return -math.inf, math.inf


class TopKNullDistribution(NullDistribution):
    """Frozen null distribution of recall, precision, enrichment or F-score at k.

    It has the methods of every null distribution.

    Attributes
    ----------
    method : str
        The method in use: ``"analytic"``, ``"permutation"``, ``"binomial"`` or ``"normal"``.
    n_samples, n_positives : int
        Size of the ranking and number of positives.
    tie_sizes : ndarray or None
        Sizes of the blocks of equal scores, best first; None without ties.
    statistic : object
        The ranking statistic; its attribute ``k`` is the number of items at the top.

    See Also
    --------
    sklearn_rankinf.metric_null_distribution : Function that returns this distribution.

    Notes
    -----
    Two values count as equal if their relative difference is below 1e-12 and their difference is
    small compared with the distance to the next possible value.

    Examples
    --------
    >>> from sklearn_rankinf import metric_null_distribution
    >>> null = metric_null_distribution(1000, 100, metric="recall@100")
    >>> null.mean(), round(null.pvalue(0.15), 4)
    (0.1, 0.0622)
    """

    statistic: HitsAtK

    # Computation.

    def _drawn(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        is_approximate = isinstance(self._distribution, ApproximateHits)
        source = self._distribution if is_approximate else self._exact
        return np.asarray(source.draw(shape, rng))

    @cached_property
    def _exact(self) -> HitsDistribution:
        return HitsDistribution(self.statistic, self.n_samples, self.n_positives, self.tie_sizes)

    @cached_property
    def _distribution(self) -> Any:
        return METHODS[self.method].distribution(self)

    def _exact_distribution(self) -> Any:
        return self._exact

    def _binomial(self) -> Any:
        return BinomialHits(self._exact)

    def _normal(self) -> Any:
        return NormalHits(self._exact, self.mean(), self.std())

    def _of_labellings(self) -> ListedDistribution:
        low, high = self._exact.support()
        sample = np.sort(self._sample()[: self._stopped_after])
        sample = np.array([low]) if low == high else sample
        return ListedDistribution(sample, np.zeros(sample.size))

    def _sample(self) -> Floats:
        (seed,) = copy(self._seeds).spawn(1)
        return self._exact.draw((self._n_resamples,), np.random.default_rng(seed))

    def _values_in_order(self) -> Iterator[Floats]:
        # A labelling costs only two random numbers, so all are drawn at once.
        yield self._sample()

    @property
    def _weights_and_sizes(self) -> tuple[Floats, Floats]:
        """Contribution of a hit, and number of items, before, in and after the straddling block."""
        null = self._exact
        inside = np.where(null.counted > 0, null.inside, 0)
        behind = self.n_samples - null.before - inside
        weights = np.stack(
            [np.ones(inside.shape), null.counted / null.inside, np.zeros(inside.shape)], axis=-1
        )
        sizes = np.stack([null.before, inside, behind], axis=-1).astype(float)
        return weights / null.divisor[..., None], sizes

    @cached_property
    def _mean_and_variance(self) -> tuple[float, float]:
        variance, _, _ = linear_moments(*self._weights_and_sizes, self.n_positives)
        mean = self.n_positives * float(self.statistic.k) / self.n_samples / self._exact.divisor
        low, high = self._exact.support()
        return float(mean), 0.0 if low == high else float(variance)

    def _standardized_cumulant(self, order: int) -> float:
        cumulant = linear_moments(*self._weights_and_sizes, self.n_positives)[order - 2]
        return float(cumulant) if self.var() > 0.0 else math.nan

    def _above(self, t: Floats) -> Floats:
        return t + self._margin(t)

    def _below(self, t: Floats) -> Floats:
        return t - self._margin(t)

    def _margin(self, t: Floats) -> Floats:
        """Distance within which values are equal; always less than the distance to the next."""
        same = np.minimum(1e-12 * np.abs(t), self._exact.step / 4.0)
        return np.maximum(same, 8.0 * np.finfo(float).eps * np.abs(t)) + np.finfo(float).tiny

    def _over(
        self, x: ArrayLike, function: Callable[[Floats], Any], rows: tuple[int, ...] = ()
    ) -> Any:
        # Larger values could overflow if they are converted to numbers of hits.
        return super()._over(x, lambda t: function(np.clip(t, -1e200, 1e200)), rows)
