"""P-values of the queries of a run: exact ones against resamples of copairs for each shape.

Run from the top of the repository, with copairs installed:
``python tests/benchmarks/bench_queries.py [N_QUERIES [N_RESAMPLES [N_SAMPLES]]]``. Queries have 50
to 1000 items, or all the same number. Nothing is asserted. Printed are the times of both, the
memory of the process after the exact test, and for how many queries the two differ by more than
four Monte Carlo standard errors, of which hardly any should.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np

from sklearn_rankinf import average_precision_test

N_QUERIES, N_RESAMPLES, N_ERRORS = 30, 1_000_000, 4.0


def made_run(n_queries: int, n_samples: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, scores and queries of 50 to 1000 items and 1 to 15 positives, without ties."""
    rng = np.random.default_rng(0)
    low, high = (50, 1000) if n_samples is None else (n_samples, n_samples)
    n_samples = rng.integers(low, high + 1, size=n_queries)
    n_positives = rng.integers(1, 16, size=n_queries)
    sizes = list(zip(n_samples, n_positives, strict=True))
    y_true = np.concatenate([np.arange(n) < m for n, m in sizes]).astype(int)
    # Some queries find nothing, some a lot.
    signal = np.repeat(rng.uniform(0.0, 1.5, size=n_queries), n_samples)
    y_score = rng.normal(size=y_true.size) + signal * y_true
    return y_true, y_score, np.repeat(np.arange(n_queries), n_samples)


def main(
    n_queries: int = N_QUERIES, n_resamples: int = N_RESAMPLES, n_samples: int | None = None
) -> None:
    from copairs import compute

    y_true, y_score, groups = made_run(n_queries, n_samples)
    start = time.perf_counter()
    result = average_precision_test(y_true, y_score, groups=groups)
    seconds = time.perf_counter() - start
    # Kibibytes on Linux.
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    sizes = np.stack([result.query_n_positives, result.query_n_samples], axis=1)
    # copairs caches its samples in the home directory.
    with TemporaryDirectory() as home, mock.patch.dict(os.environ, HOME=home, USERPROFILE=home):
        start = time.perf_counter()
        sampled = compute.p_values(
            result.query_statistic, sizes, null_size=n_resamples, seed=0, progress_bar=False
        )
        seconds_sampled = time.perf_counter() - start
    p = result.query_pvalue
    # copairs adds one to numerator and denominator.
    error = np.sqrt(p * (1.0 - p) / n_resamples) + 1.0 / n_resamples
    # copairs has single precision, and misses the equal values of queries with one positive.
    off = (np.abs(sampled - p) / error)[result.query_n_positives > 1]
    few = p < 10.0 / n_resamples
    print(f"{n_queries} queries of {sizes[:, 1].min()} to {sizes[:, 1].max()} items")
    print(f"exact: {seconds:.2f} s, and mean average precision in it: p = {result.pvalue:.3g}")
    print(f"largest relative error: {result.query_pvalue_relative_error.max():.1e}")
    print(f"memory of the process, with the data: {memory:.2f} GiB")
    print(f"copairs, {n_resamples} resamples: {seconds_sampled:.1f} s")
    several = f"of {off.size} queries with several positives"
    print(f"differ by more than {N_ERRORS:g} standard errors, {several}: {(off > N_ERRORS).sum()}")
    print(f"largest difference: {off.max():.2f} standard errors")
    print(f"queries below 10 / {n_resamples}: {few.sum()}, the smallest p = {p.min():.2g}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
