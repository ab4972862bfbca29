"""The test of average precision: values against enumeration, edge cases, arguments."""

import math
import warnings
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import count_at_least, count_at_most, placements, sklearn_values
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import average_precision_score

from sklearn_rankinf import (
    AveragePrecision,
    Ranking,
    ap_null_distribution,
    average_precision_test,
    metric_null_distribution,
    metric_test,
    recall_at_k_test,
)
from sklearn_rankinf._significance.results import MetricTestResult

ALTERNATIVES = ("greater", "less", "two-sided")
METHODS = ("auto", "analytic", "permutation", "normal", "pearson3", "zhang_su")


def all_average_precisions(n_positives, y_score):
    """scikit-learn's average precision of every way to label the scores, sorted."""
    tie_sizes = np.unique(-np.asarray(y_score), return_counts=True)[1]
    return sklearn_values(len(y_score), n_positives, tuple(tie_sizes.tolist()))


def enumerated_pvalue(values, observed, alternative):
    greater = count_at_least(values, observed) / len(values)
    less = count_at_most(values, observed) / len(values)
    two_sided = min(1.0, 2 * min(greater, less))
    return {"greater": greater, "less": less, "two-sided": two_sided}[alternative]


@pytest.fixture(scope="module")
def random_data():
    """Labels and scores with and without ties, and all values of AP for those scores."""
    rng = np.random.default_rng(8)
    data = []
    for n_samples, n_positives, n_scores in [
        (8, 3, 99),
        (8, 3, 4),
        (9, 2, 3),
        (7, 5, 6),
        (6, 1, 2),
    ]:
        y_score = rng.integers(n_scores, size=n_samples) / 4
        y_true = rng.permutation(np.arange(n_samples) < n_positives).astype(int)
        data.append((y_true, y_score, all_average_precisions(n_positives, y_score)))
    return data


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_pvalue_equals_the_share_of_all_labelings(random_data, alternative):
    for y_true, y_score, values in random_data:
        result = average_precision_test(y_true, y_score, alternative=alternative)
        expected = enumerated_pvalue(values, average_precision_score(y_true, y_score), alternative)
        assert result.pvalue == pytest.approx(expected, rel=1e-12)
        assert result.log10_pvalue == pytest.approx(math.log10(expected), rel=1e-11, abs=1e-12)
        assert result.method == "analytic"
        assert result.alternative == alternative


@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=8),
    st.data(),
    st.sampled_from(ALTERNATIVES),
)
def test_pvalue_on_any_small_ranking(scores, data, alternative):
    n_positives = data.draw(st.integers(1, len(scores)))
    y_true = data.draw(st.permutations([1] * n_positives + [0] * (len(scores) - n_positives)))
    values = all_average_precisions(n_positives, scores)
    observed = average_precision_score(y_true, scores)
    result = average_precision_test(y_true, scores, alternative=alternative)
    assert result.pvalue == pytest.approx(
        enumerated_pvalue(values, observed, alternative), rel=1e-12
    )


def test_statistic_zscore_and_adjusted_statistic(random_data):
    for y_true, y_score, values in random_data:
        observed = average_precision_score(y_true, y_score)
        result = average_precision_test(y_true, y_score)
        assert result.statistic == pytest.approx(observed, rel=1e-12)
        zscore = (observed - values.mean()) / values.std()
        assert result.zscore == pytest.approx(zscore, rel=1e-9, abs=1e-9)
        adjusted = (observed - values.mean()) / (1 - values.mean())
        assert result.adjusted_statistic == pytest.approx(adjusted, rel=1e-9, abs=1e-9)


def test_paper_example():
    # Hits 1, 2, 4 of 8: AP = (1 + 1 + 3/4) / 3, reached by 2 of C(8, 3) = 56 placements.
    result = average_precision_test([1, 1, 0, 1, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1])
    assert result.statistic == pytest.approx(11 / 12, rel=1e-14)
    assert result.pvalue == pytest.approx(2 / 56, rel=1e-12)
    assert (result.n_samples, result.n_positives) == (8, 3)


@pytest.mark.parametrize("n_positives", [1, 4, 40])
def test_statistic_is_that_of_scikit_learn(n_positives):
    rng = np.random.default_rng(n_positives)
    for n_scores in (2, 7, 60, 10_000):
        y_score = rng.integers(n_scores, size=200)
        y_true = rng.permutation(np.arange(200) < n_positives)
        result = average_precision_test(y_true, y_score, method="normal")
        expected = average_precision_score(y_true, y_score)
        assert result.statistic == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_fields_come_from_the_null_distribution(method, alternative):
    rng = np.random.default_rng(0)
    y_true, y_score = np.arange(24) < 4, rng.normal(size=24) + 0.5 * (np.arange(24) < 4)
    result = average_precision_test(y_true, y_score, method=method, alternative=alternative)
    null = ap_null_distribution(24, 4, method=method)
    assert result.pvalue == null.pvalue(result.statistic, alternative=alternative)
    assert result.method == ("analytic" if method == "auto" else method)
    assert result.null_distribution.method == result.method
    assert result.zscore == (result.statistic - null.mean()) / null.std()
    assert result.pvalue_relative_error >= 1e-13
    assert 10**result.log10_pvalue == pytest.approx(result.pvalue, rel=1e-10)


def test_fields_are_python_numbers():
    result = average_precision_test(
        np.array([1, 0, 1, 0]), np.array([4, 3, 2, 1], dtype=np.float32)
    )
    for name in (
        "statistic",
        "pvalue",
        "log10_pvalue",
        "pvalue_relative_error",
        "zscore",
        "adjusted_statistic",
    ):
        assert type(getattr(result, name)) is float
    assert type(result.n_samples) is type(result.n_positives) is int


def test_null_distribution_has_the_ties():
    null = average_precision_test([1, 0, 0, 1], [0.2, 0.2, 0.1, 0.3]).null_distribution
    assert np.asarray(null.tie_sizes).tolist() == [1, 2, 1]
    assert (null.n_samples, null.n_positives) == (4, 2)


# Labels and arguments


@pytest.mark.parametrize(
    ("y_true", "pos_label"),
    [
        ([True, True, False, True, False, False, False, False], 1),
        (pd.Series([1, 1, -1, 1, -1, -1, -1, -1], dtype="Int64"), 1),
        (pl.Series(["t", "t", "f", "t", "f", "f", "f", "f"]), "t"),
        (pd.Series(["t", "t", "f", "t", "f", "f", "f", "f"], dtype="category"), "t"),
        (np.array([[2, 2, 5, 2, 5, 5, 5, 5]]).T, 2),
    ],
)
def test_label_types(y_true, pos_label):
    result = average_precision_test(y_true, list(range(8, 0, -1)), pos_label=pos_label)
    assert result.pvalue == pytest.approx(2 / 56, rel=1e-12)


def test_ranking_in_place_of_labels_and_scores(random_data):
    for y_true, y_score, _ in random_data:
        ranking = Ranking.from_scores(y_true, y_score)
        direct, by_ranking = (
            average_precision_test(y_true, y_score),
            average_precision_test(ranking),
        )
        for name in ("statistic", "pvalue", "log10_pvalue", "zscore", "adjusted_statistic"):
            assert getattr(by_ranking, name) == getattr(direct, name)


@pytest.mark.parametrize("normalize", ["min", "positives"])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_at_k_without_ties(k, normalize):
    n_samples, n_positives = 9, 3
    divisor = min(k, n_positives) if normalize == "min" else n_positives

    def at_k(ranks):
        return sum((i + 1) / rank for i, rank in enumerate(ranks) if rank <= k) / divisor

    ranks = (1, 4, 5)
    values = np.sort([at_k(r) for r in placements(n_samples, n_positives)])
    y_true = [int(rank in ranks) for rank in range(1, n_samples + 1)]
    result = metric_test(y_true, list(range(9, 0, -1)), metric=AveragePrecision(k, normalize))
    assert result.statistic == pytest.approx(at_k(ranks), rel=1e-12)
    assert result.pvalue == pytest.approx(
        enumerated_pvalue(values, at_k(ranks), "greater"), rel=1e-12
    )
    assert result.zscore == pytest.approx((at_k(ranks) - values.mean()) / values.std(), rel=1e-9)


def test_k_as_a_fraction_is_rounded_up():
    y_true, y_score = [1, 0, 0, 1, 1, 0, 0, 0, 0, 0], list(range(10, 0, -1))
    for fraction, k in ((0.3, 3), (0.31, 4), (0.05, 1)):
        by_fraction = metric_test(y_true, y_score, metric=AveragePrecision(fraction))
        by_count = metric_test(y_true, y_score, metric=AveragePrecision(k))
        assert by_fraction.statistic == by_count.statistic
        assert by_fraction.pvalue == by_count.pvalue


def test_k_of_all_samples_is_average_precision(random_data):
    for y_true, y_score, _ in random_data:
        whole = average_precision_test(y_true, y_score)
        at_n = metric_test(y_true, y_score, metric=AveragePrecision(len(y_true)))
        of_positives = AveragePrecision(len(y_true), "positives")
        at_n_of_positives = metric_test(y_true, y_score, metric=of_positives)
        assert at_n.statistic == pytest.approx(whole.statistic, rel=1e-12)
        assert at_n.pvalue == pytest.approx(whole.pvalue, rel=1e-12)
        assert at_n_of_positives.pvalue == pytest.approx(whole.pvalue, rel=1e-12)


def test_at_1_of_a_constant_score_is_the_prevalence():
    at_1 = metric_test([1, 0, 0, 0], [2] * 4, metric="average_precision@1")
    assert at_1.statistic == pytest.approx(1 / 4)


def test_log10_pvalue_is_finite_where_the_pvalue_underflows():
    n_samples, n_positives = 1500, 500
    ranking = Ranking.from_counts([1] * n_samples, [1] * n_positives + [0] * 1000)
    result = average_precision_test(ranking)
    assert result.statistic == pytest.approx(1.0, abs=1e-12)
    assert result.pvalue == 0.0
    # 1 / C(1500, 500), an integer of 414 digits
    expected = -math.log10(math.comb(n_samples, n_positives))
    assert expected < -400
    assert result.log10_pvalue == pytest.approx(expected, rel=1e-6)
    assert repr(result).startswith("MetricTestResult(metric=AveragePrecision(), statistic=1, ")


def test_two_sided_is_twice_the_smaller_side_at_most_one():
    rng = np.random.default_rng(1)
    y_score = rng.normal(size=25)
    seen = set()
    for _ in range(8):
        y_true = rng.permutation(np.arange(25) < 4)
        greater, less, both = (
            average_precision_test(y_true, y_score, alternative=alternative).pvalue
            for alternative in ALTERNATIVES
        )
        assert both == pytest.approx(min(1.0, 2 * min(greater, less)), rel=1e-12)
        assert greater + less >= 1.0
        seen.add(greater < less)
    assert seen == {True, False}


# Permutations


def test_permutation_pvalue_agrees_with_the_exact_one():
    ranking = Ranking.from_counts([1] * 30, [0, 1, 1] + [0] * 9 + [1] + [0] * 16 + [1])
    exact = average_precision_test(ranking).pvalue
    result = average_precision_test(ranking, method="permutation", n_resamples=4999)
    assert result.method == "permutation"
    standard_error = math.sqrt(exact * (1 - exact) / 5000)
    assert abs(result.pvalue - exact) < 4 * standard_error
    # p = (b + 1) / (B + 1): a multiple of 1 / 5000, never 0
    assert result.pvalue * 5000 == pytest.approx(round(result.pvalue * 5000), abs=1e-6)
    relative = math.sqrt((1 - exact) / exact / 5000)
    assert result.pvalue_relative_error == pytest.approx(relative, rel=0.25)


def test_smallest_permutation_pvalue():
    ranking = Ranking.from_counts([1] * 60, [1] * 10 + [0] * 50)
    result = average_precision_test(ranking, method="permutation", n_resamples=99)
    assert result.pvalue == pytest.approx(1 / 100, rel=1e-12)


def test_random_state_decides_the_permutations():
    ranking = Ranking.from_counts([1] * 40, [1, 0, 0, 1, 0, 1] + [0] * 34)

    def pvalue(random_state, **options):
        return average_precision_test(
            ranking,
            method="permutation",
            n_resamples=299,
            random_state=random_state,
            **options,
        ).pvalue

    assert pvalue(3) == pvalue(3) == pvalue(3, n_jobs=2)
    assert len({pvalue(seed) for seed in range(6)}) > 1
    assert pvalue(np.random.RandomState(3)) == pvalue(np.random.RandomState(3))
    assert pvalue(np.random.default_rng(3)) == pvalue(np.random.default_rng(3))
    assert 0 < pvalue(None) <= 1


# Rankings that cannot be tested


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_no_positives(method, alternative):
    with pytest.warns(
        UndefinedMetricWarning, match=r"without positives in y_true and is set to 0\.0"
    ):
        result = average_precision_test(
            [0, 0, 0, 0], [0.1, 0.2, 0.4, 0.3], method=method, alternative=alternative
        )
    assert (result.statistic, result.pvalue, result.log10_pvalue) == (0.0, 1.0, 0.0)
    assert math.isnan(result.zscore)
    assert math.isnan(result.adjusted_statistic)
    assert result.n_positives == 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_only_positives(method, alternative):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = average_precision_test(
            [1, 1, 1, 1], [0.1, 0.2, 0.4, 0.3], method=method, alternative=alternative
        )
    assert result.statistic == pytest.approx(1.0, rel=1e-14)
    assert (result.pvalue, result.log10_pvalue) == (1.0, 0.0)
    assert math.isnan(result.zscore)
    assert math.isnan(result.adjusted_statistic)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "zhang_su"])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("n_samples", "n_positives"), [(5, 2), (7, 3), (49, 11)])
def test_constant_score(method, alternative, n_samples, n_positives):
    y_true = np.arange(n_samples) < n_positives
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = average_precision_test(
            y_true, np.full(n_samples, 0.5), method=method, alternative=alternative
        )
    assert result.statistic == pytest.approx(n_positives / n_samples, rel=1e-14)
    assert (result.pvalue, result.log10_pvalue) == (1.0, 0.0)
    assert math.isnan(result.zscore)
    assert result.adjusted_statistic == 0.0


@pytest.mark.parametrize(("label", "statistic"), [(1, 1.0), (0, 0.0)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_single_sample(label, statistic):
    result = average_precision_test([label], [0.5])
    assert (result.statistic, result.pvalue) == (statistic, 1.0)
    assert math.isnan(result.zscore)
    assert math.isnan(result.adjusted_statistic)


def test_single_class_at_k():
    result = metric_test([1] * 4, [4, 3, 2, 1], metric="average_precision@2")
    assert (result.statistic, result.pvalue) == (pytest.approx(1.0), 1.0)
    result = metric_test([1] * 4, [4, 3, 2, 1], metric=AveragePrecision(2, "positives"))
    assert (result.statistic, result.pvalue) == (pytest.approx(0.5), 1.0)
    assert math.isnan(result.adjusted_statistic)


# The result object


def test_repr():
    result = average_precision_test([1, 1, 0, 1, 0, 0, 0, 0], list(range(8, 0, -1)))
    assert repr(result) == (
        "MetricTestResult(metric=AveragePrecision(), statistic=0.9167, chance=0.5284, "
        "pvalue=0.03571, zscore=2.187, n_samples=8, n_positives=3, alternative='greater', "
        "method='analytic')"
    )


def test_result_is_frozen_and_compared_by_identity():
    result, other = (average_precision_test([1, 0, 0], [3, 2, 1]) for _ in range(2))
    assert isinstance(result, MetricTestResult)
    assert result != other
    with pytest.raises(FrozenInstanceError):
        result.pvalue = 0.0


# Wrong arguments

Y_TRUE, Y_SCORE = [0, 1, 0, 1], [0.1, 0.4, 0.3, 0.2]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"alternative": "more"}, ValueError, r"alternative must be .*; got 'more'"),
        ({"method": "guess"}, ValueError, r"method.*'guess'"),
        ({"n_resamples": 0, "method": "permutation"}, ValueError, r"n_resamples.*0"),
        ({"random_state": "seed"}, ValueError, r"seed"),
        ({"pos_label": 2}, ValueError, r"pos_label=2 is not a label of y_true"),
    ],
)
def test_wrong_options(options, error, message):
    with pytest.raises(error, match=message):
        average_precision_test(Y_TRUE, Y_SCORE, **options)


@pytest.mark.parametrize(
    ("cut_off", "message"),
    [
        ({"normalize": "max"}, r"normalize.*'max'"),
        ({"k": 0}, r"k.*0"),
        ({"k": 5}, r"k.*5"),
        ({"k": 1.5}, r"k.*1\.5"),
        ({"k": "3"}, r"k.*'3'"),
    ],
)
def test_wrong_cut_offs(cut_off, message):
    with pytest.raises((TypeError, ValueError), match=message):
        metric_test(Y_TRUE, Y_SCORE, metric=AveragePrecision(**cut_off))


def test_zhang_su_needs_the_whole_ranking():
    with pytest.raises(ValueError, match="'zhang_su' is an approximation for average"):
        metric_test(Y_TRUE, Y_SCORE, metric="average_precision@2", method="zhang_su")


def test_wrong_data():
    with pytest.raises(TypeError, match=r"y_score is missing"):
        average_precision_test(Y_TRUE)
    with pytest.raises(TypeError, match=r"y_score must be left out"):
        average_precision_test(Ranking.from_scores(Y_TRUE, Y_SCORE), Y_SCORE)
    with pytest.raises(ValueError, match=r"got 4 labels and 3 scores"):
        average_precision_test(Y_TRUE, Y_SCORE[:3])


def test_options_are_keyword_only():
    with pytest.raises(TypeError, match="positional"):
        average_precision_test(Y_TRUE, Y_SCORE, 2)


# Rankings that are worse than chance

HINT = "\nworse than chance: is the direction of the score reversed?"


def test_hint_at_a_reversed_score():
    rng = np.random.default_rng(0)
    y_true = np.arange(120) < 15
    y_score = rng.normal(size=120) - 1.5 * y_true
    tests = {
        "ap": lambda **options: average_precision_test(y_true, y_score, **options),
        "auc": lambda **options: metric_test(y_true, y_score, **options, metric="roc_auc"),
        "recall": lambda **options: recall_at_k_test(y_true, y_score, k=40, **options),
        "map": lambda **options: average_precision_test(
            y_true, y_score, groups=[0] * 120, **options
        ),
        "permutation": lambda **options: average_precision_test(
            y_true, y_score, strata=[0] * 120, **options
        ),
    }
    for test in tests.values():
        result = test()
        assert np.all(np.asarray(result.pvalue) >= 0.999)
        hint = HINT
        if test is tests["map"]:
            hint = f"{HINT[:-1]}, or are other items missing that were not retrieved (align_runs)?"
        assert repr(result).endswith(hint)
        for alternative in ("less", "two-sided"):
            assert HINT[:-1] not in repr(test(alternative=alternative))
    assert HINT not in repr(average_precision_test(y_true, -y_score))
    assert HINT[:-1] not in repr(average_precision_test(y_true, -y_score, groups=[0] * 120))
    # A p-value of 1 is no sign of a reversed score where there is nothing to rank.
    assert HINT not in repr(average_precision_test(y_true, np.zeros(120)))
    assert HINT not in repr(average_precision_test(y_true, rng.normal(size=120)))


# Two-sided logarithms


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_two_sided_logarithms_in_far_tails(side):
    # The number of hits at k has hypergeometric tails, which are ratios of integers. The smaller
    # one-sided tail counts, and twice of it.
    n, m, k = 4000, 400, 400
    total = math.comb(n, k)
    table = [math.comb(m, h) * math.comb(n - m, k - h) for h in range(k + 1)]
    null = metric_null_distribution(n, m, metric=f"recall@{k}")
    for hits in (150, 300, 400) if side == "upper" else (0, 1, 4):
        tail = sum(table[hits:]) if side == "upper" else sum(table[: hits + 1])
        exact = math.log(2 * tail) - math.log(total)
        assert exact < -30.0
        found = null.log_pvalue(hits / m, alternative="two-sided")
        assert found == pytest.approx(exact, rel=1e-11)
        one_sided = null.log_pvalue(hits / m, alternative="greater" if side == "upper" else "less")
        assert found == pytest.approx(one_sided + math.log(2.0), rel=1e-11)


def test_two_sided_logarithms_of_average_precision():
    # A perfect ranking is one of all placements, and so is the worst.
    n, m = 300, 150
    null = ap_null_distribution(n, m)
    exact = math.log(2) - math.log(math.comb(n, m))
    assert null.log_pvalue(1.0, "two-sided") == pytest.approx(exact, rel=1e-9)
    assert null.pvalue(1.0, "two-sided") == pytest.approx(2 / math.comb(n, m), rel=1e-6)
    result = average_precision_test(np.arange(n) < m, -np.arange(float(n)), alternative="two-sided")
    assert result.log10_pvalue == pytest.approx(exact / math.log(10.0), rel=1e-9)
    small = ap_null_distribution(12, 5)
    worst = math.fsum((i + 1) / (7 + i + 1) for i in range(5)) / 5
    expected = math.log(2) - math.log(math.comb(12, 5))
    assert small.log_pvalue(worst, "two-sided") == pytest.approx(expected, rel=1e-12)
    assert small.log_pvalue(1.0, "two-sided") == pytest.approx(expected, rel=1e-12)


def test_two_sided_logarithm_of_resamples():
    rng = np.random.default_rng(2)
    y_true = np.arange(100) < 10
    for sign in (-1.0, 1.0):
        y_score = rng.normal(size=100) + sign * 9.0 * y_true
        result = metric_test(
            y_true,
            y_score,
            alternative="two-sided",
            strata=[0] * 100,
            n_resamples=999,
            metric="roc_auc",
        )
        # No random labelling is as extreme: (0 + 1) / (999 + 1), twice.
        assert result.pvalue == pytest.approx(0.002, rel=1e-12)
        assert result.log10_pvalue == pytest.approx(math.log10(0.002), rel=1e-12)
        null = result.null_distribution
        found = null.log_pvalue(result.statistic, alternative="two-sided")
        assert found == pytest.approx(math.log(0.002), rel=1e-12)
