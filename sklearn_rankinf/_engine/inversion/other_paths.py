"""Bounds of what lies outside of a window of paths, from all paths in cells of hits.

A window holds the numbers of hits up to each block, and in it, that a search has looked at. A path
outside of it makes a first step that leaves it. Of all paths with a step from one cell of numbers
of hits to another, two passes over all cells bound the weight, whatever the search has assumed:

* With y hits in a block of g items, ``log C(g, y)`` is concave in y, and below its tangents.
* The increment of a block is quadratic in the hits before and after it. Over two cells its distance
  from a tangent is at most that at their ends.
* The log of a sum of exponentials of linear functions is convex, and within a cell below the chord
  of its two ends: two numbers for each cell bound the weights of all paths to it, and from it.

In a tail each step has the best of some tilts (Chernoff's bound). Steps with next to nothing are
left out first, which lowers the bounds of the others. See "Band-limited bounds" in doc/theory.rst.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._engine.inversion.bands import Bands, feasible_bands, log_sum
from sklearn_rankinf._statistics import (
    Floats,
    Increments,
    Integers,
    binomial_log_weights,
    log_probability_of_hits,
)


@dataclass(frozen=True)
class CellSettings:
    """Settings of the cells."""

    # Cells of a window at first, about; and the width of one outside of it over its distance from
    # the middle.
    of_window: int = 12
    growth: float = 0.25
    # Pairs of cells times tilts that are affordable; and the number of times that steps are left
    # out, and cells divided.
    most_pairs: float = 3e6
    most_rounds: int = 8
    # Rounding errors of the logarithms.
    rounding: float = 1e-6


SETTINGS = CellSettings()


@np.errstate(divide="ignore", invalid="ignore")
def log_outside(
    increments: Increments,
    n_positives: int,
    tilts: Floats,
    t: float,
    window: Bands,
    log_enough: float,
) -> float:
    """Log of a bound of the tail from t on, of all paths outside of a window.

    Tilts that are positive or 0 bound the upper tail, others the lower one. With a single tilt and
    t = 0 it is a bound of the tilted total of these paths. Cells are divided until it is enough, or
    they are too many; it is infinite if they are too many at first.
    """
    cells = _Cells.around(increments, n_positives, window)
    constant = -log_probability_of_hits(increments.n_samples, n_positives) - tilts * t
    log_rest, log_bound = -math.inf, math.inf
    for _ in range(SETTINGS.most_rounds):
        n_pairs = sum(np.count_nonzero(each) for each in cells.steps)
        if tilts.size * sum(each.size for each in cells.steps) > SETTINGS.most_pairs:
            break
        steps = [
            _Step(increments, n_positives, block, tilts, cells, window)
            for block in range(window.low.size)
        ]
        bounds = _log_bounds_of_steps(steps, constant)
        leaving = [each[step.leaves] for each, step in zip(bounds, steps, strict=True)]
        log_bound = min(log_bound, float(np.logaddexp(log_rest, _log_total(leaving))))
        if log_bound <= log_enough or not n_pairs:
            break
        least = log_enough - math.log(SETTINGS.most_rounds * n_pairs)
        left_out = _log_total([each[each <= least] for each in bounds])
        log_rest = float(np.logaddexp(log_rest, left_out))
        cells = cells.divided([each > least for each in bounds])
    return log_bound + SETTINGS.rounding


def _log_total(logs: list[Floats]) -> float:
    return float(log_sum(np.concatenate([*map(np.ravel, logs), [-math.inf]])))


class _Cells(NamedTuple):
    """Fewest and most hits of the cells before the first block and after each block.

    And the steps from one cell to another that are not left out.
    """

    first: list[Integers]
    last: list[Integers]
    steps: list[NDArray[np.bool_]]

    @classmethod
    def around(cls, increments: Increments, n_positives: int, window: Bands) -> _Cells:
        """Cells of all numbers of hits, the wider the farther from the middle of a window."""
        feasible = feasible_bands(increments, n_positives)
        firsts, lasts = [np.zeros(1, dtype=np.int64)], [np.zeros(1, dtype=np.int64)]
        ends = (each.tolist() for each in (feasible.low, window.low, window.high, feasible.high))
        for lowest, low, high, highest in zip(*ends, strict=True):
            width = -(-(high - low + 1) // SETTINGS.of_window)
            distance = 0.5 * (high - low)
            below = low - np.cumsum(_outer_widths(low - lowest, distance, width))[::-1]
            above = _outer_widths(highest - high, distance, width)
            inner = np.arange(low, high + 1, width)
            first = np.concatenate([below, inner, high + 1 + np.cumsum(above) - above])
            firsts.append(np.maximum(first, lowest))
            lasts.append(np.append(firsts[-1][1:] - 1, highest))
        sizes = [each.size for each in firsts]
        steps = [np.ones(pair, dtype=bool) for pair in itertools.pairwise(sizes)]
        return cls(firsts, lasts, steps)

    def divided(self, steps: list[NDArray[np.bool_]]) -> _Cells:
        """The cells with steps that are not left out, each divided into two."""
        reached = [np.ones(1, dtype=bool), *(each.any(axis=0) for each in steps)]
        led_on = [*(each.any(axis=1) for each in steps), np.ones(1, dtype=bool)]
        firsts, lasts, parents = [], [], []
        for first, last, *alive in zip(self.first, self.last, reached, led_on, strict=True):
            kept = np.flatnonzero(alive[0] & alive[1])
            low, high = first[kept], last[kept]
            middle = (low + high) // 2
            has_two = np.repeat(high > low, 2)
            has_two[::2] = True
            firsts.append(np.column_stack([low, middle + 1]).ravel()[has_two])
            lasts.append(np.column_stack([middle, high]).ravel()[has_two])
            parents.append(np.repeat(kept, 2)[has_two])
        pairs = itertools.pairwise(parents)
        children = [each[np.ix_(*pair)] for each, pair in zip(steps, pairs, strict=True)]
        return _Cells(firsts, lasts, children)


def _outer_widths(n_hits: int, distance: float, width: int) -> Integers:
    """Widths of cells, from a window outwards, of so many numbers of hits or a few more."""
    widths: list[int] = []
    while n_hits > 0:
        widths.append(max(width, int(SETTINGS.growth * distance)))
        distance, n_hits = distance + widths[-1], n_hits - widths[-1]
    return np.array(widths, dtype=np.int64)


class _Step:
    """Steps through a block, from cells before it (rows) to cells after it (columns), by tilt.

    From the middle of one cell to that of the other the log weight is at most `log_weights`, and
    with so many hits more before and after the block it is at most larger by `of_before` and
    `of_after` times these. Tilts are the first axis.
    """

    def __init__(
        self,
        increments: Increments,
        n_positives: int,
        block: int,
        tilts: Floats,
        cells: _Cells,
        window: Bands,
    ) -> None:
        m, n, size = n_positives, increments.n_samples, int(increments.sizes[block])
        firsts, lasts = (each[block : block + 2] for each in cells[:2])
        self._widths = [last - first + 1.0 for first, last in zip(firsts, lasts, strict=True)]
        middles = [0.5 * (first + last) for first, last in zip(firsts, lasts, strict=True)]
        h, k = middles[0][:, None], middles[1]
        half_h, half_k = 0.5 * (self._widths[0][:, None] - 1.0), 0.5 * (self._widths[1] - 1.0)
        fewest, most = firsts[1] - lasts[0][:, None], lasts[1] - firsts[0][:, None]
        largest = min(size, m)
        possible = (most >= 0) & (fewest <= largest) & cells.steps[block]
        # Only the first step of a path out of the window counts.
        was_inside = np.ones(1, dtype=bool)
        if block:
            was_inside = (firsts[0] >= window.low[block - 1]) & (lasts[0] <= window.high[block - 1])
        leaves = (firsts[1] < window.low[block]) | (lasts[1] > window.high[block])
        leaves = leaves | (most > window.most[block]) | (fewest < window.least[block])
        self.leaves = possible & was_inside[:, None] & leaves
        # A slope between the differences on both sides of a number of hits.
        tangent = np.clip((fewest + most) // 2, 0, largest)
        slope = np.log((size - tangent + 0.5) / (tangent + 0.5)) + math.log(m / (n - m))
        y, theta = k - h, tilts[:, None, None]
        cross, linear, square = (float(each[block]) for each in increments.coefficients)
        self.of_before = theta * (cross * (y - h) - 2.0 * square * y - linear) - slope
        self.of_after = theta * (cross * h + 2.0 * square * y + linear) + slope
        logs = binomial_log_weights(size, largest, n, m)[tangent] + slope * (y - tangent)
        curved = np.maximum(theta * (square - cross), 0.0) * half_h**2
        curved = curved + np.maximum(theta * square, 0.0) * half_k**2
        curved = curved + np.abs(theta * (cross - 2.0 * square)) * half_h * half_k
        logs = logs + curved + theta * y * (cross * h + linear + square * y)
        self.log_weights = np.where(possible, logs, -np.inf)

    def forward(self, ends: NDArray[Any]) -> NDArray[Any]:
        """Log weights of paths to both ends of each cell after the block, given those before it."""
        middle, slope = _of_cells(ends, self._widths[0])
        logs = middle[:, :, None] + self.log_weights
        logs = logs + _log_sum_of_cell(slope[:, :, None] + self.of_before, self._widths[0][:, None])
        self._to, self._half = logs, 0.5 * (self._widths[1] - 1.0)
        moved = self.of_after * self._half
        return np.array([log_sum(np.swapaxes(logs + s * moved, 1, 2)) for s in (-1.0, 1.0)])

    def backward(self, ends: NDArray[Any]) -> NDArray[Any]:
        """Log weights of paths from both ends of each cell before the block, given those after it.

        And of the paths of each step.
        """
        middle, slope = _of_cells(ends, self._widths[1])
        from_ = middle[:, None] + _log_sum_of_cell(slope[:, None] + self.of_after, self._widths[1])
        self.log_paths = self._to + from_
        logs, moved = (
            from_ + self.log_weights,
            self.of_before * 0.5 * (self._widths[0] - 1.0)[:, None],
        )
        return np.array([log_sum(logs + s * moved) for s in (-1.0, 1.0)])


def _log_bounds_of_steps(steps: list[_Step], constant: Floats) -> list[Floats]:
    """Logs of the bounds of the paths of all steps, each with its best tilt."""
    start = ends = np.zeros((2, constant.size, 1))
    for step in steps:
        ends = step.forward(ends)
    ends = start
    for step in steps[::-1]:
        ends = step.backward(ends)
    return [(step.log_paths + constant[:, None, None]).min(axis=0) for step in steps]


def _of_cells(ends: NDArray[Any], widths: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The middle and the slope of the chord of each cell."""
    middle = 0.5 * (ends[0] + ends[1])
    slope = (ends[1] - ends[0]) / np.maximum(widths - 1.0, 1.0)
    return middle, np.where(np.isfinite(middle), slope, 0.0)


def _log_sum_of_cell(slope: NDArray[Any], width: NDArray[Any]) -> NDArray[Any]:
    """Log of the sum of ``exp(slope i)`` over a cell, with i from its middle."""
    # A sum grows with the size of the slope.
    steep = np.maximum(np.abs(slope), 1e-9)
    ends = np.log(np.expm1(-steep * width) / np.expm1(-steep))
    return np.asarray(0.5 * steep * (width - 1.0) + ends)
