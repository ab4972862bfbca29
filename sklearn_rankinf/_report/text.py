"""A report as text: conclusions, tables, checks and sentences for a paper."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

from sklearn_rankinf._estimation.comparison import MetricComparisonTestResult
from sklearn_rankinf._estimation.multiple_comparison import MetricMultipleComparisonTestResult
from sklearn_rankinf._estimation.results import MetricIntervalResult
from sklearn_rankinf._metrics.metrics import RocAuc, in_sentence
from sklearn_rankinf._report.checks import ReportCheck
from sklearn_rankinf._report.numbers import HitsReport, RankerReport
from sklearn_rankinf._results import (
    counted,
    format_count,
    format_pvalue,
    format_table,
    format_value,
    log10_of,
    shortened,
    state_pvalue,
)
from sklearn_rankinf._significance.results import MetricTestResult, limits_of_pvalue
from sklearn_rankinf._statistics.additive import Metric

if TYPE_CHECKING:
    from sklearn_rankinf._report.report import RankSignificanceReport

WIDTH = 100
# Maximum length of names, in tables and in sentences.
_IN_TABLE, _IN_SENTENCE = 26, 60
_HITS_NOTE = (
    "* A block of equal scores contains the cut-off: hits are the mean over random tie-breaking, p "
    "is exact for these ties, and the hits needed are those of a ranking without ties."
)
_NEVER = "never"
_NEVER_NOTE = f"{_NEVER}: at this k no number of hits is significant."
CLUSTERS_HINT = (
    "All samples were treated as independent. If several samples come from one source, such as "
    "images of one patient, pass clusters (--cluster): without them p-values and intervals are "
    "wrong."
)
_CUMULATIVE = (
    "Hits are cumulative: a list with many positives at its top stays above chance long after its "
    "items are no better than random ones, so this range of k does not show how far down to work."
)
NOTHING_WRONG = "No problems were found with labels and scores."
FOR_A_PAPER = "Sentences for a paper"
_LEGEND = (
    "chance: mean of a random order with the same ties; adjusted: 0 at chance, 1 for a perfect "
    "ranking; lower, upper: confidence limits"
)
_LEGEND_OF_TEST = "; z: distance from chance in standard deviations; error: relative error of p"
_LEGEND_OF_BOUND = " ≤ with the error bound: a guaranteed upper bound of the exact p."

# Short equations are not broken across lines.
_EQUATION = re.compile(r"\b([pzk]) ([=≤]) ")

Name = Callable[[str], str]


@dataclass(frozen=True)
class ReportTable:
    """A table of a report.

    Attributes
    ----------
    title : str
        Title of the table.
    headings : tuple of (str, str)
        Two heading lines for each column.
    rows : tuple of tuple of str
        The cells, row by row.
    note : str
        Explanation below the table, possibly empty.
    """

    title: str
    headings: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def verdict(subject: str, result: MetricTestResult, pvalue_less: float, alpha: float) -> str:
    """Return one sentence on whether a ranking is better than chance.

    Parameters
    ----------
    subject : str
        Subject of the sentence, such as ``"Ranking by age"``.
    result : MetricTestResult
        Test of the ranking against random labelling, with the alternative "better than chance".
    pvalue_less : float
        P-value of the opposite alternative.
    alpha : float
        Significance level.

    Returns
    -------
    str
        The sentence.
    """
    title = in_sentence(result.metric.title)
    value, chance = float(result.statistic), float(result.chance)
    pvalue = state_pvalue(
        float(result.log10_pvalue), bool(result.pvalue_is_bound), result.method == "analytic"
    )
    observed = f"{title} {format_value(value)}"
    expected = f"the {format_value(chance)} of a random order"
    if math.isnan(result.zscore):
        return f"{subject} cannot be tested: its {title} is the same for every choice of positives."
    if result.pvalue <= alpha:
        ratio = value / chance if chance > 0.0 else math.inf
        # Ratios below 1.5, and ratios of ROC AUC, which stay below 2, are not informative.
        if isinstance(result.metric, RocAuc) or not 1.5 <= ratio < math.inf:
            return f"{subject} is better than chance: {observed} against {expected}, {pvalue}."
        times = f"{ratio:.1f}" if ratio < 99.5 else f"{ratio:.0f}"
        return f"{subject} is better than chance: {observed}, {times} times {expected}, {pvalue}."
    if pvalue_less <= alpha and value < chance:
        null = result.null_distribution
        error = null.relative_error(value, "less")
        is_bound = limits_of_pvalue(null, value, "less", pvalue_less, error)[2]
        less = state_pvalue(log10_of(pvalue_less), is_bound)
        return (
            f"{subject} is worse than chance: {observed} against {expected}, {less} for a value "
            "this low. The direction of the scores may be reversed."
        )
    return (
        f"{subject} is not shown to be better than chance: {observed} against {expected}, {pvalue}."
    )


def conclusions(report: RankSignificanceReport, name: Name) -> list[str]:
    """Return the conclusions of a report, one entry per paragraph."""
    found = [
        _of_ranker(report, ranker, result, name)
        for ranker, result in zip(report.rankers, report.results, strict=True)
    ]
    if report.comparison is not None:
        found.append(_of_best(report, name))
    return [with_fraction(text, report.metric, report.given_k) for text in found]


def _of_ranker(
    report: RankSignificanceReport,
    ranker: RankerReport,
    result: MetricTestResult | None,
    name: Name,
) -> str:
    """Return a paragraph on one ranking: its test, its interval, and what to do."""
    subject = "The ranking" if report.is_single else name(ranker.name)
    title = in_sentence(report.metric.title)
    if result is None:
        parts = [
            f"{subject} was not tested against chance, because samples of one cluster have "
            f"different labels: {title} {format_value(ranker.statistic)} against the "
            f"{format_value(ranker.chance)} of a random order."
        ]
    else:
        parts = [verdict(subject, result, ranker.pvalue_less, report.alpha)]
    if result is not None and math.isnan(ranker.zscore):
        return f"{parts[0]} What to do: see the checks below."
    if ranker.pvalue <= report.alpha:
        parts.append(
            f"The evidence is {_strength(ranker.pvalue)}. The ranking is "
            f"{_percent(ranker.adjusted_statistic)} of the way from chance to a perfect ranking."
        )
    if ranker.standard_error is not None and math.isnan(ranker.standard_error):
        parts.append(f"The uncertainty of the {title} cannot be estimated.")
    elif ranker.low is not None and ranker.high is not None:
        parts.append(
            f"With {_level(report)} confidence the {title} in the population is between "
            f"{format_value(ranker.low)} and {format_value(ranker.high)}."
        )
    if ranker.at_k:
        parts.append(_at_largest_k(report, ranker))
    parts.append(_what_to_do(report, ranker))
    return " ".join(parts)


def _strength(pvalue: float) -> str:
    """Return the usual word for the strength of evidence."""
    steps = ((0.001, "very strong"), (0.01, "strong"), (0.05, "moderate"))
    return next((word for limit, word in steps if pvalue <= limit), "weak")


def _percent(share: float) -> str:
    percent = 100.0 * share
    return f"{percent:.0f} %" if percent >= 9.5 else f"{percent:.1g} %"


def _at_largest_k(report: RankSignificanceReport, ranker: RankerReport) -> str:
    """Return a sentence on the hits at the largest k."""
    at_k = max(ranker.at_k, key=lambda one: one.k)
    interval = ""
    if at_k.recall_low is not None and at_k.recall_high is not None:
        interval = (
            f" ({_level(report)} confidence interval {format_value(at_k.recall_low)} to "
            f"{format_value(at_k.recall_high)})"
        )
    return (
        f"The first {_cut(at_k)} samples contain {format_count(at_k.hits)} of "
        f"{counted(ranker.n_positives, 'positive')}, {_expected(at_k.expected_hits)} by chance: "
        f"recall is {format_value(at_k.recall)}{interval}."
    )


def _cut(at_k: HitsReport) -> str:
    """Return k, with the fraction of all samples by which it was given."""
    return str(at_k.k) if at_k.fraction is None else f"{at_k.k} ({_percent_of(at_k.fraction)})"


def _what_to_do(report: RankSignificanceReport, ranker: RankerReport) -> str:
    """Return advice for the user of the ranking."""
    if not report.is_tested:
        return "What to do: read the interval, and the check mixed-clusters below."
    if ranker.pvalue <= report.alpha:
        if ranker.significant_k:
            return "What to do: use the list from its top."
        if ranker.significant_k is not None:
            return (
                "What to do: use the ranking with care. At no cut-off k do the first k items "
                "contain more positives than chance explains "
                f"(at {100 * report.alpha:g} % for all k together)."
            )
        return "What to do: use the ranking."
    if ranker.pvalue_less <= report.alpha and ranker.statistic < ranker.chance:
        return "What to do: check the direction of the scores and the label of the positives."
    if ranker.significant_k:
        return (
            "What to do: look deeper in the list, where the first k items do contain more "
            "positives than chance explains (see the table of all k), and confirm the result on "
            "other samples."
        )
    return (
        "What to do: do not rely on the ranking yet. A result that is not significant does not "
        "mean that there is no effect: metric_power (rankinf plan) computes how large an effect "
        "this number of samples would detect."
    )


def _of_best(report: RankSignificanceReport, name: Name) -> str:
    """Return a paragraph on which of several rankings is best."""
    best = report.rankers[report.best_index]
    title = in_sentence(report.metric.title)
    others = [ranker for ranker in report.rankers if ranker.comparison is not None]
    worse = [name(o.name) for o in others if _is_worse(o, report.alpha)]
    rivals = [name(o.name) for o in others if o.comparison and o.comparison.may_be_best]
    start = f"{name(best.name)} has the largest {title}."
    if not worse:
        shown = "No other ranking is significantly worse."
    elif len(worse) == len(others):
        shown = f"{'The other is' if len(others) == 1 else 'All others are'} significantly worse."
    else:
        shown = f"Significantly worse: {', '.join(worse)}."
    if len(others) > 1:
        # Hsu's set excludes every ranking that is significantly worse, and sometimes more.
        out = [
            name(o.name)
            for o in others
            if o.comparison and not o.comparison.may_be_best and not _is_worse(o, report.alpha)
        ]
        if out:
            shown += (
                f" Not the best by one-sided comparisons with all others, although the interval "
                f"of the difference includes 0: {', '.join(out)}."
            )
    if not rivals:
        return f"{start} {shown}"
    return f"{start} {shown} May also be the best ranking: {', '.join(rivals)}."


def _is_worse(ranker: RankerReport, alpha: float) -> bool:
    return ranker.comparison is not None and ranker.comparison.pvalue <= alpha


def with_fraction(text: str, metric: Metric, k: Any) -> str:
    """Name a metric by the fraction of the samples by which its cut-off was given.

    Parameters
    ----------
    text : str
        A text with the title of the metric.
    metric : metric
        The metric, possibly with a number of samples as its cut-off.
    k : int, float or None
        The cut-off as it was given.

    Returns
    -------
    str
        The text, with a fraction as a percentage, followed by the number of samples.
    """
    rank = getattr(metric, "k", None)
    if not isinstance(k, float) or not metric.title.endswith(f" {rank}"):
        return text
    percentage = _percent_of(k) + (f" (k = {rank})" if isinstance(rank, Integral) else "")
    for title in (metric.title, in_sentence(metric.title)):
        text = re.sub(rf"{re.escape(title)}\b", title.removesuffix(str(rank)) + percentage, text)
    return text


def _level(report: RankSignificanceReport) -> str:
    return _percent_of(1 - report.alpha)


def _percent_of(share: float) -> str:
    return f"{100 * share:g} %"


def _limits(level: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the headings of confidence limits, which are read from top to bottom."""
    return ("lower", level), ("upper", level)


def _span(runs: Sequence[tuple[int, int]] | None) -> str:
    """Return the span of the runs of k as a short text."""
    if not runs:
        return "no k"
    first, last = runs[0][0], runs[-1][1]
    text = f"k = {first}" if first == last else f"k = {first} to {last}"
    return f"{text}, with gaps" if len(runs) > 1 else text


# Tables.


def tables(report: RankSignificanceReport, name: Name) -> list[ReportTable]:
    """Return the tables of a report."""
    found = [_main_table(report, name), *_hits_tables(report, name)]
    if any(ranker.significant_k is not None for ranker in report.rankers):
        found.append(_table_over_k(report, name))
    if report.comparison is not None:
        found.append(_comparison_table(report, name))
    for metric in range(len(report.rankers[0].metrics)):
        found.append(_metric_table(report, metric, name))
    return found


def _main_table(report: RankSignificanceReport, name: Name) -> ReportTable:
    metric = report.metric
    title = with_fraction(metric.title, metric, report.given_k)
    headings: tuple[tuple[str, str], ...] = (
        ("", "ranking"),
        ("", metric.symbol),
        *_limits(_level(report)),
        ("", "chance"),
        ("", "adjusted"),
        ("", "z"),
        ("", "p"),
        ("error", "of p"),
    )
    rows: tuple[tuple[str, ...], ...] = tuple(
        (
            name(ranker.name),
            _decimals(ranker.statistic),
            _decimals(ranker.low),
            _decimals(ranker.high),
            _decimals(ranker.chance),
            _decimals(ranker.adjusted_statistic),
            f"{ranker.zscore:.2f}",
            _as_cell(ranker.log10_pvalue, ranker.pvalue_is_bound),
            _error(ranker),
        )
        for ranker in report.rankers
    )
    if not report.is_tested:
        n_columns = headings.index(("", "z"))
        headings, rows = headings[:n_columns], tuple(row[:n_columns] for row in rows)
        return ReportTable(title, headings, rows, f"{_LEGEND}.")
    has_bound = any(ranker.is_guaranteed_bound for ranker in report.rankers)
    note = f"{_LEGEND}{_LEGEND_OF_TEST}.{_LEGEND_OF_BOUND if has_bound else ''}"
    return ReportTable(title, headings, rows, note)


def _as_cell(log10_pvalue: float, is_bound: bool) -> str:
    """Format a p-value for a table, after a sign if it is a bound; nan is a dash."""
    if math.isnan(log10_pvalue):
        return "-"
    return f"{'≤ ' if is_bound else ''}{format_pvalue(log10_pvalue)}"


def _decimals(value: float | None) -> str:
    """Format a value with four decimals, or a small one with three significant digits."""
    if value is None:
        return "-"
    return f"{value:.3g}" if 0.0 < abs(value) < 0.01 else f"{value:.4f}"


def _error(ranker: RankerReport) -> str:
    if ranker.is_guaranteed_bound:
        return "bound"
    error = ranker.pvalue_relative_error
    return f"{error:.0e}" if math.isfinite(error) else "unknown"


_HITS_HEADINGS = (
    ("", "hits"),
    ("hits by", "chance"),
    ("hits", "needed"),
    ("", "recall"),
    ("", "enrichment"),
    ("", "p"),
)


def hits_table(
    title: str, first: str, names: Sequence[str], hits: Sequence[HitsReport]
) -> ReportTable:
    """Return a table of hits at k with one row per ranking or per k."""
    rows = tuple((head, *_hits_cells(at_k)) for head, at_k in zip(names, hits, strict=True))
    notes = []
    if any(at_k.splits_ties for at_k in hits):
        notes.append(_HITS_NOTE)
    if any(_needed(at_k) == _NEVER for at_k in hits):
        notes.append(_NEVER_NOTE)
    return ReportTable(title, (("", first), *_HITS_HEADINGS), rows, "\n".join(notes))


def _hits_tables(report: RankSignificanceReport, name: Name) -> list[ReportTable]:
    """Return one table for a single ranking, or one table per k for several rankings."""
    if report.is_single:
        (ranker,) = report.rankers
        if not ranker.at_k:
            return []
        cuts = [_cut(at_k) for at_k in ranker.at_k]
        return [hits_table("Hits among the first k", "k", cuts, ranker.at_k)]
    names = [name(ranker.name) for ranker in report.rankers]
    return [
        hits_table(f"Hits among the first {_cut(hits[0])}", "ranking", names, hits)
        for hits in zip(*(ranker.at_k for ranker in report.rankers), strict=True)
    ]


def _hits_cells(at_k: HitsReport) -> tuple[str, ...]:
    return (
        format_count(at_k.hits) + ("*" if at_k.splits_ties else ""),
        _expected(at_k.expected_hits),
        _needed(at_k),
        _decimals(at_k.recall),
        f"{at_k.enrichment:.2f}",
        _as_cell(at_k.log10_pvalue, at_k.pvalue_is_bound),
    )


def _needed(at_k: HitsReport) -> str:
    if math.isnan(at_k.pvalue):
        return "-"
    return _NEVER if at_k.hits_needed is None else str(at_k.hits_needed)


def _expected(hits: float) -> str:
    return f"{hits:.2g}" if 0.0 < hits < 0.05 else f"{hits:.1f}"


def _table_over_k(report: RankSignificanceReport, name: Name) -> ReportTable:
    headings = (
        ("", "ranking"),
        ("better than", "chance at"),
        ("", "mHG p"),
        ("most", "significant k"),
        ("hits", "there"),
    )
    rows = tuple(
        (
            name(ranker.name),
            _span(ranker.significant_k),
            "-" if ranker.mhg_log10_pvalue is None else format_pvalue(ranker.mhg_log10_pvalue),
            "-" if ranker.mhg_k is None else str(ranker.mhg_k),
            "-" if ranker.mhg_hits is None else str(ranker.mhg_hits),
        )
        for ranker in report.rankers
    )
    note = (
        f"The bound holds for all k together, at {100 * report.alpha:g} %, even if k is chosen "
        "after looking at the data. mHG p: the p-value of the minimum hypergeometric test, a "
        "single one for all k."
    )
    if any(ranker.significant_k for ranker in report.rankers):
        note = f"{note} {_CUMULATIVE}"
    return ReportTable("All k together", headings, rows, note)


def _comparison_table(report: RankSignificanceReport, name: Name) -> ReportTable:
    best = name(report.rankers[report.best_index].name)
    is_bound = isinstance(report.comparison, MetricComparisonTestResult) and (
        report.comparison.pvalue_is_bound
    )
    headings = (
        ("", "ranking"),
        ("", "difference"),
        *_limits(_level(report)),
        ("", "p"),
        ("may be", "best"),
    )
    rows = tuple(
        (
            name(ranker.name),
            _decimals(ranker.comparison.difference),
            _decimals(ranker.comparison.low),
            _decimals(ranker.comparison.high),
            _as_cell(log10_of(ranker.comparison.pvalue), is_bound),
            "yes" if ranker.comparison.may_be_best else "no",
        )
        for ranker in report.rankers
        if ranker.comparison is not None
    )
    return ReportTable(f"Difference from the best, {best}", headings, rows, report.comparison_note)


def comparison_tables(
    result: MetricMultipleComparisonTestResult, intervals: Sequence[MetricIntervalResult]
) -> list[ReportTable]:
    """Return a table of several rankings and a table of the pairs that are compared."""
    title = result.metric.title
    if result.n_queries is not None:
        title = f"Mean {in_sentence(title)} over {result.n_queries} queries"
    names = [in_tables(str(name)) for name in result.names]
    level = _percent_of(result.confidence_level)
    rankers = tuple(
        (
            name,
            *map(_decimals, (float(i.statistic), float(i.low), float(i.high))),
            "yes" if may_be_best else "no",
        )
        for name, i, may_be_best in zip(names, intervals, result.may_be_best, strict=True)
    )
    pairs = tuple(
        (
            *(names[i] for i in pair),
            *map(_decimals, (float(difference), float(low), float(high))),
            _as_cell(log10_of(float(pvalue)), False),
        )
        for pair, difference, low, high, pvalue in zip(
            result.pairs.tolist(),
            result.difference,
            result.low,
            result.high,
            result.pvalue,
            strict=True,
        )
    )
    limits = _limits(level)
    note = "Intervals and p-values of the differences are adjusted for all pairs."
    return [
        ReportTable(title, (("", "ranking"), ("", "value"), *limits, ("may be", "best")), rankers),
        ReportTable(
            "Differences, A minus B",
            (("", "A"), ("", "B"), ("", "difference"), *limits, ("", "p")),
            pairs,
            note,
        ),
    ]


_METRIC_HEADINGS = (
    ("", "ranking"),
    ("", "value"),
    ("by", "chance"),
    ("", "adjusted"),
    ("", "z"),
    ("", "p"),
)


def _metric_table(report: RankSignificanceReport, number: int, name: Name) -> ReportTable:
    values = [ranker.metrics[number] for ranker in report.rankers]
    rows = tuple(
        (
            name(ranker.name),
            _decimals(value.statistic),
            _decimals(value.chance),
            _decimals(value.adjusted_statistic),
            f"{value.zscore:.2f}",
            _as_cell(value.log10_pvalue, value.pvalue_is_bound),
        )
        for ranker, value in zip(report.rankers, values, strict=True)
    )
    return ReportTable(values[0].metric.title, _METRIC_HEADINGS, rows)


# Sentences for a paper, and the whole report.


def sentences(report: RankSignificanceReport, name: Name) -> list[str]:
    """Return sentences for a paper, one for each ranking and one on the comparison."""
    found = []
    parts = zip(report.rankers, report.results, report.intervals, strict=True)
    for ranker, result, own in parts:
        if result is None:
            value = f"{report.metric.title} was {format_value(ranker.statistic)}."
            text = value if own is None else own.summary()
        else:
            text = result.summary()
        if result is not None and ranker.low is not None and ranker.high is not None:
            value = format_value(ranker.statistic)
            interval = (
                f"{_level(report)} confidence interval {format_value(ranker.low)} to "
                f"{format_value(ranker.high)}; "
            )
            text = text.replace(f"was {value} (chance", f"was {value} ({interval}chance", 1)
        found.append(text if report.is_single else f"{name(ranker.name)}: {text}")
    if isinstance(report.comparison, MetricComparisonTestResult):
        second, first = (name(report.rankers[i].name) for i in report.compared)
        found.append(f"{second} and {first}: {report.comparison.summary()}")
    elif report.comparison is not None:
        found.append(report.comparison.summary())
    return [with_fraction(text, report.metric, report.given_k) for text in found]


def header(report: RankSignificanceReport) -> str:
    """Return the size of the problem in one line."""
    share = 100 * report.prevalence
    clusters = "" if report.n_clusters is None else f" in {counted(report.n_clusters, 'cluster')}"
    return (
        f"{counted(report.n_positives, 'positive')} among {counted(report.n_samples, 'sample')} "
        f"({share:.3g} %){clusters}; {counted(len(report.rankers), 'ranking')}; significance "
        f"level {report.alpha:g}"
    )


def in_sentences(name: str) -> str:
    """Shorten a name for a sentence."""
    return shortened(name, _IN_SENTENCE)


def in_tables(name: str) -> str:
    """Shorten a name for a text table."""
    return shortened(name, _IN_TABLE)


def as_text(report: RankSignificanceReport) -> str:
    """Return a whole report as text in lines of at most 100 characters."""
    parts = [
        f"Rank significance report\n{wrapped(header(report))}",
        _section("Conclusion", conclusions(report, in_sentences)),
        *(table_as_text(table) for table in tables(report, in_tables)),
    ]
    if report.notes:
        parts.append(_section("Notes", report.notes))
    parts.append(_section("Checks", _checks(report)))
    parts.append(_section(FOR_A_PAPER, sentences(report, in_sentences)))
    return "\n\n".join(parts)


def table_as_text(table: ReportTable) -> str:
    """Return a table as text, with its title and its note."""
    lines = [wrapped(table.title), format_table(table.headings, table.rows)]
    if table.note:
        lines.append(wrapped(table.note))
    return "\n".join(lines)


def _section(title: str, paragraphs: Sequence[str]) -> str:
    return "\n".join([title, *(wrapped(text, "  ") for text in paragraphs)])


def _checks(report: RankSignificanceReport) -> list[str]:
    if not report.checks:
        return [NOTHING_WRONG]
    return [
        f"{check.code}{about(report, names, in_sentences)}: {check.message} {check.remedy} See "
        f"{check.url}"
        for check, names in grouped(report.checks)
    ]


def grouped(checks: Sequence[ReportCheck]) -> list[tuple[ReportCheck, list[str]]]:
    """Merge equal findings on several rankings, and list the names of the rankings."""
    found: dict[tuple[str, str], tuple[ReportCheck, list[str]]] = {}
    for check in checks:
        _, names = found.setdefault((check.code, check.message), (check, []))
        if check.ranker is not None:
            names.append(check.ranker)
    return list(found.values())


def about(report: RankSignificanceReport, names: Sequence[str], name: Name) -> str:
    """Return the names of the rankings a check concerns, if the report has several rankings."""
    return "" if report.is_single or not names else f" ({', '.join(map(name, names))})"


def wrapped(text: str, indent: str = "") -> str:
    """Wrap text to lines of at most 100 characters."""
    lines = []
    for line in text.splitlines():
        # textwrap does not break lines at a no-break space.
        kept = _EQUATION.sub("\\1\N{NO-BREAK SPACE}\\2\N{NO-BREAK SPACE}", line)
        lines += textwrap.wrap(
            kept,
            WIDTH,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")
