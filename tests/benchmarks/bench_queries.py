"""P-values of the queries of a run: exact ones against a million resamples of copairs each.

Run from the top of the repository: ``python tests/benchmarks/bench_queries.py [N_QUERIES]``, with
copairs installed. Nothing is asserted. Printed are the times of both, and for how many queries the
two differ by more than four Monte Carlo standard errors, of which hardly any should.
"""

from __future__ import annotations

import os
import sys
import time
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np

from sklearn_rankinf import average_precision_test

N_QUERIES, N_RESAMPLES, N_ERRORS = 30, 1_000_000, 4.0


def made_run(n_queries: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, scores and queries of 50 to 1000 samples and 1 to 15 positives, without ties."""
    rng = np.random.default_rng(0)
    n_samples = rng.integers(50, 1001, size=n_queries)
    n_positives = rng.integers(1, 16, size=n_queries)
    sizes = list(zip(n_samples, n_positives, strict=True))
    y_true = np.concatenate([np.arange(n) < m for n, m in sizes]).astype(int)
    # Some queries find nothing, some a lot.
    signal = np.repeat(rng.uniform(0.0, 1.5, size=n_queries), n_samples)
    y_score = rng.normal(size=y_true.size) + signal * y_true
    return y_true, y_score, np.repeat(np.arange(n_queries), n_samples)


def main(n_queries: int) -> None:
    from copairs import compute

    y_true, y_score, groups = made_run(n_queries)
    start = time.perf_counter()
    result = average_precision_test(y_true, y_score, groups=groups)
    seconds = time.perf_counter() - start
    sizes = np.stack([result.query_n_positives, result.query_n_samples], axis=1)
    # copairs caches its samples in the home directory.
    with TemporaryDirectory() as home, mock.patch.dict(os.environ, HOME=home, USERPROFILE=home):
        start = time.perf_counter()
        sampled = compute.p_values(
            result.query_statistic, sizes, null_size=N_RESAMPLES, seed=0, progress_bar=False
        )
        seconds_sampled = time.perf_counter() - start
    p = result.query_pvalue
    # copairs adds one to numerator and denominator.
    error = np.sqrt(p * (1.0 - p) / N_RESAMPLES) + 1.0 / N_RESAMPLES
    off = np.abs(sampled - p) / error
    few = p < 10.0 / N_RESAMPLES
    print(f"{n_queries} queries of {sizes[:, 1].min()} to {sizes[:, 1].max()} samples")
    print(f"exact: {seconds:.2f} s, and mean average precision in it: p = {result.pvalue:.3g}")
    print(f"largest relative error: {result.query_pvalue_relative_error.max():.1e}")
    print(f"copairs, {N_RESAMPLES} resamples: {seconds_sampled:.1f} s")
    print(f"differ by more than {N_ERRORS:g} standard errors: {(off > N_ERRORS).sum()}")
    print(f"largest difference: {off.max():.2f} standard errors")
    print(f"queries below 10 / {N_RESAMPLES}: {few.sum()}, the smallest p = {p.min():.2g}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else N_QUERIES)
