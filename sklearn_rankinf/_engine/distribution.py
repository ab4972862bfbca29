"""The exact distribution of an additive rank statistic.

`exact_distribution` chooses by the number of outcomes, before any tail is computed: two or three
positives are counted; few outcomes are enumerated, or met in the middle; integer weights are
counted; of all others tails are computed one by one.
"""

from __future__ import annotations

import math

import numpy as np

from sklearn_rankinf._engine.canonical import constant_value, with_equal_blocks_merged
from sklearn_rankinf._engine.computed import ComputedDistribution
from sklearn_rankinf._engine.ends import Problem
from sklearn_rankinf._engine.estimates import LOG_WHOLE, TailEstimates
from sklearn_rankinf._engine.exact.enumeration import (
    MAX_ATOMS,
    MeetInTheMiddleTails,
    atoms,
    best_split,
    n_outcomes,
)
from sklearn_rankinf._engine.exact.few_positives import FewPositives
from sklearn_rankinf._engine.exact.integer_weights import counted_atoms
from sklearn_rankinf._engine.exact.one_hit import OneHit
from sklearn_rankinf._engine.listed import AffineDistribution, Distribution, ListedDistribution
from sklearn_rankinf._statistics import (
    FEW_BLOCKS,
    Floats,
    Integers,
    Statistic,
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
            # Whole numbers of placements that floats hold are added up without rounding, so that
            # either way gives the same answers.
            is_exact = log_binomial(n_samples, n_positives) < LOG_WHOLE
            worth = outcomes / length if outcomes <= MAX_ATOMS and is_exact else math.inf
            return MeetInTheMiddle(problem, split, worth)
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
        self.is_listed = counts.n_searches <= _ALWAYS_COUNTED

    def estimates(self, t: Floats, sign: int) -> TailEstimates:
        """Tails with the parts of the errors, and the solvers that answered."""
        if not self.is_listed and t.size * self._counts.n_searches > _MOST_SEARCHES:
            return super().estimates(t, sign)
        return self._counts.tail(t, sign)
