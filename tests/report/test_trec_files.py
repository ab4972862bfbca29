"""Judgements and runs in TREC's formats on the command line, against the Python functions."""

import gzip
import json

import numpy as np
import pytest

from sklearn_rankinf import (
    align_runs,
    metric_comparison_test,
    metric_interval,
    metric_multiple_comparison_test,
    metric_test,
    minimum_hypergeometric_test,
)
from sklearn_rankinf.__main__ import main

pytest.importorskip("pandas")

EFFECTS = {"bm25": 0.3, "dense": 0.8, "hybrid": 1.0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    qrels = {
        f"{query:03d}": {f"d{d}": int(rng.integers(-1, 3)) for d in rng.permutation(40)[:15]}
        for query in range(8)
    }
    runs = {name: {} for name in EFFECTS}
    for name, effect in EFFECTS.items():
        for query in [*qrels, "not judged"[:3]]:
            if (name, query) != ("bm25", "003"):
                own = {f"d{d}": round(rng.normal(), 1) for d in rng.permutation(40)[:20]}
                grades = qrels.get(query, {})
                runs[name][query] = {d: s + effect * grades.get(d, 0) for d, s in own.items()}
    return qrels, runs


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    """Options for the files: one with tabs, one compressed, all of them with blank lines."""
    path, (qrels, runs) = tmp_path_factory.mktemp("trec"), data
    lines = [f"{q}\t0\t{d}\t{grade}" for q, own in qrels.items() for d, grade in own.items()]
    (path / "qrels.txt").write_text("\n".join([*lines, "", ""]))
    options = ["--qrels", str(path / "qrels.txt")]
    for name, run in runs.items():
        rows = [
            f"  {q} Q0 {d} {rank} {score!r}   {name}"
            for q, own in run.items()
            for rank, (d, score) in enumerate(own.items(), 1)
        ]
        text = "\n".join(rows).replace("np.float64(", "").replace(")", "").encode()
        file = path / f"{name}.run{'.gz' if name == 'dense' else ''}"
        file.write_bytes(gzip.compress(text) if name == "dense" else text)
        options += ["--run", str(file)]
    return options


def found_by(argv, capsys):
    assert main([*argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.filterwarnings("ignore:NDCG at 5 of grades is not tested against chance")
@pytest.mark.parametrize("ties", ["expected", "name"])
def test_report_of_runs(files, data, capsys, ties):
    found = found_by(
        ["report", *files[:4], "--ties", ties, "--metric", "ndcg@5", "--metric", "precision@7",
         "--collection-size", "100"], capsys
    )  # fmt: skip
    qrels, runs = data
    aligned = align_runs(qrels, {"bm25": runs["bm25"]}, ties=ties)
    score, groups = aligned.y_score["bm25"], aligned.groups
    graded, plain = found["rankings"]
    wanted = metric_interval(aligned.relevance, score, metric="ndcg@5", groups=groups)
    assert graded["test"] is None
    assert graded["interval"]["statistic"] == wanted.statistic
    wanted = metric_interval(aligned.y_true, score, metric="precision@7", groups=groups)
    assert plain["interval"]["low"] == wanted.low
    rankings = aligned.rankings("bm25", collection_size=100)
    assert plain["test"]["pvalue"] == metric_test(rankings, metric="precision@7").pvalue
    assert found["counts"]["runs"]["bm25"] == vars(aligned.counts["bm25"])
    assert found["counts"]["n_judged"] == aligned.n_judged


def test_text_of_the_report_says_among_which_documents(files, capsys):
    argv = ["report", *files[:4]]
    assert main(argv) == 0
    plain = " ".join(capsys.readouterr().out.split())
    assert "8 queries with" in plain
    assert "bm25: 7 queries, 1 missing (0 each), 1 without judgements (left out); 140" in plain
    assert "p =" not in plain
    for options, text in (
        (["--collection-size", "50"], "Among 50 documents, those that were not retrieved in the"),
        (["--collection-size", "retrieved"], "Among the retrieved documents: Mean average"),
        (["--judged-only"], "Among the judged documents, those that were not retrieved in the"),
    ):
        assert main([*argv, *options]) == 0
        assert text in " ".join(capsys.readouterr().out.split())


def test_comparisons_of_runs(files, data, capsys):
    qrels, runs = data
    aligned = align_runs(qrels, runs, judged_only=True, relevance_level=2)
    found = found_by(
        ["compare", *files, "--judged-only", "--relevance-level", "2", "--metric", "recall@9"],
        capsys,
    )
    wanted = metric_multiple_comparison_test(
        aligned.y_true, aligned.y_score, metric="recall@9", groups=aligned.groups
    )
    assert found["names"] == list(EFFECTS)
    assert found["statistic"] == wanted.statistic.tolist()
    aligned = align_runs(qrels, {name: runs[name] for name in ("bm25", "dense")})
    found = found_by(["compare", *files[:6], "--metric", "ndcg"], capsys)
    wanted = metric_comparison_test(
        aligned.relevance, aligned.y_score, metric="ndcg", groups=aligned.groups
    )
    assert (found["pvalue"], found["difference"]) == (wanted.pvalue, wanted.difference)
    assert main(["compare", *files[:6], "--margin", "0.9"]) == 0
    assert "Pass:" in capsys.readouterr().out


def test_curve_of_a_query(files, data, capsys):
    found = found_by(["curve", *files[:6], "--query", "003", "--collection-size", "60"], capsys)[
        "rankings"
    ]
    qrels, runs = data
    ranking = align_runs(qrels, runs["dense"]).rankings("run", collection_size=60)["003"]
    assert [one["name"] for one in found] == ["bm25", "dense"]
    wanted = minimum_hypergeometric_test(ranking)
    assert found[1]["minimum_hypergeometric"]["pvalue"] == wanted.pvalue
    assert found[0]["minimum_hypergeometric"]["pvalue"] == 1.0  # nothing was retrieved


def test_runs_with_equal_tags_have_the_names_of_their_files(files, tmp_path, capsys):
    copy = tmp_path / "copy.run"
    copy.write_bytes(open(files[3], "rb").read())
    found = found_by(["compare", *files[:4], "--run", str(copy)], capsys)
    assert found["names"] == ["bm25", "copy"]


def test_one_grade_and_grades_without_a_zero(tmp_path, capsys):
    (tmp_path / "q").write_text("1 0 a 2\n1 0 b 0\n2 0 a 2\n")
    (tmp_path / "r").write_text("1 Q0 b 1 2.0 x\n1 Q0 a 2 1.0 x\n2 Q0 a 1 1.0 x\n")
    argv = ["report", "--qrels", str(tmp_path / "q"), "--run", str(tmp_path / "r")]
    for metric, gain in (("ndcg@10", 1), ("dcg@10", 2)):
        found = found_by([*argv, "--metric", metric], capsys)["rankings"][0]
        assert found["interval"]["statistic"] == pytest.approx(gain * (1 / np.log2(3) + 1) / 2)


@pytest.mark.filterwarnings("default:Precision at 3 is not tested")
@pytest.mark.parametrize("options", [["--judged-only"], ["--collection-size", "retrieved"]])
def test_lists_shorter_than_the_cut_off_are_not_tested(tmp_path, capsys, options):
    (tmp_path / "q").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n2 0 b 0\n2 0 c 0\n")
    (tmp_path / "r").write_text("1 Q0 b 1 2.0 x\n1 Q0 a 2 1.0 x\n2 Q0 a 1 3.0 x\n2 Q0 b 2 2.0 x\n")
    argv = ["report", "--qrels", str(tmp_path / "q"), "--run", str(tmp_path / "r"), *options]
    argv += ["--metric", "precision@2", "--metric", "precision@3"]
    assert main([*argv, "--json"]) == 0
    printed = capsys.readouterr()
    reason = "Precision at 3 is not tested against chance: the list of query "
    assert reason in printed.err
    short, long = json.loads(printed.out)["rankings"]
    assert short["test"]["statistic"] == short["interval"]["statistic"] == 0.5
    assert long["test"] is None
    assert long["interval"]["statistic"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--qrels", "QRELS"], "--qrels needs at least one --run FILE."),
        (["--run", "RUN"], "--run is for retrieval runs and needs --qrels FILE with their"),
        (["--judged-only", "x.csv", "--label", "y", "--score", "s"], "--judged-only is for retr"),
        (["x.csv", "--qrels", "QRELS", "--run", "RUN"], "--qrels takes the place of the file"),
        (["--qrels", "QRELS", "--run", "RUN", "--groups", "q"], "--groups names or describes"),
        (["--qrels", "QRELS", "--run", "RUN", "--decimal", ","], "--decimal names or describes"),
        (["--qrels", "QRELS", "--run", "RUN", "--k", "9"], "such as --metric ndcg@10."),
        (["--qrels", "-", "--run", "-"], "only one of --qrels and --run can be the standard"),
        (["--qrels", "RUN", "--run", "RUN"], "has a row with too many values, but each row of jud"),
        (["--qrels", "QRELS", "--run", "QRELS"], "has 4 values in row 1, but each row of a run in"),
        (["--qrels", "QRELS", "--run", "no"], "cannot read 'no': No such file or directory."),
        (["--qrels", "QRELS", "--run", "EMPTY"], "is empty."),
        (["--qrels", "QRELS", "--run", "TEXT"], "has the score 'high' in row 1, which is not a"),
        (["--qrels", "QRELS", "--run", "NAN"], "has the score 'nan' in row 1, which is not a f"),
        (["--qrels", "QRELS", "--run", "TWICE"], "run 't' has document 'a' more than once for q"),
        (["--qrels", "QRELS", "--run", "LONG"], "has a row with too many values, but each row of"),
        (["--qrels", "QRELS", "--run", "RUN", "--metric", "bedroc"], "BEDROC depends on all items"),
        (["--qrels", "QRELS", "--run", "RUN", "--collection-size", "9"],
         "--collection-size 9 is smaller than the number of known documents of query '000'"),
        (["--qrels", "QRELS", "--run", "RUN", "--judged-only", "--collection-size", "900"],
         "--collection-size must be left out with --judged-only"),
        (["--qrels", "QRELS", "--run", "RUN", "--run", "RUN"], "several runs have the tag and the"),
        (["--qrels", "QRELS", "--run", "RUN", "--relevance-level", "0"], "relevance_level must be"),
    ],
)  # fmt: skip
def test_wrong_files_and_options(files, tmp_path, capsys, options, message):
    texts = {
        "EMPTY": "\n",
        "TEXT": "000 Q0 a 1 high t\n",
        "NAN": "000 Q0 a 1 nan t\n",
        "TWICE": "000 Q0 a 1 2 t\n000 Q0 a 2 1 t\n",
        "LONG": "000 Q0 a 1 2 t\n000 Q0 a 2 1 t with more words\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    known = {name: str(tmp_path / name) for name in texts}
    known |= {"QRELS": files[1], "RUN": files[3]}
    assert main(["report", *(known.get(option, option) for option in options)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("rankinf report: error: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "a curve compares the list with random orders of a collection: give its number"),
        (["--collection-size", "99"], "and the judgements have 8 queries: give one of them with"),
        (["--collection-size", "99", "--query", "3"], "--query 3 has no judgements; there are 000"),
        (["--collection-size", "retrieved", "--query", "003"], "retrieved nothing for query '003'"),
    ],
)
def test_curves_that_need_more(files, capsys, options, message):
    assert main(["curve", *files[:4], *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["report", "compare"])
def test_means_need_two_queries(tmp_path, capsys, command):
    (tmp_path / "q").write_text("1 0 a 1\n")
    options = ["--qrels", str(tmp_path / "q")]
    for name in ("r", "s"):
        (tmp_path / name).write_text(f"1 Q0 a 1 2.0 {name}\n")
        options += ["--run", str(tmp_path / name)]
    assert main([command, *options]) == 2
    assert "the judgements have a single query, and means over" in capsys.readouterr().err


def test_comparison_needs_two_runs(files, capsys):
    assert main(["compare", *files[:4]]) == 2
    assert "needs two or more runs, each with --run; got only" in capsys.readouterr().err
    assert main(["compare", *files[:4], *files[2:4]]) == 2
    assert "give every run once; got" in capsys.readouterr().err
    assert main(["compare", *files, "--margin", "0.1"]) == 2
    assert "--margin and --require judge one ranking by another, and need two runs; got 3" in (
        capsys.readouterr().err
    )
    with pytest.raises(SystemExit):
        main(["report", *files[:4], "--collection-size", "many"])
    assert "'many' is neither a number of documents" in capsys.readouterr().err
