"""Numbers of items to examine against checked values, all cut-offs and binomial counts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from sklearn_rankinf import Ranking, items_to_examine, metric_curve, optimal_cutoff
from sklearn_rankinf._estimation.limits import union_limits
from sklearn_rankinf._estimation.regions import top_of

N, M = 40, 8
HITS = np.bincount([1, 2, 4, 7, 11, 12, 20, 33], minlength=N + 1)[1:]
RANKING = Ranking.from_counts(np.ones(N, dtype=int), HITS)
few = pytest.mark.filterwarnings("ignore:The curve has only")


@few
def test_checked_values():
    result = items_to_examine(RANKING, recall=0.5)
    # k = 4 to 32 are accepted, and the end is rounded outwards.
    assert (result.n_items, result.low, result.high) == (7, 4, 33)
    assert result.precision == 4 / 7
    assert (result.precision_low, result.precision_high) == (4 / 33, 1.0)
    exact = items_to_examine(RANKING, recall=0.5, method="exact")
    # The first and the eighth positive: 254 of 256 samples have a number between.
    assert (exact.low, exact.high) == (1, 33)


def samples():
    rng = np.random.default_rng(1)
    for n, m in ((60, 12), (300, 30), (200, 120)):
        positive = np.arange(n) < m
        for shift in (0.0, 1.0, 3.0):
            score = rng.normal(size=n) + shift * positive
            yield positive, score
            yield positive, score.round()


def test_region_contains_all_accepted_cut_offs():
    t_of = {m: stats.t.isf(0.025, m - 1) for m in (12, 30, 120)}
    for positive, score in samples():
        ranking = Ranking.from_scores(positive, score)
        n, m = ranking.n_samples, ranking.n_positives
        k = np.arange(2, n - 1)
        low, high = union_limits(top_of(ranking, k), t_of[m])
        for recall in (0.3, 0.8, 0.95):
            result = items_to_examine(positive, score, recall=recall)
            inside = k[(low <= recall) & (recall <= high)]
            inside = inside[inside >= recall * m - 1e-9]
            assert result.low <= inside.min(initial=result.n_items)
            assert result.low >= min(inside.min(initial=n) - 1, result.n_items)
            assert result.high >= inside.max(initial=result.n_items)
            assert result.high <= max(inside.max(initial=0) + 1, result.n_items) or (
                result.high == n and n - 2 in inside
            )
            assert result.low <= result.n_items <= result.high
            assert result.precision_low <= result.precision <= result.precision_high


@pytest.mark.parametrize("recall", [0.1, 0.5, 0.9])
def test_exact_limits_are_order_statistics(recall):
    for positive, score in samples():
        m = int(positive.sum())
        result = items_to_examine(positive, score, recall=recall, method="exact")
        # The first numbers of positives whose binomial tails are more than 2.5 %.
        counts = np.arange(m + 1)
        a = int(np.argmax(stats.binom.cdf(counts, m, recall) >= 0.025))
        b = int(np.argmax(stats.binom.cdf(counts, m, recall) >= 0.975)) + 1
        assert stats.binom.pmf(counts[a:b], m, recall).sum() >= 0.95
        # Positives stand first in their blocks for the least number, and last for the largest.
        first = np.flatnonzero(positive[np.lexsort((~positive, -score))])
        last = np.flatnonzero(positive[np.lexsort((positive, -score))])
        low, high = first[a - 1] + 1 if a else 1, last[b - 1] + 1 if b <= m else positive.size
        assert result.low == min(low, result.n_items)
        assert result.high == max(high, result.n_items)


def test_threshold_is_between_exact_limits_as_often_as_stated():
    rng, found = np.random.default_rng(0), []
    threshold = stats.norm.isf(0.8) + 1.0
    positive = np.arange(200) < 20
    for _ in range(2000):
        score = rng.normal(size=200) + positive
        result = items_to_examine(positive, score, method="exact")
        at_or_above = np.sum(score >= threshold)
        found.append(result.low <= at_or_above + 1 and at_or_above <= result.high)
    assert np.mean(found) >= 0.935


def test_equal_scores():
    # Of the block of six, half hold one of its two positives.
    ranking = Ranking.from_counts([10, 6, 34], [10, 2, 3])
    result = items_to_examine(ranking, recall=11 / 15)
    assert result.n_items == 13
    exact = items_to_examine(ranking, recall=11 / 15, method="exact")
    assert exact.high == 50
    assert exact.low == 7


def test_summary_and_several_rankers():
    positive, score = next(samples())
    results = items_to_examine(positive, {"a": score, "b": -score}, recall=0.75)
    assert list(results) == ["a", "b"]
    first, second = results["a"].summary().splitlines()
    assert first.startswith(f"The first {results['a'].n_items} of 60 items contain 75 % of the 12")
    assert second.startswith("Their precision is ")


@pytest.mark.parametrize("recall", [0.0, 1.0, 1.5, -1])
def test_recall_is_a_share(recall):
    with pytest.raises(ValueError, match="recall must lie between 0 and 1, exclusive; got"):
        items_to_examine(RANKING, recall=recall)


def test_wrong_method():
    with pytest.raises(ValueError, match="method must be one of 'auto', 'region', 'exact'; got"):
        items_to_examine(RANKING, method="score")


def test_higher_levels_are_wider():
    for positive, score in samples():
        for method in ("region", "exact"):
            one, two = (
                items_to_examine(positive, score, method=method, confidence_level=level)
                for level in (0.9, 0.99)
            )
            assert two.low <= one.low <= one.n_items <= one.high <= two.high
            assert_allclose(one.precision, two.precision)


# The cut-off with the largest net benefit.


@pytest.mark.parametrize(("value", "cost"), [(5.0, 1.0), (2.0, 1.0), (30.0, 1.0), (1.0, 2.0)])
def test_best_cut_off_is_that_of_all_orders(value, cost):
    for positive, score in samples():
        result = optimal_cutoff(positive, score, value=value, cost=cost)
        # All ends of blocks of equal scores, counted one by one.
        benefits = {0: 0.0}
        for threshold in np.unique(score):
            top = score >= threshold
            benefits[int(top.sum())] = value * (top & positive).sum() - cost * top.sum()
        assert result.net_benefit == pytest.approx(max(benefits.values()))
        assert benefits[result.k] == pytest.approx(result.net_benefit)
        assert result.low <= result.net_benefit + 1e-9
        assert result.net_benefit <= result.high + 1e-9
        assert result.k_low <= result.k <= result.k_high
        if result.k:
            hits = round(result.recall * positive.sum())
            assert value * hits - cost * result.k == pytest.approx(result.net_benefit)
            assert result.precision == pytest.approx(hits / result.k)


def test_limits_of_the_best_cut_off_are_those_of_the_curve():
    rng = np.random.default_rng(0)
    positive = np.arange(300) < 40
    score = rng.normal(size=300) + 1.5 * positive
    result = optimal_cutoff(positive, score, value=6, cost=1)
    curve = metric_curve(positive, score, curve="recall")
    low, high = (
        6 * 40 * limits - curve.x for limits in (curve.low_simultaneous, curve.high_simultaneous)
    )
    at = np.flatnonzero(curve.x == result.k)[0]
    # The curve has the wider ones of both kinds of limits.
    assert low[at] <= result.low + 1e-9
    assert result.high <= high[at] + 1e-9
    assert_allclose([result.low, result.high], [low[at], high[at]], atol=3.0)
    possible = curve.x[high >= low.max()]
    assert abs(possible[0] - result.k_low) <= 2
    assert abs(possible[-1] - result.k_high) <= 2


def test_nothing_is_examined_at_high_costs():
    positive, score = next(samples())
    result = optimal_cutoff(positive, score, value=1, cost=5)
    assert (result.k, result.net_benefit, result.low, result.high, result.k_high) == (0, 0, 0, 0, 0)
    assert np.isnan(result.precision)
    everything = optimal_cutoff(positive, score, value=1e6, cost=1)
    assert everything.recall == 1.0


@pytest.mark.parametrize("name", ["value", "cost"])
@pytest.mark.parametrize("wrong", [0.0, -1.0, np.inf, np.nan])
def test_values_and_costs_are_positive(name, wrong):
    with pytest.raises(ValueError, match=f"{name} must be finite"):
        optimal_cutoff(RANKING, **{"value": 1, "cost": 1, name: wrong})
