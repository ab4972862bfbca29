"""Simulated data sets of other distributions, and how often limits contain the true curve.

Scores are log-normal with different spreads, saturate at the largest value, or have ten levels. The
true curve joins the shares of a million scores of each class above every threshold, or above many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

from sklearn_rankinf import (
    PrecisionAtRecall,
    Ranking,
    RecallAtFpr,
    RecallAtPrecision,
    metric_comparison_test,
    metric_interval,
)
from sklearn_rankinf._estimation.curve_kinds import CURVES
from sklearn_rankinf._estimation.operating_points import METHODS
from sklearn_rankinf._estimation.regions import Region

LEVEL = 0.95
KINDS = {
    **{name: CURVES[name] for name in ("recall", "roc", "precision_recall")},
    "gain at prevalence 0.01": CURVES["gain"].in_population(0.01),
}
_MANY, _THRESHOLDS = 1_000_000, 4_000


@dataclass(frozen=True)
class Scores:
    """A population of scores: ``draw(rng, size, is_positive)``."""

    name: str
    draw: Callable[[np.random.Generator, int, bool], np.ndarray]


def _lognormal(rng, size, is_positive):
    spread, shift = (1.2, 0.9) if is_positive else (1.0, 0.0)
    return np.exp(spread * rng.normal(size=size) + shift)


def _saturated(rng, size, is_positive):
    return np.minimum(1.25 * rng.beta(*((3.0, 1.5) if is_positive else (1.2, 4.0)), size), 1.0)


def _levels(rng, size, is_positive):
    return np.floor(10 * rng.beta(*((2.5, 2.0) if is_positive else (1.3, 3.5)), size))


OTHERS = (
    Scores("log-normal", _lognormal),
    Scores("saturated", _saturated),
    Scores("ten levels", _levels),
)


@lru_cache
def true_rates(population):
    """False-positive rate and recall at falling thresholds, from (0, 0) to (1, 1)."""
    rng = np.random.default_rng(7)
    positive, negative = (np.sort(population.draw(rng, _MANY, label)) for label in (True, False))
    thresholds = np.unique(np.concatenate([positive, negative]))
    if thresholds.size > _THRESHOLDS:
        shares = np.r_[np.geomspace(1e-6, 0.5, 3 * _THRESHOLDS // 4), np.linspace(0.5, 1.0, 1000)]
        thresholds = np.unique(np.quantile(thresholds, 1.0 - shares))
    above = [
        1.0 - np.searchsorted(own, thresholds[::-1], side="left") / _MANY
        for own in (negative, positive)
    ]
    return tuple(np.r_[0.0, own, 1.0] for own in above)


def true_values(population, kind, x, n_samples, n_positives):
    """The true curve."""
    rate, recall = true_rates(population)
    k = (n_samples - n_positives) * rate + n_positives * recall
    if kind.name == "recall":
        return np.interp(x, k, recall)
    if kind.name == "roc":
        return np.interp(x, rate, recall)
    if kind.name == "gain":
        return np.interp(x, kind.prevalence * recall + (1.0 - kind.prevalence) * rate, recall)
    return x * n_positives / np.interp(x, recall, k)


def curve_coverage(population, n_samples, n_positives, n_data_sets, rng):
    """Share of data sets whose limits contain the whole curve, and the least at one point."""
    labels = np.arange(n_samples) < n_positives
    whole, alone = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)
    slack = 1e-9
    for _ in range(n_data_sets):
        n0 = n_samples - n_positives
        scores = [population.draw(rng, size, hit) for size, hit in ((n_positives, 1), (n0, 0))]
        ranking = Ranking.from_scores(labels, np.concatenate(scores))
        regions = Region.simultaneous(ranking, LEVEL, rng), Region.pointwise(ranking, LEVEL)
        for name, kind in KINDS.items():
            x = kind.points(ranking)
            true = true_values(population, kind, x, n_samples, n_positives)
            (low, high), (least, most) = (kind.limits(region, x) for region in regions)
            at_point = (least <= true + slack) & (true - slack <= most)
            # As in the result, limits of the curve are nowhere narrower than those of a point.
            inside = at_point | ((low <= true + slack) & (true - slack <= high))
            whole[name] += bool(inside.all())
            alone[name] = alone[name] + at_point
    return (
        {name: count / n_data_sets for name, count in whole.items()},
        {name: float(np.mean(count) / n_data_sets) for name, count in alone.items()},
    )


def examined_coverage(population, n_samples, n_positives, recall, n_data_sets, rng):
    """Share of data sets whose limits contain the true number of items to examine, by method."""
    labels, n0 = np.arange(n_samples) < n_positives, n_samples - n_positives
    rate, found = true_rates(population)
    true = np.interp(recall, found, n0 * rate + n_positives * found)
    covered = {"region": 0, "exact": 0}
    for _ in range(n_data_sets):
        scores = [population.draw(rng, size, hit) for size, hit in ((n_positives, 1), (n0, 0))]
        ranking = Ranking.from_scores(labels, np.concatenate(scores))
        for method in covered:
            limits = METHODS[method].limits(ranking, recall, LEVEL)
            covered[method] += limits[0] <= np.ceil(true) and np.floor(true) <= limits[1]
    return {method: count / n_data_sets for method, count in covered.items()}


# Operating points: of recall at a precision, the precision is that at the recall in the name.
POINTS = {
    "recall at FPR 0.05": lambda rate, recall, k, m: RecallAtFpr(0.05),
    "recall at FPR 0.2": lambda rate, recall, k, m: RecallAtFpr(0.2),
    "precision at recall 0.5": lambda rate, recall, k, m: PrecisionAtRecall(0.5),
    "precision at recall 0.8": lambda rate, recall, k, m: PrecisionAtRecall(0.8),
    "recall at precision, 0.5": lambda rate, recall, k, m: RecallAtPrecision(
        0.5 * m / np.interp(0.5, recall, k)
    ),
}


def true_point(metric, rate, recall, k, m):
    """An operating point of the true curve."""
    if isinstance(metric, RecallAtFpr):
        return np.interp(metric.fpr, rate, recall)
    if isinstance(metric, PrecisionAtRecall):
        return metric.recall * m / np.interp(metric.recall, recall, k)
    above = m * recall - metric.precision * k
    at = np.flatnonzero(above[:-1] >= 0.0)[-1]
    share = above[at] / (above[at] - above[at + 1])
    return recall[at] + share * (recall[at + 1] - recall[at])


def point_coverage(population, n_samples, n_positives, n_data_sets, rng):
    """Share of data sets whose interval contains each true operating point, and mean widths."""
    labels, n0 = np.arange(n_samples) < n_positives, n_samples - n_positives
    curve = *true_rates(population), n0 * true_rates(population)[0]
    curve = curve[0], curve[1], curve[2] + n_positives * curve[1], n_positives
    metrics = {name: make(*curve) for name, make in POINTS.items()}
    true = {name: true_point(metric, *curve) for name, metric in metrics.items()}
    covered, width = dict.fromkeys(POINTS, 0), dict.fromkeys(POINTS, 0.0)
    for _ in range(n_data_sets):
        scores = [population.draw(rng, size, hit) for size, hit in ((n_positives, 1), (n0, 0))]
        ranking = Ranking.from_scores(labels, np.concatenate(scores))
        for name, metric in metrics.items():
            found = metric_interval(ranking, metric=metric, confidence_level=LEVEL)
            covered[name] += found.low <= true[name] + 1e-9 and true[name] - 1e-9 <= found.high
            width[name] += found.high - found.low
    return tuple(
        {name: count / n_data_sets for name, count in counts.items()} for counts in (covered, width)
    )


def point_comparisons(shifts, n_samples, n_positives, n_data_sets, rng, n_resamples=0):
    """Coverage of differences of operating points, and rejections by rank swaps, of normal scores.

    The scores of the rankers have a correlation of 0.5 within each class.
    """
    labels, n0 = np.arange(n_samples) < n_positives, n_samples - n_positives
    curves = []
    for shift in shifts:
        thresholds = np.linspace(6.0 + shift, -6.0, 20_001)
        rate, recall = stats.norm.sf(thresholds), stats.norm.sf(thresholds - shift)
        curves.append((rate, recall, n0 * rate + n_positives * recall, n_positives))
    metrics = {name: make(*curves[0]) for name, make in POINTS.items()}
    true = {
        name: true_point(metric, *curves[0]) - true_point(metric, *curves[1])
        for name, metric in metrics.items()
    }
    covered, rejected = dict.fromkeys(POINTS, 0), dict.fromkeys(POINTS, 0)
    for _ in range(n_data_sets):
        common = rng.normal(size=n_samples)
        scores = {
            str(number): np.sqrt(0.5) * (common + rng.normal(size=n_samples)) + shift * labels
            for number, shift in enumerate(shifts)
        }
        for name, metric in metrics.items():
            options = {"n_resamples": max(n_resamples, 1), "random_state": rng.integers(2**31)}
            found = metric_comparison_test(labels, scores, metric=metric, **options)
            low, high = found.confidence_interval(LEVEL)
            covered[name] += low <= true[name] <= high
            rejected[name] += found.pvalue <= 0.05
    return tuple(
        {name: count / n_data_sets for name, count in counts.items()}
        for counts in (covered, rejected)
    )
