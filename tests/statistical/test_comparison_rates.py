"""Comparisons of equal rankers keep the level, and comparisons of unequal ones have power.

Limits are those of the binomial distribution at 1e-4: one false alarm in ten thousand seeds a test.
There are 70 data sets a cell, 3,000 with `--long` and more cells. Tests whose size is asymptotic
are allowed 0.06 for 0.05.
"""

import numpy as np
import pytest
from rates import (
    BORDERS,
    BY_NAME,
    HEAVY,
    LEVELS,
    MIX,
    average_precision_in,
    comparison_rates,
    highest,
    lowest,
    pair_of,
    query_rates,
    query_values,
    recall_in,
    scores_of_two,
    with_average_precision,
)
from scipy import stats

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    RecallAtK,
    RocAuc,
    metric_comparison_test,
)
from sklearn_rankinf._estimation.comparison import _compare
from sklearn_rankinf._estimation.comparison_methods import pvalue_of_swaps
from sklearn_rankinf._permutation.draws import Draws
from sklearn_rankinf._permutation.swaps import SignFlipSampler

D0, D05, D1, D15, D2 = (BY_NAME[f"d = {d}"] for d in ("0", "0.5", "1", "1.5", "2"))
WAYS = ("swap", "influence")
DRAWS = Draws(99, np.random.SeedSequence(7))
OF_HITS = ("hypergeometric", "hypergeometric_midp", "mcnemar", "emproc")


@pytest.fixture
def n_data_sets(long):
    return 3000 if long else 70


def rates(metric, methods, pair, sizes, n_data_sets, **options):
    m, n = sizes
    return comparison_rates(
        metric, methods, pair, n, m, n_data_sets, np.random.default_rng(1), **options
    )


# Simulated data.


@pytest.mark.parametrize("population", [D1, HEAVY[0], MIX], ids=lambda p: p.name)
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_scores_have_their_distribution_and_their_correlation(population, correlation):
    rng = np.random.default_rng(2)
    a, b = scores_of_two((population, population), 8000, 4000, correlation, rng)
    for scores in (a, b):
        assert stats.kstest(scores[4000:], "norm").pvalue > 1e-4
        found = stats.kstest(scores[:4000], lambda x: 1.0 - population.above(x))
        assert found.pvalue > 1e-4
    # The standard error of a correlation of 4000 pairs is at most .016.
    assert np.corrcoef(a[4000:], b[4000:])[0, 1] == pytest.approx(correlation, abs=0.06)


def test_scores_of_levels_are_cut():
    a, _ = scores_of_two((LEVELS, LEVELS), 8000, 4000, 0.5, np.random.default_rng(3))
    assert sorted(set(a)) == list(range(BORDERS.size + 1))
    of_positives, of_negatives = LEVELS.shares_of_levels()
    for scores, shares in ((a[:4000], of_positives), (a[4000:], of_negatives)):
        counts = np.bincount(scores.astype(int))[::-1]
        assert stats.chisquare(counts, 4000 * shares).pvalue > 1e-4


@pytest.mark.parametrize(
    ("metric", "methods"),
    [
        (AveragePrecision(), WAYS),
        (RocAuc(), (*WAYS, "delong")),
        (RecallAtK(10), (*WAYS, *OF_HITS)),
        (AveragePrecision(10), WAYS),
        (DiscountedCumulativeGain(), WAYS),
        (Bedroc(), WAYS),
    ],
    ids=lambda entry: str(entry) if not isinstance(entry, tuple) else "",
)
def test_simulated_pvalues_are_those_of_the_public_function(metric, methods):
    rng, positive = np.random.default_rng(4), np.arange(60) < 10
    for _ in range(2):
        scores = scores_of_two((D1, D15), 60, 10, 0.5, rng)
        pair = pair_of(metric, positive, *scores)
        for method in methods:
            simulated = _compare(pair, "two-sided", method, DRAWS)
            result = metric_comparison_test(
                positive,
                np.column_stack(scores),
                metric=metric,
                method=method,
                n_resamples=99,
                random_state=7,
            )
            assert simulated.pvalue == result.pvalue
        if not isinstance(metric, DiscountedCumulativeGain | Bedroc):
            result = metric_comparison_test(
                positive, np.column_stack(scores), metric=metric, method="influence"
            )
            assert pair.interval()(0.95) == pytest.approx(result.confidence_interval(), rel=1e-12)


def test_simulated_pvalues_over_queries_are_those_of_the_public_function():
    rng = np.random.default_rng(5)
    positive, groups = np.tile(np.arange(50) < 5, 12), np.repeat(np.arange(12), 50)
    scores = rng.standard_normal((2, 600)) + positive
    public = {
        method: metric_comparison_test(
            positive,
            np.column_stack(scores),
            groups=groups,
            method=method,
            n_resamples=99,
            random_state=7,
        )
        for method in ("sign_flip", "t")
    }
    differences = public["t"].query_differences
    pvalue, *_ = pvalue_of_swaps(SignFlipSampler(differences), DRAWS, "two-sided")
    assert pvalue == public["sign_flip"].pvalue
    assert stats.ttest_1samp(differences, 0.0).pvalue == pytest.approx(public["t"].pvalue)


def test_runs_over_queries_are_interchangeable():
    values = query_values(2000, (1.0, 1.0), np.random.default_rng(6))
    assert stats.ttest_rel(*values.T).pvalue > 1e-4
    better = query_values(2000, (1.0, 1.5), np.random.default_rng(6))
    assert np.all(better.mean(axis=0) - values.mean(axis=0) >= [0.0, 0.05])


# Size and power.


@pytest.mark.parametrize("population", [D0, D1, MIX, LEVELS], ids=lambda p: p.name)
def test_equal_rankers_are_rejected_at_the_level(n_data_sets, population):
    found = rates(
        AveragePrecision(),
        WAYS,
        (population, population),
        (20, 200),
        n_data_sets,
        difference=0.0,
    )
    assert max(found[method] for method in WAYS) <= highest(n_data_sets, 0.06)
    assert lowest(n_data_sets, 0.929) <= found["interval"]


@pytest.mark.long
@pytest.mark.parametrize("sizes", [(50, 500), (100, 2000)])
@pytest.mark.parametrize("population", [D0, D1, D2, HEAVY[1], MIX, LEVELS], ids=lambda p: p.name)
def test_equal_rankers_are_rejected_at_the_level_everywhere(population, sizes):
    found = rates(AveragePrecision(), WAYS, (population, population), sizes, 1500, difference=0.0)
    assert max(found[method] for method in WAYS) <= highest(1500, 0.06)
    assert lowest(1500, 0.929) <= found["interval"] <= highest(1500, 0.999)


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_size_holds_at_other_correlations(n_data_sets, correlation):
    pair = D15, D15
    found = rates(AveragePrecision(), WAYS, pair, (20, 200), n_data_sets, correlation=correlation)
    assert max(found.values()) <= highest(n_data_sets, 0.06)


def test_influence_keeps_its_size_where_shapes_differ(n_data_sets):
    other = with_average_precision(average_precision_in(D15, 0.1), 0.1, 3.0)
    found = rates(
        AveragePrecision(), ("influence",), (D15, other), (50, 500), n_data_sets, difference=0.0
    )
    assert found["influence"] <= highest(n_data_sets, 0.06)
    assert lowest(n_data_sets, 0.929) <= found["interval"]


def test_a_better_ranker_is_found(n_data_sets):
    one, other = (average_precision_in(population, 0.1) for population in (D1, D2))
    found = rates(
        AveragePrecision(), WAYS, (D1, D2), (20, 200), n_data_sets, difference=one - other
    )
    assert min(found[method] for method in WAYS) >= 0.6
    assert lowest(n_data_sets, 0.929) <= found["interval"]


def test_near_chance_the_rank_swap_sees_more(n_data_sets):
    found = rates(AveragePrecision(), WAYS, (D0, D05), (20, 2000), n_data_sets)
    assert found["swap"] >= found["influence"] + 0.1


def test_tests_of_hits_keep_their_size(n_data_sets):
    found = rates(
        RecallAtK(20), (*WAYS, *OF_HITS), (D1, D1), (20, 200), n_data_sets, difference=0.0
    )
    # Mid-p and EmProc have no guarantee; the exact test is below its level.
    assert max(found[method] for method in (*WAYS, *OF_HITS)) <= highest(n_data_sets, 0.06)
    assert found["hypergeometric"] <= highest(n_data_sets, 0.05)
    assert found["mcnemar"] <= highest(n_data_sets, 0.015)
    assert found["interval"] >= lowest(n_data_sets, 0.929)


def test_differences_of_recall_are_covered(n_data_sets):
    one, other = (recall_in(population, 0.1, 0.1) for population in (D1, D2))
    found = rates(RecallAtK(20), (), (D1, D2), (20, 200), n_data_sets, difference=one - other)
    assert found["interval"] >= lowest(n_data_sets, 0.929)


def test_tests_of_roc_auc_keep_their_size(n_data_sets):
    ways = (*WAYS, "delong")
    found = rates(RocAuc(), ways, (D1, D1), (20, 200), n_data_sets, difference=0.0)
    assert max(found[method] for method in WAYS) <= highest(n_data_sets, 0.055)
    # The same statistic has lighter tails without degrees of freedom.
    assert found["influence"] <= found["delong"] <= highest(n_data_sets, 0.08)
    assert found["interval"] >= lowest(n_data_sets, 0.929)


@pytest.mark.parametrize("metric", [DiscountedCumulativeGain(), Bedroc()], ids=str)
def test_tests_of_other_metrics_keep_their_size(n_data_sets, metric):
    found = rates(metric, WAYS, (D1, D1), (20, 200), n_data_sets // 2)
    assert max(found.values()) <= highest(n_data_sets // 2, 0.063)


@pytest.mark.parametrize("n_queries", [8, 30])
def test_equal_runs_over_queries_are_rejected_at_the_level(n_data_sets, n_queries):
    # Flips of signs are exact for interchangeable runs, with all of them listed or not.
    found = query_rates(n_queries, (1.0, 1.0), n_data_sets, np.random.default_rng(8))
    assert found["sign_flip"] <= highest(n_data_sets, 0.05)
    assert found["t"] <= highest(n_data_sets, 0.06)


def test_a_better_run_is_found(n_data_sets):
    found = query_rates(30, (1.0, 2.0), n_data_sets, np.random.default_rng(9))
    assert min(found.values()) >= 0.9
