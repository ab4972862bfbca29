"""Null distributions of recall, precision, enrichment and F-score at k."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_rankinf._engine import HitsDistribution, ListedDistribution
from sklearn_rankinf._null.distribution import METHODS, NullDistribution
from sklearn_rankinf._null.hits_approximations import ApproximateHits, BinomialHits, NormalHits
from sklearn_rankinf._ranking import (
    as_seed_sequence,
    as_shape,
)
from sklearn_rankinf._statistics import Floats, HitsAtK, cached_property, linear_moments


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
    >>> from sklearn_rankinf import metric_null_distribution
    >>> null = metric_null_distribution(1000, 100, metric="recall@100")
    >>> null.mean(), round(null.pvalue(0.15), 4)
    (0.1, 0.0622)
    """

    statistic: HitsAtK

    def rvs(self, size: int | tuple[int, ...] = 1, random_state: Any = None) -> Floats:
        """Draw independent values.

        Parameters
        ----------
        size : int or tuple of int, default=1
            Number or shape of the draws.
        random_state : int, RandomState, Generator or None, default=None
            Source of randomness.

        Returns
        -------
        ndarray of shape `size`
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

    def _over(self, x: ArrayLike, function: Callable[[Floats], Floats]) -> Any:
        # Larger values could overflow if they are converted to numbers of hits.
        return super()._over(x, lambda t: function(np.clip(t, -1e200, 1e200)))
