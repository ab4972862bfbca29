"""Means over folds that hold out different samples: standard errors and confidence limits."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sklearn_rankinf._estimation import limits
from sklearn_rankinf._statistics import Floats, Integers


@dataclass(frozen=True, eq=False)
class FoldMean:
    """A mean over folds, given the estimators that were fitted in them.

    Attributes
    ----------
    values : ndarray of shape (n_splits,)
        The averaged values: a metric, or the difference of a metric between two estimators.
    variances : ndarray of shape (n_splits,)
        Influence variance of each value.
    n_independent : ndarray of int of shape (n_splits, 2)
        Number of held-out positives and negatives of each fold, or of clusters that have them.
    maximum : float
        The largest possible mean.

    Notes
    -----
    Given the estimators, held-out samples of different folds are independent, so that the variances
    add up. The degrees of freedom of each variance are the number of positives minus 1, and those
    of the sum are Satterthwaite's.
    """

    values: Floats
    variances: Floats
    n_independent: Integers
    maximum: float = math.inf

    @classmethod
    def read(
        cls, parts: Iterable[tuple[float, float, tuple[int, int]]], maximum: float = math.inf
    ) -> FoldMean:
        """Collect the value, variance and numbers of positives and negatives of each fold."""
        values, variances, numbers = map(np.array, zip(*parts, strict=True))
        return cls(values, variances, numbers, maximum)

    @property
    def mean(self) -> float:
        """Mean over the folds."""
        return float(self.values.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean."""
        return float(np.sqrt(self.variances.sum())) / self.values.size

    @property
    def df(self) -> float:
        """Degrees of freedom of the standard error."""
        for fold, (n_positives, n_negatives) in enumerate(self.n_independent.tolist()):
            if min(n_positives, n_negatives) < 2:
                raise ValueError(
                    f"Fold {fold} holds out {n_positives} independent positives and {n_negatives} "
                    "negatives, but the variance needs at least 2 of each: use fewer folds, or "
                    "stratified ones."
                )
        free = self.n_independent[:, 0] - 1
        if not self.variances.any():
            return float(free.sum())
        shares = self.variances / self.variances.sum()
        return float(1.0 / np.sum(shares**2 / free))

    @property
    def pvalue(self) -> float:
        """Two-sided p-value of the hypothesis that the mean is 0."""
        return float(limits.t_test(self.mean, self.standard_error, self.df).pvalue)

    def limits(self, confidence_level: float) -> tuple[float, float]:
        """Student's t limits."""
        half = self.standard_error * float(limits.t_quantile(self.df, confidence_level))
        return self.mean - half, min(self.mean + half, self.maximum)
