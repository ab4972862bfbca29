"""Tails of a distribution that has too many atoms to list: the best of several algorithms.

A tail comes from contour inversion where the transform has decayed relative to it, from the list of
the few placements beyond it at the very ends, and from guaranteed bounds where the distribution is
too coarse for the contour and the bounds are close. Every answer carries an error estimate, and the
answer with the smallest one is given.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Callable
from functools import cached_property

import numpy as np

from sklearn_rankinf._engine.exact.bounds import bounding_increments, middle
from sklearn_rankinf._engine.exact.enumeration import Atoms, atoms
from sklearn_rankinf._engine.exact.integer_weights import near_periods, nearly_step_of
from sklearn_rankinf._engine.inversion.bands import tilted_bands, windows
from sklearn_rankinf._engine.inversion.contour import ContourInversion, is_steep
from sklearn_rankinf._engine.inversion.far_up import FarUp
from sklearn_rankinf._engine.inversion.lucky import LuckyHits, n_lucky_blocks
from sklearn_rankinf._engine.inversion.ranking_transform import (
    RankingTransform,
    Transform,
    largest_increment,
)
from sklearn_rankinf._engine.inversion.steep import SteepInversion
from sklearn_rankinf._engine.inversion.transform import log_transform
from sklearn_rankinf._engine.inversion.trapezoid import DOUBT_OF_MERGING, LEFT_OF_MERGING
from sklearn_rankinf._engine.moments import deviation_of_the_body, mean_and_variance
from sklearn_rankinf._engine.statistics import (
    FEW_BLOCKS,
    VERY_FEW_BLOCKS,
    Floats,
    Increments,
    Integers,
    log_binomial,
)

# Up to this many placements are listed at the ends of both tails, and far up in steep
# distributions, where other ways take longer; rounding errors of their sum.
_MAX_LISTED, _MANY_LISTED, _LISTED = 3e5, 5e6, 1e-12
# It is tried where a bound of their number, which is too large by about this in logarithms, allows;
# at the lower end, where merged blocks bound it badly, if the log of the tail is this part of the
# log of the probability of so many.
_LOOSE, _EXTREME, _SURELY = 5.0, 0.3, 0.8
# A contour is good enough from here on. Bounds, which take seconds, are tried for errors above the
# second; and of merged blocks, or a longer contour of tails as far out as that, above the third.
_GOOD, _WORTH_BOUNDS, _TOLERABLE, _FAR = 1e-6, 1e-2, 1e-2, -12.0
# Of steep distributions of merged blocks this is good enough; tails as far out as that want less
# merging. Contours of longer lists take longer than to tell the luckiest of so many hits apart.
_ACCURATE, _VERY_FAR, _LONG, _ENOUGH_HITS = 1e-3, -30.0, 200_000, 8
# Tails of steep distributions with lucky hits apart are good enough up to this, and their blocks
# are merged where there are more than that. Fewer hits that add no less than a part of the
# deviation of the others tell nothing smooth.
_GOOD_STEEP, _MERGE_STEEP_ABOVE = 5e-3, 2_500
# They are not taken apart where more blocks are left, which add too much to be merged, nor where
# the luckiest adds less than this part of the deviation.
_MAX_BLOCKS_APART, _NOT_LUCKY = 20_000, 0.1
_LEAST_HITS, _SMALL = 4, 0.01
# Below this logarithm they are if they are that good; and tails of other distributions are looked
# for far up so many deviations above the mean.
_FAR_UP, _GOOD_FAR_UP, _SO_FAR_UP = -15.0, 1.5e-5, 15.0
# Blocks are merged, up to a ratio of their ends, where there are more than this; and further where
# there are far more. Comparison is with blocks that are merged up to so many times the ratio. Lucky
# hits are told apart to this part of the standard deviation that the others have. Very far out
# merging errs more, and up to so many blocks are not merged again.
_MERGE_ABOVE, _MERGE_MORE_ABOVE, _MERGED, _MERGED_MORE = 5_000, 10_000_000, 0.02, 0.04
_COARSER, _RESOLUTION, _MERGED_LESS, _UNMERGED_UP_TO = 2.5, 1.0, 0.004, 50_000
# Chernoff's bound is guaranteed up to this number of blocks, as are bounds from lattices.
_MOST_BLOCKS_OF_BOUNDS = 1_000_000
# Operations on short arrays cost as much as on so many numbers.
_MAX_COMPLETIONS, _OVERHEAD = 1e8, 2_000
# Contours tell little of the upper tail of fewer hits.
_HITS_OF_A_CONTOUR = 4
# Distributions of very few blocks are coarse far out, and their outcomes beyond a value few.
_VERY_FEW_BLOCKS_DOUBT = 5e-3
# Periods of the transform of values on a lattice that is not known to be one.
_PERIODS = 3


class Tails:
    """Both tails of an additive rank statistic, each on its own side of the mean.

    Parameters
    ----------
    increments : callable
        Returns the increments, with far blocks merged up to the ratio and the resolution that it is
        given, or block by block for None; and merged less around a rank that is a third argument.
    n_samples, n_blocks, n_positives, last : int
        Numbers of items, of blocks and of hits, and the rank of the last hit of a perfect ranking.
    std : float
        Standard deviation.
    support_within : tuple of float
        Values that the support does not exceed.
    bounds : callable
        Returns guaranteed bounds of the tails at given values, for a sign.
    tolerance : float, default=0.0
        Relative error that is good enough.
    span : float, default=0.0
        Distance of which all values are multiples; 0 if there is none.
    transform : Transform, optional
        The transform in closed form, where there is one.
    at_the_top : callable, optional
        Returns the increments with all blocks as one that no placement with a given value, or more,
        has a hit in; None if these are few.
    insists : bool, default=True
        Whether contours that are far too long are followed where nothing else answers.
    """

    def __init__(
        self,
        increments: Callable[..., Increments],
        n_samples: int,
        n_blocks: int,
        n_positives: int,
        last: int,
        std: float,
        support_within: tuple[float, float],
        bounds: Callable[[Floats, int], tuple[Floats, Floats]],
        tolerance: float = 0.0,
        span: float = 0.0,
        transform: Transform | None = None,
        at_the_top: Callable[[float], Increments | None] = lambda t: None,
        insists: bool = True,
    ) -> None:
        self._insists = insists
        self._span, self._transform = span, transform
        self._at_the_top = at_the_top
        self._increments = increments
        self._n_samples, self._n_blocks, self._last = n_samples, n_blocks, last
        self._n_positives = n_positives
        self._log_placements = log_binomial(n_samples, n_positives)
        self._std = std
        self._support_within = support_within
        self._bounds = bounds
        self._tolerance = tolerance
        self._listed: dict[tuple[int, float], tuple[float, Atoms]] = {}
        self._unlisted: dict[tuple[int, float], float] = {}

    def log_tail(
        self, t: Floats, sign: int, log_slight: float = -math.inf
    ) -> tuple[Floats, Floats]:
        """Log of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), and its relative error.

        An error of the probability that is so slight, in logarithms, is good enough, and of slight
        probabilities a bound.
        """
        log_p, error = np.full(t.shape, -np.inf), np.full(t.shape, np.inf)
        if log_slight > -math.inf:
            bound = self._cheap_bound(t, sign, log_slight)
            slight = bound < log_slight
            log_p[slight], error[slight] = bound[slight], 1.0
        contour = self._contour_tail_of_merged if self._merged else self._contour_tail
        good = max(_GOOD, self._tolerance)
        if self._merged and sign > 0:
            good = max(good, _ACCURATE)
        first = []
        if self._steep is not None:
            first, good = [(self._steep_tail, good)], max(good, _GOOD_STEEP)
        elif sign > 0 and self._merged:
            first = [(self._far_up_tail, good)]
        tried = [(self._listed_tail, good), (contour, good)]
        if sign > 0 and self._n_positives < _HITS_OF_A_CONTOUR:
            # The distribution is a cluster of values above each value of the luckiest alone.
            tried[1:] = [(self._enclosed_tail, good), (contour, _TOLERABLE)]
        elif sign > 0 and self._merged:
            tried.insert(0 if self._n_blocks > _LONG else 2, (self._lucky_tail, good))
        if sign > 0:
            first.insert(0, (self._nearly_best_tail, good))
        tried = first + tried
        worth = _TOLERABLE if self._merged else _WORTH_BOUNDS
        tried += [
            (self._enclosed_tail, max(good, worth)),
            (self._insistent_tail, _TOLERABLE),
            (self._bound, np.finfo(float).max),
        ]
        for algorithm, good_enough in tried:
            # Far out it is the logarithm that has to be right.
            known = np.where(np.isfinite(error) & np.isfinite(log_p), log_p, 0.0)
            enough = np.maximum(good_enough, -_GOOD * known)
            enough = np.maximum(enough, np.exp(np.minimum(log_slight - known, 0.0)))
            weak = np.flatnonzero(error > enough)
            if weak.size:
                put_better(log_p, error, weak, *algorithm(t[weak], sign))
        return log_p, error

    @property
    def _merged(self) -> bool:
        """Whether far blocks are merged."""
        return self._n_blocks > _MERGE_ABOVE and self._transform is None

    @property
    def _very_few_blocks(self) -> bool:
        return self._n_blocks <= VERY_FEW_BLOCKS

    def _steep_tail(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Tails of a steep distribution, the luckiest hits apart from all others."""
        assert self._steep is not None
        log_p, error = self._steep.log_tail(t, sign)
        if sign > 0 and self._far_up is not None:
            weak = np.flatnonzero(error > np.where(log_p > _FAR_UP, _GOOD_STEEP, _GOOD_FAR_UP))
            told = weak[error[weak] < 1.0]
            told = told[log_p[told] + np.log1p(error[told]) < self._log_few(_MANY_LISTED)]
            few = np.union1d(told, self._surely_few(t, weak))
            self._list_few(t, sign, few, log_p, error, _MANY_LISTED)
            weak = weak[error[weak] > _GOOD_FAR_UP]
            put_better(log_p, error, weak, *self._far_up.log_tail(t[weak]))
            weak = weak[(log_p[weak] < _FAR_UP) & (error[weak] > -_GOOD * log_p[weak])]
            few = weak[log_p[weak] < self._log_few(_MANY_LISTED)]
            self._list_few(t, sign, few, log_p, error, _MANY_LISTED)
        few = np.flatnonzero(log_p < self._log_few(_MAX_LISTED))
        self._list_few(t, sign, few, log_p, error)
        return log_p, error

    def _surely_few(self, t: Floats, weak: Integers) -> Integers:
        """Those beyond which there are few placements by a bound that falls with the value."""
        assert self._far_up is not None
        upwards, bound = weak[np.argsort(t[weak])], self._far_up.log_bound
        at_most = self._log_few(_MANY_LISTED)
        return upwards[bisect_left(t[upwards], -at_most, key=lambda s: -bound(float(s))) :]

    def _log_few(self, limit: float) -> float:
        """Log of the probability of so many placements."""
        return math.log(limit) - self._log_placements

    def _list_few(
        self,
        t: Floats,
        sign: int,
        few: Integers,
        log_p: Floats,
        error: Floats,
        limit: float = _MAX_LISTED,
    ) -> None:
        """List placements where they are said to be few, and that is not done."""
        few = few[error[few] > _LISTED]
        put_better(log_p, error, few, *self._listed_tail(t[few], sign, limit=limit))

    def _far_up_tail(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Upper tails so far up that they are the work of several lucky hits."""
        log_p, error = np.full(t.shape, -np.inf), np.full(t.shape, np.inf)
        mean, _ = mean_and_variance(self._blocks(0), self._n_positives)
        far = np.flatnonzero(t > mean + _SO_FAR_UP * self._std)
        if far.size and self._far_up is not None:
            log_p[far], error[far] = self._far_up.log_tail(t[far])
        return log_p, error

    def _lucky_tail(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Upper tails of merged blocks, the luckiest hits apart from all others."""
        fine, coarse = self._lucky
        if fine is None or coarse is None:
            return np.full(t.shape, -np.inf), np.full(t.shape, np.inf)
        log_p, error = fine.log_tail(t)
        known = np.flatnonzero(np.isfinite(error))
        if known.size:
            merging = log_p[known] - coarse.log_tail(t[known])[0]
            log_p[known] += LEFT_OF_MERGING * merging
            error[known] += DOUBT_OF_MERGING * np.abs(merging)
        return log_p, error

    def _contour_tail(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        log_p, error = self._contour.log_tail(t, sign)
        return log_p, error + self._doubt

    @property
    def _doubt(self) -> float:
        """The transform of few blocks may come back beyond any node, by as much as an atom."""
        return _VERY_FEW_BLOCKS_DOUBT if self._very_few_blocks else 0.0

    def _contour_tail_of_merged(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Very far up, where merging errs more, from blocks that are merged less."""
        log_p, error = np.full(t.shape, -np.inf), np.full(t.shape, np.inf)
        log_bound = self._contour.log_bound(t, sign)
        very_far = np.flatnonzero((sign > 0) & (log_bound < _VERY_FAR))
        if very_far.size:
            log_p[very_far], error[very_far] = self._contour_far_out.log_tail(t[very_far], sign)
        left = np.flatnonzero(np.isinf(error))
        if left.size:
            log_p[left], error[left] = self._contour.log_tail(t[left], sign)
        return log_p, error

    def _insistent_tail(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Far out, a longer contour, of blocks that are not merged."""
        log_p, error = np.full(t.shape, -np.inf), np.full(t.shape, np.inf)
        far = self._contour.log_bound(t, sign) < _FAR
        far &= self._insists and self._n_blocks <= _UNMERGED_UP_TO
        if far.any():
            log_p[far], error[far] = self._contour_far_out.log_tail(t[far], sign, insist=True)
        return log_p, error + self._doubt

    def _bound(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Chernoff's bound, of unknown error, where nothing else answers."""
        return self.log_upper_bound(t, sign), np.full(t.shape, np.inf)

    def log_upper_bound(self, t: Floats, sign: int) -> Floats:
        """Chernoff's bound of the log of the tail, at tilts that are good for merged blocks.

        It is guaranteed where blocks are not too many to be looked at one by one: they are kept, or
        merged so that they never add less (sign 1) or more (sign -1).
        """
        if self._transform is not None or self._n_blocks > _MOST_BLOCKS_OF_BOUNDS:
            return self.log_bound(t, sign)
        ratio = 0.0 if self._n_blocks <= _UNMERGED_UP_TO else _MERGED_LESS
        bounding = bounding_increments(self._increments(None, math.inf), ratio)
        blocks = bounding[1 if sign > 0 else 0]
        tilts, log_p = self._contour.tilts(t, sign), np.zeros(t.shape)
        for tilt in np.unique(tilts[np.isfinite(tilts)]).tolist():
            same = tilts == tilt
            log_mgf = tilted_bands(blocks, self._n_positives, tilt)[1]
            if math.isnan(log_mgf):
                # Many hits in few blocks are no sums of logarithms.
                alone, m = np.array([tilt]), self._n_positives
                log_mgf = float(log_transform(blocks, m, alone, *windows(blocks, m, alone))[0].real)
            if math.isfinite(log_mgf):
                log_p[same] = np.minimum(log_mgf - tilt * t[same], 0.0)
        return log_p

    def _cheap_bound(self, t: Floats, sign: int, enough: float) -> Floats:
        """A bound of the log of the tail from what tails are computed with anyway."""
        if sign < 0 and self._steep is not None:
            return self._steep.log_bound_below(t, enough)
        return self._contour.cheap_log_bound(t, sign)

    def log_bound(self, t: Floats, sign: int, enough: float = -math.inf) -> Floats:
        """Chernoff's bound of the log of the tail; the lowest unless it is enough."""
        log_p = self._contour.log_bound(t, sign, enough)
        far = log_p < _FAR
        if far.any():
            log_p[far] = self._contour_far_out.log_bound(t[far], sign, enough)
        return log_p

    @cached_property
    def _contour(self) -> ContourInversion:
        return (
            self._contour_inversion(*self._ratios)
            if self._merged
            else self._contour_inversion(None, _COARSER * _MERGED)
        )

    @cached_property
    def _contour_far_out(self) -> ContourInversion:
        """For tails that are far out, where hits fill the top ranks."""
        if self._transform is not None:
            return self._contour
        if self._n_blocks <= _UNMERGED_UP_TO:
            return self._contour_inversion(None, _COARSER * _MERGED, self._last)
        return self._contour_inversion(_MERGED_LESS, _COARSER * _MERGED_LESS, self._last)

    @property
    def _ratios(self) -> tuple[float, float]:
        """Up to which ratios blocks are merged, and merged more for comparison."""
        fine = _MERGED if self._n_blocks <= _MERGE_MORE_ABOVE else _MERGED_MORE
        return fine, _COARSER * fine

    @cached_property
    def _steep(self) -> SteepInversion | None:
        """The inversion with lucky hits apart; None where it does not apply."""
        if self._n_blocks <= FEW_BLOCKS or not self._only_adds:
            return None
        coarse, body, m = self._blocks(0), self._body, self._n_positives
        if coarse.sizes.size > _MAX_BLOCKS_APART:
            return None
        # Hits that add next to nothing make no distribution smooth.
        typical = coarse.of_one_hit + coarse.cross * coarse.starts * (m / coarse.n_samples)
        n_counted = coarse.sizes[typical > _SMALL * body].sum()
        if not is_steep(coarse, self._std) or m * n_counted < _LEAST_HITS * coarse.n_samples:
            return None
        mean, _ = mean_and_variance(coarse, m)
        lowest = self._support_within[0]
        return SteepInversion(self._blocks, self._steep_is_merged, m, body, lowest, mean)

    @cached_property
    def _far_up(self) -> FarUp | None:
        """The upper tail far up; None if a hit may take something away, or none is lucky."""
        if not self._only_adds or self._body <= 0.0:
            return None
        blocks = self._blocks(0)
        if blocks.sizes.size > _MAX_BLOCKS_APART:
            return None
        if largest_increment(blocks) < _NOT_LUCKY * self._body:
            return None
        return FarUp(self._blocks, self._steep_is_merged, self._n_positives, self._body)

    @cached_property
    def _only_adds(self) -> bool:
        """Whether no hit takes anything away, in a distribution that is told block by block."""
        if self._transform is not None or self._span > 0.0:
            return False
        coarse = self._blocks(0)
        return bool(min(coarse.of_one_hit.min(), coarse.cross.min()) >= 0.0)

    @property
    def _steep_is_merged(self) -> bool:
        """Whether blocks are merged where lucky hits are told apart."""
        return self._n_blocks > _MERGE_STEEP_ABOVE

    @cached_property
    def _body(self) -> float:
        """Standard deviation without the luckiest hits."""
        return self._merged_blocks(_COARSER * _MERGED, _COARSER * _MERGED)[1]

    def _blocks(self, level: int, deep: bool = False) -> Increments:
        """The increments where lucky hits are told apart, the less merged the higher the level.

        Of few blocks only those of level 0 are merged, by which contours are planned; with less
        merging near the bottom if it is told so.
        """
        if level > 0 and not self._steep_is_merged:
            return self._increments(None, math.inf)
        less = _COARSER ** (1 - level)
        resolution = less * _RESOLUTION * self._body if self._body > 0.0 else math.inf
        around = self._n_samples if deep else None
        return self._increments(less * self._ratios[0], resolution, around)

    @cached_property
    def _lucky(self) -> tuple[LuckyHits | None, LuckyHits | None]:
        """The upper tail of merged blocks and of those merged more; None where it is not steep."""
        fine, coarse = self._ratios
        merged, body = self._merged_blocks(fine, coarse)
        more, _ = self._merged_blocks(coarse, coarse)
        m = self._n_positives
        n_counted = merged.sizes[merged.of_one_hit != 0.0].sum()
        # Of a few others the distribution is not smooth.
        if not is_steep(merged, self._std) or m * n_counted < _ENOUGH_HITS * merged.n_samples:
            return None, None
        if n_lucky_blocks(merged, body) == merged.sizes.size:
            return None, None
        return LuckyHits(merged, m, body), LuckyHits(more, m, body)

    def _merged_blocks(
        self, ratio: float | None, coarse: float, around: int | None = None
    ) -> tuple[Increments, float]:
        """Blocks merged up to a ratio, and the deviation of the body, which tells hits apart."""
        body = deviation_of_the_body(self._increments(coarse, math.inf), self._n_positives)
        resolution = _RESOLUTION * body if body > 0.0 else math.inf
        return self._increments(ratio, resolution, around), body

    def _contour_inversion(
        self, ratio: float | None, coarse: float, around: int | None = None
    ) -> ContourInversion:
        """Contours with blocks merged up to one ratio, planned with another."""
        transform, body = self._transform, self._std
        if transform is None:
            blocks, body = self._merged_blocks(ratio, coarse, around)
            merged = ratio is not None
            # Near the end of a sum of weights a part of the deviation is far too coarse.
            more = blocks
            if merged or not blocks.is_linear:
                more, _ = self._merged_blocks(coarse, coarse, around)
            largest = self._largest_block if merged else None
            transform = RankingTransform(blocks, more, self._n_positives, merged, largest)
        return ContourInversion(
            transform,
            self._std,
            body,
            self._support_within,
            self._tolerance,
            self._span,
            self._near_periods,
        )

    @cached_property
    def _near_periods(self) -> Floats:
        """Where the transform of values on a lattice may return before the end of its period.

        Of values that are not known to be on one the first periods are among them.
        """
        if self._merged or self._transform is not None:
            return np.empty(0)
        increments = self._increments(None, math.inf)
        step = nearly_step_of(increments)
        if not step:
            return np.empty(0)
        heights = near_periods(increments, step)
        if self._span:
            return heights
        return np.append(heights, 2.0 * np.pi / step * np.arange(1.0, _PERIODS + 1.0))

    @cached_property
    def _largest_block(self) -> int:
        """Size of the largest block of equal scores."""
        if self._n_blocks == self._n_samples:
            return 1
        return int(self._increments(None, math.inf).sizes.max())

    def _nearly_best_tail(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """`_listed_tail` where that takes no more than the first ranks."""
        return self._listed_tail(t, sign, only_at_the_top=True)

    def _listed_tail(
        self,
        t: Floats,
        sign: int,
        only_at_the_top: bool = False,
        limit: float = _MAX_LISTED,
    ) -> tuple[Floats, Floats]:
        """Exact tail by listing all placements from t outwards, where they are few."""
        log_p, error = np.full(t.shape, -np.inf), np.full(t.shape, np.inf)
        outermost = np.argsort(-sign * t)
        listed, n_listed, n_few = None, 0, t.size
        # Most often no value has few beyond it, or all have: then one list serves them.
        for probe in itertools.chain([0, t.size - 1], itertools.repeat(None)):
            if n_listed == n_few:
                break
            at = (n_listed + n_few) // 2 if probe is None else probe
            found = self._list_from(float(t[outermost[at]]), sign, only_at_the_top, limit)
            if found is None:
                n_few = at
            else:
                listed, n_listed = found, at + 1
        if listed is not None:
            few = outermost[:n_listed]
            error[few] = _LISTED
            log_p[few] = listed.log_counts_from(sign * t[few]) - self._log_placements
        return log_p, error

    def _list_from(self, t: float, sign: int, only_at_the_top: bool, limit: float) -> Atoms | None:
        """Placements from t outwards; None where they are too many to list."""
        known_from, known = self._listed.get((sign, limit), (math.inf, None))
        if sign * t >= known_from:
            return known
        if sign * t <= self._unlisted.get((sign, limit), -math.inf):
            return None
        increments = self._at_the_top(t) if sign > 0 else None
        if increments is None:
            if only_at_the_top or not self._may_be_few(t, sign, limit):
                return None
            increments = self._increments(None, math.inf)
        signed = increments if sign > 0 else increments.negated()
        listed = atoms(signed, self._n_positives, sign * t, limit)
        if listed is None:
            self._unlisted[sign, limit] = sign * t
        else:
            self._listed[sign, limit] = sign * t, listed
        return listed

    @cached_property
    def _n_completions(self) -> float:
        """Operations that it takes to find the best completions of all partial outcomes."""
        # Where few items are in a block, and where blocks are few.
        if self._n_blocks == self._n_samples:
            return float(self._n_blocks) * self._n_positives
        sizes = self._increments(None, math.inf).sizes
        n_ways = float(np.minimum(sizes, self._n_positives).sum())
        return n_ways * max(self._n_positives, _OVERHEAD)

    def _may_be_few(self, t: float, sign: int, limit: float) -> bool:
        """Whether placements from t outwards may be few enough to be listed block by block."""
        if self._n_completions > _MAX_COMPLETIONS:
            return False
        if self._very_few_blocks:
            return True
        far = self._log_few(limit)
        far = far + _LOOSE if sign > 0 else _EXTREME * far
        at = np.array([t])
        # The first bound, of blocks that are merged, costs less and may be a little too low.
        if self._contour.log_bound(at, sign, far)[0] > _SURELY * far:
            return False
        return bool(self.log_bound(at, sign, far)[0] <= far)

    def _enclosed_tail(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """The middle between guaranteed bounds; the error is half their distance."""
        return middle(*self._bounds(t, sign))


def put_better(
    log_p: Floats, error: Floats, where: Integers, other: Floats, other_error: Floats
) -> None:
    """Write down other answers where their errors are smaller, or nothing was known."""
    better = (other_error < error[where]) | np.isneginf(log_p[where])
    log_p[where[better]], error[where[better]] = other[better], other_error[better]
