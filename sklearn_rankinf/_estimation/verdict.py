"""Verdicts on a difference: whether its interval shows that a ranker meets a requirement."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sklearn_rankinf._ranking import check_option, check_positive
from sklearn_rankinf._results import ConfidenceInterval, Result, format_value, state_interval


@dataclass(frozen=True)
class _Requirement:
    """Differences between bounds, in units of the margin, and the sentence for each outcome.

    The sentences have placeholders for both names and for the words about the margin.
    """

    lowest: float
    highest: float
    sentences: dict[str, str]
    needs_margin: bool = True

    def bounds(self, margin: float) -> tuple[float, float]:
        # The product of an infinite bound and a margin of 0 is undefined.
        high = math.inf if math.isinf(self.highest) else self.highest * margin
        return self.lowest * margin, high


_REQUIREMENTS = {
    "not_worse": _Requirement(
        -1.0,
        math.inf,
        {
            "pass": "{name} is not worse than {other} by {margin:g} or more",
            "fail": "{name} is worse than {other} by {margin:g} or more",
            "inconclusive": "{name} may be worse than {other} by {margin:g} or more, or not",
        },
    ),
    "better": _Requirement(
        1.0,
        math.inf,
        {
            "pass": "{name} is better than {other}{by}",
            "fail": "{name} is not better than {other}{by}",
            "inconclusive": "{name} may be better than {other}{by}, or not",
        },
        needs_margin=False,
    ),
    "equivalent": _Requirement(
        -1.0,
        1.0,
        {
            "pass": "{name} and {other} differ by less than {margin:g}",
            "fail": "{name} and {other} differ by {margin:g} or more",
            "inconclusive": "{name} and {other} may differ by {margin:g} or more, or not",
        },
    ),
}


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonVerdict(Result):
    """Verdict of a comparison of two rankers.

    Attributes
    ----------
    outcome : {"pass", "fail", "inconclusive"}
        Whether all differences in the confidence interval meet the requirement, none of them, or
        some of them.
    require : {"not_worse", "better", "equivalent"}
        The requirement.
    margin : float
        Margin of the requirement, in units of the metric.
    candidate, reference : object
        Name of the ranker of which something is required, and of the other one.
    difference : float
        Value of the ranker minus that of the reference.
    low, high : float
        Confidence limits of the difference.
    confidence_level : float
        Nominal coverage of the interval.
    n_needed : int or None
        Number of positives, items or queries that would make an inconclusive verdict conclusive
        if the difference remained the same, for an interval whose width is inversely proportional
        to the square root of this number; None for other verdicts, and without a standard error.
    unit : {"positives", "queries", "items"}
        What is counted by `n_needed` and `n_units`; items at another prevalence, and of averages
        over classes, with the same shares of positives.
    n_units : int
        Their number in the comparison.

    See Also
    --------
    metric_comparison_test : The test whose result has the method ``verdict``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import metric_comparison_test
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(400) < 40
    >>> old = rng.normal(size=400) + 1.5 * y_true
    >>> result = metric_comparison_test(
    ...     y_true, {"new": old + 0.1 * rng.normal(size=400), "old": old}, n_resamples=99
    ... )
    >>> result.verdict(margin=0.1).outcome
    'pass'
    """

    outcome: str
    require: str
    margin: float
    candidate: Any
    reference: Any
    difference: float
    low: float = field(repr=False)
    high: float = field(repr=False)
    confidence_level: float = field(repr=False)
    n_needed: int | None
    unit: str = field(repr=False)
    n_units: int = field(repr=False)

    def _sentences(self) -> Iterable[str]:
        stated = (
            _REQUIREMENTS[self.require]
            .sentences[self.outcome]
            .format(
                name=self.candidate,
                other=self.reference,
                margin=self.margin,
                by=f" by more than {self.margin:g}" if self.margin else "",
            )
        )
        limits = "no interval"
        if not math.isnan(self.low):
            limits = state_interval(self.low, self.high, self.confidence_level)
        yield (
            f"{self.outcome.capitalize()}: {stated} (difference {format_value(self.difference)}, "
            f"{limits})."
        )
        if self.n_needed is not None:
            yield (
                f"If the difference remained the same, about {self.n_needed} {self.unit} instead "
                f"of {self.n_units} would make it conclusive."
            )


def verdict_on(
    candidate: Any,
    reference: Any,
    difference: float,
    limits: ConfidenceInterval,
    confidence_level: float,
    *,
    require: str,
    margin: float | None,
    n_units: int,
    unit: str,
    is_scaled: bool = True,
) -> ComparisonVerdict:
    """Verdict on the ranker by the limits of its difference from the reference.

    The number of units that are needed is known if the interval is scaled by a standard error.
    """
    rule = _REQUIREMENTS[check_option(require, "require", _REQUIREMENTS)]
    if margin is None and rule.needs_margin:
        raise ValueError(
            f"require={require!r} needs a margin: pass the smallest difference, in units of the "
            "metric, that matters."
        )
    if rule.needs_margin or margin:
        margin = check_positive(margin, "margin")
    else:
        margin = 0.0
    low, high = limits
    lowest, highest = rule.bounds(margin)
    outcome = "inconclusive"
    if low > lowest and high < highest:
        outcome = "pass"
    elif high <= lowest or low >= highest:
        outcome = "fail"
    factor = math.nan
    if outcome == "inconclusive" and is_scaled:
        factor = _factor_of_units(difference, low, high, lowest, highest)
    return ComparisonVerdict(
        outcome=outcome,
        require=require,
        margin=margin,
        candidate=candidate,
        reference=reference,
        difference=difference,
        low=low,
        high=high,
        confidence_level=confidence_level,
        n_needed=math.ceil(n_units * factor) if math.isfinite(factor) else None,
        unit=unit,
        n_units=n_units,
    )


def _factor_of_units(
    difference: float, low: float, high: float, lowest: float, highest: float
) -> float:
    """How many times as many units make the interval end at a bound; nan if none do."""
    below, above = difference - low, high - difference
    if lowest < difference < highest:
        ratio = max(below / (difference - lowest), above / (highest - difference))
    elif difference < lowest:
        ratio = above / (lowest - difference)
    elif difference > highest:
        ratio = below / (difference - highest)
    else:
        return math.nan
    return ratio**2
