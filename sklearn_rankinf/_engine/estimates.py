"""Tail probabilities with one error budget, and sequences of solvers.

Every solver states the relative error of a tail as the sum of the same six parts, so that answers
of different solvers can be compared, and the best one kept ("The stated error" in doc/theory.rst).
The next solver of a sequence answers for the values whose error is above its threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_rankinf._statistics import Floats

# Error above which a tail is unknown: only an upper bound of it is returned.
UNKNOWN = 0.1
# Smaller parts of a total, or of its largest term, lose digits as floats: logarithms are added.
TINY = 1e-290
# Log of numbers of placements up to which they are counted in whole numbers.
LOG_WHOLE = math.log(2.0**30)
# Relative error of a number for each unit of its logarithm.
ROUNDING_OF_LOGS = 4e-15
# Rounding error of a ratio of counts.
ROUNDING_OF_LISTS = 1e-13
# Tolerance from which contours are shorter, with fewer first nodes and blocks merged further.
ROUGH_TOLERANCE = 5e-3
# Richardson's extrapolation to no merging: merging errs like the square of the ratio of the ends of
# a block, so that 1 / (2.5**2 - 1) of the difference between two ratios is left, one 2.5 times the
# other; and the part of the difference that is doubtful, also far above the mean.
LEFT_OF_MERGING = 1.0 / 5.25
DOUBT_OF_MERGING = 0.1
DOUBT_FAR_UP = 0.3
# Merged blocks of equal scores err less regularly, and those that a rough tolerance merges further
# may err like the ratio itself: all of the difference is doubtful.
DOUBT_IF_IRREGULAR = 1.0

# Natural logarithm of the tail at which the accepted error is twice the tolerance: a search
# compares logarithms, of which an error of the tail is a smaller part the smaller the tail.
_LOG_TWICE = -10.0 * math.log(10.0)


def accepted_error(tolerance: float, log_p: Floats) -> Floats:
    """Relative error of tails that is accepted with a tolerance, which grows with the logarithm."""
    if tolerance == 0.0:
        return np.zeros(log_p.shape)
    return np.asarray(tolerance + tolerance / _LOG_TWICE * np.minimum(log_p, 0.0))


def exp_of_error(log: Floats) -> Floats:
    """Of an error that is too large anyway, no more than floats hold."""
    return np.asarray(np.exp(np.minimum(log, 50.0)))


def without_merging(
    log_p: Floats,
    coarse: Floats,
    known: NDArray[np.bool_],
    is_irregular: bool,
    doubt: float = DOUBT_OF_MERGING,
) -> tuple[Floats, Floats]:
    """Logs of tails from those of merged blocks and of blocks merged further, and their errors.

    Those that are not known stay as they are.
    """
    difference = np.where(known, log_p, 0.0) - np.where(known, coarse, 0.0)
    doubt = DOUBT_IF_IRREGULAR if is_irregular else doubt
    return log_p + LEFT_OF_MERGING * difference, doubt * np.abs(difference)


SOLVERS = (
    "closed form",
    "enumeration",
    "meet in the middle",
    "two or three positives",
    "integer weights",
    "hypergeometric",
    "near-maximum enumeration",
    "contour",
    "stratified contour",
    "conditioning on a block",
    "branch and bound",
    "band-limited bounds",
    "midpoint of bounds",
    "hypergeometric bounds",
    "lattice",
    "sums of atoms",
    "upper bound",
)
"""Names of the algorithms that compute tails."""


PARTS = ("rounding", "truncation", "aliasing", "atoms", "merging", "enclosure")
"""Sources of errors, in the order of the rows of `ErrorEstimate.parts`."""


@dataclass(frozen=True, eq=False)
class ErrorEstimate:
    """Relative error of tail probabilities, by its sources.

    Attributes
    ----------
    parts : ndarray of shape (6, n_values)
        A row for each source; a part that does not occur is 0.
    rounding
        Rounding errors of floats, which grow with the terms of a sum relative to the sum; also the
        smallest error that a method states.
    truncation
        Terms of a trapezoidal rule beyond its last node; paths, strata or branches left out. The
        bound of the strata that an ascending contour leaves out contains its aliasing.
    aliasing
        Probability that lies a period of the trapezoidal rule away.
    atoms
        Part of the probability at the value itself, and at others too close to it to be resolved,
        that a smooth method counts wrongly.
    merging
        Neighbouring blocks of ranks that are treated as one.
    enclosure
        Distance from the answer to the farther of its guaranteed bounds, as a relative error.
    """

    parts: Floats

    rounding = property(lambda self: self.parts[0])
    truncation = property(lambda self: self.parts[1])
    aliasing = property(lambda self: self.parts[2])
    atoms = property(lambda self: self.parts[3])
    merging = property(lambda self: self.parts[4])
    enclosure = property(lambda self: self.parts[5])

    @classmethod
    def of(cls, shape: tuple[int, ...], **parts: ArrayLike) -> ErrorEstimate:
        """An estimate of the given parts; all others are 0."""
        rows = np.zeros((len(PARTS), *shape))
        for name, part in parts.items():
            rows[PARTS.index(name)] = part
        return cls(rows)

    @property
    def total(self) -> Floats:
        """Stated relative error: the sum of all parts."""
        return np.asarray(np.add.reduce(self.parts))

    def at(self, where: NDArray[Any]) -> ErrorEstimate:
        """Those of some values."""
        return ErrorEstimate(self.parts[:, where])


@dataclass(frozen=True, eq=False)
class TailEstimates:
    """Logarithms of tail probabilities, their relative errors, and the solvers that gave them.

    Attributes
    ----------
    log_p : ndarray of shape (n_values,)
        Natural logarithms of the probabilities; -inf where nothing is known.
    error : ErrorEstimate
        Relative errors of the probabilities; infinite where only an upper bound is known.
    solver : ndarray of shape (n_values,)
        Name of the solver of each value; empty where nothing is known.
    """

    log_p: Floats
    error: ErrorEstimate
    solver: NDArray[Any]

    @classmethod
    def of(cls, log_p: Floats, solver: str, **parts: ArrayLike) -> TailEstimates:
        """Tails from one solver, with the parts of their errors."""
        assert not solver or solver in SOLVERS, solver
        names = np.full(log_p.shape, solver, dtype=object)
        return cls(log_p, ErrorEstimate.of(log_p.shape, **parts), names)

    @classmethod
    def unknown(cls, shape: tuple[int, ...]) -> TailEstimates:
        """Nothing known: each probability is 0 with an infinite error."""
        parts = np.zeros((len(PARTS), *shape))
        parts[-1] = np.inf
        return cls(np.full(shape, -np.inf), ErrorEstimate(parts), np.full(shape, "", dtype=object))

    @classmethod
    def between(
        cls, lower: Floats, upper: Floats, solver: str, rounding: float = 0.0
    ) -> TailEstimates:
        """Geometric means of guaranteed bounds; the enclosure is the distance to them.

        Unknown where the lower bound is 0.
        """
        known = lower > 0.0
        log_lower, log_upper = (np.log(np.where(known, each, 1.0)) for each in (lower, upper))
        log_p = np.where(known, 0.5 * (log_lower + log_upper), -np.inf)
        half = np.where(known, np.expm1(0.5 * (log_upper - log_lower)), np.inf)
        return cls.of(log_p, solver, enclosure=half, rounding=rounding)

    def at(self, where: NDArray[Any]) -> TailEstimates:
        """Those of some values."""
        return TailEstimates(self.log_p[where], self.error.at(where), self.solver[where])

    def complement(self) -> TailEstimates:
        """Tails on the other side, ``1 - p``, with the same absolute errors.

        Where only an upper bound of p is known the complement may be 1, and is 0 at least.
        """
        total = self.error.total
        is_bound = np.isinf(total)
        with np.errstate(divide="ignore"):
            log_rest = np.log(-np.expm1(np.minimum(self.log_p, 0.0)))
        ratio = np.exp(np.minimum(self.log_p - log_rest, 50.0))
        ratio = np.where(is_bound & np.isneginf(self.log_p), np.inf, ratio)
        scale = np.where(is_bound, 0.0, ratio) / np.maximum(total, 1.0)
        error = ErrorEstimate(np.where(is_bound, 0.0, self.error.parts) * scale)
        # Errors are relative to what is true, which may be less than what is found.
        error.parts[:] /= 1.0 - np.minimum(error.total, 0.5)
        error.enclosure[:] += np.where(is_bound, ratio, 0.0)
        error.rounding[:] += 1e-13
        log_rest = np.where(is_bound, 0.0, log_rest)
        return TailEstimates(log_rest, error, self.solver.copy())

    def put(self, where: NDArray[Any], other: TailEstimates) -> None:
        """Replace those of some values, in place."""
        self.log_p[where], self.solver[where] = other.log_p, other.solver
        self.error.parts[:, where] = other.error.parts

    def put_better(self, where: NDArray[Any], other: TailEstimates) -> bool:
        """Replace those of some values, in place, where the others have smaller errors.

        Of tails with an infinite error only upper bounds are kept, where nothing else is known.
        Returns whether any are replaced.
        """
        better = other.error.total < self.error.at(where).total
        if not better.all():
            better |= (self.log_p[where] == -np.inf) & (other.solver == "upper bound")
            where, other = where[better], other.at(better)
        self.put(where, other)
        return where.size > 0


FarTail = Callable[[Floats, int], TailEstimates]
"""Tails of values on the tail's side of the mean."""


def about_the_mean(
    far_tail: FarTail,
    t: Floats,
    sign: int,
    mean: float,
    rest: FarTail | None = None,
    enough: float = UNKNOWN,
) -> TailEstimates:
    """Tails on either side of the mean, from those of values on the tail's side of the mean.

    On the other side a tail is the complement of the opposite one, which may be computed with less
    accuracy. If its error exceeds what is enough, as that of a small complement does if most values
    lie below the mean, the tail is computed itself.
    """
    beyond = sign * (t - mean) >= 0.0
    if beyond.all():
        return far_tail(t, sign)
    found = TailEstimates.unknown(t.shape)
    if beyond.any():
        found.put(np.flatnonzero(beyond), far_tail(t[beyond], sign))
    complement = (rest or far_tail)(t[~beyond], -sign).complement()
    weak = np.flatnonzero(complement.error.total > enough)
    if weak.size:
        complement.put_better(weak, far_tail(t[~beyond][weak], sign))
    found.put(np.flatnonzero(~beyond), complement)
    return found


Solve: TypeAlias = Callable[[Floats, int, TailEstimates], TailEstimates]
"""Tails of values, for a sign, given what other solvers have found."""


@dataclass(frozen=True)
class Solver:
    """One algorithm of a sequence.

    Attributes
    ----------
    name : str
        What it does, for readers. Answers have the names of `SOLVERS`.
    solve : callable
        Returns `TailEstimates` of values, for a sign, given what is known of them.
    above : float or callable
        Relative error above which it is tried; or that error for given logarithms of tails.
    of_log : float, default=1e-6
        Relative error of the logarithm of a tail above which it is tried: far out it is the
        logarithm that has to be accurate.
    """

    name: str
    solve: Solve
    above: float | Callable[[Floats], Floats]
    of_log: float = 1e-6


def solve_in_turn(
    solvers: Sequence[Solver],
    t: Floats,
    sign: int,
    found: TailEstimates,
    log_negligible: float,
    tolerance: float = 0.0,
) -> None:
    """Let each solver improve, in place, the tails whose errors are too large.

    Errors of the probability below ``exp(log_negligible)`` are accepted from every solver, and
    those that a tolerance allows.
    """
    has_changed = True
    for solver in solvers:
        if has_changed:
            error, has_changed = found.error.total, False
            known = np.where(np.isfinite(error - found.log_p), found.log_p, 0.0)
            accepted = np.exp(np.minimum(log_negligible - known, 0.0))
            largest = error.max(initial=0.0)
        above = solver.above(known) if callable(solver.above) else solver.above
        if np.isscalar(above) and largest <= above:
            continue
        above = np.maximum(np.maximum(above, -solver.of_log * known), accepted)
        above = np.maximum(above, accepted_error(tolerance, known))
        open_ = np.flatnonzero(error > above)
        if open_.size:
            some = found if open_.size == t.size else found.at(open_)
            has_changed = found.put_better(open_, solver.solve(t[open_], sign, some))
