"""Upper tails of steep distributions that are the work of several lucky hits.

Far above the mean a ranking has a few hits at the very top; rankings with more of them, and with
all of them, are as likely under a tilt, or likelier, and hide those that matter. Given how many
items at the top are hits, bounds tell which numbers matter for a value; contours of these alone,
with a positive tilt and no longer a period than they need, give its tail.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from sklearn_rankinf._engine.exact.enumeration import largest_value, log_probability_of_hits
from sklearn_rankinf._engine.hypergeometric import log_pmf
from sklearn_rankinf._engine.inversion.bands import (
    Bands,
    carrying_bands,
    feasible_bands,
    log_weights,
    tilted_bands,
)
from sklearn_rankinf._engine.inversion.lucky import lucky_apart
from sklearn_rankinf._engine.inversion.multirate import LOST, Cascade
from sklearn_rankinf._engine.inversion.ranking_transform import RankingTransform
from sklearn_rankinf._engine.inversion.transform import LeftTheRangeError, walked_through
from sklearn_rankinf._engine.inversion.trapezoid import ContourTails, Nodes, exp_of_error
from sklearn_rankinf._engine.statistics import Floats, Increments, Integers

# A hit is lucky if it adds more than this part of the standard deviation of the others. So many
# numbers of lucky hits are told apart that more are this improbable, in logarithms, or twice as
# often; that has to be so much rarer than the tail.
_LUCKY, _LOG_RARE, _N_RARITIES, _RARER = 0.25, -54.0, 10, 15.0
# Tilts, in logs of the odds of misses over what the luckiest hit adds; so many of the steepest are
# left out at a time where they are too steep for floats.
_TILTS, _TILTS_APART = 0.5 * 1.1 ** np.arange(32), 4
# Numbers of lucky hits are left out whose bounds are that much lower, in logarithms; and what is a
# period away is lower by so much.
_NEGLIGIBLE, _ALIASING = 16.0, 22.0
# Periods that are tried, in the value.
_PERIODS = 1.15 ** np.arange(-40, 13)
# A contour serves values whose bound is better by no more than this at another tilt, in logarithms,
# if what it leaves out is that much rarer.
_NEAR, _APART = 3.0, 12.0
# Paths that carry less than this share of the tilted total are left out.
_IMPROBABLE = 1e-14
# Windows for the paths of the others are wider by so many hits until there is room in them.
_SLACKS = 8, 32, 128
# So many cells of values, each half of the last, are tried.
_HALVINGS = 10
# No more than so many levels of merging are looked at, the first for plans; and no further ones
# where this relative error of a tail or that of its logarithm is good enough, or less than this
# part of it is the work of merging. With this relative error of the logarithm one does not insist.
_LEVELS, _GOOD, _GOOD_OF_LOG, _BY_MERGING, _ENOUGH_OF_LOG = 6, 1e-5, 3e-7, 0.3, 1e-6


class _NumbersOfLucky:
    """Log transforms at positive tilts, for each number of hits among the items at the top.

    Parameters
    ----------
    increments : Increments
        What hits add.
    n_positives : int
        Number of positives.
    body : float
        Standard deviation without the luckiest hits.
    log_rare : float
        More hits than are that improbable are not told apart.
    """

    def __init__(
        self, increments: Increments, n_positives: int, body: float, log_rare: float
    ) -> None:
        m = n_positives
        n_top, self.most, self.log_rarity = lucky_apart(increments, m, _LUCKY * body, log_rare)
        top, rest = increments[:n_top], increments[n_top:].from_the_end(m)
        self.n_top = top.n_samples
        self.applies = rest.n_samples >= m
        if not self.applies:
            return
        n = increments.n_samples
        numbers = np.arange(self.most + 1)
        self.log_shares = log_pmf(numbers, n, m, self.n_top)
        self.thetas = _TILTS * math.log(n / m) / increments.of_one_hit.max()
        self.likely, _ = tilted_bands(rest, m, float(self.thetas[0]), _IMPROBABLE)
        bands = self.likely.down_by(self.most)
        while True:
            state = np.zeros((1, self.thetas.size))
            try:
                first, logs = walked_through(rest, m, m / n, self.thetas, bands, 0, state)
                break
            except LeftTheRangeError:
                # The others do without the steepest tilts.
                self.thetas = self.thetas[:-_TILTS_APART]
                if not self.thetas.size:
                    self.applies = False
                    return
        of_the_rest = np.full((m + 1, self.thetas.size), -np.inf)
        of_the_rest[first : first + logs.shape[0]] = logs
        window = feasible_bands(top, self.most, 0)
        of_the_top = np.column_stack(
            [log_weights(top, self.most, m / n, theta, window) for theta in self.thetas.tolist()]
        )
        total = log_probability_of_hits(m, n, m / n)
        self.log_mgfs = of_the_top + of_the_rest[m - numbers] - total
        unknown = ~np.isfinite(self.log_mgfs)
        if unknown.any():
            # Rounding has left nothing of it. No value is higher than the largest.
            at_most = self.thetas * largest_value(increments, m)
            self.log_mgfs[unknown] = (self.log_shares[:, None] + at_most)[unknown]

    def bounds(self, s: float) -> Floats:
        """Bounds of the log of ``P(S >= s)`` and each number of lucky hits."""
        return np.asarray((self.log_mgfs - self.thetas * s).min(axis=1))


class _Ascent:
    """Tails around a value, by contours of the numbers of lucky hits that matter there.

    Parameters
    ----------
    numbers : _NumbersOfLucky
        Log transforms of each number of lucky hits.
    coarse : Increments
        The increments that these are of, by which contours are planned.
    n_positives : int
        Number of positives.
    body : float
        Standard deviation without the luckiest hits.
    s : float
        The value.
    """

    def __init__(
        self,
        numbers: _NumbersOfLucky,
        coarse: Increments,
        n_positives: int,
        body: float,
        s: float,
    ) -> None:
        self._blocks, self._n_positives = coarse.from_the_end(n_positives), n_positives
        self._body = body
        self._numbers, self._thetas = numbers, numbers.thetas
        bounds = numbers.bounds(s)
        kept = np.flatnonzero(bounds > bounds.max() - _NEGLIGIBLE)
        self._fewest, self._most = int(kept[0]), int(kept[-1])
        parts = np.split(numbers.log_mgfs, [self._fewest, self._most + 1])
        self._fewer, self._these, self._more = (
            logsumexp(np.vstack([part, np.full(self._thetas.size, -np.inf)]), axis=0)
            for part in parts
        )
        self._log_mass = float(logsumexp(numbers.log_shares[kept[0] : kept[-1] + 1]))
        self._best = int((self._these - self._thetas * s).argmin())
        self._theta = float(self._thetas[self._best])
        self._period = self._shortest_period(s)

    def covers(self, s: Floats) -> NDArray[np.bool_]:
        """Which values its contours serve."""
        log_p = self._bound(self._these, s)
        near = self._these[self._best] - self._theta * s < log_p + _NEAR
        known = near & (self.log_left_out(s) < log_p - _APART)
        return np.asarray(known & math.isfinite(self._period))

    def log_left_out(self, s: Floats) -> Floats:
        """Bound of the log of what its contours leave out."""
        parts = [self._bound(self._fewer, s), self._bound(self._more, s)]
        parts.append(np.full(s.shape, self._numbers.log_rarity))
        if math.isfinite(self._period):
            parts += self._aliasing(s, self._period)
        return np.asarray(logsumexp(parts, axis=0))

    def _bound(self, log_mgfs: Floats, s: Floats) -> Floats:
        return np.asarray((log_mgfs - np.multiply.outer(s, self._thetas)).min(axis=-1))

    def _aliasing(self, s: ArrayLike, period: ArrayLike) -> tuple[Floats, Floats]:
        """Logs of what lies a period below and above."""
        s, period = np.asarray(s), np.asarray(period)
        below = np.minimum(self._log_mass, self._bound(self._these, s - period))
        above = self._bound(self._these, s + period)
        return below - self._theta * period, above + self._theta * period

    def _shortest_period(self, s: float) -> float:
        """The shortest period that leaves little of what lies farther away; infinite if none is."""
        limit = float(self._bound(self._these, np.array([s]))[0]) - _ALIASING
        enough = np.maximum(*self._aliasing(s, s * _PERIODS)) < limit
        return s * float(_PERIODS[enough.argmax()]) if enough.any() else math.inf

    @cached_property
    def _pass(self) -> tuple[Cascade, Bands] | None:
        """The pass through these numbers of lucky hits, and its paths; None if they are unknown."""
        m, likely, blocks = self._n_positives, self._numbers.likely, self._blocks
        limits, n_rest = feasible_bands(blocks, m), likely.low.size
        rest, top = slice(n_rest), slice(n_rest - 1, None)
        # Hits of the rest when the top begins.
        limits.low[top] = np.maximum(limits.low[top], m - self._most)
        limits.high[rest] = np.minimum(limits.high[rest], m - self._fewest)
        for slack in _SLACKS:
            window = feasible_bands(blocks, m)
            # Paths of fewer hits, which a stronger tilt draws to the top.
            share = 1.0 - np.array([self._most, self._fewest]) / m
            window.low[rest] = (share[0] * likely.low).astype(np.int64) - slack
            window.high[rest] = (share[1] * likely.high).astype(np.int64) + slack
            window.most[rest] = likely.most + slack // 4
            found = carrying_bands(blocks, m, self._theta, _IMPROBABLE, window, limits)
            if found is not None:
                break
        if found is None or not math.isfinite(self._period):
            return None
        return Cascade(blocks, m, self._theta, self._period, *found, self._body), found[0]

    def nodes(self, increments: Increments, insist: bool) -> Nodes | None:
        """The contour of the statistic with blocks merged as given; None if it is unknown."""
        if self._pass is None:
            return None
        cascade, bands = self._pass
        m, blocks = self._n_positives, increments.from_the_end(self._n_positives)
        if blocks.sizes.size != self._blocks.sizes.size:
            ends = (np.cumsum(each.sizes) for each in (self._blocks, blocks))
            around = bands.at(*ends).intersection(feasible_bands(blocks, m))
            own = carrying_bands(blocks, m, self._theta, _IMPROBABLE, around, around)
            if own is None:
                return None
            bands = own[0]
        found = cascade.log_transform(blocks, bands, insist)
        if found is None:
            return None
        step = 2.0 * math.pi / self._period
        return Nodes(self._theta, step, 0.0, *found, log_harmless=-math.inf)

    @property
    def may_insist(self) -> bool:
        """Whether contours go farther with more work."""
        return self._pass is not None and self._pass[0].is_short


class FarUp:
    """Upper tails of a steep statistic, far above the mean.

    Parameters
    ----------
    blocks : callable
        Returns the increments, of a level of merging: the first, 0, is what contours are planned
        with, and further ones are merged less.
    merged : bool
        Whether blocks of the further levels are merged.
    n_positives : int
        Number of positives.
    body : float
        Standard deviation without the luckiest hits.
    """

    def __init__(
        self,
        blocks: Callable[[int], Increments],
        merged: bool,
        n_positives: int,
        body: float,
    ) -> None:
        self._blocks = cache(blocks)
        self._merged, self._n_positives, self._body = merged, n_positives, body
        self._numbers = cache(self._numbers_of_lucky)
        # The first cell.
        self._highest = n_positives * float(self._blocks(0).of_one_hit.max())
        self._cells: dict[tuple[float, float], _Ascent | None] = {}
        self._nodes = cache(self._nodes_of)
        self._contours = cache(self._contours_of)

    def log_tail(self, s: Floats) -> tuple[Floats, Floats]:
        """Log of ``P(S >= s)`` and its relative error."""
        log_p, error = np.full(s.shape, -np.inf), np.full(s.shape, np.inf)
        open_ = np.arange(s.size)
        while open_.size:
            lowest = float(s[open_].min())
            end, ascent = self._cell(lowest)
            inside = s[open_] < max(end, np.nextafter(lowest, np.inf))
            if ascent is not None:
                self._put(ascent, s, open_[inside], log_p, error)
            open_ = open_[~inside]
        return log_p, error

    def _put(
        self, ascent: _Ascent, s: Floats, where: Integers, log_p: Floats, error: Floats
    ) -> None:
        """Write down the tails at the places that an ascent covers."""
        for insist in (False, True) if ascent.may_insist else (False,):
            open_ = where
            for level in range(1, _LEVELS if self._merged else 2):
                contours = self._contours(ascent, level, insist) if open_.size else None
                if contours is None:
                    break
                log_q, doubt, by_merging = contours.log_tail(s[open_], 1)
                doubt = doubt + exp_of_error(ascent.log_left_out(s[open_]) - log_q)
                better = doubt < error[open_]
                log_p[open_[better]], error[open_[better]] = log_q[better], doubt[better]
                good = np.maximum(_GOOD, -_GOOD_OF_LOG * log_q)
                open_ = open_[(doubt > good) & (by_merging > _BY_MERGING * doubt)]
            enough = -_ENOUGH_OF_LOG * np.where(error < np.inf, log_p, 0.0)
            where = where[error[where] > enough[where]]

    def _cell(self, s: float) -> tuple[float, _Ascent | None]:
        """The end of the cell of values around one that an ascent covers, and the ascent.

        Cells are halved, from about the value itself on, until one is covered from its middle. So
        they depend on no other values.
        """
        halvings = max(1, math.ceil(math.log2(self._highest / s)))
        for power in range(halvings, halvings + _HALVINGS):
            width = self._highest * 0.5**power
            begin = math.floor(s / width) * width
            end = begin + width
            if (begin, width) not in self._cells:
                self._cells[begin, width] = self._around(begin + 0.5 * width)
            ascent = self._cells[begin, width]
            if ascent is not None and ascent.covers(np.array([begin, end])).all():
                return end, ascent
        return end, None

    def log_bound(self, s: float) -> float:
        """Bound of the log of ``P(S >= s)``, but for merging; 0 if none is known."""
        numbers = self._enough(s)
        return float(logsumexp(numbers.bounds(s))) if numbers else 0.0

    def _around(self, s: float) -> _Ascent | None:
        """What tells tails around a value; None if nothing does."""
        numbers = self._enough(s)
        if numbers is None:
            return None
        return _Ascent(numbers, self._blocks(0), self._n_positives, self._body, s)

    def _enough(self, s: float) -> _NumbersOfLucky | None:
        """So many numbers of lucky hits that more are much rarer than a tail; or None."""
        for rank in range(_N_RARITIES):
            numbers = self._numbers(rank)
            if not numbers.applies:
                return None
            if numbers.bounds(s).max() > numbers.log_rarity + _RARER:
                return numbers
        return None

    def _numbers_of_lucky(self, rank: int) -> _NumbersOfLucky:
        log_rare = _LOG_RARE * 2.0**rank
        return _NumbersOfLucky(self._blocks(0), self._n_positives, self._body, log_rare)

    def _nodes_of(self, ascent: _Ascent, level: int, insist: bool) -> Nodes | None:
        return ascent.nodes(self._blocks(level), insist)

    def _contours_of(self, ascent: _Ascent, level: int, insist: bool) -> ContourTails | None:
        """Tails from the contours of a level and of those that are merged more."""
        levels = range(level, -1 if self._merged else 0, -1)
        nodes = [self._nodes(ascent, each, insist) for each in levels]
        found = [each for each in nodes if each is not None]
        if len(found) < len(nodes):
            return None
        increments, m = self._blocks(level), self._n_positives
        transform = RankingTransform(increments, self._blocks(0), m, self._merged)
        logs = transform.log_commonest(0.0), transform.log_placement, transform.log_edge
        n_blocks = increments.sizes.size
        return ContourTails(found[0], found[1:], LOST, n_blocks, *logs, -math.inf)
