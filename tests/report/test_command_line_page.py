"""The commands on the page on the command line run and print what the page shows."""

import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sklearn_rankinf.__main__ import main

pd = pytest.importorskip("pandas")

PAGE = Path(__file__).parents[2] / "doc" / "command_line.rst"
BLOCK = re.compile(r"^\.\. code-block:: (bash|none)\n\n((?:   .*\n|\n)+)", re.MULTILINE)
PROGRAM = re.compile(r"python3 - <<'END'\n(.*)\nEND", re.DOTALL)


def blocks():
    """Return the kinds and texts of the page's blocks, in their order."""
    return [
        (kind, re.sub(r"^   ", "", text, flags=re.MULTILINE).strip())
        for kind, text in BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    ]


def matches(shown, printed):
    """Whether the words shown follow each other in the words printed; ... stands for any."""
    parts = [re.escape(" ".join(part.split())) for part in shown.split("...")]
    return re.search(".*?".join(parts), " ".join(printed.split())) is not None


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Return a directory with the files that the page takes as given."""
    path = tmp_path_factory.mktemp("page")

    rng = np.random.default_rng(0)
    active = np.arange(2000) < 40
    docking = (rng.normal(size=2000) + 1.5 * active).round(3)
    frame = pd.DataFrame({"active": active.astype(int), "docking": docking})
    frame.to_csv(path / "scores_de.csv", index=False, sep=";", decimal=",")
    frame.to_csv(path / "scores.csv.gz", index=False)
    answers = np.where(active, "yes", "no")
    energies = pd.DataFrame({"active": answers, "docking": -docking})
    energies.to_csv(path / "energies.csv.gz", index=False)

    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(200), 5)
    ill = patient < 40
    images = pd.DataFrame(
        {"patient": patient, "ill": ill.astype(int), "model": rng.normal(size=1000) + ill}
    )
    images.to_csv(path / "images.csv", index=False)

    rng = np.random.default_rng(0)
    query = np.repeat(np.arange(25), 40)
    relevant = np.tile(np.arange(40) < 4, 25)
    bm25 = rng.normal(size=1000) + 0.6 * relevant
    run = pd.DataFrame({"query": query, "relevant": relevant.astype(int), "bm25": bm25})
    run.to_csv(path / "run.csv", index=False)

    rng = np.random.default_rng(0)
    grades = {}
    judged = []
    for query in range(30):
        for document in rng.permutation(200)[:60]:
            grades[query, document] = rng.integers(0, 3)
            judged.append(f"{query} 0 doc{document} {grades[query, document]}\n")
    (path / "qrels.txt").write_text("".join(judged))
    for name, effect in {"bm25": 0.3, "dense": 0.8}.items():
        lines = []
        for query in range(30):
            for rank, document in enumerate(rng.permutation(200)[:100], 1):
                score = effect * grades.get((query, document), 0) + rng.normal()
                lines.append(f"{query} Q0 doc{document} {rank} {score:.4f} {name}\n")
        (path / f"{name}.run").write_text("".join(lines))
    return path


@pytest.fixture
def printed_by(directory, demo, capsys, monkeypatch):
    """Return a function that runs the commands of a block and returns what they print.

    All is run in this process, but for a program that writes into a pipe; the demonstration was
    run before.
    """
    monkeypatch.chdir(directory)

    def run(text):
        if program := PROGRAM.fullmatch(text):
            exec(program[1], {})
            return capsys.readouterr().out
        found = ""
        for line in text.replace("\\\n", "").splitlines():
            writer, _, command = line.rpartition(" | ")
            if line == "rankinf demo":
                found += demo.text
            elif writer:
                with (
                    subprocess.Popen(shlex.split(writer), stdout=subprocess.PIPE) as process,
                    io.TextIOWrapper(process.stdout) as reading,
                    monkeypatch.context() as patch,
                ):
                    patch.setattr(sys, "stdin", reading)
                    found += printed(command)
                assert process.returncode == 0, line
            else:
                found += printed(command)
        return found

    def printed(command):
        assert command.startswith("rankinf ")
        # A gate returns 4 if the data are inconclusive.
        assert main(shlex.split(command)[1:]) == (4 if "--margin" in command else 0), command
        return capsys.readouterr().out

    return run


@pytest.mark.usefixtures("straight_curves")
@pytest.mark.skipif(os.name == "nt", reason="the page is written for a shell of Unix")
def test_page(directory, printed_by):
    """One test, because the page makes a file that later commands read."""
    n_shown = 0
    for kind, text in blocks():
        if kind == "bash":
            printed = printed_by(text)
        elif "error:" in text:
            continue  # shown without the command
        else:
            n_shown += 1
            for part in text.split("\n\n"):
                assert matches(part, printed), f"not printed:\n{part}\n\nbut:\n{printed}"
    assert n_shown == 8
    assert (directory / "report.html").exists()
    assert list((directory / "pictures").iterdir())


def test_decimal_comma_is_named(directory, capsys, monkeypatch):
    """The error that the page shows is the one that the command prints."""
    monkeypatch.chdir(directory)
    assert main(["report", "scores_de.csv", "--label", "active", "--score", "docking"]) == 2
    (shown,) = (text for kind, text in blocks() if kind == "none" and "error:" in text)
    assert matches(shown, capsys.readouterr().err)
