"""Measure the exact null distribution in each regime and write the tables into the documentation.

``python tests/benchmarks/write_regimes.py`` takes some minutes; ``write_regimes.py 100000`` leaves
out lists of more items than that.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from importlib.metadata import version
from statistics import median
from time import process_time
from typing import Any

from problems import TIED, UNTIED, Problem, forget
from write_table import TABLES, duration, write_csv

DEVIATIONS = (-1, 2, 5, 12)
_FOREST, _BLOCKS, _ZEROS = TIED
_LARGE = tuple(problem for problem in UNTIED if problem.n_samples >= 200)
_TIED = (_FOREST, replace(_BLOCKS, n_positives=900), replace(_BLOCKS, n_positives=150), _ZEROS)
# A p-value is measured again until this much time has passed, or so often.
_SECONDS, _MOST_REPETITIONS = 0.5, 9


def first_pvalue(problem: Problem, z: float) -> dict[str, float]:
    """A p-value of a new null distribution, its stated error, median of the processor times."""
    x = problem.value_at(z)
    times: list[float] = []
    while not times or (sum(times) < _SECONDS and len(times) < _MOST_REPETITIONS):
        forget()
        null = problem.null()
        start = process_time()
        pvalue = null.pvalue(x)
        times.append(process_time() - start)
    return {"pvalue": pvalue, "error": null.relative_error(x), "seconds": median(times)}


def write_tables(results: dict[str, list[dict[str, float]]]) -> None:
    """Write the p-values with their stated errors, the times, and when they were measured."""
    header = ["(n, m)", *(f"z = {z}".replace("-", "−") for z in DEVIATIONS)]

    def rows(cell: Any) -> Iterable[list[str]]:
        return ([name, *map(cell, answers)] for name, answers in results.items())

    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    (TABLES / "exact_measured.txt").write_text(
        f"Measured on {date.today()}: Python {platform.python_version()}, {versions}.\n"
    )
    write_csv(
        "exact_pvalues",
        header,
        rows(lambda answer: f"{answer['pvalue']:.4e} ({answer['error']:.0e})"),
    )
    write_csv("exact_times", header, rows(lambda answer: duration(answer["seconds"])))


if __name__ == "__main__":
    longest = int(sys.argv[1]) if len(sys.argv) > 1 else 10**9
    problems = [problem for problem in (*_LARGE, *_TIED) if problem.n_samples <= longest]
    first_pvalue(problems[0], 2)  # so that no import is measured
    write_tables(
        {str(problem): [first_pvalue(problem, z) for z in DEVIATIONS] for problem in problems}
    )
