"""The reference computations are themselves checked: against each other and known values."""

import itertools
import math
from fractions import Fraction

import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose

PATTERNS = [((1,) * 8, 3), ((2, 3, 1, 2), 3), ((1, 1, 4, 2, 1), 4), ((8,), 3), ((3, 3, 3), 5)]


@pytest.mark.parametrize(("sizes", "n_positives"), PATTERNS)
def test_fractions_agree_with_scikit_learn(sizes, n_positives):
    for ranks in oracles.placements(sum(sizes), n_positives):
        exact = oracles.average_precision(sizes, oracles.hits_per_block(sizes, ranks))
        assert_allclose(float(exact), oracles.sklearn_average_precision(sizes, ranks), rtol=1e-15)


@pytest.mark.parametrize("normalize", ["min", "positives"])
@pytest.mark.parametrize(
    ("sizes", "hits"), [((2, 3, 3), (1, 2, 1)), ((1, 4, 2), (1, 2, 0)), ((6,), (3,))]
)
def test_straddling_block_averages_over_all_orders(sizes, hits, normalize):
    for k in range(1, sum(sizes) + 1):
        one = oracles.average_precision(sizes, hits, k, normalize)
        assert one == oracles.average_precision_at_k_by_tie_breaking(sizes, hits, k, normalize)


@pytest.mark.parametrize(("sizes", "n_positives"), PATTERNS)
def test_moments_from_inclusion_probabilities_agree_with_enumeration(sizes, n_positives):
    distribution = oracles.average_precision_distribution(sum(sizes), n_positives, sizes)
    assert oracles.distribution_mean_and_variance(
        distribution
    ) == oracles.mean_and_variance_with_ties(sizes, n_positives)


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "k", "normalize"),
    [
        (8, 3, 3, "min"),
        (8, 3, 2, "positives"),
        (9, 4, 8, "min"),
        (5, 1, 2, "min"),
        (7, 7, 3, "min"),
    ],
)
def test_closed_moments_at_k_agree_with_enumeration(n_samples, n_positives, k, normalize):
    distribution = oracles.average_precision_distribution(
        n_samples, n_positives, None, k, normalize
    )
    expected = [float(moment) for moment in oracles.distribution_mean_and_variance(distribution)]
    closed = oracles.mean_and_variance_at_k(n_samples, n_positives, k, normalize)
    assert_allclose([float(moment) for moment in closed], expected, rtol=1e-14, atol=1e-17)


def test_harmonic_numbers_beyond_a_million_continue_the_sums():
    for function, power in ((oracles.harmonic, 1), (oracles.harmonic_squares, 2)):
        step = sum(Fraction(1, i**power) for i in range(10**6 + 1, 10**6 + 11))
        difference = Fraction(function(10**6 + 10)) - Fraction(function(10**6))
        assert abs(difference - step) < Fraction(1, 10**60)


def test_search_for_extreme_placements_agrees_with_enumeration():
    values = oracles.untied_values(16, 5)
    for x in np.unique(values)[-200::20]:
        number, log_share = oracles.log_count_of_extremes(16, 5, float(x))
        assert number == oracles.count_at_least(values, float(x))
        assert_allclose(log_share, math.log(number / math.comb(16, 5)), rtol=1e-12)


def test_bounds_bracket_enumeration():
    values = oracles.untied_values(16, 5)
    for x in np.quantile(values, [0.1, 0.5, 0.9, 0.99]):
        low, high = oracles.tail_bounds(16, 5, float(x))
        share = oracles.count_at_least(values, float(x)) / values.size
        assert low - 1e-13 <= share <= high + 1e-13
        assert high - low < 0.02 * share


def test_draws_of_means_agree_with_enumeration():
    sizes, n_positives = (1, 2, 4, 5, 8), 5
    values, counts = oracles.average_precision_distribution(sum(sizes), n_positives, sizes)
    # Whole numbers in place of fractions.
    unit = math.lcm(*(value.denominator for value in values))
    values = [int(value * unit) for value in values]
    both = {first + second for first, second in itertools.product(values, repeat=2)}
    for total in sorted(both)[-60::30]:
        n_ways = sum(
            first * second
            for (x, first), (y, second) in itertools.product(
                zip(values, counts, strict=True), repeat=2
            )
            if x + y >= total
        )
        sampled, error = oracles.sampled_tail_of_means(
            [(sizes, n_positives)] * 2, total / unit / 2, n_draws=300_000
        )
        expected = math.log(n_ways) - 2.0 * math.log(math.comb(sum(sizes), n_positives))
        assert error < 0.02
        assert abs(sampled - expected) < 4.0 * error


def test_simulation_agrees_with_enumeration():
    sizes, n_positives = (2, 3, 1, 2), 3
    distribution = oracles.average_precision_distribution(8, n_positives, sizes)
    mean, variance = map(float, oracles.distribution_mean_and_variance(distribution))
    for k in (None, 4):
        distribution = oracles.average_precision_distribution(8, n_positives, sizes, k)
        mean, variance = map(float, oracles.distribution_mean_and_variance(distribution))
        drawn = oracles.simulate_average_precision(
            np.random.default_rng(0), sizes, n_positives, 20_000, k
        )
        assert abs(drawn.mean() - mean) < 4 * math.sqrt(variance / drawn.size)
