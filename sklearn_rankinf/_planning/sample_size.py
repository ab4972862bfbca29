"""Planning: the smallest effect, or number of positives, with which a test has a given power."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtrc, ndtri, ndtri_exp

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
# Effects simulated together, number of first draws, and their errors within which all draws search.
_N_EFFECTS, _N_SCOUTS, _ERRORS = 9, 500, 3.5
# Number of random rankings that show that a value is not significant, and largest probability that
# so many of them reach a significant value.
_N_RANDOM, _IMPOSSIBLE = 2000, 1e-9
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
# Number of second draws, and largest numbers of steps with few, with these and with all draws.
_N_SECOND, _N_STEPS = 2500, (20, 4, 2)
# Number of steps after which first draws double the number of positives; relative difference of two
# numbers from which the slope of the shift is computed, and largest ratio of it to that of first
# order.
_FEW_STEPS, _APART, _RATE = 4, 0.1, 2.0
# Largest ratio of two numbers of positives in turn, and bounds of the shifts that are searched for.
_LARGEST_RATIO, _SMALLEST_SHIFT, _LARGEST_SHIFT = 30.0, 0.1, 1e6


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
    between two of these odds, in the normal deviate of the power; their Monte Carlo error is that
    of the power divided by the slope of the power.

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

    A few draws narrow the range, until the power changes by about their error between neighbouring
    effects. All draws are made at three effects, and the normal deviate of the power is
    interpolated. The range is moved if the effect turns out to be outside.
    """
    n_draws, edge = sized.design.n_resamples, sized.region.edge
    few = min(_N_SCOUTS, n_draws)
    reach = _ERRORS * _error_of_deviate(target, few)

    def shares(effects: Floats, n: int) -> Floats:
        return np.asarray((sized.simulated(effects, n) >= edge).mean(axis=0))

    def deviates(share: Any, n: int) -> Any:
        return ndtri(np.clip(share, 0.5 / n, 1.0 - 0.5 / n))

    low, high = -1.0, 1.0
    while True:
        width = high - low
        effects, step = np.linspace(low, high, _N_EFFECTS), width / (_N_EFFECTS - 1)
        reached = shares(effects, few)
        if reached[-1] < target:
            low, high = high - 0.25 * width, high + 2.0 * width
        elif reached[0] >= target:
            low, high = low - 2.0 * width, low + 0.25 * width
        else:
            cell = int(np.searchsorted(reached, target))
            around = deviates(reached[max(cell - 2, 0) : cell + 2], few)
            growth = float(around[-1] - around[0]) / (around.size - 1)
            middle = effects[cell] - 0.5 * step
            if growth <= reach:
                break
            # The few draws may be wrong by about one cell.
            low, high = middle - 1.5 * step, middle + 1.5 * step
    half = min(step * reach / growth, width) if growth > 0.0 else width
    while True:
        effects = middle + half * np.array([-1.0, 0.0, 1.0])
        reached = shares(effects, n_draws)
        if reached[-1] < target:
            middle += 2.0 * half
        elif reached[0] >= target:
            middle -= 2.0 * half
        else:
            found = deviates(reached, n_draws)
            return float(np.interp(deviates(target, n_draws), found, effects))


def _error_of_deviate(share: float, n_draws: int) -> float:
    """Monte Carlo error of the normal deviate of a share."""
    density = math.exp(-0.5 * float(ndtri(share)) ** 2) / math.sqrt(2.0 * math.pi)
    return math.sqrt(share * (1.0 - share) / n_draws) / density


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
        If positive, print each number of positives that is tried; a search by simulation for
        hundreds of positives takes some seconds.

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

    In two cases not all numbers are tried: for the reciprocal rank above the first 2000, and above
    the first 16 if power is simulated. The returned number then has the required power and the next
    smaller one does not, but a still smaller number may also reach it. The reciprocal rank is
    bisected. With simulated power the search starts at a number that few draws find: to first
    order, the normal deviate of the power grows with the square root of the number of positives.
    The Monte Carlo error of the number is that of the power, divided by the increase of the power
    per positive.

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
            return self._first_of_draws(low)
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
        if not self._simulates(sized):
            return sized.power(self._effect) >= self._target
        if m < self._least + _ALL_SIMULATED and self._is_ruled_out(sized):
            return False
        return self._by_draws(sized, self._design.n_resamples)[0]

    def _simulates(self, sized: SizedDesign) -> bool:
        """Whether the power is that of draws, without the work to see what else it could be."""
        method = self._design.method
        may_simulate = method == "auto" and self._may_simulate and not sized.can_be_listed
        return may_simulate or method == "simulation"

    def _is_ruled_out(self, sized: SizedDesign) -> bool:
        """Whether a few draws are far from the power, as for most of the first numbers.

        The value that enough of them reach is compared with random rankings: the exact p-values of
        few positives take longer than the rest of the search.
        """
        few = min(_N_SCOUTS, self._design.n_resamples)
        error = math.sqrt(self._target * (1.0 - self._target) / few)
        needed = _n_needed(self._target - 6.0 * error, few)
        if needed == 0 or sized.event is not None:
            return False
        value = self._reached(sized, few, needed)
        # These draws do not depend on the value: their stream is another one.
        seed = copy(self._design.random_state).spawn(1)[0]
        random = replace(self._design, random_state=seed).of_size(sized.n, sized.m)
        n_reached = int((random.simulated(np.zeros(1), _N_RANDOM) >= value).sum())
        # The probability of so many is smaller for p-values below alpha.
        return bool(bdtrc(n_reached - 1, _N_RANDOM, self._design.alpha) < _IMPOSSIBLE)

    def _reached(self, sized: SizedDesign, n_draws: int, needed: int) -> float:
        """Largest value that the required number of simulated rankings reaches."""
        values = sized.simulated(np.array([self._effect]), n_draws)[:, 0]
        return float(np.sort(values)[n_draws - needed])

    def _by_draws(self, sized: SizedDesign, n_draws: int) -> tuple[bool, float]:
        r"""Whether enough simulated rankings are significant, and an estimate of the effect.

        The estimate is the shift of the metric in standard deviations. To first order the metric is
        normal, its shift grows with the square root of the number of positives, and the p-value
        that a share :math:`\pi` of the rankings reaches has the normal deviate of the shift less
        that of :math:`\pi`.
        """
        if sized.event is not None:
            values = sized.simulated(np.array([self._effect]), n_draws)
            share = float((values >= sized.region.edge).mean())
            inner = min(max(share, 0.5 / n_draws), 1.0 - 0.5 / n_draws)
            return share >= self._target, float(ndtri(inner) - ndtri(self._design.alpha))
        needed = _n_needed(self._target, n_draws)
        is_enough, log_p = sized.significance(self._reached(sized, n_draws, needed))
        shift = float(ndtri(self._target) - ndtri_exp(log_p))
        return is_enough, min(shift, _LARGEST_SHIFT)

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

    def _first_of_draws(self, low: int) -> int:
        """First number by simulation, above one that is not enough.

        From a number whose power is about the required one, the steps of the search double.
        """
        m, known = self._near_power(low)

        def is_enough_at(m: int) -> bool:
            if m not in known:
                known[m] = self._is_enough(m)
            return known[m]

        step = 1
        if is_enough_at(m):
            while m - step > low and is_enough_at(m - step):
                m, step = m - step, 2 * step
            return _bisected(is_enough_at, max(low, m - step), m)
        while not is_enough_at(m + step):
            if m + step >= _MOST_SIMULATED:
                raise self._not_enough(_MOST_SIMULATED)
            m, step = m + step, 2 * step
        return _bisected(is_enough_at, m, m + step)

    def _near_power(self, low: int) -> tuple[int, dict[int, bool]]:
        """Return a number above `low` whose power is about the required one, and what is known.

        A few draws with approximate p-values give the start of more draws with exact ones, and
        these that of all draws. The shift is linear in the square root of the number: through 0 to
        first order, and through the last two shifts if their numbers are apart. Where the power
        hardly grows, the first draws double the number.
        """
        target, most = self._target, max(_MOST_SIMULATED, low + 1)
        needed = max(float(ndtri(target) - ndtri(self._design.alpha)), _SMALLEST_SHIFT)
        m, slope, known = min(2 * low, most), math.nan, {low: False}
        all_draws = self._design.n_resamples
        for n_draws, n_steps in zip((_N_SCOUTS, _N_SECOND, all_draws), _N_STEPS, strict=True):
            n_draws, is_first = min(n_draws, all_draws), n_draws == _N_SCOUTS
            error = _error_of_deviate(target, n_draws)
            following, before = m, (m, math.nan)
            ends = [float(low), math.inf]
            for step in range(n_steps):
                m = following
                sized = self._sized(m, approximately=is_first)
                is_enough, shift = self._by_draws(sized, n_draws)
                if n_draws == all_draws and not is_first and self._simulates(sized):
                    known[m] = is_enough
                if m == most and not is_enough:
                    raise self._not_enough(most)
                ends[int(is_enough)] = m
                root, gain = math.sqrt(m), shift - before[1]
                rate = max(shift, needed / _LARGEST_RATIO**0.5) / root
                if abs(m - before[0]) > _APART * m and math.isfinite(gain):
                    slope = gain / (root - math.sqrt(before[0]))
                if math.isfinite(slope):
                    rate = min(max(slope, rate / _RATE), rate * _RATE)
                size = max(root + (needed - shift) / rate, 0.0) ** 2
                least = m * (2.0 if step >= _FEW_STEPS and not is_enough else 1.0 / _LARGEST_RATIO)
                size = min(max(size, least), m * _LARGEST_RATIO, most)
                if round(size) <= ends[0]:
                    size = ends[0] + 1.0
                elif round(size) >= ends[1]:
                    size = math.sqrt(ends[0] * ends[1])
                following, before = max(round(size), low + 1), (m, shift)
                if abs(shift - needed) <= error or abs(following - m) <= 1:
                    break
        return m, known

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


def _n_needed(share: float, n_draws: int) -> int:
    """Smallest number of draws that is at least a share of all."""
    return int(np.searchsorted(np.arange(n_draws + 1) / n_draws, share))


def _bisected(is_enough: Callable[[int], bool], low: int, high: int) -> int:
    """First number that is enough, given a number that is not and a larger one that is."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
