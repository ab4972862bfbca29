"""The metrics by name, read by everything that offers a choice of metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any

from sklearn.metrics import average_precision_score

from sklearn_rankinf._engine.statistics import AveragePrecision, HitsAtK
from sklearn_rankinf._null_distributions import ap_null_distribution
from sklearn_rankinf._scores import precision_at_k_score, recall_at_k_score
from sklearn_rankinf._significance import average_precision_test
from sklearn_rankinf._top_k import precision_at_k_test, recall_at_k_test
from sklearn_rankinf._top_k_distributions import (
    precision_at_k_null_distribution,
    recall_at_k_null_distribution,
)


@dataclass(frozen=True)
class Metric:
    """A ranking metric and the functions that belong to it.

    Parameters
    ----------
    name : str
        The metric's name, its key in `METRICS`.
    statistic : type
        The class of its increments over tie blocks.
    score : callable
        ``score(y_true, y_score, **options)``, the metric itself.
    null_distribution : callable
        ``null_distribution(n_samples, n_positives, **options)``, its frozen null law.
    test : callable
        ``test(y_true, y_score, **options)``, its test against random labelling.
    """

    name: str
    statistic: type
    score: Callable[..., float]
    null_distribution: Callable[..., Any]
    test: Callable[..., Any]

    def check_k(self, k: Any) -> None:
        """Refuse a k where the metric takes none, and no k where it needs one."""
        parameter = signature(self.test).parameters.get("k")
        if k is not None and parameter is None:
            raise ValueError(f"metric={self.name!r} takes no k; got k={k!r}: leave it out.")
        if k is None and parameter is not None and parameter.default is Parameter.empty:
            raise ValueError(
                f"metric={self.name!r} needs k: pass a number of samples, or a fraction of them "
                "such as k=0.1, which suits lists of any size."
            )


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            Metric(
                name="average_precision",
                statistic=AveragePrecision,
                score=average_precision_score,
                null_distribution=ap_null_distribution,
                test=average_precision_test,
            ),
            Metric(
                name="recall_at_k",
                statistic=HitsAtK,
                score=recall_at_k_score,
                null_distribution=recall_at_k_null_distribution,
                test=recall_at_k_test,
            ),
            Metric(
                name="precision_at_k",
                statistic=HitsAtK,
                score=precision_at_k_score,
                null_distribution=precision_at_k_null_distribution,
                test=precision_at_k_test,
            ),
        )
    }
)


def metric_named(name: Any) -> Metric:
    """The metric with this name."""
    if not isinstance(name, str) or name not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(map(repr, METRICS))}; got {name!r}.")
    return METRICS[name]
