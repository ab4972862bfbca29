"""Displays of hits at every k and of power: drawn values against counts and scipy."""

from __future__ import annotations

import functools
import itertools
from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from combinations import checkered
from pictures import STRUCTURES, labels_of, legend_of
from scipy import stats
from sklearn.datasets import make_classification
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import precision_recall_curve, roc_curve
from sklearn.model_selection import cross_validate
from sklearn.neighbors import KNeighborsClassifier

from sklearn_rankinf import (
    PowerDisplay,
    Ranking,
    RecallAtK,
    TopKSignificanceDisplay,
    metric_power,
    min_detectable_odds,
    min_positives,
    top_k_significance_curve,
)
from sklearn_rankinf._significance.top_k_curve import TopKSignificanceCurve

# Both bounds at all levels of a curve that is computed with the default levels.
ALL = {"plot_pointwise": True, "alpha": [0.1, 0.05, 0.01]}
VIEWS = ("hits", "recall", "precision", "enrichment", "lift", "gain")


def structure(name):
    """Labels and scores of a kind."""
    rng = np.random.default_rng(1)
    y_true = labels_of(name)
    y_score = rng.normal(size=60) + 1.5 * y_true
    if name == "large blocks":
        y_score = np.round(y_score)
    elif name == "constant":
        y_score = np.zeros(60)
    elif name == "positives last":
        y_score = -np.sort(-y_score)[np.argsort(np.argsort(y_true, kind="stable"))]
    return y_true.astype(int), y_score


RANKINGS = (*STRUCTURES, "positives last", "only positives")


@functools.cache
def curve_of(name):
    return top_k_significance_curve(*structure(name))


def counted(y_true, y_score):
    """Ends of blocks of equal scores and hits up to there, counted one by one."""
    ends, hits = [], []
    for threshold in sorted(set(y_score.tolist()), reverse=True):
        chosen = y_score >= threshold
        ends.append(int(chosen.sum()))
        hits.append(int(y_true[chosen].sum()))
    return np.array(ends), np.array(hits)


def view_of(y_axis, k, hits, n, m):
    """x and y of a view, by its definition."""
    x = 100.0 * k / n if y_axis in ("lift", "gain") else np.asarray(k, dtype=float)
    y = {
        "hits": lambda: hits,
        "recall": lambda: hits / m,
        "gain": lambda: 100.0 * hits / m,
        "precision": lambda: hits / k,
        "enrichment": lambda: (hits / k) / (m / n),
        "lift": lambda: (hits / k) / (m / n),
    }[y_axis]()
    return x, y


def values_at(line, places):
    """Height of a line; at a step that after it."""
    x, y = (np.asarray(data, dtype=float) for data in line.get_data())
    x = np.round(x, 9)
    values = []
    for place in np.round(places, 9):
        at = np.searchsorted(x, place, side="right") - 1
        if at < 0 or place > x[-1]:
            values.append(np.nan)
        elif x[at] == place:
            values.append(y[at])
        else:
            values.append(np.interp(place, x[at : at + 2], y[at : at + 2]))
    return np.array(values)


def spans(bars):
    return [
        (float(path.vertices[:, 0].min()), float(path.vertices[:, 0].max()))
        for path in bars.get_paths()
    ]


# Hits at every k.


@pytest.mark.parametrize(
    ("y_axis", "case"),
    checkered(
        VIEWS, [*((name, False) for name in RANKINGS), ("no ties", True), ("large blocks", True)]
    ),
)
def test_views_agree_with_their_names(y_axis, case):
    name, log_scale = case
    y_true, y_score = structure(name)
    n, m = y_true.size, int(y_true.sum())
    k, hits = counted(y_true, y_score)
    display = TopKSignificanceDisplay(curve_of(name)).plot(
        y_axis=y_axis, log_scale=log_scale, **ALL
    )
    (line,) = display.line_
    x, y = view_of(y_axis, k, hits, n, m)
    np.testing.assert_allclose(values_at(line, x), y, rtol=1e-12, atol=1e-12)
    _, chance = view_of(y_axis, k, k * m / n, n, m)
    atol = 1e-3 * np.max(chance)  # straight between points on a logarithmic axis
    np.testing.assert_allclose(values_at(display.chance_level_, x), chance, atol=atol)
    curve = display.results
    for bounds, drawn in (
        (curve.hits_needed, display.pointwise_),
        (curve.hits_needed_simultaneous, display.simultaneous_),
    ):
        assert len(drawn) == 3
        for needed, bound in zip(bounds, drawn, strict=True):
            expected = view_of(y_axis, k, needed, n, m)[1]
            np.testing.assert_allclose(values_at(bound, x), expected, rtol=1e-12, atol=1e-12)
    assert display.ax_.get_xscale() == ("log" if log_scale else "linear")


@pytest.mark.parametrize("name", ["no ties", "large blocks", "nearly all positives"])
def test_pointwise_bound_is_that_of_scipy(name):
    y_true, y_score = structure(name)
    n, m = y_true.size, int(y_true.sum())
    curve = top_k_significance_curve(y_true, y_score, alpha=[0.01, 0.1])
    display = TopKSignificanceDisplay(curve).plot(plot_pointwise=True, alpha=[0.01, 0.1])
    k, _ = counted(y_true, y_score)
    # From the largest level to the smallest, whatever their order was.
    for level, line in zip([0.1, 0.01], display.pointwise_, strict=True):
        needed = []
        for cut in k:
            enough = [h for h in range(m + 1) if stats.hypergeom.sf(h - 1, n, m, cut) <= level]
            needed.append(enough[0] if enough and enough[0] <= min(cut, m) else np.nan)
        np.testing.assert_allclose(values_at(line, k), needed)


@pytest.mark.parametrize("name", ["no ties", "large blocks"])
def test_curves_agree_with_scikit_learn(name):
    y_true, y_score = structure(name)
    n, m = y_true.size, int(y_true.sum())
    recall_line, precision_line = (
        TopKSignificanceDisplay(curve_of(name)).plot(y_axis=y_axis).line_[0]
        for y_axis in ("recall", "precision")
    )
    false, true, thresholds = roc_curve(y_true, y_score, drop_intermediate=False)
    k = false[1:] * (n - m) + true[1:] * m
    np.testing.assert_allclose(values_at(recall_line, k), true[1:], rtol=1e-12)
    precision, recall, thresholds = precision_recall_curve(y_true, y_score)
    k = np.array([np.sum(y_score >= threshold) for threshold in thresholds])
    np.testing.assert_allclose(values_at(precision_line, k), precision[:-1], rtol=1e-12)
    np.testing.assert_allclose(values_at(recall_line, k), recall[:-1], rtol=1e-12, atol=1e-12)


def test_line_across_ties_is_the_mean_over_their_orders():
    y_true, y_score = np.array([1, 0, 1, 1, 0, 0, 0]), np.array([3, 2, 2, 2, 2, 1, 1])
    mean = np.zeros(7)
    orders = list(itertools.permutations(range(1, 5)))
    for order in orders:
        mean += np.cumsum(y_true[[0, *order, 5, 6]]) / len(orders)
    for y_axis, expected in (("hits", mean), ("precision", mean / np.arange(1, 8))):
        display = TopKSignificanceDisplay.from_predictions(y_true, y_score, y_axis=y_axis)
        found = values_at(display.line_[0], np.arange(1, 8))
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_hits_are_constant_between_cut_offs():
    k, hits = counted(*structure("no ties"))
    display = TopKSignificanceDisplay(curve_of("no ties")).plot(**ALL)
    np.testing.assert_array_equal(values_at(display.line_[0], k[:-1] + 0.9), hits[:-1])
    needed = display.results.hits_needed_simultaneous[0]
    both = np.isfinite(needed[:-1]) & np.isfinite(needed[1:])
    found = values_at(display.simultaneous_[0], k[:-1] + 0.9)
    np.testing.assert_array_equal(found[both], needed[:-1][both])


def test_nothing_is_drawn_where_no_hits_are_enough():
    y_true, y_score = structure("one positive")
    display = TopKSignificanceDisplay(top_k_significance_curve(y_true, y_score)).plot(
        **ALL, log_scale=False
    )
    # One positive among the first 6 or 3 of 60 has a p-value of .1 and .05; none has .01.
    for line, last in zip(display.pointwise_, [6, 3, 0], strict=True):
        x, y = line.get_data()
        assert np.all(y == 1.0)
        assert np.max(x, initial=0.0) == last


def test_gap_inside_a_bound_stays_open():
    curve = top_k_significance_curve(*structure("no ties"), alpha=0.05)
    needed = curve.hits_needed.copy()
    needed[0, 20:25] = np.nan
    display = TopKSignificanceDisplay(replace(curve, hits_needed=needed)).plot(plot_pointwise=True)
    x, y = display.pointwise_[0].get_data()
    assert np.isnan(y).sum() == 1
    assert not np.any(np.isfinite(y) & (x > 20) & (x < 26))


def test_runs_are_where_the_ranker_is_above_the_simultaneous_bound():
    k, hits = counted(*structure("no ties"))
    for y_axis, unit in (("hits", 1.0), ("gain", 100.0 / 60)):
        display = TopKSignificanceDisplay(curve_of("no ties")).plot(y_axis=y_axis, **ALL)
        for bars, needed in zip(
            display.runs_, display.results.hits_needed_simultaneous, strict=True
        ):
            marked = {
                int(cut)
                for cut in k
                if any(low - 1e-9 <= cut * unit <= high + 1e-9 for low, high in spans(bars))
            }
            assert marked == set(k[hits >= needed].tolist())
        assert marked, "the example is above the bound somewhere"
    assert legend_of(display)[-1] == "above the simultaneous bound"
    # The bars are below zero, where no line is.
    low, high = display.ax_.get_ylim()
    top = max(path.vertices[:, 1].max() for bars in display.runs_ for path in bars.get_paths())
    assert low + top * (high - low) < 0.0


def test_runs_that_are_nowhere_have_no_entry():
    display = TopKSignificanceDisplay(curve_of("positives last")).plot()
    assert [spans(bars) for bars in display.runs_] == [[]]
    assert "above the simultaneous bound" not in legend_of(display)


def test_legend_is_short():
    display = TopKSignificanceDisplay(curve_of("no ties")).plot()
    assert legend_of(display) == [
        "observed",
        "chance",
        "simultaneous bound, 5 %",
        "above the simultaneous bound",
    ]
    assert display.pointwise_ == []
    display.plot(**ALL)
    assert legend_of(display) == [
        "observed",
        "chance",
        "pointwise bound, 10, 5, 1 %",
        "simultaneous bound, 10, 5, 1 %",
        "above the simultaneous bound",
    ]
    display.plot(name="mine", alpha=0.05, plot_pointwise=False, plot_chance_level=False)
    assert legend_of(display)[:2] == ["mine", "simultaneous bound, 5 %"]
    assert display.pointwise_ == []
    assert display.chance_level_ is None
    display.plot(plot_simultaneous=False)
    assert display.simultaneous_ == display.runs_ == []
    assert display.ax_.get_ylim()[0] == 0.0


def test_axis_of_many_samples_is_logarithmic():
    rng = np.random.default_rng(0)
    y_true = np.arange(2001) < 20
    curve = top_k_significance_curve(y_true, rng.normal(size=2001) + y_true)
    scales = {
        y_axis: TopKSignificanceDisplay(curve).plot(y_axis=y_axis).ax_.get_xscale()
        for y_axis in VIEWS
    }
    assert scales == {**dict.fromkeys(VIEWS, "log"), "gain": "linear"}
    display = TopKSignificanceDisplay(curve).plot(log_scale=False)
    assert display.ax_.get_xscale() == "linear"


@pytest.mark.parametrize("log_scale", [False, True])
def test_long_lines_are_thinned_without_loss_at_the_resolution_of_a_picture(log_scale):
    rng = np.random.default_rng(0)
    n, m = 20_000, 10_000
    y_true = np.arange(n) < m
    y_score = rng.normal(size=n) + 0.3 * y_true
    k, hits = np.arange(1, n + 1), np.cumsum(y_true[np.argsort(-y_score)])
    missing = np.full((1, n), np.nan)  # bounds take long
    none = np.zeros(1)
    curve = TopKSignificanceCurve(
        n, m, k, hits, np.array([0.05]), missing, missing, none, none, none
    )
    display = TopKSignificanceDisplay(curve).plot(y_axis="precision", log_scale=log_scale)
    (line,) = display.line_
    x, y = line.get_data()
    assert x.size <= 6000
    # Every point is on the line of all points, after a step or before it.
    after, before = hits[x.astype(int) - 1], np.r_[0, hits][np.ceil(x).astype(int) - 1]
    assert np.all(np.isclose(y, after / x, rtol=1e-12) | np.isclose(y, before / x, rtol=1e-12))
    # In every column of the picture the line reaches the extremes.
    edges = (np.geomspace if log_scale else np.linspace)(1.0, n, 1501)
    at_edges = np.interp(edges, x, y)
    drawn, computed = (np.digitize(values, edges[1:-1]) for values in (x, k))
    for column in np.unique(computed):
        values = (hits / k)[computed == column]
        shown = np.r_[y[drawn == column], at_edges[column : column + 2]]
        assert shown.max() >= values.max() * (1.0 - 1e-5)
        assert shown.min() <= values.min() * (1.0 + 1e-5)


def test_pvalues_are_not_computed_for_the_picture():
    display = TopKSignificanceDisplay.from_predictions(*structure("no ties"))
    assert "_log_pvalue" not in vars(display.results)


@pytest.fixture(scope="module")
def scores():
    """Labels and scores of three rankers without ties."""
    rng = np.random.default_rng(2)
    y_true = np.arange(80) % 8 == 0
    return y_true, {
        name: rng.normal(size=80) + d * y_true for name, d in zip("abc", (0, 1, 2), strict=True)
    }


def test_rankers_have_bounds_in_common(scores):
    y_true, by_name = scores
    display = TopKSignificanceDisplay.from_predictions(y_true, by_name)
    assert legend_of(display)[:3] == ["a", "b", "c"]
    assert len(display.line_) == 3
    assert len(display.simultaneous_) == 1
    assert len(display.runs_) == 3
    display.plot(**ALL)
    assert len(display.pointwise_) == len(display.simultaneous_) == 3
    assert len(display.runs_) == 9
    for name, line in zip("abc", display.line_, strict=True):
        k, hits = counted(y_true, by_name[name])
        np.testing.assert_array_equal(values_at(line, k), hits)
        alone = top_k_significance_curve(y_true, by_name[name])
        np.testing.assert_array_equal(
            display.results[name].hits_needed_simultaneous, alone.hits_needed_simultaneous
        )
    assert len({line.get_color() for line in display.line_}) == 3
    other = display.line_[0].get_color(), display.simultaneous_[-1].get_color()
    assert mpl.colors.to_rgb(other[0]) != mpl.colors.to_rgb(other[1])


@pytest.mark.parametrize("container", [np.asarray, np.ndarray.tolist], ids=["table", "lists"])
def test_columns_are_rankers(scores, container):
    y_true, by_name = scores
    table = container(np.column_stack(list(by_name.values())))
    display = TopKSignificanceDisplay.from_predictions(y_true, table, alpha=0.05)
    assert legend_of(display)[:3] == ["0", "1", "2"]
    k, hits = counted(y_true, by_name["c"])
    np.testing.assert_array_equal(values_at(display.line_[2], k), hits)


def test_rankers_with_ties_have_separate_simultaneous_bounds(scores):
    y_true, by_name = scores
    tied = {"fine": by_name["c"], "coarse": np.round(by_name["c"])}
    display = TopKSignificanceDisplay.from_predictions(y_true, tied)
    display.plot(plot_pointwise=True)
    assert [len(part) for part in (display.pointwise_, display.simultaneous_)] == [1, 2]
    for curve, line, bound in zip(
        display.results.values(), display.line_, display.simultaneous_, strict=True
    ):
        assert bound.get_color() == line.get_color()
        row = curve.alpha.tolist().index(0.05)
        np.testing.assert_array_equal(
            values_at(bound, curve.k), curve.hits_needed_simultaneous[row]
        )
    assert "simultaneous bound, 5 %" in legend_of(display)
    display.plot(alpha=0.01)
    assert "simultaneous bound, 1 %" in legend_of(display)
    with pytest.raises(ValueError, match=r"a single level if the bounds of the rankers differ"):
        display.plot(alpha=[0.01, 0.05])


def test_rankings_of_different_sizes_need_a_relative_view(scores):
    y_true, by_name = scores
    curves = [
        top_k_significance_curve(y_true, by_name["b"]),
        top_k_significance_curve(y_true[1:], by_name["b"][1:]),
    ]
    display = TopKSignificanceDisplay(curves, name=["all", "fewer"])
    for y_axis in ("hits", "enrichment"):
        with pytest.raises(
            ValueError, match=r"10 positives among 80 items and of 9 among 79; use y_axis='gain'"
        ):
            display.plot(y_axis=y_axis)
    display.plot(y_axis="gain")
    assert display.pointwise_ == []
    for line, bound, curve in zip(display.line_, display.simultaneous_, curves, strict=True):
        x = 100.0 * curve.k / curve.n_samples
        np.testing.assert_allclose(values_at(line, x), 100.0 * curve.hits / curve.n_positives)
        needed = curve.hits_needed_simultaneous[1]
        np.testing.assert_allclose(values_at(bound, x), 100.0 * needed / curve.n_positives)


def test_ends_of_blocks_are_marked():
    k, hits = counted(*structure("large blocks"))
    line = TopKSignificanceDisplay(curve_of("large blocks")).plot(y_axis="precision").line_[0]
    x, y = line.get_data()
    np.testing.assert_allclose(x[line.get_markevery()], k)
    np.testing.assert_allclose(y[line.get_markevery()], hits / k)
    assert line.get_marker() == "o"
    untied = TopKSignificanceDisplay(curve_of("no ties")).plot().line_[0]
    assert untied.get_marker() == "None"


def test_ranking_and_largest_cut_off():
    y_true, y_score = structure("no ties")
    ranking = Ranking.from_scores(y_true, y_score)
    display = TopKSignificanceDisplay.from_predictions(ranking, max_rank=0.5, name="half")
    assert display.results.k[-1] == display.ax_.get_xlim()[1] == 30
    assert legend_of(display)[0] == "half"
    one = TopKSignificanceDisplay.from_predictions(
        ranking, max_rank=1, y_axis="precision", log_scale=False
    )
    np.testing.assert_array_equal(one.line_[0].get_data()[0], [1])


def test_no_positives_are_drawn_as_nothing_found():
    with pytest.warns(UndefinedMetricWarning, match="undefined without positives"):
        curve = top_k_significance_curve(np.zeros(20, dtype=int), np.arange(20.0))
    for y_axis in VIEWS:
        (line,) = TopKSignificanceDisplay(curve).plot(y_axis=y_axis).line_
        heights = np.asarray(line.get_ydata())
        assert np.all((heights == 0.0) | np.isnan(heights))


def test_keywords_of_each_ranker():
    display = TopKSignificanceDisplay({"a": curve_of("no ties"), "b": curve_of("no ties")})
    display.plot(y_axis="recall", curve_kwargs=[{"c": "red"}, {"lw": 3.0}])
    assert display.line_[0].get_color() == "red"
    assert display.line_[1].get_linewidth() == 3.0
    assert display.ax_.get_xlabel() == "Items from the top (k)"
    assert display.ax_.get_ylabel() == "Recall at k"
    with pytest.raises(ValueError, match="one dict for each of the 2 rankers; got 3"):
        display.plot(curve_kwargs=[{}, {}, {}])


@pytest.fixture(scope="module")
def data():
    return make_classification(203, weights=[0.8], class_sep=0.7, random_state=0)


def test_folds_of_different_sizes_are_drawn_as_shares(data):
    X, y = data
    cv_results = cross_validate(
        KNeighborsClassifier(5), X, y, cv=3, return_estimator=True, return_indices=True
    )
    display = TopKSignificanceDisplay.from_cv_results(cv_results, X, y)
    assert legend_of(display)[:3] == ["fold 0", "fold 1", "fold 2"]
    assert display.pointwise_ == []
    for line, estimator, test in zip(
        display.line_, cv_results["estimator"], cv_results["indices"]["test"], strict=True
    ):
        k, hits = counted(y[test], estimator.predict_proba(X[test])[:, 1])
        share = 100.0 * k / test.size
        np.testing.assert_allclose(values_at(line, share), 100.0 * hits / y[test].sum())
    with pytest.raises(ValueError, match="use y_axis='gain' or 'lift'"):
        TopKSignificanceDisplay.from_cv_results(cv_results, X, y, y_axis="hits")


def test_wrong_curves_are_refused():
    curve = curve_of("no ties")
    other = top_k_significance_curve(*structure("no ties"), alpha=0.2)
    with pytest.raises(ValueError, match=r"alpha is \[0.1, 0.05, 0.01\] and \[0.2\]: compute all"):
        TopKSignificanceDisplay({"a": curve, "b": other})
    display = TopKSignificanceDisplay(curve)
    with pytest.raises(ValueError, match=r"y_axis must be one of 'hits', .*; got 'roc'"):
        display.plot(y_axis="roc")
    with pytest.raises(ValueError, match=r"among the levels .*\[0.1, 0.05, 0.01\]; got 0.2"):
        display.plot(alpha=0.2)
    with pytest.raises(ValueError, match="y_axis must be one of"):
        TopKSignificanceDisplay.from_predictions(*structure("no ties"), y_axis="roc")
    assert plt.get_fignums() == []


# Power.


@pytest.fixture(scope="module")
def powers():
    """Power of hits at k for several numbers of positives, and of a simulated metric."""
    sizes = (30, 10, 20)
    exact = [metric_power(300, m, metric="recall@30", odds=3.0) for m in sizes]
    drawn = [metric_power(300, m, odds=3.0, n_resamples=300) for m in sizes]
    return {"hits": exact, "precision": drawn}


def test_power_is_that_of_the_results(powers):
    display = PowerDisplay(powers).plot()
    for line, results in zip(display.line_, powers.values(), strict=True):
        x, y = line.get_data()
        np.testing.assert_array_equal(x, [10, 20, 30])
        np.testing.assert_array_equal(y, [results[at].power for at in (1, 2, 0)])
    assert display.band_[0] is None
    vertices = display.band_[1].get_paths()[0].vertices
    for result in powers["precision"]:
        edges = result.power + 2.0 * result.standard_error * np.array([-1.0, 1.0])
        heights = vertices[vertices[:, 0] == result.n_positives, 1]
        np.testing.assert_allclose([heights.min(), heights.max()], np.clip(edges, 0.0, 1.0))
    assert display.level_line_.get_ydata()[0] == 0.05
    assert display.target_line_.get_ydata()[0] == 0.8
    assert display.ax_.get_xlabel() == "Number of positives (300 items, odds 3, AUC 0.75)"
    assert display.ax_.get_ylabel() == "Power"


def test_points_between_which_the_power_is_reached_are_stated(powers):
    target = 0.5 * (powers["hits"][1].power + powers["hits"][2].power)
    display = PowerDisplay(powers["hits"]).plot(target=target)
    first, last = (10, 20) if powers["hits"][2].power > target else (20, 30)
    assert display.reached_ == [None]
    between = f"Recall at 30: power {target:g} between {first} and {last} positives"
    assert legend_of(display)[0] == between
    display.plot(target=0.9999999)
    assert display.reached_ == [None]
    assert legend_of(display)[0].endswith("not reached")
    display.plot(target=1e-9)
    assert legend_of(display)[0].endswith("at 10 positives or fewer")
    display.plot(target=None, name="mine")
    assert display.target_line_ is None
    assert legend_of(display) == ["mine", "significance level 0.05"]


@pytest.mark.parametrize(
    ("metric", "prevalence"),
    [("recall@60", None), ("recall@0.1", 0.1), ("roc_auc", None), ("roc_auc", 0.2)],
)
def test_exact_number_of_positives_is_added(metric, prevalence):
    m = np.array([5, 20, 60, 150])
    n = 300 if prevalence is None else np.rint(m / prevalence).astype(int)
    display = PowerDisplay.from_design(n, m, metric=metric, auc=0.62, n_resamples=500, target=0.4)
    x = display.line_[0].get_xdata()
    assert set(m) < set(x)
    (reached,) = display.reached_
    at = int(reached.get_xdata()[0])
    assert at not in m
    low = max(m[m < at])

    def power_of(positives):
        size = 300 if prevalence is None else round(positives / prevalence)
        return metric_power(size, positives, metric=metric, auc=0.62, n_resamples=500)

    found = power_of(at)
    assert found.power + found.standard_error >= 0.4
    if metric.startswith("recall"):
        assert all(power_of(each).power < 0.4 for each in range(low + 1, at))
    assert power_of(at - 1).power + found.standard_error < 0.4
    about = "about " if found.standard_error else ""
    assert legend_of(display)[0].endswith(f": power 0.4 at {about}{at} positives")
    if metric == "recall@0.1":
        first = min_positives(prevalence=0.1, metric=metric, auc=0.62, power=0.4)
        assert first == at
    assert display.ax_.get_xlabel().endswith("AUC 0.62)")


@pytest.mark.parametrize("effect", ["odds", "auc"])
def test_exact_effect_is_added(effect):
    values = [1.2, 2.0, 8.0] if effect == "odds" else [0.55, 0.65, 0.9]
    display = PowerDisplay.from_design(200, 20, metric="recall@20", **{effect: values})
    odds = min_detectable_odds(200, 20, metric="recall@20")
    expected = odds if effect == "odds" else odds / (1.0 + odds)
    np.testing.assert_allclose(display.reached_[0].get_xdata(), [expected] * 2, rtol=1e-9)
    assert display.reached_[0].get_ydata()[0] == pytest.approx(0.8)
    np.testing.assert_allclose(display.line_[0].get_xdata(), sorted([*values, expected]))
    unit = "odds" if effect == "odds" else "AUC"
    assert legend_of(display)[0] == f"Recall at 20: power 0.8 at {unit} {expected:.3g}"


def test_power_without_effect_is_the_level():
    display = PowerDisplay.from_design(100, 10, metric="recall@20", odds=[1.0, 2.0, 4.0])
    display.plot(target=None)
    given = np.isin(display.line_[0].get_xdata(), [1.0, 2.0, 4.0])
    x, y = (values[given] for values in display.line_[0].get_data())
    np.testing.assert_allclose(x, [1.0, 2.0, 4.0])
    null = stats.hypergeom(100, 10, 20)
    critical = next(h for h in range(11) if null.sf(h - 1) <= 0.05)
    assert y[0] == pytest.approx(null.sf(critical - 1), rel=1e-9)
    assert y[0] < y[1] < y[2]
    label = "Odds of a positive against a negative (10 positives, 100 items)"
    assert display.ax_.get_xlabel() == label


def test_options_reach_the_power():
    odds = [1.5, 3.0]
    display = PowerDisplay.from_design(100, 10, metric=RecallAtK(20), odds=odds, alpha=0.1)
    critical = next(h for h in range(11) if stats.hypergeom(100, 10, 20).sf(h - 1) <= 0.1)
    expected = [stats.nchypergeom_wallenius(100, 10, 20, w).sf(critical - 1) for w in odds]
    np.testing.assert_allclose(display.line_[0].get_ydata(), expected, rtol=1e-7)
    assert display.level_line_.get_ydata()[0] == 0.1


def test_axes_of_power():
    m = np.array([5, 10, 20])
    display = PowerDisplay.from_design(
        20 * m, m, metric=[RecallAtK(0.1), "reciprocal_rank"], odds=3.0
    )
    assert display.ax_.get_xlabel() == "Number of positives (prevalence 0.05, odds 3)"
    assert [text.split(":")[0] for text in legend_of(display)[:2]] == [
        "Recall at 0.1",
        "Reciprocal rank",
    ]
    display.plot(x_axis="n_samples")
    np.testing.assert_array_equal(display.line_[0].get_xdata(), 20 * m)
    assert display.ax_.get_xlabel() == "Number of items (odds 3)"
    areas = [0.6, 0.7]
    display = PowerDisplay.from_design(100, 10, metric="recall@20", auc=areas)
    np.testing.assert_allclose(display.line_[0].get_xdata(), areas)
    assert display.ax_.get_xlabel() == "Expected ROC AUC (10 positives, 100 items)"


def test_wrong_powers_are_refused(powers):
    few = {"metric": "recall@5"}
    with pytest.raises(ValueError, match="at least one result; got an empty container"):
        PowerDisplay({"a": []})
    mixed = [metric_power(50, 5, odds=2.0, **few), metric_power(50, 6, odds=3.0, **few)]
    with pytest.raises(ValueError, match="draw one line for each effect"):
        PowerDisplay(mixed)
    levels = [metric_power(50, 5, odds=2.0, alpha=level, **few) for level in (0.05, 0.01)]
    with pytest.raises(ValueError, match=r"alpha is 0.05 and 0.01: compute all"):
        PowerDisplay(levels)
    with pytest.raises(ValueError, match=r"x_axis='odds' is the same .* choose from n_positives"):
        PowerDisplay(powers).plot(x_axis="odds")
    with pytest.raises(ValueError, match="x_axis must be one of"):
        PowerDisplay(powers).plot(x_axis="k")
    with pytest.raises(
        ValueError, match=r"The target power must lie between 0 and 1, exclusive; got 1\.5"
    ):
        PowerDisplay(powers).plot(target=1.5)
    assert plt.get_fignums() == []


def test_wrong_designs_are_refused():
    for sizes, effects, got in (
        ((100, 10), {"odds": 2.0}, "none"),
        ((100, [10, 20]), {"odds": [2.0, 3.0]}, "n_positives and odds"),
        (([100, 200], 10), {"odds": 2.0}, "n_samples"),
    ):
        with pytest.raises(ValueError, match=f"Exactly one of .*; got {got}"):
            PowerDisplay.from_design(*sizes, **effects)
    with pytest.raises(ValueError, match="same length; got 2 and 3"):
        PowerDisplay.from_design([100, 200], [10, 20, 30], odds=2.0)
    with pytest.raises(ValueError, match=r"n_positives must be .* got shape \(1, 2\)"):
        PowerDisplay.from_design(100, [[10, 20]], odds=2.0)
    with pytest.raises(ValueError, match="exactly one of odds and auc"):
        PowerDisplay.from_design(100, [10, 20])
