"""Ways to the p-value of an average precision, with the peak memory of each.

``python tests/benchmarks/ways.py WAY PROBLEM`` prints the peak memory of its process as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np
from problems import COMPARED, TIED, UNTIED, Problem
from scipy import stats
from sklearn.metrics import average_precision_score

N_PERMUTATIONS = 10_000
# Permuting labels and scoring costs the same each time: a hundredth is measured.
SHARE = 100


def first_pvalue(problem: Problem) -> float:
    """The exact null distribution, three standard deviations above the mean."""
    return float(problem.null().pvalue(problem.value_at(3.0)))


def exact(problem: Problem) -> float:
    """The exact null distribution."""
    return float(problem.null().pvalue(problem.observed))


def sampled(problem: Problem) -> float:
    """This package's own resamples."""
    null = problem.null(method="permutation", n_resamples=N_PERMUTATIONS, random_state=0)
    return float(null.pvalue(problem.observed))


def permuted_labels(problem: Problem, n_resamples: int = N_PERMUTATIONS // SHARE) -> float:
    """Labels are permuted and scikit-learn's average precision is called, each time."""
    rng = np.random.default_rng(0)
    y_true, y_score = problem.data
    null = [average_precision_score(rng.permutation(y_true), y_score) for _ in range(n_resamples)]
    as_extreme = np.array(null) >= problem.observed * (1.0 - 1e-12)
    return float((1 + as_extreme.sum()) / (n_resamples + 1))


def scipy_permutation_test(problem: Problem) -> float:
    """scipy permutes the ranks of all items; the statistic takes those of the positives."""
    y_true, y_score = problem.data
    ranks = stats.rankdata(-y_score, method="ordinal")
    hit = np.arange(1, problem.n_positives + 1)

    def statistic(positives: np.ndarray, negatives: np.ndarray, axis: int) -> np.ndarray:
        return np.mean(hit / np.sort(positives, axis=axis), axis=axis)

    result = stats.permutation_test(
        (ranks[y_true == 1], ranks[y_true == 0]),
        statistic,
        permutation_type="independent",
        alternative="greater",
        vectorized=True,
        n_resamples=N_PERMUTATIONS,
        # Rows of a batch are as long as the list: 5e6 entries, 40 MB a copy.
        batch=max(1, 5_000_000 // problem.n_samples),
        rng=np.random.default_rng(0),
    )
    return float(result.pvalue)


def copairs(problem: Problem) -> float:
    """The p-value of copairs, which caches its items in the home directory."""
    from copairs import compute

    with TemporaryDirectory() as home, mock.patch.dict(os.environ, HOME=home, USERPROFILE=home):
        p = compute.p_values(
            np.array([problem.observed]),
            np.array([[problem.n_positives, problem.n_samples]]),
            null_size=N_PERMUTATIONS,
            seed=0,
            progress_bar=False,
        )
    return float(p[0])


WAYS: dict[str, Callable[[Problem], float]] = {
    "first p-value": first_pvalue,
    "exact test": exact,
    "permutation, this package": sampled,
    "copairs": copairs,
    "scipy.stats.permutation_test": scipy_permutation_test,
    "permuted labels": permuted_labels,
}


def cost_alone(way: str, problem: Problem) -> dict[str, float]:
    """MB in a new process, of traced allocations and resident in all; seconds while traced."""
    command = [sys.executable, str(Path(__file__)), way, str(problem)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    cost: dict[str, float] = json.loads(printed)
    return cost


def _resident_peak() -> float:
    status = Path("/proc/self/status")
    if status.exists():
        # On Linux a child inherits its parent's ru_maxrss; VmHWM is its own.
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return float(lines["VmHWM"].split()[0]) * 1024.0 / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1.0 if sys.platform == "darwin" else 1024.0) / 1e6


def _print_cost(way: str, problem_name: str) -> None:
    problem = {str(problem): problem for problem in (*UNTIED, *TIED, *COMPARED)}[problem_name]
    if way != "first p-value":
        _ = problem.observed
    start = time.process_time()
    tracemalloc.start()
    WAYS[way](problem)
    traced = tracemalloc.get_traced_memory()[1] / 1e6
    spent = time.process_time() - start
    print(json.dumps({"traced": traced, "resident": _resident_peak(), "seconds": spent}))


if __name__ == "__main__":
    _print_cost(*sys.argv[1:])
