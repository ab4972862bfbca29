"""What is summed: one small class for each additive rank statistic.

A ranking is a sequence of blocks of equal scores, best first; block b has ``size`` items and ends
at rank ``T_b``. With ``y_b`` hits (positives) in block b and ``h_b`` hits before it, every
statistic here is

    S = sum_b y_b (cross_b h_b + linear_b + square_b y_b),

a sum of increments that are quadratic in the hits. The rest of the engine knows nothing but the
three coefficients, so a new metric is a class that returns them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, zeta

# With so many blocks of equal scores or fewer a law is coarse, with so few very coarse.
FEW_BLOCKS, VERY_FEW_BLOCKS = 64, 16

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def harmonic(t: ArrayLike) -> Floats:
    """Harmonic number ``H_t = sum_{i<=t} 1/i``, elementwise and O(1) in t."""
    return np.asarray(digamma(np.asarray(t, dtype=float) + 1.0) + np.euler_gamma)


def harmonic_squares(t: ArrayLike) -> Floats:
    """``sum_{i<=t} 1/i**2``, elementwise and O(1) in t."""
    return np.asarray(zeta(2.0, 1.0) - zeta(2.0, np.asarray(t, dtype=float) + 1.0))


def harmonic_between(a: ArrayLike, b: ArrayLike) -> Floats:
    """``sum_{a<i<=b} 1/i`` without the cancellation of ``H_b - H_a`` at far ranks."""
    a, b = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(b, dtype=float))
    near = harmonic(b) - harmonic(a)
    far = a >= 100.0
    low, high = np.where(far, a, 100.0), np.where(far, b, 100.0)
    # H_t = log t + gamma + 1/(2t) - 1/(12 t^2) + 1/(120 t^4) - ..., term by term.
    width = (high - low) / low
    difference = (
        np.log1p(width)
        - (high - low) / (2.0 * low * high)
        + (high - low) * (high + low) / (12.0 * low**2 * high**2)
        - (low**-4.0 - high**-4.0) / 120.0
    )
    return np.where(far, difference, near)


def log_binomial(n: int, m: int) -> float:
    """Natural logarithm of ``C(n, m)``, exact for small numbers and without cancellation for large.

    Sums of ``gammaln`` lose digits at n = 1e9; Stirling's series of the ratio does not.
    """
    m = min(m, n - m)
    if m == 0:
        return 0.0
    if m <= 1000:
        return math.log(math.comb(n, m))
    p = m / n
    entropy = -n * (p * math.log(p) + (1.0 - p) * math.log1p(-p))
    scale = -0.5 * math.log(2.0 * math.pi * n * p * (1.0 - p))
    return entropy + scale + _stirling_rest(n) - _stirling_rest(m) - _stirling_rest(n - m)


def _stirling_rest(x: float) -> float:
    return 1.0 / (12.0 * x) - 1.0 / (360.0 * x**3) + 1.0 / (1260.0 * x**5)


@dataclass(frozen=True, eq=False)
class Increments:
    """The coefficients of an additive rank statistic, block by block.

    Attributes
    ----------
    sizes : ndarray of shape (n_blocks,)
        Number of items in each block.
    cross, linear, square : ndarray of shape (n_blocks,)
        A block with ``h`` hits before it and ``y`` in it adds ``y (cross h + linear + square y)``.
    """

    sizes: Integers
    cross: Floats
    linear: Floats
    square: Floats

    def __getitem__(self, blocks: slice) -> Increments:
        """Some of the blocks."""
        parts = self.sizes[blocks], self.cross[blocks], self.linear[blocks], self.square[blocks]
        return Increments(*parts)

    @property
    def n_samples(self) -> int:
        """Number of items."""
        return int(self.sizes.sum())

    @property
    def starts(self) -> Integers:
        """Number of items before each block."""
        return np.cumsum(self.sizes) - self.sizes

    @property
    def of_one_hit(self) -> Floats:
        """What a hit in each block adds if it is the first and only one."""
        return self.linear + self.square

    @property
    def is_inert(self) -> NDArray[np.bool_]:
        """Which blocks add nothing."""
        return np.asarray((self.cross == 0.0) & (self.linear == 0.0) & (self.square == 0.0))

    def gain(self, block: int, before: Any, y: Any) -> Any:
        """What `y` hits in a block add, with so many hits before it; elementwise."""
        return y * (self.cross[block] * before + self.linear[block] + self.square[block] * y)

    def negated(self) -> Increments:
        """Coefficients of the statistic with the opposite sign."""
        return Increments(self.sizes, -self.cross, -self.linear, -self.square)

    def from_the_end(self, n_positives: int) -> Increments:
        """The same statistic with the blocks in the opposite order, where all hits are so many.

        With h' hits in later blocks and y in a block there are ``n_positives - h' - y`` before it.
        """
        linear = self.linear + self.cross * n_positives
        square = self.square - self.cross
        return Increments(self.sizes[::-1], -self.cross[::-1], linear[::-1], square[::-1])

    def of_misses(self) -> tuple[Increments, float]:
        """The same statistic told by its misses: ``S = constant - (statistic of the misses)``.

        With ``x = size - y`` misses in a block, w before it and B items before it, the misses take
        away ``x (-cross w + linear' - square x)`` of the value that all hits would have, where
        ``linear' = cross B + linear + 2 square size + sum over later blocks of size cross``.
        """
        crossed = self.sizes * self.cross
        later = crossed.sum() - np.cumsum(crossed)
        linear = self.cross * self.starts + self.linear + 2.0 * self.square * self.sizes + later
        misses = Increments(self.sizes, -self.cross, linear, -self.square)
        return misses, float(self.total(self.sizes))

    def total(self, hits: ArrayLike) -> Floats:
        """Value of the statistic for hits per block, along the last axis."""
        y = np.asarray(hits, dtype=float)
        before = np.cumsum(y, axis=-1) - y
        return np.asarray((y * (self.cross * before + self.linear + self.square * y)).sum(axis=-1))


class Statistic(Protocol):
    """An additive rank statistic: the coefficients of its increments, for any block."""

    @property
    def horizon(self) -> int | None:
        """Rank beyond which hits add nothing; None where every rank counts."""

    def tied(self, starts: ArrayLike, sizes: ArrayLike, n_positives: int) -> Increments:
        """Coefficients of blocks of equal scores, each given by its start and size."""

    def shuffled(self, starts: ArrayLike, sizes: ArrayLike, n_positives: int) -> Increments:
        """Coefficients of the expected increment when a block is put in random order."""

    def log_probability_of_one(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> float:
        """Natural logarithm of the probability that the value is 1."""

    def best(self, n_samples: int, n_positives: int) -> Any:
        """Value of a perfect ranking without ties."""

    def evaluate(self, tie_sizes: Integers, hits: Integers) -> float:
        """Value for a ranking given by the sizes of its blocks and the hits in them."""
        starts = np.cumsum(tie_sizes) - tie_sizes
        return float(self.tied(starts, tie_sizes, int(np.sum(hits))).total(hits))


@dataclass(frozen=True)
class AveragePrecision(Statistic):
    """Average precision, of the whole ranking or of its first k places.

    A block of equal scores is one threshold, as in scikit-learn, so that a block of ``y`` hits that
    ends at rank T, with h hits before it, adds ``y (h + y) / T``. A block that straddles rank k
    adds its expectation over random tie-breaking.

    Parameters
    ----------
    k : int or None
        Cut-off; None is the whole ranking.
    normalize : {"min", "positives"}
        Divide by ``min(n_positives, k)`` or by ``n_positives``.
    """

    k: int | None = None
    normalize: str = "min"

    @property
    def horizon(self) -> int | None:
        """Rank beyond which hits add nothing; None where every rank counts."""
        return self.k

    def divisor(self, n_positives: int) -> float:
        """What the sum of precisions is divided by."""
        if self.k is None or self.normalize == "positives":
            return float(max(n_positives, 1))
        return float(max(min(n_positives, self.k), 1))

    def best(self, n_samples: int, n_positives: int) -> float:
        """Value of a perfect ranking without ties."""
        counted = n_positives if self.k is None else min(n_positives, self.k)
        return counted / self.divisor(n_positives)

    def tied(self, starts: ArrayLike, sizes: ArrayLike, n_positives: int) -> Increments:
        """Coefficients of blocks of equal scores."""
        start, size = _blocks(starts, sizes)
        divisor = self.divisor(n_positives)
        whole = np.asarray(1.0 / ((start + size) * divisor), dtype=float)
        increments = Increments(size, whole, np.zeros_like(whole), whole)
        if self.k is None:
            return increments
        cut = start + size > self.k
        partial = self.shuffled(start, size, n_positives)
        return Increments(
            size,
            np.where(cut, partial.cross, increments.cross),
            np.where(cut, partial.linear, increments.linear),
            np.where(cut, partial.square, increments.square),
        )

    def shuffled(self, starts: ArrayLike, sizes: ArrayLike, n_positives: int) -> Increments:
        """Coefficients of the expected increment of blocks in random order, up to rank k.

        With a = ``starts``, g = ``sizes``, j places of the block counted and ``S = H_{a+j} - H_a``:
        ``h y S/g + y S/g + y (y-1) (j - (a+1) S) / (g (g-1))``.
        """
        start, size = _blocks(starts, sizes)
        divisor = self.divisor(n_positives)
        counted = size if self.k is None else np.clip(self.k - start, 0, size)
        one_hit = harmonic_between(start, start + counted)
        each = one_hit / (size * divisor)
        # j - (a+1) S counts the places behind another place, each divided by its rank.
        behind = np.where(counted > 1, counted - (start + 1.0) * one_hit, 0.0)
        pairs = behind / (np.maximum(size * (size - 1.0), 1.0) * divisor)
        return Increments(size, each, each - pairs, pairs)

    def log_probability_of_one(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> float:
        """Natural logarithm of the probability that the value is 1.

        It is 1 if and only if every block down to rank ``min(n_positives, k)`` holds nothing but
        hits.
        """
        reached = n_positives if self.k is None else min(n_positives, self.k)
        if self.divisor(n_positives) > reached:
            return -math.inf
        if tie_sizes is not None:
            ends = np.cumsum(tie_sizes)
            reached = int(ends[np.searchsorted(ends, reached)])
        if reached > n_positives:
            return -math.inf
        return log_binomial(n_samples - reached, n_positives - reached) - log_binomial(
            n_samples, n_positives
        )


@dataclass(frozen=True, eq=False)
class HitsAtK(Statistic):
    """Hits among the first k places, as a share of all positives or of the places.

    A block of equal scores that straddles rank k adds its expectation over random tie-breaking:
    ``y j / g`` for y hits among its g items, j of which have a place.

    Parameters
    ----------
    k : int or ndarray of int
        Cut-off; an array stands for one statistic each.
    divisor : {"positives", "places"}
        Divide by the number of positives (recall) or by k (precision).
    """

    k: int | Integers
    divisor: str = "positives"

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, HitsAtK) and self.divisor == other.divisor
        return same and np.array_equal(self.k, other.k)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.divisor, np.asarray(self.k, dtype=np.int64).tobytes()))

    @property
    def horizon(self) -> int:
        """Rank beyond which hits add nothing."""
        return int(np.max(self.k))

    def divided_by(self, n_positives: int) -> Any:
        """What the number of hits is divided by."""
        return max(n_positives, 1) if self.divisor == "positives" else self.k

    def best(self, n_samples: int, n_positives: int) -> Any:
        """Value of a perfect ranking without ties."""
        return np.minimum(n_positives, self.k) / self.divided_by(n_positives)

    def tied(self, starts: ArrayLike, sizes: ArrayLike, n_positives: int) -> Increments:
        """Coefficients of blocks of equal scores, for one k."""
        start, size = _blocks(starts, sizes)
        counted = np.clip(self.k - start, 0, size)
        each = counted / (size * float(self.divided_by(n_positives)))
        return Increments(size, np.zeros_like(each), each, np.zeros_like(each))

    def shuffled(self, starts: ArrayLike, sizes: ArrayLike, n_positives: int) -> Increments:
        """Coefficients of the expected increment of blocks in random order: the same."""
        return self.tied(starts, sizes, n_positives)

    def log_probability_of_one(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> float:
        """Natural logarithm of the probability that the value is 1, for one k.

        Recall is 1 where every hit is in a block that ends by k, precision where every block that
        begins before k holds nothing but hits.
        """
        before, inside, counted = (int(part) for part in self.straddling(tie_sizes))
        hits, chosen_from = n_positives, before
        if self.divisor == "places":
            full = before + (inside if counted else 0)
            hits, chosen_from = n_positives - full, n_samples - full
        if not 0 <= hits <= chosen_from:
            return -math.inf
        return log_binomial(chosen_from, hits) - log_binomial(n_samples, n_positives)

    def straddling(self, tie_sizes: Integers | None) -> tuple[Integers, Integers, Integers]:
        """Items in blocks that end by k; size of the block that straddles k, and places in it.

        Where no block straddles k it has no places, and size 1.
        """
        k = np.asarray(self.k, dtype=np.int64)
        if tie_sizes is None:
            return k, np.ones_like(k), np.zeros_like(k)
        ends = np.cumsum(tie_sizes)
        block = np.searchsorted(ends, k, side="left")
        whole = ends[block] == k
        start = ends[block] - tie_sizes[block]
        return (
            np.where(whole, k, start),
            np.where(whole, 1, tie_sizes[block]),
            np.where(whole, 0, k - start),
        )

    def count(self, tie_sizes: Integers, hits: Integers) -> Any:
        """Number of hits among the first k places, a fraction where a block straddles k."""
        before, inside, counted = self.straddling(tie_sizes)
        ends = np.cumsum(tie_sizes)
        hits_before = np.append(0, np.cumsum(hits))[np.searchsorted(ends, before, side="right")]
        straddler = np.searchsorted(ends, before + 1)
        found = np.append(hits, 0)[straddler]
        return hits_before + found * counted / inside

    def evaluate(self, tie_sizes: Integers, hits: Integers) -> Any:
        """Value for a ranking given by the sizes of its blocks and the hits in them."""
        value = self.count(tie_sizes, hits) / self.divided_by(int(np.sum(hits)))
        return value if np.ndim(self.k) else float(value)


def _blocks(starts: ArrayLike, sizes: ArrayLike) -> tuple[Integers, Integers]:
    start, size = np.broadcast_arrays(
        np.asarray(starts, dtype=np.int64), np.asarray(sizes, dtype=np.int64)
    )
    return start, size


def increments_of(
    statistic: Statistic, n_samples: int, n_positives: int, tie_sizes: Integers | None
) -> Increments:
    """Coefficients for every block of a ranking; without ties every item is a block.

    Ranks beyond the horizon of the statistic make one last block that adds nothing.
    """
    horizon = n_samples if statistic.horizon is None else min(statistic.horizon, n_samples)
    sizes = np.ones(horizon, dtype=np.int64) if tie_sizes is None else tie_sizes
    ends = np.cumsum(sizes)
    n_blocks = min(int(np.searchsorted(ends, horizon)) + 1, sizes.size)
    counted = sizes[:n_blocks]
    beyond = n_samples - int(ends[n_blocks - 1])
    increments = statistic.tied(ends[:n_blocks] - counted, counted, n_positives)
    return _with_inert_block(increments, beyond)


def _with_inert_block(increments: Increments, size: int) -> Increments:
    if size == 0:
        return increments
    return Increments(
        np.append(increments.sizes, size),
        np.append(increments.cross, 0.0),
        np.append(increments.linear, 0.0),
        np.append(increments.square, 0.0),
    )


def grouped_increments(
    statistic: Statistic,
    n_samples: int,
    n_positives: int,
    tie_sizes: Integers | None,
    ratio: float,
    resolution: float = math.inf,
    around: int | None = None,
) -> Increments:
    """Coefficients with far blocks merged, so that their number grows like log(n) / ratio.

    Consecutive blocks are merged while the end of the merged block is at most ``1 + ratio`` times
    its start, and a single hit adds the same up to the resolution wherever it is in it; the
    increment of a merged block is its expectation given the hits before and in it. Around a rank
    blocks are also no wider than about that part of their distance from it.
    """
    horizon = n_samples if statistic.horizon is None else min(statistic.horizon, n_samples)
    apart = np.empty(0, dtype=np.int64)
    if around is not None:
        below = around - _geometric_edges(around, ratio)
        apart = np.concatenate([below, around + _geometric_edges(n_samples - around, ratio)])
    if tie_sizes is not None:
        increments = increments_of(statistic, n_samples, n_positives, tie_sizes)
        return _merge(increments, ratio, resolution, apart)
    edges = np.union1d(_geometric_edges(horizon, ratio), apart[apart <= horizon])
    near, far = (
        statistic.tied(ranks, 1, n_positives).of_one_hit for ranks in (edges[:-1], edges[1:] - 1)
    )
    edges = _subdivided(edges, np.abs(near - far) / resolution)
    sizes = np.diff(edges)
    single = statistic.tied(edges[:-1], sizes, n_positives)
    merged = statistic.shuffled(edges[:-1], sizes, n_positives)
    alone = sizes == 1
    increments = Increments(
        sizes,
        np.where(alone, single.cross, merged.cross),
        np.where(alone, single.linear, merged.linear),
        np.where(alone, single.square, merged.square),
    )
    return _with_inert_block(increments, n_samples - horizon)


def _geometric_edges(n_ranks: int, ratio: float) -> Integers:
    edges = list(range(min(n_ranks, int(1.0 / ratio)) + 1))
    while edges[-1] < n_ranks:
        edges.append(min(n_ranks, edges[-1] + max(1, int(ratio * edges[-1]))))
    return np.asarray(edges, dtype=np.int64)


def _subdivided(edges: Integers, n_parts: Floats) -> Integers:
    """Edges of intervals, each cut into about so many equal parts."""
    sizes = np.diff(edges)
    parts = np.clip(np.ceil(n_parts), 1, sizes).astype(np.int64)
    part = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    inner = np.repeat(edges[:-1], parts) + part * np.repeat(sizes, parts) // np.repeat(parts, parts)
    return np.append(inner, edges[-1])


def merged_firsts(sizes: Integers, ratio: float) -> Integers:
    """First of the consecutive blocks that become one each, up to ``1 + ratio`` times its start."""
    ends = np.cumsum(sizes)
    firsts, block = [], 0
    while block < ends.size:
        firsts.append(block)
        start = int(ends[block] - sizes[block])
        # Compared as integers, which spares a copy of all ends.
        limit = int(start + ratio * start)
        block = max(block + 1, int(np.searchsorted(ends, limit, side="right")))
    return np.asarray(firsts)


def _merge(increments: Increments, ratio: float, resolution: float, apart: Integers) -> Increments:
    first = np.searchsorted(
        np.cumsum(increments.sizes), apart[apart < increments.n_samples], "right"
    )
    first = np.union1d(merged_firsts(increments.sizes, ratio), first)
    edges = np.append(first, increments.sizes.size)
    spread = np.abs(increments.of_one_hit[edges[:-1]] - increments.of_one_hit[edges[1:] - 1])
    first = _subdivided(edges, spread / resolution)[:-1]
    g = increments.sizes.astype(float)
    size = np.add.reduceat(increments.sizes, first)
    inside_before = increments.starts - np.repeat(
        increments.starts[first], np.diff([*first, len(g)])
    )
    # E[y_i] = y g_i/G, E[y_i (y_i - 1)] = y (y-1) g_i (g_i-1) / (G (G-1)), and so for i < j.
    cross = np.add.reduceat(g * increments.cross, first) / size
    alone = np.add.reduceat(g * increments.of_one_hit, first) / size
    together = np.add.reduceat(
        g * (g - 1.0) * increments.square + g * inside_before * increments.cross, first
    )
    pairs = together / np.maximum(size * (size - 1.0), 1.0)
    return Increments(size, cross, alone - pairs, pairs)
