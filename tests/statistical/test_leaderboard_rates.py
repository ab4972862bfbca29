"""Limits of ranks hold for all rankers together, over items, queries and data sets.

Limits are those of the binomial distribution at 1e-4: one false alarm in ten thousand seeds a test.
"""

from functools import partial

import numpy as np
import pytest
from leaderboard_rates import (
    LEVEL,
    few_directions,
    item_rates,
    of_data_sets,
    of_queries,
    run_rates,
)
from rates import lowest
from sklearn.metrics import average_precision_score

from sklearn_rankinf._estimation import multiple_comparison as module


@pytest.fixture
def n_data_sets(long):
    return 2000 if long else 200


@pytest.fixture
def fewer_directions(monkeypatch):
    for name in ("single_step", "best_pvalues"):
        monkeypatch.setattr(module, name, getattr(module, name))
    few_directions()


def test_values_of_queries_are_average_precisions():
    # With a shift this large, the values depend on few ranks: all positives are at the top.
    rng = np.random.default_rng(1)
    assert np.all(of_queries(3, np.full(2, 50.0), rng) == 1.0)
    values = of_queries(800, np.array([0.0, 1.0]), np.random.default_rng(2))
    rng = np.random.default_rng(3)
    y_true = np.arange(50) < 5
    for column, shift in zip(values.T, (1.0, 2.0), strict=True):
        scores = rng.normal(size=(800, 50))
        scores[:, y_true] += shift + 0.5 * rng.normal(size=(800, 1))
        expected = [average_precision_score(y_true, one) for one in scores]
        error = np.hypot(np.std(expected), column.std()) / np.sqrt(800)
        assert abs(np.mean(expected) - column.mean()) < 4 * error


@pytest.mark.parametrize("pattern", ["equal", "two tiers"])
@pytest.mark.parametrize("n_runs", [5, 20])
def test_ranks_over_ten_queries(n_data_sets, n_runs, pattern):
    draw = partial(of_queries, 10)
    found = run_rates(draw, pattern, n_runs, n_data_sets, np.random.default_rng(10))
    assert found.ranks >= lowest(n_data_sets, LEVEL)
    assert found.best >= lowest(n_data_sets, LEVEL)


@pytest.mark.parametrize("shape", ["normal", "unequal", "skewed"])
@pytest.mark.parametrize(("n_sets", "n_runs"), [(8, 20), (20, 5)])
def test_ranks_over_data_sets(n_data_sets, n_sets, n_runs, shape):
    draw = partial(of_data_sets, n_sets, shape)
    found = run_rates(draw, "equal", n_runs, n_data_sets, np.random.default_rng(11))
    assert found.ranks >= lowest(n_data_sets, LEVEL)
    assert found.best >= lowest(n_data_sets, LEVEL)


@pytest.mark.parametrize("metric", ["average_precision", "roc_auc", "precision@50"])
def test_ranks_over_items(fewer_directions, long, metric):
    n_data_sets = 500 if long else 20
    rng = np.random.default_rng(12)
    found = item_rates(metric, 50, 500, "two tiers", 5, 0.5, n_data_sets, rng)
    assert found.ranks >= lowest(n_data_sets, LEVEL)
    assert found.best >= lowest(n_data_sets, LEVEL)
    assert found.width < 0.9
