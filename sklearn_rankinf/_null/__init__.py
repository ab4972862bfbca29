"""Frozen null distributions of metrics.

distribution    the base of null distributions
hits            hits, recall, precision, enrichment and F-score at k
permuted        permuted labels, rows and grades, and statistics whose values are listed
frozen          sums over ranks and means over queries; a metric of a sample and its distribution
metrics         the functions that return the null distribution of a metric
critical_values the smallest significant value
"""

from sklearn_rankinf._null.critical_values import NOTHING, Region, critical_region, significance
from sklearn_rankinf._null.distribution import (
    METHODS,
    OF_LABELS,
    NullDistribution,
    is_upper_bound,
    monte_carlo_error,
    n_listed,
    pvalue_limits,
    pvalue_log_and_error,
    resamples_of,
    stopped_distribution,
    tolerating,
    value_of_perfect_ranking,
)
from sklearn_rankinf._null.frozen import (
    check_method_of_test,
    check_metric_and_method,
    frozen_null_distribution,
    masses,
    mean_of,
    method_of_mean,
    observe,
    observe_queries,
    observe_ranking,
    warn_of_design,
    warn_of_undefined,
)
from sklearn_rankinf._null.permuted import check_takes_weights, permutation_distribution
