"""Average precision with weights and over classes: values, null distributions, messages."""

import itertools
import math
import pickle
import tracemalloc
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import checkered
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.sparse import csr_array
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import label_binarize

from sklearn_rankinf import AveragePrecision, Ranking, average_precision_test, metric_test
from sklearn_rankinf._model_selection.scorers import significance_score
from sklearn_rankinf._permutation.designs import _rank_test

AVERAGES = ("macro", "weighted", "micro")
# What the weights stay with, and the method.
FOLLOW = {"label": "permutation", "score": "permutation_of_labels"}
ALTERNATIVES = ("greater", "less")


# Slow definitions


def slow_average_precision(y_true, y_score, weights):
    """Weighted AP from its definition: each threshold's precision by the weight of its hits."""
    total = sum(w for y, w in zip(y_true, weights, strict=True) if y)
    gained = 0.0
    for threshold in sorted(set(y_score)):
        hits = sum(
            w for y, s, w in zip(y_true, y_score, weights, strict=True) if y and s >= threshold
        )
        all_ = sum(w for s, w in zip(y_score, weights, strict=True) if s >= threshold)
        at_threshold = sum(
            w for y, s, w in zip(y_true, y_score, weights, strict=True) if y and s == threshold
        )
        gained += at_threshold * hits / all_ if all_ > 0 else 0.0
    return gained / total if total > 0 else 0.0


def slow_average(labels, scores, weights, average):
    """Average over classes from its definition."""
    labels, scores, weights = np.asarray(labels), np.asarray(scores), np.asarray(weights, float)
    n_classes = labels.shape[1]
    if average == "micro":
        return slow_average_precision(
            labels.ravel().tolist(), scores.ravel().tolist(), np.repeat(weights, n_classes).tolist()
        )
    values = [
        slow_average_precision(y.tolist(), s.tolist(), weights.tolist())
        for y, s in zip(labels.T, scores.T, strict=True)
    ]
    if average == "macro":
        return sum(values) / n_classes
    masses = weights @ labels
    return float(values @ masses / masses.sum()) if masses.sum() > 0 else 0.0


def all_permuted(labels, scores, weights, follow, average):
    """Statistic of every permutation of the rows of labels, sorted."""
    tables = Counter()  # orders of rows with the same labels make the same table
    for order in map(list, itertools.permutations(range(len(labels)))):
        moved = weights[order] if follow == "label" else weights
        tables[tuple(map(tuple, labels[order].tolist())), tuple(moved.tolist())] += 1
    values = [slow_average(rows, scores, moved, average) for rows, moved in tables]
    return np.sort(np.repeat(values, list(tables.values())))


def enumerated_tail(values, x, alternative):
    if alternative == "greater":
        return np.array([np.mean(values >= t - 1e-12 * abs(t)) for t in x])
    return np.array([np.mean(values <= t + 1e-12 * abs(t)) for t in x])


def assert_same_distribution(null, values, n_resamples):
    """The resamples agree with all permutations, within Monte Carlo error."""
    x = np.unique(np.round(values, 10))[:: max(1, values.size // 60)]
    for alternative in ALTERNATIVES:
        # Halfway between values, so that rounding decides nothing.
        t = x - 1e-9 if alternative == "greater" else x + 1e-9
        tail = enumerated_tail(values, t, alternative)
        error = np.sqrt(tail * (1 - tail) / n_resamples)
        assert np.all(np.abs(null.pvalue(t, alternative) - tail) <= 4.5 * error + 2 / n_resamples)


def quiet_test(*args, **options):
    """The test, without the warnings that are of no interest here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return average_precision_test(*args, **options)


def sklearn_value(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return average_precision_score(*args, **options)


def random_weights(rng, y_true, kind):
    n_samples = len(y_true)
    return {
        "any": rng.random(n_samples) + 0.01,
        "zeros": rng.choice([0.0, 0.5, 1.0, 2.5], size=n_samples) + np.eye(n_samples)[0],
        "classes": np.where(np.asarray(y_true).astype(bool), 4.0, 1.0),
        "positives differ": np.where(y_true, 1 + rng.random(n_samples), 0.7),
        "negatives weigh nothing": np.where(y_true, 1 + rng.random(n_samples), 0.0),
    }[kind]


KINDS = ("any", "zeros", "classes", "positives differ", "negatives weigh nothing")


# The statistic is scikit-learn's


def test_slow_definition_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    for _ in range(30):
        labels = rng.integers(2, size=(9, 3))
        scores = rng.integers(5, size=(9, 3)) / 4
        weights = random_weights(rng, labels[:, 0], "zeros")
        for average in AVERAGES:
            expected = sklearn_value(labels, scores, average=average, sample_weight=weights)
            assert slow_average(labels, scores, weights, average) == pytest.approx(
                expected, rel=1e-12, abs=1e-15
            )


@pytest.mark.parametrize("kind", KINDS)
def test_weighted_statistic_is_that_of_scikit_learn(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    for n_scores, follow in itertools.product((2, 6, 10_000), (*FOLLOW, *FOLLOW, *FOLLOW)):
        n_samples = int(rng.integers(6, 60))
        y_true = (rng.permutation(n_samples) < rng.integers(2, n_samples)).astype(int)
        y_score = rng.integers(n_scores, size=n_samples) / 7
        weights = random_weights(rng, y_true, kind)
        result = quiet_test(
            y_true, y_score, sample_weight=weights, method=FOLLOW[follow], n_resamples=1
        )
        expected = sklearn_value(y_true, y_score, sample_weight=weights)
        assert result.statistic == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("average", [None, *AVERAGES])
@pytest.mark.parametrize("weighted", [False, True])
def test_statistic_over_classes_is_that_of_scikit_learn(average, weighted):
    rng = np.random.default_rng(1)
    for n_scores, follow in itertools.product((3, 8, 10_000), FOLLOW):
        n_samples, n_classes = int(rng.integers(6, 40)), int(rng.integers(3, 6))
        scores = rng.integers(n_scores, size=(n_samples, n_classes)) / 7
        several = np.r_[np.arange(n_classes), rng.integers(n_classes, size=n_samples - n_classes)]
        for y_true in (several, rng.integers(2, size=(n_samples, n_classes))):
            weights = random_weights(rng, several, "zeros") if weighted else None
            options = {"average": average, "sample_weight": weights}
            result = quiet_test(
                y_true,
                scores,
                **options,
                method=FOLLOW[follow] if weighted else "permutation",
                n_resamples=1,
            )
            expected = sklearn_value(y_true, scores, **options)
            found = (
                [one.statistic for one in result.values()] if average is None else result.statistic
            )
            assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


# The distribution is that of all permutations


@pytest.mark.parametrize("follow", FOLLOW)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_scores", [3, 1000])
def test_weighted_distribution_is_that_of_all_permutations(follow, kind, n_scores):
    rng = np.random.default_rng(KINDS.index(kind) + n_scores)
    y_true = np.array([1, 0, 1, 0, 0, 1])
    y_score = rng.integers(n_scores, size=6)
    weights = random_weights(rng, y_true, kind)
    n_resamples = 9999
    result = quiet_test(
        y_true, y_score, sample_weight=weights, method=FOLLOW[follow], n_resamples=n_resamples
    )
    assert result.method == FOLLOW[follow]
    assert result.null_distribution.method == "permutation"
    values = all_permuted(y_true[:, None], y_score[:, None], weights, follow, "macro")
    assert_same_distribution(result.null_distribution, values, n_resamples)
    assert result.null_distribution.mean() == pytest.approx(
        values.mean(), abs=4.5 * values.std() / math.sqrt(n_resamples) + 1e-12
    )
    assert result.null_distribution.std() == pytest.approx(values.std(), rel=0.05, abs=1e-12)


def test_pvalue_of_five_weighted_samples_by_scikit_learn():
    y_true, weights = np.array([1, 1, 0, 1, 0]), np.array([2.0, 0.5, 1, 3, 1.5])
    y_score = np.array([6.0, 5, 5, 3, 2])
    observed = average_precision_score(y_true, y_score, sample_weight=weights)
    for follow in FOLLOW:
        values = []
        for order in map(list, itertools.permutations(range(5))):
            moved = weights[order] if follow == "label" else weights
            values.append(average_precision_score(y_true[order], y_score, sample_weight=moved))
        expected = np.mean(np.array(values) >= observed * (1 - 1e-12))
        result = average_precision_test(
            y_true, y_score, sample_weight=weights, method=FOLLOW[follow], n_resamples=9999
        )
        error = math.sqrt(expected * (1 - expected) / 9999)
        assert abs(result.pvalue - expected) < 4.5 * error + 1e-4


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("follow", [None, *FOLLOW])
@pytest.mark.parametrize("multilabel", [False, True])
def test_distribution_of_an_average_is_that_of_all_permutations(average, follow, multilabel):
    rng = np.random.default_rng(2)
    labels = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [1, 0, 0]])
    if multilabel:
        labels[:, 0] = [1, 1, 0, 0, 1, 0]
        labels[1, 2] = 1
    scores = rng.integers(5, size=(6, 3)) / 4
    weights = None if follow is None else random_weights(rng, labels[:, 0], "any")
    n_resamples = 9999
    result = average_precision_test(
        labels if multilabel else labels.argmax(axis=1),
        scores,
        average=average,
        sample_weight=weights,
        method=FOLLOW.get(follow, "auto"),
        n_resamples=n_resamples,
    )
    values = all_permuted(
        labels, scores, np.ones(6) if weights is None else weights, follow, average
    )
    null = result.null_distribution
    assert_same_distribution(null, values, n_resamples)
    # The mean over classes without weights is exact.
    exact = follow is None and average != "micro"
    tolerance = 1e-12 if exact else 4.5 * values.std() / math.sqrt(n_resamples)
    assert null.mean() == pytest.approx(values.mean(), abs=tolerance)
    assert result.zscore == (result.statistic - null.mean()) / null.std()
    assert result.adjusted_statistic == pytest.approx(
        (result.statistic - null.mean()) / (1 - null.mean()), rel=1e-12
    )


@pytest.mark.parametrize("average", ["macro", "weighted"])
@pytest.mark.parametrize("normalize", ["min", "positives"])
def test_averages_at_k(average, normalize):
    rng = np.random.default_rng(3)
    y_true, k = np.array([0, 0, 0, 1, 1, 2, 0]), 2
    scores = rng.permuted(np.tile(np.arange(7.0), (3, 1)), axis=1).T
    labels = label_binarize(y_true, classes=[0, 1, 2])

    def at_k(labels):
        values, best = [], []
        for y, s in zip(labels.T, scores.T, strict=True):
            m = y.sum()
            found = y[np.argsort(-s)][:k]
            divisor = min(m, k) if normalize == "min" else m
            values.append(np.sum(found * np.cumsum(found) / np.arange(1, k + 1)) / divisor)
            best.append(min(m, k) / divisor)
        share = labels.sum(axis=0) if average == "weighted" else np.ones(3)
        return np.array([values, best]) @ share / share.sum()

    metric = AveragePrecision(k, normalize)
    result = metric_test(y_true, scores, metric=metric.averaged(average))
    observed, best = at_k(labels)
    assert result.statistic == pytest.approx(observed, rel=1e-12)
    # Each labelling comes from as many orders of the rows.
    orders = set(itertools.permutations(y_true.tolist()))
    values = np.array([at_k(label_binarize(order, classes=[0, 1, 2]))[0] for order in orders])
    null = result.null_distribution
    assert null.mean() == pytest.approx(values.mean(), abs=4.5 * values.std() / math.sqrt(720))
    expected = (observed - null.mean()) / (best - null.mean())
    assert result.adjusted_statistic == pytest.approx(expected, rel=1e-12)
    # Each class by itself: an exact test.
    each = metric_test(y_true, scores, metric=metric)
    for column in range(3):
        one = metric_test(labels[:, column], scores[:, column], metric=metric)
        assert each[column].pvalue == one.pvalue


# One test a class


def class_data(n_samples=90, n_classes=3, seed=4):
    rng = np.random.default_rng(seed)
    y_true = rng.permutation(np.arange(n_samples) % n_classes)
    scores = rng.integers(-8, 9, size=(n_samples, n_classes)) / 4 + np.eye(n_classes)[y_true]
    return y_true, scores, rng.random(n_samples)


FIELDS = (
    "statistic pvalue log10_pvalue pvalue_relative_error pvalue_low pvalue_high pvalue_is_bound "
    "zscore adjusted_statistic n_positives"
).split()


@pytest.mark.numeric
@pytest.mark.parametrize(("weighted", "multilabel"), checkered([False, True], [False, True]))
def test_each_class_is_tested_as_by_itself(weighted, multilabel):
    y_true, scores, weights = class_data()
    labels = label_binarize(y_true, classes=[0, 1, 2])
    if multilabel:
        labels[:10, 1] = 1
    options = {"sample_weight": weights, "n_resamples": 199} if weighted else {}
    result = average_precision_test(labels if multilabel else y_true, scores, **options)
    for column in range(3):
        one = average_precision_test(labels[:, column], scores[:, column], **options)
        null = result[column].null_distribution
        assert null.pvalue(0.5) == one.null_distribution.pvalue(0.5)
        assert one.method == ("permutation" if weighted else "analytic")
        assert result[column].to_dict() == one.to_dict()


def test_labels_of_any_type_in_sorted_order():
    y_true, scores, _ = class_data()
    expected = average_precision_test(y_true, scores, average="macro", n_resamples=99)
    names = np.array(["ant", "bee", "cow"])[y_true]
    for labels, table in (
        (names, scores),
        (names.astype(object), scores.tolist()),
        (pd.Series(names, dtype="category"), pd.DataFrame(scores)),
        (pl.Series(names), pl.DataFrame(scores)),
        (y_true * 10 - 5.0, scores.astype(np.float32)),
        (y_true[:, None], scores),
        (label_binarize(y_true, classes=[0, 1, 2]), scores),
        (pd.DataFrame(label_binarize(y_true, classes=[0, 1, 2])), scores),
        (label_binarize(y_true, classes=[0, 1, 2]).astype(bool).tolist(), scores),
    ):
        result = average_precision_test(labels, table, average="macro", n_resamples=99)
        assert result.statistic == expected.statistic
        assert result.pvalue == expected.pvalue


def test_short_description_of_an_average():
    y_true, scores, _ = class_data()
    macro = average_precision_test(y_true, scores, average="macro")
    assert "n_positives=(30, 30, 30)" in repr(macro)
    assert "average='macro'" in repr(macro.null_distribution)


@pytest.mark.parametrize("average", [None, *AVERAGES])
def test_binary_labels_ignore_average(average):
    y_true, y_score = [1, 1, 0, 1, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1]
    result = average_precision_test(y_true, y_score, average=average)
    assert result.method == "analytic"
    assert result.pvalue == pytest.approx(2 / 56, rel=1e-12)
    weights = [2, 1, 1, 1, 3, 1, 1, 1]
    plain = average_precision_test(y_true, y_score, sample_weight=weights, n_resamples=99)
    with_average = average_precision_test(
        y_true, y_score, sample_weight=weights, n_resamples=99, average=average
    )
    assert plain.pvalue == with_average.pvalue


def test_positive_label_of_several_classes_is_ignored():
    y_true, scores, _ = class_data()
    one, other = (
        average_precision_test(y_true, scores, average="macro", pos_label=p, n_resamples=99)
        for p in (1, 7)
    )
    assert one.pvalue == other.pvalue


# Equal weights


def test_equal_weights_are_no_weights():
    y_true, scores, _ = class_data(30)
    equal = np.full(30, 0.3)
    binary = y_true == 0
    one = average_precision_test(binary, scores[:, 0], sample_weight=equal)
    assert one.method == "analytic"
    assert one.pvalue == average_precision_test(binary, scores[:, 0]).pvalue
    assert average_precision_test(y_true, scores, sample_weight=equal)[0].method == "analytic"
    for method in FOLLOW.values():
        options = {"sample_weight": equal, "method": method, "n_resamples": 99}
        drawn = {"method": "permutation", "n_resamples": 99}
        one = average_precision_test(binary, scores[:, 0], **options)
        assert one.method == method
        assert one.pvalue == average_precision_test(binary, scores[:, 0], **drawn).pvalue
        macro = average_precision_test(y_true, scores, average="macro", **options)
        expected = average_precision_test(y_true, scores, average="macro", **drawn)
        assert macro.pvalue == expected.pvalue


def test_scale_of_the_weights_does_not_matter():
    y_true, scores, weights = class_data()
    options = {"average": "macro", "n_resamples": 199}
    one = average_precision_test(y_true, scores, sample_weight=weights, **options)
    for scale in (1e6, 1e308, 1e-300):
        other = average_precision_test(y_true, scores, sample_weight=scale * weights, **options)
        assert other.statistic == pytest.approx(one.statistic, rel=1e-12)
        assert other.pvalue == one.pvalue


# Permutations


CASES = {
    "any weights": ({"column": 0}, {"sample_weight": True}),
    "weights of items": ({"column": 0}, {"sample_weight": True, "method": "permutation_of_labels"}),
    "class weights": ({"column": 0}, {"sample_weight": "classes"}),
    "macro": ({}, {"average": "macro"}),
    "micro with weights": ({}, {"average": "micro", "sample_weight": True}),
    "weighted": (
        {},
        {"average": "weighted", "method": "permutation_of_labels", "sample_weight": True},
    ),
}


def case_arguments(name, n_samples=400):
    which, options = CASES[name]
    y_true, scores, weights = class_data(n_samples=n_samples)
    if which:
        y_true, scores = (y_true == 0).astype(int), scores[:, 0] - (y_true == 0)
    if options.get("sample_weight") == "classes":
        weights = np.where(y_true, 2.0, 1.0)
    if "sample_weight" in options:
        options = {**options, "sample_weight": weights}
    return (y_true, scores), options


@pytest.mark.parametrize("name", CASES)
def test_number_of_jobs_does_not_change_the_pvalue(name):
    # Several chunks, one random stream each.
    data, options = case_arguments(name)
    distributions = [
        average_precision_test(*data, **options, n_resamples=1500, n_jobs=n_jobs).null_distribution
        for n_jobs in (None, 2)
    ]
    q = np.linspace(0.01, 0.99, 50)
    assert_array_equal(distributions[0].ppf(q), distributions[1].ppf(q))


@pytest.mark.parametrize("name", CASES)
def test_random_state_decides_the_permutations(name):
    data, options = case_arguments(name, n_samples=60)

    def quantiles(random_state):
        null = average_precision_test(
            *data, **options, n_resamples=99, random_state=random_state
        ).null_distribution
        return tuple(null.ppf([0.2, 0.4, 0.6, 0.8]))

    assert quantiles(3) == quantiles(3) != quantiles(4)
    assert quantiles(np.random.RandomState(3)) == quantiles(np.random.RandomState(3))
    assert quantiles(np.random.default_rng(3)) == quantiles(np.random.default_rng(3))
    assert quantiles(None) != quantiles(None)


@pytest.mark.parametrize("name", CASES)
def test_permutation_distribution_has_the_common_interface(name):
    data, options = case_arguments(name, n_samples=60)
    result = average_precision_test(*data, **options, n_resamples=499)
    null = result.null_distribution
    copy = pickle.loads(pickle.dumps(result)).null_distribution
    assert copy.pvalue(0.4) == null.pvalue(0.4)
    assert null.method == "permutation"
    low, high = null.support()
    assert low <= null.ppf(0.1) <= null.median() <= null.isf(0.1) <= high
    assert null.cdf(high) == 1.0
    assert null.sf(high) == 0.0
    assert null.pvalue(high + 0.1) == 1 / 500
    assert null.pvalue(low - 0.1) == 1.0
    assert null.pvalue(high + 0.1, "two-sided") == 2 / 500
    assert null.pvalue_bounds(0.4) == (0.0, 1.0)
    p = null.pvalue(null.mean())
    assert null.relative_error(null.mean()) == pytest.approx(math.sqrt((1 - p) / (p * 499)))
    draws = null.rvs((20, 50), random_state=0)
    assert draws.shape == (20, 50)
    assert abs(draws.mean() - null.mean()) < 6 * null.std() / math.sqrt(500)
    assert_array_equal(draws, null.rvs((20, 50), random_state=0))
    mean, variance, skewness, kurtosis = null.stats("mvsk")
    assert (mean, variance) == (null.mean(), null.var())
    assert abs(skewness) < 5
    assert kurtosis > -3
    assert null.moment(2) == pytest.approx(null.mean() ** 2 + null.var())


def test_pvalue_of_one_permutation():
    data, options = case_arguments("any weights", n_samples=60)
    for seed in range(5):
        result = average_precision_test(*data, **options, n_resamples=1, random_state=seed)
        assert result.pvalue in (0.5, 1.0)
        assert result.null_distribution.pvalue(2.0) == 0.5


def test_smallest_pvalue():
    y_true = np.arange(60) < 10
    weights = np.random.default_rng(0).random(60)
    result = average_precision_test(y_true, -np.arange(60), sample_weight=weights, n_resamples=99)
    assert result.statistic == pytest.approx(1.0)
    assert result.adjusted_statistic == pytest.approx(1.0)
    assert result.pvalue == 1 / 100
    less = average_precision_test(
        y_true, np.arange(60), sample_weight=weights, n_resamples=99, alternative="less"
    )
    assert less.pvalue == 1 / 100


@pytest.mark.parametrize("name", ["class weights", "any weights", "weights of items"])
def test_memory_does_not_grow_with_the_number_of_permutations(name):
    # 500 permutations of 100,000 samples as one array would be 400 MB.
    data, options = case_arguments(name, n_samples=100_000)
    tracemalloc.start()
    try:
        quiet_test(*data, **options, n_resamples=20 if name == "any weights" else 50)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 150e6


# Size


def rejections(n_tests, weights_of, follow):
    """Share of true null hypotheses that are rejected at .05."""
    rng = np.random.default_rng(7)
    n_rejected = 0
    for _ in range(n_tests):
        y_true = rng.permutation(np.arange(100) < 10)
        y_score = rng.normal(size=100)
        result = quiet_test(
            y_true,
            y_score,
            sample_weight=weights_of(rng, y_true),
            method=FOLLOW[follow],
            n_resamples=99,
            random_state=rng,
        )
        n_rejected += result.pvalue <= 0.05
    return n_rejected / n_tests


def class_weights(_, y_true):
    return np.where(y_true, 5.0, 5.0 / 9.0)


def weights_of_samples(rng, y_true):
    return rng.gamma(2.0, size=len(y_true))


@pytest.mark.numeric
@pytest.mark.parametrize(
    ("weights_of", "follow"),
    [
        (weights_of_samples, "label"),
        (weights_of_samples, "score"),
        pytest.param(class_weights, "label", marks=pytest.mark.long),
    ],
)
def test_size_is_kept(weights_of, follow, long):
    n_tests = 2000 if long else 250
    share = rejections(n_tests, weights_of, follow)
    assert abs(share - 0.05) < 4 * math.sqrt(0.05 * 0.95 / n_tests)


def test_size_is_lost_where_class_weights_are_left_by_the_labels():
    # The case of the warning.
    assert rejections(60, class_weights, "score") > 0.8


def test_size_of_an_average_over_classes(long):
    rng = np.random.default_rng(9)
    n_tests, n_rejected = 2000 if long else 200, 0
    for _ in range(n_tests):
        y_true = rng.permutation(np.arange(60) % 3)
        result = average_precision_test(
            y_true, rng.normal(size=(60, 3)), average="macro", n_resamples=99, random_state=rng
        )
        n_rejected += result.pvalue <= 0.05
    assert abs(n_rejected / n_tests - 0.05) < 4 * math.sqrt(0.05 * 0.95 / n_tests)


# Without positives, or without a choice


@pytest.mark.parametrize("follow", FOLLOW)
@pytest.mark.parametrize("y_true", [[0, 0, 0, 0], [1, 0, 0, 0]])
def test_positives_without_weight_are_none(follow, y_true):
    with pytest.warns(UndefinedMetricWarning, match=r"without positives in y_true and is set to 0"):
        result = average_precision_test(
            y_true,
            [4, 3, 2, 1],
            sample_weight=[0, 1, 2, 3],
            method=FOLLOW[follow],
            n_resamples=9,
        )
    assert (result.statistic, result.pvalue, result.log10_pvalue) == (0.0, 1.0, 0.0)
    assert math.isnan(result.zscore)
    assert math.isnan(result.adjusted_statistic)


@pytest.mark.parametrize("follow", FOLLOW)
def test_only_positives(follow):
    result = average_precision_test(
        [1] * 4, [4, 3, 2, 1], sample_weight=[1, 2, 3, 4], method=FOLLOW[follow]
    )
    assert (result.statistic, result.pvalue) == (pytest.approx(1.0), 1.0)
    assert math.isnan(result.zscore)
    assert math.isnan(result.adjusted_statistic)


def test_constant_score():
    y_true, weights = [1, 0, 0, 1, 0], [1, 2, 3, 4, 5.5]
    result = average_precision_test(y_true, [1] * 5, sample_weight=weights, n_resamples=99)
    assert result.statistic == pytest.approx(5 / 15.5)
    assert result.pvalue == 1.0
    assert math.isnan(result.zscore)
    assert result.adjusted_statistic == 0.0


def test_class_without_samples():
    labels = np.array([[1, 0, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 0, 1]])
    scores = np.random.default_rng(0).normal(size=(5, 3))
    message = r"class in column 1 is undefined without positives in y_true and is set to 0\.0"
    with pytest.warns(UndefinedMetricWarning, match=message) as record:
        each = average_precision_test(labels, scores)
    assert len(record) == 1
    assert record[0].filename == __file__
    assert (each[1].statistic, each[1].pvalue) == (0.0, 1.0)
    assert [math.isnan(one.zscore) for one in each.values()] == [False, True, False]
    with pytest.warns(UndefinedMetricWarning, match=message):
        macro = average_precision_test(labels, scores, average="macro", n_resamples=99)
    assert macro.statistic == pytest.approx(np.mean([one.statistic for one in each.values()]))
    # Two of three classes can be ranked perfectly.
    mean = macro.null_distribution.mean()
    expected = (macro.statistic - mean) / (2 / 3 - mean)
    assert macro.adjusted_statistic == pytest.approx(expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for average in ("weighted", "micro"):
            average_precision_test(labels, scores, average=average, n_resamples=9)


@pytest.mark.parametrize("average", [None, *AVERAGES])
def test_no_samples_of_any_class(average):
    scores = np.arange(12.0).reshape(4, 3)
    with pytest.warns(UndefinedMetricWarning, match="without positives in y_true"):
        result = average_precision_test(
            np.zeros((4, 3), int), scores, average=average, n_resamples=9
        )
    for one in result.values() if average is None else [result]:
        assert (one.statistic, one.pvalue) == (0.0, 1.0)
        assert math.isnan(one.zscore)
        assert math.isnan(one.adjusted_statistic)


# Weights that depend on the labels


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        (lambda rng, y: np.where(y, 3.0, 1.0), "items with the same label have the same weight"),
        (lambda rng, y: rng.random(60) + y, r"a rank test has p = \de-\d+"),
    ],
)
def test_weights_that_depend_on_the_labels(weights, reason):
    rng = np.random.default_rng(0)
    y_true, y_score = np.arange(60) % 3, rng.normal(size=60)
    binary = (y_true == 0).astype(int)
    sample_weight = weights(rng, binary)
    options = {"sample_weight": sample_weight, "n_resamples": 9}
    with pytest.warns(UserWarning, match=reason) as record:
        average_precision_test(binary, y_score, method="permutation_of_labels", **options)
    assert "use method='permutation'" in str(record[0].message)
    assert record[0].filename == __file__
    with pytest.warns(UserWarning, match=reason):
        average_precision_test(
            y_true,
            rng.normal(size=(60, 3)),
            average="macro",
            method="permutation_of_labels",
            **options,
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        average_precision_test(binary, y_score, **options)
        options["sample_weight"] = rng.random(60)
        average_precision_test(binary, y_score, method="permutation_of_labels", **options)


def messages_of(*args, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        average_precision_test(*args, n_resamples=9, **options)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("follow", ["label", "score"])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_weights_that_depend_on_the_scores(follow, sign):
    rng = np.random.default_rng(1)
    y_true, y_score = np.arange(200) % 4 == 0, rng.normal(size=200)
    weights = np.exp(sign * y_score + rng.normal(size=200))
    found = messages_of(y_true, y_score, sample_weight=weights, method=FOLLOW[follow])
    classes = np.arange(200) % 3
    scores = np.column_stack([rng.normal(size=(200, 2)), y_score])
    found += messages_of(
        classes, scores, average="macro", sample_weight=weights, method=FOLLOW[follow]
    )
    if follow == "score":
        assert found == []
        return
    assert len(found) == 2
    for message in found:
        assert message.startswith("sample_weight depends on the scores among items with the same")
        assert "a rank test has p = " in message
        assert "use method='permutation_of_labels', which permutes only the labels" in message


def test_a_good_ranking_is_no_relation_of_the_weights():
    # Scores and labels are related, and weights to one of them: the other relation follows.
    rng = np.random.default_rng(2)
    y_true = np.arange(400) % 8 == 0
    y_score = rng.normal(size=400) + 2.0 * y_true
    of_labels, of_scores = 1.0 + 7.0 * y_true, np.abs(y_score) + 0.1
    assert not messages_of(y_true, y_score, sample_weight=of_labels, method="permutation")
    assert not messages_of(y_true, y_score, sample_weight=of_scores, method="permutation_of_labels")


def test_weights_of_strata_and_clusters():
    # Weights that differ between strata, as the scores do, are not related to them within strata.
    rng = np.random.default_rng(3)
    strata, y_true = np.arange(300) // 100, rng.permutation(np.arange(300) < 40)
    y_score = rng.normal(size=300) + 2.0 * strata
    weights = 1.0 + strata + 0.1 * rng.random(300)
    options = {"sample_weight": weights, "method": "permutation"}
    assert messages_of(y_true, y_score, **options)
    assert not messages_of(y_true, y_score, strata=strata, **options)
    weights = 1.0 + strata + np.exp(y_score - 2.0 * strata)
    options["sample_weight"] = weights
    assert messages_of(y_true, y_score, strata=strata, **options)
    # Ten copies of a sample have the information of one.
    copies = np.repeat(np.arange(16), 10)
    y_true, y_score, weights = copies < 3, copies * 1.0, 1.0 + copies % 5 + copies / 4
    options["sample_weight"] = weights
    assert "depends on the scores" in messages_of(y_true, y_score, **options)[0]
    found = messages_of(y_true, y_score, clusters=copies, **options)
    assert not any("depends on the scores" in message for message in found)
    # Autocorrelation is no relation.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        options["n_resamples"] = 9
        significance_score(y_true, y_score, order=np.arange(160), **options)
    assert not any("depends on the scores" in str(warning.message) for warning in caught)


def test_rank_test_of_weights():
    # Moments of all permutations within strata.
    a = np.array([1.0, 5, 2, 2, 7, 3, 9])
    b = np.array([3.0, 1, 1, 8, 2, 2, 5])
    strata = np.array([0, 0, 0, 0, 1, 1, 1])
    first, second = stats.rankdata(a), stats.rankdata(b)
    sums = [
        float(first @ second[[*within, *others]])
        for within in itertools.permutations(range(4))
        for others in itertools.permutations(range(4, 7))
    ]
    z = (first @ second - np.mean(sums)) / np.std(sums)
    null = stats.pearson3(stats.skew(sums))
    expected = 2.0 * min(null.sf(z), null.cdf(z))
    assert _rank_test(a, b, strata) == pytest.approx(expected, rel=1e-9)
    assert _rank_test(a, np.ones(7), strata) == 1.0
    # Two of 30 on both sides: they are the same once in 435 times, and not once in a million.
    rare = (np.arange(30) < 2).astype(float)
    assert _rank_test(rare, rare, np.zeros(30, dtype=int)) > 1e-3


# Wrong arguments

BINARY = ([0, 1, 0, 1], [0.1, 0.4, 0.3, 0.2])
CLASSES = ([0, 1, 2, 1], [[1.0, 2, 3], [4, 5, 6], [7, 8, 9], [1, 3, 2]])
WEIGHTS = [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ([1, 2, 3], ValueError, "got 3 weights and 4 items"),
        ([1, 2, -3, 4], ValueError, r"must not be negative; got -3\.0 at position 2"),
        ([1, 2, math.nan, 4], ValueError, "sample_weight must be finite; got nan at position 2"),
        ([1, 2, math.inf, 4], ValueError, "sample_weight must be finite; got inf at position 2"),
        ([0, 0, 0, 0], ValueError, "sample_weight is 0 for all 4 items"),
        (["a", "b", "c", "d"], TypeError, "sample_weight must hold real numbers"),
        (["a", 2, None, 4], (TypeError, ValueError), "sample_weight must hold"),
        (2.0, ValueError, r"sample_weight must be a one-dimensional array-like; got 2\.0"),
        (np.ones((4, 2)), ValueError, "pass one weight per item"),
    ],
)
@pytest.mark.parametrize("data", [BINARY, CLASSES])
def test_wrong_weights(weights, error, message, data):
    with pytest.raises(error, match=message):
        average_precision_test(*data, sample_weight=weights)


@pytest.mark.parametrize("method", ["analytic", "normal", "pearson3", "zhang_su"])
def test_methods_that_need_a_distribution(method):
    message = f"method='{method}' is not available for AveragePrecision"
    message += r"\(\) with {}, which has no null distribution in closed form: use method='perm"
    with pytest.raises(ValueError, match=message.format("unequal sample_weight")):
        average_precision_test(*BINARY, sample_weight=WEIGHTS, method=method)
    with pytest.raises(ValueError, match=message.format("unequal sample_weight")):
        average_precision_test(*CLASSES, sample_weight=WEIGHTS, method=method)
    for average in AVERAGES:
        with pytest.raises(ValueError, match=message.format(f"average='{average}'")):
            average_precision_test(*CLASSES, average=average, method=method)


@pytest.mark.parametrize(
    ("data", "options", "error", "message"),
    [
        (BINARY, {"average": "samples"}, ValueError, "'samples' ranks the classes within each"),
        (BINARY, {"average": "mean"}, ValueError, "average must be one of None, .*; got 'mean'"),
        (BINARY, {"method": "permutation_of_labels"}, ValueError, "but no sample_weight is given"),
        (CLASSES, {"average": "macro", "method": "guess"}, ValueError, "method.*'guess'"),
        (CLASSES, {"average": "macro", "n_resamples": 0}, ValueError, "n_resamples.*0"),
        (CLASSES, {"average": "macro", "random_state": "seed"}, ValueError, "seed"),
        (CLASSES, {"alternative": "more"}, ValueError, "alternative must be .*; got 'more'"),
    ],
)
def test_wrong_options(data, options, error, message):
    with pytest.raises(error, match=message):
        average_precision_test(*data, **options)


def test_wrong_cut_offs_of_classes():
    for k, average, message in (
        (2, "micro", r"k=2\) is not defined with average='mi"),
        (5, "macro", "k must be between 1 and n_samples=4"),
    ):
        with pytest.raises(ValueError, match=message):
            metric_test(*CLASSES, metric=AveragePrecision(k).averaged(average))


def test_weights_of_a_ranking():
    with pytest.raises(TypeError, match=r"sample_weight needs y_true and y_score.*Ranking"):
        average_precision_test(Ranking.from_counts([1, 1], [1, 0]), sample_weight=[1, 2])
    with pytest.raises(TypeError, match=r"y_score of type NoneType"):
        average_precision_test([0, 1], sample_weight=[1, 2])


SCORES = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize(
    ("y_true", "y_score", "error", "message"),
    [
        ([0, 1, 1, 0], SCORES, ValueError, r"holds 2 classes \(0, 1\), but y_score has 3 columns"),
        ([0, 1, 2, 0], SCORES[:, :2], ValueError, "holds 3 classes.*label_binarize"),
        ([0, 1, 2, 0], SCORES[:3], ValueError, "got 4 labels and 3 scores"),
        (np.eye(4)[:, :2], SCORES, ValueError, r"same shape; got \(4, 2\) and \(4, 3\)"),
        (np.eye(4)[:, :3] * 2, SCORES, ValueError, r"hold 0 and 1; got 2\.0 at row 0, column 0"),
        (np.full((4, 3), math.nan), SCORES, ValueError, "hold 0 and 1; got nan at row 0"),
        (
            [0, 1, 2, 0],
            SCORES + np.array([0, 0, math.inf]),
            ValueError,
            "finite; got inf at row 0, column 2",
        ),
        ([0, 1, 2, 0], np.full((4, 3), "x"), ValueError, "y_score cannot be read as"),
        (np.eye(4)[:, :3], csr_array(SCORES), TypeError, "[Ss]parse"),
        ([0.5, 1, 2, 0], SCORES, ValueError, r"got the continuous value 0\.5"),
        ([0, 1, 1, 0], SCORES[:, :2], ValueError, r"predict_proba\(X\)\[:, list"),
        ([0, 1, 2, 0], SCORES[:, 0], ValueError, "holds 3 different labels"),
        (np.eye(4)[:, :3], SCORES[:, 0], ValueError, "y_true must be one-dimensional"),
        ([0, 1, 2, 0], [[1, 2, 3], [1, 2]], ValueError, "cannot be read as a one-dimensional"),
    ],
)
def test_wrong_data_of_classes(y_true, y_score, error, message):
    with pytest.raises(error, match=message):
        average_precision_test(y_true, y_score, average="macro")
