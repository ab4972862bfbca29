"""Stratified contours: tails of statistics to which one positive at the top adds very much.

Where a single positive at the top is worth several standard deviations of what all others add, the
null distribution is a mixture over the number and the ranks of the top-stratum positives. A plain
contour needs thousands of nodes for every block of ranks then, and under a positive tilt the few
rankings with all positives at the top hide those that matter. Three kinds of contours answer here;
the pass of `multirate` computes all, from coarse nodes at the bottom to fine ones at the top:

damped
    Upper tails near the body. The tilt is small and negative, ``theta = -damping / T``, and the
    upper tail is the complement of the lower one (Abate and Whitt, 1992). One contour serves all
    values up to a part of its period T.
lower
    Lower tails. Negative tilts grow by a factor; a value takes the first under which it is near the
    mean: an approximate saddle point.
ascending
    Upper tails far above the body. The tilt is positive, and the contour holds only the strata, by
    the number of top-stratum positives, that matter at the value by their Chernoff bounds. What the
    others add is bounded by the same bounds.

The error of merged blocks comes from the same contour with blocks merged further (Richardson).
See "Stratified contours" in doc/theory.rst.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from sklearn_rankinf._engine.estimates import (
    DOUBT_OF_MERGING,
    ROUGH_TOLERANCE,
    TailEstimates,
    accepted_error,
    exp_of_error,
)
from sklearn_rankinf._engine.exact.enumeration import largest_value
from sklearn_rankinf._engine.inversion.bands import (
    Bands,
    carrying_bands,
    feasible_bands,
    n_tilts_inside,
    tilted_bands,
)
from sklearn_rankinf._engine.inversion.forward_pass import LeftTheRangeError, walked_through
from sklearn_rankinf._engine.inversion.nodes import LOST, Nodes
from sklearn_rankinf._engine.inversion.stratified_tails import (
    SERVED,
    ContourPass,
    StratifiedTails,
    TransformOf,
)
from sklearn_rankinf._statistics import (
    Floats,
    Increments,
    Integers,
    cached_method,
    log_binomial_pmf,
    log_pmf,
    log_probability_of_hits,
    log_rarity,
)

Blocks = Callable[[int, bool], Increments]
"""Increments by the level of merging; with less merging near the bottom if the flag is set."""


@dataclass(frozen=True)
class StratifiedSettings:
    """Settings of stratified contours; `body` is the standard deviation without top positives."""

    # Period of the shortest damped contour, in bodies, and the ratio to the next longer one.
    period: float = 320.0
    longer: float = 2.0
    # |theta| T of damped contours: aliasing is less than exp(-damping) of what is a period away.
    damping: float = 9.0
    # Index of the periods from which damped contours are long, and log of tails too small for them.
    long: int = 2
    lost_in_rounding: float = -20.0
    # Damped contours end at this distance from the real axis at the latest, in one over the body.
    farthest: float = 45.0
    # Ratio of the tilts of lower tails, the first of which is one over the body, and their number.
    steeper: float = 3.0
    n_tilts: int = 8
    # A lower tail takes the next tilt if it is farther below the tilted mean, in tilted standard
    # deviations, or nearer to the lowest value, as a part of the way from there to the mean.
    far_below: float = 2.5
    near_lowest: float = 0.07
    # Aliasing of lower tails is exp(-aliasing) of the tail, of ascending contours likewise, and of
    # these if half a percent is accepted.
    aliasing_below: float = 30.0
    aliasing_above: float = 22.0
    rough_aliasing_above: float = 8.0
    # Share of the tilted total below which paths of the hits are left out; of merged blocks, whose
    # errors are larger, the second.
    share_left_out: float = 1e-14
    share_left_out_merged: float = 1e-11
    # Products for a node above which blocks have narrower bands of their own.
    wide_bands: float = 2e5
    # Distance within which the error of merged ties changes its sign, in bodies.
    sign_changes: float = 0.3
    # Distance of the tilts from which the tilted mean and deviation are read, in one over the body.
    tilts_apart: float = 0.02
    # A positive in the top stratum adds more than this part of the body.
    part_of_body: float = 0.25
    # Items in the top stratum, at least.
    least_stratum: int = 16
    # Log probability of more top-stratum positives than are distinguished. It is doubled, up to
    # `n_rarities` times, until it is below the log of the tail by `rarer`.
    log_rarity: float = -54.0
    n_rarities: int = 10
    rarer: float = 15.0
    # Tilts of the strata: 32 from 0.5 on, each 1.1 times the last, in log((n / m)) over the largest
    # increment. The steepest are left out, some at a time, where floats do not reach.
    first_tilt: float = 0.5
    tilt_ratio: float = 1.1
    n_strata_tilts: int = 32
    n_tilts_left_out: int = 4
    # Neighbouring tilts that go through the top stratum together.
    n_tilts_together: int = 4
    # Chernoff exponents that are computed together.
    bounds_at_once: int = 1 << 18
    # Strata are left out whose bounds are lower by this, in logarithms.
    negligible: float = 16.0
    # Periods of ascending contours, in the value: from 1.15**-40 to 1.15**12.
    period_ratio: float = 1.15
    shortest_period: int = -40
    longest_period: int = 13
    # An ascending contour serves values for which another tilt has a bound lower by no more than
    # `near`, and for which what it leaves out is rarer by `apart`; both in logarithms.
    near: float = 3.0
    apart: float = 12.0
    rough_apart: float = 6.0
    # Rows of hits by which windows of an ascending pass are widened, in turn.
    slacks: tuple[int, ...] = (8, 32, 128)
    # Cells of values are halved this often at most until one contour serves a cell.
    n_halvings: int = 10
    # Levels of merging, at most; a further one is tried while merging is this part of the error,
    # and the error above `good` and `good_of_log` times the log of the tail. A longer contour is
    # tried for errors above `good` and `enough_of_log` times that.
    n_levels: int = 6
    by_merging: float = 0.3
    good: float = 1e-3
    good_of_damped: float = 5e-3
    good_of_log: float = 3e-7
    enough_of_log: float = 1e-6


SETTINGS = StratifiedSettings()


class StratifiedInversion:
    """Both tails of a statistic with large top positives, whose increments are not negative.

    Parameters
    ----------
    blocks : callable
        Returns the increments of a level of merging: those of level 0 plan contours, those of level
        1 and more are merged less and less.
    transform_of, pass_along : callable
        Return the transform of blocks, and its pass along a contour that is planned.
    merged : bool
        Whether blocks of level 1 are merged.
    n_positives : int
        Number of positives.
    body : float
        Standard deviation without the top positives.
    lowest, mean : float
        A value that the support does not fall below, and the mean.
    tolerance : float, default=0.0
        Relative error that is accepted.
    has_ties : bool, default=False
        Whether blocks of equal scores are merged, which errs less regularly than untied ranks.
    """

    def __init__(
        self,
        blocks: Blocks,
        transform_of: TransformOf,
        pass_along: Callable[..., ContourPass],
        merged: bool,
        n_positives: int,
        body: float,
        lowest: float,
        mean: float,
        tolerance: float = 0.0,
        has_ties: bool = False,
    ) -> None:
        self.increments: Blocks = cache(blocks)
        self.transform_of, self._pass_along = transform_of, pass_along
        self._merged = merged
        # Levels of merging that contours may be computed at.
        self.n_levels = SETTINGS.n_levels if merged else 2
        self.n_positives, self._body = n_positives, body
        self._lowest, self._mean = lowest, mean
        self.tolerance, self.has_ties = tolerance, has_ties
        self._is_tolerant = tolerance >= ROUGH_TOLERANCE
        self._highest = n_positives * float(self.increments(0, False).of_one_hit.max())
        self._largest = cache(lambda: largest_value(self.increments(0, False), n_positives))

    def tail(self, s: Floats, sign: int) -> TailEstimates:
        """``P(S >= s)`` near the body (sign 1), or ``P(S <= s)`` (sign -1), below the mean."""
        found = TailEstimates.unknown(s.shape)
        indices = self._damped_indices(s) if sign > 0 else self._lower_indices(s)
        long = np.flatnonzero(indices >= SETTINGS.long) if sign > 0 else np.empty(0, dtype=int)
        if long.size:
            # Rounding leaves nothing of such a tail, and its contour would be long.
            indices[long[self.are_rare(s[long], SETTINGS.lost_in_rounding)]] = -1
        contour_of = self._damped_contour if sign > 0 else self._lower_contour
        for index in np.unique(indices).tolist():
            contour = contour_of(index) if index >= 0 else None
            if contour is not None:
                contour.put_tails(found, np.flatnonzero(indices == index), s, sign)
        return found

    def ascending_tail(self, s: Floats) -> TailEstimates:
        """``P(S >= s)`` far above the body, by ascending contours."""
        found = TailEstimates.unknown(s.shape)
        open_ = np.arange(s.size)
        while open_.size:
            lowest = float(s[open_].min())
            end, contour = self._cell(lowest)
            inside = s[open_] < max(end, np.nextafter(lowest, np.inf))
            if contour is not None:
                contour.put_tails(found, open_[inside], s, 1)
            open_ = open_[~inside]
        return found

    def log_bound_below(self, s: Floats, enough: float) -> Floats:
        """Chernoff bound of the log of ``P(S <= s)``; the lowest unless it is below `enough`."""
        bound = np.zeros(s.shape)
        for depth in range(SETTINGS.n_tilts):
            tilted = self._tilted(depth)
            if tilted is None:
                break
            bound = np.minimum(bound, tilted.log_mgf - tilted.theta * s)
            if not np.any((bound >= enough) & (s < tilted.served_from)):
                break
        return bound

    def are_rare(self, s: Floats, log_p: float) -> NDArray[np.bool_]:
        """Values with ``P(S >= s)`` below ``exp(log_p)`` by Chernoff bounds, up to merging."""

        def fall(value: float) -> float:
            strata = self._enough_strata(value)
            return -float(logsumexp(strata.bounds(value))) if strata else 0.0

        rare = np.zeros(s.shape, dtype=bool)
        # A single positive reaches the smaller values with a larger probability.
        left = np.flatnonzero(self._log_probability_of_one(s) < log_p)
        upwards = left[np.argsort(s[left])]
        rare[upwards[bisect_left(s[upwards].tolist(), -log_p, key=fall) :]] = True
        return rare

    def _log_probability_of_one(self, s: Floats) -> Floats:
        """Log probability of a positive at a rank where it reaches a value by itself."""
        blocks = self.increments(0, False)
        order = np.argsort(-blocks.of_one_hit, kind="stable")
        n_up_to = np.append(0, np.cumsum(blocks.sizes[order]))
        n_items = n_up_to[np.searchsorted(-blocks.of_one_hit[order], -s, side="right")]
        with np.errstate(divide="ignore"):
            none = np.minimum(log_pmf(0, blocks.n_samples, self.n_positives, n_items), 0.0)
            return np.asarray(np.log(-np.expm1(none)))

    # Damped contours

    def _damped_indices(self, s: Floats) -> Integers:
        """For each value the index of the shortest period that serves it."""
        part = (s - self._lowest) / (SERVED * SETTINGS.period * self._body)
        power = np.log(np.maximum(part, 1.0)) / math.log(SETTINGS.longer)
        return np.ceil(power).astype(np.int64)

    @cached_method
    def _damped_contour(self, index: int) -> _StratifiedContour | None:
        period = SETTINGS.period * self._body * SETTINGS.longer**index
        theta = -SETTINGS.damping / period
        return self._contour(theta, period, False, SETTINGS.farthest)

    # Contours of lower tails

    def _lower_indices(self, s: Floats) -> Integers:
        """For each value the index of the first tilt whose mean is near it."""
        depths = np.zeros(s.shape, dtype=np.int64)
        for depth in range(SETTINGS.n_tilts - 1):
            tilted = self._tilted(depth)
            deeper = (depths == depth) & (s < (tilted.served_from if tilted else -math.inf))
            if not deeper.any():
                break
            depths[deeper] += 1
        return depths

    @cached_method
    def _tilted(self, depth: int) -> _Tilted | None:
        """The distribution under a negative tilt; None if rounding has left nothing of it."""
        theta = -(SETTINGS.steeper**depth) / self._body
        apart = SETTINGS.tilts_apart / self._body
        blocks, m = self.increments(0, self._is_deep(depth)), self.n_positives
        transform = self.transform_of(blocks, blocks, m, True)
        below, at, above = transform.log_mgfs(theta + np.array([-apart, 0.0, apart])).tolist()
        mean = (above - below) / (2.0 * apart)
        variance = (above - 2.0 * at + below) / apart**2
        if not (mean > self._lowest and variance > 0.0):
            return None
        near_lowest = self._lowest + SETTINGS.near_lowest * (mean - self._lowest)
        served_from = max(near_lowest, mean - SETTINGS.far_below * math.sqrt(variance))
        return _Tilted(theta, at, mean, served_from)

    def _is_deep(self, depth: int) -> bool:
        """Whether blocks near the bottom are merged less."""
        return self._merged and depth > 1

    @cached_method
    def _lower_contour(self, depth: int) -> _StratifiedContour | None:
        tilted, before = self._tilted(depth), self._tilted(max(0, depth - 1))
        if tilted is None or before is None:
            return None
        # The period covers the values that take the tilt, and leaves little aliasing.
        highest = before.mean if depth else self._mean
        log_bound = tilted.log_mgf - tilted.theta * tilted.mean
        damped = (SETTINGS.aliasing_below - log_bound) / -tilted.theta
        period = max(1.2 * (highest - self._lowest), damped)
        return self._contour(tilted.theta, period, self._is_deep(depth))

    def _contour(
        self, theta: float, period: float, deep: bool, farthest: float = math.inf
    ) -> _StratifiedContour | None:
        """The contour of all strata."""
        m, blocks = self.n_positives, self.increments(0, deep)
        share = SETTINGS.share_left_out_merged if self._merged else SETTINGS.share_left_out
        planned = blocks.from_the_end(m)
        bands, log_mgf = tilted_bands(planned, m, theta, share)
        if not math.isfinite(log_mgf):
            return None
        plan = planned, m, theta, period, bands, log_mgf, self._body, farthest
        multirate = self._pass_along(*plan, self._is_tolerant)
        top = (blocks.of_one_hit > SETTINGS.part_of_body * self._body) & (blocks.sizes > 1)
        cell = float(np.max(np.abs(np.diff(blocks.of_one_hit)), where=top[1:], initial=0.0))
        if self.has_ties:
            # What merged ties err changes its sign along the values.
            cell = max(cell, SETTINGS.sign_changes * self._body)
        return _StratifiedContour(self, multirate, bands, deep, share, cell)

    # Ascending contours

    def _cell(self, s: float) -> tuple[float, _StratifiedContour | None]:
        """The end of the cell of values around one, and the contour that serves the cell.

        Cells are halved, from about the value itself on, until one contour, planned for the middle,
        serves both ends. They depend on no other values.
        """
        halvings = max(1, math.ceil(math.log2(self._highest / s)))
        for power in range(halvings, halvings + SETTINGS.n_halvings):
            width = self._highest * 0.5**power
            begin = math.floor(s / width) * width
            end = begin + width
            contour = self._ascending(begin + 0.5 * width, begin, end)
            if contour is not None:
                return end, contour
        return end, None

    @cached_method
    def _ascending(self, s: float, begin: float, end: float) -> _StratifiedContour | None:
        """The contour planned for a value, if it serves all values from one to another."""
        strata = self._enough_strata(s)
        if strata is None:
            return None
        choice = _ChosenStrata(strata, s, self._is_tolerant)
        if not (math.isfinite(choice.period) and choice.serves(np.array([begin, end])).all()):
            return None
        m, planned = self.n_positives, self.increments(0, False).from_the_end(self.n_positives)
        found = choice.bands(planned, m)
        if found is None:
            # Remembered as a contour that answers nothing: smaller cells would fail, too.
            return _StratifiedContour(self, None, strata.likely, False, 0.0, 0.0)
        plan = planned, m, choice.theta, choice.period, *found, self._body
        multirate = self._pass_along(*plan, is_tolerant=self._is_tolerant)
        return _StratifiedContour(
            self, multirate, found[0], False, SETTINGS.share_left_out, 0.0, choice
        )

    def _enough_strata(self, s: float) -> _TopStrata | None:
        """The top stratum, with more positives distinguished than the tail needs."""
        for attempt in range(SETTINGS.n_rarities):
            strata = self._strata(attempt)
            if not strata.applies:
                return None
            if strata.bounds(s).max() > strata.log_rarity + SETTINGS.rarer:
                return strata
        return None

    @cached_method
    def _strata(self, attempt: int) -> _TopStrata:
        log_rarity = SETTINGS.log_rarity * 2.0**attempt
        blocks, m = self.increments(0, False), self.n_positives
        return _TopStrata(blocks, m, self._body, log_rarity, self._largest)


@dataclass(frozen=True, eq=False)
class _Tilted:
    """The distribution under a tilt.

    Attributes
    ----------
    theta, log_mgf, mean : float
        The tilt, the log transform there, and the tilted mean.
    served_from : float
        The lowest value that is near the tilted mean.
    """

    theta: float
    log_mgf: float
    mean: float
    served_from: float


class _StratifiedContour:
    """Tails along one contour, at the level of merging that is accurate enough.

    The pass, `multirate`, is None if it is not affordable. The bands belong to the blocks that plan
    the contour and leave out the given share of the tilted total. With `deep`, blocks near the
    bottom are merged less. The `cell` is the largest difference of what a top positive adds in
    neighbouring merged blocks. Only ascending contours have a `choice` of strata.
    """

    def __init__(
        self,
        inversion: StratifiedInversion,
        multirate: ContourPass | None,
        bands: Bands,
        deep: bool,
        share: float,
        cell: float,
        choice: _ChosenStrata | None = None,
    ) -> None:
        self._inversion, self._multirate = inversion, multirate
        self._bands, self._deep, self._cell, self._choice = bands, deep, cell, choice
        self._share = share
        if multirate is not None and inversion.n_levels == 2:
            multirate.need_more_nodes(2)

    def put_tails(self, found: TailEstimates, where: Integers, s: Floats, sign: int) -> None:
        """Write down better tails of some values: with less merging, and longer, as needed."""
        if self._multirate is None:
            return
        # Near the body, plain contours of few blocks take less time than long ones.
        is_near = self._choice is None and sign > 0 and self._inversion.n_levels == 2
        may_be_longer = not is_near and self._multirate.may_be_longer
        for is_long in (False, True) if may_be_longer else (False,):
            open_ = where
            for level in range(1, self._inversion.n_levels):
                tails = self._tails(level, is_long) if open_.size else None
                if tails is None:
                    break
                other = tails.tail(s[open_], sign)
                if self._choice is not None:
                    left_out = self._choice.log_left_out(s[open_]) - other.log_p
                    other.error.truncation[:] += exp_of_error(left_out)
                found.put_better(open_, other)
                error, good = other.error.total, self._accepted(other.log_p, SETTINGS.good_of_log)
                open_ = open_[(error > good) & (other.error.merging > SETTINGS.by_merging * error)]
            error = found.error.total[where]
            known = np.where(np.isfinite(error), found.log_p[where], 0.0)
            where = where[error > self._accepted(known, SETTINGS.enough_of_log)]
            if not where.size:
                break

    def _accepted(self, log_p: Floats, of_log: float) -> Floats:
        """Error that needs no less merging, and no longer contour."""
        good = SETTINGS.good_of_damped if self._choice is None else SETTINGS.good
        accepted = np.maximum(good, accepted_error(self._inversion.tolerance, log_p))
        return np.maximum(accepted, -of_log * log_p)

    @cached_method
    def _nodes(self, level: int, is_long: bool) -> tuple[Nodes, float] | None:
        """The contour of blocks merged at a level, and what it loses; None if not affordable."""
        m, multirate = self._inversion.n_positives, self._multirate
        assert multirate is not None
        blocks, bands = self._inversion.increments(level, self._deep).from_the_end(m), self._bands
        if level > 0:
            planned = self._inversion.increments(0, self._deep).from_the_end(m)
            ends = (np.cumsum(each.sizes) for each in (planned, blocks))
            around = bands.at(*ends).intersection(feasible_bands(blocks, m))
            bands = around
            if around.work() > SETTINGS.wide_bands:
                own = carrying_bands(blocks, m, multirate.theta, self._share, around, around)
                if own is None:
                    return None
                bands = own[0]
        found = multirate.log_transform(blocks, bands, is_long)
        if found is None:
            return None
        z, logs, lost = found
        log_harmless = 0.0 if self._choice is None else -math.inf
        nodes = Nodes(multirate.theta, multirate.step, 0.0, z, logs, log_harmless=log_harmless)
        return nodes, lost

    @cached_method
    def _tails(self, level: int, is_long: bool) -> StratifiedTails | None:
        """Tails from the contours of a level and of all that are merged more."""
        merged = self._inversion.n_levels > 2
        # The coarsest contour comes first: it finds out how many nodes the others need.
        levels = range(0 if merged else level, level + 1)
        contours = [self._nodes(each, is_long) for each in levels]
        found = [each for each in reversed(contours) if each is not None]
        if len(found) < len(contours):
            return None
        nodes, losses = zip(*found, strict=True)
        m = self._inversion.n_positives
        blocks, coarse = (self._inversion.increments(each, self._deep) for each in (level, 0))
        transform = self._inversion.transform_of(blocks, coarse, m, merged)
        # Losses of merged blocks make a difference of a tenth.
        lost = max(losses[0], *(DOUBT_OF_MERGING * loss for loss in losses))
        left_out = LOST + self._share + lost
        has_ties = self._inversion.has_ties
        return StratifiedTails(nodes[0], nodes[1:], left_out, transform, m, self._cell, has_ties)


class _TopStrata:
    """Log transforms at positive tilts, for each number of positives in the top stratum.

    They are joint with the number, not conditional on it. Numbers that are together rarer than
    ``exp(log_rare)`` are left out; `largest` returns the largest value of the statistic.
    """

    def __init__(
        self,
        increments: Increments,
        n_positives: int,
        body: float,
        log_rare: float,
        largest: Callable[[], float],
    ) -> None:
        m, n = n_positives, increments.n_samples
        least = SETTINGS.part_of_body * body
        n_top, self.most, self.log_rarity = top_stratum(increments, m, least, log_rare)
        top, rest = increments[:n_top], increments[n_top:].from_the_end(m)
        self.n_rest = rest.sizes.size
        self.applies = rest.n_samples > m
        if not self.applies:
            return
        numbers = np.arange(self.most + 1)
        self.log_shares = log_pmf(numbers, n, m, top.n_samples)
        tilts = SETTINGS.first_tilt * SETTINGS.tilt_ratio ** np.arange(SETTINGS.n_strata_tilts)
        self.thetas = tilts * math.log(n / m) / increments.of_one_hit.max()
        self.likely, _ = tilted_bands(rest, m, float(self.thetas[0]), SETTINGS.share_left_out)
        # Steeper tilts move the hits of the rest out of these bands.
        self.thetas = self.thetas[: n_tilts_inside(rest, m, self.thetas, self.likely)]
        self.applies = self.thetas.size > 0
        if not self.applies:
            return
        bands = self.likely.down_by(self.most)
        while True:
            state = np.zeros((1, self.thetas.size))
            try:
                first, logs = walked_through(rest, n, m, self.thetas, bands, 0, state, True)
                break
            except LeftTheRangeError:
                self.thetas = self.thetas[: -SETTINGS.n_tilts_left_out]
                if not self.thetas.size:
                    self.applies = False
                    return
        of_rest = np.full((m + 1, self.thetas.size), -np.inf)
        of_rest[first : first + logs.shape[0]] = logs
        window = feasible_bands(top, self.most, 0)
        of_top = np.full((self.most + 1, self.thetas.size), -np.inf)
        n_groups = self.thetas.size // SETTINGS.n_tilts_together
        for some in np.array_split(np.arange(self.thetas.size), max(1, n_groups)):
            with suppress(LeftTheRangeError):
                start = np.zeros((1, some.size))
                tilts = self.thetas[some]
                first, logs = walked_through(top, n, m, tilts, window, 0, start, True)
                of_top[first : first + logs.shape[0], some] = logs
        total = log_probability_of_hits(n, m)
        self.log_mgfs = of_top + of_rest[m - numbers] - total
        unknown = ~np.isfinite(self.log_mgfs)
        if unknown.any():
            # Rounding has left nothing of these. No value is higher than the largest, and no
            # positive of the rest adds more than it would in its best block with all before it.
            at_most = self.log_shares[:, None] + self.thetas * largest()
            with_others = np.maximum(rest.cross, 0.0) + np.maximum(rest.square, 0.0)
            most_of_one = float((rest.of_one_hit + m * with_others).max())
            log_rest = log_binomial_pmf(m - numbers, rest.n_samples, n, m) - total
            of_rest_at_most = np.outer(m - numbers, self.thetas * most_of_one)
            of_strata = of_top + log_rest[:, None] + of_rest_at_most
            of_strata[~np.isfinite(of_top)] = np.inf
            self.log_mgfs[unknown] = np.minimum(at_most, of_strata)[unknown]

    def bounds(self, s: float) -> Floats:
        """Chernoff bounds of the log of ``P(S >= s)`` and each number of top positives."""
        return np.asarray((self.log_mgfs - self.thetas * s).min(axis=1))


class _ChosenStrata:
    """The strata, the tilt and the period of an ascending contour for values around `s`.

    A relative error of half a percent is accepted if `is_tolerant` is set.
    """

    def __init__(self, strata: _TopStrata, s: float, is_tolerant: bool = False) -> None:
        self._strata, self._thetas = strata, strata.thetas
        self._apart = SETTINGS.rough_apart if is_tolerant else SETTINGS.apart
        self._aliased = SETTINGS.rough_aliasing_above if is_tolerant else SETTINGS.aliasing_above
        bounds = strata.bounds(s)
        kept = np.flatnonzero(bounds > bounds.max() - SETTINGS.negligible)
        self._fewest, self._most = int(kept[0]), int(kept[-1])
        these = slice(self._fewest, self._most + 1)
        self._these = logsumexp(strata.log_mgfs[these], axis=0)
        self._others = np.delete(strata.log_mgfs, these, axis=0)
        self._log_mass = float(logsumexp(strata.log_shares[self._fewest : self._most + 1]))
        self._best = int((self._these - self._thetas * s).argmin())
        self.theta = float(self._thetas[self._best])
        self.period = self._shortest_period(s)

    def serves(self, s: Floats) -> NDArray[np.bool_]:
        """Values whose tails the contour holds."""
        log_p = self._bound(self._these, s)
        near = self._these[self._best] - self.theta * s < log_p + SETTINGS.near
        return np.asarray(near & (self.log_left_out(s) < log_p - self._apart))

    def log_left_out(self, s: Floats) -> Floats:
        """Log of a bound of the strata that are left out, and of aliasing."""
        parts = [self._bound_of_others(s), np.full(s.shape, self._strata.log_rarity)]
        parts += self._aliasing(s, np.asarray(self.period))
        return np.asarray(logsumexp(parts, axis=0))

    def _bound_of_others(self, s: Floats) -> Floats:
        """Log of the sum of the Chernoff bounds of all other strata, each by its own tilt."""
        log_p = np.full(s.shape, -np.inf)
        if not self._others.size:
            return log_p
        n_parts = math.ceil(s.size * self._others.size / SETTINGS.bounds_at_once)
        for some in np.array_split(np.arange(s.size), max(1, n_parts)):
            exponents = self._others - np.multiply.outer(s[some], self._thetas)[:, None]
            log_p[some] = logsumexp(exponents.min(axis=2), axis=1)
        return log_p

    def _bound(self, log_mgfs: Floats, s: Floats) -> Floats:
        return np.asarray((log_mgfs - np.multiply.outer(s, self._thetas)).min(axis=-1))

    def _aliasing(self, s: NDArray[Any], period: NDArray[Any]) -> tuple[Floats, Floats]:
        """Logs of bounds of the probability a period below and above."""
        below = np.minimum(self._log_mass, self._bound(self._these, s - period))
        above = self._bound(self._these, s + period)
        return below - self.theta * period, above + self.theta * period

    def _shortest_period(self, s: float) -> float:
        """The shortest period that leaves little aliasing; infinite if none does."""
        powers = np.arange(SETTINGS.shortest_period, SETTINGS.longest_period)
        periods = s * SETTINGS.period_ratio**powers
        limit = float(self._bound(self._these, np.array([s]))[0]) - self._aliased
        enough = np.maximum(*self._aliasing(np.array(s), periods)) < limit
        return float(periods[enough.argmax()]) if enough.any() else math.inf

    def bands(self, blocks: Increments, m: int) -> tuple[Bands, float] | None:
        """Paths of these strata that carry the tilted distribution, and its log transform.

        Blocks are given from the end of the ranking on. None if no window has room for the paths.
        """
        likely, limits = self._strata.likely, feasible_bands(blocks, m)
        rest, top = slice(self._strata.n_rest), slice(self._strata.n_rest - 1, None)
        # Hits of the rest when the top stratum begins.
        limits.low[top] = np.maximum(limits.low[top], m - self._most)
        limits.high[rest] = np.minimum(limits.high[rest], m - self._fewest)
        # Paths with fewer hits in the rest: a stronger tilt moves them to the top.
        fewest, most = 1.0 - self._most / m, 1.0 - self._fewest / m
        for slack in SETTINGS.slacks:
            window = feasible_bands(blocks, m)
            window.low[rest] = (fewest * likely.low).astype(np.int64) - slack
            window.high[rest] = (most * likely.high).astype(np.int64) + slack
            window.most[rest] = likely.most + slack // 4
            share = SETTINGS.share_left_out
            found = carrying_bands(blocks, m, self.theta, share, window, limits)
            if found is not None:
                return found
        return None


def top_stratum(
    increments: Increments, n_positives: int, least: float, log_rare: float
) -> tuple[int, int, float]:
    """Blocks of the top stratum, most positives in it, and a bound of the log probability of more.

    A positive in the stratum adds more than the least. The stratum is longer where no number of
    positives up to half its items is so improbable.
    """
    n, m, ends = increments.n_samples, n_positives, np.cumsum(increments.sizes)
    above = np.flatnonzero(increments.of_one_hit > least)
    n_top = max(int(ends[above[-1]]) if above.size else 0, SETTINGS.least_stratum)
    while True:
        n_blocks = min(int(np.searchsorted(ends, n_top)), ends.size - 1) + 1
        n_top = int(ends[n_blocks - 1])
        hits = np.arange(1, min(m, n_top // 2) + 1)
        rarities = log_rarity(math.log(m * n_top / n), hits)
        rare = np.flatnonzero(rarities < log_rare)
        if rare.size:
            return n_blocks, int(hits[rare[0]]), float(rarities[rare[0]])
        if hits.size == m:
            return n_blocks, m, -math.inf
        if 4 * n_top >= n:
            return n_blocks, hits.size, float(min(rarities[-1], 0.0))
        n_top *= 2
