"""F-scores at k: their value, and that they go through the machinery of hits at k."""

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import fbeta_score
from sklearn.model_selection import cross_val_score

from sklearn_rankinf import (
    FScoreAtK,
    PrecisionAtK,
    Ranking,
    RecallAtK,
    make_significance_scorer,
    metric_comparison_test,
    metric_interval,
    metric_null_distribution,
    metric_power,
    metric_test,
    precision_at_k_score,
    recall_at_k_score,
)
from sklearn_rankinf._metrics import as_metric
from sklearn_rankinf._statistics.influence import slope_at

BETAS = [0.5, 1.0, 2.0]


def top(y_score, k):
    """The classification that predicts the k best scores to be positive."""
    predicted = np.zeros(len(y_score), dtype=int)
    predicted[np.argsort(-np.asarray(y_score), kind="stable")[:k]] = 1
    return predicted


def over_tie_breaking(y_true, y_score, k, beta):
    """Mean F-score of the top k over all orders of the items with the score at rank k."""
    order = np.argsort(-np.asarray(y_score), kind="stable")
    cut = y_score[order[k - 1]]
    sure = [i for i in order[:k] if y_score[i] > cut]
    tied = [i for i in order if y_score[i] == cut]
    choices = list(itertools.combinations(tied, k - len(sure)))
    predicted = np.zeros((len(choices), len(y_true)), dtype=int)
    for row, chosen in zip(predicted, choices, strict=True):
        row[[*sure, *chosen]] = 1
    # The mean over rows.
    return fbeta_score(np.tile(y_true, (len(choices), 1)), predicted, beta=beta, average="samples")


@pytest.fixture(scope="module")
def data():
    """Labels of 12 positives among 60, and two rankers without ties."""
    rng = np.random.default_rng(7)
    y_true = rng.permutation(np.arange(60) < 12).astype(int)
    return y_true, *(rng.normal(size=60) + shift * y_true for shift in (1.5, 0.7))


# The value.


@pytest.mark.parametrize("beta", [*BETAS, 0.01, 30.0])
@pytest.mark.parametrize(("n", "m"), [(9, 1), (12, 5), (10, 9), (6, 6), (40, 3)])
def test_f_score_of_the_classification(n, m, beta):
    rng = np.random.default_rng(n)
    y_true, y_score = rng.permutation(np.arange(n) < m).astype(int), rng.permutation(n)
    found = [FScoreAtK(k, beta=beta)(y_true, y_score) for k in range(1, n + 1)]
    # A column for each k.
    predicted = np.column_stack([top(y_score, k) for k in range(1, n + 1)])
    expected = fbeta_score(np.tile(y_true[:, None], n), predicted, beta=beta, average=None)
    assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("levels", [1, 2, 4])
def test_ties_count_as_random_order(levels, beta):
    rng = np.random.default_rng(levels)
    for m in (1, 3, 6):
        y_true = rng.permutation(np.arange(7) < m).astype(int)
        y_score = rng.integers(levels, size=7)
        for k in range(1, 8):
            found = FScoreAtK(k, beta=beta)(y_true, y_score)
            expected = over_tie_breaking(y_true, y_score, k, beta)
            assert found == pytest.approx(expected, rel=1e-13)


def test_recall_and_precision_are_the_ends(data):
    y_true, a, _ = data
    for k in (1, 7, 12, 60):
        precision, recall = (f(y_true, a, k=k) for f in (precision_at_k_score, recall_at_k_score))
        for beta, limit in (
            (1e-12, precision),
            (5e-324, precision),
            (1e12, recall),
            (1e300, recall),
        ):
            assert FScoreAtK(k, beta=beta)(y_true, a) == pytest.approx(limit, rel=1e-14)
        harmonic = 2 * precision * recall / (precision + recall) if precision else 0.0
        assert FScoreAtK(k)(y_true, a) == pytest.approx(harmonic, rel=1e-14)
    # At k = m all of them are the same.
    values = {round(FScoreAtK(12, beta=beta)(y_true, a), 12) for beta in BETAS}
    assert values == {round(recall_at_k_score(y_true, a, k=12), 12)}


def test_inputs_of_the_score(data):
    y_true, a, _ = data
    expected = FScoreAtK(6, beta=2)(y_true, a)
    words = np.where(y_true == 1, "yes", "no")
    assert FScoreAtK(0.1, beta=2.0)(words, a, pos_label="yes") == expected
    assert FScoreAtK(6, beta=2.0)(Ranking.from_scores(y_true, a)) == expected
    assert type(expected) is float
    # Only positives: k hits of n positives.
    assert FScoreAtK(2)([1, 1, 1], [3, 2, 1]) == pytest.approx(0.8, rel=1e-15)
    with pytest.warns(
        UndefinedMetricWarning, match=r"F1 score at 2 is undefined without positives"
    ):
        assert FScoreAtK(2)([0, 0, 0], [3, 2, 1]) == 0.0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k": 0}, ValueError, "k must be at least 1"),
        ({"k": 4}, ValueError, r"k must be between 1 and n_samples=3; got 4"),
        ({"k": [1, 2]}, TypeError, "k must be an int or a float"),
        ({"k": 1, "beta": 0.0}, ValueError, "beta must be finite and larger than 0; got 0.0"),
        ({"k": 1, "beta": math.inf}, ValueError, "beta must be finite and larger than 0; got inf"),
        ({"k": 1, "beta": math.nan}, ValueError, "beta must be finite and larger than 0; got nan"),
        ({"k": 1, "beta": -1.0}, ValueError, "beta must be finite and larger than 0; got -1"),
        ({"k": 1, "beta": "2"}, TypeError, "beta must be a number; got '2' of type str"),
        ({"k": 1, "beta": True}, TypeError, "beta must be a number; got True"),
    ],
)
def test_wrong_parameters(options, error, message):
    with pytest.raises(error, match=message):
        FScoreAtK(**options)([1, 0, 1], [3, 2, 1])


# The null distribution, exactly.


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(
    ("tie_sizes", "m"),
    [
        ((1,) * 7, 3),
        ((1,) * 6, 1),
        ((1, 5, 2), 3),
        ((8,), 2),
        ((2, 2, 1, 2), 6),
        ((3, 1, 3), 7),
    ],
)
def test_null_distribution_is_that_of_all_placements(tie_sizes, m, beta):
    n, square = sum(tie_sizes), Fraction(beta) ** 2
    ends = np.cumsum(tie_sizes).tolist()
    placements = list(oracles.placements(n, m))
    for k in range(1, n + 1):
        values = []
        for ranks in placements:
            hits = oracles.hits_per_block(tie_sizes, ranks)
            shares = [
                Fraction(min(max(k - (end - size), 0), size), size)
                for end, size in zip(ends, tie_sizes, strict=True)
            ]
            count = sum(h * share for h, share in zip(hits, shares, strict=True))
            values.append((1 + square) * count / (square * m + k))
        null = metric_null_distribution(n, m, metric=FScoreAtK(k, beta), tie_sizes=tie_sizes)
        mean = sum(values) / len(values)
        variance = sum((value - mean) ** 2 for value in values) / len(values)
        assert null.mean() == pytest.approx(float(mean), rel=1e-13)
        assert null.var() == pytest.approx(float(variance), rel=1e-12, abs=1e-15)
        assert_allclose(null.support(), [float(min(values)), float(max(values))], rtol=1e-14)
        for t in set(values):
            above = Fraction(sum(value >= t for value in values), len(values))
            below = Fraction(sum(value <= t for value in values), len(values))
            assert null.pvalue(float(t)) == pytest.approx(float(above), rel=1e-12)
            assert null.pvalue(float(t), "less") == pytest.approx(float(below), rel=1e-12)
            assert null.cdf(float(t)) == pytest.approx(float(below), rel=1e-12)


@pytest.mark.parametrize("method", ["auto", "permutation", "normal", "binomial"])
@pytest.mark.parametrize("beta", BETAS)
def test_pvalues_are_those_of_recall(data, method, beta):
    y_true, a, _ = data
    options = {"method": method, "n_resamples": 199}
    for scores, k in itertools.product((a, np.round(a)), (3, 12, 0.5, 60)):
        found = metric_test(y_true, scores, metric=FScoreAtK(k, beta), **options)
        recall = metric_test(y_true, scores, metric=RecallAtK(k), **options)
        assert_allclose(found.pvalue, recall.pvalue, rtol=1e-11)
        assert_allclose(found.zscore, recall.zscore, rtol=1e-9)
        factor = (1 + beta**2) * 12 / (beta**2 * 12 + found.k)
        assert_allclose(found.statistic, factor * recall.statistic, rtol=1e-13)
        assert_allclose(found.hits, recall.hits)


def test_by_name_and_in_scorers(data):
    y_true, a, _ = data
    by_name = metric_test(y_true, a, metric="f_score@8")
    assert by_name.metric == FScoreAtK(8) == as_metric("f_score@8")
    assert by_name.statistic == pytest.approx(fbeta_score(y_true, top(a, 8), beta=1), rel=1e-14)
    features = a.reshape(-1, 1)
    for metric in ("f_score@0.2", FScoreAtK(0.2, beta=3.0)):
        scorer = pickle.loads(pickle.dumps(make_significance_scorer(metric)))
        recall = make_significance_scorer("recall@0.2")
        values = [
            cross_val_score(
                LogisticRegression(), features, y_true, scoring=s, cv=3, error_score="raise"
            )
            for s in (scorer, recall)
        ]
        assert_allclose(values[0], values[1], rtol=1e-11)
    assert "F1 score at 8" in by_name.summary()


# Intervals, comparison and power.


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("levels", [None, 1])
def test_influence_is_the_derivative(data, beta, levels):
    y_true, a, _ = data
    scores = a if levels is None else np.round(a)
    ranking = Ranking.from_scores(y_true, scores)
    sizes, hits = ranking.tie_sizes, ranking.hits
    starts = np.cumsum(sizes) - sizes
    step = 1e-30j
    for k in (1, 9, 30, 60):
        counted = np.clip(k - starts, 0, sizes) / sizes
        pushed_out = counted * slope_at(sizes, hits, k) * (1 + beta**2) / (beta**2 * 12 + k)
        found = FScoreAtK(k, beta).influence(sizes, hits)
        assert_allclose(found.negative, -pushed_out, rtol=1e-12)
        for b in np.flatnonzero(hits):
            weights = hits.astype(complex)
            weights[b] += step
            value = (1 + beta**2) * (weights @ counted) / (beta**2 * weights.sum() + k)
            expected = value.imag / step.imag - pushed_out[b]
            assert found.positive[b] == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("method", ["score", "clopper_pearson", "plus"])
def test_intervals_are_those_of_recall(data, method, beta):
    y_true, a, _ = data
    for k in (5, 12, 30):
        factor = (1 + beta**2) * 12 / (beta**2 * 12 + k)
        found = metric_interval(y_true, a, metric=FScoreAtK(k, beta), method=method)
        recall = metric_interval(y_true, a, metric=RecallAtK(k), method=method)
        for name in ("statistic", "low", "high", "standard_error"):
            expected = factor * getattr(recall, name)
            assert getattr(found, name) == pytest.approx(expected, rel=1e-11, abs=1e-14), name


@pytest.mark.parametrize(
    "method",
    [
        "swap",
        "influence",
        "hypergeometric",
        "hypergeometric_midp",
        "mcnemar",
        "emproc",
        "bootstrap",
    ],
)
def test_comparisons_are_those_of_precision(data, method):
    options = {"method": method, "n_resamples": 199}
    found = metric_comparison_test(
        data[0], np.column_stack(data[1:]), metric=FScoreAtK(10, 2.0), **options
    )
    precision = metric_comparison_test(
        data[0], np.column_stack(data[1:]), metric=PrecisionAtK(10), **options
    )
    factor = 5.0 * 10 / (4.0 * 12 + 10)
    assert found.difference == pytest.approx(factor * precision.difference, rel=1e-12)
    assert found.difference != 0.0
    assert found.pvalue == pytest.approx(precision.pvalue, rel=1e-9)
    assert_allclose(
        found.confidence_interval(),
        np.multiply(factor, precision.confidence_interval()),
        rtol=1e-9,
    )


@pytest.mark.parametrize("model", ["wallenius", "binormal"])
def test_power_is_that_of_recall(model):
    options = {"auc": 0.75, "model": model}
    found = metric_power(200, 20, metric=FScoreAtK(30, 2.0), **options)
    recall = metric_power(200, 20, metric=RecallAtK(30), **options)
    factor = 5.0 * 20 / (4.0 * 20 + 30)
    assert found.power == pytest.approx(recall.power, rel=1e-12)
    assert found.level == pytest.approx(recall.level, rel=1e-12)
    assert found.critical_value == pytest.approx(factor * recall.critical_value, rel=1e-12)
    assert found.mean == pytest.approx(factor * recall.mean, rel=1e-12)


# The object.


def test_metric_objects():
    assert FScoreAtK(5) != RecallAtK(5)
    assert FScoreAtK(5, 2) == FScoreAtK(5, beta=2.0) != FScoreAtK(5)
    assert hash(FScoreAtK(5, 2)) == hash(FScoreAtK(5, beta=2.0))
    assert len({FScoreAtK(5), FScoreAtK(5, 2.0), FScoreAtK(6, 2.0)}) == 3
    assert FScoreAtK(0.1, 2.0).at(50) == FScoreAtK(5, 2.0)
    assert FScoreAtK(10).best(100, 30) == 0.5
    assert FScoreAtK(30).best(100, 30) == 1.0
    assert FScoreAtK(10, 2.0).best(100, 30) == pytest.approx(50 / 130, rel=1e-15)
