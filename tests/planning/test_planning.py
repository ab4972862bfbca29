"""Power, smallest effects and numbers of positives, and planning by simulation."""

import math
import tracemalloc
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from combinations import checkered
from numpy.testing import assert_allclose
from oracles import placement_probability
from scipy import integrate, special, stats
from sklearn.metrics import average_precision_score

import sklearn_rankinf
from sklearn_rankinf import (
    AveragePrecision,
    DiscountedCumulativeGain,
    EnrichmentAtK,
    PrecisionAtK,
    RankStatistic,
    RecallAtK,
    ReciprocalRank,
    RocAuc,
    metric_comparison_power,
    metric_interval_width,
    metric_null_distribution,
    metric_power,
    metric_test,
    min_detectable_odds,
    min_positives,
)
from sklearn_rankinf._null import significance
from sklearn_rankinf._planning.power import SizedDesign
from sklearn_rankinf._planning.sample_size import _smallest_odds


def name_of(case):
    """Name of a case that is the same in every process: a function is shown by its address."""
    return "value" if callable(case) and not isinstance(case, type) else repr(case)[:30]


@dataclass(frozen=True)
class Zipf(RankStatistic):
    """A metric of a user."""

    def weights(self, ranks, n_samples, n_positives):
        return 1.0 / ranks


def listed(n, m, odds, value):
    """Value, and probability by chance and under odds, of every placement."""
    rows = []
    for ranks in combinations(range(1, n + 1), m):
        chance = Fraction(1, math.comb(n, m))
        rows.append((value(ranks, n), chance, placement_probability(ranks, n, odds)))
    return rows


def test_by_hand(rows, alpha):
    """Critical value, level, power, mean, and the level of the next smaller value."""
    chance, alternative = defaultdict(Fraction), defaultdict(Fraction)
    for value, p0, p1 in rows:
        chance[round(value, 10)] += p0
        alternative[round(value, 10)] += p1
    critical, level, power = math.nan, Fraction(0), Fraction(0)
    for value in sorted(chance, reverse=True):
        if level + chance[value] > alpha:
            break
        critical, level = value, level + chance[value]
        power += alternative[value]
    mean = sum(float(p1) * value for value, _, p1 in rows)
    return critical, float(level), float(power), mean


test_by_hand.__test__ = False


def average_precision(ranks, n):
    return average_precision_score(np.isin(np.arange(1, n + 1), ranks), -np.arange(n))


def roc_auc(ranks, n):
    m = len(ranks)
    return sum(n - r for r in ranks) / (m * (n - m)) - (m - 1) / (2 * (n - m))


def discounted_gain(ranks, n):
    return sum(1 / math.log2(r + 1) for r in ranks)


def gain_at_five(ranks, n):
    return sum(1 / math.log2(r + 1) for r in ranks if r <= 5)


def precision_at_five(ranks, n):
    hits = [r for r in ranks if r <= 5]
    return sum(i / r for i, r in enumerate(hits, 1)) / min(len(ranks), 5)


METRICS = [
    (AveragePrecision(), average_precision),
    (AveragePrecision(k=5), precision_at_five),
    (RocAuc(), roc_auc),
    (DiscountedCumulativeGain(), discounted_gain),
    (DiscountedCumulativeGain(k=5), gain_at_five),
    (Zipf(), lambda ranks, n: sum(1 / r for r in ranks)),
    (ReciprocalRank(), lambda ranks, n: 1 / ranks[0]),
    (RecallAtK(4), lambda ranks, n: sum(r <= 4 for r in ranks) / len(ranks)),
    (PrecisionAtK(3), lambda ranks, n: sum(r <= 3 for r in ranks) / 3),
    (EnrichmentAtK(4), lambda ranks, n: sum(r <= 4 for r in ranks) / 4 / (len(ranks) / n)),
]


@pytest.mark.parametrize(("metric", "value"), METRICS, ids=name_of)
@pytest.mark.parametrize(
    ("n", "m", "alpha"),
    [(10, 4, 0.05), (16, 2, 0.05), (12, 1, 0.1), (8, 7, 0.3), (9, 6, 0.05), (6, 3, 0.01)],
)
def test_exact_power_is_a_sum_over_placements(metric, value, n, m, alpha):
    rows = listed(n, m, Fraction(5, 2), value)
    critical, level, power, mean = test_by_hand(rows, Fraction(alpha).limit_denominator(1000))
    result = metric_power(n, m, metric=metric, odds=2.5, alpha=alpha)
    assert result.method == "analytic"
    assert result.critical_value == pytest.approx(critical, rel=1e-9, nan_ok=True)
    assert result.level == pytest.approx(level, rel=1e-10)
    assert result.power == pytest.approx(power, rel=1e-10)
    assert result.mean == pytest.approx(mean, rel=1e-10)
    assert result.standard_error == result.mean_standard_error == 0.0
    assert result.n_resamples is None


@pytest.mark.parametrize(("metric", "value"), METRICS, ids=name_of)
def test_simulated_power_is_near_the_exact_one(metric, value):
    rows = listed(11, 4, Fraction(3), value)
    critical, level, power, mean = test_by_hand(rows, Fraction(1, 10))
    result = metric_power(11, 4, metric=metric, odds=3.0, alpha=0.1, method="simulation")
    assert result.critical_value == pytest.approx(critical, rel=1e-9, nan_ok=True)
    assert result.level == pytest.approx(level, rel=1e-10)
    assert abs(result.power - power) <= 4.5 * math.sqrt(power * (1 - power) / 10_000)
    error = math.sqrt(power * (1 - power) / 10_000)
    assert result.standard_error == pytest.approx(error, rel=0.1, abs=1e-4)
    assert abs(result.mean - mean) < 4.5 * result.mean_standard_error + 1e-12
    assert result.n_resamples == 10_000


@pytest.mark.parametrize(
    ("odds", "power"), [(1.5, 0.3125), (2.0, 0.7122), (3.0, 0.9844)], ids=lambda x: str(x)
)
def test_power_of_recall_at_k(odds, power):
    result = metric_power(1000, 100, metric="recall@100", odds=odds)
    assert result.critical_value == 0.16
    assert result.level == pytest.approx(stats.hypergeom(1000, 100, 100).sf(15), rel=1e-10)
    assert result.power == pytest.approx(power, abs=5e-5)
    reference = stats.nchypergeom_wallenius(1000, 100, 100, odds)
    assert result.power == pytest.approx(reference.sf(15), rel=1e-7)
    assert result.mean == pytest.approx(reference.mean() / 100, rel=1e-7)


def test_the_effect_may_be_the_odds_or_the_auc():
    options = {"metric": "roc_auc", "method": "simulation", "n_resamples": 500}
    of_odds = metric_power(30, 4, odds=3.0, **options)
    of_auc = metric_power(30, 4, auc=0.75, **options)
    assert of_odds.power == of_auc.power
    assert of_odds.auc == pytest.approx(0.75)
    assert of_auc.odds == pytest.approx(3.0)
    assert of_auc.mean == pytest.approx(0.75)


@pytest.mark.parametrize("model", ["wallenius", "binormal"])
def test_power_without_an_effect_is_the_level(model):
    for metric in (RecallAtK(10), ReciprocalRank()):
        result = metric_power(60, 5, metric=metric, auc=0.5, alpha=0.2, model=model)
        assert result.power == pytest.approx(result.level, rel=1e-10)
        assert 0.0 < result.level <= 0.2
    simulated = metric_power(60, 5, auc=0.5, model=model, method="simulation")
    assert abs(simulated.power - simulated.level) < 4.5 * math.sqrt(0.05 * 0.95 / 10_000)
    if model == "wallenius":
        exact = metric_power(20, 4, odds=1.0)
        assert exact.power == pytest.approx(exact.level, rel=1e-10)


@pytest.mark.parametrize("model", ["wallenius", "binormal"])
def test_power_grows_with_the_effect(model):
    powers = [
        metric_power(100, 10, metric="recall@10", auc=auc, model=model).power
        for auc in np.linspace(0.02, 0.98, 25)
    ]
    assert (np.diff(powers) > 0.0).all()
    assert powers[0] < 1e-3
    assert powers[-1] > 0.99


def test_power_of_large_and_small_effects_tends_to_its_ends():
    for metric in (AveragePrecision(), RecallAtK(3), ReciprocalRank()):
        large = metric_power(40, 3, metric=metric, odds=1e9, alpha=0.1)
        assert large.power == pytest.approx(1.0, abs=1e-6)
        assert large.mean == pytest.approx(1.0, abs=1e-6)
        assert metric_power(40, 3, metric=metric, odds=1e-9, alpha=0.1).power < 1e-6


@pytest.mark.parametrize(
    ("metric", "size", "alpha"),
    checkered(
        [AveragePrecision(), RocAuc(), RecallAtK(30), Zipf()],
        [(200, 10), (150, 140), (110, 3)],
        [0.2, 0.05, 0.001],
    ),
    ids=repr,
)
def test_the_critical_value_is_that_of_the_test(metric, size, alpha):
    n, m = size
    result = metric_power(n, m, metric=metric, odds=2.0, alpha=alpha, n_resamples=10)
    null = sklearn_rankinf.metric_null_distribution(n, m, metric=metric)
    if math.isnan(result.critical_value):
        assert null.pvalue(null.support()[1]) > alpha
        assert result.level == result.power == 0.0
        return
    assert result.level <= alpha * (1.0 + 1e-12)
    assert result.level == pytest.approx(null.pvalue(result.critical_value), rel=1e-10)
    # Nothing smaller is significant: the last value with a larger probability.
    if metric == RocAuc():
        n_pairs = m * (n - m)
        multiple = result.critical_value * n_pairs
        assert multiple == pytest.approx(round(multiple), abs=1e-6)
        below = result.critical_value - 1.0 / n_pairs
    else:
        below = null.isf(result.level * (1.0 + 1e-6)) * (1.0 - 1e-6)
    assert below < result.critical_value
    assert null.pvalue(below) > alpha * (1.0 - 1e-5)


def test_the_critical_value_is_where_the_test_begins_to_be_significant():
    result = metric_power(12, 3, odds=2.0, alpha=0.1)
    smallest_of_test = min(
        test.statistic
        for ranks in combinations(range(12), 3)
        if (test := metric_test(np.isin(np.arange(12), ranks), -np.arange(12))).pvalue <= 0.1
    )
    assert result.critical_value == pytest.approx(smallest_of_test, rel=1e-12)


def test_no_value_is_significant():
    for n, m, options in (
        (10, 1, {}),
        (10, 1, {"metric": "enrichment@1"}),
        (3, 2, {"metric": "reciprocal_rank"}),
        (10, 10, {}),
        (10, 0, {}),
        (10, 10, {"metric": "roc_auc", "model": "binormal"}),
    ):
        result = metric_power(n, m, auc=0.8, **options)
        assert math.isnan(result.critical_value)
        assert result.level == result.power == 0.0
        assert result.summary().endswith("cannot be significant at the level 0.05.")
    assert metric_power(10, 0, odds=2.0).mean == 0.0
    assert metric_power(10, 10, odds=2.0).mean == 1.0
    assert min_detectable_odds(10, 1) == math.inf


def obuchowski(n, m, auc, alpha):
    """Power of ROC AUC in the normal approximation of Obuchowski et al. (2004)."""
    null, alternative = (
        0.0099 * np.exp(-0.5 * a**2) * (5.0 * a**2 + 8.0 + (a**2 + 8.0) * m / (n - m))
        for a in 1.414 * stats.norm.ppf([0.5, auc])
    )
    excess = math.sqrt(m) * (auc - 0.5) + stats.norm.ppf(alpha) * math.sqrt(null)
    return stats.norm.cdf(excess / math.sqrt(alternative))


# Difference of the mean scores of positives and negatives at an AUC of 0.8.
SHIFT = math.sqrt(2) * stats.norm.ppf(0.8)


@pytest.mark.parametrize(
    ("model", "mean"),
    [
        # The odds are 4 at the first of 12 draws.
        ("wallenius", 4 * 4 / (4 * 4 + 8)),
        # The best of 4 positives is above all 8 negatives.
        (
            "binormal",
            integrate.quad(
                lambda x: (
                    4
                    * stats.norm.pdf(x - SHIFT)
                    * stats.norm.cdf(x - SHIFT) ** 3
                    * stats.norm.cdf(x) ** 8
                ),
                -10,
                12,
            )[0],
        ),
    ],
)
def test_expected_value_where_no_value_is_significant(model, mean):
    # Precision at the first rank is 1 with probability 1/3 by chance.
    result = metric_power(12, 4, auc=0.8, metric="average_precision@1", model=model)
    assert (result.power, result.standard_error) == (0.0, 0.0)
    assert math.isnan(result.critical_value)
    assert result.method == ("analytic" if model == "wallenius" else "simulation")
    assert result.n_resamples == (None if model == "wallenius" else 10_000)
    assert result.mean_standard_error == pytest.approx(
        0.0 if model == "wallenius" else math.sqrt(mean * (1 - mean) / 10_000), rel=0.05
    )
    assert result.mean == pytest.approx(mean, abs=4 * result.mean_standard_error + 1e-12)
    assert "cannot be significant" in result.summary()


def test_many_placements_are_not_listed_where_no_value_is_significant():
    tracemalloc.start()
    result = metric_power(40, 10, auc=0.8, metric="average_precision@1")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1e8
    assert (result.power, result.standard_error, result.method) == (0.0, 0.0, "simulation")
    assert result.mean == pytest.approx(4 * 10 / (4 * 10 + 30), abs=4 * result.mean_standard_error)
    assert 0 < result.mean_standard_error < 0.006
    with pytest.raises(ValueError, match="placements of 10 positives among 40 items are too many"):
        metric_power(40, 10, auc=0.8, metric="average_precision@1", method="analytic")
    assert min_detectable_odds(40, 10, metric="average_precision@1") == math.inf


def test_power_of_roc_auc_is_near_its_normal_approximation():
    # The power that pROC's power.roc.test is tested for.
    approximation = obuchowski(113, 41, 0.73, 0.025)
    assert approximation == pytest.approx(0.9897453, abs=1e-6)
    found = metric_power(113, 41, auc=0.73, alpha=0.025, metric="roc_auc", model="binormal")
    assert found.power == pytest.approx(approximation, abs=0.01)


# The smallest effect.


@pytest.mark.parametrize(
    "options",
    [
        {"metric": "recall@10"},
        {"metric": "precision@10", "model": "binormal"},
        {"metric": "reciprocal_rank"},
    ],
)
@pytest.mark.parametrize("power", [0.02, 0.8, 0.999])
def test_power_at_the_smallest_odds(options, power):
    odds = min_detectable_odds(200, 8, power=power, **options)
    result = metric_power(200, 8, auc=odds / (1 + odds), **options)
    assert result.power == pytest.approx(power, rel=1e-7)


@pytest.mark.parametrize("power", [1e-300, 1e-12, 0.01, 0.25, 0.8, 1.0 - 1e-9])
def test_smallest_odds_of_a_hit_at_the_first_rank(power):
    # A draw hits one of 3 positives among 20 with the probability 3 odds / (3 odds + 17).
    odds = min_detectable_odds(20, 3, metric="recall@1", alpha=0.2, power=power)
    assert odds == pytest.approx(power / (1.0 - power) * 17.0 / 3.0, rel=1e-6)


@pytest.mark.parametrize("effect", [-699.0, -513.0, -1.5, 0.0, 0.3, 1.5, 513.0, 699.0])
def test_smallest_odds_are_found_within_the_largest_effects(effect):
    def power(x):
        assert abs(x) <= 700.0
        return special.expit(x - effect)

    sized = SimpleNamespace(
        method="analytic", region=SimpleNamespace(critical_value=0.5), power=power
    )
    assert math.log(_smallest_odds(sized, 0.5)) == pytest.approx(effect, abs=1e-7)
    # Others are as good as none and as any.
    sized.power = lambda x: 0.3
    assert (_smallest_odds(sized, 0.31), _smallest_odds(sized, 0.3)) == (math.inf, 0.0)


def test_power_at_the_smallest_odds_where_placements_are_listed():
    odds = min_detectable_odds(20, 4)
    assert metric_power(20, 4, odds=odds).power == pytest.approx(0.8, rel=1e-8)


@pytest.mark.parametrize("model", ["wallenius", "binormal"])
@pytest.mark.parametrize("power", [0.03, 0.8, 0.99])
def test_simulated_power_at_the_smallest_odds(model, power):
    odds = min_detectable_odds(200, 20, model=model, power=power, n_resamples=4000)
    result = metric_power(200, 20, auc=odds / (1 + odds), model=model, random_state=1)
    error = math.sqrt(power * (1 - power) * (1 / 4000 + 1 / 10_000))
    assert abs(result.power - power) < 5 * error


# The smallest number of positives.


@pytest.mark.parametrize("model", ["wallenius", "binormal"])
@pytest.mark.parametrize("k", [0.1, 40])
def test_the_first_number_of_positives_with_the_power(model, k):
    options = {"metric": f"recall@{k}", "auc": 0.75, "model": model}
    found = min_positives(prevalence=0.1, **options)
    powers = [
        metric_power(round(m / 0.1), m, **options).power
        for m in range(1, found + 1)
        if k < 1 or round(m / 0.1) >= k
    ]
    assert powers[-1] >= 0.8
    assert max(powers[:-1]) < 0.8


def test_the_first_number_of_positives_where_power_goes_up_and_down():
    options = {"metric": "recall@0.01", "odds": 1.5}
    found = min_positives(prevalence=0.01, **options)
    assert found > 2000
    numbers = [*range(found - 4, found), *range(found, found + 40, 4)]
    powers = [metric_power(100 * m, m, **options).power for m in numbers]
    assert max(powers[:4]) < 0.8 <= powers[4]
    # Not the last number with less power.
    assert min(powers[5:]) < 0.8


def test_the_first_number_of_positives_by_listed_placements():
    found = min_positives(prevalence=0.3, odds=10.0)
    powers = [metric_power(round(m / 0.3), m, odds=10.0).power for m in range(1, found + 1)]
    assert powers[-1] >= 0.8
    assert max(powers[:-1]) < 0.8


@pytest.mark.parametrize(
    "options",
    [
        {"prevalence": 0.1, "auc": 0.75},
        {"prevalence": 0.05, "auc": 0.7, "model": "binormal", "metric": "roc_auc"},
        # The approximate p-values of the first draws are far from the exact ones.
        {"prevalence": 0.05, "odds": 3.0, "alpha": 0.001, "n_resamples": 2600},
        {"prevalence": 0.5, "auc": 0.65, "metric": "ndcg", "power": 0.5, "n_resamples": 1000},
        {"prevalence": 0.95, "auc": 0.75, "metric": "roc_auc"},
        {"prevalence": 0.2, "auc": 0.7, "metric": "recall@0.2", "method": "simulation"},
        # More draws than all are asked for.
        {"prevalence": 0.1, "auc": 0.7, "metric": "ndcg@0.1", "n_resamples": 50},
        pytest.param(
            {"prevalence": 0.2, "odds": 2.0, "metric": "dcg", "n_resamples": 2000},
            marks=pytest.mark.long,
        ),
    ],
)
def test_numbers_of_positives_are_those_of_the_shares_beyond_the_critical_value(options):
    m = min_positives(**options)
    prevalence = options.pop("prevalence")
    power = options.pop("power", 0.8)
    powers = [
        metric_power(round(one / prevalence), one, **(options | {"method": "simulation"})).power
        for one in (m - 1, m)
    ]
    assert powers[0] < power <= powers[1]


@pytest.mark.parametrize(
    "options",
    [
        {"metric": "roc_auc", "auc": 0.8, "alpha": 0.01},
        {"metric": "average_precision", "auc": 0.85, "model": "binormal", "power": 0.9},
        {"metric": "dcg@0.2", "odds": 8.0, "power": 0.5},
    ],
)
def test_none_of_the_first_numbers_by_simulation_is_enough(options):
    options = {"n_resamples": 600, "method": "simulation", **options}
    m = min_positives(prevalence=0.2, **options)
    power = options.pop("power", 0.8)
    powers = [metric_power(5 * one, one, **options).power for one in range(1, m + 1)]
    assert 3 < m < 17
    assert max(powers[:-1]) < power <= powers[-1]


def test_the_first_number_of_positives_by_simulation():
    options = {"metric": "roc_auc", "auc": 0.65, "model": "binormal", "n_resamples": 2000}
    found = min_positives(prevalence=0.5, **options)
    assert found > 16
    assert metric_power(2 * found, found, **options).power >= 0.8
    assert metric_power(2 * found - 2, found - 1, **options).power < 0.8
    # The number of the normal approximation is no more than a Monte Carlo error away.
    near = next(m for m in range(2, 100) if obuchowski(2 * m, m, 0.65, 0.05) >= 0.8)
    assert abs(found - near) <= 6


def test_no_number_of_positives():
    with pytest.raises(
        ValueError, match=r"cut-off 1000 is a fixed number .* a fraction, as in metric=.recall@0.01"
    ):
        min_positives(prevalence=0.0016, metric="recall@1000", auc=0.75)
    with pytest.raises(ValueError, match=r"^10000000 positives are not .* smaller power\.$"):
        min_positives(prevalence=0.01, metric="recall@0.01", odds=1.001)
    with pytest.raises(
        ValueError, match=r"No number of positives has the power 0\.8, which is at least"
    ):
        min_positives(prevalence=0.3, odds=0.9)


# Comparisons and intervals.


def test_power_of_a_comparison():
    options = {"metric": "roc_auc", "method": "delong", "n_resamples": 200, "correlation": 0.6}
    result = metric_comparison_power(200, 40, auc_a=0.8, auc_b=0.7, **options)
    assert abs(result.mean_a - 0.8) < 0.02
    assert abs(result.mean_b - 0.7) < 0.02
    assert result.mean_difference == pytest.approx(result.mean_a - result.mean_b)
    assert result.method == "delong"
    # Normal approximation from the standard deviation of the difference.
    deviation = result.difference_standard_deviation
    expected = stats.norm.cdf(0.1 / deviation - stats.norm.ppf(0.975))
    assert abs(result.power - expected) < 4.5 * math.sqrt(0.25 / 200)
    share = (200 * result.power + 1) / 202
    assert result.standard_error == pytest.approx(math.sqrt(share * (1 - share) / 200))
    twins = metric_comparison_power(200, 40, auc_a=0.7, auc_b=0.7, **(options | {"correlation": 1}))
    assert twins.power == 0.0
    assert twins.mean_difference == 0.0
    reverse = metric_comparison_power(
        200, 40, auc_a=0.6, auc_b=0.9, alternative="greater", **options
    )
    assert reverse.power == 0.0


@pytest.mark.parametrize("method", ["swap", "influence"])
def test_comparisons_do_not_depend_on_the_jobs(method, monkeypatch):
    # Several data sets in each of several chunks.
    monkeypatch.setattr("sklearn_rankinf._planning.simulation._CELLS_PER_CHUNK", 600)
    options = {"auc_a": 0.8, "auc_b": 0.6, "n_resamples": 30}
    one, two = (
        metric_comparison_power(60, 12, method=method, n_jobs=n_jobs, **options).to_dict()
        for n_jobs in (1, 2)
    )
    assert one == two


def test_widths_do_not_depend_on_the_jobs(monkeypatch):
    monkeypatch.setattr("sklearn_rankinf._planning.simulation._CELLS_PER_CHUNK", 2000)
    one, two = (
        metric_interval_width(200, 20, auc=0.8, n_resamples=30, n_jobs=n_jobs).to_dict()
        for n_jobs in (None, 2)
    )
    assert one.pop("first_order_standard_error") == two.pop("first_order_standard_error")
    assert one == two


def test_width_of_an_interval():
    auc = float(stats.norm.cdf(1 / math.sqrt(2)))
    result = metric_interval_width(200, 20, auc=auc, n_resamples=300)
    assert result.first_order_standard_error == pytest.approx(0.09262, abs=2e-5)
    assert result.method == "influence"
    assert result.width_q10 < result.width_q50 < result.width_q90
    assert result.width_q10 < result.mean_width < result.width_q90
    # The expected value in the binormal model, of this size.
    expected = metric_power(200, 20, auc=auc, model="binormal", n_resamples=2).mean
    assert abs(result.mean - expected) < 4.5 * result.mean_standard_error
    wider = metric_interval_width(200, 20, auc=auc, n_resamples=30, confidence_level=0.99)
    assert wider.mean_width > result.mean_width


def test_first_order_standard_error_of_roc_auc_is_that_of_its_variance():
    # P(one positive above two negatives), and two positives above one negative, are integrals.
    d, n, m = 1.2, 500, 50
    grid = np.linspace(-9, 11, 20_001)
    density = stats.norm.pdf(grid)
    one_above_two = integrate.trapezoid(stats.norm.cdf(grid + d) ** 2 * density, grid)
    two_above_one = integrate.trapezoid(stats.norm.sf(grid - d) ** 2 * density, grid)
    auc = float(stats.norm.cdf(d / math.sqrt(2)))
    variance = (one_above_two - auc**2) / m + (two_above_one - auc**2) / (n - m)
    result = metric_interval_width(n, m, auc=auc, metric="roc_auc", n_resamples=2)
    assert result.first_order_standard_error == pytest.approx(math.sqrt(variance), rel=1e-4)


def test_first_order_standard_error_of_recall():
    # Hits beyond the threshold, with the slope of the ROC curve there for a random threshold.
    d, n, m, share = 1.0, 1000, 100, 0.1
    grid = np.linspace(-2, 4, 60_001)
    beyond = 0.1 * stats.norm.sf(grid - d) + 0.9 * stats.norm.sf(grid)
    t = float(np.interp(-share, -beyond, grid))
    recall, fallout = stats.norm.sf(t - d), stats.norm.sf(t)
    of_positives, of_negatives = 0.1 * stats.norm.pdf(t - d), 0.9 * stats.norm.pdf(t)
    slope = of_positives / (of_positives + of_negatives)
    first = (1 - slope) ** 2 * recall * (1 - recall) / m
    second = (slope * 9) ** 2 * fallout * (1 - fallout) / (n - m)
    auc = float(stats.norm.cdf(d / math.sqrt(2)))
    for k in (100, 0.1):
        result = metric_interval_width(n, m, auc=auc, metric=f"recall@{k}", n_resamples=2)
        found = result.first_order_standard_error
        assert found == pytest.approx(math.sqrt(first + second), rel=0.02)


def test_first_order_standard_error_where_there_is_none():
    for n, m, metric in ((200, 20, "dcg"), (200_000, 10, "roc_auc")):
        result = (
            metric_interval_width(n, m, auc=0.8, metric=metric, n_resamples=2, method="influence")
            if metric == "dcg"
            else metric_interval_width(n, m, auc=0.8, metric=metric, n_resamples=2)
        )
        assert math.isnan(result.first_order_standard_error)


# Errors.

EFFECT = "Pass exactly one of odds and auc"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, EFFECT),
        ({"odds": 2.0, "auc": 0.7}, ValueError, EFFECT),
        ({"odds": 0.0}, ValueError, "odds must be finite and larger than 0; got 0.0"),
        ({"odds": math.inf}, ValueError, "odds must be finite and larger than 0; got inf"),
        ({"odds": "2"}, TypeError, "odds must be a number; got '2' of type str"),
        ({"auc": 1.0}, ValueError, r"auc must lie between 0 and 1, exclusive; got 1\.0"),
        ({"auc": True}, TypeError, "auc must be a number; got True of type bool"),
        ({"odds": 2.0, "alpha": 0.0}, ValueError, "alpha must lie between 0 and 1, exclusive"),
        ({"odds": 2.0, "alpha": [0.1]}, TypeError, r"alpha must be a number; got \[0\.1\]"),
        ({"odds": 2.0, "model": "x"}, ValueError, "model must be one of 'wallenius', 'binormal'"),
        ({"odds": 2.0, "method": "x"}, ValueError, "method must be one of 'auto', 'analytic'"),
        ({"odds": 2.0, "n_resamples": 0}, ValueError, "n_resamples must be at least 2"),
        ({"odds": 2.0, "random_state": -1}, ValueError, "random_state must be at least 0"),
        ({"odds": 2.0, "metric": "x"}, ValueError, "metric must be one of 'average_precision'"),
        (
            {"odds": 2.0, "metric": "recall"},
            ValueError,
            "recall needs a cut-off: metric='recall@50'",
        ),
        (
            {"odds": 2.0, "metric": "recall@101"},
            ValueError,
            "k must be between 1 and n_samples=100; got 101",
        ),
        (
            {"odds": 2.0, "model": "binormal"},
            ValueError,
            r"model='binormal' needs the effect as auc, .* got odds=2\.0: pass auc=0\.666667",
        ),
        (
            {"odds": 2.0, "method": "analytic"},
            ValueError,
            "not available for average precision here, because the placements of "
            r"10 positives among 100 items are too many to be listed \(more than 200000\)",
        ),
        (
            {"auc": 0.7, "method": "analytic", "model": "binormal"},
            ValueError,
            "because the binormal model has it only for hits at k and the reciprocal rank",
        ),
    ],
)
def test_errors_of_power(options, error, message):
    with pytest.raises(error, match=message):
        metric_power(100, 10, **options)


@pytest.mark.parametrize(("n", "m"), [(0, 0), (5, 6), (10, -1), (10.0, 2)])
def test_errors_of_sizes(n, m):
    for function, options in (
        (metric_power, {"odds": 2.0}),
        (min_detectable_odds, {}),
        (metric_interval_width, {"auc": 0.7}),
        (metric_comparison_power, {"auc_a": 0.7, "auc_b": 0.8}),
    ):
        with pytest.raises((TypeError, ValueError), match=r"n_samples|n_positives"):
            function(n, m, **options)


def test_errors_of_the_searches():
    with pytest.raises(ValueError, match="power must lie between 0 and 1, exclusive; got 1"):
        min_detectable_odds(100, 10, power=1)
    with pytest.raises(ValueError, match=r"power must lie between 0 and 1, exclusive; got 0\.0"):
        min_positives(prevalence=0.1, odds=2.0, power=0.0)
    with pytest.raises(ValueError, match="prevalence must lie between 0 and 1, exclusive"):
        min_positives(prevalence=1.0, odds=2.0)
    with pytest.raises(TypeError, match=r"prevalence must be a number; got .0\.1."):
        min_positives(prevalence="0.1", odds=2.0)
    with pytest.raises(ValueError, match=EFFECT):
        min_positives(prevalence=0.1)


def test_errors_of_simulated_data_sets():
    compared = {"auc_a": 0.7, "auc_b": 0.8, "n_resamples": 2}
    for n, m in ((10, 0), (10, 10)):
        message = f"Simulated data sets need positives and negatives; got n_positives={m} of"
        with pytest.raises(ValueError, match=message):
            metric_comparison_power(n, m, **compared)
        with pytest.raises(ValueError, match=message):
            metric_interval_width(n, m, auc=0.7)
    for name, value, message in (
        ("auc_a", 1.0, "auc_a must lie between 0 and 1"),
        ("auc_b", 0.0, "auc_b must lie between 0 and 1"),
        ("alpha", 1.5, "alpha must lie between 0 and 1"),
        ("correlation", 1.5, r"correlation must lie between -1 and 1; got 1\.5"),
        ("alternative", "more", "alternative must be one of 'greater', 'less'"),
        ("method", "x", "method must be one of 'auto', 'swap'"),
        ("n_resamples", 1, "n_resamples must be at least 2"),
        ("metric", "x", "metric must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            metric_comparison_power(50, 10, **(compared | {name: value}))
    with pytest.raises(TypeError, match="correlation must be a number; got '1' of type str"):
        metric_comparison_power(50, 10, **(compared | {"correlation": "1"}))
    for name, value, message in (
        ("auc", 1.0, "auc must lie between 0 and 1"),
        ("confidence_level", 1.0, "confidence_level must lie between 0 and 1"),
        ("method", "x", "method must be one of 'auto', 'influence'"),
        ("n_resamples", 1, "n_resamples must be at least 2"),
        ("metric", "reciprocal_rank", "Reciprocal rank of one ranking depends on a single item"),
    ):
        with pytest.raises(ValueError, match=message):
            metric_interval_width(50, 10, **({"auc": 0.7} | {name: value}))


def test_metrics_of_a_user_have_power():
    for metric in (Zipf(), DiscountedCumulativeGain(k=0.5)):
        result = metric_power(300, 20, metric=metric, odds=2.0, n_resamples=500)
        assert result.method == "simulation"
        assert 0.08 < result.power < 0.95
        null = sklearn_rankinf.metric_null_distribution(300, 20, metric=metric)
        assert result.mean > null.mean() + 0.3 * null.std()
        assert result.mean_standard_error > 0.0


@pytest.mark.parametrize("odds", [1e-6, 1e-15, 1e-20, 1e20])
def test_listed_placements_at_extreme_odds(odds):
    # In the limit all positives are last, or first.
    result = metric_power(9, 3, metric="ndcg", odds=odds, method="analytic")
    worst = np.sum(1.0 / np.log2(np.array([7, 8, 9]) + 1.0))
    best = np.sum(1.0 / np.log2(np.array([1, 2, 3]) + 1.0))
    limit = worst / best if odds < 1.0 else 1.0
    assert_allclose(result.mean, limit, rtol=30.0 * min(odds, 1.0 / odds) + 1e-12)
    assert 0.0 <= result.power <= 1.0


def test_simulated_shares_of_none_or_all_have_an_error():
    few = metric_power(1000, 100, odds=50.0, n_resamples=20)
    assert few.power == 1.0
    assert_allclose(few.standard_error, np.sqrt(21 / 22 * (1 / 22) / 20))


@pytest.mark.parametrize("alpha", [1.0 - 1e-12, 1.0 - 1e-15, 1.0 - 1e-16])
@pytest.mark.parametrize("metric", ["recall@20", "roc_auc"])
def test_certain_events_are_not_significant(alpha, metric):
    result = metric_power(100, 10, metric=metric, odds=2.0, alpha=alpha)
    assert result.critical_value > 0.0
    assert result.level <= alpha * (1.0 + 1e-12)


@pytest.mark.parametrize(("auc", "power"), [(1e-300, 0.0), (1.0 - 1e-16, 1.0)])
def test_extreme_effects_in_the_binormal_model(auc, power):
    result = metric_power(100, 10, metric="roc_auc", auc=auc, model="binormal", n_resamples=50)
    assert result.power == power
    hits = metric_power(100, 10, metric="recall@20", auc=auc, model="binormal")
    assert_allclose(hits.power, power, atol=1e-12)


def test_a_metric_without_a_null_distribution_has_no_search():
    with pytest.raises(ValueError, match=r"Recall at precision 0.2 has no exact null distribution"):
        min_positives(prevalence=0.05, auc=0.75, metric="recall_at_precision@0.2")


def test_hopeless_searches_are_refused():
    with pytest.raises(ValueError, match=r"prevalence must be at least 2\.2e-12"):
        min_positives(prevalence=1e-300, metric="recall@0.01", odds=3.0)
    with pytest.raises(ValueError, match=r"at least alpha=0\.05"):
        min_positives(prevalence=0.1, odds=1.0, power=0.05, metric="recall@0.1")


@pytest.mark.parametrize(
    ("metric", "alpha", "prevalence", "auc"),
    [
        ("average_precision", 0.05, 0.2, 0.9),
        ("average_precision", 0.01, 0.5, 0.97),
        ("ndcg", 0.05, 0.1, 0.8),
        ("bedroc", 0.01, 0.5, 0.95),
        ("bedroc", 0.001, 0.5, 0.98),
        ("roc_auc", 0.001, 0.2, 0.98),
    ],
)
def test_random_rankings_do_not_change_the_search(monkeypatch, metric, alpha, prevalence, auc):
    options = {"metric": metric, "alpha": alpha, "prevalence": prevalence, "auc": auc}
    options |= {"method": "simulation", "n_resamples": 400}
    asked = []
    ask = SizedDesign.significance
    monkeypatch.setattr(
        SizedDesign,
        "significance",
        lambda self, value: (asked.append(self.m), ask(self, value))[1],
    )
    found = min_positives(**options)
    n_asked = len(asked)
    # Null distributions decide on all numbers.
    monkeypatch.setattr("sklearn_rankinf._planning.sample_size._IMPOSSIBLE", -1.0)
    assert min_positives(**options) == found
    assert len(asked) - n_asked > n_asked > 0


@pytest.mark.parametrize(
    ("metric", "n", "m"),
    [
        ("average_precision", 2000, 5),
        ("average_precision", 400, 40),
        ("ndcg", 600, 60),
        ("roc_auc", 60, 20),
    ],
)
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_rough_pvalues_decide_like_exact_ones(metric, n, m, alpha):
    null = metric_null_distribution(n, m, metric=metric)
    critical = float(null.isf(alpha))
    near = critical + null.std() * np.array([-0.5, -1e-2, -1e-3, -1e-6, 1e-6, 1e-3, 1e-2, 0.5])
    values = [value for value in near.tolist() if value < null.support()[1]]
    decided = [significance(null, value, alpha)[0] for value in values]
    exact = null.pvalue(values)
    assert decided == (exact <= alpha).tolist()
    assert not all(decided)
    log_p = [significance(null, value, alpha)[1] for value in values]
    assert_allclose(np.exp(log_p), exact, rtol=0.03)


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision"])
@pytest.mark.parametrize("auc", [0.66, 0.68, 0.715, 0.745])
def test_no_number_far_above_the_answer_is_tried(capsys, metric, auc):
    options = {"prevalence": 0.2, "metric": metric, "auc": auc, "n_resamples": 3000}
    found = min_positives(**options, verbose=1)
    tried = [int(line.split()[1]) for line in capsys.readouterr().out.splitlines()]
    assert max(tried) <= max(4 * found, 32)


def test_progress_of_the_search_is_printed_on_request(capsys):
    options = {"prevalence": 0.2, "metric": "roc_auc", "auc": 0.95, "n_resamples": 100}
    silent = min_positives(**options)
    assert capsys.readouterr().out == ""
    assert min_positives(**options, verbose=1) == silent
    lines = capsys.readouterr().out.splitlines()
    assert f"[min_positives] {silent} positives among {5 * silent} items" in lines
    assert len(set(lines)) > 1
    with pytest.raises(ValueError, match="verbose must be at least 0; got -1"):
        min_positives(**options, verbose=-1)
