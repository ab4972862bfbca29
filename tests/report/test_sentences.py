"""Sentences, tables and legends of results: p-values, bounds, and queries without positives."""

import re

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf import (
    NullDistributionDisplay,
    average_precision_test,
    best_candidate_test,
    items_to_examine,
    metric_comparison_test,
    metric_interval,
    metric_test,
    randomization_test,
    rank_significance_report,
    recall_at_k_test,
)
from sklearn_rankinf._results import format_value

RNG = np.random.default_rng(3)
Y = np.arange(400) < 40
NOISE = RNG.normal(size=400)
GOOD = NOISE + 3 * Y
CLUSTERS = np.arange(400) // 4
B99 = {"n_resamples": 99}


@pytest.mark.parametrize(
    "test",
    [
        lambda y_score: average_precision_test(Y, y_score, method="permutation", **B99),
        lambda y_score: average_precision_test(Y, y_score, clusters=CLUSTERS, **B99),
        lambda y_score: metric_comparison_test(Y, {"a": y_score, "b": NOISE[::-1]}, **B99),
        lambda y_score: metric_comparison_test(
            Y, {"a": y_score, "b": NOISE[::-1]}, groups=np.arange(400) % 20, **B99
        ),
        lambda y_score: average_precision_test(
            Y, y_score, groups=np.arange(400) % 4, method="permutation", **B99
        ),
        lambda y_score: best_candidate_test(Y, {"a": y_score, "b": NOISE[::-1]}, **B99),
        lambda y_score: randomization_test(
            Y, y_score > 1.5, NOISE[::-1] > 1.5, method="permutation", **B99
        ),
    ],
)
def test_summaries_state_bounds(test):
    assert "p ≤ 0.0100" in test(GOOD).summary()
    text = test(NOISE).summary()
    assert "p = " in text
    assert "≤" not in text


def test_bounds_and_estimates_are_stated():
    found = average_precision_test(Y, GOOD, method="permutation", **B99)
    assert "p ≤ 0.0100" in found.summary()
    at_40, at_400 = (
        recall_at_k_test(Y, GOOD, k=k, method="permutation", **B99).summary() for k in (40, 400)
    )
    assert "p ≤ 0.0100" in at_40
    assert "p = 1.0000" in at_400


def test_listed_permutations_are_exact():
    y_true, scores = np.arange(50) < 5, -np.arange(50.0)
    found = metric_test(y_true, scores, order=np.arange(50))
    assert found.pvalue == pytest.approx(1 / 50)
    assert "p = 0.0200" in found.summary()
    y_true = np.r_[np.ones(6, dtype=int), np.zeros(2, dtype=int)]
    found = metric_comparison_test(y_true, {"a": -np.arange(8.0), "b": np.arange(8.0)})
    assert "p = " in found.summary()


def test_two_sided_bound():
    found = average_precision_test(Y, GOOD, method="permutation", alternative="two-sided", **B99)
    assert found.n_exceedances == 0
    assert "p ≤ 0.0200" in found.summary()


def test_reports_state_bounds():
    options = {"clusters": CLUSTERS, "k": 40, "n_resamples": 99}
    report = rank_significance_report(Y, {"good": GOOD, "noise": NOISE[::-1]}, **options)
    text = report.to_text()
    conclusion, tables = text.split("\nAverage precision\n")
    assert "p ≤ 0.0100" in conclusion
    assert tables.count("≤ 0.0100 ") >= 2
    assert report.rankers[0].at_k[0].test.pvalue_is_bound
    assert not report.rankers[1].at_k[0].test.pvalue_is_bound
    comparison = tables.split("Difference from the best")[1]
    assert "≤ 0.0100" in comparison.split("Method:")[0]


def test_tables_of_notebooks_do_not_break_numbers():
    perfect = average_precision_test(Y, np.arange(400.0)[::-1])
    html = perfect._repr_html_()
    style = 'style="white-space: nowrap"'
    assert html.count("<td") == html.count(f"<td {style}>") > 0
    assert f"<td {style}>{perfect.pvalue:.4g}</td>" in html
    sentence = f"<p>Average precision was 1 .*<span {style}>p = \\d.\\de-\\d+</span> for"
    assert re.search(sentence, html)
    assert re.sub("<.*?>", "", html).startswith(perfect.summary())


def test_sentences_count_queries_without_positives():
    groups = np.arange(400) // 10
    with pytest.warns(UndefinedMetricWarning):
        test = average_precision_test(Y, GOOD, groups=groups)
    with pytest.warns(UndefinedMetricWarning):
        interval = metric_interval(Y, GOOD, groups=groups)
    start = "Mean average precision over 40 queries (36 without positives count as 0) was "
    assert test.n_queries_without_positives == 36
    for found in (test, test.confidence_interval(), interval):
        assert found.summary().startswith(start)
    with pytest.warns(UndefinedMetricWarning):
        one = average_precision_test(Y[30:50], GOOD[30:50], groups=groups[30:50])
    assert "over 2 queries (1 without positives counts as 0) was" in one.summary()
    full = metric_interval(Y, GOOD, groups=np.arange(400) % 4)
    assert full.summary().startswith("Mean average precision over 4 queries was ")


def test_legends_state_bounds():
    pytest.importorskip("matplotlib")
    found = average_precision_test(Y, GOOD, method="permutation", **B99)
    display = NullDistributionDisplay(found).plot()
    assert display.text_.get_text().endswith(", p ≤ 0.0100")
    several = average_precision_test(
        np.array(["no", "yes", "maybe"])[Y + 2 * (~Y & (NOISE > 1))],
        np.column_stack([NOISE[::-1], NOISE, GOOD]),
        method="permutation",
        **B99,
    )
    NullDistributionDisplay(several).plot()


def test_counts_of_thousands_have_no_exponent():
    y_true = np.arange(4000) < 40
    found = items_to_examine(y_true, np.sin(np.arange(4000.0)), recall=0.5)
    assert found.high >= 1000
    assert f" to {found.high}; region" in found.summary()
    numbers = {999.6: "1000", 999.4: "999", 1234.6: "1235", -2500.0: "-2500", 2e7: "2e+07"}
    assert {value: format_value(value) for value in numbers} == numbers
