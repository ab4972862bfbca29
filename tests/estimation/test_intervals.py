"""Intervals of metrics against root searches, SciPy, simulation and published values."""

import math
import re

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.optimize import brentq
from sklearn.datasets import make_classification
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    EnrichmentAtK,
    PrecisionAtK,
    Ranking,
    RankStatistic,
    RecallAtK,
    ReciprocalRank,
    RobustInitialEnhancement,
    RocAuc,
    metric_interval,
    metric_test,
)
from sklearn_rankinf._estimation import binormal
from sklearn_rankinf._estimation.estimates import interval_methods
from sklearn_rankinf._metrics import as_metric


def sample(seed=0, n=60, m=15, shift=1.0):
    rng = np.random.default_rng(seed)
    y_true = np.arange(n) < m
    return y_true, rng.normal(size=n) + shift * y_true


class CenteredRank(RankStatistic):
    """Mean distance of the positives from the end, a custom metric."""

    def weights(self, ranks, n_samples, n_positives):
        return (n_samples - ranks) / max(n_positives, 1)


NAMES = [
    ("average_precision", AveragePrecision()),
    ("average_precision@8", AveragePrecision(k=8)),
    ("average_precision@0.2", AveragePrecision(k=12)),
    ("roc_auc", RocAuc()),
    ("recall@8", RecallAtK(8)),
    ("recall@0.2", RecallAtK(12)),
    ("precision@8", PrecisionAtK(8)),
    ("enrichment@0.1", EnrichmentAtK(6)),
    ("dcg", DiscountedCumulativeGain()),
    ("dcg@0.25", DiscountedCumulativeGain(k=15)),
    ("ndcg@10", DiscountedCumulativeGain(k=10, normalize=True)),
    ("bedroc", Bedroc()),
    ("rie", RobustInitialEnhancement()),
]

METHODS = {
    "average_precision": ["influence", "calibrated", "logit", "binomial"],
    "roc_auc": ["score", "delong"],
    "recall@8": ["score", "clopper_pearson", "plus"],
    "precision@8": ["score", "clopper_pearson", "plus"],
    "enrichment@8": ["score", "clopper_pearson", "plus"],
    "dcg": ["binormal", "influence"],
    "ndcg": ["binormal", "influence"],
    "bedroc": ["binormal", "influence"],
    "rie": ["binormal", "influence"],
}
WITH_METHODS = [(name, method) for name, methods in METHODS.items() for method in methods]


@pytest.fixture
def few_draws(monkeypatch):
    """Few draws, for simulated intervals that are compared with themselves alone."""
    monkeypatch.setattr(binormal, "_DRAWS_BEYOND", 10)
    monkeypatch.setattr(binormal, "_FEWEST_DRAWS", 400)


def options_of(name):
    return {"metric": name}


def limits_of(result):
    return result.low, result.high


def assert_same(one, other, rtol=1e-12):
    for name in ("statistic", "low", "high", "standard_error"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, err_msg=name)
    assert (one.method, one.target) == (other.method, other.target)


# ---------------------------------------------------------------------------------------------
# Metrics and methods
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "prevalence"),
    [
        ("average_precision", None),
        ("average_precision", 0.1),
        ("recall@0.1", 0.1),
        ("roc_auc", None),
        ("recall@3", None),
        ("bedroc", None),
    ],
)
def test_the_docstring_names_all_methods_and_their_sources(metric, prevalence):
    text = metric_interval.__doc__
    for name, way in interval_methods(as_metric(metric), prevalence).items():
        assert f'``"{name}"``' in text, name
        assert all(word in text for word in way.reference.split()), name


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize(("name", "metric"), NAMES)
def test_names_and_instances_mean_the_same(name, metric):
    data = sample()
    by_name = metric_interval(*data, metric=name)
    assert by_name.metric == metric
    assert_same(by_name, metric_interval(*data, metric=metric))
    assert by_name.statistic == pytest.approx(metric_test(*data, metric=metric).statistic)
    assert by_name.low <= by_name.statistic <= by_name.high
    assert (by_name.n_samples, by_name.n_positives) == (60, 15)


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize(("name", "method"), WITH_METHODS)
def test_every_method_by_name(name, method):
    data = sample(3)
    found = metric_interval(*data, method=method, **options_of(name))
    assert found.method == method
    assert found.low < found.statistic < found.high
    narrow = metric_interval(*data, method=method, confidence_level=0.5, **options_of(name))
    assert found.low < narrow.low < narrow.high < found.high
    if method == METHODS[name][0]:
        assert metric_interval(*data, **options_of(name)).method == method


def test_a_custom_metric():
    y_true, y_score = sample(4)
    found = metric_interval(y_true, y_score, metric=CenteredRank())
    assert found.method == "binormal"
    # It is ROC AUC times the negatives and a constant that goes with m.
    auc = metric_interval(y_true, y_score, metric="roc_auc")
    assert found.statistic == pytest.approx(auc.statistic * 45 + 7.0)
    by_influence = metric_interval(y_true, y_score, metric=CenteredRank(), method="influence")
    half = stats.t.ppf(0.975, 14) * by_influence.standard_error
    assert_allclose(limits_of(by_influence), [found.statistic - half, found.statistic + half])
    assert by_influence.standard_error == pytest.approx(45 * auc.standard_error, rel=0.05)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_average_precision_on_the_g_scale(level):
    y_true, y_score = sample(1)
    found = metric_interval(y_true, y_score, confidence_level=level)
    value = average_precision_score(y_true, y_score)
    assert found.statistic == pytest.approx(value, rel=1e-12)
    reach = stats.t.ppf((1 + level) / 2, 14) * found.standard_error / (-value * math.log(value))
    for limit, side in ((found.low, -1.0), (found.high, 1.0)):
        # g(limit) - g(AP), g(t) = -log(-log t).
        distance = math.log(-math.log(value)) - math.log(-math.log(limit))
        assert distance == pytest.approx(side * reach, rel=1e-9)


@pytest.mark.parametrize("structure", ["plain", "ties", "one negative more", "far", "perfect"])
def test_roc_auc_limits_solve_the_score_equation(structure):
    y_true, y_score = sample(2)
    if structure == "ties":
        y_score = np.round(y_score)
    if structure == "one negative more":
        y_true = np.arange(60) < 58
    if structure == "far":
        y_score = y_score + 2.5 * y_true
    if structure == "perfect":
        y_score = y_score + 100.0 * y_true
    found = metric_interval(y_true, y_score, metric="roc_auc")
    m, n0 = int(y_true.sum()), int((~y_true).sum())

    def variance(theta):
        both = (m + n0) / 2 - 1
        inner = 1 + both * (1 - theta) / (2 - theta) + both * theta / (1 + theta)
        return theta * (1 - theta) * inner / (m * n0)

    auc, delong = found.statistic, found.standard_error**2
    ratio = delong / variance(auc) if structure != "perfect" else 0.0
    scale = max((1 + ratio) / 2, ratio) if ratio else 1.0

    def excess(theta):
        return (auc - theta) ** 2 - stats.t.ppf(0.975, m - 1) ** 2 * scale * variance(theta)

    # v is 0 at the ends, where the square is not.
    assert found.low == pytest.approx(brentq(excess, 1e-12, auc - 1e-9), rel=1e-9)
    if structure != "perfect":
        high = brentq(excess, auc, 1 - 1e-12, xtol=1e-14)
        assert found.high == pytest.approx(high, rel=1e-9)
    else:
        assert found.high == pytest.approx(1.0, abs=1e-12)


def slope(hits_in_order, k):
    """Share of positives about rank k: a window, and the prevalence as one place more."""
    n = hits_in_order.size
    d = min(max(2, round(k**0.8 / 2)), k - 1, n - k)
    return (hits_in_order[k - d : k + d].sum() + hits_in_order.mean()) / (2 * d + 1)


def test_delongs_interval_is_that_of_proc():
    """Its example: 113 patients by NDKA, best first; a pair of digits in brackets is one block."""
    patients = (
        "101010100111100010011110000100011[10]001101100100[10]01000001001011100000010010000[10]10[00]"
        "01001100000010000000001110010"
    )
    blocks = re.findall(r"\[(\d+)\]|(\d)", patients)
    labels = ["".join(block) for block in blocks]
    ranking = Ranking.from_counts(list(map(len, labels)), [own.count("1") for own in labels])
    assert (ranking.n_samples, ranking.n_positives) == (113, 41)
    found = metric_interval(ranking, metric="roc_auc", method="delong")
    assert_allclose(
        [found.low, found.statistic, found.high],
        [0.501244999271703, 0.611957994579946, 0.722670989888189],
        rtol=1e-14,
    )


@pytest.mark.parametrize("k", [3, 10, 25, 45])
def test_recall_limits_solve_the_score_equation(k):
    y_true, y_score = sample(5)
    n, m, n0 = 60, 15, 45
    hits = y_true[np.argsort(-y_score)]
    h, share = int(hits[:k].sum()), slope(hits, k)
    t = stats.t.ppf(0.975, m - 1)

    def excess(kappa):
        f = (k - m * kappa) / n0
        of_positives = (1 - share) ** 2 * kappa * (1 - kappa) / m
        return (h / m - kappa) ** 2 - t**2 * (of_positives + share**2 * n0 * f * (1 - f) / m**2)

    lowest, highest = max(0.0, (k - n0) / m), min(1.0, k / m)
    low = brentq(excess, lowest - 1, h / m) if excess(lowest) > 0 else lowest
    high = brentq(excess, h / m, highest) if excess(highest) > 0 else highest
    found = metric_interval(y_true, y_score, metric=f"recall@{k}")
    assert_allclose(limits_of(found), [low, high], rtol=1e-9, atol=1e-12)
    # Precision and enrichment count the same hits.
    for name, factor in (("precision", m / k), ("enrichment", n / k)):
        for method in METHODS[f"{name}@8"]:
            other = metric_interval(y_true, y_score, metric=f"{name}@{k}", method=method)
            recall = metric_interval(y_true, y_score, metric=RecallAtK(k), method=method)
            assert_allclose(limits_of(other), np.multiply(limits_of(recall), factor), rtol=1e-12)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_binomial_and_plus_limits_of_recall(level):
    y_true, y_score = sample(6)
    hits = y_true[np.argsort(-y_score)]
    h, share = int(hits[:20].sum()), slope(hits, 20)
    options = {"metric": "recall@20", "confidence_level": level}
    exact = stats.binomtest(h, 15).proportion_ci(level, method="exact")
    found = metric_interval(y_true, y_score, method="clopper_pearson", **options)
    assert_allclose(limits_of(found), exact, rtol=1e-9)
    # Two of four more positives are in the top k, which has two places more.
    kappa, part, n, m = (h + 2) / 19, 22 / 64, 64, 19
    prevalence = m / n
    variance = kappa * (1 - kappa) * (1 - 2 * share) / m
    variance += share**2 * part * (1 - part) / (n * prevalence**2)
    half = stats.norm.ppf((1 + level) / 2) * math.sqrt(variance)
    found = metric_interval(y_true, y_score, method="plus", **options)
    assert_allclose(limits_of(found), [kappa - half, min(kappa + half, 1.0)], rtol=1e-9)


def test_boyds_limits_of_average_precision_of_three_tenths():
    # 25 of the first 50 items are positives, all equal, and 25 of the next 450: (1/2 + 1/10) / 2.
    ranking = Ranking.from_counts([50, 450, 100], [25, 25, 0])
    logit = metric_interval(ranking, method="logit")
    assert logit.statistic == pytest.approx(0.3, rel=1e-12)
    assert_allclose(limits_of(logit), [0.1896700, 0.4396852], atol=5e-8)
    binomial = metric_interval(ranking, method="binomial")
    assert_allclose(limits_of(binomial), [0.17298, 0.42702], atol=5e-6)


def simulated(metric, shifts, n, m, n_draws=3000):
    """Values of a function of the ranks of the positives under shifts of normal scores."""
    rng = np.random.default_rng(99)
    positives, negatives = rng.normal(size=(n_draws, m)), np.sort(rng.normal(size=(n_draws, n - m)))
    values = np.empty((len(shifts), n_draws))
    for row, shift in enumerate(shifts):
        moved = -np.sort(-(positives + shift))
        above = np.array(
            [n - m - np.searchsorted(own, x) for own, x in zip(negatives, moved, strict=True)]
        )
        values[row] = metric(above + np.arange(1, m + 1))
    return values


def test_binormal_limits_are_where_the_value_is_in_a_tail():
    y_true, y_score = sample(7, n=50, m=10)
    found = metric_interval(y_true, y_score, metric="dcg")
    shifts = np.linspace(-0.5, 3.0, 36)
    values = simulated(lambda ranks: (1 / np.log2(ranks + 1)).sum(axis=1), shifts, 50, 10)
    means = values.mean(axis=1)
    upper = (values >= found.statistic).mean(axis=1)
    lower = (values <= found.statistic).mean(axis=1)
    low = np.interp(0.025, upper, means)
    high = np.interp(-0.025, -lower, means)
    # 3000 draws give a tail of 0.025 to 0.003, which moves a limit by a hundredth or two.
    assert_allclose(limits_of(found), [low, high], atol=0.05)
    assert high - low > 0.8


def test_calibrated_limits_are_quantiles_of_the_studentized_value():
    n, m = 50, 10
    y_true, y_score = sample(8, n=n, m=m)
    found = metric_interval(y_true, y_score, method="calibrated")
    assert found.target.startswith("expected average precision of items of this size")

    def parts(ranks):
        """Average precision and variance of each row of ranks."""
        hits = np.arange(1, m + 1)
        precision = hits / ranks
        behind = np.cumsum(((1 - precision) / ranks)[:, ::-1], axis=1)[:, ::-1]
        own = (precision + behind) / m
        lost = np.cumsum((precision / ranks)[:, ::-1], axis=1)[:, ::-1] / m
        # Negatives between two hits lose the contributions of all hits behind them.
        gaps = np.diff(ranks, prepend=0, axis=1) - 1
        last = n - ranks[:, -1:]
        mean = (gaps * lost).sum(axis=1, keepdims=True) / (n - m)
        squares = (gaps * (lost - mean) ** 2).sum(axis=1) + (last * mean**2)[:, 0]
        variance = m / (m - 1) * ((own - own.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        return precision.mean(axis=1), variance + (n - m) / (n - m - 1) * squares

    def g(t):
        return -np.log(-np.log(t))

    ranks = np.flatnonzero(y_true[np.argsort(-y_score)])[None] + 1
    value, variance = (part[0] for part in parts(ranks))
    assert_allclose([value, variance], [found.statistic, found.standard_error**2], rtol=1e-10)
    shifts = np.linspace(0.0, 3.0, 31)
    scale = simulated(lambda r: g(np.minimum(parts(r)[0], 1 - 0.5 / (m * (m + 1)))), shifts, n, m)
    fitted = np.interp(g(value), scale.mean(axis=1), shifts)
    both = np.array(
        [simulated(lambda r, i=i: parts(r)[i], [fitted], n, m, 6000)[0] for i in (0, 1)]
    )
    drawn, spread = both[0], np.sqrt(both[1]) * -1.0 / (both[0] * np.log(both[0]))
    t = (g(drawn) - g(drawn.mean())) / spread
    error = found.standard_error * -1.0 / (value * math.log(value))
    expected = np.exp(-np.exp(-(g(value) - np.quantile(t, [0.975, 0.025]) * error)))
    assert_allclose(limits_of(found), expected, atol=0.02)


# ---------------------------------------------------------------------------------------------
# Ends and edges
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 2, 10])
def test_perfect_average_precision_has_the_exact_limit_of_all_of_m(m):
    y_true = np.arange(30) < m
    found = metric_interval(y_true, -np.arange(30.0))
    assert found.statistic == found.high == 1.0
    assert found.low == pytest.approx(stats.binomtest(m, m).proportion_ci(0.95).low)
    # With calibration it is the inversion in the binormal model.
    if m > 1:
        calibrated = metric_interval(y_true, -np.arange(30.0), method="calibrated")
        assert found.low - 0.2 < calibrated.low < 1.0 == calibrated.high


def test_no_hit_in_the_top_k_bounds_average_precision_at_k():
    y_true = np.arange(40) >= 30
    found = metric_interval(y_true, -np.arange(40.0), metric="average_precision@5")
    assert (found.statistic, found.low) == (0.0, 0.0)
    # Recall at most, with all of it at the first places: min(m, k) = 5 of 10 positives.
    recall = stats.binomtest(0, 10).proportion_ci(0.95).high
    assert found.high == pytest.approx(recall * 10 / 5)
    positives = metric_interval(
        y_true, -np.arange(40.0), metric=AveragePrecision(k=5, normalize="positives")
    )
    assert positives.high == pytest.approx(recall)


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("score", ["constant", "two values", "reversed"])
def test_structures(name, score):
    y_true = np.arange(40) < 10
    y_score = {
        "constant": np.zeros(40),
        "two values": (np.arange(40) % 4 == 0) * 1.0,
        "reversed": np.arange(40.0),
    }[score]
    for method in METHODS[name]:
        found = metric_interval(y_true, y_score, method=method, **options_of(name))
        assert np.isfinite([found.low, found.high]).all()
        assert found.low <= found.high
        assert found.low - 1e-12 <= found.statistic <= found.high + 1e-12


def test_a_constant_score_has_the_prevalence_and_no_error():
    y_true = np.arange(40) < 10
    found = metric_interval(y_true, np.full(40, 3.0))
    assert_allclose([found.statistic, found.low, found.high], 0.25, rtol=1e-12)
    assert found.standard_error == pytest.approx(0.0, abs=1e-12)
    auc = metric_interval(y_true, np.full(40, 3.0), metric="roc_auc")
    assert auc.low == pytest.approx(1.0 - auc.high)


def test_all_of_k():
    y_true, y_score = sample()
    found = metric_interval(y_true, y_score, metric="average_precision@60")
    assert found.metric == AveragePrecision()
    assert_same(found, metric_interval(y_true, y_score))
    recall = metric_interval(y_true, y_score, metric=RecallAtK(60))
    assert limits_of(recall) == (1.0, 1.0)


@pytest.mark.usefixtures("few_draws")
def test_scores_count_by_their_order():
    y_true, y_score = sample(9)
    y_score = np.round(y_score, 1)
    for name, method in WITH_METHODS:
        if method == "binormal" and name != "ndcg":
            continue  # simulated, and all in one way
        options = {"method": method, **options_of(name)}
        plain = metric_interval(y_true, y_score, **options)
        assert_same(plain, metric_interval(y_true, np.exp(y_score), **options))
        order = np.random.default_rng(0).permutation(60)
        assert_same(plain, metric_interval(y_true[order], y_score[order], **options))
        ranking = Ranking.from_scores(y_true, y_score)
        assert_same(plain, metric_interval(ranking, **options))


def test_rankings_of_merged_negatives_do():
    merged = Ranking([3, 9], [2, 0], has_all_ties=False)
    apart = Ranking([3] + [1] * 9, [2] + [0] * 9)
    assert_same(metric_interval(merged), metric_interval(apart))


def test_labels_and_containers():
    y_true, y_score = sample()
    plain = metric_interval(y_true, y_score)
    words = np.where(y_true, "hit", "miss")
    for labels, options in (
        (y_true.astype(int), {}),
        (words, {"pos_label": "hit"}),
        (words.tolist(), {"pos_label": "hit"}),
    ):
        assert_same(plain, metric_interval(labels, y_score.tolist(), **options))
    for frame in (pd, pl):
        series = frame.Series(y_true.astype(int)), frame.Series(y_score)
        assert_same(plain, metric_interval(*series))
        numbers = frame.Series(np.arange(60))
        assert_same(plain, metric_interval(*series, clusters=numbers))


# ---------------------------------------------------------------------------------------------
# Several classes
# ---------------------------------------------------------------------------------------------


def classes(n=90):
    rng = np.random.default_rng(11)
    labels = np.array(["ash", "elm", "oak"])[np.arange(n) % 3]
    names = np.unique(labels)
    return labels, rng.normal(size=(n, 3)) + (labels[:, None] == names), names


@pytest.mark.usefixtures("few_draws")
@pytest.mark.parametrize("name", ["average_precision", "roc_auc", "recall@8", "dcg"])
@pytest.mark.parametrize("clustered", [False, True])
def test_classes_are_one_against_the_rest(name, clustered):
    labels, y_score, names = classes()
    options = {**options_of(name), "clusters": np.arange(90) // 2 if clustered else None}
    found = metric_interval(labels, y_score, **options)
    assert list(found) == names.tolist()
    for column, label in enumerate(names):
        assert_same(found[label], metric_interval(labels == label, y_score[:, column], **options))


def test_indicator_matrices_take_names_from_columns():
    labels, y_score, names = classes()
    matrix = pd.DataFrame({name: (labels == name).astype(int) for name in names})
    found = metric_interval(matrix, y_score)
    assert list(found) == names.tolist()
    for name, other in metric_interval(labels, y_score).items():
        assert_same(found[name], other)
    assert list(metric_interval(matrix.to_numpy(), y_score)) == [0, 1, 2]
    # Samples may be of several classes.
    matrix["elm"] = 1 - matrix["elm"]
    other = metric_interval(matrix, y_score)
    assert_same(other["elm"], metric_interval(matrix["elm"], y_score[:, 1]))


def test_jobs_and_seeds():
    labels, y_score, _ = classes(30)
    with joblib.parallel_config(backend="threading"):
        one, two = (metric_interval(labels, y_score, metric="bedroc", n_jobs=j) for j in (1, 2))
    for name, of in one.items():
        assert_same(of, two[name], rtol=0)
    y_true, y_score = sample()
    seeds = [0, np.random.RandomState(0), np.random.default_rng(0), None]
    found = [metric_interval(y_true, y_score, metric="dcg", random_state=s).low for s in seeds]
    assert found[0] == metric_interval(y_true, y_score, metric="dcg").low
    assert len(set(found)) == 4
    assert_allclose(found, found[0], atol=0.3)


# ---------------------------------------------------------------------------------------------
# Queries
# ---------------------------------------------------------------------------------------------


def queries(n_queries=12, size=10):
    rng = np.random.default_rng(12)
    groups = np.repeat(np.arange(n_queries), size)
    y_true = np.tile(np.arange(size) < 3, n_queries)
    return y_true, rng.normal(size=groups.size) + y_true, groups


@pytest.mark.parametrize("metric", ["average_precision", "reciprocal_rank", "ndcg", "recall@3"])
def test_the_mean_over_queries_has_the_t_interval(metric):
    y_true, y_score, groups = queries()
    found = metric_interval(y_true, y_score, metric=metric, groups=groups)
    values = [
        metric_test(y_true[groups == q], y_score[groups == q], metric=metric).statistic
        for q in range(12)
    ]
    expected = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert found.method == "t"
    assert_allclose(limits_of(found), expected, rtol=1e-10)
    assert found.statistic == pytest.approx(np.mean(values))
    assert found.standard_error == pytest.approx(stats.sem(values))
    assert (found.n_queries, found.n_samples, found.n_positives) == (12, 120, 36)
    assert "over the population of queries" in found.target


def test_the_bootstrap_over_queries_is_scipys():
    y_true, y_score, groups = queries()
    options = {"groups": iter(groups.tolist()), "method": "bootstrap", "n_resamples": 4000}
    found = metric_interval(y_true, y_score, **options)
    values = [average_precision_score(y_true[groups == q], y_score[groups == q]) for q in range(12)]
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="BCa", random_state=5
    ).confidence_interval
    assert_allclose(limits_of(found), expected, atol=0.02)
    again = metric_interval(y_true, y_score, **{**options, "groups": groups})
    assert limits_of(again) == limits_of(found)
    other = metric_interval(y_true, y_score, **{**options, "groups": groups, "random_state": 1})
    assert limits_of(other) != limits_of(found)


@pytest.mark.parametrize("method", ["t", "bootstrap"])
def test_equal_queries_have_no_error(method):
    y_true, y_score = np.tile([0, 1, 1], 7), np.tile([1.0, 2.0, 0.1], 7)
    found = metric_interval(y_true, y_score, groups=np.arange(21) // 3, method=method)
    assert_allclose([found.low, found.high], found.statistic)
    assert found.standard_error == 0.0


def test_queries_without_positives_count_with_zero():
    y_true, y_score, groups = queries()
    y_true = y_true & (groups > 1)
    with pytest.warns(UndefinedMetricWarning, match="2 of 12 queries have no positives"):
        found = metric_interval(y_true, y_score, groups=groups)
    values = [
        average_precision_score(y_true[groups == q], y_score[groups == q]) for q in range(2, 12)
    ]
    assert found.statistic == pytest.approx(np.sum(values) / 12)
    assert found.standard_error == pytest.approx(stats.sem([0.0, 0.0, *values]))


# ---------------------------------------------------------------------------------------------
# Results
# ---------------------------------------------------------------------------------------------


def test_result_of_one_ranking():
    found = metric_interval(*sample(), metric="average_precision@0.1", confidence_level=0.9)
    assert repr(found) == (
        f"MetricIntervalResult(metric={found.metric}, statistic={found.statistic:.4g}, "
        f"low={found.low:.4g}, high={found.high:.4g}, confidence_level=0.9, method='influence')"
    )
    expected = (
        f"Average precision at 6 was {found.statistic:.3g} (90 % confidence interval "
        f"{found.low:.3g} to {found.high:.3g}; from influence values)."
    )
    assert found.summary() == expected
    numbers = found.to_dict()
    assert numbers["low"] == found.low
    assert numbers["target"] == found.target
    assert (numbers["n_samples"], numbers["n_positives"]) == (found.n_samples, found.n_positives)
    assert type(numbers["statistic"]) is float


def test_result_of_queries():
    y_true, y_score, groups = queries()
    over = metric_interval(y_true, y_score, groups=groups, metric="ndcg")
    assert over.summary().startswith("Mean NDCG over 12 queries was ")
    assert "n_queries=12" in repr(over)


def test_the_target_names_the_covered_value():
    data = sample()
    population = " in the population, at the prevalence of the sample"
    assert metric_interval(*data).target == "average precision" + population
    assert metric_interval(*data, metric="roc_auc").target == "ROC AUC" + population
    assert "in the binormal model" in metric_interval(*data, metric="dcg").target


# ---------------------------------------------------------------------------------------------
# Arguments that are wrong
# ---------------------------------------------------------------------------------------------

Y, S = sample()
RANKING = Ranking.from_scores(Y, S)
WRONG = [
    ((Y, S), {"confidence_level": 1.0}, ValueError, "confidence_level must lie between 0 and 1"),
    ((Y, S), {"confidence_level": math.nan}, ValueError, "got nan"),
    ((Y, S), {"n_resamples": 0}, ValueError, "n_resamples must be at least 1; got 0"),
    ((Y, S), {"n_resamples": 9.5}, TypeError, "n_resamples must be an integer; got 9.5"),
    ((Y, S), {"metric": "map"}, ValueError, "did you mean 'average_precision'"),
    ((Y, S), {"metric": RocAuc}, TypeError, r"got the class RocAuc: pass RocAuc\(\)"),
    ((Y, S), {"metric": "recall"}, ValueError, "recall needs a cut-off: metric='recall@50'"),
    ((Y, S), {"metric": "roc_auc@3"}, ValueError, "roc_auc has no cut-off; pass"),
    (
        (Y, S),
        {"metric": "average_precision@61"},
        ValueError,
        "k must be between 1 and n_samples=60; got 61",
    ),
    ((Y, S), {"method": "bca"}, ValueError, "method must be one of 'auto', .*'binomial' for aver"),
    (
        (Y, S),
        {"metric": "average_precision@5", "method": "logit"},
        ValueError,
        "one of 'auto', 'influence' for average",
    ),
    (
        (Y, S),
        {"method": "logit", "clusters": np.arange(60)},
        ValueError,
        "method='logit' needs independent items.*use method='influence'",
    ),
    (
        (Y, S),
        {"method": "binomial", "clusters": np.arange(60)},
        ValueError,
        "method='binomial' needs independent items.*use method='influence'",
    ),
    (
        (Y, S),
        {"metric": "dcg", "method": "binormal", "clusters": np.arange(60)},
        ValueError,
        "use method='influence'",
    ),
    ((Y, S), {"clusters": [1, 2]}, ValueError, "each of the 60 items; it has 2 entries"),
    ((Y, S), {"clusters": 5}, TypeError, "clusters must hold the cluster of each item; got 5"),
    (
        (Y, S),
        {"metric": "reciprocal_rank"},
        ValueError,
        "Reciprocal rank of one ranking depends on a single item.*pass groups",
    ),
    ((Y, S), {"metric": ReciprocalRank(), "clusters": np.arange(60)}, ValueError, "pass groups"),
    ((np.zeros(60), S), {}, ValueError, "y_true has no positives"),
    ((np.ones(60), S), {}, ValueError, "y_true has no negatives"),
    ((np.ones(60), S), {"clusters": np.arange(60)}, ValueError, "y_true has no negatives"),
    ((Ranking([4], [4]),), {}, ValueError, "y_true has no negatives"),
    ((Y,), {}, TypeError, "y_score is missing"),
    ((RANKING, S), {}, TypeError, "y_score must be left out when y_true is a Ranking"),
    ((RANKING,), {"clusters": np.arange(60)}, TypeError, "clusters needs y_true and y_score"),
    ((RANKING, S), {"groups": np.arange(60)}, TypeError, "groups needs y_true and y_score"),
    ((Y,), {"groups": np.arange(60)}, TypeError, "groups needs y_true and y_score"),
    ((Y, np.c_[S, S]), {}, ValueError, "y_score must be one-dimensional; got shape"),
    ((Y, S[:-1]), {}, ValueError, "got 60 labels and 59 scores"),
    ((Y, np.where(Y, math.nan, S)), {}, ValueError, "y_score must be finite; got nan"),
    ((np.arange(60) % 3, S), {}, ValueError, "y_true holds 3 different labels"),
    ((Y, S), {"pos_label": "hit"}, ValueError, "pos_label='hit' is not a label of y_true"),
    ((Y, S), {"groups": np.zeros(60)}, ValueError, "needs at least 2 queries; got 1"),
    (
        (Y, S),
        {"groups": np.arange(60) % 4, "clusters": np.arange(60)},
        ValueError,
        "clusters cannot be combined with groups",
    ),
    (
        (Y, S),
        {"groups": np.arange(60) % 4, "method": "influence"},
        ValueError,
        "method must be one of 'auto', 't', 'bootstrap' over queries; got 'influence'",
    ),
    (
        (np.c_[Y, ~Y, Y & ~Y].astype(int), np.c_[S, S, S]),
        {},
        ValueError,
        "the class 2 has no positives",
    ),
]


@pytest.mark.parametrize(("data", "options", "error", "message"), WRONG)
def test_errors(data, options, error, message):
    with pytest.raises(error, match=message):
        metric_interval(*data, **options)


def test_an_estimator_is_no_ranking():
    X, _ = make_classification(random_state=0)
    with pytest.raises(TypeError, match="labels; got an estimator, LogisticRegression"):
        metric_interval(LogisticRegression(), X)


def test_negatives_in_one_block_matter_at_a_cut_off_alone():
    merged = Ranking([1, 3, 1, 4], [1, 0, 1, 0], has_all_ties=False)
    alone = Ranking([1] * 9, [1, 0, 0, 0, 1, 0, 0, 0, 0])
    for metric in ("average_precision", "roc_auc"):
        one, other = (metric_interval(ranking, metric=metric) for ranking in (merged, alone))
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-12)
    with pytest.raises(ValueError, match="Recall at 3 depends on the items at one rank"):
        metric_interval(merged, metric="recall@3")
