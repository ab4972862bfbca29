"""The command line, run as a person runs it, its numbers against scikit-learn's own."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from dataclasses import dataclass, field

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

import sklearn_rankinf
from sklearn_rankinf import _demo
from sklearn_rankinf.__main__ import main

RANKERS = ("nearest neighbours", "support vectors", "logistic regression", "amount of ink")


@dataclass
class DemoRun:
    """One run of ``rankinf demo``: exit code, printed text, and what was tested."""

    code: int = -1
    text: str = ""
    held_out: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def table(self) -> dict[str, list[str]]:
        """Return the cells of the printed table, by ranker."""
        rows = {}
        for name in RANKERS:
            line = re.search(rf"^{name} +(\d.*)$", self.text, flags=re.MULTILINE)
            assert line is not None, f"no row for {name!r} in:\n{self.text}"
            rows[name] = line.group(1).split()
        return rows


@pytest.fixture(scope="module")
def demo() -> DemoRun:
    run = DemoRun()
    assess = _demo.assess

    def recording_assess(name, y_true, y_score):
        run.held_out[name] = (y_true, y_score)
        return assess(name, y_true, y_score)

    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(_demo, "assess", recording_assess)
        run.code = main(["demo"])
    run.text = printed.getvalue()
    return run


def test_demo_succeeds_and_shows_its_progress(demo):
    assert demo.code == 0
    for number, name in enumerate(RANKERS[:3], start=1):
        assert f"[{number}/3] {name}" in demo.text
    assert "What to do next" in demo.text


def test_demo_fits_a_terminal(demo):
    assert max(map(len, demo.text.splitlines())) <= 100


def test_demo_problem_is_a_rare_target_problem(demo):
    problem = _demo.rare_digit_problem()
    assert 0.02 <= problem.y_train.mean() <= 0.03
    assert 0.02 <= problem.y_test.mean() <= 0.03
    assert not {row.tobytes() for row in problem.X_train[problem.y_train == 1]} & {
        row.tobytes() for row in problem.X_test[problem.y_test == 1]
    }


def test_demo_average_precision_is_scikit_learns(demo):
    assert set(demo.held_out) == set(RANKERS)
    for name, cells in demo.table().items():
        y_true, y_score = demo.held_out[name]
        assert cells[0] == str(len(y_true))
        assert cells[1] == str(y_true.sum())
        assert float(cells[2]) == pytest.approx(average_precision_score(y_true, y_score), abs=6e-5)


@pytest.mark.parametrize("name", RANKERS)
def test_demo_null_moments_are_those_of_permuted_labels(demo, name):
    y_true, y_score = demo.held_out[name]
    rng = np.random.default_rng(20261121)
    null = np.array(
        [average_precision_score(rng.permutation(y_true), y_score) for _ in range(1500)]
    )
    observed, chance, adjusted, zscore = map(float, demo.table()[name][2:6])
    standard_error = null.std() / np.sqrt(len(null))
    assert chance == pytest.approx(null.mean(), abs=5 * standard_error + 5e-5)
    assert adjusted == pytest.approx((observed - chance) / (1 - chance), abs=2e-4)
    # The null is skewed, so its sample standard deviation is itself uncertain by some per cent.
    assert zscore == pytest.approx((observed - chance) / null.std(), rel=0.25)


def test_demo_exact_pvalue_agrees_with_scikit_learn_on_permuted_labels(demo):
    y_true, y_score = demo.held_out["amount of ink"]
    rng = np.random.default_rng(7)
    observed = average_precision_score(y_true, y_score)
    n_resamples = 3000
    exceed = sum(
        average_precision_score(rng.permutation(y_true), y_score) >= observed * (1 - 1e-12)
        for _ in range(n_resamples)
    )
    exact, permutation = map(float, demo.table()["amount of ink"][6:8])
    error = np.sqrt(exact * (1 - exact) / n_resamples)
    assert exceed / n_resamples == pytest.approx(exact, abs=4 * error)
    assert permutation == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 9999) + 1e-4)


def test_demo_trained_rankers_are_past_the_permutation_floor(demo):
    for name in RANKERS[:3]:
        exact, permutation, normal = demo.table()[name][6:9]
        assert permutation == "1.0e-04"
        assert float(exact) < 1e-8
        # float("1.0e-400") is 0.0, which is smaller all the same.
        assert float(normal) < float(exact) * 1e-3
    assert "cannot go below 1/(B+1) = 1/10000" in demo.text
    assert "orders of magnitude too small" in demo.text


def test_demo_concludes_in_one_sentence_for_each_ranker(demo):
    after = demo.text.split("Conclusion\n")[1].splitlines()
    for line, name in zip(after, RANKERS, strict=False):
        exact = demo.table()[name][6]
        verdict = "is better" if float(exact) <= 0.05 else "is not shown to be better"
        assert line.strip().startswith(f"Ranking by {name} {verdict} than chance: ")
        assert line.endswith(f"p = {exact}.")


@pytest.mark.parametrize(
    ("log10_pvalue", "text"),
    [(0.0, "1.0000"), (-3.0, "0.0010"), (-3.0001, "1.0e-03"), (-400.25, "5.6e-401")],
)
def test_format_pvalue(log10_pvalue, text):
    assert _demo.format_pvalue(log10_pvalue) == text


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


def test_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "sklearn_rankinf", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == f"rankinf {sklearn_rankinf.__version__}"
