"""Null distribution of mean average precision over independent queries."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from sklearn_rankinf._engine.distribution import exact_mean_and_variance
from sklearn_rankinf._engine.listed import Distribution, ListedDistribution
from sklearn_rankinf._engine.means.distribution import Part, mean_distribution
from sklearn_rankinf._metrics.metrics import AveragePrecision
from sklearn_rankinf._null.distribution import ApproximateDistribution, NullDistribution
from sklearn_rankinf._permutation.draws import Sampler
from sklearn_rankinf._permutation.mean import MeanSampler
from sklearn_rankinf._ranking import (
    as_seed_sequence,
    check_counts,
    check_integer,
    check_n_jobs,
    check_option,
    check_tie_sizes,
)
from sklearn_rankinf._statistics.caching import cached_property
from sklearn_rankinf._statistics.increments import Integers
from sklearn_rankinf._statistics.moments import skewness_and_kurtosis

METHODS_OF_MEANS = ("auto", "analytic", "permutation", "normal", "pearson3")


class MeanNullDistribution(NullDistribution):
    """Frozen null distribution of mean average precision over independent queries.

    It has the methods of every null distribution.

    Attributes
    ----------
    method : str
        Method of the null distribution: ``"analytic"``, ``"permutation"``, ``"normal"`` or
        ``"pearson3"``.
    n_samples, n_positives : ndarray of shape (n_queries,)
        Number of samples and of positives of each query.
    tie_sizes : tuple of ndarray or None
        Sizes of the blocks of equal scores of each query, best score first; None without ties.
    statistic : object
        The statistic that is averaged.

    See Also
    --------
    sklearn_rankinf.metric_null_distribution : Function that returns this distribution.
    sklearn_rankinf.mean_average_precision_test : Test whose result has this distribution.

    Examples
    --------
    >>> from sklearn_rankinf import metric_null_distribution
    >>> null = metric_null_distribution([10, 20, 30], [2, 2, 3])
    >>> round(null.mean(), 4), round(null.pvalue(0.5), 4)
    (0.2625, 0.0209)
    """

    n_samples: Any
    n_positives: Any
    tie_sizes: Any

    def __init__(
        self,
        sizes: Sequence[tuple[int, int, Integers | None]],
        method: str,
        n_permutations: int,
        seeds: np.random.SeedSequence,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(AveragePrecision(), 1, 1, None, method, n_permutations, seeds, n_jobs)
        self.n_samples = np.array([n for n, _, _ in sizes], dtype=np.int64)
        self.n_positives = np.array([m for _, m, _ in sizes], dtype=np.int64)
        self.tie_sizes = tuple(ties for _, _, ties in sizes)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(n_queries={self.n_samples.size}, "
            f"n_samples={self.n_samples.sum()}, n_positives={self.n_positives.sum()}, "
            f"method={self.method!r})"
        )

    @cached_property
    def _parts(self) -> list[Part]:
        """Groups of queries with equal sizes and ties, in the order of their first queries."""
        columns = self.n_samples.tolist(), self.n_positives.tolist(), self.tie_sizes
        sizes = [(key_of_sizes(*problem), problem) for problem in zip(*columns, strict=True)]
        problems, counts = dict(sizes), Counter(key for key, _ in sizes)
        return [Part(*problems[key], count) for key, count in counts.items()]

    @cached_property
    def _distribution(self) -> Distribution:
        if self.method == "analytic" or self.var() == 0.0:
            return mean_distribution(self.statistic, self._parts)
        if self.method == "permutation":
            sample = np.sort(self._permutation_sample())
            return ListedDistribution(sample, np.zeros(sample.size))
        if self.method == "normal":
            return ApproximateDistribution(stats.norm(self.mean(), self.std()))
        skewness = self._standardized_cumulant(3)
        return ApproximateDistribution(stats.pearson3(skewness, self.mean(), self.std()))

    @cached_property
    def _sampler(self) -> Sampler:
        return MeanSampler(self.statistic, self._parts)

    @cached_property
    def _moments_of_parts(self) -> list[tuple[int, float, float]]:
        """Number of queries, mean and variance of each group of equal queries."""
        return [
            (part.count, *exact_mean_and_variance(self.statistic, *_problem(part)))
            for part in self._parts
        ]

    @cached_property
    def _mean_and_variance(self) -> tuple[float, float]:
        n = self.n_samples.size
        mean = math.fsum(count * mean for count, mean, _ in self._moments_of_parts) / n
        variance = math.fsum(count * var for count, _, var in self._moments_of_parts) / n**2
        return mean, variance

    @cached_property
    def _skewness_and_kurtosis(self) -> tuple[float, float]:
        # Cumulants of independent variables add up.
        third, fourth = [], []
        for part, (count, _, variance) in zip(self._parts, self._moments_of_parts, strict=True):
            if variance > 0.0:
                skewness, kurtosis = skewness_and_kurtosis(self.statistic, *_problem(part))
                third.append(count * skewness * variance**1.5)
                fourth.append(count * kurtosis * variance**2)
        total = self.var() * self.n_samples.size**2
        return math.fsum(third) / total**1.5, math.fsum(fourth) / total**2

    def _best(self) -> float:
        return float(np.mean(self.n_positives > 0))


def key_of_sizes(n_samples: int, n_positives: int, tie_sizes: Integers | None) -> tuple[Any, ...]:
    return n_samples, n_positives, None if tie_sizes is None else tie_sizes.tobytes()


def _problem(part: Part) -> tuple[int, int, Integers | None]:
    return part.n_samples, part.n_positives, part.tie_sizes


def frozen_map_distribution(
    sizes: Sequence[tuple[int, int, Integers | None]],
    *,
    method: str,
    n_permutations: int,
    random_state: Any,
    n_jobs: int | None = None,
) -> MeanNullDistribution:
    method = check_option(method, "method", METHODS_OF_MEANS, " for mean average precision")
    return MeanNullDistribution(
        sizes,
        method,
        check_integer(n_permutations, "n_permutations", 1),
        as_seed_sequence(random_state),
        check_n_jobs(n_jobs),
    )


def checked_sizes(
    n_samples: ArrayLike, n_positives: ArrayLike, tie_sizes: Sequence[ArrayLike | None] | None
) -> list[tuple[int, int, Integers | None]]:
    columns = [np.ravel(np.asarray(values, dtype=object)) for values in (n_samples, n_positives)]
    n_queries = len(columns[0])
    if n_queries == 0:
        raise ValueError("n_samples is empty: pass the number of samples of at least one query.")
    if len(columns[1]) != n_queries:
        raise ValueError(
            "n_samples and n_positives must have one entry per query; they have "
            f"{n_queries} and {len(columns[1])}."
        )
    ties = [None] * n_queries if tie_sizes is None else list(tie_sizes)
    if len(ties) != n_queries:
        raise ValueError(
            f"tie_sizes must have one entry (or None) for each of the {n_queries} queries; it has "
            f"{len(ties)}."
        )
    sizes = []
    for n, m, own in zip(*columns, ties, strict=True):
        n, m = check_counts(n, m)
        sizes.append((n, m, check_tie_sizes(own, n)))
    return sizes
