"""The report: its numbers against the functions they come from, its words, and its page."""

import base64
import json
import math
import re
import sys
import textwrap
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score

from sklearn_rankinf import (
    Bedroc,
    Ranking,
    RecallAtK,
    average_precision_test,
    metric_comparison_test,
    metric_interval,
    metric_multiple_comparison_test,
    metric_test,
    min_hits_at_k,
    minimum_hypergeometric_test,
    optimal_cutoff,
    rank_significance_report,
    recall_at_k_test,
    top_k_significance_curve,
)
from sklearn_rankinf._report.checks import DOCUMENTATION
from sklearn_rankinf._report.report import _pictures, draw_intervals
from sklearn_rankinf._report.text import verdict, wrapped

RNG = np.random.default_rng(7)
N, M = 250, 20
Y = np.zeros(N, dtype=int)
Y[RNG.choice(N, M, replace=False)] = 1
NOISE = RNG.normal(size=N)
GOOD = NOISE + 1.3 * Y
TIED = np.round(2 * GOOD)
THREE = {
    "good": GOOD,
    "tied": np.round(2 * RNG.normal(size=N) + 2.6 * Y),
    "noise": RNG.normal(size=N),
}
CLUSTERS = np.arange(N) // 2
Y_OF_CLUSTERS = (CLUSTERS % 6 == 0).astype(int)
SCORE_OF_CLUSTERS = NOISE + 0.6 * Y_OF_CLUSTERS
# Names that need care in text, in HTML, in pictures and in files.
NASTY = ['<b>bold</b> & "quoted"', "x" * 60, "活性 é", "_a $b_c$", "two\nlines\x1b[0m"]


@pytest.fixture(scope="module")
def three():
    return rank_significance_report(Y, THREE)


@pytest.fixture(scope="module")
def good():
    return rank_significance_report(Y, GOOD)


@pytest.fixture(scope="module")
def nasty():
    scores = {
        name: GOOD + 0.4 * i * RNG.normal(size=N) - 9 * Y * (i in (0, 4))
        for i, name in enumerate(NASTY)
    }
    return rank_significance_report(Y, scores, k=(10, 1000))


# Numbers.


@pytest.mark.parametrize(
    ("metric", "scores", "alpha"),
    [
        ("average_precision", GOOD, 0.05),
        ("average_precision", TIED, 0.1),
        ("roc_auc", TIED, 0.05),
        (RecallAtK(30), GOOD, 0.01),
        (Bedroc(), GOOD, 0.05),
    ],
)
def test_numbers_are_those_of_the_functions(metric, scores, alpha):
    report = rank_significance_report(Y, scores, k=(10, 0.2), metric=metric, alpha=alpha)
    (found,) = report.rankers
    options = {"metric": metric, "confidence_level": 1 - alpha}
    assert found.test.to_dict() == metric_test(Y, scores, metric=metric).to_dict()
    assert found.interval.to_dict() == metric_interval(Y, scores, **options).to_dict()
    assert found.pvalue_less == metric_test(Y, scores, metric=metric, alternative="less").pvalue
    curve = top_k_significance_curve(Y, scores, alpha=alpha)
    assert found.curve.to_dict() == curve.to_dict()
    assert found.significant_k == curve.crossovers_simultaneous[0]
    over_k = minimum_hypergeometric_test(Y, scores)
    assert found.minimum_hypergeometric.to_dict() == over_k.to_dict()
    assert [at_k.k for at_k in found.at_k] == [10, 50]
    for at_k in found.at_k:
        expected = recall_at_k_test(Y, scores, k=at_k.k)
        assert at_k.test.to_dict() == expected.to_dict()
        options["metric"] = RecallAtK(at_k.k)
        assert at_k.interval.to_dict() == metric_interval(Y, scores, **options).to_dict()
        assert at_k.hits_needed == min_hits_at_k(N, M, k=at_k.k, alpha=alpha)
        assert at_k.expected_hits == pytest.approx(stats.hypergeom(N, M, at_k.k).mean())
        assert at_k.enrichment == pytest.approx(at_k.hits / at_k.k / (M / N))
        assert at_k.precision == pytest.approx(at_k.hits / at_k.k)


@pytest.mark.parametrize(
    ("metric", "scores", "alpha"),
    [("average_precision", TIED, 0.05), ("recall@0.1", GOOD, 0.1), ("roc_auc", GOOD, 0.05)],
)
def test_numbers_for_the_use_are_those_of_the_functions(metric, scores, alpha):
    report = rank_significance_report(
        Y, scores, k=10, metric=metric, alpha=alpha, prevalence=0.3, value=3.0, cost=0.5
    )
    (found,) = report.rankers
    options = {"confidence_level": 1 - alpha}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        expected = metric_interval(Y, scores, metric=metric, prevalence=0.3, **options)
    assert found.in_population.to_dict() == expected.to_dict()
    best = optimal_cutoff(Y, scores, value=3.0, cost=0.5, **options)
    assert found.cutoff.to_dict() == best.to_dict()
    # Everything else is as without them.
    plain = rank_significance_report(Y, scores, k=10, metric=metric, alpha=alpha)
    assert found.test.to_dict() == plain.rankers[0].test.to_dict()
    assert found.interval.to_dict() == plain.rankers[0].interval.to_dict()
    assert (plain.rankers[0].in_population, plain.rankers[0].cutoff) == (None, None)
    assert report.prevalence == M / N
    row = report.to_frame().iloc[0]
    assert (row.statistic_in_population, row.high_in_population) == (
        expected.statistic,
        expected.high,
    )
    assert (row.k_of_cutoff, row.low_of_cutoff) == (best.k, best.low)
    assert "statistic_in_population" not in plain.to_frame()


def test_words_for_the_use(recwarn):
    scores = {"good": GOOD, "noise": NOISE[::-1]}
    report = rank_significance_report(Y, scores, k=10, prevalence=0.02, value=2.0, cost=1.0)
    assert not recwarn.list
    good, noise = report.rankers
    text, page = " ".join(str(report).split()), report._repr_html_()
    own = good.in_population
    interval = f"(95 % confidence interval {own.low:.3g} to {own.high:.3g})"
    value = f"{own.statistic:.3g} {interval}."
    assert f"In a population with prevalence 0.02 the average precision is {value}" in text
    assert "average precision in a population with prevalence 0.08, that of the sample, is" in text
    titles = [
        "Average precision in a population with prevalence 0.02",
        "Largest net benefit, value 2 and cost 1",
    ]
    places = [text.index(title) for title in titles]
    assert places == sorted(places)
    assert all(f"<h2>{title}</h2>" in page for title in titles)
    for ranker in (good, noise):
        found = ranker.in_population
        assert f"{found.statistic:.4f} {found.low:.4f} {found.high:.4f}" in text
        assert ranker.cutoff.summary().splitlines()[-1] in ranker.summary()
    best = good.cutoff
    assert best.k > 0
    assert best.low <= 0.0
    assert (
        f"With value 2 and cost 1 it is best to examine the first {best.k}: the net benefit is "
        f"{best.net_benefit:.3g} (95 % simultaneous limits {best.low:.3g} to {best.high:.3g}). The "
        f"best cut-off is between {best.k_low} and {best.k_high}. No net benefit is established."
    ) in text
    sure = rank_significance_report(Y, GOOD, k=10, value=9.0, cost=1.0)
    assert sure.rankers[0].cutoff.low > 0.0
    said = " ".join(str(sure).split())
    assert "No net benefit is established" not in said
    assert f"What to do: examine the first {sure.rankers[0].cutoff.k} items." in said
    # One note of both rankings on the few negatives.
    assert text.count("rests on about 4.6 of the 230 negatives") == 1
    costly = rank_significance_report(Y, NOISE, k=10, value=1.0, cost=1e6)
    assert costly.rankers[0].cutoff.k == 0
    assert "it is best to examine none." in " ".join(str(costly).split())


def test_the_use_of_labels_that_allow_none():
    report = rank_significance_report(np.arange(99) < 1, GOOD[:99], value=1.0, cost=1.0, k=5)
    assert report.rankers[0].cutoff is None
    assert any("net benefit is left out" in note for note in report.notes)
    report = rank_significance_report(np.ones(9), GOOD[:9], prevalence=0.5, k=5)
    assert report.rankers[0].in_population is None


def test_average_precision_is_scikit_learns(three):
    for ranker, scores in zip(three.rankers, THREE.values(), strict=True):
        assert ranker.test.statistic == pytest.approx(average_precision_score(Y, scores), rel=1e-12)


def test_hits_of_a_ranking_without_ties_are_hypergeometric():
    (found,) = rank_significance_report(Y, GOOD, k=40).rankers
    (at_k,) = found.at_k
    hits = Y[np.argsort(-GOOD)[:40]].sum()
    assert at_k.hits == hits
    assert at_k.test.pvalue == pytest.approx(stats.hypergeom(N, M, 40).sf(hits - 1), rel=1e-9)


def test_a_ranking_gives_the_report_of_its_labels_and_scores():
    by_scores = rank_significance_report(Y, TIED).to_dict()
    by_ranking = rank_significance_report(Ranking.from_scores(Y, TIED)).to_dict()
    assert by_ranking == by_scores


def test_containers_of_scores_give_one_report(three):
    frame = pd.DataFrame(THREE)
    assert rank_significance_report(pd.Series(Y), frame).to_dict() == three.to_dict()
    table = rank_significance_report(Y, frame.to_numpy())
    assert [ranker.name for ranker in table.rankers] == ["0", "1", "2"]
    assert [r.test.pvalue for r in table.rankers] == [r.test.pvalue for r in three.rankers]
    column = rank_significance_report(Y, GOOD[:, None])
    assert [ranker.name for ranker in column.rankers] == ["ranking"]
    series = rank_significance_report(Y, pd.Series(GOOD, name="docking"))
    assert [ranker.name for ranker in series.rankers] == ["docking"]
    alone = rank_significance_report(Y, {"only": GOOD})
    assert (alone.rankers[0].name, alone.comparison, alone.differences) == ("only", None, ())


def test_labels_are_read_as_everywhere(good):
    words = np.where(Y == 1, "active", "decoy")
    found = rank_significance_report(words, GOOD, pos_label="active")
    assert found.to_dict() == good.to_dict()


def test_two_rankers_are_compared_by_rank_swap():
    scores = {"noise": THREE["noise"], "good": GOOD}
    report = rank_significance_report(Y, scores, n_resamples=499, random_state=3, alpha=0.1)
    expected = metric_comparison_test(
        Y, {"noise": THREE["noise"], "good": GOOD}, n_resamples=499, random_state=3
    )
    (found,) = report.differences
    assert (found.ranker, found.reference) == ("noise", "good")
    assert (found.difference, found.pvalue) == (expected.difference, expected.pvalue)
    assert (found.low, found.high) == tuple(expected.confidence_interval(0.9))
    assert found.may_be_best == (expected.pvalue > 0.1)
    stated = report.comparison.to_dict()
    names = ("confidence_level", "low", "high")
    assert [stated[name] for name in names] == [0.9, found.low, found.high]
    names = stated.keys() - set(names)
    assert {name: stated[name] for name in names} == {
        name: expected.to_dict()[name] for name in names
    }
    assert "rank swap" in report.comparison_method
    interval = f"90 % confidence interval {found.low:.3g} to {found.high:.3g}; two-sided"
    text = " ".join(report.to_text().split())
    assert text.endswith(re.sub("95 % .*; two-sided", interval, expected.summary()))
    assert "95 %" not in text


def test_two_rankers_of_many_samples_are_compared_by_influence(monkeypatch):
    monkeypatch.setattr("sklearn_rankinf._report.study._SWAPPED_ITEMS", N * 99 - 1)
    report = rank_significance_report(Y, {"a": GOOD, "b": NOISE}, n_resamples=99)
    expected = metric_comparison_test(Y, {"NOISE": NOISE, "GOOD": GOOD}, method="influence")
    assert report.differences[0].pvalue == expected.pvalue
    assert "t test of influence values" in report.comparison_method
    assert "t test of influence values" in report.to_text()


def test_more_rankers_are_compared_with_the_best(three):
    expected = metric_multiple_comparison_test(Y, THREE, reference="best")
    best = list(THREE)[int(np.argmax(expected.statistic))]
    assert three.best == best
    for pair, (one, _) in enumerate(expected.pairs.tolist()):
        found = three.differences[pair]
        assert (found.ranker, found.reference) == (list(THREE)[one], best)
        for name in ("difference", "low", "high", "pvalue"):
            assert getattr(found, name) == getattr(expected, name)[pair]
        assert found.may_be_best == expected.may_be_best[one]
    assert expected.summary() in " ".join(three.to_text().split())
    board = expected.leaderboard()
    section = three.to_text().split("\nRanks\n")[1].split("\n\n")[0]
    rows = [line.replace(" to ", "-").split() for line in section.splitlines()[3:6]]
    for row, *found in zip(
        rows, board.names, board.rank_low, board.rank_high, board.letters, strict=True
    ):
        name, _, ranks, letters = row
        assert [name, *map(int, (ranks.split("-")[0], ranks.split("-")[-1])), letters] == found
    frame = three.to_frame().set_index("name")
    for name, low, letters in zip(board.names, board.rank_low, board.letters, strict=True):
        assert frame.loc[name, "comparison_rank_low"] == low
        assert frame.loc[name, "comparison_letters"] == letters


def test_clusters_are_those_of_the_functions():
    options = {"clusters": CLUSTERS, "n_resamples": 199, "random_state": 5}
    scores = {"a": SCORE_OF_CLUSTERS, "b": NOISE}
    report = rank_significance_report(Y_OF_CLUSTERS, scores, k=20, **options)
    for found, column in zip(report.rankers, scores.values(), strict=True):
        test = average_precision_test(Y_OF_CLUSTERS, column, **options)
        assert (found.test.method, found.test.to_dict()) == ("permutation", test.to_dict())
        interval = metric_interval(Y_OF_CLUSTERS, column, clusters=CLUSTERS)
        assert found.interval.to_dict() == interval.to_dict()
        (at_k,) = found.at_k
        assert at_k.test.pvalue == recall_at_k_test(Y_OF_CLUSTERS, column, k=20, **options).pvalue
        of_recall = metric_interval(Y_OF_CLUSTERS, column, metric=RecallAtK(20), clusters=CLUSTERS)
        assert at_k.interval.to_dict() == of_recall.to_dict()
        assert at_k.hits_needed is None
        assert (found.curve, found.minimum_hypergeometric) == (None, None)
    compared = metric_comparison_test(
        Y_OF_CLUSTERS, {"NOISE": NOISE, "SCORE_OF_CLUSTERS": SCORE_OF_CLUSTERS}, **options
    )
    assert report.differences[0].pvalue == compared.pvalue
    assert report.n_clusters == 125
    assert any("clusters were given" in note for note in report.notes)
    assert not any("pass clusters" in note for note in report.notes)
    assert "in 125 clusters" in report.to_text()


@pytest.mark.parametrize("n_rankers", [1, 2, 3])
def test_clusters_with_different_labels_have_intervals_and_comparisons(n_rankers, recwarn):
    names = np.array([f"S{number}" for number in CLUSTERS])
    scores = dict(list(THREE.items())[:n_rankers])
    report = rank_significance_report(Y, scores, clusters=names, k=20, n_resamples=199)
    assert report.checks[0].code == "mixed-clusters"
    for found, column in zip(report.rankers, scores.values(), strict=True):
        assert not found.is_tested
        test = average_precision_test(Y, column)
        assert (found.test.statistic, found.test.chance) == (test.statistic, test.chance)
        interval = metric_interval(Y, column, clusters=names)
        assert found.interval.to_dict() == interval.to_dict()
        assert (found.curve, found.minimum_hypergeometric) == (None, None)
        assert found.at_k[0].hits_needed is None
        for part in (found.test, found.at_k[0].test):
            for name in ("pvalue", "log10_pvalue", "zscore", "pvalue_relative_error"):
                assert math.isnan(getattr(part, name))
        assert math.isnan(found.pvalue_less)
    text = report.to_text()
    assert "was not tested against chance, because items of one cluster have" in text
    assert "nan" not in text
    conclusion, others = text.split("\nAverage precision\n")
    assert " p = " not in conclusion
    assert "95 % confidence interval" in others.split("Sentences for a paper")[1]
    if n_rankers == 2:
        options = {"clusters": names, "n_resamples": 199, "random_state": 0}
        (pair,) = report.differences
        one, other = scores[pair.ranker], scores[pair.reference]
        assert (
            report.comparison.pvalue
            == metric_comparison_test(Y, {"one": one, "other": other}, **options).pvalue
        )
    assert report.to_dict()["rankers"][0]["test"]["pvalue"] is None
    assert report.to_frame()["pvalue"].isna().all()
    page = report.to_html()
    assert "null distribution" not in page
    assert "nan" not in re.sub('base64,[^"]*', "", page)
    assert not recwarn.list


def test_a_label_in_every_row_is_reported():
    for y_true in (np.zeros(30, dtype=int), np.ones(30, dtype=int)):
        for scores in (NOISE[:30], {"a": NOISE[:30], "b": GOOD[:30]}):
            report = rank_significance_report(y_true, scores, k=10)
            assert [check.code for check in report.checks] == ["one-label"]
            for ranker in report.rankers:
                assert (ranker.test.pvalue, ranker.interval) == (1.0, None)
                assert ranker.at_k[0].interval is None
            assert report.comparison is None
            assert "cannot be tested" in report.to_text()
            json.dumps(report.to_dict(), allow_nan=False)


def test_two_labels_that_hide_the_positives_warn_in_the_report_alone(good, recwarn):
    report = rank_significance_report(2 - Y, GOOD)
    assert [check.code for check in report.checks] == ["labels-1-2"]
    assert report.rankers[0].to_dict() == good.rankers[0].to_dict()
    assert not recwarn.list


@pytest.mark.parametrize("scores", [np.zeros(40), np.arange(40.0), np.arange(40) // 20])
def test_one_positive(scores):
    y_true = np.r_[np.zeros(39, dtype=int), 1]
    (found,) = (report := rank_significance_report(y_true, scores, k=(10, 50))).rankers
    # Its rank is uniform, so that p is the share of samples that are as high.
    assert found.test.pvalue == pytest.approx(np.mean(scores >= scores[-1]))
    assert found.interval.to_dict() == metric_interval(y_true, scores).to_dict()
    assert math.isnan(found.interval.standard_error)
    assert (
        "precision cannot be estimated" in " ".join(report.to_text().split()) or np.ptp(scores) == 0
    )
    assert len(found.at_k) == 1
    assert "few-positives" in report.to_text()
    assert max(map(len, report.to_text().splitlines())) <= 100


# Omitted parts.


def test_large_k_are_left_out_with_a_note():
    report = rank_significance_report(Y, GOOD, k=[10, 251, 0.04, N, 900])
    assert [at_k.k for at_k in report.rankers[0].at_k] == [10, N]
    assert report.notes[0] == f"k = 251, 900 was left out: there are only {N} items."
    assert rank_significance_report(Y, GOOD, k=()).rankers[0].at_k == ()
    assert "Hits among" not in rank_significance_report(Y, GOOD, k=()).to_text()


def test_bounds_of_many_positives_are_left_out_with_a_note(monkeypatch):
    monkeypatch.setattr("sklearn_rankinf._report.study._POSITIVES_FOR_BOUNDS", M - 1)
    report = rank_significance_report(Y, GOOD, k=10)
    found = report.rankers[0]
    assert (found.significant_k, found.minimum_hypergeometric, found.curve) == (None, None, None)
    assert "are left out because they take long with 20 positives" in report.notes[0]
    assert "All k together" not in report.to_text()
    assert report.to_html().count("<img ") == 2
    monkeypatch.setattr("sklearn_rankinf._report.study._POSITIVES_FOR_BOUNDS", M)
    assert rank_significance_report(Y, GOOD, k=10).rankers[0].curve is not None


def test_simulated_intervals_of_many_samples_are_left_out_with_a_note(monkeypatch):
    monkeypatch.setattr("sklearn_rankinf._report.study._SAMPLES_FOR_SIMULATION", N - 1)
    report = rank_significance_report(Y, GOOD, k=10, metric="bedroc")
    assert report.rankers[0].interval is None
    assert "interval of BEDROC is left out" in report.notes[0]
    assert rank_significance_report(Y, GOOD, k=10).rankers[0].interval is not None


def test_a_metric_without_standard_error():
    report = rank_significance_report(Y, THREE, k=10, metric="reciprocal_rank")
    assert report.comparison is None
    assert {ranker.interval for ranker in report.rankers} == {None}
    assert "Reciprocal rank of one ranking depends on a single item" in report.notes[0]
    assert "not compared because reciprocal rank has no standard error" in report.notes[-1]
    assert rank_significance_report(
        Y, {"a": GOOD, "b": NOISE}, k=10, metric="reciprocal_rank", n_resamples=99
    ).comparison


def test_missing_clusters_are_requested(three):
    assert any("images of one patient, pass clusters" in note for note in three.notes)


# Errors.


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((Y, GOOD), {"k": 0}, ValueError, "k must be at least 1 as a number of items; got 0"),
        ((Y, GOOD), {"k": 1.5}, ValueError, "k as a float is a fraction"),
        ((Y, GOOD), {"k": ["ten"]}, TypeError, "k must be an int or a float; got 'ten'"),
        ((Y, GOOD), {"k": None}, TypeError, "k must be a number or a list of numbers; got None"),
        ((Y, GOOD), {"alpha": 1.0}, ValueError, "alpha must lie between 0 and 1"),
        ((Y, GOOD), {"alpha": [0.1, 0.2]}, TypeError, "alpha must be one number; got"),
        ((Y, GOOD), {"n_resamples": 0}, ValueError, "n_resamples must be at least 1"),
        ((Y, GOOD), {"metric": "recall"}, ValueError, "recall needs a cut-off"),
        ((Y, GOOD), {"metric": "auc"}, ValueError, "auc"),
        ((Y,), {}, TypeError, "y_score is missing"),
        ((Y, GOOD[1:]), {}, ValueError, "must have the same length; got 250 labels and 249"),
        ((Y, {}), {}, ValueError, "contains no ranker"),
        ((Y, {"a": GOOD, "b": GOOD * np.nan}), {}, ValueError, "Ranker 'b': y_score must be f"),
        ((np.arange(N), GOOD), {}, ValueError, "holds 250 different labels"),
        ((np.where(Y, "a", "b"), GOOD), {}, ValueError, "pos_label=1 is not a label"),
        ((Y, GOOD), {"clusters": CLUSTERS[1:]}, ValueError, "cluster of each of the 250 items"),
        ((Ranking([1, 1], [1, 0]),), {"clusters": [0, 1]}, TypeError, "clusters needs y_true"),
        ((Ranking([1, 1], [1, 0]), GOOD), {}, TypeError, "y_score must be left out"),
        ((Y, GOOD), {"prevalence": 1.5}, ValueError, "prevalence must lie between 0 and 1"),
        ((Y, GOOD), {"prevalence": 0.001}, ValueError, "too few for a value: at least 2000"),
        (
            (Y, GOOD),
            {"prevalence": 0.1, "metric": "bedroc"},
            ValueError,
            "prevalence is not available for BEDROC",
        ),
        ((Y, GOOD), {"value": 1.0}, ValueError, "cost=None: pass both for the cut-off with"),
        ((Y, GOOD), {"value": 1.0, "cost": 0.0}, ValueError, "cost must be finite and larger"),
        (
            (Y_OF_CLUSTERS, GOOD),
            {"clusters": CLUSTERS, "value": 1.0, "cost": 1.0},
            ValueError,
            "value and cost cannot be combined with clusters, because their limits need",
        ),
        (
            (Y_OF_CLUSTERS, GOOD),
            {"clusters": CLUSTERS, "prevalence": 0.1},
            ValueError,
            "prevalence cannot be combined with clusters, because",
        ),
    ],
)
def test_errors(arguments, options, error, message):
    with pytest.raises(error, match=message):
        rank_significance_report(*arguments, **options)


# Outputs.


def test_a_report_is_made_again(good):
    again = rank_significance_report(Y, GOOD)
    assert str(again) == good.to_text()
    assert again.to_dict() == good.to_dict()
    assert again.to_frame().equals(good.to_frame())
    assert again.to_html() == good.to_html()


def test_dict_is_json(three, nasty):
    for report in (three, nasty, rank_significance_report(Y, np.zeros(N))):
        found = json.loads(json.dumps(report.to_dict(), allow_nan=False))
        assert found == report.to_dict()
        assert [one["name"] for one in found["rankers"]] == [r.name for r in report.rankers]
        assert found["checks"] == [check._asdict() for check in report.checks]
        for one, ranker in zip(found["rankers"], report.rankers, strict=True):
            assert one["test"] == ranker.test.to_dict()
            assert "curve" not in one
    (constant,) = found["rankers"]
    assert constant["test"]["zscore"] is None


def test_frame_has_one_row_a_ranking(three):
    frame = three.to_frame()
    assert frame["name"].tolist() == list(THREE)
    for row, ranker in zip(frame.itertuples(), three.rankers, strict=True):
        assert (row.statistic, row.pvalue) == (ranker.test.statistic, ranker.test.pvalue)
        assert row.low == ranker.interval.low
        assert row.hits_at_50 == ranker.at_k[1].hits
        assert row.pvalue_at_50 == ranker.at_k[1].test.pvalue
        pairs = [pair for pair in three.differences if pair.ranker == ranker.name]
        assert (
            math.isnan(row.comparison_pvalue)
            if not pairs
            else (row.comparison_pvalue == pairs[0].pvalue)
        )
        runs = ranker.significant_k
        assert runs[-1][1] == row.last_significant_k if runs else math.isnan(row.last_significant_k)


def test_missing_matplotlib_names_the_extra(monkeypatch, three):
    for module in ("matplotlib", "matplotlib.figure", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        ImportError, match=r'an HTML report needs matplotlib: pip install "sklearn-rankinf'
    ):
        three.to_html()
    assert "Conclusion" in three.to_text()
    assert "Conclusion" in three._repr_html_()


# Words.


def test_text_is_narrow_and_in_order(three, nasty):
    for report in (three, nasty):
        text = report.to_text()
        assert max(map(len, text.splitlines())) <= 100
        assert text.isprintable() or set(filter(lambda c: not c.isprintable(), text)) == {"\n"}
        heads = ["\nConclusion\n", "\nAverage precision\n", "\nHits among", "\nAll k together\n"]
        heads += ["\nDifference from the best"]
        heads += ["\nNotes\n", "\nChecks\n", "\nSentences for a paper\n"]
        places = [text.index(head) for head in heads]
        assert places == sorted(places)
        # Limits are headed alike in text and page.
        assert report._repr_html_().count("<th>lower 95 %</th><th>upper 95 %</th>") == 2
        assert len(re.findall(r"^ +lower +upper ", text, flags=re.MULTILINE)) == 2


def test_text_states_the_numbers(three):
    flat = " ".join(three.to_text().split())
    for ranker in three.rankers:
        test, own = ranker.test, ranker.interval
        assert (verdict(ranker.name, test, 0.05) in flat) == (ranker.name == three.best)
        assert f"{test.statistic:.4f} {own.low:.4f} {own.high:.4f}" in flat


def test_sentence_to_write_holds_the_interval():
    report = rank_significance_report(Y, GOOD, k=10)
    last = " ".join(report.to_text().split("\nSentences for a paper\n")[1].split())
    interval = metric_interval(Y, GOOD)
    assert last == average_precision_test(Y, GOOD).summary().replace(
        " (chance",
        f" (95 % confidence interval {interval.low:.3g} to {interval.high:.3g}; chance",
    )


@pytest.mark.parametrize(
    ("scores", "start"),
    [
        (
            GOOD,
            r"S is better than chance: average precision 0\.\d+, \d+\.\d times the 0\.\d+ of",
        ),
        (NOISE, r"S is not shown to be better than chance: average precision 0\.\d+ against the 0"),
        (-GOOD, r"S is worse than chance: .* for a value this low\. The direction"),
        (NOISE * 0, r"S cannot be tested: its average precision is the same"),
    ],
)
def test_verdicts(scores, start):
    result = average_precision_test(Y, scores)
    assert re.match(start, verdict("S", result, 0.05))


def test_verdict_depends_on_alpha():
    result = average_precision_test(Y, NOISE + 0.5 * Y)
    assert 0.001 < result.pvalue < 0.2
    low, high = (verdict("S", result, result.pvalue * factor) for factor in (0.99, 1.0))
    assert "not shown" in low
    assert "is better" in high


def conclusion_of(report):
    return " ".join(report.to_text().split("\nConclusion\n")[1].split("\n\n")[0].split())


def test_advice(good, three):
    assert conclusion_of(good).endswith(
        "What to do: examine the items in this order, from the top."
    )
    hits, recall = Y[np.argsort(-GOOD)[:100]].sum(), metric_interval(Y, GOOD, metric=RecallAtK(100))
    assert (
        f" The first 100 items contain {hits} of 20 positives, 8.0 by chance: recall is "
        f"{hits / 20:.3g} (95 % confidence interval {recall.low:.3g} to {recall.high:.3g}); the "
        f"first 10 and 50 contain {Y[np.argsort(-GOOD)[:10]].sum()} and "
        f"{Y[np.argsort(-GOOD)[:50]].sum()}. What"
    ) in conclusion_of(good)
    assert "The evidence is very strong." in conclusion_of(good)
    weak = rank_significance_report(Y, NOISE, k=10)
    assert weak.rankers[0].significant_k == []
    on_depth = "Hits are cumulative: a list with many positives at its top stays above chance"
    assert " ".join(three.to_text().split()).count(on_depth) == 1
    assert on_depth not in " ".join(weak.to_text().split())
    assert "What to do: do not rely on the ranking yet." in conclusion_of(weak)
    assert "What to do: check the direction" in conclusion_of(rank_significance_report(Y, -GOOD))
    # All positives in the middle of the list, and none at its top.
    y_true = np.r_[np.zeros(50, dtype=int), np.ones(20, dtype=int), np.zeros(130, dtype=int)]
    deep = rank_significance_report(y_true, -np.arange(200.0))
    assert deep.rankers[0].test.pvalue > 0.05
    assert deep.rankers[0].significant_k
    assert "What to do: look deeper in the list" in conclusion_of(deep)


@pytest.mark.parametrize(
    ("shift", "word"), [(1.3, "very strong"), (0.5, "strong"), (0.3, "moderate")]
)
def test_words_for_evidence(shift, word):
    report = rank_significance_report(Y, NOISE + shift * Y, k=10)
    low, high = {"very strong": (0, 0.001), "strong": (0.001, 0.01), "moderate": (0.01, 0.05)}[word]
    assert low < report.rankers[0].test.pvalue <= high
    assert f"The evidence is {word}." in conclusion_of(report)


def test_ratio_is_that_to_chance():
    result = average_precision_test(Y, GOOD)
    ratio = result.statistic / result.null_distribution.mean()
    assert f", {ratio:.1f} times the " in verdict("S", result, 0.05)
    area = metric_test(Y, GOOD, metric="roc_auc")
    assert "against the 0.5 of chance" in verdict("S", area, 0.05)


def test_conclusion_on_the_best(three):
    flat = " ".join(three.to_text().split())
    worse = [found.ranker for found in three.differences if found.pvalue <= 0.05]
    rivals = [found.ranker for found in three.differences if found.may_be_best]
    assert worse == ["noise"]
    assert len(rivals) == 1
    names = f"{three.best} or {rivals[0]}; {three.best}"
    assert f" The best ranking may be {names} has the largest average precision." in flat
    better = [one.name for one in three.rankers if one.test.pvalue <= 0.05]
    assert better == ["good", "tied"]
    assert (
        "Established at the level 0.05: good and tied better than chance; noise worse than "
        f"{three.best}. Not established: noise better than chance; {rivals[0]} worse than "
        f"{three.best}. {three.best} is better than chance:"
    ) in conclusion_of(three)


def test_conclusion_on_what_is_sure_and_what_is_not():
    sure = rank_significance_report(Y, {"good": GOOD + 3 * Y, "back": -GOOD}, n_resamples=99)
    assert conclusion_of(sure).startswith(
        "The best ranking is good, with the largest average precision. Established at the level "
        "0.05: good better than chance; back worse than chance; back worse than good. good is"
    )
    assert conclusion_of(sure).endswith("See the checks below: worse-than-chance, perfect-ranking.")
    rng = np.random.default_rng(3)
    open_ = rank_significance_report(Y, {f"r{i}": rng.normal(size=N) for i in range(9)}, k=10)
    assert all(one.may_be_best for one in open_.differences)
    assert all(one.test.pvalue > 0.05 for one in open_.rankers)
    text = conclusion_of(open_)
    assert "Established at" not in text
    assert re.search(
        r"^The best ranking may be (r\d, ){4}r\d or 4 others; r\d has the largest average "
        r"precision\. Not established: r0, r1, r2, r3, r4 and 4 others better than chance; .*worse "
        r"than r\d\. r\d is not shown to be better than chance:",
        text,
    )
    equal = rank_significance_report(Y, {"a": GOOD, "b": NOISE, "c": 2 * GOOD}, k=10)
    assert conclusion_of(equal).startswith(
        "The best ranking may be a or c; a and c have the largest average precision. Established"
    )
    single = rank_significance_report(Y, THREE, k=10, metric="reciprocal_rank")
    text = conclusion_of(single)
    assert "has the largest reciprocal rank. The rankings are not compared." in text


@pytest.mark.parametrize("n_rankers", [1, 4])
@pytest.mark.parametrize("options", [{}, {"k": 50, "value": 20.0, "cost": 1.0}])
def test_first_screen_has_the_answer(n_rankers, options):
    rng = np.random.default_rng(0)
    y_true = np.arange(2000) < 60
    same = rng.normal(size=2000) + 1.6 * y_true
    scores = {f"ranker{i}": same + 0.3 * rng.normal(size=2000) for i in range(n_rankers)}
    report = rank_significance_report(y_true, scores, n_resamples=99, **options)
    screen = report.to_text().splitlines()[:24]
    assert max(map(len, screen)) <= 80
    text = " ".join("\n".join(screen).split())
    what = r"examine (the items in this order, from the top|the first \d+ items)"
    assert re.search(rf"What to do: {what}\. Average precision lower upper", text)
    if n_rankers > 1:
        assert re.search(rf"The best ranking may be {report.best}(, ranker\d)* or ranker\d;", text)
        assert "Not established: " in text


def test_conclusion_on_a_long_list_is_short():
    y_true = np.arange(4000) < 80
    scores = np.random.default_rng(0).normal(size=y_true.size) + 2 * y_true
    report = rank_significance_report(
        y_true, {"first": scores, "second": scores}, k=50, n_resamples=99
    )
    conclusion = report.to_text().split("\nConclusion\n")[1].split("\n\n")[0]
    # Nine lines on the best and four on all; the range of k stands in a table, once.
    assert len(conclusion.splitlines()) <= 13
    last = report.rankers[0].significant_k[-1][1]
    assert last > 1000
    assert str(last) not in conclusion


def test_fractions_are_named_with_their_rank():
    one = rank_significance_report(Y, GOOD, k=(50, 0.1))
    assert [at_k.fraction for at_k in one.rankers[0].at_k] == [None, 0.1]
    assert re.search(r"^25 \(10 %\) +\d", one.to_text(), flags=re.MULTILINE)
    assert re.search(r"^50 +\d", one.to_text(), flags=re.MULTILINE)
    several = rank_significance_report(Y, THREE, k=0.1)
    assert "\nHits among the first 25 (10 %)\n" in several.to_text()
    assert "The first 25 (10 %) items contain" in conclusion_of(several)
    report = rank_significance_report(Y, {"a": GOOD, "b": NOISE}, k=50, metric=RecallAtK(0.04))
    text = " ".join(report.to_text().split())
    assert text.count("recall at 4 % (k = 10)") >= 3
    assert text.count("Recall at 4 % (k = 10)") >= 4
    assert not re.search("[Rr]ecall at 10", text)
    plain = rank_significance_report(Y, GOOD, k=50, metric=RecallAtK(10)).to_text()
    assert "Recall at 10 was" in " ".join(plain.split())


def test_cut_offs_in_one_block_are_said_to_have_one_p():
    y_true = np.r_[np.arange(100) % 5 == 0, np.zeros(100, dtype=bool), np.arange(100) % 9 == 0]
    score = np.repeat([3.0, 2.0, 1.0], 100)
    report = rank_significance_report(y_true, score, k=(10, 50, 80, 100, 150, 210, 220))
    pvalues = {at_k.k: at_k.test.pvalue for at_k in report.rankers[0].at_k}
    assert pvalues[10] == pytest.approx(pvalues[50]) == pytest.approx(pvalues[80])
    (message,) = [one.message for one in report.checks if one.code == "ties-across-k"]
    assert message.endswith(
        " k = 10, 50 and 80 lie in the same block, ranks 1 to 100, whose items the ranking does "
        "not order: they have the same p. k = 210 and 220 lie in the same block, ranks 201 to 300, "
        "whose items the ranking does not order."
    )
    other = rank_significance_report(y_true, score, k=(10, 210))
    (message,) = [one.message for one in other.checks if one.code == "ties-across-k"]
    assert "same block" not in message


def test_hits_that_are_never_significant_are_said_to_be():
    text = rank_significance_report(Y, GOOD, k=(1, N)).to_text()
    assert "\nnever: at this k no number of hits is significant.\n" in text
    assert re.search(rf"^{N} +20 +20.0 +never ", text, flags=re.MULTILINE)
    assert min_hits_at_k(N, M, k=N) > M


@pytest.mark.parametrize(
    ("in_block", "splits"), [([0, 0, 0, 0], False), ([1, 1, 1, 1], False), ([0, 1, 0, 0], True)]
)
def test_only_mixed_blocks_across_k_are_marked(in_block, splits):
    y_true = np.r_[1, 1, in_block, np.zeros(94, dtype=int)]
    y_score = np.r_[9, 8, 5, 5, 5, 5, -np.arange(94.0)]
    report = rank_significance_report(y_true, y_score, k=4)
    assert (report.rankers[0].at_k[0].tied_ranks == (3, 6)) == splits
    assert ("ties-across-k" in [check.code for check in report.checks]) == splits
    assert (f"{report.rankers[0].at_k[0].hits:g}*" in report.to_text().replace("2.50", "2.5")) == (
        splits
    )


def test_small_pvalues_of_comparisons_are_not_shown_as_zero():
    y_true, scores = np.arange(800) < 80, np.random.default_rng(0).normal(size=(3, 800))
    scores[0] += 4.0 * y_true
    report = rank_significance_report(y_true, dict(zip("abc", scores, strict=True)), k=10)
    assert 0.0 < report.differences[0].pvalue < 1e-10
    table = report.to_text().split("Difference from the best, a\n")[1].split("\n\n")[0]
    assert re.search(r"^b .* \d\.\de-\d\d  ", table, flags=re.MULTILINE)
    assert " 0.0000 " not in table


def test_equations_stay_in_one_line():
    torn = 0
    for pad in range(12):
        paragraph = "x" * pad + " at k = 12, p = 0.1 (95 % or less)" * 20
        lines = wrapped(paragraph).splitlines()
        assert len(lines) > 2
        assert not any(re.search(r"(\b[pk]|=|95)$", line) for line in lines)
        assert " ".join(lines).split() == paragraph.split()
        plain = textwrap.wrap(paragraph, 80)
        torn += any(re.search(r"(\b[pk]|=)$", line) for line in plain)
    assert torn


# The page.

VOID = {"meta", "img", "br", "link"}


class Page(HTMLParser):
    """Tags that are open, all that were, addresses, and text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.addresses, self.text, self.alts = [], [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.addresses += [(name, value) for name, value in attrs if name in ("href", "src")]
        self.alts += [value for name, value in attrs if name == "alt"]
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)


@pytest.fixture(scope="module")
def page(nasty, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    text = nasty.to_html(path)
    assert path.read_text(encoding="utf-8") == text
    return text


def test_page_is_balanced_and_stands_alone(page, nasty):
    found = Page(page)
    assert found.open == []
    assert not {"script", "iframe", "link", "object"} & set(found.seen)
    links = [value for name, value in found.addresses if name == "href"]
    assert links
    assert set(links) == {check.url for check in nasty.checks}
    rest = page.replace(DOCUMENTATION, "")
    assert not re.search(r"https?:|//|@import|url\(", rest.split("data:image")[0])
    outside = re.sub(r'src="data:image/svg\+xml;base64,[A-Za-z0-9+/=]+"', "", rest)
    assert not re.search(r"https?:|@import|url\(", outside)
    assert "prefers-color-scheme: dark" in page
    # The checks are folded below a line, and stand after the tables.
    folded = page.split("<details>")[1].split("</details>")[0]
    assert folded.startswith("\n<summary>Checks: 1 finding</summary>\n<ul>\n<li><code>worse-than")
    assert page.count("<li>") == folded.count("<li>") == 1
    assert {check.code for check in nasty.checks} == {"worse-than-chance"}
    assert page.index("<details>") > page.rindex("</table>")
    assert "overflow-x: auto" in page
    assert page.count('<div class="table"><table>') == page.count("<table>")


def test_page_holds_names_as_they_are(page, nasty):
    found = Page(page)
    assert "b" not in found.seen
    text = " ".join(found.text)
    assert [ranker.name for ranker in nasty.rankers][:4] == NASTY[:4]
    assert nasty.rankers[4].name == "two lines\N{REPLACEMENT CHARACTER}[0m"
    for ranker in nasty.rankers:
        assert ranker.name in text
    assert "\x1b" not in page


def test_page_has_pictures(page, nasty):
    found = Page(page)
    sources = [value for name, value in found.addresses if name == "src"]
    # Intervals, differences, a null distribution for each ranking, and hits.
    assert len(sources) == len(found.alts) == 3 + len(nasty.rankers)
    assert all(found.alts)
    for source in sources:
        head, data = source.split(",")
        assert head == "data:image/svg+xml;base64"
        picture = base64.b64decode(data, validate=True).decode()
        assert picture.startswith("<?xml")
        assert picture.rstrip().endswith("</svg>")
    # Letters that the font lacks are left to that of the reader.
    assert any("活性" in base64.b64decode(source.split(",")[1]).decode() for source in sources)


@pytest.mark.usefixtures("straight_curves")
def test_spikes_of_far_null_distributions_are_not_drawn():
    y_true = np.arange(1000) < 30
    scores = {"far": -np.arange(1000.0), "near": RNG.normal(size=1000) + 0.2 * y_true}
    report = rank_significance_report(y_true, scores, k=10)
    assert report.rankers[0].test.zscore > 50 > report.rankers[1].test.zscore
    html = report.to_html()
    assert "near: observed value and null distribution" in html
    assert "far: observed value and null distribution" not in html
    assert "The null distribution is not drawn for far: the observed value is" in html
    (pvalue,) = re.findall("p = [0-9.]+e-[0-9]+", report.rankers[0].test.summary())
    assert f'<span style="white-space: nowrap">{pvalue}</span> for better' in html


def test_picture_of_intervals_has_the_chance_levels_of_the_tables():
    report = rank_significance_report(Y, {"good": GOOD, "tied": TIED}, k=10)
    figure = draw_intervals(report, ["good", "tied"])
    (lines,) = [one for one in figure.axes[0].collections if one.get_label() == "chance level"]
    drawn = [segment[0, 0] for segment in lines.get_segments()]
    assert drawn == [ranker.test.chance for ranker in report.rankers]
    assert drawn[0] != drawn[1]


@pytest.mark.usefixtures("straight_curves")
def test_pages_of_two_rankers_and_of_one_label():
    two = rank_significance_report(Y, {"a": GOOD, "b": NOISE}, k=10, n_resamples=99).to_html()
    assert len([1 for name, _ in Page(two).addresses if name == "src"]) == 5
    empty = Page(rank_significance_report(np.zeros(20, dtype=int), GOOD[:20], k=10).to_html())
    assert empty.open == []
    assert "img" not in empty.seen


def test_notebooks_show_a_part_of_a_page(nasty):
    found = Page(nasty._repr_html_())
    assert found.open == []
    assert not {"html", "body", "img", "script"} & set(found.seen)


@pytest.mark.parametrize(
    ("arguments", "options", "n_pictures"),
    [
        ((Y, NOISE * 0), {}, 2),  # nothing varies, so that no null distribution is drawn
        ((Y_OF_CLUSTERS, SCORE_OF_CLUSTERS), {"clusters": CLUSTERS, "n_resamples": 99}, 2),
        ((Y, TIED), {"metric": RecallAtK(30)}, 3),
        ((Y, TIED), {"metric": "reciprocal_rank"}, 2),
    ],
)
def test_pages_of_other_reports(arguments, options, n_pictures):
    found = Page(rank_significance_report(*arguments, k=10, **options).to_html())
    assert found.open == []
    assert found.seen.count("img") == n_pictures


@pytest.mark.usefixtures("straight_curves")
def test_at_most_six_null_distributions_are_drawn():
    report = rank_significance_report(Y, dict.fromkeys("abcdefgh", GOOD), k=10)
    titles = [title for title, _ in _pictures(report)]
    assert len(titles) == 9
    assert sum("null distribution" in title for title in titles) == 6


# Several classes.


def species():
    rng = np.random.default_rng(0)
    labels = np.array(list("abc"))[rng.integers(3, size=200)]
    table = rng.normal(size=(200, 3)) + (labels[:, None] == np.array(list("abc")))
    return labels, table


def test_several_classes_have_a_report_each():
    labels, table = species()
    found = rank_significance_report(labels, table, k=20, value=3.0, cost=1.0)
    assert list(found) == ["a", "b", "c"]
    for number, (label, report) in enumerate(found.items()):
        one = rank_significance_report(
            labels == label, {"ranking": table[:, number]}, k=20, value=3.0, cost=1.0
        )
        assert report.to_dict() == one.to_dict()
    # An indicator matrix has numbers as the names of its columns.
    indicators = labels[:, None] == np.array(list("abc"))
    numbered = rank_significance_report(indicators, table, k=20)
    assert list(numbered) == [0, 1, 2]
    assert numbered[2].rankers[0].test.pvalue == found["c"].rankers[0].test.pvalue


def test_several_classes_of_several_rankers():
    labels, table = species()
    rankers = {"first": table, "second": -table}
    found = rank_significance_report(labels, rankers, k=20, n_resamples=99)
    one = rank_significance_report(
        labels == "b",
        {name: own[:, 1] for name, own in rankers.items()},
        k=20,
        n_resamples=99,
    )
    assert found["b"].to_dict() == one.to_dict()


def test_several_classes_have_no_common_prevalence():
    with pytest.raises(ValueError, match="prevalence is that of one class, but y_true has several"):
        rank_significance_report(*species(), prevalence=0.1)
