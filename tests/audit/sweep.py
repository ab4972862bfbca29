"""Sweep the sizes, levels and qualities of rankers, and write a table into the documentation.

``python -m tests.audit.sweep`` takes 25 minutes of processor time, ``--seconds`` sets another time,
and ``--tiny`` takes a minute. A row is a size, a number of levels and a metric: the share of values
from chance to a perfect ranking that have an exact p-value with a stated error of at most 10 %, the
largest error stated, by how much at most a p-value is outside the limits of the oracles, and the
processor times of a first p-value and a first score. Rows are measured in a random order until the
time is over, and each is printed. The table is written after each of them, with the worst of all
metrics of a list.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

from sklearn_rankinf import (
    Ranking,
    average_precision_test,
    make_significance_scorer,
    metric_test,
)
from tests.benchmarks.write_table import write_csv

from . import far_tails
from .cases import NAMES, Case
from .checks import UNKNOWN
from .oracles import sum_of
from .rankers import Given, RankedCase, Ranker

SIZES = ((500, 5), (2000, 200), (10_000, 100), (50_000, 500), (50_000, 5000), (1_000_000, 10_000))
LEVELS = (5, 50, 500)
SIGNALS = (0.0, 1.0, 3.0, 20.0)
SECONDS = 1500.0
METRICS: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...] = (
    ("average_precision", ()),
    ("average_precision", (("k", 100),)),
    ("roc_auc", ()),
    ("dcg", ()),
    ("ndcg", (("normalize", True),)),
    ("bedroc", (("alpha", 20.0),)),
    ("rie", (("alpha", 20.0),)),
    ("recall_at_k", (("k", 100),)),
    ("precision_at_k", (("k", 100),)),
    ("enrichment_at_k", (("k", 100),)),
    ("f_score_at_k", (("k", 100),)),
    ("reciprocal_rank", ()),
    ("map", ()),
)
# Queries of a mean, and items of all of them at most.
QUERIES, MOST_IN_QUERIES = 10, 100_000
TINY = ((500, 20),), (5, 50), (0.0, 2.0, 20.0), METRICS[:3]


@dataclass
class Row:
    """What the values of one row gave."""

    stated: list[float] = field(default_factory=list)
    outside: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    of_scores: list[float] = field(default_factory=list)
    n_asked: int = 0

    def cells(self) -> list[str]:
        answered = sum(error <= UNKNOWN for error in self.stated)
        return [
            f"{answered} of {self.n_asked}",
            f"{max(self.stated, default=math.inf):.1g}",
            f"{max(self.outside):.1g}" if self.outside else "",
            *_times(self.seconds),
            *_times(self.of_scores),
        ]


def _times(seconds: list[float]) -> list[str]:
    return [f"{np.median(seconds):.2g}", f"{max(seconds):.2g}"] if seconds else ["", ""]


HEADER = [
    *("(n, m)", "levels", "answered", "largest error stated"),
    *("outside the oracles by (metrics compared)", "longest p-value (s)"),
    "longest score (s)",
]
# Places of a row's cells.
ANSWERED, STATED, OUTSIDE, LONGEST, LONGEST_SCORE = 3, 4, 5, 7, 9


def summary(lines: Iterable[list[str]]) -> list[list[str]]:
    """All metrics of a size and a number of levels in one row, with the worst of each column."""
    groups: dict[tuple[str, str], list[list[str]]] = {}
    for line in lines:
        groups.setdefault((line[0], line[1]), []).append(line)
    found = []
    for of, group in groups.items():
        counts = zip(*(map(int, line[ANSWERED].split(" of ")) for line in group), strict=True)
        answered = " of ".join(str(sum(count)) for count in counts)
        stated, outside, p_value, score = (
            _worst(line[i] for line in group) for i in (STATED, OUTSIDE, LONGEST, LONGEST_SCORE)
        )
        compared = sum(bool(line[OUTSIDE]) for line in group)
        outside += f" ({compared} of {len(group)})" if compared else ""
        found.append([*of, answered, stated, outside, p_value, score])
    return found


def _worst(cells: Iterable[str]) -> str:
    return max((cell for cell in cells if cell), key=float, default="")


def measure(ranker: Ranker, metric: str, options: Any, row: Row, thorough: bool) -> None:
    """Add a ranker's value to a row."""
    if metric == "map":
        _measure_mean(ranker, row, thorough)
        return
    case = RankedCase(metric, options, (ranker.ranked(),), "", 0, rankers=(ranker,))
    sizes, hits = ranker.blocks()
    ranking = Ranking.from_counts(sizes, hits)
    row.n_asked += 1
    start = time.process_time()
    result = metric_test(ranking, metric=eval(case.statistic(), dict(NAMES)))
    row.seconds.append(time.process_time() - start)
    exact = result.method == "analytic"
    row.stated.append(float(result.pvalue_relative_error) if exact else math.inf)
    # Other labels of another ranker, whose null distribution nobody has asked for yet.
    other = replace(ranker, seed=ranker.seed + 1)
    y, scores = other.scores()
    features = np.asarray(scores, dtype=float)[:, None]
    scorer = make_significance_scorer(metric=eval(case.statistic(), dict(NAMES)))
    start = time.process_time()
    scorer(Given().fit(features, y), features, y)
    row.of_scores.append(time.process_time() - start)
    if exact and row.stated[-1] <= UNKNOWN:
        log_p = float(result.log10_pvalue) * math.log(10.0)
        row.outside += _outside(case, float(result.statistic), log_p, thorough)


def _measure_mean(ranker: Ranker, row: Row, thorough: bool) -> None:
    """Add the mean of queries of a ranker's kind."""
    queries = tuple(replace(ranker, seed=ranker.seed + i) for i in range(QUERIES))
    ranked = tuple(one.ranked() for one in queries)
    case = RankedCase("map", (), ranked, "", 0, rankers=queries)
    rankings = {i: Ranking.from_counts(*one.blocks()) for i, one in enumerate(queries)}
    row.n_asked += 1
    start = time.process_time()
    result = average_precision_test(rankings)
    row.seconds.append(time.process_time() - start)
    exact = result.method == "analytic"
    row.stated.append(float(result.pvalue_relative_error) if exact else math.inf)
    if row.stated[-1] <= UNKNOWN and result.pvalue > 0.0:
        row.outside += _outside(case, float(result.statistic), math.log(result.pvalue), thorough)


def _outside(case: Case, x: float, log_p: float, thorough: bool) -> list[float]:
    """By what relative error a p-value is outside the limits of each oracle."""
    if case.metric == "reciprocal_rank":
        return []
    totals = [sum_of(case, ranking) for ranking in case.rankings]
    known = [total for total in totals if total is not None]
    if len(known) < len(totals):
        return []
    effort = far_tails.THOROUGH if thorough else far_tails.QUICK
    found = []
    for way in far_tails.far_tails(known, effort, 0):
        low, high = way.log_pvalue(x)
        off = max(low - log_p, log_p - high, 0.0)
        # The rounding of the oracles' logarithms is no error.
        found.append(math.expm1(off) if off > 1e-8 * (1.0 + abs(log_p)) else 0.0)
    return found


def rows(
    sizes: Any, levels: Any, signals: Any, metrics: Any, thorough: bool, seconds: float
) -> Iterator[tuple[int, list[str]]]:
    """The rows of the table with their places in it, each as it is measured."""
    places = [
        (size, n_levels, metric)
        for size, n_levels, metric in itertools.product(sizes, levels, metrics)
        if metric[0] != "map" or QUERIES * size[0] <= MOST_IN_QUERIES
    ]
    start = time.process_time()
    for place in Random(0).sample(range(len(places)), len(places)):
        if time.process_time() - start > seconds:
            return
        (n, m), n_levels, (metric, options) = places[place]
        row = Row()
        for i, signal in enumerate(signals):
            ranker = Ranker("forest", n_levels, n, m, signal, 7919 * i)
            measure(ranker, metric, options, row, thorough)
        name = metric + "".join(f" ({key} = {value})" for key, value in options if key == "k")
        size = f"{QUERIES} queries of ({n}, {m})" if metric == "map" else f"({n}, {m})"
        yield place, [size, str(n_levels), name, *row.cells()]


def main() -> int:
    """Measure all rows, print each, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.audit.sweep", description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="a minute, printed and not written")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help=f"processor time to spend ({SECONDS:.0f})"
    )
    parser.add_argument("--thorough", action="store_true", help="more work for the oracles")
    parser.add_argument("--most", type=int, default=10**6, help="items of the longest list (1e6)")
    parser.add_argument("--metric", action="append", help="only this metric; may be repeated")
    args = parser.parse_args()
    sizes, levels, signals, metrics = TINY if args.tiny else (SIZES, LEVELS, SIGNALS, METRICS)
    chosen = [one for one in metrics if not args.metric or one[0] in args.metric]
    kept = [(n, m) for n, m in sizes if n <= args.most]
    lines: dict[int, list[str]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place, line in rows(kept, levels, signals, chosen, args.thorough, args.seconds):
            print("  ".join(line), flush=True)
            lines[place] = line
            if not args.tiny:
                write_csv("sweep", HEADER, summary(lines[i] for i in sorted(lines)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
