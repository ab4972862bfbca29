"""Simulate coverage and size of the recommended methods and write them into ``doc/tables``.

``python tests/statistical/write_rates.py kept.jsonl`` takes about half an hour. Every rate is added
to that file as soon as it is computed, and rates in the file are not simulated again.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rate_tables import shown, write
from rates import (
    BY_NAME,
    CAUCHY,
    CLASSES,
    LEVELS,
    MIX,
    POPULATIONS,
    STRAGGLERS,
    average_precision_at_k_in,
    average_precision_in,
    average_precision_of,
    bedroc_of,
    binormal_coverage,
    cluster_coverage,
    comparison_rates,
    coverage,
    coverage_at_fractions,
    coverage_at_prevalences,
    dcg_of,
    mean_coverage,
    query_rates,
    rankings,
    ranks,
    recall_in,
    roc_auc_in,
    with_average_precision,
)

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    RecallAtK,
    RocAuc,
)

PACKAGES = ("numpy", "scipy", "scikit-learn")
# Positives and items, and with cut-offs.
SIZES = (
    (20, 200),
    (50, 500),
    (50, 5000),
    (100, 2000),
    (5, 100),
    (10, 2000),
    (20, 20_000),
    (50, 100),
)
CUTS = (
    (20, 200, 20),
    (50, 500, 25),
    (50, 500, 50),
    (50, 5000, 50),
    (100, 2000, 100),
    (10, 2000, 10),
)
# Positives and negatives sampled apart, and the negatives on which precision rests.
OF_CLASSES = ((50, 950), (100, 9900), (500, 500), (20, 980))
COUNTS = (2, 5, 10, 20, 50, 100)
D1, D15 = BY_NAME["d = 1"], BY_NAME["d = 1.5"]
EQUAL = (BY_NAME["d = 0"], D1, BY_NAME["d = 2"], BY_NAME["t + 2.5"], MIX, LEVELS)
FEW = (BY_NAME["d = 0"], D1, BY_NAME["d = 2"], BY_NAME["d = 3"], BY_NAME["t + 2.5"], MIX)
WAYS = ("swap", "influence")
OF_HITS = ("hypergeometric", "hypergeometric_midp", "mcnemar", "emproc")


@dataclass(frozen=True)
class Table:
    """A table of the page on coverage, in a file of its own; seeds depend on the title."""

    title: str
    corner: str
    file: str
    kind: str = "coverage"


AP = Table("Average precision, influence", "m, n", "interval_average_precision")
AP_AT_K = Table("Average precision at k, influence", "m, n, k", "interval_average_precision_at_k")
CALIBRATED = Table(
    "Average precision, calibrated: the expectation at this size", "m, n", "interval_calibrated"
)
PREVALENCE = Table(
    "Average precision at another prevalence, mover", "m, n0, scores", "interval_at_prevalence"
)
FRACTION = Table(
    "Recall at the fraction f at another prevalence, union", "m, n0, scores", "recall_at_prevalence"
)
AUC = Table("ROC AUC, score", "m, n", "interval_roc_auc")
RECALL = Table("Recall at k, score", "m, n, k", "interval_recall_at_k")
DCG = Table("DCG, binormal", "m, n", "interval_dcg")
BEDROC = Table("BEDROC, binormal", "m, n", "interval_bedroc")
MEAN = Table("Mean average precision over queries", "queries", "interval_queries")
CLUSTERS = Table(
    "100 clusters of 5 samples, 20 clusters of positives",
    "correlation, shift",
    "interval_clusters",
)
SIZE = Table(
    "Average precision, size of tests of equal rankers",
    "m, n, scores",
    "size_average_precision",
    "size",
)
SHAPE = Table(
    "Average precision, other correlations and shapes", "m, n, scores", "size_other_shapes", "size"
)
AGAIN = Table("The largest of these sizes once more", "metric, m, n, scores", "size_again", "size")
OTHERS = Table(
    "Other metrics, size of tests, d = 1 for both", "metric, m, n", "size_other_metrics", "size"
)
QUERIES = Table("Mean average precision over queries, size", "queries", "size_queries", "size")
POWER = Table("Average precision, power", "m, n, scores", "power_average_precision", "power")
OTHER_POWER = Table(
    "Other metrics, power, d = 1 against d = 1.5", "metric, m, n", "power_other_metrics", "power"
)
QUERY_POWER = Table(
    "Mean average precision over queries, power", "queries, d", "power_queries", "power"
)
MOVER = Table(
    "Average precision, interval of the difference", "m, n, scores", "difference_average_precision"
)
OTHER_MOVER = Table(
    "Other metrics, interval of the difference", "metric, m, n, d", "difference_other_metrics"
)
ALL_TABLES = (
    *(AP, AP_AT_K, CALIBRATED, PREVALENCE, FRACTION, AUC, RECALL, DCG, BEDROC, MEAN, CLUSTERS),
    *(SIZE, SHAPE, OTHERS, AGAIN, QUERIES, POWER, OTHER_POWER, QUERY_POWER, MOVER, OTHER_MOVER),
)


@dataclass(frozen=True)
class Cell:
    """Rates of one row that are simulated together.

    Attributes
    ----------
    tables : dict
        Which table and column each rate belongs to, by its name.
    row : str
        The row.
    n_data_sets : int
        Number of data sets.
    simulate : callable
        ``simulate(n_data_sets=..., rng=...)`` returns the rates by name.
    """

    tables: dict[str, tuple[Table, str]]
    row: str
    n_data_sets: int
    simulate: Callable[..., dict[str, float]]

    @property
    def label(self) -> str:
        """Key that identifies the cell."""
        places = ", ".join(f"{table.title}: {column}" for table, column in self.tables.values())
        return f"{places}; {self.row}"

    def run(self) -> list[dict[str, Any]]:
        """The rates, with their places; the seed depends on these alone."""
        rng = np.random.default_rng(zlib.crc32(self.label.encode()))
        rates = self.simulate(n_data_sets=self.n_data_sets, rng=rng)
        return [
            {
                "cell": self.label,
                "table": table.title,
                "row": self.row,
                "column": column,
                "n": self.n_data_sets,
                "rate": float(rates[name]),
            }
            for name, (table, column) in self.tables.items()
        ]


def alone(table: Table, row: str, column: str, n: int, rate: Callable[..., float]) -> Cell:
    """One rate by itself."""
    return Cell({"": (table, column)}, row, n, lambda **options: {"": rate(**options)})


def of_sizes(*numbers: Any) -> str:
    """Row of sizes."""
    return ", ".join(f"{number:,}" if isinstance(number, int) else number for number in numbers)


# Intervals.


def interval_cell(table, metric, method, population, target, sizes, n) -> Cell:
    """Coverage of an interval of one ranking."""
    m, size, *k = sizes

    def rate(n_data_sets, rng):
        data_sets = rankings(population, size, m, n_data_sets, rng, *k)
        return coverage(metric, method, data_sets, target(population, m, size, *k))

    return alone(table, of_sizes(*sizes), population.name, n, rate)


def of_average_precision(population, m, n):
    return average_precision_in(population, m / n)


def of_average_precision_at_k(population, m, n, k):
    return average_precision_at_k_in(population, n, m, k)


def of_roc_auc(population, m, n):
    return roc_auc_in(population)


def of_recall(population, m, n, k):
    return recall_in(population, m / n, k / n)


def of_samples(population, m, n):
    rows = ranks(population, n, m, 50_000, np.random.default_rng(1))
    return average_precision_of(rows, n).mean()


def average_precision_cells() -> Iterator[Cell]:
    for sizes in SIZES:
        for p in (*POPULATIONS, CAUCHY, STRAGGLERS):
            yield interval_cell(
                AP, AveragePrecision(), "influence", p, of_average_precision, sizes, 4000
            )


def other_interval_cells() -> Iterator[Cell]:
    for sizes in SIZES[:5]:
        for p in (*FEW, LEVELS):
            yield interval_cell(AUC, RocAuc(), "score", p, of_roc_auc, sizes, 1000)
    for cuts in CUTS:
        for p in FEW:
            yield interval_cell(RECALL, RecallAtK(cuts[2]), "score", p, of_recall, cuts, 2000)
            metric, target = AveragePrecision(cuts[2]), of_average_precision_at_k
            yield interval_cell(AP_AT_K, metric, "influence", p, target, cuts, 1000)


def prevalence_cells() -> Iterator[Cell]:
    for (m, n0), classes in product(OF_CLASSES, CLASSES):
        prevalences = {f"n0 π = {count}": count / n0 for count in COUNTS}
        where = {name: (PREVALENCE, name) for name in prevalences}

        def simulate(n_data_sets, rng, sizes=(m, n0), classes=classes, prevalences=prevalences):
            values = tuple(prevalences.values())
            rates = coverage_at_prevalences(classes, sizes, values, n_data_sets, rng)
            return dict(zip(prevalences, rates, strict=True))

        yield Cell(where, of_sizes(m, n0, classes.name), 4000, simulate)


def fraction_cells() -> Iterator[Cell]:
    for (m, n0), classes in product(OF_CLASSES[:3], CLASSES):
        cells = {
            f"n0 f = {count}, π = f{where}": (factor * count / n0, count / n0)
            for count, (where, factor) in product((25, 50, 100), (("/5", 0.2), ("", 1.0)))
        }

        def simulate(n_data_sets, rng, sizes=(m, n0), classes=classes, cells=cells):
            values = tuple(cells.values())
            rates = coverage_at_fractions(classes, sizes, values, n_data_sets, rng)
            return dict(zip(cells, rates, strict=True))

        where = {name: (FRACTION, name) for name in cells}
        yield Cell(where, of_sizes(m, n0, classes.name), 2000, simulate)


def calibrated_cells() -> Iterator[Cell]:
    for p in (EQUAL[0], D1, EQUAL[2], MIX):
        yield interval_cell(
            CALIBRATED, AveragePrecision(), "calibrated", p, of_samples, SIZES[0], 300
        )


def binormal_cells() -> Iterator[Cell]:
    metrics = (DCG, DiscountedCumulativeGain(), dcg_of), (BEDROC, Bedroc(), bedroc_of)
    for m, n in SIZES[:3]:
        for p in (*EQUAL[:3], MIX):
            for table, metric, values_of in metrics:
                rate = partial(binormal_coverage, metric, values_of, p, n, m)
                yield alone(table, of_sizes(m, n), p.name, 10_000, rate)


def cluster_cells() -> Iterator[Cell]:
    metrics = (
        ("average precision", AveragePrecision(), lambda p: average_precision_in(p, 0.2)),
        ("ROC AUC", RocAuc(), roc_auc_in),
        ("recall at 100", RecallAtK(100), lambda p: recall_in(p, 0.2, 0.2)),
    )
    design = {"n_clusters": 100, "n_positive_clusters": 20, "size": 5}
    for correlation, p in product((0.5, 0.9), (D1, BY_NAME["d = 2"])):
        options = {**design, "population": p, "correlation": correlation}
        for (name, metric, target), with_clusters in product(metrics, (True, False)):
            column = name if with_clusters else f"{name}, clusters left out"
            value = target(p)
            rate = partial(cluster_coverage, metric, value, in_clusters=with_clusters, **options)
            yield alone(CLUSTERS, f"{correlation:g}, {p.name}", column, 1000, rate)


def mean_cells() -> Iterator[Cell]:
    for n_queries in (10, 30, 100):
        for method, n in (("t", 4000), ("bootstrap", 1000)):
            rate = partial(mean_coverage, method, n_queries, 1.0)
            yield alone(MEAN, str(n_queries), method, n, rate)


# Comparisons.


def places(table: Table, methods: Iterable[str]) -> dict[str, tuple[Table, str]]:
    """A column of the table for each method."""
    return {method: (table, method.replace("_", " ")) for method in methods}


def comparison_cell(
    table, methods, metric, pair, sizes, row, n, *, difference=None, mover=None, **options
) -> Cell:
    """Rejections of tests, and coverage of the interval of the difference."""
    m, size = sizes
    where = places(table, methods)
    if difference is not None:
        where["interval"] = mover or (MOVER, "coverage")
    simulate = partial(
        comparison_rates, metric, methods, pair, size, m, difference=difference, **options
    )
    return Cell(where, row, n, simulate)


def average_precision_tests() -> Iterator[Cell]:
    for sizes in SIZES[:4]:
        for p in EQUAL:
            yield average_precision_test(SIZE, (p, p), sizes, p.name)
        for pair in ((D1, D15), (EQUAL[0], BY_NAME["d = 0.5"])):
            yield average_precision_test(
                POWER, pair, sizes, f"{pair[0].name} against {pair[1].name}"
            )
    for correlation in (0.0, 0.9):
        scores = f"d = 1, correlation {correlation:g}"
        yield average_precision_test(SHAPE, (D1, D1), SIZES[1], scores, correlation=correlation)
    for sizes in (SIZES[1], SIZES[3]):
        prevalence = sizes[0] / sizes[1]
        other = with_average_precision(average_precision_in(D15, prevalence), prevalence, 3.0)
        scores = "d = 1.5 against t of equal average precision"
        yield average_precision_test(SHAPE, (D15, other), sizes, scores, difference=0.0)


def repeated_tests() -> Iterator[Cell]:
    average_precision = "average precision", AveragePrecision()
    for (name, metric), sizes, p in (
        (average_precision, SIZES[2], EQUAL[2]),
        (("ROC AUC", RocAuc()), SIZES[0], D1),
        (("BEDROC", Bedroc()), SIZES[0], D1),
        (average_precision, SIZES[1], MIX),
        (average_precision, SIZES[1], EQUAL[3]),
    ):
        row = of_sizes(name, *sizes, p.name)
        yield comparison_cell(AGAIN, WAYS, metric, (p, p), sizes, row, 4000)


def average_precision_test(table, pair, sizes, scores, *, difference=None, **options) -> Cell:
    """Tests of average precision, and the interval of the difference."""
    row = of_sizes(*sizes, scores)
    if difference is None:
        one, other = (average_precision_in(p, sizes[0] / sizes[1]) for p in pair)
        difference = one - other
    return comparison_cell(
        table, WAYS, AveragePrecision(), pair, sizes, row, 1000, difference=difference, **options
    )


def metrics_of(m, n):
    """Name, metric, its tests, and value in a population if its interval is quick."""
    return (
        ("ROC AUC", RocAuc(), ("delong",), roc_auc_in),
        ("recall at m", RecallAtK(m), OF_HITS, lambda p: recall_in(p, m / n, m / n)),
        (
            "average precision at m",
            AveragePrecision(m),
            (),
            lambda p: average_precision_at_k_in(p, n, m, m),
        ),
        ("DCG", DiscountedCumulativeGain(), (), None),
        ("BEDROC", Bedroc(), (), None),
    )


def metric_tests() -> Iterator[Cell]:
    pairs = (OTHERS, (D1, D1), "equal"), (OTHER_POWER, (D1, D15), "1 against 1.5")
    for sizes in SIZES[:2]:
        for (name, metric, more, value), (table, pair, column) in product(
            metrics_of(*sizes), pairs
        ):
            difference = None if value is None else float(value(pair[0]) - value(pair[1]))
            ways, row = (*WAYS, *more), of_sizes(name, *sizes)
            yield comparison_cell(
                table,
                ways,
                metric,
                pair,
                sizes,
                row,
                1000,
                difference=difference,
                mover=(OTHER_MOVER, column),
            )


def query_cells() -> Iterator[Cell]:
    for n_queries in (10, 30, 100):
        for table, shifts, row in (
            (QUERIES, (1.0, 1.0), f"{n_queries}"),
            (QUERY_POWER, (1.0, 1.5), f"{n_queries}, 1 against 1.5"),
        ):
            simulate = partial(query_rates, n_queries, shifts)
            yield Cell(places(table, ("sign_flip", "t")), row, 2000, simulate)


def binormal_mover_cells() -> Iterator[Cell]:
    mover = OTHER_MOVER, "equal"
    for name, metric in (("DCG", DiscountedCumulativeGain()), ("BEDROC", Bedroc())):
        row = of_sizes(name, *SIZES[0])
        yield comparison_cell(
            OTHERS, (), metric, (D1, D1), SIZES[0], row, 200, difference=0.0, mover=mover
        )


def cells() -> Iterator[Cell]:
    """All cells, those that matter most first."""
    yield from average_precision_cells()
    yield from prevalence_cells()
    yield from fraction_cells()
    yield from query_cells()
    yield from mean_cells()
    yield from average_precision_tests()
    yield from cluster_cells()
    yield from binormal_cells()
    yield from other_interval_cells()
    yield from metric_tests()
    yield from repeated_tests()
    yield from calibrated_cells()
    yield from binormal_mover_cells()


# The tables.


def rows_of(table: Table, entries: list[dict[str, Any]]) -> Iterator[list[str]]:
    """The header and the rows of a table."""
    columns = list(dict.fromkeys(entry["column"] for entry in entries))
    by_place = {(entry["row"], entry["column"]): entry["rate"] for entry in entries}
    yield [table.corner, *columns]
    for row in dict.fromkeys(entry["row"] for entry in entries):
        yield [row, *(shown(by_place.get((row, column)), table.kind) for column in columns)]


def write_all(results: list[dict[str, Any]]) -> None:
    """Write the tables that have rates."""
    for table in ALL_TABLES:
        entries = [result for result in results if result["table"] == table.title]
        if entries:
            write(table.file, rows_of(table, entries))


def main(kept: Path) -> None:
    """Simulate the missing cells, and write the tables."""
    results = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    known = {result["cell"] for result in results}
    for cell in cells():
        if cell.label in known:
            continue
        found = cell.run()
        results += found
        with kept.open("a") as file:
            file.writelines(json.dumps(result) + "\n" for result in found)
    write_all(results)
    print("Simulated with", *(f"{name} {version(name)}" for name in PACKAGES))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
