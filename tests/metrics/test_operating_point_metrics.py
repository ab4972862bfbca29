"""Operating points against the curve in exact fractions, all placements, and scikit-learn."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import precision_recall_curve, roc_curve

from sklearn_rankinf import (
    PrecisionAtRecall,
    Ranking,
    RecallAtFpr,
    RecallAtPrecision,
    metric_null_distribution,
    metric_power,
    metric_test,
)
from sklearn_rankinf._metrics import as_metric, operating_points
from sklearn_rankinf._statistics import HitBlocks

LISTED = [PrecisionAtRecall, RecallAtFpr]
POINTS = [*LISTED, RecallAtPrecision]


# The curve of hits against misses, whose corners are whole numbers.


def segments(sizes, hits):
    """Corners of the curve, in pairs."""
    corners = [(0, 0)]
    for size, found in zip(sizes, hits, strict=True):
        misses, before = corners[-1]
        corners.append((misses + int(size - found), before + int(found)))
    return list(itertools.pairwise(corners))


def heights(lines, height):
    """Hits where a function, straight on the curve, is at least 0: the ends of these parts."""
    for first, last in lines:
        a, b = height(*first), height(*last)
        if a >= 0:
            yield first
        if b >= 0:
            yield last
        if (a < 0) != (b < 0):
            t = a / (a - b)
            yield tuple(x + t * (y - x) for x, y in zip(first, last, strict=True))


def exact_value(metric, share, sizes, hits):
    lines, m = segments(sizes, hits), int(sum(hits))
    n0 = int(sum(sizes)) - m
    if metric is RecallAtFpr:
        # The highest point that is not beyond the line of misses.
        points = heights(lines, lambda misses, _: share * n0 - misses)
        return Fraction(max(h for _, h in points)) / m
    if metric is PrecisionAtRecall:
        wanted = math.ceil(share * m)
        points = heights(lines, lambda _, found: Fraction(found - wanted))
        return Fraction(wanted) / min(w + h for w, h in points)
    points = heights(lines, lambda misses, found: found - share * (misses + found))
    return Fraction(max(h for _, h in points)) / m


BLOCKS = [
    [1] * 8,
    [2, 3, 4],
    [9],
    [1, 1, 1, 6],
    [5, 1, 1, 1],
    [1, 7, 1],
    [4, 4],
    [3, 1, 2, 1, 2],
]
SHARES = ["0.1", "0.3", "0.5", "0.62", "0.75", "0.999"]


def placements(sizes, m):
    """Hits in blocks of all placements of m hits."""
    blocks, n = np.repeat(np.arange(len(sizes)), sizes), sum(sizes)
    for hits in itertools.combinations(range(n), m):
        yield np.bincount(blocks[list(hits)], minlength=len(sizes))


@pytest.mark.parametrize("metric", POINTS)
@pytest.mark.parametrize("sizes", BLOCKS, ids=str)
def test_values_are_those_of_the_curve(metric, sizes):
    n, sizes = sum(sizes), np.array(sizes)
    rows = [hits for m in range(1, n + 1) for hits in itertools.islice(placements(sizes, m), 40)]
    for share, hits in itertools.product(SHARES, rows):
        if metric is RecallAtFpr and hits.sum() == n:
            continue
        expected = exact_value(metric, Fraction(share), sizes, hits)
        assert metric(float(share)).evaluate(sizes, hits) == pytest.approx(
            float(expected), abs=1e-9
        )


@pytest.mark.parametrize("metric", LISTED)
@pytest.mark.parametrize("sizes", BLOCKS, ids=str)
def test_null_distribution_is_that_of_all_placements(metric, sizes):
    n = sum(sizes)
    for share, m in itertools.product(SHARES, (1, 2, 4, n - 1)):
        values = [
            exact_value(metric, Fraction(share), sizes, hits) for hits in placements(sizes, m)
        ]
        null = metric_null_distribution(n, m, metric=metric(float(share)), tie_sizes=sizes)
        number = len(values)
        for value in set(values):
            expected = Fraction(sum(other >= value for other in values), number)
            assert null.pvalue(float(value)) == pytest.approx(float(expected), rel=1e-12)
            below = Fraction(sum(other <= value for other in values), number)
            assert null.cdf(float(value) * (1 + 1e-12)) == pytest.approx(float(below), rel=1e-12)
        mean = sum(values) / number
        variance = sum((value - mean) ** 2 for value in values) / number
        assert null.mean() == pytest.approx(float(mean), rel=1e-12)
        assert null.var() == pytest.approx(float(variance), rel=1e-10, abs=1e-15)
        assert null.support() == pytest.approx((float(min(values)), float(max(values))), rel=1e-12)
        # The smallest value that is exceeded with a probability of at most a fifth.
        exceeded = [v for v in values if sum(other > v for other in values) * 5 <= number]
        assert null.isf(0.2) == pytest.approx(float(min(exceeded)), rel=1e-12)


def random_ranking(seed, levels=None):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 60))
    positive = np.arange(n) < rng.integers(1, n)
    score = rng.normal(size=n) + positive
    return positive, score if levels is None else np.round(score * levels)


@pytest.mark.parametrize("seed", range(6))
def test_values_without_ties_are_those_of_scikit_learn(seed):
    positive, score = random_ranking(seed)
    precision, recall, _ = precision_recall_curve(positive, score)
    # The last point of scikit-learn's curve is added, not observed.
    precision, recall = precision[:-1], recall[:-1]
    for share in map(float, SHARES):
        at_recall = precision[recall >= share - 1e-9][-1]
        assert PrecisionAtRecall(share)(positive, score) == pytest.approx(at_recall, rel=1e-12)
        at_precision = recall[precision >= share - 1e-12].max(initial=0.0)
        assert RecallAtPrecision(share)(positive, score) == pytest.approx(at_precision, abs=1e-9)


@pytest.mark.parametrize("levels", [None, 2])
@pytest.mark.parametrize("seed", range(6))
def test_recall_at_a_rate_is_that_of_the_roc_curve(seed, levels):
    positive, score = random_ranking(seed, levels)
    rates, recall, _ = roc_curve(positive, score, drop_intermediate=False)
    for share in map(float, SHARES):
        own = RecallAtFpr(share)(positive, score)
        if levels is not None:
            before = np.flatnonzero(rates <= share + 1e-12)[-1]
            step = rates[before + 1] - rates[before]
            rise = recall[before + 1] - recall[before]
            assert own == pytest.approx(recall[before] + (share - rates[before]) / step * rise)
        else:
            assert own == pytest.approx(recall[rates <= share + 1e-12][-1])


@pytest.mark.parametrize("metric", POINTS)
def test_all_ways_to_a_value_agree(metric):
    rng = np.random.default_rng(0)
    sizes = np.array([3, 1, 5, 2, 1, 8])
    own, n, m = metric(0.4), 20, 7
    rows = np.sort([rng.choice(n, m, replace=False) for _ in range(50)], axis=1)
    places = np.repeat(np.arange(sizes.size), sizes)[rows]
    hits = np.array([np.bincount(row, minlength=sizes.size) for row in places])
    expected = [own.evaluate(sizes, row) for row in hits]
    assert_allclose(own.hit_values(n, m, sizes)(places), expected, rtol=1e-12)
    assert_allclose(own.block_values(n, m, sizes)(hits), expected, rtol=1e-12)
    # Blocks in any order of the lists.
    lists, blocks = np.nonzero(hits)
    order = rng.permutation(lists.size)
    lists, blocks = lists[order], blocks[order]
    before = (np.cumsum(hits, axis=1) - hits)[lists, blocks]
    starts = (np.cumsum(sizes) - sizes)[blocks]
    mixed = HitBlocks(lists, starts, sizes[blocks], before, hits[lists, blocks], 50, n, m)
    assert_allclose(own.totals(mixed, are_kept=True), expected, rtol=1e-12)
    alone = [own.evaluate(np.ones(n, dtype=int), np.isin(np.arange(n), row)) for row in rows]
    assert_allclose(own.hit_values(n, m, None)(rows), alone, rtol=1e-12)


@pytest.mark.parametrize("metric", LISTED)
@pytest.mark.parametrize("alpha", [0.05, 0.3, 1e-9, 0.999])
def test_the_smallest_significant_value_is_that_of_the_null_distribution(metric, alpha):
    for n, m, share in itertools.product((8, 30), (1, 3, 7), (0.1, 0.5, 0.95)):
        value, h, k = metric(share).significant_hits(alpha, n, m)
        null = metric_null_distribution(n, m, metric=metric(share))
        values = null.statistic.atoms(n, m, None)[0]
        significant = [v for v in values if null.pvalue(v) <= alpha * (1 + 1e-12)]
        if not significant:
            assert math.isnan(value)
            continue
        assert value == pytest.approx(min(significant), rel=1e-12)
        reached = metric_null_distribution(n, m, metric=f"recall@{k}").pvalue(h / m)
        assert reached == pytest.approx(null.pvalue(value), rel=1e-12)


def test_power_of_an_operating_point_is_that_of_the_test():
    # A random ranking rejects with the level of the test.
    for metric in (PrecisionAtRecall(0.5), RecallAtFpr(0.1)):
        result = metric_power(24, 5, metric=metric, odds=1.0)
        assert result.power == pytest.approx(result.level, abs=1e-9)
        assert 0.0 < result.level <= 0.05


@pytest.mark.parametrize("metric", LISTED)
def test_too_many_values_are_drawn(metric, monkeypatch):
    ranking = Ranking.from_counts([30, 30, 40], [9, 5, 2])
    exact = metric_test(ranking, metric=metric(0.3))
    assert exact.method == "analytic"
    monkeypatch.setattr(operating_points, "_MOST_VALUES", 100)
    drawn = metric_test(ranking, metric=metric(0.3), n_resamples=999)
    assert drawn.method == "permutation"
    error = math.sqrt(exact.pvalue * (1 - exact.pvalue) / 999)
    assert drawn.pvalue == pytest.approx(exact.pvalue, abs=4 * error)
    assert drawn.chance == pytest.approx(exact.chance, abs=0.02)
    with pytest.raises(ValueError, match="has no null distribution in closed form"):
        metric_test(ranking, metric=metric(0.3), method="analytic")
    mean = metric_test({"a": ranking, "b": ranking}, metric=metric(0.3), n_resamples=99)
    assert mean.method == "permutation"


def test_number_of_listed_values_is_bounded():
    sizes = np.array([30, 1, 1, 28, 40])
    for metric, share, m in itertools.product(LISTED, (0.1, 0.6), (1, 9, 99)):
        own = metric(share)
        n_values = own.atoms(100, m, sizes)[0].size
        before, inside = own._certain(100, m)
        assert n_values <= np.sum(np.minimum(sizes, before) * np.minimum(sizes, inside))


def test_crossings_of_the_line_are_drawn():
    # At precision 0.5 the value is 0 unless a prefix is at least half positive.
    ranking = Ranking.from_counts([1] * 8, [1, 0, 0, 0, 0, 0, 0, 1])
    result = metric_test(ranking, metric=RecallAtPrecision(0.5), n_resamples=9999)
    values = [
        exact_value(RecallAtPrecision, Fraction(1, 2), [1] * 8, hits)
        for hits in placements([1] * 8, 2)
    ]
    share = np.mean([value >= Fraction(1, 2) for value in values])
    assert (result.statistic, result.method) == (0.5, "permutation")
    assert result.pvalue == pytest.approx(share, abs=0.02)
    with pytest.raises(ValueError, match="method must be one of 'auto', 'permutation'"):
        metric_test(ranking, metric=RecallAtPrecision(0.5), method="analytic")


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("precision_at_recall@0.8", PrecisionAtRecall(0.8)),
        ("recall_at_precision@0.5", RecallAtPrecision(0.5)),
        ("recall_at_fpr@1e-2", RecallAtFpr(0.01)),
    ],
)
def test_names(name, metric):
    assert as_metric(name) == metric
    assert metric.title_in_text == metric.title[0].lower() + metric.title[1:]
    assert metric.averaged("macro").title.endswith(metric.title_in_text)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("precision_at_recall", r"needs the recall after an @: pass metric='precision_at_recall@0"),
        ("recall_at_fpr_macro", r"needs the fpr after an @: pass metric='recall_at_fpr_macro@0\.1"),
        ("recall_at_fpr@x", "the fpr after the @ must be a number between 0 and 1, .*; got 'x'"),
        ("recall_at_precision@1", "precision must lie between 0 and 1, exclusive; got 1"),
        ("precision_at_recall@0", "recall must lie between 0 and 1, exclusive; got 0"),
    ],
)
def test_wrong_names(name, message):
    with pytest.raises(ValueError, match=message):
        as_metric(name.replace("_macro", "") if "@" in name else name)


def test_classes_without_their_number():
    with pytest.raises(TypeError, match=r"pass RecallAtFpr\(fpr=\.\.\.\)"):
        as_metric(RecallAtFpr)
    with pytest.raises(TypeError, match="recall must be a number"):
        PrecisionAtRecall("0.5")
