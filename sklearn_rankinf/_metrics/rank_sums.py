"""Sums of weights of the ranks of positives: ROC AUC, (N)DCG, RIE, BEDROC and custom metrics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expi, expit

from sklearn_rankinf._metrics.values import CallableMetric, WithCutOff, at_k, set_parameters
from sklearn_rankinf._ranking import check_positive, shown
from sklearn_rankinf._statistics import (
    LEAST_OF_ALL,
    Complexes,
    Denominators,
    Floats,
    Influence,
    Integers,
    SumOfWeights,
    hits_up_to,
    log_binomial,
    log_probability_of_hits_down_to,
    roc_auc_influence,
)

# Discounts of the first ranks, and discounts of a few ranks, are summed term by term.
_NEAR_RANKS, _FEW_RANKS = 4096, 64
# Number of factors of a product that are computed together.
_FACTORS = 1 << 18
# The weights of all first ranks and of a sample of the other ranks are checked.
_RANKS_CHECKED, _FAR_RANKS_CHECKED = 100_000, 1000
# Tolerance, relative to the first weight, for a weight that is larger than the one before.
_SAME_WEIGHT = 1e-12


class RankStatistic(CallableMetric, SumOfWeights):
    r"""Base class of metrics that sum a weight of the rank of each positive.

    A subclass defines `weights`, the contribution of a positive at each rank. It can then be passed
    as the metric to :func:`metric_null_distribution`, :func:`metric_test`,
    :func:`make_significance_scorer` and the other functions, and called with labels and scores.
    Each positive in a block of equal scores contributes the mean weight of the ranks of the block,
    which is the expectation over random tie-breaking.

    See Also
    --------
    sklearn_rankinf.metric_test : Test of a ranking by such a statistic.

    Notes
    -----
    If the positives are at the ranks :math:`r_1 < \dots < r_m` of n items, the value is

    .. math:: S = \sum_{i=1}^m w(r_i; n, m) + c(n, m),

    where the weights are non-negative and do not increase with the rank, and c, returned by
    `offset`, is a constant. Instances with the same parameters should be equal, so that their null
    distributions are cached; make a subclass with parameters a frozen dataclass. A field `k` is a
    cut-off, a number of items; define ``at(n_samples)``, which returns the metric with such a
    number, to allow fractions as well. The title is the name of the class in words, unless it is
    defined. Set ``of_open_lists = True`` if neither weights nor offset depend on the number of
    items: then the metric is also that of runs whose collection has an unknown size
    (:func:`align_runs`).

    Examples
    --------
    >>> from dataclasses import dataclass, fields, is_dataclass
    >>> import numpy as np
    >>> from sklearn_rankinf import RankStatistic, metric_test
    >>> @dataclass(frozen=True)
    ... class RankBiasedPrecision(RankStatistic):
    ...     persistence: float = 0.8
    ...
    ...     def weights(self, ranks, n_samples, n_positives):
    ...         return (1 - self.persistence) * self.persistence ** (ranks - 1.0)
    >>> y_true, y_score = [1, 1, 0, 1, 0, 0], [6, 5, 4, 3, 2, 1]
    >>> result = metric_test(y_true, y_score, metric=RankBiasedPrecision())
    >>> round(result.statistic, 4), result.pvalue
    (0.4624, 0.1)
    """

    def check_weights(self, n_samples: int, n_positives: int) -> None:
        """Raise an error for weights that are negative, not finite, increasing, or misshapen."""
        # Without positives the value is 0.0 for any weights.
        if type(self) in _KNOWN_WEIGHTS or n_positives == 0:
            return
        ranks = np.arange(1, min(n_samples, _RANKS_CHECKED) + 1)
        if n_samples > _RANKS_CHECKED:
            far = np.geomspace(_RANKS_CHECKED, n_samples, _FAR_RANKS_CHECKED)
            ranks = np.union1d(ranks, np.minimum(far.astype(np.int64), n_samples))
        name = f"{type(self).__name__}.weights"
        weights = np.asarray(self.weights(ranks, n_samples, n_positives))
        if weights.shape != ranks.shape:
            raise ValueError(
                f"{name} must return one number for each rank; got an array of shape "
                f"{weights.shape} for ranks of shape {ranks.shape}."
            )
        if weights.dtype.kind not in "fiub":
            raise ValueError(f"{name} must return floats; got an array of dtype {weights.dtype}.")
        weights = weights.astype(float)
        before = np.append(np.inf, weights[:-1])
        for wrong, rule in (
            (~np.isfinite(weights), "be finite"),
            (weights < 0.0, "not be negative"),
            (weights > before + _SAME_WEIGHT * weights[0], "not increase with the rank"),
        ):
            if wrong.any():
                first = int(np.argmax(wrong))
                previous = f" after {before[first]}" if "increase" in rule else ""
                raise ValueError(
                    f"{name} must {rule}; got the weight {weights[first]} at rank {ranks[first]}"
                    f"{previous}, with n_samples={n_samples} and n_positives={n_positives}."
                )


@dataclass(frozen=True, repr=False)
class RocAuc(RankStatistic):
    r"""Area under the ROC curve: the fraction of positive-negative pairs in the right order.

    See Also
    --------
    sklearn_rankinf.metric_test : Test of this metric.

    Notes
    -----
    With m positives at the ranks :math:`r_i` of n items,

    .. math:: \mathrm{AUC} = \frac{1}{m (n - m)} \sum_{i=1}^m (n - r_i) - \frac{m - 1}{2 (n - m)},

    which is Mann and Whitney's U divided by :math:`m (n - m)` [1]_. Pairs with equal scores count
    as one half. Without positives or without negatives the area is undefined and set to 0.

    References
    ----------
    .. [1] Mann, H. B., & Whitney, D. R. (1947). On a test of whether one of two random variables is
       stochastically larger than the other. Annals of Mathematical Statistics, 18(1), 50-60.

    Examples
    --------
    >>> from sklearn_rankinf import RocAuc, metric_test
    >>> y_true, y_score = [1, 1, 0, 1, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1]
    >>> round(metric_test(y_true, y_score, metric=RocAuc()).statistic, 4)
    0.9333
    """

    family = "roc_auc"
    is_of_population = True
    needs_misses = True
    has_exact_mean = True

    def weights(self, ranks: Integers, n_samples: int, n_positives: int) -> Floats:
        return (n_samples - np.asarray(ranks, dtype=float)) * _one_pair(n_samples, n_positives)

    def weight_sums(
        self, starts: Integers, sizes: Integers, n_samples: int, n_positives: int
    ) -> Floats:
        below = n_samples - starts - 0.5 * (sizes + 1.0)
        return np.asarray(sizes * below * _one_pair(n_samples, n_positives))

    def offset(self, n_samples: int, n_positives: int) -> float:
        """Constant added to the sum; it removes the pairs of two positives."""
        return -0.5 * n_positives * (n_positives - 1.0) * _one_pair(n_samples, n_positives)

    def span(self, n_samples: int, n_positives: int) -> float:
        """Smallest step of the metric without ties: one pair."""
        return _one_pair(n_samples, n_positives)

    def log_mgf(
        self, z: Complexes, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> Complexes | None:
        """``log E exp(z S)`` without ties: ratio of Gaussian and ordinary binomial coefficients.

        The number U of correctly ordered pairs has ``E q**U C(n, m) = prod (1 - q**(n - m + i)) /
        (1 - q**i)`` over i up to m. The same holds with m and n - m exchanged (Mann and Whitney,
        1947).
        """
        if tie_sizes is not None:
            return None
        few = min(n_positives, n_samples - n_positives)
        # U and its difference from the number of pairs have the same distribution, so |q| <= 1.
        upper = z.real > 0.0
        log_q = np.where(upper, -z, z) * _one_pair(n_samples, n_positives)
        total = np.where(upper, z, 0.0) - log_binomial(n_samples, n_positives)
        together = max(1, _FACTORS // z.size)
        for first in range(1, few + 1, together):
            i = np.arange(first, min(first + together, few + 1))[:, None]
            factors = np.expm1(log_q * (n_samples - few + i)) / np.expm1(log_q * i)
            total = total + np.log(factors).sum(axis=0)
        # The sum of weights also includes the pairs of two positives.
        return np.asarray(total - z * self.offset(n_samples, n_positives))

    def expected_in(self, model: Any, effect: float, n_samples: int, n_positives: int) -> float:
        """Expected value in a model of rankings with an effect, the logit of this value."""
        return float(expit(effect))

    def denominators(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> Denominators | None:
        """Number of pairs, of which tied ones count one half."""
        n_pairs = n_positives * (n_samples - n_positives)
        return n_pairs if tie_sizes is None else 2 * n_pairs, (1,)

    def weighted(self, sizes: Floats, hits: Floats) -> tuple[float, Influence]:
        misses = sizes - hits
        below = misses.sum() - np.cumsum(misses) + 0.5 * misses
        value = hits @ below / (hits.sum() * misses.sum())
        return float(value), roc_auc_influence(sizes, hits)

    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence:
        """Influence values of the items of a ranking, which give DeLong's variance."""
        return roc_auc_influence(tie_sizes, hits)

    def mirrored(self, n_samples: int, n_positives: int) -> RankStatistic | None:
        """Return the statistic as a sum over the negatives, in the reversed ranking."""
        return self if n_samples < 2 * n_positives < 2 * n_samples else None


def _one_pair(n_samples: int, n_positives: int) -> float:
    """Value of one pair of a positive and a negative; 0 if there are no pairs."""
    n_pairs = float(n_positives) * float(n_samples - n_positives)
    return 1.0 / n_pairs if n_pairs else 0.0


@dataclass(frozen=True, repr=False)
class DiscountedCumulativeGain(WithCutOff, RankStatistic):
    r"""Discounted cumulative gain of the whole ranking or of its first k ranks.

    Parameters
    ----------
    k : int, float or None, default=None
        Cut-off: a number of items, or a fraction of them between 0 and 1, rounded up; None means
        the whole ranking.
    normalize : bool, default=False
        Whether to divide by the value of a perfect ranking, which gives NDCG.

    Raises
    ------
    TypeError
        If `k` is not a number, or `normalize` not a bool.
    ValueError
        If `k` is out of its range.

    See Also
    --------
    sklearn_rankinf.metric_test : Test of any metric.

    Notes
    -----
    With the m positives at the ranks :math:`r_i` and gains of 0 and 1 [1]_,

    .. math:: \mathrm{DCG} = \sum_{r_i \le k} \frac{1}{\log_2(r_i + 1)}, \qquad
              \mathrm{NDCG} = \mathrm{DCG} \Big/ \sum_{r=1}^{\min(m, k)} \frac{1}{\log_2(r + 1)}.

    A positive in a block of equal scores contributes the mean over the block, as in scikit-learn.

    References
    ----------
    .. [1] Järvelin, K., & Kekäläinen, J. (2002). Cumulated gain-based evaluation of IR techniques.
       ACM Transactions on Information Systems, 20(4), 422-446.

    Examples
    --------
    >>> from sklearn_rankinf import DiscountedCumulativeGain, metric_test
    >>> y_true, y_score = [1, 1, 0, 1, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1]
    >>> result = metric_test(y_true, y_score, metric=DiscountedCumulativeGain(normalize=True))
    >>> round(result.statistic, 4), round(result.pvalue * 56, 9)
    (0.9675, 2.0)
    """

    takes_grades = True
    has_exact_mean = True
    of_open_lists = True
    k: Any = None
    normalize: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.normalize, bool | np.bool_):
            raise TypeError(
                f"normalize must be True or False; got {shown(self.normalize)} of type "
                f"{type(self.normalize).__name__}."
            )
        set_parameters(self, normalize=bool(self.normalize))

    @property
    def title(self) -> str:
        return self._abbreviation + at_k(self.k)

    @property
    def symbol(self) -> str:
        return self._abbreviation + ("" if self.k is None else f"@{self.k}")

    @property
    def _abbreviation(self) -> str:
        return "NDCG" if self.normalize else "DCG"

    def weights(self, ranks: Integers, n_samples: int, n_positives: int) -> Floats:
        rank = np.asarray(ranks, dtype=float)
        discounts = 1.0 / np.log2(rank + 1.0)
        if self.k is not None:
            discounts = np.where(rank <= self.k, discounts, 0.0)
        return np.asarray(discounts / self._ideal(n_positives))

    def weight_sums(
        self, starts: Integers, sizes: Integers, n_samples: int, n_positives: int
    ) -> Floats:
        ends = starts + sizes
        if self.k is not None:
            starts, ends = np.minimum(starts, self.k), np.minimum(ends, self.k)
        return np.asarray(_sums_of_discounts(starts, ends) / self._ideal(n_positives))

    def of_grades(self, tie_sizes: Integers, gains: Floats, grades: Floats) -> float:
        """Sum of the gains times the mean discounts of their blocks, over that of sorted grades."""
        plain = type(self)(self.k)
        starts, n_samples = np.cumsum(tie_sizes) - tie_sizes, int(np.sum(tie_sizes))
        value = float(gains @ plain.tied(starts, tie_sizes, n_samples, 1).linear)
        if not self.normalize:
            return value
        best_first = np.sort(grades)[::-1]
        ideal = float(best_first @ plain.weights(np.arange(1, grades.size + 1), n_samples, 1))
        # The value of a perfect ranking bounds the sum up to rounding.
        return min(value / ideal, 1.0) if ideal > 0.0 else 0.0

    def _ideal(self, n_positives: int) -> float:
        if not self.normalize or n_positives == 0:
            return 1.0
        counted = n_positives if self.k is None else min(n_positives, self.k)
        return float(_sums_of_discounts(np.array([0]), np.array([counted]))[0])

    def log_probability_of_best(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> float:
        reached = n_positives if self.k is None else min(n_positives, self.k)
        return log_probability_of_hits_down_to(reached, n_samples, n_positives, tie_sizes)


def _sums_of_discounts(starts: Integers, ends: Integers) -> Floats:
    """``sum 1 / log2(i + 1)`` over the ranks i after each start and up to each end.

    Discounts of the first ranks and of short blocks are summed term by term. All others are
    computed by the Euler-Maclaurin formula, with log(2) times the logarithmic integral.
    """
    near = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(np.arange(2.0, _NEAR_RANKS + 2.0)))])

    def up_to_near(ranks: Integers) -> Floats:
        return near[np.minimum(ranks, _NEAR_RANKS)]

    total = up_to_near(ends) - up_to_near(starts)
    low, high = np.maximum(starts, _NEAR_RANKS), np.maximum(ends, _NEAR_RANKS)
    few = high - low <= _FEW_RANKS
    for step in range(1, int((high - low)[few].max(initial=0)) + 1):
        inside = few & (low + step <= high)
        total = total + np.where(inside, 1.0 / np.log2(low + step + 1.0), 0.0)

    def primitive(ranks: Integers) -> Floats:
        x = ranks + 1.5
        log = np.log(x)
        slope = -1.0 / (x * log**2)
        third = -(2.0 / log**2 + 6.0 / log**3 + 6.0 / log**4) / x**3
        return np.asarray(expi(log) - slope / 24.0 + 7.0 * third / 5760.0)

    between = math.log(2.0) * (primitive(high) - primitive(low))
    return np.asarray(total + np.where(few, 0.0, between))


@dataclass(frozen=True, repr=False)
class RPrecision(RankStatistic):
    r"""R-precision: precision at k equal to the number of positives.

    See Also
    --------
    PrecisionAtK : Precision at any k.

    Notes
    -----
    R-precision is :math:`H_m / m` with :math:`H_m` of the m positives among the first m items,
    which is also recall at m [1]_. It is averaged over random tie-breaking if equal scores straddle
    rank m. The interval of one ranking depends on the binormal model, and its coverage was not
    measured; the mean over queries has Student's t interval.

    References
    ----------
    .. [1] Buckley, C., & Voorhees, E. M. (2000). Evaluating evaluation measure stability.
       Proceedings of the 23rd International ACM SIGIR Conference, 33-40.

    Examples
    --------
    >>> from sklearn_rankinf import RPrecision, metric_test
    >>> RPrecision()([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.1])
    0.5
    >>> metric_test([1, 1, 0, 0, 0], [5, 4, 3, 2, 1], metric="r_precision").pvalue
    0.1
    """

    has_influence = False
    has_exact_mean = True
    of_open_lists = True

    @property
    def title(self) -> str:
        return "R-precision"

    @property
    def title_in_text(self) -> str:
        return self.title

    def weights(self, ranks: Integers, n_samples: int, n_positives: int) -> Floats:
        return np.asarray((np.asarray(ranks) <= n_positives) / max(n_positives, 1))

    def weight_sums(
        self, starts: Integers, sizes: Integers, n_samples: int, n_positives: int
    ) -> Floats:
        """Sums of the weights over blocks of ranks, each after its start."""
        inside = np.clip(n_positives - np.asarray(starts), 0, sizes)
        return np.asarray(inside / max(n_positives, 1))

    def evaluate(self, tie_sizes: Integers, hits: Integers) -> float:
        m = int(np.sum(hits))
        return float(hits_up_to(tie_sizes, hits, m)) / max(m, 1)


@dataclass(frozen=True, repr=False)
class RobustInitialEnhancement(RankStatistic):
    r"""Robust initial enhancement (RIE): the mean of exp(-alpha r / n), relative to chance.

    Parameters
    ----------
    alpha : float, default=20.0
        Rate at which the weight decreases with the rank; larger values put more weight on the top.

    Raises
    ------
    TypeError
        If `alpha` is not a number.
    ValueError
        If `alpha` is not finite and positive.

    See Also
    --------
    Bedroc : The same metric, rescaled to run from 0 to 1.

    Notes
    -----
    With the ranks :math:`r_i` of m positives among n items [1]_, in the form of [2]_,

    .. math:: \mathrm{RIE} = \frac{\frac{1}{m} \sum_i e^{-\alpha r_i / n}}
              {\frac{1}{n} \sum_{r=1}^n e^{-\alpha r / n}},

    so that chance is 1. A positive in a block of equal scores contributes the mean of the block.

    References
    ----------
    .. [1] Sheridan, R. P., Singh, S. B., Fluder, E. M., & Kearsley, S. K. (2001). Protocols for
       bridging the peptide to nonpeptide gap in topological similarity searches. Journal of
       Chemical Information and Computer Sciences, 41(5), 1395-1406.
    .. [2] Truchon, J.-F., & Bayly, C. I. (2007). Evaluating virtual screening methods: good and bad
       metrics for the "early recognition" problem. Journal of Chemical Information and Modeling,
       47(2), 488-508.

    Examples
    --------
    >>> from sklearn_rankinf import RobustInitialEnhancement, metric_test
    >>> y_true, y_score = [1, 1, 0, 1, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1]
    >>> result = metric_test(y_true, y_score, metric=RobustInitialEnhancement(alpha=5.0))
    >>> round(result.pvalue * 56, 9)
    2.0
    >>> round(RobustInitialEnhancement()([1, 1, 0, 0], [0.9, 0.8, 0.3, 0.1]), 4)
    1.9999
    """

    is_of_population = True
    has_exact_mean = True
    alpha: float = 20.0

    def __post_init__(self) -> None:
        set_parameters(self, alpha=check_positive(self.alpha, "alpha"))

    @property
    def title(self) -> str:
        return "RIE"

    def weights(self, ranks: Integers, n_samples: int, n_positives: int) -> Floats:
        decay = np.exp(-self.alpha * (np.asarray(ranks, dtype=float) - 1.0) / n_samples)
        return np.asarray(decay * self._scale(n_samples, n_positives))

    def weight_sums(
        self, starts: Integers, sizes: Integers, n_samples: int, n_positives: int
    ) -> Floats:
        """Sums of the weights over blocks of ranks, each after its start, as geometric sums."""
        rate = self.alpha / n_samples
        sums = np.exp(-rate * starts) * np.expm1(-rate * sizes) / math.expm1(-rate)
        return np.asarray(sums * self._scale(n_samples, n_positives))

    def _scale(self, n_samples: int, n_positives: int) -> float:
        """Weight of the first rank, such that the mean over random labellings is 1."""
        all_ranks = math.expm1(-self.alpha) / math.expm1(-self.alpha / n_samples)
        return n_samples / (all_ranks * max(n_positives, 1))


@dataclass(frozen=True, repr=False)
class Bedroc(RankStatistic):
    r"""Boltzmann-enhanced discrimination of ROC (BEDROC): early recognition from 0 to 1.

    Parameters
    ----------
    alpha : float, default=20.0
        Rate at which the weight decreases with the rank; larger values put more weight on the top.

    Raises
    ------
    TypeError
        If `alpha` is not a number.
    ValueError
        If `alpha` is not finite and positive.

    See Also
    --------
    RobustInitialEnhancement : A linear function of BEDROC, with chance at 1.

    Notes
    -----
    With :math:`x = \frac{1}{m} \sum_i e^{-\alpha r_i / n}` over the ranks :math:`r_i` of the m
    positives, and its values :math:`x_{\max}` and :math:`x_{\min}` with all positives at the top
    and at the bottom [1]_,

    .. math:: \mathrm{BEDROC} = \frac{x - x_{\min}}{x_{\max} - x_{\min}}.

    A positive in a block of equal scores contributes the mean of the block. Without positives or
    without negatives BEDROC is undefined and set to 0.

    With :math:`f(x) = 1 - e^{-x}` and :math:`s = \alpha / n`, the contribution of a positive at
    rank r exceeds that of a positive at the last rank by
    :math:`e^{-s (r - 1)} f(s (n - r)) f(s) / (f(s m) f(s (n - m)))`, a form without cancellation.

    References
    ----------
    .. [1] Truchon, J.-F., & Bayly, C. I. (2007). Evaluating virtual screening methods: good and bad
       metrics for the "early recognition" problem. Journal of Chemical Information and Modeling,
       47(2), 488-508.

    Examples
    --------
    >>> from sklearn_rankinf import Bedroc, metric_test
    >>> y_true, y_score = [1, 1, 0, 1, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1]
    >>> round(metric_test(y_true, y_score, metric=Bedroc(alpha=5.0)).pvalue * 56, 9)
    2.0
    >>> round(Bedroc()([1, 0, 1, 0], [0.9, 0.8, 0.3, 0.1]), 4)
    0.9934
    """

    is_of_population = True
    needs_misses = True
    has_exact_mean = True
    alpha: float = 20.0

    def __post_init__(self) -> None:
        set_parameters(self, alpha=check_positive(self.alpha, "alpha"))

    def weights(self, ranks: Integers, n_samples: int, n_positives: int) -> Floats:
        rank, rate = np.asarray(ranks, dtype=float), self.alpha / n_samples
        above_last = -np.expm1(-rate * (n_samples - rank)) * -math.expm1(-rate)
        decay = self._decay(rate * (rank - 1.0))
        return np.asarray(decay * above_last * self._scale(n_samples, n_positives))

    def weight_sums(
        self, starts: Integers, sizes: Integers, n_samples: int, n_positives: int
    ) -> Floats:
        """Sums of the weights over blocks of ranks, each after its start.

        The sum has two parts: the excess of the block's last rank over the last rank of all, times
        the size of the block, and the excesses of the block's other ranks over its last rank.
        """
        rate, behind = self.alpha / n_samples, n_samples - starts - sizes
        with np.errstate(under="ignore"):
            level = self._decay(rate * starts) * np.expm1(-rate * behind) * np.expm1(-rate * sizes)
            inside = self._decay(rate * (n_samples - sizes)) * self._excess(rate, sizes)
            return np.asarray((level + inside) * self._scale(n_samples, n_positives))

    def offset(self, n_samples: int, n_positives: int) -> float:
        """Constant added to the sum, so that the worst ranking has the value 0."""
        last = np.array([n_samples - n_positives]), np.array([n_positives])
        return -float(self.weight_sums(*last, n_samples, n_positives)[0]) if n_positives else 0.0

    def mirrored(self, n_samples: int, n_positives: int) -> RankStatistic | None:
        """Return the statistic as a sum over the negatives, by their ranks from the end."""
        if not n_samples < 2 * n_positives < 2 * n_samples:
            return None
        # The negatives add nearly alike where the weights have vanished at the last positives.
        every = np.array([0]), np.array([n_samples])
        least = LEAST_OF_ALL * float(self.weight_sums(*every, n_samples, n_positives)[0])
        offset = self.offset(n_samples, n_positives)
        return _BedrocOfMisses(self.alpha) if -offset > least else None

    def _decay(self, x: Any) -> Floats:
        return np.asarray(np.exp(-np.asarray(x, dtype=float)))

    def _excess(self, rate: float, sizes: Integers) -> Floats:
        """``f(s) sum_{j<g} (exp(s j) - 1) exp(-s (g - 1))`` for blocks of g.

        It is ``1 - exp(-s g) - g exp(-s (g - 1)) f(s)``, or a series if that form cancels.
        """
        g = np.asarray(sizes, dtype=float)
        direct = -np.expm1(-rate * g) + g * np.exp(-rate * (g - 1.0)) * math.expm1(-rate)
        near = np.exp(-rate * np.minimum(g, 1.0 / rate)) * _growth_beyond_steps(rate, g)
        # For a block of one rank the result is exactly 0.
        return np.where(g == 1.0, 0.0, np.where(rate * g < 1.0, near, direct))

    def _scale(self, n_samples: int, n_positives: int) -> float:
        if n_positives in (0, n_samples):
            return 0.0
        rate = self.alpha / n_samples
        return 1.0 / (
            math.expm1(-rate * n_positives) * math.expm1(-rate * (n_samples - n_positives))
        )


@dataclass(frozen=True, repr=False)
class _BedrocOfMisses(Bedroc):
    """BEDROC as a sum over the negatives: rank r from the end adds ``f(s (n - r)) f(s)``, scaled.

    The weights are those of hits with the opposite rate.
    """

    def mirrored(self, n_samples: int, n_positives: int) -> RankStatistic | None:
        """Return nothing: the negatives are the fewer items."""
        return None

    def _decay(self, x: Any) -> Floats:
        return np.ones_like(np.asarray(x, dtype=float))

    def _excess(self, rate: float, sizes: Integers) -> Floats:
        """``f(s) sum_{j<g} (1 - exp(-s j))`` for blocks of g: ``g f(s) - f(s g)``, or a series."""
        g = np.asarray(sizes, dtype=float)
        direct = np.expm1(-rate * g) - g * math.expm1(-rate)
        series = _growth_beyond_steps(-rate, g)
        return np.where(g == 1.0, 0.0, np.where(rate * g < 1.0, series, direct))


def _growth_beyond_steps(rate: float, g: Floats) -> Floats:
    """``expm1(s g) - g expm1(s)`` by its series ``sum_i s**i (g**i - g) / i!``, for |s g| < 1."""
    x = np.clip(rate * g, -1.0, 1.0)
    total, power, single = np.zeros_like(x), x.copy(), g * rate
    for i in range(2, 24):
        power, single = power * x / i, single * rate / i
        total = total + (power - single)
    return total


# Classes of metrics whose weights are not checked.
_KNOWN_WEIGHTS = (RocAuc, DiscountedCumulativeGain, RobustInitialEnhancement, Bedroc)
