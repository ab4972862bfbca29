"""Exact mean and variance of average precision under random labelling."""

from fractions import Fraction

import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose

from sklearn_rankinf import ap_null_distribution

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
    law = ap_null_distribution(*size)
    assert_allclose(law.mean(), mean, rtol=rtol)
    assert_allclose(law.var(), variance, rtol=rtol)


@pytest.mark.parametrize("n_samples", range(1, 10))
def test_every_small_size_without_ties(n_samples):
    for n_positives in range(1, n_samples + 1):
        law = ap_null_distribution(n_samples, n_positives)
        enumerated = oracles.average_precision_law(n_samples, n_positives)
        mean, variance = oracles.law_mean_and_variance(enumerated)
        assert_allclose(law.mean(), float(mean), rtol=1e-13)
        assert_allclose(law.var(), float(variance), rtol=1e-12, atol=1e-17)
        assert_allclose(law.std(), float(variance) ** 0.5, rtol=1e-12, atol=1e-16)


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
    law = ap_null_distribution(n_samples, n_positives, tie_sizes=tie_sizes)
    enumerated = oracles.average_precision_law(n_samples, n_positives, tie_sizes)
    mean, variance = oracles.law_mean_and_variance(enumerated)
    assert_allclose(law.mean(), float(mean), rtol=1e-13)
    assert_allclose(law.var(), float(variance), rtol=1e-12, atol=1e-17)


@pytest.mark.parametrize("method", ["analytic", "permutation", "normal", "pearson3"])
def test_moments_are_exact_whatever_the_method(method):
    sizes = (2, 3, 1, 2)
    law = ap_null_distribution(8, 3, tie_sizes=sizes, method=method, n_permutations=9)
    mean, variance = oracles.mean_and_variance_with_ties(sizes, 3)
    assert_allclose(law.mean(), float(mean), rtol=1e-13)
    assert_allclose(law.var(), float(variance), rtol=1e-12)
    assert_allclose(law.stats(), [float(mean), float(variance)], rtol=1e-12)
    assert_allclose(law.stats(moments="mv"), [float(mean), float(variance)], rtol=1e-12)
    assert_allclose(law.stats(moments="m"), float(mean), rtol=1e-12)


@pytest.mark.parametrize(
    ("tie_sizes", "n_positives"),
    [
        ((5,) * 40, 30),
        ((1,) * 50 + (10,) * 15, 20),
        ((150,) + (1,) * 50, 3),
        ((1,) * 50 + (150,), 150),
        (tuple(range(1, 31)), 60),
    ],
)
def test_ties_at_moderate_sizes(tie_sizes, n_positives):
    law = ap_null_distribution(sum(tie_sizes), n_positives, tie_sizes=tie_sizes)
    mean, variance = oracles.mean_and_variance_with_ties(tie_sizes, n_positives)
    assert_allclose(law.mean(), float(mean), rtol=1e-12)
    assert_allclose(law.var(), float(variance), rtol=1e-10)


def test_blocks_of_one_item_are_no_ties():
    plain = ap_null_distribution(200, 17)
    blocks = ap_null_distribution(200, 17, tie_sizes=[1] * 200)
    assert_allclose(blocks.mean(), plain.mean(), rtol=1e-13)
    assert_allclose(blocks.var(), plain.var(), rtol=1e-11)


@pytest.mark.parametrize("normalize", ["min", "positives"])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 8, 9])
@pytest.mark.parametrize("tie_sizes", [None, (2, 3, 1, 3), (9,), (1, 1, 6, 1)])
def test_average_precision_at_k_against_enumeration(tie_sizes, k, normalize):
    law = ap_null_distribution(9, 4, k=k, normalize=normalize, tie_sizes=tie_sizes)
    enumerated = oracles.average_precision_law(9, 4, tie_sizes, k, normalize)
    mean, variance = oracles.law_mean_and_variance(enumerated)
    assert_allclose(law.mean(), float(mean), rtol=1e-13)
    assert_allclose(law.var(), float(variance), rtol=1e-11, atol=1e-16)


@pytest.mark.parametrize("normalize", ["min", "positives"])
@pytest.mark.parametrize(
    ("n_samples", "n_positives", "k"),
    [(1000, 100, 10), (1000, 100, 100), (1000, 5, 400), (20000, 300, 1000), (1000, 999, 20)],
)
def test_average_precision_at_k_against_closed_form(n_samples, n_positives, k, normalize):
    law = ap_null_distribution(n_samples, n_positives, k=k, normalize=normalize)
    mean, variance = oracles.mean_and_variance_at_k(n_samples, n_positives, k, normalize)
    assert_allclose(law.mean(), float(mean), rtol=1e-12)
    assert_allclose(law.var(), float(variance), rtol=1e-9)


@pytest.mark.parametrize("n_samples", [10, 1000, 10**5, 10**6])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.3, 0.5, 0.9, 1.0])
def test_relative_accuracy_to_a_million(n_samples, share):
    n_positives = min(max(1, round(share * n_samples)), n_samples - 1)
    law = ap_null_distribution(n_samples, n_positives)
    mean, variance = oracles.mean_and_variance_at_k(n_samples, n_positives)
    assert_allclose(law.mean(), float(mean), rtol=1e-9)
    assert_allclose(law.var(), float(variance), rtol=1e-9)


@pytest.mark.parametrize("n_samples", [10**9, 10**12])
@pytest.mark.parametrize("n_positives", [1, 2, 1000, 10**6, 10**8, "half", "all but one"])
def test_astronomical_sizes(n_samples, n_positives):
    n_positives = {"half": n_samples // 2, "all but one": n_samples - 1}.get(
        n_positives, n_positives
    )
    law = ap_null_distribution(n_samples, n_positives)
    mean, variance = oracles.mean_and_variance_at_k(n_samples, n_positives)
    assert_allclose(law.mean(), float(mean), rtol=1e-9)
    assert_allclose(law.var(), float(variance), rtol=1e-5)


def test_ties_in_a_million_items_against_no_ties():
    # Pairs of equal scores far down hardly matter: the top thousand ranks are left alone.
    n_samples, n_positives, top = 10**6, 10**4, 1000
    sizes = np.r_[np.ones(top, dtype=int), np.full((n_samples - top) // 2, 2)]
    law = ap_null_distribution(n_samples, n_positives, tie_sizes=sizes)
    plain = ap_null_distribution(n_samples, n_positives)
    # Joining ranks 2s - 1 and 2s changes the mean by the difference of the two precisions,
    # p_2-weighted: sum over pairs of [2 (T-1) / T - (T-2) / (T-1) - (T-1) / T] p_2 / m + ...
    ends = np.cumsum(sizes)[top:].astype(float)
    p1, p2 = (float(oracles.falling_ratio(n_samples, n_positives, r)) for r in (1, 2))
    tied = 2 / ends * (p1 + (ends - 1) * p2)
    untied = (p1 + (ends - 2) * p2) / (ends - 1) + (p1 + (ends - 1) * p2) / ends
    assert_allclose(law.mean() - plain.mean(), (tied - untied).sum() / n_positives, rtol=1e-6)
    assert_allclose(law.var(), plain.var(), rtol=0.01)


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "mean"), [(1, 1, 1), (1, 0, 0), (2, 2, 1), (3, 0, 0), (3, 3, 1)]
)
def test_single_class(n_samples, n_positives, mean):
    law = ap_null_distribution(n_samples, n_positives)
    assert law.mean() == mean
    assert law.var() == 0.0
    assert law.std() == 0.0


def test_one_positive_is_the_mean_of_reciprocal_ranks():
    law = ap_null_distribution(3, 1)
    assert_allclose(law.mean(), float(Fraction(11, 18)), rtol=1e-15)
    assert_allclose(law.var(), float(Fraction(49, 36) / 3 - Fraction(11, 18) ** 2), rtol=1e-14)


def test_constant_score_has_no_variance():
    law = ap_null_distribution(50, 7, tie_sizes=[50])
    assert_allclose(law.mean(), 7 / 50, rtol=1e-15)
    assert law.var() == 0.0


@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("tie_sizes", [None, (2, 3, 1, 2)])
def test_raw_moments_of_enumerable_laws(order, tie_sizes):
    law = ap_null_distribution(8, 3, tie_sizes=tie_sizes)
    enumerated = oracles.average_precision_law(8, 3, tie_sizes)
    expected = [Fraction(1), *oracles.law_moments(enumerated)][order]
    assert_allclose(law.moment(order), float(expected), rtol=1e-12)
