"""What is known in closed form at the ends of the support of an additive rank statistic.

The best value and the largest ones with ties, the smallest one, the value 0 of rankings without a
hit that counts, and hypergeometric bounds of values that are nearly 0. See "The ends of the
support" in doc/exact_law.rst and "Guaranteed bounds" in doc/theory.rst.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from sklearn_rankinf._engine.canonical import CanonicalSum, value_in_a_row
from sklearn_rankinf._engine.estimates import ROUNDING_OF_LISTS, UNKNOWN, TailEstimates
from sklearn_rankinf._engine.exact.enumeration import (
    atoms,
    largest_value,
    most_by_a_hit,
    smallest_value,
)
from sklearn_rankinf._statistics import (
    Floats,
    Increments,
    Integers,
    Statistic,
    cached_method,
    cached_property,
    filled_from_the_top,
    increments_of,
    log_binomial,
    log_pmf,
    log_tail,
)

Problem = tuple[Statistic, int, int, Integers | None]
"""A statistic, the numbers of items and of hits, and the sizes of blocks of equal scores."""


# Rounding error of closed forms and of hypergeometric bounds.
ROUNDING = 1e-12


@dataclass(frozen=True)
class EndSettings:
    """Work, and what rounding does not hide."""

    # Ranks behind those of a perfect ranking within which near-maximum enumeration needs no others.
    near_the_last: int = 1000
    # Operations that finding the support may take.
    work_of_support: float = 1e9
    # Part of the largest value from which a value is the largest one.
    equal_to_best: float = 1.0 - 2e-12
    # Outcomes of the largest value that are listed.
    most_largest: float = 1e5
    # Difference of the two largest values, relative to them, that rounding does not hide.
    noticeable: float = 1e-10
    # Rounding error of a logarithm, relative to it.
    rounding_of_logs: float = 5e-16


SETTINGS = EndSettings()


class EndsOfSupport:
    """The ends of the support of a statistic, and the tails there.

    Parameters
    ----------
    problem : tuple
        The statistic, the numbers of items and of hits, and the sizes of blocks of equal scores.
    """

    def __init__(self, problem: Problem) -> None:
        self._statistic, self._n_samples, self._n_positives, self._tie_sizes = problem
        self._problem = problem

    @cached_property
    def canonical(self) -> CanonicalSum:
        """The canonical sum."""
        return CanonicalSum.of_problem(*self._problem)

    @property
    def blocks(self) -> Increments:
        """What hits add, block by block."""
        return self.canonical.blocks_of_hits

    def is_best(self, t: Floats) -> NDArray[np.bool_]:
        """Whether values are those of a perfect ranking, up to rounding."""
        return np.asarray(t >= self.best * SETTINGS.equal_to_best)

    def known(self, t: Floats, sign: int) -> tuple[TailEstimates, NDArray[np.bool_]]:
        """Tails at the ends and beyond; and the values that lie between them."""
        low, high = self.attained
        if np.any((t <= low) | (t >= high)):
            low, high = self.reach
        log_end = np.where(sign * t <= sign * (low if sign > 0 else high), 0.0, -np.inf)
        found = TailEstimates.of(log_end, "closed form", rounding=ROUNDING_OF_LISTS)
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
        if sign > 0 and np.any(inside & (t >= self.attained[1] * SETTINGS.equal_to_best)):
            log_top, below_top = self._atom_at_top_listed
        at_top = inside & ((t > below_top) if sign > 0 else (t >= below_top))
        if at_top.any():
            found.log_p[at_top] = log_top if sign > 0 else _log_complement(log_top)
            if sign > 0:
                scale = log_binomial(self._n_samples, self._n_positives)
                found.error.rounding[at_top] += SETTINGS.rounding_of_logs * scale
            inside[at_top] = False
        return found, inside

    def tail_at_the_bottom(self, t: Floats, sign: int) -> TailEstimates:
        """Tails of values that are nearly 0 beside the standard deviation, from bounds."""
        upper, lower = self._log_bounds_at_the_bottom(t)
        if sign > 0:
            upper, lower = _log_complement(lower), _log_complement(upper)
        half = 0.5 * np.minimum(upper - lower, 100.0)
        width = np.expm1(half) + ROUNDING
        found = TailEstimates.of(upper - half, "hypergeometric bounds", enclosure=width)
        unknown = np.flatnonzero(found.error.total > UNKNOWN)
        found.put(unknown, TailEstimates.of(upper[unknown], "upper bound", enclosure=np.inf))
        return found

    def _log_bounds_at_the_bottom(self, t: Floats) -> tuple[Floats, Floats]:
        """Hypergeometric bounds of the lower tails of values that are next to nothing.

        No hit may add more than the value by itself, and it is not exceeded where no hit adds more
        than its share.
        """
        n, m = self._n_samples, self._n_positives
        blocks = self.blocks
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

    @cached_method
    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        if self._tie_sizes is None:
            return self.attained
        m = self._n_positives
        increments = self.blocks
        if not self.has_support:
            raise ValueError(
                f"The smallest and the largest value of {m} positives in "
                f"{increments.sizes.size} blocks of equal scores take too long to compute: use "
                "the quantiles of small and large probabilities, or the range of a sample of rvs."
            )
        return smallest_value(increments, m), largest_value(increments, m)

    @cached_property
    def has_support(self) -> bool:
        """Whether the smallest and the largest value are found in some seconds."""
        if self._tie_sizes is None:
            return True
        m = self._n_positives
        increments = self.blocks
        n_ways = float(np.minimum(increments.sizes, m).sum())
        return increments.is_linear or n_ways * m <= SETTINGS.work_of_support

    @property
    def reach(self) -> tuple[float, float]:
        """Values that no value exceeds: the smallest and the largest where these are found."""
        return self.support() if self.has_support else (0.0, self.best)

    @cached_property
    def attained(self) -> tuple[float, float]:
        """Values of the rankings with all hits at the bottom and at the top: near the support."""
        m = self._n_positives
        if self._tie_sizes is None:
            # Rounding must not put a perfect ranking outside.
            highest = min(self._in_a_row(0) * (1.0 + 1e-13), self.best)
            return self._in_a_row(self._n_samples - m), highest
        increments = self.blocks
        ends = np.cumsum(increments.sizes)
        top = filled_from_the_top(increments.sizes, m)
        bottom = np.diff(np.maximum(ends - (self._n_samples - m), 0), prepend=0)
        return float(increments.total(bottom)), float(increments.total(top))

    @cached_property
    def best(self) -> float:
        """Value of a perfect ranking without ties: no ties make it better."""
        return float(self._statistic.best(self._n_samples, self._n_positives))

    @cached_property
    def log_probability_of_best(self) -> float:
        """Log probability of the best value; -inf if it is not reached, nan if it is not known."""
        return self._statistic.log_probability_of_best(*self._problem[1:])

    @cached_property
    def within(self) -> tuple[float, float]:
        """Canonical values that the support does not exceed."""
        form = self.canonical.form
        low = self.attained[0] * (1.0 - 1e-9) if self._tie_sizes is None else 0.0
        within = (np.array([low, self.best]) - form.constant) / form.factor
        rounding = ROUNDING * abs(form.constant / form.factor)
        return max(float(within.min()) - rounding, 0.0), float(within.max()) + rounding

    def first_ranks(self, t: float) -> Increments | None:
        """A list without ties whose ranks are as one from where a hit leaves no value of t.

        None if that is far beyond the last hit of a perfect ranking or beyond the list, or misses
        are counted. The value and the increments are canonical.
        """
        n, m, values = self._n_samples, self._n_positives, self._values_by_last_hit
        t = self.canonical.form.constant + self.canonical.form.factor * t
        if not values.size or values[-1] >= t * (1.0 - 1e-12):
            return None
        n_apart = m + int(np.count_nonzero(values >= t * (1.0 - 1e-12)))
        sizes = np.concatenate([np.ones(n_apart, dtype=np.int64), [n - n_apart]])
        return self.canonical.form.increments(increments_of(self._statistic, n, m, sizes))

    @cached_property
    def _values_by_last_hit(self) -> Floats:
        """Values of a perfect ranking but for its last hit, which is at its rank or farther down.

        Empty with ties, where misses are counted, and for lists that are not much longer.
        """
        n, m = self._n_samples, self._n_positives
        farthest = min(n, m + SETTINGS.near_the_last)
        if self._tie_sizes is not None or self.canonical.form.by_misses or farthest == n:
            return np.empty(0)
        hits, ranks = np.arange(m - 1), np.arange(m - 1, farthest)
        top, last = (self._statistic.tied(at, 1, n, m) for at in (hits, ranks))
        before = np.sum(top.cross * hits + top.of_one_hit)
        return np.asarray(before + last.cross * (m - 1) + last.of_one_hit)

    @cached_property
    def _atom_at_top(self) -> tuple[float, float]:
        """Log probability of the largest value with ties, and the value below it.

        Where what a hit adds falls from block to block. All other outcomes have a hit behind the
        last block with any, or one less before it.
        """
        if self._tie_sizes is None:
            return -math.inf, math.inf
        blocks, m = self.blocks, self._n_positives
        most = most_by_a_hit(blocks, m)
        if most is None:
            return -math.inf, math.inf
        ends = np.cumsum(blocks.sizes)
        last = int(np.searchsorted(ends, m))
        moves = [(last, last + 1)] if last + 1 < ends.size else []
        if ends[last] > m and last > 0:
            moves.append((last - 1, last))
        lost = min(float(most[i] - most[j]) for i, j in moves)
        high = self.attained[1]
        if lost <= SETTINGS.noticeable * high:
            return -math.inf, math.inf
        # All hits lie in the blocks up to the last one, and fill those before it.
        end, before = int(ends[last]), int(ends[last] - blocks.sizes[last])
        log_p = log_pmf(m, self._n_samples, m, end) + log_pmf(before, end, m, before)
        return float(log_p), high - (1.0 - 1e-9) * lost

    @cached_property
    def _atom_at_top_listed(self) -> tuple[float, float]:
        """The same of any weights, where the outcomes with the largest value are few."""
        if self._tie_sizes is None or not self.has_support or self._atom_at_top[1] < math.inf:
            return self._atom_at_top
        least, m = self.support()[1] * SETTINGS.equal_to_best, self._n_positives
        listed = atoms(self.blocks, m, least, SETTINGS.most_largest)
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
        of_one_hit, sizes = self.blocks.of_one_hit, self.blocks.sizes
        n_adding = int(sizes[of_one_hit > 0.0].sum())
        has_zero = self._n_positives <= self._n_samples - n_adding
        return n_adding, float(of_one_hit[of_one_hit > 0.0].min()) if has_zero else -math.inf

    def _in_a_row(self, start: int) -> float:
        """Value of an untied ranking with all hits in a row, behind the first `start` ranks."""
        return value_in_a_row(self._statistic, self._n_samples, self._n_positives, start)


def _log_complement(log_p: Any) -> Any:
    """``log(1 - p)``, for p up to 1."""
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(np.minimum(log_p, 0.0)))
