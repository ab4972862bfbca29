"""Comparisons of many rankers keep their familywise level, with equal and unequal rankers.

Limits are those of the binomial distribution at 1e-4: one false alarm in ten thousand seeds a test.
There are 25 data sets a cell, 1,000 with `--long`. Average precision, 30 positives of 300 items.
"""

from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import pytest
from rates import BY_NAME, MIX, average_precision_in, highest, lowest

from sklearn_rankinf import metric_multiple_comparison_test
from sklearn_rankinf._estimation import multiple_comparison as module

N_POSITIVES, N_SAMPLES = 30, 300
EQUAL = (BY_NAME["d = 1"],) * 5
UNEQUAL = (*(BY_NAME[f"d = {d}"] for d in ("0.5", "1", "1.5", "2")), MIX)
# Two are best, and three are worse by more or less.
TWO_BEST = tuple(BY_NAME[f"d = {d}"] for d in ("1.5", "1.5", "1", "0.5", "0"))
# Directions drawn for a p-value, which makes the standard error of one near .05 about .004.
N_DIRECTIONS = 2000


class Rates(NamedTuple):
    """Shares of data sets in which a comparison errs, or finds something."""

    false_rejection: float
    false_rejection_unadjusted: float
    covered: float
    best_dropped: float
    worst_dropped: float
    power: float


@pytest.fixture
def n_data_sets(long):
    return 1000 if long else 25


@pytest.fixture(autouse=True)
def few_directions(monkeypatch):
    """Fewer random directions than for one data set, where no rate averages over them."""
    for name in ("single_step", "best_pvalues"):
        drawn = partial(getattr(module, name), n_directions=N_DIRECTIONS)
        monkeypatch.setattr(module, name, drawn)


def scores_of(populations, correlation, rng):
    """Scores of all rankers, whose items have noise in common."""
    positive = np.arange(N_SAMPLES) < N_POSITIVES
    common, own = rng.standard_normal(N_SAMPLES), rng.standard_normal((len(populations), N_SAMPLES))
    noise = np.sqrt(correlation) * common + np.sqrt(1.0 - correlation) * own
    shifts = [population.moved(rng, N_POSITIVES) for population in populations]
    noise[:, positive] += shifts
    return positive, noise.T


@lru_cache
def rates(populations, correlation, n_data_sets, correction="maxt"):
    """How often pairs that are equal differ, limits hold all differences, and the best is lost."""
    rng = np.random.default_rng(11)
    true = np.array([average_precision_in(p, N_POSITIVES / N_SAMPLES) for p in populations])
    found = np.zeros(6)
    for seed in rng.integers(2**31, size=n_data_sets):
        positive, scores = scores_of(populations, correlation, rng)
        result = metric_multiple_comparison_test(
            positive, scores, correction=correction, random_state=int(seed)
        )
        difference = true[result.pairs[:, 0]] - true[result.pairs[:, 1]]
        same = np.abs(difference) < 1e-12
        found += [
            np.any(result.pvalue[same] <= 0.05),
            np.any(result.pvalue_unadjusted[same] <= 0.05),
            np.all((result.low <= difference) & (difference <= result.high)),
            not result.may_be_best[true.argmax()],
            not result.may_be_best[true.argmin()],
            np.mean(result.pvalue[~same] <= 0.05) if not same.all() else 0.0,
        ]
    return Rates(*(found / n_data_sets))


def test_scores_have_their_shifts_and_their_correlation():
    rng = np.random.default_rng(12)
    sets = [scores_of(UNEQUAL, 0.5, rng) for _ in range(60)]
    positive = sets[0][0]
    scores = np.stack([scores for _, scores in sets])
    # 1,800 positives: standard errors up to .034.
    means = scores[:, positive].mean(axis=(0, 1))
    np.testing.assert_allclose(means, [0.5, 1.0, 1.5, 2.0, 1.0], atol=0.15)
    # 16,200 negatives: standard errors of correlations .006.
    correlation = np.corrcoef(scores[:, ~positive].reshape(-1, 5), rowvar=False)
    np.testing.assert_allclose(correlation, 0.5 + 0.5 * np.eye(5), atol=0.03)


def test_equal_rankers_are_rejected_at_the_level(n_data_sets):
    found = rates(EQUAL, 0.5, n_data_sets)
    assert found.false_rejection <= highest(n_data_sets, 0.05)
    assert found.covered >= lowest(n_data_sets, 0.95)
    assert found.best_dropped <= highest(n_data_sets, 0.05)
    # Ten pairs by themselves would not keep the level.
    assert found.false_rejection_unadjusted > found.false_rejection + 0.05


@pytest.mark.parametrize("correlation", [0.0, 0.9])
@pytest.mark.long
def test_equal_rankers_of_other_correlations(n_data_sets, correlation):
    found = rates(EQUAL, correlation, n_data_sets)
    assert found.false_rejection <= highest(n_data_sets, 0.05)
    assert found.covered >= lowest(n_data_sets, 0.95)
    assert found.best_dropped <= highest(n_data_sets, 0.05)


@pytest.mark.long
def test_holms_method_keeps_the_level(n_data_sets):
    found = rates(EQUAL, 0.5, n_data_sets, "holm")
    assert found.false_rejection <= highest(n_data_sets, 0.05)


def test_limits_hold_the_differences_of_unequal_rankers(n_data_sets):
    found = rates(UNEQUAL, 0.5, n_data_sets)
    # As for the difference of two: the interval of each metric has separate errors.
    assert found.covered >= lowest(n_data_sets, 0.929)
    # At .054 the best was lost in the simulations that are documented.
    assert found.best_dropped <= highest(n_data_sets, 0.054)
    assert found.worst_dropped >= 0.9
    assert found.power >= 0.3


def test_two_best_rankers_among_worse_ones(n_data_sets):
    found = rates(TWO_BEST, 0.5, n_data_sets)
    assert found.false_rejection <= highest(n_data_sets, 0.05)
    # As for the difference of two: the interval of each metric has separate errors.
    assert found.covered >= lowest(n_data_sets, 0.929)
    assert found.best_dropped <= highest(n_data_sets, 0.054)
    assert found.worst_dropped >= 0.9
