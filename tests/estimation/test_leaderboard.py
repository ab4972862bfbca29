"""Ranks, letters and random signs of several rankers, against definitions and enumeration."""

import itertools
import math
import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.metrics import average_precision_score

from sklearn_rankinf import (
    metric_comparison_test,
    metric_multiple_comparison_test,
    values_multiple_comparison_test,
)
from sklearn_rankinf._estimation import multiple_comparison, simultaneous
from sklearn_rankinf._estimation.leaderboard import compact_letters, rank_limits
from sklearn_rankinf._estimation.sign_flips import FlippedRuns
from sklearn_rankinf._estimation.simultaneous import all_pairs, pairs_with
from sklearn_rankinf._permutation import DesignWarning, Draws, RunFlipSampler

pytestmark = pytest.mark.numeric


@pytest.fixture(autouse=True)
def few_directions(monkeypatch):
    """Draw fewer random directions."""
    for name in ("single_step", "best_pvalues"):
        drawn = partial(getattr(simultaneous, name), n_directions=4000)
        monkeypatch.setattr(multiple_comparison, name, drawn)


def draws(n_resamples=9999):
    return Draws.read(n_resamples, 0, None, 0)


# ---------------------------------------------------------------------------------------------
# Letters
# ---------------------------------------------------------------------------------------------


def graphs(n_rankers):
    """All symmetric matrices of differences."""
    pairs = list(itertools.combinations(range(n_rankers), 2))
    for bits in itertools.product((False, True), repeat=len(pairs)):
        matrix = np.zeros((n_rankers, n_rankers), dtype=bool)
        for pair, bit in zip(pairs, bits, strict=True):
            matrix[pair] = matrix[pair[::-1]] = bit
        yield matrix


def from_letters(letters):
    """Which rankers have no letter in common."""
    is_long = "aa" in letters or any(" " in one for one in letters)
    sets = [set(one.split() if is_long else one) for one in letters]
    return np.array([[own.isdisjoint(other) for other in sets] for own in sets])


def fewest_sets(is_different):
    """Smallest number of sets of rankers that are alike and contain all such pairs."""
    rankers = range(len(is_different))
    wanted = {pair for pair in itertools.product(rankers, rankers) if not is_different[pair]}
    subsets = itertools.chain.from_iterable(
        itertools.combinations(rankers, size) for size in range(1, len(rankers) + 1)
    )
    of_pairs = [set(itertools.product(one, one)) for one in subsets]
    allowed = [one for one in of_pairs if one <= wanted]
    largest = [one for one in allowed if not any(one < other for other in allowed)]
    return next(
        size
        for size in itertools.count(1)
        for chosen in itertools.combinations(largest, size)
        if set().union(*chosen) == wanted
    )


@pytest.mark.parametrize("n_rankers", [2, 3, 4, 5])
def test_letters_of_every_pattern_are_right_and_as_few_as_possible(n_rankers):
    values = np.random.default_rng(n_rankers).permutation(n_rankers).astype(float)
    for is_different in graphs(n_rankers):
        letters = compact_letters(values, is_different)
        assert_array_equal(from_letters(letters), is_different)
        assert len(set("".join(letters))) == fewest_sets(is_different)
        # No letter can be taken from a ranker.
        for ranker, letter in ((i, one) for i, own in enumerate(letters) for one in own):
            fewer = [*letters]
            fewer[ranker] = fewer[ranker].replace(letter, "")
            has_lost_all = not fewer[ranker]
            assert has_lost_all or not np.array_equal(from_letters(fewer), is_different)


@pytest.mark.parametrize("seed", range(20))
def test_letters_of_many_rankers(seed):
    rng = np.random.default_rng(seed)
    n_rankers = int(rng.integers(2, 40))
    values = np.round(rng.normal(size=n_rankers), 1)
    errors = rng.uniform(0.2, 2.0, size=(n_rankers, n_rankers))
    distance = np.abs(values[:, None] - values)
    is_different = distance > np.minimum(errors, errors.T)
    letters = compact_letters(values, is_different)
    assert_array_equal(from_letters(letters), is_different)
    best = letters[np.argmax(values)]
    assert best.split()[0][0] == "a"


def test_more_letters_than_the_alphabet_has():
    values = -np.arange(60.0)
    all_differ = ~np.eye(60, dtype=bool)
    letters = compact_letters(values, all_differ)
    assert letters[:2] == ["a", "b"]
    assert letters[25:29] == ["z", "aa", "ab", "ac"]
    assert letters[52] == "ba"
    # Each pair of neighbours is alike: every ranker but the first and last has two letters.
    neighbours = all_differ & (np.abs(values[:, None] - values) > 1.0)
    letters = compact_letters(values, neighbours)
    assert letters[0] == "a"
    assert letters[27] == "aa ab"
    assert_array_equal(from_letters(letters), neighbours)


# ---------------------------------------------------------------------------------------------
# Ranks
# ---------------------------------------------------------------------------------------------


def test_limits_of_ranks_hold_all_orders_that_differences_leave():
    """The limits are the extremes over all orders in which different rankers keep their order."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        values = rng.normal(size=5)
        is_different = np.abs(values[:, None] - values) > rng.uniform(0.0, 2.5)
        allowed = [
            order
            for order in itertools.permutations(range(5))
            if all(
                order.index(i) < order.index(j)
                for i, j in itertools.permutations(range(5), 2)
                if is_different[i, j] and values[i] > values[j]
            )
        ]
        places = np.array([[order.index(i) + 1 for i in range(5)] for order in allowed])
        low, high = rank_limits(values, is_different)
        assert_array_equal(low, places.min(axis=0))
        assert_array_equal(high, places.max(axis=0))


SHIFTS = {"a": 0.0, "b": 3.0, "c": 1.0, "d": 2.9, "e": 1.2}


def sample(n=200, m=40, seed=0):
    rng = np.random.default_rng(seed)
    y_true, common = np.arange(n) < m, rng.normal(size=n)
    return y_true, {k: common + rng.normal(size=n) + d * y_true for k, d in SHIFTS.items()}


def same_limits(result, differences, low, high):
    """Limits of ranks from those of the differences of all pairs, as they are defined."""
    n_rankers = len(result.names)
    for j in range(n_rankers):
        better = worse = 0
        for (first, second), below, above in zip(differences, low, high, strict=True):
            if j in (first, second):
                is_first_better, is_second_better = below > 0, above < 0
                better += is_first_better if second == j else is_second_better
                worse += is_second_better if second == j else is_first_better
        assert result.rank_low[j] == 1 + better
        assert result.rank_high[j] == n_rankers - worse
        assert result.rank_low[j] <= result.rank[j] <= result.rank_high[j]


@pytest.mark.parametrize("metric", ["average_precision", "roc_auc", "precision@40"])
@pytest.mark.parametrize("correction", ["maxt", "holm"])
def test_ranks_are_those_of_the_simultaneous_limits(metric, correction):
    y_true, scores = sample()
    result = metric_multiple_comparison_test(y_true, scores, metric=metric, correction=correction)
    same_limits(result, result.pairs, result.low, result.high)
    order = np.argsort(-result.statistic)
    assert_array_equal(result.rank[order], np.arange(1, 6))
    assert result.rank_low.min() == 1
    assert result.rank_high.max() == 5
    assert result.rank_low.max() > 1  # some pairs differ
    is_different = from_letters(result.letters)
    for (i, j), pvalue in zip(result.pairs, result.pvalue, strict=True):
        assert is_different[i, j] == (pvalue <= 0.05)


@pytest.mark.parametrize("reference", ["a", "e", "best"])
def test_ranks_and_letters_do_not_depend_on_the_reference(reference):
    y_true, scores = sample()
    every = metric_multiple_comparison_test(y_true, scores)
    one = metric_multiple_comparison_test(y_true, scores, reference=reference)
    assert_array_equal(one.rank_low, every.rank_low)
    assert_array_equal(one.rank_high, every.rank_high)
    assert one.letters == every.letters


def test_a_rank_by_itself_has_limits_from_its_own_pairs():
    y_true, scores = sample(n=150, m=25, seed=3)
    alone = metric_multiple_comparison_test(y_true, scores, correction="none")
    joint = metric_multiple_comparison_test(y_true, scores)
    assert np.all(alone.rank_low >= joint.rank_low)
    assert np.all(alone.rank_high <= joint.rank_high)
    for j, name in enumerate(alone.names):
        own = metric_multiple_comparison_test(y_true, scores, reference=name)
        # A low limit above 0 is a ranker that is better than the reference.
        assert alone.rank_low[j] == 1 + np.sum(own.low > 0)
        assert alone.rank_high[j] == 5 - np.sum(own.high < 0)


def test_equal_rankers_have_equal_ranks_and_all_letters_in_common():
    y_true, scores = sample()
    twins = {"x": scores["b"], "y": scores["b"], "z": scores["a"]}
    result = metric_multiple_comparison_test(y_true, twins)
    assert result.rank.tolist() == [1, 1, 3]
    assert result.letters[0] == result.letters[1] == "a"
    assert (result.rank_low[:2].tolist(), result.rank_high[:2].tolist()) == ([1, 1], [2, 2])
    # A difference of 0 has no sign.
    assert not np.signbit(result.leaderboard().difference[:2]).any()
    assert result.letters[2] == "b"


# ---------------------------------------------------------------------------------------------
# The leaderboard
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", [None, "best", "c"])
def test_the_leaderboard_has_a_row_for_each_ranker(reference):
    y_true, scores = sample()
    result = metric_multiple_comparison_test(y_true, scores, reference=reference)
    board = result.leaderboard()
    frame = board.to_frame()
    values = {k: average_precision_score(y_true, score) for k, score in scores.items()}
    assert frame["ranker"].tolist() == sorted(values, key=values.get, reverse=True)
    assert_allclose(frame["statistic"], sorted(values.values(), reverse=True))
    assert frame["rank"].tolist() == [1, 2, 3, 4, 5]
    chosen = "c" if reference == "c" else frame["ranker"][0]
    assert board.reference == chosen
    rows = {
        tuple(sorted((a, b))): (abs(d), p)
        for a, b, d, p in zip(
            *(result.to_frame()[name] for name in ("a", "b", "difference", "pvalue")), strict=True
        )
    }
    for _, row in frame.iterrows():
        assert row["difference"] == pytest.approx(values[row["ranker"]] - values[chosen])
        place = result.names.index(row["ranker"])
        assert row["letters"] == result.letters[place]
        assert (row["rank_low"], row["rank_high"]) == (
            result.rank_low[place],
            result.rank_high[place],
        )
        if row["ranker"] == chosen:
            assert math.isnan(row["pvalue"])
            assert math.isnan(row["low"])
        else:
            size, pvalue = rows[tuple(sorted((row["ranker"], chosen)))]
            assert abs(row["difference"]) == pytest.approx(size)
            assert row["pvalue"] == pvalue
            assert row["low"] < row["difference"] < row["high"]
            assert (row["low"] > 0 or row["high"] < 0) == (pvalue <= 0.05)
    assert f"1. {frame['ranker'][0]} " in board.summary()
    assert "All ranks are within these limits with 95 % confidence" in board.summary()


def test_the_sentence_of_ranks_by_themselves():
    y_true, scores = sample()
    board = metric_multiple_comparison_test(y_true, scores, correction="none").leaderboard()
    assert "Each rank by itself is within its limits" in board.summary()
    assert "at 0.05, without adjustment" in board.summary()


# ---------------------------------------------------------------------------------------------
# Random signs of queries
# ---------------------------------------------------------------------------------------------


def table(n_queries=7, n_runs=4, seed=1, structure="normal"):
    """Values of runs in each query."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_queries, n_runs)) + rng.normal(size=(n_queries, 1))
    if structure == "levels":
        values = np.round(values)
    elif structure == "zeros":
        values = np.where(rng.random(values.shape) < 0.6, 0.0, values)
    elif structure == "equal":
        values[:, 1] = values[:, 0]
    elif structure == "constant difference":
        values[:, 1] = values[:, 0] + 0.25
    elif structure == "outlier":
        values[0] *= 1e3
    return values


def student(differences):
    """Student's t of each column; infinite for equal values that are not 0."""
    n = len(differences)
    mean, sd = differences.mean(axis=0), differences.std(axis=0, ddof=1)
    where = sd > 1e-12 * np.abs(differences).max(axis=0, initial=1e-300)
    t = np.where(mean > 0.0, math.inf, np.where(mean < 0.0, -math.inf, 0.0))
    t[where] = mean[where] / sd[where] * math.sqrt(n)
    return t


STRUCTURES = ["normal", "levels", "zeros", "equal", "constant difference", "outlier"]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_pvalues_are_shares_of_all_signs(structure):
    values = table(structure=structure)
    pairs = all_pairs(4)
    first, second = pairs.T
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=7)))
    all_t = np.array([student(s[:, None] * (values[:, first] - values[:, second])) for s in signs])
    observed, largest = np.abs(all_t[0]), np.abs(all_t).max(axis=1)

    def share(drawn, value):
        return np.mean((drawn >= value * (1.0 - 1e-10)) | (drawn >= value - 1e-10))

    flipped = FlippedRuns.of(values, draws())
    assert flipped.is_complete
    pvalue, _ = flipped.single_step(pairs, 0.95)
    assert_allclose(pvalue, [share(largest, one) for one in observed], rtol=1e-12)
    for reference in range(4):
        columns = np.flatnonzero((pairs == reference).any(axis=1))
        pvalue, _ = flipped.single_step(pairs_with(reference, 4), 0.95)
        own = np.abs(all_t[:, columns]).max(axis=1)
        assert_allclose(pvalue, [share(own, one) for one in observed[columns]], rtol=1e-12)
        # Others minus this run, which may itself be the best.
        sign = np.where(pairs[columns, 0] == reference, -1.0, 1.0)
        highest = np.maximum((all_t[:, columns] * sign).max(axis=1), 0.0)
        assert flipped.best_pvalues()[reference] == pytest.approx(share(highest, highest[0]))


@pytest.mark.parametrize("structure", ["normal", "levels", "zeros", "outlier"])
def test_the_level_is_exact_over_all_signs(structure):
    """Under equal chances of all signs, p is at most a in at most the share a of them."""
    values = table(6, 3, 5, structure)
    pairs, least, of_best = all_pairs(3), [], []
    for signs in itertools.product((1.0, -1.0), repeat=6):
        # Differences with these signs; the mean of the runs of a query does not matter.
        centred = values - values.mean(axis=1, keepdims=True)
        flipped = FlippedRuns.of(centred * np.array(signs)[:, None], draws())
        least.append(flipped.single_step(pairs, 0.95)[0].min())
        of_best.append(flipped.best_pvalues())
    for found in (np.array(least), *np.array(of_best).T):
        for level in np.unique(found):
            assert np.mean(found <= level) <= level + 1e-12
    if structure == "normal":
        assert np.mean(np.array(least) <= 0.25) == 0.25


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("n_resamples", [60, 200])
def test_limits_and_pvalues_agree(level, n_resamples):
    n_rejected = 0
    for seed in range(40):
        values = table(7, 4, seed) + np.array([0.0, 0.0, 0.9, 1.8])
        flipped = FlippedRuns.of(values, draws(n_resamples))
        assert flipped.is_complete == (n_resamples == 200)
        pairs = all_pairs(4)
        pvalue, critical = flipped.single_step(pairs, level)
        t = student(values[:, pairs[:, 0]] - values[:, pairs[:, 1]])
        assert_array_equal(pvalue <= 1.0 - level + 1e-12, np.abs(t) > critical)
        n_rejected += np.sum(np.abs(t) > critical)
    assert 0 < n_rejected < 40 * 6


def test_random_signs_have_the_pvalues_of_all_signs():
    values = table(14, 4, 6) + np.array([0.0, 0.0, 0.4, 0.9])
    every = FlippedRuns.of(values, draws(1 << 14))
    some = FlippedRuns.of(values, draws(9999))
    assert every.is_complete
    assert not some.is_complete
    for pairs in (all_pairs(4), pairs_with(2, 4)):
        one, other = (found.single_step(pairs, 0.95) for found in (every, some))
        # Standard errors of p-values are at most .005.
        assert_allclose(one[0], other[0], atol=0.02)
        assert one[1] == pytest.approx(other[1], rel=0.05)
    assert_allclose(every.best_pvalues(), some.best_pvalues(), atol=0.02)


def test_pvalues_do_not_depend_on_the_size_of_the_values():
    values = table(8, 5, 7)
    plain = FlippedRuns.of(values, draws()).single_step(all_pairs(5), 0.9)
    for other in (1e-200 * values, 1e9 * values, values + np.arange(8.0)[:, None] * 100.0, -values):
        pvalue, critical = FlippedRuns.of(other, draws()).single_step(all_pairs(5), 0.9)
        assert_allclose(pvalue, plain[0], rtol=1e-12)
        assert critical == pytest.approx(plain[1], rel=1e-6)


@pytest.mark.parametrize("far", [1e2, 1e5, 1e9])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_runs_that_are_close_beside_one_that_is_far(far, offset):
    rng = np.random.default_rng(4)
    close = rng.normal(loc=[0.0, 0.4], size=(9, 2))
    values = np.column_stack([close, far + rng.normal(size=9)]) + offset * rng.normal(size=(9, 1))
    result = values_multiple_comparison_test(values, reference=1)
    differences = values[:, 0] - values[:, 1]
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=9)))
    pairs = signs[:, :, None] * (values[:, [0, 2]] - values[:, [1]])
    largest = np.abs(student(pairs.swapaxes(0, 1))).max(axis=1)
    t = stats.ttest_1samp(differences, 0.0)
    assert result.pvalue[0] == np.mean(largest >= abs(t.statistic) - 1e-4)
    assert result.pvalue_unadjusted[0] == pytest.approx(t.pvalue, rel=1e-6)
    assert result.standard_error[0] == pytest.approx(stats.sem(differences), rel=1e-6)


@pytest.mark.parametrize("size", [0.1, 1 / 3, 1e-200])
@pytest.mark.parametrize("n_queries", [5, 6, 9])
def test_a_difference_that_is_the_same_in_all_queries(n_queries, size):
    """Rounding errors of the values, which make the differences unequal, do not matter."""
    base = size * np.random.default_rng(n_queries).random(n_queries)
    values = {"x": base, "y": base + size, "z": base}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DesignWarning)
        result = values_multiple_comparison_test(values)
    assert result.pvalue.tolist() == [2.0 ** (1 - n_queries), 1.0, 2.0 ** (1 - n_queries)]
    assert result.standard_error.tolist() == [0.0] * 3
    if n_queries > 5:
        assert_allclose(result.low, [-size, 0.0, size], rtol=1e-12)
        assert_allclose(result.high, result.low)
        assert result.letters == ["b", "a", "b"]
    else:
        assert_array_equal(result.low, [-math.inf] * 3)
        assert result.letters == ["a"] * 3
    # No t test has a standard error.
    for correction in ("holm", "none"):
        result = values_multiple_comparison_test(values, correction=correction)
        assert result.pvalue.tolist() == [1.0] * 3
        assert np.all((result.low <= 0.0) & (result.high >= 0.0))


def test_a_draw_is_a_row_of_the_same_numbers_in_any_chunk():
    sampler = RunFlipSampler(table(9, 3))
    assert sampler.n_listed == 512
    assert_array_equal(
        sampler.listed(0, 512), np.concatenate([sampler.listed(0, 5), sampler.listed(5, 512)])
    )
    assert sampler.listed(0, 512).shape == (512, 7)


def queries(n_queries=9, size=8, seed=19):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_queries), size)
    y_true = np.tile(np.arange(size) < 3, n_queries)
    scores = {k: rng.normal(size=groups.size) + d * y_true for k, d in SHIFTS.items()}
    return y_true, scores, groups


def test_comparisons_over_queries_are_those_of_random_signs():
    y_true, scores, groups = queries()
    values = np.array(
        [
            [average_precision_score(y_true[groups == q], s[groups == q]) for s in scores.values()]
            for q in range(9)
        ]
    )
    result = metric_multiple_comparison_test(y_true, scores, groups=groups)
    pvalue, critical = FlippedRuns.of(values, draws()).single_step(all_pairs(5), 0.95)
    assert_allclose(result.pvalue, pvalue)
    assert_allclose(result.low, result.difference - critical * result.standard_error)
    assert_allclose(result.high, result.difference + critical * result.standard_error)
    assert_array_equal(result.pvalue <= 0.05, (result.low > 0) | (result.high < 0))
    assert 0 < np.sum(result.pvalue <= 0.05) < 10
    same_limits(result, result.pairs, result.low, result.high)
    assert_allclose(result.best_pvalue, FlippedRuns.of(values, draws()).best_pvalues())


def test_a_pvalue_that_is_the_level_is_significant():
    y_true, scores, groups = queries(15)
    pair = {"worse": scores["a"], "better": scores["b"] + 9.0 * y_true}
    result = metric_multiple_comparison_test(
        y_true, pair, groups=groups, n_resamples=9, confidence_level=0.9
    )
    assert result.pvalue[0] == 0.1 > 1.0 - 0.9  # in floating-point numbers
    assert result.high[0] < 0.0
    assert result.letters == ["b", "a"]
    assert result.best_pvalue[0] == 0.1
    assert result.best() == ["better"]
    assert result.rank_low.tolist() == result.rank_high.tolist() == [2, 1]
    assert "1 of 1 pairs differed at 0.1" in result.summary()


@pytest.mark.parametrize("n_queries", [6, 9])
def test_two_runs_have_the_sign_flips_of_a_comparison(n_queries):
    y_true, scores, groups = queries(n_queries)
    pair = {name: scores[name] for name in ("a", "c")}
    two = metric_comparison_test(y_true, pair, groups=groups)
    many = metric_multiple_comparison_test(y_true, pair, groups=groups)
    assert many.pvalue[0] == pytest.approx(two.pvalue)
    for level in (0.5, 0.9):
        found = metric_multiple_comparison_test(
            y_true, pair, groups=groups, confidence_level=level, correction="none"
        )
        expected = stats.ttest_rel(
            *(
                [
                    average_precision_score(y_true[groups == q], s[groups == q])
                    for q in range(n_queries)
                ]
                for s in pair.values()
            )
        )
        assert found.pvalue[0] == pytest.approx(expected.pvalue)
        limits = expected.confidence_interval(level)
        assert_allclose([found.low[0], found.high[0]], limits)


def test_few_queries_show_nothing_and_say_so():
    y_true, scores, groups = queries(5)
    message = r"With 5 queries no adjusted p-value can be below 0\.0625.*correction='holm'"
    with pytest.warns(DesignWarning, match=message):
        result = metric_multiple_comparison_test(y_true, scores, groups=groups)
    assert result.pvalue.min() == 2 / 32
    assert np.all(np.isinf(result.low) & np.isinf(result.high))
    assert result.rank_low.tolist() == [1] * 5
    assert result.rank_high.tolist() == [5] * 5
    assert set(result.letters) == {"a"}
    with pytest.warns(DesignWarning, match=r"With 10 draws no .* below 0\.0909.*n_resamples"):
        metric_multiple_comparison_test(y_true, scores, groups=groups, n_resamples=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric_multiple_comparison_test(y_true, scores, groups=groups, confidence_level=0.9)
        result = metric_multiple_comparison_test(y_true, scores, groups=groups, correction="holm")
    assert "the simultaneous limits, by Bonferroni, may include 0" in result.summary()
    half = stats.t.isf(0.025 / 10, 4) * result.standard_error
    assert_allclose(result.low, result.difference - half)
