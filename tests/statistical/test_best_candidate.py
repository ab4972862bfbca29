"""The best ranker of several that are noise is significant at most as often as the level.

The exception are labels that were used in training. Each case simulates data sets with labels that
have nothing to do with the features: dozens of them, and thousands with `--long`, which also
measures the uses that are not valid. An assertion raises one false alarm in ten thousand seeds.
"""

import math
from functools import lru_cache

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from sklearn_rankinf import best_candidate_test

LEVELS = (0.05, 0.01)
# A level times the number of labellings plus one is a whole number, so that the size is exact.
N_PERMUTATIONS = 199
CANDIDATES = {
    "logistic regression": LogisticRegression(),
    "naive Bayes": GaussianNB(),
    "nearest neighbours": KNeighborsClassifier(15),
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
}


def random_labels(rng, n_samples, n_positives):
    return (rng.permutation(n_samples) < n_positives).astype(int)


def assert_at_most_nominal(pvalues):
    for level in LEVELS:
        limit = stats.binom.isf(1e-4, len(pvalues), level)
        assert np.sum(np.asarray(pvalues) <= level + 1e-12) <= limit, level


def standard_error(share, n):
    return math.sqrt(share * (1 - share) / n)


# Fixed scores.


def fixed_scores(kind, n_samples=100, n_candidates=5):
    """Candidates that have much in common; tied ones have two to twelve different scores."""
    rng = np.random.default_rng(5)
    common = rng.normal(size=(n_samples, 1))
    scores = common + rng.normal(size=(n_samples, n_candidates))
    if kind == "tied":
        scores = np.floor(scores * np.geomspace(0.3, 2, n_candidates))
    return scores


@pytest.mark.parametrize(
    ("kind", "standardize"),
    [("without ties", True), ("tied", False), pytest.param("tied", True, marks=pytest.mark.long)],
)
def test_size_for_fixed_scores(kind, standardize, long):
    rng = np.random.default_rng(17)
    scores = fixed_scores(kind)
    results = [
        best_candidate_test(
            random_labels(rng, 100, 12),
            scores,
            standardize=standardize,
            n_resamples=N_PERMUTATIONS,
            random_state=seed,
        )
        for seed in range(4000 if long else 30)
    ]
    pvalues = [result.pvalue[result.best_index] for result in results]
    assert_at_most_nominal(pvalues)
    # The same as a test of the smallest adjusted p-value.
    assert pvalues == [result.pvalue.min() for result in results]
    # By itself the best is significant more often.
    naive = np.mean([result.pvalue_unadjusted.min() <= 0.05 for result in results])
    assert naive > np.mean(np.array(pvalues) <= 0.05)


def test_size_where_some_candidates_are_better_than_chance(long):
    rng = np.random.default_rng(3)
    smallest = []
    for seed in range(4000 if long else 25):
        y_true = random_labels(rng, 100, 12)
        scores = fixed_scores("without ties")
        scores[:, 0] += 3.0 * y_true
        result = best_candidate_test(y_true, scores, n_resamples=N_PERMUTATIONS, random_state=seed)
        assert result.best_index == 0
        smallest.append(result.pvalue[1:].min())
    assert_at_most_nominal(smallest)


def test_power_for_one_signal_among_noise(long):
    rng = np.random.default_rng(23)
    n_data_sets = 1000 if long else 20
    found = {1: [], 8: [], 40: []}
    for seed in range(n_data_sets):
        y_true = random_labels(rng, 200, 20)
        scores = rng.normal(size=(200, 40))
        scores[:, 0] += 1.2 * y_true
        for n_candidates, pvalues in found.items():
            result = best_candidate_test(
                y_true,
                scores[:, :n_candidates],
                n_resamples=N_PERMUTATIONS,
                random_state=seed,
            )
            pvalues.append(result.pvalue[0])
    power = {n: np.mean(np.array(pvalues) <= 0.05) for n, pvalues in found.items()}
    # Every further candidate costs power, and forty do not take it.
    assert power[1] >= power[8] >= power[40] > 0.75
    assert power[1] > 0.95


# Classifiers.


def classifier_scores(rng, n_samples, use):
    """Labels without signal, a fold for each item that is tested, and the rankers' scores."""
    X = rng.normal(size=(n_samples, 5))
    y = random_labels(rng, n_samples, n_samples // 5)
    folds = np.zeros(n_samples, dtype=int)
    scores = np.zeros((n_samples, len(CANDIDATES)))
    splits = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    if use == "held-out fold":
        splits = splits[:1]
    for fold, (train, test) in enumerate(splits):
        folds[test] = fold + 1
        for column, classifier in enumerate(CANDIDATES.values()):
            fitted = classifier.fit(X[train], y[train])
            scores[test, column] = fitted.predict_proba(X[test])[:, 1]
    tested = folds > 0
    return y[tested], folds[tested], scores[tested]


def average_precisions(labels, scores):
    """Average precision of rows of labels, from its definition."""
    order = np.argsort(-scores, kind="stable")
    last = np.searchsorted(-scores[order], -scores[order], side="right")
    hits = labels[:, order]
    precision = np.cumsum(hits, axis=1)[:, last - 1] / last
    return (hits * precision).sum(axis=1) / hits.sum(axis=1)


def smallest_pvalue_by_fold_means(rng, y, folds, scores):
    """MaxT over means of folds, each ranker on the scale of its resamples."""
    total = np.zeros((N_PERMUTATIONS + 1, scores.shape[1]))
    for fold in np.unique(folds):
        own = folds == fold
        labels = np.tile(y[own], (N_PERMUTATIONS + 1, 1))
        labels[1:] = rng.permuted(labels[1:], axis=1)
        for column in range(scores.shape[1]):
            total[:, column] += average_precisions(labels, scores[own, column])
    spread = total.std(axis=0)
    standardized = (total - total.mean(axis=0)) / np.where(spread > 0, spread, np.inf)
    maxima = standardized.max(axis=1)
    # The labels as they are count as one of the labellings.
    return np.mean(maxima >= maxima[0] - 1e-9)


@lru_cache
def smallest_pvalues(use, n_samples, n_data_sets):
    rng = np.random.default_rng(n_samples)
    pvalues = []
    for seed in range(n_data_sets):
        y, folds, scores = classifier_scores(rng, n_samples, use)
        if use == "fold means":
            pvalues.append(smallest_pvalue_by_fold_means(rng, y, folds, scores))
        else:
            result = best_candidate_test(y, scores, n_resamples=N_PERMUTATIONS, random_state=seed)
            pvalues.append(result.pvalue.min())
    return np.array(pvalues)


@pytest.mark.parametrize("n_samples", [300, pytest.param(200, marks=pytest.mark.long)])
def test_size_for_classifiers_on_a_held_out_fold(n_samples, long):
    assert_at_most_nominal(smallest_pvalues("held-out fold", n_samples, 4000 if long else 30))


@pytest.mark.long
@pytest.mark.parametrize("n_samples", [200, 300])
@pytest.mark.parametrize("use", ["pooled out-of-fold", "fold means"])
def test_out_of_fold_scores_break_the_test(use, n_samples):
    pvalues = smallest_pvalues(use, n_samples, 4000)
    for level in LEVELS:
        share = np.mean(pvalues <= level + 1e-12)
        assert share > level + 3 * standard_error(level, pvalues.size), (use, level, share)
