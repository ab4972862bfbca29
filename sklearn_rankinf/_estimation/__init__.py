"""Estimates of metrics: intervals, and comparisons of rankers.

estimates       a metric of a ranking as an estimate, with its variance and limits
limits          intervals and tests from values, variances and counts
intervals       confidence intervals of a metric
results         results of confidence intervals
binormal        the binormal model of scores
binormal_curve  the precision-recall curve of the binormal model
comparison      comparison of two rankings
multiple_comparison  comparison of several rankings
simultaneous    the maximum of correlated t statistics
"""
