"""Null distributions of recall, precision, enrichment and F-score at k."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_rankinf._engine.exact.hits import HitsDistribution
from sklearn_rankinf._engine.listed import ListedDistribution
from sklearn_rankinf._guard import default_errors
from sklearn_rankinf._null.distribution import NullDistribution
from sklearn_rankinf._null.hits_approximations import ApproximateHits, BinomialHits, NormalHits
from sklearn_rankinf._ranking import (
    as_numbers,
    as_seed_sequence,
    as_shape,
)
from sklearn_rankinf._results import plain
from sklearn_rankinf._statistics.additive import HitsAtK
from sklearn_rankinf._statistics.caching import cached_property
from sklearn_rankinf._statistics.increments import Floats
from sklearn_rankinf._statistics.moments import linear_moments

_METHODS = ("auto", "analytic", "permutation", "binomial", "normal")


class TopKNullDistribution(NullDistribution):
    """Frozen null distribution of recall, precision, enrichment or F-score at k.

    It has the methods of every null distribution. For an array of k it contains one distribution
    per entry, and every method broadcasts its argument against k, as scipy's frozen distributions
    do.

    Attributes
    ----------
    method : str
        The method in use: ``"analytic"``, ``"permutation"``, ``"binomial"`` or ``"normal"``.
    n_samples, n_positives : int
        Size of the ranking and number of positives.
    tie_sizes : ndarray or None
        Sizes of the blocks of equal scores, best first; None without ties.
    statistic : object
        The ranking statistic; its attribute ``k`` is the number of samples at the top.

    See Also
    --------
    sklearn_rankinf.metric_null_distribution : Function that returns this distribution.

    Notes
    -----
    Two values count as equal if their relative difference is below 1e-12 and their difference is
    small compared with the distance to the next possible value.

    Examples
    --------
    >>> from sklearn_rankinf import RecallAtK, metric_null_distribution
    >>> null = metric_null_distribution(1000, 100, metric=RecallAtK([50, 100]))
    >>> null.mean(), null.pvalue(0.15).round(4)
    (array([0.05, 0.1 ]), array([0.    , 0.0622]))
    """

    statistic: HitsAtK

    # Moments, exact for every method.

    def mean(self) -> Any:
        """Exact mean."""
        return self._mean_and_variance[0]

    def var(self) -> Any:
        """Exact variance."""
        return self._mean_and_variance[1]

    def std(self) -> Any:
        """Exact standard deviation."""
        return plain(np.sqrt(self.var()))

    # The distribution.

    def support(self) -> tuple[Any, Any]:
        """Smallest and largest value."""
        low, high = self._distribution.support()
        return low, high

    def median(self) -> Any:
        """Median: the smallest x with cdf(x) >= 1/2."""
        return self.ppf(0.5)

    @default_errors
    def rvs(self, size: int | tuple[int, ...] = 1, random_state: Any = None) -> Floats:
        """Draw independent values.

        Parameters
        ----------
        size : int or tuple of int, default=1
            Number or shape of the draws for each k.
        random_state : int, RandomState, Generator or None, default=None
            Source of randomness.

        Returns
        -------
        ndarray of shape `size` + shape of k
            Values of the statistic for random labellings; for an approximation, draws from it.

        Raises
        ------
        ValueError
            If `size` is negative.
        """
        shape = as_shape(size)
        rng = np.random.default_rng(as_seed_sequence(random_state))
        resampled = not isinstance(self._distribution, ApproximateHits)
        source = self._exact if resampled else self._distribution
        return np.asarray(source.draw(shape, rng))

    # Computation.

    @cached_property
    def _exact(self) -> HitsDistribution:
        return HitsDistribution(self.statistic, self.n_samples, self.n_positives, self.tie_sizes)

    @cached_property
    def _distribution(self) -> Any:
        if self.method == "binomial":
            return BinomialHits(self._exact)
        if self.method == "normal":
            return NormalHits(self._exact, self.mean(), self.std())
        return self._resampled() if self.method == "permutation" else self._exact

    def _resampled(self) -> _DistributionsByEntry:
        """Distributions of the resamples; those of one k do not depend on the other k."""
        cuts = np.asarray(self.statistic.k)
        distributions = []
        for k in cuts.ravel().tolist():
            statistic = replace(self.statistic, k=k)  # type: ignore[type-var]
            null = HitsDistribution(statistic, self.n_samples, self.n_positives, self.tie_sizes)
            low, high = null.support()
            sample = np.sort(self._sample_of(null)[: self._stopped_after])
            sample = np.array([low]) if low == high else sample
            distributions.append(ListedDistribution(sample, np.zeros(sample.size)))
        return _DistributionsByEntry(distributions, cuts.shape)

    def _sample_of(self, null: HitsDistribution) -> Floats:
        (seed,) = copy(self._seeds).spawn(1)
        return null.draw((self._n_resamples,), np.random.default_rng(seed))

    def _values_in_order(self) -> Iterator[Floats]:
        # A labelling costs only two random numbers, so all are drawn at once.
        yield self._sample_of(self._exact)

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
    @default_errors
    def _mean_and_variance(self) -> tuple[Any, Any]:
        variance, _, _ = linear_moments(*self._weights_and_sizes, self.n_positives)
        k = np.asarray(self.statistic.k, dtype=float)
        mean = self.n_positives * k / self.n_samples / self._exact.divisor
        low, high = self._exact.support()
        return plain(mean), plain(np.where(np.asarray(low) == np.asarray(high), 0.0, variance))

    @default_errors
    def _standardized_cumulant(self, order: int) -> Any:
        cumulant = linear_moments(*self._weights_and_sizes, self.n_positives)[order - 2]
        return plain(np.where(np.asarray(self.var()) > 0.0, cumulant, np.nan))

    def _above(self, t: Floats) -> Floats:
        return t + self._margin(t)

    def _below(self, t: Floats) -> Floats:
        return t - self._margin(t)

    def _margin(self, t: Floats) -> Floats:
        """Distance within which values are equal; always less than the distance to the next."""
        same = np.minimum(1e-12 * np.abs(t), self._exact.step / 4.0)
        return np.maximum(same, 8.0 * np.finfo(float).eps * np.abs(t)) + np.finfo(float).tiny

    def _quantile(self, q: ArrayLike, sign: int) -> Any:
        low, high = self.support()

        def quantile(level: Floats) -> Floats:
            inner = (level > 0.0) & (level < 1.0)
            value = self._distribution.quantile(np.where(inner, level, 0.5), sign)
            value = np.where(level == 0.0, low if sign < 0 else high, value)
            value = np.where(level == 1.0, high if sign < 0 else low, value)
            return np.where((level >= 0.0) & (level <= 1.0), value, np.nan)

        return self._over(as_numbers(q, "q"), quantile)

    @default_errors
    def _over(self, x: ArrayLike, function: Callable[[Floats], Floats]) -> Any:
        """Apply a function to x, broadcast against k; nan stays nan."""
        values = as_numbers(x, "x")
        shape = np.shape(self.statistic.k)
        try:
            values = np.broadcast_to(values, np.broadcast_shapes(values.shape, shape))
        except ValueError:
            raise ValueError(
                f"An argument of shape {values.shape} cannot be broadcast against k of shape "
                f"{shape}; pass one value for each k, or add an axis in front."
            ) from None
        if values.size == 0:
            return np.empty(values.shape)
        known = ~np.isnan(values)
        # Larger values could overflow if they are converted to numbers of hits.
        out = function(np.clip(np.where(known, values, 0.0), -1e200, 1e200))
        return plain(np.where(known, out, np.nan))


class _DistributionsByEntry:
    """One distribution for each entry of k."""

    is_listed = False

    def __init__(self, distributions: list[ListedDistribution], shape: tuple[int, ...]) -> None:
        self._distributions, self._shape = distributions, shape

    def tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """Tails, their logarithms and relative errors."""
        out = np.empty((3, *t.shape))
        for null, here in self._entries(t.shape):
            out[:, here] = null.tail(t[here], sign)
        return out[0], out[1], out[2]

    def quantile(self, q: Floats, sign: int) -> Floats:
        """Quantiles from below (sign -1) or above (sign 1)."""
        out = np.empty(q.shape)
        for null, here in self._entries(q.shape):
            out[here] = null.quantile(q[here], sign)
        return out

    def support(self) -> tuple[Any, Any]:
        """Smallest and largest value."""
        ends = np.array([null.support() for null in self._distributions])
        return plain(ends[:, 0].reshape(self._shape)), plain(ends[:, 1].reshape(self._shape))

    def _entries(self, shape: tuple[int, ...]) -> list[tuple[ListedDistribution, Any]]:
        order = np.arange(len(self._distributions)).reshape(self._shape)
        entry = np.broadcast_to(order, shape)
        return [(null, entry == i) for i, null in enumerate(self._distributions)]
