"""Sizes over queries: with clusters and strata, and of p-values adjusted for their number."""

import numpy as np
import pytest

from sklearn_rankinf import average_precision_test

N_PERMUTATIONS = 199


def shared_run(rng, signal=0.0, n_signals=0):
    """Ten rankings of 150 items, ten of them positive, whose scores have correlation 1/2."""
    y_true = (np.arange(150) < 10).astype(int)
    y_score = np.sqrt(0.5) * (rng.normal(size=150) + rng.normal(size=(10, 150)))
    y_score[:n_signals] += signal * y_true
    return np.tile(y_true, 10), y_score.ravel(), np.repeat(np.arange(10), 150)


def clustered_run(rng):
    """Five queries with two samples of each of 40 patients, whose scores are nearly the same."""
    patient = np.tile(np.repeat(np.arange(40), 2), 5)
    y_score = rng.normal(size=40)[patient] + 0.5 * rng.normal(size=400)
    return (patient < 6).astype(int), y_score, np.repeat(np.arange(5), 80), patient


def stratified_run(rng):
    """Four queries with two sites each, of which one has more positives and higher scores."""
    site = np.tile(np.repeat([0, 1], [60, 40]), 4)
    y_true = np.concatenate(
        [rng.permutation(np.arange(n) < m) for n, m in [(60, 3), (40, 12)] * 4]
    ).astype(int)
    return y_true, rng.normal(size=400) + 0.7 * site, np.repeat(np.arange(4), 100), site


def upper_limit(level, n_data_sets):
    """Four standard errors above the level."""
    return level + 4.0 * np.sqrt(level * (1.0 - level) / n_data_sets)


@pytest.mark.parametrize("name", ["clusters", "strata"])
def test_size_of_the_mean(name, long):
    n_data_sets = 5000 if long else 60
    rng = np.random.default_rng(0)
    draw = clustered_run if name == "clusters" else stratified_run
    respected, smallest, ignored = np.empty((3, n_data_sets))
    for i in range(n_data_sets):
        y_true, y_score, groups, members = draw(rng)
        result = average_precision_test(
            y_true,
            y_score,
            groups=groups,
            n_resamples=N_PERMUTATIONS,
            random_state=i,
            **{name: members},
        )
        respected[i], smallest[i] = result.pvalue, result.query_pvalue_maxt.min()
        if i < 30:
            ignored[i] = average_precision_test(
                y_true,
                y_score,
                groups=groups,
                method="permutation",
                n_resamples=N_PERMUTATIONS,
                random_state=i,
            ).pvalue
    for level in (0.05, 0.01):
        assert np.mean(respected <= level) <= upper_limit(level, n_data_sets)
        assert np.mean(smallest <= level) <= upper_limit(level, n_data_sets)
    assert np.mean(respected <= 0.05) >= 0.05 - 4.0 * np.sqrt(0.05 * 0.95 / n_data_sets)
    assert np.mean(ignored[:30] <= 0.05) > 0.2


@pytest.mark.parametrize("n_signals", [3, pytest.param(0, marks=pytest.mark.long)])
def test_family_wise_error_of_shared_labels(n_signals, long):
    n_data_sets = 4000 if long else 40
    rng = np.random.default_rng(1)
    maxt, holm = np.empty((2, n_data_sets))
    found = np.empty((2, n_data_sets))
    for i in range(n_data_sets):
        y_true, y_score, groups = shared_run(rng, 1.5, n_signals)
        result = average_precision_test(
            y_true,
            y_score,
            groups=groups,
            clusters=np.arange(y_true.size) % (y_true.size // np.unique(groups).size),
            n_resamples=N_PERMUTATIONS,
            random_state=i,
        )
        maxt[i] = result.query_pvalue_maxt[n_signals:].min()
        holm[i] = result.query_pvalue_holm[n_signals:].min()
        found[:, i] = [
            np.mean(adjusted[: n_signals or 1] <= 0.05)
            for adjusted in (result.query_pvalue_maxt, result.query_pvalue_holm)
        ]
    for level in (0.05, 0.01):
        for smallest in (maxt, holm):
            assert np.mean(smallest <= level) <= upper_limit(level, n_data_sets)
    if n_signals:
        assert found[0].mean() > found[1].mean() - 0.02
        assert found[0].mean() > 0.5
