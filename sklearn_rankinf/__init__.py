"""Exact inference on rankings of rare targets, inside scikit-learn's tools."""

from sklearn_rankinf._null_distributions import ap_null_distribution
from sklearn_rankinf._ranking import Ranking
from sklearn_rankinf._scores import (
    adjusted_average_precision_score,
    average_precision_neg_log10_pvalue,
    average_precision_pvalue,
    standardized_average_precision_score,
)
from sklearn_rankinf._significance import AveragePrecisionTestResult, average_precision_test

__version__ = "0.1.0.dev0"

__all__ = [
    "AveragePrecisionTestResult",
    "Ranking",
    "adjusted_average_precision_score",
    "ap_null_distribution",
    "average_precision_neg_log10_pvalue",
    "average_precision_pvalue",
    "average_precision_test",
    "standardized_average_precision_score",
]
