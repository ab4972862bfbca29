"""Strata, clusters, groups and splitters of cross-validation: permutations, errors, warnings."""

import itertools
import math
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import sklearn
from by_name import NAMED
from estimators import MeansClassifier
from oracles import average_precision_of
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier

from sklearn_rankinf import (
    average_precision_test,
    cross_val_comparison,
    cross_val_significance,
    make_significance_scorer,
    metric_test,
    search_permutation_test,
)
from sklearn_rankinf._model_selection.folds import (
    _warn_of_series,
    check_groups,
    permuted,
    sample_of_labels,
)
from sklearn_rankinf._permutation.designs import exchange_of
from sklearn_rankinf._ranking import Fold

MEANS, NEIGHBOURS = MeansClassifier(), KNeighborsClassifier(7)
PREDICTED = make_significance_scorer(response_method="predict")
GRID = {"n_neighbors": [3, 9]}
UNSHUFFLED = "The folds are stratified without shuffling"
SERIES = "The folds consist of consecutive rows, and consecutive labels are more similar"
ALIKE = "The labels are more similar within groups than random labels"


@pytest.fixture(scope="module")
def patients():
    """Sixty patients of two rows each, 20 of them ill, with features of little information."""
    rng = np.random.default_rng(1)
    patient = np.repeat(np.arange(60), 2)
    y = (rng.permutation(60) < 20)[patient].astype(int)
    X = rng.normal(size=(60, 3))[patient] + 0.3 * rng.normal(size=(120, 3))
    X[:, 0] += 0.7 * y
    return X, y, patient


def quietly(function, *args, **options):
    """Call a function that must not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return function(*args, **options)


# Tests of folds.


@pytest.mark.parametrize(
    ("metric", "test", "named"),
    [
        ("average_precision", average_precision_test, False),
        ("roc_auc", NAMED["roc_auc"].test, True),
    ],
)
def test_folds_with_clusters_are_tested_by_themselves(metric, test, named, patients):
    X, y, patient = patients
    cv = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    names = np.array([f"patient {p}" for p in patient]) if named else patient
    result = quietly(
        cross_val_significance,
        MEANS,
        X,
        y,
        params={"groups": patient},
        clusters=names.tolist(),
        cv=cv,
        metric=metric,
        n_resamples=499,
        random_state=3,
    )
    for fold, (train, held_out) in zip(result.fold_tests, cv.split(X, y, patient), strict=True):
        scores = clone(MEANS).fit(X[train], y[train]).decision_function(X[held_out])
        own = test(
            y[held_out],
            scores,
            clusters=patient[held_out],
            n_resamples=499,
            random_state=3,
        )
        assert fold.method == own.method == "permutation"
        assert fold.pvalue == own.pvalue
        assert fold.statistic == pytest.approx(own.statistic, rel=1e-12)
        free = test(y[held_out], scores, method="permutation", n_resamples=499, random_state=3)
        # The p-values of both may be the smallest possible one.
        assert fold.zscore != pytest.approx(free.zscore, rel=1e-3)
    assert result.pvalue == pytest.approx(min(1.0, 3 * result.fold_pvalues.min()))


def test_folds_with_strata(patients):
    X, y, _ = patients
    site = np.where(np.arange(120) % 4 == 0, "clinic", "rural")
    cv = KFold(3, shuffle=True, random_state=0)
    result = quietly(
        cross_val_significance, NEIGHBOURS, X, y, strata=pd.Series(site), cv=cv, n_resamples=99
    )
    for fold, (train, held_out) in zip(result.fold_tests, cv.split(X), strict=True):
        scores = clone(NEIGHBOURS).fit(X[train], y[train]).predict_proba(X[held_out])[:, 1]
        own = average_precision_test(
            y[held_out], scores, strata=site[held_out], n_resamples=99, random_state=0
        )
        assert fold.pvalue == own.pvalue


def test_string_labels_and_jobs_with_clusters(patients):
    X, y, patient = patients
    options = {"clusters": patient, "n_resamples": 9, "method": "refit", "cv": 3}
    plain = cross_val_significance(MEANS, X, y, **options)
    named = cross_val_significance(
        MEANS,
        X,
        np.where(y == 1, "a", "b"),
        metric=make_significance_scorer(pos_label="a"),
        n_jobs=2,
        **options,
    )
    assert named.fold_pvalues.tolist() == plain.fold_pvalues.tolist()
    assert named.permuted_statistics == pytest.approx(plain.permuted_statistics)


def test_clusters_with_results_of_cross_validate(patients):
    X, y, patient = patients
    cv = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    fitted = cross_validate(
        MEANS, X, y, groups=patient, cv=cv, return_estimator=True, return_indices=True
    )
    again = cross_val_significance(fitted, X, y, clusters=patient, n_resamples=99)
    direct = cross_val_significance(
        MEANS, X, y, params={"groups": patient}, clusters=patient, cv=cv, n_resamples=99
    )
    assert again.fold_pvalues.tolist() == direct.fold_pvalues.tolist()


def test_clusters_that_a_fold_divides(patients):
    X, y, patient = patients
    message = (
        r"Cluster \d+ is in the training set and in the held-out items of fold 0, which reveals "
        "its label to the estimator: keep clusters together, as StratifiedGroupKFold does"
    )
    with pytest.raises(ValueError, match=message):
        cross_val_significance(
            MEANS, X, y, clusters=patient, cv=KFold(3, shuffle=True, random_state=0)
        )
    # Scores of an estimator that is not fitted here do not depend on the labels.
    frozen = FrozenEstimator(clone(MEANS).fit(X, np.arange(120) % 2))
    options = {"clusters": patient, "cv": KFold(3, shuffle=True, random_state=0)}
    result = cross_val_significance(frozen, X, y, n_resamples=49, **options)
    assert result.n_splits == 3
    with pytest.raises(ValueError, match="method='fisher' needs folds that hold out different clu"):
        cross_val_significance(frozen, X, y, method="fisher", **options)


def test_fisher_with_whole_clusters_of_a_frozen_scorer(patients):
    X, y, patient = patients
    frozen = FrozenEstimator(clone(MEANS).fit(X, np.arange(120) % 2))
    result = cross_val_significance(
        frozen, X, y, clusters=patient, cv=3, method="fisher", n_resamples=199
    )
    log = np.log(result.fold_pvalues).sum()
    # The tail of the chi-squared distribution with six degrees of freedom.
    assert result.pvalue == pytest.approx(math.exp(log) * (1 - log + log**2 / 2))


def test_restrictions_have_no_analytic_distribution(patients):
    X, y, patient = patients
    with pytest.raises(ValueError, match="method='analytic' is not available for permutation"):
        cross_val_significance(
            None, X, y, clusters=patient, metric=make_significance_scorer(method="analytic")
        )
    frozen = FrozenEstimator(clone(MEANS).fit(X, y))
    message = "method='convolution' has no null distribution of the mean over folds with strata and"
    with pytest.raises(ValueError, match=message):
        cross_val_significance(frozen, X, y, clusters=patient, strata=y, cv=3, method="convolution")


def test_names_of_clusters_in_messages(patients):
    X, y, patient = patients
    changed = y.copy()
    changed[0] = 1 - y[0]
    names = [f"patient {p}" for p in patient]
    with pytest.raises(ValueError, match="The labels in cluster 'patient 0' differ"):
        cross_val_significance(MEANS, X, changed, clusters=names)
    with pytest.raises(ValueError, match="The labels in cluster 'patient 0' differ"):
        search_permutation_test(GridSearchCV(NEIGHBOURS, GRID), X, changed, clusters=names)
    with pytest.raises(ValueError, match="clusters must contain the cluster of each of the 120"):
        cross_val_significance(MEANS, X, y, clusters=names[1:])
    with pytest.raises(ValueError, match="Cluster 'patient 0' lies in several strata"):
        cross_val_significance(MEANS, X, y, clusters=names, strata=np.arange(120))


# Few labellings.


def blocks(sizes, positive):
    """A cluster of each size, and their labels."""
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    return cluster, np.asarray(positive)[cluster]


def by_position(n_samples):
    """A frozen scorer whose score is the only feature."""
    fitted = LinearRegression(fit_intercept=False).fit([[1.0], [2.0]], [1.0, 2.0])
    return FrozenEstimator(fitted), np.arange(float(n_samples), 0.0, -1.0)[:, None]


def test_few_labellings_of_folds_give_one_warning():
    # In the first fold two clusters of two, in the second all have their own size.
    cluster, y = blocks([2, 2, 1, 3, 1, 2, 3, 4], [1, 0, 0, 0, 1, 0, 0, 0])
    scorer, X = by_position(y.size)
    with pytest.warns(UserWarning, match="clusters leave") as caught:
        result = cross_val_significance(
            scorer,
            X,
            y,
            clusters=cluster,
            cv=PredefinedSplit(np.repeat([0, 1], [8, 10])),
            metric=PREDICTED,
            n_resamples=199,
        )
    texts = [str(w.message) for w in caught if "labellings" in str(w.message)]
    assert texts == [
        "clusters leave few different labellings in 2 of 2 folds (0, 1; the smallest number is 1). "
        "The p-value of a fold is at least 1 divided by this number: use fewer folds."
    ]
    assert result.fold_pvalues[1] == 1.0
    assert result.fold_pvalues[0] == pytest.approx(0.5, abs=0.15)


def test_folds_that_nothing_can_be_permuted_in():
    cluster, y = blocks([2, 1, 3, 1, 2, 4], [1, 0, 0, 1, 0, 0])
    scorer, X = by_position(y.size)
    message = (
        "clusters leave no labelling of any fold but the observed one, so there is "
        "nothing to permute: use fewer folds, or folds of clusters of equal sizes"
    )
    with pytest.raises(ValueError, match=message):
        cross_val_significance(
            scorer,
            X,
            y,
            clusters=cluster,
            cv=PredefinedSplit(np.repeat([0, 1], [6, 7])),
            metric=PREDICTED,
        )


@pytest.mark.parametrize("name", ["clusters", "strata"])
def test_permutations_that_change_nothing(name, patients):
    X, y, _ = patients
    # Strata of one label each; all positives in one cluster, and the others in pairs.
    codes = y if name == "strata" else np.where(y == 1, -1, np.cumsum(y == 0) // 2)
    message = f"^{name} leave no labelling but the observed one"
    with pytest.raises(ValueError, match=message):
        cross_val_significance(MEANS, X, y, method="refit", n_resamples=3, **{name: codes})
    with pytest.raises(ValueError, match=message):
        search_permutation_test(GridSearchCV(NEIGHBOURS, GRID), X, y, **{name: codes})


def test_labels_of_one_kind_change_nothing(patients):
    X, y, _ = patients
    message = "All labels are the same, so there is nothing to permute"
    with pytest.raises(ValueError, match=message):
        search_permutation_test(GridSearchCV(NEIGHBOURS, GRID), X, np.zeros_like(y))
    with pytest.raises(ValueError, match=message):
        cross_val_significance(NEIGHBOURS, X, np.zeros_like(y), method="refit", n_resamples=3)


# Groups.


def test_labels_of_whole_groups_are_refused_without_clusters(patients):
    X, y, patient = patients
    message = (
        "The labels are constant within groups, but groups only affect the splits: .*"
        "Pass clusters=groups, which permutes the labels of whole groups"
    )
    search = GridSearchCV(NEIGHBOURS, GRID, cv=GroupKFold(3))
    with pytest.raises(ValueError, match=message):
        cross_val_significance(MEANS, X, y, params={"groups": patient}, cv=GroupKFold(3))
    with pytest.raises(ValueError, match=message):
        search_permutation_test(search, X, y, params={"groups": patient})
    answers = np.where(y == 1, "ill", "well")
    with pytest.raises(ValueError, match=message):
        search_permutation_test(search, X, answers, params={"groups": patient.astype(str)})
    options = {"params": {"groups": patient}, "clusters": patient, "n_resamples": 1}
    quietly(search_permutation_test, search, X, y, **options)


def test_labels_that_are_alike_within_groups_are_warned_of(patients):
    X, y, patient = patients
    changed = np.where(np.arange(120) % 20 == 0, 1 - y, y)
    options = {"params": {"groups": patient}, "cv": GroupKFold(3)}
    with pytest.warns(UserWarning, match=f"{ALIKE}.*Pass strata=groups"):
        cross_val_significance(NEIGHBOURS, X, changed, **options)
    search = GridSearchCV(NEIGHBOURS, GRID, cv=GroupKFold(3))
    with pytest.warns(UserWarning, match=ALIKE):
        search_permutation_test(search, X, changed, params={"groups": patient}, n_resamples=1)
    quietly(cross_val_significance, NEIGHBOURS, X, changed, strata=np.arange(120) % 2, **options)


@pytest.mark.parametrize("seed", range(3))
def test_groups_without_effect_on_the_labels(seed, patients):
    X, _, patient = patients
    y = np.random.default_rng(seed).permutation(np.arange(120) < 20).astype(int)
    for groups in (patient, np.arange(120)):  # groups of single samples are no groups
        params = {"groups": groups}
        quietly(cross_val_significance, NEIGHBOURS, X, y, params=params, cv=GroupKFold(3))


def test_share_of_false_alarms_about_groups():
    rng = np.random.default_rng(0)
    groups, n_alarms = np.repeat(np.arange(25), 4), 0
    for _ in range(400):
        sample = sample_of_labels(rng.permutation(np.arange(100) < 20))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            check_groups(sample, groups)
        n_alarms += len(caught)
    # One in a hundred; more than 12 of 400 once in 2000 seeds.
    assert n_alarms <= 12


# Splitters.


def spread(result):
    return [(test.n_samples, test.n_positives) for test in result.fold_tests]


def test_default_splitter_shuffles_with_a_fixed_seed(patients):
    X, y, _ = patients
    expected = quietly(
        cross_val_significance,
        MEANS,
        X,
        y,
        cv=StratifiedKFold(5, shuffle=True, random_state=0),
    )
    for cv in (None, 5, np.int64(5)):
        result = quietly(cross_val_significance, MEANS, X, y, cv=cv)
        assert result.fold_pvalues == pytest.approx(expected.fold_pvalues, rel=1e-12, abs=0.0)
    regressor = LinearRegression()
    plain, made = (
        cross_val_significance(regressor, X, y, cv=cv, metric=PREDICTED)
        for cv in (4, KFold(4, shuffle=True, random_state=0))
    )
    assert plain.fold_statistics.tolist() == made.fold_statistics.tolist()


@pytest.mark.parametrize("as_groups", [False, True])
def test_default_splitter_keeps_clusters_together(as_groups, patients):
    X, y, patient = patients
    cv = StratifiedGroupKFold(4, shuffle=True, random_state=0)
    options = {"clusters": patient, "n_resamples": 49}
    params = {"groups": patient}
    expected = cross_val_significance(MEANS, X, y, params=params, cv=cv, **options)
    given = {"params": params} if as_groups else {}
    result = quietly(cross_val_significance, MEANS, X, y, cv=4, **given, **options)
    assert spread(result) == spread(expected)
    assert result.fold_pvalues.tolist() == expected.fold_pvalues.tolist()
    regressor = LinearRegression()
    options |= {"clusters": patient, "metric": PREDICTED}
    made = GroupKFold(4, shuffle=True, random_state=0)
    plain = cross_val_significance(regressor, X, y, cv=4, **options)
    expected = cross_val_significance(regressor, X, y, params=params, cv=made, **options)
    assert plain.fold_pvalues.tolist() == expected.fold_pvalues.tolist()


REFITS = {"method": "refit", "n_resamples": 2, "metric": "roc_auc"}
SPLITTERS_BY_GROUPS = [
    StratifiedGroupKFold(3, shuffle=True, random_state=0),
    GroupKFold(3),
]


@pytest.mark.parametrize("routed", [False, True])
@pytest.mark.parametrize("cv", SPLITTERS_BY_GROUPS, ids=str)
def test_clusters_are_the_groups_of_a_splitter_by_groups(cv, routed, patients):
    X, y, patient = patients
    names = [f"patient {p:03d}" for p in patient]
    options = {"clusters": names, "n_resamples": 49, "cv": cv}
    expected, refits = (
        cross_val_significance(MEANS, X, y, params={"groups": names}, **options | method)
        for method in ({}, REFITS)
    )
    compared = cross_val_comparison(MEANS, NEIGHBOURS, X, y, params={"groups": names}, **options)
    with sklearn.config_context(enable_metadata_routing=routed):
        result, again_refitted = (
            cross_val_significance(MEANS, X, y, **options | method) for method in ({}, REFITS)
        )
        again = cross_val_comparison(MEANS, NEIGHBOURS, X, y, **options)
    assert spread(result) == spread(expected)
    assert result.fold_pvalues.tolist() == expected.fold_pvalues.tolist()
    assert again_refitted.permuted_statistics.tolist() == refits.permuted_statistics.tolist()
    assert again.to_dict() == compared.to_dict()


def test_clusters_of_any_hashable_value_are_groups(patients):
    X, y, patient = patients
    cv = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    options = {"n_resamples": 49, "cv": cv}
    plain = cross_val_significance(MEANS, X, y, clusters=patient, **options)
    pairs = [(p // 10, p % 10) for p in patient.tolist()]
    in_pairs = cross_val_significance(MEANS, X, y, clusters=iter(pairs), **options)
    assert in_pairs.fold_pvalues.tolist() == plain.fold_pvalues.tolist()
    # Numbers and strings have no common order, but are still kept together.
    mixed = [p if p % 2 else str(p) for p in patient.tolist()]
    result = cross_val_significance(MEANS, X, y, clusters=mixed, **options)
    assert all(n_samples % 2 == 0 for n_samples, _ in spread(result))


@pytest.mark.parametrize("routed", [False, True])
def test_clusters_are_the_groups_of_a_search_by_groups(routed, patients):
    X, y, patient = patients
    cv = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(NEIGHBOURS, GRID, cv=cv, scoring="average_precision")
    expected = clone(search).fit(X, y, groups=patient).best_score_
    options = {"clusters": patient, "n_resamples": 2}
    with sklearn.config_context(enable_metadata_routing=routed):
        assert search_permutation_test(search, X, y, **options).statistic == expected
    other = patient // 2
    expected = clone(search).fit(X, y, groups=other).best_score_
    options["params"] = {"groups": other}
    with sklearn.config_context(enable_metadata_routing=routed):
        assert search_permutation_test(search, X, y, **options).statistic == expected
    search.set_params(cv=3)
    expected = clone(search).fit(X, y).best_score_
    assert search_permutation_test(search, X, y, clusters=patient, n_resamples=2).statistic == (
        expected
    )


@pytest.mark.parametrize("routed", [False, True])
def test_groups_in_the_parameters_are_those_of_the_splitter(routed, patients):
    X, y, patient = patients
    households, cv = patient // 2, GroupKFold(4)
    options = {"clusters": patient, "n_resamples": 49}
    splits = list(cv.split(X, y, households))
    expected = cross_val_significance(MEANS, X, y, cv=splits, **options)
    compared = cross_val_comparison(MEANS, NEIGHBOURS, X, y, cv=splits, **options)
    options |= {"params": {"groups": households}, "cv": cv}
    with sklearn.config_context(enable_metadata_routing=routed):
        result = cross_val_significance(MEANS, X, y, **options)
        again = cross_val_comparison(MEANS, NEIGHBOURS, X, y, **options)
    assert result.fold_pvalues.tolist() == expected.fold_pvalues.tolist()
    assert again.to_dict() == compared.to_dict()


@pytest.mark.parametrize("routed", [False, True])
def test_an_estimator_that_splits_by_groups_gets_the_groups(routed, patients):
    X, y, patient = patients
    cv = GroupKFold(2)
    search = GridSearchCV(NEIGHBOURS, GRID, cv=cv, scoring="average_precision")
    scores = [
        clone(search)
        .fit(X[train], y[train], groups=patient[train])
        .predict_proba(X[test])[:, 1]
        .tolist()
        for train, test in cv.split(X, y, patient)
    ]
    expected = [
        average_precision_score(y[test], own)
        for own, (_, test) in zip(scores, cv.split(X, y, patient), strict=True)
    ]
    options = {"cv": cv, "clusters": patient, "n_resamples": 9}
    for given in ({}, {"params": {"groups": patient}}):
        with sklearn.config_context(enable_metadata_routing=routed):
            result = cross_val_significance(search, X, y, **options, **given)
            both = cross_val_comparison(search, MEANS, X, y, **options, **given)
        assert result.fold_statistics == pytest.approx(expected, rel=1e-12)
        assert both.fold_statistics_a == pytest.approx(expected, rel=1e-12)


def test_estimators_without_metadata_routing_take_part(patients):
    X, y, patient = patients
    boosted, options = AdaBoostClassifier(n_estimators=2), {"clusters": patient, "n_resamples": 9}
    result = cross_val_significance(boosted, X, y, cv=2, **options)
    both = cross_val_comparison(boosted, MEANS, X, y, cv=2, **options)
    assert both.fold_statistics_a.tolist() == result.fold_statistics.tolist()


@pytest.mark.parametrize("function", [cross_val_significance, cross_val_comparison])
@pytest.mark.parametrize("n_groups", [119, 121])
def test_groups_need_one_entry_for_each_sample(function, n_groups, patients):
    X, y, _ = patients
    estimators = (MEANS, NEIGHBOURS)[: 1 + (function is cross_val_comparison)]
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        function(*estimators, X, y, params={"groups": np.arange(n_groups)})


def test_groups_that_divide_clusters_are_refused(patients):
    X, y, patient = patients
    options = {"clusters": patient, "cv": StratifiedGroupKFold(3)}
    options["params"] = {"groups": np.arange(120)}
    with pytest.raises(ValueError, match="is in the training set and in the held-out items"):
        cross_val_significance(MEANS, X, y, **options)
    with pytest.raises(ValueError, match="is in the training set and in the held-out items"):
        cross_val_comparison(MEANS, NEIGHBOURS, X, y, **options)


# Reading of folds.


class Splits:
    """A splitter of a user, without the base class of scikit-learn."""

    def __init__(self, splits):
        self.splits = splits

    def split(self, X, y=None, groups=None):
        return iter(self.splits)

    def get_n_splits(self, X=None, y=None, groups=None):
        return len(self.splits)


def masks(splits):
    return [tuple(np.isin(np.arange(120), part) for part in split) for split in splits]


def lists(splits):
    return [[part.tolist() for part in split] for split in splits]


def compared(cv, X, y, scorer=MEANS, **options):
    return cross_val_comparison(scorer, NEIGHBOURS, X, y, cv=cv, n_resamples=49, **options)


@pytest.mark.parametrize(
    ("given", "written"), [(list, masks), (Splits, lists), (iter, list), (Splits, masks)]
)
def test_folds_may_be_masks_and_lists(given, written, patients):
    X, y, _ = patients
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    expected = cross_val_significance(MEANS, X, y, cv=splits)
    result = cross_val_significance(MEANS, X, y, cv=given(written(splits)))
    assert result.fold_pvalues.tolist() == expected.fold_pvalues.tolist()
    assert spread(result) == spread(expected)
    found = compared(given(written(splits)), X, y, method="mean")
    assert found.to_dict() == compared(splits, X, y, method="mean").to_dict()


@pytest.mark.parametrize("written", [masks, lists])
def test_indices_of_a_dict_may_be_masks_and_lists(written, patients):
    X, y, _ = patients
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    fitted = {"return_estimator": True, "return_indices": True}
    plain, other = (
        cross_validate(MEANS, X, y, cv=cv, **fitted) for cv in (splits, written(splits))
    )
    expected = cross_val_significance(plain, X, y)
    result = cross_val_significance(other, X, y)
    assert result.fold_pvalues.tolist() == expected.fold_pvalues.tolist()
    assert compared(None, X, y, other).to_dict() == compared(None, X, y, plain).to_dict()


def test_rows_may_be_repeated_for_training(patients):
    X, y, _ = patients
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    often = [(np.r_[train, train[y[train] == 1]], test) for train, test in splits]
    result = cross_val_significance(MEANS, X, y, cv=often)
    train, test = often[2]
    scores = clone(MEANS).fit(X[train], y[train]).decision_function(X[test])
    assert result.fold_tests[2].pvalue == average_precision_test(y[test], scores).pvalue


FIRST, LAST = np.arange(60), np.arange(60, 120)
UNREADABLE = {
    "no folds": ([], ValueError, "cv has no folds: pass at least one pair"),
    "no held-out rows": ([(FIRST, [])], ValueError, "Fold 0 of cv holds out no rows"),
    "nothing to train on": (
        [(FIRST, LAST), (np.zeros(120, dtype=bool), FIRST)],
        ValueError,
        "Fold 1 of cv trains on no rows: every fold needs training and held-out rows",
    ),
    "held out twice": (
        [(FIRST, LAST), (LAST, np.r_[FIRST, 7])],
        ValueError,
        "Fold 1 of cv holds out row 7 more than once, which would count as several items",
    ),
    "held out and trained on": (
        [(np.arange(65), LAST)],
        ValueError,
        "Fold 0 of cv trains on row 60, which it also holds out, so that its result would not be",
    ),
    "beyond the last row": (
        [(FIRST, [100, 120])],
        ValueError,
        "Fold 0 of cv holds out row 120: rows are numbered from 0 to 119",
    ),
    "negative": (
        [(FIRST, LAST), ([3, -1], FIRST)],
        ValueError,
        "Fold 1 of cv trains on row -1: rows are numbered from 0 to 119",
    ),
    "fractions": (
        [(FIRST, LAST + 0.5)],
        TypeError,
        r"Fold 0 of cv holds out rows that are not integers, such as 60\.5: pass row numbers",
    ),
    "names": ([(["a", "b"], LAST)], TypeError, "trains on rows that are not integers, such as 'a'"),
    "short mask": (
        [(FIRST, np.ones(119, dtype=bool))],
        ValueError,
        "holds out the rows of a mask with 119 entries: a mask needs one for each of the 120 rows",
    ),
    "table": (
        [(FIRST, LAST[:, None])],
        ValueError,
        "holds out rows that are not a one-dimensional",
    ),
    "ragged": ([(FIRST, [[1], [2, 3]])], ValueError, "rows that are not a one-dimensional array"),
    "one set": ([FIRST], ValueError, "Fold 0 of cv is not a pair of training and held-out rows"),
    "a number": ([7], ValueError, "is not a pair of training and held-out rows; got an object of"),
}


@pytest.mark.parametrize("given", [list, Splits])
@pytest.mark.parametrize(("splits", "error", "message"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_unreadable_folds(given, splits, error, message, patients):
    X, y, _ = patients
    with pytest.raises(error, match=message):
        cross_val_significance(MEANS, X, y, cv=given(splits))
    with pytest.raises(error, match=message):
        compared(given(splits), X, y)


@pytest.mark.parametrize(
    ("part", "rows", "message"),
    [
        ("test", np.r_[:25, 3], "Fold 0 of the dict holds out row 3 more than once"),
        ("test", np.arange(30, 50), "Fold 0 of the dict trains on row .*, which it also holds"),
        ("test", np.arange(0), "Fold 0 of the dict holds out no rows"),
        (
            "test",
            np.array([5, 120]),
            "X must be the cross-validated data with at least 121 items",
        ),
        ("train", np.array([-3]), "Fold 0 of the dict trains on row -3"),
    ],
)
def test_unreadable_folds_of_a_dict(part, rows, message, patients):
    X, y, _ = patients
    fitted = cross_validate(MEANS, X, y, cv=KFold(4), return_estimator=True, return_indices=True)
    fitted["indices"][part] = [rows, *fitted["indices"][part][1:]]
    for function, estimators in (
        (cross_val_significance, (fitted,)),
        (cross_val_comparison, (fitted, NEIGHBOURS)),
    ):
        with pytest.raises(ValueError, match=message):
            function(*estimators, X, y)


def test_dict_with_other_estimators_than_folds(patients):
    X, y, _ = patients
    fitted = cross_validate(MEANS, X, y, cv=KFold(4), return_estimator=True, return_indices=True)
    fitted["estimator"] = fitted["estimator"][:3]
    with pytest.raises(ValueError, match="the dict has 3 estimators and 4 folds"):
        cross_val_significance(fitted, X, y)


def test_frozen_scorers_may_hold_out_their_training_rows(patients):
    X, y, _ = patients
    scorer = FrozenEstimator(clone(MEANS).fit(X[:60], y[:60]))
    cv = [(np.arange(120), test) for test in np.split(np.arange(60, 120), 3)]
    result = cross_val_significance(scorer, X, y, cv=cv, method="convolution")
    scores = scorer.decision_function(X)
    for fold, (_, test) in zip(result.fold_tests, cv, strict=True):
        assert fold.pvalue == average_precision_test(y[test], scores[test]).pvalue
    with pytest.raises(ValueError, match="Fold 0 of cv trains on row 60, which it also holds out"):
        compared(cv, X, y, scorer)


def test_refits_read_the_folds_of_a_splitter(patients):
    X, y, _ = patients
    splits = list(KFold(3, shuffle=True, random_state=0).split(X))
    options = {**REFITS, "metric": "recall@0.2"}
    plain, other = (
        cross_val_significance(MEANS, X, y, cv=Splits(cv), **options)
        for cv in (splits, masks(splits))
    )
    assert other.permuted_statistics.tolist() == plain.permuted_statistics.tolist()


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("permuted", [False, True])
def test_infinite_scores_of_a_search(value, permuted, patients):
    X, y, _ = patients

    def scoring(estimator, X, labels):
        is_observed = np.array_equal(estimator.seen_, y)
        return value if is_observed != permuted else 0.5

    class Remembering(KNeighborsClassifier):
        def fit(self, X, labels):
            self.seen_ = Remembering.seen
            return super().fit(X, labels)

    class Search(GridSearchCV):
        def fit(self, X, labels):
            Remembering.seen = labels
            return super().fit(X, labels)

    search = Search(Remembering(3), {"n_neighbors": [3]}, cv=3, scoring=scoring)
    where = " under permuted labels" if permuted else ""
    message = f"The best score of the search{where} is {value}, and infinite scores have no order"
    with pytest.raises(ValueError, match=message):
        search_permutation_test(search, X, y, n_resamples=3)


@pytest.mark.parametrize("kind", ["splitter", "list", "dict"])
def test_unshuffled_stratified_folds_are_warned_of(kind, patients):
    X, y, _ = patients
    cv = StratifiedKFold(4)
    if kind == "list":
        cv = list(cv.split(X, y))
    estimator = MEANS
    options = {"cv": cv}
    if kind == "dict":
        estimator = cross_validate(MEANS, X, y, cv=4, return_estimator=True, return_indices=True)
        options = {}
    with pytest.warns(UserWarning, match=f"{UNSHUFFLED}.*Pass a splitter with shuffle=True"):
        cross_val_significance(estimator, X, y, **options)


@pytest.mark.parametrize(
    "cv",
    [
        KFold(4),
        KFold(4, shuffle=True, random_state=1),
        StratifiedKFold(4, shuffle=True, random_state=1),
        StratifiedGroupKFold(4, shuffle=True, random_state=1),
        StratifiedGroupKFold(4),
        GroupKFold(4),
        ShuffleSplit(3, random_state=0),
        TimeSeriesSplit(3),
    ],
)
def test_folds_that_do_not_look_at_labels_and_order(cv):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(120, 2)), rng.permutation(np.arange(120) < 30).astype(int)
    by_groups = isinstance(cv, GroupKFold | StratifiedGroupKFold)
    params = {"groups": np.arange(120) % 30} if by_groups else None
    quietly(cross_val_significance, NEIGHBOURS, X, y, cv=cv, params=params)


@pytest.mark.parametrize("cv", [TimeSeriesSplit(3), KFold(4)])
def test_labels_of_a_series_are_warned_of(cv):
    rng = np.random.default_rng(2)
    y = (np.arange(160) // 8 % 3 == 0).astype(int)
    X = rng.normal(size=(160, 2))
    with pytest.warns(UserWarning, match=SERIES):
        cross_val_significance(NEIGHBOURS, X, y, cv=cv)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for seed in range(100):
            shuffled = np.random.default_rng(seed).permutation(y)
            folds = [Fold(None, *split) for split in cv.split(X)]
            _warn_of_series(sample_of_labels(shuffled), folds)
    # One in a hundred; more than 5 once in 2000 seeds.
    assert len(caught) <= 5


# Series.


@pytest.fixture(scope="module")
def series():
    """Rows of a series, the labels of which come in episodes, with scores that drift."""
    rng = np.random.default_rng(3)
    y = np.repeat(rng.permutation(np.arange(60) < 18), 10).astype(int)
    X = np.cumsum(rng.normal(size=(600, 2)), axis=0)
    return X, y


@pytest.mark.parametrize("options", [{}, {"clusters": np.arange(600) // 15}])
def test_folds_of_a_series_are_tested_by_themselves(options, series):
    X, y = series
    cv = TimeSeriesSplit(3)
    result = quietly(
        cross_val_significance,
        MEANS,
        X,
        y,
        cv=cv,
        order=np.arange(600) / 7,
        n_resamples=299,
        method="fisher",
        **options,
    )
    for fold, (train, held_out) in zip(result.fold_tests, cv.split(X), strict=True):
        scores = clone(MEANS).fit(X[train], y[train]).decision_function(X[held_out])
        own_options = {name: of_items[held_out] for name, of_items in options.items()}
        own = metric_test(
            y[held_out], scores, order=held_out, n_resamples=299, random_state=0, **own_options
        )
        assert fold.pvalue == own.pvalue
        assert fold.pvalue != average_precision_test(y[held_out], scores).pvalue
        if not options:
            labels = [np.roll(y[held_out], shift) for shift in range(150)]
            values = np.array([average_precision_of(own_y, scores) for own_y in labels])
            assert fold.pvalue == pytest.approx(np.mean(values >= values[0] - 1e-12))


def test_refits_shift_the_labels(series):
    X, y = series
    order = np.random.default_rng(0).permutation(600)
    rank = np.argsort(order)
    exchange = exchange_of(sample_of_labels(y, order=iter(order)))
    for seed in np.random.SeedSequence(0).spawn(8):
        drawn = permuted(y, exchange, np.random.default_rng(seed))[rank]
        assert any(np.array_equal(drawn, np.roll(y[rank], shift)) for shift in range(600))
    result = search_permutation_test(
        GridSearchCV(NEIGHBOURS, GRID, cv=KFold(2)),
        X[:100],
        y[:100],
        order=np.arange(100),
        n_resamples=9,
    )
    assert result.pvalue >= 0.1


@pytest.mark.parametrize("cv", [KFold(3, shuffle=True, random_state=0), StratifiedKFold(3)])
def test_folds_that_break_a_series(cv, series):
    X, y = series
    message = (
        r"Fold \d holds out items that are not consecutive in order, and may train on their "
        "neighbours: pass a splitter such as TimeSeriesSplit, with sorted rows"
    )
    with pytest.raises(ValueError, match=message):
        cross_val_significance(MEANS, X, y, cv=cv, order=np.arange(600))


def test_rows_of_a_series_in_another_order(series):
    X, y = series
    with pytest.raises(ValueError, match="holds out items that are not consecutive"):
        cross_val_significance(
            NEIGHBOURS, X, y, cv=KFold(3), order=np.random.default_rng(0).permutation(600)
        )


@pytest.mark.parametrize("cv", [None, 4])
def test_the_default_splitter_is_not_for_series(cv, series):
    X, y = series
    message = f"cv={cv} shuffles, but with order the folds must be in order: pass a splitter such"
    with pytest.raises(ValueError, match=message):
        cross_val_significance(MEANS, X, y, cv=cv, order=np.arange(600))


def test_folds_of_whole_series(series):
    X, y = series
    plant = np.arange(600) % 4
    result = quietly(
        cross_val_significance,
        MEANS,
        X,
        y,
        params={"groups": plant},
        strata=plant,
        order=np.arange(600),
        cv=GroupKFold(2),
        n_resamples=99,
    )
    for fold, (train, held_out) in zip(
        result.fold_tests, GroupKFold(2).split(X, y, plant), strict=True
    ):
        scores = clone(MEANS).fit(X[train], y[train]).decision_function(X[held_out])
        own = metric_test(
            y[held_out],
            scores,
            order=held_out,
            strata=plant[held_out],
            n_resamples=99,
            random_state=0,
        )
        assert fold.pvalue == own.pvalue


def test_clusters_along_a_series_are_blocks(series):
    X, y = series
    with pytest.raises(ValueError, match="Cluster 0 is not a block of consecutive items"):
        cross_val_significance(MEANS, X, y, order=np.arange(600), clusters=np.arange(600) % 5)


# Refits.


@pytest.mark.parametrize("restriction", ["clusters", "strata", "both"])
def test_permuted_labels(restriction):
    cluster = np.array([0, 0, 1, 1, 2, 2, 3, 4, 5, 6])
    stratum = np.array(list("aabbaaabab"))
    y = np.array([1, 1, 0, 0, 0, 0, 1, 0, 0, 1])
    sample = sample_of_labels(
        y,
        strata=None if restriction == "clusters" else stratum,
        clusters=None if restriction == "strata" else cluster,
    )
    exchange = exchange_of(sample)
    seeds = np.random.SeedSequence(0).spawn(2000)
    found = [tuple(permuted(y, exchange, np.random.default_rng(seed)).tolist()) for seed in seeds]

    def is_allowed(labels):
        labels = np.array(labels)
        if labels.sum() != y.sum():
            return False
        if restriction != "strata":
            if any(np.ptp(labels[cluster == c]) for c in range(7)):
                return False
            sizes = np.bincount(cluster)[cluster]
            if labels[sizes == 2].sum() != y[sizes == 2].sum():
                return False
        if restriction == "clusters":
            return True
        within = [stratum == s for s in "ab"]
        if restriction == "both":
            within = [own & (np.bincount(cluster)[cluster] == k) for own in within for k in (1, 2)]
        return all(labels[own].sum() == y[own].sum() for own in within)

    allowed = [labels for labels in itertools.product([0, 1], repeat=10) if is_allowed(labels)]
    assert set(found) == set(allowed)
    expected = 2000 / len(allowed)
    counted = Counter(found)
    counts = np.array([counted[labels] for labels in allowed])
    assert np.all(np.abs(counts - expected) < 5 * math.sqrt(expected))


def test_refits_with_clusters_against_a_plain_loop(patients):
    X, y, patient = patients
    cv = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    result = quietly(
        cross_val_significance,
        NEIGHBOURS,
        X,
        y,
        params={"groups": patient},
        clusters=patient,
        cv=cv,
        method="refit",
        n_resamples=9,
        random_state=7,
    )
    exchange = exchange_of(sample_of_labels(y, clusters=patient))
    expected = []
    for seed in np.random.SeedSequence(7).spawn(9):
        labels = permuted(y, exchange, np.random.default_rng(seed))
        folds = []
        for train, held_out in cv.split(X, labels, patient):
            fitted = clone(NEIGHBOURS).fit(X[train], labels[train])
            response = fitted.predict_proba(X[held_out])[:, 1]
            folds.append(average_precision_score(labels[held_out], response))
        expected.append(np.mean(folds))
    assert result.permuted_statistics == pytest.approx(expected)
    reached = np.sum(np.array(expected) >= result.statistic * (1 - 1e-12))
    assert result.pvalue == (1 + reached) / 10


def test_searches_with_clusters_against_a_plain_loop(patients):
    X, y, patient = patients
    search = GridSearchCV(
        NEIGHBOURS,
        GRID,
        cv=StratifiedGroupKFold(3, shuffle=True, random_state=0),
        scoring="average_precision",
    )
    options = {"clusters": patient, "n_resamples": 5, "random_state": 7}
    result = search_permutation_test(search, X, y, params={"groups": patient}, **options)
    exchange = exchange_of(sample_of_labels(y, clusters=patient))
    expected = [
        clone(search).fit(X, permuted(y, exchange, rng), groups=patient).best_score_
        for rng in map(np.random.default_rng, np.random.SeedSequence(7).spawn(5))
    ]
    assert result.permuted_statistics.tolist() == expected


@pytest.mark.parametrize("make", [list, iter, tuple])
def test_refits_refuse_splits_that_were_made_once(make, patients):
    X, y, _ = patients
    message = (
        r"(Refits|Searches) are split again for each permutation of the labels, but cv=\w+ has "
        "fixed splits, .* pass a splitter, or PredefinedSplit if"
    )
    splits = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    with pytest.raises(ValueError, match=message):
        cross_val_significance(MEANS, X, y, cv=make(splits), **REFITS)
    search = GridSearchCV(NEIGHBOURS, GRID, cv=make(splits))
    with pytest.raises(ValueError, match=message):
        search_permutation_test(search, X, y)
    result = quietly(cross_val_significance, MEANS, X, y, cv=make(splits), metric="recall@0.2")
    assert result.n_splits == 3


def test_refits_take_splits_that_are_declared_fixed(patients):
    X, y, _ = patients
    cv = PredefinedSplit(np.arange(120) % 3)
    result = cross_val_significance(NEIGHBOURS, X, y, cv=cv, **REFITS)
    assert (
        result.statistic
        == cross_val_significance(NEIGHBOURS, X, y, cv=cv, metric="roc_auc").statistic
    )
    search = GridSearchCV(NEIGHBOURS, GRID, cv=cv)
    assert search_permutation_test(search, X, y, n_resamples=2).n_resamples == 2


class Scripted:
    """A score for the labels as they are, and another one for any others."""

    def __init__(self, y, observed, permuted):
        self.first, self.observed, self.permuted = y[:60], observed, permuted

    def __call__(self, estimator, X, y):
        is_observed = X[0, 0] != 0.0 or np.array_equal(y, self.first)
        return self.observed if is_observed else self.permuted


@pytest.mark.parametrize(
    ("observed", "permuted", "reached"),
    [
        (0.1 + 0.2, 0.3, True),  # one rounding apart
        (-0.3, -0.1 - 0.2, True),
        (3e8 * (1 + 4e-16), 3e8, True),  # 6e-8 apart, and equal
        (0.3 * (1 + 1e-9), 0.3, False),
        (1e-9, 0.9e-9, False),  # 1e-10 apart, and not equal
    ],
)
def test_equality_of_searches_is_relative(observed, permuted, reached):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(120) < 60).astype(int)
    X = np.zeros((120, 1))
    cv = PredefinedSplit(np.repeat([0, -1], 60))
    scoring = Scripted(y, observed, permuted)
    search = GridSearchCV(NEIGHBOURS, {"n_neighbors": [3]}, cv=cv, scoring=scoring)
    result = search_permutation_test(search, X, y, n_resamples=4)
    assert result.statistic == observed
    assert result.permuted_statistics.tolist() == [permuted] * 4
    assert result.pvalue == (1.0 if reached else 0.2)


# Metadata routing.


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_groups_with_metadata_routing(routing, patients):
    X, y, patient = patients
    with sklearn.config_context(enable_metadata_routing=False):
        expected = cross_val_significance(MEANS, X, y, clusters=patient, cv=3, **REFITS)
    result = cross_val_significance(MEANS, X, y, clusters=patient, cv=3, **REFITS)
    assert result.fold_pvalues.tolist() == expected.fold_pvalues.tolist()
    assert result.permuted_statistics.tolist() == expected.permuted_statistics.tolist()


def test_scorers_of_a_search_get_its_clusters(routing, patients):
    X, y, patient = patients
    scorer = make_significance_scorer(n_resamples=49, output="zscore")
    scorer.set_score_request(clusters=True)
    cv = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(NEIGHBOURS, GRID, cv=cv, scoring=scorer)
    result = search_permutation_test(
        search,
        X,
        y,
        clusters=patient,
        params={"groups": patient, "clusters": patient},
        n_resamples=2,
    )
    expected = clone(search).fit(X, y, groups=patient, clusters=patient).best_score_
    assert result.statistic == expected


def test_parameters_of_a_search_reach_its_fits(patients):
    X, y, _ = patients
    weights = np.where(y == 1, 50.0, 1.0)
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3, scoring="neg_log_loss")
    result = search_permutation_test(search, X, y, params={"sample_weight": weights}, n_resamples=1)
    assert result.statistic == clone(search).fit(X, y, sample_weight=weights).best_score_
    assert result.statistic != clone(search).fit(X, y).best_score_
