"""Weighted sums of ranks, the reciprocal rank, and enrichment: null distributions and tests."""

import itertools
import math
import pickle
import warnings
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

import numpy as np
import oracles
import pytest
from by_name import (
    NAMED,
    Persistence,
    bedroc_null_distribution,
    bedroc_test,
    dcg_null_distribution,
    dcg_test,
    enrichment_at_k_null_distribution,
    enrichment_at_k_test,
    rank_statistic_null_distribution,
    rank_statistic_score,
    rank_statistic_test,
    reciprocal_rank_null_distribution,
    reciprocal_rank_test,
    rie_null_distribution,
    rie_test,
)
from combinations import checkered
from scipy.stats import hypergeom, mannwhitneyu
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import dcg_score, make_scorer, ndcg_score, roc_auc_score
from sklearn.model_selection import cross_val_score

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    EnrichmentAtK,
    FScoreAtK,
    Ranking,
    RankStatistic,
    RecallAtK,
    ReciprocalRank,
    RobustInitialEnhancement,
    RocAuc,
    metric_null_distribution,
    metric_test,
)
from sklearn_rankinf._engine.distribution import ComputedDistribution
from sklearn_rankinf._engine.listed import AffineDistribution
from sklearn_rankinf._significance.results import MetricTestResult
from sklearn_rankinf._significance.scores import precision_at_k_score

ALTERNATIVES = ("greater", "less", "two-sided")
METHODS = ("auto", "analytic", "permutation", "normal", "pearson3")


class Zipf(RankStatistic):
    """A metric without parameters, in a class that is no dataclass."""

    def weights(self, ranks, n_samples, n_positives):
        return 1.0 / ranks


class Raised(Zipf):
    """The same with a constant added to it."""

    def offset(self, n_samples, n_positives):
        return -0.25


# The metrics from their definitions: values of a ranking given by labels and scores.


def mean_weight_value(y_true, y_score, weight):
    """Sum over the positives of the mean weight of the ranks that share their score."""
    means = []
    for score in np.asarray(y_score)[np.asarray(y_true) == 1]:
        ahead, same = int(np.sum(y_score > score)), int(np.sum(y_score == score))
        means.append(math.fsum(weight(ahead + place) for place in range(1, same + 1)) / same)
    return math.fsum(means)


def rie_by_definition(y_true, y_score, alpha=20.0):
    n = len(y_true)
    observed = mean_weight_value(y_true, y_score, lambda rank: math.exp(-alpha * rank / n))
    chance = math.fsum(math.exp(-alpha * rank / n) for rank in range(1, n + 1)) / n
    return observed / sum(y_true) / chance


def bedroc_by_definition(y_true, y_score, alpha=20.0):
    n, m = len(y_true), sum(y_true)
    ranks = range(1, n + 1)
    worst = math.fsum(math.exp(-alpha * rank / n) for rank in ranks[n - m :])
    best = math.fsum(math.exp(-alpha * rank / n) for rank in ranks[:m])
    observed = mean_weight_value(y_true, y_score, lambda rank: math.exp(-alpha * rank / n))
    return (observed - worst) / (best - worst)


def reciprocal_rank_by_definition(y_true, y_score):
    """Mean over all orders of the items with the score of the best positive."""
    best = max(np.asarray(y_score)[np.asarray(y_true) == 1])
    ahead = int(np.sum(y_score > best))
    inside = [label for label, score in zip(y_true, y_score, strict=True) if score == best]
    firsts = [
        Fraction(1, ahead + places[0] + 1)
        for places in itertools.combinations(range(len(inside)), sum(inside))
    ]
    return float(sum(firsts) / len(firsts))


def enrichment_by_definition(y_true, y_score, k):
    precision = mean_weight_value(y_true, y_score, lambda rank: float(rank <= k)) / k
    return precision / (sum(y_true) / len(y_true))


@dataclass(frozen=True)
class Case:
    """A metric: its null distribution, its test, options of both, and a reference value."""

    make_null: object
    test: object
    value: object
    options: tuple = ()

    def null(self, *args, **kwargs):
        return self.make_null(*args, **dict(self.options), **kwargs)

    def run(self, *args, **kwargs):
        return self.test(*args, **dict(self.options), **kwargs)


CASES = {
    "roc_auc": Case(
        partial(metric_null_distribution, metric="roc_auc"), NAMED["roc_auc"].test, roc_auc_score
    ),
    "dcg": Case(dcg_null_distribution, dcg_test, lambda y, s: dcg_score([y], [s])),
    "dcg_at_4": Case(
        dcg_null_distribution, dcg_test, lambda y, s: dcg_score([y], [s], k=4), (("k", 4),)
    ),
    "ndcg": Case(
        dcg_null_distribution,
        dcg_test,
        lambda y, s: ndcg_score([y], [s]),
        (("normalize", True),),
    ),
    "ndcg_at_3": Case(
        dcg_null_distribution,
        dcg_test,
        lambda y, s: ndcg_score([y], [s], k=3),
        (("k", 3), ("normalize", True)),
    ),
    "bedroc": Case(bedroc_null_distribution, bedroc_test, bedroc_by_definition),
    "bedroc_2": Case(
        bedroc_null_distribution,
        bedroc_test,
        lambda y, s: bedroc_by_definition(y, s, 2.0),
        (("alpha", 2),),
    ),
    "rie": Case(rie_null_distribution, rie_test, rie_by_definition),
    "rie_5": Case(
        rie_null_distribution,
        rie_test,
        lambda y, s: rie_by_definition(y, s, 5.0),
        (("alpha", 5.0),),
    ),
    "reciprocal_rank": Case(
        reciprocal_rank_null_distribution, reciprocal_rank_test, reciprocal_rank_by_definition
    ),
    "enrichment_at_3": Case(
        enrichment_at_k_null_distribution,
        enrichment_at_k_test,
        lambda y, s: enrichment_by_definition(y, s, 3),
        (("k", 3),),
    ),
    "user": Case(
        rank_statistic_null_distribution,
        rank_statistic_test,
        lambda y, s: mean_weight_value(y, s, lambda rank: 0.2 * 0.8 ** (rank - 1)),
        (("statistic", Persistence()),),
    ),
    "user_with_constant": Case(
        rank_statistic_null_distribution,
        rank_statistic_test,
        lambda y, s: mean_weight_value(y, s, lambda rank: 1 / rank) - 0.25,
        (("statistic", Raised()),),
    ),
}
ADDITIVE = [name for name in CASES if name not in ("reciprocal_rank", "enrichment_at_3")]
PROBLEMS = [
    (6, 1, None),
    (8, 3, None),
    (9, 4, None),
    (8, 7, None),
    (8, 6, None),
    (8, 3, (2, 3, 3)),
    (9, 4, (1, 2, 3, 1, 2)),
    (11, 3, (4, 1, 6)),
    (10, 8, (3, 1, 1, 5)),
    (7, 4, (7,)),
]


@cache
def placements_by_hits(sizes, n_positives):
    """Number of placements with the same hits in each block."""
    return Counter(
        tuple(oracles.hits_per_block(sizes, ranks))
        for ranks in oracles.placements(sum(sizes), n_positives)
    )


@cache
def enumerated_distribution(name, n_positives, sizes):
    """Value of every placement, ascending, by the definition and not by the package."""
    value_of = {}
    counts = placements_by_hits(sizes, n_positives)
    for hits in counts:
        scores = -np.repeat(np.arange(len(sizes)), sizes).astype(float)
        labels = np.concatenate(
            [[1] * y + [0] * (g - y) for g, y in zip(sizes, hits, strict=True)]
        ).astype(int)
        value_of[hits] = CASES[name].value(labels, scores)
    values = np.repeat([value_of[hits] for hits in counts], list(counts.values()))
    return np.sort(values)


def share(values, x, alternative):
    """P-value of x from all placements; values that differ by rounding are equal."""
    slack = 1e-12 * abs(x) + 1e-14
    greater = np.mean(values >= x - slack)
    less = np.mean(values <= x + slack)
    both = min(1.0, 2.0 * min(greater, less))
    return {"greater": greater, "less": less, "two-sided": both}[alternative]


def apart(values):
    """One of each group of values that differ by rounding alone."""
    return values[np.append(True, np.diff(values) > 1e-11)]


@pytest.mark.numeric
@pytest.mark.parametrize(("name", "problem"), checkered(CASES, PROBLEMS), ids=str)
def test_distribution_is_that_of_all_placements(name, problem):
    n_samples, n_positives, tie_sizes = problem
    values = enumerated_distribution(name, n_positives, tie_sizes or (1,) * n_samples)
    null = CASES[name].null(n_samples, n_positives, tie_sizes=tie_sizes)
    observed = apart(values)
    for alternative in ALTERNATIVES:
        expected = np.array([share(values, x, alternative) for x in observed])
        np.testing.assert_allclose(null.pvalue(observed, alternative), expected, rtol=1e-12)
        np.testing.assert_allclose(
            null.log_pvalue(observed, alternative), np.log(expected), rtol=1e-11, atol=1e-12
        )
        lower, upper = null.pvalue_bounds(observed, alternative)
        assert np.all(lower <= expected * (1 + 1e-12))
        assert np.all(upper * (1 + 1e-12) >= expected)
    assert null.mean() == pytest.approx(values.mean(), rel=1e-12, abs=1e-14)
    assert null.var() == pytest.approx(values.var(), rel=1e-10, abs=1e-14)
    assert null.support() == pytest.approx((values[0], values[-1]), rel=1e-12, abs=1e-13)
    between = np.append(0.5 * (observed[:-1] + observed[1:]), observed[-1] + 1.0)
    np.testing.assert_allclose(null.cdf(between), [np.mean(values <= x) for x in between], 1e-12)
    np.testing.assert_allclose(
        null.sf(between), [np.mean(values > x) for x in between], 1e-12, 1e-15
    )
    if len(observed) > 1:
        centred = (values - values.mean()) / values.std()
        assert null.stats("s") == pytest.approx(np.mean(centred**3), rel=1e-8, abs=1e-9)
        assert null.stats("k") == pytest.approx(np.mean(centred**4) - 3.0, rel=1e-8, abs=1e-9)
        levels = np.array([0.05, 0.3, 0.5, 0.77, 0.99])
        ranked = values[np.ceil(levels * len(values) - 1e-9).astype(int) - 1]
        np.testing.assert_allclose(null.ppf(levels), ranked, rtol=1e-10, atol=1e-13)
        top = values[::-1][np.floor(levels * len(values) + 1e-9).astype(int)]
        np.testing.assert_allclose(null.isf(levels), top, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_test_of_labels_and_scores(name, tied):
    rng = np.random.default_rng(3)
    for _ in range(2):
        y_true = rng.permutation([1] * 4 + [0] * 5)
        y_score = rng.integers(4, size=9) / 2 if tied else rng.permutation(9) / 2
        sizes = tuple(np.unique(-y_score, return_counts=True)[1].tolist())
        values = enumerated_distribution(name, 4, sizes)
        observed = CASES[name].value(y_true, y_score)
        for alternative in ALTERNATIVES:
            result = CASES[name].run(y_true, y_score, alternative=alternative)
            expected = share(values, observed, alternative)
            assert result.statistic == pytest.approx(observed, rel=1e-12, abs=1e-14)
            assert result.pvalue == pytest.approx(expected, rel=1e-12)
            assert result.log10_pvalue == pytest.approx(math.log10(expected), rel=1e-11, abs=1e-12)
            assert result.alternative == alternative
            assert result.method == "analytic"
        zscore = (observed - values.mean()) / values.std()
        assert result.zscore == pytest.approx(zscore, rel=1e-9, abs=1e-9)
        best = CASES[name].value(np.array([1] * 4 + [0] * 5), np.arange(9.0)[::-1])
        adjusted = (observed - values.mean()) / (best - values.mean())
        assert result.adjusted_statistic == pytest.approx(adjusted, rel=1e-9, abs=1e-9)
        by_ranking = CASES[name].run(Ranking.from_scores(y_true, y_score))
        assert by_ranking.statistic == result.statistic
        words = np.where(y_true == 1, "hit", "miss")
        of_words = CASES[name].run(words, y_score, pos_label="hit")
        assert of_words.pvalue == by_ranking.pvalue


# Against scipy, and where distributions cannot be enumerated.


@pytest.mark.parametrize(("n", "m"), [(40, 15), (60, 30), (300, 5), (60, 52)])
def test_roc_auc_is_the_exact_mann_whitney_test(n, m):
    rng = np.random.default_rng(n)
    null = metric_null_distribution(n, m, metric="roc_auc")
    orders = [rng.permutation(n) for _ in range(5)]
    orders += [np.arange(n), np.arange(n)[::-1], np.roll(np.arange(n), 2)]
    for order in orders:
        scores = order.astype(float)
        y_true = np.arange(n) >= n - m
        u = mannwhitneyu(scores[y_true], scores[~y_true], method="exact").statistic
        for alternative in ALTERNATIVES:
            expected = mannwhitneyu(
                scores[y_true], scores[~y_true], alternative=alternative, method="exact"
            ).pvalue
            if alternative != "greater" and expected < 1e-11:
                continue  # scipy takes the lower tail as a difference from 1
            ours = null.pvalue(u / (m * (n - m)), alternative)
            error = float(null.relative_error(u / (m * (n - m)), alternative))
            assert ours == pytest.approx(expected, rel=max(1e-11, 2 * error))
            assert error < 1e-6


def counts_of_u(n, m):
    """Number of placements with each value of U, whole numbers: the Gaussian binomial."""
    counts = [1]
    for i in range(1, m + 1):
        # The product gains 1 - q^(n - m + i) and loses 1 - q^i.
        top = counts + [0] * (n - m + i)
        for j, value in enumerate(counts):
            top[j + n - m + i] -= value
        for j in range(i, len(top)):
            top[j] += top[j - i]
        counts = top[: i * (n - m) + 1]
    return counts


@pytest.mark.parametrize(("n", "m"), [(80, 30), (80, 60), (250, 8), (200, 198)])
def test_tails_of_roc_auc_against_whole_numbers(n, m):
    counts = counts_of_u(n, m)
    total = math.comb(n, m)
    assert sum(counts) == total
    null = metric_null_distribution(n, m, metric="roc_auc")
    n_pairs = m * (n - m)
    upper = list(itertools.accumulate(reversed(counts)))
    for wrong in (0, 1, 2, 5, n_pairs // 20, n_pairs // 5, n_pairs // 3):
        expected = math.log(upper[wrong]) - math.log(total)
        for x, alternative in ((n_pairs - wrong, "greater"), (wrong, "less")):
            error = float(null.relative_error(x / n_pairs, alternative))
            assert error < 1e-6
            ours = null.log_pvalue(x / n_pairs, alternative)
            assert ours == pytest.approx(expected, abs=max(1e-11, error))


# The weights of the user's metric are no longer distinguished by rank 500.
@pytest.mark.parametrize(
    ("name", "n_positives"),
    [
        *itertools.product(["roc_auc", "dcg", "ndcg", "bedroc", "bedroc_2"], [60, 500]),
        ("user", 60),
    ],
)
def test_perfect_ranking(name, n_positives):
    ranking = Ranking.from_counts([1] * 2000, [1] * n_positives + [0] * (2000 - n_positives))
    result = CASES[name].run(ranking)
    expected = -math.log10(math.comb(2000, n_positives))
    assert result.log10_pvalue == pytest.approx(expected, abs=1e-9)
    assert result.adjusted_statistic == pytest.approx(1.0, rel=1e-12)
    if n_positives == 500:
        assert expected < -400
        assert result.pvalue == 0.0


def test_perfect_reciprocal_rank_is_likely():
    for n, m in [(2000, 500), (10**6, 3), (10**6, 999_990)]:
        null = reciprocal_rank_null_distribution(n, m)
        assert null.pvalue(1.0) == pytest.approx(m / n, rel=1e-12)


@pytest.mark.parametrize(("n", "m"), [(50, 7), (1000, 30), (3000, 2900), (100_000, 12)])
def test_reciprocal_rank_without_ties_is_a_ratio_of_binomials(n, m):
    null = reciprocal_rank_null_distribution(n, m)
    for rank in (1, 2, 5, 17, n - m, n - m + 1):
        none_so_good = Fraction(math.comb(n - rank, m), math.comb(n, m))
        at_least = 1 - none_so_good
        at_most = Fraction(math.comb(n - rank + 1, m), math.comb(n, m))
        assert null.pvalue(1 / rank) == pytest.approx(float(at_least), rel=1e-12)
        expected = math.log(at_most.numerator) - math.log(at_most.denominator)
        assert null.log_pvalue(1 / rank, "less") == pytest.approx(expected, rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("sizes", [(5, 40, 55), (30,) * 10, (200, 1, 99)])
def test_reciprocal_rank_of_blocks_against_fractions(sizes):
    n, m = sum(sizes), 9
    null, ahead = Counter(), 0
    for size in sizes:
        for found in range(1, min(size, m) + 1):
            mean = sum(
                Fraction(math.comb(size - j, found - 1), math.comb(size, found) * (ahead + j))
                for j in range(1, size - found + 2)
            )
            left = math.comb(n - ahead - size, m - found)
            null[mean] += math.comb(size, found) * left
        ahead += size
    total = sum(null.values())
    assert total == math.comb(n, m)
    frozen = reciprocal_rank_null_distribution(n, m, tie_sizes=sizes)
    for x in [value for value, count in null.items() if count]:
        greater = Fraction(sum(count for value, count in null.items() if value >= x), total)
        less = Fraction(sum(count for value, count in null.items() if value <= x), total)
        assert frozen.pvalue(float(x)) == pytest.approx(float(greater), rel=1e-12)
        assert frozen.pvalue(float(x), "less") == pytest.approx(float(less), rel=1e-12)
    mean = sum(value * count for value, count in null.items()) / total
    assert frozen.mean() == pytest.approx(float(mean), rel=1e-13)


def test_reciprocal_rank_of_long_lists_is_refused():
    with pytest.raises(ValueError, match=r"n_samples must be at most 20000000 .*; got 20000001"):
        reciprocal_rank_null_distribution(20_000_001, 3)


@pytest.mark.parametrize("n_samples", [18, pytest.param(24, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", [name for name in ADDITIVE if "at" not in name])
def test_continued_distribution_agrees_with_the_listed_one(name, n_samples):
    null = CASES[name].null(n_samples, 8)
    problem = null.statistic, n_samples, 8, None
    continued = ComputedDistribution(*problem)
    offset = null.statistic.offset(n_samples, 8)
    other = AffineDistribution(continued, offset) if offset else continued
    assert null._distribution.is_listed
    assert not other.is_listed
    for alternative, sign in (("greater", 1), ("less", -1)):
        x = null.isf([0.3, 0.05, 1e-3, 1e-4]) if sign > 0 else null.ppf([0.3, 0.05, 1e-3, 1e-4])
        p, _, error = other.tail(x - sign * 1e-12, sign)
        expected = null.pvalue(x, alternative)
        assert np.all(np.abs(p / expected - 1.0) <= np.maximum(error, 1e-12))


@pytest.mark.parametrize("name", ["roc_auc", "bedroc"])
@pytest.mark.parametrize("n", [1000, 20_000])
def test_one_negative_may_be_anywhere(name, n):
    # All but one are positive: the value grows with the rank of the negative, which is uniform.
    null = CASES[name].null(n, n - 1)
    for rank in (1, 2, n // 3, n // 2):
        hits = np.ones(n, dtype=int)
        hits[rank - 1] = 0
        result = CASES[name].run(Ranking.from_counts([1] * n, hits))
        assert result.pvalue == pytest.approx((n - rank + 1) / n, rel=1e-12)
        assert null.pvalue(result.statistic, "less") == pytest.approx(rank / n, rel=1e-12)
    assert null.support() == pytest.approx((0.0, 1.0), rel=1e-14, abs=1e-14)
    sampled = CASES[name].null(n, n - 1, method="permutation", n_resamples=2000)
    assert sampled.pvalue(0.0) == 1.0
    if name == "roc_auc":
        assert null.mean() == pytest.approx(0.5, rel=1e-14)
        assert null.std() == pytest.approx(math.sqrt((n + 1) / (12 * (n - 1))), rel=1e-12)


@pytest.mark.numeric
@pytest.mark.parametrize("alpha", [1e-3, 1e-6, 1e-9])
def test_bedroc_of_slow_decay_is_roc_auc(alpha):
    y_true = np.random.default_rng(0).permutation(np.arange(60) < 8)
    y_score = np.arange(60.0) // 2
    auc = metric_test(y_true, y_score, metric="roc_auc")
    slow = bedroc_test(y_true, y_score, alpha=alpha)
    assert slow.statistic == pytest.approx(auc.statistic, abs=alpha)
    assert slow.null_distribution.std() == pytest.approx(auc.null_distribution.std(), rel=alpha)


@pytest.mark.parametrize("alpha", [0.5, 20.0, 321.9, 5000.0])
@pytest.mark.parametrize(("n", "m"), [(100, 7), (100, 93), (1000, 3)])
def test_bedroc_from_worst_to_best(n, m, alpha):
    y_score = np.arange(n)[::-1]
    y_true = np.arange(n) < m
    assert Bedroc(alpha=alpha)(y_true, y_score) == pytest.approx(1.0, rel=1e-14)
    assert Bedroc(alpha=alpha)(y_true[::-1], y_score) == pytest.approx(0.0, abs=1e-14)
    if alpha < 300.0:
        null = bedroc_null_distribution(n, m, alpha=alpha)
        assert null.log_pvalue(1.0) == pytest.approx(-oracles.log_comb(n, m), rel=1e-11)
    some = np.random.default_rng(1).permutation(y_true).astype(int)
    if alpha < 300.0:
        expected = bedroc_by_definition(some, y_score, alpha)
        assert Bedroc(alpha=alpha)(some, y_score) == pytest.approx(expected, rel=1e-11)


def test_rankings_as_good_as_perfect_up_to_rounding_are_counted():
    # With a weight of 1 - 1e-22 at the first rank, a hit there is all that counts.
    null = bedroc_null_distribution(100, 7, alpha=5000.0)
    assert null.pvalue(1.0) == pytest.approx(7 / 100, rel=1e-5)
    # Hits behind the first 45 ranks add less than 1e-12, wherever they are; so it is no surprise
    # that they are not at the top.
    null = rank_statistic_null_distribution(100, 50, statistic=Persistence(0.5))
    hits = np.r_[np.ones(45, dtype=int), np.zeros(50, dtype=int), np.ones(5, dtype=int)]
    result = rank_statistic_test(Ranking.from_counts([1] * 100, hits), statistic=Persistence(0.5))
    log_p = oracles.log_comb(100 - 45, 50 - 45) - oracles.log_comb(100, 50)
    assert result.log10_pvalue >= log_p / math.log(10.0)
    assert null.pvalue_bounds(result.statistic)[1] >= math.exp(log_p)


def test_bedroc_and_rie_have_the_same_pvalues():
    rng = np.random.default_rng(5)
    for _ in range(5):
        y_true = rng.permutation(np.arange(25) < 6)
        y_score = rng.integers(12, size=25)
        one, other = bedroc_test(y_true, y_score), rie_test(y_true, y_score)
        assert one.pvalue == pytest.approx(other.pvalue, rel=1e-12)
        assert one.zscore == pytest.approx(other.zscore, rel=1e-10)


def test_enrichment_is_hypergeometric():
    n, m = 200, 13
    y_true, y_score = np.arange(n) % 16 == 2, -np.arange(n)
    for k, hits, found in ((1, 1, 0), (10, 3, 1), (50, 8, 3), (200, 13, 13)):
        null = enrichment_at_k_null_distribution(n, m, k=k)
        assert null.mean() == pytest.approx(1.0, rel=1e-14)
        expected = hypergeom(n, m, k).sf(hits - 1)
        assert null.pvalue(hits * n / (m * k)) == pytest.approx(expected, rel=1e-10)
        result = enrichment_at_k_test(y_true, y_score, k=k)
        precision = precision_at_k_score(y_true, y_score, k=k)
        assert result.statistic == pytest.approx(precision * n / m, rel=1e-13)
        assert EnrichmentAtK(k)(y_true, y_score) == result.statistic
        assert result.hits == found
    assert EnrichmentAtK(5).best(100, 20) == pytest.approx(5.0, rel=1e-15)
    assert EnrichmentAtK(5) != RecallAtK(5)
    far = enrichment_at_k_null_distribution(10**12, 10**9, k=10**6)
    assert (far.mean(), far.pvalue(0.0)) == (pytest.approx(1.0, rel=1e-14), 1.0)


@pytest.mark.parametrize("method", ["auto", "permutation", "binomial", "normal"])
def test_enrichment_without_positives(method):
    with pytest.warns(UndefinedMetricWarning, match=r"Enrichment at 2 is undefined without pos"):
        result = enrichment_at_k_test([0, 0, 0], [3, 2, 1], k=2, method=method)
    assert (result.statistic, result.pvalue) == (0.0, 1.0)
    assert math.isnan(result.zscore)


# Scores.


@pytest.mark.parametrize("tied", [False, True])
def test_scores_are_the_definitions(tied):
    rng = np.random.default_rng(7)
    for m in (1, 3, 8, 11):
        y_true = rng.permutation(np.arange(12) < m).astype(int)
        y_score = rng.integers(4, size=12) if tied else rng.permutation(12)
        pairs = [
            (Bedroc()(y_true, y_score), bedroc_by_definition(y_true, y_score)),
            (Bedroc(alpha=3)(y_true, y_score), bedroc_by_definition(y_true, y_score, 3)),
            (RobustInitialEnhancement()(y_true, y_score), rie_by_definition(y_true, y_score)),
            (
                RobustInitialEnhancement(alpha=3)(y_true, y_score),
                rie_by_definition(y_true, y_score, 3),
            ),
            (
                ReciprocalRank()(y_true, y_score),
                reciprocal_rank_by_definition(y_true, y_score),
            ),
            (
                EnrichmentAtK(5)(y_true, y_score),
                enrichment_by_definition(y_true, y_score, 5),
            ),
            (
                rank_statistic_score(y_true, y_score, statistic=RocAuc()),
                roc_auc_score(y_true, y_score),
            ),
        ]
        for ours, expected in pairs:
            assert type(ours) is float
            assert ours == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_reciprocal_rank_of_a_large_block():
    # One positive among n equal scores is at each rank with probability 1 / n.
    n = 100_000
    y_true = np.arange(n) == 7
    expected = float(oracles.harmonic(n)) / n
    assert ReciprocalRank()(y_true, np.zeros(n)) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    "metric", [Bedroc(), RobustInitialEnhancement(), ReciprocalRank(), EnrichmentAtK(1)]
)
def test_scores_without_positives(metric):
    with pytest.warns(UndefinedMetricWarning, match=r"without positives in y_true and is set to 0"):
        assert metric([0, 0], [2, 1]) == 0.0


# Metrics as score functions.


RESPONSES = ("decision_function", "predict_proba")
METRICS = [
    AveragePrecision(),
    AveragePrecision(0.3, "positives"),
    RecallAtK(7),
    EnrichmentAtK(0.1),
    FScoreAtK(9, beta=2.0),
    RocAuc(),
    DiscountedCumulativeGain(5, normalize=True),
    Bedroc(5.0),
    RobustInitialEnhancement(),
    ReciprocalRank(),
    Persistence(0.6),
]


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_a_metric_is_a_score_function(metric):
    rng = np.random.default_rng(3)
    y_true = rng.permutation(np.arange(24) < 6).astype(int)
    for y_score in (rng.permutation(24), rng.integers(5, size=24)):
        value = metric(y_true, y_score)
        assert type(value) is float
        assert value == metric_test(y_true, y_score, metric=metric).statistic
        assert metric(Ranking.from_scores(y_true, y_score)) == value
        assert metric(np.where(y_true, "a", "b"), y_score, pos_label="a") == value
    with pytest.raises(ValueError, match="y_score must be finite; got nan"):
        metric([1, 0], [math.nan, 1.0])
    with pytest.raises(ValueError, match="same length"):
        metric([1, 0], [2.0, 1.0, 0.0])


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_make_scorer_takes_a_metric_as_it_is(metric):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 2))
    y = (X[:, 0] + rng.normal(size=90) > 0.8).astype(int)
    model = LogisticRegression().fit(X, y)
    scorer = make_scorer(metric, response_method=RESPONSES)
    expected = metric(y, model.decision_function(X))
    for same in (scorer, clone(scorer, safe=False), pickle.loads(pickle.dumps(scorer))):
        assert same(model, X, y) == expected
        assert repr(same) == f"make_scorer({metric!r}, response_method={RESPONSES})"
    flipped = make_scorer(metric, response_method=RESPONSES, pos_label=0)
    assert flipped(model, X, y) == metric(1 - y, -model.decision_function(X))
    values = cross_val_score(model, X, y, scoring=scorer, cv=3)
    assert np.isfinite(values).all()


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_a_metric_is_not_a_scorer(metric):
    X, y = np.arange(12.0)[:, None], np.tile([0, 1], 6)
    with pytest.raises(TypeError, match=r"got an estimator, LogisticRegression: .*make_scorer"):
        metric(LogisticRegression(), y)
    with pytest.raises(TypeError, match="positional arguments"):
        cross_val_score(LogisticRegression(), X, y, scoring=metric, error_score="raise", cv=2)


# Rankings that cannot be tested.


def assert_says_nothing(result, case):
    assert (result.pvalue, result.log10_pvalue) == (1.0, 0.0), case
    assert math.isnan(result.zscore), case


@pytest.mark.parametrize("name", [name for name in CASES if name != "enrichment_at_3"])
def test_labels_of_one_class(name):
    scores = [0.4, 0.3, 0.3, 0.2, 0.1]
    needs_negatives = name.startswith(("roc_auc", "bedroc"))
    expected = (
        0.0 if needs_negatives else CASES[name].value(np.ones(5, dtype=int), np.array(scores))
    )
    for case in itertools.product(METHODS, ALTERNATIVES):
        options = dict(zip(("method", "alternative"), case, strict=True))
        with pytest.warns(
            UndefinedMetricWarning, match="without positives in y_true and is set to 0"
        ):
            result = CASES[name].run([0] * 5, scores, **options)
        assert_says_nothing(result, case)
        assert result.statistic == 0.0, case
        assert math.isnan(result.adjusted_statistic), case
        with warnings.catch_warnings(record=True) as record:
            warnings.simplefilter("always")
            result = CASES[name].run([1] * 5, scores, **options)
        messages = [str(one.message) for one in record]
        assert len(messages) == needs_negatives, case
        assert not needs_negatives or "undefined without negatives in y_true" in messages[0]
        assert_says_nothing(result, case)
        assert math.isnan(result.adjusted_statistic), case
        assert result.statistic == pytest.approx(expected, rel=1e-12, abs=1e-15), case


@pytest.mark.parametrize("name", [name for name in CASES if name != "enrichment_at_3"])
def test_constant_score(name):
    y_true = np.arange(9) < 4
    expected = CASES[name].value(y_true.astype(int), np.zeros(9))
    for method in METHODS:
        result = CASES[name].run(y_true, np.zeros(9), method=method)
        assert_says_nothing(result, method)
        assert result.statistic == pytest.approx(expected, rel=1e-12), method


# Permutation, approximations, draws, copies.


# Without ties and with some, of every metric one of both.
DRAWN = [
    pytest.param(name, ties, marks=[] if index % 2 == (ties is None) else [pytest.mark.long])
    for index, name in enumerate(CASES)
    for ties in (None, (1, 2) * 8)
]


@pytest.mark.numeric
@pytest.mark.parametrize(("name", "tie_sizes"), DRAWN)
def test_permutation_agrees_with_the_exact_null_distribution(name, tie_sizes):
    exact = CASES[name].null(24, 7, tie_sizes=tie_sizes)
    sampled = CASES[name].null(24, 7, tie_sizes=tie_sizes, method="permutation", random_state=2)
    for x in exact.isf([0.5, 0.1, 0.01]):
        p = exact.pvalue(x)
        assert abs(sampled.pvalue(x) - p) < 4.5 * math.sqrt(p * (1 - p) / 9999) + 1e-4
    drawn = exact.rvs(20_000, random_state=3)
    assert drawn.mean() == pytest.approx(exact.mean(), abs=5 * exact.std() / math.sqrt(20_000))
    assert drawn.std() == pytest.approx(exact.std(), rel=0.05)
    low, high = exact.support()
    assert low - 1e-12 <= drawn.min() <= drawn.max() <= high + 1e-12


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_permutations_do_not_depend_on_the_number_of_jobs(n_jobs):
    ranking = Ranking.from_counts([1] * 50, [1, 0, 1, 1, 0] * 3 + [0] * 35)
    for name in ("roc_auc", "reciprocal_rank"):
        first, second = (
            CASES[name].run(ranking, method="permutation", random_state=4, n_jobs=jobs)
            for jobs in (None, n_jobs)
        )
        assert first.pvalue == second.pvalue
        # A p-value of 9999 labellings is a multiple of 1 / 10,000.
        assert first.pvalue * 10_000 == pytest.approx(round(first.pvalue * 10_000), abs=1e-6)


@pytest.mark.parametrize("method", ["normal", "pearson3"])
@pytest.mark.parametrize("name", [name for name in CASES if name != "enrichment_at_3"])
def test_approximations_have_the_exact_moments(name, method):
    null, exact = CASES[name].null(40, 10, method=method), CASES[name].null(40, 10)
    drawn = null.rvs(20_000, random_state=0)
    assert null.method == method
    assert (null.mean(), null.std()) == (exact.mean(), exact.std())
    assert drawn.mean() == pytest.approx(exact.mean(), abs=5 * exact.std() / math.sqrt(20_000))
    assert drawn.std() == pytest.approx(exact.std(), rel=0.05)
    assert null.relative_error(exact.mean()) == math.inf


@pytest.mark.parametrize("name", CASES)
def test_distributions_and_results_can_be_pickled(name):
    result = CASES[name].run([1, 0, 1, 0, 0], [5, 4, 4, 2, 1])
    other = pickle.loads(pickle.dumps(result))
    assert other.pvalue == result.pvalue
    null = other.null_distribution
    assert null.pvalue(result.statistic) == result.pvalue
    assert len(pickle.dumps(CASES[name].null(2000, 3))) < 5000


def test_pickle_of_a_listed_distribution_holds_no_list():
    null = reciprocal_rank_null_distribution(50_000, 3)
    assert 0.0 < null.pvalue(0.01) < 1.0
    assert len(pickle.dumps(null)) < 5000


def test_result_names_the_test():
    result = metric_test([1, 1, 0, 1, 0, 0, 0, 0], list(range(8, 0, -1)), metric="roc_auc")
    assert isinstance(result, MetricTestResult)
    # 14 of 15 pairs are in the right order, as in 1 other of the 56 placements
    assert repr(result) == (
        "MetricTestResult(metric=RocAuc(), statistic=0.9333, chance=0.5, pvalue=0.03571, "
        "zscore=1.938, n_samples=8, n_positives=3, alternative='greater', method='analytic')"
    )


def test_k_of_all_samples_is_no_k():
    whole, cut = dcg_null_distribution(20, 4), dcg_null_distribution(20, 4, k=20)
    assert cut.statistic == whole.statistic == DiscountedCumulativeGain()
    assert dcg_null_distribution(20, 4, k=0.21).statistic.k == 5
    assert dcg_test([1, 0, 0, 1], [4, 3, 2, 1], k=0.5).null_distribution.statistic.k == 2


# A statistic of a user.


def test_weights_of_a_user_need_no_further_methods():
    null = rank_statistic_null_distribution(300, 12, statistic=Zipf())
    sampled = null.rvs(4000, random_state=0)
    assert sampled.mean() == pytest.approx(null.mean(), abs=5 * null.std() / math.sqrt(4000))
    x = float(np.sort(sampled)[-80])
    assert null.pvalue(x) == pytest.approx(0.02, rel=0.5)
    lower, upper = null.pvalue_bounds(x)
    assert lower <= null.pvalue(x) <= upper


class Wrong(RankStatistic):
    def __init__(self, weights):
        self._weights = weights

    def weights(self, ranks, n_samples, n_positives):
        return self._weights(ranks)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (lambda r: 2.5 - r, r"must not be negative; got the weight -0\.5 at rank 3"),
        (
            lambda r: r * 1.0,
            r"must not increase with the rank; got the weight 2\.0 at rank 2 after 1\.0",
        ),
        (lambda r: np.where(r == 4, np.nan, 1.0), r"must be finite; got the weight nan at rank 4"),
        (lambda r: np.full(r.shape, np.inf), r"must be finite; got the weight inf at rank 1"),
        (lambda r: 1.0, r"one number for each rank; got an array of shape \(\) for ranks of shape"),
        (lambda r: r[:-1] * 0.0, r"one number for each rank; got an array of shape \(7,\)"),
        (lambda r: np.array(["a"] * len(r)), r"must return floats; got an array of dtype <U1"),
    ],
)
def test_wrong_weights(weights, message):
    with pytest.raises(ValueError, match=r"Wrong\.weights " + ".*" + message):
        rank_statistic_null_distribution(8, 3, statistic=Wrong(weights))
    with pytest.raises(ValueError, match=message):
        rank_statistic_test([1, 0] * 4, range(8), statistic=Wrong(weights))


def test_wrong_weights_at_large_ranks():
    statistic = Wrong(lambda ranks: np.where(ranks < 5_000_000, 1.0, 2.0))
    with pytest.raises(
        ValueError, match=r"must not increase with the rank; got the weight 2\.0 at"
    ):
        rank_statistic_null_distribution(10_000_000, 3, statistic=statistic)
    equal = Wrong(lambda ranks: 1.0 + 1e-15 * (ranks % 2))
    null = rank_statistic_null_distribution(8, 3, statistic=equal)
    assert null.mean() == pytest.approx(3.0, rel=1e-12)


def test_wrong_statistics():
    with pytest.raises(TypeError, match=r"got the class Zipf: pass Zipf\(\)\."):
        rank_statistic_test([1, 0], [2, 1], statistic=Zipf)
    with pytest.raises(ValueError, match=r"'roc_auc'.* or an instance of a metric .*; got 'zipf'"):
        rank_statistic_null_distribution(8, 3, statistic="zipf")
    with pytest.raises(ValueError, match=r"or an instance of a metric such as .*; got 3\."):
        rank_statistic_null_distribution(8, 3, statistic=3)

    @dataclass
    class Thawed(Zipf):
        scale: float = 1.0

    with pytest.raises(TypeError, match=r"must be hashable.* got Thawed: make .*frozen dataclass"):
        rank_statistic_null_distribution(8, 3, statistic=Thawed())


# Wrong arguments.


@pytest.mark.parametrize("name", [name for name in CASES if name != "enrichment_at_3"])
def test_wrong_options(name):
    case = CASES[name]
    y_true, y_score = [0, 1, 0, 1, 0], [5, 4, 3, 2, 1]
    with pytest.raises(ValueError, match=r"'normal', 'pearson3' for \w+.*; got 'zhang_su'"):
        case.run(y_true, y_score, method="zhang_su")
    with pytest.raises(ValueError, match=r"method must be one of .*; got 'guess'"):
        case.null(5, 2, method="guess")
    with pytest.raises(ValueError, match=r"alternative must be .*; got 'more'"):
        case.run(y_true, y_score, alternative="more")
    with pytest.raises(ValueError, match=r"n_positives must be between 0 and n_samples=5; got 6"):
        case.null(5, 6)
    with pytest.raises(TypeError, match=r"n_samples must be an integer; got 5\.0"):
        case.null(5.0, 2)
    with pytest.raises(ValueError, match=r"tie_sizes must add up to n_samples=5; .* up to 4"):
        case.null(5, 2, tie_sizes=[2, 2])
    with pytest.raises(ValueError, match=r"n_resamples must be at least 1; got 0"):
        case.null(5, 2, n_resamples=0)
    with pytest.raises(TypeError, match=r"y_score is missing"):
        case.run(y_true)
    with pytest.raises(TypeError, match=r"got an estimator, HasFit: a function of .*not a scorer"):
        case.run(HasFit(), y_score)


class HasFit:
    def fit(self):
        raise AssertionError


@pytest.mark.parametrize(
    ("alpha", "error", "message"),
    [
        (0.0, ValueError, r"alpha must be finite and larger than 0; got 0\.0"),
        (-1, ValueError, r"got -1\."),
        (math.inf, ValueError, r"got inf\."),
        (math.nan, ValueError, r"got nan\."),
        ("20", TypeError, r"alpha must be a number; got '20' of type str\."),
        (True, TypeError, r"alpha must be a number; got True of type bool\."),
        (None, TypeError, r"got None of type NoneType\."),
    ],
)
def test_wrong_alpha(alpha, error, message):
    for null, test, metric in (
        (bedroc_null_distribution, bedroc_test, Bedroc),
        (rie_null_distribution, rie_test, RobustInitialEnhancement),
    ):
        for call in (
            lambda null=null: null(8, 3, alpha=alpha),
            lambda test=test: test([1, 0], [2, 1], alpha=alpha),
            lambda metric=metric: metric(alpha=alpha),
        ):
            with pytest.raises(error, match=message):
                call()


def test_wrong_options_of_gain():
    with pytest.raises(ValueError, match=r"k must be between 1 and n_samples=8; got 9"):
        dcg_null_distribution(8, 3, k=9)
    with pytest.raises(TypeError, match=r"normalize must be True or False; got 'min' of type str"):
        dcg_null_distribution(8, 3, normalize="min")


def test_equal_parameters_make_equal_statistics():
    assert Bedroc(5.0) == Bedroc(5.0) != Bedroc(6.0)
    assert Bedroc(5.0) != RobustInitialEnhancement(5.0)
    assert ReciprocalRank() == ReciprocalRank()
    assert len({RocAuc(), RocAuc(), Bedroc(), DiscountedCumulativeGain(3)}) == 3
