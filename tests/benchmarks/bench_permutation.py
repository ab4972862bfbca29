"""Speed and memory of the permutation null, against permuting labels and scoring each time.

Run from the top of the repository: ``python tests/benchmarks/bench_permutation.py``.  Nothing is
asserted; ratios are measured within one run, so that they carry over to other machines.
"""

from __future__ import annotations

import resource
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from sklearn.metrics import average_precision_score

from sklearn_rankinf import ap_null_distribution, average_precision_test
from sklearn_rankinf._null_distributions import _LAWS

N_PERMUTATIONS = 10_000


def seconds(function: Callable[[], object], n_repeats: int = 3) -> float:
    """Shortest of several timings, each without the laws that are kept."""
    best = np.inf
    for _ in range(n_repeats):
        _LAWS.clear()
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return float(best)


def scored_labels(n_samples: int, n_positives: int) -> tuple[np.ndarray, np.ndarray]:
    """A data set without ties whose ranking is a little better than chance."""
    rng = np.random.default_rng(0)
    y_true = np.zeros(n_samples, dtype=int)
    y_true[rng.choice(n_samples, n_positives, replace=False)] = 1
    return y_true, rng.normal(size=n_samples) + 0.2 * y_true


def permute_and_score(y_true: np.ndarray, y_score: np.ndarray, n_permutations: int) -> float:
    """The plain way: permute the labels, call scikit-learn, count."""
    rng = np.random.default_rng(0)
    observed = average_precision_score(y_true, y_score)
    null = [
        average_precision_score(rng.permutation(y_true), y_score) for _ in range(n_permutations)
    ]
    return float((1 + np.sum(np.array(null) >= observed * (1 - 1e-12))) / (n_permutations + 1))


def compare_speed(n_samples: int = 1000, n_positives: int = 100) -> None:
    """Time of the whole permutation test against the plain way (a tenth of it, times ten)."""
    y_true, y_score = scored_labels(n_samples, n_positives)
    share = N_PERMUTATIONS // 10
    plain = 10 * seconds(lambda: permute_and_score(y_true, y_score, share), n_repeats=1)
    ours = seconds(
        lambda: average_precision_test(
            y_true, y_score, method="permutation", n_permutations=N_PERMUTATIONS
        )
    )
    exact = seconds(lambda: average_precision_test(y_true, y_score))
    print(f"(n, m) = ({n_samples}, {n_positives}), {N_PERMUTATIONS} permutations")
    print(f"  permute labels and call scikit-learn {plain:9.3f} s")
    print(f"  average_precision_test, permutation  {ours:9.3f} s, {plain / ours:.0f} times faster")
    print(
        f"  average_precision_test, exact        {exact:9.3f} s, {plain / exact:.0f} times faster"
    )


def measure_memory(n_samples: int = 100_000, n_positives: int = 100) -> None:
    """Peak memory of a permutation null on a long list."""
    law = ap_null_distribution(
        n_samples, n_positives, method="permutation", n_permutations=N_PERMUTATIONS
    )
    start = time.perf_counter()
    tracemalloc.start()
    law.pvalue(0.01)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    passed = time.perf_counter() - start
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    resident /= 1024.0 if sys.platform != "darwin" else 1024.0**2
    print(f"(n, m) = ({n_samples}, {n_positives}), {N_PERMUTATIONS} permutations")
    print(f"  peak of allocations {peak / 1e6:.0f} MB in {passed:.2f} s (traced)")
    print(f"  peak of the process, imports included {resident:.0f} MiB")


if __name__ == "__main__":
    compare_speed()
    measure_memory()
