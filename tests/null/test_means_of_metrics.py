"""Null distributions of means over queries, of any metric, against all labellings."""

import itertools
import math
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import cache

import numpy as np
import oracles
import pytest
from combinations import checkered

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    EnrichmentAtK,
    FScoreAtK,
    PrecisionAtK,
    Ranking,
    RankStatistic,
    RecallAtK,
    ReciprocalRank,
    RobustInitialEnhancement,
    RocAuc,
    metric_null_distribution,
)
from sklearn_rankinf._engine.distribution import exact_distribution
from sklearn_rankinf._engine.means.distribution import MeanDistribution
from sklearn_rankinf._engine.means.variables import Part

METRICS = [
    AveragePrecision(),
    AveragePrecision(k=3),
    RecallAtK(3),
    PrecisionAtK(3),
    EnrichmentAtK(0.3),
    FScoreAtK(2, beta=0.7),
    RocAuc(),
    DiscountedCumulativeGain(),
    DiscountedCumulativeGain(k=3, normalize=True),
    Bedroc(5.0),
    RobustInitialEnhancement(),
    ReciprocalRank(),
]
# Sizes, numbers of positives and blocks of equal scores of the queries.
RUNS = {
    "untied": [(6, 2, None), (5, 1, None), (6, 3, None)],
    "ties": [(6, 2, (2, 1, 3)), (6, 2, (1, 1, 4)), (5, 4, (1, 2, 2))],
    "constants": [(6, 2, None), (4, 0, None), (4, 4, None), (6, 2, (3, 3))],
    "mostly positives": [(7, 6, None), (7, 5, (1, 2, 4))],
    "equal": [(5, 2, None)] * 3,
}


@cache
def values_of(metric, n, m, ties):
    """Value of the metric, called with a ranking, for every labelling."""
    sizes = (1,) * n if ties is None else ties
    placements = itertools.combinations(range(1, n + 1), m)
    hits = [oracles.hits_per_block(sizes, placed) for placed in placements]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [metric(Ranking.from_counts(sizes, own)) for own in hits]


def null_of(metric, run, **options):
    n, m, ties = zip(*run, strict=True)
    return metric_null_distribution(n, m, metric=metric, tie_sizes=ties, **options)


def means_of(metric, run):
    of_queries = [values_of(metric, *query) for query in run]
    return np.sort([math.fsum(one) / len(one) for one in itertools.product(*of_queries)])


def shares(means, x, sign):
    slack = 1e-12 * (1.0 + np.abs(x))
    if sign > 0:
        return 1.0 - np.searchsorted(means, x - slack) / means.size
    return np.searchsorted(means, x + slack, side="right") / means.size


def some_of(means):
    return means[np.unique(np.linspace(0, means.size - 1, 40).astype(int))]


@pytest.mark.numeric
@pytest.mark.parametrize(("metric", "name"), checkered(METRICS, RUNS), ids=str)
def test_means_equal_enumeration(metric, name):
    means, null = means_of(metric, RUNS[name]), null_of(metric, RUNS[name])
    x = some_of(means)
    assert null.method == "analytic"
    for sign, alternative in ((1, "greater"), (-1, "less")):
        assert null.pvalue(x, alternative) == pytest.approx(shares(means, x, sign), rel=1e-11)
    assert null.support() == pytest.approx((means[0], means[-1]), abs=1e-12)
    standardized = (means - means.mean()) / means.std()
    moments = [means.mean(), means.var(), np.mean(standardized**3), np.mean(standardized**4) - 3]
    assert null.stats("mvsk") == pytest.approx(moments, rel=1e-9, abs=1e-12)
    sampled = null_of(metric, RUNS[name], method="permutation", n_resamples=999)
    assert sampled.stats("mvsk") == null.stats("mvsk")
    p = sampled.pvalue(x)
    assert np.all(np.abs(p - null.pvalue(x)) < 5.0 * np.sqrt(p / 999) + 2e-3)


@pytest.mark.numeric
@pytest.mark.parametrize(
    ("metric", "name"),
    [
        pytest.param(
            metric, name, marks=[pytest.mark.long] * ((i + j) % 5 > 0), id=f"{metric!r}-{name}"
        )
        for i, metric in enumerate(METRICS)
        for j, name in enumerate(RUNS)
    ],
)
def test_tails_that_are_not_listed_keep_their_stated_error(metric, name):
    means, run = means_of(metric, RUNS[name]), Counter(RUNS[name])
    null = MeanDistribution(
        [
            Part(
                metric.at(n),
                n,
                m,
                None if ties is None else np.array(ties),
                count,
                exact_distribution,
            )
            for (n, m, ties), count in run.items()
        ]
    )
    x = some_of(means)[::3]
    for sign in (1, -1):
        found = null.estimates(x - sign * 1e-12 * (1.0 + np.abs(x)), sign)
        error, p = found.error.total, np.exp(found.log_p)
        assert np.all(error < 1e-6)
        assert np.all(np.abs(p / shares(means, x, sign) - 1.0) <= error + 1e-11)


@dataclass(frozen=True)
class Zipf(RankStatistic):
    def weights(self, ranks, n_samples, n_positives):
        return 1.0 / ranks


def test_the_mean_of_a_custom_metric_is_drawn():
    run = RUNS["untied"]
    means, null = means_of(Zipf(), run), null_of(Zipf(), run)
    assert null.method == "permutation"
    assert null.stats("mv") == pytest.approx((means.mean(), means.var()), rel=1e-12)
    p = shares(means, means, 1)
    assert np.all(np.abs(null.pvalue(means) - p) < 5.0 * np.sqrt(p / 9999) + 2e-4)
    with pytest.raises(ValueError, match=r"not available for the mean of Zipf\(\)"):
        null_of(Zipf(), run, method="analytic")


def mann_whitney(n, m):
    """Probabilities of all numbers of pairs in the right order (Mann and Whitney's recursion)."""
    counts = {(0, j): np.ones(1) for j in range(n - m + 1)}
    for i in range(1, m + 1):
        counts[i, 0] = np.ones(1)
        for j in range(1, n - m + 1):
            found = np.zeros(i * j + 1)
            found[j:] += counts[i - 1, j]
            found[: i * (j - 1) + 1] += counts[i, j - 1]
            counts[i, j] = found
    return counts[m, n - m] / counts[m, n - m].sum()


@pytest.mark.numeric
def test_areas_of_queries_whose_pairs_have_no_common_step():
    sizes = [(301, 7), (303, 8)]
    first, second = (mann_whitney(n, m) for n, m in sizes)
    null = metric_null_distribution(*zip(*sizes, strict=True), metric="roc_auc")
    values = [np.arange(own.size) / (own.size - 1) for own in (first, second)]
    at_least = np.append(np.cumsum(second[::-1])[::-1], 0.0)
    for i, j in ((1200, 1300), (1500, 1300), (1500, 1900), (1900, 2000), (2040, 2300)):
        x = (values[0][i] + values[1][j]) / 2.0
        place = np.searchsorted(values[1], 2.0 * x - values[0] - 1e-12)
        p = first @ at_least[place]
        assert abs(null.pvalue(x) / p - 1.0) <= null.relative_error(x) <= 1e-9 + 1e-12 / p


@pytest.mark.numeric
@pytest.mark.parametrize(
    "sizes",
    [pytest.param([(60, 20, 6000)], marks=pytest.mark.long), [(29, 4, 6000), (24, 4, 5000)]],
)
def test_areas_of_many_queries_with_a_common_step(sizes):
    # All pairs of all queries as whole numbers, in floats without a tilt.
    n_steps, n_queries = math.lcm(*(m * (n - m) for n, m, _ in sizes)), sum(q for *_, q in sizes)
    n_cells = 1 << (n_steps * n_queries).bit_length()
    transform = np.ones(n_cells // 2 + 1, dtype=complex)
    for n, m, count in sizes:
        cells = np.zeros(n_cells)
        own = mann_whitney(n, m)
        cells[np.arange(own.size) * (n_steps // (own.size - 1))] = own
        transform *= np.fft.rfft(cells) ** count
    at_least = np.cumsum(np.fft.irfft(transform, n_cells)[::-1])[::-1]
    null = metric_null_distribution(
        *(np.repeat([one[i] for one in sizes], [q for *_, q in sizes]) for i in (0, 1)),
        metric="roc_auc",
    )
    step = math.gcd(*(n_steps // (m * (n - m)) for n, m, _ in sizes))
    for z in (-1.0, 0.3, 3.5):
        place = round((0.5 + z * null.std()) * n_steps * n_queries) // step * step
        x = place / (n_steps * n_queries)
        assert null.solver(x) == "contour"
        assert abs(null.pvalue(x) / at_least[place] - 1.0) <= null.relative_error(x) + 1e-9
        assert null.relative_error(x) < 1e-8
