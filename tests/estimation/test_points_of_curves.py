"""Intervals and differences of operating points against checked values, all cut-offs and curves."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from sklearn_rankinf import (
    PrecisionAtRecall,
    Ranking,
    RecallAtFpr,
    RecallAtPrecision,
    metric_comparison_test,
    metric_curve,
    metric_interval,
    metric_interval_width,
    metric_multiple_comparison_test,
    rank_significance_report,
)
from sklearn_rankinf._estimation.curve_kinds import correlation_at_point
from sklearn_rankinf._estimation.limits import mover_limits, union_limits
from sklearn_rankinf._estimation.regions import top_of
from sklearn_rankinf._ranking import Sample

HITS = np.bincount([1, 2, 4, 7, 11, 12, 20, 33], minlength=41)[1:]
RANKING = Ranking.from_counts(np.ones(40, dtype=int), HITS)
RNG = np.random.default_rng(2)
Y = np.arange(300) < 40
A = RNG.normal(size=300) + 1.5 * Y
B = 0.6 * A + RNG.normal(size=300) + 0.4 * Y
POINTS = [RecallAtFpr(0.1), PrecisionAtRecall(0.5), RecallAtPrecision(0.4)]
each_point = pytest.mark.parametrize("metric", POINTS, ids=repr)


def test_checked_values():
    found = metric_interval(RANKING, metric=RecallAtFpr(8 / 32))
    assert (found.statistic, found.method) == (0.75, "region")
    assert_allclose([found.low, found.high], [0.141178930570, 0.962170212166], rtol=1e-10)
    found = metric_interval(RANKING, metric=PrecisionAtRecall(0.5))
    # k = 4 to 32 are accepted, and 33 is not.
    assert (found.statistic, found.high) == (4 / 7, 1.0)
    assert 4 / 33 < found.low <= 4 / 32


def structures():
    rng = np.random.default_rng(4)
    for n, m in ((60, 12), (200, 30), (150, 90)):
        positive = np.arange(n) < m
        for shift in (0.0, 1.0, 3.0):
            score = rng.normal(size=n) + shift * positive
            yield from ((positive, score), (positive, score.round()))
            yield positive, np.minimum(score, 1.0)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_are_those_of_the_curves(level):
    for positive, score in itertools.islice(structures(), 3, None, 5):
        n, m = positive.size, int(positive.sum())
        for curve, make, shares in (
            ("roc", RecallAtFpr, np.array([5, 20]) / (n - m)),
            ("precision_recall", PrecisionAtRecall, np.array([3, 9]) / m),
        ):
            whole = metric_curve(positive, score, curve=curve, confidence_level=level)
            for share in shares:
                at = int(np.argmin(np.abs(whole.x - share)))
                assert whole.x[at] == pytest.approx(share)
                options = {"metric": make(share), "confidence_level": level}
                found = metric_interval(positive, score, **options)
                expected = [whole.value[at], whole.low[at], whole.high[at]]
                assert_allclose([found.statistic, found.low, found.high], expected, rtol=1e-9)


@pytest.mark.parametrize("precision", [0.2, 0.5, 0.8])
def test_limits_of_recall_at_a_precision_are_ends_of_accepted_cut_offs(precision):
    n_at_zero = 0
    for positive, score in structures():
        ranking = Ranking.from_scores(positive, score)
        n, m = ranking.n_samples, ranking.n_positives
        found = metric_interval(ranking, metric=RecallAtPrecision(precision))
        if precision <= m / n:
            assert (found.statistic, found.low, found.high) == (1.0, 1.0, 1.0)
            continue
        k = np.arange(2, n - 1)
        low, high = union_limits(top_of(ranking, k), float(stats.t.isf(0.025, m - 1)))
        line = precision * k / m
        accepted = k[(low <= line) & (line <= high)]
        rejected = np.setdiff1d(k, accepted)
        observed = found.statistic * m / precision
        above = rejected[rejected <= observed]
        step = precision / m
        if above.size:
            # Between the last rejected cut-off above and the next, and one rank outwards.
            first = above[-1]
            assert step * (first - 1) - 1e-9 <= found.low <= step * first + 1e-9
        else:
            n_at_zero += 1
            assert found.low == 0.0
            assert found.summary().endswith("do not exclude that this precision is never reached.")
        last = accepted.max(initial=1)
        assert found.high <= min(max(step * (last + 2), found.statistic), 1.0) + 1e-9
        assert found.high >= min(max(step * (last + 1), found.statistic), 1.0) - 1e-9
        assert found.low <= found.statistic <= found.high
    assert n_at_zero or precision == 0.2


@each_point
def test_single_items_of_a_class_say_nothing(metric):
    for hits in ([1, 0, 0, 0], [1, 1, 0, 1]):
        found = metric_interval(Ranking.from_counts([1] * 4, hits), metric=metric)
        own = 1.0 if isinstance(metric, RecallAtPrecision) and sum(hits) == 3 else 0.0
        assert (found.low, found.high) in {(0.0, 1.0), (own, 1.0)}


@each_point
def test_mover_combines_both_intervals(metric):
    scores = {"a": A, "b": B}
    result = metric_comparison_test(Y, scores, metric=metric, n_resamples=99)
    one, other = (metric_interval(Y, score, metric=metric) for score in (A, B))
    sample = Sample.read(Y, scores, columns="rankers")
    values = one.statistic, other.statistic
    correlation = correlation_at_point(metric, values, sample)
    # The scores are correlated, and so are the values.
    assert 0.05 < correlation < 0.9
    limits = [(each.statistic, each.low, each.high) for each in (one, other)]
    assert_allclose(
        result.confidence_interval(0.95), mover_limits(*limits[0], *limits[1], correlation)
    )
    assert result.difference == pytest.approx(values[0] - values[1])
    assert np.isnan(result.standard_error)
    assert result.method == "swap"


def test_correlation_is_that_of_influence_values():
    # Influence by its definition: of the top, with the slope of recall at its end.
    sample = Sample.read(Y, {"a": A, "b": B}, columns="rankers")
    m, n = 40, 300
    metric, own = RecallAtPrecision(0.4), []
    for score in (A, B):
        order = np.argsort(-score)
        k = round(metric(Y, score) * m / 0.4)
        d = min(max(2, round(0.5 * k**0.8)), k - 1, n - k)
        slope = (Y[order][k - d : k + d].sum() + m / n) / (2 * d + 1)
        top = np.isin(np.arange(n), order[:k])
        own.append(np.where(top, np.where(Y, 1 - slope, -slope), 0.0))
    covariance = sum(np.cov(np.array(own)[:, members]) * members.sum() for members in (Y, ~Y))
    expected = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]) * m / (m + 10)
    values = [metric(Y, score) for score in (A, B)]
    assert correlation_at_point(metric, values, sample) == pytest.approx(expected, rel=1e-9)


@each_point
def test_a_ranker_and_itself(metric):
    result = metric_comparison_test(Y, {"a": A, "b": A}, metric=metric, n_resamples=99)
    assert (result.difference, result.pvalue) == (0.0, 1.0)
    low, high = result.confidence_interval(0.95)
    assert low < 0.0 < high


@each_point
def test_what_needs_standard_errors_is_refused(metric):
    scores = {"a": A, "b": B}
    with pytest.raises(ValueError, match=r"method must be one of 'auto', 'swap'.*got 'influence'"):
        metric_comparison_test(Y, scores, metric=metric, method="influence")
    with pytest.raises(ValueError, match=r"near one point, so its standard error is not reliable"):
        metric_multiple_comparison_test(Y, {**scores, "c": -A}, metric=metric)
    with pytest.raises(ValueError, match="needs independent items of equal weight"):
        metric_interval(Y, A, metric=metric, clusters=np.arange(300) // 2 * 2 + Y)
    with pytest.raises(ValueError, match="prevalence is not available"):
        metric_interval(Y, A, metric=metric, prevalence=0.01)
    strata = np.arange(300) % 3
    dependent = metric_comparison_test(Y, scores, metric=metric, strata=strata, n_resamples=99)
    assert np.isnan(dependent.confidence_interval(0.95)).all()


@each_point
def test_means_over_queries(metric):
    groups = np.arange(300) % 4
    values = [metric(Y[groups == query], A[groups == query]) for query in range(4)]
    found = metric_interval(Y, A, metric=metric, groups=groups)
    assert found.statistic == pytest.approx(np.mean(values))
    both = metric_comparison_test(Y, {"a": A, "b": B}, metric=metric, groups=groups)
    assert both.method == "sign_flip"


@each_point
def test_reports_have_intervals(metric):
    report = rank_significance_report(Y, A, metric=metric)
    expected = metric_interval(Y, A, metric=metric)
    found = report.rankers[0].interval
    assert (found.low, found.high) == (expected.low, expected.high)
    assert "cannot be estimated" not in report.to_text()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clustered = rank_significance_report(Y, A, metric=metric, clusters=np.arange(300))
    assert clustered.rankers[0].interval is None


def test_planned_widths():
    for metric in POINTS:
        found = metric_interval_width(200, 30, metric=metric, auc=0.8, n_resamples=20)
        assert 0.05 < found.mean_width < 0.9
        assert np.isnan(found.first_order_standard_error)
