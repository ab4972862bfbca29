"""Tails by stratification: conditioning on the number of positives in single blocks.

Given that a block b holds y of the m positives, the statistic of all other blocks is again an
additive rank statistic, of m - y positives among the other items (`Increments.given`). The tail is
therefore the mixture

    P(S >= t) = sum_y P(y_b = y) P(S_y >= t - c_y),

with hypergeometric weights (the theory page, "Strata"). Where one step of y moves the statistic
farther than all other blocks together spread it, the distribution is a row of narrow
clusters: its characteristic function dies away and returns, and no contour of a bearable length
inverts it. Each stratum is smooth, or small enough to be listed, or decided because t lies outside
its support; where it is again a row of clusters it is stratified further.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr

from sklearn_rankinf._engine.exact.enumeration import (
    Atoms,
    MeetInTheMiddleTails,
    atoms,
    best_split,
    cumulative_shares,
    largest_value,
    n_outcomes,
    smallest_value,
)
from sklearn_rankinf._engine.hypergeometric import log_pmf
from sklearn_rankinf._engine.moments import influences, log_size_at_return, mean_and_variance
from sklearn_rankinf._engine.statistics import Floats, Increments, Integers

# A block is conditioned on if a positive in it moves the statistic by more than this part of the
# standard deviation that the others leave: the characteristic function then returns to more than
# exp(-(2 pi / _COARSE)**2 / 2) = exp(_LOG_RETURNS) of its size. Contours are long enough for less.
_COARSE, _LOG_RETURNS = 4.0, -1.2
# So is a single item that is worth more than this part of the range of all others.
_SEPARATE = 0.7
# With so few positives expected outside a block, conditioning on it leaves few placements.
_FEW_OUTSIDE = 4.0
# A block whose number of positives hardly varies does not make a row of clusters.
_LEAST_VARIANCE = 0.05
# Blocks that are looked at, those with most influence on the statistic first.
_CANDIDATES = 3
# Strata that are listed, and whose support is computed exactly, up to these numbers of outcomes and
# of operations.
_FEW_OUTCOMES, _FEW_OPERATIONS = 100_000, 20_000
# Others are listed by halves up to this length of both, for no more blocks than that: at once where
# so few positives are left that what they are worth is coarse.
_MAX_HALVES, _MAX_BLOCKS_OF_HALVES, _FEW_POSITIVES = 400_000, 1_000, 6
# Strata that are listed or solved by inversion for one call, and how often they are divided.
_MAX_SOLVED, _MAX_DEPTH = 12, 200
# Numbers of lists that a statistic and all its strata keep; others are listed again.
_MAX_KEPT = 6e6
# A list by halves costs as much as an inversion, and as another one for so many partial outcomes.
_OUTCOMES_OF_AN_INVERSION = 200_000
# An inversion of cost 1 has so many rows times hits in blocks, more hits than these costing no
# more, or so many blocks; rows reach so many standard deviations. None costs less than the least.
_WORK_OF_AN_INVERSION, _HITS_OF_FFT, _BLOCKS_OF_AN_INVERSION = 3e4, 48.0, 1500.0
_DEVIATIONS_OF_ROWS, _LEAST_COST = 12.0, 0.4
# Looking at a stratum costs this part of an inversion.
_COST_OF_A_STRATUM = 0.02
# Strata that are together less probable than exp(LOG_LEFT_OUT) of a bound of the tail are left out.
# A tail is 1 if the other one is below the second, and what is less than exp(_LOG_LOST) of what is
# known already need not be known.
LOG_LEFT_OUT, _LOG_CERTAIN, _LOG_LOST = -40.0, -40.0, -16.0
# Answers of inversion with larger relative errors are not accepted while a stratum can be divided.
ACCEPTED = 5e-4
# So are errors of a stratum below this part of what is known of the whole.
_LOG_GOOD = math.log(ACCEPTED / 10.0)
_EXACT = 1e-12

# Log tails of values on either side of the mean, and their relative errors.
_Tail = Callable[[Floats, int], tuple[Floats, Floats]]
# Makes one by inversion, for increments and a number of positives.
Inversion = Callable[[Increments, int], _Tail]


def bulk_block(increments: Increments, n_positives: int) -> int | None:
    """A block that leaves only few positives for all others; None if there is none.

    Items that were given no score make one: outside it placements are so few that they are listed.
    """
    n, block = increments.n_samples, int(np.argmax(increments.sizes))
    share = float(increments.sizes[block]) / n
    outside = n_positives * (1.0 - share)
    is_bulk = share > 0.5 and 0.0 < outside < _FEW_OUTSIDE and n_positives > 1
    return block if is_bulk and increments.sizes.size > 2 else None


def coarse_block(increments: Increments, n_positives: int) -> int | None:
    """The block that makes the distribution a row of clusters; None if it is smooth."""
    n, m = increments.n_samples, n_positives
    if increments.sizes.size < 2 or not 0 < m < n:
        return None
    bulk = bulk_block(increments, m)
    if bulk is not None:
        return bulk
    sizes = increments.sizes.astype(float)
    steps = np.abs(influences(increments, m))
    varies = sizes * (m / n) * (1.0 - m / n) * (1.0 - sizes / n)
    if increments.is_linear:
        # One item that is worth more than all others can make up for decides by itself.
        block = int(np.argmax(steps))
        if sizes[block] == 1.0:
            low, high = linear_support(increments.given(block, 0)[0], m - 1)
            if steps[block] > _SEPARATE * (high - low):
                return block
    weight = np.where((sizes > 1.0) & (varies > _LEAST_VARIANCE), varies * steps**2, 0.0)
    order = np.argsort(-weight)[:_CANDIDATES]
    for block in order[weight[order] > 0.0].tolist():
        y = _most_likely(n, m, int(increments.sizes[block]))
        others, _ = increments.given(block, y)
        deviation = math.sqrt(mean_and_variance(others, m - y)[1])
        if steps[block] > _COARSE * deviation:
            return int(block)
    # A few lucky hits spread the others, and leave the row of clusters what it is.
    for block in order[weight[order] > 0.0].tolist():
        if log_size_at_return(increments, m, block) > _LOG_RETURNS:
            return int(block)
    return None


def block_to_condition_on(increments: Increments, n_positives: int) -> int | None:
    """A block by which tails are always divided; None if there is none.

    Strata of a statistic that is not linear are hardly ever decided by a bound: they are worth
    while where they are listed.
    """
    of = coarse_block if increments.is_linear else bulk_block
    return of(increments, n_positives)


def _most_likely(n: int, m: int, size: int) -> int:
    y = round(m * size / n)
    return min(max(y, m - (n - size), 0), size, m)


class Budget:
    """What is left of something: inversions that may be computed, numbers that may be kept."""

    def __init__(self, left: float = _MAX_SOLVED) -> None:
        self.left = left

    def take(self, cost: float = 1.0) -> bool:
        """Take one, or as many as something costs, if there are so many left."""
        if cost > self.left:
            return False
        self.left -= cost
        return True

    def divide(self) -> None:
        """Count a stratum that is looked at, whatever it costs to solve it."""
        self.left -= _COST_OF_A_STRATUM


class Stratum:
    """Tails of an additive rank statistic by conditioning on blocks.

    Parameters
    ----------
    increments : Increments
        The statistic, block by block.
    n_positives : int
        Number of positives.
    inversion : callable
        Makes the tails of a smooth statistic.
    depth : int, default=0
        Number of blocks that have been conditioned on.
    memory : Budget, default=None
        Numbers that may still be kept, of all strata of a statistic; None for those of a new one.
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
        self._memory = Budget(_MAX_KEPT) if memory is None else memory
        self._kept: _Listed | MeetInTheMiddleTails | None = None
        self._strata: dict[tuple[int, int], tuple[float, Stratum]] = {}

    def log_tail(
        self,
        t: Floats,
        sign: int,
        log_slight: Floats,
        budget: Budget,
        log_good: Floats | None = None,
    ) -> tuple[Floats, Floats]:
        """Log of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), and the relative error.

        Probabilities below ``exp(log_slight)`` need not be known, and errors of a probability up to
        ``exp(log_good)`` are good enough.
        """
        log_good = log_slight if log_good is None else np.maximum(log_slight, log_good)
        log_p, error = np.full(t.shape, -np.inf), np.full(t.shape, _EXACT)
        low, high = self._support
        near, far = (low, high) if sign > 0 else (high, low)
        log_p[sign * t <= sign * near] = 0.0
        open_ = np.flatnonzero((sign * t > sign * near) & (sign * t <= sign * far))
        if not open_.size:
            return log_p, error
        beyond, short_of = self._log_bounds(t[open_], sign)
        log_p[open_] = np.where(beyond < log_slight[open_], -np.inf, 0.0)
        open_ = open_[(beyond >= log_slight[open_]) & (short_of >= _LOG_CERTAIN)]
        if not open_.size:
            return log_p, error
        # Nothing is known of the others yet but that they are no more than 1.
        error[open_] = np.inf
        few = min(self._m, self._increments.n_samples - self._m) <= _FEW_POSITIVES
        if self._has_few_outcomes or (
            few and self._split is not None and budget.take(self._cost_of_halves)
        ):
            log_p[open_], error[open_] = self._listed.log_tail(t[open_], sign), _EXACT
            return log_p, error
        block = self._coarse_block
        if block is None:
            if budget.take(self._cost_of_inversion):
                log_p[open_], error[open_] = self._inverted(t[open_], sign)
            # Where the error is unknown an upper bound has been computed.
            slight = np.isinf(error) & (log_p < log_slight)
            log_p[slight], error[slight] = -np.inf, _EXACT
            reference = np.where(np.isfinite(log_p), log_p, np.inf)[open_]
            needed = np.exp(np.minimum(log_good[open_] - reference, 0.0))
            open_ = open_[error[open_] > np.maximum(ACCEPTED, needed)]
            block = self._next_block
        if open_.size and self._split is not None and budget.take(self._cost_of_halves):
            log_p[open_], error[open_] = self._listed.log_tail(t[open_], sign), _EXACT
            return log_p, error
        if open_.size and block is not None and self._depth < _MAX_DEPTH and budget.left > 0:
            found, its_error = self._mixture(
                block, t[open_], sign, log_slight[open_], budget, log_good[open_]
            )
            better = its_error < error[open_]
            log_p[open_[better]], error[open_[better]] = found[better], its_error[better]
        return log_p, error

    def _mixture(
        self,
        block: int,
        t: Floats,
        sign: int,
        log_slight: Floats,
        budget: Budget,
        log_good: Floats,
    ) -> tuple[Floats, Floats]:
        """The tails from those of all strata, those that seem to add most first."""
        size, n, m = int(self._increments.sizes[block]), self._increments.n_samples, self._m
        y = np.arange(max(0, m - (n - size)), min(size, m) + 1)
        log_weights = np.asarray(log_pmf(y, n, m, size))
        order = self._order(block, y, log_weights, t, sign, log_slight)
        log_terms, errors = [], []
        total = np.full(t.shape, -np.inf)
        for i in order.tolist():
            log_weight = float(log_weights[i])
            # All that is left out adds up to less than the slight, or is lost beside what is known.
            log_slight = np.maximum(log_slight, total + _LOG_LOST)
            log_good = np.maximum(log_good, total + _LOG_GOOD)
            least = log_slight - math.log(y.size)
            needed = np.flatnonzero(log_weight > least)
            if not needed.size:
                continue
            budget.divide()
            constant, stratum = self._stratum(block, int(y[i]))
            log_term, error = np.full(t.shape, -np.inf), np.zeros(t.shape)
            log_term[needed], error[needed] = stratum.log_tail(
                t[needed] - constant,
                sign,
                least[needed] - log_weight,
                budget,
                log_good[needed] - log_weight,
            )
            total = np.logaddexp(total, log_term + log_weight)
            log_terms.append(log_term + log_weight)
            errors.append(error)
        if not log_terms:
            return np.full(t.shape, -np.inf), np.full(t.shape, np.inf)
        terms, relative, log_p = np.array(log_terms), np.array(errors), total
        reference = np.where(np.isfinite(log_p), log_p, 0.0)
        shares = np.exp(terms - reference)
        known = np.isfinite(relative)
        error = _EXACT + np.where(known, shares * np.where(known, relative, 0.0), 0.0).sum(axis=0)
        # Terms of unknown error are upper bounds.
        bounded = np.where(known, 0.0, shares).sum(axis=0)
        error += np.where(bounded < 1.0, bounded / np.maximum(1.0 - bounded, _EXACT), np.inf)
        error += np.exp(np.minimum(log_slight - reference, 50.0))
        return np.minimum(log_p, 0.0), error

    def _order(
        self,
        block: int,
        y: Integers,
        log_weights: Floats,
        t: Floats,
        sign: int,
        log_slight: Floats,
    ) -> Integers:
        """Strata in the order of what a normal distribution says that they add."""
        likely = np.flatnonzero(log_weights > log_slight.min() - math.log(y.size))
        log_terms = np.empty(likely.size)
        for place, i in enumerate(likely.tolist()):
            others, constant = self._increments.given(block, int(y[i]))
            mean, variance = mean_and_variance(others, self._m - int(y[i]))
            z = sign * (t - constant - mean) / math.sqrt(max(variance, np.finfo(float).tiny))
            log_terms[place] = log_weights[i] + log_ndtr(-z).max()
        return likely[np.argsort(-log_terms, kind="stable")]

    def _stratum(self, block: int, y: int) -> tuple[float, Stratum]:
        """What y positives in a block add by themselves, and the statistic of the others."""
        if (block, y) not in self._strata:
            others, constant = self._increments.given(block, y)
            stratum = Stratum(others, self._m - y, self._inversion, self._depth + 1, self._memory)
            self._strata[block, y] = constant, stratum
        return self._strata[block, y]

    @cached_property
    def _inverted(self) -> _Tail:
        return self._inversion(self._increments, self._m)

    @cached_property
    def _coarse_block(self) -> int | None:
        return block_to_condition_on(self._increments, self._m)

    @cached_property
    def _next_block(self) -> int | None:
        """The block with most influence, whatever its size, where it is worth dividing by it.

        Of a statistic that is not linear hardly any stratum is decided by its support.
        """
        sizes, m, n = self._increments.sizes, self._m, self._increments.n_samples
        divides = self._increments.is_linear or self._depth == 0
        if sizes.size < 2 or not 0 < m < n or not divides:
            return None
        weight = sizes * (1.0 - sizes / n) * influences(self._increments, m) ** 2
        return int(np.argmax(weight))

    @cached_property
    def _split(self) -> tuple[int, float] | None:
        """Where to divide a list into halves, and their length; None if that is too long."""
        if self._increments.sizes.size > _MAX_BLOCKS_OF_HALVES:
            return None
        split, length = best_split(self._increments.sizes, self._m)
        return (split, length) if length <= _MAX_HALVES else None

    @cached_property
    def _cost_of_inversion(self) -> float:
        """What an inversion costs, as a number of small ones: rows times hits of all blocks."""
        n, m, sizes = self._increments.n_samples, self._m, self._increments.sizes
        varies = (m / n) * (1.0 - m / n)
        rows = min(m, n - m, _DEVIATIONS_OF_ROWS * math.sqrt(n * varies)) + 1.0
        hits = np.minimum(np.minimum(sizes, m), 1.0 + _DEVIATIONS_OF_ROWS * np.sqrt(sizes * varies))
        work = rows * float(np.minimum(hits, _HITS_OF_FFT).sum())
        cost = work / _WORK_OF_AN_INVERSION + sizes.size / _BLOCKS_OF_AN_INVERSION
        return max(_LEAST_COST, cost)

    @property
    def _cost_of_halves(self) -> float:
        """What listing by halves costs, as a number of inversions."""
        assert self._split is not None
        return 1.0 + self._split[1] / _OUTCOMES_OF_AN_INVERSION

    @cached_property
    def _has_few_outcomes(self) -> bool:
        return n_outcomes(self._increments.sizes, self._m) <= _FEW_OUTCOMES

    @property
    def n_kept(self) -> float:
        """Numbers of lists that this statistic and its strata keep."""
        return _MAX_KEPT - self._memory.left

    @property
    def _listed(self) -> _Listed | MeetInTheMiddleTails:
        """Every value, whole or by halves."""
        if self._kept is not None:
            return self._kept
        made: _Listed | MeetInTheMiddleTails
        if self._has_few_outcomes:
            listed = atoms(self._increments, self._m)
            assert listed is not None
            made = _Listed(listed)
        else:
            assert self._split is not None
            made = MeetInTheMiddleTails(self._increments, self._m, self._split[0])
        if self._memory.take(made.n_kept):
            self._kept = made
        return made

    def _log_bounds(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Bounds of the logs of the tail, and of the tail on the other side.

        Bernstein's inequality, which holds without replacement (Hoeffding, 1963): a sum of m
        weights with mean mu and variance v of a population, none farther than b from mu, is
        farther than u from its mean, to one side, with at most the probability
        ``exp(-u**2 / (2 (m v + b u / 3)))``.
        """
        c, m = self._increments, self._m
        if not c.is_linear:
            return np.zeros(t.shape), np.zeros(t.shape)
        shares = c.sizes / c.n_samples
        mean = float(np.sum(shares * c.linear))
        variance = float(np.sum(shares * (c.linear - mean) ** 2))
        farthest = float(np.abs(c.linear - mean).max())
        u = sign * (t - m * mean)
        spread = 2.0 * (m * variance + farthest * np.abs(u) / 3.0)
        bound = -(u**2) / np.maximum(spread, np.finfo(float).tiny)
        return np.where(u > 0.0, bound, 0.0), np.where(u < 0.0, bound, 0.0)

    @cached_property
    def _support(self) -> tuple[float, float]:
        """Values that the support does not exceed."""
        c, m = self._increments, self._m
        if m == 0 or m == c.n_samples:
            value = float(c.total(c.sizes)) if m else 0.0
            return value, value
        if c.is_linear:
            return linear_support(c, m)
        if float(np.minimum(c.sizes, m).sum()) * m <= _FEW_OPERATIONS:
            return smallest_value(c, m), largest_value(c, m)
        return -math.inf, math.inf


class _Listed:
    """Tails from a list of all values."""

    def __init__(self, listed: Atoms) -> None:
        self._values = listed.values
        self.n_kept = 3 * listed.values.size
        below = cumulative_shares(listed.log_counts)[1]
        above = cumulative_shares(listed.log_counts[::-1])[1][::-1]
        self._below = np.append(-np.inf, below)
        self._above = np.append(above, -np.inf)

    def log_tail(self, t: Floats, sign: int) -> Floats:
        """Log of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1)."""
        if sign > 0:
            return np.asarray(self._above[np.searchsorted(self._values, t, side="left")])
        return np.asarray(self._below[np.searchsorted(self._values, t, side="right")])


def linear_support(c: Increments, m: int) -> tuple[float, float]:
    """Smallest and largest value of a sum of weights of m items."""
    order = np.argsort(c.linear, kind="stable")
    sizes, weights = c.sizes[order], c.linear[order]

    def total(sizes: Integers, weights: Floats) -> float:
        taken = np.diff(np.minimum(np.cumsum(sizes), m), prepend=0)
        return float(np.sum(taken * weights))

    return total(sizes, weights), total(sizes[::-1], weights[::-1])
