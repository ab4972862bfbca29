"""Labels that are shifted along a series, or permuted in blocks of consecutive items.

P-values are compared with those of all labellings, each made by `numpy.roll` or by `itertools` and
evaluated by scikit-learn or by this package's scores.
"""

import itertools
import math
import pickle
import warnings
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from by_name import (
    NAMED,
    average_precision_at_k_test,
    bedroc_test,
    dcg_test,
    enrichment_at_k_test,
    precision_at_k_test,
    rank_statistic_test,
    reciprocal_rank_test,
    rie_test,
)
from combinations import checkered
from scipy import stats
from sklearn.metrics import average_precision_score, dcg_score, roc_auc_score
from sklearn.preprocessing import label_binarize

from sklearn_rankinf import (
    Bedroc,
    EnrichmentAtK,
    Ranking,
    RankStatistic,
    ReciprocalRank,
    RobustInitialEnhancement,
    average_precision_at_k_score,
    metric_test,
    precision_at_k_score,
    recall_at_k_score,
    recall_at_k_test,
)
from sklearn_rankinf._model_selection.scorers import significance_score
from sklearn_rankinf._permutation import draws as sampling
from sklearn_rankinf._permutation.restrictions import Exchange, Shifts

Z = 4.5


class Zipf(RankStatistic):
    """One over the rank."""

    def weights(self, ranks, n_samples, n_positives):
        return 1.0 / ranks


def zipf_score(y_true, y_score):
    order = np.argsort(-y_score)
    return float(np.sum(y_true[order] / np.arange(1, len(y_true) + 1)))


TESTS = {
    "average_precision": (metric_test, average_precision_score, {}),
    "at_k": (average_precision_at_k_test, average_precision_at_k_score, {"k": 4}),
    "roc_auc": (NAMED["roc_auc"].test, roc_auc_score, {}),
    "dcg": (dcg_test, lambda y, s: dcg_score([y], [s]), {}),
    "bedroc": (bedroc_test, Bedroc(), {}),
    "rie": (rie_test, RobustInitialEnhancement(), {}),
    "reciprocal_rank": (reciprocal_rank_test, ReciprocalRank(), {}),
    "recall": (recall_at_k_test, recall_at_k_score, {"k": 4}),
    "precision": (precision_at_k_test, precision_at_k_score, {"k": 4}),
    "enrichment": (enrichment_at_k_test, lambda y, s, k: EnrichmentAtK(k)(y, s), {"k": 4}),
}


def quiet(test, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return test(*args, **options)


def series(n_scores=1000, seed=0, n=24, n_positives=7):
    """Labels, scores and times in an order of rows that is not that of the times."""
    rng = np.random.default_rng(seed)
    y_true = rng.permutation(np.arange(n) < n_positives).astype(int)
    return y_true, rng.integers(n_scores, size=n) / 4, rng.permutation(n) * 3 - 5


def all_shifts(rows, times, strata=None):
    """Rows (for example labels) under every combination of the shifts of the series."""
    rows, times = np.asarray(rows), np.asarray(times)
    strata = np.zeros(len(rows), dtype=int) if strata is None else np.asarray(strata)
    members = [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]
    members = [own[np.argsort(times[own])] for own in members]
    for shifts in itertools.product(*(range(own.size) for own in members)):
        moved = rows.copy()
        for own, shift in zip(members, shifts, strict=True):
            moved[own] = np.roll(rows[own], shift, axis=0)
        yield moved


def blocks_of(times, length, strata=None):
    """Numbers of the blocks of so many consecutive items of each series."""
    strata = np.zeros(len(times), dtype=int) if strata is None else strata
    blocks = np.empty(len(times), dtype=int)
    for stratum in np.unique(strata):
        own = np.flatnonzero(strata == stratum)
        blocks[own] = 1000 * stratum + np.argsort(np.argsort(np.asarray(times)[own])) // length
    return blocks


def all_orders_of_blocks(rows, times, block_length, strata=None):
    """Rows under every order of the blocks of each series, a shorter last one left in place."""
    rows, times = np.asarray(rows), np.asarray(times)
    strata = np.zeros(len(rows), dtype=int) if strata is None else np.asarray(strata)
    choices = []
    for stratum in np.unique(strata):
        own = np.flatnonzero(strata == stratum)
        own = own[np.argsort(times[own])]
        n_blocks = own.size // block_length
        blocks = own[: n_blocks * block_length].reshape(n_blocks, block_length)
        choices.append([(blocks, list(order)) for order in itertools.permutations(range(n_blocks))])
    for chosen in itertools.product(*choices):
        moved = rows.copy()
        for blocks, order in chosen:
            moved[blocks] = rows[blocks[order]]
        yield moved


def share(values, x, alternative="greater"):
    """Share of the values that are at least as extreme as x."""
    values = np.asarray(values)
    return np.mean(values >= x - 1e-12 if alternative == "greater" else values <= x + 1e-12)


# All shifts are counted


@pytest.mark.numeric
@pytest.mark.parametrize(("name", "with_strata"), checkered(TESTS, [False, True]))
@pytest.mark.parametrize(
    ("n_scores", "n_positives"),
    [
        (1000, 7),
        (3, 17),
        *(pytest.param(*case, marks=pytest.mark.long) for case in ((3, 7), (1000, 17))),
    ],
)
def test_pvalue_of_all_shifts(name, n_scores, n_positives, with_strata):
    test, score, arguments = TESTS[name]
    y_true, y_score, times = series(n_scores, n_positives=n_positives)
    strata = ["a" if row % 3 else "b" for row in range(24)] if with_strata else None
    values = [score(y, y_score, **arguments) for y in all_shifts(y_true, times, strata)]
    observed = score(y_true, y_score, **arguments)
    p = {side: share(values, observed, side) for side in ("greater", "less")}
    p["two-sided"] = min(1.0, 2.0 * min(p.values()))
    for alternative, expected in p.items():
        result = quiet(
            test,
            y_true,
            y_score,
            order=times,
            strata=strata,
            alternative=alternative,
            **arguments,
        )
        assert result.pvalue == pytest.approx(expected, rel=1e-12)
        assert result.statistic == pytest.approx(observed, rel=1e-12)
        assert result.method == "permutation"
        # Nothing was drawn, and so there is no Monte Carlo error.
        assert result.n_resamples == result.n_exceedances == result.pvalue_standard_error == 0
        assert result.pvalue_relative_error <= 1e-12
        assert result.pvalue_interval() == pytest.approx((expected, expected), rel=1e-12)
    null = result.null_distribution
    assert null.mean() == pytest.approx(np.mean(values), rel=1e-12)
    assert null.std() == pytest.approx(np.std(values), rel=1e-9)
    assert result.zscore == pytest.approx((observed - np.mean(values)) / np.std(values), rel=1e-9)
    assert pickle.loads(pickle.dumps(null)).pvalue(observed) == null.pvalue(observed)


def test_a_custom_metric():
    y_true, y_score, times = series(10**6)
    values = [zipf_score(y, y_score) for y in all_shifts(y_true, times)]
    result = quiet(rank_statistic_test, y_true, y_score, statistic=Zipf(), order=times)
    assert result.pvalue == pytest.approx(share(values, zipf_score(y_true, y_score)), rel=1e-12)


def test_the_smallest_pvalue_is_one_over_the_number_of_shifts():
    y_true = np.r_[np.ones(10, int), np.zeros(390, int)]
    result = metric_test(y_true, -np.arange(400.0), order=np.arange(400))
    assert result.pvalue == pytest.approx(1 / 400, rel=1e-12)
    assert result.statistic == 1.0


def test_a_periodic_series_has_fewer_labellings():
    y_true = np.tile([1, 0, 0, 0], 30)
    y_score = np.random.default_rng(0).normal(size=120) + y_true * 9.0
    with pytest.warns(UserWarning, match="Circular shifts leave 4 different labellings, so that"):
        result = metric_test(y_true, y_score, order=range(120))
    assert result.pvalue == pytest.approx(1 / 4, rel=1e-12)


@pytest.mark.parametrize(
    ("follow", "method"), [("label", "auto"), ("score", "permutation_of_labels")]
)
def test_weighted(follow, method):
    y_true, y_score, times = series(seed=2)
    weights = np.random.default_rng(3).random(24) + 0.1
    values = []
    for rows in all_shifts(np.column_stack([y_true, weights]), times):
        own = rows[:, 1] if follow == "label" else weights
        values.append(average_precision_score(rows[:, 0], y_score, sample_weight=own))
    found = quiet(
        significance_score,
        y_true,
        y_score,
        output="pvalue",
        method=method,
        sample_weight=weights,
        order=times,
    )
    observed = average_precision_score(y_true, y_score, sample_weight=weights)
    assert found == pytest.approx(share(values, observed), rel=1e-12)


@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
def test_averages_over_classes(average):
    rng = np.random.default_rng(4)
    y_true, scores, times = rng.integers(3, size=20), rng.random((20, 3)), rng.permutation(20)
    labels = label_binarize(y_true, classes=[0, 1, 2])
    values = [
        average_precision_score(y, scores, average=average) for y in all_shifts(labels, times)
    ]
    result = quiet(metric_test, y_true, scores, metric=f"average_precision_{average}", order=times)
    observed = average_precision_score(labels, scores, average=average)
    assert result.pvalue == pytest.approx(share(values, observed), rel=1e-12)


def test_chunks_and_jobs_change_nothing(monkeypatch):
    y_true, y_score, times = series(n=200, n_positives=30)
    expected = metric_test(y_true, y_score, order=times)
    monkeypatch.setattr(sampling, "RANKS_PER_CHUNK", 700)
    for n_jobs in (None, 2):
        found = metric_test(y_true, y_score, order=times, n_jobs=n_jobs)
        assert found.pvalue == expected.pvalue
        assert found.zscore == expected.zscore


@pytest.mark.numeric
def test_more_shifts_than_permutations_are_drawn():
    y_true, y_score, times = series(n=300, n_positives=40)
    exact = metric_test(y_true, y_score, order=times)
    drawn = metric_test(y_true, y_score, order=times, n_resamples=299)
    assert drawn.n_resamples == 299
    assert drawn.pvalue == (drawn.n_exceedances + 1) / 300
    assert abs(drawn.pvalue - exact.pvalue) <= Z * math.sqrt(0.25 / 299)
    # With as many permutations as shifts all are counted.
    assert metric_test(y_true, y_score, order=times, n_resamples=300).pvalue == pytest.approx(
        exact.pvalue, rel=1e-12
    )
    y_true, y_score, times = series(n=40, n_positives=10)
    two = np.arange(40) % 2
    drawn = metric_test(y_true, y_score, order=times, strata=two, n_resamples=399, metric="roc_auc")
    assert drawn.n_resamples == 399
    values = [roc_auc_score(y, y_score) for y in all_shifts(y_true, times, two)]
    expected = share(values, roc_auc_score(y_true, y_score))
    assert abs(drawn.pvalue - expected) <= Z * math.sqrt(expected * (1 - expected) / 399) + 2e-3


def test_stopping_early(monkeypatch):
    monkeypatch.setattr("sklearn_rankinf._null.distribution._N_EXCEEDANCES", 10)
    y_true, y_score, times = series(n=300, n_positives=40)
    options = {"order": times, "method": "sequential"}
    exact = metric_test(y_true, y_score, **options)
    assert exact.pvalue == metric_test(y_true, y_score, order=times).pvalue
    drawn = metric_test(y_true, y_score, n_resamples=250, **options)
    assert drawn.n_exceedances == 10
    assert drawn.pvalue == 10 / drawn.n_resamples


def test_every_shift_is_equally_likely():
    times, strata = np.array([3, 1, 2, 0, 5, 4, 6]), np.array([0, 0, 0, 1, 1, 1, 1])
    shifts = Shifts(strata, times)
    # Row j moves to the place `where[j]`: the rows in the places are the inverse permutation.
    expected = {tuple(np.argsort(rows)) for rows in all_shifts(np.arange(7), times, strata)}
    where = shifts.draw_rows(6000, np.random.default_rng(0))
    found, counts = np.unique(where, axis=0, return_counts=True)
    assert {tuple(rows) for rows in found.tolist()} == expected
    assert stats.chisquare(counts).pvalue > 1e-4
    assert {tuple(rows) for rows in shifts.list_rows(0, 12).tolist()} == expected
    assert shifts.list_rows(0, 1).tolist() == [list(range(7))]


# Blocks


@pytest.mark.numeric
@pytest.mark.parametrize("name", ["average_precision", "roc_auc", "reciprocal_rank", "recall"])
@pytest.mark.parametrize("with_strata", [False, True])
@pytest.mark.parametrize("n_scores", [1000, 3])
def test_pvalue_of_blocks(name, with_strata, n_scores):
    test, score, arguments = TESTS[name]
    y_true, y_score, times = series(n_scores, seed=5, n=17, n_positives=6)
    strata = (np.arange(17) < 9).astype(int) if with_strata else None
    orders = all_orders_of_blocks(y_true, times, 3, strata)
    values = [score(y, y_score, **arguments) for y in orders]
    observed = score(y_true, y_score, **arguments)
    options = {"order": times, "clusters": blocks_of(times, 3, strata), "strata": strata}
    result = quiet(test, y_true, y_score, **options, **arguments)
    assert result.n_resamples == 9999
    x = np.unique(np.round(values, 10))
    p = np.array([share(values, at - 1e-9) for at in x])
    found = result.null_distribution.pvalue(x - 1e-9)
    assert np.all(np.abs(found - p) <= Z * np.sqrt(p * (1 - p) / 9999) + 2e-4)
    expected = share(values, observed)
    assert abs(result.pvalue - expected) <= Z * math.sqrt(expected * (1 - expected) / 9999) + 2e-4


def test_weighted_blocks():
    y_true, y_score, times = series(seed=6, n=13, n_positives=5)
    weights = np.random.default_rng(7).random(13) + 0.1
    rows = np.column_stack([y_true, weights])
    values = [
        average_precision_score(own[:, 0], y_score, sample_weight=own[:, 1])
        for own in all_orders_of_blocks(rows, times, 3)
    ]
    found = quiet(
        significance_score,
        y_true,
        y_score,
        output="pvalue",
        n_resamples=9999,
        sample_weight=weights,
        order=times,
        clusters=blocks_of(times, 3),
    )
    p = share(values, average_precision_score(y_true, y_score, sample_weight=weights))
    assert abs(found - p) <= Z * math.sqrt(p * (1 - p) / 9999) + 2e-4


def test_blocks_of_one_are_random_labelling():
    y_true, y_score, times = series(n=60, n_positives=9)
    exact = metric_test(y_true, y_score).pvalue
    blocks = metric_test(y_true, y_score, order=times, clusters=times)
    assert abs(blocks.pvalue - exact) <= Z * math.sqrt(exact * (1 - exact) / 9999) + 2e-4


def test_every_order_of_blocks_is_equally_likely():
    times = np.array([3, 1, 2, 0, 5, 4, 6])
    blocks = np.array([1, 0, 1, 0, 2, 2, 3])
    expected = {tuple(np.argsort(rows)) for rows in all_orders_of_blocks(np.arange(7), times, 2)}
    exchange = Exchange(np.zeros(7, dtype=int), blocks, times)
    where = exchange.draw_rows(3000, np.random.default_rng(0))
    found, counts = np.unique(where, axis=0, return_counts=True)
    assert {tuple(rows) for rows in found.tolist()} == expected
    assert stats.chisquare(counts).pvalue > 1e-4
    hits = exchange.hit_items(np.isin(np.arange(7), [1, 4]))
    drawn = np.sort(hits.draw(3000, np.random.default_rng(1)), axis=1)
    moved = {tuple(sorted((rows[1], rows[4]))) for rows in expected}
    assert {tuple(rows) for rows in drawn.tolist()} == moved


def test_few_orders_of_blocks():
    y_true = [1, 1, 0, 0, 0, 0, 1]
    with pytest.warns(UserWarning, match="blocks leave 3 different labellings") as caught:
        metric_test(y_true, np.arange(7.0), order=range(7), clusters=[*"aabbccd"])
    assert "1 of 7 items keep their label, because all others in blocks of the same size" in str(
        caught[0].message
    )


# The order of the samples


TIMES = [
    np.arange(24) * 0.5 - 3,
    pd.date_range("2020-01-01", periods=24, freq="D"),
    pd.Series(pd.date_range("2020-01-01", periods=24, freq="D")),
    [datetime(2020, 1, 1) + timedelta(days=day) for day in range(24)],
    np.arange(24).astype("timedelta64[h]"),
    np.arange(24)[:, None],
    iter(range(24)),
]


@pytest.mark.parametrize("times", TIMES, ids=lambda times: type(times).__name__)
def test_kinds_of_times(times):
    y_true, y_score, _ = series()
    expected = quiet(metric_test, y_true, y_score, order=np.arange(24)).pvalue
    assert quiet(metric_test, y_true, y_score, order=times).pvalue == expected


Y, SCORES = [1, 0, 1, 0], [4, 3, 2, 1]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"order": "0123"},
            TypeError,
            "order must contain the time or position of each item; got",
        ),
        (
            {"order": 3},
            TypeError,
            "order must contain the time or position of each item; got 3 of",
        ),
        (
            {"order": [1, 2, 3]},
            ValueError,
            r"order must contain the time or position of each of the 4 items; got an array of "
            r"shape \(3,\)",
        ),
        (
            {"order": ["1", "2", "3", "4"]},
            TypeError,
            "order must contain numbers or times, which can be sorted; got values of type <U1,",
        ),
        (
            {"order": [1.0, 2.0, math.nan, 4.0]},
            ValueError,
            "order is missing in row 2; omit items without order",
        ),
        (
            {"order": np.array(["2020-01-01", "NaT", "2020-01-02", "2020-01-03"], "datetime64[D]")},
            ValueError,
            "order is missing in row 1",
        ),
        (
            {"order": [1, None, 3, 4]},
            TypeError,
            "order must contain numbers or times without missing values",
        ),
        (
            {"order": [1, pd.NA, 3, 4]},
            TypeError,
            "order must contain numbers or times without missing values",
        ),
        (
            {"order": [5, 7, 5, 9]},
            ValueError,
            "order must be different for all items unless strata separate several series; rows 0 "
            "and 2 both have 5",
        ),
        (
            {"order": [5, 7, 6, 7], "strata": [0, 1, 0, 1]},
            ValueError,
            "order must be different for all items within a stratum; rows 1 and 3 both have 7",
        ),
        (
            {"order": [1, 2, 3, 4], "clusters": [*"abab"]},
            ValueError,
            "Cluster 'a' is not a block of consecutive items of one series",
        ),
        (
            {"order": [1, 2, 3, 4], "clusters": [*"abbc"], "strata": [0, 0, 1, 1]},
            ValueError,
            "Cluster 'b' is not a block of consecutive items of one series",
        ),
        (
            {"order": [1, 2, 3, 4], "method": "analytic"},
            ValueError,
            "method='analytic' is not available for permutation within strata, of whole clusters "
            "or along a series",
        ),
    ],
)
@pytest.mark.parametrize("test", [metric_test, NAMED["roc_auc"].test])
def test_errors_and_refusals(test, options, error, message):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.raises(error, match=message):
            test(Y, SCORES, **options)


@pytest.mark.parametrize("test", [metric_test, NAMED["roc_auc"].test])
def test_a_ranking_has_no_order_of_samples(test):
    with pytest.raises(
        TypeError, match="order needs y_true and y_score, because a Ranking contains"
    ):
        test(Ranking.from_scores(Y, SCORES), order=[1, 2, 3, 4])


def test_no_positives():
    result = quiet(metric_test, [0] * 5, range(5), order=range(5))
    assert result.pvalue == 1.0
    assert math.isnan(result.zscore)
