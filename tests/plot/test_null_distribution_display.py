"""Display of null distributions: drawn values against enumeration and scipy."""

from __future__ import annotations

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from by_name import precision_at_k_test
from pictures import legend_of, position
from scipy import stats
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_validate

from sklearn_rankinf import (
    AveragePrecision,
    NullDistributionDisplay,
    average_precision_test,
    cross_val_significance,
    metric_test,
    recall_at_k_test,
)


@pytest.fixture(scope="module")
def small():
    """Labels and scores without ties of 4 positives among 12."""
    return np.array([1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0]), np.arange(12, 0, -1.0)


@pytest.fixture(scope="module")
def data():
    return make_classification(60, weights=[0.85], class_sep=0.7, random_state=0)


def heights_and_edges(stairs):
    return np.asarray(stairs.get_data().values), np.asarray(stairs.get_data().edges)


def area(stairs):
    heights, edges = heights_and_edges(stairs)
    return float(np.sum(heights * np.diff(edges)))


def values_and_probabilities(lines):
    """Values and heights of vertical lines, which begin at 0."""
    points = np.array(lines.get_segments())
    np.testing.assert_array_equal(points[:, 0, 1], 0.0)
    np.testing.assert_array_equal(points[:, 0, 0], points[:, 1, 0])
    return points[:, 1].T


def test_density_is_that_of_all_placements(small):
    y_true, y_score = small
    values = []
    for hits in itertools.combinations(range(12), 4):
        labels = np.zeros(12, dtype=int)
        labels[list(hits)] = 1
        values.append(average_precision_score(labels, y_score))
    display = NullDistributionDisplay.from_predictions(y_true, y_score, y_axis="density")
    heights, edges = heights_and_edges(display.line_)
    counts, _ = np.histogram(values, edges)
    assert counts.sum() == len(values)
    np.testing.assert_allclose(heights * np.diff(edges), counts / len(values), atol=1e-13)


@pytest.mark.parametrize("alternative", ["greater", "less"])
@pytest.mark.parametrize("n_places", [None, 5])
def test_area_of_the_tail_is_the_pvalue(small, alternative, n_places):
    y_true, y_score = small
    display = NullDistributionDisplay.from_predictions(
        y_true,
        y_score,
        alternative=alternative,
        metric=AveragePrecision(n_places),
        y_axis="density",
    )
    assert area(display.line_) == pytest.approx(1.0, rel=1e-12)
    assert area(display.tail_) == pytest.approx(display.results.pvalue, rel=1e-12)


def test_area_of_the_tail_is_the_pvalue_of_a_continued_distribution():
    y_true = np.repeat([1, 0], [30, 370])
    y_score = y_true * 0.5 + np.random.default_rng(0).normal(size=400)
    display = NullDistributionDisplay.from_predictions(
        y_true, y_score, y_axis="density", yscale="log"
    )
    assert area(display.line_) == pytest.approx(1.0, abs=1e-2)
    # Probability beyond the axis is missing.
    assert 0.9 < area(display.tail_) / display.results.pvalue <= 1.0 + 1e-9


@pytest.mark.parametrize("yscale", ["linear", "log"])
def test_tails_that_cannot_be_seen_are_neither_drawn_nor_computed(yscale, monkeypatch):
    # Two standard deviations below the mean the distribution has a probability of 1e-12.
    y_true = np.repeat([1, 0], [40, 3960])
    y_score = y_true + np.random.default_rng(0).normal(size=4000)
    result = average_precision_test(y_true, y_score)
    null = result.null_distribution
    mean, deviation = null.mean(), null.std()
    requested = []
    for name in ("logcdf", "cdf"):
        tail = getattr(type(null), name)

        def record(self, x, tail=tail):
            requested.append(np.min(x))
            return tail(self, x)

        monkeypatch.setattr(type(null), name, record)
    display = NullDistributionDisplay(result).plot(y_axis="density", yscale=yscale)
    _, edges = heights_and_edges(display.line_)
    rng = np.random.default_rng(1)
    ranks = np.sort([rng.choice(4000, 40, replace=False) + 1 for _ in range(4000)], axis=1)
    sample = np.mean(np.arange(1, 41) / ranks, axis=1)
    assert np.mean(sample < edges[0]) <= 1e-3  # 1e-4, and four standard errors
    assert np.mean(sample < edges[0] + 0.5 * deviation) > 1e-3
    assert min(requested) == pytest.approx(edges[0], abs=1e-6 * deviation)
    assert edges[0] > mean - 2.0 * deviation
    assert edges[-1] > result.statistic if yscale == "log" else edges[-1] <= mean + 7.01 * deviation
    if yscale == "log":
        # The axis ends not far below the density at the observed value.
        assert display.ax_.get_ylim()[0] > 1e-4 * result.pvalue / deviation


@pytest.mark.parametrize(
    ("negated", "side"), [(False, "greater"), (True, "less")], ids=["good", "bad"]
)
def test_two_sided_tail_is_on_the_side_of_the_observed_value(small, negated, side):
    y_true, y_score = small
    y_score = -y_score if negated else y_score
    display = NullDistributionDisplay.from_predictions(
        y_true, y_score, alternative="two-sided", y_axis="density"
    )
    one_sided = average_precision_test(y_true, y_score, alternative=side)
    assert area(display.tail_) == pytest.approx(one_sided.pvalue, rel=1e-12)


@pytest.mark.parametrize(
    ("metric", "test", "divisor"),
    [("recall@5", recall_at_k_test, 4), ("precision@5", precision_at_k_test, 5)],
)
@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_lines_of_hits_at_k_are_hypergeometric(small, metric, test, divisor, alternative):
    y_true, y_score = small
    display = NullDistributionDisplay.from_predictions(
        y_true, y_score, metric=metric, alternative=alternative, y_axis="density"
    )
    values, heights = values_and_probabilities(display.line_)
    hits = values * divisor
    np.testing.assert_allclose(hits, np.rint(hits), atol=1e-8)
    np.testing.assert_allclose(heights, stats.hypergeom(12, 4, 5).pmf(np.rint(hits)), atol=1e-14)
    tail = np.sum(values_and_probabilities(display.tail_)[1])
    side = "less" if alternative == "less" else "greater"
    assert tail == pytest.approx(test(y_true, y_score, k=5, alternative=side).pvalue, rel=1e-12)
    assert display.ax_.get_ylabel() == "Probability"
    assert display.ax_.get_xlabel() == f"{metric.split('@')[0].capitalize()} at 5"


def test_many_hits_are_drawn_in_groups():
    y_true = np.repeat([1, 0], [2000, 6000])
    y_score = y_true * 0.05 + np.random.default_rng(1).normal(size=8000)
    display = NullDistributionDisplay.from_predictions(
        y_true, y_score, metric="recall@4000", y_axis="density"
    )
    heights, edges = heights_and_edges(display.line_)
    hits = edges * 2000
    null = stats.hypergeom(8000, 2000, 4000)
    np.testing.assert_allclose(
        heights * np.diff(edges), np.diff(null.cdf(np.rint(hits) - 1)), atol=1e-11
    )
    assert area(display.tail_) == pytest.approx(display.results.pvalue, rel=1e-3)


def test_ties_across_rank_k_are_drawn_as_a_density(small):
    y_true, _ = small
    y_score = np.repeat([3.0, 2.0, 1.0], [2, 5, 5])
    values = []
    for hits in itertools.combinations(range(12), 4):
        before = sum(hit < 2 for hit in hits)
        values.append((before + sum(2 <= hit < 7 for hit in hits) * 2 / 5) / 4)
    display = NullDistributionDisplay.from_predictions(
        y_true, y_score, metric="recall@4", y_axis="density"
    )
    heights, edges = heights_and_edges(display.line_)
    counts, _ = np.histogram(values, edges)
    np.testing.assert_allclose(heights * np.diff(edges), counts / len(values), atol=1e-13)
    assert area(display.tail_) == pytest.approx(display.results.pvalue, rel=1e-12)
    assert display.ax_.get_ylabel() == "Density"


def test_lines_are_where_they_should_be(small):
    y_true, y_score = small
    display = NullDistributionDisplay.from_predictions(y_true, y_score, y_axis="density")
    assert position(display.observed_line_) == pytest.approx(
        average_precision_score(y_true, y_score)
    )
    assert position(display.chance_level_) == display.results.null_distribution.mean()
    x, height = display.normal_line_.get_data()
    null = display.results.null_distribution
    np.testing.assert_allclose(height, stats.norm(null.mean(), null.std()).pdf(x))
    assert display.histogram_ is None
    assert display.figure_ is display.ax_.figure
    assert display.ax_.get_xlabel() == "Average precision"


def test_axis_holds_distribution_and_observed_value():
    y_true = np.repeat([1, 0], [20, 480])
    display = NullDistributionDisplay.from_predictions(y_true, y_true + 0.0)
    low, high = display.ax_.get_xlim()
    assert low < position(display.chance_level_) < position(display.observed_line_) == 1.0 < high


def test_legend_states_the_result(small):
    y_true, y_score = small
    display = NullDistributionDisplay.from_predictions(y_true, y_score, name="mine")
    result = display.results
    assert display.text_.get_text() == f"{result.statistic:.3g}, p = {result.pvalue:.4f}"
    assert legend_of(display) == [
        "mine",
        "exact null distribution",
        "normal, same mean and sd",
        f"chance level ({result.null_distribution.mean():.3g})",
    ]
    display.plot(name="other", plot_normal=False, plot_chance_level=False)
    assert legend_of(display)[0] == "other"
    assert len(legend_of(display)) == 2
    assert display.normal_line_ is None
    assert display.chance_level_ is None
    at_k = NullDistributionDisplay.from_predictions(y_true, y_score, metric="average_precision@5")
    assert legend_of(at_k)[0] == "observed"
    assert at_k.ax_.get_xlabel() == "Average precision at 5"


def test_pvalue_that_underflows_is_written_and_drawn():
    display = NullDistributionDisplay.from_predictions(
        np.repeat([1, 0], [400, 3600]), np.arange(4000, 0, -1), metric="recall@400"
    )
    # One perfect placement in all: log10 of the binomial coefficient of 4000 over 400.
    orders = np.sum(np.log10(np.arange(3601, 4001) / np.arange(1, 401)))
    assert display.results.pvalue == 0.0
    text = display.text_.get_text()
    assert text.startswith("1, p = ")
    assert int(text.split("e-")[1]) == int(np.ceil(orders))
    assert display.point_.get_ydata()[0] == pytest.approx(-orders)
    assert display.line_.get_ydata()[-1] == pytest.approx(-orders)
    assert display.ax_.get_ylabel() == "Probability of a value as large (log10)"


def test_histogram_is_of_random_labellings(small):
    y_true, y_score = small
    display = NullDistributionDisplay(average_precision_test(y_true, y_score, method="normal"))
    display.plot(y_axis="density", n_resamples=1000, random_state=3)
    assert display.normal_line_ is None
    heights, edges = heights_and_edges(display.histogram_)
    shares = heights * np.diff(edges)
    assert shares.sum() == pytest.approx(1.0)
    lowest = average_precision_score(np.repeat([0, 1], [8, 4]), y_score)
    assert shares[edges[1:] < lowest].sum() == 0.0  # where the normal distribution has probability
    rng = np.random.default_rng(0)
    again = [average_precision_score(rng.permutation(y_true), y_score) for _ in range(300)]
    mean = np.sum(shares * (edges[1:] + edges[:-1]) / 2)
    assert mean == pytest.approx(
        np.mean(again), abs=5 * np.std(again) * np.sqrt(1 / 300 + 1 / 1000)
    )
    assert "1000 random labellings" in legend_of(display)


def test_permutation_distribution_is_its_own_histogram(small):
    display = NullDistributionDisplay.from_predictions(
        *small, method="permutation", y_axis="density"
    )
    assert area(display.line_) == pytest.approx(1.0)
    assert legend_of(display)[1] == "null distribution from random labellings"


def test_statistic_that_cannot_vary_is_one_line():
    display = NullDistributionDisplay.from_predictions([0, 1, 1, 0], [1, 1, 1, 1], y_axis="density")
    np.testing.assert_allclose(values_and_probabilities(display.line_), [[0.5], [1.0]])
    np.testing.assert_allclose(values_and_probabilities(display.tail_), [[0.5], [1.0]])
    assert display.normal_line_ is None


def test_folds_of_hits_at_k_are_densities(data):
    X, y = data
    cv_results = cross_validate(
        LogisticRegression(), X, y, cv=2, return_estimator=True, return_indices=True
    )
    display = NullDistributionDisplay.from_cv_results(
        cv_results, X, y, metric="precision@0.1", name=["first", "second"], y_axis="density"
    )
    assert [text.split(":")[0] for text in legend_of(display)[:2]] == ["first", "second"]
    assert display.ax_.get_ylabel() == "Density"
    for stairs in display.line_:
        assert area(stairs) == pytest.approx(1.0, abs=1e-2)
    assert display.tail_ is display.normal_line_ is display.histogram_ is None


def test_classes_are_drawn_as_several_results():
    rng = np.random.default_rng(0)
    y_true = rng.integers(3, size=30)
    result = average_precision_test(y_true, rng.normal(size=(30, 3)))
    display = NullDistributionDisplay({"ranker": result}).plot()
    assert legend_of(display)[:3] == [
        f"ranker: {c}: {one.statistic:.3g}, p = {one.pvalue:.4f}" for c, one in result.items()
    ]
    observed = [position(line) for line in display.observed_line_]
    np.testing.assert_allclose(observed, [one.statistic for one in result.values()])


def test_wrong_options_are_refused(small):
    display = NullDistributionDisplay(average_precision_test(*small))
    with pytest.raises(ValueError, match="y_axis must be one of 'tail', 'density'; got 'cdf'"):
        display.plot(y_axis="cdf")
    with pytest.raises(ValueError, match="yscale must be one of 'linear', 'log'; got 'symlog'"):
        display.plot(yscale="symlog")
    with pytest.raises(ValueError, match="n_resamples must be at least 0; got -1"):
        display.plot(n_resamples=-1)
    with pytest.raises(TypeError, match=r"n_resamples must be an integer; got 2\.5"):
        display.plot(n_resamples=2.5)
    with pytest.raises(ValueError, match="did you mean 'f_score@50'"):
        NullDistributionDisplay.from_predictions(*small, metric="f1")
    with pytest.raises(ValueError, match="recall needs a cut-off: metric='recall@50'"):
        NullDistributionDisplay.from_predictions(*small, metric="recall")
    assert plt.get_fignums() == []


# P-values of each value.


def all_values(y_true, metric):
    """Values of all placements of the positives in a list without ties, by scikit-learn."""
    n, m = y_true.size, int(y_true.sum())
    values = []
    for hits in itertools.combinations(range(n), m):
        labels = np.zeros(n, dtype=int)
        labels[list(hits)] = 1
        if metric == "average_precision":
            values.append(average_precision_score(labels, -np.arange(n)))
        else:
            values.append(labels[:5].sum() / m)
    return np.array(values)


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize("metric", ["average_precision", "recall@5"])
def test_tail_is_the_share_of_placements_as_extreme(small, metric, alternative):
    display = NullDistributionDisplay.from_predictions(
        *small, metric=metric, alternative=alternative
    )
    values = all_values(small[0], metric)
    x, y = display.line_.get_data()
    # Values of the curve are not known to be values of a placement: equal ones have a margin.
    above = np.mean(values >= x[:, None] - 1e-12, axis=1)
    below = np.mean(values <= x[:, None] + 1e-12, axis=1)
    expected = {
        "greater": above,
        "less": below,
        "two-sided": np.minimum(1.0, 2.0 * np.minimum(above, below)),
    }[alternative]
    inside = np.min(np.abs(values - x[:, None]), axis=1)
    far = (inside < 1e-12) | (inside > 1e-8)
    assert far.sum() >= 5
    np.testing.assert_allclose(y[far], expected[far], rtol=1e-9)
    assert display.ax_.get_yscale() == "log"
    observed, _ = display.point_.get_xdata()
    assert display.point_.get_ydata() == pytest.approx([display.results.pvalue] * 2)
    at = np.argmin(np.abs(x - observed))
    assert x[at] == pytest.approx(observed, abs=1e-8)
    assert y[at] == pytest.approx(display.results.pvalue, rel=1e-9)


def test_tail_of_a_long_list_is_close_to_that_of_scipy():
    # A p-value of this list may take long, so that few are computed. ROC AUC is close to normal.
    n, m = 10_000, 1_000
    y_true = np.arange(n) < m
    y_score = np.random.default_rng(0).normal(size=n) + 0.1 * y_true
    display = NullDistributionDisplay.from_predictions(y_true, y_score, metric="roc_auc")
    result, (x, y) = display.results, display.line_.get_data()
    exact = result.null_distribution.log_pvalue(x) / np.log(10.0)
    np.testing.assert_allclose(np.log10(y), exact, atol=0.02)
    deviation = np.sqrt((n + 1) / (12 * m * (n - m)))
    body = np.abs(x - 0.5) < 3.0 * deviation
    normal = stats.norm(0.5, deviation).sf(x[body])
    np.testing.assert_allclose(y[body], normal, rtol=0.02)
    at = np.argmin(np.abs(x - result.statistic))
    assert y[at] == pytest.approx(result.pvalue, rel=1e-9)


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_random_labellings_have_pvalues(small, alternative):
    display = NullDistributionDisplay.from_predictions(*small, alternative=alternative)
    display.plot(n_resamples=4000)
    x, y = display.histogram_.get_data()
    exact = display.results.null_distribution.pvalue(x, alternative)
    error = 5.0 * np.sqrt(exact * 2.0 / 4000) + 1e-3
    assert np.all(np.abs(y - exact) <= error)


def test_normal_tail_is_that_of_scipy(small):
    display = NullDistributionDisplay.from_predictions(*small)
    x, y = display.normal_line_.get_data()
    null = display.results.null_distribution
    np.testing.assert_allclose(y, stats.norm(null.mean(), null.std()).sf(x))


def test_linear_scale_of_pvalues(small):
    display = NullDistributionDisplay.from_predictions(*small, yscale="linear")
    assert display.ax_.get_yscale() == "linear"
    assert display.ax_.get_ylim()[0] == 0.0


@pytest.mark.parametrize(
    ("metric", "options", "label"),
    [
        ("roc_auc", {}, "ROC AUC"),
        ("dcg", {}, "DCG"),
        ("ndcg", {}, "NDCG"),
        ("bedroc", {}, "BEDROC"),
        ("rie", {}, "RIE"),
        ("reciprocal_rank", {}, "Reciprocal rank"),
        ("enrichment@5", {}, "Enrichment at 5"),
    ],
)
def test_axis_names_the_metric(small, metric, options, label):
    y_true, y_score = small
    display = NullDistributionDisplay.from_predictions(y_true, y_score, metric=metric, **options)
    assert display.ax_.get_xlabel() == label


def test_mean_over_queries_is_drawn(small):
    y_true, y_score = small
    result = average_precision_test(y_true, y_score, groups=np.tile([0, 1], 6))
    display = NullDistributionDisplay(result).plot()
    assert display.ax_.get_xlabel() == "Mean average precision"
    assert position(display.observed_line_) == pytest.approx(result.statistic, rel=1e-12)


def test_folds_of_a_result_are_drawn(data):
    X, y = data
    result = cross_val_significance(LogisticRegression(), X, y, cv=3)
    display = NullDistributionDisplay(result.fold_tests, name=["a", "b", "c"]).plot()
    assert [entry.split(":")[0][:1] for entry in legend_of(display)[:3]] == ["a", "b", "c"]


@pytest.mark.parametrize("metric", ["average_precision", "ndcg"])
def test_the_curve_is_close_to_the_pvalues_down_to_a_perfect_ranking(metric):
    result = metric_test(np.arange(300) < 20, -np.arange(300.0), metric=metric)
    x, y = NullDistributionDisplay(result).plot().line_.get_data()
    exact = result.null_distribution.log_pvalue(x[::6]) / np.log(10.0)
    assert exact.min() < -30.0
    # Thirds of a decade are not visible, one percent of the axis.
    np.testing.assert_allclose(np.log10(y[::6]), exact, rtol=0, atol=0.3)
