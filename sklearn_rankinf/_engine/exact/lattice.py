"""Distribution of a statistic on a lattice of cells, with every increment rounded down.

One forward pass ("One forward pass" in doc/theory.rst) carries a histogram of the sum for every
number of hits found. An increment is rounded down to a multiple of the width of a cell; what
exceeds the last cell is kept as one number. All terms are positive, so both tails keep their
relative precision. A sum loses less than a cell, and ``ROUNDING``, for each block with hits, and
the number of such blocks is bounded by the hits: equation (bounds) in doc/theory.rst.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_rankinf._engine.inversion.bands import Bands
from sklearn_rankinf._statistics import Floats, Increments, Integers, binomial_log_weights

# Part of a cell by which increments are lowered before they are rounded down, so that rounding
# errors of floats cannot raise them.
ROUNDING = 1e-9
# Probabilities of blocks without hits are divided out, unless they are smaller than this.
_SMALLEST_DIVISOR = 1e-100
# All weights are scaled back to 1 when their common factor exceeds this.
_LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class Histogram:
    """Probabilities of cells from 0 on, and of the values beyond the last one.

    Attributes
    ----------
    below, above : ndarray of shape (n_cells + 1,)
        Probability below each edge between cells, and above it, each summed from its end.
    """

    below: Floats
    above: Floats

    @classmethod
    def of(cls, cells: Floats, passed: float) -> Histogram:
        """Normalized histogram with these weights of cells, and beyond them."""
        total = float(cells.sum()) + passed
        above = np.cumsum(np.concatenate([[passed], cells[::-1]]))[::-1]
        return cls(np.concatenate([[0.0], np.cumsum(cells)]) / total, above / total)

    def tail(self, cells: Floats, sign: int) -> tuple[Floats, Floats]:
        """Bounds of the upper (sign 1) or lower (sign -1) tails from positions in cells.

        The two bounds differ beyond the last cell only.
        """
        top = self.below.size - 1
        edges = np.ceil(cells) if sign > 0 else np.floor(cells) + 1.0
        tail = (self.above if sign > 0 else self.below)[np.clip(edges, 0, top).astype(np.int64)]
        beyond = edges > top
        return np.where(beyond & (sign > 0), 0.0, tail), np.where(beyond & (sign < 0), 1.0, tail)


def histograms(
    increments: Increments, n_positives: int, width: float, n_cells: int, bands: Bands
) -> tuple[Histogram, Histogram]:
    """Distribution of the sum in cells: rounded down, and raised by the most that rounding lost.

    Paths outside `bands` are left out.
    """
    bands = bands.ascending()
    first = np.append(0, bands.low[:-1])
    rows = _Rows(n_positives, int((bands.high - first).max()) + 1, n_cells)
    n = increments.n_samples
    growth, last = 1.0, increments.sizes.size - 1
    for block, size in enumerate(increments.sizes.tolist()):
        # Relative to a block without hits, which then costs nothing.
        weights = np.exp(binomial_log_weights(size, min(size, n_positives), n, n_positives))
        scale = max(float(weights[0]), _SMALLEST_DIVISOR)
        weights = weights[: int(bands.most[block]) + 1] / scale
        growth /= scale
        if growth > _LARGEST:
            rows.multiply(1.0 / growth)
            growth = 1.0
        if block < last:
            low, high = int(bands.low[block]), int(bands.high[block])
            before = np.arange(first[block], high + 1)
            gains = increments.gain(block, before[:, None], np.arange(weights.size))
            rows.pass_block(int(first[block]), low, high, weights, _shifts(gains, width, n_cells))
    # The last block contains all remaining hits.
    before = np.arange(first[last], rows.most_hits + 1)
    y = n_positives - before
    possible = y < weights.size
    before, y = before[possible], y[possible]
    counted = ~increments.is_inert
    lost = np.minimum(before, counted[:-1].sum()) + (counted[-1] & (y > 0))
    shifts = _shifts(increments.gain(last, before, y), width, n_cells)
    raised = np.minimum(shifts + lost, n_cells)
    return rows.ended(before, weights[y], shifts), rows.ended(before, weights[y], raised)


def _shifts(gains: Floats, width: float, n_cells: int) -> Integers:
    """Increments in whole cells, rounded down."""
    return np.clip(np.floor(gains / width - ROUNDING), 0, n_cells).astype(np.int64)


class _Rows:
    """Histograms of the sum for each number of hits found, and weights beyond the cells.

    Few numbers of hits are possible at a time, so their histograms share a few rows in turn.
    """

    def __init__(self, n_hits: int, n_rows: int, n_cells: int) -> None:
        self._cells = np.zeros((n_rows, n_cells))
        self._moved = np.empty(n_cells)
        self._passed = [0.0] * (n_hits + 1)
        # First cell with a positive weight.
        self._start = [n_cells] * (n_hits + 1)
        self._cells[0, 0], self._start[0] = 1.0, 0
        self.most_hits = 0

    def multiply(self, factor: float) -> None:
        """Multiply all weights by a factor."""
        self._cells *= factor
        self._passed = [factor * passed for passed in self._passed]

    def pass_block(
        self, first: int, low: int, high: int, weights: Floats, shifts: Integers
    ) -> None:
        """Add the hits of a block, with a weight for each number of them.

        There are at least `first` hits before the block, and from `low` to `high` after it. Shifts
        are numbers of cells, for each number of hits before the block (rows) and in it.
        """
        n_rows, n_cells = self._cells.shape
        weight, shift, most = weights.tolist(), shifts.tolist(), weights.size - 1
        # In descending order, so that each row is read before it is changed.
        for h in range(high, low - 1, -1):
            target = self._cells[h % n_rows]
            passed, start = self._passed[h], self._start[h]
            if weight[0] != 1.0:
                target *= weight[0]
                passed *= weight[0]
            for before in range(max(h - most, first), min(h - 1, self.most_hits) + 1):
                factor, up = weight[h - before], shift[before - first][h - before]
                source, begin = self._cells[before % n_rows], self._start[before]
                end = n_cells - up
                if begin < end:
                    moved = self._moved[begin:end]
                    np.multiply(source[begin:end], factor, out=moved)
                    target[begin + up :] += moved
                    start = min(start, begin + up)
                passed += factor * self._passed[before]
                if up and begin < n_cells:
                    passed += factor * float(np.add.reduce(source[max(begin, end) :]))
            self._passed[h], self._start[h] = passed, start
        for h in range(first, low):
            self._cells[h % n_rows] = 0.0
        self.most_hits = high

    def ended(self, hits: Integers, weights: Floats, shifts: Integers) -> Histogram:
        """Histogram after the last block, over all numbers of hits before it; changes nothing.

        The weights and shifts are those of the remaining hits in the last block.
        """
        n_rows, n_cells = self._cells.shape
        cells, passed = np.zeros(n_cells), 0.0
        for h, weight, up in zip(hits.tolist(), weights.tolist(), shifts.tolist(), strict=True):
            source = self._cells[h % n_rows]
            cells[up:] += weight * source[: n_cells - up]
            passed += float(weight * (self._passed[h] + source[n_cells - up :].sum()))
        return Histogram.of(cells, passed)
