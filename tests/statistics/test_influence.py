"""Influence of single items, against complex steps, recomputation and published definitions."""

import itertools
import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from combinations import checkered
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import average_precision_score, dcg_score, ndcg_score, roc_auc_score

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    RankStatistic,
    RobustInitialEnhancement,
    RocAuc,
)
from sklearn_rankinf._ranking import Design
from sklearn_rankinf._statistics.influence import (
    average_precision_at_k_influence,
    average_precision_influence,
    delete_one_influence,
    delete_one_values,
    enrichment_at_k_influence,
    precision_at_k_influence,
    recall_at_k_influence,
    roc_auc_influence,
    slope_at,
)

pytestmark = pytest.mark.numeric

pytestmark = pytest.mark.numeric


@dataclass(frozen=True)
class RankBiasedPrecision(RankStatistic):
    """A user's statistic."""

    persistence: float = 0.8

    def weights(self, ranks, n_samples, n_positives):
        if np.any((ranks < 1) | (ranks > n_samples)):
            raise ValueError("There are no such ranks.")
        return (1 - self.persistence) * self.persistence ** (ranks - 1.0)


@dataclass(frozen=True)
class EnrichmentInTheFirst(RankStatistic):
    """A user's statistic of the first k places."""

    k: int

    @property
    def horizon(self):
        return self.k

    def weights(self, ranks, n_samples, n_positives):
        return (ranks <= self.k) * n_samples / (max(n_positives, 1) * self.k)


# Sizes of the blocks of equal scores, best first, and the hits in them.
RANKINGS = {
    "no ties": ([1] * 8, [1, 1, 0, 1, 0, 0, 0, 0]),
    "hits at the bottom": ([1] * 7, [0, 0, 0, 0, 1, 1, 1]),
    "hits at the top": ([1] * 7, [1, 1, 0, 0, 0, 0, 0]),
    "nearly all hits": ([1] * 7, [1, 1, 1, 0, 1, 0, 1]),
    "constant scores": ([6], [2]),
    "two levels": ([3, 5], [2, 2]),
    "a large block at the top": ([5, 1, 1, 1], [2, 1, 0, 1]),
    "a large block at the bottom": ([1, 1, 5], [1, 0, 3]),
    "blocks of all kinds": ([2, 3, 1, 4], [1, 0, 1, 2]),
    "blocks of one class": ([2, 3, 2, 2], [2, 0, 2, 0]),
}
FEW_ITEMS = {
    "one positive": ([1, 2, 3], [0, 1, 0]),
    "one negative": ([1, 2, 3], [1, 1, 3]),
    "one of each": ([1, 1], [0, 1]),
    "no positives": ([1, 2], [0, 0]),
    "only positives": ([1, 2], [1, 2]),
    "only positives, equal": ([3], [3]),
    "a single positive": ([1], [1]),
    "a single negative": ([1], [0]),
}
STATISTICS = [
    AveragePrecision(),
    AveragePrecision(k=4),
    AveragePrecision(k=4, normalize="positives"),
    RocAuc(),
    DiscountedCumulativeGain(),
    DiscountedCumulativeGain(normalize=True),
    DiscountedCumulativeGain(k=3, normalize=True),
    Bedroc(alpha=20.0),
    RobustInitialEnhancement(alpha=5.0),
    RankBiasedPrecision(),
]


def arrays(ranking):
    return tuple(np.array(part, dtype=np.int64) for part in ranking)


def items_of(ranking):
    """Block and label of each item, and scores that make these blocks."""
    sizes, hits = ranking
    blocks = np.repeat(np.arange(len(sizes)), sizes)
    labels = [[True] * y + [False] * (g - y) for g, y in zip(sizes, hits, strict=True)]
    return blocks, np.concatenate(labels), -blocks.astype(float)


def derivative(weighted_metric, ranking):
    """Derivative of a metric by the weight of each item, by complex steps for each kind of item."""
    blocks, labels, _ = items_of(ranking)
    found = {}
    for item, kind in enumerate(zip(blocks, labels, strict=True)):
        weights = np.ones(labels.size, dtype=complex)
        weights[item] += 1e-30j
        if kind not in found:
            found[kind] = weighted_metric(blocks, labels, weights).imag / 1e-30
    return np.array([found[kind] for kind in zip(blocks, labels, strict=True)])


def weighted_average_precision(blocks, labels, weights):
    total = 0.0
    for b in range(blocks[-1] + 1):
        seen, own = blocks <= b, (blocks == b) & labels
        precision = weights[seen & labels].sum() / weights[seen].sum()
        total = total + weights[own].sum() * precision
    return total / weights[labels].sum()


def weighted_roc_auc(blocks, labels, weights):
    total = 0.0
    for i in np.flatnonzero(labels):
        for j in np.flatnonzero(~labels):
            right = 1.0 if blocks[i] < blocks[j] else 0.5 if blocks[i] == blocks[j] else 0.0
            total = total + weights[i] * weights[j] * right
    return total / (weights[labels].sum() * weights[~labels].sum())


def orders_of_the_cut_block(blocks, k):
    """All orders of the items of the block that straddles k.

    Each order has the number of the block of every place: places of that block are single blocks.
    """
    cut = np.flatnonzero(blocks == blocks[k - 1])
    if cut[-1] < k:
        yield np.arange(blocks.size), blocks
        return
    places = blocks.astype(float)
    places[cut] += np.linspace(0.0, 0.5, cut.size)
    for inside in itertools.permutations(cut):
        order = np.arange(blocks.size)
        order[cut] = inside
        yield order, places


def first_k_with_weights(k, worth, divisor):
    """A metric of the items in the first k places, which stay there whatever their weights are."""

    def metric(blocks, labels, weights):
        total, n_orders = 0.0, 0
        for order, places in orders_of_the_cut_block(blocks, k):
            n_orders += 1
            for place in range(k):
                if labels[order[place]]:
                    seen = order[places <= places[place]]
                    precision = weights[seen][labels[seen]].sum() / weights[seen].sum()
                    total = total + weights[order[place]] * worth(precision)
        return total / n_orders / divisor(weights[labels].sum())

    return metric


def pushed_out(ranking, k, worth):
    """Share of the first k places of each item's block, times the slope, times a worth at k."""
    blocks, _, _ = items_of(ranking)
    inside = np.array([np.mean(np.flatnonzero(blocks == b) < k) for b in blocks])
    return inside * slope(ranking, k) * worth


def slope(ranking, k):
    """The estimate of the slope, rank by rank."""
    blocks, labels, _ = items_of(ranking)
    n = labels.size
    share = [np.mean(labels[blocks == b]) for b in blocks]
    d = min(max(2, round(k**0.8 / 2)), k - 1, n - k)
    near = [share[rank - 1] for rank in range(k - d + 1, k + d + 1)]
    return (sum(near) + np.mean(labels)) / (2 * d + 1)


def of_items(influence, ranking):
    blocks, labels, _ = items_of(ranking)
    return influence.of_items(blocks, labels)


def without(ranking, block, label):
    """A ranking with one item less."""
    sizes, hits = (list(part) for part in ranking)
    sizes[block] -= 1
    hits[block] -= label
    left = [b for b in range(len(sizes)) if sizes[b]]
    return [sizes[b] for b in left], [hits[b] for b in left]


def values_without(evaluate, ranking):
    """Value without each single item."""
    blocks, labels, _ = items_of(ranking)
    return np.array(
        [evaluate(without(ranking, b, int(y))) for b, y in zip(blocks, labels, strict=True)]
    )


def by_scikit_learn(score):
    def evaluate(ranking):
        _, labels, scores = items_of(ranking)
        return float(score(labels, scores))

    return evaluate


def delong_components(labels, scores):
    """Placement values of the positives and of the negatives, from the definition."""
    pairs = scores[labels][:, None] - scores[~labels][None, :]
    kernel = (pairs > 0) + 0.5 * (pairs == 0)
    return kernel.mean(axis=1), kernel.mean(axis=0)


rankings = pytest.mark.parametrize("ranking", RANKINGS.values(), ids=RANKINGS.keys())


# Derivatives


@rankings
def test_average_precision_by_complex_steps(ranking):
    found = of_items(average_precision_influence(*arrays(ranking)), ranking)
    assert_allclose(found, derivative(weighted_average_precision, ranking), atol=1e-14)


@rankings
def test_roc_auc_by_complex_steps(ranking):
    found = of_items(roc_auc_influence(*arrays(ranking)), ranking)
    assert_allclose(found, derivative(weighted_roc_auc, ranking), atol=1e-14)


@rankings
@pytest.mark.parametrize(
    ("score", "influence"),
    [
        (average_precision_score, average_precision_influence),
        (roc_auc_score, roc_auc_influence),
    ],
)
def test_sample_weights_of_scikit_learn(score, influence, ranking):
    _, labels, scores = items_of(ranking)
    step, steps = 1e-5, 1e-5 * np.eye(labels.size)
    expected = [
        (score(labels, scores, sample_weight=1 + up) - score(labels, scores, sample_weight=1 - up))
        / (2 * step)
        for up in steps
    ]
    assert_allclose(of_items(influence(*arrays(ranking)), ranking), expected, atol=1e-8)


@rankings
def test_average_precision_at_k_by_complex_steps(ranking):
    n_positives = sum(ranking[1])
    for k, normalize in itertools.product([1, 2, 3, 4, 6], ["min", "positives"]):
        fixed = normalize == "min" and k < n_positives
        metric = first_k_with_weights(
            k, lambda precision: precision, lambda weight, k=k, fixed=fixed: k if fixed else weight
        )
        hits_at_k = sum(rank_shares(ranking)[:k])
        worth = hits_at_k / k / (k if fixed else n_positives)
        expected = derivative(metric, ranking) - pushed_out(ranking, k, worth)
        found = average_precision_at_k_influence(*arrays(ranking), k, normalize)
        case = f"k={k}, normalize={normalize}"
        assert_allclose(of_items(found, ranking), expected, atol=1e-13, err_msg=case)


def rank_shares(ranking):
    blocks, labels, _ = items_of(ranking)
    return [np.mean(labels[blocks == b]) for b in blocks]


@rankings
@pytest.mark.parametrize(
    ("influence", "divisor"),
    [
        (recall_at_k_influence, lambda m, n, k: m),
        (precision_at_k_influence, lambda m, n, k: k),
        (enrichment_at_k_influence, lambda m, n, k: k * m / n),
    ],
)
def test_hits_at_k_by_complex_steps(influence, divisor, ranking):
    n, m = sum(ranking[0]), sum(ranking[1])
    for k in (1, 2, 3, 4, 6):
        metric = first_k_with_weights(k, lambda precision: 1.0, lambda m, k=k: divisor(m, n, k))
        expected = derivative(metric, ranking) - pushed_out(ranking, k, 1 / divisor(m, n, k))
        found = of_items(influence(*arrays(ranking), k), ranking)
        assert_allclose(found, expected, atol=1e-14, err_msg=f"k={k}")


@rankings
def test_all_places_are_average_precision(ranking):
    n = sum(ranking[0])
    whole = average_precision_influence(*arrays(ranking))
    found = average_precision_at_k_influence(*arrays(ranking), n)
    for random_positives in (False, True):
        assert_allclose(
            found.variance(random_positives=random_positives),
            whole.variance(random_positives=random_positives),
            atol=1e-16,
        )


@rankings
def test_derivatives_sum_to_zero(ranking):
    # A metric that does not change when every item is doubled does not change with all weights.
    for influence in (average_precision_influence, roc_auc_influence):
        assert abs(of_items(influence(*arrays(ranking)), ranking).sum()) < 1e-14


@rankings
def test_slope_rank_by_rank(ranking):
    for k in range(1, sum(ranking[0]) + 1):
        assert_allclose(slope_at(*arrays(ranking), k), slope(ranking, k), rtol=1e-14)


def test_slope_of_a_long_list():
    hits = np.random.default_rng(3).integers(0, 2, 400)
    # round(100 ** .8 / 2) is 20: ranks 81 to 120.
    expected = (hits[80:120].sum() + hits.mean()) / 41
    assert_allclose(slope_at(np.ones(400, dtype=np.int64), hits, 100), expected, rtol=1e-14)


# Values without an item


@rankings
def test_delete_one_values_are_recomputed(ranking):
    blocks, labels, _ = items_of(ranking)
    for statistic in STATISTICS:

        def value(left, statistic=statistic):
            return statistic.evaluate(*arrays(left))

        expected = values_without(value, ranking)
        positive, negative = delete_one_values(statistic, *arrays(ranking))
        found = np.where(labels, positive[blocks], negative[blocks])
        assert_allclose(found, expected, atol=1e-13, err_msg=repr(statistic))


@rankings
@pytest.mark.parametrize(
    ("statistic", "score"),
    [
        (AveragePrecision(), average_precision_score),
        (RocAuc(), roc_auc_score),
        (DiscountedCumulativeGain(), lambda y, s: dcg_score([y], [s])),
        (DiscountedCumulativeGain(normalize=True), lambda y, s: ndcg_score([y], [s])),
    ],
)
def test_delete_one_values_are_those_of_scikit_learn(statistic, score, ranking):
    blocks, labels, _ = items_of(ranking)
    expected = values_without(by_scikit_learn(score), ranking)
    positive, negative = delete_one_values(statistic, *arrays(ranking))
    assert_allclose(np.where(labels, positive[blocks], negative[blocks]), expected, atol=1e-13)


def test_values_without_items_that_are_not_there():
    positive, negative = delete_one_values(AveragePrecision(), *arrays(([2, 3, 1], [2, 0, 1])))
    assert_array_equal(np.isnan(positive), [False, True, False])
    assert_array_equal(np.isnan(negative), [True, False, True])


@rankings
@pytest.mark.parametrize(
    ("statistic", "score"),
    [
        (AveragePrecision(), average_precision_score),
        (DiscountedCumulativeGain(normalize=True), lambda y, s: ndcg_score([y], [s])),
    ],
)
def test_variance_is_the_jackknife_of_two_samples(statistic, score, ranking):
    _, labels, _ = items_of(ranking)
    left_out = values_without(by_scikit_learn(score), ranking)
    expected = [(own.size - 1) * np.var(own) for own in (left_out[labels], left_out[~labels])]
    found = delete_one_influence(statistic, *arrays(ranking))
    assert_allclose(found.class_variances(), expected, atol=1e-15)
    assert_allclose(found.variance(), sum(expected), atol=1e-15)


@rankings
def test_variance_of_a_sum_is_that_of_a_mean_times_the_number(ranking):
    _, labels, _ = items_of(ranking)
    m = sum(ranking[1])

    def mean(left):
        return by_scikit_learn(lambda y, s: dcg_score([y], [s]))(left) / sum(left[1])

    left_out = m * values_without(mean, ranking)
    expected = [(own.size - 1) * np.var(own) for own in (left_out[labels], left_out[~labels])]
    found = delete_one_influence(DiscountedCumulativeGain(), *arrays(ranking), is_sum=True)
    assert_allclose(found.class_variances(), expected, atol=1e-14)


def test_delete_one_of_a_sum_without_ranks_counts_each_positive():
    # Where every rank weighs the same a sum with a fixed number of positives cannot vary; with a
    # random number it is binomial.
    class Count(RankStatistic):
        def weights(self, ranks, n_samples, n_positives):
            return np.ones(np.shape(ranks))

    ranking = RANKINGS["blocks of all kinds"]
    found = delete_one_influence(Count(), *arrays(ranking), is_sum=True)
    n, m = sum(ranking[0]), sum(ranking[1])
    assert found.variance() == 0.0
    assert_allclose(found.variance(random_positives=True), m * (n - m) / n, rtol=1e-14)


@rankings
def test_delete_one_of_roc_auc_is_its_derivative(ranking):
    found = of_items(delete_one_influence(RocAuc(), *arrays(ranking)), ranking)
    assert_allclose(found, of_items(roc_auc_influence(*arrays(ranking)), ranking), atol=1e-14)


def precisions_of(top, n, m, k):
    """Average precision at k of the labels in the first places."""
    found = np.cumsum(top)
    return sum(found[i] / (i + 1) for i in np.flatnonzero(top)) / max(min(m, k), 1)


def discounts_of(top, n, m, k):
    """Discounted cumulative gain at k over that of a perfect ranking."""
    discounts = 1 / np.log2(np.arange(2, k + 2))
    return discounts[: len(top)] @ top / max(discounts[:m].sum(), 1)


def enrichment_of(top, n, m, k):
    """Enrichment factor at k."""
    return n * sum(top) / (max(m, 1) * k)


@pytest.mark.parametrize("name", ["no ties", "hits at the top", "nearly all hits"])
@pytest.mark.parametrize(
    ("statistic", "value", "worth"),
    [
        (AveragePrecision, precisions_of, lambda found, n, m, k: found / k / min(m, k)),
        (
            lambda k: DiscountedCumulativeGain(k=k, normalize=True),
            discounts_of,
            lambda found, n, m, k: discounts_of([0] * (k - 1) + [1], n, m, k),
        ),
        (EnrichmentInTheFirst, enrichment_of, lambda found, n, m, k: n / (m * k)),
    ],
)
def test_delete_one_at_k_lets_nothing_in(statistic, value, worth, name):
    ranking = RANKINGS[name]
    _, labels, _ = items_of(ranking)
    labels = labels.astype(int)
    n, m = labels.size, int(labels.sum())
    for k in (1, 2, 3, 5, 6):
        expected = []
        for item in range(n):
            left = np.delete(labels[:k], item) if item < k else labels[:k]
            change = value(labels[:k], n, m, k) - value(left, n - 1, m - labels[item], k)
            size = m if labels[item] else n - m
            pushed = slope(ranking, k) * worth(labels[:k].sum(), n, m, k) if item < k else 0.0
            expected.append((size - 1) / size * change - pushed)
        found = of_items(delete_one_influence(statistic(k), *arrays(ranking)), ranking)
        assert_allclose(found, expected, atol=1e-14, err_msg=f"k={k}")


# Variances and covariances by their published definitions


def test_check_values():
    # Hits at ranks 1, 2 and 4 of 8.
    found = average_precision_influence(*arrays(RANKINGS["no ties"]))
    assert_allclose(found.class_variances(), [0.00694444, 0.00390625], atol=5e-9)
    assert_allclose(math.sqrt(found.variance()), 0.1041667, atol=5e-8)
    assert_allclose(math.sqrt(found.variance(random_positives=True)), 0.0991865, atol=5e-8)


@rankings
def test_variance_of_roc_auc_is_delongs(ranking):
    _, labels, scores = items_of(ranking)
    expected = [np.var(own, ddof=1) / own.size for own in delong_components(labels, scores)]
    found = roc_auc_influence(*arrays(ranking))
    assert_allclose(found.class_variances(), expected, rtol=1e-12, atol=1e-16)


def graded_rankers(n_rankers=3, n_items=60, seed=0):
    """Labels, tied scores of several rankers, and the influence of the items on their ROC AUC."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n_items) < n_items // 4)
    shared = rng.normal(size=(n_items, 1)) + labels[:, None]
    scores = np.round(shared + rng.normal(size=(n_items, n_rankers)))
    values = []
    for column in scores.T:
        _, block = np.unique(-column, return_inverse=True)
        sizes, hits = np.bincount(block), np.bincount(block, weights=labels).astype(np.int64)
        values.append(roc_auc_influence(sizes, hits).of_items(block, labels))
    return labels, scores, np.column_stack(values)


def covariance(values, labels, clusters=None):
    """Sums of squares and products over independent items or clusters."""
    errors = Design.read(labels.size, clusters=clusters).errors(values, labels)
    return errors.T @ errors


def test_covariance_of_rankers_is_delongs():
    labels, scores, values = graded_rankers()
    parts = zip(*(delong_components(labels, column) for column in scores.T), strict=True)
    expected = sum(np.cov(np.array(part)) / len(part[0]) for part in parts)
    assert_allclose(covariance(values, labels), expected, rtol=1e-12)


@pytest.mark.parametrize("random_positives", [False, True])
def test_items_and_blocks_have_the_same_variance(random_positives):
    for ranking in RANKINGS.values():
        _, labels, _ = items_of(ranking)
        influence = average_precision_influence(*arrays(ranking))
        values = of_items(influence, ranking)[:, None]
        found = covariance(values, labels)
        if random_positives:
            found = np.sum((values - values.mean()) ** 2, keepdims=True)
        expected = influence.variance(random_positives=random_positives)
        assert_allclose(found, [[expected]], rtol=1e-12, atol=1e-17)


@rankings
def test_random_positives_give_the_variance_of_ash_and_hughes_oliver(ranking):
    n, m = sum(ranking[0]), sum(ranking[1])
    for k in np.cumsum(ranking[0]).tolist():
        r, prevalence = k / n, m / n
        recall = sum(rank_shares(ranking)[:k]) / m
        steep = slope(ranking, k)
        expected = recall * (1 - recall) * (1 - 2 * steep) / (n * prevalence)
        expected += steep**2 * r * (1 - r) / (n * prevalence**2)
        found = recall_at_k_influence(*arrays(ranking), k).variance(random_positives=True)
        assert_allclose(found, expected, rtol=1e-12, atol=1e-16)


# Clusters


def test_clusters_of_one_item_are_items():
    labels, _, values = graded_rankers()
    clusters = np.random.default_rng(1).permutation(labels.size)
    found = covariance(values, labels, clusters=clusters)
    assert_allclose(found, covariance(values, labels), rtol=1e-12)


def test_clusters_by_the_definition_of_obuchowski():
    labels, scores, values = graded_rankers(n_rankers=1)
    rng = np.random.default_rng(2)
    clusters = rng.integers(0, 25, labels.size)
    of_positives, of_negatives = delong_components(labels, scores[:, 0])
    value = of_positives.mean()
    total = {True: np.zeros(25), False: np.zeros(25)}
    for label, placements in ((True, of_positives), (False, of_negatives)):
        for cluster, placement in zip(clusters[labels == label], placements, strict=True):
            total[label][cluster] += (placement - value) / placements.size
    n_with = {label: len(set(clusters[labels == label])) for label in (True, False)}
    factor = {label: count / (count - 1) for label, count in n_with.items()}
    both = math.sqrt(factor[True] * factor[False])
    expected = (
        factor[True] * np.sum(total[True] ** 2)
        + factor[False] * np.sum(total[False] ** 2)
        + 2 * both * np.sum(total[True] * total[False])
    )
    assert_allclose(covariance(values, labels, clusters=clusters), [[expected]], rtol=1e-12)


def test_copies_in_clusters_count_once():
    # Every item three times: the metric is the same, and only the originals are independent.
    labels, _, values = graded_rankers()
    copies = np.repeat(np.arange(labels.size), 3)
    found = covariance(values[copies] / 3.0, labels[copies], clusters=copies)
    assert_allclose(found, covariance(values, labels), rtol=1e-12)


def test_a_class_in_a_single_cluster_is_not_known():
    labels, _, values = graded_rankers()
    clusters = np.where(labels, 0, np.arange(labels.size))
    assert np.all(np.isnan(covariance(values, labels, clusters=clusters)))


def test_centred_values_add_up_to_zero_in_each_class():
    labels, _, values = graded_rankers()
    found = Design(labels.size).errors(values, labels)
    assert_allclose([found[labels].sum(), found[~labels].sum()], 0.0, atol=1e-14)
    alone = Design(labels.size).errors(values[:, 1], labels)
    assert_allclose(alone, found[:, 1], rtol=1e-14)


# Few items


INFLUENCES = [
    average_precision_influence,
    roc_auc_influence,
    lambda *ranking: recall_at_k_influence(*ranking, 1),
    lambda *ranking: precision_at_k_influence(*ranking, 1),
    lambda *ranking: average_precision_at_k_influence(*ranking, 1),
]
INFLUENCES += [
    lambda *ranking, statistic=statistic: delete_one_influence(statistic, *ranking)
    for statistic in STATISTICS
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("influence", INFLUENCES)
def test_few_items(influence):
    for name, ranking in FEW_ITEMS.items():
        sizes = sum(ranking[1]), sum(ranking[0]) - sum(ranking[1])
        found = influence(*arrays(ranking))
        _, labels, _ = items_of(ranking)
        by_items = covariance(of_items(found, ranking)[:, None], labels)[0, 0]
        if 0 in sizes:
            assert found.variance() == by_items == 0.0, name
        else:
            assert math.isnan(found.variance()), name
            assert math.isnan(by_items), name
            known = np.array(sizes) > 1
            assert_array_equal(np.isfinite(found.class_variances()), known, err_msg=name)


@pytest.mark.parametrize("name", ["no positives", "only positives", "a single positive"])
def test_one_class_has_no_influence(name):
    ranking = FEW_ITEMS[name]
    for influence in (average_precision_influence, roc_auc_influence):
        assert_array_equal(of_items(influence(*arrays(ranking)), ranking), 0.0)


# Variances over samples


@cache
def simulated_rankings(levels, random_positives, n_draws=200):
    """Sizes and hits of the blocks of simulated items."""
    rng = np.random.default_rng(11)
    n, m = 500, 50
    rankings = []
    for _ in range(n_draws):
        labels = rng.random(n) < m / n if random_positives else np.arange(n) < m
        scores = rng.normal(size=n) + labels
        if levels is not None:
            scores = np.clip(np.round(2 * scores), -levels, levels)
        _, block = np.unique(-scores, return_inverse=True)
        sizes, hits = np.bincount(block), np.bincount(block[labels], minlength=block.max() + 1)
        rankings.append((sizes, hits))
    return rankings


def simulated_ratio(influence, value, levels, random_positives):
    """Root mean estimated variance over the standard deviation of the metric."""
    rankings = simulated_rankings(levels, random_positives)
    values = [value(*ranking) for ranking in rankings]
    variances = [
        influence(*ranking).variance(random_positives=random_positives) for ranking in rankings
    ]
    return math.sqrt(np.mean(variances) / np.var(values, ddof=1))


def hits_at(k, sizes, hits):
    return np.interp(k, np.append(0, np.cumsum(sizes)), np.append(0, np.cumsum(hits)))


SIMULATED = {
    "average precision": (average_precision_influence, AveragePrecision().evaluate),
    "ROC AUC": (roc_auc_influence, RocAuc().evaluate),
    "DCG": (
        lambda *r: delete_one_influence(DiscountedCumulativeGain(), *r, is_sum=True),
        DiscountedCumulativeGain().evaluate,
    ),
    "NDCG": (
        lambda *r: delete_one_influence(DiscountedCumulativeGain(normalize=True), *r),
        DiscountedCumulativeGain(normalize=True).evaluate,
    ),
    "DCG at 50": (
        lambda *r: delete_one_influence(DiscountedCumulativeGain(k=50), *r, is_sum=True),
        DiscountedCumulativeGain(k=50).evaluate,
    ),
    "BEDROC": (lambda *r: delete_one_influence(Bedroc(), *r), Bedroc().evaluate),
    "RIE": (
        lambda *r: delete_one_influence(RobustInitialEnhancement(), *r),
        RobustInitialEnhancement().evaluate,
    ),
    "recall at 25": (
        lambda *r: recall_at_k_influence(*r, 25),
        lambda sizes, hits: hits_at(25, sizes, hits) / hits.sum(),
    ),
    "AP at 50": (
        lambda *r: average_precision_at_k_influence(*r, 50),
        AveragePrecision(k=50).evaluate,
    ),
}


@pytest.mark.parametrize(
    ("name", "kind"), checkered(SIMULATED, [(None, False), (5, False), (None, True)])
)
def test_variance_over_samples(name, kind):
    (influence, value), (levels, random_positives) = SIMULATED[name], kind
    # A standard deviation of 200 values has a relative error of .05.
    assert 0.9 < simulated_ratio(influence, value, levels, random_positives) < 1.15
