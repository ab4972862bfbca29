"""The transform ``M(z) = E exp(z S)`` of a statistic, as contours and bands need it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from sklearn_rankinf._statistics import Complexes, Floats, Increments, log_binomial

# Rounding error of a pass, over the root of the number of blocks: more than four times the largest
# of 60 contours in comparison with contours of smaller terms. That of a sum of logarithms in closed
# form is more than twice the largest in the upper tail of ROC AUC at (5000, 1000).
ROUNDING = 4e-15
_ROUNDING_OF_LOGARITHMS = 6e-14
# Log of the largest float, nearly.
LARGEST_LOG = 700.0
# The number of hits in a block varies by several if its standard deviation exceeds this.
SEVERAL = 1.5


class Transform(Protocol):
    """The transform ``E exp(z S)`` of a statistic, as contours need it."""

    merged: bool

    @property
    def n_blocks(self) -> int:
        """Number of blocks of equal scores, or of merged ones."""

    @property
    def rounding(self) -> float:
        """Rounding error of a value, relative to the largest ones."""

    @property
    def n_counted(self) -> float:
        """Expected number of hits that add something."""

    @property
    def merges_ties(self) -> bool:
        """Whether blocks of equal scores are merged."""

    @property
    def has_paths(self) -> bool:
        """Whether paths may be limited to those that carry a tail, or are."""

    @property
    def is_limited(self) -> bool:
        """Whether the expectation is restricted to the paths that carry a tail."""

    @property
    def finds_tilts(self) -> bool:
        """Whether tilts are found without log transforms, by `tilt_at`."""

    @property
    def has_ties(self) -> bool:
        """Whether a block has several items."""

    @property
    def has_large_blocks(self) -> bool:
        """Whether the number of hits in a single block varies by several."""

    @property
    def largest_increment(self) -> float:
        """The most that a single hit adds."""

    @property
    def log_placement(self) -> float:
        """Log probability of one placement of the hits."""

    def log_commonest(self, theta: float) -> float:
        """Log probability of the outcome that is commonest under a tilt, or nearly so."""

    def log_mgfs(self, thetas: Floats) -> Floats:
        """Log transforms, or nearly so, at real tilts; nan where not known."""

    def log_mgf(self, theta: float) -> float:
        """Log transform at a real tilt, of the blocks themselves; nan if not known."""

    def work(self, theta: float, is_extreme: bool) -> float:
        """Products for one node at a tilt."""

    def most_rows(self, theta: float, is_extreme: bool) -> int:
        """Largest number of rows at a tilt."""

    def left_out(self, theta: float, is_extreme: bool) -> float:
        """Share of the tilted total that is left out at a tilt, at most."""

    def log_outside(self, theta: float, is_extreme: bool) -> float:
        """Log of a bound of the tilted total of all paths that are left out; inf if not known."""

    def log_mgf_within(self, theta: float, is_extreme: bool, other: float) -> float:
        """Log transform at another real tilt of the paths of a tilt, at most; inf if not known."""

    def at(self, theta: float, z: Complexes, is_extreme: bool, coarse: bool) -> Complexes:
        """Log transforms at nodes of the contour through a tilt; of blocks merged more if so."""

    def tilt_at(self, t: float, sign: int) -> float:
        """A tilt near the saddle point of a value; 0 if it is not known."""

    def jumps(self, t: float, sign: int) -> bool:
        """Whether no tilt puts the mean near t, on the tail's side of the mean."""

    def limited(self, t: float, sign: int) -> Limited | None:
        """The transform of the paths that carry the tail beyond t.

        None if there are no paths, they are limited already, or are not found.
        """

    def log_beyond_limits(self, t: float, sign: int) -> float:
        """Log of a bound of the tail of all paths that `limited` does not bound; inf if unknown."""


class Limited(NamedTuple):
    """The transform of some paths, the log of a bound of the rest of the tail, and their tilt.

    The rest is that of the paths near those that were looked for. The tilt puts their mean near the
    value; the deviation is that of the statistic there.
    """

    transform: Transform
    log_rest: float
    tilt: float
    deviation: float


class OfAllPaths:
    """What transforms that leave no paths out have in common."""

    def log_outside(self, theta: float, is_extreme: bool) -> float:
        return -math.inf

    def log_beyond_limits(self, t: float, sign: int) -> float:
        return -math.inf

    def log_mgf_within(self: Transform, theta: float, is_extreme: bool, other: float) -> float:
        return self.log_mgf(other)


class WithoutPaths(OfAllPaths):
    """What transforms that are no sums over paths of a single ranking have in common."""

    merged = merges_ties = has_paths = is_limited = finds_tilts = False

    def left_out(self, theta: float, is_extreme: bool) -> float:
        return 0.0

    def tilt_at(self, t: float, sign: int) -> float:
        return 0.0

    def jumps(self, t: float, sign: int) -> bool:
        return False

    def limited(self, t: float, sign: int) -> None:
        return None


class ClosedTransform(WithoutPaths):
    """``E exp(z S)`` of one ranking in closed form: a `Transform`.

    Parameters
    ----------
    log_mgf : callable
        Its logarithm for a vector of z.
    n_samples, n_positives : int
        Size of the ranking and number of hits in it.
    largest_increment : float
        The most that a single hit adds.
    """

    has_ties = has_large_blocks = False

    def __init__(
        self,
        log_mgf: Callable[[Complexes], Complexes],
        n_samples: int,
        n_positives: int,
        largest_increment: float,
    ) -> None:
        self._log_mgf = log_mgf
        self._n_factors = min(n_positives, n_samples - n_positives)
        self.n_blocks, self.n_counted = n_samples, float(n_positives)
        self.rounding = _ROUNDING_OF_LOGARITHMS * math.sqrt(n_samples)
        self.largest_increment = largest_increment
        self.log_placement = -log_binomial(n_samples, n_positives)

    def log_commonest(self, theta: float) -> float:
        return self.log_placement

    def log_mgfs(self, thetas: Floats) -> Floats:
        return np.asarray(self._log_mgf(thetas.astype(complex)).real)

    def log_mgf(self, theta: float) -> float:
        return float(self.log_mgfs(np.array([theta]))[0])

    def work(self, theta: float, is_extreme: bool) -> float:
        return float(self._n_factors)

    def most_rows(self, theta: float, is_extreme: bool) -> int:
        return self._n_factors

    def at(self, theta: float, z: Complexes, is_extreme: bool, coarse: bool) -> Complexes:
        return self._log_mgf(z)


def largest_increment(increments: Increments) -> float:
    """The most that a single hit adds."""
    return float(np.abs(increments.of_one_hit).max())


def has_large_blocks(largest: int, n_samples: int, n_positives: int) -> bool:
    """Whether the number of hits in the largest block varies by several."""
    share = n_positives / n_samples
    return largest * share * (1.0 - share) > SEVERAL**2
