"""The results of each ranking of a report, and of its hits at k."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sklearn_rankinf._estimation import MetricIntervalResult
from sklearn_rankinf._ranking import Ranking
from sklearn_rankinf._results import Result, format_value, state_interval
from sklearn_rankinf._significance import (
    MetricTestResult,
    MinimumHypergeometricTestResult,
    TopKSignificanceCurve,
    min_hits_at_k,
)

LEVEL = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class HitsReport(Result):
    """Hits among the first k items of one ranking.

    Attributes
    ----------
    test : MetricTestResult
        The test of recall at k. If items of one cluster have different labels, its p-value is
        nan.
    interval : MetricIntervalResult or None
        The interval of recall; None if there is none.
    hits_needed : int or None
        Smallest number of hits that is significant without ties; None if no number is significant,
        or with clusters.
    fraction : float or None
        The fraction of all items by which k was given; None if it was given as a number.
    tied_ranks : tuple of (int, int) or None
        First and last rank of a block of equal scores that the cut-off splits and that contains
        positives and negatives, so that the hits depend on the order within the block; None if
        there is none.
    k : int
        Number of items.
    hits : float
        Positives among the first k items. If the cut-off splits a block of equal scores, the
        mean over random tie-breaking, which may be a fraction.
    expected_hits : float
        Mean number of hits by chance.
    precision, enrichment : float
        Hits divided by k, and by the expected number of hits; without positives enrichment is nan.
    """

    test: MetricTestResult = field(repr=False)
    interval: MetricIntervalResult | None = field(default=None, repr=False)
    hits_needed: int | None = None
    fraction: float | None = None
    tied_ranks: tuple[int, int] | None = None

    @classmethod
    def of(
        cls,
        ranking: Ranking,
        test: MetricTestResult,
        k: float,
        interval: MetricIntervalResult | None = None,
        alpha: float = LEVEL,
    ) -> HitsReport:
        """Return a test of recall at `k`, with the hits needed and the block that is split."""
        cut, fewest = int(test.k), None
        if test.ranking is not None:
            n, m = ranking.n_samples, ranking.n_positives
            fewest = int(min_hits_at_k(n, m, k=cut, alpha=alpha))
            fewest = fewest if fewest <= min(m, cut) else None
        fraction = float(k) if k < 1 else None
        return cls(test, interval, fewest, fraction, _mixed_block(ranking, cut))

    @property
    def k(self) -> int:
        """Number of items."""
        return int(self.test.k)

    @property
    def hits(self) -> float:
        """Positives among the first k items."""
        return float(self.test.hits)

    @property
    def expected_hits(self) -> float:
        """Mean number of hits by chance."""
        return float(self.test.n_positives * self.k / self.test.n_samples)

    @property
    def precision(self) -> float:
        """Hits divided by k."""
        return self.hits / self.k

    @property
    def enrichment(self) -> float:
        """Hits divided by the expected number of hits."""
        return self.hits / self.expected_hits if self.expected_hits > 0.0 else math.nan

    def _sentences(self) -> Iterable[str]:
        return self.test._sentences()


def _mixed_block(ranking: Ranking, cut: int) -> tuple[int, int] | None:
    """First and last rank of a block with positives and negatives that contains the cut-off."""
    ends = np.cumsum(ranking.tie_sizes)
    block = int(np.searchsorted(ends, cut))
    last, size = int(ends[block]), int(ranking.tie_sizes[block])
    return (last - size + 1, last) if last > cut and 0 < ranking.hits[block] < size else None


@dataclass(frozen=True, eq=False, repr=False)
class RankerReport(Result):
    """The results of one ranking.

    Attributes
    ----------
    name : str
        Name of the ranking.
    test : MetricTestResult
        The test of the metric. If items of one cluster have different labels, its method is
        ``"none"``, and its p-value and z-score are nan.
    interval : MetricIntervalResult or None
        The interval of the metric; None if there is none.
    at_k : tuple of HitsReport
        Hits at each k.
    curve : TopKSignificanceCurve or None
        The hits for every k, compared with chance; None if it was not computed. It is
        left out of ``to_dict()``.
    minimum_hypergeometric : MinimumHypergeometricTestResult or None
        A single test for all k; None if it was not computed.
    metrics : tuple of MetricTestResult
        The tests of other metrics, which the command line adds.
    in_population : MetricIntervalResult or None
        The interval of the metric at the prevalence of a population, if one was given.
    cutoff : OptimalCutoffResult or None
        The cut-off with the largest net benefit, if `value` and `cost` were given.
    lower_is_better : bool
        Whether the command line negated the scores, because smaller ones mean positives.
    is_tested : bool
        Whether the ranking was tested against chance.
    pvalue_less : float
        P-value of the opposite alternative: the probability of a value this low or lower.
    significant_k : list of (int, int) or None
        First and last k of every run of k with more hits than chance, at the level alpha
        simultaneously over all k; None if the runs were not computed.
    """

    name: str
    test: MetricTestResult = field(repr=False)
    interval: MetricIntervalResult | None = field(default=None, repr=False)
    at_k: tuple[HitsReport, ...] = field(default=(), repr=False)
    curve: TopKSignificanceCurve | None = field(default=None, repr=False)
    minimum_hypergeometric: MinimumHypergeometricTestResult | None = field(default=None, repr=False)
    metrics: tuple[MetricTestResult, ...] = field(default=(), repr=False)
    in_population: MetricIntervalResult | None = field(default=None, repr=False)
    cutoff: Any = field(default=None, repr=False)
    lower_is_better: bool = False

    @property
    def is_tested(self) -> bool:
        """Whether the ranking was tested against chance."""
        return self.test.method != "none"

    @property
    def pvalue_less(self) -> float:
        """P-value of the alternative that the ranking is worse than chance."""
        return pvalue_less(self.test) if self.is_tested else math.nan

    @property
    def significant_k(self) -> list[tuple[int, int]] | None:
        """Runs of k with more hits than chance, simultaneously over all k."""
        return None if self.curve is None else self.curve.crossovers_simultaneous[0]

    def _sentences(self) -> Iterable[str]:
        yield from self._of_sample()
        for found in (self.in_population, self.cutoff):
            if found is not None:
                yield from found._sentences()

    def _of_sample(self) -> Iterable[str]:
        value, own = format_value(self.test.statistic), self.interval
        if not self.is_tested:
            return [f"{self.test.metric.title} was {value}."] if own is None else own._sentences()
        text = self.test.summary()
        if own is None:
            return [text]
        interval = state_interval(own.low, own.high, own.confidence_level)
        return [text.replace(f"was {value} (chance", f"was {value} ({interval}; chance", 1)]


def pvalue_less(result: MetricTestResult) -> float:
    """Return the p-value of the alternative that the ranking is worse than chance."""
    return float(result.null_distribution.pvalue(result.statistic, "less"))


def is_worse(result: MetricTestResult, alpha: float) -> bool:
    """Whether a ranking is significantly worse than chance."""
    return bool(result.zscore < 0.0 and pvalue_less(result) <= alpha)


class ReportCheck(NamedTuple):
    """A finding of a check of a report.

    Attributes
    ----------
    code : str
        Name of the check, which does not change between versions.
    ranker : str or None
        The ranking concerned; None if the finding concerns the labels or all rankings together.
    message : str
        The finding.
    remedy : str
        The suggested remedy.
    url : str
        Page of the documentation that describes the check.
    """

    code: str
    ranker: str | None
    message: str
    remedy: str
    url: str
