"""Values of metrics for queries, and warnings where they are undefined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._metrics.values import value_of
from sklearn_rankinf._ranking import Ranking, Sample, sums_by_block, warn_caller
from sklearn_rankinf._statistics import Floats, Integers, Metric

# Number of queries that a warning names.
_N_SHOWN = 5


def values_of_queries(metric: Metric, sample: Sample) -> Floats:
    """Values of a metric for each query, one column for each ranker; 0 without positives."""
    queries = sample.design.rows_of_queries().items()
    columns = [
        [
            _value_of_items(metric, query, sample.labels[own, 0], scores[own])
            for query, own in queries
        ]
        for scores in sample.scores
    ]
    numbers, names = sample.design.groups, sample.design.names["groups"]
    assert numbers is not None
    n_positives = np.bincount(numbers, sample.positive)
    warn_of_undefined_queries(metric, names, np.bincount(numbers), n_positives)
    return np.array(columns).T


def at_query(metric: Metric, query: Any, n_samples: int) -> Metric:
    """The metric for the number of items of a query, which an error names."""
    try:
        return metric.at(n_samples)
    except ValueError as error:
        raise ValueError(
            f"Query {query!r}: {str(error).removesuffix('.')}: choose a smaller cut-off, or leave "
            "out queries that are shorter."
        ) from error


def _value_of_items(
    metric: Metric, query: Any, labels: NDArray[Any], scores: NDArray[Any]
) -> float:
    """Value of a metric for the items of a query, of which those with score -inf have no rank.

    Positives without a rank add nothing, but they are counted, as in trec_eval.
    """
    if not labels.any():
        return 0.0
    retrieved = np.asarray(scores != -np.inf, dtype=bool)
    is_open = not retrieved.all()
    if is_open and not retrieved.any():
        _check_of_open_lists(metric)
        return 0.0
    tie_sizes, gains = sums_by_block(labels[retrieved], scores[retrieved])
    if is_open:
        _check_of_open_lists(metric)
        # Some of the other items, so that the list is longer than any cut-off.
        tie_sizes = np.append(tie_sizes, (getattr(metric, "k", None) or 0) + 1)
        gains = np.append(gains, 0)
    statistic = at_query(metric, query, int(tie_sizes.sum()))
    if labels.dtype.kind == "f":
        return statistic.of_grades(tie_sizes, gains, labels)
    if is_open:
        return float(statistic.of_retrieved(tie_sizes, gains, int(labels.sum())))
    return float(value_of(statistic, Ranking(tie_sizes, gains)))


def _check_of_open_lists(metric: Metric) -> None:
    """Raise an error for a metric that needs the number of items that were not retrieved."""
    reason = "number is not known where items were not retrieved (score -inf)"
    if not metric.of_open_lists:
        raise ValueError(
            f"{metric.title} depends on all items, whose {reason}: use a metric of the retrieved "
            "items, such as 'average_precision', 'ndcg@10' or 'recall@100'."
        )
    k = getattr(metric, "k", None)
    if isinstance(k, float):
        raise ValueError(
            f"k={k} is a fraction of all items, whose {reason}: give k as a number of items."
        )


def warn_of_undefined_queries(
    metric: Metric, queries: Sequence[Any], n_samples: NDArray[Any], n_positives: NDArray[Any]
) -> None:
    """Warn about queries without positives, or without negatives if the metric needs them."""
    empty = np.flatnonzero(n_positives == 0)
    if empty.size:
        warn_caller(
            f"{empty.size} of {len(queries)} queries have no positives in y_true "
            f"({_named(queries, empty)}); their {metric.title_in_text} counts as 0.",
            UndefinedMetricWarning,
        )
    full = np.flatnonzero(n_positives == n_samples)
    if full.size and metric.needs_misses:
        size = n_samples[full[:1]]
        value = value_of(metric, Ranking.from_counts(size, size))
        warn_caller(
            f"{full.size} of {len(queries)} queries have no negatives in y_true; their "
            f"{metric.title_in_text} counts as {value:.1f}: {_named(queries, full)}.",
            UndefinedMetricWarning,
        )


def _named(queries: Sequence[Any], which: Integers) -> str:
    shown = ", ".join(repr(queries[i]) for i in which[:_N_SHOWN])
    return shown + (", ..." if which.size > _N_SHOWN else "")


def check_queries_alone(**given: Any) -> None:
    """Raise an error if something is given that cannot be combined with queries."""
    for name, values in given.items():
        if values is not None:
            raise ValueError(
                f"{name} cannot be combined with groups, which treats the queries as the sampled "
                f"units: leave out {name}."
            )


def check_several_queries(n_queries: int) -> None:
    """Raise an error if there is only one query to compare."""
    if n_queries < 2:
        raise ValueError(
            "groups has only 1 query, but a comparison over queries needs at least 2: leave out "
            "groups to compare the rankings of its items."
        )
