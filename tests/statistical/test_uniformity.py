"""Under random labelling, p-values have the distribution they claim.

For a discrete statistic the p-value is never too small, P(p <= a) <= a, and spreading the
probability of the observed value uniformly, p* = P(S > s) + U P(S = s), makes it exactly uniform.
Each case simulates data sets with its own sampler, seeded: 200 of them, 20,000 with `--long`. The
Kolmogorov-Smirnov test at 1e-4 would raise one false alarm in ten thousand seeds.
"""

import math

import numpy as np
import pytest
from by_name import ap_null_distribution
from oracles import simulate_average_precision, simulate_long_list
from scipy import stats
from sklearn.metrics import average_precision_score

from sklearn_rankinf import average_precision_test

LEVELS = (0.001, 0.01, 0.05, 0.1, 0.5)
SINGLES_AND_PAIRS = (1,) * 100 + (2,) * 150

# Every algorithm for the null distribution: no ties, few, many.
CASES = {
    "enumerated": ((1,) * 30, 4, None),
    "enumerated, lightly tied": ((1,) * 20 + (2,) * 10, 4, None),
    "enumerated, heavily tied": ((3, 1, 5, 1, 10, 5), 5, None),
    "by halves": ((1,) * 24, 11, None),
    "by halves, lightly tied": ((1, 1, 2) * 7, 10, None),
    "by halves, heavily tied": ((60,) * 5, 30, None),
    "few positives": ((1,) * 400, 8, None),
    "few positives, lightly tied": (SINGLES_AND_PAIRS, 8, None),
    "few positives, heavily tied": ((10,) * 40, 10, None),
    "few positives, in large blocks": ((20,) * 40, 8, None),
    "many positives": ((1,) * 400, 120, None),
    "many positives, lightly tied": (SINGLES_AND_PAIRS, 120, None),
    "many positives, heavily tied": ((10,) * 20, 60, None),
    "long list": ((1,) * 10_000, 30, None),
    "long list, lightly tied": ((1,) * 4000 + (2,) * 3000, 30, None),
    "long list, heavily tied": ((10,) * 6000, 30, None),
    "few negatives": ((1,) * 400, 280, None),
    "few negatives, lightly tied": (SINGLES_AND_PAIRS, 280, None),
    "few negatives, heavily tied": ((10,) * 40, 280, None),
    "one large block at the top": ((200,) + (1,) * 200, 40, None),
    "one large block at the bottom": ((1,) * 200 + (200,), 40, None),
    "top 25": ((1,) * 200, 30, 25),
}


# Of these there are others that are computed in the same way.
ONLY_LONG = (
    "few positives, in large blocks",
    "long list, heavily tied",
    "few negatives, heavily tied",
    "enumerated, lightly tied",
    "by halves, lightly tied",
    "few positives, lightly tied",
    "many positives, lightly tied",
    "long list, lightly tied",
    "few negatives, lightly tied",
    "one large block at the bottom",
)


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[pytest.mark.long] * (name in ONLY_LONG)) for name in CASES],
)
def simulated(request, n_data_sets):
    """A null distribution, values drawn from it, and their p-values, for all tests of one case."""
    name = request.param
    tie_sizes, n_positives, k = CASES[name]
    null = ap_null_distribution(sum(tie_sizes), n_positives, tie_sizes=tie_sizes, k=k)
    rng = np.random.default_rng(20121)
    if name.startswith("long"):
        drawn = simulate_long_list(rng, tie_sizes, n_positives, n_data_sets)
    else:
        drawn = simulate_average_precision(rng, tie_sizes, n_positives, n_data_sets, k)
    return null, drawn, {one: null.pvalue(drawn, one) for one in ("greater", "less")}


@pytest.fixture(scope="module")
def n_data_sets(long):
    return 20_000 if long else 200


def test_pvalues_are_never_too_small(simulated, n_data_sets):
    null, drawn, pvalues = simulated
    both = np.minimum(1.0, 2.0 * np.minimum(pvalues["greater"], pvalues["less"]))
    np.testing.assert_allclose(null.pvalue(drawn[:20], "two-sided"), both[:20], rtol=1e-9)
    for alternative, found in (pvalues | {"two-sided": both}).items():
        for level in LEVELS:
            limit = stats.binom.isf(1e-5, n_data_sets, level)
            assert np.sum(found <= level) <= limit, (alternative, level)
        # Stochastically no smaller than uniform, at every level at once.
        assert stats.kstest(found, "uniform", alternative="greater").pvalue > 1e-4, alternative


def test_randomised_pvalues_are_uniform(simulated):
    null, drawn, pvalues = simulated
    # A relative step of 1e-9 leaves out the observed value and nothing else that matters.
    for alternative, step in (("greater", 1e-9), ("less", -1e-9)):
        beyond = null.pvalue(drawn * (1 + step), alternative)
        between = pvalues[alternative] - beyond
        randomised = beyond + np.random.default_rng(7).random(drawn.size) * between
        assert stats.kstest(randomised, "uniform").pvalue > 1e-4, alternative


def test_sampling_ranks_is_sampling_hits_per_block():
    tie_sizes, n_positives = (3, 1, 4, 2, 5), 6
    drawn = [
        # Equal values are summed in different orders.
        simulate(np.random.default_rng(seed), tie_sizes, n_positives, 20_000).round(12)
        for seed, simulate in enumerate((simulate_average_precision, simulate_long_list))
    ]
    assert stats.ks_2samp(*drawn).pvalue > 1e-4


@pytest.mark.parametrize("n_resamples", [39])
def test_permutation_test_keeps_its_level(n_resamples, long):
    n_data_sets = 4000 if long else 100
    rng = np.random.default_rng(7)
    y_true = np.r_[np.ones(5, int), np.zeros(45, int)]
    pvalues = [
        average_precision_test(
            y_true,
            np.round(rng.normal(size=50), 1),
            method="permutation",
            n_resamples=n_resamples,
            random_state=seed,
        ).pvalue
        for seed in range(n_data_sets)
    ]
    for level in (0.025, 0.05, 0.1, 0.5):
        share = np.mean(np.array(pvalues) <= level + 1e-12)
        # (b + 1) / (B + 1) attains k / (B + 1) exactly but for ties.
        assert share <= level + 4.5 * math.sqrt(level * (1 - level) / n_data_sets)


def test_exact_tests_keep_the_level_and_the_normal_approximation_does_not(long):
    n_data_sets = 4000 if long else 600
    rng = np.random.default_rng(11)
    y_true = np.r_[np.ones(10, int), np.zeros(90, int)]
    y_scores = rng.normal(size=(n_data_sets, 100))
    observed = [average_precision_score(y_true, y_score) for y_score in y_scores]
    exact = ap_null_distribution(100, 10).pvalue(observed)
    normal = ap_null_distribution(100, 10, method="normal").pvalue(observed)
    limit = stats.binom.isf(1e-5, n_data_sets, 0.01)
    assert np.sum(exact <= 0.01) <= limit
    # Its true size at nominal 1 % is 3.5 %.
    assert np.sum(normal <= 0.01) > limit
    for index in range(3):
        result = average_precision_test(y_true, y_scores[index])
        np.testing.assert_allclose(result.pvalue, exact[index], rtol=1e-6)
