"""Numbers of hits that carry the tail beyond a value, and a bound of all others in it.

Average precision is convex in the hits of a block: between two humps of its tilted distributions
no tilt puts its mean at the value, and Chernoff's bound of the whole tail is far from it. The tail
itself is carried by paths near one of the least relative entropy among those with the value
(:func:`_paths_at_value`). Given the number of hits up to a block, or in it, a tilt does put the
mean there, and the Chernoff bounds of the parts of a tail show which of them matter
(:func:`paths_of_tail`), within a window around the paths that were found. What lies outside of it
is bounded in `other_paths`. See "Band-limited bounds" in doc/theory.rst.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit, logit, rel_entr

from sklearn_rankinf._engine.inversion.bands import (
    Bands,
    around_paths,
    feasible_bands,
    gain_of_a_hit,
    log_sum,
    path_shares,
    values_of_mean_paths,
)
from sklearn_rankinf._statistics import Floats, Increments, filled_from_the_top


@dataclass(frozen=True)
class PathSettings:
    """Settings of the search for paths; shares are logarithms."""

    # Accuracy of a path, in hits, and of its tilt, in standard deviations; steps after which either
    # is given up; and values, from the mean on, that lead to a path near the body.
    path_error: float = 0.05
    tilt_error: float = 1e-3
    most_steps: int = 60
    n_values: int = 8
    # Largest change of log odds in a step of Newton's method.
    largest_change: float = 2.0
    # Difference of the relative entropies of two paths beyond which the higher is left out.
    far_apart: float = 60.0
    # Standard deviations between a value and the mean under the tilt of its path that are a jump.
    jump: float = 3.0
    # The same from the mean without a tilt up to which there is none.
    near: float = 4.0
    # Tilts whose bounds are tried: parts of that of the path, and standard deviations from it.
    parts: tuple[float, ...] = (0.0, 0.5, 1.0)
    steps: tuple[float, ...] = (1.5, -1.5, 3.0, -3.0, 6.0, -6.0, 12.0, -12.0, 24.0, -24.0)
    # Share of the bound of a tail beyond which its paths must leave room in the window, that which
    # is left out, the number of times that paths are looked for among those found before, and the
    # part of the work that each has to leave at most.
    outside: float = -35.0
    left_out: float = -14.6
    most_rounds: int = 12
    progress: float = 0.95
    # Widths of the windows that are tried; and the times the work of a window up to which all paths
    # are looked at.
    widths: tuple[float, ...] = (1.0, 2.0)
    little_more: float = 2.5


SETTINGS = PathSettings()


class Path(NamedTuple):
    """Mean hits of blocks, their tilt, the deviation of the value, and the relative entropy."""

    hits: Floats
    tilt: float
    deviation: float
    entropy: float

    def tilts(self) -> list[float]:
        """Tilts whose bounds of the parts of a tail are tried."""
        parts = [part * self.tilt for part in SETTINGS.parts]
        return parts + [self.tilt + step / self.deviation for step in SETTINGS.steps]


class PathsOfTail(NamedTuple):
    """Paths that carry a tail, and the log of a bound of all others of a window in it.

    Also the window, and the log of a bound of its tail.
    """

    bands: Bands
    log_rest: float
    window: Bands
    log_tail: float


def jumps_over(increments: Increments, n_positives: int, t: float, path: Path) -> bool:
    """Whether no tilt puts the mean near t: that of the path at t has its mean elsewhere."""
    value = values_of_mean_paths(increments, n_positives, np.array([path.tilt]))[0]
    return bool(abs(value - t) > SETTINGS.jump * path.deviation)


def is_near_the_mean(c: Increments, n_positives: int, t: float) -> bool:
    """Whether a value is near the mean, where the distribution has one hump."""
    even = n_positives * c.sizes / c.n_samples
    gains, variances = gain_of_a_hit(c, even[None])[0], even * (1.0 - n_positives / c.n_samples)
    deviation = math.sqrt(variances @ (gains - (gains @ even) / n_positives) ** 2)
    return abs(t - _mean_value(c, even)) <= SETTINGS.near * deviation


@np.errstate(divide="ignore")
def paths_of_tail(
    increments: Increments,
    n_positives: int,
    t: float,
    sign: int,
    paths: list[Path],
    is_bounded: bool = True,
) -> PathsOfTail | None:
    """Paths that carry the tail from t upwards (sign 1) or downwards (sign -1), near given ones.

    All others of a window around these are bounded; those outside of it are not looked at. Where
    they are to be bounded, and a little more work is enough, the window is that of all paths.

    The part of the tail with h hits up to a block, or in it, has a Chernoff bound of each tilt: its
    share of the tilted total times ``exp(K - tilt t)``. The lowest of these bounds are left out
    from both ends. Bounds of other blocks are lower among the paths that are left, and more may be
    left out. None if a window around the given paths, whose mean is t, is too narrow.
    """
    hits = np.array([path.hits for path in paths])
    tilts = np.unique([tilt for path in paths for tilt in path.tilts() if sign * tilt >= 0.0])
    feasible = feasible_bands(increments, n_positives)
    for width in SETTINGS.widths:
        window = limits = around_paths(increments, n_positives, hits, width)
        if is_bounded and feasible.work() <= SETTINGS.little_more * window.work():
            window = limits = feasible
        log_rest = -math.inf
        for _ in range(SETTINGS.most_rounds):
            bounds = _log_bounds_of_parts(increments, n_positives, tilts, t, limits)
            if bounds is None:
                return None
            log_tail = float(min(map(log_sum, itertools.chain(*bounds))))
            spread = log_tail - math.log(4 * increments.sizes.size)
            inside, log_outside = _carrying_parts(limits, bounds, spread + SETTINGS.outside)
            if inside.has_room_in(window, feasible):
                bands, log_ends = _carrying_parts(limits, bounds, spread + SETTINGS.left_out)
                log_rest = float(np.logaddexp(log_rest, log_ends))
                return PathsOfTail(bands.ascending(), log_rest, window, log_tail)
            inside = inside.ascending().intersection(limits)
            if not inside.work() < SETTINGS.progress * limits.work():
                break
            limits, log_rest = inside, float(np.logaddexp(log_rest, log_outside))
    return None


def lowest_paths(increments: Increments, n_positives: int, t: float, sign: int) -> list[Path]:
    """Paths with the mean value t, the one with the least relative entropy first."""
    found = [
        path for path in _paths_at_value(increments, n_positives, t, sign) if sign * path.tilt > 0.0
    ]
    found.sort(key=lambda path: path.entropy)
    return [one for one in found if one.entropy <= found[0].entropy + SETTINGS.far_apart]


def _paths_at_value(
    increments: Increments, n_positives: int, t: float, sign: int
) -> Iterator[Path]:
    """Paths with the mean value t whose relative entropy is the least around them.

    The statistic is replaced by its tangent at a path, whose own best path with the value is the
    next one. That leads on from the best path for a value nearer to the mean, and from one between
    the mean and the end of the support, to two paths if there are two.
    """
    sizes = increments.sizes.astype(float)
    even = n_positives * sizes / sizes.sum()
    mean = _mean_value(increments, even)
    path: Path | None = Path(even, 0.0, math.inf, 0.0)
    for part in np.linspace(0.0, 1.0, SETTINGS.n_values + 1)[1:]:
        path = path and _next_path(increments, n_positives, mean + part * (t - mean), path)
    if path is not None:
        yield path
    order = slice(None, None, sign)
    end = filled_from_the_top(increments.sizes[order], n_positives)[order] - even
    value, middle = (_mean_value(increments, even + part * end) for part in (1.0, 0.5))
    square = 2.0 * (value + mean - 2.0 * middle)
    roots = np.roots([square, value - mean - square, mean - t])
    parts = np.sort(roots.real[(roots.imag == 0.0) & (roots.real > 0.0) & (roots.real < 1.0)])
    if parts.size:
        start = Path(even + parts[0] * end, 0.0, math.inf, 0.0)
        other = _next_path(increments, n_positives, t, start)
        if other is not None and (path is None or _distance(other, path) > 1.0):
            yield other


def _distance(path: Path, other: Path) -> float:
    """Largest difference of the hits up to a block."""
    return float(np.abs(np.cumsum(path.hits - other.hits)).max())


def _mean_value(c: Increments, hits: Floats) -> float:
    """Mean of the statistic, with these mean hits."""
    before = np.cumsum(hits) - hits
    of_a_hit = c.cross * before + c.linear + c.square * (1.0 + hits * (1.0 - 1.0 / c.sizes))
    return float(hits @ of_a_hit)


def _next_path(increments: Increments, n_positives: int, t: float, path: Path) -> Path | None:
    """The path with the least relative entropy and the value t around a path; or None."""
    sizes = increments.sizes.astype(float)
    even = float(logit(n_positives / increments.n_samples))
    shift = even
    for _ in range(SETTINGS.most_steps):
        gains = gain_of_a_hit(increments, path.hits[None])[0]
        aim = t - _mean_value(increments, path.hits) + gains @ path.hits
        found = _best_path(sizes, gains, n_positives, aim, path.tilt, shift)
        if found is None:
            return None
        hits, tilt, shift, deviation = found
        last, path = path, Path(hits, tilt, deviation, 0.0)
        if _distance(path, last) < SETTINGS.path_error:
            share, p = hits / sizes, n_positives / increments.n_samples
            entropy = sizes * (rel_entr(share, p) + rel_entr(1.0 - share, 1.0 - p))
            return path._replace(entropy=float(entropy.sum()))
    return None


def _best_path(
    sizes: Floats, gains: Floats, n_positives: int, aim: float, tilt: float, shift: float
) -> tuple[Floats, float, float, float] | None:
    """Hits with the least relative entropy whose gains add up to an aim, by Newton's method.

    Their log odds are ``tilt gains + shift``; the last number is the standard deviation of the sum
    of gains. None if the aim is not reached.
    """
    for _ in range(SETTINGS.most_steps):
        share = expit(tilt * gains + shift)
        hits = sizes * share
        variances = np.maximum(hits * (1.0 - share), 1e-300)
        center = (variances @ gains) / variances.sum()
        missing = n_positives - hits.sum()
        deviation = math.sqrt(variances @ (gains - center) ** 2)
        if not deviation > 0.0:
            return None
        more = (aim - hits @ gains - center * missing) / deviation**2
        less = missing / variances.sum() - more * center
        if max(abs(more) * deviation, abs(missing)) < SETTINGS.tilt_error:
            return hits, tilt, shift, deviation
        change = np.abs(more * gains + less).max() / SETTINGS.largest_change
        tilt, shift = tilt + more / max(change, 1.0), shift + less / max(change, 1.0)
    return None


_Parts: TypeAlias = tuple[list[Floats], list[Floats]]


def _log_bounds_of_parts(
    increments: Increments, n_positives: int, tilts: Floats, t: float, window: Bands
) -> _Parts | None:
    """Logs of the lowest Chernoff bounds of parts of a tail: by hits up to a block, and in it."""
    found = path_shares(increments, n_positives, tilts, window)
    if found is None:
        return None
    of_rows, of_hits = [], []
    exponents = found[1] - tilts * t
    n_rows = (window.high - window.low + 1).tolist()
    for size, low, (first, rows, _, hits) in zip(
        n_rows, window.low.tolist(), found[0], strict=True
    ):
        of_rows.append(np.full(size, -np.inf))
        for logs, bounds in ((rows, of_rows[-1][first - low :]), (hits, np.empty(hits.shape[1]))):
            bounds[: logs.shape[1]] = (logs + (exponents - log_sum(logs))[:, None]).min(axis=0)
        of_hits.append(bounds)
    return of_rows, of_hits


def _carrying_parts(window: Bands, bounds: _Parts, log_end: float) -> tuple[Bands, float]:
    """Paths but for the ends of each block that add up to less; log of the sum of all ends."""
    of_rows, of_hits = (np.array([_ends(each, log_end) for each in part]).T for part in bounds)
    low, high = window.low + of_rows[:2].astype(np.int64)
    least, most = window.least + of_hits[:2].astype(np.int64)
    return Bands(low, high, most, least), float(log_sum(np.append(of_rows[2], of_hits[2])))


def _ends(logs: Floats, log_end: float) -> tuple[int, int, float]:
    """First and last place but for ends that add up to less; and log of the sum of both ends."""
    up_to, down_to = (np.logaddexp.accumulate(each) for each in (logs, logs[::-1]))
    first = min(int(np.searchsorted(up_to, log_end)), logs.size - 1)
    n_last = min(int(np.searchsorted(down_to, log_end)), logs.size - 1 - first)
    before = up_to[first - 1] if first else -math.inf
    beyond = down_to[n_last - 1] if n_last else -math.inf
    return first, logs.size - 1 - n_last, float(np.logaddexp(before, beyond))
