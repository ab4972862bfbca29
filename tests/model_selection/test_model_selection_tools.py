"""The significance scorer in every tool of scikit-learn that takes `scoring`."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import (
    FitFailedWarning,
    UndefinedMetricWarning,
    UnsetMetadataPassedError,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    PredefinedSplit,
    RandomizedSearchCV,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_rankinf import (
    average_precision_significance_scorer,
    average_precision_test,
    make_significance_scorer,
    metric_test,
    recall_at_k_test,
)

CV = StratifiedKFold(4)
GRID = {"C": [0.001, 10.0]}
MAY_SATURATE = pytest.mark.filterwarnings(
    "ignore:A permutation p-value has its smallest possible value"
)


@pytest.fixture(scope="module")
def data():
    """A target that one item in six is of, and that is half hidden in noise."""
    return make_classification(
        180,
        n_features=6,
        n_informative=2,
        weights=[0.84],
        flip_y=0.1,
        class_sep=0.7,
        random_state=2,
    )


def by_hand(estimator, X, y, test, cv=CV, response="decision_function", **options):
    """Fit and test fold by fold, without scikit-learn's scorers."""
    results = []
    for train, held_out in cv.split(X, y):
        scores = getattr(clone(estimator).fit(X[train], y[train]), response)(X[held_out])
        scores = scores[:, 1] if response == "predict_proba" else scores
        results.append(test(y[held_out], scores, **options))
    return results


def evidence(results):
    return [-result.log10_pvalue for result in results]


# Cross-validation.


@pytest.mark.parametrize(
    ("estimator", "response"),
    [
        (LogisticRegression(), "decision_function"),
        (LinearSVC(random_state=0), "decision_function"),
        (KNeighborsClassifier(), "predict_proba"),
        (DecisionTreeClassifier(max_depth=3, random_state=0), "predict_proba"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "decision_function"),
    ],
)
def test_cross_val_score(estimator, response, data):
    X, y = data
    scores = cross_val_score(estimator, X, y, cv=CV, scoring=average_precision_significance_scorer)
    expected = evidence(by_hand(estimator, X, y, average_precision_test, response=response))
    assert scores == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert scores.max() > 2.0


def test_cross_val_score_at_k(data):
    X, y = data
    scorer = make_significance_scorer("recall@0.1")
    scores = cross_val_score(LogisticRegression(), X, y, cv=CV, scoring=scorer)
    expected = evidence(by_hand(LogisticRegression(), X, y, recall_at_k_test, k=0.1))
    assert scores == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_cross_validate(data):
    X, y = data
    results = by_hand(LogisticRegression(), X, y, average_precision_test)
    single = cross_validate(
        LogisticRegression(), X, y, cv=CV, scoring=make_significance_scorer(output="zscore")
    )
    assert single["test_score"] == pytest.approx([r.zscore for r in results], rel=1e-12)
    every = cross_validate(
        LogisticRegression(), X, y, cv=CV, scoring=make_significance_scorer(output="all")
    )
    fields = ("statistic", "pvalue", "zscore", "adjusted")
    for name, field in zip(fields, (*fields[:3], "adjusted_statistic"), strict=True):
        expected = [getattr(result, field) for result in results]
        assert every[f"test_{name}"] == pytest.approx(expected, rel=1e-12)
    assert every["test_neg_log10_pvalue"] == pytest.approx(evidence(results), rel=1e-12)


@MAY_SATURATE
def test_cross_validate_with_both_methods(data):
    X, y = data
    scorers = make_significance_scorer(method="both", n_resamples=199)
    scores = cross_validate(LogisticRegression(), X, y, cv=CV, scoring=scorers)
    for method in ("analytic", "permutation"):
        results = by_hand(
            LogisticRegression(), X, y, average_precision_test, method=method, n_resamples=199
        )
        expected = [result.pvalue for result in results]
        assert scores[f"test_pvalue_{method}"] == pytest.approx(expected, rel=1e-12)
        found = scores[f"test_neg_log10_pvalue_{method}"]
        assert found == pytest.approx(evidence(results), rel=1e-12)


def test_scorers_beside_those_of_scikit_learn(data):
    X, y = data
    scoring = {"auc": "roc_auc", "evidence": make_significance_scorer()}
    scores = cross_validate(LogisticRegression(), X, y, cv=CV, scoring=scoring)
    assert np.all(np.isfinite(scores["test_auc"]) & np.isfinite(scores["test_evidence"]))


@pytest.mark.parametrize("options", [{}, {"output": "all"}])
def test_two_jobs(options, data):
    X, y = data
    scoring = make_significance_scorer(**options)
    one, two = (
        cross_validate(LogisticRegression(), X, y, cv=CV, scoring=scoring, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    for name in one:
        if name.startswith("test_"):
            assert one[name].tolist() == two[name].tolist()


@MAY_SATURATE
def test_two_jobs_draw_the_same_permutations(data):
    X, y = data
    scoring = make_significance_scorer(method="permutation")
    one, two = (
        cross_val_score(LogisticRegression(), X, y, cv=CV, scoring=scoring, n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    assert one.tolist() == two.tolist()


def test_pandas_input(data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])], index=range(500, 680))
    labels = pd.Series(np.where(y == 1, "rare", "common"), index=frame.index, dtype="category")
    scoring = make_significance_scorer(pos_label="rare")
    expected = cross_val_score(
        LogisticRegression(), X, y, cv=CV, scoring=average_precision_significance_scorer
    )
    for series in (labels, labels.astype(object), labels.astype("string")):
        scores = cross_val_score(LogisticRegression(), frame, series, cv=CV, scoring=scoring)
        assert scores == pytest.approx(expected, rel=1e-9)


# Searches.


@pytest.mark.parametrize("output", ["neg_log10_pvalue", "zscore", "adjusted", "statistic"])
def test_grid_search(output, data):
    X, y = data
    scoring = make_significance_scorer(output=output)
    search = GridSearchCV(LogisticRegression(), GRID, scoring=scoring, cv=CV).fit(X, y)
    field = {"neg_log10_pvalue": "log10_pvalue", "adjusted": "adjusted_statistic"}.get(
        output, output
    )
    sign = -1.0 if output == "neg_log10_pvalue" else 1.0
    for C, mean in zip(GRID["C"], search.cv_results_["mean_test_score"], strict=True):
        results = by_hand(LogisticRegression(C=C), X, y, average_precision_test)
        assert mean == pytest.approx(np.mean([sign * getattr(r, field) for r in results]), rel=1e-9)
    assert search.best_index_ == np.argmax(search.cv_results_["mean_test_score"])
    assert search.score(X, y) == scoring(search.best_estimator_, X, y)


def least_pvalue(cv_results):
    """Choose the ranker with the smallest geometric mean of its p-values."""
    return int(np.argmax(cv_results["mean_test_neg_log10_pvalue"]))


@pytest.mark.parametrize("refit", ["neg_log10_pvalue", "zscore", least_pvalue])
def test_grid_search_with_a_dict_of_scorers(refit, data):
    X, y = data
    scoring = make_significance_scorer(output="all")
    search = GridSearchCV(LogisticRegression(), GRID, scoring=scoring, cv=CV, refit=refit)
    search.fit(X, y)
    key = refit if isinstance(refit, str) else "neg_log10_pvalue"
    assert search.best_index_ == np.argmax(search.cv_results_[f"mean_test_{key}"])
    for name in scoring:
        assert np.all(np.isfinite(search.cv_results_[f"mean_test_{name}"])), name
    assert np.all(search.cv_results_["mean_test_pvalue"] > 0.0)


@MAY_SATURATE
def test_grid_search_with_both_methods(data):
    X, y = data
    search = GridSearchCV(
        LogisticRegression(),
        GRID,
        scoring=make_significance_scorer(method="both"),
        cv=CV,
        refit="neg_log10_pvalue_analytic",
    ).fit(X, y)
    analytic = search.cv_results_["mean_test_pvalue_analytic"]
    permutation = search.cv_results_["mean_test_pvalue_permutation"]
    # Four folds of 999 resamples each, and (b + 1) / (B + 1) in place of b / B.
    error = 4.0 * np.sqrt(analytic / 999 / 4) + 1e-3
    assert np.all(np.abs(permutation - analytic) < error)


def test_randomized_search(data):
    X, y = data
    search = RandomizedSearchCV(
        LogisticRegression(),
        {"C": np.logspace(-4, 2, 50)},
        n_iter=4,
        scoring=average_precision_significance_scorer,
        cv=CV,
        random_state=0,
    ).fit(X, y)
    results = by_hand(search.best_estimator_, X, y, average_precision_test)
    assert search.best_score_ == pytest.approx(np.mean(evidence(results)), rel=1e-9)


def test_halving_search(data):
    X, y = data
    search = HalvingGridSearchCV(
        LogisticRegression(),
        {"C": [1e-3, 1e-2, 0.1, 1.0]},
        factor=2,
        scoring=make_significance_scorer("precision@0.2"),
        cv=StratifiedKFold(2),
        min_resources=60,
        random_state=0,
    ).fit(X, y)
    assert search.n_iterations_ > 1
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert search.best_score_ > 0.0


@pytest.mark.parametrize("options", [{"output": "all"}, {"method": "both"}])
def test_halving_searches_take_no_dict(options, data):
    X, y = data
    search = HalvingGridSearchCV(
        LogisticRegression(), GRID, scoring=make_significance_scorer(**options), refit="zscore"
    )
    with pytest.raises(ValueError, match="The 'scoring' parameter of HalvingGridSearchCV must be"):
        search.fit(X, y)


@pytest.mark.parametrize("output", ["neg_log10_pvalue", "statistic"])
def test_halving_searches_take_each_output(output, data):
    X, y = data
    scoring = make_significance_scorer(output=output)
    options = {"cv": CV, "min_resources": 90, "factor": 2, "random_state": 0}
    search = HalvingGridSearchCV(LogisticRegression(), GRID, scoring=scoring, **options).fit(X, y)
    assert search.n_iterations_ == 2
    last = np.flatnonzero(search.cv_results_["iter"] == 1)
    scores = search.cv_results_["mean_test_score"][last]
    assert search.best_score_ == scores.max()


def test_halving_searches_ignore_rules_of_refit(data):
    X, y = data
    grid = {"C": [1e-4, 1e-2, 1.0]}
    options = {"cv": CV, "min_resources": 90, "factor": 2, "random_state": 0}
    scoring = make_significance_scorer()
    found = [
        HalvingGridSearchCV(LogisticRegression(), grid, scoring=scoring, refit=refit, **options)
        .fit(X, y)
        .best_params_
        for refit in (
            True,
            lambda cv_results: 0,
            lambda cv_results: 1,
        )
    ]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("options", [{}, {"output": "all"}])
def test_search_with_a_scorer_clones_and_pickles(options, data):
    X, y = data
    scoring = make_significance_scorer(**options)
    refit = "zscore" if options else True
    search = GridSearchCV(LogisticRegression(), GRID, scoring=scoring, cv=CV, refit=refit)
    fitted = clone(search).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.best_params_ == search.fit(X, y).best_params_ == fitted.best_params_
    assert again.score(X, y) == search.score(X, y)


# Curves, importances and feature selection.


def test_learning_curve(data):
    X, y = data
    sizes, train, test = learning_curve(
        LogisticRegression(),
        X,
        y,
        cv=CV,
        train_sizes=[0.4, 1.0],
        scoring=average_precision_significance_scorer,
        shuffle=True,
        random_state=0,
    )
    assert train.shape == test.shape == (2, 4)
    expected = evidence(by_hand(LogisticRegression(), X, y, average_precision_test))
    # The complete training sets are shuffled, which moves the solution of the solver a little.
    assert test[1] == pytest.approx(expected, rel=0.05)
    assert sizes.tolist() == [54, 135]


def test_validation_curve(data):
    X, y = data
    train, test = validation_curve(
        LogisticRegression(),
        X,
        y,
        param_name="C",
        param_range=GRID["C"],
        cv=CV,
        scoring=average_precision_significance_scorer,
    )
    assert train.shape == test.shape == (2, 4)
    for C, scores in zip(GRID["C"], test, strict=True):
        results = by_hand(LogisticRegression(C=C), X, y, average_precision_test)
        assert scores == pytest.approx(evidence(results), rel=1e-9)


def test_permutation_importance(data):
    X, y = data
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    used = np.unique(model.tree_.feature[model.tree_.feature >= 0])
    single = permutation_importance(
        model, X, y, scoring=average_precision_significance_scorer, n_repeats=3, random_state=0
    )
    assert np.flatnonzero(single.importances_mean).tolist() == used.tolist()
    every = permutation_importance(
        model, X, y, scoring=make_significance_scorer(output="all"), n_repeats=3, random_state=0
    )
    assert set(every) == {"statistic", "neg_log10_pvalue", "pvalue", "zscore", "adjusted"}
    same = every["neg_log10_pvalue"].importances_mean
    assert same == pytest.approx(single.importances_mean, rel=1e-12)


def test_permutation_importance_with_weights(data):
    X, y = data
    model = LogisticRegression().fit(X, y)
    scoring = make_significance_scorer(output="statistic")
    weights = 1.0 + np.arange(len(y)) % 2
    found = permutation_importance(
        model, X, y, scoring=scoring, n_repeats=2, random_state=0, sample_weight=weights
    )
    reference = permutation_importance(
        model, X, y, scoring="average_precision", n_repeats=2, random_state=0, sample_weight=weights
    )
    assert found.importances == pytest.approx(reference.importances, rel=1e-9, abs=1e-12)


def test_sequential_feature_selector(data):
    X, y = data
    X = np.column_stack([X[:, :3], y + 0.1 * X[:, 3]])
    selector = SequentialFeatureSelector(
        LogisticRegression(), n_features_to_select=1, scoring=make_significance_scorer(), cv=CV
    )
    assert selector.fit(X, y).get_support().tolist() == [False, False, False, True]


def test_rfecv(data):
    X, y = data
    X = np.column_stack([X[:, :3], y + 0.1 * X[:, 3]])
    selector = RFECV(LogisticRegression(), scoring=make_significance_scorer(), cv=CV).fit(X, y)
    assert selector.get_support()[3]
    assert np.all(np.isfinite(selector.cv_results_["mean_test_score"]))


# Several classes and labels.


@pytest.mark.parametrize(
    ("average", "named"), [("macro", True), ("weighted", False), ("micro", False)]
)
@MAY_SATURATE
def test_multiclass(average, named):
    X, y = make_classification(
        150, n_features=5, n_informative=3, n_classes=3, weights=[0.6, 0.3], random_state=0
    )
    names = np.array(["a", "b", "c"]) if named else np.arange(3)
    scoring = make_significance_scorer(f"average_precision_{average}", output="all", n_resamples=49)
    scores = cross_validate(LogisticRegression(), X, names[y], cv=CV, scoring=scoring)
    expected = []
    for train, held_out in CV.split(X, y):
        decision = LogisticRegression().fit(X[train], y[train]).decision_function(X[held_out])
        one_hot = (y[held_out][:, None] == np.arange(3)).astype(int)
        expected.append(average_precision_score(one_hot, decision, average=average))
    assert scores["test_statistic"] == pytest.approx(expected, rel=1e-9)
    assert np.all(scores["test_pvalue"] * 50 == np.rint(scores["test_pvalue"] * 50))


def test_multiclass_without_average():
    X, y = make_classification(90, n_informative=3, n_classes=3, random_state=0)
    scorer = make_significance_scorer()
    # scikit-learn names the wrong pos_label before the scores are seen, where it is none of
    # the classes; here it is one.
    with pytest.raises(ValueError, match="such as metric='average_precision_macro'"):
        cross_val_score(LogisticRegression(), X, y, scoring=scorer, error_score="raise")


@pytest.mark.parametrize(
    "estimator",
    [
        OneVsRestClassifier(LogisticRegression()),
        RandomForestClassifier(10, max_depth=4, random_state=0),
    ],
)
@MAY_SATURATE
def test_multilabel(estimator):
    X, Y = make_multilabel_classification(120, n_classes=3, random_state=0)
    scoring = make_significance_scorer("average_precision_macro", output="all", n_resamples=49)
    cv = KFold(3)
    scores = cross_validate(estimator, X, Y, cv=cv, scoring=scoring)
    reference = cross_val_score(estimator, X, Y, cv=cv, scoring="average_precision")
    assert scores["test_statistic"] == pytest.approx(reference, rel=1e-9)
    assert np.all((scores["test_pvalue"] >= 1 / 50) & (scores["test_pvalue"] <= 1))


# Weights by metadata routing.


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def weights(data):
    return 0.5 + np.random.default_rng(0).random(len(data[1]))


def weighted_by_hand(estimator, X, y, weights, **options):
    results = []
    for train, held_out in CV.split(X, y):
        scores = clone(estimator).fit(X[train], y[train]).decision_function(X[held_out])
        results.append(
            average_precision_test(
                y[held_out], scores, sample_weight=weights[held_out], n_resamples=199, **options
            )
        )
    return results


@pytest.mark.usefixtures("routing")
@MAY_SATURATE
def test_weights_are_routed_in_cross_validate(data, weights):
    X, y = data
    scoring = make_significance_scorer(output="all", n_resamples=199)
    scoring = {name: s.set_score_request(sample_weight=True) for name, s in scoring.items()}
    model = LogisticRegression().set_fit_request(sample_weight=False)
    scores = cross_validate(model, X, y, cv=CV, scoring=scoring, params={"sample_weight": weights})
    results = weighted_by_hand(LogisticRegression(), X, y, weights)
    assert {result.method for result in results} == {"permutation"}
    assert scores["test_statistic"] == pytest.approx([r.statistic for r in results], rel=1e-12)
    assert scores["test_pvalue"] == pytest.approx([r.pvalue for r in results], rel=1e-12)
    assert scores["test_zscore"] == pytest.approx([r.zscore for r in results], rel=1e-12)


@pytest.mark.usefixtures("routing")
def test_weights_are_routed_in_a_search(data, weights):
    X, y = data
    scoring = make_significance_scorer(output="zscore", n_resamples=199)
    scoring.set_score_request(sample_weight=True)
    model = LogisticRegression().set_fit_request(sample_weight=False)
    search = GridSearchCV(model, {"C": [1.0]}, scoring=scoring, cv=CV)
    search.fit(X, y, sample_weight=weights)
    results = weighted_by_hand(LogisticRegression(), X, y, weights)
    assert search.best_score_ == pytest.approx(np.mean([r.zscore for r in results]), rel=1e-9)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "analytic"}, "permutation"),
        ({"metric": "recall@0.1"}, r"metric=RecallAtK\(k=0.1\) takes no sample_weight"),
    ],
)
def test_weights_where_they_cannot_be(options, message, data, weights):
    X, y = data
    scoring = make_significance_scorer(**options).set_score_request(sample_weight=True)
    model = LogisticRegression().set_fit_request(sample_weight=False)
    with pytest.raises(ValueError, match=message):
        cross_validate(
            model,
            X,
            y,
            cv=CV,
            scoring=scoring,
            params={"sample_weight": weights},
            error_score="raise",
        )


@pytest.mark.usefixtures("routing")
def test_weights_that_were_not_requested(data, weights):
    X, y = data
    # The class of the error changed between versions of scikit-learn.
    with pytest.raises((TypeError, UnsetMetadataPassedError), match="sample_weight"):
        cross_validate(
            LogisticRegression().set_fit_request(sample_weight=False),
            X,
            y,
            scoring=make_significance_scorer(),
            params={"sample_weight": weights},
        )


# Strata, clusters and series by metadata routing.


@pytest.fixture(scope="module")
def patients():
    """Forty patients of four rows each, twelve of them ill."""
    rng = np.random.default_rng(1)
    patient = np.repeat(np.arange(40), 4)
    y = (rng.permutation(40) < 12)[patient].astype(int)
    X = rng.normal(size=(40, 3))[patient] + 0.3 * rng.normal(size=(160, 3))
    X[:, 0] += 0.7 * y
    return X, y, patient


def restrictions_of(patient):
    return {
        "clusters": {"clusters": [f"patient {p}" for p in patient]},
        "strata": {"strata": patient % 2},
        "both": {"clusters": patient, "strata": patient % 2},
        "order": {"order": np.arange(160)},
    }


def restricted_by_hand(X, y, patient, cv, restriction, **options):
    results = []
    for train, held_out in cv.split(X, y, patient):
        scores = LogisticRegression().fit(X[train], y[train]).decision_function(X[held_out])
        own = {name: np.asarray(values)[held_out] for name, values in restriction.items()}
        results.append(metric_test(y[held_out], scores, n_resamples=199, **own, **options))
    return results


MAY_BE_FEW = pytest.mark.filterwarnings("ignore:.* leave [0-9]+ different labellings")


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    ("restriction", "n_jobs"),
    [("clusters", None), ("strata", None), ("both", None), ("both", 2), ("order", None)],
)
@MAY_SATURATE
@MAY_BE_FEW
def test_restrictions_are_routed_in_cross_validate(restriction, n_jobs, patients):
    X, y, patient = patients
    given = restrictions_of(patient)[restriction]
    cv = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    scoring = make_significance_scorer(output="all", n_resamples=199)
    requests = dict.fromkeys(given, True)
    scoring = {name: s.set_score_request(**requests) for name, s in scoring.items()}
    scores = cross_validate(
        LogisticRegression(),
        X,
        y,
        cv=cv,
        scoring=scoring,
        params={"groups": patient, **given},
        n_jobs=n_jobs,
    )
    results = restricted_by_hand(X, y, patient, cv, given)
    assert {result.method for result in results} == {"permutation"}
    for name in ("statistic", "pvalue", "zscore"):
        expected = [getattr(result, name) for result in results]
        assert scores[f"test_{name}"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.usefixtures("routing")
@MAY_SATURATE
@MAY_BE_FEW
def test_clusters_are_routed_in_searches(patients):
    X, y, patient = patients
    cv = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    scoring = make_significance_scorer(output="zscore", n_resamples=199)
    scoring.set_score_request(clusters=True)
    results = restricted_by_hand(X, y, patient, cv, {"clusters": patient})
    expected = np.mean([result.zscore for result in results])
    options = {"scoring": scoring, "cv": cv}
    search = GridSearchCV(LogisticRegression(), {"C": [1.0]}, **options)
    search.fit(X, y, groups=patient, clusters=patient)
    assert search.best_score_ == pytest.approx(expected, rel=1e-9)
    # Halving takes the rows in another order, and with it another sample of labellings.
    search = HalvingGridSearchCV(LogisticRegression(), {"C": [1.0]}, **options)
    search.set_params(min_resources=160, random_state=0).fit(X, y, groups=patient, clusters=patient)
    assert search.best_score_ == pytest.approx(expected, abs=0.3)
    without = restricted_by_hand(X, y, patient, cv, {"strata": np.zeros(160)})
    assert abs(np.mean([result.zscore for result in without]) - expected) > 0.3


@pytest.mark.usefixtures("routing")
@MAY_SATURATE
@MAY_BE_FEW
def test_clusters_under_another_name(patients):
    X, y, patient = patients
    cv = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    scoring = make_significance_scorer(output="pvalue", n_resamples=199)
    scoring.set_score_request(clusters="groups")  # the groups of the splitter
    scores = cross_val_score(
        LogisticRegression(), X, y, cv=cv, scoring=scoring, params={"groups": patient}
    )
    results = restricted_by_hand(X, y, patient, cv, {"clusters": patient})
    assert scores == pytest.approx([result.pvalue for result in results], rel=1e-12)


@pytest.mark.usefixtures("routing")
def test_clusters_that_were_not_requested(patients):
    X, y, patient = patients
    with pytest.raises((TypeError, UnsetMetadataPassedError), match="clusters"):
        cross_validate(
            LogisticRegression(),
            X,
            y,
            cv=KFold(2),
            scoring=make_significance_scorer(),
            params={"clusters": patient},
        )


def test_clusters_without_routing(patients):
    X, y, patient = patients
    scorer = make_significance_scorer()
    with pytest.raises((RuntimeError, ValueError), match="enable_metadata_routing"):
        scorer.set_score_request(clusters=True)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        scorer(model, X, y, clusters=patient)
    # Parameters are for fitting then, and the scorer does not see them.
    with pytest.raises(TypeError, match="clusters"):
        cross_validate(
            LogisticRegression(),
            X,
            y,
            scoring=scorer,
            params={"clusters": patient},
            error_score="raise",
        )


@pytest.mark.usefixtures("routing")
def test_clusters_whose_labels_differ_fail_the_scorer_alone(patients):
    X, y, _ = patients
    scorer = make_significance_scorer().set_score_request(clusters=True)
    scoring = {"auc": "roc_auc", "evidence": scorer}
    with pytest.warns(UserWarning, match=r"(?s)Scoring failed.*The labels in cluster .* differ"):
        scores = cross_validate(
            LogisticRegression(), X, y, cv=KFold(2), scoring=scoring, params={"clusters": y % 1}
        )
    assert np.isnan(scores["test_evidence"]).all()
    assert np.isfinite(scores["test_auc"]).all()


@pytest.mark.usefixtures("routing")
@MAY_SATURATE
def test_labels_alone_are_permuted_with_routed_weights(data, weights):
    X, y = data
    scoring = make_significance_scorer(
        output="pvalue", n_resamples=199, method="permutation_of_labels"
    ).set_score_request(sample_weight=True)
    model = LogisticRegression().set_fit_request(sample_weight=False)
    scores = cross_val_score(model, X, y, cv=CV, scoring=scoring, params={"sample_weight": weights})
    results = weighted_by_hand(LogisticRegression(), X, y, weights, method="permutation_of_labels")
    assert scores == pytest.approx([r.pvalue for r in results], rel=1e-12)


# Folds that fail and folds without evidence.


class FailsOnFewSamples(LogisticRegression):
    """A model that cannot be fitted without the first sample."""

    def fit(self, X, y, sample_weight=None):
        if not np.any(X[:, -1] == 0):
            raise ValueError("the first sample is missing")
        return super().fit(X, y)


@pytest.mark.parametrize("options", [{}, {"output": "all"}])
def test_failing_fold(options, data):
    X, y = data
    X = np.column_stack([X, np.arange(len(y))])
    scoring = make_significance_scorer(**options)
    with pytest.warns(FitFailedWarning, match="the first sample is missing"):
        scores = cross_validate(
            FailsOnFewSamples(), X, y, cv=KFold(3), scoring=scoring, error_score=-1.0
        )
    name = "test_zscore" if options else "test_score"
    assert scores[name][0] == -1.0
    assert np.all(np.isfinite(scores[name][1:]))


class NoScores(ClassifierMixin, BaseEstimator):
    """A classifier that cannot score."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_estimator_without_scores(data):
    X, y = data
    with pytest.raises(AttributeError, match="decision_function, predict_proba"):
        cross_val_score(
            NoScores(), X, y, scoring=average_precision_significance_scorer, error_score="raise"
        )


def test_k_larger_than_a_fold(data):
    X, y = data
    scoring = make_significance_scorer("recall@100")
    with pytest.raises(ValueError, match=r"RecallAtK\(k=100\) has a cut-off above the 45 items"):
        cross_val_score(LogisticRegression(), X, y, cv=CV, scoring=scoring, error_score="raise")


@pytest.mark.parametrize("metric", ["average_precision", "recall@0.1"])
@pytest.mark.parametrize("method", ["auto", "both"])
@MAY_SATURATE
def test_fold_without_positives(metric, method, data):
    X, y = data
    fold = np.arange(len(y)) % 3
    fold[np.flatnonzero(y == 1)] = np.arange((y == 1).sum()) % 2  # none in the third fold
    scoring = make_significance_scorer(metric, method=method, output="all")
    refit = "neg_log10_pvalue" if method == "auto" else "neg_log10_pvalue_analytic"
    search = GridSearchCV(
        LogisticRegression(), {"C": [1.0]}, scoring=scoring, cv=PredefinedSplit(fold), refit=refit
    )
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        search.fit(X, y)
    texts = [str(w.message) for w in record if issubclass(w.category, UndefinedMetricWarning)]
    assert len(texts) == 1
    assert "no positives in y_true" in texts[0]
    for name in scoring:
        scores = search.cv_results_[f"split2_test_{name}"]
        assert scores == pytest.approx([1.0 if name.startswith("pvalue") else 0.0])
        assert np.isfinite(search.cv_results_[f"mean_test_{name}"]).all()


def test_metric_function_as_scoring(data):
    X, y = data
    with pytest.warns(UserWarning, match="(?s)Scoring failed.*takes .* positional arguments but 3"):
        scores = cross_val_score(
            LogisticRegression(), X, y, cv=KFold(2), scoring=average_precision_test
        )
    assert np.all(np.isnan(scores))
