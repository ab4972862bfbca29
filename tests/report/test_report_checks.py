"""The checks of a report: each fires on data made for it, and is described in the documentation."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sklearn_rankinf import RocAuc, average_precision_test, rank_significance_report
from sklearn_rankinf._report.checks import CHECKS, DOCUMENTATION

RNG = np.random.default_rng(20261123)
N, M = 300, 24
Y = np.zeros(N, dtype=int)
Y[RNG.choice(N, M, replace=False)] = 1
NOISE = RNG.normal(size=N)
GOOD = NOISE + 1.2 * Y
CLUSTERS = np.arange(N) // 3
Y_OF_CLUSTERS = (CLUSTERS % 4 == 0).astype(int)
RARE_CLUSTERS = (CLUSTERS % 6 == 0).astype(int)
SCORE_OF_CLUSTERS = NOISE + 0.5 * Y_OF_CLUSTERS
FEW = np.r_[np.ones(4, dtype=int), np.zeros(96, dtype=int)]
SMALL = np.r_[1, np.zeros(9, dtype=int)]
FAR = np.r_[np.ones(10, dtype=int), np.zeros(1990, dtype=int)]

# A report of these finds nothing.
CLEAN = {
    "one ranking": ((Y, GOOD), {}),
    "two rankings": ((Y, {"good": GOOD, "other": GOOD + 0.3 * RNG.normal(size=N)}), {}),
    "three rankings": ((Y, np.column_stack([GOOD, NOISE, 2.0 * GOOD + NOISE])), {}),
    "strings": ((np.where(Y == 1, "hit", "miss"), GOOD), {"pos_label": "hit"}),
    "labels -1 and 1": ((2 * Y - 1, GOOD), {}),
    "clusters": ((RARE_CLUSTERS, NOISE + 0.7 * RARE_CLUSTERS), {"clusters": CLUSTERS}),
    "a series": ((pd.Series(Y), pd.Series(GOOD, name="good")), {}),
    "ROC AUC": ((Y, GOOD), {"metric": "roc_auc"}),
}


def noise_of(y_true, seed):
    return np.random.default_rng(seed).normal(size=len(y_true))


# A case for each check, and its expected text.
CASES = {
    "one-label": ((np.zeros(50, dtype=int), NOISE[:50]), {"k": 5}, "All 50 items are negative"),
    "labels-1-2": ((2 - Y, GOOD), {}, "labels are 1 and 2, and 1 was used"),
    "positives-in-majority": ((1 - Y, -GOOD), {}, "276 of 300"),
    "enriched-sample": (
        (Y_OF_CLUSTERS, SCORE_OF_CLUSTERS),
        {},
        r"^25 % of the items are positive: the sample may have been enriched\.$",
    ),
    "too-few-to-be-significant": (
        (SMALL, noise_of(SMALL, 0)),
        {"k": 5},
        "only 10 ways .* p = 0.1,",
    ),
    "few-positives": ((FEW, noise_of(FEW, 1)), {}, "only 4 positives"),
    "few-negatives": ((1 - FEW, noise_of(FEW, 1)), {}, "only 4 negatives"),
    "mixed-clusters": (
        (Y, GOOD),
        {"clusters": np.char.add("S", CLUSTERS.astype(str))},
        rf"different labels in {np.unique(CLUSTERS[Y == 1]).size} of 100 clusters, such as 'S\d+'",
    ),
    "clusters-not-given": ((pd.Series(Y, index=CLUSTERS), GOOD), {}, "index of y_true"),
    "constant-score": ((Y, np.zeros(N)), {}, "All scores are equal"),
    "two-valued-score": ((Y, (GOOD > 1).astype(int)), {}, "only two different values"),
    "large-tie": ((Y, np.maximum(GOOD, 0.7)), {"k": 5}, "of 300 items have the same score"),
    "ties-across-k": ((Y, np.round(GOOD)), {"k": [10, 50]}, "contains the cut-off k = 10 and 50"),
    "worse-than-chance": ((Y, -GOOD), {}, "worse than chance"),
    "perfect-ranking": ((Y, 9 * Y + NOISE), {}, "Every positive is above every negative"),
    "repeated-items": (
        (Y_OF_CLUSTERS, SCORE_OF_CLUSTERS[::3][CLUSTERS]),
        {"k": 6},
        "Each of the 100 different scores",
    ),
    "few-labellings": (
        (Y_OF_CLUSTERS[:15], SCORE_OF_CLUSTERS[:15]),
        {"clusters": CLUSTERS[:15], "k": 5},
        "leave 10 different labellings",
    ),
    "k-never-significant": ((FEW, noise_of(FEW, 1)), {"k": [1, 5, 100]}, "hits at k = 100 could"),
    "pvalue-at-floor": (
        (Y_OF_CLUSTERS, SCORE_OF_CLUSTERS + Y_OF_CLUSTERS),
        {"clusters": CLUSTERS, "n_resamples": 99},
        "None of 99 random labellings .* 1/100",
    ),
    "pvalue-uncertain": (
        (Y_OF_CLUSTERS, NOISE + 0.16 * Y_OF_CLUSTERS),
        {"clusters": CLUSTERS, "n_resamples": 19},
        "on both sides of 0.05",
    ),
    "interval-unreliable": ((FAR, noise_of(FAR, 2) + FAR), {}, "10 positives among 2000 items"),
    "best-of-several": (
        (Y, {"a": NOISE + 0.5 * Y, "b": noise_of(Y, 0), "c": noise_of(Y, 1)}),
        {},
        "multiplied by 3,",
    ),
    "identical-rankings": ((Y, {"a": GOOD, "b": NOISE, "c": GOOD}), {}, "same scores: a and c"),
    "complementary-scores": (
        (Y, np.column_stack([1 - 1 / (1 + np.exp(-GOOD)), 1 / (1 + np.exp(-GOOD))])),
        {},
        "add up to 1",
    ),
}


def codes_of(arguments, options):
    report = rank_significance_report(*arguments, **{"k": (10, 50), **options})
    return [check.code for check in report.checks], report


def test_every_check_has_a_case_and_a_separate_code():
    codes = [check.code for check in CHECKS]
    assert len(set(codes)) == len(codes)
    assert set(codes) == set(CASES)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code) for code in codes)


@pytest.mark.parametrize("name", CLEAN)
def test_no_check_fires_on_clean_data(name):
    codes, report = codes_of(*CLEAN[name])
    assert codes == []
    assert "No problems were found" in report.to_text()


@pytest.mark.parametrize("code", CASES)
def test_a_check_fires_on_data_made_for_it(code):
    arguments, options, message = CASES[code]
    codes, report = codes_of(arguments, options)
    assert code in codes
    found = report.checks[codes.index(code)]
    assert re.search(message, found.message)
    assert found.message.endswith(".")
    assert found.remedy.endswith(".")
    assert found.url == f"{DOCUMENTATION}report.html#{code}"
    assert f"{code}" in report.to_text().split("\nChecks\n")[1]


def test_the_documentation_describes_every_check():
    page = (Path(__file__).parents[2] / "doc" / "report.rst").read_text(encoding="utf-8")
    checks = page.split("\nChecks\n------\n")[1]
    titles = re.findall(r"^([a-z0-9-]+)\n(\^+)$", checks, flags=re.MULTILINE)
    # In the order of the report, so that whoever adds one finds its place.
    assert [title for title, _ in titles] == [check.code for check in CHECKS]
    assert all(len(title) == len(line) for title, line in titles)


# Where checks begin and end.


def test_the_best_of_several_is_judged_by_bonferroni():
    scores = {"a": NOISE + 0.5 * Y, "b": noise_of(Y, 0), "c": noise_of(Y, 1)}
    pvalue = min(average_precision_test(Y, column).pvalue for column in scores.values())
    for alpha, fires in ((0.99 * pvalue, False), (pvalue, True), (3.01 * pvalue, False)):
        codes, _ = codes_of((Y, scores), {"alpha": alpha})
        assert ("best-of-several" in codes) == fires


@pytest.mark.parametrize(("m", "fires"), [(9, True), (10, False)])
def test_few_positives_are_fewer_than_ten(m, fires):
    y_true = np.r_[np.ones(m, dtype=int), np.zeros(100 - m, dtype=int)]
    codes, _ = codes_of((y_true, noise_of(y_true, 3)), {"k": 20})
    assert ("few-positives" in codes) == fires


@pytest.mark.parametrize(("m", "fires"), [(40, False), (41, True)])
def test_a_sample_of_more_than_a_fifth_positives_may_be_enriched(m, fires):
    y_true = np.arange(200) < m
    codes, _ = codes_of((y_true, noise_of(y_true, 3) + y_true), {})
    assert ("enriched-sample" in codes) == fires


@pytest.mark.parametrize(("n", "fires"), [(19, True), (20, False)])
def test_smallest_possible_pvalue_is_compared_with_alpha(n, fires):
    # One positive among n: a perfect ranking has p = 1/n, which is .05 at 20.
    y_true = np.r_[1, np.zeros(n - 1, dtype=int)]
    codes, _ = codes_of((y_true, noise_of(y_true, 3)), {"k": 5})
    assert ("too-few-to-be-significant" in codes) == fires


def test_perfect_rankings_with_ties_of_positives():
    codes, _ = codes_of((Y, Y * 5.0 + (1 - Y) * NOISE), {})
    assert "perfect-ranking" in codes
    # A positive that is level with a negative is not above it.
    scores = Y * 5.0 + (1 - Y) * NOISE
    scores[np.flatnonzero(Y == 0)[0]] = 5.0
    codes, _ = codes_of((Y, scores), {})
    assert "perfect-ranking" not in codes


def test_one_mixed_score_shows_that_samples_are_no_copies():
    scores = SCORE_OF_CLUSTERS[::3][CLUSTERS]
    y_true = Y_OF_CLUSTERS.copy()
    y_true[0] = 0
    codes, _ = codes_of((y_true, scores), {"k": 6})
    assert "repeated-items" not in codes


def test_interval_of_a_single_positive_is_unreliable_by_any_metric():
    for metric in ("average_precision", RocAuc()):
        _, report = codes_of((SMALL, noise_of(SMALL, 0)), {"k": 5, "metric": metric})
        (found,) = [check for check in report.checks if check.code == "interval-unreliable"]
        assert "a single item in a class" in found.message
        assert "95 % confidence the" not in report.to_text()


def test_checks_name_the_ranking_that_they_are_about():
    report = rank_significance_report(Y, {"up": GOOD, "down": -GOOD}, k=10)
    assert [(check.code, check.ranker) for check in report.checks] == [
        ("worse-than-chance", "down")
    ]
    assert "worse-than-chance (down): The ranking is worse" in report.to_text()
    frame = report.to_frame().set_index("name")["checks"]
    assert frame.to_dict() == {"up": "", "down": "worse-than-chance"}


def test_equal_checks_of_several_rankings_are_reported_once():
    scores = {"a": np.round(GOOD), "b": np.round(GOOD) + 1.0, "c": GOOD}
    report = rank_significance_report(Y, scores, k=10)
    assert [check.ranker for check in report.checks[:2]] == ["a", "b"]
    text = report.to_text()
    assert text.count("ties-across-k (a, b): ") == text.count("ties-across-k (") == 1
