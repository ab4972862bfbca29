"""The transform of a sum of weights, against forward passes and sums over all outcomes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import hypergeom

from sklearn_rankinf import DiscountedCumulativeGain, RobustInitialEnhancement
from sklearn_rankinf._engine.distribution import exact_distribution
from sklearn_rankinf._engine.inversion.ranking_transform import RankingTransform, SumOfWeights
from sklearn_rankinf._engine.moments import exact_mean_and_variance
from sklearn_rankinf._statistics import Increments

pytestmark = pytest.mark.numeric


def drawn(n_blocks, n):
    """Blocks of equal scores with falling weights."""
    rng = np.random.default_rng(n_blocks)
    sizes = rng.multinomial(n - n_blocks, rng.dirichlet(np.ones(n_blocks))) + 1
    weights, nothing = np.sort(rng.random(n_blocks))[::-1], np.zeros(n_blocks)
    return Increments(sizes, nothing, weights - weights[-1], nothing)


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize(("n_blocks", "n", "m"), [(3, 2000, 900), (20, 3000, 300), (60, 900, 9)])
@pytest.mark.parametrize("tilt", [-0.3, 0.2, 3.0, 40.0])
def test_the_transform_is_that_of_the_forward_pass(n_blocks, n, m, tilt, merged):
    blocks = drawn(n_blocks, n)
    of_sum, of_pass = (kind(blocks, blocks, m, merged) for kind in (SumOfWeights, RankingTransform))
    z = tilt + 1j * np.append(np.linspace(0.0, 3.0, 20), [20.0, 100.0, 1000.0])
    found, expected = (each.at(tilt, z, False, merged) for each in (of_sum, of_pass))
    top = expected[0].real
    assert of_sum.log_mgf(tilt) == pytest.approx(top, rel=1e-12, abs=1e-12)
    atol = of_sum.rounding * max(1.0, abs(top)) * 10.0
    assert_allclose(np.exp(found - top), np.exp(expected - top), rtol=0.0, atol=atol)


def test_returns_are_not_left_out():
    """Weights that are multiples of 1/3 return to the size of the first node."""
    nothing = np.zeros(4)
    weights = np.array([1.0, 2.0 / 3.0, 1.0 / 3.0, 0.0])
    blocks = Increments(np.array([500, 700, 900, 5000]), nothing, weights, nothing)
    transform = SumOfWeights(blocks, blocks, 400)
    z = 0.5 + 6j * np.pi * np.arange(20)
    logs = transform.at(0.5, z, False, False)
    assert_allclose(logs.real, logs[0].real, rtol=1e-12)
    between = transform.at(0.5, z + 3j * np.pi, False, False)
    assert np.all(between.real < logs[0].real - 30.0)


@pytest.mark.parametrize(
    ("metric", "n", "m", "z"),
    [
        (DiscountedCumulativeGain(), 3000, 950, 3.0),
        (DiscountedCumulativeGain(), 10**6, 10_000, 60.0),
        (RobustInitialEnhancement(20.0), 3000, 950, 3.0),
        (RobustInitialEnhancement(20.0), 10**6, 10_000, -40.0),
    ],
)
def test_tails_in_three_blocks_are_sums_of_hypergeometric_ones(metric, n, m, z):
    """The transform returns behind all nodes, and the error that is stated contains it."""
    sizes = np.array([n // 7, n // 3, n - n // 7 - n // 3])
    null = exact_distribution(metric, n, m, sizes)
    sign = 1 if z > 0.0 else -1
    mean, variance = exact_mean_and_variance(metric, n, m, sizes)
    x = mean + z * math.sqrt(variance)
    weights = metric.tied(np.cumsum(sizes) - sizes, sizes, n, m).linear
    of_first = np.arange(m + 1)
    of_others = m - of_first
    left = x - weights[0] * of_first - weights[2] * of_others
    needed = left / (weights[1] - weights[2])
    others = hypergeom(n - sizes[0], sizes[1], of_others)
    tails = others.logsf(np.ceil(needed) - 1.0) if sign > 0 else others.logcdf(np.floor(needed))
    expected = logsumexp(hypergeom.logpmf(of_first, n, sizes[0], m) + tails)
    _, (log_p,), (error,) = null.tail(np.array([x]), sign)
    assert abs(log_p - expected) < error < 0.03
