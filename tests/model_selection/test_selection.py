"""The best of several rankers: adjusted p-values against enumeration, inputs and messages."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from by_name import with_cut_off
from numpy.testing import assert_allclose, assert_array_equal
from oracles import average_precision_of
from scipy import stats
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, dcg_score, ndcg_score, roc_auc_score

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    Ranking,
    RankStatistic,
    average_precision_test,
    best_candidate_test,
    metric_test,
)
from sklearn_rankinf._metrics.names import METRICS
from sklearn_rankinf._model_selection.best_candidate import BestCandidateTestResult


@dataclass(frozen=True)
class Zipf(RankStatistic):
    """A custom metric: a positive adds one over its rank."""

    def weights(self, ranks, n_samples, n_positives):
        """Weight of a positive at each rank."""
        return 1.0 / ranks


# Slow definitions, of a metric and of the test


def mean_over_ties(of_ranks, y_true, y_score):
    """Mean of a function of the ranks of the positives over all ways to break the ties."""
    values = np.sort(np.unique(y_score))[::-1]
    sizes = tuple(int(np.sum(y_score == value)) for value in values)
    hits = tuple(int(np.sum(y_true[y_score == value])) for value in values)
    return mean_over_places(of_ranks, sizes, hits)


@cache
def mean_over_places(of_ranks, sizes, hits):
    """Mean over all places that the hits of each block can have inside it."""
    ends = itertools.accumulate(sizes)
    inside = [
        itertools.combinations(range(end - size + 1, end + 1), found)
        for end, size, found in zip(ends, sizes, hits, strict=True)
    ]
    values = [of_ranks(list(itertools.chain(*ranks))) for ranks in itertools.product(*inside)]
    return float(sum(values) / len(values))


def hits_at(k, divisor, ranks):
    return Fraction(sum(rank <= k for rank in ranks)) / divisor


def first_reciprocal(ranks):
    return Fraction(1, min(ranks))


def sum_of_reciprocals(ranks):
    return sum((Fraction(1, rank) for rank in ranks), start=Fraction(0))


def decay_of(alpha, n_samples, ranks):
    return sum(math.exp(-alpha * rank / n_samples) for rank in ranks)


def rie_of(alpha, n_samples, ranks):
    """Robust initial enhancement of Sheridan and others, from its definition."""
    mean = decay_of(alpha, n_samples, range(1, n_samples + 1)) / n_samples
    return decay_of(alpha, n_samples, ranks) / (len(ranks) * mean)


def bedroc_of(alpha, n_samples, ranks):
    """BEDROC of Truchon and Bayly: RIE between those of the worst and of the best ranking."""
    n_positives = len(ranks)
    worst, best = (
        rie_of(alpha, n_samples, range(start, start + n_positives))
        for start in (n_samples - n_positives + 1, 1)
    )
    return (rie_of(alpha, n_samples, ranks) - worst) / (best - worst)


def roc_auc_of(y_true, y_score):
    """Share of pairs of a positive and a negative that are in order; ties count half."""
    above = y_score[y_true == 1][:, None] - y_score[y_true == 0]
    return float(((above > 0) + 0.5 * (above == 0)).mean())


def slow_metric(name, n_samples, n_positives):
    """The metric from scikit-learn or from its definition."""
    of_ranks = {
        "recall": partial(hits_at, 3, n_positives),
        "precision": partial(hits_at, 3, 3),
        "enrichment": partial(hits_at, 3, Fraction(3 * n_positives, n_samples)),
        "f_score": partial(hits_at, 3, Fraction(3 + n_positives, 2)),
        "reciprocal_rank": first_reciprocal,
        "zipf": sum_of_reciprocals,
        "rie": partial(rie_of, 20.0, n_samples),
        "bedroc": partial(bedroc_of, 20.0, n_samples),
    }
    if name in of_ranks:
        return partial(mean_over_ties, of_ranks[name])
    return {
        "average_precision": average_precision_of,
        "roc_auc": roc_auc_of,
        "dcg": lambda y_true, y_score: dcg_score([y_true], [y_score]),
        "ndcg": lambda y_true, y_score: ndcg_score([y_true], [y_score]),
    }[name]


def all_labellings(n_samples, n_positives):
    """Every choice of the positives, a row each."""
    chosen = list(itertools.combinations(range(n_samples), n_positives))
    labels = np.zeros((len(chosen), n_samples), dtype=int)
    np.put_along_axis(labels, np.array(chosen), 1, axis=1)
    return labels


@cache
def all_values(name, y_score, n_positives):
    """Values of a metric for every labelling of items with these scores."""
    metric = slow_metric(name, len(y_score), n_positives)
    labellings, scores = all_labellings(len(y_score), n_positives), np.array(y_score)
    # Items of one score are interchangeable: one value for each number of positives at each score.
    hits = np.stack([labellings[:, scores == one].sum(axis=1) for one in np.unique(scores)], axis=1)
    _, first, kind = np.unique(hits, axis=0, return_index=True, return_inverse=True)
    return np.array([metric(y_true, scores) for y_true in labellings[first]])[kind.ravel()]


def enumerated(name, y_true, family, standardize):
    """Statistics, z-scores, adjusted and unadjusted p-values by all labellings."""
    n_positives = sum(y_true)
    values = np.stack([all_values(name, SCORES[own], n_positives) for own in family], axis=1)
    labellings = all_labellings(len(y_true), n_positives)
    observed = values[np.flatnonzero((labellings == y_true).all(axis=1))[0]]
    unadjusted = (values >= observed - 1e-9).mean(axis=0)
    spread = np.where(np.ptp(values, axis=0) > 1e-9, values.std(axis=0), np.inf)
    zscore = (observed - values.mean(axis=0)) / spread
    if standardize:
        own, values = zscore, (values - values.mean(axis=0)) / spread
    else:
        own = observed
    adjusted = (values.max(axis=1)[:, None] >= own - 1e-9).mean(axis=0)
    return observed, zscore, adjusted, unadjusted


# Candidates for ten samples, without ties and with more and more of them.
SCORES = {
    "untied": (10, 8, 9, 3, 7, 2, 6, 4, 5, 1),
    "reversed": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    "pairs": (5, 4, 5, 3, 4, 2, 3, 1, 2, 1),
    "three": (3, 1, 3, 2, 1, 1, 2, 2, 1, 3),
    "top": (2, 2, 1, 1, 1, 1, 1, 1, 1, 1),
    "constant": (7,) * 10,
}
FAMILIES = [
    ("untied",),
    ("untied", "reversed"),
    ("untied", "three", "top"),
    ("pairs", "three", "constant"),
    ("untied", "pairs", "top", "constant"),
]
LABELS = {
    3: [1, 0, 1, 0, 0, 0, 1, 0, 0, 0],
    4: [1, 0, 1, 1, 0, 0, 1, 0, 0, 0],
    7: [1, 1, 1, 0, 1, 0, 1, 1, 0, 1],
}
SLOW = ("average_precision", "roc_auc", "dcg", "ndcg", "recall", "reciprocal_rank", "zipf")
SLOW += ("rie", "bedroc")


def table_of(family):
    return np.array([SCORES[name] for name in family], dtype=float).T


def options_of(name):
    if name == "zipf":
        return {"metric": Zipf()}
    return {"metric": with_cut_off(name, 3)}


def assert_close_to(found, expected, n_resamples):
    """(b + 1) / (B + 1) agrees with the exact probability within Monte Carlo error."""
    error = np.sqrt(expected * (1 - expected) / n_resamples)
    assert np.all(np.abs(found - expected) <= 4.5 * error + 1.0 / n_resamples)


def family_by_family(name):
    """All families of the two commonest metrics, two of the others, and the rest with --long."""
    for index, family in enumerate(FAMILIES):
        for standardize in (True, False):
            if name in ("average_precision", "roc_auc"):
                usual = standardize or index > 2
            else:
                usual = (index, standardize) in ((2, False), (3, True))
            marks = [] if usual else [pytest.mark.long]
            label = "-".join([name, *family, str(standardize)])
            yield pytest.param(name, family, standardize, marks=marks, id=label)


@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES.keys())
def test_definitions_are_those_of_scikit_learn(scores):
    scores = np.array(scores)
    for y_true in map(np.array, LABELS.values()):
        own = average_precision_of(y_true, scores), roc_auc_of(y_true, scores)
        expected = average_precision_score(y_true, scores), roc_auc_score(y_true, scores)
        assert own == pytest.approx(expected, rel=1e-14)


@pytest.mark.numeric
@pytest.mark.parametrize(
    ("name", "family", "standardize"), [case for name in SLOW for case in family_by_family(name)]
)
def test_pvalues_are_the_enumerated_ones(name, family, standardize):
    scores = table_of(family)
    # Four positives of the ten, and many of ROC AUC, are a matter of other tests.
    for n_positives in (3,) if name in ("dcg", "ndcg", "roc_auc") else (3, 7):
        y_true = LABELS[n_positives]
        expected = enumerated(name, y_true, family, standardize)
        result = best_candidate_test(
            y_true, scores, standardize=standardize, n_resamples=4_999, **options_of(name)
        )
        assert_allclose(result.statistic, expected[0], rtol=1e-12, atol=1e-14)
        assert_allclose(result.zscore, expected[1], rtol=1e-9, atol=1e-9)
        assert_close_to(result.pvalue, expected[2], 4_999)
        assert_allclose(result.pvalue_unadjusted, expected[3], rtol=1e-11)
        ranked_by = expected[1] if standardize else expected[0]
        assert ranked_by[result.best_index] == pytest.approx(ranked_by.max(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["precision", "enrichment"])
def test_metrics_at_k_are_enumerated_too(name):
    family, y_true = ("pairs", "untied", "top"), LABELS[4]
    scores, expected = table_of(family), enumerated(name, y_true, family, True)
    result = best_candidate_test(y_true, scores, n_resamples=4_999, **options_of(name))
    assert_allclose(result.statistic, expected[0], rtol=1e-12)
    assert_close_to(result.pvalue, expected[2], 4_999)


def test_the_two_kinds_of_maxima_differ_where_ties_do():
    family, y_true = ("untied", "top"), LABELS[3]
    exact = [enumerated("average_precision", y_true, family, kind)[2] for kind in (True, False)]
    assert np.any(np.abs(exact[0] - exact[1]) > 0.02)
    for kind, expected in zip((True, False), exact, strict=True):
        result = best_candidate_test(y_true, table_of(family), standardize=kind, n_resamples=4_999)
        assert_close_to(result.pvalue, expected, 4_999)


@pytest.mark.numeric
@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_with_a_name_on_longer_lists(metric):
    rng = np.random.default_rng(4)
    y_true = rng.permutation(np.arange(40) < 6).astype(int)
    scores = {
        "signal": rng.normal(size=40) + 1.0 * y_true,
        "tied": np.floor(2 * rng.normal(size=40) + y_true),
        "noise": rng.normal(size=40),
    }
    metric = with_cut_off(metric, 0.2)
    result = best_candidate_test(y_true, scores, metric=metric, n_resamples=1_999)
    for index, column in enumerate(scores.values()):
        test = metric_test(y_true, column, metric=metric)
        assert result.statistic[index] == pytest.approx(test.statistic, rel=1e-12)
        assert result.zscore[index] == pytest.approx(test.zscore, rel=1e-9)
        assert result.pvalue_unadjusted[index] == pytest.approx(test.pvalue, rel=1e-12)
        # The p-value of the best of three: between one of them and the sum of all three.
        slack = 5 * result.pvalue_standard_error[index] + 1e-3
        assert test.pvalue - slack <= result.pvalue[index] <= 3 * test.pvalue + slack


# Equal values


@pytest.mark.numeric
@pytest.mark.filterwarnings("ignore:strata leave 2 different labellings")
@pytest.mark.parametrize("metric", ["bedroc", "roc_auc", Bedroc(3.0)])
@pytest.mark.parametrize("n_samples", [50, 60, 200, 1000, 1500])
def test_values_that_differ_by_rounding_of_their_offset_are_equal(metric, n_samples):
    # All positives are at the end, but for one that is a place better in half of the labellings:
    # the statistic, then almost 0, is the difference of a sum and an offset that are much larger.
    for n_positives in (
        n_samples // 3,
        2 * n_samples // 5,
        7 * n_samples // 15,
        n_samples * 2 // 3,
    ):
        y_true = np.arange(n_samples) < n_positives
        y_true[[n_positives - 1, n_positives]] = [False, True]
        strata = np.arange(n_samples)
        strata[n_positives] = n_positives - 1
        result = best_candidate_test(
            y_true,
            np.arange(float(n_samples))[:, None],
            metric=metric,
            strata=strata,
            standardize=False,
            n_resamples=199,
        )
        assert result.pvalue[0] == pytest.approx(0.5, abs=4.5 * 0.5 / math.sqrt(199))


@pytest.mark.parametrize("metric", ["bedroc", "roc_auc"])
def test_equal_values_of_many_positives_are_equal(metric):
    rng = np.random.default_rng(1)
    scores = np.arange(9.0)
    for n_positives in (3, 7):
        of_labels = slow_metric(metric, 9, n_positives)
        values = np.array([of_labels(labels, scores) for labels in all_labellings(9, n_positives)])
        for _ in range(4):
            y_true = rng.permutation(9) < n_positives
            expected = np.mean(values >= of_labels(y_true.astype(int), scores) - 1e-9)
            for standardize in (True, False):
                result = best_candidate_test(
                    y_true,
                    scores[:, None],
                    metric=metric,
                    standardize=standardize,
                    n_resamples=4_999,
                )
                assert_close_to(result.pvalue, np.array([expected]), 4_999)


# Strata, clusters, series


def restricted_labellings(y_true, strata=None, clusters=None, order=None):
    """All labellings that are equally likely, a row each, by looking at every one there is."""
    y_true = np.asarray(y_true)
    if order is not None:
        series, n = np.argsort(order), len(y_true)
        return np.array([y_true[series[(np.argsort(series) + s) % n]] for s in range(n)])
    n = len(y_true)
    strata = np.zeros(n, dtype=int) if strata is None else np.asarray(strata)
    clusters = np.arange(n) if clusters is None else np.asarray(clusters)
    sizes = np.array([np.sum(clusters == c) for c in clusters])
    kept = []
    for labels in all_labellings(n, int(y_true.sum())):
        whole = all(np.ptp(labels[clusters == c]) == 0 for c in np.unique(clusters))
        same = all(
            labels[own].sum() == y_true[own].sum()
            for stratum in np.unique(strata)
            for size in np.unique(sizes)
            if (own := (strata == stratum) & (sizes == size)).any()
        )
        if whole and same:
            kept.append(labels)
    return np.array(kept)


@cache
def restricted_values(design, name, family):
    """Values of a metric for all labellings that a design allows, and for the observed one."""
    y_true, restriction = DESIGNS[design]
    metric = slow_metric(name, 10, sum(y_true))
    labellings = [*restricted_labellings(y_true, **restriction), np.array(y_true)]
    found = np.array([[metric(own, np.array(SCORES[of])) for of in family] for own in labellings])
    return found[:-1], found[-1]


DESIGNS = {
    "clusters": ([1, 1, 0, 0, 0, 0, 1, 0, 0, 0], {"clusters": list("aabbccdefg")}),
    "strata": ([1, 0, 1, 0, 0, 0, 1, 0, 0, 0], {"strata": [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]}),
    "both": (
        [1, 1, 0, 0, 0, 0, 1, 0, 0, 0],
        {"clusters": [0, 0, 1, 1, 2, 2, 3, 4, 5, 6], "strata": [0, 0, 0, 0, 0, 0, 1, 1, 1, 1]},
    ),
    "order": ([1, 1, 0, 0, 1, 0, 0, 0, 0, 0], {"order": [3, 4, 1, 9, 5, 6, 8, 7, 2, 0]}),
    "many positives": ([1, 1, 1, 1, 0, 0, 1, 0, 1, 1], {"clusters": list("aabbccdefg")}),
}


@pytest.mark.numeric
@pytest.mark.filterwarnings("ignore:.* leave [0-9]+ different labellings")
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize(
    "name",
    [
        "average_precision",
        "bedroc",
        pytest.param("roc_auc", marks=pytest.mark.long),
        pytest.param("recall", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("design", DESIGNS)
def test_restricted_pvalues_are_the_enumerated_ones(design, name, standardize):
    y_true, restriction = DESIGNS[design]
    family = ("untied", "pairs", "three", "constant")
    values, observed = restricted_values(design, name, family)
    result = best_candidate_test(
        y_true,
        table_of(family),
        standardize=standardize,
        n_resamples=4_999,
        **restriction,
        **options_of(name),
    )
    assert_allclose(result.statistic, observed, rtol=1e-12)
    unadjusted = (values >= observed - 1e-9).mean(axis=0)
    assert_close_to(result.pvalue_unadjusted, unadjusted, 4_999)
    own = observed
    if standardize:
        spread = np.where(np.ptp(values, axis=0) > 1e-9, values.std(axis=0), np.inf)
        own, values = ((v - values.mean(axis=0)) / spread for v in (observed, values))
        assert_allclose(result.zscore, own, atol=0.1)
    # Moments of random labellings move each candidate by so little that only ties are torn apart.
    maxima = values.max(axis=1)[:, None]
    slack = 0.05 if standardize and design != "order" else 1e-9
    least, most = (maxima >= own + slack).mean(axis=0), (maxima >= own - slack).mean(axis=0)
    error = 4.5 * np.sqrt(most * (1 - least) / 4_999) + 1 / 4_999
    assert np.all((least - error <= result.pvalue) & (result.pvalue <= most + error))


def test_single_candidate_with_clusters_is_the_permutation_test():
    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(40), 3)
    y_true = (np.arange(40) < 8)[cluster]
    scores = (rng.normal(size=40) + 0.5 * (np.arange(40) < 8))[cluster] + rng.normal(size=120)
    result = best_candidate_test(y_true, scores[:, None], clusters=cluster)
    single = average_precision_test(y_true, scores, clusters=cluster, random_state=9)
    unrestricted = average_precision_test(y_true, scores)
    assert 0.001 < single.pvalue < 0.5
    for pvalue in (result.pvalue, result.pvalue_unadjusted):
        error = math.sqrt(2 * single.pvalue / 9999)
        assert pvalue[0] == pytest.approx(single.pvalue, abs=4.5 * error)
        assert pvalue[0] > 2 * unrestricted.pvalue
    assert result.zscore[0] == pytest.approx(single.zscore, abs=0.1)


def test_order_copies_and_jobs_with_clusters():
    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(40), 3)
    y_true, scores = (np.arange(40) < 8)[cluster], rng.normal(size=(120, 3))
    result = best_candidate_test(y_true, scores, clusters=cluster, n_resamples=999)
    moved = best_candidate_test(
        y_true, scores[:, [2, 0, 0, 1]], clusters=iter(cluster), n_resamples=999, n_jobs=2
    )
    for field in ("statistic", "zscore", "pvalue", "pvalue_unadjusted"):
        assert_array_equal(getattr(moved, field), getattr(result, field)[[2, 0, 0, 1]])


def test_few_labellings_give_one_warning():
    scores = np.random.default_rng(0).normal(size=(6, 5))
    with pytest.warns(UserWarning, match="leave") as caught:
        best_candidate_test([1, 1, 0, 0, 0, 0], scores, clusters=[0, 0, 1, 1, 2, 2], n_resamples=99)
    assert [str(w.message) for w in caught] == [
        "clusters leave 3 different labellings, so that no p-value can be below 0.33."
    ]


def test_restrictions_that_cannot_be():
    scores = np.random.default_rng(0).normal(size=(6, 2))
    message = "^strata leave no labelling but the observed one"
    with pytest.raises(ValueError, match=message):
        best_candidate_test([1, 1, 0, 0, 0, 0], scores, strata=[1, 1, 0, 0, 0, 0])
    with pytest.raises(ValueError, match="The labels in cluster 'a' differ"):
        best_candidate_test([1, 0, 0, 0, 0, 0], scores, clusters=list("aabbcc"))
    with pytest.warns(UndefinedMetricWarning, match="only one class"):
        result = best_candidate_test([0] * 6, scores, clusters=list("aabbcc"))
    assert_array_equal(result.pvalue, [1.0, 1.0])


# Relations


def noisy(n_samples=40, n_positives=4, n_candidates=5, seed=0):
    rng = np.random.default_rng(seed)
    y_true = rng.permutation(np.arange(n_samples) < n_positives).astype(int)
    scores = rng.normal(size=(n_samples, n_candidates)) + np.outer(
        y_true, np.linspace(1, 0, n_candidates)
    )
    scores[:, ::2] = np.round(scores[:, ::2], 1)
    return y_true, scores


def test_single_candidate_is_the_permutation_test():
    for seed in range(3):
        y_true, scores = noisy(seed=seed)
        result = best_candidate_test(y_true, scores[:, 1:2])
        exact = average_precision_test(y_true, scores[:, 1])
        permuted = average_precision_test(
            y_true, scores[:, 1], method="permutation", random_state=1
        )
        assert result.pvalue_unadjusted[0] == exact.pvalue
        assert_close_to(result.pvalue, np.array([exact.pvalue]), 9999)
        error = math.sqrt(2 * exact.pvalue / 9999)
        assert result.pvalue[0] == pytest.approx(permuted.pvalue, abs=4.5 * error + 2e-4)


@pytest.mark.parametrize("standardize", [True, False])
def test_adjusted_pvalues_are_larger_and_in_the_order_of_the_statistics(standardize):
    for seed in range(2):
        y_true, scores = noisy(seed=seed)
        result = best_candidate_test(y_true, scores, standardize=standardize)
        slack = 4.5 * result.pvalue_standard_error + 1e-4
        assert np.all(result.pvalue >= result.pvalue_unadjusted - slack)
        order = np.argsort(result.zscore if standardize else result.statistic)
        assert np.all(np.diff(result.pvalue[order]) <= 0)
        assert result.pvalue[result.best_index] == result.pvalue.min()


@pytest.mark.numeric
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("metric", ["average_precision", "roc_auc", "reciprocal_rank"])
def test_order_and_copies_of_candidates_change_nothing(metric, standardize):
    y_true, scores = noisy()
    options = {"metric": metric, "standardize": standardize, "n_resamples": 1999}
    result = best_candidate_test(y_true, scores, **options)
    order = np.array([3, 0, 4, 2, 1])
    moved = best_candidate_test(y_true, scores[:, order], **options)
    for field in ("statistic", "zscore", "pvalue", "pvalue_unadjusted"):
        assert_array_equal(getattr(moved, field), getattr(result, field)[order])
    assert order[moved.best_index] == result.best_index
    copies = best_candidate_test(y_true, scores[:, [0, 0, 1, 2, 3, 4, 1]], **options)
    assert_array_equal(copies.pvalue[[0, 2, 3, 4, 5]], result.pvalue)
    assert (copies.pvalue[0], copies.pvalue[2]) == (copies.pvalue[1], copies.pvalue[6])
    # Increasing transforms keep the ranking; candidates no better than noise change no winner.
    stretched = best_candidate_test(y_true, np.exp(scores), **options)
    assert_array_equal(stretched.pvalue, result.pvalue)


def test_more_candidates_never_make_a_pvalue_smaller():
    y_true, scores = noisy(n_candidates=12)
    few = best_candidate_test(y_true, scores[:, :4])
    many = best_candidate_test(y_true, scores)
    assert np.all(many.pvalue[:4] >= few.pvalue)
    assert np.any(many.pvalue[:4] > few.pvalue)


def test_candidates_that_cannot_vary():
    y_true, scores = noisy(n_candidates=2)
    scores = np.c_[np.full(40, 0.5), scores]
    result = best_candidate_test(y_true, scores)
    assert (result.zscore[0], result.pvalue[0], result.pvalue_unadjusted[0]) == (0.0, 1.0, 1.0)
    assert result.statistic[0] == pytest.approx(0.1, rel=1e-12)
    others = best_candidate_test(y_true, scores[:, 1:])
    assert np.sum(others.zscore > 0) == 1
    # It is always at chance: nothing changes for those that are better.
    assert_array_equal(result.pvalue[1:], np.where(others.zscore > 0, others.pvalue, 1.0))
    alone = best_candidate_test(y_true, np.zeros((40, 2)), standardize=False)
    assert_array_equal(alone.pvalue, [1.0, 1.0])
    assert alone.best_index == 0


# Numbers of jobs, seeds, memory


@pytest.mark.parametrize("n_positives", [4, pytest.param(30, marks=pytest.mark.long)])
def test_numbers_of_jobs_and_backends_change_nothing(n_positives):
    y_true, scores = noisy(n_positives=n_positives)
    expected = best_candidate_test(y_true, scores, n_resamples=20_000)
    for backend, n_jobs in (("pickled", 2), ("threading", 3)):
        with joblib.parallel_config(backend=backend, n_jobs=n_jobs):
            found = best_candidate_test(y_true, scores, n_resamples=20_000)
        assert_array_equal(found.pvalue, expected.pvalue)
        assert_array_equal(found.pvalue_unadjusted, expected.pvalue_unadjusted)
    found = best_candidate_test(y_true, scores, n_resamples=20_000, n_jobs=2)
    assert_array_equal(found.pvalue, expected.pvalue)


def test_seeds():
    y_true, scores = noisy(seed=3)
    first, again, other = (
        best_candidate_test(y_true, scores, random_state=seed).pvalue for seed in (5, 5, 6)
    )
    assert_array_equal(first, again)
    assert np.any(first != other)
    generator = np.random.default_rng(5)
    drawn = [best_candidate_test(y_true, scores, random_state=generator).pvalue for _ in range(2)]
    assert np.any(drawn[0] != drawn[1])


def test_progress_is_shown(capfd):
    y_true, scores = noisy()
    best_candidate_test(y_true, scores, n_resamples=9, verbose=10)
    out, err = capfd.readouterr()
    assert "Done" in out + err


def test_memory_does_not_grow_with_permutations_times_samples():
    y_true = np.arange(100_000) < 30
    scores = np.random.default_rng(0).normal(size=(100_000, 2))
    best_candidate_test(y_true, scores, n_resamples=9)
    tracemalloc.start()
    best_candidate_test(y_true, scores, n_resamples=3_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A byte for each sample of each labelling would be 300 MB.
    assert peak < 100e6


def test_many_candidates():
    rng = np.random.default_rng(2)
    y_true = np.arange(60) < 3
    scores = rng.normal(size=(60, 2000))
    result = best_candidate_test(y_true, scores, n_resamples=199)
    assert result.pvalue_unadjusted.min() < 0.005
    assert result.pvalue.min() > 0.05


# The result


def test_result():
    y_true, scores = noisy(n_samples=120, n_positives=12)
    named = {f"model {index}": column for index, column in enumerate(scores.T)}
    result = best_candidate_test(y_true, named, n_resamples=499)
    assert isinstance(result, BestCandidateTestResult)
    best = result.best_index
    assert_allclose(
        result.pvalue_standard_error, np.sqrt(result.pvalue * (1 - result.pvalue) / 499)
    )
    frame = result.to_frame()
    assert list(frame.columns) == [
        "ranker",
        "statistic",
        "zscore",
        "pvalue",
        "pvalue_standard_error",
        "pvalue_unadjusted",
        "pvalue_unadjusted_is_bound",
    ]
    assert result.best_name == f"model {best}"
    assert result.metric == AveragePrecision()
    assert result.summary() == (
        f"Of 5 rankers model {best} was best, with average precision "
        f"{result.statistic[best]:.3g} (z = {result.zscore[best]:.2f}); p ≤ "
        f"{result.pvalue[best]:.4f} against chance, adjusted for the choice "
        "among all rankers (single-step maxT with 499 random labellings; "
        "12 positives among 120 items)."
    )
    assert frame["ranker"].tolist() == list(named)
    assert_array_equal(frame["pvalue"], result.pvalue)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_interval_is_that_of_clopper_and_pearson(level):
    y_true, scores = noisy(n_positives=5)
    scores = np.c_[scores, np.zeros(40), 10.0 * y_true]
    result = best_candidate_test(y_true, scores, n_resamples=299)
    low, high = result.pvalue_interval(level)
    counts = np.rint(300 * result.pvalue).astype(int) - 1
    assert {0, 299} <= set(counts)
    for index, count in enumerate(counts.tolist()):
        expected = stats.binomtest(count, 299).proportion_ci(level, method="exact")
        assert (low[index], high[index]) == pytest.approx((expected.low, expected.high), rel=1e-9)


@pytest.mark.parametrize("level", [0.0, 1.0, 95, math.nan])
def test_interval_refuses_levels(level):
    result = best_candidate_test(*noisy(), n_resamples=9)
    with pytest.raises(ValueError, match=rf"confidence_level must lie between .*; got {level}"):
        result.pvalue_interval(level)


# Inputs


def test_containers():
    y_true, scores = noisy()
    expected = best_candidate_test(y_true, scores, n_resamples=199)
    assert expected.names == [0, 1, 2, 3, 4]
    columns = {name: scores[:, index] for index, name in enumerate("abcde")}
    for named in (
        columns,
        {name: column.tolist() for name, column in columns.items()},
        pd.DataFrame(columns),
        pd.DataFrame(columns, index=np.arange(40)[::-1]),
        pd.DataFrame(columns).convert_dtypes(),
        pl.DataFrame(columns),
    ):
        result = best_candidate_test(y_true, named, n_resamples=199)
        assert result.names == list("abcde")
        assert_array_equal(result.pvalue, expected.pvalue)
    for unnamed in (scores.tolist(), np.asfortranarray(scores)):
        result = best_candidate_test(y_true, unnamed, n_resamples=199)
        assert_array_equal(result.pvalue, expected.pvalue)
    for labels in (y_true.astype(bool), y_true.tolist(), pd.Series(y_true), pl.Series(y_true)):
        result = best_candidate_test(labels, scores, n_resamples=199)
        assert_array_equal(result.pvalue, expected.pvalue)


def test_labels_that_are_strings():
    y_true, scores = noisy()
    answers = np.where(y_true == 1, "yes", "no")
    expected = best_candidate_test(y_true, scores, n_resamples=199)
    result = best_candidate_test(answers, scores, pos_label="yes", n_resamples=199)
    assert_array_equal(result.pvalue, expected.pvalue)
    assert (result.n_samples, result.n_positives) == (40, 4)
    other = best_candidate_test(answers, -scores, pos_label="no", metric="roc_auc")
    assert_allclose(
        other.statistic, best_candidate_test(y_true, scores, metric="roc_auc").statistic
    )


def test_cut_off():
    y_true, scores = noisy()
    result = best_candidate_test(y_true, scores, metric="average_precision@0.1", n_resamples=199)
    for value, column in zip(result.statistic, scores.T, strict=True):
        expected = metric_test(y_true, column, metric=AveragePrecision(4)).statistic
        assert value == pytest.approx(expected, rel=1e-12)
    assert_array_equal(
        result.pvalue,
        best_candidate_test(y_true, scores, metric=AveragePrecision(4), n_resamples=199).pvalue,
    )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("label", [0, 1])
def test_labels_of_one_class(metric, label):
    metric = with_cut_off(metric, 2)
    scores = np.random.default_rng(0).integers(4, size=(9, 3))
    message = (
        f"^y_true contains only one class, {9 * label} positives among 9 items: no ranker can "
        r"be better than chance, and all p-values are 1\.$"
    )
    with pytest.warns(UndefinedMetricWarning, match=message):
        result = best_candidate_test([label] * 9, scores, metric=metric)
    assert_array_equal(result.pvalue, np.ones(3))
    assert_array_equal(result.pvalue_unadjusted, np.ones(3))
    assert_array_equal(result.zscore, np.zeros(3))
    if label == 0:
        assert_array_equal(result.statistic, np.zeros(3))
    assert result.best_index == 0


TWO = [[1.0, 2.0], [3.0, 1.0], [2.0, 0.0], [0.0, 4.0]]


@pytest.mark.parametrize(
    ("y_true", "y_score", "error", "message"),
    [
        (Ranking.from_counts([1, 1], [1, 0]), None, TypeError, "does not identify the items"),
        (LogisticRegression(), TWO, TypeError, "got an estimator.* is not a scorer"),
        ([0, 1, 0, 1], [1, 2, 3, 4], ValueError, r"got shape \(4,\): for a single ranker pass"),
        ([0, 1, 0, 1], 3.0, ValueError, r"got shape \(\): for a single"),
        ([0, 1, 0, 1], np.zeros((4, 2, 2)), ValueError, r"got shape \(4, 2, 2\)"),
        ([0, 1, 0, 1], np.zeros((2, 4)), ValueError, r"of the 4 items.*pass y_score.T if its"),
        ([0, 1, 0, 1], [[1], [1, 2], [3], [4]], ValueError, "cannot be read as a table"),
        ([0, 1, 0, 1], {}, ValueError, "y_score contains no ranker"),
        ([0, 1, 0, 1], np.zeros((4, 0)), ValueError, "y_score contains no ranker"),
        (
            [0, 1, 0, 1],
            pd.DataFrame(TWO, columns=["a", "a"]),
            ValueError,
            "several rankers named 'a'; rename",
        ),
        ([0, 1, 0, 1], {"a": [1, 2, 3]}, ValueError, "Ranker 'a': .*4 labels and 3 scores"),
        (
            [0, 1, 0, 1],
            {"a": [1, 2, 3, 4], "b": [1, 2, math.nan, 4]},
            ValueError,
            "Ranker 'b': y_score must be finite",
        ),
        ([0, 1, 0, 1], {"b": list("wxyz")}, TypeError, "Ranker 'b': y_score must hold real num"),
        (
            [0, 1, 0, 1],
            np.ma.masked_equal(TWO, 4.0),
            ValueError,
            "Ranker 1: y_score holds masked",
        ),
        ([0, 1, 2, 1], TWO, ValueError, "^y_true holds 3 different labels"),
        (["a", "b", "a", "b"], TWO, ValueError, "^pos_label=1 is not a label of y_true"),
        ([0, 1, [2], 1], TWO, ValueError, "^y_true cannot be read"),
        ([], TWO, ValueError, "^y_true is empty"),
    ],
)
def test_wrong_inputs(y_true, y_score, error, message):
    with pytest.raises(error, match=message):
        best_candidate_test(y_true, y_score)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metric": "auc"}, ValueError, "did you mean 'roc_auc'"),
        ({"metric": Zipf}, TypeError, r"got the class Zipf: pass Zipf\(\)\."),
        ({"metric": "recall"}, ValueError, "recall needs a cut-off: metric='recall@50'"),
        ({"metric": "roc_auc@3"}, ValueError, "roc_auc has no cut-off; pass metric='roc_auc'"),
        ({"metric": "ndcg@5"}, ValueError, "k must be between 1 and n_samples=4; got 5"),
        ({"metric": "ndcg@1.5"}, ValueError, "k as a float is a fraction"),
        ({"n_resamples": 0}, ValueError, "n_resamples must be at least 1; got 0"),
        ({"n_resamples": 9.5}, TypeError, "n_resamples must be an integer"),
        ({"random_state": -1}, ValueError, "random_state must be at least 0"),
        ({"pos_label": None}, TypeError, "pos_label must be a number"),
    ],
)
def test_wrong_options(options, error, message):
    with pytest.raises(error, match=message):
        best_candidate_test([0, 1, 0, 1], TWO, **options)
