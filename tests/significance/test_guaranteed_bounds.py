"""P-values whose error cannot be stated are guaranteed upper bounds, on the scale of all others."""

import json
import math
import pickle
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV

from sklearn_rankinf import (
    NullDistributionDisplay,
    Ranking,
    RankStatistic,
    ap_null_distribution,
    average_precision_neg_log10_pvalue,
    average_precision_pvalue,
    average_precision_test,
    best_candidate_test,
    cross_val_significance,
    make_significance_scorer,
    metric_null_distribution,
    metric_test,
    rank_significance_report,
)
from sklearn_rankinf.__main__ import main
from sklearn_rankinf._engine.distribution import ComputedDistribution
from sklearn_rankinf._engine.estimates import TailEstimates
from sklearn_rankinf._engine.inversion.band_limited import BandLimitedTails
from sklearn_rankinf._engine.means.distribution import MeanDistribution
from sklearn_rankinf._model_selection.scorers import resolution
from sklearn_rankinf._null.critical_values import critical_region
from sklearn_rankinf._null.distribution import _DISTRIBUTIONS, NullDistribution

N, M = 150, 15
# All positives but the last one at the top, and the last one behind one negative: the second
# largest value.
Y = np.r_[np.ones(M - 1), 0, 1, np.zeros(N - M - 1)].astype(int)
SCORES = -np.arange(float(N))
NOISY = np.random.default_rng(0).normal(size=N) + Y
# Placements that are at least as good: no negative before the last positive, or one.
PVALUE = float(Fraction(2, math.comb(N, M)))
# Every part of the probability that is left out would be below this.
ROUNDING = 1e-9


def unknown(distribution, t, sign, *others, **more):
    return TailEstimates.unknown(t.shape)


@pytest.fixture(autouse=True)
def no_kept_tails(monkeypatch):
    """Tails that other tests computed are not used again."""

    def computed(self, t, sign):
        return self._tail(np.array([t]), sign)

    # Distributions that have kept some already are found again by their arguments.
    _DISTRIBUTIONS.clear()
    monkeypatch.setattr(ComputedDistribution, "_tail_of_one", computed)


def leave_bounds(monkeypatch):
    """No solver of exact distributions answers, and no bounds are close, so that they are left."""
    monkeypatch.setattr(ComputedDistribution, "_far_tail", unknown)
    monkeypatch.setattr(
        TailEstimates, "between", lambda lower, upper, solver: TailEstimates.unknown(lower.shape)
    )


@pytest.fixture
def no_errors(monkeypatch):
    leave_bounds(monkeypatch)


@pytest.fixture
def no_errors_of_means(monkeypatch):
    monkeypatch.setattr(MeanDistribution, "_by_contour", unknown)
    monkeypatch.setattr(MeanDistribution, "_lattice", None)
    monkeypatch.setattr(MeanDistribution, "_lattice_of_span", None)
    monkeypatch.setattr(MeanDistribution, "_sums", None)
    monkeypatch.setattr(BandLimitedTails, "tail", unknown)


def test_the_second_largest_value_by_enumeration():
    """The exact p-value of this module, from placements that scikit-learn scores."""
    n, m = 9, 4
    y_true = np.r_[np.ones(m - 1), 0, 1, np.zeros(n - m - 1)]
    observed = average_precision_score(y_true, -np.arange(n))
    at_least = 0
    for places in combinations(range(n), m):
        labels = np.isin(np.arange(n), places)
        at_least += average_precision_score(labels, -np.arange(n)) >= observed - 1e-12
    assert at_least == 2


def assert_is_bound(result, exact):
    assert result.method == "analytic"
    assert result.pvalue_is_bound is True
    assert result.pvalue_relative_error == math.inf
    assert 0.0 <= result.pvalue_low <= exact * (1.0 + ROUNDING)
    assert exact * (1.0 - ROUNDING) <= result.pvalue == result.pvalue_high < 1.0
    assert result.log10_pvalue == pytest.approx(math.log10(result.pvalue), rel=1e-12)
    for level in (0.5, 0.95):
        assert result.pvalue_interval(level) == (result.pvalue_low, result.pvalue_high)


@pytest.mark.parametrize("method", ["auto", "analytic"])
def test_a_test_returns_the_bound_on_the_same_scale(method, no_errors):
    result = average_precision_test(Y, SCORES, method=method, n_resamples=9)
    assert_is_bound(result, PVALUE)
    assert result.null_distribution.method == "analytic"
    assert result.n_resamples is None
    low, high = result.null_distribution.pvalue_bounds(result.statistic)
    assert result.pvalue_low == min(low, result.pvalue)
    assert result.pvalue <= high * (1.0 + ROUNDING)
    assert result.null_distribution.solver(result.statistic) == "upper bound"
    assert "pvalue_is_bound=True" in repr(result)
    again = pickle.loads(pickle.dumps(result))
    assert_is_bound(again, PVALUE)


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_bounds_of_all_alternatives(alternative, monkeypatch):
    y_true = np.random.default_rng(1).permutation(Y)
    exact = average_precision_test(y_true, SCORES, alternative=alternative)
    assert not exact.pvalue_is_bound
    assert exact.pvalue_relative_error < 1e-6
    with monkeypatch.context() as patched:
        leave_bounds(patched)
        bound = average_precision_test(y_true, SCORES, alternative=alternative)
    assert bound.pvalue_is_bound is True
    assert bound.pvalue_low <= exact.pvalue <= bound.pvalue == bound.pvalue_high


def test_exact_results_are_not_bounds():
    result = average_precision_test(Y, SCORES)
    assert result.pvalue_is_bound is False
    assert result.pvalue == pytest.approx(PVALUE, rel=1e-9, abs=0.0)
    assert result.pvalue_low <= PVALUE * (1.0 + 1e-12)
    assert PVALUE * (1.0 - 1e-12) <= result.pvalue_high
    assert (result.pvalue_low, result.pvalue_high) == result.pvalue_interval()
    assert "exact test" in result.summary()
    assert "bound" not in repr(result)
    normal = average_precision_test(Y, SCORES, method="normal")
    assert (normal.pvalue_low, normal.pvalue_high) == (0.0, 1.0)
    assert normal.pvalue_is_bound is False


def test_bounds_of_permutation_are_those_of_its_interval():
    for scores, is_bound in ((SCORES, True), (np.random.default_rng(0).normal(size=N), False)):
        result = average_precision_test(Y, scores, method="permutation", n_resamples=99)
        assert result.pvalue_is_bound is is_bound is (result.n_exceedances == 0)
        assert (result.pvalue_low, result.pvalue_high) == result.pvalue_interval(0.95)
        assert result.pvalue_interval(0.5)[1] < result.pvalue_high
        assert "guaranteed" not in result.summary()


def test_sentences_do_not_call_a_bound_exact(no_errors):
    result = average_precision_test(Y, SCORES)
    low, high = (f"{limit:.1e}" for limit in result.pvalue_interval())
    text = result.summary()
    assert f"p ≤ {high}, a guaranteed bound, for better than chance" in text
    source = "(upper bound from the exact null distribution"
    assert f"{source}, lower bound {low}, one-sided; 15 positives" in text
    assert "exact test" not in text
    assert "p =" not in text
    without = replace(result, pvalue_low=0.0)
    assert f"{source}, one-sided; 15 positives" in without.summary()


def test_several_classes(no_errors):
    y_true = np.r_[Y, np.full(20, 2)]
    scores = np.column_stack([np.arange(N + 20.0), -np.arange(N + 20.0), np.ones(N + 20)])
    results = average_precision_test(y_true, scores).values()
    assert [result.pvalue_is_bound for result in results] == [True, True, False]
    is_stated = ["a guaranteed bound" in result.summary() for result in results]
    assert is_stated == [True, True, False]


def test_scores_return_the_bound(no_errors):
    result = average_precision_test(Y, SCORES)
    assert average_precision_pvalue(Y, SCORES) == result.pvalue
    assert average_precision_neg_log10_pvalue(Y, SCORES) == -result.log10_pvalue


class GivenScores(ClassifierMixin, BaseEstimator):
    """Return the only feature as the score."""

    def __init__(self, sign=1.0):
        self.sign = sign

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return self.sign * np.asarray(X)[:, 0]


def scored(scorer, y_true=Y, y_score=SCORES):
    return scorer(GivenScores().fit(None, y_true), y_score[:, None], y_true)


def test_scorers_stay_on_one_scale(no_errors):
    result = average_precision_test(Y, SCORES)
    assert scored(make_significance_scorer(n_resamples=9)) == -result.log10_pvalue
    assert scored(make_significance_scorer(output="pvalue", n_resamples=9)) == result.pvalue
    outputs = make_significance_scorer(output="all", n_resamples=9)
    assert scored(outputs["neg_log10_pvalue"]) == -result.log10_pvalue
    # Far beyond the -log10 p of any number of random labellings.
    assert -result.log10_pvalue > 15.0


def test_a_bound_keeps_the_order_of_candidates(monkeypatch):
    scorer = make_significance_scorer()
    exact = scored(scorer, y_score=NOISY)
    leave_bounds(monkeypatch)
    # The better ranking has a bound, the worse one its exact p-value or a bound.
    assert scored(scorer) > 15.0 > exact * 1.01 > scored(scorer, y_score=NOISY) > 2.0


@pytest.mark.parametrize(
    "failure", [OverflowError("too large"), ValueError("takes too long"), MemoryError("1 TB")]
)
@pytest.mark.parametrize("output", ["neg_log10_pvalue", "pvalue"])
def test_errors_of_the_computation_surface(output, failure, monkeypatch):
    def fail(null, t, alternative):
        raise failure

    monkeypatch.setattr(NullDistribution, "_significance", fail)
    with pytest.raises(type(failure), match=str(failure)):
        scored(make_significance_scorer(output=output))
    with pytest.raises(type(failure), match=str(failure)):
        average_precision_test(Y, SCORES)


def test_a_search_marks_folds_that_fail(monkeypatch):
    def fail(null, t, alternative):
        raise ValueError("takes too long to compute")

    monkeypatch.setattr(NullDistribution, "_significance", fail)
    search = GridSearchCV(
        GivenScores(), {"sign": [1.0]}, scoring=make_significance_scorer(), cv=2, refit=False
    )
    with pytest.warns(UserWarning, match="takes too long to compute"):
        search.fit(SCORES[:, None], Y)
    assert np.isnan(search.cv_results_["mean_test_score"]).all()


def test_resolution_of_scorers():
    # Plus or minus 11 % of p at 1e-36.
    assert resolution(-36.0) == pytest.approx(0.046)
    assert 10.0 ** resolution(-36.0) == pytest.approx(1.11, abs=0.005)
    assert resolution(0.0) == 0.01


@pytest.mark.parametrize("level", [0.05, 1e-4])
def test_critical_values_keep_the_level(level, monkeypatch):
    exact = critical_region(ap_null_distribution(100, 10), level)
    leave_bounds(monkeypatch)
    bounded = critical_region(ap_null_distribution(100, 10), level)
    assert bounded.critical_value >= exact.critical_value
    assert bounded.level <= level
    monkeypatch.undo()
    assert ap_null_distribution(100, 10).pvalue(bounded.critical_value) <= bounded.level


def test_close_bounds_are_an_answer_with_an_error(monkeypatch):
    exact = average_precision_test(Y, NOISY).pvalue
    monkeypatch.setattr(ComputedDistribution, "_far_tail", unknown)
    result = average_precision_test(Y, NOISY)
    assert result.pvalue_is_bound is False
    assert 0.0 < result.pvalue_relative_error < 0.1
    assert abs(result.pvalue / exact - 1.0) <= result.pvalue_relative_error


def test_unadjusted_pvalues_of_candidates(no_errors):
    noise = np.random.default_rng(0).normal(size=N)
    found = best_candidate_test(Y, {"good": SCORES, "equal": np.ones(N), "noise": noise})
    assert found.pvalue_unadjusted_is_bound.tolist() == [True, False, True]
    assert found.pvalue_unadjusted[0] == average_precision_test(Y, SCORES).pvalue
    assert found.to_dict()["pvalue_unadjusted_is_bound"] == [True, False, True]


# Queries and folds.


QUERIES, PER_QUERY = 8, 5
RUN = [Ranking.from_counts([1] * 60, [1] * PER_QUERY + [0] * 55) for _ in range(QUERIES)]
RUN[0] = Ranking.from_counts([1] * 60, [1] * (PER_QUERY - 1) + [0, 1] + [0] * 54)
# Perfect rankings, and one query with its last positive behind one negative.
PVALUE_OF_RUN = float(Fraction(1 + QUERIES, math.comb(60, PER_QUERY) ** QUERIES))


def test_means_over_queries(no_errors_of_means):
    result = average_precision_test(RUN, n_resamples=9)
    assert_is_bound(result, PVALUE_OF_RUN)
    assert f"p ≤ {result.pvalue:.1e}, a guaranteed bound, for" in result.summary()
    assert "exact test" not in result.summary()
    # The null distributions of the queries have stated errors.
    assert result.query_pvalue_is_bound.tolist() == [False] * QUERIES
    expected = np.full(QUERIES, 1.0 / math.comb(60, PER_QUERY))
    expected[0] *= 2.0
    assert_allclose(result.query_pvalue, expected, rtol=1e-12)
    assert np.all(result.query_pvalue_low <= result.query_pvalue)
    assert np.all(result.query_pvalue_high >= result.query_pvalue)


def test_complements_of_means_without_a_known_error_are_bounds(monkeypatch):
    """Below the mean an upper bound of the other tail may leave an error above 10 %."""
    x = ap_null_distribution(60, 5).mean() * 0.8
    exact = metric_null_distribution([60] * QUERIES, [PER_QUERY] * QUERIES)
    half = exact.pvalue(x)
    assert 0.8 < half < 1.0

    def rough(distribution, t, sign):
        return TailEstimates.of(np.full(t.shape, math.log(0.6)), "contour", truncation=0.09)

    monkeypatch.setattr(MeanDistribution, "_far_tail", rough)
    null = metric_null_distribution([60] * QUERIES, [PER_QUERY] * QUERIES)
    assert null.relative_error(x) == math.inf
    assert null.pvalue(x) >= half


@pytest.mark.parametrize("is_bound", [True, False])
def test_queries(is_bound, monkeypatch):
    run = {"good": Ranking.from_scores(Y, SCORES), "equal": Ranking.from_scores(Y, np.ones(N))}
    if is_bound:
        leave_bounds(monkeypatch)
    result = average_precision_test(run)
    assert result.query_pvalue_is_bound.tolist() == [is_bound, False]
    one = average_precision_test(run["good"])
    assert result.query_pvalue[0] == one.pvalue
    if not is_bound:
        # The query of equal scores adds a constant to the mean.
        assert result.pvalue_low <= PVALUE <= result.pvalue_high * (1.0 + ROUNDING)
        assert result.log10_pvalue == pytest.approx(math.log10(PVALUE), abs=1e-4)
    assert (result.query_pvalue_low[0], result.query_pvalue_high[0]) == one.pvalue_interval()
    columns = result.to_frame().to_dict("list")
    assert columns["pvalue_is_bound"] == [is_bound, False]
    assert columns["pvalue_high"][0] == result.query_pvalue_high[0]


@pytest.mark.parametrize("clusters", [None, np.tile(np.arange(100), 2)])
@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
def test_queries_by_permutation(clusters, alternative):
    y_true, groups = np.tile(Y[5:105], 2), np.repeat(["a", "b"], 100)
    y_score = np.r_[SCORES[:100], np.random.default_rng(0).normal(size=100)]
    result = average_precision_test(
        y_true,
        y_score,
        groups=groups,
        clusters=clusters,
        alternative=alternative,
        method="permutation",
        n_resamples=99,
    )
    assert result.query_pvalue_is_bound.tolist() == [True, False]
    assert result.query_pvalue_low[0] == 0.0
    assert 0.0 < result.query_pvalue_low[1] < result.query_pvalue[1] < result.query_pvalue_high[1]
    # Clopper and Pearson's limit after 99 labellings without an exceedance.
    sides = 2.0 if alternative == "two-sided" else 1.0
    expected = sides * (1.0 - 0.025 ** (1.0 / 99.0))
    assert result.query_pvalue_high[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("combine", ["bonferroni", "twice_mean", "cauchy", "fisher"])
def test_folds(combine, monkeypatch):
    rng = np.random.default_rng(0)
    y_true = np.arange(900) % 15 == 0
    X = (rng.normal(size=900) + 2.0 * y_true)[:, None]
    model = FrozenEstimator(LogisticRegression().fit(X, y_true))
    exact = cross_val_significance(model, X, y_true, cv=3, method=combine)
    assert not exact.pvalue_is_bound
    assert exact.pvalue_low <= exact.pvalue <= exact.pvalue_high
    assert exact.pvalue_high < 1.01 * exact.pvalue_low
    leave_bounds(monkeypatch)
    found = cross_val_significance(model, X, y_true, cv=3, method=combine)
    assert found.pvalue_is_bound is True
    assert all(test.pvalue_is_bound for test in found.fold_tests)
    assert found.pvalue_low <= exact.pvalue <= found.pvalue == found.pvalue_high
    assert found.to_frame()["pvalue_is_bound"].tolist() == [True] * 3
    if combine == "bonferroni":
        assert found.pvalue == pytest.approx(3.0 * found.fold_pvalues.min())
        assert found.pvalue_low == pytest.approx(
            3.0 * min(test.pvalue_low for test in found.fold_tests)
        )


def test_means_over_folds(no_errors_of_means):
    rng = np.random.default_rng(0)
    y_true = np.arange(600) % 10 == 0
    X = (rng.normal(size=600) + 2.0 * y_true)[:, None]
    model = FrozenEstimator(LogisticRegression().fit(X, y_true))
    found = cross_val_significance(model, X, y_true, cv=3, method="convolution")
    assert found.pvalue_is_bound is True
    assert found.pvalue_low <= found.pvalue == found.pvalue_high
    assert found.null_distribution.method == "analytic"


# Reports and pictures.


def test_reports(no_errors):
    pytest.importorskip("pandas")
    noise = np.random.default_rng(0).normal(size=N)
    report = rank_significance_report(Y, {"good": SCORES, "noise": noise}, n_resamples=99)
    test = average_precision_test(Y, SCORES)
    good, other = (ranker.test for ranker in report.rankers)
    assert good.to_dict() == test.to_dict()
    assert good.pvalue_is_bound
    assert other.pvalue <= 1.0
    text = " ".join(report.to_text().split())
    assert f"p ≤ {test.pvalue:.1e}, a guaranteed bound." in text
    assert f"p ≤ {test.pvalue:.1e}, a guaranteed bound, for better than chance" in text
    assert f"≤ {test.pvalue:.1e} bound" in text
    assert "≤ with the error bound: a guaranteed upper bound of the exact p." in text
    assert "Average precision was" in text
    assert "exact test" not in text
    row = report.to_dict()["rankers"][0]["test"]
    assert row["pvalue_is_bound"] is True
    assert (row["pvalue_low"], row["pvalue_high"]) == test.pvalue_interval()
    frame = report.to_frame()
    assert frame["pvalue_is_bound"].tolist()[0]


def test_reports_of_reversed_scores(no_errors):
    report = rank_significance_report(np.roll(Y[:60][::-1], -3), SCORES[:60])
    assert report.rankers[0].pvalue_less < 1e-6
    pattern = r"is worse than chance: .*, p ≤ \d\.\de-\d+ for a value this low"
    assert re.search(pattern, " ".join(report.to_text().split()))


def test_other_metrics_of_reports(no_errors):
    report = rank_significance_report(Y, SCORES, k=[10], metric="bedroc")
    found = report.rankers[0].test
    test = metric_test(Y, SCORES, metric="bedroc")
    assert found.pvalue_is_bound is test.pvalue_is_bound is True
    assert (found.pvalue, found.pvalue_low) == (test.pvalue, test.pvalue_low)
    table = report.to_text().split("\nBEDROC\n")[1]
    assert f"≤ {test.pvalue:.1e}" in table


def test_the_command_line(no_errors, tmp_path, capsys):
    path = tmp_path / "scores.csv"
    rows = [f"{label},{score}" for label, score in zip(Y, SCORES, strict=True)]
    path.write_text("\n".join(["label,score", *rows]), encoding="utf-8")
    arguments = ["report", str(path), "--label", "label", "--score", "score"]
    main([*arguments, "--json"])
    found = json.loads(capsys.readouterr().out)["rankers"][0]["test"]
    assert found["pvalue_is_bound"] is True
    assert found["pvalue_relative_error"] is None
    assert found["pvalue_low"] <= PVALUE * (1.0 + ROUNDING) <= found["pvalue_high"] * 2.0
    main(arguments)
    assert ", a guaranteed bound" in " ".join(capsys.readouterr().out.split())


def test_legends(no_errors):
    pytest.importorskip("matplotlib")
    # A short list: the picture shows bounds at many values.
    result = average_precision_test(Ranking.from_counts([1] * 60, [1] * 7 + [0, 1] + [0] * 51))
    display = NullDistributionDisplay(result).plot()
    assert display.text_.get_text().endswith(f", p ≤ {result.pvalue:.1e}")


# A ranking that is better than every random labelling that can be drawn, in 101 levels.


def test_a_good_ranker_with_few_levels_scores_more_than_a_poor_one():
    y_true = np.arange(10_000) < 100
    noise = np.random.default_rng(1).normal(size=10_000)
    levels = (noise * 0.1 + 0.1 + 0.2 * y_true).clip(0.0, 1.0).round(2)
    result = average_precision_test(y_true, levels)
    assert result.method == "analytic"
    # Band-limited bounds of log10 p, from a separate program: -35.5661 and -35.5122.
    assert result.pvalue_low < 10.0**-35.5122
    assert 10.0**-35.5661 < result.pvalue_high < 1e-35
    poor = noise + 1.5 * y_true
    good, worse = (scored(make_significance_scorer(), y_true, values) for values in (levels, poor))
    assert average_precision_score(y_true, poor) < average_precision_score(y_true, levels)
    assert 35.2 < good < 35.5661 + resolution(-36.0)
    assert 4.0 < worse < good


@dataclass(frozen=True)
class HalvedWeights(RankStatistic):
    """Weights of powers of two: the value says which ranks hold hits."""

    def weights(self, ranks, n_samples, n_positives):
        """A half to the power of the rank."""
        return 0.5 ** (ranks - 1.0)


@pytest.mark.parametrize("n_sure", [10, 21, 40])
def test_bounds_near_the_maximum_of_steep_weights(n_sure):
    # The value is reached if the first ranks hold hits, since later misses weigh less than the last
    # of them together.
    null = metric_null_distribution(201, 181, metric=HalvedWeights())
    expected = math.comb(201 - n_sure, 20) / math.comb(201, 20)
    low, high = null.pvalue_bounds(2.0 - 0.5 ** (n_sure - 1), "greater")
    assert low <= expected * (1.0 + 1e-12)
    assert expected <= high * (1.0 + 1e-12)
