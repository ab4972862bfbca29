"""Passes from hit to hit, against enumeration and the forward pass."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from sklearn_rankinf._engine.hypergeometric import log_binomial
from sklearn_rankinf._engine.inversion import positions
from sklearn_rankinf._engine.inversion.transform import log_transform
from sklearn_rankinf._engine.statistics import increments_of
from sklearn_rankinf._metrics import AveragePrecision, Bedroc, DiscountedCumulativeGain

pytestmark = pytest.mark.numeric

STATISTICS = [AveragePrecision(), DiscountedCumulativeGain(), Bedroc(alpha=20.0)]
# Tilts in units of 1: from weak ones to those that all but decide where the hits are.
TILTS = np.array([-60.0, -9.0, -0.4, 0.3, 7.0, 80.0])


def of_misses(n_samples, n_positives):
    return increments_of(AveragePrecision(), n_samples, n_positives, None).of_misses()[0]


def placements(increments, n_positives):
    """All sets of ranks of the hits, and the values of the statistic."""
    hits = np.array(list(combinations(range(increments.sizes.size), n_positives)))
    single = increments.linear + increments.square
    gains = increments.cross[hits] * np.arange(n_positives) + single[hits]
    return hits, gains.sum(axis=1)


def shares_of_positions(increments, n_positives, tilt):
    """Share of each rank (columns) for each hit (rows) in the tilted law, relative to the most."""
    hits, values = placements(increments, n_positives)
    weights = np.exp(tilt * values - (tilt * values).max())
    shares = np.array([np.bincount(of_hit, weights, increments.sizes.size) for of_hit in hits.T])
    return shares / shares.max(axis=1, keepdims=True)


@pytest.mark.parametrize("statistic", STATISTICS, ids=repr)
@pytest.mark.parametrize(("n_samples", "n_positives"), [(11, 1), (11, 4), (11, 10), (11, 11)])
def test_log_mgfs_equal_enumeration(statistic, n_samples, n_positives):
    increments = increments_of(statistic, n_samples, n_positives, None)
    _, values = placements(increments, n_positives)
    expected = logsumexp(TILTS[:, None] * values, axis=1) - log_binomial(n_samples, n_positives)
    found = positions.log_mgfs(increments, n_positives, TILTS)
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("statistic", STATISTICS, ids=repr)
@pytest.mark.parametrize(
    ("n_samples", "n_positives"), [(300, 7), (300, 150), (1000, 100), (2000, 20)]
)
def test_log_mgfs_equal_the_forward_pass(statistic, n_samples, n_positives):
    increments = increments_of(statistic, n_samples, n_positives, None)
    assert positions.apply_to(increments, n_positives)
    assert positions.are_few(increments, n_positives)
    tilts = np.array([-150.0, -20.0, -1.0, 1.0, 20.0, 150.0])
    if statistic != AveragePrecision():
        tilts = tilts / 20.0
    expected = [log_transform(increments, n_positives, [tilt])[0].real for tilt in tilts]
    assert_allclose(positions.log_mgfs(increments, n_positives, tilts), expected, rtol=1e-10)


def test_log_mgfs_of_misses():
    increments = of_misses(12, 8)
    _, values = placements(increments, 8)
    expected = logsumexp(TILTS[:, None] * values, axis=1) - log_binomial(12, 8)
    assert_allclose(positions.log_mgfs(increments, 8, TILTS), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("tilt", TILTS)
@pytest.mark.parametrize(
    ("increments", "n_positives"),
    [
        (increments_of(AveragePrecision(), 12, 4, None), 4),
        (increments_of(AveragePrecision(), 12, 9, None), 9),
        (increments_of(DiscountedCumulativeGain(), 12, 5, None), 5),
        (of_misses(12, 8), 8),
    ],
)
def test_bands_equal_enumeration(increments, n_positives, tilt):
    share = 1e-3
    bands = positions.likely_bands(increments, n_positives, tilt, share)
    matters = shares_of_positions(increments, n_positives, tilt) >= share
    ranks = np.arange(12)
    earliest = matters.argmax(axis=1)
    latest = 11 - matters[:, ::-1].argmax(axis=1)
    assert_array_equal(bands.high, (earliest[:, None] <= ranks).sum(axis=0))
    assert_array_equal(bands.low, (latest[:, None] <= ranks).sum(axis=0))


@pytest.mark.parametrize("tilt", [-300.0, 0.1, 120.0, 400.0])
@pytest.mark.parametrize(("n_samples", "n_positives"), [(400, 80), (1000, 300), (2400, 500)])
def test_what_is_left_out_does_not_matter_on_a_contour(n_samples, n_positives, tilt):
    increments = increments_of(AveragePrecision(), n_samples, n_positives, None)
    bands = positions.likely_bands(increments, n_positives, tilt, 1e-19)
    rows, all_rows = (bands.high - bands.low + 1).sum(), n_samples * (n_positives + 1)
    assert rows < 0.8 * all_rows
    z = tilt + 1j * np.linspace(0.0, 200.0, 9)
    everything = log_transform(increments, n_positives, z)
    found = log_transform(increments, n_positives, z, bands)
    # What is left out is small beside the transform at the real tilt.
    scale = np.exp(everything.real - everything.real[0])
    assert np.all(np.abs(np.expm1(found - everything)) * scale < 1e-11)


def test_tilts_that_are_too_steep_are_not_known():
    increments = increments_of(AveragePrecision(), 100, 5, None)
    found = positions.log_mgfs(increments, 5, np.array([1.0, 1e4, -1e4]))
    assert_array_equal(np.isnan(found), [False, True, True])
    assert positions.likely_bands(increments, 5, 1e4, 1e-19) is None


def test_only_single_items():
    tied = increments_of(AveragePrecision(), 6, 3, np.array([1, 2, 3]))
    assert not positions.apply_to(tied, 3)
    long_list = increments_of(AveragePrecision(), 5000, 600, None)
    assert not positions.apply_to(long_list, 600)
