"""Distributions of few blocks, by meet in the middle."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_rankinf import AveragePrecision, ap_null_distribution
from sklearn_rankinf._engine.distribution import MeetInTheMiddle
from sklearn_rankinf._engine.exact import enumeration
from sklearn_rankinf._engine.exact.enumeration import MeetInTheMiddleTails, atoms, best_split
from sklearn_rankinf._engine.listed import ListedDistribution
from sklearn_rankinf._statistics.additive import increments_of

pytestmark = pytest.mark.numeric

PATTERNS = [
    ((2, 3, 1, 3), 4, None),
    ((1,) * 9, 4, None),
    ((5, 1, 1, 6, 2), 9, None),
    ((3, 3, 3), 1, None),
    ((4, 2, 5), 10, None),
    ((2, 3, 1, 3, 2), 4, 4),
]


def increments(tie_sizes, n_positives, k=None):
    sizes = np.asarray(tie_sizes, dtype=np.int64)
    return increments_of(AveragePrecision(k), int(sizes.sum()), n_positives, sizes)


def outcomes(blocks, n_positives):
    """Every value with its number of placements, by looping over the hits of every block."""
    values, counts = [], []
    for hits in itertools.product(*(range(size + 1) for size in blocks.sizes.tolist())):
        if sum(hits) == n_positives:
            values.append(float(blocks.total(np.array(hits))))
            counts.append(math.prod(map(math.comb, blocks.sizes.tolist(), hits)))
    return np.array(values), np.array(counts)


@pytest.mark.parametrize(("tie_sizes", "n_positives", "k"), PATTERNS)
def test_every_split_gives_the_tails_of_all_outcomes(tie_sizes, n_positives, k):
    blocks = increments(tie_sizes, n_positives, k)
    values, counts = outcomes(blocks, n_positives)
    t = np.unique(np.round(values, 12))
    total = math.comb(sum(tie_sizes), n_positives)
    above = [counts[values >= x - 1e-9].sum() / total for x in t]
    below = [counts[values <= x + 1e-9].sum() / total for x in t]
    for split in range(blocks.sizes.size + 1):
        listed = MeetInTheMiddleTails(blocks, n_positives, split)
        assert_allclose(np.exp(listed.tail(t - 1e-9, 1).log_p), above, rtol=1e-13)
        assert_allclose(np.exp(listed.tail(t + 1e-9, -1).log_p), below, rtol=1e-13)
    assert np.isneginf(listed.tail(np.array([1.1]), 1).log_p[0])
    assert np.isneginf(listed.tail(np.array([-0.1]), -1).log_p[0])


@pytest.mark.parametrize(("tie_sizes", "n_positives", "k"), PATTERNS)
def test_length_of_the_lists(tie_sizes, n_positives, k):
    blocks = increments(tie_sizes, n_positives, k)
    split, length = best_split(blocks.sizes, n_positives)
    numbers = []
    for cut in range(blocks.sizes.size + 1):
        top, bottom = set(), set()
        for hits in itertools.product(*(range(size + 1) for size in blocks.sizes.tolist())):
            if sum(hits) == n_positives:
                top.add(hits[:cut])
                bottom.add(hits[cut:])
        numbers.append(len(top) + len(bottom))
    assert length == numbers[split] == min(numbers)


def test_weights_beyond_the_range_of_floats():
    # Far below the smallest float: the best and the worst ranking of two thousand in four blocks.
    sizes = (500, 500, 500, 500)
    blocks = increments(sizes, 700)
    split, _ = best_split(blocks.sizes, 700)
    listed = MeetInTheMiddleTails(blocks, 700, split)
    best = blocks.total(np.array([500, 200, 0, 0]))
    log_p = math.log(math.comb(500, 200)) - math.log(math.comb(2000, 700))
    assert log_p < -800.0
    assert_allclose(listed.tail(np.array([best - 1e-9]), 1).log_p, log_p, rtol=1e-12)


def test_values_in_chunks(monkeypatch):
    blocks = increments((1,) * 16, 6)
    t = np.linspace(0.1, 0.9, 57)
    listed = MeetInTheMiddleTails(blocks, 6, 8)
    at_once = listed.tail(t, 1).log_p
    monkeypatch.setattr(enumeration, "_MOST_AT_ONCE", 100)
    assert_allclose(listed.tail(t, 1).log_p, at_once, rtol=1e-14)


@pytest.mark.parametrize(
    ("tie_sizes", "n_positives"), [((1, 2, 4, 5, 11, 28, 75, 274), 23), ((30, 50, 20, 40), 60)]
)
def test_same_tails_listed_whole_and_by_halves(tie_sizes, n_positives):
    null = ap_null_distribution(sum(tie_sizes), n_positives, tie_sizes=tie_sizes)
    by_halves = null._distribution
    assert isinstance(by_halves, MeetInTheMiddle)
    listed = atoms(by_halves._blocks, n_positives)
    whole = ListedDistribution(listed.values, listed.log_counts)
    values = whole.values[:: max(1, whole.values.size // 25)]
    for sign in (1, -1):
        t = values * (1 - sign * 1e-12)
        assert_allclose(by_halves.tail(t, sign)[0], whole.tail(t, sign)[0], rtol=1e-12)
        assert_allclose(by_halves.tail(t, sign)[1], whole.tail(t, sign)[1], rtol=1e-12, atol=1e-12)
    assert by_halves.tail(np.array([0.0]), 1)[0] == 1.0
    q = np.array([1e-9, 0.01, 0.5, 0.99])
    for sign in (1, -1):
        assert_allclose(by_halves.quantile(q, sign), whole.quantile(q, sign), rtol=1e-12)


def test_quantiles_of_too_many_outcomes_to_list():
    sizes = (490,) * 4
    null = ap_null_distribution(sum(sizes), 895, tie_sizes=sizes)
    assert isinstance(null._distribution, MeetInTheMiddle)
    for q in (0.03, 0.6):
        x = null.ppf(q)
        assert null.cdf(x) >= q > null.cdf(x * (1 - 1e-9))
