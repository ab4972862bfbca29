"""Size and power of tests that permute labels within strata and by whole clusters."""

import numpy as np
import pytest

from sklearn_rankinf import average_precision_test, roc_auc_test

N_PERMUTATIONS = 99


def clusters_of_sizes(rng, signal):
    """Clusters of 1, 3 and 6 samples; larger ones are more often positive."""
    sizes = np.repeat([1, 3, 6], [24, 18, 12])
    positive = np.concatenate(
        [rng.permutation(np.arange(n) < k) for n, k in ((24, 2), (18, 4), (12, 5))]
    )
    cluster = np.repeat(np.arange(sizes.size), sizes)
    own = rng.normal(size=sizes.size) + signal * positive
    y_score = own[cluster] + 0.2 * rng.normal(size=cluster.size)
    return positive[cluster].astype(int), y_score, {"clusters": cluster}


def strata_of_shares(rng, signal):
    """Two strata with unequal shares of positives, and higher scores where there are more."""
    stratum = np.repeat(["a", "b"], [90, 60])
    y_true = np.concatenate([rng.permutation(np.arange(n) < k) for n, k in ((90, 4), (60, 18))])
    y_score = rng.normal(size=150) + 0.8 * (stratum == "b") + signal * y_true
    return y_true.astype(int), y_score, {"strata": stratum}


def clusters_in_strata(rng, signal):
    """Pairs in two strata that differ in both the labels and the scores."""
    cluster = np.repeat(np.arange(60), 2)
    stratum = np.where(cluster < 40, "a", "b")
    positive = np.concatenate([rng.permutation(np.arange(n) < k) for n, k in ((40, 3), (20, 8))])
    own = rng.normal(size=60) + signal * positive + 0.8 * (np.arange(60) >= 40)
    y_score = own[cluster] + 0.2 * rng.normal(size=120)
    y_true = positive[cluster].astype(int)
    return y_true, y_score, {"clusters": cluster, "strata": stratum}


DESIGNS = [clusters_of_sizes, strata_of_shares, clusters_in_strata]


def pvalues(design, n_data_sets, seed, signal=0.0, restricted=True, test=average_precision_test):
    rng = np.random.default_rng(seed)
    found = np.empty(n_data_sets)
    for i in range(n_data_sets):
        y_true, y_score, restriction = design(rng, signal)
        options = restriction if restricted else {}
        result = test(
            y_true,
            y_score,
            method="permutation",
            n_permutations=N_PERMUTATIONS,
            random_state=i,
            **options,
        )
        found[i] = result.pvalue
    return found


def upper_limit(level, n_data_sets):
    """Four standard errors above the level."""
    return level + 4.0 * np.sqrt(level * (1.0 - level) / n_data_sets)


@pytest.mark.parametrize("test", [average_precision_test, roc_auc_test])
@pytest.mark.parametrize("design", DESIGNS)
def test_size(design, test, long):
    n_data_sets = 6000 if long else 600
    found = pvalues(design, n_data_sets, seed=0, test=test)
    for level in (0.05, 0.01):
        assert np.mean(found <= level) <= upper_limit(level, n_data_sets)
    # Not by never rejecting: draws of a continuous statistic leave the level as it is.
    assert np.mean(found <= 0.05) >= 0.05 - 4.0 * np.sqrt(0.05 * 0.95 / n_data_sets)


@pytest.mark.parametrize("design", DESIGNS)
def test_ignoring_the_design_is_invalid(design):
    found = pvalues(design, 300, seed=1, restricted=False)
    assert np.mean(found <= 0.05) > upper_limit(0.05, 300)


@pytest.mark.parametrize("design", DESIGNS)
def test_power(design):
    assert np.mean(pvalues(design, 100, seed=2, signal=1.5) <= 0.05) > 0.8
