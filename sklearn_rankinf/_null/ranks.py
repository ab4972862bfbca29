"""Null distributions of sums of weights of ranks, and of statistics whose values are listed."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rankinf._engine import (
    ListedDistribution,
    exact_distribution,
    exact_mean_and_variance,
    exact_standard_deviation,
)
from sklearn_rankinf._null.distribution import NullDistribution
from sklearn_rankinf._permutation import NullSampler, chunk_sizes
from sklearn_rankinf._statistics import (
    Floats,
    Integers,
    Metric,
    Statistic,
    SumOfWeights,
    cached_property,
    skewness_and_kurtosis,
)

# Relative rounding error of adding a constant to a sum.
_ROUNDING = 1e-14


class RankNullDistribution(NullDistribution):
    """Frozen null distribution of a sum of weights of ranks.

    If most samples are positive and a constant is added to the sum, it is computed from the
    negatives, which preserves all digits.
    """

    statistic: SumOfWeights

    @property
    def _problem(self) -> tuple[Statistic, int, int, Integers | None]:
        """The statistic as a sum over the positives or negatives, whichever is more accurate."""
        n, m, sizes = self.n_samples, self.n_positives, self.tie_sizes
        mirrored = self.statistic.mirrored(n, m)
        if mirrored is None:
            return self.statistic, n, m, sizes
        return mirrored, n, n - m, None if sizes is None else sizes[::-1]

    def std(self) -> float:
        return exact_standard_deviation(*self._problem)

    @cached_property
    def _mean_and_variance(self) -> tuple[float, float]:
        return exact_mean_and_variance(*self._problem)

    @cached_property
    def _skewness_and_kurtosis(self) -> tuple[float, float]:
        return skewness_and_kurtosis(*self._problem)

    def _exact_distribution(self) -> Any:
        return exact_distribution(*self._problem, self._tolerance)

    @cached_property
    def _sampler(self) -> NullSampler:
        return NullSampler(*self._problem)

    @cached_property
    def _rounding(self) -> float:
        statistic, n, m, _ = self._problem
        return rounding_of(statistic, n, m)


def rounding_of(statistic: Metric, n_samples: int, n_positives: int) -> float:
    """Distance within which two values of a sum count as equal after adding a constant."""
    return _ROUNDING * abs(statistic.offset(n_samples, n_positives))


class ListedNullDistribution(NullDistribution):
    """Frozen null distribution of a statistic with few enough values to list them all.

    It has the methods of every null distribution, all computed as exact sums over the list.

    Attributes
    ----------
    method : str
        The method in use: ``"analytic"``, ``"permutation"``, ``"normal"`` or ``"pearson3"``.
    n_samples, n_positives : int
        Size of the ranking and number of positives.
    tie_sizes : ndarray or None
        Sizes of the blocks of equal scores, best first; None without ties.
    statistic : object
        The ranking statistic.

    See Also
    --------
    sklearn_rankinf.metric_null_distribution : Null distribution of any metric.

    Examples
    --------
    >>> from sklearn_rankinf import metric_null_distribution
    >>> null = metric_null_distribution(4, 2, metric="reciprocal_rank")  # 1, 1/2 or 1/3
    >>> null.pvalue([1.0, 1 / 2, 1 / 3])
    array([0.5       , 0.83333333, 1.        ])
    """

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_atoms"}

    @cached_property
    def _atoms(self) -> tuple[Floats, Floats]:
        return self.statistic.atoms(self.n_samples, self.n_positives, self.tie_sizes)

    @property
    def _values_and_shares(self) -> tuple[Floats, Floats]:
        values, log_weights = self._atoms
        with np.errstate(under="ignore"):
            shares = np.exp(log_weights - log_weights.max())
            return values, np.asarray(shares / shares.sum())

    @cached_property
    def _mean_and_variance(self) -> tuple[float, float]:
        with np.errstate(under="ignore"):
            values, shares = self._values_and_shares
            mean = float(np.sum(shares * values))
            return mean, float(np.sum(shares * (values - mean) ** 2))

    @cached_property
    def _skewness_and_kurtosis(self) -> tuple[float, float]:
        with np.errstate(under="ignore"):
            values, shares = self._values_and_shares
            standardized = (values - self.mean()) / self.std()
            third, fourth = (float(np.sum(shares * standardized**order)) for order in (3, 4))
        return third, fourth - 3.0

    def _exact_distribution(self) -> Any:
        return _ListedDistribution(*self._atoms)

    @cached_property
    def _sampler(self) -> Any:
        return _AtomSampler(*self._values_and_shares)


class _ListedDistribution(ListedDistribution):
    """Listed distribution; the relative error of its tails grows with their logarithms."""

    def tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), its log, and the relative error."""
        p, log_p, error = super().tail(t, sign)
        return p, log_p, error + 2e-15 * np.abs(np.where(np.isfinite(log_p), log_p, 0.0))


class _AtomSampler:
    """Sampler for a list of values with probabilities."""

    def __init__(self, values: Floats, shares: Floats) -> None:
        self._values, self._up_to = values, np.cumsum(shares)

    def chunks(self, n_resamples: int) -> list[int]:
        """Sizes of the chunks for `n_resamples` draws."""
        return chunk_sizes(n_resamples, 1)

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw independent values."""
        level = rng.random(n_draws) * self._up_to[-1]
        return np.asarray(self._values[np.searchsorted(self._up_to, level, side="right")])
