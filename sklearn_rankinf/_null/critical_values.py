"""Critical values of tests: the smallest value of a metric that is significant."""

from __future__ import annotations

import math
from typing import NamedTuple

from sklearn_rankinf._null.distribution import (
    NullDistribution,
    pvalue_log_and_error,
    rounding_of,
    tolerating,
)

# Levels whose relative difference is at most this count as equal.
_SAME = 1e-12
# Relative distances below the level of the last value that is not significant at which the critical
# value is searched.
_MARGINS = (1e-9, 1e-7, 1e-5)
# Precision of a critical value in standard deviations, and relative distance of a level from alpha
# that is accepted without a further search if values are dense.
_PRECISION, _CONTINUOUS = 1e-9, 1e-6
# Relative error of a p-value that is compared with alpha first: it takes less time, and decides
# unless alpha is within the error.
_ROUGH = 0.02


class Region(NamedTuple):
    """The smallest significant value, nan if there is none, and its probability by chance.

    Where the null distribution only has a guaranteed upper bound of the probability, both are those
    of the bound, so that the test keeps its level. Values from `edge` on, which allows for
    rounding, are significant.
    """

    critical_value: float
    level: float
    edge: float


NOTHING = Region(math.nan, 0.0, math.inf)


def critical_region(null: NullDistribution, alpha: float) -> Region:
    """Critical region of a test, from a quantile of its null distribution and the next value."""
    n, m, statistic = null.n_samples, null.n_positives, null.statistic
    best = float(statistic.maximum(n, m))
    below = float(null.isf(alpha))
    span = statistic.span(n, m)
    if span > 0.0 and not null._is_listed:
        value, level = _next_multiple(null, below, alpha, best, span, statistic.offset(n, m))
    else:
        value, level = _next_above(null, below, alpha, best)
    if not level > 0.0:
        return NOTHING
    return Region(value, level, value - _SAME * abs(value) - rounding_of(statistic, n, m))


def significance(null: NullDistribution, value: float, alpha: float) -> tuple[bool, float]:
    """Whether a value is in the critical region, and the log of its p-value, which may be rough."""
    n, m, statistic = null.n_samples, null.n_positives, null.statistic
    above = value + _SAME * abs(value) + rounding_of(statistic, n, m)
    above = min(above, float(statistic.maximum(n, m)))
    allowed = _allowed(alpha)
    if null.method == "analytic":
        p, log_p, error = pvalue_log_and_error(tolerating(null, _ROUGH), above, "greater")
        if p * (1.0 + error) < allowed or p * (1.0 - error) > allowed:
            return p <= allowed, log_p
    p, log_p, _ = pvalue_log_and_error(null, above, "greater")
    return p <= allowed, log_p


def _allowed(alpha: float) -> float:
    """Largest significant p-value: alpha up to rounding, but less than 1."""
    return min(alpha * (1.0 + _SAME), 1.0 - 2.0**-53)


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
