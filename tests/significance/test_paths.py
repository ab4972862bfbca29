"""Probabilities that paths of hits are above a bound: by counting placements and paths."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from combinations import checkered
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_rankinf._significance.boundary_crossing import HitBounds, SimultaneousBounds
from sklearn_rankinf._statistics.hypergeometric import (
    log_binomial_pmf,
    log_pmf,
    log_tail,
    min_hits,
    n_terms_of_tail,
)


@cache
def pvalue(n, m, k, h):
    """P(Hyp(n, m, k) >= h), in whole numbers."""
    ways = sum(math.comb(m, x) * math.comb(n - m, k - x) for x in range(h, min(m, k) + 1))
    return Fraction(ways, math.comb(n, k))


@cache
def smallest_pvalues(n, m, ends, least):
    """Smallest p-value over the ends with enough hits, and its number of placements, ascending."""
    counts = {}
    for places in combinations(range(1, n + 1), m):
        hits = [sum(place <= end for place in places) for end in ends]
        found = [pvalue(n, m, end, h) for end, h in zip(ends, hits, strict=True) if h >= least]
        statistic = min(found, default=Fraction(1))
        counts[statistic] = counts.get(statistic, 0) + 1
    return sorted(counts.items())


def crossing_by_placements(n, m, ends, least=1):
    """Probability that the smallest p-value is at most each that occurs, without 1."""
    total, probabilities = 0, {}
    for statistic, count in smallest_pvalues(n, m, ends, least):
        total += count
        probabilities[statistic] = Fraction(total, math.comb(n, m))
    probabilities.pop(Fraction(1), None)
    return probabilities


def crossing_by_paths(n, m, ends, above):
    """The same from counts of paths, block by block; `above` is the smallest number by end."""
    paths, crossed, before = [1], 0, 0
    for end in ends:
        ways = [math.comb(end - before, y) for y in range(min(end - before, m) + 1)]
        grown = [0] * min(len(paths) + len(ways) - 1, m + 1)
        for h, count in enumerate(paths):
            for y, way in enumerate(ways[: m + 1 - h]):
                grown[h + y] += count * way
        for h in range(above.get(end, m + 1), len(grown)):
            crossed += grown[h] * math.comb(n - end, m - h)
            grown[h] = 0
        paths, before = grown, end
    return Fraction(crossed, math.comb(n, m))


def relative_error(log_found, exact):
    """Relative error of a number that is given by its logarithm."""
    with localcontext() as context:
        context.prec = 40
        wanted = Decimal(exact.numerator) / Decimal(exact.denominator)
        return float(Decimal(log_found).exp() / wanted - 1)


def crossing(bounds, level):
    return bounds.log_crossing_probability(bounds.last(math.log(level)))


ENDS = {
    "no ties": lambda n: tuple(range(1, n + 1)),
    "pairs": lambda n: (*range(2, n, 2), n),
    "large block at the top": lambda n: (n // 2, *range(n // 2 + 1, n + 1)),
    "zeros at the bottom": lambda n: (*range(1, n // 3 + 1), n),
    "three levels": lambda n: (n // 4, n // 2, n),
    "up to a rank": lambda n: tuple(range(1, n // 2 + 1)),
}
SIZES = ((2, 1), (7, 1), (9, 4), (12, 6), (13, 11), (16, 3))


@pytest.mark.parametrize(
    ("kind", "case"),
    checkered(ENDS, [(n, m, least) for n, m in SIZES for least in (1, 3) if least <= m]),
)
def test_crossing_probability_equals_counting_placements(kind, case):
    n, m, least = case
    ends = ENDS[kind](n)
    bounds = HitBounds.of(n, m, np.array(ends), least)
    levels = list(crossing_by_placements(n, m, ends, least).items())
    for level, probability in levels[:: max(1, len(levels) // 10)]:
        assert_allclose(np.exp(crossing(bounds, float(level))), float(probability), rtol=1e-13)


@pytest.mark.parametrize(("kind", "size"), checkered(ENDS, SIZES))
def test_simultaneous_level_is_the_largest_that_is_allowed(kind, size):
    n, m = size
    ends = ENDS[kind](n)
    search = SimultaneousBounds(HitBounds.of(n, m, np.array(ends)))
    by_level = crossing_by_placements(n, m, ends)
    for alpha in (0.9, 0.5, 0.2, 0.1, 0.05, 0.01, 1e-4):
        found = search.at(math.log(alpha))
        allowed = [level for level, p in by_level.items() if float(p) <= alpha * (1.0 + 1e-12)]
        if not allowed:
            assert found.log_pvalue == found.log_crossing == -math.inf
            continue
        assert_allclose(np.exp(found.log_pvalue), float(max(allowed)), rtol=1e-12)
        assert_allclose(np.exp(found.log_crossing), float(by_level[max(allowed)]), rtol=1e-12)


def sizes_of(kind, n):
    """Sizes of blocks of ties that add up to n."""
    rng = np.random.default_rng(5)
    first = {
        "no ties": np.ones(n, dtype=int),
        "small blocks": rng.integers(1, 12, n),
        "large block in between": np.array([1] * 50 + [n // 4] + [3] * (n // 15)),
        "saturated top": np.array([n // 10] + [2] * (n // 20) + [1] * (n // 10)),
        "zeros at the bottom": np.ones(n // 20, dtype=int),
    }[kind]
    first = first[: np.searchsorted(np.cumsum(first), n)]
    return np.append(first, n - first.sum())


@pytest.mark.parametrize(
    ("n", "m", "kind"),
    [
        (300, 20, "no ties"),
        (700, 50, "no ties"),
        (500, 250, "small blocks"),
        (300, 285, "small blocks"),
        (1500, 60, "small blocks"),
        (2000, 120, "large block in between"),
        (3000, 40, "saturated top"),
        (1000, 200, "zeros at the bottom"),
        (400, 1, "no ties"),
    ],
)
def test_crossing_probability_equals_counting_paths(n, m, kind):
    ends = np.cumsum(sizes_of(kind, n))
    bounds = HitBounds.of(n, m, ends)
    n_found = 0
    for level in (0.3, 0.01, 1e-6, 1e-30, 1e-198, 1e-202, 1e-320):
        log_level = math.log(level) if level > 1e-307 else -320 * math.log(10.0)
        last = bounds.last(log_level)
        needed = bounds.needed([last], ends)[0]
        above = {int(end): int(h) for end, h in zip(ends, needed, strict=True) if h == h}
        exact = crossing_by_paths(n, m, ends.tolist(), above)
        found = bounds.log_crossing_probability(last)
        if exact == 0:
            assert found == -math.inf
        else:
            n_found += 1
            assert abs(relative_error(found, exact)) < 1e-12
    assert n_found >= 2


def test_steps_over_large_blocks_hold_the_hits_that_cross_early():
    # Many more hits than are expected fall into the second block, and later ones are saturated.
    n, m, ends = 6000, 200, [46, 238, 2729, 2758, 3507, 3646, 6000]
    bounds = HitBounds.of(n, m, np.array(ends))
    last = bounds.last(-60.0 * math.log(10.0))
    needed = bounds.needed([last], np.array(ends))[0]
    above = {end: int(h) for end, h in zip(ends, needed, strict=True) if h == h}
    exact = crossing_by_paths(n, m, ends, above)
    assert abs(relative_error(bounds.log_crossing_probability(last), exact)) < 1e-12


@pytest.mark.parametrize("kind", ["no ties", "small blocks", "saturated top"])
@pytest.mark.parametrize("m", [3, 90, 380])
def test_needed_hits_are_those_of_each_k_alone(kind, m):
    n = 400
    ends = np.cumsum(sizes_of(kind, n))
    bounds = HitBounds.of(n, m, ends)
    levels = (0.2, 0.01, 1e-5)
    needed = bounds.needed([bounds.last(math.log(level)) for level in levels], ends)
    for level, row in zip(levels, needed, strict=True):
        alone = min_hits(level, n, m, ends).astype(float)
        alone[alone > np.minimum(ends, m)] = np.nan
        assert_array_equal(row, alone)


def test_next_and_largest_pvalue_are_around_the_level():
    n, m = 40, 7
    bounds = HitBounds.of(n, m, np.arange(1, n + 1))
    every = sorted({pvalue(n, m, k, h) for k in range(1, n + 1) for h in range(1, min(k, m) + 1)})
    for level in (0.3, 0.05, 1e-3, 1e-7):
        last = bounds.last(math.log(level))
        below = max(p for p in every if p <= level)
        beyond = min(p for p in every if p > level)
        assert_allclose(np.exp(bounds.largest_log_pvalue(last)), float(below), rtol=1e-12)
        assert_allclose(np.exp(bounds.next_log_pvalue(last)), float(beyond), rtol=1e-12)


@pytest.mark.parametrize(("n", "m", "k"), [(20, 5, 3), (30, 29, 10), (50, 25, 49), (40, 1, 39)])
def test_binomial_probabilities_in_logarithms(n, m, k):
    p = Fraction(m, n)
    for h in range(k + 1):
        exact = math.comb(k, h) * p**h * (1 - p) ** (k - h)
        assert abs(relative_error(float(log_binomial_pmf(h, k, n, m)), exact)) < 2e-13


@pytest.mark.parametrize("n", [30, 5000, 10**6])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
def test_the_only_negative_is_anywhere(n, share):
    # The path is above the bound if the negative is behind a certain rank.
    rank = max(1, int(share * n))
    bounds = HitBounds.of(n, n - 1, np.arange(1, n + 1))
    level = (n - rank) / n
    assert_allclose(np.exp(crossing(bounds, level)), level, rtol=1e-13)


@pytest.mark.parametrize(
    ("size", "m", "hits"),
    [
        (10**6, 200_000, 100_339),
        pytest.param(10**6, 1_800_000, 900_339, marks=pytest.mark.long),
        (10**5, 1000, 580),
    ],
)
def test_of_two_large_blocks_the_first_decides(size, m, hits):
    bounds = HitBounds.of(2 * size, m, np.array([size, 2 * size]))
    log_level = float(log_tail(hits, 2 * size, m, size))
    assert_allclose(
        bounds.log_crossing_probability(bounds.last(log_level)), log_level, rtol=0, atol=1e-13
    )


@pytest.mark.parametrize("log_level", [-1e-9, -1e-13, -1e-16, -1e-300])
def test_certain_events_reach_no_level(log_level):
    n, m = 40, 20
    bounds = HitBounds.of(n, m, np.arange(1, n + 1))
    (needed,) = bounds.needed([bounds.last(log_level)], bounds.ends)
    certain = np.maximum(0, bounds.ends - (n - m))
    assert np.all(np.isnan(needed) | (needed > certain))


@pytest.mark.parametrize(("n", "m", "k"), [(1000, 50, 100), (200, 190, 20), (10**6, 1000, 10**4)])
def test_terms_beyond_those_that_count_are_negligible(n, m, k):
    start = math.ceil(m * k / n)
    for h in range(start, min(m, k) + 1, max(1, (min(m, k) - start) // 5)):
        last = h + int(n_terms_of_tail(h, n, m, k)) - 1
        assert last <= min(m, k)
        if last < min(m, k):
            assert log_pmf(last + 1, n, m, k) < log_pmf(h, n, m, k) - 40.0
