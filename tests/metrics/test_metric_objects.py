"""Metrics as objects and by name: the same results everywhere; averages and imports."""

import copy
import functools
import itertools
import json
import math
import pickle
import warnings
from collections import Counter
from dataclasses import FrozenInstanceError, dataclass, replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from combinations import checkered
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, dcg_score, ndcg_score, roc_auc_score

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    EnrichmentAtK,
    FScoreAtK,
    NullDistributionDisplay,
    PrecisionAtK,
    PrecisionAtRecall,
    Ranking,
    RankStatistic,
    RecallAtFpr,
    RecallAtK,
    RecallAtPrecision,
    ReciprocalRank,
    RobustInitialEnhancement,
    RocAuc,
    RPrecision,
    average_precision_test,
    best_candidate_test,
    cross_val_significance,
    make_significance_scorer,
    metric_comparison_test,
    metric_group_comparison_test,
    metric_interval,
    metric_multiple_comparison_test,
    metric_null_distribution,
    metric_power,
    metric_test,
    rank_significance_report,
    recall_at_k_score,
    recall_at_k_test,
)
from sklearn_rankinf.__main__ import main
from sklearn_rankinf._metrics import as_metric, as_metric_or_average
from sklearn_rankinf._metrics.names import METRICS, needs_number
from sklearn_rankinf._significance.results import MetricTestResult

mpl.use("Agg")
import matplotlib.pyplot as plt


@dataclass(frozen=True)
class Zipf(RankStatistic):
    """A custom metric."""

    power: float = 1.0

    def weights(self, ranks, n_samples, n_positives):
        return ranks**-self.power


# Names, and the equal metric objects.
MEANT = {
    "average_precision": AveragePrecision(),
    "average_precision@10": AveragePrecision(10),
    "average_precision@0.2": AveragePrecision(k=0.2),
    "recall@10": RecallAtK(10),
    "precision@0.2": PrecisionAtK(0.2),
    "enrichment@10": EnrichmentAtK(k=10),
    "f_score@10": FScoreAtK(k=10),
    "roc_auc": RocAuc(),
    "dcg": DiscountedCumulativeGain(),
    "dcg@10": DiscountedCumulativeGain(10),
    "ndcg": DiscountedCumulativeGain(normalize=True),
    "ndcg@0.2": DiscountedCumulativeGain(0.2, normalize=True),
    "bedroc": Bedroc(20.0),
    "rie": RobustInitialEnhancement(alpha=20.0),
    "reciprocal_rank": ReciprocalRank(),
    "r_precision": RPrecision(),
    "precision_at_recall@0.3": PrecisionAtRecall(0.3),
    "recall_at_precision@0.3": RecallAtPrecision(precision=0.3),
    "recall_at_fpr@0.2": RecallAtFpr(0.2),
}
each_metric = pytest.mark.parametrize(("name", "metric"), MEANT.items(), ids=list(MEANT))

NUMBERS = ("statistic", "pvalue", "log10_pvalue", "zscore", "adjusted_statistic", "chance", "hits")


class GivenScores(ClassifierMixin, BaseEstimator):
    """A classifier whose decision is the first feature."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, 0]


@pytest.fixture(scope="module")
def data():
    """Labels of 6 positives among 30, and scores with ties."""
    rng = np.random.default_rng(3)
    y_true = rng.permutation(np.arange(30) < 6).astype(int)
    return y_true, np.round(rng.normal(size=30) + y_true, 1)


@pytest.fixture(scope="module")
def three_classes():
    rng = np.random.default_rng(4)
    y_true = rng.permutation(np.arange(24) % 3)
    return y_true, np.round(rng.normal(size=(24, 3)) + 0.7 * np.eye(3)[y_true], 1)


def assert_same_test(one, other):
    assert one.metric == other.metric
    for name in NUMBERS:
        assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("n_samples", "n_positives", "alternative", "method"):
        assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_every_name_is_meant():
    assert {name.partition("@")[0] for name in MEANT} == set(METRICS)


# By name and by instance.


@each_metric
@pytest.mark.parametrize("method", ["auto", "permutation", "normal"])
def test_tests_by_name_and_by_object(name, metric, method, data):
    if method not in ("auto", "permutation", *metric.approximations):
        method = "permutation"
    options = {"method": method, "n_resamples": 99}
    by_name = metric_test(*data, metric=name, **options)
    by_object = metric_test(*data, metric=metric, **options)
    assert_same_test(by_name, by_object)
    assert by_name.metric == metric.at(30)
    assert isinstance(by_name, MetricTestResult)


@pytest.mark.parametrize(
    ("test", "metric"),
    [
        (average_precision_test, AveragePrecision()),
        (functools.partial(recall_at_k_test, k=7), RecallAtK(7)),
    ],
)
@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_tests_of_single_metrics(test, metric, alternative, data):
    for options in ({}, {"strata": np.arange(30) % 3, "n_resamples": 99}):
        options["alternative"] = alternative
        assert_same_test(test(*data, **options), metric_test(*data, metric=metric, **options))


@pytest.mark.numeric
@each_metric
def test_null_distributions_by_name_and_by_object(name, metric, data):
    tie_sizes = Ranking.from_scores(*data).tie_sizes
    distributions = [
        metric_null_distribution(30, 6, metric=name, tie_sizes=tie_sizes),
        metric_null_distribution(30, 6, metric=metric, tie_sizes=tie_sizes),
        metric_test(*data, metric=metric).null_distribution,
    ]
    x = distributions[0].ppf([0.1, 0.5, 0.9, 0.99])
    for null in distributions:
        assert null.statistic == metric.at(30)
        assert (null.mean(), null.std()) == (distributions[0].mean(), distributions[0].std())
        assert_array_equal(null.pvalue(x), distributions[0].pvalue(x))


@each_metric
def test_scorers_by_name_and_by_object(name, metric, data):
    y_true, y_score = data
    fitted = GivenScores().fit(None, None)
    # Scorers draw fewer random labellings.
    result = metric_test(*data, metric=metric, n_resamples=999)
    for output, expected in (
        ("statistic", result.statistic),
        ("neg_log10_pvalue", -result.log10_pvalue),
        ("zscore", result.zscore),
        ("adjusted", result.adjusted_statistic),
    ):
        by_name = make_significance_scorer(name, output=output)
        by_object = make_significance_scorer(metric, output=output)
        found = by_object(fitted, y_score[:, None], y_true)
        assert found == by_name(fitted, y_score[:, None], y_true)
        # An exact p-value may be off by 1 percent in a scorer.
        assert found == pytest.approx(expected, rel=1e-12, abs=math.log10(1.01))
        again = pickle.loads(pickle.dumps(by_object))
        assert again(fitted, y_score[:, None], y_true) == found


@pytest.mark.numeric
@each_metric
def test_best_candidates_by_name_and_by_object(name, metric, data):
    y_true, y_score = data
    candidates = np.column_stack([y_score, -y_score, np.arange(30)])
    by_name = best_candidate_test(y_true, candidates, metric=name, n_resamples=99)
    by_object = best_candidate_test(y_true, candidates, metric=metric, n_resamples=99)
    for field in ("statistic", "zscore", "pvalue", "pvalue_unadjusted"):
        assert_array_equal(getattr(by_name, field), getattr(by_object, field))
    assert by_name.statistic[0] == pytest.approx(metric_test(*data, metric=metric).statistic)


@each_metric
def test_folds_by_name_and_by_object(name, metric, data):
    y_true, y_score = data
    # A fold has six samples.
    name, metric = name.replace("@10", "@5"), replace(metric, k=5) if "@10" in name else metric
    by_name = cross_val_significance(GivenScores(), y_score[:, None], y_true, metric=name)
    by_object = cross_val_significance(GivenScores(), y_score[:, None], y_true, metric=metric)
    assert by_name.pvalue == by_object.pvalue
    assert_array_equal(by_name.fold_pvalues, by_object.fold_pvalues)
    assert [one.metric for one in by_object.fold_tests] == [metric.at(6)] * 5


@each_metric
def test_displays_by_name_and_by_object(name, metric, data):
    y_true, y_score = data
    method = "normal" if metric.approximations else "permutation"
    options = {"plot_normal": False, "method": method}
    displays = [
        NullDistributionDisplay.from_predictions(*data, metric=name, **options),
        NullDistributionDisplay.from_predictions(*data, metric=metric, **options),
    ]
    if name in ("average_precision", "recall@10", "ndcg"):
        fitted = GivenScores().fit(None, None)
        displays.append(
            NullDistributionDisplay.from_estimator(
                fitted, y_score[:, None], y_true, metric=metric, **options
            )
        )
    for display in displays:
        assert_same_test(display.results, displays[0].results)
        assert display.ax_.get_xlabel() == metric.at(30).title
        value = float(display.text_.get_text().split(",")[0].replace("−", "-"))
        assert value == pytest.approx(display.results.statistic, rel=0.005)
    plt.close("all")


@each_metric
def test_reports_by_name_and_by_object(name, metric, data, tmp_path, capsys):
    expected = metric_test(*data, metric=metric).to_dict()
    report = rank_significance_report(*data, metric=metric)
    assert report.rankers[0].test.to_dict() == expected
    pd.DataFrame({"y": data[0], "s": data[1]}).to_csv(tmp_path / "rankings.csv")
    argv = ["report", str(tmp_path / "rankings.csv"), "--label", "y", "--score", "s", "--json"]
    assert main([*argv, "--metric", name]) == 0
    assert json.loads(capsys.readouterr().out)["rankers"][0]["metrics"] == [expected]


# k.


@pytest.mark.parametrize(
    ("metric", "error", "message"),
    [
        ("bedroc@7", ValueError, "metric='bedroc@7': bedroc has no cut-off; pass"),
        ("recall", ValueError, "recall needs a cut-off: metric='recall@50' counts the first 50"),
        ("dcg@0", ValueError, "k must be at least 1 as a number of items; got 0"),
        (RecallAtK, TypeError, r"got the class RecallAtK: pass RecallAtK\(k=\.\.\.\)"),
        (Bedroc, TypeError, r"got the class Bedroc: pass Bedroc\(\)"),
        ("xyz", ValueError, r"metric must be one of 'average_precision'.*; got 'xyz'"),
        (roc_auc_score, ValueError, "or an instance of a metric such as Average"),
        (None, ValueError, "got None"),
    ],
)
def test_metrics_that_are_refused(metric, error, message, data):
    for call in (
        lambda: metric_test(*data, metric=metric),
        lambda: metric_null_distribution(30, 6, metric=metric),
        lambda: make_significance_scorer(metric),
        lambda: best_candidate_test(data[0], np.c_[data[1], data[1]], metric=metric),
        lambda: NullDistributionDisplay.from_predictions(*data, metric=metric),
        lambda: cross_val_significance(GivenScores(), data[1][:, None], data[0], metric=metric),
    ):
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize(
    ("make", "wrong", "error", "message"),
    [
        (AveragePrecision, {"k": 0}, ValueError, "k must be at least 1"),
        (AveragePrecision, {"k": 1.0}, ValueError, "k as a float is a fraction"),
        (AveragePrecision, {"k": "5"}, TypeError, "k must be an int or a float; got '5'"),
        (
            AveragePrecision,
            {"normalize": "k"},
            ValueError,
            "normalize must be one of 'min', 'positives'",
        ),
        (RecallAtK, {"k": -1}, ValueError, "k must be at least 1"),
        (PrecisionAtK, {"k": None}, TypeError, "k must be an int or a float; got None"),
        (EnrichmentAtK, {"k": [1, 2]}, TypeError, r"k must be an int or a float; got \[1, 2\]"),
        (DiscountedCumulativeGain, {"k": True}, TypeError, "k must be an int or a float; got True"),
        (DiscountedCumulativeGain, {"normalize": 1}, TypeError, "normalize must be True or False"),
        (FScoreAtK, {"k": 2, "beta": 0}, ValueError, "beta must be finite and larger than 0"),
        (FScoreAtK, {"k": 2, "beta": None}, TypeError, "beta must be a number; got None"),
        (Bedroc, {"alpha": 0}, ValueError, "alpha must be finite and larger than 0; got 0"),
        (RobustInitialEnhancement, {"alpha": "20"}, TypeError, "alpha must be a number; got '20'"),
    ],
)
def test_wrong_parameters_are_refused_at_once(make, wrong, error, message):
    with pytest.raises(error, match=message):
        make(**wrong)


def test_fractions_of_the_samples(data):
    # 0.15 of 30 samples are 4.5, and with 5 the same as with 0.15.
    for make in (
        AveragePrecision,
        RecallAtK,
        PrecisionAtK,
        EnrichmentAtK,
        FScoreAtK,
        DiscountedCumulativeGain,
    ):
        result = metric_test(*data, metric=make(0.15))
        assert result.k == result.metric.k == 5
        assert_same_test(result, metric_test(*data, metric=make(5)))
        assert make(0.15).k == 0.15
    assert RecallAtK(0.1).at(30) == RecallAtK(3)  # 0.1 * 30 is above 3 by rounding alone
    assert AveragePrecision(60).at(60) == AveragePrecision()


ALL_SAMPLES = [AveragePrecision(), DiscountedCumulativeGain(normalize=True)]


@pytest.mark.parametrize("metric", ALL_SAMPLES, ids=repr)
def test_k_of_all_samples(metric, data):
    of_all = metric_test(*data, metric=replace(metric, k=30))
    assert_same_test(metric_test(*data, metric=metric), of_all)


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        (AveragePrecision(), "AveragePrecision()"),
        (AveragePrecision(50), "AveragePrecision(k=50)"),
        (AveragePrecision(0.1, "positives"), "AveragePrecision(k=0.1, normalize='positives')"),
        (RecallAtK(50), "RecallAtK(k=50)"),
        (PrecisionAtK(0.5), "PrecisionAtK(k=0.5)"),
        (FScoreAtK(5), "FScoreAtK(k=5)"),
        (FScoreAtK(0.5, np.float32(2)), "FScoreAtK(k=0.5, beta=2.0)"),
        (RocAuc(), "RocAuc()"),
        (DiscountedCumulativeGain(), "DiscountedCumulativeGain()"),
        (DiscountedCumulativeGain(5, True), "DiscountedCumulativeGain(k=5, normalize=True)"),
        (Bedroc(), "Bedroc()"),
        (Bedroc(5.0), "Bedroc(alpha=5.0)"),
        (RobustInitialEnhancement(5.0), "RobustInitialEnhancement(alpha=5.0)"),
        (ReciprocalRank(), "ReciprocalRank()"),
        (RecallAtFpr(0.05), "RecallAtFpr(fpr=0.05)"),
        (Zipf(2.0), "Zipf(power=2.0)"),
    ],
)
def test_repr(metric, text):
    assert repr(metric) == text


@pytest.mark.parametrize(
    ("metric", "title", "symbol"),
    [
        (AveragePrecision(), "Average precision", "AP"),
        (AveragePrecision(5), "Average precision at 5", "AP@5"),
        (RecallAtK(5), "Recall at 5", "recall@5"),
        (PrecisionAtK(0.5), "Precision at 0.5", "precision@0.5"),
        (EnrichmentAtK(5), "Enrichment at 5", "enrichment@5"),
        (FScoreAtK(5), "F1 score at 5", "F1@5"),
        (FScoreAtK(9, beta=0.5), "F0.5 score at 9", "F0.5@9"),
        (RocAuc(), "ROC AUC", "ROC AUC"),
        (DiscountedCumulativeGain(5), "DCG at 5", "DCG@5"),
        (DiscountedCumulativeGain(normalize=True), "NDCG", "NDCG"),
        (Bedroc(), "BEDROC", "BEDROC"),
        (RobustInitialEnhancement(), "RIE", "RIE"),
        (ReciprocalRank(), "Reciprocal rank", "RR"),
        (PrecisionAtRecall(0.8), "Precision at recall 0.8", "precision@recall=0.8"),
        (RecallAtPrecision(0.5), "Recall at precision 0.5", "recall@precision=0.5"),
        (RecallAtFpr(0.01), "Recall at FPR 0.01", "recall@FPR=0.01"),
        (Zipf(), "Zipf", "Zipf"),
    ],
)
def test_titles(metric, title, symbol):
    assert (metric.title, metric.symbol) == (title, symbol)


DIFFERENT = [
    AveragePrecision(),
    AveragePrecision(5),
    AveragePrecision(5, "positives"),
    RecallAtK(5),
    PrecisionAtK(5),
    EnrichmentAtK(5),
    EnrichmentAtK(0.5),
    FScoreAtK(5),
    FScoreAtK(5, 2.0),
    RocAuc(),
    DiscountedCumulativeGain(),
    DiscountedCumulativeGain(5),
    DiscountedCumulativeGain(normalize=True),
    Bedroc(),
    Bedroc(5.0),
    RobustInitialEnhancement(),
    RobustInitialEnhancement(5.0),
    ReciprocalRank(),
    PrecisionAtRecall(0.5),
    PrecisionAtRecall(0.6),
    RecallAtPrecision(0.5),
    RecallAtFpr(0.5),
    Zipf(),
    Zipf(2.0),
]


def test_metrics_are_equal_if_kind_and_parameters_are():
    for one, other in itertools.product(DIFFERENT, repeat=2):
        assert (one == other) is (one is other)
    assert len(set(DIFFERENT)) == len(DIFFERENT)
    assert RecallAtK(np.int64(5)) == RecallAtK(5)


@pytest.mark.parametrize("metric", DIFFERENT, ids=repr)
def test_copies_of_metrics(metric):
    for duplicate in (copy.copy(metric), copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        assert duplicate == metric
        assert hash(duplicate) == hash(metric)
        assert repr(duplicate) == repr(metric)
    assert as_metric(metric) is metric


def test_which_names_need_a_number():
    needing = {name for name, make in METRICS.items() if needs_number(make)}
    points = {"precision_at_recall", "recall_at_precision", "recall_at_fpr"}
    assert needing == {"recall", "precision", "enrichment", "f_score"} | points


# Results.


@each_metric
def test_result_of_one_test(name, metric, data):
    result = metric_test(*data, metric=metric)
    counts = isinstance(metric, (RecallAtK, PrecisionAtK, EnrichmentAtK, FScoreAtK))
    assert result.summary().startswith(f"{metric.at(30).title} was {result.statistic:.3g} (chance ")
    way = "exact test" if metric.approximations else "permutation test with 9999 random labellings"
    assert result.summary().endswith(f"({way}, one-sided; 6 positives among 30 items).")
    assert (result.hits is None) is not counts


def test_sentences():
    ranking = Ranking.from_counts([1] * 8, [1, 1, 0, 1, 0, 0, 0, 0])
    options = {"metric": "recall@2"}
    assert metric_test(ranking, **options).summary() == (
        "Recall at 2 was 0.667 (chance 0.25, z = 1.97), p = 0.1071 for better than chance "
        "(exact test, one-sided; 3 positives among 8 items)."
    )
    less = metric_test(ranking, alternative="less", method="normal", **options).summary()
    assert "for worse than chance (normal approximation, one-sided; 3 pos" in less
    both = metric_test(
        ranking, alternative="two-sided", method="permutation", n_resamples=99, **options
    ).summary()
    assert "for different from chance (permutation test with 99 random lab" in both
    assert "labellings, two-sided; 3 positives among 8 items)." in both
    with pytest.warns(UserWarning, match="8 different labellings"):
        shifted = metric_test([1, 1, 0, 1, 0, 0, 0, 0], range(8, 0, -1), order=range(8), **options)
    assert "(permutation test with all circular shifts, one-sided; 3 positives" in shifted.summary()


@pytest.mark.parametrize(
    ("restrictions", "words"),
    [
        ({"clusters": np.arange(60) // 3}, "random labellings of 20 clusters"),
        ({"strata": np.arange(60) % 2}, "random labellings in 2 strata"),
        (
            {"clusters": np.arange(60) // 3, "strata": np.arange(60) // 30},
            "random labellings of 20 clusters in 2 strata",
        ),
        (
            {"order": np.arange(60), "clusters": np.arange(60) // 4},
            "random labellings of 15 blocks",
        ),
        (
            {"order": np.arange(60), "strata": np.arange(60) // 30},
            "all circular shifts of 2 series",
        ),
    ],
)
@pytest.mark.parametrize("options", [{}, {"sample_weight": np.arange(60) // 3 % 5 + 1.0}])
@pytest.mark.filterwarnings("ignore:.*leave.*labellings", "ignore:.*eights")
def test_summary_names_the_permuted_units(restrictions, words, options):
    y_true = np.arange(60) // 3 % 4 == 0
    y_score = np.random.default_rng(0).normal(size=60)
    test = average_precision_test
    if "order" in restrictions:
        test, options = metric_test, {}
    result = test(
        y_true, y_score, n_resamples=9999, method="permutation", **restrictions, **options
    )
    assert words in result.summary()


@pytest.mark.parametrize("metric", [AveragePrecision(), RecallAtK(9), ReciprocalRank()], ids=repr)
@pytest.mark.parametrize("labels", ["integers", "text", "columns"])
def test_result_of_several_classes(metric, labels, three_classes):
    codes, y_score = three_classes
    names = {"integers": [0, 1, 2], "text": ["ant", "bee", "cat"], "columns": ["x", ("y", 1), 2.5]}
    names = names[labels]
    y_true = {
        "integers": codes,
        "text": np.array(["ant", "bee", "cat"])[codes],
        "columns": pd.DataFrame(dict(zip(names, np.eye(3, dtype=int)[codes].T, strict=True))),
    }[labels]
    result = metric_test(y_true, y_score, metric=metric)
    assert list(result) == names
    for code, one in enumerate(result.values()):
        assert_same_test(one, metric_test(codes == code, y_score[:, code], metric=metric))


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
def test_result_of_an_average(average, three_classes):
    result = metric_test(*three_classes, metric=f"roc_auc_{average}", n_resamples=99)
    assert len(result.to_frame()) == 1
    assert result.summary().startswith(
        f"{average.capitalize()} average of ROC AUC over 3 classes was "
    )
    assert result.summary().endswith("; 8, 8 and 8 positives among 24 items).")
    assert "[8, 8, 8]" in result._repr_html_()
    assert result.n_positives == (8, 8, 8)


def test_sentences_state_the_labellings_of_each_test(three_classes, monkeypatch):
    monkeypatch.setattr("sklearn_rankinf._null.distribution._N_EXCEEDANCES", 3)
    options = {"method": "sequential", "n_resamples": 500}
    results = metric_test(*three_classes, metric="dcg", **options).values()
    assert len({result.n_resamples for result in results}) > 1
    for result in results:
        drawn = f"(sequential permutation test with {result.n_resamples} random labellings"
        assert drawn in result.summary()


# Averages over classes.


def mean_of(score):
    """Macro, weighted and micro average of a score of one class, from their definitions."""

    @functools.cache  # many tables have the same column
    def of_column(labels, scores):
        return score(np.array(labels), np.array(scores))

    def averaged(labels, scores, average):
        if average == "micro":
            return of_column(tuple(labels.ravel()), tuple(scores.ravel()))
        columns = zip(labels.T, scores.T, strict=True)
        values = [of_column(*map(tuple, both)) for both in columns]
        weights = labels.sum(axis=0) if average == "weighted" else None
        return np.average(values, weights=weights)

    return averaged


AVERAGED = {
    "average_precision": (
        AveragePrecision(),
        lambda y, s, average: average_precision_score(y, s, average=average),
    ),
    "roc_auc": (RocAuc(), lambda y, s, average: roc_auc_score(y, s, average=average)),
    "bedroc": (Bedroc(5.0), mean_of(lambda y, s: Bedroc(alpha=5.0)(y, s))),
    "dcg": (DiscountedCumulativeGain(), mean_of(lambda y, s: dcg_score([y], [s]))),
    "ndcg_at_3": (
        DiscountedCumulativeGain(3, normalize=True),
        mean_of(lambda y, s: ndcg_score([y], [s], k=3)),
    ),
    "recall": (RecallAtK(3), mean_of(lambda y, s: recall_at_k_score(y, s, k=3))),
    "enrichment": (EnrichmentAtK(2), mean_of(lambda y, s: EnrichmentAtK(2)(y, s))),
    "f_score": (FScoreAtK(2, 2.0), mean_of(lambda y, s: FScoreAtK(2, beta=2.0)(y, s))),
    "user": (
        Zipf(),
        mean_of(lambda y, s: metric_test(y, s, metric=Zipf()).statistic),
    ),
}


def table(n_samples, seed):
    """Indicators of three classes, of different sizes and overlapping, and scores with ties."""
    rng = np.random.default_rng(seed)
    labels = np.zeros((n_samples, 3), dtype=int)
    for column, n_positives in enumerate((1, 2, 3)):
        labels[rng.choice(n_samples, n_positives, replace=False), column] = 1
    return labels, np.round(rng.normal(size=(n_samples, 3)) + 0.5 * labels, 0)


@pytest.mark.numeric
@pytest.mark.parametrize(
    ("name", "average"),
    [
        *checkered(AVERAGED, ("macro", "micro")),
        *((name, "weighted") for name in ("average_precision", "roc_auc", "recall")),
    ],
)
def test_averages_against_all_permutations_of_rows(name, average):
    metric, by_definition = AVERAGED[name]
    labels, scores = table(6, seed=4)
    if average == "micro" and metric.horizon is not None:
        with pytest.raises(ValueError, match="is not defined with average='micro'"):
            metric.averaged(average)
        return
    # Orders of the rows that have equal labels make the same table.
    tables = Counter(
        tuple(map(tuple, labels[list(order)].tolist()))
        for order in itertools.permutations(range(6))
    )
    values = [by_definition(np.array(rows), scores, average) for rows in tables]
    values = np.repeat(values, list(tables.values()))
    observed = by_definition(labels, scores, average)
    # Tails of the same labellings: the other one for two metrics.
    both = name in ("average_precision", "user")
    for alternative, sign in (("greater", 1), ("less", -1))[: 2 if both else 1]:
        result = metric_test(
            labels, scores, metric=metric.averaged(average), alternative=alternative
        )
        assert result.method == "permutation"
        assert result.statistic == pytest.approx(observed, rel=1e-12)
        expected = np.mean(sign * values >= sign * observed - 1e-12)
        error = math.sqrt(expected * (1 - expected) / 9999)
        assert result.pvalue == pytest.approx(expected, abs=4.5 * error + 1e-4)
        error = values.std() / math.sqrt(9999)
        assert result.chance == pytest.approx(values.mean(), abs=4.5 * error)
    null = result.null_distribution
    assert null.std() == pytest.approx(values.std(), rel=0.05)
    low, high = null.support()
    assert low == pytest.approx(values.min(), rel=1e-9, abs=1e-12)
    assert high == pytest.approx(values.max(), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@pytest.mark.parametrize("name", ["roc_auc", "bedroc", "dcg", "user"])
def test_averages_of_perfect_and_reversed_rankings(name, average):
    metric, by_definition = AVERAGED[name]
    labels = table(30, seed=0)[0]
    for scores in (labels, -labels):
        result = metric_test(
            labels, scores.astype(float), metric=metric.averaged(average), n_resamples=99
        )
        expected = by_definition(labels, scores.astype(float), average)
        assert result.statistic == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert result.pvalue == (0.01 if scores is labels else 1.0)


@pytest.mark.parametrize("name", AVERAGED)
def test_averages_with_strata_are_those_of_the_rows(name):
    metric, by_definition = AVERAGED[name]
    labels, scores = table(6, seed=5)
    strata = np.array([0, 0, 0, 1, 1, 1])
    orders = [
        [*first, *second]
        for first in itertools.permutations(range(3))
        for second in itertools.permutations(range(3, 6))
    ]
    values = np.array([by_definition(labels[order], scores, "macro") for order in orders])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "strata leave")
        result = metric_test(labels, scores, metric=metric.averaged("macro"), strata=strata)
    expected = np.mean(values >= by_definition(labels, scores, "macro") - 1e-12)
    error = math.sqrt(expected * (1 - expected) / 9999)
    assert result.pvalue == pytest.approx(expected, abs=4.5 * error + 1e-4)


def test_averages_in_scorers_and_searches(three_classes):
    y_true, y_score = three_classes
    estimator = LogisticRegression().fit(y_score, y_true)
    table = estimator.decision_function(y_score)
    for metric in ("roc_auc_macro", Bedroc(5.0).averaged("macro"), "recall_macro@9"):
        scorer = make_significance_scorer(metric, output="statistic", n_resamples=99)
        expected = metric_test(y_true, table, metric=metric, n_resamples=99)
        assert scorer(estimator, y_score, y_true) == expected.statistic


def test_an_average_is_a_metric(three_classes):
    macro = Bedroc(alpha=50).averaged("macro")
    assert repr(macro) == "Bedroc(alpha=50.0).averaged('macro')"
    assert repr(Bedroc().averaged(np.str_("micro"))) == "Bedroc().averaged('micro')"
    assert macro == Bedroc(50.0).averaged("macro")
    assert hash(macro) == hash(Bedroc(50.0).averaged("macro"))
    assert macro not in (Bedroc(50.0), Bedroc(50.0).averaged("micro"), Bedroc().averaged("macro"))
    for copied in (pickle.loads(pickle.dumps(macro)), clone(macro, safe=False)):
        assert copied == macro
    assert macro.title == "Macro average of BEDROC"
    assert macro.title_in_text == "macro average of BEDROC"
    assert AveragePrecision(5).averaged("weighted").symbol == "weighted AP@5"
    assert Bedroc().averaged(None) == Bedroc()
    with pytest.raises(FrozenInstanceError):
        macro.average = "micro"
    result = metric_test(*three_classes, metric="recall_weighted@0.3", n_resamples=9)
    assert result.metric == RecallAtK(8).averaged("weighted")
    assert (result.k, result.hits, result.ranking) == (8, None, None)
    assert result.to_dict()["metric"] == "RecallAtK(k=8).averaged('weighted')"
    binary = three_classes[0] == 0, three_classes[1][:, 0]
    assert metric_test(*binary, metric="roc_auc_macro").metric == RocAuc()


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("bedroc_micro", Bedroc().averaged("micro")),
        ("average_precision_macro", AveragePrecision().averaged("macro")),
        ("recall_macro@50", RecallAtK(50).averaged("macro")),
        (
            "ndcg_weighted@0.1",
            DiscountedCumulativeGain(0.1, normalize=True).averaged("weighted"),
        ),
    ],
)
def test_names_of_averages(name, metric):
    assert as_metric_or_average(name) == metric
    assert as_metric_or_average(metric) is metric


LABELS, RANKERS = [1, 1, 0, 1, 0, 0, 0, 0], {"a": [8, 7, 6, 5, 4, 3, 2, 1], "b": range(8)}
OF_ONE_CLASS = {
    "metric_null_distribution": lambda m: metric_null_distribution(8, 3, metric=m),
    "metric_interval": lambda m: metric_interval(LABELS, RANKERS["a"], metric=m),
    "metric_comparison_test": lambda m: metric_comparison_test(LABELS, RANKERS, metric=m),
    "metric_multiple_comparison_test": lambda m: metric_multiple_comparison_test(
        LABELS, RANKERS, metric=m
    ),
    "metric_group_comparison_test": lambda m: metric_group_comparison_test(
        LABELS, RANKERS["a"], group=[0, 1] * 4, metric=m
    ),
    "best_candidate_test": lambda m: best_candidate_test(LABELS, RANKERS, metric=m),
    "metric_power": lambda m: metric_power(40, 8, auc=0.8, metric=m),
    "rank_significance_report": lambda m: rank_significance_report(LABELS, RANKERS["a"], metric=m),
    "cross_val_significance": lambda m: cross_val_significance(
        LogisticRegression(), np.c_[RANKERS["a"]], LABELS, metric=m
    ),
    "cross_val_significance, scorer": lambda m: cross_val_significance(
        LogisticRegression(), np.c_[RANKERS["a"]], LABELS, metric=make_significance_scorer(m)
    ),
}


@pytest.mark.parametrize("name", OF_ONE_CLASS)
def test_averages_where_there_is_one_class(name):
    for metric, shown, remedy in (
        ("recall_macro@5", "'recall_macro@5'", "'recall@5'"),
        (Bedroc().averaged("micro"), r"Bedroc\(\).averaged\('micro'\)", r"Bedroc\(\)"),
    ):
        message = f"metric={shown} is an average over classes, .* pass metric={remedy} and the lab"
        with pytest.raises(ValueError, match=message):
            OF_ONE_CLASS[name](metric)


def test_averages_that_there_are_not(three_classes):
    for metric, message in (
        ("reciprocal_rank_macro", r"ReciprocalRank\(\) has no average over classes"),
        ("roc_auc_samples", "average='samples' ranks the classes within each"),
        ("recall_micro@5", r"RecallAtK\(k=5\) is not defined with average='micro'"),
        ("roc_auc_macro@5", "roc_auc has no cut-off; pass metric='roc_auc_macro'"),
        ("recall_macro", "recall needs a cut-off: metric='recall_macro@50' counts"),
        ("recall@5_macro", "the cut-off after the @ must be a number .* got '5_macro'"),
        ("gini_mean", "metric must be one of"),
        ("_macro", "metric must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            metric_test(*three_classes, metric=metric)
    for wrong in ("mean", 1, ["macro"]):
        with pytest.raises((TypeError, ValueError), match="average must be one of None, 'macro'"):
            RocAuc().averaged(wrong)
