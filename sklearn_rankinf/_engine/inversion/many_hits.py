"""Tails of sums over many hits, from the hits as a Markov chain under a tilt.

Under an exponential tilt the hits found up to the end of each block are a Markov chain still. With
many hits its transition probabilities are smooth at the scale of single hits, and sums over hits
are sums over every second one, or every fourth, up to aliases ``exp(-2 pi**2 v / d**2)`` for a step
d and hits of variance v in a block (Poisson's formula). The chain is found by a forward and a
backward pass along the real axis; along a contour it is

    E exp(z S) / E exp(theta S) = E_theta exp((z - theta) S),

the mean of numbers of size 1 under probabilities. So nothing leaves the range of floats, however
extreme the tilt is, and the cost does not depend on the number of hits.

A value takes the trapezoidal rule under a tilt near its saddle point; tilts are those of a fixed
sequence, so that no result depends on other values. Blocks are merged, and once more for
comparison, as on plain contours. See "Many hits" in doc/theory.rst.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._engine.estimates import (
    ROUGH_TOLERANCE,
    TailEstimates,
    accepted_error,
    exp_of_error,
    without_merging,
)
from sklearn_rankinf._engine.inversion.bands import feasible_bands, mean_paths, values_of_mean_paths
from sklearn_rankinf._engine.inversion.nodes import (
    Nodes,
    Returns,
    first_nodes_and_returns,
    geometric_rows,
)
from sklearn_rankinf._statistics import (
    Complexes,
    Floats,
    Increments,
    Integers,
    binomial_log_weights,
    cached_method,
    cached_property,
    log_probability_of_hits,
)


@dataclass(frozen=True)
class ManyHitsSettings:
    """Settings of the chain and of its contours."""

    # Standard deviations of the hits in a block that make a step.
    per_step: float = 1.6
    # Half-width of the first window: standard deviations, and hits; widths that are tried.
    deviations: float = 8.0
    hits: float = 6.0
    widths: tuple[float, ...] = (1.0, 1.6, 2.5)
    # Share of the tilted total below which a row, or a number of hits in a block, is left out.
    negligible: float = 1e-13
    # The first tilt is one over the standard deviation, and so many more go to an octave; numbers
    # of them that are tried for the search.
    per_octave: int = 2
    n_tilts: tuple[int, ...] = (12, 24, 36)
    # Neighbouring tilts in use are about this many tilted deviations of the value apart, and no
    # value is farther than `far` of them from the tilted mean. Tilts are moved so many times.
    apart: float = 0.5
    far: float = 1.5
    n_moves: int = 5
    # Periods and heights of contours, in tilted deviations; of the longer ones each is doubled.
    period: float = 14.0
    n_periods: int = 4
    height: float = 5.5
    height_accurate: float = 7.0
    # Truncation, relative to all terms, above which a contour is doubled, up to so many times.
    enough: float = 1e-3
    enough_accurate: float = 1e-6
    n_lengths: int = 4
    aliasing: float = 12.0
    # Samples of the transform beyond the nodes.
    n_probes: int = 12
    # Tilts, in tilted deviations, whose Chernoff bounds hold aliases down.
    bounding: tuple[float, ...] = (-12.0, -7.0, -4.0, 4.0, 7.0, 12.0)
    # Levels of merging that are tried, until the error is good; and before the last one, tolerable.
    n_levels: int = 3
    good: float = 1e-3
    tolerable: float = 3e-2
    rounding: float = 1e-9
    # Heights, in deviations, at which the transform shows the mean, by an angle that is less than a
    # half turn away from the values that are typical of each block, and the deviation.
    small: tuple[float, float] = (1e-5, 0.1)


SETTINGS = ManyHitsSettings()


@dataclass(frozen=True, eq=False)
class _Step:
    """Transitions of a block: rows of hits before it, columns of hits in it.

    Row i has ``lowest + spread i step`` hits before the block, column k ``fewest + k step`` in it;
    both lead to place ``spread i + k + shift`` behind it, of which there are `n_after`, and every
    `thinned` one is a row of the next block.
    """

    block: int
    step: int
    spread: int
    thinned: int
    lowest: int
    fewest: int
    shift: int
    n_after: int
    weights: Floats

    @property
    def hits(self) -> Integers:
        """Numbers of hits in the block."""
        return self.fewest + self.step * np.arange(self.weights.shape[1])

    @property
    def _frame(self) -> tuple[int, int, int]:
        """Places of all sums before those behind the block, the first of these, and all places."""
        n_rows, n_hits = self.weights.shape
        front, begin = max(0, self.shift), max(0, -self.shift)
        reached = front + (n_rows - 1) * self.spread + n_hits
        return front, begin, max(reached, begin + self.n_after)

    @property
    def _places(self) -> Integers:
        n_rows, n_hits = self.weights.shape
        return np.add.outer(self.spread * np.arange(n_rows), np.arange(n_hits)) + self._frame[0]

    def forward(self, state: Floats) -> Floats:
        """Weights of the rows behind the block."""
        _, begin, size = self._frame
        terms = self.weights * state[:, None]
        sums = np.bincount(self._places.ravel(), terms.ravel(), size)
        return np.asarray(sums[begin : begin + self.n_after : self.thinned])

    def ahead(self, later: Floats) -> Floats:
        """Weights of all transitions, with those of what follows."""
        _, begin, size = self._frame
        sums = np.zeros(size)
        sums[begin : begin + self.n_after : self.thinned] = later
        return np.asarray(self.weights * sums[self._places])

    def within(self, rows: slice, hits: slice, later: slice, weights: Floats) -> _Step:
        """The transitions of some rows and hits to some rows behind the block."""
        lowest = self.lowest + self.spread * self.step * rows.start
        shift = self.shift + self.spread * rows.start + hits.start - self.thinned * later.start
        return replace(
            self,
            lowest=lowest,
            fewest=self.fewest + self.step * hits.start,
            shift=shift,
            n_after=self.thinned * (later.stop - later.start - 1) + 1,
            weights=weights[rows, hits],
        )

    def through(
        self, state: Complexes, increments: Increments, shifts: Complexes
    ) -> tuple[Complexes, float]:
        """Means of the rows behind the block, less the exponential of a value; and the value."""
        front, begin, size = self._frame
        n_rows, n_hits = self.weights.shape
        middle = n_rows // 2
        before = self.lowest + self.spread * self.step * middle
        gains = increments.gain(self.block, before, self.hits)
        typical = float(gains[n_hits // 2])
        heads = np.exp(np.multiply.outer(gains - typical, shifts))
        crossed = float(increments.cross[self.block]) if n_rows > 1 else 0.0
        if crossed:
            # A further hit in the block adds in proportion to the hits before it.
            turn = crossed * self.spread * self.step * shifts
            powers = np.empty((n_rows, shifts.size), complex)
            geometric_rows(np.exp(-middle * turn), np.exp(turn), powers)
            state = state * powers**self.fewest
            powers = powers**self.step
        sums = np.zeros((size, shifts.size), complex)
        last = front + (n_rows - 1) * self.spread + 1
        for k in range(n_hits):
            if k and crossed:
                state = state * powers
            moved = self.weights[:, k : k + 1] * state
            moved *= heads[k]
            sums[front + k : last + k : self.spread] += moved
        return sums[begin : begin + self.n_after : self.thinned], typical


class TiltedHits:
    """The numbers of hits up to the ends of blocks under a tilt: a Markov chain on a grid.

    Attributes
    ----------
    log_mgf : float
        ``log E exp(theta S)``.
    left_out : float
        Share of the tilted total that is left out, at most.
    """

    def __init__(self, increments: Increments, steps: list[_Step], log_mgf: float) -> None:
        self._increments, self._steps, self.log_mgf = increments, steps, log_mgf
        self.left_out = 4.0 * SETTINGS.negligible * len(steps)

    @classmethod
    def of(cls, increments: Increments, n_positives: int, theta: float) -> TiltedHits | None:
        """The chain; None if its paths have two humps, or no window has room for them."""
        paths, balance, hits = mean_paths(increments, n_positives, np.array([theta]))
        hits, balance = hits[0], balance[:, 0]
        variances = np.maximum(hits * (1.0 - hits / increments.sizes), 0.0)
        up_to = np.cumsum(variances)
        around = np.sqrt(np.maximum(up_to * (1.0 - up_to / up_to[-1]), 0.0))
        # A second hump is far lower where it is far away, but for a few hits more at the top.
        apart = np.cumsum(paths - hits, axis=1)
        humps = apart.min(axis=0), apart.max(axis=0)
        for width in SETTINGS.widths:
            window = _Window.of(increments, n_positives, hits, variances, around, humps, width)
            found = _chain(increments, n_positives, theta, balance, window) if window else None
            if found is not None:
                return cls(increments, *found)
        return None

    def mean_and_deviation(self, scale: float) -> tuple[float, float]:
        """Mean and standard deviation under the tilt, which is not much larger than a scale."""
        deviation = scale
        for _ in range(2):
            low, high = np.array(SETTINGS.small) / deviation
            near, far = self.log_means(np.array([1j * low, 1j * high])).tolist()
            deviation = math.sqrt(max(-2.0 * far.real, 0.0)) / high
            if not deviation:
                break
        return near.imag / low, deviation

    def log_means(self, shifts: Complexes) -> Complexes:
        """Logs of ``E_theta exp(shift S)`` for every shift; nan out of the range of floats."""
        state, values = np.ones((1, shifts.size), complex), 0.0
        # Real shifts may leave the range of floats.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            for step in self._steps:
                state, typical = step.through(state, self._increments, shifts)
                values += typical
            return np.asarray(np.log(state[0]) + values * shifts)


@dataclass(frozen=True, eq=False)
class _Window:
    """Rows behind each block on their grids, and hits in each block.

    Attributes
    ----------
    steps : ndarray of shape (n_blocks,)
        Distance of the rows behind each block; the number of all hits is on all grids.
    low, high, fewest, most : ndarray of shape (n_blocks,)
        First and last row behind each block, fewest and most hits in it.
    is_end : ndarray of shape (4, n_blocks)
        Whether each of these is as far out as it can be.
    path : ndarray of shape (n_blocks,)
        Mean hits up to the end of each block.
    """

    steps: Integers
    low: Integers
    high: Integers
    fewest: Integers
    most: Integers
    is_end: NDArray[np.bool_]
    path: Floats

    @classmethod
    def of(
        cls,
        increments: Increments,
        m: int,
        hits: Floats,
        variances: Floats,
        around: Floats,
        humps: tuple[Floats, Floats],
        width: float,
    ) -> _Window | None:
        """Some deviations around mean hits; None if some block has no row."""
        alone = np.sqrt(np.maximum(variances * (1.0 - variances / variances.sum()), 0.0))
        steps = np.exp2(np.floor(np.log2(np.maximum(alone / SETTINGS.per_step, 1.0))))
        steps = steps.astype(np.int64)
        steps[:-1] = np.minimum(steps[:-1], steps[1:])
        path, feasible = np.cumsum(hits), feasible_bands(increments, m)
        reach = width * (SETTINGS.deviations * around + SETTINGS.hits)
        reach_in_block = width * (SETTINGS.deviations * np.sqrt(variances) + SETTINGS.hits)
        low, high = np.floor(path + humps[0] - reach), np.ceil(path + humps[1] + reach)
        in_block = (np.diff(each, prepend=0.0) for each in humps)
        fewer, more = (np.sort(np.array([*in_block, np.zeros(hits.size)]), axis=0))[[0, -1]]
        fewest = np.floor(hits + fewer - reach_in_block)
        most = np.ceil(hits + more + reach_in_block)
        is_end = np.array(
            [low <= feasible.low, high >= feasible.high, fewest <= 0, most >= feasible.most]
        )
        low = np.maximum(low, feasible.low).astype(np.int64)
        high = np.minimum(high, feasible.high).astype(np.int64)
        low, high = m - steps * ((m - low) // steps), m + steps * ((high - m) // steps)
        if np.any(low > high):
            return None
        fewest = np.maximum(fewest, 0).astype(np.int64)
        most = np.minimum(most, feasible.most).astype(np.int64)
        return cls(steps, low, high, fewest, most, is_end, path)


def _chain(
    increments: Increments, m: int, theta: float, balance: Floats, window: _Window
) -> tuple[list[_Step], float] | None:
    """Transition probabilities within a window, and the log transform; None if it has no room."""
    n, before = increments.n_samples, 0.0
    steps: list[_Step] = []
    states, log_mgf = [np.ones(1)], -log_probability_of_hits(n, m)
    lowest, step_before, path = 0, int(window.steps[0]), 0.0
    for block, size in enumerate(increments.sizes.tolist()):
        step_behind, low = int(window.steps[block]), int(window.low[block])
        step = min(step_before, step_behind)
        fewest = int(window.fewest[block])
        fewest += (low - lowest - fewest) % step
        y = np.arange(fewest, int(window.most[block]) + 1, step)
        if not y.size:
            return None
        h = (lowest + step_before * np.arange(states[-1].size))[:, None]
        # Rows are balanced as the weights of later blocks change with the hits.
        here, reached = float(balance[block]), float(window.path[block])
        logs = theta * increments.gain(block, h, y) + here * (h + y - reached) - before * (h - path)
        logs += binomial_log_weights(size, min(size, m), n, m)[y]
        largest = float(logs.max())
        at = _Step(
            block,
            step,
            step_before // step,
            step_behind // step,
            lowest,
            fewest,
            (lowest + fewest - low) // step,
            (int(window.high[block]) - low) // step + 1,
            np.exp(logs - largest),
        )
        state = at.forward(states[-1])
        total = float(state.sum())
        if not 0.0 < total < math.inf:
            return None
        log_mgf += largest + math.log(total)
        if block:
            log_mgf += math.log(step_before)
        steps.append(at)
        states.append(state / total)
        lowest, step_before, before, path = low, step_behind, here, reached
    log_mgf -= before * (m - path)
    found = _probabilities(steps, states, window)
    return None if found is None else (found, log_mgf)


def _probabilities(steps: list[_Step], states: list[Floats], window: _Window) -> list[_Step] | None:
    """Transitions as probabilities, of rows that carry the total; None if there is no room."""
    later, behind, found = np.ones(1), slice(0, 1), []
    for at, state in zip(steps[::-1], states[-2::-1], strict=True):
        ahead = at.ahead(later)
        total = ahead.sum(axis=1)
        rows, hits = _carrying(state * total), _carrying(state @ ahead)
        is_end = window.is_end[:, at.block]
        if not (hits.start or is_end[2]) or not (hits.stop < ahead.shape[1] or is_end[3]):
            return None
        if at.block:
            is_end = window.is_end[:, at.block - 1]
            if not (rows.start or is_end[0]) or not (rows.stop < total.size or is_end[1]):
                return None
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = ahead / total[:, None]
        found.append(at.within(rows, hits, behind, weights))
        later, behind = total / total.max(), rows
    return found[::-1]


def _carrying(shares: Floats) -> slice:
    """All but negligible ones at both ends."""
    kept = np.flatnonzero(shares > SETTINGS.negligible * shares.sum())
    return slice(int(kept[0]), int(kept[-1]) + 1)


class ManyHitsInversion:
    """Tails of a sum over many hits, on either side of its mean.

    Parameters
    ----------
    blocks : callable
        Returns the increments of a level of merging, those of higher levels merged less.
    n_positives : int
        Number of hits.
    scale : float
        Standard deviation of the statistic.
    tolerance : float, default=0.0
        Relative error that is accepted.
    has_ties : bool, default=False
        Whether blocks of equal scores are merged, which errs less regularly than untied ranks.
    """

    def __init__(
        self,
        blocks: Callable[[int], Increments],
        n_positives: int,
        scale: float,
        tolerance: float = 0.0,
        has_ties: bool = False,
    ) -> None:
        self._blocks = cache(blocks)
        self._n_positives, self._scale, self._tolerance = n_positives, scale, tolerance
        self._has_ties = has_ties

    def tail(self, s: Floats, sign: int) -> TailEstimates:
        """``P(S >= s)`` (sign 1) or ``P(S <= s)`` (sign -1), on the tail's side of the mean.

        The error is infinite where the tilted distribution has two humps, or is not known.
        """
        found = TailEstimates.unknown(s.shape)
        contours: dict[float, list[int]] = {}
        for i, value in enumerate(s.tolist()):
            place = self._place(value, sign)
            if place is not None:
                contours.setdefault(place, []).append(i)
        for place, places in contours.items():
            contour, open_ = self._contour(sign, place), np.array(places)
            assert contour is not None
            for level in range(SETTINGS.n_levels):
                found.put_better(open_, contour.tail(s[open_], level, self._has_ties))
                error = found.error.at(open_)
                known = np.where(np.isfinite(error.total), found.log_p[open_], 0.0)
                least = SETTINGS.good if level + 2 < SETTINGS.n_levels else SETTINGS.tolerable
                good = np.maximum(least, accepted_error(self._tolerance, known))
                is_merging = (error.merging > 0.5 * error.total) | np.isinf(error.total)
                open_ = open_[(error.total > good) & is_merging]
                if not open_.size:
                    break
        return found

    def _place(self, s: float, sign: int) -> float | None:
        """Index of a tilt under which a value is near the mean; None if none is found."""
        thetas, values = self._ladder(sign, s)
        at = int(np.searchsorted(sign * values, sign * s))
        if not 0 < at < thetas.size:
            if at == thetas.size:
                return None
            place = 0.0
        else:
            part = (s - values[at - 1]) / (values[at] - values[at - 1])
            place = (at - 1 + part) / SETTINGS.per_octave
        # Tilts are the closer together the farther a step moves the mean.
        slope = max(abs(float(np.gradient(values, thetas)[min(at, thetas.size - 1)])), 1e-300)
        for _ in range(SETTINGS.n_moves):
            theta = abs(self._theta(sign, place))
            moved = theta * math.sqrt(slope) * math.log(2.0) / SETTINGS.apart
            grid = 2.0 ** -math.ceil(math.log2(max(moved, 1.0)))
            place = max(0.0, round(place / grid) * grid)
            contour = self._contour(sign, place)
            if contour is None:
                return None
            away = sign * (s - contour.mean)
            if abs(away) <= SETTINGS.far * contour.deviation or (place == 0.0 and away < 0.0):
                return place
            slope = contour.deviation**2
            theta += away / slope
            place = math.log2(max(theta * self._scale, 1.0))
        return None

    def _theta(self, sign: int, place: float) -> float:
        return float(sign * 2.0**place / self._scale)

    def _ladder(self, sign: int, s: float) -> tuple[Floats, Floats]:
        """Tilts, and values near the means under them, up to beyond a value if there are any."""
        for n_tilts in SETTINGS.n_tilts:
            thetas, values = self._first_tilts(sign, n_tilts)
            if sign * values[-1] > sign * s:
                break
        return thetas, values

    @cached_method
    def _first_tilts(self, sign: int, n_tilts: int) -> tuple[Floats, Floats]:
        places = np.arange(n_tilts) / SETTINGS.per_octave
        thetas = sign * 2.0**places / self._scale
        values = values_of_mean_paths(self._blocks(0), self._n_positives, thetas)
        return thetas, sign * np.maximum.accumulate(sign * values)

    @cached_method
    def _contour(self, sign: int, place: float) -> _Contour | None:
        theta = self._theta(sign, place)

        @cache
        def chain(level: int) -> TiltedHits | None:
            return TiltedHits.of(self._blocks(level), self._n_positives, theta)

        first = chain(0)
        if first is None:
            return None
        return _Contour(chain, first, theta, self._scale, self._tolerance)


class _Contour:
    """Tails along one contour.

    Attributes
    ----------
    mean, deviation : float
        Those of the tilted distribution.
    """

    def __init__(
        self,
        chain: Callable[[int], TiltedHits | None],
        first: TiltedHits,
        theta: float,
        scale: float,
        tolerance: float,
    ) -> None:
        self._chain, self._theta = chain, theta
        self._is_rough = tolerance >= ROUGH_TOLERANCE
        accurate = SETTINGS.height_accurate, SETTINGS.enough_accurate
        rough = SETTINGS.height, SETTINGS.enough
        self._height, self._enough = rough if tolerance > 0.0 else accurate
        self._log_mgf = first.log_mgf
        self.mean, self.deviation = first.mean_and_deviation(scale)
        self._is_known = self.deviation > 0.0
        tilts = np.array(SETTINGS.bounding) / max(self.deviation, 1e-300)
        self._tilts, self._log_mgfs = tilts, first.log_means(tilts.astype(complex)).real
        self._step = 2.0 * math.pi / self._period()

    def _period(self) -> float:
        """The shortest period with small aliases, or the longest."""
        periods = SETTINGS.period * self.deviation * 2.0 ** np.arange(SETTINGS.n_periods)
        # Aliases relative to a tail at the mean.
        log_p = -math.log(1.0 + abs(self._theta) * self.deviation * math.sqrt(2.0 * math.pi))
        for period in periods.tolist():
            if self._log_aliases(np.array([self.mean]), period)[0] - log_p < -SETTINGS.aliasing:
                break
        return float(period)

    def _log_aliases(self, s: Floats, period: float) -> Floats:
        """Logs of bounds of the aliases, in units of the Chernoff bound.

        Those on the damped side are lower than the damping, and than the parts of the tilted
        distribution before and behind the middle of the way.
        """
        side, damping = math.copysign(1.0, self._theta), abs(self._theta) * period
        beyond = self._log_bound(s + side * period, side)
        before = np.logaddexp(self._log_bound(s - 0.5 * side * period, -side), -0.5 * damping)
        before = np.minimum(before, self._theta * s - self._log_mgf - damping)
        return np.asarray(np.logaddexp(beyond, before))

    def _log_bound(self, s: Floats, side: float) -> Floats:
        """Log of Chernoff's bound of a tail of the tilted distribution."""
        these = self._tilts * side > 0.0
        exponents = self._log_mgfs[these, None] - np.multiply.outer(self._tilts[these], s)
        return np.asarray(np.fmin(np.fmin.reduce(exponents), 0.0))

    def tail(self, s: Floats, level: int, has_ties: bool) -> TailEstimates:
        """Tails from the blocks of a level, compared with those of the one before."""
        fine, coarse = self._nodes(level + 1), self._nodes(level)
        if fine is None or coarse is None or not self._is_known:
            return TailEstimates.unknown(s.shape)
        sign, returns = fine.side, self._returns
        log_p, unit = fine.tail(s, sign, False)
        other = coarse.tail(s, sign, False)[0]
        known = np.isfinite(log_p) & np.isfinite(other)
        is_irregular, log_p = has_ties or self._is_rough, np.where(known, log_p, 0.0)
        log_p, merging = without_merging(log_p, other, known, is_irregular)
        sizes = fine.sizes
        chain = self._chain(level + 1)
        assert chain is not None
        log_chernoff = chain.log_mgf - self._theta * s
        aliases = self._log_aliases(s, 2.0 * math.pi / self._step) + log_chernoff - log_p
        found = TailEstimates.of(
            np.minimum(log_p, 0.0),
            "contour",
            rounding=SETTINGS.rounding + chain.left_out * sizes.sum() * unit,
            truncation=(_truncation(sizes) + returns) * unit,
            aliasing=exp_of_error(aliases),
            merging=merging,
        )
        known &= (log_p < 1e-6) & (found.error.total < 1.0)
        found.error.truncation[~known] = np.inf
        return found

    @cached_property
    def _returns(self) -> float:
        """Estimated sum of the sizes of terms far beyond the last node."""
        return self._first_nodes[1].beyond(0)

    @cached_property
    def _first_nodes(self) -> tuple[Nodes, Returns]:
        """Nodes of the blocks merged most, and samples of the transform beyond them."""
        nothing = np.empty(0, complex)
        none = Nodes(self._theta, self._step, 0.0, nothing, nothing, log_harmless=-math.inf)
        n_nodes = math.ceil(self._height / (self.deviation * self._step))
        for _ in range(SETTINGS.n_lengths):
            numbers = n_nodes, n_nodes, sys.maxsize, SETTINGS.n_probes
            nodes, returns = first_nodes_and_returns(
                self._log_transform(0), none, *numbers, np.empty(0), False
            )
            if _truncation(nodes.sizes) <= self._enough * nodes.sizes.sum():
                break
            n_nodes *= 2
        return nodes, returns

    def _log_transform(self, level: int) -> Callable[[Complexes], Complexes]:
        chain = self._chain(level)
        assert chain is not None
        return lambda z: chain.log_mgf + chain.log_means(z - self._theta)

    @cached_method
    def _nodes(self, level: int) -> Nodes | None:
        nodes = self._first_nodes[0]
        if level == 0:
            return nodes
        if self._chain(level) is None:
            return None
        return replace(nodes, log_transform=self._log_transform(level)(nodes.z))


def _truncation(sizes: Floats) -> float:
    """Estimated sum of the terms beyond the last one, which go on to fall as the last ones did."""
    length = max(2, sizes.size // 4)
    last, before = sizes[-length:].sum(), sizes[-2 * length : -length].sum()
    ratio = min(last / max(before, np.finfo(float).tiny), 0.9)
    return float(max(last * ratio / (1.0 - ratio), sizes[-1]))
