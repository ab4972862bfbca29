"""The curve of significant hits, and the minimum hypergeometric test."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import hypergeom
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf import (
    Ranking,
    min_hits_at_k,
    minimum_hypergeometric_test,
    top_k_significance_curve,
)

EDEN = [1, 0, 1, 1, 0, 1] + [0] * 12 + [1, 0]
TIED = Ranking.from_counts([1, 3, 1, 1, 5, 2, 3], [1, 2, 1, 0, 1, 0, 0])


def single(hits):
    return Ranking.from_counts([1] * len(hits), hits)


def scipy_pvalues(ranking):
    """P-values at the ends of blocks, from SciPy."""
    n, m = ranking.n_samples, ranking.n_positives
    return hypergeom.sf(np.cumsum(ranking.hits) - 1, n, m, np.cumsum(ranking.tie_sizes))


def hits_of_placements(n, m, ends):
    """Hits up to each end, one row for each placement."""
    places = np.array(list(combinations(range(1, n + 1), m)))
    return np.sum(places[:, :, None] <= ends, axis=1)


def smallest_pvalues(hits, n, m, ends, least=1):
    """Smallest p-value of each placement over ends with enough hits, from SciPy."""
    pvalues = hypergeom.sf(np.arange(m + 1) - 1, n, m, ends[:, None])  # by end and hits
    found = pvalues[np.arange(ends.size), hits]
    return np.min(found, axis=1, where=hits >= least, initial=1.0)


# The curve.


def test_arrays_are_those_of_each_k():
    curve = top_k_significance_curve(TIED, alpha=[0.2, 0.05])
    assert_array_equal(curve.k, [1, 4, 5, 6, 11, 13, 16])
    assert_array_equal(curve.hits, [1, 3, 4, 4, 5, 5, 5])
    assert_allclose(curve.expected, curve.k * 5 / 16)
    assert_allclose(curve.pvalue, scipy_pvalues(TIED), rtol=1e-12)
    assert_allclose(curve.log10_pvalue, np.log10(scipy_pvalues(TIED)), rtol=1e-12, atol=1e-14)
    assert_allclose(curve.recall, curve.hits / 5)
    assert_allclose(curve.precision, curve.hits / curve.k)
    assert_allclose(curve.enrichment, curve.hits / curve.k / (5 / 16))
    needed = min_hits_at_k(16, 5, k=curve.k, alpha=curve.alpha[:, None]).astype(float)
    needed[needed > np.minimum(5, curve.k)] = np.nan
    assert_array_equal(curve.hits_needed, needed)


@pytest.mark.parametrize("ranking", [TIED, single(EDEN[:14]), single([0, 1] * 6 + [0] * 4)])
def test_simultaneous_bound_holds_for_all_placements_and_is_the_lowest(ranking):
    n, m = ranking.n_samples, ranking.n_positives
    curve = top_k_significance_curve(ranking, alpha=(0.3, 0.1, 0.02))
    ends = np.cumsum(ranking.tie_sizes)
    hits = hits_of_placements(n, m, ends)
    smallest = smallest_pvalues(hits, n, m, ends)
    for i, alpha in enumerate(curve.alpha):
        level, attained = curve.pointwise_level[i], curve.attained_level[i]
        assert_allclose(np.mean(smallest <= level * (1.0 + 1e-9)), attained, rtol=1e-12)
        assert attained <= alpha
        following = smallest[smallest > level * (1.0 + 1e-9)].min()
        assert np.mean(smallest <= following * (1.0 + 1e-9)) > alpha
        above = np.any(hits >= curve.hits_needed_simultaneous[i], axis=1)
        assert_allclose(np.mean(above), attained, rtol=1e-12)
        anywhere = np.mean(smallest <= alpha * (1.0 + 1e-9))
        assert_allclose(curve.pointwise_crossing_probability[i], anywhere, rtol=1e-12)


def test_crossovers_are_all_runs_of_significant_k():
    hits = [1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1] + [0] * 30
    ranking = single(hits)
    curve = top_k_significance_curve(ranking, alpha=[0.05, 0.01])
    for i, alpha in enumerate(curve.alpha):
        significant = scipy_pvalues(ranking) <= alpha
        inside = np.zeros(len(hits), dtype=bool)
        for first, last in curve.crossovers[i]:
            inside[first - 1 : last] = True
            assert not significant[first - 2 : first - 1].any()
            assert not significant[last : last + 1].any()
        assert_array_equal(inside, significant)
    assert len(curve.crossovers[0]) > 1
    at_ends = top_k_significance_curve(Ranking.from_counts([2, 2, 36], [2, 2, 1]), alpha=0.05)
    assert at_ends.crossovers == [[(2, 4)]]


def test_fewer_k_lower_the_simultaneous_bound():
    ranking = single([1] * 4 + [0] * 96)
    every, first = (top_k_significance_curve(ranking, max_rank=k) for k in (None, 0.1))
    assert first.k[-1] == 10
    assert np.all(first.pointwise_level >= every.pointwise_level)
    assert first.pointwise_level[0] > every.pointwise_level[0]
    assert_array_equal(first.hits_needed, every.hits_needed[:, :10])
    # A rank within a block of ties ends before the block.
    assert_array_equal(top_k_significance_curve(TIED, max_rank=10).k, [1, 4, 5, 6])


def test_labels_and_scores_of_any_kind_give_the_same_curve():
    y_true = ["no", "yes", "no", "yes", "no", "no"]
    y_score = [0.1, 0.9, 0.5, 0.5, 0.4, 0.2]
    wanted = top_k_significance_curve(Ranking.from_counts([1, 2, 1, 1, 1], [1, 1, 0, 0, 0]))
    for labels, scores in (
        (y_true, y_score),
        (pd.Series(y_true, index=list("abcdef")), pd.Series(y_score, index=list("fedcba"))),
        (pl.Series(y_true), pl.Series(y_score)),
    ):
        found = top_k_significance_curve(labels, scores, pos_label="yes")
        assert_array_equal(found.hits, wanted.hits)
        assert_array_equal(found.hits_needed_simultaneous, wanted.hits_needed_simultaneous)


def test_curve_in_tables_and_words():
    curve = top_k_significance_curve(single(EDEN), alpha=0.05)
    frame = curve.to_frame()
    assert list(frame.columns) == [
        "k",
        "hits",
        "expected",
        "pvalue",
        "hits_needed_0.05",
        "hits_needed_simultaneous_0.05",
    ]
    assert len(frame) == 20
    words = curve.summary()
    assert "smallest at k = 6, with 4 of 5 positives where 1.5 are expected: 0.0139" in words
    assert curve.crossovers_simultaneous == [[(6, 6)]]
    assert "beats chance up to k = 6 (k = 6; pointwise level 0.0298): any of" in words
    assert curve.crossovers == [[(4, 4), (6, 7)]]
    assert "A single k fixed in advance is significant at k = 4, 6 to 7.\nHits are cumul" in words


def test_words_list_the_first_runs_only():
    # A hit at every second k at which one more is needed.
    hits = np.zeros(400, dtype=int)
    for k in range(4, 401, 2):
        if hits.sum() < min(min_hits_at_k(400, 30, k=k), 30):
            hits[k - 1] = 1
    curve = top_k_significance_curve(single(hits), alpha=0.05)
    runs = curve.crossovers[0]
    assert len(runs) > 10
    shown = ", ".join(f"{first} to {last}" for first, last in runs[:3])
    assert f"at k = {shown} and {len(runs) - 3} more runs." in curve.summary()
    worst = top_k_significance_curve(single(EDEN[::-1]), alpha=(0.05, 1e-9)).summary()
    assert "the list does not beat chance at any k" in worst
    assert "A single k fixed in advance is significant at no k." in worst
    assert "At the level 1e-09 over all k no ranking of this size can be significant." in worst


@pytest.mark.parametrize(
    ("hits", "words"), [([0] * 5, "no positives"), ([1] * 5, "only positives")]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_one_class_shows_nothing(hits, words):
    curve = top_k_significance_curve(single(hits))
    assert_array_equal(curve.pvalue, 1.0)
    assert np.isnan(curve.hits_needed).all()
    assert np.isnan(curve.hits_needed_simultaneous).all()
    assert_array_equal(curve.pointwise_level, 0.0)
    assert_array_equal(curve.attained_level, 0.0)
    assert curve.crossovers == [[], [], []]
    assert curve.summary() == f"There are {words} among 5 items: every ranking is the same."
    result = minimum_hypergeometric_test(single(hits))
    assert result.pvalue == 1.0
    assert result.summary() == curve.summary()


def test_no_positives_warn():
    with pytest.warns(UndefinedMetricWarning, match="number of hits is undefined"):
        top_k_significance_curve([0, 0, 0], [1, 2, 3])
    with pytest.warns(UndefinedMetricWarning, match=r"set to 1\.0"):
        result = minimum_hypergeometric_test([0, 0, 0], [1, 2, 3])
    assert (result.statistic, result.k, result.log10_pvalue) == (1.0, None, 0.0)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"max_rank": 0}, ValueError, "max_rank must be at least 1 as a number of items; got 0"),
        ({"max_rank": 17}, ValueError, "max_rank must be between 1 and n_samples=16; got 17"),
        ({"max_rank": 1.5}, ValueError, "max_rank as a float is a fraction of the items"),
        ({"max_rank": "9"}, TypeError, "max_rank must be an int or a float; got '9'"),
        ({"alpha": 0.0}, ValueError, "alpha must lie between 0 and 1, exclusive; got 0.0"),
        ({"alpha": [0.1, 1.0]}, ValueError, "alpha must lie between 0 and 1"),
        ({"alpha": []}, ValueError, r"at least one number; got shape \(0,\)"),
        ({"alpha": [[0.1]]}, ValueError, r"got shape \(1, 1\)"),
        ({"alpha": "x"}, TypeError, "alpha must be a float or an array of floats; got 'x'"),
        ({"alpha": None}, TypeError, "alpha must be a float or an array of floats; got None"),
        ({"alpha": True}, TypeError, "alpha must be a float or an array of floats; got True"),
    ],
)
def test_curve_refuses(options, error, message):
    with pytest.raises(error, match=message):
        top_k_significance_curve(TIED, **options)


@pytest.mark.parametrize("test", [top_k_significance_curve, minimum_hypergeometric_test])
def test_empty_arrays_and_blocks_beyond_the_last_rank_are_refused(test):
    with pytest.raises(ValueError, match="y_true is empty"):
        test([], [])
    with pytest.raises(ValueError, match="max_rank=2 is rank 2, within the first 3 items"):
        test(Ranking.from_counts([3, 2], [1, 1]), max_rank=2)


# The minimum hypergeometric test.


@pytest.mark.parametrize(
    ("options", "pvalue"),
    [
        ({}, 0.0244453044375645),
        ({"max_rank": 6}, 0.019801341589267284),
        ({"max_rank": 0.3}, 0.019801341589267284),
        ({"min_hits": 4}, 0.01876934984520124),
    ],
)
def test_published_values(options, pvalue):
    result = minimum_hypergeometric_test(single(EDEN), **options)
    assert_allclose(result.statistic, 0.01393188854489164, rtol=1e-13)
    assert (result.k, result.hits) == (6, 4)
    assert_allclose(result.pvalue, pvalue, rtol=1e-13)


@pytest.mark.parametrize("n", [1000, 3000, 10**6])
def test_perfect_rankings_have_the_probability_of_one_placement(n):
    hits = np.zeros(n, dtype=int)
    hits[:200] = 1
    result = minimum_hypergeometric_test(Ranking.from_counts(np.ones(n, dtype=int), hits))
    placements = math.comb(n, 200)
    assert (result.k, result.hits) == (200, 200)
    log10 = math.log10(placements)
    assert_allclose(result.log10_pvalue, -log10, rtol=1e-13)
    assert_allclose(result.log10_statistic, -log10, rtol=1e-13)
    if n == 1000:
        assert_allclose(result.pvalue, float(Fraction(1, placements)), rtol=1e-12)
        assert_allclose(result.pvalue, 1.5112233509292993e-216, rtol=1e-12)


@pytest.mark.parametrize(
    ("sizes", "m"),
    [([1] * 12, 4), ([4, 1, 1, 2, 1, 3], 5), ([1, 1, 1, 9], 3), ([3, 3, 3, 3], 11), ([1] * 9, 1)],
)
@pytest.mark.parametrize(("least", "last"), [(1, None), (2, None), (1, 6), (2, 8)])
def test_pvalue_equals_counting_placements(sizes, m, least, last):
    least = min(least, m)
    n, ends = sum(sizes), np.cumsum(sizes)
    counted = ends[ends <= (last or n)]
    every = hits_of_placements(n, m, ends)
    smallest = smallest_pvalues(every[:, : counted.size], n, m, counted, least)
    step = max(1, len(every) // 10)
    for cumulative, statistic in zip(every[::step], smallest[::step], strict=True):
        ranking = Ranking.from_counts(sizes, np.diff(cumulative, prepend=0))
        result = minimum_hypergeometric_test(ranking, min_hits=least, max_rank=last)
        assert_allclose(result.statistic, statistic, rtol=1e-12)
        assert_allclose(result.pvalue, np.mean(smallest <= statistic * (1.0 + 1e-9)), rtol=1e-12)
        assert result.max_rank == counted[-1]
        assert (result.k is None) == (statistic == 1.0 and cumulative[counted.size - 1] < least)


def test_pvalue_lies_between_its_bounds():
    rng = np.random.default_rng(3)
    for n, m, shift in ((500, 20, 1.0), (500, 480, 1.0), (5000, 100, 3.0)):
        y = np.arange(n) < m
        for digits in (6, 0):
            score = np.round(rng.standard_normal(n) + shift * y, digits)
            result = minimum_hypergeometric_test(y, score)
            assert result.log10_statistic <= result.log10_pvalue
            assert result.log10_pvalue <= result.log10_statistic + math.log10(m)


def test_result_in_tables_and_words():
    result = minimum_hypergeometric_test(single(EDEN))
    assert repr(result) == (
        "MinimumHypergeometricTestResult(statistic=0.01393, k=6, hits=4, pvalue=0.02445, "
        "n_samples=20, n_positives=5, min_hits=1, max_rank=20)"
    )
    assert result.summary() == (
        "The most significant cut-off was k = 6, with 4 positives among the first k items where "
        "1.5 are expected, p = 0.0244 for a ranking better than chance (exact minimum "
        "hypergeometric test; 5 positives among 20 items)."
    )
    nothing = minimum_hypergeometric_test(single(EDEN), min_hits=5, max_rank=6)
    assert nothing.k is None
    assert nothing.summary().startswith("No cut-off up to 6 has 5 hits, p = 1.0000")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"min_hits": 0}, ValueError, "min_hits must be at least 1; got 0"),
        ({"min_hits": 6}, ValueError, "min_hits must be from 1 to n_positives=5; got 6"),
        ({"min_hits": 2.0}, TypeError, "min_hits must be an integer; got 2.0"),
        ({"max_rank": 21}, ValueError, "max_rank must be between 1 and n_samples=20; got 21"),
        ({"max_rank": True}, TypeError, "max_rank must be an int or a float; got True"),
    ],
)
def test_minimum_hypergeometric_test_refuses(options, error, message):
    with pytest.raises(error, match=message):
        minimum_hypergeometric_test(single(EDEN), **options)
