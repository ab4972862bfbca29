"""Upper tails far up: against lists of placements, other contours and the plain forward pass."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import inverted_tail
from scipy.special import logsumexp
from sklearn_rankinf._engine.inversion.far_up import FarUp

from sklearn_rankinf import ap_null_distribution
from sklearn_rankinf._engine import solvers as tails
from sklearn_rankinf._engine.computed import ComputedDistribution
from sklearn_rankinf._engine.distribution import exact_mean_and_variance
from sklearn_rankinf._engine.exact.enumeration import atoms
from sklearn_rankinf._engine.hypergeometric import log_binomial
from sklearn_rankinf._engine.inversion import far_up
from sklearn_rankinf._engine.inversion import multirate as cascade
from sklearn_rankinf._engine.inversion.bands import carrying_bands, feasible_bands
from sklearn_rankinf._engine.inversion.contour import ContourInversion
from sklearn_rankinf._engine.inversion.multirate import Cascade
from sklearn_rankinf._engine.inversion.ranking_transform import RankingTransform
from sklearn_rankinf._engine.inversion.transform import log_transform
from sklearn_rankinf._engine.merging import grouped_increments
from sklearn_rankinf._engine.moments import deviation_of_the_body
from sklearn_rankinf._engine.statistics import increments_of
from sklearn_rankinf._metrics import AveragePrecision, Bedroc

pytestmark = pytest.mark.numeric


def law_far_up(statistic, n_samples, n_positives, tie_sizes=None, merged=False):
    problem = statistic, n_samples, n_positives, tie_sizes
    body = deviation_of_the_body(grouped_increments(*problem, 0.05), n_positives)

    def blocks(level):
        if level > 0 and not merged:
            return increments_of(*problem)
        less = 2.5 ** (1 - level)
        return grouped_increments(*problem, 0.02 * less, 2.5 * less * body)

    return FarUp(blocks, merged, n_positives, body)


def log_tail_of_placements(statistic, n_samples, n_positives, tie_sizes, x):
    blocks = increments_of(statistic, n_samples, n_positives, tie_sizes)
    listed = atoms(blocks, n_positives, at_least=x)
    beyond = listed.log_counts[listed.values >= x * (1.0 - 1e-12)]
    return logsumexp(beyond) - log_binomial(n_samples, n_positives)


TIES = np.array([1, 1, 2, 1, 3] * 40 + [1] * 60 + [300])


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "tie_sizes", "merged", "x"),
    [
        (500, 6, None, False, [0.83]),
        pytest.param(200, 10, None, True, [0.92], marks=pytest.mark.long),
        pytest.param(int(TIES.sum()), 8, TIES, True, [0.85], marks=pytest.mark.long),
    ],
)
def test_listed_placements(monkeypatch, n_samples, n_positives, tie_sizes, merged, x):
    # Less work, of which no less is known.
    monkeypatch.setattr(cascade, "_WORK", 1e8)
    problem = AveragePrecision(), n_samples, n_positives, tie_sizes
    log_p, error = law_far_up(*problem, merged).log_tail(np.array(x))
    expected = [log_tail_of_placements(*problem, each) for each in x]
    known = np.isfinite(error)
    assert known.any()
    assert np.all(np.abs(np.expm1(log_p - expected))[known] <= error[known])


def test_a_fixed_grid_of_nodes():
    x = np.array([0.25, 0.4])
    log_p, error = law_far_up(AveragePrecision(), 300, 20).log_tail(x)
    expected = inverted_tail(np.ones(300, dtype=int), 20, x, 60.0, 3.0, 3000)
    assert np.all(error < 1e-5)
    assert np.all(np.abs(np.expm1(log_p - expected)) <= error)


@pytest.mark.parametrize(
    ("statistic", "n_samples", "n_positives", "x"),
    [
        (AveragePrecision(), 800, 30, [0.25, 0.35]),
        pytest.param(AveragePrecision(), 1300, 100, [0.4, 0.8], marks=pytest.mark.long),
        (Bedroc(80.0), 1300, 60, [0.6]),
    ],
)
def test_contours_of_all_blocks(statistic, n_samples, n_positives, x):
    x = np.array(x)
    blocks = increments_of(statistic, n_samples, n_positives, None)
    if isinstance(statistic, Bedroc):
        x *= blocks.of_one_hit[:n_positives].sum()
    coarse = grouped_increments(statistic, n_samples, n_positives, None, 0.05)
    _, variance = exact_mean_and_variance(statistic, n_samples, n_positives, None)
    body = deviation_of_the_body(coarse, n_positives)
    transform = RankingTransform(blocks, coarse, n_positives)
    other, other_error = ContourInversion(transform, math.sqrt(variance), body).log_tail(x, 1)
    assert np.all(other_error < 2e-2)
    for merged in (False, True):
        law = law_far_up(statistic, n_samples, n_positives, merged=merged)
        log_p, error = law.log_tail(x)
        assert log_p.max() < -15.0
        assert np.all(np.abs(np.expm1(log_p - other)) <= error + other_error)
        assert np.all(error <= np.maximum(1e-4, -1e-6 * log_p))


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "x"),
    [
        (10_000, 50, 0.1),
        pytest.param(10_000, 50, 0.4, marks=pytest.mark.long),
        pytest.param(100_000, 20, 0.3, marks=pytest.mark.long),
        pytest.param(100_000, 100, 0.1, marks=pytest.mark.long),
    ],
)
def test_logarithms_are_right_to_one_in_a_million(n_samples, n_positives, x):
    null, x = ap_null_distribution(n_samples, n_positives), np.array([x])
    log_p = null.log_pvalue(x)
    assert np.all(null.relative_error(x) < -1e-6 * log_p)
    # A longer contour of the blocks merged otherwise, for more numbers of lucky hits.
    law = ComputedDistribution(AveragePrecision(), n_samples, n_positives, None)._tails
    blocks = law._blocks
    law._blocks = lambda level, deep=False: blocks(level, deep) if level else blocks(0, True)
    again, error = law._far_up.log_tail(x)
    assert np.all(np.abs(np.expm1(again - log_p)) <= error + null.relative_error(x))


def test_numbers_of_lucky_hits_make_up_the_transform():
    blocks = increments_of(AveragePrecision(), 300, 12, None)
    body = deviation_of_the_body(blocks, 12)
    numbers = far_up._NumbersOfLucky(blocks, 12, body, -1e9)
    assert numbers.most == 12
    expected = log_transform(blocks, 12, numbers.thetas).real
    assert_allclose(logsumexp(numbers.log_mgfs, axis=0), expected, rtol=1e-10)
    at_the_top = [
        log_binomial(numbers.n_top, k) + log_binomial(300 - numbers.n_top, 12 - k)
        for k in range(13)
    ]
    assert_allclose(numbers.log_shares, np.array(at_the_top) - log_binomial(300, 12), rtol=1e-9)


@pytest.mark.parametrize(("theta", "period"), [(-3.0, 3.0), (40.0, 1.5)])
def test_nodes_in_between_are_those_of_the_plain_pass(theta, period):
    blocks = increments_of(AveragePrecision(), 500, 12, None)
    from_the_end = blocks.from_the_end(12)
    limits = feasible_bands(from_the_end, 12)
    bands, log_total = carrying_bands(from_the_end, 12, theta, 1e-30, limits, limits)
    body = deviation_of_the_body(blocks, 12)
    contour = Cascade(from_the_end, 12, theta, period, bands, log_total, body)
    parts = contour._parts(contour._reach(1e9))
    assert [part.n_windows for part in parts[-2:]] == [4, 1]
    z, logs = contour.log_transform(from_the_end, bands, False)
    assert_allclose(np.diff(z.imag), 2.0 * math.pi / period)
    assert_allclose(z[0], theta + 1j * math.pi / period)
    plain = np.exp(log_transform(blocks, 12, z) - log_total)
    told = np.exp(logs - log_total)
    # Up to where the nodes of the first part fade out.
    kept = slice(0, int(0.7 * z.size))
    assert_allclose(told[kept], plain[kept], atol=1e-8)


def test_no_answer_depends_on_what_else_was_asked():
    x = np.array([0.2, 0.3, 0.45, 0.6])
    together = law_far_up(AveragePrecision(), 500, 20).log_tail(x)
    law = law_far_up(AveragePrecision(), 500, 20)
    backwards = [law.log_tail(x[i : i + 1]) for i in range(x.size)[::-1]][::-1]
    log_p, error = (np.concatenate(each) for each in zip(*backwards, strict=True))
    assert_allclose(together[0], log_p, rtol=1e-13)
    assert_allclose(together[1], error, rtol=1e-5)
    assert np.isfinite(together[1]).sum() >= 3
    assert np.all(np.diff(together[0][np.isfinite(together[1])]) < 0.0)


def test_laws_that_are_not_steep_have_far_tails_too(monkeypatch):
    monkeypatch.setattr(tails, "_MERGE_ABOVE", 2_000)
    x = np.array([0.2])
    law = ComputedDistribution(AveragePrecision(), 3000, 200, None)
    assert law._tails._steep is None
    _, log_p, error = law.tail(x, 1)
    monkeypatch.setattr(tails.Tails, "_far_up", None)
    _, other, other_error = ComputedDistribution(AveragePrecision(), 3000, 200, None).tail(x, 1)
    assert log_p[0] != other[0]
    assert abs(math.expm1(log_p[0] - other[0])) <= error[0] + other_error[0]
    assert error[0] < -1e-6 * log_p[0]


def test_nothing_is_claimed_about_the_body():
    law = law_far_up(AveragePrecision(), 1000, 8)
    mean, _ = exact_mean_and_variance(AveragePrecision(), 1000, 8, None)
    with np.errstate(all="raise"):
        log_p, error = law.log_tail(np.array([0.5 * mean, mean, 1.0]))
    assert_array_equal(np.isposinf(error), np.isneginf(log_p))
    assert np.isposinf(error[:2]).all()
