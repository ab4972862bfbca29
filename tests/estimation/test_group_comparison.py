"""One ranker on different items, against enumeration of all permutations and formulas by hand."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from joblib import parallel_config
from scipy import stats
from sklearn.metrics import average_precision_score, roc_auc_score

from sklearn_rankinf import (
    Ranking,
    average_precision_at_k_score,
    metric_group_comparison_test,
    metric_interval,
    recall_at_k_score,
)
from sklearn_rankinf._estimation.group_comparison import GroupSampler, _Groups
from sklearn_rankinf._metrics import as_metric
from sklearn_rankinf._permutation import DesignWarning
from sklearn_rankinf._ranking import Sample

FEW = {"n_resamples": 19}


def data(sizes, seed=0, n_levels=None):
    """Labels, scores and names of groups with these numbers of positives and items."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n) < m for m, n in sizes])
    scores = rng.normal(size=y.size) + 1.2 * y
    if n_levels is not None:
        scores = np.digitize(scores, np.linspace(-1.0, 2.0, n_levels - 1))
    return (
        y.astype(int),
        scores,
        np.repeat([f"g{i}" for i in range(len(sizes))], [n for _, n in sizes]),
    )


# Independent formulas.


def delong(y, scores):
    """ROC AUC and DeLong's variance from all pairs of a positive and a negative."""
    wins = (np.sign(scores[y == 1][:, None] - scores[y == 0]) + 1.0) / 2.0
    of_positives, of_negatives = wins.mean(axis=1), wins.mean(axis=0)
    variance = np.var(of_positives, ddof=1) / of_positives.size
    return wins.mean(), variance + np.var(of_negatives, ddof=1) / of_negatives.size


def weighted_average_precision(y, scores):
    """Scikit-learn's value, and the variance of its derivatives by the weights."""
    value, step, derivatives = average_precision_score(y, scores), 1e-5, np.empty(y.size)
    for item in range(y.size):
        up, down = np.ones((2, y.size))
        up[item] += step
        down[item] -= step
        more, less = (average_precision_score(y, scores, sample_weight=w) for w in (up, down))
        derivatives[item] = (more - less) / (2.0 * step)
    parts = (derivatives[y == label] for label in (0, 1))
    return value, sum(np.var(part, ddof=1) * part.size for part in parts)


def statistic(first, second, on_g_scale):
    """Difference over its standard error; 0 if that is 0."""
    (a, v), (b, w) = first, second
    if on_g_scale and max(a, b) < 1.0:
        v, w = (variance / (value * math.log(value)) ** 2 for value, variance in (first, second))
        a, b = (-math.log(-math.log(value)) for value in (a, b))
    error = math.sqrt(v + w)
    return 0.0 if error < 1e-9 else (a - b) / error


def all_groupings(y, codes):
    """All numbers of groups of the items that keep the numbers of positives and negatives."""

    def of_class(items, counts):
        if len(counts) == 1:
            yield {item: len(total) - 1 for item in items}
            return
        for chosen in combinations(items, counts[0]):
            rest = [item for item in items if item not in chosen]
            for other in of_class(rest, counts[1:]):
                yield {**dict.fromkeys(chosen, len(total) - len(counts)), **other}

    total = np.bincount(codes)
    classes = []
    for label in (0, 1):
        counts = np.bincount(codes[y == label], minlength=total.size).tolist()
        classes.append(list(of_class(np.flatnonzero(y == label).tolist(), counts)))
    for one, other in product(*classes):
        both = {**one, **other}
        yield np.array([both[item] for item in range(y.size)])


def groups_of(metric, y, scores, group):
    sample = Sample.read(y, scores)
    return _Groups.of(as_metric(metric), sample, group, None)


SCORES = {
    "distinct": [9.0, 4.0, 7.0, 1.0, 6.0, 8.0, 5.0, 3.0, 2.0, 0.0],
    "ties": [3, 1, 2, 0, 2, 3, 2, 1, 0, 0],
    "saturated": [5, 5, 5, 1, 5, 5, 0, 0, 0, 0],
}
Y = np.array([1, 1, 0, 0, 0, 1, 1, 1, 0, 0])
CODES = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])


@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
@pytest.mark.filterwarnings("ignore:Permutations of the groups")
def test_all_permutations(scores):
    """Each statistic, its permutations and the p-values are those of the listed permutations."""
    scores = np.array(scores, dtype=float)
    rows = np.array(list(all_groupings(Y, CODES)))
    assert len(rows) == math.comb(5, 2) ** 2
    expected = np.array(
        [statistic(*(delong(Y[row == g], scores[row == g]) for g in (0, 1)), False) for row in rows]
    )
    groups = groups_of("roc_auc", Y, scores, CODES)
    sampler = GroupSampler.of(groups, "greater")
    found = sampler.statistics(rows)[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    # Random permutations are uniform on the list: chi-squared with 99 degrees of freedom.
    drawn = groups.codes[sampler.exchange.draw_rows(5000, np.random.default_rng(0))]
    where = {row.tobytes(): i for i, row in enumerate(rows)}
    counts = np.bincount([where[row.tobytes()] for row in drawn], minlength=len(rows))
    assert stats.chisquare(counts).pvalue > 1e-4
    observed = expected[where[CODES.tobytes()]]
    for alternative, extreme in (("two-sided", abs), ("greater", float), ("less", np.negative)):
        exact = np.mean([extreme(t) >= extreme(observed) - 1e-9 for t in expected])
        result = metric_group_comparison_test(
            Y,
            scores,
            group=CODES,
            metric="roc_auc",
            method="permutation",
            alternative=alternative,
            n_resamples=999,
        )
        tolerance = 4.0 * math.sqrt(exact * (1.0 - exact) / 999) + 1.0 / 1000
        assert abs(result.pvalue[0] - exact) <= tolerance


@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
def test_statistic_of_average_precision(scores):
    scores = np.array(scores, dtype=float)
    # At equal sizes groups are compared as they are, by scikit-learn's value.
    y, codes = np.tile([1, 1, 0, 0], 2), np.repeat([0, 1], 4)
    scores, rows = scores[:8], np.array(list(all_groupings(y, codes)))
    expected = [
        statistic(
            *(weighted_average_precision(y[row == g], scores[row == g]) for g in (0, 1)), True
        )
        for row in rows
    ]
    sampler = GroupSampler.of(groups_of("average_precision", y, scores, codes), "greater")
    np.testing.assert_allclose(sampler.statistics(rows)[:, 0], expected, rtol=1e-6, atol=1e-6)


def test_three_groups_against_the_list():
    """Single-step maxT: the largest statistic of all pairs, over all permutations."""
    y, codes = np.tile([1, 1, 0, 0], 3), np.repeat([0, 1, 2], 4)
    scores = np.array([9, 5, 4, 2, 8.5, 7, 3, 7.5, 1, 6, 8, 0], dtype=float)
    pairs = [(0, 1), (0, 2), (1, 2)]
    known = {}

    def moments(rows):
        if rows not in known:
            known[rows] = delong(y[list(rows)], scores[list(rows)])
        return known[rows]

    listed, observed = [], None
    for row in all_groupings(y, codes):
        parts = [moments(tuple(np.flatnonzero(row == g).tolist())) for g in range(3)]
        listed.append([abs(statistic(parts[i], parts[j], False)) for i, j in pairs])
        if np.array_equal(row, codes):
            observed = np.array(listed[-1])
    listed = np.array(listed)
    result = metric_group_comparison_test(
        y, scores, group=codes, metric="roc_auc", method="permutation", n_resamples=1499
    )
    assert result.pairs.tolist() == [list(pair) for pair in pairs]
    for name, drawn in (
        ("pvalue", listed.max(axis=1, keepdims=True)),
        ("pvalue_unadjusted", listed),
    ):
        exact = np.mean(drawn >= observed - 1e-9, axis=0)
        tolerance = 4.0 * np.sqrt(exact * (1.0 - exact) / 1499) + 1.0 / 1500
        assert np.all(np.abs(getattr(result, name) - exact) <= tolerance)


# Values, limits and p-values by hand.


@pytest.mark.parametrize("n_levels", [None, 5])
def test_values_are_those_of_each_group(n_levels):
    y, scores, group = data([(20, 100), (40, 200)], n_levels=n_levels)
    parts = [(y[group == name], scores[group == name]) for name in ("g0", "g1")]
    for metric, value_of in (
        ("average_precision", average_precision_score),
        ("roc_auc", roc_auc_score),
        ("recall@0.1", lambda y, s: recall_at_k_score(y, s, k=0.1)),
    ):
        result = metric_group_comparison_test(y, scores, group=group, metric=metric, **FEW)
        expected = [value_of(*part) for part in parts]
        np.testing.assert_allclose(result.statistic, expected, rtol=1e-12)
        assert result.difference[0] == pytest.approx(expected[0] - expected[1])
        assert result.prevalence is None
        assert result.group_n_samples.tolist() == [100, 200]
        assert result.group_n_positives.tolist() == [20, 40]


def test_average_precision_at_the_common_prevalence():
    """The mean over positives of weighted positives above, over these and negatives above."""
    y, scores, group = data([(60, 300), (60, 500)])
    result = metric_group_comparison_test(y, scores, group=group, **FEW)
    assert result.prevalence == pytest.approx(120 / 800)
    given = metric_group_comparison_test(y, scores, group=group, prevalence=120 / 800, **FEW)
    np.testing.assert_array_equal(given.pvalue, result.pvalue)
    for name, value in zip(result.names, result.statistic, strict=True):
        positives, negatives = (scores[(group == name) & (y == label)] for label in (1, 0))
        weight = 0.15 / 0.85 * negatives.size / positives.size
        above = np.array([np.sum(positives >= s) for s in positives])
        misses = np.array([np.sum(negatives >= s) for s in positives])
        expected = np.mean(weight * above / (weight * above + misses + 0.5))
        assert value == pytest.approx(expected, rel=1e-12)
        alone = metric_interval(y[group == name], scores[group == name], prevalence=0.15)
        assert alone.statistic == pytest.approx(value)
    assert "at a prevalence of 0.15 was" in result.summary()


@pytest.mark.parametrize("metric", ["average_precision", "roc_auc", "recall@0.1", "bedroc"])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_limits_are_mover_of_independent_intervals(metric, n_groups):
    y, scores, group = data([(20, 100)] * n_groups)
    result = metric_group_comparison_test(
        y, scores, group=group, metric=metric, method="influence", confidence_level=0.9
    )
    level = 0.9 if n_groups == 2 else 1.0 - 0.1 / 3
    alone = [
        metric_interval(y[group == g], scores[group == g], metric=metric, confidence_level=level)
        for g in result.names
    ]
    for pair, (i, j) in enumerate(result.pairs):
        a, b = alone[i], alone[j]
        difference = a.statistic - b.statistic
        below = math.hypot(a.statistic - a.low, b.high - b.statistic)
        above = math.hypot(a.high - a.statistic, b.statistic - b.low)
        assert result.difference[pair] == pytest.approx(difference)
        assert result.low[pair] == pytest.approx(difference - below)
        assert result.high[pair] == pytest.approx(difference + above)
        error = math.hypot(a.standard_error, b.standard_error)
        assert result.standard_error[pair] == pytest.approx(error)


def test_influence_is_a_t_test_with_holms_adjustment():
    y, scores, group = data([(20, 100), (30, 90), (40, 100)])
    parts = []
    for name, m, n0 in (("g0", 20, 80), ("g1", 30, 60), ("g2", 40, 60)):
        value, variance = delong(y[group == name], scores[group == name])
        # Newcombe's variance of ROC AUC, method 5; the mean of both unless DeLong's is larger.
        half = (m + n0) / 2.0 - 1.0
        of_value = 1.0 + half * (1.0 - value) / (2.0 - value) + half * value / (1.0 + value)
        of_value *= value * (1.0 - value) / (m * n0)
        variance = max((variance + of_value) / 2.0, variance) / (value * (1.0 - value)) ** 2
        parts.append((math.log(value / (1.0 - value)), variance))
    for alternative, sides in (("two-sided", 2.0), ("greater", 1.0), ("less", 1.0)):
        result = metric_group_comparison_test(
            y, scores, group=group, metric="roc_auc", method="influence", alternative=alternative
        )
        sign = -1.0 if alternative == "less" else 1.0
        expected = []
        for (i, j), df in (((0, 1), 19), ((0, 2), 19), ((1, 2), 29)):
            t = sign * statistic(parts[i], parts[j], False)
            expected.append(sides * stats.t.sf(abs(t) if sides == 2.0 else t, df))
        np.testing.assert_allclose(result.pvalue_unadjusted, expected, rtol=1e-10)
        ordered = np.sort(expected)
        stepped = np.minimum(np.maximum.accumulate(ordered * [3, 2, 1]), 1.0)
        np.testing.assert_allclose(np.sort(result.pvalue), stepped, rtol=1e-10)


def test_methods_by_default():
    y, scores, group = data([(10, 60), (20, 120)])
    for metric, method in (("roc_auc", "influence"), ("average_precision", "permutation")):
        options = {"group": group, "metric": metric, **FEW}
        result = metric_group_comparison_test(y, scores, **options)
        named = metric_group_comparison_test(y, scores, method=method, **options)
        assert result.method == method
        np.testing.assert_array_equal(result.pvalue, named.pvalue)


# Invariances.


@pytest.mark.parametrize("method", ["permutation", "influence"])
def test_renamed_groups_change_the_sign(method):
    y, scores, group = data([(10, 60), (20, 80)])
    options = {"metric": "roc_auc", "method": method, "n_resamples": 199}
    renamed = np.where(group == "g0", "z", "a")
    for one, other in (("two-sided", "two-sided"), ("greater", "less")):
        result, opposite = (
            metric_group_comparison_test(y, scores, group=g, alternative=a, **options)
            for g, a in ((group, one), (renamed, other))
        )
        assert opposite.names == ["a", "z"]
        np.testing.assert_allclose(opposite.difference, -result.difference)
        np.testing.assert_allclose(opposite.low, -result.high)
        np.testing.assert_array_equal(opposite.pvalue, result.pvalue)


def test_monotone_transforms_and_scales():
    y, scores, group = data([(10, 60), (20, 80)])
    options = {"group": group, "metric": "roc_auc", "n_resamples": 99}
    result, same = (
        metric_group_comparison_test(y, s, method="permutation", **options)
        for s in (scores, np.exp(scores))
    )
    np.testing.assert_array_equal(same.pvalue, result.pvalue)
    # Scores of one group on another scale: the permutations differ, and "influence" does not.
    moved = np.where(group == "g0", 10.0 * scores + 3.0, scores)
    pvalues = [
        metric_group_comparison_test(y, s, method="influence", **options).pvalue[0]
        for s in (scores, moved)
    ]
    assert pvalues[0] == pvalues[1]
    assert metric_group_comparison_test(y, moved, **options).difference == result.difference


def test_n_jobs_and_names():
    y, scores, group = data([(10, 60), (20, 80)])
    # Names that cannot be compared are sorted as text.
    names = [{"g0": 1, "g1": "x"}[name] for name in group]
    options = {"group": names, "metric": "roc_auc", "method": "permutation", "n_resamples": 4000}
    result = metric_group_comparison_test(y, scores, **options)
    with parallel_config(backend="threading"):
        same = metric_group_comparison_test(y, scores, n_jobs=2, **options)
    assert result.pvalue == same.pvalue
    assert result.names == [1, "x"]


@pytest.mark.parametrize(
    ("metric", "k"), [("average_precision@5", 5), ("recall@5", 5), ("ndcg", None), ("dcg", None)]
)
def test_groups_of_equal_sizes_take_any_metric(metric, k):
    y, scores, group = data([(10, 40), (10, 40)])
    result = metric_group_comparison_test(y, scores, group=group, metric=metric, **FEW)
    if k is not None:
        value_of = average_precision_at_k_score if "average" in metric else recall_at_k_score
        expected = [value_of(y[group == g], scores[group == g], k=k) for g in ("g0", "g1")]
        np.testing.assert_allclose(result.statistic, expected)
    assert 0.0 < result.pvalue[0] <= 1.0


def test_perfect_and_constant_scores():
    y, _, group = data([(5, 40), (5, 40)])
    for scores in (y, np.zeros(80)):
        for method in ("permutation", "influence"):
            result = metric_group_comparison_test(
                y, scores, group=group, metric="roc_auc", method=method, **FEW
            )
            assert result.pvalue[0] == 1.0
            assert result.low[0] <= result.difference[0] == 0.0 <= result.high[0]


# Clusters.


def clustered(seed=1):
    """Clusters of two or three items, of several compositions."""
    rng = np.random.default_rng(seed)
    kinds = [(1, 1), (0, 2), (1, 2), (0, 1)]
    y, clusters, group = [], [], []
    for number in range(60):
        m, n0 = kinds[number % 4]
        y += [1] * m + [0] * n0
        clusters += [number] * (m + n0)
        group += ["a" if number < 30 else "b"] * (m + n0)
    y = np.array(y)
    return y, rng.normal(size=y.size) + y, np.array(group), np.array(clusters)


def test_whole_clusters_are_permuted():
    y, scores, group, clusters = clustered()
    result = metric_group_comparison_test(
        y,
        scores,
        group=group,
        clusters=clusters,
        metric="roc_auc",
        method="permutation",
        n_resamples=99,
    )
    for number, name in enumerate("ab"):
        own = group == name
        alone = metric_interval(y[own], scores[own], clusters=clusters[own], metric="roc_auc")
        assert result.statistic_standard_error[number] == pytest.approx(alone.standard_error)
    sample = Sample.read(y, scores, clusters=clusters)
    groups = _Groups.of(as_metric("roc_auc"), sample, group, None)
    rows = groups.codes[
        GroupSampler.of(groups, "greater").exchange.draw_rows(50, np.random.default_rng(0))
    ]
    assert len(np.unique(rows, axis=0)) > 40
    for row in rows:
        assert all(np.ptp(row[clusters == number]) == 0 for number in range(60))
        np.testing.assert_array_equal(
            np.bincount(row, minlength=2), np.bincount(groups.codes, minlength=2)
        )
        assert y[row == 0].sum() == y[groups.codes == 0].sum()


def test_few_permutations_of_clusters():
    y = np.tile([1, 0, 0], 8)
    clusters, group = np.repeat(np.arange(8), 3), np.repeat([0, 1], 12)
    scores = np.random.default_rng(0).normal(size=24) + y
    with pytest.warns(DesignWarning, match="leave 70 different labellings"):
        metric_group_comparison_test(
            y, scores, group=group, clusters=clusters, metric="roc_auc", method="permutation", **FEW
        )
    sizes = np.arange(2, 10)
    clusters = np.repeat(np.arange(8), sizes)
    y = np.concatenate([np.arange(size) == 0 for size in sizes])
    scores, group = np.random.default_rng(0).normal(size=y.size) + y, clusters % 2
    options = {"group": group, "clusters": clusters, "metric": "roc_auc"}
    with pytest.raises(ValueError, match="change nothing: use method='influence'"):
        metric_group_comparison_test(y, scores, method="permutation", **options)
    assert metric_group_comparison_test(y, scores, **options).pvalue[0] < 1


# Results and mistakes.


def test_summary_and_table():
    y, scores, group = data([(20, 100), (20, 100), (20, 100)])
    scores[(group == "g2") & (y == 1)] += 3.0
    result = metric_group_comparison_test(
        y, scores, group=group, metric="roc_auc", method="permutation", n_resamples=99
    )
    table = result.to_frame()
    assert table["a"].tolist() == ["g0", "g0", "g1"]
    assert table["b"].tolist() == ["g1", "g2", "g2"]
    text = result.summary()
    assert "2 of 3 pairs differed at 0.05: g0 and g2; g1 and g2" in text
    assert "adjusted by single-step maxT; the smallest was p ≤ 0.0100" in text
    none = metric_group_comparison_test(
        y, -y, group=group, metric="roc_auc", method="influence", alternative="less"
    )
    assert "0 of 3 pairs differed at 0.05 (one-sided p-values by t test" in none.summary()


def test_two_groups_in_a_sentence():
    y, scores, group = data([(20, 100), (20, 100)])
    text = metric_group_comparison_test(
        y, scores, group=group, metric="roc_auc", method="permutation", **FEW
    ).summary()
    assert "in g0 and" in text
    assert "95 % confidence interval" in text
    assert "by studentised permutation of the groups)." in text


A_AND_B = np.repeat(["a", "b"], 10)
LABELS = np.tile([1, 1, 0, 0, 0], 4)
RANKS = np.arange(20.0)
MISTAKES = {
    "group has one group, 'a': a comparison needs at least 2": {"group": ["a"] * 20},
    "group must contain the group of each of the 20 items": {"group": ["a"] * 3},
    "group 'c' has no positives": {
        "group": ["c" if y == 0 and i > 14 else "a" for i, y in enumerate(LABELS)]
    },
    "group 'c' has no negatives": {
        "group": ["c" if y == 1 and i > 14 else "a" for i, y in enumerate(LABELS)]
    },
    "The positives of group 'c' are a single item": {"group": ["a"] * 16 + ["c"] * 4},
    "The negatives of group 'a' are a single item": {"group": ["a"] * 3 + ["c"] * 17},
    "Cluster 0 lies in several groups": {"clusters": [0, *range(1, 19), 0]},
    "The positives of group 'a' are a single cluster": {"clusters": [0] * 10 + list(range(1, 11))},
    "Reciprocal rank of one ranking depends on a single item": {"metric": "reciprocal_rank"},
    r"Recall at 3 means something else in each group.*5 of 11 in 'a', 3 of 9 in 'b'": {
        "group": ["a"] * 11 + ["b"] * 9,
        "metric": "recall@3",
    },
    "BEDROC means something else in each group": {
        "group": ["a"] * 11 + ["b"] * 9,
        "metric": "bedroc",
    },
    r"average precision at a common prevalence needs independent items": {
        "group": ["a"] * 11 + ["b"] * 9,
        "clusters": range(20),
    },
    "prevalence needs independent items": {"prevalence": 0.2, "clusters": range(20)},
    "prevalence must lie between 0 and 1": {"prevalence": 1.2},
    "too few for a value": {"prevalence": 0.01},
    "counts items, whose number means nothing": {"prevalence": 0.2, "metric": "recall@3"},
    "prevalence is not available for NDCG": {"prevalence": 0.2, "metric": "ndcg"},
    "method must be one of": {"method": "swap"},
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes(message):
    options = {"group": A_AND_B, **MISTAKES[message]}
    with pytest.raises(ValueError, match=message):
        metric_group_comparison_test(LABELS, RANKS, **options, **FEW)


def test_rankings_have_no_groups():
    ranking = Ranking.from_counts([1] * 4, [1, 0, 1, 0])
    with pytest.raises(TypeError, match="y_true is a Ranking, which does not identify"):
        metric_group_comparison_test(ranking, None, group=["a", "a", "b", "b"])


def test_few_negatives_are_warned_of():
    y, scores, group = data([(60, 100), (60, 200)])
    with pytest.warns(UserWarning, match="rests on about"):
        metric_group_comparison_test(y, scores, group=group, **FEW)
