"""A metric of a ranking as an estimate: its variance over samples, and its confidence limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from sklearn_rankinf._estimation import limits
from sklearn_rankinf._estimation.binormal import calibrated_limits, inverted_limits
from sklearn_rankinf._metrics import influence_of, slope_at, value_of
from sklearn_rankinf._ranking import Design, Ranking, Sample, check_option
from sklearn_rankinf._statistics import Floats, Metric, Statistic

# Standard errors below this fraction of the largest value are rounding errors.
_ROUNDING = 1e-13

Limits = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Estimate:
    """A metric of a ranking, and its variance with fixed numbers of positives and negatives.

    The variance is nan if a class has a single item or cluster, and contains the `design_effect` of
    clusters and strata. The numbers of positives and negatives are those of independent ones, or of
    clusters that have them. `at_k` has the hits in the first k and the slope at k; it is None for
    metrics other than hits at k.
    """

    metric: Statistic
    size: tuple[int, int]
    value: float
    variance: float
    n_positives: int
    n_negatives: int
    design_effect: float = 1.0
    at_k: tuple[float, float] | None = None

    @classmethod
    def of_ranking(cls, metric: Metric, ranking: Ranking) -> Estimate:
        """Estimate from counts of independently sampled items."""
        statistic = check_has_influence(metric).at(ranking.n_samples)
        variance = influence_of(statistic, ranking).variance()
        n, m = ranking.n_samples, ranking.n_positives
        blocks = ranking.tie_sizes, ranking.hits
        hits, k = statistic.count(*blocks), statistic.horizon
        at_k = None if hits is None or k is None else (float(hits), slope_at(*blocks, k))
        value = float(value_of(statistic, ranking))
        return cls(statistic, (n, m), value, variance, m, n - m, at_k=at_k)

    @classmethod
    def of_sample(cls, metric: Metric, sample: Sample, ranker: int = 0) -> Estimate:
        """Estimate from items, also with clusters or strata."""
        plain = cls.of_ranking(metric, sample.rankings[ranker])
        if sample.design.is_simple:
            return plain
        errors = sample.errors(influence_of_items(plain.metric, sample, ranker))
        variance = float(errors @ errors)
        effect = variance / plain.variance if plain.variance > 0.0 else 1.0
        m, n0 = sample.n_independent
        return replace(
            plain, variance=variance, n_positives=m, n_negatives=n0, design_effect=effect
        )

    @property
    def maximum(self) -> float:
        return float(self.metric.maximum(*self.size))

    @property
    def minimum(self) -> float:
        """Value of the ranking with all positives last."""
        n, m = self.size
        return float(value_of(self.metric, Ranking([n - m, m], [0, m])))  # type: ignore[arg-type]

    @property
    def standard_error(self) -> float:
        return math.sqrt(self.variance)


def check_has_influence(metric: Metric) -> Statistic:
    """Raise an error for a metric that depends on a single item."""
    if isinstance(metric, Statistic):
        return metric
    raise ValueError(
        f"{metric.title} of one ranking depends on a single sample, its best positive, so its "
        "variance cannot be estimated: pass groups, the queries of several rankings, whose mean "
        "has an "
        "interval."
    )


def covariance_of_values(metric: Statistic, sample: Sample) -> Floats:
    """Influence covariance matrix of the values of several rankers of the same items."""
    rankers = range(len(sample.scores))
    influence = [influence_of_items(metric, sample, ranker) for ranker in rankers]
    errors = sample.errors(np.stack(influence, axis=1))
    covariance = np.asarray(errors.T @ errors)
    # Standard errors below the rounding error of the values are set to 0.
    rounding = _ROUNDING * abs(metric.maximum(sample.n_items, sample.n_positives))
    noise = np.diag(covariance) <= rounding**2
    covariance[noise] = covariance[:, noise] = 0.0
    return covariance


def influence_of_items(metric: Statistic, sample: Sample, ranker: int = 0) -> Floats:
    found = influence_of(metric, sample.rankings[ranker])
    return found.of_items(sample.places(ranker), sample.positive)


# Limits of one estimate, by method. If a class has a single item or cluster, methods that need the
# variance return all possible values.


def _g_limits(estimate: Estimate, level: float, seed: Any) -> Limits:
    horizon = estimate.metric.horizon
    low, high = limits.average_precision_limits(
        estimate.value,
        estimate.variance,
        estimate.n_positives,
        level,
        k=math.inf if horizon is None else horizon,
        maximum=estimate.maximum,
    )
    return (0.0, estimate.maximum) if np.isnan(low) else (float(low), float(high))


def _calibrated(estimate: Estimate, level: float, seed: Any) -> Limits:
    if math.isnan(estimate.variance):
        return 0.0, 1.0
    return calibrated_limits(estimate.value, estimate.variance, *estimate.size, level, seed)[:2]


def _boyd_logit(estimate: Estimate, level: float, seed: Any) -> Limits:
    return _pair(limits.boyd_logit_limits(estimate.value, estimate.n_positives, level))


def _boyd_binomial(estimate: Estimate, level: float, seed: Any) -> Limits:
    return _pair(limits.boyd_binomial_limits(estimate.value, estimate.n_positives, level))


def _auc_score(estimate: Estimate, level: float, seed: Any) -> Limits:
    n, m_all = estimate.size
    # With clusters the sample size is the effective one.
    share = 1.0 / estimate.design_effect if estimate.design_effect > 0.0 else 1.0
    m, n0 = m_all * share, (n - m_all) * share
    df = estimate.n_positives - 1
    return _pair(limits.roc_auc_limits(estimate.value, estimate.variance, m, n0, level, df=df))


def _delong(estimate: Estimate, level: float, seed: Any) -> Limits:
    if math.isnan(estimate.variance):
        return 0.0, 1.0
    half = float(ndtri((1.0 + level) / 2.0)) * estimate.standard_error
    return _within(estimate.value - half, estimate.value + half, 0.0, 1.0)


def _of_hits(
    formula: Callable[[float, float, float, float, float], tuple[Any, Any]], estimate: Estimate
) -> Limits:
    """Limits of recall from hits, k, slope, n and m, on the scale of the metric."""
    metric: Any = estimate.metric
    assert estimate.at_k is not None
    n, m = estimate.size
    hits, slope = estimate.at_k
    # With clusters the sample size is the effective one, and only clusters are independent.
    effect, share = estimate.design_effect, estimate.n_positives / m
    share = min(share, 1.0 / effect) if effect > 0.0 else share
    low, high = _pair(formula(hits * share, metric.k * share, slope, n * share, m * share))
    scale = m / float(metric.divided_by(n, m))
    return low * scale, high * scale


def _hits_score(estimate: Estimate, level: float, seed: Any) -> Limits:
    return _of_hits(
        lambda h, k, slope, n, m: limits.recall_limits(h, k, slope, n, m, level), estimate
    )


def _plus(estimate: Estimate, level: float, seed: Any) -> Limits:
    return _of_hits(
        lambda h, k, slope, n, m: limits.plus_recall_limits(h, k, slope, n, m, level), estimate
    )


def _clopper_pearson(estimate: Estimate, level: float, seed: Any) -> Limits:
    return _of_hits(lambda h, k, slope, n, m: limits.clopper_pearson_limits(h, m, level), estimate)


def _influence_t(estimate: Estimate, level: float, seed: Any) -> Limits:
    if math.isnan(estimate.variance):
        return estimate.minimum, estimate.maximum
    half = estimate.standard_error * float(limits.t_quantile(estimate.n_positives - 1, level))
    low, high = estimate.value - half, estimate.value + half
    return _within(low, high, estimate.minimum, estimate.maximum)


def _binormal(estimate: Estimate, level: float, seed: Any) -> Limits:
    n, m = estimate.size
    values = estimate.metric.hit_values(n, m, None)
    return inverted_limits(lambda ranks: values(ranks - 1), estimate.value, n, m, level, seed)[:2]


def _within(low: float, high: float, least: float, most: float) -> Limits:
    """Clip limits to the possible values of the metric."""
    return _pair((np.clip(low, least, most), np.clip(high, least, most)))


def _pair(found: tuple[Any, Any]) -> Limits:
    return float(found[0]), float(found[1])


@dataclass(frozen=True)
class IntervalMethod:
    """A method of an interval: what it is called, and the quantity that it estimates.

    `limits` is called with an estimate, a confidence level and a seed. `target` has a placeholder
    for the title of the metric.
    """

    title: str
    limits: Callable[[Estimate, float, Any], Limits]
    target: str
    takes_clusters: bool = True
    takes_k: bool = True
    reference: str = ""


_POPULATION = "{title} in the population, at the prevalence of the sample"
_EXPECTED = (
    "expected {title} of samples of this size and this number of positives, in the binormal model"
)


# The methods of each family of metrics by name, the recommended one first.
_INTERVALS = {
    "average_precision": {
        "influence": IntervalMethod("from influence values", _g_limits, _POPULATION),
        "calibrated": IntervalMethod("calibrated t", _calibrated, _EXPECTED, False, False),
        "logit": IntervalMethod(
            "Boyd's logit interval", _boyd_logit, _POPULATION, False, False, "Boyd 2013"
        ),
        "binomial": IntervalMethod(
            "Boyd's binomial interval", _boyd_binomial, _POPULATION, False, False, "Boyd 2013"
        ),
    },
    "roc_auc": {
        "score": IntervalMethod(
            "score interval", _auc_score, _POPULATION, reference="Newcombe 2006"
        ),
        "delong": IntervalMethod("DeLong's interval", _delong, _POPULATION),
    },
    "hits": {
        "score": IntervalMethod("score interval", _hits_score, _POPULATION),
        "clopper_pearson": IntervalMethod(
            "Clopper and Pearson's interval", _clopper_pearson, _POPULATION, False
        ),
        "plus": IntervalMethod(
            "Ash and Hughes-Oliver's interval", _plus, _POPULATION, False, reference="Ash 2022"
        ),
    },
    "other": {
        "binormal": IntervalMethod("from the binormal model", _binormal, _EXPECTED, False),
        "influence": IntervalMethod("from influence values", _influence_t, _POPULATION),
    },
}


def interval_methods(metric: Metric) -> dict[str, IntervalMethod]:
    """Return the interval methods of a metric by name, the recommended one first."""
    methods = _INTERVALS[metric.family]
    has_k = metric.horizon is not None
    return {name: way for name, way in methods.items() if way.takes_k or not has_k}


def choose_method(metric: Metric, method: str, in_clusters: bool) -> str:
    """Return the name of the method, or raise an error if the metric does not have it."""
    known = interval_methods(metric)
    method = check_option(method, "method", ["auto", *known], f" for {metric.title_in_text}")
    possible = [name for name, way in known.items() if way.takes_clusters or not in_clusters]
    if method == "auto":
        return possible[0]
    if method not in possible:
        raise ValueError(
            f"method={method!r} needs independent samples, but clusters or strata are given: use "
            f"method={possible[0]!r}."
        )
    return method


def recommended_interval(metric: Metric, design: Design) -> IntervalMethod:
    """Return the interval method of a metric that ``"auto"`` selects."""
    return interval_methods(metric)[choose_method(metric, "auto", not design.is_simple)]


def check_both_classes(ranking: Ranking, what: str = "y_true") -> None:
    """Raise an error if the labels have only one class, so that there is no interval."""
    for count, name in (
        (ranking.n_positives, "positives"),
        (ranking.n_samples - ranking.n_positives, "negatives"),
    ):
        if count == 0:
            raise ValueError(f"{what} has no {name}: an interval needs samples of both classes.")
