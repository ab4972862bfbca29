"""The demonstration, which is run once for all tests of the command line."""

import contextlib
import io
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from sklearn_rankinf.__main__ import main
from sklearn_rankinf._plot import null_distribution
from sklearn_rankinf._plot.null_distribution import TailCurve
from sklearn_rankinf._report import demo as _demo
from sklearn_rankinf._report import study


@dataclass
class DemoRun:
    """One run of ``rankinf demo``: exit code, printed text, and tests."""

    code: int = -1
    text: str = ""
    held_out: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    plots: list[Path] = field(default_factory=list)


def straight_curve(result):
    null = result.null_distribution
    values = null.mean() + null.std() * np.linspace(-2.0, 2.0, 5)
    return TailCurve(values, -np.arange(5.0), result.alternative)


@pytest.fixture(scope="session", autouse=True)
def _curves_once():
    """Curves of the few rankings that most tests take are computed once.

    Those that tests compare with are computed anew, by the public function.
    """
    found, compute = {}, study.top_k_significance_curve

    def known(ranking, *, alpha):
        key = ranking.hits.tobytes(), ranking.tie_sizes.tobytes(), alpha
        return found[key] if key in found else found.setdefault(key, compute(ranking, alpha=alpha))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "top_k_significance_curve", known)
        yield


@pytest.fixture
def straight_curves(monkeypatch):
    """For pages of which the curves of null distributions do not matter."""
    monkeypatch.setattr(null_distribution, "tail_curve", straight_curve)


@pytest.fixture(scope="session")
def demo(tmp_path_factory) -> DemoRun:
    directory = tmp_path_factory.mktemp("demo") / "new" / "plots"
    run = DemoRun()
    assess = _demo.assess

    def recording_assess(name, y_true, y_score):
        run.held_out[name] = (y_true, y_score)
        return assess(name, y_true, y_score)

    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(_demo, "assess", recording_assess)
        # The curves of null distributions take seconds, and have separate tests.
        patch.setattr(null_distribution, "tail_curve", straight_curve)
        run.code = main(["demo", "--plots", str(directory)])
    run.text = printed.getvalue()
    run.plots = sorted(directory.iterdir())
    return run
