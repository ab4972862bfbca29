"""Mean average precision over queries: score, null distribution and test."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.utils.parallel import Parallel, delayed

from sklearn_rankinf._engine.distribution import exact_mean_and_variance
from sklearn_rankinf._estimation.multiple_comparison import holm
from sklearn_rankinf._estimation.results import (
    MetricIntervalResult,
    in_parentheses,
    interval_over_queries,
)
from sklearn_rankinf._guard import result_function
from sklearn_rankinf._metrics.metrics import AveragePrecision
from sklearn_rankinf._metrics.queries import warn_of_undefined_queries
from sklearn_rankinf._null.distribution import (
    NullDistribution,
    monte_carlo_error,
)
from sklearn_rankinf._null.metrics import frozen_mean_distribution, frozen_null_distribution
from sklearn_rankinf._null.permuted import permutation_distribution
from sklearn_rankinf._permutation.draws import Draws, pvalue_of_draws
from sklearn_rankinf._permutation.exchange import Exchange
from sklearn_rankinf._permutation.joint import JointLists, ObservedLists
from sklearn_rankinf._permutation.restrictions import (
    RESTRICTED,
    DesignWarning,
    few_labellings_warning,
)
from sklearn_rankinf._ranking import (
    PosLabel,
    Ranking,
    Sample,
    as_seed_sequence,
    block_of_each,
    check_alternative,
    check_confidence_level,
    check_integer,
    check_n_jobs,
    check_no_closed_form,
    check_option,
    check_verbose,
    shown,
    warn_caller,
)
from sklearn_rankinf._results import as_log10
from sklearn_rankinf._significance.results import (
    MetricTestResult,
    drawn_interval,
    pvalue_fields,
    significance_fields,
)
from sklearn_rankinf._statistics.increments import Floats, Integers

_METHODS = ("auto", "analytic", "permutation", "normal", "pearson3")
_DEPENDENCES = ("independent", "shared")
_COLUMNS = (
    "n_samples",
    "n_positives",
    "statistic",
    "pvalue",
    "log10_pvalue",
    "pvalue_relative_error",
    "pvalue_low",
    "pvalue_high",
    "pvalue_is_bound",
    "pvalue_bh",
    "pvalue_by",
    "pvalue_holm",
    "pvalue_maxt",
)
# Relative difference up to which two values count as equal.
_SAME = 1e-12
# Smallest relative error that is reported.
_SMALLEST_ERROR = 1e-13


@dataclass(frozen=True, eq=False, repr=False)
class MeanAveragePrecisionTestResult(MetricTestResult):
    """Result of :func:`mean_average_precision_test`.

    Attributes
    ----------
    metric : metric
        The metric of each query, average precision.
    statistic : float
        Mean average precision.
    pvalue : float
        Probability under random labelling of a mean at least as extreme as the observed one.
    log10_pvalue : float
        Base-10 logarithm of the p-value, finite even if `pvalue` underflows to 0.
    pvalue_relative_error : float
        Conservative estimate of the relative error of `pvalue`: the numerical error for the exact
        null distribution, infinity if `pvalue` is a guaranteed upper bound, the Monte Carlo
        standard error for permutation, and infinity for the approximations.
    pvalue_low, pvalue_high : float
        Interval for the p-value, as returned by `pvalue_interval` with its default level.
    pvalue_is_bound : bool
        Whether `pvalue` is an upper bound: a guaranteed bound of the exact p-value where no error
        below 10 % can be stated, or the smallest possible p-value of the random labellings.
    zscore : float
        (statistic - E) / sd with mean E and standard deviation sd under random labelling; nan if
        the statistic cannot vary.
    adjusted_statistic : float
        (statistic - E) / (best - E), where best is the value of perfect rankings: 0 for chance, 1
        for perfect rankings.
    null_distribution : MeanNullDistribution or PermutationDistribution
        Null distribution of mean average precision, given the ties.
    n_samples, n_positives : int
        Total number of samples and of positives in all queries; with shared labels, those of one
        query.
    alternative : {"greater", "less", "two-sided"}
        The alternative hypothesis.
    method : str
        The method used for mean average precision.
    dependence : {"independent", "shared"}
        The assumption about the labels of different queries.
    queries : list
        The queries, in the order in which they first appear.
    n_queries_without_positives : int
        Number of queries without positives, which count as an average precision of 0.
    query_n_samples, query_n_positives : ndarray of shape (n_queries,)
        Number of samples and of positives of each query.
    query_statistic : ndarray of shape (n_queries,)
        Average precision of each query.
    query_pvalue, query_log10_pvalue : ndarray of shape (n_queries,)
        Unadjusted p-value of each query, and its base-10 logarithm.
    query_pvalue_relative_error : ndarray of shape (n_queries,)
        Estimate of the relative error of each p-value.
    query_pvalue_low, query_pvalue_high, query_pvalue_is_bound : ndarray of shape (n_queries,)
        Interval for each p-value, and whether the p-value is an upper bound.
    query_pvalue_bh, query_pvalue_by : ndarray of shape (n_queries,)
        P-values adjusted for the false discovery rate among the queries with positives, by
        Benjamini and Hochberg and by Benjamini and Yekutieli.
    query_pvalue_holm : ndarray of shape (n_queries,)
        P-values adjusted for the family-wise error rate among the queries with positives, by Holm.
    query_pvalue_maxt : ndarray of shape (n_queries,) or None
        P-values adjusted for the family-wise error rate by the step-down maxT of Westfall and
        Young, from joint permutations; None if labels are not permuted jointly.

    See Also
    --------
    mean_average_precision_test : The test that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import Ranking, mean_average_precision_test
    >>> run = {
    ...     "cats": Ranking.from_counts([1] * 8, [1, 1, 0, 1, 0, 0, 0, 0]),
    ...     "dogs": Ranking.from_counts([1] * 6, [0, 1, 0, 0, 1, 0]),
    ... }
    >>> result = mean_average_precision_test(run)
    >>> result.queries, result.query_pvalue.round(4)
    (['cats', 'dogs'], array([0.0357, 0.5333]))
    """

    dependence: str
    queries: list[Any]
    n_queries_without_positives: int = field(repr=False)
    query_n_samples: Integers = field(repr=False)
    query_n_positives: Integers = field(repr=False)
    query_statistic: Floats = field(repr=False)
    query_pvalue: Floats = field(repr=False)
    query_log10_pvalue: Floats = field(repr=False)
    query_pvalue_relative_error: Floats = field(repr=False)
    query_pvalue_low: Floats = field(repr=False)
    query_pvalue_high: Floats = field(repr=False)
    query_pvalue_is_bound: NDArray[np.bool_] = field(repr=False)
    query_pvalue_bh: Floats = field(repr=False)
    query_pvalue_by: Floats = field(repr=False)
    query_pvalue_holm: Floats = field(repr=False)
    query_pvalue_maxt: Floats | None = field(repr=False)

    @property
    def _title(self) -> str:
        empty = in_parentheses(self.n_queries_without_positives)
        return f"Mean average precision over {len(self.queries)} queries{empty}"

    def confidence_interval(
        self, confidence_level: float = 0.95, method: str = "auto", random_state: Any = 0
    ) -> MetricIntervalResult:
        """Confidence interval of mean average precision in a population of queries.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Nominal coverage of the interval.
        method : {"auto", "t", "bootstrap"}, default="auto"
            Student's t, which ``"auto"`` selects, or the bootstrap over queries.
        random_state : int, RandomState, Generator or None, default=0
            Source of random numbers for the bootstrap.

        Returns
        -------
        result : MetricIntervalResult
            The limits, the standard error and the target of the interval.

        Raises
        ------
        ValueError
            If there is only one query.
        """
        confidence_level = check_confidence_level(confidence_level)
        return interval_over_queries(
            self.metric,
            self.query_statistic,
            (self.n_samples, self.n_positives),
            confidence_level,
            method,
            9999,
            random_state,
            self.n_queries_without_positives,
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        columns = {name: getattr(self, f"query_{name}") for name in _COLUMNS}
        present = {name: own.tolist() for name, own in columns.items() if own is not None}
        return {"query": list(self.queries), **present}


@result_function
def mean_average_precision_test(
    y_true: ArrayLike | Mapping[Any, Ranking] | Sequence[Ranking],
    y_score: ArrayLike | None = None,
    *,
    groups: Iterable[Hashable] | None = None,
    dependence: str = "independent",
    pos_label: PosLabel = 1,
    alternative: str = "greater",
    method: str = "auto",
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    n_resamples: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> MeanAveragePrecisionTestResult:
    r"""Test each query of a run, and its mean average precision, against random labelling.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,), or mapping or sequence of Ranking
        Binary labels of the samples of all queries; or the ranking of each query, in which case
        `y_score` and `groups` are omitted.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for samples more likely to be positive; compared only within a query.
    groups : array-like of shape (n_samples,), optional
        The query of each sample: any hashable values, in any order.
    dependence : {"independent", "shared"}, default="independent"
        ``"independent"`` if the labels of different queries are independent of each other;
        ``"shared"`` if all queries rank the same samples, in the same order of rows, with the same
        labels. Shared labels are permuted for all queries together.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored for rankings.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values indicate runs better than chance, worse than chance, or either.
    method : {"auto", "analytic", "permutation", "normal", "pearson3"}, default="auto"
        Method of the p-values; see :func:`metric_null_distribution`. With shared labels, strata or
        clusters the mean over queries has no null distribution in closed form, and ``"auto"``
        selects permutation.
    strata : array-like of shape (n_samples,), optional
        Stratum of each sample, any hashable values. The labels of each query are permuted only
        within strata. Requires permutation.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, any hashable values. Samples of a cluster must have the same label
        in all queries. The labels of whole clusters are permuted, for all queries together, among
        clusters that have the same number of samples in each query and, with `strata`, the same
        stratum. Requires permutation.
    n_resamples : int, default=9999
        Number of random labellings for permutation.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings.
    n_jobs : int, optional
        Number of jobs for the null distributions of the queries and for permutation. Equal null
        distributions are computed once. The result does not depend on `n_jobs`.
    verbose : int, default=0
        Verbosity of joblib; larger values print more messages.

    Returns
    -------
    result : MeanAveragePrecisionTestResult
        Mean average precision, its p-value and its null distribution, and average precision,
        p-values and adjusted p-values of the queries.

    Raises
    ------
    TypeError
        If `y_score` or `groups` is missing, or given with rankings, if strata or clusters are given
        with rankings, or if a query is not hashable.
    ValueError
        If labels or scores are invalid, if lengths differ, if a query is missing, if an option is
        not one of those above, if with ``dependence="shared"`` the labels, strata or clusters of
        queries differ, or if a cluster has different labels or is in several strata.

    Warns
    -----
    UndefinedMetricWarning
        If a query has no positives. Its average precision counts as 0 and its p-value is 1.
    UserWarning
        If strata and clusters leave fewer than 1000 different labellings of all queries.

    See Also
    --------
    metric_null_distribution : The null distribution of mean average precision, for sequences of
        sizes.
    average_precision_test : Test of one ranking.
    scipy.stats.false_discovery_control : The adjustments that control the false discovery rate.

    Notes
    -----
    The p-value of a query is that of :func:`average_precision_test`. Queries without positives are
    left out of the adjustments for multiple queries. The adjustment of Benjamini and Hochberg [1]_
    bounds the expected proportion of false discoveries among the significant queries, and is valid
    for independent queries; that of Benjamini and Yekutieli [2]_ is valid under any dependence.
    Holm's [3]_ adjustment bounds the probability of any false discovery, under any dependence.

    Shared labels, strata and clusters are permuted once for all queries, which preserves the
    dependence between the queries. The step-down maxT [4]_ compares the standardised average
    precision of a query with the largest one of this query and of all less extreme queries, in each
    random labelling; its p-value is (b + 1)/(B + 1). It bounds the same probability as Holm's
    adjustment, and its p-values are smaller if queries are dependent. Average precision is
    standardised by its exact mean and standard deviation or, with strata and clusters, by those of
    the random labellings.

    Groups of samples that one model ranks, such as sites, can be given as queries. With
    ``groups=site`` and independent labels, the test is that of the mean average precision within
    sites, with an exact null distribution.

    References
    ----------
    .. [1] Benjamini, Y., & Hochberg, Y. (1995). Controlling the false discovery rate. Journal of
       the Royal Statistical Society B, 57(1), 289-300.
    .. [2] Benjamini, Y., & Yekutieli, D. (2001). The control of the false discovery rate in
       multiple testing under dependency. Annals of Statistics, 29(4), 1165-1188.
    .. [3] Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian
       Journal of Statistics, 6(2), 65-70.
    .. [4] Westfall, P. H., & Young, S. S. (1993). Resampling-based multiple testing. Wiley.

    Examples
    --------
    >>> from sklearn_rankinf import mean_average_precision_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0]
    >>> y_score = [9, 8, 7, 6, 5, 4, 3, 2, 6, 5, 4, 3, 2, 1]
    >>> groups = ["cats"] * 8 + ["dogs"] * 6
    >>> result = mean_average_precision_test(y_true, y_score, groups=groups)
    >>> round(result.statistic, 4), round(result.pvalue, 4)
    (0.6833, 0.1476)
    >>> result.query_pvalue_bh.round(4)
    array([0.0714, 0.5333])
    """
    alternative = check_alternative(alternative)
    if not isinstance(dependence, str) or dependence not in _DEPENDENCES:
        raise ValueError(f"dependence must be 'independent' or 'shared'; got {shown(dependence)}.")
    n_resamples = check_integer(n_resamples, "n_resamples", 1)
    n_jobs, verbose = check_n_jobs(n_jobs), check_verbose(verbose)
    method = check_option(method, "method", _METHODS, " for mean average precision")
    joint, is_restricted = None, strata is not None or clusters is not None
    if _are_rankings(y_true):
        rankings = _given_rankings(y_true, y_score, groups)
        # There is no stratum or cluster of a ranking.
        Sample.read(next(iter(rankings.values())), None, strata=strata, clusters=clusters)
        if dependence == "shared":
            raise TypeError(
                "dependence='shared' needs y_true, y_score and groups: a Ranking does not "
                "identify its samples."
            )
    else:
        if y_score is None or groups is None:
            missing = "y_score" if y_score is None else "groups"
            raise TypeError(
                f"{missing} is missing: pass y_true, y_score and groups, or one Ranking per query "
                "as y_true."
            )
        sample = read_queries(y_true, y_score, groups, pos_label, strata=strata, clusters=clusters)
        rankings = sample.of_queries()
        if dependence == "shared":
            check_no_closed_form(method, "a mean over queries with shared labels")
        elif is_restricted:
            check_no_closed_form(method, RESTRICTED)
        if dependence == "shared" or is_restricted:
            joint = _JointRows(sample, list(rankings.values()), dependence)
    warn_of_undefined_queries(AveragePrecision(), rankings)
    options = {"n_resamples": n_resamples, "random_state": random_state, "n_jobs": n_jobs}
    statistics = np.array([_average_precision(ranking) for ranking in rankings.values()])
    null: NullDistribution
    by_permutation = None
    if joint is None:
        sizes = [_sizes(ranking) for ranking in rankings.values()]
        null = frozen_mean_distribution(AveragePrecision(), sizes, method=method, **options)
        totals = sum(n for n, _, _ in sizes), sum(m for _, m, _ in sizes)
    else:
        totals = joint.totals
        null, by_permutation = joint.permute(statistics, alternative, options)
    if by_permutation is None or not is_restricted:
        of_queries, computed = _query_results(
            rankings,
            statistics,
            null,
            alternative,
            method,
            n_resamples,
            random_state,
            n_jobs,
            verbose,
        )
    else:
        of_queries, computed = by_permutation.of_queries(alternative), None
    adjusted = _adjusted(of_queries, rankings, by_permutation)
    fields = significance_fields(float(statistics.mean()), null, alternative, computed)
    fields["n_samples"], fields["n_positives"] = totals
    return MeanAveragePrecisionTestResult(
        metric=AveragePrecision(),
        **fields,
        dependence=dependence,
        query_statistic=statistics,
        **of_queries,
        **adjusted,
    )


def _adjusted(
    of_queries: Mapping[str, Any],
    rankings: Mapping[Any, Ranking],
    by_permutation: _JointSignificance | None,
) -> dict[str, Any]:
    """Return the fields of the result on the queries, with p-values adjusted for their number."""
    n_positives = np.array([ranking.n_positives for ranking in rankings.values()], dtype=np.int64)
    tested, pvalue = n_positives > 0, of_queries["query_pvalue"]
    adjusted = {}
    for name, adjust in (("bh", _bh), ("by", _by), ("holm", holm)):
        adjusted[f"query_pvalue_{name}"] = np.ones(pvalue.size)
        if tested.any():
            adjusted[f"query_pvalue_{name}"][tested] = adjust(pvalue[tested])
    maxt = None
    if by_permutation is not None:
        maxt = np.maximum(by_permutation.maxt, pvalue)
    return {
        "queries": list(rankings),
        "n_queries_without_positives": int((~tested).sum()),
        "query_n_samples": np.array([r.n_samples for r in rankings.values()], dtype=np.int64),
        "query_n_positives": n_positives,
        **adjusted,
        "query_pvalue_maxt": maxt,
    }


def _bh(pvalue: Floats) -> Floats:
    return np.asarray(stats.false_discovery_control(pvalue, method="bh"))


def _by(pvalue: Floats) -> Floats:
    return np.asarray(stats.false_discovery_control(pvalue, method="by"))


def _query_results(
    rankings: Mapping[Any, Ranking],
    statistic: Floats,
    null_of_mean: NullDistribution,
    alternative: str,
    method: str,
    n_resamples: int,
    random_state: Any,
    n_jobs: int | None,
    verbose: int,
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the fields of the result that have one entry per query.

    The fields on the p-value of the exact null distribution of the mean are returned too. Their
    computation takes as long as that of many queries, so it is a separate job.
    """
    sizes = [_sizes(ranking) for ranking in rankings.values()]
    same_null: dict[tuple[Any, ...], list[int]] = {}
    for query, problem in enumerate(sizes):
        same_null.setdefault(key_of_sizes(*problem), []).append(query)
    members = [np.array(queries) for queries in same_null.values()]
    # All null distributions share one seed, so that a generator is drawn from only once.
    seeds = as_seed_sequence(random_state)
    nulls = [
        frozen_null_distribution(
            AveragePrecision(),
            n,
            m,
            tie_sizes=ties,
            method=method,
            n_resamples=n_resamples,
            random_state=seeds,
        )
        for n, m, ties in (sizes[queries[0]] for queries in members)
    ]
    tasks: list[tuple[NullDistribution, Any]]
    tasks = [(null, statistic[queries]) for null, queries in zip(nulls, members, strict=True)]
    if null_of_mean.method == "analytic":
        tasks.insert(0, (null_of_mean, float(statistic.mean())))
    found = Parallel(n_jobs=n_jobs, verbose=verbose)(
        delayed(pvalue_fields)(null, values, alternative) for null, values in tasks
    )
    computed = None
    if null_of_mean.method == "analytic":
        computed = found.pop(0)
    order = np.argsort(np.concatenate(members))
    columns = {
        f"query_{name}": np.concatenate([fields[name] for fields in found])[order]
        for name in found[0]
    }
    return columns, computed


def _sizes(ranking: Ranking) -> tuple[int, int, Integers | None]:
    ties = None if ranking.tie_sizes.max() == 1 else ranking.tie_sizes
    return ranking.n_samples, ranking.n_positives, ties


def key_of_sizes(n_samples: int, n_positives: int, tie_sizes: Integers | None) -> tuple[Any, ...]:
    return n_samples, n_positives, None if tie_sizes is None else tie_sizes.tobytes()


def _average_precision(ranking: Ranking) -> float:
    return float(AveragePrecision().evaluate(ranking.tie_sizes, ranking.hits))


# Queries.


def _are_rankings(values: Any) -> bool:
    if isinstance(values, Ranking):
        raise TypeError(
            "y_true is a single Ranking: pass a mapping or sequence with one Ranking per query, "
            "or call average_precision_test."
        )
    entries = values.values() if isinstance(values, Mapping) else values
    if not isinstance(values, Mapping | list | tuple):
        return False
    return len(entries) > 0 and all(isinstance(entry, Ranking) for entry in entries)


def _given_rankings(rankings: Any, y_score: Any, groups: Any) -> dict[Any, Ranking]:
    if y_score is not None or groups is not None:
        given = "y_score" if y_score is not None else "groups"
        raise TypeError(f"{given} must be left out if y_true contains rankings.")
    queries = rankings.items() if isinstance(rankings, Mapping) else enumerate(rankings)
    return {query: Sample.read(ranking, None).rankings[0] for query, ranking in queries}


def read_queries(
    y_true: Any, y_score: Any, groups: Any, pos_label: PosLabel, **design: Any
) -> Sample:
    """Read labels, scores and queries."""
    if groups is None:
        raise TypeError("groups must hold the query of each sample; got None of type NoneType.")
    return Sample.read(y_true, y_score, pos_label=pos_label, groups=groups, **design)


def _check_same(sample: Sample, values: Integers, what: str) -> None:
    """Raise an error if the values are not the same, item by item, in every query."""
    (first, rows), *others = sample.design.rows_of_queries().items()
    for query, own in others:
        if own.size != rows.size or np.any(values[own] != values[rows]):
            raise ValueError(
                "dependence='shared' needs the same samples in the same order in every query, "
                f"but the {what} of query {query!r} differ from those of query {first!r}."
            )


@dataclass(frozen=True, eq=False)
class _JointSignificance:
    """Results of the joint permutation for the queries.

    Attributes
    ----------
    above, below : ndarray of shape (n_queries,)
        Number of random labellings with a value at least, and at most, as high as the observed one.
    n_resamples : int
        Number of random labellings.
    varying : ndarray of bool of shape (n_queries,)
        Queries whose average precision can vary.
    maxt : ndarray of shape (n_queries,)
        P-values adjusted by the step-down maxT.
    """

    above: Integers
    below: Integers
    n_resamples: int
    varying: NDArray[np.bool_]
    maxt: Floats

    def of_queries(self, alternative: str) -> dict[str, Any]:
        """P-values of the queries, with their logarithms, Monte Carlo errors and intervals."""
        n = self.n_resamples
        counts = {"greater": self.above, "less": self.below}
        counts["two-sided"] = np.minimum(self.above, self.below)
        n_extreme = counts[alternative]
        p = np.where(self.varying, pvalue_of_draws(n_extreme, n), 1.0)
        error = np.where(self.varying, monte_carlo_error(p, n), _SMALLEST_ERROR)
        if alternative == "two-sided":
            p = np.minimum(2.0 * p, 1.0)
        n_drawn = np.where(self.varying, n, 0)
        low, high = drawn_interval((p, p), n_extreme, n_drawn, False, alternative)
        return {
            "query_pvalue": p,
            "query_log10_pvalue": as_log10(np.log(p)),
            "query_pvalue_relative_error": np.maximum(error, _SMALLEST_ERROR),
            "query_pvalue_low": low,
            "query_pvalue_high": high,
            "query_pvalue_is_bound": self.varying & (n_extreme == 0),
        }


class _JointRows:
    """Rows of all queries whose labels are permuted together.

    Parameters
    ----------
    sample : Sample
        Labels, scores and queries, strata and clusters of the rows.
    rankings : list of Ranking
        The ranking of each query.
    dependence : {"independent", "shared"}
        ``"shared"`` if rows with the same position in their queries are the same sample.
    """

    def __init__(self, sample: Sample, rankings: list[Ranking], dependence: str) -> None:
        self._sample, self._rankings = sample, rankings
        self._is_shared = dependence == "shared"
        if self._is_shared:
            _check_same(sample, sample.kinds, "labels")
        self._places = np.empty(sample.n_items, dtype=np.int64)
        in_query = np.empty(sample.n_items, dtype=np.int64)
        for own in sample.design.rows_of_queries().values():
            self._places[own] = block_of_each(sample.scores[0][own])[0]
            in_query[own] = np.arange(own.size)
        self._exchange = self._as_exchange(in_query if self._is_shared else None)

    @property
    def totals(self) -> tuple[int, int]:
        """Number of samples and of positives; shared samples count once."""
        counted = self._rankings[:1] if self._is_shared else self._rankings
        return sum(r.n_samples for r in counted), sum(r.n_positives for r in counted)

    def _as_exchange(self, samples: Integers | None) -> Exchange:
        """Units of rows, exchangeable if they have equal numbers of rows in each query."""
        sample, n_rows = self._sample, self._sample.n_items
        codes, strata, units = (
            getattr(sample.design, name) for name in ("groups", "strata", "clusters")
        )
        for values, what in ((strata, "strata"), (units, "clusters")):
            if self._is_shared and values is not None:
                _check_same(sample, values, what)
        strata = np.zeros(n_rows, dtype=np.int64) if strata is None else strata
        if units is not None:
            sample.design.check_clusters(strata, sample.labels)
        else:
            units = np.arange(n_rows) if samples is None else samples
        kinds = _numbers_of_pairs(strata, _queries_of_units(units, codes)[units])
        order = np.lexsort((np.arange(n_rows), codes))
        positions = np.empty(n_rows, dtype=np.int64)
        positions[order] = np.arange(n_rows)
        exchange = Exchange(kinds, units, positions)
        if sample.design.restrictions:
            message = few_labellings_warning(exchange, sample.labels, what=sample.design.named)
            if message is not None:
                warn_caller(message, DesignWarning)
        return exchange

    def permute(
        self, observed: Floats, alternative: str, options: dict[str, Any]
    ) -> tuple[NullDistribution, _JointSignificance]:
        """Null distribution of the mean, and results of the same labellings for each query."""
        sizes = [(r.n_samples, r.n_positives, r.tie_sizes) for r in self._rankings]
        is_restricted = bool(self._sample.design.restrictions)
        moments = None if is_restricted else _exact_moments(self._rankings)
        groups = self._sample.design.groups
        assert groups is not None
        lists = JointLists(
            AveragePrecision(),
            sizes,
            groups,
            self._places,
            self._sample.positive,
            self._exchange,
            None if moments is None else float(moments[0].mean()),
        )
        null = permutation_distribution(lists, AveragePrecision(), *self.totals, None, **options)
        n = options["n_resamples"]
        draws = Draws(n, as_seed_sequence(options["random_state"]), options["n_jobs"])
        chunks = draws.chunks(lists.chunks(n))
        if moments is None:
            # The observed labelling counts as one of the labellings, at distance 0 from itself.
            found = draws.over(partial(lists.draw_moments, origin=observed), chunks)
            first, second = (np.sum(part, axis=0) / (n + 1) for part in zip(*found, strict=True))
            moments = observed + first, np.sqrt(np.maximum(second - first**2, 0.0))
        centers, deviations = moments
        same = _SAME * np.abs(observed)
        varying = deviations > _SAME * np.abs(centers)
        scaled = ObservedLists(
            observed,
            same,
            centers,
            np.where(varying, deviations, 1.0),
            alternative,
            np.flatnonzero(varying),
        )
        counts = draws.over(partial(lists.draw_counts, observed=scaled), chunks)
        means, above, below, largest = zip(*counts, strict=True)
        maxt = np.ones(observed.size)
        # From the most extreme query on, adjusted p-values are made non-decreasing.
        stepped = draws.pvalue(np.sum(largest, axis=0))
        maxt[scaled.ascending] = np.maximum.accumulate(stepped[::-1])[::-1]
        totals = np.sum(above, axis=0), np.sum(below, axis=0)
        of_means = null._of_resamples(np.concatenate(means), None)
        return of_means, _JointSignificance(*totals, n, varying, maxt)


def _exact_moments(rankings: Sequence[Ranking]) -> tuple[Floats, Floats]:
    """Exact means and standard deviations of average precision under random labelling."""
    known: dict[tuple[Any, ...], tuple[float, float]] = {}
    moments = []
    for ranking in rankings:
        sizes = _sizes(ranking)
        key = key_of_sizes(*sizes)
        if key not in known:
            known[key] = exact_mean_and_variance(AveragePrecision(), *sizes)
        moments.append(known[key])
    means, variances = np.transpose(moments)
    return means, np.sqrt(variances)


def _queries_of_units(units: Integers, codes: Integers) -> Integers:
    """Number the kinds of units; units of one kind have equal numbers of rows in each query."""
    order = np.lexsort((codes, units))
    ends = np.cumsum(np.bincount(units))
    known: dict[bytes, int] = {}
    of_units = np.split(codes[order], ends[:-1])
    return np.array([known.setdefault(own.tobytes(), len(known)) for own in of_units])


def _numbers_of_pairs(first: Integers, second: Integers) -> Integers:
    pairs = first * (int(second.max()) + 1) + second
    return np.asarray(np.unique(pairs, return_inverse=True)[1])
