"""Stated errors against enumeration: ``python -m tests.audit.enumeration``.

The null distributions are small enough to enumerate, but the engine computes them with the
algorithms of large problems. The exact p-values come from the oracles of the audit, which
enumerate all outcomes block by block and share no code with the package.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import math
import sys
import time
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

from .cases import Case, GeometricWeights, Ranked, RankSum, Runs, StepWeights
from .oracles import Oracle, exact_atoms, oracle_of, sum_of

# Problems of a full run; their largest number of items, and that of lists with a long last block.
PROBLEMS, MOST_ITEMS, MOST_ITEMS_OF_LONG = 332, 30, 300
# Numbers of outcomes of a problem.
FEWEST_OUTCOMES, MOST_OUTCOMES = 100, 100_000
# Values of each null distribution: attained ones, and others halfway between two attained ones.
ATTAINED, BETWEEN = 16, 4
# Relative rounding error of the exact p-values.
ROUNDING = 2e-14
# With a larger stated error the p-value is an upper bound.
UNKNOWN = 0.1

# ---------------------------------------------------------------------------------------------
# The solvers
# ---------------------------------------------------------------------------------------------

# Limits of the engine under which a solver is never used. Strata of a few outcomes are listed.
SWITCHED_OFF: dict[str, dict[str, Any]] = {
    "enumeration": {
        "distribution.MAX_ATOMS": FEWEST_OUTCOMES - 1,
        "conditioning.SETTINGS.few_outcomes": 100,
    },
    "meet in the middle": {
        "distribution._MAX_HALVES": 0,
        "distribution._SHORT_HALVES": 0,
        "conditioning.SETTINGS.max_listed": 0,
    },
    "two or three positives": {"distribution._MOST_SAMPLES_COUNTED": {2: 0, 3: 0}},
    "integer weights": {
        "exact.integer_weights.SETTINGS.most_work": 0.0,
        "exact.integer_weights.SETTINGS.most_work_of_few": 0.0,
    },
    "near-maximum enumeration": {"exact.near_maximum._MOST_COMPLETIONS": 0.0},
    "conditioning on a block": {"distribution.SETTINGS.most_blocks_of_conditioning": 0},
    "branch and bound": {"exact.branch_and_bound.SETTINGS.part": -1.0},
    "bounds": {
        "solvers.SETTINGS.tolerable": math.inf,
        "solvers.SETTINGS.least_positives": 0,
    },
    # Few blocks have contours of all blocks otherwise.
    "contours of all blocks": {"solvers.FEW_BLOCKS": 4},
}

_LINEAR, _WHOLE = ("roc_auc", "dcg", "ndcg", "bedroc", "rie", "user"), ("roc_auc", "user")
_LISTS = ("enumeration", "meet in the middle", "two or three positives", "integer weights")
_ALONE = (*_LISTS, "near-maximum enumeration", "bounds")

# What is off while a solver is audited. Where it does not apply the next one answers.
SOLVERS: dict[str, tuple[str, ...]] = {
    "meet in the middle": ("enumeration", "two or three positives", "integer weights"),
    "two or three positives": ("enumeration", "meet in the middle", "integer weights"),
    "integer weights": ("enumeration", "meet in the middle", "two or three positives"),
    "near-maximum enumeration": _LISTS,
    "contours and bounds": (*_LISTS, "near-maximum enumeration", "conditioning on a block"),
    "contours": (*_ALONE, "conditioning on a block"),
    "stratified contours": (*_ALONE, "conditioning on a block", "contours of all blocks"),
    "conditioning on a block": (*_ALONE, "branch and bound"),
    "branch and bound": _ALONE,
}


@contextlib.contextmanager
def computed_by(solver: str) -> Iterator[None]:
    """Keep the engine away from enumeration, and from all solvers that hide the one audited.

    Everything that depends on how the engine chooses its solvers is in this function and in
    `SWITCHED_OFF`. A limit that the engine does not have is an error: nothing would be audited.
    """
    from sklearn_rankinf._null import distribution as _frozen_distributions

    before: list[tuple[Any, str, float]] = []
    # Distributions are found again by their arguments, whatever computed them.
    _frozen_distributions._DISTRIBUTIONS.clear()
    try:
        for name in SOLVERS[solver]:
            for limit, value in SWITCHED_OFF[name].items():
                module_name, _, attribute = limit.partition(".SETTINGS.")
                if not attribute:
                    module_name, attribute = limit.rsplit(".", 1)
                module = importlib.import_module(f"sklearn_rankinf._engine.{module_name}")
                new: Any = value
                if limit.endswith(f".SETTINGS.{attribute}"):
                    new, attribute = replace(module.SETTINGS, **{attribute: value}), "SETTINGS"
                before.append((module, attribute, getattr(module, attribute)))
                setattr(module, attribute, new)
        yield
    finally:
        for module, attribute, value in reversed(before):
            setattr(module, attribute, value)
        _frozen_distributions._DISTRIBUTIONS.clear()


# ---------------------------------------------------------------------------------------------
# The problems
# ---------------------------------------------------------------------------------------------


def draw_problem(random: Random) -> Case:
    """A ranking with an affordable number of outcomes, and a metric."""
    while True:
        is_long = random.randint(0, 3) == 0
        n = random.randint(5, MOST_ITEMS)
        sizes = _draw_sizes(random, n)
        if is_long:
            # One positive at the top is worth several standard deviations.
            sizes.append(random.randint(n, MOST_ITEMS_OF_LONG - n))
            n = sum(sizes)
        m = random.randint(4, 8) if is_long else random.randint(2, n - 2)
        if m < n and FEWEST_OUTCOMES <= _n_outcomes(sizes, m) <= MOST_OUTCOMES:
            break
    ranking = Ranked(n, m, None if len(sizes) == n else _runs(sizes))
    metric, options = _draw_metric(random, n)
    return Case(metric, options, (ranking,), "enumeration", random.randint(0, 9999))


def _draw_sizes(random: Random, n: int) -> list[int]:
    """Sizes of the blocks of equal scores: no ties, few, many, large and small blocks anywhere."""
    kind = random.randint(0, 6)
    if kind == 0:
        return [1] * n
    if kind == 1:  # a tied pair or triple anywhere
        size = random.choice([2, 3])
        sizes = [1] * (n - size)
        sizes.insert(random.randint(0, len(sizes)), size)
        return sizes
    if kind == 2:  # a large block anywhere
        size = random.randint(n // 3, n - 3)
        sizes = [1] * (n - size)
        sizes.insert(random.choice([0, len(sizes), random.randint(0, len(sizes))]), size)
        return sizes
    if kind == 3:  # two large blocks at the ends
        first = random.randint(2, n // 2)
        last = random.randint(1, n - first - 1)
        return [first, *[1] * (n - first - last), last]
    if kind == 4:  # blocks of the same size
        size = random.randint(2, 5)
        return [size] * (n // size) + ([n % size] if n % size else [])
    if kind == 5:  # blocks that grow or shrink
        sizes, left = [], n
        while left:
            sizes.append(min(left, 1 + int(1.5 ** len(sizes))))
            left -= sizes[-1]
        return sizes if random.randint(0, 1) else sizes[::-1]
    share = random.choice([0.2, 0.5, 0.8])  # neighbours are equal with this probability
    sizes = [1]
    for _ in range(n - 1):
        if random.randint(0, 99) < 100 * share:
            sizes[-1] += 1
        else:
            sizes.append(1)
    return sizes


def _runs(sizes: list[int]) -> Runs:
    runs: list[tuple[int, int]] = []
    for size in sizes:
        count = runs.pop()[1] if runs and runs[-1][0] == size else 0
        runs.append((size, count + 1))
    return tuple(runs)


def _n_outcomes(sizes: list[int], m: int) -> float:
    """Numbers of positives in all blocks that are possible."""
    ways = np.ones(1)
    for size in sizes:
        ways = np.convolve(ways, np.ones(min(size, m) + 1))[: m + 1]
    return float(ways[m]) if ways.size > m else 0.0


def _draw_metric(random: Random, n: int) -> tuple[str, tuple[tuple[str, Any], ...]]:
    metric = random.choice(
        [*["average_precision"] * 5, "roc_auc", "dcg", "ndcg", "bedroc", "rie", *["user"] * 4]
    )
    options: dict[str, Any] = {}
    if metric == "average_precision" and random.randint(0, 1):
        options["k"] = random.randint(2, n)
        if random.randint(0, 1):
            options["normalize"] = "positives"
    elif metric in ("dcg", "ndcg"):
        if random.randint(0, 1):
            options["k"] = random.randint(2, n)
        if metric == "ndcg":
            options["normalize"] = True
    elif metric in ("bedroc", "rie"):
        options["alpha"] = random.choice([0.5, 2.0, 20.0, 80.5, 160.9])
    elif metric == "user":
        options["statistic"] = random.choice(
            [
                GeometricWeights(1.0, random.choice([0.3, 0.5, 0.8, 0.95])),
                GeometricWeights(0.1, 0.9),
                RankSum(),
                StepWeights(random.choice([1, 3, 5])),
            ]
        )
    return metric, tuple(options.items())


# ---------------------------------------------------------------------------------------------
# The comparison
# ---------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """P-values of a solver or a metric.

    Attributes
    ----------
    n_values, n_bounds : int
        P-values, and those of them that are upper bounds of unknown error.
    n_proven, n_wrong : int
        Two-sided bounds, and answers that are off by more than stated.
    largest_ratio, largest_at : float, str
        Largest ratio of the error to the stated error, and where.
    """

    n_values: int = 0
    n_bounds: int = 0
    n_proven: int = 0
    n_wrong: int = 0
    largest_ratio: float = 0.0
    largest_at: str = ""
    errors: list[float] = field(default_factory=list)


@dataclass
class Report:
    """What was found, by solver and by metric."""

    n_problems: int = 0
    by_solver: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    by_metric: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    findings: list[str] = field(default_factory=list)

    @property
    def n_values(self) -> int:
        return sum(tally.n_values for tally in self.by_solver.values())

    def note(self, solver: str, case: Case, text: str, **found: Any) -> None:
        """Count an answer for its solver and its metric."""
        for tally in (self.by_solver[solver], self.by_metric[case.metric]):
            tally.n_values += found.get("n_values", 0)
            tally.n_bounds += found.get("is_bound", False)
            tally.n_proven += found.get("n_proven", 0)
            tally.n_wrong += found.get("is_wrong", False)
            if "error" in found:
                tally.errors.append(found["error"])
            if found.get("ratio", 0.0) > tally.largest_ratio:
                tally.largest_ratio, tally.largest_at = found["ratio"], text
        if found.get("is_wrong", False):
            self.findings.append(f"{solver}: {text}")


def audit_problem(case: Case, report: Report, solvers: Collection[str] = tuple(SOLVERS)) -> None:
    """Compare every solver that may apply with enumeration."""
    total = sum_of(case, case.one)
    assert total is not None
    atoms = exact_atoms(total, 4 * MOST_OUTCOMES)
    assert atoms is not None
    oracle, x = oracle_of("exact", total, atoms), _points(total.value(atoms.values), case.seed)
    report.n_problems += 1
    few = min(case.one.m, case.one.n - case.one.m)
    for solver in solvers:
        if solver == "two or three positives" and few not in (2, 3):
            continue
        if solver == "stratified contours" and few < 4:
            continue
        if solver == "branch and bound" and case.metric not in _LINEAR:
            continue
        if solver == "integer weights" and case.metric not in _WHOLE:
            continue
        with computed_by(solver):
            _compare(case, solver, x, oracle, report)


def _points(values: np.ndarray, seed: int) -> np.ndarray:
    """Attained values, more of them in the upper tail, and others between two attained ones."""
    values = np.unique(values)
    # Values that differ by rounding are one.
    values = values[np.flatnonzero(np.diff(values, prepend=-np.inf) > 1e-11 * np.abs(values))]
    rng, last = np.random.default_rng(seed), values.size - 1
    places = np.unique(
        np.concatenate(
            [
                [0, last, max(0, last - 1)],
                rng.integers(0, values.size, ATTAINED // 2),
                last - (values.size ** rng.random(ATTAINED // 2)).astype(int),
            ]
        )
    ).clip(0)
    lower = rng.integers(0, max(1, last), BETWEEN)
    between = 0.5 * (values[lower] + values[np.minimum(lower + 1, last)])
    return np.unique(np.concatenate([values[places], between]))


def _compare(case: Case, solver: str, x: np.ndarray, oracle: Oracle, report: Report) -> None:
    null = case.null_distribution()
    for alternative in ("greater", "less"):
        p, error = null.pvalue(x, alternative), null.relative_error(x, alternative)
        proven = null.pvalue_bounds(x, alternative)
        for i, point in enumerate(x.tolist()):
            low, high = np.minimum(oracle.pvalue(point, alternative), 1.0).tolist()
            text = f"{case.call()}.pvalue({point!r}, {alternative!r}) = {p[i]!r}"
            text += f", stated error {error[i]:.2g}; exact {low!r} to {high!r}"
            is_bound = not error[i] <= UNKNOWN
            nearest = min(max(float(p[i]), low), high)
            away = max(0.0, abs(float(p[i]) - nearest) - ROUNDING * nearest)
            if is_bound:
                # Nothing but an upper bound is stated.
                away = max(0.0, low * (1.0 - ROUNDING) - float(p[i]))
                found: dict[str, Any] = {"is_wrong": away > 0.0}
            else:
                # The stated error is relative to either p-value, as elsewhere in the audit.
                larger = max(nearest, float(p[i]))
                ratio = away / (error[i] * larger) if nearest > 0.0 else float(p[i] > 0.0)
                found = {"is_wrong": not ratio <= 1.0, "ratio": ratio, "error": float(error[i])}
            report.note(solver, case, text, n_values=1, is_bound=is_bound, **found)
            lower, upper = proven[0][i], proven[1][i]
            outside = lower > high * (1.0 + ROUNDING) or upper < low * (1.0 - ROUNDING)
            text = text.replace(".pvalue(", ".pvalue_bounds(") + f"; {lower!r} to {upper!r}"
            report.note(solver, case, text, n_proven=1, is_wrong=bool(outside))


def run(
    seed: int,
    seconds: float = math.inf,
    share: float = 1.0,
    solvers: Collection[str] = tuple(SOLVERS),
) -> Report:
    """Audit problems of a seed, until the processor time is spent."""
    report, start = Report(), time.process_time()
    for index in range(max(1, round(share * PROBLEMS))):
        if time.process_time() - start > seconds:
            break
        audit_problem(draw_problem(Random(f"{seed}.{index}")), report, solvers)
    return report


def main() -> int:
    """Print how many p-values were compared, and how many are off by more than stated."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.audit.enumeration", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the problems (0)")
    parser.add_argument("--share", type=float, default=1.0, help="part of the full run (1)")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="processor time after which it ends (none)"
    )
    parser.add_argument("--solver", choices=SOLVERS, help="audit this solver alone")
    parser.add_argument("--show", type=int, default=10, help="findings shown (10)")
    args = parser.parse_args()
    start = time.process_time()
    solvers = tuple(SOLVERS) if args.solver is None else (args.solver,)
    report = run(args.seed, args.seconds, args.share, solvers)
    print(
        f"seed {args.seed}: {report.n_values} p-values of {report.n_problems} null distributions, "
        f"{len(report.findings)} off by more than stated "
        f"({time.process_time() - start:.0f} s of processor time)"
    )
    for title, tallies in (("solver", report.by_solver), ("metric", report.by_metric)):
        print(
            f"\n{title:26}{'p-values':>9}{'off':>5}{'only upper bounds':>19}"
            f"{'median stated':>15}{'largest error/stated':>22}"
        )
        for name, tally in tallies.items():
            median = float(np.median(tally.errors)) if tally.errors else math.nan
            print(
                f"{name:26}{tally.n_values:9}{tally.n_wrong:5}{tally.n_bounds:19}"
                f"{median:15.1e}{tally.largest_ratio:22.3g}"
            )
    worst = max(report.by_solver.values(), key=lambda tally: tally.largest_ratio)
    print(f"\nlargest error/stated {worst.largest_ratio:.3g}: {worst.largest_at}")
    for finding in report.findings[: args.show]:
        print(f"\n{finding}")
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
