"""The transform of a ranking's statistic along contours.

``M(z) = E exp(z S)`` comes from a forward pass over the blocks of equal scores, in which only the
rows (numbers of positives before a block) that matter under the exponential tilt ``Re z`` are kept;
or from a closed form. Implements the rows of "Contour inversion" in doc/theory.rst; the pass itself
is in `forward_pass`, and the rows are found in `bands`.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.special import gammaln

from sklearn_rankinf._engine.inversion.bands import (
    Bands,
    around_paths,
    balanced_bands,
    balances,
    feasible_bands,
    mean_hits,
    path_shares,
    tilted_bands,
    windows,
)
from sklearn_rankinf._engine.inversion.forward_pass import log_transform
from sklearn_rankinf._engine.inversion.other_paths import log_outside
from sklearn_rankinf._engine.inversion.paths_of_tail import (
    Path,
    PathsOfTail,
    is_near_the_mean,
    jumps_over,
    lowest_paths,
    paths_of_tail,
)
from sklearn_rankinf._engine.inversion.sums_of_weights import TiltedSum, is_quick_sum
from sklearn_rankinf._engine.inversion.transform import (
    LARGEST_LOG,
    ROUNDING,
    SEVERAL,
    Limited,
    OfAllPaths,
    has_large_blocks,
    largest_increment,
)
from sklearn_rankinf._statistics import (
    VERY_FEW_BLOCKS,
    Complexes,
    Floats,
    Increments,
    cached_method,
    cached_property,
    influences,
    log_binomial,
    log_size_at_return,
)

# With no more hits than this, dropping rows costs more than it saves, but for an extreme tilt.
_FEW_HITS = 64
# Returns of the transform up to this logarithm are negligible.
_LOG_NO_RETURN = -30.0
# Blocks whose returns are computed, those of the largest influence.
_CANDIDATES = 16
# The commonest outcome near a tail has this many standard deviations fewer hits than the mean under
# the tilt among the ranks that add something, or one.
_DEVIATIONS = 2.0
# Hits of a block times nodes of one pass, and products of a pass of several tilts.
_AT_ONCE = 1 << 23
_WIDE_PASS = 5e6
# Log weight that all hits together may have where few rows need no balance.
_GENTLE = 300.0
# Windows for the log transform at a real tilt have this part of the usual width.
_NARROW = 0.5
# Most that merging may change the exponent of a weight where merged blocks plan contours.
_LARGEST_CHANGE = 0.5
# Share from which on paths that are left out are those that merged blocks planned, within windows
# of this part of the usual width.
_VISIBLE = 1e-16
_ROUGH = 0.75
# Products of a pass over all paths that is quick, that is affordable, and where nothing else is
# known. Of very few blocks cells come before one that is not quick.
_QUICK = 5e6
_AFFORDABLE = 3e8
_AFFORDABLE_AT_LAST = 4e9
# Share of the total by which two passes may differ: more than what a pass loses unseen, and its
# rounding errors.
_DIFFERENCE = 1e-11
# Log of a share of other paths that is small, and of those that are enough: of a total, of a tail,
# and of a total that is only bounded.
_LOG_SMALL_SHARE = -24.0
_LOG_SHARE = -28.0
_LOG_SHARE_OF_TAIL = -16.0
_LOG_LITTLE = -5.0
# Parts and multiples of the tilt of a path by which tails of others are bounded.
_PARTS = (0.0, 0.3, 0.6, 0.85, 1.0, 1.15, 1.5, 2.0, 4.0)


class RankingTransform:
    """``E exp(z S)`` of one ranking for z along contours: a `Transform`.

    Parameters
    ----------
    increments : Increments
        The statistic, block by block, or with far blocks merged.
    coarse : Increments
        The same with blocks merged further, to find tilts and the rows that matter.
    n_positives : int
        Number of positives.
    merged : bool, default=False
        Whether blocks of `increments` are merged.
    largest_block : int, default=None
        Size of the largest block before merging; None for that of `increments`.
    negligible : float, default=1e-22
        Paths that carry less than this share of the tilted total are left out.
    limits : tuple of Bands, default=None
        Paths that the expectation is restricted to, of the blocks and of those of `coarse`; all of
        them are kept.
    """

    has_paths = True

    def __init__(
        self,
        increments: Increments,
        coarse: Increments,
        n_positives: int,
        merged: bool = False,
        largest_block: int | None = None,
        negligible: float = 1e-22,
        limits: tuple[Bands, Bands] | None = None,
    ) -> None:
        self.merged, self._negligible = merged, negligible
        self._largest_block = largest_block or int(increments.sizes.max())
        self.has_ties = self._largest_block > 1
        self.merges_ties = merged and self.has_ties
        # Where all paths are kept, blocks of no more items than hits take longer than the items.
        as_fast = coarse.sizes.max() <= n_positives <= _FEW_HITS and self._largest_block == 1
        self._increments, self._coarse = increments, coarse if merged or not as_fast else increments
        self._n_positives, self._limits = n_positives, limits

    @property
    def n_blocks(self) -> int:
        return self._increments.sizes.size

    @property
    def rounding(self) -> float:
        return ROUNDING * math.sqrt(self.n_blocks)

    @property
    def n_counted(self) -> float:
        counted = self._increments.sizes[self._increments.of_one_hit != 0.0].sum()
        return float(self._n_positives * counted / self._increments.n_samples)

    @cached_property
    def has_large_blocks(self) -> bool:
        """Whether hits in a single block vary by several, and the transform returns with them.

        Where others are many, and smooth, they keep it from returning.
        """
        blocks, m = self._increments, self._n_positives
        vary = has_large_blocks(self._largest_block, blocks.n_samples, m)
        if self.merged or not vary:
            return vary
        share = m / blocks.n_samples
        several = blocks.sizes * share * (1.0 - share) > SEVERAL**2
        candidates = np.flatnonzero(several)
        steps = np.abs(influences(blocks, m)[candidates])
        first = candidates[np.argsort(-steps, kind="stable")[:_CANDIDATES]].tolist()
        return any(log_size_at_return(blocks, m, block) > _LOG_NO_RETURN for block in first)

    @cached_property
    def largest_increment(self) -> float:
        return largest_increment(self._increments)

    @cached_property
    def log_placement(self) -> float:
        return -log_binomial(self._increments.n_samples, self._n_positives)

    @cached_method
    def log_commonest(self, theta: float) -> float:
        """Log null probability of the outcome that is commonest under a tilt, or nearly so.

        All hits are in blocks of several items, where there are most ways to place them, in
        proportion to their mean under the tilt, that of the contour: the outcome may lie outside
        the tail. Unknown, and -inf, for merged blocks.
        """
        if self.merged:
            return -math.inf
        blocks, m = self._increments, self._n_positives
        are_several = blocks.sizes > 1
        several = blocks.sizes[are_several].astype(float)
        if not several.size:
            return self.log_placement
        means = several[None] if theta == 0.0 else mean_hits(blocks, m, theta)[:, are_several]
        total = min(m, 0.5 * several.sum())
        if blocks.is_inert[are_several].all():
            # Outcomes near the tail have hits among the ranks that add something.
            counted = max(m - float(means.sum(axis=1).max()), 0.0)
            total = min(total, m - max(1.0, counted - _DEVIATIONS * math.sqrt(counted)))
        hits = means * (total / np.maximum(means.sum(axis=1, keepdims=True), 1e-300))
        hits = np.minimum(hits, several)
        ways = gammaln(several + 1.0) - gammaln(hits + 1.0) - gammaln(several - hits + 1.0)
        return float(ways.sum(axis=1).max()) + self.log_placement

    def log_mgfs(self, thetas: Floats) -> Floats:
        """Log transforms at real tilts, often of merged blocks; nan where not known."""
        values = np.full(thetas.shape, np.nan)
        are_planned = np.abs(thetas) <= self._steepest_planned
        for blocks, these in ((self._coarse, are_planned), (self._increments, ~are_planned)):
            values[these] = self._log_mgfs_of(blocks, thetas[these])
        return values

    def log_mgf(self, theta: float) -> float:
        """Log transform of the blocks themselves, in logarithms where floats are too few."""
        value = float(self.at(theta, np.array([theta], dtype=complex), False, False)[0].real)
        if math.isfinite(value):
            return value
        if self._limits is not None:
            return math.nan
        return tilted_bands(self._increments, self._n_positives, theta)[1]

    def _log_mgfs_of(self, blocks: Increments, thetas: Floats) -> Floats:
        """Log transforms of some blocks at real tilts."""
        m, values = self._n_positives, np.full(thetas.shape, np.nan)
        parts = [np.argsort(thetas)] if thetas.size else []
        while parts:
            some = parts.pop()
            bands, balance = self._narrow(blocks, thetas[some])
            # Very different tilts share few rows.
            is_wide = some.size > 1 and bands.work() * some.size > _WIDE_PASS
            if not is_wide:
                values[some] = log_transform(blocks, m, thetas[some], bands, balance).real
            # In one pass they may leave the range of floats where each alone does not.
            left = some[~np.isfinite(values[some])]
            if some.size > 1:
                parts += np.array_split(left, 2 if is_wide else left.size) if left.size else []
        if self._limits is not None:
            return np.where(np.isfinite(values), values, np.nan)
        for i in np.flatnonzero(~np.isfinite(values)):
            values[i] = tilted_bands(blocks, m, float(thetas[i]))[1]
        return values

    def _narrow(self, blocks: Increments, thetas: Floats) -> tuple[Bands, Floats]:
        """Bands of log transforms at real tilts, and what balances their rows."""
        m = self._n_positives
        if self._limits is None:
            most = (
                np.abs(blocks.cross) * (m - 1) + np.abs(blocks.linear) + np.abs(blocks.square) * m
            )
            is_gentle = float(np.abs(thetas).max() * most.max()) * m <= _GENTLE
            if m > _FEW_HITS or is_gentle:
                return windows(blocks, m, thetas, _NARROW)
        limits = self._limits_of(blocks)
        return limits or feasible_bands(blocks, m), balances(blocks, m, thetas, limits)

    def _limits_of(self, blocks: Increments) -> Bands | None:
        """Limits of the paths, of the blocks or of those of `coarse`."""
        return self._limits[blocks is self._coarse] if self._limits else None

    @property
    def is_limited(self) -> bool:
        return self._limits is not None

    @property
    def finds_tilts(self) -> bool:
        return self._n_positives > _FEW_HITS and not (self.merged or self.is_limited)

    def tilt_at(self, t: float, sign: int) -> float:
        paths = self._paths_at(t, sign)
        return paths[0].tilt if paths else 0.0

    @cached_method
    def jumps(self, t: float, sign: int) -> bool:
        blocks, m = self._coarse, self._n_positives
        # Statistics are convex in the hits of blocks of several items, unless they add weights.
        if not (self.has_ties or self.merged) or self.is_limited or blocks.is_linear:
            return False
        if is_near_the_mean(blocks, m, t):
            return False
        paths = self._paths_at(t, sign)
        return bool(paths) and jumps_over(blocks, m, t, paths[0])

    @cached_method
    def limited(self, t: float, sign: int) -> Limited | None:
        if not self.has_paths or self.is_limited:
            return None
        blocks, m, paths = self._increments, self._n_positives, self._paths_at(t, sign)
        found = self._paths_of_tail(t, sign)
        if found is None:
            return None
        planned = limits = found.bands
        if self._coarse is not blocks:
            limits = limits.at(np.cumsum(self._coarse.sizes), np.cumsum(blocks.sizes))
        if self.merged:
            # Hits in a block are bounded by those in the larger block that planned it.
            hits, larger = np.array([path.hits for path in paths]), self._coarse.sizes
            place = np.searchsorted(np.cumsum(larger), np.cumsum(blocks.sizes))
            likely = around_paths(blocks, m, (hits / larger)[:, place] * blocks.sizes, 1.0)
            transform = RankingTransform(
                blocks,
                self._coarse,
                m,
                True,
                self._largest_block,
                limits=(limits.intersection(likely), planned),
            )
        else:
            transform = RankingTransform(blocks, blocks, m, limits=(limits, limits))
        return Limited(transform, found.log_rest, paths[0].tilt, paths[0].deviation)

    @cached_method
    def _paths_of_tail(self, t: float, sign: int) -> PathsOfTail | None:
        blocks, m, paths = self._coarse, self._n_positives, self._paths_at(t, sign)
        is_bounded = self._bounds_other_paths
        return paths_of_tail(blocks, m, t, sign, paths, is_bounded) if paths else None

    @cached_method
    def _paths_at(self, t: float, sign: int) -> list[Path]:
        """Paths with the mean value t, of blocks that are merged further."""
        return lowest_paths(self._coarse, self._n_positives, t, sign)

    def work(self, theta: float, is_extreme: bool) -> float:
        return self._bands_at(theta, is_extreme, coarse=False).work()

    def most_rows(self, theta: float, is_extreme: bool) -> int:
        bands = self._bands_at(theta, is_extreme, coarse=False)
        return int((bands.high - bands.low).max() + 1)

    def left_out(self, theta: float, is_extreme: bool) -> float:
        return self._bands_at(theta, is_extreme, coarse=False).left_out

    @cached_method
    def log_outside(self, theta: float, is_extreme: bool) -> float:
        if self._limits is not None:
            return -math.inf
        bands = self._bands_at(theta, is_extreme, False)
        balance = self._balance_at(theta, is_extreme)
        return log_outside_of_bands(self._increments, self._n_positives, theta, bands, balance)

    @cached_method
    def log_mgf_within(self, theta: float, is_extreme: bool, other: float) -> float:
        blocks, m = self._increments, self._n_positives
        bands = self._bands_at(theta, is_extreme, False)
        log_mgf = log_mgf_in(blocks, m, other, bands, self._balance_at(theta, is_extreme))
        if log_mgf < math.inf:
            return log_mgf
        return _log_mgf_by_logarithms(blocks, m, other, bands.ascending())

    @property
    def _bounds_other_paths(self) -> bool:
        """Whether paths of a tail are looked for in the blocks themselves."""
        return self._coarse is self._increments and not self.merged

    @cached_method
    def log_beyond_limits(self, t: float, sign: int) -> float:
        found = self._paths_of_tail(t, sign) if self._bounds_other_paths else None
        if found is None:
            return math.inf
        tilt = self._paths_at(t, sign)[0].tilt
        return log_beyond_window(self._increments, self._n_positives, t, tilt, found)

    def at(self, theta: float, z: Complexes, is_extreme: bool, coarse: bool) -> Complexes:
        """Log transforms at nodes of the contour through a tilt."""
        increments = self._planning(theta) if coarse else self._increments
        bands = self._bands_at(theta, is_extreme, coarse)
        balance = (self._balance if coarse else self._balance_at)(theta, is_extreme)
        most_hits = int((bands.most - bands.least).max()) + 1
        passes = np.array_split(z, max(1, -(-z.size * most_hits // _AT_ONCE)))
        m = self._n_positives
        return np.concatenate([log_transform(increments, m, z, bands, balance) for z in passes])

    @cached_method
    def _bands_at(self, theta: float, is_extreme: bool, coarse: bool) -> Bands:
        """Rows that matter at a tilt: all of them where they are few, and blocks are not merged."""
        increments = self._planning(theta) if coarse else self._increments
        if self._limits is not None:
            return self._limits[coarse]
        if self._n_positives <= _FEW_HITS and not self.merged and not is_extreme:
            return feasible_bands(increments, self._n_positives)
        if coarse:
            return self._planned_at(theta)[0]
        if self.merged and self._negligible < _VISIBLE:
            return tilted_bands(increments, self._n_positives, theta, self._negligible)[0]
        ends = np.cumsum(self._planning(theta).sizes), np.cumsum(increments.sizes)
        bands = self._bands_at(theta, is_extreme, True).at(*ends)
        if not self.merged:
            return bands
        # Hits in a block are bounded by those in the larger block that planned it, which are many.
        around = windows(increments, self._n_positives, np.array([theta]), _ROUGH)[0]
        return bands.intersection(around)

    @cached_method
    def _balance(self, theta: float, is_extreme: bool) -> Floats:
        """What balances the rows of `coarse` at a tilt; nothing if they are few and it is weak."""
        blocks, always = self._planning(theta), is_extreme or self._limits is not None
        if self._n_positives > _FEW_HITS and self._limits is None:
            return self._planned_at(theta)[2]
        if not always:
            return np.zeros((blocks.sizes.size, 1))
        return balances(blocks, self._n_positives, theta, self._limits_of(blocks))

    def _balance_at(self, theta: float, is_extreme: bool) -> Floats:
        """What balances the rows of the blocks themselves: that of the block that planned each."""
        ends = np.cumsum(self._planning(theta).sizes), np.cumsum(self._increments.sizes)
        return self._balance(theta, is_extreme)[np.searchsorted(*ends)]

    @cached_method
    def _planned_at(self, theta: float) -> tuple[Bands, float, Floats]:
        """Rows of `coarse` that matter at a tilt, and what balances them."""
        blocks = self._planning(theta)
        return balanced_bands(blocks, self._n_positives, theta, self._negligible)

    def _planning(self, theta: float) -> Increments:
        """Blocks that plan contours under a tilt."""
        return self._coarse if abs(theta) <= self._steepest_planned else self._increments

    @cached_property
    def _steepest_planned(self) -> float:
        """The steepest tilt under which merged blocks plan contours.

        Near the end of a sum of weights, where the blocks themselves are not merged, the tilt is so
        steep that a part of the standard deviation is a large change of an exponent.
        """
        blocks, merged = self._increments, self._coarse
        if self.merged or not blocks.is_linear:
            return math.inf
        place = np.searchsorted(np.cumsum(merged.sizes), np.cumsum(blocks.sizes))
        change = float(np.abs(merged.linear[place] - blocks.linear).max())
        return _LARGEST_CHANGE / change if change > 0.0 else math.inf


class SumOfWeights(OfAllPaths, RankingTransform):
    """``E exp(z S)`` of a sum of weights along contours: a `Transform`."""

    has_paths = False

    def work(self, theta: float, is_extreme: bool) -> float:
        return self._tilted(theta, False).work

    def most_rows(self, theta: float, is_extreme: bool) -> int:
        return int(self._tilted(theta, False).angles.size)

    def left_out(self, theta: float, is_extreme: bool) -> float:
        return self._tilted(theta, False).left_out

    def log_mgfs(self, thetas: Floats) -> Floats:
        return np.array([self.log_mgf(theta) for theta in thetas.tolist()])

    def log_mgf(self, theta: float) -> float:
        return self._tilted(theta, False).log_mgf

    def at(self, theta: float, z: Complexes, is_extreme: bool, coarse: bool) -> Complexes:
        return self._tilted(theta, coarse).log_transform(z)

    @cached_method
    def _tilted(self, theta: float, coarse: bool) -> TiltedSum:
        return TiltedSum(self._coarse if coarse else self._increments, self._n_positives, theta)


def transform_of(
    increments: Increments,
    coarse: Increments,
    n_positives: int,
    merged: bool,
    largest_block: int | None,
    negligible: float,
) -> RankingTransform:
    """The transform of one ranking: that of a sum of weights, or of any increments."""
    kind = SumOfWeights if is_quick_sum(increments, n_positives) else RankingTransform
    return kind(increments, coarse, n_positives, merged, largest_block, negligible)


def log_mgf_in(
    increments: Increments, n_positives: int, tilt: float, bands: Bands, balance: Floats
) -> float:
    """``log E exp(tilt S)`` of the paths in bands, or a little more; inf if not known."""
    found = log_transform(increments, n_positives, np.array([tilt]), bands, balance)[0].real
    return float(found) + _DIFFERENCE if math.isfinite(found) else math.inf


def _log_mgf_by_logarithms(
    increments: Increments, n_positives: int, tilt: float, bands: Bands
) -> float:
    """The same from logarithms, which the range of floats does not limit."""
    found = path_shares(increments, n_positives, np.array([tilt]), bands)
    return math.inf if found is None else float(found[1][0]) + _DIFFERENCE


def log_mgf_bound(
    increments: Increments, n_positives: int, tilt: float, most_work: float = _AFFORDABLE_AT_LAST
) -> float:
    """A bound of ``log E exp(tilt S)``; inf if not known.

    From a pass over all paths, or if it has more products than these from a window and cells.
    """
    blocks, m, alone = increments, n_positives, np.array([tilt])
    window, balance = windows(blocks, m, alone)
    feasible, log_bound = feasible_bands(blocks, m), math.inf
    if feasible.work() <= most_work:
        log_bound = log_mgf_in(blocks, m, tilt, feasible, balance)
    if log_bound < math.inf:
        return log_bound
    is_quick = feasible.work() <= _QUICK
    inside = _log_mgf_by_logarithms(blocks, m, tilt, feasible if is_quick else window.ascending())
    if is_quick or inside == math.inf:
        return inside
    enough = inside + _LOG_LITTLE
    outside = log_outside(blocks, m, alone, 0.0, window.ascending(), enough)
    return float(np.logaddexp(inside, outside))


def log_outside_of_bands(
    increments: Increments, n_positives: int, tilt: float, bands: Bands, balance: Floats
) -> float:
    """Log of a bound of the tilted total of all paths outside of bands; inf if not known.

    From the difference of two passes, or from cells.
    """
    blocks, m = increments, n_positives
    feasible = feasible_bands(blocks, m)
    kept = bands.intersection(feasible).ascending()
    if feasible.are_within(kept):
        return -math.inf
    inside = log_mgf_in(blocks, m, tilt, kept, balance)
    if inside == math.inf:
        return math.inf
    by_passes = partial(_log_difference, blocks, m, tilt, inside, balance)
    enough = inside + _LOG_SHARE
    by_cells = partial(log_outside, blocks, m, np.array([tilt]), 0.0, kept, enough)
    are_first = feasible.work() > _QUICK and blocks.sizes.size <= VERY_FEW_BLOCKS
    first, second = (by_cells, by_passes) if are_first else (by_passes, by_cells)
    log_bound = first()
    if log_bound > inside + _LOG_SMALL_SHARE:
        log_bound = min(log_bound, second())
    return log_bound


def _log_difference(
    increments: Increments, n_positives: int, tilt: float, inside: float, balance: Floats
) -> float:
    """Log of a bound of the tilted total of all paths less that of some; inf if not known."""
    feasible = feasible_bands(increments, n_positives)
    if feasible.work() > _AFFORDABLE:
        return math.inf
    whole = log_mgf_in(increments, n_positives, tilt, feasible, balance)
    share = math.expm1(min(max(whole - inside, 0.0), LARGEST_LOG))
    return inside + math.log(share + _DIFFERENCE)


def log_beyond_window(
    increments: Increments, n_positives: int, t: float, tilt: float, found: PathsOfTail
) -> float:
    """Log of a bound of the tail from t on, of all paths outside of the window of those found.

    From a pass with the tilt of the path that carries the tail, or from cells with several tilts.
    """
    blocks, m, window = increments, n_positives, found.window
    feasible = feasible_bands(blocks, m)
    if feasible.are_within(window):
        return -math.inf
    enough, log_bound = found.log_tail + _LOG_SHARE_OF_TAIL, math.inf
    if feasible.work() <= _QUICK or blocks.sizes.size > VERY_FEW_BLOCKS:
        balance = balances(blocks, m, tilt, window)
        inside = log_mgf_in(blocks, m, tilt, window, balance)
        log_bound = _log_difference(blocks, m, tilt, inside, balance) - tilt * t
    if log_bound > enough:
        tilts = tilt * np.array(_PARTS)
        log_bound = min(log_bound, log_outside(blocks, m, tilts, t, window, enough))
    return log_bound
