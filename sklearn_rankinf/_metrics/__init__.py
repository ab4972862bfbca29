"""Metrics, each a small class, their names, and the influence of items on them.

metrics         the metrics and their names
queries         values of a metric for each query
influence       influence values of the items of a ranking
"""
