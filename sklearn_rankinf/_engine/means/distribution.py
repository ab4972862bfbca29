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
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import merge

import numpy as np
from scipy.special import logsumexp

from sklearn_rankinf._engine.cache import DistributionCache
from sklearn_rankinf._engine.estimates import UNKNOWN, TailEstimates
from sklearn_rankinf._engine.exact.enumeration import MAX_ATOMS
from sklearn_rankinf._engine.inversion.band_limited import BandLimitedTails
from sklearn_rankinf._engine.inversion.contour import ContourInversion
from sklearn_rankinf._engine.listed import AffineDistribution, Distribution, ListedDistribution
from sklearn_rankinf._engine.means.lattice import Lattice
from sklearn_rankinf._engine.means.sums_of_atoms import MOST_VARIABLES, SumsOfAtoms
from sklearn_rankinf._engine.means.transforms import ListedTransform, MeanTransform
from sklearn_rankinf._engine.means.variables import (
    MAX_OUTCOMES,
    Part,
    SumOfQuery,
    Variable,
    variable_of,
)
from sklearn_rankinf._engine.quantiles import bracketed
from sklearn_rankinf._statistics import Denominators, Floats, cached_property


@dataclass(frozen=True)
class MeanSettings:
    """Which solvers apply to a mean over queries, and how much work they may take."""

    # Nodes times products of the longest contour.
    work_of_contours: float = 5e9
    # Most sums of all queries that are enumerated, and of all first queries together.
    max_listed: float = 1e6
    most_sums: float = 5e7
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
    # Contours of a larger error are replaced by a lattice of this many cells; by one of fewer cells
    # if forward passes are needed, which may take this number of additions, and where bands are
    # not accurate enough.
    error_for_lattice: float = 1e-4
    n_cells: int = 1 << 20
    n_cells_of_passes: int = 1 << 17
    max_additions: float = 5e8
    # Most cells of a lattice that holds all values of the mean.
    n_cells_of_span: int = 1 << 22
    # Most steps of a lattice of all values in a unit: floats cannot distinguish more.
    most_steps: int = 10**10
    # Most returns of the transform of a query within the period of the mean.
    most_returns: int = 64
    # Larger errors are worth the bounds of a finite band.
    error_for_band: float = 1e-2
    # Larger errors are worth the sums of atoms if these are few or have large probabilities, and
    # unknown ones in any case.
    error_for_sums: float = 1e-7
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


class MeanDistribution:
    """The distribution of the mean of a statistic over independent queries.

    Parameters
    ----------
    parts : sequence of Part
        The queries.
    """

    is_listed = False

    def __init__(self, parts: Sequence[Part]) -> None:
        self._n = sum(part.count for part in parts)
        self._parts: list[Variable] = [variable_of(own) for own in parts if not own.is_constant()]
        constant = [part.constant * part.count for part in parts if part.is_constant()]
        constant += [part.offset * part.count for part in self._parts]
        moments = [(part.count, *part.moments) for part in self._parts]
        # Everything but the support excludes the constants.
        self._constant = math.fsum(constant) / max(self._n, 1)
        self._mean = math.fsum(count * mean for count, mean, _ in moments) / max(self._n, 1)
        variance = math.fsum(count * variance for count, _, variance in moments)
        self._std = math.sqrt(variance) / max(self._n, 1)

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
        size = high + abs(self._constant)
        near_best = t >= high - SETTINGS.equal_to_largest * size
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
        if not isinstance(part, SumOfQuery):
            return None
        constant = self._constant - part.offset / self._n
        return AffineDistribution(part.distribution, constant, 1.0 / self._n)

    def listed(self, most: float = MAX_ATOMS) -> ListedDistribution | None:
        """The distribution by its atoms; None if they are more than this."""
        atoms = self._atoms(most)
        sums = None if atoms is None else _sums_of(atoms, most)
        if sums is None:
            return None
        values, log_counts = sums
        return ListedDistribution(values / self._n + self._constant, log_counts)

    # Queries.

    def _atoms(self, most: float) -> list[tuple[ListedTransform, int]] | None:
        """The atoms of all queries, and the numbers of queries; None if a query has more."""
        listed = []
        for part in self._parts:
            atoms = part.atoms if part.n_values <= most else None
            if atoms is None:
                return None
            listed.append((atoms, part.count))
        return listed

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Smallest and largest value."""
        ends = [(part.count, *part.ends) for part in self._parts]
        low, high = (math.fsum(end[0] * end[i] for end in ends) for i in (1, 2))
        return low / self._n, high / self._n

    @cached_property
    def _log_probability_of_best(self) -> tuple[float, float]:
        """Log probability that every query has its largest value, -inf if unknown; its error."""
        of_parts = [(part.count, *part.log_probability_of_largest) for part in self._parts]
        rounding = math.fsum(count * error for count, _, error in of_parts)
        log_p = math.fsum(count * log_p for count, log_p, _ in of_parts)
        return log_p, max(rounding, SETTINGS.rounding)

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
        if not self._has_long_lattice:
            self._put_on_lattice(found, t, sign)
        if self._are_sums_sharp:
            self._put_within_bounds(found, t, sign)
        weak = np.flatnonzero(found.error.total > SETTINGS.error_for_band)
        if weak.size:
            found.put_better(weak, self._band_limited.tail(t[weak], sign))
        # Forward passes take longer than a band.
        if self._has_long_lattice:
            self._put_on_lattice(found, t, sign)
        # Sums that are merged take longer than a band.
        if not self._are_sums_sharp:
            self._put_within_bounds(found, t, sign)
        unknown = np.flatnonzero(found.error.total > UNKNOWN)
        if unknown.size:
            bound = self._log_upper_bound(t[unknown], sign)
            found.put(unknown, TailEstimates.of(bound, "upper bound", enclosure=np.inf))
        return found

    def _by_contour(self, t: Floats, sign: int) -> TailEstimates:
        """Tails by inversion of the product of the transforms."""
        if self._has_steps and not self._span:
            # Steps of different sizes nearly have common multiples everywhere.
            return TailEstimates.unknown(t.shape)
        found = self._contour.tail(t, sign)
        error = found.error.truncation + found.error.atoms
        felt = np.isfinite(error) & (error > SETTINGS.felt_atoms)
        found.error.atoms[felt] += (SETTINGS.factor_of_atoms - 1.0) * error[felt]
        return found

    @cached_property
    def _is_coarse(self) -> bool:
        """Whether the transform may return: few outcomes of every query, or few placements."""
        if all(part.n_outcomes <= MAX_OUTCOMES for part in self._parts):
            return True
        log_placements = sum(-part.log_placement * part.count for part in self._parts)
        return log_placements <= SETTINGS.log_placements_sampled

    @cached_property
    def _denominators(self) -> list[Denominators] | None:
        """Whole numbers c and r of each query: values are sums of multiples of 1 / (c r), if so."""
        known = [part.denominators for part in self._parts]
        found = [own for own in known if own is not None]
        return found if len(found) == len(known) else None

    @property
    def _common_multiples(self) -> Floats:
        """Heights at which the transform may return, narrowly: common multiples of denominators.

        The transform of the mean is periodic, up to what the last ranks contribute.
        """
        if self._denominators is None:
            return np.empty(0)
        multiple, heights = math.lcm(*(scale for scale, _ in self._denominators)), []
        for rank in merge(*(ranks for _, ranks in self._denominators)):
            multiple = math.lcm(multiple, rank)
            if multiple > SETTINGS.max_multiple:
                break
            heights.append(2.0 * math.pi * self._n * multiple)
        return np.unique(np.outer(heights, np.arange(1, SETTINGS.n_multiples + 1)))

    @cached_property
    def _n_steps(self) -> int | None:
        """Number of steps of a lattice of all sums, in a unit; None if there is none, or many."""
        if self._denominators is None:
            return None
        steps = 1
        for scale, ranks in self._denominators:
            for rank in ranks:
                steps = math.lcm(steps, scale * rank)
                if steps > SETTINGS.most_steps:
                    return None
        return steps

    @property
    def _has_steps(self) -> bool:
        """Whether the values of each query are multiples of a step."""
        return any(part.has_steps for part in self._parts)

    @cached_property
    def _span(self) -> float:
        """Step of the mean, if the values of each query are multiples of a step; otherwise 0.

        And if the steps of single queries are not much larger: their transforms return more often.
        """
        if not self._has_steps or self._n_steps is None or self._denominators is None:
            return 0.0
        most_often = self._n_steps // min(scale for scale, _ in self._denominators)
        return 1.0 / (self._n_steps * self._n) if most_often <= SETTINGS.most_returns else 0.0

    @property
    def _returns_of_queries(self) -> Floats:
        """Heights within the period at which the transforms of single queries return."""
        heights = [own for part in self._parts for own in part.near_periods.tolist()]
        for scale in {scale for scale, _ in self._denominators or ()}:
            heights += [2.0 * math.pi * scale * k for k in range(1, (self._n_steps or 0) // scale)]
        return np.unique(heights) * self._n

    def _log_upper_bound(self, t: Floats, sign: int) -> Floats:
        """Log of an upper bound: of a finite band, Chernoff's, or of sums of atoms."""
        bound = self._band_limited.log_bounds(t, sign)[1]
        for theta in np.unique(self._contour.tilts(t, sign)).tolist():
            if self._transform.merged:
                log_mgf = self._transform.log_mgf(theta)
            else:
                inside = self._transform.log_mgf_within(theta, False, theta)
                log_mgf = float(np.logaddexp(inside, self._transform.log_outside(theta, False)))
            if math.isfinite(log_mgf):
                bound = np.minimum(bound, log_mgf - theta * t)
        if self._sums is not None:
            upper = np.maximum(self._sums.bounds(t * self._n, sign)[1], np.finfo(float).tiny)
            bound = np.minimum(bound, np.log(upper))
        return bound

    # Transforms.

    @cached_property
    def _contour(self) -> ContourInversion:
        variance = math.fsum(part.count * part.transform[1] ** 2 for part in self._parts)
        body = math.sqrt(variance) / self._n
        returns = self._common_multiples if self._is_coarse else None
        if self._span:
            returns = self._returns_of_queries
        numbers = self._std, body, self._ends, 0.0, self._span, returns
        return ContourInversion(self._transform, *numbers, most_work=SETTINGS.work_of_contours)

    @cached_property
    def _band_limited(self) -> BandLimitedTails:
        n_samples = sum(part.n_samples for part in self._parts)
        numbers = n_samples, self._mean, self._std, self._ends
        return BandLimitedTails(self._transform, *numbers)

    @cached_property
    def _transform(self) -> MeanTransform:
        factors = [(part.transform[0], part.count) for part in self._parts]
        return MeanTransform(factors, self._n, self._is_coarse)

    # Sums of atoms.

    def _put_within_bounds(self, found: TailEstimates, t: Floats, sign: int) -> None:
        """Take the midpoint of guaranteed bounds where its error is smaller; else clip to them."""
        error = found.error.total
        # Sharp sums lie within the bounds of a lattice, unless this holds the values themselves.
        rounded = (found.solver == "lattice") & (self._lattice_of_span is None)
        weak = np.flatnonzero((error > SETTINGS.error_for_sums) | rounded)
        if weak.size and not self._are_sums_sharp:
            weak = weak[error[weak] > UNKNOWN]
        if not weak.size or self._sums is None:
            return
        bounds = self._sums.bounds(t[weak] * self._n, sign)
        with np.errstate(divide="ignore"):
            found.log_p[weak] = np.clip(found.log_p[weak], *(np.log(bound) for bound in bounds))
        found.put_better(weak, TailEstimates.between(*bounds, "sums of atoms"))

    @cached_property
    def _few_atoms(self) -> list[tuple[ListedTransform, int]] | None:
        """The atoms of all queries; None if queries or their outcomes are many."""
        if sum(part.count for part in self._parts) > MOST_VARIABLES:
            return None
        return self._atoms(SETTINGS.max_outcomes_of_sums)

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
        queries = [(x, 1) for x, count in self._few_atoms for _ in range(count)]
        halves = queries[::2], queries[1::2]
        return all(_sums_of(half, SETTINGS.few_sums) is not None for half in halves)

    # Lattice.

    def _put_on_lattice(self, found: TailEstimates, t: Floats, sign: int) -> None:
        """Take tails on a lattice, in place, where errors are large and theirs are smaller."""
        s = SETTINGS
        worth = s.error_for_band if self._has_long_lattice else s.error_for_lattice
        weak = np.flatnonzero(found.error.total > worth)
        if weak.size and self._lattice is not None:
            found.put_better(weak, self._on_lattice(self._lattice, t[weak], sign))

    @property
    def _has_long_lattice(self) -> bool:
        """Whether the cells of a query come from a forward pass."""
        return any(part.atoms is None for part in self._parts)

    @cached_property
    def _lattice(self) -> Lattice | None:
        """The distributions of the queries in cells; None if that takes too long."""
        is_long = [part.atoms is None for part in self._parts]
        n_additions, n_lost, most = 0, 0, 0.0
        for part, long in zip(self._parts, is_long, strict=True):
            n_additions += long * part.n_blocks * part.n_positives
            # A value is rounded down once, or once for every positive by a forward pass.
            n_lost += part.count * (part.n_positives if long else 1)
            most += part.count * part.ends[1]
        if n_additions * SETTINGS.n_cells_of_passes > SETTINGS.max_additions:
            return None
        n_cells = SETTINGS.n_cells_of_passes if n_additions else SETTINGS.n_cells
        width = most / (n_cells - n_lost - 2)
        if width <= 0.0:
            return None
        cells = [(part.cells(width), part.count) for part in self._parts]
        return Lattice(cells, n_cells, width, n_lost)

    @cached_property
    def _lattice_of_span(self) -> Lattice | None:
        """The distributions of the queries on a lattice of all their values, if it is short."""
        if self._n_steps is None:
            return None
        n_cells = self._ends[1] * self._n * self._n_steps + 2
        if n_cells > SETTINGS.n_cells_of_span or any(part.atoms is None for part in self._parts):
            return None
        width = 1.0 / self._n_steps
        cells = [(part.cells(width, np.rint), part.count) for part in self._parts]
        return Lattice(cells, round(n_cells), width, 0)

    def _on_lattice(self, lattice: Lattice, t: Floats, sign: int) -> TailEstimates:
        """Tails between the bounds of a lattice, under the tilts of the contours."""
        found = TailEstimates.unknown(t.shape)
        tilts = self._contour.tilts(t, sign)
        for theta in np.unique(tilts).tolist():
            same = tilts == theta
            found.put(same, lattice.tail(t[same] * self._n, sign, theta / self._n))
        return found


def _sums_of(
    variables: Sequence[tuple[ListedTransform, int]], most: float
) -> tuple[Floats, Floats] | None:
    """Ascending sums of independent variables and their log counts; None if they are too many."""
    values, log_counts, n_added = np.zeros(1), np.zeros(1), 0
    for one, count in variables:
        for _ in range(count):
            n_sums = values.size * one.values.size
            n_added += n_sums
            if n_sums > most or n_added > SETTINGS.most_sums:
                return None
            values = np.add.outer(values, one.values).ravel()
            log_counts = np.add.outer(log_counts, one.log_counts).ravel()
            order = np.argsort(values, kind="stable")
            values, log_counts = values[order], log_counts[order]
            apart = np.diff(values, prepend=-np.inf) > SETTINGS.equal * values[-1]
            values = values[apart]
            log_counts = np.logaddexp.reduceat(log_counts, np.flatnonzero(apart))
    return values, log_counts


def mean_distribution(parts: Sequence[Part]) -> Distribution:
    """The distribution of the mean: enumerated if it has few values, computed by tails otherwise.

    Recent distributions are cached.
    """

    def new() -> Distribution:
        distribution = MeanDistribution(parts)
        return distribution.listed(SETTINGS.max_listed) or distribution.of_one() or distribution

    found: Distribution = _DISTRIBUTIONS.find(tuple(part.key for part in parts), new)
    return found
