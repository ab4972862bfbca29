"""Weights of a sampling design: values of scikit-learn, and copies of items in clusters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import average_precision_score, roc_auc_score

from sklearn_rankinf import (
    AveragePrecision,
    metric_interval,
    metric_multiple_comparison_test,
)

N = 120
# A cut-off that is a whole number both for the samples and for their copies.
HITS = ["recall@0.5", "precision@0.5", "enrichment@0.5", "f_score@0.5"]


def sample(kind, seed=0):
    """Labels, scores and whole weights."""
    rng = np.random.default_rng(seed)
    y_true = np.arange(N) < 30
    y_score = rng.normal(size=N) + 1.2 * y_true
    if kind == "levels":
        y_score = np.round(y_score)
    elif kind == "zeros at the bottom":
        y_score = np.maximum(y_score, 0.3)
    elif kind == "saturated top":
        y_score = np.minimum(y_score, 0.5)
    elif kind == "one positive scores low":
        y_score[:29] += 9.0
    elif kind == "nearly all positives":
        y_true = np.arange(N) < 110
    weight = rng.integers(1, 5, size=N)
    weight[0] += (weight.sum() % 2) * 1
    return y_true, y_score, weight


KINDS = [
    *("no ties", "levels", "zeros at the bottom", "saturated top"),
    *("one positive scores low", "nearly all positives"),
]


def copies(weight, *columns):
    return *(np.repeat(column, weight) for column in columns), np.repeat(np.arange(N), weight)


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_scikit_learn(kind):
    y_true, y_score, weight = sample(kind)
    share = weight / 7.3
    found = metric_interval(y_true, y_score, sample_weight=share).statistic
    expected = average_precision_score(y_true, y_score, sample_weight=weight)
    assert found == pytest.approx(expected, rel=1e-12)
    found = metric_interval(y_true, y_score, metric="roc_auc", sample_weight=share).statistic
    assert found == pytest.approx(roc_auc_score(y_true, y_score, sample_weight=weight), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", ["average_precision", "roc_auc"])
def test_a_weight_is_a_cluster_of_copies(kind, metric):
    y_true, y_score, weight = sample(kind)
    found = metric_interval(y_true, y_score, metric=metric, sample_weight=weight)
    labels, scores, cluster = copies(weight, y_true, y_score)
    expected = metric_interval(labels, scores, metric=metric, clusters=cluster)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-12)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-10)
    if metric == "average_precision":
        # Kish's effective number of positives is below the number of clusters: t is larger.
        assert found.low < expected.low < expected.high < found.high
    assert_allclose([found.low, found.high], [expected.low, expected.high], atol=0.03)
    assert (found.n_samples, found.n_positives) == (N, y_true.sum())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", HITS)
def test_hits_at_a_fraction_count_weights(kind, metric):
    y_true, y_score, weight = sample(kind)
    labels, scores, cluster = copies(weight, y_true, y_score)
    found = metric_interval(y_true, y_score, metric=metric, sample_weight=weight)
    expected = metric_interval(labels, scores, metric=metric, clusters=cluster)
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-12)
    # The slope at k averages over a number of neighbours that grows less than k.
    if kind != "one positive scores low":
        assert found.standard_error == pytest.approx(expected.standard_error, rel=0.1)


@pytest.mark.parametrize("units", ["nothing", "clusters", "strata", "both"])
def test_comparisons_are_those_of_copies(units):
    y_true, y_score, weight = sample("no ties")
    rng = np.random.default_rng(1)
    scores = {"a": y_score, "b": y_score + rng.normal(size=N), "c": rng.normal(size=N)}
    design, own = {}, {}
    numbers = np.arange(N) // 2
    if units in ("clusters", "both"):
        design["clusters"] = numbers
    if units in ("strata", "both"):
        design["strata"] = numbers % 3
    labels, *columns, item = copies(weight, y_true, *scores.values())
    repeated = dict(zip(scores, columns, strict=True))
    own = {name: column[item] for name, column in design.items()}
    own.setdefault("clusters", item)
    found = metric_multiple_comparison_test(y_true, scores, sample_weight=weight, **design)
    expected = metric_multiple_comparison_test(labels, repeated, **own)
    assert_allclose(found.statistic, expected.statistic, rtol=1e-12)
    assert_allclose(found.standard_error, expected.standard_error, rtol=1e-10)
    assert_allclose(found.pvalue, expected.pvalue, atol=0.01)


def test_only_proportions_matter():
    y_true, y_score, weight = sample("no ties")
    one, other, plain = (
        metric_interval(y_true, y_score, sample_weight=own)
        for own in (weight, weight / 1e3, np.full(N, 0.1))
    )
    assert_allclose([one.low, one.high], [other.low, other.high], rtol=1e-12)
    without = metric_interval(y_true, y_score)
    assert (plain.low, plain.high, plain.method) == (without.low, without.high, without.method)
    # A sample of weight 0 stands for nobody.
    weight[[3, 70]] = 0
    kept = weight > 0
    first = metric_interval(y_true, y_score, sample_weight=weight)
    second = metric_interval(y_true[kept], y_score[kept], sample_weight=weight[kept])
    assert (first.low, first.high, first.n_samples) == (second.low, second.high, N - 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "recall@10"}, "Recall at 10 counts items, whose number means nothing if"),
        ({"metric": AveragePrecision(k=0.5)}, "sample_weight is not available for average prec"),
        ({"metric": "dcg", "method": "influence"}, "sample_weight is not available for DCG. The "),
        ({"method": "logit"}, "method='logit' needs independent items of equal weight"),
        ({"prevalence": 0.1}, "prevalence needs independent items of equal weight"),
        ({"groups": np.arange(N) % 4}, "sample_weight cannot be combined with groups"),
        ({"sample_weight": -np.ones(N)}, "sample_weight must not be negative"),
        ({"sample_weight": np.ones(3)}, "sample_weight must have one weight per item"),
    ],
)
def test_what_is_refused(options, message):
    y_true, y_score, weight = sample("no ties")
    with pytest.raises(ValueError, match=message):
        metric_interval(y_true, y_score, **{"sample_weight": weight, **options})
