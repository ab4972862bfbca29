"""Transformations that must not change the result, for every metric in the registry."""

import numpy as np
import pandas as pd
import pytest
from by_name import NAMED
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sklearn_rankinf import metric_null_distribution
from sklearn_rankinf._metrics import as_metric

pytestmark = pytest.mark.numeric

FIELDS = ("statistic", "pvalue", "log10_pvalue", "zscore", "adjusted_statistic")


each_metric = pytest.mark.parametrize("metric", NAMED.values(), ids=list(NAMED))
# Every metric takes the same path up to its statistic.
fewer = settings(max_examples=max(10, settings.default.max_examples // 3))


@st.composite
def ranked_data(draw):
    """Labels of both classes and scores with many ties."""
    n_samples = draw(st.integers(3, 14))
    y_true = draw(st.lists(st.integers(0, 1), min_size=n_samples, max_size=n_samples))
    y_true[0], y_true[1] = 0, 1
    y_score = draw(st.lists(st.integers(-6, 6), min_size=n_samples, max_size=n_samples))
    return np.array(y_true), np.array(y_score, dtype=float)


def assert_same(one, two, case=""):
    for field in FIELDS:
        assert_allclose(
            getattr(two, field), getattr(one, field), rtol=1e-10, atol=1e-12, err_msg=case
        )
    assert (one.n_samples, one.n_positives) == (two.n_samples, two.n_positives)
    assert (one.method, one.alternative) == (two.method, two.alternative)


def example(n_samples=24, n_positives=6, seed=0):
    rng = np.random.default_rng(seed)
    y_true = np.zeros(n_samples, dtype=int)
    y_true[rng.choice(n_samples, n_positives, replace=False)] = 1
    return y_true, np.round(rng.normal(size=n_samples) + y_true, 1)


@each_metric
@fewer
@given(data=ranked_data(), seed=st.integers(0, 1000))
def test_order_of_the_samples(metric, data, seed):
    y_true, y_score = data
    order = np.random.default_rng(seed).permutation(y_true.size)
    assert_same(metric.test(y_true, y_score), metric.test(y_true[order], y_score[order]))


TRANSFORMS = {
    "shift": lambda s: s + 100.0,
    "scale": lambda s: s * 1e-3,
    "exp": np.exp,
    "arctan": np.arctan,
    "cube": lambda s: s**3,
    "float32": lambda s: s.astype(np.float32),
    "integers": lambda s: s.astype(int),
    "dense ranks": lambda s: np.unique(s, return_inverse=True)[1],
}


@each_metric
@fewer
@given(data=ranked_data())
def test_strictly_increasing_transforms_of_the_scores(metric, data):
    y_true, y_score = data
    result = metric.test(y_true, y_score)
    for name, transform in TRANSFORMS.items():
        assert_same(result, metric.test(y_true, transform(y_score)), name)


@each_metric
@fewer
@given(data=ranked_data())
def test_score_is_the_statistic_and_pvalues_of_both_sides_overlap(metric, data):
    y_true, y_score = data
    result = metric.test(y_true, y_score, alternative="greater")
    assert_allclose(result.statistic, metric.score(y_true, y_score), rtol=1e-12)
    greater = result.pvalue
    less = metric.test(y_true, y_score, alternative="less").pvalue
    both = metric.test(y_true, y_score, alternative="two-sided").pvalue
    assert greater + less >= 1 - 1e-12
    assert 0 < greater <= 1
    assert 0 < less <= 1
    assert_allclose(both, min(1.0, 2 * min(greater, less)), rtol=1e-12)


@each_metric
@fewer
@given(data=ranked_data())
def test_promoting_a_positive_never_raises_the_pvalue(metric, data):
    # Without ties the null distribution is the same, and a positive swapped with the negative
    # right above it makes the ranking better.
    y_true, _ = data
    y_score = -np.arange(y_true.size, dtype=float)
    before = metric.test(y_true, y_score).pvalue
    better = y_true.copy()
    below = np.flatnonzero((y_true[1:] == 1) & (y_true[:-1] == 0))
    if below.size:
        better[[below[0], below[0] + 1]] = 1, 0
        assert metric.test(better, y_score).pvalue <= before * (1 + 1e-12)


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "Fortran column": lambda a: np.asfortranarray(a),
    "strided": lambda a: np.repeat(a, 2)[::2],
    "read-only": lambda a: np.frombuffer(a.tobytes(), dtype=a.dtype),
    "series": pd.Series,
    "series with another index": lambda a: pd.Series(a, index=np.arange(a.size)[::-1]),
}


@each_metric
def test_containers(metric):
    y_true, y_score = example()
    expected = metric.test(y_true, y_score)
    for name, container in CONTAINERS.items():
        assert_same(expected, metric.test(container(y_true), container(y_score)), name)


@each_metric
def test_polars_series(metric):
    polars = pytest.importorskip("polars")
    y_true, y_score = example()
    result = metric.test(polars.Series(y_true.tolist()), polars.Series(y_score.tolist()))
    assert_same(metric.test(y_true, y_score), result)


LABELS = {
    "bool": (lambda y: y.astype(bool), 1),
    "float": (lambda y: y.astype(float), 1),
    "minus one": (lambda y: 2 * y - 1, 1),
    "int8": (lambda y: y.astype(np.int8), 1),
    "other numbers": (lambda y: np.where(y, 7, 3), 7),
    "strings": (lambda y: np.where(y, "spam", "ham"), "spam"),
    "objects": (lambda y: np.where(y, "spam", "ham").astype(object), "spam"),
}


@each_metric
def test_label_types(metric):
    y_true, y_score = example()
    expected = metric.test(y_true, y_score)
    for name, (relabel, pos_label) in LABELS.items():
        assert_same(expected, metric.test(relabel(y_true), y_score, pos_label=pos_label), name)


@each_metric
def test_input_is_left_alone(metric):
    y_true, y_score = example()
    labels, scores = y_true.copy(), y_score.copy()
    metric.test(labels, scores)
    assert np.array_equal(labels, y_true)
    assert np.array_equal(scores, y_score)


@each_metric
def test_metrics_entries_belong_together(metric):
    y_true, y_score = example()
    result = metric.test(y_true, y_score)
    tie_sizes = np.unique(-y_score, return_counts=True)[1]
    null = metric_null_distribution(
        y_true.size, y_true.sum(), metric=metric.metric, tie_sizes=tie_sizes
    )
    assert_allclose(null.pvalue(metric.score(y_true, y_score)), result.pvalue, rtol=1e-10)
    assert_allclose(null.mean(), result.null_distribution.mean(), rtol=1e-12)
    metric_of_name = as_metric(metric.metric).at(y_true.size)
    assert result.metric == null.statistic == metric_of_name
