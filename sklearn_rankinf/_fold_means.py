"""Means over folds that hold out different samples: their standard error and their limits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sklearn_rankinf._engine import limits
from sklearn_rankinf._engine.statistics import Floats, Integers


@dataclass(frozen=True, eq=False)
class FoldMean:
    """A mean over folds, given the estimators that were fitted in them.

    Attributes
    ----------
    values : ndarray of shape (n_splits,)
        What is averaged: a metric, or the difference of two.
    variances : ndarray of shape (n_splits,)
        Influence variance of each.
    n_positives : ndarray of int of shape (n_splits,)
        Positives that each holds out, or clusters with some.

    Notes
    -----
    Held-out samples of different folds are independent of each other once the estimators are
    given, so that the variances add up. Each has its positives less 1 as degrees of freedom, and
    their sum has Satterthwaite's.
    """

    values: Floats
    variances: Floats
    n_positives: Integers

    @classmethod
    def read(cls, parts: Iterable[tuple[float, float, tuple[int, int]]]) -> FoldMean:
        """Take the value, variance and numbers of positives and negatives of each fold."""
        values, variances, numbers = zip(*parts, strict=True)
        for fold, (n_positives, n_negatives) in enumerate(numbers):
            if min(n_positives, n_negatives) < 2:
                raise ValueError(
                    f"Fold {fold} holds out {n_positives} independent positives and {n_negatives} "
                    "negatives, and at least 2 of each tell how a metric varies: take fewer folds, "
                    "or stratified ones."
                )
        return cls(np.array(values), np.array(variances), np.array(numbers)[:, 0])

    @property
    def mean(self) -> float:
        """The mean."""
        return float(self.values.mean())

    @property
    def standard_error(self) -> float:
        """Its standard error."""
        return float(np.sqrt(self.variances.sum())) / self.values.size

    @property
    def df(self) -> float:
        """Degrees of freedom of the standard error."""
        free = self.n_positives - 1
        if not self.variances.any():
            return float(free.sum())
        shares = self.variances / self.variances.sum()
        return float(1.0 / np.sum(shares**2 / free))

    @property
    def pvalue(self) -> float:
        """Two-sided p-value of a mean of 0."""
        return float(limits.t_test(self.mean, self.standard_error, self.df).pvalue)

    def limits(self, confidence_level: float) -> tuple[float, float]:
        """Student's t limits."""
        half = self.standard_error * float(limits.t_quantile(self.df, confidence_level))
        return self.mean - half, self.mean + half
