"""A metric of a ranking, or its mean over queries, as an estimate: its variance and its limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import ndtri

from sklearn_rankinf._estimation import limits
from sklearn_rankinf._estimation.binormal import calibrated_limits, inverted_limits
from sklearn_rankinf._estimation.prevalence import (
    AveragePrecisionInPopulation,
    HitsInPopulation,
    MetricInPopulation,
    PrecisionAtPositives,
    check_negatives,
    check_top_fraction,
    top_fraction,
)
from sklearn_rankinf._estimation.regions import Region
from sklearn_rankinf._metrics import (
    check_has_influence,
    check_of_many_items,
    influence_of,
    value_of,
)
from sklearn_rankinf._ranking import Design, Ranking, Sample, as_seed_sequence, check_option
from sklearn_rankinf._results import Result, format_value, state_interval
from sklearn_rankinf._statistics import (
    Floats,
    Influence,
    Integers,
    Metric,
    Statistic,
    hits_up_to,
    slope_at,
)

# Standard errors below this fraction of the largest value are rounding errors.
_ROUNDING = 1e-13

Limits = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Estimate:
    """A metric of a ranking, and its variance with fixed numbers of positives and negatives.

    The variance is nan if a class has a single item or cluster, and contains the `design_effect` of
    clusters, strata and weights. The numbers of positives and negatives are those of independent
    ones, or of clusters that have them; with weights they are effective numbers, and
    `weight_of_positives` is the sum of those of the positives. `at_k` has the hits in the first k
    and the slope at k; it is None for metrics other than hits at k. At another prevalence, and of
    an operating point, `counts` is what the limits are computed from. Operating points have no
    variance.
    """

    metric: Any
    size: tuple[int, int]
    value: float
    variance: float
    n_positives: float
    n_negatives: float
    design_effect: float = 1.0
    at_k: tuple[float, float] | None = None
    prevalence: float | None = None
    counts: Any = None
    weight_of_positives: float | None = None

    @classmethod
    def of_ranking(cls, metric: Metric, ranking: Ranking) -> Estimate:
        """Estimate from counts of independently sampled items."""
        n, m = ranking.n_samples, ranking.n_positives
        check_of_many_items(metric)
        if not metric.has_influence:
            value = float(value_of(metric, ranking))
            return cls(metric, (n, m), value, math.nan, m, n - m, counts=ranking)
        statistic = check_has_influence(metric).at(n)
        variance = influence_of(statistic, ranking).variance()
        blocks = ranking.tie_sizes, ranking.hits
        hits, k = statistic.count(*blocks), statistic.horizon
        at_k = None if hits is None or k is None else (float(hits), slope_at(*blocks, k))
        value = float(value_of(statistic, ranking))
        return cls(statistic, (n, m), value, variance, m, n - m, at_k=at_k)

    @classmethod
    def of_sample(cls, metric: Metric, sample: Sample, ranker: int = 0) -> Estimate:
        """Estimate from items, also with clusters or strata."""
        m: float
        n0: float
        if sample.design.weights is None:
            plain = cls.of_ranking(metric, sample.rankings[ranker])
            m, n0 = sample.n_independent
        else:
            plain = cls._of_weighted(check_has_influence(metric), sample, ranker)
            m, n0 = sample.n_effective
        if sample.design.is_simple:
            return plain
        errors = sample.errors(influence_of_items(plain.metric, sample, ranker))
        variance = float(errors @ errors)
        effect = variance / plain.variance if plain.variance > 0.0 else 1.0
        return replace(
            plain, variance=variance, n_positives=m, n_negatives=n0, design_effect=effect
        )

    @classmethod
    def _of_weighted(cls, metric: Statistic, sample: Sample, ranker: int) -> Estimate:
        """Estimate as if an item of weight w were w independent items; the weights have mean 1."""
        statistic = metric.at(sample.n_items)
        sizes, hits = sample.weighted_blocks(ranker)
        value, influence = weighted_value(statistic, sizes, hits)
        at_k, k = None, statistic.horizon
        if k is not None:
            at_k = float(hits_up_to(sizes, hits, k)), slope_at(sizes, hits, k)
        return cls(
            statistic,
            (sample.n_items, sample.n_positives),
            value,
            influence.variance(),
            *sample.n_effective,
            at_k=at_k,
            weight_of_positives=float(hits.sum()),
        )

    @property
    def totals(self) -> tuple[float, float]:
        """Sums of the weights, of mean 1, of all items and of the positives."""
        n, m = self.size
        return n, m if self.weight_of_positives is None else self.weight_of_positives

    @property
    def maximum(self) -> float:
        return float(self.metric.maximum(*self.totals))

    @property
    def minimum(self) -> float:
        """Value of the ranking with all positives last."""
        n, m = self.size
        return float(value_of(self.metric, Ranking([n - m, m], [0, m])))  # type: ignore[arg-type]

    @property
    def standard_error(self) -> float:
        return math.sqrt(self.variance)

    @property
    def df(self) -> float:
        """Degrees of freedom of the variance."""
        return self.n_positives - 1.0

    @property
    def error_factor(self) -> float:
        """Factor of the standard error, at least 1: DeLong's of ROC AUC is too small near 1.

        It is that of the score interval: the variance is the mean of DeLong's and of Newcombe's for
        the value, unless DeLong's is larger. With clusters or weights the sample size is the
        effective one.
        """
        if self.metric.family != "roc_auc":
            return 1.0
        share = 1.0 / self.design_effect if self.design_effect > 0.0 else 1.0
        n, m = self.totals
        null = float(limits.roc_auc_null_variance(self.value, m * share, (n - m) * share))
        # A value of 0 or 1 up to rounding may lie outside of [0, 1], and its variance below 0.
        if not self.variance > 1e-13 * abs(null):
            return 1.0
        return math.sqrt(max((1.0 + null / self.variance) / 2.0, 1.0))

    def limits_by(self, way: IntervalMethod, level: float, seed: Any) -> Limits:
        return way.limits(self, level, seed)


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
    if sample.design.weights is None:
        found = influence_of(metric, sample.rankings[ranker])
    else:
        found = weighted_value(metric, *sample.weighted_blocks(ranker))[1]
    return found.of_items(sample.places(ranker), sample.positive)


def weighted_value(metric: Statistic, sizes: Floats, hits: Floats) -> tuple[float, Influence]:
    """Value and influence of blocks of items with weights."""
    found = metric.weighted(sizes, hits)
    if found is None:
        raise ValueError(
            f"sample_weight is not available for {metric.title_in_text}. The weights are those of "
            "a sampling design, such as inverse probabilities of selection; average precision, ROC "
            "AUC, and recall, precision, enrichment and F-score at a fraction of the population "
            "take them. Pass one of these metrics, or leave out sample_weight; for weights that "
            "are numbers of copies repeat the items, as in np.repeat(y_score, sample_weight)."
        )
    return found


# Limits of an operating point, within a region around the curve.


def _precision_at_recall(region: Region, metric: Any, value: float) -> Limits:
    hits = metric.recall * region.n_positives
    (first,), (last,) = region.cut_offs_at_recall(np.array([metric.recall]))
    return float(hits / last), float(hits / max(first, hits))


def _recall_at_precision(region: Region, metric: Any, value: float) -> Limits:
    return region.recall_at_precision(metric.precision, value)


def _recall_at_fpr(region: Region, metric: Any, value: float) -> Limits:
    (low,), (high,) = region.recall_at_share(np.array([metric.fpr]), 0.0)
    return float(low), float(high)


def _in_region(
    read: Callable[[Region, Any, float], Limits], estimate: Estimate, level: float, seed: Any
) -> Limits:
    """Limits of an operating point, which include its value."""
    if min(estimate.n_positives, estimate.n_negatives) < 2:
        return 0.0, 1.0
    region = Region.pointwise(estimate.counts, level)
    low, high = read(region, estimate.metric, estimate.value)
    return min(low, estimate.value), max(high, estimate.value)


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
    n, m_all = estimate.totals
    # With clusters or weights the sample size is the effective one.
    share = 1.0 / estimate.design_effect if estimate.design_effect > 0.0 else 1.0
    m, n0 = m_all * share, (n - m_all) * share
    df = estimate.n_positives - 1
    return _pair(limits.roc_auc_limits(estimate.value, estimate.variance, m, n0, level, df=df))


def _delong(estimate: Estimate, level: float, seed: Any) -> Limits:
    return _around(estimate, float(ndtri((1.0 + level) / 2.0)), 0.0, 1.0)


def _of_hits(
    formula: Callable[[float, float, float, float, float], tuple[Any, Any]], estimate: Estimate
) -> Limits:
    """Limits of recall from hits, k, slope, n and m, on the scale of the metric."""
    metric: Any = estimate.metric
    assert estimate.at_k is not None
    n, m = estimate.totals
    hits, slope = estimate.at_k
    # With clusters or weights the sample size is the effective one, and only clusters are
    # independent.
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
    quantile = float(limits.t_quantile(estimate.n_positives - 1, level))
    return _around(estimate, quantile, estimate.minimum, estimate.maximum)


def _binormal(estimate: Estimate, level: float, seed: Any) -> Limits:
    n, m = estimate.size
    values = estimate.metric.hit_values(n, m, None)
    return inverted_limits(lambda ranks: values(ranks - 1), estimate.value, n, m, level, seed)[:2]


def _around(estimate: Estimate, quantile: float, least: float, most: float) -> Limits:
    """Limits at some standard errors from the value, clipped to the possible values."""
    if math.isnan(estimate.variance):
        return least, most
    half = quantile * estimate.standard_error
    return _pair(np.clip([estimate.value - half, estimate.value + half], least, most))


def _pair(found: Any) -> Limits:
    return float(found[0]), float(found[1])


@dataclass(frozen=True)
class IntervalMethod:
    """A method of an interval: what it is called, and the quantity that it estimates.

    `limits` is called with an estimate, a confidence level and a seed. `target` has placeholders
    for the title of the metric and the prevalence. `at_zero` is a sentence about a lower limit 0.
    """

    title: str
    limits: Callable[[Estimate, float, Any], Limits]
    target: str
    takes_clusters: bool = True
    takes_k: bool = True
    reference: str = ""
    at_zero: str = ""


_POPULATION = "{title} in the population, at the prevalence of the sample"
_EXPECTED = (
    "expected {title} of items of this size and this number of positives, in the binormal model"
)
_NEVER_REACHED = "The data do not exclude that this precision is never reached."


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
    **{
        family: {
            "region": IntervalMethod(
                "region of all cut-offs",
                partial(_in_region, read),
                _POPULATION,
                takes_clusters=False,
                at_zero=at_zero,
            )
        }
        for family, read, at_zero in (
            ("precision_at_recall", _precision_at_recall, ""),
            ("recall_at_precision", _recall_at_precision, _NEVER_REACHED),
            ("recall_at_fpr", _recall_at_fpr, ""),
        )
    },
    "other": {
        "binormal": IntervalMethod("from the binormal model", _binormal, _EXPECTED, False),
        "influence": IntervalMethod("from influence values", _influence_t, _POPULATION),
    },
}


# Metrics in a population of a given prevalence. The classes of the sample are sampled apart.


def _check_all_ranks(
    metric: Statistic, size: tuple[int, int], prevalence: float, method: str
) -> None:
    n, m = size
    if metric.at(n).horizon is not None:
        raise ValueError(
            f"prevalence is not available for {metric.title_in_text}: pass "
            "metric='average_precision', which counts all ranks, or leave out prevalence."
        )
    check_negatives(m, n - m, prevalence, method)


def _average_precision_at(metric: Statistic, sample: Sample, prevalence: float) -> Estimate:
    n, m = size = sample.n_items, sample.n_positives
    counts = PrecisionAtPositives.of(sample.rankings[0], prevalence)
    variance = counts.variance_of_positives + counts.variance_of_negatives
    return Estimate(
        metric.at(n), size, counts.value, variance, m, n - m, prevalence=prevalence, counts=counts
    )


def _check_fraction(
    metric: Statistic, size: tuple[int, int], prevalence: float, method: str
) -> None:
    n, m = size
    fraction: float = metric.k  # type: ignore[attr-defined]
    if fraction >= 1:
        raise ValueError(_needs_fraction(metric, "at another prevalence"))
    check_top_fraction(n - m, fraction)


def _hits_at(metric: Statistic, sample: Sample, prevalence: float) -> Estimate:
    n, m = size = sample.n_items, sample.n_positives
    fraction: float = metric.k  # type: ignore[attr-defined]
    top = top_fraction(sample.rankings[0], fraction, prevalence)
    scale = HitsInPopulation(metric, prevalence).best(n, m)
    value, variance = float(top.recall) * scale, float(limits.variance_of_recall(top)) * scale**2
    return Estimate(metric, size, value, variance, m, n - m, prevalence=prevalence, counts=top)


def _union(estimate: Estimate, level: float, seed: Any) -> Limits:
    top, m = estimate.counts, estimate.n_positives
    low, high = top.lowest, top.highest
    if m > 1:
        low, high = limits.union_limits(top, limits.t_quantile(m - 1.0, level))
    scale = HitsInPopulation(estimate.metric, estimate.prevalence or 0.0).best(*estimate.size)
    return float(low) * scale, float(high) * scale


def _check_nothing(
    metric: Statistic, size: tuple[int, int], prevalence: float, method: str
) -> None:
    """Any sample has a value."""


def _same_at(metric: Statistic, sample: Sample, prevalence: float) -> Estimate:
    return replace(Estimate.of_sample(metric, sample), prevalence=prevalence)


def _mover(estimate: Estimate, level: float, seed: Any) -> Limits:
    return _pair(estimate.counts.mover_limits(level))


class AtPrevalence(NamedTuple):
    """A family of metrics at another prevalence: its estimates and the methods of its intervals.

    `check` raises an error, or warns, if a sample with these numbers of items and of positives is
    too small for the method. `metric` is the metric of many lists; None if it is the same at every
    prevalence.
    """

    check: Callable[[Statistic, tuple[int, int], float, str], None]
    estimate: Callable[[Statistic, Sample, float], Estimate]
    methods: dict[str, IntervalMethod]
    metric: Callable[[Metric, float], MetricInPopulation] | None = None


_ELSEWHERE = "{title} in a population with prevalence {prevalence:g}"
_EVERYWHERE = "{title} in the population, which is the same at every prevalence"

_AT_PREVALENCE = {
    "average_precision": AtPrevalence(
        _check_all_ranks,
        _average_precision_at,
        {
            "mover": IntervalMethod("MOVER with Jeffreys limits", _mover, _ELSEWHERE, False),
            "influence": IntervalMethod("from influence values", _g_limits, _ELSEWHERE, False),
        },
        AveragePrecisionInPopulation,
    ),
    "hits": AtPrevalence(
        _check_fraction,
        _hits_at,
        {
            "union": IntervalMethod(
                "union of score and likelihood-ratio limits", _union, _ELSEWHERE, False
            )
        },
        HitsInPopulation,
    ),
    "roc_auc": AtPrevalence(
        _check_nothing,
        _same_at,
        {name: replace(way, target=_EVERYWHERE) for name, way in _INTERVALS["roc_auc"].items()},
    ),
}


def takes_prevalence(metric: Metric) -> bool:
    """Whether a metric has a value at another prevalence: not with a cut-off in items."""
    k = getattr(metric, "k", None)
    return metric.family in _AT_PREVALENCE and (k is None or (metric.family == "hits" and k < 1))


def check_sample(metric: Any, size: tuple[int, int], prevalence: float | None, method: str) -> None:
    """Raise an error, or warn, if a sample of this size is too small for a value elsewhere."""
    if prevalence is not None:
        at_prevalence(metric).check(metric, size, prevalence, method)


def check_weights(metric: Metric, design: Design) -> None:
    """Raise an error for a number of items as the cut-off of items with weights."""
    if design.weights is not None and isinstance(getattr(metric, "k", None), int):
        raise ValueError(_needs_fraction(metric, "if they have weights"))


def _needs_fraction(metric: Metric, where: str) -> str:
    """Text of the error about a cut-off that is a number of items."""
    return (
        f"{metric.title} counts items, whose number means nothing {where}: pass a fraction of "
        f"the population, such as {type(metric).__name__}(0.01)."
    )


def estimate_of(metric: Any, sample: Sample, prevalence: float | None) -> Estimate:
    """Estimate at the prevalence of the sample, or at another one."""
    if prevalence is None:
        return Estimate.of_sample(metric, sample)
    return at_prevalence(metric).estimate(metric, sample, prevalence)


def interval_methods(metric: Metric, prevalence: float | None = None) -> dict[str, IntervalMethod]:
    """Return the interval methods of a metric by name, the recommended one first."""
    if prevalence is not None:
        return at_prevalence(metric).methods
    methods = _INTERVALS[metric.family]
    has_k = metric.horizon is not None
    return {name: way for name, way in methods.items() if way.takes_k or not has_k}


def at_prevalence(metric: Metric) -> AtPrevalence:
    """The family of a metric at another prevalence, or an error."""
    if metric.family not in _AT_PREVALENCE:
        raise ValueError(
            f"prevalence is not available for {metric.title_in_text}: pass a metric such as "
            "'average_precision', 'precision@0.01', 'enrichment@0.01' or 'recall@0.01', or leave "
            "out prevalence."
        )
    return _AT_PREVALENCE[metric.family]


def choose_method(
    metric: Metric, method: str, in_clusters: bool, prevalence: float | None = None
) -> str:
    """Return the name of the method, or raise an error if the metric does not have it."""
    known = interval_methods(metric, prevalence)
    place = "" if prevalence is None else " at another prevalence"
    purpose = f" for {metric.title_in_text}{place}"
    method = check_option(method, "method", ["auto", *known], purpose)
    possible = [name for name, way in known.items() if way.takes_clusters or not in_clusters]
    if not possible and prevalence is None:
        raise ValueError(
            f"The interval of {metric.title_in_text} needs independent items of equal "
            "weight, but clusters, strata or weights are given: keep one item of each cluster, "
            "or use another metric."
        )
    if not possible:
        raise ValueError(
            "prevalence needs independent items of equal weight, but clusters, strata or weights "
            "are given: leave out prevalence, or keep one item of each cluster without weights."
        )
    if method == "auto":
        return possible[0]
    if method not in possible:
        raise ValueError(
            f"method={method!r} needs independent items of equal weight, but clusters, strata or "
            f"weights are given: use method={possible[0]!r}."
        )
    return method


def limits_around(
    way: IntervalMethod, estimate: Any, confidence_level: float, seed: Any = None
) -> tuple[float, float, float]:
    """Value and limits of an estimate for MOVER, whose limits must include the value.

    The interval of an expectation may exclude it.
    """
    low, high = estimate.limits_by(way, confidence_level, seed or as_seed_sequence(0))
    return estimate.value, min(low, estimate.value), max(high, estimate.value)


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
            raise ValueError(f"{what} has no {name}: an interval needs items of both classes.")


# Intervals as results.

# Values that differ by less than this fraction of the largest one count as equal.
_SAME = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class MetricIntervalResult(Result):
    """Result of :func:`metric_interval`.

    Attributes
    ----------
    metric : metric
        The metric, with a number of items as its cut-off if it has one.
    statistic : float
        Value of the metric, or its mean over queries or classes.
    low, high : float
        Limits of the interval.
    standard_error : float
        Influence standard error of the metric, or standard error of the mean over queries; nan for
        operating points, such as precision at a recall, and if there is only one positive or
        negative item, or only one cluster with positives or negatives.
    confidence_level : float
        Nominal coverage of the interval.
    method : str
        The method that was used.
    target : str
        The quantity that the interval estimates.
    n_samples, n_positives : int
        Number of items and of positives, of an average those of all classes.
    n_queries : int or None
        Number of queries; None for one ranking.
    prevalence : float or None
        Prevalence of the population; None for that of the sample.

    See Also
    --------
    metric_interval : The function that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import Ranking, metric_interval
    >>> ranking = Ranking.from_counts([1] * 8, [1, 1, 0, 1, 0, 0, 0, 0])
    >>> print(metric_interval(ranking, metric="roc_auc").summary())
    ROC AUC was 0.933 (95 % confidence interval 0.209 to 0.998; score interval).
    """

    metric: Metric
    statistic: float
    low: float
    high: float
    standard_error: float = field(repr=False)
    confidence_level: float
    method: str
    target: str = field(repr=False)
    n_samples: int = field(repr=False)
    n_positives: int = field(repr=False)
    n_queries: int | None = None
    prevalence: float | None = None
    _n_without_positives: int = 0

    def _sentences(self) -> Iterable[str]:
        title = self.metric.title
        if self.n_queries is None:
            each, _ = self.metric.of_each_class()
            method = interval_methods(each, self.prevalence)[self.method]
            way, at_zero = method.title, method.at_zero
            if self.prevalence is not None:
                title += f" in a population with prevalence {self.prevalence:g}"
        else:
            way, at_zero = _OVER_QUERIES[self.method][0], ""
            title = f"Mean {self.metric.title_in_text} over {self.n_queries} queries"
            title += in_parentheses(self._n_without_positives)
        interval = state_interval(self.low, self.high, self.confidence_level)
        yield f"{title} was {format_value(self.statistic)} ({interval}; {way})."
        if at_zero and self.low == 0.0:
            yield at_zero


def in_parentheses(n_without_positives: int) -> str:
    """The number of queries without positives for a sentence, after a space; nothing if 0."""
    if not n_without_positives:
        return ""
    verb = "counts" if n_without_positives == 1 else "count"
    return f" ({n_without_positives} without positives {verb} as 0)"


def interval_of(
    estimate: Estimate, confidence_level: float, method: str, random_state: Any = 0
) -> MetricIntervalResult:
    """Interval of one estimate by a method of its metric."""
    way = interval_methods(estimate.metric, estimate.prevalence)[method]
    title = estimate.metric.title_in_text
    low, high = way.limits(estimate, confidence_level, as_seed_sequence(random_state))
    return MetricIntervalResult(
        metric=estimate.metric,
        statistic=estimate.value,
        low=low,
        high=high,
        standard_error=estimate.standard_error,
        confidence_level=confidence_level,
        method=method,
        target=way.target.format(title=title, prevalence=estimate.prevalence),
        n_samples=estimate.size[0],
        n_positives=estimate.size[1],
        prevalence=estimate.prevalence,
    )


def interval_of_ranking(
    metric: Metric, ranking: Ranking, confidence_level: float, method: str, random_state: Any
) -> MetricIntervalResult:
    """Interval of a metric of independently sampled items."""
    check_of_many_items(metric)
    method = choose_method(metric, method, False)
    check_both_classes(ranking)
    return interval_of(Estimate.of_ranking(metric, ranking), confidence_level, method, random_state)


def standard_error_of_mean(values: Floats, clusters: Integers | None = None) -> float:
    """Standard error of the mean of independent values, or of values in numbered clusters.

    It is nan for a single value or cluster, and 0 if values differ only by rounding.
    """
    errors = values - values.mean()
    if clusters is not None:
        errors = np.bincount(clusters, errors)
    if errors.size < 2:
        return math.nan
    if np.ptp(values) <= _SAME * np.abs(values).max():
        return 0.0
    return math.sqrt(errors @ errors * errors.size / (errors.size - 1)) / values.size


def mean_limits(
    values: Floats, confidence_level: float, clusters: Integers | None = None
) -> tuple[float, float]:
    """Student's t limits of the mean of independent values, or of values in numbered clusters."""
    n_independent = values.size if clusters is None else int(clusters.max()) + 1
    if n_independent < 2:
        return -math.inf, math.inf
    mean, quantile = (
        float(values.mean()),
        float(limits.t_quantile(n_independent - 1, confidence_level)),
    )
    half = quantile * standard_error_of_mean(values, clusters)
    return mean - half, mean + half


def mean_interval(
    values: Floats, confidence_level: float, method: str, n_resamples: int, random_state: Any
) -> tuple[float, float]:
    """Interval of the mean over queries, by Student's t or by resampling queries."""
    if values.size < 2:
        raise ValueError(
            "An interval over queries needs at least 2 queries; got 1: leave out groups for the "
            "interval of one ranking."
        )
    way = _t_limits if np.ptp(values) == 0.0 else _OVER_QUERIES[method][1]
    return way(values, confidence_level, n_resamples, random_state)


def _bootstrap_limits(
    values: Floats, confidence_level: float, n_resamples: int, random_state: Any
) -> tuple[float, float]:
    found = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=n_resamples,
        batch=max(1, 1_000_000 // values.size),
        confidence_level=confidence_level,
        method="BCa",
        random_state=np.random.default_rng(as_seed_sequence(random_state)),
    ).confidence_interval
    return float(found.low), float(found.high)


def _t_limits(
    values: Floats, confidence_level: float, n_resamples: int, random_state: Any
) -> tuple[float, float]:
    return mean_limits(values, confidence_level)


# Methods of the interval of a mean over queries: title and limits, the recommended one first.
_OVER_QUERIES = {
    "t": ("Student's t", _t_limits),
    "bootstrap": ("bootstrap over queries", _bootstrap_limits),
}


def interval_over_queries(
    metric: Metric,
    values: Floats,
    size: tuple[int, int],
    confidence_level: float,
    method: str,
    n_resamples: int,
    random_state: Any,
    n_without_positives: int,
) -> MetricIntervalResult:
    """Interval of the mean of a metric over queries, from its values."""
    known = ["auto", *_OVER_QUERIES]
    method = check_option(method, "method", known, " over queries")
    method = known[1] if method == "auto" else method
    low, high = mean_interval(values, confidence_level, method, n_resamples, random_state)
    return MetricIntervalResult(
        metric=metric,
        statistic=float(values.mean()),
        low=low,
        high=high,
        standard_error=standard_error_of_mean(values),
        confidence_level=confidence_level,
        method=method,
        target=f"mean {metric.title_in_text} over the population of queries",
        n_samples=size[0],
        n_positives=size[1],
        n_queries=values.size,
        _n_without_positives=n_without_positives,
    )
