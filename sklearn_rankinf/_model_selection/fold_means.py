"""Means over folds and their tests by Student's t distribution."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_rankinf._estimation import limits
from sklearn_rankinf._results import log10_of
from sklearn_rankinf._statistics import Floats


@dataclass(frozen=True, eq=False)
class FoldMean:
    """Mean over folds of a metric, or of a difference, with its standard error.

    `maximum` is the largest possible mean.
    """

    mean: float
    standard_error: float
    df: float
    maximum: float = math.inf

    @classmethod
    def of_models(
        cls, parts: Iterable[tuple[float, float, tuple[int, int]]], maximum: float = math.inf
    ) -> FoldMean:
        """Mean of values of fitted models, each with its variance and numbers of both classes.

        Given the models, held-out samples of different folds are independent, so that the variances
        add up. The degrees of freedom of each are the number of independent positives minus 1, and
        those of the sum are Satterthwaite's.
        """
        values, variances, numbers = map(np.array, zip(*parts, strict=True))
        for fold, (n_positives, n_negatives) in enumerate(numbers.tolist()):
            if min(n_positives, n_negatives) < 2:
                raise ValueError(
                    f"Fold {fold} holds out {n_positives} independent positives and {n_negatives} "
                    "negatives, but the variance needs at least 2 of each: use fewer folds, or "
                    "stratified ones."
                )
        free, total = numbers[:, 0] - 1, float(variances.sum())
        df = float(1.0 / np.sum((variances / total) ** 2 / free)) if total else float(free.sum())
        return cls(float(values.mean()), math.sqrt(total) / values.size, df, maximum)

    @classmethod
    def of_algorithms(cls, values: Floats, ratio: float) -> FoldMean:
        """Mean of values of any models, corrected for overlapping training sets.

        The correction is that of Nadeau and Bengio for the ratio of held-out to training samples.
        """
        # The variance of equal values is 0, without rounding errors.
        variance = float(values.var(ddof=1)) if np.ptp(values) > 0.0 else 0.0
        error = math.sqrt((1.0 / values.size + ratio) * variance)
        return cls(float(values.mean()), error, values.size - 1)

    def comparison(self) -> dict[str, Any]:
        """Fields of a result about the mean of differences: its two-sided t test and interval."""
        pvalue = float(limits.t_test(self.mean, self.standard_error, self.df).pvalue)
        return {
            "difference": self.mean,
            "standard_error": self.standard_error,
            "pvalue": pvalue,
            "log10_pvalue": log10_of(pvalue),
            "df": self.df,
            "_interval": self.limits,
        }

    def limits(self, confidence_level: float) -> tuple[float, float]:
        """Student's t limits."""
        half = self.standard_error * float(limits.t_quantile(self.df, confidence_level))
        return self.mean - half, min(self.mean + half, self.maximum)
