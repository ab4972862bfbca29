"""What a report holds: the results of all rankings, their comparison, and a table of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sklearn_rankinf._estimation import (
    MetricComparisonTestResult,
    MetricMultipleComparisonTestResult,
)
from sklearn_rankinf._report.numbers import RankerReport, ReportCheck
from sklearn_rankinf._results import plain_value
from sklearn_rankinf._statistics import Metric, log10_of

# Columns of the table with one row for each ranking.
_OF_TEST = (
    *("n_samples", "n_positives", "statistic", "chance", "adjusted_statistic", "zscore", "pvalue"),
    *("log10_pvalue", "pvalue_relative_error", "pvalue_low", "pvalue_high", "pvalue_is_bound"),
    "method",
)
_OF_INTERVAL = ("low", "high", "standard_error")
_OF_CUTOFF = ("k", "net_benefit", "low", "high", "k_low", "k_high")
_OF_HITS = ("hits", "expected_hits", "hits_needed", "enrichment")
_OF_RANK = ("rank_low", "rank_high", "letters")
_OF_DIFFERENCE = ("difference", "low", "high", "pvalue", "may_be_best")


class ComparisonReport(NamedTuple):
    """The difference of two rankings.

    Attributes
    ----------
    ranker, reference : str
        The rankings; in a report the second one is the best of all.
    difference : float
        Value of the metric for the first ranking minus that for the second.
    low, high : float
        Confidence limits of the difference, simultaneous with more than two rankings.
    pvalue : float
        Two-sided p-value, adjusted for the number of pairs with more than two rankings.
    pvalue_is_bound : bool
        Whether the p-value is the smallest possible one for the number of random swaps.
    may_be_best : bool
        Whether the first ranking may be the best one. With two rankings: whether p is above alpha.
        With more rankings: whether it is in the set of rankers that may be best according to
        :func:`~sklearn_rankinf.metric_multiple_comparison_test`.
    """

    ranker: str
    reference: str
    difference: float
    low: float
    high: float
    pvalue: float
    pvalue_is_bound: bool
    may_be_best: bool

    @property
    def log10_pvalue(self) -> float:
        """Logarithm of the p-value to base 10."""
        return log10_of(self.pvalue)


def difference_of_two(
    names: tuple[str, str], found: MetricComparisonTestResult, alpha: float
) -> ComparisonReport:
    """The difference of two rankings from the result of a comparison test."""
    low, high = found.confidence_interval(1.0 - alpha)
    pvalue = found.pvalue
    return ComparisonReport(
        *names, found.difference, low, high, pvalue, found.pvalue_is_bound, pvalue > alpha
    )


def differences_of_pairs(
    found: MetricMultipleComparisonTestResult,
) -> tuple[ComparisonReport, ...]:
    """The differences of all pairs from the result of a multiple comparison test."""
    names = list(map(str, found.names))
    return tuple(
        ComparisonReport(
            names[one],
            names[other],
            float(found.difference[pair]),
            float(found.low[pair]),
            float(found.high[pair]),
            float(found.pvalue[pair]),
            pvalue_is_bound=False,
            may_be_best=bool(found.may_be_best[one]),
        )
        for pair, (one, other) in enumerate(found.pairs.tolist())
    )


@dataclass(frozen=True, eq=False, repr=False)
class Findings:
    """What a report holds; see `RankSignificanceReport`, which also writes it."""

    metric: Metric
    alpha: float
    n_samples: int
    n_positives: int
    n_clusters: int | None
    rankers: tuple[RankerReport, ...] = field(repr=False)
    checks: tuple[ReportCheck, ...] = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)
    # The cut-off of the metric as it was given, possibly as a fraction of the items.
    _given_k: float | None
    comparison: MetricComparisonTestResult | MetricMultipleComparisonTestResult | None = field(
        default=None, repr=False
    )
    differences: tuple[ComparisonReport, ...] = field(default=(), repr=False)
    comparison_method: str | None = field(default=None, repr=False)

    @property
    def prevalence(self) -> float:
        """Proportion of positives among the items."""
        return self.n_positives / self.n_samples

    @property
    def best(self) -> str | None:
        """Name of the ranking with the largest value of the metric; None for a single ranking."""
        if self._is_single:
            return None
        return self.rankers[int(np.argmax([one.test.statistic for one in self.rankers]))].name

    @property
    def _is_single(self) -> bool:
        return len(self.rankers) == 1

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
        others = {
            "in_population": (ranker.in_population, ("statistic", *_OF_INTERVAL)),
            "of_cutoff": (ranker.cutoff, _OF_CUTOFF),
        }
        for place, (result, names) in others.items():
            if result is not None:
                row |= {f"{name}_{place}": of for name, of in _given(result, names).items()}
        if not self._is_single:
            own = next((one for one in self.differences if one.ranker == ranker.name), None)
            compared = _given(own, _OF_DIFFERENCE)
            row |= {f"comparison_{name}": value for name, value in compared.items()}
            if isinstance(self.comparison, MetricMultipleComparisonTestResult):
                index = self.comparison.names.index(ranker.name)
                for name in _OF_RANK:
                    row[f"comparison_{name}"] = plain_value(getattr(self.comparison, name)[index])
        codes = [check.code for check in self.checks if check.ranker in (None, ranker.name)]
        return row | {"lower_is_better": ranker.lower_is_better, "checks": ", ".join(codes)}


def _given(result: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return some numbers of a result, or None for each of them without a result."""
    return {name: getattr(result, name, None) for name in names}
