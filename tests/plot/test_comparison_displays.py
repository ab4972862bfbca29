"""Displays of intervals and comparisons: drawn values against scikit-learn and enumeration."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from pictures import STRUCTURES, labels_of, legend_of, position, ticks_of
from sklearn.metrics import (
    auc,
    average_precision_score,
    ndcg_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from sklearn_rankinf import (
    ComparisonDisplay,
    IntervalDisplay,
    metric_comparison_test,
    metric_interval,
    metric_multiple_comparison_test,
    recall_at_k_score,
)

FEW = {"n_resamples": 99}


@pytest.fixture(scope="module")
def labels():
    return np.arange(200) % 10 == 0


@pytest.fixture(scope="module")
def scores(labels):
    rng = np.random.default_rng(0)
    shifts = {"weak": 0.5, "strong": 2.5, "medium": 1.5}
    return {name: rng.normal(size=200) + shift * labels for name, shift in shifts.items()}


@pytest.fixture(scope="module")
def pair(labels, scores):
    return metric_comparison_test(
        labels, {"strong": scores["strong"], "weak": scores["weak"]}, **FEW
    )


@pytest.fixture(scope="module")
def many(labels, scores):
    return metric_multiple_comparison_test(labels, scores)


def structure(name):
    """Labels and two rankings of a kind."""
    rng = np.random.default_rng(1)
    y_true = labels_of(name)
    first, second = (rng.normal(size=60) + shift * y_true for shift in (1.5, 0.5))
    if name == "large blocks":
        first, second = np.round(first), np.round(second / 2.0)
    elif name == "constant":
        first = np.zeros(60)
    elif name == "hits at top and bottom":
        first, second = y_true + 0.0, 1.0 - y_true
    return y_true.astype(int), {"A": first, "B": second}


PAIRS = (*STRUCTURES, "hits at top and bottom")


def segments(lines):
    """First and last x of horizontal lines, and their y."""
    return np.array([[*path[:, 0], path[0, 1]] for path in lines.get_segments()])


# Intervals.


@pytest.mark.parametrize("metric", ["average_precision", "roc_auc", "recall@20"])
def test_rows_hold_values_and_intervals(labels, scores, metric):
    display = IntervalDisplay.from_predictions(labels, scores, metric=metric)
    score = {
        "average_precision": average_precision_score,
        "roc_auc": roc_auc_score,
        "recall@20": lambda y, s: y[np.argsort(-s)[:20]].sum() / y.sum(),
    }[metric]
    x, y = display.points_.get_data()
    np.testing.assert_allclose(x, [score(labels, column) for column in scores.values()])
    np.testing.assert_array_equal(y, [0, 1, 2])
    results = [metric_interval(labels, s, metric=metric) for s in scores.values()]
    expected = [[result.low, result.high, row] for row, result in enumerate(results)]
    np.testing.assert_allclose(segments(display.intervals_), expected)
    assert ticks_of(display.ax_.yaxis) == list(scores)
    assert display.ax_.yaxis_inverted()
    assert display.ax_.get_xlabel() == f"{results[0].metric.title} (95 % confidence interval)"


def test_sorted_rows_keep_their_names(labels, scores):
    display = IntervalDisplay.from_predictions(labels, scores, sort=True)
    values = {name: average_precision_score(labels, s) for name, s in scores.items()}
    order = sorted(values, key=values.get, reverse=True)
    assert order != list(scores)
    assert ticks_of(display.ax_.yaxis) == order
    np.testing.assert_allclose(display.points_.get_xdata(), [values[name] for name in order])
    places = [text.get_position()[1] for text in display.texts_]
    assert places == [0, 1, 2]
    read = [float(text.get_text().split()[0]) for text in display.texts_]
    np.testing.assert_allclose(read, [values[name] for name in order], atol=0.005)


def test_figures_state_value_and_limits(labels, scores):
    result = metric_interval(labels, scores["strong"])
    (text,) = IntervalDisplay(result).plot().texts_
    numbers = [float(part.strip("[],")) for part in text.get_text().split()]
    np.testing.assert_allclose(numbers, [result.statistic, result.low, result.high], atol=0.005)
    assert IntervalDisplay(result).plot(plot_values=False).texts_ == []


def test_decimals_follow_the_width_of_intervals():
    rng = np.random.default_rng(0)
    y_true = np.arange(200_000) < 4000
    result = metric_interval(y_true, rng.normal(size=200_000) + y_true, metric="roc_auc")
    assert 0.01 < result.high - result.low < 0.1
    (text,) = IntervalDisplay(result).plot().texts_
    assert text.get_text().startswith(f"{result.statistic:.3f} [")
    wide = metric_interval(y_true[::1000], np.arange(200.0), metric="enrichment@20")
    assert 1.0 < wide.high - wide.low < 10.0
    (text,) = IntervalDisplay(wide).plot().texts_
    assert text.get_text().startswith(f"{wide.statistic:.1f} [")


def test_interval_of_no_width_is_a_point():
    groups = np.repeat([0, 1], 3)
    display = IntervalDisplay.from_predictions([1, 0, 0] * 2, [3, 2, 1] * 2, groups=groups)
    assert display.texts_[0].get_text() == "1.000 [1.000, 1.000]"
    np.testing.assert_array_equal(segments(display.intervals_), [[1.0, 1.0, 0.0]])


def test_classes_are_rows():
    rng = np.random.default_rng(0)
    y_true = np.array(["a", "b", "c"])[np.arange(90) % 3]
    y_score = rng.normal(size=(90, 3)) + (y_true[:, None] == ["a", "b", "c"])
    display = IntervalDisplay.from_predictions(y_true, y_score)
    assert ticks_of(display.ax_.yaxis) == ["a", "b", "c"]
    expected = [average_precision_score(y_true == c, y_score[:, i]) for i, c in enumerate("abc")]
    np.testing.assert_allclose(display.points_.get_xdata(), expected)
    display = IntervalDisplay.from_predictions(y_true, y_score, name="forest")
    assert ticks_of(display.ax_.yaxis) == ["forest: a", "forest: b", "forest: c"]
    results = display.results["forest"]
    both = IntervalDisplay({"x": results, "y": results}).plot()
    assert ticks_of(both.ax_.yaxis)[2:4] == ["x: c", "y: a"]


def test_chance_level_is_the_mean_of_random_orders(labels, scores):
    rng = np.random.default_rng(2)
    display = IntervalDisplay.from_predictions(labels, scores, plot_chance_level=True)
    sample = [average_precision_score(labels, rng.random(200)) for _ in range(200)]
    error = np.std(sample) / np.sqrt(len(sample))
    assert position(display.chance_level_) == pytest.approx(np.mean(sample), abs=4 * error)
    assert legend_of(display.ax_) == [f"chance level (AP = {position(display.chance_level_):.3g})"]
    assert IntervalDisplay(display.results).plot().chance_level_ is None


def test_chance_level_of_each_class():
    rng = np.random.default_rng(0)
    y_true = np.repeat([0, 1, 2], [10, 30, 60])
    display = IntervalDisplay.from_predictions(
        y_true, rng.normal(size=(100, 3)), metric="precision@7", plot_chance_level=True
    )
    lines = np.array(display.chance_level_.get_segments())
    np.testing.assert_allclose(lines[:, :, 0], [[0.1, 0.1], [0.3, 0.3], [0.6, 0.6]])
    np.testing.assert_allclose(lines.mean(axis=1)[:, 1], [0, 1, 2])


def test_rows_over_queries(labels, scores):
    groups = [f"q{number}" for number in np.arange(200) // 20]
    display = IntervalDisplay.from_predictions(labels, scores, groups=groups)
    means = [
        np.mean(
            [average_precision_score(labels[i : i + 20], s[i : i + 20]) for i in range(0, 200, 20)]
        )
        for s in scores.values()
    ]
    np.testing.assert_allclose(display.points_.get_xdata(), means)
    assert display.ax_.get_xlabel() == "Mean average precision (95 % confidence interval)"
    with pytest.raises(ValueError, match="plot_chance_level=True needs intervals of one ranking"):
        display.plot(plot_chance_level=True)


def test_clusters_and_options_reach_the_interval(labels, scores):
    options = {"clusters": np.arange(200) // 4, "confidence_level": 0.8, "metric": "roc_auc"}
    display = IntervalDisplay.from_predictions(labels, scores["weak"], **options)
    expected = metric_interval(labels, scores["weak"], **options)
    np.testing.assert_allclose(segments(display.intervals_), [[expected.low, expected.high, 0.0]])
    assert display.ax_.get_xlabel().endswith("(80 % confidence interval)")


def test_a_single_row_has_no_name(labels, scores):
    result = metric_interval(labels, scores["weak"])
    assert ticks_of(IntervalDisplay(result).plot().ax_.yaxis) == []


def test_wrong_intervals_are_refused(labels, scores):
    first, groups = scores["weak"], np.arange(200) // 20
    result = metric_interval(labels, first)
    auc_result = metric_interval(labels, first, metric="roc_auc")
    with pytest.raises(ValueError, match=r"metric is AveragePrecision\(\) and RocAuc\(\): compute"):
        IntervalDisplay({"AP": result, "AUC": auc_result})
    with pytest.raises(ValueError, match="value is 'of one ranking' and 'a mean over queries'"):
        IntervalDisplay([result, metric_interval(labels, first, groups=groups)])
    with pytest.raises(
        ValueError, match=r"confidence_level is 0\.95 and 0\.9: compute all with the same"
    ):
        IntervalDisplay([result, metric_interval(labels, first, confidence_level=0.9)])
    assert plt.get_fignums() == []


# Two rankers.


@pytest.mark.parametrize("name", PAIRS)
def test_precision_recall_is_that_of_scikit_learn(name):
    y_true, both = structure(name)
    display = ComparisonDisplay.from_predictions(y_true, both, **FEW)
    for line, y_score in zip(display.line_, both.values(), strict=True):
        precision, recall, _ = precision_recall_curve(y_true, y_score)
        assert line.get_drawstyle() == "steps-post"
        x, y = line.get_data()
        # Points at one recall are joined by an upright line: its ends and all steps must be there.
        for level in np.unique(recall):
            own, expected = y[x == level], precision[recall == level]
            assert own.size > 0
            if level < 1.0:
                ends = expected.min(), expected.max()
                assert (own.min(), own.max()) == pytest.approx(ends, rel=1e-12)
        area = -np.sum(np.diff(x) * y[:-1])
        assert area == pytest.approx(average_precision_score(y_true, y_score))
    values = [average_precision_score(y_true, y_score) for y_score in both.values()]
    expected = [f"{letter}: AP = {value:.3g}" for letter, value in zip("AB", values, strict=True)]
    assert legend_of(display.ax_[0]) == expected


@pytest.mark.parametrize("name", PAIRS)
def test_roc_is_that_of_scikit_learn(name):
    y_true, both = structure(name)
    display = ComparisonDisplay.from_predictions(
        y_true, both, metric="roc_auc", plot_chance_level=True, **FEW
    )
    for line, y_score in zip(display.line_, both.values(), strict=True):
        rates = roc_curve(y_true, y_score, drop_intermediate=False)[:2]
        x, y = line.get_data()
        assert {*zip(x, y, strict=True)} <= {*zip(*rates, strict=True)}
        assert auc(x, y) == pytest.approx(roc_auc_score(y_true, y_score))
    np.testing.assert_array_equal(display.chance_level_.get_data(), [[0, 1], [0, 1]])


@pytest.mark.parametrize(
    ("name", "xscale"),
    [*((name, "linear") for name in PAIRS), ("no ties", "log"), ("large blocks", "log")],
)
def test_curve_of_hits_is_recall_at_every_rank(name, xscale):
    y_true, both = structure(name)
    display = ComparisonDisplay.from_predictions(
        y_true, both, metric="enrichment@0.2", xscale=xscale, **FEW
    )
    assert position(display.k_line_) == 12
    ranks = np.arange(1, 61)
    for line, y_score in zip(display.line_, both.values(), strict=True):
        found = np.interp(ranks, *line.get_data())
        expected = [recall_at_k_score(y_true, y_score, k=k) for k in ranks.tolist()]
        np.testing.assert_allclose(found, expected, atol=1e-12)
    assert display.ax_[0].get_xscale() == xscale
    assert "k = 12" in legend_of(display.ax_[0])


@pytest.mark.parametrize("metric", ["roc_auc", "recall@5"])
def test_blocks_with_as_many_hits_have_corners(metric):
    # One hit in each block, of sizes 2, 2, 3, 1 and 2.
    y_true = [1, 0, 1, 0, 1, 0, 0, 1, 1, 0]
    y_score = np.repeat([5, 4, 3, 2, 1], [2, 2, 3, 1, 2])
    display = ComparisonDisplay.from_predictions(
        y_true, {"A": y_score, "B": y_score}, metric=metric
    )
    x, y = display.line_[0].get_data()
    if metric == "roc_auc":
        np.testing.assert_allclose(x, np.array([0, 1, 2, 4, 4, 5]) / 5)
    else:
        np.testing.assert_allclose(x, [0, 2, 4, 7, 8, 10])
    np.testing.assert_allclose(y, np.arange(6) / 5)


def test_random_order_on_a_logarithmic_scale():
    y_true, both = structure("no ties")
    display = ComparisonDisplay.from_predictions(
        y_true, both, metric="recall@5", xscale="log", plot_chance_level=True, **FEW
    )
    ranks, recall = display.chance_level_.get_data()
    np.testing.assert_allclose(recall, ranks / 60)
    assert ranks.size > 100  # it is no straight line there
    display = ComparisonDisplay.from_predictions(*structure("no ties"), plot_chance_level=True)
    np.testing.assert_allclose(display.chance_level_.get_ydata(), [1 / 6, 1 / 6])


@pytest.mark.parametrize("metric", ["dcg", "bedroc", "reciprocal_rank"])
def test_other_metrics_have_the_curve_of_hits(metric):
    display = ComparisonDisplay.from_predictions(*structure("no ties"), metric=metric, **FEW)
    assert display.ax_[0].get_xlabel() == "Items from the top (k)"
    assert display.k_line_ is None


def test_difference_is_drawn_below(labels, scores, pair):
    display = ComparisonDisplay.from_predictions(
        labels, {"new": scores["strong"], "old": scores["weak"]}, **FEW
    )
    strong, weak = (average_precision_score(labels, scores[s]) for s in ("strong", "weak"))
    assert position(display.point_) == pytest.approx(strong - weak)
    np.testing.assert_allclose(segments(display.interval_), [[*pair.confidence_interval(), 0.0]])
    assert position(display.zero_line_) == 0.0
    assert display.margin_ is None
    upper, lower = display.ax_
    assert lower.get_title() == f"two-sided p ≤ {pair.pvalue:.4f} (swap)"
    assert lower.get_xlabel() == "Difference in average precision, 95 % interval\nnew − old"
    assert upper.get_ylabel() == "Precision"
    left, right = lower.get_xlim()
    assert left < 0.0 < pair.confidence_interval().high < right
    display.plot(confidence_level=0.5)
    low, high = pair.confidence_interval(0.5)
    np.testing.assert_allclose(segments(display.interval_), [[low, high, 0.0]])
    assert "50 % interval" in display.ax_[1].get_xlabel()


@pytest.mark.filterwarnings("ignore:At prevalence=:UserWarning")
def test_a_difference_at_another_prevalence_has_no_curves_of_the_sample(labels, scores):
    both = {name: scores[name] for name in ("strong", "weak")}
    display = ComparisonDisplay.from_predictions(labels, both, prevalence=0.2, **FEW)
    assert display.curves is None
    assert "average precision at prevalence 0.2" in display.ax_.get_xlabel()


@pytest.mark.filterwarnings("ignore:y_true contains only one class")
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("metric", ["roc_auc", "average_precision", "recall@2"])
def test_one_class_has_no_curves(metric, label):
    both = {"A": [1, 2, 3], "B": [3, 2, 1]}
    display = ComparisonDisplay.from_predictions([label] * 3, both, metric=metric)
    assert display.line_ is None


def test_margin_is_shaded(labels, scores):
    display = ComparisonDisplay.from_predictions(
        labels, np.column_stack([scores["strong"], scores["medium"]]), margin=0.4, **FEW
    )
    lower = display.ax_[1]
    corners = display.margin_.get_extents().transformed(lower.transData.inverted())
    left, right = lower.get_xlim()
    assert corners.x0 == pytest.approx(-0.4)
    assert corners.x1 == pytest.approx(0.4)
    assert left < -0.4 < 0.4 < right


def test_no_interval_is_not_drawn():
    display = ComparisonDisplay.from_predictions(
        *structure("one positive"), metric="reciprocal_rank", **FEW
    )
    assert not any(path.size for path in display.interval_.get_segments())
    assert display.ax_[1].get_xlabel() == "Difference in reciprocal rank\nA − B"
    assert np.isfinite(display.ax_[1].get_xlim()).all()


def test_equal_rankings_have_an_axis():
    groups = np.repeat([0, 1, 2], 3)
    display = ComparisonDisplay.from_predictions(
        [1, 0, 0] * 3, {"A": [3, 2, 1] * 3, "B": [3, 2, 1] * 3}, groups=groups
    )
    left, right = display.ax_[1].get_xlim()
    assert left < 0.0 < right
    assert display.ax_[1].get_title() == "two-sided p = 1.0000 (sign flip)"


def test_result_alone_is_its_difference(pair):
    display = ComparisonDisplay(pair).plot()
    assert display.line_ is None
    assert display.ax_.get_xlabel().startswith("Difference in average precision")
    assert len(display.figure_.axes) == 1


def test_curves_of_the_user_are_drawn(labels, scores, pair):
    curves = [precision_recall_curve(labels, scores[name])[1::-1] for name in ("strong", "weak")]
    display = ComparisonDisplay(pair, curves=curves, name=["x", "y"]).plot()
    for line, curve in zip(display.line_, curves, strict=True):
        np.testing.assert_array_equal(line.get_data(), curve)
    assert [text.split(":")[0] for text in legend_of(display.ax_[0])] == ["x", "y"]


def queries(n_queries):
    rng = np.random.default_rng(3)
    groups = np.repeat([f"query {number}" for number in range(n_queries)], 8)
    y_true = np.tile([1, 0, 0, 0, 1, 0, 0, 0], n_queries)
    return y_true, rng.random(groups.size) + 0.3 * y_true, rng.random(groups.size), groups


@pytest.mark.parametrize("n_queries", [2, 30, 60])
def test_queries_are_bars_in_order(n_queries):
    y_true, first, second, groups = queries(n_queries)
    display = ComparisonDisplay.from_predictions(
        y_true, {"A": first, "B": second}, groups=groups, metric="ndcg", **FEW
    )
    by_query = {}
    for query in dict.fromkeys(groups.tolist()):
        own = groups == query
        values = [ndcg_score([y_true[own]], [s[own]]) for s in (first, second)]
        by_query[query] = values[0] - values[1]
    order = sorted(by_query, key=by_query.get, reverse=True)
    bars = [bar for container in display.bars_ for bar in container]
    np.testing.assert_allclose(
        [bar.get_height() for bar in bars], [by_query[query] for query in order], atol=1e-12
    )
    places = [bar.get_x() + bar.get_width() / 2 for bar in bars]
    np.testing.assert_allclose(places, range(n_queries), atol=1e-9)
    n_better = sum(difference > 0 for difference in by_query.values())
    assert legend_of(display.ax_[0])[0] == f"A better: {n_better} of {n_queries} queries"
    if n_queries <= 40:
        named = [by_query[query] for query in ticks_of(display.ax_[0].xaxis)]
        np.testing.assert_allclose(named, [by_query[query] for query in order], atol=1e-12)
    else:
        assert not set(ticks_of(display.ax_[0].xaxis)) & set(order)
    assert position(display.point_) == pytest.approx(np.mean(list(by_query.values())))
    assert display.ax_[1].get_xlabel().startswith("Difference in mean NDCG, 95 % interval")


def test_queries_without_difference_are_in_no_count():
    y_true = np.tile([1, 0, 0], 3)
    first, second = [3, 2, 1, 3, 2, 1, 1, 2, 3], [3, 2, 1, 2, 3, 1, 3, 2, 1]
    display = ComparisonDisplay.from_predictions(
        y_true, {"A": first, "B": second}, groups=np.repeat([0, 1, 2], 3), **FEW
    )
    assert legend_of(display.ax_[0]) == ["A better: 1 of 3 queries", "B better: 1 of 3 queries"]


def test_long_names_of_queries_keep_both_ends():
    y_true, first, second, groups = queries(5)
    groups = [f"a question of many words, number {query[-1]}" for query in groups]
    display = ComparisonDisplay.from_predictions(
        y_true, {"A": first, "B": second}, groups=groups, **FEW
    )
    names = ticks_of(display.ax_[0].xaxis)
    assert {name[-1] for name in names} == set("01234")
    assert all(len(name) <= 18 and name.startswith("a question") for name in names)


def test_pair_of_axes_and_of_keywords(labels, pair):
    figure, axes = plt.subplots(2, 1)
    curve = ([0.0, 1.0], [1.0, 0.5])
    display = ComparisonDisplay(pair, curves=[curve, curve]).plot(
        axes, curve_kwargs=[{"c": "red"}, {"lw": 4.0}], despine=True
    )
    assert display.ax_ == tuple(axes)
    assert display.figure_ is figure
    assert plt.get_fignums() == [figure.number]
    assert display.line_[0].get_color() == "red"
    assert display.line_[1].get_linewidth() == 4.0
    assert not any(ax.spines["top"].get_visible() for ax in axes)


# Many rankers.


def rows_of(display):
    """Limits, values and p-values of the rows by their labels, as drawn."""
    labels = ticks_of(display.ax_.yaxis)
    limits = segments(display.interval_)
    np.testing.assert_array_equal(limits[:, 2], range(len(labels)))
    texts = [text.get_text() for text in display.texts_]
    return labels, limits[:, :2], display.point_.get_xdata(), texts


def test_rows_hold_all_differences(labels, scores, many):
    display = ComparisonDisplay.from_predictions(labels, scores)
    values = {name: average_precision_score(labels, column) for name, column in scores.items()}
    rows, limits, points, texts = rows_of(display)
    names = list(scores)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    assert rows == [f"{a} − {b}" for a, b in pairs]
    np.testing.assert_allclose(points, [values[a] - values[b] for a, b in pairs])
    np.testing.assert_allclose(limits, np.column_stack([many.low, many.high]))
    for text, pvalue in zip(texts, many.pvalue, strict=True):
        symbol, number = text.split(" = ")
        assert symbol == "p"
        assert float(number) == pytest.approx(pvalue, rel=0.05, abs=5e-5)
    assert position(display.zero_line_) == 0.0
    left, right = display.ax_.get_xlim()
    assert left < min(0.0, limits.min()) < max(0.0, limits.max()) < right
    assert display.ax_.get_xlabel() == (
        "Difference in average precision\n95 % intervals of all differences together, p by maxT"
    )


@pytest.mark.parametrize("reference", ["weak", "best"])
def test_each_ranker_and_the_reference_are_a_row(labels, scores, reference):
    display = ComparisonDisplay.from_predictions(labels, scores, reference=reference, margin=0.5)
    values = {name: average_precision_score(labels, column) for name, column in scores.items()}
    own = max(values, key=values.get) if reference == "best" else reference
    rows, _, points, _ = rows_of(display)
    others = [name for name in scores if name != own]
    assert rows == [f"{name} − {own}" for name in others]
    np.testing.assert_allclose(points, [values[name] - values[own] for name in others])
    corners = display.margin_.get_extents().transformed(display.ax_.transData.inverted())
    assert (corners.x0, corners.x1) == pytest.approx((-0.5, 0.5))
    left, right = display.ax_.get_xlim()
    assert left < -0.5 < 0.5 < right


def test_equal_rankers_have_a_row(labels, scores):
    first = scores["weak"]
    result = metric_multiple_comparison_test(labels, {"a": first, "b": first})
    display = ComparisonDisplay(result, name=["x", "y"]).plot()
    rows, limits, points, texts = rows_of(display)
    assert rows == ["x − y"]
    assert texts == ["p = 1.0000"]
    np.testing.assert_array_equal([*limits[0], *points], [result.low[0], result.high[0], 0.0])


def test_rows_over_queries_name_their_correction():
    y_true, first, second, groups = queries(10)
    display = ComparisonDisplay.from_predictions(
        y_true, {"a": first, "b": second, "c": -first}, groups=groups, correction="holm"
    )
    label = display.ax_.get_xlabel()
    assert label.startswith("Difference in mean average precision\n95 % intervals of all")
    assert label.endswith("p by Holm's method")
    display = ComparisonDisplay.from_predictions(
        y_true, {"a": first, "b": second, "c": -first}, groups=groups, correction="none"
    )
    assert display.ax_.get_xlabel().endswith("of each difference by itself, unadjusted p")


# Messages.


def test_wrong_comparisons_are_refused(pair, many):
    with pytest.raises(TypeError, match=r"the result of metric_comparison_test .* got float"):
        ComparisonDisplay(0.3)
    with pytest.raises(ValueError, match=r"one entry for each of the 2 rankers; got \['a'\]"):
        ComparisonDisplay(pair, name=["a"])
    with pytest.raises(ValueError, match="one entry for each of the 3 rankers; got 'abc'"):
        ComparisonDisplay(many).plot(name="abc")
    curve = ([0.0, 1.0], [0.0, 1.0])
    with pytest.raises(ValueError, match=r"curves must be two pairs .* got 1 entries of lengths"):
        ComparisonDisplay(pair, curves=[curve])
    with pytest.raises(ValueError, match="curves are for the comparison of two rankings; omit"):
        ComparisonDisplay(many, curves=[curve, curve])
    with pytest.raises(ValueError, match="xscale must be one of 'linear', 'log'; got 'symlog'"):
        ComparisonDisplay(pair).plot(xscale="symlog")
    with pytest.raises(ValueError, match=r"confidence_level must lie between .*; got 95"):
        ComparisonDisplay(pair).plot(confidence_level=95)
    assert plt.get_fignums() == []


def test_wrong_axes_are_refused(labels, scores, pair, many):
    _, axes = plt.subplots(2, 1)
    with pytest.raises(
        TypeError, match=r"ax must be a pair of axes, .* by plt.subplots\(2, 1\); got Axes"
    ):
        ComparisonDisplay.from_predictions(
            labels, {"A": scores["weak"], "B": scores["weak"]}, ax=axes[0]
        )
    for result in (pair, many):
        with pytest.raises(TypeError, match="ax must be a single matplotlib Axes; got"):
            ComparisonDisplay(result).plot(axes)
