"""Additive rank statistics: coefficients of all metrics, exact moments, hypergeometric tails.

increments       the three coefficients of each block of equal scores; influence values of items
additive         the base classes of metrics; increments of a metric for a whole ranking
merging          far ranks merged into blocks
moments          exact mean, variance, skewness and kurtosis; influences of single items
hypergeometric   Loader's form of probabilities, tails of hits at k and their approximations
influence        influence values of the items of a ranking
pvalues          p-values as numbers, and their logarithms to base 10
caching          attributes and results of methods that are computed once
"""

from sklearn_rankinf._statistics.additive import (
    LEAST_OF_ALL,
    Denominators,
    HitsAtK,
    Metric,
    Statistic,
    SumOfWeights,
    horizon_of,
    increments_of,
    log_probability_of_hits_down_to,
)
from sklearn_rankinf._statistics.caching import cached_method, cached_property
from sklearn_rankinf._statistics.hypergeometric import (
    binomial_log_weights,
    binomial_tail,
    log_binomial,
    log_binomial_pmf,
    log_level,
    log_pmf,
    log_probability_of_hits,
    log_rarity,
    log_tail,
    mean_and_deviation,
    min_hits,
    n_terms_of_tail,
    normal_tail,
    smallest,
    sorted_atoms,
)
from sklearn_rankinf._statistics.increments import (
    FEW_BLOCKS,
    VERY_FEW_BLOCKS,
    Complexes,
    Floats,
    HitBlocks,
    HitValues,
    Increments,
    Influence,
    Integers,
    blocks_of,
    filled_from_the_top,
    geometric_edges,
    hits_around_blocks,
)
from sklearn_rankinf._statistics.influence import (
    average_precision_at_k_influence,
    average_precision_influence,
    delete_one_influence,
    enrichment_at_k_influence,
    hits_up_to,
    precision_at_k_influence,
    recall_at_k_influence,
    roc_auc_influence,
    slope_at,
    slopes_at,
    sums_from_here,
)
from sklearn_rankinf._statistics.merging import (
    bounding_increments,
    edges_around,
    merged_increments,
    subdivided_edges,
)
from sklearn_rankinf._statistics.moments import (
    adds_most_above,
    average_precision_mean_and_variance,
    deviation_of_the_body,
    harmonic_between,
    influences,
    linear_moments,
    log_size_at_return,
    mean_and_variance,
    standardized_cumulants,
    zhang_su_mean_and_variance,
)
from sklearn_rankinf._statistics.pvalues import as_log10, is_smallest, log10_of, plain
