"""The numbers of a report, all of which public functions of this package also return."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from sklearn_rankinf._estimation.results import MetricIntervalResult
from sklearn_rankinf._metrics.metrics import METRICS, needs_k
from sklearn_rankinf._ranking import Ranking, resolve_k
from sklearn_rankinf._report.files import CommandError
from sklearn_rankinf._significance.metric_test import metric_test, recall_at_k_test
from sklearn_rankinf._significance.min_hits import min_hits_at_k
from sklearn_rankinf._significance.minimum_hypergeometric import MinimumHypergeometricTestResult
from sklearn_rankinf._significance.results import MetricTestResult
from sklearn_rankinf._significance.top_k_curve import TopKSignificanceCurve
from sklearn_rankinf._statistics.additive import Metric

LEVEL = 0.05


@dataclass(frozen=True)
class HitsReport:
    """Hits among the first k samples of one ranking.

    Attributes
    ----------
    k : int
        Number of samples.
    fraction : float or None
        The fraction of all samples by which k was given; None if it was given as a number.
    hits : float
        Positives among the first k samples. If the cut-off splits a block of equal scores, the
        mean over random tie-breaking, which may be a fraction.
    expected_hits : float
        Mean number of hits under random labelling.
    recall, precision, enrichment : float
        Hits divided by the number of positives, by k, and by the expected number of hits. Without
        positives recall is 0 and enrichment nan.
    recall_low, recall_high : float or None
        Confidence interval of recall; None if there is none.
    hits_needed : int or None
        Smallest number of hits that is significant without ties; None if no number is significant,
        or with clusters.
    pvalue, log10_pvalue : float
        P-value of the hits, exact without clusters, and its logarithm to base 10; nan if samples of
        one cluster have different labels.
    splits_ties : bool
        Whether the cut-off splits a block of equal scores that contains positives and negatives,
        so that the hits depend on the order within the block.
    tied_ranks : tuple of (int, int) or None
        First and last rank of this block; None if there is none.
    pvalue_is_bound : bool
        Whether the p-value is the smallest possible one for the number of random labellings.
    """

    k: int
    hits: float
    expected_hits: float
    recall: float
    precision: float
    enrichment: float
    hits_needed: int | None
    pvalue: float
    log10_pvalue: float
    splits_ties: bool
    pvalue_is_bound: bool = False
    fraction: float | None = None
    recall_low: float | None = None
    recall_high: float | None = None
    tied_ranks: tuple[int, int] | None = None


@dataclass(frozen=True)
class ComparisonReport:
    """One ranking compared with the best of several.

    Attributes
    ----------
    difference : float
        Value of the metric minus that of the best ranking.
    low, high : float
        Confidence limits of the difference, simultaneous with more than two rankings.
    pvalue : float
        Two-sided p-value, adjusted for the number of pairs with more than two rankings.
    may_be_best : bool
        Whether the ranking may be the best one. With two rankings: whether p is above alpha. With
        more rankings: whether it is in the set of rankers that may be best according to
        :func:`~sklearn_rankinf.metric_multiple_comparison_test`.
    """

    difference: float
    low: float
    high: float
    pvalue: float
    may_be_best: bool


@dataclass(frozen=True)
class RankerReport:
    """All numbers of one ranking.

    Attributes
    ----------
    name : str
        Name of the ranking.
    n_samples, n_positives : int
        Number of samples and number of positives.
    statistic, chance, adjusted_statistic, zscore : float
        Value of the metric, mean under random labelling, value on a scale with chance at 0 and a
        perfect ranking at 1, and distance from chance in standard deviations.
    pvalue, log10_pvalue, pvalue_relative_error : float
        P-value, its logarithm to base 10, and a conservative estimate of its relative error. They,
        `zscore` and `pvalue_less` are nan if samples of one cluster have different labels.
    pvalue_low, pvalue_high : float
        Interval for the p-value; see ``MetricTestResult``.
    pvalue_is_bound : bool
        Whether the p-value is an upper bound: a guaranteed bound of the exact p-value, or the
        smallest possible one for the number of random labellings.
    method : str
        Method of the p-value; ``"none"`` if there is no p-value.
    pvalue_less : float
        P-value of the opposite alternative: the probability of a value this low or lower.
    low, high, standard_error : float or None
        Confidence interval of the metric and its standard error; None if there is none.
    interval_method : str or None
        Method of the interval.
    at_k : tuple of HitsReport
        Hits at each k.
    significant_k : tuple of (int, int) or None
        First and last k of every run of k with more hits than random selection, at the level alpha
        simultaneously over all k; None if the runs were not computed.
    mhg_pvalue, mhg_log10_pvalue : float or None
        P-value of the minimum hypergeometric test, a single one for all k; None if it was not
        computed.
    mhg_k, mhg_hits : int or None
        The k with the smallest hypergeometric p-value, and the hits at this k.
    comparison : ComparisonReport or None
        Comparison with the best ranking; None for the best ranking and for a single ranking.
    metrics : tuple of MetricTestResult
        The tests of other metrics.
    lower_is_better : bool
        Whether the scores were negated, because smaller ones mean positives.
    """

    name: str
    n_samples: int
    n_positives: int
    statistic: float
    chance: float
    adjusted_statistic: float
    zscore: float
    pvalue: float
    log10_pvalue: float
    pvalue_relative_error: float
    pvalue_low: float
    pvalue_high: float
    pvalue_is_bound: bool
    method: str
    pvalue_less: float
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    interval_method: str | None = None
    at_k: tuple[HitsReport, ...] = ()
    significant_k: tuple[tuple[int, int], ...] | None = None
    mhg_pvalue: float | None = None
    mhg_log10_pvalue: float | None = None
    mhg_k: int | None = None
    mhg_hits: int | None = None
    comparison: ComparisonReport | None = None
    metrics: tuple[MetricTestResult, ...] = ()
    lower_is_better: bool = False

    @property
    def is_guaranteed_bound(self) -> bool:
        """Whether the p-value is a guaranteed upper bound of the exact one."""
        return self.pvalue_is_bound and self.method == "analytic"


def numbers_of_ranking(
    name: str,
    result: MetricTestResult,
    interval: MetricIntervalResult | None,
    curve: TopKSignificanceCurve | None,
    over_k: MinimumHypergeometricTestResult | None,
    **others: Any,
) -> RankerReport:
    """Collect the numbers from the results of one ranking."""
    found: dict[str, Any] = dict(others)
    if interval is not None:
        found |= {
            "low": float(interval.low),
            "high": float(interval.high),
            "standard_error": float(interval.standard_error),
            "interval_method": interval.method,
        }
    if curve is not None:
        found["significant_k"] = tuple(curve.crossovers_simultaneous[0])
    if over_k is not None:
        found |= {
            "mhg_pvalue": over_k.pvalue,
            "mhg_log10_pvalue": over_k.log10_pvalue,
            "mhg_k": over_k.k,
            "mhg_hits": over_k.hits,
        }
    return RankerReport(
        name=name,
        n_samples=result.n_samples,
        n_positives=result.n_positives,
        statistic=float(result.statistic),
        chance=float(result.chance),
        adjusted_statistic=float(result.adjusted_statistic),
        zscore=float(result.zscore),
        pvalue=float(result.pvalue),
        log10_pvalue=float(result.log10_pvalue),
        pvalue_relative_error=float(result.pvalue_relative_error),
        pvalue_low=float(result.pvalue_low),
        pvalue_high=float(result.pvalue_high),
        pvalue_is_bound=bool(result.pvalue_is_bound),
        method=result.method,
        pvalue_less=pvalue_less(result),
        **found,
    )


def pvalue_less(result: MetricTestResult) -> float:
    """Return the p-value of the alternative that the ranking is worse than chance."""
    if result.method == "none":
        return math.nan
    return float(result.null_distribution.pvalue(result.statistic, "less"))


def report_on_metrics(
    ranking: Ranking, metrics: Sequence[str | Metric]
) -> tuple[MetricTestResult, ...]:
    """Test a ranking by several metrics.

    Parameters
    ----------
    ranking : Ranking
        The ranking.
    metrics : sequence of str or metric
        Metrics, or names of metrics that need no k.

    Returns
    -------
    tuple of MetricTestResult
        The results, one entry per metric.

    Raises
    ------
    CommandError
        If the name of a metric is unknown, or if the metric needs a k.
    """
    return tuple(_report_on_metric(ranking, metric) for metric in metrics)


def _report_on_metric(ranking: Ranking, metric: str | Metric) -> MetricTestResult:
    names = [name for name, make in METRICS.items() if not needs_k(make)]
    if isinstance(metric, str) and metric not in names:
        what = f"{metric!r} needs a k" if metric in METRICS else f"there is no metric {metric!r}"
        raise CommandError(f"{what}: use one of {', '.join(map(repr, names))}.")
    return metric_test(ranking, metric=metric)


def _mixed_block(ranking: Ranking, cut: int) -> tuple[int, int] | None:
    """First and last rank of a block with positives and negatives that contains the cut-off."""
    ends = np.cumsum(ranking.tie_sizes)
    block = int(np.searchsorted(ends, cut))
    last, size = int(ends[block]), int(ranking.tie_sizes[block])
    return (last - size + 1, last) if last > cut and 0 < ranking.hits[block] < size else None


def report_on_hits(
    ranking: Ranking,
    k: float,
    alpha: float = LEVEL,
    result: MetricTestResult | None = None,
    interval: MetricIntervalResult | None = None,
) -> HitsReport:
    """Test the hits among the first k samples of a ranking.

    Parameters
    ----------
    ranking : Ranking
        The ranking.
    k : int or float
        Number of samples, or a fraction of all samples.
    alpha : float, default=0.05
        Significance level.
    result : MetricTestResult, optional
        Test of recall at k that takes clusters into account.
    interval : MetricIntervalResult, optional
        Interval of recall at k.

    Returns
    -------
    HitsReport
        The results.

    Raises
    ------
    ValueError
        If k is less than 1 or more than the number of samples.
    """
    n, m = ranking.n_samples, ranking.n_positives
    cut = resolve_k(k, n)
    needed = None
    if result is None:
        result = recall_at_k_test(ranking, k=cut)
        fewest = int(min_hits_at_k(n, m, k=cut, alpha=alpha))
        needed = fewest if fewest <= min(m, cut) else None
    hits, expected = float(result.hits), m * cut / n
    tied_ranks = _mixed_block(ranking, cut)
    return HitsReport(
        k=cut,
        fraction=None if isinstance(k, Integral) else float(k),
        hits=hits,
        expected_hits=expected,
        recall=float(result.statistic),
        precision=hits / cut,
        enrichment=hits / expected if m > 0 else np.nan,
        hits_needed=needed,
        pvalue=float(result.pvalue),
        log10_pvalue=float(result.log10_pvalue),
        splits_ties=tied_ranks is not None,
        tied_ranks=tied_ranks,
        pvalue_is_bound=bool(result.pvalue_is_bound),
        recall_low=None if interval is None else float(interval.low),
        recall_high=None if interval is None else float(interval.high),
    )
