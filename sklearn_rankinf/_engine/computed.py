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
from scipy.special import logsumexp

from sklearn_rankinf._engine.cache import cached_method
from sklearn_rankinf._engine.canonical import CanonicalSum, Form, step_of, value_in_a_row
from sklearn_rankinf._engine.conditioning import (
    ACCEPTED,
    ConditionedTails,
    block_to_condition_on,
)
from sklearn_rankinf._engine.estimates import UNKNOWN, TailEstimates, accepted_error
from sklearn_rankinf._engine.exact.bounds import TailBounds
from sklearn_rankinf._engine.exact.branch_and_bound import BranchAndBoundTails
from sklearn_rankinf._engine.exact.enumeration import (
    MeetInTheMiddleTails,
    atoms,
    largest_value,
    smallest_value,
)
from sklearn_rankinf._engine.exact.few_positives import FewPositives
from sklearn_rankinf._engine.exact.integer_weights import nearly_step_of
from sklearn_rankinf._engine.inversion.contour import is_steep
from sklearn_rankinf._engine.inversion.transform import ClosedTransform
from sklearn_rankinf._engine.inversion.trapezoid import without_merging
from sklearn_rankinf._engine.listed import ROUNDING, ListedDistribution
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
    increments_of,
    log_binomial,
    log_pmf,
    log_tail,
    mean_and_variance,
)

Problem = tuple[Statistic, int, int, Integers | None]
"""A statistic, the numbers of items and of hits, and the sizes of blocks of equal scores."""

# Tails of values on the tail's side of the mean.
_FarTail = Callable[[Floats, int], TailEstimates]


@dataclass(frozen=True)
class ComputedSettings:
    """Thresholds between the ways to compute a tail. Errors are relative errors."""

    # Error above which conditioning on a block is tried, with a tolerance too, up to a number of
    # blocks.
    worth_conditioning: float = 0.1
    worth_conditioning_roughly: float = 1e3
    # Hits that add something up to which strata are cheap.
    quickly_conditioned: int = 128
    most_blocks_of_conditioning: int = 5_000
    # Error above which a distribution that is conditioned on a block is inverted as a whole.
    worth_inversion: float = 1e-2
    # Lower tails below this part of the standard deviation come from hypergeometric bounds, up to a
    # number of blocks.
    bottom: float = 1e-9
    most_blocks_at_bottom: int = 1_000_000
    # Ranks behind those of a perfect ranking within which near-maximum enumeration needs no others.
    near_the_last: int = 1000
    # Blocks up to which contours use the step of a lattice: those of more are merged.
    most_blocks_on_a_lattice: int = 5_000
    # Operations that finding the support may take.
    work_of_support: float = 1e9
    # Binary searches up to which placements of two or three positives are counted for every value,
    # and for all values together else.
    always_counted: float = 20_000
    most_searches: float = 1e9
    # Part of the largest value from which a value is the largest one.
    equal_to_best: float = 1.0 - 2e-12
    # Outcomes of the largest value that are listed.
    most_largest: float = 1e5
    # Difference of the two largest values, relative to them, that rounding does not hide.
    noticeable: float = 1e-10
    # Rounding errors of closed forms and of hypergeometric bounds; and of logarithms, relative to
    # them.
    rounding: float = 1e-12
    rounding_of_logs: float = 5e-16
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

    @cached_property
    def _canonical(self) -> CanonicalSum:
        return CanonicalSum.of_problem(*self._problem)

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
        low, high = self._attained
        if np.any((t <= low) | (t >= high)):
            low, high = self._ends
        log_end = np.where(sign * t <= sign * (low if sign > 0 else high), 0.0, -np.inf)
        found = TailEstimates.of(log_end, "closed form", rounding=ROUNDING)
        inside = (t > low) & (t <= high) if sign > 0 else (t >= low) & (t < high)
        n_adding, next_value = self._above_zero
        at_zero = inside & ((t <= next_value) if sign > 0 else (t < next_value))
        if at_zero.any():
            hits, drawn = np.array([1 if sign > 0 else 0]), np.array([n_adding])
            log_p = log_tail(hits, self._n_samples, self._n_positives, drawn, sign)
            found.log_p[at_zero] = log_p
            found.error.rounding[at_zero] -= SETTINGS.rounding_of_logs * log_p
            inside[at_zero] = False
        log_top, below_top = self._atom_at_top
        if sign > 0 and np.any(inside & (t >= self._attained[1] * SETTINGS.equal_to_best)):
            log_top, below_top = self._atom_at_top_listed
        at_top = inside & ((t > below_top) if sign > 0 else (t >= below_top))
        if at_top.any():
            found.log_p[at_top] = log_top if sign > 0 else _log_complement(log_top)
            if sign > 0:
                scale = log_binomial(self._n_samples, self._n_positives)
                found.error.rounding[at_top] += SETTINGS.rounding_of_logs * scale
            inside[at_top] = False
        at_bottom = inside & (t < SETTINGS.bottom * self._std)
        if at_bottom.any() and self._n_blocks <= SETTINGS.most_blocks_at_bottom:
            tails = self._tail_at_the_bottom(t[at_bottom], sign)
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

    def _tail_at_the_bottom(self, t: Floats, sign: int) -> TailEstimates:
        """Tails of values that are nearly 0 beside the standard deviation, from bounds."""
        upper, lower = self._log_bounds_at_the_bottom(t)
        if sign > 0:
            upper, lower = _log_complement(lower), _log_complement(upper)
        half = 0.5 * np.minimum(upper - lower, 100.0)
        width = np.expm1(half) + SETTINGS.rounding
        found = TailEstimates.of(upper - half, "hypergeometric bounds", enclosure=width)
        unknown = np.flatnonzero(found.error.total > UNKNOWN)
        found.put(unknown, TailEstimates.of(upper[unknown], "upper bound", enclosure=np.inf))
        return found

    def _bound_unknown(self, found: TailEstimates, where: Integers, t: Floats, sign: int) -> None:
        """Keep a guaranteed upper bound, in place, of tails with an unknown or too large error."""
        weak = where[found.error.total[where] > UNKNOWN]
        if not weak.size:
            return
        upper = np.zeros(weak.size)
        if self._n_blocks <= SETTINGS.most_blocks_at_bottom:
            # Of a few steep weights most values are next to nothing beside the deviation.
            near_bottom = self._tail_at_the_bottom(t[weak], sign)
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

    def _log_bounds_at_the_bottom(self, t: Floats) -> tuple[Floats, Floats]:
        """Hypergeometric bounds of the lower tails of values that are next to nothing.

        No hit may add more than the value by itself, and it is not exceeded where no hit adds more
        than its share.
        """
        n, m = self._n_samples, self._n_positives
        blocks = self._blocks
        most = blocks.cross * (m - 1) + blocks.linear + blocks.square * m
        log_p = np.empty((2, t.size))
        for row, of_a_hit, share in ((0, blocks.of_one_hit, 1.0), (1, most, 1.0 / m)):
            order = np.argsort(of_a_hit, kind="stable")
            n_up_to = np.append(0, np.cumsum(blocks.sizes[order]))
            n_low = n_up_to[np.searchsorted(of_a_hit[order], t * share, side="right")]
            log_p[row] = [log_binomial(int(few), m) if few >= m else -np.inf for few in n_low]
        log_p -= log_binomial(n, m)
        # At least one placement has the lowest value.
        upper, lower = np.maximum(log_p, -log_binomial(n, m))
        return upper, lower

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
        found = np.full(q.shape, self._ends[0 if sign < 0 else 1])
        if self._has_support:
            # No value that is reached is rarer than one placement.
            with np.errstate(divide="ignore"):
                log_placements = log_binomial(self._n_samples, self._n_positives)
                open_ = np.flatnonzero(np.log(q) > -log_placements * (1.0 + 1e-12))
        else:
            open_ = np.arange(q.size)
        found[open_] = bracketed(self, q[open_], sign, self._mean, self._std, self._ends)
        if self._statistic.horizon is None:
            return found
        # The smallest value may be an atom: 0 where no hit is counted. Just beyond it, the tail is
        # that of all other values.
        lowest, _ = self._ends
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

    @property
    def _ends(self) -> tuple[float, float]:
        """Values that no value exceeds: the smallest and the largest where these are found."""
        return self.support() if self._has_support else (0.0, self._best)

    @cached_property
    def _atom_at_top(self) -> tuple[float, float]:
        """Log probability of the largest value with ties, and the value below it.

        For weights that fall from block to block. Of all other outcomes those with one hit moved
        out of the last block that has any, or into it if it has room, have the largest value.
        """
        if self._tie_sizes is None:
            return -math.inf, math.inf
        blocks, m = self._blocks, self._n_positives
        if not blocks.is_linear or np.any(np.diff(blocks.linear) > 0.0):
            return -math.inf, math.inf
        ends = np.cumsum(blocks.sizes)
        last = int(np.searchsorted(ends, m))
        moves = [(last, last + 1)] if last + 1 < ends.size else []
        if ends[last] > m and last > 0:
            moves.append((last - 1, last))
        lost = min(float(blocks.linear[i] - blocks.linear[j]) for i, j in moves)
        high = self._attained[1]
        if lost <= SETTINGS.noticeable * high:
            return -math.inf, math.inf
        # All hits lie in the blocks up to the last one, and fill those before it.
        end, before = int(ends[last]), int(ends[last] - blocks.sizes[last])
        log_p = log_pmf(m, self._n_samples, m, end) + log_pmf(before, end, m, before)
        return float(log_p), high - (1.0 - 1e-9) * lost

    @cached_property
    def _atom_at_top_listed(self) -> tuple[float, float]:
        """The same of any weights, where the outcomes with the largest value are few."""
        if self._tie_sizes is None or not self._has_support or self._atom_at_top[1] < math.inf:
            return self._atom_at_top
        least, m = self.support()[1] * SETTINGS.equal_to_best, self._n_positives
        listed = atoms(self._blocks, m, least, SETTINGS.most_largest)
        if listed is None:
            return self._atom_at_top
        log_p = float(logsumexp(listed.log_counts)) - log_binomial(self._n_samples, m)
        return log_p, least

    @cached_property
    def _above_zero(self) -> tuple[int, float]:
        """Number of items of which a hit adds something, and the least that it adds.

        That is -inf if no value is 0, and without a horizon.
        """
        if self._statistic.horizon is None:
            return 0, -math.inf
        of_one_hit, sizes = self._blocks.of_one_hit, self._blocks.sizes
        n_adding = int(sizes[of_one_hit > 0.0].sum())
        has_zero = self._n_positives <= self._n_samples - n_adding
        return n_adding, float(of_one_hit[of_one_hit > 0.0].min()) if has_zero else -math.inf

    @cached_property
    def _attained(self) -> tuple[float, float]:
        """Values of the rankings with all hits at the bottom and at the top: near the support."""
        m = self._n_positives
        if self._tie_sizes is None:
            # Rounding must not put a perfect ranking outside.
            highest = min(self._value_at(0) * (1.0 + 1e-13), self._best)
            return self._value_at(self._n_samples - m), highest
        increments = self._blocks
        ends = np.cumsum(increments.sizes)
        top = np.diff(np.minimum(ends, m), prepend=0)
        bottom = np.diff(np.maximum(ends - (self._n_samples - m), 0), prepend=0)
        return float(increments.total(bottom)), float(increments.total(top))

    @cached_method
    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        if self._tie_sizes is None:
            return self._attained
        m = self._n_positives
        increments = self._blocks
        if not self._has_support:
            raise ValueError(
                f"The smallest and the largest value of {m} positives in "
                f"{increments.sizes.size} blocks of equal scores take too long to compute: use "
                "the quantiles of small and large probabilities, or the range of a sample of rvs."
            )
        return smallest_value(increments, m), largest_value(increments, m)

    @cached_property
    def _has_support(self) -> bool:
        """Whether the smallest and the largest value are found in some seconds."""
        if self._tie_sizes is None:
            return True
        m = self._n_positives
        increments = self._blocks
        n_ways = float(np.minimum(increments.sizes, m).sum())
        return increments.is_linear or n_ways * m <= SETTINGS.work_of_support

    def _value_at(self, start: int) -> float:
        """Value of an untied ranking with all hits in a row, behind the first `start` ranks."""
        return value_in_a_row(self._statistic, self._n_samples, self._n_positives, start)

    def _far_tail(self, t: Floats, sign: int, log_negligible: float = -math.inf) -> TailEstimates:
        """Tails of values on the tail's side of the mean, unless they are negligible."""
        log_best = self._log_probability_of_best
        below = (t < self._best * SETTINGS.equal_to_best) | math.isnan(log_best)
        inner = np.flatnonzero(below | (sign < 0))
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
            found = TailEstimates.of(at_best, "closed form", rounding=SETTINGS.rounding)
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

        def solver(name: str, solve: _FarTail, above: float) -> Solver:
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
    def _of_fewer_blocks(self) -> list[_FarTail]:
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
    def _log_probability_of_best(self) -> float:
        return self._statistic.log_probability_of_best(*self._problem[1:])

    @cached_property
    def _best(self) -> float:
        """Value of a perfect ranking without ties: no ties make it better."""
        return float(self._statistic.best(self._n_samples, self._n_positives))

    @cached_property
    def _tails(self) -> Tails:
        options = self._tolerance, self._step, self._transform, self._at_the_top
        bounds, last = self._tail_bounds.bounds, self._n_positives
        numbers = *self._counted_mean_and_std, self._within, bounds, last
        clustered = self._conditions_first
        return tails_of(self._canonical, *numbers, *options, is_clustered=clustered)

    @cached_property
    def _within(self) -> tuple[float, float]:
        """Canonical values that the support does not exceed."""
        form, low = self._form, self._attained[0] * (1.0 - 1e-9) if self._tie_sizes is None else 0.0
        within = (np.array([low, self._best]) - form.constant) / form.factor
        rounding = SETTINGS.rounding * abs(form.constant / form.factor)
        return max(float(within.min()) - rounding, 0.0), float(within.max()) + rounding

    def _at_the_top(self, t: float) -> Increments | None:
        """A list without ties whose ranks are as one from where a hit leaves no value of t.

        None if that is far beyond the last hit of a perfect ranking or beyond the list, or misses
        are counted. The value and the increments are canonical.
        """
        n, m, values = self._n_samples, self._n_positives, self._values_by_last_hit
        t = self._form.constant + self._form.factor * t
        if not values.size or values[-1] >= t * (1.0 - 1e-12):
            return None
        n_apart = m + int(np.count_nonzero(values >= t * (1.0 - 1e-12)))
        sizes = np.concatenate([np.ones(n_apart, dtype=np.int64), [n - n_apart]])
        return self._form.increments(increments_of(self._statistic, n, m, sizes))

    @cached_property
    def _values_by_last_hit(self) -> Floats:
        """Values of a perfect ranking but for its last hit, which is at its rank or farther down.

        Empty with ties, where misses are counted, and for lists that are not much longer.
        """
        n, m = self._n_samples, self._n_positives
        farthest = min(n, m + SETTINGS.near_the_last)
        if self._tie_sizes is not None or self._form.by_misses or farthest == n:
            return np.empty(0)
        hits, ranks = np.arange(m - 1), np.arange(m - 1, farthest)
        top, last = (self._statistic.tied(at, 1, n, m) for at in (hits, ranks))
        before = np.sum(top.cross * hits + top.of_one_hit)
        return np.asarray(before + last.cross * (m - 1) + last.of_one_hit)

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
        near, far = self._ends[::sign]
        certain, impossible = sign * t <= sign * near, sign * t > sign * far
        beyond = np.flatnonzero((sign * (t - self._mean) > 0.0) & ~impossible)
        if beyond.size:
            low, high = np.exp(self._tails.log_bounds(counted[beyond], side))
            lower[beyond] = np.maximum(lower[beyond], low)
            upper[beyond] = np.minimum(upper[beyond], high)
        return np.where(certain, 1.0, lower), np.where(impossible, 0.0, upper)

    @cached_property
    def _tail_bounds(self) -> TailBounds:
        return TailBounds(self._canonical, self._within[1])

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


def _inversion(increments: Increments, n_positives: int) -> _FarTail:
    """Tails of a statistic that is given by its increments, on either side of the mean."""
    tails, form, mean = _tails_of_blocks(increments, n_positives)

    def tail(t: Floats, sign: int) -> TailEstimates:
        return about_the_mean(tails.tail, *form.value(t, sign), mean)

    return tail


class MeetInTheMiddle(ComputedDistribution):
    """A distribution whose outcomes are many, and listed by halves.

    Where they can be listed whole they are as soon as that is less work.
    """

    is_listed = True

    def __init__(self, problem: Problem, split: int, n_values_worth_listing: float) -> None:
        super().__init__(*problem)
        self._split = split
        self._n_values_worth_listing = n_values_worth_listing

    def estimates(self, t: Floats, sign: int) -> TailEstimates:
        """Tails with the parts of the errors, and the solvers that answered."""
        if t.size <= self._n_values_worth_listing:
            return self._halves.tail(t, sign)
        # The same whole numbers of placements.
        log_p = self._whole.estimates(t, sign).log_p
        return TailEstimates.of(log_p, "meet in the middle", rounding=self._halves.rounding)

    def quantile(self, q: Floats, sign: int) -> Floats:
        """Smallest v with ``P(S <= v) >= q`` (sign -1) or ``P(S > v) <= q`` (sign 1)."""
        if math.isinf(self._n_values_worth_listing):
            return super().quantile(q, sign)
        # Sums in another order differ by rounding.
        return np.clip(self._whole.quantile(q, sign), *self.support())

    @property
    def n_kept(self) -> float:
        """Numbers that are kept in lists."""
        lists = [vars(self)[name] for name in ("_whole", "_halves") if name in vars(self)]
        return super().n_kept + float(sum(made.n_kept for made in lists))

    @cached_property
    def _whole(self) -> ListedDistribution:
        listed = atoms(self._blocks, self._n_positives)
        assert listed is not None
        best = self._statistic.best(self._n_samples, self._n_positives)
        return ListedDistribution(np.minimum(listed.values, best), listed.log_counts)

    @cached_property
    def _halves(self) -> MeetInTheMiddleTails:
        return MeetInTheMiddleTails(self._blocks, self._n_positives, self._split)


class CountedDistribution(ComputedDistribution):
    """A distribution of two or three positives, whose placements are counted for each value.

    Of many values in long lists only some are counted.
    """

    def __init__(self, problem: Problem, tolerance: float, counts: FewPositives) -> None:
        super().__init__(*problem, tolerance)
        self._counts = counts
        self.is_listed = counts.n_searches <= SETTINGS.always_counted

    def estimates(self, t: Floats, sign: int) -> TailEstimates:
        """Tails with the parts of the errors, and the solvers that answered."""
        if not self.is_listed and t.size * self._counts.n_searches > SETTINGS.most_searches:
            return super().estimates(t, sign)
        return self._counts.tail(t, sign)


def about_the_mean(
    far_tail: _FarTail,
    t: Floats,
    sign: int,
    mean: float,
    rest: _FarTail | None = None,
    enough: float = UNKNOWN,
) -> TailEstimates:
    """Tails on either side of the mean, from those of values on the tail's side of the mean.

    On the other side a tail is the complement of the opposite one, which may be computed with less
    accuracy. If its error exceeds what is enough, as that of a small complement does if most values
    lie below the mean, the tail is computed itself.
    """
    beyond = sign * (t - mean) >= 0.0
    if beyond.all():
        return far_tail(t, sign)
    found = TailEstimates.unknown(t.shape)
    if beyond.any():
        found.put(np.flatnonzero(beyond), far_tail(t[beyond], sign))
    complement = (rest or far_tail)(t[~beyond], -sign).complement()
    weak = np.flatnonzero(complement.error.total > enough)
    if weak.size:
        complement.put_better(weak, far_tail(t[~beyond][weak], sign))
    found.put(np.flatnonzero(~beyond), complement)
    return found


def _log_complement(log_p: Any) -> Any:
    """``log(1 - p)``, for p up to 1."""
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(np.minimum(log_p, 0.0)))
