"""How often tests of one ranker on groups of items reject, and intervals contain differences.

Run as a program, it prints the rates of the table in the documentation, one line for each row.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, replace

import numpy as np
from rates import (
    BORDERS,
    Population,
    average_precision_in,
    recall_in,
    roc_auc_in,
    scores_in_clusters,
)
from scipy.optimize import brentq

from sklearn_rankinf import metric_group_comparison_test

D1, D15, D2, D3 = (Population(f"d = {d:g}", (d,)) for d in (1.0, 1.5, 2.0, 3.0))
T3 = Population("t", (1.0,), df=3.0)
# Half of the positives are near chance.
PARTS = Population("parts", (0.25, 2.0))
LEVELS = Population("levels", (1.5,), has_levels=True)

VALUES = {
    "average_precision": average_precision_in,
    "roc_auc": lambda population, prevalence: roc_auc_in(population),
    "recall@0.1": lambda population, prevalence: recall_in(population, prevalence, 0.1),
}
METHODS = ("permutation", "influence")
KINDS = ("positives", "negatives")


@dataclass(frozen=True)
class Group:
    """A group of items: how its positives score, how many there are, and what is added to all."""

    population: Population
    n_positives: int
    n_negatives: int
    added: float = 0.0

    def draw(self, rng):
        """Labels and scores."""
        positives = self.population.scores(rng, self.n_positives)
        scores = np.concatenate([positives, rng.standard_normal(self.n_negatives)])
        if self.population.has_levels:
            scores = np.digitize(scores, BORDERS)
        return np.arange(scores.size) < self.n_positives, scores + self.added


def pooled_prevalence(groups):
    """Share of positives in all groups."""
    m, n0 = (sum(getattr(group, f"n_{kind}") for group in groups) for kind in KINDS)
    return m / (m + n0)


def alike(metric, first, shape, others):
    """A second group of another shape with the value of the first one at the common prevalence."""
    value_of = VALUES[metric]
    prevalence = pooled_prevalence([first, Group(shape, *others)])
    value = value_of(first.population, prevalence)

    def stretched(factor):
        return replace(shape, shifts=tuple(factor * shift for shift in shape.shifts))

    factor = brentq(lambda x: value_of(stretched(x), prevalence) - value, 0.01, 8.0, xtol=1e-5)
    return Group(stretched(factor), *others)


def group_rates(metric, groups, n_data_sets, rng, n_resamples=99):
    """Share of p-values up to .05 of the first pair, by method, and of intervals that contain it.

    The p-values are adjusted if there are more than two groups.
    """
    prevalence = pooled_prevalence(groups)
    values = [
        0.0 if group.population.has_levels else VALUES[metric](group.population, prevalence)
        for group in groups[:2]
    ]
    difference = values[0] - values[1]
    number = np.repeat(np.arange(len(groups)), [g.n_positives + g.n_negatives for g in groups])
    found = dict.fromkeys([*METHODS, "interval"], 0)
    for seed in rng.integers(2**31, size=n_data_sets):
        labels, scores = map(np.concatenate, zip(*(g.draw(rng) for g in groups), strict=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            for method in METHODS:
                result = metric_group_comparison_test(
                    labels,
                    scores,
                    group=number,
                    metric=metric,
                    method=method,
                    n_resamples=n_resamples,
                    random_state=int(seed),
                )
                found[method] += result.pvalue[0] <= 0.05 + 1e-9
        found["interval"] += result.low[0] <= difference <= result.high[0]
    return {name: count / n_data_sets for name, count in found.items()}


def cluster_rates(metric, sizes, correlation, n_data_sets, rng, n_resamples=99):
    """Rates as in `group_rates`, with and without clusters, of two groups with the same scores.

    The five items of a cluster have one label; `sizes` are the numbers of clusters with positives
    and with negatives of each group.
    """
    found = {"permutation": 0, "influence": 0, "permutation without clusters": 0}
    for seed in rng.integers(2**31, size=n_data_sets):
        parts = [
            scores_in_clusters(D1, m + n0, m, 5, correlation=correlation, rng=rng)
            for m, n0 in sizes
        ]
        labels, scores = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        number = np.repeat([0, 1], [part[0].size for part in parts])
        clusters = np.arange(labels.size) // 5
        for name in found:
            method, _, without = name.partition(" ")
            result = metric_group_comparison_test(
                labels,
                scores,
                group=number,
                metric=metric,
                method=method,
                clusters=None if without else clusters,
                n_resamples=n_resamples,
                random_state=int(seed),
            )
            found[name] += result.pvalue[0] <= 0.05 + 1e-9
    return {name: count / n_data_sets for name, count in found.items()}


# Positives and negatives: medium, more positives, few and many.
MEDIUM, MORE, FEW, MANY, LARGE = (50, 450), (100, 400), (20, 180), (200, 1800), (500, 2500)
VERY_FEW = (10, 190)
# Clusters with positives and with negatives.
OF_CLUSTERS = ((10, 40), (20, 40))
# Number of data sets of the table.
N_DATA_SETS = 500


def rows(metric):
    """Names of the rows of the table, and their groups."""

    def of_shapes(shape, one, other, population=D1):
        first = Group(population, *one)
        return first, alike(metric, first, shape, other)

    yield "d = 1, d = 1", (Group(D1, *MEDIUM), Group(D1, *MORE))
    yield "d = 1, t", of_shapes(T3, MEDIUM, MORE)
    yield "d = 1, parts", of_shapes(PARTS, MEDIUM, MORE)
    yield "d = 1, d = 1", (Group(D1, *FEW), Group(D1, *MANY))
    yield "d = 1, t", of_shapes(T3, FEW, MANY)
    yield "d = 1, t", of_shapes(T3, MANY, FEW)
    yield "d = 1, parts", of_shapes(PARTS, MANY, FEW)
    yield "d = 1, d = 1", (Group(D1, *MEDIUM), Group(D1, *LARGE))
    yield "d = 1, parts", of_shapes(PARTS, VERY_FEW, VERY_FEW)
    yield "levels, levels", (Group(LEVELS, *MEDIUM), Group(LEVELS, *MORE))
    yield "d = 2, d = 2", (Group(D2, *FEW), Group(D2, *MANY))
    yield "d = 1, d = 1 and all scores larger by 1", (Group(D1, *MEDIUM), Group(D1, *MORE, added=1))
    yield "d = 1, t, with a third, d = 2", (*of_shapes(T3, MEDIUM, MEDIUM), Group(D2, *MEDIUM))
    yield "d = 3, t", of_shapes(T3, MEDIUM, MORE, D3)
    yield "d = 3, t", of_shapes(T3, MANY, FEW, D3)
    yield "d = 1, d = 1.5", (Group(D1, *MEDIUM), Group(D15, *MORE))


def main(metrics):
    """Print the rates."""
    for metric in metrics:
        for number, (name, groups) in enumerate(rows(metric)):
            rates = group_rates(metric, groups, N_DATA_SETS, np.random.default_rng(number))
            sizes = (f"{one.n_positives} of {one.n_positives + one.n_negatives}" for one in groups)
            shown(metric, name, ", ".join(sizes), rates)
    rates = cluster_rates("roc_auc", OF_CLUSTERS, 0.5, N_DATA_SETS, np.random.default_rng(0))
    shown("roc_auc", "clusters", f"{OF_CLUSTERS}", rates)


def shown(metric, name, sizes, rates):
    """Print one row."""
    print(metric, name, sizes, *(f"{rate:.3f}" for rate in rates.values()), sep="; ", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or VALUES)
