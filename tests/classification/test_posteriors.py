"""Posteriors of precision, recall and F-scores: exact fractions, published values, draws."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats
from sklearn.metrics import confusion_matrix

from sklearn_rankinf._classification.posteriors import (
    PrecisionRecallPosterior,
    paired_outcome_posterior,
)

of_counts = PrecisionRecallPosterior
STRUCTURES = [(10, 10, 0), (3, 2, 7), (0, 0, 0), (0, 5, 9), (8, 0, 0), (1, 30, 2), (40, 1, 60)]


# Slow definitions, for shapes that are whole numbers


def exact_greater(a, b, c, d):
    """P(Beta(a, b) > Beta(c, d)) as a fraction.

    They are the a-th of a + b - 1 uniform numbers and the c-th of c + d - 1 others. The first is
    greater if at least c of the smallest a + c - 1 of all of them are of the second sort.
    """
    first, second, taken = a + b - 1, c + d - 1, a + c - 1
    ways = sum(
        math.comb(second, of_second) * math.comb(first, taken - of_second)
        for of_second in range(c, min(second, taken) + 1)
    )
    return Fraction(ways, math.comb(first + second, taken))


def exact_tail(tp, fp, fn, beta, f):
    """P(F > f) with the prior 1, a fraction if beta and f are: all terms are positive.

    With gamma variables U, V and W it is P(U > s V + t W), and U, of a whole shape, exceeds x if
    fewer than that many points of a Poisson process fall before x. Points before s V and before
    t W are of negative binomial distributions.
    """
    square = beta**2
    odds = f / (1 - f) / (1 + square)

    def points(shape, rate, n):
        return math.comb(shape + n - 1, n) * (rate / (1 + rate)) ** n / (1 + rate) ** shape

    missed = [points(fn + 1, odds * square, n) for n in range(tp + 1)]
    false = [points(fp + 1, odds, n) for n in range(tp + 1)]
    return sum(missed[i] * false[j] for i in range(tp + 1) for j in range(tp + 1 - i))


# Published values


def test_published_probabilities():
    first, second = of_counts(10, 10, 0), of_counts(3, 2, 7)
    assert_allclose(second.probability_greater(first, "precision"), 0.65222, atol=5e-6)
    assert_allclose(first.probability_greater(second, "f1"), 0.92278, atol=5e-6)


@pytest.mark.parametrize(
    ("n_a", "n_b", "published"), [(17, 4, 0.998302), (1, 4, 0.0877129), (3, 1, 0.8395305)]
)
def test_published_pairs(n_a, n_b, published):
    assert_allclose(paired_outcome_posterior(n_a, n_b).sf(0.5), published, rtol=1e-6)


# Precision and recall


@pytest.mark.parametrize("counts", STRUCTURES)
def test_precision_and_recall_are_beta(counts):
    tp, fp, fn = counts
    posterior = of_counts(*counts, prior=1)
    # Their means are those of Laplace's rule of succession.
    assert_allclose(posterior.precision.mean(), float(Fraction(tp + 1, tp + fp + 2)))
    assert_allclose(posterior.recall.mean(), float(Fraction(tp + 1, tp + fn + 2)))


@pytest.mark.parametrize("metric", ["precision", "recall", "f1"])
@pytest.mark.parametrize("counts", STRUCTURES)
def test_probability_greater_is_exact(counts, metric):
    def shapes(tp, fp, fn):
        errors = {"precision": fp + 1, "recall": fn + 1, "f1": fp + fn + 2}[metric]
        return tp + 1, errors

    for others in STRUCTURES:
        found = of_counts(*counts, prior=1).probability_greater(of_counts(*others, prior=1), metric)
        exact = float(exact_greater(*shapes(*counts), *shapes(*others)))
        assert_allclose(found, exact, rtol=1e-11, err_msg=str(others))


@pytest.mark.parametrize(
    ("first", "second"),
    [((500, 500), (900, 100)), ((5, 995), (995, 5)), ((0, 300), (400, 0)), ((3, 900), (800, 0))],
)
def test_far_tails(first, second):
    worse, better = (of_counts(tp, fp, 0, prior=1) for tp, fp in (first, second))
    exact = exact_greater(first[0] + 1, first[1] + 1, second[0] + 1, second[1] + 1)
    assert exact < Fraction(1, 10**60)
    assert_allclose(worse.probability_greater(better, "precision"), float(exact), rtol=1e-10)
    assert better.probability_greater(worse, "precision") == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("n_more", [300, 3000, 6000])
def test_a_million_counts(n_more):
    first = of_counts(500_000 + 10 * n_more // 3, 500_000, 0, prior=1)
    second = of_counts(3000, 3000, 0, prior=1)
    a, b, c, d = first.tp + 1, first.fp + 1, second.tp + 1, second.fp + 1
    exact = stats.hypergeom.sf(a - 1, a + b + c + d - 2, a + b - 1, a + c - 1)
    assert_allclose(second.probability_greater(first, "precision"), exact, rtol=1e-8)


def test_a_prior_without_whole_shapes():
    """Against adaptive integration of the density of the one and the tail of the other."""
    first, second = of_counts(0, 4, 3, prior=0.3), of_counts(2, 0, 5, prior=0.3)
    for metric, one, other in (
        ("precision", first.precision, second.precision),
        ("recall", first.recall, second.recall),
    ):
        # With the quantile as the variable the density has no singular end.
        integrand = partial(tail_at_quantile, one, other)
        integral, _ = integrate.quad(integrand, 0, 1, epsabs=1e-10, limit=500)
        assert_allclose(first.probability_greater(second, metric), integral, rtol=3e-9)


def tail_at_quantile(one, other, q):
    return other.cdf(one.ppf(q))


@pytest.mark.parametrize("metric", ["precision", "recall", "f1", 3.0])
def test_probabilities_of_both_orders_add_up_to_one(metric):
    for counts in STRUCTURES[1:5]:
        first, second = of_counts(*counts), of_counts(4, 6, 5, prior=0.2)
        both = first.probability_greater(second, metric), second.probability_greater(first, metric)
        assert_allclose(sum(both), 1.0, rtol=1e-12)
        assert first.probability_greater(first, metric) == pytest.approx(0.5, rel=1e-12)


# F-scores


@pytest.mark.parametrize("beta", ["1/3", "1", "2", "10"])
@pytest.mark.parametrize("counts", STRUCTURES)
def test_tails_of_f_scores_are_exact(counts, beta):
    posterior = of_counts(*counts, prior=1).f_score(float(Fraction(beta)))
    values = [Fraction(i, 20) for i in (1, 4, 10, 15, 19)]
    exact = [exact_tail(*counts, Fraction(beta), f) for f in values]
    x = np.array([float(f) for f in values])
    assert_allclose(posterior.sf(x), [float(p) for p in exact], rtol=1e-10)
    assert_allclose(posterior.cdf(x), [float(1 - p) for p in exact], rtol=1e-10)


def test_far_tails_of_f_scores():
    counts, beta, values = (60, 80, 20), 3, (Fraction(1, 50), Fraction(99, 100))
    posterior = of_counts(*counts, prior=1).f_score(beta)
    low, high = (exact_tail(*counts, beta, f) for f in values)
    assert 1 - low < Fraction(1, 10**50)
    assert high < Fraction(1, 10**50)
    assert_allclose(posterior.cdf(float(values[0])), float(1 - low), rtol=1e-10)
    assert_allclose(posterior.sf(float(values[1])), float(high), rtol=1e-10)


@pytest.mark.parametrize(
    ("counts", "beta"),
    [
        ((100_000, 100_000, 5), 300.0),
        ((100_000, 100_000, 100), 30.0),
        ((100_000, 100_000, 100_000), 3.0),
        ((100_000, 5, 100_000), 0.003),
    ],
)
def test_tails_of_f_scores_of_large_counts(counts, beta):
    """The numbers of points of the Poisson process, by scipy's negative binomial distributions."""
    tp, fp, fn = counts
    posterior = of_counts(*counts, prior=1).f_score(beta)
    n = np.arange(tp + 1)
    for f in posterior.mean() + posterior.std() * np.array([-2.5, 5.5]):
        odds = f / (1 - f) / (1 + beta**2)
        missed = stats.nbinom.pmf(n, fn + 1, 1 / (1 + odds * beta**2))
        counts = missed > 1e-30  # the others add less than 1e-24
        false = stats.nbinom.cdf(tp - n[counts], fp + 1, 1 / (1 + odds))
        assert_allclose(posterior.sf(f), np.sum(missed[counts] * false), rtol=1e-9)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.5])
@pytest.mark.parametrize(
    ("counts", "prior"), [((3, 2, 7), 0.5), ((0, 5, 9), 0.2), ((2, 3, 0), 0.01)]
)
def test_moments_and_tails_are_those_of_draws_that_share_true_positives(counts, prior, beta):
    tp, fp, fn = counts
    rng = np.random.default_rng(0)
    found, false, missed = (rng.gamma(n + prior, size=200_000) for n in (tp, fp, fn))
    precision, recall = found / (found + false), found / (found + missed)
    draws = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    posterior = of_counts(*counts, prior=prior).f_score(beta)
    error = draws.std() / math.sqrt(draws.size)
    assert abs(draws.mean() - posterior.mean()) < 4.5 * error
    assert_allclose(draws.std(), posterior.std(), rtol=0.02)
    x = np.linspace(0.05, 0.95, 10)
    expected = posterior.cdf(x)
    for sample in (draws, posterior.rvs(200_000, random_state=1)):
        found = np.mean(sample[:, None] <= x, axis=0)
        error = np.sqrt(expected * (1 - expected) / sample.size)
        assert_array_equal(np.abs(found - expected) <= 4.5 * error + 1e-5, True)


@pytest.mark.parametrize("beta", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("counts", STRUCTURES)
def test_moments_are_integrals_of_the_exact_tail(counts, beta):
    posterior = of_counts(*counts, prior=1).f_score(beta)
    x, weights = np.polynomial.legendre.leggauss(60)
    x, weights = 0.5 * (x + 1), 0.5 * weights
    tail = np.array([exact_tail(*counts, beta, f) for f in x])
    mean = weights @ tail
    assert_allclose(posterior.mean(), mean, rtol=2e-6)
    assert_allclose(posterior.var(), 2 * weights @ (x * tail) - mean**2, rtol=2e-5)


@pytest.mark.parametrize("beta", [0.5, 1.0, 4.0])
def test_probability_that_an_f_score_is_greater(beta):
    """Against a sum over small steps of the one exact distribution and the other."""
    first, second = (10, 10, 3), (6, 2, 7)
    steps = np.arange(1, 400) / 400
    tails = [
        np.array([1.0, *(exact_tail(*counts, beta, f) for f in steps), 0.0])
        for counts in (first, second)
    ]
    middle = 0.5 * (tails[0][1:] + tails[0][:-1])
    expected = -np.sum(middle * np.diff(tails[1]))
    posteriors = [of_counts(*counts, prior=1) for counts in (first, second)]
    assert_allclose(posteriors[0].probability_greater(posteriors[1], beta), expected, atol=2e-5)


@pytest.mark.parametrize("beta", [0.3, 1.0])
@pytest.mark.parametrize("counts", STRUCTURES[1:5])
def test_quantiles_invert_tails(counts, beta):
    posterior = of_counts(*counts).f_score(beta)
    q = np.array([1e-30, 1e-6, 0.025, 0.5, 0.9])
    assert_allclose(posterior.cdf(posterior.ppf(q)), q, rtol=1e-9)
    x = posterior.isf(q[1:])
    # Near 1 a quantile has no more digits than the floating-point numbers there.
    near = np.maximum(1e-9, 1e-14 * posterior.pdf(np.minimum(x, 1 - 1e-12)) / q[1:])
    assert_array_equal(
        np.abs(posterior.sf(x) / q[1:] - 1) < np.where(x > 1 - 1e-6, 1.0, near), True
    )
    assert_array_equal(posterior.ppf([0.0, 1.0]), [0.0, 1.0])
    assert_array_equal(posterior.isf([0.0, 1.0]), [1.0, 0.0])
    assert posterior.median() == posterior.ppf(0.5)
    assert_allclose(
        posterior.interval(0.95), (posterior.ppf(0.025), posterior.isf(0.025)), rtol=1e-13
    )


@pytest.mark.parametrize("beta", [0.3, 1.0, 2.0])
@pytest.mark.parametrize("counts", [(3, 2, 7), (8, 1, 1), (40, 1, 60)])
def test_density_is_the_slope(counts, beta):
    posterior = of_counts(*counts, prior=1).f_score(beta)
    for x in (0.2, 0.5, 0.8):
        step = Fraction(1, 10**6)
        low, high = (
            exact_tail(*counts, Fraction(str(beta)), Fraction(str(x)) + s * step) for s in (-1, 1)
        )
        assert_allclose(posterior.pdf(x), float((low - high) / (2 * step)), rtol=1e-8)
    assert_array_equal(posterior.pdf([-0.1, 1.1]), 0.0)


def test_density_at_the_ends():
    assert_array_equal(of_counts(3, 2, 7).f_score(2.0).pdf([0.0, 1.0]), [0.0, 0.0])
    assert of_counts(0, 2, 7).f_score(2.0).pdf(0.0) == np.inf
    # F1 = 2G/(1 + G) with G of Beta(1, 2): its density at 0 is 2/2.
    assert of_counts(0, 0, 0, prior=1).f_score().pdf(0.0) == pytest.approx(1.0)


def test_f1_without_beta_is_the_limit_of_others():
    posterior = of_counts(12, 5, 9)
    x = np.linspace(0.2, 0.9, 8)
    assert_allclose(posterior.f_score(1 + 1e-9).sf(x), posterior.f_score().sf(x), rtol=1e-6)


@pytest.mark.parametrize(("beta", "name"), [(1e-6, "precision"), (1e6, "recall")])
def test_extreme_beta_is_precision_or_recall(beta, name):
    posterior = of_counts(12, 5, 9)
    x = np.linspace(0.2, 0.9, 8)
    assert_allclose(posterior.f_score(beta).cdf(x), getattr(posterior, name).cdf(x), rtol=1e-6)


def test_outside_the_support():
    posterior = of_counts(12, 5, 9).f_score(2.0)
    assert_allclose(posterior.cdf([-1.0, 0.0, 1.0, 2.0]), [0.0, 0.0, 1.0, 1.0], rtol=1e-14)
    assert_allclose(posterior.sf([-1.0, 0.0, 1.0, 2.0]), [1.0, 1.0, 0.0, 0.0], rtol=1e-14)
    assert isinstance(posterior.cdf(0.5), float)
    assert posterior.cdf([[0.5], [0.6]]).shape == (2, 1)


def test_draws_have_a_shape_and_a_seed():
    posterior = of_counts(12, 5, 9).f_score(2.0)
    assert posterior.rvs((2, 3), random_state=0).shape == (2, 3)
    assert_array_equal(posterior.rvs(5, random_state=3), posterior.rvs(5, random_state=3))


# Input


def test_predictions_are_counted():
    rng = np.random.default_rng(0)
    y_true, y_pred = rng.random(80) < 0.3, rng.random(80) < 0.4
    (_, fp), (fn, tp) = confusion_matrix(y_true, y_pred)
    expected = (tp, fp, fn)
    words = [np.where(values, "spam", "ham") for values in (y_true, y_pred)]
    for read in (list, pd.Series, pl.Series, np.asarray):
        found = PrecisionRecallPosterior.from_predictions(
            read(words[0]), read(words[1]), pos_label="spam", prior=1
        )
        assert (found.tp, found.fp, found.fn, found.prior) == (*expected, 1.0)
    found = PrecisionRecallPosterior.from_predictions(y_true, y_pred.astype(int))
    assert (found.tp, found.fp, found.fn) == expected


def test_representations_and_pickles():
    posterior = of_counts(1, 2, 3, prior=0.25)
    assert repr(posterior) == "PrecisionRecallPosterior(tp=1, fp=2, fn=3, prior=0.25)"
    f_score = posterior.f_score(2)
    assert repr(f_score) == f"FScorePosterior({posterior!r}, beta=2)"
    assert pickle.loads(pickle.dumps(f_score)).sf(0.5) == f_score.sf(0.5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: of_counts(-1, 0, 0), ValueError, "tp must be at least 0; got -1"),
        (lambda: of_counts(1, 0.5, 0), TypeError, "fp must be an integer; got 0.5"),
        (
            lambda: of_counts(1, 0, 0, prior=0),
            ValueError,
            "prior must be finite and larger than 0; got",
        ),
        (lambda: of_counts(1, 0, 0, prior="1"), TypeError, "prior must be a number; got '1'"),
        (lambda: of_counts(1, 0, 0).f_score(math.inf), ValueError, "beta must be finite and larg"),
        (lambda: paired_outcome_posterior(1, -2), ValueError, "n_only_b must be at least 0; got"),
        (
            lambda: of_counts(1, 0, 0).probability_greater(0.5),
            TypeError,
            "other must be a PrecisionRecallPosterior; got an object of type float",
        ),
        (
            lambda: of_counts(1, 0, 0).probability_greater(of_counts(1, 0, 0), "auc"),
            ValueError,
            "metric must be one of 'precision', 'recall', 'f1', or a positive number, the beta",
        ),
        (
            lambda: PrecisionRecallPosterior.from_predictions([0, 1], [0, 1, 1]),
            ValueError,
            "y_true and y_pred must have the same length; got lengths 2, 3",
        ),
        (
            lambda: PrecisionRecallPosterior.from_predictions([0, 1], [0.5, 1]),
            ValueError,
            "y_pred must hold class labels; got the continuous value 0.5",
        ),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_draws_of_an_f_score_with_a_weak_prior():
    # All three gamma variates of such a prior are often below the smallest float.
    prior, beta = 1e-3, 2.0
    f_score = PrecisionRecallPosterior(0, 0, 0, prior=prior).f_score(beta=beta)
    draws = f_score.rvs(20_000, random_state=0)
    # Nearly all the weight is on one of the three counts: the score is 1 with one third.
    assert np.all((draws >= 0.0) & (draws <= 1.0))
    assert draws.mean() == pytest.approx(1 / 3, abs=0.02)
    f_score = PrecisionRecallPosterior(30, 40, 5, prior=0.5).f_score(beta=beta)
    rng = np.random.default_rng(1)
    found, false, missed = rng.gamma(np.array([30.5, 40.5, 5.5]), size=(20_000, 3)).T
    expected = 5.0 * found / (5.0 * found + 4.0 * missed + false)
    assert stats.ks_2samp(f_score.rvs(20_000, random_state=0), expected).pvalue > 0.01
