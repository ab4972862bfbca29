"""A report on rankings: whether they are better than chance, by how much, with what certainty."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._estimation.comparison import (
    MetricComparisonTestResult,
    metric_comparison_test,
)
from sklearn_rankinf._estimation.estimates import choose_method
from sklearn_rankinf._estimation.intervals import metric_interval
from sklearn_rankinf._estimation.multiple_comparison import (
    MetricMultipleComparisonTestResult,
    metric_multiple_comparison_test,
)
from sklearn_rankinf._estimation.results import MetricIntervalResult
from sklearn_rankinf._guard import result_function
from sklearn_rankinf._metrics.metrics import (
    METRICS,
    RecallAtK,
    as_metric,
    check_scalar_k,
    in_sentence,
    needs_k,
)
from sklearn_rankinf._permutation.restrictions import exchange_of, few_labellings_warning
from sklearn_rankinf._plot import NullDistributionDisplay, new_figure
from sklearn_rankinf._ranking import (
    Design,
    PosLabel,
    Ranking,
    Sample,
    as_seed_sequence,
    check_integer,
    check_k,
    check_levels,
    check_option,
    class_names,
    resolve_k,
)
from sklearn_rankinf._report.checks import (
    AllFacts,
    LabelFacts,
    RankerFacts,
    ReportCheck,
    run_checks,
)
from sklearn_rankinf._report.files import file_stem, save_figure
from sklearn_rankinf._report.html import as_document, as_fragment
from sklearn_rankinf._report.numbers import (
    ComparisonReport,
    HitsReport,
    RankerReport,
    numbers_of_ranking,
    report_on_hits,
    report_on_metrics,
)
from sklearn_rankinf._report.text import CLUSTERS_HINT, as_text
from sklearn_rankinf._results import as_frame, plain_value, without_nan
from sklearn_rankinf._significance.metric_test import significance_of
from sklearn_rankinf._significance.minimum_hypergeometric import minimum_hypergeometric_test
from sklearn_rankinf._significance.results import MetricTestResult
from sklearn_rankinf._significance.top_k_curve import (
    TopKSignificanceCurve,
    top_k_significance_curve,
)
from sklearn_rankinf._statistics.additive import Metric, Statistic

DEFAULT_K = (10, 50, 100)
_OUTPUTS = ("report", "text", "dict", "frame", "html")
# Above these sizes the bounds over all k, simulated intervals, and rank swaps take long.
_POSITIVES_FOR_BOUNDS, _SAMPLES_FOR_SIMULATION = 20_000, 20_000
_SWAPPED_ITEMS = 200_000_000
# Null distributions of smaller log10 p-values are drawn on a logarithmic scale, to show the tail.
_FAR = -3.0
__all__ = [
    "DEFAULT_K",
    "RankSignificanceReport",
    "rank_significance_report",
    "report_as_json",
    "report_on_hits",
    "report_on_metrics",
    "write_plots",
]


@dataclass(frozen=True, eq=False, repr=False)
class RankSignificanceReport:
    """Result of :func:`rank_significance_report`.

    ``print(report)`` shows the report as text; a notebook shows it as tables.

    Attributes
    ----------
    metric : metric
        The metric.
    alpha : float
        Significance level. Confidence intervals have the level 1 - alpha.
    n_samples, n_positives : int
        Number of samples and number of positives.
    n_clusters : int or None
        Number of clusters; None if all samples were treated as independent.
    rankers : tuple of RankerReport
        The numbers of each ranking.
    checks : tuple of ReportCheck
        Findings of the checks, each with a code, a message, a remedy and a URL.
    notes : tuple of str
        What was left out and why, and assumptions that cannot be checked with the data.
    results : tuple of MetricTestResult or None
        The test of each ranking; None if samples of one cluster have different labels.
    intervals : tuple of MetricIntervalResult or None
        The interval of each ranking.
    curves : tuple of TopKSignificanceCurve or None
        The hits of each ranking for every k, compared with random selection.
    comparison : MetricComparisonTestResult, MetricMultipleComparisonTestResult or None
        The comparison of two or more rankings; None for a single ranking.
    compared : tuple of (int, int)
        With two rankings, the indices of the other ranking and of the best one; empty otherwise.
    comparison_note : str
        The method of the comparison.
    given_k : int, float or None
        The cut-off of the metric as it was given, possibly as a fraction of the samples.

    See Also
    --------
    rank_significance_report : The function that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import Ranking, rank_significance_report
    >>> ranking = Ranking.from_counts([1] * 40, [1, 1, 0, 1, 1, 0, 1] + [0] * 33)
    >>> report = rank_significance_report(ranking, k=5)
    >>> report
    RankSignificanceReport(metric=AveragePrecision(), rankers=['ranking'], n_samples=40,
    n_positives=5, checks=['few-positives'])
    >>> report.rankers[0].at_k[0].hits
    4.0
    """

    metric: Metric
    alpha: float
    n_samples: int
    n_positives: int
    n_clusters: int | None
    rankers: tuple[RankerReport, ...]
    checks: tuple[ReportCheck, ...]
    notes: tuple[str, ...]
    results: tuple[MetricTestResult | None, ...]
    intervals: tuple[MetricIntervalResult | None, ...]
    curves: tuple[TopKSignificanceCurve | None, ...]
    comparison: MetricComparisonTestResult | MetricMultipleComparisonTestResult | None = None
    compared: tuple[int, ...] = ()
    comparison_note: str = ""
    given_k: float | None = None

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(metric={self.metric}, "
            f"rankers={[ranker.name for ranker in self.rankers]}, n_samples={self.n_samples}, "
            f"n_positives={self.n_positives}, checks={[check.code for check in self.checks]})"
        )

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return as_fragment(self)

    @property
    def prevalence(self) -> float:
        """Proportion of positives among the samples."""
        return self.n_positives / self.n_samples

    @property
    def is_single(self) -> bool:
        """Whether there is only one ranking."""
        return len(self.rankers) == 1

    @property
    def is_tested(self) -> bool:
        """Whether the rankings were tested against chance."""
        return self.results[0] is not None

    @property
    def best_index(self) -> int:
        """Index of the ranking with the largest value of the metric."""
        return int(np.argmax([ranker.statistic for ranker in self.rankers]))

    def to_text(self) -> str:
        """Return the report as text in lines of at most 100 characters.

        Returns
        -------
        str
            Conclusions in words, tables of numbers, the checks, and sentences for a paper.
        """
        return as_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a dict that can be written as JSON.

        Returns
        -------
        dict
            The numbers of the rankings under ``"rankers"``, the checks under ``"checks"``, and the
            other attributes under their names. Undefined and omitted numbers are None.
        """
        found = {
            "metric": str(self.metric),
            "alpha": self.alpha,
            "n_samples": self.n_samples,
            "n_positives": self.n_positives,
            "prevalence": self.prevalence,
            "n_clusters": self.n_clusters,
            "rankers": [self._plain(ranker) for ranker in self.rankers],
            "best": None if self.is_single else self.rankers[self.best_index].name,
            "comparison": self.comparison_note or None,
            "checks": [asdict(check) for check in self.checks],
            "notes": list(self.notes),
        }
        plain: dict[str, Any] = without_nan(plain_value(found))
        return plain

    def _plain(self, ranker: RankerReport) -> dict[str, Any]:
        """Return the numbers of one ranking as a dict, with the results of other metrics."""
        return {**asdict(replace(ranker, metrics=())), "metrics": ranker.metrics}

    def to_frame(self) -> Any:
        """Return the report as a table.

        Returns
        -------
        pandas.DataFrame
            One row per ranking with its numbers and the codes of its checks. Columns of numbers
            at k have the k in their names.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        rows = [self._row(ranker) for ranker in self.rankers]
        columns = {column: [row[column] for row in rows] for column in rows[0]}
        return as_frame(columns)

    def _row(self, ranker: RankerReport) -> dict[str, Any]:
        """Return the numbers of one ranking as a flat dict."""
        row = asdict(replace(ranker, comparison=None, at_k=(), metrics=()))
        for part in ("comparison", "at_k", "metrics", "significant_k"):
            del row[part]
        runs = ranker.significant_k
        row["last_significant_k"] = runs[-1][1] if runs else None
        for at_k in ranker.at_k:
            for field in ("hits", "expected_hits", "hits_needed", "enrichment", "pvalue"):
                row[f"{field}_at_{at_k.k}"] = getattr(at_k, field)
        if not self.is_single:
            none = ComparisonReport(0.0, math.nan, math.nan, math.nan, True)
            compared = asdict(ranker.comparison or none)
            row |= {f"comparison_{field}": value for field, value in compared.items()}
        codes = [check.code for check in self.checks if check.ranker in (None, ranker.name)]
        return row | {"checks": ", ".join(codes)}

    def to_html(self, path: Any = None) -> str:
        """Return the report as a self-contained HTML page.

        Parameters
        ----------
        path : str or path-like, optional
            File to which the page is also written.

        Returns
        -------
        str
            The page, with embedded pictures.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        OSError
            If the file cannot be written.
        """
        page = as_document(self)
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page


@result_function
def rank_significance_report(
    y_true: Any,
    y_score: Any = None,
    *,
    k: Any = DEFAULT_K,
    metric: str | Metric = "average_precision",
    pos_label: PosLabel = 1,
    clusters: Iterable[Hashable] | None = None,
    alpha: float = 0.05,
    output: str = "report",
    n_resamples: int = 9999,
    random_state: Any = 0,
) -> Any:
    r"""Report whether rankings are better than chance, by how much, and with what certainty.

    The report starts with a conclusion in words, followed by tables of numbers, checks for
    common problems with labels and scores, and sentences for a paper.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, in which case `y_score` is omitted.
    y_score : array-like of shape (n_samples,) or (n_samples, n_rankers), dict or frame, optional
        Scores, larger for samples more likely to be positive, of one or several rankers. Several
        rankers are given as a dict, a data frame, or an array with one column per ranker. Required
        unless `y_true` is a ranking.
    k : int, float or sequence of them, default=(10, 50, 100)
        Cut-offs at which hits are reported: numbers of samples at the top of the ranking, or
        fractions of all samples between 0 and 1, rounded up. Any k larger than the number of
        samples is skipped, with a note.
    metric : str or metric, default="average_precision"
        A metric, such as ``RecallAtK(100)``, or the name of one that needs no k; see
        :func:`metric_test`.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, such as its patient. Samples of different clusters are independent.
        With clusters, p-values come from permutation tests, and the bounds over all k are left out.
        If samples of one cluster have different labels, there are no p-values against chance; the
        report contains intervals and comparisons.
    alpha : float, default=0.05
        Significance level. Confidence intervals have the level 1 - alpha.
    output : {"report", "text", "dict", "frame", "html"}, default="report"
        Type of the returned report.
    n_resamples : int, default=9999
        Number of random labellings with `clusters`, and of random rank swaps in the comparison of
        two rankers.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random numbers.

    Returns
    -------
    report : RankSignificanceReport, str, dict or DataFrame
        The report, or the result of its method ``to_text``, ``to_dict``, ``to_frame`` or
        ``to_html``.

    Raises
    ------
    ImportError
        If ``output="frame"`` and pandas is not installed, or ``output="html"`` and matplotlib is
        not installed.
    TypeError
        If an argument has the wrong type.
    ValueError
        If labels or scores are invalid, or if an option is not one of those above.

    See Also
    --------
    metric_test : The test alone.
    metric_interval : The interval alone.
    top_k_significance_curve : The hits for every k.
    metric_comparison_test : Comparison of two rankers.
    metric_multiple_comparison_test : Comparison of more than two rankers.
    best_candidate_test : Whether the best of several is better than chance.

    Notes
    -----
    Other functions of this package return the same numbers for the same arguments: the test comes
    from :func:`metric_test`, the interval from :func:`metric_interval`, hits at k and their
    p-values from :func:`recall_at_k_test`, the hits needed from :func:`min_hits_at_k`, the bound
    over all k from :func:`top_k_significance_curve`, and the single p-value over all k from
    :func:`minimum_hypergeometric_test`.

    Two rankers are compared by the rank swaps of :func:`metric_comparison_test`, or by its t test
    of influence values if the number of samples times `n_resamples` is above 2e8. More than two
    rankers are compared with the best one by :func:`metric_multiple_comparison_test`.

    Slow computations are left out, with a note: bounds over all k with more than 20,000 positives,
    and simulated intervals (those of DCG, BEDROC and custom metrics) with more than 20,000 samples.

    The checks and their remedies are described in the user guide, in the chapter on the report.
    P-values of several rankers, and of several k, are not adjusted for their number.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import rank_significance_report
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(500) < 30
    >>> scores = {"strong": rng.normal(size=500) + 2 * y_true, "noise": rng.normal(size=500)}
    >>> report = rank_significance_report(y_true, scores, k=50)
    >>> [ranker.name for ranker in report.rankers if ranker.pvalue <= 0.05]
    ['strong']
    >>> report.rankers[1].comparison.may_be_best
    False
    >>> report.to_dict()["rankers"][0]["at_k"][0]["k"]
    50
    """
    output = check_option(output, "output", _OUTPUTS)
    report = make_report(
        y_true,
        y_score,
        k=k,
        metric=metric,
        pos_label=pos_label,
        clusters=clusters,
        alpha=alpha,
        n_resamples=n_resamples,
        random_state=random_state,
    )
    if output == "report":
        return report
    return getattr(report, f"to_{output}")()


def make_report(
    y_true: Any,
    y_score: Any,
    *,
    k: Any = DEFAULT_K,
    metric: str | Metric = "average_precision",
    pos_label: PosLabel = 1,
    clusters: Iterable[Hashable] | None = None,
    alpha: float = 0.05,
    n_resamples: int = 9999,
    random_state: Any = 0,
    metrics: Sequence[str | Metric] = (),
    lower: Sequence[str] = (),
) -> RankSignificanceReport:
    """Make a report, with additional metrics, and with the names of scores that were negated."""
    level = np.asarray(check_levels(alpha))
    if level.ndim:
        raise TypeError(f"alpha must be one number; got {alpha!r}.")
    n_resamples = check_integer(n_resamples, "n_resamples", 1)
    sample, labels = _read(y_true, y_score, pos_label, clusters, float(level))
    study = _Study(
        sample,
        labels,
        _read_metric(metric),
        float(level),
        {"n_resamples": n_resamples, "random_state": as_seed_sequence(random_state)},
    )
    with warnings.catch_warnings():
        # The checks of the report replace these warnings.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        report = study.report(k, metrics)
    if not lower:
        return report
    negated = {_one_line(name) for name in lower}
    rankers = tuple(replace(one, lower_is_better=one.name in negated) for one in report.rankers)
    names = ", ".join(one.name for one in rankers if one.lower_is_better)
    note = f"Smaller scores mean positives, so that the scores were negated, in: {names}."
    return replace(report, rankers=rankers, notes=(note, *report.notes))


def swaps_take_long(n_samples: int, n_resamples: int) -> bool:
    """Whether random rank swaps of two rankings take too long for a report."""
    return n_samples * n_resamples > _SWAPPED_ITEMS


def comparison_method(metric: Metric, n_samples: int, n_resamples: int) -> str:
    """Return the method for comparing two rankers: rank swaps unless they take long."""
    is_long = swaps_take_long(n_samples, n_resamples)
    return "influence" if is_long and isinstance(metric, Statistic) else "auto"


def _read_metric(metric: str | Metric) -> Metric:
    """Return the metric, or raise an error if it is a name that needs a cut-off."""
    if isinstance(metric, str) and metric in METRICS and needs_k(METRICS[metric]):
        raise ValueError(
            f"metric={metric!r} needs a cut-off, and k only sets where hits are reported: pass a "
            "metric with its cut-off, such as RecallAtK(100)."
        )
    chosen = as_metric(metric, None)
    check_scalar_k(chosen)
    return chosen


def _read(
    y_true: Any, y_score: Any, pos_label: PosLabel, clusters: Any, alpha: float
) -> tuple[Sample, LabelFacts]:
    """Read labels and scores, and what the checks need of the labels."""
    columns = "rankers" if _holds_several(y_score) else ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a check reports the label in doubt
        sample = Sample.read(
            y_true, y_score, pos_label=pos_label, columns=columns, clusters=clusters
        )
    facts: dict[str, Any] = {
        "n_samples": sample.n_items,
        "n_positives": sample.n_positives,
        "alpha": alpha,
    }
    if sample.counts is not None:
        return sample, LabelFacts(**facts)
    names = sample.names if columns else [getattr(y_score, "name", None) or "ranking"]
    sample = replace(sample, names=[_one_line(name) for name in names])
    facts["pos_label"], facts["labels"] = pos_label, tuple(class_names(y_true))
    facts["has_repeated_index"] = not getattr(getattr(y_true, "index", None), "is_unique", True)
    codes = sample.design.clusters
    if codes is not None:
        share = np.bincount(codes, sample.positive) / np.bincount(codes)
        mixed, known = (
            np.flatnonzero((share > 0.0) & (share < 1.0)),
            sample.design.names["clusters"],
        )
        facts["mixed_clusters"] = tuple(known[code] for code in mixed)
        facts["n_clusters"] = len(known)
        facts["n_positive_clusters"], facts["n_negative_clusters"] = sample.n_independent
    return sample, LabelFacts(**facts)


def _holds_several(y_score: Any) -> bool:
    """Whether the scores are those of several rankers, by name or in columns."""
    if isinstance(y_score, Mapping) or hasattr(y_score, "columns"):
        return True
    try:
        shape = np.shape(y_score)
    except ValueError:
        return False  # ragged input raises an error when it is read
    return len(shape) == 2 and shape[1] != 1


def _one_line(name: Any) -> str:
    """Return a name as printable text without line breaks."""
    text = " ".join(str(name).split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text) or "unnamed"


def _untested(result: MetricTestResult) -> MetricTestResult:
    """Return the result without its p-value and z-score, which need independent samples."""
    names = "pvalue log10_pvalue pvalue_relative_error pvalue_low pvalue_high zscore"
    unknown = dict.fromkeys(names.split(), math.nan)
    return replace(result, **unknown, pvalue_is_bound=False, method="none")  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class _Study:
    """The computation of a report from a sample and its options."""

    sample: Sample
    labels: LabelFacts
    metric: Metric
    alpha: float
    drawing: dict[str, Any]

    def report(self, k: Any, metrics: Sequence[str | Metric]) -> RankSignificanceReport:
        """Test, compare and check all rankings."""
        sample, labels = self.sample, self.labels
        cuts, notes = self._cuts(k)
        notes += self._left_out()
        facts, intervals, curves = [], [], []
        few_labellings = self._few_labellings
        for index, (name, ranking) in enumerate(zip(sample.names, sample.rankings, strict=True)):
            result = self._test(self.metric, index)
            interval, curve = self._interval(index), self._curve(ranking)
            numbers = numbers_of_ranking(
                name,
                result,
                interval,
                curve,
                None if curve is None else minimum_hypergeometric_test(ranking),
                at_k=tuple(self._hits(index, cut) for cut in cuts),
                metrics=report_on_metrics(ranking, metrics),
            )
            facts.append(RankerFacts(labels, ranking, result, numbers, few_labellings))
            intervals.append(interval)
            curves.append(curve)
        checks = run_checks(AllFacts(labels, tuple(facts), sample.scores))
        report = RankSignificanceReport(
            metric=facts[0].result.metric,
            alpha=self.alpha,
            n_samples=labels.n_samples,
            n_positives=labels.n_positives,
            n_clusters=labels.n_clusters,
            rankers=tuple(one.numbers for one in facts),
            checks=checks,
            notes=tuple(notes),
            results=tuple(None if labels.mixed_clusters else one.result for one in facts),
            intervals=tuple(intervals),
            curves=tuple(curves),
            given_k=getattr(self.metric, "k", None),
        )
        return report if report.is_single or not labels.has_both else self._compared(report)

    def _cuts(self, k: Any) -> tuple[list[float], list[str]]:
        """Return the cut-offs for different numbers of samples, and a note on those too large."""
        n = self.sample.n_items
        cuts: dict[int, float] = {}
        dropped = []
        if not isinstance(k, Real | Iterable):
            raise TypeError(f"k must be a number or a list of numbers; got {k!r}.")
        given: list[Any] = [k] if isinstance(k, Real) else list(k)
        for cut in given:
            check_k(cut)
            if cut > n:
                dropped.append(str(cut))
            else:
                cuts.setdefault(resolve_k(cut, n), cut)
        if not dropped:
            return list(cuts.values()), []
        return list(cuts.values()), [
            f"k = {', '.join(dropped)} was left out: there are only {n} samples."
        ]

    def _left_out(self) -> list[str]:
        """Return notes on the results that are not computed."""
        notes = []
        m = self.sample.n_positives
        if self.labels.mixed_clusters:
            notes.append(
                "P-values against chance, bounds over all k and the hits needed are left out "
                "because samples of one cluster have different labels. Chance is the mean of a "
                "random order of the samples."
            )
        elif self.labels.has_clusters:
            notes.append(
                "Bounds over all k, the hits needed and the minimum hypergeometric test are left "
                "out because they need independent samples, and clusters were given."
            )
        elif m > _POSITIVES_FOR_BOUNDS:
            notes.append(
                "Bounds over all k and the minimum hypergeometric test are left out because they "
                f"take long with {m} positives: call top_k_significance_curve and "
                "minimum_hypergeometric_test."
            )
        if not isinstance(self.metric, Statistic):
            notes.append(
                f"{self.metric.title} of one ranking depends on a single sample, so it has no "
                "interval."
            )
        elif self._is_slow_interval:
            notes.append(
                f"The interval of {in_sentence(self.metric.title)} is left out because its "
                "simulation takes long: call metric_interval."
            )
        if not self.labels.has_clusters:
            notes.append(CLUSTERS_HINT)
        return notes

    @property
    def _is_slow_interval(self) -> bool:
        n = self.sample.n_items
        way = choose_method(self.metric, "auto", self.labels.has_clusters)
        return way == "binormal" and n > _SAMPLES_FOR_SIMULATION

    def _test(self, metric: Metric, index: int) -> MetricTestResult:
        """Test one ranking, without a p-value if samples of one cluster have different labels."""
        sample = self.sample.single(index)
        if self.labels.mixed_clusters:
            sample = replace(sample, design=Design(sample.n_items))
        result = significance_of(metric, sample, method="auto", n_jobs=None, **self.drawing)
        return _untested(result) if self.labels.mixed_clusters else result

    @property
    def _few_labellings(self) -> str | None:
        """Text of the warning that clusters leave few different labellings."""
        exchange = None if self.labels.mixed_clusters else exchange_of(self.sample)
        return None if exchange is None else few_labellings_warning(exchange, self.sample.labels)

    @property
    def _by_cluster(self) -> dict[str, Any]:
        """Arguments of tests of samples in clusters."""
        return {"pos_label": True, "clusters": self.sample.design.clusters}

    def _interval(self, index: int) -> MetricIntervalResult | None:
        """Return the interval of one ranking, or None if there is none or it takes long."""
        if not isinstance(self.metric, Statistic) or not self.labels.has_both:
            return None
        return None if self._is_slow_interval else self._interval_of(index, self.metric)

    def _interval_of(self, index: int, metric: Metric) -> MetricIntervalResult:
        options: dict[str, Any] = {"metric": metric, "confidence_level": 1.0 - self.alpha}
        options["random_state"] = self.drawing["random_state"]
        if not self.labels.has_clusters:
            return metric_interval(self.sample.rankings[index], **options)
        return metric_interval(
            self.sample.positive, self.sample.scores[index], **self._by_cluster, **options
        )

    def _curve(self, ranking: Ranking) -> TopKSignificanceCurve | None:
        if self.labels.has_clusters or ranking.n_positives > _POSITIVES_FOR_BOUNDS:
            return None
        return top_k_significance_curve(ranking, alpha=self.alpha)

    def _hits(self, index: int, cut: float) -> HitsReport:
        ranking = self.sample.rankings[index]
        interval = self._interval_of(index, RecallAtK(cut)) if self.labels.has_both else None
        if not self.labels.has_clusters:
            return report_on_hits(ranking, cut, self.alpha, interval=interval)
        result = self._test(RecallAtK(cut), index)
        return report_on_hits(ranking, cut, self.alpha, result, interval)

    def _compared(self, report: RankSignificanceReport) -> RankSignificanceReport:
        """Return the report with each ranking compared with the best one."""
        if len(report.rankers) == 2:
            return self._two_compared(report)
        if not isinstance(self.metric, Statistic):
            title = in_sentence(self.metric.title)
            note = f"The rankings are not compared because {title} has no standard error."
            return replace(report, notes=(*report.notes, note))
        best = report.best_index
        found = metric_multiple_comparison_test(
            self.sample.positive,
            dict(enumerate(self.sample.scores)),  # one array would round large whole numbers
            metric=self.metric,
            reference="best",
            confidence_level=1.0 - self.alpha,
            random_state=self.drawing["random_state"],
            **self._by_cluster,
        )
        names = self.sample.names
        named = replace(found, names=list(names), reference=names[best])
        rankers = list(report.rankers)
        for pair, (one, _) in enumerate(found.pairs.tolist()):
            compared = ComparisonReport(
                float(found.difference[pair]),
                float(found.low[pair]),
                float(found.high[pair]),
                float(found.pvalue[pair]),
                bool(found.may_be_best[one]),
            )
            rankers[one] = replace(rankers[one], comparison=compared)
        note = (
            "Method: metric_multiple_comparison_test, t tests of influence values. P-values "
            "(single-step maxT) and intervals are adjusted for all pairs and agree with each "
            "other. Rankings that may be best: Hsu's one-sided comparisons of each ranking with "
            "all others, which can exclude a ranking whose interval includes 0."
        )
        return replace(report, rankers=tuple(rankers), comparison=named, comparison_note=note)

    def _two_compared(self, report: RankSignificanceReport) -> RankSignificanceReport:
        best = report.best_index
        other = 1 - best
        n_resamples = self.drawing["n_resamples"]
        method = comparison_method(self.metric, report.n_samples, n_resamples)
        found = metric_comparison_test(
            self.sample.positive,
            self.sample.scores[other],
            self.sample.scores[best],
            metric=self.metric,
            method=method,
            **self._by_cluster,
            **self.drawing,
        )
        low, high = found.confidence_interval(1.0 - self.alpha)
        compared = ComparisonReport(
            found.difference, low, high, found.pvalue, found.pvalue > self.alpha
        )
        rankers = list(report.rankers)
        rankers[other] = replace(rankers[other], comparison=compared)
        way = "t test of influence values" if method == "influence" else "rank swaps"
        note = f"Method: metric_comparison_test, {way}, two-sided; MOVER interval."
        return replace(
            report,
            rankers=tuple(rankers),
            comparison=found,
            compared=(other, best),
            comparison_note=note,
        )


# The command line.


def report_as_json(report: RankSignificanceReport, plots: Sequence[str] = ()) -> str:
    """Return the rankings of a report as JSON.

    Parameters
    ----------
    report : RankSignificanceReport
        The report.
    plots : sequence of str, optional
        Files that were written. Those with the ending ``.png`` are the pictures of the rankings, if
        any.

    Returns
    -------
    str
        A list with one object per ranking: the fields of `RankerReport`, and the checks. Undefined
        numbers are null.
    """
    whole = report.to_dict()
    rows: list[dict[str, Any]] = []
    pictures = [path for path in plots if path.endswith(".png")]
    for number, ranker in enumerate(whole["rankers"]):
        checks = [one for one in whole["checks"] if one["ranker"] in (None, ranker["name"])]
        rows.append({**ranker, "checks": checks, "plot": pictures[number] if pictures else None})
    return json.dumps(rows, indent=2, allow_nan=False)


def write_plots(directory: str, results: Mapping[str, Any]) -> dict[str, str]:
    """Draw the null distribution and the observed value of each test in a separate file.

    Parameters
    ----------
    directory : str
        Directory of the files. It is created if necessary.
    results : dict of str to test result or None
        Results, keyed by the name of the ranking. Rankings that were not tested have no picture.

    Returns
    -------
    dict of str to str
        The files, keyed by the name of the ranking.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    CommandError
        If the directory cannot be created or written to.
    """
    files: dict[str, str] = {}
    for name, result in results.items():
        if result is None:
            continue
        figure = new_figure("--plots")
        display = NullDistributionDisplay(result, name=name)
        scale = "log" if result.log10_pvalue < _FAR else "linear"
        display.plot(figure.add_subplot(), yscale=scale)
        path = Path(directory) / f"{file_stem(name, files.values())}.png"
        files[name] = save_figure(figure, path)
    return files
