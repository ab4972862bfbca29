"""Discounted cumulative gain of graded relevance by chance: linear rank statistics.

The gains ``g_i`` are permuted over the items, which keep their scores; an item in a block of equal
scores has the mean discount ``d_i`` of the ranks of its block (McSherry and Najork 2008 [1]_).
By chance

    S = sum_i g_i d_pi(i),

with a random permutation pi: a linear permutation statistic, with exact formulas for the first four
cumulants (Pitman 1937 [2]_, Hoeffding 1951 [3]_). Gains and discounts have symmetric roles: a draw
permutes the factor that takes fewer random numbers.

References
----------
.. [1] McSherry, F. and Najork, M. (2008). Computing information retrieval performance measures
   efficiently in the presence of tied scores. European Conference on Information Retrieval,
   414-421.
.. [2] Pitman, E. J. G. (1937). Significance tests which may be applied to samples from any
   populations. II. The correlation coefficient test. Supplement to the Journal of the Royal
   Statistical Society, 4(2), 225-232.
.. [3] Hoeffding, W. (1951). A combinatorial central limit theorem. Annals of Mathematical
   Statistics, 22(4), 558-566.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import random_table

from sklearn_rankinf._permutation.draws import chunk_sizes, ranks_drawn, uniform_hit_ranks
from sklearn_rankinf._permutation.restrictions import AnyExchange, Exchange, Shifts
from sklearn_rankinf._statistics import Floats, Integers, SumOfWeights, cached_property

# Natural logarithm of the largest number of arrangements that is counted exactly; e^40 fits an
# integer of 64 bits.
_LARGE_LOG_COUNT = 40.0
# Time for a cell of a random table of gains by discounts, in units of the time for a placed item.
_ITEMS_PER_CELL = 4


@dataclass(frozen=True, eq=False)
class Factor:
    """One factor of the summed products, gains or discounts, with a value for each item."""

    values: Floats

    @cached_property
    def levels(self) -> tuple[Floats, Integers]:
        """The different values in ascending order, and how many items have each."""
        levels, counts = np.unique(self.values, return_counts=True)
        return levels, counts

    @property
    def total(self) -> float:
        return float(self.values.sum())

    @cached_property
    def base(self) -> float:
        """The most common value; the smallest one if several are."""
        levels, counts = self.levels
        return float(levels[np.argmax(counts)])

    @cached_property
    def moved(self) -> Floats:
        """The values other than the most common one, in ascending order."""
        levels, counts = self.levels
        return np.repeat(levels, np.where(levels == self.base, 0, counts))

    @property
    def log_n_arrangements(self) -> float:
        """Logarithm of the number of different arrangements of the values on the items."""
        _, counts = self.levels
        return float(gammaln(self.values.size + 1.0) - np.sum(gammaln(counts + 1.0)))

    def central_sums(self) -> tuple[float, float, float]:
        """Sums of the second to fourth powers of the values less their mean.

        The unit is the largest distance from the mean, so that powers neither overflow nor
        underflow. The sums are 0 if there is only one value.
        """
        levels, counts = self.levels
        centred = levels - np.sum(counts * (levels / self.values.size))
        if levels.size > 1:
            centred /= np.max(np.abs(centred))
        else:
            centred = np.zeros(1)
        second, third, fourth = (float(np.sum(counts * centred**power)) for power in (2, 3, 4))
        return second, third, fourth

    def variance(self) -> float:
        """Mean squared distance of the values from their mean; 0 where there is only one value."""
        return float(self.values.var()) if self.levels[0].size > 1 else 0.0


@dataclass(frozen=True, eq=False)
class GradedGain:
    r"""Discounted cumulative gain of a ranking with graded relevance, and its exact moments.

    An item of relevance g at rank r adds :math:`g / \log_2(r + 1)` where r is at most k; in a block
    of equal scores, with its number from 0 as the place of its items, it adds the mean over the
    ranks of the block. A normalized gain is divided by the value of a perfect ranking without ties.
    Where no item is relevant that value is 0, and the normalized value is 0 as in scikit-learn.
    """

    discount: SumOfWeights
    relevances: Floats
    places: Integers
    tie_sizes: Integers | None = None
    normalize: bool = False

    @property
    def n_items(self) -> int:
        return self.relevances.size

    @cached_property
    def ideal(self) -> float:
        """Discounted cumulative gain of a perfect ranking without ties."""
        ranks = np.arange(1, self.n_items + 1)
        discounts = self.discount.weights(ranks, self.n_items, 1)
        return float(np.sort(self.relevances)[::-1] @ discounts)

    @property
    def divisor(self) -> float:
        """Divisor of the discounted cumulative gain: its ideal value if normalized, else 1."""
        return self.ideal if self.normalize and self.ideal > 0.0 else 1.0

    @cached_property
    def gains(self) -> Factor:
        """Gain of the label of each item at a discount of 1."""
        return Factor(self.relevances / self.divisor)

    @cached_property
    def discounts(self) -> Factor:
        """Mean discount of the ranks of the block of each item."""
        return Factor(self._discount_of_block[self.places])

    @cached_property
    def _discount_of_block(self) -> Floats:
        sizes = np.ones(self.n_items, dtype=np.int64) if self.tie_sizes is None else self.tie_sizes
        return self.discount.tied(np.cumsum(sizes) - sizes, sizes, self.n_items, 1).linear

    def observed(self) -> float:
        """Value for the labels as they are."""
        per_block = np.bincount(self.places, self.relevances, self._discount_of_block.size)
        # The value of a perfect ranking bounds the sum up to rounding.
        return min(float(per_block @ self._discount_of_block) / self.divisor, self.best())

    def best(self) -> float:
        """Value of a perfect ranking without ties."""
        return self.ideal / self.divisor

    def mean_and_variance(self) -> tuple[float, float]:
        r"""Exact mean and variance by chance (Hoeffding 1951).

        With the means :math:`\bar g` and :math:`\bar d` of n gains and discounts,

        .. math:: E S = n \bar g \bar d, \qquad
            \operatorname{Var} S = \frac{1}{n-1} \sum_i (g_i - \bar g)^2 \sum_i (d_i - \bar d)^2.
        """
        n = self.n_items
        mean = self.gains.total * (self.discounts.total / n)
        if n == 1:
            return mean, 0.0
        return mean, self.gains.variance() * self.discounts.variance() * n * (n / (n - 1))

    def skewness_and_kurtosis(self) -> tuple[float, float]:
        r"""Exact skewness and excess kurtosis by chance; nan where nothing varies.

        With the sums :math:`A_r = \sum_i (g_i - \bar g)^r` of n gains and :math:`B_r` of the
        discounts, the third and fourth moments of a correlation coefficient under permutation
        (Pitman 1937) are

        .. math::
            \gamma_1 = \frac{n \sqrt{n-1}}{n-2} \frac{A_3 B_3}{(A_2 B_2)^{3/2}}, \qquad
            \gamma_2 = \frac{(n-1) K_A K_B}{n (n+1) (n-2) (n-3)} - \frac{6}{n+1},

        with :math:`K_A = n (n+1) A_4 / A_2^2 - 3 (n-1)`. Both third sums are 0 for n = 2, and both
        K for n = 3 or less.
        """
        n = self.n_items
        (a2, a3, a4), (b2, b3, b4) = self.gains.central_sums(), self.discounts.central_sums()
        if a2 == 0.0 or b2 == 0.0:
            return math.nan, math.nan
        skewness, kurtosis = 0.0, -6.0 / (n + 1)
        if n > 2:
            skewness = n * math.sqrt(n - 1) / (n - 2) * (a3 / a2**1.5) * (b3 / b2**1.5)
        if n > 3:
            k_a, k_b = (n * (n + 1) * x4 / x2**2 - 3 * (n - 1) for x2, x4 in ((a2, a4), (b2, b4)))
            kurtosis += (n - 1) / (n * (n + 1)) * (k_a / (n - 2)) * (k_b / (n - 3))
        return skewness, kurtosis


class _Draws(Protocol):
    """Draws of the statistic by one algorithm."""

    @property
    def n_drawn(self) -> int:
        """Number of array elements of a draw."""

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw independent values."""


@dataclass(frozen=True, eq=False)
class _Placement:
    """Assigns the values of one factor other than its most common value to random items.

    ``S = base sum_i other_i + sum_j (moved_j - base) other_{i_j}`` with distinct items ``i_j``.
    """

    factor: Factor
    other: Factor

    @property
    def is_stable(self) -> bool:
        """Whether no value is a difference of large sums, subject to cancellation.

        If the other factor is positive on more items than values are moved, at least one of these
        items has the most common value.
        """
        n_counted = int(np.count_nonzero(self.other.values))
        return self.factor.base == 0.0 or n_counted > self.factor.moved.size

    @property
    def n_drawn(self) -> int:
        return ranks_drawn(self.other.values.size, self.factor.moved.size)

    @property
    def n_listed(self) -> int | None:
        """Number of different arrangements of the moved values; None if they are not listed."""
        if self.factor.log_n_arrangements > _LARGE_LOG_COUNT:
            return None
        n_free, number = self.factor.values.size, 1
        for _, count in self._levels:
            number *= math.comb(n_free, count)
            n_free -= count
        return number

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        moved, n_items = self.factor.moved, self.other.values.size
        items = uniform_hit_ranks(n_items, moved.size, n_draws, rng)
        gained = np.broadcast_to(moved, items.shape)
        if np.any(moved != moved[:1]):
            gained = rng.permuted(gained, axis=1)
        return self._values(items, gained)

    def listed(self, first: int, last: int) -> Floats:
        numbers = np.arange(first, last)
        taken = np.empty((numbers.size, 0), dtype=np.int64)
        n_free, items = self.factor.values.size, [taken]
        for _, count in self._levels:
            numbers, own = np.divmod(numbers, math.comb(n_free, count))
            items.append(_among_the_free(_combinations(own, n_free, count), taken))
            taken = np.sort(np.concatenate([taken, items[-1]], axis=1), axis=1)
            n_free -= count
        placed = np.concatenate(items, axis=1)
        return self._values(placed, np.broadcast_to(self.factor.moved, placed.shape))

    @property
    def _levels(self) -> list[tuple[float, int]]:
        """The moved values in ascending order, and how many items have each."""
        pairs = zip(*(x.tolist() for x in self.factor.levels), strict=True)
        return [(level, count) for level, count in pairs if level != self.factor.base]

    def _values(self, items: Integers, moved: Floats) -> Floats:
        base = self.factor.base
        gained = np.einsum("ij,ij->i", moved - base, self.other.values[items])
        return np.asarray(base * self.other.total + gained)


@dataclass(frozen=True, eq=False)
class _Permutation:
    """Permutes one factor over all items."""

    factor: Factor
    other: Factor

    @property
    def n_drawn(self) -> int:
        return self.factor.values.size

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        rows = np.broadcast_to(self.factor.values, (n_draws, self.n_drawn))
        return np.asarray(rng.permuted(rows, axis=1) @ self.other.values)


@dataclass(frozen=True, eq=False)
class _Tables:
    """Draws the contingency table of gains by discounts with fixed margins (Patefield 1981).

    Both factors have two levels or more, since scipy's Patefield algorithm gives wrong tables of a
    single row or column.
    """

    gains: Factor
    discounts: Factor

    @property
    def n_drawn(self) -> int:
        return self.gains.levels[0].size * self.discounts.levels[0].size

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        (gains, n_rows), (discounts, n_columns) = self.gains.levels, self.discounts.levels
        distribution = random_table(n_rows, n_columns)
        tables = distribution.rvs(size=n_draws, method="patefield", random_state=rng)
        return np.asarray(tables @ discounts @ gains)


class _Rearrangement:
    """Permutes the labels within an exchange: a restricted permutation."""

    def __init__(self, gains: Factor, discounts: Factor, exchange: AnyExchange) -> None:
        self._exchange = exchange
        self._discounts = discounts.values
        self._relevant = np.flatnonzero(gains.values)
        self._gains = gains.values[self._relevant]

    @property
    def n_drawn(self) -> int:
        return self._discounts.size

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        return self._of_rows(self._exchange.draw_rows(n_draws, rng))

    @property
    def n_listed(self) -> int | None:
        return self._exchange.n_listed

    def listed(self, first: int, last: int) -> Floats:
        assert isinstance(self._exchange, Shifts)
        return self._of_rows(self._exchange.list_rows(first, last))

    def _of_rows(self, where: Integers) -> Floats:
        return np.asarray(self._discounts[where[:, self._relevant]] @ self._gains)


class PermutedGain:
    """Discounted cumulative gain of graded relevance when the labels are permuted.

    A draw without `exchange` uses the cheapest of three algorithms: the values other than the most
    common gain, or other than the most common discount, are assigned to distinct random items; all
    items are permuted; or, with few different gains and few blocks of equal scores, a random
    contingency table of gains by discounts is drawn.
    """

    def __init__(self, gain: GradedGain, exchange: AnyExchange | None = None) -> None:
        self._gain = gain
        self.exchange = exchange

    def __repr__(self) -> str:
        of_exchange = "" if self.exchange is None else f", {self.exchange!r}"
        return f"k={self._gain.discount.horizon}, normalize={self._gain.normalize}{of_exchange}"

    @property
    def n_listed(self) -> int | None:
        return self._lists.n_listed

    def observed(self) -> float:
        return self._gain.observed()

    def best(self) -> float:
        return self._gain.best()

    def exact_moments(self) -> tuple[float | None, float | None]:
        """Exact mean and variance; None if series are shifted."""
        if self.exchange is None:
            return self._gain.mean_and_variance()
        if isinstance(self.exchange, Shifts):
            return None, None
        return _mean_and_variance_of_exchange(
            self._gain.gains.values, self._gain.discounts.values, self.exchange
        )

    def chunks(self, n_resamples: int) -> list[int]:
        return chunk_sizes(n_resamples, self._draws.n_drawn)

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        return self._draws.draw(n_draws, rng)

    def listed(self, first: int, last: int) -> Floats:
        return self._lists.listed(first, last)

    @cached_property
    def _placements(self) -> list[_Placement]:
        gains, discounts = self._gain.gains, self._gain.discounts
        both = _Placement(gains, discounts), _Placement(discounts, gains)
        # At least one is stable: if neither were, each factor would be 0 on at least as many items
        # as have the most common value of the other factor, and 0 would be that value for both.
        return [placement for placement in both if placement.is_stable]

    @cached_property
    def _lists(self) -> _Placement | _Rearrangement:
        if self.exchange is not None:
            return self._rearrangement
        return min(self._placements, key=lambda placement: placement.factor.log_n_arrangements)

    @cached_property
    def _draws(self) -> _Draws:
        if self.exchange is not None:
            return self._rearrangement
        gains, discounts = self._gain.gains, self._gain.discounts
        placement = min(self._placements, key=lambda placement: placement.n_drawn)
        tables = _Tables(gains, discounts)
        if tables.n_drawn * _ITEMS_PER_CELL < placement.n_drawn:
            return tables
        if placement.n_drawn < self._gain.n_items:
            return placement
        return _Permutation(gains, discounts)

    @cached_property
    def _rearrangement(self) -> _Rearrangement:
        assert self.exchange is not None
        return _Rearrangement(self._gain.gains, self._gain.discounts, self.exchange)


def _combinations(numbers: Integers, n_items: int, size: int) -> Integers:
    """The sets of `size` of the items 0 to n - 1 with the given numbers from 0, a row for each.

    In the combinatorial number system the set ``x_1 < x_2 < ...`` has the number
    ``C(x_1, 1) + C(x_2, 2) + ...``.
    """
    counts = [np.ones(n_items, dtype=np.int64)]
    for _ in range(size):
        # C(x, j) is the sum of C(y, j - 1) over all y < x.
        counts.append(np.concatenate([[0], np.cumsum(counts[-1])[:-1]]))
    found = np.empty((numbers.size, size), dtype=np.int64)
    for j in range(size, 0, -1):
        found[:, j - 1] = np.searchsorted(counts[j], numbers, side="right") - 1
        numbers = numbers - counts[j][found[:, j - 1]]
    return found


def _among_the_free(positions: Integers, taken: Integers) -> Integers:
    """Items at given positions among those that are not taken; the taken ones ascend in a row."""
    items = positions
    for one in taken.T:
        items = items + (items >= one[:, None])
    return items


def _mean_and_variance_of_exchange(
    gains: Floats, discounts: Floats, exchange: Exchange
) -> tuple[float, float]:
    """Exact mean and variance when the labels of whole units change places within classes.

    The labels of unit u on unit v add ``c_uv = sum_t g_ut d_vt``. A class of U units adds U times
    the mean of c, with the variance ``sum_uv e_uv**2 / (U - 1)`` (Hoeffding 1951), where e is c of
    gains and discounts that are centred over the units. Classes are independent.
    """
    mean = variance = 0.0
    for items in exchange.shapes:
        own_gains, own_discounts = gains[items], discounts[items]
        mean += float(np.sum(own_gains * own_discounts.mean(axis=1, keepdims=True)))
        if items.shape[1] > 1:
            squares = _sum_of_squared_products(_centred(own_gains), _centred(own_discounts))
            variance += squares / (items.shape[1] - 1)
    return mean, variance


def _centred(values: Floats) -> Floats:
    """Values of shape (n_classes, n_units, n_items) less their mean over the units of a class."""
    varies: NDArray[np.bool_] = np.any(values != values[:, :1], axis=1, keepdims=True)
    return np.where(varies, values - values.mean(axis=1, keepdims=True), 0.0)


def _sum_of_squared_products(a: Floats, b: Floats) -> float:
    """``sum (a_u . b_v)**2`` over all pairs of units of a class and all classes."""
    n_units, n_items = a.shape[1:]
    if n_units <= n_items:
        return float(np.sum((a @ b.transpose(0, 2, 1)) ** 2))
    return float(np.sum((a.transpose(0, 2, 1) @ a) * (b.transpose(0, 2, 1) @ b)))
