"""The names of metrics, such as "recall@50"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
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
from sklearn_rankinf._metrics.operating_points import (
    PrecisionAtRecall,
    RecallAtFpr,
    RecallAtPrecision,
)
from sklearn_rankinf._metrics.rank_sums import (
    Bedroc,
    DiscountedCumulativeGain,
    RobustInitialEnhancement,
    RocAuc,
    RPrecision,
)
from sklearn_rankinf._metrics.values import CallableMetric, check_of_user
from sklearn_rankinf._ranking import shown
from sklearn_rankinf._statistics import Metric

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
        "r_precision": RPrecision,
        "precision_at_recall": PrecisionAtRecall,
        "recall_at_precision": RecallAtPrecision,
        "recall_at_fpr": RecallAtFpr,
    }
)
"""Classes and functions that return a metric, by name."""


# Names that the literature or other packages use, for the sentence that asks what was meant.
_OTHER_NAMES = {
    **dict.fromkeys(("auc", "auroc", "roc", "c_index", "c_statistic"), "roc_auc"),
    **dict.fromkeys(("ap", "map", "aucpr", "auprc", "pr_auc", "prauc"), "average_precision"),
    **dict.fromkeys(("mrr", "rr"), "reciprocal_rank"),
    **dict.fromkeys(("ef", "lift"), "enrichment"),
    **dict.fromkeys(("hits", "hit_rate", "sensitivity", "tpr", "r"), "recall"),
    **dict.fromkeys(("p", "ppv"), "precision"),
    **dict.fromkeys(("f", "f1"), "f_score"),
}
# Smallest similarity of a name to the one that may have been meant.
_SIMILAR = 0.7

_AVERAGES = ("macro", "weighted", "micro", "samples")


def as_metric(metric: Any) -> Metric:
    """Return the metric given by an instance or by a name, such as ``"recall@50"``."""
    found = as_metric_or_average(metric)
    each, average = found.of_each_class()
    if average is not None:
        remedy = metric.replace(f"_{average}", "") if isinstance(metric, str) else each
        raise ValueError(
            f"metric={metric!r} is an average over classes, which a single class and "
            f"queries do not have: pass metric={remedy!r} and the labels of one class."
        )
    return found


def as_metric_or_average(metric: Any) -> Metric:
    """Return a metric, or its average over classes, such as ``"recall_macro@50"``."""
    if isinstance(metric, str):
        return _named(metric)
    if isinstance(metric, type) and issubclass(metric, Metric):
        raise TypeError(
            f"metric must be an instance; got the class {metric.__name__}: pass "
            f"{metric.__name__}({f'{metric.after_at}=...' if needs_number(metric) else ''})."
        )
    if not isinstance(metric, Metric):
        raise ValueError(_unknown(metric))
    check_of_user(metric.of_each_class()[0])
    return metric


def _named(metric: str) -> Metric:
    """Return the metric with a name, an average over classes and, after an @, a number."""
    written, at, number = metric.partition("@")
    name, _, average = written.rpartition("_")
    if average not in _AVERAGES:
        name, average = written, ""
    if name not in METRICS:
        raise ValueError(_meant(metric) or _unknown(metric))
    make = METRICS[name]
    field = _number_field(make)
    if at and field is None:
        raise ValueError(f"metric={metric!r}: {name} has no cut-off; pass metric={written!r}.")
    if needs_number(make) and not at:
        raise ValueError(_without_number(name, written, field.name))
    found = make(**{field.name: _number(metric, field.name, number)}) if at else make()
    return found.averaged(average or None)


def _without_number(name: str, written: str, parameter: str) -> str:
    """Text of the error about a name without the number that the metric needs."""
    if parameter != "k":
        return f"{name} needs the {parameter} after an @: pass metric='{written}@0.1'."
    return (
        f"{name} needs a cut-off: metric='{written}@50' counts the first 50 items, and "
        f"metric='{written}@0.1' a tenth of a list of any size."
    )


def _number(metric: str, parameter: str, text: str) -> float:
    """Return the number after the @ in the name of a metric."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    meaning = "a number between 0 and 1, such as 0.1"
    if parameter == "k":
        parameter = "cut-off"
        meaning = "a number of items, such as 50, or a fraction of them, such as 0.01"
    raise ValueError(
        f"metric={shown(metric)}: the {parameter} after the @ must be {meaning}; got {shown(text)}."
    )


def _unknown(metric: Any) -> str:
    """Text of the error about a metric that does not exist."""
    names = ", ".join(f"'{name}{_example(make)}'" for name, make in METRICS.items())
    return (
        f"metric must be one of {names}, or an instance of a metric such as AveragePrecision(); "
        f"got {shown(metric)}."
    )


def _meant(metric: str) -> str | None:
    """Text of the error about a name that resembles that of a metric; None if it does not."""
    plain = re.sub(r"[\s-]+", "_", metric.strip().lower())
    # Other packages write recall_at_50, precision_at_k, P_10 and ndcg_cut_10.
    plain = re.sub(r"_(at_|cut_)?(?=[\d.]+$)|_at_(?=k$)", "@", plain)
    written, _, number = plain.partition("@")
    name, _, average = written.rpartition("_")
    if average not in _AVERAGES:
        name, average = written, ""
    known = {**{one: one for one in METRICS}, **_OTHER_NAMES}
    # The first letter is seldom wrong, and short names resemble many others.
    near = get_close_matches(name, [one for one in METRICS if one[0] == name[:1]], 1, _SIMILAR)
    found = known.get(name) or known.get(name.removesuffix("_score")) or next(iter(near), None)
    if found is None:
        return None
    after = _example(METRICS[found])
    if _number_field(METRICS[found]) is not None and re.fullmatch(r"\d*\.?\d+", number):
        after = f"@{number}"
    meant = f"{found}{'_' * bool(average)}{average}{after}"
    return f"metric={shown(metric)} is unknown: did you mean {meant!r}?"


def needs_number(make: Callable[..., Metric]) -> bool:
    """Whether a metric cannot be created without the number after the @."""
    field = _number_field(make)
    return field is not None and field.default is MISSING


def _example(make: Callable[..., Metric]) -> str:
    """What may stand after the name of a metric that needs a number."""
    if not needs_number(make):
        return ""
    return "@50" if _number_field(make).name == "k" else "@0.1"


def _number_field(make: Any) -> Any:
    """The parameter of a metric that the number after the @ sets; None if there is none."""
    kind: Any = make.func if isinstance(make, partial) else make
    parameters = fields(kind) if is_dataclass(kind) else ()
    return next((field for field in parameters if field.name == kind.after_at), None)
