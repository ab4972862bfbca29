"""Metrics by name, and custom metrics: null distribution, test, scorer, permutation, report."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass

import numpy as np
import oracles
import pytest
from by_name import (
    EXACT,
    NAMED,
    dcg_null_distribution,
    rank_statistic_null_distribution,
    rank_statistic_score,
    rank_statistic_test,
    with_cut_off,
)
from joblib import parallel_config
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.metrics import dcg_score, ndcg_score
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    EnrichmentAtK,
    FScoreAtK,
    PrecisionAtK,
    Ranking,
    RankStatistic,
    RecallAtK,
    make_significance_scorer,
    metric_comparison_test,
    metric_interval,
    metric_null_distribution,
    metric_test,
    rank_significance_report,
)
from sklearn_rankinf._metrics import as_metric, as_metric_or_average
from sklearn_rankinf._metrics.names import METRICS


@dataclass(frozen=True)
class RankBiasedPrecision(RankStatistic):
    """A metric in a few lines."""

    persistence: float = 0.7

    def weights(self, ranks, n_samples, n_positives):
        """Weight of a positive at each rank."""
        return (1.0 - self.persistence) * self.persistence ** (ranks - 1.0)


def rank_biased_precision(tie_sizes, ranks, persistence=0.7):
    """The same from the definition, over blocks of equal scores, one positive at a time."""
    total, start = 0.0, 0
    for size, hits in zip(tie_sizes, oracles.hits_per_block(tie_sizes, ranks), strict=True):
        places = [(1 - persistence) * persistence**place for place in range(start, start + size)]
        total += hits * sum(places) / size
        start += size
    return total


TOY = RankBiasedPrecision()


class FirstFeature(ClassifierMixin, BaseEstimator):
    """A classifier whose decision is the first feature."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, X):
        return X[:, 0]


def tied_data(n_samples=40, n_positives=8, n_scores=12, seed=0):
    rng = np.random.default_rng(seed)
    y_true = rng.permutation(np.arange(n_samples) < n_positives).astype(int)
    return y_true, rng.integers(n_scores, size=n_samples) + 2.0 * y_true


# A custom metric.


@pytest.mark.parametrize("tie_sizes", [[1] * 9, [2, 3, 1, 1, 2], [1, 4, 4], [9]])
@pytest.mark.parametrize("n_positives", [1, 3, 7])
def test_distribution_is_the_enumerated_one(tie_sizes, n_positives):
    ranks = list(oracles.placements(9, n_positives))
    values = np.array([rank_biased_precision(tie_sizes, placed) for placed in ranks])
    null = rank_statistic_null_distribution(9, n_positives, statistic=TOY, tie_sizes=tie_sizes)
    assert null.mean() == pytest.approx(values.mean(), rel=1e-12)
    assert null.std() == pytest.approx(values.std(), rel=1e-9, abs=1e-12)
    for placed in ranks[:: max(1, len(ranks) // 12)]:
        value = rank_biased_precision(tie_sizes, placed)
        result = rank_statistic_test(*oracles.labels_and_scores(tie_sizes, placed), statistic=TOY)
        assert result.statistic == pytest.approx(value, rel=1e-12)
        for x in (value, result.statistic):
            expected = (values >= x * (1 - 1e-12)).mean()
            assert null.pvalue(x) == pytest.approx(expected, rel=1e-12)
        assert result.pvalue == pytest.approx(expected, rel=1e-12)


def test_longer_distribution_agrees_with_its_permutations():
    y_true, y_score = tied_data(300, 20, 40, seed=1)
    exact = rank_statistic_test(y_true, y_score, statistic=TOY)
    drawn = rank_statistic_test(
        y_true, y_score, statistic=TOY, method="permutation", n_resamples=19_999
    )
    assert (exact.method, drawn.method) == ("analytic", "permutation")
    error = math.sqrt(exact.pvalue * (1 - exact.pvalue) / 20_000)
    assert drawn.pvalue == pytest.approx(exact.pvalue, abs=4.5 * error + 1 / 20_000)
    assert drawn.zscore == exact.zscore


def test_scorer_of_a_custom_metric():
    metric = TOY
    y_true, y_score = tied_data(60, 9, 20)
    expected = rank_statistic_test(y_true, y_score, statistic=TOY)
    fitted = FirstFeature().fit(None, None)
    scorers = make_significance_scorer(metric, output="all")
    scores = {name: scorer(fitted, y_score[:, None], y_true) for name, scorer in scorers.items()}
    assert scores["statistic"] == pytest.approx(expected.statistic, rel=1e-13)
    assert scores["neg_log10_pvalue"] == pytest.approx(-expected.log10_pvalue, rel=1e-10)
    assert scores["pvalue"] == pytest.approx(expected.pvalue, rel=1e-10)
    assert scores["zscore"] == pytest.approx(expected.zscore, rel=1e-12)
    assert scores["adjusted"] == pytest.approx(expected.adjusted_statistic, rel=1e-12)
    both = make_significance_scorer(metric, method="both", n_resamples=199)
    pvalue = both["pvalue_permutation"](fitted, y_score[:, None], y_true)
    drawn = rank_statistic_test(
        y_true, y_score, statistic=TOY, method="permutation", n_resamples=199
    )
    assert pvalue == drawn.pvalue


def test_scorers_work_in_several_jobs():
    X, y = make_classification(120, weights=[0.8], random_state=0)
    scorers = make_significance_scorer(TOY, output="all")
    for scorer in scorers.values():
        assert "metric=RankBiasedPrecision(persistence=0.7)" in repr(scorer)
        assert repr(pickle.loads(pickle.dumps(scorer))) == repr(scorer)
    options = {"scoring": scorers, "cv": 3, "error_score": "raise"}
    alone = cross_validate(GaussianNB(), X, y, **options)
    shared = cross_validate(GaussianNB(), X, y, n_jobs=2, **options)
    for name in scorers:
        assert shared[f"test_{name}"] == pytest.approx(alone[f"test_{name}"], rel=1e-12)
    search = GridSearchCV(
        GaussianNB(),
        {"var_smoothing": [1e-9, 1.0]},
        refit="neg_log10_pvalue",
        n_jobs=2,
        **options,
    ).fit(X, y)
    mean = search.cv_results_["mean_test_neg_log10_pvalue"][0]
    assert mean == pytest.approx(alone["test_neg_log10_pvalue"].mean(), rel=1e-12)


def test_class_of_a_script_works_in_other_processes():
    class RankSum(RankStatistic):
        def weights(self, ranks, n_samples, n_positives):
            return n_samples + 1.0 - ranks

    # As a class of a script: other processes cannot import it.
    RankSum.__module__, RankSum.__qualname__ = "__main__", "RankSum"
    X, y = make_classification(60, random_state=0)
    options = {"scoring": make_significance_scorer(RankSum()), "error_score": "raise"}
    with parallel_config(backend="loky"):
        alone, shared = (cross_val_score(GaussianNB(), X, y, n_jobs=n, **options) for n in (1, 2))
    assert_array_equal(shared, alone)


def test_report_of_a_custom_metric():
    ranking = Ranking.from_scores(*tied_data())
    report = rank_significance_report(ranking, metric=TOY)
    assert report.rankers[0].test.to_dict() == metric_test(ranking, metric=TOY).to_dict()
    assert f"\n\n{TOY.title}\n" in report.to_text()
    assert report.to_dict()["metric"] == repr(TOY)


# Names.


def test_names_are_read_only():
    with pytest.raises(TypeError, match="does not support item assignment"):
        METRICS["mine"] = METRICS["roc_auc"]


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("average_precision", AveragePrecision()),
        ("average_precision@100", AveragePrecision(100)),
        ("recall@50", RecallAtK(50)),
        ("precision@1", PrecisionAtK(1)),
        ("enrichment@0.01", EnrichmentAtK(0.01)),
        ("f_score@1e-3", FScoreAtK(0.001)),
        ("dcg@0.5", DiscountedCumulativeGain(0.5)),
        ("ndcg@10", DiscountedCumulativeGain(10, normalize=True)),
        ("bedroc", Bedroc()),
    ],
)
def test_the_cut_off_is_part_of_the_name(name, metric):
    assert as_metric(name) == metric


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bedroc@5", r"metric='bedroc@5': bedroc has no cut-off; pass metric='bedroc'\."),
        ("xyz@5", "metric must be one of 'average_precision', 'recall@50', .*got 'xyz@5'"),
        ("recall@", "after the @ must be a number of items, such as 50, .*; got ''"),
        ("recall@5%", "or a fraction of them, such as 0.01; got '5%'"),
        ("recall@0", "k must be at least 1 as a number of items; got 0"),
        ("ndcg@1.5", "k as a float is a fraction of the items between 0 and 1, .*; got 1.5"),
        ("ndcg@nan", "k as a float is a fraction of the items between 0 and 1, .*; got nan"),
    ],
)
def test_wrong_cut_offs_in_names(name, message):
    with pytest.raises(ValueError, match=message):
        as_metric(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("auc", "roc_auc"),
        ("AUROC_macro", "roc_auc_macro"),
        ("ap", "average_precision"),
        ("map_cut_1000", "average_precision@1000"),
        ("average_precision_score", "average_precision"),
        ("avrage precision", "average_precision"),
        ("mrr", "reciprocal_rank"),
        ("ef", "enrichment@50"),
        ("EF@0.01", "enrichment@0.01"),
        ("P_10", "precision@10"),
        ("precision_at_k", "precision@50"),
        ("f1_score", "f_score@50"),
        ("ndgc@5", "ndcg@5"),
        ("ndcg_cut_10", "ndcg@10"),
        ("recall_at_fpr_0.1", "recall_at_fpr@0.1"),
        ("auc@5", "roc_auc"),
    ],
)
def test_near_names_are_asked_for(name, meant):
    message = f"^metric={name!r} is unknown: did you mean {meant!r}\\?$"
    with pytest.raises(ValueError, match=message):
        as_metric(name)
    as_metric_or_average(meant)


@pytest.mark.parametrize("name", ["", "x", "@5", "_macro", "brier", "r2", "mse", "accuracy"])
def test_other_names_are_answered_with_all_metrics(name):
    with pytest.raises(ValueError, match=f"must be one of 'average_precision', .*; got {name!r}"):
        as_metric(name)


def test_metrics_of_statistics():
    assert as_metric(TOY) is TOY
    assert repr(TOY) == "RankBiasedPrecision(persistence=0.7)"
    message = r"got the class RankBiasedPrecision: pass RankBiasedPrecision\(\)\."
    with pytest.raises(TypeError, match=message):
        as_metric(RankBiasedPrecision)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metric": RankBiasedPrecision}, TypeError, "got the class RankBiasedPrecision: pass"),
        ({"metric": "roc_auc@5"}, ValueError, "roc_auc has no cut-off; pass metric='roc_auc'"),
        ({"metric": "enrichment"}, ValueError, "enrichment needs a cut-off"),
        ({"metric": "reciprocal_rank_macro"}, ValueError, "no average over classes"),
        ({"metric": "dcg_samples"}, ValueError, "average='samples' ranks the classes"),
        ({"metric": "xyz"}, ValueError, "'average_precision', .*an instance .*; got 'xyz'"),
        ({"metric": TOY, "method": "zhang_su"}, ValueError, "zhang_su"),
        ({"metric": TOY, "n_resamples": 0}, ValueError, "n_resamples must be at least 1"),
    ],
)
def test_arguments_of_scorers_are_checked_at_once(options, error, message):
    with pytest.raises(error, match=message):
        make_significance_scorer(**options)


@pytest.mark.parametrize("metric", [TOY, "roc_auc", "ndcg", "reciprocal_rank"])
def test_weights_are_refused(metric):
    scorer = make_significance_scorer(metric)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        scorer(FirstFeature().fit(None, None), np.c_[1.0, 2.0].T, [0, 1], sample_weight=[1.0, 2.0])


@dataclass(frozen=True)
class ShareOfTop(RankStatistic):
    """A custom metric with a cut-off."""

    k: int | None = None

    def weights(self, ranks, n_samples, n_positives):
        """One among the first k ranks."""
        return np.where(ranks <= (self.k or n_samples), 1.0 / n_positives, 0.0)


def test_custom_metrics_take_k_too():
    y_true, y_score = [1, 0, 1, 0], [4, 3, 2, 1]
    assert metric_test(y_true, y_score, metric=ShareOfTop(3)).statistic == 1.0
    with pytest.raises(ValueError, match=r"a number of items; got the fraction k=0\.5"):
        metric_test(y_true, y_score, metric=ShareOfTop(0.5))
    with pytest.raises(ValueError, match="k must be at least 1"):
        metric_test(y_true, y_score, metric=ShareOfTop(0))


@dataclass(frozen=True)
class GrowingWeights(RankStatistic):
    """No metric: the last rank is the best."""

    def weights(self, ranks, n_samples, n_positives):
        """The rank."""
        return 1.0 * ranks


@pytest.mark.parametrize(
    "function",
    [
        lambda y, s: metric_test(y, s, metric=GrowingWeights()),
        lambda y, s: metric_interval(y, s, metric=GrowingWeights()),
        lambda y, s: metric_interval(y, s, metric=GrowingWeights(), groups=[0, 0, 0, 1, 1, 1]),
        lambda y, s: metric_comparison_test(y, {"a": s, "b": s[::-1]}, metric=GrowingWeights()),
    ],
)
def test_wrong_weights_are_refused_by_every_function(function):
    with pytest.raises(
        ValueError, match=r"weights must not increase with the rank; got the weight 2"
    ):
        function([1, 0, 0, 1, 1, 0], [6, 5, 4, 3, 2, 1])


def test_a_metric_that_cannot_be_found_again_is_refused():
    @dataclass(frozen=True)
    class Tabulated(RankStatistic):
        table: list

    with pytest.raises(TypeError, match=r"got Tabulated: make .* with hashable parameters"):
        make_significance_scorer(Tabulated([1.0]))


@pytest.mark.parametrize("grades", [np.array([2, 1, 0, 1], dtype=object), [2, 1, 0, 1]])
def test_grades_in_any_container(grades):
    result = metric_test(grades, [4, 3, 2, 1], metric="ndcg")
    assert result.statistic == pytest.approx(ndcg_score([[2, 1, 0, 1]], [[4, 3, 2, 1]]))


# Every metric with a name.


@pytest.mark.numeric
@pytest.mark.parametrize("metric", METRICS)
def test_maximum_is_the_value_of_a_perfect_ranking(metric):
    metric = as_metric(with_cut_off(metric, 5)).at(30)
    perfect = metric(np.arange(30) < 8, -np.arange(30.0))
    assert metric.maximum(30, 8) == pytest.approx(perfect, rel=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n_scores", [3, 12, 10_000])
def test_score_test_and_distribution_agree(metric, n_scores):
    named = with_cut_off(metric)
    for seed in (0, 2, 4):
        y_true, y_score = tied_data(30, 4 + 3 * seed, n_scores, seed)
        ranking = Ranking.from_scores(y_true, y_score)
        result = metric_test(y_true, y_score, metric=named)
        null = metric_null_distribution(
            30, ranking.n_positives, metric=named, tie_sizes=ranking.tie_sizes
        )
        value = null.statistic.evaluate(ranking.tie_sizes, ranking.hits)
        assert null.statistic == result.metric == as_metric(named).at(30)
        assert NAMED[metric].score(y_true, y_score) == pytest.approx(value, rel=1e-12)
        assert result.statistic == pytest.approx(value, rel=1e-12)
        assert result.pvalue == pytest.approx(null.pvalue(value), rel=1e-12)


@pytest.mark.parametrize("metric", EXACT)
def test_scorers_by_name_in_cross_validation(metric):
    y_true, y_score = tied_data(120, 30, 25, seed=2)
    cv = [(np.arange(120), np.arange(120)[part::3]) for part in range(3)]
    scorer = make_significance_scorer(with_cut_off(metric))
    found = cross_val_score(
        FirstFeature(), y_score[:, None], y_true, scoring=scorer, cv=cv, error_score="raise"
    )
    for value, (_, part) in zip(found, cv, strict=True):
        result = NAMED[metric].test(y_true[part], y_score[part])
        # Scorers allow a relative error of 1 percent of p.
        assert value == pytest.approx(-result.log10_pvalue, abs=math.log10(1.01))
        assert (value == 0.0) == (result.log10_pvalue == 0.0)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n_scores", [1, 7, 10_000])
def test_folds_of_positives_only(metric, n_scores):
    # Sums over many ranks are not exact, and hold no evidence all the same.
    y_score = np.random.default_rng(0).integers(n_scores, size=1003)
    scorers = make_significance_scorer(with_cut_off(metric), output="all")
    fitted = FirstFeature().fit(None, None)
    scores = {name: scorer(fitted, np.c_[y_score], [1] * 1003) for name, scorer in scorers.items()}
    assert (scores.pop("pvalue"), scores.pop("statistic") >= 0.0) == (1.0, True)
    assert set(scores.values()) == {0.0}


@pytest.mark.parametrize("metric", METRICS)
def test_permutation_agrees_with_the_exact_null_distribution(metric):
    y_true, y_score = tied_data(50, 10, 15, seed=3)
    y_score = y_score - 1.3 * y_true
    exact = NAMED[metric].test(y_true, y_score)
    drawn = NAMED[metric].test(y_true, y_score, method="permutation", n_resamples=9999)
    error = math.sqrt(exact.pvalue * (1 - exact.pvalue) / 10_000)
    assert 1e-3 < exact.pvalue < 1
    assert drawn.pvalue == pytest.approx(exact.pvalue, abs=4.5 * error + 1e-4)


@pytest.mark.parametrize("k", [None, 5, 0.25])
@pytest.mark.parametrize(("metric", "reference"), [("dcg", dcg_score), ("ndcg", ndcg_score)])
def test_dcg_is_that_of_scikit_learn(metric, reference, k):
    y_true, y_score = tied_data(24, 7, 8)
    cut = {0.25: 6}.get(k, k)
    expected = reference([y_true], [y_score], k=cut)
    name = metric if k is None else f"{metric}@{k}"
    assert metric_test(y_true, y_score, metric=name).statistic == pytest.approx(expected, rel=1e-12)
    scorer = make_significance_scorer(name, output="statistic")
    found = scorer(FirstFeature().fit(None, None), y_score[:, None], y_true)
    assert found == pytest.approx(expected, rel=1e-12)


def test_statistic_of_a_distribution_is_a_metric():
    y_true, y_score = tied_data(50, 7)
    at_ten = dcg_null_distribution(50, 7, k=10).statistic
    result = metric_test(y_true, y_score, metric="dcg@10")
    assert metric_test(y_true, y_score, metric=at_ten).pvalue == result.pvalue
    value = rank_statistic_score(y_true, y_score, statistic=at_ten)
    assert value == result.statistic
