"""Exponential tilts: a ladder of real ones, Chernoff bounds, and tilts that values share.

Under the tilt ``theta`` a distribution has the log moment generating function ``K(theta)``, and
``log P(S >= s) <= K(theta) - theta s`` (Chernoff) for every positive ``theta``. The best tilt
solves ``K'(theta) = s``, the saddle point equation (Daniels, 1954; Jensen, 1995). The tilts here
come from a fixed geometric ladder and eighths of its steps, so that no result depends on earlier
ones, and neighbouring values share a tilt: a value may use any tilt whose exponent exceeds the
smallest one by a limited *excess*. See "Contour inversion" in doc/theory.rst.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_rankinf._engine.inversion.transform import Transform
from sklearn_rankinf._statistics import FEW_BLOCKS, Floats, Integers, cached_method


@dataclass(frozen=True)
class TiltSettings:
    """Settings of the ladder; exponents are natural logarithms."""

    # Tilts are ratio**index over the scale of their side, for the indices first, first + 1, ...
    ratio: float = 1.35
    first: int = -3
    n_tilts: int = 42
    # Tilts up to the end of each of the first passes over the blocks; negative ones, which have to
    # be steeper for the same bound, leave out the first. Later passes are of a few tilts each: rows
    # that matter under one of very different tilts may be lost under another.
    passes: tuple[int, ...] = (8, 12, 16)
    later_pass: int = 4
    # Shared tilts are the usual one, at this place of the ladder, and every fourth one from there
    # on; that of distributions of fewer placements than exp(few), which are rough, is smaller.
    usual: int = 4
    usual_of_few: int = 3
    few: float = 40.0
    apart: int = 4
    # Largest excess of the exponent; that of dense distributions; and that of few blocks, whose
    # transform returns.
    excess: float = 8.0
    excess_dense: float = 12.5
    excess_few_blocks: float = 1.0
    # A Chernoff bound of the other side's tail needs tilts up to this many beyond the one in use.
    beyond: int = 2
    # A tilt between those of the ladder, at fractions of their distance, is used if
    # a parabola through three exponents promises a bound that is lower by this.
    worth_refining: float = 4.0
    fractions: int = 8
    # Degree of the polynomial through tilts of the ladder that leads to a saddle point; grids of
    # tilts that values share, from fine to coarse, and the excess up to which they do; that from
    # which other tilts around a place are taken, and the number of times.
    degree: int = 5
    grids: tuple[float, ...] = (0.0625, 0.125, 0.25, 0.5, 1.0)
    excess_of_grid: float = 1.0
    excess_of_place: float = 3.0
    most_moves: int = 8
    # Least index of a tilt that is known, and of which part of a step its index is a multiple.
    first_known: float = -6.0
    grid_of_known: float = 0.25
    # Places of three tilts by which a deviation is computed.
    steps_of_deviation: tuple[float, ...] = (-0.25, 0.0, 0.25)
    # Standard deviations of a tilt, at most, for which others of the ladder hold aliases down.
    few_deviations: float = 12.0
    # Distances of tilts whose Chernoff bounds hold aliases down.
    distances: tuple[float, ...] = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0)
    # Distributions of at least exp(dense) placements are dense, but those of few blocks, or with
    # fewer than n_smooth counted positives.
    dense: float = 90.0
    n_smooth: float = 4.0


TILTS = TiltSettings()

_FINEST = TILTS.grids[0]
# A tilt, and others around it, in steps of the ladder.
_STEPS = np.array([0.0, *(-step for step in TILTS.distances), *TILTS.distances])

# Tilts of larger indices than this are extreme: all of their passes are balanced.
EXTREME = 10


class Tilts:
    """Tilts of one statistic, and the Chernoff bounds that they give.

    Parameters
    ----------
    transform : Transform
        The transform of the statistic.
    upper, lower : float
        Scales of the positive and of the negative tilts.
    support : tuple of float
        Values that the support does not exceed.
    is_rough : bool, default=False
        Whether the distribution is not dense, however many placements there are.
    known : callable, optional
        Returns a tilt near the saddle point of a value, on a side; 0 if it is not known. Saddle
        points are looked for around it, without log transforms of the ladder.
    """

    def __init__(
        self,
        transform: Transform,
        upper: float,
        lower: float,
        support: tuple[float, float],
        is_rough: bool = False,
        known: Callable[[float, int], float] | None = None,
    ) -> None:
        self._transform, self._known = transform, known
        self.scales = {1: upper, -1: lower}
        self.support = support
        self.few_blocks = transform.n_blocks <= FEW_BLOCKS and not transform.merged
        is_rough |= self.few_blocks or transform.n_counted < TILTS.n_smooth
        self.are_few = -transform.log_placement < TILTS.few
        self._usual = TILTS.usual_of_few if self.are_few else TILTS.usual
        self.is_dense = not is_rough and -transform.log_placement >= TILTS.dense
        nothing: tuple[float, ...] = ()
        self._ladders = {1: nothing, -1: nothing}

    def theta(self, side: int, index: ArrayLike) -> Floats:
        """Tilts of the given indices, positive on side 1 and negative on side -1."""
        return np.asarray(side * TILTS.ratio ** np.asarray(index, dtype=float) / self.scales[side])

    @cached_method
    def ladder(self, side: int, n_tilts: int) -> tuple[Floats, Floats]:
        """At least the first `n_tilts` tilts, and the log transform there (inf if not known)."""
        passes = TILTS.passes[side < 0 :]
        n_tilts = min([n for n in passes if n >= n_tilts], default=min(n_tilts, TILTS.n_tilts))
        known = self._ladders[side]
        while len(known) < n_tilts:
            end = min([n for n in passes if n > len(known)], default=len(known) + TILTS.later_pass)
            indices = TILTS.first + np.arange(len(known), end)
            values = self._transform.log_mgfs(self.theta(side, indices))
            # Two threads may find the same: a list that both extend would hold it twice.
            known = (*known, *np.where(np.isnan(values), math.inf, values).tolist())
            self._ladders[side] = known
        thetas = self.theta(side, TILTS.first + np.arange(n_tilts))
        return thetas, np.asarray(known[:n_tilts])

    def choose(self, s: Floats, side: int) -> tuple[Floats, Floats]:
        """Index of a tilt for each value, shared by neighbours; log of the best Chernoff bound."""
        index, bounds = np.empty(s.shape), np.empty(s.shape)
        usual = TILTS.excess_dense if self.is_dense else TILTS.excess
        excess = TILTS.excess_few_blocks if self.few_blocks else usual
        for at, exponents in self._exponents(s, side):
            best, lowest = exponents.argmin(axis=0), np.minimum(exponents.min(axis=0), 0.0)
            refined, bounds[at] = self._refined(exponents, best, lowest, s[at], side)
            # Gentle tilts are farther from jumps of the tilted distribution.
            places = np.arange(exponents.shape[0] - 1)
            is_shared = (places >= self._usual) & ((places - self._usual) % TILTS.apart == 0)
            order = np.append(places[is_shared], places[~is_shared])
            fine = exponents[order] - bounds[at] <= excess
            if not self.is_dense:
                # A steeper tilt bounds the tail as well, but far tails are rougher.
                fine &= np.less_equal.outer(order, np.maximum(best, self._usual))
            index[at] = np.where(fine.any(axis=0), order[fine.argmax(axis=0)], refined)
        return index + float(TILTS.first), bounds

    def saddle(self, s: Floats, side: int) -> Floats:
        """Index of a tilt near the saddle point of each value, which neighbouring values share.

        A polynomial through tilts of the ladder is the log transform between them, but for jumps
        of the tilted distribution: tilts around the place that it leads to may lead on.
        """
        if self._known is not None:
            return self._moved(self._known_places(s, side), s, side)
        places = np.empty(s.shape)
        for at, exponents in self._exponents(s, side):
            best = exponents.argmin(axis=0)
            for place in sorted(set(best.tolist())):
                same = at[best == place]
                places[same] = self._between(s[same], side, place, len(exponents))
        return self._moved(places, s, side)

    def _known_places(self, s: Floats, side: int) -> Floats:
        """Indices of known tilts, which neighbouring values share."""
        assert self._known is not None
        tilts = np.array([self._known(value, side) for value in s.tolist()])
        least = TILTS.ratio**TILTS.first_known
        places = np.log(np.maximum(abs(tilts) * self.scales[side], least)) / math.log(TILTS.ratio)
        return np.asarray(np.round(places / TILTS.grid_of_known) * TILTS.grid_of_known)

    def _moved(self, places: Floats, s: Floats, side: int) -> Floats:
        """Places of tilts, moved where another tilt around one has a much lower bound."""
        moved = np.arange(s.size)
        for _ in range(TILTS.most_moves):
            open_, moved = moved, np.empty(0, dtype=np.int64)
            for place in sorted(set(places[open_].tolist())):
                same = open_[places[open_] == place]
                thetas, log_mgfs = (each[1:] for each in self.around(side, place))
                exponents = log_mgfs[:, None] - np.outer(thetas, s[same])
                far = exponents[0] > exponents.min(axis=0) + TILTS.excess_of_place
                places[same[far]] = place + _STEPS[exponents.argmin(axis=0)[far]]
                moved = np.append(moved, same[far])
        return places

    def _between(self, s: Floats, side: int, place: int, n_tilts: int) -> Floats:
        """Indices near the saddle points of values, which are near one place of the ladder.

        Of the coarsest grid on which the excess is small.
        """
        first = max(min(place - TILTS.degree // 2, n_tilts - 1 - TILTS.degree), 0)
        log_mgfs = self.ladder(side, n_tilts)[1][first : first + TILTS.degree + 1]
        nodes = np.flatnonzero(np.isfinite(log_mgfs))
        offsets = np.arange(-1.0, 1.0 + _FINEST, _FINEST)
        offsets = offsets[(offsets >= first - place) & (offsets <= n_tilts - 1 - place)]
        apart = np.subtract.outer(nodes, nodes)
        others = np.where(apart, np.subtract.outer(offsets + (place - first), nodes)[:, None], 1.0)
        lagrange = np.prod(others / np.where(apart, apart, 1.0), axis=2)
        indices, log_mgfs = TILTS.first + place + offsets, (lagrange * log_mgfs[nodes]).sum(axis=1)
        exponents = log_mgfs[:, None] - np.outer(self.theta(side, indices), s)
        chosen, lowest = np.empty(s.shape), exponents.min(axis=0)
        for grid in TILTS.grids:
            at = np.flatnonzero(indices % grid == 0.0)
            fits = exponents[at].min(axis=0) <= lowest + TILTS.excess_of_grid
            chosen[fits] = indices[at][exponents[at].argmin(axis=0)[fits]]
        return chosen

    def exponents(self, side: int, places: NDArray[Any], s: Floats) -> NDArray[np.float64]:
        """Chernoff exponents at each s of tilts (rows) of any index."""
        distinct, inverse = np.unique(places, return_inverse=True)
        log_mgfs = np.array([self.around(side, place)[1][1] for place in distinct.tolist()])
        thetas = self.theta(side, distinct)
        inverse = inverse.reshape(places.shape)
        return np.asarray(log_mgfs[inverse] - thetas[inverse] * s)

    @cached_method
    def around(self, side: int, place: float) -> tuple[Floats, Floats]:
        """No tilt, one tilt and others below and above it; the log transforms, inf if not known.

        Those of the ladder are enough where the tilt is of few standard deviations.
        """
        thetas, at = self.theta(side, place + _STEPS), place - TILTS.first + _STEPS
        known = np.empty(0) if self._known is not None else self.ladder(side, 1)[1]
        is_inside = known.size and at[0] == np.clip(round(at[0]), 2, known.size - 3)
        if is_inside and abs(thetas[0]) * self.deviation(side, place) <= TILTS.few_deviations:
            whole = np.clip(np.round(at), 0, known.size - 1).astype(int)
            log_mgfs = np.where(at == whole, known[whole], math.inf)
        else:
            log_mgfs = self._transform.log_mgfs(thetas)
        log_mgfs = np.where(np.isnan(log_mgfs), math.inf, log_mgfs)
        return np.append(0.0, thetas), np.append(0.0, log_mgfs)

    def log_bound(self, s: Floats, side: int, enough: float = -math.inf) -> Floats:
        """Log of the Chernoff bound of the tail at each s; not the lowest if it is enough."""
        bounds = np.empty(s.shape)
        for at, exponents in self._exponents(s, side, enough):
            best, bound = exponents.argmin(axis=0), np.minimum(exponents.min(axis=0), 0.0)
            left = np.flatnonzero(bound > enough)
            bound[left] = self._refined(
                exponents[:, left], best[left], bound[left], s[at][left], side
            )[1]
            bounds[at] = bound
        return bounds

    @cached_method
    def unbounded_up_to(self, side: int, enough: float) -> float:
        """Value, times the side, up to which no tilt of the ladder bounds tails by ``exp(enough)``.

        The log transform is convex: it exceeds a line through 0 or a tilt of the ladder and the
        next one beyond them. Tilts beyond the first pass serve values above the slope at its end.
        """
        thetas, log_mgfs = (np.append(0.0, each) for each in self.ladder(side, 1))
        steps, rises = np.diff(np.abs(thetas)), np.diff(log_mgfs)
        with np.errstate(invalid="ignore"):
            least = log_mgfs[1:-1] + steps[1:] * (rises / steps)[:-1]
            reach = np.min((least - enough) / np.abs(thetas[2:]))
            return float(np.minimum(reach, rises[-1] / steps[-1]))

    def cheap_log_bound(self, s: Floats, side: int, steepest: float = 0.0) -> Floats:
        """Log of the Chernoff bound by tilts up to a few beyond an index; -inf off the support."""
        bound = np.full(s.shape, -np.inf)
        low, high = self.support
        inside = s <= high if side > 0 else s >= low
        if inside.any():
            n_tilts = math.ceil(steepest) + TILTS.beyond - TILTS.first
            thetas, log_mgfs = self.ladder(side, n_tilts)
            exponents = log_mgfs[:, None] - np.outer(thetas, s[inside])
            bound[inside] = np.minimum(exponents.min(axis=0), 0.0)
        return bound

    def deviation(self, side: int, index: float) -> float:
        """Standard deviation under a tilt, by differences of the ladder; nan if not known."""
        if self._known is not None:
            return self._deviation_around(side, index)
        place = max(round(index) - TILTS.first, 1)
        around = slice(place - 1, place + 2)
        thetas, log_mgfs = (x[around] for x in self.ladder(side, place + 2))
        return _deviation(thetas, log_mgfs)

    def _deviation_around(self, side: int, place: float) -> float:
        """The same by differences of the tilts around it."""
        thetas, log_mgfs = (each[1:] for each in self.around(side, place))
        around = [np.flatnonzero(step == _STEPS)[0] for step in TILTS.steps_of_deviation]
        return _deviation(thetas[around], log_mgfs[around])

    def _exponents(
        self, s: Floats, side: int, enough: float = -math.inf
    ) -> Iterator[tuple[Integers, NDArray[np.float64]]]:
        """Chernoff exponents of the tilts (rows): the places of some values at a time, and theirs.

        For each value the ladder is climbed until the last tilt is not the best one, or the bound
        is enough, and no farther for the sake of other values. No tail is smaller than the
        probability of a placement.
        """
        enough = max(enough, self._transform.log_placement)
        n_tilts, open_ = 1, np.arange(s.size)
        while open_.size:
            thetas, log_mgfs = self.ladder(side, n_tilts)
            exponents = log_mgfs[:, None] - np.outer(thetas, s[open_])
            best, bound = exponents.argmin(axis=0), exponents.min(axis=0)
            goes_on = (best == thetas.size - 1) & (bound > enough)
            goes_on &= thetas.size < TILTS.n_tilts
            if not goes_on.all():
                yield open_[~goes_on], exponents[:, ~goes_on]
            open_, n_tilts = open_[goes_on], thetas.size + 1

    def _refined(
        self, exponents: NDArray[np.float64], best: Integers, bound: Floats, s: Floats, side: int
    ) -> tuple[Floats, Floats]:
        """Place of the best tilt for each value, maybe a fraction, and the log of its bound."""
        place, bound, middle = best.astype(float), bound.copy(), best.clip(1, len(exponents) - 2)
        before, here, after = (exponents[middle + i, np.arange(s.size)] for i in (-1, 0, 1))
        with np.errstate(invalid="ignore"):
            slope, curvature = 0.5 * (after - before), before + after - 2.0 * here
        worth = (0.5 * slope**2 > TILTS.worth_refining * curvature) & (curvature > 0.0)
        worth &= middle == best
        if not worth.any():
            return place, bound
        inner = np.flatnonzero(worth)
        # The smallest of three exponents is less than half a step from the lowest point.
        between = np.clip(-slope[inner] / curvature[inner], -0.5, 0.5)
        refined = place[inner] + np.round(TILTS.fractions * between) / TILTS.fractions
        for at in sorted(set(refined.tolist())):
            theta = self.theta(side, TILTS.first + at)
            same = inner[refined == at]
            exponent = self._log_mgf_between(float(theta)) - float(theta) * s[same]
            lower = exponent < bound[same]
            place[same[lower]], bound[same[lower]] = at, exponent[lower]
        return place, bound

    @cached_method
    def _log_mgf_between(self, theta: float) -> float:
        """Log transform at a tilt between those of the ladder; inf if not known."""
        value = float(self._transform.log_mgfs(np.array([theta]))[0])
        return math.inf if math.isnan(value) else value


class TiltsOfPaths(Tilts):
    """Tilts around the known one of the paths that carry one tail.

    Parameters
    ----------
    transform : Transform
        The transform of these paths.
    tilt, deviation : float
        The tilt under which their mean is near the value, and the standard deviation there.
    support : tuple of float
        Values that the support does not exceed.
    """

    def __init__(
        self, transform: Transform, tilt: float, deviation: float, support: tuple[float, float]
    ) -> None:
        super().__init__(transform, deviation, deviation, support, known=lambda s, side: tilt)
        # Contours under smaller tilts run into the pole at 0.
        self._place = math.log(max(abs(tilt) * deviation, 1.0)) / math.log(TILTS.ratio)

    def _known_places(self, s: Floats, side: int) -> Floats:
        return np.full(s.shape, self._place)

    def choose(self, s: Floats, side: int) -> tuple[Floats, Floats]:
        return self.saddle(s, side), self.log_bound(s, side)

    def log_bound(self, s: Floats, side: int, enough: float = -math.inf) -> Floats:
        thetas, log_mgfs = self.around(side, self._place)
        return np.asarray((log_mgfs[:, None] - np.outer(thetas, s)).min(axis=0))

    def cheap_log_bound(self, s: Floats, side: int, steepest: float = 0.0) -> Floats:
        return self.log_bound(s, side)


def _deviation(thetas: Floats, log_mgfs: Floats) -> float:
    """Standard deviation by differences of the log transform at three tilts; nan if not known."""
    if thetas.size < 3 or not np.isfinite(log_mgfs).all():
        return math.nan
    slopes = np.diff(log_mgfs) / np.diff(thetas)
    return math.sqrt(abs(2.0 * np.diff(slopes)[0] / (thetas[2] - thetas[0])))
