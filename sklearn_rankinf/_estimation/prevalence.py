r"""Metrics in a population of another prevalence, from classes that were sampled apart.

In a case-control or downsampled sample the scores of each class are those of the population, and
only the proportion of the classes differs. With m positives and n_0 negatives, of which :math:`w_i`
score at least as high as positive i, average precision at prevalence :math:`\pi` is the mean over
the positives of

.. math:: p_i = \frac{A_i}{A_i + w_i}, \qquad A_i = n_0 \frac{\pi}{1 - \pi} \frac{i}{m},

the value of scikit-learn with weights :math:`\pi / m` and :math:`(1 - \pi) / n_0`. It depends on
the few negatives at the top: at a recall of 1 and a precision of 1/2 there are about
:math:`T = n_0 \pi` of them. That value is too large, since :math:`1 / (A + w)` is convex in w;
:math:`w_i + 1/2` removes most of its bias.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from sklearn_rankinf._estimation.limits import (
    TopFraction,
    g_inverse,
    g_scale,
    g_slope,
    jeffreys_limits,
    t_quantile,
)
from sklearn_rankinf._ranking import Ranking, check_between, warn_caller
from sklearn_rankinf._statistics import (
    Floats,
    HitBlocks,
    Influence,
    Integers,
    Metric,
    slope_at,
    sums_from_here,
)

# Negatives on which precision rests, n0 times the prevalence: the least for a value, and for one
# without a warning, also with few positives. Each number is the result of simulations.
LEAST_NEGATIVES, ENOUGH_NEGATIVES, ENOUGH_FOR_FEW = 2, 20, 50
# Positives below which more negatives are needed.
FEW_POSITIVES = 50
# Negatives in the top fraction.
LEAST_AT_TOP, ENOUGH_AT_TOP = 10, 25
# Relative rounding error of products.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class PrecisionAtPositives:
    """Precision at the positives, by blocks of equal scores with positives.

    `hits` are the positives of the block, `found` and `misses` the positives and the negatives down
    to its end. `weight` is that of a positive, relative to a negative.
    """

    hits: Integers
    found: Integers
    misses: Integers
    n_negatives: int
    weight: float

    @classmethod
    def of(cls, ranking: Ranking, prevalence: float) -> PrecisionAtPositives:
        with_hits = ranking.hits > 0
        found = np.cumsum(ranking.hits)
        misses = np.cumsum(ranking.tie_sizes) - found
        n0 = int(misses[-1])
        weight = 1.0 / _weight_of_negative(prevalence, ranking.n_samples, ranking.n_positives)
        return cls(ranking.hits[with_hits], found[with_hits], misses[with_hits], n0, weight)

    @property
    def n_positives(self) -> int:
        return int(self.found[-1])

    def average(self, misses: Floats | Integers) -> float:
        """Average precision for other numbers of negatives above the positives."""
        weighted = self.weight * self.found
        return float(self.hits @ (weighted / (weighted + misses))) / self.n_positives

    @property
    def value(self) -> float:
        """Average precision with half a negative more above each positive."""
        return float(self.hits @ self._precision) / self.n_positives

    @property
    def _precision(self) -> Floats:
        weighted = self.weight * self.found
        return np.asarray(weighted / (weighted + self.misses + 0.5))

    @property
    def variance_of_positives(self) -> float:
        r"""The share of the variance that is due to the sampling of positives; nan of a single one.

        Positive j has the influence :math:`[p_j + \sum_{i \ge j} p_i (1 - p_i) / i] / m`.
        """
        return _variance(self.influence_of_positives, self.hits, self.n_positives)

    @property
    def influence_of_positives(self) -> Floats:
        """Influence of one positive of each block."""
        p = self._precision
        return (p + sums_from_here(self.hits * p * (1.0 - p) / self.found)) / self.n_positives

    @property
    def variance_of_negatives(self) -> float:
        r"""The share that is due to the sampling of negatives; nan of a single one.

        A negative has the influence :math:`-\sum p_i^2 / (A_i m)` over the positives below it. The
        half negative that was added stands above the first positive.
        """
        n0 = self.n_negatives
        counts = np.diff(self.misses + 0.5, prepend=0.0, append=max(n0, self.misses[-1] + 0.5))
        return _variance(self.influence_of_negatives, counts, n0)

    @property
    def influence_of_negatives(self) -> Floats:
        """Influence of one negative down to the end of each block, and of one below all of them."""
        each = self.hits * self._precision**2 / (self.weight * self.found)
        return np.append(-sums_from_here(each) / self.n_positives, 0.0)

    def mover_limits(self, level: float) -> tuple[float, float]:
        """Limits on the g scale from both samplings, by variance estimates recovery.

        The distance of a limit is the root of the sum of the squares of two distances: that of a t
        interval for the sampling of positives, and that of average precision with Jeffreys' limits
        of the share of negatives above each positive, all at once. The first one is measured with
        the slope of g at the value, above it with that at the upper end of the second one if it is
        steeper: near 1, where half a negative moves the value of a strong ranker away from the
        end, limits with the slope at the value are too low in a tenth of the data sets. If every
        positive scores above all negatives, the share of positives that do may still be
        ``(alpha / 2) ** (1 / m)``.
        """
        variance, m, n0 = self.variance_of_positives, self.n_positives, self.n_negatives
        if math.isnan(variance):
            return 0.0, 1.0
        t, half = float(t_quantile(m - 1.0, level)), (self.misses + 0.5) / n0
        few, many = jeffreys_limits(self.misses, n0, level)
        shares = half, np.maximum(many, half), np.minimum(few, half)
        values = np.array([self.average(n0 * share) for share in shares])
        centre, *ends = g_scale(values)
        slope, _, upper_slope = g_slope(values)
        of_positives = t * math.sqrt(variance) * np.array([slope, max(slope, upper_slope)])
        of_negatives = t / float(ndtri((1.0 + level) / 2.0)) * (ends - centre)
        distance = np.hypot(of_positives, of_negatives)
        low, high = (float(limit) for limit in g_inverse(centre + distance * [-1.0, 1.0]))
        if self.misses[-1] == 0:
            low, high = min(low, ((1.0 - level) / 2.0) ** (1.0 / m)), 1.0
        return min(low, self.value), max(high, self.value)


def _variance(influence: Floats, counts: Floats | Integers, n_items: int) -> float:
    """Sum of squares of centred influence values of n items; nan of a single one."""
    if n_items < 2:
        return math.nan
    centred = influence - counts @ influence / counts.sum()
    return float(counts @ centred**2) * n_items / (n_items - 1)


def top_fraction(ranking: Ranking, fraction: float, prevalence: float) -> TopFraction:
    r"""Hits, misses and slope at the top fraction of a population with this prevalence.

    Down to the threshold, at h hits and w misses, :math:`\pi h / m + (1 - \pi) w / n_0` is the
    fraction. Positives are a share L of the items there in the sample, and in the population

    .. math:: \frac{\pi L / m}{\pi L / m + (1 - \pi) (1 - L) / n_0}.
    """
    n, m = ranking.n_samples, ranking.n_positives
    of_positive, of_negative = prevalence / m, (1.0 - prevalence) / (n - m)
    ends, found = (np.append(0, np.cumsum(of)) for of in (ranking.tie_sizes, ranking.hits))
    hits = float(np.interp(fraction, of_positive * found + of_negative * (ends - found), found))
    misses = (fraction - of_positive * hits) / of_negative
    rank = min(max(round(hits + misses), 1), n - 1)
    share = slope_at(ranking.tie_sizes, ranking.hits, rank)
    slope = of_positive * share / (of_positive * share + of_negative * (1.0 - share))
    numbers = hits, misses, slope, m, n - m, fraction / prevalence, (1 - fraction) / prevalence - 1
    return TopFraction(*(np.asarray(number, dtype=float) for number in numbers))


def _weight_of_negative(prevalence: float, n_samples: int, n_positives: int) -> float:
    """Weight of a negative in the population, relative to a positive."""
    return (1.0 - prevalence) / prevalence * n_positives / (n_samples - n_positives)


# Metrics in a population, of one list or of many.


@dataclass(frozen=True, repr=False)
class MetricInPopulation(Metric, ABC):
    """A metric in a population with a given prevalence."""

    metric: Any
    prevalence: float

    @property
    def title(self) -> str:
        return str(self.metric.title)

    @abstractmethod
    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence:
        """Influence of the items of a ranking."""


class AveragePrecisionInPopulation(MetricInPopulation):
    """Average precision with half a negative more above each positive."""

    def best(self, n_samples: int, n_positives: int) -> float:
        return 1.0

    def evaluate(self, tie_sizes: Integers, hits: Integers) -> float:
        return PrecisionAtPositives.of(Ranking(tie_sizes, hits), self.prevalence).value

    def totals(self, blocks: HitBlocks, *, are_kept: bool) -> Floats:
        """Values of several lists, with the mean over the orders of a block unless it is kept.

        The mean is exact for blocks with one hit and for blocks of hits. For others the number of
        hits before a hit in the block is replaced by its mean.
        """
        m = blocks.n_positives
        weight = _weight_of_negative(self.prevalence, blocks.n_samples, m)
        lists, hits, found = blocks.lists, blocks.hits, blocks.before + blocks.hits
        misses = blocks.starts + blocks.sizes - found
        if not are_kept:
            # One row for each place of a block, on which a hit is with probability hits / size.
            sizes = blocks.sizes
            place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            others = place / np.repeat(np.maximum(sizes - 1, 1), sizes)
            lists = np.repeat(lists, sizes)
            found = np.repeat(blocks.before + 1, sizes) + others * np.repeat(hits - 1, sizes)
            before = np.repeat(blocks.starts - blocks.before, sizes)
            misses = before + others * np.repeat(sizes - hits, sizes)
            hits = np.repeat(hits / sizes, sizes)
        gains = hits * found / (found + weight * (misses + 0.5))
        return np.bincount(lists, gains, minlength=blocks.n_lists) / m

    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence:
        counts = PrecisionAtPositives.of(Ranking(tie_sizes, hits), self.prevalence)
        # Number from 0 of the first block with positives from here on.
        at: Integers = np.cumsum(hits > 0) - (hits > 0)
        positive = np.append(counts.influence_of_positives, 0.0)
        return Influence(tie_sizes, hits, positive[at], counts.influence_of_negatives[at])


class HitsInPopulation(MetricInPopulation):
    """A multiple of recall in the top fraction of the population."""

    def best(self, n_samples: int, n_positives: int) -> float:
        """Value if all positives of the population are in the fraction."""
        return self.prevalence / float(self.metric.divided_by(1, self.prevalence))

    def evaluate(self, tie_sizes: Integers, hits: Integers) -> float:
        recall = top_fraction(Ranking(tie_sizes, hits), self.metric.k, self.prevalence).recall
        return float(recall) * self.best(int(tie_sizes.sum()), int(hits.sum()))

    def totals(self, blocks: HitBlocks, *, are_kept: bool) -> Floats:
        n, m = blocks.n_samples, blocks.n_positives
        inside = self._share_inside(blocks.starts, blocks.sizes, blocks.before, blocks.hits, n, m)
        found = np.bincount(blocks.lists, blocks.hits * inside, minlength=blocks.n_lists)
        return np.asarray(self.best(n, m) * found / m)

    def _share_inside(
        self,
        starts: Integers,
        sizes: Integers,
        before: Integers,
        hits: Integers,
        n_samples: int,
        n_positives: int,
    ) -> Floats:
        """Share of each block that is in the top fraction."""
        weight = _weight_of_negative(self.prevalence, n_samples, n_positives)
        left = self.metric.k * n_positives / self.prevalence
        left = left - (before + weight * (starts - before))
        return np.asarray(np.clip(left / (hits + weight * (sizes - hits)), 0.0, 1.0))

    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence:
        n, m = int(tie_sizes.sum()), int(hits.sum())
        starts, before = (np.cumsum(of) - of for of in (tie_sizes, hits))
        inside = self._share_inside(starts, tie_sizes, before, hits, n, m)
        slope = top_fraction(Ranking(tie_sizes, hits), self.metric.k, self.prevalence).slope
        each = self.best(n, m) / m * inside
        weight = _weight_of_negative(self.prevalence, n, m)
        return Influence(tie_sizes, hits, each * (1.0 - slope), -each * slope * weight)


# Whether a sample is large enough, and the prevalence possible.


def check_prevalence(prevalence: Any) -> float | None:
    """The prevalence as a float, or None for that of the sample."""
    return None if prevalence is None else check_between(prevalence, "prevalence")


def check_negatives(n_positives: int, n_negatives: int, prevalence: float, method: str) -> None:
    """Raise an error, or warn, if precision at the prevalence rests on few negatives."""
    count = n_negatives * prevalence * (1.0 + _ROUNDING)
    rests = (
        f"At prevalence={prevalence:g} average precision rests on about {count:.3g} of the "
        f"{n_negatives} negatives"
    )
    enough = ENOUGH_FOR_FEW if n_positives < FEW_POSITIVES else ENOUGH_NEGATIVES
    if count < LEAST_NEGATIVES:
        raise ValueError(
            f"{rests}, too few for a value: at least {_needed(LEAST_NEGATIVES, prevalence)} "
            f"negatives are needed, and {_needed(enough, prevalence)} for a reliable value."
        )
    if method == "influence" and count < ENOUGH_NEGATIVES:
        raise ValueError(
            f"{rests}, too few for method='influence', which needs "
            f"{_needed(ENOUGH_NEGATIVES, prevalence)} negatives: use method='mover'."
        )
    if count >= enough:
        return
    consequence = "the value may be off by a third although the interval allows for it"
    remedy = "more negatives are needed for a reliable value"
    if n_positives < FEW_POSITIVES:
        rests += f" and on {n_positives} positives"
        consequence = "the interval is too short if only a part of the positives scores high"
        remedy = "more negatives would be enough"
        if count >= ENOUGH_NEGATIVES:
            remedy += f", or {FEW_POSITIVES - n_positives} more positives"
    more = _needed(enough, prevalence) - n_negatives
    warn_caller(f"{rests}, so that {consequence}: {more} {remedy}.", UserWarning)


def check_top_fraction(n_negatives: int, fraction: float) -> None:
    """Raise an error, or warn, if there are few negatives in the top fraction."""
    count = n_negatives * fraction * (1.0 + _ROUNDING)
    rests = f"A top fraction of {fraction:g} rests on about {count:.3g} of {n_negatives} negatives"
    if count < LEAST_AT_TOP:
        raise ValueError(
            f"{rests}, too few for an interval: use a larger fraction, or at least "
            f"{_needed(LEAST_AT_TOP, fraction)} negatives."
        )
    if count < ENOUGH_AT_TOP:
        more = _needed(ENOUGH_AT_TOP, fraction) - n_negatives
        warn_caller(
            f"{rests}, so that the interval may be too short: {more} more negatives are needed for "
            "a reliable one.",
            UserWarning,
        )


def _needed(count: int, share: float) -> int:
    """Number of negatives of which a share is this count."""
    return math.ceil(count / share * (1.0 - _ROUNDING))
