"""Time of 10,000 further p-values of a null distribution, against 100 calls of scikit-learn."""

import numpy as np
import pytest
from problems import Problem, forget
from sklearn.metrics import average_precision_score

PROBLEMS = [
    Problem(500, 50),
    Problem(1000, 100),
    Problem(2000, 500),
    Problem(1000, 5),
    Problem(1000, 10),
    Problem(10_000, 50),
    Problem(100_000, 20),
    Problem(100_000, 100),
]
LOWEST, HIGHEST = 1e-6, 20.0


def random_rankings(problem):
    """Values of random rankings."""
    return problem.null().rvs(10_000, random_state=0)


def evenly_spread(problem):
    """Values from where one in a million is lower to 20 standard deviations above the mean."""
    null = problem.null()
    return np.linspace(null.ppf(LOWEST), problem.value_at(HIGHEST), 10_000)


@pytest.mark.parametrize("values", [random_rankings, evenly_spread])
@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_further_values(measure, problem, values):
    first, further = problem.value_at(3.0), values(problem)
    distributions = [problem.null()]

    def another_null():
        forget()
        distributions[0] = problem.null()
        distributions[0].pvalue(first)

    p = measure(
        lambda: distributions[0].pvalue(further),
        expected=0.3,
        setup=another_null,
        table="whole",
        problem=str(problem),
        way=values.__name__,
    )
    # As far as the stated errors go.
    assert np.all(np.diff(p[np.argsort(further)]) <= 5e-3)


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
