"""The shape of a null distribution on an axis: probabilities of the bins between edges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._null import NullDistribution, n_listed

Floats = NDArray[np.float64]

# Each side of the body ends at the first value beyond which the distribution has less than this
# probability, and at most the given number of standard deviations below and above the mean.
_BEYOND_BODY = 1e-4
_BODY = (4.0, 7.0)
# Step of the search for the ends of the body from the mean, in standard deviations.
_STEP = 0.25
_N_BINS = 120
_N_FAR_BINS = 24
# A tail that is extended to an observed value ends when less than this fraction of the p-value is
# beyond, or at most the given number of standard deviations further on.
_BEYOND_OBSERVED = 1e-2
_MARGIN = 0.5
# Largest number of counts of hits that are drawn as separate bars; more counts are grouped.
_MAX_BARS = 80
# Relative distance from the observed value that counts as equal.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class DistributionShape:
    """Exact probabilities of the bins between ascending edges.

    `step` is the distance of neighbouring values, if each bin contains one of evenly spaced values.
    """

    edges: Floats
    probabilities: Floats
    step: float | None = None

    def beyond(self, observed: float, *, greater: bool) -> NDArray[np.bool_]:
        """Bins of the values at least as extreme as the observed one, which must be at an edge."""
        # The observed value is in the middle of a bin of hits, and at the end of any other bin.
        if greater:
            return np.asarray(self.centres >= observed - _SAME * abs(observed))
        return np.asarray(self.centres <= observed + _SAME * abs(observed))

    @property
    def unit(self) -> float:
        """Factor from density to height: the step of evenly spaced values, otherwise 1."""
        return 1.0 if self.step is None else self.step

    @property
    def heights(self) -> Floats:
        """Probability of each of evenly spaced values, or the density of each bin."""
        return self.probabilities / np.diff(self.edges) * self.unit

    @property
    def centres(self) -> Floats:
        return 0.5 * (self.edges[1:] + self.edges[:-1])

    def heights_of(self, sample: Floats) -> Floats:
        """Heights of a sample from the distribution, on the same scale."""
        counts, _ = np.histogram(sample, self.edges)
        return counts / sample.size / np.diff(self.edges) * self.unit


def distribution_shape(
    null: NullDistribution, observed: float, *, greater: bool, with_tail: bool
) -> DistributionShape:
    """Bins and their probabilities around the body of a null distribution.

    There is an edge at the observed value. `greater` is whether values greater than it are more
    extreme; `with_tail` is whether the bins extend to it if it is beyond the body on that side.
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
    if null.statistic.counts_hits:
        return _shape_of_hits(null, null.statistic, low, high, observed, greater)
    edges = _edges(null, body, low, high, observed, greater)
    return DistributionShape(edges, _bin_probabilities(null, edges))


def _end(null: NullDistribution, start: float, side: int, log_beyond: float, most: float) -> float:
    """First value from `start` on beyond which the tail probability is small enough.

    The search is stepwise, because far tails, the lower one above all, are the most expensive to
    compute and are not visible.
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
    """Edges that are close together in the body and further apart beyond it."""
    deviation = null.std()
    # Bins exclude their lower edge; the smallest value must be inside the first bin.
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
    # An edge very close to the one at the observed value would create a very narrow bin.
    near = (np.abs(joined - cut) < 0.02 * deviation) & (joined != cut)
    near[[0, -1]] = False
    return np.asarray(joined[~near])


def _n_bins(null: NullDistribution) -> int:
    """Number of bins in the body; fewer for few values or few resamples."""
    n_values = n_listed(null)
    if n_values is None:
        return _N_BINS
    return min(_N_BINS, max(12, n_values // (30 if null.method == "analytic" else 150)))


def _bin_probabilities(null: NullDistribution, edges: Floats) -> Floats:
    """Probabilities of the bins, from the tail on their side of the mean to avoid cancellation."""
    upper = edges >= null.mean()
    above, below = np.exp(null.logsf(edges[upper])), np.exp(null.logcdf(edges[~upper]))
    parts = [np.diff(below), -np.diff(above)]
    if above.size and below.size:
        parts.insert(1, np.array([1.0 - below[-1] - above[0]]))
    return np.asarray(np.maximum(np.concatenate(parts), 0.0))


def _shape_of_hits(
    null: NullDistribution,
    statistic: Any,
    low: float,
    high: float,
    observed: float,
    greater: bool,
) -> DistributionShape:
    """Bins of one hit each, or of a few hits if there are many, with an edge at the observed."""
    divisor = float(statistic.divided_by(null.n_samples, null.n_positives))
    _, size, _ = statistic.straddling(null.tie_sizes)
    group = math.ceil((high - low) * divisor / _MAX_BARS)
    step = group / divisor
    is_lattice = group == 1 and int(size) == 1
    # Half a hit from the observed value; with ties across rank k values lie between whole hits.
    offset = 0.5 / divisor if int(size) == 1 else _SAME / divisor
    cut = observed - offset if greater else observed + offset
    first = math.floor((low - cut) / step - 1e-6)
    last = math.ceil((high - cut) / step + 1e-6)
    edges = np.asarray(cut + step * np.arange(first, last + 1), dtype=np.float64)
    probabilities = _bin_probabilities(null, edges)
    return DistributionShape(edges, probabilities, step if is_lattice else None)
