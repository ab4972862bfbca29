"""The statistic of a query as a variable of a mean: a sum of increments, or a list of values.

A sum of increments is known by its transform, and by its atoms where they are few. The rank of the
first hit is no such sum, and has few values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np

from sklearn_rankinf._engine.canonical import (
    constant_value,
    grouped_increments,
    with_equal_blocks_merged,
)
from sklearn_rankinf._engine.exact.enumeration import (
    Atoms,
    atoms,
    largest_value,
    n_outcomes,
    smallest_value,
)
from sklearn_rankinf._engine.exact.integer_weights import counted_atoms, near_periods
from sklearn_rankinf._engine.exact.lattice import histograms
from sklearn_rankinf._engine.inversion.bands import feasible_bands
from sklearn_rankinf._engine.inversion.ranking_transform import RankingTransform
from sklearn_rankinf._engine.inversion.transform import (
    ClosedTransform,
    Transform,
    largest_increment,
)
from sklearn_rankinf._engine.listed import Distribution
from sklearn_rankinf._engine.means.transforms import ListedTransform
from sklearn_rankinf._engine.moments import exact_mean_and_variance
from sklearn_rankinf._statistics import (
    Denominators,
    Floats,
    Increments,
    Integers,
    Metric,
    Statistic,
    cached_property,
    deviation_of_the_body,
    increments_of,
)

Rounding: TypeAlias = Callable[[Floats], Floats]


@dataclass(frozen=True)
class VariableSettings:
    """How much work the distribution of one query may take."""

    # Most outcomes of a query whose transform is the sum over its atoms.
    few_outcomes: float = 2_000
    # Blocks of more ranks than this are merged, up to this ratio of their ends; and up to the
    # larger ratio for comparison.
    merge_above: int = 5_000
    merging: float = 0.02
    coarse_merging: float = 0.05
    # Values up to this part below the largest one are equal to it.
    equal_to_largest: float = 2e-12
    # Largest error of the probability of the largest value.
    error_of_largest: float = 1e-6


SETTINGS = VariableSettings()

# Most outcomes of a query that are listed, for example to round them to the cells of a lattice.
MAX_OUTCOMES = 2_000_000


@dataclass(frozen=True, eq=False)
class Part:
    """Queries of the same size, number of positives and ties.

    Attributes
    ----------
    statistic : Metric
        The statistic of each query.
    n_samples, n_positives : int
        Numbers of samples and of positives of each query.
    tie_sizes : ndarray or None
        Sizes of the blocks of equal scores, best first; None without ties.
    count : int
        Number of such queries.
    exact_distribution : callable
        Returns the exact distribution of one query, given what comes before the count.
    """

    statistic: Metric
    n_samples: int
    n_positives: int
    tie_sizes: Integers | None
    count: int
    exact_distribution: Callable[[Statistic, int, int, Integers | None], Distribution]

    def is_constant(self) -> bool:
        """Whether no sample or every sample is positive."""
        return self.n_positives in (0, self.n_samples)

    @property
    def constant(self) -> float:
        """The only value of a query in which no sample or every sample is positive."""
        problem = self.n_samples, self.n_positives
        if isinstance(self.statistic, Statistic):
            return constant_value(self.statistic, *problem)
        return float(self.statistic.maximum(*problem))

    @property
    def key(self) -> tuple[object, ...]:
        """What distinguishes such queries from others."""
        ties = None if self.tie_sizes is None else self.tie_sizes.tobytes()
        return self.statistic, self.n_samples, self.n_positives, ties, self.count


class Variable(Protocol):
    """The statistic of a query, less a constant.

    Attributes
    ----------
    n_samples, n_positives, count : int
        Sizes of the query, and number of such queries.
    offset : float
        The constant.
    """

    n_samples: int
    n_positives: int
    count: int
    offset: float

    @property
    def moments(self) -> tuple[float, float]:
        """Mean and variance."""

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest value."""

    @property
    def log_probability_of_largest(self) -> tuple[float, float]:
        """Log probability of the largest value, -inf if unknown, and its relative error."""

    @property
    def denominators(self) -> Denominators | None:
        """Whole numbers c and r: values are sums of multiples of 1 / (c r); None if not so."""

    @property
    def has_steps(self) -> bool:
        """Whether all values are multiples of a step."""

    @property
    def near_periods(self) -> Floats:
        """Heights at which the transform nearly returns before the end of its period."""

    @property
    def n_outcomes(self) -> float:
        """Number of outcomes, of which several may have the same value."""

    @property
    def n_values(self) -> float:
        """Number of values, or of outcomes if they are fewer."""

    @property
    def n_blocks(self) -> int:
        """Number of blocks of equal scores."""

    @property
    def log_placement(self) -> float:
        """Log probability of one placement of the hits."""

    @property
    def atoms(self) -> ListedTransform | None:
        """The values and their probabilities; None if they are too many."""

    @property
    def transform(self) -> tuple[Transform, float]:
        """The transform, and the standard deviation without the hits at the top."""

    def cells(self, width: float, rounding: Rounding = np.floor) -> Floats:
        """Log probabilities of the cells of the values, rounded down or to the nearest one.

        Of too many outcomes a forward pass rounds each increment down.
        """


class SumOfQuery:
    """The statistic of a query as a sum of increments: a `Variable`."""

    def __init__(self, statistic: Statistic, part: Part) -> None:
        n, m, ties = part.n_samples, part.n_positives, part.tie_sizes
        mirrored = statistic.mirrored(n, m)
        if mirrored is not None:
            # The sum over the fewer misses has no large offset.
            statistic, m, ties = mirrored, n - m, None if ties is None else ties[::-1]
        self._problem, self._exact_distribution = (statistic, n, m, ties), part.exact_distribution
        self.n_samples, self.n_positives, self.count = n, m, part.count
        self.offset = statistic.offset(n, m)

    @property
    def distribution(self) -> Distribution:
        """The distribution of the statistic, with its constant."""
        return self._exact_distribution(*self._problem)

    @cached_property
    def moments(self) -> tuple[float, float]:
        mean, variance = exact_mean_and_variance(*self._problem)
        return mean - self.offset, variance

    @cached_property
    def _increments(self) -> Increments:
        return with_equal_blocks_merged(increments_of(*self._problem))

    @cached_property
    def ends(self) -> tuple[float, float]:
        increments, m = self._increments, self.n_positives
        if increments.sizes.max() > 1 or increments.is_linear:
            return smallest_value(increments, m), largest_value(increments, m)
        at_top = np.arange(self.n_samples) < m
        return float(increments.total(at_top[::-1])), float(increments.total(at_top))

    @cached_property
    def log_probability_of_largest(self) -> tuple[float, float]:
        log_best = self._problem[0].log_probability_of_best(*self._problem[1:])
        if log_best > -math.inf:
            return log_best, 0.0
        # With ties the best value may be unattainable.
        just_below = np.array([self.ends[1] * (1.0 - SETTINGS.equal_to_largest) + self.offset])
        _, log_p, error = self.distribution.tail(just_below, 1)
        if error[0] > SETTINGS.error_of_largest:
            return -math.inf, 0.0
        return float(log_p[0]), float(error[0])

    @cached_property
    def denominators(self) -> Denominators | None:
        return self._problem[0].denominators(*self._problem[1:])

    @property
    def has_steps(self) -> bool:
        is_single = self.denominators is not None and len(self.denominators[1]) == 1
        return is_single or self._problem[0].counts_hits

    @property
    def near_periods(self) -> Floats:
        if self._problem[3] is None or self.denominators is None:
            return np.empty(0)
        return near_periods(self._increments, 1.0 / self.denominators[0])

    @cached_property
    def n_outcomes(self) -> float:
        return n_outcomes(self._increments.sizes, self.n_positives)

    @property
    def n_values(self) -> float:
        if not self.has_steps or self.denominators is None:
            return self.n_outcomes
        low, high = self.ends
        return min(self.n_outcomes, (high - low) * self.denominators[0] + 1.0)

    @property
    def n_blocks(self) -> int:
        return int(self._increments.sizes.size)

    @property
    def log_placement(self) -> float:
        return self.transform[0].log_placement

    @cached_property
    def atoms(self) -> ListedTransform | None:
        found: Atoms | None = None
        if self.n_outcomes <= MAX_OUTCOMES:
            found = atoms(self._increments, self.n_positives)
        elif self._increments.is_linear and self.denominators is not None:
            found = counted_atoms(self._increments, self.n_positives)
        if found is None:
            return None
        like = RankingTransform(self._increments, self._increments, self.n_positives)
        return ListedTransform(found, like)

    @cached_property
    def transform(self) -> tuple[Transform, float]:
        statistic, n, m, ties = self._problem
        if n <= SETTINGS.merge_above and self.n_outcomes <= SETTINGS.few_outcomes:
            assert self.atoms is not None
            return self.atoms, deviation_of_the_body(self._increments, m)
        if statistic.log_mgf(np.ones(1, complex), n, m, ties) is not None:
            log_mgf: Any = partial(statistic.log_mgf, n_samples=n, n_positives=m, tie_sizes=ties)
            largest = largest_increment(self._increments)
            return ClosedTransform(log_mgf, n, m, largest), math.sqrt(self.moments[1])

        def grouped(ratio: float, resolution: float = math.inf) -> Increments:
            return grouped_increments(statistic, n, m, ties, ratio, resolution)

        body = deviation_of_the_body(grouped(SETTINGS.coarse_merging), m)
        resolution = body if body > 0.0 else math.inf
        coarse = grouped(SETTINGS.coarse_merging, resolution)
        if (n if ties is None else ties.size) <= SETTINGS.merge_above:
            return RankingTransform(self._increments, coarse, m), body
        return RankingTransform(grouped(SETTINGS.merging, resolution), coarse, m, True), body

    def cells(self, width: float, rounding: Rounding = np.floor) -> Floats:
        n_cells = int(self.ends[1] / width) + 2
        if self.atoms is not None:
            return _in_cells(self.atoms, width, n_cells, rounding)
        increments, m = self._increments, self.n_positives
        down = histograms(increments, m, width, n_cells, feasible_bands(increments, m))[0]
        # Differences of sums from the nearer end lose fewer digits.
        lower = down.below[1:] < 0.5
        cells = np.where(lower, np.diff(down.below), -np.diff(down.above))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(cells))


class ListOfQuery:
    """The statistic of a query by all of its values: a `Variable`."""

    offset = 0.0

    def __init__(self, statistic: Metric, part: Part) -> None:
        self._problem = statistic, part.n_samples, part.n_positives, part.tie_sizes
        self.n_samples, self.n_positives = part.n_samples, part.n_positives
        self.count = part.count

    @cached_property
    def atoms(self) -> ListedTransform:
        values, log_counts = self._problem[0].atoms(*self._problem[1:])
        return ListedTransform(Atoms(values, log_counts))

    @cached_property
    def moments(self) -> tuple[float, float]:
        values, shares = self.atoms.values, np.exp(self.atoms.log_weights)
        mean = float(shares @ values)
        return mean, float(shares @ (values - mean) ** 2)

    @property
    def ends(self) -> tuple[float, float]:
        return float(self.atoms.values[0]), float(self.atoms.values[-1])

    @property
    def log_probability_of_largest(self) -> tuple[float, float]:
        near = self.atoms.values >= self.ends[1] * (1.0 - SETTINGS.equal_to_largest)
        return float(np.logaddexp.reduce(self.atoms.log_weights[near])), 0.0

    @property
    def denominators(self) -> Denominators | None:
        return self._problem[0].denominators(*self._problem[1:])

    has_steps = False
    near_periods = np.empty(0)

    @property
    def n_outcomes(self) -> float:
        return float(self.atoms.values.size)

    n_values = n_outcomes

    @property
    def n_blocks(self) -> int:
        return int(self.atoms.values.size)

    @property
    def log_placement(self) -> float:
        return self.atoms.log_placement

    @property
    def transform(self) -> tuple[Transform, float]:
        return self.atoms, math.sqrt(self.moments[1])

    def cells(self, width: float, rounding: Rounding = np.floor) -> Floats:
        return _in_cells(self.atoms, width, int(self.ends[1] / width) + 2, rounding)


def variable_of(part: Part) -> Variable:
    """The statistic of each query of a part, which varies."""
    if part.statistic.distribution == "listed":
        return ListOfQuery(part.statistic, part)
    assert isinstance(part.statistic, Statistic)
    return SumOfQuery(part.statistic, part)


def _in_cells(listed: ListedTransform, width: float, n_cells: int, rounding: Rounding) -> Floats:
    places = rounding(listed.values / width).astype(np.int64)
    with np.errstate(divide="ignore"):
        return np.log(np.bincount(places, np.exp(listed.log_weights), minlength=n_cells))
