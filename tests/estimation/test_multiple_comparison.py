"""Comparisons of many rankings and runs against NumPy, SciPy and definitions."""

import itertools
import math
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from by_name import Persistence
from combinations import checkered
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from test_estimates import STRUCTURES, asah, slope, weight_derivatives

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    EnrichmentAtK,
    Ranking,
    RecallAtK,
    ReciprocalRank,
    RocAuc,
    metric_comparison_test,
    metric_interval,
    metric_multiple_comparison_test,
    metric_test,
    values_multiple_comparison_test,
)
from sklearn_rankinf._estimation import multiple_comparison as _multiple_comparison
from sklearn_rankinf._estimation import simultaneous

# Number of random directions in these tests, and a distance of p-values that they explain.
DRAWN, NEAR = 2000, 0.02
FAMILIES = [
    AveragePrecision(),
    AveragePrecision(k=12),
    RocAuc(),
    RecallAtK(8),
    EnrichmentAtK(8),
    DiscountedCumulativeGain(),
    Bedroc(),
    Persistence(),
]
# Metrics whose intervals do not have to be simulated.
CLOSED = FAMILIES[:5]
COLUMNS = ["difference", "standard_error", "low", "high", "pvalue", "pvalue_unadjusted"]


def draw_directions(monkeypatch, n_directions):
    """Draw so many random directions."""
    for name in ("single_step", "best_pvalues"):
        drawn = partial(getattr(simultaneous, name), n_directions=n_directions)
        monkeypatch.setattr(_multiple_comparison, name, drawn)


@pytest.fixture(autouse=True)
def few_directions(monkeypatch):
    """Draw fewer random directions."""
    draw_directions(monkeypatch, DRAWN)


def sample(seed=0, n=60, m=15, shifts=(1.6, 0.8, 1.2, 0.0), levels=None):
    """Labels and the scores of several rankers, correlated and by name."""
    rng = np.random.default_rng(seed)
    y_true, common = np.arange(n) < m, rng.normal(size=n)
    scores = [common + rng.normal(size=n) + shift * y_true for shift in shifts]
    if levels:
        scores = [np.round(score * levels) / levels for score in scores]
    return y_true, dict(zip("abcdefgh", scores, strict=False))


def compare(seed=0, sizes=None, **options):
    y_true, scores = sample(seed, **(sizes or {}))
    return metric_multiple_comparison_test(y_true, scores, **options)


def as_rows(result):
    """The pairs by their names."""
    frame = result.to_frame()
    rows = zip(*(frame[name] for name in COLUMNS), strict=True)
    return dict(zip(zip(frame["a"], frame["b"], strict=True), map(np.array, rows), strict=True))


def mirrored(row):
    """The result for the reversed pair."""
    difference, error, low, high, *pvalues = row
    return np.array([-difference, error, -high, -low, *pvalues])


def assert_same(one, other, rtol=1e-9):
    assert one.names == other.names
    for name in ("statistic", "statistic_standard_error", *COLUMNS, "best_pvalue"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=1e-12)
    assert one.best() == other.best()


# ---------------------------------------------------------------------------------------------
# Pairs and p-values
# ---------------------------------------------------------------------------------------------


@pytest.mark.numeric
@pytest.mark.parametrize("metric", FAMILIES, ids=str)
def test_values_and_pairs_of_every_metric(metric):
    y_true, scores = sample(shifts=(1.6, 0.8, 1.2))
    found = metric_multiple_comparison_test(y_true, scores, metric=metric)
    values = [metric_test(y_true, score, metric=metric).statistic for score in scores.values()]
    assert_allclose(found.statistic, values, rtol=1e-12)
    errors = [
        metric_interval(y_true, score, metric=metric, method="influence").standard_error
        if metric not in CLOSED[2:]
        else metric_interval(y_true, score, metric=metric).standard_error
        for score in scores.values()
    ]
    assert_allclose(found.statistic_standard_error, errors, rtol=1e-10)
    assert_array_equal(found.pairs, [[0, 1], [0, 2], [1, 2]])
    assert_allclose(found.difference, [values[i] - values[j] for i, j in found.pairs])
    assert np.all((found.low <= found.difference) & (found.difference <= found.high))
    assert np.all(found.pvalue >= found.pvalue_unadjusted)
    assert (found.n_samples, found.n_positives, found.n_queries) == (60, 15, None)
    assert found.metric == metric
    assert found.may_be_best[np.argmax(values)]


# Metrics whose test is that of two rankers; ROC AUC has a test on the logit scale.
AS_OF_TWO = [metric for metric in FAMILIES if not isinstance(metric, RocAuc)]


@pytest.mark.parametrize("metric", AS_OF_TWO, ids=str)
def test_pairs_by_themselves_have_the_t_test_of_two_rankers(metric):
    y_true, scores = sample(1, shifts=(1.6, 0.8, 1.2))
    found = metric_multiple_comparison_test(y_true, scores, metric=metric, correction="none")
    assert_array_equal(found.pvalue, found.pvalue_unadjusted)
    for (a, b), (difference, error, *_, pvalue, _) in as_rows(found).items():
        two = metric_comparison_test(
            y_true, {"a": scores[a], "b": scores[b]}, metric=metric, method="influence"
        )
        assert difference == pytest.approx(two.difference, rel=1e-12)
        assert error == pytest.approx(two.standard_error, rel=1e-9)
        assert pvalue == pytest.approx(two.pvalue, rel=1e-8)


@pytest.mark.parametrize(("metric", "levels"), checkered(FAMILIES, [None, 1]), ids=str)
def test_limits_exclude_zero_if_and_only_if_the_pvalue_is_small(metric, levels, monkeypatch):
    # Both follow from the same directions, however few there are.
    draw_directions(monkeypatch, 100)
    for correction in ("maxt", "none"):
        n_excluded = n_included = 0
        for seed in range(3):
            sizes = {"m": (3, 8, 15)[seed], "shifts": (2.2, 0.4, 1.2, 0.0), "levels": levels}
            for level in (0.5, 0.95):
                found = compare(
                    100 + seed, sizes, metric=metric, correction=correction, confidence_level=level
                )
                excluded = (found.low > 0.0) | (found.high < 0.0)
                assert_array_equal(excluded, found.pvalue <= 1.0 - level)
                assert np.all((found.low <= found.difference) & (found.difference <= found.high))
                n_excluded += excluded.sum()
                n_included += (~excluded).sum()
        assert min(n_excluded, n_included) > 5, correction


@pytest.mark.parametrize("reference", [None, pytest.param("best", marks=pytest.mark.long), "b"])
def test_a_ranker_that_is_significantly_worse_is_not_among_the_best(reference):
    n_worse = 0
    for seed in range(200, 212):
        found = compare(seed, {"n": 120, "shifts": (2.0, 1.6, 1.0, 0.4)}, reference=reference)
        for (i, j), difference, pvalue in zip(
            found.pairs, found.difference, found.pvalue, strict=True
        ):
            if pvalue <= 0.05:
                n_worse += 1
                assert not found.may_be_best[i if difference < 0.0 else j], seed
    assert n_worse > 5


def ellipse(a, b, inverse, deviations, correlation, radius):
    """Least and largest difference over many points of an ellipse."""
    root = np.linalg.cholesky([[1.0, correlation], [correlation, 1.0]])
    angle = np.linspace(0.0, 2.0 * math.pi, 20_001)
    x, y = radius * root @ [np.cos(angle), np.sin(angle)]
    difference = inverse(a + deviations[0] * x) - inverse(b + deviations[1] * y)
    return difference.min(), difference.max()


@pytest.mark.parametrize("seed", range(2))
def test_limits_of_average_precision_are_those_of_the_ellipse(seed):
    y_true, scores = sample(seed, shifts=(1.8, 0.9))
    found = metric_multiple_comparison_test(y_true, scores)
    derivatives = [weight_derivatives(average_precision_score, y_true, s) for s in scores.values()]
    covariance = influence_covariance(np.stack(derivatives), y_true)
    a, b = found.statistic
    slopes = -1.0 / (found.statistic * np.log(found.statistic))
    deviations = np.sqrt(np.diag(covariance)) * slopes
    correlation = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    expected = ellipse(
        *-np.log(-np.log([a, b])),
        lambda u: np.exp(-np.exp(-u)),
        deviations,
        correlation,
        stats.t.isf(0.025, 14),
    )
    assert_allclose([found.low[0], found.high[0]], expected, atol=1e-6)


def larger_variance(area, variance, m, n0):
    """DeLong's variance, or its mean with Newcombe's if that is larger."""
    both = (m + n0) / 2 - 1
    newcombe = area * (1 - area) / (m * n0)
    newcombe *= 1 + both * (1 - area) / (2 - area) + both * area / (1 + area)
    return max(variance, (variance + newcombe) / 2)


@pytest.mark.parametrize("seed", range(5))
def test_areas_are_compared_on_the_logit_scale(seed):
    y_true, scores = sample(seed, shifts=(2.5, 0.9))
    found = metric_multiple_comparison_test(y_true, scores, metric="roc_auc")
    covariance = delong_covariance(y_true, scores.values())
    correlation = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    a, b = found.statistic
    one, other = (
        np.sqrt(larger_variance(v, covariance[i, i], 15, 45)) / (v * (1 - v))
        for i, v in enumerate((a, b))
    )
    error = np.sqrt(one**2 + other**2 - 2 * correlation * one * other)
    t = (np.log(a / (1 - a)) - np.log(b / (1 - b))) / error
    assert_allclose(found.pvalue, 2 * stats.t.sf(abs(t), 14), rtol=1e-9)
    expected = ellipse(
        np.log(a / (1 - a)),
        np.log(b / (1 - b)),
        lambda u: 1 / (1 + np.exp(-u)),
        (one, other),
        correlation,
        stats.t.isf(0.025, 14),
    )
    assert_allclose([found.low[0], found.high[0]], expected, atol=1e-7)


@pytest.mark.parametrize("metric", CLOSED, ids=str)
def test_simultaneous_limits_are_wider_than_those_of_one_pair(metric):
    y_true, scores = sample(3)
    found = metric_multiple_comparison_test(y_true, scores, metric=metric)
    alone = metric_multiple_comparison_test(y_true, scores, metric=metric, correction="none")
    bonferroni = metric_multiple_comparison_test(
        y_true, scores, metric=metric, correction="none", confidence_level=1.0 - 0.05 / 6
    )
    assert np.all((found.low < alone.low) & (alone.high < found.high))
    assert np.all((bonferroni.low - 0.005 < found.low) & (found.high < bonferroni.high + 0.005))


def test_holms_method_by_hand():
    found = compare(4, correction="holm")
    single = found.pvalue_unadjusted.tolist()
    expected, before = [0.0] * 6, 0.0
    for place, index in enumerate(sorted(range(6), key=single.__getitem__)):
        before = max(before, min(1.0, (6 - place) * single[index]))
        expected[index] = before
    assert_allclose(found.pvalue, expected, rtol=1e-12)
    assert len(set(expected)) > 2


@pytest.mark.parametrize("seed", range(3))
def test_pvalues_keep_their_order_and_stay_below_bonferronis(seed):
    found = compare(seed)
    order = np.argsort(found.pvalue_unadjusted)
    assert np.all(np.diff(found.pvalue[order]) >= -NEAR)
    assert np.all(found.pvalue >= found.pvalue_unadjusted)
    assert np.all(found.pvalue <= np.minimum(6 * found.pvalue_unadjusted, 1.0) + NEAR)


def placements(y_true, score):
    """Shares of negatives below each positive, and of positives above each negative."""
    above, below = score[y_true][:, None], score[~y_true][None, :]
    psi = (above > below) + 0.5 * (above == below)
    return psi.mean(axis=1), psi.mean(axis=0)


def delong_covariance(y_true, scores):
    """Covariance matrix of areas under the ROC curve, by DeLong's placements."""
    parts = zip(*(placements(y_true, score) for score in scores), strict=True)
    return sum(np.cov(np.stack(part)) / len(part[0]) for part in parts)


def errors_of_pairs(covariance):
    return [
        math.sqrt(max(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j], 0.0))
        for i, j in itertools.combinations(range(len(covariance)), 2)
    ]


@pytest.mark.parametrize(("y_true", "score"), STRUCTURES)
def test_roc_auc_has_delongs_covariance(y_true, score):
    rng = np.random.default_rng(5)
    noise = rng.normal(size=score.size)
    scores = [score, np.round(score + noise), -score, noise]
    found = metric_multiple_comparison_test(y_true, np.stack(scores, axis=1), metric="roc_auc")
    covariance = delong_covariance(y_true, scores)
    assert_allclose(found.statistic, [roc_auc_score(y_true, s) for s in scores], rtol=1e-12)
    assert_allclose(
        found.statistic_standard_error, np.sqrt(np.diag(covariance)), rtol=1e-9, atol=1e-12
    )
    # Differences of almost equal numbers lose digits.
    assert_allclose(found.standard_error, errors_of_pairs(covariance), rtol=1e-6, atol=1e-7)


def test_delong_of_published_data():
    outcome, wfns, s100b = asah()
    found = metric_multiple_comparison_test(
        outcome, {"wfns": wfns, "s100b": s100b}, metric="roc_auc", pos_label="Poor"
    )
    assert_allclose(found.statistic, [0.823678861788618, 0.731368563685637])
    variances, shared = np.array([0.00146991470882363, 0.00266868245717244]), 0.00119615567376754
    assert_allclose(found.statistic_standard_error**2, variances, rtol=1e-9)
    assert_allclose(found.standard_error**2, variances.sum() - 2 * shared, rtol=1e-9)


def influence_covariance(values, y_true):
    """Covariance matrix of metrics from the derivatives by the weights of items."""
    return sum(own.shape[1] * np.cov(own) for own in (values[:, y_true], values[:, ~y_true]))


@pytest.mark.numeric
@pytest.mark.parametrize(("y_true", "score"), STRUCTURES)
def test_average_precision_has_the_covariance_of_derivatives(y_true, score):
    noise = np.random.default_rng(6).normal(size=score.size)
    scores = [score, np.round(score + noise), noise]
    derivatives = [weight_derivatives(average_precision_score, y_true, s) for s in scores]
    covariance = influence_covariance(np.stack(derivatives), y_true)
    found = metric_multiple_comparison_test(y_true, np.stack(scores, axis=1))
    assert_allclose(found.standard_error, errors_of_pairs(covariance), rtol=1e-5, atol=1e-7)
    values = np.array([average_precision_score(y_true, s) for s in scores])
    if values.max() < 1.0:
        slopes, g = -1.0 / (values * np.log(values)), -np.log(-np.log(values))
        scaled = errors_of_pairs(covariance * np.outer(slopes, slopes))
        t = [(g[i] - g[j]) / e for (i, j), e in zip(found.pairs, scaled, strict=True)]
        single = 2 * stats.t.sf(np.abs(t), y_true.sum() - 1)
        assert_allclose(found.pvalue_unadjusted, single, rtol=1e-4)


def test_hits_at_k_have_the_covariance_of_their_hits():
    y_true, scores = sample(7)
    values = []
    for score in scores.values():
        order = np.argsort(-score)
        share, inside = slope(y_true[order], 9), 1.0 * np.isin(np.arange(60), order[:9])
        values.append(np.where(y_true, inside * (1 - share), -inside * share) / 15)
    covariance = sum(
        own.shape[1] * np.cov(own)
        for own in (np.stack(values)[:, y_true], np.stack(values)[:, ~y_true])
    )
    found = metric_multiple_comparison_test(y_true, scores, metric=RecallAtK(9))
    assert_allclose(found.standard_error, errors_of_pairs(covariance), rtol=1e-9)


# ---------------------------------------------------------------------------------------------
# References
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("correction", ["maxt", "holm", "none"])
def test_a_reference_by_name(correction):
    every = as_rows(compare(9, correction=correction))
    found = compare(9, reference="c", correction=correction)
    assert found.reference == "c"
    rows = as_rows(found)
    assert list(rows) == [("a", "c"), ("b", "c"), ("d", "c")]
    same = [0, 1, 5]
    for pair, row in rows.items():
        expected = every[pair] if pair in every else mirrored(every[pair[::-1]])
        assert_allclose(row[same], expected[same], rtol=1e-12)
        # Fewer pairs than all six, and so narrower simultaneous limits.
        if correction == "none":
            assert_allclose(row[2:4], expected[2:4], rtol=1e-12)
        else:
            assert expected[2] < row[2] < row[3] < expected[3]
    if correction == "holm":
        assert found.pvalue.min() == pytest.approx(3 * found.pvalue_unadjusted.min())


@pytest.mark.parametrize("correction", ["maxt", "holm", "none"])
@pytest.mark.parametrize("shifts", [(1.0, 2.5, 0.3, 1.5), (3.0, 0.1, 0.5), (0.1, 0.5, 3.0)])
def test_the_best_as_reference_agrees_with_all_pairs(correction, shifts):
    sizes = {"shifts": shifts}
    every = as_rows(compare(10, sizes, correction=correction))
    found = compare(10, sizes, correction=correction, reference="best")
    best = found.names[found.statistic.argmax()]
    assert found.reference == best
    rows = as_rows(found)
    assert list(rows) == [(name, best) for name in found.names if name != best]
    for pair, row in rows.items():
        expected = every[pair] if pair in every else mirrored(every[pair[::-1]])
        assert_allclose(row, expected, rtol=1e-12)
        assert row[0] <= 0.0


def test_a_ranker_may_be_called_best():
    y_true, scores = sample(11)
    named = {"best": scores["d"], "a": scores["a"], "b": scores["b"]}
    found = metric_multiple_comparison_test(y_true, named, reference="best")
    assert found.statistic.argmax() != 0
    assert as_rows(found).keys() == {("a", "best"), ("b", "best")}


# ---------------------------------------------------------------------------------------------
# Which may be best
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.05, 0.3, 0.6, 0.95, 0.999])
@pytest.mark.parametrize("seed", range(3))
def test_the_largest_may_always_be_best(seed, level):
    found = compare(seed, {"shifts": (1.0, 1.05, 0.9)}, confidence_level=level)
    largest = found.names[found.statistic.argmax()]
    assert largest in found.best()
    others = np.arange(3) != found.statistic.argmax()
    assert_array_equal(found.may_be_best[others], found.best_pvalue[others] >= 1.0 - level)
    assert found.best_pvalue.argmax() == found.statistic.argmax()


def test_a_clear_best_is_alone():
    found = compare(0, {"n": 300, "m": 60, "shifts": (0.0, 4.0, 0.1)})
    assert found.best() == ["b"]
    assert np.all(found.best_pvalue[[0, 2]] < 1e-6)


# ---------------------------------------------------------------------------------------------
# Structures
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", CLOSED, ids=str)
def test_identical_rankers_do_not_differ_and_change_nothing(metric):
    y_true, scores = sample(12)
    a, b, c = (scores[name] for name in "abc")
    plain = metric_multiple_comparison_test(y_true, {"a": a, "b": b, "c": c}, metric=metric)
    found = metric_multiple_comparison_test(
        y_true, {"a": a, "b": b, "c": c, "again": np.exp(a)}, metric=metric
    )
    rows, before = as_rows(found), as_rows(plain)
    difference, error, low, high, *pvalues = rows["a", "again"]
    assert [difference, error, *pvalues] == [0, 0, 1, 1]
    # MOVER keeps the asymmetry of the single interval.
    assert low <= 0 <= high
    assert low == pytest.approx(-high, abs=1e-12)
    assert high < rows["a", "b"][3] - rows["a", "b"][0]
    for pair, row in before.items():
        assert_allclose(rows[pair][[0, 1, 5]], row[[0, 1, 5]], rtol=1e-12)
        assert_allclose(rows[pair][2:5], row[2:5], atol=NEAR)
    assert_allclose(rows["b", "again"], mirrored(rows["a", "b"]), rtol=1e-7, atol=1e-12)
    assert found.best_pvalue[0] == pytest.approx(found.best_pvalue[3], abs=NEAR)


@pytest.mark.parametrize("metric", CLOSED, ids=str)
@pytest.mark.parametrize("kind", ["perfect", "constant"])
def test_two_rankers_without_error_have_the_interval_of_two(metric, kind):
    y_true, scores = sample(13)
    a, b = scores["a"], scores["b"]
    pair = (a + 100 * y_true, b + 100 * y_true) if kind == "perfect" else (0 * a, 0 * b)
    found = metric_multiple_comparison_test(y_true, np.stack(pair, axis=1), metric=metric)
    two = metric_comparison_test(y_true, np.column_stack(pair), metric=metric, method="influence")
    assert_allclose([found.low[0], found.high[0]], two.confidence_interval(), atol=1e-9)
    assert found.pvalue.tolist() == [two.pvalue] == [1.0]
    assert found.best() == [0, 1]


@pytest.mark.parametrize("metric", [AveragePrecision(), RocAuc()], ids=str)
def test_three_rankers_without_error_have_bonferronis_limits(metric):
    y_true, scores = sample(13)
    perfect = {name: score + 100 * y_true for name, score in scores.items() if name != "d"}
    found = metric_multiple_comparison_test(y_true, perfect, metric=metric)
    two = metric_comparison_test(
        y_true, {"a": perfect["a"], "b": perfect["b"]}, metric=metric, method="influence"
    )
    low, high = two.confidence_interval(1.0 - 0.05 / 3)
    assert low < -0.01
    assert_allclose(found.low, low, rtol=1e-9)
    assert_allclose(found.high, high, rtol=1e-9)


def test_with_a_perfect_ranking_all_are_compared_on_the_original_scale():
    y_true, scores = sample(14)
    scores["perfect"] = scores.pop("d") + 100 * y_true
    found = metric_multiple_comparison_test(y_true, scores)
    assert found.statistic[-1] == 1.0
    t = found.difference / found.standard_error
    assert_allclose(found.pvalue_unadjusted, 2 * stats.t.sf(np.abs(t), 14), rtol=1e-9)
    # Without it they are not.
    del scores["perfect"]
    fewer = metric_multiple_comparison_test(y_true, scores)
    t = fewer.difference / fewer.standard_error
    assert np.all(np.abs(fewer.pvalue_unadjusted - 2 * stats.t.sf(np.abs(t), 14)) > 1e-7)


@pytest.mark.parametrize("metric", CLOSED, ids=str)
@pytest.mark.parametrize("m", [2, 58])
@pytest.mark.parametrize("levels", [None, 1])
def test_limits_hold_the_difference_whatever_the_data(metric, m, levels):
    y_true, scores = sample(15, m=m, levels=levels)
    scores["bottom"] = scores["a"] - 100 * y_true
    scores["flat"] = 0 * scores["b"]
    del scores["c"]
    found = metric_multiple_comparison_test(y_true, scores, metric=metric)
    assert np.all(found.low <= found.difference + 1e-12)
    assert np.all(found.difference <= found.high + 1e-12)
    assert np.all((found.pvalue > 0) & (found.pvalue <= 1))
    assert found.may_be_best[found.statistic.argmax()]


@pytest.mark.parametrize("metric", CLOSED, ids=str)
@pytest.mark.parametrize(
    ("y_true", "options"),
    [
        (np.arange(60) == 5, {}),
        (np.arange(60) != 5, {}),
        (np.arange(60) < 15, {"clusters": np.where(np.arange(60) < 15, 99, np.arange(60))}),
        (np.arange(60) < 15, {"strata": np.where(np.arange(60) == 0, 1, 0)}),
    ],
    ids=["one positive", "one negative", "one cluster", "one in a stratum"],
)
def test_unknown_errors_have_no_information(metric, y_true, options):
    _, scores = sample(17)
    with pytest.warns(UndefinedMetricWarning, match="all p-values are 1"):
        found = metric_multiple_comparison_test(y_true, scores, metric=metric, **options)
    assert np.isnan([*found.standard_error, *found.statistic_standard_error]).all()
    for pvalues in (found.pvalue, found.pvalue_unadjusted, found.best_pvalue):
        assert_array_equal(pvalues, 1.0)
    assert found.best() == list("abcd")
    # The limits are Bonferroni's of those of two rankers.
    for (a, b), row in as_rows(found).items():
        with pytest.warns(UndefinedMetricWarning):
            two = metric_comparison_test(
                y_true,
                {"a": scores[a], "b": scores[b]},
                metric=metric,
                method="influence",
                **options,
            )
        low, high = two.confidence_interval(1.0 - 0.05 / 6)
        expected = [min(low, 0.0), max(high, 0.0)]
        assert_allclose(row[2:4], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("reference", [None, "best", "b"])
def test_one_class_has_no_information(label, reference):
    _, scores = sample(18)
    message = (
        f"^y_true contains only one class, {60 * label} positives among 60 items: a comparison "
        r"is not possible, and all p-values are 1\.$"
    )
    with pytest.warns(UndefinedMetricWarning, match=message):
        found = metric_multiple_comparison_test(
            np.full(60, label), scores, metric="roc_auc", reference=reference
        )
    assert_array_equal(found.pvalue, 1.0)
    assert_array_equal(found.best_pvalue, 1.0)
    assert np.isnan([found.standard_error, found.low, found.high]).all()
    assert found.best() == list("abcd")
    assert isinstance(found.summary(), str)


# ---------------------------------------------------------------------------------------------
# Queries, clusters and strata
# ---------------------------------------------------------------------------------------------


def runs(n_queries=9, size=8, seed=19):
    rng = np.random.default_rng(seed)
    groups = np.repeat([f"q{i}" for i in range(n_queries)], size)
    y_true = np.tile(np.arange(size) < 3, n_queries)
    shifts = {"a": 2.0, "b": 1.0, "c": 0.0}
    scores = {name: rng.normal(size=groups.size) + d * y_true for name, d in shifts.items()}
    return y_true, scores, groups


def by_query(metric, y_true, scores, groups):
    return np.array(
        [
            [metric(y_true[groups == q], score[groups == q]) for score in scores.values()]
            for q in np.unique(groups)
        ]
    )


@pytest.mark.parametrize("name", ["average_precision", "roc_auc", "reciprocal_rank"])
def test_runs_over_queries(name):
    def reciprocal_rank(y_true, score):
        return 1.0 / (1 + np.argmax(y_true[np.argsort(-score)]))

    function = {"average_precision": average_precision_score, "roc_auc": roc_auc_score}
    y_true, scores, groups = runs()
    values = by_query(function.get(name, reciprocal_rank), y_true, scores, groups)
    found = metric_multiple_comparison_test(y_true, scores, metric=name, groups=groups)
    assert (found.n_queries, found.n_samples, found.n_positives) == (9, 72, 27)
    assert_allclose(found.statistic, values.mean(axis=0), rtol=1e-12)
    covariance = np.cov(values, rowvar=False) / 9
    assert_allclose(found.statistic_standard_error, np.sqrt(np.diag(covariance)), rtol=1e-12)
    assert_allclose(found.standard_error, errors_of_pairs(covariance), rtol=1e-10)
    for (i, j), pvalue in zip(found.pairs, found.pvalue_unadjusted, strict=True):
        assert pvalue == pytest.approx(stats.ttest_rel(values[:, i], values[:, j]).pvalue)
    assert "over 9 queries" in found.summary()
    assert found.to_dict()["n_queries"] == 9
    assert "n_queries=9" in repr(found)


def test_equal_runs_over_queries():
    y_true, scores, groups = runs()
    scores["again"] = scores["a"]
    found = metric_multiple_comparison_test(y_true, scores, groups=groups)
    assert_array_equal(as_rows(found)["a", "again"], [0, 0, 0, 0, 1, 1])


@pytest.mark.parametrize("given", ["clusters", "strata", "both"])
@pytest.mark.parametrize("metric", [AveragePrecision(), RecallAtK(8)], ids=str)
def test_clusters_and_strata_have_the_comparison_of_two(given, metric):
    y_true, scores = sample(20)
    rng = np.random.default_rng(20)
    units = {"clusters": rng.permutation(np.arange(60) % 20), "strata": np.arange(60) % 3}
    if given != "both":
        units = {given: units[given]}
    found = metric_multiple_comparison_test(y_true, scores, metric=metric, **units)
    plain = metric_multiple_comparison_test(y_true, scores, metric=metric)
    assert not np.allclose(found.standard_error, plain.standard_error, rtol=1e-3)
    for (a, b), (_, error, *_, pvalue) in as_rows(found).items():
        two = metric_comparison_test(
            y_true, {"a": scores[a], "b": scores[b]}, metric=metric, method="influence", **units
        )
        assert error == pytest.approx(two.standard_error, rel=1e-9)
        assert pvalue == pytest.approx(two.pvalue, rel=1e-8)


@pytest.mark.parametrize("given", ["clusters", "strata"])
def test_clusters_and_strata_by_definition(given):
    y_true, scores = sample(21, n=30, m=12, shifts=(1.6, 0.8))
    codes = np.random.default_rng(21).permutation(
        np.arange(30) % (10 if given == "clusters" else 3)
    )
    values = np.stack([weight_derivatives(roc_auc_score, y_true, s) for s in scores.values()])
    covariance = np.zeros((2, 2))
    totals = np.zeros((2, codes.max() + 1))
    for inside in (y_true, ~y_true):
        if given == "clusters":
            count = np.unique(codes[inside]).size
            own = values[:, inside] - values[:, inside].mean(axis=1, keepdims=True)
            for j in range(codes.max() + 1):
                totals[:, j] += own[:, codes[inside] == j].sum(axis=1) * np.sqrt(
                    count / (count - 1)
                )
        else:
            for j in range(3):
                own = values[:, inside & (codes == j)]
                covariance += own.shape[1] * np.cov(own)
    covariance += totals @ totals.T
    found = metric_multiple_comparison_test(y_true, scores, metric="roc_auc", **{given: codes})
    assert_allclose(found.standard_error, errors_of_pairs(covariance), rtol=1e-6)


# ---------------------------------------------------------------------------------------------
# Data, names and seeds
# ---------------------------------------------------------------------------------------------


def test_labels_and_containers():
    y_true, scores = sample(22)
    plain = metric_multiple_comparison_test(y_true, scores)
    words = np.where(y_true, "hit", "miss")
    assert_same(metric_multiple_comparison_test(words, scores, pos_label="hit"), plain)
    for frame in (pd.DataFrame(scores), pl.DataFrame(scores)):
        assert_same(metric_multiple_comparison_test(y_true.astype(int), frame), plain)
    lists = {name: score.tolist() for name, score in scores.items()}
    assert_same(metric_multiple_comparison_test(y_true.tolist(), lists), plain)
    table = metric_multiple_comparison_test(y_true, np.stack(list(scores.values()), axis=1))
    assert table.names == [0, 1, 2, 3]
    table.names[:] = list("abcd")
    assert_same(table, plain)
    # Only ranks count.
    moved = {name: np.exp(score / 3) for name, score in scores.items()}
    assert_same(metric_multiple_comparison_test(y_true, moved), plain)
    for units in (np.arange(60), pd.Series(np.arange(60)), pl.Series(np.arange(60))):
        assert_same(metric_multiple_comparison_test(y_true, scores, clusters=units), plain)


@pytest.mark.parametrize("reference", [None, "best", ("deep", 3)])
def test_names_of_any_kind(reference):
    y_true, scores = sample(23)
    named = dict(zip([("deep", 3), 7, None, "x<y"], scores.values(), strict=True))
    found = metric_multiple_comparison_test(y_true, named, reference=reference)
    assert found.names == list(named)
    assert set(found.best()) <= set(named)
    frame = found.to_frame()
    assert list(frame.columns) == ["a", "b", *COLUMNS]
    assert frame["a"].tolist()[0] == found.names[found.pairs[0, 0]]
    assert all(str(name) in found.summary() for name in found.best())


@pytest.mark.parametrize("metric", [AveragePrecision(), RecallAtK(8)], ids=str)
def test_the_order_of_rankers_and_of_samples_does_not_matter(metric):
    y_true, scores = sample(24)
    plain = metric_multiple_comparison_test(y_true, scores, metric=metric)
    rows = as_rows(plain)
    order = np.random.default_rng(24).permutation(60)
    other = {name: scores[name][order] for name in "cadb"}
    found = metric_multiple_comparison_test(y_true[order], other, metric=metric)
    for pair, row in as_rows(found).items():
        expected = rows[pair] if pair in rows else mirrored(rows[pair[::-1]])
        assert_allclose(row[[0, 1, 5]], expected[[0, 1, 5]], rtol=1e-9, atol=1e-12)
        assert_allclose(row[2:5], expected[2:5], atol=NEAR)
    places = [found.names.index(name) for name in "abcd"]
    assert_allclose(found.best_pvalue[places], plain.best_pvalue, atol=NEAR)
    assert sorted(found.best()) == plain.best()


def test_seeds():
    def found(seed):
        return compare(25, random_state=seed).pvalue

    assert_array_equal(found(3), found(3))
    assert_array_equal(found(np.random.RandomState(3)), found(np.random.RandomState(3)))
    assert_array_equal(found(np.random.default_rng(3)), found(np.random.default_rng(3)))
    assert np.any(found(3) != found(4))
    assert np.any(found(None) != found(None))
    for seed in (4, None, np.random.default_rng(5)):
        assert_allclose(found(seed), found(3), atol=NEAR)


def test_cut_offs_by_name():
    by_name = compare(26, metric="recall@0.2")
    assert by_name.metric == RecallAtK(12)
    assert_same(by_name, compare(26, metric=RecallAtK(12)))


# ---------------------------------------------------------------------------------------------
# Results
# ---------------------------------------------------------------------------------------------


def test_result():
    found = compare(27, reference="d", correction="holm", confidence_level=0.9)
    frame = found.to_frame()
    assert list(frame.columns) == ["a", "b", *COLUMNS]
    assert_array_equal(frame["low"], found.low)


@pytest.mark.parametrize(
    ("correction", "words"),
    [
        ("maxt", "single-step maxT; the simultaneous limits of these pairs exclude 0"),
        ("holm", "Holm's method; the simultaneous limits, by maxT, may include 0"),
        ("none", "unadjusted; the limits of these pairs, by themselves, exclude 0"),
    ],
)
def test_summary(correction, words):
    found = compare(28, {"n": 200, "m": 50}, correction=correction)
    largest = found.statistic.argmax()
    n_different = sum(pvalue <= 0.05 for pvalue in found.pvalue)
    assert n_different > 0
    assert found.summary() == (
        f"Of 4 rankers {found.names[largest]} had the largest average precision, "
        f"{found.statistic[largest]:.3g}. At 95 % confidence the best is among: "
        f"{', '.join(found.best())} (Hsu's multiple comparisons with the best). "
        f"{n_different} of 6 pairs differed at 0.05 ({words})."
    )


# ---------------------------------------------------------------------------------------------
# Arguments that are wrong
# ---------------------------------------------------------------------------------------------

Y, SCORES = sample()
FOUR = np.arange(60) % 4
WRONG = [
    (SCORES, {"correction": "fdr"}, ValueError, "correction must be .*'none'; got 'fdr'"),
    (
        SCORES,
        {"confidence_level": 1.0},
        ValueError,
        "confidence_level must lie between 0 and 1, .*; got 1.0",
    ),
    (SCORES, {"confidence_level": "high"}, TypeError, "confidence_level must be .*; got 'high'"),
    (SCORES, {"metric": "auc"}, ValueError, "did you mean 'roc_auc'"),
    (SCORES, {"metric": RecallAtK}, TypeError, "metric must be an instance; got the class Recall"),
    (
        SCORES,
        {"metric": "average_precision@100"},
        ValueError,
        "k must be between 1 and n_samples=60; got 100",
    ),
    (SCORES, {"metric": "roc_auc@3"}, ValueError, "roc_auc has no cut-off; pass"),
    (SCORES, {"metric": ReciprocalRank()}, ValueError, "rank of one ranking depends on a single"),
    (
        SCORES,
        {"reference": "z"},
        ValueError,
        "reference='z' is not the name of a ranker: pass 'best' or one of 'a', 'b', 'c', 'd'",
    ),
    (SCORES, {"reference": 0}, ValueError, "reference=0 is not the name of a ranker"),
    ({"a": SCORES["a"]}, {}, ValueError, "There is one ranker, 'a': a comparison needs at least"),
    ({}, {}, ValueError, "y_score contains no ranker; pass the scores of at least one"),
    (
        SCORES["a"],
        {},
        ValueError,
        r"y_score must have one row for each of the 60 items.*reshape",
    ),
    (np.zeros((4, 60)), {}, ValueError, r"got shape \(4, 60\): pass y_score.T"),
    (
        pd.DataFrame(np.zeros((60, 2)), columns=["a", "a"]),
        {},
        ValueError,
        "y_score has several rankers named 'a'; rename them",
    ),
    (
        SCORES | {"b": np.full(60, math.nan)},
        {},
        ValueError,
        "Ranker 'b': .*",
    ),
    (SCORES | {"b": np.zeros(59)}, {}, ValueError, "Ranker 'b': .* must have the same length"),
    (SCORES, {"groups": FOUR, "clusters": FOUR}, ValueError, "clusters cannot be combined with"),
    (SCORES, {"groups": FOUR, "strata": FOUR}, ValueError, "strata cannot be combined with"),
    (SCORES, {"groups": np.zeros(60)}, ValueError, "groups has only 1 query, but .* at least 2"),
    (SCORES, {"clusters": FOUR[:-1]}, ValueError, "clusters must contain the cluster of each of"),
    (SCORES, {"strata": [None] * 60}, ValueError, "strata lacks a stratum in row 0"),
    (SCORES, {"pos_label": 3}, ValueError, "pos_label"),
    (SCORES, {"random_state": "x"}, ValueError, "random_state must be an int, .* got 'x'"),
]


@pytest.mark.parametrize(("scores", "options", "error", "message"), WRONG)
def test_errors(scores, options, error, message):
    with pytest.raises(error, match=message):
        metric_multiple_comparison_test(Y, scores, **options)


def test_a_ranking_or_an_estimator_holds_no_labels():
    with pytest.raises(TypeError, match="y_true is a Ranking, which does not identify the items"):
        metric_multiple_comparison_test(Ranking.from_scores(Y, SCORES["a"]), SCORES)
    with pytest.raises(TypeError, match="labels; got an estimator, LogisticRegression"):
        metric_multiple_comparison_test(LogisticRegression(), SCORES)


# A table of values.


@pytest.mark.parametrize("correction", ["maxt", "holm", "none"])
@pytest.mark.parametrize("container", [dict, pd.DataFrame, pl.DataFrame, np.array])
def test_table_of_values_is_compared_as_values_of_queries(container, correction):
    rng = np.random.default_rng(0)
    y_true, groups = np.tile(np.arange(30) < 6, 12), np.repeat(np.arange(12), 30)
    scores = {name: rng.normal(size=360) + d * y_true for name, d in (("x", 1), ("y", 2), ("z", 2))}
    table = {
        name: [average_precision_score(y_true[groups == g], own[groups == g]) for g in range(12)]
        for name, own in scores.items()
    }
    values = np.stack(list(table.values()), axis=1) if container is np.array else container(table)
    options = {"correction": correction, "random_state": 3}
    result = values_multiple_comparison_test(values, name="average precision", **options)
    expected = metric_multiple_comparison_test(y_true, scores, groups=groups, **options)
    assert result.names == ([0, 1, 2] if container is np.array else ["x", "y", "z"])
    assert (result.n_samples, result.n_positives, result.n_queries) == (None, None, 12)
    for name in ("statistic", "difference", "low", "high", "pvalue", "best_pvalue"):
        assert_allclose(getattr(result, name), getattr(expected, name), rtol=1e-12)
    for name in ("rank_low", "rank_high", "letters", "may_be_best"):
        assert list(getattr(result, name)) == list(getattr(expected, name))
    if container is dict:
        assert result.summary() == expected.summary()
        assert result.leaderboard().summary() == expected.leaderboard().summary()


@pytest.mark.parametrize(
    ("values", "options", "error", "message"),
    [
        (np.zeros(5), {}, ValueError, r"one row for each query and .* got shape \(5,\)"),
        (np.zeros((5, 1)), {}, ValueError, "There is one ranker, 0: a comparison needs"),
        (np.zeros((1, 2)), {}, ValueError, "values has too few rows, 1: a comparison"),
        ({"a": [1, 2], "b": [1, 2, 3]}, {}, ValueError, "values has 2 rows for 'a' and 3 for 'b'"),
        ({"a": [1, None], "b": [1, 2]}, {}, ValueError, "values of 'a' must hold numbers without"),
        ({"a": [1, np.nan], "b": [1, 2]}, {}, ValueError, "got nan at position 1: drop such rows"),
        ({"a": ["x"] * 2, "b": [1, 2]}, {}, TypeError, "values of 'a' must hold real numbers"),
        ({}, {}, ValueError, "values contains no ranker"),
        (np.eye(3), {"name": ""}, TypeError, "name must be a text, such as 'NDCG at 10'; got ''"),
        (np.eye(3), {"reference": "a"}, ValueError, "reference='a' is not the name of a ranker"),
    ],
)
def test_wrong_tables_of_values(values, options, error, message):
    with pytest.raises(error, match=message):
        values_multiple_comparison_test(values, **options)
