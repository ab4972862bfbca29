"""Averages of a metric over classes as estimates, whose errors are correlated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_rankinf._estimation.estimates import (
    Estimate,
    IntervalMethod,
    MetricIntervalResult,
    check_both_classes,
    influence_of_items,
    interval_methods,
    limits_around,
)
from sklearn_rankinf._estimation.limits import mover_average_limits
from sklearn_rankinf._metrics import check_has_influence
from sklearn_rankinf._ranking import Sample, as_seed_sequence
from sklearn_rankinf._statistics import Floats, Metric


@dataclass(frozen=True, eq=False)
class ClassAverage:
    """An average of a metric over the classes of one ranker.

    There is an estimate and a share of the average for each class. The `errors` have one column for
    each class; their squares and products add up to variances and covariances.
    """

    metric: Metric
    estimates: Sequence[Estimate]
    shares: Floats
    errors: Floats

    @classmethod
    def of(cls, metric: Metric, classes: Mapping[Any, Sample], ranker: int = 0) -> ClassAverage:
        """Average over classes by name, each with its own labels and scores of the same items."""
        each = check_has_influence(metric.of_each_class()[0], "use the metric itself in each class")
        estimates, errors = [], []
        for name, sample in classes.items():
            check_both_classes(sample.rankings[0], f"the class {name!r}")
            estimates.append(Estimate.of_sample(each, sample, ranker))
            influence = influence_of_items(estimates[-1].metric, sample, ranker)
            errors.append(sample.errors(influence))
        shares = metric.shares_of_classes(np.array([estimate.totals[1] for estimate in estimates]))
        return cls(metric.at(sample.n_items), estimates, shares, np.stack(errors, axis=1))

    @property
    def value(self) -> float:
        return float(self.shares @ [estimate.value for estimate in self.estimates])

    @property
    def maximum(self) -> float:
        return float(self.shares @ [estimate.maximum for estimate in self.estimates])

    @property
    def minimum(self) -> float:
        return float(self.shares @ [estimate.minimum for estimate in self.estimates])

    @property
    def _variances(self) -> Floats:
        """Variances of the parts of the average."""
        return np.asarray(self.shares**2 * np.sum(self.errors**2, axis=0))

    @property
    def df(self) -> float:
        """Satterthwaite's degrees of freedom of the sum of the variances of the classes."""
        own = np.array([estimate.df for estimate in self.estimates])
        variances = self._variances
        total = float(np.sum(variances**2 / np.maximum(own, 1.0)))
        return float(variances.sum() ** 2 / total) if total > 0.0 else float(own.min())

    @property
    def error_factor(self) -> float:
        """Factor of the standard error, the mean of those of the classes by their variances."""
        variances = self._variances
        factors = np.array([estimate.error_factor for estimate in self.estimates])
        total = float(variances.sum())
        return float(np.sqrt(variances @ factors**2 / total)) if total > 0.0 else 1.0

    @property
    def error(self) -> Floats:
        """Errors of the average."""
        return np.asarray(self.errors @ self.shares)

    @property
    def correlation(self) -> Floats:
        """Correlations of the values of the classes; 0 with a class of unknown or no variance."""
        covariance = np.nan_to_num(self.errors.T @ self.errors)
        scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
        found = np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0.0)
        np.fill_diagonal(found, 1.0)
        return found

    def limits_by(self, way: IntervalMethod, level: float, seed: Any) -> tuple[float, float]:
        """Limits of the average from those of each class and their correlations (MOVER)."""
        found = np.array([limits_around(way, each, level, seed) for each in self.estimates])
        values, lows, highs = found.T
        low, high = mover_average_limits(values, lows, highs, self.shares, self.correlation)
        return float(low), float(high)


def covariance_of_averages(averages: Sequence[ClassAverage]) -> Floats:
    """Covariance matrix of the averages of several rankers of the same items."""
    errors = np.stack([average.error for average in averages], axis=1)
    return np.asarray(errors.T @ errors)


def interval_of_average(
    metric: Metric,
    sample: Sample,
    confidence_level: float,
    method: str,
    random_state: Any = 0,
) -> MetricIntervalResult:
    """Interval of an average over the classes of a sample."""
    average = ClassAverage.of(metric, sample.classes())
    way = interval_methods(metric.of_each_class()[0])[method]
    low, high = average.limits_by(way, confidence_level, as_seed_sequence(random_state))
    error = average.error
    return MetricIntervalResult(
        metric=average.metric,
        statistic=average.value,
        low=low,
        high=high,
        standard_error=float(np.sqrt(error @ error)),
        confidence_level=confidence_level,
        method=method,
        target=way.target.format(title=average.metric.title_in_text, prevalence=None),
        n_samples=sample.n_items,
        n_positives=int(sample.labels.sum()),
    )
