"""Tests of rankings against chance.

metric_test     the test of one ranking, or of the mean over queries, for any metric
named_tests     tests for single metrics by name
results         results of tests
queries         queries as they are read, tested together, and adjusted for their number
scores          score functions for scikit-learn's scorers
top_k_curve     hits at all k at once, with simultaneous bounds
boundary_crossing  the path of hits
minimum_hypergeometric  one p-value over all cut-offs
min_hits        the smallest significant number of hits
"""

from sklearn_rankinf._significance.metric_test import metric_test, significance_of
from sklearn_rankinf._significance.min_hits import min_hits_at_k
from sklearn_rankinf._significance.minimum_hypergeometric import (
    MinimumHypergeometricTestResult,
    minimum_hypergeometric_test,
)
from sklearn_rankinf._significance.named_tests import average_precision_test
from sklearn_rankinf._significance.queries import QueriesTestResult
from sklearn_rankinf._significance.results import (
    DrawnResult,
    MetricTestResult,
    adjusted,
    limits_of_pvalue,
    pvalue_fields,
    standardized,
)
from sklearn_rankinf._significance.top_k_curve import (
    TopKSignificanceCurve,
    top_k_significance_curve,
)
