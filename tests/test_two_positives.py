"""Counts of the placements of two positives, and tails with three."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from by_name import bedroc_null_distribution, dcg_null_distribution

from sklearn_rankinf import RankStatistic, ap_null_distribution
from sklearn_rankinf._engine import computed
from sklearn_rankinf._engine.exact.pairs import TwoPositives
from sklearn_rankinf._metrics import AveragePrecision, Bedroc, DiscountedCumulativeGain, RocAuc
from sklearn_rankinf._statistics.additive import increments_of

pytestmark = pytest.mark.numeric


def n_placements_of_three(weights, t):
    """Number of placements of three positives, the j-th worth ``weights[j]``, that reach t."""
    first, second, third = weights
    total = 0
    for i in range(first.size - 2):
        j = np.arange(i + 1, first.size - 1)
        last = np.searchsorted(-third, first[i] + second[j] - t, side="right")
        total += int(np.maximum(last - j - 1, 0).sum())
    return total


@pytest.mark.parametrize(
    ("metric", "n_samples"),
    [("ap", 500), ("bedroc", 500)]
    + [pytest.param(name, 4000, marks=pytest.mark.long) for name in ("ap", "dcg", "bedroc")],
)
def test_errors_of_three_positives_cover_the_difference_from_counts(metric, n_samples):
    null = {
        "ap": ap_null_distribution(n_samples, 3),
        "dcg": dcg_null_distribution(n_samples, 3),
        "bedroc": bedroc_null_distribution(n_samples, 3, alpha=20.0),
    }[metric]
    increments = increments_of(null.statistic, n_samples, 3, None)
    weights = [increments.of_one_hit + increments.cross * j for j in range(3)]
    values = np.unique(null.rvs(5, random_state=0))
    offset = null.statistic.offset(n_samples, 3)
    p, error = null.pvalue(values), null.relative_error(values)
    for value, found, stated in zip(values.tolist(), p.tolist(), error.tolist(), strict=True):
        count = n_placements_of_three(weights, (value - offset) * (1.0 - 1e-12))
        exact = float(Fraction(count, math.comb(n_samples, 3)))
        assert stated < 0.05
        assert abs(found - exact) <= stated * exact


@dataclass(frozen=True)
class Zigzag(RankStatistic):
    """Weights that neither fall nor rise from rank to rank."""

    def weights(self, ranks, n_samples, n_positives):
        return (7 * np.asarray(ranks) % 11).astype(float)


@pytest.mark.parametrize("tie_sizes", [[1] * 23, [2, 1, 7, 1, 1, 3, 1, 5, 2], [9, 14], [1, 22]])
@pytest.mark.parametrize("metric", ["ap", "ap_at_5", "dcg", "bedroc", "roc_auc", "zigzag"])
def test_pairs_equal_enumeration(metric, tie_sizes):
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
    increments = increments_of(statistic, n, 2, sizes)
    if not TwoPositives.apply_to(increments):
        # At k the second hit of a block over the cut may be worth more than one above it.
        assert metric == "ap_at_5"
        return
    # Ranks beyond a cut-off are one block.
    block_of = np.repeat(np.arange(increments.sizes.size), increments.sizes)
    values = [
        increments.total(np.bincount(block_of[list(hits)], minlength=increments.sizes.size))
        for hits in combinations(range(n), 2)
    ]
    pairs = TwoPositives(increments)
    for t in np.unique(values):
        for slack in (1e-9, -1e-9):
            assert pairs.n_reaching(t + slack) == np.count_nonzero(np.array(values) >= t + slack)


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


@pytest.mark.parametrize(
    "null", [ap_null_distribution, pytest.param(dcg_null_distribution, marks=pytest.mark.long)]
)
def test_contours_agree_with_counts(null, monkeypatch):
    counted, inverted = null(30_000, 2), null(30_000, 2)
    values = counted.rvs(3, random_state=0)
    exact = counted.pvalue(values)
    assert np.all(counted.relative_error(values) <= 1e-12)
    monkeypatch.setattr(computed, "SETTINGS", replace(computed.SETTINGS, most_searches=0))
    p, error = inverted.pvalue(values), inverted.relative_error(values)
    assert np.all(error > 1e-9)
    known = np.isfinite(error)
    assert np.all(np.abs(p - exact)[known] <= (error * np.maximum(p, exact))[known])
    assert np.all(p[~known] >= exact[~known])


@pytest.mark.parametrize("n_samples", [3_000_000_000, 30_000_000_000])
def test_pairs_of_very_many_items(n_samples):
    # Nothing at the top but one block: two positives there are one pair of all.
    null = dcg_null_distribution(n_samples, 2, k=3, tie_sizes=[2, n_samples - 2])
    best = 1.0 + 1.0 / math.log2(3.0)
    expected = Fraction(2, n_samples * (n_samples - 1))
    assert null.pvalue(best) == pytest.approx(float(expected), rel=1e-9, abs=0.0)
