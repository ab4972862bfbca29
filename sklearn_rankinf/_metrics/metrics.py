"""Metrics, each a small class, and their names.

A metric defines the contribution of the positives in a block of equal scores. Its value, its null
distribution and its influence values are derived from this definition.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from numbers import Integral
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expi, expit
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._guard import metric_call
from sklearn_rankinf._metrics.influence import (
    average_precision_at_k_influence,
    average_precision_influence,
    delete_one_influence,
    enrichment_at_k_influence,
    precision_at_k_influence,
    recall_at_k_influence,
    roc_auc_influence,
)
from sklearn_rankinf._ranking import (
    PosLabel,
    Ranking,
    Sample,
    check_k,
    check_normalize,
    check_positive,
    resolve_k,
    shown,
    warn_caller,
)
from sklearn_rankinf._statistics import (
    Complexes,
    Denominators,
    Floats,
    HitBlocks,
    HitsAtK,
    HitValues,
    Increments,
    Influence,
    Integers,
    Metric,
    Statistic,
    SumOfWeights,
    average_precision_mean_and_variance,
    blocks_of,
    first_hit_atoms,
    harmonic_between,
    log_binomial,
    log_probability_of_hits_down_to,
    log_tail,
    mean_reciprocals_of_firsts,
)

# Discounts of the first ranks, and discounts of a few ranks, are summed term by term.
_NEAR_RANKS, _FEW_RANKS = 4096, 64
# Number of factors of a product that are computed together.
_FACTORS = 1 << 18
# The weights of all first ranks and of a sample of the other ranks are checked.
_RANKS_CHECKED, _FAR_RANKS_CHECKED = 100_000, 1000
# Tolerance, relative to the first weight, for a weight that is larger than the one before.
_SAME_WEIGHT = 1e-12


class _Callable(Metric):
    """A metric that is also a function of labels and scores, as `make_scorer` needs it."""

    @property
    def __name__(self) -> str:
        return repr(self)

    @metric_call
    def __call__(
        self,
        y_true: ArrayLike | Ranking,
        y_score: ArrayLike | None = None,
        *,
        pos_label: PosLabel = 1,
    ) -> float:
        """Value of the metric for labels and scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or Ranking
            Binary labels, or a ranking, in which case `y_score` is omitted.
        y_score : array-like of shape (n_samples,), optional
            Scores, larger for samples more likely to be positive. Required unless `y_true` is a
            ranking.
        pos_label : int, float, bool or str, default=1
            The label of the positives. Ignored if `y_true` is a ranking.

        Returns
        -------
        value : float
            The value, with a warning and 0.0 if it is undefined.
        """
        as_metric(self)
        ranking = Sample.read(y_true, y_score, pos_label=pos_label, needs_ties=False).rankings[0]
        value = float(value_of(self, ranking))
        message = undefined_value(self, ranking)
        if message is not None:
            warn_caller(message, UndefinedMetricWarning)
        return value


@dataclass(frozen=True, repr=False)
class AveragePrecision(_Callable, Statistic):
    r"""Average precision of the whole ranking or of its first k ranks.

    Parameters
    ----------
    k : int, float or None, default=None
        Cut-off: a number of samples, or a fraction of them between 0 and 1, rounded up; None means
        the whole ranking.
    normalize : {"min", "positives"}, default="min"
        Divisor: the smaller of the number of positives and `k`, or the number of positives.

    Raises
    ------
    TypeError
        If `k` is not a number.
    ValueError
        If `k` is out of its range, or `normalize` is not one of the two.

    See Also
    --------
    sklearn_rankinf.metric_test : Test of any metric.
    sklearn_rankinf.average_precision_test : Test of average precision.

    Notes
    -----
    A block of equal scores is one threshold, as in scikit-learn: with :math:`H_b` positives among
    the first :math:`T_b` samples at the end of block b, and :math:`y_b` positives in it,

    .. math:: \mathrm{AP} = \frac{1}{m} \sum_b y_b \frac{H_b}{T_b}.

    With `k` only the first k ranks count, and a block that straddles k contributes its expectation
    over random tie-breaking.

    Examples
    --------
    >>> from sklearn_rankinf import AveragePrecision, metric_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> round(metric_test(y_true, y_score, metric=AveragePrecision(k=3)).statistic, 4)
    0.6667
    """

    family = "average_precision"
    approximations = ("normal", "pearson3", "zhang_su")
    is_of_population = True
    takes_weights = True

    has_exact_mean = True
    k: Any = None
    normalize: str = "min"

    def __post_init__(self) -> None:
        if self.k is not None:
            _set(self, k=check_k(self.k))
        _set(self, normalize=check_normalize(self.normalize))

    @property
    def title(self) -> str:
        """Name of the metric in a sentence and on an axis."""
        return "Average precision" + _at_k(self.k)

    @property
    def symbol(self) -> str:
        """Name of the metric in a legend and in a table."""
        return "AP" if self.k is None else f"AP@{self.k}"

    def at(self, n_samples: int) -> Self:
        """Return the metric with a number of samples as its cut-off; None for all samples."""
        k = None if self.k is None else resolve_k(self.k, n_samples)
        return type(self)() if k in (None, n_samples) else replace(self, k=k)

    @property
    def horizon(self) -> int | None:
        """Rank beyond which hits contribute nothing; None if every rank counts."""
        return None if self.k is None else int(self.k)

    def divisor(self, n_positives: int) -> float:
        """Divisor of the sum of precisions."""
        if self.k is None or self.normalize == "positives":
            return float(max(n_positives, 1))
        return float(max(min(n_positives, self.k), 1))

    def denominators(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> Denominators | None:
        """The divisor, and the ranks at which precisions are summed."""
        ranks: Sequence[int] = range(1, (self.horizon or n_samples) + 1)
        if tie_sizes is not None:
            if self.k is not None:
                return None  # a block that straddles k adds sums of other fractions
            ranks = np.cumsum(tie_sizes).tolist()
        return round(self.divisor(n_positives)), ranks

    def best(self, n_samples: int, n_positives: int) -> float:
        """Value of a perfect ranking without ties."""
        counted = n_positives if self.k is None else min(n_positives, self.k)
        return counted / self.divisor(n_positives)

    def tied(
        self, starts: ArrayLike, sizes: ArrayLike, n_samples: int, n_positives: int
    ) -> Increments:
        """Coefficients of blocks of equal scores."""
        start, size = blocks_of(starts, sizes)
        divisor = self.divisor(n_positives)
        whole = np.asarray(1.0 / ((start + size) * divisor), dtype=float)
        increments = Increments(size, whole, np.zeros_like(whole), whole)
        if self.k is None:
            return increments
        cut = start + size > self.k
        partial = self.shuffled(start, size, n_samples, n_positives)
        return Increments(
            size,
            np.where(cut, partial.cross, increments.cross),
            np.where(cut, partial.linear, increments.linear),
            np.where(cut, partial.square, increments.square),
        )

    def shuffled(
        self, starts: ArrayLike, sizes: ArrayLike, n_samples: int, n_positives: int
    ) -> Increments:
        """Coefficients of the expected increment of blocks in random order, up to rank k.

        With a = ``starts``, g = ``sizes``, j counted ranks of the block and ``S = H_{a+j} - H_a``:
        ``h y S/g + y S/g + y (y-1) (j - (a+1) S) / (g (g-1))``.
        """
        start, size = blocks_of(starts, sizes)
        divisor = self.divisor(n_positives)
        counted = size if self.k is None else np.clip(self.k - start, 0, size)
        one_hit = harmonic_between(start, start + counted)
        each = one_hit / (size * divisor)
        # j - (a+1) S sums, over the counted ranks, the number of earlier ranks divided by the rank.
        behind = np.where(counted > 1, counted - (start + 1.0) * one_hit, 0.0)
        pairs = behind / (np.maximum(size * (size - 1.0), 1.0) * divisor)
        return Increments(size, each, each - pairs, pairs)

    def log_probability_of_best(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> float:
        """Natural logarithm of the probability of the value of a perfect ranking without ties.

        The value requires only hits in every block down to rank ``min(n_positives, k)``.
        """
        reached = n_positives if self.k is None else min(n_positives, self.k)
        return log_probability_of_hits_down_to(reached, n_samples, n_positives, tie_sizes)

    def mean_and_variance(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> tuple[float, float] | None:
        """Mean and variance in closed form for long rankings without ties; otherwise None."""
        if self.k is not None or tie_sizes is not None or n_samples < 100:
            return None
        return average_precision_mean_and_variance(n_samples, n_positives)

    def expected_in(
        self, model: Any, effect: float, n_samples: int, n_positives: int
    ) -> float | None:
        """Expected value in a model of rankings with an effect; None for a value at k."""
        if self.k is not None:
            return None
        return float(model.expected_average_precision(n_samples, n_positives, effect))

    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence:
        """Influence values of the items of a ranking."""
        if self.k is None:
            return average_precision_influence(tie_sizes, hits)
        return average_precision_at_k_influence(tie_sizes, hits, self.k, self.normalize)


def _set(metric: Metric, **parameters: Any) -> None:
    """Set parameters of a frozen metric, as Python's own numbers, while it is made."""
    for name, value in parameters.items():
        object.__setattr__(metric, name, value)


def _at_k(k: Any) -> str:
    """Suffix of a metric's name for a cut-off."""
    return "" if k is None else f" at {k}"


class _ShareOfHits(_Callable, HitsAtK):
    """Hits at k with the checks and names shared by recall, precision and other metrics."""

    _quantity: ClassVar[str]

    def __post_init__(self) -> None:
        _set(self, k=check_k(self.k))

    @property
    def title(self) -> str:
        """Name of the metric in a sentence and on an axis."""
        return self._quantity + _at_k(self.k)

    @property
    def symbol(self) -> str:
        """Name of the metric in a legend and in a table."""
        return f"{self._quantity.lower()}@{self.k}"

    def at(self, n_samples: int) -> Self:
        """Return the metric with a number of samples as its cut-off."""
        return replace(self, k=resolve_k(self.k, n_samples))  # type: ignore[type-var]


@dataclass(frozen=True, repr=False)
class RecallAtK(_ShareOfHits):
    r"""Recall at k: the fraction of the positives that are among the first k samples.

    Parameters
    ----------
    k : int or float
        Cut-off: a number of samples, or a fraction of them between 0 and 1, rounded up.

    Raises
    ------
    TypeError
        If `k` is not a number.
    ValueError
        If `k` is out of its range.

    See Also
    --------
    PrecisionAtK, EnrichmentAtK, FScoreAtK : Other multiples of the number of hits.
    sklearn_rankinf.recall_at_k_test : Test of this metric.

    Notes
    -----
    With H of the m positives among the first k samples, recall is :math:`H / m`. If a block of g
    equal scores with y positives straddles k and has j ranks up to k, it contributes
    :math:`y j / g` hits, the expectation over random tie-breaking.

    Examples
    --------
    >>> from sklearn_rankinf import RecallAtK, metric_test
    >>> result = metric_test([1, 1, 0, 1, 0, 0], [6, 5, 4, 3, 2, 1], metric=RecallAtK(2))
    >>> round(result.statistic, 4)
    0.6667
    """

    k: Any
    _quantity = "Recall"

    def divided_by(self, n_samples: int, n_positives: int) -> Any:
        """Divisor of the number of hits."""
        return max(n_positives, 1)

    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence:
        """Influence values of the items of a ranking."""
        return recall_at_k_influence(tie_sizes, hits, self.k)


@dataclass(frozen=True, repr=False)
class PrecisionAtK(_ShareOfHits):
    r"""Precision at k: the fraction of the first k samples that are positive.

    Parameters
    ----------
    k : int or float
        Cut-off; see :class:`RecallAtK`.

    Raises
    ------
    TypeError
        If `k` is not a number.
    ValueError
        If `k` is out of its range.

    See Also
    --------
    RecallAtK, EnrichmentAtK, FScoreAtK : Other multiples of the number of hits.
    sklearn_rankinf.metric_test : Test of this metric.

    Notes
    -----
    With H positives among the first k samples, precision is :math:`H / k`; ties are treated as in
    :class:`RecallAtK`.

    Examples
    --------
    >>> from sklearn_rankinf import PrecisionAtK, metric_test
    >>> metric_test([1, 1, 0, 1, 0, 0], [6, 5, 4, 3, 2, 1], metric=PrecisionAtK(4)).statistic
    0.75
    """

    k: Any
    _quantity = "Precision"

    def divided_by(self, n_samples: int, n_positives: int) -> Any:
        """Divisor of the number of hits."""
        return self.k

    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence:
        """Influence values of the items of a ranking."""
        return precision_at_k_influence(tie_sizes, hits, self.k)


@dataclass(frozen=True, repr=False)
class EnrichmentAtK(_ShareOfHits):
    r"""Enrichment factor at k: precision at k divided by the prevalence.

    Parameters
    ----------
    k : int or float
        Cut-off; see :class:`RecallAtK`.

    Raises
    ------
    TypeError
        If `k` is not a number.
    ValueError
        If `k` is out of its range.

    See Also
    --------
    RecallAtK, PrecisionAtK, FScoreAtK : Other multiples of the number of hits.
    sklearn_rankinf.metric_test : Test of any metric.

    Notes
    -----
    With H of the m positives among the first k of n samples,

    .. math:: \mathrm{EF} = \frac{H / k}{m / n},

    so that chance is 1; ties are treated as in :class:`RecallAtK`.

    Examples
    --------
    >>> from sklearn_rankinf import EnrichmentAtK
    >>> EnrichmentAtK(2)([1, 1, 0, 0, 0, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1])
    4.0
    >>> EnrichmentAtK(0.25)([1, 1, 0, 0, 0, 0, 0, 0], [0.5] * 8)
    1.0
    """

    k: Any
    _quantity = "Enrichment"

    def divided_by(self, n_samples: int, n_positives: int) -> Any:
        """Divisor of the number of hits."""
        return self.k * (max(n_positives, 1) / n_samples)

    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence:
        """Influence values of the items of a ranking."""
        return enrichment_at_k_influence(tie_sizes, hits, self.k)


@dataclass(frozen=True, repr=False)
class FScoreAtK(_ShareOfHits):
    r"""F-score at k: the weighted harmonic mean of precision and recall at k.

    Parameters
    ----------
    k : int or float
        Cut-off; see :class:`RecallAtK`.
    beta : float, default=1.0
        Relative weight of recall, compared with precision.

    Raises
    ------
    TypeError
        If `k` or `beta` is not a number.
    ValueError
        If `k` is out of its range, or `beta` is not positive and finite.

    See Also
    --------
    RecallAtK, PrecisionAtK : The two components.
    sklearn.metrics.fbeta_score : F-score of a classification.

    Notes
    -----
    The first k samples are taken as the predicted positives [1]_. With H of the m positives among
    them,

    .. math:: F_\beta = \frac{(1 + \beta^2)\, P R}{\beta^2 P + R}
              = \frac{(1 + \beta^2)\, H}{\beta^2 m + k},
              \qquad P = \frac Hk, \quad R = \frac Hm.

    For a fixed k the F-score is a multiple of the number of hits, so its p-values are those of
    recall and precision at k. A perfect ranking reaches 1 only for k = m. Ties are treated as in
    :class:`RecallAtK`.

    References
    ----------
    .. [1] van Rijsbergen, C. J. (1979). Information Retrieval, 2nd edition. Butterworths, London.

    Examples
    --------
    >>> from sklearn_rankinf import FScoreAtK
    >>> y_true, y_score = [1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.1]
    >>> FScoreAtK(2)(y_true, y_score)
    0.5
    >>> round(FScoreAtK(3, beta=2.0)(y_true, y_score), 4)
    0.9091
    """

    k: Any
    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _set(self, beta=check_positive(self.beta, "beta"))

    @property
    def title(self) -> str:
        """Name of the metric in a sentence and on an axis."""
        return f"F{self.beta:g} score" + _at_k(self.k)

    @property
    def symbol(self) -> str:
        """Name of the metric in a legend and in a table."""
        return f"F{self.beta:g}@{self.k}"

    def divided_by(self, n_samples: int, n_positives: int) -> Any:
        """Divisor of the number of hits: the weighted mean of n_positives and k."""
        return self._share_of_recall * max(n_positives, 1) + (1.0 - self._share_of_recall) * self.k

    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence:
        """Influence values of the items of a ranking."""
        divisor = self.divided_by(int(tie_sizes.sum()), int(hits.sum()))
        of_hits = precision_at_k_influence(tie_sizes, hits, self.k).times(self.k / divisor)
        # An additional positive also increases the divisor.
        growth = self.evaluate(tie_sizes, hits) * self._share_of_recall / divisor
        return replace(of_hits, positive=of_hits.positive - growth)

    @property
    def _share_of_recall(self) -> float:
        """``beta**2 / (1 + beta**2)``, without overflow."""
        return 1.0 / (1.0 + (1.0 / self.beta) * (1.0 / self.beta))


class RankStatistic(_Callable, SumOfWeights):
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
    If the positives are at the ranks :math:`r_1 < \dots < r_m` of n samples, the value is

    .. math:: S = \sum_{i=1}^m w(r_i; n, m) + c(n, m),

    where the weights are non-negative and do not increase with the rank, and c, returned by
    `offset`, is a constant. Instances with the same parameters should be equal, so that their null
    distributions are cached; make a subclass with parameters a frozen dataclass. A field `k` is a
    cut-off, a number of samples; define ``at(n_samples)``, which returns the metric with such a
    number, to allow fractions as well. The title is the name of the class in words, unless it is
    defined.

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


@dataclass(frozen=True, repr=False)
class RocAuc(RankStatistic):
    r"""Area under the ROC curve: the fraction of positive-negative pairs in the right order.

    See Also
    --------
    sklearn_rankinf.metric_test : Test of this metric.

    Notes
    -----
    With m positives at the ranks :math:`r_i` of n samples,

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

    @property
    def title(self) -> str:
        """Name of the metric in a sentence and on an axis."""
        return "ROC AUC"

    def weights(self, ranks: Integers, n_samples: int, n_positives: int) -> Floats:
        """Contribution of a positive at each rank."""
        return (n_samples - np.asarray(ranks, dtype=float)) * _one_pair(n_samples, n_positives)

    def weight_sums(
        self, starts: Integers, sizes: Integers, n_samples: int, n_positives: int
    ) -> Floats:
        """Sums of the weights over blocks of ranks, each after its start."""
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

    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence:
        """Influence values of the items of a ranking, which give DeLong's variance."""
        return roc_auc_influence(tie_sizes, hits)

    def mirrored(self) -> RankStatistic | None:
        """Return the statistic as a sum over the negatives, in the reversed ranking."""
        return self


def _one_pair(n_samples: int, n_positives: int) -> float:
    """Value of one pair of a positive and a negative; 0 if there are no pairs."""
    n_pairs = float(n_positives) * float(n_samples - n_positives)
    return 1.0 / n_pairs if n_pairs else 0.0


@dataclass(frozen=True, repr=False)
class DiscountedCumulativeGain(RankStatistic):
    r"""Discounted cumulative gain of the whole ranking or of its first k ranks.

    Parameters
    ----------
    k : int, float or None, default=None
        Cut-off: a number of samples, or a fraction of them between 0 and 1, rounded up; None means
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
    k: Any = None
    normalize: bool = False

    def __post_init__(self) -> None:
        if self.k is not None:
            _set(self, k=check_k(self.k))
        if not isinstance(self.normalize, bool | np.bool_):
            raise TypeError(
                f"normalize must be True or False; got {shown(self.normalize)} of type "
                f"{type(self.normalize).__name__}."
            )
        _set(self, normalize=bool(self.normalize))

    @property
    def title(self) -> str:
        """Name of the metric in a sentence and on an axis."""
        return self._abbreviation + _at_k(self.k)

    @property
    def symbol(self) -> str:
        """Name of the metric in a legend and in a table."""
        return self._abbreviation + ("" if self.k is None else f"@{self.k}")

    @property
    def _abbreviation(self) -> str:
        return "NDCG" if self.normalize else "DCG"

    def at(self, n_samples: int) -> Self:
        """Return the metric with a number of samples as its cut-off; None for all samples."""
        k = None if self.k is None else resolve_k(self.k, n_samples)
        return replace(self, k=None if k == n_samples else k)

    @property
    def horizon(self) -> int | None:
        """Rank beyond which hits contribute nothing; None if every rank counts."""
        return None if self.k is None else int(self.k)

    def weights(self, ranks: Integers, n_samples: int, n_positives: int) -> Floats:
        """Contribution of a positive at each rank."""
        rank = np.asarray(ranks, dtype=float)
        discounts = 1.0 / np.log2(rank + 1.0)
        if self.k is not None:
            discounts = np.where(rank <= self.k, discounts, 0.0)
        return np.asarray(discounts / self._ideal(n_positives))

    def weight_sums(
        self, starts: Integers, sizes: Integers, n_samples: int, n_positives: int
    ) -> Floats:
        """Sums of the weights over blocks of ranks, each after its start."""
        ends = starts + sizes
        if self.k is not None:
            starts, ends = np.minimum(starts, self.k), np.minimum(ends, self.k)
        return np.asarray(_sums_of_discounts(starts, ends) / self._ideal(n_positives))

    def _ideal(self, n_positives: int) -> float:
        if not self.normalize or n_positives == 0:
            return 1.0
        counted = n_positives if self.k is None else min(n_positives, self.k)
        return float(_sums_of_discounts(np.array([0]), np.array([counted]))[0])

    def log_probability_of_best(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> float:
        """Natural logarithm of the probability that all counted ranks are hits."""
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
    With the ranks :math:`r_i` of m positives among n samples [1]_, in the form of [2]_,

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
        _set(self, alpha=check_positive(self.alpha, "alpha"))

    @property
    def title(self) -> str:
        """Name of the metric in a sentence and on an axis."""
        return "RIE"

    def weights(self, ranks: Integers, n_samples: int, n_positives: int) -> Floats:
        """Contribution of a positive at each rank."""
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
        _set(self, alpha=check_positive(self.alpha, "alpha"))

    @property
    def title(self) -> str:
        """Name of the metric in a sentence and on an axis."""
        return "BEDROC"

    def weights(self, ranks: Integers, n_samples: int, n_positives: int) -> Floats:
        """Contribution of a positive at each rank."""
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
        level = self._decay(rate * starts) * np.expm1(-rate * behind) * np.expm1(-rate * sizes)
        inside = self._decay(rate * (n_samples - sizes)) * self._excess(rate, sizes)
        return np.asarray((level + inside) * self._scale(n_samples, n_positives))

    def offset(self, n_samples: int, n_positives: int) -> float:
        """Constant added to the sum, so that the worst ranking has the value 0."""
        last = np.array([n_samples - n_positives]), np.array([n_positives])
        return -float(self.weight_sums(*last, n_samples, n_positives)[0]) if n_positives else 0.0

    def mirrored(self) -> RankStatistic | None:
        """Return the statistic as a sum over the negatives, by their ranks from the end."""
        return _BedrocOfMisses(self.alpha)

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

    def mirrored(self) -> RankStatistic | None:
        """Return the statistic as a sum over the positives."""
        return Bedroc(self.alpha)

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


@dataclass(frozen=True, repr=False)
class ReciprocalRank(_Callable):
    r"""Reciprocal rank: one over the rank of the first positive.

    See Also
    --------
    sklearn.metrics.label_ranking_average_precision_score : Mean of the reciprocal rank over rows
        with one label each.

    Notes
    -----
    If the first positive is in a block of g equal scores, y of them positive, after :math:`a`
    samples with better scores, the value is the expectation over random tie-breaking [1]_,

    .. math:: \sum_{j=1}^{g-y+1} \binom{g-j}{y-1} \Big/ \binom{g}{y} \cdot \frac{1}{a + j}.

    Without ties the p-value of a first positive at rank r is
    :math:`1 - \binom{n-r}{m} / \binom{n}{m}`. The p-value is never below the prevalence, since only
    the first positive counts.

    References
    ----------
    .. [1] Voorhees, E. M. (1999). The TREC-8 question answering track report. Proceedings of the
       8th Text REtrieval Conference, 77-82.

    Examples
    --------
    >>> from sklearn_rankinf import ReciprocalRank, metric_test
    >>> y_true, y_score = [0, 1, 0, 1, 0, 0, 1, 0], [8, 7, 6, 5, 4, 3, 2, 1]
    >>> result = metric_test(y_true, y_score, metric=ReciprocalRank())
    >>> result.statistic, round(result.pvalue * 56, 9)
    (0.5, 36.0)
    >>> ReciprocalRank()([0, 1], [0.5, 0.5])
    0.75
    """

    distribution = "listed"
    has_exact_mean = True

    @property
    def title(self) -> str:
        """Name of the metric in a sentence and on an axis."""
        return "Reciprocal rank"

    @property
    def symbol(self) -> str:
        """Name of the metric in a legend and in a table."""
        return "RR"

    def best(self, n_samples: int, n_positives: int) -> float:
        """Value of a perfect ranking."""
        return 1.0 if n_positives else 0.0

    def evaluate(self, tie_sizes: Integers, hits: Integers) -> float:
        """Value for a ranking given by the sizes of its blocks and the hits in them."""
        found = np.flatnonzero(hits)
        if not found.size:
            return 0.0
        first = found[0]
        start = np.array([tie_sizes[:first].sum()])
        values = mean_reciprocals_of_firsts(start, tie_sizes[first : first + 1])
        return float(values[hits[first] - 1])

    def hit_values(self, n_samples: int, n_positives: int, tie_sizes: Integers | None) -> HitValues:
        """The values as a function of rows of hits at ascending ranks, or blocks."""
        if tie_sizes is None:
            return _first_reciprocals
        starts = np.cumsum(tie_sizes) - tie_sizes
        values = mean_reciprocals_of_firsts(starts, tie_sizes)
        return partial(_first_mean_reciprocals, starts, values)

    def totals(self, blocks: HitBlocks, *, are_kept: bool) -> Floats:
        """Reciprocal rank of the first hit of each list, the mean over all orders of its block."""
        first = blocks.before == 0
        sizes = blocks.sizes[first]
        values = mean_reciprocals_of_firsts(blocks.starts[first], sizes)
        reciprocals = np.zeros(blocks.n_lists)
        at = np.cumsum(sizes) - sizes + blocks.hits[first] - 1
        reciprocals[blocks.lists[first]] = values[at]
        return reciprocals

    def denominators(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> Denominators | None:
        """The ranks of the first positive."""
        return (1, range(1, n_samples - n_positives + 2)) if tie_sizes is None else None

    def atoms(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> tuple[Floats, Floats]:
        """Ascending values, and logarithms of their weights."""
        return first_hit_atoms(n_samples, n_positives, tie_sizes)

    def significant_hits(
        self, alpha: float, n_samples: int, n_positives: int
    ) -> tuple[float, int, int]:
        """The smallest significant value without ties, and h and k of the same event."""
        ranks = range(1, n_samples - n_positives + 1)
        # As for hits at k, a tail of probability 1 is above every level.
        level = min(math.log(alpha * (1.0 + 1e-12)), -np.finfo(float).tiny)
        k = bisect_right(ranks, level, key=lambda k: float(log_tail(1, n_samples, n_positives, k)))
        return (1.0 / k if k else math.nan), 1, k

    def expected_in(self, model: Any, effect: float, n_samples: int, n_positives: int) -> float:
        """Expected value in a model of rankings with an effect."""
        return float(model.expected_reciprocal_rank(n_samples, n_positives, effect))


def _first_reciprocals(ranks: Integers) -> Floats:
    """One over the first rank, which starts at 0, of each row."""
    return np.asarray(1.0 / (ranks[:, 0] + 1.0))


def _first_mean_reciprocals(starts: Integers, values: Floats, places: Integers) -> Floats:
    """Values of the first blocks with hits, by the number of hits in them."""
    n_first = np.sum(places == places[:, :1], axis=1)
    return np.asarray(values[starts[places[:, 0]] + n_first - 1])


# Values.


def value_of(metric: Metric, ranking: Ranking) -> Any:
    """Value of a metric for a ranking; 0 without positives."""
    if ranking.n_positives == 0 and not isinstance(metric, HitsAtK):
        return 0.0
    statistic = metric.at(ranking.n_samples)
    check_weights(statistic, ranking.n_samples, ranking.n_positives)
    return statistic.evaluate(ranking.tie_sizes, ranking.hits)


def no_positives(what: str, value: str) -> str:
    """Text of the warning about labels without positives."""
    return f"{what} is undefined without positives in y_true and is set to {value}."


def undefined_value(metric: Metric, ranking: Ranking) -> str | None:
    """Text of the warning about a metric that is undefined for a ranking, otherwise None."""
    if ranking.n_positives == 0:
        return no_positives(metric.title, "0.0")
    if metric.needs_misses and ranking.n_positives == ranking.n_samples:
        value = value_of(metric, ranking)
        return f"{metric.title} is undefined without negatives in y_true and is set to {value:.1f}."
    return None


def warn_of_one_class(positive: NDArray[np.bool_], consequence: str) -> None:
    """Warn about labels of a single class, and state the consequence."""
    warn_caller(
        f"y_true contains only one class, {int(positive.sum())} positives among {positive.size} "
        f"samples: {consequence}.",
        UndefinedMetricWarning,
    )


def in_sentence(title: str) -> str:
    """The title of a metric inside a sentence: abbreviations keep their capitals."""
    return title if title[:2].isupper() else title[0].lower() + title[1:]


def influence_of(metric: Statistic, ranking: Ranking) -> Influence:
    """Influence values of the items of a ranking, in closed form or by deletion."""
    n, m = ranking.n_samples, ranking.n_positives
    statistic = metric.at(n)
    known = statistic.influence(ranking.tie_sizes, ranking.hits)
    if known is not None:
        return known
    # In a sum, the contribution of a hit at the top does not depend on the number of hits.
    top = [statistic.tied([0], [1], n, hits).of_one_hit[0] for hits in (m, max(m - 1, 1))]
    is_sum = bool(top[0] == top[1]) and m > 1
    return delete_one_influence(statistic, ranking.tie_sizes, ranking.hits, is_sum=is_sum)


# Weights of custom metrics.


# Classes of metrics whose weights are not checked.
_KNOWN_WEIGHTS = (RocAuc, DiscountedCumulativeGain, RobustInitialEnhancement, Bedroc)


def check_weights(statistic: Metric, n_samples: int, n_positives: int) -> None:
    """Raise an error for weights that are negative, not finite, increasing, or of a wrong shape."""
    if not isinstance(statistic, RankStatistic) or type(statistic) in _KNOWN_WEIGHTS:
        return
    if n_positives == 0:
        return  # the statistic is 0.0 for any weights
    ranks = np.arange(1, min(n_samples, _RANKS_CHECKED) + 1)
    if n_samples > _RANKS_CHECKED:
        far = np.geomspace(_RANKS_CHECKED, n_samples, _FAR_RANKS_CHECKED)
        ranks = np.union1d(ranks, np.minimum(far.astype(np.int64), n_samples))
    name = f"{type(statistic).__name__}.weights"
    weights = np.asarray(statistic.weights(ranks, n_samples, n_positives))
    if weights.shape != ranks.shape:
        raise ValueError(
            f"{name} must return one number for each rank; got an array of shape {weights.shape} "
            f"for ranks of shape {ranks.shape}."
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


# Names.


METRICS: Mapping[str, Callable[..., Metric]] = MappingProxyType(
    {
        "average_precision": AveragePrecision,
        "recall": RecallAtK,
        "precision": PrecisionAtK,
        "enrichment": EnrichmentAtK,
        "f_score": FScoreAtK,
        "roc_auc": RocAuc,
        "dcg": DiscountedCumulativeGain,
        "ndcg": partial(DiscountedCumulativeGain, normalize=True),
        "bedroc": Bedroc,
        "rie": RobustInitialEnhancement,
        "reciprocal_rank": ReciprocalRank,
    }
)
"""Classes and functions that return a metric, by name."""


def as_metric(metric: Any) -> Metric:
    """Return the metric given by an instance or by a name, such as ``"recall@50"``."""
    if isinstance(metric, str):
        return _named(metric)
    if isinstance(metric, type) and issubclass(metric, Metric):
        raise TypeError(
            f"metric must be an instance; got the class {metric.__name__}: pass "
            f"{metric.__name__}({'k=...' if needs_k(metric) else ''})."
        )
    if not isinstance(metric, Metric):
        raise ValueError(_unknown(metric))
    if isinstance(metric, RankStatistic):
        _check_of_user(metric)
    return metric


def _named(metric: str) -> Metric:
    """Return the metric with a name and, after an @, its cut-off."""
    name, at, cut_off = metric.partition("@")
    if name not in METRICS:
        raise ValueError(_unknown(metric))
    make = METRICS[name]
    if at and "k" not in _field_names(make):
        raise ValueError(f"metric={metric!r}: {name} has no cut-off; pass metric={name!r}.")
    if at:
        return make(k=_cut_off(metric, cut_off))
    if needs_k(make):
        raise ValueError(
            f"{name} needs a cut-off: metric='{name}@50' counts the first 50 samples, and "
            f"metric='{name}@0.1' a tenth of a list of any size."
        )
    return make()


def _cut_off(metric: str, text: str) -> float:
    """Return the number after the @ in the name of a metric."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    raise ValueError(
        f"metric={shown(metric)}: the cut-off after the @ must be a number of samples, such as 50, "
        f"or a fraction of them, such as 0.01; got {shown(text)}."
    )


def _unknown(metric: Any) -> str:
    """Text of the error about a metric that does not exist."""
    names = ", ".join(f"'{name}{'@50' if needs_k(make) else ''}'" for name, make in METRICS.items())
    return (
        f"metric must be one of {names}, or an instance of a metric such as AveragePrecision(); "
        f"got {shown(metric)}."
    )


def needs_k(make: Callable[..., Metric]) -> bool:
    """Whether a metric cannot be created without a k."""
    return isinstance(make, type) and issubclass(make, HitsAtK)


def _field_names(metric: Any) -> set[str]:
    """Names of the parameters of a metric, or of the callable that returns it."""
    kind = metric.func if isinstance(metric, partial) else metric
    return {field.name for field in fields(kind)} if is_dataclass(kind) else set()


def _check_of_user(statistic: RankStatistic) -> None:
    """Raise an error for a statistic that cannot be hashed, or with a fraction that stays one."""
    try:
        hash(statistic)
    except TypeError:
        name = type(statistic).__name__
        raise TypeError(
            f"metric must be hashable, because null distributions are cached by its value; got "
            f"{name}: make that class a frozen dataclass with hashable parameters."
        ) from None
    k = getattr(statistic, "k", None)
    if k is None or type(statistic).at is not Metric.at:
        return
    check_k(k)
    if not isinstance(k, Integral):
        raise ValueError(
            f"metric={statistic!r} needs k as a number of samples; got the fraction k={shown(k)}: "
            "pass an int, or define at(n_samples) in that class."
        )
