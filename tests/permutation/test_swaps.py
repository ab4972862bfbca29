"""Swaps of ranks and flips of signs, against all of them one by one.

The oracles list every swap of every unit and, where ties are broken, every order of the tied items.
The values come from scikit-learn or from exact fractions.
"""

import itertools
import math
import pickle
import tracemalloc
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from combinations import checkered
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.metrics import average_precision_score, dcg_score

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    RankStatistic,
    RecallAtK,
    ReciprocalRank,
    RocAuc,
)
from sklearn_rankinf._permutation.swaps import (
    SignFlipSampler,
    SwapSampler,
    doubled_midranks,
    randomization_pvalue,
)

pytestmark = pytest.mark.numeric

# Hits, and the places of the items in either ranking.
STRUCTURES = {
    "no ties": ([1, 0, 1, 0, 0], [0, 1, 2, 3, 4], [3, 0, 1, 4, 2]),
    "ties": ([1, 0, 1, 0, 0, 1], [0, 0, 1, 1, 2, 2], [1, 0, 0, 0, 1, 2]),
    "large block": ([1, 0, 1, 0, 0, 0], [0, 1, 1, 1, 1, 2], [0, 0, 0, 0, 1, 1]),
    "constant scores and none tied": ([1, 1, 0, 0, 0], [0] * 5, [0, 1, 2, 3, 4]),
    "both constant": ([1, 1, 0, 0, 0], [0] * 5, [0] * 5),
    "one positive": ([0, 0, 1, 0, 0], [0, 1, 1, 2, 3], [3, 2, 0, 1, 0]),
    "nearly all positives": ([1, 1, 1, 0, 1], [0, 1, 1, 2, 3], [3, 0, 2, 1, 0]),
    "nothing but positives": ([1, 1, 1, 1], [0, 1, 1, 2], [2, 0, 1, 1]),
    "hits at the top": ([1, 1, 0, 0, 0], [0, 1, 2, 3, 4], [0, 1, 2, 2, 3]),
    "hits at the top and at the bottom": ([1, 1, 0, 0, 0], [0, 1, 2, 3, 4], [4, 3, 2, 1, 0]),
    "swapped ranks meet": ([1, 0, 1, 0], [0, 1, 2, 3], [1, 0, 3, 2]),
}


class SquaredRank(RankStatistic):
    """A metric of a user, which defines weights and nothing else."""

    def weights(self, ranks, n_samples, n_positives):
        return (n_samples - ranks) ** 2.0


def read(structure):
    is_hit, places_a, places_b = (np.asarray(part) for part in structure)
    return is_hit.astype(bool), doubled_midranks(places_a), doubled_midranks(places_b)


def swaps(ranks_a, ranks_b, units=None):
    """Both lists of ranks, for every set of units that are swapped."""
    units = np.arange(len(ranks_a)) if units is None else units
    for bits in itertools.product([False, True], repeat=int(units.max()) + 1):
        swapped = np.array(bits)[units]
        yield np.where(swapped, ranks_b, ranks_a), np.where(swapped, ranks_a, ranks_b)


def orders(is_hit, ranks):
    """Labels of the items in every order that agrees with the ranks."""
    blocks = [is_hit[ranks == rank] for rank in np.unique(ranks)]
    for arranged in itertools.product(*(list(itertools.permutations(own)) for own in blocks)):
        yield tuple(bool(label) for block in arranged for label in block)


def average_precision(labels):
    found = [rank for rank, label in enumerate(labels, start=1) if label]
    return sum(Fraction(i, rank) for i, rank in enumerate(found, start=1)) / max(len(found), 1)


def reciprocal_rank(labels):
    return Fraction(1, 1 + labels.index(True))


def recall_at_2(labels):
    return Fraction(sum(labels[:2]), sum(labels))


def pairs_in_order(labels):
    pairs = [first for first, last in itertools.combinations(labels, 2) if first != last]
    return Fraction(sum(pairs), max(len(pairs), 1))


def squared_ranks(labels):
    return Fraction(sum((len(labels) - r) ** 2 for r, hit in enumerate(labels, 1) if hit))


def bedroc(labels, alpha=20.0):
    """The definition of Truchon and Bayly (2007): RIE between its least and its largest value."""
    weights = np.exp(-alpha * np.arange(1, len(labels) + 1) / len(labels))
    least, largest = weights[-sum(labels) :].sum(), weights[: sum(labels)].sum()
    if least == largest:
        return 0.0
    return float((weights[np.array(labels)].sum() - least) / (largest - least))


STATISTICS = {
    "average precision": (AveragePrecision(), average_precision),
    "reciprocal rank": (ReciprocalRank(), reciprocal_rank),
    "recall at 2": (RecallAtK(2), recall_at_2),
    "ROC AUC": (RocAuc(), pairs_in_order),
    "BEDROC": (Bedroc(), bedroc),
    "a user's": (SquaredRank(), squared_ranks),
}


def mean_over_orders(is_hit, ranks, value):
    values = [value(labels) for labels in orders(is_hit, ranks)]
    return float(sum(values) / len(values))


def assert_same_values(found, expected):
    """All values the same, those of the oracle each as often: it also lists swaps of no effect."""
    assert len(expected) % len(found) == 0
    repeated = np.repeat(np.sort(found), len(expected) // len(found))
    assert_allclose(repeated, np.sort(expected), atol=1e-12)


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_every_swap_with_every_order_of_ties(structure, name):
    statistic, value = STATISTICS[name]
    is_hit, ranks_a, ranks_b = read(structure)
    sampler = SwapSampler(statistic, is_hit, ranks_a, ranks_b, ties="mean")
    expected = [
        mean_over_orders(is_hit, a, value) - mean_over_orders(is_hit, b, value)
        for a, b in swaps(ranks_a, ranks_b)
    ]
    assert_same_values(sampler.listed(0, sampler.n_listed), expected)
    assert_allclose(sampler.observed(), expected[0], atol=1e-12)
    assert sampler.listed(0, 1)[0] == sampler.observed()


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
@pytest.mark.parametrize(
    ("statistic", "value"),
    [
        (AveragePrecision(), lambda hits, scores: average_precision_score(hits, scores)),
        (DiscountedCumulativeGain(k=2), lambda hits, scores: dcg_score([hits], [scores], k=2)),
    ],
    ids=["average precision", "DCG at 2"],
)
def test_every_swap_with_ties_kept_is_that_of_scikit_learn(structure, statistic, value):
    is_hit, ranks_a, ranks_b = read(structure)
    sampler = SwapSampler(statistic, is_hit, ranks_a, ranks_b, ties="kept")
    expected = [value(is_hit, -a) - value(is_hit, -b) for a, b in swaps(ranks_a, ranks_b)]
    assert_same_values(sampler.listed(0, sampler.n_listed), expected)
    assert_allclose(sampler.observed(), expected[0], atol=1e-12)


@pytest.mark.parametrize(
    ("structure", "name"),
    checkered(STRUCTURES.values(), ["average precision", "reciprocal rank", "ROC AUC"]),
)
def test_draws_with_random_ties_have_the_distribution_of_all_swaps_and_orders(structure, name):
    statistic, value = STATISTICS[name]
    is_hit, ranks_a, ranks_b = read(structure)
    probability = Counter()
    for a, b in swaps(ranks_a, ranks_b):
        values = [Counter(value(o) for o in orders(is_hit, ranks)) for ranks in (a, b)]
        n_orders = 2 ** len(a) * math.prod(own.total() for own in values)
        for (x, n_x), (y, n_y) in itertools.product(*(own.items() for own in values)):
            probability[x - y] += Fraction(n_x * n_y, n_orders)
    atoms = sorted(probability)
    sampler = SwapSampler(statistic, is_hit, ranks_a, ranks_b, ties="random")
    drawn = sampler.draw(20_000, np.random.default_rng(5))
    nearest = np.abs(drawn[:, None] - np.array(atoms, dtype=float)).argmin(axis=1)
    assert_allclose(drawn, np.array(atoms, dtype=float)[nearest], atol=1e-12)
    counts = np.bincount(nearest, minlength=len(atoms))
    expected = 20_000 * np.array([float(probability[atom]) for atom in atoms])
    assert len(atoms) == 1 or stats.chisquare(counts, expected).pvalue > 1e-4


@pytest.mark.parametrize("ties", ["kept", "mean", "random"])
def test_draws_are_those_of_the_list(ties):
    is_hit, ranks_a, ranks_b = read(STRUCTURES["hits at the top and at the bottom"])
    sampler = SwapSampler(AveragePrecision(), is_hit, ranks_a, ranks_b, ties=ties)
    # Reversed ranks meet in pairs only, so that the mean over orders is also that of the draws.
    listed = sampler.listed(0, sampler.n_listed)
    drawn = sampler.draw(40_000, np.random.default_rng(1))
    assert abs(drawn.mean() - listed.mean()) < 4.5 * drawn.std() / 200
    if ties != "random":
        atoms, counts = np.unique(drawn.round(12), return_counts=True)
        values, weights = np.unique(listed.round(12), return_counts=True)
        assert_array_equal(atoms, values)
        assert stats.chisquare(counts, 40_000 * weights / listed.size).pvalue > 1e-4


@pytest.mark.parametrize("ties", ["kept", "mean"])
def test_items_of_a_cluster_are_swapped_together(ties):
    rng = np.random.default_rng(3)
    units = np.array([0, 0, 1, 2, 2, 2, 3])
    is_hit = np.array([1, 0, 0, 1, 1, 0, 0], dtype=bool)
    ranks_a, ranks_b = (doubled_midranks(rng.integers(4, size=7)) for _ in range(2))
    sampler = SwapSampler(AveragePrecision(), is_hit, ranks_a, ranks_b, units, ties)
    assert sampler.n_units == 4

    def value(ranks):
        if ties == "kept":
            return average_precision_score(is_hit, -ranks)
        return mean_over_orders(is_hit, ranks, average_precision)

    expected = np.array([value(a) - value(b) for a, b in swaps(ranks_a, ranks_b, units)])
    assert_same_values(sampler.listed(0, 16), expected)
    drawn = sampler.draw(200, np.random.default_rng(0))
    assert_allclose(np.abs(drawn[:, None] - expected).min(axis=1), 0.0, atol=1e-12)


def test_units_that_change_nothing_are_not_swapped():
    # Items 3 to 5 are negatives that trade ranks behind all hits; item 0 has one rank.
    is_hit = np.array([1, 1, 0, 0, 0, 0], dtype=bool)
    ranks_a, ranks_b = np.array([0, 1, 2, 3, 4, 5]), np.array([0, 2, 1, 5, 3, 4])
    sampler = SwapSampler(AveragePrecision(), is_hit, ranks_a, ranks_b)
    assert (sampler.n_units, sampler.n_listed) == (2, 4)
    # Two negatives of one cluster trade the ranks 1 and 2 with each other.
    is_hit, units = np.array([0, 0, 1], dtype=bool), np.array([0, 0, 1])
    sampler = SwapSampler(AveragePrecision(), is_hit, ranks_a[:3], np.array([1, 0, 2]), units)
    assert sampler.n_units == 0


def test_long_lists_that_differ_in_a_few_items():
    rng = np.random.default_rng(0)
    scores_a = rng.normal(size=400).round(1)
    is_hit = np.arange(400) < 30
    scores_b = scores_a.copy()
    scores_b[[3, 17, 29, 100, 200, 300]] += rng.normal(size=6)
    # Swapped scores, hence ranks among the scores of both.
    levels = np.unique(-np.append(scores_a, scores_b), return_inverse=True)[1]
    sampler = SwapSampler(AveragePrecision(), is_hit, levels[:400], levels[400:], ties="kept")
    expected = []
    for bits in itertools.product([False, True], repeat=6):
        a, b = scores_a.copy(), scores_b.copy()
        moved = np.array([3, 17, 29, 100, 200, 300])[list(bits)]
        a[moved], b[moved] = scores_b[moved], scores_a[moved]
        expected.append(average_precision_score(is_hit, a) - average_precision_score(is_hit, b))
    assert sampler.n_units == 6
    assert_same_values(sampler.listed(0, 64), expected)


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_complete_pvalues_are_those_of_scipy(alternative):
    rng = np.random.default_rng(8)
    is_hit = np.arange(7) < 3
    ranks_a, ranks_b = (doubled_midranks(rng.integers(5, size=7)) for _ in range(2))

    def difference(a, b):
        return average_precision_score(is_hit, -a) - average_precision_score(is_hit, -b)

    expected = stats.permutation_test(
        (ranks_a, ranks_b),
        difference,
        permutation_type="samples",
        n_resamples=np.inf,
        alternative=alternative,
    )
    sampler = SwapSampler(AveragePrecision(), is_hit, ranks_a, ranks_b, ties="kept")
    pvalue = randomization_pvalue(
        sampler.observed(),
        sampler.listed(0, sampler.n_listed),
        alternative=alternative,
        tolerance=sampler.tolerance,
        is_complete=True,
    )
    assert_allclose(pvalue, expected.pvalue, rtol=1e-12)


@pytest.mark.parametrize("ties", ["kept", "mean", "random"])
@pytest.mark.parametrize("name", STATISTICS)
def test_equal_rankings_do_not_differ(name, ties):
    ranks = doubled_midranks(np.array([0, 3, 1, 1, 2, 2, 2]))
    is_hit = np.array([0, 0, 1, 0, 1, 1, 0], dtype=bool)
    sampler = SwapSampler(STATISTICS[name][0], is_hit, ranks, ranks, ties=ties)
    assert (sampler.n_units, sampler.n_listed, sampler.observed()) == (0, 1, 0.0)
    options = {"alternative": "two-sided", "tolerance": sampler.tolerance}
    listed, drawn = sampler.listed(0, 1), sampler.draw(99, np.random.default_rng(0))
    assert randomization_pvalue(0.0, listed, is_complete=True, **options) == 1.0
    assert randomization_pvalue(0.0, drawn, is_complete=False, **options) == 1.0


@pytest.mark.parametrize("ties", ["kept", "mean", "random"])
def test_without_positives_nothing_differs(ties):
    nothing = np.zeros(4, dtype=bool)
    sampler = SwapSampler(
        AveragePrecision(), nothing, np.arange(4), np.array([1, 0, 3, 2]), ties=ties
    )
    assert (sampler.n_units, sampler.observed()) == (0, 0.0)
    assert_array_equal(sampler.draw(3, np.random.default_rng(0)), np.zeros(3))


def large_problem(n_samples=2000, n_positives=50):
    rng = np.random.default_rng(0)
    ranks = (doubled_midranks(rng.permutation(n_samples)) for _ in range(2))
    return np.arange(n_samples) < n_positives, *ranks


@pytest.mark.parametrize("ties", ["kept", "mean", "random"])
def test_same_seed_same_draws_also_in_another_process(ties):
    sampler = SwapSampler(AveragePrecision(), *large_problem(), ties=ties)
    assert sampler.n_listed is None
    assert sum(sampler.chunks(12_345)) == 12_345
    copied = pickle.loads(pickle.dumps(sampler))
    drawn = sampler.draw(50, np.random.default_rng(1))
    assert_array_equal(drawn, copied.draw(50, np.random.default_rng(1)))
    assert not np.array_equal(drawn, sampler.draw(50, np.random.default_rng(2)))


def test_memory_of_a_chunk_is_bounded():
    sampler = SwapSampler(AveragePrecision(), *large_problem(100_000, 1000), ties="random")
    chunk = sampler.chunks(9999)[0]
    tracemalloc.start()
    try:
        sampler.draw(chunk, np.random.default_rng(0))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # All differences at once would take 8 GB.
    assert peak < 100e6


@pytest.mark.parametrize(
    ("alternative", "complete", "random"),
    [("two-sided", 4 / 6, 5 / 7), ("greater", 2 / 6, 3 / 7), ("less", 5 / 6, 6 / 7)],
)
def test_pvalue_counts_extreme_values_and_the_observed_if_it_is_not_listed(
    alternative, complete, random
):
    differences = np.array([2.0, -2.0, 1.0 - 1e-14, -1.5, 0.5, 0.0])
    options = {"alternative": alternative, "tolerance": 1e-12}
    assert randomization_pvalue(1.0, differences, is_complete=True, **options) == complete
    assert randomization_pvalue(1.0, differences, is_complete=False, **options) == random


DIFFERENCES = {
    "differences": [0.3, -0.1, 0.25, 0.5, -0.05, 0.125, 0.4],
    "some equal": [0.1, 0.1, -0.1, 0.3, 0.3, 0.2],
    "some none": [0.0, 0.4, 0.0, -0.1, 0.2],
    "one": [0.5],
    "none": [0.0, 0.0, 0.0],
}


@pytest.mark.parametrize("differences", DIFFERENCES.values(), ids=DIFFERENCES)
def test_every_flip_of_signs(differences):
    sampler = SignFlipSampler(np.array(differences))
    expected = [
        float(sum(Fraction(d) * sign for d, sign in zip(differences, signs, strict=True)))
        / len(differences)
        for signs in itertools.product([1, -1], repeat=len(differences))
    ]
    assert sampler.n_units == np.count_nonzero(differences)
    assert_same_values(sampler.listed(0, sampler.n_listed), expected)
    assert_allclose(sampler.observed(), np.mean(differences), atol=1e-15)
    assert_allclose(sampler.listed(0, 1)[0], sampler.observed(), atol=1e-15)


def test_queries_of_a_cluster_are_flipped_together():
    differences, clusters = np.array([0.3, -0.1, 0.25, 0.5, -0.2]), np.array([0, 1, 0, 2, 1])
    sampler = SignFlipSampler(differences, clusters)
    expected = [
        np.mean(np.array(signs)[clusters] * differences)
        for signs in itertools.product([1, -1], repeat=3)
    ]
    assert_same_values(sampler.listed(0, sampler.n_listed), expected)
    drawn = sampler.draw(100, np.random.default_rng(0))
    assert_allclose(np.abs(drawn[:, None] - expected).min(axis=1), 0.0, atol=1e-15)


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_pvalues_of_flips_are_those_of_scipy(alternative):
    differences = np.random.default_rng(2).normal(0.4, 1.0, size=10)
    expected = stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        n_resamples=np.inf,
        alternative=alternative,
    ).pvalue
    sampler = SignFlipSampler(differences)
    options = {"alternative": alternative, "tolerance": sampler.tolerance}
    listed = sampler.listed(0, sampler.n_listed)
    complete = randomization_pvalue(sampler.observed(), listed, is_complete=True, **options)
    assert_allclose(complete, expected, rtol=1e-12)
    drawn = sampler.draw(20_000, np.random.default_rng(4))
    estimated = randomization_pvalue(sampler.observed(), drawn, is_complete=False, **options)
    assert abs(estimated - expected) < 4.5 * math.sqrt(expected * (1 - expected) / 20_000)


def test_many_queries_are_drawn_in_chunks_and_not_listed():
    sampler = SignFlipSampler(np.random.default_rng(0).normal(size=50_000))
    assert sampler.n_listed is None
    chunks = sampler.chunks(999)
    assert sum(chunks) == 999
    assert max(chunks) * 50_000 <= 4_000_000
    drawn = sampler.draw(chunks[0], np.random.default_rng(1))
    assert_array_equal(drawn, sampler.draw(chunks[0], np.random.default_rng(1)))
    # The mean of random signs times standard normal numbers.
    assert stats.kstest(drawn * math.sqrt(50_000), "norm").pvalue > 1e-4
