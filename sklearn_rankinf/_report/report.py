"""A report on rankings: whether they are better than chance, by how much, with what certainty.

It is text, or a self-contained HTML page with pictures.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._metrics import Metric, as_metric
from sklearn_rankinf._plot import (
    ComparisonDisplay,
    IntervalDisplay,
    NullDistributionDisplay,
    TopKSignificanceDisplay,
    draw_chance_levels,
    new_figure,
)
from sklearn_rankinf._ranking import (
    PosLabel,
    Sample,
    as_seed_sequence,
    check_integer,
    check_levels,
    has_several_labels,
)
from sklearn_rankinf._report.findings import Findings
from sklearn_rankinf._report.numbers import RankerReport
from sklearn_rankinf._report.study import Study, Use, read_facts
from sklearn_rankinf._report.text import (
    FOR_A_PAPER,
    NOTHING_WRONG,
    ReportTable,
    about,
    as_text,
    conclusions,
    grouped,
    header,
    in_sentences,
    pointers,
    sentences,
    tables,
)
from sklearn_rankinf._results import Result, counted, shortened, unbroken

DEFAULT_K = (10, 50, 100)


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
        Number of items and number of positives.
    n_clusters : int or None
        Number of clusters; None if all items were treated as independent.
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
        Proportion of positives among the items.
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
        """Return the report as text.

        Returns
        -------
        str
            Conclusions in words, tables of numbers, the checks, and sentences for a paper, in lines
            of at most 80 characters; tables with long names may have 100.
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


def rank_significance_report(
    y_true: Any,
    y_score: Any = None,
    *,
    k: Any = DEFAULT_K,
    metric: str | Metric = "average_precision",
    pos_label: PosLabel = 1,
    clusters: Iterable[Hashable] | None = None,
    prevalence: float | None = None,
    value: float | None = None,
    cost: float | None = None,
    alpha: float = 0.05,
    n_resamples: int = 9999,
    random_state: Any = 0,
) -> Any:
    r"""Report whether rankings are better than chance, by how much, and with what certainty.

    The report starts with a conclusion in words, followed by tables of numbers, checks for
    common problems with labels and scores, and sentences for a paper.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes), or Ranking
        Binary labels; labels of more than two classes; a multilabel indicator matrix; or a ranking,
        in which case `y_score` is omitted.
    y_score : array-like of shape (n_samples,) or (n_samples, n_rankers), dict or frame, optional
        Scores, larger for items more likely to be positive, of one or several rankers. Several
        rankers are given as a dict, a data frame, or an array with one column per ranker. Required
        unless `y_true` is a ranking. For several classes an array of shape (n_samples, n_classes),
        or a dict with such an array for each ranker.
    k : int, float or sequence of them, default=(10, 50, 100)
        Cut-offs at which hits are reported: numbers of items at the top of the ranking, or
        fractions of all items between 0 and 1, rounded up. Any k larger than the number of
        items is skipped, with a note.
    metric : str or metric, default="average_precision"
        A metric, such as ``RecallAtK(100)``, or the name of one that needs no k; see
        :func:`metric_test`.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each item, such as its patient. Items of different clusters are independent.
        With clusters, p-values come from permutation tests, and the bounds over all k are left out.
        If items of one cluster have different labels, there are no p-values against chance; the
        report contains intervals and comparisons.
    prevalence : float, optional
        Prevalence of the population in which the rankers will work, between 0 and 1, if it is not
        that of the sample. The report then has the interval of the metric there as well; see
        :func:`metric_interval`.
    value, cost : float, optional
        Value of a positive that is found, and costs of examining an item. With both of them the
        report has the cut-off with the largest net benefit, as :func:`optimal_cutoff`.
    alpha : float, default=0.05
        Significance level. Confidence intervals have the level 1 - alpha.
    n_resamples : int, default=9999
        Number of random labellings with `clusters`, and of random rank swaps in the comparison of
        two rankers.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random numbers.

    Returns
    -------
    report : RankSignificanceReport or dict of RankSignificanceReport
        The report; ``print(report)`` shows it as text. For several classes a dict with the report
        of each class against all others.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If labels, scores or options are invalid, if there are too few negatives for the
        `prevalence`, or if only one of `value` and `cost` is given.

    See Also
    --------
    metric_test : The test alone.
    metric_interval : The interval alone.
    optimal_cutoff : The cut-off alone.
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
    of influence values if the number of items times `n_resamples` is above 2e8. More than two
    rankers are compared with the best one by :func:`metric_multiple_comparison_test`.

    Slow computations are left out, with a note: bounds over all k with more than 20,000 positives,
    and simulated intervals (those of DCG, BEDROC and custom metrics) with more than 20,000 items.

    P-values, hits at k and the comparison are those of the sample. P-values against chance are
    valid for case-control samples. If precision at the `prevalence` depends on few negatives, a
    note states how many more are needed.

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
    use = Use.read(prevalence, value, cost, clusters)
    if has_several_labels(y_true):
        if prevalence is not None:
            raise ValueError(
                "prevalence is that of one class, but y_true has several: pass y_true == label and "
                "the scores of that label."
            )
        tables = y_score if isinstance(y_score, Mapping) else {"ranking": y_score}
        options: dict[str, Any] = {"k": k, "metric": chosen, "clusters": clusters}
        options |= {"value": value, "cost": cost, **drawing}
        return {
            label: rank_significance_report(
                sample.positive,
                dict(zip(sample.names, sample.scores, strict=True)),
                alpha=float(level),
                **options,
            )
            for label, sample in Sample.read_classes(y_true, tables).items()
        }
    facts = read_facts(y_true, y_score, pos_label, clusters, float(level))
    with warnings.catch_warnings():
        # The checks of the report replace these warnings.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return RankSignificanceReport(**Study(facts, chosen, drawing, use).findings(k))


# As a page.

# Maximum number of null distributions that are drawn, and of letters of a name in a picture.
_N_DRAWN, _IN_PICTURE = 6, 24
# Beyond this number of standard deviations a null distribution is a spike beside empty space.
_TOO_FAR = 50.0
_STYLE = """
.rankinf { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem;
  margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
.rankinf h1 { font-size: 1.5rem; } .rankinf h2 { font-size: 1.15rem; margin-top: 2rem; }
.rankinf .conclusion { border-left: .3rem solid #2a7ab0; padding: .1rem 1rem; }
.rankinf summary { font-size: 1.15rem; font-weight: bold; margin-top: 2rem; cursor: pointer; }
.rankinf .table { overflow-x: auto; }
.rankinf table { border-collapse: collapse; font-size: .9rem; }
.rankinf th, .rankinf td { padding: .25rem .6rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid #8884; }
.rankinf th:first-child, .rankinf td:first-child { text-align: left; white-space: normal;
  min-width: 8rem; }
.rankinf .note { font-size: .85rem; opacity: .8; }
.rankinf figure { margin: 1rem 0; } .rankinf img { max-width: 100%; height: auto;
  background: #fff; border-radius: .4rem; }
.rankinf code { background: #8882; padding: 0 .3rem; border-radius: .2rem; }
"""
_PAGE_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; background: #fff; color: #1b1b1b; }
a { color: #0b5f95; }
@media (prefers-color-scheme: dark) {
  body { background: #15181c; color: #e4e6e8; } a { color: #7fc1ee; }
}
"""


def as_document(report: Findings) -> str:
    """Return the report as a whole page, with pictures."""
    _figure(1.0)  # a missing matplotlib is reported before anything is drawn
    pictures = [
        f'<figure><img alt="{escape(title)}" src="{_as_data(draw)}">'
        f"<figcaption>{escape(title)}</figcaption></figure>"
        for title, draw in _pictures(report)
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Rank significance report</title>\n<style>{_PAGE_STYLE}</style>\n</head>\n<body>\n"
        f"{as_fragment(report, pictures)}\n</body>\n</html>\n"
    )


def as_fragment(report: Findings, pictures: Sequence[str] = ()) -> str:
    """Return the report for a notebook, or with pictures as the content of a page."""
    parts = [
        f"<style>{_STYLE}</style>",
        "<h1>Rank significance report</h1>",
        f"<p>{escape(header(report))}</p>",
        '<h2>Conclusion</h2>\n<div class="conclusion">',
        *map(_paragraph, [*conclusions(report), *pointers(report)]),
        "</div>",
        *(_table(table) for table in tables(report, str)),
    ]
    if pictures:
        parts += ["<h2>Pictures</h2>", *pictures, *map(_paragraph, _not_drawn(report))]
    if report.notes:
        parts += ["<h2>Notes</h2>", *map(_paragraph, report.notes)]
    parts += [_checks(report), f"<h2>{FOR_A_PAPER}</h2>"]
    parts += [_paragraph(text) for text in sentences(report)]
    content = "\n".join(parts)
    return f'<div class="rankinf">\n{content}\n</div>'


def _paragraph(text: str) -> str:
    return f"<p>{unbroken(escape(text))}</p>"


def _table(table: ReportTable) -> str:
    """Return a table that scrolls separately if it is too wide for the page."""
    heads = "".join(f"<th>{escape(' '.join(filter(None, head)))}</th>" for head in table.headings)
    rows = "\n".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows
    )
    note = f'\n<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f'<h2>{escape(table.title)}</h2>\n<div class="table"><table>\n<thead><tr>{heads}</tr>'
        f"</thead>\n<tbody>\n{rows}\n</tbody>\n</table></div>{note}"
    )


def _checks(report: Findings) -> str:
    """Return the findings of the checks below a line that unfolds them."""
    if not report.checks:
        return f"<h2>Checks</h2>\n{_paragraph(NOTHING_WRONG)}"
    items = [
        f"<li><code>{escape(check.code)}</code>{escape(about(report, names, str))}: "
        f"{unbroken(escape(check.message))} {escape(check.remedy)} "
        f'<a href="{escape(check.url)}">More</a></li>'
        for check, names in grouped(report.checks)
    ]
    title = f"Checks: {counted(len(items), 'finding')}"
    listed = "\n".join(items)
    return f"<details>\n<summary>{title}</summary>\n<ul>\n{listed}\n</ul>\n</details>"


# Pictures.

Draw = Callable[[], Any]


def _pictures(report: Findings) -> list[tuple[str, Draw]]:
    """Return the titles of the pictures and the functions that draw them."""
    names = [shortened(ranker.name, _IN_PICTURE) for ranker in report.rankers]
    found: list[tuple[str, Draw]] = []
    if any(ranker.interval is not None for ranker in report.rankers):
        found.append(("Confidence intervals", lambda: draw_intervals(report, names)))
    if report.comparison is not None:
        found.append(("Differences", lambda: _draw_comparison(report, names)))
    for name, ranker in _drawn(report, names):
        if ranker.test.null_distribution.std() > 0.0 and not _is_too_far(ranker):
            title = f"{name}: observed value and null distribution"
            found.append((title, partial(_draw_null, name, ranker)))
    if report.n_positives > 0 and all(ranker.curve is not None for ranker in report.rankers):
        found.append(("Hits among the first k", lambda: _draw_curves(report, names)))
    return found


def _drawn(report: Findings, names: Sequence[str]) -> list[tuple[str, RankerReport]]:
    """Return the rankings whose null distribution is drawn, by name."""
    named = list(zip(names, report.rankers, strict=True))[:_N_DRAWN]
    return [(name, ranker) for name, ranker in named if ranker.is_tested]


def _is_too_far(ranker: RankerReport) -> bool:
    """Whether the observed value is too far from chance for a picture with the distribution."""
    return bool(abs(ranker.test.zscore) > _TOO_FAR)


def _not_drawn(report: Findings) -> list[str]:
    """Return a sentence for each null distribution that is left out because it is too narrow."""
    return [
        f"The null distribution is not drawn for {in_sentences(name)}: the observed value is "
        f"{abs(ranker.test.zscore):.0f} standard deviations from chance."
        for name, ranker in _drawn(report, [ranker.name for ranker in report.rankers])
        if _is_too_far(ranker)
    ]


def draw_intervals(report: Findings, names: list[str]) -> Any:
    """Draw the intervals of all rankings, and their chance levels."""
    figure = _figure(1.3 + 0.35 * len(names))
    intervals = [ranker.interval for ranker in report.rankers]
    display = IntervalDisplay(intervals, name=_plain(names)).plot(figure.add_subplot())
    # The chance level of the tables depends on ties; an interval has no ties.
    chances = np.array([ranker.test.chance for ranker in report.rankers])
    draw_chance_levels(display.ax_, report.metric.symbol, chances)
    return figure


def _draw_comparison(report: Findings, names: list[str]) -> Any:
    is_of_two = len(names) == 2
    figure = _figure(1.8 if is_of_two else 1.0 + 0.32 * len(names))
    if is_of_two:
        (pair,) = report.differences
        names = [shortened(name, _IN_PICTURE) for name in (pair.ranker, pair.reference)]
    ComparisonDisplay(report.comparison, name=_plain(names)).plot(figure.add_subplot())
    return figure


def _draw_null(name: str, ranker: RankerReport) -> Any:
    figure = _figure(4.0)
    NullDistributionDisplay(ranker.test, name=_plain([name])[0]).plot(figure.add_subplot())
    return figure


def _draw_curves(report: Findings, names: list[str]) -> Any:
    figure = _figure(4.5, 9.0)
    curves: Any = [ranker.curve for ranker in report.rankers]
    shown: Any = _plain(names)
    if len(curves) == 1:
        (curves,), (shown,) = curves, shown
    TopKSignificanceDisplay(curves, name=shown).plot(figure.add_subplot())
    return figure


def _figure(height: float, width: float = 8.0) -> Any:
    return new_figure("an HTML report", (width, height))


def _plain(names: list[str]) -> list[str]:
    """Escape names that matplotlib would read as formulas or as hidden artists."""
    return [
        re.sub(r"^_", "\N{MODIFIER LETTER LOW MACRON}", name).replace("$", r"\$") for name in names
    ]


def _as_data(draw: Draw) -> str:
    """Return a picture as a data URL."""
    picture, lacks_letters = _as_svg(draw, "path")
    if lacks_letters:
        # matplotlib's font lacks some letters, and the browser may have them.
        picture, _ = _as_svg(draw, "none")
    return f"data:image/svg+xml;base64,{base64.b64encode(picture).decode()}"


def _as_svg(draw: Draw, fonttype: str) -> tuple[bytes, bool]:
    """Return a picture, and whether its font lacks letters."""
    import matplotlib

    written = io.BytesIO()
    # A fixed salt makes the output reproducible.
    options: Any = {"svg.hashsalt": "rankinf", "svg.fonttype": fonttype}
    with matplotlib.rc_context(options), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        draw().savefig(written, format="svg", metadata={"Date": None})
    others = [one for one in caught if "missing from" not in str(one.message)]
    for one in others:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return written.getvalue(), len(others) < len(caught)
