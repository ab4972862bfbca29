"""Intervals and tests of metrics against definitions, root searches, SciPy and published values."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import brentq

from sklearn_rankinf._estimation.estimates import mean_limits
from sklearn_rankinf._estimation.limits import (
    ListsOfTwo,
    average_precision_limits,
    boyd_binomial_limits,
    boyd_logit_limits,
    clopper_pearson_limits,
    difference_error,
    emproc_limits,
    emproc_test,
    g_inverse,
    g_scale,
    g_slope,
    hypergeometric_pvalue,
    mcnemar_pvalue,
    metric_difference_test,
    mover_limits,
    plus_recall_limits,
    recall_limits,
    roc_auc_limits,
    t_test,
)

LEVELS = [0.5, 0.8, 0.95, 0.999]
ALTERNATIVES = ["two-sided", "greater", "less"]


def t_quantile(df, level):
    return stats.t.isf((1.0 - level) / 2.0, df)


# ---------------------------------------------------------------------------------------------
# The g scale
# ---------------------------------------------------------------------------------------------


def test_g_scale_is_inverted_and_has_its_slope():
    t = np.array([1e-300, 1e-9, 0.1, 1.0 / math.e, 0.5, 0.9, 1.0 - 1e-9])
    assert_allclose(g_inverse(g_scale(t)), t, rtol=1e-12)
    step = 1e-6
    inner = t[2:-1]
    numeric = (g_scale(inner * (1 + step)) - g_scale(inner * (1 - step))) / (2 * step * inner)
    assert_allclose(g_slope(inner), numeric, rtol=1e-8)
    # The slope is least, e, where t log t is.
    assert_allclose(g_slope(1.0 / math.e), math.e)


def test_g_scale_has_ends():
    assert_array_equal(g_scale([0.0, 1.0]), [-math.inf, math.inf])
    assert_array_equal(g_inverse([-math.inf, -800.0, 800.0, math.inf]), [0.0, 0.0, 1.0, 1.0])
    assert_array_equal(g_slope([0.0, 1.0]), [math.inf, math.inf])


# ---------------------------------------------------------------------------------------------
# Average precision
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("m", [2, 3, 20, 500])
@pytest.mark.parametrize("value", [1e-4, 0.04, 0.3, 0.77, 0.999])
def test_average_precision_limits_are_where_the_distance_is_t_standard_errors(value, m, level):
    variance = value * (1.0 - value) / (4.0 * m)
    low, high = average_precision_limits(value, variance, m, level)
    assert 0.0 <= low < value < high <= 1.0
    reach = t_quantile(m - 1, level) * math.sqrt(variance) / (-value * math.log(value))

    # Limits that are 0 or 1 as floats have no finite value on this scale.
    for limit in (low, high):
        if 1e-300 < limit < 1.0 - 1e-6:
            assert_allclose(abs(math.log(math.log(value) / math.log(limit))), reach, rtol=1e-9)


def test_average_precision_limits_widen_with_the_level_and_scale_with_the_maximum():
    levels = np.linspace(0.01, 0.999, 50)
    low, high = average_precision_limits(0.4, 0.01, 12, levels)
    assert np.all(np.diff(low) < 0)
    assert np.all(np.diff(high) > 0)
    scaled = average_precision_limits(0.4 * 0.25, 0.01 * 0.25**2, 12, levels, maximum=0.25)
    assert_allclose(scaled, np.array([low, high]) * 0.25, rtol=1e-12)


def test_average_precision_without_variance_is_certain():
    # A constant score has the prevalence, whatever the sample.
    assert_allclose(average_precision_limits([0.05, 0.5], 0.0, 10), [[0.05, 0.5]] * 2, rtol=1e-14)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("m", [1, 2, 10, 300])
def test_limits_of_perfect_average_precision_are_those_of_all_of_m(m, level):
    low, high = average_precision_limits(1.0, math.nan, m, level)
    assert high == 1.0
    exact = stats.binomtest(m, m).proportion_ci(level, method="exact")
    assert_allclose(low, exact.low, rtol=1e-12)
    # A mean of ones is one up to rounding.
    assert_array_equal(average_precision_limits(1.0 - 2.3e-16, 0.0, m, level), (low, high))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("m", "k"), [(10, 4), (10, 9), (300, 1), (10, 10), (10, 50), (1, 3)])
def test_limits_at_k_of_none_and_of_all(m, k, level):
    largest = min(m, k)
    maximum = largest / m
    low, high = average_precision_limits([0.0, maximum], 0.0, m, level, k=k, maximum=maximum)
    assert low[0] == 0.0
    assert_allclose(high[1], maximum)
    # Recall is at least average precision at k that is divided by the number of positives.
    none = stats.binomtest(0, m).proportion_ci(level, method="exact").high
    assert_allclose(high[0], min(none, maximum), rtol=1e-12)
    every = stats.binomtest(largest, largest).proportion_ci(level, method="exact").low
    # If every item above the threshold has the same chance p, average precision at k is p squared.
    assert_allclose(low[1], maximum * every ** (2 if k < m else 1), rtol=1e-12)


def test_one_positive_has_no_information_but_at_the_ends():
    low, high = average_precision_limits([0.01, 0.5, 1.0], math.nan, 1)
    assert_array_equal(low[:2], 0.0)
    assert_array_equal(high, 1.0)
    assert_allclose(low[2], 0.025)


# ---------------------------------------------------------------------------------------------
# ROC AUC
# ---------------------------------------------------------------------------------------------


def hanley_mcneil(theta, m, n0):
    """Variance of AUC from the probabilities that one beats two, with the mean class size."""
    one_positive, one_negative = 2 * theta**2 / (1 + theta), theta / (2 - theta)
    size = (m + n0) / 2 - 1
    spread = theta * (1 - theta) + size * (one_positive + one_negative - 2 * theta**2)
    return spread / (m * n0)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("m", "n0"), [(2, 2), (2, 1000), (10, 10), (10, 90), (90, 10), (400, 3)])
def test_roc_auc_limits_are_the_roots(m, n0, level):
    for ratio, auc in itertools.product((0.0, 0.3, 2.5), (1e-4, 0.03, 0.37, 0.8, 0.996)):
        at_estimate = hanley_mcneil(auc, m, n0)
        low, high = roc_auc_limits(auc, ratio * at_estimate, m, n0, level)
        scale = max((1 + ratio) / 2, ratio) if ratio else 1.0
        factor = t_quantile(m - 1, level) ** 2 * scale

        def excess(theta, auc=auc, factor=factor):
            return (auc - theta) ** 2 - factor * hanley_mcneil(theta, m, n0)

        assert_allclose(low, brentq(excess, 0.0, auc, xtol=1e-16), rtol=1e-7, atol=1e-14)
        assert_allclose(high, brentq(excess, auc, 1.0, xtol=1e-16), rtol=1e-12)
        # All values between the limits belong to the interval, and no others.
        theta = np.linspace(0.0005, 0.9995, 1000)
        clear = np.minimum(abs(theta - low), abs(theta - high)) > 1e-9
        inside = (low <= theta) & (theta <= high)
        assert_array_equal(inside[clear], (excess(theta) <= 0.0)[clear])


@pytest.mark.parametrize(("m", "n0"), [(2, 5), (10, 90), (300, 20)])
def test_roc_auc_limits_at_the_ends_and_of_a_constant_score(m, n0):
    low, high = roc_auc_limits([0.0, 0.5, 1.0], 0.0, m, n0)
    assert low[0] == 0.0
    assert high[2] == 1.0
    assert_allclose(low, 1.0 - high[::-1], rtol=1e-14)
    t = t_quantile(m - 1, 0.95)
    # At an AUC of 1 a factor 1 - theta cancels.
    root = brentq(lambda x: (1 - x) ** 2 - t**2 * hanley_mcneil(x, m, n0), 0.0, 1 - 1e-9)
    assert_allclose(low[2], root, rtol=1e-9)


def test_roc_auc_limits_of_reversed_scores_and_of_one_positive_or_negative():
    auc = np.linspace(0, 1, 11)
    low, high = roc_auc_limits(auc, 0.003, 8, 70)
    mirrored = roc_auc_limits(1 - auc, 0.003, 8, 70)
    assert_allclose([1 - high, 1 - low], mirrored, atol=1e-15)
    assert np.all((low <= auc) & (auc <= high))
    # Rounding errors at the ends are no variance.
    low, high = roc_auc_limits([0.0, 1.0, 1.0 - 1e-16], [1e-33, 1e-33, 1e-32], 8, 70)
    assert_allclose(low[[1, 2]], roc_auc_limits(1.0, 0.0, 8, 70)[0], rtol=1e-12)
    assert_allclose(high[0], 1.0 - low[1], rtol=1e-12)
    assert_array_equal(roc_auc_limits([0.3, 1.0], math.nan, 1, 50), [[0, 0], [1, 1]])
    assert_array_equal(roc_auc_limits(0.3, math.nan, 50, 1), roc_auc_limits(0.3, 0.0, 50, 1))


def test_roc_auc_limits_cover():
    rng = np.random.default_rng(0)
    m, n0, n_sets = 10, 40, 1000
    shift = 1.2
    above = (rng.normal(shift, 1, (n_sets, m, 1)) > rng.normal(size=(n_sets, 1, n0))).astype(float)
    auc = above.mean(axis=(1, 2))
    of_positives, of_negatives = above.mean(axis=2), above.mean(axis=1)
    variance = of_positives.var(axis=1, ddof=1) / m + of_negatives.var(axis=1, ddof=1) / n0
    low, high = roc_auc_limits(auc, variance, m, n0)
    truth = stats.norm.cdf(shift / math.sqrt(2))
    coverage = np.mean((low <= truth) & (truth <= high))
    assert 0.93 < coverage < 0.995


# ---------------------------------------------------------------------------------------------
# Recall at k
# ---------------------------------------------------------------------------------------------

DESIGNS = [
    (0, 10, 0.0, 100, 10),
    (0, 10, 0.4, 100, 10),
    (10, 10, 0.4, 100, 10),
    (10, 40, 0.02, 100, 10),
    (3.7, 10, 0.3, 100, 10),
    (25, 25, 1.0, 500, 50),
    (2, 5, 0.6, 20, 2),
    (90, 95, 0.9, 100, 92),
    (60, 95, 0.5, 100, 65),
    (7, 50, 0.1, 5000, 60),
    (1, 1, 0.5, 1000, 3),
]


def is_covered(kappa, hits, k, slope, n, m, level):
    """Whether recall kappa is within t standard errors, from the share of the negatives at k."""
    n0 = n - m
    f = (k - m * kappa) / n0
    variance = (1 - slope) ** 2 * kappa * (1 - kappa) / m + slope**2 * n0 * f * (1 - f) / m**2
    return (hits / m - kappa) ** 2 - t_quantile(m - 1, level) ** 2 * variance


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("design", DESIGNS)
def test_recall_limits_include_the_covered_value(design, level):
    hits, k, _, n, m = design
    low, high = recall_limits(*design, level)
    lowest, highest = max(0.0, (k - n + m) / m), min(1.0, k / m)
    assert lowest <= low <= hits / m <= high <= highest
    kappa = np.linspace(lowest, highest, 2001)
    clear = np.minimum(abs(kappa - low), abs(kappa - high)) > 1e-9
    covered = is_covered(kappa, *design, level) <= 0
    assert_array_equal(covered[clear], ((low <= kappa) & (kappa <= high))[clear])
    for limit in (low, high):
        if lowest < limit < highest and limit != hits / m:
            assert abs(is_covered(limit, *design, level)) < 1e-12


def test_recall_limits_are_vectorised_and_widen_with_the_level():
    columns = [np.array(column, dtype=float) for column in zip(*DESIGNS, strict=True)]
    low, high = recall_limits(*columns)
    each = np.array([recall_limits(*design) for design in DESIGNS])
    assert_array_equal(np.column_stack([low, high]), each)
    low, high = recall_limits(7, 50, 0.1, 5000, 60, np.linspace(0.01, 0.999, 40))
    assert np.all(np.diff(low) < 0)
    assert np.all(np.diff(high) > 0)


def test_recall_that_is_known_has_no_width():
    # All items are in the top k, or all are positives.
    assert_allclose(recall_limits(10, 100, 0.1, 100, 10), [1.0, 1.0], rtol=1e-14)
    assert_allclose(recall_limits(7, 7, 1.0, 20, 20), [0.35, 0.35], rtol=1e-14)


def test_recall_limits_of_one_positive_are_the_possible_range():
    assert_array_equal(recall_limits([0.0, 1.0], 5, 0.1, 50, 1), [[0, 0], [1, 1]])


def test_recall_limits_are_narrower_than_binomial_ones():
    low, high = recall_limits(12, 25, 0.45, 500, 50)
    exact_low, exact_high = clopper_pearson_limits(12, 50)
    assert high - low < 0.75 * (exact_high - exact_low)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [1, 2, 17, 400])
def test_clopper_pearson_limits_are_scipys(n, level):
    x = np.unique(np.linspace(0, n, 9).astype(int))
    low, high = clopper_pearson_limits(x, n, level)
    exact = [stats.binomtest(i, n).proportion_ci(level, method="exact") for i in x.tolist()]
    assert_allclose(low, [limits.low for limits in exact], rtol=1e-10)
    assert_allclose(high, [limits.high for limits in exact], rtol=1e-10)


def test_clopper_pearson_limits_of_ties_are_between_those_of_counts():
    low, high = clopper_pearson_limits(np.arange(0.0, 10.01, 0.25), 10)
    assert np.all(np.diff(low) > 0)
    assert np.all(np.diff(high)[:-1] > 0)


@pytest.mark.parametrize("design", DESIGNS)
def test_plus_recall_limits_are_two_of_four_positives_more(design):
    hits, k, slope, n, m = map(Fraction, design)
    recall, part, prevalence = (hits + 2) / (m + 4), (k + 2) / (n + 4), (m + 4) / (n + 4)
    variance = recall * (1 - recall) * (1 - 2 * slope) / ((n + 4) * prevalence)
    variance += slope**2 * part * (1 - part) / ((n + 4) * prevalence**2)
    half = stats.norm.isf(0.025) * math.sqrt(max(variance, 0))
    low, high = plus_recall_limits(*design)
    ideal = float(min(1, k / m))
    assert_allclose(low, np.clip(float(recall) - half, 0, ideal), atol=1e-12)
    assert_allclose(high, np.clip(float(recall) + half, 0, ideal), atol=1e-12)


# ---------------------------------------------------------------------------------------------
# Boyd's intervals, and means over queries
# ---------------------------------------------------------------------------------------------


def test_boyd_limits_are_those_published():
    assert_allclose(boyd_logit_limits(0.3, 50), [0.1896700, 0.4396852], atol=5e-8)
    assert_allclose(boyd_binomial_limits(0.3, 50), [0.17298, 0.42702], atol=5e-6)


def test_boyd_limits_at_the_ends():
    assert_array_equal(boyd_logit_limits([0.0, 1.0], 9), [[0, 0], [1, 1]])
    assert_allclose(boyd_logit_limits(1 - 1e-9, 9), [0.0, 1.0], atol=1e-12)
    assert_array_equal(boyd_binomial_limits([0.0, 1.0], 9), [[0, 1], [0, 1]])
    assert_array_equal(
        boyd_binomial_limits([0.01, 0.99], 4),
        [[0, boyd_binomial_limits(0.99, 4)[0]], [boyd_binomial_limits(0.01, 4)[1], 1]],
    )


@pytest.mark.parametrize("level", LEVELS)
def test_mean_limits_are_those_of_the_t_test(level):
    values = np.random.default_rng(1).beta(2, 5, size=11)
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(level)
    assert_allclose(mean_limits(values, level), expected, rtol=1e-10, atol=1e-13)


def test_mean_limits_of_equal_values_and_of_one_value():
    assert_array_equal(mean_limits(np.array([0.3]), 0.95), [-math.inf, math.inf])
    assert_allclose(mean_limits(np.full(3, 0.3), 0.95), [0.3, 0.3])


def test_mean_limits_of_clusters_are_those_of_the_means_of_clusters_of_one_size():
    values, clusters = np.random.default_rng(2).beta(2, 5, size=(7, 3)), np.repeat(np.arange(7), 3)
    expected = stats.ttest_1samp(values.mean(axis=1), 0.0).confidence_interval(0.9)
    assert_allclose(mean_limits(values.ravel(), 0.9, clusters), expected, rtol=1e-10)


# ---------------------------------------------------------------------------------------------
# Differences of metrics
# ---------------------------------------------------------------------------------------------


def test_mover_limits_of_two_proportions_are_newcombes():
    # Newcombe 1998, method 10: 56 of 70 against 48 of 80.
    first, second = stats.binomtest(56, 70), stats.binomtest(48, 80)
    one, other = (test.proportion_ci(method="wilson") for test in (first, second))
    limits = mover_limits(0.8, one.low, one.high, 0.6, other.low, other.high)
    assert_allclose(limits, [0.0524, 0.3339], atol=5e-5)


@pytest.mark.parametrize("rho", [-1.0, -0.3, 0.0, 0.8, 1.0])
def test_mover_limits_of_symmetric_intervals_are_those_of_the_difference(rho):
    low, high = mover_limits(0.5, 0.4, 0.6, 0.3, 0.25, 0.35, rho)
    half = math.sqrt(0.1**2 + 0.05**2 - 2 * rho * 0.1 * 0.05)
    assert_allclose([low, high], [0.2 - half, 0.2 + half], atol=1e-14)


def test_mover_limits_stay_in_reach_and_are_exchanged_with_the_metrics():
    rng = np.random.default_rng(2)
    low1, value1, high1 = np.sort(rng.random((3, 500)), axis=0)
    low2, value2, high2 = np.sort(rng.random((3, 500)), axis=0)
    rho = rng.uniform(-1, 1, 500)
    low, high = mover_limits(value1, low1, high1, value2, low2, high2, rho)
    assert np.all((low1 - high2 <= low + 1e-12) & (high <= high1 - low2 + 1e-12))
    assert np.all((low <= value1 - value2) & (value1 - value2 <= high))
    mirrored = mover_limits(value2, low2, high2, value1, low1, high1, rho)
    assert_allclose([-high, -low], mirrored, atol=1e-14)
    below = (
        (value1 - low1) ** 2 + (high2 - value2) ** 2 - 2 * rho * (value1 - low1) * (high2 - value2)
    )
    assert_allclose(low, value1 - value2 - np.sqrt(below), atol=1e-13)
    unknown = mover_limits(value1, low1, high1, value2, low2, high2, math.nan)
    assert_array_equal(unknown, mover_limits(value1, low1, high1, value2, low2, high2))


def test_mover_limits_of_the_same_symmetric_intervals_and_errors_have_no_width():
    assert_array_equal(mover_limits(0.25, 0.125, 0.375, 0.25, 0.125, 0.375, 1.0), 0.0)


def test_z_test_of_two_areas_is_that_of_the_published_example():
    # Subarachnoid haemorrhage, 113 patients; DeLong's test of two scores in the R package pROC.
    error = difference_error(0.00146991470882363, 0.00266868245717244, 0.00119615567376754)
    test = t_test(0.823678861788618 - 0.731368563685637, error, math.inf)
    assert_allclose(test.statistic, 2.20898359144091, rtol=1e-13)
    assert_allclose(test.pvalue, 0.0271757822291882, rtol=1e-12)


def paired_values(seed, n=14):
    rng = np.random.default_rng(seed)
    common = rng.beta(2, 3, n)
    return 0.6 * common + 0.4 * rng.random((2, n))


def moments_of(pair):
    n = pair.shape[1]
    matrix = np.cov(pair) / n
    return pair.mean(axis=1), (matrix[0, 0], matrix[1, 1], matrix[0, 1]), n


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("seed", range(5))
def test_tests_on_the_metrics_scale_are_paired_t_tests(seed, alternative):
    pair = paired_values(seed)
    values, variances, n = moments_of(pair)
    test = metric_difference_test(*values, *variances, n, alternative, on_g_scale=False)
    expected = stats.ttest_rel(*pair, alternative=alternative)
    assert_allclose(test.statistic, expected.statistic, rtol=1e-10)
    assert_allclose(test.pvalue, expected.pvalue, rtol=1e-10)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("seed", range(5))
def test_g_scale_test_is_a_t_test_of_transformed_errors(seed, alternative):
    pair = paired_values(seed)
    values, variances, n = moments_of(pair)
    test = metric_difference_test(*values, *variances, n, alternative)
    # Errors times the slopes, item by item, about the difference of the transformed means.
    slopes = [-1.0 / (value * math.log(value)) for value in values]
    errors = slopes[0] * (pair[0] - values[0]) - slopes[1] * (pair[1] - values[1])
    difference = math.log(math.log(values[1]) / math.log(values[0]))
    expected = stats.ttest_1samp(errors + difference, 0.0, alternative=alternative)
    assert_allclose(test.statistic, expected.statistic, rtol=1e-9)
    assert_allclose(test.pvalue, expected.pvalue, rtol=1e-9)
    assert_allclose(test.standard_error, stats.sem(errors), rtol=1e-10)


def test_difference_test_changes_sign_with_the_order_and_not_with_the_unit():
    arguments = 0.4, 0.3, 0.01, 0.008, 0.005, 20
    test = metric_difference_test(*arguments, "greater")
    swapped = metric_difference_test(0.3, 0.4, 0.008, 0.01, 0.005, 20, "less")
    assert_allclose([swapped.statistic, swapped.pvalue], [-test.statistic, test.pvalue])
    scaled = metric_difference_test(
        0.1, 0.075, 0.01 / 16, 0.008 / 16, 0.005 / 16, 20, "greater", maximum=0.25
    )
    assert_allclose(scaled, test, rtol=1e-12)
    two_sided = metric_difference_test(*arguments)
    assert_allclose(two_sided.pvalue, 2 * test.pvalue)
    assert_allclose(swapped.pvalue + metric_difference_test(*arguments, "less").pvalue, 1.0)


@pytest.mark.parametrize("end", [0.0, 1.0, 1.0 - 2e-16])
def test_metrics_are_compared_on_the_original_scale_where_g_has_no_slope(end):
    of_both = [0.8, end], [end, 0.2], 0.0, 0.01, 0.0, 8
    test = metric_difference_test(*map(np.asarray, of_both))
    raw = metric_difference_test(*map(np.asarray, of_both), on_g_scale=False)
    assert_array_equal(test, raw)
    assert_allclose(test.statistic, [(0.8 - end) / 0.1, (end - 0.2) / 0.1])


def test_no_error_and_no_degrees_of_freedom_are_no_evidence():
    for alternative in ALTERNATIVES:
        # The same ranking; a perfect one and a constant score; one positive.
        test = metric_difference_test(
            np.array([0.4, 1.0, 0.6]),
            np.array([0.4, 0.1, 0.2]),
            np.array([0.013, 0.0, 0.01]),
            np.array([0.013, 0.0, 0.01]),
            np.array([np.nextafter(0.013, 0.0), 0.0, 0.0]),
            np.array([20, 20, 1]),
            alternative,
        )
        assert_array_equal(test.pvalue, 1.0)
        assert np.all(np.isnan(test.statistic))


# ---------------------------------------------------------------------------------------------
# Hits at k of two rankers
# ---------------------------------------------------------------------------------------------


def test_hits_of_two_rankers_have_the_checked_pvalues():
    assert_allclose(hypergeometric_pvalue(17, 6, 60), 0.0190284, atol=5e-8)
    assert_allclose(mcnemar_pvalue(17, 6), 0.0346897, atol=5e-8)


def counts(largest):
    return [
        (first, second, exclusive)
        for exclusive in range(largest + 1)
        for first in range(exclusive + 1)
        for second in range(exclusive + 1)
    ]


def hypergeometric_tails(first, second, exclusive, weight_of_observed):
    """Tails of the first list's share of the positives, by counting the ways to deal them."""
    both, size = first + second, exclusive
    ways = [
        math.comb(both, x) * math.comb(2 * size - both, size - x) if x <= size else 0
        for x in range(both + 1)
    ]
    observed = weight_of_observed * ways[first]
    total = math.comb(2 * size, size)
    return (
        Fraction(sum(ways[first + 1 :]) + observed) / total,
        Fraction(sum(ways[:first]) + observed) / total,
    )


@pytest.mark.parametrize(("mid_p", "weight"), [(False, Fraction(1)), (True, Fraction(1, 2))])
def test_hypergeometric_pvalues_are_ratios_of_counts(mid_p, weight):
    first, second, exclusive = np.array(counts(7)).T
    tails = [hypergeometric_tails(*count, weight) for count in counts(7)]
    for alternative, expected in (
        ("greater", [upper for upper, _ in tails]),
        ("less", [lower for _, lower in tails]),
        ("two-sided", [min(2 * min(pair), 1) for pair in tails]),
    ):
        pvalue = hypergeometric_pvalue(first, second, exclusive, alternative, mid_p=mid_p)
        assert_allclose(pvalue, np.array(expected, dtype=float), rtol=1e-11)


@pytest.mark.parametrize(("first", "second", "exclusive"), [(17, 6, 60), (0, 9, 9), (40, 3, 500)])
def test_hypergeometric_test_is_fishers(first, second, exclusive):
    table = [[first, second], [exclusive - first, exclusive - second]]
    for alternative in ("greater", "less"):
        expected = stats.fisher_exact(table, alternative=alternative).pvalue
        pvalue = hypergeometric_pvalue(first, second, exclusive, alternative)
        assert_allclose(pvalue, expected, rtol=1e-10)


def test_mcnemar_pvalues_are_binomial():
    for first in range(12):
        for second in range(12):
            if first + second:
                for alternative in ALTERNATIVES:
                    expected = stats.binomtest(first, first + second, alternative=alternative)
                    pvalue = mcnemar_pvalue(first, second, alternative)
                    assert_allclose(pvalue, expected.pvalue, rtol=1e-12)
    assert mcnemar_pvalue(0, 0) == 1.0
    assert_allclose(mcnemar_pvalue(0, 900), 2.0**-899, rtol=1e-12)


def test_mcnemars_test_is_the_limit_of_long_lists_and_more_conservative():
    assert_allclose(hypergeometric_pvalue(17, 6, 10**8), mcnemar_pvalue(17, 6), rtol=1e-5)
    exact = hypergeometric_pvalue(17, 6, np.array([25, 40, 60, 200]))
    assert np.all(np.diff(exact) > 0)
    assert np.all(exact < mcnemar_pvalue(17, 6))


PAIRS_OF_LISTS = [
    # Hits of each and in both, items in both, k, slopes, n, m.
    (60, 45, 40, 70, 100, 0.2, 0.3, 1000, 100),
    (0, 0, 0, 3, 10, 0.0, 0.1, 200, 8),
    (8, 8, 8, 10, 10, 0.5, 0.5, 200, 8),
    (5, 1, 0, 0, 10, 0.7, 0.05, 300, 20),
]


def emproc_variance(h1, h2, h12, n12, k, slope1, slope2, n, m):
    """Variance of the difference with the "plus" correction, in fractions of n."""
    h1, h2, k, m, n = h1 + 1, h2 + 1, k + 1, m + 2, n + 2
    pi, r = Fraction(m, n), Fraction(k, n)
    slopes = Fraction(slope1), Fraction(slope2)
    recalls = Fraction(h1, m), Fraction(h2, m)

    def variance(recall, slope):
        return recall * (1 - recall) * (1 - 2 * slope) / (n * pi) + slope**2 * r * (1 - r) / (
            n * pi**2
        )

    together = pi * (Fraction(h12, m) - recalls[0] * recalls[1]) * (1 - sum(slopes))
    together += (Fraction(n12, n) - r**2) * slopes[0] * slopes[1]
    return sum(map(variance, recalls, slopes)) - 2 * together / (n * pi**2)


@pytest.mark.parametrize("lists", PAIRS_OF_LISTS)
def test_emproc_divides_the_plain_difference_by_the_corrected_error(lists):
    h1, h2, *_, m = lists
    error = math.sqrt(emproc_variance(*lists))
    test = emproc_test(ListsOfTwo(*lists))
    assert_allclose(test.standard_error, error, rtol=1e-12)
    z = (h1 - h2) / m / error
    assert_allclose(test.statistic, z, rtol=1e-12)
    assert_allclose(test.pvalue, 2 * stats.norm.sf(abs(z)), rtol=1e-10)
    half = stats.norm.isf(0.025) * error
    centre = (h1 - h2) / (m + 2)
    assert_allclose(emproc_limits(ListsOfTwo(*lists)), [centre - half, centre + half], atol=1e-12)


def test_emproc_without_slopes_is_the_test_of_two_dependent_proportions():
    first, second, both, m = 30, 22, 15, 60
    error = ListsOfTwo(first, second, both, 40, 80, 0.0, 0.0, 900, m).plus_error
    # Shares of the positives in one list alone, which are multinomial.
    only_first, only_second = (first + 1 - both) / (m + 2), (second + 1 - both) / (m + 2)
    variance = (only_first + only_second - (only_first - only_second) ** 2) / (m + 2)
    assert_allclose(error, math.sqrt(variance), rtol=1e-12)
