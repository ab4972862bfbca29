"""Counts of the placements of three hits."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from sklearn_rankinf import ap_null_distribution, dcg_null_distribution
from sklearn_rankinf._engine.bounds import TailBounds
from sklearn_rankinf._engine.law import TriplesLaw, exact_law
from sklearn_rankinf._engine.statistics import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    RocAuc,
    increments_of,
)
from sklearn_rankinf._engine.triples import Triples

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
    n_samples = 17
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
    assert isinstance(law, TriplesLaw)
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
