"""Values of a metric for each query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._metrics.metrics import in_sentence, value_of
from sklearn_rankinf._ranking import Ranking, Sample, warn_caller
from sklearn_rankinf._statistics import Floats, Metric

# Number of queries that a warning names.
_N_SHOWN = 5


def values_of_queries(metric: Metric, sample: Sample) -> Floats:
    """Values of a metric for each query, one column for each ranker; 0 without positives."""
    columns = []
    for ranker in range(len(sample.scores)):
        rankings = sample.of_queries(ranker)
        columns.append([float(value_of(metric, ranking)) for ranking in rankings.values()])
    warn_of_undefined_queries(metric, rankings)
    return np.array(columns).T


def warn_of_undefined_queries(metric: Metric, rankings: Mapping[Any, Ranking]) -> None:
    """Warn about queries without positives, or without negatives if the metric needs them."""
    empty = [query for query, own in rankings.items() if own.n_positives == 0]
    if empty:
        warn_caller(
            f"{len(empty)} of {len(rankings)} queries have no positives in y_true "
            f"({_named(empty)}); their {in_sentence(metric.title)} counts as 0.",
            UndefinedMetricWarning,
        )
    full = [query for query, own in rankings.items() if own.n_positives == own.n_samples]
    if full and metric.needs_misses:
        warn_caller(
            f"{len(full)} of {len(rankings)} queries have no negatives in y_true; their "
            f"{in_sentence(metric.title)} counts as {value_of(metric, rankings[full[0]]):.1f}: "
            f"{_named(full)}.",
            UndefinedMetricWarning,
        )


def _named(queries: list[Any]) -> str:
    return ", ".join(map(repr, queries[:_N_SHOWN])) + (", ..." if len(queries) > _N_SHOWN else "")


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
            "groups to compare the rankings of its samples."
        )
