"""Curves and their limits against scikit-learn, direct sums over items, and definitions."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.metrics import precision_recall_curve, roc_curve

from sklearn_rankinf import Ranking, metric_curve
from sklearn_rankinf._estimation.curve_kinds import CURVES, joint_covariance
from sklearn_rankinf._estimation.regions import Region
from sklearn_rankinf._ranking import Sample
from sklearn_rankinf._statistics import slopes_at

RNG = np.random.default_rng(5)
Y = np.arange(120) < 24
A = RNG.normal(size=120) + 1.5 * Y
B = 0.6 * A + RNG.normal(size=120)
BOTH = {"a": A, "b": B}


def influence_of(kind, sample, x):
    return [kind.influence(ranking, x) for ranking in sample.rankings]


each_curve = pytest.mark.parametrize("curve", list(CURVES))


def structures():
    yield "no ties", Y, A
    yield "two decimals", Y, A.round(1)
    yield "few levels", Y, np.floor(A)
    yield "zeros at the bottom", Y, np.maximum(A, 0.5)
    yield "saturated top", Y, np.minimum(A, 1.0)
    yield "most are positives", ~Y, -A
    yield "perfect", Y, Y + 0.1 * np.tanh(A)
    yield "reversed", Y, -A


STRUCTURES = {name: (y, score) for name, y, score in structures()}
each_structure = pytest.mark.parametrize("name", list(STRUCTURES))


def at_corners(x, corners):
    """Whether each abscissa is that of a corner, and the last ordinate there."""
    places, values = corners
    at = np.array([np.flatnonzero(np.abs(places - each) < 1e-12).max(initial=-1) for each in x])
    return at >= 0, values[at]


@each_structure
def test_curves_are_scikit_learns(name):
    y, score = STRUCTURES[name]
    precision, recall, _ = precision_recall_curve(y, score)
    result = metric_curve(y, score)
    corners = result._corners
    # From the first corner on, and for equal recall the point with the highest threshold.
    assert_allclose(corners[0][1:], recall[:-1][::-1])
    assert_allclose(corners[1][1:], precision[:-1][::-1])
    first = {round(r, 12): p for r, p in zip(recall[:-1], precision[:-1], strict=True)}
    known = np.array([round(x, 12) in first for x in result.x])
    expected = [first[round(x, 12)] for x in result.x[known]]
    assert known.any()
    assert_allclose(result.value[known], expected)
    rate, found, _ = roc_curve(y, score, drop_intermediate=False)
    result = metric_curve(y, score, curve="roc")
    assert_allclose(result._corners, [rate, found])
    known, expected = at_corners(result.x, (rate, found))
    assert_allclose(result.value[known], expected[known])


@each_curve
@each_structure
def test_limits_enclose_the_curve_and_each_other(name, curve):
    y, score = STRUCTURES[name]
    result = metric_curve(y, score, curve=curve)
    slack = 1e-12
    assert np.all(np.diff(result.x) > 0)
    for low, high in (
        (result.low, result.high),
        (result.low_simultaneous, result.high_simultaneous),
    ):
        assert np.all((0 <= low) & (low <= result.value + slack))
        assert np.all((result.value <= high + slack) & (high <= 1))
    assert np.all(result.low_simultaneous <= result.low)
    assert np.all(result.high_simultaneous >= result.high)
    wider = metric_curve(y, score, curve=curve, confidence_level=0.99)
    assert np.all(wider.low <= result.low + slack)
    assert np.all(wider.high >= result.high - slack)


@each_curve
def test_same_answer_from_a_ranking_labels_and_transformed_scores(curve):
    result = metric_curve(Y, A.round(1), curve=curve)
    labels = np.where(Y, "active", "decoy")
    for other in (
        metric_curve(Ranking.from_scores(Y, A.round(1)), curve=curve),
        metric_curve(labels, np.exp(A.round(1)), pos_label="active", curve=curve),
        metric_curve(Y[::-1], A.round(1)[::-1], curve=curve),
        metric_curve(Y, pd.DataFrame({"a": A.round(1)}), curve=curve)["a"],
    ):
        for field in ("x", "value", "low", "high", "low_simultaneous", "high_simultaneous"):
            assert_array_equal(getattr(other, field), getattr(result, field))


def test_gain_is_recall_in_fractions():
    gain, recall = (metric_curve(Y, A, curve=curve) for curve in ("gain", "recall"))
    assert_allclose(gain.x, recall.x / 120)
    for field in ("value", "low", "high", "low_simultaneous", "high_simultaneous"):
        assert_allclose(getattr(gain, field), getattr(recall, field))


def test_recall_curve_has_the_limits_of_its_region():
    result = metric_curve(Y, A, curve="recall")
    ranking = Ranking.from_scores(Y, A)
    assert_array_equal(result.x, np.arange(2, 119))
    assert_allclose(result.value, np.cumsum(ranking.hits)[1:118] / 24)
    region = Region.pointwise(ranking, 0.95)
    assert_allclose([result.low, result.high], [region.low[2:-2], region.high[2:-2]])


def test_several_rankers_are_a_dict():
    results = metric_curve(Y, BOTH, curve="roc")
    assert list(results) == ["a", "b"]
    assert_array_equal(results["b"].low, metric_curve(Y, B, curve="roc").low)


def test_columns_are_named_after_the_axes():
    frame = metric_curve(Y, A).to_frame()
    limits = ["low", "high", "low_simultaneous", "high_simultaneous"]
    assert list(frame.columns) == ["recall", "precision", *limits]
    frame = metric_curve(Y, BOTH, curve="roc", difference=True).to_frame()
    assert list(frame.columns) == ["false_positive_rate", "difference", *limits]


def test_summary_states_points_and_range():
    text = metric_curve(Y, A, curve="gain").summary()
    assert text.startswith("Gain curve of 24 positives among 120 items, with 95 % limits.\n")
    assert "Recall was" in text
    assert text.endswith("contain all of the true curve from the top fraction 0.0167 to 0.983.")
    text = metric_curve(Y, BOTH, difference=True).summary()
    assert text.startswith("Difference of the precision-recall curves, a minus b, of 24 positives")
    assert "The difference in precision was" in text
    assert text.endswith("the true difference at all 17 points from recall 0.1 to 0.9.")


# Another prevalence.

PREVALENCES = [0.01, 0.3, 0.9]


@pytest.mark.parametrize("curve", ["precision_recall", "gain", "roc"])
@each_structure
def test_at_the_prevalence_of_the_sample_a_curve_is_that_of_the_sample(name, curve):
    y, score = STRUCTURES[name]
    plain, found = (
        metric_curve(y, score, curve=curve, prevalence=prevalence)
        for prevalence in (None, y.mean())
    )
    for field in ("x", "value", "low", "high", "low_simultaneous", "high_simultaneous"):
        assert_allclose(getattr(found, field), getattr(plain, field), atol=1e-12)
    assert_allclose(found._corners, plain._corners)
    assert_allclose(found._chance, plain._chance)


@pytest.mark.parametrize("prevalence", PREVALENCES)
@each_structure
def test_precision_at_another_prevalence_is_scikit_learns_with_weights(name, prevalence):
    y, score = STRUCTURES[name]
    weight = np.where(y, prevalence / y.sum(), (1 - prevalence) / (~y).sum())
    precision, recall, thresholds = precision_recall_curve(y, score, sample_weight=weight)
    found = metric_curve(y, score, prevalence=prevalence)
    assert_allclose(found._corners[0][1:], recall[:-1][::-1])
    assert_allclose(found._corners[1][1:], precision[:-1][::-1])
    first = {round(r, 12): p for r, p in zip(recall[:-1], precision[:-1], strict=True)}
    known = np.array([round(x, 12) in first for x in found.x])
    assert known.any()
    assert_allclose(found.value[known], [first[round(x, 12)] for x in found.x[known]])
    # The share of the population above each threshold is the sum of its weights.
    gain = metric_curve(y, score, curve="gain", prevalence=prevalence)
    share = [weight[score >= threshold].sum() for threshold in thresholds[::-1]]
    assert_allclose(gain._corners, [np.r_[0.0, share], np.r_[0.0, recall[:-1][::-1]]])


@pytest.mark.parametrize("curve", ["precision_recall", "gain"])
def test_copies_of_negatives_have_the_curve_of_a_lower_prevalence(curve):
    twice = np.repeat(np.arange(120), np.where(Y, 1, 2))
    copied = metric_curve(Y[twice], A[twice], curve=curve)
    found = metric_curve(Y, A, curve=curve, prevalence=24 / 216)
    assert_allclose(found._corners, copied._corners)
    if curve == "precision_recall":
        assert_allclose(found.value, copied.value)


def test_limits_at_another_prevalence_are_those_of_one_false_positive_rate():
    # Solved for the rate, the limits of precision are the same at every prevalence.
    rates = []
    for prevalence in PREVALENCES:
        found = metric_curve(Y, A.round(1), prevalence=prevalence)
        odds = prevalence / (1 - prevalence)
        limits = (found.low, found.high, found.low_simultaneous, found.high_simultaneous)
        rates.append([odds * found.x * (1 / limit - 1) for limit in limits])
    assert_allclose(rates[1], rates[0], atol=1e-10)
    assert_allclose(rates[2], rates[0], atol=1e-10)
    # Those of recall at a false-positive rate are the limits of the gain curve without positives.
    roc, gain = metric_curve(Y, A, curve="roc"), metric_curve(Y, A, curve="gain", prevalence=1e-9)
    inner = (gain.x >= roc.x[0]) & (gain.x <= roc.x[-1])
    ranking = Ranking.from_scores(Y, A)
    region = Region.pointwise(ranking, 0.95)
    expected = CURVES["roc"].limits(region, gain.x[inner])
    assert_allclose([gain.low[inner], gain.high[inner]], expected, atol=1e-6)


@pytest.mark.parametrize("curve", ["precision_recall", "gain"])
@pytest.mark.parametrize("prevalence", PREVALENCES)
@each_structure
def test_limits_at_another_prevalence_enclose_the_curve(name, curve, prevalence):
    y, score = STRUCTURES[name]
    found = metric_curve(y, score, curve=curve, prevalence=prevalence)
    slack = 1e-12
    assert np.all(found.low_simultaneous <= found.low)
    assert np.all(found.low <= found.value + slack)
    assert np.all(found.value <= found.high + slack)
    assert np.all(found.high <= found.high_simultaneous)


def test_summary_states_the_population_and_where_few_negatives_score_higher():
    found = metric_curve(Y, A, prevalence=0.02)
    text = found.summary()
    assert text.startswith(
        "Precision-recall curve of 24 positives among 120 items, in a population with "
        "prevalence 0.02, with 95 % limits.\n"
    )
    negatives = np.sort(A[~Y])[::-1]
    last = np.mean(A[Y] > negatives[9])
    assert f"\nUp to recall {last:.3g} fewer than 10 negatives score higher: the observed" in text
    text = metric_curve(Y, A, curve="gain", prevalence=0.02).summary()
    assert re.search(r"Up to the top fraction 0\.\d+ fewer than 10 negatives", text)
    text = metric_curve(Y, A, curve="roc", prevalence=0.02).summary()
    assert "items, which is the same at every prevalence, with 95 % limits.\n" in text
    assert "fewer than" not in text
    assert "fewer than" not in metric_curve(Y, A).summary()
    assert "fewer than" not in metric_curve(Y, -A, prevalence=0.02).summary()


def weighted_influence(curve, x, score, prevalence):
    """Influence of each item on each point, by the definitions, without ties."""
    order = np.argsort(-score)
    rank = np.empty(120, dtype=int)
    rank[order] = np.arange(1, 121)
    hits, m, n0 = Y[order].astype(int), 24, 96
    mass = np.cumsum(np.where(hits, prevalence / m, (1 - prevalence) / n0))
    columns = []
    for at in x:
        if curve == "gain":
            k = round(float(np.interp(at, np.r_[0, mass], np.arange(121))))
        else:
            k = int(np.flatnonzero(np.cumsum(hits) >= at * m - 1e-9)[0]) + 1
        slope = float(slopes_at(np.ones(120, dtype=int), hits, np.array(k)))
        densities = slope / m, (1 - slope) / n0
        if curve == "gain":
            # A threshold moves so that the share of the population above it stays.
            moved = (
                prevalence
                * densities[0]
                / (prevalence * densities[0] + (1 - prevalence) * densities[1])
            )
            odds = (1 - prevalence) / prevalence
            own = np.where(Y, (1 - moved) / m, -moved * odds / n0)
        else:
            rate = (k - at * m) / n0
            slope_of_precision = -prevalence * (1 - prevalence) * at
            slope_of_precision /= (prevalence * at + (1 - prevalence) * rate) ** 2
            own = slope_of_precision * np.where(Y, -densities[1] / densities[0] / m, 1 / n0)
        columns.append((rank <= k) * own)
    return np.array(columns).T


@pytest.mark.parametrize(
    ("curve", "x"), [("gain", [0.05, 0.1, 0.4]), ("precision_recall", np.array([6, 12, 20]) / 24)]
)
@pytest.mark.parametrize("prevalence", PREVALENCES)
def test_covariances_at_another_prevalence_are_those_of_influence_values(curve, x, prevalence):
    x = np.array(x)
    kind = CURVES[curve].in_population(prevalence)
    found = [kind.influence(Ranking.from_scores(Y, score), x) for score in (A, B)]
    if curve == "gain":
        # Tops end at whole items in the definition.
        ranks = [np.round(each.last) for each in found]
        shares = []
        for score, k in zip((A, B), ranks, strict=True):
            hits = Y[np.argsort(-score)]
            mass = np.cumsum(np.where(hits, prevalence / 24, (1 - prevalence) / 96))
            shares.append(mass[k.astype(int) - 1])
        x = shares[0]
    sample = Sample.read(Y, {"a": A, "b": A}, columns="rankers")
    one, other, shared, total = joint_covariance(influence_of(kind, sample, x), sample)
    own = weighted_influence(curve, x, A, prevalence)
    parts = 0.0
    for members in (Y, ~Y):
        centred = own[members] - own[members].mean(axis=0)
        parts = parts + centred.T @ centred * members.sum() / (members.sum() - 1)
    assert_allclose(one, np.diag(parts), rtol=1e-8)
    assert_allclose([other, shared], [one, one])
    assert_allclose(total, 0.0, atol=1e-12)


def test_difference_at_another_prevalence():
    for curve in ("precision_recall", "gain"):
        plain, found = (
            metric_curve(Y, BOTH, curve=curve, difference=True, prevalence=prevalence)
            for prevalence in (None, 0.2)
        )
        for field in ("x", "value", "low", "high", "low_simultaneous", "high_simultaneous"):
            assert_allclose(getattr(found, field), getattr(plain, field), atol=1e-10)
        rare = metric_curve(Y, BOTH, curve=curve, difference=True, prevalence=0.01)
        values = [
            CURVES[curve].in_population(0.01).value(Ranking.from_scores(Y, score), rare.x)
            for score in (A, B)
        ]
        assert_allclose(rare.value, values[0] - values[1])
        assert "in a population with prevalence 0.01" in rare.summary()


# Other simultaneous limits.


def test_kolmogorovs_limits_are_rectangles_around_the_curve():
    result = metric_curve(Y, A, curve="roc", method="kolmogorov")
    rate, recall, _ = roc_curve(Y, A, drop_intermediate=False)
    aside, up = (stats.kstwo.ppf(np.sqrt(0.95), size) for size in (96, 24))
    assert result.critical_value == pytest.approx(aside)
    # The curve in small steps, each a rectangle.
    fine = np.linspace(0, len(rate) - 1, 40 * len(rate) + 1)
    x, y = (np.interp(fine, np.arange(len(rate)), each) for each in (rate, recall))
    for at, low, high in zip(
        result.x, result.low_simultaneous, result.high_simultaneous, strict=True
    ):
        inside = np.abs(x - at) <= aside + 1e-12
        expected = np.clip(y[inside].min() - up, 0, 1), np.clip(y[inside].max() + up, 0, 1)
        assert low <= min(expected[0], result.low.max()) + 1e-9
        if at >= aside:
            assert low == pytest.approx(min(expected[0], low), abs=1e-9)
        assert high >= expected[1] - 1e-9


def test_campbells_limits_are_the_curve_shifted_along_a_direction():
    result = metric_curve(Y, A, curve="roc", method="campbell", n_resamples=99)
    rate, recall, _ = roc_curve(Y, A, drop_intermediate=False)
    steep, shift = np.sqrt(96 / 24), result.critical_value
    fine = np.linspace(0, len(rate) - 1, 40 * len(rate) + 1)
    x, y = (np.interp(fine, np.arange(len(rate)), each) for each in (rate, recall))
    inner = (result.x > shift) & (result.x < 1 - shift)
    for at, high in zip(result.x[inner], result.high_simultaneous[inner], strict=True):
        near = np.abs(x - shift - at) < 1e-9
        expected = np.clip(y[near].max() + steep * shift, 0, 1) if near.any() else high
        # The curve moves up and to the left.
        up_left = np.interp(at, (x - shift)[::40], (y + steep * shift)[::40])
        assert high >= min(up_left, 1.0) - 1e-9
        assert high >= min(expected, 1.0) - 1e-9 or not near.any()


def test_campbells_shift_is_the_quantile_of_distances_of_resampled_curves():
    # Distances along lines of slope -s by a fine grid of lines, of the same resamples.
    from sklearn_rankinf._estimation.curves import _widest_shifts

    ranking = Ranking.from_scores(Y, A.round(1))
    rates, steep = CURVES["roc"].corners(ranking), 2.0
    found = _widest_shifts(ranking, rates, steep, 20, np.random.default_rng(1))
    rng, lines = np.random.default_rng(1), np.linspace(0, 1 + steep, 20_001)
    hits, misses = ranking.hits, ranking.tie_sizes - ranking.hits
    for distance in found:
        y = np.r_[0, np.cumsum(rng.multinomial(24, hits / 24)) / 24]
        x = np.r_[0, np.cumsum(rng.multinomial(96, misses / 96)) / 96]
        one = np.interp(lines, rates[1] + steep * rates[0], rates[0])
        other = np.interp(lines, y + steep * x, x)
        assert np.abs(one - other).max() == pytest.approx(distance, abs=2e-4)


def test_random_numbers_are_reproducible_and_do_not_depend_on_jobs():
    options = {"curve": "roc", "method": "campbell", "n_resamples": 40}
    one, two = (metric_curve(Y, A, n_jobs=jobs, **options) for jobs in (1, 2))
    assert one.critical_value == two.critical_value
    other = metric_curve(Y, A, random_state=1, **options)
    assert other.critical_value != one.critical_value or other.x.size
    values = [metric_curve(Y, A, random_state=seed).critical_value for seed in (0, 0, 1)]
    assert values[0] == values[1] != values[2]
    assert values[2] == pytest.approx(values[0], abs=0.03)


# Differences.


def test_checked_difference_at_k():
    hits = np.isin(np.arange(1, 41), [1, 2, 4, 7, 11, 12, 20, 33])
    second = [3 * rank % 41 for rank in range(1, 41)]
    scores = {"first": -np.arange(1, 41), "second": -np.array(second)}
    sample = Sample.read(hits, scores, columns="rankers")
    influence = influence_of(CURVES["recall"], sample, np.array([10.0]))
    one, other, shared, _ = joint_covariance(influence, sample)
    assert_allclose(shared / np.sqrt(one * other), 0.425263217798, rtol=1e-11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = metric_curve(hits, scores, curve="recall", difference=True)
    at = np.flatnonzero(result.x == 10)
    if at.size:
        assert_allclose(result.value[at], 0.25)
        assert_allclose(result.low[at], -0.189526341270, rtol=1e-9)
        assert_allclose(result.high[at], 0.594012566814, rtol=1e-9)


def influence_of_items(curve, x, score):
    """Influence of each item on each point, by its definition, without ties."""
    order = np.argsort(-score)
    rank = np.empty(score.size, dtype=int)
    rank[order] = np.arange(1, score.size + 1)
    hits = Y[order].astype(int)
    found, n0, m = np.cumsum(hits), 96, 24
    columns = []
    for at in x:
        if curve == "recall":
            k = int(at)
        elif curve == "roc":
            k = int(np.flatnonzero(np.cumsum(1 - hits) >= at * n0 - 1e-9)[0]) + 1
        else:
            k = int(np.flatnonzero(found >= at * m - 1e-9)[0]) + 1
        slope = float(slopes_at(np.ones(120, dtype=int), hits, np.array(k)))
        top = rank <= k
        if curve == "recall":
            own = np.where(Y, (1 - slope) / m, -slope / m)
        elif curve == "roc":
            ratio = slope * n0 / ((1 - slope) * m)
            own = np.where(Y, 1 / m, -ratio / n0)
        else:
            own = np.where(Y, (1 - slope) / slope, -1.0) * at * m / k / k
        columns.append(top * own)
    return np.array(columns).T


@pytest.mark.parametrize(
    ("curve", "x"),
    [
        ("recall", [5.0, 12.0, 60.0]),
        ("roc", np.array([2, 10, 48]) / 96),
        ("precision_recall", np.array([6, 12, 20]) / 24),
    ],
)
def test_joint_covariance_is_that_of_influence_values(curve, x):
    x = np.array(x)
    sample = Sample.read(Y, BOTH, columns="rankers")
    one, other, shared, total = joint_covariance(influence_of(CURVES[curve], sample, x), sample)
    a, b = influence_of_items(curve, x, A), influence_of_items(curve, x, B)

    def covariance(first, second):
        parts = 0.0
        for members in (Y, ~Y):
            size = members.sum()
            centred = [each[members] - each[members].mean(axis=0) for each in (first, second)]
            parts = parts + centred[0].T @ centred[1] * size / (size - 1)
        return parts

    assert_allclose(one, np.diag(covariance(a, a)))
    assert_allclose(other, np.diag(covariance(b, b)))
    assert_allclose(shared, np.diag(covariance(a, b)), atol=1e-15)
    assert_allclose(total, covariance(a - b, a - b), atol=1e-15)


@each_curve
def test_differences_change_their_sign_and_vanish(curve):
    result = metric_curve(Y, BOTH, curve=curve, difference=True)
    turned = metric_curve(Y, {"b": B, "a": A}, curve=curve, difference=True)
    assert_allclose(turned.value, -result.value, atol=1e-15)
    assert_allclose(turned.low, -result.high, atol=1e-12)
    assert np.all(result.low_simultaneous <= result.low)
    assert np.all((result.low <= result.value) & (result.value <= result.high))
    assert np.all(result.high <= result.high_simultaneous)
    one = [metric_curve(Y, own, curve=curve) for own in (A, B)]
    assert np.all(np.abs(result.value) <= 1)
    same = metric_curve(Y, {"a": A, "again": A}, curve=curve, difference=True)
    assert_array_equal(same.value, 0.0)
    assert np.all((same.low <= 0) & (same.high >= 0))
    assert one[0].confidence_level == result.confidence_level


# Input that is wrong.


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ((Y, A), {"curve": "lift"}, "curve must be one of 'precision_recall', 'roc'"),
        ((Y, A), {"method": "campbell"}, "method must be one of 'auto', 'region' for curve="),
        ((Y, A), {"difference": True}, "difference=True needs two rankers .* got 1 ranker"),
        (
            (Y, {"a": A, "b": B, "c": A}),
            {"difference": True},
            "difference=True needs two rankers .* got 3 rankers",
        ),
        (
            (Y, BOTH),
            {"curve": "roc", "method": "kolmogorov", "difference": True},
            "method='kolmogorov' has no difference of two curves: use method='region'",
        ),
        ((np.ones(9), A[:9]), {}, "has no negatives: an interval needs items of both classes"),
        ((np.arange(9) < 1, A[:9]), {}, "y_true has only 1 of the positives, but limits"),
        ((np.arange(9) < 8, A[:9]), {}, "y_true has only 1 of the negatives, but limits"),
        ((Y, A), {"confidence_level": 95}, "confidence_level"),
        ((Y, A), {"prevalence": 1.0}, "prevalence must lie between 0 and 1"),
        (
            (Y, A),
            {"curve": "recall", "prevalence": 0.1},
            "counts items, whose number means nothing at another prevalence: use curve='gain'",
        ),
    ],
)
def test_wrong_input_is_refused(given, options, message):
    with pytest.raises(ValueError, match=message):
        metric_curve(*given, **options)


def test_few_items_are_warned_of():
    with pytest.warns(UserWarning, match=r"only 5 positives; .* simulated with at least 10"):
        metric_curve(np.arange(40) < 5, A[:40])
    with pytest.warns(UserWarning, match=r"only 3 negatives"):
        metric_curve(np.arange(40) >= 3, A[:40])
