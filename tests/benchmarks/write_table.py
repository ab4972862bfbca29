"""Run all benchmarks and write their tables into the documentation.

``python tests/benchmarks/write_table.py`` takes several minutes. Options are passed to pytest:
``-k "not 1000000"`` leaves out the longest lists.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

HERE = Path(__file__).parent
TABLES = HERE.parents[1] / "doc" / "tables"
PACKAGES = ("numpy", "scipy", "scikit-learn", "copairs")
Results = dict[str, dict[str, dict[str, Any]]]


def run_benchmarks(selection: list[str]) -> dict[str, Any]:
    """The report of pytest-benchmark on all benchmarks, by processor time."""
    with TemporaryDirectory() as directory:
        file = Path(directory) / "benchmarks.json"
        options = [
            "-n0",
            "--benchmark-only",
            "--benchmark-timer=time.process_time",
            "-q",
            *selection,
        ]
        if status := pytest.main([str(HERE), *options, f"--benchmark-json={file}"]):
            raise SystemExit(f"pytest ended with status {int(status)}: no table is written.")
        report: dict[str, Any] = json.loads(file.read_text())
    return report


def collect(report: dict[str, Any], table: str) -> Results:
    """Median seconds and peaks of a table: by problem, then by way, in the order of the run."""
    results: Results = {}
    for benchmark in report["benchmarks"]:
        label = benchmark["extra_info"]
        if label["table"] == table:
            seconds = benchmark["stats"]["median"] * label.get("share", 1)
            results.setdefault(label["problem"], {})[label["way"]] = {**label, "seconds": seconds}
    return results


def first_table(results: Results) -> Iterable[list[str]]:
    """Rows of the first p-value against calls of scikit-learn."""
    for problem, ways in results.items():
        exact, call = ways["exact test"], ways.get("average_precision_score")
        yield [
            problem,
            duration(exact["seconds"]),
            duration(call["seconds"]) if call else "",
            ratio(exact["seconds"], call["seconds"]) if call else "",
            megabytes(exact["traced"]),
            megabytes(exact["resident"]),
        ]


def whole_table(results: Results) -> Iterable[list[str]]:
    """Rows of 10,000 further values against 100 calls of scikit-learn."""
    for problem, ways in results.items():
        names = "random_rankings", "evenly_spread", "average_precision_score"
        random, spread, calls = (ways[name]["seconds"] for name in names)
        cells = [duration(random), ratio(random, calls), duration(spread), ratio(spread, calls)]
        yield [problem, *cells, duration(calls)]


def ways_table(results: Results) -> Iterable[list[str]]:
    """Rows of one p-value in several ways, with ratios to the exact test."""
    for problem, ways in results.items():
        exact = ways["exact test"]
        for name, way in ways.items():
            yield [
                problem if way is exact else "",
                name,
                duration(way["seconds"]),
                ratio(way["seconds"], exact["seconds"]),
                megabytes(way["traced"]),
                megabytes(way["resident"]),
            ]


def duration(seconds: float) -> str:
    """Seconds to three digits, in a readable unit."""
    return f"{seconds:.3g} s" if seconds >= 1.0 else f"{1000.0 * seconds:.3g} ms"


def ratio(one: float, other: float) -> str:
    """A ratio to two digits, without an exponent."""
    quotient = one / other
    return f"{quotient:.2g}" if quotient < 10.0 else f"{float(f'{quotient:.2g}'):,.0f}"


def megabytes(size: float) -> str:
    """MB to two digits or, from 100, to the unit."""
    return f"{size:.2g}" if size < 100.0 else f"{size:,.0f}"


def write_csv(name: str, header: list[str], rows: Iterable[list[str]]) -> None:
    """Write a table of the documentation."""
    with (TABLES / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def write_tables(report: dict[str, Any]) -> None:
    """Write where and when it was measured, and the tables."""
    machine = report["machine_info"]
    cpu = machine["cpu"]
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    (TABLES / "benchmarks_measured.txt").write_text(
        f"Measured on {report['datetime'][:10]}: {cpu.get('brand_raw', machine['processor'])}, "
        f"{cpu['count']} cores, {machine['system']}, Python {machine['python_version']}, "
        f"{versions}.\n"
    )
    memory = ["allocated (MB)", "resident (MB)"]
    write_csv(
        "benchmarks_first",
        ["(n, m)", "exact test", "one scikit-learn call", "ratio", *memory],
        first_table(collect(report, "first")),
    )
    write_csv(
        "benchmarks_further",
        [
            "(n, m)",
            "random labellings",
            "ratio",
            "evenly spaced values",
            "ratio",
            "100 scikit-learn calls",
        ],
        whole_table(collect(report, "whole")),
    )
    write_csv(
        "benchmarks_methods",
        ["(n, m)", "method", "time", "ratio to exact", *memory],
        ways_table(collect(report, "ways")),
    )


if __name__ == "__main__":
    write_tables(run_benchmarks(sys.argv[1:]))
