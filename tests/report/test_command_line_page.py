"""The commands on the page on the command line run and print what the page shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

PAGE = Path(__file__).parents[2] / "doc" / "command_line.rst"
BLOCK = re.compile(r"^\.\. code-block:: (bash|none)\n\n((?:   .*\n|\n)+)", re.MULTILINE)


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
    """Return a directory with the files that the page takes as given, and with the command."""
    path = tmp_path_factory.mktemp("page")
    command = path / "rankinf"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sklearn_rankinf "$@"\n')
    command.chmod(0o755)
    python = path / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)

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
    return path


@pytest.mark.skipif(os.name == "nt", reason="the page is written for a shell of Unix")
def test_page(directory):
    """One test, because the page makes a file that later commands read."""
    path = os.pathsep.join([str(directory), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "MPLBACKEND": "Agg", "COLUMNS": "100"}
    n_shown = 0
    for kind, text in blocks():
        if kind == "bash":
            run = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", text],
                cwd=directory,
                env=environment,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            assert run.returncode == 0, f"{text}\n{run.stderr}"
            printed = run.stdout
        elif "error:" in text:
            continue  # shown without the command
        else:
            n_shown += 1
            for part in text.split("\n\n"):
                assert matches(part, printed), f"not printed:\n{part}\n\nbut:\n{printed}"
    assert n_shown == 8
    assert (directory / "report.html").exists()
    assert list((directory / "pictures").iterdir())


def test_decimal_comma_is_named(directory):
    """The error that the page shows is the one that the command prints."""
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "sklearn_rankinf",
            "report",
            "scores_de.csv",
            "--label",
            "active",
            "--score",
            "docking",
        ],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    (shown,) = (text for kind, text in blocks() if kind == "none" and "error:" in text)
    assert run.returncode == 2
    assert matches(shown, run.stderr), run.stderr
