"""Recall, precision, R-precision and average precision at k as scores of labels and scores."""

import itertools
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from by_name import precision_at_k_test
from oracles import average_precision_at_k_by_tie_breaking, labels_and_scores, placements
from sklearn.datasets import make_classification
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, make_scorer, precision_score, recall_score
from sklearn.model_selection import StratifiedKFold, cross_val_score

from sklearn_rankinf import (
    AveragePrecision,
    Ranking,
    RPrecision,
    average_precision_at_k_score,
    metric_test,
    precision_at_k_score,
    recall_at_k_score,
    recall_at_k_test,
)

AT_K = [recall_at_k_score, precision_at_k_score, average_precision_at_k_score]
at_k = pytest.mark.parametrize("score", AT_K, ids=lambda score: score.__name__)
any_score = pytest.mark.parametrize(
    "score",
    [*(partial(score, k=4) for score in AT_K), RPrecision()],
    ids=[*(score.__name__ for score in AT_K), "RPrecision"],
)

Y_TRUE = np.array([0, 1, 1, 0, 1, 0, 0, 1, 0])
Y_SCORE = np.array([0.2, 0.9, 0.5, 0.5, 0.5, 0.7, 0.1, 0.3, 0.3])


def over_orders(y_true, y_score, value_of_labels):
    """Mean of a function of the ordered labels over all orders that the scores allow."""
    levels = sorted(set(y_score), reverse=True)
    blocks = [[int(y) for y, s in zip(y_true, y_score, strict=True) if s == v] for v in levels]
    orders = itertools.product(*(itertools.permutations(block) for block in blocks))
    values = [value_of_labels(list(itertools.chain(*order))) for order in orders]
    return float(sum(values, start=Fraction(0)) / len(values))


@pytest.mark.parametrize("k", range(1, 10))
def test_ties_are_broken_at_random(k):
    m = int(Y_TRUE.sum())
    recall = over_orders(Y_TRUE, Y_SCORE, lambda labels: Fraction(sum(labels[:k]), m))
    precision = over_orders(Y_TRUE, Y_SCORE, lambda labels: Fraction(sum(labels[:k]), k))
    assert recall_at_k_score(Y_TRUE, Y_SCORE, k=k) == pytest.approx(recall, rel=1e-15)
    assert precision_at_k_score(Y_TRUE, Y_SCORE, k=k) == pytest.approx(precision, rel=1e-15)
    if k == m:
        assert RPrecision()(Y_TRUE, Y_SCORE) == pytest.approx(precision, rel=1e-15)
        assert RPrecision()(Y_TRUE, Y_SCORE) == pytest.approx(recall, rel=1e-15)


def test_without_ties_scikit_learn_agrees():
    rng = np.random.default_rng(0)
    y_true, y_score = rng.integers(0, 2, size=40), rng.normal(size=40)
    for k in (1, 7, 20, 40):
        selected = np.zeros(40, dtype=int)
        selected[np.argsort(-y_score)[:k]] = 1
        assert recall_at_k_score(y_true, y_score, k=k) == recall_score(y_true, selected)
        precision = precision_score(y_true, selected)
        assert precision_at_k_score(y_true, y_score, k=k) == pytest.approx(precision, rel=1e-15)


@pytest.mark.parametrize("normalize", ["min", "positives"])
@pytest.mark.parametrize(
    "tie_sizes", [(1,) * 6, (2, 3, 1), (1, 4, 1), (5,), pytest.param((6,), marks=pytest.mark.long)]
)
def test_average_precision_at_k_by_breaking_ties_in_all_ways(tie_sizes, normalize):
    n = sum(tie_sizes)
    for m in (1, 2, 4):
        for ranks in placements(n, m):
            y_true, y_score = labels_and_scores(tie_sizes, ranks)
            ends = np.cumsum(tie_sizes)
            hits = np.diff(np.append(0, np.cumsum(y_true)[ends - 1]))
            for k in range(1, n + 1):
                expected = average_precision_at_k_by_tie_breaking(
                    tie_sizes, hits.tolist(), k, normalize
                )
                score = average_precision_at_k_score(y_true, y_score, k=k, normalize=normalize)
                assert score == pytest.approx(float(expected), rel=1e-13)


def test_special_cases_of_average_precision_at_k():
    score = partial(average_precision_at_k_score, Y_TRUE, Y_SCORE)
    assert score(k=9) == pytest.approx(average_precision_score(Y_TRUE, Y_SCORE), rel=1e-14)
    assert score(k=1) == precision_at_k_score(Y_TRUE, Y_SCORE, k=1)
    for y_score in (np.zeros(9), Y_SCORE):
        at_one = average_precision_at_k_score(Y_TRUE, y_score, k=1)
        assert at_one == pytest.approx(precision_at_k_score(Y_TRUE, y_score, k=1), rel=1e-15)
    constant = average_precision_at_k_score(Y_TRUE, np.zeros(9), k=1)
    assert constant == pytest.approx(4 / 9, rel=1e-15)


@pytest.mark.parametrize("k", [1, 4, 0.3, 9])
def test_scores_are_the_statistics_of_the_tests(k):
    for score, test in (
        (recall_at_k_score, recall_at_k_test),
        (precision_at_k_score, precision_at_k_test),
    ):
        assert score(Y_TRUE, Y_SCORE, k=k) == test(Y_TRUE, Y_SCORE, k=k).statistic
    by_positives = metric_test(Y_TRUE, Y_SCORE, metric=AveragePrecision(k, "positives")).statistic
    at_k = metric_test(Y_TRUE, Y_SCORE, metric=AveragePrecision(k)).statistic
    assert average_precision_at_k_score(Y_TRUE, Y_SCORE, k=k) == at_k
    score = average_precision_at_k_score(Y_TRUE, Y_SCORE, k=k, normalize="positives")
    assert score == by_positives


@any_score
def test_kinds_of_input(score):
    expected = score(Y_TRUE, Y_SCORE)
    assert type(expected) is float
    index = np.arange(9)[::-1]
    frame = pd.Series(Y_TRUE, index=index), pd.Series(Y_SCORE, index=index)
    words = np.where(Y_TRUE == 1, "spam", "ham")
    assert score(*frame) == expected
    assert score(Y_TRUE.tolist(), Y_SCORE.tolist()) == expected
    assert score(words, Y_SCORE, pos_label="spam") == expected
    assert score(words.astype(object), Y_SCORE, pos_label="spam") == expected
    assert score(Ranking.from_scores(Y_TRUE, Y_SCORE)) == expected
    assert score(1 - Y_TRUE, Y_SCORE, pos_label=0) == expected


@any_score
def test_polars(score):
    polars = pytest.importorskip("polars")
    series = polars.Series(Y_TRUE.tolist()), polars.Series(Y_SCORE.tolist())
    assert score(*series) == score(Y_TRUE, Y_SCORE)


@any_score
def test_perfect_and_worst(score):
    y_true = np.array([1, 1, 1, 1, 0, 0, 0, 0])
    assert score(y_true, np.arange(8)[::-1]) == 1.0
    assert score(y_true, np.arange(8)) == 0.0


@any_score
def test_no_positives(score):
    with pytest.warns(UndefinedMetricWarning, match="undefined without positives in y_true and is"):
        assert score(np.zeros(6, int), np.arange(6)) == 0.0


def test_only_positives():
    y_true = np.ones(6, int)
    assert recall_at_k_score(y_true, np.arange(6), k=3) == 0.5
    assert precision_at_k_score(y_true, np.arange(6), k=3) == 1.0
    assert average_precision_at_k_score(y_true, np.arange(6), k=3) == 1.0
    assert RPrecision()(y_true, np.arange(6)) == 1.0


@pytest.mark.parametrize("n_samples", [10, 100, 700])
def test_a_fraction_is_its_decimal_value(n_samples):
    # 0.07 * 100 is above 7 in floating point.
    y_true, y_score = np.ones(n_samples, int), np.arange(n_samples)
    rounded_off = 0
    for hundredths in range(1, 100):
        k = math.ceil(Fraction(hundredths, 100) * n_samples)
        rounded_off += math.ceil(hundredths / 100 * n_samples) != k
        assert recall_at_k_score(y_true, y_score, k=hundredths / 100) == k / n_samples
    assert rounded_off or n_samples == 10


def test_the_smallest_fraction_is_one_sample():
    for k in (1e-300, 1e-12, 1e-10):
        assert recall_at_k_score(np.ones(8, int), np.arange(8), k=k) == 1 / 8
        assert precision_at_k_score(Y_TRUE, Y_SCORE, k=k) == 1.0
        assert average_precision_at_k_score(Y_TRUE, Y_SCORE, k=k) == 1.0
        assert metric_test(Y_TRUE, Y_SCORE, metric=f"precision@{k}").pvalue == pytest.approx(4 / 9)


@at_k
def test_refusals(score):
    with pytest.raises(ValueError, match="k must be between 1 and n_samples=9; got 10"):
        score(Y_TRUE, Y_SCORE, k=10)
    with pytest.raises(ValueError, match="k as a float is a fraction"):
        score(Y_TRUE, Y_SCORE, k=2.0)
    with pytest.raises(TypeError, match="k must be an int or a float; got None"):
        score(Y_TRUE, Y_SCORE, k=None)
    with pytest.raises(TypeError, match=r"k must be an int or a float; got \[1, 2\]"):
        score(Y_TRUE, Y_SCORE, k=[1, 2])
    with pytest.raises(TypeError, match="y_score is missing"):
        score(Y_TRUE, k=3)
    with pytest.raises(ValueError, match="y_score must be finite; got nan at position 2"):
        score([0, 1, 1], [1, 2, np.nan], k=2)
    with pytest.raises(ValueError, match="pos_label=2 is not a label of y_true"):
        score(Y_TRUE, Y_SCORE, k=3, pos_label=2)


def test_refused_divisor():
    with pytest.raises(ValueError, match="normalize must be one of 'min', 'positives'; got 'k'"):
        average_precision_at_k_score(Y_TRUE, Y_SCORE, k=3, normalize="k")


@pytest.mark.parametrize(
    ("score", "options"), [*((score, {"k": 4}) for score in AT_K), (RPrecision(), {})]
)
def test_as_scorers(score, options):
    X, y = make_classification(
        n_samples=200, n_features=5, n_informative=3, weights=[0.8], random_state=0
    )
    scorer = make_scorer(score, response_method=("decision_function", "predict_proba"), **options)
    folds = StratifiedKFold(3)
    values = cross_val_score(LogisticRegression(), X, y, scoring=scorer, cv=folds)
    expected = [
        score(
            y[test],
            LogisticRegression().fit(X[train], y[train]).decision_function(X[test]),
            **options,
        )
        for train, test in folds.split(X, y)
    ]
    assert values.tolist() == expected
