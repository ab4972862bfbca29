"""The distribution of the mean of a statistic over independent rankings.

Where the outcomes of all rankings together are few every atom is listed. Else the transform of the
mean is the product of those of the rankings, and a contour inverts it. Where that is too coarse, as
for a few short rankings, the distributions of the rankings are convolved on a lattice under a tilt,
once with every value rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logsumexp

from sklearn_rankinf._engine.distribution import (
    MAX_ATOMS,
    UNKNOWN,
    AffineDistribution,
    Distribution,
    ListedDistribution,
    about_the_mean,
    bracketed,
    constant_value,
    exact_distribution,
    exact_mean_and_variance,
)
from sklearn_rankinf._engine.exact.bounds import middle
from sklearn_rankinf._engine.exact.enumeration import (
    atoms,
    largest_value,
    n_outcomes,
    smallest_value,
)
from sklearn_rankinf._engine.exact.lattice import histograms
from sklearn_rankinf._engine.exact.sums_of_atoms import MOST_VARIABLES, SumsOfAtoms
from sklearn_rankinf._engine.inversion.bands import feasible_bands
from sklearn_rankinf._engine.inversion.contour import ContourInversion
from sklearn_rankinf._engine.inversion.ranking_transform import (
    ROUNDING,
    RankingTransform,
    Transform,
    has_large_blocks,
    largest_increment,
)
from sklearn_rankinf._engine.moments import deviation_of_the_body
from sklearn_rankinf._engine.statistics import (
    Complexes,
    Floats,
    Increments,
    Integers,
    Statistic,
    grouped_increments,
    increments_of,
    log_binomial,
)

# Atoms of a ranking serve its transform up to this many, and its cells up to that many.
_FEW_ATOMS, _MOST_ATOMS = 2_000, 2_000_000
# All sums are listed if they are no more than this.
_MOST_LISTED = 1e6
# Errors above this are worth the sums of all atoms, where these can be listed.
_WORTH_SUMS = 1e-7
# Atoms of all rankings are summed one by one up to this many each.
_MOST_ATOMS_OF_SUMS = 20_000
# Blocks are merged, up to a ratio, where there are more than this; and up to that for planning.
_MERGE_ABOVE, _MERGED, _COARSE = 5_000, 0.02, 0.05
# Errors of contours above this are worth a lattice of so many cells; of fewer if it takes passes
# over the rankings, which may take so many additions. Its sums are kept for so many tilts.
_WORTH_A_LATTICE, _CELLS, _CELLS_OF_PASSES, _WORK_OF_PASSES = 1e-4, 1 << 20, 1 << 17, 3e9
_TILTS_KEPT = 8
# Errors of contours above this are those of atoms, and may be so many times as large as told.
_ATOMS_TELL, _ATOMS_MORE = 1e-8, 10.0
# That is done up to so many placements of all hits, in logarithms.
_LOG_PLACEMENTS_FELT = 100.0
# Rounding of a convolution by Fourier transforms, relative to the tilted total.
_ROUNDING = 1e-14
# Tilts of a bound where nothing better is known, relative to the steepest.
_SMALLER_TILTS = 4.0 ** -np.arange(16)
# Values that differ by less than this, relative to the largest, are the same.
_SAME = 1e-14


@dataclass(frozen=True, eq=False)
class Part:
    """Rankings of the same size, number of hits and ties.

    Attributes
    ----------
    n_samples, n_positives : int
        Size of each ranking and number of hits in it.
    tie_sizes : ndarray or None
        Sizes of the blocks of equal scores, best first; None without ties.
    count : int
        Number of such rankings.
    """

    n_samples: int
    n_positives: int
    tie_sizes: Integers | None
    count: int

    def is_constant(self) -> bool:
        """Whether there are no hits, or nothing but hits."""
        return self.n_positives in (0, self.n_samples)


class _AtomicTransform:
    """The transform of a distribution with few atoms."""

    merged = False

    def __init__(self, increments: Increments, n_positives: int) -> None:
        listed = atoms(increments, n_positives)
        assert listed is not None
        self.values, self.log_counts = listed.values, listed.log_counts
        self.log_weights = listed.log_counts - logsumexp(listed.log_counts)
        self._increments, self._n_positives = increments, n_positives

    @property
    def n_blocks(self) -> int:
        return self._increments.sizes.size

    @property
    def rounding(self) -> float:
        return ROUNDING * math.sqrt(self.n_blocks)

    @property
    def n_counted(self) -> float:
        return float(self._n_positives)

    @property
    def has_large_blocks(self) -> bool:
        sizes = self._increments.sizes
        return has_large_blocks(int(sizes.max()), int(sizes.sum()), self._n_positives)

    @property
    def largest_increment(self) -> float:
        return largest_increment(self._increments)

    @property
    def log_placement(self) -> float:
        return -log_binomial(self._increments.n_samples, self._n_positives)

    @property
    def log_edge(self) -> float:
        return math.log(self._n_positives / self.n_blocks) + self.log_placement

    def log_commonest(self, theta: float) -> float:
        return float(self.log_weights[np.argmax(self.log_weights + theta * self.values)])

    def log_mgfs(self, thetas: Floats) -> Floats:
        exponents = self.log_weights + np.multiply.outer(thetas, self.values)
        return np.asarray(logsumexp(exponents, axis=1))

    def work(self, theta: float, is_extreme: bool) -> float:
        return float(self.values.size)

    def most_rows(self, theta: float, is_extreme: bool) -> int:
        return self.values.size

    def at(self, theta: float, z: Complexes, is_extreme: bool, coarse: bool) -> Complexes:
        exponents = self.log_weights + theta * self.values
        top = exponents.max()
        waves = np.exp(1j * np.multiply.outer(z.imag, self.values))
        return np.asarray(np.log(waves @ np.exp(exponents - top)) + top)


class _MeanTransform:
    """The transform of a mean of independent variables, some with the same distribution."""

    def __init__(
        self, parts: Sequence[tuple[Transform, int]], n_variables: int, is_coarse: bool
    ) -> None:
        self._parts, self._n, self._is_coarse = parts, n_variables, is_coarse
        self.merged = any(part.merged for part, _ in parts)

    def _total(self, of: Callable[[Transform], Any]) -> Any:
        return sum(count * of(part) for part, count in self._parts)

    @property
    def n_blocks(self) -> int:
        return int(self._total(lambda part: part.n_blocks))

    @property
    def rounding(self) -> float:
        return math.sqrt(self._total(lambda part: part.rounding**2))

    @property
    def n_counted(self) -> float:
        return float(self._total(lambda part: part.n_counted))

    @property
    def has_large_blocks(self) -> bool:
        return self._is_coarse or any(part.has_large_blocks for part, _ in self._parts)

    @property
    def largest_increment(self) -> float:
        return max(part.largest_increment for part, _ in self._parts) / self._n

    @property
    def log_placement(self) -> float:
        return float(self._total(lambda part: part.log_placement))

    @property
    def log_edge(self) -> float:
        return float(self._total(lambda part: part.log_edge))

    def log_commonest(self, theta: float) -> float:
        return float(self._total(lambda part: part.log_commonest(theta / self._n)))

    def log_mgfs(self, thetas: Floats) -> Floats:
        return np.asarray(self._total(lambda part: part.log_mgfs(thetas / self._n)))

    def work(self, theta: float, is_extreme: bool) -> float:
        return float(sum(part.work(theta / self._n, is_extreme) for part, _ in self._parts))

    def most_rows(self, theta: float, is_extreme: bool) -> int:
        return max(part.most_rows(theta / self._n, is_extreme) for part, _ in self._parts)

    def at(self, theta: float, z: Complexes, is_extreme: bool, coarse: bool) -> Complexes:
        own = theta / self._n, z / self._n, is_extreme, coarse
        with np.errstate(invalid="ignore"):  # nan where a tilt is beyond floats
            return np.asarray(self._total(lambda part: part.at(*own)))


class MeanDistribution:
    """The distribution of the mean of a statistic over independent rankings.

    Parameters
    ----------
    statistic : AveragePrecision
        The statistic of each ranking: average precision without a cut-off.
    parts : sequence of Part
        The rankings.
    """

    is_listed = False

    def __init__(self, statistic: Statistic, parts: Sequence[Part]) -> None:
        self._statistic = statistic
        self._n = sum(part.count for part in parts)
        self._parts = [part for part in parts if not part.is_constant()]
        constants = [part for part in parts if part.is_constant()]
        self._constant = _mean(
            [constant_value(statistic, p.n_samples, p.n_positives) * p.count for p in constants],
            self._n,
        )
        moments = [
            exact_mean_and_variance(statistic, p.n_samples, p.n_positives, p.tie_sizes)
            for p in self._parts
        ]
        counts = [part.count for part in self._parts]
        of_parts = zip(moments, counts, strict=True)
        self._mean = _mean([mean * count for (mean, _), count in of_parts], self._n)
        of_parts = zip(moments, counts, strict=True)
        self._std = math.sqrt(math.fsum(variance * count for (_, variance), count in of_parts))
        self._std /= self._n

    def tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), its log, and the relative error."""
        t = t - self._constant
        low, high = self._ends
        log_p = np.where(sign * t <= sign * (low if sign > 0 else high), 0.0, -np.inf)
        error = np.full(t.shape, 1e-13)
        inside = (t > low) & (t <= high) if sign > 0 else (t >= low) & (t < high)
        # With ties the best may be out of reach. Values are the same relative to the whole mean.
        log_best = self._log_probability_of_best
        near_best = t >= high - 2e-12 * (high + self._constant)
        at_best = inside & near_best & (sign > 0 and log_best > -np.inf)
        log_p[at_best] = log_best
        left = inside & ~at_best
        log_p[left], error[left] = about_the_mean(self._far_tail, t[left], sign, self._mean)
        # A tail that the other one leaves has bounds of its own.
        near = np.flatnonzero(left & (sign * (t - self._mean) < 0.0))
        near_log_p, near_error = log_p[near], error[near]
        self._put_within_bounds(near_log_p, near_error, t[near], sign)
        log_p[near], error[near] = near_log_p, near_error
        log_p = np.minimum(log_p, 0.0)
        return np.exp(log_p), log_p, error

    def quantile(self, q: Floats, sign: int) -> Floats:
        """Smallest v with ``P(S <= v) >= q`` (sign -1) or ``P(S > v) <= q`` (sign 1)."""
        return bracketed(self, q, sign, self._mean + self._constant, self._std, self.support())

    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        low, high = self._ends
        return low + self._constant, high + self._constant

    def bounds(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Guaranteed bounds of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1)."""
        lower, upper = np.zeros(t.shape), np.ones(t.shape)
        if self._sums is not None:
            lower, upper = self._sums.bounds((t - self._constant) * self._n, sign)
        near = self.support()[0 if sign > 0 else 1]
        certain = sign * t <= sign * near
        return np.where(certain, 1.0, lower), np.where(certain, 1.0, upper)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Smallest and largest value, without what is constant."""
        ends = [[part.count * end for end in self._ends_of(part)] for part in self._parts]
        lowest, highest = zip(*ends, strict=True)
        return _mean(lowest, self._n), _mean(highest, self._n)

    def _ends_of(self, part: Part) -> tuple[float, float]:
        """Smallest and largest value of one ranking."""
        increments, m = self._increments(part), part.n_positives
        if part.tie_sizes is not None:
            return smallest_value(increments, m), largest_value(increments, m)
        at_top = np.arange(part.n_samples) < m
        return float(increments.total(at_top[::-1])), float(increments.total(at_top))

    @cached_property
    def _log_probability_of_best(self) -> float:
        return math.fsum(
            part.count
            * self._statistic.log_probability_of_best(
                part.n_samples, part.n_positives, part.tie_sizes
            )
            for part in self._parts
        )

    def listed(self, most: float = MAX_ATOMS) -> ListedDistribution | None:
        """The distribution by its atoms; None where they are too many."""
        if any(self._n_outcomes(part) > most for part in self._parts):
            return None
        values, log_counts = np.zeros(1), np.zeros(1)
        for part in self._parts:
            one = _AtomicTransform(self._increments(part), part.n_positives)
            for _ in range(part.count):
                if values.size * one.values.size > most:
                    return None
                sums = np.add.outer(values, one.values).ravel()
                counts = np.add.outer(log_counts, one.log_counts).ravel()
                values, log_counts = _merged(sums, counts)
        return ListedDistribution(values / self._n + self._constant, log_counts)

    def of_one(self) -> AffineDistribution | None:
        """The distribution by that of the only ranking that varies; None if there are several."""
        if sum(part.count for part in self._parts) != 1:
            return None
        part = self._parts[0]
        one = exact_distribution(self._statistic, part.n_samples, part.n_positives, part.tie_sizes)
        return AffineDistribution(one, self._constant, 1.0 / self._n)

    def _far_tail(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Tails of values on the tail's side of the mean."""
        log_p, error = self._contour.log_tail(t, sign)
        # What large atoms leave out of the last terms of a contour has been up to 7 times them.
        error = np.where(error > _ATOMS_TELL, _ATOMS_MORE * error, error)
        weak = np.flatnonzero(error > _WORTH_A_LATTICE)
        if weak.size:
            other, other_error = self._on_a_lattice(t[weak], sign)
            better = other_error < error[weak]
            log_p[weak[better]], error[weak[better]] = other[better], other_error[better]
        self._put_within_bounds(log_p, error, t, sign)
        unknown = np.flatnonzero(error > UNKNOWN)
        if unknown.size:
            upper = self._upper_bound(t[unknown], sign)
            log_p[unknown], error[unknown] = np.minimum(np.log(upper), 0.0), np.inf
        return log_p, error

    def _put_within_bounds(self, log_p: Floats, error: Floats, t: Floats, sign: int) -> None:
        """Take the middle of guaranteed bounds where it is closer, and keep to them elsewhere."""
        weak = np.flatnonzero(error > _WORTH_SUMS)
        if not weak.size or self._sums is None:
            return
        lower, upper = self._sums.bounds(t[weak] * self._n, sign)
        log_middle, half = middle(lower, upper)
        better = half < error[weak]
        with np.errstate(divide="ignore"):
            held = np.clip(log_p[weak], np.log(lower), np.log(upper))
        log_p[weak] = np.where(better, log_middle, held)
        error[weak[better]] = half[better]

    def _upper_bound(self, t: Floats, sign: int) -> Floats:
        """An upper bound of the tail on its side of the mean."""
        bound = np.exp(self._log_bound(t, sign))
        if self._sums is not None:
            bound = np.minimum(bound, self._sums.bounds(t * self._n, sign)[1])
        return np.maximum(bound, np.finfo(float).tiny)

    @cached_property
    def _sums(self) -> SumsOfAtoms | None:
        """The atoms of the sum; None where rankings are many, or have many values."""
        if sum(part.count for part in self._parts) > MOST_VARIABLES:
            return None
        if any(self._n_outcomes(part) > _MOST_ATOMS_OF_SUMS for part in self._parts):
            return None
        atoms = [_AtomicTransform(self._increments(part), part.n_positives) for part in self._parts]
        counts = [part.count for part in self._parts]
        return SumsOfAtoms(
            [
                (one.values, np.exp(one.log_weights), count)
                for one, count in zip(atoms, counts, strict=True)
            ]
        )

    def _log_bound(self, t: Floats, sign: int) -> Floats:
        """Chernoff's bound of the log of the tail, from tilts up to the best of merged blocks."""
        bound = np.zeros(t.shape)
        steepest = float(np.abs(self._contour.tilts(t, sign)).max())
        for theta in sign * steepest * _SMALLER_TILTS:
            at_theta = np.array([theta], dtype=complex)
            log_mgf = float(self._transform_of_mean.at(theta, at_theta, False, False)[0].real)
            if math.isfinite(log_mgf):
                bound = np.minimum(bound, log_mgf - theta * t)
        return bound

    def _increments(self, part: Part) -> Increments:
        return increments_of(self._statistic, part.n_samples, part.n_positives, part.tie_sizes)

    def _n_outcomes(self, part: Part) -> float:
        return n_outcomes(self._increments(part).sizes, part.n_positives)

    @cached_property
    def _transforms(self) -> list[tuple[Transform, float]]:
        return [self._transform(part) for part in self._parts]

    @cached_property
    def _transform_of_mean(self) -> _MeanTransform:
        parts = zip(self._transforms, self._parts, strict=True)
        factors = [(own, part.count) for (own, _), part in parts]
        return _MeanTransform(factors, self._n, self._is_coarse)

    @cached_property
    def _contour(self) -> ContourInversion:
        return ContourInversion(self._transform_of_mean, self._std, self._body, self._ends)

    @cached_property
    def _body(self) -> float:
        """The deviation without lucky hits."""
        parts = zip(self._transforms, self._parts, strict=True)
        return math.sqrt(math.fsum(part.count * body**2 for (_, body), part in parts)) / self._n

    def _transform(self, part: Part) -> tuple[Transform, float]:
        """The transform of a ranking, and the deviation of its statistic without lucky hits."""
        m = part.n_positives
        problem = self._statistic, part.n_samples, m, part.tie_sizes
        if part.n_samples <= _MERGE_ABOVE and self._n_outcomes(part) <= _FEW_ATOMS:
            increments = self._increments(part)
            return _AtomicTransform(increments, m), deviation_of_the_body(increments, m)
        body = deviation_of_the_body(grouped_increments(*problem, _COARSE), m)
        resolution = body if body > 0.0 else math.inf
        coarse = grouped_increments(*problem, _COARSE, resolution)
        n_blocks = part.n_samples if part.tie_sizes is None else part.tie_sizes.size
        if n_blocks <= _MERGE_ABOVE:
            return RankingTransform(self._increments(part), coarse, m), body
        merged = grouped_increments(*problem, _MERGED, resolution)
        return RankingTransform(merged, coarse, m, merged=True), body

    @cached_property
    def _is_coarse(self) -> bool:
        """Whether the outcomes of every ranking, or of all together, are few enough to be felt."""
        if all(self._n_outcomes(part) <= _MOST_ATOMS for part in self._parts):
            return True
        log_placements = sum(
            -own.log_placement * part.count
            for (own, _), part in zip(self._transforms, self._parts, strict=True)
        )
        return log_placements <= _LOG_PLACEMENTS_FELT

    @cached_property
    def _lattice(self) -> _Lattice | None:
        """The distributions of the rankings in cells; None where that takes too long."""
        n_additions = sum(
            self._increments(part).sizes.size * part.n_positives
            for part in self._parts
            if self._n_outcomes(part) > _MOST_ATOMS
        )
        if n_additions * _CELLS_OF_PASSES > _WORK_OF_PASSES:
            return None
        n_cells = _CELLS_OF_PASSES if n_additions else _CELLS
        n_lost = sum(self._n_lost(part) * part.count for part in self._parts)
        most = math.fsum(self._ends_of(part)[1] * part.count for part in self._parts)
        width = most / (n_cells - n_lost - 2)
        if width <= 0.0:
            return None
        cells = [(self._cells(part, width), part.count) for part in self._parts]
        return _Lattice(cells, n_cells, width, n_lost)

    def _n_lost(self, part: Part) -> int:
        """Cells that a ranking's value exceeds its cell by less than: one for every rounding."""
        return 1 if self._n_outcomes(part) <= _MOST_ATOMS else part.n_positives

    def _cells(self, part: Part, width: float) -> Floats:
        """Log probabilities of the cells of a ranking's value, rounded down."""
        increments, m = self._increments(part), part.n_positives
        n_cells = int(self._ends_of(part)[1] / width) + 2
        if self._n_outcomes(part) <= _MOST_ATOMS:
            listed = _AtomicTransform(increments, m)
            places = (listed.values / width).astype(np.int64)
            cells = np.bincount(places, np.exp(listed.log_weights), minlength=n_cells)
        else:
            down = histograms(increments, m, width, n_cells, feasible_bands(increments, m))[0]
            # Differences of what was summed from the nearer end keep their digits.
            lower = down.below[1:] < 0.5
            cells = np.where(lower, np.diff(down.below), -np.diff(down.above))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(cells))

    def _on_a_lattice(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Tails between the bounds of a lattice, under the tilt of a contour to each."""
        log_p, error = np.full(t.shape, -np.inf), np.full(t.shape, np.inf)
        if self._lattice is None:
            return log_p, error
        tilts = self._contour.tilts(t, sign)
        for theta in np.unique(tilts):
            same = np.flatnonzero(tilts == theta)
            own = float(theta) / self._n
            log_p[same], error[same] = self._lattice.tail(t[same] * self._n, sign, own)
        return log_p, error


class _Lattice:
    """The sum of independent variables whose distributions are known in cells of a width.

    Parameters
    ----------
    parts : list of tuple
        Log probabilities of the cells of a variable, rounded down, and how many have that
        distribution.
    n_cells : int
        Number of cells of the sum.
    width : float
        Width of a cell.
    n_lost : int
        The sum exceeds its cell by less than so many.
    """

    def __init__(
        self, parts: list[tuple[Floats, int]], n_cells: int, width: float, n_lost: int
    ) -> None:
        self._parts, self._n_cells, self._width, self._n_lost = parts, n_cells, width, n_lost
        self._known: dict[float, tuple[float, Floats, Floats]] = {}

    def tail(self, t: Floats, sign: int, theta: float) -> tuple[Floats, Floats]:
        """Log of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), and its relative error.

        They are between the tails of the cells, which were found under a tilt.
        """
        log_scale, log_above, log_below = self._tilted_sums(theta)
        log_sums = log_above if sign > 0 else log_below
        cells = t / self._width
        edges = [cells, cells - self._n_lost]
        if sign > 0:
            surely, maybe = (np.ceil(edge) for edge in edges)
        else:
            maybe, surely = (np.floor(edge) + 1.0 for edge in edges)
        places = np.clip(np.stack([surely, maybe]), 0, self._n_cells).astype(np.int64)
        reference = log_sums[places[1]]
        known = np.isfinite(reference)
        reference = np.where(known, reference, 0.0)
        # Rounding errors of all cells, at most, when the tilt is taken back.
        rounding = math.log(_ROUNDING * self._n_cells) - theta * self._width * places[1]
        digits = np.exp(np.minimum(rounding - reference, 700.0))
        lower = np.exp(log_sums[places[0]] - reference) - digits
        upper = 1.0 + digits
        known &= lower > 0.0
        lower = np.where(known, lower, 1.0)
        middle = np.where(known, np.log(0.5 * (lower + upper)) + reference + log_scale, -np.inf)
        return middle, np.where(known, 0.5 * (upper - lower) / lower, np.inf)

    def _tilted_sums(self, theta: float) -> tuple[float, Floats, Floats]:
        """Logs of a scale and, on it, of the tails from each edge upwards and downwards."""
        if theta in self._known:
            return self._known[theta]
        product, log_scale = np.ones(self._n_cells // 2 + 1, dtype=complex), 0.0
        for log_cells, count in self._parts:
            tilted = log_cells + theta * self._width * np.arange(log_cells.size)
            log_total = float(logsumexp(tilted))
            product *= np.fft.rfft(np.exp(tilted - log_total), self._n_cells) ** count
            log_scale += count * log_total
        shares = np.maximum(np.fft.irfft(product, self._n_cells), 0.0)
        with np.errstate(divide="ignore"):
            logs = np.log(shares) - theta * self._width * np.arange(shares.size)
        above = np.append(np.logaddexp.accumulate(logs[::-1])[::-1], -np.inf)
        below = np.append(-np.inf, np.logaddexp.accumulate(logs))
        if len(self._known) == _TILTS_KEPT:
            self._known.clear()
        self._known[theta] = log_scale, above, below
        return self._known[theta]


def _merged(values: Floats, log_counts: Floats) -> tuple[Floats, Floats]:
    """Ascending values, those that are equal up to rounding merged."""
    order = np.argsort(values, kind="stable")
    values, log_counts = values[order], log_counts[order]
    first = np.flatnonzero(np.diff(values, prepend=-np.inf) > _SAME * values[-1])
    return values[first], np.logaddexp.reduceat(log_counts, first)


def _mean(values: Sequence[float], n: int) -> float:
    return math.fsum(values) / n if n else 0.0


def mean_distribution(statistic: Statistic, parts: Sequence[Part]) -> Distribution:
    """The distribution of the mean: listed where its outcomes are few, continued else."""
    distribution = MeanDistribution(statistic, parts)
    return distribution.listed(_MOST_LISTED) or distribution.of_one() or distribution
