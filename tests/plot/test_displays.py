"""All displays: what they read, and what they leave alone. What is drawn has tests of its own."""

from __future__ import annotations

import functools
import inspect
import re
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from sklearn_rankinf import (
    ComparisonDisplay,
    CurveDisplay,
    IntervalDisplay,
    LeaderboardDisplay,
    NullDistributionDisplay,
    PowerDisplay,
    TopKSignificanceDisplay,
    average_precision_test,
    metric_comparison_test,
    metric_curve,
    metric_interval,
    metric_multiple_comparison_test,
    metric_power,
    top_k_significance_curve,
)
from sklearn_rankinf._plot import comparison, power
from sklearn_rankinf._plot.base import merged_style

RNG = np.random.default_rng(0)
Y = np.arange(20) % 5 == 0
X = RNG.normal(size=(20, 2)) + Y[:, None]
SCORES = {"weak": X[:, 0], "strong": X.sum(axis=1)}
MODELS = {"linear": LogisticRegression().fit(X, Y), "Bayes": GaussianNB().fit(X, Y)}
FEW = {"n_resamples": 99}

# Displays of one or several rankers, with a result of each ranker.
COMPUTE = {
    NullDistributionDisplay: average_precision_test,
    TopKSignificanceDisplay: top_k_significance_curve,
    IntervalDisplay: metric_interval,
    CurveDisplay: metric_curve,
}
RESULTS = {
    **{kind: {n: test(Y, s) for n, s in SCORES.items()} for kind, test in COMPUTE.items()},
    PowerDisplay: {
        str(k): [metric_power(40, m, metric=f"recall@{k}", odds=3.0) for m in (4, 8)]
        for k in (5, 10)
    },
}
SINGLE = {
    **RESULTS,
    ComparisonDisplay: metric_comparison_test(Y, SCORES, **FEW),
    LeaderboardDisplay: metric_multiple_comparison_test(Y, SCORES),
}
MANY = metric_multiple_comparison_test(Y, SCORES)

ESTIMATED = [*COMPUTE, ComparisonDisplay, LeaderboardDisplay]

several = pytest.mark.parametrize("kind", list(RESULTS), ids=lambda kind: kind.__name__)
of_rankers = pytest.mark.parametrize("kind", list(COMPUTE), ids=lambda kind: kind.__name__)
every = pytest.mark.parametrize("kind", list(SINGLE), ids=lambda kind: kind.__name__)
of_scores = pytest.mark.parametrize("kind", ESTIMATED, ids=lambda kind: kind.__name__)

# A call of every method that draws.
CALLS = {
    **{f"{kind.__name__}.plot": kind(result).plot for kind, result in SINGLE.items()},
    **{
        f"{kind.__name__}.{method}": functools.partial(getattr(kind, method), *given)
        for kind in ESTIMATED
        for method, given in {
            "from_predictions": (Y, SCORES),
            "from_estimator": (MODELS, X, Y),
            "from_cv_results": ({}, X, Y),
        }.items()
        if hasattr(kind, method)
    },
    "PowerDisplay.from_design": lambda **options: PowerDisplay.from_design(
        9, [3, 4], odds=2.0, **options
    ),
}


def names_of(display):
    """Names of the rankers in the legend or on the axis."""
    if isinstance(display, IntervalDisplay):
        return [tick.get_text() for tick in display.ax_.get_yticklabels()]
    texts = display.ax_.get_legend().get_texts()[:2]
    return [text.get_text().split(":")[0].split(",")[0] for text in texts]


def average_precisions(display):
    """Average precision of each ranker, from the artists of a display."""
    if isinstance(display, NullDistributionDisplay):
        lines = display.observed_line_
        return [line.get_xdata()[0] for line in (lines if isinstance(lines, list) else [lines])]
    if isinstance(display, IntervalDisplay):
        return display.points_.get_xdata()
    found = []
    for line in display.line_:
        if isinstance(display, CurveDisplay):
            recall, precision = line.get_data()
            found.append(np.sum(np.diff(recall) * precision[1:]))
            continue
        # A logarithmic axis starts at k = 1.
        k, hits = (np.r_[0.0, values] for values in line.get_data())
        last = np.r_[k[1:] != k[:-1], True]  # after each step
        k, hits = k[last], hits[last]
        found.append(np.sum(np.diff(hits) * hits[1:] / k[1:]) / hits[-1])
    return found


def test_all_methods_that_draw_are_called():
    methods = {
        f"{kind.__name__}.{name}"
        for kind in SINGLE
        for name in dir(kind)
        if name[0] != "_" and callable(getattr(kind, name))
    }
    assert methods == set(CALLS)


@pytest.mark.parametrize("name", list(CALLS))
def test_missing_matplotlib_names_the_extra(name, monkeypatch):
    for module in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    message = rf'{name} needs matplotlib: pip install "sklearn-rankinf\[plot\]"'
    with pytest.raises(ImportError, match=message):
        CALLS[name]()


@every
def test_display_only_draws_its_result(kind, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("computed again")

    monkeypatch.setattr(kind, "_compute", refuse, raising=False)
    monkeypatch.setattr(comparison, "metric_comparison_test", refuse)
    monkeypatch.setattr(power, "metric_power", refuse)
    with monkeypatch.context() as without:
        for module in ("matplotlib", "matplotlib.pyplot"):
            without.setitem(sys.modules, module, None)
        display = kind(SINGLE[kind])
    assert display.plot() is display
    assert display.results is SINGLE[kind]
    assert display.name is None


@every
def test_state_of_matplotlib_is_left_alone(kind):
    settings = dict(mpl.rcParams)
    figure, ax = plt.subplots()
    display = kind(SINGLE[kind]).plot(ax, despine=True)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert plt.get_fignums() == [figure.number]
    assert dict(mpl.rcParams) == settings
    assert [ax.spines[side].get_visible() for side in ("top", "right", "left")] == [0, 0, 1]
    with pytest.raises(TypeError, match="ax must be a single matplotlib Axes; got list"):
        display.plot([ax])


@pytest.mark.parametrize("name", list(CALLS))
def test_options_are_keywords_and_documented(name):
    kind, method = name.split(".")
    function = getattr(globals()[kind], method)
    parameters = inspect.signature(function).parameters
    if method == "plot":
        assert [p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY][-1] == "ax"
        assert list(parameters)[-1] == "despine"
    else:
        assert list(parameters)[-3:] == ["name", "ax", "options"]
    assert len(parameters) <= 15
    documented = " ".join(
        line for line in inspect.getdoc(function).splitlines() if not line.startswith(" ")
    )
    assert all(parameter in documented for parameter in parameters if parameter != "self")
    assert all(p.default is not p.empty for p in parameters.values() if p.kind is p.KEYWORD_ONLY)


def entries_of(function):
    """Type and description of each parameter in a docstring, in one line each."""
    text = inspect.getdoc(function).replace("\\\n", " ").split("Parameters\n----------\n")[1]
    entries = re.split(r"\n(?=\S)", text.split("\n\nReturns\n")[0])
    return {entry.split("\n")[0].split(" : ")[0]: " ".join(entry.split()) for entry in entries}


def test_repeated_entries_of_docstrings_are_equal():
    methods = ("from_predictions", "from_estimator", "from_cv_results")
    first, *others = (entries_of(getattr(IntervalDisplay, method)) for method in methods)
    for name in ("pos_label", "ax", "**options"):
        assert {other[name] for other in others} == {first[name]}, name
    assert len({entries["response_method"] for entries in others}) == 1


@pytest.mark.parametrize("name", [name for name in CALLS if not name.endswith(".plot")])
def test_options_without_meaning_are_refused(name):
    kind = name.split(".")[0]
    with pytest.raises(TypeError, match=rf"'metrc' is not an option of .* or {kind}\.plot"):
        CALLS[name](metrc="roc_auc")
    assert plt.get_fignums() == []


@every
def test_keywords_reach_their_artists(kind):
    parameters = inspect.signature(kind.plot).parameters
    keywords = [name for name in parameters if name.endswith(("_kwargs", "_kw"))]
    options = {name: True for name in parameters if name.startswith("plot_")}
    found = set()
    for display in {
        NullDistributionDisplay: lambda: [kind(RESULTS[kind]["weak"])],
        PowerDisplay: lambda: [kind([metric_power(300, 10, odds=3.0, n_resamples=50)])],
        ComparisonDisplay: lambda: [
            kind.from_predictions(Y, SCORES),
            kind.from_predictions(Y, SCORES, groups=np.arange(20) // 10, **FEW),
            kind(MANY),
        ],
        LeaderboardDisplay: lambda: [kind(MANY)],
    }.get(kind, lambda: [kind(RESULTS[kind])])():
        if kind is NullDistributionDisplay:
            options["n_resamples"] = 20
        display.plot(**options, **{name: {"gid": name} for name in keywords})
        found |= {artist.get_gid() for artist in display.figure_.findobj()}
    assert set(keywords) <= found


def test_short_names_of_keywords_override_the_long_ones():
    default = {"color": "k", "linestyle": "-", "linewidth": 1.0, "zorder": 3}
    given = {"c": "red", "ls": ":", "lw": 2.0}
    expected = {"color": "red", "linestyle": ":", "linewidth": 2.0, "zorder": 3}
    assert merged_style(default, given) == expected
    assert merged_style(default, None) == default


@several
def test_names_are_keys_or_given(kind):
    results = RESULTS[kind]
    assert names_of(kind(results).plot()) == list(results)
    assert names_of(kind(results, name=["x", "y"]).plot()) == ["x", "y"]
    assert names_of(kind(results, name=["x", "y"]).plot(name=("p", "q"))) == ["p", "q"]
    if kind is not PowerDisplay:
        assert names_of(kind(list(results.values())).plot()) == ["0", "1"]


@several
def test_wrong_results_are_refused(kind):
    with pytest.raises(TypeError, match=r"results must be results of .*; got float\."):
        kind([0.3])
    for empty in ([], {}):
        with pytest.raises(ValueError, match="at least one result; got an empty container"):
            kind(empty)
    for name in ("one", ["a"], ["a", "a"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="a different entry for each of the 2 results; got"):
            kind(RESULTS[kind], name=name)
        with pytest.raises(ValueError, match="a different entry for each of the 2 results; got"):
            kind(RESULTS[kind]).plot(name=name)
    assert plt.get_fignums() == []


@of_rankers
@pytest.mark.parametrize("make", [dict, pd.DataFrame], ids=["dict", "frame"])
def test_rankers_by_name(kind, make):
    display = kind.from_predictions(Y, make(SCORES))
    assert names_of(display) == list(SCORES)
    expected = [average_precision_score(Y, column) for column in SCORES.values()]
    np.testing.assert_allclose(average_precisions(display), expected)


@of_rankers
@pytest.mark.parametrize("pos_label", [False, True])
def test_estimators_score_the_positive_label(kind, pos_label):
    display = kind.from_estimator(MODELS, X, Y, pos_label=pos_label)
    assert names_of(display) == list(MODELS)
    expected = [
        average_precision_score(pos_label == Y, model.predict_proba(X)[:, int(pos_label)])
        for model in MODELS.values()
    ]
    np.testing.assert_allclose(average_precisions(display), expected)
    one = kind.from_estimator(MODELS["Bayes"], X, Y, pos_label=pos_label)
    assert names_of(one)[0] == "GaussianNB"
    np.testing.assert_allclose(average_precisions(one), expected[1:])


def test_estimators_are_compared():
    display = ComparisonDisplay.from_estimator(MODELS, X, Y, pos_label=False, **FEW)
    values = [average_precision_score(~Y, m.predict_proba(X)[:, 0]) for m in MODELS.values()]
    names = [text.get_text() for text in display.ax_[0].get_legend().get_texts()]
    assert names == [
        f"{name}: AP = {value:.3g}" for name, value in zip(MODELS, values, strict=True)
    ]
    assert display.point_.get_xdata()[0] == pytest.approx(values[0] - values[1])


def test_estimator_with_string_labels_and_frames():
    labels = np.where(Y, "active", "decoy")
    display = NullDistributionDisplay.from_estimator(
        LogisticRegression().fit(X, labels),
        pd.DataFrame(X),
        pd.Series(labels),
        pos_label="active",
        name="active ones",
    )
    # "active" is the first class, so that the decision function is against it.
    expected = average_precision_score(Y, MODELS["linear"].decision_function(X))
    np.testing.assert_allclose(average_precisions(display), [expected], rtol=1e-6)
    assert names_of(display)[0] == "active ones"


def test_regressor_with_predict():
    model = Ridge().fit(X, Y)
    display = NullDistributionDisplay.from_estimator(model, X, Y, response_method="predict")
    expected = average_precision_score(Y, model.predict(X))
    np.testing.assert_allclose(average_precisions(display), [expected])


def test_estimator_with_several_outputs():
    model = KNeighborsClassifier().fit(X, np.column_stack([Y, ~Y]))
    message = r"KNeighborsClassifier has 2 outputs, .*for instance predict_proba\(X\)\[0\]\[:, 1\]"
    with pytest.raises(ValueError, match=message):
        NullDistributionDisplay.from_estimator(model, X, Y)


@of_scores
def test_wrong_estimators_are_refused(kind):
    message = "NearestNeighbors has no decision_function or predict_proba to rank items"
    with pytest.raises(TypeError, match=message):
        kind.from_estimator({**MODELS, "near": NearestNeighbors().fit(X)}, X, Y)
    message = "pos_label='x' is not one of the classes of LogisticRegression: False, True"
    with pytest.raises(ValueError, match=message):
        kind.from_estimator(MODELS, X, Y, pos_label="x")


@of_rankers
@pytest.mark.parametrize(
    "container",
    [np.asarray, pd.DataFrame, sparse.csr_array, lambda X: X.tolist()],
    ids=["array", "frame", "sparse", "list"],
)
def test_folds_are_drawn_by_their_own_estimators(kind, container):
    samples = container(X)
    cv_results = cross_validate(
        LogisticRegression(),
        samples,
        Y,
        cv=2,
        scoring="average_precision",
        return_estimator=True,
        return_indices=True,
    )
    options = {"y_axis": "hits"} if kind is TopKSignificanceDisplay else {}
    display = kind.from_cv_results(cv_results, samples, Y, **options)
    assert names_of(display) == ["fold 0", "fold 1"]
    np.testing.assert_allclose(average_precisions(display), cv_results["test_score"])
    with pytest.raises(ValueError, match="cv_results has no 'estimator' and no 'indices': call"):
        kind.from_cv_results({"test_score": [0.5]}, samples, Y)
    with pytest.raises(ValueError, match=r"y must be the cross-validated data .*; got 15"):
        kind.from_cv_results(cv_results, samples, Y[:15])


def test_texts_do_not_leave_the_figure():
    names = [f"{name} classifier with a long name, number 12" for name in SCORES]
    displays = (
        *(kind(result, name=names).plot() for kind, result in SINGLE.items()),
        ComparisonDisplay(MANY, name=names).plot(),
        IntervalDisplay(RESULTS[IntervalDisplay], name=names).plot(plot_chance_level=True),
    )
    for display in displays:
        figure = display.figure_
        figure.canvas.draw()
        found = figure.get_tightbbox()
        assert min(found.x0, found.y0) >= 0.0
        assert found.x1 <= figure.get_figwidth()
        assert found.y1 <= figure.get_figheight()
