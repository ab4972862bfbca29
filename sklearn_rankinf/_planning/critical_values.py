"""Critical values of tests: the smallest value of a metric that is significant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from sklearn_rankinf._null.distribution import NullDistribution
from sklearn_rankinf._null.metrics import frozen_null_distribution
from sklearn_rankinf._null.ranks import rounding_of
from sklearn_rankinf._statistics.additive import HitsAtK, Metric, Statistic
from sklearn_rankinf._statistics.first_hit import FirstHitStatistic
from sklearn_rankinf._statistics.hypergeometric import log_tail, min_hits

# Levels whose relative difference is at most this count as equal.
_SAME = 1e-12
# Relative distances below the level of the last value that is not significant at which the critical
# value is searched.
_MARGINS = (1e-9, 1e-7, 1e-5)
# Precision of a critical value in standard deviations, and relative distance of a level from alpha
# that is accepted without a further search if values are dense.
_PRECISION, _CONTINUOUS = 1e-9, 1e-6


@dataclass(frozen=True, eq=False)
class Region:
    """Region of values of a metric that are significant.

    Attributes
    ----------
    critical_value, level : float
        Smallest significant value, nan if there is none, and its probability by chance. Where the
        null distribution only has a guaranteed upper bound of the probability, both are those of
        the bound, so that the test keeps its level.
    event : tuple of int or None
        Number of hits h and cut-off k such that at least h hits among the first k samples are the
        same event; None if there is no such event.
    edge : float
        Lower limit of the significant values, which allows for rounding of the critical value.
    """

    critical_value: float
    level: float
    event: tuple[int, int] | None = None
    edge: float = math.inf


def critical_region(
    metric: Metric, n: int, m: int, alpha: float, *, method: str, random_state: Any
) -> Region:
    """Critical region of the test of a metric with n samples, m of them positive.

    `method` applies to the null distributions of metrics that are more than a number of hits.
    """
    if m in (0, n):
        return Region(math.nan, 0.0)
    if isinstance(metric, HitsAtK):
        h = int(min_hits(alpha, n, m, metric.k))
        if h > min(m, metric.k):
            return Region(math.nan, 0.0)
        return _region_of_hits(h / float(metric.divided_by(n, m)), n, m, h, int(metric.k))
    if isinstance(metric, FirstHitStatistic):
        rank = _last_significant_rank(n, m, alpha)
        return _region_of_hits(1.0 / rank, n, m, 1, rank) if rank else Region(math.nan, 0.0)
    assert isinstance(metric, Statistic)
    null = frozen_null_distribution(metric, n, m, method=method, random_state=random_state)
    return _region_of_distribution(metric, null, alpha)


def is_significant(
    value: float, metric: Statistic, n: int, m: int, alpha: float, *, method: str, random_state: Any
) -> bool:
    """Whether a value is in the critical region, for one evaluation of the null distribution."""
    if m in (0, n):
        return False
    null = frozen_null_distribution(metric, n, m, method=method, random_state=random_state)
    above = value + _SAME * abs(value) + rounding_of(metric, n, m)
    return bool(null.pvalue(min(above, float(metric.maximum(n, m)))) <= _allowed(alpha))


def _region_of_hits(value: float, n: int, m: int, h: int, k: int) -> Region:
    """Region of the values that mean at least h hits among the first k samples."""
    level = float(np.exp(log_tail(h, n, m, k)))
    return Region(value, level, (h, k), value * (1.0 - _SAME))


def _region_of_distribution(metric: Statistic, null: NullDistribution, alpha: float) -> Region:
    """Region from the quantile of a null distribution and the next larger value."""
    n, m = null.n_samples, null.n_positives
    best = float(metric.maximum(n, m))
    below = _last_below(null, alpha, best)
    span = metric.span(n, m)
    if span > 0.0 and not null._is_listed:
        value, level = _next_multiple(null, below, alpha, best, span, metric.offset(n, m))
    else:
        value, level = _next_above(null, below, alpha, best)
    if not level > 0.0:
        return Region(math.nan, 0.0)
    return Region(value, level, None, value - _SAME * abs(value) - rounding_of(metric, n, m))


def _allowed(alpha: float) -> float:
    """Largest significant p-value: alpha up to rounding, but less than 1."""
    return min(alpha * (1.0 + _SAME), 1.0 - 2.0**-53)


def _last_below(null: NullDistribution, alpha: float, best: float) -> float:
    """Quantile that separates the values that are not significant from those that are."""
    if null._is_listed:
        return float(null.isf(alpha))
    # The quantile of a distribution that is not listed takes more evaluations.
    mean, deviation = null.mean(), null.std()

    def excess(x: float) -> float:
        return float(null.log_pvalue(min(x, best))) - math.log(alpha)

    low, high = mean - deviation, mean + deviation
    while excess(low) <= 0.0:
        low -= 2.0 * (mean - low)
    while excess(high) > 0.0:
        if high >= best:
            return best
        low, high = high, high + 2.0 * (high - mean)
    return float(brentq(excess, low, high, xtol=_PRECISION * deviation, rtol=1e-14))


def _next_multiple(
    null: NullDistribution, below: float, alpha: float, best: float, span: float, offset: float
) -> tuple[float, float]:
    """Like `_next_above` if values minus an offset are multiples of a span."""
    multiple = math.ceil((below - offset) / span) - 1
    while null.pvalue(value := min(multiple * span + offset, best)) > _allowed(alpha):
        if value >= best:
            return math.nan, 0.0
        multiple += 1
    return value, float(null.pvalue(value))


def _next_above(
    null: NullDistribution, below: float, alpha: float, best: float
) -> tuple[float, float]:
    """Smallest significant value and its level; the level is 0 if there is no such value."""
    if not null._is_listed:
        value = below
        while (level := float(null.pvalue(value))) > alpha:
            if value >= best:
                return math.nan, 0.0
            value = min(value + _PRECISION * null.std(), best)
        if level > alpha * (1.0 - _CONTINUOUS):
            return value, level
    else:
        level = float(null.sf(below))
    if not level > 0.0:
        return math.nan, 0.0
    for less in (*_MARGINS, 1.0):
        value = float(null.isf(level * (1.0 - less)))
        if null.pvalue(value) <= _allowed(alpha):
            break
    return value, float(null.pvalue(value))


def _last_significant_rank(n: int, m: int, alpha: float) -> int:
    """Last rank of the first positive that is significant; 0 if there is none."""
    low, high = 0, n - m + 1
    log_alpha = math.log(_allowed(alpha))
    while high - low > 1:
        middle = (low + high) // 2
        is_significant = float(log_tail(1, n, m, middle)) <= log_alpha
        low, high = (middle, high) if is_significant else (low, middle)
    return low
