"""Error of average precision and of that of the binormal curve where the model holds, or does not.

Simulations are seeded. Asserted differences exceed three or five of their standard errors.
"""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from sklearn_rankinf import BinormalPrecisionRecallCurve, binormal_average_precision_score


def estimates(n_samples, n_positives, of_positives, n_data_sets):
    """Both estimates of data sets with standard normal negatives."""
    rng = np.random.default_rng(11)
    y_true = np.arange(n_samples) < n_positives
    both = []
    for _ in range(n_data_sets):
        y_score = rng.normal(size=n_samples)
        y_score[:n_positives] = of_positives(rng, n_positives)
        score = average_precision_score, binormal_average_precision_score
        both.append([of(y_true, y_score) for of in score])
    return np.array(both).T


@pytest.mark.parametrize(
    ("mean", "sd"), [(1.5, 1.0), pytest.param(1.5, 0.7, marks=pytest.mark.long)]
)
def test_smaller_error_where_scores_are_normal(mean, sd, long):
    n_data_sets = 5000 if long else 200
    truth = BinormalPrecisionRecallCurve(0.05, mean, sd, 0.0, 1.0).average_precision
    observed, binormal = estimates(
        200, 10, lambda rng, m: rng.normal(mean, sd, size=m), n_data_sets
    )
    gained = (observed - truth) ** 2 - (binormal - truth) ** 2
    # Both errors are of the same data sets; the error of their difference is estimated in pairs.
    assert gained.mean() > 3.0 * gained.std() / np.sqrt(n_data_sets)
    bias = binormal.mean() - truth
    assert abs(bias) < 0.03 + 5.0 * binormal.std() / np.sqrt(n_data_sets)


def test_bias_where_scores_are_not_normal(long):
    # A third of the positives are far above all, and the others are like negatives.
    n_data_sets = 500 if long else 25

    def mixture(rng, m):
        return rng.normal(size=m) + 4.0 * (np.arange(m) < m // 3)

    observed, binormal = estimates(4000, 200, mixture, n_data_sets)
    distance = observed - binormal
    # Average precision of 200 positives is off by much less.
    assert abs(distance.mean()) > 0.01 + 5.0 * distance.std() / np.sqrt(n_data_sets)
