"""Bounds of tails of sums of independent variables with few values each (meet in the middle).

The mean over queries that score nothing outside a short list has large atoms, from samples in which
few queries find anything, among many small ones. Its characteristic function does not decay, and
the cells of a lattice cannot separate the atom at the observed value from its neighbours. Here the
heavy atoms of the sum over each half of the variables are listed, and light ones are merged into
intervals that contain all their values (Horowitz and Sahni 1974 for the two halves). A tail lies
between the probabilities that the interval ends certainly and possibly reach a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sklearn_rankinf._statistics import Floats

# Most atoms and intervals of one half.
_MOST = 40_000
# Most sums that are formed at once; the half is reduced for it, but not below the least.
_MOST_AT_ONCE = 2_000_000
_LEAST_KEPT = 2_000
# Most atoms and intervals of one variable, of more than two.
_MOST_OF_A_VARIABLE = 2_000
# With more variables no atom of the sum is heavy.
MOST_VARIABLES = 200
# Values closer than this part of the largest are equal.
_SAME = 1e-14
# Margin for rounding errors of probabilities.
_ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class _Intervals:
    """Probabilities of intervals that contain one or more values, in ascending order."""

    low: Floats
    high: Floats
    mass: Floats

    def plus(self, other: _Intervals) -> _Intervals:
        """The sum with an independent variable."""
        kept = self.reduced_to(max(_MOST_AT_ONCE // other.low.size, _LEAST_KEPT))
        low = np.add.outer(kept.low, other.low).ravel()
        high = np.add.outer(kept.high, other.high).ravel()
        mass = np.multiply.outer(kept.mass, other.mass).ravel()
        return _Intervals(*_merged(low, high, mass)).reduced_to(_MOST)

    def reduced_to(self, most: int) -> _Intervals:
        """The heavier half unchanged, and the others merged with their neighbours."""
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
        Values and probabilities of a variable, and the number of variables with this distribution.
    """

    def __init__(self, parts: Sequence[tuple[Floats, Floats, int]]) -> None:
        self._first = second = _Intervals(np.zeros(1), np.zeros(1), np.ones(1))
        are_two = sum(count for *_, count in parts) <= 2
        most = _MOST if are_two else _MOST_OF_A_VARIABLE
        for values, masses, count in parts:
            variable = _Intervals(*_merged(values, values, masses)).reduced_to(most)
            for _ in range(count):
                # Alternately, so that each half is the sum of every second variable.
                self._first, second = second.plus(variable), self._first
        by_high = np.argsort(second.high, kind="stable")
        self._lows = second.low, second.mass
        self._highs = second.high[by_high], second.mass[by_high]

    def bounds(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Bounds of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1)."""
        lower, upper = np.empty(t.shape), np.empty(t.shape)
        certain, possible = self._first.low, self._first.high
        inner, outer = self._lows, self._highs
        if sign < 0:
            certain, possible, inner, outer = possible, certain, outer, inner
        mass = self._first.mass
        for i, value in enumerate(t.tolist()):
            lower[i] = _paired(value - certain, mass, *inner, sign)
            upper[i] = _paired(value - possible, mass, *outer, sign)
        return np.maximum(lower - _ROUNDING, 0.0), np.minimum(upper + _ROUNDING, 1.0)


def _paired(rest: Floats, masses: Floats, ends: Floats, of_ends: Floats, sign: int) -> float:
    """Probability that an end of the second half is at least (most) the rest of the first half."""
    if sign > 0:
        tails = np.append(np.cumsum(of_ends[::-1])[::-1], 0.0)
        return float(masses @ tails[np.searchsorted(ends, rest, side="left")])
    tails = np.concatenate([[0.0], np.cumsum(of_ends)])
    return float(masses @ tails[np.searchsorted(ends, rest, side="right")])


def _merged(low: Floats, high: Floats, mass: Floats) -> tuple[Floats, Floats, Floats]:
    """Ascending intervals; those with equal beginnings, up to rounding, are merged."""
    order = np.argsort(low, kind="stable")
    low, high, mass = low[order], high[order], mass[order]
    first = np.flatnonzero(np.diff(low, prepend=-np.inf) > _SAME * high[-1])
    return low[first], np.maximum.reduceat(high, first), np.add.reduceat(mass, first)
