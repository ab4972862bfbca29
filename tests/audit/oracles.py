"""Tail probabilities of ranking statistics by ways that share no code with the package.

Every statistic is written down once more from its definition, as a sum over blocks of equal scores
of a gain for y counted items in a block behind h counted ones. What is counted are the positives,
or the negatives where they are fewer. An oracle gives bounds of P(sum >= t) and P(sum <= t): equal
up to rounding where the distribution is exact, guaranteed where gains are rounded down to a
lattice, and confidence limits where random labellings are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.signal import fftconvolve
from scipy.special import gammaln
from scipy.stats import beta, hypergeom

from .cases import AT_K, Case, Ranked

# Values that differ by less than the first, relatively, are the same for the package; by more than
# the second they are not. In between either answer is right.
SURELY_SAME, MAYBE_SAME = 2e-13, 5e-12
# One in so many confidence intervals may miss.
MISSES = 1e-8
# Blocks of equal scores, and ranks without ties, that are handled one by one.
MOST_BLOCKS = 200_000


@dataclass(frozen=True)
class Effort:
    """How much work the oracles of a problem may take.

    Attributes
    ----------
    atoms : int
        Values of an exact distribution.
    additions : float
        Additions of cells of a lattice.
    draws : float
        Random labellings times blocks.
    tilts : int
        Thresholds in far tails for which labellings are drawn under a tilt.
    seconds : float
        Processor time of the distribution after which nothing further is asked of it.
    """

    atoms: int = 100_000
    additions: float = 3e8
    draws: float = 1.5e7
    tilts: int = 6
    seconds: float = 15.0


QUICK, THOROUGH = Effort(), Effort(1_000_000, 4e9, 2e8, 60, 60.0)


# ---------------------------------------------------------------------------------------------
# The statistics, from their definitions
# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sum:
    """A statistic as ``intercept + slope * (sum of gains)`` of counted items in random places.

    Attributes
    ----------
    sizes : ndarray of int
        Sizes of the blocks.
    n_counted : int
        Number of counted items, all of whose placements are equally likely.
    gain : callable
        ``gain(block, h, y)`` of y counted items in the block, h before it: never negative, and 0
        for y = 0.
    intercept, slope : float
        From the sum to the statistic.
    weights : ndarray of float or None
        What each item in a block adds, whatever the others are, where that is so.
    is_whole : bool
        Whether all gains are whole numbers.
    constant : float
        What is subtracted at the end: values near 0 are the same up to its rounding.
    error : float
        Of the values computed here, where what is near 0 is the rest of something larger.
    """

    sizes: np.ndarray
    n_counted: int
    gain: Callable[[int, np.ndarray, np.ndarray], np.ndarray]
    intercept: float = 0.0
    slope: float = 1.0
    weights: np.ndarray | None = None
    is_whole: bool = False
    constant: float = 0.0
    error: float = 0.0

    @property
    def n(self) -> int:
        return int(self.sizes.sum())

    def value(self, sums: np.ndarray) -> np.ndarray:
        return self.intercept + self.slope * sums

    def sum_of(self, values: np.ndarray) -> np.ndarray:
        return (values - self.intercept) / self.slope

    def total(self, counts: np.ndarray) -> float:
        """Sum of the gains of one placement, given by its counted items in each block."""
        before, terms = 0, []
        for block, y in enumerate(counts.tolist()):
            terms.append(float(self.gain(block, np.float64(before), np.float64(y))) if y else 0.0)
            before += y
        return math.fsum(terms)


def linear_sum(
    sizes: np.ndarray,
    weights: np.ndarray,
    n_counted: int,
    intercept: float = 0.0,
    slope: float = 1.0,
    constant: float = 0.0,
    error: float = 0.0,
) -> Sum:
    """A sum of weights of the blocks; blocks with the same weight are put together."""
    distinct, which = np.unique(weights, return_inverse=True)
    together = np.bincount(which, weights=sizes).astype(np.int64)
    distinct, together = distinct[::-1], together[::-1]

    def gain(block, h, y):
        return y * distinct[block]

    whole = bool(np.all(distinct == np.rint(distinct)) and distinct.max() < 2**40)
    return Sum(together, n_counted, gain, intercept, slope, distinct, whole, constant, error)


def sum_of(case: Case, ranking: Ranked) -> Sum | None:
    """The statistic of a ranking as a sum; None where ranks or blocks are too many."""
    n, m = ranking.n, ranking.m
    k = min(case.option("k") or n, n)
    if case.metric in AT_K:
        return _hits_at_k(case.metric, ranking, k)
    sizes = _blocks_down_to(ranking, k)
    if sizes is None:
        return None
    if case.metric in ("average_precision", "map"):
        divisor = m if case.option("normalize") == "positives" else min(m, k)
        return _average_precision(sizes, m, k, divisor)
    if case.metric == "roc_auc":
        return _roc_auc(sizes, m)
    if case.metric == "rie":
        alpha = case.option("alpha")
        # The mean of the weights of all ranks, relative to that of the first.
        chance = -math.expm1(-alpha) / (-math.expm1(-alpha / n) * n)
        return linear_sum(sizes, _means_of_powers(sizes, alpha / n), m, 0.0, 1.0 / (m * chance))
    if case.metric == "bedroc":
        return _bedroc(sizes, m, case.option("alpha") / n)
    if case.metric in ("dcg", "ndcg"):

        def discount(ranks):
            return np.where(ranks <= k, 1.0 / np.log2(ranks + 1.0), 0.0)

        scale = 1.0
        if case.option("normalize"):
            scale = 1.0 / math.fsum(discount(np.arange(1.0, min(m, k) + 1.0)).tolist())
        return linear_sum(sizes, _means(sizes, discount), m, 0.0, scale)
    statistic = case.option("statistic")
    return linear_sum(sizes, _means(sizes, lambda ranks: statistic.weights(ranks, n, m)), m)


def _blocks_down_to(ranking: Ranked, k: int) -> np.ndarray | None:
    """Sizes of the blocks, those wholly behind rank k as one; None where they are too many."""
    if ranking.runs is None:
        if k > MOST_BLOCKS:
            return None
        behind = [ranking.n - k] if k < ranking.n else []
        return np.array([1] * k + behind, dtype=np.int64)
    if ranking.n_blocks > MOST_BLOCKS:
        return None
    sizes = ranking.sizes()
    starts = np.cumsum(sizes) - sizes
    counted = sizes[starts < k]
    behind = ranking.n - int(counted.sum())
    return np.append(counted, behind) if behind else counted


def _average_precision(sizes: np.ndarray, m: int, k: int, divisor: int) -> Sum:
    """y hits in a block behind h add ``y (h + y) / T``; cut by k, the mean over random orders.

    In random order place j of the block, at rank a + j, has a hit with probability y / g, with h
    hits before the block and each of the other y - 1 before place j with probability
    (j - 1) / (g - 1).
    """
    ends = np.cumsum(sizes)
    starts = ends - sizes
    first = 1.0 / ends
    others = first.copy()
    for block in np.flatnonzero(ends > k).tolist():
        g, a = int(sizes[block]), int(starts[block])
        places = np.arange(1.0, max(0, k - a) + 1.0)
        first[block] = math.fsum((1.0 / (a + places)).tolist()) / g
        behind = math.fsum(((places - 1.0) / (a + places)).tolist())
        others[block] = behind / (g * (g - 1.0)) if g > 1 else 0.0

    def gain(block, h, y):
        return y * ((h + 1.0) * first[block] + (y - 1.0) * others[block])

    return Sum(sizes, m, gain, 0.0, 1.0 / divisor)


def _hits_at_k(metric: str, ranking: Ranked, k: int) -> Sum:
    """Hits in blocks that end by k, and the part of the straddling block's that has a place."""
    n, m = ranking.n, ranking.m
    before = start = 0
    straddler = (1, 0)
    if ranking.runs is None:
        before = k
    else:
        for size, count in ranking.runs:
            whole = min(count, (k - start) // size)
            before = start = start + whole * size
            if whole < count:
                if k > start:
                    straddler = size, k - start
                break
    sizes = np.array([before, straddler[0] if straddler[1] else 0, 0], dtype=np.int64)
    sizes[2] = n - sizes.sum()
    weights = np.array([1.0, straddler[1] / straddler[0], 0.0])
    kept = sizes > 0
    divisors = {
        "recall_at_k": m,
        "precision_at_k": k,
        "enrichment_at_k": k * m / n,
        "f_score_at_k": (k + m) / 2.0,
    }
    return linear_sum(sizes[kept], weights[kept], m, 0.0, 1.0 / divisors[metric])


def _roc_auc(sizes: np.ndarray, m: int) -> Sum:
    """Half pairs of a positive and a negative, 2 for a later one, 1 for one of the same score.

    Of N negatives, with T items down to the end of a block of g, ``N - (T - h - y)`` are later.
    """
    n = int(sizes.sum())
    if 2 * m > n:
        # The same for negatives and later positives, from the end.
        sizes, m = sizes[::-1], n - m

    ends = np.cumsum(sizes)

    def gain(block, h, y):
        return y * (2.0 * (n - m - ends[block] + h + y) + sizes[block] - y)

    constant = 0.5 * m / (n - m)
    return Sum(sizes, m, gain, 0.0, 0.5 / (m * float(n - m)), None, True, constant)


def _bedroc(sizes: np.ndarray, m: int, rate: float) -> Sum:
    """``(S - least) / (most - least)`` of ``S = sum exp(-rate (r - 1))``, by hits or by misses."""
    n = int(sizes.sum())
    weights = _means_of_powers(sizes, rate)
    n_misses = n - m
    scale = -math.expm1(-rate) / (math.expm1(-rate * m) * math.expm1(-rate * n_misses))
    if 2 * m <= n:
        least = math.exp(-rate * n_misses) / -math.expm1(-rate * n_misses)
        return linear_sum(sizes, weights, m, -least, scale, least)
    least = math.exp(-rate * m) / -math.expm1(-rate * m)
    total = 1.0 + least
    error = 1e-16 * (4 + n_misses) * total
    return linear_sum(sizes, weights, n_misses, total, -scale, total, error)


def _means_of_powers(sizes: np.ndarray, rate: float) -> np.ndarray:
    """Means of ``exp(-rate (r - 1))`` over the ranks of each block."""
    starts = np.cumsum(sizes) - sizes
    return np.exp(-rate * starts) * np.expm1(-rate * sizes) / (math.expm1(-rate) * sizes)


def _means(sizes: np.ndarray, of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Means of weights over the ranks of each block."""
    starts = np.cumsum(sizes) - sizes
    means = np.asarray(of(starts + 1.0), dtype=float).copy()
    for block in np.flatnonzero(sizes > 1).tolist():
        g, a = int(sizes[block]), int(starts[block])
        parts = []
        for first in range(0, g, 1 << 20):
            ranks = a + np.arange(first + 1.0, min(g, first + (1 << 20)) + 1.0)
            parts.append(float(np.sum(of(ranks))))
        means[block] = math.fsum(parts) / g
    return means


# ---------------------------------------------------------------------------------------------
# Bounds of tails
# ---------------------------------------------------------------------------------------------


class Tails(Protocol):
    """Bounds of the tails of a sum, or of a statistic."""

    def at_least(self, sure: float, maybe: float) -> tuple[float, float]:
        """A lower bound of P(sum >= sure) and an upper one of P(sum >= maybe), maybe <= sure."""

    def at_most(self, sure: float, maybe: float) -> tuple[float, float]:
        """A lower bound of P(sum <= sure) and an upper one of P(sum <= maybe), maybe >= sure."""


@dataclass(frozen=True)
class Oracle:
    """Tails of a statistic by those of its sum."""

    name: str
    tails: Tails
    intercept: float = 0.0
    slope: float = 1.0
    constant: float = 0.0
    error: float = 0.0

    def pvalue(self, x: float, alternative: str) -> tuple[float, float]:
        """Bounds of P(S >= x), P(S <= x) or twice the smaller."""
        if alternative == "two-sided":
            pairs = [self.pvalue(x, one) for one in ("greater", "less")]
            lower, upper = (2.0 * min(ends) for ends in zip(*pairs, strict=True))
            return min(lower, 1.0), min(upper, 1.0)
        side = -1.0 if alternative == "greater" else 1.0
        sure = x + side * (SURELY_SAME * abs(x) + 2e-15 * self.constant - self.error)
        maybe = x + side * (MAYBE_SAME * abs(x) + 1e-11 * self.constant + self.error + 1e-300)
        sure, maybe = ((t - self.intercept) / self.slope for t in (sure, maybe))
        upper = (alternative == "greater") == (self.slope > 0.0)
        return self.tails.at_least(sure, maybe) if upper else self.tails.at_most(sure, maybe)


def oracle_of(name: str, total: Sum, tails: Tails) -> Oracle:
    return Oracle(name, tails, total.intercept, total.slope, total.constant, total.error)


class Atoms:
    """A distribution given by its atoms; up to so much was left out."""

    def __init__(self, values: np.ndarray, probabilities: np.ndarray, omitted: float = 0.0) -> None:
        order = np.argsort(values, kind="stable")
        self.values, self.probabilities = values[order], probabilities[order]
        self.omitted = omitted

    @cached_property
    def _up_to(self) -> np.ndarray:
        return np.append(0.0, np.cumsum(self.probabilities, dtype=np.longdouble))

    @cached_property
    def _from(self) -> np.ndarray:
        return np.append(0.0, np.cumsum(self.probabilities[::-1], dtype=np.longdouble))[::-1]

    def at_least(self, sure: float, maybe: float) -> tuple[float, float]:
        low, high = np.searchsorted(self.values, [sure, maybe], side="left")
        return float(self._from[low]), float(self._from[high]) + self.omitted

    def at_most(self, sure: float, maybe: float) -> tuple[float, float]:
        low, high = np.searchsorted(self.values, [sure, maybe], side="right")
        return float(self._up_to[low]), float(self._up_to[high]) + self.omitted


@lru_cache(maxsize=20_000)
def hypergeometric(population: int, good: int, draws: int) -> tuple[int, np.ndarray]:
    """Smallest number of good ones among the draws, and the probabilities from there on.

    From one number to the next the probability changes by a ratio of whole numbers.
    """
    low, high = max(0, draws - (population - good)), min(draws, good)
    y = np.arange(low, high, dtype=float)
    steps = np.log((good - y) * (draws - y)) - np.log(
        (y + 1.0) * (population - good - draws + y + 1.0)
    )
    logs = np.append(0.0, np.cumsum(steps, dtype=np.longdouble))
    shares = np.exp(logs - logs.max())
    return low, np.asarray(shares / shares.sum(), dtype=float)


def exact_atoms(total: Sum, most: int, negligible: float = 0.0) -> Atoms | None:
    """The distribution of a sum, block by block; None where its values are more than `most`.

    Numbers of counted items in a block that are less likely than `negligible` are left out.
    """
    walk = _Walk(total, 0, 0, negligible)
    while walk.block < total.sizes.size:
        if not walk.goes_on(most):
            return None
    return Atoms(*walk.states[total.n_counted], walk.omitted)


class _Walk:
    """The values of a sum from some block on, by the number of counted items so far."""

    def __init__(self, total: Sum, block: int, before: int, negligible: float = 0.0) -> None:
        self.total, self.block, self.negligible = total, block, negligible
        self.left = int(total.sizes[block:].sum())
        self.states = {before: (np.zeros(1), np.ones(1))}
        self.omitted, self.work = 0.0, 0.0

    @property
    def n_atoms(self) -> int:
        return sum(values.size for values, _ in self.states.values())

    def goes_on(self, most: int) -> bool:
        """Go through a block; False, and nothing is changed, where values are too many."""
        size, c = int(self.total.sizes[self.block]), self.total.n_counted
        grown: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
        n_new, omitted = 0, 0.0
        for h, (values, shares) in self.states.items():
            low, pmf = hypergeometric(self.left, c - h, size)
            kept = np.flatnonzero(pmf >= self.negligible)
            if kept.size < pmf.size:
                omitted += float(shares.sum() * np.delete(pmf, kept).sum())
            y = low + kept
            gains = np.broadcast_to(self.total.gain(self.block, float(h), y.astype(float)), y.shape)
            n_new += y.size * values.size
            if n_new > 8 * most:
                return False
            for i, found in enumerate(y.tolist()):
                pair = values + gains[i], shares * pmf[kept[i]]
                grown.setdefault(h + found, []).append(pair)
        states = {h: _merged(parts) for h, parts in grown.items()}
        work = self.work + n_new + 200 * sum(len(parts) for parts in grown.values())
        if work > 40 * most or sum(values.size for values, _ in states.values()) > most:
            return False
        self.states, self.work = states, work
        self.omitted += omitted
        self.left -= size
        self.block += 1
        return True


class TwoHalves:
    """The distribution of a sum by pairs of a value of its first blocks and one of the others.

    The sum of a value of the first half, with h counted items in it, and one of the second behind h
    of them: the second ones are counted from where the first leaves off.
    """

    def __init__(self, total: Sum, most: int) -> None:
        self.is_affordable = False
        first = _Walk(total, 0, 0)
        while first.block < total.sizes.size and first.goes_on(most):
            pass
        self.pairs: list[tuple[np.ndarray, np.ndarray, Atoms]] = []
        n_left = 8 * most
        for h, (values, shares) in first.states.items():
            rest = _Walk(total, first.block, h)
            while rest.block < total.sizes.size:
                if n_left <= 0 or not rest.goes_on(most):
                    return
            n_left -= rest.n_atoms
            self.pairs.append((values, shares, Atoms(*rest.states[total.n_counted])))
        self.is_affordable = True

    def at_least(self, sure: float, maybe: float) -> tuple[float, float]:
        return self._sums(sure, "left", True), self._sums(maybe, "left", True)

    def at_most(self, sure: float, maybe: float) -> tuple[float, float]:
        return self._sums(sure, "right", False), self._sums(maybe, "right", False)

    def _sums(self, t: float, side: str, upper: bool) -> float:
        parts = []
        for values, shares, rest in self.pairs:
            tails = rest._from if upper else rest._up_to
            parts.append(float(shares @ tails[np.searchsorted(rest.values, t - values, side)]))
        return math.fsum(parts)


def _merged(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Atoms of several lists, those that are equal up to rounding as one."""
    if len(parts) == 1:
        return parts[0]
    values = np.concatenate([v for v, _ in parts])
    shares = np.concatenate([p for _, p in parts])
    order = np.argsort(values, kind="stable")
    values, shares = values[order], shares[order]
    first = np.flatnonzero(np.diff(values, prepend=-np.inf) > 4e-15 * np.abs(values))
    return values[first], np.add.reduceat(shares, first)


def few_apart(total: Sum, most: int) -> Atoms | None:
    """The placements, one by one, of one or two counted items, or of all items but one or two.

    The gain of a block depends on how many of the few are before it and how many are in it.
    """
    sizes, c, n = total.sizes, total.n_counted, total.n
    few = min(c, n - c)
    if few not in (1, 2) or sizes.size**few > 4 * most:
        return None
    blocks = np.arange(sizes.size)
    starts = np.cumsum(sizes) - sizes

    def gains(before: int, inside: int) -> np.ndarray:
        h, y = (before, inside) if c <= n - c else (starts - before, sizes - inside)
        possible = np.minimum(sizes, inside) == inside
        return np.where(possible, total.gain(blocks, h * 1.0, y * 1.0), np.nan)

    # Sums from the end on keep the digits of gains that fall off.
    before = np.append(0.0, np.cumsum(gains(0, 0)))[:-1]
    behind = [np.append(np.cumsum(gains(w, 0)[::-1])[::-1], 0.0) for w in range(few + 1)]
    if few == 1:
        return Atoms(before + gains(0, 1) + behind[1][1:], sizes / n)
    pairs = n * (n - 1.0) / 2.0
    i, j = np.triu_indices(sizes.size, 1)
    between = behind[1][i + 1] - behind[1][j]
    apart = (before + gains(0, 1))[i] + between + (gains(1, 1) + behind[2][1:])[j]
    values = np.append(apart, before + gains(0, 2) + behind[2][1:])
    shares = np.append(sizes[i] / pairs * sizes[j], sizes * (sizes - 1.0) / 2.0 / pairs)
    kept = shares > 0.0
    return Atoms(values[kept], shares[kept])


_RARE = 1e-13


class LatticeBounds:
    """The distribution of a sum with every gain rounded down to a multiple of a width.

    A sum of K gains that are no such multiples loses at least nothing and less than K widths.
    Sums from `top` on are one.

    Parameters
    ----------
    total : Sum
        The sum.
    top : float
        Sums from here on are one.
    work : float
        Number of additions of cells that may be done.
    """

    def __init__(self, total: Sum, top: float, work: float, least_cells: int = 400) -> None:
        self.is_affordable = False
        self.least = 0.0
        if total.weights is not None:
            # What every counted item adds at least is added at the end.
            self.least = float(total.weights.min())
        c, n = total.n_counted, total.n
        top = top - self.least * c
        bands = _bands(total.sizes, c)
        steps = sum(
            (high - low + 1) * (min(size, reach) + 1)
            for (low, high, reach), size in zip(bands, total.sizes.tolist(), strict=True)
        )
        # Gains that depend on all counts are taken one by one.
        if top <= 0.0 or (total.weights is None and steps > 1e-3 * work):
            return
        exact = total.is_whole and self.least == math.floor(self.least)
        if exact and top < work / steps and top < 2e7:
            self.width, n_cells = 1.0, int(top) + 2
        else:
            n_cells = int(min(work / steps, 1 << 20))
            if n_cells < least_cells:
                return
            self.width, exact = top / n_cells, False
        self.is_affordable = True
        self.n_cells = n_cells
        # A large block is rounded once, however many it has, and small ones hold so many at most
        # but for a probability that is left out.
        alone = int(np.count_nonzero(total.sizes == 1))
        most_alone = int(hypergeom.isf(_RARE, n, alone, c)) if alone else 0
        self.lost = 0 if exact else min(c, total.sizes.size - alone + most_alone)
        self.slack = 0.0 if exact else 1e-6 * self.width
        shares, omitted = self._pass(total, bands)
        self.omitted = omitted + (0.0 if exact else _RARE)
        self._up_to = np.append(0.0, np.cumsum(shares))
        self._from = np.append(0.0, np.cumsum(shares[::-1]))[::-1]
        self._shift = self.least * c

    def _pass(self, total: Sum, bands: list[tuple[int, int, int]]) -> tuple[np.ndarray, float]:
        c, left, top = total.n_counted, total.n, self.n_cells
        low_row, distribution = 0, np.zeros((1, top + 1))
        distribution[0, 0] = 1.0
        omitted = 0.0
        for block, (size, (low, high, _)) in enumerate(
            zip(total.sizes.tolist(), bands, strict=True)
        ):
            new = np.zeros((high - low + 1, top + 1))
            if total.weights is not None and size == 1:
                # One shift for all rows.
                hit = (c - low_row - np.arange(distribution.shape[0])) / left
                gain = float(total.gain(block, 0.0, 1.0)) - self.least
                shift = min(top, math.floor(max(gain, 0.0) / self.width + 1e-9))
                for found, share in ((0, 1.0 - hit), (1, hit)):
                    at = low_row - low + found
                    rows = slice(max(0, -at), min(distribution.shape[0], new.shape[0] - at))
                    outside = np.ones(distribution.shape[0], dtype=bool)
                    outside[rows] = False
                    omitted += float((distribution[outside].sum(axis=1) * share[outside]).sum())
                    into = new[at + rows.start : at + rows.stop]
                    part = share[rows, None] * distribution[rows]
                    if not found or not shift:
                        into += part
                        continue
                    into[:, shift:] += part[:, : top + 1 - shift]
                    into[:, top] += part[:, top + 1 - shift :].sum(axis=1)
                distribution, low_row, left = new, low, left - size
                continue
            for row in range(distribution.shape[0]):
                h = low_row + row
                first, pmf = hypergeometric(left, c - h, size)
                y = np.arange(first, first + pmf.size)
                inside = (h + y >= low) & (h + y <= high)
                omitted += float(distribution[row].sum() * pmf[~inside].sum())
                y, pmf = y[inside], pmf[inside]
                gains = total.gain(block, float(h), y.astype(float)) - self.least * y
                cells = np.floor(np.maximum(gains, 0.0) / self.width + 1e-9)
                shifts = np.minimum(cells, top).astype(np.int64)
                for found, share, shift in zip(
                    y.tolist(), pmf.tolist(), shifts.tolist(), strict=True
                ):
                    row_of = new[h + found - low]
                    row_of[shift:] += share * distribution[row, : top + 1 - shift]
                    if shift:
                        row_of[top] += share * distribution[row, top + 1 - shift :].sum()
            distribution, low_row, left = new, low, left - size
        return distribution[c - low_row], omitted

    def _cell(self, t: float, strictly: bool = False) -> int:
        """First cell that is at least t, or more than it."""
        place = (t - self._shift) / self.width
        cell = math.floor(place) + 1 if strictly else math.ceil(place)
        return int(np.clip(cell, 0, self.n_cells + 1))

    def at_least(self, sure: float, maybe: float) -> tuple[float, float]:
        slack = self.slack
        # Rounding down is sure for a lower bound; that no more is lost is not.
        lower = self._from[min(self._cell(sure + slack), self.n_cells + 1)]
        # Beyond the top all sums are one.
        beyond = (sure + slack - self._shift) > self.width * self.n_cells
        highest = min(self._cell(maybe - self.lost * self.width - slack), self.n_cells)
        return (0.0 if beyond else float(lower)), float(self._from[highest]) + self.omitted

    def at_most(self, sure: float, maybe: float) -> tuple[float, float]:
        slack = self.slack
        low = self._cell(sure - self.lost * self.width - slack, strictly=True)
        high = self._cell(maybe + slack, strictly=True)
        lower = max(float(self._up_to[min(low, self.n_cells)]) - self.omitted, 0.0)
        if high > self.n_cells:
            return lower, 1.0
        return lower, float(self._up_to[high]) + self.omitted


def _bands(sizes: np.ndarray, c: int) -> list[tuple[int, int, int]]:
    """Numbers of counted items down to each block's end that matter, and how many a block has."""
    n = int(sizes.sum())
    bands, end, last = [], 0, (0, 0)
    for size in sizes.tolist():
        end += size
        mean = c * end / n
        reach = 12.0 * math.sqrt(max(mean * (1.0 - end / n) * (1.0 - c / n), 0.0)) + 40.0
        low = max(0, c - (n - end), math.floor(mean - reach))
        high = min(c, end, math.ceil(mean + reach))
        bands.append((low, high, min(size, high - last[0])))
        last = low, high
    return bands


# ---------------------------------------------------------------------------------------------
# Simulation
# ---------------------------------------------------------------------------------------------


class Draws:
    """Values of random labellings, and confidence limits of tails from them."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = np.sort(values)

    def _limits(self, n_least: int, n_most: int) -> tuple[float, float]:
        size = self.values.size
        low = float(beta.ppf(MISSES, n_least, size - n_least + 1)) if n_least else 0.0
        high = float(beta.ppf(1.0 - MISSES, n_most + 1, size - n_most)) if n_most < size else 1.0
        return low, high

    def at_least(self, sure: float, maybe: float) -> tuple[float, float]:
        places = np.searchsorted(self.values, [sure, maybe], side="left")
        return self._limits(*(self.values.size - places).tolist())

    def at_most(self, sure: float, maybe: float) -> tuple[float, float]:
        return self._limits(*np.searchsorted(self.values, [sure, maybe], side="right").tolist())


def draw_sums(total: Sum, rng: np.random.Generator, n_draws: int) -> np.ndarray:
    """Sums for random placements, drawn block by block."""
    hits = np.zeros(n_draws, dtype=np.int64)
    sums = np.zeros(n_draws)
    left, c = total.n, total.n_counted
    for block, size in enumerate(total.sizes.tolist()):
        to_come = c - hits
        if size == left:
            found = to_come
        elif size == 1:
            found = (rng.random(n_draws) * left < to_come).astype(np.int64)
        else:
            found = rng.hypergeometric(to_come, left - to_come, size)
        sums += np.where(found > 0, total.gain(block, hits, found), 0.0)
        hits += found
        left -= size
    return sums


def draw_untied(case: Case, rng: np.random.Generator, n_draws: int) -> np.ndarray:
    """Values of a statistic of few positives without ties, from their ranks alone."""
    n, m = case.one.n, case.one.m
    ranks = np.sort(rng.integers(1, n + 1, size=(n_draws, m)), axis=1)
    while (again := np.flatnonzero((np.diff(ranks, axis=1) == 0).any(axis=1))).size:
        ranks[again] = np.sort(rng.integers(1, n + 1, size=(again.size, m)), axis=1)
    ranks = ranks.astype(float)
    if case.metric == "average_precision":
        return (np.arange(1.0, m + 1.0) / ranks).sum(axis=1) / m
    if case.metric == "roc_auc":
        return ((n - m) - (ranks - np.arange(1.0, m + 1.0))).sum(axis=1) / (m * float(n - m))
    if case.metric in ("dcg", "ndcg"):
        ideal = 1.0
        if case.option("normalize"):
            ideal = math.fsum((1.0 / np.log2(np.arange(2.0, m + 2.0))).tolist())
        return (1.0 / np.log2(ranks + 1.0)).sum(axis=1) / ideal
    if case.metric == "user":
        return case.option("statistic").weights(ranks, n, m).sum(axis=1)
    rate = case.option("alpha") / n
    sums = np.exp(-rate * (ranks - 1.0)).sum(axis=1)
    if case.metric == "rie":
        chance = -math.expm1(-rate * n) / (-math.expm1(-rate) * n)
        return sums / (m * chance)
    least = math.exp(-rate * (n - m)) / -math.expm1(-rate * (n - m))
    scale = -math.expm1(-rate) / (math.expm1(-rate * m) * math.expm1(-rate * (n - m)))
    return scale * sums - least


class TiltedDraws:
    """Placements drawn with probability proportional to ``exp(tilt * sum)``, for far tails.

    Backwards over the blocks the tilted number of ways to place the rest of the counted items is
    summed up; forwards their numbers in the blocks are drawn in proportion to the ways that are
    left. A draw weighs what its probability is to that under the tilt, at most that of a sum at the
    threshold, so that the mean of the weights has limits by Bernstein's inequality with the
    empirical variance [1]_.

    References
    ----------
    .. [1] Maurer, A., & Pontil, M. (2009). Empirical Bernstein bounds and sample-variance
       penalization. Proceedings of the 22nd Annual Conference on Learning Theory.
    """

    def __init__(
        self, total: Sum, deviation: float, rng: np.random.Generator, effort: Effort
    ) -> None:
        self.total, self.rng = total, rng
        c, sizes = total.n_counted, total.sizes
        cells = float(((c + 1) * (np.minimum(sizes, c) + 1.0)).sum())
        self.n_draws = int(min(effort.draws / 3.0 / sizes.size, 40_000))
        self.is_affordable = deviation > 0.0 and self.n_draws >= 3000
        self.is_affordable &= cells <= effort.draws / 10.0
        self.deviation, self.n_tilts = deviation, effort.tilts
        y = np.arange(min(int(sizes.max()), c) + 1.0)
        self._log_ways = {
            size: gammaln(size + 1.0) - gammaln(y + 1.0) - gammaln(np.maximum(size - y, 0.0) + 1.0)
            for size in set(sizes.tolist())
        }
        everything = gammaln(total.n + 1.0) - gammaln(c + 1.0) - gammaln(total.n - c + 1.0)
        self._log_placements = float(everything)
        self._known: dict[tuple[float, int], tuple[np.ndarray, float, float]] = {}

    def _terms(self, theta: float, block: int, ways: np.ndarray) -> np.ndarray:
        """Logs of ways by counted items before the block and in it."""
        size, c = int(self.total.sizes[block]), self.total.n_counted
        h = np.arange(c + 1.0)[:, None]
        y = np.arange(min(size, c) + 1.0)
        after = np.minimum(h + y, c + 1.0).astype(np.int64)
        gains = self.total.gain(block, h, y)
        return self._log_ways[size][: y.size] + theta * gains + np.append(ways, -np.inf)[after]

    def _ways(self, theta: float) -> list[np.ndarray]:
        c, n_blocks = self.total.n_counted, self.total.sizes.size
        ways = [np.where(np.arange(c + 1) == c, 0.0, -np.inf)]
        for block in reversed(range(n_blocks)):
            ways.append(np.logaddexp.reduce(self._terms(theta, block, ways[-1]), axis=1))
        return ways[::-1]

    def _drawn(self, t: float, sign: int) -> tuple[np.ndarray, float, float] | None:
        """Sums under the tilt of least variance about t, the tilt, and the log of its mean."""
        # One tilt serves what differs by rounding.
        key = float(f"{t:.6g}"), sign
        if key in self._known:
            return self._known[key]
        if len(self._known) >= self.n_tilts:
            return None
        unit = sign / self.deviation

        def log_bound(steps: float) -> float:
            return float(self._ways(steps * unit)[0][0]) - steps * unit * t

        best = minimize_scalar(log_bound, bounds=(0.0, 60.0), method="bounded", options=_ROUGHLY)
        theta = float(best.x) * unit
        ways = self._ways(theta)
        hits = np.zeros(self.n_draws, dtype=np.int64)
        sums = np.zeros(self.n_draws)
        for block in range(self.total.sizes.size):
            terms = self._terms(theta, block, ways[block + 1])
            possible = np.where(np.isfinite(ways[block]), ways[block], 0.0)
            shares = np.exp(terms - possible[:, None])
            if shares.shape[1] == 2:
                found = (self.rng.random(self.n_draws) < shares[hits, 1]).astype(np.int64)
            else:
                cumulated, uniform = np.cumsum(shares, axis=1), self.rng.random(self.n_draws)
                found = np.zeros(self.n_draws, dtype=np.int64)
                for h in np.unique(hits).tolist():
                    same = hits == h
                    found[same] = np.searchsorted(
                        cumulated[h], uniform[same] * cumulated[h, -1], side="right"
                    )
            sums += self.total.gain(block, hits, found)
            hits += found
        known = sums, theta, float(ways[0][0]) - self._log_placements
        self._known[key] = known
        return known

    def _limits(self, t: float, sign: int) -> tuple[float, float]:
        known = self._drawn(t, sign)
        if known is None:
            return 0.0, 1.0
        sums, theta, log_mean = known
        inside = sign * (sums - t) >= 0.0
        log_most = log_mean - theta * t
        if log_most < -600.0:
            return 0.0, 1.0
        shares = np.where(inside, np.exp(np.minimum(-theta * (sums - t), 0.0)), 0.0)
        log_misses, n = math.log(2.0 / MISSES), sums.size
        width = math.sqrt(2.0 * shares.var(ddof=1) * log_misses / n)
        width += 7.0 * log_misses / (3.0 * (n - 1.0))
        most, mean = math.exp(log_most), float(shares.mean())
        # Logarithms of numbers of placements have rounding errors.
        lower = max(mean - width, 0.0) * most * (1.0 - 1e-7)
        return lower, min((mean + width) * most * (1.0 + 1e-7), 1.0)

    def at_least(self, sure: float, maybe: float) -> tuple[float, float]:
        lower, _ = self._limits(sure, 1)
        return lower, self._limits(maybe, 1)[1]

    def at_most(self, sure: float, maybe: float) -> tuple[float, float]:
        lower, _ = self._limits(sure, -1)
        return lower, self._limits(maybe, -1)[1]


_ROUGHLY = {"xatol": 0.05}


@dataclass(frozen=True)
class FarOnly:
    """Tails that are asked for only where fewer than one in a hundred of the drawn sums is."""

    tails: Tails
    drawn: np.ndarray

    def at_least(self, sure: float, maybe: float) -> tuple[float, float]:
        rare = np.mean(self.drawn >= maybe) < 0.01
        return self.tails.at_least(sure, maybe) if rare else (0.0, 1.0)

    def at_most(self, sure: float, maybe: float) -> tuple[float, float]:
        rare = np.mean(self.drawn <= maybe) < 0.01
        return self.tails.at_most(sure, maybe) if rare else (0.0, 1.0)


# ---------------------------------------------------------------------------------------------
# Reciprocal rank, and means
# ---------------------------------------------------------------------------------------------


def reciprocal_rank_atoms(ranking: Ranked, most: int) -> Atoms | None:
    """One over the rank of the first positive; in a block its mean over random orders.

    With y hits among g items the first is behind j of the misses with probability
    ``C(g - j, y) / C(g, y)``.
    """
    n, m = ranking.n, ranking.m
    sizes = ranking.sizes() if ranking.n <= 10 * most else None
    if sizes is None or float(np.sum(np.minimum(sizes, m) * sizes.astype(float))) > 50 * most:
        return None
    values, shares, start, none_yet = [], [], 0, 1.0
    for g in sizes.tolist():
        low, pmf = hypergeometric(n - start, m, g)
        places = 1.0 / (start + np.arange(1.0, g + 1.0))
        for i, share in enumerate(pmf.tolist()):
            y = low + i
            if y == 0:
                continue
            # P(J > j) = prod over i < j of (g - y - i) / (g - i).
            steps = (g - y - np.arange(float(g))) / (g - np.arange(float(g)))
            behind = np.append(1.0, np.cumprod(np.maximum(steps, 0.0)))
            values.append(math.fsum(((behind[:-1] - behind[1:]) * places).tolist()))
            shares.append(none_yet * share)
        none_yet *= float(pmf[0]) if low == 0 else 0.0
        start += g
        if none_yet == 0.0:
            break
    return Atoms(np.array(values), np.array(shares))


class MeanBounds:
    """The mean of independent sums, each rounded down to a lattice, so that Q widths are lost."""

    def __init__(self, distributions: Sequence[tuple[Atoms, int]], n_cells: int) -> None:
        self.n = sum(count for _, count in distributions)
        most = math.fsum(
            float(distribution.values[-1]) * count for distribution, count in distributions
        )
        self.width = most / (n_cells - self.n - 2)
        self.omitted = sum(distribution.omitted * count for distribution, count in distributions)
        shares, absolute = np.ones(1), 0.0
        for distribution, count in distributions:
            cells = np.floor(distribution.values / self.width + 1e-9).astype(np.int64)
            one = np.bincount(cells, weights=distribution.probabilities)
            for _ in range(count):
                filled = np.flatnonzero(one)
                if filled.size <= 400:
                    grown = np.zeros(shares.size + one.size - 1)
                    for cell in filled.tolist():
                        grown[cell : cell + shares.size] += one[cell] * shares
                    shares = grown
                else:
                    shares = np.maximum(fftconvolve(shares, one), 0.0)
                    absolute += 1e-15
        self.absolute = absolute * 100.0
        self._up_to = np.append(0.0, np.cumsum(shares))
        self._from = np.append(0.0, np.cumsum(shares[::-1]))[::-1]
        self.size = shares.size

    def _cell(self, t: float, strictly: bool = False) -> int:
        place = t / self.width
        cell = math.floor(place) + 1 if strictly else math.ceil(place)
        return int(np.clip(cell, 0, self.size))

    def at_least(self, sure: float, maybe: float) -> tuple[float, float]:
        slack = 1e-6 * self.width
        lower = self._from[self._cell(sure + slack)] - self.absolute
        upper = self._from[self._cell(maybe - self.n * self.width - slack)]
        return max(float(lower), 0.0), float(upper) + self.absolute + self.omitted

    def at_most(self, sure: float, maybe: float) -> tuple[float, float]:
        slack = 1e-6 * self.width
        lower = self._up_to[self._cell(sure - self.n * self.width - slack, strictly=True)]
        upper = self._up_to[self._cell(maybe + slack, strictly=True)]
        return max(float(lower) - self.absolute, 0.0), float(upper) + self.absolute + self.omitted


# ---------------------------------------------------------------------------------------------
# Which oracles a problem has
# ---------------------------------------------------------------------------------------------


def values_drawn(case: Case, rng: np.random.Generator, effort: Effort) -> np.ndarray | None:
    """Values of the statistic for random labellings; None where that takes too long."""
    if case.metric == "map":
        total = 0.0
        blocks = sum(ranking.n_blocks for ranking in case.rankings)
        n_draws = int(np.clip(effort.draws / (blocks + 20), 500, 200_000))
        for ranking in case.rankings:
            one = sum_of(case, ranking)
            if one is None:
                return None
            if ranking.m:
                total = total + one.value(draw_sums(one, rng, n_draws))
        return np.asarray(total) / len(case.rankings)
    if case.metric == "reciprocal_rank":
        return None
    total_of = sum_of(case, case.one)
    if total_of is None or total_of.sizes.size > 4000:
        if case.one.runs is not None or case.option("k") is not None:
            return None
        # Ranks are drawn again until they differ.
        if case.one.m**2 > 2 * case.one.n:
            return None
        n_draws = int(np.clip(effort.draws / case.one.m, 500, 200_000))
        return draw_untied(case, rng, n_draws)
    n_draws = int(np.clip(effort.draws / (total_of.sizes.size + 5), 500, 200_000))
    return total_of.value(draw_sums(total_of, rng, n_draws))


def oracles_of(
    case: Case, points: Sequence[float], drawn: np.ndarray | None, effort: Effort
) -> Iterator[Oracle]:
    """The oracles that are affordable, the exact one alone where there is one."""
    total = None
    if case.metric not in ("map", "reciprocal_rank"):
        total = sum_of(case, case.one)
    if drawn is not None:
        # Without a sum ranks are drawn one by one, and the constant is of the size of the values.
        near_0 = (1.0, 3e-14) if total is None else (total.constant, total.error)
        yield Oracle("simulation", Draws(drawn), 0.0, 1.0, *near_0)
    if case.metric == "map":
        yield from _oracles_of_mean(case, effort)
        return
    if case.metric == "reciprocal_rank":
        atoms = reciprocal_rank_atoms(case.one, effort.atoms)
        if atoms is not None:
            yield Oracle("exact", atoms)
        return
    if total is None:
        return
    for listed in (
        lambda: few_apart(total, effort.atoms),
        lambda: exact_atoms(total, effort.atoms),
        lambda: exact_atoms(total, effort.atoms, 1e-30),
    ):
        atoms = listed()
        if atoms is not None:
            yield oracle_of("exact", total, atoms)
            return
    halves = TwoHalves(total, effort.atoms)
    if halves.is_affordable:
        yield oracle_of("two halves", total, halves)
        return
    if drawn is None:
        return
    sums = total.sum_of(np.asarray(drawn))
    tilted = TiltedDraws(total, float(sums.std()), np.random.default_rng(case.seed), effort)
    if tilted.is_affordable:
        # What is left to simulation where that is close is not drawn again.
        yield oracle_of("tilted draws", total, FarOnly(tilted, np.sort(sums)))
    top = sums.mean() + 8.0 * sums.std()
    reached = [t for t in total.sum_of(np.asarray(points)).tolist() if t <= top]
    bounds = LatticeBounds(total, max([*reached, sums.mean()]), effort.additions)
    if bounds.is_affordable:
        yield oracle_of("lattice", total, bounds)


def _oracles_of_mean(case: Case, effort: Effort) -> Iterator[Oracle]:
    distributions: dict[Ranked, tuple[Atoms, int]] = {}
    for ranking in case.rankings:
        if ranking.m == 0:
            continue
        if ranking in distributions:
            atoms, count = distributions[ranking]
            distributions[ranking] = atoms, count + 1
            continue
        one = sum_of(case, ranking)
        found = None if one is None else exact_atoms(one, max(effort.atoms, 300_000))
        if one is None or found is None:
            return
        scaled = Atoms(one.value(found.values), found.probabilities, found.omitted)
        distributions[ranking] = scaled, 1
    n_cells = int(min(effort.additions / 100 / len(case.rankings), 400_000))
    bounds = MeanBounds(list(distributions.values()), n_cells)
    yield Oracle("lattice of means", bounds, 0.0, 1.0 / len(case.rankings))
