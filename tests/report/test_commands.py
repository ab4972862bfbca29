"""The commands ``rankinf curve`` and ``rankinf plan``, their numbers against the functions' own."""

import io
import itertools
import json
import os
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score, ndcg_score

from sklearn_rankinf import (
    AveragePrecision,
    PrecisionAtK,
    average_precision_test,
    metric_comparison_test,
    metric_interval,
    metric_multiple_comparison_test,
    metric_power,
    metric_test,
    min_detectable_odds,
    min_positives,
    minimum_hypergeometric_test,
    rank_significance_report,
    top_k_significance_curve,
)
from sklearn_rankinf.__main__ import main
from sklearn_rankinf._report import commands as _commands
from sklearn_rankinf._report import study as _study


@pytest.fixture(scope="module")
def scores():
    """Labels, a good score and a coarse one."""
    rng = np.random.default_rng(4)
    y = rng.permutation(np.arange(300) < 15).astype(int)
    noise = rng.standard_normal((2, 300))
    return pd.DataFrame({"hit": y, "good": noise[0] + 1.5 * y, "coarse": np.rint(noise[1])})


@pytest.fixture(scope="module")
def path(scores, tmp_path_factory):
    path = tmp_path_factory.mktemp("curve") / "scores.csv"
    scores.to_csv(path, index=False)
    return str(path)


def unwrapped(text):
    return " ".join(text.split())


def test_curve_agrees_with_the_functions(path, scores, capsys):
    assert main(["curve", path, "--label", "hit", "--score", "good", "--score", "coarse"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100
    for part, name in zip(text.split("\n\n"), ("good", "coarse"), strict=True):
        assert part.startswith(f"{name}\n")
        curve = top_k_significance_curve(scores["hit"], scores[name])
        test = minimum_hypergeometric_test(scores["hit"], scores[name])
        # The p-value of the most significant k is printed once, at the end.
        levels = curve.summary().split("\n", 1)[1]
        assert unwrapped(part) == unwrapped(f"{name} {levels} {test.summary()}")
        assert "for this k alone" not in part


def test_curve_in_json_with_a_picture(path, scores, capsys, tmp_path):
    options = ["--alpha", "0.02", "--max-rank", "0.5", "--plots", str(tmp_path / "new"), "--json"]
    assert main(["curve", path, "--label", "hit", "--score", "good", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    ranking = found["rankings"][0]
    curve = top_k_significance_curve(scores["hit"], scores["good"], alpha=0.02, max_rank=0.5)
    test = minimum_hypergeometric_test(scores["hit"], scores["good"], max_rank=0.5)
    assert ranking["name"] == "good"
    assert ranking["attained_level"] == curve.attained_level.tolist()
    runs = [[list(run) for run in runs] for runs in curve.crossovers_simultaneous]
    assert ranking["crossovers_simultaneous"] == runs
    assert ranking["minimum_hypergeometric"] == test.to_dict()
    assert found["plots"] == [str(tmp_path / "new" / "top_k.png")]
    assert (tmp_path / "new" / "top_k.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--max-rank", "0"], "max_rank must be at least 1 as a number of items; got 0"),
        (["--max-rank", "301"], "max_rank must be between 1 and n_samples=300; got 301"),
        (["--alpha", "1.5"], "alpha must lie between 0 and 1"),
        (["--score", "nothing"], "has no column 'nothing'"),
    ],
)
def test_curve_refuses(path, options, message, capsys):
    assert main(["curve", path, "--label", "hit", "--score", "good", *options]) == 2
    assert message in capsys.readouterr().err


RECALL = {"metric": "recall@30"}
WALLENIUS = (
    "The model of the rankings is wallenius: the odds of a positive against another item are the "
    "same at every rank."
)


def test_plan_for_given_sizes(capsys):
    command = ["plan", "--n", "300", "--m", "15", "--metric", "recall@30"]
    assert main([*command, "--auc", "0.75", "--power", "0.7"]) == 0
    text = unwrapped(capsys.readouterr().out)
    power = metric_power(300, 15, **RECALL, auc=0.75)
    odds = min_detectable_odds(300, 15, **RECALL, power=0.7)
    needed = min_positives(prevalence=0.05, metric="recall@0.1", auc=0.75, power=0.7)
    assert text == unwrapped(
        f"""{power.summary()} With 15 positives among 300 items, the smallest effect detected by
        recall at 30 at the level 0.05 with a power of 0.7 has odds of {odds:.3g} (AUC
        {odds / (1 + odds):.3g}). With a prevalence of 0.05, a study needs {needed} positives among
        {round(needed / 0.05)} items to detect odds of 3 (AUC 0.75) by recall at 10 % at the level
        0.05 with a power of 0.7. {WALLENIUS}"""
    )


def test_plan_shows_its_progress_on_a_terminal(capsys, monkeypatch):
    command = ["plan", "--n", "40", "--m", "8", "--metric", "roc_auc", "--auc", "0.95", "--json"]
    assert main(command) == 0
    plain = capsys.readouterr()
    assert plain.err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(command) == 0
    shown = capsys.readouterr()
    assert shown.out == plain.out
    start, *tried = shown.err.splitlines()
    assert start == "rankinf: searching for the smallest detectable effect"
    needed = json.loads(plain.out)["min_positives"]
    assert f"[min_positives] {needed} positives among {5 * needed} items" in tried


def test_plan_without_an_effect_or_without_sizes(capsys):
    assert main(["plan", "--n", "12", "--m", "3"]) == 0
    odds = min_detectable_odds(12, 3)
    assert f"odds of {odds:.3g} (AUC" in capsys.readouterr().out
    options = ["--metric", "recall@0.1", "--odds", "4", "--alpha", "0.1", "--json"]
    assert main(["plan", "--prevalence", "0.1", *options]) == 0
    needed = min_positives(prevalence=0.1, metric="recall@0.1", odds=4.0, alpha=0.1)
    assert json.loads(capsys.readouterr().out) == {"min_positives": needed}
    assert main(["plan", "--n", "5", "--m", "1"]) == 0
    assert unwrapped(capsys.readouterr().out) == (
        "With 1 positive among 5 items, no effect, however large, is detected by average precision "
        f"at the level 0.05 with a power of 0.8. {WALLENIUS}"
    )


def test_plan_for_another_model(capsys):
    command = ["plan", "--prevalence", "0.1", "--alpha", "0.01", "--power", "0.6"]
    hits = ["--metric", "recall@0.05"]
    assert main([*command, *hits, "--auc", "0.7", "--model", "binormal"]) == 0
    options = {"metric": "recall@0.05", "alpha": 0.01, "power": 0.6}
    needed = min_positives(prevalence=0.1, auc=0.7, model="binormal", **options)
    assert unwrapped(capsys.readouterr().out) == (
        f"With a prevalence of 0.1, a study needs {needed} positives among {10 * needed} items to "
        "detect odds of 2.33 (AUC 0.7) by recall at 5 % at the level 0.01 with a power of 0.6. "
        "The model of the rankings is binormal: the scores of positives and of other items have "
        "normal distributions."
    )
    assert main([*command, *hits, "--odds", "3", "--json"]) == 0
    needed = min_positives(prevalence=0.1, odds=3.0, **options)
    assert json.loads(capsys.readouterr().out) == {"min_positives": needed}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "give either --n and --m, or --prevalence"),
        (["--n", "9"], "give either --n and --m, or --prevalence"),
        (["--m", "9"], "give both --n and --m"),
        (["--n", "9", "--m", "9"], "--m must be from 1 to n - 1; got --n 9 --m 9"),
        (["--n", str(10**30), "--m", "3"], f"--n must be at most {2**63 - 1}; got {10**30}."),
        (["--n", "9", "--m", "3", "--prevalence", "0.1"], "give either --n and --m"),
        (["--prevalence", "0.1"], "--prevalence needs the effect to detect"),
        (["--n", "9", "--m", "3", "--auc", "1"], "auc must lie between 0 and 1, exclusive; got 1"),
        (["--n", "9", "--m", "3", "--odds", "-2"], "odds must be finite and larger than 0"),
        (["--n", "9", "--m", "3", "--metric", "recall"], "recall needs a cut-off"),
        (["--prevalence", "0.1", "--odds", "0.5"], "give --odds above 1, or --auc above 0.5"),
        (["--prevalence", "0.1", "--auc", "0.5"], "give --odds above 1, or --auc above 0.5"),
        (
            ["--n", "9", "--m", "3", "--odds", "2", "--model", "binormal"],
            "needs --auc: give --auc 0.666667",
        ),
        (["--n", "9", "--m", "3", "--metric", "recall@9", "--odds", "2"], "has all items as its"),
    ],
)
def test_plan_refuses(options, message, capsys):
    assert main(["plan", *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith("rankinf plan: error: ")
    assert message in error


def test_a_lack_of_memory_ends_in_one_line(capsys, monkeypatch):
    def power(*sizes, **options):
        return np.empty(2**60, dtype=np.int8)

    monkeypatch.setattr(_commands, "metric_power", power)
    assert main(["plan", "--n", "100", "--m", "9", "--auc", "0.7"]) == 2
    assert capsys.readouterr().err == (
        "rankinf plan: error: the computation needs more memory than is available: give fewer "
        "items.\n"
    )


def test_sentences_are_wrapped(capsys):
    main(["plan", "--n", "300", "--m", "15", "--metric", "recall@30", "--odds", "3"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    assert len(lines) > 3


@pytest.fixture(scope="module")
def three(scores, tmp_path_factory):
    """A file with three scores, and queries and clusters of the items."""
    rng = np.random.default_rng(5)
    named = {"third": rng.standard_normal(300) + scores["hit"]}
    named |= {"query": np.arange(300) % 5, "patient": [f"p{i // 3}" for i in range(300)]}
    path = tmp_path_factory.mktemp("compare") / "scores.tsv"
    scores.assign(**named).to_csv(path, sep="\t", index=False)
    return str(path)


def test_compare_two(three, scores, capsys):
    options = ["--label", "hit", "--score", "good", "--score", "coarse"]
    assert main(["compare", three, *options, "--metric", "recall@0.1"]) == 0
    text = unwrapped(capsys.readouterr().out)
    result = metric_comparison_test(
        scores["hit"], {"good": scores["good"], "coarse": scores["coarse"]}, metric="recall@0.1"
    )
    summary = result.summary().replace("Recall at 30", "Recall at 10 % (k = 30)")
    assert text == unwrapped(f"A is good, B is coarse. {summary}")
    assert main(["compare", three, *options, "--metric", "roc_auc", "--clusters", "patient"]) == 0
    clusters = np.arange(300) // 3
    clustered = metric_comparison_test(
        scores["hit"],
        {"good": scores["good"], "coarse": scores["coarse"]},
        metric="roc_auc",
        clusters=clusters,
    )
    assert unwrapped(clustered.summary()) in unwrapped(capsys.readouterr().out)


def test_the_level_of_comparisons(three, scores, capsys):
    options = ["--label", "hit", "--score", "good", "--score", "third"]
    two = metric_comparison_test(scores["hit"], pd.read_csv(three, sep="\t")[["good", "third"]])
    low, high = two.confidence_interval(0.8)
    alpha, margin = ["--alpha", "0.2"], ["--margin", f"{abs(high) + 1e-6}"]
    assert two.verdict(margin=float(margin[1]), candidate="third").outcome == "inconclusive"
    assert main(["compare", three, *options, *margin]) == 4
    capsys.readouterr()
    assert main(["compare", three, *options, *alpha, *margin]) == 0
    text = unwrapped(capsys.readouterr().out)
    assert f"80 % confidence interval {low:.3g} to {high:.3g}; two-sided" in text
    assert "95 %" not in text
    assert main(["compare", three, *options, *alpha, *margin, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["confidence_level"], found["low"], found["high"]) == (0.8, low, high)
    assert found["verdict"]["confidence_level"] == 0.8
    # Of several rankings.
    options += ["--score", "coarse", "--alpha", "0.001"]
    assert main(["compare", three, *options]) == 0
    frame = pd.read_csv(three, sep="\t")[["good", "third", "coarse"]]
    several = metric_multiple_comparison_test(scores["hit"], frame, confidence_level=0.999)
    text = capsys.readouterr().out
    assert unwrapped(several.summary()) in unwrapped(text)
    assert text.count("99.9 %") == 5


def test_the_level_of_reports(three, scores, capsys):
    options = ["--label", "hit", "--score", "good", "--alpha", "0.001"]
    assert main(["report", three, *options, "--k", "20"]) == 0
    text = capsys.readouterr().out
    found = rank_significance_report(scores["hit"], {"good": scores["good"]}, k=20, alpha=0.001)
    assert text == f"{found}\n"
    assert "significance level 0.001" in text
    assert main(["report", three, *options, "--groups", "query"]) == 0
    queries = [str(i % 5) for i in range(300)]
    interval = metric_interval(
        scores["hit"], scores["good"], groups=queries, confidence_level=0.999
    )
    assert unwrapped(interval.summary()) in unwrapped(capsys.readouterr().out)


@pytest.mark.parametrize("command", ["report", "compare"])
@pytest.mark.parametrize("level", ["0", "1", "5%", "nan"])
def test_levels_between_0_and_1(command, level, capsys):
    with pytest.raises(SystemExit, match="2"):
        main([command, "x.csv", "--label", "y", "--score", "s", "--alpha", level])
    message = f"argument --alpha: {level!r} is not a number between 0 and 1: give a level such as"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "options", "status"),
    [
        (("coarse", "good"), {"margin": 0.01}, 0),
        (("good", "coarse"), {"margin": 0.01}, 3),
        (("good", "third"), {"require": "better"}, 4),
        (("coarse", "good"), {"require": "better", "margin": 0.9}, 3),
        (("good", "coarse"), {"require": "equivalent", "margin": 0.9}, 0),
    ],
)
def test_the_last_ranking_is_judged(
    three, scores, capsys, tmp_path, monkeypatch, given, options, status
):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    command = ["compare", three, "--label", "hit", "--metric", "roc_auc"]
    for name in given:
        command += ["--score", name]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    columns = pd.read_csv(three, sep="\t")
    result = metric_comparison_test(
        scores["hit"], {name: columns[name] for name in given}, metric="roc_auc"
    )
    verdict = result.verdict(candidate=given[1], **options)
    assert main(command) == status == {"pass": 0, "fail": 3, "inconclusive": 4}[verdict.outcome]
    assert unwrapped(verdict.summary()) in unwrapped(capsys.readouterr().out)
    assert main([*command, "--json"]) == status
    assert json.loads(capsys.readouterr().out)["verdict"] == verdict.to_dict()
    head, rule, row, *_ = (tmp_path / "summary.md").read_text().splitlines()
    assert head.count("|") == rule.count("|") == row.count("|") == 8
    assert row.startswith(f"| ROC AUC | {given[1]} | {given[0]} | ")
    assert row.endswith(f" | {verdict.outcome} |")


def test_compare_two_at_another_prevalence(three, scores, capsys):
    options = ["--label", "hit", "--score", "good", "--score", "coarse", "--prevalence", "0.2"]
    assert main(["compare", three, *options]) == 0
    result = metric_comparison_test(
        scores["hit"], {"good": scores["good"], "coarse": scores["coarse"]}, prevalence=0.2
    )
    text = unwrapped(capsys.readouterr().out)
    assert text == unwrapped(f"A is good, B is coarse. {result.summary()}")
    assert main(["compare", three, *options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["prevalence"] == 0.2


def test_compare_two_over_queries_in_json(three, scores, capsys):
    options = ["--label", "hit", "--score", "good", "--score", "coarse", "--groups", "query"]
    assert main(["compare", three, *options, "--lower-is-better", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    result = metric_comparison_test(
        scores["hit"], {"a": -scores["good"], "b": -scores["coarse"]}, groups=np.arange(300) % 5
    )
    assert found["names"] == ["good", "coarse"]
    assert found["difference"] == result.difference
    assert found["pvalue"] == result.pvalue


def test_scores_of_opposite_direction(three, scores, capsys):
    """Columns keep the order of the command line; only those of --lower-score are negated."""
    options = ["--label", "hit", "--lower-score", "coarse", "--score", "good"]
    assert main(["compare", three, *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    result = metric_comparison_test(scores["hit"], {"a": -scores["coarse"], "b": scores["good"]})
    assert found["names"] == ["coarse", "good"]
    assert found["difference"] == result.difference
    assert main(["compare", three, *options, "--lower-is-better", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    both = metric_comparison_test(scores["hit"], {"a": -scores["coarse"], "b": -scores["good"]})
    assert found["difference"] == both.difference
    for command in ("report", "curve"):
        assert main([command, three, *options, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        rows = found["rankers" if command == "report" else "rankings"]
        assert [row["name"] for row in rows] == ["coarse", "good"]
    assert main(["curve", three, "--label", "hit", "--lower-score", "good", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["rankings"][0]
    assert row["minimum_hypergeometric"]["k"] == (
        minimum_hypergeometric_test(scores["hit"], -scores["good"]).k
    )


def test_negated_scores_are_marked_in_the_report(three, capsys):
    options = ["--label", "hit", "--lower-score", "coarse", "--score", "good"]
    assert main(["report", three, *options]) == 0
    text = unwrapped(capsys.readouterr().out)
    note = "Smaller scores mean positives, so that the scores were negated, in: "
    assert f"{note}coarse." in text
    assert main(["report", three, *options, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rankers"]
    assert [(row["name"], row["lower_is_better"]) for row in rows] == [
        ("coarse", True),
        ("good", False),
    ]
    assert main(["report", three, *options, "--lower-is-better"]) == 0
    assert f"{note}coarse, good." in unwrapped(capsys.readouterr().out)
    assert main(["report", three, "--label", "hit", "--score", "good"]) == 0
    assert note not in unwrapped(capsys.readouterr().out)


def test_fractions_are_percentages_in_comparisons(three, capsys):
    options = ["--label", "hit", "--score", "good", "--score", "coarse"]
    options += ["--metric", "enrichment@0.05"]
    assert main(["compare", three, *options]) == 0
    assert "Enrichment at 5 % (k = 15) was " in unwrapped(capsys.readouterr().out)
    assert main(["compare", three, *options, "--score", "third"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Enrichment at 5 % (k = 15)\n")
    assert "the largest enrichment at 5 % (k = 15), " in unwrapped(text)
    assert main(["report", three, *options[:4], "--groups", "query", *options[-2:]]) == 0
    assert "Mean enrichment at 5 % over 5 queries was " in unwrapped(capsys.readouterr().out)


def test_large_whole_numbers_are_no_ties(tmp_path, capsys):
    path = tmp_path / "large.csv"
    numbers = [2**53 + i for i in range(20)]
    rows = "".join(f"{i % 4 == 3:d},{number}\n" for i, number in enumerate(numbers))
    path.write_text(f"hit,score\n{rows}")
    assert main(["report", str(path), "--label", "hit", "--score", "score", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rankers"]
    expected = average_precision_score(np.arange(20) % 4 == 3, np.arange(20))
    assert row["test"]["statistic"] == pytest.approx(expected)


@pytest.mark.parametrize("first", ["--score", "--lower-score"])
def test_a_column_has_one_direction(three, capsys, first):
    second = {"--score": "--lower-score", "--lower-score": "--score"}[first]
    with pytest.raises(SystemExit) as stop:
        main(["report", three, "--label", "hit", first, "good", second, "good"])
    assert stop.value.code == 2
    assert "'good' is given with --score and with --lower-score" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("limit", "metric", "way"),
    [
        (3_000_000, "average_precision", "rank swaps"),
        (2_999_000, "average_precision", "t test of influence values"),
        (2_999_000, "reciprocal_rank", "rank swaps"),
    ],
)
def test_compare_long_rankings_as_the_report_does(
    path, scores, capsys, monkeypatch, limit, metric, way
):
    monkeypatch.setattr(_study, "_SWAPPED_ITEMS", limit)  # 300 items x 9999 permutations
    options = ["--label", "hit", "--score", "good", "--score", "coarse", "--metric", metric]
    assert main(["compare", path, *options]) == 0
    assert f"by {way})" in unwrapped(capsys.readouterr().out)
    assert main(["compare", path, *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    if metric == "average_precision":
        report = rank_significance_report(scores["hit"], scores[["good", "coarse"]])
        assert found["pvalue"] == report.comparison.pvalue


@pytest.mark.parametrize("unit", [[], ["--groups", "query"], ["--clusters", "same"]])
def test_compare_warns_of_reversed_scores(three, scores, capsys, tmp_path, unit):
    same = scores.groupby("hit").cumcount() // 2 + 1000 * scores["hit"]
    path = str(tmp_path / "reversed.csv")
    table = pd.read_csv(three, sep="\t").assign(same=same)
    table["energy"] = -table["good"]
    table.to_csv(path, index=False)
    command = ["compare", path, "--label", "hit", *unit, "--score", "good"]
    assert main([*command, "--score", "energy"]) == 0
    assert capsys.readouterr().err == (
        "rankinf compare: warning: 'energy' is significantly worse than chance: if smaller "
        "scores mean positives, give it with --lower-score; check --pos-label too.\n"
    )
    assert main([*command, "--score", "third", "--lower-score", "energy"]) == 0
    # Five queries are too few for a comparison of three, which is another warning.
    found = capsys.readouterr().err
    assert "worse" not in found
    assert ("With 5 queries no adjusted p-value" in found) == ("--groups" in unit)


@pytest.mark.parametrize("shift", [-1.0, -0.3, 0.0])
def test_warning_follows_the_check_of_the_report(shift, capsys, tmp_path):
    rng = np.random.default_rng(9)
    y = np.arange(500) < 40
    frame = pd.DataFrame({"y": y.astype(int), "s": rng.normal(size=500) + shift * y})
    frame["good"] = rng.normal(size=500) + y
    frame.to_csv(tmp_path / "s.csv", index=False)
    options = ["--label", "y", "--score", "s", "--score", "good"]
    assert main(["compare", str(tmp_path / "s.csv"), *options]) == 0
    codes = [check.code for check in rank_significance_report(y, frame["s"]).checks]
    assert ("'s' is signif" in capsys.readouterr().err) == ("worse-than-chance" in codes)


def test_clusters_with_different_labels_are_compared_without_warning(three, capsys):
    options = ["--label", "hit", "--score", "good", "--lower-score", "third"]
    assert main(["compare", three, *options, "--clusters", "patient"]) == 0
    assert capsys.readouterr().err == ""


def test_compare_several(three, capsys):
    options = ["--score", "good", "--score", "coarse", "--score", "third"]
    assert main(["compare", three, "--label", "hit", *options]) == 0
    frame = pd.read_csv(three, sep="\t")
    names = ["good", "coarse", "third"]
    result = metric_multiple_comparison_test(frame["hit"], frame[names])
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100
    rankers, pairs, sentence = text.split("\n\n")
    assert unwrapped(sentence) == unwrapped(result.summary())
    assert rankers.startswith("Average precision\n")
    board = result.leaderboard().to_frame().set_index("ranker")
    lines = [line.replace(" to ", "-").split() for line in rankers.splitlines()[4:7]]
    values = {name: average_precision_score(frame["hit"], frame[name]) for name in names}
    assert [line[0] for line in lines] == sorted(values, key=values.get, reverse=True)
    for place, (name, value, low, high, difference, pvalue, ranks, letters, best) in enumerate(
        lines
    ):
        row = board.loc[name]
        assert value == f"{values[name]:.4f}"
        expected = limits(metric_interval(frame["hit"], frame[name]))
        assert (low, high) == tuple(f"{limit:.4f}" for limit in expected)
        if place:
            assert float(difference) == pytest.approx(values[name] - max(values.values()), abs=6e-5)
            assert float(pvalue) == pytest.approx(row.pvalue, abs=6e-5)
        else:
            assert (difference, pvalue) == ("-", "-")
        ends = [int(end) for end in ranks.split("-")]
        assert (ends[0], ends[-1]) == (row.rank_low, row.rank_high)
        assert letters == row.letters
        assert best == ("yes" if name in result.best() else "no")
    assert "limits of rank: those of the true rank, which hold for all" in unwrapped(rankers)
    shown = [line.split() for line in pairs.splitlines()[4:7]]
    assert [row[:2] for row in shown] == [list(pair) for pair in itertools.combinations(names, 2)]
    for (one, other, *numbers), pair in zip(shown, range(3), strict=True):
        values = [average_precision_score(frame["hit"], frame[name]) for name in (one, other)]
        expected = [values[0] - values[1], result.low[pair], result.high[pair], result.pvalue[pair]]
        assert list(map(float, numbers)) == pytest.approx(expected, rel=0.06, abs=6e-5)
    assert pairs.splitlines()[7].endswith("p-values of the differences are adjusted for all pairs.")


def test_compare_many_shows_the_leaderboard_alone(tmp_path, capsys):
    rng = np.random.default_rng(6)
    hit = np.arange(120) < 20
    names = [f"s{i}" for i in range(11)]
    columns = {name: rng.normal(size=120) + hit * i / 4 for i, name in enumerate(names)}
    path = str(tmp_path / "many.csv")
    pd.DataFrame({"hit": hit.astype(int), **columns}).to_csv(path, index=False)
    options = [part for name in names for part in ("--score", name)]
    assert main(["compare", path, "--label", "hit", *options, "--metric", "roc_auc"]) == 0
    rankers, sentence = capsys.readouterr().out.split("\n\n")
    assert len(rankers.splitlines()) == 4 + 11 + 3
    assert unwrapped(sentence).startswith("Of 11 rankers")
    assert main(["compare", path, "--label", "hit", *options, "--metric", "roc_auc", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["pvalue"]) == 55
    assert len(found["rank_low"]) == len(found["letters"]) == 11


def limits(interval):
    return interval.low, interval.high


def test_compare_several_over_queries_in_json(three, scores, capsys):
    options = ["--label", "hit", "--score", "good", "--score", "third", "--lower-score", "coarse"]
    options += ["--groups", "query", "--metric", "ndcg@10"]
    assert main(["compare", three, *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    frame = pd.read_csv(three, sep="\t")
    columns = {"good": frame["good"], "third": frame["third"], "coarse": -frame["coarse"]}
    chosen = {"metric": "ndcg@10", "groups": np.arange(300) % 5}
    with pytest.warns(UserWarning, match="With 5 queries no adjusted p-value can be below"):
        result = metric_multiple_comparison_test(frame["hit"], columns, **chosen)
    assert found["low"] == found["high"] == [None] * 3  # infinite
    assert found["pvalue"] == result.pvalue.tolist()
    assert found["best"] == result.best()
    assert list(found["intervals"]) == list(columns)
    for name, score in columns.items():
        values = [
            ndcg_score([frame["hit"][own]], [score[own]], k=10, ignore_ties=name != "coarse")
            for own in (np.arange(300) % 5 == query for query in range(5))
        ]
        interval = found["intervals"][name]
        assert interval["statistic"] == pytest.approx(np.mean(values), rel=1e-12)
        t = stats.t.interval(0.95, 4, np.mean(values), stats.sem(values))
        assert (interval["low"], interval["high"]) == pytest.approx(t)
        assert interval["standard_error"] == pytest.approx(stats.sem(values))
    assert found["best_pvalue"] == result.best_pvalue.tolist()
    assert found["may_be_best"] == result.may_be_best.tolist()
    assert main(["compare", three, *options]) == 0
    assert capsys.readouterr().out.startswith("Mean NDCG at 10 over 5 queries\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--score", "good"], "each with --score or --lower-score; got only 'good'"),
        (
            ["--score", "good", "--score", "good"],
            "give every column of scores once; got good, good",
        ),
        (["--score", "good", "--score", "coarse", "--metric", "auc"], "did you mean 'roc_auc'"),
        (
            ["--score", "good", "--score", "coarse", "--metric", "recall"],
            "recall needs a cut-off",
        ),
        (["--score", "good", "--score", "coarse", "--clusters", "nope"], "has no column 'nope'"),
        (
            ["--score", "good", "--score", "coarse", "--score", "third", "--prevalence", "0.1"],
            "--prevalence compares two rankings, and needs two columns of scores; got 3",
        ),
        (
            ["--score", "good", "--score", "coarse", "--groups", "query", "--prevalence", "0.1"],
            "prevalence cannot be combined with groups",
        ),
        (
            ["--score", "good", "--score", "coarse", "--require", "equivalent"],
            "require='equivalent' needs a margin",
        ),
        (
            ["--score", "good", "--score", "coarse", "--score", "third", "--margin", "0.1"],
            "--margin and --require judge one ranking by another, and need two columns",
        ),
    ],
)
def test_compare_refuses(three, options, message, capsys):
    assert main(["compare", three, "--label", "hit", *options]) == 2
    assert message in capsys.readouterr().err


def test_report_over_queries(three, scores, capsys):
    options = ["--label", "hit", "--score", "good", "--groups", "query"]
    assert main(["report", three, *options]) == 0
    queries = [str(i % 5) for i in range(300)]
    test = average_precision_test(scores["hit"], scores["good"], groups=queries)
    interval = metric_interval(scores["hit"], scores["good"], groups=queries)
    text = unwrapped(capsys.readouterr().out)
    assert text == unwrapped(f"good {test.summary()} {interval.summary()}")
    assert main(["report", three, *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["rankings"][0]
    assert found["interval"]["low"] == interval.low
    as_json = json.dumps(test.to_dict(), default=lambda value: np.asarray(value).tolist())
    assert found["test"] == json.loads(as_json)
    for option in (["--html", "x.html"], ["--plots", "x"], ["--k", "10"]):
        assert main(["report", three, *options, *option]) == 2
        message = f"{option[0]} cannot be combined with --groups"
        assert message in capsys.readouterr().err


def test_report_over_queries_by_other_metrics(three, scores, capsys):
    options = ["--label", "hit", "--score", "good", "--groups", "query"]
    more = ["--metric", "precision@10", "--metric", "average_precision@10"]
    assert main(["report", three, *options, *more, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rankings"]
    assert [(row["name"], row["metric"]) for row in rows] == [
        ("good", "PrecisionAtK(k=10)"),
        ("good", "AveragePrecision(k=10)"),
    ]
    queries = np.arange(300) % 5
    for row, metric in zip(rows, (PrecisionAtK(10), AveragePrecision(10)), strict=True):
        test = metric_test(scores["hit"], scores["good"], metric=metric, groups=queries)
        assert row["test"]["pvalue"] == test.pvalue
        assert row["test"]["query_pvalue"] == test.query_pvalue.tolist()
    precisions = []
    for query in range(5):
        own = scores[np.arange(300) % 5 == query]
        precisions.append(own.nlargest(10, "good")["hit"].mean())
    found = rows[0]["interval"]
    t = stats.t.interval(0.95, 4, np.mean(precisions), stats.sem(precisions))
    assert found["statistic"] == pytest.approx(np.mean(precisions))
    assert (found["low"], found["high"]) == pytest.approx(t)
    assert main(["report", three, *options, "--metric", "roc_auc"]) == 0
    text = unwrapped(capsys.readouterr().out)
    assert text.startswith("good Mean ROC AUC over 5 queries was 0.")
    assert main(["report", three, *options, "--metric", "reciprocal_rank"]) == 0
    assert "Mean reciprocal rank over 5 queries was" in unwrapped(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--metric", "recall"], "recall needs a cut-off"),
        (["--metric", "roc_auc@10"], "roc_auc has no cut-off; pass metric='roc_auc'"),
        (["--metric", "auc"], "did you mean 'roc_auc'"),
        (["--metric", "ndcg@0"], "k must be at least 1 as a number of items; got 0"),
    ],
)
def test_report_over_queries_refuses(three, capsys, options, message):
    command = ["report", three, "--label", "hit", "--score", "good", "--groups", "query"]
    assert main([*command, *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("straight_curves")
def test_report_as_a_page(scores, capsys, tmp_path, monkeypatch):
    page = tmp_path / "report.html"
    page.write_text("old")
    few = pd.concat([scores[scores["hit"] == 1], scores[scores["hit"] == 0].head(45)])
    for name, code in ((str(page), 0), (str(tmp_path / "nowhere" / "report.html"), 2)):
        text = io.BytesIO(few.to_csv(index=False).encode())  # an input in memory has no file
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(text))
        assert main(["report", "-", "--label", "hit", "--score", "good", "--html", name]) == code
        captured = capsys.readouterr()
        assert f"wrote {name}" in captured.out if code == 0 else "cannot write" in captured.err
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("other", ["scores.csv", "./scores.csv", "link.csv", "hard.csv"])
@pytest.mark.parametrize("from_input", [False, True])
def test_a_page_does_not_replace_the_scores(
    scores, capsys, tmp_path, monkeypatch, other, from_input
):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "scores.csv"
    scores.to_csv(path, index=False)
    (tmp_path / "link.csv").symlink_to(path)
    os.link(path, tmp_path / "hard.csv")
    before = path.read_bytes()
    with path.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        name = "-" if from_input else "scores.csv"
        assert main(["report", name, "--label", "hit", "--score", "good", "--html", other]) == 2
    assert capsys.readouterr().err == (
        f"rankinf report: error: --html {other} is the file with the scores: give another name.\n"
    )
    assert path.read_bytes() == before


def test_a_warning_is_one_line_and_shown_once(tmp_path, capsys):
    rng = np.random.default_rng(0)
    query = np.repeat(np.arange(6), 20)
    relevant = (np.arange(120) % 20 < 3) & (query > 0)
    frame = pd.DataFrame({"query": query, "relevant": relevant, "score": rng.normal(size=120)})
    frame.to_csv(tmp_path / "run.csv", index=False)
    file = str(tmp_path / "run.csv")
    options = ["--label", "relevant", "--score", "score", "--groups", "query"]
    assert main(["report", file, *options]) == 0
    assert capsys.readouterr().err == (
        "rankinf report: warning: 1 of 6 queries have no positives in y_true ('0'); their average "
        "precision counts as 0.\n"
    )
