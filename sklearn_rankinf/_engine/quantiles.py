"""Quantiles of a distribution whose tails are computed one by one, by a bracketing root finder."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sklearn_rankinf._engine.listed import Distribution
from sklearn_rankinf._statistics import Floats, Integers

# A quantile is known if its bracket is this part of its size and the standard deviation.
_SAME_QUANTILE = 1e-13
# Or if the logs of the tails at the ends of the bracket differ by this part of the stated error.
_SAME_TAIL = 1e-3
# Steps of the root finder, at most.
_MOST_STEPS = 64
# The first step from the quantile of a normal distribution, in standard deviations.
_FIRST_STEP = 0.25


def is_reached(distribution: Distribution, v: Floats, q: Floats, sign: int) -> NDArray[np.bool_]:
    """Whether ``P(S <= v) >= q`` (sign -1) or ``P(S >= v) <= q`` (sign 1)."""
    return _excess(distribution, v, q, sign)[0] >= 0.0


def _excess(distribution: Distribution, v: Floats, q: Floats, sign: int) -> tuple[Floats, Floats]:
    """``log P(S <= v) - log q`` (sign -1), ``log q - log P(S >= v)`` (sign 1), and its error."""
    _, log_p, error = distribution.tail(v, sign)
    with np.errstate(divide="ignore"):
        # Where both are 0 the value is reached.
        excess = np.where(log_p == np.log(q), 0.0, -sign * (log_p - np.log(q)))
    return excess, error


def bracketed(
    distribution: Distribution,
    q: Floats,
    sign: int,
    mean: float,
    std: float,
    ends: tuple[float, float],
) -> Floats:
    """Quantiles between two ends, by the safeguarded secants of ITP (Oliveira and Takahashi, 2021).

    Bracketed from those of a normal distribution outwards, so that no more of the tails is computed
    than is needed. A bracket is narrow enough where its ends, or the logs of their tails beside the
    stated error, are alike.
    """
    lowest, highest = ends
    low, high = np.full(q.shape, lowest), np.full(q.shape, highest)
    # By how much the tail at either end misses and exceeds the quantile; unknown at first.
    misses, exceeds = np.full(q.shape, -np.inf), np.full(q.shape, np.inf)
    error = np.zeros(q.shape)

    def look(v: Floats, at: Integers) -> None:
        excess, error[at] = _excess(distribution, v, q[at], sign)
        reached = excess >= 0.0
        above, below = at[reached], at[~reached]
        high[above], exceeds[above] = v[reached], excess[reached]
        low[below], misses[below] = v[~reached], excess[~reached]

    guess = mean - sign * std * ndtri(q)
    guess = np.where((lowest < guess) & (guess < highest), guess, mean)
    look(guess, np.arange(q.size))
    reach = _FIRST_STEP * std
    while True:
        v = np.where(np.isinf(misses), guess - reach, guess + reach)
        lacking = (np.isinf(misses) | np.isinf(exceeds)) & (low < v) & (v < high)
        if not lacking.any():
            break
        look(v[lacking], np.flatnonzero(lacking))
        reach *= 2.0
    same = _SAME_QUANTILE * (np.maximum(np.abs(low), np.abs(high)) + std)
    width = np.maximum(high - low, same)
    n_halvings = np.log2(width / same)
    for step in range(_MOST_STEPS):
        alike = exceeds - misses <= _SAME_TAIL * np.minimum(error, 1.0)
        open_ = np.flatnonzero((high - low > same) & ~alike)
        if not open_.size:
            break
        a, b = low[open_], high[open_]
        middle, half = 0.5 * (a + b), 0.5 * (b - a)
        known = np.isfinite(misses[open_]) & np.isfinite(exceeds[open_])
        rise = np.where(known, exceeds[open_] - misses[open_], 1.0)
        secant = np.where(known, a - (b - a) * misses[open_] / rise, middle)
        # Towards the middle, so that both ends move; never so far from it that more than one step
        # is lost against bisection.
        side = np.sign(middle - secant)
        off = np.maximum(np.abs(middle - secant) - 0.2 * (b - a) ** 2 / std, 0.0)
        allowed = 0.5 * same[open_] * np.exp2(n_halvings[open_] + 1.0 - step) - half
        look(middle - side * np.minimum(off, np.maximum(allowed, 0.0)), open_)
    return high
