"""Queries whose labels are permuted together, and p-values adjusted for the number of queries.

Distributions are compared with all labellings, enumerated from the definition: units of rows that
have as many rows in each query, and the same stratum, exchange their labels.
"""

import itertools
import math
import warnings
from collections import Counter, defaultdict
from functools import cache

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from sklearn_rankinf import Bedroc, Ranking, RecallAtK, average_precision_test, metric_test
from sklearn_rankinf._estimation.simultaneous import holm
from sklearn_rankinf._permutation import draws as sampling

Z = 4.5
N_PERMUTATIONS = 9999


def labellings(y_true, groups, units, strata):
    """Every choice, among units of one kind, of as many as are positive."""
    rows, kinds = defaultdict(list), defaultdict(list)
    for row, unit in enumerate(units):
        rows[unit].append(row)
    for own in rows.values():
        queries = Counter(groups[row] for row in own)
        kinds[strata[own[0]], frozenset(queries.items())].append(own)
    options = []
    for own in kinds.values():
        n_positive = sum(int(y_true[unit[0]]) for unit in own)
        options.append(list(itertools.combinations(own, n_positive)))
    for chosen in itertools.product(*options):
        labels = np.zeros(len(y_true), dtype=int)
        for unit in itertools.chain(*chosen):
            labels[unit] = 1
        yield labels


def all_values(y_true, y_score, groups, units=None, strata=None, value=average_precision_score):
    """Value of each query under every labelling."""
    units = range(len(y_true)) if units is None else units
    strata = [0] * len(y_true) if strata is None else strata
    groups = np.asarray(groups)
    members = [np.flatnonzero(groups == query) for query in dict.fromkeys(groups.tolist())]

    @cache  # a query has the same labels in many labellings
    def value_of(query, labels):
        return value(np.array(labels), y_score[members[query]])

    return np.array(
        [
            [value_of(query, tuple(labels[own])) for query, own in enumerate(members)]
            for labels in labellings(y_true, groups.tolist(), units, strata)
        ]
    )


def share(values, x, alternative):
    if alternative == "two-sided":
        return min(1.0, 2.0 * min(share(values, x, "greater"), share(values, x, "less")))
    return np.mean(values >= x - 1e-12 if alternative == "greater" else values <= x + 1e-12)


def step_down(values, observed, alternative, centers, deviations, slack=1e-9):
    """Step-down maxT from its definition: Westfall and Young's algorithm 4.1 with maxima."""
    scaled, own = (values - centers) / deviations, (observed - centers) / deviations
    if alternative == "less":
        scaled, own = -scaled, -own
    if alternative == "two-sided":
        scaled, own = np.abs(scaled), np.abs(own)
    adjusted, smallest = np.empty(own.size), 0.0
    order = np.argsort(-own)
    for i, query in enumerate(order):
        p = np.mean(scaled[:, order[i:]].max(axis=1) >= own[query] - slack)
        smallest = max(smallest, p)
        adjusted[query] = smallest
    return adjusted


def quiet(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return metric_test(*args, **options)


def independent_run(seed=0):
    """Three queries of 6, 5 and 7 rows, mixed, with strata and with clusters that span queries."""
    rng = np.random.default_rng(seed)
    groups = np.array(list("aaaaaabbbbbccccccc"))
    y_score = rng.integers(5, size=18) / 4
    y_true = np.array([1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0])
    strata = np.array(list("xxxyyyxxyyyxxxxyyy"))
    order = rng.permutation(18)
    return y_true[order], y_score[order], groups[order], strata[order]


def clustered_run(seed=0):
    """Clusters within a query and across two of them, of the same and of other compositions."""
    #                 query, cluster, label
    rows = [
        *(("a", 0, 1), ("b", 0, 1), ("a", 1, 0), ("b", 1, 0), ("a", 2, 0), ("b", 2, 0)),
        *(("a", 3, 1), ("a", 4, 0), ("a", 5, 0), ("b", 6, 0), ("b", 7, 1)),
        *(("a", 8, 0), ("a", 8, 0), ("a", 9, 1), ("a", 9, 1)),
        *(("b", 10, 1), ("b", 10, 1), ("a", 10, 1)),
    ]
    rng = np.random.default_rng(seed)
    rows = [rows[i] for i in rng.permutation(len(rows))]
    groups, clusters, y_true = (np.array(column) for column in zip(*rows, strict=True))
    return y_true, rng.integers(9, size=len(rows)) / 4, groups, clusters


def shared_run(seed=0, n=8, n_queries=3):
    rng = np.random.default_rng(seed)
    y_true = np.array([1, 1, 1, 0, 0, 0, 0, 0])[:n]
    scores = rng.integers(6, size=(n_queries, n)) / 4 + rng.normal(size=n) + 0.5 * y_true
    groups = np.repeat(np.arange(n_queries), n)
    return np.tile(y_true, n_queries), scores.ravel(), groups


def shared_problem(restriction):
    y_true, y_score, groups = shared_run()
    sample = np.tile(np.arange(8), 3)
    items = {"clusters": sample}
    strata = {"strata": np.tile(list("xxyxyxyy"), 3)}
    clusters = {"clusters": np.tile([0, 0, 1, 2, 2, 3, 4, 5], 3)}
    if restriction == "none":
        return y_true, y_score, groups, items, {"units": sample}
    if restriction == "strata":
        return y_true, y_score, groups, {**items, **strata}, {"units": sample, **strata}
    if restriction == "clusters":
        return y_true, y_score, groups, clusters, {"units": clusters["clusters"]}
    both = {"strata": np.tile(list("xxyxxxyy"), 3), **clusters}
    return y_true, y_score, groups, both, {"units": both["clusters"], "strata": both["strata"]}


PROBLEMS = {
    "strata": lambda: (
        *independent_run()[:3],
        {"strata": independent_run()[3]},
        {"strata": independent_run()[3]},
    ),
    "clusters": lambda: (
        *clustered_run()[:3],
        {"clusters": clustered_run()[3]},
        {"units": clustered_run()[3]},
    ),
    **{
        f"shared, {name}": lambda name=name: shared_problem(name)
        for name in ("none", "strata", "clusters", "both")
    },
}


@pytest.mark.numeric
@pytest.mark.parametrize(
    ("alternative", "name"),
    [
        pytest.param(alternative, name, marks=[pytest.mark.long] * (index % 3 != kind))
        for kind, alternative in enumerate(["greater", "less", "two-sided"])
        for index, name in enumerate(PROBLEMS)
    ],
)
def test_all_labellings(name, alternative):
    y_true, y_score, groups, options, units = PROBLEMS[name]()
    values = all_values(y_true, y_score, groups, **units)
    assert len(values) >= 6
    result = quiet(y_true, y_score, groups=groups, alternative=alternative, **options)
    assert result.method == "permutation"
    assert result.n_resamples == N_PERMUTATIONS
    # The mean over queries.
    means = values.mean(axis=1)
    null = result.null_distribution
    for x in np.unique(np.round(means, 10)):
        p = np.mean(means >= x - 1e-9)
        error = math.sqrt(p * (1.0 - p) / N_PERMUTATIONS)
        assert abs(null.pvalue(x - 1e-9) - p) <= Z * error + 2e-4
    assert null.mean() == pytest.approx(means.mean(), abs=Z * means.std() / 99)
    assert null.std() == pytest.approx(means.std(), rel=0.05)
    p = share(means, result.statistic, alternative)
    assert abs(result.pvalue - p) <= 2.0 * Z * math.sqrt(p / N_PERMUTATIONS) + 4e-4
    # Each query by itself.
    for query, observed in enumerate(result.query_statistic):
        p = share(values[:, query], observed, alternative)
        error = 0.0 if name == "shared, none" else 2.0 * Z * math.sqrt(p / N_PERMUTATIONS) + 4e-4
        assert abs(result.query_pvalue[query] - p) <= error + 1e-9
    # All of them together.
    # Scales of random labellings differ a little from these.
    of_all = values.mean(axis=0), values.std(axis=0)
    slack = 1e-9 if name == "shared, none" else 0.05
    low, high = (
        np.maximum(
            step_down(values, result.query_statistic, alternative, *of_all, slack=own),
            result.query_pvalue,
        )
        for own in (-slack, slack)
    )
    if slack < 0.01:
        low = high
    error = 2.0 * Z * np.sqrt(high / N_PERMUTATIONS) + 4e-4
    assert np.all(result.query_pvalue_maxt >= low - error)
    assert np.all(result.query_pvalue_maxt <= high + error)
    assert np.all(result.query_pvalue_maxt >= result.query_pvalue)


def reciprocal_rank(labels, scores):
    return 1.0 / (1 + np.argmax(labels[np.argsort(-scores)]))


def ndcg(labels, scores):
    return ndcg_score([labels], [scores])


@pytest.mark.numeric
@pytest.mark.parametrize("name", ["strata", "clusters", "shared, none"])
@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("roc_auc", roc_auc_score),
        ("ndcg", ndcg),
        ("reciprocal_rank", reciprocal_rank),
        ("recall@3", RecallAtK(3)),
        ("bedroc", Bedroc()),
    ],
)
def test_all_labellings_of_other_metrics(metric, value, name):
    y_true, y_score, groups, options, units = PROBLEMS[name]()
    if metric == "reciprocal_rank":
        y_score = y_score + np.random.default_rng(0).permutation(y_score.size) / 100
    values = all_values(y_true, y_score, groups, **units, value=value)
    result = quiet(y_true, y_score, groups=groups, metric=metric, **options)
    means, null = values.mean(axis=1), result.null_distribution
    members = [groups == query for query in result.queries]
    observed = [value(y_true[own], y_score[own]) for own in members]
    assert result.query_statistic == pytest.approx(observed, rel=1e-12)
    assert result.statistic == pytest.approx(np.mean(observed), rel=1e-12)
    for x in np.unique(np.round(means, 10)):
        p = np.mean(means >= x - 1e-9)
        assert abs(null.pvalue(x - 1e-9) - p) <= Z * math.sqrt(p * (1.0 - p) / 9999) + 2e-4
    for query, own in enumerate(result.query_statistic):
        p = share(values[:, query], own, "greater")
        error = 0.0 if name == "shared, none" else Z * math.sqrt(p / N_PERMUTATIONS) + 2e-4
        assert abs(result.query_pvalue[query] - p) <= error + 1e-9


def test_strata_within_one_query_are_those_of_one_ranking():
    rng = np.random.default_rng(3)
    y_true, y_score = rng.permutation(np.arange(80) < 12), rng.normal(size=80)
    strata = np.arange(80) % 3
    one = average_precision_test(y_true, y_score, strata=strata)
    run = average_precision_test(y_true, y_score, groups=[0] * 80, strata=strata)
    assert run.statistic == pytest.approx(one.statistic, rel=1e-12)
    assert abs(run.pvalue - one.pvalue) <= 2.0 * Z * math.sqrt(0.25 / 9999)
    assert run.query_pvalue[0] == run.pvalue == run.query_pvalue_maxt[0]


def test_maxt_of_many_queries_that_agree():
    # The same ranking ten times is one test, and not ten.
    y_true, y_score, _ = shared_run(n=8, n_queries=1)
    groups = np.repeat(np.arange(10), 8)
    result = quiet(
        np.tile(y_true, 10), np.tile(y_score, 10), groups=groups, clusters=np.tile(np.arange(8), 10)
    )
    p = result.query_pvalue[0]
    assert np.all(np.abs(result.query_pvalue_maxt - p) <= Z * math.sqrt(p * (1 - p) / 9999) + 2e-4)
    assert result.query_pvalue_holm == pytest.approx(np.full(10, min(1.0, 10 * p)))


def test_jobs_and_chunks(monkeypatch):
    y_true, y_score, groups = shared_run(n_queries=4)
    options = {"groups": groups, "clusters": np.tile(np.arange(8), 4)}
    monkeypatch.setattr(sampling, "RANKS_PER_CHUNK", 3000)
    one, two = (quiet(y_true, y_score, n_jobs=n_jobs, **options) for n_jobs in (1, 2))
    assert one.pvalue == two.pvalue
    assert one.query_pvalue.tolist() == two.query_pvalue.tolist()
    assert one.query_pvalue_maxt.tolist() == two.query_pvalue_maxt.tolist()


def test_queries_that_cannot_vary():
    y_true = [1, 0, 0, 1, 1, 0, 0, 0, 0]
    groups = list("aaabbbccc")
    scores = [3, 2, 1, 1, 1, 1, 3, 2, 1]
    result = quiet(y_true, scores, groups=groups, strata=[0] * 9)
    assert result.query_pvalue[1:].tolist() == result.query_pvalue_maxt[1:].tolist() == [1.0, 1.0]
    assert abs(result.query_pvalue[0] - 1 / 3) < 0.03
    assert result.query_pvalue_maxt[0] == result.query_pvalue[0]
    assert result.n_queries_without_positives == 1


# P-values adjusted for the number of queries


def of_ranks(ranks, n=100):
    """Queries with one positive among n items: at rank r the p-value is r / n."""
    return [Ranking.from_counts([1] * n, (np.arange(1, n + 1) == rank) * 1) for rank in ranks]


def test_adjusted_pvalues_by_hand():
    result = average_precision_test(of_ranks([2, 50, 1, 3]))
    p = np.array([0.02, 0.5, 0.01, 0.03])
    assert result.query_pvalue == pytest.approx(p, rel=1e-9)
    # Sorted .01, .02, .03, .5: 4/1, 4/2, 4/3 and 4/4 times that, none above a later one.
    assert result.query_pvalue_bh == pytest.approx([0.04, 0.5, 0.04, 0.04], rel=1e-9)
    # Times 1 + 1/2 + 1/3 + 1/4 = 25/12.
    by = [0.04 * 25 / 12, 1.0, 0.04 * 25 / 12, 0.04 * 25 / 12]
    assert result.query_pvalue_by == pytest.approx(by, rel=1e-9)
    # 4, 3, 2 and 1 times that, none below one before: .04, .06, .06, .5.
    assert result.query_pvalue_holm == pytest.approx([0.06, 0.5, 0.04, 0.06], rel=1e-9)
    assert result.query_pvalue_maxt is None
    assert "pvalue_maxt" not in result.to_frame()


def test_queries_without_positives_are_not_counted():
    empty = Ranking.from_counts([1] * 5, [0] * 5)
    with pytest.warns(Warning, match="no positives"):
        result = average_precision_test([*of_ranks([1, 3]), empty])
    assert result.query_pvalue_bh == pytest.approx([0.02, 0.03, 1.0], rel=1e-9)
    assert result.query_pvalue_by == pytest.approx([0.03, 0.045, 1.0], rel=1e-9)
    assert result.query_pvalue_holm == pytest.approx([0.02, 0.03, 1.0], rel=1e-9)


def test_holm_against_its_definition():
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 30):
        p = np.round(rng.random(n) ** 3, 2)  # with ties
        adjusted = holm(p)
        for level in np.unique(np.r_[adjusted[adjusted < 1.0], 0.05, 0.2]):
            # Step down while p <= level / (number left).
            rejected, order = set(), np.argsort(p, kind="stable")
            for i, query in enumerate(order):
                if p[query] * (n - i) > level + 1e-12:
                    break
                rejected.add(int(query))
            assert rejected == set(np.flatnonzero(adjusted <= level + 1e-12).tolist())


def test_columns_with_maxt():
    y_true, y_score, groups = shared_run()
    columns = quiet(y_true, y_score, groups=groups, clusters=np.tile(np.arange(8), 3)).to_frame()
    assert list(columns)[-2:] == ["pvalue_holm", "pvalue_maxt"]


# Errors and warnings


@pytest.mark.parametrize("name", ["strata", "clusters"])
def test_rankings_have_no_rows(name):
    with pytest.raises(TypeError, match=f"{name} needs y_true and y_score"):
        average_precision_test(of_ranks([1, 2]), **{name: [1, 2]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clusters": [0, 0, 1, 1, 2, 2]}, "The labels in cluster 0 differ"),
        (
            {"clusters": [0, 1, 1, 2, 3, 4], "strata": [0, 0, 1, 1, 1, 1]},
            "Cluster 1 lies in several strata",
        ),
        ({"strata": [0, 0, 1]}, "strata must contain the stratum of each of the 6 items"),
        (
            {"strata": [0] * 6, "method": "analytic"},
            "method='analytic' is not available for permutation within strata",
        ),
    ],
)
def test_errors_and_refusals(options, message):
    with pytest.raises(ValueError, match=message):
        quiet([1, 0, 0, 1, 0, 0], range(6), groups=list("aaabbb"), **options)


def test_few_labellings():
    with pytest.warns(UserWarning, match="strata leave 4 different labellings, so that no p-value"):
        average_precision_test(
            [1, 0, 0, 1, 0, 0], range(6), groups=list("aaabbb"), strata=[0, 0, 1, 0, 0, 1]
        )
