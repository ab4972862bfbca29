"""Verdicts on the difference of two rankers, against one-sided tests of scipy."""

import math

import numpy as np
import pytest
from scipy import stats

from sklearn_rankinf import metric_comparison_test

LEVEL = 0.95
MARGINS = [1e-6, 0.01, 0.05, 0.1, 0.2, 0.4, 0.8]


def runs(shift, n_queries=15, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_queries), 12)
    y_true = np.tile(np.arange(12) < 4, n_queries)
    scores = {"new": rng.normal(size=groups.size) + (1.0 + shift) * y_true}
    scores["old"] = rng.normal(size=groups.size) + 1.0 * y_true
    return metric_comparison_test(y_true, scores, groups=groups, metric="roc_auc", n_resamples=99)


def rejected(differences, bound, alternative):
    pvalue = stats.ttest_1samp(differences, bound, alternative=alternative).pvalue
    return bool(pvalue < (1.0 - LEVEL) / 2.0)


@pytest.mark.parametrize("shift", [-1.0, -0.3, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("margin", MARGINS)
def test_verdicts_over_queries_are_one_sided_t_tests(shift, margin):
    result = runs(shift)
    d = result.query_differences
    expected = {
        "not_worse": (rejected(d, -margin, "greater"), rejected(d, -margin, "less")),
        "better": (rejected(d, margin, "greater"), rejected(d, margin, "less")),
        "equivalent": (
            rejected(d, -margin, "greater") and rejected(d, margin, "less"),
            rejected(d, -margin, "less") or rejected(d, margin, "greater"),
        ),
    }
    for require, (is_met, is_not_met) in expected.items():
        found = result.verdict(margin=margin, require=require)
        outcome = "pass" if is_met else "fail" if is_not_met else "inconclusive"
        assert found.outcome == outcome, require
        assert (found.difference, found.unit, found.n_units) == (result.difference, "queries", 15)
        assert (found.n_needed is None) == (outcome != "inconclusive")


def test_every_outcome_occurs():
    found = {
        runs(shift).verdict(margin=margin, require=require).outcome + " " + require
        for shift in (-1.0, 0.0, 1.0)
        for margin in MARGINS
        for require in ("not_worse", "better", "equivalent")
    }
    assert len(found) == 9


@pytest.mark.parametrize("require", ["not_worse", "better", "equivalent"])
@pytest.mark.parametrize("shift", [-0.3, 0.0, 0.3])
def test_needed_units_make_the_interval_end_at_a_bound(require, shift):
    result = runs(shift)
    low, high = result.confidence_interval(LEVEL)
    for margin in MARGINS:
        found = result.verdict(margin=margin, require=require)
        if found.outcome != "inconclusive":
            continue

        def outcome(n_units, margin=margin):
            width = math.sqrt(15 / n_units)
            shorter = [result.difference + (end - result.difference) * width for end in (low, high)]
            lowest = margin if require == "better" else -margin
            highest = margin if require == "equivalent" else math.inf
            if lowest < shorter[0] and shorter[1] < highest:
                return "pass"
            return "fail" if shorter[1] < lowest or shorter[0] > highest else "inconclusive"

        assert outcome(found.n_needed + 1e-6) != "inconclusive"
        assert outcome(found.n_needed - 1.0) == "inconclusive"


def test_the_candidate_is_named():
    result = runs(1.5)
    new, old = (result.verdict(margin=0.01, candidate=name) for name in ("new", "old"))
    assert (new.candidate, new.reference) == (old.reference, old.candidate) == ("new", "old")
    assert (new.difference, new.low, new.high) == (-old.difference, -old.high, -old.low)
    assert (new.outcome, old.outcome) == ("pass", "fail")
    assert new.summary().startswith("Pass: new is not worse than old by 0.01 or more (difference ")
    assert old.summary().startswith("Fail: old is worse than new by 0.01 or more (difference -")


def test_equal_runs_are_not_worse_and_not_better():
    groups = np.arange(40) // 8
    y_true = np.arange(40) % 8 < 3
    score = np.sin(np.arange(40.0))
    result = metric_comparison_test(y_true, {"new": score, "old": 2.0 * score}, groups=groups)
    assert result.verdict(margin=1e-9).outcome == "pass"
    assert result.verdict(margin=1e-9, require="equivalent").outcome == "pass"
    assert result.verdict(require="better").outcome == "fail"


@pytest.mark.parametrize("metric", ["average_precision", "dcg", "recall_at_fpr@0.1"])
@pytest.mark.parametrize("candidate", ["new", "old"])
def test_the_same_list_passes(metric, candidate):
    y_true, score = np.arange(40) < 8, np.sin(np.arange(40.0))
    rankers = {"new": score, "old": 2.0 * score}
    result = metric_comparison_test(y_true, rankers, metric=metric, n_resamples=19)
    found = result.verdict(margin=1e-9, candidate=candidate)
    assert (found.outcome, found.low, found.high) == ("pass", 0.0, 0.0)
    assert "(difference 0, 95 % confidence interval 0 to 0)" in found.summary()
    assert result.verdict(require="better", margin=0.0).outcome == "fail"


def test_without_a_standard_error_no_number_is_needed():
    y_true = np.arange(60) < 1
    a, b = np.sin(np.arange(60.0)), np.cos(np.arange(60.0))
    result = metric_comparison_test(y_true, {"a": a, "b": b}, n_resamples=19)
    assert math.isnan(result.standard_error)
    found = result.verdict(margin=0.1)
    assert (found.outcome, found.n_needed) == ("inconclusive", None)


def test_without_an_interval_nothing_is_concluded():
    y_true = np.arange(40) < 1
    a, b = np.sin(np.arange(40.0)), np.cos(np.arange(40.0))
    with np.errstate(all="ignore"):
        result = metric_comparison_test(y_true, {"a": a, "b": b}, metric="reciprocal_rank")
    found = result.verdict(margin=0.1)
    assert (found.outcome, found.n_needed) == ("inconclusive", None)
    assert found.summary() == (
        "Inconclusive: a may be worse than b by 0.1 or more, or not (difference "
        f"{result.difference:.3g}, no interval)."
    )


def test_positives_are_counted_without_queries():
    rng = np.random.default_rng(1)
    y_true = np.arange(200) < 20
    a, b = (rng.normal(size=200) + y_true for _ in range(2))
    found = metric_comparison_test(y_true, {"a": a, "b": b}, n_resamples=99).verdict(margin=0.01)
    assert (found.outcome, found.unit, found.n_units) == ("inconclusive", "positives", 20)
    assert f"about {found.n_needed} positives instead of 20 would make" in found.summary()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "require='not_worse' needs a margin: pass the smallest difference"),
        ({"require": "equivalent"}, ValueError, "require='equivalent' needs a margin"),
        ({"margin": 0.0}, ValueError, "margin must be finite and larger than 0; got 0.0"),
        ({"margin": -1, "require": "better"}, ValueError, "margin must be finite and larger than"),
        ({"margin": "small"}, TypeError, "margin must be a number; got 'small'"),
        ({"margin": 0.1, "require": "not-worse"}, ValueError, "require must be one of 'not_worse'"),
        ({"margin": 0.1, "candidate": "b"}, ValueError, "candidate must be one of 'new', 'old'"),
        ({"margin": 0.1, "confidence_level": 95}, ValueError, "confidence_level must lie between"),
    ],
)
def test_wrong_arguments(options, error, message):
    with pytest.raises(error, match=message):
        runs(0.0).verdict(**options)
