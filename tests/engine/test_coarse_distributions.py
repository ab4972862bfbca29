"""Null distributions that look like rows of clusters, as ties of real rankers make them.

Oracles: hypergeometric tails where one block decides, counts of lexicographic order or of prefixes
where one rank outweighs later ones, whole-number dynamic programming, double sums and random
labellings.
"""

from __future__ import annotations

import dataclasses
import decimal
import itertools
import math
from fractions import Fraction

import by_name
import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import average_precision_tail_of_five_levels
from scipy.stats import hypergeom

import sklearn_rankinf as rankinf
from sklearn_rankinf import AveragePrecision, RocAuc, metric_null_distribution
from sklearn_rankinf._engine import distribution as engine_distribution
from sklearn_rankinf._engine.conditioning import block_to_condition_on, bulk_block
from sklearn_rankinf._engine.distribution import ComputedDistribution
from sklearn_rankinf._engine.ends import EndsOfSupport
from sklearn_rankinf._engine.estimates import TailEstimates
from sklearn_rankinf._engine.exact import branch_and_bound
from sklearn_rankinf._engine.exact import integer_weights as whole_numbers
from sklearn_rankinf._engine.exact.enumeration import best_split, largest_value, n_outcomes
from sklearn_rankinf._engine.exact.integer_weights import step_of
from sklearn_rankinf._engine.means.sums_of_atoms import SumsOfAtoms
from sklearn_rankinf._null import distribution as _frozen_distributions
from sklearn_rankinf._statistics.additive import increments_of

pytestmark = pytest.mark.numeric


class Decaying(rankinf.RankStatistic):
    """Weights .1, .09, .081, ..."""

    def weights(self, ranks, n_samples, n_positives):
        return 0.1 * 0.9 ** (np.asarray(ranks, dtype=float) - 1.0)

    def __eq__(self, other):
        return isinstance(other, Decaying)

    def __hash__(self):
        return 0


def test_one_block_decides():
    # All positives outside the block together are worth less than one in it.
    ranking = rankinf.Ranking.from_counts([300] + [1] * 700, [40] + [0] * 640 + [1] * 60)
    result = by_name.rie_test(ranking)
    exact, stated = hypergeom.sf(39, 1000, 300, 100), result.pvalue_relative_error
    assert_allclose(result.pvalue, exact, rtol=stated)
    assert stated < 1e-2


@pytest.mark.parametrize("k", [20, 100])
def test_average_precision_of_the_top_of_a_long_list(k):
    # One hit among the first k ranks adds 1 / (r k), two 1 / (r k) and 2 / (s k), at ranks r < s.
    n, m = 10**6, 200
    null = metric_null_distribution(n, m, metric=AveragePrecision(k=k))
    r, s = np.triu_indices(k, 1)
    two = 1.0 / (r + 1.0) + 2.0 / (s + 1.0)
    one = 1.0 / np.arange(1.0, k + 1.0)
    outside = [hypergeom.pmf(hits, n, m, k) / math.comb(k, hits) for hits in range(3)]
    three = hypergeom.sf(2, n, m, k)
    for x in (0.15, 0.35, 0.9):
        lower = outside[1] * np.sum(one >= x) + outside[2] * np.sum(two >= x)
        p, error = null.pvalue(x / k), null.relative_error(x / k)
        assert error < 1e-5
        assert lower * (1.0 - error) <= p <= (lower + three) * (1.0 + error)


def lexicographic_pvalue(labels):
    """Share of labellings that come no later in lexicographic order."""
    n, m = len(labels), sum(labels)
    count, left = 1, m
    for rank, is_hit in enumerate(labels):
        if not is_hit and left:
            count += math.comb(n - rank - 1, left - 1)
        left -= is_hit
    return count / math.comb(n, m)


@pytest.mark.parametrize(("n", "m", "alpha"), [(60, 42, 80.5), (60, 54, 160.9), (90, 12, 120.0)])
def test_saturated_weights_order_labellings_lexicographically(n, m, alpha):
    null = by_name.bedroc_null_distribution(n, m, alpha=alpha)
    rng = np.random.default_rng(0)
    for _ in range(5):
        # Beyond these ranks weights are lost beside the tolerance for equal values.
        labels = np.zeros(n, dtype=int)
        labels[rng.permutation(12)[:6]] = 1
        labels[12 : 12 + m - 6] = 1
        x = rankinf.Bedroc(alpha=alpha)(labels, -np.arange(n))
        expected = lexicographic_pvalue(labels.tolist())
        # A few labellings differ from it by no more than the tolerance for equal values.
        assert_allclose(null.pvalue(x), expected, rtol=1e-4)


def counted_pvalue(n, m, alpha, value):
    """``P(BEDROC >= value)``: counts of placements in decimals of 60 digits, prefix by prefix."""
    with decimal.localcontext(prec=60):
        weights = [(decimal.Decimal(-alpha) * r / n).exp() for r in range(1, n + 1)]
        sums = [decimal.Decimal(0), *itertools.accumulate(weights)]
        low, high = sums[n] - sums[n - m], sums[m]
        threshold = low + decimal.Decimal(value) * (high - low)

        def n_reached(start, left, missing):
            if missing <= sums[n] - sums[n - left]:
                return math.comb(n - start, left)
            if left == 0 or missing > sums[start + left] - sums[start]:
                return 0
            without = n_reached(start + 1, left, missing) if left < n - start else 0
            return without + n_reached(start + 1, left - 1, missing - weights[start])

        return n_reached(0, m, threshold) / math.comb(n, m)


@pytest.mark.parametrize(
    ("n", "m", "alpha"), [(100, 70, 100.0), (60, 55, 100.0), (100, 80, 300.0), (130, 100, 100.0)]
)
def test_bedroc_of_more_positives_than_negatives_with_steep_weights(n, m, alpha):
    metric, rng = rankinf.Bedroc(alpha=alpha), np.random.default_rng(0)
    for top in (8, 14, 20, 25, 30):
        labels = np.append(np.ones(top, int), rng.permutation(np.arange(n - top) < m - top))
        result = rankinf.metric_test(labels, -np.arange(n), metric=metric)
        # Values that differ by 1e-12 relatively count as equal.
        least, most = (
            counted_pvalue(n, m, alpha, result.statistic * (1.0 - part))
            for part in (0.9e-12, 1.1e-12)
        )
        error = result.pvalue_relative_error
        assert error < 1e-4
        assert least * (1.0 - error) <= result.pvalue <= most * (1.0 + error)


def whole_number_tails(sizes, m, x):
    """P(AUC >= each x) by counting labellings for each number of half pairs."""
    n = sum(sizes)
    # A positive of a block wins two half pairs against each item below, one against its own.
    counts = {(0, 0): 1}
    below = n
    for size in sizes:
        below -= size
        after = {}
        for (hits, total), ways in counts.items():
            for y in range(min(size, m - hits) + 1):
                key = hits + y, total + y * (2 * below + size)
                after[key] = after.get(key, 0) + ways * math.comb(size, y)
        counts = after
    # Pairs of two positives are taken off: each counts two half pairs.
    needed = 2.0 * np.asarray(x) * m * (n - m) + m * m
    ways_of = {total: ways for (hits, total), ways in counts.items() if hits == m}
    return [
        sum(ways for total, ways in ways_of.items() if total >= least - 1e-6) / math.comb(n, m)
        for least in needed.tolist()
    ]


@pytest.mark.parametrize(
    ("sizes", "m"), [([1, 1, 3] + [1] * 24, 11), ([2] + [1] * 30, 9), ([1, 5, 2] + [1] * 20, 20)]
)
def test_roc_auc_with_a_few_ties(sizes, m):
    null = rankinf.metric_null_distribution(sum(sizes), m, tie_sizes=sizes, metric="roc_auc")
    x = null.rvs(12, random_state=0)
    assert_allclose(null.pvalue(x), whole_number_tails(sizes, m, x), rtol=1e-11)


def test_roc_auc_with_a_few_ties_beyond_enumeration():
    null = rankinf.metric_null_distribution(
        200, 20, tie_sizes=[1] * 50 + [2] + [1] * 148, metric="roc_auc"
    )
    draws = null.rvs(100_000, random_state=1)
    x = np.quantile(draws, [0.3, 0.7, 0.95, 0.999])
    shares = np.array([np.mean(draws >= value - 1e-12) for value in x])
    assert np.all(np.abs(null.pvalue(x) - shares) < 5.0 * np.sqrt(shares / draws.size))


RANDOMLY_LABELLED = {
    "bedroc": (by_name.bedroc_null_distribution, (186, 93), {"tie_sizes": [150] + [1] * 36}),
    "decaying": (
        by_name.rank_statistic_null_distribution,
        (180, 54),
        {"statistic": Decaying(), "tie_sizes": [50, 50] + [1] * 80},
    ),
    "ap at k": (
        by_name.ap_null_distribution,
        (1900, 190),
        {"k": 1757, "tie_sizes": [1] * 10 + [1500] + [1] * 390},
    ),
    "bulk": (rankinf.ap_null_distribution, (3400, 34), {"tie_sizes": [1] * 100 + [3300]}),
    "dcg": (
        by_name.dcg_null_distribution,
        (450, 45),
        {"k": 377, "tie_sizes": [300] + [1] * 150},
    ),
    "ap": (rankinf.ap_null_distribution, (2400, 24), {"tie_sizes": [1000, 1000] + [1] * 400}),
    "bedroc half": (
        by_name.bedroc_null_distribution,
        (1000, 50),
        {"tie_sizes": [500] + [1] * 500},
    ),
    "short lists": (
        rankinf.metric_null_distribution,
        ([1000] * 20, [1] * 20),
        {"tie_sizes": [[1] * 30 + [970]] * 20},
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] * (i > 3))
        for i, name in enumerate(RANDOMLY_LABELLED)
    ],
)
def test_against_random_labellings(name):
    make, size, options = RANDOMLY_LABELLED[name]
    null = make(*size, **options)
    draws = np.sort(null.rvs(20_000, random_state=0))
    x = np.quantile(draws, [0.05, 0.5, 0.99], method="nearest")
    shares = np.array([np.mean(draws >= value * (1.0 - 1e-12)) for value in x])
    p, error = null.pvalue(x), null.relative_error(x)
    assert np.all(error < 0.05)
    spread = np.sqrt(shares * (1.0 - shares) / draws.size)
    assert np.all(np.abs(p - shares) < 5.0 * spread + error * p)


def test_just_above_the_listing_limit():
    null = rankinf.ap_null_distribution(52, 7)
    x = 0.11107377902290003
    assert_allclose(null.pvalue(x, "less"), 8553780 / 133784560, rtol=1e-10)


def test_three_levels_of_many_positives():
    sizes, m = np.array([2_500, 1_500, 1_000]), 500
    null = rankinf.ap_null_distribution(5_000, m, tie_sizes=sizes)
    first = np.arange(160, 341)[:, None]
    second = np.arange(60, 241)
    weights = hypergeom.pmf(first, 5_000, m, 2_500) * hypergeom.pmf(second, 2_500, m - first, 1_500)
    third = m - first - second
    precision = first / 2_500, (first + second) / 4_000, m / 5_000
    values = (first * precision[0] + second * precision[1] + third * precision[2]) / m
    for z in (-1.0, 0.5, 3.0):
        x = null.mean() + z * null.std()
        assert_allclose(null.pvalue(x), weights[values >= x].sum(), rtol=1e-8)


@pytest.mark.parametrize(
    ("sizes", "m"),
    [
        ([6094, 5182, 10101, 7293, 4663], 11_111),
        pytest.param([18281, 15547, 30304, 21880, 13988], 33_333, marks=pytest.mark.long),
    ],
)
def test_levels_of_very_many_positives_are_affordable(sizes, m):
    null = rankinf.ap_null_distribution(sum(sizes), m, tie_sizes=sizes)
    draws = null.rvs(50_000, random_state=0)
    x = np.quantile(draws, [0.5, 0.95])
    shares = np.array([np.mean(draws >= value) for value in x])
    assert np.all(np.abs(null.pvalue(x) - shares) < 0.01 * null.pvalue(x) + 5.0 / math.sqrt(50_000))


@pytest.mark.parametrize(
    "z", [6.0, *(pytest.param(z, marks=pytest.mark.long) for z in (3.0, 10.0))]
)
def test_five_levels_far_up(z):
    sizes, m = [6094, 5182, 10101, 7293, 4663], 11_111
    null = rankinf.ap_null_distribution(sum(sizes), m, tie_sizes=sizes)
    x = null.mean() + z * null.std()
    error = null.relative_error(x)
    assert error < 0.03
    # Beyond five deviations next to nothing is left out.
    p = average_precision_tail_of_five_levels(sizes, m, x, n_deviations=5.0)
    assert_allclose(null.pvalue(x), p, rtol=error)


def without_conditioning(distribution, t, sign):
    return TailEstimates.unknown(t.shape)


@pytest.mark.parametrize("by_contours_alone", [False, True])
def test_a_row_of_clusters_behind_a_hit_at_the_top(monkeypatch, by_contours_alone):
    # Rank 1 and the large block are all that counts: the others add less than 1e-40.
    n, m, alpha, size = 2241, 157, 160.9, 1383
    if by_contours_alone:
        monkeypatch.setattr(
            engine_distribution.ComputedDistribution, "_conditioned_tail", without_conditioning
        )
    null = by_name.bedroc_null_distribution(n, m, alpha=alpha, tie_sizes=[1, size, 9] + [1] * 848)
    weights = np.exp(-alpha * np.arange(1, n + 1) / n)
    hits, share = np.arange(m + 1), m / n
    of_hits = hits * weights[1 : size + 1].mean()
    values = np.concatenate([of_hits, weights[0] + of_hits]) / weights[:m].sum()
    chances = np.concatenate(
        [
            (1.0 - share) * hypergeom.pmf(hits, n - 1, m, size),
            share * hypergeom.pmf(hits, n - 1, m - 1, size),
        ]
    )
    for x in values[[90, 105, 158 + 90]]:
        p = chances[values >= x * (1.0 - 1e-12)].sum()
        error = null.relative_error(x)
        assert error < 0.05 or by_contours_alone
        if np.isinf(error):
            assert null.pvalue(x) >= p
        else:
            assert abs(null.pvalue(x) - p) <= error * p


@pytest.mark.parametrize("by_contours_alone", [False, pytest.param(True, marks=pytest.mark.long)])
def test_weights_that_are_nearly_a_lattice_are_not_one(monkeypatch, by_contours_alone):
    # Positives outside the large block differ by 1e-8 of what they are worth: within a cluster of
    # values these differences decide.
    if by_contours_alone:
        monkeypatch.setattr(
            engine_distribution.ComputedDistribution, "_conditioned_tail", without_conditioning
        )
    sizes = [1606] + [1] * 79 + [35, 1, 20]
    null = by_name.bedroc_null_distribution(1741, 1567, alpha=20.0, tie_sizes=sizes)
    draws = null.rvs(20_000, random_state=1)
    for x in (
        (0.8869203485947605,) if by_contours_alone else (0.8862000960859389, 0.8869203485947605)
    ):
        share, error = np.mean(draws >= x), null.relative_error(x)
        p = null.pvalue(x)
        noise = 4.5 * math.sqrt(share * (1.0 - share) / draws.size)
        assert error < 1e-2 or by_contours_alone
        assert p >= share - noise if np.isinf(error) else abs(p - share) <= error * p + noise


def test_mass_just_below_a_value_is_part_of_the_error(monkeypatch):
    # Values of few hits of geometric weights have structure on every scale.
    monkeypatch.setattr(
        engine_distribution.ComputedDistribution, "_conditioned_tail", without_conditioning
    )
    rng = np.random.default_rng(30)
    sizes = rng.integers(1, 3, 155)
    null = by_name.bedroc_null_distribution(int(sizes.sum()), 6, alpha=80.5, tie_sizes=sizes)
    draws = null.rvs(100_000, random_state=2)
    for x in draws[:12]:
        share, error = np.mean(draws >= x), null.relative_error(x)
        noise = 4.5 * math.sqrt(share * (1.0 - share) / draws.size)
        p = null.pvalue(x)
        assert p >= share - noise if np.isinf(error) else abs(p - share) <= error * p + noise


def test_short_lists_have_the_size_that_they_state():
    null = rankinf.metric_null_distribution(
        [1000] * 20, [1] * 20, tie_sizes=[[1] * 30 + [970]] * 20
    )
    p = null.pvalue(null.rvs(300, random_state=1))
    for level in (0.01, 0.05):
        assert np.mean(p <= level) <= level + 4.0 * math.sqrt(level / p.size)


@pytest.mark.parametrize(
    "null",
    [
        rankinf.metric_null_distribution([2000] * 30, [1] * 30, tie_sizes=[[1] * 5 + [1995]] * 30),
        by_name.dcg_null_distribution(10**8, 10, k=5 * 10**7, tie_sizes=[1] * 100 + [10**8 - 100]),
    ],
)
def test_a_large_atom_below_the_mean_leaves_a_probability(null):
    lowest = null.support()[0]
    assert null.pvalue(lowest) == 1.0
    above = null.pvalue(null.mean())
    # A hit in the short list is what it takes: the probability of none is the atom's.
    assert 0.0 < above < 0.1
    assert null.pvalue(lowest * (1.0 + 1e-9)) < 0.1


def test_answers_do_not_depend_on_the_order_of_questions():
    make = {"tie_sizes": [500] + [1] * 500}
    x = np.linspace(0.1, 0.6, 7)
    _frozen_distributions._DISTRIBUTIONS.clear()
    upwards = [by_name.bedroc_null_distribution(1000, 50, **make).pvalue(value) for value in x]
    _frozen_distributions._DISTRIBUTIONS.clear()
    null = by_name.bedroc_null_distribution(1000, 50, **make)
    downwards = [null.pvalue(value) for value in x[::-1]][::-1]
    assert_allclose(upwards, downwards, rtol=1e-6)


def test_what_does_not_fit_is_refused_in_a_sentence():
    null = by_name.dcg_null_distribution(10**9, 4, normalize=True)
    with pytest.raises(ValueError, match="1000000000 ranks without ties"):
        null.pvalue(0.9)
    null = rankinf.ap_null_distribution(1_000_000, 98_979, tie_sizes=[500] * 2000)
    with pytest.raises(ValueError, match="98979 positives in 2000 blocks"):
        null.support()


def test_given_a_block_the_statistic_is_of_the_same_kind():
    increments = increments_of(AveragePrecision(), 12, 5, np.array([2, 4, 3, 3]))
    hits = np.array([1, 2, 0, 2])
    for block in range(4):
        others, constant = increments.given(block, int(hits[block]))
        assert_allclose(others.total(np.delete(hits, block)) + constant, increments.total(hits))


def test_blocks_to_condition_on():
    bulk = increments_of(AveragePrecision(), 3400, 34, np.array([1] * 100 + [3300]))
    assert bulk_block(bulk, 34) == block_to_condition_on(bulk, 34) == 100
    smooth = increments_of(AveragePrecision(), 300, 30, np.ones(300, dtype=int))
    assert block_to_condition_on(smooth, 30) is None


def test_steps_of_weights():
    ties = increments_of(RocAuc(), 8, 3, np.array([1, 2, 1, 1, 3]))
    assert_allclose(step_of(ties), 0.5 / 15)
    assert step_of(increments_of(AveragePrecision(), 8, 3, np.ones(8, dtype=int))) == 0.0


def test_sums_of_atoms_lie_between_their_bounds():
    values, masses = np.array([0.0, 0.3, 1.0]), np.array([0.7, 0.2, 0.1])
    sums = SumsOfAtoms([(values, masses, 6)])
    grid = np.stack(np.meshgrid(*[np.arange(3)] * 6), axis=-1).reshape(-1, 6)
    total, weight = values[grid].sum(axis=1), masses[grid].prod(axis=1)
    for t in (0.0, 0.3, 1.2, 3.9):
        exact = weight[total >= t - 1e-12].sum(), weight[total <= t + 1e-12].sum()
        for sign, share in zip((1, -1), exact, strict=True):
            lower, upper = sums.bounds(np.array([t - sign * 1e-12]), sign)
            assert lower[0] <= share + 1e-12
            assert share <= upper[0] + 1e-12
            assert_allclose(upper, lower, atol=1e-12)


def test_many_partial_outcomes_do_not_overflow():
    split, length = best_split(np.ones(4000, dtype=np.int64), 2000)
    assert math.isinf(length)
    assert 0 <= split <= 4000
    assert math.isinf(n_outcomes(np.ones(4000, dtype=np.int64), 2000))


class Threes(rankinf.RankStatistic):
    """Multiples of three by rank, but for one item in the middle, which is worth one more."""

    def weights(self, ranks, n_samples, n_positives):
        return 3.0 * (n_samples - ranks) + (ranks == n_samples // 2)


class RankSum(rankinf.RankStatistic):
    """The sum of the ranks, counted from the end."""

    def weights(self, ranks, n_samples, n_positives):
        return n_samples + 1.0 - ranks


@pytest.mark.parametrize(
    ("statistic", "n_samples", "n_positives", "tie_sizes"),
    [
        (RankSum(), 120, 36, [2] + [1] * 100 + [18]),
        (RankSum(), 150, 100, [1] * 70 + [2] + [1] * 78),
        (RankSum(), 200, 20, [1] * 50 + [2, 4] + [1] * 144),
        (Threes(), 130, 40, None),
        (Threes(), 130, 40, [1] * 20 + [10] + [1] * 100),
    ],
)
def test_contours_count_whole_numbers(statistic, n_samples, n_positives, tie_sizes, monkeypatch):
    def new():
        return by_name.rank_statistic_null_distribution(
            n_samples, n_positives, statistic=statistic, tie_sizes=tie_sizes
        )

    counted = new()
    # Values of the distribution, on which tails jump, and values between them.
    values = np.unique(counted.isf([0.9999, 0.99, 0.9, 0.6, 0.5, 0.4, 0.1, 1e-2, 1e-4, 1e-9]))
    values = np.concatenate([values, values + 0.2])
    expected = [counted.pvalue(values, side) for side in ("greater", "less")]
    assert counted._distribution.is_listed
    settings = dataclasses.replace(whole_numbers.SETTINGS, most_work=0.0)
    monkeypatch.setattr(whole_numbers, "SETTINGS", settings)
    _frozen_distributions._DISTRIBUTIONS.clear()
    inverted = new()
    for side, p in zip(("greater", "less"), expected, strict=True):
        error = inverted.relative_error(values, side)
        assert not inverted._distribution.is_listed
        assert error.max() < 1e-6
        assert np.all(np.abs(inverted.pvalue(values, side) / p - 1.0) <= error)
    _frozen_distributions._DISTRIBUTIONS.clear()


@pytest.mark.parametrize("tolerance", [0.0, 0.05])
def test_roc_auc_of_few_positives_in_a_long_list_with_one_tie(tolerance):
    n, m, size = 3489, 8, 8
    null = metric_null_distribution(n, m, metric="roc_auc", tie_sizes=[size] + [1] * (n - size))
    distribution = engine_distribution.exact_distribution(
        RocAuc(), n, m, np.array([size] + [1] * (n - size)), tolerance
    )
    # Half pairs that positives lose, beside the best place for each: in whole numbers.
    half_pairs, most = 2 * m * (n - m), 560
    lost_with_ties = [size - 1] * size + [2 * rank for rank in range(size, most // 2 + m)]
    counts = np.zeros((m + 1, most + m * m + 1), dtype=np.int64)
    counts[0, 0] = 1
    for lost in lost_with_ties:
        for hits in range(m, 0, -1):
            counts[hits, lost:] += counts[hits - 1, : counts.shape[1] - lost]
    # Positives among themselves make no pairs.
    by_lost = counts[m, m * (m - 1) :]
    for lost in (4, 17, 167, 557):
        x = 1.0 - lost / half_pairs
        expected = int(by_lost[: lost + 1].sum()) / math.comb(n, m)
        if not tolerance:
            assert null.pvalue(x) == pytest.approx(expected, rel=1e-11)
        found = distribution.tail(np.array([x - 1e-12]), 1)[0][0]
        assert found == pytest.approx(expected, rel=max(tolerance, 1e-11))


@pytest.mark.parametrize(
    ("n_samples", "n_positives"), [(1000, 10), pytest.param(1624, 25, marks=pytest.mark.long)]
)
def test_values_next_to_nothing_lie_between_hypergeometric_tails(n_samples, n_positives):
    # Weights .9**(r - 1): a positive adds less than x from rank 1 + log(x)/log(.9) on.
    null = by_name.rank_statistic_null_distribution(n_samples, n_positives, statistic=Decaying())
    low, _ = null.support()
    for x in (1e-12, 1e-30):
        n_less = n_samples - math.ceil(1.0 + math.log(10.0 * x) / math.log(0.9)) + 1
        n_far_less = (
            n_samples - math.ceil(1.0 + math.log(10.0 * x / n_positives) / math.log(0.9)) + 1
        )
        upper, lower = (
            math.comb(few, n_positives) / math.comb(n_samples, n_positives)
            for few in (n_less, n_far_less)
        )
        p = null.pvalue(x, "less")
        assert low < x
        assert lower * (1 - 1e-9) <= p <= upper * (1 + 1e-9)
        assert null.relative_error(x, "less") >= 0.1 or p == pytest.approx(upper, rel=0.1)


def test_upper_tail_where_the_lower_one_is_only_bounded():
    # Few values are next to nothing: of those below only bounds are known, which are far apart.
    n, m, alpha, x = 8000, 9, 20.0, 0.0011594327732728413
    null = by_name.rie_null_distribution(n, m, alpha=alpha)
    weights = np.exp(-alpha * np.arange(1, n + 1) / n)
    rng = np.random.default_rng(5)
    drawn = weights[rng.integers(n, size=(100_000, m))].mean(axis=1) / weights.mean()
    share = float(np.mean(drawn >= x))
    p, error = null.pvalue(x), null.relative_error(x)
    assert error < 0.1
    assert abs(p - share) <= error * p + 4.0 * math.sqrt(share * (1.0 - share) / drawn.size)
    lower, upper = null.pvalue_bounds(x)
    assert lower <= p <= upper


def test_mean_on_the_near_side_keeps_to_its_bounds():
    sizes = [[1] * 30 + [970]] * 20
    null = rankinf.metric_null_distribution([1000] * 20, [1] * 20, tie_sizes=sizes)
    x = np.linspace(0.2, 1.0, 9) * null.mean()
    lower, upper = null.pvalue_bounds(x, "greater")
    p = null.pvalue(x, "greater")
    assert np.all((lower <= p) & (p <= upper))


def test_long_lists_in_which_every_hit_adds_most():
    null = by_name.dcg_null_distribution(781_816, 9)
    p = null.pvalue([0.4597, 0.48, 0.55, 4.25])
    assert np.all(np.diff(p) < 0.0)
    # All but perfect: sums of nine discounts from 4.25 on, the best of them 4.2545.
    assert p[-1] * math.comb(781_816, 9) == pytest.approx(
        count_of_sums([1.0 / math.log2(rank + 1.0) for rank in range(1, 60)], 9, 4.25)
    )


def count_of_sums(weights, n_chosen, at_least):
    """Number of choices from falling weights whose sums are at least something."""

    def count(first, left, needed):
        if left == 0:
            return int(needed <= 1e-12)
        total = 0
        for i in range(first, len(weights) - left + 1):
            if sum(weights[i : i + left]) < needed - 1e-12:
                break
            total += count(i + 1, left - 1, needed - weights[i])
        return total

    return count(0, n_chosen, at_least)


def test_quantiles_where_tilts_are_alike(recwarn):
    # Between saturated values the exponents of neighboring tilts differ by rounding alone.
    null = by_name.dcg_null_distribution(221, 39, k=179, tie_sizes=[2] + [1] * 38 + [181])
    x = null.ppf(0.1)
    assert null.cdf(x) >= 0.1 > null.cdf(x * (1.0 - 1e-9)) - 1e-6
    assert not recwarn.list


def test_too_many_positives_in_few_blocks_are_refused():
    sizes = [2 * 10**9] * 5
    with pytest.raises(
        ValueError, match=r"in 5 blocks of equal scores takes too long to compute: pass"
    ):
        rankinf.ap_null_distribution(10**10, 10**9, tie_sizes=sizes).pvalue(0.2)
    null = rankinf.ap_null_distribution(10**10, 10**9, tie_sizes=sizes, method="normal")
    assert 0.0 < null.pvalue(null.mean() + null.std()) < 0.2


def test_too_many_positives_are_refused_where_they_count():
    with pytest.raises(
        ValueError, match=r"among 1000000000000 items takes too long to compute: pass"
    ):
        rankinf.ap_null_distribution(10**12, 10**11).pvalue(0.2)
    # Not those that a cut-off leaves out.
    null = rankinf.metric_null_distribution(10_200_000, 5_100_000, metric="average_precision@3")
    assert_allclose(null.pvalue(1.0), 0.125, rtol=1e-5)


@pytest.mark.parametrize(
    ("size", "alpha"), [pytest.param((60, 42), 80.5, marks=pytest.mark.long), ((60, 42), 100.0)]
)
def test_many_values_of_a_saturated_statistic(size, alpha):
    null = by_name.bedroc_null_distribution(*size, alpha=alpha)
    x = null.rvs(150, random_state=1)
    p, (lower, upper) = null.pvalue(x), null.pvalue_bounds(x)
    assert np.all((lower * (1.0 - 1e-9) <= p) & (p <= upper * (1.0 + 1e-9)))
    # By the binomial distribution more are drawn once in a million.
    assert np.sum(p <= 0.05) <= 21
    alone = np.array([null.pvalue(value) for value in x[:5]])
    error = null.relative_error(x[:5])
    assert np.all(np.abs(p[:5] / alone - 1.0) <= 2.0 * error)
    assert error.max() < 0.1


def test_upper_bound_of_a_saturated_statistic(monkeypatch):
    # In longer lists there are too many branches.
    settings = dataclasses.replace(branch_and_bound.SETTINGS, part=-1.0)
    monkeypatch.setattr(branch_and_bound, "SETTINGS", settings)
    n, m, alpha = 1200, 1000, 400.0
    rng = np.random.default_rng(3)
    y = np.zeros(n, dtype=int)
    y[rng.choice(n, m, replace=False)] = 1
    result = by_name.bedroc_test(y, np.arange(n, 0, -1.0), alpha=alpha, method="analytic")
    assert result.null_distribution.solver(result.statistic) == "band-limited bounds"
    weights = np.exp(-alpha * np.arange(1, n + 1) / n)[:60]
    # Only the top ranks count: there positives are drawn one after the other.
    drawn = np.empty(5_000)
    for i in range(drawn.size):
        hits = rng.hypergeometric(m, n - m, 60)
        drawn[i] = weights[rng.permutation(60) < hits].sum()
    share = np.mean(drawn >= weights[y[:60] == 1].sum() * (1.0 - 1e-12))
    assert result.pvalue >= share - 4.0 * math.sqrt(share * (1.0 - share) / drawn.size)


def test_values_at_the_end_of_saturated_weights():
    null = by_name.rie_null_distribution(200, 150, alpha=400.0)
    x = null.support()[1]
    assert 0.0 < null.pvalue(x) <= 1.0


def test_quantiles_where_the_support_takes_too_long():
    null = rankinf.ap_null_distribution(100_000, 20_000, tie_sizes=[20_000, 30_000, 50_000])
    with pytest.raises(ValueError, match="use the quantiles"):
        null.support()
    assert null.median() == pytest.approx(null.mean(), abs=0.1 * null.std())


def test_whole_periods_of_levels_of_nearly_one_size():
    # Values cluster around few, and a whole period of the transform, thousands of nodes, separates
    # those of a cluster.
    sizes, m = np.array([176, 175, 175, 175]), 40
    n = int(sizes.sum())
    distribution = ComputedDistribution(RocAuc(), n, m, sizes)
    weights = (2 * (n - np.cumsum(sizes)) + sizes).tolist()
    # Twice the number of pairs of a hit and a miss in the right order, ties counted once.
    ways: dict[int, int] = {}
    for first, second, third in itertools.product(range(m + 1), repeat=3):
        hits = first, second, third, m - first - second - third
        if hits[-1] >= 0:
            pairs = sum(y * weight for y, weight in zip(hits, weights, strict=True)) - m * m
            count = math.prod(map(math.comb, sizes.tolist(), hits))
            ways[pairs] = ways.get(pairs, 0) + count
    for auc in (0.62, 0.7, 0.8):
        at_least = sum(count for pairs, count in ways.items() if pairs >= 2 * auc * m * (n - m))
        value = np.array([auc - RocAuc().offset(n, m)])
        t, sign = distribution._form.value(value, 1)
        tail = distribution._tails._contour.tail(t, int(sign))
        assert tail.error.total[0] < 1e-8
        expected = math.log(Fraction(at_least, math.comb(n, m)))
        assert_allclose(tail.log_p[0], expected, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("moved", [0, 1])
def test_the_largest_values_of_few_levels_with_many_positives(moved):
    # A perfect forest: all 5000 positives in a block of 5334, or all but one.
    sizes = [5334, 903, 1978, 4303, 10193, 27289]
    hits = [5000 - moved, moved, 0, 0, 0, 0]
    result = rankinf.metric_test(rankinf.Ranking.from_counts(sizes, hits))
    ways = math.comb(5334, 5000) + moved * math.comb(5334, 4999) * 903
    expected = math.log(Fraction(ways, math.comb(50_000, 5000)).numerator) - math.log(
        Fraction(ways, math.comb(50_000, 5000)).denominator
    )
    assert result.pvalue_relative_error <= 1e-11
    assert_allclose(result.log10_pvalue * math.log(10.0), expected, rtol=1e-12)


def test_the_largest_value_of_levels_that_are_too_many_to_list():
    # A perfect ranking of a million items in 50 levels.
    sizes, m = np.array([4_000, *[20_000] * 48, 36_000]), 10_000
    hits = np.array([4_000, 6_000, *[0] * 48])
    ways = math.comb(20_000, 6_000)
    expected = (math.log(ways) - math.log(math.comb(1_000_000, m))) / math.log(10.0)
    result = rankinf.metric_test(rankinf.Ranking.from_counts(sizes, hits))
    assert result.pvalue_relative_error <= 1e-10
    assert_allclose(result.log10_pvalue, expected, rtol=1e-13)


@pytest.mark.parametrize("metric", [AveragePrecision(), AveragePrecision(k=9), RocAuc()])
def test_only_blocks_filled_from_the_top_reach_the_largest_value(metric):
    rng, n_known = np.random.default_rng(0), 0
    for _ in range(60):
        sizes = rng.integers(1, 7, rng.integers(2, 6))
        n = int(sizes.sum())
        m = int(rng.integers(1, n))
        ends = EndsOfSupport((metric, n, m, sizes))
        # Blocks behind the cut-off are one.
        sizes = ends.blocks.sizes
        every = itertools.product(*(range(min(size, m) + 1) for size in sizes.tolist()))
        hits = np.array([y for y in every if sum(y) == m])
        values = ends.blocks.total(hits)
        assert_allclose(largest_value(ends.blocks, m), values.max(), rtol=1e-12)
        log_p, below = ends._atom_at_top
        if math.isfinite(log_p):
            n_known += 1
            at_top = hits[values > below]
            assert at_top.shape[0] == 1
            ways = math.prod(map(math.comb, sizes.tolist(), at_top[0].tolist()))
            assert_allclose(math.exp(log_p), ways / math.comb(n, m), rtol=1e-9)
    assert n_known > 20


@pytest.mark.parametrize(
    "x", [1e-10, *(pytest.param(x, marks=pytest.mark.long) for x in (1e-7, 2e-5, 3e-4))]
)
def test_a_small_upper_tail_below_the_mean(x):
    # Most rankings of five positives have a value of next to nothing, and few make the mean.
    n, m, first, least = 5100, 5, 260, 4000
    null = rankinf.metric_null_distribution(n, m, metric=Decaying())
    # Sums of the first weights in whole numbers, rounded down and up; the others add nothing.
    weights, tails = 0.1 * 0.9 ** np.arange(first), []
    for rounding in (np.floor, np.ceil):
        steps = np.minimum(rounding(weights * least / x), least).astype(int)
        ways = np.zeros((m + 1, least + 1))
        ways[0, 0] = 1.0
        for step in steps.tolist():
            for hits in range(m, 0, -1):
                ways[hits, least] += ways[hits - 1, least - step :].sum()
                ways[hits, step:least] += ways[hits - 1, : least - step]
        rest = [math.comb(n - first, m - hits) for hits in range(m + 1)]
        tails.append(math.fsum(w * r for w, r in zip(ways[:, least], rest, strict=True)))
    low, high = (tail / math.comb(n, m) for tail in tails)
    p, error = null.pvalue(x), null.relative_error(x)
    assert x < null.mean()
    assert error < 0.1
    assert high < 1.02 * low
    assert low / (1.0 + error) <= p <= high * (1.0 + error)
