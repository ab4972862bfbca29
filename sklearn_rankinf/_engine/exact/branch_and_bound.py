"""Guaranteed bounds of the tails of a sum of weights that fall fast, by branch and bound.

The blocks are gone through from the one whose weight is farthest from the others'. A branch is a
number of hits so far, with what they add. What the hits that are left can add lies between the sums
of the smallest and of the largest weights that are left; once that decides on which side of t a
branch ends, its probability is counted or dropped. Where weights fall fast the undecided branches
are few: they end within a range of t that shrinks like the weights. If they are many, those with
the same number of hits that are close together continue as one, with the smallest of their values
for one bound and the largest for the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._engine.hypergeometric import log_pmf
from sklearn_rankinf._engine.statistics import Floats, Increments, Integers

# Branches of one number of hits that are kept apart, in equal parts of their range; more where the
# bounds would be farther apart than that, relative to them, unless it takes seconds.
_CELLS, _MORE_CELLS, _CLOSE = 400, 2000, 1e-3
# Undecided branches are left where they are less than this part of what is counted.
_SLIGHT = 1e-8
# Weights fall fast if the range of those left shrinks to the first part of itself while no more
# than the second part of the blocks is gone through.
_SHRUNK, _PART = 1e-3, 0.7
# Hits in single blocks up to there times hits so far: those that take some tenths of a second for a
# value, and those that take too long. Hits so far are this many deviations above their mean.
_FEW, _MANY, _DEVIATIONS = 1_000, 2_500, 4.0
# Branches, of several values of t, that are followed together.
_AT_ONCE = 400_000


@dataclass(frozen=True, eq=False)
class _Step:
    """A block, and what is left behind it.

    Attributes
    ----------
    weight : float
        What a hit in the block adds.
    shares : ndarray of shape (n_positives + 1, n_hits + 1)
        Probability of each number of hits in the block (columns), given those before it.
    least, most : ndarray of shape (n_positives + 1,)
        What the hits that are left add, given those up to the block.
    """

    weight: float
    shares: Floats
    least: Floats
    most: Floats


class Branches:
    """Bounds of both tails of a sum of weights.

    Parameters
    ----------
    increments : Increments
        The statistic, which is linear, block by block.
    n_positives : int
        Number of positives.
    """

    def __init__(self, increments: Increments, n_positives: int) -> None:
        order = np.argsort(increments.linear, kind="stable")
        self._sizes, self._weights = increments.sizes[order], increments.linear[order]
        self._m = n_positives
        # Blocks in the order in which they are gone through, and those left behind each.
        self._order = list(_inwards(self._weights))
        self._known: dict[int, _Step] = {}

    @property
    def applies(self) -> bool:
        """Whether weights fall fast, and bounds take no more than seconds a value."""
        return self._work <= _MANY

    @property
    def is_quick(self) -> bool:
        """Whether bounds take no more than some tenths of a second a value."""
        return self._work <= _FEW

    @cached_property
    def _work(self) -> float:
        """Hits in single blocks times hits so far, until the weights left are nearly alike."""
        m, n_blocks, span = self._m, self._weights.size, self._weights[-1] - self._weights[0]
        n_items = in_blocks = n_through = 0
        for block, rest in self._order:
            size, left = int(self._sizes[block]), self._weights[rest]
            n_items, in_blocks, n_through = n_items + size, in_blocks + min(size, m), n_through + 1
            if n_through > _PART * n_blocks or in_blocks > _MANY:
                break
            if left.size == 0 or left[-1] - left[0] < _SHRUNK * span:
                mean = n_items * m / int(self._sizes.sum())
                return in_blocks * min(m, mean + _DEVIATIONS * math.sqrt(mean) + 1.0)
        return math.inf

    def bounds(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Guaranteed bounds of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1)."""
        lower, upper = self._in_parts(t, sign, _CELLS)
        apart = np.flatnonzero((upper - lower > _CLOSE * upper) & self.is_quick)
        lower[apart], upper[apart] = self._in_parts(t[apart], sign, _MORE_CELLS)
        return lower, upper

    def _in_parts(self, t: Floats, sign: int, n_cells: int) -> tuple[Floats, Floats]:
        """The same with so many cells, for as many values together as the memory allows."""
        lower, upper = np.empty(t.shape), np.empty(t.shape)
        n_together = max(1, _AT_ONCE // (2 * n_cells * (self._m + 1)))
        for start in range(0, t.size, n_together):
            some = slice(start, start + n_together)
            lower[some], upper[some] = self._bounds(t[some], sign, n_cells)
        return lower, upper

    def _bounds(self, t: Floats, sign: int, n_cells: int) -> tuple[Floats, Floats]:
        """The same for values that are followed together."""
        # Each value has two rows, one for either bound; each branch belongs to a row.
        n_values, t, outwards = t.size, np.tile(t, 2), np.repeat([-1.0, 1.0], t.size)
        counted, left = np.zeros(t.size), np.zeros(t.size)
        branches = _Branches(
            np.arange(t.size), np.zeros(t.size, np.int64), np.zeros(t.size), np.ones(t.size)
        )
        for place in range(len(self._order)):
            step = self._step(place)
            branches = branches.after(step)
            row, least, most = branches.row, *branches.ends(step)
            near, far = (least, most) if sign > 0 else (most, least)
            is_counted, is_possible = sign * near >= sign * t[row], sign * far >= sign * t[row]
            counted += branches.at(is_counted).shares(t.size)
            undecided = branches.at(is_possible & ~is_counted)
            shares = undecided.shares(t.size)
            is_slight = shares <= _SLIGHT * counted
            left += np.where(is_slight, shares, 0.0)
            branches = undecided.at(~is_slight[undecided.row])
            if not branches.row.size:
                break
            branches = branches.gathered(step, t, sign * outwards, n_cells)
        return counted[:n_values], (counted + left)[n_values:]

    def _step(self, place: int) -> _Step:
        """The block at a place of the order; those known are kept."""
        if place not in self._known:
            (block, rest), m = self._order[place], self._m
            size, sizes, weights = int(self._sizes[block]), self._sizes[rest], self._weights[rest]
            n_left = size + int(sizes.sum())
            in_block, hits = np.arange(min(size, m) + 1), np.arange(m + 1)
            # Rows of more hits than there are items left are never reached.
            log_shares = log_pmf(in_block, n_left, np.minimum(m - hits, n_left)[:, None], size)
            least, most = _sums(sizes, weights, m), _sums(sizes[::-1], weights[::-1], m)
            weight = float(self._weights[block])
            self._known[place] = _Step(weight, np.exp(log_shares), least[::-1], most[::-1])
        return self._known[place]


@dataclass(frozen=True, eq=False)
class _Branches:
    """Branches: the row that each belongs to, its hits so far, what they add, its probability."""

    row: Integers
    hits: Integers
    value: Floats
    p: Floats

    def at(self, where: NDArray[Any]) -> _Branches:
        """Some of them."""
        return _Branches(self.row[where], self.hits[where], self.value[where], self.p[where])

    def and_(self, others: _Branches) -> _Branches:
        """These and others."""
        return _Branches(
            np.append(self.row, others.row),
            np.append(self.hits, others.hits),
            np.append(self.value, others.value),
            np.append(self.p, others.p),
        )

    def shares(self, n_rows: int) -> Floats:
        """Their probability in each row."""
        return np.asarray(np.bincount(self.row, self.p, n_rows), dtype=float)

    def ends(self, step: _Step) -> tuple[Floats, Floats]:
        """Values between which they end."""
        return self.value + step.least[self.hits], self.value + step.most[self.hits]

    def after(self, step: _Step) -> _Branches:
        """Those for every number of hits in a block."""
        p = step.shares.T[:, self.hits] * self.p
        in_block, branch = np.nonzero(p)
        return _Branches(
            self.row[branch],
            self.hits[branch] + in_block,
            self.value[branch] + in_block * step.weight,
            p[in_block, branch],
        )

    def gathered(self, step: _Step, t: Floats, towards: Floats, n_cells: int) -> _Branches:
        """With close ones as one, of the smallest or largest value, in rows where they are many."""
        is_many = np.bincount(self.row, minlength=t.size)[self.row] > n_cells
        if not is_many.any():
            return self
        few, many = self.at(~is_many), self.at(is_many)
        # Undecided ones are so far from t as the hits that are left can add.
        width = (step.most - step.least)[many.hits]
        height = (many.value + step.most[many.hits] - t[many.row]) / width
        cell = np.minimum(height * n_cells, n_cells - 1).astype(np.int64)
        key = (many.row * step.most.size + many.hits) * n_cells + cell
        order = np.argsort(key, kind="stable")
        many, first = many.at(order), np.flatnonzero(np.diff(key[order], prepend=-1))
        lowest, highest = (of.reduceat(many.value, first) for of in (np.minimum, np.maximum))
        kept = many.at(first)
        value = np.where(towards[kept.row] < 0.0, lowest, highest)
        return few.and_(replace(kept, value=value, p=np.add.reduceat(many.p, first)))


def _inwards(weights: Floats) -> Iterator[tuple[int, slice]]:
    """Each of the ascending weights, the farther from the middle the sooner, and those left."""
    low, high, middle = 0, weights.size, weights[weights.size // 2]
    while low < high:
        if middle - weights[low] > weights[high - 1] - middle:
            low += 1
            yield low - 1, slice(low, high)
        else:
            high -= 1
            yield high, slice(low, high)


def _sums(sizes: Integers, weights: Floats, m: int) -> Floats:
    """Sums of the first 0, 1, ..., m weights, as far as there are so many."""
    ends = np.minimum(np.cumsum(sizes), m)
    n_blocks = int(np.searchsorted(ends, m)) + 1
    items = np.repeat(weights[:n_blocks], np.diff(ends[:n_blocks], prepend=0))
    sums = np.append(0.0, np.cumsum(items))
    return np.pad(sums, (0, m + 1 - sums.size), mode="edge")
