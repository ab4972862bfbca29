"""Steep laws, with lucky hits apart: against bounds, other contours and enumeration."""

import math
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import inverted_tail, tail_bounds
from scipy.special import logsumexp
from sklearn_rankinf._engine.inversion.steep import SteepInversion

from sklearn_rankinf import ap_null_distribution
from sklearn_rankinf._engine.computed import ComputedDistribution
from sklearn_rankinf._engine.distribution import exact_mean_and_variance
from sklearn_rankinf._engine.inversion import lucky, steep
from sklearn_rankinf._engine.inversion.contour import ContourInversion
from sklearn_rankinf._engine.inversion.ranking_transform import RankingTransform
from sklearn_rankinf._engine.merging import grouped_increments
from sklearn_rankinf._engine.moments import deviation_of_the_body
from sklearn_rankinf._engine.statistics import increments_of
from sklearn_rankinf._metrics import AveragePrecision, Bedroc

pytestmark = pytest.mark.numeric


def steep_law(n_samples, n_positives, tie_sizes=None, merged=False):
    problem = AveragePrecision(), n_samples, n_positives, tie_sizes
    body = deviation_of_the_body(grouped_increments(*problem, 0.05), n_positives)
    mean, _ = exact_mean_and_variance(*problem)

    def blocks(level, deep):
        around = n_samples if deep else None
        if level == 0:
            return grouped_increments(*problem, 0.05, 4.0 * body, around)
        if merged:
            return grouped_increments(*problem, 0.02, 1.5 * body, around)
        return increments_of(*problem)

    return SteepInversion(blocks, merged, n_positives, body, 0.0, mean)


def quantiles(n_samples, n_positives, probabilities):
    null = ap_null_distribution(n_samples, n_positives)
    return np.array([null.ppf(q) for q in probabilities])


@pytest.mark.parametrize(("n_samples", "n_positives"), [(250, 5), (150, 9)])
def test_both_tails_against_a_long_contour(n_samples, n_positives):
    law = steep_law(n_samples, n_positives)
    x = quantiles(n_samples, n_positives, [1e-3, 0.02, 0.3, 0.6, 0.9, 0.99])
    sizes = np.ones(n_samples, dtype=int)
    mean, _ = exact_mean_and_variance(AveragePrecision(), n_samples, n_positives, None)
    # A period that is longer than all values. Twice as many nodes change no tail by 5e-7 of it.
    log_below = inverted_tail(sizes, n_positives, x, -20.0, 1.0, 20_000)
    for sign, expected in ((-1, log_below), (1, np.log(-np.expm1(log_below)))):
        side = (x - mean) * sign > 0.0
        log_p, error = law.log_tail(x[side], sign)
        assert np.all(error < 5e-3)
        assert np.all(np.abs(np.expm1(log_p - expected[side])) <= error)


@pytest.mark.parametrize("tie_sizes", [None, [1, 1, 2, 1, 3] * 25 + [1] * 40 + [60]])
def test_upper_tail_within_bounds(tie_sizes):
    n_samples = 300 if tie_sizes is None else sum(tie_sizes)
    law = steep_law(n_samples, 6, None if tie_sizes is None else np.array(tie_sizes))
    mean, variance = exact_mean_and_variance(
        AveragePrecision(), n_samples, 6, None if tie_sizes is None else np.array(tie_sizes)
    )
    for z in (0.3, 2.0, 6.0):
        x = mean + z * math.sqrt(variance)
        low, high = tail_bounds(n_samples, 6, x, tie_sizes=tie_sizes, n_cells=20_000)
        log_p, error = law.log_tail(np.array([x]), 1)
        p = math.exp(log_p[0])
        assert low - error[0] * p <= p <= high + error[0] * p
        assert error[0] < (5e-3 if tie_sizes is None else 5e-2)


@pytest.mark.parametrize(("n_samples", "n_positives"), [(34, 5), (60, 4)])
def test_enumeration(n_samples, n_positives):
    blocks = increments_of(AveragePrecision(), n_samples, n_positives, None)
    hits = np.array(list(combinations(range(n_samples), n_positives)))
    one_hit = blocks.linear + blocks.square
    values = (blocks.cross[hits] * np.arange(n_positives) + one_hit[hits]).sum(axis=1)
    law = steep_law(n_samples, n_positives)
    for sign in (1, -1):
        x = np.quantile(values, [0.55, 0.7, 0.9, 0.97] if sign > 0 else [0.05, 0.2, 0.35])
        log_p, error = law.log_tail(x, sign)
        expected = np.array([np.mean(values * sign >= each * sign - 1e-12) for each in x])
        known = np.isfinite(error)
        assert known.sum() >= 3
        off = np.abs(np.expm1(log_p - np.log(expected)))[known]
        assert np.all(off <= error[known])


def test_tails_from_different_contours_add_up():
    # Close to the mean either tail may be told by its own contour.
    for n_samples, n_positives in [(1000, 5), (1200, 14)]:
        law = steep_law(n_samples, n_positives)
        x = quantiles(n_samples, n_positives, [0.4, 0.55, 0.7, 0.85])
        above, error_above = law.log_tail(x, 1)
        below, error_below = law.log_tail(x, -1)
        assert_allclose(np.exp(above) + np.exp(below), 1.0, rtol=1e-6)
        assert max(error_above.max(), error_below.max()) < 1e-4


@pytest.mark.parametrize(
    ("n_samples", "n_positives"), [(2000, 8), pytest.param(1500, 20, marks=pytest.mark.long)]
)
def test_merged_blocks_err_no_more_than_stated(n_samples, n_positives):
    x = quantiles(n_samples, n_positives, [1e-4, 1e-3, 0.05, 0.4, 0.9, 0.99, 0.999])
    single, merged = (steep_law(n_samples, n_positives, merged=merged) for merged in (False, True))
    mean, _ = exact_mean_and_variance(AveragePrecision(), n_samples, n_positives, None)
    for sign in (1, -1):
        side = x[(x - mean) * sign > 0.0]
        (log_p, error), (other, other_error) = (
            law.log_tail(side, sign) for law in (single, merged)
        )
        assert np.all(np.abs(np.expm1(log_p - other)) <= error + other_error)
        assert np.all(other_error < 1e-2)


@pytest.mark.parametrize(
    ("n_samples", "n_positives"),
    [(300_000, 20), pytest.param(10_000_000, 100, marks=pytest.mark.long)],
)
def test_merging_errs_to_either_side_from_one_lucky_rank_to_the_next(n_samples, n_positives):
    problem = AveragePrecision(), n_samples, n_positives, None
    body = deviation_of_the_body(grouped_increments(*problem, 0.05), n_positives)
    mean, variance = exact_mean_and_variance(*problem)
    s = mean + np.linspace(0.6, 4.0, 40) * math.sqrt(variance)

    def answers(finer):
        def blocks(level, deep):
            less = finer if level else 2.5 * finer
            return grouped_increments(*problem, 0.02 * less, less * body)

        return SteepInversion(blocks, True, n_positives, body, 0.0, mean).log_tail(s, 1)

    log_p, error = answers(1.0)
    finer, its_error = answers(0.4)
    distance = np.abs(log_p - finer)
    assert np.all(distance <= error + its_error)
    # Elsewhere the same merging errs hundreds of times less.
    assert distance.max() > 1e-4
    assert error.max() < 3e-3


def test_far_below_the_mean_against_the_contours_of_the_best_tilts():
    n_samples, n_positives = 2000, 40
    problem = AveragePrecision(), n_samples, n_positives, None
    law = steep_law(n_samples, n_positives)
    blocks, coarse = increments_of(*problem), grouped_increments(*problem, 0.05)
    transform = RankingTransform(blocks, coarse, n_positives)
    mean, variance = exact_mean_and_variance(*problem)
    body = deviation_of_the_body(coarse, n_positives)
    contours = ContourInversion(transform, math.sqrt(variance), body)
    x = mean - np.array([0.5, 1.2, 1.6, 1.9]) * math.sqrt(variance)
    log_p, error = law.log_tail(x, -1)
    other, other_error = contours.log_tail(x, -1)
    assert log_p.min() < -30.0
    assert np.all(np.abs(np.expm1(log_p - other)) <= error + other_error)
    assert np.all(error < 1e-2)


def test_few_contours_serve_all_values(monkeypatch):
    followed = []
    contours = steep._LuckyApart.contours
    monkeypatch.setattr(
        steep._LuckyApart,
        "contours",
        lambda *args: followed.append(args) or contours(*args),
    )
    law = ComputedDistribution(AveragePrecision(), 1000, 10, None)
    x = ap_null_distribution(1000, 10).rvs(3000, random_state=0)
    p, _, error = law.tail(x, 1)
    assert len(followed) <= 3
    assert np.all(error < 5e-3)
    # No answer depends on what else was asked.
    alone = [
        ComputedDistribution(AveragePrecision(), 1000, 10, None).tail(x[i : i + 1], 1)
        for i in (0, 7)
    ]
    assert_allclose([one[0][0] for one in alone], p[[0, 7]], rtol=1e-12)
    assert_array_equal(np.argsort(p), np.argsort(-x))


def test_nothing_is_claimed_where_it_cannot_be_told():
    law = steep_law(300, 6)
    with np.errstate(all="raise"):
        # Of the best ranking, and just above the lowest value.
        best = law.log_tail(np.array([1.0]), 1)
        lowest = ap_null_distribution(300, 6).support()[0]
        worst = law.log_tail(np.array([lowest * (1.0 + 1e-9)]), -1)
    for log_p, error in (best, worst):
        assert np.isposinf(error[0]) == np.isneginf(log_p[0])
    # No others that all hits may be among.
    error = steep_law(40, 30).log_tail(np.array([0.9]), 1)[1]
    assert np.isposinf(error).all()


def test_more_lucky_hits_than_are_told_apart_are_improbable():
    for n, m, n_lucky in [(1000, 10, 50), (100_000, 20, 2000), (200, 8, 16)]:
        most, log_rarity = lucky._most_lucky(n, m, n_lucky, -27.0)
        hits = np.arange(most + 1, min(m, n_lucky) + 1)
        if not hits.size:
            assert np.isneginf(log_rarity)
            continue
        ways = [
            math.log(math.comb(n_lucky, k)) + math.log(math.comb(n - n_lucky, m - k))
            for k in hits.tolist()
        ]
        assert logsumexp(ways) - math.log(math.comb(n, m)) <= log_rarity


@pytest.mark.parametrize(
    ("n_samples", "n_positives"), [(1000, 5), (10_000, 50), (1_000_000, 1000), (10**9, 1000)]
)
def test_laws_of_few_positives_are_steep(n_samples, n_positives):
    law = ComputedDistribution(AveragePrecision(), n_samples, n_positives, None)
    assert law._tails._steep is not None


@pytest.mark.parametrize(
    ("statistic", "n_positives"), [(AveragePrecision(), 300), (Bedroc(alpha=80.0), 6)]
)
def test_other_laws_are_not(statistic, n_positives):
    # Many positives, and few of which most add next to nothing.
    law = ComputedDistribution(statistic, 1000, n_positives, None)
    assert law._tails._steep is None
