"""Designs and draws: what may be exchanged, and random labellings, swaps and resamples.

draws           the loop over random draws, and p-values of draws
labellings      random labellings of one ranking
exchange        restricted permutations: strata, clusters, blocks, series
restrictions    the permutations that the design of a sample allows
rows            permuted rows of labels, for weights and averages over classes
joint           joint permutations of several rankings
mean            draws of means over queries
swaps           ranks that are swapped between two rankings
graded          permuted grades of relevance
"""
