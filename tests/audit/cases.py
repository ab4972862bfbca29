"""The problems that the audit draws, each a public call of its own.

A problem is drawn from nothing but a `random.Random`: that of the standard library for a program
that runs for an hour, and that of hypothesis for a test that shrinks what it finds. Only small
integers are drawn, which hypothesis draws uniformly too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

import sklearn_rankinf
from sklearn_rankinf import RankStatistic

# Limits at which the package changes its algorithm, as its documentation and sources state them.
# Numbers of blocks of equal scores.
LIMITS_OF_BLOCKS = (16, 17, 64, 65)
LARGE_LIMITS_OF_BLOCKS = (2500, 2501, 5000, 5001)
# Number of outcomes, and numbers of items without ties, of three positives or of steps that are
# merged.
LIMIT_OF_OUTCOMES = 5_000_000
LIMITS_OF_ITEMS = (4000, 4001, 5000, 5001)


@dataclass(frozen=True)
class GeometricWeights(RankStatistic):
    """A positive at rank r adds ``first * ratio ** (r - 1)``."""

    first: float
    ratio: float

    def weights(self, ranks, n_samples, n_positives):
        return self.first * self.ratio ** (np.asarray(ranks, dtype=float) - 1.0)


@dataclass(frozen=True)
class RankSum(RankStatistic):
    """A positive at rank r adds ``n + 1 - r``: all values are whole numbers."""

    def weights(self, ranks, n_samples, n_positives):
        return n_samples + 1.0 - np.asarray(ranks, dtype=float)


@dataclass(frozen=True)
class StepWeights(RankStatistic):
    """A positive adds 3 among the first ranks, 1 among the next, up to 4 times as far, then 0."""

    first: int

    def weights(self, ranks, n_samples, n_positives):
        ranks = np.asarray(ranks)
        return np.where(ranks <= self.first, 3.0, np.where(ranks <= 4 * self.first, 1.0, 0.0))


@dataclass(frozen=True)
class Plateaus(RankStatistic):
    """A positive adds one of four weights, by the plateau of ranks that it is on."""

    first: int
    second: int
    third: int
    weights_of_plateaus: tuple[float, float, float, float]

    def weights(self, ranks, n_samples, n_positives):
        ends = np.cumsum([self.first, self.second, self.third])
        return np.array(self.weights_of_plateaus)[np.searchsorted(ends, np.asarray(ranks))]


NAMES: dict[str, Any] = {
    "np": np,
    "Fraction": Fraction,
    **{name: getattr(sklearn_rankinf, name) for name in sklearn_rankinf.__all__},
    "GeometricWeights": GeometricWeights,
    "RankSum": RankSum,
    "StepWeights": StepWeights,
    "Plateaus": Plateaus,
}
"""What reproducing lines may name."""

CLASSES = {
    "average_precision": "AveragePrecision",
    "recall_at_k": "RecallAtK",
    "precision_at_k": "PrecisionAtK",
    "enrichment_at_k": "EnrichmentAtK",
    "f_score_at_k": "FScoreAtK",
    "roc_auc": "RocAuc",
    "dcg": "DiscountedCumulativeGain",
    "ndcg": "DiscountedCumulativeGain",
    "bedroc": "Bedroc",
    "rie": "RobustInitialEnhancement",
    "reciprocal_rank": "ReciprocalRank",
}
"""Metrics, and the names of their classes; ``"user"`` has an object of its own."""

AT_K = ("recall_at_k", "precision_at_k", "enrichment_at_k", "f_score_at_k")
"""Metrics that count the hits among the first k."""

Runs = tuple[tuple[int, int], ...]
"""Blocks of equal scores, best first, as (size, number of consecutive blocks of that size)."""


@dataclass(frozen=True)
class Ranked:
    """A ranking's size, number of positives and ties; runs of None are no ties."""

    n: int
    m: int
    runs: Runs | None

    @property
    def n_blocks(self) -> int:
        return self.n if self.runs is None else sum(count for _, count in self.runs)

    def sizes(self) -> np.ndarray:
        """Sizes of all blocks."""
        if self.runs is None:
            return np.ones(self.n, dtype=np.int64)
        size, count = np.array(self.runs).T
        return np.repeat(size, count)

    def tie_sizes(self) -> str:
        """The sizes as an expression."""
        if self.runs is None:
            return "None"
        parts, plain = [], []
        for size, count in self.runs:
            if count <= 3:
                plain += [str(size)] * count
                continue
            if plain:
                parts.append(f"[{', '.join(plain)}]")
                plain = []
            parts.append(f"[{size}] * {count}")
        if plain:
            parts.append(f"[{', '.join(plain)}]")
        return " + ".join(parts)


@dataclass(frozen=True)
class Case:
    """A null distribution to be audited, and the seed of the values that it is asked for.

    Attributes
    ----------
    metric : str
        A key of `CLASSES`, ``"user"``, or ``"map"`` for the mean of average precision over queries.
    options : tuple of (str, object)
        Arguments of its class: k, alpha, normalize; or the statistic of a user.
    rankings : tuple of Ranked
        The ranking; for a mean one for each query.
    structure : str
        What was drawn.
    seed : int
        Seed of the values and of the simulations.
    number : str
        The numeric type of which the parameters are given, empty for Python's own.
    """

    metric: str
    options: tuple[tuple[str, Any], ...]
    rankings: tuple[Ranked, ...]
    structure: str
    seed: int
    number: str = ""

    @property
    def one(self) -> Ranked:
        """The only ranking."""
        return self.rankings[0]

    def option(self, name: str, default: Any = None) -> Any:
        return dict(self.options).get(name, default)

    def call(self) -> str:
        """The null distribution as a public call."""
        if self.metric == "map":
            n = [ranking.n for ranking in self.rankings]
            m = [ranking.m for ranking in self.rankings]
            ties = [ranking.tie_sizes() for ranking in self.rankings]
            text = f"metric_null_distribution({_repeated(n)}, {_repeated(m)}"
            return text + (")" if set(ties) == {"None"} else f", tie_sizes={_repeated(ties)})")
        text = f"metric_null_distribution({self.one.n}, {self.one.m}, metric={self.statistic()}"
        if self.one.runs is not None:
            text += f", tie_sizes={self.one.tie_sizes()}"
        return text + ")"

    def shown(self) -> str:
        """What is audited, as a line."""
        return self.call()

    def statistic(self) -> str:
        """The metric as an expression."""
        if self.metric == "map":
            return "mean of average precision"
        given = ", ".join(f"{name}={written(value, self.number)}" for name, value in self.options)
        return (
            repr(self.option("statistic"))
            if "user" in self.metric
            else (f"{CLASSES[self.metric]}({given})")
        )

    def null_distribution(self) -> Any:
        """A fresh null distribution."""
        return eval(self.call(), dict(NAMES))


def _repeated(values: Sequence[Any]) -> str:
    """A list as an expression, short where all are the same."""
    if len(values) > 1 and len(set(values)) == 1:
        return f"[{values[0]}] * {len(values)}"
    return f"[{', '.join(map(str, values))}]"


# Numeric types of parameters, and whether they hold fractions.
NUMBERS = {
    "np.float32": True,
    "np.float64": True,
    "np.longdouble": True,
    "Fraction": True,
    "np.float16": True,
    "np.int64": False,
    "np.int32": False,
    "np.uint8": False,
}


NUMBERS_NAMED = {"np": np, "Fraction": Fraction}


def written(value: Any, number: str) -> str:
    """A parameter as an expression of a numeric type, where that type holds its value exactly."""
    if not number or isinstance(value, bool) or not isinstance(value, int | float):
        return repr(value)
    if isinstance(value, int) and NUMBERS[number]:
        return repr(value)  # a fraction as a cut-off is a share of the list
    with np.errstate(over="ignore"):
        try:
            same = float(eval(f"{number}({value!r})", NUMBERS_NAMED)) == value
        except OverflowError:
            same = False
    return f"{number}({value!r})" if same else repr(value)


# ---------------------------------------------------------------------------------------------
# Structures
# ---------------------------------------------------------------------------------------------


def draw_case(random: Random, large: bool = False) -> Case:
    """A problem; large ones among them where they are wanted."""
    seed = random.randint(0, 9999)
    if random.randint(1, 8) == 1:
        return _draw_mean(random, seed)
    metric = random.choice(_METRICS)
    ranking, structure = _draw_ranking(random, large)
    options = draw_options(random, metric, ranking)
    number = random.choice([*NUMBERS]) if random.randint(1, 6) == 1 else ""
    return Case(metric, options, (ranking,), structure, seed, number)


# Those with most algorithms most often.
_METRICS = [
    *["average_precision"] * 5,
    *["roc_auc", "dcg", "bedroc", "rie", "user"] * 3,
    *["ndcg", *AT_K, "reciprocal_rank"],
]


def log_integer(random: Random, low: int, high: int) -> int:
    """An integer from low to high, uniform in its logarithm."""
    share = random.randint(0, 255) / 256
    return min(high, max(low, int(low * ((high + 1) / low) ** share)))


def _draw_ranking(random: Random, large: bool) -> tuple[Ranked, str]:
    structures = [
        _large_blocks,
        _large_blocks,
        _large_blocks,
        _saturated,
        _few_levels,
        _few_levels,
        _nearly_untied,
        _nearly_untied,
        _small_blocks,
        _limits,
        _untied,
        _geometric_blocks,
        _equal_blocks,
        _equal_blocks,
        _many_positives,
    ]
    structure = random.choice(structures)
    runs = structure(random, large)
    n = sum(size * count for size, count in runs)
    m = _draw_m(random, n, structure)
    tied = any(size > 1 and count > 0 for size, count in runs)
    return Ranked(n, m, joined(runs) if tied else None), structure.__name__.strip("_")


def joined(runs: Sequence[tuple[int, int]]) -> Runs:
    """Runs without empty ones, and with neighbours of the same size as one."""
    joined: list[tuple[int, int]] = []
    for size, count in runs:
        if size == 0 or count == 0:
            continue
        if joined and joined[-1][0] == size:
            joined[-1] = size, joined[-1][1] + count
        else:
            joined.append((size, count))
    return tuple(joined)


def _large_blocks(random: Random, large: bool) -> list[tuple[int, int]]:
    """One to three large blocks at the top, in the middle or at the bottom, and small ones."""
    runs = []
    for _ in range(random.choice([1, 1, 1, 2, 2, 3])):
        runs.append((1, random.choice([0, 0, log_integer(random, 1, 600 if large else 200)])))
        runs.append((log_integer(random, 5, 3000 if large else 500), 1))
    small = log_integer(random, 5, 1000 if large else 300)
    runs.append((random.choice([1, 1, 1, 1, 2]), small if random.randint(0, 3) else 0))
    if all(count == 0 for size, count in runs if size == 1):
        runs.append((1, small))
    return runs


def _saturated(random: Random, large: bool) -> list[tuple[int, int]]:
    """A block of the same best score, different ones, and a long block of zeros."""
    return [
        (random.choice([0, 0, 1, 2, 3, log_integer(random, 2, 300)]), 1),
        (1, log_integer(random, 1, 300 if large else 100)),
        (log_integer(random, 10, 10**7 if large else 2000), 1),
    ]


def _few_levels(random: Random, large: bool) -> list[tuple[int, int]]:
    """Two to ten scores."""
    n = log_integer(random, 10, 10**6 if large else 3000)
    n_levels = min(random.randint(2, 10), n)
    shares = [random.randint(5, 100) ** 2 for _ in range(n_levels)]
    sizes = [max(1, round(n * share / sum(shares))) for share in shares]
    return [(size, 1) for size in sizes]


def _nearly_untied(random: Random, large: bool) -> list[tuple[int, int]]:
    """One tied pair or triple, or two of them, anywhere."""
    runs = [(1, log_integer(random, 1, 300 if large else 150) - 1)]
    for _ in range(random.choice([1, 1, 2])):
        runs += [
            (random.choice([2, 2, 3]), 1),
            (1, log_integer(random, 1, 400 if large else 150) - 1),
        ]
    return runs


def _small_blocks(random: Random, large: bool) -> list[tuple[int, int]]:
    """Blocks of random small sizes."""
    widest = random.choice([2, 4, 14, 40])
    n_blocks = log_integer(random, 3, 500 if large else 60)
    return [(log_integer(random, 1, widest), 1) for _ in range(n_blocks)]


def _geometric_blocks(random: Random, large: bool) -> list[tuple[int, int]]:
    """Blocks that grow, or shrink, by a factor."""
    factor, n_blocks = random.choice([1.3, 1.6, 2.0, 3.0]), random.randint(3, 16)
    most = 10**6 if large else 2000
    sizes = [max(1, int(factor**i)) for i in range(n_blocks) if factor**i <= most]
    return [(size, 1) for size in (sizes if random.randint(0, 2) else sizes[::-1])]


def _equal_blocks(random: Random, large: bool) -> list[tuple[int, int]]:
    """Blocks of one size, or of two in turn, and more outcomes than are counted one by one."""
    size = random.choice([2, 2, 5, 10, 15, 50, 100])
    n_blocks = log_integer(random, 10, max(12, (5000 if large else 1500) // size))
    other = random.choice([size, size, size, 3 * size, 1])
    return [(size, n_blocks)] if other == size else [(size, 1), (other, 1)] * (n_blocks // 2)


def _many_positives(random: Random, large: bool) -> list[tuple[int, int]]:
    """No ties, and a tenth of the items or more are positives."""
    return [(1, log_integer(random, 200, 40_000 if large else 1500))]


def _limits(random: Random, large: bool) -> list[tuple[int, int]]:
    """Numbers of blocks just at, and just above, where another algorithm is taken."""
    limits = LIMITS_OF_BLOCKS + (LARGE_LIMITS_OF_BLOCKS if large else ())
    n_blocks = random.choice(limits)
    size = random.choice([1, 1, 2, 3, 20])
    n_large = random.choice([0, 1, 1, 2])
    head = random.randint(0, n_blocks - n_large)
    return [
        (size, head),
        (log_integer(random, 5, 1000), n_large),
        (random.choice([1, size]), n_blocks - n_large - head),
    ]


def _untied(random: Random, large: bool) -> list[tuple[int, int]]:
    """No ties; just above the limits of the number of outcomes and of items, or long."""
    which = random.randint(0, 3)
    if which == 0:
        return [(1, outcomes_above(random.choice([4, 5, 6, 7, 8, 9]), LIMIT_OF_OUTCOMES))]
    if which == 1 and large:
        return [(1, random.choice(LIMITS_OF_ITEMS))]
    return [(1, log_integer(random, 8, 10**8 if large else 1000))]


def outcomes_above(m: int, limit: int) -> int:
    """The smallest n with more placements of m than the limit."""
    n = m
    while math.comb(n, m) <= limit:
        n += 1
    return n


def _draw_m(random: Random, n: int, structure: Any) -> int:
    """Few positives, many, or nearly all."""
    most = n - 1
    choices = [
        random.randint(1, 3),
        log_integer(random, 1, n),
        log_integer(random, 1, max(1, n // 5)),
        log_integer(random, 1, max(1, n // 5)),
        round(n * random.choice([0.1, 0.3, 0.5, 0.9])),
        n - random.randint(1, 3),
    ]
    if structure is _many_positives:
        return max(1, min(most, round(n * random.choice([0.1, 0.16, 0.3, 0.5, 0.7]))))
    if structure is _equal_blocks:
        choices += [round(n * random.choice([0.1, 0.2, 0.3]))] * 6
    if structure is _untied and n < 1000:
        within = [m for m in range(4, 10) if n == outcomes_above(m, LIMIT_OF_OUTCOMES)]
        choices += within * 6
    return max(1, min(most, random.choice(choices)))


def draw_options(random: Random, metric: str, ranking: Ranked) -> tuple[tuple[str, Any], ...]:
    options: dict[str, Any] = {}
    if metric in AT_K:
        options["k"] = _draw_k(random, ranking)
    elif metric == "average_precision" and random.randint(0, 2) == 0:
        options["k"] = _draw_k(random, ranking)
        if random.randint(0, 2) == 0:
            options["normalize"] = "positives"
    elif metric in ("dcg", "ndcg"):
        if random.randint(0, 2) > 0:
            options["k"] = _draw_k(random, ranking)
        if metric == "ndcg":
            options["normalize"] = True
    elif metric in ("bedroc", "rie"):
        options["alpha"] = random.choice(
            [0.5, 2.0, 20.0, 20.0, 80.5, 160.9, 321.9, 500.0, log_integer(random, 5, 5000) / 10]
        )
    elif metric == "user":
        options["statistic"] = random.choice(
            [
                GeometricWeights(0.1, 0.9),
                GeometricWeights(0.1, 0.9),
                GeometricWeights(1.0, random.choice([0.5, 0.8, 0.95, 0.99])),
                RankSum(),
                _draw_plateaus(random, ranking.n),
                _draw_plateaus(random, ranking.n),
                StepWeights(random.choice([1, 5, 20])),
            ]
        )
    return tuple(options.items())


def _draw_plateaus(random: Random, n: int) -> Plateaus:
    """Long plateaus, whose weights have no common measure mostly."""
    ends = [log_integer(random, 1, max(1, n // 3)) for _ in range(3)]
    of_plateaus = [
        (2.0, math.sqrt(2.0), 1.0, 1.0),
        (1.0, math.exp(-1.0), 0.0, 0.0),
        (math.pi, 2.0, 1.0, 0.0),
        (4.0, 2.0, 1.0, 0.0),
    ]
    return Plateaus(*ends, random.choice(of_plateaus))


def _draw_k(random: Random, ranking: Ranked) -> int:
    """Inside a block, at an edge, just before or behind it, or anywhere."""
    if ranking.runs is None:
        return log_integer(random, 1, min(ranking.n, 10**5))
    edges, at = [], 0
    for size, count in ranking.runs:
        edges.append((at, at + size * count))
        at += size * count
    start, end = random.choice(edges)
    k = random.choice([start + 1, random.randint(start + 1, end), end, end - 1, end + 1])
    return max(1, min(k, ranking.n))


def _draw_mean(random: Random, seed: int) -> Case:
    """Queries whose hits outside a short list count next to nothing, and others."""
    n_queries = random.choice([2, 3, 5, 10, 20, 30, 50])
    which = random.choice(["short lists", "short lists", "small", "levels", "mixed"])

    def query() -> Ranked:
        m = random.choice([1, 1, 1, 2, 3, 5])
        kind = which if which != "mixed" else random.choice(["short lists", "small", "levels"])
        if kind == "short lists":
            listed, behind = random.choice([5, 10, 30, 100]), random.choice([70, 970, 9900])
            return Ranked(listed + behind, m, ((1, listed), (behind, 1)))
        if kind == "small":
            n = random.randint(2, 40)
            return Ranked(n, min(m, n), None)
        sizes = [random.randint(1, 30) for _ in range(random.randint(2, 6))]
        return Ranked(sum(sizes), min(m, sum(sizes)), joined([(size, 1) for size in sizes]))

    if which == "mixed" or random.randint(0, 2) == 0:
        queries = [query() for _ in range(n_queries)]
    else:
        queries = [query()] * n_queries
    return Case("map", (), tuple(_untied_as_none(q) for q in queries), f"mean of {which}", seed)


def _untied_as_none(ranking: Ranked) -> Ranked:
    if ranking.runs is not None and all(size == 1 for size, _ in ranking.runs):
        return Ranked(ranking.n, ranking.m, None)
    return ranking
