"""Interpolated average precision, and the binormal precision-recall curve."""

import copy
import itertools
import math
import pickle
import sys
from dataclasses import FrozenInstanceError
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    PrecisionRecallDisplay,
    average_precision_score,
    make_scorer,
    precision_recall_curve,
    roc_auc_score,
)
from sklearn.model_selection import cross_val_score

from sklearn_rankinf import (
    BinormalPrecisionRecallCurve,
    Ranking,
    binormal_average_precision_score,
    interpolated_average_precision_score,
)

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


# Interpolated average precision.


def interpolated(y_true, y_score, n_levels):
    """The mean over levels of the largest precision at no smaller a recall, in fractions."""
    y_true, y_score = np.asarray(y_true), np.asarray(y_score)
    m = int(y_true.sum())
    points = []
    for threshold in set(y_score.tolist()):
        chosen = y_score >= threshold
        hits = int(y_true[chosen].sum())
        points.append((Fraction(hits, m), Fraction(hits, int(chosen.sum()))))
    total = Fraction(0)
    for j in range(n_levels):
        level = Fraction(j, n_levels - 1)
        total += max(precision for recall, precision in points if recall >= level)
    return float(total / n_levels)


def at_ranks(ranks, n_samples):
    """Labels and scores without ties with positives at these ranks, from 1."""
    y_true = np.zeros(n_samples, dtype=int)
    y_true[np.asarray(ranks) - 1] = 1
    return y_true, -np.arange(n_samples)


@pytest.mark.parametrize("n_levels", [2, 3, 4, 11, 101])
@pytest.mark.parametrize("n_scores", [1, 2, 5, 1000])
def test_interpolated_by_its_definition(n_levels, n_scores):
    rng = np.random.default_rng(n_scores)
    for m in (1, 2, 7, 10, 29, 30):
        y_true = rng.permutation(np.arange(30) < m).astype(int)
        y_score = rng.integers(n_scores, size=30) + 0.4 * n_scores * y_true
        found = interpolated_average_precision_score(y_true, y_score, n_levels=n_levels)
        assert found == pytest.approx(interpolated(y_true, y_score, n_levels), rel=1e-14)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=25))
def test_interpolated_by_the_curve_of_scikit_learn(samples):
    y_true, y_score = (np.array(column) for column in zip(*samples, strict=True))
    if not y_true.any():
        return
    precision, recall, thresholds = precision_recall_curve(y_true, y_score)
    # The last point belongs to no threshold.
    precision, recall = precision[: thresholds.size], recall[: thresholds.size]
    levels = [precision[recall >= j / 10 - 1e-9].max() for j in range(11)]
    found = interpolated_average_precision_score(y_true, y_score)
    assert found == pytest.approx(np.mean(levels), rel=1e-13)


@pytest.mark.parametrize(
    ("ranks", "rounding", "value"),
    [
        # Level 0.7 takes 2.1 hits of 3, and 0.7 * 3 + 0.9 is 2.9999999999999996.
        ([1, 2, 4], "exact", Fraction(7 * 4 + 4 * 3, 44)),
        ([1, 2, 4], "trec_eval_9", Fraction(8 * 4 + 3 * 3, 44)),
        ([1, 2, 4], "trec_eval", Fraction(9 * 4 + 2 * 3, 44)),
        # One of two is reached by 0.2, 0.4, ..., 1.0 of them, and by the nearest integer to 1.4.
        ([1, 4], "exact", Fraction(6 * 2 + 5, 22)),
        ([1, 4], "trec_eval_9", Fraction(6 * 2 + 5, 22)),
        ([1, 4], "trec_eval", Fraction(8 * 2 + 3, 22)),
        # A half is rounded up: 0.5 of one, and 1.5 of three.
        ([3], "trec_eval", Fraction(1, 3)),
        ([1, 4, 9], "trec_eval", Fraction(5 * 6 + 4 * 3 + 2 * 2, 66)),
        # Ten positives reach a level exactly.
        ([*range(1, 4), *range(31, 38)], "exact", None),
    ],
)
def test_interpolated_by_hand(ranks, rounding, value):
    y_true, y_score = at_ranks(ranks, 40)
    if value is None:
        # The first three are the levels 0 to 0.3; all others have the precision of the end.
        value = Fraction(4) / 11 + 7 * Fraction(10, 37) / 11
    found = interpolated_average_precision_score(y_true, y_score, rounding=rounding)
    assert found == pytest.approx(float(value), rel=1e-14)


def test_level_of_three_of_ten_is_reached_by_three():
    # The level 0.30000000000000004 would take a fourth.
    y_true, y_score = at_ranks([1, 2, 3, *range(94, 101)], 100)
    found = interpolated_average_precision_score(y_true, y_score)
    assert found == pytest.approx((4 + 7 * 0.1) / 11, rel=1e-14)


def from_the_end(y_true, needed):
    """Mean over levels of the interpolated precision, by one pass from the last rank to the first.

    A level is read off at the positive that makes as many as it needs; a level of none, after all.
    """
    left = int(sum(y_true))
    best, values = 0.0, []
    for rank in range(len(y_true), 0, -1):
        best = max(best, left / rank)
        if y_true[rank - 1]:
            values += [best] * needed.count(left)
            left -= 1
    return (sum(values) + best * needed.count(0)) / len(needed)


@pytest.mark.parametrize("rounding", ["trec_eval", "trec_eval_9"])
def test_interpolated_by_a_pass_from_the_end(rounding):
    rng = np.random.default_rng(8)
    for m in range(1, 60):
        y_true = rng.permutation(np.arange(80) < m).astype(int)
        needed = []
        for j in range(11):
            share = float(f"{j / 10:.1f}") * m
            up = Decimal(share).quantize(Decimal(1), ROUND_HALF_UP)
            needed.append(int(up) if rounding == "trec_eval" else math.trunc(share + 0.9))
        found = interpolated_average_precision_score(y_true, -np.arange(80), rounding=rounding)
        assert found == pytest.approx(from_the_end(y_true, needed), rel=1e-13)


@pytest.mark.parametrize("rounding", ["exact", "trec_eval", "trec_eval_9"])
def test_interpolated_of_simple_rankings(rounding):
    def score(y_true, y_score, **options):
        return interpolated_average_precision_score(y_true, y_score, rounding=rounding, **options)

    assert score([1, 1, 0, 0], [4, 3, 2, 1]) == 1.0
    assert score([1, 1, 1], [1, 1, 1]) == 1.0
    assert score([0, 0, 1, 0], [4, 3, 2, 1]) == pytest.approx(1 / 3, rel=1e-15)
    assert score([1, 0, 0, 1, 0], [2] * 5) == pytest.approx(0.4, rel=1e-15)
    with pytest.warns(UndefinedMetricWarning, match="Interpolated average precision is undefined"):
        assert score([0, 0], [1, 2]) == 0.0


def test_inputs_of_the_interpolated_score():
    rng = np.random.default_rng(3)
    y_true, y_score = rng.integers(2, size=50), rng.integers(9, size=50)
    expected = interpolated_average_precision_score(y_true, y_score)
    assert type(expected) is float
    assert interpolated_average_precision_score(Ranking.from_scores(y_true, y_score)) == expected
    words = np.where(y_true == 1, "b", "a")
    assert interpolated_average_precision_score(words, y_score, pos_label="b") == expected
    # Blocks without positives change no maximum.
    whole = Ranking([1, 1, 1, 2], [1, 0, 1, 0])
    joined = Ranking([1, 2, 2], [1, 1, 0], has_all_ties=False)
    assert interpolated_average_precision_score(whole) > 0.0
    assert interpolated_average_precision_score(joined) == pytest.approx(
        interpolated_average_precision_score(whole), rel=1e-15
    )
    scorer = make_scorer(interpolated_average_precision_score, response_method="predict_proba")
    values = cross_val_score(LogisticRegression(), y_score[:, None], y_true, scoring=scorer, cv=3)
    assert np.all((values > 0.0) & (values <= 1.0))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_levels": 1}, ValueError, "n_levels must be at least 2; got 1"),
        ({"n_levels": 11.0}, TypeError, "n_levels must be an integer; got 11.0 of type float"),
        (
            {"rounding": "floor"},
            ValueError,
            "rounding must be one of 'exact', 'trec_eval', 'trec_eval_9'; got 'floor'",
        ),
        ({"y_score": None}, TypeError, "y_score is missing"),
        ({"y_score": [1, 2]}, ValueError, "y_true and y_score must have the same length"),
    ],
)
def test_wrong_options_of_the_interpolated_score(options, error, message):
    with pytest.raises(error, match=message):
        interpolated_average_precision_score(
            **{"y_true": [1, 0, 1], "y_score": [3, 2, 1], **options}
        )


# The binormal curve.


def area_over_thresholds(prevalence, mean_p, sd_p, mean_n, sd_n):
    """Average precision as an expectation over the scores of positives, by adaptive quadrature."""
    positives, negatives = stats.norm(mean_p, sd_p), stats.norm(mean_n, sd_n)
    odds = math.log((1.0 - prevalence) / prevalence)

    def integrand(c):
        log_ratio = odds + negatives.logsf(c) - positives.logsf(c)
        return positives.pdf(c) / (1.0 + np.exp(log_ratio))

    low, high = mean_p - 12.0 * sd_p, mean_p + 12.0 * sd_p
    inner = {
        mean + k * sd for mean, sd in ((mean_p, sd_p), (mean_n, sd_n)) for k in (-8, -3, 0, 3, 8)
    }
    edges = [low, *sorted(c for c in inner if low < c < high), high]
    return sum(
        integrate.quad(integrand, *part, epsabs=1e-14, epsrel=1e-13, limit=500)[0]
        for part in itertools.pairwise(edges)
    )


CURVES = [
    (0.5, 1.0, 1.0, 0.0, 1.0),
    (0.1, 2.0, 1.0, 0.0, 1.0),
    (0.001, 1.5, 2.0, 0.5, 1.0),
    (0.02, 3.0, 0.4, 1.0, 2.0),
    (0.9, -1.0, 1.0, 0.0, 1.0),
    (0.3, 0.0, 8.0, -1.0, 0.3),
    (0.05, 0.2, 0.1, 0.0, 3.0),
    (0.6, 100.0, 5.0, 80.0, 12.0),
    (0.2, 0.3, 1.0, 0.0, 0.01),
]


@pytest.mark.parametrize(
    ("prevalence", "shift", "area"),
    [(0.5, 1.0, 0.752996), (0.1, 1.0, 0.292836), (0.1, 2.0, 0.665471)],
)
def test_areas_of_the_literature(prevalence, shift, area):
    curve = BinormalPrecisionRecallCurve(prevalence, shift, 1.0, 0.0, 1.0)
    assert curve.average_precision == pytest.approx(area, abs=5e-7)


@pytest.mark.parametrize("parameters", CURVES, ids=str)
def test_area_by_quadrature_over_thresholds(parameters):
    found = BinormalPrecisionRecallCurve(*parameters).average_precision
    assert found == pytest.approx(area_over_thresholds(*parameters), abs=1e-12)


def area_of_ramp(prevalence, false_rate, low, high):
    """Integral from low to high of precision where the false positive rate is constant."""
    odds = false_rate * (1.0 - prevalence) / prevalence
    return integrate.quad(lambda r: r / (r + odds), low, high, epsabs=0.0, epsrel=1e-12)[0]


@pytest.mark.parametrize("prevalence", [1e-6, 0.01, 0.5, 0.999])
def test_areas_of_limits(prevalence):
    def area(*parameters):
        return BinormalPrecisionRecallCurve(prevalence, *parameters).average_precision

    for mean, sd in ((0.0, 1.0), (-40.0, 7.0), (1e8, 1e-3)):
        # The ranker has no information.
        assert area(mean, sd, mean, sd) == pytest.approx(prevalence, rel=1e-12)
    # The classes do not overlap.
    assert area(100.0, 1.0, 0.0, 1.0) == pytest.approx(1.0, abs=1e-14)
    assert area(1e300, 1.0, 0.0, 1.0) == 1.0
    last = area_of_ramp(prevalence, 1.0, 0.0, 1.0)
    assert area(-1e300, 1.0, 0.0, 1.0) == pytest.approx(last, rel=1e-9)
    for z in (-1.03, 0.0, 0.31):
        # All positives have the same score, z standard deviations above the negatives.
        expected = area_of_ramp(prevalence, stats.norm.sf(z), 0.0, 1.0)
        assert area(z, 1e-13, 0.0, 1.0) == pytest.approx(expected, rel=1e-9)
        # All negatives have the same score, with a share of the positives above it.
        share = stats.norm.sf(z)
        expected = share + area_of_ramp(prevalence, 1.0, share, 1.0)
        assert area(0.0, 1.0, z, 1e-13) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("parameters", CURVES, ids=str)
def test_precision_by_its_formula(parameters):
    a, mean_p, sd_p, mean_n, sd_n = parameters
    recall = np.array([[1e-5, 0.01, 0.2], [0.5, 0.9, 0.99999]])
    c = mean_p + sd_p * stats.norm.isf(recall)
    expected = a * recall / (a * recall + (1.0 - a) * stats.norm.sf((c - mean_n) / sd_n))
    curve = BinormalPrecisionRecallCurve(*parameters)
    assert_allclose(curve.precision(recall), expected, rtol=1e-10)
    assert curve.precision(0.2) == pytest.approx(expected[0, 2], rel=1e-10)
    assert type(curve.precision(0.2)) is float


@pytest.mark.parametrize(
    ("mean", "sd", "limit"),
    [
        (0.0, 1.5, 1.0),
        (-1.0, 1.5, 1.0),
        (0.0, 0.7, 0.0),
        (1.0, 0.7, 0.0),
        (0.5, 1.0, 1.0),
        (-0.5, 1.0, 0.0),
        (0.0, 1.0, 0.2),
    ],
)
def test_ends_of_the_curve(mean, sd, limit):
    curve = BinormalPrecisionRecallCurve(0.2, mean, sd, 0.0, 1.0)
    assert_array_equal(curve.precision([0.0, 1.0]), [limit, 0.2])
    # The curve is continuous at its ends.
    assert curve.precision(1e-300) == pytest.approx(limit, abs=1e-6)
    assert curve.precision(1.0 - 1e-12) == pytest.approx(0.2, abs=1e-4)


def test_curve_need_not_be_monotone():
    precision, _ = BinormalPrecisionRecallCurve(0.2, 1.5, 0.5, 0.0, 1.0).curve()
    inner = int(precision.argmax())
    assert 0 < inner < precision.size - 1


@pytest.mark.parametrize("parameters", CURVES, ids=str)
def test_points_of_the_curve(parameters):
    curve = BinormalPrecisionRecallCurve(*parameters)
    precision, recall = curve.curve(1001)
    assert recall[0] == 1.0
    assert recall[-1] == 0.0
    assert np.all(np.diff(recall) < 0.0)
    assert_array_equal(precision, curve.precision(recall))
    # The trapezoidal rule misses a jump to the limit at recall 0.
    area = -integrate.trapezoid(precision, recall)
    assert curve.average_precision == pytest.approx(area, abs=1e-3)


@pytest.mark.parametrize("parameters", CURVES, ids=str)
def test_areas_of_large_samples(parameters):
    prevalence, mean_p, sd_p, mean_n, sd_n = parameters
    rng = np.random.default_rng(1)
    n = 60_000
    m = round(prevalence * n)
    y_true = np.arange(n) < m
    y_score = np.where(y_true, mean_p, mean_n) + np.where(y_true, sd_p, sd_n) * rng.normal(size=n)
    curve = BinormalPrecisionRecallCurve(*parameters)
    # Binomial errors, of as many independent numbers as there are positives or negatives.
    error = 5.0 * 0.5 / math.sqrt(min(m, n - m))
    assert abs(average_precision_score(y_true, y_score) - curve.average_precision) < error
    assert abs(roc_auc_score(y_true, y_score) - curve.roc_auc) < error
    fitted = BinormalPrecisionRecallCurve.from_predictions(y_true, y_score)
    assert abs(fitted.average_precision - curve.average_precision) < error


def test_fit():
    y_true, y_score = ["p", "n", "p", "n", "n", "p"], [5.0, 1.0, 4.0, 3.0, -1.0, 9.0]
    curve = BinormalPrecisionRecallCurve.from_predictions(y_true, y_score, pos_label="p")
    assert curve.prevalence == 0.5
    assert curve.mean_positive == 6.0
    assert curve.sd_positive == pytest.approx(math.sqrt(7.0), rel=1e-15)
    assert (curve.mean_negative, curve.sd_negative) == (1.0, 2.0)
    score = binormal_average_precision_score(y_true, y_score, pos_label="p")
    assert score == curve.average_precision
    assert type(score) is float
    auc = stats.norm.cdf(5.0 / math.sqrt(7.0 + 4.0))
    assert curve.roc_auc == pytest.approx(auc, rel=1e-14)
    # Other units and another origin of the scores change nothing.
    for factor, shift in ((1e-3, 0.0), (7.0, 1e4), (1e300, 0.0), (1e-300, 0.0)):
        moved = binormal_average_precision_score(
            y_true, factor * np.array(y_score) + shift, pos_label="p"
        )
        assert moved == pytest.approx(score, rel=1e-10)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.float32, bool, object])
def test_types_of_scores(dtype):
    y_true, y_score = [1, 1, 1, 0, 0, 0], np.array([1, 1, 0, 0, 1, 0]).astype(dtype)
    curve = BinormalPrecisionRecallCurve.from_predictions(y_true, y_score)
    assert curve.mean_positive == pytest.approx(2 / 3, rel=1e-7)
    assert curve.sd_negative == pytest.approx(math.sqrt(1 / 3), rel=1e-7)


@pytest.mark.parametrize(
    ("y_true", "y_score", "error", "message"),
    [
        ([1, 0, 0], [3, 2, 1], ValueError, "y_true contains one positive, but the binormal curve"),
        ([1, 0, 1], [3, 2, 1], ValueError, "y_true contains one negative, but the binormal curve"),
        ([0, 0, 0], [3, 2, 1], ValueError, "y_true contains no positives, but the binormal curve"),
        ([1, 1, 1], [3, 2, 1], ValueError, "y_true contains no negatives, but the binormal curve"),
        (
            [1, 1, 1, 0, 0],
            [0.1, 0.1, 0.1, 2, 1],
            ValueError,
            "The 3 positives have the same score, 0.1, but the binormal curve needs scores that",
        ),
        ([1, 1, 0, 0], [3, 2, 1, 1], ValueError, "The 2 negatives have the same score, 1.0"),
        (Ranking([1, 1], [1, 0]), None, TypeError, "y_true is a Ranking, which contains the order"),
        (
            Ranking([1, 1], [1, 0]),
            [2, 1],
            TypeError,
            "y_true is a Ranking, which contains the order",
        ),
        ([1, 1, 0, 0], None, TypeError, "y_score is missing; pass the scores"),
        ([1, 1, 0, 0], [1, 2, 3], ValueError, "y_true and y_score must have the same length"),
        ([1, 1, 0, 0], [1, 2, 3, np.nan], ValueError, "y_score must be finite; got nan"),
        ([1, 2, 0, 0], [1, 2, 3, 4], ValueError, "y_true holds 3 different labels"),
    ],
)
def test_data_that_cannot_be_fitted(y_true, y_score, error, message):
    for fit in (
        binormal_average_precision_score,
        BinormalPrecisionRecallCurve.from_predictions,
    ):
        with pytest.raises(error, match=message):
            fit(y_true, y_score)


def test_the_score_refuses_an_estimator():
    with pytest.raises(TypeError, match="got an estimator, LogisticRegression"):
        binormal_average_precision_score(LogisticRegression(), [1])


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ((0.0, 1, 1, 0, 1), ValueError, "prevalence must lie between 0 and 1, exclusive; got 0.0"),
        ((1, 1, 1, 0, 1), ValueError, "prevalence must lie between 0 and 1, exclusive; got 1"),
        (("a", 1, 1, 0, 1), TypeError, "prevalence must be a number; got 'a' of type str"),
        (
            (math.nan, 1, 1, 0, 1),
            ValueError,
            "prevalence must lie between 0 and 1, exclusive; got nan",
        ),
        ((0.1, math.inf, 1, 0, 1), ValueError, "mean_positive must be finite; got inf"),
        ((0.1, 1, 0.0, 0, 1), ValueError, "sd_positive must be finite and larger than 0; got 0.0"),
        ((0.1, 1, 1, True, 1), TypeError, "mean_negative must be a number; got True"),
        ((0.1, 1, 1, 0, -2), ValueError, "sd_negative must be finite and larger than 0; got -2"),
        ((0.1, 1, 1e-300, 0, 1e300), ValueError, "The scales of the two classes differ too much"),
        ((0.1, 1, 1e300, 0, 1e-300), ValueError, "The scales of the two classes differ too much"),
        ((0.1, 1e300, 1, 0, 1e-10), ValueError, "The scales of the two classes differ too much"),
    ],
)
def test_wrong_parameters_of_the_curve(parameters, error, message):
    with pytest.raises(error, match=message):
        BinormalPrecisionRecallCurve(*parameters)


@pytest.mark.parametrize("recall", [-0.1, 1.1, math.nan, [0.5, 2.0]])
def test_wrong_recall(recall):
    with pytest.raises(ValueError, match="recall must lie between 0 and 1; got"):
        BinormalPrecisionRecallCurve(*CURVES[0]).precision(recall)


@pytest.mark.parametrize(("n_points", "error"), [(1, ValueError), (2.0, TypeError)])
def test_wrong_number_of_points(n_points, error):
    with pytest.raises(error, match="n_points must be"):
        BinormalPrecisionRecallCurve(*CURVES[0]).curve(n_points)


def test_curve_as_an_object():
    curve = BinormalPrecisionRecallCurve(*CURVES[1])
    assert repr(curve) == (
        "BinormalPrecisionRecallCurve(prevalence=0.1, mean_positive=2, sd_positive=1, "
        "mean_negative=0, sd_negative=1)"
    )
    for duplicate in (copy.deepcopy(curve), pickle.loads(pickle.dumps(curve))):
        assert duplicate == curve
        assert hash(duplicate) == hash(curve)
    names = ["prevalence", "mean_positive", "sd_positive", "mean_negative", "sd_negative"]
    entries = curve.to_dict()
    assert list(entries) == [*names, "average_precision", "roc_auc"]
    assert [entries[name] for name in names] == list(CURVES[1])
    assert entries["average_precision"] == curve.average_precision
    assert entries["roc_auc"] == curve.roc_auc
    with pytest.raises(FrozenInstanceError):
        curve.prevalence = 0.5


# The display.


def drawn_sample():
    rng = np.random.default_rng(5)
    y_true = np.arange(300) < 40
    return y_true, rng.normal(size=300) + 1.5 * y_true


def test_curve_beside_that_of_scikit_learn():
    y_true, y_score = drawn_sample()
    observed = PrecisionRecallDisplay.from_predictions(y_true, y_score)
    curve = BinormalPrecisionRecallCurve.from_predictions(y_true, y_score)
    assert curve.plot(observed.ax_, name="Fit", color="r") is observed.ax_
    line = observed.ax_.get_lines()[-1]
    recall, precision = line.get_data()
    assert_array_equal(precision, curve.precision(recall))
    assert_array_equal(recall[[0, -1]], [1.0, 0.0])
    assert line.get_color() == "r"
    texts = [text.get_text() for text in observed.ax_.get_legend().get_texts()]
    assert texts[-1] == f"Fit (AP = {curve.average_precision:.2f})"


def test_curve_on_new_axes():
    ax = BinormalPrecisionRecallCurve(*CURVES[0]).plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Recall", "Precision")
    assert ax.get_lines()[0].get_label() == "Binormal (AP = 0.75)"


def test_missing_matplotlib_names_the_extra(monkeypatch):
    for module in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r'needs matplotlib: pip install "sklearn-rankinf\['):
        BinormalPrecisionRecallCurve(*CURVES[0]).plot()
