"""The canonical form of a statistic: what is counted, in which blocks, with which weights.

The same null distribution has many descriptions. A sum over the hits is a constant less a sum over
the misses; blocks with equal weights are one block, and so are all ranks that add nothing; a
constant that every hit adds, and a common factor of all weights, move the values only. Solvers see
one of them, the canonical sum X with ``S = constant + factor X``:

* the fewer of hits and misses are counted;
* neighbouring blocks of equal weights, and all ranks behind the horizon, are one block;
* the smallest weight of a sum of weights is 0, and the largest lies between 1/2 and 1;
* the step of the lattice on which a sum of weights lies is the greatest common divisor of them.

Long lists without ties are never listed rank by rank: `CanonicalSum.merged` applies the same map to
increments with far ranks merged. "Canonical form" in doc/theory.rst.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

import numpy as np

from sklearn_rankinf._statistics import (
    LEAST_OF_ALL,
    Floats,
    Increments,
    Integers,
    Statistic,
    adds_most_above,
    cached_property,
    edges_around,
    geometric_edges,
    horizon_of,
    increments_of,
    merged_increments,
    subdivided_edges,
)

# Ranks without ties among which equal weights are looked for.
_MOST_RANKS_COMPARED = 2_000_000
# Weights are equal up to this many units in the last place, since means over ties are rounded, and
# up to this part of the difference between the largest and the smallest one.
_ULPS = 4.0
_SAME = 1e-12
# Largest number of steps between two weights: with more, rounding hides which fraction it is.
_MOST_STEPS = 4_000_000
# Weights are multiples of a step if off by no more than this part of the largest weight, and of the
# step.
_ROUNDING = 2e-15
_LARGEST_ROUNDING = 1e-3
# Ranks of hits that are added up together.
_RANKS_TOGETHER = 1 << 22
# Ratio up to which ranks are merged to sum all weights.
_RATIO_OF_SUMS = 0.05


@dataclass(frozen=True, eq=False)
class Form:
    """The map from the increments of hits to canonical ones, and from values to canonical ones.

    Attributes
    ----------
    by_misses : bool
        Whether misses are counted.
    side : int
        -1 if the largest of what is counted has to be lowest, else 1.
    lowest, scale : float
        The smallest weight and the unit of all others, a power of two.
    constant, factor : float
        ``S = constant + factor X``.
    """

    by_misses: bool
    side: int
    lowest: float
    scale: float
    constant: float
    factor: float

    @classmethod
    def of(
        cls,
        by_misses: bool,
        side: int,
        lowest: float,
        largest: float,
        n_counted: int,
        all_hits: float,
    ) -> Form:
        """The form with the extreme weights of what is counted, on its side."""
        unit = math.ldexp(1.0, math.frexp(largest - lowest)[1]) if largest > lowest else 1.0
        turned = -side if by_misses else side
        constant = (all_hits if by_misses else 0.0) + turned * n_counted * lowest
        return cls(by_misses, side, lowest, unit, constant, turned * unit)

    def increments(self, increments: Increments) -> Increments:
        """Canonical increments, by those of the hits."""
        counted = increments.of_misses()[0] if self.by_misses else increments
        linear = self.side * counted.linear - self.lowest
        if self.lowest != 0.0:
            # The mean of a merged block is rounded.
            linear = np.maximum(linear, 0.0)
        cross, square = self.side * counted.cross, self.side * counted.square
        return Increments(
            counted.sizes, cross / self.scale, linear / self.scale, square / self.scale
        )

    def value(self, t: Floats, sign: int) -> tuple[Floats, int]:
        """Canonical values, and the side of the tail of the canonical sum."""
        with np.errstate(over="ignore"):
            return (t - self.constant) / self.factor, sign if self.factor > 0.0 else -sign


class CanonicalSum:
    """A statistic as the canonical sum of what is counted.

    Attributes
    ----------
    n_samples, n_counted, n_blocks : int
        Numbers of items, of hits or misses that are counted, and of blocks.
    form : Form
        How it is found.
    has_ties : bool
        Whether several items that add something are in one block.
    """

    def __init__(
        self,
        form: Form,
        n_samples: int,
        n_counted: int,
        blocks: Increments | None,
        grouped: Callable[..., Increments],
        listed: Callable[[], Increments] | None = None,
    ) -> None:
        self.form, self.n_samples, self.n_counted = form, n_samples, n_counted
        # Blocks of the hits, in the canonical partition; None for a list that is not listed.
        self._blocks_of_hits = blocks
        self.n_blocks = n_samples if blocks is None else int(blocks.sizes.size)
        self.has_ties = False
        if blocks is not None:
            self.has_ties = bool(blocks.sizes[~blocks.is_inert].max(initial=1) > 1)
        self._listed = listed or (lambda: grouped(None))
        # Merged blocks are few, and used several times.
        self._grouped = cache(grouped)

    @classmethod
    def of_problem(
        cls, statistic: Statistic, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> CanonicalSum:
        """The canonical sum of a statistic."""
        problem = statistic, n_samples, n_positives, tie_sizes
        blocks = _canonical_blocks(*problem)
        if blocks is None:
            # Weights do not increase with the rank.
            extremes = statistic.tied(np.array([0, n_samples - 1]), 1, n_samples, n_positives)
            grouped = partial(grouped_increments, *problem)
        else:
            extremes, grouped = blocks, partial(_grouped_blocks, blocks)
        all_hits = grouped(_RATIO_OF_SUMS, math.inf).of_misses()[1]
        by_misses = 2 * n_positives > n_samples
        if by_misses:
            # Hits at the bottom may add so little that it would be lost beside what all hits add.
            at_bottom = _value_at_the_bottom(statistic, n_samples, n_positives, blocks)
            by_misses = at_bottom > LEAST_OF_ALL * all_hits
        n_counted = n_samples - n_positives if by_misses else n_positives
        if extremes.is_linear:
            lowest, largest = float(extremes.linear.min()), float(extremes.linear.max())
        else:
            lowest, largest = 0.0, float(np.abs(extremes.of_one_hit).max())
        form = Form.of(by_misses, 1, lowest, largest, n_counted, all_hits)
        return cls(form, n_samples, n_counted, blocks, grouped, partial(increments_of, *problem))

    @classmethod
    def of_increments(cls, increments: Increments, n_positives: int) -> CanonicalSum:
        """The canonical sum of given increments, with the largest influence of a hit on top."""
        n, m = increments.n_samples, n_positives
        blocks = with_equal_blocks_merged(increments)
        by_misses, side = 2 * m > n, 1
        counted, all_hits = blocks.of_misses() if by_misses else (blocks, 0.0)
        if by_misses:
            m = n - m
        lowest, largest = 0.0, float(np.abs(counted.of_one_hit).max())
        if counted.is_linear:
            # What all positives add alike says nothing about how coarse the sum is.
            side = 1 if adds_most_above(counted, m) else -1
            weights = side * counted.linear
            lowest, largest = float(weights.min()), float(weights.max())
        form = Form.of(by_misses, side, lowest, largest, m, all_hits)
        return cls(form, n, m, blocks, partial(_grouped_blocks, blocks))

    @property
    def blocks_of_hits(self) -> Increments:
        """Increments of the hits, on their own scale, block by block; without ties rank by rank."""
        return self._listed() if self._blocks_of_hits is None else self._blocks_of_hits

    @property
    def blocks(self) -> Increments:
        """Canonical increments, block by block."""
        return self.form.increments(self.blocks_of_hits)

    def merged(
        self, ratio: float | None, resolution: float = math.inf, around: int | None = None
    ) -> Increments:
        """Canonical increments with far blocks merged (`grouped_increments`); None: block by block.

        The resolution is in canonical units.
        """
        if ratio is None:
            return self.blocks
        return self.form.increments(self._grouped(ratio, resolution * self.form.scale, around))

    @cached_property
    def step(self) -> float:
        """Largest number of which all values are multiples; 0 if there is none."""
        return step_of(self.blocks)


def _canonical_blocks(
    statistic: Statistic, n_samples: int, n_positives: int, tie_sizes: Integers | None
) -> Increments | None:
    """Blocks of the hits, equal ones merged; None for a list that needs none, or is too long."""
    horizon = horizon_of(statistic, n_samples)
    if tie_sizes is None and horizon == n_samples:
        if n_samples > _MOST_RANKS_COMPARED or not _is_linear(statistic, n_samples, n_positives):
            return None
        ranks = increments_of(statistic, n_samples, n_positives, None)
        blocks = with_equal_blocks_merged(ranks)
        return None if blocks is ranks else blocks
    return with_equal_blocks_merged(increments_of(statistic, n_samples, n_positives, tie_sizes))


def _is_linear(statistic: Statistic, n_samples: int, n_positives: int) -> bool:
    ends = statistic.tied(np.array([0, n_samples - 1]), 1, n_samples, n_positives)
    return ends.is_linear


def _value_at_the_bottom(
    statistic: Statistic, n_samples: int, n_positives: int, blocks: Increments | None
) -> float:
    """Value with all hits at the bottom."""
    if blocks is None:
        return value_in_a_row(statistic, n_samples, n_positives, n_samples - n_positives)
    ends = np.cumsum(blocks.sizes)
    return float(blocks.total(np.diff(np.maximum(ends - (n_samples - n_positives), 0), prepend=0)))


def value_in_a_row(statistic: Statistic, n_samples: int, n_positives: int, start: int) -> float:
    """Value of an untied ranking with all hits in a row, behind the first `start` ranks."""
    total = 0.0
    for first in range(0, n_positives, _RANKS_TOGETHER):
        hits = np.arange(first, min(first + _RANKS_TOGETHER, n_positives))
        ranks = statistic.tied(start + hits, 1, n_samples, n_positives)
        total += float(np.sum(ranks.cross * hits + ranks.linear + ranks.square))
    return total


def grouped_increments(
    statistic: Statistic,
    n_samples: int,
    n_positives: int,
    tie_sizes: Integers | None,
    ratio: float,
    resolution: float = math.inf,
    around: int | None = None,
) -> Increments:
    """Coefficients with far blocks merged.

    A merged block ends at most at ``1 + ratio`` times its start, and the increments of a single hit
    at its two ends differ by at most about the resolution. Blocks near the rank `around` are no
    wider than about the same ratio of their distance from it.
    """
    horizon = horizon_of(statistic, n_samples)
    apart = edges_around(around, n_samples, ratio)
    if tie_sizes is not None:
        increments = increments_of(statistic, n_samples, n_positives, tie_sizes)
        return merged_increments(increments, ratio, resolution, apart)
    edges = np.union1d(geometric_edges(horizon, ratio), apart[apart <= horizon])
    first, last = (
        statistic.tied(ranks, 1, n_samples, n_positives).of_one_hit
        for ranks in (edges[:-1], edges[1:] - 1)
    )
    edges = subdivided_edges(edges, np.abs(first - last), resolution)
    sizes = np.diff(edges)
    single = statistic.tied(edges[:-1], sizes, n_samples, n_positives).coefficients
    merged = statistic.shuffled(edges[:-1], sizes, n_samples, n_positives).coefficients
    parts = (np.where(sizes == 1, *pair) for pair in zip(single, merged, strict=True))
    return Increments(sizes, *parts).with_inert_block(n_samples - horizon)


def _grouped_blocks(
    blocks: Increments, ratio: float | None, resolution: float = math.inf, around: int | None = None
) -> Increments:
    """Given blocks, merged as in `grouped_increments`."""
    if ratio is None:
        return blocks
    apart = edges_around(around, blocks.n_samples, ratio)
    return merged_increments(blocks, ratio, resolution, apart)


def with_equal_blocks_merged(increments: Increments) -> Increments:
    """The same increments with neighbouring blocks merged that are as one; themselves if none are.

    In a sum of weights blocks of equal weights are one: only the number of hits in both matters.
    Of others, which depend on the hits before them, those that add nothing.
    """
    linear = increments.linear
    if increments.is_linear:
        rounding = _ULPS * np.finfo(float).eps * np.abs(linear[1:])
        most = _SAME * float(linear.max() - linear.min())
        same = np.abs(np.diff(linear)) <= np.minimum(rounding, most)
    else:
        same = increments.is_inert[1:] & increments.is_inert[:-1]
    if not same.any():
        return increments
    first = np.append(0, np.flatnonzero(~same) + 1)
    sizes = np.add.reduceat(increments.sizes, first)
    return Increments(sizes, *(part[first] for part in increments.coefficients))


def step_of(increments: Increments) -> float:
    """Largest number of which all differences of weights are multiples; 0 if there is none.

    The least common denominator of the weights above the smallest one, as parts of the largest: it
    grows by the denominator of one part after the other, by continued fractions, until all parts
    are multiples. That is checked for each of them, to the rounding of floats.
    """
    if not increments.is_linear:
        return 0.0
    weights = np.unique(increments.linear)
    largest = float(weights[-1] - weights[0])
    if largest == 0.0:
        return 0.0
    parts = (weights - weights[0]) / largest
    # No difference of rounded numbers is smaller than this part: weights fall by such factors.
    if 0.0 < parts[1] < 0.25 * np.finfo(float).eps:
        return 0.0
    rounding = _ROUNDING * float(np.abs(weights).max()) / largest
    n_steps = 1
    while True:
        away = np.abs(parts * n_steps - np.rint(parts * n_steps))
        worst = int(np.argmax(away))
        if away[worst] <= min(rounding * n_steps, _LARGEST_ROUNDING):
            return largest / n_steps
        denominator = Fraction(float(parts[worst])).limit_denominator(_MOST_STEPS).denominator
        larger = math.lcm(n_steps, denominator)
        if larger == n_steps or larger > _MOST_STEPS:
            return 0.0
        n_steps = larger


def constant_value(statistic: Statistic, n_samples: int, n_positives: int) -> float:
    """Value of the statistic where no item or every item is a hit."""
    if n_positives == 0:
        return 0.0
    every = grouped_increments(statistic, n_samples, n_positives, None, _RATIO_OF_SUMS)
    # Rounding must not exceed what cannot be exceeded.
    total = min(every.total(every.sizes), statistic.best(n_samples, n_positives))
    return float(total) + statistic.offset(n_samples, n_positives)
