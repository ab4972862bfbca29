"""Tail probabilities by inversion of the transform along a contour.

The trapezoid rule gives the tail and what lies a period away. On one side those are probabilities
near 1, whose sum is known, so that the contour may come as close to the pole at 0 as it likes; on
the other side they must be negligible, and bounds of Chernoff say whether they are.

At an atom the integral converges to ``P(S > s) + P(S = s) / 2``, so the transform must have decayed
relative to the probability where the sum is cut, or the distribution is too coarse for this method:
the error says so. A positive tilt goes straight to the upper tail. A negative one damps the few
placements with hits at the very top, which make a distribution of few hits coarse, and gives the
upper tail as the complement of the lower.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_rankinf._engine.estimates import TailEstimates
from sklearn_rankinf._engine.inversion.ranking_transform import largest_increment
from sklearn_rankinf._engine.inversion.trapezoid import (
    DOUBT_OF_MERGING,
    EDGE,
    LEFT_OF_MERGING,
    Nodes,
    exp_of_error,
)
from sklearn_rankinf._engine.statistics import FEW_BLOCKS, Complexes, Floats, Increments, Integers

# Tilts are _TILT_RATIO**index in units of one over the scale of their side. The log transform is
# computed at _LADDER real ones, the first _TOGETHER of them _PASS in one pass, and to a few beyond
# the one in use.
_TILT_RATIO, _LADDER, _TOGETHER, _BEYOND = 1.35, range(-3, 39), 16, 3
_PASS, _PASS_OF_DENSE = 9, 12
# Between two of them one of so many equal steps of the index is used where the exponent is smaller
# by more than this; of few blocks, by more than the slack.
_FRACTIONS, _WORTH_REFINING = 8, 7.0
# Values share tilts: those that leave the exponent that bounds their tail larger than necessary by
# no more than this. Of dense distributions the usual one and those so many indices apart are the
# first choice, of others one unit, then those of indices that are multiples of 8, of 4 and of 2.
# The transform of few blocks returns, and slack makes larger what returns.
_SLACK_DENSE, _SLACK_FAR_OUT, _SLACK, _SLACK_COARSE, _SLACK_FEW = 12.5, 7.0, 8.0, 4.0, 1.0
_USUAL, _APART, _APART_OF_VERY_DENSE = 1, 4, 5
_SHARED_FIRST = sorted(_LADDER, key=lambda index: (-math.gcd(index, 8), index < 0, index))
# Lower tails may leave so much more by the contour of upper ones, which is there already.
_MORE_BY_THE_USUAL = 2.0
# The usual tilt serves values on the other side of the mean, up to this exponent.
_BEYOND_THE_MEAN = 6.0
# A unit is at least this part of what a hit at the top adds; a distribution with a larger hit is
# steep.
_UNITS_PER_HIT = 1.0 / 3.0
# A contour whose terms are so much larger than their sum tells little of a tail, and of a coarse or
# rough one nothing: the transform then does not show how coarse the distribution is at s.
# A tail of very many placements, in logarithms, is dense, and only digits are lost.
_FAR_OFF, _FAR_OFF_STEEP, _FAR_OFF_COARSE = 5e4, 1e3, 40.0
_FAR_OFF_DENSE, _MANY_BEYOND = 1e9, 100.0
# Reflected contours of steep distributions have every third of these periods and tilts of even
# indices, others every second period, and serve more values each.
_STEPS, _STEPS_OF_STEEP, _FIRST_OF_STEEP, _LOOKS = 2, 3, 5, 2.0
# Lower tails of steep distributions share reflected contours with upper tails if their bound is
# larger.
_NOT_SMALL = -2.0
# A longer reach tells more of a distribution of fewer placements, in logarithms, than this.
_MANY = 40.0
# Of so many a distribution is dense, and of so many very dense. The transform at a tilt falls by
# about this part of their number under it, in logarithms, and has to fall so far.
_DENSE, _VERY_DENSE, _FALLS_TO, _FAR_ENOUGH = 90.0, 300.0, 0.4, 20.0
# Tilts under which it falls short by more than this are chosen as for other distributions.
_LEAST_MARGIN = -6.0
# Periods, in units, are the powers of sqrt(2) that leave aliasing below exp(-_ALIASING) beside the
# tail. A reflected contour lets its harmless side have exp(-_REFLECTED), of a steep distribution
# exp(-_REFLECTED_STEEP): more damping costs digits. A complement of smaller tails has none.
_FIRST_PERIOD, _SHORTEST, _N_PERIODS = 8.0, -12, 48
_ALIASING, _ALIASING_OF_DENSE = 25.0, 18.5
_REFLECTED, _REFLECTED_STEEP, _STEEPEST_REFLECTED, _LEAST_REFLECTED = 19.0, 13.0, 3, -28.0
# The first look goes this far, in one over the unit; each further look goes half as far again, as
# long as the work (nodes times products a node) is affordable, until no more than this is cut off.
_FIRST_REACH, _DECAYED = 9.0, 3e-9
# A look takes at least so many rows times nodes: fewer cost as much. Of many short steps, those of
# steep distributions whose blocks are not merged, it takes fewer.
_CHEAP_LOOK, _CHEAP_LOOK_STEEP = 8192, 4096
# If no hit adds more than this part of the standard deviation the transform decays almost like that
# of a normal distribution: a look takes so many, the first so far in one over the deviation under
# the tilt.
_SMALL_HIT, _CHEAP_LOOK_SMOOTH, _REACH_OF_SMOOTH = 0.4, 4096, 12.0
# That deviation, from differences, is not trusted where it is less than this part of the unit.
_LEAST_DEVIATION = 0.1
_MOST_WORK, _FEWEST_NODES, _MAX_NODES, _INSISTENT = 1.5e9, 64, 8192, 6
# Of merged blocks a contour is not begun that is so many times longer than is affordable, unless at
# so many nodes farther on its terms are below this part of the largest.
_BEYOND_MEANS, _N_AHEAD, _SILENT = 2, 12, 1e-3
# Of so many nodes, of merged blocks or of a steep distribution, that may be more.
_MANY_NODES, _DECAYED_ENOUGH, _TAPERED_ENOUGH = 768, 1e-5, 1e-4
# As long as that, what jumps may hold is worth more nodes if it is more than this.
_GOOD_JUMP = 1e-3
# A contour is given up if it is so many times longer than at first and the last look did not make
# what is cut off smaller by this factor.
_PATIENCE, _PROGRESS = 4, 0.7
# Terms of a rough contour that are cut off add up to about this part of its second half.
_ROUGHLY = 0.3
# With fewer hits than this a distribution that looks dense, as far as its transform is seen, is
# not. Else so many outcomes may lie so close together that they are not seen either.
_HITS_OF_A_DENSITY, _CLUSTER = 4, 50.0
# The transform is sampled for its return from the end of the first look up to so many times as far,
# at so many nodes; at more where blocks of equal scores are large.
_SPREAD, _GOLDEN, _LOOKS_FOR_RETURNS, _LOOKS_WITH_LARGE_BLOCKS = 1e4, 0.6180339887498949, 32, 256
# Returns of smaller terms are not followed. A transform that has not decayed returns where it is so
# many times larger than at the end of its contour.
_SILENT_RETURN, _LARGER_AGAIN = 1e-13, 2.0
# Nodes of one pass: a state of few rows takes more of them.
_STATE, _CHUNK = 32768, 512
# Answers with a smaller error are not improved by another contour; of dense distributions with one
# up to the second, of merged blocks up to the third, of steep ones up to the last, but for what
# another contour shares.
_GOOD, _GOOD_DENSE, _GOOD_MERGED, _GOOD_STEEP = 1e-7, 3e-7, 5e-4, 5e-3
# Where less will do, digits are still taken while they are cheap.
_CHEAP_DIGITS, _CHEAP_NODES = 1e-5, 64
# The transform of a few large blocks comes back, so that it is looked at farther out.
_BLOCK_NODES = 16384
# Tilts from this index on are extreme.
_EXTREME = 10
# No contour is known to be more precise than this.
_PRECISION = 3e-10
# Rounding errs by this times the root of the number of blocks, relative to the sum of all sizes. Of
# dense distributions that is more than twice the most that was seen of 60 contours compared with
# others of smaller terms.
_ROUNDING_OF_DENSE, _ROUNDING = 2e-15, 4e-15


@dataclass(eq=False)
class InvertedTails:
    """Log tails with their relative errors, and the contours that they were found along.

    `merging` is the part of the error from merged blocks, `cut` that from cutting the sum off.
    Contours have a tilt, and reach so far from the real axis.
    """

    log_p: Floats
    error: Floats
    merging: Floats
    cut: Floats
    tilt: Floats
    reach: Floats

    @classmethod
    def unknown(cls, n_values: int) -> InvertedTails:
        """Nothing known."""
        unknown, zero = np.full(n_values, np.inf), np.zeros(n_values)
        return cls(-unknown, unknown, zero, unknown.copy(), zero.copy(), zero.copy())

    def at(self, where: NDArray[Any]) -> InvertedTails:
        """Those of some values."""
        return InvertedTails(*(getattr(self, field.name)[where] for field in fields(self)))

    def put(self, where: NDArray[Any], other: InvertedTails) -> None:
        """Replace those of some values."""
        for field in fields(self):
            getattr(self, field.name)[where] = getattr(other, field.name)


class Transform(Protocol):
    """The transform ``E exp(z S)`` of a statistic, as contours need it."""

    merged: bool

    @property
    def n_blocks(self) -> int:
        """Number of blocks of equal scores, or of merged ones."""

    @property
    def n_counted(self) -> float:
        """Expected number of hits that add something."""

    @property
    def has_large_blocks(self) -> bool:
        """Whether the number of hits in a single block varies by several."""

    @property
    def largest_increment(self) -> float:
        """The most that a single hit adds."""

    @property
    def log_placement(self) -> float:
        """Log probability of one placement of the hits."""

    @property
    def log_edge(self) -> float:
        """Log of the squared probability of all outcomes with their last hit at a given value."""

    def log_commonest(self, theta: float) -> float:
        """Log probability of the outcome that is commonest under a tilt, or nearly so."""

    def log_mgfs(self, thetas: Floats) -> Floats:
        """Log transforms, or nearly so, at real tilts; nan where not known."""

    def work(self, theta: float, is_extreme: bool) -> float:
        """Products for one node at a tilt."""

    def most_rows(self, theta: float, is_extreme: bool) -> int:
        """Largest number of rows at a tilt."""

    def at(self, theta: float, z: Complexes, is_extreme: bool, coarse: bool) -> Complexes:
        """Log transforms at nodes of the contour through a tilt; of blocks merged more if so."""


# Side (1 for positive tilts), index of the tilt, which may be a fraction, and index of the period.
_Key = tuple[int, float, int]
# Contours, and the values for which each is chosen.
_Choice = dict[_Key, Integers]


class ContourInversion:
    """Tail probabilities of a statistic by contour inversion.

    Parameters
    ----------
    transform : Transform
        Its transform. If blocks are merged there, the error that this makes is corrected, and
        stated, by comparison with blocks merged further.
    scale, body : float
        Standard deviation of the statistic, and that without its luckiest hits.
    bounds : tuple of float, optional
        Values that the support does not exceed.
    tolerance : float, default=0.0
        Relative error that is good enough.
    span : float, default=0.0
        Distance of which all values are multiples; 0 if there is none.
    near_periods : ndarray, optional
        Heights at which the transform of values on a lattice may return before the end of its
        period.
    """

    def __init__(
        self,
        transform: Transform,
        scale: float,
        body: float,
        bounds: tuple[float, float] = (-np.inf, np.inf),
        tolerance: float = 0.0,
        span: float = 0.0,
        near_periods: Floats | None = None,
    ) -> None:
        self._span = span
        self._near_periods = np.empty(0) if near_periods is None else near_periods
        self._transform = transform
        self._scale = scale
        self._body = body
        self._support_within = bounds
        self._merged = merged = transform.merged
        self._in_a_hurry = tolerance > _GOOD
        self._is_costly = merged or self._is_steep
        good = _GOOD_STEEP if self._is_steep else _GOOD_MERGED if merged else _GOOD
        self._few_blocks = transform.n_blocks <= FEW_BLOCKS
        self._is_coarse = self._few_blocks or transform.n_counted < _HITS_OF_A_DENSITY
        self._tapers = self._is_steep and not self._is_coarse
        self._good = max(_GOOD_DENSE if self._is_dense else good, tolerance)
        self._ladders: dict[int, list[float]] = {}
        self._log_mgfs: dict[tuple[int, float], float] = {}
        self._first_periods: dict[tuple[int, float], int] = {}
        self._slacks: dict[tuple[int, int], float] = {}
        self._contours: dict[tuple[_Key, bool], Nodes] = {}
        self._ahead: dict[tuple[float, float], tuple[Floats, Floats]] = {}
        self._returns: dict[tuple[float, float], tuple[Floats, Floats, Floats]] = {}
        self._farther: dict[tuple[float, float], list[Nodes]] = {}
        self._log_commonest = cache(transform.log_commonest)

    def log_tail(self, s: Floats, sign: int, insist: bool = False) -> tuple[Floats, Floats]:
        """Log of ``P(S >= s)`` (sign 1) or ``P(S <= s)`` (sign -1), and the relative error."""
        found = self.inverted(s, sign, insist)
        return found.log_p, found.error

    def tail(self, s: Floats, sign: int, insist: bool = False) -> TailEstimates:
        """Temporary."""
        found = self.inverted(s, sign, insist)
        return TailEstimates.of(found.log_p, "contour", truncation=found.error)

    def inverted(self, s: Floats, sign: int, insist: bool = False) -> InvertedTails:
        """Tails, ``P(S >= s)`` (sign 1) or ``P(S <= s)`` (sign -1).

        Meant for s on the same side of the mean as the tail. The error is infinite where the method
        does not apply; unless `insist` is set, a contour along which the transform will not decay
        in time is not followed to its end.
        """
        s = self._on_lattice(s, sign)
        found = InvertedTails.unknown(s.size)
        routes = [self._straight]
        if sign > 0:
            routes.insert(0 if self._is_steep else 1, self._reflected)
        elif self._is_steep:
            routes.insert(0, self._of_upper_tails)
        elif self._is_dense:
            routes.insert(0, self._by_the_usual)
        for choose in routes:
            weak = np.flatnonzero(found.error - found.merging > self._good)
            if not weak.size:
                break
            for contour, chosen in choose(s[weak], sign).items():
                same = weak[chosen]
                other = self._invert(s[same], sign, contour, insist)
                better = other.error < found.error[same]
                found.put(same[better], other.at(better))
        return found

    def tilts(self, s: Floats, sign: int) -> Floats:
        """Tilts under which the values s, on the tail's side of the mean, are near the mean."""
        return self._thetas(sign, self._saddle(s, sign)[0])

    def _on_lattice(self, s: Floats, sign: int) -> Floats:
        """Where to look for the tail from the next multiple of the span on.

        ``P(S <= s)`` is told by the multiple above s, as what is not ``P(S >= s + span)``.
        """
        if not self._span:
            return s
        multiples = np.ceil(s / self._span) if sign > 0 else np.floor(s / self._span) + 1.0
        return np.asarray(multiples * self._span)

    def log_bound(self, s: Floats, sign: int, enough: float = -math.inf) -> Floats:
        """Chernoff's bound of the log of the tail at s, as far as merged blocks give it.

        Where it is below what is enough it need not be the lowest.
        """
        return self._saddle(s, sign, enough)[1]

    # Tilts.

    @cached_property
    def _units(self) -> dict[int, float]:
        """Scale of either side: for the lower one that of the body of the distribution."""
        lower = self._body if 0.0 < self._body < self._scale else self._scale
        return {
            1: max(self._scale, _UNITS_PER_HIT * self._transform.largest_increment),
            -1: lower,
        }

    @cached_property
    def _is_steep(self) -> bool:
        return _is_steep(self._transform.largest_increment, self._scale)

    @cached_property
    def _is_dense(self) -> bool:
        """Whether placements are many and no hit stands out: only digits limit a contour."""
        is_rough = self._is_steep or self._is_coarse or self._merged or self._span > 0.0
        return not is_rough and -self._transform.log_placement >= _DENSE

    @cached_property
    def _is_smooth(self) -> bool:
        """Whether the distribution is dense and, where it is not very skew, close to normal."""
        small = _SMALL_HIT * self._scale
        return self._is_dense and self._transform.largest_increment < small

    @cached_property
    def _apart(self) -> int:
        """Between tilts that values of a dense distribution share."""
        is_very_dense = -self._transform.log_placement >= _VERY_DENSE
        return _APART_OF_VERY_DENSE if is_very_dense else _APART

    @cached_property
    def _usual_indices(self) -> list[int]:
        """Indices of the tilts that values of a dense distribution share first."""
        return list(range(_USUAL, _LADDER.stop, self._apart))

    def _are_many_beyond(self, log_p: Floats) -> NDArray[np.bool_]:
        """Whether tails are of very many placements."""
        return np.asarray(log_p - self._transform.log_placement > _MANY_BEYOND)

    @property
    def _slack(self) -> float:
        """How much larger than necessary exponents of tails may be, of a distribution not dense."""
        if self._few_blocks:
            return _SLACK_FEW
        return _SLACK_COARSE if self._is_steep or self._is_coarse else _SLACK

    def _most_slack(self, log_p: Floats) -> Floats:
        """The same for tails of a dense distribution."""
        return np.where(self._are_many_beyond(log_p), _SLACK_DENSE, _SLACK_FAR_OUT)

    def _slack_at(self, side: int, index: int) -> float:
        """The same for a tilt of a dense distribution, under which placements must be many.

        Of their number the transform falls to a power, where it has lost all order.
        """
        if (side, index) not in self._slacks:
            at = index - _LADDER.start
            thetas, log_mgfs = self._ladder(side, at + 2)
            around = [max(at - 1, 0), at, at + 1]
            slack = -math.inf
            # Where a transform is not known nothing is.
            if np.isfinite(log_mgfs[around]).all():
                ends = around[::2]
                mean = np.diff(log_mgfs[ends])[0] / np.diff(thetas[ends])[0]
                log_placements = log_mgfs[at] - thetas[at] * mean - self._transform.log_placement
                slack = _FALLS_TO * float(log_placements) - _FAR_ENOUGH
            self._slacks[side, index] = min(slack, _SLACK_DENSE)
        return self._slacks[side, index]

    def _thetas(self, side: int, index: ArrayLike) -> Floats:
        return np.asarray(side * _TILT_RATIO ** np.asarray(index, dtype=float) / self._units[side])

    def _period(self, index: int) -> float:
        period = float(_FIRST_PERIOD * 2.0 ** (index / 2) * self._units[-1])
        if not self._span:
            return period
        # Then some number of nodes is all there is of the transform.
        return 2.0 * self._span * math.ceil(period / (2.0 * self._span))

    @property
    def _pass(self) -> int:
        """Tilts of the first pass; if the distribution is dense, up to the second shared one."""
        return _PASS_OF_DENSE if self._is_dense else _PASS

    def _ladder(self, side: int, n_tilts: int = 1) -> tuple[Floats, Floats]:
        """The first real tilts, and the log transform there: several in one pass, or alone."""
        known = self._ladders.setdefault(side, [])
        while len(known) < min(n_tilts, len(_LADDER)):
            # Very different tilts in one pass would take its rows out of the range of floats.
            n_next = max(1, min(self._pass, _TOGETHER - len(known)))
            thetas = self._thetas(side, _LADDER[len(known) : len(known) + n_next])
            known.extend(self._log_mgfs_at(thetas))
        if n_tilts < _TOGETHER:
            n_tilts = self._pass if n_tilts <= self._pass else _TOGETHER
        n_tilts = min(n_tilts, len(_LADDER))
        return self._thetas(side, _LADDER[:n_tilts]), np.asarray(known[:n_tilts])

    def _saddle(self, s: Floats, side: int, enough: float = -math.inf) -> tuple[Floats, Floats]:
        """Index of the best tilt for each s, and the log of the bound of the tail that it gives.

        It may lie between those of the ladder, which is climbed until the bound is enough.
        """
        n_tilts = self._pass
        # No tail is smaller than a placement.
        enough = max(enough, self._transform.log_placement)
        while True:
            thetas, log_mgfs = self._ladder(side, n_tilts)
            exponents = log_mgfs[:, None] - np.outer(thetas, s)
            best = exponents.argmin(axis=0)
            n_tilts = thetas.size + 1
            bound = exponents.min(axis=0)
            at_the_end = (best == thetas.size - 1) & (bound > enough)
            if thetas.size == len(_LADDER) or not at_the_end.any():
                break
        if self._is_steep:
            # Between a distribution without lucky hits and one of nothing else, the latter decays
            # sooner.
            more = np.minimum(best + 1, thetas.size - 1)
            is_close = exponents[more, np.arange(s.size)] < bound + self._slack
            best = np.where(is_close, more, best)
        index = best + float(_LADDER.start)
        inner = np.flatnonzero((best > 0) & (best < thetas.size - 1))
        before, here, after = (exponents[best[inner] + step, inner] for step in (-1, 0, 1))
        told = np.isfinite(before) & np.isfinite(after)
        inner, before, here, after = inner[told], before[told], here[told], after[told]
        curvature = before + after - 2.0 * here
        # Where a parabola says that the best between tilts of the ladder is far better.
        slope = 0.5 * (after - before)
        worth = self._slack if self._few_blocks else _WORTH_REFINING
        better = (0.5 * slope**2 > worth * curvature) & (curvature > 0.0)
        between = -slope[better] / curvature[better]
        refined = index[inner[better]] + np.round(_FRACTIONS * between) / _FRACTIONS
        for at in np.unique(refined):
            same = inner[better][refined == at]
            exponent = self._log_mgf(side, float(at)) - self._thetas(side, at) * s[same]
            lower = exponent < bound[same]
            index[same[lower]], bound[same[lower]] = at, exponent[lower]
        bound = np.minimum(bound, 0.0)
        order = [i for i in _SHARED_FIRST if i < thetas.size + _LADDER.start]
        close = exponents[np.subtract(order, _LADDER.start)] <= bound + self._slack
        # A steeper one would do as well for the bound; but far out distributions are rough.
        close &= np.less_equal.outer(order, np.maximum(index, 0.0))
        if self._is_steep and side > 0:
            close[1:] = False
        shared = np.take(order, close.argmax(axis=0)).astype(float)
        index = np.where(close.any(axis=0), shared, index)
        if self._is_dense:
            of_dense = self._shared_of_dense(exponents, side, bound)
            index = np.where(np.isnan(of_dense), index, of_dense)
        return index, bound

    def _shared_of_dense(self, exponents: Floats, side: int, bound: Floats) -> Floats:
        """Indices of tilts if the distribution is dense: shared ones, or the safest, or nan."""
        n_tilts = exponents.shape[0] - 1
        order = [i for i in self._usual_indices if i - _LADDER.start < n_tilts]
        order += [i for i in _SHARED_FIRST if i not in order and i - _LADDER.start < n_tilts]
        slack = np.array([self._slack_at(side, i) for i in order])[:, None]
        excess = exponents[np.subtract(order, _LADDER.start)] - bound
        close = excess <= self._most_slack(bound)
        margin = np.where(close, slack - excess, -np.inf)
        fine = margin >= 0.0
        chosen = np.where(fine.any(axis=0), fine.argmax(axis=0), margin.argmax(axis=0))
        return np.where(margin.max(axis=0) >= _LEAST_MARGIN, np.take(order, chosen), np.nan)

    def _log_mgf(self, side: int, index: float) -> float:
        """Log transform at a tilt between those of the ladder."""
        if (side, index) not in self._log_mgfs:
            self._log_mgfs[side, index] = self._log_mgfs_at(self._thetas(side, [index]))[0]
        return self._log_mgfs[side, index]

    def _log_mgfs_at(self, thetas: Floats) -> list[float]:
        """Log transforms at real tilts, in one pass."""
        values = self._transform.log_mgfs(thetas)
        # A tilt at which it is not known bounds nothing.
        return [math.inf if math.isnan(value) else value for value in values.tolist()]

    def cheap_log_bound(self, s: Floats, side: int, steepest: int = 0) -> Floats:
        """A cheap bound of the log of the tail at s, from tilts to a few beyond the steepest."""
        bound = np.full(s.shape, -np.inf)
        low, high = self._support_within
        inside = np.flatnonzero(s <= high if side > 0 else s >= low)
        if inside.size:
            thetas, log_mgfs = self._ladder(side, steepest + _BEYOND - _LADDER.start)
            exponents = log_mgfs[:, None] - np.outer(thetas, s[inside])
            bound[inside] = np.minimum(exponents.min(axis=0), 0.0)
        return bound

    # Contours.

    def _straight(self, s: Floats, sign: int) -> _Choice:
        """Contours of the tail's own side: of the usual tilt if that will do, else of the best."""
        return self._with_periods(s, sign, *self._saddle(s, sign))

    def _by_the_usual(self, s: Floats, sign: int) -> _Choice:
        """The contour of the other side's usual tilt, unless its terms are far too large."""
        log_p = self.cheap_log_bound(s, sign)
        thetas, log_mgfs = self._ladder(-sign)
        usual = _USUAL - _LADDER.start
        exponents = log_mgfs[usual] - thetas[usual] * s
        slack = np.minimum(self._slack_at(-sign, _USUAL), self._most_slack(log_p))
        slack = slack + _MORE_BY_THE_USUAL
        contour = -sign, float(_USUAL), self._first_period(-sign, _USUAL)
        # Beyond its period a contour of the own side costs less than a longer one.
        near = exponents - log_p <= slack
        near &= self._log_aliasing(s, contour, log_p) <= -_ALIASING_OF_DENSE
        return {contour: np.flatnonzero(near)} if near.any() else {}

    def _with_periods(self, s: Floats, side: int, indices: Floats, log_p: Floats) -> _Choice:
        """Contours of given tilts, with the first of their periods that leaves little aliasing."""
        chosen: _Choice = {}
        most = -_ALIASING_OF_DENSE if self._is_dense else -_ALIASING
        for index in np.unique(indices).tolist():
            same = np.flatnonzero(indices == index)
            for period in range(self._first_period(side, index), _N_PERIODS, _STEPS):
                contour = side, index, period
                fine = self._log_aliasing(s[same], contour, log_p[same]) <= most
                if fine.any():
                    chosen[contour] = same[fine]
                same = same[~fine]
                if not same.size:
                    break
        return chosen

    def _reflected(self, s: Floats, sign: int) -> _Choice:
        """Contours of the other side, no steeper than their own aliasing asks for."""
        log_p = self.cheap_log_bound(s, sign)
        most = _REFLECTED_STEEP if self._is_steep else _REFLECTED
        chosen: _Choice = {}
        open_ = np.flatnonzero(log_p > _LEAST_REFLECTED)
        steps = _STEPS_OF_STEEP if self._is_steep else _STEPS
        for period in range(self._first_reflected(-sign), _N_PERIODS, steps):
            if not open_.size:
                break
            length = self._period(period)
            farther = self.cheap_log_bound(s[open_] + sign * length, sign)
            damping = np.clip(most + farther - log_p[open_], 3.0, most)
            steepness = np.log(damping / length * self._units[-sign]) / np.log(_TILT_RATIO)
            indices = np.ceil(steepness).astype(np.int64)
            if self._is_steep:
                indices += indices % 2
            behind = self.cheap_log_bound(s[open_] - sign * length, -sign, _STEEPEST_REFLECTED)
            theta = np.abs(self._thetas(-sign, indices))
            fine = theta * length + behind - log_p[open_] <= -_ALIASING
            for index in np.unique(indices[fine]):
                chosen[-sign, float(index), period] = open_[fine & (indices == index)]
            open_ = open_[~fine]
        return chosen

    def _of_upper_tails(self, s: Floats, sign: int) -> _Choice:
        """The reflected contours of upper tails, for lower tails that are not small."""
        large = np.flatnonzero(self.cheap_log_bound(s, sign) >= _NOT_SMALL)
        chosen = self._reflected(s[large], -sign)
        return {contour: large[same] for contour, same in chosen.items()}

    def _log_aliasing(self, s: Floats, contour: _Key, log_p: Floats) -> Floats:
        """Bound of the log of what the trapezoid rule picks up a period away, relative to tails.

        On the contour's harmless side it is what is missing from the probability 1.
        """
        side, index, period = contour
        length = self._period(period)
        harmless = np.full(s.shape, -abs(float(self._thetas(side, index))) * length)
        # A probability is at most 1, which may be all that has to be known.
        doubtful = np.flatnonzero(harmless - log_p > -_ALIASING)
        if doubtful.size:
            harmless[doubtful] += self.cheap_log_bound(s[doubtful] - side * length, -side)
        return np.asarray(np.maximum(harmless, self._log_harm(s, contour)) - log_p)

    def _log_harm(self, s: Floats, contour: _Key) -> Floats:
        """The part of the aliasing on the side where it is not damped."""
        side, index, period = contour
        length = self._period(period)
        steepest = math.ceil(index) if side > 0 else max(math.ceil(index), _STEEPEST_REFLECTED)
        damping = abs(float(self._thetas(side, index))) * length
        return self.cheap_log_bound(s + side * length, side, steepest) + damping

    def _tilt(self, side: int, index: float) -> tuple[float, bool]:
        """A tilt, and whether it is extreme."""
        return float(self._thetas(side, index)), index > _EXTREME

    def _most_nodes(self, contour: _Key, insist: bool) -> int:
        """The longest contour that is affordable."""
        work = self._transform.work(*self._tilt(*contour[:2]))
        n_nodes = int(np.clip(_MOST_WORK / work, _FEWEST_NODES, _MAX_NODES))
        return n_nodes * _INSISTENT if insist else n_nodes

    def _invert(self, s: Floats, sign: int, contour: _Key, insist: bool) -> InvertedTails:
        """Log tails and their relative errors from one contour, followed as far as is needed.

        The lengths at which it is looked at are always the same, and each value takes the first
        that is enough for it, so that no answer depends on what was asked before.
        """
        found, active = InvertedTails.unknown(s.size), np.arange(s.size)
        log_bound = self.cheap_log_bound(s, sign)
        most_nodes = self._most_nodes(contour, insist)
        cheap = self._cheap_look(contour)
        whole = self._n_nodes_of_all(contour)
        most_nodes = min(most_nodes, whole)
        first = n_nodes = min(max(self._first_look(contour), cheap), whole)
        rest = np.inf
        if self._merged and first > _BEYOND_MEANS * most_nodes:
            # Where lucky hits are many the distribution is broad, and its transform decays long
            # before.
            largest = self._contour(contour, 1, True).heights[0]
            if self._looked_ahead(contour, first)[1].max() > _SILENT * largest:
                return found
            first = n_nodes = _FEWEST_NODES
        if not self._tapers or self._transform.has_large_blocks:
            self._look_for_returns(contour, n_nodes, whole)
        while active.size:
            nodes = self._contour(contour, n_nodes)
            if not np.isfinite(nodes.log_transform).all():
                break
            before, rest = rest, self._rest(nodes, insist)
            returning = self._returning(nodes)
            least_more = cheap // 2 if self._is_dense else cheap
            more = min(max(n_nodes // 2, least_more), max(whole - n_nodes, 1))
            is_last = n_nodes + more > most_nodes
            is_stuck = rest > _PROGRESS * before and not (insist or self._tapers)
            is_stuck &= self._few_blocks or n_nodes >= _PATIENCE * first
            is_stuck &= returning < rest
            enough = self._enough(n_nodes)
            # What is cut off is at least this part of a tail below its bound.
            scale = np.exp(np.minimum(nodes.log_scale(s[active]) - log_bound[active], 50.0))
            least = (rest + returning) * scale
            # No affordable contour is of use where the transform returns beyond its end.
            if returning > 0.0 and not is_last:
                left = self._returning_beyond(nodes, most_nodes) * scale
                is_last = bool(np.all(left > np.maximum(enough, 0.5 * least)))
            ready = active[(least <= enough) | is_last | is_stuck | self._tapers]
            found.put(ready, self._along(s[ready], sign, contour, n_nodes, insist))
            unsure = found.cut[active] > enough
            if self._tapers and n_nodes <= _MANY_NODES:
                unsure |= found.error[active] > _GOOD_JUMP
            active = active[unsure]
            if is_stuck:
                rough = self._along(s[active], sign, contour, n_nodes, insist, rough=True)
                found.put(active, rough)
            if is_last or is_stuck:
                break
            n_nodes += more
        return found

    def _enough(self, n_nodes: int) -> float:
        """Relative error of cutting the sum off that is not worth more nodes."""
        enough = _DECAYED_ENOUGH if self._is_costly or n_nodes > _MANY_NODES else _DECAYED
        if self._tapers and n_nodes > _MANY_NODES // 2:
            enough = _TAPERED_ENOUGH
        if self._in_a_hurry:
            enough = max(enough, _CHEAP_DIGITS if n_nodes < _CHEAP_NODES else 0.1 * self._good)
        return enough

    def _along(
        self, s: Floats, sign: int, contour: _Key, n_nodes: int, insist: bool, rough: bool = False
    ) -> InvertedTails:
        """Log tails from the first nodes of a contour.

        Where it is too far off to be followed nothing is cut off, and the error is infinite.
        """
        nodes = self._contour(contour, n_nodes)
        found = InvertedTails.unknown(s.size)
        log_p, unit, cut, error = self._summed(nodes, s, sign, insist, rough)
        known = np.isfinite(log_p)
        safe = np.where(known, log_p, 0.0)
        size = nodes.heights.sum() * unit
        if np.any(cut > _DECAYED):
            commonest = self._log_commonest(nodes.theta if contour[0] == sign else 0.0)
            unseen = _CLUSTER * np.exp(np.minimum(commonest - safe, 50.0))
            error += np.where(cut > _DECAYED, unseen, 0.0)
        rounding = _ROUNDING_OF_DENSE if self._is_dense else _ROUNDING
        error += _PRECISION + rounding * np.sqrt(self._transform.n_blocks) * size
        error += exp_of_error(self._log_aliasing(s, contour, safe))
        if self._tapers:
            error += EDGE * exp_of_error(0.5 * (self._transform.log_edge - safe))
        if self._merged:
            coarser = self._contour(contour, n_nodes, True)
            if not np.isfinite(coarser.log_transform).all():
                return found
            coarse = coarser.tail(s, sign, self._tapers)[0]
            known &= np.isfinite(coarse)
            merging = np.where(known, log_p, 0.0) - np.where(known, coarse, 0.0)
            log_p = log_p + LEFT_OF_MERGING * merging
            found.merging = DOUBT_OF_MERGING * np.abs(merging)
            error += found.merging
        few = _FAR_OFF_STEEP if self._is_steep else _FAR_OFF
        limit = np.where(self._are_many_beyond(safe), _FAR_OFF_DENSE, few)
        far_off = size > (_FAR_OFF_COARSE if insist or rough or self._is_coarse else limit)
        far_off &= contour[0] == sign
        # A larger error would itself be a guess.
        usable = known & (log_p < 1e-6) & (error < 1.0) & ~far_off
        found.log_p = np.minimum(log_p, 0.0)
        found.error = np.where(usable, error, np.inf)
        found.cut = np.where(far_off, 0.0, cut)
        found.tilt[:], found.reach[:] = nodes.theta, nodes.z[-1].imag
        return found

    def _summed(
        self, nodes: Nodes, s: Floats, sign: int, insist: bool, rough: bool
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Log tails, the unit of their terms, what is cut off, and that with what jumps hold."""
        if not self._tapers:
            farther = [more.behind(nodes.z.size) for more in self._farther_nodes(nodes)]
            log_p, unit = nodes.tail(s, sign, False, [more for more in farther if more.z.size])
            cut = (self._rest(nodes, insist, rough) + self._returning(nodes)) * unit
            # A sum over multiples of the span has no half of an atom.
            seen = (insist or rough or self._is_coarse) and not nodes.span
            return log_p, unit, cut, cut + (nodes.atom(s) * unit if seen else 0.0)
        log_p, unit = nodes.tail(s, sign, True)
        cut = nodes.cut(s, sign, log_p)
        returning = self._returning(nodes)
        error = cut + (nodes.jump(s) + returning) * unit
        if sign < 0 or nodes.side < 0:
            return log_p, unit, cut, error
        # Far up lucky hits are the rule, and a contour of their tilt has no need of a taper.
        plain, plain_unit = nodes.tail(s, sign, False)
        rest = (self._rest(nodes, insist, rough) + returning) * plain_unit
        better = np.isfinite(plain) & (rest < error)
        log_p, unit, error = (
            np.where(better, of_plain, of_tapered)
            for of_plain, of_tapered in ((plain, log_p), (plain_unit, unit), (rest, error))
        )
        return log_p, unit, error, error.copy()

    def _rest(self, nodes: Nodes, insist: bool, rough: bool = False) -> float:
        """How much the terms that are cut off may add up to.

        If they do not oscillate: their sums over octaves go on falling as the last two did. If they
        do and decay fast, less than the last eighth of what there is; of a coarse distribution,
        whose terms need not decay, about a tenth to the whole of the second half.
        """
        if nodes.is_whole and not self._merged:
            return 0.0
        heights = nodes.heights
        n_nodes = heights.size
        octave, before = heights[n_nodes // 2 :].sum(), heights[n_nodes // 4 : n_nodes // 2].sum()
        if self._is_coarse or insist:
            return float(octave)
        if rough:
            return float(_ROUGHLY * octave)
        if self._is_smooth:
            # Each part is smaller, relative to the one before it, than the last was.
            length = max(2, n_nodes // 8)
            octave, before = heights[-length:].sum(), heights[-2 * length : -length].sum()
        ratio = min(octave / max(before, np.finfo(float).tiny), 0.9)
        eighth = heights[-max(4, n_nodes // 8) :].sum()
        places, farther = self._ahead.get((nodes.theta, nodes.step), (np.zeros(1), np.zeros(1)))
        later = farther * np.diff(np.maximum(places, n_nodes), prepend=n_nodes)
        return float(max(eighth, octave * ratio / (1.0 - ratio), later.sum()))

    def _returning(self, nodes: Nodes) -> float:
        """Sizes of all terms beyond the last node, added up, on the scale of `Nodes.heights`.

        A transform that has decayed returns where the hits of a large block, or a few top ranks,
        leave values that are nearly multiples of something. Its mean size farther out is sampled.
        """
        return self._returning_beyond(nodes, nodes.z.size)

    def _returning_beyond(self, nodes: Nodes, n_nodes: int) -> float:
        if nodes.is_whole or (nodes.theta, nodes.step) not in self._returns:
            return 0.0
        places, sizes, shares = self._returns[nodes.theta, nodes.step]
        beyond = places >= n_nodes
        if self._tapers:
            # What has not decayed yet is told by the taper: only what is larger again returns.
            level = (nodes.heights * np.abs(nodes.z))[-max(1, nodes.z.size // 4) :].max()
            transform = sizes * np.abs(nodes.theta + 1j * places * nodes.step)
            beyond &= transform > _LARGER_AGAIN * level
        return float((sizes * shares)[beyond].sum())

    def _look_for_returns(self, contour: _Key, first: int, whole: int) -> None:
        """Sample the transform from the first look on, evenly in the logarithm of the distance."""
        nodes = self._contour(contour, first)
        key = nodes.theta, nodes.step
        if key in self._returns:
            return
        spread = min(_SPREAD, whole / first)
        n_looks = self._n_looks()
        # Not in step with anything, and the same each time.
        golden = (np.arange(1, n_looks + 1) * _GOLDEN) % 1.0
        places = np.sort(first * spread**golden)
        # A node at a place stands for the terms of its share of the logarithms.
        shares = places * (math.log(spread) / n_looks)
        # Where the transform may return a node stands for as many terms as the first look has, to
        # both sides, and at the end of a period to one.
        nearly = self._near_periods / nodes.step
        nearly = nearly[(first < nearly) & (nearly < whole - first)]
        ends = np.array([whole - 0.5] if self._span else [])
        about = np.abs(places[:, None] - np.concatenate([nearly, ends])) < first
        places, shares = places[~about.any(axis=1)], shares[~about.any(axis=1)]
        places = np.concatenate([places, nearly, ends])
        shares = np.concatenate([shares, np.full(nearly.size, 2.0 * first), first + 0.0 * ends])
        order = np.argsort(places, kind="stable")
        places, shares = places[order], shares[order]
        sizes = self._sizes_at(contour, nodes, places)
        # Of few blocks it returns everywhere.
        if self._span and not self._merged and not self._few_blocks:
            returns = np.isin(places, np.concatenate([nearly, ends]))
            returns &= sizes * shares > _SILENT_RETURN
            farther, left = self._nodes_about(contour, nodes, places[returns], first, whole)
            self._farther[key], sizes[returns] = farther, left / shares[returns]
        self._returns[key] = places, sizes, shares

    def _sizes_at(self, contour: _Key, nodes: Nodes, places: Floats) -> Floats:
        """Sizes of terms on the scale of `Nodes.heights`; infinite where they are not known."""
        z = np.asarray(nodes.theta + 1j * places * nodes.step, dtype=complex)
        logs = self._log_transform(*contour[:2], z, False).real
        # Where the first node is not known nothing is.
        first_log = float(nodes.log_transform[0].real)
        logs = logs - first_log if math.isfinite(first_log) else np.full(logs.shape, np.inf)
        return np.where(np.isfinite(logs), np.exp(np.minimum(logs, 0.0)) / np.abs(z), np.inf)

    def _nodes_about(
        self, contour: _Key, nodes: Nodes, places: Floats, reach: int, whole: int
    ) -> tuple[list[Nodes], Floats]:
        """Nodes about places where the transform returns, and what is left beside each."""
        found: list[Nodes] = []
        left = np.empty(places.size)
        end = reach
        for i, place in enumerate(places.tolist()):
            begin, stop = max(end, int(place) - reach), min(whole, int(place) + reach + 1)
            k = np.arange(begin, max(stop, begin))
            end = max(end, stop)
            if not k.size:
                left[i] = 0.0
                continue
            z = np.asarray(nodes.theta + 1j * (k + 0.5) * nodes.step, dtype=complex)
            chunks = np.array_split(z, -(-z.size // self._chunk(*contour[:2])))
            logs = np.concatenate(
                [self._log_transform(*contour[:2], chunk, False) for chunk in chunks]
            )
            about = replace(
                nodes,
                z=z,
                log_transform=logs,
                begin=begin,
                scale=float(nodes.log_transform[0].real),
            )
            found.append(about)
            edges = about.heights[0] + (about.heights[-1] if stop < whole else 0.0)
            left[i] = edges * reach if np.isfinite(logs).all() else np.inf
        return found, left

    def _farther_nodes(self, nodes: Nodes) -> list[Nodes]:
        """Nodes where the transform returns, far out on the same contour."""
        return self._farther.get((nodes.theta, nodes.step), [])

    def _looked_ahead(self, contour: _Key, first: int) -> tuple[Floats, Floats]:
        """A few nodes from the shortest contour to the usual one, and the sizes of the terms there.

        They are of blocks that are merged more, and on the scale of `Nodes.heights`.
        """
        near = self._contour(contour, 1, True)
        key = near.theta, near.step
        if key not in self._ahead:
            places = np.geomspace(_FEWEST_NODES, first, _N_AHEAD).round()
            z = np.asarray(near.theta + 1j * (places + 0.5) * near.step, dtype=complex)
            logs = self._log_transform(*contour[:2], z, True).real - near.log_transform[0].real
            self._ahead[key] = places, np.exp(logs) / np.abs(z)
        return self._ahead[key]

    def _first_look(self, contour: _Key) -> int:
        """Nodes of the first look. The transform of a few large blocks comes back: look far."""
        if self._few_blocks:
            return int(np.clip(_BLOCK_NODES / self._transform.n_blocks, 256, 1024))
        if self._is_smooth and contour[1] <= _EXTREME:
            deviation = self._deviation(*contour[:2])
            return int(_REACH_OF_SMOOTH * self._period(contour[2]) / (2.0 * np.pi * deviation))
        return int(self._reach * self._period(contour[2]) / (2.0 * np.pi * self._units[contour[0]]))

    def _deviation(self, side: int, index: float) -> float:
        """Standard deviation under a tilt, from the nearest three of the ladder."""
        # Tilts smaller than those of the ladder change the deviation no more than its first.
        at = max(round(index) - _LADDER.start, 1)
        thetas, log_mgfs = self._ladder(side, at + 2)
        around = slice(at - 1, at + 2)
        if not np.isfinite(log_mgfs[around]).all():
            return self._units[side]
        slopes = np.diff(log_mgfs[around]) / np.diff(thetas[around])
        variance = 2.0 * np.diff(slopes)[0] / (thetas[around][2] - thetas[around][0])
        return max(math.sqrt(abs(variance)), _LEAST_DEVIATION * self._units[side])

    @property
    def _reach(self) -> float:
        """How far the first look goes, in one over the unit."""
        return 1.5 * _FIRST_REACH if self._in_a_hurry else _FIRST_REACH

    def _first_period(self, side: int, index: float) -> int:
        """Index of the shortest period of the contours of a tilt.

        Of a dense distribution it is long enough for all values that share the tilt. Else a longer
        reach tells more, and on a lattice the shortest is soon followed to its end.
        """
        if index > _EXTREME:
            return _SHORTEST
        if not self._is_dense or index not in self._usual_indices:
            return self._first_by_looks(side, _FIRST_OF_STEEP)
        if (side, index) not in self._first_periods:
            first, fine = 0, np.zeros(1, dtype=bool)
            s = self._farthest(side, int(index))
            log_p = self.cheap_log_bound(s, side, int(index))
            while np.isfinite(log_p).all() and not fine.all() and first < _N_PERIODS:
                fine = self._log_harm(s, (side, index, first)) - log_p <= -_ALIASING_OF_DENSE
                first += not fine.all()
            self._first_periods[side, index] = first
        return self._first_periods[side, index]

    def _farthest(self, side: int, index: int) -> Floats:
        """Roughly the farthest values that share a tilt: where another one would do as well.

        They are not finite where a transform is not known.
        """
        at, apart = index - _LADDER.start, self._apart
        is_usual = index == _USUAL
        other = at + apart if is_usual else at - apart
        thetas, log_mgfs = self._ladder(side, max(at, other) + 1)
        with np.errstate(invalid="ignore"):
            as_well = (log_mgfs[other] - log_mgfs[at]) / (thetas[other] - thetas[at])
        beyond = (log_mgfs[at] - _BEYOND_THE_MEAN) / thetas[at]
        return np.array([as_well, beyond] if is_usual else [as_well])

    def _first_reflected(self, side: int) -> int:
        """Index of the shortest period of reflected contours."""
        return self._first_by_looks(side, _STEPS_OF_STEEP)

    def _first_by_looks(self, side: int, of_steep: int) -> int:
        if self._span or -self._transform.log_placement < _MANY:
            return 0
        if self._is_steep:
            return of_steep
        n_nodes = self._cheap_look((side, 0.0, 0))
        period = 2.0 * np.pi * self._units[side] * n_nodes / (_LOOKS * self._reach)
        return max(0, int(2.0 * math.log2(period / (_FIRST_PERIOD * self._units[-1]))))

    def _n_looks(self) -> int:
        """Nodes at which the transform is sampled for its return."""
        return _LOOKS_WITH_LARGE_BLOCKS if self._transform.has_large_blocks else _LOOKS_FOR_RETURNS

    def _n_nodes_of_all(self, contour: _Key) -> int:
        """Nodes to the end of a period of the transform, which values without a span lack."""
        if not self._span:
            return sys.maxsize
        return round(self._period(contour[2]) / (2.0 * self._span))

    def _cheap_look(self, contour: _Key) -> int:
        short_steps = self._is_steep and not self._merged
        cheap = _CHEAP_LOOK_SMOOTH if self._is_smooth else _CHEAP_LOOK
        if short_steps:
            cheap = _CHEAP_LOOK_STEEP
        return max(1, cheap // self._most_rows(*contour[:2]))

    def _contour(self, contour: _Key, n_nodes: int, coarse: bool = False) -> Nodes:
        """The first `n_nodes` nodes of a contour; those already there are kept."""
        side, index, period = contour
        known = self._contours.get((contour, coarse))
        if known is None:
            nothing = np.empty(0, complex)
            step = 2.0 * np.pi / self._period(period)
            theta = float(self._thetas(side, index))
            known = Nodes(theta, step, self._span, nothing, nothing)
        if known.z.size < n_nodes:
            heights = (np.arange(known.z.size, n_nodes) + 0.5) * known.step
            added = known.theta + 1j * heights
            values = [
                self._log_transform(side, index, chunk, coarse)
                for chunk in np.array_split(added, -(-added.size // self._chunk(side, index)))
            ]
            known = Nodes(
                known.theta,
                known.step,
                known.span,
                np.concatenate([known.z, added]),
                np.concatenate([known.log_transform, *values]),
            )
            self._contours[contour, coarse] = known
        return known.up_to(n_nodes)

    def _chunk(self, side: int, index: float) -> int:
        """Nodes of one pass, so that the state stays in the cache."""
        return max(_CHUNK, _STATE // self._most_rows(side, index))

    def _most_rows(self, side: int, index: float) -> int:
        return self._transform.most_rows(*self._tilt(side, index))

    def _log_transform(self, side: int, index: float, z: Complexes, coarse: bool) -> Complexes:
        theta, is_extreme = self._tilt(side, index)
        return self._transform.at(theta, z, is_extreme, coarse)


def is_steep(increments: Increments, scale: float) -> bool:
    """Whether one lucky hit is several standard deviations."""
    return _is_steep(largest_increment(increments), scale)


def _is_steep(luckiest: float, scale: float) -> bool:
    return _UNITS_PER_HIT * luckiest > scale
