"""The rank swap keeps its level, and sees differences.

Of each data set two rankers score 20 positives of 200 items, with correlation 1/2 between their
scores. Limits are those of the binomial distribution at 1e-4: one false alarm in ten thousand seeds
a test. There are 80 data sets, 4,000 with `--long`.
"""

import numpy as np
import pytest
from scipy import stats

from sklearn_rankinf import AveragePrecision
from sklearn_rankinf._permutation.swaps import (
    SwapSampler,
    doubled_midranks,
    randomization_pvalue,
)

IS_HIT = np.arange(200) < 20
# Five levels of equal scores.
LEVELS = (-1.2, -0.2, 0.8, 1.8)


def ranks_within(scores):
    return [doubled_midranks(np.unique(-own, return_inverse=True)[1]) for own in scores]


def ranks_among_both(scores):
    return np.unique(-scores, return_inverse=True)[1].reshape(scores.shape)


def pvalues(rng, n_data_sets, shifts, *, has_levels, ranks_of, ties):
    for _ in range(n_data_sets):
        common, *own = rng.normal(size=(3, 200))
        scores = np.stack([(common + noise) / np.sqrt(2.0) for noise in own])
        scores += np.outer(shifts, IS_HIT)
        if has_levels:
            scores = np.digitize(scores, LEVELS)
        sampler = SwapSampler(AveragePrecision(), IS_HIT, *ranks_of(scores), ties=ties)
        yield randomization_pvalue(
            sampler.observed(),
            sampler.draw(199, rng),
            alternative="two-sided",
            tolerance=sampler.tolerance,
            is_complete=False,
        )


@pytest.fixture
def n_data_sets(long):
    return 4000 if long else 80


@pytest.mark.parametrize("ties", ["mean", "kept", "random"])
@pytest.mark.parametrize("has_levels", [False, True], ids=["normal", "five levels"])
def test_ranks_within_each_list_keep_the_level(n_data_sets, has_levels, ties):
    options = {"has_levels": has_levels, "ranks_of": ranks_within, "ties": ties}
    found = list(pvalues(np.random.default_rng(1), n_data_sets, (1.0, 1.0), **options))
    # The size is asymptotic: .06 is allowed for .05.
    assert np.sum(np.array(found) <= 0.05) <= stats.binom.isf(1e-4, n_data_sets, 0.06)


@pytest.mark.parametrize("ties", ["mean", "kept"])
def test_ranks_among_both_are_exact(n_data_sets, ties):
    options = {"has_levels": True, "ranks_of": ranks_among_both, "ties": ties}
    found = np.array(list(pvalues(np.random.default_rng(2), n_data_sets, (1.0, 1.0), **options)))
    rejected = np.sum(found <= 0.05)
    # Few differences are equal, so that the level is attained, too.
    low, high = stats.binom.ppf(1e-4, n_data_sets, 0.045), stats.binom.isf(1e-4, n_data_sets, 0.05)
    assert low <= rejected <= high
    assert stats.kstest(found, "uniform", alternative="greater").pvalue > 1e-4


@pytest.mark.parametrize("ties", ["mean", "kept", "random"])
def test_a_better_ranker_is_found(n_data_sets, ties):
    options = {"has_levels": False, "ranks_of": ranks_within, "ties": ties}
    found = np.array(list(pvalues(np.random.default_rng(3), n_data_sets, (1.0, 2.0), **options)))
    assert np.mean(found <= 0.05) > 0.75
