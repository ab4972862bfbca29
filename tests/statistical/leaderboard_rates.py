"""How often the limits of all ranks hold together, over items, queries and data sets.

A false claim is a pair of equal rankers that differs significantly, or a pair in the wrong order.
Without a false claim all ranks are within their limits, and equal rankers have the limits of all
ranks that they could have. Run as a program, it prints the rows of the table in the documentation.
"""

from __future__ import annotations

import sys
import zlib
from dataclasses import dataclass
from functools import partial

import numpy as np
from rates import average_precision_of

from sklearn_rankinf import metric_multiple_comparison_test
from sklearn_rankinf._estimation import multiple_comparison as module
from sklearn_rankinf._estimation.sign_flips import FlippedRuns
from sklearn_rankinf._estimation.simultaneous import all_pairs
from sklearn_rankinf._permutation import Draws

LEVEL = 0.95
# Directions drawn for a p-value, which makes the standard error of one near .05 about .004.
N_DIRECTIONS = 2000
N_SIGNS = 999
# How good the rankers are, best last.
PATTERNS = {
    "equal": np.zeros,
    "near": lambda n: 0.02 * np.arange(n),
    "two tiers": lambda n: np.repeat([0.0, 1.0], [n // 2, n - n // 2]),
    "one better": lambda n: np.eye(n)[-1],
}


@dataclass(frozen=True)
class Rates:
    """Share of data sets in which all ranks are within their limits, and in which the best is kept.

    `width` is the mean number of ranks within the limits of a ranker, as a share of all, and
    `limits` the share of data sets in which the limits of all differences hold, of data sets alone.
    """

    ranks: float
    best: float
    width: float
    limits: float = np.nan

    @classmethod
    def of(cls, found):
        return cls(*np.mean(found, axis=0))


def of_data_set(shifts, pairs, pvalue, difference, may_be_best, low, high):
    """What one data set shows: no false claim, the best is kept, and how wide the limits are."""
    true = shifts[pairs[:, 0]] - shifts[pairs[:, 1]]
    is_false = (pvalue <= 1.0 - LEVEL) & (np.sign(difference) != np.sign(true))
    return not is_false.any(), may_be_best[shifts.argmax()], np.mean(high - low + 1) / shifts.size


def item_rates(metric, n_positives, n_samples, pattern, n_rankers, correlation, n_data_sets, rng):
    """Rankings of the same items, all normal with a shift of 1 and that of the pattern."""
    shifts = PATTERNS[pattern](n_rankers)
    positive = np.arange(n_samples) < n_positives
    found = []
    for seed in rng.integers(2**31, size=n_data_sets):
        scores = np.sqrt(1.0 - correlation) * rng.standard_normal((n_samples, n_rankers))
        scores += np.sqrt(correlation) * rng.standard_normal((n_samples, 1))
        scores[positive] += 1.0 + shifts
        result = metric_multiple_comparison_test(
            positive, scores, metric=metric, random_state=int(seed)
        )
        pairs = result.pairs
        given = result.pvalue, result.difference, result.may_be_best
        found.append(of_data_set(shifts, pairs, *given, result.rank_low, result.rank_high))
    return Rates.of(found)


def run_rates(draw, pattern, n_runs, n_data_sets, rng):
    """Runs over queries or data sets, whose values are drawn by `draw(shifts, rng)`.

    The means of data sets differ by the shifts; those of queries do not, unless shifts are equal.
    """
    shifts = PATTERNS[pattern](n_runs)
    pairs, found = all_pairs(n_runs), []
    for seed in rng.integers(2**31, size=n_data_sets):
        values = draw(shifts, rng)
        flipped = FlippedRuns.of(values, Draws.read(N_SIGNS, int(seed), None, 0))
        pvalue, critical = flipped.single_step(pairs, LEVEL)
        means = values.mean(axis=0)
        difference = means[pairs[:, 0]] - means[pairs[:, 1]]
        differ = module._as_matrix(pairs, pvalue <= 1.0 - LEVEL)
        may_be_best = flipped.best_pvalues() >= 1.0 - LEVEL
        limits = module.rank_limits(means, differ)
        of_pairs = values[:, pairs[:, 0]] - values[:, pairs[:, 1]]
        error = of_pairs.std(axis=0, ddof=1) / np.sqrt(len(values))
        beyond = np.abs(difference - shifts[pairs[:, 0]] + shifts[pairs[:, 1]]) > critical * error
        shown = of_data_set(shifts, pairs, pvalue, difference, may_be_best, *limits)
        found.append([*shown, not beyond.any()])
    return Rates.of(found)


def of_queries(n_queries, shifts, rng, n_samples=50, n_positives=5):
    """Average precision of runs in each query; they share half of their noise and its ease."""
    common = rng.standard_normal((n_queries, 1, n_samples))
    own = rng.standard_normal((n_queries, shifts.size, n_samples))
    scores = (common + own) / np.sqrt(2.0)
    ease = 1.0 + shifts + 0.5 * rng.standard_normal((n_queries, 1))
    scores[..., :n_positives] += ease[..., None]
    of_positives = -np.sort(-scores[..., :n_positives])
    places = np.sum(scores[..., None, :] >= of_positives[..., None], axis=-1)
    values = average_precision_of(places.reshape(-1, n_positives), n_samples)
    return values.reshape(n_queries, -1)


def of_data_sets(n_sets, shape, shifts, rng):
    """Values of systems on data sets of unequal sizes, which suit one system more than another.

    Errors have standard deviations from .3 to 3 over data sets. With the shape "skewed", those of
    every other system have an exponential distribution, so that differences are not symmetric. With
    the shape "rare" every other system gains much in a tenth of the data sets.
    """
    if shape == "rare":
        values = shifts + 0.1 * rng.standard_normal((n_sets, shifts.size))
        values[:, ::2] += (rng.random(values[:, ::2].shape) < 0.1) - 0.1
        return values
    size = 0.3 * 10.0 ** rng.random((n_sets, 1))
    errors = rng.standard_normal((n_sets, shifts.size))
    if shape == "skewed":
        errors[:, ::2] = rng.exponential(size=errors[:, ::2].shape) - 1.0
    if shape == "unequal":
        errors *= np.linspace(0.2, 2.0, shifts.size)
    suits = 0.5 * rng.standard_normal((n_sets, shifts.size))
    return shifts + 2.0 * rng.standard_normal((n_sets, 1)) + size * errors + suits


def rows():
    """Names of rows with functions of a number of data sets and a generator."""
    for n_queries, n_runs in ((10, 5), (10, 20), (50, 5), (50, 20)):
        for pattern in ("equal", "two tiers", "one better"):
            name = f"{n_queries} queries, {n_runs} runs, {pattern}"
            yield name, 2000, partial(run_rates, partial(of_queries, n_queries), pattern, n_runs)
    for n_sets, n_runs in ((8, 5), (8, 20), (20, 20), (50, 20)):
        for shape in ("normal", "unequal", "skewed"):
            for pattern in ("equal", "two tiers"):
                name = f"{n_sets} data sets, {n_runs} systems, {shape}, {pattern}"
                draw = partial(of_data_sets, n_sets, shape)
                yield name, 2000, partial(run_rates, draw, pattern, n_runs)
    for n_sets in (8, 20, 50, 200):
        draw = partial(of_data_sets, n_sets, "rare")
        name = f"{n_sets} data sets, 5 systems, rare, equal"
        yield name, 2000, partial(run_rates, draw, "equal", 5)
    for n_rankers, n in ((5, 1000), (20, 400)):
        for metric in ("average_precision", "roc_auc", "precision@50"):
            patterns = [("equal", 0.5), ("two tiers", 0.5)]
            if n_rankers == 5:
                patterns += [("equal", 0.9), ("near", 0.5), ("one better", 0.5)]
            for pattern, correlation in patterns:
                name = f"{metric}, 50 of 500, {n_rankers} rankers, {pattern}, {correlation}"
                arguments = metric, 50, 500, pattern, n_rankers, correlation
                yield name, n, partial(item_rates, *arguments)
    for metric in ("average_precision", "roc_auc", "precision@20"):
        name = f"{metric}, 20 of 200, 20 rankers, equal, 0.5"
        yield name, 400, partial(item_rates, metric, 20, 200, "equal", 20, 0.5)
    for metric in ("average_precision", "roc_auc", "precision@500"):
        name = f"{metric}, 500 of 5000, 5 rankers, equal, 0.5"
        yield name, 400, partial(item_rates, metric, 500, 5000, "equal", 5, 0.5)


def few_directions():
    """Draw fewer random directions than for one data set, where no rate averages over them."""
    for name in ("single_step", "best_pvalues"):
        setattr(module, name, partial(getattr(module, name), n_directions=N_DIRECTIONS))


def main(part: str = "") -> None:
    few_directions()
    for name, n_data_sets, simulate in rows():
        if part in name:
            seed = zlib.crc32(name.encode())
            found = simulate(n_data_sets=n_data_sets, rng=np.random.default_rng(seed))
            limits = f", limits {found.limits:.3f}" if "data sets" in name else ""
            print(
                f"{name}: ranks {found.ranks:.3f}, best {found.best:.3f}, "
                f"width {found.width:.2f}{limits} ({n_data_sets})",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
