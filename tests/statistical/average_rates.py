"""How often intervals contain the true value: averages over classes, and weights of a design.

Scores of classes are normal and correlated between classes, or have few levels. For weights, a
variable that is known beforehand and related to labels and scores decides who is sampled: all
items where it is large, and 15 % of the others. Run as a program, it writes the tables of the
documentation.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np
from rate_tables import shown, write

from sklearn_rankinf import AveragePrecision, RecallAtK, RocAuc, metric_interval

AVERAGES = {
    "average_precision_macro": AveragePrecision(),
    "average_precision_weighted": AveragePrecision(),
    "roc_auc_macro": RocAuc(),
    "recall_macro@0.1": RecallAtK(0.1),
}
COUNTS = ((300, 100, 50, 20), (100, 100, 100, 100), (500, 20, 20, 20))
SHIFTS = {"normal": (1.0, 1.5, 2.0, 2.5), "strong": (3.0,) * 4, "levels": (1.0, 1.5, 2.0, 2.5)}
WEIGHTED = {
    "average_precision": AveragePrecision(),
    "roc_auc": RocAuc(),
    "recall@0.05": RecallAtK(0.05),
}
_MANY = 1_000_000


def classes(counts, kind, rng):
    """Labels of several classes, and a column of scores for each."""
    labels = np.repeat(np.arange(len(counts)), counts)
    scores = rng.normal(size=(labels.size, len(counts))) + 0.7 * rng.normal(size=(labels.size, 1))
    scores[np.arange(labels.size), labels] += np.array(SHIFTS[kind])[labels]
    return labels, np.round(scores) if kind == "levels" else scores


@lru_cache
def true_average(name, counts, kind):
    """The average in a large sample with the same shares of the classes."""
    factor = _MANY // sum(counts)
    many = tuple(count * factor for count in counts)
    labels, scores = classes(many, kind, np.random.default_rng(9))
    values = [AVERAGES[name](labels == c, scores[:, c]) for c in range(len(counts))]
    return float(np.average(values, weights=counts if "weighted" in name else None))


def average_coverage(counts, kind, n_data_sets, rng):
    """Share of data sets whose interval of each average contains the true one."""
    covered = dict.fromkeys(AVERAGES, 0)
    for _ in range(n_data_sets):
        labels, scores = classes(counts, kind, rng)
        for name in covered:
            found = metric_interval(labels, scores, metric=name)
            covered[name] += found.low <= true_average(name, counts, kind) <= found.high
    return {name: count / n_data_sets for name, count in covered.items()}


def frame(n_samples, kind, rng):
    """Labels, a known variable, and scores of all that may be sampled."""
    positive = rng.random(n_samples) < 0.05
    known = rng.normal(size=n_samples) + positive
    scores = 0.6 * known + rng.normal(size=n_samples) + 1.2 * positive
    return positive, known, np.round(scores) if kind == "levels" else scores


@lru_cache
def true_value(name, kind):
    positive, _, scores = frame(_MANY, kind, np.random.default_rng(9))
    return float(WEIGHTED[name](positive, scores))


def weighted_coverage(n_samples, kind, n_data_sets, rng):
    """Share of data sets whose weighted interval contains the value of the population."""
    covered = dict.fromkeys(WEIGHTED, 0)
    for _ in range(n_data_sets):
        positive, known, scores = frame(n_samples, kind, rng)
        probability = np.where(known > 1.0, 1.0, 0.15)
        kept = rng.random(n_samples) < probability
        for name in covered:
            found = metric_interval(
                positive[kept], scores[kept], metric=name, sample_weight=1.0 / probability[kept]
            )
            covered[name] += found.low <= true_value(name, kind) <= found.high
    return {name: count / n_data_sets for name, count in covered.items()}


def main() -> None:
    """Write the tables; the columns are in the order of the averages and of the metrics."""
    rng = np.random.default_rng(20261128)
    values = "average precision: macro", "average precision: weighted", "ROC AUC: macro"
    rows = [["scores", "sizes of classes", *values, "recall at 0.1: macro"]]
    for kind, counts in product(SHIFTS, COUNTS):
        rates = average_coverage(counts, kind, 1000, rng)
        rows.append([kind, ", ".join(map(str, counts)), *map(shown, rates.values())])
    write("classes", rows)
    rows = [["scores", "items", "average precision", "ROC AUC", "recall at 0.05"]]
    for kind, n_samples in product(("normal", "levels"), (2000, 8000)):
        rates = weighted_coverage(n_samples, kind, 1000, rng)
        rows.append([kind, f"{n_samples:,}", *map(shown, rates.values())])
    write("weights", rows)


if __name__ == "__main__":
    main()
