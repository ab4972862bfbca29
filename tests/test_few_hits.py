"""Counts of the placements of two and three hits."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from by_name import dcg_null_distribution
from sklearn.metrics import average_precision_score

from sklearn_rankinf import RankStatistic, ap_null_distribution
from sklearn_rankinf._engine import law as engine_law
from sklearn_rankinf._engine.bounds import TailBounds
from sklearn_rankinf._engine.few_hits import Pairs, Triples
from sklearn_rankinf._engine.law import CountedLaw, exact_law
from sklearn_rankinf._engine.statistics import increments_of
from sklearn_rankinf._metrics import AveragePrecision, Bedroc, DiscountedCumulativeGain, RocAuc

pytestmark = pytest.mark.numeric

STATISTICS = [AveragePrecision(), DiscountedCumulativeGain(), RocAuc(), Bedroc(alpha=20.0)]


def values_of(statistic, n_samples):
    """Values of all placements of three hits, from increments added one by one."""
    increments = increments_of(statistic, n_samples, 3, None)
    hits = np.array(list(combinations(range(n_samples), 3)))
    gains = increments.of_one_hit[hits] + increments.cross[hits] * np.arange(3)
    return gains.sum(axis=1)


@pytest.mark.parametrize("statistic", STATISTICS, ids=repr)
@pytest.mark.parametrize("n_samples", [3, 4, 7, 31])
def test_counts_equal_enumeration(statistic, n_samples):
    triples = Triples(increments_of(statistic, n_samples, 3, None))
    values = values_of(statistic, n_samples)
    for t in np.concatenate([values[::5] * (1.0 - 1e-12), [-1.0, 0.0, 1e6]]):
        assert triples.n_from(t) == np.count_nonzero(values >= t)


def test_average_precision_counts_equal_those_of_scikit_learn():
    n_samples = 13
    counts = {}
    for hits in combinations(range(n_samples), 3):
        y_true = np.zeros(n_samples, dtype=int)
        y_true[list(hits)] = 1
        value = average_precision_score(y_true, -np.arange(n_samples))
        counts[round(value, 12)] = counts.get(round(value, 12), 0) + 1
    triples = Triples(increments_of(AveragePrecision(), n_samples, 3, None))
    seen = 0
    for value in sorted(counts, reverse=True):
        seen += counts[value]
        assert triples.n_from(value - 1e-11) == seen


def test_does_not_apply_to_ties_and_growing_gains():
    tied = increments_of(AveragePrecision(), 9, 3, np.array([1, 2, 6]))
    assert not Triples.apply_to(tied)
    assert not Triples.apply_to(increments_of(AveragePrecision(k=4), 9, 3, None))
    untied = increments_of(AveragePrecision(), 9, 3, None)
    assert Triples.apply_to(untied)
    assert not Triples.apply_to(untied.negated())


@pytest.mark.parametrize("statistic", STATISTICS[:2], ids=repr)
def test_law_lies_within_guaranteed_bounds(statistic):
    law = exact_law(statistic, 700, 3, None)
    assert isinstance(law, CountedLaw)
    enclosed = TailBounds(statistic, 700, 3, None)
    low, high = law.support()
    t = low + (high - low) * np.array([0.002, 0.01, 0.05, 0.3, 0.7])
    for sign in (1, -1):
        lower, upper = enclosed.bounds(t, sign)
        p = law.tail(t, sign)[0]
        assert np.all(lower <= p)
        assert np.all(p <= upper)


def test_perfect_ranking_of_a_long_list():
    law = ap_null_distribution(4000, 3)
    assert law.pvalue(1.0) == pytest.approx(float(Fraction(1, math.comb(4000, 3))), abs=0.0)
    assert law.sf(1.0) == 0.0
    assert law.relative_error(0.01) <= 1e-12
    lower, upper = law.pvalue_bounds(0.01)
    assert lower <= law.pvalue(0.01) <= upper


def test_lower_tail_and_quantiles():
    law = ap_null_distribution(400, 3)
    smallest = (1 / 398 + 2 / 399 + 3 / 400) / 3
    n_placements = math.comb(400, 3)
    assert law.cdf(smallest) * n_placements == pytest.approx(1.0, rel=1e-9)
    assert law.pvalue(smallest, "less") * n_placements == pytest.approx(1.0, rel=1e-9)
    for q in (0.01, 0.5, 0.99):
        assert law.cdf(law.ppf(q)) >= q
        assert law.cdf(law.ppf(q) * (1.0 - 1e-9)) < q


def test_discounted_cumulative_gain_of_three_hits():
    law = dcg_null_distribution(500, 3)
    best = sum(1 / math.log2(rank + 1) for rank in (1, 2, 3))
    assert law.pvalue(best) * math.comb(500, 3) == pytest.approx(1.0, rel=1e-9)
    second = best - 1 / math.log2(4) + 1 / math.log2(5)
    assert law.pvalue(second) * math.comb(500, 3) == pytest.approx(2.0, rel=1e-9)


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
    if not Pairs.apply_to(increments):
        # At k the second hit of a block over the cut may be worth more than one above it.
        assert metric == "ap_at_5"
        return
    # Ranks beyond a cut-off are one block.
    block_of = np.repeat(np.arange(increments.sizes.size), increments.sizes)
    values = [
        increments.total(np.bincount(block_of[list(hits)], minlength=increments.sizes.size))
        for hits in combinations(range(n), 2)
    ]
    pairs = Pairs(increments)
    for t in np.unique(values):
        for slack in (1e-9, -1e-9):
            assert pairs.n_from(t + slack) == np.count_nonzero(np.array(values) >= t + slack)


def test_two_positives_in_a_long_list():
    # AP = (1/r1 + 2/r2)/2: at least 1/4 with the first at rank 2 or better, or at ranks 3 and 4 to
    # 12, 4 and 5 to 8, 5 and 6.
    n = 1_000_000
    law = ap_null_distribution(n, 2)
    n_placements = math.comb(n, 2)
    expected = (n - 1) + (n - 2) + 9 + 4 + 1
    assert law.pvalue(0.25) * n_placements == pytest.approx(expected, rel=1e-12)
    assert law.cdf(law.support()[0]) * n_placements == pytest.approx(1.0, rel=1e-9)
    assert law.relative_error(0.25) <= 1e-12


@pytest.mark.parametrize(
    "law", [ap_null_distribution, pytest.param(dcg_null_distribution, marks=pytest.mark.long)]
)
def test_contours_agree_with_counts(law, monkeypatch):
    counted, inverted = law(30_000, 2), law(30_000, 2)
    values = counted.rvs(3, random_state=0)
    exact = counted.pvalue(values)
    assert np.all(counted.relative_error(values) <= 1e-12)
    monkeypatch.setattr(engine_law, "_MOST_SEARCHES", 0)
    p, error = inverted.pvalue(values), inverted.relative_error(values)
    assert np.all(error > 1e-9)
    known = np.isfinite(error)
    assert known.any()
    assert np.all(np.abs(p - exact)[known] <= (error * exact)[known])
    assert np.all(p[~known] >= exact[~known])


@pytest.mark.parametrize("n_samples", [3_000_000_000, 30_000_000_000])
def test_pairs_of_very_many_items(n_samples):
    # Nothing at the top but one block: two positives there are one pair of all.
    law = dcg_null_distribution(n_samples, 2, k=3, tie_sizes=[2, n_samples - 2])
    best = 1.0 + 1.0 / math.log2(3.0)
    expected = Fraction(2, n_samples * (n_samples - 1))
    assert law.pvalue(best) == pytest.approx(float(expected), rel=1e-9, abs=0.0)
