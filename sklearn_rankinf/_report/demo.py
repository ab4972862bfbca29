"""The demonstration behind ``rankinf demo``: three tuned rankers on a rare-positive problem."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_rankinf._model_selection import average_precision_significance_scorer
from sklearn_rankinf._plot import new_figure, null_figure
from sklearn_rankinf._ranking import RESPONSE_METHODS, Ranking, estimator_scores
from sklearn_rankinf._report.files import write_figures
from sklearn_rankinf._report.report import rank_significance_report
from sklearn_rankinf._report.text import (
    FOR_A_PAPER,
    Column,
    conclusions,
    hits_table,
    section,
    table,
    table_as_text,
    wrapped,
)
from sklearn_rankinf._results import format_pvalue, format_table
from sklearn_rankinf._significance import MetricTestResult, average_precision_test
from sklearn_rankinf._statistics import Floats, Integers

TARGET_DIGIT = 8
N_TARGETS = 40
N_FOLDS = 5
N_PERMUTATIONS = 9999
N_PLACES = 50
INK = "amount of ink"


@dataclass(frozen=True, eq=False)
class Assessment:
    """The tests of one ranker on the held-out data."""

    name: str
    exact: MetricTestResult
    permutation: MetricTestResult
    normal: MetricTestResult


def rare_digit_problem() -> list[NDArray[Any]]:
    """Return scikit-learn's digits with only 40 of the eights kept, split into two halves.

    Pixels for training and for testing, then labels, 1 for an eight. The split is stratified, so
    that both halves have the same prevalence.
    """
    X, digit = load_digits(return_X_y=True)
    is_target = digit == TARGET_DIGIT
    rng = np.random.default_rng(0)
    kept = rng.choice(np.flatnonzero(is_target), size=N_TARGETS, replace=False)
    rows = np.sort(np.concatenate([np.flatnonzero(~is_target), kept]))
    y = is_target[rows].astype(np.int64)
    halves: list[NDArray[Any]] = train_test_split(
        X[rows], y, test_size=0.5, stratify=y, random_state=0
    )
    return halves


def candidate_searches() -> dict[str, GridSearchCV]:
    """Return grid searches that share folds, scored on -log10 p of average precision."""
    estimators: dict[str, tuple[Any, dict[str, list[Any]]]] = {
        "nearest neighbours": (
            make_pipeline(StandardScaler(), KNeighborsClassifier()),
            {
                "kneighborsclassifier__n_neighbors": [1, 5, 15, 40],
                "kneighborsclassifier__weights": ["uniform", "distance"],
            },
        ),
        "support vectors": (SVC(), {"C": [0.1, 1.0, 10.0], "gamma": [3e-4, 1e-3, 3e-3]}),
        "logistic regression": (
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
            {"logisticregression__C": [1e-3, 1e-2, 0.1, 1.0, 10.0]},
        ),
    }
    scorer = average_precision_significance_scorer
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    return {
        name: GridSearchCV(estimator, grid, scoring=scorer, cv=folds)
        for name, (estimator, grid) in estimators.items()
    }


def assess(name: str, y_true: Integers, y_score: Floats) -> Assessment:
    """Test one ranking: exactly, by permutation and by the normal approximation."""
    ranking = Ranking.from_scores(y_true, y_score)
    return Assessment(
        name,
        exact=average_precision_test(ranking, method="analytic"),
        permutation=average_precision_test(
            ranking, method="permutation", n_resamples=N_PERMUTATIONS, random_state=0
        ),
        normal=average_precision_test(ranking, method="normal"),
    )


COLUMNS: tuple[Column, ...] = (
    ("", "ranker", lambda row: row.name),
    ("", "AP", lambda row: f"{row.exact.statistic:.4f}"),
    ("chance", "AP", lambda row: f"{row.exact.chance:.4f}"),
    ("", "z", lambda row: f"{row.exact.zscore:.2f}"),
    ("exact", "p", lambda row: format_pvalue(row.exact.log10_pvalue)),
    ("permutation", "p", lambda row: format_pvalue(row.permutation.log10_pvalue)),
    ("normal", "p", lambda row: format_pvalue(row.normal.log10_pvalue)),
)


def contrast(rows: list[Assessment]) -> str:
    """Explain where the permutation and normal p-values of the table fall short."""
    floor = -np.log10(N_PERMUTATIONS + 1)
    at_floor = [row for row in rows if row.permutation.log10_pvalue < floor + 1e-9]
    lines = [
        f"A p-value from B = {N_PERMUTATIONS} permutations cannot be smaller than "
        f"1/(B + 1) = 1/{N_PERMUTATIONS + 1}. {len(at_floor)} of the {len(rows)} rankings reach "
        "this limit; only their exact p-values distinguish them."
    ]
    worst = max(rows, key=lambda row: abs(row.exact.log10_pvalue - row.normal.log10_pvalue))
    orders = worst.exact.log10_pvalue - worst.normal.log10_pvalue
    if orders >= 1.0:
        lines.append(
            "The normal approximation has the right mean and variance but the wrong tail: for "
            f"{worst.name} its p-value is {orders:.0f} orders of magnitude too small."
        )
    return "\n".join(map(wrapped, lines))


def tune(
    searches: dict[str, GridSearchCV], X: Floats, y: Integers, held_out: Floats
) -> dict[str, Floats]:
    """Fit every search, print its progress, and score the held-out half."""
    scores = {}
    for number, (name, search) in enumerate(searches.items(), start=1):
        n_candidates = int(np.prod([len(values) for values in search.param_grid.values()]))
        _say(
            f"[{number}/{len(searches)}] {name}: {n_candidates} parameter settings x "
            f"{N_FOLDS} folds ...",
            end=" ",
        )
        start = time.perf_counter()
        search.fit(X, y)
        best = ", ".join(
            f"{key.rpartition('__')[2]}={value}" for key, value in search.best_params_.items()
        )
        _say(f"{time.perf_counter() - start:.1f} s\n      best: {best}")
        scores[name] = estimator_scores(search, held_out, 1, RESPONSE_METHODS)
    return scores


def run_demo(plots: str | None = None) -> None:
    """Run the demonstration and print its results, with pictures in a directory if given."""
    if plots is not None:
        new_figure("--plots")  # a missing matplotlib is reported before anything is fitted
    X_train, X_test, y_train, y_test = rare_digit_problem()
    n_samples = len(y_train) + len(y_test)
    _paragraph(
        f"A search for rare positives: the {TARGET_DIGIT}s among scikit-learn's handwritten "
        f"digits. Only {N_TARGETS} of them are kept ({N_TARGETS} positives among {n_samples} "
        f"items, {100 * N_TARGETS / n_samples:.2g} %). Half of the data is for tuning, half for "
        "testing.\n"
    )
    _paragraph(
        "Grid search for the largest -log10 p of average precision (AP), averaged over the folds:"
    )
    scores = tune(candidate_searches(), X_train, y_train, X_test)
    # This untrained score is an example of a weak ranking among tuned ones.
    scores[INK] = X_test.sum(axis=1)

    _paragraph(
        f"\nTesting on the {len(y_test)} held-out items, {y_test.sum()} of them positive, with the "
        f"exact null distribution and {N_PERMUTATIONS} permutations ...\n"
    )
    rows = [assess(name, y_test, score) for name, score in scores.items()]
    report = rank_significance_report(y_test, scores, k=N_PLACES)
    _say(format_table(*table("", COLUMNS, rows)[1:3]))
    _paragraph(
        "\nz is (AP - chance AP) / standard deviation. p is the probability that chance, "
        f"with the same ties, gives at least this AP. '{INK}' is the sum of the pixels: an "
        "untrained score, for comparison.\n"
    )
    hits = [(one.name, one.at_k[0]) for one in report.rankers]
    _say(table_as_text(hits_table(f"Hits among the first {N_PLACES}", "ranking", hits)))
    _say(f"\n{contrast(rows)}\n")
    if plots is not None:
        figures = ((row.name, null_figure(row.exact, row.name, "--plots")) for row in rows)
        files = write_figures(plots, figures)
        _say("".join(f"wrote {path}\n" for path in files.values()))
    _say(f"{NEXT_STEPS}\n")
    _say(section("Conclusion", conclusions(report)))
    best = next(one for one in report.rankers if one.name == report.best)
    stated = [f"{best.name}: {best.summary()}", report.comparison.summary()]
    _say(f"\n{section(FOR_A_PAPER, stated)}")


NEXT_STEPS = """\
What to do next
  Test your own ranking, from labels and scores as in sklearn.metrics:
      from sklearn_rankinf import average_precision_test
      print(average_precision_test(y_true, y_score))
  Test a file:
      rankinf report FILE.csv --label COLUMN --score COLUMN --k 50
  Tune by p-value:
      GridSearchCV(..., scoring=average_precision_significance_scorer)
  Test on labels that were not used for tuning: the best score of a search is
  optimistic."""


def _paragraph(text: str) -> None:
    """Print text in lines of at most 80 characters, with the line breaks at its ends."""
    start, end = "\n" * text.startswith("\n"), "\n" * text.endswith("\n")
    _say(f"{start}{wrapped(text.strip())}{end}")


def _say(text: str, end: str = "\n") -> None:
    print(text, end=end, flush=True)
