"""Time of 10,000 further values of a law that has given one, against 100 calls of scikit-learn."""

import numpy as np
import pytest
from problems import Problem, forget
from sklearn.metrics import average_precision_score

PROBLEMS = [Problem(1000, 100), Problem(2000, 500), Problem(10_000, 50)]


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_further_values(measure, problem):
    rng = np.random.default_rng(0)
    first, further = problem.value_at(3.0), problem.value_at(rng.uniform(-2.5, 20.0, 10_000))
    laws = [problem.law()]

    def another_law():
        forget()
        laws[0] = problem.law()
        laws[0].pvalue(first)

    p = measure(
        lambda: laws[0].pvalue(further),
        expected=0.2,
        setup=another_law,
        table="whole",
        problem=str(problem),
        way="exact law",
    )
    assert np.all(np.diff(p[np.argsort(further)]) <= 1e-9)


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_hundred_calls(measure, problem):
    y_true, y_score = problem.data
    measure(
        lambda: [average_precision_score(y_true, y_score) for _ in range(100)],
        expected=0.2,
        table="whole",
        problem=str(problem),
        way="average_precision_score",
    )
