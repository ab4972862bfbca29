"""Time and memory of one p-value: exact, and by 10,000 resamples with several programs."""

import pytest
from problems import COMPARED
from ways import N_PERMUTATIONS, SHARE, WAYS, cost_alone

COMPARED_WAYS = [way for way in WAYS if way != "first p-value"]


@pytest.mark.parametrize("way", COMPARED_WAYS)
@pytest.mark.parametrize("problem", COMPARED, ids=str)
def test_one_pvalue(measure, problem, way):
    if way == "copairs":
        pytest.importorskip("copairs")
    assert 0.0 < problem.observed < 1.0  # made before the clock starts
    is_share = way == "permuted labels"
    cost = cost_alone(way, problem)
    p = measure(
        lambda: WAYS[way](problem),
        expected=cost.pop("seconds"),
        table="ways",
        problem=str(problem),
        way=way,
        share=SHARE if is_share else 1,
        **cost,
    )
    resamples = N_PERMUTATIONS // SHARE if is_share else N_PERMUTATIONS
    exact = WAYS["exact test"](problem)
    assert abs(p - exact) < 6.0 * (exact / resamples) ** 0.5 + 2.0 / resamples
