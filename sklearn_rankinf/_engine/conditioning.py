"""Tails by conditioning on the number of positives in a block of equal scores.

Given y of the m positives in block b, the sum over the other blocks is again an additive rank
statistic, of m - y positives among the other items (`Increments.given`). The tail is the mixture
(equation ``strata`` in "Conditioning on a block", doc/theory.rst)

    P(S >= t) = sum_y P(y_b = y) P(S_y >= t - gamma_y),

with hypergeometric weights and the contribution gamma_y of the block itself. If one step of y moves
the statistic farther than the other blocks spread it, the distribution is a row of narrow clusters
and its characteristic function decays and returns, so that a contour of affordable length does not
invert it. Each term of the sum (a stratum) is decided by its support or by Bernstein's inequality
(Hoeffding, 1963, section 6), enumerated (meet in the middle; Horowitz & Sahni, 1974), inverted, or
conditioned on a further block.

The relative error is the weighted mean of the errors of the strata, by parts. The truncation adds
the bound of everything left out, and the enclosure adds the strata of which only a bound is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from sklearn_rankinf._engine.estimates import ErrorEstimate, TailEstimates
from sklearn_rankinf._engine.exact.enumeration import (
    MeetInTheMiddleTails,
    best_split,
    largest_value,
    n_outcomes,
    smallest_value,
)
from sklearn_rankinf._engine.inversion.bands import products_of_pass
from sklearn_rankinf._statistics import (
    Floats,
    Increments,
    Integers,
    cached_method,
    cached_property,
    influences,
    log_pmf,
    log_size_at_return,
    mean_and_variance,
)

# Largest relative error of an inversion that is accepted where a stratum can be divided further.
ACCEPTED = 5e-4

SOLVER = "conditioning on a block"


@dataclass(frozen=True)
class ConditioningSettings:
    """When to condition on a block, how to solve a stratum, and how much work is affordable."""

    # A step of a block is coarse beyond this many standard deviations of the other blocks.
    coarse_step: float = 4.0
    # A transform of the other blocks above this log size at the return of the block's own one is
    # coarse: exp(-(2 pi / coarse_step)**2 / 2) for a normal distribution.
    log_return: float = -1.2
    # A single item worth more than this part of the range of all others is conditioned on.
    separate_item: float = 0.7
    # A block that leaves fewer expected positives than this outside it is conditioned on.
    few_outside: float = 4.0
    # A block makes a row of clusters if the variance of its number of positives exceeds this.
    least_variance: float = 0.05
    # Number of blocks tried, in descending order of their influence on the statistic.
    n_candidates: int = 3
    # Strata of at most this many outcomes are enumerated at no charge.
    few_outcomes: float = 100_000
    # The support of a statistic with cross terms is computed up to this many operations.
    max_support_operations: float = 20_000
    # Longest lists of partial outcomes of both halves of an enumeration.
    max_listed: float = 400_000
    # Most blocks for which the length of these lists is computed; more take too long.
    max_blocks_listed: int = 1_000
    # Strata of at most this many positives or negatives are too rough to be inverted first.
    few_positives: int = 6
    # Work on the strata of one request, in inversions of medium size.
    max_work: float = 5.0
    # Work of a visit to a stratum, whatever solves it.
    work_of_visit: float = 0.02
    # An enumeration takes the work of one inversion, and of another for each of these partial
    # outcomes.
    outcomes_per_inversion: float = 200_000
    # An inversion of work 1 has this product of rows and positives in blocks, or this many blocks.
    products_per_inversion: float = 3e4
    blocks_per_inversion: float = 1_500.0
    # Least work of an inversion.
    least_work: float = 0.4
    # Most blocks conditioned on together.
    max_depth: int = 200
    # Numbers kept in the lists of a statistic and all its strata (48 MB).
    max_kept: float = 6e6
    # Log of the probability left out, relative to an upper bound of the tail.
    log_left_out: float = -40.0
    # A tail is 1 if the log of the opposite one is below this.
    log_certain: float = -40.0
    # Terms below this log, relative to the sum of the terms computed before them, are left out.
    log_lost: float = -16.0
    # Log of the error of a term, relative to that sum, that does not need to be reduced.
    log_accepted: float = math.log(ACCEPTED / 10.0)
    # Rounding error of a sum of terms, and of an enumeration.
    rounding: float = 1e-12


SETTINGS = ConditioningSettings()

# Returns tails by inversion, of increments and a number of positives.
Inversion = Callable[[Increments, int], Callable[[Floats, int], TailEstimates]]


def bulk_block(increments: Increments, n_positives: int) -> int | None:
    """A block that leaves few positives for all others, such as items without scores; or None."""
    n, block = increments.n_samples, int(np.argmax(increments.sizes))
    share = float(increments.sizes[block]) / n
    outside = n_positives * (1.0 - share)
    is_bulk = share > 0.5 and 0.0 < outside < SETTINGS.few_outside and n_positives > 1
    return block if is_bulk and increments.sizes.size > 2 else None


def coarse_block(increments: Increments, n_positives: int) -> int | None:
    """The block that makes the distribution a row of clusters; None if there is none."""
    n, m, sizes = increments.n_samples, n_positives, increments.sizes
    if sizes.size < 2 or not 0 < m < n:
        return None
    bulk = bulk_block(increments, m)
    if bulk is not None:
        return bulk
    steps = np.abs(influences(increments, m))
    if increments.is_linear:
        block = int(np.argmax(steps))
        if sizes[block] == 1:
            others, _ = increments.given(block, 0)
            spread = largest_value(others, m - 1) - smallest_value(others, m - 1)
            if steps[block] > SETTINGS.separate_item * spread:
                return block
    variance = sizes * (m / n) * (1.0 - m / n) * (1.0 - sizes / n)
    varies = (sizes > 1) & (variance > SETTINGS.least_variance)
    weight = np.where(varies, variance * steps**2, 0.0)
    order = np.argsort(-weight)[: SETTINGS.n_candidates]
    candidates: list[int] = order[weight[order] > 0.0].tolist()
    for block in candidates:
        size = int(sizes[block])
        y = min(max(round(m * size / n), m - (n - size), 0), size, m)
        others, _ = increments.given(block, y)
        deviation = math.sqrt(mean_and_variance(others, m - y)[1])
        if steps[block] > SETTINGS.coarse_step * deviation:
            return block
    # Top-stratum positives may spread the others, which remain a row of clusters.
    for block in candidates:
        if log_size_at_return(increments, m, block) > SETTINGS.log_return:
            return block
    return None


def block_to_condition_on(increments: Increments, n_positives: int) -> int | None:
    """The block by which tails are divided before any inversion; None if there is none.

    Bounds decide hardly any stratum of a statistic with cross terms, so that conditioning pays only
    where strata are enumerated.
    """
    choose = coarse_block if increments.is_linear else bulk_block
    return choose(increments, n_positives)


class Budget:
    """A limited amount of work or of memory, of which an amount is left."""

    def __init__(self, left: float) -> None:
        self.left = left

    def take(self, amount: float) -> bool:
        """Take this amount if it is left, and return whether it was."""
        is_left = amount <= self.left
        self.left -= amount if is_left else 0.0
        return is_left


class ConditionedTails:
    """Tails of an additive rank statistic by conditioning on blocks.

    Parameters
    ----------
    increments : Increments
        The statistic, block by block.
    n_positives : int
        Number of positives.
    inversion : callable
        Returns the tails of a smooth statistic.
    depth : int, default=0
        Number of blocks that have been conditioned on.
    memory : Budget, default=None
        Numbers that may still be kept, for all strata of a statistic; None for a new statistic.
    """

    def __init__(
        self,
        increments: Increments,
        n_positives: int,
        inversion: Inversion,
        depth: int = 0,
        memory: Budget | None = None,
    ) -> None:
        self._increments, self._m = increments, n_positives
        self._inversion, self._depth = inversion, depth
        self._memory = memory or Budget(SETTINGS.max_kept)
        self._kept: MeetInTheMiddleTails | None = None

    @property
    def n_kept(self) -> float:
        """Numbers kept in the lists of this statistic and its strata."""
        return SETTINGS.max_kept - self._memory.left

    def tail(self, t: Floats, sign: int, log_bound: Floats, enough: float) -> TailEstimates:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), given upper bounds of their logs.

        Values share the work at first. Each with an error above `enough` is then computed alone.
        """
        log_negligible = log_bound + SETTINGS.log_left_out
        budget = Budget(SETTINGS.max_work)
        found = self._tail(t, sign, log_negligible, log_negligible, budget)
        for i in np.flatnonzero((found.error.total > enough) & (t.size > 1)):
            at, budget = np.array([i]), Budget(SETTINGS.max_work)
            own = self._tail(t[at], sign, log_negligible[at], log_negligible[at], budget)
            found.put_better(at, own)
        # Under a loose bound everything may have been left out.
        nothing = np.flatnonzero(np.isneginf(found.log_p))
        found.put(nothing, TailEstimates.unknown(nothing.shape))
        return found

    def _tail(
        self, t: Floats, sign: int, log_negligible: Floats, log_enough: Floats, budget: Budget
    ) -> TailEstimates:
        """The tails; those below ``exp(log_negligible)`` may be returned as 0.

        Absolute errors below ``exp(log_enough)`` do not need to be reduced.
        """
        log_p = np.full(t.shape, -np.inf)
        low, high = self._support
        nearest, farthest = (low, high) if sign > 0 else (high, low)
        log_p[sign * t <= sign * nearest] = 0.0
        left = np.flatnonzero((sign * t > sign * nearest) & (sign * t <= sign * farthest))
        if left.size:
            own, opposite = self._log_bernstein_bounds(t[left], sign)
            log_p[left] = np.where(own < log_negligible[left], -np.inf, 0.0)
            left = left[(own >= log_negligible[left]) & (opposite >= SETTINGS.log_certain)]
        found = TailEstimates.of(log_p, SOLVER, rounding=SETTINGS.rounding)
        if not left.size:
            return found
        found.error.enclosure[left] = np.inf
        few = min(self._m, self._increments.n_samples - self._m) <= SETTINGS.few_positives
        if (few or self._has_few_outcomes) and self._can_be_listed(budget):
            found.put(left, self._listed_tail(t[left], sign))
            return found
        block = self._coarse_block
        if block is None:
            if budget.take(self._work_of_inversion):
                found.put(left, self._inverted(t[left], sign))
            is_bound = np.isinf(found.error.total)
            found.log_p[is_bound & np.isneginf(found.log_p)] = 0.0
            negligible = np.flatnonzero(is_bound & (found.log_p < log_negligible))
            nothing = np.full(negligible.shape, -np.inf)
            found.put(negligible, TailEstimates.of(nothing, SOLVER, rounding=SETTINGS.rounding))
            reference = np.where(np.isfinite(found.log_p), found.log_p, np.inf)[left]
            enough = np.exp(np.minimum(log_enough[left] - reference, 0.0))
            left = left[found.error.total[left] > np.maximum(ACCEPTED, enough)]
            block = self._most_influential_block
        if not left.size:
            return found
        if self._can_be_listed(budget):
            found.put(left, self._listed_tail(t[left], sign))
        elif block is not None and self._depth < SETTINGS.max_depth and budget.left > 0:
            goals = log_negligible[left], log_enough[left]
            found.put_better(left, self._mixture(block, t[left], sign, *goals, budget))
        return found

    def _mixture(
        self,
        block: int,
        t: Floats,
        sign: int,
        log_negligible: Floats,
        log_enough: Floats,
        budget: Budget,
    ) -> TailEstimates:
        """The sum over strata (equation ``strata``), the largest terms first."""
        size, n, m = int(self._increments.sizes[block]), self._increments.n_samples, self._m
        y = np.arange(max(0, m - (n - size)), min(size, m) + 1)
        log_weights = np.asarray(log_pmf(y, n, m, size))
        total = np.full(t.shape, -np.inf)
        log_terms, errors = [], []
        for i in self._order(block, y, log_weights, t, sign, log_negligible).tolist():
            log_weight = float(log_weights[i])
            log_negligible = np.maximum(log_negligible, total + SETTINGS.log_lost)
            log_enough = np.maximum(log_enough, total + SETTINGS.log_accepted)
            # All strata left out together are then below the negligible probability.
            least = log_negligible - math.log(y.size)
            at = np.flatnonzero(log_weight > least)
            if not at.size:
                continue
            budget.left -= SETTINGS.work_of_visit
            constant, stratum = self._stratum(block, int(y[i]))
            goals = least[at] - log_weight, log_enough[at] - log_weight
            term = TailEstimates.of(np.full(t.shape, -np.inf), SOLVER)
            term.put(at, stratum._tail(t[at] - constant, sign, *goals, budget))
            log_terms.append(term.log_p + log_weight)
            errors.append(term.error)
            total = np.logaddexp(total, log_terms[-1])
        if not log_terms:
            return TailEstimates.unknown(t.shape)
        reference = np.where(np.isfinite(total), total, 0.0)
        shares = np.exp(np.array(log_terms) - reference)
        is_bound = np.isinf([error.total for error in errors])
        of_strata = np.array([error.parts for error in errors])
        parts = (shares[:, None] * np.where(is_bound[:, None], 0.0, of_strata)).sum(axis=0)
        error = ErrorEstimate(parts)
        # A term of which only an upper bound is known lies between 0 and the bound.
        bounded = np.where(is_bound, shares, 0.0).sum(axis=0)
        rest = np.maximum(1.0 - bounded, SETTINGS.rounding)
        error.enclosure[:] += np.where(bounded < 1.0, bounded / rest, np.inf)
        error.truncation[:] += np.exp(np.minimum(log_negligible - reference, 50.0))
        error.rounding[:] += SETTINGS.rounding
        solvers = np.full(t.shape, SOLVER, dtype=object)
        return TailEstimates(np.minimum(total, 0.0), error, solvers)

    def _order(
        self,
        block: int,
        y: Integers,
        log_weights: Floats,
        t: Floats,
        sign: int,
        log_negligible: Floats,
    ) -> Integers:
        """Strata by their terms under normal approximations of S_y, the largest first."""
        likely = np.flatnonzero(log_weights > log_negligible.min() - math.log(y.size))
        log_terms = np.empty(likely.size)
        for place, i in enumerate(likely.tolist()):
            others, constant = self._increments.given(block, int(y[i]))
            mean, variance = mean_and_variance(others, self._m - int(y[i]))
            z = sign * (t - constant - mean) / math.sqrt(max(variance, np.finfo(float).tiny))
            log_terms[place] = log_weights[i] + log_ndtr(-z).max()
        return likely[np.argsort(-log_terms, kind="stable")]

    @cached_method
    def _stratum(self, block: int, y: int) -> tuple[float, ConditionedTails]:
        """The contribution of y positives in a block, and the statistic of the other blocks."""
        others, constant = self._increments.given(block, y)
        numbers = self._m - y, self._inversion, self._depth + 1
        return constant, ConditionedTails(others, *numbers, self._memory)

    @cached_property
    def _inverted(self) -> Callable[[Floats, int], TailEstimates]:
        return self._inversion(self._increments, self._m)

    @cached_property
    def _coarse_block(self) -> int | None:
        return block_to_condition_on(self._increments, self._m)

    @cached_property
    def _most_influential_block(self) -> int | None:
        """The block that explains most of the variance; None where conditioning does not pay."""
        sizes, m, n = self._increments.sizes, self._m, self._increments.n_samples
        pays = self._increments.is_linear or self._depth == 0
        if sizes.size < 2 or not 0 < m < n or not pays:
            return None
        return int(np.argmax(sizes * (1.0 - sizes / n) * influences(self._increments, m) ** 2))

    @cached_property
    def _work_of_inversion(self) -> float:
        """Rows times positives of all blocks, in inversions of medium size."""
        sizes = self._increments.sizes
        products = products_of_pass(sizes, self._m)
        work = products / SETTINGS.products_per_inversion
        return max(SETTINGS.least_work, work + sizes.size / SETTINGS.blocks_per_inversion)

    # Enumeration.

    @cached_property
    def _has_few_outcomes(self) -> bool:
        return n_outcomes(self._increments.sizes, self._m) <= SETTINGS.few_outcomes

    @cached_property
    def _split(self) -> tuple[int, float]:
        """The first block of the second half, and the length of the lists of both halves."""
        is_short = self._increments.sizes.size <= SETTINGS.max_blocks_listed
        if is_short or self._has_few_outcomes:
            return best_split(self._increments.sizes, self._m)
        return 0, math.inf

    def _can_be_listed(self, budget: Budget) -> bool:
        """Whether enumeration is affordable; its work is then taken from the budget."""
        if self._has_few_outcomes:
            return True
        length = self._split[1]
        work = 1.0 + length / SETTINGS.outcomes_per_inversion
        return length <= SETTINGS.max_listed and budget.take(work)

    def _listed_tail(self, t: Floats, sign: int) -> TailEstimates:
        """Tails by enumeration; the lists are kept while memory is left, else made again."""
        listed = self._kept or MeetInTheMiddleTails(self._increments, self._m, self._split[0])
        if self._kept is None and self._memory.take(listed.n_kept):
            self._kept = listed
        log_p = listed.log_tail(t, sign)
        return TailEstimates.of(log_p, "meet in the middle", rounding=SETTINGS.rounding)

    # Bounds.

    def _log_bernstein_bounds(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Bounds of the logs of the tail and of the opposite one, by Bernstein's inequality.

        It holds without replacement (Hoeffding, 1963): the sum of m weights, drawn from a
        population of mean mu and variance v with all deviations at most b, deviates from m mu by u
        or more, to one side, with probability at most ``exp(-u**2 / (2 (m v + b u / 3)))``.
        """
        c, m = self._increments, self._m
        if not c.is_linear:
            return np.zeros(t.shape), np.zeros(t.shape)
        shares = c.sizes / c.n_samples
        mean = float(np.sum(shares * c.linear))
        variance = float(np.sum(shares * (c.linear - mean) ** 2))
        largest = float(np.abs(c.linear - mean).max())
        u = sign * (t - m * mean)
        spread = 2.0 * (m * variance + largest * np.abs(u) / 3.0)
        bound = -(u**2) / np.maximum(spread, np.finfo(float).tiny)
        return np.where(u > 0.0, bound, 0.0), np.where(u < 0.0, bound, 0.0)

    @cached_property
    def _support(self) -> tuple[float, float]:
        """Bounds of the support: exact where that takes few operations."""
        c, m = self._increments, self._m
        if m == 0 or m == c.n_samples:
            value = float(c.total(c.sizes)) if m else 0.0
            return value, value
        n_operations = float(np.minimum(c.sizes, m).sum()) * m
        if c.is_linear or n_operations <= SETTINGS.max_support_operations:
            return smallest_value(c, m), largest_value(c, m)
        return -math.inf, math.inf
