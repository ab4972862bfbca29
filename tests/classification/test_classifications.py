"""Two hard classifications of the same items: p-values against enumeration of all swaps."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction
from functools import partial

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import accuracy_score, f1_score, fbeta_score, precision_score, recall_score

from sklearn_rankinf._classification.randomization import (
    _Differences,
    _Ratio,
    _Swaps,
    randomization_test,
)

METRICS = ("f1", "precision", "recall")
ALTERNATIVES = ("two-sided", "greater", "less")
SKLEARN = {"f1": f1_score, "precision": precision_score, "recall": recall_score}

pytestmark = pytest.mark.filterwarnings("ignore:.*undefined.*:UserWarning")

# Labels, outputs of a and of b, and clusters.
STRUCTURES = {
    "mixed": ("111100000000", "110111000000", "101000110000", "001122334455"),
    "one positive": ("100000000000", "111100000000", "000011000000", "000111222333"),
    "nearly all positives": ("111111111110", "110111011010", "101011110111", "001122334455"),
    "all positives": ("111111111111", "110101011111", "101011111011", "001122334444"),
    "no positives": ("000000000000", "110000010000", "001000000100", "012301230123"),
    "nothing predicted by b": ("111000000000", "110110000000", "000000000000", "001122334455"),
    "nothing in common": ("111100000000", "110010000000", "001101100000", "012345012345"),
    "only positives differ": ("111111100000", "111100010000", "000011010000", "001111110000"),
    "only negatives differ": ("110000000000", "101111000000", "100000110000", "001112223344"),
    "the same": ("110000000000", "101111000000", "101111000000", "001112223344"),
}


def read(structure):
    return [np.array([int(c) for c in text]) for text in STRUCTURES[structure]]


# Slow definitions


def exact_metric(name, y_true, y_pred):
    """The metric as a fraction, 0 where it is 0/0."""
    tp = int(np.sum(y_true & y_pred))
    n_true, n_pred = int(np.sum(y_true)), int(np.sum(y_pred))
    top, bottom = {
        "f1": (2 * tp, n_true + n_pred),
        "precision": (tp, n_pred),
        "recall": (tp, n_true),
    }[name]
    return Fraction(top, bottom) if bottom else Fraction(0)


def f1_of_counts(y_true, y_pred):
    return 2 * np.sum(y_true & y_pred) / (np.sum(y_true) + np.sum(y_pred))


def share(values, observed, alternative, same=0):
    """Share of differences that are at least as extreme as the observed one."""
    extreme = {
        "two-sided": lambda d: abs(d) >= abs(observed) - same,
        "greater": lambda d: d >= observed - same,
        "less": lambda d: d <= observed + same,
    }[alternative]
    return sum(map(extreme, values)) / len(values)


def swaps(y_pred_a, y_pred_b, units):
    """Both outputs after every swap of units whose outputs differ, the first without any."""
    names = np.unique(units[y_pred_a != y_pred_b])
    for swapped in itertools.product([False, True], repeat=len(names)):
        moved = np.isin(units, names[np.array(swapped, dtype=bool)])
        yield np.where(moved, y_pred_b, y_pred_a), np.where(moved, y_pred_a, y_pred_b)


def differences_after_swaps(metric, y_true, y_pred_a, y_pred_b, units):
    """The difference for every swap of units whose outputs differ, the first without any."""
    found = swaps(y_pred_a, y_pred_b, units)
    return [metric(y_true, a) - metric(y_true, b) for a, b in found]


# Exact p-values


@pytest.mark.parametrize("structure", ["mixed", "nothing in common"])
@pytest.mark.parametrize("metric", METRICS)
def test_exact_is_enumeration_with_sklearn(structure, metric):
    y_true, a, b, _ = read(structure)
    slow = partial(SKLEARN[metric], zero_division=0.0)
    # A column for each swap.
    both = [np.column_stack(one) for one in zip(*swaps(a, b, np.arange(y_true.size)), strict=True)]
    labels = np.tile(y_true[:, None], both[0].shape[1])
    values = np.subtract(*(slow(labels, columns, average=None) for columns in both))
    for alternative in ALTERNATIVES:
        result = randomization_test(y_true, a, b, metric=metric, alternative=alternative)
        assert_allclose(result.statistic_a, slow(y_true, a), rtol=1e-14)
        assert_allclose(result.statistic_b, slow(y_true, b), rtol=1e-14)
        assert_allclose(result.difference, values[0], rtol=1e-12)
        assert_allclose(result.pvalue, share(values, values[0], alternative, 1e-12), rtol=1e-12)
        assert result.method == "analytic"
        assert result.n_resamples is None
        assert result.n_discordant == np.sum(a != b)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("clustered", [False, True])
def test_exact_is_enumeration(structure, metric, clustered):
    y_true, a, b, clusters = read(structure)
    units = clusters if clustered else np.arange(y_true.size)
    values = differences_after_swaps(partial(exact_metric, metric), y_true, a, b, units)
    for alternative in ALTERNATIVES:
        result = randomization_test(
            y_true,
            a,
            b,
            metric=metric,
            alternative=alternative,
            clusters=clusters if clustered else None,
        )
        assert_allclose(result.pvalue, share(values, values[0], alternative), rtol=1e-12)
        assert_allclose(result.log10_pvalue, math.log10(result.pvalue), atol=1e-12)


labels = st.lists(st.integers(0, 1), min_size=7, max_size=7).map(np.array)


@given(labels, labels, labels, st.lists(st.integers(0, 3), min_size=7, max_size=7).map(np.array))
def test_exact_is_enumeration_for_any_labels(y_true, a, b, clusters):
    for metric, units in itertools.product(METRICS, (np.arange(7), clusters)):
        slow = partial(exact_metric, metric)
        values = differences_after_swaps(slow, y_true, a, b, units)
        for alternative in ALTERNATIVES:
            result = randomization_test(
                y_true, a, b, metric=metric, alternative=alternative, clusters=units
            )
            assert_allclose(result.pvalue, share(values, values[0], alternative), rtol=1e-12)
            alone = randomization_test(
                y_true, a, b, metric=slow, alternative=alternative, clusters=units
            )
            assert alone.method == "analytic"
            assert_allclose(alone.pvalue, result.pvalue, rtol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_pvalues_of_all_swaps_are_their_ranks(metric):
    """An exact test: the share of swaps with a p-value of at most p is p."""
    y_true, a, b, _ = read("mixed")
    differs = np.flatnonzero(a != b)
    found = []
    for swapped in itertools.product([False, True], repeat=differs.size):
        moved = differs[np.array(swapped)]
        own, other = a.copy(), b.copy()
        own[moved], other[moved] = b[moved], a[moved]
        found.append(randomization_test(y_true, own, other, metric=metric).pvalue)
    for pvalue in set(found):
        assert_allclose(np.mean(np.array(found) <= pvalue + 1e-12), pvalue, rtol=1e-12)


def predictions(m, n, common, only_a, only_b):
    """Labels and outputs with numbers of (true, false) positives: common, only of a, only of b."""
    y_true = np.arange(n) < m
    a, b = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    for first, place in ((0, 0), (m, 1)):
        own = [part[place] for part in (common, only_a, only_b)]
        ends = first + np.cumsum([0, *own])
        a[ends[0] : ends[2]] = True
        b[ends[0] : ends[1]] = b[ends[2] : ends[3]] = True
    return y_true, a, b


def exact_by_counts(metric, m, common, only_a, only_b):
    """Two-sided p-value as a fraction, by all numbers of (true, false) positives that a gets."""
    d1, d0 = only_a[0] + only_b[0], only_a[1] + only_b[1]

    def value(x, z):
        tp, fp = common[0] + x, common[1] + z
        if metric == "f1":
            return Fraction(2 * tp, m + tp + fp)
        bottom = m if metric == "recall" else tp + fp
        return Fraction(tp, bottom) if bottom else Fraction(0)

    observed = abs(value(*only_a) - value(*only_b))
    ways = sum(
        math.comb(d1, x) * math.comb(d0, z)
        for x in range(d1 + 1)
        for z in range(d0 + 1)
        if abs(value(x, z) - value(d1 - x, d0 - z)) >= observed
    )
    return Fraction(ways, 2 ** (d1 + d0))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("m", "common", "only_a", "only_b"),
    [
        (100, (40, 10), (20, 15), (9, 30)),
        (100, (0, 0), (60, 0), (40, 50)),
        (120, (10, 10), (100, 0), (0, 50)),
        (70, (0, 30), (1, 40), (60, 35)),
        # Products of four counts do not fit 64 bits.
        (200_000, (150_000, 100_000), (4, 3), (2, 1)),
        (200_000, (150_000, 99_999), (6, 5), (4, 2)),
    ],
)
def test_exact_counts(metric, m, common, only_a, only_b):
    n = m + common[1] + only_a[1] + only_b[1] + 50
    result = randomization_test(*predictions(m, n, common, only_a, only_b), metric=metric)
    exact = exact_by_counts(metric, m, common, only_a, only_b)
    assert_allclose(result.pvalue, float(exact), rtol=1e-11)


@pytest.mark.parametrize("metric", METRICS)
def test_differences_that_are_equal_as_floats_are_distinguished(metric):
    score = _Ratio(metric, 300_001)
    swaps = _Swaps(np.array([1, 0]), np.array([0, 1]), np.array([3, 2]))
    top, bottom = (int(part) for part in score.difference((200_003, 99_999), (200_000, 100_001)))
    for excess in (-1, 0, 1):
        # The threshold differs from the value of x = 3, z = 0 after its 17th digit.
        reached = top * 10**14 + excess, bottom * 10**14
        differences = _Differences(score, swaps, (200_000, 99_999), *reached, False)
        assert differences._is_large(np.array([3]), np.array([0])) == (excess <= 0)
        assert not differences._is_large(np.array([2]), np.array([0]))


@pytest.mark.parametrize("metric", [*METRICS, f1_of_counts])
def test_random_swaps_of_nothing(metric):
    y_true, a, b, _ = read("the same")
    for alternative in ALTERNATIVES:
        options = {"method": "permutation", "alternative": alternative, "n_resamples": 10}
        assert randomization_test(y_true, a, b, metric=metric, **options).pvalue == 1.0


def test_far_tails_have_a_logarithm():
    result = randomization_test(*predictions(3000, 3100, (0, 0), (3000, 0), (0, 0)))
    assert result.pvalue == 0.0
    assert_allclose(result.log10_pvalue, (1 - 3000) * math.log10(2), rtol=1e-13)
    assert "pvalue=1.6e-903" in repr(result)
    assert result.summary().endswith("two-sided p = 1.6e-903.")
    exact = exact_by_counts("f1", 1100, (0, 20), (1080, 3), (20, 8))
    result = randomization_test(*predictions(1100, 1200, (0, 20), (1080, 3), (20, 8)))
    log10_exact = math.log10(exact.numerator) - math.log10(exact.denominator)
    assert_allclose(result.log10_pvalue, log10_exact, rtol=1e-11)


def test_clusters_of_one_sample_are_no_clusters():
    y_true, a, b, _ = read("mixed")
    for metric in METRICS:
        clustered = randomization_test(y_true, a, b, metric=metric, clusters=range(12))
        assert clustered.pvalue == randomization_test(y_true, a, b, metric=metric).pvalue


def test_clusters_of_copies_count_once():
    y_true, a, b, _ = read("mixed")
    once = randomization_test(y_true, a, b)
    copied = (np.repeat(values, 5) for values in (y_true, a, b))
    result = randomization_test(*copied, clusters=np.repeat(np.arange(12), 5))
    assert_allclose(result.pvalue, once.pvalue, rtol=1e-12)


# Random swaps


@pytest.mark.parametrize("metric", [*METRICS, "callable"])
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_random_swaps_agree_with_exact(metric, clustered, alternative):
    y_true, a, b, clusters = read("mixed")
    options = {"alternative": alternative, "clusters": clusters if clustered else None}
    n_draws = 1000 if metric == "callable" else 40_000
    name = "f1" if metric == "callable" else metric
    score = partial(exact_metric, "f1") if metric == "callable" else metric
    exact = randomization_test(y_true, a, b, metric=name, **options).pvalue
    result = randomization_test(
        y_true, a, b, metric=score, method="permutation", n_resamples=n_draws, **options
    )
    assert result.method == "permutation"
    assert result.n_resamples == n_draws
    assert abs(result.pvalue - exact) < 4 * math.sqrt(exact / n_draws) + 1 / n_draws
    # (c + 1)/(B + 1) for a whole number c.
    assert_allclose(result.pvalue * (n_draws + 1), round(result.pvalue * (n_draws + 1)))


def test_clusters_too_many_to_count_are_drawn():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(3000), 4)
    y_true = rng.random(12_000) < 0.3
    a, b = (y_true ^ (rng.random(12_000) < rate) for rate in (0.2, 0.21))
    result = randomization_test(y_true, a, b, clusters=clusters)
    assert result.method == "permutation"
    # The central limit theorem, for accuracy-like sums of F1's first-order terms by cluster.
    f1 = 0.5 * (result.statistic_a + result.statistic_b)
    total = 0.5 * (a.sum() + b.sum()) + y_true.sum()
    terms = np.bincount(clusters, (a.astype(int) - b) * (2 * y_true - f1)) / total
    z = result.difference / math.sqrt(np.sum(terms**2))
    assert abs(result.pvalue - 2 * stats.norm.sf(abs(z))) < 0.03
    with pytest.raises(ValueError, match=r"method='analytic' takes too long for 2\d* clusters"):
        randomization_test(y_true, a, b, clusters=clusters, method="analytic")


@pytest.mark.parametrize("metric", ["f1", f1_of_counts])
def test_result_does_not_depend_on_jobs(metric):
    y_true, a, b, _ = read("mixed")
    options = {"metric": metric, "method": "permutation", "alternative": "greater"}
    run = partial(randomization_test, y_true, a, b, n_resamples=250, **options)
    alone = run().pvalue
    with joblib.parallel_config(backend="threading"):
        assert run(n_jobs=3).pvalue == alone
    assert len({run(random_state=seed).pvalue for seed in range(4)}) > 1


# Matched-pair tests of recall


def found_in_pairs(y_true, a, b, clusters):
    """Positives found by a and by b in each pair."""
    positive = y_true == 1
    _, codes = np.unique(clusters[positive], return_inverse=True)
    return np.bincount(codes, a[positive]), np.bincount(codes, b[positive])


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_matched_pairs_are_those_of_scipy(clustered, alternative):
    rng = np.random.default_rng(3)
    y_true = (rng.random(300) < 0.6).astype(int)
    a, b = (np.where(rng.random(300) < rate, y_true, 1 - y_true) for rate in (0.9, 0.75))
    clusters = np.sort(rng.integers(0, 40, 300)) if clustered else np.arange(300)
    by_a, by_b = found_in_pairs(y_true, a, b, clusters)
    run = partial(
        randomization_test,
        y_true,
        a,
        b,
        metric="recall",
        alternative=alternative,
        clusters=clusters,
    )
    expected = stats.ttest_rel(by_a, by_b, alternative=alternative).pvalue
    assert_allclose(run(method="t").pvalue, expected, rtol=1e-10)
    wins, losses = int(np.sum(by_a > by_b)), int(np.sum(by_a < by_b))
    expected = stats.binomtest(wins, wins + losses, alternative=alternative).pvalue
    assert_allclose(run(method="sign").pvalue, expected, rtol=1e-10)
    if not clustered:
        # Without ties in size a pair counts as much as any other.
        assert_allclose(run(method="wilcoxon").pvalue, expected, rtol=1e-10)
        assert_allclose(run(method="analytic").pvalue, expected, rtol=1e-10)


def of_differences(differences):
    """Labels, outputs and clusters in which the numbers of found positives differ like this."""
    sizes = np.abs(differences)
    clusters = np.repeat(np.arange(sizes.size), sizes)
    by_a = (np.repeat(differences, sizes) > 0).astype(int)
    return np.ones_like(by_a), by_a, 1 - by_a, clusters


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_signed_ranks_without_ties_are_those_of_scipy(alternative):
    differences = np.array([1, -2, 3, 4, 5, -6, 7, 8, 9, 10, -11, 12])
    y_true, a, b, clusters = of_differences(differences)
    result = randomization_test(
        y_true,
        a,
        b,
        metric="recall",
        clusters=clusters,
        method="wilcoxon",
        alternative=alternative,
    )
    expected = stats.wilcoxon(differences, alternative=alternative, method="exact").pvalue
    assert_allclose(result.pvalue, expected, rtol=1e-12)


def test_signed_ranks_with_ties_are_enumerated():
    differences = np.array([1, 1, -1, 2, 2, -3, 3, 3, 4, -4])
    y_true, a, b, clusters = of_differences(differences)
    ranks = stats.rankdata(np.abs(differences))
    signs = np.array(list(itertools.product([0, 1], repeat=differences.size)))
    upper = np.mean(signs @ ranks >= ranks[differences > 0].sum())
    run = partial(
        randomization_test, y_true, a, b, metric="recall", clusters=clusters, method="wilcoxon"
    )
    assert_allclose(run(alternative="greater").pvalue, upper, rtol=1e-12)
    assert_allclose(run().pvalue, min(1.0, 2 * upper), rtol=1e-12)


def test_many_signed_ranks_are_normal():
    rng = np.random.default_rng(0)
    differences = rng.integers(1, 30, 1200) * np.where(rng.random(1200) < 0.52, 1, -1)
    y_true, a, b, clusters = of_differences(differences)
    result = randomization_test(y_true, a, b, metric="recall", clusters=clusters, method="wilcoxon")
    n = differences.size
    ranks = stats.rankdata(np.abs(differences))
    _, ties = np.unique(np.abs(differences), return_counts=True)
    variance = n * (n + 1) * (2 * n + 1) / 24 - np.sum(ties**3 - ties) / 48
    z = (ranks[differences > 0].sum() - n * (n + 1) / 4) / math.sqrt(variance)
    assert_allclose(result.pvalue, 2 * stats.norm.sf(abs(z)), rtol=1e-10)


def test_matched_pairs_without_a_difference():
    y_true, a, b, _ = read("the same")
    for method in ("t", "sign", "wilcoxon"):
        assert randomization_test(y_true, a, b, metric="recall", method=method).pvalue == 1.0


# Invariances and custom metrics


@pytest.mark.parametrize("metric", [*METRICS, partial(fbeta_score, beta=2.0)])
def test_systems_may_change_places(metric):
    y_true, a, b, clusters = read("mixed")
    run = partial(randomization_test, y_true, metric=metric, clusters=clusters)
    assert run(a, b).difference == -run(b, a).difference
    for one, other in (("two-sided", "two-sided"), ("greater", "less"), ("less", "greater")):
        found = run(a, b, alternative=one).pvalue
        assert_allclose(found, run(b, a, alternative=other).pvalue, rtol=1e-13)


def test_order_of_samples_and_names_of_labels_do_not_matter():
    y_true, a, b, clusters = read("mixed")
    expected = randomization_test(y_true, a, b, clusters=clusters)
    order = np.random.default_rng(0).permutation(12)
    result = randomization_test(y_true[order], a[order], b[order], clusters=clusters[order])
    assert result.pvalue == expected.pvalue
    words = [np.where(values == 1, "spam", "ham") for values in (y_true, a, b)]
    for convert in (list, pd.Series, pl.Series, np.asarray, partial(pd.Series, dtype="category")):
        result = randomization_test(*map(convert, words), pos_label="spam", clusters=clusters)
        assert result.pvalue == expected.pvalue
    result = randomization_test(y_true == 1, a.astype(float), b.tolist(), clusters=list(clusters))
    assert result.pvalue == expected.pvalue
    assert randomization_test(
        1 - y_true, 1 - a, 1 - b, pos_label=0, clusters=clusters
    ).to_dict() == (expected.to_dict())


def test_a_callable_takes_labels_as_they_are():
    y_true, a, b = ["x", "y", "z", "x", "y"], ["x", "y", "z", "x", "x"], ["y", "x", "z", "z", "y"]
    result = randomization_test(y_true, a, b, metric=accuracy_score)
    assert (result.statistic_a, result.statistic_b) == (0.8, 0.4)
    assert result.metric == "accuracy_score"
    # Swaps of four samples, of which a has three right and b has one: |3 - 1| or more in 10 of 16.
    assert_allclose(result.pvalue, 10 / 16)


def test_exact_of_a_callable_is_requested_beyond_the_number_of_draws():
    y_true, a, b, _ = read("nothing in common")
    run = partial(randomization_test, y_true, a, b, metric=accuracy_score, n_resamples=20)
    assert run().method == "permutation"
    assert run(method="analytic").method == "analytic"
    assert run(n_resamples=1 << 6).method == "analytic"


# Undefined metrics


@pytest.mark.parametrize(
    ("structure", "metric", "message"),
    [
        ("nothing predicted by b", "precision", "precision of y_pred_b is undefined because no"),
        ("no positives", "recall", "recall of y_pred_a and y_pred_b is undefined because y_true"),
    ],
)
def test_undefined_metrics_warn_once_and_are_0(structure, metric, message):
    y_true, a, b, _ = read(structure)
    with pytest.warns(UndefinedMetricWarning, match=message) as caught:
        result = randomization_test(y_true, a, b, metric=metric)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert result.statistic_b == 0.0


def test_a_callable_warns_of_the_outputs_as_they_are_alone():
    y_true, a, b, _ = read("nothing predicted by b")
    with pytest.warns(UndefinedMetricWarning) as caught:
        randomization_test(y_true, a, b, metric=precision_score)
    assert len(caught) == 1
    y_true, a, b, _ = read("nothing in common")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        randomization_test(y_true, a, b, metric=precision_score)


# Results and messages


def test_result_as_text():
    y_true, a, b, _ = read("mixed")
    result = randomization_test(y_true, a, b, alternative="less")
    assert result.summary() == (
        "Exact randomization test, 12 items of which 7 differ in output: F1 0.667 against 0.500, "
        f"difference 0.167, one-sided p = {result.pvalue:.4f}."
    )
    drawn = randomization_test(y_true, a, b, method="permutation", n_resamples=99)
    assert drawn.summary().startswith("Approximate randomization test, 99 swaps, 12 items")
    assert repr(drawn).endswith("n_discordant=7, n_resamples=99)")


def infinite(y_true, y_pred):
    return math.inf


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"metric": "auc"},
            ValueError,
            "metric must be one of 'f1', 'precision', 'recall', or a c",
        ),
        ({"method": "mcnemar"}, ValueError, "method must be one of 'auto', 'analytic', 'permut"),
        (
            {"alternative": "both"},
            ValueError,
            "alternative must be one of 'greater', 'less'",
        ),
        (
            {"method": "t"},
            ValueError,
            "method='t' is a matched-pair test of recall; got metric='f1'",
        ),
        (
            {"method": "sign", "metric": accuracy_score},
            ValueError,
            "method='sign' is a matched-pair test of recall; got metric=accuracy_score",
        ),
        ({"n_resamples": 0}, ValueError, "n_resamples must be at least 1; got 0"),
        (
            {"clusters": [1, 2]},
            ValueError,
            "clusters must contain the cluster of each of the 3 item",
        ),
        ({"y_pred_a": [0, 1]}, ValueError, "y_true, y_pred_a and y_pred_b must have the same len"),
        ({"y_pred_b": ["0", "1", "1"]}, TypeError, "one kind; got numbers, numbers, strings: con"),
        ({"y_pred_b": [0.3, 0.1, 1]}, ValueError, "y_pred_b must hold class labels; got the conti"),
        (
            {"y_pred_b": [0, 1, 2]},
            ValueError,
            r"y_true and y_pred_a and y_pred_b hold 3 different labels \(0, 1, 2\), but must hold",
        ),
        ({"pos_label": 5}, ValueError, "pos_label=5 is not a label"),
        ({"metric": infinite}, ValueError, "metric must return finite numbers; infinite returned"),
        (
            {"method": "t", "metric": "recall", "y_pred_a": [1, 1, 0], "y_pred_b": [0, 0, 0]},
            ValueError,
            "method='t' needs differences that vary, but all 2 are 1: pass method='sign'",
        ),
    ],
)
def test_messages(arguments, error, message):
    given = {"y_true": [1, 1, 0], "y_pred_a": [1, 0, 0], "y_pred_b": [0, 1, 1]} | arguments
    with pytest.raises(error, match=message):
        randomization_test(**given)


def test_a_callable_lists_no_more_than_a_million_swaps():
    y_true = np.ones(21, dtype=int)
    with pytest.raises(ValueError, match="is limited to 20 items or clusters"):
        randomization_test(y_true, y_true, 1 - y_true, metric=accuracy_score, method="analytic")
