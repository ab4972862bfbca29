"""Time and memory of the first p-value of a null distribution, at three standard deviations."""

import pytest
from problems import TIED, UNTIED
from sklearn.metrics import average_precision_score
from ways import cost_alone, first_pvalue

# Lists of 1e9 scores do not fit into memory; their null distribution needs no scores.
WITH_SCORES = [problem for problem in (*UNTIED, *TIED) if problem.n_samples <= 10**6]


@pytest.mark.parametrize("problem", [*UNTIED, *TIED], ids=str)
def test_first_pvalue(measure, problem):
    cost = cost_alone("first p-value", problem)
    p = measure(
        lambda: first_pvalue(problem),
        expected=cost.pop("seconds"),
        table="first",
        problem=str(problem),
        way="exact test",
        **cost,
    )
    assert 0.0 < p <= 0.1  # Cantelli: at most 1 / (1 + z**2)


@pytest.mark.parametrize("problem", WITH_SCORES, ids=str)
def test_average_precision_score(measure, problem):
    y_true, y_score = problem.data
    measure(
        lambda: average_precision_score(y_true, y_score),
        expected=1e-3 + 5e-7 * problem.n_samples,
        table="first",
        problem=str(problem),
        way="average_precision_score",
    )
