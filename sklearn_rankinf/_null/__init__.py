"""Frozen null distributions of metrics under random labelling.

distribution    the base of null distributions, and sums of increments
ranks           sums of weights of ranks, and statistics whose values are listed
hits            hits, recall, precision, enrichment and F-score at k
hits_approximations  binomial and normal approximations of hits at k
mean            means over independent queries
permuted        random or listed labellings
metrics         the null distribution of any metric
critical_values the smallest significant value
observations    from a sample to the value of a metric and its null distribution
"""
