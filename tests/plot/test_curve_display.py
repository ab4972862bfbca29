"""Curves as they are drawn, against scikit-learn's displays and the limits of the results."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import PrecisionRecallDisplay, RocCurveDisplay

from sklearn_rankinf import CurveDisplay, metric_curve

RNG = np.random.default_rng(2)
Y = np.arange(300) < 40
A = RNG.normal(size=300) + 1.5 * Y
BOTH = {"a": A, "b": A + RNG.normal(size=300)}
CURVES = ["precision_recall", "roc", "recall", "gain"]


def area_of(band):
    """Abscissae and limits of an area."""
    corners = band.get_paths()[0].vertices
    x = np.unique(corners[:, 0])
    low = [corners[corners[:, 0] == each, 1].min() for each in x]
    high = [corners[corners[:, 0] == each, 1].max() for each in x]
    return x, low, high


@pytest.mark.parametrize("scores", [A, A.round(1)], ids=["no ties", "ties"])
def test_curves_are_drawn_as_by_scikit_learn(scores):
    own = CurveDisplay.from_predictions(Y, scores).line_[0]
    theirs = PrecisionRecallDisplay.from_predictions(Y, scores).line_
    assert (own.get_drawstyle(), theirs.get_drawstyle()) == ("steps-pre", "steps-post")
    assert_allclose(own.get_xdata()[1:], theirs.get_xdata()[:-1][::-1])
    assert_allclose(own.get_ydata()[1:], theirs.get_ydata()[:-1][::-1])
    own = CurveDisplay.from_predictions(Y, scores, curve="roc").line_[0]
    theirs = RocCurveDisplay.from_predictions(Y, scores, drop_intermediate=False).line_
    assert_allclose(own.get_data(), theirs.get_data())
    assert own.get_drawstyle() == theirs.get_drawstyle()


@pytest.mark.parametrize("curve", CURVES)
def test_bands_are_the_limits_of_the_result(curve):
    result = metric_curve(Y, A, curve=curve)
    display = CurveDisplay(result).plot(limits="both")
    for band, end in zip(display.bands_, ("_simultaneous", ""), strict=True):
        x, low, high = area_of(band)
        assert_allclose(x, result.x)
        assert_allclose(low, getattr(result, f"low{end}"))
        assert_allclose(high, getattr(result, f"high{end}"))
    assert len(CurveDisplay(result).plot().bands_) == 1
    assert not CurveDisplay(result).plot(limits="none").bands_
    with pytest.raises(ValueError, match="limits must be one of 'simultaneous', 'pointwise'"):
        CurveDisplay(result).plot(limits="band")


@pytest.mark.parametrize("curve", CURVES)
def test_chance_level_is_the_curve_of_a_random_ranking(curve):
    display = CurveDisplay.from_predictions(Y, A, curve=curve)
    x, y = display.chance_level_.get_data()
    expected = {"precision_recall": np.full(x.size, 40 / 300), "recall": x / 300}.get(curve, x)
    assert_allclose(y, expected)
    assert CurveDisplay(display.results).plot(plot_chance_level=False).chance_level_ is None


def test_chance_at_another_prevalence_is_the_prevalence():
    display = CurveDisplay.from_predictions(Y, A, prevalence=0.02)
    assert display.chance_level_.get_ydata().tolist() == [0.02, 0.02]
    assert_allclose(display.line_[0].get_ydata(), display.results._corners[1])


def test_difference_is_drawn_below():
    display = CurveDisplay.from_predictions(Y, BOTH, curve="roc", difference=True)
    result = display.difference
    assert_allclose(display.difference_line_.get_data(), [result.x, result.value])
    x, low, high = area_of(display.difference_bands_[0])
    assert_allclose(x, result.x)
    assert_allclose([low, high], [result.low_simultaneous, result.high_simultaneous])
    above, below = display.ax_, display.difference_ax_
    assert above.get_position().y0 > below.get_position().y1
    assert above.get_shared_x_axes().joined(above, below)
    assert below.get_ylabel() == "a \N{MINUS SIGN} b"
    assert (above.get_xlabel(), below.get_xlabel()) == ("", "False-positive rate")
    figure, axes = plt.subplots(2)
    again = CurveDisplay(display.results, difference=result).plot(axes)
    assert [again.ax_, again.difference_ax_] == list(axes)
    assert again.figure_ is figure
    with pytest.raises(TypeError, match="ax must be a pair of axes, for the rankers"):
        again.plot(axes[0])
    assert CurveDisplay.from_predictions(Y, BOTH).difference_ax_ is None


def test_rankers_differ_in_colour_and_line_style():
    scores = {str(number): A + number * RNG.normal(size=300) for number in range(4)}
    lines = CurveDisplay.from_predictions(Y, scores, limits="none").line_
    assert len({line.get_color() for line in lines}) == 4
    assert len({str(line._unscaled_dash_pattern) for line in lines}) == 4
    # Greys of the first colours are apart, and all are dark enough on white.
    grey = [np.dot(mpl.colors.to_rgb(line.get_color()), [0.299, 0.587, 0.114]) for line in lines]
    assert max(grey) < 0.65


def test_legend_names_rankers_and_limits():
    display = CurveDisplay.from_predictions(Y, BOTH, limits="both", confidence_level=0.9)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["a", "b", "90 % band of the curve", "90 % limits at one point", "chance"]
    texts = CurveDisplay.from_predictions(Y, A, limits="none").ax_.get_legend().get_texts()
    assert [text.get_text() for text in texts] == ["observed", "chance"]


def test_long_lists_have_a_logarithmic_axis_and_thinned_lines():
    rng = np.random.default_rng(0)
    positive = np.arange(30_000) < 100
    score = rng.normal(size=30_000) + 2 * positive
    display = CurveDisplay.from_predictions(positive, score, curve="recall")
    assert display.ax_.get_xscale() == "log"
    x, y = display.line_[0].get_data()
    assert x.size < 8_000
    assert (x[-1], y[-1]) == (30_000, 1.0)
    assert CurveDisplay(display.results).plot(log_scale=False).ax_.get_xscale() == "linear"
    for curve in ("precision_recall", "roc"):
        display = CurveDisplay.from_predictions(positive, score, curve=curve)
        assert display.ax_.get_xscale() == "linear"


def test_results_that_do_not_fit_in_one_plot_are_refused():
    one, other = (metric_curve(Y, A, curve=curve) for curve in ("roc", "gain"))
    with pytest.raises(ValueError, match="one plot, but curve is 'roc' and 'gain'"):
        CurveDisplay([one, other])
    other = metric_curve(Y, A, curve="roc", confidence_level=0.9)
    with pytest.raises(ValueError, match=r"confidence_level is 0\.95 and 0\.9"):
        CurveDisplay([one, other])
    other = metric_curve(Y, A, curve="roc", prevalence=0.1)
    with pytest.raises(ValueError, match=r"prevalence is None and 0\.1"):
        CurveDisplay([one, other])
    between = metric_curve(Y, BOTH, difference=True)
    with pytest.raises(ValueError, match="curve is 'roc' and 'precision_recall'"):
        CurveDisplay(one, difference=between)
    with pytest.raises(TypeError, match="difference must be a result of metric_curve"):
        CurveDisplay(one, difference=one)
    with pytest.raises(TypeError, match="results must be results of metric_curve"):
        CurveDisplay(between)


def test_display_of_folds_has_one_curve_each():
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_validate

    X = np.c_[A, RNG.normal(size=300)]
    folds = cross_validate(
        LogisticRegression(), X, Y, cv=3, return_estimator=True, return_indices=True
    )
    display = CurveDisplay.from_cv_results(folds, X, Y, curve="roc")
    assert len(display.line_) == 3
    first = folds["indices"]["test"][0]
    expected = metric_curve(
        Y[first], folds["estimator"][0].decision_function(X[first]), curve="roc"
    )
    assert_array_equal(display.results["fold 0"].low, expected.low)
