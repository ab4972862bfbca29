"""Tests of means over queries, and what is reported of each query."""

import itertools
import math
import tracemalloc
import warnings
from functools import cache

import numpy as np
import oracles
import pandas as pd
import polars as pl
import pytest
from runs import ALTERNATIVES, RUNS, enumerated, random_run, share
from scipy import signal, stats
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from sklearn_rankinf import (
    Bedroc,
    Ranking,
    RankStatistic,
    RecallAtK,
    average_precision_test,
    mean_average_precision_score,
    metric_interval,
    metric_null_distribution,
    metric_test,
)
from sklearn_rankinf._engine.inversion.contour import ContourInversion
from sklearn_rankinf._metrics import as_metric
from sklearn_rankinf._null import observe_queries
from sklearn_rankinf._significance.queries import QueriesTestResult, read_queries

COLUMNS = (
    "n_samples n_positives statistic pvalue log10_pvalue pvalue_relative_error pvalue_low "
    "pvalue_high pvalue_is_bound pvalue_bh pvalue_by pvalue_holm"
).split()


def rankings_of(name, rng):
    """Random placements in the run."""
    rankings = []
    for m, ties in RUNS[name]:
        ranks = 1 + rng.choice(sum(ties), size=m, replace=False)
        rankings.append(Ranking.from_counts(ties, oracles.hits_per_block(ties, ranks)))
    return rankings


def sklearn_average_precisions(y_true, y_score, groups):
    """By query, in the order in which they first appear."""
    names = list(dict.fromkeys(groups.tolist()))
    chosen = [groups == name for name in names]
    return names, [average_precision_score(y_true[rows], y_score[rows]) for rows in chosen]


@pytest.mark.numeric
@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("name", RUNS)
def test_pvalue_equals_enumeration(name, alternative):
    rng, values = np.random.default_rng(4), enumerated(name)
    for _ in range(5):
        rankings = rankings_of(name, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            result = average_precision_test(rankings, alternative=alternative)
        observed = [
            float(oracles.average_precision(ranking.tie_sizes.tolist(), ranking.hits.tolist()))
            for ranking in rankings
        ]
        assert result.statistic == pytest.approx(np.mean(observed), rel=1e-12)
        assert result.query_statistic == pytest.approx(observed, rel=1e-12)
        expected = share(values, result.statistic, alternative)
        assert result.pvalue == pytest.approx(expected, rel=1e-12)
        assert result.log10_pvalue == pytest.approx(math.log10(expected), rel=1e-11, abs=1e-12)
        if name != "none varies":
            z = (result.statistic - values.mean()) / values.std()
            assert result.zscore == pytest.approx(z, rel=1e-9, abs=1e-9)
            best = np.mean([m > 0 for m, _ in RUNS[name]])
            adjusted = (result.statistic - values.mean()) / (best - values.mean())
            assert result.adjusted_statistic == pytest.approx(adjusted, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("decimals", "alternative"),
    [
        (None, "greater"),
        (None, "less"),
        (1, "two-sided"),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in ((None, "two-sided"), (1, "greater"), (1, "less"))
        ),
    ],
)
def test_queries_are_tested_as_by_themselves(alternative, decimals):
    rng = np.random.default_rng(6)
    y_true, y_score, groups = random_run(rng, [(60, 5), (40, 4), (60, 5), (25, 1)], decimals, 0.8)
    result = average_precision_test(y_true, y_score, groups=groups, alternative=alternative)
    names, expected = sklearn_average_precisions(y_true, y_score, groups)
    assert result.queries == names
    assert result.query_statistic == pytest.approx(expected, rel=1e-12)
    assert result.statistic == pytest.approx(np.mean(expected), rel=1e-12)
    for i, name in enumerate(names):
        rows = groups == name
        one = average_precision_test(y_true[rows], y_score[rows], alternative=alternative)
        assert result.query_pvalue[i] == pytest.approx(one.pvalue, rel=1e-12)
        assert result.query_log10_pvalue[i] == pytest.approx(one.log10_pvalue, rel=1e-11)
        assert result.query_pvalue_relative_error[i] == pytest.approx(one.pvalue_relative_error)
        assert result.query_n_samples[i] == one.n_samples
        assert result.query_n_positives[i] == one.n_positives
    assert (result.n_samples, result.n_positives) == (185, 15)
    assert result.method == "analytic"


def test_score_is_the_mean_of_scikit_learn():
    y_true, y_score, groups = random_run(np.random.default_rng(7), [(30, 3), (9, 9), (50, 2)], 1)
    expected = np.mean(sklearn_average_precisions(y_true, y_score, groups)[1])
    assert mean_average_precision_score(y_true, y_score, groups=groups) == pytest.approx(expected)
    labels = np.where(y_true == 1, "hit", "miss")
    score = mean_average_precision_score(labels, y_score, groups=groups, pos_label="hit")
    assert score == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(4))
def test_false_discovery_rates(seed):
    rng = np.random.default_rng(seed)
    sizes = [(30, 3)] * 6 + [(20, 0)] * 2 + [(40, 4)] * 5
    y_true, y_score, groups = random_run(rng, sizes, effect=1.0)
    with pytest.warns(UndefinedMetricWarning, match="2 of 13 queries have no positives"):
        result = average_precision_test(y_true, y_score, groups=groups)
    tested = result.query_n_positives > 0
    assert tested.sum() == 11
    assert result.n_queries_without_positives == 2
    for method, adjusted in (("bh", result.query_pvalue_bh), ("by", result.query_pvalue_by)):
        expected = stats.false_discovery_control(result.query_pvalue[tested], method=method)
        assert adjusted[tested] == pytest.approx(expected, rel=1e-12)
        assert np.all(adjusted[~tested] == 1.0)
    assert np.all(result.query_pvalue[~tested] == 1.0)
    assert np.all(result.query_statistic[~tested] == 0.0)
    names, values = np.array(result.queries), result.query_statistic
    assert set(names[~tested]) == {6, 7}
    assert result.statistic == pytest.approx(values[tested].sum() / 13)


def test_warning_names_queries_without_positives():
    y_true, y_score = [1, 0] + [0] * 14, list(range(16))
    groups = ["one", "one"] + [f"q{i // 2}" for i in range(14)]
    for function in (average_precision_test, mean_average_precision_score):
        with pytest.warns(UndefinedMetricWarning) as caught:
            function(y_true, y_score, groups=groups)
        messages = [str(w.message) for w in caught]
        assert messages == [
            "7 of 8 queries have no positives in y_true ('q0', 'q1', 'q2', 'q3', 'q4', ...); their "
            "average precision counts as 0."
        ]
        assert caught[0].filename == __file__


def test_no_positives_at_all():
    with pytest.warns(UndefinedMetricWarning, match="2 of 2 queries"):
        result = average_precision_test([0, 0, 0], [1, 2, 3], groups=["a", "a", "b"])
    assert (result.statistic, result.pvalue) == (0.0, 1.0)
    assert math.isnan(result.zscore)
    assert math.isnan(result.adjusted_statistic)
    assert result.query_pvalue.tolist() == result.query_pvalue_bh.tolist() == [1.0, 1.0]


# Queries of all kinds


def numbers_of(result):
    columns = result.to_frame()
    by_query = {
        query: tuple(float(columns[name][i]) for name in COLUMNS)
        for i, query in enumerate(columns["query"])
    }
    return by_query, (result.statistic, result.pvalue, result.zscore)


@pytest.mark.parametrize(
    ("name", "container"),
    [
        (lambda i: f"query {i}", list),
        (lambda i: i, list),
        (lambda i: i, np.array),
        (lambda i: i / 4, np.array),
        (lambda i: (i, "x"), list),
        (lambda i: f"q{i}", np.array),
        (lambda i: f"q{i}", pd.Series),
        (lambda i: f"q{i}", pd.Categorical),
        (lambda i: i, pd.Series),
        (lambda i: i, pl.Series),
        (lambda i: f"q{i}", pl.Series),
        (lambda i: (i,), iter),
        (lambda i: frozenset([i]), tuple),
        (lambda i: pd.Timestamp(2020, 1, 1 + i), pd.Series),
    ],
)
def test_groups_of_any_kind(name, container):
    y_true, y_score, groups = random_run(np.random.default_rng(9), [(20, 3), (9, 1), (20, 3)], 1)
    plain = average_precision_test(y_true, y_score, groups=groups)
    names = [name(i) for i in groups.tolist()]
    result = average_precision_test(y_true, y_score, groups=container(names))
    assert result.queries == list(dict.fromkeys(names))
    expected, overall = numbers_of(plain)
    found, found_overall = numbers_of(result)
    assert found == {name(i): values for i, values in expected.items()}
    assert found_overall == overall
    score = mean_average_precision_score(y_true, y_score, groups=container(names))
    assert score == plain.statistic


@pytest.mark.numeric
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))]
)
def test_order_of_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    y_true, y_score, groups = random_run(rng, [(20, 3), (9, 1), (20, 3), (40, 4)], 1)
    first, overall = numbers_of(average_precision_test(y_true, y_score, groups=groups))
    order = rng.permutation(y_true.size)
    rows = y_true[order], y_score[order]
    again, overall_again = numbers_of(average_precision_test(*rows, groups=groups[order]))
    assert again == first
    assert overall_again == pytest.approx(overall, rel=1e-12)


def test_scores_are_compared_within_a_query_only():
    y_true, y_score, groups = random_run(np.random.default_rng(1), [(20, 3), (9, 2)], 1)
    shifted = y_score + 100.0 * groups
    one = average_precision_test(y_true, y_score, groups=groups)
    other = average_precision_test(y_true, np.exp(shifted / 50.0), groups=groups)
    assert numbers_of(one) == numbers_of(other)


def test_rankings_in_place_of_rows():
    y_true, y_score, groups = random_run(np.random.default_rng(3), [(20, 3), (9, 2), (9, 1)], 1)
    by_rows = average_precision_test(y_true, y_score, groups=groups)
    rankings = {
        name: Ranking.from_scores(y_true[groups == name], y_score[groups == name])
        for name in by_rows.queries
    }
    by_mapping = average_precision_test(rankings)
    assert by_mapping.queries == by_rows.queries
    assert numbers_of(by_mapping) == numbers_of(by_rows)
    for container in (list, tuple):
        by_sequence = average_precision_test(container(rankings.values()))
        assert by_sequence.queries == [0, 1, 2]
        assert by_sequence.pvalue == by_rows.pvalue
        assert np.array_equal(by_sequence.query_pvalue, by_rows.query_pvalue)


def test_labels_with_pos_label():
    y_true, y_score, groups = random_run(np.random.default_rng(3), [(20, 3), (9, 2)])
    labels = np.where(y_true == 1, "match", "other")
    named = average_precision_test(labels, y_score, groups=groups, pos_label="match")
    plain = average_precision_test(y_true, y_score, groups=groups)
    assert numbers_of(named) == numbers_of(plain)


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        (["a", "a", None, "b"], ValueError, "lacks a query in row 2, where it is None"),
        (["a", "a", math.nan, "b"], ValueError, "lacks a query in row 2, where it is nan"),
        (np.array([1.0, np.nan, 1.0, 2.0]), ValueError, "row 1, where it is nan"),
        (pd.Series(["a", pd.NA, "b", "b"], dtype="string"), ValueError, "row 1, where it is <NA>"),
        (pd.to_datetime(["2020", None, "2020", "2020"]), ValueError, "row 1, where it is NaT"),
        (pl.Series([1, None, 1, 2]), ValueError, "lacks a query in row 1, where it is None"),
        ([["a"], "a", "b", "b"], TypeError, r"hashable; got \['a'\] of type list in row 0"),
        (np.array([["a"], ["a"], ["b"], ["b"]]), TypeError, "of type list in row 0"),
        ([np.arange(2)] * 4, TypeError, "hashable; got array.* of type ndarray in row 0"),
        (["a", "a", "b"], ValueError, "each of the 4 items; it has 3 entries"),
        (["a"] * 5, ValueError, "each of the 4 items; it has 5 entries"),
        ([], ValueError, "each of the 4 items; it has 0 entries"),
        (7, TypeError, "must hold the query of each item; got 7 of type int"),
        ("abab", TypeError, "must hold the query of each item; got 'abab' of type str"),
    ],
)
@pytest.mark.parametrize("function", [average_precision_test, mean_average_precision_score])
def test_wrong_groups(groups, error, message, function):
    with pytest.raises(error, match=message):
        function([1, 0, 1, 0], [4, 3, 2, 1], groups=groups)


RANKING = Ranking.from_counts([1, 1], [1, 0])
ROWS = ([1, 0, 1, 0], [4, 3, 2, 1])
PAIRS = {"groups": ["a", "a", "b", "b"]}


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (([1, 0],), {}, TypeError, "y_score is missing"),
        (([1, 0],), {"groups": ["a", "a"]}, TypeError, "groups needs y_true and y_score"),
        ((RANKING,), {"groups": ["a", "a"]}, TypeError, "groups needs y_true and y_score"),
        (([RANKING], [1, 2]), {}, TypeError, "y_score must be left out"),
        (([RANKING],), {"groups": ["a"]}, TypeError, "groups must be left out"),
        (([],), {}, TypeError, "y_score is missing"),
        (({},), {}, TypeError, "y_score is missing"),
        (([RANKING, 3],), {}, TypeError, "y_score is missing"),
        (ROWS, {**PAIRS, "alternative": "more"}, ValueError, "alternative must be"),
        (ROWS, {**PAIRS, "method": "zhang_su"}, ValueError, "mean average precision; got 'zhang"),
        (ROWS, {**PAIRS, "n_resamples": 0}, ValueError, "n_resamples must be at least 1"),
        (
            ROWS,
            {**PAIRS, "clusters": [0, 1, 0, 1], "method": "analytic"},
            ValueError,
            "method='analytic' is not available for permutation within strata, of whole clusters",
        ),
        *(
            (ROWS, {**PAIRS, **option}, ValueError, f"{next(iter(option))} cannot be combined with")
            for option in (
                {"sample_weight": [1, 2, 1, 2]},
                {"order": range(4)},
            )
        ),
        (
            ROWS,
            {**PAIRS, "average": "macro"},
            ValueError,
            r"\('macro'\) is an average over .* use A",
        ),
        (ROWS, {**PAIRS, "method": "sequential"}, ValueError, "mean average precision; got 'seq"),
        (([1, 0, 1], [1, 2]), {"groups": ["a", "a"]}, ValueError, "(?i)y_true.*y_score|length"),
        (([1, 0, 1, 0], [4, 3, math.nan, 1]), PAIRS, ValueError, "y_score must be finite"),
        (([1, 0, 2, 0], [4, 3, 2, 1]), PAIRS, ValueError, "label"),
        ((LogisticRegression(), [1, 0]), PAIRS, TypeError, "got an estimator, .*not a scorer"),
    ],
)
def test_wrong_arguments(arguments, options, error, message):
    test = metric_test if "order" in options else average_precision_test
    with pytest.raises(error, match=message):
        test(*arguments, **options)


def test_score_refuses_an_estimator():
    with pytest.raises(TypeError, match="got an estimator, LogisticRegression"):
        mean_average_precision_score(LogisticRegression(), [1, 0], groups=["a", "a"])


# Permutation, and labels that queries share


def test_permutation_agrees_with_the_exact_test():
    y_true, y_score, groups = random_run(
        np.random.default_rng(5), [(18, 3)] * 3 + [(12, 2)], 1, 0.5
    )
    exact = average_precision_test(y_true, y_score, groups=groups)
    sampled = average_precision_test(y_true, y_score, groups=groups, method="permutation")
    assert sampled.method == "permutation"
    for p, found, error in (
        (exact.pvalue, sampled.pvalue, sampled.pvalue_relative_error),
        *zip(
            exact.query_pvalue,
            sampled.query_pvalue,
            sampled.query_pvalue_relative_error,
            strict=True,
        ),
    ):
        assert found == pytest.approx((round(found * 10_000)) / 10_000, rel=1e-12)
        assert abs(found - p) < 5.0 * math.sqrt(p * (1.0 - p) / 9999) + 2e-4
        assert error == pytest.approx(math.sqrt((1.0 - found) / (found * 9999)), rel=1e-9)
    other = average_precision_test(
        y_true, y_score, groups=groups, method="permutation", random_state=1
    )
    assert np.any(other.query_pvalue != sampled.query_pvalue)


def items(groups):
    """The place of each row in its query, for queries that rank the same items."""
    return np.arange(groups.size) % np.count_nonzero(groups == groups[0])


def shared_run(rng, n_samples, n_positives, n_queries, noise, decimals=None):
    """All queries rank the same items, with scores that have much in common."""
    y_true = rng.permutation(np.arange(n_samples) < n_positives).astype(int)
    common = rng.normal(size=n_samples)
    scores = common + noise * rng.normal(size=(n_queries, n_samples))
    if decimals is not None:
        scores = scores.round(decimals)
    groups = np.repeat(np.arange(n_queries), n_samples)
    return np.tile(y_true, n_queries), scores.ravel(), groups


@cache
def enumerated_shared_runs(decimals):
    """Three small runs, and scikit-learn's mean over the queries for every labelling."""
    rng = np.random.default_rng(12)
    n, m, n_queries = 7, 3, 3
    runs = []
    for _ in range(3):
        run = shared_run(rng, n, m, n_queries, 0.7, decimals)
        scores = run[1].reshape(n_queries, n)
        values = []
        for chosen in itertools.combinations(range(n), m):
            labels = np.isin(np.arange(n), chosen)
            values.append(np.mean([average_precision_score(labels, own) for own in scores]))
        runs.append((*run, values))
    return runs


@pytest.mark.numeric
@pytest.mark.parametrize("decimals", [None, 0])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_shared_labels_equal_enumeration(decimals, alternative):
    for y_true, y_score, groups, values in enumerated_shared_runs(decimals):
        result = average_precision_test(
            y_true, y_score, groups=groups, clusters=items(groups), alternative=alternative
        )
        p = share(np.sort(values), result.statistic, alternative)
        assert result.method == "permutation"
        # Twice as much for a two-sided p-value.
        assert abs(result.pvalue - p) < 8.0 * math.sqrt(p / 9999) + 2e-4
        null = result.null_distribution
        assert null.mean() == pytest.approx(np.mean(values), rel=1e-12)
        assert null.std() == pytest.approx(np.std(values), rel=0.05)
        z = (result.statistic - np.mean(values)) / np.std(values)
        assert result.zscore == pytest.approx(z, rel=0.05, abs=1e-9)


def test_same_scores_in_every_query():
    # Then the mean is the average precision of one query.
    rng = np.random.default_rng(0)
    y_true, y_score, groups = shared_run(rng, 40, 5, 6, 0.0)
    y_score = y_score + 2.0 * y_true
    shared = average_precision_test(
        y_true, y_score, groups=groups, clusters=items(groups), n_resamples=49_999
    )
    alone = average_precision_test(y_true[:40], y_score[:40])
    independent = average_precision_test(y_true, y_score, groups=groups)
    assert shared.statistic == pytest.approx(alone.statistic)
    error = math.sqrt(alone.pvalue * (1.0 - alone.pvalue) / 49_999)
    assert abs(shared.pvalue - alone.pvalue) < 5.0 * error + 2e-5
    # Six queries that say the same six times look like far more.
    assert independent.pvalue < 0.2 * alone.pvalue
    assert independent.zscore == pytest.approx(math.sqrt(6.0) * alone.zscore, rel=1e-9)
    assert (shared.n_samples, shared.n_positives) == (240, 30)
    assert (independent.n_samples, independent.n_positives) == (240, 30)
    # What is stated of each query does not depend on the others.
    for query in range(6):
        assert shared.query_n_samples[query] == 40
        p = independent.query_pvalue[query]
        assert shared.query_pvalue[query] == pytest.approx(p, rel=1e-9)


def test_items_must_have_the_same_label_in_all_queries():
    with pytest.raises(ValueError, match="The labels in cluster 0 differ"):
        average_precision_test(
            [1, 0, 0, 0, 1, 0], range(6), groups=list("aaabbb"), clusters=[0, 1, 2] * 2
        )


# Results


def test_number_of_jobs_does_not_matter():
    y_true, y_score, groups = random_run(np.random.default_rng(5), [(60, 4), (12, 2), (90, 4)], 1)
    for options in ({}, {"method": "permutation", "n_resamples": 2000}):
        one, two = (
            average_precision_test(y_true, y_score, groups=groups, n_jobs=n_jobs, **options)
            for n_jobs in (1, 2)
        )
        assert numbers_of(one) == numbers_of(two)
    rng = np.random.default_rng(1)
    y_true, y_score, groups = shared_run(rng, 30, 4, 3, 1.0)
    one, two = (
        average_precision_test(
            y_true,
            y_score,
            groups=groups,
            clusters=items(groups),
            n_resamples=2000,
            n_jobs=n_jobs,
        )
        for n_jobs in (1, 2)
    )
    assert numbers_of(one) == numbers_of(two)


def test_columns_and_table():
    y_true, y_score, groups = random_run(np.random.default_rng(5), [(60, 4), (12, 2), (90, 4)], 1)
    result = average_precision_test(y_true, y_score, groups=groups)
    table = result.to_frame()
    assert list(table.columns) == ["query", *COLUMNS]
    assert table["query"].tolist() == result.queries
    assert table["query"].dtype == np.int64
    assert len(table) == 3
    for name in COLUMNS:
        assert np.array_equal(table[name], getattr(result, f"query_{name}"))
    pairs = [(i, "x") for i in groups.tolist()]
    table = average_precision_test(y_true, y_score, groups=pairs).to_frame()
    assert table["query"].tolist() == list(dict.fromkeys(pairs))


def test_repr_and_sentence():
    result = average_precision_test(
        {"x": Ranking.from_counts([1] * 4, [1, 0, 0, 0]), "y": Ranking.from_counts([2], [1])}
    )
    # Average precisions 1 and 1/2, of which the second is the only one possible.
    assert repr(result) == (
        "QueriesTestResult(metric=AveragePrecision(), statistic=0.75, "
        "chance=0.5104, pvalue=0.25, zscore=1.647, n_samples=6, n_positives=2, "
        "alternative='greater', method='analytic', queries=['x', 'y'])"
    )
    assert result.summary() == (
        "Mean average precision over 2 queries was 0.75 (chance 0.51, z = 1.65), p = 0.2500 for "
        "better than chance (exact test, one-sided; 2 positives among 6 items)."
    )
    assert isinstance(result, QueriesTestResult)
    for name in ("statistic", "pvalue", "log10_pvalue", "zscore", "adjusted_statistic"):
        assert type(getattr(result, name)) is float
    assert type(result.n_samples) is type(result.n_queries_without_positives) is int


def test_random_generator_as_the_source():
    y_true, y_score, groups = random_run(np.random.default_rng(5), [(60, 4), (12, 2)])
    options = {"groups": groups, "method": "permutation", "n_resamples": 500}
    first, second = (
        average_precision_test(y_true, y_score, random_state=np.random.default_rng(8), **options)
        for _ in range(2)
    )
    assert numbers_of(first) == numbers_of(second)
    with pytest.raises(ValueError, match="random_state"):
        average_precision_test(y_true, y_score, random_state=-1, **options)


# Size


@pytest.mark.numeric
def test_pvalues_of_random_runs_are_uniform(long):
    rng = np.random.default_rng(20)
    sizes = [(60, 3)] * 6 + [(25, 2)] * 5
    null = metric_null_distribution(*zip(*sizes, strict=True))
    values = []
    n_runs = 1000 if long else 120
    for _ in range(n_runs):
        y_true, y_score, groups = random_run(rng, sizes)
        values.append(mean_average_precision_score(y_true, y_score, groups=groups))
    pvalues = null.pvalue(values)
    assert stats.kstest(pvalues, "uniform").pvalue > 1e-3
    limit = 4.0 * math.sqrt(0.05 * 0.95 / n_runs)
    assert 0.0 < np.mean(pvalues <= 0.05) < 0.05 + limit
    assert stats.kstest(null.pvalue(values, "less"), "uniform").pvalue > 1e-3


@pytest.mark.numeric
def test_pvalues_of_queries_of_random_runs():
    rng = np.random.default_rng(22)
    y_true, y_score, groups = random_run(rng, [(25, 3)] * 1500)
    result = average_precision_test(y_true, y_score, groups=groups, method="auto")
    # A single query has atoms: its size is at most the level.
    for level in (0.05, 0.2):
        rejected = np.mean(result.query_pvalue <= level)
        assert level - 0.03 < rejected < level + 5.0 * math.sqrt(level * (1.0 - level) / 1500)
    assert result.query_pvalue_bh.min() > 1e-3
    assert abs(result.zscore) < 5.0


@pytest.mark.numeric
def test_size_with_shared_labels(long):
    rng = np.random.default_rng(21)
    shared, values = [], []
    for _ in range(300 if long else 150):
        y_true, y_score, groups = shared_run(rng, 40, 3, 10, 0.5)
        options = {"groups": groups, "clusters": items(groups), "n_resamples": 199}
        result = average_precision_test(y_true, y_score, **options)
        shared.append(result.pvalue)
        values.append(result.statistic)
    assert stats.kstest(shared, "uniform").pvalue > 1e-3
    # As if they were independent, which they are not, many more than 5% are rejected.
    draws = metric_null_distribution([40] * 10, [3] * 10).rvs(20_000, random_state=0)
    assert np.mean(values >= np.quantile(draws, 0.95)) > 0.12


# Other metrics


def first_hit(labels, scores):
    return 1.0 / (1 + np.argmax(labels[np.argsort(-scores)])) if labels.any() else 0.0


def dcg_of(labels, scores):
    return ndcg_score([labels], [scores]) if np.any(labels) else 0.0


METRICS = {
    "roc_auc": roc_auc_score,
    "ndcg": dcg_of,
    "reciprocal_rank": first_hit,
    "recall@2": RecallAtK(2),
    "bedroc": Bedroc(),
}


def all_labellings(labels):
    """Every order of the labels of a query, or of its grades."""
    return [np.array(own) for own in set(itertools.permutations(labels.tolist()))]


@pytest.mark.numeric
@pytest.mark.parametrize("metric", METRICS)
def test_queries_of_other_metrics_equal_enumeration(metric):
    rng, value = np.random.default_rng(8), METRICS[metric]
    y_true, y_score, groups = random_run(rng, [(6, 2), (5, 1), (6, 3)], effect=1.0)
    result = metric_test(y_true, y_score, metric=metric, groups=groups)
    members = [groups == query for query in result.queries]
    values = [
        [value(labels, y_score[own]) for labels in all_labellings(y_true[own])] for own in members
    ]
    observed = [value(y_true[own], y_score[own]) for own in members]
    assert result.method == "analytic"
    assert result.query_statistic == pytest.approx(observed, rel=1e-12)
    means = np.sort([math.fsum(own) / 3 for own in itertools.product(*values)])
    assert result.pvalue == pytest.approx(share(means, np.mean(observed), "greater"), rel=1e-11)
    alone = [share(np.sort(own), x, "greater") for own, x in zip(values, observed, strict=True)]
    assert result.query_pvalue == pytest.approx(alone, rel=1e-11)
    assert result.to_dict()["pvalue"] == result.pvalue
    assert len(result.to_frame()) == 3
    title = as_metric(metric).title_in_text
    assert result.summary().startswith(f"Mean {title} over 3 queries was")
    by_rankings = metric_test(
        [Ranking.from_scores(y_true[own], y_score[own]) for own in members], metric=metric
    )
    assert by_rankings.pvalue == result.pvalue


@pytest.mark.numeric
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_queries_with_grades_equal_enumeration(alternative):
    grades, scores = np.array([3, 0, 1, 0, 2, 0, 0, 1, 0, 0, 1, 1, 1]), np.arange(13) % 5 / 4
    groups = np.repeat(["a", "b", "c"], [6, 4, 3])
    result = metric_test(
        grades, scores, metric="ndcg", groups=groups, alternative=alternative, n_resamples=4999
    )
    members = [groups == query for query in "abc"]
    values = [
        [dcg_of(labels, scores[own]) for labels in all_labellings(grades[own])] for own in members
    ]
    means = np.sort([math.fsum(own) / 3 for own in itertools.product(*values)])
    observed = [dcg_of(grades[own], scores[own]) for own in members]
    assert result.method == "permutation"
    assert result.query_statistic == pytest.approx(observed, rel=1e-12)
    null = result.null_distribution
    assert null.stats("mv") == pytest.approx((means.mean(), means.var()), rel=1e-9)
    p = share(means, result.statistic, alternative)
    assert abs(result.pvalue - p) <= 10.0 * math.sqrt(p / 4999) + 4e-4
    for query in range(3):
        p = share(np.sort(values[query]), observed[query], alternative)
        assert abs(result.query_pvalue[query] - p) <= 10.0 * math.sqrt(p / 4999) + 4e-4
    with pytest.raises(ValueError, match="not available for NDCG with graded relevance"):
        metric_test(grades, scores, metric="ndcg", groups=groups, method="analytic")
    with pytest.raises(ValueError, match="strata cannot be combined with groups for graded"):
        metric_test(grades, scores, metric="ndcg", groups=groups, strata=np.arange(13) % 2)


def test_grades_of_a_query_without_any():
    grades, scores = [3, 0, 1, 0, 2, 0, 0, 0, 0], np.arange(9.0)
    with pytest.warns(UndefinedMetricWarning, match="1 of 2 queries have no positives"):
        result = metric_test(grades, scores, metric="ndcg", groups=[0] * 6 + [1] * 3)
    assert result.query_pvalue[1] == 1.0
    assert result.query_statistic[1] == 0.0
    one = metric_test(grades[:6], scores[:6], metric="ndcg")
    assert result.statistic == pytest.approx(one.statistic / 2)


def test_the_mean_of_a_custom_metric_is_drawn_and_its_queries_are_exact():
    class Zipf(RankStatistic):
        def weights(self, ranks, n_samples, n_positives):
            return 1.0 / ranks

    metric = Zipf()
    y_true, y_score, groups = random_run(np.random.default_rng(8), [(6, 2), (5, 1), (6, 3)])
    result = metric_test(y_true, y_score, metric=metric, groups=groups)
    assert result.method == "permutation"
    own = groups == result.queries[0]
    alone = metric_test(y_true[own], y_score[own], metric=metric)
    assert result.query_pvalue[0] == alone.pvalue
    assert alone.method == "analytic"


def test_queries_without_negatives_are_named():
    with pytest.warns(UndefinedMetricWarning, match="1 of 2 queries have no negatives"):
        result = metric_test([1, 0, 1, 1], [4, 3, 2, 1], metric="roc_auc", groups=list("aabb"))
    assert result.query_statistic.tolist() == [1.0, 0.0]
    assert result.query_pvalue.tolist() == [0.5, 1.0]


def test_many_queries_of_one_shape_are_tested_as_by_themselves(monkeypatch):
    # At 200 items and 12 positives many values have contours of the paths that carry their tails.
    computed = []
    tail_of_paths = ContourInversion.tail_of_paths

    def spied(self, s, sign):
        found = tail_of_paths(self, s, sign)
        computed.append(np.isfinite(found.error.total).sum())
        return found

    monkeypatch.setattr(ContourInversion, "tail_of_paths", spied)
    monkeypatch.setattr("sklearn_rankinf._significance.queries._MOST_IN_A_JOB", 70)
    rng = np.random.default_rng(0)
    n_queries, n, m = 150, 200, 12
    y_true = np.tile(np.arange(n) < m, n_queries)
    y_score = rng.normal(size=y_true.size) + np.repeat(rng.uniform(0, 2, n_queries), n) * y_true
    groups = np.repeat(np.arange(n_queries), n)
    result = average_precision_test(y_true, y_score, groups=groups)
    assert sum(computed) > 10
    assert len({id(null) for null, _ in result.null_distribution._counts}) == 1
    for i in (0, 1, *np.argsort(result.query_pvalue)[::30]):
        one = average_precision_test(y_true[groups == i], y_score[groups == i])
        assert result.query_log10_pvalue[i] == one.log10_pvalue
        assert result.query_pvalue_relative_error[i] == one.pvalue_relative_error


def test_no_ranking_of_a_query_is_kept():
    n_queries, n = 150, 2000
    rng = np.random.default_rng(0)
    y_true = np.tile(np.arange(n) < 3, n_queries)
    groups, y_score = np.repeat(np.arange(n_queries), n), rng.normal(size=y_true.size)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    _, queries = read_queries(RecallAtK(5), y_true, y_score, groups, pos_label=1)
    observed = observe_queries(queries, RecallAtK(5), method="auto")
    most = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    # Positives, queries, their order and copies of these. Rankings take 16 bytes a row more, and a
    # list of Python integers 16 or more.
    assert most < 25 * y_true.size
    assert len({id(null) for _, null in observed.values()}) == 1


@pytest.mark.parametrize("excess", [1.0, 4.0])
def test_mean_of_thousands_of_queries_with_few_values_equals_convolution(excess):
    # Sums of 9000 numbers of hits have too many additions to be listed one query after the other.
    n_queries, n, m, k = 9000, 100, 10, 5
    metric = f"precision@{k}"
    null = metric_null_distribution([n] * n_queries, [m] * n_queries, metric=metric)
    pmf = stats.hypergeom(n, m, k).pmf(np.arange(k + 1))
    total = np.ones(1)
    for digit in bin(n_queries)[2:]:
        total = signal.fftconvolve(total, total)
        if digit == "1":
            total = signal.fftconvolve(total, pmf)
    hits = math.ceil(n_queries * k * (null.mean() + excess * null.std()))
    x = hits / (n_queries * k)
    error = null.relative_error(x)
    assert error < 1e-3
    assert null.pvalue(x) == pytest.approx(total[hits:].sum(), rel=error + 1e-7)


@pytest.mark.parametrize("function", [metric_test, metric_interval])
@pytest.mark.parametrize(
    ("metric", "labels"), [("precision@3", [1, 0, 0, 1, 0]), ("ndcg@3", [2, 0, 1, 1, 0])]
)
def test_a_query_that_is_shorter_than_the_cut_off_is_named(function, metric, labels):
    message = "Query 'b': k must be between 1 and n_samples=2; got 3: choose a smaller cut-off, or"
    with pytest.raises(ValueError, match=message):
        function(labels, [5, 4, 3, 2, 1], metric=metric, groups=list("aaabb"))
