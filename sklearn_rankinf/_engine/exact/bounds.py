"""Guaranteed bounds of tail probabilities, at a cost that is known beforehand.

"Guaranteed bounds" in doc/theory.rst. Rounded down to a lattice (``exact/lattice.py``), a sum of K
increments loses less than K cells, so one pass bounds both tails at every value, equation (bounds).
If there are too many blocks, far ones are merged, with the least and the most that the increment of
a merged block can be, in two passes. Paths of the hits that are too improbable to matter are left
out, and a bound of their probability by Hoeffding's inequality is added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.special import rel_entr

from sklearn_rankinf._engine.canonical import CanonicalSum
from sklearn_rankinf._engine.exact.enumeration import largest_rests
from sklearn_rankinf._engine.exact.lattice import ROUNDING, Histogram, histograms
from sklearn_rankinf._engine.inversion.bands import Bands, feasible_bands
from sklearn_rankinf._statistics import (
    Floats,
    Increments,
    Integers,
    bounding_increments,
    cached_method,
    mean_and_variance,
)


@dataclass(frozen=True)
class BoundSettings:
    """Cost, reach and margins of the bounds."""

    # Most additions of cells for all passes together: a few seconds.
    work: float = 3e9
    # The same for a quick answer: some tenths of a second, and near the mean, where other methods
    # take longer.
    quick_work: float = 4e8
    quick_work_near: float = 1.6e9
    # Number of cells whose addition takes as long as the preparation of any addition.
    overhead: float = 2500.0
    # Most cells of a histogram.
    max_cells: int = 1 << 16
    # Most blocks before and after merging; more take too long for any number of hits.
    max_blocks: int = 1_000_000
    max_merged: int = 100_000
    # Ratios of end to start, less 1, up to which blocks may be merged.
    ratios: tuple[float, ...] = (0.0, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064)
    # A sum that is uncertain by fewer standard deviations than this needs no finer cells, or by
    # fewer than this part of a tolerance.
    close: float = 1e-3
    part_of_tolerance: float = 0.5
    # A quick answer may be so many times less certain. Beyond the first level it is closer: cells
    # for a few values take less time than their preparation.
    quick_widest: float = 4.0
    quick_part: float = 0.5
    # A sum that is uncertain by more than this part of the reach has the bounds 0 and 1.
    widest: float = 0.25
    # Reach of the first histogram in standard deviations above the mean.
    reach: float = 4.0
    # Number of histograms while the reach doubles; for quick answers, the second.
    levels: tuple[float, float] = (2.0, 6.0)
    # Sums up to a block, times blocks, that are compared with what the values of a level need.
    most_needed: float = 1e6
    # Margins beyond all rounding errors of a pass: relative, absolute where floats underflow, and
    # relative to the constant that is subtracted from values.
    relative: float = 1e-7
    absolute: float = 1e-280
    cancelled: float = 1e-12


SETTINGS = BoundSettings()


class TailBounds:
    """Bounds of both tails of a canonical sum with non-negative increments, if affordable.

    Parameters
    ----------
    canonical : CanonicalSum
        The sum.
    mean, deviation : float
        Its mean and standard deviation.
    highest : float
        A value that it does not exceed.
    tolerance : float, default=0.0
        Relative error that is accepted.
    """

    def __init__(
        self,
        canonical: CanonicalSum,
        mean: float,
        deviation: float,
        highest: float,
        tolerance: float = 0.0,
    ) -> None:
        self._canonical, self._highest = canonical, highest
        self._mean, self._deviation = mean, deviation
        self._close = max(SETTINGS.close, SETTINGS.part_of_tolerance * tolerance)
        self._n_counted = canonical.n_counted

    def bounds(self, t: Floats, sign: int, quickly: bool = False) -> tuple[Floats, Floats]:
        """Bounds of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1): 0 and 1 if unaffordable.

        Or, for a quick answer, if close ones would take long.
        """
        lower, upper = np.zeros(t.shape), np.ones(t.shape)
        if self._canonical.n_blocks > SETTINGS.max_blocks:
            return lower, upper
        mean, deviation = self._mean, self._deviation
        # Values beyond the best one need no farther level.
        z = (np.clip(t, 0.0, self._highest) - mean) / deviation
        beyond = np.log2(np.maximum(np.abs(z) / SETTINGS.reach, 1.0))
        levels = np.ceil(SETTINGS.levels[quickly] * beyond).astype(int)
        form = self._canonical.form
        slack = sign * SETTINGS.cancelled * abs(form.constant / form.factor)
        for above, level in sorted({*zip((z > 0.0).tolist(), levels.tolist(), strict=True)}):
            same = (levels == level) & ((z > 0.0) == above)
            enclosed = self._enclosure(above, level, quickly)
            if enclosed is not None:
                lower[same] = enclosed.bounds(t[same] + slack, sign)[0]
                upper[same] = enclosed.bounds(t[same] - slack, sign)[1]
        return lower, upper

    @cached_method
    def _enclosure(self, above: bool, level: int, quickly: bool) -> Enclosure | None:
        """The enclosure for sums on one side of the mean; None if it is not affordable.

        In place of an unaffordable level the one before bounds what lies beyond its top.
        """
        mean, deviation = self._mean, self._deviation
        ratio = 2.0 ** (1.0 / SETTINGS.levels[quickly])
        reach = SETTINGS.reach * ratio**level
        # Far less than the tail at the far end of the level: a lower tail is like that of a normal
        # distribution, an upper tail, which is due to few top ranks, exponential.
        if above:
            top, log_omitted = mean + reach * deviation, -30.0 - 3.0 * reach
        else:
            top, log_omitted = mean, -50.0 - 2.0 * reach**2
        # Values of the level lie above the top of the one before.
        bottom = mean + reach / ratio * deviation if above and level else -math.inf
        close, widest = self._close * deviation, SETTINGS.widest * reach * deviation
        blocks, m = self._canonical.blocks, self._n_counted
        if quickly:
            # Far tails of few hits fall slowly.
            close *= math.sqrt(reach / SETTINGS.reach)
            widest, work = SETTINGS.quick_widest * close, SETTINGS.quick_work_near
            if level:
                close, work = SETTINGS.quick_part * close, SETTINGS.quick_work
            return enclosure(blocks, m, top, close, widest, log_omitted, work, bottom)
        found = enclosure(blocks, m, top, close, widest, log_omitted, bottom=bottom)
        return self._enclosure(above, level - 1, False) if found is None and level > 0 else found


@dataclass(frozen=True, eq=False)
class Enclosure:
    """The distribution of a sum between the distributions of two sums that enclose it.

    Attributes
    ----------
    width : float
        Width of a cell.
    slack : float
        The sum exceeds the larger one by fewer cells than this, for rounding errors.
    smaller, larger : Histogram
        Distributions of the two sums.
    omitted : float
        Bound of the probability of the paths that were left out.
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
        kept = (1.0 - SETTINGS.relative) * (1.0 - self.omitted)
        upper = upper * (1.0 + SETTINGS.relative) + self.omitted + SETTINGS.absolute
        return np.maximum(lower * kept - SETTINGS.absolute, 0.0), np.minimum(upper, 1.0)


def enclosure(
    increments: Increments,
    n_hits: int,
    top: float,
    close: float,
    widest: float,
    log_omitted: float,
    work: float = SETTINGS.work,
    bottom: float = -math.inf,
) -> Enclosure | None:
    """An enclosure of a distribution from `bottom` to `top`, as close as affordable, or `close`.

    None if it leaves a sum uncertain by more than `widest`. Paths of a probability of up to
    ``exp(log_omitted)`` together are left out.
    """
    plans = []
    for ratio in SETTINGS.ratios:
        least, most = bounding_increments(increments, ratio)
        if least.sizes.size > SETTINGS.max_merged:
            continue
        bands = probable_bands(least, n_hits, log_omitted)
        # Each number of hits after a block, and at least one in it, adds a histogram to another.
        n_additions = float(np.sum((bands.high - bands.low + 1.0) * bands.most))
        n_passes = 1 if least is most else 2
        affordable = work / (n_passes * max(n_additions, 1.0)) - SETTINGS.overhead
        n_rounded = usual_roundings(most, n_hits)
        # One more cell, so that rounding cannot put the top outside.
        enough = math.ceil(n_rounded * top / close) + 1
        n_cells = int(min(SETTINGS.max_cells, affordable, enough))
        if n_cells > 1:
            uncertainty = n_rounded * top / (n_cells - 1)
            if most is not least:
                uncertainty += mean_and_variance(most, n_hits)[0]
                uncertainty -= mean_and_variance(least, n_hits)[0]
            plans.append((uncertainty, least, most, bands, n_cells))
            if uncertainty <= close:
                break
    if not plans:
        return None
    uncertainty, least, most, bands, n_cells = min(plans, key=itemgetter(0))
    if uncertainty > widest:
        return None
    width = top / (n_cells - 1)
    needed = _needed(most, n_hits, bottom - width)
    smaller, larger = histograms(least, n_hits, width, n_cells, bands, needed)
    if most is not least:
        _, larger = histograms(most, n_hits, width, n_cells, bands, needed)
    return Enclosure(width, ROUNDING * (n_hits + 1.0), smaller, larger, math.exp(log_omitted))


def _needed(increments: Increments, n_hits: int, at_least: float) -> list[Floats]:
    """Sums up to each block, by the hits there, that may reach a value; none if that takes long."""
    if at_least <= 0.0 or increments.sizes.size * (n_hits + 1.0) > SETTINGS.most_needed:
        return []
    return [at_least - rest for rest in largest_rests(increments, n_hits)]


def usual_roundings(increments: Increments, n_hits: int) -> float:
    """Number of blocks in which increments are rounded, at the mean numbers of hits."""
    counted = ~increments.is_inert
    before = n_hits * (1.0 - increments.sizes[-1] / increments.n_samples)
    return float(min(before, counted[:-1].sum()) + counted[-1])


def probable_bands(increments: Increments, n_hits: int, log_omitted: float) -> Bands:
    """Bands of paths outside which all paths together have at most this log probability.

    A union bound over three events in each block: too few hits up to its end, too many up to its
    end, and too many in it.
    """
    n, ends = increments.n_samples, np.cumsum(increments.sizes)
    least = log_omitted - math.log(3.0 * ends.size)
    likely = Bands(
        _furthest(n, n_hits, ends, least, -1),
        _furthest(n, n_hits, ends, least, 1),
        _furthest(n, n_hits, increments.sizes, least, 1),
        np.zeros_like(ends),
    )
    return feasible_bands(increments, n_hits).intersection(likely)


def _furthest(n: int, m: int, drawn: Integers, least: float, sign: int) -> Integers:
    """Most (sign 1) or fewest (sign -1) hits whose tail bound exceeds exp(least), by bisection."""
    mean = drawn * (m / n)
    kept = (np.floor(mean) if sign > 0 else np.ceil(mean)).astype(np.int64)
    beyond = np.minimum(drawn, m) + 1 if sign > 0 else np.full_like(drawn, -1)
    while np.any(np.abs(beyond - kept) > 1):
        between = (kept + beyond) // 2
        likely = _log_tail_bound(between, n, m, drawn) > least
        kept, beyond = np.where(likely, between, kept), np.where(likely, beyond, between)
    return np.asarray(kept)


def _log_tail_bound(hits: Integers, n: int, m: int, drawn: Integers) -> Floats:
    """Bound of the log probability of as many hits, or more (fewer), above (below) their mean.

    Hoeffding's inequality [1]_, which holds without replacement: the probability of a share of at
    least k / T hits among T drawn items is at most ``exp(-T D(k/T, m/n))``, where D is the relative
    entropy. T and m may be exchanged.

    References
    ----------
    .. [1] Hoeffding, W. (1963). Probability inequalities for sums of bounded random variables.
       Journal of the American Statistical Association, 58(301), 13-30.
    """

    def exponent(trials: Any, share: Any) -> Floats:
        expected = rel_entr(hits, trials * share)
        return np.asarray(expected + rel_entr(trials - hits, trials * (1.0 - share)))

    return -np.maximum(exponent(drawn, m / n), exponent(m, drawn / n))
