"""Two rankers at another prevalence: the interval holds the difference, and tests are valid.

Limits are those of the binomial distribution at 1e-4: one false alarm in ten thousand seeds on
either side of a test. With `--long` there are more data sets and sizes.
"""

import numpy as np
import pytest
from difference_rates import BY_NAME, comparison_at_prevalences
from rates import highest, lowest

SIZES = [(50, 950), (20, 980), (500, 500)]
PAIRS = [
    ("d = 1", "d = 1"),
    ("t + 1.5", "t + 1.5"),
    ("log-normal + 2", "log-normal + 2"),
    ("d = 1", "log-normal"),
]

pytestmark = pytest.mark.filterwarnings(
    "ignore:At prevalence=:UserWarning", "ignore:A top fraction:UserWarning"
)


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_average_precision_at_another_prevalence(pair, long):
    n_data_sets = 1000 if long else 60
    for sizes in SIZES if long else SIZES[:1]:
        rng = np.random.default_rng(5)
        prevalences = [50 / sizes[1], 100 / sizes[1]]
        both = [BY_NAME[name] for name in pair]
        for rates in comparison_at_prevalences(both, sizes, prevalences, n_data_sets, rng):
            assert rates.covered >= lowest(n_data_sets, 0.945)
            if len(set(pair)) == 1:
                assert rates.rejected <= highest(n_data_sets, 0.06)


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_recall_in_a_fraction_at_another_prevalence(pair, long):
    n_data_sets = 1000 if long else 60
    for sizes in SIZES[:2] if long else SIZES[:1]:
        rng, fraction = np.random.default_rng(6), 50 / sizes[1]
        both = [BY_NAME[name] for name in pair]
        found = comparison_at_prevalences(
            both, sizes, [fraction / 5, fraction], n_data_sets, rng, fraction
        )
        for rates in found:
            assert rates.covered >= lowest(n_data_sets, 0.94)
            if len(set(pair)) == 1:
                assert rates.rejected <= highest(n_data_sets, 0.055)
