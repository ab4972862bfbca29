"""Simulated rankers of the same items, compared at another prevalence.

The scores of two rankers share their noise within each class. Their distributions are those of
classes that are sampled apart, or of Student's t distribution. Values in the population come from
quadrature.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from rates import CLASSES, LEVEL, Classes
from scipy import stats
from scipy.special import ndtr

from sklearn_rankinf import AveragePrecision, RecallAtK
from sklearn_rankinf._estimation.comparison_methods import COMPARISONS, difference_of
from sklearn_rankinf._permutation import Draws
from sklearn_rankinf._ranking import Sample

HEAVY = Classes("t + 1.5", stats.t(3, 1.5), stats.norm())
BY_NAME = {classes.name: classes for classes in (*CLASSES, HEAVY)}
N_SWAPS = 199


class Rates(NamedTuple):
    """Shares of data sets: intervals that hold the difference, and tests that reject equality."""

    covered: float
    rejected: float


def samples_of_two(both, n_positives, n_negatives, correlation, n_data_sets, rng):
    """Draw labels and scores of two rankers."""
    sizes = n_positives, n_negatives
    for _ in range(n_data_sets):
        scores = {}
        shared = [rng.standard_normal(size) for size in sizes]
        for name, of in zip("ab", both, strict=True):
            parts = []
            for common, distribution in zip(shared, (of.positives, of.negatives), strict=True):
                own = rng.standard_normal(common.size)
                noise = np.sqrt(correlation) * common + np.sqrt(1.0 - correlation) * own
                parts.append(of.least(distribution.isf(ndtr(-noise))))
            scores[name] = np.unique(np.concatenate(parts), return_inverse=True)[1]
        labels = np.arange(sum(sizes)) < n_positives
        yield Sample.read(labels, scores, columns="rankers")


def comparison_at_prevalences(both, sizes, prevalences, n_data_sets, rng, fraction=None):
    """Rates of the difference of average precision, or of recall in a fraction."""
    metric = AveragePrecision() if fraction is None else RecallAtK(fraction)
    value = Classes.average_precision
    if fraction is not None:
        value = partial(Classes.recall, fraction=fraction)
    targets = [
        value(both[0], prevalence=each) - value(both[1], prevalence=each) for each in prevalences
    ]
    covered, rejected = np.zeros((2, len(prevalences)))
    for sample in samples_of_two(both, *sizes, 0.5, n_data_sets, rng):
        for number, (prevalence, target) in enumerate(zip(prevalences, targets, strict=True)):
            difference = difference_of(metric, sample, prevalence)
            low, high = difference.interval()(LEVEL)
            covered[number] += low <= target <= high
            draws = Draws.read(N_SWAPS, rng, None, 0)
            rejected[number] += COMPARISONS["swap"].compare(difference, "two-sided", draws)[0] <= (
                1.0 - LEVEL
            )
    return [
        Rates(*pair) for pair in zip(covered / n_data_sets, rejected / n_data_sets, strict=True)
    ]
