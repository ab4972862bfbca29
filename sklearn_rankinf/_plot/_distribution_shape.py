"""The shape of a null law on an axis: probabilities of the bins between edges."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._engine.law import AtomicLaw
from sklearn_rankinf._engine.statistics import HitsAtK
from sklearn_rankinf._frozen_distributions import NullDistribution

Floats = NDArray[np.float64]

# The body of the law ends where less than this lies beyond, or that many standard deviations
# below and above the mean.
_BEYOND_BODY = 1e-4
_BODY = (4.0, 7.0)
# Steps, in standard deviations, in which that end is looked for from the mean on.
_STEP = 0.25
_N_BINS = 120
_N_FAR_BINS = 24
# A tail that goes on to an observed value ends where less than this part of its p-value is left,
# or that many standard deviations further on.
_BEYOND_OBSERVED = 1e-2
_MARGIN = 0.5
# Counts of hits that are drawn as bars of their own; more of them are drawn in groups.
_MAX_BARS = 80
# Part of a bin that separates its edge from the observed value.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class DistributionShape:
    """A law as a histogram, with the law's own probabilities.

    Attributes
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Ascending edges of the bins.
    probabilities : ndarray of shape (n_bins,)
        Probabilities of the bins.
    step : float or None
        Distance of neighbouring values, where each bin holds one value of an evenly spaced law.
    """

    edges: Floats
    probabilities: Floats
    step: float | None = None

    def beyond(self, observed: float, *, greater: bool) -> NDArray[np.bool_]:
        """Bins of the values at least as extreme as the observed one, which has an edge by it."""
        # A bin of hits has the observed value in its middle, any other at its very end.
        if greater:
            return np.asarray(self.centres >= observed - _SAME * abs(observed))
        return np.asarray(self.centres <= observed + _SAME * abs(observed))

    @property
    def unit(self) -> float:
        """Width that a density is multiplied by to be a height: one step, or 1 for a density."""
        return 1.0 if self.step is None else self.step

    @property
    def heights(self) -> Floats:
        """Probability of each value of an evenly spaced law, or the density of each bin."""
        return self.probabilities / np.diff(self.edges) * self.unit

    @property
    def centres(self) -> Floats:
        """Middles of the bins."""
        return 0.5 * (self.edges[1:] + self.edges[:-1])

    def heights_of(self, sample: Floats) -> Floats:
        """Heights of a sample from the law, on the same scale."""
        counts, _ = np.histogram(sample, self.edges)
        return counts / sample.size / np.diff(self.edges) * self.unit


def distribution_shape(
    null: NullDistribution, observed: float, *, greater: bool, with_tail: bool
) -> DistributionShape:
    """Compute the shape of a law around its body, with the observed value at an edge.

    Parameters
    ----------
    law : NullDistribution
        The law.
    observed : float
        The observed value.
    greater : bool
        Whether greater values than the observed one are more extreme; else smaller ones are.
    with_tail : bool
        Whether the bins go on to the observed value if it is beyond the body, on the side that is
        more extreme.

    Returns
    -------
    LawShape
        Bins and their probabilities.
    """
    mean, deviation = null.mean(), null.std()
    if deviation == 0.0:
        return _single_value(mean)
    beyond = math.log(_BEYOND_BODY)
    low = _end(null, mean, -1, beyond, _BODY[0] * deviation)
    high = _end(null, mean, 1, beyond, _BODY[1] * deviation)
    body = low, high
    if with_tail and not low <= observed <= high:
        side = 1 if greater else -1
        log_pvalue = float(null.log_pvalue(observed, "greater" if greater else "less"))
        beyond = log_pvalue + math.log(_BEYOND_OBSERVED)
        end = _end(null, observed, side, beyond, _MARGIN * deviation)
        low, high = (low, max(high, end)) if greater else (min(low, end), high)
    if isinstance(null.statistic, HitsAtK):
        return _shape_of_hits(null, null.statistic, low, high, observed, greater)
    edges = _edges(null, body, low, high, observed, greater)
    return DistributionShape(edges, _bin_probabilities(null, edges))


def _end(null: NullDistribution, start: float, side: int, log_beyond: float, most: float) -> float:
    """First value from `start` on beyond which no more of the law lies than wanted.

    It is looked for step by step: far tails, the lower one above all, are the dearest to compute,
    and what is in them is not seen.
    """
    ends = null.support()
    log_tail = null.logsf if side > 0 else null.logcdf
    step = _STEP * null.std()
    for distance in np.arange(step, most + 0.5 * step, step):
        value = start + side * distance
        if not ends[0] < value < ends[1]:
            return ends[side > 0]
        if log_tail(value) < log_beyond:
            return float(value)
    return start + side * most


def _single_value(value: float) -> DistributionShape:
    return DistributionShape(np.array([value - 0.01, value + 0.01]), np.ones(1), 0.02)


def _edges(
    null: NullDistribution,
    inner: tuple[float, float],
    low: float,
    high: float,
    observed: float,
    greater: bool,
) -> Floats:
    """Edges that are close in the body and further apart beyond it."""
    deviation = null.std()
    # Bins are open below: the smallest value must not fall out of the first.
    edges = [np.linspace(inner[0] - 1e-9 * deviation, inner[1], _n_bins(null) + 1)]
    if low < inner[0]:
        edges.append(np.linspace(low, inner[0], _N_FAR_BINS)[:-1])
    if high > inner[1]:
        edges.append(np.linspace(inner[1], high, _N_FAR_BINS)[1:])
    slack = _SAME * max(abs(observed), deviation)
    cut = observed - slack if greater else observed + slack
    if low < cut < high:
        edges.append(np.array([cut]))
    joined = np.unique(np.concatenate(edges))
    # An edge that nearly meets the one at the observed value would cut off a sliver.
    near = (np.abs(joined - cut) < 0.02 * deviation) & (joined != cut)
    near[[0, -1]] = False
    return np.asarray(joined[~near])


def _n_bins(null: NullDistribution) -> int:
    """Number of bins in the body: few values or few resamples fill few bins."""
    if not isinstance(null._distribution, AtomicLaw):
        return _N_BINS
    return min(
        _N_BINS,
        max(12, null._distribution.values.size // (30 if null.method == "analytic" else 150)),
    )


def _bin_probabilities(null: NullDistribution, edges: Floats) -> Floats:
    """Probabilities from the tail on each bin's own side of the mean, where none cancels."""
    upper = edges >= null.mean()
    above, below = np.exp(null.logsf(edges[upper])), np.exp(null.logcdf(edges[~upper]))
    parts = [np.diff(below), -np.diff(above)]
    if above.size and below.size:
        parts.insert(1, np.array([1.0 - below[-1] - above[0]]))
    return np.asarray(np.maximum(np.concatenate(parts), 0.0))


def _shape_of_hits(
    null: NullDistribution,
    statistic: HitsAtK,
    low: float,
    high: float,
    observed: float,
    greater: bool,
) -> DistributionShape:
    """Bins of one hit each, or of a few where they are many, with an edge at the observed value."""
    divisor = float(statistic.divided_by(null.n_samples, null.n_positives))
    _, size, _ = statistic.straddling(null.tie_sizes)
    group = math.ceil((high - low) * divisor / _MAX_BARS)
    step = group / divisor
    is_lattice = group == 1 and int(size) == 1
    # Half a hit from the observed value; ties across rank k put values everywhere between hits.
    offset = 0.5 / divisor if int(size) == 1 else _SAME / divisor
    cut = observed - offset if greater else observed + offset
    first = math.floor((low - cut) / step - 1e-6)
    last = math.ceil((high - cut) / step + 1e-6)
    edges = np.asarray(cut + step * np.arange(first, last + 1), dtype=np.float64)
    probabilities = _bin_probabilities(null, edges)
    return DistributionShape(edges, probabilities, step if is_lattice else None)
