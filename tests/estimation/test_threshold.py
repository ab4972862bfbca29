"""Precision, recall and false-positive rate above a score against checked values and counts."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.metrics import precision_score, recall_score

from sklearn_rankinf import Ranking, threshold_interval
from sklearn_rankinf._estimation.limits import precision_above_limits, wilson_limits


def counts(hits, m, misses, n0):
    """Labels, and scores of 1 above the threshold and 0 below."""
    y_true = np.repeat([1, 1, 0, 0], [hits, m - hits, misses, n0 - misses])
    return y_true, np.repeat([1.0, 0.0, 1.0, 0.0], [hits, m - hits, misses, n0 - misses])


def test_checked_values():
    found = threshold_interval(*counts(4, 8, 6, 32), threshold=1.0, prevalence=0.05)
    limits = found.precision, found.precision_low, found.precision_high
    assert_allclose(limits, [0.117857142857, 0.045729848348, 0.250030339582], rtol=1e-11)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_rates_have_wilson_limits(level):
    for hits, n in ((0, 5), (3, 7), (20, 20), (1, 400)):
        expected = stats.binomtest(hits, n).proportion_ci(level, method="wilson")
        assert_allclose(wilson_limits(hits, n, level), expected, rtol=1e-12, atol=1e-15)
        found = threshold_interval(*counts(hits, n, 2, 9), threshold=0.5, confidence_level=level)
        assert_allclose([found.recall_low, found.recall_high], expected, rtol=1e-12, atol=1e-15)


def test_values_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    y_true = rng.permutation(np.repeat(["no", "yes"], [80, 20]))
    y_score = rng.normal(size=100).round(1) + (y_true == "yes")
    for threshold in (-0.3, 0.5, 1.2):
        found = threshold_interval(y_true, y_score, threshold=threshold, pos_label="yes")
        y_pred = np.where(y_score >= threshold, "yes", "no")
        options = {"pos_label": "yes"}
        assert found.precision == pytest.approx(precision_score(y_true, y_pred, **options))
        assert found.recall == pytest.approx(recall_score(y_true, y_pred, **options))
        assert found.precision_low < found.precision < found.precision_high


def test_prevalence_moves_the_odds_alone():
    data = counts(12, 30, 9, 200)
    odds = []
    for prevalence in (0.001, 0.3):
        found = threshold_interval(*data, threshold=1.0, prevalence=prevalence)
        values = np.array([found.precision, found.precision_low, found.precision_high])
        odds.append(values / (1 - values) * (1 - prevalence) / prevalence)
    assert_allclose(*odds, rtol=1e-10)
    # The observed precision, with limits at the prevalence of the sample.
    plain = threshold_interval(*data, threshold=1.0)
    same = threshold_interval(*data, threshold=1.0, prevalence=30 / 230)
    assert plain.precision == 12 / 21
    assert same.precision == pytest.approx(1 / (1 + (9.5 / 201 * 200) / (12.5 / 31 * 30)))
    assert (plain.precision_low, plain.precision_high) == pytest.approx(
        (same.precision_low, same.precision_high)
    )


def test_none_and_all_above():
    none = threshold_interval(*counts(4, 8, 6, 32), threshold=2.0)
    assert (none.n_above, none.recall, none.false_positive_rate) == (0, 0.0, 0.0)
    assert math.isnan(none.precision)
    assert (none.precision_low, none.precision_high) == (0.0, 1.0)
    first, recall, rate = none.summary().splitlines()
    assert first == "The score of 0 of 40 items is at least 2."
    assert recall.startswith("Their recall is 0 (95 % confidence interval 0 to 0.")
    assert rate.startswith("Their false-positive rate is 0 (")
    every = threshold_interval(*counts(4, 8, 6, 32), threshold=-np.inf)
    assert (every.n_above, every.recall, every.precision) == (40, 1.0, 0.2)
    assert every.precision_low < 0.2 <= every.precision_high < 0.3


def test_coverage_of_precision_is_exact_over_all_counts():
    # All counts of both classes with their binomial probabilities, in place of a simulation.
    for m, n0, recall, rate in ((50, 450, 0.5, 0.02), (20, 500, 0.8, 0.1), (30, 60, 0.3, 0.2)):
        hits, misses = np.meshgrid(np.arange(m + 1), np.arange(n0 + 1), indexing="ij")
        weights = stats.binom.pmf(hits, m, recall) * stats.binom.pmf(misses, n0, rate)
        true = 0.05 * recall / (0.05 * recall + 0.95 * rate)
        _, low, high = precision_above_limits(hits, misses, m, n0, 0.05)
        covered = weights[(low <= true) & (true <= high)].sum()
        assert 0.94 <= covered <= 0.97


@pytest.mark.parametrize(
    ("data", "options", "error", "message"),
    [
        (([1, 0], [1, 0]), {"threshold": "1"}, TypeError, "threshold must be a number"),
        (
            ([1, 0], [1, 0]),
            {"threshold": np.nan},
            ValueError,
            "threshold must be a number; got nan",
        ),
        (([0, 0], [1, 0]), {"threshold": 1}, ValueError, "y_true has no positives"),
        (([1, 0], [1, 0]), {"threshold": 1, "prevalence": 1}, ValueError, "prevalence must lie"),
        ((Ranking([2], [1]), None), {"threshold": 1}, TypeError, "must be labels, not a ranking"),
    ],
)
def test_wrong_arguments(data, options, error, message):
    with pytest.raises(error, match=message):
        threshold_interval(*data, **options)


def test_large_whole_numbers_are_compared_exactly():
    found = threshold_interval([1, 0, 1, 0], [10**18 + 1, 10**18, 3, 4], threshold=10**18 + 1)
    assert found.n_above == 1
