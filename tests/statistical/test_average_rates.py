"""Intervals of averages over classes, and with weights, cover as often as they should.

Limits are those of the binomial distribution at 1e-4. With `--long` there are more data sets.
"""

import numpy as np
import pytest
from average_rates import COUNTS, SHIFTS, average_coverage, weighted_coverage
from rates import lowest


@pytest.mark.parametrize("kind", SHIFTS)
def test_averages(kind, long):
    n_data_sets = 1000 if long else 20
    for counts in COUNTS if long else COUNTS[:1]:
        rates = average_coverage(counts, kind, n_data_sets, np.random.default_rng(1))
        assert min(rates.values()) >= lowest(n_data_sets, 0.93), (kind, counts)


@pytest.mark.parametrize("kind", ["normal", "levels"])
def test_weights(kind, long):
    n_data_sets = 1000 if long else 20
    for n_samples in (2000, 8000) if long else (2000,):
        rates = weighted_coverage(n_samples, kind, n_data_sets, np.random.default_rng(2))
        assert min(rates.values()) >= lowest(n_data_sets, 0.92), (kind, n_samples)
