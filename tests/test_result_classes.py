"""What all results have in common: text, dict, JSON, table, HTML, copies and pickles."""

import copy
import inspect
import json
import math
import pathlib
import pickle
import re
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from sklearn_rankinf import (
    average_precision_test,
    best_candidate_test,
    cross_val_comparison,
    cross_val_significance,
    items_to_examine,
    metric_comparison_power,
    metric_comparison_test,
    metric_curve,
    metric_group_comparison_test,
    metric_interval,
    metric_interval_width,
    metric_multiple_comparison_test,
    metric_power,
    metric_test,
    minimum_hypergeometric_test,
    optimal_cutoff,
    randomization_test,
    rank_significance_report,
    search_permutation_test,
    threshold_interval,
    top_k_significance_curve,
    values_multiple_comparison_test,
)
from sklearn_rankinf._report.report import RankSignificanceReport
from sklearn_rankinf._results import Result

RNG = np.random.default_rng(0)
N = 60
Y = np.arange(N) % 5 == 0
X = RNG.normal(size=(N, 2)) + Y[:, None]
A, B = X.T
QUERIES = [("<b>", i % 4) for i in range(N)]
RANKERS = {("<b>", 1): A, "b & c": B, "c": A - B}
FEW = {"n_resamples": 19}
MODEL = LogisticRegression()
RANDOM = DummyClassifier(strategy="stratified", random_state=0)

RESULTS = {
    "test": lambda: average_precision_test(Y, A),
    "test of hits": lambda: metric_test(Y, A, metric="recall@9"),
    "test by permutation": lambda: average_precision_test(Y, A, clusters=np.arange(N), **FEW),
    "test of an approximation": lambda: average_precision_test(Y, A, method="normal"),
    "test of one class": lambda: average_precision_test(np.ones(9, int), A[:9]),
    "test over queries": lambda: average_precision_test(Y, A, groups=QUERIES),
    "interval": lambda: metric_interval(Y, A),
    "interval at another prevalence": lambda: metric_interval(
        Y, A, prevalence=0.1, metric="roc_auc"
    ),
    "interval over queries": lambda: metric_interval(Y, A, groups=QUERIES),
    "comparison": lambda: metric_comparison_test(Y, {"A": A, "B": B}, **FEW),
    "comparison without errors": lambda: metric_comparison_test(
        Y, {"A": A, "B": B}, metric="reciprocal_rank", **FEW
    ),
    "comparison over queries": lambda: metric_comparison_test(
        Y, {"A": A, "B": B}, groups=QUERIES, **FEW
    ),
    "verdict": lambda: metric_comparison_test(Y, {"A": A, "B": B}, **FEW).verdict(margin=0.1),
    "several rankers": lambda: metric_multiple_comparison_test(Y, RANKERS),
    "table of values": lambda: values_multiple_comparison_test(RANKERS),
    "leaderboard": lambda: metric_multiple_comparison_test(Y, RANKERS).leaderboard(),
    "groups": lambda: metric_group_comparison_test(
        Y, A, group=QUERIES, metric="roc_auc", method="influence"
    ),
    "two groups": lambda: metric_group_comparison_test(Y, A, group=np.arange(N) % 2, **FEW),
    "candidates": lambda: best_candidate_test(Y, RANKERS, **FEW),
    "outputs": lambda: randomization_test(Y, A > 1, B > 1),
    "random outputs": lambda: randomization_test(Y, A > 1, B > 1, method="permutation", **FEW),
    "hypergeometric": lambda: minimum_hypergeometric_test(Y, A),
    "curve": lambda: top_k_significance_curve(Y, A),
    "curve with limits": lambda: metric_curve(Y, A),
    "items to examine": lambda: items_to_examine(Y, A),
    "threshold": lambda: threshold_interval(Y, A, threshold=0.5),
    "best cut-off": lambda: optimal_cutoff(Y, A, value=5, cost=1),
    "difference of curves": lambda: metric_curve(Y, {"A": A, "B": B}, difference=True),
    "power": lambda: metric_power(N, 12, odds=2.0, n_resamples=20),
    "no power": lambda: metric_power(4, 2, odds=2.0, alpha=0.01),
    "power of a comparison": lambda: metric_comparison_power(
        N, 12, auc_a=0.9, auc_b=0.6, metric="roc_auc", method="delong", n_resamples=5
    ),
    "width": lambda: metric_interval_width(N, 12, auc=0.9, metric="roc_auc", n_resamples=5),
    "folds": lambda: cross_val_significance(MODEL, X, Y, cv=3),
    "refits": lambda: cross_val_significance(MODEL, X, Y, cv=3, method="refit", n_resamples=2),
    "mean over folds": lambda: cross_val_significance(
        FrozenEstimator(MODEL.fit(X, Y)), X, Y, cv=3, method="convolution"
    ),
    "estimators": lambda: cross_val_comparison(MODEL, RANDOM, X, Y, cv=3, **FEW),
    "models": lambda: cross_val_comparison(MODEL, RANDOM, X, Y, cv=3, method="mean").models,
    "algorithms": lambda: (
        cross_val_comparison(MODEL, RANDOM, X, Y, cv=3, method="algorithms").algorithms
    ),
    "search": lambda: search_permutation_test(
        GridSearchCV(MODEL, {"C": [0.1, 1.0]}, cv=2), X, Y, n_resamples=2
    ),
    "report": lambda: rank_significance_report(Y, {"A": A, "B <b>": B}, k=9),
    "ranking of a report": lambda: rank_significance_report(Y, A, k=9).rankers[0],
    "hits of a report": lambda: rank_significance_report(Y, A, k=9).rankers[0].at_k[0],
}
EACH = pytest.mark.parametrize("name", RESULTS)


@pytest.fixture(scope="module")
def results():
    return {}


@pytest.fixture
def result(name, results):
    if name not in results:
        results[name] = RESULTS[name]()
    return results[name]


def classes_below(base):
    found = {base}
    for kind in base.__subclasses__():
        found |= classes_below(kind)
    return {kind for kind in found if not inspect.isabstract(kind)}


def test_every_class_is_here(results):
    here = {type(results.setdefault(name, make())) for name, make in RESULTS.items()}
    known = {kind for kind in classes_below(Result) if fields(kind)}
    assert {kind for kind in known if kind.__module__.startswith("sklearn_rankinf.")} == here


def test_the_api_reference_lists_every_class(results):
    page = (pathlib.Path(__file__).parents[1] / "doc" / "api.rst").read_text()
    for kind in {type(results.setdefault(name, make())) for name, make in RESULTS.items()}:
        # Parts of another result are documented on its page.
        listed = f"   ~{kind.__module__.removeprefix('sklearn_rankinf.')}.{kind.__name__}\n"
        parts = {"ModelComparison", "AlgorithmComparison", "RankerReport", "HitsReport"}
        assert listed in page or kind.__name__ in parts


def test_methods_are_written_once():
    for kind in classes_below(Result) - {Result}:
        again = {"to_dict", "to_frame", "summary", "_repr_html_"} & set(vars(kind))
        # A report is shown as a page.
        assert again == ({"_repr_html_"} if kind is RankSignificanceReport else set())


def test_results_have_at_most_120_methods():
    methods = [
        (kind, name)
        for kind in classes_below(Result)
        for name, _ in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    ]
    assert len(methods) <= 120


def is_plain(value):
    if isinstance(value, dict):
        return all(type(key) is str and is_plain(part) for key, part in value.items())
    if isinstance(value, list):
        return all(map(is_plain, value))
    return value is None or type(value) in (bool, int, float, str)


def same(plain, value):
    """Whether a plain value is that of an attribute."""
    if isinstance(value, Result):
        return plain == value.to_dict()
    if hasattr(value, "_asdict"):
        return all(same(plain[key], part) for key, part in value._asdict().items())
    if isinstance(value, np.ndarray | list | tuple):
        return len(plain) == len(value) and all(map(same, plain, value))
    if isinstance(value, float | np.floating) and not math.isfinite(value):
        return plain is None
    return plain == value or plain == str(value)


@EACH
def test_the_dict_is_complete_and_json(result):
    found = result.to_dict()
    assert is_plain(found)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    names = [field.name for field in fields(result)]
    names += [name for name, _ in inspect.getmembers(type(result), lambda m: hasattr(m, "fget"))]
    for name in names:
        if not name.startswith("_") and name not in ("null_distribution", "ranking", "curve"):
            assert same(found[name], getattr(result, name)), name
    assert not {name for name in found if name.startswith("_")}
    answers = {
        "pvalue",
        "power",
        "mean_width",
        "low",
        "recall_low",
        "algorithms",
        "test",
        "rankers",
    }
    assert answers & set(found)


@EACH
def test_the_frame_is_tidy(result):
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) >= 1
    assert frame.columns.is_unique
    assert not any(isinstance(value, dict) for value in frame.to_numpy().ravel())
    found = result.to_dict()
    # A table of pairs has columns of its own, also of a single one.
    if len(frame) == 1 and "pairs" not in found:
        assert set(frame.columns) <= set(found)
        assert all(same(found[name], frame[name].item()) for name in frame if found[name])


@EACH
def test_a_frame_needs_pandas(result, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_frame needs pandas: pip install .*to_dict"):
        result.to_frame()


@EACH
def test_the_summary_is_made_of_sentences(result):
    lines = result.summary().splitlines()
    assert lines
    assert all(line.endswith(".") and line[0].isupper() for line in lines)
    assert "nan" not in result.summary().replace("z = nan", "")


@EACH
def test_html_is_escaped_and_starts_with_the_summary(result):
    html = result._repr_html_()
    assert "<b>" not in html
    if isinstance(result, RankSignificanceReport):
        return  # a page
    tags = {tag.split()[0] for tag in re.findall(r"<([^>]*)>", html)}
    assert tags <= {
        *("p", "/p", "div", "/div", "span", "/span", "table", "/table", "thead", "/thead"),
        *("tbody", "/tbody", "tr", "/tr", "th", "/th", "td", "/td"),
    }
    first = result.summary().splitlines()[0]
    unescaped = re.sub("<.*?>", "", html).replace("&#x27;", "'").replace("&lt;", "<")
    assert unescaped.replace("&gt;", ">").replace("&amp;", "&").startswith(first)
    assert 2 <= html.count("<tr>") <= 21


@EACH
def test_the_short_description_is_short(result):
    text = repr(result)
    assert text.startswith(f"{type(result).__name__}(")
    assert text.partition("\n")[0].endswith(")")
    assert len(text) < 450
    assert "object at 0x" not in text
    assert "=None" not in text


@EACH
def test_copies_are_equal(result):
    for again in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert type(again) is type(result)
        assert repr(again) == repr(result)
        assert again.to_dict() == result.to_dict()
        assert again.summary() == result.summary()
        null = getattr(again, "null_distribution", None)
        if null is not None:
            assert null.pvalue(0.4) == result.null_distribution.pvalue(0.4)


@EACH
def test_results_are_frozen_and_compared_by_identity(result):
    assert result != copy.copy(result)
    with pytest.raises(FrozenInstanceError):
        setattr(result, fields(result)[0].name, 1)


@EACH
def test_limits_have_one_shape(result):
    if "low" in result.to_dict():
        assert {"low", "high", "confidence_level"} <= set(result.to_dict())
    for method in ("confidence_interval", "pvalue_interval"):
        if not hasattr(result, method) or "one class" in str(result.to_dict()):
            continue
        try:
            found = getattr(result, method)(0.9)
        except ValueError:
            continue
        assert np.all(found.low <= found.high) or np.all(np.isnan(found.low))


def test_a_pvalue_below_the_smallest_float_is_written_out():
    ranks = np.arange(1500)
    result = average_precision_test(ranks < 500, -ranks)
    assert result.pvalue == 0.0
    expected = -math.log10(math.comb(1500, 500))
    mantissa = 10.0 ** (expected - math.floor(expected))
    assert f", pvalue={mantissa:.1f}e{math.floor(expected)}, " in repr(result)


def test_a_long_table_shows_some_rows():
    curve = top_k_significance_curve(np.arange(200) < 20, -np.arange(200))
    html = curve._repr_html_()
    assert html.count("<tr>") == 21
    assert "20 of 200 rows; to_frame returns all." in html
