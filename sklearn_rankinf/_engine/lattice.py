"""The whole law of a statistic on a value lattice, rounded down and up.

The forward pass carries a histogram of the sum so far for every number of hits. An increment that
falls between two cells is rounded down; what passes the top is absorbed. Only positive terms are
added, so the tail keeps its relative precision. The hits tell how often a sum was rounded, and so
what it has lost at most.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_rankinf._engine.bands import Bands
from sklearn_rankinf._engine.chain import binomial_log_weights
from sklearn_rankinf._engine.statistics import Floats, Increments, Integers

# Weights are brought back to 1 before they leave the range of floats.
_SMALLEST_DIVISOR, _LARGEST = 1e-100, 1e100
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


def histograms(
    increments: Increments, n_positives: int, width: float, n_cells: int, bands: Bands
) -> tuple[Histogram, Histogram]:
    """Law of the sum in cells of a width: rounded down, and raised by what that may have lost.

    Each block that has hits loses less than a cell and `ROUNDING`. Paths outside `bands` are left
    out.
    """
    low = np.minimum.accumulate(bands.low[::-1])[::-1]
    high = np.maximum.accumulate(bands.high)
    first = np.concatenate([[0], low[:-1]])
    rows = _Rows(n_positives, int((high - first).max()) + 1, n_cells)
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
        before, y = np.arange(span[0], span[2] + 1)[:, None], np.arange(weights.size)
        gains = increments.gain(block, before, y) / width
        shifts = np.clip(np.floor(gains - ROUNDING), 0, n_cells).astype(np.int64)
        if block < last:
            rows.pass_block(span, weights, shifts)
    counted = ~increments.is_inert
    lost = np.minimum(before, counted[:-1].sum()) + (counted[-1] & (y > 0))
    raised = np.minimum(shifts + lost, n_cells)
    return rows.ended(span[0], weights, shifts), rows.ended(span[0], weights, raised)


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
        n_rows, n_cells = self._cells.shape
        passed = self._passed[low : high + 1] * weights[0]
        start = self._start[low : high + 1].copy()
        furthest = int(shifts[:, 1:].max(initial=0))
        # Sums of the last cells of every row, from none of them to the furthest that are moved out.
        sources = np.arange(first, self._last + 1)
        sums = np.zeros((sources.size, furthest + 1))
        ends = self._cells[sources % n_rows, n_cells - furthest :][:, ::-1]
        np.cumsum(ends, axis=1, out=sums[:, 1:])
        for y in range(1, weights.size):
            begin, end = max(first, low - y), min(self._last, high - y) + 1
            if begin >= end:
                continue
            row, target = np.arange(begin, end) - first, slice(begin + y - low, end + y - low)
            up = shifts[row, y]
            passed[target] += weights[y] * (self._passed[begin:end] + sums[row, up])
            np.minimum(start[target], self._start[begin:end] + up, out=start[target])
        return passed, start

    def ended(self, first: int, weights: Floats, shifts: Integers) -> Histogram:
        """Histogram behind the last block, for all hits; what was there before it stays."""
        n_rows, n_cells = self._cells.shape
        n_hits = self._passed.size - 1
        cells, passed = np.zeros(n_cells), 0.0
        for y in range(n_hits - self._last, min(weights.size - 1, n_hits - first) + 1):
            h = n_hits - y
            source, up = self._cells[h % n_rows], int(shifts[h - first, y])
            cells[up:] += weights[y] * source[: n_cells - up]
            passed += float(weights[y] * (self._passed[h] + source[n_cells - up :].sum()))
        return Histogram.of(cells, passed)
