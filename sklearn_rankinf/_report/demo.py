"""The demonstration behind ``rankinf demo``: three tuned rankers on a rare-target problem."""

from __future__ import annotations

import time
from collections.abc import Callable
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

from sklearn_rankinf._model_selection.scorers import average_precision_significance_scorer
from sklearn_rankinf._plot import new_figure
from sklearn_rankinf._ranking import Ranking, estimator_scores
from sklearn_rankinf._report.numbers import LEVEL, HitsReport, pvalue_less, report_on_hits
from sklearn_rankinf._report.report import write_plots
from sklearn_rankinf._report.text import hits_table, table_as_text, verdict, wrapped
from sklearn_rankinf._results import format_pvalue, format_table
from sklearn_rankinf._significance.metric_test import average_precision_test
from sklearn_rankinf._significance.results import MetricTestResult

TARGET_DIGIT = 8
N_TARGETS = 40
N_FOLDS = 5
N_PERMUTATIONS = 9999
N_PLACES = 50
RESPONSE_METHODS = ("decision_function", "predict_proba")
INK = "amount of ink"

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RareTargetProblem:
    """A binary problem with few positives, split once into training and held-out data."""

    X_train: FloatArray
    X_test: FloatArray
    y_train: IntArray
    y_test: IntArray


@dataclass(frozen=True)
class Assessment:
    """The test results of one ranker on the held-out data."""

    name: str
    n_samples: int
    n_positives: int
    average_precision: float
    chance: float
    adjusted: float
    zscore: float
    log10_pvalue: float
    permutation_pvalue: float
    normal_log10_pvalue: float
    at_k: HitsReport
    result: MetricTestResult


def rare_digit_problem(random_state: int = 0) -> RareTargetProblem:
    """Return scikit-learn's digits with only 40 of the eights kept, split into two halves.

    Parameters
    ----------
    random_state : int, default=0
        Seed for the choice of the eights that are kept and for the split.

    Returns
    -------
    RareTargetProblem
        The features are the pixels; the label is 1 for an eight and 0 for every other digit.
        The split is stratified, so both halves have the same prevalence.
    """
    X, digit = load_digits(return_X_y=True)
    is_target = digit == TARGET_DIGIT
    rng = np.random.default_rng(random_state)
    kept = rng.choice(np.flatnonzero(is_target), size=N_TARGETS, replace=False)
    rows = np.sort(np.concatenate([np.flatnonzero(~is_target), kept]))
    X_train, X_test, y_train, y_test = train_test_split(
        X[rows],
        is_target[rows].astype(np.int64),
        test_size=0.5,
        stratify=is_target[rows],
        random_state=random_state,
    )
    return RareTargetProblem(X_train, X_test, y_train, y_test)


def candidate_searches(random_state: int = 0) -> dict[str, GridSearchCV]:
    """Return the three grid searches, each scored on -log10 p of average precision.

    Parameters
    ----------
    random_state : int, default=0
        Seed of the cross-validation folds, which all three searches share.

    Returns
    -------
    dict of str to GridSearchCV
        The unfitted searches, keyed by the name of the ranker.
    """
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
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=random_state)
    return {
        name: GridSearchCV(estimator, grid, scoring=scorer, cv=folds)
        for name, (estimator, grid) in estimators.items()
    }


def assess(name: str, y_true: IntArray, y_score: FloatArray) -> Assessment:
    """Return the exact, permutation and normal p-values of one ranking.

    Parameters
    ----------
    name : str
        The ranker's name.
    y_true : ndarray of shape (n_samples,)
        Labels, 1 for a positive.
    y_score : ndarray of shape (n_samples,)
        Scores; larger scores are ranked first.

    Returns
    -------
    Assessment
        One row of the table.
    """
    ranking = Ranking.from_scores(y_true, y_score)
    exact = average_precision_test(ranking, method="analytic")
    permutation = average_precision_test(
        ranking, method="permutation", n_resamples=N_PERMUTATIONS, random_state=0
    )
    normal = average_precision_test(ranking, method="normal")
    return Assessment(
        name=name,
        n_samples=int(exact.n_samples),
        n_positives=int(exact.n_positives),
        average_precision=float(exact.statistic),
        chance=float(exact.null_distribution.mean()),
        adjusted=float(exact.adjusted_statistic),
        zscore=float(exact.zscore),
        log10_pvalue=float(exact.log10_pvalue),
        permutation_pvalue=float(permutation.pvalue),
        normal_log10_pvalue=float(normal.log10_pvalue),
        at_k=report_on_hits(ranking, N_PLACES),
        result=exact,
    )


COLUMNS: tuple[tuple[str, str, Callable[[Assessment], str]], ...] = (
    ("", "ranker", lambda row: row.name),
    ("", "n", lambda row: str(row.n_samples)),
    ("", "m", lambda row: str(row.n_positives)),
    ("", "AP", lambda row: f"{row.average_precision:.4f}"),
    ("chance", "AP", lambda row: f"{row.chance:.4f}"),
    ("adjusted", "AP", lambda row: f"{row.adjusted:.4f}"),
    ("", "z", lambda row: f"{row.zscore:.2f}"),
    ("exact", "p", lambda row: format_pvalue(row.log10_pvalue)),
    ("permutation", "p", lambda row: format_pvalue(np.log10(row.permutation_pvalue))),
    ("normal", "p", lambda row: format_pvalue(row.normal_log10_pvalue)),
)


def assessment_table(rows: list[Assessment]) -> str:
    """Return the assessments as an aligned table of text.

    Parameters
    ----------
    rows : list of Assessment
        One entry per ranker.

    Returns
    -------
    str
        Two heading lines, a rule, and one line per ranker.
    """
    headings = [(top, head) for top, head, _ in COLUMNS]
    return format_table(headings, [[cell(row) for _, _, cell in COLUMNS] for row in rows])


def conclusion(row: Assessment) -> str:
    """Return a one-sentence conclusion about one ranker.

    Parameters
    ----------
    row : Assessment
        The results of the ranker on the held-out data.

    Returns
    -------
    str
        Whether the ranking is better than chance at the 5 % level, with its p-value.
    """
    return verdict(f"Ranking by {row.name}", row.result, pvalue_less(row.result), LEVEL)


def contrast(rows: list[Assessment]) -> str:
    """Explain where the permutation and normal p-values of the table fall short.

    Parameters
    ----------
    rows : list of Assessment
        One entry per ranker.

    Returns
    -------
    str
        Two to four lines of text.
    """
    floor = -np.log10(N_PERMUTATIONS + 1)
    at_floor = [row for row in rows if np.log10(row.permutation_pvalue) < floor + 1e-9]
    lines = [
        f"A p-value from B = {N_PERMUTATIONS} permutations cannot be smaller than "
        f"1/(B + 1) = 1/{N_PERMUTATIONS + 1}.\n{len(at_floor)} of the {len(rows)} rankings reach "
        "this limit; only their exact p-values distinguish them."
    ]
    worst = max(rows, key=lambda row: abs(row.log10_pvalue - row.normal_log10_pvalue))
    orders = worst.log10_pvalue - worst.normal_log10_pvalue
    if orders >= 1.0:
        lines.append(
            "The normal approximation has the right mean and variance but the wrong tail: for\n"
            f"{worst.name} its p-value is {orders:.0f} orders of magnitude too small."
        )
    return "\n".join(lines)


def tune(searches: dict[str, GridSearchCV], problem: RareTargetProblem) -> dict[str, FloatArray]:
    """Fit every search on the training half, print its progress, and score the held-out half.

    Parameters
    ----------
    searches : dict of str to GridSearchCV
        Unfitted searches, keyed by name.
    problem : RareTargetProblem
        The data.

    Returns
    -------
    dict of str to ndarray of shape (n_test,)
        Held-out scores, keyed by name.
    """
    scores = {}
    for number, (name, search) in enumerate(searches.items(), start=1):
        n_candidates = int(np.prod([len(values) for values in search.param_grid.values()]))
        _say(
            f"[{number}/{len(searches)}] {name}: {n_candidates} candidates x {N_FOLDS} folds ...",
            end=" ",
        )
        start = time.perf_counter()
        search.fit(problem.X_train, problem.y_train)
        best = ", ".join(
            f"{key.rpartition('__')[2]}={value}" for key, value in search.best_params_.items()
        )
        _say(f"{time.perf_counter() - start:.1f} s\n      best: {best}")
        scores[name] = estimator_scores(search, problem.X_test, 1, RESPONSE_METHODS)
    return scores


def run_demo(plots: str | None = None) -> list[Assessment]:
    """Run the demonstration and print its results.

    Parameters
    ----------
    plots : str, optional
        Directory for a picture of each test. By default no pictures are drawn.

    Returns
    -------
    list of Assessment
        The rows of the table: the three tuned rankers, then one that was never trained.
    """
    if plots is not None:
        new_figure("--plots")  # a missing matplotlib is reported before anything is fitted
    problem = rare_digit_problem()
    n_samples = len(problem.y_train) + len(problem.y_test)
    _say(
        f"A search for rare targets: the {TARGET_DIGIT}s among scikit-learn's handwritten digits. "
        f"Only {N_TARGETS} of them are kept\n({N_TARGETS} positives among {n_samples} items, "
        f"{N_TARGETS / n_samples:.1%}). Half of the data is for tuning, half for testing.\n\n"
        "Grid search for the largest -log10 p of average precision (AP), averaged over the folds:"
    )
    scores = tune(candidate_searches(), problem)
    # This untrained score is an example of a weak ranking among tuned ones.
    scores[INK] = problem.X_test.sum(axis=1)

    _say(
        "\nTesting on held-out data, with the exact null distribution and "
        f"{N_PERMUTATIONS} permutations ...\n"
    )
    rows = [assess(name, problem.y_test, score) for name, score in scores.items()]
    _say(assessment_table(rows))
    _say(
        "\nn is the number of items, m the number of positives. Adjusted AP is 0 at chance and 1 "
        "for a perfect\nranking. z is (AP - chance AP) / standard deviation. p is the probability "
        "that a random ranking\nwith the same ties has at least this AP. "
        f"'{INK}' is the sum of the pixels: an untrained\nscore, for comparison.\n"
    )
    names, hits = [row.name for row in rows], [row.at_k for row in rows]
    _say(table_as_text(hits_table(f"Hits among the first {N_PLACES}", "ranking", names, hits)))
    _say("\nConclusion")
    _say("\n".join(wrapped(conclusion(row), "  ") for row in rows))
    _say(f"\n{contrast(rows)}\n")
    if plots is not None:
        files = write_plots(plots, {row.name: row.result for row in rows})
        _say("".join(f"wrote {path}\n" for path in files.values()))
    _say(NEXT_STEPS)
    return rows


NEXT_STEPS = """\
What to do next
  Test your own ranking (labels and scores of held-out items, as in sklearn.metrics):
      from sklearn_rankinf import average_precision_test
      print(average_precision_test(y_true, y_score))
  Test a file:        rankinf report FILE.csv --label COLUMN --score COLUMN --k 50
  Tune by p-value:    GridSearchCV(..., scoring=average_precision_significance_scorer)
  Test on labels that were not used for tuning: the best score of a search is optimistic."""


def _say(text: str, end: str = "\n") -> None:
    print(text, end=end, flush=True)
