"""The increments of an additive rank statistic: three coefficients for each block.

A ranking is a sequence of blocks of equal scores, best first; block b has ``size`` items and ends
at rank ``T_b``. With ``y_b`` hits (positives) in block b and ``h_b`` hits before it, every
statistic here is

    S = sum_b y_b (cross_b h_b + linear_b + square_b y_b),

a sum of increments that are quadratic in the hits, equation (additive) of "The full null
distribution" in doc/theory.rst. The coefficients are all that is needed to compute moments and null
distributions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

# A distribution of at most this many blocks of equal scores is coarse, or very coarse.
FEW_BLOCKS = 64
VERY_FEW_BLOCKS = 16

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Totals: TypeAlias = NDArray[Any]
"""Numbers of items, or sums of their weights."""
Complexes = NDArray[np.complex128]
HitValues: TypeAlias = Callable[[Integers], Floats]
"""Values of a metric for rows of hits at ascending places."""


@dataclass(frozen=True, eq=False)
class Increments:
    """The coefficients of an additive rank statistic, block by block.

    A block with ``h`` hits before it and ``y`` in it adds ``y (cross h + linear + square y)``.
    """

    sizes: Integers
    cross: Floats
    linear: Floats
    square: Floats

    def __getitem__(self, blocks: slice | Integers) -> Increments:
        return Increments(self.sizes[blocks], *(part[blocks] for part in self.coefficients))

    @property
    def coefficients(self) -> tuple[Floats, Floats, Floats]:
        """The coefficients `cross`, `linear` and `square`."""
        return self.cross, self.linear, self.square

    @property
    def n_samples(self) -> int:
        return int(self.sizes.sum())

    @property
    def starts(self) -> Integers:
        """Number of items before each block."""
        return np.cumsum(self.sizes) - self.sizes

    @property
    def of_one_hit(self) -> Floats:
        """Increment of a single hit in each block, without hits elsewhere."""
        return self.linear + self.square

    @property
    def is_inert(self) -> NDArray[np.bool_]:
        """Which blocks add nothing."""
        return np.asarray(~np.any(self.coefficients, axis=0))

    @property
    def is_linear(self) -> bool:
        """Whether no increment depends on the other hits."""
        return not (np.any(self.cross) or np.any(self.square))

    def gain(self, block: Any, before: Any, y: Any) -> Any:
        """Increment of a block with `y` hits in it and `before` hits before it; elementwise."""
        return y * (self.cross[block] * before + self.linear[block] + self.square[block] * y)

    def negated(self) -> Increments:
        """Coefficients of the statistic with the opposite sign."""
        return Increments(self.sizes, -self.cross, -self.linear, -self.square)

    def from_the_end(self, n_positives: int) -> Increments:
        """The same statistic with the blocks in the opposite order.

        With h' hits in later blocks and y in a block there are ``n_positives - h' - y`` before it.
        """
        linear = self.linear + self.cross * n_positives
        square = self.square - self.cross
        return Increments(self.sizes[::-1], -self.cross[::-1], linear[::-1], square[::-1])

    def of_misses(self) -> tuple[Increments, float]:
        """The same statistic as a function of its misses: ``S = constant - (their statistic)``.

        The constant is the value if every item is a hit. With ``x = size - y`` misses in a block, w
        misses and B items before it, the increment of the misses is
        ``x (-cross w + linear' - square x)``, where
        ``linear' = cross B + linear + 2 square size + sum over later blocks of size cross``.
        """
        crossed = self.sizes * self.cross
        later = crossed.sum() - np.cumsum(crossed)
        linear = self.cross * self.starts + self.linear + 2.0 * self.square * self.sizes + later
        misses = Increments(self.sizes, -self.cross, linear, -self.square)
        return misses, float(self.total(self.sizes))

    def given(self, block: int, y: int) -> tuple[Increments, float]:
        """The statistic of all other blocks given y hits in block b, and a constant.

        Each hit before the block adds ``cross_b y`` more, and each hit in a later block c
        ``cross_c y``, so the statistic of the other blocks has the same form.
        """
        linear = self.linear.copy()
        linear[:block] += self.cross[block] * y
        linear[block + 1 :] += self.cross[block + 1 :] * y
        others = (np.delete(part, block) for part in (self.cross, linear, self.square))
        return Increments(np.delete(self.sizes, block), *others), float(self.gain(block, 0, y))

    def with_inert_block(self, size: int) -> Increments:
        """The same blocks, and a last one that adds nothing, of `size` items if there are any."""
        if size == 0:
            return self
        parts = (np.append(part, 0.0) for part in self.coefficients)
        return Increments(np.append(self.sizes, size), *parts)

    def total(self, hits: ArrayLike) -> Floats:
        """Value of the statistic for hits per block, along the last axis."""
        y = np.asarray(hits, dtype=float)
        before = np.cumsum(y, axis=-1) - y
        return np.asarray((y * (self.cross * before + self.linear + self.square * y)).sum(axis=-1))


def blocks_of(starts: ArrayLike, sizes: ArrayLike) -> tuple[Integers, Integers]:
    """Starts and sizes of blocks as integers of one shape."""
    start, size = np.broadcast_arrays(
        np.asarray(starts, dtype=np.int64), np.asarray(sizes, dtype=np.int64)
    )
    return start, size


@dataclass(frozen=True, eq=False)
class HitBlocks:
    """The blocks with hits of several lists of n items and m hits, from the first to the last.

    Each block has the number of its list, items and hits before it, and items and hits in it.
    """

    lists: Integers
    starts: Integers
    sizes: Integers
    before: Integers
    hits: Integers
    n_lists: int
    n_samples: int
    n_positives: int


def filled_from_the_top(sizes: ArrayLike, n_hits: int) -> Integers:
    """Hits in each block if all of them lie as high as they can."""
    return np.asarray(np.diff(np.minimum(np.cumsum(sizes), n_hits), prepend=0))


def hits_around_blocks(blocks: Integers) -> tuple[Integers, Integers]:
    """For rows of hits in ascending blocks: number of hits before each block, and to its end."""
    place = np.arange(blocks.shape[1])
    new = np.ones(blocks.shape, dtype=bool)
    new[:, 1:] = blocks[:, 1:] != blocks[:, :-1]
    before = np.maximum.accumulate(np.where(new, place, 0), axis=1)
    ends = np.ones(blocks.shape, dtype=bool)
    ends[:, :-1] = new[:, 1:]
    last = np.where(ends, place, blocks.shape[1])[:, ::-1]
    return before, np.minimum.accumulate(last, axis=1)[:, ::-1] + 1


def geometric_edges(n_ranks: int, ratio: float, n_alone: int = 0, multiple: int = 1) -> Integers:
    """Ends of blocks: one rank each at first, and then of sizes near `ratio` times their start.

    At least the first `n_alone` ranks are alone; the sizes of larger blocks are multiples.
    """
    edges = list(range(min(n_ranks, max(n_alone, int(1.0 / ratio))) + 1))
    while edges[-1] < n_ranks:
        size = max(1, multiple * int(ratio / multiple * edges[-1]))
        edges.append(min(n_ranks, edges[-1] + size))
    return np.asarray(edges, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Influence:
    """Influence of the items of a ranking on a metric, block by block, best score first.

    `positive` and `negative` are the influence of one positive and of one negative of each block,
    not centred. The value of a class without items in a block has no meaning; it is nan if it is
    computed by deletion. Variances are nan if a class has a single item, since one item has no
    variance, and 0 if one class is empty, since no metric then varies at fixed numbers of positives
    and negatives.
    """

    tie_sizes: Totals
    hits: Totals
    positive: Floats
    negative: Floats

    def class_variances(self) -> tuple[float, float]:
        """Variance terms of the positives and of the negatives, whose numbers are fixed.

        That of m positives is ``m / (m - 1)`` times the sum of squares of their centred values.
        """
        misses = self.tie_sizes - self.hits
        sizes = self.hits.sum(), misses.sum()
        if 0 in sizes:
            return 0.0, 0.0
        of_positives = _sum_of_squares(self.positive, self.hits) * _factor(sizes[0])
        of_negatives = _sum_of_squares(self.negative, misses) * _factor(sizes[1])
        return of_positives, of_negatives

    def variance(self, *, random_positives: bool = False) -> float:
        """Variance of the metric over samples of items.

        The numbers of positives and of negatives are fixed, or random as in a sample of n items
        from a population.
        """
        if not random_positives:
            return sum(self.class_variances())
        values = np.concatenate([self.positive, self.negative])
        return _sum_of_squares(values, np.concatenate([self.hits, self.tie_sizes - self.hits]))

    def of_items(self, blocks: Integers, is_positive: NDArray[np.bool_]) -> Floats:
        """Influence of single items in given blocks, from 0 for the best scores, not centred."""
        return np.where(is_positive, self.positive[blocks], self.negative[blocks])

    def times(self, factor: float) -> Influence:
        """Influence on a multiple of the metric."""
        values = self.positive * factor, self.negative * factor
        return Influence(self.tie_sizes, self.hits, *values)


def _factor(n: float) -> float:
    """``n / (n - 1)``; nan for one."""
    return n / (n - 1) if n > 1 else math.nan


def _sum_of_squares(values: Floats, counts: Totals) -> float:
    """Sum of squares about the mean of values that occur `counts` times."""
    there = counts > 0
    v, c = values[there], counts[there]
    return float(c @ (v - (c @ v) / c.sum()) ** 2)
