"""Tests of the mean of a metric over queries, and of each query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sklearn_rankinf._estimation import (
    MetricIntervalResult,
    holm,
    in_parentheses,
    interval_over_queries,
)
from sklearn_rankinf._metrics import warn_of_undefined_queries
from sklearn_rankinf._null import NullDistribution, monte_carlo_error, permutation_distribution
from sklearn_rankinf._permutation import (
    RESTRICTED,
    DesignWarning,
    Draws,
    Exchange,
    JointLists,
    ObservedLists,
    few_labellings_warning,
    in_parallel,
    pvalue_of_draws,
)
from sklearn_rankinf._ranking import (
    Ranking,
    Sample,
    block_of_each,
    check_confidence_level,
    check_no_closed_form,
    warn_caller,
)
from sklearn_rankinf._significance.results import (
    MetricTestResult,
    drawn_interval,
    pvalue_fields,
    significance_fields,
)
from sklearn_rankinf._statistics import Floats, Integers, Metric, as_log10

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
_COUNTS = ("n_samples", "n_positives")
# Most queries with one null distribution in a job, after which progress is shown.
_MOST_IN_A_JOB = 20_000
# Relative difference up to which two values count as equal.
_SAME = 1e-12
# Smallest relative error that is reported.
_SMALLEST_ERROR = 1e-13


@dataclass(frozen=True, eq=False, repr=False)
class QueriesTestResult(MetricTestResult):
    """Result of :func:`metric_test` and :func:`average_precision_test` for several queries.

    It has the attributes and methods of :class:`MetricTestResult` for the mean over the queries:
    its `metric` is that of each query, `n_samples` and `n_positives` are totals, and `zscore`,
    `adjusted_statistic` and `chance` are exact, except with strata or clusters. The table has one
    row for each query.

    Attributes
    ----------
    queries : list
        The queries, in the order in which they first appear.
    n_queries_without_positives : int
        Number of queries without positives, whose value counts as 0.
    query_n_samples, query_n_positives : ndarray of shape (n_queries,)
        Number of items and of positives of each query.
    query_statistic : ndarray of shape (n_queries,)
        Value of the metric for each query.
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
        Young, from joint permutations; None without strata and clusters.

    See Also
    --------
    metric_test : The test that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import Ranking, average_precision_test
    >>> run = {
    ...     "cats": Ranking.from_counts([1] * 8, [1, 1, 0, 1, 0, 0, 0, 0]),
    ...     "dogs": Ranking.from_counts([1] * 6, [0, 1, 0, 0, 1, 0]),
    ... }
    >>> result = average_precision_test(run)
    >>> result.queries, result.query_pvalue.round(4)
    (['cats', 'dogs'], array([0.0357, 0.5333]))
    """

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
        return f"Mean {self.metric.title_in_text} over {len(self.queries)} queries{empty}"

    @property
    def _hint(self) -> str:
        # Relevant documents below the retrieved ones, without the rest of a collection.
        missing = ", or are other items missing that were not retrieved (align_runs)?"
        return super()._hint.replace("?", missing)

    def confidence_interval(
        self, confidence_level: float = 0.95, method: str = "auto", random_state: Any = 0
    ) -> MetricIntervalResult:
        """Confidence interval of the mean of the metric in a population of queries.

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


def are_rankings(values: Any) -> bool:
    """Whether labels are given as one ranking for each query."""
    entries = values.values() if isinstance(values, Mapping) else values
    if not isinstance(values, Mapping | list | tuple):
        return False
    return len(entries) > 0 and all(isinstance(entry, Ranking) for entry in entries)


def read_queries(
    metric: Metric, y_true: Any, y_score: Any, groups: Any, **options: Any
) -> tuple[Sample | None, Iterable[tuple[Any, Ranking]]]:
    """The sample with all queries, None if rankings are given, and the ranking of each query."""
    if not are_rankings(y_true):
        options |= {"takes_grades": metric.takes_grades, "groups": groups}
        sample = Sample.read(y_true, y_score, **options)
        if sample.has_unretrieved:
            raise ValueError(
                "y_score has items with the score -inf, which were not retrieved, and a test "
                "against chance needs the number of all items: pass the rankings of "
                "AlignedRuns.rankings, or give the other items of the collection the lowest score."
            )
        return sample, sample.queries()
    if y_score is not None or groups is not None:
        given = "y_score" if y_score is not None else "groups"
        raise TypeError(f"{given} must be left out if y_true contains rankings.")
    queries = y_true.items() if isinstance(y_true, Mapping) else enumerate(y_true)
    rankings = {query: Sample.read(ranking, None).rankings[0] for query, ranking in queries}
    # There is no stratum or cluster of a ranking.
    Sample.read(next(iter(rankings.values())), None, **options)
    return None, rankings.items()


def result_of_queries(
    metric: Metric,
    observed: Mapping[Any, tuple[Any, NullDistribution]],
    null: NullDistribution | None,
    joint: JointRows | None,
    alternative: str,
    n_jobs: int | None,
    verbose: int,
    **options: Any,
) -> QueriesTestResult:
    """Compare the mean with its null distribution, or with that of joint labellings of queries."""
    statistics = np.array([value for value, _ in observed.values()])
    nulls = [own for _, own in observed.values()]
    counts = [np.array([getattr(one, name) for one in nulls], dtype=np.int64) for name in _COUNTS]
    warn_of_undefined_queries(metric, list(observed), *counts)
    found = None
    if joint is not None:
        drawing = {**options, "n_jobs": n_jobs, "verbose": verbose}
        null, found = joint.permute(statistics, nulls, alternative, drawing)
    assert null is not None
    mean, computed = float(statistics.mean()), None
    if joint is not None and found is not None and not joint.are_free:
        of_queries = found.of_queries(alternative)
    else:
        of_queries, computed = _pvalues(nulls, statistics, null, alternative, n_jobs, verbose)
    fields = significance_fields(mean, null, alternative, computed)
    fields |= {name: sum(each.tolist()) for name, each in zip(_COUNTS, counts, strict=True)}
    return QueriesTestResult(
        metric=metric,
        **fields,
        queries=list(observed),
        n_queries_without_positives=int(np.sum(counts[1] == 0)),
        query_n_samples=counts[0],
        query_n_positives=counts[1],
        query_statistic=statistics,
        **of_queries,
        **_adjusted(of_queries["query_pvalue"], counts[1] > 0, found),
    )


def _pvalues(
    nulls: Sequence[NullDistribution],
    statistics: Floats,
    null_of_mean: NullDistribution,
    alternative: str,
    n_jobs: int | None,
    verbose: int,
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """P-values of queries, each by itself, and of their mean if it has an exact distribution.

    That of the mean takes as long as those of many queries, so it is a separate job.
    """
    same: dict[Any, list[int]] = {}
    for query, null in enumerate(nulls):
        same.setdefault(null._key, []).append(query)
    members = [
        part
        for queries in same.values()
        for part in np.array_split(queries, -(-len(queries) // _MOST_IN_A_JOB))
    ]
    tasks: list[tuple[NullDistribution, Any]]
    tasks = [(nulls[queries[0]], statistics[queries]) for queries in members]
    is_exact = null_of_mean.method == "analytic"
    if is_exact:
        tasks.insert(0, (null_of_mean, float(statistics.mean())))
    found = in_parallel(pvalue_fields, ((*task, alternative) for task in tasks), n_jobs, verbose)
    computed = found.pop(0) if is_exact else None
    order = np.argsort(np.concatenate(members))
    columns = {
        f"query_{name}": np.concatenate([fields[name] for fields in found])[order]
        for name in found[0]
    }
    return columns, computed


def _adjusted(
    pvalue: Floats, tested: NDArray[np.bool_], found: _JointSignificance | None
) -> dict[str, Any]:
    """P-values adjusted for the number of queries with positives, which are tested."""
    adjusted: dict[str, Any] = {"maxt": None if found is None else np.maximum(found.maxt, pvalue)}
    for name in ("bh", "by", "holm"):
        adjusted[name] = np.ones(pvalue.size)
        if tested.any():
            own = pvalue[tested]
            is_holm = name == "holm"
            adjusted[name][tested] = (
                holm(own) if is_holm else stats.false_discovery_control(own, method=name)
            )
    return {f"query_pvalue_{name}": values for name, values in adjusted.items()}


@dataclass(frozen=True, eq=False)
class _JointSignificance:
    """Results of the joint permutation for the queries.

    Numbers of random labellings with a value at least, and at most, as high as the observed one,
    which queries can vary, and p-values adjusted by the step-down maxT.
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


class JointRows:
    """Rows of all queries whose labels are permuted together, within strata or by clusters.

    They are free if every set of positives of the observed size is equally likely in each query by
    itself, as for queries that rank the same items.
    """

    def __init__(self, metric: Metric, sample: Sample, method: str) -> None:
        check_no_closed_form(method, RESTRICTED)
        self._metric, self._sample = metric, sample
        design, n_rows = sample.design, sample.n_items
        codes, units = design.groups, design.clusters
        assert codes is not None
        self._codes = codes
        self._places = np.empty(n_rows, dtype=np.int64)
        self._tie_sizes = []
        for own in design.rows_of_queries().values():
            self._places[own], tie_sizes = block_of_each(sample.scores[0][own])
            self._tie_sizes.append(tie_sizes)
        strata = np.zeros(n_rows, dtype=np.int64) if design.strata is None else design.strata
        if units is None:
            units = np.arange(n_rows)
        else:
            design.check_clusters(strata, sample.labels)
        # Units are exchangeable if they have equal numbers of rows in each query.
        kinds = _numbers_of_pairs(strata, _queries_of_units(units, codes)[units])
        order = np.lexsort((np.arange(n_rows), codes))
        positions = np.empty(n_rows, dtype=np.int64)
        positions[order] = np.arange(n_rows)
        self._exchange = Exchange(kinds, units, positions)
        message = few_labellings_warning(self._exchange, sample.labels, what=design.named)
        if message is not None:
            warn_caller(message, DesignWarning)
        n_kinds = np.unique(_numbers_of_pairs(codes, kinds)).size
        n_units = np.unique(_numbers_of_pairs(codes, units)).size
        self.are_free = n_kinds == len(self._tie_sizes) and n_units == n_rows

    def permute(
        self,
        observed: Floats,
        nulls: Sequence[NullDistribution],
        alternative: str,
        options: dict[str, Any],
    ) -> tuple[NullDistribution, _JointSignificance]:
        """Null distribution of the mean, and results of the same labellings for each query."""
        centers, deviations = (
            np.array([moment() for moment in moments])
            for moments in zip(*((null.mean, null.std) for null in nulls), strict=True)
        )
        lists = JointLists(
            [self._metric.at(null.n_samples) for null in nulls],
            [
                (null.n_samples, null.n_positives, tie_sizes)
                for null, tie_sizes in zip(nulls, self._tie_sizes, strict=True)
            ],
            self._codes,
            self._places,
            self._sample.positive,
            self._exchange,
            float(centers.mean()) if self.are_free else None,
        )
        totals = self._sample.n_items, self._sample.n_positives
        rounding = max(null._rounding for null in nulls)
        null = permutation_distribution(
            lists, self._metric, *totals, None, rounding=rounding, **options
        )
        n = options["n_resamples"]
        draws = Draws(n, options["random_state"], options["n_jobs"])
        chunks = draws.chunks(lists.chunks(n))
        if not self.are_free:
            # The observed labelling counts as one of the labellings, at distance 0 from itself.
            found = draws.over(partial(lists.draw_moments, origin=observed), chunks)
            first, second = (np.sum(part, axis=0) / (n + 1) for part in zip(*found, strict=True))
            centers = observed + first
            deviations = np.sqrt(np.maximum(second - first**2, 0.0))
        same = _SAME * np.abs(observed) + rounding
        varying = deviations > _SAME * np.abs(centers) + rounding
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
        numbers = np.sum(above, axis=0), np.sum(below, axis=0)
        of_means = null._of_resamples(np.concatenate(means), None)
        return of_means, _JointSignificance(*numbers, n, varying, maxt)


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
