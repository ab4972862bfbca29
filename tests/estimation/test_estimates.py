"""Standard errors of metrics and of differences against derivatives, deletions and formulas.

A weighted metric of scikit-learn, differentiated by the weight of each item, is the influence
values are; sums over ranks are compared with their values without each item.
"""

import csv
import math
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn import config_context
from sklearn.metrics import average_precision_score, dcg_score, ndcg_score, roc_auc_score

from sklearn_rankinf import Ranking, metric_comparison_test, metric_interval

ASAH = Path(__file__).parents[1] / "data" / "asah.csv"


def asah():
    """Labels and two scores of 113 patients."""
    with ASAH.open() as lines:
        rows = list(csv.DictReader(lines))
    outcome = np.array([row["outcome"] for row in rows])
    return outcome, *(np.array([float(row[name]) for row in rows]) for name in ("wfns", "s100b"))


def two_class_variance(values, positive):
    """Sum over both classes of n / (n - 1) times the sum of squares about the mean."""
    total = 0.0
    for own in (values[positive], values[~positive]):
        total += own.size**2 * np.var(own, ddof=1) / own.size
    return total


def weight_derivatives(metric, y_true, y_score):
    """Central differences of a metric by the weight of each item, computed once."""
    return _weight_derivatives(metric, tuple(y_true.tolist()), tuple(y_score.tolist()))


@lru_cache
def _weight_derivatives(metric, y_true, y_score):
    step = 1e-4
    moves = step * np.eye(len(y_true))
    y_true, y_score = np.array(y_true), np.array(y_score)
    with config_context(skip_parameter_validation=True):
        differences = [
            metric(y_true, y_score, sample_weight=1.0 + move)
            - metric(y_true, y_score, sample_weight=1.0 - move)
            for move in moves
        ]
    return np.array(differences) / (2.0 * step)


def structures():
    """Labels and scores: none equal, large blocks, few of a class, hits at the top or bottom."""
    rng = np.random.default_rng(20)
    label = np.arange(24) < 7
    shifted = rng.normal(size=24) + label
    yield pytest.param(label, shifted, id="no ties")
    yield pytest.param(label, np.round(shifted), id="few levels")
    yield pytest.param(label, (shifted > 0.5).astype(float), id="two blocks")
    yield pytest.param(np.arange(24) < 21, rng.normal(size=24), id="nearly all positive")
    yield pytest.param(np.arange(24) < 2, rng.normal(size=24), id="two positives")
    yield pytest.param(label, np.where(label, -1.0, 0.0) + 0.01 * shifted, id="hits at the bottom")
    yield pytest.param(np.arange(12) % 2 == 0, -np.arange(12.0), id="every second")


STRUCTURES = list(structures())


# ---------------------------------------------------------------------------------------------
# Published values
# ---------------------------------------------------------------------------------------------


def test_delong_of_published_data():
    outcome, wfns, s100b = asah()
    known = (
        ("wfns", wfns, 0.823678861788618, 0.00146991470882363),
        (
            "s100b",
            s100b,
            0.731368563685637,
            0.00266868245717244,
        ),
    )
    for _, score, auc, variance in known:
        found = metric_interval(outcome, score, metric="roc_auc", pos_label="Poor")
        assert found.statistic == pytest.approx(auc, abs=1e-12)
        assert found.standard_error**2 == pytest.approx(variance, abs=1e-14)
        by_name = metric_interval(
            outcome, score, metric="roc_auc", pos_label="Poor", method="delong"
        )
        half = stats.norm.ppf(0.975) * math.sqrt(variance)
        assert_allclose([by_name.low, by_name.high], [auc - half, auc + half], atol=1e-12)
    found = metric_comparison_test(
        outcome, {"wfns": wfns, "s100b": s100b}, metric="roc_auc", pos_label="Poor", method="delong"
    )
    assert found.difference / found.standard_error == pytest.approx(2.20898359144091, abs=1e-10)
    assert found.pvalue == pytest.approx(0.0271757822291882, abs=1e-12)
    limits = 0.0104061769564846, 0.174214419249478
    assert_allclose(found.confidence_interval(), limits, atol=1e-10)
    # The covariance follows from the variances of both and of the difference.
    variances = known[0][3] + known[1][3]
    covariance = (variances - found.standard_error**2) / 2.0
    assert covariance == pytest.approx(0.00119615567376754, abs=1e-14)


def test_average_precision_of_eight_items():
    ranking = Ranking.from_counts([1] * 8, [1, 1, 0, 1, 0, 0, 0, 0])
    found = metric_interval(ranking)
    assert found.standard_error**2 == pytest.approx(1 / 144 + 1 / 256, rel=1e-12)
    assert found.standard_error == pytest.approx(0.1041667, abs=1e-7)


# ---------------------------------------------------------------------------------------------
# Every metric
# ---------------------------------------------------------------------------------------------


@pytest.mark.numeric
@pytest.mark.parametrize(("y_true", "y_score"), STRUCTURES)
@pytest.mark.parametrize(
    ("name", "metric"),
    [("average_precision", average_precision_score), ("roc_auc", roc_auc_score)],
)
def test_errors_follow_from_derivatives_of_the_weighted_metric(name, metric, y_true, y_score):
    found = metric_interval(y_true, y_score, metric=name)
    assert found.statistic == pytest.approx(metric(y_true, y_score), rel=1e-12)
    variance = two_class_variance(weight_derivatives(metric, y_true, y_score), y_true)
    assert found.standard_error == pytest.approx(math.sqrt(variance), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("y_true", "y_score"), STRUCTURES)
def test_roc_auc_has_delongs_variance_from_all_pairs(y_true, y_score):
    above, below = y_score[y_true][:, None], y_score[~y_true][None, :]
    psi = (above > below) + 0.5 * (above == below)
    variance = sum(np.var(psi.mean(axis=a), ddof=1) / psi.shape[1 - a] for a in (0, 1))
    found = metric_interval(y_true, y_score, metric="roc_auc")
    assert found.standard_error == pytest.approx(math.sqrt(variance), rel=1e-12, abs=1e-15)


def rie(y_true, y_score, alpha=20.0):
    """Robust initial enhancement, the mean over orders of equal scores."""
    n = y_score.size
    order = np.argsort(-y_score, kind="stable")
    weights = np.exp(-alpha * np.arange(1, n + 1) / n)
    by_item = np.empty(n)
    by_item[order] = weights
    own = [by_item[y_score == s].mean() for s in y_score[y_true]]
    return np.mean(own) / weights.mean()


def bedroc(y_true, y_score):
    n, m = y_true.size, int(y_true.sum())
    places = -np.arange(n, dtype=float)
    worst, best = (rie(first, places) for first in (np.arange(n) >= n - m, np.arange(n) < m))
    return (rie(y_true, y_score) - worst) / (best - worst)


def dcg(y_true, y_score):
    return dcg_score([y_true.astype(float)], [y_score])


def ndcg(y_true, y_score):
    return ndcg_score([y_true.astype(float)], [y_score])


@pytest.mark.parametrize(("y_true", "y_score"), STRUCTURES)
@pytest.mark.parametrize(
    ("name", "metric"), [("dcg", dcg), ("ndcg", ndcg), ("rie", rie), ("bedroc", bedroc)]
)
def test_errors_of_sums_over_ranks_are_those_of_deletions(name, metric, y_true, y_score):
    found = metric_interval(y_true, y_score, metric=name, method="influence")
    value, rows = metric(y_true, y_score), np.arange(y_true.size)
    assert found.statistic == pytest.approx(value, rel=1e-10, abs=1e-12)
    without = np.array([metric(y_true[rows != i], y_score[rows != i]) for i in rows])
    m, n0 = int(y_true.sum()), int((~y_true).sum())
    # A sum loses the contribution of the item; a mean, (m - 1) / m of the difference.
    of_positives = 1.0 if name == "dcg" else (m - 1) / m
    values = (value - without) * np.where(y_true, of_positives, (n0 - 1) / n0)
    variance = two_class_variance(values, y_true)
    assert found.standard_error == pytest.approx(math.sqrt(variance), rel=1e-8, abs=1e-10)


def slope(hits_in_order, k):
    """Share of positives about rank k: a window, and the prevalence as one place more."""
    n = hits_in_order.size
    d = min(max(2, round(k**0.8 / 2)), k - 1, n - k)
    return (hits_in_order[k - d : k + d].sum() + hits_in_order.mean()) / (2 * d + 1)


@pytest.mark.parametrize("k", [1, 2, 6, 15, 40, 59, 60])
def test_errors_of_hits_at_k(k):
    rng = np.random.default_rng(k)
    y_true = np.arange(60) < 18
    y_score = rng.normal(size=60) + y_true
    order = np.argsort(-y_score)
    hits = y_true[order]
    share = slope(hits, k)
    inside = 1.0 * (np.arange(60) < k)
    values = np.where(hits, inside * (1.0 - share), -inside * share)
    error = math.sqrt(two_class_variance(values, hits))
    for name, divisor in (("recall", 18), ("precision", k), ("enrichment", k * 18 / 60)):
        found = metric_interval(y_true, y_score, metric=f"{name}@{k}")
        assert found.statistic == pytest.approx(hits[:k].sum() / divisor)
        assert found.standard_error == pytest.approx(error / divisor, rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("k", [1, 3, 10, 18, 30])
def test_errors_of_average_precision_at_k(k):
    rng = np.random.default_rng(100 + k)
    y_true = np.arange(60) < 18
    y_score = rng.normal(size=60) + y_true
    hits = y_true[np.argsort(-y_score)]
    ranks, found_by = np.arange(1, 61), np.cumsum(hits)
    counted = hits & (ranks <= k)
    precision = found_by / ranks
    pushed_out = (ranks <= k) * (found_by[k - 1] / k) * slope(hits, k)
    # An item before a hit moves it down one rank; a positive adds one to the hits before it.
    gained = np.array([(counted * (1 - precision) / ranks)[i:].sum() for i in range(60)])
    lost = -np.array([(counted * precision / ranks)[i:].sum() for i in range(60)])
    own = np.where(ranks <= k, precision, 0.0)
    values = np.where(hits, own + gained, lost) - pushed_out
    divisor = min(18, k)
    result = metric_interval(y_true, y_score, metric=f"average_precision@{k}")
    assert result.statistic == pytest.approx(float(precision[counted].sum()) / divisor)
    error = math.sqrt(two_class_variance(values, hits)) / divisor
    assert result.standard_error == pytest.approx(error, rel=1e-10, abs=1e-14)


@pytest.mark.parametrize(
    "metric", ["average_precision", "roc_auc", "recall@5", "average_precision@5"]
)
def test_errors_are_the_spread_over_samples(metric):
    # The mean squared standard error is near the variance of the metric; it errs upwards.
    rng = np.random.default_rng(7)
    y_true = np.arange(300) < 60
    found = [
        metric_interval(y_true, rng.normal(size=300) + 0.8 * y_true, metric=metric)
        for _ in range(150)
    ]
    variance = np.var([one.statistic for one in found], ddof=1)
    stated = np.mean([one.standard_error**2 for one in found])
    # 150 draws give a variance to about an eighth, and at k = 5 the first places are few.
    assert 0.6 < stated / variance < 1.7


# ---------------------------------------------------------------------------------------------
# Clusters and strata
# ---------------------------------------------------------------------------------------------


def pair(seed, n=40, m=12, levels=None):
    rng = np.random.default_rng(seed)
    y_true = np.arange(n) < m
    a, b = (rng.normal(size=n) + y_true for _ in range(2))
    if levels:
        a, b = np.round(a * levels) / levels, np.round(b * levels) / levels
    return y_true, a, b


def error_of_difference(y_true, a, b, **options):
    found = metric_comparison_test(y_true, {"a": a, "b": b}, method="influence", **options)
    return found.standard_error


METHOD_IN_CLUSTERS = {"average_precision": "influence", "roc_auc": "score", "dcg": "influence"}


@pytest.mark.parametrize("metric", METHOD_IN_CLUSTERS)
def test_clusters_of_single_samples_change_nothing(metric):
    y_true, a, b = pair(1, levels=2)
    plain = metric_interval(y_true, a, metric=metric, method=METHOD_IN_CLUSTERS[metric])
    clustered = metric_interval(y_true, a, metric=metric, clusters=[f"c{i}" for i in range(40)])
    assert clustered.method == plain.method
    for name in ("statistic", "low", "high", "standard_error"):
        assert getattr(clustered, name) == pytest.approx(getattr(plain, name), rel=1e-12)
    single = np.arange(40)
    errors = [
        error_of_difference(y_true, a, b, metric=metric, **given)
        for given in ({}, {"clusters": single}, {"strata": ["one"] * 40})
    ]
    assert_allclose(errors, errors[0], rtol=1e-12)


def test_clusters_of_single_samples_change_nothing_at_k():
    y_true, a, _ = pair(1)
    for metric in ("recall@9", "precision@9", "enrichment@9"):
        plain, clustered = (
            metric_interval(y_true, a, metric=metric, clusters=clusters)
            for clusters in (None, np.arange(40))
        )
        assert_allclose(
            [clustered.low, clustered.high, clustered.standard_error],
            [plain.low, plain.high, plain.standard_error],
            rtol=1e-12,
        )


@pytest.mark.parametrize("metric", ["average_precision", "roc_auc"])
@pytest.mark.parametrize("times", [2, 5])
def test_duplicates_in_clusters_add_no_information(metric, times):
    y_true, a, b = pair(2, levels=3)
    copies = [np.repeat(x, times) for x in (y_true, a, b, np.arange(40))]
    # Blocks of equal scores grow as a whole, so that the metrics stay as they are.
    for score, copied in ((a, copies[1]), (b, copies[2])):
        plain = metric_interval(y_true, score, metric=metric)
        clustered = metric_interval(copies[0], copied, metric=metric, clusters=copies[3])
        for name in ("statistic", "standard_error"):
            assert getattr(clustered, name) == pytest.approx(getattr(plain, name), rel=1e-9)
        # The effective number of samples is a ratio of variances with factors m / (m - 1).
        for name in ("low", "high"):
            near = 1e-9 if metric == "average_precision" else 1e-3
            assert getattr(clustered, name) == pytest.approx(getattr(plain, name), rel=near)
        alone = metric_interval(copies[0], copied, metric=metric)
        # Without clusters the same data pretend to be more: 1 / (m r - 1) for 1 / (m - 1).
        assert alone.standard_error < plain.standard_error / math.sqrt(times)
        assert alone.standard_error > plain.standard_error / math.sqrt(times) * 0.94
    assert error_of_difference(*copies[:3], metric=metric, clusters=copies[3]) == pytest.approx(
        error_of_difference(y_true, a, b, metric=metric), rel=1e-9
    )


def test_duplicates_in_clusters_do_not_narrow_recall():
    y_true, a, _ = pair(3, n=80, m=30)
    plain = metric_interval(y_true, a, metric="recall@20")
    copies = [np.repeat(x, 4) for x in (y_true, a, np.arange(80))]
    clustered = metric_interval(copies[0], copies[1], metric="recall@80", clusters=copies[2])
    alone = metric_interval(copies[0], copies[1], metric="recall@80")
    assert clustered.statistic == plain.statistic
    width, half = plain.high - plain.low, alone.high - alone.low
    # The window of the slope grows less than four times, so that the widths agree roughly.
    assert clustered.high - clustered.low == pytest.approx(width, rel=0.1)
    assert half < 0.6 * width


def cluster_variance(values, y_true, clusters, strata):
    """Sum of squares of cluster totals of values that are centred in each class and stratum."""
    total = np.zeros(clusters.max() + 1)
    for stratum in np.unique(strata):
        for label in (True, False):
            inside = np.flatnonzero((strata == stratum) & (y_true == label))
            if inside.size:
                c = len(set(clusters[inside].tolist()))
                own = values[inside] - values[inside].mean()
                for item, value in zip(inside, own, strict=True):
                    total[clusters[item]] += value * math.sqrt(c / (c - 1))
    return float(total @ total)


@pytest.mark.numeric
@pytest.mark.parametrize("given", ["clusters", "strata", "both"])
def test_clusters_and_strata_by_definition(given):
    y_true, a, b = pair(4, n=36, m=15)
    rng = np.random.default_rng(4)
    clusters = rng.permutation(np.arange(36) % 12)
    strata = np.arange(36) % 3
    options = {
        "clusters": {"clusters": clusters},
        "strata": {"strata": strata},
        "both": {"clusters": clusters, "strata": strata},
    }[given]
    values = weight_derivatives(roc_auc_score, y_true, a) - weight_derivatives(
        roc_auc_score, y_true, b
    )
    expected = cluster_variance(
        values,
        y_true,
        clusters if given != "strata" else np.arange(36),
        strata if given != "clusters" else np.zeros(36),
    )
    found = error_of_difference(y_true, a, b, metric="roc_auc", **options)
    assert found == pytest.approx(math.sqrt(expected), rel=1e-6)


def test_strata_of_one_class_are_the_plain_design():
    # The numbers of positives and negatives are fixed without strata as well.
    y_true, a, b = pair(5)
    plain = error_of_difference(y_true, a, b)
    assert plain > 0.05
    assert error_of_difference(y_true, a, b, strata=y_true) == pytest.approx(plain, rel=1e-12)


def test_strata_that_explain_scores_narrow_the_error():
    rng = np.random.default_rng(6)
    site = np.arange(200) % 2
    y_true = np.arange(200) < 60
    a = rng.normal(size=200) + 4.0 * site + y_true
    b = rng.normal(size=200) + y_true
    options = {"metric": "roc_auc"}
    assert error_of_difference(y_true, a, b, strata=site, **options) < 0.9 * error_of_difference(
        y_true, a, b, **options
    )


def test_whole_clusters_are_the_sample():
    # Ten items of a patient that have one score each way are no more than one patient.
    rng = np.random.default_rng(8)
    patient = np.arange(300) // 10
    y_true = patient < 10
    y_score = rng.normal(size=30)[patient] + 0.01 * rng.normal(size=300) + y_true
    plain = metric_interval(y_true, y_score, metric="roc_auc")
    clustered = metric_interval(y_true, y_score, metric="roc_auc", clusters=patient)
    assert clustered.standard_error > 2.5 * plain.standard_error
    assert clustered.high - clustered.low > 2.0 * (plain.high - plain.low)


# ---------------------------------------------------------------------------------------------
# Classes of one item
# ---------------------------------------------------------------------------------------------

METRICS = [
    ("average_precision", (0.0, 1.0)),
    ("average_precision@4", (0.0, 1.0)),
    ("roc_auc", (0.0, 1.0)),
    ("recall@4", (0.0, 1.0)),
    ("precision@4", (0.0, 1.0)),
    ("dcg", None),
    ("bedroc", (0.0, 1.0)),
]


@pytest.mark.parametrize(("metric", "limits"), METRICS)
@pytest.mark.parametrize("few", ["positives", "negatives"])
def test_a_class_of_one_item_or_cluster_leaves_the_error_unknown(metric, limits, few):
    y_true = (np.arange(12) == 4) if few == "positives" else (np.arange(12) != 4)
    y_score = -np.arange(12.0)
    found = metric_interval(y_true, y_score, metric=metric)
    assert math.isnan(found.standard_error)
    assert found.low <= found.high
    # Twelve in each class, but one of the classes is a single cluster.
    twice, scores = np.repeat([True, False], 12), np.random.default_rng(0).normal(size=24)
    clusters = np.where(twice == (few == "positives"), 99, np.arange(24))
    clustered = metric_interval(twice, scores, metric=metric, clusters=clusters)
    assert math.isnan(clustered.standard_error)
    assert clustered.low <= clustered.statistic <= clustered.high
    if limits is not None and few == "positives" and "@" not in metric:
        assert_allclose([clustered.low, clustered.high], limits, atol=1e-12)


def test_one_positive_allows_every_value():
    y_true, y_score = np.arange(12) == 4, -np.arange(12.0)
    for metric in ("average_precision", "roc_auc"):
        found = metric_interval(y_true, y_score, metric=metric)
        assert (found.low, found.high) == (0.0, 1.0)
    found = metric_interval(y_true, y_score, metric="dcg", method="influence")
    assert_allclose([found.low, found.high], [1.0 / math.log2(13.0), 1.0])


def test_one_negative_allows_every_average_precision():
    found = metric_interval(np.arange(12) != 4, -np.arange(12.0))
    assert (found.low, found.high) == (0.0, 1.0)
    for method in ("calibrated", "influence"):
        assert metric_interval(np.arange(12) != 4, -np.arange(12.0), method=method).low == 0.0
    found = metric_interval(np.arange(12) != 4, -np.arange(12.0), metric="roc_auc", method="delong")
    assert (found.low, found.high) == (0.0, 1.0)
