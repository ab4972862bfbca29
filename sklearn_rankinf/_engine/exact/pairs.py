"""Exact counts of the placements of two or three hits with a value of something or more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._engine.statistics import Floats, Increments

# Pairs of the first two hits that are looked at together.
_PAIRS_AT_ONCE = 1 << 20


class Pairs:
    """Placements of two hits, in blocks of equal scores, by their first one.

    With each first hit the second reaches a value down to some block, which a binary search finds.

    Parameters
    ----------
    increments : Increments
        Increments to which `apply_to` says yes.
    """

    def __init__(self, increments: Increments) -> None:
        if increments.is_linear:
            # What a hit adds depends on no other: the best block may be taken for the first.
            increments = increments[np.argsort(-increments.linear, kind="stable")]
        sizes = increments.sizes
        self._first, self._second = increments.of_one_hit, increments.of_one_hit + increments.cross
        self._both = 2.0 * (increments.linear + 2.0 * increments.square)
        self._sizes, self._pairs = sizes, sizes * (sizes - 1) // 2
        self._n_up_to = np.append(0, np.cumsum(sizes))
        self._ends = np.arange(1, sizes.size + 1)

    @staticmethod
    def apply_to(increments: Increments) -> bool:
        """Whether a second hit adds no more than it would in a better block."""
        second = increments.of_one_hit + increments.cross
        return increments.is_linear or bool(np.all(np.diff(second) <= 0.0))

    def n_from(self, t: float) -> int:
        """Number of placements with a value of at least t."""
        # Blocks behind that of the first hit, down to the last one that reaches t.
        reached = np.maximum(_n_reaching(self._second, t - self._first), self._ends)
        behind = self._n_up_to[reached] - self._n_up_to[self._ends]
        within = self._pairs[self._both >= t]
        return int(np.sum(self._sizes * behind)) + int(np.sum(within))


class Triples:
    """Placements of three hits without ties, by their first two.

    For two hits the third reaches a value down to some rank, which a binary search finds. Where
    every rank will do, or none, no search is needed, so that the cost is a part of n**2 / 2.

    Parameters
    ----------
    increments : Increments
        Increments of single items that do not grow from rank to rank, whatever the hits before.
    """

    def __init__(self, increments: Increments) -> None:
        first, second, third = (
            increments.of_one_hit + increments.cross * hits_before for hits_before in range(3)
        )
        self._first, self._second, self._third = first[:-2], second[:-1], third
        self._n = third.size

    @staticmethod
    def apply_to(increments: Increments) -> bool:
        """Whether there are no ties, and no hit adds more than it would at a better rank."""
        if np.any(increments.sizes > 1):
            return False
        last = increments.of_one_hit + 2.0 * increments.cross
        return bool(np.all(np.diff(increments.of_one_hit) <= 0.0) and np.all(np.diff(last) <= 0.0))

    def n_from(self, t: float) -> int:
        """Number of placements with a value of at least t."""
        first = np.arange(self._first.size)
        left = t - self._first
        # Second hits up to one rank leave room for any third, up to another for the next one.
        any_third = _n_reaching(self._second + self._third[-1], left)
        next_third = _n_reaching(self._second + self._third[1:], left)
        begin = np.maximum(first + 1, any_third)
        end = np.maximum(begin, next_third)
        # Second hits from first + 1 on, with each third hit behind them.
        behind = (self._n - 1 - first).astype(np.int64)
        rest = (self._n - begin).astype(np.int64)
        total = int(np.sum(behind * (behind - 1) // 2 - rest * (rest - 1) // 2))
        for chunk in _chunks(end - begin):
            n_seconds = end[chunk] - begin[chunk]
            of_first = np.repeat(np.arange(n_seconds.size), n_seconds)
            offsets = np.cumsum(n_seconds) - n_seconds
            seconds = np.arange(of_first.size) - offsets[of_first] + begin[chunk][of_first]
            needed = left[chunk][of_first] - self._second[seconds]
            total += int(np.sum(_n_reaching(self._third, needed) - seconds - 1))
        return total


def _n_reaching(descending: Floats, needed: Floats) -> NDArray[np.int64]:
    """How many of the values, from the first on, are at least what is needed."""
    return np.asarray(np.searchsorted(-descending, -needed, side="right"))


def _chunks(sizes: NDArray[np.int64]) -> list[slice]:
    """Slices of what adds up to about so many pairs."""
    which = np.cumsum(sizes) // _PAIRS_AT_ONCE
    starts = np.flatnonzero(np.diff(which, prepend=-1))
    return [slice(*ends) for ends in zip(starts, [*starts[1:], sizes.size], strict=True)]
