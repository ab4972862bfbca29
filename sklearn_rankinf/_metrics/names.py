"""The names of metrics, such as "recall@50"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from sklearn_rankinf._metrics.average_precision import AveragePrecision
from sklearn_rankinf._metrics.hits_at_k import (
    EnrichmentAtK,
    FScoreAtK,
    PrecisionAtK,
    RecallAtK,
    ReciprocalRank,
)
from sklearn_rankinf._metrics.rank_sums import (
    Bedroc,
    DiscountedCumulativeGain,
    RobustInitialEnhancement,
    RocAuc,
)
from sklearn_rankinf._metrics.values import CallableMetric, check_of_user
from sklearn_rankinf._ranking import shown
from sklearn_rankinf._statistics import HitsAtK, Metric

METRICS: Mapping[str, Callable[..., CallableMetric]] = MappingProxyType(
    {
        "average_precision": AveragePrecision,
        "recall": RecallAtK,
        "precision": PrecisionAtK,
        "enrichment": EnrichmentAtK,
        "f_score": FScoreAtK,
        "roc_auc": RocAuc,
        "dcg": DiscountedCumulativeGain,
        "ndcg": partial(DiscountedCumulativeGain, normalize=True),
        "bedroc": Bedroc,
        "rie": RobustInitialEnhancement,
        "reciprocal_rank": ReciprocalRank,
    }
)
"""Classes and functions that return a metric, by name."""


_AVERAGES = ("macro", "weighted", "micro", "samples")


def as_metric(metric: Any) -> Metric:
    """Return the metric given by an instance or by a name, such as ``"recall@50"``."""
    found = as_metric_or_average(metric)
    each, average = found.of_each_class()
    if average is not None:
        remedy = metric.replace(f"_{average}", "") if isinstance(metric, str) else each
        raise ValueError(
            f"metric={metric!r} is an average over classes, which only metric_test and "
            f"make_significance_scorer compute: pass metric={remedy!r} and the labels of one class."
        )
    return found


def as_metric_or_average(metric: Any) -> Metric:
    """Return a metric, or its average over classes, such as ``"recall_macro@50"``."""
    if isinstance(metric, str):
        return _named(metric)
    if isinstance(metric, type) and issubclass(metric, Metric):
        raise TypeError(
            f"metric must be an instance; got the class {metric.__name__}: pass "
            f"{metric.__name__}({'k=...' if needs_k(metric) else ''})."
        )
    if not isinstance(metric, Metric):
        raise ValueError(_unknown(metric))
    check_of_user(metric.of_each_class()[0])
    return metric


def _named(metric: str) -> Metric:
    """Return the metric with a name, an average over classes and, after an @, a cut-off."""
    written, at, cut_off = metric.partition("@")
    name, _, average = written.rpartition("_")
    if average not in _AVERAGES:
        name, average = written, ""
    if name not in METRICS:
        raise ValueError(_unknown(metric))
    make = METRICS[name]
    if at and "k" not in _field_names(make):
        raise ValueError(f"metric={metric!r}: {name} has no cut-off; pass metric={written!r}.")
    if needs_k(make) and not at:
        raise ValueError(
            f"{name} needs a cut-off: metric='{written}@50' counts the first 50 samples, and "
            f"metric='{written}@0.1' a tenth of a list of any size."
        )
    found = make(k=_cut_off(metric, cut_off)) if at else make()
    return found.averaged(average or None)


def _cut_off(metric: str, text: str) -> float:
    """Return the number after the @ in the name of a metric."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    raise ValueError(
        f"metric={shown(metric)}: the cut-off after the @ must be a number of samples, such as 50, "
        f"or a fraction of them, such as 0.01; got {shown(text)}."
    )


def _unknown(metric: Any) -> str:
    """Text of the error about a metric that does not exist."""
    names = ", ".join(f"'{name}{'@50' if needs_k(make) else ''}'" for name, make in METRICS.items())
    return (
        f"metric must be one of {names}, or an instance of a metric such as AveragePrecision(); "
        f"got {shown(metric)}."
    )


def needs_k(make: Callable[..., Metric]) -> bool:
    """Whether a metric cannot be created without a k."""
    return isinstance(make, type) and issubclass(make, HitsAtK)


def _field_names(metric: Any) -> set[str]:
    """Names of the parameters of a metric, or of the callable that returns it."""
    kind = metric.func if isinstance(metric, partial) else metric
    return {field.name for field in fields(kind)} if is_dataclass(kind) else set()
