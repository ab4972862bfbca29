"""Intervals: how sure a metric of a ranking, or of a run over queries, is."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.utils.parallel import Parallel, delayed

from sklearn_rankinf._engine.limits import mean_limits
from sklearn_rankinf._engine.statistics import Floats, Metric
from sklearn_rankinf._estimates import (
    Estimate,
    Items,
    Units,
    check_both_classes,
    check_has_influence,
    choose_method,
    interval_methods,
)
from sklearn_rankinf._formatting import as_frame, as_html, format_value
from sklearn_rankinf._guard import significance_test
from sklearn_rankinf._metrics import as_metric, check_scalar_k, in_sentence
from sklearn_rankinf._queries import QueryValues, read_query_values
from sklearn_rankinf._ranking import LabelTable, Ranking, as_ranking
from sklearn_rankinf._results import shown
from sklearn_rankinf._validation import (
    PosLabel,
    as_binary,
    as_label_table,
    as_seed_sequence,
    check_confidence_level,
    check_integer,
    check_option,
    class_names,
    has_classes,
)

_COLUMNS = ("statistic", "low", "high", "standard_error")
_QUERY_METHODS = ("auto", "t", "bootstrap")


@dataclass(frozen=True, eq=False, repr=False)
class MetricIntervalResult:
    """Result of :func:`metric_interval`.

    Of several classes the numbers are arrays of shape (n_classes,).

    Attributes
    ----------
    metric : metric
        The metric, with a number of samples as its cut-off if it has one.
    statistic : float or ndarray
        Value of the metric; over queries its mean.
    low, high : float or ndarray
        Limits of the interval.
    standard_error : float or ndarray
        Influence standard error of the metric, or that of the mean over queries; nan where a class
        has a single sample.
    confidence_level : float
        Nominal coverage of the interval.
    method : str
        The method that ran.
    target : str
        What the interval covers at that level.
    n_samples, n_positives : int or ndarray
        Number of samples, and of positives.
    n_queries : int or None
        Number of queries; None for one ranking.
    classes : list or None
        Names of the classes; None for binary labels.

    See Also
    --------
    metric_interval : The function that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import Ranking, metric_interval
    >>> ranking = Ranking.from_counts([1] * 8, [1, 1, 0, 1, 0, 0, 0, 0])
    >>> print(metric_interval(ranking).summary())
    Average precision was 0.917 (95 % confidence interval 0.315 to 0.993; influence).
    """

    metric: Metric
    statistic: Any
    low: Any
    high: Any
    standard_error: Any
    confidence_level: float
    method: str
    target: str
    n_samples: int
    n_positives: Any
    n_queries: int | None = None
    classes: list[Any] | None = None

    def __repr__(self) -> str:
        queries = "" if self.n_queries is None else f", n_queries={self.n_queries}"
        return (
            f"{type(self).__name__}(metric={self.metric}, statistic={shown(self.statistic, 4)}, "
            f"low={shown(self.low, 4)}, high={shown(self.high, 4)}, "
            f"confidence_level={self.confidence_level:g}, method={self.method!r}{queries})"
        )

    def _repr_html_(self) -> str:
        return as_html(self._columns())

    def _columns(self) -> dict[str, Any]:
        """The numbers as columns with one entry for each class."""
        n = np.size(self.statistic)
        names = {"metric": [str(self.metric)]} if self.classes is None else {"class": self.classes}
        numbers = {name: np.ravel(getattr(self, name)).tolist() for name in _COLUMNS}
        common = {"confidence_level": [self.confidence_level] * n, "method": [self.method] * n}
        return {**names, **numbers, **common}

    def to_dict(self) -> dict[str, Any]:
        """Return the interval as plain numbers, of several classes as lists.

        Returns
        -------
        dict
            The metric, its value, the limits and the rest, by name.
        """
        columns = self._columns()
        if self.classes is None:
            columns = {name: values[0] for name, values in columns.items()}
        return {**columns, "metric": str(self.metric), "target": self.target}

    def to_frame(self) -> Any:
        """Return the interval as a table.

        Returns
        -------
        pandas.DataFrame
            One row, or one for each class.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        columns = self._columns()
        return as_frame(columns, next(iter(columns)))

    def summary(self) -> str:
        """Return one sentence for each interval, fit for a paper.

        Returns
        -------
        str
            The value, the interval, its level and how it was made.
        """
        columns = self._columns()
        parts = [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
        return "\n".join(self._sentence(part) for part in parts)

    def _sentence(self, part: dict[str, Any]) -> str:
        title = self.metric.title
        if self.n_queries is not None:
            title = f"Mean {title[0].lower() + title[1:]} over {self.n_queries} queries"
        if "class" in part:
            title = f"{title} of {part['class']!r}"
        return (
            f"{title} was {format_value(part['statistic'])} ({100 * self.confidence_level:g} % "
            f"confidence interval {format_value(part['low'])} to {format_value(part['high'])}; "
            f"{self.method})."
        )


@significance_test
def metric_interval(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    metric: str | Metric = "average_precision",
    k: float | None = None,
    pos_label: PosLabel = 1,
    confidence_level: float = 0.95,
    method: str = "auto",
    groups: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    n_resamples: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> MetricIntervalResult:
    r"""Confidence interval of a metric of a ranking, or of its mean over queries.

    The samples are a random sample of a population, with as many positives and as many negatives
    as there are; the scores come from a model that was not trained on them.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes), or Ranking
        Binary labels; labels of more than two classes; a matrix of 0 and 1 that says which samples
        are of which classes; or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), optional
        Scores, larger for samples more likely to be positive, with one column for each class
        where there are several, in sorted order of the labels. Required unless `y_true` is a
        ranking.
    metric : str or metric, default="average_precision"
        A metric, such as ``RecallAtK(100)``, or its name; see :func:`metric_test`.
    k : int or float, optional
        Cut-off of a metric that is given by its name: a number of samples, or a fraction of them
        between 0 and 1, rounded up.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking or of several classes.
    confidence_level : float, default=0.95
        Nominal coverage of the interval.
    method : str, default="auto"
        How the interval is made. The first of each list is what ``"auto"`` takes; see Notes.

        * Average precision: ``"influence"``, ``"calibrated"``, and Boyd's ``"logit"`` and
          ``"binomial"``; at k ``"influence"``.
        * ROC AUC: ``"score"``, ``"delong"``.
        * Recall, precision and enrichment at k: ``"score"``, ``"clopper_pearson"``, ``"plus"``.
        * DCG, BEDROC, RIE and metrics of one's own: ``"binormal"``, ``"influence"``.
        * Any metric over queries: ``"t"``, ``"bootstrap"``.
    groups : array-like of shape (n_samples,), optional
        Query of each sample: the interval is that of the mean over queries, which are then what
        was sampled.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, such as patients: only clusters are independent of each other.
    n_resamples : int, default=9999
        Number of resamples for ``method="bootstrap"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of random numbers for simulation and the bootstrap.
    n_jobs : int, optional
        Number of jobs over the classes. The result does not depend on it.

    Returns
    -------
    result : MetricIntervalResult
        The value, the limits, the standard error, the method and the target of the interval.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given with a ranking, or if an argument is of a wrong type.
    ValueError
        If there are no positives or no negatives, if the metric is the reciprocal rank of one
        ranking, if `k` is an array, or if an option is not one of those above or has no meaning
        with another.

    See Also
    --------
    metric_test : Whether the ranking is better than random labelling.
    metric_comparison_test : Whether it is better than another ranking of the same samples.

    Notes
    -----
    The variance V of a metric follows from its influence values: how much it changes with the
    weight of each sample, centred within positives and within negatives. For ROC AUC it is
    DeLong's. With t the quantile of Student's distribution with m - 1 degrees of freedom, m
    positives:

    * Average precision, also at k, on the scale :math:`g(t) = -\log(-\log t)`:
      :math:`g^{-1}(g(\mathrm{AP}) \pm t \sqrt{V} g'(\mathrm{AP}))`, and from
      :math:`(\alpha/2)^{1/m}` to 1 if AP is 1. It covers .93 to .97 of 95 % with 50 positives of
      500 and of 5000, less for very rare targets with strong rankers (.91 with 20 of 20,000) and
      with heavy tails where every second sample is positive (.86 with 50 of 100).
    * ROC AUC: all areas for which the observed one is within t standard errors of a binormal-like
      variance that is scaled to V [2]_.
    * Recall at k: the same with the variance of a random threshold [3]_; precision and enrichment
      are multiples of it.
    * DCG, BEDROC, RIE: the shifts of normal scores under which the observed value would be in the
      upper or lower tail, and their expected values; it depends on that model. Influence intervals
      of these metrics cover too little near chance (.77 of 95 %).

    Boyd's logit interval [1]_ is up to four times as wide as needed. Percentile bootstrap intervals
    of average precision cover as little as .79 of 95 % and are not offered. The reciprocal rank of
    one ranking hangs on a single sample and has no interval; over queries it has. Weights are no
    argument: what they stand for, copies or a design, decides what varies.

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
    'average precision in the population, with the share of positives of the sample'
    >>> metric_interval(y_true, y_score, metric="recall_at_k", k=0.1).method
    'score'
    """
    check_confidence_level(confidence_level)
    chosen = as_metric(metric, k)
    check_scalar_k(chosen)
    if groups is not None:
        return _interval_over_queries(
            read_query_values(y_true, [y_score], groups, chosen, pos_label),
            clusters,
            confidence_level,
            method,
            check_integer(n_resamples, "n_resamples", 1),
            random_state,
        )
    check_has_influence(chosen)
    method = choose_method(chosen, method, clusters is not None)
    several = not isinstance(y_true, Ranking) and has_classes(y_true, y_score)
    if several:
        return _intervals_of_classes(
            y_true, y_score, chosen, clusters, confidence_level, method, random_state, n_jobs
        )
    if clusters is None:
        ranking = as_ranking(y_true, y_score, pos_label, needs_ties=False)
        check_both_classes(ranking)
        estimate = Estimate.of_ranking(chosen, ranking)
    else:
        _check_has_scores(y_true, y_score)
        items = Items.from_scores(*as_binary(y_true, y_score, pos_label))  # type: ignore[arg-type]
        check_both_classes(items.ranking)
        units = Units.read(clusters, None, items.positive.size)
        estimate = Estimate.of_items(chosen, items, units)
    return interval_of(estimate, confidence_level, method, random_state)


def _check_has_scores(y_true: Any, y_score: Any) -> None:
    """Refuse a ranking where each sample is told something about."""
    if isinstance(y_true, Ranking) or y_score is None:
        raise TypeError(
            "clusters needs y_true and y_score, since a Ranking does not know which sample is "
            f"which; got y_true of type {type(y_true).__name__} and y_score of type "
            f"{type(y_score).__name__}."
        )


def interval_of(
    estimate: Estimate, confidence_level: float, method: str, random_state: Any = 0
) -> MetricIntervalResult:
    """Interval of one estimate by a method that its metric has."""
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
        target=way.target.format(title=in_sentence(estimate.metric.title)),
        n_samples=estimate.ranking.n_samples,
        n_positives=estimate.ranking.n_positives,
    )


def _intervals_of_classes(
    y_true: Any,
    y_score: Any,
    metric: Metric,
    clusters: Any,
    confidence_level: float,
    method: str,
    random_state: Any,
    n_jobs: int | None,
) -> MetricIntervalResult:
    """Intervals of all classes as one result."""
    table = LabelTable(*as_label_table(y_true, y_score))
    names = class_names(y_true)
    units = Units.read(clusters, None, table.n_samples)
    estimates = []
    for column, name in enumerate(names):
        items = Items.from_scores(table.labels[:, column], table.scores[:, column])
        check_both_classes(items.ranking, f"the class {name!r}")
        estimates.append(Estimate.of_items(metric, items, units))
    seeds = as_seed_sequence(random_state)
    results = Parallel(n_jobs=n_jobs)(
        delayed(interval_of)(estimate, confidence_level, method, seeds) for estimate in estimates
    )
    return joined(results, names)


def joined(results: list[MetricIntervalResult], names: list[Any]) -> MetricIntervalResult:
    """Intervals of several classes as one result."""
    columns: dict[str, Any] = {
        name: np.array([getattr(result, name) for result in results])
        for name in (*_COLUMNS, "n_positives")
    }
    first = results[0]
    return MetricIntervalResult(
        metric=first.metric,
        **columns,
        confidence_level=first.confidence_level,
        method=first.method,
        target=first.target,
        n_samples=first.n_samples,
        classes=names,
    )


# Queries.


def _interval_over_queries(
    queries: QueryValues,
    clusters: Any,
    confidence_level: float,
    method: str,
    n_resamples: int,
    random_state: Any,
) -> MetricIntervalResult:
    check_option(method, "method", _QUERY_METHODS, " over queries")
    if clusters is not None:
        raise ValueError(
            "clusters and groups exclude each other: over queries the queries are what is sampled. "
            "Leave out clusters."
        )
    method = "t" if method == "auto" else method
    values = queries.values[:, 0]
    low, high = mean_interval(values, confidence_level, method, n_resamples, random_state)
    title = in_sentence(queries.metric.title)
    return MetricIntervalResult(
        metric=queries.metric,
        statistic=float(values.mean()),
        low=low,
        high=high,
        standard_error=standard_error_of_mean(values),
        confidence_level=confidence_level,
        method=method,
        target=f"mean {title} over the population of queries",
        n_samples=queries.n_samples,
        n_positives=queries.n_positives,
        n_queries=values.size,
    )


def standard_error_of_mean(values: Floats) -> float:
    """Standard error of the mean of independent values; nan of a single one."""
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else float("nan")


def mean_interval(
    values: Floats, confidence_level: float, method: str, n_resamples: int, random_state: Any
) -> tuple[float, float]:
    """Interval of the mean over queries, by Student's t or by resampling queries."""
    if values.size < 2:
        raise ValueError(
            "An interval over queries needs at least 2 of them; got 1: leave out groups for the "
            "interval of one ranking."
        )
    if method == "t" or np.ptp(values) == 0.0:
        low, high = mean_limits(values, confidence_level)
        return float(low), float(high)
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
