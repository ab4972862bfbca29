"""Distribution of a statistic on a lattice of cells, with every increment rounded down.

One forward pass ("One forward pass" in doc/theory.rst) carries a histogram of the sum for every
number of hits found. An increment is rounded down to a multiple of the width of a cell; what
exceeds the last cell is kept as one number. All terms are positive, so both tails keep their
relative precision. A sum loses less than a cell, and ``ROUNDING``, for each block with hits, and
the number of such blocks is bounded by the hits: equation (bounds) in doc/theory.rst.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    def of(cls, cells: Floats, passed: float, below: float = 0.0) -> Histogram:
        """Normalized histogram with these weights of cells, and beyond and below them."""
        total = below + float(cells.sum()) + passed
        above = np.cumsum(np.concatenate([[passed], cells[::-1]]))[::-1]
        return cls(np.cumsum(np.concatenate([[below], cells])) / total, above / total)

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
    increments: Increments,
    n_positives: int,
    width: float,
    n_cells: int,
    bands: Bands,
    needed: Sequence[Floats] = (),
) -> tuple[Histogram, Histogram]:
    """Distribution of the sum in cells: rounded down, and raised by the most that rounding lost.

    Paths outside `bands` are left out. Sums up to each block, by the hits there, below those that
    are `needed` to reach the values of interest count as below all cells.
    """
    bands = bands.ascending()
    first = np.append(0, bands.low[:-1])
    n, growth, last = increments.n_samples, 1.0, increments.sizes.size - 1
    starts = np.zeros((last, n_positives + 1), dtype=np.int64)
    if needed:
        # For each hit a sum is less than a cell larger than it is counted.
        cells = np.floor(np.array(needed[:last]) / width) - (n_positives + 2.0)
        starts = np.clip(cells, 0, n_cells).astype(np.int64)
    rows = _Rows(starts, int((bands.high - first).max()) + 1, n_cells)
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
            shifts = _shifts(gains, width, n_cells)
            rows.pass_block(block, int(first[block]), low, high, weights, shifts)
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

    Few numbers of hits are possible at a time, so their histograms share a few rows in turn. After
    each block (rows of `needed`) cells from a first one on are needed, by the hits up to there.
    """

    def __init__(self, needed: Integers, n_rows: int, n_cells: int) -> None:
        self._cells, self._moved = np.zeros((n_rows, n_cells)), np.empty(n_cells)
        self._needed, n_hits = needed, needed.shape[1]
        self._passed, self._total = np.zeros(n_hits), np.zeros(n_hits)
        # First needed cell with a positive weight, below which cells are incomplete, and the cell
        # behind the last one.
        self._start, self._stop = [n_cells] * n_hits, [0] * n_hits
        self._cells[0, 0], self._total[0], self._start[0], self._stop[0] = 1.0, 1.0, 0, 1
        self.most_hits = 0

    def multiply(self, factor: float) -> None:
        """Multiply all weights by a factor."""
        self._cells *= factor
        self._passed *= factor
        self._total *= factor

    def pass_block(
        self, block: int, first: int, low: int, high: int, weights: Floats, shifts: Integers
    ) -> None:
        """Add the hits of a block, with a weight for each number of them.

        There are at least `first` hits before the block, and from `low` to `high` after it. Shifts
        are numbers of cells, for each number of hits before the block (rows) and in it.
        """
        n_rows, n_cells = self._cells.shape
        weight, shift, needed = (x.tolist() for x in (weights, shifts, self._needed[block]))
        start, stop, rows = self._start, self._stop, slice(first, self.most_hits + 1)
        for sums in (self._passed, self._total):
            after = np.convolve(sums[rows], weights)[low - first : high - first + 1]
            sums[first : high + 1] = 0.0
            sums[low : low + after.size] = after
        # In descending order: a row is read before it is changed. Conditions are faster than max.
        for h in range(self.most_hits, first - 1, -1):
            source, begins, ends = self._cells[h % n_rows], start[h], stop[h]
            most = min(weights.size, high - h + 1) if begins < ends else 0
            for y in range(max(1, low - h), most):
                factor, up, row = weight[y], shift[h - first][y], h + y
                begin, end = needed[row] - up, n_cells - up
                begin, end = begin if begin > begins else begins, end if end < ends else ends
                if begin < end:
                    moved = np.multiply(source[begin:end], factor, out=self._moved[begin:end])
                    target = self._cells[row % n_rows][begin + up : end + up]
                    np.add(target, moved, out=target)
                    start[row], stop[row] = min(start[row], begin + up), max(stop[row], end + up)
                if end < ends and begin < ends:
                    self._passed[row] += factor * np.add.reduce(source[max(begin, end) : ends])
            if weight[0] != 1.0:
                source *= weight[0]
        start[low : high + 1] = map(max, start[low : high + 1], needed[low : high + 1])
        for h in range(first, low):
            self._cells[h % n_rows] = 0.0
        self.most_hits = high

    def ended(self, hits: Integers, weights: Floats, shifts: Integers) -> Histogram:
        """Histogram after the last block, over all numbers of hits before it; changes nothing.

        The weights and shifts are those of the remaining hits in the last block.
        """
        n_rows, n_cells = self._cells.shape
        cells, passed, total = np.zeros(n_cells), 0.0, float(weights @ self._total[hits])
        for h, weight, up in zip(hits.tolist(), weights.tolist(), shifts.tolist(), strict=True):
            source, begin, end = self._cells[h % n_rows], self._start[h], n_cells - up
            if begin < end:
                cells[begin + up :] += weight * source[begin:end]
            passed += float(weight * (self._passed[h] + source[max(begin, end) :].sum()))
        # Differences are lost in rounding where all cells are needed.
        below = max(total - passed - float(cells.sum()), 0.0) if self._needed.any() else 0.0
        return Histogram.of(cells, passed, below)
