"""The exact distribution of an additive rank statistic.

`exact_distribution` chooses by the number of outcomes, before any tail is computed: two or three
positives are counted; few outcomes are enumerated, or met in the middle; integer weights are
counted. Of all others tails are computed one by one: `ComputedDistribution` hands those beyond the
mean to a sequence of solvers, inversion (`solvers`), branch and bound, and conditioning on a block
of equal scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from sklearn_rankinf._engine.both_sides import BothSides
from sklearn_rankinf._engine.canonical import (
    Form,
    constant_value,
    step_of,
    with_equal_blocks_merged,
)
from sklearn_rankinf._engine.conditioning import (
    ACCEPTED,
    ConditionedTails,
    block_to_condition_on,
    bulk_block,
)
from sklearn_rankinf._engine.ends import ROUNDING as ROUNDING_OF_ENDS
from sklearn_rankinf._engine.ends import Problem
from sklearn_rankinf._engine.estimates import (
    UNKNOWN,
    FarTail,
    Solver,
    TailEstimates,
    solve_in_turn,
    without_merging,
)
from sklearn_rankinf._engine.exact.branch_and_bound import BranchAndBoundTails
from sklearn_rankinf._engine.exact.enumeration import (
    MAX_ATOMS,
    MeetInTheMiddleTails,
    atoms,
    best_split,
    n_outcomes,
)
from sklearn_rankinf._engine.exact.few_positives import FewPositives, OneHit
from sklearn_rankinf._engine.exact.integer_weights import counted_atoms, nearly_step_of
from sklearn_rankinf._engine.exact.near_maximum import costs_of_misses, filled_blocks
from sklearn_rankinf._engine.inversion.contour import is_steep
from sklearn_rankinf._engine.inversion.transform import ClosedTransform
from sklearn_rankinf._engine.listed import AffineDistribution, Distribution, ListedDistribution
from sklearn_rankinf._engine.solvers import Tails, inversion_of, tails_of, tails_of_blocks
from sklearn_rankinf._statistics import (
    FEW_BLOCKS,
    Complexes,
    Floats,
    Increments,
    Integers,
    Statistic,
    adds_most_above,
    cached_method,
    cached_property,
    horizon_of,
    increments_of,
    log_binomial,
)

# Part of what all hits add below which a difference to it is computed as a sum.
_CANCELS = 0.5
# Outcomes up to which meeting in the middle is not tried.
_FEW_OUTCOMES = 5_000
# Outcomes above which they are not listed for a few values, whatever the number of blocks.
_LONG_LIST = 300_000
# Partial outcomes in both lists that meet in the middle, and with a tolerance.
_MAX_HALVES = 2e6
_SHORT_HALVES = 2e5
# Blocks up to which lists are tried.
_MAX_BLOCKS_OF_HALVES = 5_000
# Hits or misses that count, in few blocks and in any, and altogether: more take minutes and
# gigabytes.
_MOST_IN_FEW_BLOCKS = 500_000
_MOST_COUNTED = 5_000_000
_MOST_ALTOGETHER = 20_000_000
# Blocks and samples up to which two and three positives are counted: more pairs or triples of them
# do not fit 64 bits.
_MOST_BLOCKS_COUNTED = {2: 5_000_000, 3: 5_000}
_MOST_SAMPLES_COUNTED = {2: 3_000_000_000, 3: 2_000_000}
# Binary searches up to which placements of two or three positives are counted for every value, and
# for all values together else.
_ALWAYS_COUNTED = 20_000
_MOST_SEARCHES = 1e9


def exact_distribution(
    statistic: Statistic,
    n_samples: int,
    n_positives: int,
    tie_sizes: Integers | None,
    tolerance: float = 0.0,
) -> Distribution:
    """The exact distribution: enumerated where its outcomes are few, computed by tails else.

    A relative error of `tolerance` is good enough for the tails.
    """
    if n_positives in (0, n_samples):
        value = constant_value(statistic, n_samples, n_positives)
        return ListedDistribution(np.array([value]), np.zeros(1))
    problem = statistic, n_samples, n_positives, tie_sizes
    distribution = _distribution_of_sum(problem, tolerance)
    offset = statistic.offset(n_samples, n_positives)
    return AffineDistribution(distribution, offset) if offset else distribution


def _distribution_of_sum(problem: Problem, tolerance: float) -> Distribution:
    """The distribution of the sum of the increments, of both hits and misses."""
    statistic, n_samples, n_positives, tie_sizes = problem
    n_fewer = min(n_positives, n_samples - n_positives)
    n_counted = min(n_fewer, statistic.horizon or n_samples)
    few_levels = tie_sizes is not None and tie_sizes.size <= FEW_BLOCKS
    limit = _MOST_IN_FEW_BLOCKS if few_levels else _MOST_COUNTED
    are_too_many = n_counted > limit or n_fewer > _MOST_ALTOGETHER
    if are_too_many and not _is_in_closed_form(problem):
        blocks = f" in {tie_sizes.size} blocks of equal scores" if tie_sizes is not None else ""
        raise ValueError(
            f"The null distribution of {n_positives} positives among {n_samples} items{blocks} "
            "takes too long to compute: pass method='normal' or 'permutation'."
        )
    if n_fewer == 1:
        return _distribution_of_one(problem)
    few_ranks = min(n_samples, statistic.horizon or n_samples) <= MAX_ATOMS
    few_placements = log_binomial(n_samples, n_positives) <= math.log(MAX_ATOMS) + 1e-9
    counts = None if few_placements else _few_positives(problem)
    if counts is not None:
        return CountedDistribution(problem, tolerance, counts)
    # Increments are needed if all outcomes may be listed, or met in the middle. Without ties and
    # horizon every placement is an outcome of its own.
    may_be_listed = few_placements or statistic.horizon is not None
    may_be_listed |= n_samples <= _MAX_BLOCKS_OF_HALVES
    if tie_sizes is None and not (few_ranks and may_be_listed):
        return ComputedDistribution(*problem, tolerance)
    increments = with_equal_blocks_merged(increments_of(*problem))
    outcomes = n_outcomes(increments.sizes, n_positives)
    few_blocks = increments.sizes.size <= FEW_BLOCKS
    are_many = outcomes > _LONG_LIST and increments.sizes.size <= _MAX_BLOCKS_OF_HALVES
    most = _SHORT_HALVES if tolerance and outcomes > MAX_ATOMS else _MAX_HALVES
    # Lists of this length together meet in no more outcomes than half of it, squared.
    if (few_blocks or are_many) and outcomes <= (0.5 * most) ** 2:
        split, length = best_split(increments.sizes, n_positives)
        if outcomes > max(_FEW_OUTCOMES, 2.0 * length) and length <= most:
            return MeetInTheMiddle(problem, increments, split)
    if outcomes <= MAX_ATOMS:
        listed = atoms(increments, n_positives, limit=2.0 * MAX_ATOMS)
        if listed is not None:
            best = statistic.best(n_samples, n_positives)
            return ListedDistribution(np.minimum(listed.values, best), listed.log_counts)
    if not _is_in_closed_form(problem):
        counted = counted_atoms(increments, n_positives, tolerance > 0.0)
        if counted is not None:
            return ListedDistribution(counted.values, counted.log_counts, "integer weights")
    return ComputedDistribution(*problem, tolerance)


def _distribution_of_one(problem: Problem) -> Distribution:
    """The distribution of a sum over a single hit, or a single miss."""
    statistic, n_samples, m, tie_sizes = problem
    n_ranks = horizon_of(statistic, n_samples) if tie_sizes is None else tie_sizes.size
    if m == 1 and n_ranks > MAX_ATOMS and tie_sizes is None:
        return OneHit(statistic, n_samples)
    increments = increments_of(*problem)
    if m == 1:
        values = increments.of_one_hit
    else:
        misses, everything = increments.of_misses()
        values = everything - misses.of_one_hit
        # Of a miss at which a hit would add nearly all, the difference has lost its digits.
        for block in np.flatnonzero(values < _CANCELS * everything).tolist():
            hits = increments.sizes.copy()
            hits[block] -= 1
            values[block] = increments.total(hits)
    order = np.argsort(values, kind="stable")
    values = np.clip(values[order], 0.0, statistic.best(n_samples, m))
    return ListedDistribution(values, np.log(increments.sizes[order]))


def _few_positives(problem: Problem) -> FewPositives | None:
    """Counts of the placements of two or three positives, where they can be counted."""
    statistic, n_samples, m, tie_sizes = problem
    if m not in _MOST_SAMPLES_COUNTED or n_samples > _MOST_SAMPLES_COUNTED[m]:
        return None
    n_ranks = min(n_samples, statistic.horizon or n_samples)
    if (n_ranks if tie_sizes is None else tie_sizes.size) > _MOST_BLOCKS_COUNTED[m]:
        return None
    increments = increments_of(*problem)
    return FewPositives(increments, m) if FewPositives.apply_to(increments, m) else None


def _is_in_closed_form(problem: Problem) -> bool:
    """Whether the transform of the statistic is known without going through the blocks."""
    return problem[0].log_mgf(np.ones(1, complex), *problem[1:]) is not None


@dataclass(frozen=True)
class ComputedSettings:
    """Thresholds between the ways to compute a tail. Errors are relative errors."""

    # Error above which branch and bound is tried with more work, and with which strata end, which
    # are tried where no error is known; and, with a tolerance, error above which either is tried.
    # Neither is for more blocks than these.
    accurate_at_last: float = 2e-2
    worth_more_work_roughly: float = 1.0
    most_blocks_of_conditioning: int = 5_000
    # Blocks up to which strata of few positives outside of a large block are cheap, and the log of
    # tails to which few of them contribute.
    quickly_conditioned: int = 256
    log_near_mean: float = -30.0
    # Hits in filled blocks from which others are a distribution of their own, blocks up to which
    # these, or one that makes a row of clusters, are looked for; rounding error of sums of weights.
    least_filled: int = 8
    most_blocks_listed: int = 50_000
    rounding_of_sums: float = 1e-15
    # Blocks up to which contours use the step of a lattice: those of more are merged.
    most_blocks_on_a_lattice: int = 5_000


SETTINGS = ComputedSettings()
_inversion = partial(inversion_of, tolerance=ACCEPTED)


class ComputedDistribution(BothSides):
    """A distribution whose tails beyond the mean come from a sequence of solvers.

    Inversion (`solvers`), branch and bound, and conditioning on a block of equal scores.
    """

    def _far_tail(self, t: Floats, sign: int, log_negligible: float = -math.inf) -> TailEstimates:
        """Tails of values on the tail's side of the mean, unless they are negligible."""
        log_best = self._ends.log_probability_of_best
        inner = np.flatnonzero((sign < 0) | math.isnan(log_best) | ~self._ends.is_best(t))
        # Values far from the mean of the hits are far from that of the misses, on the other side.
        counted, side = self._form.value(t[inner], sign)
        found = TailEstimates.unknown(counted.shape)
        first, last = self._sequence(log_negligible)

        def improve(solvers: list[Solver], where: Integers) -> None:
            some = found.at(where)
            solve_in_turn(solvers, counted[where], side, some, log_negligible, self._tolerance)
            found.put(where, some)

        every = np.arange(counted.size)
        improve(first, every)
        weak = np.flatnonzero(found.error.total > max(ACCEPTED, self._tolerance))
        behind = self._tail_behind_filled_blocks(counted[weak], side)
        found.put_better(weak, behind)
        # Lists and contours of all blocks would know no more of what lies behind filled ones.
        improve(last, np.setdiff1d(every, weak[behind.error.total <= UNKNOWN]))
        if inner.size < t.size:
            at_best, some = np.full(t.shape, log_best), found
            found = TailEstimates.of(at_best, "closed form", rounding=ROUNDING_OF_ENDS)
            found.put(inner, some)
        if sign > 0:
            # A bound from merged blocks may be too low at the very end.
            np.fmax(found.log_p, log_best, out=found.log_p)
        return found

    @cached_method
    def _sequence(self, log_negligible: float) -> tuple[list[Solver], list[Solver]]:
        """What comes first with little work; lists and contours, and what follows them.

        Branch and bound comes first with little work, and near the end with more.
        """

        def inverted(t: Floats, sign: int) -> TailEstimates:
            return self._tails.tail(t, sign, log_negligible)

        def solver(name: str, solve: FarTail, above: float) -> Solver:
            above = max(above, self._tolerance)
            return Solver(name, lambda t, sign, known: solve(t, sign), above, of_log=0.0)

        inversion = solver("lists and contours", inverted, ACCEPTED)
        if self._n_blocks > SETTINGS.most_blocks_of_conditioning:
            if not self._tails.merges:
                return [], [inversion]
            fewer = solver("fewer blocks", self._tail_of_fewer_blocks, UNKNOWN)
            by_block = solver("conditioning on a block", self._conditioned_if_coarse, UNKNOWN)
            return [], [inversion, by_block, fewer]
        branching, conditioning = SETTINGS.accurate_at_last, UNKNOWN
        if self._tolerance:
            branching = conditioning = SETTINGS.worth_more_work_roughly
        first, last = [], [inversion]
        if self._branches is not None:
            quick, thorough = (partial(self._branches.tail, is_last=each) for each in (False, True))
            first.append(solver("branch and bound", quick, 0.0))
            last.append(solver("branch and bound", thorough, branching))
        # Few positives outside of a block of most items have few outcomes.
        if not self._tolerance and self._n_blocks <= SETTINGS.quickly_conditioned:
            if bulk_block(self._counted, self._n_counted) is not None:
                near = solver("conditioning on a block", self._conditioned_near_mean, ACCEPTED)
                first.append(near)
        last.append(solver("conditioning on a block", self._conditioned_tail, conditioning))
        return first, last

    def _tail_behind_filled_blocks(self, t: Floats, sign: int) -> TailEstimates:
        """Tails near the best value, whose outcomes fill the blocks of the largest weights."""
        found = TailEstimates.unknown(t.shape)
        # Of few blocks contours and bands know these tails.
        may_be = sign > 0 and t.size and FEW_BLOCKS < self._n_blocks <= SETTINGS.most_blocks_listed
        if not (may_be and self._transform is None and self._counted.is_linear):
            return found
        blocks, m = self._counted, self._n_counted
        costs = costs_of_misses(blocks, m)
        for i, value in enumerate(t.tolist()):
            gap, full = costs[-1] - value, filled_blocks(*costs, value)
            n_filled = int(blocks.sizes[full].sum())
            if not (gap > 0.0 and SETTINGS.least_filled <= n_filled < m):
                continue
            added = float(blocks.of_one_hit[full] @ blocks.sizes[full])
            others = blocks[np.setdiff1d(np.arange(blocks.sizes.size), full)]
            tail = inversion_of(others, m - n_filled, max(ACCEPTED, self._tolerance))
            some = tail(np.array([value - added]), sign)
            # Differences of large sums have lost digits; a tail changes by about its logarithm
            # over the distance to the best value.
            lost = SETTINGS.rounding_of_sums * value / gap
            some.error.rounding[:] += lost * np.maximum(-some.log_p, 1.0)
            n = blocks.n_samples
            some.log_p[:] += log_binomial(n - n_filled, m - n_filled) - log_binomial(n, m)
            found.put(np.array([i]), some)
        return found

    def _tail_of_fewer_blocks(self, t: Floats, sign: int) -> TailEstimates:
        """Tails of merged blocks as of lists of their own, and of others merged further.

        Methods for few blocks know tilted distributions with two humps.
        """
        found, coarse = (tail(t, sign) for tail in self._of_fewer_blocks)
        known = (found.error.total < 1.0) & (coarse.error.total < 1.0)
        log_p, merging = without_merging(found.log_p, coarse.log_p, known, is_irregular=True)
        found.log_p[:] = log_p
        found.error.merging[:] += merging + coarse.error.total
        unknown = np.flatnonzero(~known)
        found.put(unknown, TailEstimates.unknown(unknown.shape))
        return found

    @cached_property
    def _of_fewer_blocks(self) -> list[FarTail]:
        return [_inversion(blocks, self._n_counted) for blocks in self._tails.fewer_blocks()]

    def _conditioned_tail(self, t: Floats, sign: int) -> TailEstimates:
        """Tails of what is counted by conditioning on single blocks."""
        enough = max(SETTINGS.accurate_at_last, self._tolerance)
        return self._conditioned.tail(t, sign, self._tails.log_bound(t, sign), enough)

    def _conditioned_if_coarse(self, t: Floats, sign: int) -> TailEstimates:
        """The same where a block of a long list makes its distribution a row of clusters."""
        is_short = self._n_blocks <= SETTINGS.most_blocks_listed
        if is_short and block_to_condition_on(self._counted, self._n_counted) is not None:
            return self._conditioned_tail(t, sign)
        return TailEstimates.unknown(t.shape)

    def _conditioned_near_mean(self, t: Floats, sign: int) -> TailEstimates:
        """The same where few strata matter."""
        found = TailEstimates.unknown(t.shape)
        near = np.flatnonzero(self._tails.log_bound(t, sign) > SETTINGS.log_near_mean)
        if near.size:
            found.put(near, self._conditioned_tail(t[near], sign))
        return found

    @cached_property
    def _branches(self) -> BranchAndBoundTails | None:
        if self._n_blocks > SETTINGS.most_blocks_of_conditioning or not self._counted.is_linear:
            return None
        branches = BranchAndBoundTails(self._counted, self._n_counted)
        return branches if branches.applies else None

    @cached_property
    def _conditioned(self) -> ConditionedTails:
        return ConditionedTails(self._counted, self._n_counted, _inversion)

    @property
    def n_kept(self) -> float:
        """Numbers that are kept in lists."""
        return self._conditioned.n_kept if "_conditioned" in vars(self) else 0.0

    @cached_property
    def _tails(self) -> Tails:
        options = self._tolerance, self._step, self._transform, self._ends.first_ranks
        bounds, last = self._tail_bounds.bounds, self._n_positives
        numbers = *self._counted_mean_and_std, self._ends.within, bounds, last
        clustered = self._conditions_first
        return tails_of(self._canonical, *numbers, *options, is_clustered=clustered)

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

    def _log_upper_bound(self, t: Floats, sign: int) -> Floats:
        """Log of a guaranteed upper bound of the tail, Chernoff's or that of a lattice."""
        log_p = np.zeros(t.shape)
        beyond = np.flatnonzero(sign * (t - self._mean) > 0.0)
        if beyond.size:
            counted, side = self._form.value(t[beyond], sign)
            log_p[beyond] = self._tails.log_upper_bound(counted, side)
            if self._tails.merges and self._tails.lists_blocks:
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
        return tails_of_blocks(self._tails.bounding_blocks(side), self._n_counted, ACCEPTED)[:2]

    def _log_bounds(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        return self._tails.log_bounds(t, sign)

    def _tail_at_the_bottom(self, t: Floats, sign: int) -> TailEstimates:
        """Tails of values that are next to nothing, from bounds or by branch and bound."""
        found = super()._tail_at_the_bottom(t, sign)
        open_ = np.flatnonzero(found.error.total > ACCEPTED)
        if open_.size and self._branches is not None:
            branching = self._branches.tail(*self._form.value(t[open_], sign))
            branching.error.enclosure[branching.error.total > UNKNOWN] = np.inf
            found.put_better(open_, branching)
        return found


class MeetInTheMiddle(ComputedDistribution):
    """A distribution whose outcomes are many, and listed by halves."""

    is_listed = True

    def __init__(self, problem: Problem, increments: Increments, split: int) -> None:
        super().__init__(*problem)
        self._increments, self._split = increments, split

    def estimates(self, t: Floats, sign: int) -> TailEstimates:
        """Tails with the parts of the errors, and the solvers that answered."""
        return self._halves.tail(t, sign)

    @property
    def n_kept(self) -> float:
        """Numbers that are kept in lists."""
        return super().n_kept + (self._halves.n_kept if "_halves" in vars(self) else 0.0)

    @cached_property
    def _halves(self) -> MeetInTheMiddleTails:
        return MeetInTheMiddleTails(self._increments, self._n_positives, self._split)


class CountedDistribution(ComputedDistribution):
    """A distribution of two or three positives, whose placements are counted for each value.

    Of many values in long lists only some are counted.
    """

    def __init__(self, problem: Problem, tolerance: float, counts: FewPositives) -> None:
        super().__init__(*problem, tolerance)
        self._counts = counts
        self.is_listed = counts.n_searches <= _ALWAYS_COUNTED

    def estimates(self, t: Floats, sign: int) -> TailEstimates:
        """Tails with the parts of the errors, and the solvers that answered."""
        if not self.is_listed and t.size * self._counts.n_searches > _MOST_SEARCHES:
            return super().estimates(t, sign)
        return self._counts.tail(t, sign)
