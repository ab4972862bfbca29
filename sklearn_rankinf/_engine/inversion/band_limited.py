"""Guaranteed bounds of tails from the transform on a finite band.

With ``E_theta`` the expectation under the tilt ``theta > 0``, ``K = log E exp(theta S)``,

    P(S >= s) = exp(K - theta s) E_theta f(delta (S - s)),

where f(x) is ``exp(-x theta / delta)`` for x >= 0 and 0 below. Graham and Vaaler (1981) found the
functions above and below f that are closest to it among those whose Fourier transforms vanish
outside of (-1, 1). Their expectations are sums over the transform of S at finitely many nodes, and
bound the tail whatever the structure of S: nothing need decay beyond the last node. See
"Band-limited bounds" in doc/theory.rst, equation ``band``.

* The sums are those of a period T. Aliases only add to the majorant; their part in the minorant is
  bounded by Chernoff's inequality, and subtracted.
* The transform is that of some paths, and so are the bounds of its aliases: the lower bound holds
  for the tail of these paths. What all others add to the upper one is bounded on its own.
* Tilts are those of a fixed ladder, near the saddle point of each value, and periods are of a fixed
  sequence, so that no result depends on other values.

References: S. W. Graham and J. D. Vaaler, A class of extremal functions for the Fourier transform,
Transactions of the American Mathematical Society 265 (1981), 283-302.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sklearn_rankinf._engine.estimates import TailEstimates, accepted_error, without_merging
from sklearn_rankinf._engine.inversion.tilts import EXTREME, TILTS, Tilts, TiltsOfPaths
from sklearn_rankinf._engine.inversion.transform import LARGEST_LOG, Transform
from sklearn_rankinf._statistics import Complexes, Floats, Integers, cached_method, cached_property


class Enclosed(NamedTuple):
    """Logs of bounds of values, and the tilt over the width of the band.

    The upper bound assumes that paths are negligible that are not bounded; the last one is proved.
    """

    lower: Floats
    upper: Floats
    decay: Floats
    proved: Floats


@dataclass(frozen=True)
class BandSettings:
    """Widths and costs of the bands."""

    # Tilts that a band is wide: bounds are apart by the factor exp(1 / width). The widest, and one
    # for which more work is worth while.
    widest: float = 50.0
    useful: float = 6.0
    # With a tolerance a band is at least this wide, where that is affordable, and bounds are apart
    # by this part of it: the rest is for atoms.
    least_wanted: float = 1.0
    part_of_tolerance: float = 0.8
    # Bounds that are farther apart than a tolerance are tightened with these parts of it in turn;
    # without a tolerance, those with a larger error than this are tightened with all useful work.
    finer: tuple[float, ...] = (0.25, 0.0)
    too_wide: float = 0.1
    # Bounds of narrower bands, which are a factor of 50 apart, are not computed.
    narrowest: float = 0.25
    # Nodes times products of a pass that are affordable, with a tolerance and without one, and for
    # more items than `many` in proportion, up to a factor.
    work_with_tolerance: float = 3e8
    work: float = 2.5e8
    work_if_useful: float = 2e9
    many: float = 5e4
    most_times: float = 5.0
    most_nodes: int = 32_768
    # Log of the aliases relative to the tail, if that is near its Chernoff bound, and if not; with
    # a tolerance at first this part of it.
    log_aliases: tuple[float, ...] = (-9.0, -25.0)
    aliases_of_tolerance: float = 0.1
    # Cumulant generating function of the centred sum at the first tilt, at most; the largest scale
    # of tilts in standard deviations.
    most_at_first: float = 1.0
    largest_scale: float = 1e6
    # Turns, the tilt times the period, above which tilts at these steps of the ladder are tried,
    # the factor of work that they have to save, since bounds are wider off the saddle point, and
    # by how much their Chernoff exponents may differ.
    many_turns: float = 300.0
    shifts: tuple[float, ...] = (-0.5, -1.0, -1.5, 0.5)
    saves: float = 3.0
    most_excess: float = 8.0
    # Nodes times products of the band of a value, and for each block, above which the paths that
    # carry its tail are looked for.
    costly: float = 3e7
    costly_by_block: float = 9e4
    # Periods are 2**(1 / periods_of_octave) apart.
    periods_of_octave: int = 4
    # Share of the tilted total below which a path is left out without a tolerance; and of all paths
    # that lie outside of the windows, where it is not bounded.
    negligible: float = 1e-15
    beyond: float = 1e-11
    # Log of a proved upper bound over one that assumes that paths are negligible, at most, where it
    # is taken.
    close_to_proved: float = 0.02
    # Largest rounding error of a transform's size, and that of an exponent in units of its last
    # place.
    rounding: float = 1e-9
    ulps: float = 64.0
    # Difference of the log transforms at one extreme tilt that bands and tilts know, at most.
    same: float = 1e-6
    # Nodes of one pass: at least the first, and as many as keep its state in the cache; and of the
    # very first one.
    chunk: int = 512
    first_nodes: int = 16
    state: int = 32_768


SETTINGS = BandSettings()


class BandLimitedTails:
    """Tails between guaranteed bounds from finitely many nodes.

    Parameters
    ----------
    transform : Transform
        The transform of the statistic; bounds of merged blocks are not guaranteed.
    n_samples : int
        Number of items.
    mean, scale : float
        Mean and standard deviation of the statistic.
    support : tuple of float
        Values that the support does not exceed.
    tolerance : float, default=0.0
        Relative error that is accepted; a tenth of it more for each power of ten of the tail.
    tilts : Tilts, default=None
        Tilts of the transform, if they are known.
    spares_work : bool, default=True
        Whether a narrower band is taken where a wide one takes long.
    """

    def __init__(
        self,
        transform: Transform,
        n_samples: int,
        mean: float,
        scale: float,
        support: tuple[float, float],
        tolerance: float = 0.0,
        tilts: Tilts | None = None,
        spares_work: bool = True,
    ) -> None:
        self._transform, self._support, self._tolerance = transform, support, tolerance
        self._n_samples, self._mean, self._scale = n_samples, mean, scale
        self._tilts = tilts or self._own_tilts()
        times = min(max(n_samples / SETTINGS.many, 1.0), SETTINGS.most_times)
        work = (SETTINGS.work if spares_work else SETTINGS.work_if_useful, SETTINGS.work_if_useful)
        self._spares_work = spares_work
        self._work, self._useful_work = (
            times * (SETTINGS.work_with_tolerance if tolerance else each) for each in work
        )

    def _own_tilts(self) -> Tilts:
        """Tilts of which the first one upwards leaves the distribution near its mean.

        Sums that are convex in the hits of a block jump from their body to its far end. With a
        tolerance tilts are known.
        """
        upper = scale = self._scale
        if self._tolerance and self._transform.finds_tilts:
            known = self._transform.tilt_at
            return Tilts(self._transform, scale, scale, self._support, known=known)
        # No value is rarer than one placement.
        span, log_best = self._support[1] - self._mean, self._transform.log_placement
        while True:
            tilts = Tilts(self._transform, upper, scale, self._support)
            steepest = float(tilts.theta(1, TILTS.first))
            if span < math.inf and steepest * span + log_best > SETTINGS.most_at_first:
                upper *= 2.0
                continue
            thetas, log_mgfs = tilts.ladder(1, 1)
            is_gentle = not log_mgfs[0] - thetas[0] * self._mean > SETTINGS.most_at_first
            # The scale of a value's own paths is that of its tilt.
            if is_gentle or upper >= SETTINGS.largest_scale * scale:
                return tilts
            upper *= 2.0

    def tail(self, s: Floats, sign: int) -> TailEstimates:
        """``P(S >= s)`` (sign 1) or ``P(S <= s)`` (sign -1) between their bounds.

        What a smooth distribution would have between the same bounds; the enclosure is the distance
        to the farther one. Of merged blocks the bounds are those of the merged ones. With a
        tolerance, and where others are not bounded, some paths are assumed to be negligible: the
        distance is no proof then, and counts as truncation.
        """
        is_free = not (self._tolerance and self._transform.has_paths)
        proves = is_free and not self._transform.merged
        lower, upper, decay, proved = self._log_bounds(s, sign, False, proves)
        are_proved = proved <= upper + SETTINGS.close_to_proved
        upper = np.where(are_proved, proved, upper)
        (log_p, error), known = _between(lower, upper, decay), np.isfinite(lower)
        merging = np.zeros(s.shape)
        if self._transform.merged:
            coarse = _between(*self._log_bounds(s, sign, True, False)[:3])[0]
            both, has_ties = known & np.isfinite(coarse), self._transform.merges_ties
            log_p, merging = without_merging(log_p, coarse, both, has_ties)
            log_p, merging = np.where(both, log_p, 0.0), np.where(both, merging, np.inf)
        return TailEstimates.of(
            np.where(known, np.minimum(log_p, 0.0), upper),
            "band-limited bounds",
            enclosure=np.where(are_proved | ~known, error, 0.0),
            truncation=np.where(are_proved | ~known, 0.0, error),
            merging=merging,
        )

    def log_bounds(self, s: Floats, sign: int) -> tuple[Floats, Floats]:
        """Logs of guaranteed bounds; -inf and 0 where none are affordable, or blocks are merged."""
        if self._transform.merged:
            return np.full(s.shape, -np.inf), np.zeros(s.shape)
        lower, _, _, proved = self._log_bounds(s, sign, False, True)
        return lower, proved

    def _log_bounds(self, s: Floats, sign: int, coarse: bool, proves: bool) -> Enclosed:
        """Logs of bounds, the tightest of those that are computed until they are close enough."""
        lower, upper, decay, proved = self._bounds_of_tolerance(s, sign, coarse, proves)
        for finer in self._finer:
            log_p, error = _between(lower, upper, decay)
            accepted = accepted_error(self._tolerance, log_p)
            accepted = accepted if self._tolerance else accepted + SETTINGS.too_wide
            are_wide = np.isfinite(error) & (error > accepted)
            wide = np.flatnonzero(are_wide)
            if not wide.size:
                break
            found = finer._bounds_of_tolerance(s[wide], sign, coarse, proves)
            low, high, their_decay, their_proved = found
            closer = wide[high - low < (upper - lower)[wide]]
            decay[closer] = their_decay[np.isin(wide, closer)]
            lower[wide], upper[wide] = np.maximum(lower[wide], low), np.minimum(upper[wide], high)
            proved[wide] = np.minimum(proved[wide], their_proved)
        return Enclosed(lower, upper, decay, proved)

    @cached_property
    def _finer(self) -> list[BandLimitedTails]:
        """The same with smaller tolerances, or with more work."""
        numbers = self._transform, self._n_samples, self._mean, self._scale, self._support
        if not self._tolerance:
            more = BandLimitedTails(*numbers, 0.0, self._tilts, spares_work=False)
            return [more] if self._spares_work else []
        tolerances = {part * self._tolerance for part in SETTINGS.finer} - {self._tolerance}
        return [
            BandLimitedTails(*numbers, tolerance, self._tilts)
            for tolerance in sorted(tolerances, reverse=True)
        ]

    def _bounds_of_tolerance(self, s: Floats, sign: int, coarse: bool, proves: bool) -> Enclosed:
        """Logs of the bounds that may be as close as the tolerance wants."""
        found = Enclosed(np.full(s.shape, -np.inf), *(np.full(s.shape, x) for x in (0.0, 1.0, 0.0)))
        for log_aliases in SETTINGS.log_aliases:
            open_ = np.flatnonzero(np.isneginf(found.lower))
            if open_.size:
                self._tighten(s, sign, coarse, proves, open_, log_aliases, found)
        np.minimum(found.upper, 0.0, out=found.upper)
        np.minimum(found.proved, 0.0, out=found.proved)
        return found

    def _tighten(
        self,
        s: Floats,
        sign: int,
        coarse: bool,
        proves: bool,
        open_: Integers,
        log_aliases: float,
        bounds: Enclosed,
    ) -> None:
        """Tighten the bounds of some values, in place, with aliases of that size at most."""
        lower, upper, decay, proved = bounds
        left = []
        for i in open_.tolist():
            own = self._own_bounds(float(s[i]), sign)
            if own is None:
                left.append(i)
            else:
                lower[i], upper[i], decay[i] = own
                if proves:
                    beyond = self._transform.log_beyond_limits(float(s[i]), sign)
                    proved[i] = np.logaddexp(upper[i], beyond)
        open_ = np.array(left, dtype=np.int64)
        places, periods = self._planned(s[open_], sign, log_aliases)
        for place, period in sorted(set(zip(places.tolist(), periods.tolist(), strict=True))):
            of_period = open_[(places == place) & (periods == period)]
            if math.isnan(period):
                continue
            exponents = self._tilts.exponents(sign, np.full((1, 1), place), s[of_period])[0]
            n_nodes = self._n_nodes(exponents, sign, place, period)
            for n in sorted(set(n_nodes[n_nodes > 0].tolist())):
                same = of_period[n_nodes == n]
                found = self._bounds(s[same], sign, place, period, n, coarse, proves)
                if found is not None:
                    lower[same] = found[0]
                    upper[same] = np.minimum(upper[same], found[1])
                    proved[same] = np.minimum(proved[same], found[2])
                    decay[same] = float(self._turns(sign, place, period)) / n

    @cached_method
    def _own_bounds(self, s: float, sign: int) -> tuple[float, float, float] | None:
        """The bounds of a value from the paths that carry its tail, where others are costly."""
        if self._transform.is_limited or not self._support[0] <= s <= self._support[1]:
            return None
        if not (self._transform.jumps(s, sign) or self._is_costly(s, sign)):
            return None
        found = self._transform.limited(s, sign)
        if found is None:
            return None
        numbers = self._n_samples, self._mean, found.deviation, self._support, self._tolerance
        tilts = TiltsOfPaths(found.transform, found.tilt, found.deviation, self._support)
        tails = BandLimitedTails(found.transform, *numbers, tilts)
        bounds = tails._bounds_of_tolerance(np.array([s]), sign, False, False)
        lower, upper, decay = (float(each[0]) for each in bounds[:3])
        upper = float(np.logaddexp(upper, found.log_rest))
        return None if math.isinf(lower) else (lower, upper, decay)

    def _is_costly(self, s: float, sign: int) -> bool:
        """Whether a band of all paths takes long, or is not known."""
        if not self._transform.has_paths:
            return False
        places, periods = self._planned(np.array([s]), sign, SETTINGS.log_aliases[0])
        exponent = self._tilts.exponents(sign, places[None], np.array([s]))[0]
        if not np.isfinite(exponent + periods).all():
            return True
        width = min(float(self._wanted(exponent)[0]), SETTINGS.useful)
        costly = max(SETTINGS.costly, SETTINGS.costly_by_block * self._transform.n_blocks)
        return bool(width * self._cost(sign, places, periods)[0] > costly)

    def _planned(self, s: Floats, sign: int, log_aliases: float) -> tuple[Floats, Floats]:
        """Index of a tilt and of a period for each value; nan where no tilt is known.

        Near a jump of the tilted distribution to another hump, aliases of that hump make periods
        long, and other tilts are tried: those farther from the jump. Paths of a value's own have no
        other hump.
        """
        places = at_saddle = self._tilts.saddle(s, sign)
        periods = self._period(s, sign, places, log_aliases)
        if self._transform.has_paths:
            return places, periods
        costs = self._cost(sign, places, periods)
        places = places.copy()
        for shift in SETTINGS.shifts:
            long = np.flatnonzero(self._turns(sign, places, periods) > SETTINGS.many_turns)
            if not long.size:
                break
            others = at_saddle[long] + shift
            their_periods = self._period(s[long], sign, others, log_aliases)
            their_costs = self._cost(sign, others, their_periods)
            both = np.array([others, at_saddle[long]])
            excess = np.ptp(self._tilts.exponents(sign, both, s[long]), axis=0)
            cheaper = SETTINGS.saves * their_costs < costs[long]
            better = cheaper & (excess < SETTINGS.most_excess)
            at = long[better]
            places[at], periods[at], costs[at] = (
                each[better] for each in (others, their_periods, their_costs)
            )
        return places, periods

    def _cost(self, sign: int, places: Floats, periods: Floats) -> Floats:
        """Turns times products of a pass; infinite where a tilt is not known."""
        products = np.array(
            [
                self._transform.work(float(self._tilts.theta(sign, place)), place > EXTREME)
                for place in places.tolist()
            ]
        )
        costs = self._turns(sign, places, periods) * products
        return np.where(np.isnan(costs), np.inf, costs)

    def _bounds(
        self,
        s: Floats,
        sign: int,
        place: float,
        period: float,
        n_nodes: int,
        coarse: bool,
        proves: bool,
    ) -> tuple[Floats, Floats, Floats] | None:
        """Logs of the bounds of values that share all nodes; None if the transform is not known.

        The lower bound, an upper one if paths that are left out are negligible, and a proved one.
        """
        theta, length = float(self._tilts.theta(sign, place)), float(self._length(sign, period))
        logs = self._logs(theta, length, n_nodes, place > EXTREME, coarse)
        if not np.isfinite(logs).all():
            return None
        log_scale = float(logs[0].real) - theta * s
        # A transform is largest at its real node, unless paths have left the range of floats.
        if logs.real.max() > logs[0].real + SETTINGS.rounding:
            return None
        # Under an extreme tilt these may be the paths that matter. Of merged blocks the tilts know
        # the transform of those that are merged more.
        if place > EXTREME and not self._transform.merged:
            known = float(self._tilts.around(sign, place)[1][1])
            if not abs(known - logs[0].real) <= SETTINGS.same:
                return None
        rounded = SETTINGS.ulps * np.finfo(float).eps * (abs(logs[0].real) + np.abs(theta * s))
        terms = np.exp(logs - logs[0].real)
        majorant, gap = majorant_and_gap(abs(theta) * length / n_nodes, n_nodes)
        turn = sign * 2.0 * np.pi / length
        upper, distance = (
            _sums(weights * (terms if sign > 0 else terms.conj()), turn, s) / n_nodes
            for weights in (majorant, gap)
        )
        is_extreme = place > EXTREME
        left_out = self._transform.left_out(theta, is_extreme)
        doubt = self._transform.rounding * float(np.abs(majorant * terms).sum())
        if not self._transform.has_paths:
            # What is left out is a part of each node, as of sums of weights.
            doubt += left_out * float(np.abs(majorant).sum())
        doubt /= n_nodes
        aliases = self._log_aliases(s, sign, place, length, log_scale)
        lower = upper - distance - 3.0 * doubt - np.exp(np.minimum(aliases, 50.0))
        # Of the tail of other paths the share in the tilted total is a bound.
        assumed = left_out + SETTINGS.beyond
        outside = math.inf
        if proves:
            log_outside = self._transform.log_outside(theta, is_extreme) - float(logs[0].real)
            outside = math.exp(min(log_outside, LARGEST_LOG))
        bounds = lower, upper + doubt + assumed, upper + doubt + outside
        with np.errstate(divide="ignore"):
            low, high, proved = np.log(np.maximum(bounds, 0.0)) + log_scale
        return low - rounded, high + rounded, proved + rounded

    def _turns(self, sign: int, place: Any, period: Any) -> Any:
        """The tilt times the period."""
        return np.abs(self._tilts.theta(sign, place)) * self._length(sign, period)

    def _n_nodes(self, exponent: Floats, sign: int, place: float, period: float) -> Integers:
        """Number of nodes over half a period of the band; 0 if too few are affordable."""
        theta, turns = (
            float(self._tilts.theta(sign, place)),
            float(self._turns(sign, place, period)),
        )
        if not math.isfinite(turns):
            return np.zeros(exponent.shape, dtype=np.int64)
        work = self._transform.work(theta, place > EXTREME)
        affordable, most = (
            min(SETTINGS.most_nodes, each / work) / turns
            for each in (self._work, self._useful_work)
        )
        width = np.minimum(self._wanted(exponent), max(affordable, min(most, SETTINGS.useful)))
        nodes = np.ceil(width * turns)
        return np.asarray(np.where(width >= SETTINGS.narrowest, nodes, 0.0), dtype=np.int64)

    def _wanted(self, exponent: Floats) -> Floats:
        """Tilts that a band should be wide."""
        if not self._tolerance:
            return np.full(exponent.shape, SETTINGS.widest)
        # Bounds are apart by the factor exp(theta / width).
        accepted = SETTINGS.part_of_tolerance * accepted_error(self._tolerance, exponent)
        steps = np.ceil(SETTINGS.periods_of_octave * np.log2(0.5 / np.log1p(accepted)))
        wanted = 2.0 ** (steps / SETTINGS.periods_of_octave)
        return np.asarray(np.clip(wanted, SETTINGS.least_wanted, SETTINGS.widest))

    @cached_method
    def _logs(
        self, theta: float, length: float, n_nodes: int, is_extreme: bool, coarse: bool
    ) -> Complexes:
        """Log transforms at the nodes, up to some that are not known."""
        z = np.asarray(theta + 2j * np.pi / length * np.arange(n_nodes), dtype=complex)
        chunk = max(SETTINGS.chunk, SETTINGS.state // self._transform.most_rows(theta, is_extreme))
        logs: list[Complexes] = []
        # Where the range of floats is too small it is for some of the first nodes.
        few = SETTINGS.first_nodes
        rest = np.array_split(z[few:], max(1, -(-n_nodes // chunk)))
        for part in filter(len, (z[:few], *rest)):
            logs.append(self._transform.at(theta, part, is_extreme, coarse))
            if not np.isfinite(logs[-1]).all():
                break
        return np.concatenate(logs)

    # Periods and aliases

    def _length(self, sign: int, period: Any) -> Any:
        return self._tilts.scales[sign] * 2.0 ** (period / SETTINGS.periods_of_octave)

    def _period(self, s: Floats, sign: int, places: Floats, log_aliases: float) -> Floats:
        """Index of the shortest period whose aliases are negligible, for each value."""
        periods, scale = np.full(s.shape, np.nan), self._tilts.scales[sign]
        end = self._support[1] if sign > 0 else self._support[0]
        for place in sorted(set(places.tolist())):
            same = np.flatnonzero(places == place)
            exponent = self._tilts.exponents(sign, np.full((1, 1), place), s[same])[0]
            if not np.isfinite(exponent).all():
                continue
            apart, excess = self._excess(s[same], sign, place, exponent)
            # A tail is about this much smaller than its Chernoff bound.
            spread = abs(float(self._tilts.theta(sign, place))) * self._deviation(sign, place)
            ratio = math.log1p(math.sqrt(2.0 * math.pi) * spread)
            needed = ratio - self._largest_aliases(log_aliases, exponent)
            lengths = (needed + np.maximum(excess, -0.5 * needed)) / np.abs(apart)[:, None]
            before = lengths[apart < 0.0].min(axis=0)
            beyond = lengths[apart > 0.0].min(axis=0, initial=np.inf)
            beyond = np.minimum(beyond, np.maximum(sign * (end - s[same]), 0.0) * (1.0 + 1e-6))
            octaves = np.log2(np.maximum(before, beyond) / scale)
            periods[same] = np.ceil(SETTINGS.periods_of_octave * octaves)
        return periods

    def _deviation(self, sign: int, place: float) -> float:
        """Standard deviation under a tilt, or without one if it is not known."""
        deviation = self._tilts.deviation(sign, place)
        return deviation if math.isfinite(deviation) else self._tilts.scales[sign]

    def _largest_aliases(self, log_aliases: float, exponent: Floats) -> Floats:
        """Log of the aliases relative to the tail that are small enough."""
        if not self._tolerance or log_aliases < SETTINGS.log_aliases[0]:
            return np.full(exponent.shape, log_aliases)
        accepted = accepted_error(self._tolerance, exponent)
        return np.asarray(np.log(SETTINGS.aliases_of_tolerance * accepted))

    def _log_aliases(
        self, s: Floats, sign: int, place: float, length: float, exponent: Floats
    ) -> Floats:
        """Log of a bound of the aliases in the minorant, in units of the Chernoff bound.

        Probability j periods beyond s is magnified by ``exp(theta j T)``, and that before s is
        damped by as much. A Chernoff bound of it with another tilt makes a geometric series.
        The log transform of that tilt has to be one of the same paths, whatever leads to it.
        """
        apart, excess = self._excess(s, sign, place, exponent)
        fall = np.abs(apart) * length
        series = excess - (fall + np.log(-np.expm1(-fall)))[:, None]
        before, beyond = (
            self._of_best_tilt(series, np.flatnonzero(side), sign, place)
            for side in (apart < 0.0, apart > 0.0)
        )
        end = self._support[1] if sign > 0 else self._support[0]
        beyond = np.where(sign * (end - s) < length, -np.inf, beyond)
        return np.asarray(np.logaddexp(before, beyond))

    def _of_best_tilt(self, series: Floats, tilts: Integers, sign: int, place: float) -> Floats:
        """The series of the tilt that looks best for each value, of the paths of one tilt."""
        if not tilts.size:
            return np.full(series.shape[1], np.inf)
        best = tilts[series[tilts].argmin(axis=0)]
        lacking = np.array([self._lacking(sign, place, tilt) for tilt in best.tolist()])
        return np.asarray(series[best, np.arange(best.size)] + lacking)

    @cached_method
    def _lacking(self, sign: int, place: float, tilt: int) -> float:
        """What the log transform of another tilt lacks to that of the paths of one tilt.

        Other tilts are known from merged blocks, or from paths of their own.
        """
        thetas, log_mgfs = (np.delete(each, 1) for each in self._tilts.around(sign, place))
        if self._transform.is_limited or thetas[tilt] == 0.0 or math.isinf(log_mgfs[tilt]):
            return 0.0
        theta, other = float(self._tilts.theta(sign, place)), float(thetas[tilt])
        within = self._transform.log_mgf_within(theta, place > EXTREME, other)
        return float(within - log_mgfs[tilt])

    def _excess(
        self, s: Floats, sign: int, place: float, exponent: Floats
    ) -> tuple[Floats, Floats]:
        """Differences of other tilts from one, and of the exponents of their Chernoff bounds."""
        thetas, log_mgfs = (np.delete(each, 1) for each in self._tilts.around(sign, place))
        apart = np.abs(thetas) - abs(float(self._tilts.theta(sign, place)))
        return apart, np.asarray(log_mgfs[:, None] - np.outer(thetas, s) - exponent)


def _between(lower: Floats, upper: Floats, decay: Floats) -> tuple[Floats, Floats]:
    """Log of the tail that a smooth distribution would have between the logs of two bounds; error.

    The integrals of the minorant, of the gap and of what they enclose are ``1 / (exp(decay) - 1)``,
    1 and ``1 / decay``. The relative error is that of the farther bound.
    """
    share = 1.0 / decay - 1.0 / np.expm1(decay)
    log_p = np.logaddexp(lower + np.log1p(-share), upper + np.log(share))
    with np.errstate(invalid="ignore"):
        error = np.expm1(np.minimum(np.maximum(upper - log_p, log_p - lower), LARGEST_LOG))
    return log_p, np.where(np.isfinite(lower), error, np.inf)


def majorant_and_gap(decay: float, n_nodes: int) -> tuple[Complexes, Complexes]:
    """Fourier transforms of the majorant of ``exp(-decay x)``, x >= 0, and of its gap, at nodes.

    The nodes are t = k / n_nodes for k = 0, 1, ...; those of k and -k are conjugate, and all but
    the first count twice. The gap is the majorant less the minorant, ``sinc(x)**2``.
    """
    t = np.arange(n_nodes) / n_nodes
    rest = -np.expm1(-decay - 2j * np.pi * t)
    gap = (1.0 - t).astype(complex)
    majorant = gap / rest
    ratio = decay / math.expm1(decay) if decay > 0.0 else 1.0
    majorant[1:] += (ratio - decay * (1.0 - rest[1:]) / rest[1:]) / (2j * np.pi)
    majorant[1:] *= 2.0
    gap[1:] *= 2.0
    return majorant, gap


def _sums(terms: Complexes, turn: float, s: Floats) -> Floats:
    """Real parts of the sums of ``terms[k] exp(-i k turn s)`` for each s."""
    return np.array([_sum(terms, turn * value) for value in s.tolist()])


def _sum(terms: Complexes, angle: float) -> float:
    """Horner's rule by halves would be no more accurate than the exponentials."""
    return float((terms * np.exp(-1j * angle * np.arange(terms.size))).sum().real)
