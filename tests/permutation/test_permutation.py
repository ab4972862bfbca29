"""Restricted permutation, sequential stopping and Monte Carlo error of permutation p-values.

Distributions are compared with all labellings, enumerated from the definition: clusters of one size
and one stratum exchange their labels, and scikit-learn computes the value of each labelling.
"""

import functools
import itertools
import math
import pickle
import tracemalloc
import warnings
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pytest
from by_name import (
    NAMED,
    average_precision_at_k_test,
    bedroc_test,
    dcg_test,
    enrichment_at_k_test,
    precision_at_k_test,
    rank_statistic_test,
    reciprocal_rank_test,
    rie_test,
)
from combinations import checkered
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.metrics import average_precision_score, dcg_score, roc_auc_score
from sklearn.preprocessing import label_binarize

from sklearn_rankinf import (
    Bedroc,
    EnrichmentAtK,
    Ranking,
    RankStatistic,
    ReciprocalRank,
    RobustInitialEnhancement,
    average_precision_at_k_score,
    average_precision_test,
    metric_null_distribution,
    precision_at_k_score,
    recall_at_k_score,
    recall_at_k_test,
)
from sklearn_rankinf._null.distribution import _DISTRIBUTIONS
from sklearn_rankinf._permutation import draws as sampling
from sklearn_rankinf._permutation.draws import uniform_hit_ranks
from sklearn_rankinf._permutation.restrictions import Exchange, ExchangedHits

N_PERMUTATIONS = 9999
# Limit of deviations from enumeration, in standard errors: with some thousands of comparisons in
# this module, one correct normal deviation exceeds it in one run of fifty.
Z = 4.5


# Slow definitions


def classes(n_samples, strata, clusters):
    """Clusters, as lists of items, by their stratum and size."""
    members = defaultdict(list)
    for sample in range(n_samples):
        members[sample if clusters is None else clusters[sample]].append(sample)
    by_class = defaultdict(list)
    for samples in members.values():
        stratum = None if strata is None else strata[samples[0]]
        by_class[stratum, len(samples)].append(samples)
    return list(by_class.values())


def row_orders(n_samples, strata, clusters):
    """Every way to fill the items with the rows of others of their class."""
    options = [list(itertools.permutations(own)) for own in classes(n_samples, strata, clusters)]
    originals = classes(n_samples, strata, clusters)
    for chosen in itertools.product(*options):
        order = np.empty(n_samples, dtype=int)
        for own, filled in zip(originals, chosen, strict=True):
            for to, from_ in zip(own, filled, strict=True):
                order[to] = from_
        yield order


def labellings(y_true, strata, clusters):
    """Every choice, in each class, of as many clusters as are positive."""
    y_true = np.asarray(y_true)
    options = []
    for own in classes(len(y_true), strata, clusters):
        n_positive = sum(int(y_true[samples[0]]) for samples in own)
        options.append(list(itertools.combinations(own, n_positive)))
    for chosen in itertools.product(*options):
        labels = np.zeros(len(y_true), dtype=int)
        for samples in itertools.chain(*chosen):
            labels[samples] = 1
        yield labels


def tail(values, x, alternative):
    """Shares of values at least as extreme as each x."""
    values, x = np.asarray(values), np.asarray(x)[:, None]
    if alternative == "greater":
        return np.mean(values >= x - 1e-12, axis=1)
    return np.mean(values <= x + 1e-12, axis=1)


def assert_same_distribution(null, values, n_resamples=N_PERMUTATIONS):
    x = np.unique(np.round(values, 10))[:: max(1, np.unique(values).size // 30)]
    for alternative, shift in (("greater", -1e-9), ("less", 1e-9)):
        # Halfway between values, so that rounding decides nothing.
        p = tail(values, x + shift, alternative)
        error = np.sqrt(p * (1 - p) / n_resamples)
        found = null.pvalue(x + shift, alternative)
        assert np.all(np.abs(found - p) <= Z * error + 2 / n_resamples)


def quiet(test, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return test(*args, **options)


def problem(n_scores, seed=0):
    """Twelve items in two strata with clusters of one, two and three."""
    rng = np.random.default_rng(seed)
    sizes = {"a": [1, 1, 1, 2, 2], "b": [1, 1, 3]}
    strata, clusters, labels = [], [], []
    for stratum, own in sizes.items():
        for number, size in enumerate(own):
            strata += [stratum] * size
            clusters += [(stratum, number)] * size
            labels += [number % 2] * size
    order = rng.permutation(len(labels))
    scores = rng.integers(n_scores, size=len(labels)) / 4
    return (
        np.array(labels)[order],
        scores,
        [strata[i] for i in order],
        [clusters[i] for i in order],
    )


RESTRICTIONS = ("strata", "clusters", "both")


def restricted(restriction, n_scores, seed=0):
    y_true, y_score, strata, clusters = problem(n_scores, seed)
    options = {
        "strata": None if restriction == "clusters" else strata,
        "clusters": None if restriction == "strata" else clusters,
    }
    return y_true, y_score, options


# The distribution is that of all labellings


@pytest.mark.parametrize("restriction", RESTRICTIONS)
@pytest.mark.parametrize("n_scores", [3, 1000])
def test_average_precision(restriction, n_scores):
    y_true, y_score, options = restricted(restriction, n_scores)
    values = [average_precision_score(y, y_score) for y in labellings(y_true, **options)]
    result = quiet(average_precision_test, y_true, y_score, **options)
    assert result.statistic == pytest.approx(average_precision_score(y_true, y_score), rel=1e-12)
    assert result.method == result.null_distribution.method == "permutation"
    assert_same_distribution(result.null_distribution, values)
    expected = tail(values, [result.statistic], "greater")[0]
    error = math.sqrt(expected * (1 - expected) / N_PERMUTATIONS)
    assert abs(result.pvalue - expected) <= Z * error + 1e-4
    # Moments are those of the resamples.
    null = result.null_distribution
    assert null.mean() == pytest.approx(np.mean(values), abs=Z * np.std(values) / 99)
    assert null.std() == pytest.approx(np.std(values), rel=0.08)
    assert result.zscore == (result.statistic - null.mean()) / null.std()


@pytest.mark.parametrize("restriction", RESTRICTIONS)
@pytest.mark.parametrize("normalize", ["min", "positives"])
def test_average_precision_at_k(restriction, normalize):
    y_true, y_score, options = restricted(restriction, 4, seed=1)
    at_k = {"k": 5, "normalize": normalize}
    values = [
        average_precision_at_k_score(y, y_score, **at_k) for y in labellings(y_true, **options)
    ]
    result = quiet(average_precision_at_k_test, y_true, y_score, **at_k, **options)
    assert_same_distribution(result.null_distribution, values)
    best = min(y_true.sum(), 5) / (min(y_true.sum(), 5) if normalize == "min" else y_true.sum())
    mean = result.null_distribution.mean()
    assert result.adjusted_statistic == pytest.approx(
        (result.statistic - mean) / (best - mean), rel=1e-12
    )


@pytest.mark.parametrize("restriction", RESTRICTIONS)
@pytest.mark.parametrize(
    ("follow", "method"), [("label", "auto"), ("score", "permutation_of_labels")]
)
def test_weighted(restriction, follow, method):
    y_true = np.array([1, 1, 0, 0, 1, 0, 0, 1])
    y_score = np.array([3, 1, 2, 2, 0, 5, 1, 4]) / 4
    options = {
        "strata": None if restriction == "clusters" else list("aaaabbcc"),
        "clusters": None if restriction == "strata" else [0, 0, 1, 1, 2, 3, 4, 5],
    }
    weights = np.random.default_rng(3).random(len(y_true)) + 0.1
    values = [
        average_precision_score(
            y_true[order],
            y_score,
            sample_weight=weights[order] if follow == "label" else weights,
        )
        for order in row_orders(len(y_true), **options)
    ]
    result = quiet(
        average_precision_test,
        y_true,
        y_score,
        sample_weight=weights,
        method=method,
        **options,
    )
    expected = average_precision_score(y_true, y_score, sample_weight=weights)
    assert result.statistic == pytest.approx(expected, rel=1e-12)
    assert_same_distribution(result.null_distribution, values)


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@pytest.mark.parametrize(
    ("restriction", "weighted"), [("strata", True), ("clusters", True), ("both", False)]
)
def test_averages_over_classes(average, restriction, weighted):
    rng = np.random.default_rng(4)
    y_true = np.array([0, 0, 1, 1, 2, 0, 1, 2])
    scores = rng.integers(5, size=(8, 3)) / 4
    options = {
        "strata": None if restriction == "clusters" else list("aaaabbcc"),
        "clusters": None if restriction == "strata" else [0, 0, 1, 1, 2, 3, 4, 5],
    }
    weights = rng.random(8) + 0.1 if weighted else None
    labels = label_binarize(y_true, classes=[0, 1, 2])
    values = [
        average_precision_score(
            labels[order],
            scores,
            average=average,
            sample_weight=None if weights is None else weights[order],
        )
        for order in row_orders(8, **options)
    ]
    result = quiet(
        average_precision_test, y_true, scores, average=average, sample_weight=weights, **options
    )
    assert_same_distribution(result.null_distribution, values)
    mean = result.null_distribution.mean()
    assert mean == pytest.approx(np.mean(values), abs=Z * np.std(values) / 99)


def test_each_class_by_itself():
    rng = np.random.default_rng(5)
    y_true, scores = np.arange(30) % 3, rng.normal(size=(30, 3))
    strata = np.arange(30) // 15
    results = average_precision_test(y_true, scores, strata=strata)
    for column in range(3):
        one = average_precision_test(y_true == column, scores[:, column], strata=strata)
        assert results[column].to_dict() == one.to_dict()


@dataclass(frozen=True)
class Zipf(RankStatistic):
    """One over the rank."""

    def weights(self, ranks, n_samples, n_positives):
        return 1.0 / ranks


def zipf_score(y_true, y_score):
    order = np.argsort(-y_score)
    return float(np.sum(y_true[order] / np.arange(1, len(y_true) + 1)))


OTHERS = {
    "roc_auc": (NAMED["roc_auc"].test, roc_auc_score, {}),
    "dcg": (dcg_test, lambda y, s: dcg_score([y], [s]), {}),
    "dcg at 4": (dcg_test, lambda y, s, k: dcg_score([y], [s], k=k), {"k": 4}),
    "bedroc": (bedroc_test, Bedroc(), {}),
    "rie": (rie_test, RobustInitialEnhancement(), {}),
    "reciprocal_rank": (reciprocal_rank_test, ReciprocalRank(), {}),
    "recall": (recall_at_k_test, recall_at_k_score, {"k": 4}),
    "precision": (precision_at_k_test, precision_at_k_score, {"k": 4}),
    "enrichment": (enrichment_at_k_test, lambda y, s, k: EnrichmentAtK(k)(y, s), {"k": 4}),
}


@pytest.mark.numeric
@pytest.mark.parametrize(("name", "restriction"), checkered(OTHERS, RESTRICTIONS))
@pytest.mark.parametrize(
    ("n_scores", "flipped"),
    [(3, False), (1000, True), pytest.param(3, True, marks=pytest.mark.long)],
)
def test_other_metrics(name, restriction, n_scores, flipped):
    test, score, arguments = OTHERS[name]
    y_true, y_score, options = restricted(restriction, n_scores, seed=3)
    if flipped:  # more positives than negatives
        y_true = 1 - y_true
    values = [score(y, y_score, **arguments) for y in labellings(y_true, **options)]
    result = quiet(test, y_true, y_score, **arguments, **options)
    assert result.method == "permutation"
    assert result.statistic == pytest.approx(score(y_true, y_score, **arguments), rel=1e-12)
    assert result.n_positives == y_true.sum()
    assert_same_distribution(result.null_distribution, values)
    # The observed labelling is one of those drawn: its value must count as equal.
    below = quiet(test, y_true, y_score, alternative="less", **arguments, **options)
    for alternative, found in (("greater", result), ("less", below)):
        p = tail(values, [result.statistic], alternative)[0]
        error = math.sqrt(p * (1 - p) / N_PERMUTATIONS)
        assert abs(found.pvalue - p) <= Z * error + 2 / N_PERMUTATIONS


def test_custom_metric():
    y_true, y_score, options = restricted("strata", 10**6, seed=4)
    values = [zipf_score(y, y_score) for y in labellings(y_true, **options)]
    result = quiet(rank_statistic_test, y_true, y_score, statistic=Zipf(), **options)
    assert_same_distribution(result.null_distribution, values)


@pytest.mark.parametrize("n_each", [300, 1000, 3000])
@pytest.mark.parametrize("swapped", [0, 2])
def test_equal_values_count_although_rounding_differs(n_each, swapped):
    # Nearly all positives are behind all negatives, and labels move in two pairs in the middle.
    # Of 4 labellings 1 has one pair in right order, 2 have two and 1 has three: areas far smaller
    # than the terms that they are sums of.
    y_true = np.repeat([0, 1], n_each)
    middle = np.arange(n_each - 2, n_each + 2)
    y_true[middle] = [0, 1, 0, 1]
    y_true[middle[swapped : swapped + 2]] = [1, 0]
    strata = np.full(2 * n_each, "fixed", dtype=object)
    strata[: n_each - 2] = "negatives"
    strata[middle] = ["a", "a", "b", "b"]
    for alternative in ("greater", "less"):
        result = quiet(
            NAMED["roc_auc"].test,
            y_true,
            -np.arange(2.0 * n_each),
            strata=strata,
            alternative=alternative,
            n_resamples=999,
        )
        assert result.statistic == pytest.approx(2 / n_each**2, rel=1e-6, abs=0.0)
        assert abs(result.pvalue - 0.75) <= Z * math.sqrt(0.75 * 0.25 / 999) + 2e-3


# Labels of strata and clusters, and errors


@pytest.mark.parametrize(
    "container",
    [list, tuple, np.array, pd.Series, pd.Categorical, pl.Series, iter],
    ids=lambda c: c.__name__,
)
def test_containers_of_labels(container):
    y_true, y_score, _, _ = problem(1000)
    strata = ["x", "y", "x", "y", "x", "y", "y", "x", "x", "y", "x", "x"]
    expected = quiet(average_precision_test, y_true, y_score, strata=strata).pvalue
    found = quiet(average_precision_test, y_true, y_score, strata=container(strata))
    assert found.pvalue == expected
    numbers = np.array(strata) == "x"
    assert quiet(average_precision_test, y_true, y_score, strata=numbers).pvalue == expected


Y, SCORES = [1, 0, 1, 0], [4, 3, 2, 1]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"strata": [1, 2, 3]},
            ValueError,
            "strata must contain the stratum of each of the 4 items; it has 3 entries.",
        ),
        (
            {"clusters": [1, None, 2, 2]},
            ValueError,
            "clusters lacks a cluster in row 1, where it is None: pass a cluster for every item",
        ),
        (
            {"strata": [1.0, 2.0, float("nan"), 2.0]},
            ValueError,
            "strata lacks a stratum in row 2, where it is nan",
        ),
        (
            {"strata": ["a", pd.NA, "b", "b"]},
            ValueError,
            "strata lacks a stratum in row 1, where it is <NA>",
        ),
        (
            {"strata": [[1], [2], [1], [2]]},
            TypeError,
            r"strata must be hashable; got \[1\] of type list in row 0: use a tuple",
        ),
        ({"strata": "abab"}, TypeError, "strata must hold the stratum of each item; got 'abab'"),
        (
            {"clusters": 3},
            TypeError,
            "clusters must hold the cluster of each item; got 3 of type",
        ),
        (
            {"clusters": np.array(3)},
            TypeError,
            r"clusters must hold the cluster of each item; got array\(3\) of type ndarray.",
        ),
        (
            {"clusters": ["p", "p", "q", "r"]},
            ValueError,
            "The labels in cluster 'p' differ, .* pass the clusters as strata",
        ),
        (
            {"clusters": ["p", "q", "p", "r"], "strata": ["u", "u", "v", "v"]},
            ValueError,
            "Cluster 'p' lies in several strata, but a cluster must lie in one;",
        ),
        *(
            (
                {"strata": [1, 1, 1, 1], "method": method},
                ValueError,
                f"method='{method}' is not available for permutation within strata, of whole "
                "clusters or along a series, which has no null distribution in closed form: use",
            )
            for method in ("analytic", "normal", "pearson3")
        ),
    ],
)
@pytest.mark.parametrize("test", [average_precision_test, NAMED["roc_auc"].test])
def test_errors_and_refusals(test, options, error, message):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.raises(error, match=message):
            test(Y, SCORES, **options)


def test_methods_of_others_are_refused_too():
    restriction = {"clusters": [1, 2, 3, 4]}
    with pytest.raises(ValueError, match="method='zhang_su' is not available for permutation"):
        quiet(average_precision_test, Y, SCORES, method="zhang_su", **restriction)
    with pytest.raises(ValueError, match="method='binomial' is not available for permutation"):
        quiet(recall_at_k_test, Y, SCORES, k=2, method="binomial", **restriction)
    with pytest.raises(ValueError, match="'pearson3' for ROC AUC; got 'zhang_su'"):
        quiet(NAMED["roc_auc"].test, Y, SCORES, method="zhang_su", **restriction)
    with pytest.raises(ValueError, match=r"method must be one of .*; got 'exact'"):
        quiet(average_precision_test, Y, SCORES, method="exact", **restriction)


@pytest.mark.parametrize("name", ["strata", "clusters"])
@pytest.mark.parametrize("test", [average_precision_test, NAMED["roc_auc"].test])
def test_a_ranking_has_no_samples_to_name(test, name):
    ranking = Ranking.from_scores(Y, SCORES)
    with pytest.raises(
        TypeError, match=f"{name} needs y_true and y_score, because a Ranking contains"
    ):
        test(ranking, **{name: [1, 1, 2, 2]})


# Few labellings


def labelling_warning(*args, test=average_precision_test, **options):
    with pytest.warns(UserWarning, match="labelling") as caught:
        result = test(*args, **options)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    return result, str(caught[0].message)


def test_few_labellings_of_strata():
    y_true, y_score, strata = [1, 0, 0, 1, 0, 0, 0], np.arange(7.0), list("aaabbcc")
    _, message = labelling_warning(y_true, y_score, strata=strata)
    assert message == (
        "strata leave 6 different labellings, so that no p-value can be below 0.17: 2 of 7 items "
        "keep their label, because all others in their stratum have the same label."
    )
    assert len({tuple(y) for y in labellings(y_true, strata, None)}) == 6


def test_few_labellings_of_clusters():
    y_true, y_score = [1, 1, 0, 0, 0, 1], np.arange(6.0)
    _, message = labelling_warning(
        y_true, y_score, clusters=[0, 0, 1, 2, 2, 3], test=NAMED["roc_auc"].test
    )
    assert message == (
        "clusters leave 4 different labellings, so that no p-value can be below 0.25."
    )
    result, message = labelling_warning(y_true, y_score, clusters=[0, 0, 1, 1, 1, 2])
    assert message == (
        "clusters leave no labelling but the observed one, so that no p-value can be below 1: 6 of "
        "6 items keep their label, because all others in clusters of the same size have the same "
        "label."
    )
    assert result.pvalue == 1.0
    assert math.isnan(result.zscore)
    _, message = labelling_warning(
        y_true, y_score, strata=list("aabcca"), clusters=[0, 0, 1, 2, 2, 3]
    )
    assert "strata and clusters leave no labelling but the observed one" in message
    assert "because all others in clusters of the same size in their stratum" in message


def test_few_labellings_of_few_samples():
    _, message = labelling_warning(Y, SCORES, clusters=[1, 2, 3, 4])
    assert message == (
        "So few items leave 6 different labellings, so that no p-value can be below 0.17."
    )


@pytest.mark.parametrize(
    ("follow", "method"), [("label", "auto"), ("score", "permutation_of_labels")]
)
def test_few_labellings_with_weights_and_classes(follow, method):
    # Weights that move with labels make more arrangements.
    weights, strata = [1.0, 2.0, 1.0, 3.0, 1.0, 2.0], list("aaabbb")
    _, message = labelling_warning(
        [1, 0, 0, 1, 0, 0],
        np.arange(6.0),
        sample_weight=weights,
        method=method,
        strata=strata,
    )
    assert f"leave {36 if follow == 'label' else 9} different labellings" in message
    scores = np.random.default_rng(0).normal(size=(6, 3))
    _, message = labelling_warning([0, 1, 2, 0, 1, 1], scores, average="macro", strata=strata)
    assert "leave 18 different labellings" in message


def test_a_thousand_labellings_are_enough():
    y_true = np.array([1, 0] * 10)  # 2**10 labellings in pairs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        average_precision_test(y_true, np.arange(20.0), strata=np.arange(20) // 2)
    _, message = labelling_warning(y_true[:18], np.arange(18.0), strata=np.arange(18) // 2)
    assert "strata leave 512 different labellings, so that no p-value can be below 0.002" in message


# Draws are uniform


def chi_square(counts):
    return stats.chisquare(counts).pvalue


@pytest.mark.parametrize("n_samples", [1, 2, 3, 4, 5, 8, 9])
def test_every_set_of_hits_is_equally_likely(n_samples):
    for n_positives in range(1, n_samples + 1):
        rng = np.random.default_rng([n_samples, n_positives])
        n_sets = 500 * math.comb(n_samples, n_positives)
        ranks = uniform_hit_ranks(n_samples, n_positives, n_sets, rng)
        assert ranks.shape == (n_sets, n_positives)
        assert np.all(np.diff(ranks, axis=1) > 0)
        _, counts = np.unique(ranks, axis=0, return_counts=True)
        assert counts.size == math.comb(n_samples, n_positives)
        if counts.size > 1:
            # Of 32 uniform p-values the smallest is below this once in 300 times.
            assert chi_square(counts) > 1e-4


def test_every_order_of_rows_is_equally_likely():
    strata = np.array([0, 0, 0, 0, 0, 0, 1, 1])
    clusters = np.array([0, 0, 1, 1, 2, 3, 4, 5])
    expected = {tuple(order) for order in row_orders(8, strata, clusters)}
    where = Exchange(strata, clusters).draw_rows(8000, np.random.default_rng(0))
    found, counts = np.unique(where, axis=0, return_counts=True)
    assert {tuple(order) for order in found.tolist()} == expected
    assert chi_square(counts) > 1e-4


def test_every_labelling_is_equally_likely():
    y_true = np.array([1, 1, 0, 0, 1, 0, 0, 1, 0, 0])
    strata = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
    clusters = np.array([0, 0, 1, 1, 2, 3, 4, 5, 6, 7])
    expected = {tuple(np.flatnonzero(y)) for y in labellings(y_true, strata, clusters)}
    drawn = []

    def keep(places):
        drawn.append(places)
        return np.zeros(len(places))

    exchange = Exchange(strata, clusters)
    ExchangedHits(keep, np.arange(10), y_true == 1, exchange, 1.0).draw(
        8000, np.random.default_rng(0)
    )
    found, counts = np.unique(drawn[0], axis=0, return_counts=True)
    assert {tuple(places) for places in found.tolist()} == expected
    assert chi_square(counts) > 1e-4


def test_one_class_is_random_labelling():
    rng = np.random.default_rng(6)
    y_true, y_score = (np.arange(200) < 20).astype(int), rng.normal(size=200)
    exact = average_precision_test(y_true, y_score)
    within = average_precision_test(y_true, y_score, strata=np.zeros(200))
    x = exact.null_distribution.isf([0.5, 0.1, 0.01])
    p = exact.null_distribution.pvalue(x)
    error = np.sqrt(p * (1 - p) / N_PERMUTATIONS)
    assert np.all(np.abs(within.null_distribution.pvalue(x) - p) <= Z * error + 1e-4)


# Drawing stops


def clustered_data(n_samples=60, seed=7):
    rng = np.random.default_rng(seed)
    clusters = np.arange(n_samples) // 2
    y_true = (rng.random(n_samples // 2) < 0.3).astype(int)[clusters]
    return y_true, rng.normal(size=n_samples) + 0.4 * y_true, clusters


def sequential(draws, observed, alternative, n_exceedances):
    """Besag and Clifford's p-value from its definition, and the number of draws."""
    found = 0
    for number, value in enumerate(draws, 1):
        excess = value - observed if alternative == "greater" else observed - value
        found += excess >= -1e-12
        if found == n_exceedances:
            return n_exceedances / number, number, found
    return (found + 1) / (len(draws) + 1), len(draws), found


CASES = {
    "unrestricted": (average_precision_test, {}),
    "strata": (average_precision_test, {"strata": np.arange(60) // 20}),
    "clusters": (average_precision_test, {"clusters": np.arange(60) // 2}),
    "weights": (average_precision_test, {"sample_weight": np.arange(1, 61)}),
    "roc_auc": (NAMED["roc_auc"].test, {}),
    "roc_auc in strata": (NAMED["roc_auc"].test, {"strata": np.arange(60) // 20}),
    "reciprocal rank": (reciprocal_rank_test, {}),
    "recall": (recall_at_k_test, {"k": 10}),
    "recall in strata": (recall_at_k_test, {"k": 10, "strata": np.arange(60) // 20}),
}


@pytest.fixture
def small_chunks(monkeypatch):
    """Resamples are drawn in many chunks, the last of which is smaller; none is cached."""
    monkeypatch.setattr(sampling, "RANKS_PER_CHUNK", 4000)
    _DISTRIBUTIONS.clear()
    yield
    _DISTRIBUTIONS.clear()


@pytest.fixture
def stopping_at(monkeypatch):
    """Set the number of exceedances at which the sequential test stops."""
    return functools.partial(
        monkeypatch.setattr, "sklearn_rankinf._null.distribution._N_EXCEEDANCES"
    )


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_stopped_pvalue_is_that_of_a_loop(case, alternative, stopping_at):
    test, options = CASES[case]
    y_true, y_score, _ = clustered_data()
    options = {"alternative": alternative, "n_resamples": 999, **options}
    null = quiet(test, y_true, y_score, method="permutation", **options).null_distribution
    if case == "recall":
        draws = null._sample()
    else:
        draws = null._permutation_sample()
    for n_exceedances in (100, 1, 7, 40, 10_000):
        if n_exceedances != 100:
            stopping_at(n_exceedances)
        result = quiet(test, y_true, y_score, method="sequential", **options)
        assert result.method == "sequential"
        p, n_draws, found = sequential(draws, result.statistic, alternative, n_exceedances)
        assert result.pvalue == p
        assert result.n_resamples == n_draws
        assert result.n_exceedances == found
        assert result.log10_pvalue == pytest.approx(math.log10(p), rel=1e-14, abs=0.0)
        error = math.sqrt((1 - p) / (p * n_draws))
        assert result.pvalue_relative_error == pytest.approx(max(error, 1e-13), rel=1e-9, abs=0.0)
        assert result.pvalue_standard_error == pytest.approx(p * error, rel=1e-9, abs=1e-12)
        # The draws are the null distribution of the result, before and after pickling.
        expected = np.sort(draws[:n_draws])
        for own in (result, pickle.loads(pickle.dumps(result))):
            x = own.null_distribution.support()
            assert_allclose(x, expected[[0, -1]], rtol=1e-12)
            assert own.null_distribution.pvalue(2.0) == pytest.approx(1 / (n_draws + 1))
            assert own.pvalue_interval() == result.pvalue_interval()


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    ("case", "backend"),
    [
        *((case, "pickled") for case in ("clusters", "weights", "unrestricted")),
        ("clusters", "loky"),
    ],
)
def test_number_of_jobs_and_backend_change_nothing(case, backend):
    test, options = CASES[case]
    y_true, y_score, _ = clustered_data()
    options = {"n_resamples": 999, **options}
    for method in ("permutation", "sequential"):
        found = set()
        for n_jobs in (None, 1, 2):
            _DISTRIBUTIONS.clear()
            with parallel_config(backend=backend):
                result = quiet(test, y_true, y_score, method=method, n_jobs=n_jobs, **options)
            found.add((result.pvalue, result.n_resamples, result.zscore))
        assert len(found) == 1


def test_a_sequential_test_that_does_not_stop_is_a_permutation_test():
    y_true, y_score, _ = clustered_data()
    plain = average_precision_test(y_true, y_score, method="permutation", n_resamples=499)
    assert plain.n_exceedances < 100
    never = average_precision_test(y_true, y_score, method="sequential", n_resamples=499)
    assert plain.pvalue == never.pvalue
    assert plain.n_resamples == never.n_resamples == 499
    assert plain.pvalue_interval() == never.pvalue_interval()


@pytest.mark.parametrize("test", [average_precision_test, NAMED["roc_auc"].test])
def test_errors_of_stopping(test):
    message = (
        "method='sequential' needs a one-sided alternative; got alternative='two-sided': use "
        "alternative='greater' or 'less', or method='permutation'."
    )
    with pytest.raises(ValueError, match=message):
        test(Y, SCORES, method="sequential", alternative="two-sided")
    with pytest.raises(ValueError, match=r"'permutation', 'sequential', .* for .*; got 'stopping'"):
        test(Y, SCORES, method="stopping")
    with pytest.raises(ValueError, match="got 'sequential'"):
        metric_null_distribution(8, 3, method="sequential")


def test_a_statistic_with_one_value_needs_no_draws(stopping_at):
    stopping_at(3)
    for method in ("permutation", "sequential"):
        result = average_precision_test([1, 1, 1], [1, 2, 3], method=method)
        assert result.pvalue == 1.0
        assert result.n_resamples == result.n_exceedances == 0
        assert result.pvalue_standard_error == 0.0
        assert_allclose(result.pvalue_interval(), 1.0, rtol=1e-12)
    # Of several classes one may be such a class.
    table = np.array([[1, 0], [1, 1], [1, 0], [1, 1]])
    scores = np.random.default_rng(0).random((4, 2))
    results = average_precision_test(table, scores, method="sequential")
    assert results[0].n_resamples == 0
    assert results[1].n_exceedances == 3


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize(
    "test", [average_precision_test, NAMED["roc_auc"].test, reciprocal_rank_test]
)
def test_labels_of_one_kind(test, label):
    options = {"strata": list("aabb"), "n_resamples": 99}
    unrestricted = quiet(test, [label] * 4, SCORES)
    for method in ("auto", "sequential"):
        result = quiet(test, [label] * 4, SCORES, method=method, **options)
        assert result.statistic == pytest.approx(unrestricted.statistic, abs=1e-15)
        assert result.pvalue == 1.0
        assert math.isnan(result.zscore)
        assert math.isnan(result.adjusted_statistic)


@pytest.mark.numeric
def test_stopped_pvalues_are_valid(stopping_at):
    stopping_at(10)
    # No signal: P(p <= alpha) is at most alpha, within three standard errors.
    rng = np.random.default_rng(8)
    pvalues = []
    for seed in range(400):
        y_true = rng.permutation(np.arange(40) < 8)
        result = average_precision_test(
            y_true,
            np.arange(40.0),
            method="sequential",
            n_resamples=199,
            random_state=seed,
        )
        pvalues.append(result.pvalue)
    for alpha in (0.01, 0.05, 0.2, 0.5):
        assert np.mean(np.array(pvalues) <= alpha) <= alpha + 3 * math.sqrt(
            alpha * (1 - alpha) / 400
        )


# Monte Carlo error


@pytest.mark.parametrize("confidence_level", [0.9, 0.95, 0.999])
@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_interval_is_that_of_scipy(confidence_level, alternative):
    y_true, y_score, clusters = clustered_data()
    result = average_precision_test(
        y_true, y_score, clusters=clusters, n_resamples=499, alternative=alternative
    )
    interval = stats.binomtest(result.n_exceedances, 499).proportion_ci(confidence_level)
    factor = 2 if alternative == "two-sided" else 1
    expected = np.minimum(factor * np.array([interval.low, interval.high]), 1)
    assert_allclose(result.pvalue_interval(confidence_level), expected, rtol=1e-9)
    assert result.n_resamples == 499
    assert result.pvalue == min(1.0, factor * (result.n_exceedances + 1) / 500)
    assert result.pvalue_standard_error == result.pvalue * result.pvalue_relative_error


@pytest.mark.parametrize("sign", [-1, 1])
def test_interval_without_exceedances_and_with_nothing_else(sign):
    y_score = sign * np.arange(60.0, 0.0, -1.0)
    y_true = (np.arange(60) < 10).astype(int)
    result = average_precision_test(y_true, y_score, strata=np.zeros(60), n_resamples=999)
    interval = stats.binomtest(0 if sign > 0 else 999, 999).proportion_ci()
    assert_allclose(result.pvalue_interval(), [interval.low, interval.high], rtol=1e-9)


@pytest.mark.parametrize("n_exceedances", [1, 5, 30])
def test_interval_of_a_stopped_pvalue(n_exceedances, stopping_at):
    stopping_at(n_exceedances)
    y_true, y_score, clusters = clustered_data()
    result = average_precision_test(
        y_true, y_score, clusters=clusters, method="sequential", random_state=1
    )
    n_draws = result.n_resamples
    assert n_exceedances < n_draws < N_PERMUTATIONS
    low, high = result.pvalue_interval(0.9)
    # At the lower limit this number of draws or fewer has probability 5 percent, at the upper limit
    # this number or more.
    assert stats.nbinom.cdf(n_draws - n_exceedances, n_exceedances, low) == pytest.approx(0.05)
    assert stats.nbinom.sf(n_draws - n_exceedances - 1, n_exceedances, high) == pytest.approx(0.05)


def test_interval_when_every_draw_is_extreme(stopping_at):
    stopping_at(5)
    y_true, strata = np.array([1, 0] * 15), np.arange(30) // 2
    # In every pair the positive is behind: nothing is worse.
    result = average_precision_test(
        y_true, np.arange(30.0), strata=strata, method="sequential", n_resamples=99
    )
    assert result.pvalue == 1.0
    assert result.n_resamples == 5
    low, high = result.pvalue_interval()
    assert high == 1.0
    assert low == pytest.approx(0.025 ** (1 / 5), rel=1e-9)


def test_interval_of_other_methods():
    y_true, y_score, _ = clustered_data()
    result = average_precision_test(y_true, y_score)
    assert result.n_resamples is None
    assert result.n_exceedances is None
    assert result.pvalue_standard_error is None
    low, high = result.pvalue_interval()
    assert low == pytest.approx(result.pvalue * (1 - result.pvalue_relative_error), rel=1e-15)
    assert high == pytest.approx(result.pvalue * (1 + result.pvalue_relative_error), rel=1e-15)
    normal = average_precision_test(y_true, y_score, method="normal")
    assert normal.pvalue_interval() == (0.0, 1.0)
    for method in ("permutation", "analytic"):
        at_k = recall_at_k_test(y_true, y_score, k=10, method=method)
        low, high = at_k.pvalue_interval()
        assert low <= at_k.pvalue <= high


@pytest.mark.parametrize("confidence_level", [0.0, 1.0, -1, math.nan])
def test_confidence_level_is_checked(confidence_level):
    result = average_precision_test(Y, SCORES)
    with pytest.raises(ValueError, match=r"confidence_level must lie between .*; got"):
        result.pvalue_interval(confidence_level)


# Effect of ignoring clusters, and cost of respecting them


def test_size_with_and_without_clusters():
    rng = np.random.default_rng(9)
    n_runs, rejected = 100, np.zeros(2)
    clusters = np.arange(100) // 5
    for _ in range(n_runs):
        y_true = rng.permutation(np.arange(20) < 6)[clusters]
        y_score = rng.normal(size=20)[clusters] + 0.1 * rng.normal(size=100)
        with_clusters = average_precision_test(y_true, y_score, clusters=clusters, n_resamples=199)
        rejected += [
            average_precision_test(y_true, y_score).pvalue <= 0.05,
            with_clusters.pvalue <= 0.05,
        ]
    ignoring, respecting = rejected / n_runs
    assert ignoring > 0.15
    assert respecting <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / n_runs)


# Memory


@pytest.mark.parametrize(
    "strata",
    [np.arange(100_000) % 4, np.arange(100_000) // 2, np.arange(100_000)],
    ids=["four strata", "pairs", "nothing moves"],
)
def test_memory_does_not_grow_with_the_number_of_resamples(strata):
    rng = np.random.default_rng(10)
    y_true = np.zeros(100_000, dtype=int)
    y_true[rng.choice(100_000, 100, replace=False)] = 1
    y_score = rng.normal(size=100_000)
    tracemalloc.start()
    try:
        quiet(average_precision_test, y_true, y_score, strata=strata, n_resamples=10_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 300e6


def test_the_same_distribution_twice():
    y_true, y_score, clusters = clustered_data()
    distributions = [
        average_precision_test(y_true, y_score, clusters=clusters).null_distribution
        for _ in range(2)
    ]
    x = np.linspace(0.1, 0.9, 50)
    assert_array_equal(distributions[0].pvalue(x), distributions[1].pvalue(x))
    assert repr(distributions[0]) == (
        "PermutationDistribution(AveragePrecision(), n_samples=60, "
        f"n_positives={y_true.sum()}, n_units=30, n_classes=1)"
    )
