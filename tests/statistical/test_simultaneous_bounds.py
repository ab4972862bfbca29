"""Random rankings are above the simultaneous bounds of hits with at most the stated probability.

Limits are those of the binomial distribution at 1e-4: one false alarm in ten thousand seeds a test.
There are 2,000 rankings a cell, 40,000 with `--long`.
"""

import numpy as np
import pytest
from scipy.stats import binom

from sklearn_rankinf import Ranking, minimum_hypergeometric_test, top_k_significance_curve

CELLS = [(1000, 50), pytest.param(20000, 100, marks=pytest.mark.long)]


@pytest.fixture
def n_rankings(long):
    return 40_000 if long else 2000


def random_ranks(n, m, n_rankings, seed):
    """Ascending ranks of the positives of random rankings, from 1."""
    rng = np.random.default_rng(seed)
    for _ in range(n_rankings):
        yield np.sort(rng.choice(n, m, replace=False)) + 1


@pytest.mark.parametrize(("n", "m"), CELLS)
@pytest.mark.parametrize("levels", [None, 40])
def test_share_above_the_simultaneous_bound_is_the_attained_level(n, m, levels, n_rankings):
    sizes = np.ones(n, dtype=int) if levels is None else np.full(levels, n // levels)
    first = np.clip(m - (np.cumsum(sizes) - sizes), 0, sizes)  # any ranking has these bounds
    ranking = Ranking.from_counts(sizes, first)
    curve = top_k_significance_curve(ranking, alpha=(0.1, 0.05, 0.01))
    n_above, n_above_pointwise = np.zeros(3), np.zeros(3)
    for ranks in random_ranks(n, m, n_rankings, 11):
        # From one positive to the next the bound only grows.
        at = np.unique(np.searchsorted(curve.k, ranks))
        hits = np.searchsorted(ranks, curve.k[at], side="right")
        n_above += (hits >= curve.hits_needed_simultaneous[:, at]).any(axis=1)
        n_above_pointwise += (hits >= curve.hits_needed[:, at]).any(axis=1)
    assert np.all(curve.attained_level <= curve.alpha)
    for found, probability in (
        (n_above, curve.attained_level),
        (n_above_pointwise, curve.pointwise_crossing_probability),
    ):
        assert np.all(found >= binom.ppf(5e-5, n_rankings, probability))
        assert np.all(found <= binom.isf(5e-5, n_rankings, probability))


@pytest.mark.parametrize(("n", "m"), CELLS)
def test_minimum_hypergeometric_pvalues_are_nearly_uniform(n, m, n_rankings):
    n_tests = n_rankings // 40
    pvalues = []
    for ranks in random_ranks(n, m, n_tests, 12):
        hits = np.zeros(n, dtype=int)
        hits[ranks - 1] = 1
        ranking = Ranking.from_counts(np.ones(n, dtype=int), hits)
        pvalues.append(minimum_hypergeometric_test(ranking).pvalue)
    for level in (0.5, 0.1, 0.05):
        n_found = np.sum(np.array(pvalues) <= level)
        assert binom.ppf(5e-5, n_tests, level) <= n_found <= binom.isf(5e-5, n_tests, level)
