"""Permutation: times against copairs, of strata, clusters and early stopping; sizes of tests.

Run from the top of the repository, with copairs installed for the first:
``python tests/benchmarks/bench_permutation.py copairs | restricted | sizes``. Nothing is asserted.
Ways are timed in turns, and medians are printed; ``sizes`` are rejection rates at 5 percent where
the null hypothesis is true, with their standard errors.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import numpy as np
from problems import Problem, forget
from sklearn.metrics import average_precision_score
from ways import N_PERMUTATIONS, WAYS, cost_alone

from sklearn_rankinf import average_precision_test

PROBLEMS = (
    Problem(1000, 100, signal=0.3),
    Problem(2000, 500, signal=0.1),
    Problem(100_000, 100, signal=0.7),
)
N_RUNS, N_ROUNDS = 2000, 9
Data = tuple[np.ndarray, np.ndarray, dict[str, Any]]


def against_copairs() -> None:
    """Ten thousand resamples by this package and by copairs."""
    for problem in PROBLEMS:
        _ = problem.observed
        n_rounds = 3 if problem.n_samples > 10_000 else N_ROUNDS
        ways = {way: WAYS[way] for way in ("copairs", "permutation, this package")}
        calls = {way: (lambda run=run, own=problem: run(own)) for way, run in ways.items()}
        times = in_turns(calls, n_rounds)
        ratio = times["copairs"] / times["permutation, this package"]
        print(f"{problem}: {shown(times)}; ratio {ratio:.1f}")
        for way in ways:
            cost = cost_alone(way, problem)
            print(f"  {way}: {cost['traced']:.0f} MB allocated, {cost['resident']:.0f} MB resident")


def of_restrictions() -> None:
    """Ten thousand resamples of a test with strata, clusters and weights, and of one that stops."""
    for problem in PROBLEMS:
        y_true, y_score = problem.data
        n_samples = y_true.size
        pairs = np.arange(n_samples) // 2
        ways: dict[str, dict[str, Any]] = {
            "all": {"method": "permutation"},
            "10 strata": {"strata": np.arange(n_samples) % 10},
            "strata of pairs": {"strata": pairs},
            "clusters of pairs": {"clusters": pairs},
            "sequential": {"method": "sequential"},
        }
        calls = {}
        for name, options in ways.items():
            # A cluster has one label: that of its first sample.
            labels = y_true[2 * pairs] if name == "clusters of pairs" else y_true
            calls[name] = lambda labels=labels, options=options, y_score=y_score: (
                average_precision_test(labels, y_score, n_resamples=N_PERMUTATIONS, **options)
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            print(f"{problem}: {shown(in_turns(calls, 3))}")


def in_turns(calls: Mapping[str, Callable[[], Any]], n_rounds: int) -> dict[str, float]:
    """Median seconds of each way, timed in turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(n_rounds):
        for name, call in calls.items():
            forget()
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: median(own) for name, own in times.items()}


def shown(times: Mapping[str, float]) -> str:
    """Times in milliseconds."""
    return ", ".join(f"{name} {1000 * seconds:.0f} ms" for name, seconds in times.items())


def clustered(rng: np.random.Generator) -> Data:
    """100 clusters of 5 items: 10 positive, scores nearly equal within a cluster."""
    clusters = np.arange(500) // 5
    y_true = rng.permutation(np.arange(100) < 10)[clusters]
    y_score = rng.normal(size=100)[clusters] + 0.1 * rng.normal(size=500)
    return y_true, y_score, {"clusters": clusters}


def weakly_clustered(rng: np.random.Generator) -> Data:
    """The same, with a correlation of one half within clusters."""
    clusters = np.arange(500) // 5
    y_true = rng.permutation(np.arange(100) < 10)[clusters]
    y_score = rng.normal(size=100)[clusters] + rng.normal(size=500)
    return y_true, y_score, {"clusters": clusters}


def stratified(rng: np.random.Generator) -> Data:
    """Two strata of 250: shares of positives of .04 and .16, scores higher by 1/2 in the second."""
    strata = np.arange(500) // 250
    y_true = np.concatenate([rng.permutation(np.arange(250) < m) for m in (10, 40)])
    return y_true, rng.normal(size=500) + 0.5 * strata, {"strata": strata}


def uneven(rng: np.random.Generator) -> Data:
    """60 clusters of 1, 2, 4 or 8, the larger more often positive; scores as in the first."""
    sizes = np.repeat([1, 2, 4, 8], 15)
    positive = np.zeros(60, dtype=bool)
    positive[rng.choice(60, 12, replace=False, p=sizes / sizes.sum())] = True
    clusters = np.repeat(np.arange(60), sizes)
    y_score = rng.normal(size=60)[clusters] + 0.1 * rng.normal(size=clusters.size)
    return positive[clusters], y_score, {"clusters": clusters}


def permuted_across_sizes(y_true: np.ndarray, y_score: np.ndarray, clusters: np.ndarray) -> float:
    """P-value when labels of clusters of all sizes change places, which no test here does."""
    rng = np.random.default_rng(0)
    first = np.unique(clusters, return_index=True)[1]
    observed = average_precision_score(y_true, y_score)
    order = np.argsort(-y_score)
    ranks = np.arange(1, y_true.size + 1)
    labels = rng.permuted(np.tile(y_true[first], (199, 1)), axis=1)[:, clusters[order]]
    values = np.sum(labels * np.cumsum(labels, axis=1) / ranks, axis=1) / labels.sum(axis=1)
    return float((1 + np.sum(values >= observed * (1 - 1e-12))) / 200)


def sizes_of_tests() -> None:
    """Rejection rates at 5 percent under a true null hypothesis."""
    for make in (clustered, weakly_clustered, stratified, uneven):
        rng = np.random.default_rng(0)
        rejected: dict[str, int] = {}
        for seed in range(N_RUNS):
            y_true, y_score, options = make(rng)
            pvalues = {
                "ignored": average_precision_test(y_true, y_score).pvalue,
                "respected": average_precision_test(
                    y_true, y_score, n_resamples=199, random_state=seed, **options
                ).pvalue,
            }
            if make is uneven:
                pvalues["across sizes"] = permuted_across_sizes(y_true, y_score, **options)
            for name, p in pvalues.items():
                rejected[name] = rejected.get(name, 0) + (p <= 0.05)
        print(f"{make.__name__}, {N_RUNS} runs:")
        for name, count in rejected.items():
            rate = count / N_RUNS
            error = np.sqrt(rate * (1 - rate) / N_RUNS)
            print(f"  {name}: {rate:.3f} (standard error {error:.3f})")


if __name__ == "__main__":
    {"copairs": against_copairs, "restricted": of_restrictions, "sizes": sizes_of_tests}[
        sys.argv[1]
    ]()
