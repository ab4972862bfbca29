"""Far blocks of ranks merged into one, so that the number of blocks grows like log(n) / ratio.

"Far ranks" in doc/theory.rst. The increment of a merged block is its expectation given the hits
before the block and in it, so that merging changes a tail probability only by what varies inside
the block: to leading order in proportion to the square of the ratio. Nothing here bounds this
error. Callers compare two ratios and extrapolate (Richardson), or use the guaranteed bounds of
``exact/bounds.py``.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from sklearn_rankinf._statistics.increments import Floats, Increments, Integers, geometric_edges


def merged_increments(
    increments: Increments, ratio: float, resolution: float, apart: Integers
) -> Increments:
    """Coefficients with far blocks merged, and edges at the ranks `apart`.

    Blocks that add nothing, such as those behind a cut-off, are not merged with others: the jump
    between them is as large in blocks of any ratio, so that no extrapolation would see it.
    A merged block ends at most at ``1 + ratio`` times its start, and the increments of a single hit
    at its two ends differ by at most about the resolution.

    With y hits in a merged block of G items, of which blocks i and j have ``g_i`` and ``g_j``, the
    expectations are ``E y_i = y g_i / G``, ``E y_i (y_i - 1) = y (y-1) g_i (g_i - 1) / (G (G-1))``
    and ``E y_i y_j = y (y-1) g_i g_j / (G (G-1))``.
    """
    ends = np.cumsum(increments.sizes)
    set_apart = np.searchsorted(ends, apart[apart < increments.n_samples], "right")
    inert = increments.is_inert
    set_apart = np.union1d(set_apart, np.flatnonzero(inert[1:] != inert[:-1]) + 1)
    first = np.union1d(merged_firsts(increments.sizes, ratio), set_apart)
    edges = np.append(first, ends.size)
    spread = np.abs(increments.of_one_hit[edges[:-1]] - increments.of_one_hit[edges[1:] - 1])
    edges = subdivided_edges(edges, spread, resolution)
    first = edges[:-1]
    g = increments.sizes.astype(float)
    size = np.add.reduceat(increments.sizes, first)
    inside_before = increments.starts - np.repeat(increments.starts[first], np.diff(edges))
    cross = np.add.reduceat(g * increments.cross, first) / size
    alone = np.add.reduceat(g * increments.of_one_hit, first) / size
    together = np.add.reduceat(
        g * (g - 1.0) * increments.square + g * inside_before * increments.cross, first
    )
    pairs = together / np.maximum(size * (size - 1.0), 1.0)
    return Increments(size, cross, alone - pairs, pairs)


def merged_firsts(sizes: Integers, ratio: float) -> Integers:
    """First block of each merged block, which ends at most at ``1 + ratio`` times its start."""
    # Bisection of a view takes less time than a search by NumPy, and copies nothing.
    ends = np.cumsum(sizes, dtype=np.int64).data
    firsts, block, start = [], 0, 0
    while block < len(ends):
        firsts.append(block)
        block = max(block + 1, bisect_right(ends, int(start + ratio * start), block))
        start = ends[block - 1]
    return np.asarray(firsts)


def edges_around(around: int | None, n_ranks: int, ratio: float) -> Integers:
    """Ranks that blocks do not span: dense around a rank; empty for None."""
    if around is None:
        return np.empty(0, dtype=np.int64)
    below = around - geometric_edges(around, ratio)
    return np.concatenate([below, around + geometric_edges(n_ranks - around, ratio)])


def subdivided_edges(edges: Integers, spreads: Floats, resolution: float) -> Integers:
    """Edges of intervals, each cut into equal parts no wider than about a resolution.

    The spread of an interval is between the middles of its first and its last place; its width is
    half a place more at either end.
    """
    sizes = np.diff(edges)
    widths = spreads * sizes / np.maximum(sizes - 1, 1)
    parts = np.clip(np.ceil(widths / resolution), 1, sizes).astype(np.int64)
    part = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    inner = np.repeat(edges[:-1], parts) + part * np.repeat(sizes, parts) // np.repeat(parts, parts)
    return np.append(inner, edges[-1])


def bounding_increments(increments: Increments, ratio: float) -> tuple[Increments, Increments]:
    """Increments with blocks merged up to a ratio that never add more, and never less.

    The j-th hit in a merged block, which is the k-th in one of its blocks b, adds
    ``cross_b (h + j-1) + (linear_b + square_b) + (2 square_b - cross_b) (k-1)`` to the sum, with h
    hits before the merged block and k from 1 to j. Each coefficient is replaced by its least or
    greatest value in the merged block.
    """
    if ratio == 0.0:
        return increments, increments
    inert = increments.is_inert
    first = merged_firsts(increments.sizes, ratio)
    # Blocks that add nothing are not merged with others.
    first = np.union1d(first, np.flatnonzero(inert[1:] != inert[:-1]) + 1)
    if first.size == increments.sizes.size:
        return increments, increments
    alone = np.diff(first, append=increments.sizes.size) == 1
    repeated = np.where(increments.sizes > 1, 2.0 * increments.square - increments.cross, 0.0)
    sizes = np.add.reduceat(increments.sizes, first)

    def extreme(of: Any) -> Increments:
        cross = of.reduceat(increments.cross, first)
        one = of.reduceat(increments.of_one_hit, first)
        square = 0.5 * (cross + of(of.reduceat(repeated, first), 0.0))
        square = np.where(alone, increments.square[first], square)
        return Increments(sizes, cross, one - square, square)

    return extreme(np.minimum), extreme(np.maximum)
