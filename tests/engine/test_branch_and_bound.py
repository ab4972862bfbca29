"""Bounds by branch and bound, and distributions whose weights fall fast."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from by_name import bedroc_null_distribution, dcg_null_distribution
from combinations import checkered

from sklearn_rankinf._engine.distribution import ComputedDistribution
from sklearn_rankinf._engine.exact import branch_and_bound as branches
from sklearn_rankinf._engine.exact.branch_and_bound import BranchAndBoundTails
from sklearn_rankinf._engine.exact.enumeration import MeetInTheMiddleTails, best_split
from sklearn_rankinf._statistics.additive import increments_of
from sklearn_rankinf._statistics.increments import Increments

pytestmark = pytest.mark.numeric

# Sizes of blocks, weights as powers of two, and numbers of hits. Sums of powers of two are exact.
STRUCTURES = {
    "no ties": ((1,) * 9, range(0, -27, -3), 4),
    "blocks of two and three": ((2, 3, 1, 2, 3), (0, -1, -2, -5, -9), 5),
    "a large block at the top": ((8, 1, 1, 1, 1), (0, -2, -4, -6, -8), 5),
    "a large block at the bottom": ((1, 1, 1, 12), (0, -2, -4, -30), 4),
    "equal weights in two blocks": ((2, 1, 3, 2), (0, -3, -3, -4), 3),
    "the largest weight in the middle": ((2, 1, 3, 1, 2), (-9, -4, 0, -6, -12), 4),
    "nearly all positives": ((1,) * 8, range(0, -16, -2), 7),
    "one positive": ((2, 1, 1, 3), (0, -1, -2, -3), 1),
}


def of_weights(sizes, weights):
    sizes, nothing = np.array(sizes, dtype=np.int64), np.zeros(len(sizes))
    return Increments(sizes, nothing, np.array(weights, dtype=float), nothing)


def placements(sizes, weights, n_positives):
    """Every value with its number of placements, by looping over the hits of every block."""
    counts = {}
    for hits in itertools.product(*(range(size + 1) for size in sizes)):
        if sum(hits) == n_positives:
            value = sum(Fraction(w) * h for w, h in zip(weights, hits, strict=True))
            n_ways = math.prod(map(math.comb, sizes, hits))
            counts[value] = counts.get(value, 0) + n_ways
    return counts


@pytest.mark.parametrize(("structure", "n_cells"), checkered(STRUCTURES, [1, 3, 2000]))
def test_bounds_enclose_the_tails_of_all_placements(structure, n_cells, monkeypatch):
    settings = replace(branches.SETTINGS, cells=(n_cells, n_cells))
    monkeypatch.setattr(branches, "SETTINGS", settings)
    sizes, powers, m = STRUCTURES[structure]
    weights = [2.0**power for power in powers]
    counts = placements(sizes, weights, m)
    total = math.comb(sum(sizes), m)
    values = sorted(counts)
    t = np.array([float(value) for value in values])
    between = 0.5 * (t[1:] + t[:-1])
    t = np.concatenate([t, between, [t[0] - 1.0, t[-1] + 1.0]])
    found = BranchAndBoundTails(of_weights(sizes, weights), m)
    for sign in (1, -1):
        exact = np.array(
            [
                sum(n for value, n in counts.items() if sign * value >= sign * Fraction(x)) / total
                for x in t.tolist()
            ]
        )
        lower, upper = found.bounds(t, sign)
        assert np.all(lower <= exact * (1.0 + 1e-13))
        assert np.all(exact <= upper * (1.0 + 1e-13))
        if n_cells == 2000:
            np.testing.assert_allclose(lower, exact, rtol=1e-7)
            np.testing.assert_allclose(upper, exact, rtol=1e-7)
        assert np.all((lower <= upper) & (upper <= 1.0 + 1e-13))


def test_no_answer_depends_on_others_of_the_same_call():
    null = bedroc_null_distribution(200, 8, alpha=40.0)
    increments = increments_of(null.statistic, 200, 8, None)
    t = null.rvs(5, random_state=0)
    together = BranchAndBoundTails(increments, 8).bounds(t, 1)
    found = BranchAndBoundTails(increments, 8)
    alone = [found.bounds(t[i : i + 1], 1) for i in range(t.size)]
    np.testing.assert_array_equal(together, np.concatenate(alone, axis=1))


@pytest.mark.parametrize(
    ("n_positives", "sizes", "value"),
    [
        (6, np.random.default_rng(24).integers(1, 3, 155), 1.8988812894180308e-06),
        # Next to nothing: the best hit is at rank 150.
        (4, np.ones(575, dtype=np.int64), 1e-10),
    ],
)
def test_few_positives_with_weights_that_fall_fast(n_positives, sizes, value):
    n_samples = int(sizes.sum())
    null = bedroc_null_distribution(n_samples, n_positives, alpha=80.5, tie_sizes=sizes)
    p, error = null.pvalue(value), null.relative_error(value)
    assert error < 1e-3
    # Values of random labellings, by the definition: mean weights of the blocks that they hit.
    weights = np.exp(-80.5 * np.arange(1, n_samples + 1) / n_samples)
    starts = np.cumsum(sizes) - sizes
    of_items = np.repeat(np.add.reduceat(weights, starts) / sizes, sizes)
    best, worst = weights[:n_positives].sum(), weights[-n_positives:].sum()
    rng, n_above, n_draws = np.random.default_rng(0), 0, 40_000
    for _ in range(8):
        # The smallest of random numbers are at random places.
        places = np.argpartition(rng.random((n_draws // 8, n_samples)), n_positives)
        sums = of_items[places[:, :n_positives]].sum(axis=1)
        n_above += np.count_nonzero((sums - worst) / (best - worst) >= value * (1.0 - 1e-9))
    share = n_above / n_draws
    assert abs(p - share) < 4.0 * math.sqrt(share * (1.0 - share) / n_draws) + error * p


def test_errors_of_four_positives_cover_the_difference_from_meet_in_the_middle():
    n_samples, n_positives = 137, 4
    null = dcg_null_distribution(n_samples, n_positives)
    increments = increments_of(null.statistic, n_samples, n_positives, None)
    split, _ = best_split(increments.sizes, n_positives)
    t = np.unique(null.rvs(20, random_state=3)) * (1.0 - 1e-12)
    continued = ComputedDistribution(null.statistic, n_samples, n_positives, None)
    t = t[t > continued._mean]
    exact = MeetInTheMiddleTails(increments, n_positives, split).tail(t, 1).log_p
    found = continued._tails.tail(*continued._form.value(t, 1))
    assert np.all(np.abs(np.expm1(found.log_p - exact)) <= found.error.total)
    assert np.all(found.error.total < 0.1)
