"""Comparisons of two rankings and of two runs against enumeration, SciPy and published values."""

import itertools
import math
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.datasets import make_classification
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from test_estimates import asah, slope, weight_derivatives

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    EnrichmentAtK,
    PrecisionAtK,
    Ranking,
    RecallAtK,
    ReciprocalRank,
    RobustInitialEnhancement,
    RocAuc,
    metric_comparison_test,
    metric_interval,
    metric_multiple_comparison_test,
    metric_test,
)
from sklearn_rankinf._estimation import COMPARISONS, binormal

ALTERNATIVES = ["two-sided", "greater", "less"]
MIRRORED = {"two-sided": "two-sided", "greater": "less", "less": "greater"}


def sample(seed=0, n=60, m=15, levels=None):
    """Labels and the scores of a better and a worse ranker, correlated."""
    rng = np.random.default_rng(seed)
    y_true, common = np.arange(n) < m, rng.normal(size=n)
    a, b = (common + rng.normal(size=n) + shift * y_true for shift in (1.6, 0.8))
    if levels:
        a, b = np.round(a * levels) / levels, np.round(b * levels) / levels
    return y_true, a, b


NAMES = [
    ("average_precision", AveragePrecision()),
    ("average_precision@0.2", AveragePrecision(k=12)),
    ("roc_auc", RocAuc()),
    ("recall@8", RecallAtK(8)),
    ("recall@0.2", RecallAtK(12)),
    ("precision@8", PrecisionAtK(8)),
    ("enrichment@0.1", EnrichmentAtK(6)),
    ("dcg", DiscountedCumulativeGain()),
    ("ndcg@10", DiscountedCumulativeGain(k=10, normalize=True)),
    ("bedroc", Bedroc()),
    ("rie", RobustInitialEnhancement()),
    ("reciprocal_rank", ReciprocalRank()),
]
OF_HITS = ["hypergeometric", "hypergeometric_midp", "mcnemar", "emproc"]
WITH_METHODS = [
    (name, method)
    for name, _ in NAMES
    for method in [
        "swap",
        "bootstrap",
        *([] if name == "reciprocal_rank" else ["influence"]),
        *(["delong"] if name == "roc_auc" else []),
        *(OF_HITS if name.startswith(("recall", "precision", "enrichment")) else []),
    ]
]


# Metrics whose intervals are simulated, which takes a while.
BINORMAL = ("dcg", "ndcg@10", "bedroc", "rie")


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Simulated intervals are compared with themselves alone: few draws will do."""
    monkeypatch.setattr(binormal, "_DRAWS_BEYOND", 10)
    monkeypatch.setattr(binormal, "_FEWEST_DRAWS", 400)


def assert_same(one, other, rtol=1e-10, limits=True):
    for name in ("statistic_a", "statistic_b", "difference", "standard_error", "pvalue"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=1e-14)
    if limits:
        intervals = one.confidence_interval(), other.confidence_interval()
        assert_allclose(*intervals, rtol=rtol, atol=1e-14)
    assert one.method == other.method


# ---------------------------------------------------------------------------------------------
# Metrics, methods and invariances
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "metric"), NAMES)
def test_names_and_instances_mean_the_same(name, metric):
    y_true, a, b = sample()
    found = metric_comparison_test(y_true, {"a": a, "b": b}, metric=name, n_resamples=99)
    by_instance = metric_comparison_test(y_true, {"a": a, "b": b}, metric=metric, n_resamples=99)
    assert found.metric == metric
    assert found.method == "swap"
    assert_same(found, by_instance, limits=name not in BINORMAL)
    for value, score in ((found.statistic_a, a), (found.statistic_b, b)):
        assert value == pytest.approx(metric_test(y_true, score, metric=metric).statistic)
    assert found.difference == found.statistic_a - found.statistic_b
    assert (found.n_samples, found.n_positives, found.n_resamples) == (60, 15, 99)


@pytest.mark.numeric
@pytest.mark.parametrize(("name", "method"), WITH_METHODS)
def test_every_method_mirrors_and_takes_ranks_alone(name, method):
    y_true, a, b = sample(1)
    options = {"metric": name, "method": method, "n_resamples": 59}
    has_interval = name != "reciprocal_rank" or method == "bootstrap"
    # Intervals of these metrics are simulated, and the same for all methods.
    has_interval &= name not in BINORMAL or method == "swap"
    # The mirror image of greater is less.
    for alternative in ("two-sided", "greater"):
        found = metric_comparison_test(y_true, {"a": a, "b": b}, alternative=alternative, **options)
        assert (found.method, found.alternative) == (method, alternative)
        assert 0.0 < found.pvalue <= 1.0
        assert found.log10_pvalue == pytest.approx(math.log10(found.pvalue), abs=1e-12)
        other = metric_comparison_test(
            y_true, {"b": b, "a": a}, alternative=MIRRORED[alternative], **options
        )
        assert other.pvalue == pytest.approx(found.pvalue, rel=1e-10)
        assert other.difference == -found.difference
        if alternative == "two-sided" and has_interval:
            low, high = found.confidence_interval()
            assert low <= found.difference + 1e-12
            assert found.difference - 1e-12 <= high
            assert_allclose(other.confidence_interval(), [-high, -low], rtol=1e-9, atol=1e-14)
    # Scores of other scales, in another order.
    order = np.random.default_rng(0).permutation(60)
    moved = metric_comparison_test(y_true, {"a": np.exp(a), "b": 3.0 * b - 1.0}, **options)
    plain = metric_comparison_test(y_true, {"a": a, "b": b}, **options)
    assert_same(moved, plain, limits=name not in BINORMAL)
    if method not in ("swap", "bootstrap"):
        shuffled = metric_comparison_test(y_true[order], {"a": a[order], "b": b[order]}, **options)
        assert_same(shuffled, plain, limits=name not in BINORMAL)


def test_the_same_ranking_is_not_different():
    y_true, a, _ = sample(2)
    for name, method in WITH_METHODS:
        options = {"metric": name, "method": method, "n_resamples": 99}
        found = metric_comparison_test(y_true, {"a": a, "b": np.exp(a)}, **options)
        assert found.pvalue == pytest.approx(1.0), (name, method)
        assert found.difference == 0.0, (name, method)
        if method == "swap":
            assert found.n_resamples == 0, name


def test_labels_and_containers():
    y_true, a, b = sample(3)
    plain = metric_comparison_test(y_true, {"a": a, "b": b}, method="influence")
    words = np.where(y_true, "hit", "miss")
    assert_same(
        metric_comparison_test(words, {"a": a, "b": b}, method="influence", pos_label="hit"), plain
    )
    for frame in (pd, pl):
        series = [frame.Series(x) for x in (y_true.astype(int), a, b)]
        clusters = frame.Series(np.arange(60))
        found = metric_comparison_test(
            series[0],
            dict(zip("ab", series[1:], strict=True)),
            method="influence",
            clusters=clusters,
        )
        assert_same(found, plain)
    assert_same(
        metric_comparison_test(
            y_true.tolist(), {"a": a.tolist(), "b": b.tolist()}, method="influence"
        ),
        plain,
    )


# ---------------------------------------------------------------------------------------------
# Rank swap
# ---------------------------------------------------------------------------------------------


def mean_over_orders(metric, y_true, ranks):
    """Mean of a metric over all orders of the items with equal ranks."""
    blocks = [np.flatnonzero(ranks == rank) for rank in np.unique(ranks)]
    values = []
    for orders in itertools.product(*(itertools.permutations(block) for block in blocks)):
        score = np.empty(ranks.size)
        score[list(itertools.chain(*orders))] = -np.arange(ranks.size)
        values.append(metric(y_true, score))
    return np.mean(values)


def swapped_differences(metric, y_true, a, b, units):
    """Differences of all swaps of the mid-ranks of two rankings, by the definition."""
    both = np.stack([stats.rankdata(-a), stats.rankdata(-b)])
    known = {}

    def value(ranks):
        if ranks.tobytes() not in known:
            # Equal ranks count half in ROC AUC, which is the mean over their orders.
            known[ranks.tobytes()] = (
                metric(y_true, -ranks)
                if metric is roc_auc_score
                else mean_over_orders(metric, y_true, ranks)
            )
        return known[ranks.tobytes()]

    differences = []
    for bits in itertools.product([False, True], repeat=units.max() + 1):
        first, second = np.where(np.array(bits)[units], both[::-1], both)
        differences.append(value(first) - value(second))
    return np.array(differences)


@pytest.mark.numeric
@pytest.mark.parametrize("name", ["average_precision", "roc_auc"])
@pytest.mark.parametrize(
    ("y_true", "a", "b", "units"),
    [
        ([1, 0, 1, 0, 0, 1], [6, 5, 4, 3, 2, 1], [5, 6, 1, 3, 4, 2], None),
        ([1, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6], [6, 5, 2, 4, 1, 3], None),
        ([1, 1, 1, 1, 0, 1], [6, 5, 4, 3, 2, 1], [1, 3, 2, 4, 6, 5], None),
        ([1, 0, 1, 0, 0], [2, 2, 1, 1, 1], [1, 3, 3, 2, 1], None),
        ([1, 0, 1, 0, 0, 1], [6, 5, 4, 3, 2, 1], [5, 6, 1, 3, 4, 2], [0, 0, 1, 1, 2, 2]),
    ],
)
def test_exhaustive_swaps_are_those_of_enumeration(name, y_true, a, b, units):
    metric = {"average_precision": average_precision_score, "roc_auc": roc_auc_score}[name]
    y_true, a, b = np.array(y_true), np.array(a), np.array(b)
    codes = np.arange(y_true.size) if units is None else np.array(units)
    differences = swapped_differences(metric, y_true, a, b, codes)
    observed = differences[0]
    for alternative, extreme in (
        ("two-sided", np.abs(differences) >= abs(observed) - 1e-12),
        ("greater", differences >= observed - 1e-12),
        ("less", differences <= observed + 1e-12),
    ):
        found = metric_comparison_test(
            y_true, {"a": a, "b": b}, metric=name, alternative=alternative, clusters=units
        )
        assert found.pvalue == pytest.approx(extreme.mean(), rel=1e-12)
        assert found.n_resamples <= 2**y_true.size


def test_random_swaps_agree_with_all_of_them():
    y_true, a, b = sample(4, n=16, m=5)
    exact = metric_comparison_test(y_true, {"a": a, "b": b}, n_resamples=2**16)
    drawn = metric_comparison_test(y_true, {"a": a, "b": b}, n_resamples=1000)
    # Negatives that stay between the same positives change nothing, and are not swapped.
    assert 1000 < exact.n_resamples <= 2**16
    assert drawn.n_resamples == 1000
    error = math.sqrt(exact.pvalue * (1 - exact.pvalue) / 1000)
    assert drawn.pvalue == pytest.approx(exact.pvalue, abs=4 * error)
    # c of B random swaps give (c + 1) / (B + 1), and all swaps their share.
    assert drawn.pvalue * 1001 == pytest.approx(round(drawn.pvalue * 1001), abs=1e-8)
    n_extreme = exact.pvalue * exact.n_resamples
    assert n_extreme == pytest.approx(round(n_extreme), abs=1e-8)


def test_jobs_and_seeds():
    y_true, a, b = sample(5, n=3000, m=60)
    for method, n_resamples in (("swap", 3000), ("bootstrap", 1400)):
        options = {"method": method, "n_resamples": n_resamples}
        with joblib.parallel_config(backend="threading"):
            one, two = (
                metric_comparison_test(y_true, {"a": a, "b": b}, n_jobs=jobs, **options)
                for jobs in (1, 2)
            )
        assert one.pvalue == two.pvalue
    y_true, a, b = sample(5)
    found = {
        str(seed): metric_comparison_test(
            y_true, {"a": a, "b": b}, random_state=seed, n_resamples=999
        )
        for seed in (0, 1, np.random.default_rng(0), np.random.RandomState(0), None)
    }
    again = metric_comparison_test(y_true, {"a": a, "b": b}, n_resamples=999)
    assert found["0"].pvalue == again.pvalue
    pvalues = [one.pvalue for one in found.values()]
    assert len(set(pvalues)) > 1
    assert_allclose(pvalues, pvalues[0], atol=0.06)


@pytest.mark.parametrize("seed", [0, np.random.default_rng(3), np.random.RandomState(3), None])
def test_the_interval_of_the_bootstrap_is_of_one_draw(seed):
    y_true, a, b = sample(6)
    found = metric_comparison_test(
        y_true, {"a": a, "b": b}, method="bootstrap", n_resamples=99, random_state=seed
    )
    assert found.confidence_interval() == found.confidence_interval()
    # The interval that ends at 0 has the p-value as its level.
    for level in (0.5, 0.9):
        low, high = found.confidence_interval(level)
        beyond = low > 0 or high < 0
        assert beyond == (found.pvalue < 1 - level + 0.03) or abs(found.pvalue + level - 1) < 0.05


# ---------------------------------------------------------------------------------------------
# Tests of equal metrics
# ---------------------------------------------------------------------------------------------


def error_of(values, y_true):
    """Influence standard error, each class about its mean."""
    parts = [values[y_true], values[~y_true]]
    return math.sqrt(sum(part.size * np.var(part, ddof=1) for part in parts))


@pytest.mark.parametrize("levels", [None, 1])
def test_influence_is_a_t_test_on_the_g_scale(levels):
    y_true, a, b = sample(7, levels=levels)
    values = [average_precision_score(y_true, score) for score in (a, b)]
    slopes = [-1.0 / (value * math.log(value)) for value in values]
    derivatives = [weight_derivatives(average_precision_score, y_true, s) for s in (a, b)]
    scaled = slopes[0] * derivatives[0] - slopes[1] * derivatives[1]
    g = [-math.log(-math.log(value)) for value in values]
    t = (g[0] - g[1]) / error_of(scaled, y_true)
    expected = {
        "two-sided": 2 * stats.t.sf(abs(t), 14),
        "greater": stats.t.sf(t, 14),
        "less": stats.t.cdf(t, 14),
    }
    error = error_of(derivatives[0] - derivatives[1], y_true)
    for alternative in ALTERNATIVES:
        found = metric_comparison_test(
            y_true, {"a": a, "b": b}, method="influence", alternative=alternative
        )
        assert found.pvalue == pytest.approx(expected[alternative], rel=1e-6)
        assert found.standard_error == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("metric", [RocAuc(), Bedroc(), DiscountedCumulativeGain(), RecallAtK(9)])
def test_influence_of_other_metrics_is_a_t_test_on_their_scale(metric):
    y_true, a, b = sample(8)
    found = metric_comparison_test(y_true, {"a": a, "b": b}, metric=metric, method="influence")
    t = found.difference / found.standard_error
    assert found.pvalue == pytest.approx(2 * stats.t.sf(abs(t), 14), rel=1e-10)
    # Each part of the error is that of the metric alone.
    parts = [metric_interval(y_true, score, metric=metric).standard_error for score in (a, b)]
    assert abs(parts[0] - parts[1]) <= found.standard_error <= sum(parts)


def test_delong_is_the_same_with_the_normal_distribution():
    outcome, wfns, s100b = asah()
    options = {"metric": "roc_auc", "pos_label": "Poor"}
    normal = metric_comparison_test(
        outcome, {"wfns": wfns, "s100b": s100b}, method="delong", **options
    )
    student = metric_comparison_test(
        outcome, {"wfns": wfns, "s100b": s100b}, method="influence", **options
    )
    z = 2.20898359144091
    assert normal.pvalue == pytest.approx(2 * stats.norm.sf(z), rel=1e-9)
    assert student.pvalue == pytest.approx(2 * stats.t.sf(z, 40), rel=1e-9)


@pytest.mark.parametrize("metric", ["average_precision", "roc_auc"])
def test_a_perfect_ranking_beside_another(metric):
    y_true, a, b = sample(9)
    perfect = a + 100.0 * y_true
    options = {"metric": metric, "method": "influence"}
    both = metric_comparison_test(y_true, {"a": perfect, "b": b + 100.0 * y_true}, **options)
    assert both.pvalue == 1.0
    # Where one is perfect the g scale has no slope, and the metrics are compared on their own.
    found = metric_comparison_test(y_true, {"perfect": perfect, "b": b}, **options)
    t = found.difference / found.standard_error
    assert found.pvalue == pytest.approx(2 * stats.t.sf(t, 14), rel=1e-9)


def test_constant_scores():
    y_true, a, _ = sample(10)
    for method in ("swap", "influence", "bootstrap", "delong"):
        options = {"metric": "roc_auc", "method": method, "n_resamples": 199}
        same = metric_comparison_test(y_true, {"a": np.zeros(60), "b": np.ones(60)}, **options)
        assert same.pvalue == 1.0
        found = metric_comparison_test(y_true, {"a": a, "b": np.zeros(60)}, **options)
        assert found.pvalue < 0.05
        low, high = found.confidence_interval()
        assert low < found.difference < high


def test_the_bootstrap_is_that_of_all_resamples():
    y_true = np.array([1, 1, 1, 0, 0, 0])
    a, b = np.array([6.0, 4, 2, 5, 3, 1]), np.array([4.0, 5, 1, 6, 2, 3])
    differences = []
    for hits in itertools.product(range(3), repeat=3):
        for misses in itertools.product(range(3, 6), repeat=3):
            one, other = (
                np.mean(score[list(hits)][:, None] > score[list(misses)]) for score in (a, b)
            )
            differences.append(one - other)
    differences = np.array(differences)
    below, above = (differences <= 1e-12).mean(), (differences >= -1e-12).mean()
    for alternative, expected in (
        ("greater", below),
        ("less", above),
        ("two-sided", min(1.0, 2 * min(below, above))),
    ):
        found = metric_comparison_test(
            y_true,
            {"a": a, "b": b},
            method="bootstrap",
            metric="roc_auc",
            alternative=alternative,
            n_resamples=1500,
        )
        assert found.pvalue == pytest.approx(expected, abs=0.06)
    # The distribution is discrete: a limit is one of its values near the quantile.
    low, high = found.confidence_interval(0.8)
    assert np.quantile(differences, 0.07) - 1e-12 <= low <= np.quantile(differences, 0.13) + 1e-12
    assert np.quantile(differences, 0.87) - 1e-12 <= high <= np.quantile(differences, 0.93) + 1e-12


# ---------------------------------------------------------------------------------------------
# Hits at k
# ---------------------------------------------------------------------------------------------


def lists_with_exclusive_items(hits_a, hits_b, hits_both, n_both, exclusive, n, m):
    """Labels and scores with given numbers of positives in both lists of k, or in one only."""
    kinds = [(hits_both, n_both, True, True)]
    kinds += [(hits_a, exclusive, True, False), (hits_b, exclusive, False, True)]
    left = n - n_both - 2 * exclusive
    kinds.append((m - hits_both - hits_a - hits_b, left, False, False))
    label, in_a, in_b = [], [], []
    for hits, size, a, b in kinds:
        label += [1] * hits + [0] * (size - hits)
        in_a += [a] * size
        in_b += [b] * size
    noise = np.random.default_rng(0).uniform(0.0, 0.5, size=(2, n))
    return np.array(label), np.array(in_a) + noise[0], np.array(in_b) + noise[1]


def test_hits_of_lists_with_sixty_exclusive_items():
    data = lists_with_exclusive_items(17, 6, 9, 40, 60, 1000, 80)
    options = {"metric": "recall@100"}
    exact = metric_comparison_test(
        data[0], np.column_stack(data[1:]), method="hypergeometric", **options
    )
    assert exact.pvalue == pytest.approx(0.0190284, abs=5e-8)
    mcnemar = metric_comparison_test(
        data[0], np.column_stack(data[1:]), method="mcnemar", **options
    )
    assert mcnemar.pvalue == pytest.approx(0.0346897, abs=5e-8)
    assert mcnemar.pvalue == pytest.approx(stats.binomtest(17, 23).pvalue, rel=1e-10)
    distribution = stats.hypergeom(120, 23, 60)
    upper, lower = distribution.sf(16), distribution.cdf(17)
    mid = 2 * min(upper, lower) - distribution.pmf(17)
    mid_p = metric_comparison_test(
        data[0], np.column_stack(data[1:]), method="hypergeometric_midp", **options
    )
    assert mid_p.pvalue == pytest.approx(mid, rel=1e-9)
    for alternative, expected in (("greater", upper), ("less", lower)):
        found = metric_comparison_test(
            data[0],
            np.column_stack(data[1:]),
            method="hypergeometric",
            alternative=alternative,
            **options,
        )
        assert found.pvalue == pytest.approx(expected, rel=1e-9)
    # The MOVER interval is theirs as well.
    by_swap = metric_comparison_test(data[0], np.column_stack(data[1:]), n_resamples=9, **options)
    assert exact.confidence_interval() == by_swap.confidence_interval()
    assert exact.difference == pytest.approx(11 / 80)


@pytest.mark.parametrize("name", ["recall", "precision", "enrichment"])
def test_emproc_by_its_formula(name):
    data = lists_with_exclusive_items(17, 6, 9, 40, 60, 1000, 80)
    found = metric_comparison_test(
        data[0], np.column_stack(data[1:]), metric=f"{name}@100", method="emproc"
    )
    a, b = (slope(data[0][np.argsort(-score)].astype(float), 100) for score in data[1:])
    m, n, k = 82, 1002, 101
    first, second, both = 27 / m, 16 / m, 9 / m
    part, prevalence = k / n, m / n

    def variance(recall, share):
        of_threshold = share**2 * part * (1 - part) / (n * prevalence**2)
        return recall * (1 - recall) * (1 - 2 * share) / m + of_threshold

    covariance = prevalence * (both - first * second) * (1 - a - b)
    covariance += (40 / n - part**2) * a * b
    error = math.sqrt(
        variance(first, a) + variance(second, b) - 2 * covariance / (n * prevalence**2)
    )
    assert found.pvalue == pytest.approx(2 * stats.norm.sf(11 / 80 / error), rel=1e-9)
    scale = {"recall": 1.0, "precision": 0.8, "enrichment": 10.0}[name]
    half = stats.norm.ppf(0.975) * error
    assert_allclose(
        found.confidence_interval(), [scale * (11 / m - half), scale * (11 / m + half)], rtol=1e-9
    )


def test_the_number_of_hits_decides_whatever_it_is_divided_by():
    y_true, a, b = sample(11)
    for method in [*OF_HITS, "influence", "swap"]:
        pvalues = [
            metric_comparison_test(
                y_true, {"a": a, "b": b}, metric=f"{name}@12", method=method, n_resamples=199
            ).pvalue
            for name in ("recall", "precision", "enrichment")
        ]
        assert_allclose(pvalues, pvalues[0], rtol=1e-9)


def test_equal_scores_inside_and_behind_the_top_k_are_no_obstacle():
    y_true = np.arange(12) % 3 == 0
    a = np.repeat([3.0, 2.0, 1.0], 4)
    b = np.tile([3.0, 2.0, 1.0], 4)
    found = metric_comparison_test(y_true, {"a": a, "b": b}, metric="recall@4", method="mcnemar")
    in_a, in_b = a == 3.0, b == 3.0
    only = [int(np.sum(y_true & x & ~y)) for x, y in ((in_a, in_b), (in_b, in_a))]
    assert found.pvalue == pytest.approx(stats.binomtest(only[0], sum(only)).pvalue)
    every = metric_comparison_test(
        y_true, {"a": a, "b": b}, metric="recall@12", method="hypergeometric"
    )
    assert (every.pvalue, every.difference) == (1.0, 0.0)


# ---------------------------------------------------------------------------------------------
# Intervals
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["average_precision", "roc_auc"])
def test_the_interval_is_made_of_both_intervals_and_their_correlation(metric):
    function = {"average_precision": average_precision_score, "roc_auc": roc_auc_score}[metric]
    y_true, a, b = sample(14)
    first, second = (weight_derivatives(function, y_true, score) for score in (a, b))
    variances = [error_of(first, y_true) ** 2, error_of(second, y_true) ** 2]
    covariance = (sum(variances) - error_of(first - second, y_true) ** 2) / 2
    rho = covariance / math.sqrt(variances[0] * variances[1])
    found = metric_comparison_test(y_true, {"a": a, "b": b}, metric=metric, method="influence")
    for level in (0.8, 0.95):
        one, two = (
            metric_interval(y_true, score, metric=metric, confidence_level=level)
            for score in (a, b)
        )
        below = one.statistic - one.low, two.high - two.statistic
        above = one.high - one.statistic, two.statistic - two.low
        low, high = (math.sqrt(x**2 + y**2 - 2 * rho * x * y) for x, y in (below, above))
        assert_allclose(
            found.confidence_interval(level),
            [found.difference - low, found.difference + high],
            rtol=1e-5,
        )


@pytest.mark.numeric
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("shape", ["few negatives", "one positive", "bottom", "perfect", "ties"])
def test_intervals_hold_the_difference(shape, seed):
    y_true, a, b = sample(seed)
    if shape == "few negatives":
        y_true = np.arange(60) < 58
    if shape == "one positive":
        y_true = np.arange(60) == 7
    if shape == "bottom":
        a, b = a - 10.0 * y_true, b - 10.0 * y_true
    if shape == "perfect":
        a = a + 10.0 * y_true
    if shape == "ties":
        a, b = np.round(a / 2), np.round(b / 2)
    for name, _ in NAMES[:-1]:
        if name in ("dcg", "rie") or (name in BINORMAL and seed):
            continue
        found = metric_comparison_test(
            y_true, {"a": a, "b": b}, metric=name, method="swap", n_resamples=1
        )
        low, high = found.confidence_interval()
        assert low - 1e-12 <= found.difference <= high + 1e-12, name


# ---------------------------------------------------------------------------------------------
# Too little information
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("method", ["swap", "influence", "delong", "bootstrap"])
def test_one_class_has_no_information(label, method):
    _, a, b = sample()
    message = (
        f"^y_true contains only one class, {60 * label} positives among 60 items: a comparison "
        r"is not possible, and the p-value is 1\.$"
    )
    with pytest.warns(UndefinedMetricWarning, match=message):
        found = metric_comparison_test(
            np.full(60, label), {"a": a, "b": b}, metric="roc_auc", method=method, pos_label=1
        )
    assert (found.pvalue, found.log10_pvalue) == (1.0, 0.0)
    assert math.isnan(found.standard_error)
    assert all(math.isnan(limit) for limit in found.confidence_interval())
    assert "interval" not in found.summary()


@pytest.mark.parametrize("few", ["positives", "negatives"])
@pytest.mark.parametrize("options", [{"method": "influence"}, {"method": "delong"}])
def test_a_class_of_one_sample_has_no_standard_error(few, options):
    _, a, b = sample()
    y_true = (np.arange(60) == 5) == (few == "positives")
    with pytest.warns(UndefinedMetricWarning, match="needs a standard error, .* single item"):
        found = metric_comparison_test(y_true, {"a": a, "b": b}, metric="roc_auc", **options)
    assert (found.pvalue, found.log10_pvalue) == (1.0, 0.0)
    assert math.isnan(found.standard_error)
    # A swap needs none.
    swap = metric_comparison_test(y_true, {"a": a, "b": b}, metric="roc_auc", n_resamples=99)
    assert 0 < swap.pvalue < 1.0 or swap.difference == 0.0


@pytest.mark.parametrize(
    ("is_positive", "message"),
    [
        (np.arange(20) == 5, "standard errors, .* single item .* all p-values are 1"),
        (np.arange(20) != 5, "standard errors, .* single item .* all p-values are 1"),
        (np.zeros(20, dtype=bool), "only one class, 0 positives .* all p-values are 1"),
    ],
)
@pytest.mark.parametrize("metric", ["average_precision", "roc_auc", "bedroc"])
def test_standard_errors_of_many_rankers_are_unknown_too(is_positive, message, metric):
    _, a, b = sample(n=20)
    with pytest.warns(UndefinedMetricWarning, match=message):
        found = metric_multiple_comparison_test(
            is_positive, {"a": a, "b": b, "c": -a}, metric=metric, pos_label=True
        )
    assert found.pvalue.tolist() == found.pvalue_unadjusted.tolist() == [1.0] * 3
    assert np.isnan([*found.standard_error, *found.statistic_standard_error]).all()
    assert found.best() == ["a", "b", "c"]
    assert np.isnan(found.low).all() == (not is_positive.any())


def test_a_class_of_one_cluster_or_stratum_of_one_sample_has_no_standard_error():
    y_true, a, b = sample()
    for units in (
        {"clusters": np.where(y_true, 99, np.arange(60))},
        {"strata": np.where(np.arange(60) == 0, 1, 0)},
    ):
        with pytest.warns(UndefinedMetricWarning, match="single item or cluster"):
            found = metric_comparison_test(y_true, {"a": a, "b": b}, method="influence", **units)
        assert found.pvalue == 1.0
        assert len(found.confidence_interval()) == 2
        metric_comparison_test(y_true, {"a": a, "b": b}, n_resamples=9, **units)


# ---------------------------------------------------------------------------------------------
# Queries
# ---------------------------------------------------------------------------------------------


def runs(n_queries=9, size=8, seed=15):
    rng = np.random.default_rng(seed)
    groups = np.repeat([f"q{i}" for i in range(n_queries)], size)
    y_true = np.tile(np.arange(size) < 3, n_queries)
    a, b = (rng.normal(size=groups.size) + shift * y_true for shift in (1.5, 0.7))
    return y_true, a, b, groups


def by_query(metric, y_true, score, groups):
    return np.array([metric(y_true[groups == q], score[groups == q]) for q in np.unique(groups)])


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_runs_are_compared_as_scipy_compares_pairs(alternative):
    y_true, a, b, groups = runs()
    values = [by_query(average_precision_score, y_true, score, groups) for score in (a, b)]
    differences = values[0] - values[1]
    flips = stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        alternative=alternative,
        n_resamples=np.inf,
    )
    expected = {
        "sign_flip": flips.pvalue,
        "t": stats.ttest_rel(*values, alternative=alternative).pvalue,
        "wilcoxon": stats.wilcoxon(*values, alternative=alternative).pvalue,
    }
    for method, pvalue in expected.items():
        found = metric_comparison_test(
            y_true, {"a": a, "b": b}, groups=groups, method=method, alternative=alternative
        )
        assert found.pvalue == pytest.approx(pvalue, rel=1e-9)
        assert_allclose(found.query_differences, differences, rtol=1e-12)
        assert found.difference == pytest.approx(differences.mean())
        assert found.standard_error == pytest.approx(stats.sem(differences))
        interval = stats.ttest_rel(*values).confidence_interval(0.95)
        assert_allclose(found.confidence_interval(), interval, rtol=1e-9)
        mirrored = metric_comparison_test(
            y_true,
            {"b": b, "a": a},
            groups=groups,
            method=method,
            alternative=MIRRORED[alternative],
        )
        assert mirrored.pvalue == pytest.approx(found.pvalue, rel=1e-9)
    auto = metric_comparison_test(y_true, {"a": a, "b": b}, groups=groups, alternative=alternative)
    assert auto.method == "sign_flip"
    assert auto.n_queries == 9
    assert auto.n_resamples <= 2**9


def test_reciprocal_ranks_are_compared_over_queries():
    y_true, a, b, groups = runs(n_queries=7, size=9)

    def reciprocal_rank(y_true, score):
        return 1.0 / (1 + np.flatnonzero(y_true[np.argsort(-score)])[0])

    found = metric_comparison_test(
        y_true, {"a": a, "b": b}, groups=groups, metric="reciprocal_rank"
    )
    values = [by_query(reciprocal_rank, y_true, score, groups) for score in (a, b)]
    differences = values[0] - values[1]
    signs = np.array(list(itertools.product([1, -1], repeat=7)))
    extreme = np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12
    assert found.pvalue == pytest.approx(extreme.mean())


def test_the_bootstrap_over_queries():
    y_true, a, b, groups = runs(n_queries=5)
    differences = by_query(average_precision_score, y_true, a, groups) - by_query(
        average_precision_score, y_true, b, groups
    )
    means = np.array([np.mean(x) for x in itertools.product(differences, repeat=5)])
    options = {"groups": groups, "method": "bootstrap", "n_resamples": 4000}
    found = metric_comparison_test(y_true, {"a": a, "b": b}, alternative="greater", **options)
    assert found.pvalue == pytest.approx((means <= 0).mean(), abs=0.03)
    expected = stats.bootstrap(
        (differences,), np.mean, n_resamples=20_000, random_state=1
    ).confidence_interval
    assert_allclose(found.confidence_interval(), expected, atol=0.05)


def test_clusters_of_queries():
    y_true, a, b, groups = runs(n_queries=12)
    query = np.unique(groups, return_inverse=True)[1]
    plain = metric_comparison_test(y_true, {"a": a, "b": b}, groups=groups)
    single = metric_comparison_test(y_true, {"a": a, "b": b}, groups=groups, clusters=query)
    assert_same(single, plain)
    # Users with three queries each: signs of all of a user's differences flip together.
    users = query % 4
    found = metric_comparison_test(y_true, {"a": a, "b": b}, groups=groups, clusters=users)
    sums = np.bincount(np.arange(12) % 4, found.query_differences[np.argsort(pd.unique(groups))])
    order = [int(q[1:]) for q in found.queries]
    by_user = np.zeros(4)
    for name, difference in zip(order, found.query_differences, strict=True):
        by_user[users[groups == f"q{name}"][0]] += difference
    assert_allclose(sorted(by_user), sorted(sums))
    signs = np.array(list(itertools.product([1, -1], repeat=4)))
    extreme = np.abs(signs @ by_user) >= abs(by_user.sum()) - 1e-12
    assert found.pvalue == pytest.approx(extreme.mean())
    # Users are the sample: four of equal size, whose means have a t interval.
    assert found.standard_error == pytest.approx(stats.sem(by_user / 3), rel=1e-12)
    interval = stats.ttest_1samp(by_user / 3, 0.0).confidence_interval(0.95)
    assert_allclose(found.confidence_interval(), interval, rtol=1e-9)


def test_copies_of_queries_in_clusters_add_no_information():
    y_true, a, b, groups = runs()
    plain = metric_comparison_test(y_true, {"a": a, "b": b}, groups=groups)
    copies = [np.tile(x, 3) for x in (y_true, a, b)]
    names = [f"{q}/{copy}" for copy in range(3) for q in groups]
    found = metric_comparison_test(
        copies[0], np.column_stack(copies[1:]), groups=iter(names), clusters=np.tile(groups, 3)
    )
    assert_same(found, plain)
    one = metric_comparison_test(
        copies[0], np.column_stack(copies[1:]), groups=names, clusters=np.zeros(len(names))
    )
    assert math.isnan(one.standard_error)
    assert one.pvalue == 1.0
    assert one.confidence_interval() == (-math.inf, math.inf)


@pytest.mark.parametrize("method", ["sign_flip", "t", "wilcoxon", "bootstrap"])
def test_equal_runs_over_queries(method):
    y_true, a, _, groups = runs()
    found = metric_comparison_test(
        y_true, {"a": a, "b": a}, groups=groups, method=method, n_resamples=99
    )
    assert (found.pvalue, found.difference) == (1.0, 0.0)
    assert found.confidence_interval() == (0.0, 0.0)


def test_differences_that_are_equal_but_for_rounding_have_no_error():
    # One hit, at rank 2 and 3 or at rank 3 and 6: both differences are a sixth.
    places = np.array([(2, 3), (3, 6)] * 3)
    y_true = np.tile(np.arange(1, 7) == 1, 6)
    a, b = (
        np.concatenate([np.r_[-place, -np.delete(np.arange(1, 7), place - 1)] for place in column])
        for column in places.T
    )
    found = metric_comparison_test(y_true, {"a": a, "b": b}, groups=np.arange(36) // 6, method="t")
    assert np.ptp(found.query_differences) > 0.0
    assert_allclose(found.query_differences, 1 / 6)
    assert found.standard_error == 0.0
    assert found.pvalue == 1.0


def test_queries_without_positives_count_with_zero():
    y_true, a, b, groups = runs()
    y_true = y_true & (groups != "q3")
    with pytest.warns(UndefinedMetricWarning, match="1 of 9 queries have no positives"):
        found = metric_comparison_test(y_true, {"a": a, "b": b}, groups=groups)
    assert found.query_differences[3] == 0.0
    assert found.n_positives == 24


# ---------------------------------------------------------------------------------------------
# Results
# ---------------------------------------------------------------------------------------------


def test_result_of_two_rankings():
    y_true, a, b = sample()
    found = metric_comparison_test(y_true, {"a": a, "b": b}, n_resamples=999)
    assert repr(found) == (
        f"MetricComparisonTestResult(metric={found.metric}, "
        f"statistic_a={found.statistic_a:.4g}, statistic_b={found.statistic_b:.4g}, "
        f"difference={found.difference:.4g}, pvalue={found.pvalue:.4g}, "
        "alternative='two-sided', method='swap')"
    )
    low, high = found.confidence_interval()
    assert found.summary() == (
        f"Average precision was {found.statistic_a:.3g} and {found.statistic_b:.3g} (difference "
        f"{found.difference:.3g}, 95 % confidence interval {low:.3g} to {high:.3g}; two-sided p = "
        f"{found.pvalue:.4f} by rank swaps)."
    )
    numbers = found.to_dict()
    assert numbers["n_resamples"] == 999
    assert (numbers["low"], numbers["high"], numbers["confidence_level"]) == (low, high, 0.95)
    low, high = found.confidence_interval(0.5)
    assert low > found.confidence_interval().low
    assert found.confidence_interval(0.5).high == high


@pytest.mark.parametrize("name", [name for name, _ in NAMES])
def test_results_pickle_with_their_intervals(name):
    y_true, a, b = sample()
    for method in [method for other, method in WITH_METHODS if other == name]:
        found = metric_comparison_test(
            y_true, {"a": a, "b": b}, metric=name, method=method, n_resamples=49
        )
        restored = pickle.loads(pickle.dumps(found))
        assert repr(restored) == repr(found)
        if name not in BINORMAL or (name, method) == ("dcg", "swap"):
            intervals = restored.confidence_interval(), found.confidence_interval()
            assert_allclose(*intervals, err_msg=method)


def test_results_of_queries():
    y_true, a, b, groups = runs()
    found = metric_comparison_test(
        y_true, {"a": a, "b": b}, groups=groups, metric="ndcg", alternative="less"
    )
    assert found.summary().startswith("Mean NDCG was ")
    assert " over 9 queries (difference " in found.summary()
    assert "; one-sided p = " in found.summary()
    frame = found.to_frame()
    assert list(frame.columns) == ["query", "difference"]
    assert frame["query"].tolist() == [f"q{i}" for i in range(9)]
    assert found.to_dict()["n_queries"] == 9
    restored = pickle.loads(pickle.dumps(found))
    assert restored.confidence_interval() == found.confidence_interval()


def test_without_an_interval_the_summary_has_none():
    y_true, a, b = sample(n=30, m=4)
    found = metric_comparison_test(
        y_true, {"a": a, "b": b}, metric="reciprocal_rank", n_resamples=99
    )
    assert all(math.isnan(limit) for limit in found.confidence_interval())
    assert "interval" not in found.summary()
    assert "nan" not in found.summary()


# ---------------------------------------------------------------------------------------------
# Arguments that are wrong
# ---------------------------------------------------------------------------------------------

Y, A, B = sample()
BOTH = {"a": A, "b": B}
FOUR = np.arange(60) % 4
WRONG = [
    ((Y, BOTH), {"alternative": "larger"}, ValueError, "alternative must be .*; got 'larger'"),
    ((Y, BOTH), {"n_resamples": 0}, ValueError, "n_resamples must be at least 1; got 0"),
    ((Y, BOTH), {"n_resamples": True}, TypeError, "n_resamples must be an integer"),
    ((Y, BOTH), {"metric": "auc"}, ValueError, "did you mean 'roc_auc'"),
    (
        (Y, BOTH),
        {"metric": "ndcg@100"},
        ValueError,
        "k must be between 1 and n_samples=60; got 100",
    ),
    ((Y, BOTH), {"method": "t"}, ValueError, "method must be one of 'auto', 'swap', .*average pr"),
    ((Y, BOTH), {"method": "delong"}, ValueError, "for average precision; got 'delong'"),
    (
        (Y, BOTH),
        {"metric": "roc_auc", "method": "mcnemar"},
        ValueError,
        "'delong', 'bootstrap' for ROC AUC; got 'mcnemar'",
    ),
    (
        (Y, BOTH),
        {"metric": "reciprocal_rank", "method": "influence"},
        ValueError,
        "'auto', 'swap', 'score_swap', 'bootstrap' for reciprocal rank; got 'influence'",
    ),
    (
        (Y, BOTH),
        {"method": "bootstrap", "clusters": FOUR},
        ValueError,
        "method='bootstrap' needs independent items.*use method='swap'",
    ),
    (
        (Y, BOTH),
        {"metric": RecallAtK(5), "method": "emproc", "strata": FOUR},
        ValueError,
        "method='emproc' needs independent items",
    ),
    (
        (Y, {"a": np.round(A), "b": B}),
        {"metric": RecallAtK(5), "method": "mcnemar"},
        ValueError,
        "Ranker 'a' has a block of equal scores across rank k=5.*method='swap' or 'influence'",
    ),
    (
        (Y, {"a": A, "b": np.zeros(60)}),
        {"metric": RecallAtK(5), "method": "hypergeometric"},
        ValueError,
        "Ranker 'b' has a block of equal scores across rank k=5",
    ),
    (
        (Y, BOTH),
        {"clusters": FOUR[:-1]},
        ValueError,
        "clusters must contain the cluster of each of",
    ),
    ((Y, BOTH), {"strata": [None] * 60}, ValueError, "strata lacks a stratum in row 0"),
    ((Y, BOTH), {"strata": "abc"}, TypeError, "strata must hold the stratum of each item"),
    ((Ranking.from_scores(Y, A), BOTH), {}, TypeError, "a Ranking, which does not"),
    ((Y, {"a": A[:-1], "b": B}), {}, ValueError, "Ranker 'a': y_true and y_score must have"),
    ((Y, {"a": A, "b": B[:-1]}), {}, ValueError, "Ranker 'b': y_true and y_score must have"),
    ((Y, np.c_[A, np.where(Y, math.inf, B)]), {}, ValueError, "1: y_score must be finite; got inf"),
    ((Y, {"a": A}), {}, ValueError, "y_score must have two rankers; got 1"),
    ((Y, np.c_[A, B, B]), {}, ValueError, "got 3: compare more of them by metric_multiple_comp"),
    ((np.arange(60) % 3, BOTH), {}, ValueError, "y_true holds 3 different labels"),
    ((Y, BOTH), {"pos_label": "hit"}, ValueError, "pos_label='hit' is not a label of y_true"),
    (
        (Y, BOTH),
        {"groups": FOUR, "strata": FOUR},
        ValueError,
        "strata cannot be combined with groups",
    ),
    (
        (Y, BOTH),
        {"groups": FOUR, "method": "swap"},
        ValueError,
        "method must be one of 'auto', 'sign_flip', .* over queries; got 'swap'",
    ),
    ((Y, BOTH), {"groups": [1] * 60}, ValueError, "groups has only 1 query, but a comparison"),
    (
        (Y, BOTH),
        {"groups": FOUR, "clusters": np.arange(60) % 8},
        ValueError,
        "The items of query 0 are in several clusters",
    ),
    (
        (Y, BOTH),
        {"groups": FOUR, "clusters": FOUR, "method": "t"},
        ValueError,
        "method='t' needs independent queries.*use method='sign_flip'",
    ),
    ((Y, BOTH), {"groups": [1, 2]}, ValueError, "groups must contain the query of each of the 60"),
]


def test_the_docstring_names_all_methods_and_their_sources():
    text = metric_comparison_test.__doc__
    for name, way in COMPARISONS.items():
        assert f'``"{name}"``' in text, name
        assert all(author in text for author in way.reference.replace(" and ", " ").split()), name


@pytest.mark.parametrize(("data", "options", "error", "message"), WRONG)
def test_errors(data, options, error, message):
    with pytest.raises(error, match=message):
        metric_comparison_test(*data, **options)


def test_levels_of_the_interval_are_checked():
    found = metric_comparison_test(Y, {"A": A, "B": B}, method="influence")
    with pytest.raises(ValueError, match=r"confidence_level must lie between .*; got 95"):
        found.confidence_interval(95)


def test_an_estimator_is_no_ranking():
    X, y = make_classification(random_state=0)
    with pytest.raises(TypeError, match="labels; got an estimator, LogisticRegression"):
        metric_comparison_test(LogisticRegression(), {"X": X, "y": y})


@pytest.mark.parametrize("metric", ["bedroc", "rie", "roc_auc"])
def test_rounding_is_no_standard_error(metric):
    y_true, perfect = np.arange(60) < 58, -np.arange(60.0)
    for other in (-perfect, np.zeros(60)):
        result = metric_comparison_test(
            y_true, {"perfect": perfect, "other": other}, metric=metric, method="influence"
        )
        assert (result.standard_error, result.pvalue) == (0.0, 1.0)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "influence"},
        {"metric": "roc_auc", "method": "delong"},
        {"metric": "recall@20"},
        {"clusters": range(4000)},
    ],
    ids=str,
)
def test_results_keep_no_items(options):
    rng = np.random.default_rng(0)
    y_true = np.arange(4000) < 400
    scores = rng.normal(size=(2, 4000)) + y_true
    result = metric_comparison_test(y_true, np.column_stack(scores), n_resamples=9, **options)
    stored = pickle.dumps(result)
    assert len(stored) < 4000
    assert pickle.loads(stored).confidence_interval() == result.confidence_interval()
