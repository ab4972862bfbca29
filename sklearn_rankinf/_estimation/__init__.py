"""Estimates of metrics: intervals, and comparisons of rankers.

estimates       a metric of a ranking, or its mean, as an estimate; intervals as results
limits          intervals and tests from values, variances and counts
averages        averages over classes as estimates
intervals       confidence intervals of a metric
binormal        the binormal model of scores
binormal_curve  the precision-recall curve of the binormal model
regions         limits of recall at every k, and their critical value
curve_kinds     the axes of curves, and how each is read from a region
curves          curves with pointwise and simultaneous limits, and differences of two
operating_points  items to examine for a share of the positives; the best cut-off
threshold       precision, recall and false-positive rate of the items above a score
comparison      comparison of two rankings
comparison_methods  the methods of comparisons, one table
verdict         whether the interval of a difference shows that a requirement is met
multiple_comparison  comparison of several rankings
group_comparison  comparison of one ranker on different items
leaderboard     limits of the ranks of several rankers, and letters of those that are tied
sign_flips      the largest difference of runs under random signs of the queries
simultaneous    the maximum of correlated t statistics, and Holm's method
"""

from sklearn_rankinf._estimation import limits
from sklearn_rankinf._estimation.binormal import BinormalRankings, RankingDraws
from sklearn_rankinf._estimation.comparison import (
    DifferenceResult,
    MetricComparisonTestResult,
    metric_comparison_test,
)
from sklearn_rankinf._estimation.comparison_methods import COMPARISONS, Difference
from sklearn_rankinf._estimation.curve_kinds import CURVES, CurveKind
from sklearn_rankinf._estimation.curves import MetricCurve, MetricCurveDifference, metric_curve
from sklearn_rankinf._estimation.estimates import (
    Estimate,
    MetricIntervalResult,
    choose_method,
    in_parentheses,
    influence_of_items,
    interval_of_ranking,
    interval_over_queries,
)
from sklearn_rankinf._estimation.intervals import metric_interval
from sklearn_rankinf._estimation.leaderboard import Leaderboard, state_ranks
from sklearn_rankinf._estimation.multiple_comparison import (
    MetricMultipleComparisonTestResult,
    metric_multiple_comparison_test,
)
from sklearn_rankinf._estimation.operating_points import OptimalCutoffResult, optimal_cutoff
from sklearn_rankinf._estimation.prevalence import check_prevalence
from sklearn_rankinf._estimation.simultaneous import holm
from sklearn_rankinf._estimation.verdict import ComparisonVerdict
