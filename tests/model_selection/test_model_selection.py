"""Conclusions from folds and from searches, against the same computed by hand."""

import itertools
import math
import pickle
import re
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from estimators import MeansClassifier
from oracles import average_precision_of
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_validate,
    permutation_test_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from sklearn_rankinf import (
    average_precision_significance_scorer,
    average_precision_test,
    cross_val_significance,
    make_significance_scorer,
    recall_at_k_test,
    search_permutation_test,
)
from sklearn_rankinf._model_selection.search import SearchPermutationTestResult
from sklearn_rankinf._model_selection.significance import combined_log_pvalue
from sklearn_rankinf._results import format_pvalue

CV = StratifiedKFold(4, shuffle=True, random_state=0)
MEANS, NEIGHBOURS = MeansClassifier(), KNeighborsClassifier(7)
COMBINATIONS = ("bonferroni", "twice_mean", "cauchy", "fisher")


@pytest.fixture(scope="module")
def data():
    """One item in six is positive, and half hidden in noise."""
    return make_classification(
        120,
        n_features=6,
        n_informative=2,
        weights=[0.84],
        flip_y=0.1,
        class_sep=0.7,
        random_state=2,
    )


def by_hand(estimator, X, y, test=average_precision_test, cv=CV, response="decision_function", **o):
    """Fit and test fold by fold, without scikit-learn's cross-validation."""
    results = []
    for train, held_out in cv.split(X, y):
        scores = getattr(clone(estimator).fit(X[train], y[train]), response)(X[held_out])
        results.append(test(y[held_out], scores[:, 1] if scores.ndim == 2 else scores, **o))
    return results


def frozen(scores):
    """Items with one feature, and a scorer fitted to others whose scores are that feature."""
    X = np.asarray(scores, dtype=float)[:, None]
    fitted = LinearRegression(fit_intercept=False).fit([[1.0], [2.0]], [1.0, 2.0])
    fitted.coef_[:] = 1.0
    return FrozenEstimator(fitted), X


def predicting(metric="average_precision", **options):
    """A metric of estimators that rank by their predictions."""
    return make_significance_scorer(metric, response_method="predict", **options)


# The folds.


@pytest.mark.parametrize(
    ("estimator", "response"),
    [(MEANS, "decision_function"), (NEIGHBOURS, "predict_proba")],
)
def test_folds_are_tested_by_themselves(estimator, response, data):
    X, y = data
    result = cross_val_significance(estimator, X, y, cv=CV)
    expected = by_hand(estimator, X, y, response=response)
    assert result.n_splits == len(expected) == 4
    # Distributions of folds of one size may be shared, in another order of questions.
    pvalues, logs = zip(*[(test.pvalue, test.log10_pvalue) for test in expected], strict=True)
    assert result.fold_pvalues == pytest.approx(pvalues, rel=1e-12, abs=0.0)
    assert result.fold_log10_pvalues == pytest.approx(logs, rel=1e-12)
    assert result.fold_statistics.tolist() == [test.statistic for test in expected]
    assert result.statistic == pytest.approx(np.mean([test.statistic for test in expected]))
    for own, other in zip(result.fold_tests, expected, strict=True):
        assert own.null_distribution.mean() == other.null_distribution.mean()
    assert result.null_distribution is None
    assert result.permuted_statistics is None


def test_metric_at_k_and_its_options(data):
    X, y = data
    options = {"n_resamples": 199, "random_state": 3}
    scorer = make_significance_scorer("recall@0.2", method="permutation", n_resamples=7)
    result = cross_val_significance(MEANS, X, y, cv=CV, metric=scorer, **options)
    expected = by_hand(MEANS, X, y, recall_at_k_test, k=0.2, method="permutation", **options)
    assert result.fold_pvalues.tolist() == [test.pvalue for test in expected]


def test_string_labels(data):
    X, y = data
    answers = np.where(y == 1, "a", "b")  # the positive label comes first
    plain = cross_val_significance(MEANS, X, y, cv=CV)
    scorer = make_significance_scorer(pos_label="a")
    named = cross_val_significance(MEANS, X, answers, cv=CV, metric=scorer)
    assert named.fold_pvalues == pytest.approx(plain.fold_pvalues, rel=1e-9, abs=0.0)
    options = {"cv": CV, "method": "refit", "n_resamples": 2}
    refits = cross_val_significance(MEANS, X, y, **options)
    named = cross_val_significance(MEANS, X, answers, metric=scorer, **options)
    assert named.permuted_statistics == pytest.approx(refits.permuted_statistics)


def test_copied_scorers_are_read_too(data):
    X, y = data
    scorer = make_significance_scorer("roc_auc", method="normal", response_method="predict_proba")
    model = LogisticRegression()
    search = clone(GridSearchCV(model, {}, scoring=scorer))
    expected = cross_val_significance(model, X, y, cv=CV, metric=scorer)
    assert expected.fold_tests[0].method == "normal"
    for copied in (search.scoring, pickle.loads(pickle.dumps(scorer))):
        found = cross_val_significance(model, X, y, cv=CV, metric=copied)
        assert found.to_dict() == expected.to_dict()


@pytest.mark.parametrize("container", ["list", "frame", "sparse"])
def test_containers(container, data):
    X, y = data
    convert = {"list": np.ndarray.tolist, "frame": pd.DataFrame, "sparse": sparse.coo_array}
    labels = {"list": y.tolist(), "frame": pd.Series(y, index=np.arange(120) + 5), "sparse": y}
    plain = cross_val_significance(NEIGHBOURS, X, y, cv=CV)
    other = cross_val_significance(NEIGHBOURS, convert[container](X), labels[container], cv=CV)
    assert other.fold_pvalues == pytest.approx(plain.fold_pvalues, rel=1e-12, abs=0.0)
    plain, other = (
        cross_val_significance(NEIGHBOURS, *data, cv=CV, method="refit", n_resamples=1)
        for data in ((X, y), (convert[container](X), labels[container]))
    )
    assert other.permuted_statistics == pytest.approx(plain.permuted_statistics)


def test_splitters_take_groups_and_iterables(data):
    X, y = data
    groups = np.arange(120) % 9
    result = cross_val_significance(MEANS, X, y, cv=GroupKFold(3), params={"groups": groups})
    splits = list(GroupKFold(3).split(X, y, groups))
    listed = cross_val_significance(MEANS, X, y, cv=iter(splits))
    assert listed.fold_pvalues.tolist() == result.fold_pvalues.tolist()


def test_parameters_reach_the_fit(data):
    X, y = data
    weights = np.where(y == 1, 50.0, 1.0)
    options = {"cv": CV, "params": {"sample_weight": weights}}
    result = cross_val_significance(MEANS, X, y, **options)
    expected = []
    for train, held_out in CV.split(X, y):
        model = clone(MEANS).fit(X[train], y[train], sample_weight=weights[train])
        scores = model.decision_function(X[held_out])
        expected.append(average_precision_test(y[held_out], scores).pvalue)
    assert result.fold_pvalues.tolist() == expected
    refits = cross_val_significance(MEANS, X, y, method="refit", n_resamples=1, **options)
    assert refits.fold_pvalues.tolist() == expected


def test_kernel_matrix(data):
    X, y = data
    linear = cross_val_significance(SVC(kernel="linear"), X, y, cv=CV)
    matrix = cross_val_significance(SVC(kernel="precomputed"), X @ X.T, y, cv=CV)
    assert matrix.fold_statistics == pytest.approx(linear.fold_statistics)


def test_regressors_rank_by_predictions(data):
    X, y = data
    result = cross_val_significance(
        LinearRegression(), X, y, cv=KFold(3), metric=predicting(), method="refit", n_resamples=1
    )
    expected = by_hand(LinearRegression(), X, y, cv=KFold(3), response="predict")
    assert result.fold_pvalues.tolist() == [test.pvalue for test in expected]


def test_results_of_cross_validate(data):
    X, y = data
    fitted = cross_validate(MEANS, X, y, cv=CV, return_estimator=True, return_indices=True)
    again = cross_val_significance(fitted, X, y, method="twice_mean")
    direct = cross_val_significance(MEANS, X, y, cv=CV, method="twice_mean")
    assert again.fold_pvalues.tolist() == direct.fold_pvalues.tolist()
    assert again.pvalue == direct.pvalue


def test_folds_of_one_class(data):
    X, y = data
    order = np.argsort(y, kind="stable")  # all positives at the end
    with pytest.warns(UndefinedMetricWarning) as caught:
        result = cross_val_significance(
            frozen(X[:, 0])[0], X[order][:, :1], y[order], cv=KFold(6), metric=predicting()
        )
    texts = [str(w.message) for w in caught if w.category is UndefinedMetricWarning]
    assert len(texts) == 1
    assert texts[0] == (
        "5 of 6 folds have only one class (0, 1, 2, 3, 5), so their p-value "
        "is set to 1: use stratified folds, which spread the positives evenly."
    )
    assert np.delete(result.fold_pvalues, 4).tolist() == [1.0] * 5
    assert result.fold_statistics[:4].tolist() == [0.0] * 4
    assert result.pvalue == pytest.approx(6 * result.fold_pvalues[4], rel=1e-12, abs=0.0)


# Combinations.


@pytest.mark.parametrize("n_folds", [1, 2, 5, 10])
def test_combinations_against_their_formulas(n_folds):
    rng = np.random.default_rng(n_folds)
    for scale in (1.0, 1.0, 3.0, 8.0):
        pvalues = rng.random(n_folds) ** scale
        found = {c: math.exp(combined_log_pvalue(np.log(pvalues), c)) for c in COMBINATIONS}
        exact = [Fraction(p) for p in pvalues]
        expected = {
            "bonferroni": float(min(Fraction(1), n_folds * min(exact))),
            "twice_mean": float(min(Fraction(1), 2 * sum(exact) / n_folds)),
            "fisher": stats.combine_pvalues(pvalues, method="fisher").pvalue,
        }
        for combine, value in expected.items():
            assert found[combine] == pytest.approx(value, rel=1e-10, abs=0.0), combine
        # The Cauchy variable with an upper tail of p is tan(pi / 2 - pi p) = 1 / tan(pi p).
        mean = np.mean(1.0 / np.tan(np.pi * pvalues))
        assert 1.0 / math.tan(math.pi * found["cauchy"]) == pytest.approx(mean, rel=1e-10)
        assert found["cauchy"] == pytest.approx(stats.cauchy.sf(mean), rel=1e-5, abs=0.0)


def test_combinations_of_pvalues_below_the_smallest_float():
    ln10 = math.log(10.0)
    logs = np.array([-400.0, -300.0, -0.5]) * ln10
    assert combined_log_pvalue(logs, "bonferroni") == pytest.approx(-400 * ln10 + math.log(3))
    # Of tangents 1 / (pi p) the first is all there is, of means of p-values the last.
    assert combined_log_pvalue(logs, "cauchy") == pytest.approx(-400 * ln10 + math.log(3))
    assert combined_log_pvalue(logs[:2], "twice_mean") == pytest.approx(-300 * ln10, rel=1e-14)
    same = np.full(4, -1000.0)
    assert combined_log_pvalue(same, "cauchy") == pytest.approx(-1000.0, rel=1e-14)
    with localcontext() as context:
        context.prec = 50
        total = -sum(map(Decimal, logs.tolist()))
        tail = sum(total**power / math.factorial(power) for power in range(3))
        expected = float(-total + tail.ln())
    assert combined_log_pvalue(logs, "fisher") == pytest.approx(expected, rel=1e-13)


def test_cauchy_is_smooth_where_its_asymptote_takes_over():
    logs = np.array([[least, -3.0, -0.1] for least in (-599.0, -600.0, -600.0 - 1e-9, -601.0)])
    found = [combined_log_pvalue(row, "cauchy") for row in logs]
    assert found == pytest.approx(logs[:, 0] + math.log(3.0), rel=1e-14)


def test_edges_of_combinations():
    for combine in COMBINATIONS:
        assert combined_log_pvalue(np.zeros(3), combine) == 0.0
        assert combined_log_pvalue(np.array([-math.inf, -1.0]), combine) == -math.inf
    # tan(pi / 2) is infinite: a fold without evidence outweighs all others.
    assert combined_log_pvalue(np.array([-50.0, 0.0]), "cauchy") == 0.0
    assert combined_log_pvalue(np.array([-50.0, 0.0]), "bonferroni") == -50.0 + math.log(2.0)


@pytest.mark.parametrize("combine", ["bonferroni", "twice_mean", "cauchy"])
def test_combined_pvalue_of_a_result(combine, data):
    X, y = data
    result = cross_val_significance(NEIGHBOURS, X, y, cv=CV, method=combine)
    log_pvalue = combined_log_pvalue(result.fold_log10_pvalues * math.log(10.0), combine)
    assert result.pvalue == math.exp(log_pvalue)
    assert result.log10_pvalue == pytest.approx(math.log10(result.pvalue))
    assert result.method == combine


def test_perfect_folds_have_a_pvalue_below_the_smallest_float():
    scorer, X = frozen(np.arange(4400.0))
    y = (X[:, 0] >= 3600.0).astype(int)
    result = cross_val_significance(scorer, X, y, cv=StratifiedKFold(2), metric=predicting())
    expected = math.log10(2.0) - math.log10(math.comb(2200, 400))
    assert result.pvalue == 0.0
    assert result.log10_pvalue == pytest.approx(expected, rel=1e-12)
    assert f"(statistic=1, pvalue={format_pvalue(expected)}, " in repr(result)


def test_fisher_for_folds_that_train_on_the_past(data):
    X, y = data
    cv = TimeSeriesSplit(3)
    result = cross_val_significance(NEIGHBOURS, X, y, cv=cv, method="fisher")
    expected = stats.combine_pvalues(result.fold_pvalues, method="fisher")
    assert result.pvalue == pytest.approx(expected.pvalue, rel=1e-10, abs=0.0)
    assert result.null_distribution is None


@pytest.mark.parametrize(
    ("cv", "fold"),
    [
        (StratifiedKFold(4), 0),
        (list(TimeSeriesSplit(3).split(range(120)))[::-1], 0),
        (
            [
                (np.arange(40), np.arange(40, 65)),
                (np.r_[:40, 95:100], np.arange(65, 95)),
                (np.arange(95), np.arange(95, 120)),
            ],
            1,
        ),
    ],
)
def test_fisher_refuses_folds_that_train_on_the_future(cv, fold, data):
    X, y = data
    message = (
        "needs folds that train only on the past, such as those of TimeSeriesSplit, "
        f"but fold {fold} trains on items that are held out in a later fold: use "
        "another cv, or method='bonferroni', which is valid for any folds"
    )
    with pytest.raises(ValueError, match=message):
        cross_val_significance(MEANS, X, y, cv=cv, method="fisher")


@pytest.mark.parametrize("combine", ["fisher", "convolution"])
def test_samples_held_out_twice(combine, data):
    X, y = data
    message = f"method='{combine}' needs folds that hold out different items"
    cv = ShuffleSplit(3, test_size=0.4, random_state=0)
    with pytest.raises(ValueError, match=message):
        cross_val_significance(MEANS, X, y, cv=cv, method=combine)


# The distribution of the mean over folds.


def enumerated_share(y, scores, metric, observed, folds):
    """Share of the labellings within folds with a mean of the metric at least as large."""
    distributions = []
    for fold in folds:
        own, n_positives = np.asarray(scores)[fold], int(y[fold].sum())
        values = []
        for chosen in itertools.combinations(range(len(own)), n_positives):
            labels = np.zeros(len(own), dtype=int)
            labels[list(chosen)] = 1
            values.append(metric(labels, own))
        distributions.append(values)
    reached = [
        sum(values) / len(folds) >= observed - 1e-12 for values in itertools.product(*distributions)
    ]
    return Fraction(sum(reached), len(reached))


def share_at_top(labels, scores, k=3):
    return labels[np.argsort(-scores)[:k]].sum() / labels.sum()


def reciprocal_rank(labels, scores):
    return 1.0 / (1 + np.argmax(labels[np.argsort(-scores)]))


def ndcg(labels, scores):
    return ndcg_score([labels], [scores], ignore_ties=False)


def fold_by_fold(y, scores, metric="average_precision", n_splits=2, method="auto", **options):
    scorer, X = frozen(scores)
    return cross_val_significance(
        scorer,
        X,
        y,
        cv=KFold(n_splits),
        metric=predicting(metric, method=method),
        method="convolution",
        **options,
    )


@pytest.mark.parametrize("n_levels", [13, 4])
@pytest.mark.parametrize("seed", [4, 5, 6])
def test_convolution_against_enumeration(n_levels, seed):
    rng = np.random.default_rng(seed)
    scores = np.floor(n_levels * rng.permutation(13) / 13)
    y = rng.permutation(np.repeat([1, 0], [5, 8]))
    folds = [np.arange(7), np.arange(7, 13)]
    result = fold_by_fold(y, scores)
    observed = np.mean([average_precision_score(y[fold], scores[fold]) for fold in folds])
    assert result.statistic == pytest.approx(observed)
    expected = enumerated_share(y, scores, average_precision_of, observed, folds)
    assert 0 < expected < 1
    assert result.pvalue == pytest.approx(float(expected), rel=1e-9, abs=0.0)
    null = result.null_distribution
    assert null.pvalue(result.statistic) == pytest.approx(result.pvalue, rel=1e-12, abs=0.0)
    assert null.method == "analytic"
    assert repr(null) == (
        "MeanNullDistribution(AveragePrecision(), n_queries=2, "
        "n_samples=13, n_positives=5, method='analytic')"
    )


@pytest.mark.parametrize(
    ("metric", "by_hand", "options"),
    [
        ("roc_auc", roc_auc_score, {}),
        ("recall@3", share_at_top, {}),
        ("ndcg", ndcg, {}),
        ("reciprocal_rank", reciprocal_rank, {}),
        ("average_precision", average_precision_of, {"method": "permutation"}),
    ],
)
def test_convolution_of_metrics_against_enumeration(metric, by_hand, options):
    rng = np.random.default_rng(4)
    is_tied = metric not in ("recall@3", "reciprocal_rank")
    scores = rng.integers(4, size=13) if is_tied else rng.permutation(13)
    y = rng.permutation(np.repeat([1, 0], [5, 8]))
    folds = [np.arange(7), np.arange(7, 13)]
    result = fold_by_fold(y, scores, metric, n_resamples=20_000, **options)
    observed = np.mean([by_hand(y[fold], scores[fold]) for fold in folds])
    assert result.statistic == pytest.approx(observed)
    expected = float(enumerated_share(y, scores, by_hand, observed, folds))
    assert 0.0 < expected < 1.0
    if not options:
        assert result.null_distribution.method == "analytic"
        assert result.pvalue == pytest.approx(expected, rel=1e-9)
        return
    error = math.sqrt(expected * (1.0 - expected) / 20_000)
    assert result.pvalue == pytest.approx(expected, abs=4.5 * error + 1e-4)
    assert result.null_distribution.method == "permutation"


def test_convolution_by_matched_moments():
    rng = np.random.default_rng(10)
    y = rng.permutation(np.repeat([1, 0], [30, 120]))
    result = fold_by_fold(y, rng.normal(size=150) + 0.3 * y, "roc_auc", method="normal")
    distributions = [test.null_distribution for test in result.fold_tests]
    deviation = math.sqrt(sum(null.var() for null in distributions)) / 2
    expected = stats.norm.sf(
        result.statistic, np.mean([null.mean() for null in distributions]), deviation
    )
    assert result.pvalue == pytest.approx(expected, rel=1e-9, abs=0.0)
    assert result.null_distribution.method == "normal"


@pytest.mark.parametrize("method", ["analytic", "permutation"])
def test_distribution_of_the_mean_survives_pickling(method):
    rng = np.random.default_rng(3)
    y = rng.permutation(np.repeat([1, 0], [5, 21]))
    result = fold_by_fold(y, rng.normal(size=26), method=method)
    null = pickle.loads(pickle.dumps(result)).null_distribution
    assert null.pvalue(result.statistic) == pytest.approx(result.pvalue, rel=1e-12, abs=0.0)
    assert null.std() == result.null_distribution.std()


def test_distribution_of_the_mean_with_one_fold_that_varies():
    scorer, X = frozen([5.0, 4.0, 3.0, 2.0, 1.0, 0.0, 3.0, 2.0])
    y = np.array([1, 0, 1, 0, 0, 0, 0, 0])
    cv = [(np.arange(6, 8), np.arange(6)), (np.arange(6), np.arange(6, 8))]
    options = {"cv": cv, "method": "convolution", "metric": predicting()}
    with pytest.warns(UndefinedMetricWarning, match="1 of 2 folds"):
        result = cross_val_significance(scorer, X, y, **options)
    assert result.pvalue == pytest.approx(result.fold_pvalues[0])
    of_first = result.fold_tests[0].null_distribution
    assert result.null_distribution.mean() == pytest.approx(of_first.mean() / 2)


@pytest.mark.parametrize("metric", ["average_precision", "roc_auc", "dcg"])
def test_best_value_of_the_mean(metric):
    y = np.repeat([0, 1, 0, 1], [6, 4, 5, 5])
    result = fold_by_fold(y, np.arange(20.0), metric)
    assert result.null_distribution.support()[1] == pytest.approx(result.statistic)
    if metric == "average_precision":
        assert result.pvalue == pytest.approx(1 / (math.comb(10, 4) * math.comb(10, 5)))
    else:
        assert result.pvalue < 0.001


def test_convolution_refuses_estimators_that_are_fitted(data):
    X, y = data
    message = (
        "method='convolution' needs independent folds, but the folds of a MeansClassifier that "
        "is fitted in each fold are dependent: pass a FrozenEstimator"
    )
    with pytest.raises(ValueError, match=message):
        cross_val_significance(MEANS, X, y, cv=CV, method="convolution")


def test_convolution_refuses_methods_without_a_mean(data):
    X, y = data
    message = "method='zhang_su' of the scorer has no null distribution of the mean"
    with pytest.raises(ValueError, match=message):
        fold_by_fold(y, X[:, 0], n_splits=7, method="zhang_su")


def test_convolution_of_a_share_of_unequal_folds(data):
    X, y = data
    result = fold_by_fold(y, X[:, 0], "recall@0.2", n_splits=11)
    of_folds = [test.null_distribution for test in result.fold_tests]
    assert len({null.statistic for null in of_folds}) == 2
    assert result.null_distribution.method == "analytic"
    assert result.null_distribution.mean() == pytest.approx(
        np.mean([null.mean() for null in of_folds]), rel=1e-12
    )


def test_folds_of_a_frozen_scorer_may_go_to_fisher(data):
    X, y = data
    scorer, X = frozen(X[:, 0])
    result = cross_val_significance(scorer, X, y, cv=KFold(3), method="fisher", metric=predicting())
    expected = stats.combine_pvalues(result.fold_pvalues, method="fisher").pvalue
    assert result.pvalue == pytest.approx(expected, rel=1e-10, abs=0.0)


# Refits.


def test_refits_against_a_plain_loop(data):
    X, y = data
    cv, groups = GroupKFold(4), np.arange(120) % 12
    options = {"method": "refit", "n_resamples": 12, "random_state": 5}
    result = cross_val_significance(NEIGHBOURS, X, y, cv=cv, params={"groups": groups}, **options)

    def mean(labels):
        scores = []
        for train, held_out in cv.split(X, labels, groups):
            fitted = clone(NEIGHBOURS).fit(X[train], labels[train])
            response = fitted.predict_proba(X[held_out])[:, 1]
            scores.append(average_precision_score(labels[held_out], response))
        return np.mean(scores)

    # The groups stay where they are, and labels are permuted across them.
    expected = [
        mean(y[np.random.default_rng(child).permutation(120)])
        for child in np.random.SeedSequence(5).spawn(12)
    ]
    assert result.permuted_statistics == pytest.approx(expected)
    assert result.statistic == pytest.approx(mean(y))
    n_reached = np.sum(np.array(expected) >= mean(y))
    assert result.pvalue == (1 + n_reached) / 13
    assert result.log10_pvalue == pytest.approx(math.log10(result.pvalue))
    assert result.pvalue_is_bound == (n_reached == 0)
    assert result.pvalue_low < result.pvalue < result.pvalue_high


def test_refits_agree_with_those_of_scikit_learn(long):
    n_refits = 400 if long else 40
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(60, 2)), rng.permutation(np.arange(60) < 20).astype(int)
    X[:, 0] += 0.5 * y
    own = cross_val_significance(MEANS, X, y, cv=3, method="refit", n_resamples=n_refits)
    _, permuted, pvalue = permutation_test_score(
        MEANS,
        X,
        y,
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
        n_permutations=n_refits,
        random_state=5,
        scoring="average_precision",
    )
    assert 0.02 < pvalue < 0.98
    assert own.pvalue == pytest.approx(pvalue, abs=4 * math.sqrt(2 * 0.25 / n_refits))
    assert stats.ks_2samp(own.permuted_statistics, permuted).pvalue > 1e-3


@pytest.mark.parametrize(
    ("method", "n_resamples", "seed"),
    [
        ("bonferroni", 99, 3),
        ("bonferroni", 99, "RandomState"),
        ("refit", 3, "Generator"),
        ("refit", 3, 3),
    ],
)
def test_any_number_of_jobs_and_source_of_randomness(method, n_resamples, seed, data):
    X, y = data
    sources = {"RandomState": np.random.RandomState, "Generator": np.random.default_rng}
    results = [
        cross_val_significance(
            NEIGHBOURS,
            X,
            y,
            cv=CV,
            metric=make_significance_scorer(method="permutation"),
            method=method,
            n_resamples=n_resamples,
            random_state=sources[seed](7) if seed in sources else seed,
            n_jobs=n_jobs,
        )
        for n_jobs in (None, 2)
    ]
    for name in ("fold_pvalues", "permuted_statistics"):
        first, second = (np.array(getattr(result, name)).tolist() for result in results)
        assert first == second
    assert results[0].pvalue == results[1].pvalue


# The result.


def test_result_as_table_and_in_short(data):
    X, y = data
    result = cross_val_significance(MEANS, X, y, cv=CV)
    frame = result.to_frame()
    assert list(frame)[:3] == ["fold", "metric", "statistic"]
    assert frame["n_positives"].sum() == y.sum()
    assert frame["zscore"].tolist() == [test.zscore for test in result.fold_tests]
    assert repr(result) == (
        f"CrossValSignificanceResult(statistic={result.statistic:.4g}, "
        f"pvalue={result.pvalue:.4g}, method='bonferroni', n_splits=4)"
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "stouffer"}, ValueError, "method must be one of 'auto', 'bonf.*'stouffer'"),
        ({"metric": "accuracy"}, ValueError, "metric must be one of .*got 'accuracy'"),
        ({"metric": "recall"}, ValueError, "recall needs a cut-off"),
        ({"metric": "roc_auc@3"}, ValueError, "roc_auc has no cut-off"),
        ({"n_resamples": 0}, ValueError, "n_resamples must be at least 1; got 0"),
        ({"n_resamples": 2.5}, TypeError, "n_resamples must be an integer"),
        ({"random_state": -1}, ValueError, "random_state must be at least 0; got -1"),
        (
            {"metric": make_significance_scorer(output="all")},
            ValueError,
            "metric is a dict of 5 scorers: pass one of them",
        ),
        (
            {"metric": make_significance_scorer(pos_label="yes")},
            ValueError,
            r"pos_label='yes' is not a label of y, whose labels are 0, 1: pass "
            r"metric=make_significance_scorer\(metric, pos_label=...\) with one of them",
        ),
    ],
)
def test_options_are_checked_before_anything_is_fitted(options, error, message):
    with pytest.raises(error, match=message):
        cross_val_significance(None, np.zeros((3, 1)), [0, 1, 0], **options)


def test_a_dict_that_is_not_complete(data):
    X, y = data
    fitted = cross_validate(MEANS, X, y, cv=CV)
    message = (
        "the dict has no 'estimator' and no 'indices': call cross_validate with "
        "return_estimator=True and return_indices=True"
    )
    with pytest.raises(ValueError, match=message):
        cross_val_significance(fitted, X, y)
    fitted = cross_validate(MEANS, X, y, cv=CV, return_estimator=True, return_indices=True)
    with pytest.raises(ValueError, match="with at least 120 items; got 100"):
        cross_val_significance(fitted, X[:100], y[:100])
    for name, value in {"cv": 3, "params": {}, "method": "refit"}.items():
        with pytest.raises(ValueError, match=f"{name}.* is for fitting, but a dict of"):
            cross_val_significance(fitted, X, y, **{name: value})


def test_fits_that_fail_give_the_reason(data):
    X, y = data
    with pytest.raises(ValueError, match="n_neighbors"):
        cross_val_significance(KNeighborsClassifier(0), X, y, cv=CV)
    with pytest.raises(TypeError, match="LinearRegression has no decision_function"):
        cross_val_significance(LinearRegression(), X, y, cv=KFold(3))


# Searches.


GRID = {"n_neighbors": [3, 21]}


def permuted_by_hand(search, X, y, n_resamples, seed=0, groups=None):
    """Best scores of searches fitted to permuted labels, one after the other."""
    best = []
    for child in np.random.SeedSequence(seed).spawn(n_resamples):
        rng = np.random.default_rng(child)
        labels = y[rng.permutation(len(y))]
        fitted = clone(search).fit(X, labels, **({} if groups is None else {"groups": groups}))
        best.append(max(fitted.cv_results_["mean_test_score"]))
    return best


@pytest.mark.parametrize(
    "search",
    [
        GridSearchCV(NEIGHBOURS, GRID, cv=3, scoring="average_precision"),
        GridSearchCV(NEIGHBOURS, GRID, cv=3, scoring=average_precision_significance_scorer),
        GridSearchCV(NEIGHBOURS, GRID, cv=StratifiedKFold(3), refit=False),
        RandomizedSearchCV(NEIGHBOURS, GRID, n_iter=2, cv=3, random_state=0),
    ],
)
def test_search_against_a_plain_loop(search, data):
    X, y = data
    result = search_permutation_test(search, X, y, n_resamples=2, random_state=4)
    expected = permuted_by_hand(search, X, y, 2, 4)
    assert result.permuted_statistics.tolist() == expected
    assert result.statistic == max(clone(search).fit(X, y).cv_results_["mean_test_score"])
    assert result.pvalue == (1 + np.sum(np.array(expected) >= result.statistic)) / 3
    assert not hasattr(search, "cv_results_")


def test_groups_of_a_search_are_for_its_splitter(data):
    X, y = data
    groups = np.array(["a", "b", "c", "d", "e", "f"])[np.arange(120) % 6]
    search = GridSearchCV(NEIGHBOURS, GRID, cv=GroupKFold(3), scoring="average_precision")
    result = search_permutation_test(search, X, y, params={"groups": groups}, n_resamples=4)
    assert result.permuted_statistics.tolist() == permuted_by_hand(search, X, y, 4, 0, groups)


def test_labels_in_a_series(data):
    X, y = data
    search = GridSearchCV(NEIGHBOURS, GRID, cv=3, scoring="average_precision")
    plain = search_permutation_test(search, X, y, n_resamples=3)
    series = search_permutation_test(
        search, pd.DataFrame(X), pd.Series(y, index=np.arange(120)[::-1]), n_resamples=3
    )
    assert series.permuted_statistics.tolist() == plain.permuted_statistics.tolist()


def test_any_number_of_jobs_in_a_search(data):
    X, y = data
    search = GridSearchCV(NEIGHBOURS, GRID, cv=3, scoring="average_precision", n_jobs=2)
    one, two = (search_permutation_test(search, X, y, n_resamples=4, n_jobs=n) for n in (None, 2))
    assert one.permuted_statistics.tolist() == two.permuted_statistics.tolist()
    assert one.statistic == two.statistic
    assert search.n_jobs == 2


def test_no_refit_that_nobody_needs(data, monkeypatch):
    X, y = data
    fits = []
    fit = KNeighborsClassifier.fit
    monkeypatch.setattr(
        KNeighborsClassifier, "fit", lambda self, X, y: fits.append(len(y)) or fit(self, X, y)
    )
    search = GridSearchCV(NEIGHBOURS, GRID, cv=3, scoring="average_precision")
    search_permutation_test(search, X, y, n_resamples=2)
    assert fits == [80] * 3 * 3 * len(GRID["n_neighbors"])


def test_several_scores(data):
    X, y = data
    scoring = {"ap": "average_precision", "auc": "roc_auc"}
    search = GridSearchCV(NEIGHBOURS, GRID, cv=3, scoring=scoring, refit="auc")
    plain = GridSearchCV(NEIGHBOURS, GRID, cv=3, scoring="roc_auc")
    several, single = (search_permutation_test(s, X, y, n_resamples=3) for s in (search, plain))
    assert several.permuted_statistics.tolist() == single.permuted_statistics.tolist()
    assert several.statistic == single.statistic


def test_winner_chosen_by_a_rule(data):
    X, y = data

    def rule(cv_results):
        means, stds = cv_results["mean_test_score"], cv_results["std_test_score"]
        return int(np.flatnonzero(means >= means.max() - stds[means.argmax()])[-1])

    search = GridSearchCV(NEIGHBOURS, GRID, cv=3, scoring="roc_auc", refit=rule)
    result = search_permutation_test(search, X, y, n_resamples=2)
    fitted = clone(search).fit(X, y)
    scores = fitted.cv_results_["mean_test_score"]
    assert result.statistic == scores[rule(fitted.cv_results_)]


def test_halving(data):
    X, y = data
    search = HalvingGridSearchCV(
        NEIGHBOURS, GRID, cv=StratifiedKFold(3), scoring="roc_auc", random_state=0
    )
    result = search_permutation_test(search, X, y, n_resamples=2)
    assert result.statistic == clone(search).fit(X, y).best_score_


def test_searches_without_one_score(data):
    X, y = data
    several = {"a": "roc_auc", "b": "average_precision"}
    for refit in (False, lambda cv_results: 0):
        search = GridSearchCV(NEIGHBOURS, GRID, cv=3, scoring=several, refit=refit)
        with pytest.raises(ValueError, match=r"has several scores, and refit=.*does not select"):
            search_permutation_test(search, X, y, n_resamples=2)
    with pytest.raises(TypeError, match=r"must be an unfitted search .*got KNeighborsClassifier"):
        search_permutation_test(NEIGHBOURS, X, y)
    with pytest.raises(TypeError, match=r"must be an unfitted search .*got str"):
        search_permutation_test("grid", X, y)
    with pytest.raises(ValueError, match="n_resamples must be at least 1; got 0"):
        search_permutation_test(GridSearchCV(NEIGHBOURS, GRID), X, y, n_resamples=0)


def only_observed(estimator, X, y):
    """A score that permuted labels do not have."""
    return 0.5 if y[0] == 0 and np.all(np.diff(y) >= 0) else math.nan


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_scores_that_are_no_numbers(data):
    X, y = data[0], np.sort(data[1])
    search = GridSearchCV(NEIGHBOURS, GRID, cv=KFold(2), scoring=only_observed)
    with pytest.raises(ValueError, match="The best score of the search under permuted labels is"):
        search_permutation_test(search, X, y, n_resamples=2)
    with pytest.raises(ValueError, match="The best score of the search is nan: pass error_score"):
        search_permutation_test(search, X, y[::-1], n_resamples=2)


def test_monte_carlo_error_of_a_search():
    result = SearchPermutationTestResult(0.5, 4 / 100, np.linspace(0.0, 1.0, 99), 99)
    low, high = result.pvalue_interval(0.9)
    # P(X >= 3) = 5 % at the lower end, P(X <= 3) = 5 % at the upper one.
    assert stats.binom.sf(2, 99, low) == pytest.approx(0.05)
    assert stats.binom.cdf(3, 99, high) == pytest.approx(0.05)
    assert result.pvalue_standard_error == pytest.approx(math.sqrt(0.04 * 0.96 / 99))
    assert repr(result) == (
        "SearchPermutationTestResult(statistic=0.5, pvalue=0.04, n_resamples=99)"
    )
    with pytest.raises(ValueError, match=r"confidence_level must lie between .*; got 95"):
        result.pvalue_interval(95)


# Sentences.


@pytest.fixture(scope="module")
def fold_means(data):
    """Mean average precision over the folds, observed and by random labellings."""
    X, y = data
    drawn, values, chances = np.random.default_rng(0), [], []
    for train, test in CV.split(X, y):
        scores = clone(MEANS).fit(X[train], y[train]).decision_function(X[test])
        values.append(average_precision_score(y[test], scores))
        labellings = (drawn.permutation(y[test]) for _ in range(100))
        chances.append(np.mean([average_precision_of(own, scores) for own in labellings]))
    return np.mean(values), np.mean(chances)


@pytest.mark.parametrize(
    ("combine", "rule"),
    [
        ("bonferroni", "Bonferroni's rule"),
        ("twice_mean", "twice the mean of the p-values"),
        ("cauchy", "the Cauchy combination"),
    ],
)
def test_sentence_on_folds(data, fold_means, combine, rule):
    X, y = data
    value, chance = fold_means
    result = cross_val_significance(MEANS, X, y, cv=CV, method=combine)
    found = re.fullmatch(
        r"Mean average precision over 4 folds was (\S+) \(chance (\S+)\), p = (\S+) for better "
        rf"than chance \(exact test of each fold, combined by {rule}, one-sided; (\d+) "
        r"positives among 120 held-out items\)\.",
        result.summary(),
    )
    assert float(found[1]) == pytest.approx(value, rel=5e-3)
    assert float(found[2]) == pytest.approx(chance, rel=0.05)
    assert float(found[3]) == pytest.approx(result.pvalue, rel=0.05)
    assert int(found[4]) == y.sum()


def test_sentences_on_folds_by_permutation_and_by_the_mean(data):
    X, y = data
    options = {"cv": CV, "n_resamples": 99, "random_state": 0}
    options["metric"] = make_significance_scorer(method="permutation")
    text = cross_val_significance(MEANS, X, y, **options).summary()
    assert ", p ≤ 0.0400 for better than chance (permutation test of each fold," in text
    frozen = FrozenEstimator(clone(MEANS).fit(X, y))
    options["method"] = "convolution"
    text = cross_val_significance(frozen, X, y, **options).summary()
    assert ", p ≤ 0.0100 for better than chance (permutation test of the mean with" in text
    assert " with 99 random labellings, one-sided; " in text
    options["metric"] = "average_precision"
    result = cross_val_significance(frozen, X, y, **options)
    assert f"p = {result.pvalue:.1e} for better than" in result.summary()
    assert " (exact test of the mean, one-sided; " in result.summary()
    result = cross_val_significance(MEANS, X, y, cv=CV, method="refit", n_resamples=3)
    assert ", p ≤ 0.2500 for better than chance (3 refits to p" in result.summary()
    noise = np.random.default_rng(4).normal(size=X.shape)
    result = cross_val_significance(MEANS, noise, y, cv=CV, method="refit", n_resamples=3)
    assert result.pvalue > 0.25
    assert f", p = {result.pvalue:.4f} for better than chance" in result.summary()


@pytest.mark.parametrize(("n_as_large", "stated"), [(0, "p ≤ 0.0100"), (3, "p = 0.0400")])
def test_sentence_on_a_search(n_as_large, stated):
    permuted = np.linspace(0.2, 0.4, 99)
    result = SearchPermutationTestResult(0.512, (n_as_large + 1) / 100, permuted, 99)
    assert result.summary() == (
        f"The best score of the search was 0.512 (mean under permuted labels 0.3), {stated} for "
        "better than chance (permutation test that repeats the whole search with 99 "
        "random labellings, one-sided)."
    )
