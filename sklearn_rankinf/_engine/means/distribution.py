"""The null distribution of the mean of a statistic over independent queries.

Sections "Means over queries" and "Sums over queries" of doc/theory.rst. If the mean has few values,
they are enumerated. The values of short untied queries are on a lattice of few cells, on which
their distributions are convolved. Otherwise the characteristic functions of the queries multiply
(equation ``map-transform``), and contour inversion gives the tails; samples of the transform beyond
the end of a contour state the error of a transform that does not decay. Two other solvers replace a
contour of a larger error:

* lattice: the distributions of the queries, rounded down to the cells of a lattice, are convolved
  by fast Fourier transforms under the tilt of the contour (equation ``map-bounds``);
* sums of atoms: the sums over either half of the queries are enumerated, and those of small
  probability are merged into intervals (meet in the middle; Horowitz & Sahni, 1974).

Both enclose the tail; the midpoint is returned, with half the distance as its error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from sklearn_rankinf._engine.cache import DistributionCache
from sklearn_rankinf._engine.computed import UNKNOWN
from sklearn_rankinf._engine.distribution import (
    MAX_ATOMS,
    constant_value,
    exact_distribution,
    exact_mean_and_variance,
)
from sklearn_rankinf._engine.estimates import TailEstimates
from sklearn_rankinf._engine.exact.bounds import put_within
from sklearn_rankinf._engine.exact.enumeration import (
    largest_value,
    n_outcomes,
    smallest_value,
)
from sklearn_rankinf._engine.exact.lattice import histograms
from sklearn_rankinf._engine.inversion.band_limited import BandLimitedTails
from sklearn_rankinf._engine.inversion.bands import feasible_bands
from sklearn_rankinf._engine.inversion.contour import ContourInversion
from sklearn_rankinf._engine.inversion.ranking_transform import (
    RankingTransform,
    Transform,
)
from sklearn_rankinf._engine.listed import AffineDistribution, Distribution, ListedDistribution
from sklearn_rankinf._engine.means.lattice import Lattice
from sklearn_rankinf._engine.means.sums_of_atoms import MOST_VARIABLES, SumsOfAtoms
from sklearn_rankinf._engine.means.transforms import AtomicTransform, MeanTransform
from sklearn_rankinf._engine.quantiles import bracketed
from sklearn_rankinf._statistics.additive import Statistic, increments_of
from sklearn_rankinf._statistics.caching import cached_property
from sklearn_rankinf._statistics.increments import Floats, Increments, Integers
from sklearn_rankinf._statistics.merging import grouped_increments
from sklearn_rankinf._statistics.moments import deviation_of_the_body


@dataclass(frozen=True)
class MeanSettings:
    """Which solvers apply to a mean over queries, and how much work they may take."""

    # Most sums of all queries that are enumerated.
    max_listed: float = 1e6
    # Most outcomes of a query whose transform is the sum over its atoms.
    few_outcomes: float = 2_000
    # Most outcomes of a query that are rounded one by one to the cells of a lattice.
    max_outcomes: float = 2_000_000
    # Blocks of more ranks than this are merged, up to this ratio of their ends; and up to the
    # larger ratio for comparison.
    merge_above: int = 5_000
    merging: float = 0.02
    coarse_merging: float = 0.05
    # Larger errors by truncation and atoms are stated larger by the factor: atoms left out of the
    # last terms of a contour have been up to 7 times the estimate.
    felt_atoms: float = 1e-8
    factor_of_atoms: float = 10.0
    # Transforms of at most this many placements, in logarithms, are sampled closely beyond a
    # contour.
    log_placements_sampled: float = 100.0
    # Common multiples of ranks up to this one, and multiples of these, at which it is sampled too.
    max_multiple: int = 10**9
    n_multiples: int = 8
    # Contours of a larger error are replaced by a lattice of this many cells, fewer if forward
    # passes are needed, which may take this number of additions.
    error_for_lattice: float = 1e-4
    n_cells: int = 1 << 20
    n_cells_of_passes: int = 1 << 17
    max_additions: float = 3e9
    # Most cells of a lattice that holds all values of the mean, of untied queries.
    n_cells_of_span: int = 1 << 22
    # Largest error of the probability of the largest value, of each query.
    rounding_of_largest: float = 1e-12
    # Larger errors are worth the bounds of a finite band.
    error_for_band: float = 1e-2
    # Larger errors are worth the sums of atoms if these are few or have large probabilities, and
    # the second in any case.
    error_for_sums: float = 1e-7
    error_for_any_sums: float = 1e-2
    # Queries whose sums of atoms take no time.
    few_queries: int = 4
    # Sums over half of the queries are few if no more than this are formed at once.
    few_sums: float = 5e6
    # They have large probabilities if the log probability that two of them coincide exceeds this.
    log_coincidence: float = -5.0
    # Most outcomes of a query whose atoms are summed.
    max_outcomes_of_sums: float = 20_000
    # Relative difference of equal values, and of values from the largest one.
    equal: float = 1e-14
    equal_to_largest: float = 2e-12
    # Error of an enumerated probability.
    rounding: float = 1e-13


SETTINGS = MeanSettings()

# Distributions of means, by their queries; up to about 160 MB.
_DISTRIBUTIONS = DistributionCache(max_distributions=64, max_numbers=2e7)


@dataclass(frozen=True, eq=False)
class Part:
    """Queries of the same size, number of positives and ties.

    Attributes
    ----------
    n_samples, n_positives : int
        Numbers of samples and of positives of each query.
    tie_sizes : ndarray or None
        Sizes of the blocks of equal scores, best first; None without ties.
    count : int
        Number of such queries.
    """

    n_samples: int
    n_positives: int
    tie_sizes: Integers | None
    count: int

    def is_constant(self) -> bool:
        """Whether no sample or every sample is positive."""
        return self.n_positives in (0, self.n_samples)


class MeanDistribution:
    """The distribution of the mean of a statistic over independent queries.

    Parameters
    ----------
    statistic : AveragePrecision
        The statistic of each query: average precision without a cut-off.
    parts : sequence of Part
        The queries.
    """

    is_listed = False

    def __init__(self, statistic: Statistic, parts: Sequence[Part]) -> None:
        self._statistic = statistic
        self._n = sum(part.count for part in parts)
        self._parts = [part for part in parts if not part.is_constant()]
        total, means, variances = [], [], []
        for part in parts:
            problem = statistic, part.n_samples, part.n_positives
            if part.is_constant():
                total.append(constant_value(*problem) * part.count)
                continue
            mean, variance = exact_mean_and_variance(*problem, part.tie_sizes)
            means.append(mean * part.count)
            variances.append(variance * part.count)
        # Everything but the support excludes the queries that do not vary.
        self._constant = math.fsum(total) / max(self._n, 1)
        self._mean = math.fsum(means) / max(self._n, 1)
        self._std = math.sqrt(math.fsum(variances)) / max(self._n, 1)

    @property
    def n_kept(self) -> float:
        """Numbers kept on the lattices."""
        lattices = [vars(self).get(name) for name in ("_lattice", "_lattice_of_span")]
        return float(sum(lattice.n_kept for lattice in lattices if lattice is not None))

    def tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), its log, and the relative error."""
        found = self.estimates(t, sign)
        return np.exp(found.log_p), found.log_p, found.error.total

    def estimates(self, t: Floats, sign: int) -> TailEstimates:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), with errors by parts and solvers."""
        t = t - self._constant
        low, high = self._ends
        log_p = np.where(sign * t <= sign * (low if sign > 0 else high), 0.0, -np.inf)
        found = TailEstimates.of(log_p, "closed form", rounding=SETTINGS.rounding)
        inside = (t > low) & (t <= high) if sign > 0 else (t >= low) & (t < high)
        near_best = t >= high - SETTINGS.equal_to_largest * (high + self._constant)
        is_best = inside & near_best & (sign > 0)
        if is_best.any():
            log_best, rounding = self._log_probability_of_best
            is_best &= log_best > -math.inf
            best = np.full(np.count_nonzero(is_best), log_best)
            found.put(is_best, TailEstimates.of(best, "enumeration", rounding=rounding))
        beyond = sign * (t - self._mean) >= 0.0
        outer, inner = inside & ~is_best & beyond, inside & ~is_best & ~beyond
        if outer.any():
            found.put(outer, self._far_tail(t[outer], sign))
        if inner.any():
            rest = self._far_tail(t[inner], -sign).complement()
            self._put_within_bounds(rest, t[inner], sign)
            unknown = np.flatnonzero(rest.error.total > UNKNOWN)
            if unknown.size:
                # A complement has no error below its own, but never lies above 1.
                upper = self.bounds(t[inner][unknown] + self._constant, sign)[1]
                log_p = np.log(np.maximum(upper, np.finfo(float).tiny))
                rest.put(unknown, TailEstimates.of(log_p, "upper bound", enclosure=np.inf))
            found.put(inner, rest)
        np.minimum(found.log_p, 0.0, out=found.log_p)
        return found

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
        certain = sign * t <= sign * self.support()[0 if sign > 0 else 1]
        return np.where(certain, 1.0, lower), np.where(certain, 1.0, upper)

    def of_one(self) -> AffineDistribution | None:
        """The distribution by that of the only query that varies; None if there are several."""
        if sum(part.count for part in self._parts) != 1:
            return None
        part = self._parts[0]
        one = exact_distribution(self._statistic, part.n_samples, part.n_positives, part.tie_sizes)
        return AffineDistribution(one, self._constant, 1.0 / self._n)

    def listed(self, most: float = MAX_ATOMS) -> ListedDistribution | None:
        """The distribution by its atoms; None if they are more than this."""
        if any(self._n_outcomes(part) > most for part in self._parts):
            return None
        sums = _sums_of([(self._atoms(part), part.count) for part in self._parts], most)
        if sums is None:
            return None
        values, log_counts = sums
        return ListedDistribution(values / self._n + self._constant, log_counts)

    # Queries.

    def _increments(self, part: Part) -> Increments:
        return increments_of(self._statistic, part.n_samples, part.n_positives, part.tie_sizes)

    def _n_outcomes(self, part: Part) -> float:
        return n_outcomes(self._increments(part).sizes, part.n_positives)

    def _atoms(self, part: Part) -> AtomicTransform:
        return AtomicTransform(self._increments(part), part.n_positives)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Smallest and largest value."""
        ends = [(part.count, *self._ends_of(part)) for part in self._parts]
        low, high = (math.fsum(end[0] * end[i] for end in ends) for i in (1, 2))
        return low / self._n, high / self._n

    def _ends_of(self, part: Part) -> tuple[float, float]:
        """Smallest and largest value of one query."""
        increments, m = self._increments(part), part.n_positives
        if part.tie_sizes is not None:
            return smallest_value(increments, m), largest_value(increments, m)
        at_top = np.arange(part.n_samples) < m
        return float(increments.total(at_top[::-1])), float(increments.total(at_top))

    @cached_property
    def _log_probability_of_best(self) -> tuple[float, float]:
        """Log probability that every query has its largest value, -inf if unknown; its error."""
        best = self._statistic.log_probability_of_best
        perfect = math.fsum(
            p.count * best(p.n_samples, p.n_positives, p.tie_sizes) for p in self._parts
        )
        if perfect > -np.inf:
            return perfect, SETTINGS.rounding
        # With ties the best value may be unattainable.
        largest = math.fsum(p.count * self._log_probability_of_largest(p) for p in self._parts)
        return largest, SETTINGS.rounding_of_largest * self._n

    def _log_probability_of_largest(self, part: Part) -> float:
        """Log probability of the largest value of a query with ties; -inf if it is not exact."""
        problem = self._statistic, part.n_samples, part.n_positives
        largest = self._ends_of(part)[1] + self._statistic.offset(*problem[1:])
        just_below = np.array([largest * (1.0 - SETTINGS.equal_to_largest)])
        _, log_p, error = exact_distribution(*problem, part.tie_sizes).tail(just_below, 1)
        return float(log_p[0]) if error[0] <= SETTINGS.rounding_of_largest else -math.inf

    # Tails on their own side of the mean.

    def _far_tail(self, t: Floats, sign: int) -> TailEstimates:
        if self._lattice_of_span is None:
            return self._tail_without_span(t, sign)
        found = self._on_lattice(self._lattice_of_span, t, sign)
        unknown = np.flatnonzero(found.error.total > UNKNOWN)
        if unknown.size:
            found.put(unknown, self._tail_without_span(t[unknown], sign))
        return found

    def _tail_without_span(self, t: Floats, sign: int) -> TailEstimates:
        """Tails by contours, between bounds, or upper bounds."""
        found = self._by_contour(t, sign)
        weak = np.flatnonzero(found.error.total > SETTINGS.error_for_lattice)
        if weak.size and self._lattice is not None:
            found.put_better(weak, self._on_lattice(self._lattice, t[weak], sign))
        self._put_within_bounds(found, t, sign)
        weak = np.flatnonzero(found.error.total > SETTINGS.error_for_band)
        if weak.size:
            found.put_better(weak, self._band_limited.tail(t[weak], sign))
        unknown = np.flatnonzero(found.error.total > UNKNOWN)
        if unknown.size:
            bound = self._log_upper_bound(t[unknown], sign)
            found.put(unknown, TailEstimates.of(bound, "upper bound", enclosure=np.inf))
        return found

    def _by_contour(self, t: Floats, sign: int) -> TailEstimates:
        """Tails by inversion of the product of the transforms."""
        found = self._contour.tail(t, sign)
        error = found.error.truncation + found.error.atoms
        felt = np.isfinite(error) & (error > SETTINGS.felt_atoms)
        found.error.atoms[felt] += (SETTINGS.factor_of_atoms - 1.0) * error[felt]
        return found

    @cached_property
    def _is_coarse(self) -> bool:
        """Whether the transform may return: few outcomes of every query, or few placements."""
        if all(self._n_outcomes(part) <= SETTINGS.max_outcomes for part in self._parts):
            return True
        log_placements = sum(
            -own.log_placement * part.count
            for (own, _), part in zip(self._transforms, self._parts, strict=True)
        )
        return log_placements <= SETTINGS.log_placements_sampled

    @property
    def _common_multiples(self) -> Floats:
        """Heights at which the transform may return, narrowly: common multiples of the ranks.

        Values are sums of ratios of whole numbers to ranks, so that the transform of the mean is
        periodic, up to what the last ranks contribute.
        """
        ranks = [
            range(1, p.n_samples + 1) if p.tie_sizes is None else np.cumsum(p.tie_sizes).tolist()
            for p in self._parts
        ]
        multiple = math.lcm(*(part.n_positives for part in self._parts))
        heights = []
        for rank in sorted(set().union(*ranks)):
            multiple = math.lcm(multiple, rank)
            if multiple > SETTINGS.max_multiple:
                break
            heights.append(2.0 * math.pi * self._n * multiple)
        return np.unique(np.outer(heights, np.arange(1, SETTINGS.n_multiples + 1)))

    def _log_upper_bound(self, t: Floats, sign: int) -> Floats:
        """Log of an upper bound: of a finite band, Chernoff's, or of sums of atoms."""
        bound = self._band_limited.log_bounds(t, sign)[1]
        for theta in np.unique(self._contour.tilts(t, sign)).tolist():
            at_theta = np.array([theta], dtype=complex)
            log_mgf = float(self._transform.at(theta, at_theta, False, False)[0].real)
            if math.isfinite(log_mgf):
                bound = np.minimum(bound, log_mgf - theta * t)
        if self._sums is not None:
            upper = np.maximum(self._sums.bounds(t * self._n, sign)[1], np.finfo(float).tiny)
            bound = np.minimum(bound, np.log(upper))
        return bound

    # Transforms.

    @cached_property
    def _contour(self) -> ContourInversion:
        parts = zip(self._transforms, self._parts, strict=True)
        variance = math.fsum(part.count * body**2 for (_, body), part in parts)
        body = math.sqrt(variance) / self._n
        returns = self._common_multiples if self._is_coarse else None
        return ContourInversion(self._transform, self._std, body, self._ends, near_periods=returns)

    @cached_property
    def _band_limited(self) -> BandLimitedTails:
        n_samples = sum(part.n_samples for part in self._parts)
        numbers = n_samples, self._mean, self._std, self._ends
        return BandLimitedTails(self._transform, *numbers)

    @cached_property
    def _transform(self) -> MeanTransform:
        parts = zip(self._transforms, self._parts, strict=True)
        factors = [(own, part.count) for (own, _), part in parts]
        return MeanTransform(factors, self._n, self._is_coarse)

    @cached_property
    def _transforms(self) -> list[tuple[Transform, float]]:
        return [self._transform_of(part) for part in self._parts]

    def _transform_of(self, part: Part) -> tuple[Transform, float]:
        """The transform of a query, and the deviation without its top-stratum positives."""
        n, m, ties = part.n_samples, part.n_positives, part.tie_sizes
        is_short = n <= SETTINGS.merge_above
        if is_short and self._n_outcomes(part) <= SETTINGS.few_outcomes:
            return self._atoms(part), deviation_of_the_body(self._increments(part), m)

        def grouped(ratio: float, resolution: float = math.inf) -> Increments:
            return grouped_increments(self._statistic, n, m, ties, ratio, resolution)

        body = deviation_of_the_body(grouped(SETTINGS.coarse_merging), m)
        resolution = body if body > 0.0 else math.inf
        coarse = grouped(SETTINGS.coarse_merging, resolution)
        if (n if ties is None else ties.size) <= SETTINGS.merge_above:
            return RankingTransform(self._increments(part), coarse, m), body
        return RankingTransform(grouped(SETTINGS.merging, resolution), coarse, m, True), body

    # Sums of atoms.

    def _put_within_bounds(self, found: TailEstimates, t: Floats, sign: int) -> None:
        """Take the midpoint of guaranteed bounds where its error is smaller; else clip to them."""
        error = found.error.total
        weak = np.flatnonzero(error > SETTINGS.error_for_sums)
        if weak.size and not self._are_sums_sharp:
            weak = weak[error[weak] > SETTINGS.error_for_any_sums]
        if not weak.size or self._sums is None:
            return
        put_within(found, weak, self._sums.bounds(t[weak] * self._n, sign), "sums of atoms")

    @cached_property
    def _few_atoms(self) -> list[tuple[AtomicTransform, int]] | None:
        """The atoms of all queries; None if queries or their outcomes are many."""
        most = max((self._n_outcomes(part) for part in self._parts), default=0.0)
        n_queries = sum(part.count for part in self._parts)
        if n_queries > MOST_VARIABLES or most > SETTINGS.max_outcomes_of_sums:
            return None
        return [(self._atoms(part), part.count) for part in self._parts]

    @cached_property
    def _sums(self) -> SumsOfAtoms | None:
        """Sums over either half of the queries."""
        if self._few_atoms is None:
            return None
        return SumsOfAtoms([(x.values, np.exp(x.log_weights), k) for x, k in self._few_atoms])

    @cached_property
    def _are_sums_sharp(self) -> bool:
        """Whether sums over half of the queries are few, or have large probabilities."""
        if self._few_atoms is None:
            return False
        if sum(part.count for part in self._parts) <= SETTINGS.few_queries:
            return True
        coincide = (0.5 * k * logsumexp(2.0 * x.log_weights) for x, k in self._few_atoms)
        if math.fsum(coincide) > SETTINGS.log_coincidence:
            return True
        half = [(x, (k + 1) // 2) for x, k in self._few_atoms]
        return _sums_of(half, SETTINGS.few_sums) is not None

    # Lattice.

    @cached_property
    def _lattice(self) -> Lattice | None:
        """The distributions of the queries in cells; None if that takes too long."""
        is_long = [self._n_outcomes(part) > SETTINGS.max_outcomes for part in self._parts]
        n_additions, n_lost, most = 0, 0, 0.0
        for part, long in zip(self._parts, is_long, strict=True):
            n_additions += long * self._increments(part).sizes.size * part.n_positives
            # A value is rounded down once, or once for every positive by a forward pass.
            n_lost += part.count * (part.n_positives if long else 1)
            most += part.count * self._ends_of(part)[1]
        if n_additions * SETTINGS.n_cells_of_passes > SETTINGS.max_additions:
            return None
        n_cells = SETTINGS.n_cells_of_passes if n_additions else SETTINGS.n_cells
        width = most / (n_cells - n_lost - 2)
        if width <= 0.0:
            return None
        parts = zip(self._parts, is_long, strict=True)
        cells = [(self._cells(part, width, long), part.count) for part, long in parts]
        return Lattice(cells, n_cells, width, n_lost)

    @cached_property
    def _lattice_of_span(self) -> Lattice | None:
        """The distributions of untied queries on a lattice of all their values, if it is short.

        Average precision is a sum of ratios of whole numbers to ranks, over the number of
        positives.
        """
        if any(part.tie_sizes is not None for part in self._parts):
            return None
        multiple, most = 1, sum(part.count * self._ends_of(part)[1] for part in self._parts)
        for part in self._parts:
            for rank in range(1, part.n_samples + 1):
                multiple = math.lcm(multiple, part.n_positives * rank)
                if most * multiple > SETTINGS.n_cells_of_span - 2:
                    return None
        width = 1.0 / multiple
        cells = [(self._cells(part, width, False, np.rint), part.count) for part in self._parts]
        return Lattice(cells, round(most * multiple) + 2, width, 0)

    def _cells(
        self,
        part: Part,
        width: float,
        is_long: bool,
        rounded: Callable[[Floats], Floats] = np.floor,
    ) -> Floats:
        """Log probabilities of the cells of the value of a query, rounded down or to the nearest.

        The forward pass for queries with many outcomes rounds down.
        """
        n_cells = int(self._ends_of(part)[1] / width) + 2
        if is_long:
            increments, m = self._increments(part), part.n_positives
            down = histograms(increments, m, width, n_cells, feasible_bands(increments, m))[0]
            # Differences of sums from the nearer end lose fewer digits.
            lower = down.below[1:] < 0.5
            cells = np.where(lower, np.diff(down.below), -np.diff(down.above))
        else:
            listed = self._atoms(part)
            places = rounded(listed.values / width).astype(np.int64)
            cells = np.bincount(places, np.exp(listed.log_weights), minlength=n_cells)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(cells))

    def _on_lattice(self, lattice: Lattice, t: Floats, sign: int) -> TailEstimates:
        """Tails between the bounds of a lattice, under the tilts of the contours."""
        found = TailEstimates.unknown(t.shape)
        tilts = self._contour.tilts(t, sign)
        for theta in np.unique(tilts).tolist():
            same = tilts == theta
            found.put(same, lattice.tail(t[same] * self._n, sign, theta / self._n))
        return found


def _sums_of(
    variables: Sequence[tuple[AtomicTransform, int]], most: float
) -> tuple[Floats, Floats] | None:
    """Ascending sums of independent variables and their log counts; None if they are too many."""
    values, log_counts = np.zeros(1), np.zeros(1)
    for one, count in variables:
        for _ in range(count):
            if values.size * one.values.size > most:
                return None
            values = np.add.outer(values, one.values).ravel()
            log_counts = np.add.outer(log_counts, one.log_counts).ravel()
            order = np.argsort(values, kind="stable")
            values, log_counts = values[order], log_counts[order]
            apart = np.diff(values, prepend=-np.inf) > SETTINGS.equal * values[-1]
            values = values[apart]
            log_counts = np.logaddexp.reduceat(log_counts, np.flatnonzero(apart))
    return values, log_counts


def mean_distribution(statistic: Statistic, parts: Sequence[Part]) -> Distribution:
    """The distribution of the mean: enumerated if it has few values, computed by tails otherwise.

    Recent distributions are cached.
    """

    def new() -> Distribution:
        distribution = MeanDistribution(statistic, parts)
        return distribution.listed(SETTINGS.max_listed) or distribution.of_one() or distribution

    queries = (
        (
            p.n_samples,
            p.n_positives,
            None if p.tie_sizes is None else p.tie_sizes.tobytes(),
            p.count,
        )
        for p in parts
    )
    found: Distribution = _DISTRIBUTIONS.find((statistic, *queries), new)
    return found
