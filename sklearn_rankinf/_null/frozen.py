"""Frozen null distributions of a metric: of sums over ranks, of means over queries, of a sample."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._engine import (
    Distribution,
    Part,
    exact_distribution,
    exact_mean_and_variance,
    exact_standard_deviation,
    mean_distribution,
    skewness_and_kurtosis,
)
from sklearn_rankinf._metrics import at_query, undefined_value, value_of
from sklearn_rankinf._null.distribution import OF_LABELS, NullDistribution, rounding_of
from sklearn_rankinf._null.hits import TopKNullDistribution
from sklearn_rankinf._null.permuted import (
    ListedNullDistribution,
    check_method,
    methods_of,
    observe_grades,
    observe_rows,
    of_random_labels,
    restricted,
)
from sklearn_rankinf._permutation import (
    DesignWarning,
    MeanSampler,
    Sampler,
    exchange_of,
    few_labellings_warning,
    weights_warning,
)
from sklearn_rankinf._ranking import (
    Ranking,
    Sample,
    check_counts,
    check_no_closed_form,
    check_option,
    check_tie_sizes,
    no_positives,
    warn_caller,
)
from sklearn_rankinf._statistics import Integers, Metric, cached_property


class RankNullDistribution(NullDistribution):
    """Frozen null distribution of a sum over ranks.

    If most items are positive and a constant is added to the sum, it is computed from the
    negatives, which preserves all digits.
    """

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
    def _rounding(self) -> float:
        statistic, n, m, _ = self._problem
        return rounding_of(statistic, n, m)


class MeanNullDistribution(NullDistribution):
    """Frozen null distribution of the mean of a metric over independent queries.

    It has the methods of every null distribution.

    Attributes
    ----------
    method : str
        Method of the null distribution: ``"analytic"``, ``"permutation"``, ``"normal"`` or
        ``"pearson3"``.
    n_samples, n_positives : ndarray of shape (n_queries,)
        Number of items and of positives of each query.
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
        self, statistic: Any, queries: Sequence[NullDistribution], method: str, **drawing: Any
    ) -> None:
        super().__init__(statistic, 1, 1, None, method, **drawing)
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
        parts = [
            Part(
                *(null.statistic, null.n_samples, null.n_positives, null.tie_sizes),
                count=count,
                exact_distribution=exact_distribution,
            )
            for null, count in self._counts
        ]
        return mean_distribution(parts)

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


# Longer lists of reciprocal ranks would take too much memory.
_MAX_LISTED = 20_000_000
# The kinds of null distributions: of sums over ranks, of numbers of hits, of metrics with few
# enough values to list them all, and of random labellings.
_KINDS: dict[str, Callable[..., NullDistribution]] = {
    "sum": RankNullDistribution,
    "hits": TopKNullDistribution,
    "listed": ListedNullDistribution,
    "permuted": of_random_labels,
}


def frozen_null_distribution(
    metric: Metric,
    n_samples: Any,
    n_positives: Any,
    *,
    tie_sizes: ArrayLike | None = None,
    method: str = "auto",
    **drawing: Any,
) -> NullDistribution:
    """Check the arguments and return the null distribution of a metric."""
    n, m = check_counts(n_samples, n_positives)
    sizes = check_tie_sizes(tie_sizes, n)
    statistic, method = check_metric_and_method(metric, method, n, m, sizes)
    kind = _KINDS[statistic.distribution_of(n, m, sizes)]
    return kind(statistic, n, m, sizes, method, **drawing)


def mean_of(
    metric: Metric, nulls: Sequence[NullDistribution], *, method: str = "auto", **drawing: Any
) -> MeanNullDistribution:
    """The null distribution of the mean of independent values of a metric."""
    method = method_of_mean(metric, method)
    if any(null.method == "permutation" for null in nulls):
        method = "permutation"
    return MeanNullDistribution(metric, nulls, method, **drawing)


def method_of_mean(metric: Metric, method: Any) -> str:
    """Read a method of the null distributions of a mean over queries."""
    methods = [name for name in methods_of(metric) if name not in ("zhang_su", "binomial")]
    method = check_option(method, "method", methods, f" for mean {metric.title_in_text}")
    if not metric.has_exact_mean and method in ("auto", "analytic"):
        check_no_closed_form(method, f"the mean of {metric!r}")
        return "permutation"
    return str(method)


def check_metric_and_method(
    metric: Metric, method: Any, n: int, m: int, tie_sizes: Integers | None = None
) -> tuple[Metric, str]:
    """Read a metric and a method of its null distribution for lists of one size."""
    statistic = metric.at(n)
    method = check_method(statistic, method)
    if method == "zhang_su":
        _check_zhang_su(n, m, statistic.horizon, tie_sizes)
    if statistic.of_one_item and n > _MAX_LISTED:
        raise ValueError(
            f"n_samples must be at most {_MAX_LISTED} for reciprocal rank, whose null distribution "
            f"lists every rank; got {n}."
        )
    statistic.check_weights(n, m)
    return statistic, method


def check_method_of_test(metric: Metric, method: Any, alternative: str) -> str:
    """Read a method of the tests of one ranking by a metric."""
    of_labels = [OF_LABELS] if metric.takes_weights else []
    methods = methods_of(metric, "permutation", "sequential", *of_labels)
    found = str(check_option(method, "method", methods, f" for {metric.title}"))
    if found == "sequential" and alternative == "two-sided":
        raise ValueError(
            "method='sequential' needs a one-sided alternative; got alternative='two-sided': use "
            "alternative='greater' or 'less', or method='permutation'."
        )
    return found


def _check_zhang_su(n: int, m: int, k: int | None, tie_sizes: Integers | None) -> None:
    """Raise an error for rankings that the moments of Zhang and Su do not cover."""
    if k is not None or tie_sizes is not None:
        raise ValueError(
            "method='zhang_su' is an approximation for average precision of the whole ranking "
            "without ties; use method='analytic' or 'normal' with k or with equal scores."
        )
    if m == 1 and n > 1:
        raise ValueError(
            "method='zhang_su' needs at least 2 positives: its variance is undefined for "
            "n_positives=1; use method='analytic'."
        )


Observed = tuple[Any, NullDistribution]


def observe(
    metric: Metric,
    sample: Sample,
    *,
    method: str,
    **options: Any,
) -> Observed:
    """Value and null distribution of a metric of one class, or of its average over classes."""
    metric, average = metric.of_each_class()
    exchange = exchange_of(sample)
    weights_stay = method == OF_LABELS
    if weights_stay:
        method = _permutation_of_labels(sample)
    if sample.is_graded:
        return observe_grades(metric, sample, exchange, method=method, **options)
    if average is not None or sample.design.weights is not None:
        options |= {"method": method, "average": average, "weights_stay": weights_stay}
        return observe_rows(metric, sample, exchange, **options)
    if exchange is None:
        return observe_ranking(sample.rankings[0], metric, method=method, **options)
    null = restricted(metric.at(sample.n_items), sample, exchange, method=method, **options)
    return _value(sample.rankings[0], null), null


def observe_ranking(ranking: Ranking, metric: Metric, **options: Any) -> Observed:
    """Value and null distribution of a metric of a ranking whose labels are all exchangeable."""
    null = frozen_null_distribution(
        metric, ranking.n_samples, ranking.n_positives, tie_sizes=ranking.tie_sizes, **options
    )
    return _value(ranking, null), null


def observe_queries(
    queries: Iterable[tuple[Any, Ranking]], metric: Metric, **options: Any
) -> dict[Any, Observed]:
    """Values and null distributions of queries; those of equal sizes and ties share one.

    No ranking is kept, which would take more memory than labels and scores.
    """
    observed: dict[Any, Observed] = {}
    known: dict[tuple[Any, ...], NullDistribution] = {}
    for query, ranking in queries:
        sizes = ranking.tie_sizes
        ties = None if ranking.n_blocks == ranking.n_samples else sizes.tobytes()
        shape = ranking.n_samples, ranking.n_positives, ties
        if shape in known:
            observed[query] = _value(ranking, known[shape]), known[shape]
        else:
            at_query(metric, query, ranking.n_samples)
            observed[query] = observe_ranking(ranking, metric, **options)
            known[shape] = observed[query][1]
    return observed


def _value(ranking: Ranking, null: NullDistribution) -> Any:
    is_constant = ranking.n_positives in (0, ranking.n_samples)
    if is_constant and not null.statistic.counts_hits:
        return null.mean()  # the only possible value, without rounding errors
    return value_of(null.statistic, ranking)


def _permutation_of_labels(sample: Sample) -> str:
    """The method of the null distribution if labels alone are permuted and weights stay."""
    if not sample.design.is_weighted:
        raise ValueError(
            f"method={OF_LABELS!r} permutes the labels of items with weights, but no "
            "sample_weight is given: pass it to average_precision_test or to the scorer, or use "
            "method='permutation'."
        )
    return "permutation"


def warn_of_design(sample: Sample, metric: Metric, method: str) -> None:
    """Warn about weights, and about the first class or table with few different labellings."""
    exchange = exchange_of(sample)
    weights = sample.design.weights
    messages = [] if weights is None else [weights_warning(sample, method == OF_LABELS, exchange)]
    if exchange is not None:
        moving = None if method == OF_LABELS else weights
        parts = [sample.labels]
        if metric.of_each_class()[1] is None:
            parts = np.split(sample.labels, sample.n_classes, axis=1)
        found = (few_labellings_warning(exchange, part, moving) for part in parts)
        messages.append(next(filter(None, found), None))
    for message in filter(None, messages):
        warn_caller(message, DesignWarning)


def masses(sample: Sample) -> Any:
    """Number, or weight, of the positives of each class."""
    if sample.design.weights is not None:
        return sample.design.weights @ sample.labels
    return np.array([ranking.n_positives for ranking in sample.rankings])


def warn_of_undefined(metric: Metric, sample: Sample) -> None:
    """Warn about an undefined value, of one or several classes."""
    message = _undefined(*metric.of_each_class(), sample)
    if message is not None:
        warn_caller(message, UndefinedMetricWarning)


def _undefined(metric: Metric, average: str | None, sample: Sample) -> str | None:
    """Text of the warning about an undefined value of one or several classes, otherwise None."""
    of_classes = masses(sample)
    if average in ("weighted", "micro") and of_classes.any():
        return None  # these averages ignore classes without positives
    if not of_classes.all():
        title = metric.title
        if sample.n_classes > 1:
            columns = ", ".join(map(str, np.flatnonzero(of_classes == 0.0).tolist()))
            title = f"{title} of the class in column {columns}"
        return no_positives(title, "0.0")
    if average is not None or sample.design.weights is not None or sample.is_graded:
        return None
    found = (undefined_value(metric, ranking) for ranking in sample.rankings)
    return next(filter(None, found), None)
