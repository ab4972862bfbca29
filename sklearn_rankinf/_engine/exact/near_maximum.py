"""Near-maximum enumeration: tails of few placements at the ends of the support.

Placements are listed from the extreme value inwards, block by block. A partial placement is kept
if its best completion reaches the value, so the work grows with the number of placements in the
tail, not with all of them (branch and bound without branches that fail). One list serves all values
beyond the one it was made for. See "Near-maximum enumeration" in doc/theory.rst.

Of steep weights, where outcomes near the best value are many, these fill the first blocks
(`filled_blocks`), and what is left is a sum of fewer hits in the other blocks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from sklearn_rankinf._engine.estimates import TailEstimates
from sklearn_rankinf._engine.exact.enumeration import Atoms, atoms
from sklearn_rankinf._statistics import Floats, Increments, Integers

# Relative rounding error of a sum of probabilities.
_ROUNDING = 1e-12
# Placements that are listed, if the tail does not hold more.
FEW = 3e5
# Operations that finding the best completions may take.
_MOST_COMPLETIONS = 2e8
# Numbers on which an operation takes as long as the call of numpy.
_OVERHEAD = 2_000


def costs_of_misses(increments: Increments, n_hits: int) -> tuple[Integers, Floats, float]:
    """Blocks that a perfect ranking fills, the least that a miss in each costs; the best value.

    Each hit adds the weight of its block. A hit that is missing in a block is at best in the first
    block that a perfect ranking does not fill. Costs fall from block to block.
    """
    order = np.argsort(-increments.of_one_hit, kind="stable")
    weights, sizes = increments.of_one_hit[order], increments.sizes[order]
    ends = np.cumsum(sizes)
    n_full = int(np.searchsorted(ends, n_hits, side="right"))
    full, others = weights[:n_full], n_hits - int(ends[n_full - 1] if n_full else 0)
    next_weight = float(weights[n_full]) if n_full < sizes.size else 0.0
    best = float(full @ sizes[:n_full]) + others * next_weight
    return order[:n_full], full - next_weight, best


def filled_blocks(blocks: Integers, costs: Floats, best: float, t: float) -> Integers:
    """Blocks that every outcome with a value of t or more fills, given their `costs_of_misses`."""
    return blocks[costs > best - t + _ROUNDING * best]


class NearMaximum:
    """Exact tails by listing all placements from a value outwards.

    Parameters
    ----------
    increments : callable
        Returns the increments, block by block.
    first_ranks : callable
        Returns the increments of the first ranks alone, if no placement with a given value or more
        has a hit behind them, else None.
    n_positives : int
        Number of positives.
    log_placements : float
        Log of the number of placements.
    n_ranks : int or None
        Number of ranks if there are no ties, else None.
    """

    def __init__(
        self,
        increments: Callable[[], Increments],
        first_ranks: Callable[[float], Increments | None],
        n_positives: int,
        log_placements: float,
        n_ranks: int | None,
    ) -> None:
        self._increments, self._first_ranks = increments, first_ranks
        self._n_positives, self._log_placements = n_positives, log_placements
        self._n_ranks = n_ranks
        # The innermost value that has been listed, and the outermost one that is too far in.
        self._listed: dict[int, tuple[float, Atoms]] = {}
        self._too_many: dict[int, float] = {}

    def tail(
        self, t: Floats, sign: int, may_be_few: Callable[[float], bool] = lambda t: False
    ) -> TailEstimates:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), of no more outcomes than are listed.

        Lists beyond the first ranks are tried for values for which `may_be_few` is true.
        """
        found = TailEstimates.unknown(t.shape)
        outermost = np.argsort(-sign * t)
        listed, n_listed, n_few = None, 0, t.size
        # Most often the tails of no value or of all values are few: one list serves all.
        for probe in itertools.chain([0, t.size - 1], itertools.repeat(None)):
            if n_listed == n_few:
                break
            at = (n_listed + n_few) // 2 if probe is None else probe
            made = self._list_from(float(t[outermost[at]]), sign, may_be_few)
            if made is None:
                n_few = at
            else:
                listed, n_listed = made, at + 1
        if listed is not None:
            few: Integers = outermost[:n_listed]
            log_p = listed.log_counts_from(sign * t[few]) - self._log_placements
            found.put(few, TailEstimates.of(log_p, "near-maximum enumeration", rounding=_ROUNDING))
        return found

    def _list_from(self, t: float, sign: int, may_be_few: Callable[[float], bool]) -> Atoms | None:
        """Placements from a value outwards; None if they are too many."""
        # A value has one answer, whichever values were listed before: a list serves where the value
        # itself would be listed.
        increments = self._first_ranks(t) if sign > 0 else None
        if increments is None and (self._n_completions > _MOST_COMPLETIONS or not may_be_few(t)):
            return None
        known_from, known = self._listed.get(sign, (math.inf, None))
        if sign * t >= known_from:
            return known
        if sign * t <= self._too_many.get(sign, -math.inf):
            return None
        increments = self._increments() if increments is None else increments
        signed = increments if sign > 0 else increments.negated()
        listed = atoms(signed, self._n_positives, sign * t, FEW)
        if listed is None:
            self._too_many[sign] = sign * t
        else:
            self._listed[sign] = sign * t, listed
        return listed

    @property
    def _n_completions(self) -> float:
        """Operations that finding the best completions of all partial placements takes."""
        if self._n_ranks is not None:
            return float(self._n_ranks) * self._n_positives
        n_ways = float(np.minimum(self._increments().sizes, self._n_positives).sum())
        return n_ways * max(self._n_positives, _OVERHEAD)
