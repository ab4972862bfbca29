"""Upper tails of steep distributions: the hits at the very top apart from all others.

Where one lucky hit is worth many standard deviations of what the others add, the distribution is a
mixture: given the number of hits at the top and what they add, the rest is smooth and narrow. What
the top adds is counted on a lattice, for every number of hits in it, each of them rounded down by
less than a cell; the distribution of the rest, given the hits before it, comes from a short contour
with a period that need not cover more than the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln

from sklearn_rankinf._engine.exact.lattice import placements_at_the_top
from sklearn_rankinf._engine.hypergeometric import log_binomial
from sklearn_rankinf._engine.inversion.bands import tilted_bands
from sklearn_rankinf._engine.inversion.transform import log_transforms
from sklearn_rankinf._engine.statistics import Complexes, Floats, Increments, Integers

# A hit is lucky if it adds more than this part of the standard deviation of the others.
_LUCKY = 0.35
# Lucky hits that are told apart from all others have at least so many items.
_LEAST_LUCKY = 16
# More lucky hits than are that improbable are left out, at first and beside the tail that is found;
# and so many at most are told apart.
_RARE, _NEGLIGIBLE, _MOST_LUCKY = 1e-10, 1e-4, 32
# Cells are this part of the standard deviation of the others where so many additions of cells, and
# at most so many cells, reach far enough. A lattice serves values up to this ratio.
_CELL, _WORK, _MOST_CELLS, _LEVEL = 0.001, 4e8, 1 << 17, math.sqrt(2.0)
# The period in standard deviations of the rest; how far, in one over them, the contour goes at
# first and at most, and what may then be left of the transform; and the ratio up to which standard
# deviations are alike.
_PERIOD, _REACH, _FARTHEST, _DECAYED, _ALIKE = 24.0, 10.0, 76.0, 1e-9, 1.5
# Cells are added up in so many parts of a period.
_PARTS = 8
# Paths of the others that are less probable than this are left out.
_IMPROBABLE = 1e-12
# Mean and standard deviation of the rest are read off so close to 0, in one over the latter.
_CLOSE = 0.03
# Rounding errors of a sum of probabilities.
_ROUNDING = 1e-14
# Values that are looked at together.
_TOGETHER = 512


class LuckyHits:
    """Upper tails of a statistic whose increments are not negative.

    Parameters
    ----------
    increments : Increments
        The statistic, block by block or with far blocks merged.
    n_positives : int
        Number of positives.
    body : float
        Standard deviation without the luckiest hits.
    """

    def __init__(self, increments: Increments, n_positives: int, body: float) -> None:
        self._n_samples, self._n_positives = increments.n_samples, n_positives
        n_top = n_lucky_blocks(increments, body)
        self._top, self._others = increments[:n_top], increments[n_top:]
        self._body = body
        self._rests: dict[int, _Rest] = {}
        self._distributions: dict[tuple[int, int], _Mixture] = {}

    def log_tail(self, t: Floats) -> tuple[Floats, Floats]:
        """Log of ``P(S >= t)`` and its relative error."""
        p, error = np.zeros(t.shape), np.full(t.shape, np.inf)
        levels = np.ceil(np.log(t) / math.log(_LEVEL)).astype(int)
        most_lucky = np.full(t.shape, self._most_lucky(_RARE))
        open_ = np.arange(t.size)
        while open_.size:
            distributions = np.column_stack([levels[open_], most_lucky[open_]])
            for level, most in np.unique(distributions, axis=0).tolist():
                same = open_[(distributions == (level, most)).all(axis=1)]
                p[same], error[same] = self._distribution(level, most).tail(t[same])
            # Where nothing is known yet there are many of them.
            needed = np.where(
                p[open_] > 0.0,
                [self._most_lucky(_NEGLIGIBLE * q) for q in p[open_].tolist()],
                np.minimum(2 * most_lucky[open_], self._n_positives - 1),
            )
            more = (needed > most_lucky[open_]) & (needed <= _MOST_LUCKY)
            open_ = open_[more]
            most_lucky[open_] = needed[more]
        with np.errstate(divide="ignore"):
            return np.log(p), error

    @property
    def _log_expected(self) -> float:
        """Log of the expected number of lucky hits."""
        return math.log(self._n_positives * self._top.n_samples / self._n_samples)

    def _most_lucky(self, negligible: float) -> int:
        """Most lucky hits that are told apart, where more are negligible."""
        k = np.arange(2, self._n_positives)
        rare = log_rarity(self._log_expected, k) < np.log(max(negligible, 1e-300))
        return int(k[np.argmax(rare)]) if rare.any() else self._n_positives - 1

    def _distribution(self, level: int, most: int) -> _Mixture:
        if (level, most) not in self._distributions:
            m = self._n_positives
            if most not in self._rests:
                self._rests[most] = _Rest(self._others, m, most, self._body)
            odds = m / (self._n_samples - m)
            top = _LEVEL**level
            affordable = _WORK / (self._top.sizes.size * (most + 1))
            n_cells = 1 + math.ceil(min(affordable, _MOST_CELLS, top / (_CELL * self._body)))
            width = top / (n_cells - 1)
            cells, passed = placements_at_the_top(self._top, most, odds, width, n_cells)
            log_ways = [
                log_binomial(self._others.n_samples, m - hits) - hits * math.log(odds)
                for hits in range(most + 1)
            ]
            share = np.exp(np.array(log_ways) - log_binomial(self._n_samples, m))
            omitted = math.exp(log_rarity(self._log_expected, most))
            self._distributions[level, most] = _Mixture(
                cells * share[:, None], passed * share, width, self._rests[most], omitted
            )
        return self._distributions[level, most]


def n_lucky_blocks(increments: Increments, body: float) -> int:
    """Number of blocks up to the last one in which a hit is lucky, at least one."""
    lucky = np.flatnonzero(increments.of_one_hit > _LUCKY * body)
    return int(lucky[-1]) + 1 if lucky.size else 1


def log_rarity(log_expected: Any, hits: Integers | int) -> Floats:
    """Bound of the log probability of more hits than these.

    Given items are all hits with at most the power of the share of hits: a union over all sets.
    """
    return np.asarray((hits + 1.0) * log_expected - gammaln(np.asarray(hits) + 2.0))


def lucky_apart(
    increments: Increments, n_positives: int, least: float, log_rare: float
) -> tuple[int, int, float]:
    """Blocks at the top, most hits in them that are told apart, and a bound of how rare more are.

    Those whose hits add more than the least, and more of them where that improbable numbers of hits
    are no fewer than half of them. Rarities are in logarithms.
    """
    n, m, ends = increments.n_samples, n_positives, np.cumsum(increments.sizes)
    lucky = np.flatnonzero(increments.of_one_hit > least)
    n_top = max(int(ends[lucky[-1]]) if lucky.size else 0, _LEAST_LUCKY)
    while True:
        n_blocks = min(int(np.searchsorted(ends, n_top)), ends.size - 1) + 1
        n_top = int(ends[n_blocks - 1])
        most, rarity = _most_lucky(n, m, n_top, log_rare)
        if rarity <= log_rare or 4 * n_top >= n:
            return n_blocks, most, rarity
        n_top *= 2


def _most_lucky(n: int, m: int, n_top: int, log_rare: float) -> tuple[int, float]:
    """Most hits at the top that are told apart, and a bound of the log probability of more."""
    most = min(m, n_top // 2)
    k = np.arange(1, most + 1)
    rarities = log_rarity(math.log(m * n_top / n), k)
    rare = np.flatnonzero(rarities < log_rare)
    if rare.size:
        return int(k[rare[0]]), float(rarities[rare[0]])
    return most, -math.inf if most == m else float(min(rarities[-1], 0.0))


class _Rest:
    """Distribution of what the others add, given each number of lucky hits before them.

    ``P(S >= u) = 1/2 + (step / pi) sum Re M(i w) exp(-i w u) / (i w)`` over ``w = (j + 1/2) step``
    is right to the probability that S is farther than half a period, ``pi / step``, from u. How
    much that is, and what is cut off, is read off the result.
    """

    def __init__(self, others: Increments, n_positives: int, most: int, body: float) -> None:
        self._increments, self._n_positives = others.from_the_end(n_positives), n_positives
        likely, _ = tilted_bands(self._increments, n_positives, 0.0, _IMPROBABLE)
        # Fewer hits, where more of them are lucky.
        self._bands = likely.down_by(most)
        # The logarithm of the transform at i w begins with i w mean - w**2 variance / 2.
        close = _CLOSE / body
        log_mgf = self._log_transforms(0, most, np.array([1j * close]))[:, 0]
        self.mean, deviation = log_mgf.imag / close, np.sqrt(-2.0 * log_mgf.real) / close
        # The most that they can add, if each hit is the luckiest of them.
        lucky = np.arange(most + 1.0)
        n_pairs = 0.5 * (n_positives * (n_positives - 1.0) - lucky * (lucky - 1.0))
        of_a_pair = float(np.maximum(others.cross, 2.0 * others.square).max())
        of_one_hit = float(others.of_one_hit.max())
        self.most = (n_positives - lucky) * of_one_hit + n_pairs * of_a_pair
        # The more lucky hits the more others add: a contour for each few numbers of them.
        self.contours: list[_Contour] = []
        first = 0
        for last in range(most + 1):
            alike = deviation[first : last + 2]
            if last == most or alike.max() > _ALIKE * alike.min():
                self.contours += self._contours(first, last, deviation[first : last + 1])
                first = last + 1

    def _log_transforms(self, first: int, last: int, z: Complexes) -> Complexes:
        """For each number of lucky hits from one to another."""
        fewest, most = self._n_positives - last, self._n_positives - first
        return log_transforms(self._increments, fewest, most, z, self._bands)[::-1]

    def _contours(self, first: int, last: int, deviation: Floats) -> list[_Contour]:
        """Contours, of the same nodes, for so many lucky hits."""
        period = _PERIOD * float(deviation.max())
        step, reach = 2.0 * math.pi / period, _REACH
        terms = np.empty((deviation.size, 0), dtype=complex)
        while True:
            frequencies = (np.arange(math.ceil(reach / (deviation.min() * step))) + 0.5) * step
            added = np.asarray(1j * frequencies[terms.shape[1] :], dtype=complex)
            transforms = np.exp(self._log_transforms(first, last, added))
            terms = np.concatenate([terms, transforms / added * (step / math.pi)], axis=1)
            half, quarter = frequencies.size // 2, frequencies.size // 4
            octave, before = (
                np.abs(part).sum(axis=1) for part in (terms[:, half:], terms[:, quarter:half])
            )
            ratio = np.minimum(octave / before, 0.9)
            cut = octave * np.maximum(ratio / (1.0 - ratio), 0.1)
            if cut.max() < _DECAYED or reach >= _FARTHEST:
                break
            reach *= 1.5
        means = self.mean[first : last + 1]
        return [
            _Contour(frequencies, *each, period)
            for each in zip(terms, means.tolist(), cut.tolist(), strict=True)
        ]


@dataclass(frozen=True, eq=False)
class _Contour:
    """The distribution of what the others add, given a number of lucky hits.

    Attributes
    ----------
    frequencies, terms : ndarray of shape (n_nodes,)
        Frequencies, and the transform divided by them, as it is summed.
    mean : float
        Mean.
    cut : float
        Estimate of what was cut off.
    period : float
        The sums repeat themselves after so much.
    """

    frequencies: Floats
    terms: Complexes
    mean: float
    cut: float
    period: float

    @cached_property
    def error(self) -> float:
        """Absolute error: what was cut off, and lies beyond what is looked at."""
        reach = (0.5 - 1.0 / _PARTS) * self.period
        u = self.mean + np.array([-reach, reach])
        waves = np.exp(-1j * np.outer(u, self.frequencies))
        below, above = (waves @ self.terms).real
        return float(self.cut + abs(0.5 - below) + abs(0.5 + above))


class _Mixture:
    """The distribution of the sum of what lucky hits and the others add.

    Parameters
    ----------
    cells : ndarray of shape (n_lucky + 1, n_cells)
        Joint probabilities of the number of lucky hits and what they add, rounded down.
    passed : ndarray of shape (n_lucky + 1,)
        Probabilities that they add more than that.
    width : float
        Width of a cell.
    rest : _Rest
        What the others add.
    omitted : float
        Bound of the probability of more lucky hits.
    """

    def __init__(
        self, cells: Floats, passed: Floats, width: float, rest: _Rest, omitted: float
    ) -> None:
        self._width, self._rest, self._omitted = width, rest, omitted
        self._waves: dict[tuple[float, int], Complexes] = {}
        self._parts = [
            _in_parts(weights, max(1, int(contour.period / (_PARTS * width))))
            for weights, contour in zip(cells, rest.contours, strict=True)
        ]
        self._from = [
            np.cumsum(np.append(beyond, parts.sum(axis=1)[::-1]))[::-1]
            for beyond, parts in zip(passed, self._parts, strict=True)
        ]

    def tail(self, t: Floats) -> tuple[Floats, Floats]:
        """``P(S >= t)`` and its relative error."""
        chunks = np.array_split(t, -(-t.size // _TOGETHER))
        p, error = zip(*(self._tail(chunk) for chunk in chunks), strict=True)
        return np.concatenate(p), np.concatenate(error)

    def _tail(self, t: Floats) -> tuple[Floats, Floats]:
        # Each lucky hit has lost nothing, half a cell or a cell.
        losses = np.array([[0.0], [0.5], [1.0]])
        total = np.zeros((3, t.size))
        for hits in range(len(self._parts)):
            total += self._given(hits, t - losses * hits * self._width)
        lower, middle, upper = total
        error = 0.5 * np.abs(upper - lower) + self._omitted
        for hits, contour in enumerate(self._rest.contours):
            # What lucky hits lack by more than the others can add is left out without an error.
            sums, length = self._from[hits], self._parts[hits].shape[1] * self._width
            reach = t - self._rest.most[hits] - hits * self._width
            first = np.clip(np.floor(reach / length), 0, sums.size - 1)
            error += (contour.error + _ROUNDING) * sums[first.astype(np.int64)]
        usable = middle > error
        p = np.where(usable, middle, 0.0)
        return p, np.where(usable, error / np.where(usable, middle, 1.0), np.inf)

    def _given(self, hits: int, t: Floats) -> Floats:
        """What so many lucky hits contribute to ``P(S >= t)``."""
        shape, t = t.shape, t.ravel()
        contour, parts, sums = self._rest.contours[hits], self._parts[hits], self._from[hits]
        length, n_parts = parts.shape[1] * self._width, parts.shape[0]
        # What lucky hits lack if the others add their mean. Close to it the contour counts, below
        # it nothing, and above it everything.
        missing = t - contour.mean
        first = np.clip(np.ceil((missing - 0.5 * contour.period) / length), 0, n_parts)
        last = np.floor((missing + 0.5 * contour.period + self._width) / length)
        last = np.clip(last, first, n_parts).astype(np.int64)
        near = first[:, None].astype(np.int64) + np.arange(_PARTS)
        inside = near < last[:, None]
        total = sums[last]
        used = np.unique(near[inside])
        if used.size:
            place = np.searchsorted(used, np.where(inside, near, used[0]))
            shares = 0.5 * parts[used].sum(axis=1)
            total = total + (shares[place] * inside).sum(axis=1)
            steps = 1j * contour.frequencies
            inner = self._waves_in_a_part(contour, parts.shape[1])
            sums_of_waves = (parts[used] @ inner.view(float)).view(complex)
            transforms = sums_of_waves * np.exp(np.outer(used * length, steps))
            waves = np.exp(-np.outer(t, steps)) * contour.terms
            for column in range(_PARTS):
                found = inside[:, column, None] * transforms[place[:, column]]
                total = total + (waves * found).sum(axis=1).real
        return np.asarray(total.reshape(shape))

    def _waves_in_a_part(self, contour: _Contour, length: int) -> Complexes:
        """``exp(i w v)`` for cells of a part and frequencies; the same for alike contours."""
        key = contour.period, contour.frequencies.size
        if key not in self._waves:
            places = 1j * self._width * np.arange(length)
            self._waves[key] = np.exp(np.outer(places, contour.frequencies))
        return self._waves[key]


def _in_parts(weights: Floats, length: int) -> Floats:
    """Cells in rows of a length, the last of them filled up."""
    n_parts = -(-weights.size // length)
    return np.pad(weights, (0, n_parts * length - weights.size)).reshape(n_parts, length)
