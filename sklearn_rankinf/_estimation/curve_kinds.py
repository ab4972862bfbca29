"""The curves of a ranking: what is on their axes, and how each is read from one region."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from sklearn_rankinf._estimation.regions import (
    Region,
    observed_cut_off,
    observed_recall,
    spread_out,
    vertices,
)
from sklearn_rankinf._ranking import Ranking, Sample
from sklearn_rankinf._statistics import Floats, Integers, hits_up_to, slopes_at

# Points of a curve at which its limits are computed, and points of the curve of chance.
_MOST_POINTS, _OF_CHANCE = 500, 200
# Negatives above a point of a curve from which its observed value is not called uncertain.
MANY_ABOVE = 10
# Slopes of recall are kept away from 0 and 1, where the ratio of the densities has no bound.
_LEAST_SLOPE = 1e-3
# The correlation of two rankers is multiplied by m / (m + 10): estimates from few positives made
# limits of differences too narrow.
_SHRINKAGE = 10.0


class Influence(NamedTuple):
    """Influence of the items up to a rank on the points of a curve: of positives, of negatives."""

    last: Floats
    positive: Floats
    negative: Floats


@dataclass(frozen=True)
class CurveKind:
    """A curve: its axes, the points at which it has limits, and how they are read.

    The points lie in the range in which simulated limits had their coverage. Without a `prevalence`
    it is that of the sample.
    """

    name: str
    title: str
    x_title: str
    y_title: str
    x_name: str
    y_name: str
    prevalence: float | None = None

    of_difference: ClassVar[Floats]

    # Abscissae of sentences.
    _stated: ClassVar[tuple[float, ...]] = (0.01, 0.05, 0.2)

    @property
    def counts_samples(self) -> bool:
        """Whether the abscissa counts items from the top, or their fraction."""
        return self.x_name in ("k", "fraction")

    @property
    def title_in_text(self) -> str:
        """Title within a sentence."""
        return self.title if self.title.startswith("ROC") else self.title.lower()

    @property
    def x_title_in_text(self) -> str:
        """Title of the abscissa within a sentence."""
        return {"k": "k =", "fraction": "the top fraction"}.get(self.x_name, self.x_title.lower())

    def in_population(self, prevalence: float | None) -> Self:
        """The curve in a population with this prevalence."""
        return self if prevalence is None else replace(self, prevalence=prevalence)

    @property
    def place(self) -> str:
        """The population within a sentence, if it is not that of the sample."""
        if self.prevalence is None:
            return ""
        return f", in a population with prevalence {self.prevalence:g},"

    def _prevalence_of(self, of: Ranking | Region) -> float:
        return of.n_positives / of.n_samples if self.prevalence is None else self.prevalence

    def _weight_of_negative(self, of: Ranking | Region) -> float:
        """Weight of a negative in the population, where all positives together have the weight 1.

        It is that of a positive if the prevalence is that of the sample.
        """
        share = self._prevalence_of(of)
        return (1.0 - share) / share / (of.n_samples - of.n_positives)

    def stated(self, n_samples: int, n_positives: int) -> tuple[float, ...]:
        """Abscissae at which sentences state the curve."""
        return self._stated

    def points(self, ranking: Ranking) -> Floats:
        """Abscissae of the limits."""
        raise NotImplementedError

    def points_of_difference(self, ranking: Ranking) -> Floats:
        """Abscissae of the limits of a difference."""
        return self.of_difference

    def value(self, ranking: Ranking, x: Floats) -> Floats:
        """The observed curve."""
        raise NotImplementedError

    def limits(self, region: Region, x: Floats) -> tuple[Floats, Floats]:
        """Limits of the curve that follow from a region."""
        raise NotImplementedError

    def influence(self, ranking: Ranking, x: Floats) -> Influence:
        """Influence of items on the observed curve."""
        raise NotImplementedError

    def corners(self, ranking: Ranking) -> tuple[Floats, Floats]:
        """Corners of the observed curve as scikit-learn draws it."""
        raise NotImplementedError

    def chance(self, ranking: Ranking) -> tuple[Floats, Floats]:
        """Points of the curve by chance."""
        raise NotImplementedError

    def cut_offs(self, ranking: Ranking, x: Floats) -> Floats:
        """Numbers of items down to points of the observed curve."""
        raise NotImplementedError

    def few_up_to(self, ranking: Ranking, x: Floats) -> float:
        """Last point at another prevalence with few negatives above it; nan if there is none."""
        if self.prevalence is None:
            return math.nan
        ends, found = vertices(ranking)
        few = x[np.interp(self.cut_offs(ranking, x), ends, ends - found) < MANY_ABOVE]
        return float(few[-1]) if few.size else math.nan


class _RecallCurve(CurveKind):
    """Recall at k."""

    def stated(self, n_samples: int, n_positives: int) -> tuple[float, ...]:
        return tuple(sorted({float(n_positives), n_samples / 10.0}))

    def points(self, ranking: Ranking) -> Floats:
        return spread_out(2, ranking.n_samples - 2, _MOST_POINTS).astype(float)

    def points_of_difference(self, ranking: Ranking) -> Floats:
        n, m = ranking.n_samples, ranking.n_positives
        return np.unique(np.round(np.geomspace(max(2.0, m / 10.0), n / 2.0, 24)))

    def value(self, ranking: Ranking, x: Floats) -> Floats:
        return hits_up_to(ranking.tie_sizes, ranking.hits, x) / ranking.n_positives

    def limits(self, region: Region, x: Floats) -> tuple[Floats, Floats]:
        return region.at(x)

    def influence(self, ranking: Ranking, x: Floats) -> Influence:
        slope = _slopes(ranking, x)
        return Influence(x, (1.0 - slope) / ranking.n_positives, -slope / ranking.n_positives)

    def corners(self, ranking: Ranking) -> tuple[Floats, Floats]:
        ends, found = vertices(ranking)
        return ends.astype(float), found / ranking.n_positives

    def in_population(self, prevalence: float | None) -> Self:
        if prevalence is not None:
            raise ValueError(
                "curve='recall' counts items, whose number means nothing at another prevalence: "
                "use curve='gain', or leave out prevalence."
            )
        return self

    def chance(self, ranking: Ranking) -> tuple[Floats, Floats]:
        # Straight in k, also where the axis is logarithmic.
        k = np.append(0.0, np.geomspace(1.0, ranking.n_samples, _OF_CHANCE))
        return k, k / ranking.n_samples


class _GainCurve(CurveKind):
    """Recall in a fraction of the population."""

    def points(self, ranking: Ranking) -> Floats:
        return spread_out(2, ranking.n_samples - 2, _MOST_POINTS) / ranking.n_samples

    def points_of_difference(self, ranking: Ranking) -> Floats:
        n = ranking.n_samples
        first = max(2.0, n * self._prevalence_of(ranking) / 10.0)
        return np.unique(np.round(np.geomspace(first, n / 2.0, 24))) / n

    def value(self, ranking: Ranking, x: Floats) -> Floats:
        return np.interp(x, *self.corners(ranking))

    def limits(self, region: Region, x: Floats) -> tuple[Floats, Floats]:
        return region.recall_at_share(x, self._prevalence_of(region))

    def influence(self, ranking: Ranking, x: Floats) -> Influence:
        last = np.round(self.cut_offs(ranking, x))
        slope, m = _slopes(ranking, last), ranking.n_positives
        weight = self._weight_of_negative(ranking)
        slope = slope / (slope + (1.0 - slope) * m * weight)
        return Influence(last, (1.0 - slope) / m, -slope * weight)

    def cut_offs(self, ranking: Ranking, x: Floats) -> Floats:
        share, _ = self.corners(ranking)
        return np.interp(x, share, vertices(ranking)[0])

    def corners(self, ranking: Ranking) -> tuple[Floats, Floats]:
        ends, found = vertices(ranking)
        recall = found / ranking.n_positives
        share = recall + self._weight_of_negative(ranking) * (ends - found)
        return share / share[-1], recall

    def chance(self, ranking: Ranking) -> tuple[Floats, Floats]:
        # Straight, also where the axis is logarithmic.
        share = np.append(0.0, np.geomspace(1.0 / ranking.n_samples, 1.0, _OF_CHANCE))
        return share, share


class _RocCurve(CurveKind):
    """True-positive rate against false-positive rate."""

    @property
    def place(self) -> str:
        return "" if self.prevalence is None else ", which is the same at every prevalence,"

    of_difference = np.r_[0.02, 0.03, 0.04, np.linspace(0.05, 0.9, 19)]

    def few_up_to(self, ranking: Ranking, x: Floats) -> float:
        return math.nan

    def points(self, ranking: Ranking) -> Floats:
        n0 = ranking.n_samples - ranking.n_positives
        return spread_out(1, max(1, int(0.99 * n0)), _MOST_POINTS) / n0

    def value(self, ranking: Ranking, x: Floats) -> Floats:
        return observed_recall(ranking, x)

    def limits(self, region: Region, x: Floats) -> tuple[Floats, Floats]:
        return region.recall_at_share(x, 0.0)

    def influence(self, ranking: Ranking, x: Floats) -> Influence:
        n, m = ranking.n_samples, ranking.n_positives
        n0, (ends, found) = n - m, vertices(ranking)
        passed = np.ceil(x * n0 - 1e-9)
        last = ends[np.searchsorted(ends - found, passed, side="left")].astype(float)
        slope = np.clip(_slopes(ranking, last), _LEAST_SLOPE, 1.0 - _LEAST_SLOPE)
        ratio = slope * n0 / ((1.0 - slope) * m)
        return Influence(last, np.full(x.size, 1.0 / m), -ratio / n0)

    def corners(self, ranking: Ranking) -> tuple[Floats, Floats]:
        ends, found = vertices(ranking)
        m = ranking.n_positives
        return (ends - found) / (ranking.n_samples - m), found / m

    def chance(self, ranking: Ranking) -> tuple[Floats, Floats]:
        return np.array([0.0, 1.0]), np.array([0.0, 1.0])


class _PrecisionRecallCurve(CurveKind):
    """Precision against recall."""

    of_difference, _stated = np.linspace(0.1, 0.9, 17), (0.2, 0.5, 0.8)

    def points(self, ranking: Ranking) -> Floats:
        m = ranking.n_positives
        first, last = max(1, int(np.ceil(0.02 * m))), max(1, int(0.98 * m))
        return spread_out(first, last, _MOST_POINTS) / m

    def _precision(self, of: Ranking | Region, recall: Floats, cut_off: Floats) -> Floats:
        misses = np.maximum(cut_off - recall * of.n_positives, 0.0)
        return np.asarray(recall / (recall + self._weight_of_negative(of) * misses))

    def value(self, ranking: Ranking, x: Floats) -> Floats:
        return self._precision(ranking, x, self.cut_offs(ranking, x))

    def limits(self, region: Region, x: Floats) -> tuple[Floats, Floats]:
        first, last = region.cut_offs_at_recall(x)
        return self._precision(region, x, last), self._precision(region, x, first)

    def influence(self, ranking: Ranking, x: Floats) -> Influence:
        last = np.round(self.cut_offs(ranking, x))
        slope = np.clip(_slopes(ranking, last), _LEAST_SLOPE, 1.0 - _LEAST_SLOPE)
        each = self._weight_of_negative(ranking) * self._precision(ranking, x, last) ** 2 / x
        return Influence(last, each * (1.0 - slope) / slope, -each)

    def cut_offs(self, ranking: Ranking, x: Floats) -> Floats:
        return observed_cut_off(ranking, x)

    def corners(self, ranking: Ranking) -> tuple[Floats, Floats]:
        ends, found = (each[1:] for each in vertices(ranking))
        recall = found / ranking.n_positives
        share = recall + self._weight_of_negative(ranking) * (ends - found)
        return np.r_[0.0, recall], np.r_[1.0, recall / share]

    def chance(self, ranking: Ranking) -> tuple[Floats, Floats]:
        prevalence = self._prevalence_of(ranking)
        return np.array([0.0, 1.0]), np.array([prevalence, prevalence])


def _slopes(ranking: Ranking, k: Floats) -> Floats:
    last: Integers = np.clip(np.round(k), 1, ranking.n_samples - 1).astype(np.int64)
    return slopes_at(ranking.tie_sizes, ranking.hits, last)


_RECALL = "Recall"
CURVES: Mapping[str, CurveKind] = MappingProxyType(
    {
        "precision_recall": _PrecisionRecallCurve(
            "precision_recall",
            "Precision-recall curve",
            _RECALL,
            "Precision",
            "recall",
            "precision",
        ),
        "roc": _RocCurve(
            "roc",
            "ROC curve",
            "False-positive rate",
            "True-positive rate",
            "false_positive_rate",
            "true_positive_rate",
        ),
        "recall": _RecallCurve(
            "recall", "Recall curve", "Items from the top (k)", _RECALL, "k", "recall"
        ),
        "gain": _GainCurve(
            "gain",
            "Gain curve",
            "Items from the top (fraction of all)",
            _RECALL,
            "fraction",
            "recall",
        ),
    }
)
"""The curves by name, the default first."""


# Two rankers of the same items.


def joint_covariance(
    influence: Sequence[Influence], sample: Sample
) -> tuple[Floats, Floats, Floats, Floats]:
    """Variances of two curves and their covariance at each point; covariance of the difference.

    The influence of an item on a point is one number if the item is in the top of the list, and
    otherwise 0, so that the numbers of items in two tops determine all covariances.
    """
    n_points = influence[0].last.size
    places = [_place_among(each.last, sample, ranker) for ranker, each in enumerate(influence)]
    one, other = np.zeros(n_points), np.zeros(n_points)
    shared, total = np.zeros(n_points), np.zeros((n_points, n_points))
    for members, weights in (
        (sample.positive, [each.positive for each in influence]),
        (~sample.positive, [each.negative for each in influence]),
    ):
        size = int(members.sum())
        a, b = (each[members] for each in places)
        for first, second, of in ((a, a, (0, 0)), (b, b, (1, 1)), (a, b, (0, 1))):
            counts = _counts_in_both(first, second, n_points)
            alone = counts[-1, :-1], counts[:-1, -1]
            inside = counts[:-1, :-1] - np.outer(alone[1], alone[0]) / size
            part = np.outer(weights[of[0]], weights[of[1]]) * inside * (size / (size - 1.0))
            if of == (0, 1):
                shared += np.diag(part)
                total -= part + part.T
            else:
                (other if of[0] else one)[:] += np.diag(part)
                total += part
    return one, other, shared, total


def _place_among(last: Floats, sample: Sample, ranker: int) -> Integers:
    """Number of the first top that contains each item, by the middle of its block."""
    sizes = sample.rankings[ranker].tie_sizes
    middle = np.cumsum(sizes) - (sizes - 1) / 2.0
    return np.searchsorted(last, middle[sample.places(ranker)], side="left")


def _counts_in_both(first: Integers, second: Integers, n_tops: int) -> Floats:
    """Items in every pair of tops; the last row and column are of all items."""
    size = n_tops + 1
    cells = np.bincount(first * size + second, minlength=size * size).reshape(size, size)
    return np.cumsum(np.cumsum(cells, axis=0), axis=1).astype(float)


def shrunk_correlation(one: Floats, other: Floats, shared: Floats, n_positives: int) -> Floats:
    """Correlation from two variances and a covariance, towards 0 if positives are few."""
    scale = np.sqrt(one * other)
    correlation = np.divide(shared, scale, out=np.zeros(scale.shape), where=scale > 0.0)
    return np.asarray(correlation * n_positives / (n_positives + _SHRINKAGE))


def correlation_at_point(metric: Any, values: Sequence[float], sample: Sample) -> float:
    """Correlation of the values of an operating point of two rankers."""
    if min(sample.n_positives, sample.n_items - sample.n_positives) < 2:
        return 0.0
    influence = _OF_POINTS[metric.family]
    found = [
        influence(ranking, np.array([metric.point]), np.array([value]))
        for ranking, value in zip(sample.rankings, values, strict=True)
    ]
    one, other, shared, _ = joint_covariance(found, sample)
    return float(shrunk_correlation(one, other, shared, sample.n_positives)[0])


def _influence_at_precision(ranking: Ranking, precision: Floats, recall: Floats) -> Influence:
    """Influence on recall at a precision, in proportion.

    At the last rank k with this precision the curve falls below the line with slope p, so that the
    influence is that on recall at k, divided by 1 - slope / p.
    """
    last = np.round(recall * ranking.n_positives / precision)
    slope = _slopes(ranking, last)
    return Influence(last, 1.0 - slope, -slope)


# Influence on each operating point, from its line and the observed value.
_OF_POINTS: Mapping[str, Callable[[Ranking, Floats, Floats], Influence]] = {
    "precision_at_recall": lambda ranking, x, _: CURVES["precision_recall"].influence(ranking, x),
    "recall_at_precision": _influence_at_precision,
    "recall_at_fpr": lambda ranking, x, _: CURVES["roc"].influence(ranking, x),
}
