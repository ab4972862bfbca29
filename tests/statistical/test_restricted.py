"""Size and power of tests that permute labels within strata and by whole clusters."""

from functools import partial

import numpy as np
import pytest
from by_name import NAMED

from sklearn_rankinf import (
    average_precision_test,
    mean_average_precision_score,
    metric_null_distribution,
)

N_PERMUTATIONS = 99


def clusters_of_sizes(rng, signal):
    """Clusters of 1, 3 and 6 items; larger ones are more often positive."""
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
        y_true, y_score, restriction = design(rng, signal=signal)
        options = restriction if restricted else {}
        result = test(
            y_true,
            y_score,
            method="permutation",
            n_resamples=N_PERMUTATIONS,
            random_state=i,
            **options,
        )
        found[i] = result.pvalue
    return found


def upper_limit(level, n_data_sets):
    """Four standard errors above the level."""
    return level + 4.0 * np.sqrt(level * (1.0 - level) / n_data_sets)


@pytest.mark.parametrize(
    ("design", "test"),
    [
        (clusters_of_sizes, average_precision_test),
        (strata_of_shares, NAMED["roc_auc"].test),
        (clusters_in_strata, average_precision_test),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in (
                (clusters_of_sizes, NAMED["roc_auc"].test),
                (strata_of_shares, average_precision_test),
                (clusters_in_strata, NAMED["roc_auc"].test),
            )
        ),
    ],
)
def test_size(design, test, long):
    n_data_sets = 6000 if long else 100
    found = pvalues(design, n_data_sets, seed=0, test=test)
    for level in (0.05, 0.01):
        assert np.mean(found <= level) <= upper_limit(level, n_data_sets)
    # The size is not small either: draws of a continuous statistic attain the level.
    assert np.mean(found <= 0.05) >= 0.05 - 4.0 * np.sqrt(0.05 * 0.95 / n_data_sets)


@pytest.mark.parametrize("design", DESIGNS)
def test_ignoring_the_design_is_invalid(design):
    found = pvalues(design, 120, seed=1, restricted=False)
    assert np.mean(found <= 0.05) > upper_limit(0.05, 120)


@pytest.mark.parametrize("design", DESIGNS)
def test_power(design):
    assert np.mean(pvalues(design, 50, seed=2, signal=1.5) <= 0.05) > 0.8


def beyond_incumbent(rng, noise, signal, n_per_stratum):
    """Labels that an incumbent ranks well, and a score that is the incumbent and something else."""
    incumbent, other = rng.normal(size=(2, 1000))
    log_odds = 1.5 * incumbent + signal * other
    y_true = np.zeros(1000, dtype=int)
    y_true[np.argsort(-log_odds - rng.gumbel(size=1000))[:100]] = 1
    strata = incumbent.argsort().argsort() // n_per_stratum
    return y_true, incumbent + noise * other, {"strata": strata}


@pytest.mark.parametrize("noise", [0.3, pytest.param(1.0, marks=pytest.mark.long)])
def test_size_beyond_an_incumbent(noise, long):
    n_data_sets = 4000 if long else 80
    found = pvalues(partial(beyond_incumbent, noise=noise, n_per_stratum=5), n_data_sets, seed=3)
    # The remaining order of an incumbent within strata of five is detected by a score close to it.
    for level, measured in ((0.05, 0.055), (0.01, 0.013)):
        assert np.mean(found <= level) <= upper_limit(measured, n_data_sets)


def test_wide_strata_of_an_incumbent_are_invalid():
    found = pvalues(partial(beyond_incumbent, noise=0.3, n_per_stratum=100), 40, seed=4)
    assert np.mean(found <= 0.05) > 0.5


def test_power_beyond_an_incumbent():
    design = partial(beyond_incumbent, noise=1.0, n_per_stratum=5)
    assert np.mean(pvalues(design, 50, seed=5, signal=0.7) <= 0.05) > 0.8


def sites(rng, signal):
    """Ten sites with ten positives each, whose scores have different levels."""
    site = np.repeat(np.arange(10), 100)
    y_true = np.tile(np.arange(100) < 10, 10).astype(int)
    return y_true, rng.normal(size=1000) + 4 * rng.normal(size=10)[site] + signal * y_true, site


def test_average_precision_within_strata(long):
    n_data_sets = 4000 if long else 80
    rng = np.random.default_rng(6)
    null = metric_null_distribution([100] * 10, [10] * 10)
    observed = np.empty((2, n_data_sets))
    pooled = np.ones((2, 150 if long else 40))
    for i in range(n_data_sets):
        for row, signal in enumerate((0.0, 0.4)):
            y_true, y_score, site = sites(rng, signal)
            observed[row, i] = mean_average_precision_score(y_true, y_score, groups=site)
            if i < pooled.shape[1]:
                pooled[row, i] = average_precision_test(
                    y_true, y_score, strata=site, n_resamples=N_PERMUTATIONS, random_state=i
                ).pvalue
    within = null.pvalue(observed)
    for level in (0.05, 0.01):
        error = 4.0 * np.sqrt(level * (1.0 - level) / n_data_sets)
        assert abs(np.mean(within[0] <= level) - level) <= error
        assert np.mean(pooled[0] <= level) <= upper_limit(level, pooled.shape[1])
    assert np.mean(within[1] <= 0.05) > np.mean(pooled[1] <= 0.05) + 0.1
