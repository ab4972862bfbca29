"""LAGO, the estimator that is written in an example of the gallery."""

import ast
import itertools
import math
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

EXAMPLE = Path(__file__).parents[2] / "examples" / "plot_lago.py"
KERNELS = ("triangular", "gaussian")
SHAPES = ("spherical", "elliptical")
OPTIONS = list(itertools.product(KERNELS, SHAPES))

POSITIVES = [[0.0, 0.0], [1.0, 1.0]]
NEGATIVES = [[1.0, 0.0], [0.0, 1.0], [2.0, 2.0], [3.0, 2.0], [2.0, 3.0], [5.0, 5.0]]
PLACES = [[0.5, 0.5], [2.0, 2.0], [0.0, 0.0], [0.25, 0.1]]


def class_of_the_example():
    """The class, from the statements down to its end; nothing after it is run."""
    body = ast.parse(EXAMPLE.read_text(encoding="utf-8")).body
    end = next(i for i, node in enumerate(body) if isinstance(node, ast.ClassDef))
    module = types.ModuleType("lago_of_the_example")
    # Pickling looks the class up by the name of its module.
    sys.modules[module.__name__] = module
    code = compile(ast.Module(body[: end + 1], type_ignores=[]), EXAMPLE, "exec")
    exec(code, module.__dict__)
    return module.LAGO


LAGO = class_of_the_example()


def fitted(positives=POSITIVES, negatives=NEGATIVES, **parameters):
    y = np.repeat([1, 0], [len(positives), len(negatives)])
    return LAGO(**parameters).fit(np.concatenate([positives, negatives]), y)


def slow_scores(positives, negatives, places, n_neighbors, alpha, kernel, adaptive):
    """Scores from the definition, one number at a time; radii are taken to be positive."""
    profile = {"triangular": lambda u: max(1 - u, 0.0), "gaussian": lambda u: math.exp(-u * u)}
    scores = []
    for place in places:
        kernels = []
        for positive in positives:
            nearest = sorted(negatives, key=lambda z: math.dist(positive, z))[:n_neighbors]
            if adaptive == "spherical":
                radius = sum(math.dist(positive, z) for z in nearest) / len(nearest)
                factors = [profile[kernel](math.dist(place, positive) / (alpha * radius))]
            else:
                factors = []
                for j, centre in enumerate(positive):
                    radius = sum(abs(z[j] - centre) for z in nearest) / len(nearest)
                    factors.append(profile[kernel](abs(place[j] - centre) / (alpha * radius)))
            kernels.append(math.prod(factors))
        scores.append(sum(kernels) / len(kernels))
    return scores


@parametrize_with_checks(
    [LAGO(kernel=kernel, adaptive=shape) for kernel, shape in zip(KERNELS, SHAPES, strict=True)]
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


# By hand: both radii are 1, and 1/2 in each coordinate.
BY_HAND = {
    ("triangular", "spherical"): [
        1 - math.sqrt(0.5),
        0.0,
        0.5,
        (2 - math.hypot(0.25, 0.1) - 1) / 2,
    ],
    ("gaussian", "spherical"): [
        math.exp(-0.5),
        (math.exp(-8) + math.exp(-2)) / 2,
        (1 + math.exp(-2)) / 2,
        (math.exp(-0.0725) + math.exp(-(0.75**2) - 0.9**2)) / 2,
    ],
    ("triangular", "elliptical"): [0.0, 0.0, 0.5, 0.2],
    ("gaussian", "elliptical"): [
        math.exp(-2),
        (math.exp(-32) + math.exp(-8)) / 2,
        (1 + math.exp(-8)) / 2,
        (math.exp(-0.29) + math.exp(-(1.5**2) - 1.8**2)) / 2,
    ],
}


@pytest.mark.parametrize(("kernel", "adaptive"), OPTIONS)
def test_scores_by_hand(kernel, adaptive):
    lago = fitted(n_neighbors=2, kernel=kernel, adaptive=adaptive)
    assert_array_equal(lago.radii_, [1, 1] if adaptive == "spherical" else [[0.5, 0.5]] * 2)
    assert_allclose(lago.score_samples(PLACES), BY_HAND[kernel, adaptive], rtol=1e-13)


def test_scores_in_figures():
    for kernel, scores in {
        "triangular": [0.292893, 0.0, 0.5],
        "gaussian": [0.606531, 0.067835, 0.567668],
    }.items():
        found = fitted(n_neighbors=2, kernel=kernel).score_samples(PLACES[:3])
        assert_allclose(found, scores, atol=5e-7)


@pytest.mark.parametrize(("kernel", "adaptive"), OPTIONS)
@pytest.mark.parametrize("alpha", [0.7, 3.0])
def test_scores_from_the_definition(kernel, adaptive, alpha):
    rng = np.random.default_rng(3)
    positives, negatives, places = (rng.normal(size=(n, 3)) for n in (7, 40, 25))
    parameters = {"n_neighbors": 4, "alpha": alpha, "kernel": kernel, "adaptive": adaptive}
    expected = slow_scores(*(a.tolist() for a in (positives, negatives, places)), **parameters)
    lago = fitted(positives, negatives, **parameters)
    assert_allclose(lago.score_samples(places), expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_feature_has_one_shape(kernel):
    rng = np.random.default_rng(5)
    positives, negatives, places = (rng.normal(size=(n, 1)) for n in (6, 30, 50))
    both = [
        fitted(positives, negatives, kernel=kernel, adaptive=adaptive).score_samples(places)
        for adaptive in SHAPES
    ]
    assert_allclose(*both, rtol=1e-13)


@pytest.mark.parametrize(("kernel", "adaptive"), OPTIONS)
def test_batches_do_not_change_scores(kernel, adaptive):
    rng = np.random.default_rng(7)
    positives, negatives, places = (rng.normal(size=(n, 2)) for n in (50, 90, 70))
    lago = fitted(positives, negatives, kernel=kernel, adaptive=adaptive)
    whole = lago.score_samples(places)
    for working_memory in (1e-6, 50 * 8 * 9 / 2**20):  # one row, nine rows
        with config_context(working_memory=working_memory):
            assert_array_equal(lago.score_samples(places), whole)


def test_batches_fit_into_the_working_memory(monkeypatch):
    lago = fitted(np.zeros((50, 2)), np.ones((5, 2)))
    rows = []
    kernels = LAGO._kernels
    monkeypatch.setattr(LAGO, "_kernels", lambda self, X: rows.append(len(X)) or kernels(self, X))
    with config_context(working_memory=50 * 8 * 9 / 2**20):
        lago.score_samples(np.zeros((70, 2)))
    assert rows == [9] * 7 + [7]


@pytest.mark.parametrize("adaptive", SHAPES)
def test_more_neighbours_than_negatives(adaptive):
    few, all_of_them = (fitted(n_neighbors=n, adaptive=adaptive).radii_ for n in (100, 6))
    assert_array_equal(few, all_of_them)
    assert_array_equal(
        fitted([[0.0, 0.0]], [[3.0, 4.0]], adaptive=adaptive).radii_,
        [5] if adaptive == "spherical" else [[3, 4]],
    )


def test_radius_of_a_duplicate_is_the_smallest_other():
    # 1e5 away from the origin, where the expanded formula of distances has errors of 1e-6.
    positives = np.array([[1e5, 1e5], [1e5 + 3, 1e5], [1e5 + 9, 1e5]])
    negatives = np.array([[1e5, 1e5], [1e5, 1e5], [1e5 + 5, 1e5], [1e5 + 5, 1e5]])
    spherical = fitted(positives, negatives, n_neighbors=2)
    assert_array_equal(spherical.radii_, [2, 2, 4])
    # The second feature is the same everywhere.
    elliptical = fitted(positives, negatives, n_neighbors=2, adaptive="elliptical")
    assert_array_equal(elliptical.radii_, [[2, 1], [2, 1], [4, 1]])
    assert_allclose(spherical.score_samples(positives), elliptical.score_samples(positives))


@pytest.mark.parametrize(("kernel", "adaptive"), OPTIONS)
def test_all_radii_zero(kernel, adaptive):
    lago = fitted(np.zeros((3, 2)), np.zeros((9, 2)), kernel=kernel, adaptive=adaptive)
    assert_array_equal(lago.radii_, np.ones_like(lago.radii_))
    assert_allclose(lago.score_samples([[0, 0], [0.5, 0]])[0], 1)
    # Nothing distinguishes the samples, and none is above the threshold.
    assert_array_equal(lago.predict(np.zeros((4, 2))), np.zeros(4))


@pytest.mark.parametrize(("kernel", "adaptive"), OPTIONS)
@pytest.mark.parametrize("n_positives", [1, 20, 99])
def test_as_many_are_predicted_as_there_are(kernel, adaptive, n_positives):
    rng = np.random.default_rng(n_positives)
    X = rng.normal(size=(100, 2))
    y = np.where(np.arange(100) < n_positives, "rare", "common")
    lago = LAGO(kernel=kernel, adaptive=adaptive).fit(X, y)
    assert lago.classes_.tolist() == ["common", "rare"]
    predicted = lago.predict(X)
    # No other place between two scores lets through a number nearer to that of the positives.
    scores = lago.score_samples(X)
    possible = np.array([np.sum(scores > score) for score in scores])
    found = np.sum(predicted == "rare")
    assert abs(found - n_positives) == np.min(np.abs(possible - n_positives))
    if kernel == "gaussian":  # no ties
        assert found == n_positives
    assert_array_equal(predicted == "rare", lago.decision_function(X) > 0)
    assert_array_equal(predicted == "rare", scores > lago.threshold_)


def test_threshold_with_ties():
    # By hand, radii 1 and 1: scores 1/2, 1/2 of the positives, 1/4 of .5, and 0 of 1 and 10.
    X, y = np.array([[0.0], [20.0], [1.0], [19.0], [10.0], [10.0]]), [1, 1, 0, 0, 0, 0]
    lago = LAGO(n_neighbors=1).fit(X, y)
    assert_array_equal(lago.score_samples(X), [0.5, 0.5, 0, 0, 0, 0])
    assert lago.threshold_ == 0.25
    assert_array_equal(lago.predict([[0.4], [0.5], [0.6], [19.6]]), [1, 0, 0, 1])
    # One positive in a block of four equal samples: none is nearer to one than four are.
    lago = LAGO(n_neighbors=1).fit([[0.0]] * 4 + [[1.0]] * 4, [1, 0, 0, 0] + [0] * 4)
    assert_array_equal(lago.predict([[0.0], [1.0]]), [0, 0])
    # Three of four: four are nearer than none.
    lago = LAGO(n_neighbors=2).fit([[0.0]] * 4 + [[1.0]] * 4, [1, 1, 1, 0] + [0] * 4)
    assert_array_equal(lago.predict([[0.0], [1.0]]), [1, 0])


def test_decision_function_keeps_the_order_of_small_scores():
    X = np.linspace(0, 25, 60)[:, np.newaxis]
    lago = fitted([[0.0]], [[1.0], [1.0]], kernel="gaussian")
    scores = lago.score_samples(X)
    assert scores[-1] < 1e-250
    assert np.all(np.diff(lago.decision_function(X)) < 0)
    assert_allclose(lago.decision_function(X), np.log(scores / lago.threshold_), rtol=1e-12)
    assert np.isfinite(lago.decision_function([[1e6]])).all()


@pytest.mark.parametrize(("kernel", "adaptive"), OPTIONS)
def test_scale_and_place_do_not_matter(kernel, adaptive):
    rng = np.random.default_rng(11)
    positives, negatives, places = (rng.normal(size=(n, 3)) for n in (8, 60, 30))
    options = {"kernel": kernel, "adaptive": adaptive}
    here = fitted(positives, negatives, **options).score_samples(places)
    moved = fitted(4 * positives - 2, 4 * negatives - 2, **options).score_samples(4 * places - 2)
    assert_allclose(moved, here, rtol=1e-10)
    # The effect of alpha is to multiply all radii.
    wide = fitted(positives, negatives, alpha=2.5, **options)
    wide.set_params(alpha=1.0).radii_ *= 2.5
    assert_allclose(
        wide.score_samples(places),
        fitted(positives, negatives, alpha=2.5, **options).score_samples(places),
    )


def test_integers_are_not_subtracted_as_they_are():
    X = np.array([[0], [4], [5]], dtype=np.uint8)
    assert_array_equal(LAGO(n_neighbors=1).fit(X, [0, 1, 0]).radii_, [1])
    # 4 - 5 is 255 in eight bits.
    for adaptive in SHAPES:
        lago = LAGO(n_neighbors=1, alpha=2, adaptive=adaptive).fit(X, [0, 0, 1])
        assert lago.radii_.ravel().tolist() == [1]
        assert_array_equal(lago.score_samples(np.array([[4], [6]], dtype=np.uint8)), [0.5, 0.5])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be an int of at least 1, not 0"),
        ({"n_neighbors": 2.5}, "n_neighbors must be an int of at least 1, not 2.5"),
        ({"alpha": 0}, "alpha must be a positive number, not 0"),
        ({"alpha": math.nan}, "alpha must be a positive number, not nan"),
        ({"alpha": math.inf}, "alpha must be a positive number, not inf"),
        ({"alpha": "auto"}, "alpha must be a positive number, not 'auto'"),
        ({"kernel": "flat"}, "kernel must be 'triangular' or 'gaussian', not 'flat'"),
        ({"adaptive": "e"}, "adaptive must be 'spherical' or 'elliptical', not 'e'"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        fitted(**parameters)


def test_wrong_labels():
    X = [[0.0], [1.0], [2.0]]
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        LAGO().fit(X, [0, 1, 2])
    with pytest.raises(ValueError, match="y has one class, 1, but LAGO needs two"):
        LAGO().fit(X, [1, 1, 1])


def test_several_classes_one_by_one():
    rng = np.random.default_rng(13)
    y = np.repeat(["a", "b", "c"], 30)
    X = rng.normal(size=(90, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 30, axis=0)
    assert_array_equal(OneVsRestClassifier(LAGO(alpha=2.0)).fit(X, y).predict(X), y)


def test_search_by_average_precision():
    rng = np.random.default_rng(17)
    y = np.arange(300) % 15 == 0
    X = rng.normal(size=(300, 2)) * np.where(y, 0.2, 1.0)[:, np.newaxis]
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LAGO(kernel="gaussian")),
        {"lago__alpha": [0.01, 1.0], "lago__n_neighbors": [3, 10]},
        scoring="average_precision",
        cv=3,
    )
    search.fit(X, y)
    assert search.best_params_["lago__alpha"] == 1.0
    # The scorer ranks by decision_function, which is the order of the scores.
    best = search.best_estimator_
    scores = best[-1].score_samples(best[0].transform(X))
    assert average_precision_score(y, best.decision_function(X)) == pytest.approx(
        average_precision_score(y, scores), abs=1e-12
    )
