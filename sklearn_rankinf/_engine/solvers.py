"""Tails by a declared sequence of lists, contours and bounds: the inversion of all blocks.

Each of them is tried where the stated error is still too large, and each value keeps the answer
with the smallest error, with the name of the solver that gave it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._engine.canonical import CanonicalSum, Form, step_of
from sklearn_rankinf._engine.estimates import (
    ROUGH_TOLERANCE,
    FarTail,
    Solve,
    Solver,
    TailEstimates,
    about_the_mean,
    accepted_error,
    solve_in_turn,
)
from sklearn_rankinf._engine.exact.integer_weights import near_periods, nearly_step_of
from sklearn_rankinf._engine.exact.near_maximum import FEW, NearMaximum
from sklearn_rankinf._engine.inversion.band_limited import SETTINGS as BANDS
from sklearn_rankinf._engine.inversion.band_limited import BandLimitedTails
from sklearn_rankinf._engine.inversion.contour import ContourInversion, is_steep
from sklearn_rankinf._engine.inversion.many_hits import ManyHitsInversion
from sklearn_rankinf._engine.inversion.multirate import MultiratePass
from sklearn_rankinf._engine.inversion.ranking_transform import (
    RankingTransform,
    log_mgf_bound,
    transform_of,
)
from sklearn_rankinf._engine.inversion.stratified import StratifiedInversion
from sklearn_rankinf._engine.inversion.sums_of_weights import is_quick_sum
from sklearn_rankinf._engine.inversion.transform import (
    Transform,
    has_large_blocks,
    largest_increment,
)
from sklearn_rankinf._statistics import (
    FEW_BLOCKS,
    VERY_FEW_BLOCKS,
    Floats,
    Increments,
    bounding_increments,
    cached_method,
    cached_property,
    deviation_of_the_body,
    log_binomial,
    log_pmf,
    log_size_at_return,
    mean_and_variance,
)

Bounds = Callable[..., tuple[Floats, Floats]]
"""Bounds of tails at given values, for a sign; and whether quickly or not at all."""


@dataclass(frozen=True)
class SolverSettings:
    """Thresholds of the sequence. Errors are relative errors of tails."""

    # Error that is accepted without another solver.
    accurate: float = 1e-6
    # The same for upper tails of merged blocks, and for stratified contours.
    accurate_merged: float = 1e-3
    accurate_stratified: float = 1e-2
    # The same for stratified contours below exp(log_far), where ascending ones are more accurate.
    log_far: float = -15.0
    accurate_far: float = 2e-3
    # Error above which bounds, which take seconds, are tried.
    tolerable: float = 1e-2
    # The same for rows of clusters and for merged blocks, and where the bounds of a finite band are
    # known.
    unclear: float = 0.1
    wide: float = 1.0
    # Share of the tilted total below which contours leave paths out; and with a rough tolerance the
    # share, over the number of blocks, below which contours do, and bands, whose tilts lie nearer
    # to the saddle point.
    negligible: float = 1e-22
    negligible_roughly: float = 1e-9
    negligible_in_bands: float = 1e-6
    # Blocks of lists with ties up to which a rough tolerance is met by bands first; and the work of
    # contours that come before these: some hundredths of a second.
    bands_first_up_to: int = 1_000
    work_of_short_contour: float = 2.5e7
    log_near: float = -5.0
    # Log of a tail below which bounds of blocks merged less are computed, and contours of them.
    log_bound_less_merging: float = -12.0
    log_less_merging: float = -30.0
    # Placements are listed if a Chernoff bound allows few: exp(loose) times as many as are listed
    # in the upper tail, where it is nearly sharp, and in the lower one a power of their share.
    # A bound of merged blocks, which may be too low, refuses first, above this power of the share.
    loose: float = 5.0
    extreme: float = 0.3
    surely: float = 0.8
    # Positives up to which a lattice is tried before bands, and items above which it is without a
    # rough tolerance: in shorter lists other methods are more accurate, and quick.
    hits_on_a_lattice: int = 64
    samples_on_a_lattice: int = 5_000
    # Blocks up to which a lattice comes before short contours, of half as many positives.
    blocks_on_a_lattice: int = 200
    # Positives without which a contour does not resolve the upper tail.
    least_positives: int = 4
    # Hits from which a chain of hits takes less time than other contours, of at least so many
    # blocks, and the error up to which others are not tried.
    many_hits: int = 1_000
    blocks_of_many_hits: int = 300
    accurate_many_hits: float = 9e-2
    # Items times hits up to which a plain contour, whose error is 3e-10, takes about a second.
    contour_work: float = 4e7
    # Hits above which a tolerance is met by plain contours first, if blocks are merged.
    many_positives: int = 2_000
    # Blocks above which neighbouring ones are merged: for contours, for first contours with a rough
    # tolerance, and for stratified contours.
    merge_above: int = 5_000
    merge_roughly_above: int = 700
    # Nodes times products of first contours with a rough tolerance, at most: for each hit where
    # stratified ones follow, and for each block where plain ones do, which take longer then.
    work_roughly_by_hit: float = 6e5
    work_roughly_by_block: float = 6e3
    merge_stratified_above: int = 2_500
    # Ratio of the ends of merged blocks, with more blocks than the third, and far above the mean.
    ratio: float = 0.02
    ratio_of_many: float = 0.04
    many_blocks: int = 10_000_000
    ratio_far: float = 0.004
    # The same with a rough tolerance.
    ratio_roughly: float = 0.2
    # The same where Chernoff bounds of all paths take too long, affordable products of a pass over
    # those of the merged blocks, and parts of the tilts.
    ratio_at_last: float = 0.2
    work_at_last: float = 3e8
    parts_of_tilt_at_last: tuple[float, ...] = (0.5, 0.7, 0.85, 1.0)
    # Blocks up to which none are merged far above the mean.
    unmerged_up_to: int = 50_000
    # Ratio between the levels of merging, by whose difference the error is estimated; and that of
    # blocks that plan contours, which are not merged themselves, with a rough tolerance: of few
    # positives, and of others.
    coarser: float = 2.5
    planned_roughly: tuple[float, float] = (0.4, 0.1)
    # Merged blocks that stratified contours are affordable for.
    most_merged: int = 20_000
    # Expected number of positives that add more than a part of the body, at least.
    least_counted: float = 4.0
    part_counted: float = 0.01
    # Part of the body that a positive adds at least where contours ascend. Where none adds so much,
    # far tails move the body itself, and plain contours take less time.
    least_increment: float = 1.0
    # Part of the standard deviation that a positive adds at least where the contours of merged
    # blocks are stratified.
    least_increment_merged: float = 0.5
    # Log size of a return with the hits among ranks that add nothing up to which it is negligible:
    # this, or this part of the log probability that no hit is counted.
    log_no_return: float = -17.0
    part_of_none: float = 0.7
    # Standard deviations above the mean from which ascending contours serve other distributions.
    far_above: float = 15.0
    # Blocks up to which Chernoff bounds are computed from blocks that are not merged wrongly.
    most_blocks_of_bounds: int = 1_000_000
    # Periods of the transform of values that are nearly on a lattice.
    n_periods: int = 3


SETTINGS = SolverSettings()


class Tails:
    """Both tails of an additive rank statistic, each on its own side of the mean.

    Parameters
    ----------
    increments : callable
        Returns the increments, with far blocks merged up to a ratio and a resolution, or block by
        block for None; and merged less around a rank that is a third argument.
    n_samples, n_blocks, n_positives, last : int
        Numbers of items, of blocks and of hits, and the rank of the last hit of a perfect ranking.
    mean, std : float
        Mean and standard deviation.
    support_within : tuple of float
        Values that the support does not exceed.
    bounds : callable
        Returns guaranteed bounds of the tails at given values, for a sign.
    tolerance : float, default=0.0
        Relative error that is accepted.
    span : float, default=0.0
        Distance of which all values are multiples; 0 if there is none.
    transform : Transform, optional
        The transform in closed form, where there is one.
    first_ranks : callable, optional
        Returns the increments of the first ranks alone, if no placement with a given value, or
        more, has a hit behind them; else None.
    is_clustered : bool, default=False
        Whether the distribution is a row of clusters, which contours resolve wrongly.
    """

    def __init__(
        self,
        increments: Callable[..., Increments],
        n_samples: int,
        n_blocks: int,
        n_positives: int,
        last: int,
        mean: float,
        std: float,
        support_within: tuple[float, float],
        bounds: Bounds,
        tolerance: float = 0.0,
        span: float = 0.0,
        transform: Transform | None = None,
        first_ranks: Callable[[float], Increments | None] = lambda t: None,
        is_clustered: bool = False,
    ) -> None:
        self._increments = increments
        self._n_samples, self._n_blocks, self._last = n_samples, n_blocks, last
        self._n_positives, self._mean, self._std = n_positives, mean, std
        self._support_within, self._bounds = support_within, bounds
        self._tolerance, self._span, self._transform = tolerance, span, transform
        self._is_clustered = is_clustered
        self._log_placements = log_binomial(n_samples, n_positives)
        n_ranks = n_blocks if n_blocks == n_samples else None
        self._near_maximum = NearMaximum(
            lambda: increments(None, math.inf),
            first_ranks,
            n_positives,
            self._log_placements,
            n_ranks,
        )

    def tail(self, t: Floats, sign: int, log_negligible: float = -math.inf) -> TailEstimates:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1).

        Of probabilities below ``exp(log_negligible)`` only a bound is computed.
        """
        found = TailEstimates.unknown(t.shape)
        if log_negligible > -math.inf:
            bound = self._cheap_bound(t, sign, log_negligible)
            below = np.flatnonzero(bound < log_negligible)
            found.put(below, TailEstimates.of(bound[below], "upper bound", enclosure=1.0))
        solve_in_turn(self.sequence(sign), t, sign, found, log_negligible, self._tolerance)
        return found

    @cached_method
    def sequence(self, sign: int) -> list[Solver]:
        """The solvers of a tail, in the order in which they are tried."""
        s, upper = SETTINGS, sign > 0
        is_rough = self._tolerance >= ROUGH_TOLERANCE
        stratified = self.is_stratified
        ascends = upper and (stratified or self.merges) and self._ascends
        few_hits = upper and self._n_positives < s.least_positives
        first = max(s.accurate, self._tolerance)
        if self.merges and upper:
            first = max(first, s.accurate_merged)
        if self._has_many_hits:
            first = max(first, s.accurate_many_hits)
        good = max(first, s.accurate_stratified) if stratified else first
        rough, band = max(good, s.tolerable), "band-limited bounds"
        worth_band = s.wide if self.merges else rough
        last = s.unclear if self.merges else partial(self._error_worth_seconds, good)
        # Lists with ties differ from fold to fold: a band takes less time than a first contour.
        tied = self._has_ties and self._n_blocks <= s.bands_first_up_to
        # Of few hits the transform hardly decays: a lattice, or strata, take less time than a band.
        few = self._n_positives <= s.hits_on_a_lattice
        few &= is_rough or self._n_samples > s.samples_on_a_lattice
        early = (self._is_certified or tied) and is_rough and not (few and stratified)
        quick_lattice = Solver("midpoint of bounds", self._enclosed_quickly, good)
        # A band of a list with ties takes less time than longer contours of few hits, or ascending
        # strata. Lists without ties share their contours.
        band_first = (self._has_ties and few) or (tied and stratified and ascends)
        band_first &= is_rough and not early
        is_banded = early or band_first
        in_few_blocks = early and self._n_blocks <= s.blocks_on_a_lattice
        in_few_blocks &= self._n_positives <= s.hits_on_a_lattice // 2
        above = s.tolerable if few_hits else good
        clustered = self._is_clustered and not early
        in_rows = rough if few and clustered else good
        if clustered:
            above = s.unclear
        near_maximum, by_strata = "near-maximum enumeration", "stratified contour"
        near_body = upper and stratified and not self._merges_strata
        far_above = ascends and self.merges and not stratified
        ascending = partial(self._far_out, self._ascending)
        # Ascending contours of many hits take longer than plain ones, which may be good enough.
        is_dense = is_rough and self._n_positives > s.many_positives
        # Lists without ties share a contour, which takes less time than a list of placements.
        is_shared = is_rough and not (self._has_ties or self.merges)
        # The fewer blocks are left, the sooner a contour is known.
        roughly = is_rough and upper and self._n_blocks > s.merge_roughly_above
        declared: list[tuple[bool, Solver]] = [
            (self._has_many_hits, Solver("contour", self._many_hits, s.accurate)),
            (roughly, Solver("contour", self._roughly, good)),
            (self._crosses_jumps, Solver("contour", self._across_jumps, first)),
            (in_few_blocks, quick_lattice),
            (early, Solver("contour", self._short_contour, good)),
            (early and upper, Solver(near_maximum, self._listed, good)),
            (early and few and not in_few_blocks, quick_lattice),
            (early, Solver(band, self._band_limited, good)),
            (upper and (stratified or far_above), Solver(near_maximum, self._listed_first, first)),
            (stratified, Solver(by_strata, self._stratified, first)),
            (band_first, Solver(band, self._band_limited, good)),
            (near_body, Solver("contour", self._contour_tail, self._near_error)),
            (stratified and ascends, Solver(near_maximum, self._listed, self._far_error)),
            (stratified and ascends, Solver(by_strata, self._ascending, self._far_error)),
            (far_above and not is_dense, Solver(by_strata, ascending, first)),
            (is_shared, Solver("contour", self._short_contour, good)),
            (True, Solver(near_maximum, self._listed, max(good, s.tolerable) if early else good)),
            (few_hits, Solver("midpoint of bounds", self._enclosed, good)),
            (few and clustered, Solver("midpoint of bounds", self._enclosed_quickly, above)),
            (self._is_certified and not is_banded, Solver(band, self._band_limited, in_rows)),
            (True, Solver("contour", self._contour_tail, above)),
            (few and not is_rough, Solver("midpoint of bounds", self._enclosed, worth_band)),
            (far_above and is_dense, Solver(by_strata, ascending, first)),
            (not (is_banded or self._is_certified), Solver(band, self._band_limited, worth_band)),
            (True, Solver(near_maximum, self._listed_last, rough)),
            (True, Solver("midpoint of bounds", self._enclosed, last)),
            (is_rough, Solver(band, self._band_limited_closely, s.wide)),
            (True, Solver("upper bound", self._bound, np.finfo(float).max)),
        ]
        return [solver for applies, solver in declared if applies]

    # Many hits

    def _many_hits(self, t: Floats, sign: int, known: TailEstimates) -> TailEstimates:
        return self._many_hits_inversion.tail(t, sign)

    @cached_property
    def _many_hits_inversion(self) -> ManyHitsInversion:
        roughly = self._tolerance >= ROUGH_TOLERANCE

        def blocks(level: int) -> Increments:
            ratio = SETTINGS.ratio * SETTINGS.coarser ** (1 - level + roughly)
            resolution = SETTINGS.coarser ** (1 - level) * self._body
            return self._increments(ratio, resolution)

        numbers = self._n_positives, self._std, self._tolerance
        return ManyHitsInversion(blocks, *numbers, self._has_ties)

    @cached_property
    def _has_many_hits(self) -> bool:
        """Whether sums over hits are smooth, and the transform does not return."""
        s, m, n = SETTINGS, self._n_positives, self._n_samples
        if m < s.many_hits or self._n_blocks < s.blocks_of_many_hits or self._is_clustered:
            return False
        if self._transform is not None or self._span > 0.0 or self._near_periods.size:
            return False
        if not self.merges and is_quick_sum(self._increments(None, math.inf), m):
            return False
        if self._tolerance < ROUGH_TOLERANCE and not self.merges and m * n <= s.contour_work:
            return False
        coarse = self._blocks(0)
        n_counted = coarse.sizes[~coarse.is_inert].sum()
        return m * n_counted >= s.many_hits * n and self._body > 0.0 and not self._returns

    # Near-maximum enumeration

    def _listed_first(self, t: Floats, sign: int, known: TailEstimates) -> TailEstimates:
        """Lists within the first ranks, which take no time to plan."""
        return self._near_maximum.tail(t, sign)

    def _listed(self, t: Floats, sign: int, known: TailEstimates) -> TailEstimates:
        found = TailEstimates.unknown(t.shape)
        # A tail that is known roughly holds too many placements.
        many = (known.error.total < 1.0) & (
            known.log_p + self._log_placements > 1.0 + math.log(FEW)
        )
        open_ = np.flatnonzero(~many)
        if open_.size:
            may_be_few = partial(self._may_be_few, sign=sign)
            found.put(open_, self._near_maximum.tail(t[open_], sign, may_be_few))
        return found

    def _listed_last(self, t: Floats, sign: int, known: TailEstimates) -> TailEstimates:
        """Lists where nothing else answers: few outcomes of large blocks hold many placements."""
        return self._near_maximum.tail(t, sign, lambda t: True)

    def _may_be_few(self, t: float, sign: int) -> bool:
        """Whether Chernoff bounds allow no more placements from t outwards than are listed."""
        far = math.log(FEW) - self._log_placements
        far = far + SETTINGS.loose if sign > 0 else SETTINGS.extreme * far
        if self._n_blocks <= VERY_FEW_BLOCKS or far >= 0.0:
            return True
        # The first bound, of blocks that are merged, costs less and may be a little too low.
        at, enough = np.array([t]), SETTINGS.surely * far
        reach = self._contour.unbounded_up_to(sign, enough)
        if sign * t < reach:
            return False
        bound = self._contour.log_bound(at, sign, far)[0]
        if self.merges and bound <= enough:
            bound = self.log_bound(at, sign, far)[0]
        return bool(bound <= far)

    # Stratified contours

    def _stratified(self, t: Floats, sign: int, known: TailEstimates) -> TailEstimates:
        return self._stratified_inversion.tail(t, sign)

    def _ascending(self, t: Floats, sign: int, known: TailEstimates) -> TailEstimates:
        found = TailEstimates.unknown(t.shape)
        # They take seconds, and are no more accurate than paths of many hits across a jump.
        is_enough = (known.solver == "contour") & (known.error.total <= SETTINGS.unclear)
        is_enough &= self._crosses_jumps
        open_ = np.flatnonzero(~is_enough)
        if open_.size:
            found.put(open_, self._stratified_inversion.ascending_tail(t[open_]))
        return found

    def _far_error(self, log_p: Floats) -> Floats:
        """Accepted error of a stratified contour: far above the body ascending ones are better."""
        far = np.where(
            log_p > SETTINGS.log_far, SETTINGS.accurate_stratified, SETTINGS.accurate_far
        )
        return np.maximum(far, self._tolerance)

    def _near_error(self, log_p: Floats) -> Floats:
        """Accepted error near the body, where a plain contour of few blocks takes no longer."""
        return np.where(log_p > SETTINGS.log_far, self._far_error(log_p), np.inf)

    @cached_property
    def _stratified_inversion(self) -> StratifiedInversion:
        lowest, is_merged = self._support_within[0], self._merges_strata
        numbers = self._n_positives, self._body, lowest, self._mean, self._tolerance
        return StratifiedInversion(
            self._blocks, RankingTransform, MultiratePass, is_merged, *numbers, self._has_ties
        )

    @cached_property
    def is_stratified(self) -> bool:
        """Whether one positive at the top moves the statistic by three standard deviations.

        With merged blocks half of one is enough.
        And enough positives are expected below the top, which add something, for their sum to be
        smooth.
        """
        if self._n_blocks <= FEW_BLOCKS or not self._has_strata:
            return False
        coarse, m = self._blocks(0), self._n_positives
        typical = coarse.of_one_hit + coarse.cross * coarse.starts * (m / coarse.n_samples)
        n_counted = coarse.sizes[typical > SETTINGS.part_counted * self._body].sum()
        enough = m * n_counted >= SETTINGS.least_counted * coarse.n_samples
        # Returns of the transform are looked for on plain contours alone.
        if not enough or self._returns:
            return False
        if self.merges:
            # A plain contour of many merged blocks takes longer.
            return largest_increment(coarse) > SETTINGS.least_increment_merged * self._std
        return is_steep(coarse, self._std)

    @cached_property
    def _ascends(self) -> bool:
        """Whether upper tails may have ascending contours."""
        if not self._has_strata or self._body <= 0.0:
            return False
        return largest_increment(self._blocks(0)) >= SETTINGS.least_increment * self._body

    @cached_property
    def _has_strata(self) -> bool:
        """Whether no positive takes anything away, and merged blocks are affordable."""
        if self._transform is not None or self._span > 0.0:
            return False
        coarse = self._blocks(0)
        only_adds = min(coarse.of_one_hit.min(), coarse.cross.min()) >= 0.0
        return bool(only_adds) and coarse.sizes.size <= SETTINGS.most_merged

    # Contours

    def jumps(self, t: Floats, sign: int) -> NDArray[np.bool_]:
        """Whether no tilt puts the mean near a value, and paths carry its tail."""
        if self.merges and not self._crosses_jumps:
            return np.zeros(t.shape, dtype=bool)
        return self._contour.jumps(t, sign)

    def _contour_tail(self, t: Floats, sign: int, known: TailEstimates) -> TailEstimates:
        """Contours; far above the mean, where merging errs more, with blocks merged less."""
        if not (self.merges and sign > 0):
            found = TailEstimates.unknown(t.shape)
            jumps = self.jumps(t, sign)
            found.put(np.flatnonzero(~jumps), self._contour.tail(t[~jumps], sign))
            unknown = np.flatnonzero(np.isinf(found.error.total))
            # With a rough tolerance a band of these paths takes less time.
            is_rough = self._tolerance >= ROUGH_TOLERANCE
            if unknown.size and not is_rough and self._contour.may_be_limited:
                found.put_better(unknown, self._contour.tail_of_paths(t[unknown], sign))
            if self._is_certified:
                self._refute(found, t, sign)
            return found
        found = TailEstimates.unknown(t.shape)
        jumps = self.jumps(t, sign)
        found.put(np.flatnonzero(~jumps), self._contour.tail(t[~jumps], sign))
        enough = max(SETTINGS.accurate_merged, self._tolerance)
        for is_merged in (False, True):
            far = np.flatnonzero((found.error.total > enough) & ~jumps)
            far = far[self._contour.log_bound(t[far], sign) < SETTINGS.log_less_merging]
            if far.size:
                contour = self._contour_less_merged if is_merged else self._contour_far_out
                found.put_better(far, contour.tail(t[far], sign))
        return found

    @property
    def _crosses_jumps(self) -> bool:
        """Whether tails of merged blocks across a jump come from the paths that carry them.

        Of few hits stratified contours are as quick, and plain ones without ties.
        """
        if not self.merges or self._n_positives >= SETTINGS.many_hits:
            return self.merges
        return self._has_ties and not self.is_stratified

    def _across_jumps(self, t: Floats, sign: int, known: TailEstimates) -> TailEstimates:
        """Contours of the paths that carry a tail, where no tilt puts the mean near the value."""
        found, jumps = TailEstimates.unknown(t.shape), self.jumps(t, sign)
        for contour in self._contours_across_jumps if jumps.any() else []:
            enough = np.maximum(accepted_error(self._tolerance, found.log_p), SETTINGS.unclear)
            is_known = np.isfinite(found.log_p) & (found.error.total <= enough)
            open_ = np.flatnonzero(jumps & ~is_known)
            if open_.size:
                found.put_better(open_, contour.tail_of_paths(t[open_], sign))
        return found

    def _roughly(self, t: Floats, sign: int, known: TailEstimates) -> TailEstimates:
        """Short contours of few merged blocks; near a jump longer ones take more than others."""
        work = SETTINGS.work_roughly_by_block * self._n_blocks
        if self.is_stratified:
            work = SETTINGS.work_roughly_by_hit * self._n_positives
        return self._rough_contour.tail(t, sign, work)

    def _far_out(self, solve: Solve, t: Floats, sign: int, known: TailEstimates) -> TailEstimates:
        """Tails of the values far above the mean alone."""
        found = TailEstimates.unknown(t.shape)
        far = np.flatnonzero(t > self._mean + SETTINGS.far_above * self._std)
        if far.size:
            found.put(far, solve(t[far], sign, known.at(far)))
        return found

    def _short_contour(self, t: Floats, sign: int, known: TailEstimates) -> TailEstimates:
        """Contours that take less time than a finite band."""
        return self._contour.tail(t, sign, SETTINGS.work_of_short_contour)

    def _refute(self, found: TailEstimates, t: Floats, sign: int) -> None:
        """Take back, in place, tails outside of their guaranteed bounds."""
        lower, upper = self.log_bounds(t, sign)
        error = np.minimum(found.error.total, 1.0)
        wrong = (found.log_p + error < lower) | (found.log_p - error > upper)
        found.put(np.flatnonzero(wrong), TailEstimates.unknown((int(wrong.sum()),)))

    # Bounds

    def _error_worth_seconds(self, good: float, log_p: Floats) -> Floats:
        """Accepted error of a finite band: others take long, but near the body of the distribution.

        There a lattice is quick, and accurate.
        """
        if not self._tolerance:
            return np.full(log_p.shape, SETTINGS.unclear)
        return np.where(log_p > SETTINGS.log_near, good, SETTINGS.wide)

    def _band_limited(self, t: Floats, sign: int, known: TailEstimates) -> TailEstimates:
        """Tails between the bounds of a finite band."""
        return self._band_limited_tails.tail(t, sign)

    def _band_limited_closely(self, t: Floats, sign: int, known: TailEstimates) -> TailEstimates:
        """The same with the work of no tolerance, where bands of few nodes know nothing."""
        return self._bands_with(0.0).tail(t, sign)

    def log_bounds(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Logs of guaranteed bounds of a finite band; -inf and 0 where blocks are merged."""
        if self.merges:
            # Tilts of merged blocks need not be computed for bounds that are not guaranteed.
            return np.full(t.shape, -np.inf), np.zeros(t.shape)
        return self._band_limited_tails.log_bounds(t, sign)

    @property
    def _is_certified(self) -> bool:
        """Whether contours have to lie within guaranteed bounds: few blocks return anywhere."""
        return self._n_blocks <= FEW_BLOCKS or (self._is_clustered and not self.merges)

    @property
    def _band_limited_tails(self) -> BandLimitedTails:
        return self._bands_with(self._tolerance)

    @cached_method
    def _bands_with(self, tolerance: float) -> BandLimitedTails:
        transform = self._transform
        if transform is None:
            if self.merges:
                ratio, coarse = self._ratios
                blocks, more = (self._merged_blocks(each, coarse)[0] for each in (ratio, coarse))
            else:
                blocks = more = self._increments(None, math.inf)
            largest = self._largest_block if self.merges else None
            negligible = BANDS.negligible
            if tolerance >= ROUGH_TOLERANCE:
                negligible = SETTINGS.negligible_in_bands / self._n_blocks
            transform = transform_of(
                blocks, more, self._n_positives, self.merges, largest, negligible
            )
        numbers = self._n_samples, self._mean, self._std, self._support_within, tolerance
        return BandLimitedTails(transform, *numbers)

    def _enclosed(self, t: Floats, sign: int, known: TailEstimates) -> TailEstimates:
        return TailEstimates.between(*self._bounds(t, sign), "midpoint of bounds")

    def _enclosed_quickly(self, t: Floats, sign: int, known: TailEstimates) -> TailEstimates:
        return TailEstimates.between(*self._bounds(t, sign, True), "midpoint of bounds")

    def _bound(self, t: Floats, sign: int, known: TailEstimates) -> TailEstimates:
        """A bound, of unknown error, where nothing else answers."""
        log_p = self.log_upper_bound(t, sign)
        return TailEstimates.of(log_p, "upper bound", enclosure=np.inf)

    def log_upper_bound(self, t: Floats, sign: int) -> Floats:
        """Chernoff bound of the log of the tail, at tilts that are good for merged blocks.

        It is guaranteed for up to a million blocks: they are kept, or merged so that they never add
        less (sign 1) or more (sign -1). Where too many paths would have to be bounded, it is that
        of few merged blocks, and less sharp.
        """
        if self._transform is not None or not self.lists_blocks:
            return self.log_bound(t, sign)
        ratio = 0.0 if self._n_blocks <= SETTINGS.unmerged_up_to else SETTINGS.ratio_far
        blocks = self.bounding_blocks(sign, ratio)
        tilts, log_p = self._contour.tilts(t, sign), self.log_bounds(t, sign)[1]
        for tilt in np.unique(tilts[np.isfinite(tilts)]).tolist():
            same = tilts == tilt
            log_mgfs = {tilt: log_mgf_bound(blocks, self._n_positives, tilt)}
            if np.all(log_mgfs[tilt] - tilt * t[same] >= 0.0):
                fewer = self.bounding_blocks(sign, SETTINGS.ratio_at_last)
                parts = [part * tilt for part in SETTINGS.parts_of_tilt_at_last]
                log_mgfs = {
                    part: log_mgf_bound(fewer, self._n_positives, part, SETTINGS.work_at_last)
                    for part in parts
                }
            for other, log_mgf in log_mgfs.items():
                if math.isfinite(log_mgf):
                    log_p[same] = np.minimum(log_mgf - other * t[same], log_p[same])
        return log_p

    def _cheap_bound(self, t: Floats, sign: int, enough: float) -> Floats:
        """A bound of the log of the tail from transforms that the tails need as well."""
        if sign < 0 and self.is_stratified:
            return self._stratified_inversion.log_bound_below(t, enough)
        return self._contour.cheap_log_bound(t, sign)

    def log_bound(self, t: Floats, sign: int, enough: float = -math.inf) -> Floats:
        """Chernoff bound of the log of the tail; the lowest unless it is below `enough`."""
        log_p = self._contour.log_bound(t, sign, enough)
        far = log_p < SETTINGS.log_bound_less_merging
        if far.any():
            log_p[far] = self._contour_far_out.log_bound(t[far], sign, enough)
        return log_p

    # Blocks of ranks, and the contours that use them

    @property
    def _has_ties(self) -> bool:
        return self._n_blocks < self._n_samples

    @property
    def merges(self) -> bool:
        """Whether far blocks are merged in contours."""
        return self._n_blocks > SETTINGS.merge_above and self._transform is None

    @property
    def lists_blocks(self) -> bool:
        """Whether blocks are few enough to be listed one by one for bounds."""
        return self._n_blocks <= SETTINGS.most_blocks_of_bounds

    def bounding_blocks(self, sign: int, ratio: float = SETTINGS.ratio) -> Increments:
        """Merged blocks that never add less (sign 1) or more (sign -1)."""
        return bounding_increments(self._increments(None, math.inf), ratio)[1 if sign > 0 else 0]

    def fewer_blocks(self) -> list[Increments]:
        """Merged blocks, and blocks that are merged further for comparison."""
        return [self._merged_blocks(ratio, self._ratios[1])[0] for ratio in self._ratios]

    @property
    def _merges_strata(self) -> bool:
        """Whether blocks are merged in stratified contours."""
        return self._n_blocks > SETTINGS.merge_stratified_above

    @property
    def _ratios(self) -> tuple[float, float]:
        """Ratios up to which blocks are merged, and merged further for comparison."""
        many = self._n_blocks > SETTINGS.many_blocks
        ratio = SETTINGS.ratio_of_many if many else SETTINGS.ratio
        return ratio, SETTINGS.coarser * ratio

    @cached_property
    def _body(self) -> float:
        """Standard deviation without the top positives."""
        coarse = SETTINGS.coarser * SETTINGS.ratio
        return self._merged_blocks(coarse, coarse)[1]

    def _blocks(self, level: int, deep: bool = False) -> Increments:
        """Increments for stratified contours, merged the less the higher the level.

        Few blocks are merged at level 0 only, where contours are planned; with less merging near
        the bottom if `deep` is set.
        """
        if level > 0 and not self._merges_strata:
            return self._increments(None, math.inf)
        roughly = self._tolerance >= ROUGH_TOLERANCE
        less = SETTINGS.coarser ** (1 - level + roughly)
        resolution = less * self._body if self._body > 0.0 else math.inf
        around = self._n_samples if deep else None
        return self._increments(less * self._ratios[0], resolution, around)

    def _merged_blocks(
        self, ratio: float | None, coarse: float, around: int | None = None
    ) -> tuple[Increments, float]:
        """Blocks merged up to a ratio, and the deviation of the body, which is their resolution."""
        body = deviation_of_the_body(self._increments(coarse, math.inf), self._n_positives)
        resolution = body if body > 0.0 else math.inf
        return self._increments(ratio, resolution, around), body

    @cached_property
    def _contour(self) -> ContourInversion:
        if self.merges:
            return self._contour_inversion(*self._ratios)
        is_rough, s = self._tolerance >= ROUGH_TOLERANCE, SETTINGS
        planned = s.coarser * s.ratio
        if is_rough:
            planned = s.planned_roughly[self._n_positives > s.hits_on_a_lattice]
        return self._contour_inversion(None, planned)

    @cached_property
    def _rough_contour(self) -> ContourInversion:
        ratio = SETTINGS.ratio_roughly
        return self._contour_inversion(ratio, SETTINGS.coarser * ratio)

    @cached_property
    def _contours_across_jumps(self) -> list[ContourInversion]:
        """Of few hits those of paths are short, and blocks are merged less from the start."""
        ratio, coarse = self._ratios
        finer = self._contour_inversion(0.5 * ratio, 0.5 * coarse)
        is_rough = self._tolerance >= ROUGH_TOLERANCE
        takes_long = is_rough or self._n_positives > SETTINGS.many_positives
        return [self._contour, finer] if takes_long else [finer]

    @cached_property
    def _contour_far_out(self) -> ContourInversion:
        """For tails that are far out, where hits fill the top ranks."""
        if self._transform is not None:
            return self._contour
        if self._n_blocks > SETTINGS.unmerged_up_to:
            return self._contour_less_merged
        coarse = SETTINGS.coarser * SETTINGS.ratio
        return self._contour_inversion(None, coarse, self._last)

    @cached_property
    def _contour_less_merged(self) -> ContourInversion:
        """The same with few merged blocks, where others take long."""
        ratio = SETTINGS.ratio_far
        return self._contour_inversion(ratio, SETTINGS.coarser * ratio, self._last)

    def _contour_inversion(
        self, ratio: float | None, coarse: float, around: int | None = None
    ) -> ContourInversion:
        """Contours with blocks merged up to one ratio, planned with another."""
        transform, body = self._transform, self._std
        if transform is None:
            blocks, body = self._merged_blocks(ratio, coarse, around)
            merged = ratio is not None
            more, _ = self._merged_blocks(coarse, coarse, around)
            largest = self._largest_block if merged else None
            negligible = SETTINGS.negligible
            if self._tolerance >= ROUGH_TOLERANCE:
                negligible = SETTINGS.negligible_roughly / self._n_blocks
            transform = transform_of(blocks, more, self._n_positives, merged, largest, negligible)
        numbers = self._std, body, self._support_within, self._tolerance, self._span
        return ContourInversion(transform, *numbers, self._near_periods)

    @cached_property
    def _near_periods(self) -> Floats:
        """Heights at which the transform of values on a lattice may return within a period.

        Of values that are only nearly on one the first periods are among them.
        """
        if self.merges or self._transform is not None:
            return np.empty(0)
        increments = self._increments(None, math.inf)
        step = nearly_step_of(increments)
        if not step:
            return np.empty(0)
        heights = near_periods(increments, step)
        if self._span:
            return heights
        periods = 2.0 * np.pi / step * np.arange(1.0, SETTINGS.n_periods + 1.0)
        return np.append(heights, periods)

    @cached_property
    def _largest_block(self) -> int:
        """Size of the largest block of equal scores, or of ranks that add nothing."""
        if self._has_ties:
            return int(self._increments(None, math.inf).sizes.max())
        coarse = self._increments(SETTINGS.coarser * SETTINGS.ratio, math.inf)
        return int(coarse.sizes[coarse.is_inert].max(initial=1))

    @cached_property
    def _returns(self) -> bool:
        """Whether the transform returns with the number of hits in a large block.

        With the hits among ranks that add nothing it returns where all other ranks add nearly the
        same. Where they do not, it only stays at the probability that no hit is counted.
        """
        n, m = self._n_samples, self._n_positives
        if not has_large_blocks(self._largest_block, n, m):
            return False
        blocks = self._increments(None, math.inf)
        inert = np.flatnonzero(blocks.is_inert)
        largest = int(blocks.sizes[~blocks.is_inert].max())
        if inert.size != 1 or has_large_blocks(largest, n, m):
            return RankingTransform(blocks, blocks, m).has_large_blocks
        log_none = float(log_pmf(0, n, m, n - blocks.sizes[inert[0]]))
        negligible = max(SETTINGS.log_no_return, SETTINGS.part_of_none * log_none)
        return log_size_at_return(blocks, m, int(inert[0])) > negligible


def tails_of(
    canonical: CanonicalSum,
    mean: float,
    std: float,
    within: tuple[float, float],
    bounds: Bounds,
    last: int,
    *options: Any,
    **more: Any,
) -> Tails:
    """Lists and contours for a canonical sum."""
    numbers = canonical.n_samples, canonical.n_blocks, canonical.n_counted, last
    return Tails(canonical.merged, *numbers, mean, std, within, bounds, *options, **more)


def tails_of_blocks(
    increments: Increments, n_positives: int, tolerance: float
) -> tuple[Tails, Form, float]:
    """Lists and contours of a statistic that is given by its increments; its form and mean."""
    canonical = CanonicalSum.of_increments(increments, n_positives)
    blocks, m = canonical.blocks, canonical.n_counted

    def nothing(t: Floats, sign: int, quickly: bool = False) -> tuple[Floats, Floats]:
        return np.zeros(t.shape), np.ones(t.shape)

    mean, variance = mean_and_variance(blocks, m)
    std = math.sqrt(variance)
    only_adds = min(blocks.of_one_hit.min(), blocks.cross.min()) >= 0.0
    within = 0.0 if only_adds else -math.inf, math.inf
    # Values on a lattice have no stratified contours.
    step = 0.0 if is_steep(blocks, std) else step_of(blocks)
    tails = tails_of(canonical, mean, std, within, nothing, m, tolerance, step)
    return tails, canonical.form, mean


def inversion_of(increments: Increments, n_positives: int, tolerance: float) -> FarTail:
    """Tails of a statistic that is given by its increments, on either side of the mean."""
    tails, form, mean = tails_of_blocks(increments, n_positives, tolerance)

    def tail(t: Floats, sign: int) -> TailEstimates:
        return about_the_mean(tails.tail, *form.value(t, sign), mean)

    return tail
