"""Intervals cover their target as often as the confidence level.

Limits are those of the binomial distribution at 1e-4: one false alarm in ten thousand seeds on
either side of a test. There are 120 data sets a cell and a few cells, with `--long` 4,000 and all
cells of the documentation.
"""

from functools import partial

import numpy as np
import pytest
from rates import (
    BY_NAME,
    CLASSES,
    CONTINUOUS,
    HEAVY,
    LEVELS,
    MIX,
    NORMAL,
    POPULATIONS,
    SEED,
    average_precision_at_k_in,
    average_precision_in,
    average_precision_of,
    bedroc_of,
    binormal_coverage,
    cluster_coverage,
    coverage,
    coverage_at_fractions,
    coverage_at_prevalences,
    covering_values,
    dcg_of,
    highest,
    lowest,
    mean_coverage,
    query_values,
    ranking_of,
    rankings,
    ranks,
    recall_in,
    roc_auc_in,
    scores_in_clusters,
    threshold_in,
    with_average_precision,
)
from scipy.special import ndtr
from sklearn.metrics import average_precision_score, dcg_score, roc_auc_score

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    RecallAtK,
    RocAuc,
    metric_interval,
)
from sklearn_rankinf._estimation.estimates import Estimate, interval_methods
from sklearn_rankinf._ranking import Sample

D1 = BY_NAME["d = 1"]
CORNERS = [(20, 200), (50, 500), (50, 5000), (100, 2000)]
# Coverage at sizes where it is known to be less, or more, with normal scores.
OTHER_SIZES = {(5, 100): 0.93, (10, 2000): 0.92, (20, 20_000): 0.905, (50, 100): 0.93}


@pytest.fixture
def n_data_sets(long):
    return 4000 if long else 120


def expanded(ranking):
    """Labels and scores of a ranking."""
    labels = [np.arange(size) < y for size, y in zip(ranking.tie_sizes, ranking.hits, strict=True)]
    return np.concatenate(labels), -np.repeat(np.arange(len(labels)), ranking.tie_sizes)


def drawn(population, n_samples, n_positives, seed=0):
    """A large sample: labels and scores."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n_samples) < n_positives
    scores = np.append(
        population.scores(rng, n_positives), rng.standard_normal(n_samples - n_positives)
    )
    if population.has_levels:
        scores = np.digitize(scores, (-1.2, -0.2, 0.8, 1.8))
    return positive, scores


# Simulated data.


@pytest.mark.parametrize(
    ("shift", "prevalence", "value"), [(1, 0.5, 0.752996), (1, 0.1, 0.292836), (2, 0.1, 0.665471)]
)
def test_average_precision_of_normal_scores_is_that_of_the_binormal_curve(shift, prevalence, value):
    # Brodersen et al. (2010): the area under the binormal curve.
    population = BY_NAME[f"d = {shift}"]
    assert average_precision_in(population, prevalence) == pytest.approx(value, abs=1e-6)
    assert roc_auc_in(population) == pytest.approx(ndtr(shift / np.sqrt(2.0)), abs=1e-6)


@pytest.mark.parametrize("population", [D1, *HEAVY, MIX, LEVELS], ids=lambda p: p.name)
def test_values_in_the_population_are_those_of_a_large_sample(population):
    positive, scores = drawn(population, 200_000, 20_000)
    value = average_precision_score(positive, scores)
    # The standard error is below .0036.
    assert average_precision_in(population, 0.1) == pytest.approx(value, abs=0.009)
    assert roc_auc_in(population) == pytest.approx(roc_auc_score(positive, scores), abs=0.008)


@pytest.mark.parametrize("population", [D1, *HEAVY, MIX], ids=lambda p: p.name)
def test_values_at_a_cut_off_are_those_of_a_large_sample(population):
    positive, scores = drawn(population, 400_000, 40_000, seed=1)
    top = np.argsort(-scores)[:20_000]
    hits = positive[top]
    assert recall_in(population, 0.1, 0.05) == pytest.approx(hits.sum() / 40_000, abs=0.009)
    value = np.sum(hits * hits.cumsum() / np.arange(1, 20_001)) / 20_000
    found = average_precision_at_k_in(population, 400_000, 40_000, 20_000)
    assert found == pytest.approx(value, abs=0.015)
    assert threshold_in(population, 0.1, 0.05) == pytest.approx(scores[top[-1]], abs=0.03)


def test_another_shape_has_the_same_average_precision():
    value = average_precision_in(D1, 0.1)
    other = with_average_precision(value, 0.1, 3.0)
    assert other.df == 3.0
    assert average_precision_in(other, 0.1) == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize("population", [D1, HEAVY[1], MIX], ids=lambda p: p.name)
def test_ranks_from_gaps_are_those_of_scores(population):
    rng = np.random.default_rng(2)
    n, m, n_draws = 60, 6, 4000
    from_gaps = ranks(population, n, m, n_draws, rng)
    scores = np.hstack(
        [population.scores(rng, (n_draws, m)), rng.standard_normal((n_draws, n - m))]
    )
    from_scores = np.sort(np.argsort(np.argsort(-scores))[:, :m] + 1)
    error = np.hypot(from_gaps.std(axis=0), from_scores.std(axis=0)) / np.sqrt(n_draws)
    assert np.all(np.abs(from_gaps.mean(axis=0) - from_scores.mean(axis=0)) < 4.5 * error)


def test_metrics_of_ranks_are_those_of_other_programs():
    row = np.array([1, 2, 5, 9, 30])
    positive, scores = expanded(ranking_of(row, 40))
    assert average_precision_of(row[None], 40)[0] == pytest.approx(
        average_precision_score(positive, scores)
    )
    assert dcg_of(row[None], 40)[0] == pytest.approx(dcg_score([positive], [scores]))
    assert bedroc_of(row[None], 40)[0] == pytest.approx(
        metric_interval(positive, scores, metric=Bedroc()).statistic
    )
    # A perfect ranking has BEDROC 1, and the worst one 0.
    assert bedroc_of(np.array([[1, 2, 3], [38, 39, 40]]), 40) == pytest.approx([1.0, 0.0])


def test_values_over_queries_are_average_precisions():
    values = query_values(600, (1.0, 1.0), np.random.default_rng(3))
    # Half of the variance of scores is common, and so is the ease of a query.
    assert 0.4 < np.corrcoef(values.T)[0, 1] < 0.9
    rng = np.random.default_rng(4)
    shifts = 1.0 + 0.5 * rng.standard_normal((600, 1))
    positive = np.arange(50) < 5
    direct = [
        average_precision_score(positive, scores)
        for scores in rng.standard_normal((600, 50)) + shifts * positive
    ]
    error = np.hypot(values[:, 0].std(), np.std(direct)) / np.sqrt(600)
    assert np.all(np.abs(values.mean(axis=0) - np.mean(direct)) < 4.5 * error)


@pytest.mark.parametrize(
    ("metric", "k"),
    [(AveragePrecision(), None), (RocAuc(), None), (RecallAtK(12), 12), (AveragePrecision(12), 12)],
    ids=str,
)
def test_simulated_limits_are_those_of_the_public_function(metric, k):
    rng = np.random.default_rng(5)
    for population in (D1, *([] if k else [LEVELS])):
        for ranking in rankings(population, 100, 10, 4, rng, k):
            way = interval_methods(metric)["influence" if "Average" in str(metric) else "score"]
            low, high = way.limits(Estimate.of_ranking(metric, ranking), 0.95, SEED)
            result = metric_interval(*expanded(ranking), metric=metric)
            assert (low, high) == pytest.approx((result.low, result.high), rel=1e-9)


def test_simulated_limits_of_clusters_are_those_of_the_public_function():
    positive, scores, clusters = scores_in_clusters(D1, 20, 6, 5, 0.5, np.random.default_rng(6))
    sample = Sample.read(positive, scores, clusters=clusters)
    estimate = Estimate.of_sample(AveragePrecision(), sample)
    low, high = interval_methods(AveragePrecision())["influence"].limits(estimate, 0.95, SEED)
    result = metric_interval(positive, scores, clusters=clusters)
    assert (low, high) == pytest.approx((result.low, result.high), rel=1e-12)


def test_binormal_limits_hold_the_target_between_the_covering_values():
    metric, rng = DiscountedCumulativeGain(), np.random.default_rng(7)
    rows = ranks(D1, 30, 5, 12, rng)
    values = dcg_of(rows, 30)
    low, high = covering_values(metric, 30, 5, 2.0, (0.5, 3.0))
    inside = []
    for row, value in zip(rows, values, strict=True):
        result = metric_interval(*expanded(ranking_of(row, 30)), metric=metric)
        inside.append(result.low <= 2.0 <= result.high)
        assert inside[-1] == (low <= value <= high)
    assert 0 < sum(inside)
    extremes = ranking_of(np.arange(1, 6), 30), ranking_of(np.arange(26, 31), 30)
    for extreme in extremes:
        result = metric_interval(*expanded(extreme), metric=metric)
        assert not result.low <= 2.0 <= result.high


# Coverage.


def covers(metric, population, sizes, n_data_sets, target, method="influence", k=None):
    m, n = sizes
    data_sets = rankings(population, n, m, n_data_sets, np.random.default_rng(8), k)
    return coverage(metric, method, data_sets, target)


@pytest.mark.parametrize("sizes", CORNERS[:2])
@pytest.mark.parametrize("population", [D1, NORMAL[5], MIX, LEVELS], ids=lambda p: p.name)
def test_average_precision_is_covered(n_data_sets, population, sizes):
    target = average_precision_in(population, sizes[0] / sizes[1])
    found = covers(AveragePrecision(), population, sizes, n_data_sets, target)
    assert lowest(n_data_sets, 0.93) <= found <= highest(n_data_sets, 0.975)


@pytest.mark.long
@pytest.mark.parametrize("sizes", CORNERS)
@pytest.mark.parametrize("population", POPULATIONS, ids=lambda p: p.name)
def test_average_precision_is_covered_everywhere(n_data_sets, population, sizes):
    target = average_precision_in(population, sizes[0] / sizes[1])
    found = covers(AveragePrecision(), population, sizes, n_data_sets, target)
    assert lowest(n_data_sets, 0.93) <= found <= highest(n_data_sets, 0.98)


@pytest.mark.long
@pytest.mark.parametrize("sizes", OTHER_SIZES)
@pytest.mark.parametrize("population", NORMAL, ids=lambda p: p.name)
def test_average_precision_of_normal_scores_is_covered_at_other_sizes(
    n_data_sets, population, sizes
):
    target = average_precision_in(population, sizes[0] / sizes[1])
    found = covers(AveragePrecision(), population, sizes, n_data_sets, target)
    assert found >= lowest(n_data_sets, OTHER_SIZES[sizes])


def test_average_precision_that_hangs_on_few_of_few_positives_is_covered_too_rarely(n_data_sets):
    # One positive in thirty stands above 20,000 negatives: every second sample holds none such.
    target = average_precision_in(HEAVY[0], 0.001)
    found = covers(AveragePrecision(), HEAVY[0], (20, 20_000), n_data_sets, target)
    assert found <= highest(n_data_sets, 0.8)


@pytest.mark.long
@pytest.mark.parametrize("population", [NORMAL[0], D1, MIX], ids=lambda p: p.name)
def test_expected_average_precision_is_covered(population):
    rows = ranks(population, 200, 20, 50_000, np.random.default_rng(9))
    target = average_precision_of(rows, 200).mean()
    found = covers(AveragePrecision(), population, (20, 200), 500, target, "calibrated")
    assert lowest(500, 0.935) <= found <= highest(500, 0.996)


@pytest.mark.parametrize("population", [NORMAL[0], NORMAL[5], LEVELS], ids=lambda p: p.name)
def test_roc_auc_is_covered(population, long):
    n_data_sets = 2000 if long else 70
    target = roc_auc_in(population)
    found = covers(RocAuc(), population, (20, 200), n_data_sets, target, "score")
    assert lowest(n_data_sets, 0.94) <= found <= highest(n_data_sets, 0.992)


@pytest.mark.parametrize("sizes", [(20, 200), (50, 500)])
@pytest.mark.parametrize("population", [D1, MIX], ids=lambda p: p.name)
def test_recall_at_k_is_covered(n_data_sets, population, sizes):
    m, n = sizes
    target = recall_in(population, m / n, m / n)
    found = covers(RecallAtK(m), population, sizes, n_data_sets, target, "score", k=m)
    assert lowest(n_data_sets, 0.94) <= found <= highest(n_data_sets, 0.994)


@pytest.mark.parametrize("classes", CLASSES, ids=lambda c: c.name)
def test_average_precision_of_classes_sampled_apart_is_that_of_weights(classes):
    rng = np.random.default_rng(14)
    (ranking,) = classes.rankings(20_000, 60_000, 1, rng)
    positive, scores = expanded(ranking)
    for prevalence in (0.01, 0.25):
        weight = np.where(positive, prevalence / 20_000, (1.0 - prevalence) / 60_000)
        value = average_precision_score(positive, scores, sample_weight=weight)
        assert classes.average_precision(prevalence) == pytest.approx(value, abs=0.03)


@pytest.mark.parametrize("classes", CLASSES, ids=lambda c: c.name)
def test_average_precision_at_another_prevalence_is_covered(classes, n_data_sets):
    for sizes in ((50, 950), (100, 9900)):
        prevalences = [count / sizes[1] for count in (10, 20, 100)]
        rng = np.random.default_rng(15)
        found = coverage_at_prevalences(classes, sizes, prevalences, n_data_sets, rng)
        assert found.min() >= lowest(n_data_sets, 0.935)


@pytest.mark.parametrize("classes", CLASSES, ids=lambda c: c.name)
def test_recall_at_a_fraction_at_another_prevalence_is_covered(classes, n_data_sets):
    for sizes in ((50, 950), (100, 9900)):
        cells = [(a * c / sizes[1], c / sizes[1]) for c in (25, 100) for a in (0.2, 1.0)]
        found = coverage_at_fractions(classes, sizes, cells, n_data_sets, np.random.default_rng(16))
        assert found.min() >= lowest(n_data_sets, 0.935)


@pytest.mark.parametrize("population", [D1, HEAVY[1]], ids=lambda p: p.name)
def test_average_precision_at_k_is_covered(n_data_sets, population):
    target = average_precision_at_k_in(population, 500, 50, 50)
    found = covers(AveragePrecision(50), population, (50, 500), n_data_sets, target, k=50)
    assert lowest(n_data_sets, 0.93) <= found <= highest(n_data_sets, 0.991)


@pytest.mark.long
@pytest.mark.parametrize("population", CONTINUOUS, ids=lambda p: p.name)
def test_values_at_k_are_covered_everywhere(n_data_sets, population):
    for m, n, k in ((20, 200, 20), (50, 500, 25), (50, 5000, 50), (100, 2000, 100)):
        at_k = partial(covers, population=population, sizes=(m, n), n_data_sets=n_data_sets, k=k)
        found = at_k(RecallAtK(k), target=recall_in(population, m / n, k / n), method="score")
        assert lowest(n_data_sets, 0.915) <= found <= highest(n_data_sets, 0.996)
        found = at_k(AveragePrecision(k), target=average_precision_at_k_in(population, n, m, k))
        assert lowest(n_data_sets, 0.92) <= found <= highest(n_data_sets, 0.996)


@pytest.mark.parametrize(
    ("metric", "values_of"),
    [
        pytest.param(DiscountedCumulativeGain(), dcg_of, marks=pytest.mark.long, id="DCG"),
        pytest.param(Bedroc(), bedroc_of, id="BEDROC"),
    ],
)
def test_expectations_are_covered_in_the_binormal_model(metric, values_of, long):
    m, n = (20, 200) if long else (8, 60)
    for population in NORMAL[::2] if long else [D1]:
        rng = np.random.default_rng(10)
        found = binormal_coverage(metric, values_of, population, n, m, 4000, rng)
        assert lowest(4000, 0.925) <= found <= highest(4000, 0.99)


def test_values_of_clusters_are_covered(long):
    n_data_sets = 2000 if long else 100
    target = average_precision_in(D1, 0.2)
    design = {"n_clusters": 100, "n_positive_clusters": 20, "size": 5, "correlation": 0.9}
    found, without = (
        cluster_coverage(
            AveragePrecision(),
            target,
            n_data_sets,
            np.random.default_rng(11),
            in_clusters,
            population=D1,
            **design,
        )
        for in_clusters in (True, False)
    )
    assert lowest(n_data_sets, 0.92) <= found <= highest(n_data_sets, 0.98)
    # Samples of one cluster have little more information than one of them.
    assert without <= highest(n_data_sets, 0.75)


@pytest.mark.parametrize("method", ["t", "bootstrap"])
def test_means_over_queries_are_covered(n_data_sets, method):
    n_data_sets //= 1 if method == "t" else 4
    found = mean_coverage(method, 30, 1.0, n_data_sets, np.random.default_rng(12), n_targets=20_000)
    assert lowest(n_data_sets, 0.92) <= found <= highest(n_data_sets, 0.965)
