"""Size with weights that follow labels or scores, and warnings if the size is not kept."""

import warnings

import numpy as np
import pytest

from sklearn_rankinf import average_precision_test

N_PERMUTATIONS = 99
METHODS = {"label": "permutation", "score": "permutation_of_labels"}

WEIGHTS = {
    "independent": lambda rng, y_true, y_score: np.exp(rng.normal(size=y_true.size)),
    "of scores": lambda rng, y_true, y_score: np.exp(y_score),
    "of labels": lambda rng, y_true, y_score: 1.0 + 8.0 * y_true,
}


def pvalues(weights, follow, n_data_sets):
    """P-values of rankings by noise, and the share of them with a warning."""
    rng = np.random.default_rng(0)
    found, warned = np.empty(n_data_sets), 0
    y_true = (np.arange(500) < 50).astype(int)
    for i in range(n_data_sets):
        y_score = rng.normal(size=500)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found[i] = average_precision_test(
                y_true,
                y_score,
                sample_weight=WEIGHTS[weights](rng, y_true, y_score),
                method=METHODS[follow],
                n_resamples=N_PERMUTATIONS,
                random_state=i,
            ).pvalue
        warned += any("sample_weight depends on" in str(warning.message) for warning in caught)
    return found, warned / n_data_sets


@pytest.mark.parametrize(
    ("weights", "follow"),
    [
        ("independent", "label"),
        ("of scores", "score"),
        pytest.param("independent", "score", marks=pytest.mark.long),
        pytest.param("of labels", "label", marks=pytest.mark.long),
    ],
)
def test_size(weights, follow, long):
    n_data_sets = 4000 if long else 60
    found, warned = pvalues(weights, follow, n_data_sets)
    for level in (0.05, 0.01):
        error = np.sqrt(level * (1.0 - level) / n_data_sets)
        assert np.mean(found <= level) <= level + 4.0 * error
    # A false warning in a thousand.
    assert warned <= 0.001 + 4.0 * np.sqrt(0.001 / n_data_sets)


@pytest.mark.parametrize(
    ("weights", "follow", "least"), [("of scores", "label", 0.07), ("of labels", "score", 0.9)]
)
def test_the_wrong_choice_is_invalid_and_warned_of(weights, follow, least):
    found, warned = pvalues(weights, follow, 120 if weights == "of scores" else 30)
    assert np.mean(found <= 0.05) > least
    assert warned > 0.99
