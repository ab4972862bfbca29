"""Metrics, each a small class, their names, and the influence of items on them.

average_precision   average precision
hits_at_k           recall, precision, enrichment and F-score at k, and reciprocal rank
operating_points    precision at a recall, recall at a precision or a false-positive rate
rank_sums           ROC AUC, (N)DCG, RIE, BEDROC, and the base of custom metrics
names               metrics by name, such as "recall@50"
values              values for rankings and classes, and warnings where they are undefined
queries             values for queries
"""

from sklearn_rankinf._metrics.average_precision import AveragePrecision
from sklearn_rankinf._metrics.hits_at_k import PrecisionAtK, RecallAtK
from sklearn_rankinf._metrics.names import as_metric, as_metric_or_average
from sklearn_rankinf._metrics.queries import (
    at_query,
    check_queries_alone,
    check_several_queries,
    values_of_queries,
    warn_of_undefined_queries,
)
from sklearn_rankinf._metrics.rank_sums import DiscountedCumulativeGain
from sklearn_rankinf._metrics.values import (
    check_has_influence,
    check_of_many_items,
    influence_of,
    undefined_value,
    value_of,
    warn_of_one_class,
    without_errors,
)
from sklearn_rankinf._statistics import Metric
