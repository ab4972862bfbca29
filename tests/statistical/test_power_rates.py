"""Power is the share of simulated data sets where the test itself is significant.

Data sets have arrival times, those of positives at the rate of the odds, or normal scores. Shares
are allowed four and a half Monte Carlo standard errors.
"""

import math

import numpy as np
import pytest
from scipy.special import ndtri

from sklearn_rankinf import metric_power, metric_test


def share_of_significant(n, m, options, auc, n_data_sets, rng):
    """Share of data sets where the p-value is at most .05."""
    y_true = np.arange(n) < m
    chosen = {name: value for name, value in options.items() if name != "model"}
    n_significant = 0
    for _ in range(n_data_sets):
        if options["model"] == "binormal":
            y_score = rng.normal(size=n) + math.sqrt(2) * ndtri(auc) * y_true
        else:
            y_score = -rng.exponential(size=n) / np.where(y_true, auc / (1 - auc), 1.0)
        n_significant += metric_test(y_true, y_score, **chosen).pvalue <= 0.05
    return n_significant / n_data_sets


@pytest.mark.parametrize(
    ("n", "m", "auc", "options", "model"),
    [
        pytest.param(*size, options, model, marks=[pytest.mark.long] * (h > 0 or (i + j) % 2))
        for h, size in enumerate([(1000, 50, 0.62), (5000, 100, 0.6)])
        for i, options in enumerate([{}, {"metric": "recall@0.05"}, {"metric": "roc_auc"}])
        for j, model in enumerate(["wallenius", "binormal"])
    ],
)
def test_power_is_the_share_of_significant_tests(n, m, auc, options, model, long):
    n_data_sets = 4000 if long else 80
    options = options | {"model": model}
    result = metric_power(n, m, auc=auc, **options)
    share = share_of_significant(n, m, options, auc, n_data_sets, np.random.default_rng(1))
    variance = result.power * (1.0 - result.power) / n_data_sets + result.standard_error**2
    assert abs(share - result.power) < 4.5 * math.sqrt(variance), (share, result.power)
