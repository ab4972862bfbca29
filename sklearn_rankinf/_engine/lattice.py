"""The whole law of a statistic on a value lattice.

The forward pass carries a histogram of the sum so far for every number of hits. An increment that
falls between two cells is split between them so that the mean is kept, or rounded down so that the
law is bounded; what passes the top is absorbed. Only positive terms are added, so the tail keeps
its relative precision. It serves laws that are too coarse for contour inversion: few positives in a
long list, where single top ranks make visible atoms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_rankinf._engine.chain import Bands, binomial_log_weights, feasible_bands
from sklearn_rankinf._engine.statistics import Floats, Increments, Integers

# Weights are brought back to 1 before they leave the range of floats.
_SMALLEST_DIVISOR, _LARGEST = 1e-100, 1e100
# Fraction of a cell by which rounding errors are outdone when increments are rounded down.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class LatticeLaw:
    """Distribution function of a statistic at the edges between the cells of a lattice.

    Attributes
    ----------
    edges : ndarray of shape (n_cells + 1,)
        Ascending values; the cell centres lie half way between them.
    below : ndarray of shape (n_cells + 1,)
        Probability below each edge.
    above : ndarray of shape (n_cells + 1,)
        Probability above each edge, summed from the top.
    """

    edges: Floats
    below: Floats
    above: Floats

    def tail(self, s: Floats, sign: int) -> Floats:
        """``P(S >= s)`` (sign 1) or ``P(S <= s)`` (sign -1), linear between edges."""
        return np.interp(s, self.edges, self.above if sign > 0 else self.below)


def lattice_law(
    increments: Increments,
    n_positives: int,
    top: float,
    n_cells: int,
    bands: Bands | None = None,
) -> LatticeLaw:
    """Law of the statistic on `n_cells` cells from 0 to `top`, with the rest absorbed above.

    Paths outside `bands` are left out.
    """
    width = top / n_cells
    mass, absorbed = histogram(increments, n_positives, width, n_cells, bands)
    edges = (np.arange(n_cells + 1) - 0.5) * width
    below = np.concatenate([[0.0], np.cumsum(mass)])
    above = np.concatenate([np.cumsum(mass[::-1])[::-1], [0.0]]) + absorbed
    return LatticeLaw(edges.astype(float), below, above)


def histogram(
    increments: Increments,
    n_positives: int,
    width: float,
    n_cells: int,
    bands: Bands | None = None,
    rounded_down: bool = False,
) -> tuple[Floats, float]:
    """Probability of each cell of a width, from 0 on, and of what lies beyond the last one.

    Increments that fall between two cells are split between them; or they are rounded down, by less
    than a cell and `ROUNDING` for each block that has hits. Paths outside `bands` are left out.
    """
    feasible = feasible_bands(increments, n_positives)
    bands = feasible if bands is None else bands.intersection(feasible)
    low = np.minimum.accumulate(bands.low[::-1])[::-1]
    high = np.maximum.accumulate(bands.high)
    first = np.concatenate([[0], low[:-1]])
    rows = _Rows(n_positives, int((high - first).max()) + 1, n_cells)
    p = n_positives / increments.n_samples
    growth = 1.0
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
        before, y = np.arange(span[0], span[2] + 1), np.arange(weights.size)
        gains = increments.gain(block, before[:, None], y) / width
        rows.pass_block(span, weights, _rounded_down(gains) if rounded_down else _split(gains))
    return rows.normalized(n_positives)


def _rounded_down(gains: Floats) -> list[tuple[Integers, Floats]]:
    whole = np.floor(gains - ROUNDING)
    return [(np.maximum(whole, 0.0).astype(np.int64), np.ones_like(gains))]


def _split(gains: Floats) -> list[tuple[Integers, Floats]]:
    whole = np.floor(gains)
    part, cells = gains - whole, whole.astype(np.int64)
    return [(cells, 1.0 - part), (cells + 1, part)]


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

    def pass_block(
        self, span: tuple[int, int, int], weights: Floats, moves: list[tuple[Integers, Floats]]
    ) -> None:
        """Go on by a block, with a weight for each number of hits in it.

        Hits before it are at least the first of `span`, and behind it between the other two. Moves
        are numbers of cells with shares, for each number of hits before the block and in it.
        """
        first, low, high = span
        n_rows, n_cells = self._cells.shape
        moves = [(np.minimum(shift, n_cells), weights * share) for shift, share in moves]
        passed, start = self._beyond_the_cells(span, moves)
        own = float(weights[0])
        held = self._start.tolist()
        plain = [(shift.tolist(), weight.tolist()) for shift, weight in moves]
        # From the top down, so that no row is changed before it was moved on.
        for h in range(high, low - 1, -1):
            target = self._cells[h % n_rows]
            if own != 1.0:
                target *= own
            for y in range(max(1, h - self._last), min(weights.size - 1, h - first) + 1):
                for shift, weight in plain:
                    up, begin = shift[h - y - first][y], held[h - y]
                    factor = weight[h - y - first][y]
                    if begin + up < n_cells and factor > 0.0:
                        moved = self._moved[begin + up :]
                        source = self._cells[(h - y) % n_rows]
                        np.multiply(source[begin : n_cells - up], factor, out=moved)
                        target[begin + up :] += moved
        for h in range(first, low):
            self._cells[h % n_rows] = 0.0
        self._passed[low : high + 1], self._start[low : high + 1] = passed, start
        self._last = high

    def _beyond_the_cells(
        self, span: tuple[int, int, int], moves: list[tuple[Integers, Floats]]
    ) -> tuple[Floats, Integers]:
        """What will have passed the top of each row, and its first cell that will hold any."""
        first, low, high = span
        n_rows, n_cells = self._cells.shape
        passed = self._passed[low : high + 1] * moves[0][1][0, 0]
        start = self._start[low : high + 1].copy()
        furthest = max(int(shift[:, 1:].max(initial=0)) for shift, _ in moves)
        # Sums of the last cells of every row, from none of them to the furthest that are moved out.
        sources = np.arange(first, self._last + 1)
        sums = np.zeros((sources.size, furthest + 1))
        ends = self._cells[sources % n_rows, n_cells - furthest :][:, ::-1]
        np.cumsum(ends, axis=1, out=sums[:, 1:])
        for y in range(1, moves[0][0].shape[1]):
            begin, end = max(first, low - y), min(self._last, high - y) + 1
            if begin >= end:
                continue
            row, target = np.arange(begin, end) - first, slice(begin + y - low, end + y - low)
            for shift, weight in moves:
                up = shift[row, y]
                passed[target] += weight[row, y] * (self._passed[begin:end] + sums[row, up])
                np.minimum(start[target], self._start[begin:end] + up, out=start[target])
        return passed, start

    def normalized(self, n_hits: int) -> tuple[Floats, float]:
        """Probabilities, for so many hits in all, of the cells and of what passed the top."""
        cells, passed = self._cells[n_hits % len(self._cells)], float(self._passed[n_hits])
        total = float(cells.sum()) + passed
        return cells / total, passed / total
