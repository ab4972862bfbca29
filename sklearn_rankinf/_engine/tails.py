"""Tails of a law that has too many atoms to list: the best of several algorithms.

A tail comes from contour inversion where the transform has decayed relative to it, from the list of
the few placements beyond it at the very ends, and from the lattice where the law is too coarse for
the contour. Every answer carries an error estimate, and the answer with the smallest one is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from sklearn_rankinf._engine.chain import Atoms, atoms, tilted_bands
from sklearn_rankinf._engine.contour import ContourLaw
from sklearn_rankinf._engine.lattice import LatticeLaw, lattice_law
from sklearn_rankinf._engine.statistics import (
    VERY_FEW_BLOCKS,
    Floats,
    Increments,
    log_binomial,
)

# Up to this many placements are listed in the extreme upper tail.
_MAX_LISTED = 3e5
# It is not tried before the log of the tail, by a bound that is loose at the very end, is this part
# of the log of the smallest probability.
_EXTREME = 0.3
# A contour is good enough from here on; the lattice's own error is seldom below the second.
_GOOD, _LATTICE = 1e-6, 1e-3
_TOLERABLE = 1e-2
_FAR = -12.0
_MERGE_ABOVE = 5000
_MAX_COMPLETIONS = 2e7
# Laws of very few blocks are coarse far out, and their outcomes beyond a value few.
_VERY_FEW_BLOCKS_DOUBT = 5e-3
_N_CELLS = 4096


class Tails:
    """Both tails of an additive rank statistic, each on its own side of the mean.

    Parameters
    ----------
    increments : callable
        Returns the increments, with far blocks merged up to the ratio it is given, or block by
        block for None.
    n_samples, n_blocks, n_positives : int
        Numbers of items, of blocks and of hits.
    mean, std : float
        Exact moments.
    support : callable
        Returns the smallest and the largest value.
    bounds : tuple of float
        Values that the support does not exceed.
    tolerance : float, default=0.0
        Relative error that is good enough.
    """

    def __init__(
        self,
        increments: Callable[[float | None], Increments],
        n_samples: int,
        n_blocks: int,
        n_positives: int,
        mean: float,
        std: float,
        support: Callable[[], tuple[float, float]],
        bounds: tuple[float, float],
        tolerance: float = 0.0,
    ) -> None:
        self._increments = increments
        self._n_blocks = n_blocks
        self._n_positives = n_positives
        self._log_placements = log_binomial(n_samples, n_positives)
        self._mean = mean
        self._std = std
        self._support = support
        self._bounds = bounds
        self._tolerance = tolerance
        self._lattices: dict[int, tuple[LatticeLaw, LatticeLaw, LatticeLaw, float, float]] = {}
        self._listed: dict[int, tuple[float, Atoms | None]] = {}

    def log_tail(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Log of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), and its relative error."""
        log_p, error = np.full(t.shape, -np.inf), np.full(t.shape, np.inf)
        first = [self._contour_tail, self._listed_tail]
        if self._very_few_blocks:
            first.reverse()
        good = max(_GOOD, self._tolerance)
        for algorithm, good_enough in (
            (first[0], good),
            (first[1], good),
            (self._lattice_tail, max(good, _LATTICE)),
            (self._insistent_tail, _TOLERABLE),
            (self._bound, np.finfo(float).max),
        ):
            weak = np.flatnonzero(error > good_enough)
            if weak.size:
                other, other_error = algorithm(t[weak], sign)
                better = (other_error < error[weak]) | np.isneginf(log_p[weak])
                log_p[weak[better]], error[weak[better]] = other[better], other_error[better]
        return log_p, error

    @property
    def _very_few_blocks(self) -> bool:
        return self._n_blocks <= VERY_FEW_BLOCKS

    def _contour_tail(self, t: Floats, sign: int, insist: bool = False) -> tuple[Floats, Floats]:
        log_p, error = self._contour.log_tail(t, sign, insist)
        # The transform of few blocks may come back beyond any node, by as much as the atom at t.
        return log_p, error + (_VERY_FEW_BLOCKS_DOUBT if self._very_few_blocks else 0.0)

    def _insistent_tail(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """The contour far out where it has not decayed quite; in the body the lattice is better."""
        log_p, error = self._bound(t, sign)
        far = log_p < _FAR
        if far.any():
            log_p[far], error[far] = self._contour_tail(t[far], sign, insist=True)
        return log_p, error

    def _bound(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Chernoff's bound, of unknown error, where nothing else answers."""
        return self._contour.log_bound(t, sign), np.full(t.shape, np.inf)

    @cached_property
    def _contour(self) -> ContourLaw:
        m, std, bounds = self._n_positives, self._std, self._bounds
        merged = self._n_blocks > _MERGE_ABOVE
        fine = self._increments(0.02 if merged else None)
        return ContourLaw(fine, self._coarse, m, std, bounds, merged, self._tolerance)

    @cached_property
    def _coarse(self) -> Increments:
        return self._increments(0.05)

    def _listed_tail(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Exact tail by listing all placements from t outwards, where they are few."""
        log_p, error = np.full(t.shape, -np.inf), np.full(t.shape, np.inf)
        for i in np.argsort(-sign * t):
            listed = self._list_from(float(t[i]), sign)
            if listed is None:
                break
            error[i] = 1e-12
            beyond = listed.log_counts[np.searchsorted(listed.values, sign * t[i], side="left") :]
            if beyond.size:
                log_p[i] = logsumexp(beyond) - self._log_placements
        return log_p, error

    def _list_from(self, t: float, sign: int) -> Atoms | None:
        """Placements from t outwards; None where they are too many to list."""
        if self._n_blocks * self._n_positives > _MAX_COMPLETIONS:
            return None
        known_from, known = self._listed.get(sign, (math.inf * sign, None))
        if known is not None and sign * t >= sign * known_from:
            return known
        if sign in self._listed and known is None and sign * t <= sign * known_from:
            return None
        far = math.log(_MAX_LISTED) - _EXTREME * self._log_placements
        if not self._very_few_blocks and self._contour.log_bound(np.array([t]), sign)[0] > far:
            return None
        increments = self._increments(None)
        signed = increments if sign > 0 else increments.negated()
        listed = atoms(signed, self._n_positives, sign * t, _MAX_LISTED)
        if listed is not None or known is None:
            self._listed[sign] = (t, listed)
        return listed

    def _lattice_tail(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Tail from the lattice whose top is the first of mean + 4 sd, + 8 sd, ... beyond t."""
        tail, error = np.full(t.shape, -np.inf), np.full(t.shape, np.inf)
        reach = np.maximum(1.0, (1.25 * t - self._mean) / (4.0 * self._std))
        levels = np.ceil(np.log2(reach)).astype(int)
        for level in np.unique(levels):
            same = levels == level
            tail[same], error[same] = self._on_lattice(t[same], sign, int(level))
        return tail, error

    def _on_lattice(self, t: Floats, sign: int, level: int) -> tuple[Floats, Floats]:
        """Tail from the finest lattice; the error from the two others."""
        if level not in self._lattices:
            self._lattices[level] = self._make_lattices(level)
        fine, halved, merged, lowest, highest = self._lattices[level]
        p = fine.tail(t, sign)
        width = fine.edges[1] - fine.edges[0]
        lift = np.abs(fine.tail(t - 3 * width, sign) - 2 * p + fine.tail(t + 3 * width, sign))
        jump = np.abs(fine.tail(t - 3 * width, sign) - fine.tail(t + 3 * width, sign))
        # Splitting adds a variance of up to width^2 / 6 an increment, which lifts a steep tail.
        n_splits = min(self._n_positives, self._n_blocks)
        blur = n_splits * jump**2 / (216.0 * np.maximum(p, 1e-300))
        # Cells and merging may err in opposite directions, so each is measured by itself.
        half = halved.tail(t, sign)
        doubt = np.abs(p - half) + np.abs(half - merged.tail(t, sign))
        doubt += _atom(fine, t, sign) + lift + blur
        positive = p > 1e-290
        safe = np.where(positive, p, 1.0)
        log_p = np.where(positive, np.log(safe), -np.inf)
        tilts = np.array([self._contour.tilt_for(float(x), sign) for x in t])
        covered = positive & (tilts >= lowest) & (tilts <= highest)
        return log_p, np.where(covered, 1e-6 + doubt / safe, np.inf)

    def _make_lattices(self, level: int) -> tuple[LatticeLaw, LatticeLaw, LatticeLaw, float, float]:
        """A lattice, with half the cells, with wider blocks too, and the tilts that they hold."""
        m = self._n_positives
        top = self._mean + 4.0 * 2.0**level * self._std
        # Tilts between the lowest and the highest are covered as well: the bands lie between.
        smallest, largest = self._support()
        highest = self._contour.tilt_for(min(top, largest), 1)
        lowest = self._contour.tilt_for(0.9 * smallest + 0.1 * self._mean, -1)
        tilts = (lowest, 0.0, highest)
        bands = [tilted_bands(self._coarse, m, tilt, share=1e-16)[0] for tilt in tilts]
        band = bands[0].union(bands[1]).union(bands[2])
        ends = np.cumsum(self._coarse.sizes)

        def law(ratio: float, n_cells: int) -> LatticeLaw:
            increments = self._increments(ratio)
            paths = band.at(ends, np.cumsum(increments.sizes))
            return lattice_law(increments, m, top, n_cells, paths)

        half = _N_CELLS // 2
        return law(0.02, _N_CELLS), law(0.02, half), law(0.04, half), lowest, highest


def _atom(lattice: LatticeLaw, t: Floats, sign: int) -> Floats:
    """Mass at t that may be counted by half: an atom at t is spread over a few cells.

    It is what lies within a few cells beyond its share of what lies within wider ranges, and half a
    cell's mass for atoms that are denser than that.
    """
    width = lattice.edges[1] - lattice.edges[0]

    def within(n_cells: float) -> Floats:
        reach = n_cells * width
        return np.abs(lattice.tail(t - reach, sign) - lattice.tail(t + reach, sign))

    excess = [
        within(near) - 1.1 * within(wider * near) / wider
        for near in (1.5, 3.0)
        for wider in (1.5, 2.0, 3.0, 5.0, 10.0)
    ]
    return np.asarray(np.maximum(np.max(excess, axis=0), 0.0) + 0.5 * within(0.5))
