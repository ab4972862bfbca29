"""Paths that carry a tail: their bound of all others, and tails between two humps."""

from __future__ import annotations

import itertools
import math

import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp, rel_entr

from sklearn_rankinf import AveragePrecision
from sklearn_rankinf._engine.distribution import ComputedDistribution
from sklearn_rankinf._engine.inversion.bands import mean_paths
from sklearn_rankinf._engine.inversion.paths_of_tail import (
    jumps_over,
    lowest_paths,
    paths_of_tail,
)
from sklearn_rankinf._statistics import increments_of

FIVE_LEVELS = [
    ([100, 900, 3000, 6000, 10_000], 200),
    ([300, 1000, 3000, 6000, 10_000], 300),
    ([60, 200, 800, 3000, 12_000], 100),
]


def five_levels(sizes, m, z, tolerance=0.0):
    """The distribution, and a value some standard deviations above its mean."""
    problem = AveragePrecision(), sum(sizes), m, np.array(sizes)
    distribution = ComputedDistribution(*problem, tolerance)
    return distribution, distribution._mean + z * distribution._std


@pytest.mark.parametrize(
    ("sizes", "m", "z"),
    [
        pytest.param(*levels, z, marks=[pytest.mark.long] * (i != j))
        for i, levels in enumerate(FIVE_LEVELS)
        for j, z in enumerate((6.0, 12.0, 30.0))
    ],
)
def test_tails_between_two_humps(sizes, m, z):
    distribution, x = five_levels(sizes, m, z)
    counted = distribution._form.value(np.array([x]), 1)[0]
    assert distribution._tails.jumps(counted, 1).tolist() == [True]
    log_p = math.log(oracles.average_precision_tail_of_five_levels(sizes, m, x))
    for tolerance in (0.0, 0.025):
        found = five_levels(sizes, m, z, tolerance)[0].estimates(np.array([x]), 1)
        assert found.error.total[0] < 0.1
        assert abs(math.expm1(log_p - found.log_p[0])) <= found.error.total[0] + 1e-4


@pytest.mark.parametrize(("sizes", "m"), FIVE_LEVELS)
def test_between_two_humps_no_tilt_puts_the_mean(sizes, m):
    blocks = increments_of(AveragePrecision(), sum(sizes), m, np.array(sizes))
    tilts = np.geomspace(0.1, 100.0, 400) * m**2 / sizes[0]
    means = np.sort(blocks.total(mean_paths(blocks, m, tilts)[2]))
    gap = int(np.argmax(np.diff(means)))
    inside = 0.5 * (means[gap] + means[gap + 1])
    for x, jumps in ((inside, True), (means[gap + 20], False)):
        path = lowest_paths(blocks, m, x, 1)[0]
        assert jumps_over(blocks, m, x, path) == jumps


def outcomes_of(sizes, m):
    """Hits of all outcomes in four blocks, and the logs of their probabilities."""
    first = np.array([*itertools.product(*(range(min(size, m) + 1) for size in sizes[:-1]))])
    last = m - first.sum(axis=1)
    possible = (last >= 0) & (last <= sizes[-1])
    y = np.column_stack([first, last])[possible]
    g = np.array(sizes)
    logs = (gammaln(g + 1.0) - gammaln(y + 1.0) - gammaln(g - y + 1.0)).sum(axis=1)
    return y, logs - logsumexp(logs)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("sizes", "m"), [([100, 150, 120, 90], 40), ([60, 30, 300, 100], 40), ([5, 40, 700, 90], 25)]
)
def test_the_bound_of_all_other_paths(sizes, m, sign):
    blocks = increments_of(AveragePrecision(), sum(sizes), m, np.array(sizes))
    y, logs = outcomes_of(sizes, m)
    values, up_to, n_limited = blocks.total(y), np.cumsum(y, axis=1), 0
    order = np.argsort(sign * values)
    log_tails = np.logaddexp.accumulate(logs[order][::-1])[::-1]
    for log_p in (-3.0, -5.0, -8.0, -12.0, -25.0, -40.0):
        at = int(np.argmin(np.abs(log_tails - log_p)))
        t = float(values[order[at]])
        paths = lowest_paths(blocks, m, t, sign)
        found = paths_of_tail(blocks, m, t, sign, paths) if paths else None
        if found is None:
            continue
        bands = found.bands
        inside = (up_to >= bands.low) & (up_to <= bands.high)
        inside &= (y >= bands.least) & (y <= bands.most)
        outside = ~inside.all(axis=1) & (sign * values >= sign * t)
        n_limited += bool(outside.any())
        if outside.any():
            log_rest = logsumexp(logs[outside])
            assert log_rest <= found.log_rest + 1e-9
            assert log_rest < log_tails[at] - 8.0
    assert n_limited > (1 if sign > 0 else 0)


def test_the_path_has_the_least_relative_entropy():
    sizes, m = FIVE_LEVELS[0]
    blocks = increments_of(AveragePrecision(), sum(sizes), m, np.array(sizes))
    g, p = blocks.sizes.astype(float), m / blocks.n_samples
    x = 0.02

    def entropy(y):
        return (g * (rel_entr(y / g, p) + rel_entr(1.0 - y / g, 1.0 - p))).sum()

    def mean(y):
        # Of hits in one block, drawn without replacement.
        before = np.cumsum(y) - y
        return (y * (before + 1.0 + y * (1.0 - 1.0 / g)) / np.cumsum(g)).sum() / m

    conditions = [
        {"type": "eq", "fun": lambda y: y.sum() - m},
        {"type": "eq", "fun": lambda y: 1e3 * (mean(y) - x)},
    ]
    start = np.array([30.0, 10.0, 30.0, 50.0, 80.0])
    best = minimize(entropy, start, constraints=conditions, bounds=[(1e-3, m)] * 5, method="SLSQP")
    path = lowest_paths(blocks, m, x, 1)[0]
    assert_allclose(path.hits, best.x, rtol=0.02)
    assert_allclose(path.entropy, best.fun, rtol=1e-3)


@pytest.mark.parametrize(
    ("sizes", "hits", "log10_p"),
    [
        ([2914, 9687, 24454, 62670, 187956, 712319], [237, 562, 896, 1517, 2474, 4314], -582.3306),
        pytest.param(
            [6308, 11416, 25188, 62378, 187098, 707612],
            [3701, 2465, 1667, 1078, 703, 386],
            -8098.9074,
            marks=pytest.mark.long,
        ),
    ],
)
def test_six_levels_of_a_million_items(sizes, hits, log10_p):
    # Importance sampling of 200,000 draws has these, with errors of 0.0004 and 0.0008.
    sizes, hits = np.array(sizes), np.array(hits)
    x = float((hits * np.cumsum(hits) / np.cumsum(sizes)).sum() / hits.sum())
    distribution = ComputedDistribution(AveragePrecision(), 1_000_000, 10_000, sizes)
    found = distribution.estimates(np.array([x]), 1)
    assert found.error.total[0] < 0.1
    assert abs(found.log_p[0] / math.log(10.0) - log10_p) < 0.0025


@pytest.mark.parametrize(
    ("tolerance", "most"), [(0.0, 0.01), pytest.param(0.025, 0.05, marks=pytest.mark.long)]
)
def test_tails_of_merged_blocks_between_two_humps(tolerance, most):
    # Importance sampling of 36,000 draws from the odds of a path has -773.481 +- 0.018.
    distribution = ComputedDistribution(AveragePrecision(), 200_000, 2_000, None, tolerance)
    found = distribution.estimates(np.array([0.225]), 1)
    assert found.error.total[0] < most
    assert abs(found.log_p[0] / math.log(10.0) + 773.481) < 0.04
