"""All displays: whether what is drawn can be read, for rankings that are difficult to draw."""

from __future__ import annotations

import copy
import functools
import itertools
import warnings
from collections.abc import Callable
from typing import NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.text import Text

from sklearn_rankinf import (
    ComparisonDisplay,
    CurveDisplay,
    IntervalDisplay,
    LeaderboardDisplay,
    NullDistributionDisplay,
    PowerDisplay,
    TopKSignificanceDisplay,
    average_precision_test,
    metric_curve,
    metric_interval,
    metric_multiple_comparison_test,
    metric_power,
    metric_test,
    top_k_significance_curve,
)

# Pixels by which boxes of texts may overlap, which are higher than their letters.
SLACK = 2.0
# Least ratio of contrast of what is not text, by the Web Content Accessibility Guidelines 2.1.
CONTRAST = 3.0


def ranked(structure):
    """Labels and one or several columns of scores of a kind."""
    rng = np.random.default_rng(1)
    y_true = np.arange(300) % 10 == 0
    score = rng.normal(size=300) + y_true
    six = {f"a ranker with a long name {i}": score + rng.normal(size=300) * i for i in range(6)}
    return {
        "ties in big blocks": lambda: (y_true, {"A": np.round(score), "B": np.round(score / 2)}),
        "one positive": lambda: (np.arange(300) == 7, {"A": score, "B": -score}),
        "nearly perfect": lambda: (y_true, {"A": y_true + 0.1 * score, "B": score}),
        "p = 1": lambda: (y_true, {"A": -1.0 * y_true - 1e-3 * np.arange(300), "B": score}),
        "six rankers": lambda: (y_true, six),
        # One placement in all is perfect: its p-value is about 1e-564.
        "p <= 1e-300": lambda: (np.arange(4000) < 400, {"A": -np.arange(4000.0)}),
    }[structure]()


STRUCTURES = (
    "ties in big blocks",
    "one positive",
    "nearly perfect",
    "p = 1",
    "six rankers",
    "p <= 1e-300",
)


def first_of(scores):
    return next(iter(scores.values()))


class Case(NamedTuple):
    """A display of labels and scores, the options of its plot, and structures that have none.

    A class of displays is that of a comparison of several rankers.
    """

    display: Callable
    options: dict
    without: tuple = ("p <= 1e-300",)


def power_of(y_true, scores):
    metrics = [f"recall@{30 * (i + 1)}" for i in range(len(scores))]
    return PowerDisplay.from_design(y_true.size, [4, 8, 16, 32], metric=metrics, odds=4.0)


def null_of(y_true, scores, **options):
    return NullDistributionDisplay(average_precision_test(y_true, first_of(scores), **options))


@functools.cache
def compared(structure):
    y_true, scores = ranked(structure)
    return metric_multiple_comparison_test(
        y_true, {**dict(list(scores.items())[:3]), "C": -first_of(scores)}, metric="roc_auc"
    )


B99 = {"n_resamples": 99}
# A single positive has no variance, and pictures of many rows do not depend on p-values.
NO_VARIANCE = ("p <= 1e-300", "one positive")
MANY_ROWS = (*NO_VARIANCE, "p = 1", "ties in big blocks", "nearly perfect")
CASES = {
    "null distribution": Case(
        lambda y, s: NullDistributionDisplay(
            metric_test(y, first_of(s), metric=f"recall@{y.sum()}")
        ),
        {},
        (),
    ),
    "null, density": Case(null_of, {"y_axis": "density", "n_resamples": 99}),
    "null, bound": Case(lambda y, s: null_of(y, s, method="permutation", **B99), {"name": "named"}),
    "null, all rankers": Case(
        lambda y, s: NullDistributionDisplay(
            {k: average_precision_test(y, v) for k, v in s.items()}
        ),
        {},
    ),
    "top k": Case(
        lambda y, s: TopKSignificanceDisplay(top_k_significance_curve(y, first_of(s))),
        {},
        ("p <= 1e-300", "ties in big blocks", "nearly perfect"),
    ),
    "top k, all rankers": Case(
        lambda y, s: TopKSignificanceDisplay(
            {k: top_k_significance_curve(y, v, alpha=0.05) for k, v in s.items()}
        ),
        {"y_axis": "recall"},
    ),
    "interval": Case(
        lambda y, s: IntervalDisplay({k: metric_interval(y, v) for k, v in s.items()}),
        {"plot_chance_level": True},
        NO_VARIANCE,
    ),
    "comparison": Case(
        lambda y, s: ComparisonDisplay.from_predictions(
            y, dict(list(s.items())[:2]), metric="recall@30", **B99
        ),
        {"plot_chance_level": True},
    ),
    "comparison, rows": Case(ComparisonDisplay, {}, MANY_ROWS),
    "leaderboard": Case(LeaderboardDisplay, {}, MANY_ROWS),
    "curve": Case(
        lambda y, s: CurveDisplay(metric_curve(y, s if len(s) > 1 else first_of(s), curve="roc")),
        {},
        NO_VARIANCE,
    ),
    "power": Case(power_of, {}, tuple(each for each in STRUCTURES if each != "six rankers")),
}
PICTURES = [
    (name, structure)
    for name, case in CASES.items()
    for structure in STRUCTURES
    if structure not in case.without
]
# Five inches at a hundred dots are the width of a picture in the gallery.
SIZE = {"figure.figsize": (5.0, 3.75), "figure.dpi": 100, "figure.constrained_layout.use": True}


@functools.cache
def computed(name, structure):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if CASES[name].display in (ComparisonDisplay, LeaderboardDisplay):
            return CASES[name].display(compared(structure))
        return CASES[name].display(*ranked(structure))


@functools.cache
def drawn(name, structure, style="default", title=""):
    """A display of a kind, drawn in a picture of the gallery's size or of its own."""
    display = copy.copy(computed(name, structure))
    with plt.style.context(style), mpl.rc_context(SIZE):
        # Rows have a height of their own, and curves above a difference have two axes.
        has_axes = name not in ("comparison", "interval", "leaderboard", "comparison, rows")
        display.plot(plt.subplots()[1] if has_axes else None, **CASES[name].options)
        axes_of(display)[0].set_title(title)
        if style == "default":  # colours do not depend on the layout
            display.figure_.draw_without_rendering()
    return display


def axes_of(display):
    return display.ax_ if isinstance(display.ax_, tuple) else (display.ax_,)


def texts_of(display):
    """All texts that are visible, and their boxes."""
    left_out = hidden_labels(display)
    spacers = {child for ax in axes_of(display) for child in ax.child_axes}
    texts = {}
    for text in display.figure_.findobj(lambda artist: isinstance(artist, Text)):
        shown = text.get_visible() and text.get_text().strip() and text.axes not in spacers
        if shown and id(text) not in left_out:
            box = text.get_window_extent()
            if display.figure_.bbox.overlaps(box):
                texts[text] = box.padded(-SLACK)
    return texts


def hidden_labels(display):
    """Labels of ticks outside of the limits, which are not drawn."""
    found = set()
    for ax in axes_of(display):
        for axis in (ax.xaxis, ax.yaxis):
            drawn_ticks = set(axis._update_ticks())
            for tick in {*axis.get_major_ticks(), *axis.get_minor_ticks()} - drawn_ticks:
                found |= {id(tick.label1), id(tick.label2)}
    return found


def lines_of(display):
    """All lines of data, as artists with their paths in pixels, where they are inside the axes."""
    for ax in axes_of(display):
        for artist in [*ax.lines, *ax.collections]:
            if isinstance(artist, Line2D):
                yield artist, ax, artist.get_path().transformed(artist.get_transform())
            elif isinstance(artist, LineCollection):
                for path in artist.get_paths():
                    yield artist, ax, path.transformed(artist.get_transform())


def crosses(path, ax, box):
    """Whether a line crosses a box, both inside the axes."""
    vertices = np.nan_to_num(path.vertices, nan=-1e6, posinf=1e6, neginf=-1e6)
    corners = np.clip(vertices, -1e6, 1e6)
    inside = mpl.transforms.Bbox.intersection(ax.bbox, box)
    if inside is None or min(inside.width, inside.height) <= 0.0:
        return False
    return mpl.path.Path(corners).intersects_bbox(inside, filled=False)


@pytest.fixture(scope="module", params=PICTURES, ids=lambda picture: ", ".join(picture))
def display(request):
    return drawn(*request.param)


def test_texts_are_over_no_line_and_no_other_text(display):
    texts = texts_of(display)
    assert len(texts) >= 5
    for (one, box), (other, other_box) in itertools.combinations(texts.items(), 2):
        both = mpl.transforms.Bbox.intersection(box, other_box)
        overlap = both is not None and min(both.width, both.height) > 0.0
        assert not overlap, (one.get_text(), other.get_text())
    for text, box in texts.items():
        for line, ax, path in lines_of(display):
            assert not crosses(path, ax, box), (text.get_text(), line)


def test_legends_are_outside_of_the_axes_and_inside_of_the_figure(display):
    for ax in axes_of(display):
        legend = ax.get_legend()
        if legend is not None:
            box = legend.get_window_extent()
            assert box.y0 >= ax.get_window_extent().y1 - 1.0
    found = display.figure_.get_tightbbox().transformed(display.figure_.dpi_scale_trans)
    assert found.x0 >= -1.0
    assert found.y0 >= -1.0
    assert found.x1 <= display.figure_.bbox.x1 + 1.0
    assert found.y1 <= display.figure_.bbox.y1 + 1.0


@pytest.mark.parametrize("name", ["null distribution", "top k, all rankers", "interval"])
def test_titles_are_above_the_legend(name):
    ax = axes_of(drawn(name, "six rankers", title="A title"))[0]
    title = ax.title.get_window_extent().padded(-SLACK)
    assert title.y0 >= ax.get_legend().get_window_extent().y1 - SLACK


def test_nothing_is_drawn_below_zero(display):
    ax = axes_of(display)[0]
    if isinstance(display, ComparisonDisplay) or "log10" in ax.get_ylabel():
        return
    for line in ax.lines:
        assert np.nanmin(line.get_ydata(), initial=0.0) >= 0.0
    for bar in ax.patches:
        if hasattr(bar, "get_height"):
            assert bar.get_y() >= 0.0
            assert bar.get_height() >= 0.0


def luminance(color):
    """Relative luminance by the Web Content Accessibility Guidelines."""
    parts = np.asarray(color[:3])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(color, behind):
    """Ratio of contrast of a colour, which may be transparent, and its background."""
    *parts, alpha = to_rgba(color)
    behind = np.array(to_rgba(behind)[:3])
    light, dark = sorted(
        (luminance(alpha * np.array(parts) + (1.0 - alpha) * behind), luminance(behind))
    )[::-1]
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_guidelines():
    # Examples of the guidelines: black on white, and the lightest grey for large text and for text.
    assert contrast("black", "white") == pytest.approx(21.0)
    assert contrast("#767676", "white") == pytest.approx(4.54, abs=0.005)
    assert contrast("#949494", "white") == pytest.approx(3.03, abs=0.005)


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("name", list(CASES))
def test_lines_and_texts_have_contrast(name, style):
    display = drawn(name, "six rankers", style)
    behind = axes_of(display)[0].get_facecolor()
    for text in texts_of(display):
        assert contrast(text.get_color(), behind) >= CONTRAST, text.get_text()
    for line, _, _ in lines_of(display):
        colors = [line.get_color()] if isinstance(line, Line2D) else line.get_colors()
        for color in colors:
            *parts, alpha = to_rgba(color)
            own = alpha * (1.0 if line.get_alpha() is None else line.get_alpha())
            assert contrast((*parts, own), behind) >= CONTRAST, line


@pytest.mark.parametrize(
    "name", ["null, all rankers", "top k, all rankers", "curve", "power", "comparison"]
)
def test_rankers_differ_in_line_style_and_colour(name):
    display = drawn(name, "six rankers")
    lines = display.line_
    if name.startswith("null"):
        lines = display.observed_line_
    assert len(lines) == (2 if name == "comparison" else 6)
    patterns = {str(line._unscaled_dash_pattern) for line in lines}
    assert len(patterns) == len({line.get_color() for line in lines}) == len(lines)


@pytest.mark.parametrize("name", ["null distribution", "top k, all rankers"])
def test_default_scales(name):
    ax = drawn(name, "nearly perfect").ax_
    assert (ax.get_yscale() if name.startswith("null") else ax.get_xscale()) == "log"


@pytest.mark.parametrize("structure", STRUCTURES)
def test_numbers_at_the_line_are_those_of_the_result(structure):
    display = drawn("null distribution", structure)
    result = display.results
    value, pvalue = display.text_.get_text().split(", p = ")
    assert float(value) == pytest.approx(result.statistic, rel=0.005)
    mantissa, _, exponent = pvalue.partition("e")
    log10 = np.log10(float(mantissa)) + float(exponent or 0)
    assert log10 == pytest.approx(result.log10_pvalue, abs=0.05)
    height = display.point_.get_ydata()[0]
    is_log = "log10" in display.ax_.get_ylabel()
    assert is_log == (structure == "p <= 1e-300")
    assert (height if is_log else np.log10(height)) == pytest.approx(result.log10_pvalue)
    bottom, top = display.ax_.get_ylim()
    assert bottom < height < top
    # The point is on the curve.
    x, y = display.line_.get_data()
    at = np.argmin(np.abs(x - result.statistic))
    if not is_log:  # then hits are drawn in groups
        assert x[at] == pytest.approx(result.statistic, abs=1e-8)
    assert y[at] == pytest.approx(height, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "shape"),
    [("top k, all rankers", (1, 2)), ("null distribution", (2, 1)), ("power", (1, 1))],
)
def test_legend_without_a_layout_is_where_the_axes_were(name, shape):
    with mpl.rc_context({"figure.constrained_layout.use": False}):
        figure, axes = plt.subplots(*shape, figsize=(4.0 * shape[1], 3.0 * shape[0]), squeeze=False)
    ax = axes[-1, -1]
    place = ax.get_window_extent().frozen()
    computed(name, "six rankers").plot(ax, **CASES[name].options)
    figure.draw_without_rendering()
    legend, left = ax.get_legend().get_window_extent(), ax.get_window_extent()
    texts = [text.get_window_extent() for text in ax.get_legend().get_texts()]
    assert max(box.y1 for box in texts) <= place.y1 + SLACK
    assert max(box.x1 for box in texts) <= figure.bbox.x1
    assert legend.y0 >= left.y1 - 1.0
    assert left.height >= 0.3 * place.height


def test_results_of_elsewhere_state_both_units_of_the_effect():
    results = [metric_power(300, m, metric="recall@30", auc=0.7) for m in (10, 20)]
    label = PowerDisplay(results).plot().ax_.get_xlabel()
    assert label == "Number of positives (300 items, odds 2.33, AUC 0.7)"
