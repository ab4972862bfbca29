"""Tails from a stratified contour, and the budget of their errors.

Stratified contours are planned to their end; plain ones have their budget in `contour`. See
"Stratified contours" in doc/theory.rst.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from scipy.ndimage import maximum_filter1d

from sklearn_rankinf._engine.estimates import (
    DOUBT_FAR_UP,
    DOUBT_IF_IRREGULAR,
    DOUBT_OF_MERGING,
    LEFT_OF_MERGING,
    TailEstimates,
    exp_of_error,
)
from sklearn_rankinf._engine.inversion.bands import Bands
from sklearn_rankinf._engine.inversion.nodes import Nodes
from sklearn_rankinf._engine.inversion.transform import Transform
from sklearn_rankinf._statistics import Complexes, Floats, Increments, cached_property, log_binomial

# Part of a period above the lowest value that damped contours serve.
SERVED = 0.6


TransformOf = Callable[[Increments, Increments, int, bool], Transform]
"""Transforms of blocks, which others plan, for a number of positives; whether they are merged."""


class ContourPass(Protocol):
    """The transform along a contour that is planned to its end, such as `MultiratePass`.

    It returns nodes, log transforms there, and the share of the transform that windows lose.
    """

    theta: float
    step: float

    @property
    def may_be_longer(self) -> bool: ...

    def need_more_nodes(self, ratio: int = 4) -> None: ...

    def log_transform(
        self, blocks: Increments, bands: Bands, is_long: bool
    ) -> tuple[Complexes, Complexes, float] | None: ...


@dataclass(frozen=True)
class StratifiedTailsSettings:
    """Settings of the error budget of contours that are planned to their end."""

    # Rounding error of a sum, relative to the sum of the sizes of its terms, for one block; it
    # grows with the root of the number of blocks.
    rounding: float = 4e-15
    # Smallest relative error that is stated, without and with merged blocks.
    least_error: float = 1e-9
    least_error_merged: float = 5e-6
    # Placements that may lie too close together for a contour to distinguish them; and outcomes, if
    # more than a relative part is cut off.
    indistinct_placements: float = 150.0
    indistinct_outcomes: float = 50.0
    visible: float = 1e-9
    # An outcome with its last hit at the edge of a tail belongs to it or not, while a smooth
    # distribution counts a part. The error of all is at most this many times the root of the sum
    # of their squared probabilities.
    edge: float = 2.0
    # Doubtful parts of the last and the last but one difference by merging if there are several.
    doubt_of_last: float = 0.2
    doubt_of_last_but_one: float = 0.04
    # Relative error above which an upper and a lower tail are unknown: near the lowest value few
    # placements are left, and the estimate is a guess.
    most_error: float = 1.0
    most_error_below: float = 0.03


SETTINGS = StratifiedTailsSettings()


class StratifiedTails:
    """Tails from one contour that is planned to its end.

    Parameters
    ----------
    nodes : Nodes
        The contour.
    coarser : sequence of Nodes
        The same contour with blocks merged further, and further still; none if none are merged.
    left_out : float
        Share of the transform that windows and bands of hits leave out.
    transform : Transform
        The transform of the blocks.
    n_positives : int
        Number of positives.
    cell : float, default=0.0
        Difference of what a top positive adds in neighbouring merged blocks, at most.
    has_ties : bool, default=False
        Whether the merged blocks are blocks of equal scores.
    """

    def __init__(
        self,
        nodes: Nodes,
        coarser: Sequence[Nodes],
        left_out: float,
        transform: Transform,
        n_positives: int,
        cell: float = 0.0,
        has_ties: bool = False,
    ) -> None:
        self._nodes, self._coarser, self._cell = nodes, coarser, cell
        self._has_ties = has_ties
        self._least = SETTINGS.least_error_merged if coarser else SETTINGS.least_error
        n_blocks = transform.n_blocks
        self._left_out, self._rounding = left_out, SETTINGS.rounding * math.sqrt(n_blocks)
        self._log_commonest = transform.log_commonest(0.0)
        self._log_placement = transform.log_placement
        # Log of the squared probability of all outcomes with their last hit at a given value. There
        # is one of these for every choice of all other hits, and their probabilities are added up
        # as if they were independent errors. Unknown for merged blocks.
        others = min(n_positives, n_blocks // 2)
        edge = math.log(n_positives / n_blocks) - log_binomial(n_blocks, others)
        self._log_edge = -math.inf if coarser else edge

    @cached_property
    def _log_tail_a_period_away(self) -> float:
        """Log of an upper bound of the upper tail a period above the served values."""
        nearer = np.array([SERVED * 2.0 * math.pi / self._nodes.step])
        log_p = float(self._nodes.tail(nearer, 1, taper=True)[0][0])
        return log_p if math.isfinite(log_p) else 0.0

    @cached_property
    def _changes_nearby(self) -> Floats:
        """The most that merging changes in tails of about the same value, over a period.

        A merged block of the top is an atom: merging errs to either side in turn, from one block to
        the next, and at some values not at all.
        """
        n_places = 2 * self._nodes.z.size
        fine, coarse = (
            nodes.tails_over_period(n_places) for nodes in (self._nodes, self._coarser[0])
        )
        n_nearby = 2 + math.ceil(self._cell * n_places * self._nodes.step / (2.0 * math.pi))
        return np.asarray(maximum_filter1d(np.abs(fine - coarse), 2 * n_nearby + 1, mode="wrap"))

    def _merging_nearby(self, s: Floats) -> Floats:
        changes = self._changes_nearby
        place = (s * (changes.size * self._nodes.step / (2.0 * math.pi))).astype(np.int64)
        # Of values beyond the period the largest change.
        inside = place < changes.size
        return np.where(inside, changes[np.where(inside, place, 0)], changes.max())

    def tail(self, s: Floats, sign: int) -> TailEstimates:
        """``P(S >= s)`` (sign 1) or ``P(S <= s)`` (sign -1).

        The error is infinite where it is too large to be known well.
        """
        nodes = self._nodes
        log_p, unit = nodes.tail(s, sign, taper=True)
        merged = [each.tail(s, sign, taper=True)[0] for each in self._coarser]
        truncation = nodes.cut(s, sign, log_p) + nodes.jump(s) * unit
        known = np.isfinite(log_p) & np.isfinite(truncation) & np.isfinite(merged).all(axis=0)
        safe, *merged = (np.where(known, x, 0.0) for x in (log_p, *merged))
        changes = [fine - coarse for fine, coarse in pairwise([safe, *merged])]
        of_sum = nodes.sizes.sum() * unit
        atoms = SETTINGS.indistinct_placements * exp_of_error(self._log_placement - safe)
        atoms += SETTINGS.edge * exp_of_error(0.5 * (self._log_edge - safe))
        clusters = SETTINGS.indistinct_outcomes * exp_of_error(self._log_commonest - safe)
        atoms += np.where(truncation > SETTINGS.visible, clusters, 0.0)
        found = TailEstimates.of(
            log_p,
            "stratified contour",
            rounding=self._least + self._rounding * of_sum,
            truncation=truncation + self._left_out * of_sum,
            aliasing=self._aliasing(sign, safe),
            atoms=atoms,
            merging=self._merging(s, sign, changes, safe),
        )
        # A larger error would itself be a guess; near the lowest value, where few placements are
        # left to be smooth, sooner than elsewhere.
        most = SETTINGS.most_error if sign > 0 else SETTINGS.most_error_below
        unknown = np.flatnonzero(~(known & (log_p < 1e-6) & (found.error.total < most)))
        if changes:
            found.log_p[:] += LEFT_OF_MERGING * changes[0]
        np.minimum(found.log_p, 0.0, out=found.log_p)
        found.put(unknown, TailEstimates.unknown(unknown.shape))
        return found

    def _merging(self, s: Floats, sign: int, changes: Sequence[Floats], log_p: Floats) -> Floats:
        """Error of merged blocks that is left after Richardson's correction."""
        if not changes:
            return np.zeros(s.shape)
        if self._has_ties:
            merging = DOUBT_IF_IRREGULAR * self._largest_change(s, sign, changes[0])
        elif len(changes) > 1:
            last, before = np.abs(changes[0]), np.abs(changes[1])
            return np.maximum(
                SETTINGS.doubt_of_last * last, SETTINGS.doubt_of_last_but_one * before
            )
        else:
            doubt = DOUBT_OF_MERGING if self._nodes.side < 0 else DOUBT_FAR_UP
            merging = doubt * np.abs(changes[0])
        if sign > self._nodes.side and self._cell > 0.0:
            merging = np.maximum(merging, self._merging_nearby(s) * np.exp(-log_p))
        return merging

    def _largest_change(self, s: Floats, sign: int, change: Floats) -> Floats:
        """The most that merging changes in logs of tails at a value and on both sides of it.

        What merged ties err changes its sign from value to value.
        """
        most = np.abs(change)
        for part in (-1.0, -0.5, 0.5, 1.0):
            at = s + part * self._cell
            fine, coarse = (
                nodes.tail(at, sign, taper=True)[0] for nodes in (self._nodes, self._coarser[0])
            )
            known = np.isfinite(fine) & np.isfinite(coarse)
            difference = np.where(known, fine, 0.0) - np.where(known, coarse, 0.0)
            most = np.maximum(most, np.abs(difference))
        return np.asarray(most)

    def _aliasing(self, sign: int, log_p: Floats) -> Floats:
        """Probability a period away, on the side where the contour damps it."""
        nodes = self._nodes
        if sign > 0 and nodes.side > 0:
            # Ascending contours have bounds of it.
            return np.zeros(log_p.shape)
        log_aliasing = -abs(nodes.theta) * 2.0 * math.pi / nodes.step - log_p
        if sign > nodes.side:
            log_aliasing = log_aliasing + np.minimum(log_p, self._log_tail_a_period_away)
        return exp_of_error(log_aliasing)
