"""The trapezoidal rule along one contour: tails, atoms, and their errors.

``M(z) exp(-z s) / z`` with ``M(z) = E exp(z S)`` is the two-sided Laplace transform of the tail
``P(S >= s + u)`` where ``Re z > 0``, and of ``-P(S < s + u)`` where ``Re z < 0``. The trapezoidal
rule with nodes ``theta + i (j + 1/2) 2 pi / T`` gives the tail at u = 0, and aliases at the
multiples u of the period T, with alternating signs and weights ``exp(theta u)`` (Abate and Whitt,
1992). `Nodes` sums the transform along a contour of either kind; `StratifiedTails` adds the error
budget of stratified contours, which are planned to their end. Plain contours have theirs in
`contour`. See "Exponential tilting" and "Stratified contours" in doc/theory.rst.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import fft, ifft, irfft, next_fast_len
from scipy.ndimage import maximum_filter1d

from sklearn_rankinf._engine.estimates import TailEstimates
from sklearn_rankinf._engine.inversion.exponentials import geometric_rows
from sklearn_rankinf._statistics import Complexes, Floats, cached_property

# Part of a period above the lowest value that damped contours serve.
SERVED = 0.6
# Richardson's extrapolation to no merging: merging errs like the square of the ratio of the ends of
# a block, so that 1 / (2.5**2 - 1) of the difference between two ratios is left, one 2.5 times the
# other; and the part of the difference that is doubtful.
LEFT_OF_MERGING = 1.0 / 5.25
DOUBT_OF_MERGING = 0.1
# Merged blocks of equal scores err less regularly: all of the difference is doubtful.
DOUBT_OF_MERGED_TIES = 1.0


def without_merging(
    log_p: Floats, coarse: Floats, known: NDArray[np.bool_], has_ties: bool
) -> tuple[Floats, Floats]:
    """Logs of tails from those of merged blocks and of blocks merged further, and their errors.

    Those that are not known stay as they are.
    """
    difference = np.where(known, log_p, 0.0) - np.where(known, coarse, 0.0)
    doubt = DOUBT_OF_MERGED_TIES if has_ties else DOUBT_OF_MERGING
    return log_p + LEFT_OF_MERGING * difference, doubt * np.abs(difference)


@dataclass(frozen=True)
class TrapezoidSettings:
    """Settings of the error budget of contours that are planned to their end."""

    # Rounding error of a sum, relative to the sum of the sizes of its terms, for one block; it
    # grows with the root of the number of blocks.
    rounding: float = 4e-15
    # Smallest relative error that is stated, without and with merged blocks.
    least_error: float = 1e-9
    least_error_merged: float = 5e-6
    # Lengths of the shorter contours, as parts of the whole, that estimate what is cut off: one of
    # them may agree with the whole by chance.
    shorter: tuple[float, ...] = (0.67, 0.76, 0.87)
    # Placements that may lie too close together for a contour to distinguish them; and outcomes, if
    # more than a relative part is cut off.
    indistinct_placements: float = 150.0
    indistinct_outcomes: float = 50.0
    visible: float = 1e-9
    # An outcome with its last hit at the edge of a tail belongs to it or not, while a smooth
    # distribution counts a part. The error of all is at most this many times the root of the sum
    # of their squared probabilities.
    edge: float = 2.0
    # Doubtful part of the difference by merging, far above the mean; and parts of the last and the
    # last but one difference if there are several.
    doubt_far_up: float = 0.3
    doubt_of_last: float = 0.2
    doubt_of_last_but_one: float = 0.04
    # Relative error above which an upper and a lower tail are unknown: near the lowest value few
    # placements are left, and the estimate is a guess.
    most_error: float = 1.0
    most_error_below: float = 0.03
    # Number of values that are summed together.
    values_together: int = 4


SETTINGS = TrapezoidSettings()


@dataclass(eq=False)
class Nodes:
    """Transform at the nodes of one contour.

    Attributes
    ----------
    theta, step : float
        Tilt, and the distance of the nodes, 2 pi over the period.
    span : float
        Distance of which all values are multiples; 0 if there is none.
    z, log_transform : ndarray of shape (n_nodes,)
        Nodes, and the log transform there.
    log_harmless : float, default=0.0
        Log of the probability a period away on the side where aliases are damped.
    begin : int, default=0
        Index of the first node; larger for nodes around a return of the transform.
    scale : float, default=None
        Log size of the transform at the first node of the contour, if that is none of these.
    """

    theta: float
    step: float
    span: float
    z: Complexes
    log_transform: Complexes
    log_harmless: float = 0.0
    begin: int = 0
    scale: float | None = None

    def up_to(self, n_nodes: int) -> Nodes:
        """The first nodes."""
        if n_nodes >= self.z.size:
            return self
        z, log_transform = self.z[:n_nodes], self.log_transform[:n_nodes]
        return Nodes(self.theta, self.step, self.span, z, log_transform, self.log_harmless)

    @property
    def is_whole(self) -> bool:
        """Whether it covers a period of the transform of values that are multiples of a span."""
        return self.span > 0.0 and self.z.size > np.pi / (self.step * self.span) - 0.5

    @property
    def side(self) -> int:
        """The tail that it gives: 1 the upper, -1 the lower."""
        return 1 if self.theta > 0.0 else -1

    @cached_property
    def _terms(self) -> Complexes:
        """``M(z) / z`` over the size of the first, which is the largest, or nearly so.

        Of values that are multiples of a span h it is ``M(z) h / (1 - exp(-z h))``, the sum over
        all of them from a multiple on.
        """
        scale = self.log_transform[0].real if self.scale is None else self.scale
        return np.asarray(np.exp(self.log_transform - scale) / self._divisors)

    @property
    def _divisors(self) -> Complexes:
        whole = -np.expm1(-self.z * self.span) / self.span if self.span else self.z
        return np.asarray(whole)

    @cached_property
    def weights(self) -> Floats:
        """Sizes of the terms of a transform that does not decay."""
        return 1.0 / np.abs(self._divisors)

    @cached_property
    def sizes(self) -> Floats:
        """Sizes of the terms of the sum."""
        return np.abs(self._terms)

    def log_scale(self, s: Floats) -> Floats:
        """Log of the factor that makes a sum of terms a probability."""
        return np.asarray(self.log_transform[0].real - self.theta * s + np.log(self.step / np.pi))

    def mean_less(self, s: Floats) -> Floats:
        """The mean under the tilt less each s, nearly, up to multiples of twice the period."""
        height = self.z[0].imag
        turn = np.exp(1j * (self.log_transform[0].imag - height * s))
        return np.asarray(np.angle(turn) / height)

    def behind(self, n_nodes: int) -> Nodes:
        """Nodes that are not among the first ones of the contour."""
        first = max(0, n_nodes - self.begin)
        return replace(
            self,
            z=self.z[first:],
            log_transform=self.log_transform[first:],
            begin=self.begin + first,
        )

    def tail(
        self,
        s: Floats,
        sign: int,
        taper: bool,
        farther: Sequence[Nodes] = (),
        are_complete: ArrayLike = True,
    ) -> tuple[Floats, Floats]:
        """Log tails, and their relative errors if the sum of the terms is off by 1.

        The tail of the other side is the complement of that of the contour's. A taper lets the
        second half of the terms fade out, so that truncation rings only close to jumps. Terms of
        nodes farther out are added, and to some values the probability on the damped side.
        """
        log_scale = self.log_scale(s)
        total = self.side * self._sum(self._terms * fade(self.z.size) if taper else self._terms, s)
        for nodes in farther:
            total = total + self.side * nodes._sum(nodes._terms, s)
        # Aliases on the damped side add 1 / (exp(|theta| T) + 1) of their probability.
        inside = self.log_harmless - np.logaddexp(0.0, abs(self.theta) * 2.0 * np.pi / self.step)
        total = total + np.where(are_complete, np.exp(np.minimum(inside - log_scale, 700.0)), 0.0)
        log_factor = log_scale
        if self.side != sign:
            total = 1.0 - total * np.exp(np.minimum(log_scale, 50.0))
            log_factor = np.zeros(s.shape)
        positive = total > 0.0
        log_p = np.where(positive, np.log(np.where(positive, total, 1.0)) + log_factor, -np.inf)
        safe = np.where(positive, log_p, 0.0)
        return log_p, np.exp(np.minimum(log_scale - safe, 50.0))

    def atom(self, s: Floats) -> Floats:
        """Half the mass at each s as far as the second half of the nodes resolves it.

        ``P(S = s)`` is the mean of ``E exp(z S) exp(-z s)`` along the contour. On the scale of the
        sums of `tail`.
        """
        terms = np.exp(self.log_transform - self.log_transform[0].real)
        half = terms.size // 2
        terms[:half] = 0.0
        mean = np.abs(self._sum(terms, s)) / (terms.size - half)
        return np.asarray(mean * np.pi / (2.0 * self.step))

    def cut(self, s: Floats, sign: int, log_p: Floats) -> Floats:
        """The largest relative change of tapered tails on shorter contours."""
        most = np.zeros(s.shape)
        for factor in SETTINGS.shorter:
            other = self.up_to(int(factor * self.z.size)).tail(s, sign, taper=True)[0]
            known = np.isfinite(log_p) & np.isfinite(other)
            difference = np.where(known, other, 0.0) - np.where(known, log_p, 0.0)
            change = np.abs(np.expm1(np.minimum(difference, 50.0)))
            most = np.maximum(most, np.where(known, change, np.inf))
        return most

    def jump(self, s: Floats) -> Floats:
        """Half the mass at each s that shorter contours resolve otherwise than the whole.

        Where the distribution is smooth the mass within the resolution falls in proportion to the
        resolution, and nothing is left. A larger change shows structure as fine as the resolution.
        """
        terms = np.exp(self.log_transform - self.log_transform[0].real)

        def within_reach(n_nodes: int) -> Floats:
            weights = np.zeros(terms.size)
            weights[:n_nodes] = fade(n_nodes)
            return np.asarray(np.abs(self._sum(terms * weights, s)) / weights.sum())

        mass, whole = np.zeros(s.shape), within_reach(terms.size)
        for factor in SETTINGS.shorter:
            n_nodes = int(factor * terms.size)
            part = n_nodes / terms.size
            left = np.abs(whole - part * within_reach(n_nodes)) / (1.0 - part)
            mass = np.maximum(mass, left)
        return np.asarray(mass * np.pi / (2.0 * self.step))

    def tails_over_period(self, n_places: int) -> Floats:
        """The tail on the contour's side, with a taper, at 0 and further places in a period."""
        wave = fft(self._terms * fade(self.z.size), n_places)
        places = np.arange(n_places) / n_places
        total = (wave * np.exp(-1j * np.pi * places)).real
        s = places * (2.0 * np.pi / self.step)
        return np.asarray(self.side * total * np.exp(self.log_scale(s)))

    def _sum(self, terms: Complexes, s: Floats) -> Floats:
        """Real part of the sum of ``terms * exp(-i z.imag s)`` for each s: powers of powers.

        Values are summed a few at a time, in arrays of one shape, so that no sum depends on which
        others there are.
        """
        width = int(np.ceil(np.sqrt(terms.size)))
        rows = np.zeros((-(-terms.size // width), width), dtype=complex)
        rows.ravel()[: terms.size] = terms
        together = SETTINGS.values_together
        padded = np.zeros(-(-s.size // together) * together)
        padded[: s.size] = s
        sums = np.empty(padded.size)
        for first in range(0, padded.size, together):
            turn = -1j * self.step * padded[first : first + together]
            within = geometric_rows(
                np.exp(0.5 * turn), np.exp(turn), np.empty((width, together), complex)
            )
            outer = np.empty((rows.shape[0], together), complex)
            geometric_rows(np.exp(self.begin * turn), np.exp(width * turn), outer)
            inner = np.einsum("ij,jk->ik", rows, within)
            sums[first : first + together] = (inner * outer).sum(axis=0).real
        return sums[: s.size]


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
    n_blocks : int
        Number of blocks.
    log_commonest, log_placement : float
        Log probabilities of the commonest outcome, or nearly so, and of a placement.
    log_edge : float
        Log of the squared probability of all outcomes that have their last hit at a given value.
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
        n_blocks: int,
        log_commonest: float,
        log_placement: float,
        log_edge: float,
        cell: float = 0.0,
        has_ties: bool = False,
    ) -> None:
        self._nodes, self._coarser, self._cell = nodes, coarser, cell
        self._has_ties = has_ties
        self._least = SETTINGS.least_error_merged if coarser else SETTINGS.least_error
        self._left_out, self._rounding = left_out, SETTINGS.rounding * math.sqrt(n_blocks)
        self._log_commonest, self._log_placement = log_commonest, log_placement
        self._log_edge = log_edge

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
            merging = DOUBT_OF_MERGED_TIES * self._largest_change(s, sign, changes[0])
        elif len(changes) > 1:
            last, before = np.abs(changes[0]), np.abs(changes[1])
            return np.maximum(
                SETTINGS.doubt_of_last * last, SETTINGS.doubt_of_last_but_one * before
            )
        else:
            doubt = DOUBT_OF_MERGING if self._nodes.side < 0 else SETTINGS.doubt_far_up
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


def fade(n_nodes: int, part: float = 0.5) -> Floats:
    """Weights that fade out in the last part of a contour: a taper."""
    left = (n_nodes - 0.5 - np.arange(n_nodes)) / (part * n_nodes)
    return np.asarray(np.sin(0.5 * np.pi * np.minimum(left, 1.0)) ** 2)


def over_a_period(waves: Complexes) -> Floats:
    """Distributions (rows) over a period, from their transforms at multiples of 2 pi over it."""
    return np.asarray(irfft(waves.conj(), next_fast_len(2 * waves.shape[1]), axis=1))


def interpolated(values: Floats, factor: int, offset: float, n_nodes: int) -> Complexes:
    """Transforms (rows) of distributions over a period at nodes denser by a factor.

    The first node is the offset over the period.
    """
    n_places = values.shape[1]
    values = values * np.exp(1j * offset / n_places * np.arange(n_places))
    between = ifft(values, n_places * factor, axis=1)[:, :n_nodes]
    return np.asarray(between * (n_places * factor))


def exp_of_error(log: Floats) -> Floats:
    """Of an error that is too large anyway, no more than floats hold."""
    return np.asarray(np.exp(np.minimum(log, 50.0)))
