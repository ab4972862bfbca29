"""Guaranteed bounds of the tails of a sum of weights that fall fast, by branch and bound.

Blocks are processed in the order of the distance of their weights from the median weight ("Branch
and bound" in doc/theory.rst; Land and Doig, 1960). A branch is a number of positives in the blocks
processed, and the sum v of their weights. With a and b, the sums of the smallest and of the largest
weights for the other positives, the final sum lies in [v + a, v + b]. A branch that lies on one
side of t is counted or dropped with its probability, a product of hypergeometric probabilities.
Undecided branches with the same number of positives and close values are merged: the smallest value
gives the one bound of the tail, the largest the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._engine.estimates import TailEstimates
from sklearn_rankinf._statistics import (
    Floats,
    Increments,
    Integers,
    cached_method,
    cached_property,
    log_pmf,
)


@dataclass(frozen=True)
class BranchAndBoundSettings:
    """Settings of branch and bound."""

    # Cells per number of positives, in which branches are merged, at first and where nothing else
    # answers; and the work after which a value's bounds are left as they are: probabilities of
    # branches, some hundredths of a second and a second.
    cells: tuple[int, int] = (400, 2000)
    work: tuple[float, float] = (2e5, 5e6)
    # Probabilities of a table of a block that take as long as one of them.
    work_of_table: float = 3.0
    # Undecided branches below this part of the counted probability are added to the upper bound.
    negligible: float = 1e-8
    # Weights fall fast if their range shrinks to the first part of itself within the second part of
    # the blocks, with no more positives in single blocks than the last.
    shrunk: float = 1e-3
    part: float = 0.7
    most_in_blocks: int = 2_500
    # Relative rounding error of the products of probabilities.
    rounding: float = 1e-11


SETTINGS = BranchAndBoundSettings()


@dataclass(frozen=True, eq=False)
class _Step:
    """A block, and the blocks behind it in the order of processing.

    Attributes
    ----------
    weight : float
        Weight of a positive in the block.
    p : ndarray of shape (n_positives + 1, n_hits + 1)
        Probabilities of the numbers of positives in the block (columns), given those before it.
    least, most : ndarray of shape (n_positives + 1,)
        Bounds of the sum of the weights of the other positives, given those up to the block.
    """

    weight: float
    p: Floats
    least: Floats
    most: Floats


class BranchAndBoundTails:
    """Tails of a sum of weights, with guaranteed bounds.

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
        # Blocks in the order of processing, and the blocks behind each.
        self._order = list(_inwards(self._weights))

    @cached_property
    def applies(self) -> bool:
        """Whether weights fall fast."""
        n_blocks, span = self._weights.size, self._weights[-1] - self._weights[0]
        in_blocks = 0
        for n_through, (block, rest) in enumerate(self._order, start=1):
            left = self._weights[rest]
            in_blocks += min(int(self._sizes[block]), self._m)
            if n_through > SETTINGS.part * n_blocks or in_blocks > SETTINGS.most_in_blocks:
                break
            if left.size == 0 or left[-1] - left[0] < SETTINGS.shrunk * span:
                return True
        return False

    def tail(self, t: Floats, sign: int, is_last: bool = True) -> TailEstimates:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1): the middle between two bounds L and U.

        The enclosure is ``(U - L) / (2 L)``. With more work where it is the last attempt.
        """
        bounds = self.bounds(t, sign, is_last)
        return TailEstimates.between(*bounds, "branch and bound", SETTINGS.rounding)

    def bounds(self, t: Floats, sign: int, is_last: bool = True) -> tuple[Floats, Floats]:
        """Guaranteed bounds of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1)."""
        found = [self._bounds(value, sign, is_last) for value in t.tolist()]
        lower, upper = np.array(found).reshape(t.size, 2).T
        return lower, upper

    def _bounds(self, t: float, sign: int, is_last: bool) -> tuple[float, float]:
        """The bounds of one value, with undecided branches in the upper one."""
        n_cells, work_left = SETTINGS.cells[is_last], SETTINGS.work[is_last]
        # Branches of the lower bound, and of the upper one.
        outwards = np.array([-1.0, 1.0])
        counted, left_out, nothing = np.zeros(2), np.zeros(2), np.zeros(2)
        branches = _Branches(np.arange(2), nothing.astype(np.int64), nothing, nothing + 1.0)
        for place in range(len(self._order)):
            block, most = self._order[place][0], self._m + 1
            in_block = min(int(self._sizes[block]), self._m) + 1
            work_left -= in_block * (branches.row.size + SETTINGS.work_of_table * most)
            if work_left < 0.0:
                break
            step = self._step(place)
            branches = branches.after(step)
            hits = branches.hits
            near, far = branches.value + step.least[hits], branches.value + step.most[hits]
            near, far = (near, far) if sign > 0 else (far, near)
            is_counted, is_possible = sign * near >= sign * t, sign * far >= sign * t
            counted += branches.at(is_counted).p_of_rows()
            undecided = branches.at(is_possible & ~is_counted)
            p = undecided.p_of_rows()
            is_negligible = p <= SETTINGS.negligible * counted
            left_out += np.where(is_negligible, p, 0.0)
            branches = undecided.at(~is_negligible[undecided.row])
            if not branches.row.size:
                break
            branches = branches.merged(step, t, sign * outwards, n_cells)
        return float(counted[0]), float((counted + left_out + branches.p_of_rows())[1])

    @cached_method
    def _step(self, place: int) -> _Step:
        """The block at a place of the order."""
        (block, rest), m = self._order[place], self._m
        size, sizes, weights = int(self._sizes[block]), self._sizes[rest], self._weights[rest]
        n_left = size + int(sizes.sum())
        in_block, hits = np.arange(min(size, m) + 1), np.arange(m + 1)
        # Rows with more hits than items are never reached.
        log_p = log_pmf(in_block, n_left, np.minimum(m - hits, n_left)[:, None], size)
        least, most = _sums(sizes, weights, m), _sums(sizes[::-1], weights[::-1], m)
        return _Step(float(self._weights[block]), np.exp(log_p), least[::-1], most[::-1])


@dataclass(frozen=True, eq=False)
class _Branches:
    """Branches: their rows, numbers of positives, sums of their weights, and probabilities."""

    row: Integers
    hits: Integers
    value: Floats
    p: Floats

    def at(self, where: NDArray[Any]) -> _Branches:
        """Some of the branches."""
        return _Branches(self.row[where], self.hits[where], self.value[where], self.p[where])

    def p_of_rows(self) -> Floats:
        """Probability of the branches in both rows."""
        return np.asarray(np.bincount(self.row, self.p, 2), dtype=float)

    def after(self, step: _Step) -> _Branches:
        """Branches with every number of positives in the next block."""
        p = step.p.T[:, self.hits] * self.p
        in_block, branch = np.nonzero(p)
        return _Branches(
            self.row[branch],
            self.hits[branch] + in_block,
            self.value[branch] + in_block * step.weight,
            p[in_block, branch],
        )

    def merged(self, step: _Step, t: float, towards: Floats, n_cells: int) -> _Branches:
        """One branch per cell, with its smallest or largest value, in rows of many branches."""
        is_many = np.bincount(self.row, minlength=2)[self.row] > n_cells
        if not is_many.any():
            return self
        few, many = self.at(~is_many), self.at(is_many)
        # Undecided branches lie within the range of the sums of the other positives.
        width = (step.most - step.least)[many.hits]
        height = (many.value + step.most[many.hits] - t) / width
        cell = np.minimum(height * n_cells, n_cells - 1).astype(np.int64)
        key = (many.row * step.most.size + many.hits) * n_cells + cell
        order = np.argsort(key, kind="stable")
        many, first = many.at(order), np.flatnonzero(np.diff(key[order], prepend=-1))
        lowest, highest = (of.reduceat(many.value, first) for of in (np.minimum, np.maximum))
        row, hits = many.row[first], many.hits[first]
        return _Branches(
            np.append(few.row, row),
            np.append(few.hits, hits),
            np.append(few.value, np.where(towards[row] < 0.0, lowest, highest)),
            np.append(few.p, np.add.reduceat(many.p, first)),
        )


def _inwards(weights: Floats) -> Iterator[tuple[int, slice]]:
    """Places of ascending weights, the farthest from the median first, and the others left."""
    low, high, middle = 0, weights.size, weights[weights.size // 2]
    while low < high:
        if middle - weights[low] > weights[high - 1] - middle:
            low += 1
            yield low - 1, slice(low, high)
        else:
            high -= 1
            yield high, slice(low, high)


def _sums(sizes: Integers, weights: Floats, m: int) -> Floats:
    """Sums of the first 0, 1, ..., m weights, or of all if they are fewer."""
    ends = np.minimum(np.cumsum(sizes), m)
    n_blocks = int(np.searchsorted(ends, m)) + 1
    items = np.repeat(weights[:n_blocks], np.diff(ends[:n_blocks], prepend=0))
    sums = np.append(0.0, np.cumsum(items))
    return np.pad(sums, (0, m + 1 - sums.size), mode="edge")
