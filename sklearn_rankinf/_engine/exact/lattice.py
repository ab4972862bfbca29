"""The whole distribution of a statistic on a value lattice, rounded down and up.

The forward pass carries a histogram of the sum so far for every number of hits. An increment that
falls between two cells is rounded down; what passes the top is absorbed. Only positive terms are
added, so the tail keeps its relative precision. The hits tell how often a sum was rounded, and so
what it has lost at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import binom

from sklearn_rankinf._engine.exact.enumeration import binomial_log_weights
from sklearn_rankinf._engine.inversion.bands import Bands
from sklearn_rankinf._engine.statistics import Floats, Increments, Integers

# Weights are brought back to 1 before they leave the range of floats.
_SMALLEST_DIVISOR, _LARGEST = 1e-100, 1e100
# The last cells of rows are added up one sum by one where all sums would be so many more.
_CELLS_A_SUM = 2000
# Fraction of a cell by which rounding errors are outdone when increments are rounded down.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Histogram:
    """Probabilities of cells from 0 on, and of what lies beyond the last one.

    Attributes
    ----------
    below, above : ndarray of shape (n_cells + 1,)
        Probability below each edge between cells, and from there on, each summed from its end.
    """

    below: Floats
    above: Floats

    @classmethod
    def of(cls, cells: Floats, passed: float) -> Histogram:
        """Normalized histogram of these weights."""
        total = float(cells.sum()) + passed
        above = np.cumsum(np.concatenate([[passed], cells[::-1]]))[::-1]
        return cls(np.concatenate([[0.0], np.cumsum(cells)]) / total, above / total)

    def tail(self, cells: Floats, sign: int) -> tuple[Floats, Floats]:
        """Bounds of the tails from some cells on, upwards (sign 1) or downwards (sign -1).

        They differ beyond the top.
        """
        top = self.below.size - 1
        edges = np.ceil(cells) if sign > 0 else np.floor(cells) + 1.0
        tail = (self.above if sign > 0 else self.below)[np.clip(edges, 0, top).astype(np.int64)]
        beyond = edges > top
        return np.where(beyond & (sign > 0), 0.0, tail), np.where(beyond & (sign < 0), 1.0, tail)


def n_numbers(bands: Bands) -> tuple[int, int]:
    """Numbers that `histograms` keeps for each cell, and at once for each block."""
    first, _, high = _spans(bands)
    at_once = (high - first + 1) * (bands.most + 1)
    return _n_rows(first, high), int(at_once[:-1].max(initial=0))


def _spans(bands: Bands) -> tuple[Integers, Integers, Integers]:
    """Fewest hits before each block, and fewest and most behind it, that matter from there on."""
    low = np.minimum.accumulate(bands.low[::-1])[::-1]
    return np.concatenate([[0], low[:-1]]), low, np.maximum.accumulate(bands.high)


def _n_rows(first: Integers, high: Integers) -> int:
    return int((high - first).max()) + 1


def histograms(
    increments: Increments, n_positives: int, width: float, n_cells: int, bands: Bands
) -> tuple[Histogram, Histogram]:
    """Distribution of the sum in cells: rounded down, and raised by what rounding may have lost.

    Each block that has hits loses less than a cell and `ROUNDING`. Paths outside `bands` are left
    out.
    """
    first, low, high = _spans(bands)
    rows = _Rows(n_positives, _n_rows(first, high), n_cells)
    p = n_positives / increments.n_samples
    growth, last = 1.0, increments.sizes.size - 1
    for block, size in enumerate(increments.sizes.tolist()):
        weights = np.exp(binomial_log_weights(size, min(size, n_positives), p))
        # Relative to a block without hits, which then costs nothing.
        scale = max(float(weights[0]), _SMALLEST_DIVISOR)
        growth /= scale
        if growth > _LARGEST:
            rows.multiply(1.0 / growth)
            growth = 1.0
        span = int(first[block]), int(low[block]), int(high[block])
        weights = weights[: int(bands.most[block]) + 1] / scale
        if block < last:
            before, y = np.arange(span[0], span[2] + 1)[:, None], np.arange(weights.size)
            shifts = _shifts(increments.gain(block, before, y), width, n_cells)
            rows.pass_block(span, weights, shifts)
    # The last block holds all hits that are left.
    before = rows.hits(span[0])
    y = n_positives - before
    possible = y < weights.size
    before, y = before[possible], y[possible]
    counted = ~increments.is_inert
    lost = np.minimum(before, counted[:-1].sum()) + (counted[-1] & (y > 0))
    shifts = _shifts(increments.gain(last, before, y), width, n_cells)
    raised = np.minimum(shifts + lost, n_cells)
    return rows.ended(before, weights[y], shifts), rows.ended(before, weights[y], raised)


def placements_at_the_top(
    increments: Increments, most_hits: int, odds: float, width: float, n_cells: int
) -> tuple[Floats, Floats]:
    """Sums of the hits in all these blocks, in cells of a width and for each number of hits.

    Each sum is rounded down by less than a cell for each block with hits. Returned are weights of
    cells (columns) and of what lies beyond the last of them, for up to `most_hits` hits (rows): the
    number of placements times ``odds**hits``. More hits in a block than would be rarer than more
    than `most_hits` altogether are left out.
    """
    rows = _Rows(most_hits, most_hits + 1, n_cells)
    expected = odds * increments.n_samples
    rare = expected ** (most_hits + 1) / math.factorial(most_hits + 1)
    held = 0
    for block, size in enumerate(increments.sizes.tolist()):
        y = np.arange(min(size, most_hits) + 1)
        weights = binom(size, y) * odds**y
        y = y[: max(2, int(np.count_nonzero(weights > 0.1 * rare)))]
        before = np.arange(held + 1)[:, None]
        held = min(held + int(y[-1]), most_hits)
        shifts = _shifts(increments.gain(block, before, y), width, n_cells)
        rows.pass_block(
            (0, 0, held), weights[: y.size], np.pad(shifts, ((0, held + 1 - before.size), (0, 0)))
        )
    return rows.cells, rows.passed


def _shifts(gains: Floats, width: float, n_cells: int) -> Integers:
    """By how many cells sums move up, rounded down."""
    return np.clip(np.floor(gains / width - ROUNDING), 0, n_cells).astype(np.int64)


class _Rows:
    """A histogram of the sum so far for each number of hits so far, and what passed its top.

    Few numbers of hits are alive at a time: the histograms are used in turn.
    """

    def __init__(self, n_hits: int, n_rows: int, n_cells: int) -> None:
        self._cells = np.zeros((n_rows, n_cells))
        self._passed = np.zeros(n_hits + 1)
        # The first cell that holds something.
        self._start = np.full(n_hits + 1, n_cells)
        self._cells[0, 0], self._start[0] = 1.0, 0
        self._moved = np.empty(n_cells)
        self._last = 0

    @property
    def cells(self) -> Floats:
        """Histograms of all numbers of hits, where all are alive."""
        return self._cells

    @property
    def passed(self) -> Floats:
        """What passed the top, for all numbers of hits."""
        return self._passed

    def multiply(self, factor: float) -> None:
        """Multiply everything by a factor."""
        self._cells *= factor
        self._passed *= factor

    def pass_block(self, span: tuple[int, int, int], weights: Floats, shifts: Integers) -> None:
        """Go on by a block, with a weight for each number of hits in it.

        Hits before it are at least the first of `span`, and behind it between the other two. Shifts
        are numbers of cells, for each number of hits before the block and in it.
        """
        first, low, high = span
        n_rows, n_cells = self._cells.shape
        passed, start = self._beyond_the_cells(span, weights, shifts)
        held, shift, weight = self._start.tolist(), shifts.tolist(), weights.tolist()
        # From the top down, so that no row is changed before it was moved on.
        for h in range(high, low - 1, -1):
            target = self._cells[h % n_rows]
            if weight[0] != 1.0:
                target *= weight[0]
            for y in range(max(1, h - self._last), min(weights.size - 1, h - first) + 1):
                begin, up = held[h - y], shift[h - y - first][y]
                if begin + up < n_cells:
                    moved = self._moved[begin + up :]
                    source = self._cells[(h - y) % n_rows]
                    np.multiply(source[begin : n_cells - up], weight[y], out=moved)
                    target[begin + up :] += moved
        for h in range(first, low):
            self._cells[h % n_rows] = 0.0
        self._passed[low : high + 1], self._start[low : high + 1] = passed, start
        self._last = high

    def _beyond_the_cells(
        self, span: tuple[int, int, int], weights: Floats, shifts: Integers
    ) -> tuple[Floats, Integers]:
        """What will have passed the top of each row, and its first cell that will hold any."""
        first, low, high = span
        passed = self._passed[low : high + 1] * weights[0]
        start = self._start[low : high + 1].copy()
        moved_out = self._moved_out(first, shifts)
        for y in range(1, weights.size):
            begin, end = max(first, low - y), min(self._last, high - y) + 1
            if begin >= end:
                continue
            row, target = np.arange(begin, end) - first, slice(begin + y - low, end + y - low)
            up = shifts[row, y]
            passed[target] += weights[y] * (self._passed[begin:end] + moved_out[row, y])
            np.minimum(start[target], self._start[begin:end] + up, out=start[target])
        return passed, start

    def _moved_out(self, first: int, shifts: Integers) -> Floats:
        """What is in the last cells of each row, as many as each number of hits moves out."""
        n_rows, n_cells = self._cells.shape
        sources = np.arange(first, self._last + 1)
        shifts = shifts[: sources.size]
        furthest = int(shifts[:, 1:].max(initial=0))
        if sources.size * furthest < _CELLS_A_SUM * shifts.size:
            # All sums, from none of the last cells to the furthest that are moved out.
            sums = np.zeros((sources.size, furthest + 1))
            ends = self._cells[sources % n_rows, n_cells - furthest :][:, ::-1]
            np.cumsum(ends, axis=1, out=sums[:, 1:])
            return sums[np.arange(sources.size)[:, None], np.minimum(shifts, furthest)]
        out = np.zeros(shifts.shape)
        held = self._start.tolist()
        for row, (h, of_row) in enumerate(zip(sources.tolist(), shifts.tolist(), strict=True)):
            for y, up in enumerate(of_row):
                if y and held[h] < n_cells and up:
                    out[row, y] = self._cells[h % n_rows, max(n_cells - up, held[h]) :].sum()
        return out

    def hits(self, first: int) -> Integers:
        """Numbers of hits so far that are alive, from the first one on."""
        return np.arange(first, self._last + 1)

    def ended(self, hits: Integers, weights: Floats, shifts: Integers) -> Histogram:
        """Histogram behind the last block, for all hits; what was there before it stays.

        Weights and shifts belong to the hits that are left for the last block.
        """
        n_rows, n_cells = self._cells.shape
        cells, passed = np.zeros(n_cells), 0.0
        for h, weight, up in zip(hits.tolist(), weights.tolist(), shifts.tolist(), strict=True):
            source = self._cells[h % n_rows]
            cells[up:] += weight * source[: n_cells - up]
            passed += float(weight * (self._passed[h] + source[n_cells - up :].sum()))
        return Histogram.of(cells, passed)
