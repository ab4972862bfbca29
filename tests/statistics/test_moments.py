"""Exact moments of average precision, and of other sums of increments, by chance."""

import itertools
import math
from fractions import Fraction

import numpy as np
import oracles
import pytest
from by_name import ap_null_distribution
from numpy.testing import assert_allclose

from sklearn_rankinf import AveragePrecision
from sklearn_rankinf._engine.moments import skewness_and_kurtosis
from sklearn_rankinf._statistics import moments
from sklearn_rankinf._statistics.additive import increments_of
from sklearn_rankinf._statistics.increments import Increments

pytestmark = pytest.mark.numeric

# Values published with the closed forms (mean, variance), to the digits printed.
PRINTED = [
    ((5, 2), 0.5925, 0.0442840, 1e-6),
    ((8, 3), 0.5283801, 0.0315264, 2e-6),
    ((100, 10), 0.1380671, 0.00287574, 2e-6),
    ((1000, 100), 0.1058428, 1.301537e-4, 4e-7),
    ((2000, 500), 0.2526932, 9.892955e-5, 4e-7),
    ((10000, 50), 0.00587445, 0.00211441**2, 4e-6),
]


@pytest.mark.parametrize(("size", "mean", "variance", "rtol"), PRINTED)
def test_printed_values(size, mean, variance, rtol):
    null = ap_null_distribution(*size)
    assert_allclose(null.mean(), mean, rtol=rtol)
    assert_allclose(null.var(), variance, rtol=rtol)


@pytest.mark.parametrize("n_samples", range(1, 10))
def test_every_small_size_without_ties(n_samples):
    for n_positives in range(1, n_samples + 1):
        null = ap_null_distribution(n_samples, n_positives)
        enumerated = oracles.average_precision_distribution(n_samples, n_positives)
        mean, variance = oracles.distribution_mean_and_variance(enumerated)
        assert_allclose(null.mean(), float(mean), rtol=1e-13)
        assert_allclose(null.var(), float(variance), rtol=1e-12, atol=1e-17)
        assert_allclose(null.std(), float(variance) ** 0.5, rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize(
    ("tie_sizes", "n_positives"),
    [
        ((8,), 3),
        ((1, 7), 1),
        ((7, 1), 4),
        ((2, 3, 1, 2), 3),
        ((1, 1, 4, 2, 1), 4),
        ((3, 3, 3), 5),
        ((2,) * 5, 5),
        ((1, 2, 3, 4), 9),
        ((4, 6), 10),
    ],
)
def test_ties_against_enumeration(tie_sizes, n_positives):
    n_samples = sum(tie_sizes)
    null = ap_null_distribution(n_samples, n_positives, tie_sizes=tie_sizes)
    enumerated = oracles.average_precision_distribution(n_samples, n_positives, tie_sizes)
    mean, variance = oracles.distribution_mean_and_variance(enumerated)
    assert_allclose(null.mean(), float(mean), rtol=1e-13)
    assert_allclose(null.var(), float(variance), rtol=1e-12, atol=1e-17)


@pytest.mark.parametrize("method", ["analytic", "permutation", "normal", "pearson3"])
def test_moments_are_exact_whatever_the_method(method):
    sizes = (2, 3, 1, 2)
    null = ap_null_distribution(8, 3, tie_sizes=sizes, method=method, n_resamples=9)
    mean, variance = oracles.mean_and_variance_with_ties(sizes, 3)
    assert_allclose(null.mean(), float(mean), rtol=1e-13)
    assert_allclose(null.var(), float(variance), rtol=1e-12)
    assert_allclose(null.stats(), [float(mean), float(variance)], rtol=1e-12)
    assert_allclose(null.stats(moments="mv"), [float(mean), float(variance)], rtol=1e-12)
    assert_allclose(null.stats(moments="m"), float(mean), rtol=1e-12)


MODERATELY_TIED = [
    ((5,) * 40, 30),
    ((1,) * 50 + (10,) * 15, 20),
    ((150,) + (1,) * 50, 3),
    ((1,) * 50 + (150,), 150),
    (tuple(range(1, 31)), 60),
]


@pytest.mark.parametrize(
    ("tie_sizes", "n_positives"),
    MODERATELY_TIED,
)
def test_ties_at_moderate_sizes(tie_sizes, n_positives):
    null = ap_null_distribution(sum(tie_sizes), n_positives, tie_sizes=tie_sizes)
    mean, variance = oracles.mean_and_variance_with_ties(tie_sizes, n_positives)
    assert_allclose(null.mean(), float(mean), rtol=1e-12)
    assert_allclose(null.var(), float(variance), rtol=1e-10)


def test_blocks_of_one_item_are_no_ties():
    plain = ap_null_distribution(200, 17)
    blocks = ap_null_distribution(200, 17, tie_sizes=[1] * 200)
    assert_allclose(blocks.mean(), plain.mean(), rtol=1e-13)
    assert_allclose(blocks.var(), plain.var(), rtol=1e-11)


@pytest.mark.parametrize("normalize", ["min", "positives"])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 8, 9])
@pytest.mark.parametrize("tie_sizes", [None, (2, 3, 1, 3), (9,), (1, 1, 6, 1)])
def test_average_precision_at_k_against_enumeration(tie_sizes, k, normalize):
    null = ap_null_distribution(9, 4, k=k, normalize=normalize, tie_sizes=tie_sizes)
    enumerated = oracles.average_precision_distribution(9, 4, tie_sizes, k, normalize)
    mean, variance = oracles.distribution_mean_and_variance(enumerated)
    assert_allclose(null.mean(), float(mean), rtol=1e-13)
    assert_allclose(null.var(), float(variance), rtol=1e-11, atol=1e-16)


@pytest.mark.parametrize("normalize", ["min", "positives"])
@pytest.mark.parametrize(
    ("n_samples", "n_positives", "k"),
    [(1000, 100, 10), (1000, 100, 100), (1000, 5, 400), (20000, 300, 1000), (1000, 999, 20)],
)
def test_average_precision_at_k_against_closed_form(n_samples, n_positives, k, normalize):
    null = ap_null_distribution(n_samples, n_positives, k=k, normalize=normalize)
    mean, variance = oracles.mean_and_variance_at_k(n_samples, n_positives, k, normalize)
    assert_allclose(null.mean(), float(mean), rtol=1e-12)
    assert_allclose(null.var(), float(variance), rtol=1e-9)


@pytest.mark.parametrize("n_samples", [10, 1000, 10**5, 10**6])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.3, 0.5, 0.9, 1.0])
def test_relative_accuracy_to_a_million(n_samples, share):
    n_positives = min(max(1, round(share * n_samples)), n_samples - 1)
    null = ap_null_distribution(n_samples, n_positives)
    mean, variance = oracles.mean_and_variance_at_k(n_samples, n_positives)
    assert_allclose(null.mean(), float(mean), rtol=1e-9)
    assert_allclose(null.var(), float(variance), rtol=1e-9)


@pytest.mark.parametrize("n_samples", [10**9, 10**12])
@pytest.mark.parametrize("n_positives", [1, 2, 1000, 10**6, 10**8, "half", "all but one"])
def test_astronomical_sizes(n_samples, n_positives):
    n_positives = {"half": n_samples // 2, "all but one": n_samples - 1}.get(
        n_positives, n_positives
    )
    null = ap_null_distribution(n_samples, n_positives)
    mean, variance = oracles.mean_and_variance_at_k(n_samples, n_positives)
    assert_allclose(null.mean(), float(mean), rtol=1e-9)
    assert_allclose(null.var(), float(variance), rtol=1e-5)


def test_ties_in_a_million_items_against_no_ties():
    # Pairs of equal scores far down hardly matter: the top thousand ranks are left alone.
    n_samples, n_positives, top = 10**6, 10**4, 1000
    sizes = np.r_[np.ones(top, dtype=int), np.full((n_samples - top) // 2, 2)]
    null = ap_null_distribution(n_samples, n_positives, tie_sizes=sizes)
    plain = ap_null_distribution(n_samples, n_positives)
    # Joining ranks 2s - 1 and 2s changes the mean by the difference of the two precisions,
    # p_2-weighted: sum over pairs of [2 (T-1) / T - (T-2) / (T-1) - (T-1) / T] p_2 / m + ...
    ends = np.cumsum(sizes)[top:].astype(float)
    p1, p2 = (float(oracles.falling_ratio(n_samples, n_positives, r)) for r in (1, 2))
    tied = 2 / ends * (p1 + (ends - 1) * p2)
    untied = (p1 + (ends - 2) * p2) / (ends - 1) + (p1 + (ends - 1) * p2) / ends
    assert_allclose(null.mean() - plain.mean(), (tied - untied).sum() / n_positives, rtol=1e-6)
    assert_allclose(null.var(), plain.var(), rtol=0.01)


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "mean"), [(1, 1, 1), (1, 0, 0), (2, 2, 1), (3, 0, 0), (3, 3, 1)]
)
def test_single_class(n_samples, n_positives, mean):
    null = ap_null_distribution(n_samples, n_positives)
    assert null.mean() == mean
    assert null.var() == 0.0
    assert null.std() == 0.0


def test_one_positive_is_the_mean_of_reciprocal_ranks():
    null = ap_null_distribution(3, 1)
    assert_allclose(null.mean(), float(Fraction(11, 18)), rtol=1e-15)
    assert_allclose(null.var(), float(Fraction(49, 36) / 3 - Fraction(11, 18) ** 2), rtol=1e-14)


def test_constant_score_has_no_variance():
    null = ap_null_distribution(50, 7, tie_sizes=[50])
    assert_allclose(null.mean(), 7 / 50, rtol=1e-15)
    assert null.var() == 0.0


@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("tie_sizes", [None, (2, 3, 1, 2)])
def test_raw_moments_of_enumerable_distributions(order, tie_sizes):
    null = ap_null_distribution(8, 3, tie_sizes=tie_sizes)
    enumerated = oracles.average_precision_distribution(8, 3, tie_sizes)
    expected = [Fraction(1), *oracles.distribution_moments(enumerated)][order]
    assert_allclose(null.moment(order), float(expected), rtol=1e-12)


# ---------------------------------------------------------------------------------------------
# Skewness and kurtosis
# ---------------------------------------------------------------------------------------------


def standardized(raw):
    """Skewness and excess kurtosis from the first four raw moments, as fractions."""
    first, second, third, fourth = raw
    variance = second - first**2
    skewed = third - 3 * first * second + 2 * first**3
    peaked = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
    return float(skewed) / float(variance) ** 1.5, float(peaked / variance**2 - 3)


def moments_by_counting(tie_sizes, n_positives):
    """Raw moments of AP: sums of powers over all placements, carried block by block as integers."""
    ends = list(itertools.accumulate(tie_sizes))
    scale = math.lcm(*ends)
    sums = {0: [1, 0, 0, 0, 0]}
    for size, end in zip(tie_sizes, ends, strict=True):
        longer = {}
        for before, old in sums.items():
            for found in range(min(size, n_positives - before) + 1):
                gain = found * (before + found) * (scale // end)
                new = longer.setdefault(before + found, [0] * 5)
                for order in range(5):
                    new[order] += math.comb(size, found) * sum(
                        math.comb(order, i) * gain ** (order - i) * old[i] for i in range(order + 1)
                    )
        sums = longer
    total = sums[n_positives]
    unit = scale * n_positives
    return [Fraction(total[order], total[0] * unit**order) for order in range(1, 5)]


def moments_by_chain(n_samples, n_positives):
    """Skewness and excess kurtosis of AP without ties, carried from rank to rank in floats."""
    n, m = n_samples, n_positives
    hits = np.arange(m + 1)
    carried = np.zeros((5, m + 1))
    carried[0, 0] = 1.0

    def shifted(by):
        terms = [
            [math.comb(r, i) * by ** (r - i) * carried[i] for i in range(r + 1)] for r in range(5)
        ]
        return np.array([sum(row) for row in terms])

    for rank in range(1, n + 1):
        hit = np.clip((m - hits) / (n - rank + 1), 0.0, 1.0)
        # Less the mean contribution of a rank, so that the powers stay small.
        average = (1 + (rank - 1) * (m - 1) / (n - 1)) / n / rank
        found = hit * shifted((hits + 1) / rank / m - average)
        carried = (1.0 - hit) * shifted(-average)
        carried[:, 1:] += found[:, :-1]
    variance, third, fourth = carried[2:, m]
    return third / variance**1.5, fourth / variance**2 - 3.0


def assert_skewness_and_kurtosis(null, expected, rtol=1e-11):
    skewness, kurtosis = null.stats("sk")
    assert_allclose(skewness, expected[0], rtol=rtol, atol=1e-13)
    assert_allclose(kurtosis, expected[1], rtol=10 * rtol, atol=1e-12)


@pytest.mark.parametrize("n_samples", range(2, 11))
def test_skewness_and_kurtosis_of_every_small_size(n_samples):
    for n_positives in range(1, n_samples):
        raw = oracles.distribution_moments(
            oracles.average_precision_distribution(n_samples, n_positives)
        )
        assert_skewness_and_kurtosis(
            ap_null_distribution(n_samples, n_positives), standardized(raw)
        )


@pytest.mark.parametrize("n_positives", [1, 2, 4, 5, 7, 8])
@pytest.mark.parametrize("k", [None, 1, 2, 5, 8])
@pytest.mark.parametrize(
    "tie_sizes", [(2, 3, 1, 3), (1, 8), (8, 1), (3, 3, 3), (1, 1, 6, 1), (4, 5)]
)
def test_skewness_and_kurtosis_with_ties_and_cut_offs(tie_sizes, k, n_positives):
    null = ap_null_distribution(9, n_positives, tie_sizes=tie_sizes, k=k)
    raw = oracles.distribution_moments(
        oracles.average_precision_distribution(9, n_positives, tie_sizes, k)
    )
    if raw[1] > raw[0] ** 2:
        assert_skewness_and_kurtosis(null, standardized(raw))


@pytest.mark.parametrize(("n_samples", "n_positives"), [(400, 23), (60, 45), (150, 149)])
def test_skewness_and_kurtosis_by_counting(n_samples, n_positives):
    null = ap_null_distribution(n_samples, n_positives)
    raw = moments_by_counting([1] * n_samples, n_positives)
    assert_skewness_and_kurtosis(null, standardized(raw))
    assert_allclose(null.moment(3), float(raw[2]), rtol=1e-12)
    assert_allclose(null.moment(4), float(raw[3]), rtol=1e-12)


@pytest.mark.parametrize(
    ("tie_sizes", "n_positives"),
    [*MODERATELY_TIED, ((2,) * 60, 119)],
)
def test_skewness_and_kurtosis_with_ties_by_counting(tie_sizes, n_positives):
    null = ap_null_distribution(sum(tie_sizes), n_positives, tie_sizes=tie_sizes)
    assert_skewness_and_kurtosis(null, standardized(moments_by_counting(tie_sizes, n_positives)))


@pytest.mark.parametrize(
    ("n_samples", "n_positives"),
    [
        (1000, 100),
        (1000, 10),
        (400, 380),
        *(
            pytest.param(*size, marks=pytest.mark.long)
            for size in ((2000, 500), (1000, 950), (10_000, 50))
        ),
    ],
)
def test_skewness_and_kurtosis_by_a_chain(n_samples, n_positives):
    assert_skewness_and_kurtosis(
        ap_null_distribution(n_samples, n_positives),
        moments_by_chain(n_samples, n_positives),
        rtol=1e-9,
    )


@pytest.mark.parametrize("seed", range(6))
def test_any_increments_against_enumeration(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, size=5)
    cross, linear, square = rng.integers(-5, 6, size=(3, 5))
    for n_positives in range(1, sizes.sum()):
        raw = [Fraction(0)] * 5
        for hits in itertools.product(*(range(size + 1) for size in sizes)):
            if sum(hits) == n_positives:
                before = np.cumsum(hits) - hits
                value = int(np.sum(hits * (cross * before + linear + square * hits)))
                count = math.prod(math.comb(g, y) for g, y in zip(sizes, hits, strict=True))
                raw = [old + count * Fraction(value) ** r for r, old in enumerate(raw)]
        blocks = Increments(sizes, *(np.asarray(x, dtype=float) for x in (cross, linear, square)))
        found = moments.standardized_cumulants(blocks, n_positives)
        expected = standardized([moment / raw[0] for moment in raw[1:]])
        assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("n_samples", "n_positives"), [(9, 2), (50, 20), (5000, 700), (40, 39)])
def test_mann_whitney(n_samples, n_positives):
    # Hits before misses: a hit at rank t, with h hits before it, is before n - t - (m - h - 1).
    ranks = np.arange(1.0, n_samples + 1)
    ones = np.ones(n_samples)
    linear = n_samples - ranks - (n_positives - 1)
    blocks = Increments(ones.astype(np.int64), ones, linear, 0.0 * ones)
    skewness, kurtosis = moments.standardized_cumulants(blocks, n_positives)
    a, b = n_positives, n_samples - n_positives
    known = -6 / 5 * (a * a + b * b + a * b + a + b) / (a * b * (a + b + 1))
    assert_allclose(skewness, 0.0, atol=1e-12)
    assert_allclose(kurtosis, known, rtol=1e-9)


@pytest.mark.parametrize("n_positives", [1, 30, 4000, 60_000, 119_999])
@pytest.mark.parametrize("k", [None, 110_000])
def test_merged_ranks_against_all_ranks(n_positives, k):
    statistic = AveragePrecision(k)
    merged = skewness_and_kurtosis(statistic, 120_000, n_positives, None)
    every = increments_of(statistic, 120_000, n_positives, None)
    assert_allclose(merged, moments.standardized_cumulants(every, n_positives), rtol=5e-10)


def power_sum(n_samples, order):
    """``sum_{i<=n} i**-order`` by Euler and Maclaurin."""
    top = 1000
    head = sum(Fraction(1, i**order) for i in range(1, top))
    x, n = float(top), float(n_samples)
    if order == 1:
        integral = math.log(n / x)
    else:
        integral = (x ** (1 - order) - n ** (1 - order)) / (order - 1)
    ends = (x**-order + n**-order) / 2 + order / 12 * (x ** (-order - 1) - n ** (-order - 1))
    return float(head) + integral + ends


@pytest.mark.parametrize("n_samples", [100, 10**5, 10**6, 10**9, 10**12])
def test_one_positive_at_any_size(n_samples):
    # AP is the reciprocal of a random rank.
    raw = [Fraction(power_sum(n_samples, order)) / n_samples for order in range(1, 5)]
    assert_skewness_and_kurtosis(ap_null_distribution(n_samples, 1), standardized(raw), rtol=1e-10)


@pytest.mark.parametrize("n_samples", [100_001, 10**6])
def test_all_but_one_positive(n_samples):
    # A miss at rank t takes 1/i from the precision at every later rank i.
    lost = np.append(0.0, np.cumsum(1.0 / np.arange(n_samples, 1, -1.0)))
    gained = lost.mean() - lost
    second, third, fourth = ((gained**order).mean() for order in (2, 3, 4))
    assert_skewness_and_kurtosis(
        ap_null_distribution(n_samples, n_samples - 1),
        (third / second**1.5, fourth / second**2 - 3.0),
        rtol=1e-9,
    )


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_limits_of_a_fixed_share(p):
    # First order in 1/n: sums over the graphs with one edge or two become integrals over
    # t = -log(rank / n), which is exponential; l = p (t - 1) and R l = p (t**2 / 2 - 1).
    n_samples = 10**12
    skewness, kurtosis = ap_null_distribution(n_samples, round(p * n_samples)).stats("sk")
    s = p * (1 - p)
    assert_allclose(skewness * math.sqrt(n_samples), (8 - 10 * p) / math.sqrt(s), rtol=1e-7)
    assert_allclose(kurtosis * n_samples, 6 / s + 132 / p - 246, rtol=1e-6)


def test_skewness_and_kurtosis_of_a_million_blocks():
    # Equal scores far down hardly matter: the top is left alone.
    n_samples, n_positives, top = 2 * 10**6, 2000, 10_000
    sizes = np.r_[np.ones(top, dtype=int), np.full((n_samples - top) // 2, 2)]
    null = ap_null_distribution(n_samples, n_positives, tie_sizes=sizes)
    plain = ap_null_distribution(n_samples, n_positives)
    assert_allclose(null.stats("sk"), plain.stats("sk"), rtol=1e-5)


def test_constant_statistics_have_no_skewness():
    for null in (ap_null_distribution(50, 7, tie_sizes=[50]), ap_null_distribution(3, 3)):
        assert np.isnan(null.stats("sk")).all()
        assert_allclose(null.moment(4), null.mean() ** 4, rtol=1e-14)


def test_pearson3_takes_the_exact_skewness():
    null = ap_null_distribution(10**9, 10**6, method="pearson3")
    third = null.stats("s")
    # The median of a gamma distribution is about a third of its scale below its mean, and its scale
    # is half of skewness times standard deviation.
    assert_allclose(null.median(), null.mean() - null.std() * third / 6, rtol=1e-8)
