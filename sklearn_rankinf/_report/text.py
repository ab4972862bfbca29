"""A report as text: conclusions, tables, checks and sentences for a paper."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple

from sklearn_rankinf._estimation import (
    Leaderboard,
    MetricIntervalResult,
    MetricMultipleComparisonTestResult,
    OptimalCutoffResult,
    state_ranks,
)
from sklearn_rankinf._report.findings import Findings, differences_of_pairs
from sklearn_rankinf._report.numbers import (
    HitsReport,
    RankerReport,
    ReportCheck,
    is_worse,
    pvalue_less,
)
from sklearn_rankinf._results import (
    counted,
    enumerated,
    format_count,
    format_pvalue,
    format_table,
    format_value,
    shortened,
    state_interval,
    state_pvalue,
)
from sklearn_rankinf._significance import MetricTestResult, limits_of_pvalue
from sklearn_rankinf._statistics import Metric, log10_of

# Sentences fit a terminal of 80 columns, and tables with long names one of 100.
WIDTH = 80
# Maximum number of names in a sentence.
_MOST_NAMES = 6
# Maximum length of names, in tables and in sentences.
_IN_TABLE, _IN_SENTENCE = 26, 60
_HITS_NOTE = (
    "* A block of equal scores contains the cut-off: hits are the mean over random tie-breaking, p "
    "is exact for these ties, and the hits needed are those of a ranking without ties."
)
_NEVER = "never"
_NEVER_NOTE = f"{_NEVER}: at this k no number of hits is significant."
_CUMULATIVE = (
    "Hits are cumulative: a list with many positives at its top stays above chance long after its "
    "items are no better than random ones, so this range of k does not show how far down to work."
)
_RANKS_NOTE = (
    "limits of rank: those of the true rank, which hold for all rankings together; tied: rankings "
    "that share a letter are not significantly different."
)
# Above this number of pairs only the leaderboard is shown.
_MOST_PAIRS = 45
NOTHING_WRONG = "No problems were found with labels and scores."
FOR_A_PAPER = "Sentences for a paper"
_LEGEND = (
    "chance: expected by chance, given the ties; adjusted: 0 at chance, 1 for a perfect "
    "ranking; lower, upper: confidence limits"
)
_LEGEND_OF_TEST = "; z: distance from chance in standard deviations; error: relative error of p"
_LEGEND_OF_BOUND = " ≤ with the error bound: a guaranteed upper bound of the exact p."

# Short equations and percentages are not broken across lines.
_EQUATION = re.compile(r"(?<=\b[pzk]) (?=[=≤] )|(?<=\b[pzk] [=≤]) |(?<=\d) (?=%)")

Name = Callable[[str], str]
# The two heading lines of a column, and its cell for a row.
Column = tuple[str, str, Callable[[Any], str]]


class ReportTable(NamedTuple):
    """A table: its title, two heading lines for each column, its cells and a note below it."""

    title: str
    headings: list[tuple[str, str]]
    rows: list[list[str]]
    note: str = ""


def table(
    title: str, columns: Sequence[Column], rows: Iterable[Any], note: str = ""
) -> ReportTable:
    """Return a table with one line for each row."""
    heads = [(top, head) for top, head, _ in columns]
    return ReportTable(title, heads, [[cell(row) for *_, cell in columns] for row in rows], note)


def verdict(subject: str, result: MetricTestResult, alpha: float) -> str:
    """Return one sentence on whether a ranking is better than chance."""
    title = result.metric.title_in_text
    value, chance = float(result.statistic), float(result.chance)
    pvalue = state_pvalue(
        float(result.log10_pvalue), bool(result.pvalue_is_bound), result.method == "analytic"
    )
    observed = f"{title} {format_value(value)}"
    expected = f"the {format_value(chance)} of chance"
    if math.isnan(result.zscore):
        return f"{subject} cannot be tested: its {title} is the same for every choice of positives."
    if result.pvalue <= alpha:
        ratio = value / chance if chance > 0.0 else math.inf
        # Ratios below 1.5, and ratios of ROC AUC, which stay below 2, are not informative.
        if result.metric.family == "roc_auc" or not 1.5 <= ratio < math.inf:
            return f"{subject} is better than chance: {observed} against {expected}, {pvalue}."
        times = f"{ratio:.1f}" if ratio < 99.5 else f"{ratio:.0f}"
        return f"{subject} is better than chance: {observed}, {times} times {expected}, {pvalue}."
    if is_worse(result, alpha):
        null, less = result.null_distribution, pvalue_less(result)
        error = null.relative_error(value, "less")
        is_bound = limits_of_pvalue(null, value, "less", less, error)[2]
        return (
            f"{subject} is worse than chance: {observed} against {expected}, "
            f"{state_pvalue(log10_of(less), is_bound)} for a value this low. The direction of the "
            "scores may be reversed."
        )
    return (
        f"{subject} is not shown to be better than chance: {observed} against {expected}, {pvalue}."
    )


def conclusions(report: Findings) -> list[str]:
    """Return the conclusions of a report, one entry per paragraph.

    Of several rankings they name the best, what is established and what is not, and describe the
    best one alone: the tables describe all.
    """
    found = []
    if not report._is_single:
        found += [_of_best(report), *_established(report)]
    best = next(one for one in report.rankers if report._is_single or one.name == report.best)
    found += _of_ranker(report, best)
    return [with_fraction(text, report.metric, report._given_k) for text in found]


def pointers(report: Findings) -> list[str]:
    """Name the checks below the conclusion that found something."""
    codes = dict.fromkeys(check.code for check in report.checks)
    return [f"See the checks below: {', '.join(codes)}."] if codes else []


def _of_ranker(report: Findings, ranker: RankerReport) -> list[str]:
    """Return paragraphs on one ranking: its test and interval, its use, and what to do."""
    subject = "The ranking" if report._is_single else in_sentences(ranker.name)
    title = report.metric.title_in_text
    test, own = ranker.test, ranker.interval
    if ranker.is_tested:
        parts = [verdict(subject, test, report.alpha)]
        if math.isnan(test.zscore):
            return [f"{parts[0]} What to do: see the checks below."]
    else:
        parts = [
            f"{subject} was not tested against chance, because items of one cluster have "
            f"different labels: {title} {format_value(test.statistic)} against the "
            f"{format_value(test.chance)} of chance."
        ]
    if test.pvalue <= report.alpha:
        parts.append(
            f"The evidence is {_strength(test.pvalue)}. The ranking is "
            f"{_percent(test.adjusted_statistic)} of the way from chance to a perfect ranking."
        )
    is_unknown = own is not None and own.metric.has_influence and math.isnan(own.standard_error)
    if is_unknown:
        parts.append(f"The uncertainty of the {title} cannot be estimated.")
    elif own is not None:
        place = "the population"
        if ranker.in_population is not None:
            place = f"a population with prevalence {report.prevalence:.3g}, that of the sample,"
        parts.append(
            f"With {_level(report)} confidence the {title} in {place} is between "
            f"{format_value(own.low)} and {format_value(own.high)}."
        )
    if ranker.in_population is not None:
        parts.append(_in_population(ranker.in_population))
    use = []
    if ranker.at_k:
        use.append(_at_each_k(ranker))
    if ranker.cutoff is not None:
        use.append(_of_cutoff(ranker.cutoff))
    return [" ".join(part) for part in (parts, use) if part] + [_what_to_do(report, ranker)]


def _strength(pvalue: float) -> str:
    """Return the usual word for the strength of evidence."""
    steps = ((0.001, "very strong"), (0.01, "strong"), (0.05, "moderate"))
    return next((word for limit, word in steps if pvalue <= limit), "weak")


def _percent(share: float) -> str:
    percent = 100.0 * share
    return f"{percent:.0f} %" if percent >= 9.5 else f"{percent:.1g} %"


def _at_each_k(ranker: RankerReport) -> str:
    """Return the hits and the recall at the largest k, and the hits at the others."""
    *others, at_k = sorted(ranker.at_k, key=lambda one: one.k)
    own, interval, more = at_k.interval, "", ""
    if own is not None:
        interval = f" ({state_interval(own.low, own.high, own.confidence_level)})"
    if others:
        cuts, hits = map(_cut, others), (format_count(one.hits) for one in others)
        more = f"; the first {enumerated(cuts)} contain {enumerated(hits)}"
    return (
        f"The first {_cut(at_k)} items contain {format_count(at_k.hits)} of "
        f"{counted(ranker.test.n_positives, 'positive')}, {_expected(at_k.expected_hits)} by "
        f"chance: recall is {format_value(at_k.test.statistic)}{interval}{more}."
    )


def _in_population(own: MetricIntervalResult) -> str:
    interval = state_interval(own.low, own.high, own.confidence_level)
    return (
        f"In a population with prevalence {own.prevalence:g} the {own.metric.title_in_text} is "
        f"{format_value(own.statistic)} ({interval})."
    )


def _of_cutoff(best: OptimalCutoffResult) -> str:
    if best.k == 0:
        return f"With value {best.value:g} and cost {best.cost:g} it is best to examine none."
    limits = f"{_percent_of(best.confidence_level)} simultaneous limits {format_value(best.low)}"
    text = (
        f"With value {best.value:g} and cost {best.cost:g} it is best to examine the first "
        f"{best.k}: the net benefit is {format_value(best.net_benefit)} ({limits} to "
        f"{format_value(best.high)}). The best "
        f"cut-off is between {best.k_low} and {best.k_high}."
    )
    return text if best.low > 0.0 else f"{text} No net benefit is established."


def _cut(at_k: HitsReport) -> str:
    """Return k, with the fraction of all items by which it was given."""
    return str(at_k.k) if at_k.fraction is None else f"{at_k.k} ({_percent_of(at_k.fraction)})"


def _what_to_do(report: Findings, ranker: RankerReport) -> str:
    """Return advice for the user of the ranking."""
    if not ranker.is_tested:
        return "What to do: read the interval, and the check mixed-clusters below."
    if ranker.test.pvalue <= report.alpha:
        if ranker.significant_k:
            best = ranker.cutoff
            if best is not None and best.k > 0 and best.low > 0.0:
                return f"What to do: examine the first {best.k} items."
            return "What to do: examine the items in this order, from the top."
        if ranker.significant_k is not None:
            return (
                "What to do: use the ranking with care. At no cut-off k do the first k items "
                "contain more positives than chance explains "
                f"(at {100 * report.alpha:g} % for all k together)."
            )
        return "What to do: use the ranking."
    if is_worse(ranker.test, report.alpha):
        return "What to do: check the direction of the scores and the label of the positives."
    if ranker.significant_k:
        return (
            "What to do: look deeper in the list, where the first k items do contain more "
            "positives than chance explains (see the table of all k), and confirm the result on "
            "other items."
        )
    return (
        "What to do: do not rely on the ranking yet. A result that is not significant does not "
        "mean that there is no effect: metric_power (rankinf plan) computes how large an effect "
        "this number of items would detect."
    )


def _of_best(report: Findings) -> str:
    """Return a paragraph on which of several rankings is best, or may be."""
    best, others = str(report.best), report.differences
    title = report.metric.title_in_text
    if report.comparison is None:
        return f"{in_sentences(best)} has the largest {title}. The rankings are not compared."
    rivals = [one.ranker for one in others if one.may_be_best]
    text = f"The best ranking is {in_sentences(best)}, with the largest {title}."
    if rivals:
        first = [best, *(one.ranker for one in others if one.difference == 0.0)]
        holds = f"{_names(first)} {'has' if len(first) == 1 else 'have'} the largest {title}"
        text = f"The best ranking may be {_names([best, *rivals], 'or')}; {holds}."
    # Hsu's set excludes every ranking that is significantly worse, and sometimes more.
    out = [one.ranker for one in others if not one.may_be_best and one.pvalue > report.alpha]
    if out:
        text += (
            " Not the best by one-sided comparisons with all others, although the interval of the "
            f"difference includes 0: {_names(out)}."
        )
    return text


def _established(report: Findings) -> list[str]:
    """Return what is shown of several rankings, about chance and about the best, and what is not.

    Both sentences are about the tests of the report: each ranking against chance, which are not
    adjusted for the number of rankings, and its difference from the best.
    """
    alpha, tested = report.alpha, [one for one in report.rankers if one.is_tested]
    better = [one.name for one in tested if one.test.pvalue <= alpha]
    reverse = [one.name for one in tested if is_worse(one.test, alpha)]
    unknown = [one.name for one in tested if one.name not in {*better, *reverse}]
    worse = [one.ranker for one in report.differences if one.pvalue <= alpha]
    equal = [one.ranker for one in report.differences if one.may_be_best]
    below = f"worse than {in_sentences(str(report.best))}"
    shown = [(better, "better than chance"), (reverse, "worse than chance"), (worse, below)]
    return [
        f"{start} {'; '.join(f'{_names(names)} {what}' for names, what in rows if names)}."
        for start, rows in (
            (f"Established at the level {alpha:g}:", shown),
            ("Not established:", [(unknown, "better than chance"), (equal, below)]),
        )
        if any(names for names, _ in rows)
    ]


def _names(names: Sequence[str], word: str = "and") -> str:
    """Return some names in a sentence, the first ones of many, before a word such as "better"."""
    shown = [*map(in_sentences, names)]
    if len(shown) > _MOST_NAMES:
        shown = [*shown[: _MOST_NAMES - 1], f"{len(shown) - _MOST_NAMES + 1} others"]
    return enumerated(shown, word)


def with_fraction(text: str, metric: Metric, k: Any) -> str:
    """Name a metric by the fraction `k` of the items by which its cut-off was given."""
    rank = getattr(metric, "k", None)
    if not isinstance(k, float) or not metric.title.endswith(f" {rank}"):
        return text
    percentage = _percent_of(k) + (f" (k = {rank})" if isinstance(rank, Integral) else "")
    for title in (metric.title, metric.title_in_text):
        text = re.sub(rf"{re.escape(title)}\b", title.removesuffix(str(rank)) + percentage, text)
    return text


def _level(report: Findings) -> str:
    return _percent_of(1 - report.alpha)


def _percent_of(share: float) -> str:
    return f"{100 * share:g} %"


def _span(runs: Sequence[tuple[int, int]] | None) -> str:
    """Return the span of the runs of k as a short text."""
    if not runs:
        return "no k"
    first, last = runs[0][0], runs[-1][1]
    text = f"k = {first}" if first == last else f"k = {first} to {last}"
    return f"{text}, with gaps" if len(runs) > 1 else text


# Tables.


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


def _expected(hits: float) -> str:
    return f"{hits:.2g}" if 0.0 < hits < 0.05 else f"{hits:.1f}"


def _is_guaranteed(ranker: RankerReport) -> bool:
    """Whether the p-value is a guaranteed upper bound of the exact one."""
    return bool(ranker.test.pvalue_is_bound and ranker.test.method == "analytic")


def _error(ranker: RankerReport) -> str:
    if _is_guaranteed(ranker):
        return "bound"
    error = ranker.test.pvalue_relative_error
    return f"{error:.0e}" if math.isfinite(error) else "unknown"


def _limits(level: str) -> list[Column]:
    return [
        ("lower", level, lambda row: _decimals(getattr(row, "low", None))),
        ("upper", level, lambda row: _decimals(getattr(row, "high", None))),
    ]


# The value, its chance level and its test; a row is a `RankerReport`.
_VALUE = ("", "value", lambda one: _decimals(one.test.statistic))
_CHANCE = ("", "chance", lambda one: _decimals(one.test.chance))
_ADJUSTED = ("", "adjusted", lambda one: _decimals(one.test.adjusted_statistic))
_TESTED: list[Column] = [
    ("", "z", lambda one: f"{one.test.zscore:.2f}"),
    ("", "p", lambda one: _as_cell(one.test.log10_pvalue, one.test.pvalue_is_bound)),
]
_OVER_K: list[Column] = [
    ("better than", "chance at", lambda one: _span(one.significant_k)),
    ("", "mHG p", lambda one: _of_minimum(one, "log10_pvalue", format_pvalue)),
    ("most", "significant k", lambda one: _of_minimum(one, "k", str)),
    ("hits", "there", lambda one: _of_minimum(one, "hits", str)),
]
# A row is a `RankerReport` with a cut-off.
_OF_CUTOFF: list[Column] = [
    ("best", "k", lambda one: str(one.cutoff.k)),
    ("between", "k =", lambda one: f"{one.cutoff.k_low} and {one.cutoff.k_high}"),
    ("net", "benefit", lambda one: format_value(one.cutoff.net_benefit)),
    ("", "lower", lambda one: format_value(one.cutoff.low)),
    ("", "upper", lambda one: format_value(one.cutoff.high)),
    ("", "recall", lambda one: _decimals(one.cutoff.recall)),
]
# A row is a `ComparisonReport`.
_DIFFERENCE = ("", "difference", lambda one: _decimals(one.difference))
_OF_DIFFERENCE = ("", "p", lambda one: _as_cell(one.log10_pvalue, one.pvalue_is_bound))
_MAY_BE_BEST = ("may be", "best", lambda one: "yes" if one.may_be_best else "no")
# A row is the name of a line and a `HitsReport`.
_HITS: list[Column] = [
    ("", "hits", lambda row: format_count(row[1].hits) + ("*" if row[1].tied_ranks else "")),
    ("hits by", "chance", lambda row: _expected(row[1].expected_hits)),
    ("hits", "needed", lambda row: _needed(row[1])),
    ("", "recall", lambda row: _decimals(row[1].test.statistic)),
    ("", "enrichment", lambda row: f"{row[1].enrichment:.2f}"),
    ("", "p", lambda row: _as_cell(row[1].test.log10_pvalue, row[1].test.pvalue_is_bound)),
]


def _of_minimum(ranker: RankerReport, name: str, formatted: Callable[[Any], str]) -> str:
    value = getattr(ranker.minimum_hypergeometric, name, None)
    return "-" if value is None else formatted(value)


def _needed(at_k: HitsReport) -> str:
    if math.isnan(at_k.test.pvalue):
        return "-"
    return _NEVER if at_k.hits_needed is None else str(at_k.hits_needed)


def tables(report: Findings, name: Name) -> list[ReportTable]:
    rankers = report.rankers
    first: Column = ("", "ranking", lambda one: name(one.name))
    found = [_main_table(report, first), *_population_table(report, first)]
    found += [*_hits_tables(report, name), *_cutoff_table(report, first)]
    if any(ranker.curve is not None for ranker in rankers):
        note = (
            f"The bound holds for all k together, at {100 * report.alpha:g} %, even if k is chosen "
            "after looking at the data. mHG p: the p-value of the minimum hypergeometric test, a "
            "single one for all k."
        )
        if any(ranker.significant_k for ranker in rankers):
            note = f"{note} {_CUMULATIVE}"
        found.append(table("All k together", [first, *_OVER_K], rankers, note))
    if report.comparison is not None:
        columns = [
            ("", "ranking", lambda one: name(one.ranker)),
            _DIFFERENCE,
            *_limits(_level(report)),
            _OF_DIFFERENCE,
            _MAY_BE_BEST,
        ]
        title = f"Difference from the best, {name(str(report.best))}"
        note = f"Method: {report.comparison_method}"
        found.append(table(title, columns, report.differences, note))
        if isinstance(report.comparison, MetricMultipleComparisonTestResult):
            found.append(_ranks_table(report.comparison, name))
    by_chance = ("by", *_CHANCE[1:])
    for tests in zip(*(ranker.metrics for ranker in rankers), strict=True):
        rows = [replace(one, test=test) for one, test in zip(rankers, tests, strict=True)]
        columns = [first, _VALUE, by_chance, _ADJUSTED, *_TESTED]
        found.append(table(tests[0].metric.title, columns, rows))
    return found


def _main_table(report: Findings, first: Column) -> ReportTable:
    metric, rankers = report.metric, report.rankers
    title = with_fraction(metric.title, metric, report._given_k)
    value = ("", metric.symbol, _VALUE[2])
    limits = [
        (top, head, lambda one, cell=cell: cell(one.interval))
        for top, head, cell in _limits(_level(report))
    ]
    columns = [first, value, *limits, _CHANCE, _ADJUSTED]
    if not rankers[0].is_tested:
        return table(title, columns, rankers, f"{_LEGEND}.")
    note = f"{_LEGEND}{_LEGEND_OF_TEST}."
    if any(map(_is_guaranteed, rankers)):
        note += _LEGEND_OF_BOUND
    return table(title, [*columns, *_TESTED, ("error", "of p", _error)], rankers, note)


def _population_table(report: Findings, first: Column) -> list[ReportTable]:
    """The values at the prevalence of another population, if there are any."""
    own = report.rankers[0].in_population
    if own is None:
        return []
    columns = [
        (top, head, lambda one, cell=cell: cell(one.in_population))
        for top, head, cell in (
            ("", report.metric.symbol, lambda found: _decimals(found.statistic)),
            *_limits(_level(report)),
        )
    ]
    title = with_fraction(own.metric.title, own.metric, report._given_k)
    note = (
        "Positives and negatives are taken as random samples of those of this population. All "
        f"other numbers are those of the sample, with prevalence {report.prevalence:.3g}; p-values "
        "need no correction."
    )
    title = f"{title} in a population with prevalence {own.prevalence:g}"
    return [table(title, [first, *columns], report.rankers, note)]


def _cutoff_table(report: Findings, first: Column) -> list[ReportTable]:
    """The cut-offs with the largest net benefit, if value and cost were given."""
    best = report.rankers[0].cutoff
    if best is None:
        return []
    title = f"Largest net benefit, value {best.value:g} and cost {best.cost:g}"
    note = (
        "The cut-off was chosen on the same items, so that its net benefit is too large on "
        f"average; the limits, with {_level(report)} confidence, hold for all k together."
    )
    return [table(title, [first, *_OF_CUTOFF], report.rankers, note)]


def hits_table(title: str, first: str, rows: Sequence[tuple[str, HitsReport]]) -> ReportTable:
    """Return a table of hits at k with one row per ranking or per k."""
    notes = []
    if any(at_k.tied_ranks for _, at_k in rows):
        notes.append(_HITS_NOTE)
    if any(_needed(at_k) == _NEVER for _, at_k in rows):
        notes.append(_NEVER_NOTE)
    return table(title, [("", first, lambda row: row[0]), *_HITS], rows, "\n".join(notes))


def _hits_tables(report: Findings, name: Name) -> list[ReportTable]:
    """Return one table for a single ranking, or one table per k for several rankings."""
    if report._is_single:
        rows = [(_cut(at_k), at_k) for at_k in report.rankers[0].at_k]
        return [hits_table("Hits among the first k", "k", rows)] if rows else []
    names = [name(ranker.name) for ranker in report.rankers]
    found = []
    for hits in zip(*(ranker.at_k for ranker in report.rankers), strict=True):
        title = f"Hits among the first {_cut(hits[0])}"
        found.append(hits_table(title, "ranking", list(zip(names, hits, strict=True))))
    return found


def comparison_tables(
    result: MetricMultipleComparisonTestResult, intervals: Mapping[Any, MetricIntervalResult]
) -> list[ReportTable]:
    """The leaderboard of several rankings, with their intervals, and the pairs if they are few."""
    title = result.metric.title
    if result.n_queries is not None:
        title = f"Mean {result.metric.title_in_text} over {result.n_queries} queries"
    limits = _limits(_percent_of(result.confidence_level))
    board = result.leaderboard()
    values, differences, pvalues = (
        list(map(float, column)) for column in (board.statistic, board.difference, board.pvalue)
    )
    rankers: list[Column] = [
        ("", "ranking", lambda row: in_tables(str(board.names[row]))),
        ("", "value", lambda row: _decimals(values[row])),
        *(
            (top, head, lambda row, cell=cell: cell(intervals[board.names[row]]))
            for top, head, cell in limits
        ),
        ("minus", "the best", lambda row: _decimals(differences[row] if row else None)),
        ("", "p", lambda row: _as_cell(log10_of(pvalues[row]), False) if row else "-"),
        *_of_ranks(board),
        ("may be", "best", lambda row: "yes" if board.may_be_best[row] else "no"),
    ]
    places = range(len(board.names))
    note = f"{_RANKS_NOTE} The p-values of differences from the best are adjusted for all pairs."
    found = [table(title, rankers, places, note)]
    if len(result.pairs) > _MOST_PAIRS:
        return found
    pairs = [
        ("", "A", lambda one: in_tables(one.ranker)),
        ("", "B", lambda one: in_tables(one.reference)),
        _DIFFERENCE,
        *limits,
        _OF_DIFFERENCE,
    ]
    note = "Intervals and p-values of the differences are adjusted for all pairs."
    return [*found, table("Differences, A minus B", pairs, differences_of_pairs(result), note)]


def _of_ranks(board: Leaderboard) -> list[Column]:
    """Columns of the limits of ranks and of the letters; a row is the place of a ranking."""
    ends = list(map(int, board.rank_low)), list(map(int, board.rank_high))
    return [
        ("limits", "of rank", lambda row: state_ranks(ends[0][row], ends[1][row])),
        ("", "tied", lambda row: board.letters[row]),
    ]


def _ranks_table(comparison: MetricMultipleComparisonTestResult, name: Name) -> ReportTable:
    """The rankings in the order of their values, with the limits of their ranks."""
    board = comparison.leaderboard()
    columns: list[Column] = [
        ("", "ranking", lambda row: name(str(board.names[row]))),
        ("", "value", lambda row: _decimals(float(board.statistic[row]))),
        *_of_ranks(board),
    ]
    return table("Ranks", columns, range(len(board.names)), _RANKS_NOTE)


# Sentences for a paper, and the whole report.


def sentences(report: Findings) -> list[str]:
    """Return sentences for a paper, one for each ranking and one on the comparison."""
    found = [
        one.summary() if report._is_single else f"{in_sentences(one.name)}: {one.summary()}"
        for one in report.rankers
    ]
    if report.comparison is not None:
        start = ""
        if len(report.rankers) == 2:
            (pair,) = report.differences
            start = f"{in_sentences(pair.ranker)} and {in_sentences(pair.reference)}: "
        found.append(f"{start}{report.comparison.summary()}")
    return [with_fraction(text, report.metric, report._given_k) for text in found]


def header(report: Findings) -> str:
    """Return the size of the problem in one line."""
    share = 100 * report.prevalence
    clusters = "" if report.n_clusters is None else f" in {counted(report.n_clusters, 'cluster')}"
    return (
        f"{counted(report.n_positives, 'positive')} among {counted(report.n_samples, 'item')} "
        f"({share:.3g} %){clusters}; {counted(len(report.rankers), 'ranking')}; significance "
        f"level {report.alpha:g}"
    )


def in_sentences(name: str) -> str:
    return shortened(name, _IN_SENTENCE)


def in_tables(name: str) -> str:
    return shortened(name, _IN_TABLE)


def as_text(report: Findings) -> str:
    """Return a whole report as text: lines of 80 characters, and tables of at most 100."""
    parts = [
        f"Rank significance report\n{wrapped(header(report))}",
        section("Conclusion", [*conclusions(report), *pointers(report)]),
        *(table_as_text(table) for table in tables(report, in_tables)),
    ]
    if report.notes:
        parts.append(section("Notes", report.notes))
    parts.append(section("Checks", _checks(report)))
    parts.append(section(FOR_A_PAPER, sentences(report)))
    return "\n\n".join(parts)


def table_as_text(table: ReportTable) -> str:
    """Return a table as text, with its title and its note."""
    lines = [wrapped(table.title), format_table(table.headings, table.rows)]
    if table.note:
        lines.append(wrapped(table.note))
    return "\n".join(lines)


def section(title: str, paragraphs: Sequence[str]) -> str:
    """Return paragraphs below their title."""
    return "\n".join([title, *(wrapped(text, "  ") for text in paragraphs)])


def _checks(report: Findings) -> list[str]:
    return [
        f"{check.code}{about(report, names, in_sentences)}: {check.message} {check.remedy} See "
        f"{check.url}"
        for check, names in grouped(report.checks)
    ] or [NOTHING_WRONG]


def grouped(checks: Sequence[ReportCheck]) -> list[tuple[ReportCheck, list[str]]]:
    """Merge equal findings on several rankings, and list the names of the rankings."""
    found: dict[tuple[str, str], tuple[ReportCheck, list[str]]] = {}
    for check in checks:
        _, names = found.setdefault((check.code, check.message), (check, []))
        if check.ranker is not None:
            names.append(check.ranker)
    return list(found.values())


def about(report: Findings, names: Sequence[str], name: Name) -> str:
    """Return the names of the rankings a check concerns, if the report has several rankings."""
    return "" if report._is_single or not names else f" ({', '.join(map(name, names))})"


def wrapped(text: str, indent: str = "") -> str:
    """Wrap text to lines of at most 80 characters."""
    lines = []
    for line in text.splitlines():
        # textwrap does not break lines at a no-break space.
        kept = _EQUATION.sub("\N{NO-BREAK SPACE}", line)
        lines += textwrap.wrap(
            kept,
            WIDTH,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")
