"""Comparison of two rankings of the same samples, or of two runs over the same queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._estimation import limits
from sklearn_rankinf._estimation.estimates import (
    Estimate,
    IntervalMethod,
    check_has_influence,
    covariance_of_values,
    recommended_interval,
)
from sklearn_rankinf._estimation.results import (
    clustered_mean_limits,
    mean_interval,
    standard_error_of_mean,
)
from sklearn_rankinf._guard import default_errors, result_function
from sklearn_rankinf._metrics import (
    as_metric,
    check_queries_alone,
    check_several_queries,
    in_sentence,
    slope_at,
    value_of,
    values_of_queries,
    warn_of_one_class,
)
from sklearn_rankinf._permutation import (
    CELLS_PER_CHUNK,
    Draws,
    PairedSampler,
    SignFlipSampler,
    SwapSampler,
    chunk_sizes,
    doubled_midranks,
    pvalue_of_draws,
    randomization_pvalue,
)
from sklearn_rankinf._ranking import (
    Design,
    PosLabel,
    Sample,
    as_seed_sequence,
    check_alternative,
    check_confidence_level,
    check_integer,
    check_n_jobs,
    check_option,
    check_positive,
    check_verbose,
    joined,
    warn_caller,
)
from sklearn_rankinf._results import (
    ConfidenceInterval,
    Result,
    format_value,
    log10_of,
    state_interval,
    state_pvalue,
)
from sklearn_rankinf._statistics import Floats, Integers, Metric, cached_property

# Level of the interval in sentences and tables.
_CONFIDENCE_LEVEL = 0.95
_OF_QUERIES = ("auto", "sign_flip", "t", "wilcoxon", "bootstrap")
_OF_ERRORS = ("influence", "delong")
_OF_HITS = ("hypergeometric", "hypergeometric_midp", "mcnemar", "emproc")
_OF_FAMILY: dict[str, Sequence[str]] = {"roc_auc": ["delong"], "hits": _OF_HITS}
WAYS = {
    "swap": "rank swaps",
    "score_swap": "score swaps",
    "influence": "t test of influence values",
    "delong": "DeLong's test",
    "hypergeometric": "exact conditional test",
    "hypergeometric_midp": "exact conditional test, mid-p",
    "mcnemar": "McNemar's test",
    "emproc": "EmProc",
    "bootstrap": "bootstrap",
    "sign_flip": "sign-flip randomization over queries",
    "t": "paired t test over queries",
    "wilcoxon": "Wilcoxon signed-rank test over queries",
}


class DifferenceResult(Result):
    """Base class of results on a difference, which have an interval at any level."""

    difference: float
    log10_pvalue: float
    pvalue_is_bound: bool = False
    _interval: Any

    @default_errors
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
            values (MOVER) [1]_. Some methods have a separate interval: the normal interval for
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
        low, high = self.confidence_interval(_CONFIDENCE_LEVEL)
        limits = "" if math.isnan(low) else f", {state_interval(low, high, _CONFIDENCE_LEVEL)}"
        pvalue = state_pvalue(self.log10_pvalue, self.pvalue_is_bound)
        return f"difference {format_value(self.difference)}{limits}; {tested} {pvalue} by {way}"

    def _values(self) -> dict[str, Any]:
        low, high = self.confidence_interval(_CONFIDENCE_LEVEL)
        limits = {"confidence_level": _CONFIDENCE_LEVEL, "low": float(low), "high": float(high)}
        return {**super()._values(), **limits}


def _no_interval(confidence_level: float) -> tuple[float, float]:
    return math.nan, math.nan


@dataclass(frozen=True, eq=False, repr=False)
class MetricComparisonTestResult(DifferenceResult):
    """Result of :func:`metric_comparison_test`.

    Attributes
    ----------
    metric : metric
        The metric, with a number of samples as its cut-off if it has one.
    names : list
        Names of the two rankers.
    statistic_a, statistic_b : float
        Value of the metric for each ranking, or its mean over queries for each run.
    difference : float
        The first value minus the second.
    standard_error : float
        Standard error of the difference from influence values, or from the differences of the
        queries; nan if a class, or a class of a stratum, has a single sample or cluster.
    pvalue : float
        The p-value; with a margin, the p-value of the null hypothesis that the difference is not
        within the margin.
    log10_pvalue : float
        Base-10 logarithm of the p-value.
    alternative : {"two-sided", "greater", "less"}
        The alternative hypothesis.
    method : str
        The method that was used.
    margin : float or None
        Margin of a test of non-inferiority or equivalence.
    n_samples, n_positives : int
        Number of samples and of positives.
    n_queries : int or None
        Number of queries; None for two rankings.
    n_resamples : int or None
        Number of random swaps, flips or resamples; None for other methods.
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
    margin: float | None
    n_samples: int = field(repr=False)
    n_positives: int = field(repr=False)
    n_queries: int | None = field(default=None, repr=False)
    n_resamples: int | None = field(default=None, repr=False)
    queries: list[Any] | None = field(default=None, repr=False)
    query_differences: Floats | None = field(default=None, repr=False)
    pvalue_is_bound: bool = False
    _interval: Callable[[float], tuple[float, float]] = _no_interval

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        if self.queries is None or self.query_differences is None:
            return super()._columns()
        return {"query": self.queries, "difference": self.query_differences.tolist()}

    def _sentences(self) -> Iterable[str]:
        title, queries = self.metric.title, ""
        if self.n_queries is not None:
            title = f"Mean {in_sentence(title)}"
            queries = f" over {self.n_queries} queries"
        tested = "two-sided" if self.alternative == "two-sided" else "one-sided"
        if self.margin is not None:
            kind = "equivalence" if self.alternative == "two-sided" else "non-inferiority"
            tested = f"{kind} within {self.margin:g}:"
        yield (
            f"{title} was {format_value(self.statistic_a)} and {format_value(self.statistic_b)}"
            f"{queries} ({self._stated(tested, WAYS[self.method])})."
        )


@result_function
def metric_comparison_test(
    y_true: ArrayLike,
    y_score: Any,
    *,
    metric: str | Metric = "average_precision",
    pos_label: PosLabel = 1,
    alternative: str = "two-sided",
    method: str = "auto",
    margin: float | None = None,
    groups: Iterable[Hashable] | None = None,
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    n_resamples: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> MetricComparisonTestResult:
    r"""Test whether two rankings of the same samples differ by any metric.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Binary labels.
    y_score : dict, DataFrame or array-like of shape (n_samples, 2)
        Scores of the two rankers, larger for samples more likely to be positive. They may be on
        different scales, because only ranks are used.
    metric : str or metric, default="average_precision"
        A metric, or its name with a cut-off after an @, as in ``"recall@50"``; see
        :func:`metric_test`.
    pos_label : int, float, bool or str, default=1
        The label of the positives.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        The alternative hypothesis: the metrics differ, the first ranker is better, or the first
        ranker is worse. With a margin, ``"two-sided"`` tests equivalence, ``"greater"``
        non-inferiority of the first ranker, and ``"less"`` non-inferiority of the second.
    method : str, default="auto"
        Method of the p-value; see Notes. ``"auto"`` selects ``"swap"``. ``"score_swap"`` and
        ``"bootstrap"`` are available for any metric, ``"influence"`` for any metric but the
        reciprocal rank, ``"delong"`` for ROC AUC, and ``"hypergeometric"``,
        ``"hypergeometric_midp"``, ``"mcnemar"`` and ``"emproc"`` for recall, precision, enrichment
        and F-score at k. Over queries: ``"sign_flip"``, which ``"auto"`` selects, ``"t"``,
        ``"wilcoxon"`` and ``"bootstrap"``.
    margin : float, optional
        Test whether the difference is within this margin, in units of the metric, by one-sided t
        tests; ``"auto"`` selects ``"influence"``, or ``"t"`` over queries.
    groups : array-like of shape (n_samples,), optional
        Query of each sample: two runs are compared by the mean of the metric over queries.
    strata : array-like of shape (n_samples,), optional
        Stratum of each sample, for samples with fixed numbers of positives and negatives per
        stratum: influence values are centred within strata. Swaps exchange the two ranks of one
        sample and need no strata.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample. With `groups`, all samples of a query must be in one cluster. The
        ranks of a cluster are swapped together, and only samples of different clusters are
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
        Both values, the difference, its standard error, the p-value, and the interval of the
        difference by ``result.confidence_interval()``.

    Raises
    ------
    TypeError
        If `y_true` is a ranking, or if an argument has the wrong type.
    ValueError
        If labels or scores are invalid, if `margin` is not positive, or if the method is not
        available for the metric or with the other arguments.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives or no negatives, or if the method needs a standard error and a
        class has a single sample or cluster. The p-value is then 1.

    See Also
    --------
    metric_multiple_comparison_test : Comparison of more than two rankers.
    metric_interval : Confidence interval of each value.
    best_candidate_test : Whether the best of several rankers is better than chance.

    Notes
    -----
    The rank swap test [1]_ exchanges the two ranks of each sample with probability 1/2 and
    evaluates both lists again. The p-value is (c + 1) / (B + 1) if c of B swaps have a difference
    at least as large as the observed one. Samples with equal ranks, before or after swapping,
    contribute the mean over their orders. The null hypothesis is that the two ranks of a sample are
    exchangeable, given its label; a rejection may also mean that the rankings have different shapes
    with the same value of the metric. The test has power near chance, and is conservative with
    large blocks of equal scores; the measured sizes of all tests are in :ref:`coverage`.
    ``"score_swap"`` exchanges the scores, which must be on one scale, such as those of two versions
    of one model. It is exact if the two scores of a sample are exchangeable.

    ``"influence"`` tests that the two metrics are equal in the population:
    :math:`T = (g(S_a) - g(S_b)) / \mathrm{SE}` with Student's t distribution with m - 1 degrees of
    freedom, on the scale :math:`g(t) = -\log(-\log t)` for average precision and on the original
    scale for others. It has little power if both
    rankers are near chance. ``"delong"`` [2]_ is the same for ROC AUC with the normal distribution.

    For hits at k, ``"hypergeometric"`` is exact given the number of positives that are in only one
    of the two lists; each list contains the same number of samples that are not in the other.
    McNemar's test ignores this constraint and is very conservative. ``"emproc"`` is the test of Ash
    and Hughes-Oliver [3]_. These tests need lists of exactly k samples, without equal scores across
    rank k.

    ``"bootstrap"`` draws positives and negatives with replacement, and rejects too often.

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
    """
    alternative = check_alternative(alternative)
    if margin is not None:
        margin = check_positive(margin, "margin")
    n_resamples = check_integer(n_resamples, "n_resamples", 1)
    n_jobs, verbose = check_n_jobs(n_jobs), check_verbose(verbose)
    chosen = as_metric(metric)
    # A generator is drawn from once, so that the interval and the p-value use the same resamples.
    draws = Draws(n_resamples, as_seed_sequence(random_state), n_jobs, verbose)
    if groups is not None:
        check_queries_alone(strata=strata)
    sample = Sample.read(
        y_true,
        y_score,
        pos_label=pos_label,
        columns="rankers",
        groups=groups,
        strata=strata,
        clusters=clusters,
    )
    if len(sample.names) != 2:
        raise ValueError(
            f"y_score must have two rankers; got {len(sample.names)}: compare more of them by "
            "metric_multiple_comparison_test."
        )
    if groups is not None:
        return _compare_runs(chosen, sample, alternative, method, margin, draws)
    method = _choose(chosen, method, margin, sample.design)
    both = Difference(chosen.at(sample.n_items), sample)
    return _compare(both, alternative, method, margin, draws)


def _pvalue_of_swaps(
    sampler: PairedSampler, draws: Draws, alternative: str
) -> tuple[float, int, bool]:
    """P-value of the observed difference among all swaps or random ones, and their number.

    The last entry is whether no random swap was as extreme as the observed difference.
    """
    if sampler.n_units == 0:
        return 1.0, 0, False
    n_listed = sampler.n_listed
    is_complete = n_listed is not None and n_listed <= draws.n_resamples
    if is_complete:
        assert n_listed is not None
        differences = draws.listed(sampler, n_listed)
    else:
        differences = draws.of(sampler)
    pvalue = randomization_pvalue(
        sampler.observed(),
        differences,
        alternative=alternative,  # type: ignore[arg-type]
        tolerance=sampler.tolerance,
        is_complete=is_complete,
    )
    is_bound = not is_complete and pvalue * (differences.size + 1) < 1.5
    return pvalue, differences.size, is_bound


# Two rankings.


@dataclass(frozen=True, eq=False)
class Difference:
    """Values of a metric for the first two rankers of a sample, and their standard errors."""

    metric: Metric
    sample: Sample

    @cached_property
    def values(self) -> tuple[float, float]:
        """Values of the metric for both rankings."""
        a, b = self.sample.rankings
        return float(value_of(self.metric, a)), float(value_of(self.metric, b))

    @property
    def difference(self) -> float:
        """The first value less the second."""
        return self.values[0] - self.values[1]

    @cached_property
    def covariance(self) -> Floats:
        """Influence covariance matrix of the two values."""
        return covariance_of_values(check_has_influence(self.metric), self.sample)

    @property
    def standard_error(self) -> float:
        """Standard error of the difference."""
        if not self.metric.has_influence or not self.sample.has_both:
            return math.nan
        (one, both), (_, other) = self.covariance
        return float(limits.difference_error(one, other, both))

    def interval(self) -> Callable[[float], tuple[float, float]]:
        """MOVER interval of the difference, which keeps none of the items."""
        if not self.metric.has_influence or not self.sample.has_both:
            return _no_interval
        (one, both), (_, other) = self.covariance
        scale = math.sqrt(one * other)
        return _Mover(
            recommended_interval(self.metric, self.sample.design),
            tuple(Estimate.of_sample(self.metric, self.sample, ranker) for ranker in (0, 1)),
            both / scale if scale > 0.0 else math.nan,
        )


@dataclass(frozen=True)
class _Mover:
    """MOVER interval of a difference, from the recommended interval of each metric."""

    way: IntervalMethod
    estimates: tuple[Estimate, ...]
    correlation: float

    def __call__(self, confidence_level: float) -> tuple[float, float]:
        a, b = (self._around(estimate, confidence_level) for estimate in self.estimates)
        low, high = limits.mover_limits(*a, *b, self.correlation)
        return float(low), float(high)

    def _around(self, estimate: Estimate, confidence_level: float) -> tuple[float, float, float]:
        """Value and limits of one ranking."""
        value = estimate.value
        low, high = self.way.limits(estimate, confidence_level, as_seed_sequence(0))
        # The interval of an expectation may exclude the value; MOVER limits must include it.
        return value, min(low, value), max(high, value)


def _choose(metric: Metric, method: str, margin: float | None, design: Design) -> str:
    """Return the name of the method, or raise an error if the metric does not have it."""
    known = ["auto", "swap", "score_swap"]
    if metric.has_influence:
        known.append("influence")
    known += [*_OF_FAMILY.get(metric.family, ()), "bootstrap"]
    method = check_option(method, "method", known, f" for {in_sentence(metric.title)}")
    if margin is not None and method not in ("auto", "influence"):
        raise ValueError(
            f"margin={margin!r} needs t tests of influence values; got method={method!r}: leave "
            "method out."
        )
    if margin is not None:
        check_has_influence(metric)
        return "influence"
    method = "swap" if method == "auto" else method
    if not design.is_simple and method in (*_OF_HITS, "bootstrap"):
        raise ValueError(
            f"method={method!r} needs independent samples, but clusters or strata are given: use "
            "method='swap' or 'influence'."
        )
    return method


def _compare(
    both: Difference, alternative: str, method: str, margin: float | None, draws: Draws
) -> MetricComparisonTestResult:
    """Compare two rankings by a method of their metric."""
    metric, sample = both.metric, both.sample
    n_resamples: int | None = None
    is_bound = False
    interval: Callable[[float], tuple[float, float]] = both.interval()
    if not sample.has_both:
        warn_of_one_class(sample.positive, "a comparison is not possible, and the p-value is 1")
        pvalue = 1.0
    elif (margin is not None or method in _OF_ERRORS) and math.isnan(both.standard_error):
        warn_of_unknown_errors(f"method={method!r} needs a standard error", "the p-value is 1")
        pvalue = 1.0
    elif margin is not None:
        df = sample.n_independent[0] - 1
        pvalue = within_margin(both.difference, both.standard_error, margin, df, alternative)
    elif method in ("swap", "score_swap"):
        ranks = _ranks(sample, pooled=method == "score_swap")
        sampler = SwapSampler(metric, sample.positive, *ranks, sample.design.clusters)
        pvalue, n_resamples, is_bound = _pvalue_of_swaps(sampler, draws, alternative)
    elif method == "influence":
        pvalue = _influence_pvalue(both, alternative)
    elif method == "delong":
        moments = both.difference, both.standard_error
        pvalue = float(limits.t_test(*moments, math.inf, alternative).pvalue)
        interval = _DeLong(*moments)
    elif method == "bootstrap":
        differences = draws.of(_Bootstrap(metric, sample))
        pvalue = pvalue_beyond_zero(differences, alternative)
        n_resamples, interval = draws.n_resamples, _Percentiles(differences)
    else:
        pvalue, interval = _hits_pvalue(both, alternative, method)
    return MetricComparisonTestResult(
        metric=metric,
        names=sample.names,
        statistic_a=both.values[0],
        statistic_b=both.values[1],
        difference=both.difference,
        standard_error=both.standard_error,
        pvalue=pvalue,
        log10_pvalue=log10_of(pvalue),
        alternative=alternative,
        method=method,
        margin=margin,
        n_samples=sample.n_items,
        n_positives=sample.n_positives,
        n_resamples=n_resamples,
        _interval=interval,
        pvalue_is_bound=is_bound,
    )


def warn_of_unknown_errors(what: str, consequence: str) -> None:
    """Warn about a class without a standard error, and state the consequence."""
    warn_caller(
        f"{what}, but y_true has a class, or a class of a stratum, with a single sample or "
        f"cluster, whose variance cannot be estimated: {consequence}.",
        UndefinedMetricWarning,
    )


def _ranks(sample: Sample, pooled: bool) -> tuple[Integers, Integers]:
    """Ranks of the items, best first: within each list, or among the pooled scores of both."""
    if not pooled:
        return doubled_midranks(sample.places(0)), doubled_midranks(sample.places(1))
    levels, places = np.unique(joined(sample.scores), return_inverse=True)
    ranks = (levels.size - 1 - places).astype(np.int64)
    return ranks[: sample.n_items], ranks[sample.n_items :]


def on_g_scale(metric: Metric) -> bool:
    """Whether t tests of a metric use the g scale."""
    return metric.family == "average_precision"


def _influence_pvalue(both: Difference, alternative: str) -> float:
    metric, sample = both.metric, both.sample
    (one, shared), (_, other) = both.covariance
    found = limits.metric_difference_test(
        *both.values,
        one,
        other,
        shared,
        sample.n_independent[0],
        alternative,
        on_g_scale=on_g_scale(metric),
        maximum=float(metric.maximum(sample.n_items, sample.n_positives))
        if on_g_scale(metric)
        else 1.0,
    )
    return float(found.pvalue)


def within_margin(
    difference: float, standard_error: float, margin: float, df: int, alternative: str
) -> float:
    """P-value of the hypothesis that the difference reaches the margin, one- or two-sided."""
    if alternative == "two-sided":
        return float(limits.equivalence_pvalue(difference, standard_error, margin, df))
    signed = difference if alternative == "greater" else -difference
    return float(limits.noninferiority_pvalue(signed, standard_error, margin, df))


@dataclass(frozen=True, eq=False)
class _DeLong:
    """The normal interval of a difference."""

    difference: float
    standard_error: float

    def __call__(self, confidence_level: float) -> tuple[float, float]:
        half = float(stats.norm.ppf((1.0 + confidence_level) / 2.0)) * self.standard_error
        return self.difference - half, self.difference + half


# Hits at k.


def _hits_pvalue(
    both: Difference, alternative: str, method: str
) -> tuple[float, Callable[[float], tuple[float, float]]]:
    """Return the p-value of two lists of k items, and the interval of the same method."""
    metric, sample = both.metric, both.sample
    k = int(metric.k)  # type: ignore[attr-defined]
    in_a, in_b = (_top(sample, ranker, k) for ranker in (0, 1))
    positive = sample.positive
    only_a, only_b = int(np.sum(in_a & ~in_b & positive)), int(np.sum(in_b & ~in_a & positive))
    if method == "mcnemar":
        return float(limits.mcnemar_pvalue(only_a, only_b, alternative)), both.interval()
    if method != "emproc":
        n_exclusive = int(np.sum(in_a & ~in_b))
        pvalue = limits.hypergeometric_pvalue(
            only_a, only_b, n_exclusive, alternative, mid_p=method == "hypergeometric_midp"
        )
        return float(pvalue), both.interval()
    m = sample.n_positives
    ranking_a, ranking_b = sample.rankings
    counts = _EmProcCounts(
        int(np.sum(in_a & positive)),
        int(np.sum(in_b & positive)),
        int(np.sum(in_a & in_b & positive)),
        int(np.sum(in_a & in_b)),
        k,
        slope_at(ranking_a.tie_sizes, ranking_a.hits, k),
        slope_at(ranking_b.tie_sizes, ranking_b.hits, k),
        positive.size,
        m,
    )
    scale = m / float(metric.divided_by(positive.size, m))  # type: ignore[attr-defined]
    pvalue = limits.emproc_test(*counts, alternative).pvalue
    return float(pvalue), _EmProc(counts, scale)


class _EmProcCounts(NamedTuple):
    """Counts for the comparison of Ash and Hughes-Oliver."""

    hits_a: int
    hits_b: int
    hits_both: int
    n_both: int
    k: int
    slope_a: float
    slope_b: float
    n_samples: int
    n_positives: int


@dataclass(frozen=True, eq=False)
class _EmProc:
    """Ash and Hughes-Oliver's interval of a difference of recalls, on the scale of the metric."""

    counts: _EmProcCounts
    scale: float

    def __call__(self, confidence_level: float) -> tuple[float, float]:
        low, high = limits.emproc_limits(*self.counts, confidence_level)
        return float(low) * self.scale, float(high) * self.scale


def _top(sample: Sample, ranker: int, k: int) -> NDArray[np.bool_]:
    """Mark the first k items, or raise an error for equal scores across rank k."""
    ends = np.cumsum(sample.rankings[ranker].tie_sizes)
    if k not in ends:
        raise ValueError(
            f"Candidate {sample.names[ranker]!r} has a block of equal scores across rank k={k}, "
            "but a test of hits needs lists of exactly k samples: break the ties, use another k, "
            "or use method='swap' or 'influence'."
        )
    return np.asarray(ends[sample.places(ranker)] <= k)


# Bootstrap.


@dataclass(frozen=True, eq=False)
class _Bootstrap:
    """Differences of resamples of the positives and of the negatives."""

    metric: Metric
    sample: Sample

    def chunks(self, n_resamples: int) -> list[int]:
        """Return the sizes of the chunks of resamples."""
        return chunk_sizes(n_resamples, self.sample.n_items, CELLS_PER_CHUNK)

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw differences."""
        positive = self.sample.positive
        positives, negatives = np.flatnonzero(positive), np.flatnonzero(~positive)
        found = np.empty(n_draws)
        for draw in range(n_draws):
            hits = positives[rng.integers(positives.size, size=positives.size)]
            misses = negatives[rng.integers(negatives.size, size=negatives.size)]
            one, other = (self._value(ranker, hits, misses) for ranker in (0, 1))
            found[draw] = one - other
        return found

    def _value(self, ranker: int, hits: NDArray[Any], misses: NDArray[Any]) -> float:
        places, n_blocks = self.sample.places(ranker), self.sample.rankings[ranker].n_blocks
        in_blocks = np.bincount(places[hits], minlength=n_blocks)
        sizes = in_blocks + np.bincount(places[misses], minlength=n_blocks)
        there = sizes > 0
        return float(self.metric.evaluate(sizes[there], in_blocks[there]))


def pvalue_beyond_zero(differences: Floats, alternative: str) -> float:
    """P-value of resampled differences: their proportion on the other side of 0."""
    n = differences.size
    below, above = (float(pvalue_of_draws(np.sum(s * differences >= 0.0), n)) for s in (-1.0, 1.0))
    if alternative == "two-sided":
        return min(1.0, 2.0 * min(below, above))
    return below if alternative == "greater" else above


@dataclass(frozen=True, eq=False)
class _Percentiles:
    """Percentiles of resampled differences."""

    differences: Floats

    def __call__(self, confidence_level: float) -> tuple[float, float]:
        tail = (1.0 - confidence_level) / 2.0
        low, high = np.quantile(self.differences, [tail, 1.0 - tail])
        return float(low), float(high)


# Runs over queries.


def _clusters_of_queries(design: Design) -> Integers | None:
    """Number the cluster of each query; all samples of a query must be in the same cluster."""
    codes, own = design.groups, design.clusters
    if own is None:
        return None
    assert codes is not None
    _, first = np.unique(codes, return_index=True)
    of_query = own[first]
    wrong = own != of_query[codes]
    if wrong.any():
        raise ValueError(
            f"The samples of query {design.names['groups'][codes[np.argmax(wrong)]]!r} are in "
            "several clusters: with groups, pass the same cluster for all samples of a query."
        )
    return np.asarray(np.unique(of_query, return_inverse=True)[1])


def _compare_runs(
    metric: Metric,
    sample: Sample,
    alternative: str,
    method: str,
    margin: float | None,
    draws: Draws,
) -> MetricComparisonTestResult:
    """Compare two runs by their differences query by query."""
    values, clusters = values_of_queries(metric, sample), _clusters_of_queries(sample.design)
    method = check_option(method, "method", _OF_QUERIES, " over queries")
    differences = values[:, 0] - values[:, 1]
    check_several_queries(differences.size)
    if clusters is not None and method not in ("auto", "sign_flip"):
        raise ValueError(
            f"method={method!r} needs independent queries, but clusters are given: use "
            "method='sign_flip'."
        )
    if margin is not None and clusters is not None:
        raise ValueError(
            f"margin={margin!r} needs a t test with independent queries, but clusters are given: "
            "leave out margin or clusters."
        )
    if margin is not None and method not in ("auto", "t"):
        raise ValueError(
            f"margin={margin!r} needs a t test over queries; got method={method!r}: leave method "
            "out."
        )
    if method == "auto":
        method = "sign_flip" if margin is None else "t"
    error = standard_error_of_mean(differences, clusters)
    n_resamples: int | None = None
    is_bound = False
    if margin is not None:
        mean = float(differences.mean())
        pvalue = within_margin(mean, error, margin, differences.size - 1, alternative)
    elif method == "sign_flip":
        sampler = SignFlipSampler(differences, clusters)
        pvalue, n_resamples, is_bound = _pvalue_of_swaps(sampler, draws, alternative)
    elif np.ptp(differences) == 0.0 and differences[0] == 0.0:
        pvalue = 1.0
    elif method == "t":
        found = limits.t_test(differences.mean(), error, differences.size - 1, alternative)
        pvalue = float(found.pvalue)
    elif method == "wilcoxon":
        pvalue = float(stats.wilcoxon(differences, alternative=alternative).pvalue)
    else:
        n_resamples = draws.n_resamples
        rng = np.random.default_rng(draws.seeds)
        pvalue = pvalue_beyond_zero(_resampled_means(differences, n_resamples, rng), alternative)
    by = "bootstrap" if method == "bootstrap" else "t"
    interval = _QueryInterval(differences, clusters, by, draws)
    means = values.mean(axis=0)
    return MetricComparisonTestResult(
        metric=metric,
        names=sample.names,
        statistic_a=float(means[0]),
        statistic_b=float(means[1]),
        difference=float(differences.mean()),
        standard_error=error,
        pvalue=pvalue,
        log10_pvalue=log10_of(pvalue),
        alternative=alternative,
        method=method,
        margin=margin,
        n_samples=sample.n_items,
        n_positives=sample.n_positives,
        n_queries=differences.size,
        n_resamples=n_resamples,
        queries=sample.design.names["groups"],
        query_differences=differences,
        _interval=interval,
        pvalue_is_bound=is_bound,
    )


def _resampled_means(values: Floats, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Means of resamples of the queries, computed in chunks that need little memory."""
    n = values.size
    chunks = (
        values[rng.integers(n, size=(size, n))].mean(axis=1)
        for size in chunk_sizes(n_resamples, n, CELLS_PER_CHUNK)
    )
    return np.concatenate(list(chunks))


@dataclass(frozen=True, eq=False)
class _QueryInterval:
    """Interval of the mean difference over queries."""

    differences: Floats
    clusters: NDArray[np.int64] | None
    method: str
    draws: Draws

    def __call__(self, confidence_level: float) -> tuple[float, float]:
        if self.clusters is not None:
            return clustered_mean_limits(self.differences, self.clusters, confidence_level)
        return mean_interval(
            self.differences,
            confidence_level,
            self.method,
            self.draws.n_resamples,
            self.draws.seeds,
        )
