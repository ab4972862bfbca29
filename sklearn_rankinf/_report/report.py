"""A report on rankings: whether they are better than chance, by how much, with what certainty."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._estimation import (
    MetricIntervalResult,
    choose_method,
    metric_comparison_test,
    metric_interval,
    metric_multiple_comparison_test,
)
from sklearn_rankinf._metrics import RecallAtK, as_metric
from sklearn_rankinf._permutation import exchange_of, few_labellings_warning
from sklearn_rankinf._ranking import (
    Design,
    PosLabel,
    Ranking,
    Sample,
    as_seed_sequence,
    check_integer,
    check_k,
    check_levels,
    class_names,
    holds_rankers,
    resolve_k,
)
from sklearn_rankinf._report.checks import Facts, run_checks
from sklearn_rankinf._report.html import as_document, as_fragment
from sklearn_rankinf._report.numbers import (
    Findings,
    HitsReport,
    RankerReport,
    difference_of_two,
    differences_of_pairs,
)
from sklearn_rankinf._report.text import CLUSTERS_HINT, as_text, sentences
from sklearn_rankinf._results import Result
from sklearn_rankinf._significance import (
    MetricTestResult,
    TopKSignificanceCurve,
    minimum_hypergeometric_test,
    significance_of,
    top_k_significance_curve,
)
from sklearn_rankinf._statistics import Metric

DEFAULT_K = (10, 50, 100)
# Above these sizes the bounds over all k, simulated intervals, and rank swaps take long.
_POSITIVES_FOR_BOUNDS, _SAMPLES_FOR_SIMULATION = 20_000, 20_000
_SWAPPED_ITEMS = 200_000_000
# Columns of the table with one row for each ranking.
_OF_TEST = (
    *("n_samples", "n_positives", "statistic", "chance", "adjusted_statistic", "zscore", "pvalue"),
    *("log10_pvalue", "pvalue_relative_error", "pvalue_low", "pvalue_high", "pvalue_is_bound"),
    "method",
)
_OF_INTERVAL = ("low", "high", "standard_error")
_OF_HITS = ("hits", "expected_hits", "hits_needed", "enrichment")
_OF_DIFFERENCE = ("difference", "low", "high", "pvalue", "may_be_best")


@dataclass(frozen=True, eq=False, repr=False)
class RankSignificanceReport(Findings, Result):
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
        The results of each ranking.
    comparison : MetricComparisonTestResult, MetricMultipleComparisonTestResult or None
        The comparison of two or more rankings; None for a single ranking.
    differences : tuple of ComparisonReport
        The difference of each ranking from the best one, according to the comparison.
    comparison_method : str or None
        The method of the comparison, in words.
    checks : tuple of ReportCheck
        Findings of the checks, each with a code, a message, a remedy and a URL.
    notes : tuple of str
        What was left out and why, and assumptions that cannot be checked with the data.
    prevalence : float
        Proportion of positives among the samples.
    best : str or None
        Name of the ranking with the largest value of the metric; None for a single ranking.

    See Also
    --------
    rank_significance_report : The function that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import Ranking, rank_significance_report
    >>> ranking = Ranking.from_counts([1] * 40, [1, 1, 0, 1, 1, 0, 1] + [0] * 33)
    >>> report = rank_significance_report(ranking, k=5)
    >>> report
    RankSignificanceReport(metric=AveragePrecision(), alpha=0.05, n_samples=40, n_positives=5)
    >>> report.rankers[0].at_k[0].hits
    4.0
    """

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """Return the report as text in lines of at most 100 characters.

        Returns
        -------
        str
            Conclusions in words, tables of numbers, the checks, and sentences for a paper.
        """
        return as_text(self)

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

    def _repr_html_(self) -> str:
        return as_fragment(self)

    def _sentences(self) -> Iterable[str]:
        return sentences(self)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """One row per ranking; columns of numbers at k have the k in their names."""
        rows = [self._row(ranker) for ranker in self.rankers]
        return {column: [row[column] for row in rows] for column in rows[0]}

    def _row(self, ranker: RankerReport) -> dict[str, Any]:
        """Return the numbers of one ranking as a flat dict."""
        runs, over_k = ranker.significant_k, ranker.minimum_hypergeometric
        row = {"name": ranker.name, **_given(ranker.test, _OF_TEST)}
        row |= {"pvalue_less": ranker.pvalue_less, **_given(ranker.interval, _OF_INTERVAL)}
        row["last_significant_k"] = runs[-1][1] if runs else None
        row["minimum_hypergeometric_pvalue"] = None if over_k is None else over_k.pvalue
        for at_k in ranker.at_k:
            numbers = {**_given(at_k, _OF_HITS), "pvalue": at_k.test.pvalue}
            row |= {f"{name}_at_{at_k.k}": value for name, value in numbers.items()}
        if not self._is_single:
            own = next((one for one in self.differences if one.ranker == ranker.name), None)
            compared = _given(own, _OF_DIFFERENCE)
            row |= {f"comparison_{name}": value for name, value in compared.items()}
        codes = [check.code for check in self.checks if check.ranker in (None, ranker.name)]
        return row | {"lower_is_better": ranker.lower_is_better, "checks": ", ".join(codes)}


def _given(result: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return some numbers of a result, or None for each of them without a result."""
    return {name: getattr(result, name, None) for name in names}


def rank_significance_report(
    y_true: Any,
    y_score: Any = None,
    *,
    k: Any = DEFAULT_K,
    metric: str | Metric = "average_precision",
    pos_label: PosLabel = 1,
    clusters: Iterable[Hashable] | None = None,
    alpha: float = 0.05,
    n_resamples: int = 9999,
    random_state: Any = 0,
) -> RankSignificanceReport:
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
    n_resamples : int, default=9999
        Number of random labellings with `clusters`, and of random rank swaps in the comparison of
        two rankers.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random numbers.

    Returns
    -------
    report : RankSignificanceReport
        The report; ``print(report)`` shows it as text.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If labels, scores or options are invalid.

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
    >>> [ranker.name for ranker in report.rankers if ranker.test.pvalue <= 0.05]
    ['strong']
    >>> report.differences[0].may_be_best
    False
    >>> report.to_dict()["rankers"][0]["at_k"][0]["k"]
    50
    """
    level = np.asarray(check_levels(alpha))
    if level.ndim:
        raise TypeError(f"alpha must be one number; got {alpha!r}.")
    chosen = as_metric(metric)
    drawing = {
        "n_resamples": check_integer(n_resamples, "n_resamples", 1),
        "random_state": as_seed_sequence(random_state),
    }
    study = _Study(_read(y_true, y_score, pos_label, clusters, float(level)), chosen, drawing)
    with warnings.catch_warnings():
        # The checks of the report replace these warnings.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return study.report(k)


def swaps_take_long(n_samples: int, n_resamples: int) -> bool:
    """Whether random rank swaps of two rankings take too long for a report."""
    return n_samples * n_resamples > _SWAPPED_ITEMS


def comparison_method(metric: Metric, n_samples: int, n_resamples: int) -> str:
    """Return the method for comparing two rankers: rank swaps unless they take long."""
    is_long = swaps_take_long(n_samples, n_resamples)
    return "influence" if is_long and metric.has_influence else "auto"


def _read(y_true: Any, y_score: Any, pos_label: PosLabel, clusters: Any, alpha: float) -> Facts:
    """Read labels and scores, and what the checks need of the labels."""
    columns = "rankers" if holds_rankers(y_score) else ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a check reports the label in doubt
        sample = Sample.read(
            y_true, y_score, pos_label=pos_label, columns=columns, clusters=clusters
        )
    if sample.counts is not None:
        return Facts(sample, alpha, pos_label)
    names = sample.names if columns else [getattr(y_score, "name", None) or "ranking"]
    return Facts(
        replace(sample, names=[_one_line(name) for name in names]),
        alpha,
        pos_label,
        tuple(class_names(y_true)),
        not getattr(getattr(y_true, "index", None), "is_unique", True),
    )


def _one_line(name: Any) -> str:
    """Return a name as printable text without line breaks."""
    text = " ".join(str(name).split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text) or "unnamed"


def _untested(result: MetricTestResult) -> MetricTestResult:
    """Return the result without its p-value and z-score, which need independent samples."""
    names = "pvalue log10_pvalue pvalue_relative_error pvalue_low pvalue_high zscore"
    unknown: dict[str, Any] = dict.fromkeys(names.split(), np.nan)
    return replace(result, **unknown, pvalue_is_bound=False, method="none", ranking=None)


@dataclass(frozen=True, eq=False)
class _Study:
    """The computation of a report from a sample and its options."""

    facts: Facts
    metric: Metric
    drawing: dict[str, Any]

    @property
    def sample(self) -> Sample:
        return self.facts.sample

    def report(self, k: Any) -> RankSignificanceReport:
        sample, facts = self.sample, self.facts
        cuts, notes = self._cuts(k)
        notes += self._left_out()
        rankers = tuple(self._of_ranker(index, cuts) for index in range(len(sample.names)))
        compared: dict[str, Any] = {}
        if len(rankers) > 1 and sample.has_both:
            if len(rankers) == 2 or self.metric.has_influence:
                compared = self._comparison(rankers)
            else:
                title = self.metric.title_in_text
                notes.append(
                    f"The rankings are not compared because {title} has no standard error."
                )
        facts = replace(facts, rankers=rankers, few_labellings=self._few_labellings)
        return RankSignificanceReport(
            metric=rankers[0].test.metric,
            alpha=facts.alpha,
            n_samples=sample.n_items,
            n_positives=sample.n_positives,
            n_clusters=len(facts.clusters) if facts.has_clusters else None,
            rankers=rankers,
            checks=run_checks(facts),
            notes=tuple(notes),
            _given_k=getattr(self.metric, "k", None),
            **compared,
        )

    def _of_ranker(self, index: int, cuts: Sequence[float]) -> RankerReport:
        name, ranking = self.sample.names[index], self.sample.rankings[index]
        curve = self._curve(ranking)
        return RankerReport(
            name,
            self._test(self.metric, index),
            self._interval(index),
            tuple(self._hits(index, cut) for cut in cuts),
            curve,
            None if curve is None else minimum_hypergeometric_test(ranking),
        )

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
        note = f"k = {', '.join(dropped)} was left out: there are only {n} samples."
        return list(cuts.values()), [note] if dropped else []

    def _left_out(self) -> list[str]:
        """Return notes on the results that are not computed."""
        notes = []
        m = self.sample.n_positives
        if self.facts.mixed_clusters:
            notes.append(
                "P-values against chance, bounds over all k and the hits needed are left out "
                "because samples of one cluster have different labels. Chance is the mean of a "
                "random order of the samples."
            )
        elif self.facts.has_clusters:
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
        if not self.metric.has_influence:
            notes.append(
                f"{self.metric.title} of one ranking depends on a single sample, so it has no "
                "interval."
            )
        elif self._is_slow_interval:
            notes.append(
                f"The interval of {self.metric.title_in_text} is left out because its "
                "simulation takes long: call metric_interval."
            )
        if not self.facts.has_clusters:
            notes.append(CLUSTERS_HINT)
        return notes

    @property
    def _is_slow_interval(self) -> bool:
        way = choose_method(self.metric, "auto", self.facts.has_clusters)
        return way == "binormal" and self.sample.n_items > _SAMPLES_FOR_SIMULATION

    def _test(self, metric: Metric, index: int) -> MetricTestResult:
        """Test one ranking, without a p-value if samples of one cluster have different labels."""
        sample = self.sample.single(index)
        if self.facts.mixed_clusters:
            sample = replace(sample, design=Design(sample.n_items))
        result = significance_of(metric, sample, method="auto", n_jobs=None, **self.drawing)
        return _untested(result) if self.facts.mixed_clusters else result

    @property
    def _few_labellings(self) -> str | None:
        """Text of the warning that clusters leave few different labellings."""
        exchange = None if self.facts.mixed_clusters else exchange_of(self.sample)
        return None if exchange is None else few_labellings_warning(exchange, self.sample.labels)

    @property
    def _by_cluster(self) -> dict[str, Any]:
        """Arguments of tests of samples in clusters."""
        return {"pos_label": True, "clusters": self.sample.design.clusters}

    def _interval(self, index: int) -> MetricIntervalResult | None:
        """Return the interval of one ranking, or None if there is none or it takes long."""
        if not self.metric.has_influence or self._is_slow_interval:
            return None
        return self._interval_of(index, self.metric)

    def _interval_of(self, index: int, metric: Metric) -> MetricIntervalResult | None:
        if not self.sample.has_both:
            return None
        options: dict[str, Any] = {"metric": metric, "confidence_level": 1.0 - self.facts.alpha}
        options["random_state"] = self.drawing["random_state"]
        data: list[Any] = [self.sample.rankings[index]]
        if self.facts.has_clusters:
            data = [self.sample.positive, self.sample.scores[index]]
            options |= self._by_cluster
        found: MetricIntervalResult = metric_interval(*data, **options)
        return found

    def _curve(self, ranking: Ranking) -> TopKSignificanceCurve | None:
        if self.facts.has_clusters or ranking.n_positives > _POSITIVES_FOR_BOUNDS:
            return None
        return top_k_significance_curve(ranking, alpha=self.facts.alpha)

    def _hits(self, index: int, cut: float) -> HitsReport:
        metric, ranking = RecallAtK(cut), self.sample.rankings[index]
        interval = self._interval_of(index, metric)
        return HitsReport.of(ranking, self._test(metric, index), cut, interval, self.facts.alpha)

    def _comparison(self, rankers: Sequence[RankerReport]) -> dict[str, Any]:
        best = int(np.argmax([ranker.test.statistic for ranker in rankers]))
        names, alpha = self.sample.names, self.facts.alpha
        if len(rankers) == 2:
            other = 1 - best
            n_resamples = self.drawing["n_resamples"]
            method = comparison_method(self.metric, self.sample.n_items, n_resamples)
            pair = metric_comparison_test(
                self.sample.positive,
                {self.sample.names[one]: self.sample.scores[one] for one in (other, best)},
                metric=self.metric,
                method=method,
                **self._by_cluster,
                **self.drawing,
            )
            way = "t test of influence values" if method == "influence" else "rank swaps"
            return {
                "comparison": pair,
                "differences": (difference_of_two((names[other], names[best]), pair, alpha),),
                "comparison_method": f"metric_comparison_test, {way}, two-sided; MOVER interval.",
            }
        found = metric_multiple_comparison_test(
            self.sample.positive,
            dict(enumerate(self.sample.scores)),  # one array would round large whole numbers
            metric=self.metric,
            reference="best",
            confidence_level=1.0 - alpha,
            random_state=self.drawing["random_state"],
            **self._by_cluster,
        )
        found = replace(found, names=list(names), reference=names[best])
        return {
            "comparison": found,
            "differences": differences_of_pairs(found),
            "comparison_method": (
                "metric_multiple_comparison_test, t tests of influence values. P-values "
                "(single-step maxT) and intervals are adjusted for all pairs and agree with each "
                "other. Rankings that may be best: Hsu's one-sided comparisons of each ranking "
                "with all others, which can exclude a ranking whose interval includes 0."
            ),
        }
