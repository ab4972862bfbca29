"""The significance scorer by itself: values, labels, folds without evidence, arguments, guard."""

import copy
import inspect
import itertools
import math
import pickle
import warnings

import numpy as np
import pytest
import sklearn
from by_name import EXACT, NAMED, with_cut_off
from combinations import checkered
from scipy.special import expit
from scipy.stats import hypergeom
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import average_precision_score, get_scorer, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score

import sklearn_rankinf
from sklearn_rankinf import (
    RocAuc,
    average_precision_pvalue,
    average_precision_significance_scorer,
    average_precision_test,
    make_significance_scorer,
    metric_test,
)
from sklearn_rankinf._engine.estimates import accepted_error
from sklearn_rankinf._metrics.names import METRICS
from sklearn_rankinf._model_selection import scorers
from sklearn_rankinf._null import tolerating
from sklearn_rankinf._null.distribution import NullDistribution

OUTPUTS = ("statistic", "neg_log10_pvalue", "pvalue", "zscore", "adjusted")
BOTH = (
    "statistic zscore adjusted pvalue_analytic pvalue_permutation neg_log10_pvalue_analytic "
    "neg_log10_pvalue_permutation"
).split()
MAY_SATURATE = pytest.mark.filterwarnings(
    "ignore:A permutation p-value has its smallest possible value"
)
NO_EVIDENCE = {"neg_log10_pvalue": 0.0, "pvalue": 1.0, "zscore": 0.0, "adjusted": 0.0}


# Relative error of p that scorers accept where a p-value takes long: 0.01 in -log10 p.
ACCEPTED = 0.01 * math.log(10.0)


def tolerance(metric, name):
    """Relative error of an output; inverted null distributions have p up to a resolution."""
    inverted = ("average_precision", "bedroc", "rie", "dcg", "ndcg")
    return ACCEPTED if metric in inverted and "pvalue" in name else 1e-12


class GivenScores(ClassifierMixin, BaseEstimator):
    """A classifier whose decision is the first feature."""

    def __init__(self, classes=(0, 1)):
        self.classes = classes

    def fit(self, X, y):
        self.classes_ = np.asarray(self.classes)
        return self

    def decision_function(self, X):
        X = np.asarray(X, dtype=float)
        return X[:, 0] if len(self.classes) == 2 else X

    def predict(self, X):
        return self.classes_[np.zeros(len(X), dtype=int)]


class GivenProbabilities(ClassifierMixin, BaseEstimator):
    """A classifier with probabilities alone: the features, or one feature and its rest."""

    def __init__(self, classes=(0, 1)):
        self.classes = classes

    def fit(self, X, y):
        self.classes_ = np.asarray(self.classes)
        return self

    def predict_proba(self, X):
        X = np.asarray(X, dtype=float)
        return X if X.shape[1] > 1 else np.column_stack([1.0 - X, X])

    def predict(self, X):
        return self.classes_[np.zeros(len(X), dtype=int)]


def score(scorer, y_true, y_score, **options):
    """Call a scorer on labels and scores through an estimator."""
    routes = not {"sample_weight"}.issuperset(options)
    with sklearn.config_context(enable_metadata_routing=routes):
        return scorer(GivenScores().fit(None, None), np.c_[y_score], y_true, **options)


@pytest.fixture(scope="module")
def rankings():
    """Labels and scores, with ties and without."""
    rng = np.random.default_rng(3)
    data = []
    for n_samples, n_positives, n_scores in [(36, 5, 10_000), (36, 5, 8), (70, 10, 12)]:
        y_true = rng.permutation(np.arange(n_samples) < n_positives).astype(int)
        y_score = rng.integers(n_scores, size=n_samples) + 0.3 * n_scores * y_true
        data.append((y_true, y_score))
    return data


# Values.


def test_pvalue_is_the_share_of_all_labelings():
    y_true, y_score = np.array([1, 0, 1, 0, 0, 1, 0, 0]), np.array([8, 7, 7, 5, 4, 3, 3, 1])
    observed = average_precision_score(y_true, y_score)
    values = []
    for chosen in itertools.combinations(range(8), 3):
        values.append(average_precision_score(np.isin(np.arange(8), chosen), y_score))
    values = np.array(values)
    pvalue = (values >= observed * (1 - 1e-12)).mean()
    scores = {name: score(s, y_true, y_score) for name, s in all_outputs().items()}
    assert scores["statistic"] == pytest.approx(observed, rel=1e-12)
    assert scores["pvalue"] == pytest.approx(pvalue, rel=1e-12)
    assert scores["neg_log10_pvalue"] == pytest.approx(-math.log10(pvalue), rel=1e-12)
    assert scores["zscore"] == pytest.approx((observed - values.mean()) / values.std(), rel=1e-9)
    assert scores["adjusted"] == pytest.approx(
        (observed - values.mean()) / (1 - values.mean()), rel=1e-9
    )


def all_outputs(**options):
    return make_significance_scorer(**options, output="all")


@pytest.mark.parametrize("k", [10, 0.25])
def test_pvalues_at_k_are_hypergeometric(k):
    rng = np.random.default_rng(0)
    y_true = rng.permutation(np.arange(40) < 9).astype(int)
    y_score = rng.permutation(40) + 10 * y_true
    y_score = np.argsort(np.argsort(y_score, kind="stable"))
    hits = y_true[np.argsort(-y_score)][:10].sum()
    pvalue = hypergeom.sf(hits - 1, 40, 9, 10)
    for metric, value in (("recall", hits / 9), ("precision", hits / 10)):
        scores = {
            n: score(s, y_true, y_score) for n, s in all_outputs(metric=f"{metric}@{k}").items()
        }
        assert scores["statistic"] == pytest.approx(value, rel=1e-14)
        assert scores["pvalue"] == pytest.approx(pvalue, rel=1e-11)
        assert scores["neg_log10_pvalue"] == pytest.approx(-math.log10(pvalue), rel=1e-11)
        deviation = hypergeom.std(40, 9, 10)
        assert scores["zscore"] == pytest.approx((hits - 90 / 40) / deviation, rel=1e-11)
        adjusted = (hits - 90 / 40) / (min(9, 10) - 90 / 40)
        assert scores["adjusted"] == pytest.approx(adjusted, rel=1e-11)


@pytest.mark.parametrize(
    ("metric", "method"), checkered(EXACT, ["auto", "permutation", "normal", "analytic"])
)
@MAY_SATURATE
def test_outputs_are_the_fields_of_the_test(metric, method, rankings):
    options = {"metric": with_cut_off(metric, 0.2), "method": method, "n_resamples": 99}
    scorers = all_outputs(**options)
    assert tuple(scorers) == OUTPUTS
    for index, (y_true, y_score) in enumerate(rankings):
        result = metric_test(y_true, y_score, **options)
        expected = {
            "statistic": result.statistic,
            "neg_log10_pvalue": -result.log10_pvalue,
            "pvalue": result.pvalue,
            "zscore": result.zscore,
            "adjusted": result.adjusted_statistic,
        }
        for name, scorer in scorers.items():
            single = make_significance_scorer(output=name, **options)
            found = score(scorer, y_true, y_score)
            if index == 0:
                assert found == score(single, y_true, y_score)
            assert type(found) is float
            error = tolerance(metric, name)
            assert found == pytest.approx(expected[name], rel=error, abs=1e-13), name


@pytest.mark.parametrize("method", ["pearson3", "zhang_su"])
def test_approximations_by_name(method, rankings):
    y_true, y_score = rankings[0]
    scorer = make_significance_scorer(method=method, output="pvalue")
    expected = average_precision_test(y_true, y_score, method=method).pvalue
    assert score(scorer, y_true, y_score) == expected


def test_average_precision_at_k(rankings):
    y_true, y_score = rankings[1]
    scorer = make_significance_scorer("average_precision@20")
    expected = -metric_test(y_true, y_score, metric="average_precision@20").log10_pvalue
    assert score(scorer, y_true, y_score) == expected


# Numbers of different scores, and how far positives are from the others.
USUAL_LISTS = [(8, 0.0), (30, 0.5), (101, 1.5), (10**6, 0.5)]


def test_the_engine_accepts_what_scorers_document(monkeypatch):
    accepted = []

    def recorded(null, relative_error):
        accepted.append(relative_error)
        return tolerating(null, relative_error)

    monkeypatch.setattr(scorers, "tolerating", recorded)
    for n_samples, n_equal in ((64, 1), (65, 1), (30, 5)):
        y_score = np.arange(n_samples) // n_equal
        score(make_significance_scorer(), np.arange(n_samples) % 7 == 0, y_score)
    # Short lists without ties share their null distribution.
    assert len(accepted) == 2
    log10_p = np.array([0.0, -1.0, -36.0, -300.0])
    documented = 0.01 + 0.001 * np.abs(log10_p)
    for tolerance in accepted:
        found = accepted_error(tolerance, log10_p * math.log(10.0))
        np.testing.assert_allclose(found, documented * math.log(10.0), rtol=1e-12)


@pytest.mark.numeric
@pytest.mark.parametrize(
    ("n_levels", "separation"),
    [
        pytest.param(*case, marks=[] if case in USUAL_LISTS else [pytest.mark.long])
        for case in itertools.product([8, 30, 101, 10**6], [0.0, 0.5, 1.5])
    ],
)
def test_longer_lists_are_scored_to_one_percent(n_levels, separation):
    rng = np.random.default_rng(n_levels)
    for n_samples, n_positives in ((400, 23), (200, 40)):
        y_true = np.arange(n_samples) < n_positives
        y_score = expit(rng.normal(size=n_samples) + separation * y_true)
        y_score = np.round(y_score * (n_levels - 1))
        result = average_precision_test(y_true, y_score)
        found = score(make_significance_scorer(output="pvalue"), y_true, y_score)
        error = ACCEPTED + result.pvalue_relative_error
        assert found == pytest.approx(result.pvalue, rel=error)


@pytest.mark.parametrize("metric", EXACT)
@MAY_SATURATE
def test_both_methods_side_by_side(metric, rankings):
    y_true, y_score = rankings[2]
    metric = with_cut_off(metric, 0.2)
    scorers = make_significance_scorer(metric, method="both", n_resamples=199)
    assert list(scorers) == BOTH
    scores = {name: score(scorer, y_true, y_score) for name, scorer in scorers.items()}
    for method in ("analytic", "permutation"):
        result = metric_test(
            y_true, y_score, metric=metric, method=method, n_resamples=199, random_state=0
        )
        error = tolerance(metric, f"pvalue_{method}")
        assert scores[f"pvalue_{method}"] == pytest.approx(result.pvalue, rel=error)
        assert scores[f"neg_log10_pvalue_{method}"] == pytest.approx(
            -result.log10_pvalue, rel=error, abs=1e-13
        )
    assert scores["statistic"] == pytest.approx(result.statistic, rel=1e-13)
    assert scores["zscore"] == pytest.approx(result.zscore, rel=1e-12)
    assert scores["adjusted"] == pytest.approx(result.adjusted_statistic, rel=1e-12)
    again = make_significance_scorer(metric, method="both", output="all")
    assert list(again) == BOTH


def test_statistic_is_that_of_scikit_learn(rankings):
    scorer = make_significance_scorer(output="statistic")
    for y_true, y_score in rankings:
        assert score(scorer, y_true, y_score) == pytest.approx(
            score(get_scorer("average_precision"), y_true, y_score), rel=1e-12
        )


def test_nothing_is_computed_that_is_not_requested(monkeypatch, rankings):
    def refuse(*args, **kwargs):
        raise AssertionError("a tail was computed")

    monkeypatch.setattr(NullDistribution, "_significance", refuse)
    y_true, y_score = rankings[0]
    for output in ("statistic", "zscore", "adjusted"):
        assert score(make_significance_scorer(output=output), y_true, y_score) > 0.0
    with pytest.raises(AssertionError, match="tail"):
        score(make_significance_scorer(), y_true, y_score)


def test_ready_made_scorer(rankings):
    y_true, y_score = rankings[0]
    expected = -average_precision_test(y_true, y_score).log10_pvalue
    assert score(average_precision_significance_scorer, y_true, y_score) == expected
    assert repr(average_precision_significance_scorer) == repr(make_significance_scorer())


def test_scorers_read_well_and_are_of_scikit_learn():
    scorer = make_significance_scorer("average_precision@50", n_resamples=99)
    assert type(scorer) is type(make_scorer(average_precision_score))
    assert repr(scorer) == (
        "make_scorer(significance_score, response_method=('decision_function', 'predict_proba'), "
        "metric=average_precision@50, output=neg_log10_pvalue, n_resamples=99, pos_label=1)"
    )


@pytest.mark.parametrize("options", [{}, {"output": "all"}, {"method": "both"}])
def test_scorers_pickle_and_clone(options, rankings):
    y_true, y_score = rankings[1]
    scorers = make_significance_scorer(**options)
    search = GridSearchCV(GivenScores(), {}, scoring=scorers, refit=False)
    copies = [pickle.loads(pickle.dumps(scorers)), copy.deepcopy(scorers), clone(search).scoring]
    as_dict = scorers if isinstance(scorers, dict) else {"score": scorers}
    for again in copies:
        again = again if isinstance(again, dict) else {"score": again}
        for name, scorer in as_dict.items():
            assert score(again[name], y_true, y_score) == score(scorer, y_true, y_score)


# Labels and responses.


@pytest.mark.parametrize("pos_label", ["ham", "spam"])
@pytest.mark.parametrize("estimator", [GivenScores, GivenProbabilities])
def test_string_labels(pos_label, estimator):
    rng = np.random.default_rng(1)
    y_true = rng.choice(["ham", "spam"], size=50)
    x = rng.random(50)
    fitted = estimator(classes=("ham", "spam")).fit(None, None)
    scorer = make_significance_scorer(pos_label=pos_label)
    # Scores of the response are for "spam", the second class.
    for_positives = x if pos_label == "spam" else -x
    expected = -average_precision_test(y_true, for_positives, pos_label=pos_label).log10_pvalue
    assert scorer(fitted, x[:, None], y_true) == pytest.approx(expected, rel=1e-12)


def test_string_labels_need_a_positive_label():
    fitted = GivenScores(classes=("ham", "spam")).fit(None, None)
    with pytest.raises(ValueError, match="pos_label=1 is not a valid label"):
        make_significance_scorer()(fitted, [[0.1], [0.9]], ["ham", "spam"])


def test_regressor_by_its_predictions(rankings):
    class Regressor(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            return self

        def predict(self, X):
            return X[:, 0]

    y_true, y_score = rankings[0]
    scorer = make_significance_scorer(response_method="predict")
    assert scorer(Regressor(), np.c_[y_score], y_true) == pytest.approx(
        score(make_significance_scorer(), y_true, y_score), rel=1e-14
    )


@pytest.fixture(scope="module")
def multiclass():
    rng = np.random.default_rng(5)
    y_true = rng.choice(3, size=90, p=[0.6, 0.3, 0.1])
    y_score = rng.dirichlet(np.ones(3), size=90)
    y_score[np.arange(90), y_true] += 0.03
    return y_true, y_score / y_score.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@pytest.mark.parametrize("names", [(0, 1, 2), ("a", "b", "c")])
@MAY_SATURATE
def test_multiclass(average, names, multiclass):
    y_true, y_score = multiclass
    y_true = np.asarray(names)[y_true]
    fitted = GivenProbabilities(classes=names).fit(None, None)
    one_hot = (y_true[:, None] == np.asarray(names)).astype(int)
    options = {"metric": f"average_precision_{average}", "n_resamples": 99}
    scores = {n: s(fitted, y_score, y_true) for n, s in all_outputs(**options).items()}
    expected = average_precision_score(one_hot, y_score, average=average)
    assert scores["statistic"] == pytest.approx(expected, rel=1e-12)
    result = average_precision_test(y_true, y_score, average=average, n_resamples=99)
    assert scores["pvalue"] == result.pvalue
    assert scores["neg_log10_pvalue"] == -result.log10_pvalue
    assert scores["zscore"] == pytest.approx(result.zscore, rel=1e-12)
    assert scores["adjusted"] == pytest.approx(result.adjusted_statistic, rel=1e-12)
    assert result.method == "permutation"


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_multilabel(average):
    rng = np.random.default_rng(6)
    y_true = (rng.random((60, 3)) < [0.5, 0.3, 0.2]).astype(int)
    y_score = 0.9 * rng.random((60, 3)) + 0.1 * y_true

    class Labels(GivenProbabilities):
        def fit(self, X, y):
            self.classes_ = [np.array([0, 1])] * 3
            return self

    fitted = Labels().fit(None, None)
    scorers = all_outputs(metric=f"average_precision_{average}")
    scores = {n: s(fitted, y_score, y_true) for n, s in scorers.items()}
    expected = average_precision_score(y_true, y_score, average=average)
    assert scores["statistic"] == pytest.approx(expected, rel=1e-12)
    result = average_precision_test(y_true, y_score, average=average, n_resamples=999)
    assert scores["pvalue"] == result.pvalue


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), ("a", "b"), (2, 5)])
def test_binary_labels_ignore_the_average(labels, rankings):
    y_true, y_score = rankings[1]
    named = np.asarray(labels)[y_true]
    fitted = GivenScores(classes=labels).fit(None, None)
    scorer = make_significance_scorer("average_precision_macro")
    expected = score(make_significance_scorer(), y_true, y_score)
    assert scorer(fitted, np.c_[y_score], named) == pytest.approx(expected, rel=1e-12)
    first = make_significance_scorer("average_precision_macro", pos_label=labels[0])
    expected = -average_precision_test(1 - y_true, -y_score).log10_pvalue
    if labels[0] != 1:
        assert first(fitted, np.c_[y_score], named) == pytest.approx(expected, rel=1e-12)


def test_one_label_whose_meaning_is_unknown():
    fitted = GivenScores(classes=("a", "b")).fit(None, None)
    scorer = make_significance_scorer("average_precision_macro")
    with pytest.raises(ValueError, match="All items have the label 'a', which may be"):
        scorer(fitted, [[0.1], [0.2]], ["a", "a"])


@pytest.mark.parametrize("metric", ["average_precision_macro", "average_precision"])
def test_one_label_whose_meaning_is_known(metric):
    scorer = make_significance_scorer(metric, output="statistic")
    assert score(scorer, [1, 1, 1], [0.1, 0.2, 0.3]) == 1.0


@pytest.mark.parametrize("metric", METRICS)
def test_several_classes_need_an_average(metric, multiclass):
    y_true, y_score = multiclass
    fitted = GivenProbabilities(classes=(0, 1, 2)).fit(None, None)
    scorer = make_significance_scorer(with_cut_off(metric, 0.2))
    with pytest.raises(ValueError, match=r"y_score has 3 columns.*such as metric='average_prec"):
        scorer(fitted, y_score, y_true)


# Weights.


@pytest.mark.parametrize("output", OUTPUTS)
@MAY_SATURATE
def test_weights_reach_average_precision(output, rankings):
    y_true, y_score = rankings[2]
    weights = np.random.default_rng(2).random(len(y_true)) + 0.1
    scorer = make_significance_scorer(output=output, n_resamples=99)
    result = average_precision_test(y_true, y_score, sample_weight=weights, n_resamples=99)
    assert result.method == "permutation"
    fields = {"neg_log10_pvalue": "log10_pvalue", "adjusted": "adjusted_statistic"}
    expected = getattr(result, fields.get(output, output))
    expected = -expected if output == "neg_log10_pvalue" else expected
    found = score(scorer, y_true, y_score, sample_weight=weights)
    assert found == pytest.approx(expected, rel=1e-12)
    if output == "statistic":
        reference = average_precision_score(y_true, y_score, sample_weight=weights)
        assert found == pytest.approx(reference, rel=1e-12)


def test_weights_have_no_analytic_distribution(rankings):
    y_true, y_score = rankings[0]
    weights = 1.0 + (np.arange(len(y_true)) % 3)
    scorer = make_significance_scorer(method="analytic")
    with pytest.raises(ValueError, match="permutation"):
        score(scorer, y_true, y_score, sample_weight=weights)


def test_weights_on_a_fold_without_positives():
    scorer = make_significance_scorer()
    with pytest.warns(UndefinedMetricWarning, match="no positives") as record:
        assert score(scorer, [0, 0, 0], [0.1, 0.2, 0.3], sample_weight=[1.0, 2.0, 3.0]) == 0.0
    assert len(record) == 1


@pytest.mark.parametrize(
    ("metric", "shown"),
    [("recall@2", r"RecallAtK\(k=2\)"), ("precision@2", r"PrecisionAtK\(k=2\)")],
)
def test_other_metrics_refuse_weights(metric, shown):
    scorer = make_significance_scorer(metric)
    with pytest.raises(ValueError, match=f"metric={shown} takes no sample_weight"):
        score(scorer, [0, 1, 0], [0.1, 0.2, 0.3], sample_weight=[1.0, 2.0, 3.0])


@pytest.mark.parametrize("method", ["auto", "permutation_of_labels"])
@MAY_SATURATE
def test_permutation_of_weights(method, rankings):
    y_true, y_score = rankings[2]
    weights = np.random.default_rng(2).random(len(y_true)) ** 4 + 0.1
    scorer = make_significance_scorer(method=method, output="pvalue", n_resamples=99)
    expected = average_precision_test(
        y_true, y_score, sample_weight=weights, method=method, n_resamples=99
    )
    assert score(scorer, y_true, y_score, sample_weight=weights) == expected.pvalue
    both = make_significance_scorer(method=method, output="all", n_resamples=99)
    assert score(both["pvalue"], y_true, y_score, sample_weight=weights) == expected.pvalue
    if method == "auto":
        exact = average_precision_test(y_true, y_score).pvalue
        assert score(scorer, y_true, y_score) == pytest.approx(exact, rel=ACCEPTED)
        return
    with pytest.raises(ValueError, match="but no sample_weight is given"):
        _ = score(scorer, y_true, y_score)
    # Without positives a fold has no evidence.
    with pytest.warns(UndefinedMetricWarning):
        assert score(scorer, 0 * y_true, y_score, sample_weight=weights) == 1.0
    equal = score(scorer, y_true, y_score, sample_weight=np.ones(len(y_true)))
    drawn = average_precision_test(y_true, y_score, method="permutation", n_resamples=99)
    assert equal == drawn.pvalue


@MAY_SATURATE
def test_weights_that_depend_on_labels_give_one_warning_in_a_dict(rankings):
    y_true, y_score = rankings[2]
    scorers = all_outputs(method="permutation_of_labels", n_resamples=9)
    with pytest.warns(UserWarning, match="sample_weight depends on the labels") as record:
        _ = [score(s, y_true, y_score, sample_weight=1.0 + y_true) for s in scorers.values()]
    texts = [str(w.message) for w in record if "sample_weight" in str(w.message)]
    assert len(texts) == 1


# Strata, clusters and series.


def rows_of(restriction):
    """Labels and scores of rows, and the restrictions of the permutation of the labels."""
    rng = np.random.default_rng(4)
    cluster = np.repeat(np.arange(30), 3)
    y_true = (np.arange(30) < 8)[cluster].astype(int)
    y_score = np.round(rng.normal(size=30)[cluster] + 0.4 * y_true, 1)
    return {
        "clusters": (y_true, y_score, {"clusters": cluster}),
        "strata": (y_true, y_score, {"strata": np.arange(90) % 4}),
        "order": (y_true, y_score, {"order": rng.permutation(90)}),
    }[restriction]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("restriction", ["clusters", "strata", "order"])
@pytest.mark.filterwarnings("ignore:Circular shifts leave 90 different labellings")
@MAY_SATURATE
def test_outputs_with_restricted_labels_are_the_fields_of_the_test(restriction, metric):
    y_true, y_score, restricted = rows_of(restriction)
    options = {"metric": with_cut_off(metric, 0.2), "n_resamples": 199}
    scorers = all_outputs(**options)
    result = metric_test(y_true, y_score, **restricted, **options)
    assert result.method == "permutation"
    expected = {
        "statistic": result.statistic,
        "neg_log10_pvalue": -result.log10_pvalue,
        "pvalue": result.pvalue,
        "zscore": result.zscore,
        "adjusted": result.adjusted_statistic,
    }
    for name, scorer in scorers.items():
        found = score(scorer, y_true, y_score, **restricted)
        assert found == pytest.approx(expected[name], rel=1e-12, abs=1e-13), name


@MAY_SATURATE
def test_blocks_of_a_series():
    y_true, y_score, restricted = rows_of("order")
    restricted |= {"clusters": np.argsort(np.argsort(restricted["order"])) // 5}
    scorer = make_significance_scorer("roc_auc", output="pvalue")
    test = NAMED["roc_auc"].test
    expected = test(y_true, y_score, n_resamples=999, **restricted)
    assert score(scorer, y_true, y_score, **restricted) == expected.pvalue


@MAY_SATURATE
def test_weights_and_clusters_together():
    y_true, y_score, restricted = rows_of("clusters")
    weights = np.repeat(np.random.default_rng(0).random(30) + 0.1, 3)
    options = {"n_resamples": 99}
    scorer = make_significance_scorer(output="pvalue", **options)
    expected = average_precision_test(
        y_true, y_score, sample_weight=weights, **restricted, **options
    )
    found = score(scorer, y_true, y_score, sample_weight=weights, **restricted)
    assert found == expected.pvalue


@MAY_SATURATE
def test_averages_over_classes_with_clusters():
    cluster = np.repeat(np.arange(30), 3)
    y_true = np.random.default_rng(0).integers(3, size=30)[cluster]
    y_score = np.random.default_rng(1).dirichlet(np.ones(3), size=90)
    fitted = GivenProbabilities(classes=(0, 1, 2)).fit(None, None)
    options = {"metric": "average_precision_macro", "n_resamples": 99}
    expected = metric_test(y_true, y_score, clusters=cluster, **options)
    for name, scorer in all_outputs(**options).items():
        with sklearn.config_context(enable_metadata_routing=True):
            found = scorer(fitted, y_score, y_true, clusters=cluster)
        if name in ("statistic", "pvalue"):
            assert found == pytest.approx(getattr(expected, name), rel=1e-12)


@pytest.mark.parametrize("options", [{}, {"output": "pvalue"}, {"output": "all"}])
def test_few_labellings_give_one_warning(options):
    scorers = make_significance_scorer(n_resamples=99, **options)
    scorers = scorers if isinstance(scorers, dict) else {"score": scorers}
    y_true, clusters = [1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 2, 2]
    with pytest.warns(UserWarning, match="clusters leave 3 different labellings") as record:
        _ = [score(s, y_true, np.arange(6.0), clusters=clusters) for s in scorers.values()]
    assert len(record) == 1


@pytest.mark.filterwarnings("ignore:strata leave no labelling but the observed one")
@pytest.mark.parametrize("metric", METRICS)
def test_fold_in_which_nothing_can_be_permuted(metric):
    y_true, y_score = [1, 1, 0, 0, 0], [5.0, 3.0, 4.0, 2.0, 1.0]
    scorers = all_outputs(metric=with_cut_off(metric, 2))
    plain = score(scorers["statistic"], y_true, y_score)
    for output in OUTPUTS:
        scorer = make_significance_scorer(with_cut_off(metric, 2), output=output)
        found = score(scorer, y_true, y_score, strata=y_true)
        assert found == pytest.approx(NO_EVIDENCE.get(output, plain), rel=1e-12), output


@pytest.mark.parametrize("restriction", ["clusters", "strata", "order"])
def test_restricted_labels_have_no_analytic_distribution(restriction):
    y_true, y_score, restricted = rows_of(restriction)
    scorer = make_significance_scorer(method="analytic")
    with pytest.raises(ValueError, match="method='analytic' is not available for permutation"):
        score(scorer, y_true, y_score, **restricted)


def test_fold_without_positives_in_clusters():
    scorer = make_significance_scorer()
    with pytest.warns(UndefinedMetricWarning, match="no positives") as record:
        assert score(scorer, [0, 0, 0], [0.1, 0.2, 0.3], clusters=[1, 1, 2]) == 0.0
    assert len(record) == 1


# Folds without evidence.


METHODS = [
    *itertools.product(EXACT, ["auto", "permutation", "normal"]),
    ("recall_at_precision", "auto"),
    ("recall_at_precision", "permutation"),
]
DISCOUNTS, DECAY = 1.0 / np.log2(np.arange(2.0, 7.0)), np.exp(-20.0 * np.arange(1, 6) / 5)
BEST, WORST = DECAY[:2].mean(), DECAY[3:].mean()
# Means over the placements of two positives among five ranks, where they are not 2/5.
CONSTANT = {
    "enrichment": 1.0,
    "f_score": 0.4,
    "roc_auc": 0.5,
    "dcg": 2 * DISCOUNTS.mean(),
    "ndcg": DISCOUNTS.mean() / DISCOUNTS[:2].mean(),
    "bedroc": (DECAY.mean() - WORST) / (BEST - WORST),
    "rie": 1.0,
    "recall_at_precision": 1.0,
    "reciprocal_rank": 0.4 + 0.3 / 2 + 0.2 / 3 + 0.1 / 4,
}


@pytest.mark.parametrize(("metric", "method"), METHODS)
def test_fold_without_positives(metric, method):
    message = "There are no positives in y_true"
    for output in OUTPUTS:
        scorer = make_significance_scorer(with_cut_off(metric, 2), method=method, output=output)
        with pytest.warns(UndefinedMetricWarning, match=message) as record:
            found = score(scorer, [0, 0, 0, 0], [0.4, 0.1, 0.2, 0.3])
        assert found == NO_EVIDENCE.get(output, 0.0), output
        assert len(record) == 1


@pytest.mark.parametrize(("metric", "method"), METHODS)
def test_fold_of_positives(metric, method):
    # ROC AUC and BEDROC are not defined, and 0.
    other = {
        "recall": 0.5,
        "f_score": 2 / 3,
        "roc_auc": 0.0,
        "bedroc": 0.0,
        "dcg": DISCOUNTS[:4].sum(),
    }
    statistic = pytest.approx(other.get(metric, 1.0), rel=1e-14)
    for output in OUTPUTS:
        scorer = make_significance_scorer(with_cut_off(metric, 2), method=method, output=output)
        expected = NO_EVIDENCE.get(output, statistic)
        assert score(scorer, [1, 1, 1, 1], [4, 1, 2, 3]) == expected, output


@pytest.mark.parametrize(
    ("metric", "method"),
    [
        *METHODS,
        ("average_precision", "pearson3"),
        ("recall", "binomial"),
    ],
)
def test_constant_score(metric, method):
    # Each block of equal scores is one threshold; ties at k are broken at random.
    statistic = CONSTANT.get(metric, 2 / 5)
    for output in OUTPUTS:
        scorer = make_significance_scorer(with_cut_off(metric, 2), method=method, output=output)
        found = score(scorer, [1, 0, 0, 0, 1], [3.0] * 5)
        assert found == pytest.approx(NO_EVIDENCE.get(output, statistic), rel=1e-13), output


@pytest.mark.parametrize("options", [{"output": "all"}, {"method": "both"}])
def test_one_warning_for_all_scorers_of_a_dict(options):
    scorers = make_significance_scorer(**options)
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        scores = {name: score(s, [0, 0, 0], [0.3, 0.1, 0.2]) for name, s in scorers.items()}
    assert [w.category for w in record] == [UndefinedMetricWarning]
    for name, value in scores.items():
        expected = 1.0 if name.startswith("pvalue") else 0.0
        assert value == expected


# Saturation of permutation p-values.


PERFECT = np.r_[np.ones(5, int), np.zeros(45, int)], np.arange(50.0, 0.0, -1.0)


@pytest.mark.parametrize("output", ["pvalue", "neg_log10_pvalue"])
def test_saturation_gives_a_warning(output):
    scorer = make_significance_scorer(method="permutation", output=output, n_resamples=199)
    with pytest.warns(
        UserWarning, match="has its smallest possible value, 1/200 with 199"
    ) as record:
        found = score(scorer, *PERFECT)
    assert len(record) == 1
    floor = {"pvalue": 1 / 200, "neg_log10_pvalue": math.log10(200)}[output]
    assert found == pytest.approx(floor, rel=1e-12)


@pytest.mark.parametrize("options", [{"method": "both"}, {"method": "permutation"}])
def test_saturation_gives_one_warning_in_a_dict(options):
    scorers = all_outputs(**options)
    with pytest.warns(UserWarning, match="method='analytic', which has no such limit") as record:
        _ = [score(scorer, *PERFECT) for scorer in scorers.values()]
    assert len(record) == 1


@pytest.mark.parametrize("output", ["statistic", "zscore", "adjusted"])
def test_no_saturation_without_a_permutation_pvalue(output):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        score(make_significance_scorer(method="permutation", output=output), *PERFECT)
        score(make_significance_scorer(output="neg_log10_pvalue"), *PERFECT)
        # One labeling in ten is as good: far from the floor.
        scorer = make_significance_scorer(method="permutation", n_resamples=199)
        score(scorer, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0], np.arange(10.0, 0.0, -1.0))


def test_saturation_of_weighted_and_averaged_statistics():
    y_true, y_score = PERFECT
    scorer = make_significance_scorer(n_resamples=99)
    weights = 1.0 + np.arange(50) % 2
    with pytest.warns(UserWarning, match="a larger n_resamples"):
        score(scorer, y_true, y_score, sample_weight=weights)
    classes = np.arange(30) % 3
    fitted = GivenProbabilities(classes=(0, 1, 2)).fit(None, None)
    scorer = make_significance_scorer("average_precision_macro", n_resamples=99)
    with pytest.warns(UserWarning, match="1/100 with 99 permutations"):
        scorer(fitted, np.eye(3)[classes] * 0.9 + 0.1 / 3, classes)


# Arguments.


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metric": "accuracy"}, ValueError, "metric must be one of 'average_precision'.*accuracy"),
        ({"metric": average_precision_score}, ValueError, "metric must be one of"),
        ({"metric": ["average_precision"]}, ValueError, "metric must be one of"),
        ({"output": "log"}, ValueError, "output must be one of 'statistic', .*, 'all'; got 'log'"),
        ({"method": "exact"}, ValueError, "method must be one of .*got 'exact'"),
        ({"method": "both", "output": "zscore"}, ValueError, "method='both' returns a dict"),
        ({"method": "both", "output": "pvalue"}, ValueError, "with output='pvalue'"),
        (
            {"method": "zhang_su", "metric": "average_precision@5"},
            ValueError,
            "method='analytic' or 'normal' with k",
        ),
        (
            {"metric": "roc_auc_samples"},
            ValueError,
            "average='samples' ranks the classes",
        ),
        ({"metric": "ndcg@0"}, ValueError, "k must be at least 1 as a number of items; got 0"),
        ({"metric": "ndcg@1.5"}, ValueError, "k as a float is a fraction.*got 1.5"),
        ({"metric": "ndcg@ten"}, ValueError, "the cut-off after the @ must be a number of items"),
        ({"n_resamples": 0}, ValueError, "n_resamples must be at least 1; got 0"),
        ({"n_resamples": 9.5}, TypeError, "n_resamples must be an integer; got 9.5"),
        ({"random_state": -1}, ValueError, "random_state must be at least 0; got -1"),
        (
            {"metric": "roc_auc", "method": "permutation_of_labels"},
            ValueError,
            r"metric=RocAuc\(\) takes no method='permutation_of_labels': leave it out",
        ),
        ({"random_state": "x"}, ValueError, "random_state must be an int, .* got 'x'"),
        ({"response_method": "transform"}, ValueError, "response_method must be one of"),
        ({"response_method": ()}, ValueError, "response_method must be one of"),
        ({"response_method": None}, ValueError, "or a list of them; got None"),
        ({"metric": "recall"}, ValueError, "recall needs a cut-off: metric='recall@50'"),
        ({"pos_label": None}, TypeError, "pos_label must be a number.*got None"),
        ({"pos_label": [1]}, TypeError, r"pos_label must be a number.*got \[1\]"),
        ({"metric": "recall@5", "method": "pearson3"}, ValueError, "pearson3"),
        (
            {"metric": "reciprocal_rank_macro"},
            ValueError,
            r"ReciprocalRank\(\) has no average over classes; got average='macro'",
        ),
    ],
)
def test_arguments_are_checked_at_once(options, error, message):
    with pytest.raises(error, match=message):
        make_significance_scorer(**options)


@pytest.mark.parametrize("metric", ["roc_auc", "bedroc", "rie", "reciprocal_rank"])
def test_metric_without_k(metric):
    message = f"metric='{metric}@10': {metric} has no cut-off; pass metric='{metric}'"
    with pytest.raises(ValueError, match=message):
        make_significance_scorer(f"{metric}@10")
    assert repr(make_significance_scorer(metric))


@pytest.mark.parametrize(
    "metric", [name for name, make in METRICS.items() if name == "ndcg" or hasattr(make, "k")]
)
def test_k_larger_than_a_fold(metric):
    scorer = make_significance_scorer(f"{metric}@20")
    with pytest.raises(ValueError, match=r"k=20.* a cut-off above the 8 items of this fold.*@0\.1"):
        score(scorer, [0, 1] * 4, np.arange(8.0))


def test_sources_of_randomness():
    rng = np.random.default_rng(4)
    y_true, y_score = rng.integers(2, size=40), rng.random(40)
    options = {"method": "permutation", "output": "pvalue", "n_resamples": 99}
    generator = np.random.default_rng(0)
    before = copy.deepcopy(generator.bit_generator.state)
    scorer = make_significance_scorer(random_state=generator, **options)
    assert generator.bit_generator.state == before
    drawn = [score(scorer, y_true, y_score) for _ in range(5)]
    assert len(set(drawn)) > 1
    same = make_significance_scorer(random_state=7, **options)
    assert len({score(same, y_true, y_score) for _ in range(3)}) == 1
    legacy = make_significance_scorer(random_state=np.random.RandomState(1), **options)
    fresh = make_significance_scorer(random_state=None, **options)
    for scorer in (legacy, fresh):
        assert score(scorer, y_true, y_score) == pytest.approx(drawn[0], abs=0.3)


# Functions that are not scorers.


# A search is tested with its estimators, and a table has values alone; the others have labels and
# scores.
FUNCTIONS = [
    name
    for name in sklearn_rankinf.__all__
    if name.endswith(("_test", "_score", "_pvalue"))
    and inspect.isfunction(getattr(sklearn_rankinf, name))
    and name not in ("search_permutation_test", "values_multiple_comparison_test")
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_passed_as_scorers(name, rankings):
    function = getattr(sklearn_rankinf, name)
    y_true, y_score = rankings[0]
    # The randomization test takes three arrays.
    pattern = "got an estimator" if name == "randomization_test" else "positional arguments"
    with pytest.raises(TypeError, match=pattern):
        cross_val_score(
            GivenScores(), np.c_[y_score], y_true, scoring=function, error_score="raise"
        )
    options = {"k": 2, "groups": y_true, "group": y_true}
    needed = inspect.signature(function).parameters
    given = {option: value for option, value in options.items() if option in needed}
    pattern = (
        "got an estimator, GivenScores: .*not a scorer; pass scoring=make_significance_scorer.*"
        r"sklearn.metrics.make_scorer\(function, response_method=\('decision_function'"
    )
    with pytest.raises(TypeError, match=pattern):
        function(GivenScores(), *[y_true] * name.count("randomization"), y_score, **given)


def test_make_scorer_reads_pos_label():
    fitted = GivenProbabilities(classes=(0, 1)).fit(None, None)
    rng = np.random.default_rng(0)
    y_true, x = rng.integers(2, size=30), rng.random(30)
    scorer = make_scorer(average_precision_pvalue, response_method="predict_proba")
    expected = average_precision_pvalue(y_true, x)
    assert scorer(fitted, x[:, None], y_true) == pytest.approx(expected, rel=1e-12)


# Those of which labels without positives make no sense, or an error.
UNWARNED = {
    "randomization_test",
    "binormal_average_precision_score",
    "metric_group_comparison_test",
}


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in UNWARNED])
def test_warnings_name_the_caller(name):
    function = getattr(sklearn_rankinf, name)
    options = {
        option: {"k": 2, "statistic": RocAuc(), "groups": None}[option]
        for option, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty
    }
    if "groups" in inspect.signature(function).parameters:
        options["groups"] = ["a", "b", "b"]
    y_score = np.array([0.3, 0.1, 0.2])
    scores = [y_score]
    if name in ("best_candidate_test", "metric_comparison_test", "metric_multiple_comparison_test"):
        scores = [np.c_[y_score, -y_score]]
    with pytest.warns(UndefinedMetricWarning, match="positives") as record:
        function([0, 0, 0], *scores, **options)
    assert {w.filename for w in record} == {__file__}
