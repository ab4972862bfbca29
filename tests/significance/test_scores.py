"""The score functions, by themselves and inside scikit-learn's scorers and searches."""

import math
import warnings

import numpy as np
import pytest
from oracles import count_at_least, sklearn_values
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    PredefinedSplit,
    StratifiedKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_rankinf import (
    AveragePrecision,
    Ranking,
    adjusted_average_precision_score,
    average_precision_neg_log10_pvalue,
    average_precision_pvalue,
    average_precision_test,
    metric_test,
    standardized_average_precision_score,
)

RESPONSE = ("decision_function", "predict_proba")
SCORES = [
    average_precision_pvalue,
    average_precision_neg_log10_pvalue,
    adjusted_average_precision_score,
    standardized_average_precision_score,
]
by_score = pytest.mark.parametrize("score", SCORES, ids=lambda score: score.__name__)
FIELDS = {
    average_precision_pvalue: "pvalue",
    adjusted_average_precision_score: "adjusted_statistic",
    standardized_average_precision_score: "zscore",
}

# Hits 1, 2, 4 of 8: 2 of the 56 placements have an average precision this high.
Y_TRUE, Y_SCORE = [1, 1, 0, 1, 0, 0, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]


@pytest.fixture(scope="module")
def problem():
    """A rare-target problem that a linear model can partly solve."""
    return make_classification(
        n_samples=240, n_features=6, n_informative=3, weights=[0.85], class_sep=1.2, random_state=4
    )


def as_scorer(score, **options):
    better = score is not average_precision_pvalue
    return make_scorer(score, response_method=RESPONSE, greater_is_better=better, **options)


@pytest.mark.parametrize(
    ("y_score", "tie_sizes"), [(Y_SCORE, (1,) * 8), ([3, 3, 2, 2, 2, 1, 1, 1], (2, 3, 3))]
)
def test_values_against_enumeration(y_score, tie_sizes):
    values, observed = sklearn_values(8, 3, tie_sizes), average_precision_score(Y_TRUE, y_score)
    pvalue = count_at_least(values, observed) / math.comb(8, 3)
    expected = {
        average_precision_pvalue: pvalue,
        average_precision_neg_log10_pvalue: -math.log10(pvalue),
        adjusted_average_precision_score: (observed - values.mean()) / (1 - values.mean()),
        standardized_average_precision_score: (observed - values.mean()) / values.std(),
    }
    for score, value in expected.items():
        assert score(Y_TRUE, y_score) == pytest.approx(value, rel=1e-9)
        assert type(score(Y_TRUE, y_score)) is float


@pytest.mark.parametrize("options", [{}, {"k": 3}, {"k": 0.25, "normalize": "positives"}])
def test_values_are_those_of_the_test(options):
    result = metric_test(Y_TRUE, Y_SCORE, metric=AveragePrecision(**options))
    for score, field in FIELDS.items():
        assert score(Y_TRUE, Y_SCORE, **options) == getattr(result, field)
    neg_log10 = average_precision_neg_log10_pvalue(Y_TRUE, Y_SCORE, **options)
    assert neg_log10 == -result.log10_pvalue


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize("method", ["analytic", "normal", "permutation"])
def test_options_reach_the_test(alternative, method):
    options = {
        "alternative": alternative,
        "method": method,
        "n_resamples": 199,
        "random_state": 5,
    }
    result = average_precision_test(Y_TRUE, Y_SCORE, **options)
    assert average_precision_pvalue(Y_TRUE, Y_SCORE, **options) == result.pvalue
    neg_log10 = average_precision_neg_log10_pvalue(Y_TRUE, Y_SCORE, **options)
    assert neg_log10 == -result.log10_pvalue


def test_perfect_ranking():
    ranking = Ranking.from_counts([1] * 20, [1] * 3 + [0] * 17)
    assert average_precision_pvalue(ranking) == pytest.approx(1 / math.comb(20, 3), rel=1e-12)
    assert average_precision_neg_log10_pvalue(ranking) == pytest.approx(
        math.log10(math.comb(20, 3)), rel=1e-12
    )
    assert adjusted_average_precision_score(ranking) == pytest.approx(1.0, rel=1e-14)


def test_evidence_is_finite_where_the_pvalue_underflows():
    ranking = Ranking.from_counts([1] * 1500, [1] * 500 + [0] * 1000)
    assert average_precision_pvalue(ranking) == 0.0
    expected = math.log10(math.comb(1500, 500))
    assert average_precision_neg_log10_pvalue(ranking) == pytest.approx(expected, rel=1e-6)


@by_score
def test_ranking_and_text_labels(score):
    expected = score(Y_TRUE, Y_SCORE)
    assert score(Ranking.from_scores(Y_TRUE, Y_SCORE)) == expected
    text = ["rare" if label else "common" for label in Y_TRUE]
    assert score(text, Y_SCORE, pos_label="rare") == expected


@by_score
def test_refusals(score):
    with pytest.raises(ValueError, match="y_score must be finite; got nan at position 0"):
        score([0, 1], [np.nan, 1.0])
    with pytest.raises(TypeError, match="y_score is missing"):
        score([0, 1])
    with pytest.raises(ValueError, match=r"pos_label=3 is not a label of y_true"):
        score([0, 1], [0.1, 0.2], pos_label=3)
    with pytest.raises(ValueError, match=r"normalize.*'max'"):
        score([0, 1], [0.1, 0.2], k=1, normalize="max")
    with pytest.raises(TypeError, match="positional"):
        score([0, 1], [0.1, 0.2], 1)


@pytest.mark.parametrize("score", SCORES[:2], ids=lambda score: score.__name__)
def test_wrong_alternative_and_method(score):
    with pytest.raises(ValueError, match=r"alternative must be .*; got 'up'"):
        score([0, 1], [0.1, 0.2], alternative="up")
    with pytest.raises(ValueError, match=r"method.*'guess'"):
        score([0, 1], [0.1, 0.2], method="guess")


# Data that hold no evidence


@pytest.mark.parametrize(
    ("score", "value"),
    [
        (average_precision_pvalue, 1.0),
        (average_precision_neg_log10_pvalue, 0.0),
        (adjusted_average_precision_score, math.nan),
        (standardized_average_precision_score, math.nan),
    ],
)
def test_no_positives(score, value):
    with pytest.warns(UndefinedMetricWarning, match="undefined without positives in y_true"):
        found = score([0, 0, 0], [0.1, 0.2, 0.2])
    assert found == pytest.approx(value, abs=0, nan_ok=True)
    assert math.copysign(1.0, found) == 1.0 or math.isnan(found)


@pytest.mark.parametrize(("score", "value"), [(SCORES[0], 1.0), (SCORES[1], 0.0)])
@pytest.mark.parametrize("y_true", [[1, 1, 1], [0, 1, 1]])
def test_pvalue_without_variation(score, value, y_true):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = score(y_true, [0.5, 0.5, 0.5])
    assert found == value
    assert math.copysign(1.0, found) == 1.0


@pytest.mark.parametrize("score", SCORES[2:], ids=lambda score: score.__name__)
def test_only_positives(score):
    with pytest.warns(UndefinedMetricWarning, match="undefined without negatives in y_true"):
        assert math.isnan(score([1, 1, 1], [0.1, 0.2, 0.2]))


def test_constant_score():
    assert adjusted_average_precision_score([0, 1, 0], [0.5, 0.5, 0.5]) == 0.0
    with pytest.warns(UndefinedMetricWarning, match="undefined without unequal scores"):
        assert math.isnan(standardized_average_precision_score([0, 1, 0], [0.5, 0.5, 0.5]))


# In scikit-learn


@by_score
@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        KNeighborsClassifier(5),
        SVC(),
    ],
    ids=["decision_function", "predict_proba", "svm"],
)
def test_cross_val_score(score, estimator, problem):
    X, y = problem
    cv = StratifiedKFold(3)
    found = cross_val_score(estimator, X, y, cv=cv, scoring=as_scorer(score), error_score="raise")
    sign = -1 if score is average_precision_pvalue else 1
    for value, (train, test) in zip(found, cv.split(X, y), strict=True):
        model = estimator.fit(X[train], y[train])
        response = (
            model.decision_function(X[test])
            if hasattr(model, "decision_function")
            else model.predict_proba(X[test])[:, 1]
        )
        assert value == sign * score(y[test], response)


@by_score
def test_text_labels_through_a_scorer(score, problem):
    X, y = problem
    text = np.where(y == 1, "a rare one", "common")  # the positive label sorts first
    cv = StratifiedKFold(3)
    for estimator in (LogisticRegression(), KNeighborsClassifier(5)):
        numbers = cross_val_score(estimator, X, y, cv=cv, scoring=as_scorer(score))
        texts = cross_val_score(
            estimator, X, text, cv=cv, scoring=as_scorer(score, pos_label="a rare one")
        )
        np.testing.assert_allclose(texts, numbers, rtol=1e-7)


@by_score
def test_grid_search(score, problem):
    X, y = problem
    grid = {"n_neighbors": [1, 5, 15]}
    search = GridSearchCV(
        KNeighborsClassifier(), grid, scoring=as_scorer(score), cv=3, error_score="raise"
    ).fit(X, y)
    means = search.cv_results_["mean_test_score"]
    assert np.isfinite(means).all()
    assert search.best_index_ == np.argmax(means)
    expected = [
        cross_val_score(KNeighborsClassifier(n), X, y, cv=3, scoring=as_scorer(score)).mean()
        for n in grid["n_neighbors"]
    ]
    np.testing.assert_allclose(means, expected, rtol=1e-12)


def test_several_scorers_in_one_search(problem):
    X, y = problem
    scoring = {score.__name__: as_scorer(score, k=0.2) for score in SCORES}
    found = cross_validate(LogisticRegression(), X, y, cv=3, scoring=scoring, error_score="raise")
    np.testing.assert_allclose(
        found["test_average_precision_neg_log10_pvalue"],
        -np.log10(-found["test_average_precision_pvalue"]),
        rtol=1e-10,
    )
    search = GridSearchCV(
        KNeighborsClassifier(),
        {"n_neighbors": [3, 9]},
        scoring=scoring,
        refit="average_precision_neg_log10_pvalue",
        cv=3,
    ).fit(X, y)
    assert search.best_index_ == np.argmax(
        search.cv_results_["mean_test_average_precision_neg_log10_pvalue"]
    )


@pytest.fixture(scope="module")
def problem_with_empty_fold(problem):
    """The last of three folds has no positives."""
    X, y = problem
    folds = np.arange(len(y)) % 2
    folds[np.flatnonzero(y == 0)[:40]] = 2
    return X, y, PredefinedSplit(folds)


@pytest.mark.parametrize(
    ("score", "value"),
    [
        (average_precision_pvalue, -1.0),
        (average_precision_neg_log10_pvalue, 0.0),
        (adjusted_average_precision_score, math.nan),
        (standardized_average_precision_score, math.nan),
    ],
)
def test_fold_without_positives(score, value, problem_with_empty_fold):
    X, y, cv = problem_with_empty_fold
    with pytest.warns(UndefinedMetricWarning, match="undefined without positives in y_true"):
        found = cross_val_score(
            LogisticRegression(), X, y, cv=cv, scoring=as_scorer(score), error_score="raise"
        )
    assert np.isfinite(found[:2]).all()
    assert found[2] == pytest.approx(value, abs=0, nan_ok=True)


def test_search_goes_on_after_a_fold_without_positives(problem_with_empty_fold):
    X, y, cv = problem_with_empty_fold
    scorer = as_scorer(average_precision_neg_log10_pvalue)
    search = GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0]}, scoring=scorer, cv=cv)
    with pytest.warns(UndefinedMetricWarning, match="undefined without positives in y_true"):
        search.fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > 0


def test_constant_estimator_has_no_evidence(problem):
    X, y = problem
    estimator = DummyClassifier(strategy="prior")
    evidence = as_scorer(average_precision_neg_log10_pvalue)
    assert cross_val_score(estimator, X, y, cv=3, scoring=evidence).tolist() == [0.0] * 3
    adjusted = as_scorer(adjusted_average_precision_score)
    assert cross_val_score(estimator, X, y, cv=3, scoring=adjusted).tolist() == [0.0] * 3
