"""Cost of a grid search by significance, against the same search by average precision.

Run from the top of the repository: ``python tests/benchmarks/bench_search.py``.  Nothing is
asserted. The searches alternate, none finds a cached null distribution, and the table shows
medians of their processor times and the ratios to average precision.
"""

from __future__ import annotations

import time
import warnings
from statistics import median
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_rankinf import make_significance_scorer
from sklearn_rankinf._null.distribution import _DISTRIBUTIONS

N_SAMPLES, N_FOLDS = 2000, 5
SCORERS: dict[str, Any] = {
    "average_precision": "average_precision",
    "significance": make_significance_scorer(),
    "permutation, B = 999": make_significance_scorer(method="permutation", n_resamples=999),
}
# Twenty candidates each.
SEARCHES: dict[str, tuple[Any, dict[str, Any], int]] = {
    "logistic regression": (
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        {"logisticregression__C": np.logspace(-4, 3, 20)},
        7,
    ),
    "nearest neighbours, k = 1 to 20": (
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
        {"kneighborsclassifier__n_neighbors": list(range(1, 21))},
        7,
    ),
    "nearest neighbours, k = 1 to 39": (
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
        {"kneighborsclassifier__n_neighbors": list(range(1, 40, 2))},
        7,
    ),
    "random forest, 100 trees": (
        RandomForestClassifier(random_state=0),
        {"max_depth": [2, 3, 5, 8, None], "min_samples_leaf": [1, 2, 5, 10]},
        1,
    ),
}


def compare(n_features: int, share_of_positives: float) -> None:
    """Print the table for one data set."""
    X, y = make_classification(
        N_SAMPLES,
        n_features,
        n_informative=4,
        weights=[1.0 - share_of_positives],
        flip_y=0.02,
        class_sep=0.7,
        random_state=0,
    )
    print(f"{N_SAMPLES} items, {n_features} features, {y.sum()} positives, {N_FOLDS} folds")
    for name, (estimator, grid, n_repeats) in SEARCHES.items():
        times: dict[str, list[float]] = {scorer: [] for scorer in SCORERS}
        for _ in range(n_repeats):
            for scorer, scoring in SCORERS.items():
                search = GridSearchCV(estimator, grid, scoring=scoring, cv=N_FOLDS, refit=False)
                _DISTRIBUTIONS.clear()
                start = time.process_time()
                search.fit(X, y)
                times[scorer].append(time.process_time() - start)
        base = median(times["average_precision"])
        print(f"  {name}")
        for scorer, spent in times.items():
            print(f"    {scorer:22} {median(spent):7.2f} s {median(spent) / base:6.2f}")


if __name__ == "__main__":
    warnings.filterwarnings(
        "ignore", message="A permutation p-value has its smallest possible value"
    )
    for n_features in (20, 100):
        compare(n_features, 0.05)
