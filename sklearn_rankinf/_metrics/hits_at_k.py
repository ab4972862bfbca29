"""Recall, precision, enrichment and F-score at k: multiples of the number of hits among k."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from sklearn_rankinf._metrics.influence import (
    enrichment_at_k_influence,
    precision_at_k_influence,
    recall_at_k_influence,
)
from sklearn_rankinf._metrics.values import CallableMetric, at_k, set_parameters
from sklearn_rankinf._ranking import check_k, check_positive, resolve_k
from sklearn_rankinf._statistics import HitsAtK, Influence, Integers


class _ShareOfHits(CallableMetric, HitsAtK):
    """Hits at k with the checks and names shared by recall, precision and other metrics."""

    _quantity: ClassVar[str]

    def __post_init__(self) -> None:
        set_parameters(self, k=check_k(self.k))

    @property
    def title(self) -> str:
        return self._quantity + at_k(self.k)

    @property
    def symbol(self) -> str:
        return f"{self._quantity.lower()}@{self.k}"

    def at(self, n_samples: int) -> Self:
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
        return max(n_positives, 1)

    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence:
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
        return self.k

    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence:
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
        return self.k * (max(n_positives, 1) / n_samples)

    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence:
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
        set_parameters(self, beta=check_positive(self.beta, "beta"))

    @property
    def title(self) -> str:
        return f"F{self.beta:g} score" + at_k(self.k)

    @property
    def symbol(self) -> str:
        return f"F{self.beta:g}@{self.k}"

    def divided_by(self, n_samples: int, n_positives: int) -> Any:
        """Divisor of the number of hits: the weighted mean of n_positives and k."""
        return self._share_of_recall * max(n_positives, 1) + (1.0 - self._share_of_recall) * self.k

    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence:
        divisor = self.divided_by(int(tie_sizes.sum()), int(hits.sum()))
        of_hits = precision_at_k_influence(tie_sizes, hits, self.k).times(self.k / divisor)
        # An additional positive also increases the divisor.
        growth = self.evaluate(tie_sizes, hits) * self._share_of_recall / divisor
        return replace(of_hits, positive=of_hits.positive - growth)

    @property
    def _share_of_recall(self) -> float:
        """``beta**2 / (1 + beta**2)``, without overflow."""
        return 1.0 / (1.0 + (1.0 / self.beta) * (1.0 / self.beta))
