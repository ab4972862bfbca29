"""Comparison of two rankings of the same items, or of two runs over the same queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_rankinf._estimation.averages import ClassAverage, covariance_of_averages
from sklearn_rankinf._estimation.comparison_methods import (
    COMPARISONS,
    Compared,
    ComparisonMethod,
    Difference,
    Runs,
    correlation_of,
    difference_of,
    no_interval,
    swap_sampler,
    warn_of_unknown_errors,
)
from sklearn_rankinf._estimation.estimates import IntervalMethod, recommended_interval
from sklearn_rankinf._estimation.prevalence import check_prevalence
from sklearn_rankinf._estimation.verdict import ComparisonVerdict, verdict_on
from sklearn_rankinf._metrics import (
    as_metric,
    as_metric_or_average,
    check_queries_alone,
    warn_of_one_class,
)
from sklearn_rankinf._permutation import AverageSwapSampler, Draws, PairedSampler
from sklearn_rankinf._ranking import (
    PosLabel,
    Sample,
    check_alternative,
    check_confidence_level,
    check_option,
)
from sklearn_rankinf._results import (
    ConfidenceInterval,
    Result,
    format_value,
    state_interval,
    state_pvalue,
)
from sklearn_rankinf._statistics import Floats, Metric, cached_property, log10_of


class DifferenceResult(Result):
    """Base class of results on a difference, which have an interval at any level."""

    difference: float
    log10_pvalue: float
    pvalue_is_bound: bool = False
    _interval: Any
    # Level of the interval in sentences and tables.
    _level: float = 0.95

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Confidence interval of the difference.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Nominal coverage of the interval.

        Returns
        -------
        interval : ConfidenceInterval
            The limits, from the interval of each metric and the correlation of their influence
            values (MOVER) [1]_, which for operating points is multiplied by m / (m + 10), with m
            positives. Some methods have a separate interval: the normal interval for
            ``"delong"``, Ash and Hughes-Oliver's for ``"emproc"``, Student's t or the bootstrap
            over queries, Student's t over folds, and the corrected t for algorithms.

        References
        ----------
        .. [1] Zou, G. Y., & Donner, A. (2008). Construction of confidence limits about effect
           measures: a general approach. Statistics in Medicine, 27(10), 1693-1702.
        """
        confidence_level = check_confidence_level(confidence_level)
        return ConfidenceInterval(*self._interval(confidence_level))

    def _stated(self, tested: str, way: str) -> str:
        """Return the difference, its interval and its p-value, for a sentence."""
        low, high = self.confidence_interval(self._level)
        limits = "" if math.isnan(low) else f", {state_interval(low, high, self._level)}"
        pvalue = state_pvalue(self.log10_pvalue, self.pvalue_is_bound)
        return f"difference {format_value(self.difference)}{limits}; {tested} {pvalue} by {way}"

    def _values(self) -> dict[str, Any]:
        low, high = self.confidence_interval(self._level)
        limits = {"confidence_level": self._level, "low": float(low), "high": float(high)}
        return {**super()._values(), **limits}


@dataclass(frozen=True, eq=False, repr=False)
class MetricComparisonTestResult(DifferenceResult):
    """Result of :func:`metric_comparison_test`.

    Attributes
    ----------
    metric : metric
        The metric, with a number of items as its cut-off if it has one.
    names : list
        Names of the two rankers.
    statistic_a, statistic_b : float
        Value of the metric for each ranking, or its mean over queries for each run.
    difference : float
        The first value minus the second.
    standard_error : float
        Standard error of the difference from influence values, or from the differences of the
        queries; nan if a class, or a class of a stratum, has a single item or cluster.
    pvalue : float
        The p-value.
    log10_pvalue : float
        Base-10 logarithm of the p-value.
    alternative : {"two-sided", "greater", "less"}
        The alternative hypothesis.
    method : str
        The method that was used.
    n_samples, n_positives : int
        Number of items and of positives.
    n_queries : int or None
        Number of queries; None for two rankings.
    n_resamples : int or None
        Number of random swaps, flips or resamples; None for other methods.
    prevalence : float or None
        Prevalence of the population; None for that of the sample.
    queries : list or None
        Names of the queries.
    query_differences : ndarray of shape (n_queries,) or None
        Difference of the metric in each query.
    pvalue_is_bound : bool
        Whether the p-value is the smallest possible one for the number of random swaps or flips.

    See Also
    --------
    metric_comparison_test : The test that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import metric_comparison_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> first, second = [8, 7, 6, 5, 4, 3, 2, 1], [4, 7, 6, 8, 3, 5, 2, 1]
    >>> result = metric_comparison_test(
    ...     y_true, {"first": first, "second": second}, metric="roc_auc"
    ... )
    >>> print(result.summary())
    ROC AUC was 0.933 and 0.867 (difference 0.0667, 95 % confidence interval -0.679 to 0.789;
    two-sided p = 0.7500 by rank swaps).
    """

    metric: Metric
    names: list[Any] = field(repr=False)
    statistic_a: float
    statistic_b: float
    difference: float
    standard_error: float = field(repr=False)
    pvalue: float
    log10_pvalue: float = field(repr=False)
    alternative: str
    method: str
    n_samples: int = field(repr=False)
    n_positives: int = field(repr=False)
    n_queries: int | None = field(default=None, repr=False)
    n_resamples: int | None = field(default=None, repr=False)
    prevalence: float | None = None
    queries: list[Any] | None = field(default=None, repr=False)
    query_differences: Floats | None = field(default=None, repr=False)
    pvalue_is_bound: bool = False
    _interval: Callable[[float], tuple[float, float]] = no_interval
    _is_same_list: bool = False
    _level: float = 0.95

    def verdict(
        self,
        *,
        margin: float | None = None,
        require: str = "not_worse",
        candidate: Any = None,
        confidence_level: float = 0.95,
    ) -> ComparisonVerdict:
        """Whether a ranker meets a requirement, judged by the interval of the difference.

        The verdict is ``"pass"`` if all differences in the interval meet the requirement,
        ``"fail"`` if none of them does, and else ``"inconclusive"``. A ranker that does not meet it
        passes with a probability of at most half of ``1 - confidence_level``, as far as the
        coverage of the interval is as stated.

        If both rankers order all items in the same way, no metric of these items differs, and
        the limits are 0 and 0.

        Parameters
        ----------
        margin : float, optional
            A difference, in units of the metric, that is fixed before the data are seen. Required
            unless `require` is ``"better"``, whose margin is 0 by default.
        require : {"not_worse", "better", "equivalent"}, default="not_worse"
            The ranker is not worse than the other ranker by the margin or more
            (non-inferiority), or better by more than the margin (superiority), or neither better
            nor worse by the margin or more (equivalence).
        candidate : object, optional
            Name of the ranker of which it is required; by default the first one.
        confidence_level : float, default=0.95
            Nominal coverage of the interval; 0.9 corresponds to one-sided tests at 0.05.

        Returns
        -------
        verdict : ComparisonVerdict
            The outcome, the interval, and the number of positives or queries that would make an
            inconclusive verdict conclusive.

        Raises
        ------
        ValueError
            If `require`, `candidate` or the level is invalid, or `margin` is missing or not
            positive.

        See Also
        --------
        confidence_interval : The interval of the difference.
        """
        own, reference = self.names
        difference, (low, high) = self.difference, self.confidence_interval(confidence_level)
        if self._is_same_list:
            low = high = 0.0
        if candidate is not None and check_option(candidate, "candidate", self.names) != own:
            own, reference = reference, own
            # A difference of 0 has no sign.
            difference, low, high = 0.0 - difference, 0.0 - high, 0.0 - low
        n_units, unit = self.n_positives, "positives"
        if self.prevalence is not None or self.metric.of_each_class()[1] is not None:
            n_units, unit = self.n_samples, "items"
        if self.n_queries is not None:
            n_units, unit = self.n_queries, "queries"
        return verdict_on(
            own,
            reference,
            difference,
            ConfidenceInterval(low, high),
            confidence_level,
            require=require,
            margin=margin,
            n_units=n_units,
            unit=unit,
            is_scaled=not math.isnan(self.standard_error) or not self.metric.has_influence,
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        if self.queries is None or self.query_differences is None:
            return super()._columns()
        return {"query": self.queries, "difference": self.query_differences.tolist()}

    def _sentences(self) -> Iterable[str]:
        title, queries = self.metric.title, ""
        if self.n_queries is not None:
            title = f"Mean {self.metric.title_in_text}"
            queries = f" over {self.n_queries} queries"
        if self.prevalence is not None:
            title += f" in a population with prevalence {self.prevalence:g}"
        tested = "two-sided" if self.alternative == "two-sided" else "one-sided"
        yield (
            f"{title} was {format_value(self.statistic_a)} and {format_value(self.statistic_b)}"
            f"{queries} ({self._stated(tested, COMPARISONS[self.method].title)})."
        )


@dataclass(frozen=True, eq=False)
class DifferenceOfAverages(Difference):
    """Averages of a metric over classes for two rankers; the sample is that of the first class."""

    classes: Mapping[Any, Sample] = field(default_factory=dict)

    @property
    def methods(self) -> dict[str, ComparisonMethod]:
        return {name: COMPARISONS[name] for name in ("swap", "score_swap", "influence")}

    @cached_property
    def averages(self) -> tuple[ClassAverage, ...]:
        """The averages of both rankers."""
        return tuple(ClassAverage.of(self.metric, self.classes, ranker) for ranker in (0, 1))

    @cached_property
    def values(self) -> tuple[float, float]:
        a, b = self.averages
        return a.value, b.value

    @cached_property
    def covariance(self) -> Floats:
        return covariance_of_averages(self.averages)

    @property
    def n_positives(self) -> int:
        return sum(sample.n_positives for sample in self.classes.values())

    @property
    def df(self) -> float:
        return min(average.df for average in self.averages)

    @property
    def maximum(self) -> float:
        return self.averages[0].maximum

    @property
    def is_same_list(self) -> bool:
        return all(
            np.array_equal(sample.places(0), sample.places(1)) for sample in self.classes.values()
        )

    has_errors = has_interval = True

    @property
    def correlation(self) -> float:
        return correlation_of(self.covariance)

    def of_each(self) -> tuple[IntervalMethod, tuple[Any, ...]]:
        each, _ = self.metric.of_each_class()
        return recommended_interval(each, self.sample.design), self.averages

    def sampler(self, pooled: bool) -> PairedSampler:
        each = self.metric.of_each_class()[0].at(self.sample.n_items)
        parts = [swap_sampler(each, sample, pooled) for sample in self.classes.values()]
        return AverageSwapSampler(parts, self.averages[0].shares)


def metric_comparison_test(
    y_true: ArrayLike,
    y_score: Any,
    *,
    metric: str | Metric = "average_precision",
    pos_label: PosLabel = 1,
    alternative: str = "two-sided",
    method: str = "auto",
    prevalence: float | None = None,
    groups: Iterable[Hashable] | None = None,
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    n_resamples: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> MetricComparisonTestResult:
    r"""Test whether two rankings of the same items differ by any metric.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        Binary labels; for an average over classes also labels of more than two classes, or a
        multilabel indicator matrix.
    y_score : dict, DataFrame or array-like of shape (n_samples, 2)
        Scores of the two rankers, larger for items more likely to be positive. They may be on
        different scales, because only ranks are used. For an average over classes a dict with an
        array of shape (n_samples, n_classes) for each ranker.
    metric : str or metric, default="average_precision"
        A metric, or its name with a cut-off after an @, as in ``"recall@50"``; see
        :func:`metric_test`. Averages over classes are ``"average_precision_macro"`` or
        ``RocAuc().averaged("weighted")``, for instance; their methods are ``"swap"``,
        ``"score_swap"`` and ``"influence"``.
    pos_label : int, float, bool or str, default=1
        The label of the positives.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        The alternative hypothesis: the metrics differ, the first ranker is better, or the first
        ranker is worse. Whether it is not worse by a margin, or equivalent, is answered by the
        method ``verdict`` of the result.
    method : str, default="auto"
        Method of the p-value; see Notes. ``"auto"`` selects ``"swap"``. ``"score_swap"`` and
        ``"bootstrap"`` are available for any metric, ``"influence"`` for any metric but the
        reciprocal rank and operating points, ``"delong"`` for ROC AUC, and ``"hypergeometric"``,
        ``"hypergeometric_midp"``, ``"mcnemar"`` and ``"emproc"`` for recall, precision, enrichment
        and F-score at k. Over queries: ``"sign_flip"``, which ``"auto"`` selects, ``"t"``,
        ``"wilcoxon"`` and ``"bootstrap"``. With `prevalence`: ``"swap"`` and ``"score_swap"``, for
        ROC AUC all of its methods.
    prevalence : float, optional
        Prevalence of the population in which the rankers will work, between 0 and 1, if it is not
        that of the sample, as in case-control and downsampled samples; for the metrics of
        :func:`metric_interval` with a prevalence. The rankers are compared by their values there.
    groups : array-like of shape (n_samples,), optional
        Query of each item: two runs are compared by the mean of the metric over queries. Items
        that a run did not retrieve have the score -inf, and DCG and NDCG accept grades of
        relevance; see :func:`align_runs`.
    strata : array-like of shape (n_samples,), optional
        Stratum of each item, for items with fixed numbers of positives and negatives per
        stratum: influence values are centred within strata. Swaps exchange the two ranks of one
        item and need no strata.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each item. With `groups`, all items of a query must be in one cluster. The
        ranks of a cluster are swapped together, and only items of different clusters are
        independent.
    n_resamples : int, default=9999
        Number of random swaps, flips or resamples. If there are at most this many different swaps
        or flips, all of them are enumerated and the p-value is exact.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random numbers.
    n_jobs : int, optional
        Number of jobs for random swaps, flips and resamples. The result does not depend on it.
    verbose : int, default=0
        Verbosity of joblib; larger values print more messages.

    Returns
    -------
    result : MetricComparisonTestResult
        Both values, the difference, its standard error, the p-value, the interval of the
        difference by ``result.confidence_interval()``, and the verdict on a requirement, such as
        non-inferiority, by ``result.verdict(margin=...)``.

    Raises
    ------
    TypeError
        If `y_true` is a ranking, or if an argument has the wrong type.
    ValueError
        If labels or scores are invalid, if there are too few negatives for the `prevalence`, or if
        the method is not available for the metric or with the other arguments.

    Warns
    -----
    UserWarning
        If values at another prevalence depend on few negatives.
    UndefinedMetricWarning
        If there are no positives or no negatives, or if the method needs a standard error and a
        class has a single item or cluster. The p-value is then 1.

    See Also
    --------
    metric_multiple_comparison_test : Comparison of more than two rankers.
    metric_interval : Confidence interval of each value.
    best_candidate_test : Whether the best of several rankers is better than chance.

    Notes
    -----
    The rank swap test [1]_ exchanges the two ranks of each item with probability 1/2 and
    evaluates both lists again. The p-value is (c + 1) / (B + 1) if c of B swaps have a difference
    at least as large as the observed one. Items with equal ranks, before or after swapping,
    contribute the mean over their orders. The null hypothesis is that the two ranks of an item are
    exchangeable, given its label; a rejection may also mean that the rankings have different shapes
    with the same value of the metric. The test has power near chance, and is conservative with
    large blocks of equal scores; the measured sizes of all tests are in :ref:`coverage`.
    ``"score_swap"`` exchanges the scores, which must be on one scale, such as those of two versions
    of one model. It is exact if the two scores of an item are exchangeable.

    ``"influence"`` tests that the two metrics are equal in the population:
    :math:`T = (g(S_a) - g(S_b)) / \mathrm{SE}` with Student's t distribution with m - 1 degrees of
    freedom, on the scale :math:`g(t) = -\log(-\log t)` for average precision and on the original
    scale for others. It has little power if both
    rankers are near chance. ``"delong"`` [2]_ is the same for ROC AUC with the normal distribution.

    For hits at k, ``"hypergeometric"`` is exact given the number of positives that are in only one
    of the two lists; each list contains the same number of items that are not in the other.
    McNemar's test ignores this constraint and is very conservative. ``"emproc"`` is the test of Ash
    and Hughes-Oliver [3]_. These tests need lists of exactly k items, without equal scores across
    rank k.

    **Another prevalence.** The values are those of :func:`metric_interval` at the prevalence, and
    swapped lists are evaluated there as well. Ties that arise from swaps contribute their mean over
    orders, as an approximation if a block has several positives and several negatives. The interval
    combines those of both values (MOVER) with the correlation of their influence values, multiplied
    by m / (m + 10), and is conservative. With about 20 positives and :math:`n_0 \pi` below 20 the
    rank swap test rejects somewhat too often, since few ranks at the top decide; ``"score_swap"``
    remains exact. T tests and the bootstrap are not available. A ranker that is better at one
    prevalence may be worse at another, if their ROC curves cross.

    ``"bootstrap"`` draws positives and negatives with replacement, and rejects too often; at
    operating points, such as precision at a recall, percentile limits are too short as well.

    Over queries, ``"sign_flip"`` flips the signs of the differences at random. The test is exact if
    the two runs are exchangeable in each query.

    References
    ----------
    .. [1] Venkatraman, E. S., & Begg, C. B. (1996). A distribution-free procedure for comparing
       receiver operating characteristic curves from a paired experiment. Biometrika, 83(4),
       835-848.
    .. [2] DeLong, E. R., DeLong, D. M., & Clarke-Pearson, D. L. (1988). Comparing the areas under
       two or more correlated receiver operating characteristic curves. Biometrics, 44(3), 837-845.
    .. [3] Ash, J. R., & Hughes-Oliver, J. M. (2022). Confidence bands and hypothesis tests for hit
       enrichment curves. Journal of Cheminformatics, 14, 50.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import metric_comparison_test
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(400) < 40
    >>> common = rng.normal(size=400)
    >>> strong = common + rng.normal(size=400) + 2.5 * y_true
    >>> weak = common + rng.normal(size=400) + 1.0 * y_true
    >>> result = metric_comparison_test(
    ...     y_true, {"strong": strong, "weak": weak}, n_resamples=999
    ... )
    >>> result.method, result.pvalue
    ('swap', 0.001)
    >>> low, high = result.confidence_interval()
    >>> bool(0 < low < result.difference < high)
    True
    >>> common = metric_comparison_test(
    ...     y_true, {"strong": strong, "weak": weak}, prevalence=0.15, n_resamples=999
    ... )
    >>> bool(common.statistic_a > result.statistic_a), common.pvalue
    (True, 0.001)
    """
    alternative = check_alternative(alternative)
    chosen = as_metric_or_average(metric)
    average = chosen.of_each_class()[1]
    # A generator is drawn from once, so that the interval and the p-value use the same resamples.
    draws = Draws.read(n_resamples, random_state, n_jobs, verbose)
    prevalence = check_prevalence(prevalence)
    if groups is not None:
        chosen = as_metric(metric)
        check_queries_alone(strata=strata, prevalence=prevalence)
    design: dict[str, Any] = {"strata": strata, "clusters": clusters}
    if average is None:
        sample = Sample.read(
            y_true,
            y_score,
            pos_label=pos_label,
            columns="rankers",
            takes_grades=groups is not None and chosen.takes_grades,
            groups=groups,
            **design,
        )
    else:
        classes = Sample.read_classes(y_true, y_score, **design)
        if len(classes) == 1:
            as_metric(metric)  # raises an error, because one class has no average
        sample = next(iter(classes.values()))
    if len(sample.names) != 2:
        raise ValueError(
            f"y_score must have two rankers; got {len(sample.names)}: compare more of them by "
            "metric_multiple_comparison_test."
        )
    both: Difference | Runs
    if groups is not None:
        both = Runs.of(chosen, sample, draws)
    elif average is not None:
        if prevalence is not None:
            raise ValueError(
                "prevalence is that of one class, but the metric is an average over classes: "
                "compare the rankers in one class."
            )
        both = DifferenceOfAverages(chosen, sample, classes=classes)
    else:
        both = difference_of(chosen, sample, prevalence)
    return _compare(both, alternative, _choose(both, method), draws)


def _choose(both: Difference | Runs, method: str) -> str:
    """Return the name of the method, or raise an error if it does not apply."""
    known = both.methods
    method = check_option(method, "method", ["auto", *known], both.purpose)
    method = next(iter(known)) if method == "auto" else method
    if both.is_dependent and not known[method].takes_clusters:
        given = " and ".join(both.sample.design.restrictions)
        possible = " or ".join(repr(name) for name, way in known.items() if way.takes_clusters)
        raise ValueError(
            f"method={method!r} needs independent {both.units}, but {given} are given: "
            f"use method={possible}."
        )
    return method


def _compare(
    both: Difference | Runs, alternative: str, method: str, draws: Draws
) -> MetricComparisonTestResult:
    """Compare two rankings, or two runs, by a method."""
    way, sample = both.methods[method], both.sample
    found = Compared(1.0)
    if not both.has_both:
        warn_of_one_class(sample.positive, "a comparison is not possible, and the p-value is 1")
    elif way.needs_errors and math.isnan(both.standard_error):
        warn_of_unknown_errors(f"method={method!r} needs a standard error", "the p-value is 1")
    else:
        found = way.compare(both, alternative, draws)
    return MetricComparisonTestResult(
        metric=both.measured,
        names=sample.names,
        statistic_a=both.values[0],
        statistic_b=both.values[1],
        difference=both.difference,
        standard_error=both.standard_error,
        pvalue=found.pvalue,
        log10_pvalue=log10_of(found.pvalue),
        alternative=alternative,
        method=method,
        n_samples=sample.n_items,
        n_positives=both.n_positives,
        n_resamples=found.n_resamples,
        prevalence=both.prevalence,
        **both.of_queries(),
        _interval=found.interval or both.interval(),
        _is_same_list=both.is_same_list,
        pvalue_is_bound=found.is_bound,
    )
