"""Intervals of metrics and tests of their differences, from values, variances and counts.

Functions of numbers are vectorised over all of them, including the level. With m positives,
estimated variances have ``m - 1`` degrees of freedom, since positives are rarer than negatives and
determine the error.

=====================================  ========================================================
average precision, also at k           t interval on the scale ``g(t) = -log(-log t)``
area under the ROC curve               score interval, Newcombe's method 5
recall at k                            score interval, a quadratic; Clopper-Pearson; "plus"
difference of two metrics              MOVER, from the interval of each
difference that agrees with a test     least and largest in the confidence ellipse of both
two metrics of the same items          t test on the g scale
hits at k of two rankers               hypergeometric given the counts; McNemar; EmProc
=====================================  ========================================================

References
----------
.. [1] Newcombe, R. G. (2006). Confidence intervals for an effect size measure based on the
   Mann-Whitney statistic, part 2. Statistics in Medicine 25, 559-573.
.. [2] Zou, G. Y. and Donner, A. (2008). Construction of confidence limits about effect measures: a
   general approach. Statistics in Medicine 27, 1693-1702.
.. [3] Ash, J. R. and Hughes-Oliver, J. M. (2022). Confidence bands and hypothesis tests for hit
   enrichment curves. Journal of Cheminformatics 14, 50.
.. [4] Boyd, K., Eng, K. H. and Page, C. D. (2013). Area under the precision-recall curve: point
   estimates and confidence intervals. ECML PKDD 2013, 451-466.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import bdtr, betaincinv, expit, logit, ndtr, ndtri, stdtr, stdtrit, xlog1py

from sklearn_rankinf._statistics import Floats, Integers, log_pmf, log_tail

Numbers: TypeAlias = float | Floats | Integers
"""One number, or an array of them."""

# Absolute tolerance within which a value is an end of [0, 1]: a mean of ones has rounding errors.
_END = 8.0 * float(np.finfo(float).eps)
# A variance below this share of a reference variance is 0 up to rounding.
_ROUNDING = 1e-13
# Bisections of the unit interval: 2**-64 is below the resolution of floats near 1.
_HALVINGS = 64
# Newton's steps on a convex function; a few suffice.
_NEWTON_STEPS = 60
# Golden sections: the angle is then within 1e-9, and a value at its maximum within 1e-18.
_GOLDEN, _SECTIONS = (math.sqrt(5.0) - 1.0) / 2.0, 36


class DifferenceTest(NamedTuple):
    """Statistic of a difference, its standard error on the scale of the test, and the p-value."""

    statistic: Floats
    standard_error: Floats
    pvalue: Floats


# The g scale.


def g_scale(t: Numbers) -> Floats:
    """``g(t) = -log(-log t)``; it is -inf at 0 and inf at 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(-np.log(_floats(t))))


def g_inverse(u: Numbers) -> Floats:
    """The t with ``g(t) = u``, which is ``exp(-exp(-u))``."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.exp(-np.exp(-_floats(u))))


def g_slope(t: Numbers) -> Floats:
    """The derivative ``g'(t) = -1 / (t log t)``; it is inf at 0 and at 1."""
    t = _floats(t)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = -1.0 / (t * np.log(t))
    return np.where((t == 0.0) | (t == 1.0), math.inf, slope)


# One metric.


def average_precision_limits(
    value: Numbers,
    variance: Numbers,
    n_positives: Numbers,
    confidence_level: Numbers = 0.95,
    *,
    k: Numbers = math.inf,
    maximum: Numbers = 1.0,
) -> tuple[Floats, Floats]:
    """Limits of average precision, of all ranks or at k, whose largest value is the maximum.

    They are ``g(S) -+ t sqrt(V) g'(S)``, mapped back, of ``S = value / maximum``. Special cases:

    * S = 1 with ``m <= k``: every positive is above all negatives. Average precision is at least
      the share of positives above all negatives, observed as m of m, whose exact lower limit is
      ``(alpha / 2) ** (1 / m)``.
    * S = 1 with ``k < m``: all k of k items are positives, so that the precision p at k is at
      least ``(alpha / 2) ** (1 / k)``. If precision falls with rank, S is at least p squared.
    * S = 0: none of m positives is in the top k, so that recall is at most
      ``1 - (alpha / 2) ** (1 / m)``; divided by ``min(m, k) / m`` it bounds S from above.
    * m = 1 otherwise: one positive has no variance estimate, and the limits are 0 and the maximum.
    """
    m, k = _floats(n_positives), _floats(k)
    share = _floats(value) / maximum
    tail = (1.0 - np.asarray(confidence_level)) / 2.0
    with np.errstate(invalid="ignore"):
        half = t_quantile(m - 1.0, confidence_level) * np.sqrt(variance) / maximum * g_slope(share)
        low, high = g_inverse(g_scale(share) - half), g_inverse(g_scale(share) + half)
    least = tail ** np.where(k < m, 2.0 / k, 1.0 / m)
    most = np.minimum((1.0 - tail ** (1.0 / m)) * m / np.minimum(m, k), 1.0)
    special = [share >= 1.0 - _END, share == 0.0, m < 2.0]
    low = np.select(special, [least, 0.0, 0.0], np.minimum(low, share))
    high = np.select(special, [1.0, most, 1.0], np.maximum(high, share))
    return low * maximum, high * maximum


def roc_auc_null_variance(theta: Numbers, n_positives: Numbers, n_negatives: Numbers) -> Floats:
    """Variance of the area under the ROC curve when it is theta, of Newcombe's method 5.

    It is Hanley and McNeil's, of exponential scores, with the mean of the class sizes for both:
    ``v = theta (1 - theta) [1 + N (1 - theta)/(2 - theta) + N theta/(1 + theta)] / (m n0)`` and
    ``N = (m + n0) / 2 - 1``.
    """
    theta, m = _floats(theta), _floats(n_positives)
    both = (m + n_negatives) / 2.0 - 1.0
    inner = 1.0 + both * (1.0 - theta) / (2.0 - theta) + both * theta / (1.0 + theta)
    return np.asarray(theta * (1.0 - theta) * inner / (m * n_negatives))


def roc_auc_limits(
    auc: Numbers,
    delong_variance: Numbers,
    n_positives: Numbers,
    n_negatives: Numbers,
    confidence_level: Numbers = 0.95,
    *,
    df: Numbers | None = None,
) -> tuple[Floats, Floats]:
    """Limits of all theta with ``(auc - theta)**2 <= t**2 c v(theta)``.

    With DeLong's variance V, ``r = V / v(auc)`` and ``c = max((1 + r) / 2, r)`` correct for scores
    that are not exponential; c is 1 if V is 0 up to rounding or, with a single negative, undefined.
    A single positive leaves no degrees of freedom, and the limits are 0 and 1.

    The degrees of freedom are m - 1 unless `df` is given, for example for clusters.

    There is one root on each side of the estimate: the logarithmic derivative of v towards 0 and 1
    is at most ``1 / theta + 1 / (1 - theta)``, and the square changes faster.
    """
    auc, variance = _floats(auc), _floats(delong_variance)
    m, n0 = _floats(n_positives), _floats(n_negatives)
    df = m - 1.0 if df is None else _floats(df)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = variance / roc_auc_null_variance(auc, m, n0)
    estimated = (ratio > _ROUNDING) & np.isfinite(ratio)
    scale = np.where(estimated, np.maximum((1.0 + ratio) / 2.0, ratio), 1.0)
    factor = t_quantile(df, confidence_level) ** 2 * scale
    # The variance is the same at theta and at 1 - theta.
    low, high = _lower_auc(auc, factor, m, n0), 1.0 - _lower_auc(1.0 - auc, factor, m, n0)
    return np.where(df < 1.0, 0.0, low), np.where(df < 1.0, 1.0, np.maximum(high, auc))


def _lower_auc(auc: Floats, factor: Floats, m: Floats, n0: Floats) -> Floats:
    """The smallest theta whose variance, times a factor, covers the distance from the estimate."""
    outside, inside = np.zeros(np.broadcast(auc, factor, n0).shape), auc
    for _ in range(_HALVINGS):
        middle = (outside + inside) / 2.0
        covered = (auc - middle) ** 2 <= factor * roc_auc_null_variance(middle, m, n0)
        outside, inside = np.where(covered, outside, middle), np.where(covered, middle, inside)
    return inside


def recall_limits(
    hits: Numbers,
    k: Numbers,
    slope: Numbers,
    n_samples: Numbers,
    n_positives: Numbers,
    confidence_level: Numbers = 0.95,
) -> tuple[Floats, Floats]:
    r"""Limits of recall at k; times ``m / k`` those of precision, times ``n / k`` of enrichment.

    With slope L, the probability of a positive at the threshold, they are the roots in kappa of

    .. math:: (h/m - \kappa)^2
              = t^2 [(1 - L)^2 \kappa (1 - \kappa) / m + L^2 n_0 f (1 - f) / m^2],

    where ``f = (k - m kappa) / n0`` is the share of the negatives in the top k. Recall of any
    ranking is between ``(k - n0) / m`` and ``k / m``, and within ``[0, 1]``; these are the limits
    for a single positive.
    """
    m = _floats(n_positives)
    top = TopFraction.of_sample(hits, k, slope, n_samples, n_positives)
    low, high = score_limits(top, t_quantile(m - 1.0, confidence_level))
    return np.where(m < 2.0, top.lowest, low), np.where(m < 2.0, top.highest, high)


class TopFraction(NamedTuple):
    """Hits and misses in the top fraction of a population, and what recall there may be.

    A fraction f of a population with prevalence pi lies above the threshold. Recall kappa and the
    false-positive rate phi there add up: ``pi kappa + (1 - pi) phi = f``. `all_hits` is
    ``f / pi``, the recall if all of them were positives, and `others` is ``(1 - f) / pi - 1``, so
    that ``(1 - phi) (1 - pi) / pi = others + kappa``. The slope is the probability of a positive at
    the threshold.
    """

    hits: Floats
    misses: Floats
    slope: Floats
    n_positives: Floats
    n_negatives: Floats
    all_hits: Floats
    others: Floats

    @classmethod
    def of_sample(
        cls, hits: Numbers, k: Numbers, slope: Numbers, n_samples: Numbers, n_positives: Numbers
    ) -> TopFraction:
        """The first k of a population with the prevalence of the sample."""
        m, k, h = _floats(n_positives), _floats(k), _floats(hits)
        n0 = _floats(n_samples) - m
        return cls(h, k - h, _floats(slope), m, n0, k / m, (n0 - k) / m)

    @property
    def recall(self) -> Floats:
        return np.asarray(self.hits / self.n_positives)

    @property
    def lowest(self) -> Floats:
        """Recall if as few as possible of those above the threshold are positives."""
        return np.maximum(-self.others, 0.0)

    @property
    def highest(self) -> Floats:
        return np.minimum(self.all_hits, 1.0)


def score_limits(top: TopFraction, critical_value: Numbers) -> tuple[Floats, Floats]:
    """The least and the largest recall whose distance from the observed one is allowed.

    It is at most the critical value times the standard error for this recall. In
    ``x = kappa - h/m`` that is ``lead x**2 - linear x - rest <= 0`` with ``lead > 0`` and
    ``rest >= 0``: one root on either side of the estimate.
    """
    estimate, square = top.recall, np.square(critical_value)
    by_positives = square * (1.0 - top.slope) ** 2 / top.n_positives
    # Without negatives recall is k / m, and so are both limits.
    by_negatives = square * top.slope**2 / np.maximum(top.n_negatives, 1.0)
    lead = 1.0 + by_positives + by_negatives
    linear = by_positives * (1.0 - 2.0 * estimate)
    linear += by_negatives * (top.all_hits - top.others - 2.0 * estimate)
    rest = by_positives * estimate * (1.0 - estimate)
    rest += by_negatives * (top.all_hits - estimate) * (top.others + estimate)
    root = np.sqrt(linear**2 + 4.0 * lead * np.maximum(rest, 0.0))
    low, high = estimate + (linear - root) / (2.0 * lead), estimate + (linear + root) / (2.0 * lead)
    return np.clip(low, top.lowest, estimate), np.clip(high, estimate, top.highest)


def likelihood_ratio_limits(top: TopFraction, critical_value: Numbers) -> tuple[Floats, Floats]:
    """The least and the largest recall by the likelihood ratio, with an effective sample size.

    With p the observed recall they are all kappa with ``2 n_e KL(p, kappa) <= c**2``, where KL is
    the divergence of two Bernoulli distributions, and ``n_e = p~ (1 - p~) / V`` with V the variance
    of recall at ``p~ = (h + 1/2) / (m + 1)`` and at the false-positive rate
    ``(w + 1/2) / (n0 + 1)``.
    """
    variance, p = variance_of_recall(top), top.recall
    smooth = (top.hits + 0.5) / (top.n_positives + 1.0)
    reach = np.square(critical_value) * variance / (2.0 * smooth * (1.0 - smooth))
    low, high = _nearest_bernoulli(p, reach), 1.0 - _nearest_bernoulli(1.0 - p, reach)
    return np.clip(low, top.lowest, p), np.clip(high, p, top.highest)


def variance_of_recall(top: TopFraction) -> Floats:
    """Variance of recall in the top fraction, with half a hit and half a miss added."""
    m, n0 = top.n_positives, top.n_negatives
    p, q = (top.hits + 0.5) / (m + 1.0), (top.misses + 0.5) / (n0 + 1.0)
    q = np.clip(q, 0.5 / (n0 + 1.0), 1.0 - 0.5 / (n0 + 1.0))
    # The odds of a negative, (1 - pi) / pi.
    odds = top.all_hits + top.others
    of_positives = (1.0 - top.slope) ** 2 * p * (1.0 - p) / m
    of_negatives = (top.slope * odds) ** 2 * q * (1.0 - q) / np.maximum(n0, 1.0)
    return np.asarray(of_positives + of_negatives)


def union_limits(top: TopFraction, critical_value: Numbers) -> tuple[Floats, Floats]:
    """The wider of the score and the likelihood-ratio limits of recall, on each side.

    Score limits are too short if few positives are missed, likelihood-ratio limits at the ends.
    """
    score, ratio = score_limits(top, critical_value), likelihood_ratio_limits(top, critical_value)
    return np.minimum(score[0], ratio[0]), np.maximum(score[1], ratio[1])


def _nearest_bernoulli(p: Floats, reach: Floats) -> Floats:
    """The smallest q below p with ``KL(p, q) <= reach``, for Bernoulli distributions.

    The divergence is convex in log q, so that Newton's method, from below the root, stays below it.
    It starts at the larger of two lower bounds: Pinsker's, and without ``-(1 - p) log(1 - q)``.
    """
    p, reach = np.broadcast_arrays(p, reach)
    where = (p > 0.0) & (reach > 0.0)
    q, p, reach = np.where(reach > 0.0, 0.0, p), p[where], reach[where]
    entropy = p * np.log(p) + xlog1py(1.0 - p, -p)
    with np.errstate(under="ignore"):
        least = np.exp((xlog1py(1.0 - p, -p) - reach) / p) * p
    root = np.maximum(np.maximum(least, p - np.sqrt(reach / 2.0)), np.finfo(float).tiny)
    for _ in range(_NEWTON_STEPS):
        excess = entropy - p * np.log(root) - xlog1py(1.0 - p, -root) - reach
        # The derivative by log q is (q - p) / (1 - q).
        step = excess * (1.0 - root) / (p - root)
        root = np.minimum(root * np.exp(np.maximum(step, 0.0)), p * (1.0 - _END))
        if np.all(step <= _END):
            break
    q[where] = root
    return q


def clopper_pearson_limits(
    successes: Numbers, n_trials: Numbers, confidence_level: Numbers = 0.95
) -> tuple[Floats, Floats]:
    """Clopper and Pearson's limits of a binomial proportion; ties may make successes fractional.

    Recall at k has the positives as trials, and precision at k the top k.
    """
    x, n = _floats(successes), _floats(n_trials)
    tail = (1.0 - np.asarray(confidence_level)) / 2.0
    # Parameters 0 of the beta distribution are replaced; np.where discards these limits.
    low = betaincinv(np.maximum(x, _END), n - x + 1.0, tail)
    high = betaincinv(x + 1.0, np.maximum(n - x, _END), 1.0 - tail)
    return np.where(x <= 0.0, 0.0, low), np.where(x >= n, 1.0, high)


def jeffreys_limits(
    successes: Numbers, n_trials: Numbers, confidence_level: Numbers = 0.95
) -> tuple[Floats, Floats]:
    """Quantiles of the posterior distribution of a binomial proportion under Jeffreys' prior."""
    a, b = _floats(successes) + 0.5, _floats(n_trials) - successes + 0.5
    tail = (1.0 - np.asarray(confidence_level)) / 2.0
    return np.asarray(betaincinv(a, b, tail)), np.asarray(betaincinv(a, b, 1.0 - tail))


def plus_recall_limits(
    hits: Numbers,
    k: Numbers,
    slope: Numbers,
    n_samples: Numbers,
    n_positives: Numbers,
    confidence_level: Numbers = 0.95,
) -> tuple[Floats, Floats]:
    """Limits of recall at k by Ash and Hughes-Oliver, with the "plus" correction.

    Four positives are added, two of them in the top k: the variance and the centre are computed
    with h + 2, m + 4, k + 2 and n + 4. The limits are clipped to 0 and ``min(1, k / m)``.
    """
    highest = np.minimum(_floats(k) / n_positives, 1.0)
    h, k = _floats(hits) + 2.0, _floats(k) + 2.0
    m, n = _floats(n_positives) + 4.0, _floats(n_samples) + 4.0
    half = _z_quantile(confidence_level) * np.sqrt(_recall_variance(h, k, slope, n, m))
    return np.clip(h / m - half, 0.0, highest), np.clip(h / m + half, 0.0, highest)


def boyd_logit_limits(
    value: Numbers, n_positives: Numbers, confidence_level: Numbers = 0.95
) -> tuple[Floats, Floats]:
    """Boyd, Eng and Page's limits ``expit(logit S -+ z / sqrt(m S (1 - S)))``.

    At S = 0 and S = 1 they are 0 and 1, since the standard error grows faster than the logit.
    """
    value = _floats(value)
    end = (value <= 0.0) | (value >= 1.0)
    inner = np.where(end, 0.5, value)
    half = _z_quantile(confidence_level) / np.sqrt(n_positives * inner * (1.0 - inner))
    centre = logit(inner)
    return np.where(end, 0.0, expit(centre - half)), np.where(end, 1.0, expit(centre + half))


def boyd_binomial_limits(
    value: Numbers, n_positives: Numbers, confidence_level: Numbers = 0.95
) -> tuple[Floats, Floats]:
    """Boyd, Eng and Page's limits ``S -+ z sqrt(S (1 - S) / m)``, clipped to [0, 1]."""
    value = _floats(value)
    half = _z_quantile(confidence_level) * np.sqrt(value * (1.0 - value) / n_positives)
    return np.maximum(value - half, 0.0), np.minimum(value + half, 1.0)


# The difference of two metrics of the same items.


def wilson_limits(
    hits: Numbers, n: Numbers, confidence_level: Numbers = 0.95
) -> tuple[Floats, Floats]:
    """Wilson's limits of a probability from hits in n trials."""
    hits, n = _floats(hits), _floats(n)
    z2 = ndtri((1.0 + np.asarray(confidence_level)) / 2.0) ** 2
    middle = (hits + z2 / 2.0) / (n + z2)
    half = np.sqrt(z2 * (hits * (n - hits) / n + z2 / 4.0)) / (n + z2)
    low, high = np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
    return np.where(hits == 0.0, 0.0, low), np.where(hits == n, 1.0, high)


def precision_above_limits(
    hits: Numbers,
    misses: Numbers,
    n_positives: Numbers,
    n_negatives: Numbers,
    prevalence: Numbers,
    confidence_level: Numbers = 0.95,
) -> tuple[Floats, Floats, Floats]:
    """Precision of the items above a score, and its limits, from the items above in each class.

    The odds of precision are the odds of the prevalence, times the rate of the positives above the
    score, divided by that of the negatives. MOVER combines Wilson's limits of both rates on the
    logarithmic scale, about rates with half an item added.
    """
    counts = (hits, n_positives), (misses, n_negatives)
    own, other = (np.log((_floats(x) + 0.5) / (_floats(n) + 1.0)) for x, n in counts)
    with np.errstate(divide="ignore"):
        (low, high), (other_low, other_high) = (
            tuple(np.log(limit) for limit in wilson_limits(x, n, confidence_level))
            for x, n in counts
        )
    below = np.hypot(np.maximum(own - low, 0.0), np.maximum(other_high - other, 0.0))
    above = np.hypot(np.maximum(high - own, 0.0), np.maximum(other - other_low, 0.0))
    middle = logit(_floats(prevalence)) + own - other
    return expit(middle), expit(middle - below), expit(middle + above)


def mover_limits(
    value1: Numbers,
    low1: Numbers,
    high1: Numbers,
    value2: Numbers,
    low2: Numbers,
    high2: Numbers,
    correlation: Numbers = 0.0,
) -> tuple[Floats, Floats]:
    """Limits of a difference by the method of variance estimates recovery (Zou and Donner 2008).

    The correlation is that of the estimates. A correlation of nan, of an estimate without variance
    such as an average precision of 1, is replaced by 0.
    """
    value1, value2 = _floats(value1), _floats(value2)
    correlation = _floats(np.where(np.isnan(correlation), 0.0, correlation))
    difference = value1 - value2
    below = _third_side(value1 - _floats(low1), _floats(high2) - value2, correlation)
    above = _third_side(_floats(high1) - value1, value2 - _floats(low2), correlation)
    return np.asarray(difference - below), np.asarray(difference + above)


def _third_side(one: Floats, other: Floats, cosine: Floats) -> Floats:
    """The square root of ``a**2 + b**2 - 2 a b cos`` without cancellation for a near b."""
    return np.sqrt((one - other) ** 2 + 2.0 * (1.0 - cosine) * one * other)


def mover_average_limits(
    values: Floats, lows: Floats, highs: Floats, shares: Floats, correlation: Floats
) -> tuple[Floats, Floats]:
    r"""Limits of a weighted mean of correlated estimates by the same method.

    With the shares :math:`s_i` and the correlations :math:`\rho_{ij}`, the lower limit is

    .. math:: \sum_i s_i \theta_i
              - \Big(\sum_{ij} \rho_{ij} s_i (\theta_i - l_i) s_j (\theta_j - l_j)\Big)^{1/2}.
    """
    mean = shares @ values
    below, above = shares * (values - lows), shares * (highs - values)
    return (
        np.asarray(mean - np.sqrt(np.maximum(below @ correlation @ below, 0.0))),
        np.asarray(mean + np.sqrt(np.maximum(above @ correlation @ above, 0.0))),
    )


def ellipse_limits(
    inverse: Callable[[Floats], Floats],
    u1: Floats,
    u2: Floats,
    variance1: Numbers,
    variance2: Numbers,
    covariance: Numbers,
    critical_value: Numbers,
) -> tuple[Floats, Floats]:
    r"""Limits of ``t1 - t2`` that agree with the t test of ``u1 - u2``, for ``t = inverse(u)``.

    They are the least and the largest difference in the confidence ellipse of both values on the
    scale of the test, :math:`(u - \hat u)^T \Sigma^{-1} (u - \hat u) \le c^2`, and enclose 0 if
    and only if the ellipse meets the line ``u1 = u2``: if ``|u1 - u2| <= c SE``. With ``cos(psi)``
    the correlation, the border is ``u1 + c s1 cos(phi)``, ``u2 + c s2 cos(phi - psi)``.
    """
    s1, s2 = np.sqrt(variance1), np.sqrt(variance2)
    product = s1 * s2
    cosine = np.divide(covariance, product, out=np.zeros_like(product), where=product > 0.0)
    psi = np.arccos(np.clip(cosine, -1.0, 1.0))

    def difference(phi: Floats) -> Floats:
        first = inverse(u1 + critical_value * s1 * np.cos(phi))
        return first - inverse(u2 + critical_value * s2 * np.cos(phi - psi))

    return -_largest(lambda phi: -difference(phi)), _largest(difference)


def _largest(function: Callable[[Floats], Floats]) -> Floats:
    """Largest value over all angles, by a grid and a golden section search."""
    grid, step = np.linspace(0.0, 2.0 * math.pi, 256, retstep=True)
    middle = grid[np.argmax([function(phi) for phi in grid], axis=0)]
    low, high = middle - step, middle + step
    for _ in range(_SECTIONS):
        one, other = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        rising = function(one) < function(other)
        low, high = np.where(rising, one, low), np.where(rising, high, other)
    return function((low + high) / 2.0)


def difference_error(variance1: Numbers, variance2: Numbers, covariance: Numbers = 0.0) -> Floats:
    """Standard error of a difference; exactly 0 where the variances cancel up to rounding."""
    both = _floats(variance1) + variance2
    variance = both - 2.0 * np.asarray(covariance)
    # A variance of nan is kept: its comparison is false.
    none = variance <= _ROUNDING * both
    return np.sqrt(np.where(none, 0.0, variance))


def metric_difference_test(
    value1: Numbers,
    value2: Numbers,
    variance1: Numbers,
    variance2: Numbers,
    covariance: Numbers,
    n_positives: Numbers,
    alternative: str = "two-sided",
    *,
    on_g_scale: bool = True,
    maximum: Numbers = 1.0,
) -> DifferenceTest:
    """Student's t test of two metrics of the same items, ``m - 1`` degrees of freedom.

    On the g scale the statistic is ``(g(S1) - g(S2)) / SE[g'(S1) D1 - g'(S2) D2]``, with the
    errors D whose variances and covariance are given, and ``S = value / maximum``. If S1 or S2 is
    0 or 1, the slope of g is infinite, and the metrics are compared on their original scale.
    `t_test` documents a standard error of 0.
    """
    shares = [_floats(value) / maximum for value in (value1, value2)]
    scales = [np.ones(np.broadcast(*shares).shape)] * 2
    difference = shares[0] - shares[1]
    if on_g_scale:
        raw = np.any([(s <= 0.0) | (s >= 1.0 - _END) for s in np.broadcast_arrays(*shares)], axis=0)
        scales = [np.where(raw, 1.0, g_slope(share)) for share in shares]
        with np.errstate(invalid="ignore"):
            difference = np.where(raw, difference, g_scale(shares[0]) - g_scale(shares[1]))
    one, other = (scale / maximum for scale in scales)
    error = difference_error(
        one**2 * variance1, other**2 * variance2, one * other * np.asarray(covariance)
    )
    return t_test(difference, error, np.asarray(n_positives) - 1.0, alternative)


def t_test(
    difference: Numbers,
    standard_error: Numbers,
    df: Numbers,
    alternative: str = "two-sided",
) -> DifferenceTest:
    """Student's t test of a difference; infinite degrees of freedom make it a z test.

    A standard error of 0 gives p = 1 and the statistic nan, whatever the difference: the rankings
    are equal, or the sample is too small to estimate the error (a perfect ranking and a constant
    score, for example), and a p-value of 0 would claim a certainty that no sample gives. The result
    is the same with fewer than one degree of freedom.
    """
    difference, error = np.broadcast_arrays(_floats(difference), _floats(standard_error))
    df = _floats(df)
    none = (error == 0.0) | (df < 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(none, math.nan, difference / error)
    pvalue = np.where(none, 1.0, _t_pvalue(statistic, df, alternative))
    return DifferenceTest(statistic, np.asarray(error), pvalue)


# Hits at k of two rankers.


def hypergeometric_pvalue(
    positives1: Numbers,
    positives2: Numbers,
    n_exclusive: Numbers,
    alternative: str = "two-sided",
    *,
    mid_p: bool = False,
) -> Floats:
    """Exact test that two lists of the same length have equally many positives.

    The test is conditional on the items in both lists. Each list has D exclusive items, and the two
    sets have d positives together. Given d, the number of positives in the first set is
    ``Hypergeometric(2 D, d, D)`` if each exclusive item is equally likely to be in either list. The
    mid-p-value includes half the probability of the observed number.
    """
    first, second = np.asarray(positives1), np.asarray(positives2)
    # Equal lists have no exclusive items: one exclusive negative each gives the same p-value.
    exclusive, both = np.maximum(n_exclusive, 1), first + second
    counts = first, 2 * exclusive, both, exclusive
    half = np.exp(log_pmf(*counts)) / 2.0 if mid_p else 0.0
    upper, lower = (np.exp(log_tail(*counts, sign)) - half for sign in (1, -1))
    return _of_tails(upper, lower, alternative)


def mcnemar_pvalue(
    positives1: Numbers, positives2: Numbers, alternative: str = "two-sided"
) -> Floats:
    """McNemar's exact test: a positive in one list only is in either one with probability 1/2.

    The test ignores the equal lengths of the lists, which makes it conservative.
    """
    first, second = np.asarray(positives1), np.asarray(positives2)
    # Both tails are lower tails, of exchanged lists, so that none is a difference from 1.
    upper, lower = bdtr(second, first + second, 0.5), bdtr(first, first + second, 0.5)
    return _of_tails(upper, lower, alternative)


class ListsOfTwo(NamedTuple):
    """Counts of the top k of two rankers, in one of the lists or both, and the slopes at k."""

    hits1: int
    hits2: int
    hits_both: int
    n_both: int
    k: int
    slope1: float
    slope2: float
    n_samples: int
    n_positives: int

    @property
    def plus_error(self) -> Floats:
        """Ash and Hughes-Oliver's standard error of the difference of the recalls.

        It has the "plus" correction: h + 1, m + 2, k + 1 and n + 2; counts of both lists are not
        corrected.
        """
        h1, h2 = self.hits1 + 1.0, self.hits2 + 1.0
        k, m, n = self.k + 1.0, self.n_positives + 2.0, self.n_samples + 2.0
        slope1, slope2 = self.slope1, self.slope2
        of_positives = self.hits_both / m - h1 / m * h2 / m
        of_items = self.n_both / n - (k / n) ** 2
        covariance = of_positives * (1.0 - slope1 - slope2) / m
        covariance += of_items * slope1 * slope2 * n / m**2
        first, second = (_recall_variance(h, k, L, n, m) for h, L in ((h1, slope1), (h2, slope2)))
        return difference_error(first, second, covariance)


def emproc_test(lists: ListsOfTwo, alternative: str = "two-sided") -> DifferenceTest:
    """Ash and Hughes-Oliver's EmProc test of equal recall at k, of the uncorrected difference."""
    difference = (lists.hits1 - lists.hits2) / lists.n_positives
    return t_test(difference, lists.plus_error, math.inf, alternative)


def emproc_limits(lists: ListsOfTwo, confidence_level: float = 0.95) -> tuple[Floats, Floats]:
    """Ash and Hughes-Oliver's limits of the difference, about ``(h1 - h2) / (m + 2)``."""
    centre = (lists.hits1 - lists.hits2) / (lists.n_positives + 2.0)
    half = _z_quantile(confidence_level) * lists.plus_error
    return np.maximum(centre - half, -1.0), np.minimum(centre + half, 1.0)


def _recall_variance(h: Numbers, k: Numbers, slope: Numbers, n: Numbers, m: Numbers) -> Floats:
    """Ash and Hughes-Oliver's variance of recall at k, of a random number of positives."""
    slope = _floats(slope)
    recall, part = h / m, k / n
    variance = recall * (1.0 - recall) * (1.0 - 2.0 * slope) / m
    variance = variance + slope**2 * part * (1.0 - part) * n / m**2
    return np.maximum(variance, 0.0)


# Arrays, tails and quantiles.


def _floats(numbers: Numbers) -> Floats:
    """Numbers of any kind as an array of floats."""
    return np.asarray(numbers, dtype=np.float64)


def t_quantile(df: Numbers, confidence_level: Numbers) -> Floats:
    """Upper quantile of Student's t for two-sided limits; nan without degrees of freedom."""
    return np.asarray(stdtrit(df, (1.0 + np.asarray(confidence_level)) / 2.0))


def _z_quantile(confidence_level: Numbers) -> Floats:
    """Upper quantile of the normal distribution for two-sided limits."""
    return np.asarray(ndtri((1.0 + np.asarray(confidence_level)) / 2.0))


def _t_pvalue(statistic: Floats, df: Floats, alternative: str) -> Floats:
    """Tail of Student's t on the side of the alternative."""
    lower, upper = (np.where(np.isinf(df), ndtr(t), stdtr(df, t)) for t in (statistic, -statistic))
    return _of_tails(upper, lower, alternative)


def _of_tails(upper: Floats, lower: Floats, alternative: str) -> Floats:
    """The tail on the side of the alternative, or twice the smaller one."""
    if alternative == "two-sided":
        return np.minimum(2.0 * np.minimum(upper, lower), 1.0)
    return np.asarray(upper if alternative == "greater" else lower)
