"""Models of rankings that are better than random: draws, distribution of hits at k, expectations.

Scores are independent, and a model is given by its ROC curve: the expected share of the positives
above a threshold as a function of the share u of the negatives above it. For an effect x,

* ``1 - (1 - u)**exp(x)``, proportional odds: every positive has the odds exp(x) against a negative
  at each draw without replacement. Equivalently, items arrive at exponential times, positives at
  the rate exp(x). Hits among the first k have Wallenius' noncentral hypergeometric distribution
  (Fog 2008 [1]_), and rankings have the Plackett-Luce distribution;
* ``Phi(d + Phi^-1(u))``, binormal, with ``d = sqrt(2) Phi^-1(AUC)`` and x the logit of the AUC.

In both models x is the logit of the AUC, the probability that a positive is above a negative.
Probabilities of hits are integrals over the density of one order statistic, computed by the
trapezoidal rule over a logit, where the integrand is analytic and falls exponentially.

References
----------
.. [1] Fog, A. (2008). Calculation methods for Wallenius' noncentral hypergeometric distribution.
   Communications in Statistics - Simulation and Computation, 37(2), 258-273.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import betainc, expit, log_expit, log_ndtr, ndtri, ndtri_exp, polygamma

from sklearn_rankinf._estimation import BinormalRankings, RankingDraws
from sklearn_rankinf._statistics import Floats, Integers

# Nodes of the trapezoidal rule over the logit of a share with the density of an order statistic.
_N_POINTS = 512
# Truncation: the rule ends where the log density is this many nats below its maximum.
_DEPTH = 42.0
# Step of both trapezoidal rules of expected average precision, in log units.
_STEP = 0.125
# First node of these rules at n = 1, in log units; it moves down by log(n) rounded up.
_SMALLEST = -41.0
# Last node of the rule over log(-log s), where s = exp(-e**6.75) underflows.
_LARGEST = 6.75
# Largest logit of a share above a threshold that is searched for.
_REACH = 60.0
# Number of integrands held in memory at a time.
_CELLS = 2**20


class OddsRankings(RankingDraws):
    """Draws of rankings in the model of proportional odds.

    The effects x are logarithms of the odds. Arrival times of the positives are E / exp(x), with
    the same exponential variables E for all effects.
    """

    def _noise(self, n_rows: int) -> Floats:
        return np.sort(self._rng.standard_exponential((n_rows, self.n_positives)), axis=1)

    def _shares_above(self, noise: Floats, effects: Floats) -> Floats:
        return np.asarray(-np.expm1(-noise[:, None, :] * np.exp(-effects)[:, None]))


class RankingModel:
    """The ROC curve of a model in logits, rankings drawn from the model, and their expectations.

    An effect is the logit of the AUC.
    """

    # Whether the probability of every placement of the positives is known.
    has_placements: ClassVar[bool] = False

    def positives_above(self, effect: Any, z: Floats) -> Floats:
        """Logit of the share of positives above, from that of the negatives."""
        raise NotImplementedError

    def negatives_above(self, effect: Any, z: Floats) -> Floats:
        """Logit of the share of negatives above, from that of the positives."""
        return self.positives_above(-np.asarray(effect), z)

    def rankings(self, n_samples: int, n_positives: int, seed: Any) -> RankingDraws:
        """Draws of rankings."""
        raise NotImplementedError

    def parameters(self, effects: Floats) -> Floats:
        """Parameters of the draws for some effects."""
        return effects

    def placement_probabilities(self, ranks: Integers, n: int, effect: float) -> Floats:
        """Probability of each placement of the positives at ascending ranks."""
        raise NotImplementedError

    def hits_tail(self, h: Any, n: Any, m: Any, k: Any, effect: float) -> Floats:
        r"""Probability of at least h hits among the first k of n items, m of them positive.

        The counts are broadcast against each other; the effect is the logit of the AUC. There are
        at least h hits if and only if the h-th best positive is above the (k - h + 1)-th best
        negative. The shares above them are order statistics of uniform variables, and the
        probability is an integral of the density of one, :math:`\mathrm{Beta}(k - h + 1,\, n - m -
        k + h)` or :math:`\mathrm{Beta}(h,\, m - h + 1)`, times the distribution function of the
        other. The narrower density is integrated by the trapezoidal rule over the logit.
        """
        h, n, m, k = np.broadcast_arrays(*(np.asarray(x, dtype=np.int64) for x in (h, n, m, k)))
        out = np.where(h <= np.maximum(0, k - (n - m)), 1.0, 0.0)
        inside = (out == 0.0) & (h <= np.minimum(m, k))
        if inside.any():
            parts = [x[inside].astype(float) for x in (h, n, m, k)]
            size = max(1, _CELLS // _N_POINTS)
            edges = range(0, parts[0].size, size)
            chunks = [_Counts(*(x[i : i + size] for x in parts)) for i in edges]
            with np.errstate(under="ignore"):
                found = [_order_integral(chunk, effect, self) for chunk in chunks]
            out[inside] = np.concatenate(found)
        return out

    def expected_hits(self, n: int, m: int, k: int, effect: float) -> float:
        """Expected number of hits among the first k, the sum of P(at least h hits) over h.

        The probabilities are 1 far below the middle and 0 far above it; only the others are
        computed.
        """
        low, high = max(0, k - (n - m)), min(m, k)
        # The threshold with k expected items above it gives the mean within a few deviations.
        z = _smallest_reaching(
            lambda z: m * expit(self.positives_above(effect, z)) + (n - m) * expit(z) - k
        )
        middle = m * float(expit(self.positives_above(effect, np.asarray(z))))
        reach = 12.0 * math.sqrt(min(m, k, n)) + 50.0
        first, last = max(low, math.floor(middle - reach)), min(high, math.ceil(middle + reach))
        return first + float(self.hits_tail(np.arange(first + 1, last + 1), n, m, k, effect).sum())

    def expected_average_precision(self, n: int, m: int, effect: float) -> float:
        r"""Expected average precision of n items, m of them positive.

        Let p be the expected share of the other positives above a positive, and u that of the
        negatives. The numbers A and B of positives and negatives above it are independent binomial,
        and

        .. math:: E\,\frac{1 + A}{1 + A + B} = \int_0^1 \frac{d}{ds}
                  \Big[ s (1 - p + p s)^{m-1} \Big] (1 - u + u s)^{n-m}\, ds.

        The mean over uniform p is expected average precision. Both integrals are computed by the
        trapezoidal rule, over the logit of p and over :math:`\log(-\log s)`.
        """
        smallest = _SMALLEST - math.ceil(math.log(n))
        z = np.arange(smallest, -smallest, _STEP)[:, None]
        # The ends are multiples of the step, so that nodes and their distances are exact floats.
        y = np.exp(np.arange(smallest, _LARGEST, _STEP))
        p, u = expit(z), expit(self.negatives_above(effect, z))
        missing = -np.expm1(-y)
        positives, negatives = -p * missing, -u * missing
        with np.errstate(divide="ignore", under="ignore"):
            log_q, log_u = (np.log1p(np.maximum(x, -1.0)) for x in (positives, negatives))
            inner = np.exp((m - 1) * log_q) if m > 1 else np.ones_like(log_q)
            derived = inner
            if m > 1:
                power = np.exp((m - 2) * log_q) if m > 2 else np.ones_like(log_q)
                derived = inner + (m - 1) * p * np.exp(-y) * power
            others = np.exp((n - m) * log_u) if n > m else 1.0
            inside = (derived * others * np.exp(-y) * y).sum(axis=1) * _STEP
        return float((inside * (p * expit(-z))[:, 0]).sum() * _STEP)

    def expected_reciprocal_rank(self, n: int, m: int, effect: float) -> float:
        """Expected reciprocal rank of the best positive.

        With the expected share u of the negatives above the best positive, their number A is
        binomial and ``E 1 / (1 + A) = (1 - (1 - u)**(n - m + 1)) / ((n - m + 1) u)``.
        """
        z, weights = _order_nodes(np.array([1.0]), np.array([float(m)]))
        u = expit(self.negatives_above(effect, z))
        ranks = n - m + 1
        with np.errstate(divide="ignore", invalid="ignore"):
            value = -np.expm1(ranks * np.log1p(-u)) / (ranks * u)
        return float((weights * np.where(u > 0.0, value, 1.0)).sum())


class ProportionalOdds(RankingModel):
    """Every positive has the odds exp(effect) against a negative at each draw."""

    has_placements = True

    def positives_above(self, effect: Any, z: Floats) -> Floats:
        return _logit_of_complement(np.exp(effect) * log_expit(-z))

    def rankings(self, n_samples: int, n_positives: int, seed: Any) -> RankingDraws:
        return OddsRankings(n_samples, n_positives, seed)

    def placement_probabilities(self, ranks: Integers, n: int, effect: float) -> Floats:
        """Probability of each placement in the model of proportional odds.

        With h positives and j negatives left, a positive is drawn with the probability
        ``exp(x) h / (exp(x) h + j)``.
        """
        m = ranks.shape[1]
        n_negatives = n - m
        odds = math.exp(effect)
        left = np.arange(m, -1, -1)
        # Entry (i, j): log probability of the first j draws of negatives with i positives drawn.
        negatives = np.arange(n_negatives, 0, -1)
        log_total = np.log(odds * left[:, None] + negatives)
        log_miss = np.pad((np.log(negatives) - log_total).cumsum(axis=1), ((0, 0), (1, 0)))
        ahead = np.diff(ranks - np.arange(1, m + 1), axis=1, prepend=0)
        log_p = np.zeros(len(ranks))
        drawn = np.zeros(len(ranks), dtype=np.int64)
        for i in range(m):
            until = drawn + ahead[:, i]
            log_p += log_miss[i, until] - log_miss[i, drawn]
            hit = odds * (m - i)
            log_p += np.log(hit / (hit + (n_negatives - until)))
            drawn = until
        return np.asarray(np.exp(log_p))


class Binormal(RankingModel):
    """Positives score N(d, 1), negatives N(0, 1), and the AUC has the logit effect."""

    def positives_above(self, effect: Any, z: Floats) -> Floats:
        lower = np.where(z < 0.0, ndtri_exp(log_expit(-np.abs(z))), 0.0)
        quantile = np.where(z < 0.0, lower, -ndtri_exp(log_expit(-np.abs(z))))
        moved = quantile + self.parameters(effect)
        return np.asarray(log_ndtr(moved) - log_ndtr(-moved))

    def rankings(self, n_samples: int, n_positives: int, seed: Any) -> RankingDraws:
        return BinormalRankings(n_samples, n_positives, seed)

    def parameters(self, effects: Any) -> Floats:
        """Shifts of the scores of the positives."""
        x = np.asarray(effects, dtype=float)
        # The quantile of a probability near 1 is minus that of its complement.
        return np.asarray(-math.sqrt(2.0) * np.sign(x) * ndtri(expit(-np.abs(x))))


def _logit_of_complement(log_q: Floats) -> Floats:
    """Logit of 1 - q from the logarithm of q."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(-np.expm1(log_q)) - log_q)


class _Counts(NamedTuple):
    """Numbers of hits, of items, of positives, and of items among the first k."""

    h: Floats
    n: Floats
    m: Floats
    k: Floats


def _order_integral(counts: _Counts, effect: float, model: RankingModel) -> Floats:
    """Probability that the h-th best positive is above the (k - h + 1)-th best negative."""
    h, n, m, k = counts
    positive, negative = (h, m - h + 1.0), (k - h + 1.0, n - m - k + h)
    middle, width = np.log(h / positive[1]), _deviation(*positive)
    ends = [model.negatives_above(effect, middle + side * width) for side in (-1.0, 1.0)]
    over_positive = ends[1] - ends[0] < 2.0 * _deviation(*negative)
    out = np.empty(h.shape)
    for chosen, density, other, across in (
        (over_positive, positive, negative, model.negatives_above),
        (~over_positive, negative, positive, model.positives_above),
    ):
        if not chosen.any():
            continue
        z, weights = _order_nodes(*(x[chosen] for x in density))
        a, b = (x[chosen][:, None] for x in other)
        moved = across(effect, z)
        below = betainc(a, b, expit(moved)) if density is negative else betainc(b, a, expit(-moved))
        out[chosen] = (weights * below).sum(axis=1)
    return np.minimum(out, 1.0)


def _deviation(a: Floats, b: Floats) -> Floats:
    """Standard deviation of the logit of a beta variable."""
    return np.asarray(np.sqrt(polygamma(1, a) + polygamma(1, b)))


def _order_nodes(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Nodes (logits) and weights of shape (n, n_points) for expectations over beta variables."""
    share = a / (a + b)

    def log_density(away: Floats) -> Floats:
        # Log density relative to its maximum, which has little cancellation for large a and b.
        shape = (-1,) + (1,) * (away.ndim - 1)
        first, total, middle = (x.reshape(shape) for x in (a, a + b, share))
        growth = np.where(away < 30.0, np.log1p(middle * np.expm1(np.minimum(away, 30.0))), 0.0)
        growth = np.where(away < 30.0, growth, away + np.log(middle))
        return np.asarray(first * away - total * growth)

    ends = []
    for side in (-1.0, 1.0):
        far = _deviation(a, b)
        while (going := log_density(side * far) > -_DEPTH).any():
            far = np.where(going, 2.0 * far, far)
        near = np.zeros_like(far)
        for _ in range(20):
            halfway = 0.5 * (near + far)
            is_deep = log_density(side * halfway) < -_DEPTH
            near, far = np.where(is_deep, near, halfway), np.where(is_deep, halfway, far)
        ends.append(side * far)
    away = np.linspace(ends[0], ends[1], _N_POINTS, axis=-1)
    density = np.exp(log_density(away))
    return np.log(a / b)[:, None] + away, density / density.sum(axis=1, keepdims=True)


def _smallest_reaching(growing: Any) -> float:
    """Zero of an increasing function by bisection; an end of the range if there is no zero."""
    low, high = -_REACH, _REACH
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if growing(np.asarray(middle)) >= 0.0 else (middle, high)
    return high


def placements(n: int, m: int) -> Integers:
    """All sets of ascending ranks of the positives, from 1."""
    found = [np.fromiter(one, np.int64, m) for one in combinations(range(1, n + 1), m)]
    return np.stack(found)
