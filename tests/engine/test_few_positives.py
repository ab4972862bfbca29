"""Counts of the placements of two and of three positives."""

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from by_name import bedroc_null_distribution, dcg_null_distribution

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    RankStatistic,
    RocAuc,
    ap_null_distribution,
)
from sklearn_rankinf._engine import distribution
from sklearn_rankinf._engine.exact.few_positives import FewPositives
from sklearn_rankinf._statistics.additive import increments_of

pytestmark = pytest.mark.numeric


@dataclass(frozen=True)
class Zigzag(RankStatistic):
    """Weights that neither fall nor rise from rank to rank."""

    def weights(self, ranks, n_samples, n_positives):
        return (7 * np.asarray(ranks) % 11).astype(float)


TIES = [[1] * 14, [2, 1, 5, 1, 1, 3, 1], [6, 9], [1, 13], [3, 3, 1, 7]]


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("tie_sizes", TIES)
@pytest.mark.parametrize("metric", ["ap", "ap_at_5", "dcg", "bedroc", "roc_auc", "zigzag"])
def test_counts_equal_enumeration(metric, tie_sizes, m):
    sizes = np.array(tie_sizes)
    n = int(sizes.sum())
    statistic = {
        "ap": AveragePrecision(),
        "ap_at_5": AveragePrecision(k=5),
        "dcg": DiscountedCumulativeGain(),
        "bedroc": Bedroc(alpha=20.0),
        "roc_auc": RocAuc(),
        "zigzag": Zigzag(),
    }[metric]
    increments = increments_of(statistic, n, m, sizes)
    if not FewPositives.apply_to(increments, m):
        # At k a later hit of a block over the cut may be worth more than one above it.
        assert metric == "ap_at_5"
        return
    # Ranks beyond a cut-off are one block.
    block_of = np.repeat(np.arange(increments.sizes.size), increments.sizes)
    values = [
        increments.total(np.bincount(block_of[list(hits)], minlength=increments.sizes.size))
        for hits in combinations(range(n), m)
    ]
    counts = FewPositives(increments, m)
    for t in np.unique(values):
        for slack in (1e-9, -1e-9):
            assert counts.n_reaching(t + slack) == np.count_nonzero(np.array(values) >= t + slack)


def exact_counts(n, values):
    """Numbers of placements of three positives among n untied items with an AP of at least each."""
    # AP = (1 / r1 + 2 / r2 + 3 / r3) / 3 in whole multiples of one over a common multiple.
    common = math.lcm(*range(1, n + 1))
    first, second, third = ([j * common // r for r in range(1, n + 1)] for j in (1, 2, 3))
    sums = sorted(
        a + second[j] + third[k]
        for (i, a) in enumerate(first)
        for j in range(i + 1, n)
        for k in range(j + 1, n)
    )
    return [len(sums) - bisect_left(sums, value * 3 * common) for value in values]


def test_three_positives_equal_fractions_at_their_values():
    # Equal sums of different fractions are equal values: p-values do not depend on rounding.
    n = 40
    null = ap_null_distribution(n, 3)
    statistic = AveragePrecision()
    counts = FewPositives(increments_of(statistic, n, 3, None), 3)
    values = [
        Fraction(1, 3) * (Fraction(1, r1) + Fraction(2, r2) + Fraction(3, r3))
        for r1, r2, r3 in [(1, 4, 9), (2, 3, 6), (2, 4, 12), (3, 8, 12), (4, 6, 18), (5, 20, 30)]
    ]
    expected = exact_counts(n, values)
    found = [counts.n_reaching(float(value) * (1.0 - 1e-12)) for value in values]
    assert found == expected
    p = np.array(expected) / math.comb(n, 3)
    assert null.pvalue([float(value) for value in values]) == pytest.approx(p, rel=1e-12)


@pytest.mark.parametrize(
    ("null", "n_samples", "m"),
    [
        (ap_null_distribution, 1000, 3),
        pytest.param(dcg_null_distribution, 600, 3, marks=pytest.mark.long),
        (partial(bedroc_null_distribution, alpha=20.0), 600, 3),
        pytest.param(dcg_null_distribution, 4000, 3, marks=pytest.mark.long),
        pytest.param(ap_null_distribution, 5000, 2, marks=pytest.mark.long),
        pytest.param(ap_null_distribution, 30_000, 2, marks=pytest.mark.long),
        pytest.param(dcg_null_distribution, 30_000, 2, marks=pytest.mark.long),
    ],
)
def test_contours_and_bounds_agree_with_counts(null, n_samples, m, monkeypatch):
    monkeypatch.setattr(distribution, "_ALWAYS_COUNTED", 0)
    counted, inverted = null(n_samples, m), null(n_samples, m)
    values = counted.rvs(3, random_state=0)
    exact = counted.pvalue(values)
    assert set(counted.solver(values)) == {"two or three positives"}
    assert np.all(counted.relative_error(values) <= 1e-12)
    monkeypatch.setattr(distribution, "_MOST_SEARCHES", 0)
    p, error = inverted.pvalue(values), inverted.relative_error(values)
    assert "two or three positives" not in inverted.solver(values)
    known = np.isfinite(error)
    assert np.all(np.abs(p - exact)[known] <= (error * np.maximum(p, exact))[known])
    assert np.all(p[~known] >= exact[~known])


def test_two_positives_in_a_long_list():
    # AP = (1/r1 + 2/r2)/2: at least 1/4 with the first at rank 2 or better, or at ranks 3 and 4 to
    # 12, 4 and 5 to 8, 5 and 6.
    n = 1_000_000
    null = ap_null_distribution(n, 2)
    n_placements = math.comb(n, 2)
    expected = (n - 1) + (n - 2) + 9 + 4 + 1
    assert null.pvalue(0.25) * n_placements == pytest.approx(expected, rel=1e-12)
    assert null.cdf(null.support()[0]) * n_placements == pytest.approx(1.0, rel=1e-9)
    assert null.relative_error(0.25) <= 1e-12


@pytest.mark.parametrize("n_samples", [3_000_000_000, 30_000_000_000])
def test_pairs_of_very_many_items(n_samples):
    # Nothing at the top but one block: two positives there are one pair of all.
    null = dcg_null_distribution(n_samples, 2, k=3, tie_sizes=[2, n_samples - 2])
    best = 1.0 + 1.0 / math.log2(3.0)
    expected = Fraction(2, n_samples * (n_samples - 1))
    assert null.pvalue(best) == pytest.approx(float(expected), rel=1e-9, abs=0.0)
