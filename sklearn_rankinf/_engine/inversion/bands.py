"""Numbers of hits that carry the distribution tilted by ``exp(theta S)``.

* A mean path, from mean-field equations for the hits in every block, starts the search
  (:func:`windows`). The equations are iterated to a fixed point, with Newton's method inside.
* In a window around it, a forward and a backward pass in logarithms give the share of every path
  (:func:`tilted_bands`). The window grows until the bands leave room in it.

A pass through a block is a convolution after Bluestein's separation of the product of the hits
before the block and in it (Bluestein, 1970; :func:`separated`). See "Contour inversion" in
doc/theory.rst.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, rel_entr

from sklearn_rankinf._statistics import (
    Floats,
    Increments,
    Integers,
    binomial_log_weights,
    filled_from_the_top,
    log_probability_of_hits,
)


@dataclass(frozen=True)
class BandSettings:
    """Settings of the search for bands."""

    # Share of the tilted total below which a path is left out; far below double precision, because
    # the transform decays along a contour, and the part that was left out does not.
    negligible: float = 1e-32
    # Accuracy of the mean path, in hits, and the number of steps after which it is given up.
    path_error: float = 0.02
    most_steps: int = 100
    # The same for balances, and for values of mean paths, which only lead near a saddle point.
    rough_path_error: float = 0.5
    most_rough_steps: int = 12
    # Steps of the fixed-point iteration before it is damped; it is extrapolated after every so many
    # steps, by this part of the way that a geometric sequence would still go, up to a multiple of
    # the last step.
    undamped_steps: int = 5
    steps_of_extrapolation: int = 3
    part_of_way: float = 0.9
    most_of_last_step: float = 30.0
    # Steps of Newton's method before every other one halves the interval of the solution.
    newton_steps: int = 12
    # Difference of the log weights of two mean paths beyond which the lighter is left out.
    far_apart: float = 100.0
    # Part of the way from a path to the ends of its bands, besides a hit, that another may be away.
    well_inside: float = 0.4
    # Half-width of the first window: standard deviations, and hits.
    deviations: float = 14.0
    hits: float = 12.0
    # Widths of the windows that are tried, relative to the first.
    widths: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0)
    # Range of the logarithms of a factor within which products of two floats are safe.
    log_range: float = 300.0
    # Logarithms that take as long as a part of a convolution.
    logarithms_of_part: int = 700
    # All paths are kept up to this number of hits.
    few_hits: int = 64
    # Rows, and hits in a block, of a pass reach over this many standard deviations, and more hits
    # in a block take no more work (fast Fourier transform).
    deviations_of_pass: float = 12.0
    hits_of_fft: float = 48.0


SETTINGS = BandSettings()
_ROUGHLY = SETTINGS.rough_path_error, SETTINGS.most_rough_steps


@dataclass(frozen=True, eq=False)
class Bands:
    """Bounds of the paths that are kept: hits up to the end of each block, and hits in it.

    Attributes
    ----------
    low, high : ndarray of shape (n_blocks,)
        Fewest and most hits up to the end of each block.
    most, least : ndarray of shape (n_blocks,)
        Most and fewest hits in each block.
    left_out : float, default=0.0
        Share of the tilted total of the other paths of a window, at most.
    """

    low: Integers
    high: Integers
    most: Integers
    least: Integers
    left_out: float = 0.0

    def intersection(self, other: Bands) -> Bands:
        """Paths in both bands."""
        return Bands(
            np.maximum(self.low, other.low),
            np.minimum(self.high, other.high),
            np.minimum(self.most, other.most),
            np.maximum(self.least, other.least),
            self.left_out + other.left_out,
        )

    def are_within(self, other: Bands) -> bool:
        """Whether the other bands hold all of these paths."""
        low, high = self.low >= other.low, self.high <= other.high
        return bool(np.all(low & high & (self.most <= other.most) & (self.least >= other.least)))

    def of(self, blocks: slice) -> Bands:
        """Bands of some of the blocks."""
        low, high, most, least = (
            each[blocks] for each in (self.low, self.high, self.most, self.least)
        )
        return Bands(low, high, most, least, self.left_out)

    def down_by(self, hits: int) -> Bands:
        """Bands that also hold if up to this number of hits are not among these blocks."""
        low, least = (np.maximum(x - hits, 0) for x in (self.low, self.least))
        return Bands(low, self.high, self.most, least, self.left_out)

    def ascending(self) -> Bands:
        """Bands whose bounds of the hits up to each block never fall."""
        low = np.minimum.accumulate(self.low[::-1])[::-1]
        high = np.maximum.accumulate(self.high)
        return Bands(low, high, self.most, self.least, self.left_out)

    def at(self, ends: Integers, fine_ends: Integers) -> Bands:
        """Bands at finer block ends: hits only grow, so the neighbouring coarse ends bound them."""
        before = np.searchsorted(ends, fine_ends, side="right") - 1
        after = np.minimum(np.searchsorted(ends, fine_ends, side="left"), ends.size - 1)
        low = np.where(before >= 0, self.low[np.maximum(before, 0)], 0)
        most_up_to = np.concatenate([[0], np.cumsum(self.most)])
        start_block = np.concatenate([[-1], before[:-1]]) + 1
        most = most_up_to[after + 1] - most_up_to[start_block]
        most = np.minimum(most, np.diff(fine_ends, prepend=0))
        return Bands(low, self.high[after], most, np.zeros_like(most), self.left_out)

    def work(self) -> float:
        """Products of a forward pass for one node."""
        rows, hits = self.high - self.low + 1.0, self.most - self.least + 1.0
        return float(np.sum(rows * hits))

    def has_room_in(self, window: Bands, feasible: Bands) -> bool:
        """Whether bands end within their window, or where it is as wide as it can be."""
        ends = [
            (self.low > window.low) | (window.low == feasible.low),
            (self.high < window.high) | (window.high == feasible.high),
            (self.most < window.most) | (window.most == feasible.most),
            (self.least > window.least) | (window.least == feasible.least),
        ]
        return bool(np.all(ends))


def feasible_bands(increments: Increments, n_positives: int, fewest: int | None = None) -> Bands:
    """Every possible number of hits up to the end of each block and in it.

    With `fewest`, all blocks together may contain down to that number of hits.
    """
    ends = np.cumsum(increments.sizes)
    least = n_positives if fewest is None else fewest
    low = np.maximum(0, least - (ends[-1] - ends))
    most = np.minimum(increments.sizes, n_positives)
    return Bands(low, np.minimum(ends, n_positives), most, np.zeros_like(most))


def products_of_pass(sizes: Integers, n_positives: int) -> float:
    """Products of a forward pass for one node without a tilt, roughly: `Bands.work`."""
    n, m, reach = int(sizes.sum()), n_positives, SETTINGS.deviations_of_pass
    variance = (m / n) * (1.0 - m / n)
    rows = min(m, n - m, reach * math.sqrt(n * variance)) + 1.0
    in_blocks = np.minimum(np.minimum(sizes, m), 1.0 + reach * np.sqrt(sizes * variance))
    return rows * float(np.minimum(in_blocks, SETTINGS.hits_of_fft).sum())


def windows(
    increments: Increments, n_positives: int, tilts: Floats, width: float = 1.0
) -> tuple[Bands, Floats]:
    """Generous bands around the mean paths of all tilts, and their `balances`.

    All paths are feasible, and nothing has to be balanced, where hits are few.
    """
    if n_positives <= SETTINGS.few_hits:
        feasible = feasible_bands(increments, n_positives)
        return feasible, np.zeros((increments.sizes.size, 1))
    hits, balance, _ = mean_paths(increments, n_positives, np.asarray(tilts))
    return around_paths(increments, n_positives, hits, width), balance


def around_paths(increments: Increments, n_positives: int, hits: Floats, width: float) -> Bands:
    """Generous bands around paths of mean hits (rows)."""
    variance = hits * (1.0 - hits / increments.sizes)
    up_to = np.cumsum(variance, axis=1)
    # The path is a bridge, given its end. Hits near the top attract each other, hence a number of
    # hits besides the deviations.
    bridge = up_to * (1.0 - up_to / np.maximum(up_to[:, -1:], 1e-300))
    around_path, in_block = (
        width * (SETTINGS.deviations * np.sqrt(np.maximum(each, 0.0)) + SETTINGS.hits)
        for each in (bridge, variance)
    )
    path = np.cumsum(hits, axis=1)
    window = Bands(
        np.floor((path - around_path).min(axis=0)).astype(np.int64),
        np.ceil((path + around_path).max(axis=0)).astype(np.int64),
        np.ceil((hits + in_block).max(axis=0)).astype(np.int64),
        np.floor((hits - in_block).min(axis=0)).astype(np.int64),
    )
    return window.intersection(feasible_bands(increments, n_positives))


def balances(
    increments: Increments, n_positives: int, tilts: ArrayLike, limits: Bands | None = None
) -> Floats:
    """Increase of the log weight of later blocks by one more hit up to a block (rows), by tilt.

    A forward pass that multiplies row h by ``exp(balance h)`` keeps its rows at one level. Within
    limits it is that of the path in their middle.
    """
    tilts = np.atleast_1d(tilts)
    if limits is None:
        return mean_paths(increments, n_positives, tilts, *_ROUGHLY)[1]
    middle = np.diff(0.5 * (limits.low + limits.high), prepend=0.0)[None]
    even = np.full((tilts.size, 1), logit(n_positives / increments.n_samples))
    log_odds = tilts[:, None] * gain_of_a_hit(increments, middle)
    shift = hits_at_odds(increments.sizes.astype(float), n_positives, log_odds, even, 1.0)[1]
    return _balance(increments, n_positives, tilts, middle, shift)


def _balance(
    increments: Increments, n_positives: int, tilts: Floats, hits: Floats, shift: Floats
) -> Floats:
    """`balances` along paths, given the shift of their log odds.

    The log odds of a hit are those without a tilt, plus its own gain, plus its effect on later
    blocks: the last part balances the rows.
    """
    beyond = tilts[:, None] * _gain_in_later_blocks(increments, hits)
    return np.asarray(shift - logit(n_positives / increments.n_samples) + beyond).T


def mean_hits(increments: Increments, n_positives: int, tilt: float) -> Floats:
    """Mean hits of every block (columns) under a tilt: one row, or one for each of two paths."""
    return mean_paths(increments, n_positives, np.array([tilt]))[0]


def values_of_mean_paths(increments: Increments, n_positives: int, tilts: Floats) -> Floats:
    """Values at the mean hits under each tilt, of the heavier path: nearly the tilted means."""
    return increments.total(mean_paths(increments, n_positives, tilts, *_ROUGHLY)[2])


def mean_paths(
    increments: Increments,
    n_positives: int,
    tilts: Floats,
    path_error: float = SETTINGS.path_error,
    most_steps: int = SETTINGS.most_steps,
) -> tuple[Floats, Floats, Floats]:
    """Mean hits of every block (columns), one or two rows for each tilt; `balances`; the heavier.

    The log odds of a block are shifted by the tilt times the gain of one more hit in it, given the
    mean hits of the others. The equations may have two solutions, one near the untilted path and
    one with most hits at the top. The lighter is left out if it is negligible.
    """
    hits, shifts, kept, first = _two_paths(increments, n_positives, tilts, path_error, most_steps)
    heavier, shift = (
        np.where(first[:, None], of_first, of_second) for of_first, of_second in (hits, shifts)
    )
    return hits[kept], _balance(increments, n_positives, tilts, heavier, shift), heavier


def _two_paths(
    increments: Increments, n_positives: int, tilts: Floats, path_error: float, most_steps: int
) -> tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """Mean hits and the shifts of their log odds, from the even path and from one at the top.

    And which of the two, for each tilt, are not negligible, and whether the first is the heavier.
    """
    sizes = increments.sizes.astype(float)
    even = n_positives * sizes / sizes.sum()
    at_top = filled_from_the_top(increments.sizes, n_positives)
    starts = np.repeat([even, 0.9 * at_top + 0.1 * even], tilts.size, axis=0)
    found = _self_consistent_hits(
        increments, n_positives, np.tile(tilts, 2), starts, path_error, most_steps
    )
    hits, shifts, converged = (np.reshape(x, (2, tilts.size, *x.shape[1:])) for x in found)
    first, second = (_log_weight(increments, n_positives, tilts, each) for each in hits)
    ahead = np.array([first - second, second - first])
    # A solution that was not reached lies between the iterates of the two sides: both are kept.
    kept = ~converged.all(axis=0) | (ahead > -SETTINGS.far_apart)
    return hits, shifts, kept, ahead[0] > 0.0


def n_tilts_inside(increments: Increments, n_positives: int, tilts: Floats, bands: Bands) -> int:
    """The number of the first tilts whose mean paths stay well inside bands of the first tilt."""
    hits, _, kept, first = _two_paths(increments, n_positives, tilts, *_ROUGHLY)
    paths = np.cumsum(hits, axis=2)
    start = paths[0, 0] if first[0] else paths[1, 0]
    below, above = (SETTINGS.well_inside * (end - start) for end in (bands.low, bands.high))
    moved = paths - start
    stays = ((moved >= below - 1.0) & (moved <= above + 1.0)).all(axis=2)
    return int(np.argmin(np.append((stays | ~kept).all(axis=0), False)))


def _self_consistent_hits(
    increments: Increments,
    n_positives: int,
    tilts: Floats,
    hits: Floats,
    path_error: float,
    most_steps: int,
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Fixed point of the mean hits, the shift of their log odds, and whether it was reached.

    Near a tilt at which one of two solutions vanishes the iteration is slow and monotone, and
    extrapolated: distances from the next iterate are convex there, so that a secant does not lead
    beyond the solution.
    """
    sizes = increments.sizes.astype(float)
    converged = np.zeros(tilts.size, dtype=bool)
    shift = np.full((tilts.size, 1), logit(n_positives / increments.n_samples))
    log_odds, moved = np.zeros(hits.shape), np.zeros(hits.shape)
    for step in range(most_steps):
        before, log_odds = log_odds, tilts[:, None] * gain_of_a_hit(increments, hits)
        # The mean change of the log odds starts Newton's method near its solution.
        weights = hits / n_positives
        shift = shift - (weights * (log_odds - before)).sum(axis=1, keepdims=True)
        target, shift = hits_at_odds(sizes, n_positives, log_odds, shift, 0.1 * path_error)
        last, moved = moved, target - hits
        distances = np.abs(np.cumsum(moved, axis=1)).max(axis=1)
        converged = distances < path_error
        if converged.all():
            return target, shift, converged
        factor: Any = 1.0 if step < SETTINGS.undamped_steps else 0.5
        if step > SETTINGS.undamped_steps and step % SETTINGS.steps_of_extrapolation == 0:
            factor = np.maximum(factor, _rest_of_the_way(hits, moved, last, sizes))
        hits = hits + factor * moved
    return hits, shift, converged


def _rest_of_the_way(hits: Floats, moved: Floats, last: Floats, sizes: Floats) -> Floats:
    """Multiples of a step that lead nearly to the limit, but not beyond the ends of any block."""
    squares = np.maximum((last**2).sum(axis=1), 1e-300)
    # The step before was damped by half.
    ratio = (moved * last).sum(axis=1) / squares
    rate = np.clip(2.0 * ratio - 1.0, 0.0, 1.0 - 1.0 / SETTINGS.most_of_last_step)
    rest = SETTINGS.part_of_way / (1.0 - rate)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        room = np.where(moved > 0.0, sizes - hits, -hits) / moved
    room = np.where(moved == 0.0, np.inf, room).min(axis=1)
    return np.asarray(np.minimum(rest, 0.5 * room))[:, None]


def _log_weight(increments: Increments, n_positives: int, tilts: Floats, hits: Floats) -> Floats:
    """Log of the tilted weight of mean hits, up to the spread around them."""
    sizes, p = increments.sizes.astype(float), n_positives / increments.n_samples
    share = hits / sizes
    divergence = rel_entr(share, p) + rel_entr(1.0 - share, 1.0 - p)
    return np.asarray(tilts * increments.total(hits) - (sizes * divergence).sum(axis=1))


def gain_of_a_hit(c: Increments, hits: Floats) -> Floats:
    """Derivative of the mean of S by the hits in each block."""
    before = np.cumsum(hits, axis=1) - hits
    others = 2.0 * hits * (1.0 - 1.0 / c.sizes)
    itself = c.cross * before + c.linear + c.square * (1.0 + others)
    return np.asarray(itself + _gain_in_later_blocks(c, hits))


def _gain_in_later_blocks(c: Increments, hits: Floats) -> Floats:
    """The part of `gain_of_a_hit` that comes from the hits in later blocks."""
    crossed = c.cross * hits
    return np.asarray(crossed.sum(axis=1, keepdims=True) - np.cumsum(crossed, axis=1))


def hits_at_odds(
    sizes: Floats, n_positives: int, log_odds: Floats, shift: Floats, enough: float
) -> tuple[Floats, Floats]:
    """Mean hits at log odds that are shifted so that the hits nearly add up; and the shift.

    Newton's method, with steps of at most 2 where the hits saturate; where these are too many, as
    they are under extreme tilts, every other step halves the interval that holds the solution.
    """
    even = logit(n_positives / sizes.sum())
    low, high = (even - end(log_odds, axis=1, keepdims=True) for end in (np.max, np.min))
    for step in range(SETTINGS.most_steps):
        share = expit(log_odds + shift)
        missing = n_positives - (sizes * share).sum(axis=1, keepdims=True)
        low, high = np.where(missing > 0.0, shift, low), np.where(missing < 0.0, shift, high)
        slope = (sizes * share * (1.0 - share)).sum(axis=1, keepdims=True)
        shift = shift + missing / np.maximum(slope, 0.5 * np.abs(missing) + 1e-300)
        if step > SETTINGS.newton_steps and step % 2:
            shift = np.where(np.abs(missing) >= enough, 0.5 * (low + high), shift)
        if np.all(np.abs(missing) < enough):
            break
    return np.asarray(sizes * share), shift


def tilted_bands(
    increments: Increments, n_positives: int, tilt: float, share: float = SETTINGS.negligible
) -> tuple[Bands, float]:
    """Paths that carry the distribution tilted by ``exp(tilt S)``, and ``log E exp(tilt S)``.

    Paths with less than `share` of the tilted total are left out. None are, and the logarithm is
    nan, if the widest window is too narrow.
    """
    return balanced_bands(increments, n_positives, tilt, share)[:2]


def balanced_bands(
    increments: Increments, n_positives: int, tilt: float, share: float
) -> tuple[Bands, float, Floats]:
    """`tilted_bands`, and the `balances` of their rows."""
    feasible = feasible_bands(increments, n_positives)
    for width in SETTINGS.widths:
        window, balance = windows(increments, n_positives, np.array([tilt]), width)
        found = _bands_in(increments, n_positives, tilt, share, window)
        if found is not None and found[0].has_room_in(window, feasible):
            return *found, balance
    return feasible, math.nan, balance


def carrying_bands(
    increments: Increments,
    n_positives: int,
    tilt: float,
    share: float,
    window: Bands,
    limits: Bands,
) -> tuple[Bands, float] | None:
    """`tilted_bands` among the paths within limits; None if the window is too narrow for them."""
    window = window.intersection(limits)
    found = _bands_in(increments, n_positives, tilt, share, window)
    if found is None or not found[0].has_room_in(window, limits):
        return None
    return found[0].ascending(), found[1]


def _bands_in(
    increments: Increments,
    n_positives: int,
    tilt: float,
    share: float,
    window: Bands,
) -> tuple[Bands, float] | None:
    """`tilted_bands` among the paths in a window; None if they do not lead to the end."""
    shares = path_shares(increments, n_positives, np.array([tilt]), window)
    if shares is None:
        return None
    ends, left_out = np.empty((4, window.low.size), dtype=np.int64), 0.0
    for block, (first, rows, y, hits) in enumerate(shares[0]):
        for at, least, (logs,) in ((0, first, rows), (2, int(y[0]), hits)):
            first_kept, last_kept, left = _kept(logs, math.log(share))
            ends[at : at + 2, block] = least + first_kept, least + last_kept
            left_out += left
    low, high, fewest, most = ends
    return Bands(low, high, most, fewest, left_out), float(shares[1][0])


# First number of hits up to the end of a block and log shares from there on, a row for each tilt;
# hits in it and theirs.
_Shares: TypeAlias = tuple[int, Floats, Integers, Floats]


@np.errstate(divide="ignore")
def path_shares(
    increments: Increments, n_positives: int, tilts: Floats, window: Bands
) -> tuple[list[_Shares], Floats] | None:
    """Log shares in the tilted totals, up to a constant of each block, and logs of the totals.

    Of the paths in a window; None if they do not lead to the end. The state of the forward pass is
    a first number of hits, and log weights from there on, a row for each tilt.
    """
    n, m = increments.n_samples, n_positives
    log_total = np.full(tilts.size, -log_probability_of_hits(n, m))
    steps, states = [], [(0, np.zeros((tilts.size, 1)))]
    for block, size in enumerate(increments.sizes.tolist()):
        y = np.arange(window.least[block], window.most[block] + 1)
        if not y.size:
            return None
        log_weights = binomial_log_weights(size, min(size, m), n, m)[y]
        step = _Step(increments, block, tilts, *states[-1], y, log_weights)
        low = max(int(window.low[block]) - step.first_reached, 0)
        reached = step.forward()[:, low : int(window.high[block]) + 1 - step.first_reached]
        # Paths are the same for all tilts.
        finite = np.flatnonzero(reached[0] > -np.inf)
        if not finite.size:
            return None
        reached = reached[:, finite[0] : finite[-1] + 1]
        top = reached.max(axis=1)
        log_total += top
        steps.append(step)
        states.append((step.first_reached + low + int(finite[0]), reached - top[:, None]))
    log_total += states[-1][1][:, -1]
    if not np.isfinite(log_total).all():
        return None
    shares: list[_Shares] = []
    future = np.zeros((tilts.size, 1))
    for step, (first, state) in zip(steps[::-1], states[:0:-1], strict=True):
        ahead = step.ahead(first, future)
        shares.append((first, state + future, step.y, step.hits(ahead)))
        future = step.backward(ahead)
        future = future - future.max(axis=1, keepdims=True)
    return shares[::-1], log_total


def _kept(log_weights: Floats, log_share: float) -> tuple[int, int, float]:
    """First and last place of weights that are not negligible, and the share of all others."""
    top = log_weights.max()
    kept = np.flatnonzero(log_weights >= top + log_share)
    first, last = int(kept[0]), int(kept[-1])
    if first == 0 and last == log_weights.size - 1:
        return first, last, 0.0
    weights = np.exp(log_weights - top)
    left_out = weights[:first].sum() + weights[last + 1 :].sum()
    return first, last, float(left_out / weights.sum())


def separated(
    increments: Increments, block: int, before: Integers, y: Integers
) -> tuple[Floats, Floats, Floats]:
    """The increments of a block as sums of a term of the hits before it, of those in it, of both.

    Around any h0 and y0, ``y h = y0 h + (y - y0) h0 + [(h + y - h0 - y0)**2 - (h - h0)**2
    - (y - y0)**2] / 2`` (Bluestein, 1970): a sum over y with ``h + y`` given is a convolution.
    """
    cross = float(increments.cross[block])
    h0, y0 = int(before[before.size // 2]), int(y[y.size // 2])
    u, v = before - h0, y - y0
    both = np.arange(before.size + y.size - 1) + (u[0] + v[0])
    of_hits = increments.gain(block, h0, y) - 0.5 * cross * v**2
    return cross * (y0 * u - 0.5 * u**2), of_hits, 0.5 * cross * both**2


class _Step:
    """A block of the pass, in logarithms: sums over its hits are convolutions.

    Each hit is multiplied by a factor that keeps the state before the block at one level, and with
    it all factors of the convolution in the range of floats. States have a row for each tilt.
    """

    def __init__(
        self,
        increments: Increments,
        block: int,
        tilts: Floats,
        first: int,
        state: Floats,
        y: Integers,
        log_weights: Floats,
    ) -> None:
        self.y, self.first_reached = y, first + int(y[0])
        n_rows = state.shape[1]
        balance = (state[:, :1] - state[:, -1:]) / max(1, n_rows - 1)
        places, of_each = np.arange(n_rows + y.size - 1), tilts[:, None]
        rows, hits, both = separated(increments, block, first + places[:n_rows], y)
        self._of_rows = of_each * rows + balance * places[:n_rows]
        self._of_hits = of_each * hits + balance * places[: y.size] + log_weights
        self._of_both = of_each * both - balance * places
        self._past = state + self._of_rows

    def forward(self) -> Floats:
        """Log weights of hits after the block, from `first_reached` on."""
        return np.asarray(_log_convolution(self._past, self._of_hits) + self._of_both)

    def ahead(self, first: int, future: Floats) -> Floats:
        """Log weights of later blocks given the hits after the block, at all rows it reaches."""
        ahead = np.full(self._of_both.shape, -np.inf)
        start = first - self.first_reached
        ahead[:, start : start + future.shape[1]] = future
        return np.asarray(ahead + self._of_both)

    def backward(self, ahead: Floats) -> Floats:
        """Log weights of this and later blocks, given the hits before the block."""
        sums = _log_convolution(ahead, self._of_hits[:, ::-1])
        first, n_rows = self.y.size - 1, self._of_rows.shape[1]
        return np.asarray(self._of_rows + sums[:, first : first + n_rows])

    def hits(self, ahead: Floats) -> Floats:
        """Log weights of the hits in the block, given all blocks."""
        n_rows, n_hits = self._past.shape[1], self.y.size
        if n_hits <= 2:
            rows = (ahead[:, i : i + n_rows] + self._past for i in range(n_hits))
            return np.asarray(self._of_hits + np.array([log_sum(each) for each in rows]).T)
        sums = _log_convolution(ahead, self._past[:, ::-1])
        return np.asarray(self._of_hits + sums[:, n_rows - 1 : n_rows - 1 + n_hits])


def weights_ahead(
    increments: Increments, block: int, tilt: float, y: Integers, log_weights: Floats, ahead: Floats
) -> Floats:
    """Log weights of a block and later ones by the hits before, from 0, given those of later ones.

    The block has y hits, with these log weights.
    """
    reached, state = np.flatnonzero(ahead[y[0] :] > -np.inf) + y[0], np.zeros(ahead.size)
    if not reached.size:
        return np.full(ahead.size, -np.inf)
    # Rows behind later blocks balance those before them.
    first, last = int(reached[0]), int(reached[-1])
    state[0] = (ahead[last] - ahead[first]) / max(1, last - first) * (state.size - 1)
    step = _Step(increments, block, np.array([tilt]), 0, state[None], y, log_weights)
    return np.asarray(step.backward(step.ahead(int(y[0]), ahead[None, y[0] :]))[0])


def _log_convolution(log_a: Floats, log_b: Floats) -> Floats:
    """Logs of the convolutions of rows."""
    if log_b.shape[1] > 2:
        return np.array(list(map(_log_convolution_of_many, log_a, log_b)))
    if log_b.shape[1] == 1:
        return np.asarray(log_a + log_b)
    log_sums = np.full((log_a.shape[0], log_a.shape[1] + 1), -np.inf)
    log_sums[:, :-1] = log_a + log_b[:, :1]
    np.logaddexp(log_sums[:, 1:], log_a + log_b[:, 1:], out=log_sums[:, 1:])
    return log_sums


def _log_convolution_of_many(log_a: Floats, log_b: Floats) -> Floats:
    """Log of a convolution: of parts in the range of floats, which are added in logarithms.

    Where parts are many all terms are.
    """
    parts = list(itertools.product(_in_range(log_a), _in_range(log_b)))
    width = log_a.size + log_b.size - 1
    if len(parts) > 1 and log_a.size * log_b.size < SETTINGS.logarithms_of_part * len(parts):
        terms = np.full((log_b.size, width + 1), -np.inf)
        terms[:, : log_a.size] = log_b[:, None] + log_a
        # A row length one shorter than the rows moves row i to the right by i.
        shifted = terms.ravel()[: log_b.size * width].reshape(log_b.size, width)
        return np.asarray(np.logaddexp.reduce(shifted, axis=0))
    log_sums = np.full(width, -np.inf)
    for (i, a), (j, b) in parts:
        top_a, top_b = a.max(), b.max()
        with np.errstate(divide="ignore"):
            sums = np.log(np.convolve(np.exp(a - top_a), np.exp(b - top_b))) + (top_a + top_b)
        if sums.size == width:
            return np.asarray(sums)
        part = log_sums[i + j : i + j + sums.size]
        np.logaddexp(part, sums, out=part)
    return log_sums


def log_sum(logs: Floats) -> Floats:
    """Logs of the sums along the last axis; -inf of nothing."""
    top = np.maximum(logs.max(axis=-1, keepdims=True), np.finfo(float).min)
    return np.asarray(top[..., 0] + np.log(np.exp(logs - top).sum(axis=-1)))


def _in_range(logs: Floats) -> list[tuple[int, Floats]]:
    """Parts of the finite entries, which are in a row, in the range of floats; and their places."""
    finite = np.flatnonzero(logs > -np.inf)
    begin, end = int(finite[0]), int(finite[-1]) + 1
    parts = []
    while begin < end:
        rest = logs[begin:end]
        far = np.maximum.accumulate(rest) - np.minimum.accumulate(rest) > SETTINGS.log_range
        size = int(far.argmax()) or rest.size
        parts.append((begin, rest[:size]))
        begin += size
    return parts
