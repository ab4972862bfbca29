"""The assumptions behind stated errors and guarantees, in cases where they matter."""

import decimal
import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import oracles
import pytest

from sklearn_rankinf import (
    AveragePrecision,
    DiscountedCumulativeGain,
    ap_null_distribution,
    metric_null_distribution,
)
from sklearn_rankinf._engine.canonical import grouped_increments
from sklearn_rankinf._engine.distribution import ComputedDistribution
from sklearn_rankinf._engine.estimates import TailEstimates
from sklearn_rankinf._engine.exact import bounds
from sklearn_rankinf._engine.inversion import contour
from sklearn_rankinf._engine.inversion import ranking_transform as tilted
from sklearn_rankinf._engine.solvers import Tails
from sklearn_rankinf._null.distribution import pvalue_log_and_error, tolerating
from sklearn_rankinf._statistics import moments
from sklearn_rankinf._statistics.additive import increments_of
from sklearn_rankinf._statistics.increments import Increments

pytestmark = pytest.mark.numeric


def contour_null(n_samples, n_positives):
    problem = AveragePrecision(), n_samples, n_positives, None
    fine, coarse = increments_of(*problem), grouped_increments(*problem, 0.05)
    mean, variance = moments.mean_and_variance(fine, n_positives)
    body = moments.deviation_of_the_body(coarse, n_positives)
    transform = tilted.RankingTransform(fine, coarse, n_positives)
    return contour.ContourInversion(transform, math.sqrt(variance), body), mean, math.sqrt(variance)


@pytest.mark.parametrize(("length", "aliasing"), [(32.0, 2.0), (27.0, 0.0)])
def test_errors_of_contours_cover_values_a_period_away(length, aliasing, monkeypatch):
    n_samples, n_positives = 300, 20
    null, mean, std = contour_null(n_samples, n_positives)
    s = mean + std * np.linspace(0.5, 6.0, 12)
    # By another program, on a grid that is fine and long enough.
    tie_sizes = (1,) * n_samples
    truth = oracles.inverted_tail(tie_sizes, n_positives, s, 1.5 / std, 0.1 / std, 1200)
    finer = oracles.inverted_tail(tie_sizes, n_positives, s, 1.5 / std, 0.08 / std, 1500)
    assert np.all(np.abs(truth - finer) < 1e-9)
    # A period that is too short is used.
    monkeypatch.setattr(contour.ContourInversion, "_length", lambda self, period: length * std)
    short = replace(contour.SETTINGS, aliasing=aliasing, aliasing_dense=aliasing)
    monkeypatch.setattr(contour, "SETTINGS", short)
    null, _, _ = contour_null(n_samples, n_positives)
    found = null.tail(s, 1)
    off, error = np.abs(np.expm1(found.log_p - truth)), found.error.total
    assert np.isfinite(error).all()
    assert np.all(off <= error)
    assert off.max() > 1e-5


@pytest.mark.parametrize(("n_samples", "n_positives"), [(150, 15), (200, 190)])
def test_no_tail_is_less_than_that_of_the_best_value(n_samples, n_positives, monkeypatch):
    def too_low(self, t, *_, **__):
        return TailEstimates.of(np.full(t.shape, -1e4), "upper bound", enclosure=np.inf)

    monkeypatch.setattr(Tails, "tail", too_low)
    monkeypatch.setattr(ComputedDistribution, "_conditioned_tail", too_low)
    null = ap_null_distribution(n_samples, n_positives)
    null._distribution = ComputedDistribution(null.statistic, n_samples, n_positives, None)
    log_p = null.log_pvalue(np.array([0.96, 0.99, 1.0]))
    assert np.all(log_p >= -oracles.log_comb(n_samples, n_positives) - 1e-9)


@pytest.mark.parametrize("finer", [1, 3, 7, 10])
@pytest.mark.parametrize("unit", [0.1, 0.7, 1 / 3, 1e-5])
def test_bounds_hold_where_gains_are_multiples_of_the_width(unit, finer):
    n_samples, n_hits = 12, 5
    # Sums are at the edges of cells but for rounding, which decides about atoms of 1/792 or more.
    steps = np.array([1, 2, 3, 4, 5, 6, 7, 9, 11, 12, 13, 29])
    nothing = np.zeros(n_samples)
    increments = Increments(np.ones(n_samples, dtype=np.int64), nothing, unit * steps, nothing)
    placements = np.array(list(itertools.combinations(steps.tolist(), n_hits)))
    sums = placements.sum(axis=1)
    n_cells = finer * int(sums.max())
    top = n_cells * unit / finer
    close = bounds.usual_roundings(increments, n_hits) * top / (n_cells - 0.5)
    null = bounds.enclosure(increments, n_hits, top, close, math.inf, -700.0)
    assert math.isclose(null.width * finer, unit)
    for values in (unit * np.unique(sums), np.unique((unit * placements).sum(axis=1))):
        whole = np.rint(values / unit)[:, None]
        for sign, inside in ((1, sums >= whole), (-1, sums <= whole)):
            lower, upper = null.bounds(values, sign)
            share = inside.mean(axis=1)
            assert np.all(lower <= share)
            assert np.all(share <= upper)


@pytest.mark.parametrize("n_samples", [10_000, 100_000])
def test_the_observed_rank_of_a_single_negative_is_counted(n_samples):
    null = ap_null_distribution(n_samples, n_samples - 1)
    for rank in (1, 2, n_samples // 2, 6 * n_samples // 7, n_samples - 1, n_samples):
        behind = math.fsum((i - 1) / i for i in range(rank + 1, n_samples + 1))
        value = (rank - 1 + behind) / (n_samples - 1)
        expected = (n_samples - rank + 1) / n_samples
        np.testing.assert_allclose(null.pvalue(value), expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("n_positives", "tie_sizes"),
    [
        (12, None),
        (240, None),
        (23, [2] * 150),
        pytest.param(60, [2] * 150, marks=pytest.mark.long),
        pytest.param(12, [100] + [1] * 200, marks=pytest.mark.long),
        (60, [100] + [1] * 200),
    ],
)
def test_tolerant_tails_on_both_sides_of_the_mean(n_positives, tie_sizes):
    null = ap_null_distribution(300, n_positives, tie_sizes=tie_sizes)
    x = null.mean() + np.array([-3.0, -1.6, -0.8, 0.0, 0.7, 5.0]) * null.std()
    x = x[(x > null.support()[0]) & (x < 1.0)]
    found = [pvalue_log_and_error(tolerating(null, 0.01), value, "greater") for value in x]
    _, log_p, error = np.transpose(found)
    # A tenth of the tolerance more is accepted for each power of ten.
    assert np.all(error < 0.01 * (1.0 - log_p / (10.0 * math.log(10.0))))
    # Both may be off.
    stated = error + null.relative_error(x)
    assert np.all(np.abs(np.expm1(log_p - null.log_pvalue(x))) <= stated)


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "z", "tolerance"),
    [
        (1000, 930, 1.6, 0.1),
        (14_805, 13_769, 1.0, 0.01),
        pytest.param(15_000, 12_000, 4.0, 0.02, marks=pytest.mark.long),
        pytest.param(60_000, 48_000, 1.6, 0.1, marks=pytest.mark.long),
    ],
)
def test_tolerant_tails_of_many_positives_in_merged_blocks(n_samples, n_positives, z, tolerance):
    # Rough blocks err more like the ratio of their ends than like its square.
    null = metric_null_distribution(n_samples, n_positives, metric="bedroc")
    x = null.mean() + z * null.std()
    _, log_p, error = pvalue_log_and_error(tolerating(null, tolerance), x, "greater")
    stated = error + null.relative_error(x)
    assert abs(math.expm1(log_p - null.log_pvalue(x))) <= stated < 2.0 * tolerance + 0.02


@pytest.mark.parametrize(("greater", "error"), [((1.0, 1e-13), math.inf), ((0.2, 1e-9), 1e-9)])
def test_two_sided_error_where_one_tail_is_only_bounded(greater, error, monkeypatch):
    def one_sided(self, t, sign):
        p, own = greater if sign > 0 else (1.0, math.inf)
        return tuple(np.full(t.shape, x) for x in (p, math.log(p), own))

    null = ap_null_distribution(300, 30)
    monkeypatch.setattr(type(null), "_one_sided", one_sided)
    # The lower tail is at most 1. It may be the smaller one unless the other is less than half.
    assert null.pvalue(0.2, "two-sided") == min(1.0, 2.0 * greater[0])
    assert null.relative_error(0.2, "two-sided") == error


def test_errors_of_the_largest_value_grow_with_its_logarithm():
    # Blocks of five: the last one that holds any positives of a perfect ranking holds one.
    n, m = 100_000, 10_001
    null = metric_null_distribution(n, m, metric="ndcg", tie_sizes=[5] * (n // 5))
    best = null.support()[1]
    context = decimal.Context(prec=40, Emax=10**6, Emin=-(10**6))
    exact = context.ln(context.divide(5, math.comb(n, m)))
    difference = context.subtract(decimal.Decimal(null.log_pvalue(best)), exact)
    assert abs(float(difference)) <= null.relative_error(best) <= 1e-9


@pytest.mark.parametrize(("n", "m", "k"), [(100_000, 10_000, 100), (100_000, 10_000, 50_000)])
def test_errors_of_zero_are_those_of_a_hypergeometric_probability(n, m, k):
    null = metric_null_distribution(n, m, metric=f"average_precision@{k}")
    exact = Fraction(math.comb(n - k, m), math.comb(n, m))
    if null.pvalue(0.0, "less") > 0.0:
        found = Fraction(null.pvalue(0.0, "less"))
        assert abs(float(found / exact - 1)) <= null.relative_error(0.0, "less") <= 1e-12
    rest = Fraction(null.pvalue(1e-9))
    assert abs(float(rest / (1 - exact) - 1)) <= null.relative_error(1e-9) <= 1e-12


def test_tolerant_tails_keep_the_jump_behind_a_cut_off():
    # Ranks behind k that are merged with ranks before it lose a part of the variance, the same in
    # blocks of any ratio: the score was 14 % off, with 1 % stated.
    rng = np.random.default_rng(5)
    n, m, k = 3076, 30, 2905
    sizes = rng.choice([1, 2, 3, 8], size=n, p=[0.5, 0.2, 0.2, 0.1])
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), k)]
    sizes = np.append(sizes, [k - sizes.sum(), *[19] * 9])
    metric = DiscountedCumulativeGain(k)
    null = metric_null_distribution(n, m, metric=metric, tie_sizes=sizes)
    value = null.mean() + 2.5 * null.std()
    _, log_p, error = pvalue_log_and_error(null, value, "greater")
    _, found, stated = pvalue_log_and_error(tolerating(null, 0.023), value, "greater")
    assert abs(found - log_p) <= math.log1p(stated) + math.log1p(error)
    # The oracle: a random labelling, 300,000 times, by distinct ranks.
    hits = rng.integers(n, size=(330_000, m))
    hits = np.sort(hits, axis=1)
    hits = hits[np.all(np.diff(hits, axis=1) > 0, axis=1)]
    weights = np.where(np.arange(n) < k, 1.0 / np.log2(np.arange(n) + 2.0), 0.0)
    starts = np.cumsum(sizes) - sizes
    means = np.repeat(np.add.reduceat(weights, starts) / sizes, sizes)
    share = np.mean(means[hits].sum(axis=1) >= value * (1.0 - 1e-12))
    deviation = math.sqrt(share / len(hits)) / share
    assert abs(found - math.log(share)) <= 4.0 * deviation + math.log1p(stated)
