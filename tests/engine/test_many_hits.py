"""Tails of sums over many hits: against the forward pass, long contours and finer merging."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import inverted_tail

from sklearn_rankinf import AveragePrecision, DiscountedCumulativeGain, RocAuc
from sklearn_rankinf._engine import solvers
from sklearn_rankinf._engine.canonical import grouped_increments
from sklearn_rankinf._engine.distribution import exact_distribution
from sklearn_rankinf._engine.inversion.many_hits import ManyHitsInversion, TiltedHits
from sklearn_rankinf._engine.inversion.ranking_transform import RankingTransform
from sklearn_rankinf._engine.moments import exact_mean_and_variance
from sklearn_rankinf._statistics.additive import increments_of

pytestmark = pytest.mark.numeric

AP = AveragePrecision()


@pytest.mark.parametrize("metric", [AP, DiscountedCumulativeGain()])
@pytest.mark.parametrize("tilt", [-2.0, 1.0, 9.0, 60.0])
def test_the_chain_has_the_transform_of_the_forward_pass(metric, tilt):
    blocks = grouped_increments(metric, 20_000, 2_000, None, 0.1)
    std = math.sqrt(exact_mean_and_variance(metric, 20_000, 2_000, None)[1])
    chain = TiltedHits.of(blocks, 2_000, tilt / std)
    assert max(step.step for step in chain._steps) > 1
    z = (tilt + 1j * np.array([0.0, 0.3, 1.0, 3.0])) / std
    expected = RankingTransform(blocks, blocks, 2_000, True).at(tilt / std, z, True, False)
    found = chain.log_mgf + chain.log_means(z - tilt / std)
    share = np.exp(expected.real - expected[0].real)
    assert_allclose(np.exp(found - expected) * share, share, atol=1e-9)


@pytest.mark.parametrize(("n_blocks", "m"), [(200, 5_000), (300, 1_500)])
def test_mean_and_deviation_of_the_chain_are_those_of_mann_and_whitney(n_blocks, m):
    # The values that are typical of each block add up to one many deviations from the mean.
    sizes = np.random.default_rng(0).integers(1, 400, n_blocks)
    n = int(sizes.sum())
    ties = ((sizes.astype(float) ** 3 - sizes) / (n * (n - 1.0))).sum()
    std = math.sqrt((n + 1.0 - ties) / (12.0 * m * (n - m)))
    chain = TiltedHits.of(increments_of(RocAuc(), n, m, sizes), m, 1e-4 / std)
    mean, deviation = chain.mean_and_deviation(std)
    assert_allclose(mean + RocAuc().offset(n, m) - 1e-4 * std, 0.5, rtol=0, atol=1e-6 * std)
    assert_allclose(deviation, std, rtol=2e-3)


@pytest.mark.parametrize("x", [0.185, 0.25, pytest.param(0.4, marks=pytest.mark.long)])
def test_tails_agree_with_long_contours(x):
    sizes, m = np.tile([1, 2, 3, 4, 5], 60), 150
    blocks = increments_of(AP, int(sizes.sum()), m, sizes)
    std = math.sqrt(exact_mean_and_variance(AP, int(sizes.sum()), m, sizes)[1])
    inversion = ManyHitsInversion(lambda level: blocks, m, std)
    found = inversion.tail(np.array([x]), 1)
    tilt = inversion._theta(1, inversion._place(x, 1))
    deviation = inversion._contour(1, inversion._place(x, 1)).deviation
    expected = inverted_tail(sizes.tolist(), m, [x], tilt, 0.2 / deviation, 60)
    assert_allclose(found.log_p, expected, rtol=0, atol=1e-7)
    assert found.error.total[0] < 1e-4


@pytest.mark.parametrize(
    ("n", "m", "has_ties", "x"),
    [
        (4_000, 1_060, True, 0.6),
        pytest.param(10_000, 1_200, False, 0.14, marks=pytest.mark.long),
        pytest.param(10_000, 1_200, False, 0.6, marks=pytest.mark.long),
        pytest.param(10_000, 1_200, True, 0.14, marks=pytest.mark.long),
        pytest.param(10_000, 1_200, True, 0.6, marks=pytest.mark.long),
    ],
)
def test_stated_errors_hold_against_less_merging(n, m, has_ties, x, monkeypatch):
    rng = np.random.default_rng(0)
    sizes = np.diff(np.append(np.unique(rng.integers(1, n, n // 5)), n), prepend=0)
    ties = sizes if has_ties else None
    plain = exact_distribution(AP, n, m, ties).estimates(np.array([x]), 1)
    monkeypatch.setattr(solvers, "SETTINGS", replace(solvers.SETTINGS, contour_work=0.0))
    fine = exact_distribution(AP, n, m, ties).estimates(np.array([x]), 1)
    rough = exact_distribution(AP, n, m, ties, 0.023).estimates(np.array([x]), 1)
    assert fine.error.total[0] < 0.1
    if has_ties:  # a plain contour of so many blocks takes long
        assert plain.error.total[0] < 1e-6 < fine.error.total[0]
    assert abs(fine.log_p - plain.log_p)[0] <= fine.error.total[0] + plain.error.total[0]
    assert abs(fine.log_p - rough.log_p)[0] <= fine.error.total[0] + rough.error.total[0]
    finest = ManyHitsInversion(
        lambda level: grouped_increments(AP, n, m, ties, 0.03 * 2.5**-level),
        m,
        math.sqrt(exact_mean_and_variance(AP, n, m, ties)[1]),
    )
    contour = finest._contour(1, finest._place(x, 1)).tail(np.array([x]), 1, 1.0)
    assert abs(contour.log_p - fine.log_p)[0] <= fine.error.total[0]
    assert abs(contour.log_p - rough.log_p)[0] <= rough.error.total[0]
