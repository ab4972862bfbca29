"""Tests of rankings against random labelling.

metric_test     tests of one ranking, for any metric
results         results of tests
queries         tests of the mean over queries
scores          score functions for scikit-learn's scorers
top_k_curve     hits at all k at once, with simultaneous bounds
boundary_crossing  the path of hits
minimum_hypergeometric  one p-value over all cut-offs
min_hits        the smallest significant number of hits
"""
