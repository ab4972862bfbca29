"""Stratified contours: against guaranteed bounds, enumeration, long contours and the plain pass."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from audit.rankers import Ranker
from by_name import ap_null_distribution
from numpy.testing import assert_allclose, assert_array_equal
from oracles import inverted_tail, tail_bounds
from scipy.optimize import brentq
from scipy.special import expit, logsumexp

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    RocAuc,
    metric_null_distribution,
)
from sklearn_rankinf._engine import solvers
from sklearn_rankinf._engine.canonical import grouped_increments
from sklearn_rankinf._engine.distribution import ComputedDistribution
from sklearn_rankinf._engine.exact.enumeration import atoms, largest_value
from sklearn_rankinf._engine.inversion import stratified
from sklearn_rankinf._engine.inversion.bands import carrying_bands, feasible_bands, tilted_bands
from sklearn_rankinf._engine.inversion.contour import ContourInversion
from sklearn_rankinf._engine.inversion.forward_pass import log_transform, walked_through
from sklearn_rankinf._engine.inversion.multirate import MultiratePass
from sklearn_rankinf._engine.inversion.nodes import LOST
from sklearn_rankinf._engine.inversion.ranking_transform import RankingTransform
from sklearn_rankinf._engine.inversion.stratified import (
    StratifiedInversion,
    _ChosenStrata,
    top_stratum,
)
from sklearn_rankinf._engine.moments import exact_mean_and_variance
from sklearn_rankinf._statistics.additive import increments_of
from sklearn_rankinf._statistics.hypergeometric import log_binomial
from sklearn_rankinf._statistics.moments import deviation_of_the_body

pytestmark = pytest.mark.numeric

AP = AveragePrecision()
TIES = np.array([1, 1, 2, 1, 3] * 40 + [1] * 60 + [300])


def body_and_mean(problem):
    coarse = grouped_increments(*problem, 0.05)
    return deviation_of_the_body(coarse, problem[2]), exact_mean_and_variance(*problem)[0]


def stratified_inversion(problem, merged=False, finer=1.0, deep_plan=False):
    """Stratified contours of a ranking with blocks merged as usual, less, or not at all."""
    n_samples, n_positives = problem[1:3]
    body, mean = body_and_mean(problem)

    def blocks(level, deep):
        if level > 0 and not merged:
            return increments_of(*problem)
        less = finer * 2.5 ** (1 - level)
        around = n_samples if deep or (deep_plan and level == 0) else None
        return grouped_increments(*problem, 0.02 * less, less * body, around)

    has_ties = problem[3] is not None
    kinds = RankingTransform, MultiratePass
    numbers = n_positives, body, 0.0, mean
    return StratifiedInversion(blocks, *kinds, merged, *numbers, has_ties=has_ties)


def plain_contour(problem):
    """Contours of all blocks, each with all nodes."""
    n_positives = problem[2]
    blocks, coarse = increments_of(*problem), grouped_increments(*problem, 0.05)
    transform = RankingTransform(blocks, coarse, n_positives)
    std = math.sqrt(exact_mean_and_variance(*problem)[1])
    return ContourInversion(transform, std, body_and_mean(problem)[0])


def standardized(problem, z):
    mean, variance = exact_mean_and_variance(*problem)
    return mean + np.asarray(z) * math.sqrt(variance)


def quantiles(n_samples, n_positives, probabilities):
    return ap_null_distribution(n_samples, n_positives).ppf(np.array(probabilities))


def assert_agree(found, other):
    """Two tails differ by no more than both stated errors."""
    off = np.abs(np.expm1(found.log_p - other.log_p))
    assert np.all(off <= found.error.total + other.error.total)


def assert_right(found, expected):
    """Tails differ from known logarithms by no more than the stated error."""
    assert np.all(np.abs(np.expm1(found.log_p - expected)) <= found.error.total)


# Damped contours and contours of lower tails


@pytest.mark.parametrize(
    ("n_samples", "n_positives"), [(150, 5), pytest.param(150, 9, marks=pytest.mark.long)]
)
def test_both_tails_against_a_long_contour(n_samples, n_positives):
    problem = AP, n_samples, n_positives, None
    inversion = stratified_inversion(problem)
    x = quantiles(n_samples, n_positives, [1e-3, 0.02, 0.3, 0.6, 0.9, 0.99])
    sizes = np.ones(n_samples, dtype=int)
    # A period that is longer than all values. Twice as many nodes change no tail by 5e-7 of it.
    log_below = inverted_tail(sizes, n_positives, x, -20.0, 1.0, 20_000)
    mean, _ = exact_mean_and_variance(*problem)
    for sign, expected in ((-1, log_below), (1, np.log(-np.expm1(log_below)))):
        side = (x - mean) * sign > 0.0
        found = inversion.tail(x[side], sign)
        assert np.all(found.error.total < 5e-3)
        assert_right(found, expected[side])


@pytest.mark.parametrize("tie_sizes", [None, [1, 1, 2, 1, 3] * 25 + [1] * 40 + [60]])
def test_upper_tail_within_bounds(tie_sizes):
    n_samples = 300 if tie_sizes is None else sum(tie_sizes)
    problem = AP, n_samples, 6, None if tie_sizes is None else np.array(tie_sizes)
    inversion = stratified_inversion(problem)
    for x in standardized(problem, [0.3, 2.0, 6.0]).tolist():
        low, high = tail_bounds(n_samples, 6, x, tie_sizes=tie_sizes, n_cells=20_000)
        found = inversion.tail(np.array([x]), 1)
        p, error = math.exp(found.log_p[0]), found.error.total[0]
        assert low - error * p <= p <= high + error * p
        assert error < (5e-3 if tie_sizes is None else 5e-2)


@pytest.mark.parametrize(
    ("n_samples", "n_positives"), [(34, 5), pytest.param(60, 4, marks=pytest.mark.long)]
)
def test_enumeration(n_samples, n_positives):
    problem = AP, n_samples, n_positives, None
    blocks = increments_of(*problem)
    hits = np.array(list(combinations(range(n_samples), n_positives)))
    one_hit = blocks.linear + blocks.square
    values = (blocks.cross[hits] * np.arange(n_positives) + one_hit[hits]).sum(axis=1)
    inversion = stratified_inversion(problem)
    for sign in (1, -1):
        x = np.quantile(values, [0.55, 0.7, 0.9, 0.97] if sign > 0 else [0.05, 0.2, 0.35])
        found = inversion.tail(x, sign)
        expected = np.array([np.mean(values * sign >= each * sign - 1e-12) for each in x])
        known = np.isfinite(found.error.total)
        assert known.sum() >= 3
        assert_right(found.at(known), np.log(expected[known]))


def test_tails_from_different_contours_add_up():
    # Close to the mean each of the two tails has a contour.
    for n_samples, n_positives in [(1000, 5), (1200, 14)]:
        inversion = stratified_inversion((AP, n_samples, n_positives, None))
        x = quantiles(n_samples, n_positives, [0.4, 0.55, 0.7, 0.85])
        above, below = inversion.tail(x, 1), inversion.tail(x, -1)
        p_above, p_below = np.exp(above.log_p), np.exp(below.log_p)
        stated = p_above * above.error.total + p_below * below.error.total
        assert np.all(np.abs(p_above + p_below - 1.0) <= stated)
        assert np.all(stated < 1e-4)


@pytest.mark.parametrize(
    ("n_samples", "n_positives"),
    [
        (800, 8),
        pytest.param(2000, 8, marks=pytest.mark.long),
        pytest.param(1500, 20, marks=pytest.mark.long),
    ],
)
def test_merged_blocks_err_no_more_than_stated(n_samples, n_positives):
    problem = AP, n_samples, n_positives, None
    x = quantiles(n_samples, n_positives, [1e-3, 0.05, 0.4, 0.9, 0.99, 0.999])
    mean, _ = exact_mean_and_variance(*problem)
    single, merged = (stratified_inversion(problem, merged) for merged in (False, True))
    for sign in (1, -1):
        side = x[(x - mean) * sign > 0.0]
        found = merged.tail(side, sign)
        assert_agree(found, single.tail(side, sign))
        assert np.all(found.error.total < 1e-2)


@pytest.mark.parametrize(
    ("n_samples", "n_positives"),
    [(300_000, 20), pytest.param(10_000_000, 100, marks=pytest.mark.long)],
)
def test_merging_errs_to_either_side_from_one_top_rank_to_the_next(n_samples, n_positives):
    problem = AP, n_samples, n_positives, None
    s = standardized(problem, np.linspace(0.6, 4.0, 25))
    usual, finer = (
        stratified_inversion(problem, merged=True, finer=finer).tail(s, 1) for finer in (1.0, 0.4)
    )
    assert_agree(usual, finer)
    # Elsewhere the same merging errs hundreds of times less.
    assert np.abs(usual.log_p - finer.log_p).max() > 1e-4
    assert usual.error.total.max() < 3e-3


def test_far_below_the_mean_against_the_contours_of_the_best_tilts():
    problem = AP, 2000, 40, None
    x = standardized(problem, [-0.5, -1.2, -1.6, -1.9])
    found = stratified_inversion(problem).tail(x, -1)
    assert found.log_p.min() < -30.0
    assert_agree(found, plain_contour(problem).tail(x, -1))
    assert np.all(found.error.total < 1e-2)


@pytest.mark.parametrize("z", [-2.0, pytest.param(-2.5, marks=pytest.mark.long)])
def test_lower_tail_of_a_long_list_against_the_plain_contour(z):
    problem = AP, 20_000, 90, None
    x = standardized(problem, [z])
    distribution = ComputedDistribution(*problem)
    found = distribution.estimates(x, -1)
    assert found.solver[0] == "stratified contour"
    assert np.all(found.error.total < 1e-2)
    # Plain contours, of blocks that are merged less.
    other = distribution._tails._contour_far_out.tail(*distribution._form.value(x, -1))
    assert np.all(other.error.total < 1e-3)
    assert_agree(found, other)


def test_few_contours_serve_all_values(monkeypatch):
    passes = []
    monkeypatch.setattr(
        solvers,
        "MultiratePass",
        lambda *args: passes.append(args) or MultiratePass(*args),
    )
    problem = AP, 1000, 10, None
    x = ap_null_distribution(1000, 10).rvs(1000, random_state=0)
    passes.clear()
    p, _, error = ComputedDistribution(*problem).tail(x, 1)
    assert len(passes) <= 3
    assert np.all(error < 5e-3)
    # No answer depends on the other values.
    alone = [ComputedDistribution(*problem).tail(x[i : i + 1], 1) for i in (0, 7)]
    assert_allclose([one[0][0] for one in alone], p[[0, 7]], rtol=1e-12)
    assert_array_equal(np.argsort(p), np.argsort(-x))


# Ascending contours


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "tie_sizes", "merged", "x"),
    [
        (300, 6, None, False, 0.83),
        pytest.param(200, 10, None, True, 0.92, marks=pytest.mark.long),
        pytest.param(int(TIES.sum()), 8, TIES, True, 0.85, marks=pytest.mark.long),
    ],
)
def test_listed_placements(n_samples, n_positives, tie_sizes, merged, x):
    problem = AP, n_samples, n_positives, tie_sizes
    found = stratified_inversion(problem, merged).ascending_tail(np.array([x]))
    listed = atoms(increments_of(*problem), n_positives, at_least=x)
    beyond = listed.log_counts[listed.values >= x * (1.0 - 1e-12)]
    assert np.isfinite(found.error.total).all()
    assert_right(found, logsumexp(beyond) - log_binomial(n_samples, n_positives))


def test_a_fixed_grid_of_nodes():
    x = np.array([0.25, 0.4])
    found = stratified_inversion((AP, 300, 20, None)).ascending_tail(x)
    assert np.all(found.error.total < 1e-5)
    assert_right(found, inverted_tail(np.ones(300, dtype=int), 20, x, 60.0, 3.0, 3000))


@pytest.mark.parametrize(
    ("statistic", "n_samples", "n_positives", "x"),
    [
        (AP, 800, 30, [0.25, 0.35]),
        pytest.param(AP, 1300, 100, [0.4, 0.8], marks=pytest.mark.long),
        pytest.param(Bedroc(80.0), 1000, 50, [0.6], marks=pytest.mark.long),
    ],
)
def test_contours_of_all_blocks(statistic, n_samples, n_positives, x):
    problem, x = (statistic, n_samples, n_positives, None), np.array(x)
    if isinstance(statistic, Bedroc):
        x *= increments_of(*problem).of_one_hit[:n_positives].sum()
    other = plain_contour(problem).tail(x, 1)
    assert np.all(other.error.total < 2e-2)
    for merged in (False, True):
        found = stratified_inversion(problem, merged).ascending_tail(x)
        assert found.log_p.max() < -15.0
        assert_agree(found, other)
        assert np.all(found.error.total <= np.maximum(1e-4, -1e-6 * found.log_p))


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "x"),
    [
        (10_000, 50, 0.1),
        pytest.param(10_000, 50, 0.4, marks=pytest.mark.long),
        pytest.param(100_000, 20, 0.3, marks=pytest.mark.long),
        pytest.param(100_000, 100, 0.1, marks=pytest.mark.long),
    ],
)
def test_relative_error_of_logarithms_is_below_one_in_a_million(n_samples, n_positives, x):
    null, x = ap_null_distribution(n_samples, n_positives), np.array([x])
    log_p, error = null.log_pvalue(x), null.relative_error(x)
    assert np.all(error < -1e-6 * log_p)
    # A contour that is planned with blocks merged less near the bottom.
    problem = AP, n_samples, n_positives, None
    again = stratified_inversion(problem, merged=True, deep_plan=True).ascending_tail(x)
    assert np.all(np.abs(np.expm1(again.log_p - log_p)) <= again.error.total + error)


def test_no_answer_depends_on_the_other_values():
    problem, x = (AP, 500, 20, None), np.array([0.2, 0.3, 0.45, 0.6])
    together = stratified_inversion(problem).ascending_tail(x)
    inversion = stratified_inversion(problem)
    backwards = [inversion.ascending_tail(x[i : i + 1]) for i in range(x.size)[::-1]][::-1]
    log_p = np.concatenate([each.log_p for each in backwards])
    error = np.concatenate([each.error.total for each in backwards])
    known = np.isfinite(together.error.total)
    assert_allclose(together.log_p, log_p, rtol=1e-13)
    assert_allclose(together.error.total, error, rtol=1e-5)
    assert known.sum() >= 3
    assert np.all(np.diff(together.log_p[known]) < 0.0)


def test_far_tails_of_distributions_that_are_not_stratified_near_the_body(monkeypatch):
    problem, x = (AP, 2100, 140, None), np.array([0.2])
    distribution = ComputedDistribution(*problem)
    unmerged = distribution._tails._contour.tail(*distribution._form.value(x, 1))
    settings = replace(solvers.SETTINGS, merge_above=2_000, least_increment_merged=10.0)
    monkeypatch.setattr(solvers, "SETTINGS", settings)
    distribution = ComputedDistribution(*problem)
    found = distribution.estimates(x, 1)
    assert unmerged.error.total[0] < 1e-8
    assert_agree(found, unmerged)
    assert found.solver[0] == "stratified contour"
    assert distribution.estimates(standardized(problem, [2.0]), 1).solver[0] == "contour"
    assert_agree(found, distribution._tails._contour.tail(*distribution._form.value(x, 1)))
    assert found.error.total[0] < -1e-6 * found.log_p[0]


# Both: unknown tails, and a value with a known tail


def test_unknown_tails_are_stated_as_unknown():
    inversion = stratified_inversion((AP, 300, 6, None))
    lowest = ap_null_distribution(300, 6).support()[0]
    with np.errstate(all="raise"):
        # The best ranking, and a value next to the lowest one.
        best = inversion.tail(np.array([1.0]), 1)
        worst = inversion.tail(np.array([lowest * (1.0 + 1e-9)]), -1)
    for found in (best, worst):
        assert np.isposinf(found.error.total[0]) == np.isneginf(found.log_p[0])
    # Fewer items below the top stratum than positives.
    few = stratified_inversion((AP, 40, 30, None)).ascending_tail(np.array([0.9]))
    assert np.isposinf(few.error.total).all()


def test_ascending_contours_answer_nothing_near_the_body():
    problem = AP, 1000, 8, None
    mean, _ = exact_mean_and_variance(*problem)
    with np.errstate(all="raise"):
        found = stratified_inversion(problem).ascending_tail(np.array([0.5 * mean, mean, 1.0]))
    assert_array_equal(np.isposinf(found.error.total), np.isneginf(found.log_p))
    assert np.isposinf(found.error.total[:2]).all()


def test_a_tail_twelve_standard_deviations_above_the_mean():
    null = ap_null_distribution(1000, 10)
    x = null.mean() + 12.0 * null.std()
    p = null.pvalue(x)
    assert 1.325649e-4 <= p <= 1.326967e-4
    # From a long contour, to nine digits.
    assert abs(p / 1.32626918e-4 - 1.0) <= null.relative_error(x) + 1e-8


# Random structures of ties


def random_tie_sizes(rng, n_samples):
    """Sizes of blocks of equal scores: of none, few, large ones, and of those at either end."""
    kind = rng.choice(["none", "few", "large", "zeros", "saturated", "both ends"])
    if kind == "none":
        return None
    top, bottom, between = [], [], []
    if kind in ("saturated", "both ends"):
        top.append(int(rng.integers(2, 3 + min(30, n_samples // 20))))
    if kind in ("zeros", "both ends"):
        bottom.append(int(n_samples * rng.uniform(0.1, 0.8)))
    left = n_samples - sum(top) - sum(bottom)
    if kind in ("few", "both ends"):
        between = np.minimum(rng.geometric(rng.uniform(0.3, 0.95), left), 20).tolist()
        between = between[: int(np.searchsorted(np.cumsum(between), left))]
    elif kind == "large":
        between = rng.integers(max(2, left // 50), left // 10, rng.integers(1, 5)).tolist()
    between += [1] * (left - sum(between))
    return np.array([*top, *rng.permutation(between), *bottom])


def random_problem(seed, low=100, high=3000):
    rng = np.random.default_rng(seed)
    n_samples = int(math.exp(rng.uniform(math.log(low), math.log(high))))
    n_positives = min(int(math.exp(rng.uniform(math.log(4), math.log(40)))), n_samples // 4)
    return rng, (AP, n_samples, n_positives, random_tie_sizes(rng, n_samples))


# Seeds of large blocks, and more seeds, take longer.
SEEDS = [
    pytest.param(seed, marks=() if seed in (0, 1, 8, 12) else pytest.mark.long)
    for seed in range(40)
]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_structures_against_plain_contours(seed):
    rng, problem = random_problem(seed)
    distribution, other = ComputedDistribution(*problem), plain_contour(problem)
    low, high = distribution.support()
    for sign, z in ((1, [*rng.uniform(0.1, 4.0, 4), 6.0]), (-1, -rng.uniform(0.1, 1.5, 4))):
        x = standardized(problem, z)
        x = x[(x > low) & (x < high)]
        if not x.size:
            continue
        expected = other.tail(x, sign)
        tails = [distribution.estimates(x, sign)]
        if distribution._tails.is_stratified:
            tails.append(stratified_inversion(problem).tail(x, sign))
        for found in tails:
            known = np.isfinite(found.error.total) & np.isfinite(expected.error.total)
            assert_agree(found.at(known), expected.at(known))


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "share_alone", "sign"),
    [
        pytest.param(*case, sign, marks=[pytest.mark.long] * (sign not in signs))
        for *case, signs in [(2500, 9, 0.5, [1]), (6000, 12, 0.7, []), (1500, 6, 0.9, [-1])]
        for sign in (1, -1)
    ],
)
def test_merged_blocks_of_equal_scores_err_no_more_than_stated(
    n_samples, n_positives, share_alone, sign
):
    # Merged blocks of different sizes: merging does not err like the square of the ratio.
    sizes = np.random.default_rng(1).geometric(share_alone, n_samples)
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), n_samples))]
    sizes = np.append(sizes, n_samples - sizes.sum())
    problem = AP, n_samples, n_positives, sizes
    x = standardized(problem, np.linspace(0.05, 4.0, 20) if sign > 0 else -np.arange(1, 60) / 100)
    distribution = ComputedDistribution(*problem)
    x = x[x > 1.5 * distribution.support()[0]]
    found = distribution.estimates(x, sign)
    is_stratified = found.solver == "stratified contour"
    assert is_stratified.sum() > 5
    x, found = x[is_stratified], found.at(is_stratified)
    assert_agree(found, stratified_inversion(problem).tail(x, sign))


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "k"),
    [
        (10_000, 100, 1000),
        pytest.param(100_000, 50, 50_000, marks=pytest.mark.long),
        pytest.param(1_000_000, 1000, 10_000, marks=pytest.mark.long),
    ],
)
def test_ranks_behind_a_cut_off_are_no_reason_for_plain_contours(n_samples, n_positives, k):
    null = ap_null_distribution(n_samples, n_positives, k=k)
    x = null.mean() + np.array([0.5, 2.0, 5.0]) * null.std()
    assert set(null.solver(x)) == {"stratified contour"}
    p, error = null.pvalue(x), null.relative_error(x)
    assert np.all(error < 6e-3)
    (lower,), (upper,) = null.pvalue_bounds(x[1:2])
    assert upper < 1.2 * lower
    assert lower <= p[1] * (1.0 + error[1])
    assert p[1] * (1.0 - error[1]) <= upper


def test_nearly_equal_weights_before_a_cut_off_have_plain_contours():
    # The number of hits among 4990 nearly equal weights makes the transform return.
    null = metric_null_distribution(20_000, 60, metric=DiscountedCumulativeGain(k=9_990))
    x = null.mean() + np.array([0.5, 2.0, 5.0]) * null.std()
    assert set(null.solver(x)) == {"contour"}


# The top stratum


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "least"), [(1000, 10, 0.05), (100_000, 20, 1e-4), (200, 8, 0.3)]
)
@pytest.mark.parametrize("log_rare", [-27.0, -108.0])
def test_more_top_stratum_positives_than_distinguished_are_improbable(
    n_samples, n_positives, least, log_rare
):
    blocks = increments_of(AP, n_samples, n_positives, None)
    least *= blocks.of_one_hit.max()
    n_top, most, log_rarity = top_stratum(blocks, n_positives, least, log_rare)
    assert np.all(blocks.of_one_hit[n_top:] <= least)
    more = range(most + 1, min(n_positives, n_top) + 1)
    if not more:
        assert np.isneginf(log_rarity)
        return
    ways = [
        math.log(math.comb(n_top, k)) + math.log(math.comb(n_samples - n_top, n_positives - k))
        for k in more
    ]
    assert logsumexp(ways) - math.log(math.comb(n_samples, n_positives)) <= log_rarity


def test_strata_make_up_the_transform():
    blocks = increments_of(AP, 300, 12, None)
    body = deviation_of_the_body(blocks, 12)
    strata = stratified._TopStrata(blocks, 12, body, -1e9, lambda: largest_value(blocks, 12))
    assert strata.most == 12
    expected = log_transform(blocks, 12, strata.thetas).real
    assert_allclose(logsumexp(strata.log_mgfs, axis=0), expected, rtol=1e-10)
    n_top = 300 - strata.n_rest
    shares = [log_binomial(n_top, k) + log_binomial(300 - n_top, 12 - k) for k in range(13)]
    assert_allclose(strata.log_shares, np.array(shares) - log_binomial(300, 12), rtol=1e-9)


@pytest.mark.parametrize(
    ("n_samples", "n_positives"), [(3000, 150), pytest.param(20_000, 400, marks=pytest.mark.long)]
)
def test_strata_beyond_the_range_of_floats_are_bounded(n_samples, n_positives):
    # Of most numbers of top-stratum positives rounding leaves nothing of the rest.
    problem = AP, n_samples, n_positives, None
    s = np.array([0.5])
    found = stratified_inversion(problem, merged=True).ascending_tail(s)
    assert found.error.total[0] < 1e-3
    distribution = ComputedDistribution(*problem)
    plain = distribution._tails._contour_far_out.tail(*distribution._form.value(s, 1))
    assert_agree(found, plain)


@pytest.mark.parametrize(
    ("n_samples", "n_positives"),
    [
        (6000, 180),
        pytest.param(100_000, 1000, marks=pytest.mark.long),
        pytest.param(10**6, 1000, marks=pytest.mark.long),
    ],
)
def test_transforms_of_strata_of_many_positives(n_samples, n_positives):
    # Rows of the pass that hold the strata differ by factors that Fourier transforms lose.
    s = 0.8
    inversion = stratified_inversion((AP, n_samples, n_positives, None), merged=True)
    strata = inversion._enough_strata(s)
    choice = _ChosenStrata(strata, s)
    # The bands come from convolutions in logarithms.
    planned = inversion.increments(0, False).from_the_end(n_positives)
    _, log_mgf = choice.bands(planned, n_positives)
    assert_allclose(choice._these[choice._best], log_mgf, rtol=0.0, atol=1e-6)
    found = inversion.ascending_tail(np.array([s]))
    assert found.error.total[0] < -1e-6 * found.log_p[0]
    # No tail exceeds the sum of the Chernoff bounds of its strata, and this one is not much less.
    bound = logsumexp(strata.bounds(s))
    assert bound - 15.0 < found.log_p[0] < bound


def test_chernoff_bounds_are_above_the_tails():
    problem = AP, 1000, 10, None
    inversion = stratified_inversion(problem)
    s = standardized(problem, [15.0, 25.0])
    log_p = inversion.ascending_tail(s).log_p
    assert not inversion.are_rare(s, float(log_p.min())).any()
    assert inversion.are_rare(s, float(log_p.max()) + 5.0).all()
    s = standardized(problem, [-1.0, -0.5])
    bounds = inversion.log_bound_below(s, -math.inf)
    assert np.all(bounds > inversion.tail(s, -1).log_p)


@pytest.mark.parametrize(
    ("statistic", "n_samples", "n_positives", "is_stratified"),
    [
        (AP, 1000, 5, True),
        (AP, 10_000, 50, True),
        (AP, 1_000_000, 1000, True),
        (AP, 10**9, 1000, True),
        # Many positives, and few of which most add next to nothing.
        (AP, 1000, 300, False),
        (Bedroc(alpha=80.0), 1000, 6, False),
    ],
)
def test_distributions_with_stratified_contours(statistic, n_samples, n_positives, is_stratified):
    distribution = ComputedDistribution(statistic, n_samples, n_positives, None)
    names = [solver.name for solver in distribution._tails.sequence(-1)]
    assert ("stratified contour" in names) == is_stratified


# The multirate pass


def pass_from_the_end(n_samples, n_positives, theta, period, *, share=1e-30):
    """A multirate pass of all blocks, their bands, and the log transform at the tilt."""
    from_the_end = increments_of(AP, n_samples, n_positives, None).from_the_end(n_positives)
    limits = feasible_bands(from_the_end, n_positives)
    bands, log_mgf = carrying_bands(from_the_end, n_positives, theta, share, limits, limits)
    body, _ = body_and_mean((AP, n_samples, n_positives, None))
    multirate = MultiratePass(from_the_end, n_positives, theta, period, bands, log_mgf, body)
    return multirate, from_the_end, bands, log_mgf


@pytest.mark.parametrize(("theta", "period"), [(-3.0, 3.0), (40.0, 1.5)])
def test_nodes_of_the_multirate_pass_are_those_of_the_plain_pass(theta, period):
    multirate, from_the_end, bands, log_mgf = pass_from_the_end(500, 12, theta, period)
    z, logs, lost = multirate.log_transform(from_the_end, bands, False)
    assert_allclose(np.diff(z.imag), 2.0 * math.pi / period)
    assert_allclose(z[0], theta + 1j * math.pi / period)
    # Fewer nodes than items: the pass has parts, of windows with wider and wider periods.
    assert len(multirate._parts(multirate._reach(False))) > 2
    # Up to where the nodes of the first part fade out.
    kept = slice(0, int(0.7 * z.size))
    plain = np.exp(log_transform(increments_of(AP, 500, 12, None), 12, z[kept]) - log_mgf)
    off = np.abs(np.exp(logs[kept] - log_mgf) - plain)
    assert off.max() <= lost + LOST
    assert off.max() < 3e-8


@pytest.mark.parametrize(
    ("n_positives", "needs_more", "most"), [(5, False, 1e-5), (5, True, 1e-7), (10, True, 1e-7)]
)
def test_stated_loss_of_windows_bounds_the_true_one(n_positives, needs_more, most):
    # The transform of few hits has a wide distribution for few of its rows.
    problem = AP, 1000, n_positives, None
    blocks = increments_of(*problem)
    from_the_end = blocks.from_the_end(n_positives)
    body, _ = body_and_mean(problem)
    period = stratified.SETTINGS.period * body
    theta = -stratified.SETTINGS.damping / period
    bands, log_mgf = tilted_bands(from_the_end, n_positives, theta, 1e-14)
    farthest = stratified.SETTINGS.farthest
    multirate = MultiratePass(
        from_the_end, n_positives, theta, period, bands, log_mgf, body, farthest
    )
    if needs_more:
        multirate.need_more_nodes()
    z, logs, lost = multirate.log_transform(from_the_end, bands, False)
    kept = slice(0, int(0.7 * z.size))
    plain = np.exp(log_transform(blocks, n_positives, z[kept]) - log_mgf)
    off = np.abs(np.exp(logs[kept] - log_mgf) - plain).max()
    assert off <= lost + LOST
    assert lost < most


@pytest.mark.parametrize(
    ("n_positives", "deviations"),
    [
        pytest.param(m, z, marks=[pytest.mark.long] * ((m == 300) != (z == 16.0)))
        for m in (188, 300, 510)
        for z in (16.0, 20.0)
    ],
)
def test_no_strata_where_no_positive_adds_much(n_positives, deviations):
    # The body itself moves far out: strata with a fixed path of the others gave tails that were
    # too small by factors of up to a million.
    sizes = np.random.default_rng(n_positives).integers(1, 4, 6000)
    null = metric_null_distribution(int(sizes.sum()), n_positives, metric=RocAuc(), tie_sizes=sizes)
    x = null.mean() + deviations * null.std()
    expected = log_tail_of_rank_sum(sizes, n_positives, x)
    assert null.log_pvalue(x) == pytest.approx(expected, abs=0.02)
    assert null.relative_error(x) < 1e-6


@pytest.mark.parametrize("n_positives", [188, 510])
def test_ascending_contours_are_unknown_where_the_body_moves(n_positives):
    sizes = np.random.default_rng(n_positives).integers(1, 4, 6000)
    problem = RocAuc(), int(sizes.sum()), n_positives, sizes
    x = standardized(problem, [14.0, 16.0, 18.0, 20.0])
    inversion = stratified_inversion(problem)
    found = inversion.ascending_tail(x - RocAuc().offset(problem[1], n_positives))
    expected = [log_tail_of_rank_sum(sizes, n_positives, each) for each in x]
    known = np.isfinite(found.log_p)
    assert_allclose(found.log_p[known], np.array(expected)[known], atol=0.02)


def log_tail_of_rank_sum(sizes, m, auc):
    """The tail of ROC AUC by the saddlepoint approximation of independent hits, given their sum."""
    n = int(sizes.sum())
    behind = n - np.repeat(np.cumsum(sizes) - (sizes - 1) / 2.0, sizes)
    weights = (behind - behind.mean()) / n
    total = (auc - 0.5) * m * (n - m) / n

    def shift(tilt):
        return brentq(lambda a: expit(a + tilt * weights).sum() - m, -100.0, 60.0, xtol=1e-13)

    def shares(tilt):
        return expit(shift(tilt) + tilt * weights)

    tilt = brentq(lambda t: (weights * shares(t)).sum() - total, 0.0, 80.0, xtol=1e-12)
    spread = shares(tilt) * (1.0 - shares(tilt))
    moments = np.array([[(spread * weights ** (i + j)).sum() for i in (0, 1)] for j in (0, 1)])
    exponent = (
        np.logaddexp(0.0, shift(tilt) + tilt * weights).sum() - shift(tilt) * m - tilt * total
    )
    p = m / n
    untilted = -n * math.log1p(-p) - m * math.log(p / (1.0 - p))
    density = exponent - untilted - 0.5 * math.log(np.linalg.det(moments) / (n * p * (1.0 - p)))
    return density - 0.5 * math.log(2.0 * math.pi) - math.log(tilt)


@pytest.mark.parametrize("sizes", [(1,) * 30, (1, 1, 4, 6, 2, 1, 1, 9, 5)])
def test_bands_may_begin_below_the_first_number_of_hits(sizes):
    blocks = increments_of(AP, 30, 6, np.array(sizes))
    half = slice(len(sizes) // 2, None)
    rest, bands = blocks[half], feasible_bands(blocks, 6).of(half)
    bands = replace(bands, low=np.zeros_like(bands.low))
    z, logs = np.array([0.5, 3.0]), np.log([[0.2, 0.3], [0.5, 0.1]])
    none = np.full((3, 2), -np.inf)
    first, found = walked_through(rest, 30, 6, z, bands, 3, logs)
    from_zero, expected = walked_through(rest, 30, 6, z, bands, 0, np.vstack([none, logs]))
    assert (first, from_zero) == (3, 0)
    assert_allclose(found, expected[3:], rtol=1e-12)
    assert np.all(expected[:3] == -np.inf)


def test_all_items_below_the_top_are_hits():
    # A forest of 40 shallow trees; the last value leaves 116 items for 116 hits below the top.
    ranker = Ranker("shallow forest", 40, 10_837, 116, 0.3, 919)
    metric = DiscountedCumulativeGain(k=156, normalize=True)
    null = metric_null_distribution(10_837, 116, metric=metric, tie_sizes=ranker.blocks()[0])
    x = np.array([0.065, 0.096, 0.1219, 0.999_977])
    together = null.log_pvalue(x)
    assert np.isfinite(together).all()
    assert_array_equal(together[::3], [null.log_pvalue(value) for value in x[::3]])


def test_a_hundred_positives_among_a_billion_items_have_a_p_value():
    n_samples, n_positives = 10**9, 100
    null = ap_null_distribution(n_samples, n_positives)
    x = null.mean() + 5.0 * null.std()
    # One positive among the first ranks is enough; all others together rarely add a fiftieth.
    rank = int(1.0 / (n_positives * x))
    alone = -math.expm1(n_positives * math.log1p(-rank / n_samples))
    assert alone < null.pvalue(x) < 1.02 * alone
    assert null.relative_error(x) < 0.01
