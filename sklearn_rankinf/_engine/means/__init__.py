"""Null distributions of means over independent queries (numpy and scipy only).

transforms       transforms of queries with few values, and of the mean
lattice          convolution of rounded queries under a tilt
sums_of_atoms    sums over either half of the queries, with merged atoms
distribution     `mean_distribution`: the choice of a solver, value by value
"""
