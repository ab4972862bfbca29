"""Intervals and comparisons of averages over classes."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import average_precision_score, roc_auc_score

from sklearn_rankinf import (
    AveragePrecision,
    RocAuc,
    metric_comparison_test,
    metric_interval,
    metric_multiple_comparison_test,
)
from sklearn_rankinf._estimation.limits import mover_average_limits, mover_limits

N, K = 150, 3
METRICS = ["average_precision", "roc_auc", "recall", "bedroc"]
# Intervals of BEDROC are simulated.
QUICK = METRICS[:3]


def sample(kind="no ties", seed=0):
    """Labels of three classes, and a column of scores for each."""
    rng = np.random.default_rng(seed)
    y_true = np.repeat(np.arange(K), [100, 35, 15])
    y_score = rng.normal(size=(N, K)) + 0.5 * rng.normal(size=(N, 1))
    y_score[np.arange(N), y_true] += 1.5
    return y_true, np.round(y_score) if kind == "levels" else y_score


@pytest.mark.parametrize("kind", ["no ties", "levels"])
@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_values_are_those_of_scikit_learn(kind, average):
    y_true, y_score = sample(kind)
    indicators = np.eye(K)[y_true]
    for metric, function in (
        (AveragePrecision(), average_precision_score),
        (RocAuc(), roc_auc_score),
    ):
        expected = function(indicators, y_score, average=average)
        for labels in (y_true, indicators, np.array(list("abc"))[y_true]):
            found = metric_interval(labels, y_score, metric=metric.averaged(average))
            assert found.statistic == pytest.approx(expected, rel=1e-12)
            assert found.low < found.statistic < found.high
            assert (found.n_samples, found.n_positives) == (N, N)


def placements(positive, score):
    """DeLong's components of the area of one class, pair by pair, centred in each class."""
    wins = np.sign(score[positive][:, None] - score[~positive]) / 2.0 + 0.5
    found = np.empty(positive.size)
    for members, own in ((positive, wins.mean(axis=1)), (~positive, wins.mean(axis=0))):
        m = own.size
        found[members] = (own - own.mean()) / m * np.sqrt(m / (m - 1))
    return found


@pytest.mark.parametrize("kind", ["no ties", "levels"])
@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_errors_of_the_area_are_sums_of_placements(kind, average):
    y_true, y_score = sample(kind)
    shares = np.bincount(y_true) / N if average == "weighted" else np.full(K, 1 / K)
    errors = sum(
        share * placements(y_true == label, y_score[:, label]) for label, share in enumerate(shares)
    )
    found = metric_interval(y_true, y_score, metric=RocAuc().averaged(average))
    assert found.standard_error == pytest.approx(np.sqrt(errors @ errors), rel=1e-10)
    # Samples of one cluster are added.
    clusters = np.arange(N) % 50
    clustered = metric_interval(
        y_true, y_score, metric=RocAuc().averaged(average), clusters=clusters
    )
    assert clustered.standard_error != pytest.approx(found.standard_error, rel=1e-3)


@pytest.mark.parametrize("metric", METRICS)
def test_equal_classes_have_the_interval_of_one(metric):
    y_true, y_score = sample()
    positive, score = y_true == 1, y_score[:, 1]
    cut_off = "@0.1" if metric == "recall" else ""
    one = metric_interval(positive, score, metric=metric + cut_off)
    three = metric_interval(
        np.column_stack([positive] * 3),
        np.column_stack([score] * 3),
        metric=metric + "_macro" + cut_off,
    )
    assert_allclose([three.statistic, three.low, three.high], [one.statistic, one.low, one.high])
    assert three.standard_error == pytest.approx(one.standard_error)
    assert three.method == one.method
    assert three.summary().startswith(f"Macro average of {one.metric.title_in_text} was ")


@pytest.mark.parametrize("rho", [-0.9, -0.3, 0.0, 0.5, 1.0])
def test_the_mean_of_two_is_half_the_difference_from_the_negative(rho):
    values, lows, highs = np.array([0.4, 0.7]), np.array([0.1, 0.65]), np.array([0.5, 0.9])
    correlation = np.array([[1.0, rho], [rho, 1.0]])
    found = mover_average_limits(values, lows, highs, np.full(2, 0.5), correlation)
    a, b = zip(values, lows, highs, strict=True)
    expected = mover_limits(*a, -b[0], -b[2], -b[1], -rho)
    assert_allclose(found, np.array(expected) / 2.0, rtol=1e-12)


def test_independent_classes_have_a_shorter_interval_than_each():
    y_true, y_score = sample()
    average = metric_interval(y_true, y_score, metric="average_precision_macro")
    each = metric_interval(y_true, y_score).values()
    assert average.high - average.low < np.mean([one.high - one.low for one in each])


# Comparisons.


def rankers(seed=1):
    rng = np.random.default_rng(seed)
    _, y_score = sample()
    return {"a": y_score, "b": y_score + rng.normal(size=(N, K)), "c": rng.normal(size=(N, K))}


@pytest.mark.parametrize("metric", QUICK)
def test_comparisons_have_the_values_and_errors_of_intervals(metric):
    y_true, _ = sample()
    name = metric + "_macro" + ("@0.1" if metric == "recall" else "")
    tables = rankers()
    found = metric_multiple_comparison_test(y_true, tables, metric=name)
    for number, table in enumerate(tables.values()):
        one = metric_interval(y_true, table, metric=name)
        assert found.statistic[number] == pytest.approx(one.statistic, rel=1e-12)
        assert found.statistic_standard_error[number] == pytest.approx(one.standard_error)
    assert found.names == ["a", "b", "c"]
    assert np.all((found.pvalue <= 0.05) == ((found.low > 0) | (found.high < 0)))
    frames = {name: pd.DataFrame(table) for name, table in tables.items()}
    again = metric_multiple_comparison_test(y_true, frames, metric=name)
    assert_allclose(again.pvalue, found.pvalue)


@pytest.mark.parametrize("metric", ["average_precision", "roc_auc", "bedroc"])
def test_comparisons_of_equal_classes_are_those_of_one(metric):
    y_true, _ = sample()
    positive = y_true == 1
    single = {name: table[:, 1] for name, table in rankers().items()}
    threefold = {name: np.column_stack([score] * 3) for name, score in single.items()}
    one = metric_multiple_comparison_test(positive, single, metric=metric)
    three = metric_multiple_comparison_test(
        np.column_stack([positive] * 3), threefold, metric=metric + "_macro"
    )
    assert_allclose(three.statistic, one.statistic, rtol=1e-12)
    assert_allclose(three.standard_error, one.standard_error, rtol=1e-8)
    # Three classes have three times the degrees of freedom, which are approximate.
    assert_allclose(three.difference, one.difference, rtol=1e-10)
    assert np.all(np.abs(three.pvalue - one.pvalue) < 0.03)


def two(rankers):
    return {name: rankers[name] for name in "ab"}


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_all_swaps_of_few_items_are_those_of_scikit_learn(average):
    """Swaps exchange the ranks of an item in all classes at once."""
    rng = np.random.default_rng(3)
    y_true = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    n, indicators = y_true.size, np.eye(K)[y_true]
    tables = {name: rng.normal(size=(n, K)) for name in "ab"}
    ranks = [np.argsort(np.argsort(table, axis=0), axis=0) for table in tables.values()]

    def value(table):
        """Mean over orders of tied items, which is what ROC AUC counts for a tie."""
        return roc_auc_score(indicators, table, average=average)

    differences = []
    for number in range(2**n):
        swapped = ((number >> np.arange(n)) & 1).astype(bool)[:, None]
        one, other = np.where(swapped, ranks[1], ranks[0]), np.where(swapped, ranks[0], ranks[1])
        differences.append(value(one) - value(other))
    expected = np.mean(np.abs(differences) >= abs(differences[0]) - 1e-9)
    found = metric_comparison_test(y_true, tables, metric=f"roc_auc_{average}")
    assert found.difference == pytest.approx(differences[0], abs=1e-12)
    assert found.pvalue == pytest.approx(expected, rel=1e-12)
    assert (found.method, found.n_resamples, found.n_positives) == ("swap", 2**n, n)


@pytest.mark.parametrize("method", ["swap", "score_swap", "influence"])
@pytest.mark.parametrize("metric", QUICK)
def test_comparisons_of_two_with_equal_classes_are_those_of_one(metric, method):
    y_true, _ = sample()
    positive, cut_off = y_true == 1, "@0.1" if metric == "recall" else ""
    single = {name: table[:, 1] for name, table in two(rankers()).items()}
    threefold = {name: np.column_stack([score] * 3) for name, score in single.items()}
    options = {"method": method, "n_resamples": 99}
    one = metric_comparison_test(positive, single, metric=metric + cut_off, **options)
    three = metric_comparison_test(
        np.column_stack([positive] * 3), threefold, metric=f"{metric}_macro{cut_off}", **options
    )
    assert three.difference == pytest.approx(one.difference, rel=1e-12)
    assert three.standard_error == pytest.approx(one.standard_error, rel=1e-9)
    assert_allclose(three.confidence_interval(), one.confidence_interval(), rtol=1e-9)
    # Three classes have three times the degrees of freedom, which are approximate.
    assert three.pvalue == pytest.approx(one.pvalue, abs=0.03 if method == "influence" else 1e-12)


def test_the_difference_of_two_is_that_of_several():
    y_true, _ = sample()
    pair = two(rankers())
    one = metric_comparison_test(y_true, pair, metric="roc_auc_macro", method="influence")
    many = metric_multiple_comparison_test(y_true, pair, metric="roc_auc_macro")
    assert one.difference == pytest.approx(many.difference[0], rel=1e-12)
    assert one.standard_error == pytest.approx(many.standard_error[0], rel=1e-12)
    low, high = one.confidence_interval()
    assert low < one.difference < high
    assert one.summary().startswith("Macro average of ROC AUC was ")
    assert one.verdict(margin=0.5).outcome == "pass"
    with pytest.raises(ValueError, match="prevalence is that of one class"):
        metric_comparison_test(y_true, pair, metric="average_precision_macro", prevalence=0.1)
    with pytest.raises(ValueError, match="method must be one of 'auto', 'swap', 'score_swap', "):
        metric_comparison_test(y_true, pair, metric="roc_auc_macro", method="delong")


@pytest.mark.parametrize(
    ("given", "options", "error", "message"),
    [
        ({}, {"metric": "roc_auc_micro"}, ValueError, "ranks the items of all classes in one"),
        ({"y_true": np.repeat([0, 1, 2, 3], [149, 1, 0, 0])}, {}, ValueError, "Ranker 'a'"),
        ({"y_score": rankers()["a"]}, {}, TypeError, "y_score must be a dict with an array of"),
        ({"y_true": np.arange(N) % 2}, {}, ValueError, "Ranker 'a': y_true holds 2 classes"),
        ({}, {"groups": np.arange(N) % 5}, ValueError, "is an average over classes"),
    ],
)
def test_what_comparisons_refuse(given, options, error, message):
    y_true, _ = sample()
    arguments = {"y_true": y_true, "y_score": rankers(), "metric": "roc_auc_macro"}
    with pytest.raises(error, match=message):
        metric_multiple_comparison_test(**{**arguments, **given, **options})


def test_intervals_refuse_the_average_of_all_in_one_list():
    with pytest.raises(ValueError, match=r"ranks the items of all classes in one list.*'macro'"):
        metric_interval(*sample(), metric="average_precision_micro")
    with pytest.raises(ValueError, match="is an average over classes, which a single class"):
        metric_interval(*sample(), metric="average_precision_macro", groups=np.arange(N) % 3)


def test_the_order_of_rankers_does_not_matter():
    """Degrees of freedom differ between rankers; the smallest count."""
    y_true, _ = sample()
    a, b = rankers()["a"], rankers()["c"]
    one = metric_multiple_comparison_test(y_true, {"a": a, "b": b}, metric="roc_auc_macro")
    other = metric_multiple_comparison_test(y_true, {"b": b, "a": a}, metric="roc_auc_macro")
    assert one.pvalue[0] == pytest.approx(other.pvalue[0], rel=1e-6)
    assert one.low[0] == pytest.approx(-other.high[0], rel=1e-6)


def test_columns_in_another_order_are_refused():
    y_true, y_score = sample()
    names = np.array(["x", "y", "z"])[y_true]
    frame = pd.DataFrame(y_score, columns=["x", "y", "z"])
    expected = metric_interval(names, y_score, metric="roc_auc_macro").statistic
    assert metric_interval(names, frame, metric="roc_auc_macro").statistic == expected
    with pytest.raises(ValueError, match="in another order, z, y, x in place of x, y, z"):
        metric_interval(names, frame[["z", "y", "x"]], metric="roc_auc_macro")
