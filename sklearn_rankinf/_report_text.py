"""A report in words: conclusions, tables, checks and sentences to write."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sklearn_rankinf._comparison import MetricComparisonTestResult
from sklearn_rankinf._formatting import format_count, format_pvalue, format_table, format_value
from sklearn_rankinf._metrics import RocAuc, in_sentence
from sklearn_rankinf._plot._matplotlib import shortened
from sklearn_rankinf._report_checks import ReportCheck, counted
from sklearn_rankinf._report_numbers import HitsReport, RankerReport
from sklearn_rankinf._results import MetricTestResult

if TYPE_CHECKING:
    from sklearn_rankinf._report import RankSignificanceReport

WIDTH = 100
# Longer names are cut off, in tables and in sentences.
_IN_TABLE, _IN_SENTENCE = 26, 60
# Runs of k that are listed.
_N_RUNS = 3
_HITS_NOTE = (
    "* Equal scores straddle the last place: hits are the mean over random tie-breaking, p is "
    "exact for these ties, and the hits needed are those of a ranking without ties."
)
CLUSTERS_HINT = (
    "Every sample was taken as independent of the others. If several come from one source, such as "
    "images of one patient, pass clusters: p-values and intervals are wrong without."
)
NOTHING_WRONG = "Nothing was found wrong with labels and scores."
_LEGEND = (
    "chance: mean of a random order with the same ties; adjusted: 0 at chance, 1 for a perfect "
    "ranking; z: distance from chance in standard deviations; error: relative error of p."
)

# Not to be torn apart at the end of a line.
_EQUATION = re.compile(r"\b([pzk]) = ")

Name = Callable[[str], str]


@dataclass(frozen=True)
class ReportTable:
    """Numbers of a report.

    Attributes
    ----------
    title : str
        What they are.
    headings : tuple of (str, str)
        Two lines of heading for each column.
    rows : tuple of tuple of str
        The cells, row by row.
    note : str
        What is to be known about them, maybe nothing.
    """

    title: str
    headings: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def verdict(subject: str, result: MetricTestResult, pvalue_less: float, alpha: float) -> str:
    """Say in one sentence whether a ranking is better than chance.

    Parameters
    ----------
    subject : str
        What the sentence is about, such as ``"Ranking by age"``.
    result : MetricTestResult
        Test of the ranking against random labelling, of better than chance.
    pvalue_less : float
        P-value of the other side.
    alpha : float
        Level of significance.

    Returns
    -------
    str
        The sentence.
    """
    title = in_sentence(result.metric.title)
    value, chance = float(result.statistic), float(result.chance)
    pvalue = f"p = {format_pvalue(float(result.log10_pvalue))}"
    observed = f"{title} {format_value(value)}"
    expected = f"the {format_value(chance)} of a random order"
    if math.isnan(result.zscore):
        return (
            f"{subject} holds nothing to test: its {title} is the same whichever samples are the "
            "positives."
        )
    if result.pvalue <= alpha:
        ratio = value / chance if chance > 0.0 else math.inf
        # A ratio says nothing where the largest one is below 2.
        if isinstance(result.metric, RocAuc) or not 1.5 <= ratio < math.inf:
            return f"{subject} is better than chance: {observed} against {expected}, {pvalue}."
        times = f"{ratio:.1f}" if ratio < 99.5 else f"{ratio:.0f}"
        return f"{subject} is better than chance: {observed}, {times} times {expected}, {pvalue}."
    if pvalue_less <= alpha and value < chance:
        less = format_pvalue(math.log10(pvalue_less)) if pvalue_less > 0.0 else "0"
        return (
            f"{subject} is worse than chance: {observed} against {expected}, p = {less} for so low "
            "a value. Its direction may be reversed."
        )
    return (
        f"{subject} is not shown to be better than chance: {observed} against {expected}, {pvalue}."
    )


def conclusions(report: RankSignificanceReport, name: Name) -> list[str]:
    """What a report says, in words: one entry a paragraph."""
    found = [
        _of_ranker(report, ranker, result, name)
        for ranker, result in zip(report.rankers, report.results, strict=True)
    ]
    if report.comparison is not None:
        found.append(_of_best(report, name))
    return found


def _of_ranker(
    report: RankSignificanceReport, ranker: RankerReport, result: MetricTestResult, name: Name
) -> str:
    """Sentences on one ranking: better than chance, by how much, how sure, what to do."""
    subject = "The ranking" if report.is_single else name(ranker.name)
    parts = [verdict(subject, result, ranker.pvalue_less, report.alpha)]
    if math.isnan(ranker.zscore):
        return f"{parts[0]} What to do: see the checks below."
    if ranker.pvalue <= report.alpha:
        parts.append(
            f"That is {_strength(ranker.pvalue)}. It is {_percent(ranker.adjusted_statistic)} of "
            "the way from chance to a perfect ranking."
        )
    title = in_sentence(result.metric.title)
    if ranker.standard_error is not None and math.isnan(ranker.standard_error):
        parts.append(f"How far the {title} of the population may be from that cannot be said.")
    elif ranker.low is not None and ranker.high is not None:
        parts.append(
            f"With {_level(report)} confidence the {title} of the population is from "
            f"{format_value(ranker.low)} to {format_value(ranker.high)}."
        )
    parts.append(_what_to_do(report, ranker))
    return " ".join(parts)


def _strength(pvalue: float) -> str:
    """The usual words for the strength of evidence."""
    steps = ((0.001, "very strong"), (0.01, "strong"), (0.05, "moderate"))
    return f"{next((word for limit, word in steps if pvalue <= limit), 'weak')} evidence"


def _percent(share: float) -> str:
    percent = 100.0 * share
    return f"{percent:.0f} %" if percent >= 9.5 else f"{percent:.1g} %"


def _what_to_do(report: RankSignificanceReport, ranker: RankerReport) -> str:
    """What follows for whoever uses the ranking."""
    if ranker.pvalue <= report.alpha:
        if ranker.significant_k:
            return (
                "What to do: use the list from its top. Cut at k = "
                f"{_runs(ranker.significant_k)} it holds more positives than chance explains (at "
                f"{100 * report.alpha:g} % over all k, so that any of these may be chosen after "
                "looking)."
            )
        if ranker.significant_k is not None:
            return (
                "What to do: use it with care. At no single cut of the list there are more "
                f"positives than chance explains (at {100 * report.alpha:g} % over all k)."
            )
        return "What to do: use it."
    if ranker.pvalue_less <= report.alpha and ranker.statistic < ranker.chance:
        return "What to do: look at the direction of the scores and at the label of the positives."
    if ranker.significant_k:
        return (
            "What to do: look deeper in the list, and confirm it on other samples. Cut at k = "
            f"{_runs(ranker.significant_k)} it does hold more positives than chance explains (at "
            f"{100 * report.alpha:g} % over all k)."
        )
    return (
        "What to do: do not rely on it yet. That no effect was shown does not mean that there is "
        "none: metric_power says how large an effect these numbers would show."
    )


def _of_best(report: RankSignificanceReport, name: Name) -> str:
    """Sentences on which of several rankings is best."""
    best = report.rankers[report.best_index]
    title = in_sentence(report.results[0].metric.title)
    others = [ranker for ranker in report.rankers if ranker.comparison is not None]
    worse = [name(o.name) for o in others if _shown_worse(o, report.alpha)]
    rivals = [name(o.name) for o in others if o.comparison and o.comparison.may_be_best]
    start = f"The largest {title} is that of {name(best.name)}."
    if not worse:
        shown = "No other ranking is shown to be worse than it."
    elif len(worse) == len(others):
        shown = f"{'The other is' if len(others) == 1 else 'All others are'} shown to be worse."
    else:
        shown = f"Shown to be worse: {', '.join(worse)}."
    if not rivals:
        return f"{start} {shown}"
    return f"{start} {shown} The best ranking may as well be: {', '.join(rivals)}."


def _shown_worse(ranker: RankerReport, alpha: float) -> bool:
    return ranker.comparison is not None and ranker.comparison.pvalue <= alpha


def _level(report: RankSignificanceReport) -> str:
    return f"{100 * (1 - report.alpha):g} %"


def _runs(runs: Sequence[tuple[int, int]]) -> str:
    """Runs of k in words, the first few of them."""
    shown = [str(one) if one == last else f"{one} to {last}" for one, last in runs[:_N_RUNS]]
    others = f" and others up to {runs[-1][1]}" if len(runs) > len(shown) else ""
    return f"{', '.join(shown)}{others}"


def _span(runs: Sequence[tuple[int, int]] | None) -> str:
    """Runs of k in short."""
    if not runs:
        return "no k"
    first, last = runs[0][0], runs[-1][1]
    text = f"k = {first}" if first == last else f"k = {first} to {last}"
    return f"{text}, with gaps" if len(runs) > 1 else text


# Tables.


def tables(report: RankSignificanceReport, name: Name) -> list[ReportTable]:
    """The numbers of a report."""
    found = [_main_table(report, name), *_hits_tables(report, name)]
    if any(ranker.significant_k is not None for ranker in report.rankers):
        found.append(_table_over_k(report, name))
    if report.comparison is not None:
        found.append(_comparison_table(report, name))
    for metric in range(len(report.rankers[0].metrics)):
        found.append(_metric_table(report, metric, name))
    return found


def _main_table(report: RankSignificanceReport, name: Name) -> ReportTable:
    metric = report.results[0].metric
    level = _level(report)
    headings = (
        ("", "ranking"),
        ("", metric.symbol),
        (level, "from"),
        ("interval", "to"),
        ("", "chance"),
        ("", "adjusted"),
        ("", "z"),
        ("", "p"),
        ("error", "of p"),
    )
    rows = tuple(
        (
            name(ranker.name),
            _decimals(ranker.statistic),
            _decimals(ranker.low),
            _decimals(ranker.high),
            _decimals(ranker.chance),
            _decimals(ranker.adjusted_statistic),
            f"{ranker.zscore:.2f}",
            format_pvalue(ranker.log10_pvalue),
            _error(ranker.pvalue_relative_error),
        )
        for ranker in report.rankers
    )
    return ReportTable(metric.title, headings, rows, _LEGEND)


def _decimals(value: float | None) -> str:
    """A value with four decimals, or of a small one three digits."""
    if value is None:
        return "-"
    return f"{value:.3g}" if 0.0 < abs(value) < 0.01 else f"{value:.4f}"


def _error(error: float) -> str:
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
    """Hits at k, one row for each ranking or each k."""
    rows = tuple((head, *_hits_cells(at_k)) for head, at_k in zip(names, hits, strict=True))
    note = _HITS_NOTE if any(at_k.splits_ties for at_k in hits) else ""
    return ReportTable(title, (("", first), *_HITS_HEADINGS), rows, note)


def _hits_tables(report: RankSignificanceReport, name: Name) -> list[ReportTable]:
    """One table for one ranking, one for each k for several."""
    if report.is_single:
        (ranker,) = report.rankers
        if not ranker.at_k:
            return []
        cuts = [str(at_k.k) for at_k in ranker.at_k]
        return [hits_table("Hits among the first k", "k", cuts, ranker.at_k)]
    names = [name(ranker.name) for ranker in report.rankers]
    return [
        hits_table(f"Hits among the first {hits[0].k}", "ranking", names, hits)
        for hits in zip(*(ranker.at_k for ranker in report.rankers), strict=True)
    ]


def _hits_cells(at_k: HitsReport) -> tuple[str, ...]:
    return (
        format_count(at_k.hits) + ("*" if at_k.splits_ties else ""),
        _expected(at_k.expected_hits),
        "none" if at_k.hits_needed is None else str(at_k.hits_needed),
        _decimals(at_k.recall),
        f"{at_k.enrichment:.2f}",
        format_pvalue(at_k.log10_pvalue),
    )


def _expected(hits: float) -> str:
    return f"{hits:.2g}" if 0.0 < hits < 0.05 else f"{hits:.1f}"


def _table_over_k(report: RankSignificanceReport, name: Name) -> ReportTable:
    headings = (
        ("", "ranking"),
        ("beats random", "selection at"),
        ("", "mHG p"),
        ("stands out", "most at k"),
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
        f"The bound holds for all k at once, at {100 * report.alpha:g} %: the list may be cut at "
        "any of these k, also after looking. mHG p: the minimum hypergeometric test, one p-value "
        "for all k."
    )
    return ReportTable("All k at once", headings, rows, note)


def _comparison_table(report: RankSignificanceReport, name: Name) -> ReportTable:
    level = _level(report)
    best = name(report.rankers[report.best_index].name)
    headings = (
        ("", "ranking"),
        ("", "difference"),
        (level, "from"),
        ("interval", "to"),
        ("", "p"),
        ("may be", "best"),
    )
    rows = tuple(
        (
            name(ranker.name),
            _decimals(ranker.comparison.difference),
            _decimals(ranker.comparison.low),
            _decimals(ranker.comparison.high),
            f"{ranker.comparison.pvalue:.4f}",
            "yes" if ranker.comparison.may_be_best else "no",
        )
        for ranker in report.rankers
        if ranker.comparison is not None
    )
    return ReportTable(f"Difference from the best, {best}", headings, rows, report.comparison_note)


_METRIC_HEADINGS = (
    ("", "ranking"),
    ("", "value"),
    ("by", "chance"),
    ("", "adjusted"),
    ("", "z"),
    ("exact", "p"),
)


def _metric_table(report: RankSignificanceReport, number: int, name: Name) -> ReportTable:
    values = [ranker.metrics[number] for ranker in report.rankers]
    rows = tuple(
        (
            name(ranker.name),
            _decimals(value.statistic),
            _decimals(value.chance),
            _decimals(value.adjusted),
            f"{value.zscore:.2f}",
            format_pvalue(value.log10_pvalue),
        )
        for ranker, value in zip(report.rankers, values, strict=True)
    )
    return ReportTable(values[0].metric, _METRIC_HEADINGS, rows)


# Sentences for a paper, and the whole.


def sentences(report: RankSignificanceReport, name: Name) -> list[str]:
    """Sentences to write, one for each ranking, and one on the comparison."""
    found = []
    for ranker, result in zip(report.rankers, report.results, strict=True):
        text = result.summary()
        if ranker.low is not None and ranker.high is not None:
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
    return found


def header(report: RankSignificanceReport) -> str:
    """What was tested, in one line."""
    share = 100 * report.prevalence
    clusters = "" if report.n_clusters is None else f" in {counted(report.n_clusters, 'cluster')}"
    return (
        f"{counted(report.n_positives, 'positive')} among {counted(report.n_samples, 'sample')} "
        f"({share:.3g} %){clusters}; {counted(len(report.rankers), 'ranking')}; level "
        f"{report.alpha:g}"
    )


def in_sentences(name: str) -> str:
    """A name as it stands in a sentence."""
    return shortened(name, _IN_SENTENCE)


def in_tables(name: str) -> str:
    """A name as it stands in a table of text."""
    return shortened(name, _IN_TABLE)


def as_text(report: RankSignificanceReport) -> str:
    """A whole report as text of at most 100 columns."""
    parts = [
        f"Rank significance report\n{wrapped(header(report))}",
        _section("Conclusion", conclusions(report, in_sentences)),
        *(table_as_text(table) for table in tables(report, in_tables)),
    ]
    if report.notes:
        parts.append(_section("Notes", report.notes))
    parts.append(_section("Checks", _checks(report)))
    parts.append(_section("To write", sentences(report, in_sentences)))
    return "\n\n".join(parts)


def table_as_text(table: ReportTable) -> str:
    """A table as text, with its title and its note."""
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
    """Checks that found the same of several rankings as one, with the names of the rankings."""
    found: dict[tuple[str, str], tuple[ReportCheck, list[str]]] = {}
    for check in checks:
        _, names = found.setdefault((check.code, check.message), (check, []))
        if check.ranker is not None:
            names.append(check.ranker)
    return list(found.values())


def about(report: RankSignificanceReport, names: Sequence[str], name: Name) -> str:
    """Names of the rankings that a check is about, where there are several."""
    return "" if report.is_single or not names else f" ({', '.join(map(name, names))})"


def wrapped(text: str, indent: str = "") -> str:
    """Text in lines of at most 100 characters."""
    lines = []
    for line in text.splitlines():
        # A no-break space is none to textwrap.
        kept = _EQUATION.sub("\\1\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}", line)
        lines += textwrap.wrap(
            kept,
            WIDTH,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")
