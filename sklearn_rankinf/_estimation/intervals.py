"""Confidence intervals of a metric of a ranking, or of its mean over queries."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from sklearn_rankinf._estimation.estimates import (
    Estimate,
    check_both_classes,
    check_has_influence,
    choose_method,
    interval_methods,
)
from sklearn_rankinf._estimation.limits import t_quantile
from sklearn_rankinf._metrics import as_metric, check_queries_alone, values_of_queries
from sklearn_rankinf._permutation import in_parallel
from sklearn_rankinf._ranking import (
    PosLabel,
    Ranking,
    Sample,
    as_seed_sequence,
    check_confidence_level,
    check_integer,
    check_n_jobs,
    check_option,
)
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
        limits = state_interval(self.low, self.high, self.confidence_level)
        return [f"{title} was {format_value(self.statistic)} ({limits}; {way})."]


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


def metric_interval(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    metric: str | Metric = "average_precision",
    pos_label: PosLabel = 1,
    confidence_level: float = 0.95,
    method: str = "auto",
    groups: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    n_resamples: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Any:
    r"""Confidence interval of a metric of a ranking, or of its mean over queries.

    The samples are treated as a random sample of a population with fixed numbers of positives and
    negatives. The scores must come from a model that was not trained on these samples.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes), or Ranking
        Binary labels; labels of more than two classes; a multilabel indicator matrix; or a ranking,
        in which case `y_score` is omitted.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), optional
        Scores, larger for samples more likely to be positive. For several classes one column per
        class, in sorted order of the labels. Required unless `y_true` is a ranking.
    metric : str or metric, default="average_precision"
        A metric, or its name with a cut-off after an @, as in ``"recall@50"``; see
        :func:`metric_test`.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored if `y_true` is a ranking or has several classes.
    confidence_level : float, default=0.95
        Nominal coverage of the interval.
    method : str, default="auto"
        Method of the interval. ``"auto"`` selects the first one of each list; see Notes.

        * Average precision: ``"influence"``, ``"calibrated"``, and Boyd's ``"logit"`` and
          ``"binomial"``; at k ``"influence"``.
        * ROC AUC: ``"score"``, ``"delong"``.
        * Recall, precision, enrichment and F-score at k: ``"score"``, ``"clopper_pearson"``,
          ``"plus"``.
        * DCG, BEDROC, RIE and custom metrics: ``"binormal"``, ``"influence"``.
        * Any metric over queries: ``"t"``, ``"bootstrap"``.
    groups : array-like of shape (n_samples,), optional
        Query of each sample. The interval is then that of the mean over queries, and the queries
        are the sampled units.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, such as its patient. Only samples of different clusters are
        independent.
    n_resamples : int, default=9999
        Number of resamples for ``method="bootstrap"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of random numbers for simulation and the bootstrap.
    n_jobs : int, optional
        Number of jobs over the classes. The result does not depend on it.

    Returns
    -------
    result : MetricIntervalResult
        The value, limits, standard error, method and target of the interval.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given with a ranking, or if an argument has the wrong type.
    ValueError
        If there are no positives or no negatives, if the metric is the reciprocal rank of one
        ranking, or if an option is not one of those above or cannot be combined with another.

    See Also
    --------
    metric_test : Test of a ranking against random labelling.
    metric_comparison_test : Comparison of two rankings of the same samples.

    Notes
    -----
    The variance V of a metric is computed from its influence values. The influence value of a
    sample is the rate at which the metric changes with the weight of the sample; the values are
    centred within positives and within negatives. For ROC AUC it is DeLong's variance. In the
    following, t is the quantile of Student's t distribution with m - 1 degrees of freedom, and m is
    the number of positives or, with clusters, the number of clusters with positives:

    * Average precision, also at k, on the scale :math:`g(t) = -\log(-\log t)`:
      :math:`g^{-1}(g(\mathrm{AP}) \pm t \sqrt{V} g'(\mathrm{AP}))`, and from
      :math:`(\alpha/2)^{1/m}` to 1 if AP is 1. The coverage is too low if a few positives
      dominate, because few of many score high or a strong ranker ranks a few of them far down.
    * ROC AUC: the interval contains all areas for which the observed area is within t standard
      errors. The standard error follows from a variance of binormal form, scaled to V [2]_.
    * Recall at k: the same interval with the variance of a random threshold [3]_. The intervals of
      precision, enrichment and F-score are multiples of it.
    * DCG, BEDROC, RIE: the binormal model is inverted. The limits are the expected values of the
      metric for the two shifts of normal scores at which the observed value begins to lie in the
      upper or in the lower tail. The interval depends on this model. Influence intervals of these
      metrics have too low a coverage near chance. All measured rates are in :ref:`coverage`.

    Boyd's logit interval [1]_ is up to four times as wide as needed. Percentile bootstrap intervals
    of average precision have too low a coverage and are not available. The
    reciprocal rank of one ranking depends on a single sample and has no interval; its mean over
    queries has one. With a single positive or negative, intervals that need V contain all possible
    values of the metric. Sample weights are not supported, because the variance depends on their
    meaning (copies or a sampling design).

    References
    ----------
    .. [1] Boyd, K., Eng, K. H., & Page, C. D. (2013). Area under the precision-recall curve: point
       estimates and confidence intervals. ECML PKDD 2013, 451-466.
    .. [2] Newcombe, R. G. (2006). Confidence intervals for an effect size measure based on the
       Mann-Whitney statistic. Part 2. Statistics in Medicine, 25(4), 559-573.
    .. [3] Ash, J. R., & Hughes-Oliver, J. M. (2022). Confidence bands and hypothesis tests for hit
       enrichment curves. Journal of Cheminformatics, 14, 50.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import metric_interval
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(500) < 50
    >>> y_score = rng.normal(size=500) + 1.5 * y_true
    >>> result = metric_interval(y_true, y_score)
    >>> bool(result.low < result.statistic < result.high), result.method
    (True, 'influence')
    >>> result.target
    'average precision in the population, at the prevalence of the sample'
    >>> metric_interval(y_true, y_score, metric="recall@0.1").method
    'score'
    """
    confidence_level = check_confidence_level(confidence_level)
    n_resamples = check_integer(n_resamples, "n_resamples", 1)
    n_jobs = check_n_jobs(n_jobs)
    chosen = as_metric(metric)
    if groups is not None:
        check_queries_alone(clusters=clusters)
        sample = Sample.read(y_true, y_score, pos_label=pos_label, groups=groups)
        return interval_over_queries(
            chosen,
            values_of_queries(chosen, sample.lists_of_queries)[:, 0],
            (sample.n_items, sample.n_positives),
            confidence_level,
            method,
            n_resamples,
            random_state,
            sample.n_without_positives,
        )
    check_has_influence(chosen)
    method = choose_method(chosen, method, clusters is not None)
    sample = Sample.read(
        y_true,
        y_score,
        pos_label=pos_label,
        columns="classes",
        needs_ties=False,
        clusters=clusters,
    )
    if sample.n_classes > 1:
        return _intervals_of_classes(sample, chosen, confidence_level, method, random_state, n_jobs)
    ranking = sample.rankings[0]
    if getattr(chosen, "k", None) is not None and not ranking.has_all_ties:
        raise ValueError(
            f"The interval of {chosen.title} depends on the samples at rank k, but this Ranking "
            "with has_all_ties=False has negatives of different scores in one block: count all "
            "scores, as Ranking.from_dask(..., counts='all') does."
        )
    check_both_classes(ranking)
    return interval_of(Estimate.of_sample(chosen, sample), confidence_level, method, random_state)


def _intervals_of_classes(
    sample: Sample,
    metric: Metric,
    confidence_level: float,
    method: str,
    random_state: Any,
    n_jobs: int | None,
) -> dict[Any, MetricIntervalResult]:
    estimates = []
    for number, (name, ranking) in enumerate(zip(sample.names, sample.rankings, strict=True)):
        check_both_classes(ranking, f"the class {name!r}")
        estimates.append(Estimate.of_sample(metric, sample.single(number)))
    seeds = as_seed_sequence(random_state)
    tasks = ((estimate, confidence_level, method, seeds) for estimate in estimates)
    results = in_parallel(interval_of, tasks, n_jobs)
    return dict(zip(sample.names, results, strict=True))
