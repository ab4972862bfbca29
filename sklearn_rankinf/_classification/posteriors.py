"""Posterior distributions of precision, recall and F-scores, and of the share of won pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special, stats

from sklearn_rankinf._ranking import (
    PosLabel,
    Sample,
    as_numbers,
    as_seed_sequence,
    as_shape,
    check_integer,
    check_option,
    check_positive,
)
from sklearn_rankinf._statistics import Floats, plain

# Step of the trapezoidal rule, in units of the smallest possible width of the integrand. The
# integrand is analytic in a strip around the axis, and the error is far below rounding.
_STEP = 0.3
# Natural logarithms of densities, relative to the mode, below which nodes are omitted: the first
# for probabilities of ordinary size, the second for the full range of floating-point numbers.
_DEPTHS = (60.0, 745.0)
_SMALL = 1e-14
# Probabilities this far out on the scale of log odds are 0 or 1 up to rounding.
_END = 50.0
# Number of bisections for a quantile of full precision.
_N_BISECTIONS = 64


@dataclass(frozen=True, eq=False, repr=False)
class PrecisionRecallPosterior:
    r"""Posterior distributions of the precision, recall and F-scores of a classifier.

    The counts of a confusion matrix are a sample, and so are the precision and recall computed
    from them. The posterior distributions describe what the counts imply about the precision and
    recall of the classifier itself [1]_.

    Parameters
    ----------
    tp, fp, fn : int
        Numbers of true positives, false positives and false negatives.
    prior : float, default=0.5
        Weight :math:`\lambda` of the prior: the number of items added to each count. 0.5 is
        Jeffreys' prior for precision and for recall, 1 is the uniform prior.

    Attributes
    ----------
    tp, fp, fn : int
        The counts.
    prior : float
        Weight of the prior.

    Raises
    ------
    TypeError
        If a count is not an integer, or `prior` is not a number.
    ValueError
        If a count is negative, or `prior` is not positive and finite.

    See Also
    --------
    randomization_test : Test of whether two classifiers differ on the same items.
    paired_outcome_posterior : Two classifiers compared sample by sample.

    Notes
    -----
    With the true positives TP, false positives FP and false negatives FN,

    .. math::

       \text{precision} \sim \mathrm{Beta}(TP + \lambda, FP + \lambda), \qquad
       \text{recall} \sim \mathrm{Beta}(TP + \lambda, FN + \lambda).

    The model is binomial: given the numbers of predicted positives and of positives, each predicted
    positive is a true positive, and each positive is found, independently of the others. The model
    does not apply to the top k of a ranking with a fixed k, where the hits are drawn without
    replacement.

    Precision and recall are dependent, because they share the true positives. Independent draws of
    the two must not be combined into an F-score; use :meth:`f_score` for its distribution.

    References
    ----------
    .. [1] Goutte, C., & Gaussier, E. (2005). A probabilistic interpretation of precision, recall
       and F-score, with implication for evaluation. In ECIR 2005, LNCS 3408, 345-359.

    Examples
    --------
    >>> from sklearn_rankinf import PrecisionRecallPosterior
    >>> first = PrecisionRecallPosterior(tp=10, fp=10, fn=0)
    >>> second = PrecisionRecallPosterior(tp=3, fp=2, fn=7)
    >>> [round(float(limit), 3) for limit in first.precision.interval(0.95)]
    [0.293, 0.707]
    >>> round(second.probability_greater(first, "precision"), 5)
    0.65222
    >>> round(first.probability_greater(second, "f1"), 5)
    0.92278
    """

    tp: int
    fp: int
    fn: int
    prior: float = 0.5

    def __post_init__(self) -> None:
        for name in ("tp", "fp", "fn"):
            object.__setattr__(self, name, check_integer(getattr(self, name), name, 0))
        object.__setattr__(self, "prior", check_positive(self.prior, "prior"))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(tp={self.tp}, fp={self.fp}, fn={self.fn}, "
            f"prior={self.prior:.12g})"
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        pos_label: PosLabel = 1,
        prior: float = 0.5,
    ) -> PrecisionRecallPosterior:
        """Build the posterior from labels and predicted labels.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Binary labels: numbers, booleans or strings.
        y_pred : array-like of shape (n_samples,)
            Predicted labels, of the same type.
        pos_label : int, float, bool or str, default=1
            The label of the positives. Required if the labels are strings.
        prior : float, default=0.5
            Weight of the prior.

        Returns
        -------
        posterior : PrecisionRecallPosterior
            The posterior of the counts.

        Raises
        ------
        TypeError
            If the type of labels or predictions is not supported, if their types differ, or if
            `prior` is not a number.
        ValueError
            If the lengths differ, a label is missing, there are more than two labels, `pos_label`
            is not among the labels, or `prior` is not positive and finite.

        Examples
        --------
        >>> from sklearn_rankinf import PrecisionRecallPosterior
        >>> y_true, y_pred = ["ham", "spam", "spam"], ["spam", "spam", "ham"]
        >>> PrecisionRecallPosterior.from_predictions(y_true, y_pred, pos_label="spam")
        PrecisionRecallPosterior(tp=1, fp=1, fn=1, prior=0.5)
        """
        given = {"y_pred": y_pred}
        sample = Sample.read(y_true, given, pos_label=pos_label, columns="predictions")
        positive, (predicted,) = sample.positive, sample.scores
        tp = int(np.sum(positive & predicted))
        return cls(tp, int(predicted.sum()) - tp, int(positive.sum()) - tp, prior)

    @property
    def precision(self) -> Any:
        """Posterior of the precision, a frozen :data:`scipy.stats.beta`."""
        return stats.beta(self.tp + self.prior, self.fp + self.prior)

    @property
    def recall(self) -> Any:
        """Posterior of the recall, a frozen :data:`scipy.stats.beta`."""
        return stats.beta(self.tp + self.prior, self.fn + self.prior)

    def f_score(self, beta: float = 1.0) -> FScorePosterior:
        """Posterior of an F-score.

        Parameters
        ----------
        beta : float, default=1.0
            Relative weight of recall, compared with precision.

        Returns
        -------
        distribution : FScorePosterior
            A distribution with the methods of scipy's frozen distributions.

        Raises
        ------
        TypeError
            If `beta` is not a number.
        ValueError
            If `beta` is not positive and finite.

        See Also
        --------
        sklearn.metrics.fbeta_score : The F-score of the sample.

        Examples
        --------
        >>> from sklearn_rankinf import PrecisionRecallPosterior
        >>> posterior = PrecisionRecallPosterior(tp=10, fp=10, fn=0)
        >>> f1 = posterior.f_score()
        >>> round(f1.mean(), 3), [round(limit, 3) for limit in f1.interval(0.9)]
        (0.649, [0.479, 0.797])
        """
        return FScorePosterior(self, beta)

    def probability_greater(
        self, other: PrecisionRecallPosterior, metric: str | float = "f1"
    ) -> float:
        r"""Probability that this classifier is better than another one on independent samples.

        Parameters
        ----------
        other : PrecisionRecallPosterior
            The other classifier, on items that are independent of the items of this one.
        metric : {"f1", "precision", "recall"} or float, default="f1"
            The metric that is compared; a number is the `beta` of an F-score.

        Returns
        -------
        probability : float
            Posterior probability that the metric of this classifier is greater.

        Raises
        ------
        TypeError
            If `other` is not a posterior.
        ValueError
            If the metric is not one of those above, or `beta` is not positive and finite.

        See Also
        --------
        paired_outcome_posterior : Two classifiers on the same items.

        Notes
        -----
        The probability is the integral :math:`\int f_1(x) F_2(x)\,dx` of the density of one metric
        and the cumulative distribution function of the other. It is computed by the trapezoidal
        rule on the scale of log odds, where it converges geometrically, with a relative error
        below 1e-8 for counts up to a million, even far in the tail.

        Examples
        --------
        >>> from sklearn_rankinf import PrecisionRecallPosterior
        >>> strong = PrecisionRecallPosterior(tp=900, fp=100, fn=100)
        >>> weak = PrecisionRecallPosterior(tp=500, fp=500, fn=100)
        >>> f"{weak.probability_greater(strong, 'precision'):.4g}"
        '8.537e-91'
        """
        if not isinstance(other, PrecisionRecallPosterior):
            raise TypeError(
                "other must be a PrecisionRecallPosterior; got an object of type "
                f"{type(other).__name__}."
            )
        return _probability_greater(self._log_odds(metric), other._log_odds(metric))

    def _log_odds(self, metric: Any) -> _LogOdds:
        """Distribution of the log odds of a metric, minus a constant."""
        if not isinstance(metric, bool) and isinstance(metric, Real):
            return self.f_score(float(metric))._log_odds
        names = ("precision", "recall", "f1")
        metric = check_option(
            metric, "metric", names, ", or a positive number, the beta of an F-score"
        )
        if metric == "f1":
            return self.f_score()._log_odds
        errors = self.fp if metric == "precision" else self.fn
        return _LogOdds(self.tp + self.prior, errors + self.prior)


class FScorePosterior:
    r"""Posterior distribution of an F-score, with the methods of scipy's frozen distributions.

    Parameters
    ----------
    posterior : PrecisionRecallPosterior
        Counts and prior.
    beta : float, default=1.0
        Relative weight of recall, compared with precision.

    See Also
    --------
    sklearn_rankinf.PrecisionRecallPosterior.f_score : Returns such a distribution.

    Notes
    -----
    With independent variables U, V and W that have gamma distributions with shapes
    :math:`TP + \lambda`, :math:`FN + \lambda` and :math:`FP + \lambda`, precision is U/(U + W),
    recall is U/(U + V), and

    .. math:: F_\beta = \frac{(1 + \beta^2) U}{(1 + \beta^2) U + \beta^2 V + W}.

    The ratio :math:`B = V/(V + W)` has the distribution Beta(FN + λ, FP + λ), and is independent
    both of V + W and of :math:`G = U/(U + V + W)`, which has the distribution
    Beta(TP + λ, FP + FN + 2λ). Given B, the odds of the F-score are therefore the odds of G times a
    constant:

    .. math:: \frac{F_\beta}{1 - F_\beta} = \frac{1 + \beta^2}{w} \frac{G}{1 - G},
       \qquad w = 1 + (\beta^2 - 1) B.

    For β = 1, w is 1 and F = 2G/(1 + G), so that quantiles and tails are those of a beta
    distribution [1]_. Otherwise they are averages over B, computed by the trapezoidal rule on the
    scale of its log odds.

    References
    ----------
    .. [1] Goutte, C., & Gaussier, E. (2005). A probabilistic interpretation of precision, recall
       and F-score, with implication for evaluation. In ECIR 2005, LNCS 3408, 345-359.

    Examples
    --------
    >>> from sklearn_rankinf import PrecisionRecallPosterior
    >>> f2 = PrecisionRecallPosterior(tp=30, fp=40, fn=5).f_score(beta=2.0)
    >>> f"{f2.sf(0.7):.3f}"
    '0.573'
    """

    def __init__(self, posterior: PrecisionRecallPosterior, beta: float = 1.0) -> None:
        self._posterior = posterior
        self.beta = check_positive(beta, "beta")
        self._shift = math.log1p(self.beta**2)
        p = posterior
        a, b = p.tp + p.prior, p.fp + p.fn + 2.0 * p.prior
        if self.beta == 1.0:
            self._log_odds = _LogOdds(a, b)
        else:
            # Far in a tail, the sharpness of G narrows the integrand over B.
            sharpness = _sharpness(a, b, *_ends(a, b, _DEPTHS[-1]))
            share, weights = _nodes_of_beta(p.fn + p.prior, p.fp + p.prior, sharpness)
            # Unlike the other form of w, this one does not cancel at either end.
            log_w = np.log(self.beta**2 * special.expit(share) + special.expit(-share))
            self._log_odds = _LogOdds(a, b, log_w, weights)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._posterior!r}, beta={self.beta:.12g})"

    def cdf(self, x: ArrayLike) -> Any:
        """Probability of at most x."""
        return plain(self._log_odds.cdf(self._log_odds_at(x)))

    def sf(self, x: ArrayLike) -> Any:
        """Probability of more than x."""
        return plain(self._log_odds.sf(self._log_odds_at(x)))

    def pdf(self, x: ArrayLike) -> Any:
        """Density at x."""
        x = as_numbers(x, "x")
        inside = (x >= 0.0) & (x <= 1.0)
        odds, f = self._log_odds, np.where(inside, x, 0.5)[..., None]
        log_ratio = odds.log_w - self._shift
        log_density = (
            special.xlogy(odds.a - 1.0, f)
            + special.xlog1py(odds.b - 1.0, -f)
            + odds.a * log_ratio
            - (odds.a + odds.b) * np.log1p(f * np.expm1(log_ratio))
            - special.betaln(odds.a, odds.b)
        )
        with np.errstate(under="ignore"):
            return plain(np.where(inside, np.exp(log_density) @ odds.weights, 0.0))

    def ppf(self, q: ArrayLike) -> Any:
        """Lower quantile: the x with cdf(x) = q."""
        return plain(special.expit(self._log_odds.quantile(q, upper=False) + self._shift))

    def isf(self, q: ArrayLike) -> Any:
        """Upper quantile: the x with sf(x) = q."""
        return plain(special.expit(self._log_odds.quantile(q, upper=True) + self._shift))

    def median(self) -> float:
        """Median."""
        return float(self.ppf(0.5))

    def interval(self, confidence: float) -> tuple[Any, Any]:
        """Interval with equal tails that contains the F-score with this probability."""
        outside = 0.5 * (1.0 - np.asarray(confidence, dtype=np.float64))
        return self.ppf(outside), self.isf(outside)

    def mean(self) -> float:
        """Mean."""
        return self._expected(0.0, 1)

    def var(self) -> float:
        """Variance."""
        return self._expected(self.mean(), 2)

    def std(self) -> float:
        """Standard deviation."""
        return math.sqrt(self.var())

    def rvs(self, size: int | tuple[int, ...] = 1, random_state: Any = None) -> Floats:
        """Draw independent values.

        Parameters
        ----------
        size : int or tuple of int, default=1
            Shape of the result.
        random_state : int, RandomState, Generator or None, default=None
            Source of randomness.

        Returns
        -------
        ndarray of shape `size`
            The draws.
        """
        rng = np.random.default_rng(as_seed_sequence(random_state))
        p, shape = self._posterior, as_shape(size)
        log_square = 2.0 * math.log(self.beta)
        # Gamma variates of small parameters may be below the smallest float: logs are drawn.
        found, missed, false = (
            np.log(rng.standard_gamma(a + 1.0, shape)) - rng.standard_exponential(shape) / a
            for a in (p.tp + p.prior, p.fn + p.prior, p.fp + p.prior)
        )
        with np.errstate(under="ignore"):
            others = np.logaddexp(log_square + missed, false)
            return np.asarray(special.expit(np.logaddexp(0.0, log_square) + found - others))

    def _log_odds_at(self, x: ArrayLike) -> Floats:
        inside = np.clip(as_numbers(x, "x"), 0.0, 1.0)
        return np.asarray(special.logit(inside) - self._shift)

    def _expected(self, center: float, power: int) -> float:
        """Mean power of the distance from a centre."""
        odds = self._log_odds
        log_odds, weights = _nodes_of_beta(odds.a, odds.b)
        with np.errstate(under="ignore"):
            values = special.expit(log_odds[:, None] - odds.log_w + self._shift) - center
            return float(weights @ values**power @ odds.weights)


def paired_outcome_posterior(n_only_a: int, n_only_b: int, *, prior: float = 0.5) -> Any:
    r"""Posterior of the share won by system a of the items that only one system gets right.

    Two systems have classified the same items. A system wins an item if only this system gets it
    right.

    Parameters
    ----------
    n_only_a, n_only_b : int
        Number of items that only system a gets right, and number that only system b gets right.
    prior : float, default=0.5
        Weight :math:`\lambda` of the prior: the number of items added to each count.

    Returns
    -------
    distribution : frozen :data:`scipy.stats.beta`
        Posterior of the share that a wins; ``distribution.sf(0.5)`` is the probability that a is
        better.

    Raises
    ------
    TypeError
        If a count is not an integer, or `prior` is not a number.
    ValueError
        If a count is negative, or `prior` is not positive and finite.

    See Also
    --------
    PrecisionRecallPosterior : One system, or two on independent samples.
    randomization_test : A test of the same question, for any metric.

    Notes
    -----
    With :math:`N_1` items that only a gets right and :math:`N_2` that only b gets right [1]_,

    .. math::

       \pi \sim \mathrm{Beta}(N_1 + \lambda, N_2 + \lambda), \qquad
       P(\pi > 1/2) = I_{1/2}(N_2 + \lambda, N_1 + \lambda).

    Items that both systems get right, or both get wrong, do not count. The model is binomial:
    items are independent. It does not apply to the top k of two rankings with a fixed k.

    References
    ----------
    .. [1] Goutte, C., & Gaussier, E. (2005). A probabilistic interpretation of precision, recall
       and F-score, with implication for evaluation. In ECIR 2005, LNCS 3408, 345-359.

    Examples
    --------
    >>> from sklearn_rankinf import paired_outcome_posterior
    >>> round(float(paired_outcome_posterior(17, 4).sf(0.5)), 6)
    0.998302
    """
    prior = check_positive(prior, "prior")
    a, b = check_integer(n_only_a, "n_only_a", 0), check_integer(n_only_b, "n_only_b", 0)
    return stats.beta(a + prior, b + prior)


class _LogOdds:
    """Distribution of logit(G) - log(w), with G from Beta(a, b) and w independent of G.

    `log_w` and `weights` are nodes and weights of the distribution of log(w), by default 0.
    """

    def __init__(
        self, a: float, b: float, log_w: Floats | None = None, weights: Floats | None = None
    ) -> None:
        self.a, self.b = a, b
        self.log_w = np.zeros(1) if log_w is None else log_w
        self.weights = np.ones(1) if weights is None else weights

    @property
    def width(self) -> float:
        """Standard deviation of logit(G)."""
        return _width(self.a, self.b)

    def cdf(self, t: Floats) -> Floats:
        with np.errstate(under="ignore"):
            share = special.expit(t[..., None] + self.log_w)
            return np.asarray(special.betainc(self.a, self.b, share) @ self.weights)

    def sf(self, t: Floats) -> Floats:
        with np.errstate(under="ignore"):
            share = special.expit(-t[..., None] - self.log_w)
            return np.asarray(special.betainc(self.b, self.a, share) @ self.weights)

    def quantile(self, q: ArrayLike, upper: bool) -> Floats:
        """Lower or upper quantile, by bisection between those of the extreme values of w."""
        tail = as_numbers(q, "q")
        given, opposite = special.betaincinv, special.betainccinv
        if upper:
            given, opposite = opposite, given
        # The complement of the quantile of G has full precision if G is near 1.
        share, rest = given(self.a, self.b, tail), opposite(self.b, self.a, tail)
        with np.errstate(divide="ignore"):
            center = np.log(share) - np.log(rest)
        low, high = center - self.log_w.max(), center - self.log_w.min()
        for _ in range(_N_BISECTIONS if self.log_w.size > 1 else 0):
            middle = 0.5 * (low + high)
            is_low = self.sf(middle) > tail if upper else self.cdf(middle) < tail
            low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
        return np.asarray(0.5 * (low + high))

    def nodes(self, depth: float, other: _LogOdds) -> tuple[Floats, Floats]:
        """Nodes of the trapezoidal rule, and weights proportional to the density.

        The nodes are close enough for the product of the density and a tail of `other`.
        """
        low, high = _ends(self.a, self.b, depth)
        low, high = low - self.log_w.max(), high - self.log_w.min()
        sharpness = self.sharpness(low, high) + other.sharpness(low, high)
        t = _grid(low, high, sharpness)
        with np.errstate(under="ignore"):
            density = np.exp(_log_density(self.a, self.b, t[:, None] + self.log_w)) @ self.weights
            return t, density / density.sum()

    def sharpness(self, low: float, high: float) -> float:
        """Largest curvature of the log density given w, between two values."""
        return _sharpness(self.a, self.b, low + self.log_w.min(), high + self.log_w.max())


def _probability_greater(first: _LogOdds, second: _LogOdds) -> float:
    """Probability that an independent draw of the first is greater than one of the second.

    The narrower density is integrated against the corresponding tail of the wider one, so that
    small probabilities are computed without cancellation.
    """
    first_is_narrow = first.width <= second.width
    narrow, wide = (first, second) if first_is_narrow else (second, first)
    tail = wide.cdf if first_is_narrow else wide.sf
    for depth in _DEPTHS:
        t, weights = narrow.nodes(depth, wide)
        with np.errstate(under="ignore"):
            probability = float(np.sum(weights * tail(t)))
        if probability > _SMALL:
            break
    return min(probability, 1.0)


def _log_density(a: float, b: float, s: Floats) -> Floats:
    """Logarithm of the density of the log odds of Beta(a, b), relative to that at the mode."""
    mode = math.log(a) - math.log(b)
    with np.errstate(under="ignore"):
        at_mode = a * mode - (a + b) * np.logaddexp(0.0, mode)
        return np.asarray(a * s - (a + b) * np.logaddexp(0.0, s) - at_mode)


def _width(a: float, b: float) -> float:
    """Standard deviation of the log odds of Beta(a, b)."""
    return math.sqrt(float(special.polygamma(1, a) + special.polygamma(1, b)))


def _ends(a: float, b: float, depth: float) -> tuple[float, float]:
    """Log odds on both sides of the mode with a log density of Beta(a, b) lower by `depth`."""
    mode = math.log(a) - math.log(b)

    def excess(s: float) -> float:
        return float(_log_density(a, b, np.asarray(s))) + depth

    ends = []
    for step in (-_width(a, b), _width(a, b)):
        while excess(mode + step) > 0.0:
            step *= 2.0
        ends.append(float(optimize.brentq(excess, mode, mode + step)))
    return ends[0], ends[1]


def _sharpness(a: float, b: float, low: float, high: float) -> float:
    """Largest curvature of the log density of the log odds of Beta(a, b) between two values."""
    share = float(special.expit(min(max(0.0, low), high)))
    return (a + b) * share * (1.0 - share)


def _grid(low: float, high: float, sharpness: float) -> Floats:
    """Nodes of the trapezoidal rule for log-concave functions of at most this curvature."""
    step = _STEP / max(1.0, math.sqrt(sharpness))
    return np.linspace(low, high, 2 + math.ceil((high - low) / step))


def _nodes_of_beta(a: float, b: float, sharpness: float = 0.0) -> tuple[Floats, Floats]:
    """Log odds and weights whose weighted means are means over Beta(a, b).

    The averaged function of the log odds may have a logarithm with curvature `sharpness`.
    """
    low, high = _ends(a, b, _DEPTHS[-1])
    first, last = max(low, -_END), min(high, _END)
    s = _grid(first, last, sharpness + _sharpness(a, b, first, last))
    step = s[1] - s[0]
    with np.errstate(under="ignore"):
        weights = np.exp(_log_density(a, b, s))
        # Beyond the ends the probability no longer changes, and weights decrease geometrically.
        weights[0] /= -math.expm1(-a * step) if low < first else 1.0
        weights[-1] /= -math.expm1(-b * step) if high > last else 1.0
        return s, weights / weights.sum()
