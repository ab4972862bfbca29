"""Distributions with too many atoms to list: each tail is computed when it is asked for.

`ComputedDistribution` reduces a question to tails beyond the mean (the other side is a complement),
of the hits or of the misses, whichever are fewer, and hands these to a sequence of solvers:
inversion (`solvers`), branch and bound, and conditioning on a block of equal scores. Closed forms
answer at the ends of the support, hypergeometric bounds next to its lower end. At last rough tails
are held within guaranteed bounds, whose midpoint replaces them where its error is smaller.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from sklearn_rankinf._engine.cache import cached_method
from sklearn_rankinf._engine.canonical import CanonicalSum, Form, step_of
from sklearn_rankinf._engine.conditioning import ACCEPTED, ConditionedTails, block_to_condition_on
from sklearn_rankinf._engine.ends import ROUNDING as ROUNDING_OF_ENDS
from sklearn_rankinf._engine.ends import EndsOfSupport
from sklearn_rankinf._engine.estimates import (
    UNKNOWN,
    FarTail,
    TailEstimates,
    about_the_mean,
    accepted_error,
)
from sklearn_rankinf._engine.exact.bounds import TailBounds
from sklearn_rankinf._engine.exact.branch_and_bound import BranchAndBoundTails
from sklearn_rankinf._engine.exact.integer_weights import nearly_step_of
from sklearn_rankinf._engine.inversion.contour import is_steep
from sklearn_rankinf._engine.inversion.transform import ClosedTransform
from sklearn_rankinf._engine.inversion.trapezoid import without_merging
from sklearn_rankinf._engine.quantiles import bracketed, is_reached
from sklearn_rankinf._engine.solvers import Solver, Tails, solve_in_turn
from sklearn_rankinf._statistics import (
    FEW_BLOCKS,
    Complexes,
    Floats,
    Increments,
    Integers,
    Statistic,
    adds_most_above,
    cached_property,
    log_binomial,
    mean_and_variance,
)


@dataclass(frozen=True)
class ComputedSettings:
    """Thresholds between the ways to compute a tail. Errors are relative errors."""

    # Error above which conditioning on a block is tried, with a tolerance too, up to a number of
    # blocks.
    worth_conditioning: float = 0.1
    worth_conditioning_roughly: float = 1.0
    # Hits that add something up to which strata are cheap.
    quickly_conditioned: int = 128
    most_blocks_of_conditioning: int = 5_000
    # Error above which a distribution that is conditioned on a block is inverted as a whole.
    worth_inversion: float = 1e-2
    # Lower tails below this part of the standard deviation come from hypergeometric bounds, up to a
    # number of blocks.
    bottom: float = 1e-9
    most_blocks_at_bottom: int = 1_000_000
    # Blocks up to which contours use the step of a lattice: those of more are merged.
    most_blocks_on_a_lattice: int = 5_000
    # Tails of single values that are kept.
    kept_tails: int = 64
    # A probability that is negligible beside 1: lost in rounding, or this part of the tolerance.
    negligible: float = 0.25 * float(np.finfo(float).eps)
    part_of_tolerance: float = 0.1


SETTINGS = ComputedSettings()


class ComputedDistribution:
    """A distribution with too many atoms to list, whose tails are computed one by one."""

    is_listed = False

    def __init__(
        self,
        statistic: Statistic,
        n_samples: int,
        n_positives: int,
        tie_sizes: Integers | None,
        tolerance: float = 0.0,
    ) -> None:
        self._statistic, self._tolerance = statistic, tolerance
        self._n_samples, self._n_positives = n_samples, n_positives
        self._tie_sizes = tie_sizes
        self._problem = statistic, n_samples, n_positives, tie_sizes
        self._ends = EndsOfSupport(self._problem)

    @property
    def _canonical(self) -> CanonicalSum:
        return self._ends.canonical

    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        return self._ends.support()

    def tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), its log, and the relative error.

        Where it is 1 its log comes from a bound of the rest.
        """
        if t.size != 1:
            return self._tail(t, sign)
        p, log_p, error = self._tail_of_one(float(t[0]), sign)
        return p.copy(), log_p.copy(), error.copy()

    def _tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        found = self.estimates(t, sign)
        return np.exp(found.log_p), found.log_p, found.error.total

    @cached_property
    def _tail_of_one(self) -> Callable[[float, int], tuple[Floats, Floats, Floats]]:
        """The same for one value: candidates of a search often rank a fold alike."""
        return lru_cache(SETTINGS.kept_tails)(lambda t, sign: self._tail(np.array([t]), sign))

    def estimates(self, t: Floats, sign: int) -> TailEstimates:
        """The same with the parts of the errors, and the solvers that answered."""
        found, inside = self._ends.known(t, sign)
        at_bottom = inside & (t < SETTINGS.bottom * self._std)
        if at_bottom.any() and self._n_blocks <= SETTINGS.most_blocks_at_bottom:
            tails = self._ends.tail_at_the_bottom(t[at_bottom], sign)
            open_ = np.flatnonzero(tails.error.total > ACCEPTED)
            if open_.size and self._branches is not None:
                branching = self._branching_tail(*self._form.value(t[at_bottom][open_], sign))
                branching.error.enclosure[branching.error.total > UNKNOWN] = np.inf
                tails.put_better(open_, branching)
            found.put(np.flatnonzero(at_bottom), tails)
            inside[at_bottom] = False
        left = np.flatnonzero(inside)
        if left.size:
            negligible = max(SETTINGS.negligible, SETTINGS.part_of_tolerance * self._tolerance)
            rest = partial(self._far_tail, log_negligible=math.log(negligible))
            enough = self._tolerance or UNKNOWN
            tails = about_the_mean(self._far_tail, t[left], sign, self._mean, rest, enough)
            found.put(left, tails)
            self._bound_unknown(found, left, t, sign)
        np.minimum(found.log_p, 0.0, out=found.log_p)
        return found

    def _bound_unknown(self, found: TailEstimates, where: Integers, t: Floats, sign: int) -> None:
        """Keep a guaranteed upper bound, in place, of tails with an unknown or too large error."""
        weak = where[found.error.total[where] > UNKNOWN]
        if not weak.size:
            return
        upper = np.zeros(weak.size)
        if self._n_blocks <= SETTINGS.most_blocks_at_bottom:
            # Of a few steep weights most values are next to nothing beside the deviation.
            near_bottom = self._ends.tail_at_the_bottom(t[weak], sign)
            found.put_better(weak, near_bottom)
            upper = near_bottom.log_p
        error = found.error.total[weak]
        # Bounds order candidates better than what is off by more than itself.
        known = accepted_error(self._tolerance, found.log_p[weak])
        most = np.maximum(known, 1.0 if self._tolerance else UNKNOWN)
        unknown = np.flatnonzero(error > most)
        if unknown.size:
            log_p = np.minimum(self._log_upper_bound(t[weak[unknown]], sign), upper[unknown])
            bounds = TailEstimates.of(log_p, "upper bound", enclosure=np.inf)
            found.put(weak[unknown], bounds)

    def _log_upper_bound(self, t: Floats, sign: int) -> Floats:
        """Log of a guaranteed upper bound of the tail, Chernoff's or that of a lattice."""
        log_p = np.zeros(t.shape)
        beyond = np.flatnonzero(sign * (t - self._mean) > 0.0)
        if beyond.size:
            counted, side = self._form.value(t[beyond], sign)
            log_p[beyond] = self._tails.log_upper_bound(counted, side)
            if self._tails.merges:
                # Of many blocks no band is computed, but of merged ones that never add less.
                tails, form = self._bounding_tails(side)
                upper = tails.log_upper_bound(*form.value(counted, side))
                log_p[beyond] = np.minimum(log_p[beyond], upper)
        upper = np.maximum(self._bounds(t, sign)[1], np.finfo(float).tiny)
        log_p = np.minimum(log_p, np.log(upper))
        # No value that is reached is rarer than one placement.
        return np.maximum(log_p, -log_binomial(self._n_samples, self._n_positives))

    @cached_method
    def _bounding_tails(self, side: int) -> tuple[Tails, Form]:
        """Lists and contours of merged blocks whose tails are no smaller, and their form."""
        return _tails_of_blocks(self._tails.bounding_blocks(side), self._n_counted)[:2]

    def quantile(self, q: Floats, sign: int) -> Floats:
        """Smallest v with ``P(S <= v) >= q`` (sign -1) or ``P(S > v) <= q`` (sign 1)."""
        found = np.full(q.shape, self._ends.reach[0 if sign < 0 else 1])
        if self._ends.has_support:
            # No value that is reached is rarer than one placement.
            with np.errstate(divide="ignore"):
                log_placements = log_binomial(self._n_samples, self._n_positives)
                open_ = np.flatnonzero(np.log(q) > -log_placements * (1.0 + 1e-12))
        else:
            open_ = np.arange(q.size)
        found[open_] = bracketed(self, q[open_], sign, self._mean, self._std, self._ends.reach)
        if self._statistic.horizon is None:
            return found
        # The smallest value may be an atom: 0 where no hit is counted. Just beyond it, the tail is
        # that of all other values.
        lowest, _ = self._ends.reach
        first = lowest + np.finfo(float).tiny if sign > 0 else lowest
        return np.where(is_reached(self, np.full(q.shape, first), q, sign), lowest, found)

    @cached_property
    def _counted_mean_and_std(self) -> tuple[float, float]:
        """Mean and standard deviation of the canonical sum."""
        form, known = self._form, self._statistic.mean_and_variance(*self._problem[1:])
        if known is not None:
            return (known[0] - form.constant) / form.factor, math.sqrt(known[1]) / form.scale
        mean, variance = mean_and_variance(self._counted, self._n_counted)
        return mean, math.sqrt(variance)

    @property
    def _form(self) -> Form:
        return self._canonical.form

    @property
    def _mean(self) -> float:
        return self._form.constant + self._form.factor * self._counted_mean_and_std[0]

    @property
    def _std(self) -> float:
        return self._form.scale * self._counted_mean_and_std[1]

    def _far_tail(self, t: Floats, sign: int, log_negligible: float = -math.inf) -> TailEstimates:
        """Tails of values on the tail's side of the mean, unless they are negligible."""
        log_best = self._ends.log_probability_of_best
        inner = np.flatnonzero((sign < 0) | math.isnan(log_best) | ~self._ends.is_best(t))
        # Values far from the mean of the hits are far from that of the misses, on the other side.
        counted, side = self._form.value(t[inner], sign)
        found = TailEstimates.unknown(counted.shape)
        if inner.size:
            solve_in_turn(
                self._sequence(log_negligible),
                counted,
                side,
                found,
                log_negligible,
                self._tolerance,
            )
        if inner.size < t.size:
            at_best, some = np.full(t.shape, log_best), found
            found = TailEstimates.of(at_best, "closed form", rounding=ROUNDING_OF_ENDS)
            found.put(inner, some)
        if sign > 0:
            # A bound from merged blocks may be too low at the very end.
            np.fmax(found.log_p, log_best, out=found.log_p)
        return found

    @cached_method
    def _sequence(self, log_negligible: float) -> list[Solver]:
        """Lists and contours, branch and bound, and conditioning, in the order of their turns.

        Where a block is to be conditioned on lists and contours (`Tails`) come last, but where
        their bounds meet a tolerance, or many hits, sooner.
        """
        conditions, branches = not self._tolerance and self._conditions_first, self._branches
        if conditions:
            n_adding = int(self._counted.sizes[~self._counted.is_inert].sum())
            conditions = min(self._n_counted, n_adding) <= SETTINGS.quickly_conditioned

        def inverted(t: Floats, sign: int) -> TailEstimates:
            return self._tails.tail(t, sign, log_negligible)

        def solver(name: str, solve: FarTail, above: float) -> Solver:
            above = max(above, self._tolerance)
            return Solver(name, lambda t, sign, known: solve(t, sign), above, of_log=0.0)

        first, later = SETTINGS.worth_inversion if conditions else 0.0, SETTINGS.worth_conditioning
        later = SETTINGS.worth_conditioning_roughly if self._tolerance else later
        inversion = solver("lists and contours", inverted, first)
        if self._n_blocks > SETTINGS.most_blocks_of_conditioning:
            fewer = solver("fewer blocks", self._tail_of_fewer_blocks, UNKNOWN)
            return [inversion, fewer] if self._tails.merges else [inversion]
        above = first if conditions else later
        others = [solver("conditioning on a block", self._conditioned_tail, above)]
        if branches is not None:
            above = ACCEPTED if branches.is_quick else later
            place = 1 if conditions and not branches.is_quick else 0
            others.insert(place, solver("branch and bound", self._branching_tail, above))
        return [*others, inversion] if conditions else [inversion, *others]

    def _tail_of_fewer_blocks(self, t: Floats, sign: int) -> TailEstimates:
        """Tails of merged blocks as of lists of their own, and of others merged further.

        Methods for few blocks know tilted distributions with two humps.
        """
        found, coarse = (tail(t, sign) for tail in self._of_fewer_blocks)
        known = (found.error.total < 1.0) & (coarse.error.total < 1.0)
        log_p, merging = without_merging(found.log_p, coarse.log_p, known, has_ties=True)
        found.log_p[:] = log_p
        found.error.merging[:] += merging + coarse.error.total
        unknown = np.flatnonzero(~known)
        found.put(unknown, TailEstimates.unknown(unknown.shape))
        return found

    @cached_property
    def _of_fewer_blocks(self) -> list[FarTail]:
        return [_inversion(blocks, self._n_counted) for blocks in self._tails.fewer_blocks()]

    def _branching_tail(self, t: Floats, sign: int) -> TailEstimates:
        """Tails of what is counted by branch and bound."""
        assert self._branches is not None
        return self._branches.tail(t, sign)

    def _conditioned_tail(self, t: Floats, sign: int) -> TailEstimates:
        """Tails of what is counted by conditioning on single blocks."""
        enough = max(SETTINGS.worth_conditioning, self._tolerance)
        return self._conditioned.tail(t, sign, self._tails.log_bound(t, sign), enough)

    @cached_property
    def _branches(self) -> BranchAndBoundTails | None:
        if self._n_blocks > SETTINGS.most_blocks_of_conditioning or not self._counted.is_linear:
            return None
        branches = BranchAndBoundTails(self._counted, self._n_counted)
        return branches if branches.applies else None

    @property
    def n_kept(self) -> float:
        """Numbers that are kept in lists."""
        return self._conditioned.n_kept if "_conditioned" in vars(self) else 0.0

    @cached_property
    def _conditioned(self) -> ConditionedTails:
        return ConditionedTails(self._counted, self._n_counted, _inversion)

    @property
    def _counted(self) -> Increments:
        """The canonical increments, block by block."""
        return self._canonical.blocks

    @cached_property
    def _step(self) -> float:
        """Step of the canonical sum where contours use it; 0 if there is none."""
        if self._transform is not None:
            return self._statistic.span(self._n_samples, self._n_positives) / self._form.scale
        # The lists of many ranks are merged, and values on a lattice have no stratified contours.
        if self._n_blocks > SETTINGS.most_blocks_on_a_lattice:
            return 0.0
        is_steep_ = is_steep(self._counted, self._counted_mean_and_std[1])
        return 0.0 if is_steep_ else step_of(self._counted)

    @cached_property
    def _conditions_first(self) -> bool:
        """Whether tails are conditioned on a block first: few outcomes decide, or weights step."""
        if self._n_blocks > SETTINGS.most_blocks_of_conditioning or self._step > 0.0:
            return False
        counted, m = self._counted, self._n_counted
        has_step = self._n_blocks > FEW_BLOCKS and nearly_step_of(counted) > 0.0
        if counted.is_linear and (not adds_most_above(counted, m) or has_step):
            return True
        return block_to_condition_on(counted, m) is not None

    @property
    def _n_counted(self) -> int:
        return self._canonical.n_counted

    @property
    def _n_blocks(self) -> int:
        return self._canonical.n_blocks

    @cached_property
    def _tails(self) -> Tails:
        options = self._tolerance, self._step, self._transform, self._ends.first_ranks
        bounds, last = self._tail_bounds.bounds, self._n_positives
        numbers = *self._counted_mean_and_std, self._ends.within, bounds, last
        clustered = self._conditions_first
        return tails_of(self._canonical, *numbers, *options, is_clustered=clustered)

    @property
    def _transform(self) -> ClosedTransform | None:
        """The transform of the canonical sum in closed form, where there is one of the hits."""
        problem, form = self._problem[1:], self._form
        if form.by_misses or self._statistic.log_mgf(np.ones(1, complex), *problem) is None:
            return None

        def log_mgf(z: Complexes) -> Complexes:
            values = self._statistic.log_mgf(z / form.factor, *problem)
            assert values is not None
            return values - z * (form.constant / form.factor)

        first = form.increments(self._statistic.tied([0], 1, *problem[:2]))
        return ClosedTransform(log_mgf, *problem[:2], float(first.of_one_hit[0]))

    def bounds(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Guaranteed bounds of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1)."""
        lower, upper = self._bounds(t, sign)
        # A bound of a tail also bounds the larger tails from below and the smaller from above.
        order = np.argsort(-sign * t)
        lower[order] = np.maximum.accumulate(lower[order])
        upper[order[::-1]] = np.minimum.accumulate(upper[order[::-1]])
        return lower, upper

    def _bounds(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """The same for each value alone: tails do not depend on what else is asked for."""
        counted, side = self._form.value(t, sign)
        lower, upper = self._tail_bounds.bounds(counted, side)
        near, far = self._ends.reach[::sign]
        certain, impossible = sign * t <= sign * near, sign * t > sign * far
        beyond = np.flatnonzero((sign * (t - self._mean) > 0.0) & ~impossible)
        if beyond.size:
            low, high = np.exp(self._tails.log_bounds(counted[beyond], side))
            lower[beyond] = np.maximum(lower[beyond], low)
            upper[beyond] = np.minimum(upper[beyond], high)
        return np.where(certain, 1.0, lower), np.where(impossible, 0.0, upper)

    @cached_property
    def _tail_bounds(self) -> TailBounds:
        return TailBounds(self._canonical, self._ends.within[1])

    @property
    def _blocks(self) -> Increments:
        return self._canonical.blocks_of_hits


def tails_of(
    canonical: CanonicalSum,
    mean: float,
    std: float,
    within: tuple[float, float],
    bounds: Callable[[Floats, int], tuple[Floats, Floats]],
    last: int,
    *options: Any,
    **more: Any,
) -> Tails:
    """Lists and contours for a canonical sum."""
    numbers = canonical.n_samples, canonical.n_blocks, canonical.n_counted, last
    return Tails(canonical.merged, *numbers, mean, std, within, bounds, *options, **more)


def _tails_of_blocks(increments: Increments, n_positives: int) -> tuple[Tails, Form, float]:
    """Lists and contours of a statistic that is given by its increments; its form and mean."""
    canonical = CanonicalSum.of_increments(increments, n_positives)
    blocks, m = canonical.blocks, canonical.n_counted

    def nothing(t: Floats, sign: int) -> tuple[Floats, Floats]:
        return np.zeros(t.shape), np.ones(t.shape)

    mean, variance = mean_and_variance(blocks, m)
    std = math.sqrt(variance)
    only_adds = min(blocks.of_one_hit.min(), blocks.cross.min()) >= 0.0
    within = 0.0 if only_adds else -math.inf, math.inf
    # Values on a lattice have no stratified contours.
    step = 0.0 if is_steep(blocks, std) else step_of(blocks)
    tails = tails_of(canonical, mean, std, within, nothing, m, ACCEPTED, step)
    return tails, canonical.form, mean


def _inversion(increments: Increments, n_positives: int) -> FarTail:
    """Tails of a statistic that is given by its increments, on either side of the mean."""
    tails, form, mean = _tails_of_blocks(increments, n_positives)

    def tail(t: Floats, sign: int) -> TailEstimates:
        return about_the_mean(tails.tail, *form.value(t, sign), mean)

    return tail
