"""How often combinations of folds reject noise, and how often they find a signal.

Every case cross-validates an estimator on data sets in which labels and features have nothing to do
with each other, 12 of them, 2,000 with `--long`, and combines the p-values of the same folds in
every way. A valid combination rejects no more than the nominal share; limits leave room for
Monte Carlo error that is exceeded once in 100,000 seeds.
"""

import math
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.neighbors import KNeighborsClassifier

from sklearn_rankinf import (
    ap_null_distribution,
    average_precision_significance_scorer,
    cross_val_significance,
    metric_null_distribution,
    search_permutation_test,
)
from sklearn_rankinf._model_selection.significance import combined_log_pvalue

LEVELS = (0.05, 0.01)
UNDER_ANY_DEPENDENCE = ("bonferroni", "twice_mean")
LOGISTIC, NEIGHBOURS = LogisticRegression(), KNeighborsClassifier(9)


@dataclass(frozen=True)
class Case:
    """An estimator, its folds, and the combinations that are valid and invalid for them."""

    estimator: Any
    cv: Any
    valid: tuple[str, ...] = UNDER_ANY_DEPENDENCE
    invalid: tuple[str, ...] = ()


INVALID = ("fisher", "convolution")
INDEPENDENT = (*UNDER_ANY_DEPENDENCE, "fisher", "convolution")
CASES = {
    "logistic regression": Case(LOGISTIC, StratifiedKFold(5, shuffle=True), invalid=INVALID),
    "nearest neighbours": Case(NEIGHBOURS, StratifiedKFold(5, shuffle=True)),
    "logistic regression, random splits": Case(
        LOGISTIC, ShuffleSplit(5, test_size=0.3), invalid=("fisher",)
    ),
    "nearest neighbours, random splits": Case(NEIGHBOURS, ShuffleSplit(5, test_size=0.3)),
    "logistic regression, past": Case(
        LOGISTIC, TimeSeriesSplit(4), (*UNDER_ANY_DEPENDENCE, "fisher")
    ),
    "nearest neighbours, past": Case(
        NEIGHBOURS, TimeSeriesSplit(4), (*UNDER_ANY_DEPENDENCE, "fisher")
    ),
    "fitted elsewhere": Case(
        FrozenEstimator(LOGISTIC), StratifiedKFold(5, shuffle=True), INDEPENDENT
    ),
    "fitted elsewhere, ties": Case(
        FrozenEstimator(KNeighborsClassifier(3)), StratifiedKFold(2, shuffle=True), INDEPENDENT
    ),
}


def noise(rng, n_samples=80, n_positives=20, signal=0.0):
    """Two features of random rows; the first one is shifted for positives."""
    y = np.zeros(n_samples, dtype=int)
    while not y[:16].any():  # there is nothing to fit to the first rows of one class
        y = rng.permutation(np.repeat([1, 0], [n_positives, n_samples - n_positives]))
    X = rng.normal(size=(n_samples, 2))
    X[:, 0] += signal * y
    return X, y


def pvalues_of(result, with_convolution):
    """P-values of the same folds combined in every way."""
    logs = result.fold_log10_pvalues * math.log(10.0)
    combined = {
        combine: math.exp(combined_log_pvalue(logs, combine))
        for combine in ("bonferroni", "twice_mean", "cauchy", "fisher")
    }
    if with_convolution:
        combined["convolution"] = null_of_mean(*map(sizes, result.fold_tests)).pvalue(
            result.statistic
        )
    return combined


def sizes(test):
    """Numbers of items and positives of a fold, and its ties."""
    ties = test.null_distribution.tie_sizes
    return test.n_samples, test.n_positives, None if ties is None else tuple(ties.tolist())


@lru_cache(maxsize=4)
def null_of_mean(*folds):
    """The distribution of the mean over independent folds."""
    n_samples, n_positives, ties = zip(*folds, strict=True)
    return metric_null_distribution(n_samples, n_positives, tie_sizes=ties)


@lru_cache
def simulated(name, n_data_sets, signal=0.0, seed=5):
    """P-values by combination, one for each data set."""
    case, rng = CASES[name], np.random.default_rng(seed)
    found = []
    for _ in range(n_data_sets):
        X, y = noise(rng, signal=signal)
        estimator, cv = clone(case.estimator), copy(case.cv)
        if isinstance(estimator, FrozenEstimator):
            estimator = FrozenEstimator(clone(estimator.estimator).fit(*noise(rng, signal=signal)))
        states = np.random.RandomState(rng.integers(2**32))
        for part in (estimator, cv):
            if hasattr(part, "random_state"):
                part.random_state = states.randint(2**31)
        result = cross_val_significance(estimator, X, y, cv=cv)
        found.append(pvalues_of(result, "convolution" in (*case.valid, *case.invalid)))
    return {combine: np.array([p[combine] for p in found]) for combine in found[0]}


@pytest.fixture(scope="module")
def n_data_sets(long):
    return 2000 if long else 12


def most(n_data_sets, level):
    """Number of rejections that is exceeded once in 100,000 seeds."""
    return stats.binom.isf(1e-5, n_data_sets, level)


# Of these there are others of the same kind.
ONLY_LONG = ("nearest neighbours", "nearest neighbours, random splits", "nearest neighbours, past")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name in ONLY_LONG)) for name in CASES],
)
def test_valid_combinations_keep_their_level(name, n_data_sets):
    pvalues = simulated(name, n_data_sets)
    for combine in CASES[name].valid:
        for level in LEVELS:
            rejected = np.sum(pvalues[combine] <= level)
            assert rejected <= most(n_data_sets, level), (combine, level)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.invalid])
def test_invalid_combinations_do_not(name, n_data_sets):
    pvalues = simulated(name, n_data_sets)
    for combine in CASES[name].invalid:
        assert np.sum(pvalues[combine] <= 0.05) > most(n_data_sets, 0.05), combine


def test_signals_are_found(long):
    others = ("logistic regression",) if long else ()
    for name in ("logistic regression, past", "fitted elsewhere", *others):
        pvalues = simulated(name, 12, signal=2.3)
        for combine in CASES[name].valid:
            assert np.mean(pvalues[combine] <= 0.05) >= 0.75, (name, combine)


@lru_cache
def null_of_fold(n_samples, n_positives):
    return ap_null_distribution(n_samples, n_positives)


@pytest.mark.parametrize(
    ("cv", "is_valid"),
    [
        pytest.param(KFold(5), True, marks=pytest.mark.long),
        (StratifiedKFold(5, shuffle=True, random_state=0), True),
        (StratifiedKFold(5), False),
    ],
)
def test_splits_that_look_at_the_labels_of_ordered_rows(cv, is_valid, long):
    # The scores fall from row to row, and the labels have nothing to do with either.
    n_data_sets = 2000 if long else 60
    rng, scores = np.random.default_rng(1), np.arange(100.0)[::-1]
    least = []
    for _ in range(n_data_sets):
        y = rng.permutation(np.repeat([1, 0], [10, 90]))
        folds = [test for _, test in cv.split(scores, y) if y[test].any()]
        least.append(
            min(
                null_of_fold(fold.size, int(y[fold].sum())).pvalue(
                    average_precision_score(y[fold], scores[fold])
                )
                for fold in folds
            )
        )
    rejected = np.sum(5 * np.array(least) <= 0.05)
    assert (rejected <= most(n_data_sets, 0.05)) == is_valid


@pytest.mark.long
def test_level_of_a_search():
    rng = np.random.default_rng(3)
    search = GridSearchCV(
        KNeighborsClassifier(),
        {"n_neighbors": [3, 9, 27]},
        cv=StratifiedKFold(3),
        scoring=average_precision_significance_scorer,
    )
    pvalues = [
        search_permutation_test(
            search, *noise(rng, 60, 20), n_resamples=19, random_state=seed
        ).pvalue
        for seed in range(300)
    ]
    for level in (0.05, 0.1, 0.5):
        assert np.sum(np.array(pvalues) <= level + 1e-12) <= most(300, level)
