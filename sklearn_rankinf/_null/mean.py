"""Null distribution of the mean of a metric over independent queries."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_rankinf._engine import Distribution, Part, mean_distribution
from sklearn_rankinf._null.distribution import NullDistribution
from sklearn_rankinf._permutation import MeanSampler, Sampler
from sklearn_rankinf._ranking import check_counts, check_tie_sizes
from sklearn_rankinf._statistics import Integers, cached_property


class MeanNullDistribution(NullDistribution):
    """Frozen null distribution of the mean of a metric over independent queries.

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
    sklearn_rankinf.metric_test : Test whose result has this distribution.

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
        statistic: Any,
        queries: Sequence[NullDistribution],
        method: str,
        n_resamples: int,
        seeds: np.random.SeedSequence,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(statistic, 1, 1, None, method, n_resamples, seeds, n_jobs, verbose)
        self.n_samples = np.array([null.n_samples for null in queries], dtype=np.int64)
        self.n_positives = np.array([null.n_positives for null in queries], dtype=np.int64)
        self.tie_sizes = tuple(null.tie_sizes for null in queries)
        # Queries with equal sizes and ties share one distribution.
        first = {null._key: null for null in reversed(queries)}
        counts = Counter(null._key for null in queries)
        self._counts = [(first[key], count) for key, count in counts.items()]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.statistic}, n_queries={self.n_samples.size}, "
            f"n_samples={self.n_samples.sum()}, n_positives={self.n_positives.sum()}, "
            f"method={self.method!r})"
        )

    @cached_property
    def _distribution(self) -> Distribution:
        return self._new_distribution()

    def _exact_distribution(self) -> Distribution:
        return mean_distribution(
            [
                Part(null.statistic, null.n_samples, null.n_positives, null.tie_sizes, count)
                for null, count in self._counts
            ]
        )

    @cached_property
    def _sampler(self) -> Sampler:
        varying = [(null._sampler, n) for null, n in self._counts if null.var() > 0.0]
        constant = math.fsum(null.mean() * n for null, n in self._counts if not null.var())
        return MeanSampler(varying, constant, self.n_samples.size)

    @cached_property
    def _mean_and_variance(self) -> tuple[float, float]:
        n = self.n_samples.size
        mean = math.fsum(count * null.mean() for null, count in self._counts) / n
        return mean, math.fsum(count * null.var() for null, count in self._counts) / n**2

    @cached_property
    def _skewness_and_kurtosis(self) -> tuple[float, float]:
        # Cumulants of independent variables add up.
        total, found = self.var() * self.n_samples.size**2, []
        for order in (3, 4):
            cumulants = (
                count * null._standardized_cumulant(order) * null.var() ** (order / 2)
                for null, count in self._counts
                if null.var() > 0.0
            )
            found.append(math.fsum(cumulants) / total ** (order / 2))
        return found[0], found[1]

    def _best(self) -> float:
        return float(sum(n * null._best() for null, n in self._counts) / self.n_samples.size)

    @cached_property
    def _rounding(self) -> float:
        """Distance within which values near 0 are equal after adding larger constants."""
        return max(null._rounding for null, _ in self._counts)


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
