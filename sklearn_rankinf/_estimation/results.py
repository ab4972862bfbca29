"""Results of confidence intervals, and intervals of estimates and of means over queries."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from sklearn_rankinf._estimation.estimates import (
    Estimate,
    check_both_classes,
    check_has_influence,
    choose_method,
    interval_methods,
)
from sklearn_rankinf._estimation.limits import t_quantile
from sklearn_rankinf._ranking import Ranking, as_seed_sequence, check_option
from sklearn_rankinf._results import Result, format_value, state_interval
from sklearn_rankinf._statistics import Floats, Integers, Metric

# Values that differ by less than this fraction of the largest one count as equal.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class MetricIntervalResult(Result):
    """Result of :func:`metric_interval`.

    Attributes
    ----------
    metric : metric
        The metric, with a number of samples as its cut-off if it has one.
    statistic : float
        Value of the metric, or its mean over queries.
    low, high : float
        Limits of the interval.
    standard_error : float
        Influence standard error of the metric, or standard error of the mean over queries; nan if
        there is only one positive or negative sample, or only one cluster with positives or
        negatives.
    confidence_level : float
        Nominal coverage of the interval.
    method : str
        The method that was used.
    target : str
        The quantity that the interval estimates.
    n_samples, n_positives : int
        Number of samples and of positives.
    n_queries : int or None
        Number of queries; None for one ranking.

    See Also
    --------
    metric_interval : The function that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import Ranking, metric_interval
    >>> ranking = Ranking.from_counts([1] * 8, [1, 1, 0, 1, 0, 0, 0, 0])
    >>> print(metric_interval(ranking, metric="roc_auc").summary())
    ROC AUC was 0.933 (95 % confidence interval 0.209 to 0.998; score interval).
    """

    metric: Metric
    statistic: float
    low: float
    high: float
    standard_error: float = field(repr=False)
    confidence_level: float
    method: str
    target: str = field(repr=False)
    n_samples: int = field(repr=False)
    n_positives: int = field(repr=False)
    n_queries: int | None = None
    _n_without_positives: int = 0

    def _sentences(self) -> Iterable[str]:
        title = self.metric.title
        if self.n_queries is None:
            way = interval_methods(self.metric)[self.method].title
        else:
            way = _OVER_QUERIES[self.method][0]
            title = f"Mean {self.metric.title_in_text} over {self.n_queries} queries"
            title += in_parentheses(self._n_without_positives)
        return [
            f"{title} was {format_value(self.statistic)} ("
            f"{state_interval(self.low, self.high, self.confidence_level)}; "
            f"{way})."
        ]


def in_parentheses(n_without_positives: int) -> str:
    """The number of queries without positives for a sentence, after a space; nothing if 0."""
    if not n_without_positives:
        return ""
    verb = "counts" if n_without_positives == 1 else "count"
    return f" ({n_without_positives} without positives {verb} as 0)"


def interval_of(
    estimate: Estimate, confidence_level: float, method: str, random_state: Any = 0
) -> MetricIntervalResult:
    """Interval of one estimate by a method of its metric."""
    way = interval_methods(estimate.metric)[method]
    low, high = way.limits(estimate, confidence_level, as_seed_sequence(random_state))
    return MetricIntervalResult(
        metric=estimate.metric,
        statistic=estimate.value,
        low=low,
        high=high,
        standard_error=estimate.standard_error,
        confidence_level=confidence_level,
        method=method,
        target=way.target.format(title=estimate.metric.title_in_text),
        n_samples=estimate.size[0],
        n_positives=estimate.size[1],
    )


def interval_of_ranking(
    metric: Metric, ranking: Ranking, confidence_level: float, method: str, random_state: Any
) -> MetricIntervalResult:
    """Interval of a metric of independently sampled items."""
    check_has_influence(metric)
    method = choose_method(metric, method, False)
    check_both_classes(ranking)
    return interval_of(Estimate.of_ranking(metric, ranking), confidence_level, method, random_state)


def standard_error_of_mean(values: Floats, clusters: Integers | None = None) -> float:
    """Standard error of the mean of independent values, or of values in numbered clusters.

    It is nan for a single value or cluster, and 0 if values differ only by rounding.
    """
    errors = values - values.mean()
    if clusters is not None:
        errors = np.bincount(clusters, errors)
    if errors.size < 2:
        return math.nan
    if np.ptp(values) <= _ROUNDING * np.abs(values).max():
        return 0.0
    return math.sqrt(errors @ errors * errors.size / (errors.size - 1)) / values.size


def mean_limits(
    values: Floats, confidence_level: float, clusters: Integers | None = None
) -> tuple[float, float]:
    """Student's t limits of the mean of independent values, or of values in numbered clusters."""
    n_independent = values.size if clusters is None else int(clusters.max()) + 1
    if n_independent < 2:
        return -math.inf, math.inf
    mean, quantile = float(values.mean()), float(t_quantile(n_independent - 1, confidence_level))
    half = quantile * standard_error_of_mean(values, clusters)
    return mean - half, mean + half


def mean_interval(
    values: Floats, confidence_level: float, method: str, n_resamples: int, random_state: Any
) -> tuple[float, float]:
    """Interval of the mean over queries, by Student's t or by resampling queries."""
    if values.size < 2:
        raise ValueError(
            "An interval over queries needs at least 2 queries; got 1: leave out groups for the "
            "interval of one ranking."
        )
    limits = _t_limits if np.ptp(values) == 0.0 else _OVER_QUERIES[method][1]
    return limits(values, confidence_level, n_resamples, random_state)


def _bootstrap_limits(
    values: Floats, confidence_level: float, n_resamples: int, random_state: Any
) -> tuple[float, float]:
    found = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=n_resamples,
        batch=max(1, 1_000_000 // values.size),
        confidence_level=confidence_level,
        method="BCa",
        random_state=np.random.default_rng(as_seed_sequence(random_state)),
    ).confidence_interval
    return float(found.low), float(found.high)


def _t_limits(
    values: Floats, confidence_level: float, n_resamples: int, random_state: Any
) -> tuple[float, float]:
    return mean_limits(values, confidence_level)


# Methods of the interval of a mean over queries: title and limits, the recommended one first.
_OVER_QUERIES = {
    "t": ("Student's t", _t_limits),
    "bootstrap": ("bootstrap over queries", _bootstrap_limits),
}


def interval_over_queries(
    metric: Metric,
    values: Floats,
    size: tuple[int, int],
    confidence_level: float,
    method: str,
    n_resamples: int,
    random_state: Any,
    n_without_positives: int,
) -> MetricIntervalResult:
    """Interval of the mean of a metric over queries, from its values."""
    known = ["auto", *_OVER_QUERIES]
    method = check_option(method, "method", known, " over queries")
    method = known[1] if method == "auto" else method
    low, high = mean_interval(values, confidence_level, method, n_resamples, random_state)
    return MetricIntervalResult(
        metric=metric,
        statistic=float(values.mean()),
        low=low,
        high=high,
        standard_error=standard_error_of_mean(values),
        confidence_level=confidence_level,
        method=method,
        target=f"mean {metric.title_in_text} over the population of queries",
        n_samples=size[0],
        n_positives=size[1],
        n_queries=values.size,
        _n_without_positives=n_without_positives,
    )
