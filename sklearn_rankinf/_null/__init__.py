"""Frozen null distributions of metrics under random labelling.

distribution    the base of null distributions, and sums of increments
ranks           sums of weights of ranks, and statistics whose values are listed
hits            hits, recall, precision, enrichment and F-score at k
permuted        random or listed labellings
metrics         the null distribution of any metric, or of its mean over independent queries
critical_values the smallest significant value
observations    from a sample to the value of a metric and its null distribution
"""

from sklearn_rankinf._null.critical_values import NOTHING, Region, critical_region, is_significant
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
from sklearn_rankinf._null.hits import binomial_tail, normal_tail
from sklearn_rankinf._null.metrics import (
    check_method_of_test,
    check_metric_and_method,
    frozen_null_distribution,
    mean_of,
    method_of_mean,
    metric_null_distribution,
)
from sklearn_rankinf._null.observations import (
    Observed,
    check_takes_weights,
    masses,
    observe,
    observe_ranking,
    warn_of_design,
    warn_of_undefined,
)
from sklearn_rankinf._null.permuted import permutation_distribution
