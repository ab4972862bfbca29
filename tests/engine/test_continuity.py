"""Answers on both sides of every limit at which the engine takes another algorithm.

Problems just below and just above a limit have the same null distribution, or distributions that
are related by an identity. The answers agree within the sum of their stated errors. All of them are
computed by public calls, so that no test depends on how the engine is built.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from audit.oracles import TwoHalves, linear_sum, oracle_of
from by_name import ap_null_distribution

from sklearn_rankinf import (
    DiscountedCumulativeGain,
    RankStatistic,
    metric_null_distribution,
)

pytestmark = pytest.mark.numeric

# Standard deviations from the mean.
Z = np.array([-1.0, 0.01, 2.0, 5.0, 12.0])
Z_OF_SPLIT = np.array([-1.0, 2.0, 6.0])
ALTERNATIVES = ("greater", "less")


def points(null, z=Z):
    """Values within the support, none of them attained."""
    low, high = null.support()
    x = null.mean() + np.asarray(z) * null.std()
    return x[(low < x) & (x < high)]


def answers(null, x, alternative):
    """P-values and the errors that are stated, neither of which may be unknown."""
    p, relative = null.pvalue(x, alternative), null.relative_error(x, alternative)
    assert np.all(relative < 0.1), relative
    return p, relative * p


def assert_same(first, second, x):
    """Both null distributions have the same p-values, within the errors that they state."""
    for alternative in ALTERNATIVES:
        p, error = answers(first, x, alternative)
        other, other_error = answers(second, x, alternative)
        assert np.all(np.abs(p - other) <= error + other_error), (alternative, p, other)


def assert_exact(null, oracle, x):
    """P-values are within their stated errors of what an oracle counts."""
    for alternative in ALTERNATIVES:
        p, error = answers(null, x, alternative)
        low, high = np.array([oracle.pvalue(value, alternative) for value in x.tolist()]).T
        # The oracle has rounding errors too.
        assert np.all(low * (1.0 - 1e-13) - error <= p), (alternative, p, low)
        assert np.all(p <= high * (1.0 + 1e-13) + error), (alternative, p, high)


@dataclass(frozen=True)
class First(RankStatistic):
    """A positive at rank r up to `last` adds ``1 / log2(r + 1)``, and others nothing."""

    last: int

    def weights(self, ranks, n_samples, n_positives):
        ranks = np.asarray(ranks)
        return np.where(ranks <= self.last, 1.0 / np.log2(ranks + 1.0), 0.0)


def blocks_of(n_items, n_blocks):
    """Sizes of blocks that are as equal as they can be."""
    size, n_larger = divmod(n_items, n_blocks)
    return [size + 1] * n_larger + [size] * (n_blocks - n_larger)


# ---------------------------------------------------------------------------------------------
# Lists with one rank more
# ---------------------------------------------------------------------------------------------

# The last rank of n + 1 has a positive with probability q = m / (n + 1), which adds a constant. If
# S(n, m) is the sum over m positives among n ranks, and w what a positive at the last rank adds,
#     P(S(n + 1, m) >= s) = (1 - q) P(S(n, m) >= s) + q P(S(n, m - 1) >= s - w).


def assert_recursion(longer, same, fewer, q, of_fewer, z=Z):
    x = points(longer, z)
    assert x.size >= 3
    for alternative in ALTERNATIVES:
        p, error = answers(longer, x, alternative)
        without, its_error = answers(same, x, alternative)
        with_it, other_error = answers(fewer, of_fewer(x), alternative)
        mixed, allowed = (1.0 - q) * without + q * with_it, (1.0 - q) * its_error + q * other_error
        assert np.all(np.abs(p - mixed) <= error + allowed), (alternative, p, mixed)


@pytest.mark.parametrize(
    ("n", "m"),
    [
        # 16 and 64 blocks, of more outcomes than are listed whole and of fewer.
        (16, 8),
        (64, 8),
        (64, 30),
        # Five million outcomes: C(106, 4) are fewer, C(107, 4) are more, and so on.
        (106, 4),
        pytest.param(64, 5, marks=pytest.mark.long),
        pytest.param(48, 6, marks=pytest.mark.long),
        (26, 12),
        # 1000 blocks.
        pytest.param(1000, 5, marks=pytest.mark.long),
        (1000, 100),
        # Merging of what is left of the top stratum; four and eight positives are enough for it.
        pytest.param(2500, 4, marks=pytest.mark.long),
        pytest.param(2500, 8, marks=pytest.mark.long),
        # Lists by halves, strata, branches, and contours of all blocks.
        (5000, 2),
        pytest.param(5000, 8, marks=pytest.mark.long),
        pytest.param(5000, 60, marks=pytest.mark.long),
        # Three positives are counted in up to 4000 blocks, two in up to millions.
        (4000, 3),
        (4000, 4),
        (20_000, 2),
        pytest.param(20_000, 40, marks=pytest.mark.long),
        pytest.param(50_000, 20, marks=pytest.mark.long),
        pytest.param(20_000, 9, marks=pytest.mark.long),
        pytest.param(200_000, 9, marks=pytest.mark.long),
        pytest.param(5000, 4, marks=pytest.mark.long),
        pytest.param(5000, 3, marks=pytest.mark.long),
        pytest.param(50_000, 3, marks=pytest.mark.long),
        pytest.param(200_000, 8, marks=pytest.mark.long),
        pytest.param(200_000, 200, marks=pytest.mark.long),
        pytest.param(1_000_000, 2, marks=pytest.mark.long),
        pytest.param(1_000_000, 30, marks=pytest.mark.long),
        pytest.param(10_000_000, 300, marks=pytest.mark.long),
    ],
)
def test_average_precision_with_one_rank_more(n, m):
    longer, same, fewer = (ap_null_distribution(*each) for each in [(n + 1, m), (n, m), (n, m - 1)])
    assert_recursion(longer, same, fewer, m / (n + 1), lambda x: (m * x - m / (n + 1)) / (m - 1))


@pytest.mark.long
def test_two_positives_are_counted_up_to_five_million_ranks():
    # One rank more, and only upper bounds are known.
    n, m = 5_000_000, 2
    longer, same, fewer = (ap_null_distribution(*each) for each in [(n + 1, m), (n, m), (n, m - 1)])
    x, q = points(longer), m / (n + 1)
    for alternative in ALTERNATIVES:
        without, its_error = answers(same, x, alternative)
        with_it, other_error = answers(fewer, m * x - q, alternative)
        mixed, allowed = (1.0 - q) * without + q * with_it, (1.0 - q) * its_error + q * other_error
        p, relative = longer.pvalue(x, alternative), longer.relative_error(x, alternative)
        error = np.where(relative < 0.1, relative * p, np.inf)
        assert np.all(mixed - allowed <= np.where(relative < 0.1, p + error, p))
        assert np.all(p <= mixed + allowed + error)


@pytest.mark.parametrize(
    ("n_blocks", "size", "m"),
    [
        pytest.param(16, 12, 25, marks=pytest.mark.long),
        pytest.param(64, 8, 30, marks=pytest.mark.long),
        pytest.param(16, 200, 100, marks=pytest.mark.long),
        pytest.param(64, 30, 60, marks=pytest.mark.long),
        pytest.param(1000, 3, 50, marks=pytest.mark.long),
        pytest.param(2500, 2, 50, marks=pytest.mark.long),
        (5000, 2, 20),
    ],
)
def test_average_precision_with_one_block_more(n_blocks, size, m):
    n, sizes = n_blocks * size, [size] * n_blocks
    longer = ap_null_distribution(n + 1, m, tie_sizes=[*sizes, 1])
    same, fewer = (ap_null_distribution(n, hits, tie_sizes=sizes) for hits in (m, m - 1))
    assert_recursion(longer, same, fewer, m / (n + 1), lambda x: (m * x - m / (n + 1)) / (m - 1))


@pytest.mark.parametrize(
    ("n", "m"),
    [
        (64, 20),
        pytest.param(5000, 15, marks=pytest.mark.long),
        pytest.param(4000, 3, marks=pytest.mark.long),
        pytest.param(106, 4, marks=pytest.mark.long),
        pytest.param(2500, 60, marks=pytest.mark.long),
        pytest.param(20_000, 20, marks=pytest.mark.long),
        pytest.param(50_000, 60, marks=pytest.mark.long),
    ],
)
def test_discounted_gain_with_one_rank_more(n, m):
    problems = [(n + 1, m), (n, m), (n, m - 1)]
    nulls = [
        metric_null_distribution(*each, metric=DiscountedCumulativeGain()) for each in problems
    ]
    assert_recursion(*nulls, m / (n + 1), lambda x: x - 1.0 / math.log2(n + 2.0))


# ---------------------------------------------------------------------------------------------
# Blocks that may be split at will
# ---------------------------------------------------------------------------------------------

LONG = pytest.mark.long
LIMITS = [
    (64, 20),
    pytest.param(5000, 60, marks=LONG),
    pytest.param(1000, 60, marks=LONG),
    pytest.param(2500, 60, marks=LONG),
    pytest.param(20_000, 40, marks=LONG),
    pytest.param(50_000, 40, marks=LONG),
    pytest.param(200_000, 40, marks=LONG),
    pytest.param(1_000_000, 40, marks=LONG),
]


@pytest.mark.parametrize(
    ("limit", "m", "share"),
    [
        (64, 20, 0.2),
        (64, 20, 0.999),
        *(
            pytest.param(*getattr(each, "values", each), share, marks=LONG)
            for each in LIMITS[1:]
            for share in (0.2, 0.999)
        ),
    ],
)
def test_average_precision_at_k_with_one_block_more_behind_k(limit, m, share):
    # Blocks behind rank k are many or few, and add nothing.
    k = max(10, min(limit - 10, int(share * limit)))
    n = k + 2 * limit
    first, second = (
        ap_null_distribution(n, m, k=k, tie_sizes=[1] * k + blocks_of(2 * limit, n_blocks - k))
        for n_blocks in (limit, limit + 1)
    )
    assert_same(first, second, points(first, Z_OF_SPLIT))


@pytest.mark.parametrize(("limit", "m"), LIMITS)
def test_weights_with_one_block_of_no_weight_more(limit, m):
    k = limit - 10
    n = k + limit
    first, second = (
        metric_null_distribution(
            n, m, metric=First(k), tie_sizes=[1] * k + blocks_of(limit, n_blocks - k)
        )
        for n_blocks in (limit, limit + 1)
    )
    assert_same(first, second, points(first, Z_OF_SPLIT))


@pytest.mark.parametrize(
    ("n_first", "n_behind", "m"),
    [
        (12, 200, 20),
        pytest.param(30, 300, 12, marks=LONG),
        (40, 160, 6),
    ],
)
def test_weights_whose_outcomes_multiply(n_first, n_behind, m):
    # The more blocks the last ranks are in the more outcomes there are, of the same values: they
    # are listed whole, by halves, and not at all.
    weights = np.append(1.0 / np.log2(np.arange(1, n_first + 1) + 1.0), 0.0)
    total = linear_sum(np.array([1] * n_first + [n_behind]), weights, m)
    halves = TwoHalves(total, 100_000)
    assert halves.is_affordable
    oracle = oracle_of("halves", total, halves)
    x = None
    for n_blocks in (1, 2, 3, 4, 5, 6, 8, 16, 40):
        null = metric_null_distribution(
            n_first + n_behind,
            m,
            metric=First(n_first),
            tie_sizes=[1] * n_first + blocks_of(n_behind, n_blocks),
        )
        x = points(null) if x is None else x
        assert_exact(null, oracle, x)
