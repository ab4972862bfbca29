"""Which paths of the hits matter under a tilt: bands of hits up to the end of each block and in it.

Tilted by ``exp(theta S)`` the distribution concentrates around a mean path. A forward and a
backward pass in a generous window around it give the share of every row, and the window grows until
the bands leave room in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, rel_entr

from sklearn_rankinf._engine.exact.enumeration import binomial_log_weights, log_probability_of_hits
from sklearn_rankinf._engine.statistics import Floats, Increments, Integers

# Paths whose share of the tilted total is below this are left out; far below double precision,
# because along a contour the transform decays and what was left out does not.
_NEGLIGIBLE = 1e-32
# The mean path is found to this part of a hit, or given up after so many steps.
_PATH_ERROR, _MAX_STEPS = 0.005, 100
# Of two solutions the lighter is left out if the logs of their weights differ by more than this.
_FAR_APART = 100.0
# Windows reach so many standard deviations and hits to either side, at first.
_DEVIATIONS, _HITS = 14.0, 12.0
# Sums of products of floats are safe while their logarithms span no more than this.
_LOG_RANGE = 600.0
# More products are not taken in logarithms, and in one pass among given paths.
_MOST_LOGARITHMS, _MANY_LOGARITHMS = 20_000, 2_000_000
# With no more hits than this all rows are looked at.
_FEW_HITS = 64


@dataclass(frozen=True, eq=False)
class Bands:
    """The paths that matter: hits up to the end of each block, and hits in it.

    Attributes
    ----------
    low, high : ndarray of shape (n_blocks,)
        Fewest and most hits up to the end of each block.
    most, least : ndarray of shape (n_blocks,)
        Most and fewest hits in each block.
    """

    low: Integers
    high: Integers
    most: Integers
    least: Integers

    def intersection(self, other: Bands) -> Bands:
        """Paths in both bands."""
        return Bands(
            np.maximum(self.low, other.low),
            np.minimum(self.high, other.high),
            np.minimum(self.most, other.most),
            np.maximum(self.least, other.least),
        )

    def of(self, blocks: slice) -> Bands:
        """Bands of some of the blocks."""
        parts = self.low, self.high, self.most, self.least
        return Bands(*(each[blocks] for each in parts))

    def down_by(self, hits: int) -> Bands:
        """Bands that also hold where so many hits, or fewer, are not among these blocks."""
        low, least = (np.maximum(x - hits, 0) for x in (self.low, self.least))
        return Bands(low, self.high, self.most, least)

    def ascending(self) -> Bands:
        """Bands in which no bound of the hits so far goes down."""
        low = np.minimum.accumulate(self.low[::-1])[::-1]
        return Bands(low, np.maximum.accumulate(self.high), self.most, self.least)

    def at(self, ends: Integers, fine_ends: Integers) -> Bands:
        """Bands at finer block ends: hits only grow, so the neighbouring coarse ends bound them."""
        before = np.searchsorted(ends, fine_ends, side="right") - 1
        after = np.minimum(np.searchsorted(ends, fine_ends, side="left"), ends.size - 1)
        low = np.where(before >= 0, self.low[np.maximum(before, 0)], 0)
        most_up_to = np.concatenate([[0], np.cumsum(self.most)])
        start_block = np.concatenate([[-1], before[:-1]]) + 1
        most = most_up_to[after + 1] - most_up_to[start_block]
        return Bands(low, self.high[after], most, np.zeros_like(most))

    def work(self) -> float:
        """Products of a forward pass for one node."""
        rows, hits = self.high - self.low + 1.0, self.most - self.least + 1.0
        return float(np.sum(rows * hits))


def feasible_bands(increments: Increments, n_positives: int, fewest: int | None = None) -> Bands:
    """Every number of hits that is possible at the end of each block and in it.

    With `fewest` the hits may also be fewer at the end, down to so many.
    """
    ends = np.cumsum(increments.sizes)
    least = n_positives if fewest is None else fewest
    low = np.maximum(0, least - (ends[-1] - ends))
    most = np.minimum(increments.sizes, n_positives)
    return Bands(low, np.minimum(ends, n_positives), most, np.zeros_like(most))


def windows(
    increments: Increments, n_positives: int, tilts: Floats, width: float = 1.0
) -> tuple[Bands, Floats]:
    """Generous bands around the mean paths of all tilts, and what balances the rows of a pass.

    That is, for each block (rows) and tilt, the log of what one more hit so far is worth to the
    blocks behind it. Where hits are few all paths are feasible, and nothing has to be balanced.
    """
    feasible = feasible_bands(increments, n_positives)
    if n_positives <= _FEW_HITS:
        return feasible, np.zeros((increments.sizes.size, 1))
    hits, balance = _mean_hits(increments, n_positives, np.asarray(tilts))
    variance = hits * (1.0 - hits / increments.sizes)
    up_to = np.cumsum(variance, axis=1)
    # Given the total the path is a bridge; lucky hits attract each other, hence the hits besides.
    bridge = up_to * (1.0 - up_to / np.maximum(up_to[:, -1:], 1e-300))
    around_path = width * (_DEVIATIONS * np.sqrt(np.maximum(bridge, 0.0)) + _HITS)
    in_block = width * (_DEVIATIONS * np.sqrt(np.maximum(variance, 0.0)) + _HITS)
    path = np.cumsum(hits, axis=1)
    window = Bands(
        np.floor((path - around_path).min(axis=0)).astype(np.int64),
        np.ceil((path + around_path).max(axis=0)).astype(np.int64),
        np.ceil((hits + in_block).max(axis=0)).astype(np.int64),
        np.floor((hits - in_block).min(axis=0)).astype(np.int64),
    )
    return window.intersection(feasible), balance


def balances(increments: Increments, n_positives: int, tilt: float) -> Floats:
    """The second part of `windows` for one tilt, however few the hits are."""
    return _mean_hits(increments, n_positives, np.array([tilt]))[1]


def mean_hits(increments: Increments, n_positives: int, tilt: float) -> Floats:
    """Mean hits of every block (columns) under a tilt: one row, or one for each of two paths."""
    return _mean_hits(increments, n_positives, np.array([tilt]))[0]


def _mean_hits(increments: Increments, n_positives: int, tilts: Floats) -> tuple[Floats, Floats]:
    """Mean hits of every block (columns) under the tilts: one or two rows for each; and balances.

    Each block's log odds are shifted by the tilt times what one more hit in it adds, given the mean
    hits of the others. There may be two solutions, the distribution as it is and most hits at the
    top; where their weights are far apart the lighter does not count.
    """
    sizes = increments.sizes.astype(float)
    even = n_positives * sizes / sizes.sum()
    at_top = np.diff(np.minimum(np.cumsum(sizes), n_positives), prepend=0.0)
    (low, low_shift, low_converged), (high, high_shift, high_converged) = (
        _self_consistent_hits(increments, n_positives, tilts, start)
        for start in (even, 0.9 * at_top + 0.1 * even)
    )
    ahead = _log_weight(increments, n_positives, tilts, low) - _log_weight(
        increments, n_positives, tilts, high
    )
    # Else the solution is between what was reached from either side.
    comparable = low_converged & high_converged
    kept_low = ~comparable | (ahead > -_FAR_APART)
    kept_high = ~comparable | (ahead < _FAR_APART)
    heavier = (ahead > 0.0)[:, None]
    hits, shift = np.where(heavier, low, high), np.where(heavier, low_shift, high_shift)
    # The odds are those of the distribution as it is, what a hit adds, and what it is worth farther
    # on.
    beyond = tilts[:, None] * _worth_farther_on(increments, hits)
    balance = shift - logit(n_positives / increments.n_samples) + beyond
    return np.concatenate([low[kept_low], high[kept_high]]), balance.T


def _self_consistent_hits(
    increments: Increments, n_positives: int, tilts: Floats, start: Floats
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Hits that reproduce themselves, the shift of their log odds, and whether they were found."""
    sizes = increments.sizes.astype(float)
    hits = np.tile(start, (tilts.size, 1))
    converged = np.zeros(tilts.size, dtype=bool)
    shift = np.full((tilts.size, 1), logit(n_positives / increments.n_samples))
    log_odds = np.zeros(hits.shape)
    for step in range(_MAX_STEPS):
        before, log_odds = log_odds, tilts[:, None] * _worth_of_a_hit(increments, hits)
        # What all blocks gain is taken off again, which leaves little for Newton's steps.
        weights = hits / n_positives
        shift = shift - (weights * (log_odds - before)).sum(axis=1, keepdims=True)
        target, shift = _hits_at_odds(sizes, n_positives, log_odds, shift)
        converged = np.abs(np.cumsum(target - hits, axis=1)).max(axis=1) < _PATH_ERROR
        hits = target if step < 5 else 0.5 * (hits + target)
        if converged.all():
            break
    return hits, shift, converged


def _log_weight(increments: Increments, n_positives: int, tilts: Floats, hits: Floats) -> Floats:
    """Log of the tilted weight of mean hits, up to the spread around them."""
    sizes, p = increments.sizes.astype(float), n_positives / increments.n_samples
    share = hits / sizes
    divergence = rel_entr(share, p) + rel_entr(1.0 - share, 1.0 - p)
    return np.asarray(tilts * increments.total(hits) - (sizes * divergence).sum(axis=1))


def _worth_of_a_hit(c: Increments, hits: Floats) -> Floats:
    """What one more hit in each block adds."""
    before = np.cumsum(hits, axis=1) - hits
    others = 2.0 * hits * (1.0 - 1.0 / c.sizes)
    itself = c.cross * before + c.linear + c.square * (1.0 + others)
    return np.asarray(itself + _worth_farther_on(c, hits))


def _worth_farther_on(c: Increments, hits: Floats) -> Floats:
    """What one more hit in each block adds to what the hits behind it add."""
    crossed = c.cross * hits
    return np.asarray(crossed.sum(axis=1, keepdims=True) - np.cumsum(crossed, axis=1))


def _hits_at_odds(
    sizes: Floats, n_positives: int, log_odds: Floats, shift: Floats
) -> tuple[Floats, Floats]:
    """Mean hits of blocks with these log odds, all shifted so that the hits add up; and the shift.

    Newton's steps from a shift that is near, held back where the hits saturate.
    """
    for _ in range(_MAX_STEPS):
        share = expit(log_odds + shift)
        missing = n_positives - (sizes * share).sum(axis=1, keepdims=True)
        slope = (sizes * share * (1.0 - share)).sum(axis=1, keepdims=True)
        # A step is at most 2.
        shift = shift + missing / np.maximum(slope, 0.5 * np.abs(missing) + 1e-300)
        if np.all(np.abs(missing) < 0.1 * _PATH_ERROR):
            break
    return np.asarray(sizes * share), shift


def tilted_bands(
    increments: Increments, n_positives: int, tilt: float, share: float = _NEGLIGIBLE
) -> tuple[Bands, float]:
    """Paths that carry the distribution tilted by ``exp(tilt S)``, and ``log E exp(tilt S)``.

    Paths are left out where they carry less than `share` of the tilted total. Where many hits may
    follow two mean paths that differ by far, none are, and the logarithm is not known (nan).
    """
    feasible = feasible_bands(increments, n_positives)
    for width in (1.0, 2.0):
        window, balance = windows(increments, n_positives, np.array([tilt]), width)
        try:
            found = _bands_in(increments, n_positives, tilt, share, window, balance[:, 0])
        except _OutOfRangeError:
            return window, math.nan
        if found is not None and _has_room(found[0], window, feasible):
            return found
    try:
        found = _bands_in(increments, n_positives, tilt, share, feasible, balance[:, 0])
    except _OutOfRangeError:
        found = None
    return found or (feasible, math.nan)


def carrying_bands(
    increments: Increments,
    n_positives: int,
    tilt: float,
    share: float,
    window: Bands,
    limits: Bands,
) -> tuple[Bands, float] | None:
    """`tilted_bands` of the paths within limits, looked for in a window; None if it is too narrow.

    Or if the paths are not found.
    """
    window = window.intersection(limits)
    try:
        found = _bands_in(increments, n_positives, tilt, share, window, None)
    except _OutOfRangeError:
        return None
    if found is None or not _has_room(found[0], window, limits):
        return None
    return found[0].ascending(), found[1]


def log_weights(increments: Increments, most: int, p: float, tilt: float, window: Bands) -> Floats:
    """Log of the tilted weight of each number of hits in all blocks, up to the most.

    Hits are binomial with probability p. -inf where the paths are not in the window, nan if they
    are too many to be followed.
    """
    first, state = 0, np.zeros(1)
    for block in range(increments.sizes.size):
        try:
            step = _Step(
                increments,
                most,
                tilt,
                window,
                block,
                first,
                state.size,
                _fall(state),
                p,
                _MANY_LOGARITHMS,
            )
            reached = step.forward(state)
        except _OutOfRangeError:
            return np.full(most + 1, np.nan)
        low, high = max(step.first_reached, int(window.low[block])), int(window.high[block])
        state = reached[low - step.first_reached : high + 1 - step.first_reached]
        first = low
    logs = np.full(most + 1, -np.inf)
    logs[first : first + state.size] = state
    return logs


def _fall(logs: Floats) -> float:
    """How much lower a row is than the one before, on average: with it back they are level."""
    return float(logs[0] - logs[-1]) / max(1, logs.size - 1)


def _has_room(bands: Bands, window: Bands, feasible: Bands) -> bool:
    """Whether bands end within their window, or where it is as wide as it can be."""
    ends = [
        (bands.low > window.low) | (window.low == feasible.low),
        (bands.high < window.high) | (window.high == feasible.high),
        (bands.most < window.most) | (window.most == feasible.most),
        (bands.least > window.least) | (window.least == feasible.least),
    ]
    return bool(np.all(ends))


def _bands_in(
    increments: Increments,
    n_positives: int,
    tilt: float,
    share: float,
    window: Bands,
    balance: Floats | None,
) -> tuple[Bands, float] | None:
    """`tilted_bands` among the paths in a window; None if they do not lead to the end."""
    steps, rows, log_total = [], [(0, np.zeros(1))], 0.0
    for block in range(increments.sizes.size):
        first, state = rows[-1]
        level, most = (
            (_fall(state), _MANY_LOGARITHMS)
            if balance is None
            else (float(balance[block]), _MOST_LOGARITHMS)
        )
        step = _Step(
            increments, n_positives, tilt, window, block, first, state.size, level, None, most
        )
        low = max(int(window.low[block]), step.first_reached)
        kept = slice(low - step.first_reached, int(window.high[block]) + 1 - step.first_reached)
        reached = step.forward(state)[kept]
        if not np.any(reached > -np.inf):
            return None
        log_total += float(reached.max())
        steps.append(step)
        rows.append((low, reached - reached.max()))
    n = increments.n_samples
    last = float(rows[-1][1][-1])
    log_total += last - log_probability_of_hits(n_positives, n, n_positives / n)
    bands = Bands(*(np.empty_like(window.low) for _ in range(4)))
    future, negligible = np.zeros(1), math.log(share)
    for block in range(increments.sizes.size - 1, -1, -1):
        first, state = rows[block + 1]
        rows_kept = _kept(state + future, negligible)
        bands.low[block], bands.high[block] = first + rows_kept[0], first + rows_kept[-1]
        step, past = steps[block], rows[block][1]
        hits_kept = _kept(step.hits(past, first, future), negligible)
        bands.least[block], bands.most[block] = step.y[hits_kept[0]], step.y[hits_kept[-1]]
        future = step.backward(first, future)
        future = future - future.max()
    return bands, log_total


def _kept(log_shares: Floats, negligible: float) -> Integers:
    return np.flatnonzero(log_shares >= log_shares.max() + negligible)


class _Step:
    """A block of the pass, in logarithms: sums over its hits are plain convolutions.

    With h hits before the block and y in it, around any h0 and y0, ``y h = y0 h + (y - y0) h0 +
    [(h + y - h0 - y0)**2 - (h - h0)**2 - (y - y0)**2] / 2``: a factor of h, one of y and one of
    their sum. So is a factor that keeps all of them in the range of floats.
    """

    def __init__(
        self,
        increments: Increments,
        n_positives: int,
        tilt: float,
        window: Bands,
        block: int,
        first: int,
        n_rows: int,
        balance: float,
        p: float | None = None,
        most_logarithms: int = _MOST_LOGARITHMS,
    ) -> None:
        self._most_logarithms = most_logarithms
        size = int(increments.sizes[block])
        self.y = y = np.arange(window.least[block], window.most[block] + 1)
        if not y.size:
            raise _OutOfRangeError
        p = n_positives / increments.n_samples if p is None else p
        weights = binomial_log_weights(size, min(size, n_positives), p)[y]
        self.first_reached = first + int(y[0])
        crossed = tilt * float(increments.cross[block])
        h = first + np.arange(n_rows)
        h0, y0 = h[n_rows // 2], y[y.size // 2]
        own = tilt * y * (increments.linear[block] + increments.square[block] * y)
        self._of_hits = weights + own + crossed * ((y - y0) * h0 - 0.5 * (y - y0) ** 2)
        self._of_hits += balance * (y - y0)
        self._of_rows = crossed * (y0 * h - 0.5 * (h - h0) ** 2) + balance * (h - h0)
        more = self.first_reached + np.arange(n_rows + y.size - 1) - h0 - y0
        self._of_reached = 0.5 * crossed * more**2 - balance * more

    def forward(self, state: Floats) -> Floats:
        """Log weights of hits after the block, from `first_reached` on."""
        return np.asarray(self._convolved(state + self._of_rows, self._of_hits) + self._of_reached)

    def backward(self, first: int, future: Floats) -> Floats:
        """Log weights of hits before the block, from those of hits after it, `first` and more."""
        sums = self._convolved(self._ahead(first, future), self._of_hits[::-1])
        n_hits, n_rows = self.y.size, self._of_rows.size
        return np.asarray(self._of_rows + sums[n_hits - 1 : n_hits - 1 + n_rows])

    def hits(self, past: Floats, first: int, future: Floats) -> Floats:
        """Log weights of the hits in the block, from both sides of it."""
        sums = self._convolved(self._ahead(first, future), (past + self._of_rows)[::-1])
        n_hits, n_rows = self.y.size, self._of_rows.size
        return np.asarray(self._of_hits + sums[n_rows - 1 : n_rows - 1 + n_hits])

    def _convolved(self, log_a: Floats, log_b: Floats) -> Floats:
        return _log_convolution(log_a, log_b, self._most_logarithms)

    def _ahead(self, first: int, future: Floats) -> Floats:
        """The future of every row that is reached, and the factor of the sum."""
        ahead = np.full(self._of_reached.size, -np.inf)
        start = first - self.first_reached
        ahead[start : start + future.size] = future
        return np.asarray(ahead + self._of_reached)


class _OutOfRangeError(Exception):
    """No paths lead on, or sums of products are too many to be taken in logarithms throughout."""


def _log_convolution(log_a: Floats, log_b: Floats, most_logarithms: int) -> Floats:
    """Log of the convolution, with logarithms throughout where floats do not reach far enough."""
    top_a, top_b = log_a.max(), log_b.max()
    depth = _depth(log_a) + _depth(log_b)
    with np.errstate(divide="ignore"):
        if depth < _LOG_RANGE:
            sums = np.convolve(np.exp(log_a - top_a), np.exp(log_b - top_b))
            return np.asarray(np.log(sums) + (top_a + top_b))
        if log_a.size * log_b.size > most_logarithms:
            raise _OutOfRangeError
        terms = np.full((log_b.size, log_a.size + log_b.size), -np.inf)
        terms[:, : log_a.size] = log_b[:, None] + log_a
        # A row length one shorter than the rows moves row i to the right by i.
        width = log_a.size + log_b.size - 1
        shifted = terms.ravel()[: log_b.size * width].reshape(log_b.size, width)
        top = np.maximum(shifted.max(axis=0), np.finfo(float).min)
        return np.asarray(np.log(np.exp(shifted - top).sum(axis=0)) + top)


def _depth(logs: Floats) -> float:
    """How far the finite entries go below the largest."""
    finite = logs[logs > -np.inf]
    if not finite.size:
        raise _OutOfRangeError
    return float(finite.max() - finite.min())
