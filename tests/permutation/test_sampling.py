"""Permutation p-values: definition, reproducibility, accuracy and memory."""

import math
import tracemalloc

import numpy as np
import oracles
import pytest
from by_name import ap_null_distribution
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_rankinf import AveragePrecision, average_precision_test
from sklearn_rankinf._permutation import JointSampler


def permutation_null(n_samples, n_positives, **options):
    return ap_null_distribution(n_samples, n_positives, method="permutation", **options)


def data(n_samples=300, n_positives=20, seed=0):
    rng = np.random.default_rng(seed)
    y_true = rng.permutation(
        np.r_[np.ones(n_positives, int), np.zeros(n_samples - n_positives, int)]
    )
    return y_true, rng.normal(size=n_samples) + 0.3 * y_true


@pytest.mark.parametrize("n_resamples", [1, 9, 999])
def test_pvalue_counts_the_observed_ranking_too(n_resamples):
    null = permutation_null(50, 5, n_resamples=n_resamples)
    share = 1 / (n_resamples + 1)
    # Nothing is above 2 and everything is above -1, whatever was drawn.
    assert null.pvalue(2.0) == share
    assert null.pvalue(-1.0) == 1.0
    assert null.pvalue(-1.0, "less") == share
    assert null.pvalue(2.0, "less") == 1.0
    assert null.pvalue(2.0, "two-sided") == min(1.0, 2 * share)
    assert_allclose(null.log_pvalue(2.0), math.log(share), rtol=1e-14)
    # Every p-value is b + 1 over B + 1 with a whole number b.
    b = null.pvalue(np.linspace(0, 1, 200)) * (n_resamples + 1) - 1
    assert_allclose(b, np.round(b), atol=1e-9)


def test_the_smallest_pvalue_of_a_perfect_ranking():
    y_true = np.r_[np.ones(10, int), np.zeros(200, int)]
    y_score = -np.arange(210.0)
    result = average_precision_test(y_true, y_score, method="permutation", n_resamples=99)
    assert result.pvalue == 1 / 100
    assert result.method == "permutation"
    assert_allclose(result.log10_pvalue, -2, rtol=1e-12)


@pytest.mark.parametrize(
    "random_state",
    [0, 12345, np.random.RandomState, np.random.default_rng],
    ids=["zero", "integer", "RandomState", "Generator"],
)
def test_same_random_state_same_pvalue(random_state):
    x = np.linspace(0.05, 0.3, 40)

    def pvalues():
        state = random_state(3) if callable(random_state) else random_state
        return permutation_null(300, 20, n_resamples=499, random_state=state).pvalue(x)

    assert_array_equal(pvalues(), pvalues())


def test_other_random_states_give_other_pvalues():
    x = np.linspace(0.05, 0.3, 40)
    one = permutation_null(300, 20, n_resamples=499, random_state=0).pvalue(x)
    two = permutation_null(300, 20, n_resamples=499, random_state=1).pvalue(x)
    assert not np.array_equal(one, two)


def test_repeated_calls_return_the_same():
    for state in (None, np.random.default_rng(0)):
        null = permutation_null(300, 20, n_resamples=499, random_state=state)
        x = np.linspace(0.05, 0.3, 40)
        assert_array_equal(null.pvalue(x), null.pvalue(x))


@pytest.mark.parametrize("n_resamples", [99, 9999])
def test_number_of_jobs_does_not_change_the_pvalue(n_resamples):
    y_true, y_score = data()
    pvalues = {
        average_precision_test(
            y_true, y_score, method="permutation", n_resamples=n_resamples, n_jobs=n_jobs
        ).pvalue
        for n_jobs in (None, 1, 2)
    }
    assert len(pvalues) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_samples": 10, "n_positives": 4},
        {"n_samples": 10, "n_positives": 4, "tie_sizes": (2, 3, 1, 4)},
        {"n_samples": 9, "n_positives": 4, "tie_sizes": (2, 3, 1, 3), "k": 4},
        {"n_samples": 9, "n_positives": 4, "k": 3, "normalize": "positives"},
        {"n_samples": 10, "n_positives": 9},
        {"n_samples": 10, "n_positives": 4, "tie_sizes": (10,)},
    ],
    ids=str,
)
@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_within_monte_carlo_error_of_enumeration(arguments, alternative):
    n_resamples = 19_999
    values, counts = oracles.average_precision_distribution(
        arguments["n_samples"],
        arguments["n_positives"],
        arguments.get("tie_sizes"),
        arguments.get("k"),
        arguments.get("normalize", "min"),
    )
    null = permutation_null(**arguments, n_resamples=n_resamples, random_state=4)
    shares = np.array(counts) / sum(counts)
    tail = np.cumsum(shares) if alternative == "less" else np.cumsum(shares[::-1])[::-1]
    error = np.sqrt(tail * (1 - tail).clip(0) / n_resamples)
    x = np.array([float(value) for value in values])
    assert np.all(np.abs(null.pvalue(x, alternative) - tail) <= 4.5 * error + 2 / n_resamples)


@pytest.mark.parametrize("size", [(1000, 100), (1000, 5), (1000, 900)])
def test_within_monte_carlo_error_of_the_exact_null_distribution(size):
    n_resamples = 19_999
    exact = ap_null_distribution(*size)
    null = permutation_null(*size, n_resamples=n_resamples, random_state=4)
    x = exact.mean() + np.array([-1.5, -0.5, 0.5, 2.0, 3.0]) * exact.std()
    p = exact.pvalue(x)
    assert np.all(np.abs(null.pvalue(x) - p) <= 4.5 * np.sqrt(p * (1 - p) / n_resamples) + 1e-4)


def test_relative_error_is_the_monte_carlo_error():
    null = permutation_null(1000, 100, n_resamples=9999)
    x = null.mean() + null.std()
    p = null.pvalue(x)
    assert_allclose(null.relative_error(x), math.sqrt((1 - p) / (p * 9999)), rtol=0.02)


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_samples": 100_000, "n_positives": 100},
        {"n_samples": 1_000_000, "n_positives": 20},
        {"n_samples": 100_000, "n_positives": 100, "tie_sizes": [10] * 10_000},
    ],
    ids=["100 of 100000", "20 of 1000000", "100 of 100000 in tens"],
)
def test_memory_does_not_grow_with_the_length_of_the_list(arguments):
    # 10,000 placements of a list of 100,000 items as arrays would be gigabytes.
    null = permutation_null(**arguments, n_resamples=10_000)
    tracemalloc.start()
    try:
        null.pvalue(0.01)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 300e6


@pytest.mark.parametrize(("n_positives", "n_drawn"), [(250, 250), (400, 1000)])
def test_chunks_of_several_rankings_hold_as_many_random_numbers(n_positives, n_drawn):
    # Few hits are drawn one by one, many by one random number for each of the items.
    places = np.stack([np.arange(1000), np.arange(1000)[::-1]])
    blocks, scaling = [np.ones(1000, dtype=int)] * 2, (np.zeros(2), np.ones(2))
    is_hit = np.arange(1000) < n_positives
    chunks = JointSampler(AveragePrecision(), is_hit, places, blocks, *scaling).chunks(9999)
    assert sum(chunks) == 9999
    assert max(chunks) == 500_000 // n_drawn
