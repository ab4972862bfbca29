"""Small runs over queries, all of their labellings, and random runs."""

import itertools
import math
from functools import cache

import numpy as np
import oracles

from sklearn_rankinf import (
    metric_null_distribution,
)

ALTERNATIVES = ("greater", "less", "two-sided")
# Number of positives and sizes of blocks of equal scores, of each query.
RUNS = {
    "two": [(2, (1,) * 5), (1, (1,) * 6)],
    "same twice": [(2, (1,) * 6), (2, (1,) * 6)],
    "three": [(2, (1,) * 5), (1, (1,) * 4), (3, (1,) * 5)],
    "ties": [(2, (2, 1, 3)), (2, (1, 1, 3))],
    "ties and none": [(3, (2, 2, 1)), (1, (1,) * 5), (2, (4,))],
    "all tied": [(2, (5,)), (1, (1, 3))],
    "one empty": [(2, (1,) * 6), (0, (1, 2)), (1, (1,) * 3)],
    "one full": [(4, (1, 2, 1)), (2, (1,) * 6)],
    "one varies": [(0, (2,)), (3, (1,) * 7), (2, (1, 1))],
    "none varies": [(0, (1, 1)), (2, (1, 1))],
}


@cache
def enumerated(name):
    """scikit-learn's mean over every joint placement of the positives, sorted."""
    values = []
    for m, tie_sizes in RUNS[name]:
        n = sum(tie_sizes)
        if m == 0:
            values.append([0.0])
        else:
            values.append(oracles.sklearn_values(n, m, tie_sizes))
    return np.sort([math.fsum(joint) / len(joint) for joint in itertools.product(*values)])


def null_of(name, **options):
    run = RUNS[name]
    return metric_null_distribution(
        [sum(ties) for _, ties in run],
        [m for m, _ in run],
        tie_sizes=[ties for _, ties in run],
        **options,
    )


def share(values, x, alternative):
    greater = oracles.count_at_least(values, x) / len(values)
    less = oracles.count_at_most(values, x) / len(values)
    both = min(1.0, 2.0 * min(greater, less))
    return {"greater": greater, "less": less, "two-sided": both}[alternative]


def random_run(rng, sizes, decimals=None, effect=0.0):
    """Labels, scores and queries in random order of rows."""
    y_true = np.concatenate([np.arange(n) < m for n, m in sizes]).astype(int)
    groups = np.repeat(np.arange(len(sizes)), [n for n, _ in sizes])
    y_score = rng.normal(size=y_true.size) + effect * y_true
    if decimals is not None:
        y_score = y_score.round(decimals)
    order = rng.permutation(y_true.size)
    return y_true[order], y_score[order], groups[order]
