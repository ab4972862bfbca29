"""Limits of recall at every k, and their reading, against definitions, fine grids and mpmath."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.special import xlog1py, xlogy

from sklearn_rankinf import Ranking
from sklearn_rankinf._estimation.limits import (
    TopFraction,
    likelihood_ratio_limits,
    score_limits,
    union_limits,
    variance_of_recall,
)
from sklearn_rankinf._estimation.regions import (
    Region,
    critical_value_of_all,
    observed_cut_off,
    observed_recall,
    spread_out,
    top_of,
)
from sklearn_rankinf._estimation.simultaneous import maximum_quantile
from sklearn_rankinf._statistics import hits_up_to, slopes_at

T7 = 2.364624251593
N, M = 40, 8
HITS = np.bincount([1, 2, 4, 7, 11, 12, 20, 33], minlength=N + 1)[1:]
RANKING = Ranking.from_counts(np.ones(N, dtype=int), HITS)


def test_limits_at_k_are_the_checked_ones():
    top = top_of(RANKING, np.array([5, 10, 20, 34]))
    assert_array_equal(top.hits, [3, 4, 7, 8])
    assert_allclose(top.slope, [0.44, 0.314285714286, 0.109090909091, 0.092307692308], rtol=1e-11)
    low, high = score_limits(top, T7)
    assert_allclose(low, [0.090867995742, 0.179734938221, 0.491636454887, 0.631045774498])
    assert_allclose(high, [0.608372180910, 0.788205989273, 0.990110391712, 1.0])
    low, high = likelihood_ratio_limits(top, T7)
    assert_allclose(low, [0.130571102131, 0.185555208176, 0.506757293840, 0.723371383055])
    # At k = 5 recall is at most 5 of 8.
    assert_allclose(high, [5 / 8, 0.814444791824, 0.995635255114, 1.0])
    n_e = ((top.hits + 0.5) / (M + 1)) * (1 - (top.hits + 0.5) / (M + 1)) / variance_of_recall(top)
    assert_allclose(n_e, [14.766799631789, 11.108312342569, 9.126457001054, 8.633240208653])
    low, high = union_limits(top, T7)
    assert_allclose(low[:2], [0.090867995742, 0.179734938221])
    assert_allclose(high[1:3], [0.814444791824, 0.995635255114])


def test_critical_value_of_three_cut_offs_is_the_checked_one():
    covariance = np.array(
        [
            [0.016093827160, 0.013539682540, 0.005116467707],
            [0.013539682540, 0.022505668934, 0.008358913813],
            [0.005116467707, 0.008358913813, 0.015218270230],
        ]
    )
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    rng = np.random.default_rng(0)
    assert maximum_quantile(correlation, 7.0, 0.95, rng) == pytest.approx(2.9566, abs=0.02)
    assert maximum_quantile(correlation, np.inf, 0.95, rng) == pytest.approx(2.3401, abs=0.01)
    for at, expected in enumerate(scale**2):
        k = np.array([5, 10, 20])[[at]]
        assert_allclose(variance_of_recall(top_of(RANKING, k)), expected, rtol=1e-10)


def divergence(p, q):
    return xlogy(p, p / q) + xlog1py(1 - p, -p) - xlog1py(1 - p, -q)


TOPS = [(0, 3), (3, 5), (25, 60), (50, 51), (49.5, 400), (1, 1), (0.01, 2), (30, 30)]


@pytest.mark.parametrize("c", [1e-4, 0.5, 2.0, 4.0])
@pytest.mark.parametrize(("hits", "k"), TOPS)
def test_likelihood_ratio_limits_have_the_allowed_divergence(hits, k, c):
    n, m = 500, 50
    top = TopFraction.of_sample(hits, k, 0.3, n, m)
    low, high = likelihood_ratio_limits(top, c)
    p, smooth = hits / m, (hits + 0.5) / (m + 1)
    reach = c**2 * variance_of_recall(top) / (2 * smooth * (1 - smooth))
    for limit, end in ((low, 0.0), (high, 1.0)):
        if abs(p - end) == 0.0:
            assert limit == end
            continue
        far = 1e-13 if end == 0.0 else 1 - 1e-13
        expected = end
        if divergence(p, far) > reach:
            near = p if 0 < p < 1 else abs(p - 1e-15)
            expected = brentq(lambda q: divergence(p, q) - reach, far, near, xtol=1e-15)
        assert_allclose(limit, np.clip(expected, top.lowest, top.highest), rtol=1e-7, atol=1e-12)


def test_limits_at_another_prevalence_are_those_of_a_sample_with_it():
    # Twice as many negatives of the same kind: rates and the counts behind them stay.
    sample = TopFraction.of_sample(12, 40, 0.2, 500, 50)
    top = sample._replace(all_hits=sample.recall + 28 / 450 * 18, others=18 * (1 - 28 / 450) - 0.24)
    assert_allclose(top.all_hits + top.others, 18.0)
    low, high = score_limits(top, 2.0)
    for limit in (low, high):
        rate = (top.all_hits - limit) / 18.0
        by_hits = 0.8**2 * limit * (1 - limit) / 50
        by_misses = (0.2 * 18) ** 2 * rate * (1 - rate) / 450
        assert_allclose((limit - 0.24) ** 2, 4.0 * (by_hits + by_misses), rtol=1e-10)


def test_slopes_are_shares_of_hits_around_a_rank():
    for k in range(1, N):
        d = min(max(2, round(0.5 * k**0.8)), k - 1, N - k)
        inside = HITS[k - d : k + d].sum()
        expected = (inside + M / N) / (2 * d + 1)
        assert_allclose(slopes_at(np.ones(N, dtype=int), HITS, np.array(k)), expected)


@pytest.mark.parametrize("last", [2, 9, 300, 10**6, 10**9])
def test_numbers_are_dense_at_both_ends(last):
    found = spread_out(2, last, 120)
    assert found[0] == 2
    assert found[-1] == last
    assert found.size <= 125
    steps = np.diff(found)
    assert np.all(steps >= 1)
    if last > 300:
        assert steps[0] == steps[-1] == 1
        assert steps.max() <= last / 20
    else:
        assert last > 120 or np.all(steps == 1)


def lists(n, m):
    for hits in itertools.combinations(range(n), m):
        yield np.bincount(hits, minlength=n)


def tied(hits, sizes):
    ends = np.cumsum(sizes)
    return Ranking.from_counts(sizes, np.add.reduceat(hits, np.append(0, ends[:-1])))


RATES = [0.1, 0.5, 0.9]
RANKINGS = [
    *(tied(hits, [1] * 7) for hits in lists(7, 3)),
    *(tied(hits, [2, 1, 4, 1, 3, 1]) for hits in itertools.islice(lists(12, 4), 0, None, 60)),
]


@pytest.mark.parametrize("c", [1.0, 3.0])
def test_readings_are_those_of_all_points_of_the_region(c):
    # Points on a fine grid of k are in the region if recall is between its limits.
    for ranking in RANKINGS:
        n, m = ranking.n_samples, ranking.n_positives
        n0, region = n - m, Region.of(ranking, c)
        # A recall of 0 or 1 may be accepted at one cut-off only.
        ends = n0 * np.array(RATES)
        fine = np.unique(np.r_[np.linspace(0, n, 6001), ends, ends + m])
        low, high = np.interp(fine, region.k, region.low), np.interp(fine, region.k, region.high)
        step = n / 6000
        for recall in (0.2, 0.5, 0.77):
            inside = fine[(low <= recall) & (recall <= high)]
            first, last = region.cut_offs_at_recall(np.array([recall]))
            assert_allclose([first[0], last[0]], [inside[0], inside[-1]], atol=1.01 * step)
        at_rates = [(fine - n0 * rate) / m for rate in RATES]
        # With twice as many negatives, a third of the weight of the positives is lost to them.
        twice = m / (m + 2 * n0)
        for share in (0.2, 0.6):
            examined = [
                twice * limit + (1 - twice) * (fine - m * limit) / n0 for limit in (low, high)
            ]
            least, most = region.recall_at_share(np.array([share]), twice)
            first = np.argmax(examined[0] >= share)
            last = fine.size - 1 - np.argmax(examined[1][::-1] <= share)
            assert_allclose([least[0], most[0]], [low[first], high[last]], atol=2.02 * step / m)
        for rate, recall in zip(RATES, at_rates, strict=True):
            inside = recall[(low <= recall + 1e-12) & (recall - 1e-12 <= high)]
            least, most = region.recall_at_share(np.array([rate]), 0.0)
            assert_allclose([least[0], most[0]], [inside[0], inside[-1]], atol=1.01 * step / m)


@pytest.mark.parametrize("c", [1.0, 3.0])
def test_tightened_limits_are_those_of_possible_curves(c):
    for ranking in RANKINGS:
        region = Region.of(ranking, c)
        k, m = region.k, ranking.n_positives
        before = k[:, None] <= k
        low = np.max(np.where(before, region.low[:, None], -np.inf), axis=0)
        late = np.where(before.T, low[:, None] - (k[:, None] - k) / m, -np.inf)
        high = np.min(np.where(before.T, region.high[:, None], np.inf), axis=0)
        early = np.where(before, high[:, None] + (k - k[:, None]) / m, np.inf)
        tight = region.tightened()
        assert_allclose(tight.low, late.max(axis=0), atol=1e-12)
        assert_allclose(tight.high, early.min(axis=0), atol=1e-12)
        assert np.all(tight.low <= tight.high + 1e-12)
        found = hits_up_to(ranking.tie_sizes, ranking.hits, k) / m
        assert np.all(tight.low <= found + 1e-12)
        assert np.all(found <= tight.high + 1e-12)


def test_readings_of_the_checked_example():
    region = Region.pointwise(RANKING, 0.95)
    assert region.critical_value == pytest.approx(T7)
    first, last = region.cut_offs_at_recall(np.array([0.5]))
    assert np.ceil(first) == 4
    assert np.floor(last) == 32
    low, high = region.recall_at_share(np.array([8 / 32]), 0.0)
    assert_allclose([low[0], high[0]], [0.141178930570, 0.962170214581], rtol=1e-8)
    # At 15 and 16 items the upper limits are those of the likelihood ratio, by mpmath.
    upper = np.array([0.962618243913695153823, 0.961975777100075152089])
    share = (upper[0] - 7 / 8) / (1 / 8 - np.diff(upper)[0])
    assert_allclose(high[0], (7 + share) / 8, rtol=1e-14)
    assert observed_recall(RANKING, np.array([8 / 32])) == 0.75
    assert observed_cut_off(RANKING, np.array([3 / 8, 1.0])).tolist() == [4, 33]


def test_blocks_of_equal_scores_are_crossed_in_straight_lines():
    ranking = Ranking.from_counts([1, 4, 5], [1, 2, 1])
    assert_allclose(observed_cut_off(ranking, np.array([0.25, 0.5, 0.75, 1.0])), [1, 3, 5, 10])
    assert_allclose(
        observed_recall(ranking, np.array([0.0, 1 / 6, 2 / 6, 1.0])), [0.25, 0.5, 0.75, 1]
    )
    assert_allclose(hits_up_to(ranking.tie_sizes, ranking.hits, np.array([3, 6])), [2.0, 3.2])


def test_critical_value_is_the_quantile_of_the_largest_standardised_bridge():
    # An independent simulation of both bridges, with many more draws.
    n, m = 60, 12
    rng = np.random.default_rng(3)
    hits = np.zeros(n, dtype=int)
    hits[rng.choice(30, m, replace=False)] = 1
    ranking = Ranking.from_counts(np.ones(n, dtype=int), hits)
    k, n0 = np.arange(2, n - 1), n - m
    found = np.cumsum(hits)[k - 1]
    slope = slopes_at(np.ones(n, dtype=int), hits, k)
    kappa, f = (found + 0.5) / (m + 1), (k - found + 0.5) / (n0 + 1)

    def bridges(times, size):
        steps = np.sqrt(np.diff(np.r_[0.0, times, 1.0]))
        walk = np.cumsum(rng.standard_normal((size, steps.size)) * steps, axis=1)
        return walk[:, :-1] - times * walk[:, -1:]

    size = 40_000
    z = (1 - slope) * bridges(kappa, size) / np.sqrt(m)
    z += slope * np.sqrt(n0) * bridges(f, size) / m
    z /= np.sqrt((1 - slope) ** 2 * kappa * (1 - kappa) / m + slope**2 * n0 * f * (1 - f) / m**2)
    largest = np.abs(z).max(axis=1) * np.sqrt((m - 1) / rng.chisquare(m - 1, size))
    for level in (0.8, 0.95):
        value = critical_value_of_all(ranking, level, np.random.default_rng(0))
        # Standard errors of the share are at most 0.002, and of the value below 0.005.
        assert np.mean(largest <= value) == pytest.approx(level, abs=0.01)
