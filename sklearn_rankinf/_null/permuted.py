"""Null distributions that are estimated from random labellings, or list all labellings."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from sklearn_rankinf._engine import ListedDistribution
from sklearn_rankinf._null.distribution import NullDistribution
from sklearn_rankinf._permutation import ListedSampler, PermutationSampler
from sklearn_rankinf._ranking import (
    as_seed_sequence,
    check_integer,
    check_n_jobs,
    check_verbose,
)
from sklearn_rankinf._statistics import Floats, Integers, Statistic, cached_property

# Values of a distribution whose relative difference is at most this count as equal.
_SAME = 1e-12


class PermutationDistribution(NullDistribution):
    """Frozen null distribution that is estimated from resamples alone.

    No exact distribution is available for weighted average precision, for averages over classes,
    and for labels that are permuted within strata, as whole clusters or along a series. Support,
    moments, probabilities and quantiles are those of the resamples. The exception is the mean of an
    average over classes without weights, which is exact.

    Attributes
    ----------
    method : str
        ``"permutation"``.
    n_samples : int
        Number of samples.
    n_positives : int or ndarray of shape (n_classes,)
        Number of positives; for several classes the number of samples of each class.
    tie_sizes : ndarray or None
        Sizes of the blocks of equal scores, best first; None without ties, and for averages, whose
        classes have separate ties.
    statistic : object
        The statistic that is weighted or averaged.

    See Also
    --------
    sklearn_rankinf.average_precision_test : Test whose result contains such a distribution if
        weights or averages are used.

    Notes
    -----
    The resamples are drawn on first use, in chunks with separate random streams, so that they are
    the same for every number of jobs.

    Examples
    --------
    >>> from sklearn_rankinf import average_precision_test
    >>> y_true, y_score = [1, 1, 0, 0, 0, 0], [6, 5, 4, 3, 2, 1]
    >>> result = average_precision_test(y_true, y_score, sample_weight=[2, 1, 1, 1, 1, 1])
    >>> result.null_distribution.method
    'permutation'
    """

    def __init__(
        self,
        permuted: PermutationSampler,
        statistic: Statistic,
        n_samples: int,
        n_positives: Any,
        tie_sizes: Integers | None,
        n_resamples: int,
        seeds: np.random.SeedSequence,
        n_jobs: int | None = None,
        verbose: int = 0,
        rounding: float = 0.0,
    ) -> None:
        super().__init__(
            statistic,
            n_samples,
            n_positives,
            tie_sizes,
            "permutation",
            n_resamples,
            seeds,
            n_jobs,
            verbose,
        )
        self._permuted = permuted
        self._rounding = rounding

    @property
    def _key(self) -> tuple[Any, ...]:
        return (id(self),)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.statistic}, n_samples={self.n_samples}, "
            f"n_positives={self.n_positives}, {self._permuted})"
        )

    @property
    def labellings(self) -> str:
        """Which labellings are drawn, in words: of whole clusters, in strata, or shifts."""
        return str(getattr(self._permuted, "exchange", None) or "labellings")

    @cached_property
    def _sampler(self) -> PermutationSampler:
        return self._permuted

    @cached_property
    def _distribution(self) -> ListedDistribution:
        sample = np.sort(self._permutation_sample())
        return ListedDistribution(sample, np.zeros(sample.size))

    @cached_property
    def _mean_and_variance(self) -> tuple[float, float]:
        values = self._distribution.values
        if values[-1] - values[0] <= _SAME * abs(values[-1]):
            return float(values[0]), 0.0  # one value, up to rounding
        mean, variance = self._permuted.exact_moments()
        return (
            float(values.mean()) if mean is None else mean,
            float(values.var()) if variance is None else variance,
        )

    @cached_property
    def _skewness_and_kurtosis(self) -> tuple[float, float]:
        standardized = (self._distribution.values - self._distribution.values.mean()) / self.std()
        return float(np.mean(standardized**3)), float(np.mean(standardized**4)) - 3.0

    @property
    def _counts_resamples(self) -> bool:
        return True

    def _best(self) -> float:
        return self._permuted.best()


class ArrangementSampler(PermutationSampler, ListedSampler, Protocol):
    """Sampler of a statistic of rearranged labels, which can be listed if they are few enough."""


class ListedPermutationDistribution(PermutationDistribution):
    """Frozen null distribution over all arrangements of the labels, which are equally likely.

    It has the methods of every null distribution, all of them exact, without random labellings.

    See Also
    --------
    sklearn_rankinf.metric_test : Test whose result contains such a distribution if `order` is
        given.

    Examples
    --------
    >>> from sklearn_rankinf import metric_test
    >>> y_true, y_score = [1] * 20 + [0] * 180, range(200, 0, -1)
    >>> result = metric_test(y_true, list(y_score), order=range(200))
    >>> round(result.pvalue * 200, 9), round(result.null_distribution.support()[1], 9)
    (1.0, 1.0)
    """

    _permuted: ArrangementSampler

    def _permutation_sample(self) -> Floats:
        return self._draws.listed(self._permuted, self._n_resamples)

    @property
    def _counts_resamples(self) -> bool:
        return False


def permutation_distribution(
    permuted: Any,
    statistic: Any,
    n_samples: int,
    n_positives: Any,
    tie_sizes: Integers | None,
    *,
    n_resamples: int,
    random_state: Any,
    n_jobs: int | None,
    verbose: int = 0,
    rounding: float = 0.0,
) -> PermutationDistribution:
    """Distribution of all arrangements if they can be listed and number at most `n_resamples`.

    Otherwise the distribution of `n_resamples` random ones. Values that differ by less than
    `rounding` count as equal.
    """
    kind, n_drawn = PermutationDistribution, check_integer(n_resamples, "n_resamples", 1)
    if permuted.n_listed is not None and permuted.n_listed <= n_drawn:
        kind, n_drawn = ListedPermutationDistribution, permuted.n_listed
    return kind(
        permuted,
        statistic,
        n_samples,
        n_positives,
        tie_sizes,
        n_drawn,
        as_seed_sequence(random_state),
        check_n_jobs(n_jobs),
        check_verbose(verbose),
        rounding,
    )
