"""Comparisons of estimators by cross-validation, against the same computed by hand."""

import math
import pickle
import re

import numpy as np
import pytest
from estimators import MeansClassifier
from joblib import parallel_config
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score
from sklearn.model_selection import (
    KFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB

from sklearn_rankinf import (
    DiscountedCumulativeGain,
    cross_val_comparison,
    cross_val_significance,
    make_significance_scorer,
    metric_comparison_test,
    metric_interval,
)
from sklearn_rankinf._model_selection.comparison import ranks_in_fold
from sklearn_rankinf._ranking import block_of_each

CV = StratifiedKFold(4, shuffle=True, random_state=0)
MEANS, BAYES = MeansClassifier(), GaussianNB()
FEW = {"n_resamples": 99}


@pytest.fixture(scope="module")
def data():
    """One item in six is positive, and half hidden in noise."""
    return make_classification(
        203,
        n_features=6,
        n_informative=2,
        weights=[0.84],
        flip_y=0.1,
        class_sep=0.7,
        random_state=2,
    )


def scores_by_hand(X, y, cv=CV):
    """Held-out items of each fold, and scores by both, fold by fold."""
    found = []
    for train, test in cv.split(X, y):
        a = clone(MEANS).fit(X[train], y[train]).decision_function(X[test])
        b = clone(BAYES).fit(X[train], y[train]).predict_proba(X[test])[:, 1]
        found.append((test, a, b))
    return found


def predicting(metric="average_precision"):
    """A metric of estimators that rank by their predictions."""
    return make_significance_scorer(metric, response_method="predict")


def column(number):
    """A scorer fitted to other items, whose scores are a feature."""
    fitted = LinearRegression(fit_intercept=False).fit(np.eye(2), [1.0, 2.0])
    fitted.coef_ = np.eye(2)[number]
    return FrozenEstimator(fitted)


FIRST, SECOND = column(0), column(1)


def splits_of(fold_of):
    return PredefinedSplit(np.asarray(fold_of))


def placements(y, scores):
    """DeLong's structural components of ROC AUC, from all pairs of a positive and a negative."""
    above = scores[y == 1][:, None] - scores[y == 0][None, :]
    wins = (above > 0) + 0.5 * (above == 0)
    return wins.mean(axis=1), wins.mean(axis=0)


def delong_variance(y, *scores):
    """DeLong's variance of one area, or of the difference of two."""
    parts = [placements(y, one) for one in scores]
    of_hits, of_misses = parts[0]
    if len(parts) == 2:
        of_hits, of_misses = (one - other for one, other in zip(*parts, strict=True))
    return of_hits.var(ddof=1) / of_hits.size + of_misses.var(ddof=1) / of_misses.size


def satterthwaite(variances, n_positives):
    variances = np.asarray(variances)
    return variances.sum() ** 2 / np.sum(variances**2 / (np.asarray(n_positives) - 1))


# The mean over folds.


def test_mean_over_folds_is_delongs_by_hand(data):
    X, y = data
    folds = scores_by_hand(X, y)
    areas = np.array([[roc_auc_score(y[t], a), roc_auc_score(y[t], b)] for t, a, b in folds])
    variances = [delong_variance(y[t], a, b) for t, a, b in folds]
    error = math.sqrt(sum(variances)) / 4
    df = satterthwaite(variances, [y[t].sum() for t, _, _ in folds])
    difference = np.mean(areas[:, 0] - areas[:, 1])
    result = cross_val_comparison(MEANS, BAYES, X, y, cv=CV, metric="roc_auc", method="mean", **FEW)
    assert result.fold_statistics_a == pytest.approx(areas[:, 0])
    assert result.fold_statistics_b == pytest.approx(areas[:, 1])
    assert result.statistic_a == pytest.approx(areas[:, 0].mean())
    assert result.statistic_b == pytest.approx(areas[:, 1].mean())
    models = result.models
    assert models.difference == result.difference == pytest.approx(difference)
    assert models.standard_error == pytest.approx(error, rel=1e-10)
    assert models.df == pytest.approx(df, rel=1e-10)
    assert models.pvalue == pytest.approx(2 * stats.t.sf(abs(difference) / error, df))
    assert models.log10_pvalue == pytest.approx(math.log10(models.pvalue))
    expected = stats.t.interval(0.9, df, difference, error)
    assert models.confidence_interval(0.9) == pytest.approx(expected)
    assert models.method == "influence"


def test_mean_over_folds_of_average_precision(data):
    """Values by scikit-learn, the variance by moving every item's weight a little."""
    X, y = (part[:60] for part in data)
    variances, values = [], []
    for test, a, b in scores_by_hand(X, y):
        labels, step = y[test], 1e-5
        slopes = np.empty(test.size)
        for item in range(test.size):
            moved = [np.ones(test.size) + sign * step * np.eye(test.size)[item] for sign in (1, -1)]
            up, down = (
                average_precision_score(labels, a, sample_weight=w)
                - average_precision_score(labels, b, sample_weight=w)
                for w in moved
            )
            slopes[item] = (up - down) / (2 * step)
        parts = [slopes[labels == kind] for kind in (0, 1)]
        variances.append(sum(part.size * part.var(ddof=1) for part in parts))
        values.append([average_precision_score(labels, scores) for scores in (a, b)])
    result = cross_val_comparison(MEANS, BAYES, X, y, cv=CV, method="mean")
    assert result.models.standard_error == pytest.approx(math.sqrt(sum(variances)) / 4, rel=1e-5)
    assert (result.statistic_a, result.statistic_b) == pytest.approx(tuple(np.mean(values, axis=0)))


def test_unequal_folds_weigh_alike():
    """The mean is over folds, not over items."""
    rng = np.random.default_rng(0)
    X, fold_of = rng.normal(size=(120, 2)), np.repeat([0, 1], [90, 30])
    y = np.arange(120) % 5 == 0
    result = cross_val_comparison(
        FIRST,
        SECOND,
        X,
        y,
        cv=splits_of(fold_of),
        metric=predicting("roc_auc"),
        method="mean",
    )
    parts = [(y[fold_of == f], X[fold_of == f]) for f in (0, 1)]
    variances = [delong_variance(labels, *rows.T) for labels, rows in parts]
    assert result.models.standard_error == pytest.approx(math.sqrt(sum(variances)) / 2)
    assert result.models.df == pytest.approx(satterthwaite(variances, [18, 6]))
    means = [np.mean([roc_auc_score(part, rows[:, c]) for part, rows in parts]) for c in (0, 1)]
    assert [result.statistic_a, result.statistic_b] == pytest.approx(means)


# Pooled.


@pytest.mark.parametrize("method", ["swap", "influence"])
def test_pooled_ranks_by_hand(method, data):
    X, y = data
    ranks = np.empty((2, y.size))
    for test, *both in scores_by_hand(X, y):
        for row, scores in enumerate(both):
            ranks[row, test] = (stats.rankdata(scores) - 0.5) / test.size
    expected = metric_comparison_test(y, np.round(ranks, 12).T, method=method, n_resamples=999)
    result = cross_val_comparison(MEANS, BAYES, X, y, cv=CV, method=method, n_resamples=999)
    values = [average_precision_score(y, np.round(row, 12)) for row in ranks]
    assert [result.statistic_a, result.statistic_b] == pytest.approx(values)
    assert result.models.difference == result.difference == pytest.approx(expected.difference)
    # Random swaps go to the samples in another order.
    allowed = 0.06 if method == "swap" else 1e-9
    assert result.models.pvalue == pytest.approx(expected.pvalue, abs=allowed)
    assert result.models.standard_error == pytest.approx(expected.standard_error)
    limits = expected.confidence_interval()
    assert result.models.confidence_interval() == pytest.approx(tuple(limits))
    assert result.models.method == method
    assert result.models.df is None


@pytest.mark.parametrize("method", ["influence", "influence_pooled_scores"])
def test_a_share_is_one_of_all_held_out_samples(method):
    """A cut-off that is a fraction counts items of the pooled list, not of a fold."""
    rng = np.random.default_rng(3)
    y, X = rng.permutation(np.arange(120) < 30).astype(int), rng.normal(size=(120, 2))
    X[:, 0] += y
    result = cross_val_comparison(
        FIRST, SECOND, X, y, cv=CV, metric=predicting("recall@0.1"), method=method
    )
    pooled = np.empty((2, 120))
    for _, test in CV.split(X, y):
        ranks = stats.rankdata(X[test], axis=0)
        pooled[:, test] = (X[test] if "scores" in method else ranks).T
    for value, scores in zip((result.statistic_a, result.statistic_b), pooled, strict=True):
        # The first 12 of the pooled ranks are the first three of each of the four folds.
        assert value == pytest.approx(y[np.argsort(-scores, kind="stable")[:12]].sum() / 30)
    assert "recall at 0.1" in result.models.target


def test_pooled_scores_are_those_of_cross_val_predict(data):
    X, y = data
    both = [
        cross_val_predict(MEANS, X, y, cv=CV, method="decision_function"),
        cross_val_predict(BAYES, X, y, cv=CV, method="predict_proba")[:, 1],
    ]
    expected = metric_comparison_test(
        y, np.column_stack(both), method="influence", metric="roc_auc"
    )
    result = cross_val_comparison(
        MEANS, BAYES, X, y, cv=CV, metric="roc_auc", method="influence_pooled_scores"
    )
    areas = [roc_auc_score(y, scores) for scores in both]
    assert [result.statistic_a, result.statistic_b] == pytest.approx(areas)
    assert result.models.pvalue == pytest.approx(expected.pvalue)
    assert result.models.confidence_interval() == pytest.approx(
        tuple(expected.confidence_interval())
    )


def test_scale_of_a_fold_changes_pooled_scores_and_not_pooled_ranks():
    rng = np.random.default_rng(1)
    y = np.arange(100) % 4 == 0
    X = rng.normal(size=(100, 2)) + y[:, None]
    fold_of = rng.permutation(np.arange(100) % 5)
    moved = X.copy()
    moved[:, 0] = np.exp(0.5 * X[:, 0]) * (1.0 + fold_of) - 3.0 * fold_of
    found = {
        method: [
            cross_val_comparison(
                FIRST,
                SECOND,
                data,
                y,
                cv=splits_of(fold_of),
                metric=predicting(),
                method=method,
                **FEW,
            )
            for data in (X, moved)
        ]
        for method in ("swap", "swap_pooled_scores")
    }
    before, after = found["swap"]
    assert before.statistic_a == after.statistic_a
    assert before.models.pvalue == after.models.pvalue
    before, after = found["swap_pooled_scores"]
    assert before.statistic_a - after.statistic_a > 0.1
    assert before.statistic_b == after.statistic_b
    assert before.fold_statistics_a.tolist() == after.fold_statistics_a.tolist()


@pytest.mark.parametrize(
    "scores", [[3.0, 1.0, 2.0], [1.0, 1.0, 1.0, 1.0], [5.0, 5.0, 7.0, 1.0, 1.0, 1.0], [2.0]]
)
def test_ranks_in_fold(scores):
    expected = (stats.rankdata(scores) - 0.5) / len(scores)
    assert ranks_in_fold(block_of_each(np.array(scores))[0]) == pytest.approx(expected, abs=1e-15)


def test_same_fraction_of_folds_of_different_sizes_is_one_float():
    small, large = (ranks_in_fold(block_of_each(np.arange(float(n)))[0]) for n in (7, 21))
    # The middle of every third of the larger fold.
    assert small.tolist() == large[1::3].tolist()


# Algorithms.


@pytest.mark.parametrize(
    ("cv", "method", "ratio"),
    [
        (CV, "auto", np.mean([51 / 152] * 3 + [50 / 153])),
        (RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0), "algorithms", None),
        (ShuffleSplit(6, test_size=0.3, random_state=3), "algorithms", 61 / 142),
    ],
)
def test_corrected_t_by_hand(cv, method, ratio, data):
    X, y = data
    d = np.array(
        [
            average_precision_score(y[t], a) - average_precision_score(y[t], b)
            for t, a, b in scores_by_hand(X, y, cv)
        ]
    )
    if ratio is None:
        ratio = np.mean([(41 / 162)] * 9 + [(40 / 163)] * 6)
    error = math.sqrt((1 / d.size + ratio) * np.sum((d - d.mean()) ** 2) / (d.size - 1))
    result = cross_val_comparison(MEANS, BAYES, X, y, cv=cv, method=method, **FEW)
    found = result.algorithms
    assert found.difference == pytest.approx(d.mean())
    assert found.standard_error == pytest.approx(error)
    assert (found.t, found.df) == (pytest.approx(d.mean() / error), d.size - 1)
    assert found.pvalue == pytest.approx(2 * stats.t.sf(abs(d.mean()) / error, d.size - 1))
    limits = stats.t.interval(0.95, d.size - 1, d.mean(), error)
    assert found.confidence_interval() == pytest.approx(limits)
    assert (result.models is None) == (method == "algorithms")
    assert "approximate" in found.note


def test_algorithms_do_not_depend_on_how_models_are_compared(data):
    X, y = data
    found = [
        cross_val_comparison(MEANS, BAYES, X, y, cv=CV, method=method, **FEW).algorithms
        for method in ("swap", "mean", "algorithms")
    ]
    assert len({one.pvalue for one in found}) == 1


# Splits.


def test_both_are_fitted_to_the_same_random_splits(data):
    X, y = data
    result = cross_val_comparison(MEANS, MEANS, X, y, cv=KFold(4, shuffle=True), method="mean")
    assert result.fold_statistics_a.tolist() == result.fold_statistics_b.tolist()
    assert result.difference == result.models.standard_error == 0.0
    assert result.models.pvalue == result.algorithms.pvalue == 1.0
    assert math.isnan(result.algorithms.t)


@pytest.mark.parametrize("fitted", [(True, True), (True, False), (False, True)])
def test_fitted_folds_are_not_fitted_again(fitted, data):
    X, y = data
    options = {"return_estimator": True, "return_indices": True}
    given = [
        cross_validate(one, X, y, cv=CV, **options) if is_fitted else one
        for one, is_fitted in zip((MEANS, BAYES), fitted, strict=True)
    ]
    expected = cross_val_comparison(MEANS, BAYES, X, y, cv=CV, **FEW)
    result = cross_val_comparison(*given, X, y, **FEW)
    assert result.to_dict() == expected.to_dict()


def test_default_folds_are_stratified_and_shuffled(data):
    X, y = data
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    expected = cross_val_comparison(MEANS, BAYES, X, y, cv=cv, method="mean")
    result = cross_val_comparison(MEANS, BAYES, X, y, method="mean")
    assert result.to_dict() == expected.to_dict()
    # A regressor next to a classifier does not change the result.
    mixed = cross_val_comparison(
        LinearRegression(),
        MEANS,
        X,
        y,
        method="mean",
        metric=make_significance_scorer(response_method=("decision_function", "predict")),
    )
    assert mixed.fold_n_positives.tolist() == expected.fold_n_positives.tolist()


def test_parameters_reach_both_fits(data):
    X, y = data
    weights = np.where(y == 1, 5.0, 1.0) * (1.0 + X[:, 0] ** 2)
    result = cross_val_comparison(
        MEANS, BAYES, X, y, cv=CV, params={"sample_weight": weights}, method="mean"
    )
    train, test = next(iter(CV.split(X, y)))
    fitted = [clone(one).fit(X[train], y[train], weights[train]) for one in (MEANS, BAYES)]
    scores = fitted[0].decision_function(X[test]), fitted[1].predict_proba(X[test])[:, 1]
    expected = [average_precision_score(y[test], one) for one in scores]
    first = [result.fold_statistics_a[0], result.fold_statistics_b[0]]
    assert first == pytest.approx(expected)


def test_result_does_not_depend_on_n_jobs(data):
    X, y = data
    with parallel_config("threading"):
        one, two = (cross_val_comparison(MEANS, BAYES, X, y, n_jobs=n, **FEW) for n in (1, 2))
    assert one.to_dict() == two.to_dict()


def test_string_labels(data):
    X, y = data
    names = np.where(y == 1, "a", "b")  # the positive label comes first
    expected = cross_val_comparison(MEANS, BAYES, X, y, cv=CV, method="mean")
    result = cross_val_comparison(
        MEANS,
        BAYES,
        X,
        names,
        cv=CV,
        method="mean",
        metric=make_significance_scorer(pos_label="a"),
    )
    assert result.models.pvalue == pytest.approx(expected.models.pvalue, rel=1e-6)


# Clusters.


@pytest.mark.parametrize("method", ["mean", "influence"])
def test_copies_in_clusters_have_the_information_of_one(method):
    """Each item twice, as one cluster, is each item once: areas do not change by copies."""
    rng = np.random.default_rng(2)
    y = np.arange(90) % 5 == 0
    X = rng.normal(size=(90, 2)) + y[:, None]
    fold_of = rng.permutation(np.arange(90) % 3)
    options = {
        "metric": predicting("roc_auc"),
        "method": method,
    }
    once = cross_val_comparison(FIRST, SECOND, X, y, cv=splits_of(fold_of), **options)
    again = np.repeat(np.arange(90), 2)
    twice, alone = (
        cross_val_comparison(
            FIRST, SECOND, X[again], y[again], cv=splits_of(fold_of[again]), **options, **more
        )
        for more in ({"clusters": again}, {})
    )
    assert twice.difference == pytest.approx(once.difference)
    assert twice.models.standard_error == pytest.approx(once.models.standard_error)
    assert twice.models.pvalue == pytest.approx(once.models.pvalue)
    assert alone.models.standard_error < 0.8 * twice.models.standard_error


def test_clusters_keep_folds_apart_by_default(data):
    X, y = data
    clusters = [f"patient {number}" for number in np.arange(y.size) // 2]
    result = cross_val_comparison(MEANS, BAYES, X, y, clusters=clusters, cv=3, **FEW)
    assert result.n_splits == 3
    with pytest.raises(ValueError, match=r"Cluster 'patient [0-9]+' is in the training set"):
        cross_val_comparison(MEANS, BAYES, X, y, clusters=clusters, cv=CV, **FEW)


# Structures.


def test_one_positive_in_each_fold():
    rng = np.random.default_rng(3)
    X, fold_of = rng.normal(size=(40, 2)), np.arange(40) % 4
    y = np.arange(40) < 4
    options = {"cv": splits_of(fold_of), "metric": predicting()}
    result = cross_val_comparison(FIRST, SECOND, X, y, **options, **FEW)
    assert 0.0 < result.models.pvalue <= 1.0
    message = re.escape("Fold 0 holds out 1 independent positives and 9 negatives")
    with pytest.raises(ValueError, match=message):
        cross_val_comparison(FIRST, SECOND, X, y, method="mean", **options)


@pytest.mark.parametrize("method", ["swap", "mean"])
def test_constant_scores_and_perfect_ones(method):
    """A constant score has the share of positives as its value; a perfect one has 1."""
    y = np.arange(60) % 6 == 0
    X = np.column_stack([y, y])
    constant = DummyClassifier(strategy="prior")
    options = {"cv": splits_of(np.arange(60) // 12), "method": method, **FEW}
    result = cross_val_comparison(MEANS, constant, X, y, **options)
    assert result.fold_statistics_a.tolist() == [1.0] * 5
    assert result.fold_statistics_b == pytest.approx(1 / 6)
    assert result.algorithms.pvalue == 1.0  # no variance, no information
    same = cross_val_comparison(constant, constant, X, y, **options)
    assert same.difference == 0.0
    assert same.models.pvalue == same.algorithms.pvalue == 1.0


@pytest.mark.parametrize("method", ["swap", "mean"])
def test_nearly_all_positives(method):
    rng = np.random.default_rng(4)
    y = np.arange(60) % 12 != 0
    X = rng.normal(size=(60, 2)) + y[:, None] * [1.5, 0.0]
    cv = splits_of(np.arange(60) // 30)
    result, reverse = (
        cross_val_comparison(*both, X, y, cv=cv, method=method, metric=predicting(), **FEW)
        for both in ((FIRST, SECOND), (SECOND, FIRST))
    )
    assert result.difference == -reverse.difference > 0.0
    assert result.models.pvalue == pytest.approx(reverse.models.pvalue)
    assert result.algorithms.t == pytest.approx(-reverse.algorithms.t)
    low, high = result.models.confidence_interval()
    assert reverse.models.confidence_interval() == pytest.approx((-high, -low))


@pytest.mark.parametrize(
    ("metric", "by_hand"),
    [
        ("recall@0.2", None),
        ("ndcg", lambda y, s: ndcg_score([y], [s])),
        (DiscountedCumulativeGain(normalize=True), lambda y, s: ndcg_score([y], [s])),
    ],
)
@pytest.mark.parametrize("method", ["swap", "mean"])
def test_other_metrics(metric, by_hand, method, data):
    X, y = data

    def recall(labels, scores):
        return labels[np.argsort(-scores)[: math.ceil(0.2 * labels.size)]].sum() / labels.sum()

    result = cross_val_comparison(MEANS, BAYES, X, y, cv=CV, metric=metric, method=method, **FEW)
    expected = [(by_hand or recall)(y[t], a) for t, a, _ in scores_by_hand(X, y)]
    assert result.fold_statistics_a == pytest.approx(expected)
    assert 0.0 < result.models.pvalue <= 1.0


def test_reciprocal_rank_is_pooled_only(data):
    X, y = data
    result = cross_val_comparison(MEANS, BAYES, X, y, cv=CV, metric="reciprocal_rank", **FEW)
    assert result.models.method == "swap"
    assert math.isnan(result.models.standard_error)
    for options in ({"method": "mean"}, {"method": "influence"}):
        with pytest.raises(ValueError, match="depends on a single item"):
            cross_val_comparison(MEANS, BAYES, X, y, cv=CV, metric="reciprocal_rank", **options)


# The result.


@pytest.mark.parametrize("method", ["swap", "mean", "algorithms"])
def test_result(method, data):
    pytest.importorskip("pandas")
    X, y = data
    result = cross_val_comparison(MEANS, BAYES, X, y, cv=CV, method=method, **FEW)
    frame = result.to_frame()
    assert frame["n_samples"].tolist() == [51, 51, 51, 50]
    assert frame["n_positives"].sum() == y.sum()
    assert frame["difference"].mean() == pytest.approx(result.algorithms.difference)
    lines = result.summary().split("\n")
    assert lines[-1].startswith("Algorithms: mean average precision over 4 folds (difference ")
    assert f"p = {result.algorithms.pvalue:.4f} by the corrected t test" in lines[-1]
    if method == "algorithms":
        assert (len(lines), result.models) == (1, None)
    else:
        assert len(lines) == 2
        assert f"p = {result.models.pvalue:.4f} by" in lines[0]
        assert "the models fitted in these" in lines[0]
        assert "these fitted models" in result.models.target
        low, high = result.models.confidence_interval()
        assert low < result.difference < high


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"method": "delong"},
            "method must be one of 'auto', 'swap', 'influence', .* got 'delong'",
        ),
        ({"cv": RepeatedStratifiedKFold(n_splits=3, n_repeats=2)}, "some are held out twice"),
        ({"cv": ShuffleSplit(5, random_state=0), "method": "mean"}, "some are held out twice"),
        ({"cv": ShuffleSplit(1, random_state=0)}, "needs at least 2 folds; got 1"),
        (
            {"cv": KFold(203), "method": "algorithms"},
            "Fold 0 holds out [01] positives among 1 items",
        ),
        ({"n_resamples": 0}, "n_resamples must be at least 1"),
        ({"metric": "roc_auc@3"}, "roc_auc has no cut-off; pass"),
        ({"metric": "recall"}, "recall needs a cut-off"),
    ],
)
def test_refused(options, message, data):
    X, y = data
    with pytest.raises(ValueError, match=message):
        cross_val_comparison(MEANS, BAYES, X, y, **options)


def test_refused_dicts(data):
    X, y = data
    options = {"return_estimator": True, "return_indices": True}
    one = cross_validate(MEANS, X, y, cv=CV, **options)
    other = cross_validate(BAYES, X, y, cv=StratifiedKFold(4), **options)
    with pytest.raises(ValueError, match="different splits, of 4 and 4 folds"):
        cross_val_comparison(one, other, X, y)
    with pytest.raises(ValueError, match="cannot be combined with a dict of cross_validate"):
        cross_val_comparison(one, BAYES, X, y, cv=5)
    with pytest.raises(ValueError, match="params is for fitting, but a dict of"):
        cross_val_comparison(one, one, X, y, params={"sample_weight": y})
    with pytest.raises(ValueError, match="has no 'estimator' and no 'indices'"):
        cross_val_comparison(cross_validate(MEANS, X, y), BAYES, X, y)


def test_clusters_in_several_folds_have_no_mean():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 4 == 0
    options = {"cv": splits_of(np.arange(40) // 20), "metric": predicting()}
    clusters = np.arange(40) % 20
    with pytest.raises(ValueError, match="different clusters, but some are held out twice"):
        cross_val_comparison(FIRST, SECOND, X, y, clusters=clusters, method="mean", **options)
    result = cross_val_comparison(FIRST, SECOND, X, y, clusters=clusters, **options, **FEW)
    assert 0.0 < result.models.pvalue <= 1.0


# The interval of the mean over folds of one estimator.


def test_interval_of_mean_is_delongs_by_hand(data):
    X, y = data
    result = cross_val_significance(MEANS, X, y, cv=CV, metric="roc_auc")
    folds = scores_by_hand(X, y)
    variances = [delong_variance(y[t], a) for t, a, _ in folds]
    df = satterthwaite(variances, [y[t].sum() for t, _, _ in folds])
    mean = np.mean([roc_auc_score(y[t], a) for t, a, _ in folds])
    expected = stats.t.interval(0.9, df, mean, math.sqrt(sum(variances)) / 4)
    assert result.confidence_interval(0.9) == pytest.approx(expected)
    target = "expected ROC AUC of models trained on folds of this size, on held-out data"
    assert result.interval_target.startswith(target)


def test_interval_of_mean_takes_the_standard_errors_of_single_rankings(data):
    X, y = data
    result = cross_val_significance(MEANS, X, y, cv=CV)
    folds = [(y[t], a) for t, a, _ in scores_by_hand(X, y)]
    errors = np.array([metric_interval(*fold).standard_error for fold in folds])
    low, high = result.confidence_interval()
    df = satterthwaite(errors**2, [labels.sum() for labels, _ in folds])
    half = stats.t.ppf(0.975, df) * math.sqrt(np.sum(errors**2)) / 4
    assert (low, high) == pytest.approx((result.statistic - half, result.statistic + half))


def test_interval_of_mean_ends_at_perfection():
    y = np.arange(80) % 4 == 0
    rng = np.random.default_rng(0)
    X = (y + 0.3 * rng.normal(size=80))[:, None] * np.ones(2)
    result = cross_val_significance(
        FIRST, X, y, cv=splits_of(np.arange(80) // 20), metric=predicting()
    )
    low, high = result.confidence_interval()
    assert low < result.statistic < 1.0 == high


def test_interval_of_mean_with_copies_in_clusters():
    rng = np.random.default_rng(6)
    y = np.arange(90) % 5 == 0
    X = rng.normal(size=(90, 2)) + y[:, None]
    again = np.repeat(np.arange(90), 2)
    fold_of = np.arange(90) // 30
    options = {"metric": predicting("roc_auc"), "n_resamples": 99}
    once = cross_val_significance(FIRST, X, y, cv=splits_of(fold_of), **options)
    twice = cross_val_significance(
        FIRST, X[again], y[again], cv=splits_of(fold_of[again]), clusters=again, **options
    )
    assert twice.confidence_interval() == pytest.approx(tuple(once.confidence_interval()))
    assert pickle.loads(pickle.dumps(twice)).confidence_interval() == twice.confidence_interval()


def test_interval_of_mean_is_refused_where_there_is_none(data):
    X, y = data
    shuffled = ShuffleSplit(3, test_size=0.4, random_state=0)
    result = cross_val_significance(MEANS, X, y, cv=shuffled)
    with pytest.raises(ValueError, match="different items, but some are held out twice"):
        result.confidence_interval()
    result = cross_val_significance(MEANS, X, y, cv=CV, metric="reciprocal_rank")
    with pytest.raises(ValueError, match="depends on a single item"):
        result.confidence_interval()
    few = np.arange(40) < 3
    options = {"cv": splits_of(np.arange(40) % 3), "metric": predicting()}
    result = cross_val_significance(FIRST, X[:40, :2], few, **options)
    with pytest.raises(ValueError, match="Fold 0 holds out 1 independent positives"):
        result.confidence_interval()
    with pytest.warns(UserWarning, match="few different labellings"):
        series = cross_val_significance(
            FIRST,
            X[:120, :2],
            y[:120],
            cv=splits_of(np.arange(120) // 40),
            order=np.arange(120),
            metric=predicting(),
            n_resamples=99,
        )
    with pytest.raises(ValueError, match="there is no interval with order"):
        series.confidence_interval()
    with pytest.raises(ValueError, match="confidence_level"):
        result.confidence_interval(1.5)


def test_interval_of_mean_needs_whole_clusters():
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 30 < 10
    result = cross_val_significance(
        FIRST,
        X,
        y,
        cv=splits_of(np.arange(60) // 30),
        clusters=np.arange(60) % 30,
        metric=predicting(),
        n_resamples=99,
    )
    with pytest.raises(ValueError, match="different clusters, but some are held out twice"):
        result.confidence_interval()


# Rates.


class MeanDifference(ClassifierMixin, BaseEstimator):
    """Ranks by the difference of the class means in some features: fast, and alike for all."""

    def __init__(self, columns=(0, 1)):
        self.columns = columns

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        X = X[:, list(self.columns)]
        self.coef_ = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
        return self

    def decision_function(self, X):
        return X[:, list(self.columns)] @ self.coef_


def fitted_folds(estimator, X, y, cv):
    """Results as of cross_validate, without its checks, which take most of the time."""
    splits = list(cv.split(X, y))
    train, test = zip(*splits, strict=True)
    fitted = [clone(estimator).fit(X[part], y[part]) for part in train]
    return {"estimator": fitted, "indices": {"train": train, "test": test}}


def sample(rng, n_samples, n_positives):
    """Four features, each as telling as the others."""
    y = rng.permutation(np.arange(n_samples) < n_positives).astype(int)
    return rng.normal(size=(n_samples, 4)) + 0.8 * y[:, None], y


@pytest.mark.numeric
def test_size_for_models_that_are_equal(long):
    """Two equally informative features: neither is better in any fold."""
    n_sets = 1000 if long else 30
    rejected = np.zeros(3)
    for number in range(n_sets):
        X, y = sample(np.random.default_rng([1, number]), 100, 20)
        cv = StratifiedKFold(4, shuffle=True, random_state=number)
        both = [fitted_folds(one, X[:, :2], y, cv) for one in (FIRST, SECOND)]
        for way, method in enumerate(("mean", "influence", "swap")):
            result = cross_val_comparison(
                *both,
                X[:, :2],
                y,
                method=method,
                metric=predicting(),
                n_resamples=39,
            )
            rejected[way] += result.models.pvalue <= 0.05
    allowed = stats.binom.ppf(0.9999, n_sets, 0.06)
    assert np.all(rejected <= allowed), rejected / n_sets
    assert np.all(rejected >= stats.binom.ppf(0.0001, n_sets, 0.02)), rejected / n_sets


@pytest.mark.numeric
def test_size_for_algorithms_that_are_equal(long):
    """The corrected test keeps near its level over 15 splits, where the naive one does not."""
    n_sets = 1000 if long else 40
    corrected = naive = 0
    for number in range(n_sets):
        X, y = sample(np.random.default_rng([2, number]), 150, 30)
        cv = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=number)
        both = [fitted_folds(MeanDifference(one), X, y, cv) for one in ((0, 1), (2, 3))]
        result = cross_val_comparison(*both, X, y, method="algorithms")
        corrected += result.algorithms.pvalue <= 0.05
        d = result.fold_statistics_a - result.fold_statistics_b
        naive += stats.ttest_1samp(d, 0.0).pvalue <= 0.05
    assert corrected <= stats.binom.ppf(0.9999, n_sets, 0.09), corrected / n_sets
    assert naive >= stats.binom.ppf(0.0001, n_sets, 0.25), naive / n_sets


@pytest.mark.numeric
def test_coverage_of_the_interval_of_the_mean(long):
    """The target is the mean of many items, each with separate folds."""
    n_sets = 2000 if long else 60
    found = []
    normal = make_significance_scorer(method="normal", response_method="predict")
    for number in range(n_sets):
        X, y = sample(np.random.default_rng([3, number]), 200, 40)
        cv = StratifiedKFold(4, shuffle=True, random_state=number)
        fitted = fitted_folds(FIRST, X[:, :2], y, cv)
        result = cross_val_significance(fitted, X[:, :2], y, metric=normal)
        found.append((result.statistic, *result.confidence_interval()))
    values, low, high = np.array(found).T
    covered = int(np.sum((low <= values.mean()) & (values.mean() <= high)))
    assert covered >= stats.binom.ppf(0.0001, n_sets, 0.92), covered / n_sets
    assert covered <= stats.binom.ppf(0.9999, n_sets, 0.985), covered / n_sets
