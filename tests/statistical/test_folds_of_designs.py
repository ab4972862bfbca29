"""How often noise is rejected where rows are ordered, belong together, or follow each other.

Every design has features and labels that have nothing to do with each other, and one recommended
way to test a cross-validation of them. A few data sets are simulated, seventy-five times as
many with `--long`. An assertion raises one false alarm in ten thousand seeds.
"""

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)

from sklearn_rankinf import best_candidate_test, cross_val_significance, search_permutation_test

LEVELS = (0.05, 0.01)
LOGISTIC = LogisticRegression()


class Means(ClassifierMixin, BaseEstimator):
    """The difference of the classes' means as direction: nearly as quick as no fit."""

    def __init__(self, power=0):
        self.power = power

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        self.direction_ = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
        self.direction_ *= np.abs(self.direction_) ** self.power
        return self

    def decision_function(self, X):
        return X @ self.direction_

    def predict(self, X):
        return (self.decision_function(X) > 0).astype(int)


def exactly(rng, n_samples, n_positives):
    return rng.permutation(np.arange(n_samples) < n_positives).astype(int)


# Designs: labels and features that have nothing to do with each other.


def sorted_rows(rng):
    """Rows in the order of a feature."""
    X = rng.normal(size=(200, 2))
    return X[np.argsort(-X[:, 0])], exactly(rng, 200, 20)


def drifting_rows(rng):
    """A feature that drifts from row to row."""
    X = rng.normal(size=(200, 2))
    X[:, 0] += np.linspace(0.0, 3.0, 200)
    return X, exactly(rng, 200, 20)


GROUP = np.repeat(np.arange(100), 8)


def whole_groups(rng):
    """A hundred groups of eight rows with one label each, and features that depend on the group."""
    X = rng.normal(size=(100, 2))[GROUP] + 0.3 * rng.normal(size=(800, 2))
    return X, exactly(rng, 100, 20)[GROUP]


PATIENT = np.repeat(np.arange(90), np.repeat([1, 2, 4], 30))


def groups_of_sizes(rng):
    """Groups of one, two and four rows, of which larger ones are more often positive."""
    positive = np.concatenate([exactly(rng, 30, k) for k in (5, 8, 11)])
    X = rng.normal(size=(90, 2))[PATIENT] + 0.3 * rng.normal(size=(210, 2))
    X[:, 0] += 0.2 * np.repeat([1, 2, 4], 30)[PATIENT]
    return X, positive[PATIENT]


SITE = np.arange(240) % 3


def sites(rng):
    """Three sites with different shares of positives, and features that depend on the site."""
    y = np.empty(240, dtype=int)
    for site, n_positives in enumerate((4, 10, 25)):
        y[site == SITE] = exactly(rng, 80, n_positives)
    X = rng.normal(size=(240, 2))
    X[:, 0] += 0.7 * SITE
    return X, y


def autoregressive(rng, n, correlation):
    noise = rng.normal(size=n) * np.sqrt(1 - correlation**2)
    noise[0] = rng.normal()
    for i in range(1, n):
        noise[i] += correlation * noise[i - 1]
    return noise


def series(correlation):
    """Labels and features that are two series without relation."""

    def of_seed(rng):
        while True:
            latent = autoregressive(rng, 1000, correlation)
            y = (latent > 0.84).astype(int)
            if y[:200].any():
                X = np.stack([autoregressive(rng, 1000, correlation) for _ in range(2)], axis=1)
                return X, y

    return of_seed


# Ways to test them.


def folds(X, y, **options):
    return cross_val_significance(LOGISTIC, X, y, **options).pvalue


def refits(X, y, **options):
    # The tests of the folds are not used.
    options = {"method": "refit", "n_resamples": 19, **options}
    return cross_val_significance(Means(), X, y, **options).pvalue


def grid(X, y, n_resamples=19, **options):
    search = GridSearchCV(
        Means(), {"power": [0, 1]}, cv=StratifiedGroupKFold(2, shuffle=True, random_state=0)
    )
    search.set_params(scoring="average_precision")
    return search_permutation_test(search, X, y, n_resamples=n_resamples, **options).pvalue


def best(X, y, **options):
    candidates = np.c_[X, X.sum(axis=1), np.round(X[:, 0])]
    return best_candidate_test(y, candidates, n_resamples=199, **options).pvalue.min()


ORDER = {"cv": TimeSeriesSplit(4), "order": np.arange(1000), "method": "fisher"}
CLUSTERS = {"clusters": GROUP, "n_resamples": 999}
VALID = {
    "sorted rows, default folds": (sorted_rows, folds, {}),
    "drifting rows, default folds": (drifting_rows, folds, {}),
    "groups, default folds": (whole_groups, folds, CLUSTERS),
    "groups of sizes, two folds": (
        groups_of_sizes,
        folds,
        {"clusters": PATIENT, "n_resamples": 999, "cv": 2},
    ),
    "sites, default folds": (sites, folds, {"strata": SITE, "n_resamples": 999}),
    "groups, refits": (groups_of_sizes, refits, {"clusters": PATIENT, "cv": 2}),
    "groups, search": (groups_of_sizes, grid, {"clusters": PATIENT, "params": {"groups": PATIENT}}),
    "groups, best candidate": (whole_groups, best, {"clusters": GROUP}),
    "groups of sizes, best candidate": (groups_of_sizes, best, {"clusters": PATIENT}),
    "sites, best candidate": (sites, best, {"strata": SITE}),
    "series of .5, shifts": (series(0.5), folds, ORDER),
    "series of .8, shifts": (series(0.8), folds, ORDER),
    "series of .95, shifts": (series(0.95), folds, ORDER),
    "series of .8, best candidate": (series(0.8), best, {"order": np.arange(1000)}),
}
PAST = {"cv": TimeSeriesSplit(4), "method": "fisher"}
INVALID = {
    "sorted rows, unshuffled": (sorted_rows, folds, {"cv": StratifiedKFold(5)}),
    "drifting rows, unshuffled": (drifting_rows, folds, {"cv": StratifiedKFold(5)}),
    "sites, ignored": (sites, folds, {}),
    "sites, best candidate": (sites, best, {}),
    "groups, best candidate": (whole_groups, best, {}),
    "series of .5, ignored": (series(0.5), folds, PAST),
    "series of .8, ignored": (series(0.8), folds, PAST),
    "series of .95, ignored": (series(0.95), folds, PAST),
}
# Quick ones come with more data sets.
N_QUICK = {folds: 8, refits: 3, grid: 2, best: 20}


def simulated(case, n_data_sets, seed=1):
    design, test, options = case
    found = np.empty(n_data_sets)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(n_data_sets):
            found[i] = test(*design(np.random.default_rng([seed, i])), **options)
    return found


# Of these there are others with the same restriction of the labels, or so few data sets by default
# that no number of rejections is too large.
ONLY_LONG = (
    "groups, refits",
    "groups, search",
    "drifting rows, default folds",
    "groups, default folds",
    "groups of sizes, best candidate",
    "series of .5, shifts",
    "series of .95, shifts",
    "series of .8, best candidate",
)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name in ONLY_LONG)) for name in VALID],
)
def test_recommended_ways_keep_their_level(name, long):
    n_data_sets = (75 if long else 1) * N_QUICK[VALID[name][1]]
    found = simulated(VALID[name], n_data_sets)
    for level in LEVELS:
        rejected = np.sum(found <= level + 1e-12)
        assert rejected <= stats.binom.isf(1e-4, n_data_sets, level), level


@pytest.mark.long
@pytest.mark.parametrize("name", INVALID)
def test_others_do_not(name):
    found = simulated(INVALID[name], 600)
    assert np.sum(found <= 0.05) > stats.binom.isf(1e-4, 600, 0.05)
