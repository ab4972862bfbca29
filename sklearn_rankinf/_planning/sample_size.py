"""Planning: the smallest effect, or number of positives, with which a test has a given power."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from sklearn_rankinf._planning.power import MODELS, Design, SizedDesign, read_effect
from sklearn_rankinf._ranking import check_between, check_counts, check_integer
from sklearn_rankinf._statistics import (
    Floats,
    Integers,
    Metric,
    cached_property,
    log_tail,
    min_hits,
)

# Logarithms of odds that are treated as infinite.
_LARGEST_EFFECT = 700.0
# Effects simulated together, number of first draws, and range of effects that uses all draws.
_N_EFFECTS, _N_SCOUTS, _NARROW = 9, 500, 0.25
# An approximate p-value rules out a number of positives if it is above this, and above this many
# times alpha. Of the smallest significant values it was at most 0.15 for alpha up to 0.05, and 1.6
# times alpha for 0.2.
_CLEAR_PVALUE, _CLEAR_FACTOR = 0.2, 4.0
# Largest number of positives that is tried, with computed power and with simulated power.
_MOST_POSITIVES, _MOST_SIMULATED = 10**7, 10**5
# Numbers of items are 64-bit integers.
_SMALLEST_PREVALENCE = _MOST_POSITIVES / 2.0**62
# How many numbers of positives are all tried, with computed power and with simulated power.
_ALL_TRIED, _ALL_SIMULATED = 2000, 16
# Beyond these, the search starts at this fraction of the number that a randomized test needs.
_SHARE_TRIED = 0.98
# How many numbers of positives are tried together.
_TOGETHER = 256


def min_detectable_odds(
    n_samples: int,
    n_positives: int,
    *,
    metric: str | Metric = "average_precision",
    alpha: float = 0.05,
    power: float = 0.8,
    model: str = "wallenius",
    method: str = "auto",
    n_resamples: int = 10_000,
    random_state: Any = 0,
) -> float:
    r"""Smallest odds at which the test of a ranking has a given power.

    Parameters
    ----------
    n_samples : int
        Number of items.
    n_positives : int
        Number of positives among them.
    metric : str or metric, default="average_precision"
        A metric, or its name with a cut-off after an @, as in ``"recall@50"``; see
        :func:`metric_test`.
    alpha : float, default=0.05
        Significance level, between 0 and 1.
    power : float, default=0.8
        Required power, between 0 and 1.
    model : {"wallenius", "binormal"}, default="wallenius"
        Model of the rankings; see :func:`metric_power`.
    method : {"auto", "analytic", "simulation"}, default="auto"
        How power is computed; see :func:`metric_power`.
    n_resamples : int, default=10000
        Number of simulated rankings.
    random_state : int, RandomState, Generator or None, default=0
        Source of random numbers for the simulation.

    Returns
    -------
    odds : float
        The odds of a positive against a negative; the AUC is ``odds / (1 + odds)``, also in the
        binormal model. Infinite if no value of the metric is significant, so that the power is 0
        for all odds. 0 if the logarithm of the odds is below -700.

    Raises
    ------
    TypeError
        If a number has the wrong type.
    ValueError
        If a number is out of its range, or the metric does not have the `model` or the `method`.

    See Also
    --------
    metric_power : Power at given odds.
    min_positives : The smallest number of positives.

    Notes
    -----
    Power increases with the odds. If power is exact, the odds are computed to a relative precision
    of 1e-10. If power is simulated, rankings at several odds share their random numbers, so that
    the fraction of significant rankings increases with the odds, and the odds are interpolated
    between two of these odds; their Monte Carlo error is that of the power divided by the slope of
    the power.

    Examples
    --------
    >>> from sklearn_rankinf import metric_power, min_detectable_odds
    >>> odds = min_detectable_odds(1000, 100, metric="recall@100")
    >>> round(odds, 3)
    2.154
    >>> round(metric_power(1000, 100, metric="recall@100", odds=odds).power, 6)
    0.8
    """
    n, m = check_counts(n_samples, n_positives)
    power = check_between(power, "power")
    design = Design.read(metric, alpha, model, method, n_resamples, random_state)
    return _smallest_odds(design.of_size(n, m), power)


def _smallest_odds(sized: SizedDesign, target: float) -> float:
    is_simulated = sized.method == "simulation"
    if math.isnan(sized.region.critical_value):
        return math.inf
    if is_simulated:
        return math.exp(_crossing_of_draws(sized, target))
    low, high = -1.0, 1.0
    while sized.power(high) < target and high < _LARGEST_EFFECT:
        low, high = high, min(2.0 * high, _LARGEST_EFFECT)
    while sized.power(low) >= target and low > -_LARGEST_EFFECT:
        low, high = max(2.0 * low, -_LARGEST_EFFECT), low
    if sized.power(high) < target:
        return math.inf
    if sized.power(low) >= target:
        return 0.0
    return math.exp(brentq(lambda x: sized.power(x) - target, low, high, xtol=1e-11, rtol=1e-11))


def _crossing_of_draws(sized: SizedDesign, target: float) -> float:
    """Effect at which the fraction of significant draws equals the required power.

    A few draws narrow the range, and all draws locate the effect within it. The range is moved if
    the effect turns out to be outside.
    """
    n_draws, edge = sized.design.n_resamples, sized.region.edge

    def shares(effects: Floats, n: int) -> Floats:
        return np.asarray((sized.simulated(effects, n) >= edge).mean(axis=0))

    low, high = -1.0, 1.0
    while True:
        width = high - low
        effects = np.linspace(low, high, _N_EFFECTS)
        is_last = width <= _NARROW
        reached = shares(effects, n_draws if is_last else min(_N_SCOUTS, n_draws))
        if reached[-1] < target:
            low, high = high - 0.25 * width, high + 2.0 * width
        elif reached[0] >= target:
            low, high = low - 2.0 * width, low + 0.25 * width
        elif is_last:
            return float(np.interp(target, reached, effects))
        else:
            cell = int(np.searchsorted(reached, target))
            step = width / (_N_EFFECTS - 1)
            # The few draws may be wrong by about one cell.
            reach = max(1.5 * step, 0.5 * _NARROW)
            low, high = effects[cell] - 0.5 * step - reach, effects[cell] - 0.5 * step + reach


def min_positives(
    *,
    prevalence: float,
    metric: str | Metric = "average_precision",
    odds: float | None = None,
    auc: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    model: str = "wallenius",
    method: str = "auto",
    n_resamples: int = 10_000,
    random_state: Any = 0,
    verbose: int = 0,
) -> int:
    r"""Smallest number of positives with which the test of a ranking has a given power.

    With m positives there are ``round(m / prevalence)`` items.

    Parameters
    ----------
    prevalence : float
        Fraction of the items that are positive, between 0 and 1.
    metric : str or metric, default="average_precision"
        A metric, or its name with a cut-off after an @, as in ``"recall@50"``; see
        :func:`metric_test`. A cut-off that is a number of items is also the smallest number of
        items considered.
    odds : float, optional
        The effect: odds of each positive against a negative. Exactly one of `odds` and `auc` is
        required.
    auc : float, optional
        The effect as the probability that a positive is ranked above a negative,
        ``odds / (1 + odds)``.
    alpha : float, default=0.05
        Significance level, between 0 and 1.
    power : float, default=0.8
        Required power, between 0 and 1.
    model : {"wallenius", "binormal"}, default="wallenius"
        Model of the rankings; see :func:`metric_power`.
    method : {"auto", "analytic", "simulation"}, default="auto"
        How power is computed; see :func:`metric_power`.
    n_resamples : int, default=10000
        Number of simulated rankings.
    random_state : int, RandomState, Generator or None, default=0
        Source of random numbers for the simulation.
    verbose : int, default=0
        If positive, print each number of positives that is tried; a search by simulation takes
        some seconds.

    Returns
    -------
    n_positives : int
        The number of positives.

    Raises
    ------
    TypeError
        If a number has the wrong type.
    ValueError
        If not exactly one of `odds` and `auc` is given, a number is out of its range, the metric
        does not have the `model` or the `method`, or ten million positives are not enough (100,000
        if power is simulated).

    See Also
    --------
    metric_power : Power with a given number of positives.
    min_detectable_odds : The smallest effect.

    Notes
    -----
    The power of a test of hits at k is not monotone in the number of positives, because the
    attained level varies. The first number with the required power is returned; a slightly larger
    number may have less power. All of the first 2000 numbers are tried. Above them, the search
    starts at 98 % of the number that a randomized test needs: a test that is randomized to have
    exactly the level `alpha` is more powerful.

    In two cases the search bisects instead: for the reciprocal rank above the first 2000 numbers,
    and above the first 16 if power is simulated. The returned number then has the required power
    and the next smaller one does not, but a still smaller number may also reach it. The Monte Carlo
    error of the number is that of the power, divided by the increase of the power per positive.

    Examples
    --------
    >>> from sklearn_rankinf import metric_power, min_positives
    >>> m = min_positives(prevalence=0.1, metric="recall@0.1", odds=2.0)
    >>> m
    113
    >>> [metric_power(10 * i, i, metric="recall@0.1", odds=2.0).power >= 0.8
    ...  for i in (m - 1, m)]
    [False, True]
    """
    prevalence = check_between(prevalence, "prevalence")
    if prevalence < _SMALLEST_PREVALENCE:
        raise ValueError(
            f"prevalence must be at least {_SMALLEST_PREVALENCE:.2g}, otherwise the number of "
            f"items is too large to count; got {prevalence}."
        )
    power = check_between(power, "power")
    effect = read_effect(odds, auc, model)
    design = Design.read(metric, alpha, model, method, n_resamples, random_state)
    if design.metric.distribution == "permuted":
        raise ValueError(
            f"{design.metric.title} has no exact null distribution, so that a search over numbers "
            "of positives would simulate one for each: use metric_power with the numbers that are "
            "possible."
        )
    if effect <= 0.0 and power >= alpha:
        raise ValueError(
            f"No number of positives has the power {power}, which is at least alpha={alpha}, if "
            "positives are not ranked higher than negatives; pass odds above 1, or auc above "
            f"0.5 (got odds={odds} and auc={auc})."
        )
    verbose = check_integer(verbose, "verbose", 0)
    return _Search(design, prevalence, effect, power, verbose).first()


class _Search:
    """Search for the first number of positives with a given power."""

    def __init__(
        self, design: Design, prevalence: float, effect: float, target: float, verbose: int = 0
    ) -> None:
        self._verbose = verbose
        self._design, self._prevalence = design, prevalence
        self._effect, self._target = effect, target
        # A cut-off that is a number of items is a lower limit of the number of items.
        k: Any = getattr(design.metric, "k", None)
        self._least = 1
        if isinstance(k, int | np.integer):
            self._least = max(1, math.floor(k * prevalence))
            while self._n_samples(self._least) < k:
                self._least += 1

    def first(self) -> int:
        if self._design.metric.counts_hits:
            return self._first_of_hits()
        most_tried = _ALL_SIMULATED if self._may_simulate else _ALL_TRIED
        for m in range(self._least, self._least + most_tried):
            if self._is_enough(m):
                return m
        low = self._least + most_tried - 1
        if self._may_simulate:
            return self._bisected_with_few_draws(low)
        return _bisected(self._is_enough, *self._bracket(self._is_enough, low, _MOST_POSITIVES))

    def _n_samples(self, m: Any) -> Any:
        return np.maximum(np.rint(np.asarray(m) / self._prevalence), m).astype(np.int64)[()]

    def _sized(self, m: int, approximately: bool = False) -> SizedDesign:
        n_samples = int(self._n_samples(m))
        if self._verbose:
            print(f"[min_positives] {m} positives among {n_samples} items")
        return self._design.of_size(n_samples, m, approximately)

    @cached_property
    def _may_simulate(self) -> bool:
        first = self._design.of_size(int(self._n_samples(self._least)), self._least)
        return self._design.method == "simulation" or first.event is None

    def _is_enough(self, m: int) -> bool:
        sized = self._sized(m)
        method = self._design.method
        may_simulate = method == "auto" and self._may_simulate and not sized.can_be_listed
        if may_simulate or method == "simulation":
            is_first = m < self._least + _ALL_SIMULATED
            if is_first and self._is_ruled_out(sized):
                return False
            return self._reaches(sized, self._design.n_resamples, self._target)
        return sized.power(self._effect) >= self._target

    def _is_ruled_out(self, sized: SizedDesign) -> bool:
        """Whether a few draws are far from the power, as for most of the first numbers.

        Mostly they are far from it even at a much larger level. An approximate critical value is
        enough to see this; exact ones of few positives take longer than the rest of the search.
        """
        few = min(_N_SCOUTS, self._design.n_resamples)
        error = math.sqrt(self._target * (1.0 - self._target) / few)
        if sized.event is None and "pearson3" in sized.metric.approximations:
            level = min(max(_CLEAR_PVALUE, _CLEAR_FACTOR * self._design.alpha), 1.0)
            near = replace(self._design, alpha=level).of_size(sized.n, sized.m, approximately=True)
            if not self._reaches(near, few, self._target - 6.0 * error):
                return True
        return not self._reaches(sized, few, self._target - 6.0 * error)

    def _reaches(self, sized: SizedDesign, n_draws: int, target: float) -> bool:
        """Whether a share of simulated rankings is significant: the last of the best of them is."""
        values = np.sort(sized.simulated(np.array([self._effect]), n_draws)[:, 0])
        needed = int(np.searchsorted(np.arange(n_draws + 1) / n_draws, target))
        return needed == 0 or sized.is_significant(float(values[n_draws - needed]))

    def _not_enough(self, most: int) -> ValueError:
        """Return the error that the largest number of positives is not enough."""
        k: Any = getattr(self._design.metric, "k", None)
        fixed = ""
        if isinstance(k, int | np.integer):
            fixed = (
                f" The cut-off {k} is a fixed number of items, which becomes a smaller fraction "
                "as the number of positives grows: give a fraction, as in metric='recall@0.01', if "
                "the cut-off grows with the number of items."
            )
        return ValueError(
            f"{most} positives are not enough for a power of {self._target} at odds of "
            f"{math.exp(self._effect):.6g}; pass a larger effect or a smaller power.{fixed}"
        )

    def _bracket(self, is_enough: Callable[[int], bool], low: int, most: int) -> tuple[int, int]:
        """Return a number that is not enough, and a number that is enough."""
        high = 2 * low
        while not is_enough(min(high, most)):
            if high >= most:
                raise self._not_enough(most)
            low, high = high, 2 * high
        return low, min(high, most)

    def _bisected_with_few_draws(self, low: int) -> int:
        """Bisect with few draws and an approximate critical value, then with all draws."""

        def seems_enough(m: int) -> bool:
            sized = self._sized(m, approximately=True)
            return self._reaches(sized, min(_N_SCOUTS, self._design.n_resamples), self._target)

        around = _bisected(seems_enough, *self._bracket(seems_enough, low, _MOST_SIMULATED))
        step = max(1, around // 32)
        high = max(around, low + 1)
        while not self._is_enough(high):
            low, high, step = high, high + step, 2 * step
        step = max(1, around // 32)
        while high - step > low and self._is_enough(high - step):
            high, step = high - step, 2 * step
        return _bisected(self._is_enough, max(low, high - step), high)

    # Hits at k.

    def _first_of_hits(self) -> int:
        first, last = self._least, self._least + _ALL_TRIED
        while first <= _MOST_POSITIVES:
            found = self._first_between(first, last)
            if found is not None:
                return found
            if last == self._least + _ALL_TRIED:
                low, high = self._bracket(self._randomized_is_enough, last, _MOST_POSITIVES)
                needed = _bisected(self._randomized_is_enough, low, high)
                first = max(last, int(_SHARE_TRIED * needed))
            else:
                first = last
            last = min(first + _TOGETHER, _MOST_POSITIVES + 1)
        raise self._not_enough(_MOST_POSITIVES)

    def _first_between(self, first: int, last: int) -> int | None:
        """First number with the power, from `first` up to but excluding `last`."""
        for start in range(first, last, _TOGETHER):
            m = np.arange(start, min(start + _TOGETHER, last))
            enough = np.flatnonzero(self._powers_of_hits(m)[0] >= self._target)
            if enough.size:
                return int(m[enough[0]])
        return None

    def _powers_of_hits(self, m: Integers) -> tuple[Floats, Floats]:
        """Power of the test, and power of a test that is randomized to have the level alpha."""
        alpha, model = self._design.alpha, MODELS[self._design.model]
        n = self._n_samples(m)
        k = np.array([self._design.metric.at(int(size)).k for size in n])  # type: ignore[attr-defined]
        needed = min_hits(alpha, n, m, k)
        power, more = (model.hits_tail(needed - less, n, m, k, self._effect) for less in (0, 1))
        level, next_level = (np.exp(log_tail(needed - less, n, m, k)) for less in (0, 1))
        is_open = next_level > level
        share = np.where(is_open, (alpha - level) / np.where(is_open, next_level - level, 1.0), 0.0)
        return power, power + share * (more - power)

    def _randomized_is_enough(self, m: int) -> bool:
        return float(self._powers_of_hits(np.array([m]))[1][0]) >= self._target


def _bisected(is_enough: Callable[[int], bool], low: int, high: int) -> int:
    """First number that is enough, given a number that is not and a larger one that is."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
