"""The source paper: worked example, simulation study, and its errata.

P. Zhang and W. Su (2012), "Statistical inference on recall, precision and average precision under
random selection", FSKD 2012, pp. 1348-1352.
"""

import math
from fractions import Fraction

import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.metrics import average_precision_score

from sklearn_rankinf import Ranking, ap_null_distribution, average_precision_test

WORKED = np.array([1, 1, 0, 1, 0, 0, 0, 0])
"""Eight items, best first, with positives at ranks 1, 2 and 4."""


# ---------------------------------------------------------------------------------------------
# Worked example
# ---------------------------------------------------------------------------------------------


def test_average_precision_of_the_worked_example():
    expected = (1 + 1 + Fraction(3, 4)) / 3
    assert oracles.average_precision((1,) * 8, WORKED) == expected
    result = average_precision_test(WORKED, np.arange(8)[::-1])
    assert_allclose(result.statistic, float(expected), rtol=1e-14)
    assert_allclose(result.statistic, average_precision_score(WORKED, np.arange(8)[::-1]))


def test_significance_of_the_worked_example():
    # Only hits (1, 2, 3) and (1, 2, 4) of the 56 placements reach (1 + 1 + 3/4) / 3.
    result = average_precision_test(WORKED, np.arange(8)[::-1])
    assert_allclose(result.pvalue, 2 / 56, rtol=1e-12)
    mean, variance = oracles.distribution_mean_and_variance(
        oracles.average_precision_distribution(8, 3)
    )
    ap = (1 + 1 + 3 / 4) / 3
    assert_allclose(result.zscore, (ap - float(mean)) / math.sqrt(variance), rtol=1e-12)
    assert_allclose(result.adjusted_statistic, (ap - float(mean)) / (1 - float(mean)), rtol=1e-12)


def test_recall_and_precision_of_the_worked_example():
    ranking = Ranking.from_scores(WORKED, np.arange(8)[::-1])
    hits, depth = np.cumsum(ranking.hits), np.cumsum(ranking.tie_sizes)
    recall = [Fraction(int(h), ranking.n_positives) for h in hits]
    precision = [Fraction(int(h), int(t)) for h, t in zip(hits, depth, strict=True)]
    assert recall == [Fraction(h, 3) for h in (1, 2, 2, 3, 3, 3, 3, 3)]
    assert precision == [Fraction(h, t) for t, h in enumerate((1, 2, 2, 3, 3, 3, 3, 3), start=1)]


@pytest.mark.parametrize("t", range(1, 9))
def test_moments_of_recall_and_precision_at_rank_t(t):
    n, m = 8, 3
    hits = [sum(rank <= t for rank in ranks) for ranks in oracles.placements(n, m)]
    recall_variance = Fraction(t * (n - m) * (n - t), m * n**2 * (n - 1))
    precision_variance = Fraction(m * (n - m) * (n - t), t * n**2 * (n - 1))
    mean = Fraction(sum(hits), len(hits))
    variance = Fraction(sum(h * h for h in hits), len(hits)) - mean**2
    assert mean / m == Fraction(t, n)
    assert mean / t == Fraction(m, n)
    assert variance / m**2 == recall_variance
    assert variance / t**2 == precision_variance
    null = stats.hypergeom(n, m, t)
    assert_allclose(null.pmf(range(m + 1)), np.bincount(hits, minlength=m + 1) / 56, atol=1e-14)


# ---------------------------------------------------------------------------------------------
# Errata: the distribution of the ranks of the targets
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "m"), [(8, 3), (7, 1), (6, 6), (9, 4)])
def test_distribution_of_the_rank_of_one_target(n, m):
    total = math.comb(n, m)
    for j in range(1, m + 1):
        column = [ranks[j - 1] for ranks in oracles.placements(n, m)]
        corrected = [math.comb(k - 1, j - 1) * math.comb(n - k, m - j) for k in range(1, n + 1)]
        assert corrected == [column.count(k) for k in range(1, n + 1)]
        # With the printed divisor C(n-1, m-1) the probabilities do not sum to one.
        assert sum(corrected) == total
        if n > m:
            assert sum(corrected) != math.comb(n - 1, m - 1)


def test_joint_distribution_of_the_ranks_of_two_targets():
    n, m, i, j = 8, 3, 1, 3
    pairs = [(ranks[i - 1], ranks[j - 1]) for ranks in oracles.placements(n, m)]
    for s in range(1, n + 1):
        for t in range(s + 1, n + 1):
            ways = math.comb(s - 1, i - 1) * math.comb(t - s - 1, j - i - 1)
            assert pairs.count((s, t)) == ways * math.comb(n - t, m - j)


@pytest.mark.parametrize(("n", "m"), [(8, 3), (7, 1), (9, 4)])
def test_moments_of_the_ranks_of_targets(n, m):
    ranks = np.array(list(oracles.placements(n, m)), dtype=object)
    count = len(ranks)
    for i in range(1, m + 1):
        mean = Fraction(sum(ranks[:, i - 1]), count)
        assert mean == Fraction(i * (n + 1), m + 1)
        for j in range(i, m + 1):
            other = Fraction(sum(ranks[:, j - 1]), count)
            product = Fraction(sum(ranks[:, i - 1] * ranks[:, j - 1]), count)
            expected = Fraction(i * (m + 1 - j) * (n + 1) * (n - m), (m + 1) ** 2 * (m + 2))
            assert product - mean * other == expected


# ---------------------------------------------------------------------------------------------
# Table III: simulated average precision
# ---------------------------------------------------------------------------------------------

TABLE_III = [
    # size, exact mean, exact variance, printed theoretical mean, value of (13)
    ((1000, 100), 0.1058428, 1.301537e-4, 0.10373, 2.647e-4),
    ((2000, 500), 0.2526932, 9.892955e-5, 0.25217, 2.798e-4),
]


@pytest.mark.parametrize(("size", "mean", "variance", "printed_mean", "value_of_13"), TABLE_III)
def test_exact_moments_of_table_three(size, mean, variance, printed_mean, value_of_13):
    null = ap_null_distribution(*size)
    assert_allclose(null.mean(), mean, rtol=5e-7)
    assert_allclose(null.var(), variance, rtol=5e-7)
    # The paper's approximations are not these moments.
    assert abs(null.mean() - printed_mean) > 5e-4
    assert value_of_13 > 2 * null.var()


@pytest.mark.parametrize(("size", "mean", "variance", "printed_mean", "value_of_13"), TABLE_III)
def test_approximations_of_the_paper(size, mean, variance, printed_mean, value_of_13):
    null = ap_null_distribution(*size, method="zhang_su")
    assert null.method == "zhang_su"
    # The approximate distribution is normal; its own mean is where the p-value is one half.
    centre = null.ppf(0.5)
    assert_allclose(centre, printed_mean, atol=5.1e-6)
    spread = null.ppf(stats.norm.cdf(1.0)) - centre
    assert_allclose(spread**2, value_of_13, rtol=3e-4)
    x = np.array([0.9, 1.0, 1.2]) * centre
    assert_allclose(null.sf(x), stats.norm.sf((x - centre) / spread), rtol=1e-9)
    # Mean and variance of the distribution stay exact whatever the method is.
    assert_allclose(null.mean(), mean, rtol=5e-7)
    assert_allclose(null.var(), variance, rtol=5e-7)


def test_printed_quantiles_are_exact_and_the_printed_mean_is_not():
    # "Empirical" row of (1000, 100): 2.5 %, 50 % and 97.5 % points .0876, .1044, .1321.
    null = ap_null_distribution(1000, 100)
    assert_allclose(null.ppf([0.025, 0.5, 0.975]), [0.0876, 0.1044, 0.1321], atol=6e-4)
    drawn = oracles.simulate_average_precision(np.random.default_rng(0), (1,) * 1000, 100, 8_000)
    error = drawn.std() / math.sqrt(drawn.size)
    assert abs(drawn.mean() - null.mean()) < 4 * error
    assert abs(drawn.mean() - 0.1037) > 15 * error


def test_printed_variance_fails_for_one_target():
    # (9) divides by m - 1: there is no approximation for a single target.
    with pytest.raises(ValueError, match=r"zhang_su.*n_positives|n_positives.*zhang_su"):
        ap_null_distribution(100, 1, method="zhang_su")


@pytest.mark.parametrize(("z", "exact"), [(3.0, 8.598e-3), (5.0, 3.18e-4)], ids=["z = 3", "z = 5"])
def test_normal_approximation_far_from_the_exact_tail(z, exact):
    null = ap_null_distribution(1000, 100)
    pvalue = null.pvalue(null.mean() + z * null.std())
    assert_allclose(pvalue, exact, rtol=2e-3)
    assert pvalue > 6 * stats.norm.sf(z)
