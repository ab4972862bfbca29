"""Sums of independent variables with few values each: large atoms apart, small ones in intervals.

The mean over queries that score nothing outside a short list has large atoms, those of few queries
that find anything, among the dust of many that do. Its characteristic function never decays, and
cells of a lattice cannot tell the atom at the observed value from its neighbours. Here every atom
of the sums over one half of the variables is listed as long as it is heavy; light ones are merged
into intervals that hold all their values. With the other half listed likewise (meet in the middle)
a tail lies between the sums that surely and those that possibly reach a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklearn_rankinf._engine.statistics import Floats

# Atoms and intervals of one half, and sums that are formed at once.
_MOST, _MOST_AT_ONCE, _LEAST_KEPT = 40_000, 2_000_000, 2_000
# Atoms and intervals of one variable.
_MOST_OF_A_VARIABLE = 2_000
# More variables make a sum of which no atom is heavy.
MOST_VARIABLES = 200
# Values that differ by less than this part of the largest are the same.
_SAME = 1e-14
# Rounding errors of probabilities, relative to all.
_ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class _Intervals:
    """Probabilities of intervals that hold one or more values, ascending."""

    low: Floats
    high: Floats
    mass: Floats

    def plus(self, other: _Intervals) -> _Intervals:
        """The sum with an independent variable."""
        own = self.reduced_to(max(_MOST_AT_ONCE // other.low.size, _LEAST_KEPT))
        low = np.add.outer(own.low, other.low).ravel()
        high = np.add.outer(own.high, other.high).ravel()
        mass = np.multiply.outer(own.mass, other.mass).ravel()
        return _Intervals(*_merged(low, high, mass)).reduced_to(_MOST)

    def reduced_to(self, most: int) -> _Intervals:
        """The heavier half as it is, and all others merged with what is near them."""
        if self.low.size <= most:
            return self
        by_mass = np.argpartition(self.mass, -(most // 2))
        heavy, light = np.sort(by_mass[-(most // 2) :]), np.sort(by_mass[: -(most // 2)])
        width = (self.low[light[-1]] - self.low[light[0]]) / (most // 2)
        if width <= 0.0:
            return self
        bins = ((self.low[light] - self.low[light[0]]) / width).astype(np.int64)
        first = np.flatnonzero(np.diff(bins, prepend=-1))
        low = np.concatenate([self.low[heavy], self.low[light][first]])
        high = np.concatenate([self.high[heavy], np.maximum.reduceat(self.high[light], first)])
        mass = np.concatenate([self.mass[heavy], np.add.reduceat(self.mass[light], first)])
        order = np.argsort(low, kind="stable")
        return _Intervals(low[order], high[order], mass[order])


class SumsOfAtoms:
    """Tails of a sum of independent variables, between guaranteed bounds.

    Parameters
    ----------
    parts : sequence of tuple
        Values and probabilities of a variable, and how many variables have that distribution.
    """

    def __init__(self, parts: Sequence[tuple[Floats, Floats, int]]) -> None:
        nothing = _Intervals(np.zeros(1), np.zeros(1), np.ones(1))
        self._first, second = nothing, nothing
        for values, masses, count in parts:
            variable = _Intervals(*_merged(values, values, masses)).reduced_to(_MOST_OF_A_VARIABLE)
            for _ in range(count):
                # In turn, so that each half is the sum of every other variable.
                self._first, second = second.plus(variable), self._first
        by_high = np.argsort(second.high, kind="stable")
        self._lows = second.low, second.mass
        self._highs = second.high[by_high], second.mass[by_high]

    def bounds(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Bounds of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1)."""
        lower, upper = np.empty(t.shape), np.empty(t.shape)
        inner, outer = (self._lows, self._highs) if sign > 0 else (self._highs, self._lows)
        own = self._first
        for i, value in enumerate(t.tolist()):
            lower[i] = _paired(value - (own.low if sign > 0 else own.high), own.mass, *inner, sign)
            upper[i] = _paired(value - (own.high if sign > 0 else own.low), own.mass, *outer, sign)
        return np.maximum(lower - _ROUNDING, 0.0), np.minimum(upper + _ROUNDING, 1.0)


def _paired(rest: Floats, masses: Floats, ends: Floats, of_ends: Floats, sign: int) -> float:
    """Probability that an end reaches, or does not exceed, what the first half leaves."""
    if sign > 0:
        tails = np.append(np.cumsum(of_ends[::-1])[::-1], 0.0)
        return float(masses @ tails[np.searchsorted(ends, rest, side="left")])
    tails = np.concatenate([[0.0], np.cumsum(of_ends)])
    return float(masses @ tails[np.searchsorted(ends, rest, side="right")])


def _merged(low: Floats, high: Floats, mass: Floats) -> tuple[Floats, Floats, Floats]:
    """Ascending intervals; those that begin alike up to rounding are one."""
    order = np.argsort(low, kind="stable")
    low, high, mass = low[order], high[order], mass[order]
    first = np.flatnonzero(np.diff(low, prepend=-np.inf) > _SAME * high[-1])
    return low[first], np.maximum.reduceat(high, first), np.add.reduceat(mass, first)
