"""Tails of steep distributions: the hits at the very top apart from all others.

Where one lucky hit is worth many standard deviations of what the others add, the distribution is a
mixture: given how many hits are at the top, and what they add, the rest is smooth and narrow. The
transform of the whole varies quickly along a contour and needs many nodes, but those come from the
few blocks at the top alone; the transform of the rest, given the hits before it, varies slowly. It
is computed at as few nodes as a period asks for that covers the rest, and told between them by
Fourier sums, which are exact for a distribution that a period covers. One contour then serves all
values up to a height, and a few with steeper tilts the lower tail.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len
from scipy.special import logsumexp

from sklearn_rankinf._engine.hypergeometric import log_pmf
from sklearn_rankinf._engine.inversion.bands import Bands, feasible_bands, tilted_bands
from sklearn_rankinf._engine.inversion.lucky import log_rarity, lucky_apart
from sklearn_rankinf._engine.inversion.ranking_transform import RankingTransform
from sklearn_rankinf._engine.inversion.transform import log_transforms
from sklearn_rankinf._engine.inversion.trapezoid import (
    SERVED,
    ContourTails,
    Nodes,
    faded,
    waves_between,
)
from sklearn_rankinf._engine.statistics import Complexes, Floats, Increments, Integers

# A hit is lucky if it adds more than this part of the standard deviation of the others. More lucky
# hits than are that improbable, in logarithms, are left out.
_LUCKY, _LOG_RARE = 0.7, -27.0
# Contours of upper tails have periods of so many standard deviations of the others, times a power
# of a factor, are damped by so much a period, and serve values up to this part of it above the
# lowest. The harmless side adds less than exp(-damping) of what is a period away.
_PERIOD, _LONGER, _DAMPING = 320.0, 2.0, 9.0
# Tilts of lower tails, in one over that deviation, are each so many times steeper than the last. A
# value farther below the mean under a tilt, in standard deviations, or nearer to the lowest, as a
# part of the way from there, takes the next. Their periods leave exp(-aliasing) of the tail.
_STEEPER, _N_TILTS, _FAR_OUT, _NEAR_THE_END, _ALIASING = 3.0, 8, 2.5, 0.07, 30.0
# The period that covers the rest, in its standard deviations, and the part of it below the mean:
# more lucky ones among the others reach far above.
_WINDOW, _BELOW = 32.0, 0.35
# The logarithm of the transform falls by this up to the first part of a contour, and the rest fades
# out; contours of much work do with less. It is looked at in some places, in one over the deviation
# of the others. A contour goes no farther than that, in one over the deviation of the rest, and one
# of a lower tail no farther than the second.
_FALL, _LEAST_FALL, _FIRST_PART, _PLACES = 17.0, 8.0, 0.6, 4.0 * 1.25 ** np.arange(17)
_FARTHEST, _FARTHEST_BELOW = 45.0, 80.0
# Paths of the others that are less probable than this are left out.
_IMPROBABLE = 1e-14
# So many blocks times hits are many: with these, fewer digits cost less.
_MANY, _WINDOW_OF_MANY, _FALL_OF_MANY, _IMPROBABLE_OF_MANY = 1e5, 24.0, 14.0, 1e-11
# Products for the blocks at the top beyond which contours are shorter, and that are affordable; and
# nodes of one pass.
_CHEAP_WORK, _WORK, _CHUNK = 1e7, 1e8, 2048
# Products for the others that are worth bands of their own.
_MUCH_WORK = 2e7
# Mean and standard deviation of the rest are read off so close to the real axis, in one over the
# deviation of the others.
_CLOSE = 0.03
# What ends abruptly is not narrow: the last part of a contour fades out, one in so many nodes. In a
# part of the window at either end there must be nothing of the rest.
_FADES, _EDGE = 4, 16


class SteepInversion:
    """Both tails of a steep statistic whose increments are not negative.

    Parameters
    ----------
    blocks : callable
        Returns the increments, of a level of merging: 0 is what contours are planned with, 1 what
        they are of; with less merging near the bottom if it is told so.
    merged : bool
        Whether blocks of the second level are merged: then the first tells how much this errs.
    n_positives : int
        Number of positives.
    body : float
        Standard deviation without the luckiest hits.
    lowest, mean : float
        A value that the support does not fall below, and the mean.
    """

    def __init__(
        self,
        blocks: Callable[[int, bool], Increments],
        merged: bool,
        n_positives: int,
        body: float,
        lowest: float,
        mean: float,
    ) -> None:
        self._blocks, self._merged = blocks, merged
        self._n_positives = n_positives
        self._body, self._lowest, self._mean = body, lowest, mean
        self._lists_apart: dict[bool, _LuckyApart] = {}
        self._plans: dict[int, _Plan | None] = {}
        self._contours: dict[tuple[int, int], ContourTails | None] = {}

    def log_tail(self, s: Floats, sign: int) -> tuple[Floats, Floats]:
        """Log of ``P(S >= s)`` (sign 1) or ``P(S <= s)`` (sign -1), and its relative error.

        Meant for s on the same side of the mean as the tail.
        """
        log_p, error = np.full(s.shape, -np.inf), np.full(s.shape, np.inf)
        indices = self._heights(s) if sign > 0 else self._depths(s)
        for index in np.unique(indices).tolist():
            contours = self._contours_of(sign, index)
            if contours is not None:
                same = indices == index
                log_p[same], error[same], _ = contours.log_tail(s[same], sign)
        return log_p, error

    def log_bound_below(self, s: Floats, enough: float) -> Floats:
        """Bound of the log of ``P(S <= s)``, where it is below what is enough not the lowest."""
        bound = np.zeros(s.shape)
        for depth in range(_N_TILTS):
            plan = self._plan_below(depth)
            if plan is None:
                break
            bound = np.minimum(bound, plan.log_bound + plan.narrow.theta * (plan.mean - s))
            if not np.any((bound >= enough) & (s < self._served_below(plan))):
                break
        return bound

    def _heights(self, s: Floats) -> Integers:
        """For each value the first period that serves it."""
        part = (s - self._lowest) / (SERVED * _PERIOD * self._body)
        power = np.log(np.maximum(part, 1.0)) / math.log(_LONGER)
        return np.ceil(power).astype(np.int64)

    def _depths(self, s: Floats) -> Integers:
        """For each value the first tilt under which it is not far out."""
        depths = np.zeros(s.shape, dtype=np.int64)
        for depth in range(_N_TILTS - 1):
            plan = self._plan_below(depth)
            if plan is None:
                break
            deeper = (depths == depth) & (s < self._served_below(plan))
            if not deeper.any():
                break
            depths[deeper] += 1
        return depths

    def _served_below(self, plan: _Plan) -> float:
        """The lowest value for which a tilt is not too flat."""
        near_the_end = self._lowest + _NEAR_THE_END * (plan.mean - self._lowest)
        return max(near_the_end, plan.mean - _FAR_OUT * plan.deviation)

    def _plan_below(self, depth: int) -> _Plan | None:
        """Plan of the contours of lower tails through a tilt."""
        if depth not in self._plans:
            theta = -(_STEEPER**depth) / self._body
            plan = self._apart(self._merged and depth > 1).planned(theta)
            # Rounding may have left nothing of a tilt that is too extreme.
            self._plans[depth] = plan if plan and plan.mean > self._lowest else None
        return self._plans[depth]

    def _contours_of(self, sign: int, index: int) -> ContourTails | None:
        if (sign, index) not in self._contours:
            apart = self._apart(self._merged and sign < 0 and index > 1)
            if sign > 0:
                period = _PERIOD * self._body * _LONGER**index
                plan = apart.planned(-_DAMPING / period)
            else:
                plan = self._plan_below(index)
                period = self._period_below(index)
            self._contours[sign, index] = apart.contours(plan, period) if plan else None
        return self._contours[sign, index]

    def _period_below(self, depth: int) -> float:
        """A period that covers the values that take a tilt, and leaves little aliasing."""
        plan, before = (self._plan_below(max(0, i)) for i in (depth, depth - 1))
        if plan is None or before is None:
            return math.inf
        highest = before.mean if depth else self._mean
        damped = (_ALIASING - plan.log_bound) / -plan.narrow.theta
        return max(1.2 * (highest - self._lowest), damped)

    def _apart(self, deep: bool) -> _LuckyApart:
        """Lucky hits apart in either list, or in those that are merged less near the bottom."""
        if deep not in self._lists_apart:
            coarse, fine = (self._blocks(level, deep) for level in (0, 1))
            self._lists_apart[deep] = _LuckyApart(
                fine, coarse, self._merged, self._n_positives, self._body
            )
        return self._lists_apart[deep]


class _LuckyApart:
    """Contours of one list, and of that with blocks merged further.

    Parameters
    ----------
    increments, coarse : Increments
        What hits add in either list.
    merged : bool
        Whether blocks of the first are merged.
    n_positives : int
        Number of positives.
    body : float
        Standard deviation without the luckiest hits.
    """

    def __init__(
        self,
        increments: Increments,
        coarse: Increments,
        merged: bool,
        n_positives: int,
        body: float,
    ) -> None:
        self._merged, self._body = merged, body
        self._are_many = increments.sizes.size * n_positives > _MANY
        n_top, most, self.log_rarity = lucky_apart(coarse, n_positives, _LUCKY * body, _LOG_RARE)
        n_lucky = coarse[:n_top].n_samples
        self._fine, self._coarse = (
            _Mixture(each, n_positives, n_lucky, most) for each in (increments, coarse)
        )
        transform = RankingTransform(increments, coarse, n_positives, merged)
        logs = transform.log_commonest(0.0), transform.log_placement, transform.log_edge
        self._logs_of_one = logs

    @property
    def applies(self) -> bool:
        """Whether all hits may be among the others, in either list."""
        return self._fine.has_others and self._coarse.has_others

    def planned(self, theta: float) -> _Plan | None:
        """How to follow contours through a tilt, from merged blocks; None where that fails."""
        coarse = self._coarse
        if not self.applies:
            return None
        bands = coarse.likely_bands(theta, self._are_many)
        log_tops = coarse.of_the_top(np.array([theta], dtype=complex)).real
        places = np.array([0.0, _CLOSE, *_PLACES]) / self._body
        logs = coarse.of_the_rest(np.asarray(theta + 1j * places), bands)
        log_weights = log_tops + logs.real
        log_sizes = logsumexp(log_weights, axis=0)
        if not (np.isfinite(logs[:, :2]).all() and np.isfinite(log_sizes).all()):
            return None
        # The logarithm of the transform begins with i w mean - w**2 variance / 2.
        change = logs[:, 1] - logs[:, 0]
        mean = change.imag / places[1]
        deviations = np.sqrt(np.maximum(-2.0 * change.real, 0.0)) / places[1]
        matters = log_weights[:, 0] > log_sizes[0] + _LOG_RARE
        deviation = float(deviations[matters].max())
        if not deviation > 0.0:
            return None
        enough = _FALL_OF_MANY if self._are_many else _FALL
        falls = np.maximum.accumulate(log_sizes[0] - log_sizes[2:])
        decayed = np.interp([enough, _LEAST_FALL], falls, places[2:], right=np.inf) / _FIRST_PART
        farthest = _FARTHEST_BELOW if theta * self._body < -0.5 else _FARTHEST
        reach, least_reach = np.minimum(decayed, farthest / deviation).tolist()
        window = (_WINDOW_OF_MANY if self._are_many else _WINDOW) * deviation
        narrow = _Narrow(theta, window, mean - _BELOW * window, log_tops)
        log_bound = float(log_sizes[0] - theta * mean[0])
        reaches = reach, least_reach
        return _Plan(narrow, *reaches, bands, float(mean[0]), float(deviations[0]), log_bound)

    def contours(self, plan: _Plan, period: float) -> ContourTails | None:
        """Contours with a period; None where they are not affordable."""
        fine, coarse, narrow = self._fine, self._coarse, plan.narrow
        n_windows = next_fast_len(math.ceil(period / narrow.window))
        z = narrow.nodes(plan.reach)
        n_products = fine.n_products * n_windows
        if n_products * z.size > _CHEAP_WORK:
            z = z[: max(int(_CHEAP_WORK / n_products), narrow.nodes(plan.least_reach).size)]
        if n_products * z.size > _WORK:
            return None
        bands = plan.bands.at(coarse.ends, fine.ends)
        if self._merged and bands.work() * z.size > _MUCH_WORK:
            # Bands of its own are narrower, but take their time.
            bands = fine.likely_bands(narrow.theta, self._are_many)
        rest = fine.of_the_rest(z, bands)
        nodes, lost = narrow.continued(rest, n_windows, fine)
        coarser = []
        if self._merged:
            rest = coarse.of_the_rest(z, plan.bands)
            coarser = [narrow.continued(rest, n_windows, coarse)[0]]
        logs = *self._logs_of_one, self.log_rarity
        return ContourTails(nodes, coarser, lost, fine.n_blocks, *logs, coarse.cell)


@dataclass(frozen=True, eq=False)
class _Plan:
    """How to follow contours through a tilt.

    Attributes
    ----------
    narrow : _Narrow
        Periods that cover the rest.
    reach, least_reach : float
        How far from the real axis contours go, and where that is much work.
    bands : Bands
        The paths of the others that matter.
    mean, deviation : float
        Of the rest under the tilt, if no hit is lucky.
    log_bound : float
        Log of a bound of the lower tail at that mean.
    """

    narrow: _Narrow
    reach: float
    least_reach: float
    bands: Bands
    mean: float
    deviation: float
    log_bound: float


class _Mixture:
    """The transform of the blocks at the top and of the others, for each number of lucky hits.

    Parameters
    ----------
    increments : Increments
        All blocks.
    n_positives, n_lucky, most : int
        Numbers of hits, of items at the top, or a few more, and of hits there that are told apart.
    """

    def __init__(
        self,
        increments: Increments,
        n_positives: int,
        n_lucky: int,
        most: int,
    ) -> None:
        self._n_positives, self._most = n_positives, most
        n_top = int(np.searchsorted(np.cumsum(increments.sizes), n_lucky)) + 1
        self._top = increments[:n_top]
        self._others = increments[n_top:].from_the_end(n_positives)
        problem = increments.n_samples, n_positives, self._top.n_samples
        self._log_shares = log_pmf(np.arange(most + 1), *problem)[:, None]
        feasible = feasible_bands(self._top, most, 0)
        expected = n_positives / increments.n_samples * self._top.sizes
        hits = np.arange(1, most + 1)
        rarities = log_rarity(np.log(expected)[:, None], hits)
        likely = np.where(rarities < _LOG_RARE, hits, most).min(axis=1)
        in_block = np.minimum(feasible.most, likely)
        self._bands_of_the_top = Bands(feasible.low, feasible.high, in_block, feasible.least)
        self.ends = np.cumsum(self._others.sizes)
        self.n_blocks = increments.sizes.size

    @property
    def has_others(self) -> bool:
        """Whether all hits may be among the others."""
        return self.ends.size > 0 and int(self.ends[-1]) >= self._n_positives

    @property
    def n_products(self) -> int:
        """Products for one node at the top."""
        return self._top.sizes.size * (self._most + 1)

    @property
    def cell(self) -> float:
        """How far apart one lucky hit is in neighbouring blocks of more than one item, at most."""
        merged = self._top.sizes[1:] > 1
        return float(np.max(np.abs(np.diff(self._top.of_one_hit)), where=merged, initial=0.0))

    def likely_bands(self, theta: float, are_many: bool) -> Bands:
        """The paths of the others that matter at a tilt, however many hits are lucky."""
        improbable = _IMPROBABLE_OF_MANY if are_many else _IMPROBABLE
        likely, _ = tilted_bands(self._others, self._n_positives, theta, improbable)
        return likely.down_by(self._most)

    def of_the_top(self, z: Complexes) -> Complexes:
        """Log transforms of what lucky hits add, for each number of them (rows)."""
        bands = self._bands_of_the_top
        n_chunks = -(-z.size // _CHUNK)
        with np.errstate(divide="ignore"):
            logs = [
                log_transforms(self._top, 0, self._most, chunk, bands)
                for chunk in np.array_split(z, n_chunks)
            ]
        return np.concatenate(logs, axis=1)

    def of_the_rest(self, z: Complexes, bands: Bands) -> Complexes:
        """Log transforms of what the others add, and shares, for each number of lucky hits."""
        m = self._n_positives
        with np.errstate(divide="ignore"):
            logs = log_transforms(self._others, m - self._most, m, z, bands)
        return np.asarray(logs[::-1] + self._log_shares)


@dataclass(frozen=True, eq=False)
class _Narrow:
    """Distributions, one for each number of lucky hits, that a period covers.

    Attributes
    ----------
    theta, window : float
        Tilt, and the period.
    starts : ndarray of shape (n_lucky + 1,)
        Where the period of each begins.
    log_tops : ndarray of shape (n_lucky + 1, 1)
        Log transforms of lucky hits at the tilt.
    """

    theta: float
    window: float
    starts: Floats
    log_tops: Floats

    def nodes(self, reach: float) -> Complexes:
        """Nodes for the period, from the tilt on."""
        places = np.arange(0.0, reach, 2.0 * math.pi / self.window)
        return np.asarray(self.theta + 1j * places, dtype=complex)

    def continued(self, logs: Complexes, n_windows: int, mixture: _Mixture) -> tuple[Nodes, float]:
        """Nodes of the mixture for a period of so many windows, and what a window does not cover.

        From log transforms of the distributions, multiplied by shares, at the nodes for one window.
        """
        n_nodes = logs.shape[1]
        frequencies = np.arange(n_nodes) * (2.0 * math.pi / self.window)
        log_scale = float(logsumexp(self.log_tops + logs[:, :1].real))
        waves = np.exp(logs - log_scale - 1j * np.outer(self.starts, frequencies))
        waves *= faded(n_nodes, 1.0 / _FADES)
        n_places = next_fast_len(2 * n_nodes)
        smooth = irfft(waves.conj() * faded(n_nodes, 1.0) ** 2, n_places, axis=1)
        edge = n_places // _EDGE
        at_the_ends = np.abs(np.roll(smooth, edge, axis=1)[:, : 2 * edge]).sum(axis=1)
        lost = float(np.exp(self.log_tops[:, 0]) @ at_the_ends)
        n_between = (n_nodes - 1) * n_windows
        step = 2.0 * math.pi / (self.window * n_windows)
        between = waves_between(waves, n_windows, math.pi / n_windows, n_between)
        places = (np.arange(n_between) + 0.5) * step
        rests = between * np.exp(1j * np.outer(self.starts, places))
        z = np.asarray(self.theta + 1j * places, dtype=complex)
        total = (np.exp(mixture.of_the_top(z)) * rests).sum(axis=0)
        with np.errstate(divide="ignore"):
            log_transform = np.asarray(np.log(total) + log_scale)
        return Nodes(self.theta, step, 0.0, z, log_transform), lost
