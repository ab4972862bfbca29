"""Transforms of statistics with few values, against the sum over the values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_rankinf._engine.exact.enumeration import Atoms
from sklearn_rankinf._engine.means.transforms import ListedTransform


@pytest.mark.parametrize("n_spaced", [1, 2, 17, 300])
@pytest.mark.parametrize("n_others", [0, 5])
def test_transform_at_spaced_and_other_nodes(n_spaced, n_others):
    rng = np.random.default_rng(n_spaced)
    values = np.sort(rng.random(40))
    log_counts = rng.normal(size=40)
    listed = ListedTransform(Atoms(values, log_counts))
    theta = 3.0
    heights = np.append((np.arange(n_spaced) + 0.5) * 0.7, 1e3 * rng.random(n_others))
    z = theta + 1j * heights
    weights = np.exp(log_counts) / np.exp(log_counts).sum()
    expected = (np.exp(np.multiply.outer(z, values)) * weights).sum(axis=1)
    found = np.exp(listed.at(theta, z, False, False))
    assert_allclose(found, expected, rtol=0.0, atol=1e-12 * np.exp(theta))
