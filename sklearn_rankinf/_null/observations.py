"""From a sample to the value of a metric and its null distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._metrics import (
    DiscountedCumulativeGain,
    no_positives,
    undefined_value,
    value_of,
)
from sklearn_rankinf._null.distribution import OF_LABELS, NullDistribution
from sklearn_rankinf._null.metrics import check_method, frozen_null_distribution
from sklearn_rankinf._null.permuted import permutation_distribution
from sklearn_rankinf._null.ranks import rounding_of
from sklearn_rankinf._permutation import (
    RESTRICTED,
    AnyExchange,
    DesignWarning,
    ExchangedHits,
    GradedGain,
    PermutedGain,
    PermutedRows,
    exchange_of,
    few_labellings_warning,
    weights_warning,
)
from sklearn_rankinf._ranking import Ranking, Sample, check_no_closed_form, warn_caller
from sklearn_rankinf._statistics import Metric

Observed = tuple[Any, NullDistribution]


def observe(
    metric: Metric,
    sample: Sample,
    *,
    method: str,
    **options: Any,
) -> Observed:
    """Value and null distribution of a metric of one class, or of its average over classes."""
    metric, average = metric.of_each_class()
    exchange = exchange_of(sample)
    weights_stay = method == OF_LABELS
    if weights_stay:
        method = _permutation_of_labels(sample)
    if sample.is_graded:
        return _observe_grades(metric, sample, exchange, method=method, **options)
    if average is not None or sample.design.weights is not None:
        options |= {"method": method, "average": average, "weights_stay": weights_stay}
        return _observe_rows(metric, sample, exchange, **options)
    if exchange is None:
        return observe_ranking(sample.rankings[0], metric, method=method, **options)
    null = _restricted(metric.at(sample.n_items), sample, exchange, method=method, **options)
    return _value(sample.rankings[0], null), null


def observe_ranking(ranking: Ranking, metric: Metric, **options: Any) -> Observed:
    """Value and null distribution of a metric of a ranking whose labels are all exchangeable."""
    null = frozen_null_distribution(
        metric, ranking.n_samples, ranking.n_positives, tie_sizes=ranking.tie_sizes, **options
    )
    return _value(ranking, null), null


def _value(ranking: Ranking, null: NullDistribution) -> Any:
    is_constant = ranking.n_positives in (0, ranking.n_samples)
    if is_constant and not null.statistic.counts_hits:
        return null.mean()  # the only possible value, without rounding errors
    return value_of(null.statistic, ranking)


def _restricted(
    metric: Metric, sample: Sample, exchange: AnyExchange, *, method: str, **options: Any
) -> NullDistribution:
    """Null distribution under restricted permutations of the labels."""
    check_method(metric, method)
    check_no_closed_form(method, RESTRICTED)
    n, m = sample.n_items, sample.n_positives
    mirrored = metric.mirrored(n, m)
    own = sample if mirrored is None else sample.reversed()
    counted = metric if mirrored is None else mirrored
    values = counted.hit_values(n, own.n_positives, own.tie_sizes())
    rounding = rounding_of(counted, n, own.n_positives)
    best = float(metric.maximum(n, m))
    permuted = ExchangedHits(values, own.places(), own.positive, exchange, best)
    return permutation_distribution(
        permuted, metric, n, m, sample.tie_sizes(), rounding=rounding, **options
    )


def _observe_grades(
    metric: Metric, sample: Sample, exchange: AnyExchange | None, *, method: str, **options: Any
) -> Observed:
    """Observe discounted cumulative gain of grades of relevance."""
    assert isinstance(metric, DiscountedCumulativeGain)
    check_method(metric, method)
    check_no_closed_form(method, f"{metric.title} with graded relevance")
    metric = metric.at(sample.n_items)
    tie_sizes = sample.tie_sizes()
    gain = GradedGain(
        DiscountedCumulativeGain(metric.k),
        sample.labels[:, 0],
        sample.places(),
        tie_sizes,
        metric.normalize,
    )
    null = permutation_distribution(
        PermutedGain(gain, exchange),
        metric,
        sample.n_items,
        sample.n_positives,
        tie_sizes,
        **options,
    )
    return gain.observed(), null


def _observe_rows(
    metric: Metric,
    sample: Sample,
    exchange: AnyExchange | None,
    *,
    average: str | None,
    method: str,
    weights_stay: bool,
    **options: Any,
) -> Observed:
    """Observe a metric with weights, or its average over classes, whose label rows are permuted."""
    statistic: Any = metric.at(sample.n_items)
    if sample.design.weights is not None:
        check_takes_weights(metric)
        if statistic.horizon is not None:
            raise ValueError(
                f"k={statistic.horizon} cannot be combined with unequal sample_weight: average "
                "precision at k is defined for samples of equal weight; omit one of them."
            )
    check_method(metric, method)
    what = f"{statistic!r} with unequal sample_weight"
    if average is not None:
        what = f"{statistic!r} with average={average!r}"
    check_no_closed_form(method, what)
    classes = [sample.single(number) for number in range(sample.n_classes)]
    permuted = PermutedRows(
        [sample] if average == "micro" else classes,
        "weighted" if average == "weighted" else "macro",
        statistic,
        weights_stay,
        exchange,
    )
    is_binary = average is None
    rounding = max(rounding_of(statistic, c.n_cells, c.n_positives) for c in permuted.rankings)
    null = permutation_distribution(
        permuted,
        statistic,
        sample.n_items,
        sample.n_positives if is_binary else np.array([own.n_positives for own in classes]),
        permuted.tie_sizes if is_binary else None,
        rounding=rounding,
        **options,
    )
    return permuted.observed(), null


def check_takes_weights(metric: Metric, what: str = "sample_weight") -> None:
    """Raise an error for sample weights of a metric other than average precision."""
    if not metric.takes_weights:
        raise ValueError(
            f"metric={metric!r} takes no {what}: leave it out, or use metric='average_precision'."
        )


def _permutation_of_labels(sample: Sample) -> str:
    """The method of the null distribution if labels alone are permuted and weights stay."""
    if not sample.design.is_weighted:
        raise ValueError(
            f"method={OF_LABELS!r} permutes the labels of samples with weights, but no "
            "sample_weight is given: pass it to average_precision_test or to the scorer, or use "
            "method='permutation'."
        )
    return "permutation"


def warn_of_design(sample: Sample, metric: Metric, method: str) -> None:
    """Warn about weights, and about the first class or table with few different labellings."""
    exchange = exchange_of(sample)
    weights = sample.design.weights
    messages = [] if weights is None else [weights_warning(sample, method == OF_LABELS, exchange)]
    if exchange is not None:
        moving = None if method == OF_LABELS else weights
        parts = [sample.labels]
        if metric.of_each_class()[1] is None:
            parts = np.split(sample.labels, sample.n_classes, axis=1)
        found = (few_labellings_warning(exchange, part, moving) for part in parts)
        messages.append(next(filter(None, found), None))
    for message in filter(None, messages):
        warn_caller(message, DesignWarning)


def masses(sample: Sample) -> Any:
    """Number, or weight, of the positives of each class."""
    if sample.design.weights is not None:
        return sample.design.weights @ sample.labels
    return np.array([ranking.n_positives for ranking in sample.rankings])


def warn_of_undefined(metric: Metric, sample: Sample) -> None:
    """Warn about an undefined value, of one or several classes."""
    message = _undefined(*metric.of_each_class(), sample)
    if message is not None:
        warn_caller(message, UndefinedMetricWarning)


def _undefined(metric: Metric, average: str | None, sample: Sample) -> str | None:
    """Text of the warning about an undefined value of one or several classes, otherwise None."""
    of_classes = masses(sample)
    if average in ("weighted", "micro") and of_classes.any():
        return None  # these averages ignore classes without positives
    if not of_classes.all():
        title = metric.title
        if sample.n_classes > 1:
            columns = ", ".join(map(str, np.flatnonzero(of_classes == 0.0).tolist()))
            title = f"{title} of the class in column {columns}"
        return no_positives(title, "0.0")
    if average is not None or sample.design.weights is not None or sample.is_graded:
        return None
    found = (undefined_value(metric, ranking) for ranking in sample.rankings)
    return next(filter(None, found), None)
