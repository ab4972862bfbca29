"""Additive rank statistics: coefficients of all metrics, exact moments, hypergeometric tails.

increments       the three coefficients of each block of equal scores
additive         the base classes of metrics; increments of a metric for a whole ranking
influence        influence values of items, and the variance that they give
first_hit        values of one over the rank of the first positive, and their probabilities
merging          far ranks merged into blocks
moments          exact mean, variance, skewness and kurtosis; influences of single items
hypergeometric   Loader's form of probabilities, tails of hits at k
"""
