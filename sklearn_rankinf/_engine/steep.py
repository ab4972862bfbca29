"""Tails of steep laws: the hits at the very top apart from all others.

Where one lucky hit is worth many standard deviations of what the others add, the law is a mixture:
given how many hits are at the top, and what they add, the rest is smooth and narrow. The transform
of the whole varies quickly along a contour and needs many nodes, but those come from the few blocks
at the top alone; the transform of the rest, given the hits before it, varies slowly. It is computed
at as few nodes as a period asks for that covers the rest, and told between them by Fourier sums,
which are exact for a law that a period covers. One contour then serves all values up to a height,
and a few with steeper tilts the lower tail.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.fft import ifft, irfft, next_fast_len
from scipy.special import logsumexp

from sklearn_rankinf._engine.bands import Bands, feasible_bands, tilted_bands
from sklearn_rankinf._engine.hypergeometric import log_pmf
from sklearn_rankinf._engine.inversion import DOUBT_OF_MERGING, LEFT_OF_MERGING, Nodes
from sklearn_rankinf._engine.lucky import log_rarity
from sklearn_rankinf._engine.statistics import Complexes, Floats, Increments, Integers
from sklearn_rankinf._engine.tilted import RankingTransform
from sklearn_rankinf._engine.transform import log_transforms

# A hit is lucky if it adds more than this part of the standard deviation of the others, or is one
# of so many. More lucky hits than are that improbable, in logarithms, are left out.
_LUCKY, _LEAST_LUCKY, _LOG_RARE = 0.7, 16, -27.0
# Contours of upper tails have periods of so many standard deviations of the others, times a power
# of a factor, are damped by so much a period, and serve values up to this part of it above the
# lowest. The harmless side adds less than exp(-damping) of what is a period away.
_PERIOD, _LONGER, _DAMPING, _SERVED = 320.0, 3.0, 9.0, 0.6
# Tails of several lucky hits have contours of their own if more is stated than is good, or than
# that below this logarithm.
_GOOD, _GOOD_FAR_UP, _FAR_UP = 5e-3, 1e-4, -15.0
# Those hits that are much rarer than the tail are not told apart: each time those twice as rare, in
# logarithms, are. Tilts are in logs of the odds of misses over what the luckiest hit adds.
_N_RARITIES, _FAR_RARER = 5, 15.0
# Values are below this part of what all of these hits add at the very top, and a period is longer
# by this factor and so many means of the statistic.
_BELOW_ALL, _BEYOND_ALL, _MEANS = 0.8, 1.2, 4.0
# There the difference between two ratios tells less of what merging errs, and hits are lucky that
# add more than a smaller part of the deviation.
_DOUBT_FAR_UP, _LUCKY_FAR_UP = 0.3, 0.25
_UPWARDS = 0.5 * 1.08 ** np.arange(16)
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
# Mean and standard deviation of the rest are read off so close to the real axis, in one over the
# deviation of the others.
_CLOSE = 0.03
# What ends abruptly is not narrow: the last part of a contour fades out, one in so many nodes. In a
# part of the window at either end there must be nothing of the rest.
_FADES, _EDGE = 4, 16
# Rounding errs by this times the root of the number of blocks, relative to the sum of all sizes.
# No contour is known to be more precise than this, and of merged blocks than that.
_ROUNDING, _PRECISION, _PRECISION_OF_MERGED = 4e-15, 1e-9, 5e-6
# What is cut off is told by a contour that is shorter by this factor. So many placements, and if
# more than this is cut off so many outcomes, may lie so close together that they are not seen.
_SHORTER, _MANY_PLACEMENTS, _SEEN, _CLUSTER = 2.0 / 3.0, 150.0, 1e-9, 50.0


class SteepLaw:
    """Both tails of a steep statistic whose increments are not negative.

    Parameters
    ----------
    lists : callable
        Returns the increments, and those with blocks merged further, by which contours are planned;
        with less merging near the bottom if it is told so.
    merged : bool
        Whether blocks of the first are merged: then the second tell how much this errs.
    n_positives : int
        Number of positives.
    body : float
        Standard deviation without the luckiest hits.
    lowest, mean : float
        A value that the support does not fall below, and the mean.
    """

    def __init__(
        self,
        lists: Callable[[bool], tuple[Increments, Increments]],
        merged: bool,
        n_positives: int,
        body: float,
        lowest: float,
        mean: float,
    ) -> None:
        self._lists, self._merged = lists, merged
        self._n_positives = n_positives
        self._body, self._lowest, self._mean = body, lowest, mean
        self._lists_apart: dict[bool, _LuckyApart] = {}
        self._plans: dict[int, _Plan | None] = {}
        self._contours: dict[tuple[int, int], _Contours | None] = {}
        self._aparts_far_up: dict[int, _LuckyApart] = {}
        self._far_up_contours: dict[tuple[int, int], _Contours | None] = {}

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
                log_p[same], error[same] = contours.log_tail(s[same], sign)
        good = np.where(log_p > _FAR_UP, _GOOD, _GOOD_FAR_UP)
        weak = np.flatnonzero(error > good)
        if sign > 0 and weak.size:
            far, far_error = self._far_up(s[weak])
            better = far_error < error[weak]
            log_p[weak[better]], error[weak[better]] = far[better], far_error[better]
        return log_p, error

    def _far_up(self, s: Floats) -> tuple[Floats, Floats]:
        """Upper tails that are the work of several lucky hits, by contours of positive tilts.

        More hits at the top than are told apart are left out of the transform, so that rankings
        with nearly all hits there, which are as likely under a tilt, do not hide those with a few.
        """
        log_p, error = np.full(s.shape, -np.inf), np.full(s.shape, np.inf)
        open_ = np.arange(s.size)
        for rank in range(1, _N_RARITIES + 1):
            apart = self._apart_far_up(rank)
            if not (open_.size and apart.applies):
                break
            thetas, log_mgfs = apart.upwards
            exponents = log_mgfs[:, None] - np.outer(thetas, s[open_])
            best, log_bound = exponents.argmin(axis=0), exponents.min(axis=0)
            told = (log_bound > apart.log_rarity + _FAR_RARER) & (
                s[open_] < _BELOW_ALL * apart.highest
            )
            for index in np.unique(best[told]).tolist():
                same = open_[told & (best == index)]
                contours = self._contours_far_up(rank, index)
                if contours is not None:
                    log_p[same], error[same] = contours.log_tail(s[same], 1)
            open_ = open_[~told]
        return log_p, error

    def _apart_far_up(self, rank: int) -> _LuckyApart:
        """Lucky hits apart for tails of several of them, of some rank of rarity."""
        if rank not in self._aparts_far_up:
            fine, coarse = self._lists(False)
            problem = self._merged, self._n_positives, self._body
            limits = _LUCKY_FAR_UP, _LOG_RARE * 2.0**rank
            self._aparts_far_up[rank] = _LuckyApart(fine, coarse, *problem, *limits)
        return self._aparts_far_up[rank]

    def _contours_far_up(self, rank: int, index: int) -> _Contours | None:
        if (rank, index) not in self._far_up_contours:
            apart = self._apart_far_up(rank)
            plan = apart.planned(float(apart.upwards[0][index]))
            # Longer than what all lucky hits add, and the others beside them.
            period = _BEYOND_ALL * apart.highest + _MEANS * self._mean
            contours = apart.contours(plan, period) if plan else None
            self._far_up_contours[rank, index] = contours
        return self._far_up_contours[rank, index]

    def _heights(self, s: Floats) -> Integers:
        """For each value the first period that serves it."""
        part = (s - self._lowest) / (_SERVED * _PERIOD * self._body)
        power = np.log(np.maximum(part, 1.0)) / math.log(_LONGER)
        return np.ceil(power).astype(np.int64)

    def _depths(self, s: Floats) -> Integers:
        """For each value the first tilt under which it is not far out."""
        depths = np.zeros(s.shape, dtype=np.int64)
        for depth in range(_N_TILTS - 1):
            plan = self._plan_below(depth)
            if plan is None:
                break
            near_the_end = self._lowest + _NEAR_THE_END * (plan.mean - self._lowest)
            far_out = plan.mean - _FAR_OUT * plan.deviation
            deeper = (depths == depth) & (s < max(near_the_end, far_out))
            if not deeper.any():
                break
            depths[deeper] += 1
        return depths

    def _plan_below(self, depth: int) -> _Plan | None:
        """Plan of the contours of lower tails through a tilt."""
        if depth not in self._plans:
            theta = -(_STEEPER**depth) / self._body
            plan = self._apart(self._merged and depth > 1).planned(theta)
            # Rounding may have left nothing of a tilt that is too extreme.
            self._plans[depth] = plan if plan and plan.mean > self._lowest else None
        return self._plans[depth]

    def _contours_of(self, sign: int, index: int) -> _Contours | None:
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
            fine, coarse = self._lists(deep)
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
    lucky_from, log_rare : float, optional
        Hits that add more than this part of that deviation are lucky, and more lucky hits than are
        that improbable, in logarithms, are left out.
    """

    def __init__(
        self,
        increments: Increments,
        coarse: Increments,
        merged: bool,
        n_positives: int,
        body: float,
        lucky_from: float = _LUCKY,
        log_rare: float = _LOG_RARE,
    ) -> None:
        self._merged, self._body = merged, body
        self._are_many = increments.sizes.size * n_positives > _MANY
        n, m, ends = increments.n_samples, n_positives, np.cumsum(coarse.sizes)
        lucky = np.flatnonzero(coarse.of_one_hit > lucky_from * body)
        n_lucky = max(int(ends[lucky[-1]]) if lucky.size else 0, _LEAST_LUCKY)
        while True:
            # Whole blocks of the coarse list, so that its others are not fewer.
            n_lucky = int(ends[min(int(np.searchsorted(ends, n_lucky)), ends.size - 1)])
            most, self.log_rarity = _most_lucky(n, m, n_lucky, log_rare)
            if self.log_rarity <= log_rare or 4 * n_lucky >= n:
                break
            n_lucky *= 2
        self._fine, self._coarse = (
            _Mixture(each, m, n_lucky, most, log_rare) for each in (increments, coarse)
        )
        transform = RankingTransform(increments, coarse, n_positives, merged)
        self._logs_of_one = transform.log_commonest, transform.log_placement

    @property
    def applies(self) -> bool:
        """Whether all hits may be among the others, in either list."""
        return self._fine.has_others and self._coarse.has_others

    @property
    def highest(self) -> float:
        """What as many hits add as are told apart, at the very top."""
        return self._coarse.highest

    @cached_property
    def upwards(self) -> tuple[Floats, Floats]:
        """Positive tilts, and log transforms there, or nearly so, from merged blocks."""
        coarse = self._coarse
        thetas = np.asarray(_UPWARDS * coarse.log_odds / coarse.of_the_luckiest_hit, dtype=float)
        z = np.asarray(thetas, dtype=complex)
        bands = coarse.likely_bands(float(thetas[0]), self._are_many)
        log_mgfs = logsumexp((coarse.of_the_top(z) + coarse.of_the_rest(z, bands)).real, axis=0)
        return thetas, np.asarray(np.where(np.isfinite(log_mgfs), log_mgfs, np.inf))

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

    def contours(self, plan: _Plan, period: float) -> _Contours | None:
        """Contours with a period; None where they are not affordable."""
        fine, coarse, narrow = self._fine, self._coarse, plan.narrow
        n_windows = next_fast_len(math.ceil(period / narrow.window))
        z = narrow.nodes(plan.reach)
        n_products = fine.n_products * n_windows
        if n_products * z.size > _CHEAP_WORK:
            z = z[: max(int(_CHEAP_WORK / n_products), narrow.nodes(plan.least_reach).size)]
        if n_products * z.size > _WORK:
            return None
        rest = fine.of_the_rest(z, plan.bands.at(coarse.ends, fine.ends))
        nodes, lost = narrow.continued(rest, n_windows, fine)
        coarser = None
        if self._merged:
            coarser, _ = narrow.continued(coarse.of_the_rest(z, plan.bands), n_windows, coarse)
        return _Contours(nodes, coarser, lost, fine.n_blocks, *self._logs_of_one, self.log_rarity)


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
        log_rare: float,
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
        likely = np.where(rarities < log_rare, hits, most).min(axis=1)
        in_block = np.minimum(feasible.most, likely)
        self._bands_of_the_top = Bands(feasible.low, feasible.high, in_block, feasible.least)
        self.ends = np.cumsum(self._others.sizes)
        self.n_blocks, self._n_samples = increments.sizes.size, increments.n_samples

    @property
    def highest(self) -> float:
        """What the most hits that are told apart add at the very top."""
        ends = np.cumsum(self._top.sizes)
        return float(self._top.total(np.diff(np.minimum(ends, self._most), prepend=0)))

    @property
    def of_the_luckiest_hit(self) -> float:
        """The most that a single hit adds."""
        return float(self._top.of_one_hit.max())

    @property
    def log_odds(self) -> float:
        """Log of how many items there are for a hit."""
        return math.log(self._n_samples / self._n_positives)

    @property
    def has_others(self) -> bool:
        """Whether all hits may be among the others."""
        return self.ends.size > 0 and int(self.ends[-1]) >= self._n_positives

    @property
    def n_products(self) -> int:
        """Products for one node at the top."""
        return self._top.sizes.size * (self._most + 1)

    def likely_bands(self, theta: float, are_many: bool) -> Bands:
        """The paths of the others that matter at a tilt, however many hits are lucky."""
        improbable = _IMPROBABLE_OF_MANY if are_many else _IMPROBABLE
        likely, _ = tilted_bands(self._others, self._n_positives, theta, improbable)
        low, least = (np.maximum(x - self._most, 0) for x in (likely.low, likely.least))
        return Bands(low, likely.high, likely.most, least)

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
    """Laws, one for each number of lucky hits, that a period covers.

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

        From log transforms of the laws, multiplied by shares, at the nodes for one window.
        """
        n_nodes = logs.shape[1]
        frequencies = np.arange(n_nodes) * (2.0 * math.pi / self.window)
        log_scale = float(logsumexp(self.log_tops + logs[:, :1].real))
        waves = np.exp(logs - log_scale - 1j * np.outer(self.starts, frequencies))
        waves *= _faded(n_nodes, 1.0 / _FADES)
        n_places = next_fast_len(2 * n_nodes)
        law = irfft(waves.conj(), n_places, axis=1)
        smooth = irfft(waves.conj() * _faded(n_nodes, 1.0) ** 2, n_places, axis=1)
        edge = n_places // _EDGE
        at_the_ends = np.abs(np.roll(smooth, edge, axis=1)[:, : 2 * edge]).sum(axis=1)
        lost = float(np.exp(self.log_tops[:, 0]) @ at_the_ends)
        n_between = (n_nodes - 1) * n_windows
        step = 2.0 * math.pi / (self.window * n_windows)
        half_a_step = np.exp(1j * math.pi / n_windows * np.arange(n_places) / n_places)
        between = ifft(law * half_a_step, n_places * n_windows, axis=1)[:, :n_between]
        places = (np.arange(n_between) + 0.5) * step
        rests = between * (n_places * n_windows) * np.exp(1j * np.outer(self.starts, places))
        z = np.asarray(self.theta + 1j * places, dtype=complex)
        total = (np.exp(mixture.of_the_top(z)) * rests).sum(axis=0)
        with np.errstate(divide="ignore"):
            log_transform = np.asarray(np.log(total) + log_scale)
        return Nodes(self.theta, step, 0.0, z, log_transform), lost


def _faded(n_nodes: int, part: float) -> Floats:
    """Weights that fade out in the last part of a contour."""
    left = (n_nodes - np.arange(n_nodes)) / (part * n_nodes)
    return np.asarray(np.sin(0.5 * np.pi * np.minimum(left, 1.0)) ** 2)


class _Contours:
    """Tails from one contour.

    Parameters
    ----------
    nodes : Nodes
        The contour.
    coarse : Nodes or None
        That of blocks that are merged more; None if no blocks are merged.
    lost : float
        What the windows of the rest do not cover, relative to all.
    n_blocks : int
        Number of blocks.
    log_commonest, log_placement : float
        Log probability of the commonest outcome, or nearly so, and of a placement.
    log_rarity : float
        Log probability of what was left out.
    """

    def __init__(
        self,
        nodes: Nodes,
        coarse: Nodes | None,
        lost: float,
        n_blocks: int,
        log_commonest: float,
        log_placement: float,
        log_rarity: float,
    ) -> None:
        self._nodes, self._coarse = nodes, coarse
        self._least = _PRECISION if coarse is None else _PRECISION_OF_MERGED
        self._relative = lost + _ROUNDING * math.sqrt(n_blocks)
        self._log_commonest, self._log_placement = log_commonest, log_placement
        self._log_rarity = log_rarity

    @cached_property
    def _log_tail_a_period_away(self) -> float:
        """Log of more than the upper tail there."""
        nearer = np.array([_SERVED * 2.0 * math.pi / self._nodes.step])
        log_p = float(self._nodes.tail(nearer, 1, taper=True)[0][0])
        return log_p if math.isfinite(log_p) else 0.0

    def log_tail(self, s: Floats, sign: int) -> tuple[Floats, Floats]:
        """Log tails and their relative errors."""
        nodes = self._nodes
        log_p, unit = nodes.tail(s, sign, taper=True)
        shorter = nodes.up_to(int(_SHORTER * nodes.z.size)).tail(s, sign, taper=True)[0]
        coarse = log_p if self._coarse is None else self._coarse.tail(s, sign, taper=True)[0]
        known = np.isfinite(log_p) & np.isfinite(shorter) & np.isfinite(coarse)
        safe, shorter, coarse = (np.where(known, x, 0.0) for x in (log_p, shorter, coarse))
        cut = np.abs(np.expm1(np.minimum(shorter - safe, 50.0))) + nodes.jump(s, _SHORTER) * unit
        merging = safe - coarse
        doubt = DOUBT_OF_MERGING if nodes.side < 0 else _DOUBT_FAR_UP
        error = self._least + cut + doubt * np.abs(merging)
        error += self._relative * nodes.heights.sum() * unit
        error += _MANY_PLACEMENTS * _exp(self._log_placement - safe)
        error += np.where(cut > _SEEN, _CLUSTER * _exp(self._log_commonest - safe), 0.0)
        # What lies a period away, on the harmless side.
        log_aliasing = -abs(nodes.theta) * 2.0 * math.pi / nodes.step - safe
        if sign > 0:
            error += _exp(self._log_rarity - safe)
        if sign > nodes.side:
            log_aliasing += np.minimum(safe, self._log_tail_a_period_away)
        elif sign > 0:
            # No value is so low, and none so high with so few lucky hits.
            log_aliasing -= np.inf
        error += _exp(log_aliasing)
        usable = known & (log_p < 1e-6) & (error < 1.0)
        log_p = np.minimum(log_p + LEFT_OF_MERGING * merging, 0.0)
        return np.where(usable, log_p, -np.inf), np.where(usable, error, np.inf)


def _most_lucky(n: int, m: int, n_lucky: int, log_rare: float) -> tuple[int, float]:
    """Most lucky hits that are told apart, and a bound of the log probability of more.

    Given items are all hits with at most the power of the share of hits: a union over all sets.
    """
    most = min(m, n_lucky // 2)
    k = np.arange(1, most + 1)
    rarities = log_rarity(math.log(m * n_lucky / n), k)
    rare = np.flatnonzero(rarities < log_rare)
    if rare.size:
        return int(k[rare[0]]), float(rarities[rare[0]])
    return most, -math.inf if most == m else float(min(rarities[-1], 0.0))


def _exp(log: Floats) -> Floats:
    """Of an error that is too large anyway, no more than floats hold."""
    return np.asarray(np.exp(np.minimum(log, 50.0)))
