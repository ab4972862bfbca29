"""Far tails and long lists against counts that know nothing of the engine."""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import oracles
import pytest
from audit.rankers import Ranker
from by_name import ap_null_distribution
from combinations import checkered
from numpy.testing import assert_allclose
from scipy.stats import hypergeom

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    Ranking,
    RobustInitialEnhancement,
    RocAuc,
    metric_null_distribution,
)
from sklearn_rankinf._engine import solvers
from sklearn_rankinf._engine.distribution import ComputedDistribution
from sklearn_rankinf._engine.exact import near_maximum
from sklearn_rankinf._engine.exact.enumeration import largest_value, most_by_a_hit
from sklearn_rankinf._engine.inversion import bands, contour, forward_pass, tilts
from sklearn_rankinf._engine.inversion.ranking_transform import RankingTransform
from sklearn_rankinf._engine.inversion.stratified import StratifiedInversion
from sklearn_rankinf._null import distribution as _frozen_distributions
from sklearn_rankinf._statistics.additive import increments_of
from sklearn_rankinf._statistics.hypergeometric import log_binomial
from sklearn_rankinf._statistics.increments import Increments

pytestmark = pytest.mark.numeric


def count_near_one(n_samples, n_positives, at_least):
    """Placements whose AP is at least a value, counted by the misses before the last hits.

    The i-th hit from the end, with x misses before it, costs ``x / (m (m - i + x))``, and x does
    not grow from the last hit to the first.
    """
    m, most = n_positives, n_samples - n_positives

    def completed(i, largest, loss):
        count = 1
        if i == m:
            return count
        for x in range(1, largest + 1):
            further = loss + x / (m * (m - i + x))
            if further > 1.0 - at_least:
                break
            count += completed(i + 1, x, further)
        return count

    return completed(0, most, 0.0)


def share_of_three(n_samples, at_least):
    """``P(AP >= at_least)`` for three positives: ``3 AP = 1/r1 + 2/r2 + 3/r3``, counted."""
    total, first = 0, 1
    while True:
        rest = 3.0 * at_least - 1.0 / first
        # The second and the third follow as soon as they can at best.
        if rest > 2.0 / (first + 1) + 3.0 / (first + 2) or first > n_samples - 2:
            return total / math.comb(n_samples, 3)
        if rest <= 0.0:
            total += math.comb(n_samples - first, 2)
            first += 1
            continue
        furthest = min(n_samples - 1, int(5.0 / rest) + 1)
        second = np.arange(first + 1, furthest + 1)
        missing = rest - 2.0 / second
        with np.errstate(divide="ignore"):
            last = np.where(missing <= 0.0, n_samples, np.floor(3.0 / missing))
        total += int(np.maximum(np.minimum(last, n_samples) - second, 0.0).sum())
        first += 1


@pytest.mark.parametrize(
    ("size", "theta"),
    checkered([(60, 20), (400, 150), (700, 230)], [-3e3, -40.0, 30.0, 3e3, 1e5]),
)
def test_transform_under_strong_tilts(size, theta):
    n_samples, n_positives = size
    blocks = increments_of(AveragePrecision(), n_samples, n_positives, None)
    expected = oracles.log_mgf_of_average_precision(n_samples, n_positives, theta)
    balance = bands.balances(blocks, n_positives, theta)
    every_row = forward_pass.log_transform(blocks, n_positives, [theta], None, balance)
    # Beyond the range of floats it is -inf.
    if theta < 1e5 or every_row.real > -np.inf:
        assert_allclose(every_row.real, expected, rtol=1e-11, atol=1e-10)
    kept, log_mgf = bands.tilted_bands(blocks, n_positives, theta)
    if theta < 1e5 or np.isfinite(log_mgf):
        assert_allclose(log_mgf, expected, rtol=1e-11, atol=1e-10)
    trimmed = forward_pass.log_transform(blocks, n_positives, [theta], kept, balance)
    if theta < 1e5 or trimmed.real > -np.inf:
        assert_allclose(trimmed.real, expected, rtol=1e-11, atol=1e-10)


def log2_of_exact_sum(blocks, n_positives):
    """``log2 E 2**S`` of whole increments, from a sum over all placements in whole numbers."""
    ways, shift = {0: 1}, 0
    for b, size in enumerate(blocks.sizes.tolist()):
        parts = [
            (h + y, int(blocks.gain(b, h, y)), math.comb(size, y) * way)
            for h, way in ways.items()
            for y in range(min(size, n_positives - h) + 1)
        ]
        lowest = min(gain for _, gain, _ in parts)
        ways, shift = Counter(), shift + lowest
        for h, gain, way in parts:
            ways[h] += way << (gain - lowest)
    total = Fraction(ways[n_positives], math.comb(int(blocks.sizes.sum()), n_positives))
    return shift + log2_of(total.numerator) - log2_of(total.denominator)


def log2_of(number):
    """Binary logarithm of a whole number of any size."""
    bits = max(number.bit_length() - 60, 0)
    return bits + math.log2(number >> bits)


def blocks_that_leave_the_range():
    """Structures whose rows are far apart: sizes, coefficients and number of positives."""
    noise = np.random.default_rng(5).integers(0, 3, 120)
    powers = np.append(2.0 ** np.arange(16, -1, -1), np.zeros(84))
    one, none = np.ones(120), np.zeros(120)
    several = np.array([[6, 3, 4], [20, 18, 26], [0, 10, 37], [18, 34, 11]])
    return [
        (7, Increments(several[0], *several[1:].astype(float))),
        (60, Increments(one.astype(int), one, noise.astype(float), none)),
        (91, Increments(np.ones(101, dtype=int), np.zeros(101), powers, np.zeros(101))),
        (
            100,
            Increments(np.array([45, 60, 75]), *np.array([[1.0, 2.0, 0], [3, 0, 1], [0, 1, 0]])),
        ),
    ]


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("which", "factor"),
    [
        pytest.param(
            which, factor, marks=[pytest.mark.long] * ((which, factor) in [(1, 1), (2, 4)])
        )
        for which in range(4)
        for factor in (1.0, 4.0)
    ],
)
def test_rows_that_leave_the_range_are_not_lost(which, sign, factor):
    # Rows far below others matter later; where they may be lost nothing is returned.
    n_positives, blocks = blocks_that_leave_the_range()[which]
    parts = (sign * factor * part for part in blocks.coefficients)
    blocks = Increments(blocks.sizes, *parts)
    theta = math.log(2.0)
    expected = log2_of_exact_sum(blocks, n_positives) * theta
    ranked = RankingTransform(blocks, blocks, n_positives)
    assert_allclose(ranked.log_mgfs(np.array([theta])), [expected], rtol=1e-11)
    assert_allclose(ranked.log_mgfs(theta * np.array([0.1, 0.3, 1.0]))[-1], expected, rtol=1e-11)
    z = np.array([theta, theta + 1e-9j])
    found = [
        forward_pass.log_transform(blocks, n_positives, nodes, None, balance)[0].real
        for nodes in (z, z.real[:1])
        for balance in (None, bands.balances(blocks, n_positives, theta))
    ]
    found += [ranked.at(theta, z, is_extreme, False)[0].real for is_extreme in (False, True)]
    known = np.array(found)[np.isfinite(found)]
    assert_allclose(known, np.full(known.shape, expected), rtol=1e-11)


def test_a_block_has_no_more_hits_than_items():
    # As many hits as up to 60 may be in the ten blocks of 4, 1, ... items that were one.
    sizes = np.array([4, 1, 7, 3, 9, 2, 8, 6, 12, 8])
    coarse = bands.Bands(*np.array([[0], [60], [60], [0]]))
    fine = coarse.at(np.array([60]), np.cumsum(sizes))
    assert fine.most.tolist() == sizes.tolist()
    assert fine.work() == 61 * (sizes + 1).sum()


@pytest.mark.parametrize("tolerance", [0.0, 0.01])
def test_paths_of_a_value_carry_its_tail(tolerance):
    # The distribution of the sum of 40 of 120 whole numbers, counted by dynamic programming.
    n_samples, m = 120, 40
    weights = np.arange(n_samples)[::-1] // 2 + np.repeat([9, 5, 0], [4, 15, 101])
    counts = np.zeros((m + 1, int(np.sort(weights)[-m:].sum()) + 1))
    counts[0, 0] = 1.0
    for weight in weights.tolist():
        counts[1:, weight:] += counts[:-1, : counts.shape[1] - weight]
    shares = counts[m] / math.comb(n_samples, m)
    mean = m * weights.mean()
    std = math.sqrt(weights.var() * m * (n_samples - m) / (n_samples - 1))

    one = np.ones(n_samples, dtype=int)
    blocks = Increments(one, 0.0 * one, weights.astype(float), 0.0 * one)
    ranked = RankingTransform(blocks, blocks, m)
    inversion = contour.ContourInversion(ranked, std, std, (0.0, 2e4), tolerance, 1.0)
    for sign, deviations in itertools.product((1, -1), (0.3, 2.0, 5.0, 8.0)):
        t = round(mean + sign * deviations * std)
        found = inversion.tail_of_paths(np.array([t - 0.5 * sign]), sign)
        log_p = math.log(shares[t:].sum() if sign > 0 else shares[: t + 1].sum())
        assert found.error.total[0] < max(1e-6, 2.0 * tolerance)
        assert abs(found.log_p[0] - log_p) <= found.error.total[0]


@pytest.mark.parametrize("metric", [AveragePrecision()], ids=str)
def test_paths_of_a_value_and_all_others_have_one_tail(metric):
    sizes = np.random.default_rng(3).permutation(np.repeat([1, 3, 6, 240], [90, 40, 15, 1]))
    problem = metric, int(sizes.sum()), 90, sizes
    null = metric_null_distribution(*problem[1:3], metric=metric, tie_sizes=sizes)
    distribution = ComputedDistribution(*problem)
    inversion = distribution._tails._contour
    for deviations in (1.0, 12.0, -2.0):
        sign = 1 if deviations > 0.0 else -1
        x = null.mean() + deviations * null.std() - metric.offset(*problem[1:3])
        t, sign = distribution._form.value(np.array([x]), sign)
        one, other = inversion.tail(t, sign), inversion.tail_of_paths(t, sign)
        error = one.error.total + other.error.total
        assert error[0] < 1e-6
        assert abs(one.log_p - other.log_p)[0] <= error[0]


def test_rows_are_balanced_under_an_extreme_tilt():
    # Newton's method alone does not reach the odds of these hits.
    weights = 0.5 ** np.arange(201)
    blocks = Increments(np.ones(201, dtype=int), 0.0 * weights, weights, 0.0 * weights)
    tilts = 2.0 ** np.arange(10, 22)
    hits = np.concatenate([bands.mean_hits(blocks, 181, tilt).sum(axis=1) for tilt in tilts])
    assert_allclose(hits, 181.0, rtol=1e-4)
    # Nearly all hits but 18 are in any of the ranks that add nothing, and E exp(theta S) is nearly
    # the probability of hits in all others.
    log_mgf = forward_pass.log_transform(
        blocks, 181, tilts[-1:], None, bands.balances(blocks, 181, tilts[-1])
    )
    far = np.arange(24)
    log_best = tilts[-1] * weights[far].sum() + math.log(math.comb(177, 157) / math.comb(201, 181))
    assert log_mgf.real > log_best
    assert_allclose(log_mgf.real, log_best, rtol=1e-6)


def test_rows_are_balanced_whatever_is_asked_for():
    # A balance is a matter of floating point: any other leads to the same.
    blocks = increments_of(AveragePrecision(), 300, 100, None)
    z = np.array([5.0 + 3.0j, 5.0 + 40.0j])
    plain = forward_pass.log_transform(blocks, 100, z)
    rng = np.random.default_rng(0)
    for _ in range(3):
        balance = np.cumsum(rng.normal(0.0, 0.01, (300, 1)), axis=0)
        assert_allclose(
            forward_pass.log_transform(blocks, 100, z, None, balance), plain, rtol=1e-11
        )


def count_of_sums(weights, m, at_least):
    """Choices of m of descending weights that add up to a value, or more."""

    def completed(first, left, value):
        if not left:
            return 1
        count = 0
        for i in range(first, len(weights) - left + 1):
            if value + sum(weights[i : i + left]) < at_least:
                break
            count += completed(i + 1, left - 1, value + weights[i])
        return count

    return completed(0, m, 0.0)


def test_few_placements_are_listed_before_contours_that_ascend(monkeypatch):
    sizes, m = np.repeat([1, 2], [40, 120]), 15
    n = int(sizes.sum())
    weights = 1.0 / np.log2(2.0 + np.arange(n))
    weights[40:] = weights[40:].reshape(-1, 2).mean(axis=1).repeat(2)
    monkeypatch.setattr(StratifiedInversion, "ascending_tail", None)
    distribution = ComputedDistribution(DiscountedCumulativeGain(), n, m, sizes)
    assert distribution._tails.is_stratified
    x = 0.98501 * weights[:m].sum()
    found = distribution.estimates(np.array([x]), 1)
    expected = count_of_sums(weights.tolist(), m, x) / math.comb(n, m)
    assert_allclose(found.log_p, math.log(expected), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "x"),
    [
        pytest.param(2000, 500, 0.9998, marks=pytest.mark.long),
        (2000, 500, 0.99985),
        (2000, 500, 0.9999),
        (10_000, 3000, 0.999997),
        (500, 100, 0.998),
        (300, 100, 0.997),
    ],
)
def test_close_to_a_perfect_ranking(n_samples, n_positives, x):
    # Far fewer placements than any float but their logarithm distinguishes from all of them.
    null = ap_null_distribution(n_samples, n_positives)
    count = count_near_one(n_samples, n_positives, x)
    expected = math.log(count) - math.log(math.comb(n_samples, n_positives))
    error = null.relative_error(x)
    assert error < 0.02
    assert abs(math.expm1(null.log_pvalue(x) - expected)) <= error


@pytest.mark.parametrize(
    ("n_samples", "x"),
    [
        pytest.param(20_000, 0.02, marks=pytest.mark.long),
        pytest.param(20_000, 4e-4, marks=pytest.mark.long),
        pytest.param(1_000_000, 0.02, marks=pytest.mark.long),
        (1_000_000, 1e-3),
    ],
)
def test_three_positives_in_a_long_list(n_samples, x):
    null = ap_null_distribution(n_samples, 3)
    expected = share_of_three(n_samples, x)
    error = null.relative_error(x)
    assert error < 0.1
    assert abs(null.pvalue(x) / expected - 1.0) <= error


@pytest.mark.parametrize(
    ("n_samples", "k"),
    [
        (10_000, 5001),
        pytest.param(20_000, 10_000, marks=pytest.mark.long),
        pytest.param(40_000, 20_000, marks=pytest.mark.long),
        pytest.param(100_000, 50_000, marks=pytest.mark.long),
        pytest.param(400_000, 200_000, marks=pytest.mark.long),
        pytest.param(400_000, 400_000, marks=pytest.mark.long),
    ],
)
def test_discounted_gain_above_a_far_cut_off(n_samples, k):
    # A positive behind the cut-off adds less than one at it by far more than neighbours differ.
    n_positives = 40
    null = metric_null_distribution(
        n_samples, n_positives, metric=DiscountedCumulativeGain(k=k if k < n_samples else None)
    )
    x = null.mean() + np.array([1.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]) * null.std()
    weights = 1.0 / np.log2(np.arange(1, k + 1) + 1.0)
    exact = oracles.inverted_tail_of_weights(weights, n_samples, n_positives, x, 6.0, 0.4)
    p, error = null.pvalue(x), null.relative_error(x)
    assert np.all(error < 1e-2)
    assert np.all(np.abs(p - exact) <= error * exact), (np.abs(p / exact - 1.0), error)


def test_statistic_from_the_end():
    rng = np.random.default_rng(3)
    blocks = increments_of(AveragePrecision(k=9), 30, 8, np.array([4, 1, 7, 2, 1, 10, 5]))
    reversed_blocks = blocks.from_the_end(8)
    for _ in range(20):
        labels = rng.permutation(np.repeat([1, 0], [8, 22]))
        hits = np.add.reduceat(labels, [0, *np.cumsum(blocks.sizes)[:-1]])
        assert_allclose(reversed_blocks.total(hits[::-1]), blocks.total(hits), rtol=1e-12)


def canonical_contour(distribution, x):
    """Tails by plain contours, of canonical values."""
    return distribution._tails._contour.tail(*distribution._form.value(x, 1))


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "published"),
    [
        pytest.param(10_000, 50, (0.0123, 0.0148377, 5e-8), marks=pytest.mark.long),
        pytest.param(100_000, 100, (0.005, 0.0020622, 5e-8), marks=pytest.mark.long),
    ],
)
def test_published_tails(n_samples, n_positives, published):
    null, (x, p, half_a_digit) = ap_null_distribution(n_samples, n_positives), published
    assert abs(null.pvalue(x) - p) <= null.relative_error(x) * p + half_a_digit
    assert null.relative_error(x) < 1e-2
    # Contours of another kind.
    distribution = ComputedDistribution(AveragePrecision(), n_samples, n_positives, None)
    x = null.mean() + np.array([5.0]) * null.std()
    found, other = distribution.estimates(x, 1), canonical_contour(distribution, x)
    assert set(found.solver) == {"stratified contour"}
    assert set(other.solver) == {"contour"}
    error = found.error.total + other.error.total
    assert np.all(np.abs(np.expm1(found.log_p - other.log_p)) <= error)
    assert np.all(error < 1e-2)


@pytest.mark.parametrize("largest_exponent", [pytest.param(0.02, marks=pytest.mark.long), 0.2, 1e3])
def test_convolutions_in_parts_are_direct_sums(monkeypatch, largest_exponent):
    sizes = np.array([900, 700, 1500, 400])
    blocks = increments_of(AveragePrecision(), 3500, 800, sizes)
    z = 2000.0 + 1j * np.array([10.0, 50.0, 200.0])
    usual = forward_pass.SETTINGS
    monkeypatch.setattr(forward_pass, "SETTINGS", replace(usual, least_hits_of_fft=10_000))
    window, balance = bands.windows(blocks, 800, np.array([2000.0]))
    direct = forward_pass.log_transform(blocks, 800, z, window, balance)
    settings = replace(
        usual,
        least_hits_of_fft=4,
        least_products_of_fft=16,
        largest_exponent_of_fft=largest_exponent,
    )
    monkeypatch.setattr(forward_pass, "SETTINGS", settings)
    n_parts = []
    in_parts = forward_pass._convolved_in_parts
    monkeypatch.setattr(
        forward_pass,
        "_convolved_in_parts",
        lambda *args: n_parts.append(args[0]) or in_parts(*args),
    )
    by_fourier = forward_pass.log_transform(blocks, 800, z, window, balance)
    assert (max(n_parts) == 1) == (largest_exponent == 1e3)
    assert_allclose(by_fourier, direct, rtol=1e-11)


@pytest.mark.parametrize("x", [0.01, 0.3, 1.0])
def test_one_positive_in_a_very_long_list(x):
    # AP = 1/rank.
    null = ap_null_distribution(2_000_000, 1)
    exact = math.floor(1.0 / x) / 2_000_000
    error = null.relative_error(x)
    assert error < 1e-9
    assert abs(null.pvalue(x) - exact) <= error * exact


@cache
def sums_of_precisions(n_hits, k):
    """Sums of the precisions at the hits, and the last rank, of all placements among k ranks."""
    placements = list(itertools.combinations(range(1, k + 1), n_hits))
    ranks = np.array(placements).reshape(len(placements), n_hits)
    return (np.arange(1, n_hits + 1) / ranks).sum(axis=1), ranks.max(axis=1, initial=0)


@pytest.mark.parametrize("x", [0.05, 0.1, 0.15])
def test_few_positives_above_the_cut_off_of_a_very_long_list(x):
    n_samples, n_positives, k = 2_000_000, 20, 60
    null = ap_null_distribution(n_samples, n_positives, k=k)
    # No more than five of them are above it but with a probability below 1e-6 of p. The last of
    # those adds enough up to a rank.
    log_placements = oracles.log_comb(n_samples, n_positives)
    exact = 0.0
    for n_above in (1, 2, 3, 4, 5):
        sums, last_ranks = sums_of_precisions(n_above - 1, k)
        missing = n_positives * x * (1.0 - 1e-13) - sums
        last = np.floor(n_above / np.maximum(missing, n_above / k)).clip(max=k)
        n_reached = np.maximum(last - last_ranks, 0.0).sum()
        log_others = oracles.log_comb(n_samples - k, n_positives - n_above)
        exact += n_reached * math.exp(log_others - log_placements)
    # Only an upper bound is known, which is close, unless the error is stated.
    p, error = null.pvalue(x), null.relative_error(x)
    assert exact * (1.0 - 1e-6) <= p < 1.1 * exact
    assert np.isinf(error) or abs(p - exact) <= (error + 1e-6) * exact


@pytest.mark.long
@pytest.mark.parametrize("n_positives", [2, 12])
def test_very_few_positives_in_a_very_long_list_have_an_answer(n_positives):
    null = ap_null_distribution(2_000_000, n_positives)
    assert null.relative_error(0.01) < 0.1
    lower, upper = null.pvalue_bounds(0.01) if n_positives > 2 else (0.0, 1.0)
    assert lower <= null.pvalue(0.01) <= upper


@pytest.mark.long
def test_a_state_that_leaves_the_range_of_floats_is_no_warning():
    # So far below the mean some tilts are too steep for floats.
    null = ap_null_distribution(10_000, 50)
    x = null.mean() - 1.5338983050847457 * null.std()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = null.pvalue(x, "less")
    lower, upper = null.pvalue_bounds(x, "less")
    assert 0.0 < lower <= p <= upper


def test_one_list_serves_many_values(monkeypatch):
    followed = []
    atoms = near_maximum.atoms

    def counted(increments, n_positives, at_least, limit):
        followed.append(at_least)
        return atoms(increments, n_positives, at_least, limit)

    monkeypatch.setattr(near_maximum, "atoms", counted)
    x = np.linspace(0.9, 0.99, 8)
    problem = AveragePrecision(), 400, 6, None
    together = ComputedDistribution(*problem).tail(x, 1)
    assert 1 <= len(followed) <= 2
    alone = [ComputedDistribution(*problem).tail(x[i : i + 1], 1) for i in (0, 7)]
    for part, expected in zip(together, np.concatenate(alone, axis=1), strict=True):
        assert_allclose(part[[0, 7]], expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "x"),
    [
        (3000, 900, 0.8),
        pytest.param(3000, 900, 0.9, marks=pytest.mark.long),
        pytest.param(10_000, 3000, 0.8, marks=pytest.mark.long),
    ],
)
def test_tilts_between_those_of_the_ladder_bound_far_tails_closely(n_samples, n_positives, x):
    distribution = ComputedDistribution(AveragePrecision(), n_samples, n_positives, None)
    found = distribution.estimates(np.array([x]), 1)
    assert found.error.total[0] < 1e-6
    counted = distribution._form.value(np.array([x]), 1)
    excess = distribution._tails.log_bound(*counted) - found.log_p
    # The ladder alone is up to 30 off.
    assert 0.0 < excess[0] < 8.0


@pytest.mark.parametrize(
    ("n_samples", "n_positives"), [(1000, 250), pytest.param(2000, 40, marks=pytest.mark.long)]
)
def test_nothing_but_a_bound_is_computed_of_what_is_lost_beside_one(
    monkeypatch, n_samples, n_positives
):
    null = ap_null_distribution(n_samples, n_positives)
    low, high = null.support()
    below = low + np.linspace(0.02, 0.04, 5) * (null.mean() - low)
    above = null.mean() + np.linspace(0.6, 0.99, 5) * (high - null.mean())

    def refuse(self, *args, **kwargs):
        raise AssertionError("A tail was followed that is lost in rounding.")

    with monkeypatch.context() as patched:
        for name in ("_contour_tail", "_listed", "_stratified", "_ascending"):
            patched.setattr(solvers.Tails, name, refuse)
        assert_allclose(null.pvalue(below), 1.0, rtol=1e-15)
        assert_allclose(null.cdf(above), 1.0, rtol=1e-15)
        assert np.all(null.relative_error(below) <= 2e-13)
    # The sequence of solvers is kept with the distribution.
    _frozen_distributions._DISTRIBUTIONS.clear()
    null = ap_null_distribution(n_samples, n_positives)
    # Its logarithm has its digits nevertheless.
    # The error that is stated is that of the probability, not that of so small a logarithm.
    assert_allclose(null.logcdf(above), -null.sf(above), rtol=1e-7, atol=0.0)
    assert_allclose(null.log_pvalue(below), -null.cdf(below), rtol=1e-7, atol=0.0)
    assert null.logcdf(above).min() < 0.0


@pytest.mark.parametrize("moved", [1, pytest.param(2, marks=pytest.mark.long), 3])
def test_few_outcomes_of_many_placements_near_the_maximum(moved):
    # A good ranker in few levels: nearly all positives are in the first block. Moving any of them
    # behind it lowers the value, the least if they are all in the next block.
    sizes, m = [440, 39, 31, 23, 73, 116, 26, 118, 288, 50, 190, 584, 85, 670, 5, 113, 4186], 417

    def value(hits):
        ends = itertools.accumulate(sizes)
        found = itertools.accumulate(hits)
        return math.fsum(y * k / e / m for y, k, e in zip(hits, found, ends, strict=True))

    least = value([m - moved, moved] + [0] * 15)
    ways = 0
    for outside in range(moved + 1):
        for blocks in itertools.combinations_with_replacement(range(1, 17), outside):
            hits = [m - outside] + [blocks.count(i) for i in range(1, 17)]
            if value(hits) >= least - 1e-12:
                ways += math.prod(map(math.comb, sizes, hits))
    assert value([m - moved - 1, moved + 1] + [0] * 15) < least
    null = ap_null_distribution(sum(sizes), m, tie_sizes=sizes)
    expected = math.log(ways) - math.log(math.comb(sum(sizes), m))
    assert null.log_pvalue(least) == pytest.approx(expected, rel=1e-12)
    assert null.relative_error(least) < 1e-10


def test_many_blocks_with_a_large_one_at_the_top(monkeypatch):
    # Far out either the body carries the tail or the hits in the first block: contours of merged
    # blocks meet both. Those of the blocks themselves are another algorithm.
    sizes, m = [120, 1, 2, 1, 100] + [1] * 5100, 60
    null = ap_null_distribution(sum(sizes), m, tie_sizes=sizes)
    x = null.mean() + 15.0 * null.std()
    log_p, error = null.log_pvalue(x), null.relative_error(x)
    monkeypatch.setattr(solvers, "SETTINGS", replace(solvers.SETTINGS, merge_above=len(sizes)))
    _frozen_distributions._DISTRIBUTIONS.clear()
    whole = ap_null_distribution(sum(sizes), m, tie_sizes=sizes)
    assert error < 0.05
    assert whole.relative_error(x) < 1e-4
    assert abs(log_p - whole.log_pvalue(x)) < error
    _frozen_distributions._DISTRIBUTIONS.clear()


def test_contours_of_more_nodes_than_are_affordable_are_not_begun(monkeypatch):
    increments = increments_of(AveragePrecision(), 2_000, 60, None)
    passes = []
    with monkeypatch.context() as patch:
        settings = replace(contour.SETTINGS, most_work=1.0, fewest_nodes=1, cheap_pass=1)
        patch.setattr(contour, "SETTINGS", settings)
        patch.setattr(
            contour.ContourInversion, "_log_transform", lambda self, *args: passes.append(args)
        )
        ranking = RankingTransform(increments, increments, 60)
        found = contour.ContourInversion(ranking, 0.02, 0.02).tail(np.array([0.1]), 1)
    assert not passes
    assert np.isinf(found.error.total[0])


def test_steep_tilts_that_share_a_pass_are_as_if_alone():
    sizes = np.tile([1, 2, 3], 30)
    increments = increments_of(RocAuc(), 180, 70, sizes)
    transform = RankingTransform(increments, increments, 70)
    thetas, together = tilts.Tilts(transform, 0.02, 0.02, (0.0, 1.0)).ladder(1, 36)
    alone = [bands.tilted_bands(increments, 70, theta)[1] for theta in thetas[16:].tolist()]
    assert_allclose(together[16:], alone, rtol=1e-9)


def log_mgf_within(increments, m, theta, limits):
    """Log of the part of ``E exp(theta S)`` within limits of the hits, block by block in logs."""
    rows = np.full(m + 1, -np.inf)
    rows[0] = -log_binomial(increments.n_samples, m)
    for block, size in enumerate(increments.sizes.tolist()):
        after = np.full(m + 1, -np.inf)
        for y in range(int(limits.least[block]), min(int(limits.most[block]), size, m) + 1):
            before = np.arange(m + 1 - y)
            terms = rows[before] + theta * increments.gain(block, before, y) + log_binomial(size, y)
            after[y:] = np.logaddexp(after[y:], terms)
        after[: limits.low[block]] = after[limits.high[block] + 1 :] = -np.inf
        rows = after
    return rows[m]


@pytest.mark.parametrize("steepness", [0.5, pytest.param(2.0, marks=pytest.mark.long), 8.0])
def test_limited_paths_are_known_under_tilts_that_favour_others(steepness):
    # Without limits, the steep ones have all hits in the first block.
    sizes, m = [150] + [1] * 2000, 200
    increments = increments_of(AveragePrecision(), sum(sizes), m, np.array(sizes))
    everything = bands.feasible_bands(increments, m)
    most = np.minimum(everything.most, 12)
    high = np.minimum(everything.high, np.cumsum(most))
    limits = replace(everything, most=most, high=high).ascending()
    limited = RankingTransform(increments, increments, m, limits=(limits, limits))
    theta = steepness * m
    found = limited.log_mgfs(np.array([theta]))[0]
    assert_allclose(found, log_mgf_within(increments, m, theta, limits), rtol=1e-10)
    whole = RankingTransform(increments, increments, m)
    assert limited.log_mgf(theta) <= whole.log_mgf(theta) + 1e-9


@pytest.mark.long
def test_hits_of_a_large_block_at_the_top_of_many():
    # Importance sampling, two runs of 4000 draws, has -53.59 and -53.42 with errors of 0.08.
    ranker = Ranker(family="boosted trees", setting=4, n=37495, m=305, signal=1.0, seed=510)
    null = ap_null_distribution(ranker.n, ranker.m, tie_sizes=ranker.blocks()[0])
    x = null.mean() + 31.0 * null.std()
    assert null.relative_error(x) < 0.01
    assert abs(null.log_pvalue(x) + 53.50) < 0.2


@pytest.mark.parametrize("signal", [pytest.param(0.6, marks=pytest.mark.long), 3.0])
def test_a_rough_tolerance_is_kept_where_single_blocks_decide(signal):
    ranker = Ranker(family="boosted trees", setting=1, n=3617, m=88, signal=signal, seed=709)
    sizes, hits = ranker.blocks()
    metric = Bedroc(alpha=500.0)
    x = metric(Ranking.from_counts(sizes, hits))
    null = metric_null_distribution(ranker.n, ranker.m, metric=metric, tie_sizes=sizes)
    rough = _frozen_distributions.tolerating(null, 0.023)
    _, log_p, error = _frozen_distributions.pvalue_log_and_error(rough, x, "greater")
    assert error < 0.2
    assert abs(log_p - null.log_pvalue(x)) < 0.023 * (1.0 - 0.1 * log_p / math.log(10.0))
    low, high = null.pvalue_bounds(x)
    assert math.log(low) - 1e-9 <= log_p <= math.log(high) + 1e-9


@pytest.mark.parametrize(
    "metric", [AveragePrecision(), AveragePrecision(k=9), DiscountedCumulativeGain(), Bedroc()]
)
def test_most_that_a_hit_adds_bounds_all_other_outcomes(metric):
    rng, n_known = np.random.default_rng(7), 0
    for _ in range(40):
        sizes = np.append(rng.integers(1, 6, rng.integers(2, 5)), 7)
        n = int(sizes.sum())
        m = int(rng.integers(1, n))
        blocks = increments_of(metric.at(n), n, m, sizes)
        hits = [
            each
            for each in itertools.product(*(range(size + 1) for size in blocks.sizes.tolist()))
            if sum(each) == m
        ]
        values = np.sort(blocks.total(np.array(hits, dtype=float)))[::-1]
        assert largest_value(blocks, m) == pytest.approx(values[0], abs=1e-12)
        most = most_by_a_hit(blocks, m)
        if most is None:
            continue
        n_known += 1
        top = np.diff(np.minimum(np.cumsum(blocks.sizes), m), prepend=0)
        assert blocks.total(top[None].astype(float))[0] == pytest.approx(values[0], abs=1e-12)
        bounds = np.sort(np.array(hits) @ most)[::-1]
        assert np.all(values <= bounds + 1e-12)
        assert bounds[0] == pytest.approx(values[0], abs=1e-12)
    assert n_known >= 10


@pytest.mark.parametrize("n_filled", [12, 25])
@pytest.mark.parametrize("seed", range(3))
def test_outcomes_that_fill_the_first_ranks(n_filled, seed):
    n_samples, n_positives = 200, 40
    others = np.random.default_rng(seed).permutation(np.arange(n_filled, n_samples))
    hits = [*range(n_filled), *others[: n_positives - n_filled].tolist()]
    labels = np.isin(np.arange(n_samples), hits).astype(int)
    metric = Bedroc(n_samples * math.log(2.2))
    null = metric_null_distribution(n_samples, n_positives, metric=metric)
    x = metric(labels, -np.arange(n_samples))
    weights = [Fraction(5, 11) ** rank for rank in range(n_samples)]
    total = sum(weights[rank] for rank in hits)
    # Values that differ by their rounding error are equal.
    least, most = (
        math.log(n_sums_from(total - less, weights, n_positives))
        - math.log(math.comb(n_samples, n_positives))
        for less in (0, Fraction(4e-12))
    )
    found, error = null.log_pvalue(x), null.relative_error(x)
    assert least - error <= found <= most + error
    assert error < 0.1


def n_sums_from(total, weights, n_hits):
    """Number of sums of as many weights that are at least a total."""
    rest = len(weights) - n_hits
    if rest < 0 or sum(weights[:n_hits]) < total:
        return 0
    if sum(weights[rest:]) >= total:
        return math.comb(len(weights), n_hits)
    with_first = n_sums_from(total - weights[0], weights[1:], n_hits - 1)
    return with_first + n_sums_from(total, weights[1:], n_hits)


def test_tails_behind_filled_blocks_by_enumeration(monkeypatch):
    monkeypatch.setattr("sklearn_rankinf._engine.distribution.FEW_BLOCKS", 0)
    n_samples, n_positives, metric = 22, 11, Bedroc(12.0)
    increments = increments_of(metric, n_samples, n_positives, None)
    weights = increments.of_one_hit
    # Sums of every subset of the ranks, with the number of its ranks.
    sums, numbers = np.zeros(1), np.zeros(1, dtype=int)
    for weight in weights.tolist():
        sums, numbers = np.append(sums, sums + weight), np.append(numbers, numbers + 1)
    values = np.sort(sums[numbers == n_positives])
    distribution = ComputedDistribution(metric, n_samples, n_positives, None)
    form, n_answered = distribution._form, 0
    for place in (1, 5, 20, 60, 100, 170):
        t = values[-place] * (1.0 - 1e-13)
        found = distribution._tail_behind_filled_blocks(*form.value(np.array([t]), 1))
        if np.isfinite(found.log_p[0]):
            n_answered += 1
            assert abs(found.log_p[0] - math.log(place / values.size)) <= found.error.total[0]
    assert n_answered > 2
    # All blocks of the best value are filled, and nothing reaches more.
    for t in (values[-1], values[-1] * 1.001):
        found = distribution._tail_behind_filled_blocks(*form.value(np.array([t]), 1))
        assert np.isinf(found.error.total[0])


def test_a_long_list_with_a_block_that_makes_a_row_of_clusters():
    # 145 of 150 hits at the top; the others, far down, add nearly nothing.
    n_samples, n_positives, top = 5600, 200, 150
    sizes = np.array([top] + [1] * (n_samples - top))
    metric = RobustInitialEnhancement(300.0)
    distribution = ComputedDistribution(metric, n_samples, n_positives, sizes)
    hits = np.zeros(sizes.size, dtype=int)
    hits[0], hits[3000:3055] = 145, 1
    x = increments_of(metric, n_samples, n_positives, sizes).total(hits)
    form = distribution._form
    found = distribution._conditioned_if_coarse(*form.value(np.array([x * (1 - 1e-12)]), 1))
    expected = hypergeom(n_samples, n_positives, top).logsf(144)
    assert_allclose(found.log_p, expected, atol=2e-7)
    assert found.error.total < 1e-6


def test_short_contours_of_nearly_perfect_rankings():
    # Limits of 100,000 labellings that were drawn under a tilt, apart from the engine.
    null = ap_null_distribution(3000, 400)
    assert -1132.768 < null.log_pvalue(0.998) < -1132.643
    # Their terms fall below the rounding errors, which is no lack of decay.
    assert null.relative_error(0.998) < 1e-6


def test_a_list_serves_only_values_that_would_be_listed():
    # An answer and its stated error do not depend on which values were asked for before.
    sizes, nothing = np.array([2, 1, 3, 4, 2]), np.zeros(5)
    blocks = Increments(sizes, nothing, np.array([8.0, 4.0, 2.0, 1.0, 0.0]), nothing)
    log_placements = math.log(math.comb(12, 4))
    solver = near_maximum.NearMaximum(
        lambda: blocks, lambda t: None, 4, log_placements, n_ranks=None
    )
    inner, outer = np.array([6.0]), np.array([20.0])
    assert solver.tail(inner, 1, lambda t: True).solver[0] == "near-maximum enumeration"
    assert solver.tail(outer, 1).error.total[0] == np.inf
    # Both hits of 8 with that of 4 and any other, or with two of 2: 12 of 495 placements.
    found = solver.tail(outer, 1, lambda t: True).log_p[0]
    assert_allclose(found, math.log(12.0) - log_placements, rtol=1e-12)
