"""Guaranteed bounds of the tails of a distribution that has too many atoms to list.

On a lattice where every increment is rounded down, a sum of K increments loses at least nothing and
less than K cells, and K is known from the hits. One forward pass therefore bounds both tails at
every value, from below and from above, whatever the number of cells; what it costs is known
beforehand. Where blocks are so many
that they have to be merged there are two passes, for the least and the most that a merged block can
add.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import rel_entr

from sklearn_rankinf._engine.exact.lattice import ROUNDING, Histogram, histograms, n_numbers
from sklearn_rankinf._engine.inversion.bands import Bands, feasible_bands
from sklearn_rankinf._engine.merging import merged_firsts
from sklearn_rankinf._engine.moments import mean_and_variance
from sklearn_rankinf._engine.statistics import (
    Floats,
    Increments,
    Integers,
    Statistic,
    increments_of,
)

# Additions of cells that are affordable, the number of cells that takes as long as the preparation
# of an addition, and the largest number of cells.
_WORK, _OVERHEAD, _MAX_CELLS = 3e9, 2500, 1 << 16
# Numbers that may be held at a time.
_MAX_NUMBERS = 20_000_000
# A sum that is uncertain by fewer standard deviations than these is not worth more work.
_CLOSE = 1e-3
# More blocks are not affordable whatever the number of hits, before and after they are merged.
_MAX_BLOCKS, _MAX_MERGED = 1_000_000, 100_000
# Ratios up to which blocks may be merged.
_RATIOS = (0.0, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064)
# A sum that is uncertain by more than this part of what the lattice reaches is not worth the work.
_WIDEST = 0.25
# A lattice reaches so many standard deviations above the mean, or farther, in so many steps to
# twice as many.
_REACH, _LEVELS = 4.0, 2.0
# Beyond all rounding errors of a pass, relatively and, where floats end, absolutely; and beyond
# those of what misses take away, relative to all that there is.
_RELATIVE, _ABSOLUTE, _CANCELLED = 1e-7, 1e-280, 1e-12


class TailBounds:
    """Bounds of both tails of a statistic whose increments are not negative, where affordable.

    Where misses are fewer than hits it is the sum of what they take away that is bounded.
    """

    def __init__(
        self, statistic: Statistic, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> None:
        self._problem = statistic, n_samples, n_positives, tie_sizes
        self._by_misses = 2 * n_positives > n_samples
        self._n_counted = n_samples - n_positives if self._by_misses else n_positives
        # Of a perfect ranking without ties.
        self._best = float(statistic.best(n_samples, n_positives))
        n_ranks = min(n_samples, statistic.horizon or n_samples)
        self._n_blocks = n_ranks if tie_sizes is None else tie_sizes.size
        self._distributions: dict[tuple[bool, int], Enclosure | None] = {}

    def bounds(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Bounds of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1): 0 and 1 if unaffordable."""
        lower, upper = np.zeros(t.shape), np.ones(t.shape)
        if self._n_blocks > _MAX_BLOCKS:
            return lower, upper
        everything = self._increments[1]
        sums, side = (everything - t, -sign) if self._by_misses else (t, sign)
        mean, deviation = self._mean_and_deviation
        # No level reaches further than the values do.
        highest = everything if self._by_misses else self._best
        z = (np.clip(sums, 0.0, highest) - mean) / deviation
        beyond = np.log2(np.maximum(np.abs(z) / _REACH, 1.0))
        levels = np.ceil(_LEVELS * beyond).astype(int)
        for above in (False, True):
            for level in np.unique(levels[(z > 0.0) == above]).tolist():
                same = (levels == level) & ((z > 0.0) == above)
                distribution = self._distribution(above, level)
                if distribution is not None:
                    slack = side * _CANCELLED * everything
                    lower[same] = distribution.bounds(sums[same] + slack, side)[0]
                    upper[same] = distribution.bounds(sums[same] - slack, side)[1]
        return _monotone(t, lower, upper, sign)

    @cached_property
    def _increments(self) -> tuple[Increments, float]:
        """What is summed; and the value from which misses take it away."""
        increments = increments_of(*self._problem)
        return increments.of_misses() if self._by_misses else (increments, 0.0)

    @cached_property
    def _mean_and_deviation(self) -> tuple[float, float]:
        mean, variance = mean_and_variance(self._increments[0], self._n_counted)
        return mean, math.sqrt(variance)

    def _distribution(self, above: bool, level: int) -> Enclosure | None:
        """A distribution for sums on one side of the mean; None if it is not affordable.

        Where the level is not affordable the one before bounds what lies beyond its top.
        """
        if (above, level) not in self._distributions:
            mean, deviation = self._mean_and_deviation
            reach = _REACH * 2.0 ** (level / _LEVELS)
            # What is left out is far less than the tail at the far end of the level; the upper one
            # is mostly a matter of few top ranks and falls off exponentially.
            if above:
                top, log_omitted = mean + reach * deviation, -30.0 - 3.0 * reach
            else:
                top, log_omitted = mean, -50.0 - 2.0 * reach**2
            close, widest = _CLOSE * deviation, _WIDEST * reach * deviation
            distribution = enclosure(
                self._increments[0], self._n_counted, top, close, widest, log_omitted
            )
            if distribution is None and level > 0:
                distribution = self._distribution(above, level - 1)
            self._distributions[above, level] = distribution
        return self._distributions[above, level]


def middle(lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
    """Log of the middle between two bounds, and half their distance relative to the lower one.

    That is infinite where the lower bound is 0.
    """
    known = lower > 0.0
    log_p = np.where(known, np.log(np.where(known, 0.5 * (lower + upper), 1.0)), -np.inf)
    return log_p, np.where(known, 0.5 * (upper - lower) / np.where(known, lower, 1.0), np.inf)


@dataclass(frozen=True, eq=False)
class Enclosure:
    """A distribution between those of two sums that enclose the sum.

    Attributes
    ----------
    width : float
        Width of a cell.
    slack : float
        The sum exceeds the larger one by fewer cells, for rounding errors.
    smaller, larger : Histogram
        Distributions of the two sums.
    omitted : float
        More than the probability of what was left out.
    """

    width: float
    slack: float
    smaller: Histogram
    larger: Histogram
    omitted: float

    def bounds(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Bounds of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1)."""
        cells = np.clip(t, -self.width, self.smaller.below.size * self.width) / self.width
        smaller = self.smaller.tail(cells + ROUNDING, sign)
        larger = self.larger.tail(cells - self.slack, sign)
        lower, upper = (smaller[0], larger[1]) if sign > 0 else (larger[0], smaller[1])
        lower = lower * (1.0 - _RELATIVE) * (1.0 - self.omitted) - _ABSOLUTE
        upper = upper * (1.0 + _RELATIVE) + self.omitted + _ABSOLUTE
        return np.maximum(lower, 0.0), np.minimum(upper, 1.0)


def enclosure(
    increments: Increments,
    n_hits: int,
    top: float,
    close: float,
    widest: float,
    log_omitted: float,
) -> Enclosure | None:
    """An enclosure of a distribution up to `top`, as close as is affordable, or as `close`.

    None if it leaves a sum uncertain by more than `widest`. Paths of a probability of up to
    ``exp(log_omitted)`` together are left out.
    """
    pairs = [bounding_increments(increments, ratio) for ratio in _RATIOS]
    plans = [
        _Plan(*pair, n_hits, top, close, log_omitted)
        for pair in pairs
        if pair[0].sizes.size <= _MAX_MERGED
    ]
    plan = min(plans, key=lambda plan: plan.uncertainty)
    return plan.carry_out() if plan.uncertainty <= widest else None


class _Plan:
    """The cells that are affordable for the least and the most that is added, and their worth."""

    def __init__(
        self,
        least: Increments,
        most: Increments,
        n_hits: int,
        top: float,
        close: float,
        log_omitted: float,
    ) -> None:
        self._least, self._most = least, most
        self._n_hits, self._omitted = n_hits, math.exp(log_omitted)
        self._bands = probable_bands(least, n_hits, log_omitted)
        n_passes = 1 if least is most else 2
        affordable = _WORK / (n_passes * _n_additions(self._bands)) - _OVERHEAD
        n_rounded = _usual_roundings(most, n_hits)
        # A cell more, so that rounding cannot put the top outside.
        enough = math.ceil(n_rounded * top / close) + 1
        n_rows, n_at_once = n_numbers(self._bands)
        fitting = _MAX_NUMBERS // n_rows if n_at_once <= _MAX_NUMBERS else 0
        self._n_cells = int(min(_MAX_CELLS, affordable, enough, fitting))
        self._width = top / max(self._n_cells - 1, 1)
        merging = 0.0
        if n_passes == 2:
            merging = mean_and_variance(most, n_hits)[0] - mean_and_variance(least, n_hits)[0]
        uncertainty = merging + n_rounded * self._width
        self.uncertainty = uncertainty if self._n_cells > 1 else math.inf

    def carry_out(self) -> Enclosure:
        """One pass, or two where the least is not the most."""
        smaller, larger = self._histograms(self._least)
        if self._most is not self._least:
            larger = self._histograms(self._most)[1]
        slack = ROUNDING * (self._n_hits + 1.0)
        return Enclosure(self._width, slack, smaller, larger, self._omitted)

    def _histograms(self, increments: Increments) -> tuple[Histogram, Histogram]:
        return histograms(increments, self._n_hits, self._width, self._n_cells, self._bands)


def _usual_roundings(increments: Increments, n_hits: int) -> float:
    """In how many blocks increments are rounded, at the mean numbers of hits."""
    counted = ~increments.is_inert
    before = n_hits * (1.0 - increments.sizes[-1] / increments.n_samples)
    return float(min(before, counted[:-1].sum()) + counted[-1])


def bounding_increments(increments: Increments, ratio: float) -> tuple[Increments, Increments]:
    """Increments with blocks merged up to a ratio that never add more, and never less.

    The j-th hit in a merged block, which is the k-th in one of its blocks b, adds
    ``cross_b (h + j-1) + (linear_b + square_b) + (2 square_b - cross_b) (k-1)`` to the sum, with h
    hits before the merged block and k from 1 to j: each part is taken at its extremes.
    """
    if ratio == 0.0:
        return increments, increments
    inert = increments.is_inert
    first = merged_firsts(increments.sizes, ratio)
    # What adds nothing stays apart from what does.
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


def _n_additions(bands: Bands) -> float:
    """How often the histogram of a number of hits is added to another in a pass."""
    fewest, most = (np.append(0, before[:-1]) for before in (bands.low, bands.high))

    def up_to(total: Integers) -> Floats:
        """Pairs of hits before a block and in it, at least 1, that are together no more."""
        pairs = np.zeros(total.shape)
        for sign, start in ((1.0, total), (-1.0, total - bands.most)):
            n, beyond = np.maximum(start - fewest, 0.0), np.maximum(start - most - 1, 0.0)
            pairs += sign * 0.5 * (n * (n + 1.0) - beyond * (beyond + 1.0))
        return pairs

    return float(np.sum(up_to(bands.high) - up_to(bands.low - 1)))


def probable_bands(increments: Increments, n_hits: int, log_omitted: float) -> Bands:
    """Bands outside which all paths together have at most this probability, in logarithms.

    Three things may go wrong in each block: too few hits up to its end, too many, or too many in
    it.
    """
    feasible = feasible_bands(increments, n_hits)
    n, ends = increments.n_samples, np.cumsum(increments.sizes)
    least = log_omitted - math.log(3.0 * ends.size)
    return feasible.intersection(
        Bands(
            _furthest(n, n_hits, ends, least, -1),
            _furthest(n, n_hits, ends, least, 1),
            _furthest(n, n_hits, increments.sizes, least, 1),
            np.zeros_like(ends),
        )
    )


def _furthest(n: int, m: int, drawn: Integers, least: float, sign: int) -> Integers:
    """Most (sign 1) or fewest (sign -1) hits that need not be less probable than exp(least)."""
    mean = drawn * (m / n)
    kept = (np.floor(mean) if sign > 0 else np.ceil(mean)).astype(np.int64)
    beyond = np.minimum(drawn, m) + 1 if sign > 0 else np.full_like(drawn, -1)
    while np.any(np.abs(beyond - kept) > 1):
        middle = (kept + beyond) // 2
        likely = _log_tail_bound(middle, n, m, drawn) > least
        kept, beyond = np.where(likely, middle, kept), np.where(likely, beyond, middle)
    return np.asarray(kept)


def _log_tail_bound(hits: Integers, n: int, m: int, drawn: Integers) -> Floats:
    """Bound of the log probability of so many hits or more (fewer) above (below) their mean.

    Hoeffding's inequality [1]_, which holds without replacement: a share k / T of hits among T
    drawn items, or more, has at most the probability ``exp(-T D(k/T, m/n))``, where D is the
    relative entropy; and T and m may change places.

    References
    ----------
    .. [1] Hoeffding, W. (1963). Probability inequalities for sums of bounded random variables.
       Journal of the American Statistical Association, 58(301), 13-30.
    """

    def exponent(trials: Any, share: Any) -> Floats:
        expected = rel_entr(hits, trials * share)
        return np.asarray(expected + rel_entr(trials - hits, trials * (1.0 - share)))

    return -np.maximum(exponent(drawn, m / n), exponent(m, drawn / n))


def _monotone(t: Floats, lower: Floats, upper: Floats, sign: int) -> tuple[Floats, Floats]:
    """What bounds a tail bounds every tail inside it from above, and around it from below."""
    order = np.argsort(-sign * t)
    lower[order] = np.maximum.accumulate(lower[order])
    upper[order[::-1]] = np.minimum.accumulate(upper[order[::-1]])
    return lower, upper
