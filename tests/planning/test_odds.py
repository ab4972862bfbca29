"""Hits at k and rankings where positives are better than random, against exact fractions."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from oracles import placement_probability
from scipy import integrate, stats

from sklearn_rankinf import ap_null_distribution
from sklearn_rankinf._estimation.binormal import average_precision_values
from sklearn_rankinf._planning.odds import (
    Binormal,
    OddsRankings,
    ProportionalOdds,
    placements,
)

WALLENIUS, BINORMAL = ProportionalOdds(), Binormal()
ODDS = [Fraction(1, 5), Fraction(1), Fraction(2), Fraction(30)]


def wallenius(n, m, odds):
    """Probability of each number of hits after each draw, and before the first one."""
    shares = {0: Fraction(1)}
    yield shares
    for t in range(n):
        after = {}
        for h, share in shares.items():
            hits, misses = odds * (m - h), n - m - t + h
            for found, weight in ((h + 1, hits), (h, misses)):
                if weight:
                    after[found] = after.get(found, 0) + share * Fraction(weight) / (hits + misses)
        shares = after
        yield shares


def average_precision(ranks):
    return sum(Fraction(i, rank) for i, rank in enumerate(ranks, 1)) / len(ranks)


@pytest.mark.parametrize("odds", ODDS)
def test_hits_are_those_of_the_draws_one_by_one(odds):
    effect = math.log(odds)
    for n in (2, 3, 6, 11, 16):
        for m in range(1, n, 1 if n < 11 else 3):
            after = list(wallenius(n, m, odds))
            for k in range(1, n + 1, 1 if n < 16 else 3):
                shares = after[k]
                h = np.arange(min(m, k) + 2)
                tails = [float(sum(p for i, p in shares.items() if i >= least)) for least in h]
                np.testing.assert_allclose(
                    WALLENIUS.hits_tail(h, n, m, k, effect), tails, rtol=1e-12, atol=1e-15
                )
                mean = float(sum(i * p for i, p in shares.items()))
                assert WALLENIUS.expected_hits(n, m, k, effect) == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize(
    ("n", "m", "k", "odds"),
    [(1000, 100, 100, 2.0), (300, 290, 200, 0.5), (5000, 7, 500, 4.0), (400, 200, 390, 1.5)],
)
def test_hits_of_longer_lists_are_those_of_the_draws_one_by_one(n, m, k, odds):
    shares = np.zeros(m + 1)
    shares[0] = 1.0
    h = np.arange(m + 1)
    for t in range(k):
        misses = np.maximum(n - m - t + h, 0)
        hit = odds * (m - h) / np.maximum(odds * (m - h) + misses, 1e-300)
        after = shares * (1.0 - hit)
        after[1:] += (shares * hit)[:-1]
        shares = after
    tails = shares[::-1].cumsum()[::-1]
    found = WALLENIUS.hits_tail(h, n, m, k, math.log(odds))
    np.testing.assert_allclose(found, tails, rtol=1e-9, atol=1e-12)
    mean = WALLENIUS.expected_hits(n, m, k, math.log(odds))
    assert mean == pytest.approx(float(shares @ h), rel=1e-11)


def test_hits_of_many_samples_are_those_of_scipy():
    for n, m, k, h, odds in [(10**5, 1000, 10**4, 130, 1.3), (10**5, 10**4, 10**4, 1200, 1.3)]:
        reference = stats.nchypergeom_wallenius.sf(h - 1, n, m, k, odds)
        found = WALLENIUS.hits_tail(h, n, m, k, math.log(odds))
        assert float(found) == pytest.approx(reference, rel=1e-6)


@pytest.mark.parametrize("model", [WALLENIUS, BINORMAL])
@pytest.mark.parametrize(
    ("n", "m", "k"), [(10**6, 100, 1000), (20, 19, 5), (1000, 500, 999), (10**9, 10**5, 10**7)]
)
def test_hits_without_an_effect_are_hypergeometric(model, n, m, k):
    null = stats.hypergeom(n, m, k)
    z = np.array([-2.3, 0.0, 3.1])
    h = np.unique(np.clip(null.mean() + z * null.std(), *null.support()).astype(int))
    tolerance = 1e-10 if n < 10**9 else 1e-6  # scipy's own
    np.testing.assert_allclose(model.hits_tail(h, n, m, k, 0.0), null.sf(h - 1), rtol=tolerance)
    assert model.expected_hits(n, m, k, 0.0) == pytest.approx(m * k / n, rel=1e-10)


def test_binormal_hits_are_an_integral_over_the_threshold():
    # The h-th best of m positives is above the j-th best of the negatives.
    n, m, k, d = 30, 8, 9, 1.2
    effect = float(stats.norm.logcdf(d / math.sqrt(2)) - stats.norm.logsf(d / math.sqrt(2)))
    for h in range(1, 9):
        j = k - h + 1
        density = stats.beta(j, n - m - j + 1)

        def integrand(t, h=h, density=density):
            above = stats.binom.sf(h - 1, m, stats.norm.sf(t - d))
            return above * density.pdf(stats.norm.sf(t)) * stats.norm.pdf(t)

        reference = integrate.quad(integrand, -9, 9, epsabs=1e-13, limit=200)[0]
        assert float(BINORMAL.hits_tail(h, n, m, k, effect)) == pytest.approx(reference, rel=1e-9)


@pytest.mark.parametrize("odds", ODDS)
@pytest.mark.parametrize(("n", "m"), [(2, 1), (7, 3), (9, 8), (12, 2), (6, 6)])
def test_placements_have_the_probabilities_of_their_draws(n, m, odds):
    ranks = placements(n, m)
    assert ranks.tolist() == [list(one) for one in combinations(range(1, n + 1), m)]
    exact = [placement_probability(one, n, odds) for one in ranks.tolist()]
    assert sum(exact) == 1
    found = WALLENIUS.placement_probabilities(ranks, n, math.log(odds))
    np.testing.assert_allclose(found, np.array(exact, dtype=float), rtol=1e-12)


@pytest.mark.parametrize("odds", ODDS)
@pytest.mark.parametrize(("n", "m"), [(2, 1), (7, 3), (9, 8), (12, 2), (12, 5)])
def test_expected_values_are_sums_over_placements(n, m, odds):
    shares = {r: placement_probability(r, n, odds) for r in combinations(range(1, n + 1), m)}
    effect = math.log(odds)
    exact = float(sum(p * average_precision(r) for r, p in shares.items()))
    found = WALLENIUS.expected_average_precision(n, m, effect)
    assert found == pytest.approx(exact, rel=1e-12)
    exact = float(sum(p / r[0] for r, p in shares.items()))
    assert WALLENIUS.expected_reciprocal_rank(n, m, effect) == pytest.approx(exact, rel=1e-12)


def test_expected_average_precision_of_a_longer_list():
    # The forward pass over draws: joint shares of hits, and the precision at each.
    n, m, odds = 1000, 100, 2.0
    shares, total = np.zeros(m + 1), 0.0
    shares[0], h = 1.0, np.arange(m + 1)
    for t in range(n):
        misses = np.maximum(n - m - t + h, 0)
        hit = shares * (odds * (m - h) / np.maximum(odds * (m - h) + misses, 1e-300))
        total += float(hit @ (h + 1.0)) / (t + 1.0)
        shares = shares - hit
        shares[1:] += hit[:-1]
    found = WALLENIUS.expected_average_precision(n, m, math.log(odds))
    assert found == pytest.approx(total / m, rel=1e-10)
    assert found == pytest.approx(0.164555, abs=5e-7)


@pytest.mark.parametrize("model", [WALLENIUS, BINORMAL])
@pytest.mark.parametrize(("n", "m"), [(8, 3), (5, 4), (10**6, 1000), (10**6, 10**6 - 3), (50, 1)])
def test_expected_values_without_an_effect_are_those_of_chance(model, n, m):
    null = ap_null_distribution(n, m)
    found = model.expected_average_precision(n, m, 0.0)
    assert found == pytest.approx(null.mean(), rel=1e-12)


@pytest.mark.parametrize("model", [WALLENIUS, BINORMAL])
def test_simulated_rankings_have_the_expected_values(model):
    n, m, effect, n_draws = 60, 12, math.log(3.0), 20_000
    rankings = model.rankings(n, m, 0)
    (ranks,) = [
        np.concatenate(list(rankings.ranks(model.parameters(np.array([effect])), n_draws)))[:, 0]
    ]
    assert ranks.shape == (n_draws, m)
    assert (np.diff(ranks, axis=1) > 0).all()
    assert ranks.min() >= 1
    assert ranks.max() <= n
    for values, expected in (
        (average_precision_values(ranks), model.expected_average_precision(n, m, effect)),
        (1.0 / ranks[:, 0], model.expected_reciprocal_rank(n, m, effect)),
        ((ranks <= 10).sum(axis=1), model.expected_hits(n, m, 10, effect)),
        (ranks.sum(axis=1), m * (m + 1) / 2 + m * (n - m) * 0.25),
    ):
        error = values.std() / math.sqrt(n_draws)
        assert abs(values.mean() - expected) < 4.5 * error


def test_draws_at_several_odds_grow_with_the_odds():
    effects = np.array([-1.0, 0.0, 0.3, 2.0])
    values = OddsRankings(500, 20, 0).values(average_precision_values, effects, 300)
    assert (np.diff(values, axis=1) >= 0.0).all()
    assert (np.diff(values, axis=1) > 0.0).any(axis=0).all()


def test_draws_follow_the_distribution_of_placements():
    n, m, effect, n_draws = 7, 3, math.log(2.5), 40_000
    rankings = OddsRankings(n, m, 1)
    ranks = np.concatenate(list(rankings.ranks(np.array([effect]), n_draws)))[:, 0]
    listed = placements(n, m)
    number = {tuple(one): i for i, one in enumerate(listed.tolist())}
    counts = np.bincount([number[tuple(one)] for one in ranks.tolist()], minlength=len(listed))
    expected = n_draws * WALLENIUS.placement_probabilities(listed, n, effect)
    assert stats.chisquare(counts, expected).pvalue > 1e-4
