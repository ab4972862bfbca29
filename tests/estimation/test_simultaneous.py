"""Maxima of t statistics against closed forms, SciPy's integrals, and plain counting."""

import math
from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pytest
from combinations import checkered
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import brentq

from sklearn_rankinf._estimation import simultaneous
from sklearn_rankinf._estimation.simultaneous import (
    all_pairs,
    best_pvalues,
    difference_contrasts,
    largest_pvalue,
    pairs_with,
    single_step,
)

pytestmark = pytest.mark.numeric

# Number of directions in most tests, and the largest standard error of a p-value near 0.05.
DRAWN, ERROR = 20_000, 0.0012


def rng(seed=0):
    return np.random.default_rng(seed)


def equicorrelated(size, rho):
    return np.full((size, size), rho) + (1.0 - rho) * np.eye(size)


def any_covariance(size, seed):
    root = rng(seed).normal(size=(size, size + 2)) + 1.5 * rng(seed + 100).normal(size=size + 2)
    return root @ root.T / 50


def contrasts_with_zero(covariance):
    """The estimates themselves: their differences from an estimate without error."""
    size = len(covariance)
    return difference_contrasts(np.pad(covariance, (0, 1)), pairs_with(size, size + 1))


def statistics_of(values, covariance, pairs):
    """Differences of pairs, t statistics that are nan without error, and the contrasts."""
    difference = np.subtract(*np.asarray(values)[pairs.T])
    contrasts = difference_contrasts(covariance, pairs)
    error = np.where(contrasts.standard_error > 0.0, contrasts.standard_error, math.nan)
    return difference, difference / error, contrasts


def maxt(values, covariance, pairs, df, rng, **options):
    """Single-step maxT of the differences of pairs: statistics, p-values and standard errors."""
    _, statistic, (error, rows) = statistics_of(values, covariance, pairs)
    pvalue, _ = single_step(statistic, rows, df, 0.95, rng, **options)
    return SimpleNamespace(statistic=statistic, pvalue=pvalue, standard_error=error)


def critical_value(rows, df, level, rng, alternative="two-sided", **options):
    """The critical value alone; one-sided where `largest_pvalue` has the level."""
    if alternative == "two-sided":
        statistic = np.where(rows.any(axis=1), 1.0, math.nan)
        return single_step(statistic, rows, df, level, rng, **options)[1]

    def excess(c):
        again = deepcopy(rng)
        found = largest_pvalue(c, rows, df, again, alternative=alternative, **options)
        return found - (1.0 - level)

    return math.sinh(brentq(lambda u: excess(math.sinh(u)), -10.0, 10.0))


def sup_t_limits(values, covariance, pairs, df, level, rng):
    """Limits of the differences that reach as far as the critical value."""
    difference, _, (error, rows) = statistics_of(values, covariance, pairs)
    known = error > 0.0
    half = critical_value(rows[known], df, level, rng) * error
    return difference - half, difference + half


def probability_within(c, correlation, df):
    """Probability that no absolute value exceeds c, by SciPy's integration over a box."""
    upper = np.full(len(correlation), c)
    if math.isinf(df):
        distribution = stats.multivariate_normal(np.zeros(len(correlation)), correlation)
        return distribution.cdf(upper, lower_limit=-upper, rng=rng())
    return stats.multivariate_t.cdf(
        upper, shape=correlation, df=df, lower_limit=-upper, random_state=rng(), maxpts=20_000
    )


# ---------------------------------------------------------------------------------------------
# Critical values and the largest statistic
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rho", "expected"), [(0.5, 2.348971), (0.0, 2.387738)])
def test_critical_values_of_three_normal_estimates_are_those_published(rho, expected):
    rows = contrasts_with_zero(equicorrelated(3, rho)).rows
    assert_allclose(critical_value(rows, math.inf, 0.95, rng()), expected, atol=0.004)


@pytest.mark.parametrize("df", [1.0, 4.0, 30.0, math.inf])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_largest_statistic_agrees_with_the_integral_over_the_box(rho, df):
    correlation = equicorrelated(3, rho)
    rows = contrasts_with_zero(4.0 * correlation).rows
    for c in (0.5, 2.0, 4.0):
        outside = 1.0 - probability_within(c, correlation, df)
        pvalue = largest_pvalue(c, rows, df, rng(), n_directions=DRAWN)
        assert_allclose(pvalue, outside, atol=0.005)


@pytest.mark.parametrize("df", [3.0, 40.0, math.inf])
def test_boxes_of_critical_values_have_the_level(df):
    correlation = np.array([[1.0, 0.8, -0.3], [0.8, 1.0, 0.1], [-0.3, 0.1, 1.0]])
    deviation = np.array([0.1, 2.0, 30.0])
    rows = contrasts_with_zero(correlation * np.outer(deviation, deviation)).rows
    for level in (0.5, 0.9, 0.99):
        c = critical_value(rows, df, level, rng(), n_directions=DRAWN)
        assert_allclose(probability_within(c, correlation, df), level, atol=0.005)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("df", [1.0, 7.0, math.inf])
def test_one_statistic_has_its_own_quantiles_exactly(df, level):
    rows = difference_contrasts(any_covariance(2, 3), all_pairs(2)).rows
    distribution = stats.t(df) if df < math.inf else stats.norm
    two_sided = critical_value(rows, df, level, rng(), n_directions=10)
    assert_allclose(two_sided, distribution.isf((1.0 - level) / 2.0), rtol=1e-7)
    one_sided = critical_value(rows, df, level, rng(), alternative="greater", n_directions=10)
    assert_allclose(one_sided, distribution.isf(1.0 - level), atol=1e-7)
    for statistic in (-1.3, 0.4, 3.0, 30.0):
        pvalue = largest_pvalue(statistic, rows, df, rng(), alternative="greater", n_directions=10)
        assert_allclose(pvalue, distribution.sf(statistic), rtol=1e-9)


@pytest.mark.parametrize(("n_rankers", "df"), checkered([3, 4, 8], [3, 19]))
def test_all_pairs_of_independent_estimates_have_tukeys_studentized_range(n_rankers, df):
    rows = difference_contrasts(0.3 * np.eye(n_rankers), all_pairs(n_rankers)).rows
    c = critical_value(rows, df, 0.95, rng(), n_directions=DRAWN)
    assert_allclose(
        stats.studentized_range.sf(c * math.sqrt(2), n_rankers, df), 0.05, atol=4 * ERROR
    )
    # Far out, where no draw of a statistic would ever be, the relative error is as small.
    for far in (5.0, 8.0):
        expected = stats.studentized_range.sf(far * math.sqrt(2), n_rankers, df)
        pvalue = largest_pvalue(far, rows, df, rng(), n_directions=DRAWN)
        assert_allclose(pvalue, expected, rtol=0.04)


def test_far_tails_of_independent_estimates_are_powers():
    rows = contrasts_with_zero(np.eye(3)).rows
    for far in (4.0, 8.0, 15.0):
        expected = -np.expm1(3.0 * np.log1p(-2.0 * stats.norm.sf(far)))
        assert_allclose(largest_pvalue(far, rows, math.inf, rng()), expected, rtol=0.12)


def test_all_comparisons_with_one_have_dunnetts_critical_values():
    # Equal variances correlate them by one half. Dunnett 1955, at 95 %, 20 degrees of freedom.
    for n_others, one_sided in ((2, 2.03), (3, 2.19), (5, 2.39), (9, 2.60)):
        rows = difference_contrasts(np.eye(n_others + 1), pairs_with(0, n_others + 1)).rows
        c = critical_value(rows, 20, 0.95, rng(), alternative="greater", n_directions=DRAWN)
        assert_allclose(c, one_sided, atol=0.02)


def test_perfectly_correlated_estimates_are_one():
    rows = contrasts_with_zero(np.outer([1.0, -2.0, 3.0], [1.0, -2.0, 3.0])).rows
    assert rows.shape[1] == 1
    assert_allclose(critical_value(rows, 9, 0.95, rng()), stats.t.isf(0.025, 9), rtol=1e-7)


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_critical_values_rise_with_the_level_and_stay_below_bonferronis(alternative):
    rows = difference_contrasts(any_covariance(6, 1), all_pairs(6)).rows
    sides = 2 if alternative == "two-sided" else 1
    values = []
    for level in (0.3, 0.8, 0.95, 0.999):
        c = critical_value(rows, 12, level, rng(), alternative=alternative, n_directions=4000)
        tail = (1.0 - level) / sides
        assert stats.t.isf(tail, 12) < c < stats.t.isf(tail / len(rows), 12)
        values.append(c)
    assert np.all(np.diff(values) > 0)


def test_families_without_error_or_degrees_of_freedom():
    none = difference_contrasts(np.ones((3, 3)), all_pairs(3))
    assert_array_equal(none.standard_error, 0.0)
    assert critical_value(none.rows, 9, 0.95, rng()) == math.inf
    assert largest_pvalue(3.0, none.rows, 9, rng()) == 1.0
    rows = difference_contrasts(np.eye(3), all_pairs(3)).rows
    assert critical_value(rows, 0, 0.95, rng()) == math.inf
    assert_array_equal(single_step([3.0, 2.0, 9.0], rows, 0, 0.95, rng())[0], 1.0)


@pytest.mark.parametrize(("df", "size"), [(9, 5), (math.inf, 5)])
def test_pvalues_near_five_percent_have_the_stated_error(df, size):
    covariance = any_covariance(size, 5)
    rows = difference_contrasts(covariance, all_pairs(size)).rows
    c = critical_value(rows, df, 0.95, rng(99))
    few = simultaneous.N_DIRECTIONS // 40
    found = [largest_pvalue(c, rows, df, rng(seed), n_directions=few) for seed in range(40)]
    assert_allclose(np.mean(found), 0.05, atol=0.0015)
    assert np.std(found) / math.sqrt(40) < 0.0005


def test_chunks_do_not_matter(monkeypatch):
    rows = difference_contrasts(any_covariance(5, 2), all_pairs(5)).rows
    statistic = np.linspace(-1, 3, 10)
    whole = single_step(statistic, rows, 8, 0.95, rng(), n_directions=3000)
    monkeypatch.setattr(simultaneous, "_NUMBERS", 700)
    parts = single_step(statistic, rows, 8, 0.95, rng(), n_directions=3000)
    assert_allclose(parts[0], whole[0], rtol=1e-12)
    assert parts[1] == pytest.approx(whole[1], rel=1e-12)


# ---------------------------------------------------------------------------------------------
# Single-step maxT
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("df", [5, math.inf])
def test_pvalues_are_those_of_counted_draws(df):
    covariance, pairs, draws = any_covariance(4, 7), all_pairs(4), 50_000
    values = np.array([0.9, 0.1, 0.0, 0.3])
    test = maxt(values, covariance, pairs, df, rng(1))
    normal = rng(2).multivariate_normal(np.zeros(4), covariance, draws)
    scale = np.sqrt(rng(3).chisquare(df, (draws, 1)) / df) if df < math.inf else 1.0
    errors = (normal[:, pairs[:, 0]] - normal[:, pairs[:, 1]]) / scale / test.standard_error
    statistic = (values[pairs[:, 0]] - values[pairs[:, 1]]) / test.standard_error
    assert_allclose(test.statistic, statistic)
    largest = np.abs(errors).max(axis=1)
    counted = [np.mean(largest >= abs(one)) for one in statistic]
    assert_allclose(test.pvalue, counted, atol=0.008)


def test_pvalues_of_independent_estimates_are_powers():
    statistic = np.array([0.3, -2.9, 2.0, 6.0, -1.4])
    rows = contrasts_with_zero(np.diag([1.0, 2.0, 3.0, 4.0, 5.0])).rows
    pvalue, _ = single_step(statistic, rows, math.inf, 0.95, rng())
    single = 2.0 * stats.norm.sf(np.abs(statistic))
    assert_allclose(pvalue, -np.expm1(5 * np.log1p(-single)), rtol=0.03)


def test_pvalues_are_between_single_ones_and_bonferronis():
    covariance, pairs = any_covariance(5, 4), all_pairs(5)
    test = maxt([0.8, 0.2, 0.1, 0.0, -0.4], covariance, pairs, 11, rng(), n_directions=DRAWN)
    single = 2.0 * stats.t.sf(np.abs(test.statistic), 11)
    assert np.all(single <= test.pvalue)
    assert np.all(test.pvalue <= np.minimum(10 * single, 1.0) + 4 * ERROR)


def test_pvalues_and_critical_values_agree_at_every_level():
    pairs = all_pairs(4)
    for seed in range(30):
        covariance = any_covariance(4, seed)
        values = rng(seed).normal(0.0, 1.5 * math.sqrt(covariance.trace() / 4), 4)
        _, statistic, (_, rows) = statistics_of(values, covariance, pairs)
        for level in (0.2, 0.8, 0.95, 0.999):
            pvalue, critical = single_step(statistic, rows, 9, level, rng(), n_directions=100)
            is_beyond = np.abs(statistic) >= critical
            assert_array_equal(pvalue <= 1.0 - level, is_beyond, err_msg=f"{seed} {level}")


def test_equal_rankers_take_no_part():
    covariance = any_covariance(3, 8)
    # The fourth ranker is the first once more.
    again = [0, 1, 2, 0]
    larger = covariance[np.ix_(again, again)]
    values = np.array([0.7, 0.2, 0.1])
    pairs = all_pairs(4)
    same = np.flatnonzero((pairs == [0, 3]).all(axis=1))
    test = maxt(values[again], larger, pairs, 9, rng(), n_directions=DRAWN)
    assert_array_equal(test.standard_error[same], 0.0)
    assert_array_equal(test.pvalue[same], 1.0)
    assert np.isnan(test.statistic[same]).all()
    fewer = maxt(values, covariance, all_pairs(3), 9, rng(), n_directions=DRAWN)
    # The pairs (0, 1), (0, 2) and (1, 2) are there in both.
    assert_allclose(test.pvalue[[0, 1, 3]], fewer.pvalue, atol=4 * ERROR)
    low, high = sup_t_limits(values[again], larger, pairs, 9, 0.95, rng())
    assert_array_equal([low[same], high[same]], 0.0)


def test_two_rankers_have_students_t():
    covariance = np.array([[0.02, 0.005], [0.005, 0.01]])
    error = math.sqrt(0.02)
    test = maxt([0.9, 0.5], covariance, all_pairs(2), 6, rng(), n_directions=50)
    assert_allclose(test.pvalue, 2.0 * stats.t.sf(0.4 / error, 6), rtol=1e-10)
    limits = sup_t_limits([0.9, 0.5], covariance, all_pairs(2), 6, 0.9, rng())
    half = stats.t.isf(0.05, 6) * error
    assert_allclose(np.ravel(limits), [0.4 - half, 0.4 + half], rtol=1e-6)


def test_pairs():
    assert_array_equal(all_pairs(3), [[0, 1], [0, 2], [1, 2]])
    assert_array_equal(pairs_with(1, 3), [[0, 1], [2, 1]])


def test_simultaneous_limits_exclude_zero_where_the_largest_statistic_is_significant():
    values, covariance, pairs = np.array([0.9, 0.1, 0.0]), any_covariance(3, 9), all_pairs(3)
    contrasts = difference_contrasts(covariance, pairs)
    statistic = np.abs(values[pairs[:, 0]] - values[pairs[:, 1]]) / contrasts.standard_error
    pvalue = largest_pvalue(statistic.max(), contrasts.rows, 9, rng())
    j = statistic.argmax()
    for level, excluded in ((1.0 - 1.01 * pvalue, True), (1.0 - 0.99 * pvalue, False)):
        low, high = sup_t_limits(values, covariance, pairs, 9, level, rng())
        assert (low[j] > 0.0 or high[j] < 0.0) == excluded


# ---------------------------------------------------------------------------------------------
# Comparisons with the best
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("df", [4, 30])
def test_set_of_the_best_is_hsus(seed, df):
    n_rankers = 5
    covariance = any_covariance(n_rankers, seed)
    values = rng(seed).normal(0, 1.2 * math.sqrt(covariance.trace() / n_rankers), n_rankers)
    pvalue = best_pvalues(values, covariance, df, rng(), n_directions=DRAWN)
    for i in range(n_rankers):
        others = [j for j in range(n_rankers) if j != i]
        to_others = np.eye(n_rankers)[others] - np.eye(n_rankers)[i]
        matrix = to_others @ covariance @ to_others.T
        error = np.sqrt(np.diag(matrix))
        correlation = matrix / np.outer(error, error)
        largest = max((values[j] - values[i]) / error[a] for a, j in enumerate(others))
        within = stats.multivariate_t.cdf(
            np.full(len(others), largest),
            shape=correlation,
            df=df,
            random_state=rng(),
            allow_singular=True,
        )
        assert_allclose(pvalue[i], 1.0 - within, atol=0.012)
    assert pvalue.argmax() == values.argmax()


def test_set_of_the_best_is_that_of_the_critical_values():
    covariance = any_covariance(4, 12)
    values = np.array([0.0, 0.3, 0.5, 0.9])
    pvalue = best_pvalues(values, covariance, 9, rng(), n_directions=DRAWN)
    for i in range(4):
        # Just at the p-value of ranker i the criterion changes sides.
        error, rows = difference_contrasts(covariance, pairs_with(i, 4))
        gap = np.max((np.delete(values, i) - values[i]) / error)
        for level, kept in ((1.0 - 0.95 * pvalue[i], True), (1.0 - 1.05 * pvalue[i], False)):
            if 0.0 < level < 1.0:
                c = critical_value(
                    rows, 9, level, rng(5), alternative="greater", n_directions=DRAWN
                )
                assert (gap <= c) == kept


def test_rankers_that_are_alike_stay_together():
    pvalue = best_pvalues([0.5, 0.5, 0.1], np.ones((3, 3)), 9, rng())
    # Without errors nothing is excluded; nor is it without degrees of freedom.
    assert_array_equal(pvalue, 1.0)
    assert_array_equal(best_pvalues([0.5, 0.2], np.eye(2) * 1e-9, 0, rng()), 1.0)
    again = [0, 1, 1]
    covariance = any_covariance(2, 1)
    pvalue = best_pvalues([0.2, 0.9, 0.9], covariance[np.ix_(again, again)], 9, rng())
    assert_allclose(pvalue[1], pvalue[2], rtol=1e-9)
    error = difference_contrasts(covariance, all_pairs(2)).standard_error[0]
    assert_allclose(pvalue[0], stats.t.sf(0.7 / error, 9), rtol=1e-9)


def test_the_best_is_dropped_at_most_at_the_level():
    df, n_sets, draws = 8, 600, rng(21)
    covariance = any_covariance(3, 2)
    dropped = 0
    for _ in range(n_sets):
        values = draws.multivariate_normal(np.zeros(3), covariance)
        estimated = covariance * draws.chisquare(df) / df
        dropped += best_pvalues(values, estimated, df, draws, n_directions=300)[0] < 0.05
    assert dropped / n_sets < 0.05 + 3 * math.sqrt(0.05 * 0.95 / n_sets)
    assert dropped > 0


@pytest.mark.parametrize("df", [20.0, np.inf])
def test_fewer_maxima_of_many_pairs_give_the_same_pvalues(monkeypatch, df):
    rng = np.random.default_rng(0)
    errors = rng.normal(size=(25, 40))
    pairs = all_pairs(25)
    rows = difference_contrasts(errors @ errors.T, pairs).rows
    statistic = np.linspace(0.0, 8.0, len(pairs))
    found = []
    for many in (len(pairs) - 1, len(pairs)):
        monkeypatch.setattr(simultaneous, "_MANY_STATISTICS", many)
        found.append(single_step(statistic, rows, df, 0.95, np.random.default_rng(1)))
    (thinned, critical), (pvalue, expected) = found
    assert 0.0 < abs(critical - expected) < 1e-6
    assert_allclose(thinned, pvalue, rtol=1e-5)
    assert np.array_equal(thinned <= 0.05, statistic >= critical)
