"""The forward pass over (tie block, hits so far).

Hits per block are independent binomials conditioned on their total, so the weight of ``y`` hits in
a block does not depend on the hits before it: a step of the pass is a shift by ``y`` and a product.
What is attached to the state decides what comes out: ``exp(z S)`` gives the transform of S, the
values of S themselves give its atoms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import logsumexp

from sklearn_rankinf._engine.hypergeometric import log_binomial
from sklearn_rankinf._engine.statistics import FEW_BLOCKS, Floats, Increments, Integers

# Hits, value and log number of placements of every partial outcome.
Listed = tuple[Integers, Floats, Floats]


@lru_cache(maxsize=1024)
def binomial_log_weights(size: int, most: int, p: float) -> Floats:
    """Log probabilities of 0 to `most` hits in a block; the same blocks return in every pass.

    From ratio to ratio: differences of ``gammaln`` lose digits in large blocks.
    """
    y = np.arange(1, most + 1)
    log_odds = math.log(p) - math.log1p(-p)
    ratios = np.log((size - y + 1.0) / y) + log_odds
    weights = size * math.log1p(-p) + np.concatenate([[0.0], np.cumsum(ratios)])
    weights.flags.writeable = False
    return weights


def log_probability_of_hits(n_hits: int, n_samples: int, p: float) -> float:
    """Log probability of so many hits altogether."""
    of_misses = (n_samples - n_hits) * math.log1p(-p)
    return log_binomial(n_samples, n_hits) + n_hits * math.log(p) + of_misses


def n_outcomes(sizes: Integers, n_positives: int) -> float:
    """Number of different hit counts per block, infinite where it is beyond 1e15.

    Without ties this is ``C(n, m)``. Hits and misses are symmetric; the count only grows with every
    block and, up to half of the items, with every hit, so one large entry settles it.
    """
    fewer = min(n_positives, int(sizes.sum()) - n_positives)
    if np.all(sizes == 1):
        if log_binomial(sizes.size, fewer) > 34.0:
            return math.inf
        return float(math.comb(sizes.size, fewer))
    # What the others leave is in the largest block.
    *others, largest = np.sort(sizes).tolist()
    most = min(fewer, sum(others))
    ways = np.zeros(most + 1)
    ways[0] = 1.0
    for size in others:
        ways = np.cumsum(ways)
        top = min(size, most)
        ways[top + 1 :] -= ways[: most - top].copy()
        if ways.max() > 1e15:
            return math.inf
    return float(ways[max(0, fewer - largest) :].sum())


@dataclass(frozen=True, eq=False)
class Atoms:
    """Values that a statistic takes, ascending, with the logarithm of the number of placements."""

    values: Floats
    log_counts: Floats

    @cached_property
    def _log_counts_from(self) -> Floats:
        shares = cumulative_shares(self.log_counts[::-1])[1][::-1]
        return np.append(shares + logsumexp(self.log_counts), -np.inf)

    def log_counts_from(self, t: Floats) -> Floats:
        """Logarithms of the numbers of placements with at least these values."""
        if not self.values.size:
            return np.full(t.shape, -np.inf)
        return self._log_counts_from[np.searchsorted(self.values, t, side="left")]


def atoms(
    increments: Increments, n_positives: int, at_least: float | None = None, limit: float = math.inf
) -> Atoms | None:
    """Every value of the statistic with its number of placements of the hits.

    With ``at_least`` only values from there on are followed: a partial sum is dropped as soon as
    its best completion stays below. None if more than ``limit`` partial sums are alive.
    """
    if n_positives == 1 and at_least is None:
        return _sorted_atoms([(increments.of_one_hit, np.log(increments.sizes))])
    if at_least is None and increments.sizes.size <= FEW_BLOCKS:
        if n_outcomes(increments.sizes, n_positives) > limit:
            return None
        _, values, logs = partial_outcomes(increments, n_positives, increments.n_samples)
        return _sorted_atoms([(values, logs)])
    best = None if at_least is None else _Completions(increments, n_positives, at_least)
    ends = np.cumsum(increments.sizes)
    remaining = ends[-1] - ends
    all_hits = _sums_if_all_hits(increments, n_positives)
    # Sums over 100,000 blocks round by more than the 1e-12 within which values are equal: what
    # each addition loses is summed beside them.
    alive: dict[int, tuple[Floats, ...]] = {0: (np.zeros(1), np.zeros(1), np.zeros(1))}
    done: list[tuple[Floats, Floats]] = []
    n_done = 0
    for block in range(increments.sizes.size):
        grown: dict[int, list[tuple[Floats, ...]]] = {}
        n_grown = 0
        for h, y, values, lost, logs in _branches(
            increments, n_positives, block, alive, remaining[block], best
        ):
            all_remaining = n_positives - h - y == remaining[block]
            if h + y == n_positives or all_remaining:
                rest = all_hits[block + 1] if all_remaining else 0.0
                done.append((values + (lost + rest), logs))
                n_done += values.size
            elif values.size:
                grown.setdefault(h + y, []).append((values, lost, logs))
                n_grown += values.size
            if n_done + n_grown > limit:
                return None
        alive = {
            h: tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))
            for h, parts in grown.items()
        }
        if not alive:
            break
    return _sorted_atoms(done)


def partial_outcomes(increments: Increments, n_positives: int, n_samples: int) -> Listed:
    """Hits, value and log number of placements of every outcome of the first blocks of a ranking.

    Only outcomes that the other of its `n_samples` items can complete are listed.
    """
    hits, values, logs = np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros(1)
    remaining = n_samples - np.cumsum(increments.sizes)
    for block, size in enumerate(increments.sizes.tolist()):
        fewest = np.maximum(n_positives - hits - remaining[block], 0)
        n_ways = np.minimum(n_positives - hits, size) - fewest + 1
        last = np.cumsum(n_ways)
        y = np.arange(last[-1]) - np.repeat(last - n_ways - fewest, n_ways)
        before = np.repeat(hits, n_ways)
        values = np.repeat(values, n_ways) + increments.gain(block, before, y)
        logs = np.repeat(logs, n_ways) + _log_ways(size, min(size, n_positives))[y]
        hits = before + y
    return hits, values, logs


def _log_ways(size: int, most: int) -> Floats:
    """Logs of the numbers of ways to place 0 to `most` hits in a block.

    From ratio to ratio up to half the block: beyond it sums of large logs would lose digits.
    """
    y = np.arange(most + 1)
    fewer = np.minimum(y, size - y)
    up_to = np.arange(1, fewer.max() + 1, dtype=np.longdouble)
    sums = np.cumsum(np.log((size + 1 - up_to) / up_to))
    return np.append(0.0, sums)[fewer].astype(float)


def _branches(
    increments: Increments,
    n_positives: int,
    block: int,
    alive: dict[int, tuple[Floats, ...]],
    remaining: int,
    best: _Completions | None,
) -> Iterator[tuple[int, int, Floats, Floats, Floats]]:
    """Partial sums with each number of hits in a block, unless no completion is good enough."""
    size = int(increments.sizes[block])
    log_ways = [log_binomial(size, y) for y in range(min(size, n_positives - min(alive)) + 1)]
    for h, (values, lost, logs) in alive.items():
        ways = np.arange(max(0, n_positives - h - remaining), min(size, n_positives - h) + 1)
        gains = increments.gain(block, h, ways)
        needed = np.full(ways.size, -np.inf)
        if best is not None:
            needed = best.at_least - best.of(block + 1, h + ways)
            # Most numbers of hits are too few or too many for every partial sum.
            possible = values.max() + gains >= needed
            ways, gains, needed = ways[possible], gains[possible], needed[possible]
        for y, gain, least in zip(ways.tolist(), gains, needed, strict=True):
            total, loss = _two_sum(values, gain)
            if best is None:
                yield h, y, total, lost + loss, logs + log_ways[y]
                continue
            kept = total >= least
            yield h, y, total[kept], (lost + loss)[kept], logs[kept] + log_ways[y]


def _two_sum(a: Floats, b: Floats | float) -> tuple[Floats, Floats]:
    """Sums and what their rounding lost, without error (Knuth's TwoSum)."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def _sums_if_all_hits(increments: Increments, n_positives: int) -> Floats:
    """What the blocks from b on add when every item in them is a hit."""
    g = increments.sizes
    h = n_positives - (increments.n_samples - increments.starts)
    gains = g * (increments.cross * h + increments.linear + increments.square * g)
    sums = np.cumsum(gains[::-1], dtype=np.longdouble)[::-1]
    return np.append(np.asarray(sums, dtype=float), 0.0)


class _Completions:
    """The most that blocks from b on can add, given the hits before them, where that may matter.

    Rows are kept where that and the most that so many hits can add reaches a value.
    """

    def __init__(self, increments: Increments, n_positives: int, at_least: float) -> None:
        self.at_least = at_least
        before = _most_before(increments, n_positives)
        self._rows: list[tuple[int, Floats]] = []
        for row in _completions(increments, n_positives):
            kept = np.flatnonzero(before + row >= at_least - 1e-9 * abs(at_least))
            first, last = (int(kept[0]), int(kept[-1])) if kept.size else (0, -1)
            self._rows.append((first, row[first : last + 1].copy()))
        self._rows.reverse()

    def of(self, block: int, hits: Integers) -> Floats:
        """The most that can be added from a block on, with these numbers of hits before it."""
        first, row = self._rows[block]
        most, known = np.full(hits.size, -np.inf), (hits >= first) & (hits < first + row.size)
        most[known] = row[hits[known] - first]
        return most


def _most_before(increments: Increments, n_positives: int) -> Floats:
    """A bound of what 0, 1, 2, ... hits can add before any further one."""
    best = np.full(n_positives + 1, -np.inf)
    best[0] = 0.0
    for block, size in enumerate(increments.sizes.tolist()):
        before = best.copy()
        for y in range(1, min(size, n_positives) + 1):
            h = np.arange(n_positives + 1 - y)
            np.maximum(best[y:], before[: h.size] + increments.gain(block, h, y), out=best[y:])
    return best


def _completions(increments: Increments, n_positives: int) -> Iterator[Floats]:
    """Rows of `_best_completions`, from the end of the ranking to its start."""
    best = np.full(n_positives + 1, -np.inf)
    best[n_positives] = 0.0
    yield best
    hits = np.arange(n_positives + 1)
    for block in range(increments.sizes.size - 1, -1, -1):
        after, best = best, np.full(n_positives + 1, -np.inf)
        for y in range(min(int(increments.sizes[block]), n_positives) + 1):
            h = hits[: n_positives + 1 - y]
            gain = increments.gain(block, h, y)
            np.maximum(best[: h.size], gain + after[y:], out=best[: h.size])
        yield best


def largest_value(increments: Increments, n_positives: int) -> float:
    """The largest value that the statistic can take."""
    best = np.empty(0)
    for row in _completions(increments, n_positives):
        best = row
    return float(best[0])


def smallest_value(increments: Increments, n_positives: int) -> float:
    """The smallest value that the statistic can take."""
    return -largest_value(increments.negated(), n_positives)


def cumulative_shares(log_weights: Floats) -> tuple[Floats, Floats]:
    """Shares of the total up to each weight, and their logarithms."""
    top = log_weights.max()
    # Whole numbers of placements add up without rounding, the others in extended precision.
    whole = top + math.log(log_weights.size) < math.log(2.0**30)
    weights = np.rint(np.exp(log_weights)) if whole else np.exp(log_weights - top)
    sums = np.cumsum(weights, dtype=np.longdouble)
    shares = np.asarray(sums / sums[-1], dtype=float)
    with np.errstate(divide="ignore"):
        log_shares = np.log(shares)
    tiny = int(np.searchsorted(shares, 1e-290))
    if tiny:
        log_total = math.log(float(sums[-1])) + (0.0 if whole else top)
        log_shares[:tiny] = np.logaddexp.accumulate(log_weights[:tiny]) - log_total
    return shares, log_shares


def _sorted_atoms(parts: list[tuple[Floats, Floats]]) -> Atoms:
    if not parts:
        return Atoms(np.empty(0), np.empty(0))
    values = np.concatenate([v for v, _ in parts])
    log_counts = np.concatenate([w for _, w in parts])
    order = np.argsort(values, kind="stable")
    return Atoms(values[order], log_counts[order])
