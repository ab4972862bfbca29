"""Clusters, strata, groups and weights reach scorers by scikit-learn's metadata routing."""

import itertools
import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
import sklearn
from estimators import MeansClassifier
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import average_precision_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    StratifiedGroupKFold,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_rankinf import (
    average_precision_significance_scorer,
    average_precision_test,
    cross_val_significance,
    make_significance_scorer,
    mean_average_precision_score,
    metric_test,
    recall_at_k_score,
)

N_PERMUTATIONS = 99
CV = StratifiedGroupKFold(3, shuffle=True, random_state=0)
METRICS = ["average_precision", "recall@0.2", "roc_auc", "bedroc", "ndcg"]

pytestmark = [
    pytest.mark.filterwarnings("ignore:A permutation p-value has its smallest"),
    pytest.mark.filterwarnings("ignore:.* leave [0-9]+ different labellings"),
]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def data():
    """Labels of sixty patients, four rows each, in two clinics."""
    rng = np.random.default_rng(5)
    patient = np.repeat(np.arange(60), 4)
    y = (rng.permutation(60) < 18)[patient].astype(int)
    X = rng.normal(size=(60, 3))[patient] + 0.3 * rng.normal(size=(240, 3))
    X[:, 0] += 0.4 * y
    return X, y


PATIENT = np.repeat(np.arange(60), 4)
CLINIC = PATIENT % 2
QUERY = np.tile(np.arange(4), 60)
WEIGHT = 0.5 + np.random.default_rng(6).random(240)
OF_SAMPLES = {
    "clusters": {"clusters": PATIENT},
    "strata": {"strata": CLINIC},
    "clusters and strata": {"clusters": PATIENT, "strata": CLINIC},
}


def folds(model, X, y, fit_weight=None):
    """Rows, labels and scores of each test set."""
    for train, held_out in CV.split(X, y, PATIENT):
        options = {} if fit_weight is None else {"sample_weight": fit_weight[train]}
        fitted = clone(model).fit(X[train], y[train], **options)
        yield held_out, y[held_out], fitted.decision_function(X[held_out])


def by_hand(model, data, output="zscore", metric="average_precision", fit_weight=None, **given):
    """Test the ranking of each test set, with the rows of the metadata that belong to it."""
    options = {name: value for name, value in given.items() if name == "method"}
    of_samples = {name: values for name, values in given.items() if name not in options}
    values = []
    for held_out, labels, scores in folds(model, *data, fit_weight=fit_weight):
        own = {name: np.asarray(column)[held_out] for name, column in of_samples.items()}
        options["n_resamples"] = N_PERMUTATIONS
        if "sample_weight" in own:
            result = average_precision_test(labels, scores, **own, **options)
        else:
            result = metric_test(labels, scores, metric=metric, **own, **options)
        values.append(getattr(result, output))
    return np.array(values)


def scorer(output="zscore", **options):
    return make_significance_scorer(output=output, n_resamples=N_PERMUTATIONS, **options)


def requesting(*names, refused=(), **options):
    requests = {**dict.fromkeys(names, True), **dict.fromkeys(refused, False)}
    return scorer(**options).set_score_request(**requests)


def requests_of(scoring):
    """Requests that were set; newer versions of scikit-learn list the others as None."""
    requests = scoring.get_metadata_routing().score.requests
    return {name: value for name, value in requests.items() if value is not None}


# Significance scorers.


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    ("metric", "restriction"),
    [
        *((metric, "clusters and strata") for metric in METRICS),
        *itertools.product(METRICS[:2], ["clusters", "strata"]),
    ],
)
def test_every_metric_in_cross_val_score(metric, restriction, data):
    of_samples = OF_SAMPLES[restriction]
    given = {"cv": CV, "params": {"groups": PATIENT, **of_samples}}
    scoring = {
        output: requesting(*of_samples, output=output, metric=metric)
        for output in ("pvalue", "zscore", "statistic")
    }
    found = cross_validate(MeansClassifier(), *data, scoring=scoring, **given)
    for output in scoring:
        expected = by_hand(MeansClassifier(), data, output, metric, **of_samples)
        assert found[f"test_{output}"] == pytest.approx(expected, rel=1e-12)
    single = cross_val_score(MeansClassifier(), *data, scoring=scoring["zscore"], **given)
    assert single.tolist() == found["test_zscore"].tolist()


@pytest.mark.usefixtures("routing")
def test_scorers_of_one_dict_request_different_metadata(data):
    # Newer versions of scikit-learn require each scorer to request or to reject its metadata.
    scoring = {
        "clusters": requesting("clusters", refused=("strata", "sample_weight")),
        "strata": requesting("strata", refused=("clusters", "sample_weight")),
        "weights": requesting("sample_weight", refused=("clusters", "strata")),
        "weighted average precision": make_scorer(
            average_precision_score, response_method="decision_function"
        ).set_score_request(sample_weight=True),
        "nothing": requesting(refused=("clusters", "strata", "sample_weight")),
    }
    given = {"clusters": PATIENT, "strata": CLINIC, "sample_weight": WEIGHT}
    model = LogisticRegression().set_fit_request(sample_weight=False)
    params = {"groups": PATIENT, **given}
    found = cross_validate(model, *data, cv=CV, scoring=scoring, params=params)
    model = LogisticRegression()
    expected = {
        "clusters": by_hand(model, data, clusters=PATIENT),
        "strata": by_hand(model, data, strata=CLINIC),
        "weights": by_hand(model, data, sample_weight=WEIGHT),
        "weighted average precision": [
            average_precision_score(labels, scores, sample_weight=WEIGHT[held_out])
            for held_out, labels, scores in folds(model, *data)
        ],
        "nothing": by_hand(model, data),
    }
    for name, values in expected.items():
        # A scorer computes an exact p-value or moment to no fewer digits than these.
        assert found[f"test_{name}"] == pytest.approx(values, rel=1e-9), name
    assert len({tuple(values) for values in expected.values()}) == len(expected)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    "convert",
    [
        lambda values: values.tolist(),
        lambda values: pd.Series([f"id {v}" for v in values], index=range(1000, 1240)),
        lambda values: pd.Series(values, dtype="category"),
    ],
    ids=["list", "series of strings", "categories"],
)
def test_containers(convert, data):
    found = cross_val_score(
        LogisticRegression(),
        *data,
        cv=CV,
        scoring=requesting("clusters", "strata", output="statistic"),
        params={"groups": PATIENT, "clusters": convert(PATIENT), "strata": convert(CLINIC)},
    )
    given = {"clusters": PATIENT, "strata": CLINIC}
    expected = by_hand(LogisticRegression(), data, "statistic", **given)
    assert found == pytest.approx(expected, rel=1e-12)


# Metric scorers, and scorers of custom functions.


@pytest.mark.usefixtures("routing")
def test_queries_of_mean_average_precision(data):
    scoring = make_scorer(mean_average_precision_score, response_method="decision_function")
    scoring.set_score_request(groups="query")  # the splitter requests groups as well
    found = cross_val_score(
        LogisticRegression(),
        *data,
        cv=CV,
        scoring=scoring,
        params={"groups": PATIENT, "query": QUERY},
    )
    expected = [
        np.mean(
            [
                average_precision_score(labels[rows], scores[rows])
                for rows in (QUERY[held_out] == query for query in range(4))
            ]
        )
        for held_out, labels, scores in folds(LogisticRegression(), *data)
    ]
    assert found == pytest.approx(expected, rel=1e-12)


def permutation_pvalue(y_true, y_score, *, clusters=None, strata=None):
    """Name the restrictions among the parameters, so that scikit-learn routes them."""
    options = {"clusters": clusters, "strata": strata, "n_resamples": N_PERMUTATIONS}
    return metric_test(y_true, y_score, random_state=0, **options).pvalue


@pytest.mark.usefixtures("routing")
def test_custom_function_that_takes_clusters_and_strata(data):
    scoring = make_scorer(permutation_pvalue, response_method="decision_function")
    scoring.set_score_request(clusters=True, strata="clinic")
    found = cross_val_score(
        LogisticRegression(),
        *data,
        cv=CV,
        scoring=scoring,
        params={"groups": PATIENT, "clusters": PATIENT, "clinic": CLINIC},
    )
    given = {"clusters": PATIENT, "strata": CLINIC}
    assert found == pytest.approx(by_hand(LogisticRegression(), data, "pvalue", **given))


@pytest.mark.usefixtures("routing")
def test_metric_scorer_that_takes_no_metadata(data):
    scoring = make_scorer(recall_at_k_score, response_method="decision_function", k=0.2)
    both = {"recall": scoring, "evidence": requesting("clusters")}
    params = {"groups": PATIENT, "clusters": PATIENT}
    found = cross_validate(LogisticRegression(), *data, cv=CV, scoring=both, params=params)
    expected = [
        recall_at_k_score(labels, scores, k=0.2)
        for _, labels, scores in folds(LogisticRegression(), *data)
    ]
    assert found["test_recall"] == pytest.approx(expected, rel=1e-12)
    expected = by_hand(LogisticRegression(), data, clusters=PATIENT)
    assert found["test_evidence"] == pytest.approx(expected, rel=1e-12)


# Pipelines and searches.


def weighted_pipeline():
    return make_pipeline(
        StandardScaler().set_fit_request(sample_weight=False),
        LogisticRegression().set_fit_request(sample_weight=True),
    )


@pytest.mark.usefixtures("routing")
def test_pipeline_takes_weights_and_the_scorer_clusters(data):
    X, y = data
    found = cross_val_score(
        weighted_pipeline(),
        X,
        y,
        cv=CV,
        scoring=requesting("clusters", "strata"),
        params={
            "groups": PATIENT,
            "clusters": PATIENT,
            "strata": CLINIC,
            "sample_weight": WEIGHT**4,
        },
    )
    given = {"clusters": PATIENT, "strata": CLINIC}
    expected = by_hand(weighted_pipeline(), data, fit_weight=WEIGHT**4, **given)
    assert found == pytest.approx(expected, rel=1e-9)
    unweighted = by_hand(make_pipeline(StandardScaler(), LogisticRegression()), data, **given)
    assert np.any(np.abs(found - unweighted) > 1e-6)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_grid_search_of_a_pipeline_with_several_scorers(n_jobs, data):
    X, y = data
    scoring = {
        "clusters": requesting("clusters", refused=["strata"]),
        "strata": requesting("strata", refused=["clusters"]),
    }
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    grid = {"logisticregression__C": [1e-4, 1.0]}
    search = GridSearchCV(
        pipeline, grid, scoring=scoring, refit="clusters", cv=CV, n_jobs=n_jobs
    ).fit(X, y, groups=PATIENT, clusters=PATIENT, strata=CLINIC)
    for candidate, C in enumerate(grid["logisticregression__C"]):
        model = clone(pipeline).set_params(logisticregression__C=C)
        for name, values in {"clusters": PATIENT, "strata": CLINIC}.items():
            expected = by_hand(model, data, **{name: values})
            splits = [search.cv_results_[f"split{i}_test_{name}"][candidate] for i in range(3)]
            assert splits == pytest.approx(expected, rel=1e-9)
            mean = search.cv_results_[f"mean_test_{name}"][candidate]
            assert mean == pytest.approx(np.mean(expected), rel=1e-9)
    scores = search.decision_function(X)
    expected = metric_test(y, scores, clusters=PATIENT, n_resamples=N_PERMUTATIONS).zscore
    assert search.score(X, y, clusters=PATIENT) == pytest.approx(expected, rel=1e-12)


@pytest.mark.usefixtures("routing")
def test_nested_cross_validation(data):
    X, y = data
    search = RandomizedSearchCV(
        LogisticRegression(),
        {"C": [1e-3, 1.0]},
        n_iter=2,
        random_state=0,
        scoring=requesting("clusters"),
        cv=CV,
    )
    params = {"groups": PATIENT, "clusters": PATIENT}
    found = cross_validate(
        search, X, y, cv=CV, scoring=requesting("clusters"), params=params, return_estimator=True
    )
    for i, (train, held_out) in enumerate(CV.split(X, y, PATIENT)):
        own = {"groups": PATIENT[train], "clusters": PATIENT[train]}
        fitted = clone(search).fit(X[train], y[train], **own)
        assert found["estimator"][i].best_score_ == pytest.approx(fitted.best_score_, rel=1e-12)
        result = metric_test(
            y[held_out],
            fitted.decision_function(X[held_out]),
            clusters=PATIENT[held_out],
            n_resamples=N_PERMUTATIONS,
        )
        assert found["test_score"][i] == pytest.approx(result.zscore, rel=1e-12)


# Other tools of scikit-learn.


@pytest.mark.usefixtures("routing")
def test_curves(data):
    params = {"groups": PATIENT, "clusters": PATIENT}
    options = {"cv": CV, "scoring": requesting("clusters"), "params": params}
    expected = by_hand(LogisticRegression(), data, clusters=PATIENT)
    _, _, scores = learning_curve(LogisticRegression(), *data, train_sizes=[0.5, 1.0], **options)
    assert scores[-1] == pytest.approx(expected, rel=1e-12)
    _, scores = validation_curve(
        LogisticRegression(), *data, param_name="C", param_range=[1e-4, 1.0], **options
    )
    assert scores[-1] == pytest.approx(expected, rel=1e-12)


@pytest.mark.usefixtures("routing")
@pytest.mark.filterwarnings("ignore::FutureWarning:sklearn")
def test_estimator_with_a_built_in_search(data):
    X, y = data
    scoring = requesting("clusters")
    model = LogisticRegressionCV(Cs=[1.0], cv=CV, scoring=scoring, tol=1e-10)
    model.fit(X, y, groups=PATIENT, clusters=PATIENT)
    expected = metric_test(
        y, model.decision_function(X), clusters=PATIENT, n_resamples=N_PERMUTATIONS
    )
    assert model.score(X, y, clusters=PATIENT) == pytest.approx(expected.zscore, rel=1e-12)


@pytest.mark.usefixtures("routing")
def test_params_of_cross_val_significance_reach_fit(data):
    pipeline = weighted_pipeline()
    result = cross_val_significance(
        pipeline,
        *data,
        cv=CV,
        clusters=PATIENT,
        params={"groups": PATIENT, "sample_weight": WEIGHT**4},
        n_resamples=N_PERMUTATIONS,
    )
    expected = by_hand(pipeline, data, "statistic", fit_weight=WEIGHT**4, clusters=PATIENT)
    assert result.fold_statistics == pytest.approx(expected, rel=1e-12)


# Copies.


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    "copy",
    [
        lambda scoring: clone(scoring, safe=False),
        deepcopy,
        lambda scoring: pickle.loads(pickle.dumps(scoring)),
        lambda scoring: clone(GridSearchCV(LogisticRegression(), {}, scoring=scoring)).scoring,
    ],
    ids=["clone", "deepcopy", "pickle", "clone of a search"],
)
def test_copies_keep_requests(copy, data):
    scoring = scorer().set_score_request(clusters="patient", strata=True)
    copied = copy(scoring)
    assert requests_of(copied) == {"clusters": "patient", "strata": True}
    params = {"groups": PATIENT, "patient": PATIENT, "strata": CLINIC}
    options = {"cv": CV, "params": params}
    found = cross_val_score(LogisticRegression(), *data, scoring=copied, **options)
    expected = cross_val_score(LogisticRegression(), *data, scoring=scoring, **options)
    assert found.tolist() == expected.tolist()
    copied.set_score_request(clusters=False)
    assert requests_of(scoring)["clusters"] == "patient"


@pytest.mark.usefixtures("routing")
def test_requests_belong_to_one_scorer():
    scorers = scorer(output="all")
    scorers["pvalue"].set_score_request(clusters=True)
    assert requests_of(scorers["pvalue"]) == {"clusters": True}
    assert requests_of(scorers["zscore"]) == {}
    assert requests_of(scorer(output="all")["pvalue"]) == {}
    assert requests_of(average_precision_significance_scorer) == {}


# Metadata that are missing, do not fit or do not arrive.


@pytest.mark.usefixtures("routing")
def test_requested_metadata_that_are_not_given(data):
    """A request is no obligation in scikit-learn: the scorer tests without clusters."""
    found = cross_val_score(
        LogisticRegression(),
        *data,
        cv=CV,
        scoring=requesting("clusters"),
        params={"groups": PATIENT},
    )
    assert found == pytest.approx(by_hand(LogisticRegression(), data), rel=1e-9)


def test_requests_have_no_effect_without_routing(data):
    with sklearn.config_context(enable_metadata_routing=True):
        scoring = requesting("clusters")
    found = cross_val_score(LogisticRegression(), *data, cv=CV, scoring=scoring, groups=PATIENT)
    assert found == pytest.approx(by_hand(LogisticRegression(), data), rel=1e-9)


@pytest.mark.parametrize("name", ["clusters", "strata", "order"])
def test_metadata_without_routing_go_to_fit(name, data):
    with pytest.raises(TypeError, match=name):
        cross_val_score(
            LogisticRegression(),
            *data,
            cv=CV,
            groups=PATIENT,
            scoring=scorer(),
            params={name: np.arange(240)},
            error_score="raise",
        )
    fitted = LogisticRegression().fit(*data)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        scorer()(fitted, *data, **{name: np.arange(240)})


def test_weights_reach_a_called_scorer_without_routing(data):
    fitted = LogisticRegression().fit(*data)
    found = scorer()(fitted, *data, sample_weight=WEIGHT)
    expected = average_precision_test(
        data[1],
        fitted.decision_function(data[0]),
        sample_weight=WEIGHT,
        n_resamples=N_PERMUTATIONS,
    )
    assert found == pytest.approx(expected.zscore, rel=1e-12)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("name", ["clusters", "strata"])
def test_metadata_of_another_length(name, data):
    with pytest.raises(ValueError, match=name):
        cross_val_score(
            LogisticRegression(),
            *data,
            cv=CV,
            scoring=requesting(name),
            params={"groups": PATIENT, name: PATIENT[:-1]},
            error_score="raise",
        )
