"""The command line, run as a person runs it, its numbers against scikit-learn's own."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import json
import lzma
import os
import re
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from by_name import dcg_test
from oracles import simulate_average_precision
from scipy import stats
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

import sklearn_rankinf
from sklearn_rankinf import (
    average_precision_test,
    metric_interval,
    metric_multiple_comparison_test,
    metric_test,
    min_hits_at_k,
    optimal_cutoff,
    recall_at_k_test,
)
from sklearn_rankinf.__main__ import main
from sklearn_rankinf._report import demo as _demo
from sklearn_rankinf._report.report import DEFAULT_K
from sklearn_rankinf._results import format_count, format_pvalue

RANKERS = ("nearest neighbours", "support vectors", "logistic regression", "amount of ink")


def cells_by_name(text: str, names: Sequence[str]) -> list[dict[str, list[str]]]:
    """Return the cells behind the names in each table of a text."""
    tables: list[dict[str, list[str]]] = []
    for name in names:
        lines = re.findall(rf"^{name} +(\d.*)$", text, flags=re.MULTILINE)
        assert lines, f"no row for {name!r} in:\n{text}"
        tables += [{} for _ in range(len(lines) - len(tables))]
        for table, line in zip(tables, lines, strict=True):
            table[name] = line.split()
    return tables


@pytest.fixture(scope="module")
def table(demo):
    """Cells of the table of average precision, by ranker."""
    return cells_by_name(demo.text, RANKERS)[0]


def test_demo_succeeds_and_shows_its_progress(demo):
    assert demo.code == 0
    for number, name in enumerate(RANKERS[:3], start=1):
        assert f"[{number}/3] {name}" in demo.text
    assert "What to do next" in demo.text


def test_demo_fits_a_terminal(demo):
    lines = demo.text.splitlines()
    assert max(len(line) for line in lines if not line.startswith("wrote ")) <= 80


def test_demo_problem_is_a_rare_target_problem(demo):
    X_train, X_test, y_train, y_test = _demo.rare_digit_problem()
    assert 0.02 <= y_train.mean() <= 0.03
    assert 0.02 <= y_test.mean() <= 0.03
    assert not {row.tobytes() for row in X_train[y_train == 1]} & {
        row.tobytes() for row in X_test[y_test == 1]
    }


def test_demo_average_precision_is_scikit_learns(demo, table):
    assert set(demo.held_out) == set(RANKERS)
    for name, cells in table.items():
        y_true, y_score = demo.held_out[name]
        assert (len(y_true), y_true.sum()) == (832, 20)
        assert float(cells[0]) == pytest.approx(average_precision_score(y_true, y_score), abs=6e-5)


@pytest.mark.parametrize("name", RANKERS)
def test_demo_null_moments_are_those_of_permuted_labels(demo, table, name):
    y_true, y_score = demo.held_out[name]
    rng = np.random.default_rng(20261121)
    tie_sizes = np.unique(-y_score, return_counts=True)[1]
    null = simulate_average_precision(rng, tie_sizes, int(np.sum(y_true)), 600)
    observed, chance, zscore = map(float, table[name][:3])
    standard_error = null.std() / np.sqrt(len(null))
    assert chance == pytest.approx(null.mean(), abs=5 * standard_error + 5e-5)
    # The null is skewed, so its sample standard deviation is itself uncertain by some per cent.
    assert zscore == pytest.approx((observed - chance) / null.std(), rel=0.25)


def test_demo_exact_pvalue_agrees_with_scikit_learn_on_permuted_labels(demo, table):
    y_true, y_score = demo.held_out["amount of ink"]
    rng = np.random.default_rng(7)
    observed = average_precision_score(y_true, y_score)
    n_resamples = 400
    exceed = sum(
        average_precision_score(rng.permutation(y_true), y_score) >= observed * (1 - 1e-12)
        for _ in range(n_resamples)
    )
    exact, permutation = map(float, table["amount of ink"][3:5])
    error = np.sqrt(exact * (1 - exact) / n_resamples)
    assert exceed / n_resamples == pytest.approx(exact, abs=4 * error)
    assert permutation == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 9999) + 1e-4)


def test_demo_trained_rankers_are_past_the_permutation_floor(demo, table):
    for name in RANKERS[:3]:
        exact, permutation, normal = table[name][3:6]
        assert permutation == "1.0e-04"
        assert float(exact) < 1e-8
        # float("1.0e-400") is 0.0, which is smaller all the same.
        assert float(normal) < float(exact) * 1e-3
    assert "cannot be smaller than 1/(B + 1) = 1/10000" in demo.text
    assert "orders of magnitude too small" in demo.text


def test_demo_ends_with_the_best_ranker_and_sentences_for_a_paper(demo, table):
    flat = " ".join(demo.text.split())
    best, *others = sorted(table, key=lambda name: -float(table[name][0]))
    scores = {name: score for name, (_, score) in demo.held_out.items()}
    y_true = demo.held_out[best][0]
    compared = metric_multiple_comparison_test(y_true, scores, reference="best")
    rivals = [name for name in compared.best() if name != best]
    assert rivals == others[:1]
    assert f"Conclusion The best ranking may be {best} or {rivals[0]}; {best} has the" in flat
    assert "Not established: amount of ink better than chance;" in flat
    end = flat.split("Sentences for a paper ")[1]
    assert end.startswith(f"{best}: Average precision was {float(table[best][0]):.3g} (95 % confid")
    assert f" p = {table[best][3]} for better than chance (exact test" in end
    assert end.endswith(compared.summary())


@pytest.mark.parametrize(
    ("log10_pvalue", "text"),
    [
        (0.0, "1.0000"),
        (-3.0, "0.0010"),
        (-3.0001, "1.0e-03"),
        (-400.25, "5.6e-401"),
        (-np.inf, "0"),
    ],
)
def test_format_pvalue(log10_pvalue, text):
    assert format_pvalue(log10_pvalue) == text


@pytest.mark.parametrize(("count", "text"), [(3.0, "3"), (0.1 * 30, "3"), (2.25, "2.25")])
def test_format_count(count, text):
    assert format_count(count) == text


def test_demo_hits_are_hypergeometric(demo):
    assert "Hits among the first 50" in demo.text
    for name, (hits, chance, needed, recall, enrichment, pvalue) in cells_by_name(
        demo.text, RANKERS
    )[1].items():
        y_true, y_score = demo.held_out[name]
        null = stats.hypergeom(len(y_true), int(y_true.sum()), 50)
        assert float(chance) == pytest.approx(null.mean(), abs=0.06)
        assert null.sf(int(needed) - 1) <= 0.05 < null.sf(int(needed) - 2)
        cut = np.sort(y_score)[::-1][[49, 50]]
        if cut[0] == cut[1]:
            in_block = y_true[y_score == cut[0]]
            assert hits.endswith("*") == (0 < in_block.sum() < in_block.size)
            continue
        assert int(hits) == y_true[y_score >= cut[0]].sum()
        assert float(recall) == pytest.approx(int(hits) / y_true.sum(), abs=6e-5)
        assert float(pvalue) == pytest.approx(null.sf(int(hits) - 1), rel=0.06)
        assert float(enrichment) == pytest.approx(int(hits) / null.mean(), abs=6e-3)


def test_demo_writes_plots(demo):
    names = ["amount_of_ink", "logistic_regression", "nearest_neighbours", "support_vectors"]
    assert [path.name for path in demo.plots] == [f"{name}.png" for name in names]
    for path in demo.plots:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert f"wrote {path}" in demo.text


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.strip() == f"rankinf {sklearn_rankinf.__version__}"


def test_help_names_the_commands(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert "demo" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["dance"], "invalid choice: 'dance'"),
        (["demo", "--fast"], "unrecognized arguments: --fast"),
    ],
)
def test_wrong_arguments_are_named(argv, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    y = np.zeros(200, dtype=int)
    y[rng.choice(200, 15, replace=False)] = 1
    return pd.DataFrame(
        {
            "y": y,
            "name": np.where(y == 1, "active", "decoy"),
            "truth": y == 1,
            "group": np.arange(200) % 3,
            "s1": y + rng.normal(size=200),
            "s 2/b": np.round(2 * y + rng.normal(size=200)),
            "missing": np.where(np.arange(200) == 6, np.nan, 1.0),
            "infinite": np.where(np.arange(200) == 8, np.inf, 1.0),
            "text": np.where(np.arange(200) == 4, "good", "0.5"),
        }
    )


@pytest.fixture(scope="module")
def csv(frame, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("report") / "rankings.csv"
    frame.to_csv(path, index=False)
    return str(path)


def test_report_prints_the_results_of_the_tests(frame, csv, capsys):
    argv = ["report", csv, "--label", "y", "--score", "s1", "--score", "s 2/b"]
    assert main([*argv, "--k", "20", "--k", "0.25"]) == 0
    text = capsys.readouterr().out
    summary, *hits = cells_by_name(text, ["s1", "s 2/b"])[:3]
    for name in ("s1", "s 2/b"):
        result = average_precision_test(frame["y"], frame[name])
        interval = result.confidence_interval()
        assert summary[name] == [
            f"{average_precision_score(frame['y'], frame[name]):.4f}",
            f"{interval.low:.4f}",
            f"{interval.high:.4f}",
            f"{result.null_distribution.mean():.4f}",
            f"{result.adjusted_statistic:.4f}",
            f"{result.zscore:.2f}",
            format_pvalue(result.log10_pvalue),
            f"{result.pvalue_relative_error:.0e}",
        ]
        for k, table in zip((20, 50), hits, strict=True):
            at_k = recall_at_k_test(frame["y"], frame[name], k=k)
            star = "" if float(at_k.hits).is_integer() else "*"
            assert table[name] == [
                f"{format_count(at_k.hits)}{star}",
                f"{15 * k / 200:.1f}",
                str(min_hits_at_k(200, 15, k=k)),
                f"{at_k.statistic:.4f}",
                f"{at_k.hits / (15 * k / 200):.2f}",
                format_pvalue(at_k.log10_pvalue),
            ]
    assert text.startswith("Rank significance report\n15 positives among 200 items (7.5 %)")
    assert "\n\nConclusion\n  The best ranking is s 2/b, with the largest average" in text
    assert "Hits among the first 50" in text
    assert "* A block of equal scores contains the cut-off" in text


def test_report_for_a_use(frame, csv, capsys):
    argv = ["report", csv, "--label", "y", "--score", "s1", "--json", "--prevalence", "0.02"]
    assert main([*argv, "--value", "4", "--cost", "1.5"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["rankers"]
    with pytest.warns(UserWarning, match="rests on about 3.7 of the 185 negatives"):
        expected = metric_interval(frame["y"], frame["s1"], prevalence=0.02)
    assert found["in_population"] == expected.to_dict()
    best = optimal_cutoff(frame["y"], frame["s1"], value=4.0, cost=1.5)
    assert found["cutoff"] == best.to_dict()
    assert main(argv) == 0
    (found,) = json.loads(capsys.readouterr().out)["rankers"]
    assert found["cutoff"] is None
    for unit, option in (("groups", "value"), ("clusters", "prevalence")):
        argv = ["report", csv, "--label", "y", "--score", "s1", f"--{unit}", "group"]
        assert main([*argv, f"--{option}", "0.5"]) == 2
        message = f"--{option} cannot be combined with --{unit}: its limits need independent"
        assert message in one_line_of_error(capsys)


def test_report_of_other_metrics(frame, csv, capsys):
    argv = ["report", csv, "--label", "y", "--score", "s1", "--score", "s 2/b"]
    argv += ["--k", "20", "--metric", "roc_auc", "--metric", "ndcg"]
    assert main(argv) == 0
    text = capsys.readouterr().out
    tables = cells_by_name(text, ["s1", "s 2/b"])[-2:]
    assert re.findall("^(ROC AUC|NDCG)$", text, flags=re.MULTILINE) == ["ROC AUC", "NDCG"]
    assert main([*argv, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rankers"]
    for name, row in zip(("s1", "s 2/b"), rows, strict=True):
        y_true, y_score = frame["y"], frame[name]
        expected = {
            "RocAuc()": (
                roc_auc_score(y_true, y_score),
                metric_test(y_true, y_score, metric="roc_auc"),
            ),
            "DiscountedCumulativeGain(normalize=True)": (
                ndcg_score([y_true], [y_score]),
                dcg_test(y_true, y_score, normalize=True),
            ),
        }
        assert [entry["metric"] for entry in row["metrics"]] == list(expected)
        for entry, table in zip(row["metrics"], tables, strict=True):
            value, result = expected[entry["metric"]]
            assert entry["statistic"] == pytest.approx(value, rel=1e-12)
            assert entry["chance"] == result.null_distribution.mean()
            assert entry["log10_pvalue"] == pytest.approx(result.log10_pvalue, rel=1e-9)
            assert entry["pvalue"] == pytest.approx(result.pvalue, rel=1e-9)
            assert table[name] == [
                f"{value:.4f}",
                f"{entry['chance']:.4f}",
                f"{result.adjusted_statistic:.4f}",
                f"{result.zscore:.2f}",
                format_pvalue(result.log10_pvalue),
            ]


def test_report_of_clusters(frame, tmp_path, capsys):
    path, pairs = tmp_path / "clusters.csv", np.arange(200) // 2
    table = frame.assign(pair=pairs, both=frame["y"].to_numpy()[pairs * 2])
    table.to_csv(path, index=False)
    argv = ["report", str(path), "--label", "both", "--score", "s1", "--clusters", "pair"]
    assert main([*argv, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rankers"]
    expected = average_precision_test(table["both"], table["s1"], clusters=pairs)
    assert row["test"] == expected.to_dict()
    assert main([*argv, "--metric", "roc_auc"]) == 2
    assert "--metric cannot be combined with --clusters" in capsys.readouterr().err
    argv[3] = "y"
    directory = tmp_path / "plots"
    assert main([*argv, "--json", "--plots", str(directory)]) == 0
    found = json.loads(capsys.readouterr().out)
    (row,) = found["rankers"]
    assert found["checks"][0]["code"] == "mixed-clusters"
    assert (row["test"]["pvalue"], found["plots"]) == (None, {})
    assert row["interval"]["low"] < row["test"]["statistic"] < row["interval"]["high"]


def test_report_states_where_no_number_of_hits_is_enough(frame, csv, capsys):
    # One place among 200 with 15 positives: p = 0.075 at best.
    assert main(["report", csv, "--label", "y", "--score", "s1", "--k", "1"]) == 0
    text = capsys.readouterr().out
    (hits,) = cells_by_name(text, ["1"])
    assert hits["1"][2] == "never"
    assert "\nnever: at this k no number of hits is significant.\n" in text
    assert main(["report", csv, "--label", "y", "--score", "s1", "--k", "20"]) == 0
    assert "never" not in capsys.readouterr().out


def test_report_hints_at_a_reversed_direction(tmp_path, capsys):
    rng = np.random.default_rng(3)
    y = np.repeat([1, 0], [12, 188])
    noise = rng.normal(size=200)
    noise -= (noise[:12].mean() - noise.mean()) * y  # neither better nor worse than chance
    columns = {"good": y + noise, "reversed": -2.0 * y + noise, "noise": noise}
    path = tmp_path / "directions.csv"
    pd.DataFrame({"y": y, **columns}).to_csv(path, index=False)
    scores = [part for name in columns for part in ("--score", name)]
    argv = ["report", str(path), "--label", "y", *scores]
    assert main(argv) == 0
    text = capsys.readouterr().out
    flat = " ".join(text.split())
    assert "; reversed worse than chance; " in flat
    hints = re.findall(r"chance \((\w+)\): [^(]*\(p = (\S+) for a value this low\)", flat)
    assert main([*argv, "--json"]) == 0
    rows = {
        row["name"]: row["pvalue_less"] for row in json.loads(capsys.readouterr().out)["rankers"]
    }
    drawn = simulate_average_precision(rng, [1] * 200, 12, 1000)
    for name, score in columns.items():
        observed = average_precision_score(y, score)
        lower = np.mean(drawn <= observed * (1 + 1e-12))
        error = np.sqrt(max(rows[name] * (1 - rows[name]), 2e-3) / 1000)
        assert rows[name] == pytest.approx(lower, abs=4 * error)
    assert rows["reversed"] < 0.05 < min(rows["noise"], rows["good"])
    assert hints == [("reversed", f"{rows['reversed']:.2g}")]
    assert "  worse-than-chance (reversed): The ranking is worse than chance" in text
    assert "negate the scores if smaller scores do" in flat


def test_report_prints_json(frame, csv, capsys, tmp_path):
    argv = ["report", csv, "--label", "name", "--pos-label", "active", "--score", "s1"]
    assert main([*argv, "--k", "20", "--json", "--plots", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    (row,) = found["rankers"]
    assert row["name"] == "s1"
    assert row["test"] == average_precision_test(frame["y"], frame["s1"]).to_dict()
    assert (found["n_samples"], found["n_positives"]) == (200, 15)
    hits = frame.nlargest(20, "s1")["y"].sum()
    (at_k,) = row["at_k"]
    assert (at_k["k"], at_k["hits"], at_k["tied_ranks"]) == (20, hits, None)
    assert (at_k["test"]["statistic"], at_k["precision"]) == pytest.approx((hits / 15, hits / 20))
    pvalue = stats.hypergeom(200, 15, 20).sf(hits - 1)
    assert at_k["test"]["pvalue"] == pytest.approx(pvalue, rel=1e-9)
    assert found["plots"] == {"s1": str(tmp_path / "s1.png")}


def test_plots_of_similar_names_do_not_overwrite_each_other(frame, tmp_path, capsys):
    path = tmp_path / "similar.csv"
    columns = ["a b", "a/b", "A_b", "%"]
    pd.DataFrame({"y": frame["y"], **dict.fromkeys(columns, frame["s1"])}).to_csv(path, index=False)
    scores = [part for name in columns for part in ("--score", name)]
    assert main(["report", str(path), "--label", "y", *scores, "--plots", str(tmp_path / "p")]) == 0
    written = sorted(file.name for file in (tmp_path / "p").iterdir())
    assert written == ["A_b_3.png", "a_b.png", "a_b_2.png", "ranking.png"]
    capsys.readouterr()


def test_report_takes_the_label_of_the_option(frame, csv, capsys):
    assert main(["report", csv, "--label", "y", "--pos-label", "0", "--score", "s1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rankers"]
    assert row["test"]["n_positives"] == 185


WRONG_REPORTS = {
    "label": (["--label", "z"], "has no column 'z'; its columns are 'y', 'name', 'truth'"),
    "score": (["--score", "s9"], "has no column 's9'; its columns are 'y', 'name', 'truth'"),
    "label as score": (["--score", "y"], "column 'y' cannot be both --label and a column of"),
    "text": (
        ["--score", "text"],
        "column 'text' is not numeric: row 5 below the header has 'good'.",
    ),
    "missing": (
        ["--score", "missing"],
        "'missing' has missing values in 1 of 200 rows.* row 7 below the header: r",
    ),
    "missing label": (["--label", "missing"], "'missing' has missing values in 1 of 200 rows"),
    "infinite": (
        ["--score", "infinite"],
        "'infinite' has an infinite value in row 9 below the header:",
    ),
    "labels": (["--label", "group"], "'group' must have two different labels; it has 3: 0, 1, 2."),
    "many labels": (["--label", "s 2/b"], "it has 7: .*, ...\\.$"),
    "strings": (["--label", "name"], "'active', 'decoy': give the positive one with --pos-label."),
    "pos_label": (["--pos-label", "x"], "the labels 0, 1: --pos-label x is not one of them."),
    "large k": (["--k", "201"], "k must be between 1 and n_samples=200; got 201."),
    "small k": (["--k", "0"], "k must be at least 1 as a number of items; got 0."),
    "metric": (["--metric", "auc"], r"metric='auc' is unknown: did you mean 'roc_auc'\?$"),
    "metric at k": (["--metric", "recall"], "recall needs a cut-off"),
    "prevalence": (["--prevalence", "0.001"], "too few for a value: at least 2000 negatives"),
    "value alone": (["--value", "3"], "value=3.0 and cost=None: pass both"),
    "float k": (["--k", "1.5"], "k as a float is a fraction of the items .*; got 1.5."),
}


def one_line_of_error(capsys, command="report"):
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert captured.err.startswith(f"rankinf {command}: error: ")
    return captured.err.strip()


@pytest.mark.parametrize("case", WRONG_REPORTS)
def test_wrong_reports_end_in_one_line(csv, capsys, case):
    options, message = WRONG_REPORTS[case]
    # Of an option that is given twice argparse takes the last, or both.
    assert main(["report", csv, "--label", "y", "--score", "s1", *options]) == 2
    assert re.search(message, one_line_of_error(capsys))


def test_wrong_files_end_in_one_line(tmp_path, capsys):
    def error_for(path, *options):
        assert main(["report", str(path), "--label", "y", "--score", "s", *options]) == 2
        return one_line_of_error(capsys)

    assert "cannot read" in error_for(tmp_path / "nowhere.csv")
    assert "cannot read" in error_for(tmp_path)
    path = tmp_path / "file.csv"
    path.write_text("")
    assert "cannot be read as a table: No columns" in error_for(path)
    path.write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    assert "is not encoded in UTF-8: save it as UTF-8 text." in error_for(path)
    path.write_text("y,s\n1,2,3,4\n5,6,7,8,9\n")
    assert "cannot be read as a table" in error_for(path)
    path.write_text("y,s\n" + "0,1\n1,2\n" * 100_000 + "0,x\n")
    assert "the score column 's' is not numeric: row 200001 below the header has 'x'." in error_for(
        path
    )
    path.write_text("y,s\n")
    assert "has no rows below its header line." in error_for(path)
    path.write_text("y,s\n0,1\n0,2\n")
    assert "has only one label, 0: a test needs both positives and negatives." in error_for(path)
    path.write_text("y,s\n0,1\n1,2\n")
    assert "cannot write plots to" in error_for(path, "--plots", str(path))


def broken_archives() -> dict[str, bytes]:
    """Bytes by the name of a file whose ending promises an archive."""
    text = "".join(f"{i % 2},{i * 37 % 101}\n" for i in range(3000)).encode()
    zipped, tarred = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", b"y,s\n" + text)
    with tarfile.open(fileobj=tarred, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("table.csv"))
    whole = {
        "zip": zipped.getvalue(),
        "gz": gzip.compress(b"y,s\n" + text),
        "bz2": bz2.compress(b"y,s\n" + text),
        "xz": lzma.compress(b"y,s\n" + text),
        "tar.gz": tarred.getvalue(),
    }
    files = {f"junk.csv.{ending}": b"no archive, but plain text" for ending in whole}
    files |= {f"cut.csv.{ending}": data[: len(data) // 2] for ending, data in whole.items()}
    for ending in ("zip", "gz", "bz2", "xz"):
        flipped = bytearray(whole[ending])
        for place in range(len(flipped) // 2, len(flipped) // 2 + 8):
            flipped[place] ^= 0xFF
        files[f"flipped.csv.{ending}"] = bytes(flipped)
    return files


@pytest.mark.parametrize("name", broken_archives())
def test_broken_archives_end_in_one_line(tmp_path, capsys, name):
    path = tmp_path / name
    path.write_bytes(broken_archives()[name])
    assert main(["report", str(path), "--label", "y", "--score", "s"]) == 2
    message = one_line_of_error(capsys)
    assert re.search(rf"cannot (unpack|read) '{re.escape(str(path))}': \w", message)


# The process of the command, as a shell runs it

COMMANDS = {
    "module": [sys.executable, "-m", "sklearn_rankinf"],
    "script": [
        sys.executable,
        "-c",
        "import sys; sys.argv[0] = '/usr/bin/rankinf'; "
        "from sklearn_rankinf.__main__ import main; sys.exit(main())",
    ],
}
# Python's own buffer, whatever the environment of the tests.
PLAIN = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
unix = pytest.mark.skipif(os.name != "posix", reason="pipes, signals and devices of Unix")


def run(command, **options):
    options = {"stdout": subprocess.PIPE, "env": PLAIN} | options
    return subprocess.run(
        command, stderr=subprocess.PIPE, text=True, encoding="utf-8", check=False, **options
    )


@pytest.fixture(autouse=True, scope="module")
def _interrupts():
    """Processes that a shell starts in the background ignore interrupts, and so do theirs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@unix
def test_a_closed_pipe_ends_in_one_line(csv):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        argv = ["report", csv, "--label", "y", "--score", "s1"]
        done = run([*COMMANDS["module"], *argv], stdout=writing)
    finally:
        os.close(writing)
    assert done.returncode == 128 + signal.SIGPIPE
    assert done.stderr == "rankinf: error: the output was closed before its end.\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs the device /dev/full")
def test_a_full_disk_ends_in_one_line(capsys, monkeypatch):
    # argparse writes this message and ends the process.
    with open("/dev/full", "w") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        assert main(["--version"]) == 1
    reason = os.strerror(errno.ENOSPC)
    assert capsys.readouterr().err == f"rankinf: error: cannot write the output: {reason}.\n"


def test_names_that_a_terminal_cannot_show_are_escaped(frame, tmp_path, monkeypatch):
    path = tmp_path / "names.csv"
    frame.rename(columns={"s1": "活性"}).to_csv(path, index=False, encoding="utf-8")
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="cp1252", newline="\n")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        assert main(["report", str(path), "--label", "y", "--score", "活性"]) == 0
    shown = terminal.buffer.getvalue().decode("cp1252")
    assert re.search(r"^\\u6d3b\\u6027 +0\.\d{4} ", shown, re.MULTILINE)


@unix
@pytest.mark.parametrize(
    ("command", "when"),
    [
        ("module", "numpy"),
        ("script", "pandas"),
        pytest.param("script", "numpy", marks=pytest.mark.long),
        pytest.param("module", "sklearn.metrics", marks=pytest.mark.long),
    ],
)
def test_an_interrupt_ends_in_one_line(csv, tmp_path, command, when):
    # The process interrupts itself where it imports a module: early, in between, and late.
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.abc, os, signal, sys\n"
        "class Finder(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == {when!r} and 'sklearn_rankinf' in sys.modules:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    argv = [*COMMANDS[command], "report", csv, "--label", "y", "--score", "s1"]
    done = run(argv, env=PLAIN | {"PYTHONPATH": os.pathsep.join(paths)})
    assert done.returncode == -signal.SIGINT
    assert (done.stdout, done.stderr) == ("", "rankinf: interrupted\n")


def test_interrupts_of_other_programs_are_left_alone():
    code = "import signal, sklearn_rankinf; print(signal.getsignal(signal.SIGINT).__name__)"
    assert run([sys.executable, "-c", code]).stdout.strip() == "default_int_handler"


@unix
def test_an_ignored_interrupt_stays_ignored():
    code = (
        "import signal, sys; from sklearn_rankinf.__main__ import main\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "sys.argv = ['rankinf', '--version']\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    )
    assert run([sys.executable, "-c", code]).stdout.endswith("True\n")


def test_missing_pandas_names_the_extra(csv, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert main(["report", csv, "--label", "y", "--score", "s1"]) == 2
    message = 'reading a file needs pandas: pip install "sklearn-rankinf[report]".'
    assert one_line_of_error(capsys).endswith(message)


@pytest.mark.parametrize("command", ["report", "demo"])
def test_missing_matplotlib_names_the_extra(csv, capsys, monkeypatch, tmp_path, command):
    for module in ("matplotlib", "matplotlib.figure", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    arguments = [csv, "--label", "y", "--score", "s1"] if command == "report" else []
    assert main([command, *arguments, "--plots", str(tmp_path)]) == 2
    message = '--plots needs matplotlib: pip install "sklearn-rankinf[plot]".'
    assert one_line_of_error(capsys, command).endswith(message)


@pytest.mark.parametrize("option", ["--html", pytest.param("--plots", marks=pytest.mark.long)])
def test_an_unknown_backend_ends_in_one_line(csv, tmp_path, option):
    argv = [*COMMANDS["module"], "report", csv, "--label", "y", "--score", "s1"]
    environment = PLAIN | {"MPLBACKEND": "papyrus"}
    done = run([*argv, option, str(tmp_path / "new")], env=environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "rankinf report: error: matplotlib does not know the backend of the environment variable "
        "MPLBACKEND=papyrus: unset it.\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_report_without_columns_is_refused(csv, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["report", csv])
    assert stop.value.code == 2
    assert "the following arguments are required: --label" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        main(["report", csv, "--label", "y"])
    assert stop.value.code == 2
    assert "no column of scores: give --score COLUMN, or --lower-score" in one_line_of_error(capsys)


@pytest.mark.parametrize("text", ["ten", "5%", "1000,5000"])
def test_cut_off_that_is_no_number_is_refused(csv, capsys, text):
    with pytest.raises(SystemExit) as stop:
        main(["report", csv, "--label", "y", "--score", "s1", "--k", text])
    assert stop.value.code == 2
    message = (
        f"argument --k: {text!r} is not a number: give a number of items, such as 100, or a "
        "fraction of them, such as 0.05 for 5 %; repeat --k for several\n"
    )
    assert capsys.readouterr().err.endswith(message)
    with pytest.raises(SystemExit) as stop:
        main(["curve", csv, "--label", "y", "--score", "s1", "--max-rank", text])
    assert stop.value.code == 2
    assert capsys.readouterr().err.endswith("such as 0.05 for 5 %\n")


def test_help_of_the_report_names_the_defaults(capsys):
    with pytest.raises(SystemExit):
        main(["report", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    first, second, third = DEFAULT_K
    assert f"may be repeated; {first}, {second} and {third} by default" in text
    assert "not needed for the labels 0 and 1, -1 and 1, False and True" in text
