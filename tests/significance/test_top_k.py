"""Recall and precision at k: exact null distributions, approximations, tests, hits needed."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from by_name import (
    precision_at_k_null_distribution,
    precision_at_k_test,
    recall_at_k_null_distribution,
)
from combinations import checkered
from numpy.testing import assert_allclose, assert_array_equal
from oracles import hits_per_block, labels_and_scores, placements
from scipy import stats
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf import (
    AveragePrecision,
    PrecisionAtK,
    Ranking,
    RecallAtK,
    ap_null_distribution,
    metric_null_distribution,
    metric_test,
    min_hits_at_k,
    recall_at_k_test,
)
from sklearn_rankinf._engine.exact.enumeration import atoms
from sklearn_rankinf._engine.listed import ListedDistribution
from sklearn_rankinf._permutation.draws import NullSampler
from sklearn_rankinf._significance.results import MetricTestResult
from sklearn_rankinf._statistics.additive import increments_of

DISTRIBUTIONS = {
    "recall": recall_at_k_null_distribution,
    "precision": precision_at_k_null_distribution,
}
TESTS = {"recall": recall_at_k_test, "precision": precision_at_k_test}
each_metric = pytest.mark.parametrize("metric", ["recall", "precision"])

# (n_samples, n_positives, tie_sizes); None is no ties.
SMALL = [
    (1, 1, None),
    (7, 3, None),
    (8, 1, None),
    (8, 7, (3, 5)),
    (9, 4, (2, 3, 4)),
    (10, 5, (10,)),
    (10, 3, (1, 1, 6, 2)),
    (11, 5, (4, 1, 3, 3)),
    (12, 6, (5, 7)),
]
each_small = pytest.mark.parametrize(("n", "m", "tie_sizes"), SMALL)


# ---------------------------------------------------------------------------------------------
# Oracles
# ---------------------------------------------------------------------------------------------


def hits_at_k(tie_sizes, hits, k):
    """Hits among the first k, from the definition, as an exact fraction."""
    total, start = Fraction(0), 0
    for size, found in zip(tie_sizes, hits, strict=True):
        places = min(max(k - start, 0), size)
        total += Fraction(found * places, size)
        start += size
    return total


def mean_hits_over_orders(tie_sizes, hits, k):
    """Mean of the hits among the first k over all orders of the items within their blocks."""
    blocks = [[1] * y + [0] * (g - y) for g, y in zip(tie_sizes, hits, strict=True)]
    orders = itertools.product(*(itertools.permutations(block) for block in blocks))
    counts = [sum(list(itertools.chain(*order))[:k]) for order in orders]
    return Fraction(sum(counts), len(counts))


@cache
def placements_by_hits(sizes, m):
    """Number of placements with the same hits in each block."""
    return Counter(tuple(hits_per_block(sizes, ranks)) for ranks in placements(sum(sizes), m))


@cache
def enumerated(n, m, tie_sizes, k, metric):
    """Value of recall or precision at k -> number of placements that have it."""
    sizes = tie_sizes or (1,) * n
    divisor = m if metric == "recall" else k
    null = Counter()
    for hits, count in placements_by_hits(sizes, m).items():
        null[hits_at_k(sizes, hits, k) / divisor] += count
    return dict(sorted(null.items()))


def tails(null, x):
    """P(S >= x) and P(S <= x) of an enumerated distribution."""
    total = sum(null.values())
    above = sum(count for value, count in null.items() if value >= x)
    below = sum(count for value, count in null.items() if value <= x)
    return float(Fraction(above, total)), float(Fraction(below, total))


def central_moment(null, order):
    total = sum(null.values())
    mean = sum(value * count for value, count in null.items()) / Fraction(total)
    return sum((value - mean) ** order * count for value, count in null.items()) / Fraction(total)


def straddled_tail(t, n, m, before, inside, counted):
    """P(H + Y counted/inside >= t) from ratios of binomial coefficients, summed over all (H, Y)."""
    after = n - before - inside
    ways = 0
    for h in range(min(before, m) + 1):
        for y in range(min(inside, m - h) + 1):
            if m - h - y <= after and h + Fraction(y * counted, inside) >= t:
                ways += math.comb(before, h) * math.comb(inside, y) * math.comb(after, m - h - y)
    return Fraction(ways, math.comb(n, m))


# ---------------------------------------------------------------------------------------------
# The statistic
# ---------------------------------------------------------------------------------------------


def test_statistic_is_the_mean_over_all_ways_to_break_ties():
    for tie_sizes, hits in (
        ((2, 3, 2), (1, 2, 0)),
        ((4, 3), (2, 1)),
        ((1, 5, 1), (0, 3, 1)),
        ((6,), (2,)),
    ):
        n, m = sum(tie_sizes), sum(hits)
        ranking = Ranking.from_counts(tie_sizes, hits)
        for k in range(1, n + 1):
            expected = mean_hits_over_orders(tie_sizes, hits, k)
            assert expected == hits_at_k(tie_sizes, hits, k)
            recall = recall_at_k_test(ranking, k=k)
            precision = metric_test(ranking, metric=f"precision@{k}")
            assert recall.hits == pytest.approx(float(expected), rel=1e-15)
            assert precision.hits == recall.hits
            assert recall.statistic == pytest.approx(float(expected / m), rel=1e-15)
            assert precision.statistic == pytest.approx(float(expected / k), rel=1e-15)


def test_labels_and_scores_mean_the_same_as_their_ranking():
    y_true, y_score = labels_and_scores((2, 3, 4), (1, 4, 5, 9))
    ranking = Ranking.from_counts([2, 3, 4], [1, 2, 1])
    for test in TESTS.values():
        ours, same = test(y_true, y_score, k=4), test(ranking, k=4)
        assert (ours.statistic, ours.pvalue) == (same.statistic, same.pvalue)


# ---------------------------------------------------------------------------------------------
# The exact null distribution
# ---------------------------------------------------------------------------------------------


@pytest.mark.numeric
@pytest.mark.parametrize(("metric", "size"), checkered(["recall", "precision"], SMALL))
def test_distribution_equals_enumeration(metric, size):
    n, m, tie_sizes = size
    # Precision has the distribution of recall but for a factor.
    for k in range(1, n + 1, 1 if metric == "recall" else 3):
        expected = enumerated(n, m, tie_sizes, k, metric)
        values = np.array([float(value) for value in expected])
        null = DISTRIBUTIONS[metric](n, m, k=k, tie_sizes=tie_sizes)
        above, below = np.array([tails(expected, value) for value in expected]).T
        assert_allclose(null.pvalue(values), above, rtol=1e-12)
        assert_allclose(null.pvalue(values, "less"), below, rtol=1e-12)
        assert_allclose(
            null.pvalue(values, "two-sided"),
            np.minimum(1, 2 * np.minimum(above, below)),
            rtol=1e-12,
        )
        assert_allclose(null.cdf(values), below, rtol=1e-12)
        assert_allclose(null.sf(values), np.append(above[1:], 0.0), rtol=1e-12)
        assert_allclose(null.logcdf(values), np.log(below), rtol=1e-12, atol=1e-14)
        assert_allclose(null.log_pvalue(values), np.log(above), rtol=1e-12, atol=1e-14)
        between = (values[1:] + values[:-1]) / 2
        assert_allclose(null.cdf(between), below[:-1], rtol=1e-12)
        assert_allclose(null.pvalue(between), above[1:], rtol=1e-12)
        assert_allclose(null.support(), (values[0], values[-1]), rtol=1e-14)
        assert null.relative_error(values).max() < 1e-12
        low, high = null.pvalue_bounds(values)
        assert np.all((low <= above * (1 + 1e-15)) & (above <= high * (1 + 1e-15)))


@pytest.mark.numeric
@pytest.mark.parametrize("metric", ["recall", pytest.param("precision", marks=pytest.mark.long)])
@each_small
def test_quantiles_equal_enumeration(metric, n, m, tie_sizes):
    for k in range(1, n + 1):
        expected = enumerated(n, m, tie_sizes, k, metric)
        values = np.array([float(value) for value in expected])
        null = DISTRIBUTIONS[metric](n, m, k=k, tie_sizes=tie_sizes)
        above, below = np.array([tails(expected, value) for value in expected]).T
        strictly_above = np.append(above[1:], 0.0)
        q = np.array([0.001, 0.05, 0.31, 0.5, 0.77, 0.95, 0.9999])
        assert_allclose(null.ppf(q), values[np.searchsorted(below, q * (1 - 1e-12))], rtol=1e-14)
        first = [np.flatnonzero(strictly_above <= level * (1 + 1e-12))[0] for level in q]
        assert_allclose(null.isf(q), values[first], rtol=1e-14)
        # At the probability of a value itself rounding must not move the quantile.
        assert_allclose(null.ppf(below), values, rtol=1e-14)
        assert_allclose(null.isf(null.sf(values)), values, rtol=1e-14)
        assert null.median() == null.ppf(0.5)
        assert null.ppf(0.0) == null.isf(1.0) == null.support()[0]


@each_metric
@each_small
def test_moments_equal_enumeration(metric, n, m, tie_sizes):
    for k in range(1, n + 1):
        expected = enumerated(n, m, tie_sizes, k, metric)
        null = DISTRIBUTIONS[metric](n, m, k=k, tie_sizes=tie_sizes)
        variance = central_moment(expected, 2)
        raw = [
            float(sum(v**order * c for v, c in expected.items()) / Fraction(math.comb(n, m)))
            for order in range(5)
        ]
        assert_allclose([null.moment(order) for order in range(5)], raw, rtol=1e-12)
        assert_allclose(null.mean(), raw[1], rtol=1e-14)
        assert_allclose(null.var(), float(variance), rtol=1e-13, atol=1e-16)
        skewness, kurtosis = null.stats("sk")
        if variance == 0:
            assert null.std() == 0.0
            assert np.isnan([skewness, kurtosis]).all()
            continue
        deviation = math.sqrt(variance)
        assert_allclose(skewness, float(central_moment(expected, 3)) / deviation**3, atol=1e-12)
        assert_allclose(kurtosis, float(central_moment(expected, 4)) / deviation**4 - 3, atol=1e-11)


@pytest.mark.parametrize(
    ("n", "m", "before", "inside", "counted"),
    [
        (60, 25, 10, 30, 7),
        (60, 25, 30, 10, 7),
        (80, 70, 40, 25, 24),
        (100, 12, 3, 90, 1),
        (100, 30, 0, 77, 33),
        (150, 60, 70, 60, 59),
        (150, 2, 70, 60, 30),
    ],
)
def test_straddling_block_against_sums_of_exact_counts(n, m, before, inside, counted):
    tie_sizes = [size for size in (before, inside, n - before - inside) if size]
    k = before + counted
    null = metric_null_distribution(n, m, tie_sizes=tie_sizes, metric=f"precision@{k}")
    low, high = null.support()
    for share in (0.0, 0.1, 0.35, 0.5, 0.6, 0.9, 1.0):
        hits = Fraction(round((low + share * (high - low)) * k * inside), inside)
        exact = straddled_tail(hits, n, m, before, inside, counted)
        strictly = straddled_tail(hits + Fraction(1, 10**9), n, m, before, inside, counted)
        x = float(hits / k)
        assert_allclose(null.pvalue(x), float(exact), rtol=1e-12)
        assert_allclose(null.cdf(x), float(1 - strictly), rtol=1e-12)
        assert_allclose(null.sf(x), float(strictly), rtol=1e-12)


def test_the_engine_for_any_additive_statistic_gives_the_same_distribution():
    for tie_sizes, k in ((None, 9), (np.array([4, 8, 3, 15]), 9), (np.array([2] * 15), 8)):
        for metric, make in (
            (RecallAtK, DISTRIBUTIONS["recall"]),
            (PrecisionAtK, DISTRIBUTIONS["precision"]),
        ):
            increments = increments_of(metric(k), 30, 11, tie_sizes)
            listing = atoms(increments, 11, limit=1e7)
            listed = ListedDistribution(listing.values, listing.log_counts)
            null = make(30, 11, k=k, tie_sizes=tie_sizes)
            x = listed.values
            # Atoms that differ by rounding are one.
            above, below = listed.tail(x * (1 - 1e-12), 1)[0], listed.tail(x * (1 + 1e-12), -1)[0]
            assert_allclose(null.pvalue(x), above, rtol=1e-11)
            assert_allclose(null.cdf(x), below, rtol=1e-11)


@pytest.mark.parametrize(
    ("n", "m", "tie_sizes", "k", "metric"),
    [
        (9, 3, None, 4, "recall"),
        (9, 3, None, 2, "precision"),
        (9, 3, (4, 2, 3), 5, "recall"),
        (9, 3, (1, 2, 6), 2, "precision"),
        (9, 3, (2, 3, 4), 2, "precision"),
        (9, 3, (2, 7), 1, "recall"),
        (9, 3, (4, 5), 2, "precision"),
    ],
)
def test_probability_of_the_best_value(n, m, tie_sizes, k, metric):
    null = enumerated(n, m, tie_sizes, k, metric)
    best = Fraction(min(m, k), m if metric == "recall" else k)
    share = Fraction(null.get(best, 0), math.comb(n, m))
    sizes = None if tie_sizes is None else np.array(tie_sizes)
    statistic = {"recall": RecallAtK, "precision": PrecisionAtK}[metric](k)
    log_p = statistic.log_probability_of_best(n, m, sizes)
    assert_allclose(np.exp(log_p), float(share), rtol=1e-13)


def test_best_values():
    assert RecallAtK(5).best(100, 20) == 0.25
    assert PrecisionAtK(5).best(100, 20) == 1.0
    assert PrecisionAtK(50).best(100, 20) == 0.4
    assert RecallAtK(50).best(100, 20) == 1.0
    assert AveragePrecision().best(100, 20) == 1.0
    assert AveragePrecision(5).best(100, 20) == 1.0
    assert AveragePrecision(5, "positives").best(100, 20) == 0.25


def test_statistics_are_compared_by_value():
    assert RecallAtK(3) == RecallAtK(3)
    assert RecallAtK(3) != PrecisionAtK(3)
    assert RecallAtK(3) != RecallAtK(4)
    assert RecallAtK(3) != AveragePrecision(3)
    assert len({RecallAtK(3), RecallAtK(3), RecallAtK(4)}) == 2
    assert RecallAtK(9).horizon == 9


def test_shuffled_blocks_and_the_general_sampler():
    sizes = np.array([3, 4, 5])
    statistic = PrecisionAtK(5)
    starts = np.cumsum(sizes) - sizes
    shuffled = statistic.shuffled(starts, sizes, int(np.sum(sizes)), 6)
    assert_allclose(shuffled.total([2, 3, 1]), float(hits_at_k(sizes, (2, 3, 1), 5) / 5))
    draws = NullSampler(statistic, 12, 6, sizes).draw(20_000, np.random.default_rng(0))
    null = metric_null_distribution(12, 6, tie_sizes=sizes, metric="precision@5")
    assert abs(draws.mean() - null.mean()) < 5 * null.std() / math.sqrt(20_000)


# ---------------------------------------------------------------------------------------------
# Large problems
# ---------------------------------------------------------------------------------------------


def test_far_tails_without_ties():
    # Published: log P(H > 1e4) and log P(H >= 1e4).
    null = metric_null_distribution(10**7, 10**6, metric="recall@50000")
    assert_allclose(null.logsf(0.01), -2239.771, atol=6e-4)
    assert_allclose(null.log_pvalue(0.01), -2238.955, atol=6e-4)
    assert null.pvalue(0.01) == 0.0
    assert null.relative_error(0.01) < 1e-10


def test_huge_samples_take_no_memory():
    n, m, k = 10**12, 10**11, 5 * 10**10
    null = metric_null_distribution(n, m, metric=f"precision@{k}")
    # The null distribution is close to normal; P(H >= mean) includes half of the middle term.
    z = np.array([-3.0, 0.0, 2.0, 5.0])
    hits = np.rint((null.mean() + z * null.std()) * k)
    exact_z = (hits - 0.5 - null.mean() * k) / (null.std() * k)
    assert_allclose(null.pvalue(hits / k), stats.norm.sf(exact_z), rtol=5e-4)
    assert_allclose(null.pvalue(0.1), 0.5, rtol=1e-5)
    median = null.median()
    assert abs(median - 0.1) * k < 1.0
    assert null.cdf(median) >= 0.5 > null.cdf(median - 1 / k)


def test_neighbouring_counts_are_distinguished_beyond_the_relative_tolerance():
    # One hit more is a relative difference of 1e-13.
    n, m, k = 4 * 10**13, 2 * 10**13, 2 * 10**13
    null = metric_null_distribution(n, m, metric=f"precision@{k}")
    hits = 10**13 + np.arange(3)
    step = -np.diff(null.pvalue(hits / k))
    assert_allclose(step, stats.norm.pdf(0) / (null.std() * k), rtol=1e-3)


def test_huge_straddling_block_is_nearly_normal():
    n, m = 10**9, 10**7
    tie_sizes = [10**6, 4 * 10**6, n - 5 * 10**6]
    null = metric_null_distribution(n, m, tie_sizes=tie_sizes, metric=f"recall@{2 * 10**6}")
    x = null.mean() + np.array([-2.0, 0.0, 1.0, 3.0]) * null.std()
    skewness = null.stats("s")
    z = (x - null.mean()) / null.std()
    # First term of the Edgeworth series.
    edgeworth = stats.norm.sf(z) + skewness / 6 * (z**2 - 1) * stats.norm.pdf(z)
    assert_allclose(null.sf(x), edgeworth, rtol=5e-3)
    assert_allclose(null.sf(x) + null.cdf(x), 1.0, rtol=1e-12)


def test_steps_of_a_straddling_block_too_fine_for_64_bits():
    n, m = 10**12, 10**4
    tie_sizes = [10**11, 7 * 10**10 + 1, n - 17 * 10**10 - 1]
    null = metric_null_distribution(
        n, m, tie_sizes=tie_sizes, metric=f"recall@{10**11 + 27_182_818_284}"
    )
    x = null.mean() + np.array([0.0, 2.0]) * null.std()
    assert_allclose(null.sf(x), stats.norm.sf([0.0, 2.0]), rtol=0.05)
    assert_allclose(null.sf(x) + null.cdf(x), 1.0, rtol=1e-12)
    quantile = null.ppf(null.cdf(x[1]))
    assert_allclose(quantile, x[1], rtol=1e-5)
    assert_allclose(null.cdf(quantile), null.cdf(x[1]), rtol=1e-13)


def test_scalars_are_python_floats():
    null = metric_null_distribution(20, 7, tie_sizes=[4, 16], metric="recall@5")
    for value in (
        null.mean(),
        null.var(),
        null.std(),
        null.median(),
        null.pvalue(0.3),
        null.ppf(0.1),
    ):
        assert type(value) is float
    assert all(type(value) is float for value in null.support())
    result = recall_at_k_test([1, 0, 1], [3, 2, 1], k=2)
    for name in ("statistic", "pvalue", "log10_pvalue", "zscore", "adjusted_statistic", "hits"):
        assert type(getattr(result, name)) is float, name
    assert type(result.k) is int


@pytest.mark.parametrize("k", [5, 0.1, np.uint8(5), np.array(0.0801)[()]])
def test_ints_and_fractions_of_the_samples(k):
    result = recall_at_k_test(*labels_and_scores((1,) * 50, (1, 4, 9, 30)), k=k)
    assert (result.k, result.hits) == (5, 2.0)
    assert type(result.k) is int


def test_fractions_round_up():
    cuts = [RecallAtK(k).at(1000).k for k in (0.07, 0.0701, 1e-9)]
    assert cuts == [70, 71, 1]


# ---------------------------------------------------------------------------------------------
# Other methods
# ---------------------------------------------------------------------------------------------


@each_metric
def test_binomial_counts_whole_hits(metric):
    k, share = 12, 9 / 40
    null = DISTRIBUTIONS[metric](40, 9, k=k, method="binomial")
    divisor = 9 if metric == "recall" else k
    h = np.arange(10)
    binomial = stats.binom(k, share)
    assert_allclose(null.pvalue(h / divisor), binomial.sf(h - 1), rtol=1e-12)
    assert_allclose(null.cdf(h / divisor), binomial.cdf(h), rtol=1e-12)
    assert_allclose(null.pvalue((h + 0.3) / divisor), binomial.sf(h), rtol=1e-12)
    assert_allclose(null.ppf([0.1, 0.7]), binomial.ppf([0.1, 0.7]) / divisor)
    assert_allclose(null.isf([0.1, 0.7]), binomial.isf([0.1, 0.7]) / divisor)
    assert null.support() == (0.0, k / divisor)
    assert null.method == "binomial"
    assert null.relative_error(0.3) == np.inf


def test_binomial_underflow_is_bounded():
    null = metric_null_distribution(10**6, 1000, method="binomial", metric="precision@5000")
    with np.errstate(divide="ignore"):
        assert stats.binom(5000, 0.001).sf(399) == 0.0 == null.pvalue(400 / 5000)
    h = np.arange(400, 460)
    exact = math.log(sum(math.comb(5000, int(i)) * 999 ** (5000 - int(i)) for i in h))
    exact -= 5000 * math.log(1000)
    assert_allclose(null.log_pvalue(400 / 5000), exact, rtol=1e-5)
    low = metric_null_distribution(10**6, 900_000, method="binomial", metric="precision@5000")
    # Terms fall by a factor of six or more; those that are left out are below 1e-70 of the sum.
    terms = (math.comb(5000, i) * 9**i for i in range(2900, 3001))
    exact = math.log(sum(terms)) - 5000 * math.log(10)
    assert_allclose(low.log_pvalue(0.6, "less"), exact, rtol=1e-5)
    assert low.log_pvalue(1.5) == -np.inf


@each_metric
@pytest.mark.parametrize(("tie_sizes", "step"), [(None, 1.0), ([4, 9, 27], 1 / 3), ([12, 28], 1.0)])
def test_normal_has_exact_moments_and_half_a_step(metric, tie_sizes, step):
    # k = 10 leaves 6 places for 9 items: values are multiples of 1/3.
    k = 12 if tie_sizes == [12, 28] else 10
    null = DISTRIBUTIONS[metric](40, 9, k=k, tie_sizes=tie_sizes, method="normal")
    exact = DISTRIBUTIONS[metric](40, 9, k=k, tie_sizes=tie_sizes)
    assert (null.mean(), null.var()) == (exact.mean(), exact.var())
    divisor = 9 if metric == "recall" else k
    hits = np.arange(0.0, 7.0, step)
    normal = stats.norm(null.mean() * divisor, null.std() * divisor)
    assert_allclose(null.pvalue(hits / divisor), normal.sf(hits - step / 2), rtol=1e-11)
    assert_allclose(null.cdf(hits / divisor), normal.cdf(hits + step / 2), rtol=1e-11)
    assert_allclose(null.log_pvalue(hits / divisor), normal.logsf(hits - step / 2), rtol=1e-11)
    q = np.array([0.02, 0.4, 0.5, 0.9])
    for quantile, side in ((null.ppf(q), normal.ppf(q)), (null.isf(q), normal.isf(q))):
        assert_allclose(quantile * divisor, np.ceil((side - step / 2) / step) * step, rtol=1e-12)
    assert np.all(null.cdf(null.ppf(q)) >= q)
    assert np.all(null.sf(null.isf(q)) <= q)
    assert null.support() == (-np.inf, np.inf)


@pytest.mark.parametrize("method", ["analytic", "permutation", "binomial", "normal"])
def test_one_value_under_every_method(method):
    # All samples; no positives; only positives; a single block.
    for n, m, k, ties, value in (
        (20, 5, 20, None, 1.0),
        (20, 0, 20, None, 0.0),
        (20, 20, 10, None, 0.5),
        (20, 5, 10, [20], 0.5),
    ):
        null = metric_null_distribution(n, m, tie_sizes=ties, method=method, metric=f"recall@{k}")
        assert null.var() == null.std() == 0.0
        assert null.pvalue(value) == null.pvalue(value, "less") == 1.0
        assert null.sf(value) == 0.0
        assert null.pvalue(value + 0.1) == 0.0
        assert null.ppf(0.3) == null.isf(0.3) == value
        assert null.support() == (value, value)
        assert np.all(null.rvs(3, random_state=0) == value)


@each_metric
def test_permutation_is_near_the_exact_null_distribution(metric):
    options = {"k": 9, "tie_sizes": [5, 6, 9]}
    exact = DISTRIBUTIONS[metric](20, 8, **options)
    null = DISTRIBUTIONS[metric](20, 8, method="permutation", **options)
    x = exact.mean() + 0.7 * exact.std()
    p, error = null.pvalue(x), null.relative_error(x)
    assert np.all(np.abs(p / exact.pvalue(x) - 1) < 5 * error)
    assert_array_equal(np.rint(p * 10_000), np.round(p * 10_000, 8))
    again = DISTRIBUTIONS[metric](20, 8, method="permutation", random_state=1, **options)
    assert not np.array_equal(again.pvalue(x), p)
    assert null.method == "permutation"
    assert np.all(null.pvalue(2.0) == 1 / 10_000)


@pytest.mark.parametrize("method", ["analytic", "permutation", "binomial", "normal"])
def test_draws_have_the_moments_of_the_distribution(method):
    null = metric_null_distribution(
        50, 20, tie_sizes=[6, 10, 34], method=method, metric="recall@22"
    )
    draws = null.rvs(20_000, random_state=3)
    assert null.rvs((4, 1), random_state=0).shape == (4, 1)
    assert_allclose(draws, null.rvs(20_000, random_state=3))
    assert np.all(np.abs(draws.mean() - null.mean()) < 5 * null.std() / math.sqrt(20_000))
    if method != "binomial":
        assert_allclose(draws.var(), null.var(), rtol=0.06)


def test_draws_from_more_items_than_the_generator_takes():
    null = metric_null_distribution(10**10, 10**9, metric=f"precision@{10**4}")
    draws = null.rvs(2000, random_state=0)
    assert abs(draws.mean() - null.mean()) < 5 * null.std() / math.sqrt(2000)
    assert_allclose(draws.std(), null.std(), rtol=0.1)
    assert_array_equal(np.rint(draws * 10**4), np.round(draws * 10**4, 6))


# ---------------------------------------------------------------------------------------------
# Tests
# ---------------------------------------------------------------------------------------------


@each_metric
@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_result_fields(metric, alternative):
    ranking = Ranking.from_counts([3, 4, 5], [2, 2, 2])
    result = TESTS[metric](ranking, k=5, alternative=alternative)
    null = enumerated(12, 6, (3, 4, 5), 5, metric)
    hits = hits_at_k((3, 4, 5), (2, 2, 2), 5)
    best = Fraction(5, 6) if metric == "recall" else Fraction(1)
    value = hits / (6 if metric == "recall" else 5)
    above, below = tails(null, value)
    pvalue = {"greater": above, "less": below, "two-sided": min(1, 2 * min(above, below))}
    mean = float(sum(v * c for v, c in null.items()) / Fraction(math.comb(12, 6)))
    assert isinstance(result, MetricTestResult)
    assert_allclose(result.statistic, float(value), rtol=1e-15)
    assert_allclose(result.pvalue, pvalue[alternative], rtol=1e-12)
    assert_allclose(result.log10_pvalue, math.log10(pvalue[alternative]), rtol=1e-12)
    deviation = math.sqrt(central_moment(null, 2))
    assert_allclose(result.zscore, (float(value) - mean) / deviation, rtol=1e-12)
    adjusted = (float(value) - mean) / (float(best) - mean)
    assert_allclose(result.adjusted_statistic, adjusted, rtol=1e-12)
    assert (result.n_samples, result.n_positives, result.k) == (12, 6, 5)
    assert (result.alternative, result.method) == (alternative, "analytic")
    assert result.hits == float(hits)
    assert 1e-13 <= result.pvalue_relative_error < 1e-12
    assert result.null_distribution.tie_sizes.tolist() == [3, 4, 5]


def test_recall_and_precision_have_the_same_pvalue():
    y_true, y_score = labels_and_scores((3, 5, 12), (1, 2, 5, 9))
    for k in (2, 6, 9):
        recall, precision = (test(y_true, y_score, k=k) for test in TESTS.values())
        assert_allclose(recall.pvalue, precision.pvalue, rtol=1e-13)
        assert_allclose(recall.zscore, precision.zscore, rtol=1e-12)
        assert_allclose(recall.adjusted_statistic, precision.adjusted_statistic, rtol=1e-12)


def test_perfect_rankings_are_adjusted_to_one():
    y_true = np.r_[np.ones(6, int), np.zeros(14, int)]
    for test, k in itertools.product(TESTS.values(), (2, 6, 13)):
        result = test(y_true, np.arange(20)[::-1], k=k)
        assert_allclose(result.adjusted_statistic, 1.0, rtol=1e-14)
    for normalize in ("min", "positives"):
        result = metric_test(y_true, np.arange(20)[::-1], metric=AveragePrecision(3, normalize))
        assert_allclose(result.adjusted_statistic, 1.0, rtol=1e-14)


@each_metric
def test_constant_scores_are_no_evidence(metric):
    y_true = np.r_[np.ones(6, int), np.zeros(14, int)]
    # At k = 20 no ranking is better than another.
    for k, adjusted in ((2, 0.0), (6, 0.0), (20, np.nan)):
        result = TESTS[metric](y_true, np.zeros(20), k=k)
        assert_allclose(result.statistic, result.null_distribution.mean(), rtol=1e-14)
        assert (result.pvalue, result.log10_pvalue) == (1.0, 0.0)
        assert math.isnan(result.zscore)
        assert_array_equal(result.adjusted_statistic, adjusted)


@each_metric
@pytest.mark.parametrize("method", ["auto", "permutation", "binomial", "normal"])
def test_no_positives(metric, method):
    message = f"{metric.capitalize()} at 3 is undefined without positives in y_true and is set to 0"
    with pytest.warns(UndefinedMetricWarning, match=message) as caught:
        result = metric_test(np.zeros(9, int), np.arange(9), metric=f"{metric}@3", method=method)
    assert caught[0].filename == __file__
    assert np.all(result.statistic == 0.0)
    assert np.all(result.pvalue == 1.0)
    assert np.all(result.log10_pvalue == 0.0)
    assert np.isnan(result.zscore).all()
    assert np.isnan(result.adjusted_statistic).all()


@each_metric
def test_only_positives(metric):
    for k, recall in ((2, 0.25), (8, 1.0)):
        result = TESTS[metric](np.ones(8, int), np.arange(8), k=k)
        assert result.statistic == (recall if metric == "recall" else 1.0)
        assert result.pvalue == 1.0
        assert math.isnan(result.zscore)
        assert math.isnan(result.adjusted_statistic)


def test_jobs_and_seeds():
    y_true, y_score = labels_and_scores((1,) * 30, (1, 2, 5, 9, 20))
    one = recall_at_k_test(y_true, y_score, k=6, method="permutation", n_resamples=199)
    two = recall_at_k_test(y_true, y_score, k=6, method="permutation", n_resamples=199, n_jobs=2)
    assert one.pvalue == two.pvalue
    assert one.method == "permutation"


def test_repr_names_the_test():
    y_true, y_score = labels_and_scores((1,) * 8, (1, 2, 4))
    assert repr(recall_at_k_test(y_true, y_score, k=2)) == (
        "MetricTestResult(metric=RecallAtK(k=2), statistic=0.6667, chance=0.25, pvalue=0.1071, "
        "zscore=1.972, n_samples=8, n_positives=3, alternative='greater', method='analytic')"
    )
    null = metric_null_distribution(8, 3, tie_sizes=[5, 3], metric="recall@2")
    assert repr(null) == (
        "TopKNullDistribution(RecallAtK(k=2), n_samples=8, n_positives=3, "
        "n_blocks=2, method='analytic')"
    )


# ---------------------------------------------------------------------------------------------
# Hits needed
# ---------------------------------------------------------------------------------------------

ALPHA = [0.1, 0.05, 0.01, 0.001]


@pytest.mark.parametrize(
    ("size", "method", "needed"),
    [
        ((1000, 100, 100), "analytic", [15, 16, 18, 21]),
        ((1000, 100, 100), "binomial", [15, 16, 19, 21]),
        ((2000, 500, 500), "analytic", [137, 140, 146, 152]),
        ((2000, 500, 500), "binomial", [138, 142, 149, 157]),
    ],
)
def test_published_numbers_of_hits(size, method, needed):
    n, m, k = size
    assert_array_equal(min_hits_at_k(n, m, k=k, alpha=ALPHA, method=method), needed)


def test_published_probabilities_and_interpolation():
    null = metric_null_distribution(1000, 100, metric="recall@100")
    assert_allclose(null.pvalue([0.15, 0.16]), [0.0621669, 0.0319640], atol=5e-8)
    assert_allclose(min_hits_at_k(1000, 100, k=100, interpolate=True), 15.403, atol=5e-4)


@pytest.mark.parametrize("method", ["analytic", "binomial", "normal"])
def test_hits_needed_are_the_first_that_are_significant(method):
    cuts, alpha = range(1, 61), np.array([0.2, 0.05, 0.003])
    every = min_hits_at_k(60, 13, k=cuts, alpha=alpha[:, None], method=method)
    assert every.shape == (3, 60)
    assert every.dtype == np.int64
    for k, needed in zip(cuts, every.T, strict=True):
        null = metric_null_distribution(60, 13, method=method, metric=f"recall@{k}")
        pvalue = null.pvalue(needed / 13)
        assert np.all((pvalue <= alpha * (1 + 1e-9)) | (needed == min(13, k) + 1))
        before = null.pvalue((needed - 1) / 13)
        assert np.all((before > alpha * (1 - 1e-9)) | (needed == 0))


def test_normal_numbers_of_hits():
    # From tables of the normal distribution: mean 10, variance 100 * .1 * .9 * 900 / 999.
    limit = 10 + 0.5 + stats.norm.isf(ALPHA) * math.sqrt(9 * 900 / 999)
    needed = min_hits_at_k(1000, 100, k=100, alpha=ALPHA, method="normal")
    assert_array_equal(needed, np.ceil(limit))


def test_where_no_number_of_hits_is_enough():
    for method in ("analytic", "binomial", "normal"):
        assert min_hits_at_k(10, 2, k=10, method=method) == 3
        assert min_hits_at_k(10, 0, k=4, alpha=0.01, method="analytic") == 1
    assert min_hits_at_k(10, 4, k=1) == 2
    assert min_hits_at_k(10, 10, k=3) == 4
    assert type(min_hits_at_k(10, 4, k=1)) is int


@pytest.mark.parametrize("method", ["analytic", "binomial", "normal"])
def test_interpolation_lies_between_the_counts(method):
    k, alpha = np.arange(1, 51), 0.05
    whole = min_hits_at_k(50, 20, k=k, method=method)
    between = min_hits_at_k(50, 20, k=k, method=method, interpolate=True)
    assert np.all((between > whole - 1) & (between <= whole))
    null = metric_null_distribution(50, 20, method=method, metric="recall@30")
    h0 = whole[29] - 1
    p0, p1 = null.pvalue(h0 / 20), null.pvalue((h0 + 1) / 20)
    assert_allclose(between[29], h0 + (p0 - alpha) / (p0 - p1), rtol=1e-10)
    assert type(min_hits_at_k(50, 20, k=30, interpolate=True, method=method)) is float


def test_hits_needed_among_very_many():
    needed = min_hits_at_k(10**12, 10**9, k=10**9, alpha=[0.05, 1e-6])
    # Nearly Poisson with mean 1e6.
    assert_allclose(needed, stats.norm.isf([0.05, 1e-6]) * 1e3 + 1e6, rtol=2e-5)


# ---------------------------------------------------------------------------------------------
# Messages
# ---------------------------------------------------------------------------------------------


@each_metric
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k": 0}, ValueError, "k must be at least 1 as a number of items; got 0"),
        ({"k": 9}, ValueError, "k must be between 1 and n_samples=8; got 9"),
        ({"k": 1.0}, ValueError, "k as a float is a fraction of the items between 0 and 1"),
        ({"k": "3"}, TypeError, "k must be an int or a float; got '3' of type str"),
        ({"k": True}, TypeError, "k must be an int or a float; got True of type bool"),
        ({"k": [2, 3]}, TypeError, r"k must be an int or a float; got \[2, 3\]"),
        ({"k": 3, "method": "pearson3"}, ValueError, r"'binomial' for \w+ at 3; got 'pearson3'"),
        ({"k": 3, "method": "zhang_su"}, ValueError, r"'normal', 'binomial' for \w+ at 3; got 'zh"),
        ({"k": 3, "method": "exact"}, ValueError, "method must be one of 'auto', .*; got 'exact'"),
        ({"k": 3, "n_resamples": 0}, ValueError, "n_resamples must be at least 1; got 0"),
        ({"k": 3, "random_state": -1}, ValueError, "random_state must be at least 0; got -1"),
    ],
)
def test_messages(metric, options, error, message):
    with pytest.raises(error, match=message):
        DISTRIBUTIONS[metric](8, 3, **options)
    with pytest.raises(error, match=message):
        TESTS[metric]([1, 1, 0, 1, 0, 0, 0, 0], np.arange(8), **options)


def test_recall_at_no_k():
    with pytest.raises(TypeError, match="k must be an int or a float; got None of type NoneType"):
        recall_at_k_test([1, 1, 0, 1, 0, 0, 0, 0], np.arange(8), k=None)


@each_metric
def test_more_messages(metric):
    with pytest.raises(ValueError, match="alternative must be one of 'greater', 'less'"):
        TESTS[metric]([0, 1], [1, 2], k=1, alternative="larger")
    with pytest.raises(ValueError, match="n_positives must be between 0 and n_samples=8; got 9"):
        DISTRIBUTIONS[metric](8, 9, k=1)
    with pytest.raises(ValueError, match="tie_sizes must add up to n_samples=8"):
        DISTRIBUTIONS[metric](8, 3, k=1, tie_sizes=[3, 4])
    with pytest.raises(TypeError, match="y_score is missing"):
        TESTS[metric]([0, 1], k=1)
    null = DISTRIBUTIONS[metric](8, 3, k=2)
    with pytest.raises(ValueError, match="size must be an int of at least 0"):
        null.rvs(-1)
    with pytest.raises(ValueError, match="order must be an integer from 0 to 4; got 5"):
        null.moment(5)
    with pytest.raises(ValueError, match="moments must be letters of 'mvsk'; got 'x'"):
        null.stats("x")
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        null.interval(1.5)


def test_binomial_is_not_for_average_precision():
    with pytest.raises(ValueError, match=r"method must be one of .*; got 'binomial'"):
        ap_null_distribution(8, 3, method="binomial")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k": 0}, ValueError, "k must be at least 1 as a number of items; got 0"),
        ({"k": 3, "alpha": 0.0}, ValueError, "alpha must lie between 0 and 1, exclusive; got 0.0"),
        ({"k": 3, "alpha": [0.1, 1.0]}, ValueError, r"exclusive; got \[0.1, 1.0\]"),
        ({"k": 3, "alpha": np.nan}, ValueError, "exclusive; got nan"),
        ({"k": 3, "alpha": "small"}, TypeError, "alpha must be a float or an array of floats"),
        ({"k": [1, 2], "alpha": [0.1, 0.2, 0.3]}, ValueError, "cannot be broadcast against each"),
        (
            {"k": 3, "method": "auto"},
            ValueError,
            "'binomial', 'normal' for counts at k; got 'auto'",
        ),
        ({"k": 3, "method": "pearson3"}, ValueError, "for counts at k; got 'pearson3'"),
    ],
)
def test_messages_of_hits_needed(options, error, message):
    with pytest.raises(error, match=message):
        min_hits_at_k(8, 3, **options)
