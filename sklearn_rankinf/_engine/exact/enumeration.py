"""Enumeration of the values of an additive rank statistic, whole, near its maximum, or by halves.

* One forward pass over the blocks extends partial outcomes, which are numbers of hits in the first
  blocks (:func:`atoms`; "Exact atoms" in doc/theory.rst). Near-maximum enumeration is a branch and
  bound (Land and Doig, 1960): a partial outcome is dropped as soon as its best completion, by
  dynamic programming over (block, hits), stays below the threshold.
* Meet in the middle (Horowitz and Sahni, 1974; Eq. ``halves`` in doc/theory.rst) lists the outcomes
  of the first and of the last blocks, and joins the lists by sorting
  (:class:`MeetInTheMiddleTails`).

The number of placements of an outcome is the product of its binomial coefficients, whose logarithms
are added. Errors are those of rounding only.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from sklearn_rankinf._engine.estimates import LOG_WHOLE, ROUNDING_OF_LOGS, TINY, TailEstimates
from sklearn_rankinf._statistics import (
    Floats,
    Increments,
    Integers,
    cached_method,
    cached_property,
    filled_from_the_top,
    log_binomial,
)

# Outcomes up to which all atoms are kept.
MAX_ATOMS = 5e6
# Larger numbers of outcomes are not counted but infinite.
_MOST_OUTCOMES = 1e15
# Sums of two halves, and extended outcomes, that are held in memory together, nearly.
_MOST_AT_ONCE = 1_000_000
# Partial outcomes that are extended together: their arrays stay in the processor's cache.
_EXTENDED_AT_ONCE = 16_384
# Sums over more hits are off by more than 4e-13, and compensated: values within 1e-12 are equal.
_MANY_HITS = 4_000
# Relative difference of the most that hits add that is rounding.
_SAME = 1e-12
# Stated relative error of meet in the middle: this, and this for each unit of log C(n, m).
_ROUNDING = 1e-12


def n_outcomes(sizes: Integers, n_positives: int) -> float:
    """Number of different hit counts per block, infinite where it is beyond 1e15."""
    # Hits and misses are symmetric.
    fewer = min(n_positives, int(sizes.sum()) - n_positives)
    if np.all(sizes == 1):
        log_number = log_binomial(sizes.size, fewer)
        return math.inf if log_number > 34.0 else float(math.comb(sizes.size, fewer))
    return float(_numbers_of_partial_outcomes(sizes, fewer)[-1])


def _numbers_of_partial_outcomes(sizes: Integers, n_positives: int) -> Floats:
    """Number of outcomes of the first 0, 1, 2, ... blocks that the other blocks can complete."""
    ways = np.zeros(n_positives + 1)
    ways[0] = 1.0
    remaining = int(sizes.sum())
    numbers = np.full(sizes.size + 1, math.inf)
    numbers[0] = 1.0
    for block, size in enumerate(sizes.tolist()):
        remaining -= size
        ways = ways.cumsum()
        if size < n_positives:
            ways[size + 1 :] -= ways[: n_positives - size].copy()
        if remaining < n_positives:
            ways[: n_positives - remaining] = 0.0
        number = float(ways.sum())
        if number > _MOST_OUTCOMES:
            break
        numbers[block + 1] = number
    return numbers


@dataclass(frozen=True, eq=False)
class Atoms:
    """Values that a statistic takes, ascending, with the logarithm of the number of placements."""

    values: Floats
    log_counts: Floats

    @cached_property
    def _log_counts_from(self) -> Floats:
        if not self.values.size:
            return np.array([-np.inf])
        return _log_cumulative(self.log_counts, np.array([self.values.size]), 1)

    def log_counts_from(self, t: Floats) -> Floats:
        """Logarithms of the numbers of placements with at least these values."""
        return self._log_counts_from[np.searchsorted(self.values, t, side="left")]


class _Outcomes(NamedTuple):
    """Partial outcomes of the first blocks.

    Attributes
    ----------
    hits : ndarray of shape (n_outcomes,)
        Hits in these blocks.
    values, lost : ndarray of shape (n_outcomes,)
        Sums of their increments, and the rounding errors of these additions.
    log_counts : ndarray of shape (n_outcomes,)
        Logarithms of the numbers of placements.
    """

    hits: Integers
    values: Floats
    lost: Floats
    log_counts: Floats

    @classmethod
    def none(cls) -> _Outcomes:
        """The one outcome of no blocks."""
        return cls(np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1), np.zeros(1))

    @classmethod
    def joined(cls, parts: list[_Outcomes]) -> _Outcomes:
        """All outcomes of several lists."""
        return parts[0] if len(parts) == 1 else cls(*map(np.concatenate, zip(*parts, strict=True)))

    def at(self, where: Integers | slice) -> _Outcomes:
        """Some of the outcomes."""
        some: Any = [part[where] for part in self]
        return _Outcomes(*some)

    def extended(
        self,
        blocks: Increments,
        block: int,
        m: int,
        remaining: int,
        best: _Completions | None = None,
        limit: float = math.inf,
    ) -> _Outcomes:
        """Outcomes with each possible number of hits in the next block, or more than `limit`.

        The `remaining` samples behind the block have to hold the rest of the `m` hits, and the best
        completion has to reach the threshold.
        """
        extended, n_extended = [], 0
        most = min(int(blocks.sizes[block]), m) + 1
        at_once = max(1, min(_EXTENDED_AT_ONCE, _MOST_AT_ONCE // most))
        for start in range(0, self.hits.size, at_once):
            some = self.at(slice(start, start + at_once))
            extended.append(some._extended(blocks, block, m, remaining, best))
            n_extended += extended[-1].hits.size
            if n_extended > limit:
                break
        return _Outcomes.joined(extended)

    def _extended(
        self, blocks: Increments, block: int, m: int, remaining: int, best: _Completions | None
    ) -> _Outcomes:
        size = int(blocks.sizes[block])
        if best is None:
            first = np.maximum(m - remaining - self.hits, 0)
            n_ways = np.minimum(m - self.hits, size) - first + 1
        else:
            first, n_ways, ys = best.ways(block, self, min(size, m - int(self.hits.min())))
        # Each outcome with each number y of hits in the block that is possible.
        ends = np.cumsum(n_ways)
        of = np.repeat(np.arange(n_ways.size), n_ways)
        y = np.arange(ends[-1]) - np.repeat(ends - n_ways - first, n_ways)
        y = y if best is None else ys[y]
        hits, before, lost = self.hits[of], self.values[of], self.lost[of]
        gain = blocks.gain(block, hits, y)
        values = before + gain
        if m > _MANY_HITS:
            # Knuth's TwoSum.
            of_gain = values - before
            lost += (before - (values - of_gain)) + (gain - of_gain)
        log_counts = self.log_counts[of] + _log_ways(size, min(size, m))[y]
        grown = _Outcomes(hits + y, values, lost, log_counts)
        if best is None:
            return grown
        # Others with the same hits have larger values.
        return grown.at(np.flatnonzero(values >= best.needed(block + 1, grown.hits)))


@lru_cache(maxsize=256)
def _log_ways(size: int, most: int) -> Floats:
    """Logarithms of the numbers of ways to place 0 to `most` hits in a block.

    Ratios are added up to half the block: beyond it sums of large logarithms would lose digits.
    """
    y = np.arange(most + 1)
    fewer = np.minimum(y, size - y)
    up_to = np.arange(1, fewer.max() + 1, dtype=np.longdouble)
    sums = np.cumsum(np.log((size + 1 - up_to) / up_to))
    log_ways = np.append(0.0, sums)[fewer].astype(float)
    log_ways.flags.writeable = False
    return log_ways


def atoms(
    increments: Increments, n_positives: int, at_least: float | None = None, limit: float = math.inf
) -> Atoms | None:
    """Every value of the statistic with its number of placements of the hits.

    With ``at_least`` only values from there on are followed: a partial outcome is dropped as soon
    as its best completion stays below. None if more than ``limit`` partial outcomes are alive.
    """
    if n_positives == 1 and at_least is None:
        return _sorted_atoms(increments.of_one_hit, np.log(increments.sizes))
    best = None if at_least is None else _Completions(increments, n_positives, at_least)
    remaining = increments.n_samples - np.cumsum(increments.sizes)
    all_hits = _sums_if_all_hits(increments, n_positives)
    alive, n_done = _Outcomes.none(), 0
    done = [alive.at(slice(0))]
    for block, n_left in enumerate(remaining.tolist()):
        left = limit - n_done
        alive = alive.extended(increments, block, n_positives, n_left, best, left)
        if alive.hits.size > left:
            return None
        is_done = alive.hits == n_positives
        if n_left < n_positives:
            is_rest = alive.hits == n_positives - n_left
            alive.lost[is_rest] += all_hits[block + 1]
            is_done |= is_rest
        full = np.flatnonzero(is_done)
        if full.size:
            done.append(alive.at(full))
            n_done += full.size
            alive = alive.at(np.flatnonzero(~is_done))
        if not alive.hits.size:
            break
    outcomes = _Outcomes.joined(done)
    return _sorted_atoms(outcomes.values + outcomes.lost, outcomes.log_counts)


def _sorted_atoms(values: Floats, log_counts: Floats) -> Atoms:
    order = np.argsort(values, kind="stable")
    return Atoms(values[order], log_counts[order])


def _sums_if_all_hits(increments: Increments, n_positives: int) -> Floats:
    """Sums over the blocks from each block on if every sample in them is a hit."""
    g = increments.sizes
    h = n_positives - (increments.n_samples - increments.starts)
    gains = g * (increments.cross * h + increments.linear + increments.square * g)
    sums = np.cumsum(gains[::-1], dtype=np.longdouble)[::-1]
    return np.append(np.asarray(sums, dtype=float), 0.0)


class _Completions:
    """Largest sums over the blocks from each block on, given the hits before them.

    Only those are kept which reach a threshold together with the largest sum before them.
    """

    def __init__(self, increments: Increments, n_positives: int, at_least: float) -> None:
        self._increments, self._at_least = increments, at_least
        before = deque(_largest_sums(increments, n_positives), maxlen=1).pop()
        self._rows: list[tuple[int, Floats]] = []
        for of_last_blocks in _largest_sums(increments.from_the_end(n_positives), n_positives):
            row = of_last_blocks[::-1]
            kept = np.flatnonzero(before + row >= at_least - 1e-9 * abs(at_least))
            first, last = (int(kept[0]), int(kept[-1])) if kept.size else (0, -1)
            self._rows.append((first, row[first : last + 1].copy()))
        self._rows.reverse()

    def ways(self, block: int, outcomes: _Outcomes, most: int) -> tuple[Integers, ...]:
        """Numbers of hits in a block, up to `most`, with which outcomes may reach the threshold.

        They are common to outcomes with the same hits before the block, whose largest value counts:
        a list of all, and for each outcome the place of its first one and their number.
        """
        fewest = int(outcomes.hits.min())
        row, y = outcomes.hits - fewest, np.arange(most + 1)
        before = fewest + np.arange(int(row.max()) + 1)[:, None]
        largest = np.full(before.size, -np.inf)
        np.maximum.at(largest, row, outcomes.values)
        gains = self._increments.gain(block, before, y)
        reaches = largest[:, None] + gains >= self.needed(block + 1, before + y)
        n_ways = reaches.sum(axis=1)
        return (np.cumsum(n_ways) - n_ways)[row], n_ways[row], np.nonzero(reaches)[1]

    def needed(self, block: int, hits: Integers) -> Floats:
        """Sums over the blocks before a block that can reach the threshold."""
        first, row = self._rows[block]
        needed = np.full(hits.shape, np.inf)
        is_kept = (hits >= first) & (hits < first + row.size)
        needed[is_kept] = self._at_least - row[hits[is_kept] - first]
        return needed


def largest_rests(increments: Increments, n_positives: int) -> list[Floats]:
    """Largest sums over the blocks behind each block, by the hits up to its end."""
    turned = increments.from_the_end(n_positives)
    return [row[::-1] for row in _largest_sums(turned, n_positives)][-2::-1]


def _largest_sums(increments: Increments, n_positives: int) -> Iterator[Floats]:
    """Largest sums over the first 0, 1, 2, ... blocks, by the number of hits in them."""
    best = np.full(n_positives + 1, -np.inf)
    best[0] = 0.0
    yield best
    rows, n_before = np.arange(n_positives + 1), 0
    for block, size in enumerate(increments.sizes.tolist()):
        before, best = best, best.copy()
        for y in range(1, min(size, n_positives) + 1):
            h = rows[: min(n_before, n_positives - y) + 1]
            reached = best[y : y + h.size]
            np.maximum(reached, before[: h.size] + increments.gain(block, h, y), out=reached)
        n_before += size
        yield best


def most_by_a_hit(increments: Increments, n_positives: int) -> Floats | None:
    """The most that a hit adds in each block, if blocks that are filled from the top reach it.

    With at most H hits up to a block, one in it adds no more than ``cross (H - 1) + linear +
    square``. Where that falls from block to block, the i-th hit of a ranking whose blocks are
    filled in turn adds at least as much as the i-th hit of any other. None if it does not fall, or
    filled blocks add less.
    """
    c, ends = increments, np.cumsum(increments.sizes)
    most = c.cross * (np.minimum(ends, n_positives) - 1) + c.of_one_hit
    taken = filled_from_the_top(c.sizes, n_positives)
    reached = c.cross * c.starts + c.linear + c.square * taken
    rounding = _SAME * np.abs(most)
    is_reached = np.abs(reached - most) <= rounding
    falls = np.diff(most) <= rounding[1:]
    applies = np.all((c.square <= c.cross) & (c.cross >= 0.0)) and falls.all()
    return most if applies and is_reached[taken > 0].all() else None


def largest_value(increments: Increments, n_positives: int) -> float:
    """The largest value that the statistic can take."""
    if increments.is_linear:
        order = np.argsort(-increments.linear, kind="stable")
        increments = increments[order]
    if most_by_a_hit(increments, n_positives) is not None:
        return float(increments.total(filled_from_the_top(increments.sizes, n_positives)))
    return float(deque(_largest_sums(increments, n_positives), maxlen=1).pop()[-1])


def smallest_value(increments: Increments, n_positives: int) -> float:
    """The smallest value that the statistic can take."""
    return -largest_value(increments.negated(), n_positives)


def _log_cumulative(log_counts: Floats, n_in_run: Integers, sign: int) -> Floats:
    """Logarithms of the sums of counts from each place on (sign 1) or before it (sign -1).

    Counts of several runs are summed run by run. Each run has one sum more than counts, 0.
    """
    runs = _bounds_of_runs(n_in_run)
    tops = np.maximum.reduceat(log_counts, [start for start, _ in runs])
    weights = np.exp(log_counts - np.repeat(tops, n_in_run))
    sums = np.zeros(weights.size + len(runs), dtype=np.longdouble)
    for run, (start, end) in enumerate(runs):
        of_run = sums[start + run : end + run + 1][::-sign]
        weights[start:end][::-sign].cumsum(out=of_run[1:])
    with np.errstate(divide="ignore"):
        log_sums = np.log(np.asarray(sums, dtype=float)) + np.repeat(tops, n_in_run + 1)
    if weights.min() < TINY:
        for run, (start, end) in enumerate(runs):
            of_run = log_sums[start + run : end + run + 1][::-sign][1:]
            tiny = int(np.searchsorted(of_run, tops[run] + math.log(TINY)))
            of_run[:tiny] = np.logaddexp.accumulate(log_counts[start:end][::-sign][:tiny])
    return np.asarray(log_sums)


def _bounds_of_runs(n_in_run: Integers) -> list[tuple[int, int]]:
    """First place of each run, and the place behind its last one."""
    return list(pairwise([0, *np.cumsum(n_in_run).tolist()]))


class MeetInTheMiddleTails:
    """Tails of an additive rank statistic from the outcomes of its first and of its last blocks.

    Parameters
    ----------
    increments : Increments
        The statistic, block by block.
    n_positives : int
        Number of positives.
    split : int
        First block of the second half.
    """

    def __init__(self, increments: Increments, n_positives: int, split: int) -> None:
        n, n_behind = increments.n_samples, increments.sizes.size - split
        self._log_placements = log_binomial(n, n_positives)
        self._is_whole = self._log_placements < LOG_WHOLE
        turned = increments.from_the_end(n_positives)
        first = _outcomes(increments[slice(split)], n_positives, n)
        last = _outcomes(turned[slice(n_behind)], n_positives, n)
        # Outcomes of both halves with the same hits in the first one, which few bits hold for
        # speed, belong together. What those of the shorter list need is searched for in the longer.
        fewest = int(first.hits.min())
        kind = np.min_scalar_type(n_positives)
        hits = [(own - fewest).astype(kind) for own in (first.hits, n_positives - last.hits)]
        halves = zip((first, last), hits, strict=True)
        lists = zip(*(_sorted_runs(own, of_each) for own, of_each in halves), strict=True)
        shorter, longer = zip(*(sorted(pair, key=_length) for pair in lists), strict=True)
        self._outer, self._outer_logs = map(np.concatenate, zip(*shorter, strict=True))
        self._inner, self._inner_logs = map(np.concatenate, zip(*longer, strict=True))
        self._n_outer, self._n_inner = (
            np.array([_length(run) for run in runs]) for runs in (shorter, longer)
        )

    @property
    def n_kept(self) -> int:
        """Numbers that are kept."""
        return 2 * self._outer.size + 4 * self._inner.size

    def tail(self, t: Floats, sign: int) -> TailEstimates:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1).

        Terms are positive, so that only their logarithms are rounded: the relative error is at most
        ``1e-12 + 4e-15 log C(n, m)``.
        """
        log_p, rounding = self.log_tail(t, sign), self.rounding
        # A tail that is 1 up to rounding is certain.
        log_p = np.where(log_p > -_ROUNDING, 0.0, log_p)
        return TailEstimates.of(log_p, "meet in the middle", rounding=rounding)

    @property
    def rounding(self) -> float:
        """Relative rounding error of tails."""
        return _ROUNDING + ROUNDING_OF_LOGS * self._log_placements

    def log_tail(self, t: Floats, sign: int) -> Floats:
        """Logarithms of the tails."""
        n_chunks = -(-t.size * self._outer.size // _MOST_AT_ONCE)
        chunks = np.array_split(t, max(1, min(t.size, n_chunks)))
        return np.concatenate([self._log_tail(chunk, sign) for chunk in chunks])

    @cached_method
    def _log_tails_of_inner(self, sign: int) -> Floats:
        return _log_cumulative(self._inner_logs, self._n_inner, sign)

    @cached_method
    def _counts_of_inner(self, sign: int) -> Floats:
        """`_log_tails_of_inner` as whole numbers of placements."""
        counts, sums = np.rint(np.exp(self._inner_logs)), []
        for start, end in _bounds_of_runs(self._n_inner):
            up_to = np.append(0.0, np.cumsum(counts[start:end][::-sign]))
            sums.append(up_to[::-sign])
        return np.concatenate(sums)

    def _log_tail(self, t: Floats, sign: int) -> Floats:
        needed = t[:, None] - self._outer
        side: Literal["left", "right"] = "left" if sign > 0 else "right"
        place = np.empty(needed.shape, dtype=np.int64)
        runs = zip(_bounds_of_runs(self._n_outer), _bounds_of_runs(self._n_inner), strict=True)
        for run, ((start, end), (first, behind)) in enumerate(runs):
            some = self._inner[first:behind]
            found = np.searchsorted(some, needed[:, start:end], side=side)
            place[:, start:end] = found + (first + run)
        if self._is_whole:
            counts = np.rint(np.exp(self._outer_logs)) * self._counts_of_inner(sign)[place]
            total = np.longdouble(np.rint(np.exp(self._log_placements)))
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(np.asarray(counts.sum(axis=1) / total, dtype=float)))
        terms = self._outer_logs + self._log_tails_of_inner(sign)[place]
        # Along the last axis numpy sums in pairs, which keeps the digits.
        largest = np.maximum(terms.max(axis=1), np.finfo(float).min)
        with np.errstate(divide="ignore"):
            log_sums = np.log(np.exp(terms - largest[:, None]).sum(axis=1))
        return np.asarray(largest + log_sums - self._log_placements)


def _sorted_runs(outcomes: _Outcomes, hits: Integers) -> list[tuple[Floats, Floats]]:
    """Ascending values of the outcomes with each number of hits, and their log counts."""
    order = np.argsort(outcomes.values)
    order = order[np.argsort(hits[order], kind="stable")]
    ends = np.cumsum(np.bincount(hits))[:-1]
    values, log_counts = outcomes.values[order], outcomes.log_counts[order]
    return list(zip(np.split(values, ends), np.split(log_counts, ends), strict=True))


def _length(run: tuple[Floats, Floats]) -> int:
    return run[0].size


def _outcomes(blocks: Increments, n_positives: int, n_samples: int) -> _Outcomes:
    """All outcomes of the first blocks that the other of the `n_samples` samples can complete."""
    outcomes = _Outcomes.none()
    for block, end in enumerate(np.cumsum(blocks.sizes).tolist()):
        outcomes = outcomes.extended(blocks, block, n_positives, n_samples - end)
    return outcomes._replace(values=outcomes.values + outcomes.lost)


def best_split(sizes: Integers, n_positives: int) -> tuple[int, float]:
    """First block of the second half with which the lists are shortest, and their length."""
    down = _numbers_of_partial_outcomes(sizes, n_positives)
    length = down + _numbers_of_partial_outcomes(sizes[::-1], n_positives)[::-1]
    split = int(np.argmin(length))
    return split, float(length[split])
