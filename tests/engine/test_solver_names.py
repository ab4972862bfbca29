"""Names of the algorithms that compute p-values, in the code and in the documentation."""

from pathlib import Path

import numpy as np
import pytest
from by_name import ap_null_distribution

from sklearn_rankinf import Bedroc, metric_null_distribution
from sklearn_rankinf._engine.estimates import SOLVERS

PAGE = Path(__file__).parents[2] / "doc" / "exact_law.rst"

# Queries of different lengths that score 0 outside a short list of their own.
SHORT_LISTS = [[1, 1, 1, 5000 + i] for i in range(16)]


def ap(n_samples, n_positives, *z, **options):
    return ap_null_distribution(n_samples, n_positives, **options), z, "greater"


def ap_below(n_samples, n_positives, *z, **options):
    return ap_null_distribution(n_samples, n_positives, **options), z, "less"


def metric(name, n_samples, n_positives, *z, **options):
    return metric_null_distribution(n_samples, n_positives, metric=name, **options), z, "greater"


def queries(*z, n_samples, n_positives, **options):
    return metric_null_distribution(n_samples, n_positives, **options), z, "greater"


# Null distributions, z-scores and the algorithms that compute their p-values.
PROBLEMS = {
    "few placements": (lambda: ap(12, 4, 0.0, 2.0), {"enumeration"}),
    "few outcomes": (lambda: ap(40, 10, 1.0, tie_sizes=[10] * 4), {"enumeration"}),
    "two halves": (lambda: ap(52, 7, 0.0, 2.0), {"meet in the middle"}),
    "two positives": (lambda: ap(5000, 2, 0.0, 2.0), {"two or three positives"}),
    "three positives": (lambda: ap(1000, 3, 1.0), {"two or three positives"}),
    "three in a long list": (lambda: ap(6000, 3, 1.0), {"midpoint of bounds"}),
    "four positives": (lambda: ap(1000, 4, 1.0), {"stratified contour"}),
    "body": (lambda: ap(1000, 100, -2.0, 0.5, 3.0), {"contour"}),
    "far upper tail": (lambda: ap(1000, 100, 60.0), {"contour"}),
    "lower tail": (lambda: ap_below(1000, 100, -2.5), {"contour"}),
    "complement": (lambda: metric("roc_auc", 1000, 500, -20.0), {"upper bound"}),
    "few levels far up": (
        lambda: metric("average_precision", 2000, 300, 16.0, tie_sizes=[400] * 5),
        {"band-limited bounds"},
    ),
    "steep": (lambda: ap(10_000, 50, 1.0, 5.0, 20.0), {"stratified contour"}),
    "steep below": (lambda: ap_below(10_000, 50, -1.0, -0.5), {"stratified contour"}),
    "most are positive": (lambda: ap(1000, 900, 1.0), {"contour"}),
    "twenty scores": (lambda: ap(400, 30, 1.0, tie_sizes=[20] * 20), {"contour"}),
    "few without scores": (
        lambda: ap(5000, 60, 1.0, k=100),
        {"conditioning on a block"},
    ),
    "dcg": (lambda: metric("dcg", 1000, 200, 3.0), {"contour"}),
    "bedroc": (lambda: metric("bedroc", 1000, 50, 1.0, 4.0), {"contour"}),
    "weights fall fast": (
        lambda: metric(Bedroc(alpha=161), 300, 6, 0.5, 4.0, tie_sizes=[1, 2] * 100),
        {"branch and bound"},
    ),
    "roc auc": (lambda: metric("roc_auc", 1000, 50, 1.0, 4.0), {"contour"}),
    "roc auc with ties": (
        lambda: metric("roc_auc", 200, 20, 1.0, tie_sizes=[1, 2, 3, 4] * 20),
        {"integer weights"},
    ),
    "recall at k": (lambda: metric("recall@100", 1000, 50, 1.0), {"hypergeometric"}),
    "few short queries": (
        lambda: queries(1.0, n_samples=[8] * 3, n_positives=[2] * 3),
        {"enumeration"},
    ),
    "short queries": (
        lambda: queries(1.0, n_samples=[30] * 3, n_positives=[3] * 3),
        {"lattice"},
    ),
    "queries": (lambda: queries(1.0, 4.0, n_samples=[100] * 20, n_positives=[5] * 20), {"contour"}),
    "short lists": (
        lambda: queries(
            0.5,
            n_samples=[sum(sizes) for sizes in SHORT_LISTS],
            n_positives=[3] * len(SHORT_LISTS),
            tie_sizes=SHORT_LISTS,
        ),
        {"sums of atoms"},
    ),
}

# Average precision of 30 positives at the end of 300 items.
MINIMUM = sum(hits / (270 + hits) for hits in range(1, 31)) / 30

# Null distributions, values at an end of the support, directions and the algorithms.
ENDS = {
    "perfect": (lambda: ap_null_distribution(1000, 100), 1.0, "greater", "closed form"),
    "beyond": (lambda: ap_null_distribution(1000, 100), 1.1, "greater", "closed form"),
    "nearly perfect": (
        lambda: ap_null_distribution(1000, 100),
        0.999,
        "greater",
        "near-maximum enumeration",
    ),
    "nearly the worst": (
        lambda: ap_null_distribution(300, 30),
        MINIMUM * (1.0 + 1e-6),
        "less",
        "near-maximum enumeration",
    ),
    "next to nothing": (
        lambda: metric_null_distribution(2000, 20, metric=Bedroc(alpha=1e4)),
        1e-100,
        "less",
        "hypergeometric bounds",
    ),
}


def names_in_the_documentation():
    _, section = PAGE.read_text(encoding="utf-8").split(".. _which-algorithm:")
    table = section.split(".. list-table::")[1].split("\n\n", 2)[1]
    rows = [line.removeprefix("   * - ") for line in table.splitlines() if "   * - " in line]
    assert rows[0] == "algorithm"
    return rows[1:]


def test_the_table_of_the_documentation_has_a_row_for_every_algorithm():
    assert names_in_the_documentation() == list(SOLVERS)


@pytest.mark.numeric
@pytest.mark.parametrize("problem", PROBLEMS)
def test_names_of_the_algorithms_of_null_distributions(problem):
    make, expected = PROBLEMS[problem]
    null, z, alternative = make()
    found = null.solver(null.mean() + np.array(z) * null.std(), alternative)
    assert set(found.tolist()) == expected


@pytest.mark.numeric
@pytest.mark.parametrize("problem", ENDS)
def test_names_of_the_algorithms_at_the_ends_of_the_support(problem):
    make, x, alternative, expected = ENDS[problem]
    assert make().solver(x, alternative) == expected


def test_every_algorithm_is_tested():
    tested = set().union(*(expected for _, expected in PROBLEMS.values()))
    tested |= {expected for *_, expected in ENDS.values()}
    assert tested == set(SOLVERS)


def test_solver_has_the_shape_of_the_values():
    null = ap_null_distribution(1000, 100)
    assert null.solver(0.2) == "contour"
    assert type(null.solver(0.2)) is str
    assert type(null.solver(np.array(0.2))) is str
    found = null.solver([[0.2, 1.0], [np.nan, 0.2]])
    assert found.tolist() == [["contour", "closed form"], ["", "contour"]]
    assert null.solver(np.nan) == ""
    assert null.solver([]).shape == (0,)


def test_solver_of_two_sided_p_values_is_that_of_the_smaller_tail():
    null = ap_null_distribution(1000, 100)
    # One below the mean, three above it.
    x = [null.support()[0] * (1.0 + 1e-6), 0.2, 0.999, 1.0]
    greater, less = (null.solver(x, alternative) for alternative in ("greater", "less"))
    assert null.solver(x, "two-sided").tolist() == [less[0], *greater[1:]]
    assert null.solver(0.999, "two-sided") == "near-maximum enumeration"


@pytest.mark.parametrize("method", ["permutation", "normal", "pearson3", "zhang_su"])
def test_solver_of_other_methods_is_the_method(method):
    null = ap_null_distribution(100, 10, method=method)
    assert null.solver(0.2) == method
    assert null.solver([0.2, np.nan]).tolist() == [method, ""]


def test_solver_rejects_other_directions():
    with pytest.raises(ValueError, match="alternative"):
        ap_null_distribution(100, 10).solver(0.2, "larger")
