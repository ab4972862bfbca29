"""Time and memory of counting a ranking out of dask arrays that are never in memory as a whole.

Run from the top of the repository: ``python tests/benchmarks/bench_dask.py [N_SAMPLES]``, with the
``distributed`` extra. Nothing is asserted. Each row of the table is a separate process, with or
without a cluster of two workers below it. Its memory is the largest sum of the resident sizes of
these processes, with shared pages counted in each. Time is that of the work alone, next to that of
making the same data and adding them up.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

N_SAMPLES, SHARE_OF_POSITIVES, CHUNK = 100_000_000, 1e-4, 1_000_000
SCHEDULERS = ("threads", "cluster")
COUNTS = ("all", "positives")
TASKS = ("nothing", "sum", "count")


def made_data(n_samples: int, counts: str) -> tuple[Any, Any]:
    """Labels and scores: probabilities rounded to 1e-5, or continuous where these are counted."""
    import dask.array as da
    import numpy as np

    rng = da.random.default_rng(0)
    y_true = rng.random(n_samples, chunks=CHUNK) < SHARE_OF_POSITIVES
    y_score = rng.standard_normal(n_samples, chunks=CHUNK) + y_true
    if counts == "all":
        y_score = (1.0 / (1.0 + np.exp(-y_score))).round(5).astype(np.float32)
    return y_true, y_score


def work(task: str, n_samples: int, counts: str) -> dict[str, Any]:
    """Do one task and return its time."""
    import dask

    from sklearn_rankinf import Ranking, average_precision_at_k_score

    if task == "nothing":
        return {"seconds": 0.0}
    y_true, y_score = made_data(n_samples, counts)
    start = time.perf_counter()
    if task == "sum":
        dask.compute(y_true.sum(), y_score.sum())
        return {"seconds": time.perf_counter() - start}
    ranking = Ranking.from_dask(y_true, y_score, counts=counts)
    seconds = time.perf_counter() - start
    ap = average_precision_at_k_score(ranking, k=ranking.n_samples)
    return {"seconds": seconds, "ranking": repr(ranking), "AP": ap}


def child(task: str, scheduler: str, n_samples: str, counts: str) -> None:
    """One process of the table."""
    import dask

    if scheduler == "threads":
        with dask.config.set(scheduler="threads", num_workers=2):
            done = work(task, int(n_samples), counts)
    else:
        from dask.distributed import Client, LocalCluster

        options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**options) as cluster, Client(cluster):
            done = work(task, int(n_samples), counts)
    print(json.dumps(done))


def measured(*arguments: str) -> dict[str, Any]:
    """Output of a process, and the peak memory of the process and its children, in MB."""
    import psutil

    command = [sys.executable, __file__, "child", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = 0
    while process.poll() is None:
        resident = 0
        try:
            root = psutil.Process(process.pid)
            family = [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            break
        for member in family:
            try:
                resident += member.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        peak = max(peak, resident)
        time.sleep(0.02)
    output, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed")
    return {**json.loads(output.splitlines()[-1]), "peak": peak / 1e6}


def main(n_samples: int) -> None:
    print(f"{n_samples:.0e} rows in chunks of {CHUNK:.0e}, positives {SHARE_OF_POSITIVES:g}")
    print("scheduler  counts     task      seconds  peak MB")
    for scheduler in SCHEDULERS:
        for counts in COUNTS:
            for task in TASKS:
                row = measured(task, scheduler, str(n_samples), counts)
                print(
                    f"{scheduler:10} {counts:10} {task:8} {row['seconds']:8.1f} {row['peak']:8.0f}"
                    f"  {row.get('ranking', '')} {row.get('AP', '')}",
                    flush=True,
                )


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(*sys.argv[2:])
    else:
        main(int(float(sys.argv[1])) if len(sys.argv) > 1 else N_SAMPLES)
