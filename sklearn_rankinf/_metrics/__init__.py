"""Metrics, each a small class, their names, and the influence of items on them.

metrics         the metrics and their names
queries         values of a metric for each query
influence       influence values of the items of a ranking
"""

from sklearn_rankinf._metrics.influence import slope_at
from sklearn_rankinf._metrics.metrics import (
    AveragePrecision,
    DiscountedCumulativeGain,
    PrecisionAtK,
    RecallAtK,
    as_metric,
    check_weights,
    in_sentence,
    influence_of,
    no_positives,
    undefined_value,
    value_of,
    warn_of_one_class,
)
from sklearn_rankinf._metrics.queries import (
    check_queries_alone,
    check_several_queries,
    values_of_queries,
    warn_of_undefined_queries,
)
