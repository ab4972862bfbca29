"""Discounted cumulative gain of graded relevance: values, moments, arrangements and draws.

Values are compared with scikit-learn's, and null distributions with all permutations of the
relevances: moments as exact fractions, atoms one by one, and draws by chi-square tests.
"""

import itertools
import math
import tracemalloc
from fractions import Fraction
from functools import cache
from operator import mul

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.metrics import dcg_score, ndcg_score

from sklearn_rankinf import DiscountedCumulativeGain
from sklearn_rankinf._engine.moments import exact_mean_and_variance, skewness_and_kurtosis
from sklearn_rankinf._permutation.graded import (
    Factor,
    GradedGain,
    PermutedGain,
    _Permutation,
    _Placement,
    _Tables,
)
from sklearn_rankinf._permutation.restrictions import Exchange, Shifts

N_DRAWS = 20_000
# A right draw is rejected by one chi-square test of ten thousand; there are some forty of them, and
# the seeds are fixed.
ALPHA = 1e-4


# Slow definitions


def gain_of(relevances, scores, k=None, normalize=False):
    """The statistic of relevances and scores, with the blocks that equal scores make."""
    _, places, sizes = np.unique(-np.asarray(scores), return_inverse=True, return_counts=True)
    tie_sizes = None if sizes.max() == 1 else sizes
    discount = DiscountedCumulativeGain(k)
    return GradedGain(discount, np.asarray(relevances, dtype=float), places, tie_sizes, normalize)


def sklearn_value(relevances, scores, k=None, normalize=False):
    score = ndcg_score if normalize else dcg_score
    return float(score([relevances], [scores], k=k))


def exact_value(relevances, scores, k):
    """DCG by the mean of the discounts of each block, as fractions of the discounts as floats."""
    total, start = Fraction(0), 0
    for level in sorted(set(scores), reverse=True):
        own = [Fraction(g) for g, s in zip(relevances, scores, strict=True) if s == level]
        ranks = range(start + 1, start + len(own) + 1)
        counted = [r for r in ranks if k is None or r <= k]
        total += sum(own) * sum(Fraction(1 / math.log2(r + 1)) for r in counted) / len(own)
        start += len(own)
    return total


@cache
def _all_values(relevances, scores, k):
    unit = [exact_value(row, scores, k) for row in np.eye(len(scores), dtype=int).tolist()]
    gains = [Fraction(g) for g in relevances]
    # Over common denominators all sums are of integers.
    over = math.lcm(*(x.denominator for x in unit)), math.lcm(*(x.denominator for x in gains))
    unit, gains = ([int(x * d) for x in xs] for xs, d in zip((unit, gains), over, strict=True))
    arrangements = sorted(set(itertools.permutations(gains)))
    return [sum(map(mul, order, unit)) for order in arrangements], math.prod(over)


def all_values(relevances, scores, k=None):
    """Exact values for all different arrangements of the relevances: integers over a common one."""
    return _all_values(tuple(relevances), tuple(scores), k)


def as_floats(values):
    numerators, denominator = values
    return np.array([x / denominator for x in numerators])


def moments(values):
    """Mean, variance, skewness and excess kurtosis of equally likely fractions."""
    numerators, denominator = values
    n, total = len(numerators), sum(numerators)
    second, third, fourth = (
        Fraction(sum((n * x - total) ** p for x in numerators), n * (n * denominator) ** p)
        for p in (2, 3, 4)
    )
    skewness = float(third) / float(second) ** 1.5 if second else math.nan
    kurtosis = float(fourth / second**2) - 3.0 if second else math.nan
    return float(Fraction(total, n * denominator)), float(second), skewness, kurtosis


def atoms(values):
    """Values that are different by more than rounding, and how often each is there."""
    values = np.sort(values)
    first = np.append(True, np.diff(values) > 1e-9 * max(1.0, values[-1]))
    return values[first], np.diff(np.append(np.flatnonzero(first), values.size))


def assert_drawn_from(draws, values):
    """Every draw is one of the values, and each of them as often as it should be."""
    places, counts = atoms(values)
    nearest = np.abs(draws[:, None] - places).argmin(axis=1)
    assert_allclose(draws, places[nearest], rtol=1e-12, atol=1e-12)
    observed = np.bincount(nearest, minlength=places.size)
    expected = draws.size * counts / counts.sum()
    assert np.all(expected > 5)
    if places.size > 1:
        assert stats.chisquare(observed, expected).pvalue > ALPHA


UNTIED_7 = [7, 6, 5, 4, 3, 2, 1]
STRUCTURES = {
    "untied": ([3, 0, 2, 0, 1, 0], [6, 5, 4, 3, 2, 1]),
    "not in order": ([0, 0.5, 2, 0, 1, 0.25], [0.1, 0.7, 0.3, 0.9, 0.5, 0.2]),
    "large block at the top": ([3, 0, 2, 0, 1, 0, 1], [2, 2, 2, 2, 2, 1, 0]),
    "large block at the bottom": ([3, 0, 2, 0, 1, 0, 1], [2, 1, 0, 0, 0, 0, 0]),
    "two blocks": ([3, 0, 2, 0, 1, 0, 1], [1, 1, 1, 1, 0, 0, 0]),
    "constant scores": ([3, 0, 2, 0, 1, 0], [1, 1, 1, 1, 1, 1]),
    "one relevant item": ([0, 0, 4.5, 0, 0, 0, 0], UNTIED_7),
    "one relevant item at the top": ([4.5, 0, 0, 0, 0, 0, 0], UNTIED_7),
    "one relevant item at the bottom": ([0, 0, 0, 0, 0, 0, 4.5], UNTIED_7),
    "binary": ([1, 0, 1, 0, 0, 1, 0], [7, 6, 5, 5, 3, 2, 1]),
    "nearly all relevant": ([1, 1, 1, 0, 1, 1, 1], UNTIED_7),
    "nearly all of one grade": ([2, 2, 2, 0, 2, 2, 3], UNTIED_7),
    "one grade": ([2, 2, 2, 2, 2], [5, 4, 3, 2, 1]),
    "all different": ([0.3, 1.7, 2.9, 0.1, 5.5, 4.2], [3, 6, 6, 2, 1, 1]),
    "few levels": ([2, 1, 0, 2, 1, 0, 0], [3, 3, 2, 2, 1, 1, 1]),
    "two items": ([1, 3], [2, 1]),
    "two equal items": ([1, 3], [1, 1]),
    "three items": ([1, 0, 3], [3, 2, 1]),
}
CUT_OFFS = (None, 1, 2, 4, 100)
NAMES = pytest.mark.parametrize("name", STRUCTURES)
NORMALIZE = pytest.mark.parametrize("normalize", [False, True])


# Values


@NAMES
def test_values_are_those_of_scikit_learn(name):
    relevances, scores = STRUCTURES[name]
    for k, normalize in itertools.product(CUT_OFFS, (False, True)):
        gain, case = gain_of(relevances, scores, k, normalize), f"k={k}, normalize={normalize}"
        expected = sklearn_value(relevances, scores, k, normalize)
        assert_allclose(gain.observed(), expected, rtol=1e-12, atol=0, err_msg=case)
        best = sklearn_value(sorted(relevances), range(len(relevances)), k, normalize)
        assert_allclose(gain.best(), best, rtol=1e-12, err_msg=case)


@pytest.mark.parametrize("n_levels", [3, 40, 5000, None])
def test_values_of_long_lists_are_those_of_scikit_learn(n_levels):
    rng = np.random.default_rng(0)
    relevances = rng.integers(5, size=5000) * rng.random(5000)
    scores = rng.random(5000) if n_levels is None else rng.integers(n_levels, size=5000)
    for k, normalize in itertools.product((None, 10, 777, 4999), (False, True)):
        found = gain_of(relevances, scores, k, normalize).observed()
        expected = sklearn_value(relevances, scores, k, normalize)
        case = f"k={k}, normalize={normalize}"
        assert_allclose(found, expected, rtol=1e-12, atol=0, err_msg=case)


@NORMALIZE
def test_value_of_one_item(normalize):
    gain = gain_of([2.5], [0.0], None, normalize)
    assert gain.observed() == gain.best() == (1.0 if normalize else 2.5)
    assert gain.mean_and_variance() == (gain.best(), 0.0)
    assert np.isnan(gain.skewness_and_kurtosis()).all()


@NORMALIZE
def test_irrelevant_items_are_worth_nothing_as_in_scikit_learn(normalize):
    gain = gain_of([0, 0, 0], [1, 2, 2], None, normalize)
    assert gain.observed() == sklearn_value([0, 0, 0], [1, 2, 2], None, normalize) == 0.0
    assert gain.mean_and_variance() == (0.0, 0.0)


@pytest.mark.parametrize("k", [None, 3])
def test_a_perfect_ranking_has_the_best_value(k):
    relevances = np.sort(np.random.default_rng(1).random(50))[::-1]
    scores = -np.arange(50.0)
    assert gain_of(relevances, scores, k, True).observed() == 1.0
    gain = gain_of(relevances, scores, k)
    assert gain.observed() == gain.best()
    assert_allclose(gain.best(), dcg_score([relevances], [relevances], k=k), rtol=1e-13)


@pytest.mark.parametrize("n_levels", [4, 300, None])
@pytest.mark.parametrize("n_positives", [1, 30, 299, 300])
def test_binary_relevance_is_the_gain_of_hits(n_levels, n_positives):
    rng = np.random.default_rng(2)
    hits = rng.permutation(np.arange(300) < n_positives)
    scores = rng.permutation(300) if n_levels is None else rng.integers(n_levels, size=300)
    for k, normalize in itertools.product((None, 1, 25), (False, True)):
        gain = gain_of(hits, scores, k, normalize)
        statistic = DiscountedCumulativeGain(k, normalize)
        sizes = np.bincount(gain.places)
        per_block = np.bincount(gain.places, hits).astype(int)
        problem = statistic, 300, n_positives, sizes
        assert_allclose(gain.observed(), statistic.evaluate(sizes, per_block), rtol=1e-13)
        assert_allclose(gain.best(), statistic.best(300, n_positives), rtol=1e-13)
        assert_allclose(gain.mean_and_variance(), exact_mean_and_variance(*problem), rtol=1e-11)
        if n_positives < 300:
            found, expected = gain.skewness_and_kurtosis(), skewness_and_kurtosis(*problem)
            assert_allclose(found, expected, rtol=1e-9, atol=1e-11, err_msg=repr(statistic))


# Moments


@NAMES
def test_moments_are_those_of_all_permutations(name):
    relevances, scores = STRUCTURES[name]
    for k in CUT_OFFS:
        gain, expected = gain_of(relevances, scores, k), moments(all_values(relevances, scores, k))
        found = *gain.mean_and_variance(), *gain.skewness_and_kurtosis()
        assert_allclose(found, expected, rtol=1e-12, atol=1e-14, err_msg=f"k={k}")


@pytest.mark.numeric
@pytest.mark.parametrize("name", ["untied", "few levels", "two items"])
@pytest.mark.parametrize("k", [None, 2])
def test_moments_of_the_normalized_gain(name, k):
    relevances, scores = STRUCTURES[name]
    values = [
        sklearn_value(relevance, scores, k, True)
        for relevance in sorted(set(itertools.permutations(relevances)))
    ]
    gain = gain_of(relevances, scores, k, True)
    found = *gain.mean_and_variance(), *gain.skewness_and_kurtosis()
    expected = np.mean(values), np.var(values), stats.skew(values), stats.kurtosis(values)
    assert_allclose(found, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-160, 1e160])
def test_the_normalized_gain_has_no_unit(scale):
    relevances, scores = STRUCTURES["all different"]
    gain, scaled = (gain_of(np.multiply(relevances, u), scores, 4, True) for u in (1.0, scale))
    assert_allclose(scaled.observed(), gain.observed(), rtol=1e-13)
    assert_allclose(scaled.mean_and_variance(), gain.mean_and_variance(), rtol=1e-12)
    assert_allclose(scaled.skewness_and_kurtosis(), gain.skewness_and_kurtosis(), rtol=1e-11)


def test_shape_of_the_distribution_has_no_unit():
    relevances, scores = STRUCTURES["all different"]
    shapes = [
        gain_of(np.multiply(relevances, scale), scores).skewness_and_kurtosis()
        for scale in (1.0, 1e-160, 1e160)
    ]
    assert_allclose(shapes[1:], shapes[:1] * 2, rtol=1e-11)


@pytest.mark.parametrize("constant", ["scores", "relevances"])
def test_a_constant_does_not_vary_by_rounding(constant):
    rng = np.random.default_rng(3)
    varied, same = rng.random(1000), np.full(1000, 0.1)
    gain = gain_of(varied, same) if constant == "scores" else gain_of(same, varied)
    mean, variance = gain.mean_and_variance()
    assert variance == 0.0
    assert_allclose(mean, gain.observed(), rtol=1e-12)
    assert np.isnan(gain.skewness_and_kurtosis()).all()


# Arrangements


@NAMES
def test_listed_arrangements_are_those_of_all_permutations(name):
    relevances, scores = STRUCTURES[name]
    for k in CUT_OFFS:
        permuted = PermutedGain(gain_of(relevances, scores, k))
        listed = permuted.listed(0, permuted.n_listed)
        assert listed.size == permuted.n_listed
        # Relevances or discounts are arranged, whichever has fewer arrangements; each of them
        # stands for as many permutations of the items.
        values = as_floats(all_values(relevances, scores, k))
        n_both = math.lcm(listed.size, values.size)
        found, expected = (np.repeat(np.sort(x), n_both // x.size) for x in (listed, values))
        assert_allclose(found, expected, rtol=1e-12, atol=0, err_msg=f"k={k}")


def test_arrangements_are_counted_on_the_side_that_has_fewer():
    distinct = [0.3, 1.7, 2.9, 0.1, 5.5, 4.2, 1.1, 0.7]
    untied, halves = [8, 7, 6, 5, 4, 3, 2, 1], [1, 1, 1, 1, 0, 0, 0, 0]
    binary = [1, 0, 0, 0, 1, 0, 0, 0]
    assert PermutedGain(gain_of(distinct, untied)).n_listed == math.factorial(8)
    assert PermutedGain(gain_of(distinct, halves)).n_listed == math.comb(8, 4)
    assert PermutedGain(gain_of(distinct, untied, 1)).n_listed == 8
    assert PermutedGain(gain_of(binary, untied)).n_listed == math.comb(8, 2)
    assert PermutedGain(gain_of(distinct, [1] * 8)).n_listed == 1


def test_more_arrangements_than_can_be_listed():
    rng = np.random.default_rng(4)
    assert PermutedGain(gain_of(rng.random(40), rng.random(40))).n_listed is None
    wide = np.zeros(100_000)
    wide[:3] = 1, 2, 2
    n_listed = PermutedGain(gain_of(wide, np.arange(100_000))).n_listed
    assert n_listed == 100_000 * math.comb(99_999, 2)


def test_pieces_of_the_list():
    permuted = PermutedGain(gain_of(*STRUCTURES["all different"]))
    edges = [0, 1, 100, 101, permuted.n_listed]
    pieces = [permuted.listed(first, last) for first, last in itertools.pairwise(edges)]
    assert_array_equal(np.concatenate(pieces), permuted.listed(0, permuted.n_listed))


def test_arrangements_of_a_long_list():
    # The two relevant items are on each pair of ranks once either way.
    n = 60
    relevances = np.zeros(n)
    relevances[[3, 10]] = 5, 2
    permuted = PermutedGain(gain_of(relevances, -np.arange(n), 30))
    discounts = np.array([1 / math.log2(r + 2) if r < 30 else 0.0 for r in range(n)])
    expected = [5 * discounts[i] + 2 * discounts[j] for i, j in itertools.permutations(range(n), 2)]
    assert permuted.n_listed == n * (n - 1)
    assert_allclose(np.sort(permuted.listed(0, n * (n - 1))), np.sort(expected), rtol=1e-13)


@pytest.mark.parametrize(("n", "k"), [(7, 2), (12, 3), (40, 2)])
def test_nothing_gained_is_exactly_nothing(n, k):
    # Three irrelevant items among items of one grade fill the first k places at times.
    relevances = np.full(n, 0.7)
    relevances[[0, 4, 6]] = 0.0
    permuted = PermutedGain(gain_of(relevances, -np.arange(n), k))
    listed = permuted.listed(0, permuted.n_listed)
    share = Fraction(math.comb(3, k), math.comb(n, k))
    assert np.count_nonzero(listed == 0.0) == share * listed.size
    draws = permuted.draw(N_DRAWS, np.random.default_rng(5))
    assert np.all((draws == 0.0) | (draws > 0.1))


# Draws


def ways(relevances, scores, k=None):
    """All algorithms that draw from the null distribution of these relevances and scores."""
    gain = gain_of(relevances, scores, k)
    for one, other in itertools.permutations([gain.gains, gain.discounts]):
        yield _Placement(one, other)
        yield _Permutation(one, other)
    # Tables of one row or column are not drawn: nothing varies, and nothing is moved.
    if gain.gains.moved.size and gain.discounts.moved.size:
        yield _Tables(gain.gains, gain.discounts)


DRAWN = {
    "untied": ([3, 0, 2, 0, 1], [5, 4, 3, 2, 1], None),
    "ties": ([3, 0, 2, 0, 1, 0], [2, 2, 2, 1, 1, 0], None),
    "cut inside a block": ([3, 0, 2, 0, 1, 0], [2, 1, 1, 1, 0, 0], 2),
    "nearly all of one grade": ([2, 2, 2, 0, 2, 2, 3], UNTIED_7, None),
    "one relevant item": ([0, 0, 4.5, 0, 0, 0, 0], UNTIED_7, 3),
    "one grade": ([2, 2, 2, 2], [4, 3, 2, 1], None),
    "constant scores": ([3, 0, 2, 0], [1, 1, 1, 1], None),
}


@pytest.mark.parametrize("name", DRAWN)
def test_every_algorithm_draws_from_the_same_distribution(name):
    values = as_floats(all_values(*DRAWN[name]))
    for seed, way in enumerate(ways(*DRAWN[name])):
        draws = way.draw(N_DRAWS, np.random.default_rng(seed))
        assert_drawn_from(draws, values)


@pytest.mark.parametrize("constant", ["scores", "relevances"])
def test_constant_values_are_drawn_unchanged(constant):
    varied, same = np.random.default_rng(3).integers(2, size=500), np.ones(500)
    gain = gain_of(varied, same) if constant == "scores" else gain_of(same, varied)
    permuted = PermutedGain(gain)
    assert permuted.n_listed == 1
    assert_allclose(permuted.draw(3, np.random.default_rng(0)), gain.observed(), rtol=1e-12)


def long_list(kind):
    rng = np.random.default_rng(6)
    n = 2000
    relevances = rng.integers(1, 5, size=n).astype(float)
    scores, k = rng.random(n), None
    if kind == "few relevant":
        relevances[rng.random(n) < 0.98] = 0.0
    elif kind == "few of another grade":
        relevances[rng.random(n) < 0.98] = 3.0
    elif kind == "short top":
        k = 20
    elif kind == "few levels":
        scores = rng.integers(8, size=n)
    return gain_of(relevances, scores, k)


@pytest.mark.parametrize(
    ("kind", "way", "n_drawn"),
    [
        ("few relevant", _Placement, range(20, 70)),
        ("few of another grade", _Placement, range(15, 60)),
        ("short top", _Placement, [20]),
        ("few levels", _Tables, [32]),
        ("many grades", _Permutation, [2000]),
    ],
)
def test_long_lists_are_drawn_in_the_cheapest_way(kind, way, n_drawn):
    gain = long_list(kind)
    permuted = PermutedGain(gain)
    assert type(permuted._draws) is way
    assert permuted._draws.n_drawn in n_drawn
    draws = permuted.draw(4000, np.random.default_rng(7))
    mean, variance = gain.mean_and_variance()
    _, kurtosis = gain.skewness_and_kurtosis()
    assert abs(draws.mean() - mean) < 4 * math.sqrt(variance / draws.size)
    spread = math.sqrt((kurtosis + 2) / draws.size)
    assert abs(draws.var() / variance - 1) < 4 * spread


def test_draws_agree_with_scikit_learns_values_of_shuffled_relevances():
    rng = np.random.default_rng(8)
    relevances, scores = np.repeat([0.0, 1.0, 2.5], [270, 20, 10]), rng.integers(100, size=300)
    shuffled = [sklearn_value(rng.permutation(relevances), scores) for _ in range(1000)]
    draws = PermutedGain(gain_of(relevances, scores)).draw(N_DRAWS, rng)
    assert stats.ks_2samp(draws, shuffled).pvalue > ALPHA


def test_draws_repeat_and_chunks_add_up():
    permuted = PermutedGain(long_list("many grades"))
    one, two = (permuted.draw(50, np.random.default_rng(9)) for _ in range(2))
    assert_array_equal(one, two)
    assert sum(permuted.chunks(999)) == 999
    assert max(permuted.chunks(999)) == 500_000 // 2000


def test_memory_is_that_of_the_relevant_items():
    rng = np.random.default_rng(10)
    relevances = np.zeros(100_000)
    relevances[:1000] = rng.integers(1, 5, size=1000)
    permuted = PermutedGain(gain_of(relevances, rng.random(100_000)))
    tracemalloc.start()
    permuted.draw(permuted.chunks(9999)[0], rng)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A chunk of 500,000 numbers, in a few arrays at a time; all rows at once are 8 GB.
    assert peak < 100e6


def test_a_factor_that_is_nearly_constant():
    factor = Factor(np.array([3.0, 3.0, 0.0, 3.0, 5.0]))
    assert factor.base == 3.0
    assert_array_equal(factor.moved, [0.0, 5.0])
    # Zero is preferred among values that are as common.
    assert Factor(np.array([2.0, 0.0, 2.0, 0.0])).base == 0.0


def test_repr_names_the_statistic():
    gain = gain_of([1, 0, 2], [3, 2, 1], 2)
    assert repr(PermutedGain(gain)) == "k=2, normalize=False"
    exchange = Exchange(np.zeros(3, dtype=int), np.arange(3))
    assert repr(PermutedGain(gain, exchange)) == "k=2, normalize=False, n_units=3, n_classes=1"


# Restricted exchange


def values_of_arrangements(relevances, scores, k, strata, units):
    """Values of all arrangements of whole units among those of their stratum and size."""
    owner, classes = np.asarray(units), {}
    for unit in np.unique(units):
        items = np.flatnonzero(owner == unit)
        classes.setdefault((strata[items[0]], items.size), []).append(items)
    values = []
    for orders in itertools.product(*map(itertools.permutations, classes.values())):
        moved = np.empty(len(relevances))
        for own, order in zip(classes.values(), orders, strict=True):
            for source, target in zip(own, order, strict=True):
                moved[target] = np.asarray(relevances)[source]
        values.append(sklearn_value(moved, scores, k))
    return values


RESTRICTED = {
    "strata": ([0, 0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]),
    "clusters": ([0] * 7, [0, 1, 0, 2, 1, 2, 3]),
    "long clusters": ([0] * 7, [0, 1, 0, 1, 0, 1, 2]),
    "clusters in strata": ([0, 0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 2, 3, 4]),
    "nothing moves": ([0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5, 6]),
}


@pytest.mark.parametrize("name", RESTRICTED)
@pytest.mark.parametrize("scores", [UNTIED_7, [3, 3, 2, 2, 2, 1, 1]], ids=["untied", "ties"])
@pytest.mark.parametrize("k", [None, 3])
def test_restricted_exchange_is_that_of_all_its_arrangements(name, scores, k):
    relevances = [3, 0, 1, 0, 2, 0, 0.5]
    strata, units = map(np.asarray, RESTRICTED[name])
    values = values_of_arrangements(relevances, scores, k, strata, units)
    permuted = PermutedGain(gain_of(relevances, scores, k), Exchange(strata, units))
    expected = np.mean(values), np.var(values)
    assert_allclose(permuted.exact_moments(), expected, rtol=1e-11, atol=1e-14)
    assert permuted.n_listed is None
    assert_drawn_from(permuted.draw(N_DRAWS, np.random.default_rng(11)), values)


def test_free_exchange_has_the_moments_of_random_labelling():
    gain = long_list("many grades")
    exchange = Exchange(np.zeros(gain.n_items, dtype=int), np.arange(gain.n_items))
    assert_allclose(
        PermutedGain(gain, exchange).exact_moments(),
        PermutedGain(gain).exact_moments(),
        rtol=1e-11,
    )


def test_shifted_series_are_listed():
    relevances, scores = [3, 0, 1, 0, 2, 0, 0.5], [7, 5, 5, 4, 3, 3, 1]
    series, positions = np.array([0, 0, 0, 0, 1, 1, 1]), np.array([3, 1, 2, 0, 0, 2, 1])
    values = []
    for shifts in itertools.product(range(4), range(3)):
        moved = np.empty(7)
        for own, shift in enumerate(shifts):
            items = np.flatnonzero(series == own)
            items = items[np.argsort(positions[items])]
            moved[items] = np.roll(np.asarray(relevances)[items], shift)
        values.append(sklearn_value(moved, scores, 5))
    permuted = PermutedGain(gain_of(relevances, scores, 5), Shifts(series, positions))
    assert permuted.n_listed == 12
    assert_allclose(np.sort(permuted.listed(0, 12)), np.sort(values), rtol=1e-12)
    assert permuted.exact_moments() == (None, None)
    assert_drawn_from(permuted.draw(N_DRAWS, np.random.default_rng(12)), values)


@NAMES
@NORMALIZE
def test_the_observed_value_is_one_of_the_arrangements(name, normalize):
    permuted = PermutedGain(gain_of(*STRUCTURES[name], 4, normalize))
    listed = permuted.listed(0, permuted.n_listed)
    assert np.isclose(listed, permuted.observed(), rtol=1e-13, atol=0).any()
    assert np.all(listed <= permuted.best() * (1 + 1e-13))
