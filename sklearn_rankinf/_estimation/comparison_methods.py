"""Methods of comparisons of two rankings, or of two runs over queries: one table for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._estimation import limits
from sklearn_rankinf._estimation.curve_kinds import correlation_at_point, shrunk_correlation
from sklearn_rankinf._estimation.estimates import (
    Estimate,
    IntervalMethod,
    at_prevalence,
    check_both_classes,
    check_sample,
    choose_method,
    covariance_of_values,
    estimate_of,
    interval_methods,
    limits_around,
    mean_interval,
    mean_limits,
    recommended_interval,
    standard_error_of_mean,
)
from sklearn_rankinf._estimation.prevalence import MetricInPopulation
from sklearn_rankinf._metrics import (
    check_has_influence,
    check_several_queries,
    value_of,
    values_of_queries,
)
from sklearn_rankinf._permutation import (
    CELLS_PER_CHUNK,
    Draws,
    PairedSampler,
    SignFlipSampler,
    SwapSampler,
    chunk_sizes,
    doubled_midranks,
    pvalue_of_draws,
    randomization_pvalue,
)
from sklearn_rankinf._ranking import Design, Sample, joined, warn_caller
from sklearn_rankinf._statistics import (
    Floats,
    Integers,
    Metric,
    cached_property,
    is_smallest,
    slope_at,
)


def no_interval(confidence_level: float) -> tuple[float, float]:
    return math.nan, math.nan


class Compared(NamedTuple):
    """A p-value, and the interval of its method if that is not the interval of all methods."""

    pvalue: float
    n_resamples: int | None = None
    is_bound: bool = False
    interval: Callable[[float], tuple[float, float]] | None = None


@dataclass(frozen=True)
class ComparisonMethod:
    """A method of comparison: what it is called, how it is computed, and what it applies to.

    `compare` is called with a `Difference`, or with runs over queries, an alternative and draws. A
    method without a `family` applies to any metric. Some need the standard error from influence
    values.
    """

    title: str
    compare: Callable[[Any, str, Draws], Compared]
    family: str | None = None
    takes_clusters: bool = True
    needs_errors: bool = False
    reference: str = ""


def pvalue_of_swaps(sampler: PairedSampler, draws: Draws, alternative: str) -> Compared:
    """P-value of the observed difference among all swaps or random ones, and their number.

    It is a bound if no random swap was as extreme as the observed difference.
    """
    if sampler.n_units == 0:
        return Compared(1.0, 0)
    n_listed = sampler.n_listed
    is_complete = n_listed is not None and n_listed <= draws.n_resamples
    if is_complete:
        assert n_listed is not None
        differences = draws.listed(sampler, n_listed)
    else:
        differences = draws.of(sampler)
    pvalue = randomization_pvalue(
        sampler.observed(),
        differences,
        alternative=alternative,  # type: ignore[arg-type]
        tolerance=sampler.tolerance,
        is_complete=is_complete,
    )
    is_bound = not is_complete and is_smallest(pvalue, differences.size)
    return Compared(pvalue, differences.size, is_bound)


# Two rankings.


@dataclass(frozen=True, eq=False)
class Difference:
    """Values of a metric for the first two rankers of a sample, and their standard errors."""

    metric: Metric
    sample: Sample
    prevalence: float | None = None

    # What must be independent.
    units = "items"

    def __post_init__(self) -> None:
        object.__setattr__(self, "metric", self.metric.at(self.sample.n_items))

    @property
    def methods(self) -> dict[str, ComparisonMethod]:
        """The methods of the metric, the recommended one first."""
        family, has_influence = self.metric.family, self.metric.has_influence
        return {
            name: way
            for name, way in _OF_RANKINGS.items()
            if way.family in (None, family) and (has_influence or not way.needs_errors)
        }

    @property
    def purpose(self) -> str:
        """What the methods are for, in error messages."""
        place = "" if self.prevalence is None else " at another prevalence"
        return f" for {self.metric.title_in_text}{place}"

    @property
    def is_dependent(self) -> bool:
        return not self.sample.design.is_simple

    @property
    def has_both(self) -> bool:
        return self.sample.has_both

    def of_queries(self) -> dict[str, Any]:
        """Fields of the result on queries: none."""
        return {}

    @cached_property
    def values(self) -> tuple[float, float]:
        a, b = self.sample.rankings
        return float(value_of(self.metric, a)), float(value_of(self.metric, b))

    @property
    def difference(self) -> float:
        return self.values[0] - self.values[1]

    @cached_property
    def covariance(self) -> Floats:
        """Influence covariance matrix of the two values."""
        return covariance_of_values(self.metric, self.sample)  # type: ignore[arg-type]

    @property
    def n_positives(self) -> int:
        return self.sample.n_positives

    @property
    def df(self) -> float:
        """Degrees of freedom of the covariance."""
        return self.sample.n_independent[0] - 1.0

    @property
    def maximum(self) -> float:
        """The largest possible value."""
        return float(self.metric.maximum(self.sample.n_items, self.sample.n_positives))

    def sampler(self, pooled: bool) -> PairedSampler:
        """Differences of lists whose ranks, or pooled scores, are swapped item by item."""
        return swap_sampler(self.metric, self.sample, pooled)

    @property
    def measured(self) -> Metric:
        """The metric as results name it."""
        return self.metric

    @property
    def has_errors(self) -> bool:
        return self.metric.has_influence and self.sample.has_both

    @property
    def standard_error(self) -> float:
        if not self.has_errors:
            return math.nan
        (one, both), (_, other) = self.covariance
        return float(limits.difference_error(one, other, both))

    def interval(self) -> Callable[[float], tuple[float, float]]:
        """MOVER interval of the difference, which keeps none of the items."""
        if not self.has_interval:
            return no_interval
        return partial(_mover_limits, *self.of_each(), self.correlation)

    @property
    def is_same_list(self) -> bool:
        """Whether both rankers order all items in the same way."""
        return np.array_equal(self.sample.places(0), self.sample.places(1))

    @property
    def has_interval(self) -> bool:
        has_limits = self.metric.has_influence or self.sample.design.is_simple
        return has_limits and not self.metric.of_one_item and self.sample.has_both

    @property
    def correlation(self) -> float:
        """Correlation of the two values for the limits of their difference."""
        if not self.metric.has_influence:
            return correlation_at_point(self.metric, self.values, self.sample)
        return correlation_of(self.covariance)

    def of_each(self) -> tuple[IntervalMethod, tuple[Estimate, ...]]:
        """The method of the interval of each value, and the estimates."""
        estimates = (Estimate.of_sample(self.metric, self.sample, ranker) for ranker in (0, 1))
        return recommended_interval(self.metric, self.sample.design), tuple(estimates)


def correlation_of(covariance: Floats) -> float:
    """Correlation of two values; nan if one of them has no variance."""
    (one, both), (_, other) = covariance
    scale = math.sqrt(one * other)
    return both / scale if scale > 0.0 else math.nan


class DifferenceInPopulation(Difference):
    """Values of a metric in a population with another prevalence."""

    metric: MetricInPopulation

    @property
    def methods(self) -> dict[str, ComparisonMethod]:
        # Limits of resamples and t tests were wrong where few negatives determine the value.
        return {name: _OF_RANKINGS[name] for name in ("swap", "score_swap")}

    @property
    def measured(self) -> Metric:
        metric: Metric = self.metric.metric
        return metric

    @property
    def has_errors(self) -> bool:
        return True

    @property
    def correlation(self) -> float:
        (one, both), (_, other) = np.expand_dims(self.covariance, -1)
        return float(shrunk_correlation(one, other, both, self.sample.n_positives)[0])

    def of_each(self) -> tuple[IntervalMethod, tuple[Estimate, ...]]:
        metric, prevalence = self.metric.metric, self.metric.prevalence
        estimates = (
            estimate_of(metric, self.sample.single(ranker), prevalence) for ranker in (0, 1)
        )
        return next(iter(interval_methods(metric, prevalence).values())), tuple(estimates)


def difference_of(metric: Metric, sample: Sample, prevalence: float | None) -> Difference:
    """Values of a metric at the prevalence of the sample, or at another one."""
    if prevalence is None:
        return Difference(metric, sample)
    in_population = at_prevalence(metric).metric
    method = choose_method(metric, "auto", not sample.design.is_simple, prevalence)
    check_both_classes(sample.rankings[0])
    size = sample.n_items, sample.n_positives
    check_sample(check_has_influence(metric), size, prevalence, method)
    if in_population is None:
        return Difference(metric, sample, prevalence)
    return DifferenceInPopulation(in_population(metric, prevalence), sample, prevalence)


def _mover_limits(
    way: IntervalMethod,
    estimates: Iterable[Estimate],
    correlation: float,
    confidence_level: float,
) -> tuple[float, float]:
    """MOVER interval of a difference, from the recommended interval of each metric."""
    a, b = (limits_around(way, one, confidence_level) for one in estimates)
    lower, upper = limits.mover_limits(*a, *b, correlation)
    return float(lower), float(upper)


def warn_of_unknown_errors(what: str, consequence: str) -> None:
    """Warn about a class without a standard error, and state the consequence."""
    warn_caller(
        f"{what}, but y_true has a class, or a class of a stratum, with a single item or "
        f"cluster, whose variance cannot be estimated: {consequence}.",
        UndefinedMetricWarning,
    )


def _ranks(sample: Sample, pooled: bool) -> tuple[Integers, Integers]:
    """Ranks of the items, best first: within each list, or among the pooled scores of both."""
    if not pooled:
        return doubled_midranks(sample.places(0)), doubled_midranks(sample.places(1))
    levels, places = np.unique(joined(sample.scores), return_inverse=True)
    ranks = (levels.size - 1 - places).astype(np.int64)
    return ranks[: sample.n_items], ranks[sample.n_items :]


def swap_sampler(metric: Metric, sample: Sample, pooled: bool) -> SwapSampler:
    ranks = _ranks(sample, pooled)
    return SwapSampler(metric, sample.positive, *ranks, sample.design.clusters)


def _by_swaps(pooled: bool, both: Difference, alternative: str, draws: Draws) -> Compared:
    return pvalue_of_swaps(both.sampler(pooled), draws, alternative)


def on_g_scale(metric: Metric) -> bool:
    """Whether t tests of a metric use the g scale."""
    return metric.family == "average_precision"


def _by_influence(both: Difference, alternative: str, draws: Draws) -> Compared:
    (one, shared), (_, other) = both.covariance
    scaled = on_g_scale(both.metric.of_each_class()[0])
    found = limits.metric_difference_test(
        *both.values,
        one,
        other,
        shared,
        both.df + 1.0,
        alternative,
        on_g_scale=scaled,
        maximum=both.maximum if scaled else 1.0,
    )
    return Compared(float(found.pvalue))


def _by_delong(both: Difference, alternative: str, draws: Draws) -> Compared:
    moments = both.difference, both.standard_error
    pvalue = float(limits.t_test(*moments, math.inf, alternative).pvalue)
    return Compared(pvalue, interval=partial(_normal_limits, *moments))


def _normal_limits(
    difference: float, standard_error: float, confidence_level: float
) -> tuple[float, float]:
    half = float(stats.norm.ppf((1.0 + confidence_level) / 2.0)) * standard_error
    return difference - half, difference + half


# Hits at k.


def _tops(both: Difference) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Mark the first k items of both lists."""
    k = int(both.metric.k)  # type: ignore[attr-defined]
    return _top(both.sample, 0, k), _top(both.sample, 1, k)


def _by_exclusive_hits(
    pvalue: Callable[[int, int, int, str], Any],
    both: Difference,
    alternative: str,
    draws: Draws,
) -> Compared:
    """P-value of the positives in only one of the lists, and of the number of its own items."""
    in_a, in_b = _tops(both)
    positive = both.sample.positive
    only_a, only_b = int(np.sum(in_a & ~in_b & positive)), int(np.sum(in_b & ~in_a & positive))
    return Compared(float(pvalue(only_a, only_b, int(np.sum(in_a & ~in_b)), alternative)))


def _by_emproc(both: Difference, alternative: str, draws: Draws) -> Compared:
    metric, sample = both.metric, both.sample
    (in_a, in_b), positive = _tops(both), sample.positive
    k: int = int(metric.k)  # type: ignore[attr-defined]
    m = sample.n_positives
    ranking_a, ranking_b = sample.rankings
    lists = limits.ListsOfTwo(
        int(np.sum(in_a & positive)),
        int(np.sum(in_b & positive)),
        int(np.sum(in_a & in_b & positive)),
        int(np.sum(in_a & in_b)),
        k,
        slope_at(ranking_a.tie_sizes, ranking_a.hits, k),
        slope_at(ranking_b.tie_sizes, ranking_b.hits, k),
        positive.size,
        m,
    )
    scale = m / float(metric.divided_by(positive.size, m))  # type: ignore[attr-defined]
    pvalue = float(limits.emproc_test(lists, alternative).pvalue)
    return Compared(pvalue, interval=partial(_emproc_limits, lists, scale))


def _emproc_limits(
    lists: limits.ListsOfTwo, scale: float, confidence_level: float
) -> tuple[float, float]:
    """Ash and Hughes-Oliver's interval of a difference of recalls, on the scale of the metric."""
    low, high = limits.emproc_limits(lists, confidence_level)
    return float(low) * scale, float(high) * scale


def _top(sample: Sample, ranker: int, k: int) -> NDArray[np.bool_]:
    """Mark the first k items, or raise an error for equal scores across rank k."""
    ends = np.cumsum(sample.rankings[ranker].tie_sizes)
    if k not in ends:
        raise ValueError(
            f"Ranker {sample.names[ranker]!r} has a block of equal scores across rank k={k}, "
            "but a test of hits needs lists of exactly k items: break the ties, use another k, "
            "or use method='swap' or 'influence'."
        )
    return np.asarray(ends[sample.places(ranker)] <= k)


# Bootstrap.


@dataclass(frozen=True, eq=False)
class _Bootstrap:
    """Differences of resamples of the positives and of the negatives."""

    metric: Metric
    sample: Sample

    def chunks(self, n_resamples: int) -> list[int]:
        return chunk_sizes(n_resamples, self.sample.n_items, CELLS_PER_CHUNK)

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        positive = self.sample.positive
        positives, negatives = np.flatnonzero(positive), np.flatnonzero(~positive)
        found = np.empty(n_draws)
        for draw in range(n_draws):
            hits = positives[rng.integers(positives.size, size=positives.size)]
            misses = negatives[rng.integers(negatives.size, size=negatives.size)]
            one, other = (self._value(ranker, hits, misses) for ranker in (0, 1))
            found[draw] = one - other
        return found

    def _value(self, ranker: int, hits: NDArray[Any], misses: NDArray[Any]) -> float:
        places, n_blocks = self.sample.places(ranker), self.sample.rankings[ranker].n_blocks
        in_blocks = np.bincount(places[hits], minlength=n_blocks)
        sizes = in_blocks + np.bincount(places[misses], minlength=n_blocks)
        there = sizes > 0
        return float(self.metric.evaluate(sizes[there], in_blocks[there]))


def _by_bootstrap(both: Difference, alternative: str, draws: Draws) -> Compared:
    differences = draws.of(_Bootstrap(both.metric, both.sample))
    pvalue = pvalue_beyond_zero(differences, alternative)
    return Compared(pvalue, draws.n_resamples, interval=partial(_percentiles, differences))


def pvalue_beyond_zero(differences: Floats, alternative: str) -> float:
    """P-value of resampled differences: their proportion on the other side of 0."""
    n = differences.size
    below, above = (float(pvalue_of_draws(np.sum(s * differences >= 0.0), n)) for s in (-1.0, 1.0))
    if alternative == "two-sided":
        return min(1.0, 2.0 * min(below, above))
    return below if alternative == "greater" else above


def _percentiles(differences: Floats, confidence_level: float) -> tuple[float, float]:
    tail = (1.0 - confidence_level) / 2.0
    low, high = np.quantile(differences, [tail, 1.0 - tail])
    return float(low), float(high)


# Runs over queries.


def _clusters_of_queries(design: Design) -> Integers | None:
    """Number the cluster of each query; all items of a query must be in the same cluster."""
    codes, own = design.groups, design.clusters
    if own is None:
        return None
    assert codes is not None
    _, first = np.unique(codes, return_index=True)
    of_query = own[first]
    wrong = own != of_query[codes]
    if wrong.any():
        raise ValueError(
            f"The items of query {design.names['groups'][codes[np.argmax(wrong)]]!r} are in "
            "several clusters: with groups, pass the same cluster for all items of a query."
        )
    return np.asarray(np.unique(of_query, return_inverse=True)[1])


@dataclass(frozen=True, eq=False)
class Runs:
    """Values of a metric in each query of two runs."""

    metric: Metric
    sample: Sample
    of_query: Floats
    clusters: Integers | None
    draws: Draws

    units, purpose, has_both, prevalence = "queries", " over queries", True, None
    is_same_list = False

    @property
    def measured(self) -> Metric:
        return self.metric

    @classmethod
    def of(cls, metric: Metric, sample: Sample, draws: Draws) -> Runs:
        """Evaluate the metric in each query."""
        values = values_of_queries(metric, sample)
        check_several_queries(len(values))
        return cls(metric, sample, values, _clusters_of_queries(sample.design), draws)

    @property
    def methods(self) -> dict[str, ComparisonMethod]:
        """The methods of means over queries, the recommended one first."""
        return _OF_RUNS

    @property
    def is_dependent(self) -> bool:
        return self.clusters is not None

    @property
    def n_positives(self) -> int:
        return self.sample.n_positives

    @property
    def df(self) -> int:
        return self.differences.size - 1

    @property
    def values(self) -> tuple[float, float]:
        a, b = self.of_query.mean(axis=0)
        return float(a), float(b)

    @property
    def differences(self) -> Floats:
        return np.asarray(self.of_query[:, 0] - self.of_query[:, 1])

    @property
    def difference(self) -> float:
        return float(self.differences.mean())

    @property
    def standard_error(self) -> float:
        return standard_error_of_mean(self.differences, self.clusters)

    def of_queries(self) -> dict[str, Any]:
        return {
            "n_queries": self.differences.size,
            "queries": self.sample.design.names["groups"],
            "query_differences": self.differences,
        }

    def interval(self, method: str = "t") -> Callable[[float], tuple[float, float]]:
        values, draws = self.differences, self.draws
        if self.clusters is not None:
            return partial(mean_limits, values, clusters=self.clusters)
        return partial(
            mean_interval,
            values,
            method=method,
            n_resamples=draws.n_resamples,
            random_state=draws.seeds,
        )


def _by_sign_flips(both: Runs, alternative: str, draws: Draws) -> Compared:
    return pvalue_of_swaps(SignFlipSampler(both.differences, both.clusters), draws, alternative)


def _by_t(both: Runs, alternative: str, draws: Draws) -> Compared:
    found = limits.t_test(both.difference, both.standard_error, both.df, alternative)
    return Compared(float(found.pvalue))


def _by_wilcoxon(both: Runs, alternative: str, draws: Draws) -> Compared:
    if not both.differences.any():
        return Compared(1.0)
    return Compared(float(stats.wilcoxon(both.differences, alternative=alternative).pvalue))


def _by_resampled_queries(both: Runs, alternative: str, draws: Draws) -> Compared:
    rng = np.random.default_rng(draws.seeds)
    means = _resampled_means(both.differences, draws.n_resamples, rng)
    pvalue = pvalue_beyond_zero(means, alternative)
    return Compared(pvalue, draws.n_resamples, interval=both.interval("bootstrap"))


def _resampled_means(values: Floats, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Means of resamples of the queries, computed in chunks that need little memory."""
    n = values.size
    chunks = (
        values[rng.integers(n, size=(size, n))].mean(axis=1)
        for size in chunk_sizes(n_resamples, n, CELLS_PER_CHUNK)
    )
    return np.concatenate(list(chunks))


_hits_alone = partial(ComparisonMethod, family="hits", takes_clusters=False)
# The methods for two rankings of the same items, the recommended one first.
_OF_RANKINGS = {
    "swap": ComparisonMethod(
        "rank swaps", partial(_by_swaps, False), reference="Venkatraman and Begg 1996"
    ),
    "score_swap": ComparisonMethod("score swaps", partial(_by_swaps, True)),
    "influence": ComparisonMethod("t test of influence values", _by_influence, needs_errors=True),
    "delong": ComparisonMethod(
        "DeLong's test",
        _by_delong,
        family="roc_auc",
        needs_errors=True,
        reference="DeLong, DeLong and Clarke-Pearson 1988",
    ),
    "hypergeometric": _hits_alone(
        "exact conditional test", partial(_by_exclusive_hits, limits.hypergeometric_pvalue)
    ),
    "hypergeometric_midp": _hits_alone(
        "exact conditional test, mid-p",
        partial(_by_exclusive_hits, partial(limits.hypergeometric_pvalue, mid_p=True)),
    ),
    "mcnemar": _hits_alone(
        "McNemar's test",
        partial(
            _by_exclusive_hits,
            lambda only_a, only_b, _, alternative: limits.mcnemar_pvalue(
                only_a, only_b, alternative
            ),
        ),
    ),
    "emproc": _hits_alone("EmProc", _by_emproc, reference="Ash and Hughes-Oliver 2022"),
    "bootstrap": ComparisonMethod("bootstrap", _by_bootstrap, takes_clusters=False),
}
# The methods for two runs over the same queries, the recommended one first.
_OF_RUNS = {
    "sign_flip": ComparisonMethod("sign-flip randomization over queries", _by_sign_flips),
    "t": ComparisonMethod("paired t test over queries", _by_t, takes_clusters=False),
    "wilcoxon": ComparisonMethod(
        "Wilcoxon signed-rank test over queries",
        _by_wilcoxon,
        takes_clusters=False,
    ),
    "bootstrap": ComparisonMethod("bootstrap", _by_resampled_queries, takes_clusters=False),
}
COMPARISONS = {**_OF_RANKINGS, **_OF_RUNS}
