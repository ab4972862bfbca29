"""Bounds of what lies outside of the paths that were found, against sums over all outcomes."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from sklearn_rankinf import AveragePrecision
from sklearn_rankinf._engine.distribution import ComputedDistribution
from sklearn_rankinf._engine.inversion import other_paths, ranking_transform
from sklearn_rankinf._engine.inversion.band_limited import BandLimitedTails
from sklearn_rankinf._engine.inversion.bands import (
    Bands,
    balances,
    feasible_bands,
    tilted_bands,
)
from sklearn_rankinf._engine.inversion.other_paths import log_outside
from sklearn_rankinf._engine.inversion.ranking_transform import (
    RankingTransform,
    log_mgf_bound,
    log_outside_of_bands,
)
from sklearn_rankinf._statistics import increments_of
from sklearn_rankinf._statistics.increments import Increments
from sklearn_rankinf._statistics.moments import mean_and_variance

pytestmark = pytest.mark.numeric


def outcomes_of(sizes, m):
    """Hits of all outcomes in some blocks, and the logs of their probabilities."""
    first = np.zeros((1, 0), dtype=np.int64)
    for size in sizes[:-1]:
        more = np.arange(min(size, m) + 1)
        first = np.column_stack([np.repeat(first, more.size, axis=0), np.tile(more, len(first))])
        first = first[first.sum(axis=1) <= m]
    last = m - first.sum(axis=1)
    y = np.column_stack([first, last])[last <= sizes[-1]]
    logs = (-gammaln(y + 1.0)).sum(axis=1)
    for block, size in enumerate(sizes):
        # Differences of large log factorials lose digits.
        falling = np.append(0.0, np.cumsum(np.log(size - np.arange(min(size, m)))))
        logs += falling[y[:, block]]
    return y, logs - logsumexp(logs)


def log_total(logs):
    return float(logsumexp(logs)) if logs.size else -math.inf


def drawn_window(rng, blocks, m):
    """Feasible paths but for some at the ends of each block, and whether outcomes are of these."""
    every = feasible_bands(blocks, m)
    cut = rng.integers(0, 8, size=(4, every.low.size))
    low, least = np.minimum(every.low + cut[0], every.high), np.minimum(cut[1] // 2, every.most)
    high, most = np.maximum(every.high - cut[2], low), np.maximum(every.most - cut[3], least)
    return Bands(low, high, most, least)


def are_in(window, y):
    up_to = np.cumsum(y, axis=1)
    inside = (up_to >= window.low) & (up_to <= window.high)
    return (inside & (y <= window.most) & (y >= window.least)).all(axis=1)


@pytest.mark.parametrize("largest", [8, 60, 300])
@pytest.mark.parametrize("kind", ["average precision", "any coefficients"])
def test_cells_bound_all_paths_outside_of_a_window(largest, kind, monkeypatch):
    rng = np.random.default_rng(largest)
    slack = []
    for _ in range(4 if kind == "average precision" else 12):
        sizes = rng.integers(1, largest, size=4)
        m = int(rng.integers(2, max(3, min(30, sizes.sum() - 1))))
        blocks = increments_of(AveragePrecision(), int(sizes.sum()), m, sizes)
        if kind != "average precision":
            blocks = Increments(sizes, *rng.normal(size=(3, 4)))
        y, logs = outcomes_of(sizes, m)
        values, window = blocks.total(y), drawn_window(rng, blocks, m)
        outside = ~are_in(window, y)
        settings = dataclasses.replace(
            other_paths.SETTINGS,
            of_window=int(rng.integers(1, 24)),
            growth=float(rng.choice([0.01, 0.125, 0.5])),
            most_rounds=int(rng.integers(1, 9)),
        )
        monkeypatch.setattr(other_paths, "SETTINGS", settings)
        scale = 1.0 / max(float(np.std(values)), 1e-3)
        for sign in (1, -1):
            tilts = sign * scale * np.array([0.0, 0.5, 1.0, 3.0])
            t = float(rng.choice(values))
            for tilt in tilts:
                alone, total = np.array([tilt]), log_total((logs + tilt * values)[outside])
                for log_enough in (20.0, -5.0, -100.0):
                    bound = log_outside(blocks, m, alone, 0.0, window, log_enough)
                    assert bound >= total
                    slack.append(bound - total if outside.any() else 0.0)
            exact = log_total(logs[outside & (sign * values >= sign * t)])
            for log_enough in (0.0, -5.0, -60.0):
                bound = log_outside(blocks, m, tilts, t, window, log_enough)
                assert bound >= exact
    assert np.median(slack) < 1.0


def test_cells_of_single_numbers_are_exact(monkeypatch):
    sizes, m = np.array([12, 30, 50, 40]), 20
    blocks = increments_of(AveragePrecision(), int(sizes.sum()), m, sizes)
    settings = dataclasses.replace(other_paths.SETTINGS, of_window=1000, growth=0.0)
    monkeypatch.setattr(other_paths, "SETTINGS", settings)
    y, logs = outcomes_of(sizes, m)
    every = feasible_bands(blocks, m)
    # No path returns into the window.
    window = dataclasses.replace(every, high=np.minimum(every.high, [20, 8, 20, 20]))
    total = log_total((logs + 40.0 * blocks.total(y))[~are_in(window, y)])
    bound = log_outside(blocks, m, np.array([40.0]), 0.0, window, -math.inf)
    assert abs(bound - total) < 1e-5


@pytest.mark.parametrize("quick", [0.0, 1e9])
def test_passes_and_cells_bound_what_bands_leave_out(quick, monkeypatch):
    monkeypatch.setattr(ranking_transform, "_QUICK", quick)
    sizes, m = np.array([40, 100, 300, 900]), 60
    blocks = increments_of(AveragePrecision(), int(sizes.sum()), m, sizes)
    y, logs = outcomes_of(sizes, m)
    values = blocks.total(y)
    for tilt in (50.0, 300.0, 1500.0):
        balance = balances(blocks, m, tilt)
        for share in (1e-2, 1e-5, 1e-8):
            kept = tilted_bands(blocks, m, tilt, share)[0]
            total = log_total((logs + tilt * values)[~are_in(kept, y)])
            bound = log_outside_of_bands(blocks, m, tilt, kept, balance)
            assert total <= bound < total + 3.0


# A few items that are worth a lot, and a large block: under some tilts most of the total is that of
# a path with all of the first items, and hardly any of the second block, which the search for mean
# paths does not meet from either side.
THREE_HUMPS = [([10, 891, 2912687, 227287], 150), ([15, 880, 3454996, 328694], 150)]


def test_totals_of_three_humps():
    sizes, m = THREE_HUMPS[1]
    blocks = increments_of(AveragePrecision(), sum(sizes), m, np.array(sizes))
    y, logs = outcomes_of(sizes, m)
    values, n_missed = blocks.total(y), 0
    for tilt in m * np.array([20.0, 41.825, 80.0]):
        total = log_total(logs + tilt * values)
        kept, log_mgf = tilted_bands(blocks, m, tilt, 1e-15)
        n_missed += log_mgf < total - 10.0
        assert -1e-6 < log_mgf_bound(blocks, m, tilt) - total < 0.01
        outside = log_total((logs + tilt * values)[~are_in(kept, y)])
        bound = log_outside_of_bands(blocks, m, tilt, kept, balances(blocks, m, tilt))
        assert bound >= outside - 1e-6
    assert n_missed > 0


def test_bounds_of_three_humps():
    sizes, m = THREE_HUMPS[0]
    blocks = increments_of(AveragePrecision(), sum(sizes), m, np.array(sizes))
    y, logs = outcomes_of(sizes, m)
    order = np.argsort(blocks.total(y))
    values, log_tails = blocks.total(y)[order], np.logaddexp.accumulate(logs[order][::-1])[::-1]
    distribution = ComputedDistribution(AveragePrecision(), sum(sizes), m, np.array(sizes))
    for log_p in (-80.0, -300.0):
        x = values[np.argmin(np.abs(log_tails - log_p))] * (1.0 - 1e-12)
        exact = log_tails[np.searchsorted(values, x)]
        t = np.array([x])
        lower, upper = distribution._tails.log_bounds(*distribution._form.value(t, 1))
        assert lower[0] - 1e-6 <= exact <= upper[0] + 1e-6
        assert exact - 1e-6 <= distribution._log_upper_bound(t, 1)[0] < 0.97 * exact + 1.0
        assert distribution._tails.log_upper_bound(t, 1)[0] >= exact - 1e-6


def test_lower_bounds_do_not_rely_on_merged_blocks():
    sizes, m = np.array([6, 4, 30, 20, 200, 300]), 14
    blocks = increments_of(AveragePrecision(), int(sizes.sum()), m, sizes)
    y, logs = outcomes_of(sizes, m)
    values = blocks.total(y)
    mean, variance = mean_and_variance(blocks, m)
    support = float(values.min()), float(values.max())
    # What leads to tilts and periods may be any list: here one whose weights are too small.
    others = Increments(sizes, *(0.6 * each for each in blocks.coefficients))
    transform = RankingTransform(blocks, others, m)
    tails = BandLimitedTails(transform, int(sizes.sum()), mean, math.sqrt(variance), support)
    t = np.quantile(values, [0.5, 0.7, 0.9, 0.97, 0.99])
    lower, upper = tails.log_bounds(t[t > mean], 1)
    exact = np.array([log_total(logs[values >= x - 1e-12]) for x in t[t > mean]])
    assert np.all(lower <= exact + 1e-9)
    assert np.all(upper >= exact - 1e-9)


def test_tails_say_where_paths_are_assumed_to_be_negligible():
    sizes, m = np.array([100, 900, 3000, 6000, 10_000]), 200
    problem = AveragePrecision(), int(sizes.sum()), m, sizes
    for tolerance, proved, assumed in (
        (0.0, "enclosure", "truncation"),
        (0.025, "truncation", "enclosure"),
    ):
        distribution = ComputedDistribution(*problem, tolerance)
        t = np.array([distribution._mean + 12.0 * distribution._std])
        error = distribution._tails._band_limited_tails.tail(*distribution._form.value(t, 1)).error
        assert getattr(error, assumed)[0] == 0.0
        assert 0.0 < getattr(error, proved)[0] < 0.1
