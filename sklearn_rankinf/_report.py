"""The report behind ``rankinf report``: what labels and columns of scores say about rankings."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_rankinf._engine.statistics import Metric
from sklearn_rankinf._files import CommandError, file_stem, save_figure
from sklearn_rankinf._formatting import format_count, format_pvalue, format_table
from sklearn_rankinf._metrics import METRICS, needs_k
from sklearn_rankinf._plot._matplotlib import new_figure
from sklearn_rankinf._plot.null_distribution import NullDistributionDisplay
from sklearn_rankinf._ranking import Ranking
from sklearn_rankinf._results import MetricTestResult
from sklearn_rankinf._significance import metric_test, recall_at_k_test
from sklearn_rankinf._top_k import min_hits_at_k
from sklearn_rankinf._validation import resolve_k

LEVEL = 0.05
# Below this the law is drawn on a logarithmic scale, where its far tail can be seen.
_FAR = -3.0


@dataclass(frozen=True)
class HitsReport:
    """Hits among the first k places of one ranking.

    Attributes
    ----------
    k : int
        Number of places.
    hits : float
        Positives among them, a fraction where equal scores straddle the last place.
    expected_hits : float
        Mean number of hits under random labelling.
    recall, precision : float
        Hits as a share of the positives and of the places.
    hits_needed : int or None
        Smallest number of hits with p up to 0.05 without ties; None if no number is enough.
    pvalue, log10_pvalue : float
        Exact p-value of the hits, and its logarithm to base 10.
    splits_ties : bool
        Whether equal scores straddle the last place.
    """

    k: int
    hits: float
    expected_hits: float
    recall: float
    precision: float
    hits_needed: int | None
    pvalue: float
    log10_pvalue: float
    splits_ties: bool


@dataclass(frozen=True)
class MetricReport:
    """What the labels say about one ranking by one metric.

    Attributes
    ----------
    metric : str
        Name of the metric.
    statistic, chance, adjusted, zscore : float
        Its value, the mean under random labelling, the value on a scale with chance at 0 and a
        perfect ranking at 1, and its distance from chance in standard deviations.
    pvalue, log10_pvalue : float
        Exact p-value, and its logarithm to base 10.
    """

    metric: str
    statistic: float
    chance: float
    adjusted: float
    zscore: float
    pvalue: float
    log10_pvalue: float


@dataclass(frozen=True)
class RankerReport:
    """What the labels say about one ranking.

    Attributes
    ----------
    name : str
        Name of the ranking.
    n_samples, n_positives : int
        Size of the ranking and number of positives.
    average_precision, chance, adjusted, zscore : float
        Average precision, its mean under random labelling, its value on a scale with chance at 0
        and 1 at 1, and its distance from chance in standard deviations.
    pvalue, log10_pvalue : float
        Exact p-value of average precision, and its logarithm to base 10.
    pvalue_less : float
        Exact p-value of the other side: the probability of so low an average precision.
    at_k : tuple of HitsReport
        Hits at each k.
    metrics : tuple of MetricReport
        Other metrics.
    """

    name: str
    n_samples: int
    n_positives: int
    average_precision: float
    chance: float
    adjusted: float
    zscore: float
    pvalue: float
    log10_pvalue: float
    pvalue_less: float
    at_k: tuple[HitsReport, ...]
    metrics: tuple[MetricReport, ...] = ()


def report_on_ranking(
    name: str,
    ranking: Ranking,
    result: MetricTestResult,
    k: Sequence[float] = (),
    metrics: Sequence[str | Metric] = (),
) -> RankerReport:
    """Put together what the labels say about one ranking.

    Parameters
    ----------
    name : str
        Name of the ranking.
    ranking : Ranking
        The ranking.
    result : MetricTestResult
        The test of its average precision.
    k : sequence of int or float
        Numbers of places at the top, or fractions of the samples, at which hits are tested.
    metrics : sequence of str or metric
        Other metrics that are tested.

    Returns
    -------
    RankerReport
        The figures.

    Raises
    ------
    CommandError
        If a k is less than 1 or more than the number of samples, or a metric has no such name or
        needs a k.
    """
    return RankerReport(
        name=name,
        n_samples=ranking.n_samples,
        n_positives=ranking.n_positives,
        average_precision=float(result.statistic),
        chance=float(result.null_distribution.mean()),
        adjusted=float(result.adjusted_statistic),
        zscore=float(result.zscore),
        pvalue=float(result.pvalue),
        log10_pvalue=float(result.log10_pvalue),
        pvalue_less=float(result.null_distribution.pvalue(result.statistic, "less")),
        at_k=tuple(report_on_hits(ranking, cut) for cut in k),
        metrics=report_on_metrics(ranking, metrics),
    )


def report_on_metrics(
    ranking: Ranking, metrics: Sequence[str | Metric]
) -> tuple[MetricReport, ...]:
    """Test a ranking by several metrics.

    Parameters
    ----------
    ranking : Ranking
        The ranking.
    metrics : sequence of str or metric
        Names of metrics that need no k, or metrics.

    Returns
    -------
    tuple of MetricReport
        The figures, one entry a metric.

    Raises
    ------
    CommandError
        If a metric has no such name, or needs a k.
    """
    return tuple(_report_on_metric(ranking, metric) for metric in metrics)


def _report_on_metric(ranking: Ranking, metric: str | Metric) -> MetricReport:
    names = [name for name, make in METRICS.items() if not needs_k(make)]
    if isinstance(metric, str) and metric not in names:
        what = f"{metric!r} needs a k" if metric in METRICS else f"there is no metric {metric!r}"
        raise CommandError(f"{what}: take one of {', '.join(map(repr, names))}.")
    result = metric_test(ranking, metric=metric)
    return MetricReport(
        metric=metric if isinstance(metric, str) else repr(metric),
        statistic=float(result.statistic),
        chance=float(result.null_distribution.mean()),
        adjusted=float(result.adjusted_statistic),
        zscore=float(result.zscore),
        pvalue=float(result.pvalue),
        log10_pvalue=float(result.log10_pvalue),
    )


def report_on_hits(ranking: Ranking, k: float) -> HitsReport:
    """Test the hits among the first k places of a ranking.

    Parameters
    ----------
    ranking : Ranking
        The ranking.
    k : int or float
        Number of places, or a fraction of the samples.

    Returns
    -------
    HitsReport
        The figures.

    Raises
    ------
    CommandError
        If k is less than 1 or more than the number of samples.
    """
    n, m = ranking.n_samples, ranking.n_positives
    try:
        cut = resolve_k(k, n)
    except ValueError as error:
        raise CommandError(str(error)) from error
    result = recall_at_k_test(ranking, k=cut)
    needed = int(min_hits_at_k(n, m, k=cut, alpha=LEVEL))
    hits = float(result.hits)
    return HitsReport(
        k=cut,
        hits=hits,
        expected_hits=m * cut / n,
        recall=float(result.statistic),
        precision=hits / cut,
        hits_needed=needed if needed <= min(m, cut) else None,
        pvalue=float(result.pvalue),
        log10_pvalue=float(result.log10_pvalue),
        splits_ties=cut not in np.cumsum(ranking.tie_sizes),
    )


_HEADINGS = (
    ("", "ranking"),
    ("", "n"),
    ("", "m"),
    ("", "AP"),
    ("chance", "AP"),
    ("adjusted", "AP"),
    ("", "z"),
    ("exact", "p"),
)
_HITS_HEADINGS = (
    ("", "ranking"),
    ("", "hits"),
    ("hits by", "chance"),
    ("needed for", "p < .05"),
    ("", "recall"),
    ("exact", "p"),
)
_METRIC_HEADINGS = (
    ("", "ranking"),
    ("", "value"),
    ("by", "chance"),
    ("", "adjusted"),
    ("", "z"),
    ("exact", "p"),
)


def format_report(reports: Sequence[RankerReport]) -> str:
    """Return the figures of several rankings as tables of text.

    Parameters
    ----------
    reports : sequence of RankerReport
        One entry a ranking, all with the same numbers of places and metrics.

    Returns
    -------
    str
        A table of average precision, one of hits for each k, and one for each other metric.
    """
    table = format_table(_HEADINGS, [_cells(report) for report in reports])
    parts = ["\n".join([table, *(_hint(report) for report in reports if _is_reversed(report))])]
    names = [report.name for report in reports]
    hits_by_k = zip(*(report.at_k for report in reports), strict=True)
    parts += [format_hits(names, hits) for hits in hits_by_k]
    by_metric = zip(*(report.metrics for report in reports), strict=True)
    parts += [format_metric(names, values) for values in by_metric]
    return "\n\n".join(parts)


def _is_reversed(report: RankerReport) -> bool:
    """Whether a ranking is worse than chance by more than luck explains."""
    return report.pvalue_less <= LEVEL


def _hint(report: RankerReport) -> str:
    pvalue = format_pvalue(math.log10(report.pvalue_less)) if report.pvalue_less else "0"
    return (
        f"{report.name} is worse than chance (so low an AP has p = {pvalue}): its direction may be "
        "reversed.\n  Larger scores must mean likelier targets; if smaller ones do, negate the "
        "column."
    )


def format_hits(names: Sequence[str], hits: Sequence[HitsReport]) -> str:
    """Return the hits of several rankings at one k as a table of text.

    Parameters
    ----------
    names : sequence of str
        Names of the rankings.
    hits : sequence of HitsReport
        Their hits.

    Returns
    -------
    str
        A title, the table, and a note where equal scores straddle k.
    """
    rows = [[name, *_hits_cells(at_k)] for name, at_k in zip(names, hits, strict=True)]
    lines = [f"Hits among the first {hits[0].k}", format_table(_HITS_HEADINGS, rows)]
    if any(at_k.splits_ties for at_k in hits):
        lines.append(
            "* Equal scores straddle the last place: hits are the mean over random tie-breaking, p "
            "is exact\n  for these ties, and the hits needed are those of a ranking without ties."
        )
    return "\n".join(lines)


def format_metric(names: Sequence[str], values: Sequence[MetricReport]) -> str:
    """Return one metric of several rankings as a table of text.

    Parameters
    ----------
    names : sequence of str
        Names of the rankings.
    values : sequence of MetricReport
        Their figures.

    Returns
    -------
    str
        The name of the metric, and the table.
    """
    rows = [
        [
            name,
            f"{value.statistic:.4f}",
            f"{value.chance:.4f}",
            f"{value.adjusted:.4f}",
            f"{value.zscore:.2f}",
            format_pvalue(value.log10_pvalue),
        ]
        for name, value in zip(names, values, strict=True)
    ]
    return "\n".join([values[0].metric, format_table(_METRIC_HEADINGS, rows)])


def _cells(report: RankerReport) -> list[str]:
    return [
        report.name,
        str(report.n_samples),
        str(report.n_positives),
        f"{report.average_precision:.4f}",
        f"{report.chance:.4f}",
        f"{report.adjusted:.4f}",
        f"{report.zscore:.2f}",
        format_pvalue(report.log10_pvalue),
    ]


def _hits_cells(at_k: HitsReport) -> list[str]:
    return [
        format_count(at_k.hits) + ("*" if at_k.splits_ties else ""),
        f"{at_k.expected_hits:.1f}",
        "none" if at_k.hits_needed is None else str(at_k.hits_needed),
        f"{at_k.recall:.4f}",
        format_pvalue(at_k.log10_pvalue),
    ]


def report_as_json(reports: Sequence[RankerReport], plots: Mapping[str, str]) -> str:
    """Return the figures of several rankings as JSON.

    Parameters
    ----------
    reports : sequence of RankerReport
        One entry a ranking.
    plots : dict of str to str
        Files with pictures by the name of the ranking, maybe none.

    Returns
    -------
    str
        A list with an object for each ranking, with the names of `RankerReport`; what is
        undefined is null.
    """
    rows = [{**asdict(report), "plot": plots.get(report.name)} for report in reports]
    return json.dumps(without_nan(rows), indent=2, allow_nan=False)


def without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nan(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_plots(directory: str, results: Mapping[str, Any]) -> dict[str, str]:
    """Draw the null law and the observed value of each test into a file of its own.

    Parameters
    ----------
    directory : str
        Where the files go; made if it is not there.
    results : dict of str to test result
        Results by the name of the ranking.

    Returns
    -------
    dict of str to str
        The files by the name of the ranking.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    CommandError
        If the directory cannot be made or written to.
    """
    files: dict[str, str] = {}
    for name, result in results.items():
        figure = new_figure("--plots")
        display = NullDistributionDisplay(result, name=name)
        scale = "log" if result.log10_pvalue < _FAR else "linear"
        display.plot(figure.add_subplot(), yscale=scale)
        path = Path(directory) / f"{file_stem(name, files.values())}.png"
        files[name] = save_figure(figure, path)
    return files
