"""Hypergeometric probabilities against exact fractions, scipy, and published far tails."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from sklearn_rankinf._statistics import hypergeometric
from sklearn_rankinf._statistics.hypergeometric import (
    log_pmf,
    log_tail,
    mean_and_deviation,
    min_hits,
    smallest,
)

pytestmark = pytest.mark.numeric


def exact_terms(n, m, k):
    """Numbers of ways to draw 0, 1, ..., k hits."""
    return [math.comb(m, h) * math.comb(n - m, k - h) for h in range(k + 1)]


def log_fraction(part, total):
    """Natural logarithm of a ratio of integers of any size."""
    if part == 0:
        return -math.inf
    if 2 * part > total:
        return math.log1p(-float(Fraction(total - part, total)))
    with localcontext() as context:
        context.prec = 50
        return float((Decimal(part) / Decimal(total)).ln())


def all_sizes(largest):
    return [(n, m, k) for n in range(1, largest + 1) for m in range(n + 1) for k in range(n + 1)]


def random_sizes(n_sizes, largest, seed):
    rng = np.random.default_rng(seed)
    sizes = []
    for _ in range(n_sizes):
        n = int(rng.integers(2, largest))
        sizes.append((n, int(rng.integers(0, n + 1)), int(rng.integers(0, n + 1))))
    return sizes


@pytest.mark.parametrize("size", [all_sizes(9), random_sizes(25, 80, 0), random_sizes(6, 1500, 1)])
def test_probabilities_equal_ratios_of_counts(size):
    for n, m, k in size:
        ways = exact_terms(n, m, k)
        total = math.comb(n, k)
        h = np.arange(-1, k + 2)
        at = [0, *ways, 0]
        above = [sum(ways[max(i, 0) :]) for i in h]
        below = [sum(ways[: i + 1]) for i in h]
        for counts, logs in (
            (at, log_pmf(h, n, m, k)),
            (above, log_tail(h, n, m, k)),
            (below, log_tail(h, n, m, k, -1)),
        ):
            expected = np.array([log_fraction(count, total) for count in counts])
            assert_allclose(logs, expected, rtol=1e-14, atol=2e-14)
            if n < 100:
                shares = [float(Fraction(count, total)) for count in counts]
                assert_allclose(np.exp(logs), shares, rtol=1e-13)


def test_probabilities_of_tables_near_the_corners():
    # One cell is nearly empty and another holds nearly everything.
    for n, m, k in ((10**6, 3, 10**6 - 2), (10**6, 10**6 - 3, 5), (10**6, 2, 3), (1000, 999, 999)):
        total = math.comb(n, k) if k < 10 else math.comb(n, n - k)
        for h in range(max(0, k + m - n), min(k, m) + 1):
            rest = n - m
            ways = math.comb(m, min(h, m - h)) * math.comb(rest, min(k - h, rest - k + h))
            assert_allclose(log_pmf(h, n, m, k), log_fraction(ways, total), rtol=1e-13, atol=1e-14)


def test_body_agrees_with_scipy():
    distribution = stats.hypergeom(10_000, 700, 2500)
    h = np.arange(100, 250)
    assert_allclose(np.exp(log_pmf(h, 10_000, 700, 2500)), distribution.pmf(h), rtol=1e-10)
    assert_allclose(np.exp(log_tail(h, 10_000, 700, 2500)), distribution.sf(h - 1), rtol=1e-10)
    assert_allclose(np.exp(log_tail(h, 10_000, 700, 2500, -1)), distribution.cdf(h), rtol=1e-10)


def test_published_far_tails():
    tails = log_tail([10_001, 10_000], 10**7, 10**6, 50_000)
    assert_allclose(tails, [-2239.771, -2238.955], atol=6e-4)


def log_factorial(x):
    """``log(x!)`` with 40 digits, by Stirling's series from 1000 on."""
    with localcontext() as context:
        context.prec = 60
        if x < 1000:
            return Decimal(math.factorial(x)).ln()
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
        y = Decimal(x)
        value = (y + Decimal("0.5")) * y.ln() - y + (2 * pi).ln() / 2
        coefficients = [(1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360)]
        for power, (top, bottom) in enumerate(coefficients):
            value += Decimal(top) / Decimal(bottom) / y ** (2 * power + 1)
        return value


def log_tail_in_decimals(h, n, m, k):
    """The first term from factorials with 50 digits, times the sum of the terms after it."""
    cells = (h, m - h, k - h, n - m - k + h)
    with localcontext() as context:
        context.prec = 60
        first = sum(map(log_factorial, (m, n - m, k, n - k)), start=Decimal(0))
        first -= log_factorial(n) + sum(map(log_factorial, cells), start=Decimal(0))
        total, term, i = 1.0, 1.0, h
        while term > 1e-20 * total:
            term *= (m - i) / (i + 1) * ((k - i) / (n - m - k + i + 1))
            total += term
            i += 1
        return float(first) + math.log(total)


@pytest.mark.parametrize(
    ("h", "n", "m", "k"),
    [
        (5 * 10**9 + 10**7, 10**12, 10**11, 5 * 10**10),
        (5 * 10**9 + 10**6, 10**12, 10**11, 5 * 10**10),
        (5_003_000, 10**9, 10**8, 5 * 10**7),
        (900, 10**12, 10**6, 10**8),
        (999_990, 10**15, 10**6, 10**15 - 10**10),
        (30, 10**15, 10**3, 10**13),
    ],
)
def test_sizes_that_no_table_could_hold(h, n, m, k):
    expected = log_tail_in_decimals(h, n, m, k)
    assert_allclose(log_tail(h, n, m, k), expected, rtol=1e-13, atol=1e-12)
    # Exchanging the roles of rows and columns, or of hits and misses, changes nothing.
    assert_allclose(log_tail(h, n, k, m), expected, rtol=1e-13, atol=1e-12)
    assert_allclose(log_tail(k - h, n, n - m, k, -1), expected, rtol=1e-13, atol=1e-12)


def test_long_tails_are_integrated_as_exactly_as_they_are_added(monkeypatch):
    h = 5_000_000 + np.array([10, 1000, 3000, 6000, 12_000])
    sizes = (10**9, 10**8, 5 * 10**7)
    integrated = log_tail(h, *sizes)
    monkeypatch.setattr(hypergeometric, "_LONG_TAIL", np.inf)
    added = log_tail(h, *sizes)
    assert not np.array_equal(integrated, added)
    assert_allclose(np.exp(integrated - added), 1.0, rtol=2e-11)


def test_many_tails_at_once_equal_one_at_a_time(monkeypatch):
    rng = np.random.default_rng(3)
    n = rng.integers(100, 10_000, size=300)
    m, k = rng.integers(0, n + 1), rng.integers(0, n + 1)
    h = np.clip(m * k // n + rng.integers(-20, 20, size=300), 0, None)
    together = log_tail(h, n, m, k)
    single = [float(log_tail(*table)) for table in zip(h, n, m, k, strict=True)]
    assert_allclose(together, single, rtol=1e-12, atol=1e-14)
    # With this limit each round adds a single term.
    monkeypatch.setattr(hypergeometric, "_TERMS", 300)
    assert_allclose(log_tail(h, n, m, k), single, rtol=1e-12, atol=1e-14)


def test_counts_broadcast():
    table = log_tail(np.arange(4)[:, None], 20, [5, 8, 9], 7)
    assert table.shape == (4, 3)
    assert table[2, 1] == log_tail(2, 20, 8, 7)
    assert log_tail(2, 20, 8, 7).shape == ()


@pytest.mark.parametrize("size", [all_sizes(7), random_sizes(20, 300, 5)])
def test_min_hits_by_trying_every_number(size):
    for n, m, k in size:
        ways, total = exact_terms(n, m, k), math.comb(n, k)
        most = min(m, k)
        for alpha in (0.3, 0.05, 0.001):
            needed = next(
                (
                    h
                    for h in range(most + 1)
                    if Fraction(sum(ways[h:]), total) <= Fraction(alpha) * (1 + Fraction(1, 10**12))
                ),
                most + 1,
            )
            assert min_hits(alpha, n, m, k) == needed


def test_mean_and_deviation():
    distribution = stats.hypergeom(50, 20, 7)
    assert_allclose(
        mean_and_deviation(50, 20, 7), (distribution.mean(), distribution.std()), rtol=1e-14
    )
    assert mean_and_deviation(1, 1, 1) == (1.0, 0.0)


@pytest.mark.parametrize("dtype", [np.int64, object])
def test_search_of_the_smallest_integer(dtype):
    rng = np.random.default_rng(0)
    low = np.array([0, 0, -5, 10, 3], dtype=dtype)
    high = np.array([0, 1, 1000, 10**9, 4], dtype=dtype)
    for _ in range(50):
        target = np.array([int(rng.integers(a, b + 1)) for a, b in zip(low, high, strict=True)])
        guess = rng.normal(size=5) * 10.0 ** rng.integers(0, 10, size=5)
        found = smallest(
            lambda c, target=target: np.asarray(c >= target, dtype=bool),
            low,
            high,
            guess,
            np.full(5, 100.0),
        )
        assert_array_equal(found.astype(int), target)


def test_search_beyond_64_bits():
    target = 3 * 10**25 + 7
    found = smallest(
        lambda c: np.asarray(c >= target, dtype=bool),
        np.array([0], dtype=object),
        np.array([10**30], dtype=object),
        np.array([1e25]),
        np.array([1e12]),
    )
    assert found[0] == target
