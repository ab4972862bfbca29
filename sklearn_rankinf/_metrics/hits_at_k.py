"""Metrics of the first hits: recall, precision, enrichment and F-score at k, and reciprocal rank.

Those at k are multiples of the number of hits among the first k. The reciprocal rank is not a sum
over blocks, and has few values. A block of ``g`` equal scores after ``a`` items counts its
expectation over random tie-breaking. "The first positive" in doc/theory.rst.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from sklearn_rankinf._metrics.values import CallableMetric, at_k, set_parameters
from sklearn_rankinf._ranking import check_k, check_positive, resolve_k
from sklearn_rankinf._statistics import (
    Denominators,
    Floats,
    HitBlocks,
    HitsAtK,
    HitValues,
    Influence,
    Integers,
    enrichment_at_k_influence,
    hits_up_to,
    log_level,
    log_pmf,
    log_tail,
    precision_at_k_influence,
    recall_at_k_influence,
    sorted_atoms,
)


class _ShareOfHits(CallableMetric, HitsAtK):
    """Hits at k with the checks and names shared by recall, precision and other metrics."""

    of_open_lists = True
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

    def weighted(self, sizes: Floats, hits: Floats) -> tuple[float, Influence] | None:
        n, m = sizes.sum(), hits.sum()
        value = hits_up_to(sizes, hits, self.k) / self.divided_by(n, m)
        influence = self.influence(sizes, hits)  # type: ignore[arg-type]
        return None if influence is None else (float(value), influence)


@dataclass(frozen=True, repr=False)
class RecallAtK(_ShareOfHits):
    r"""Recall at k: the fraction of the positives that are among the first k items.

    Parameters
    ----------
    k : int or float
        Cut-off: a number of items, or a fraction of them between 0 and 1, rounded up.

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
    With H of the m positives among the first k items, recall is :math:`H / m`. If a block of g
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
        return n_positives or 1

    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence:
        return recall_at_k_influence(tie_sizes, hits, self.k)


@dataclass(frozen=True, repr=False)
class PrecisionAtK(_ShareOfHits):
    r"""Precision at k: the fraction of the first k items that are positive.

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
    With H positives among the first k items, precision is :math:`H / k`; ties are treated as in
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
    With H of the m positives among the first k of n items,

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

    of_open_lists = False
    k: Any
    _quantity = "Enrichment"

    def divided_by(self, n_samples: int, n_positives: int) -> Any:
        return self.k * ((n_positives or 1) / n_samples)

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
    The first k items are taken as the predicted positives [1]_. With H of the m positives among
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
        return self._share_of_recall * (n_positives or 1) + (1.0 - self._share_of_recall) * self.k

    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence:
        divisor = self.divided_by(tie_sizes.sum(), hits.sum())
        of_hits = precision_at_k_influence(tie_sizes, hits, self.k).times(self.k / divisor)
        # An additional positive also increases the divisor.
        value = float(hits_up_to(tie_sizes, hits, self.k)) / divisor
        growth = value * self._share_of_recall / divisor
        return replace(of_hits, positive=of_hits.positive - growth)

    @property
    def _share_of_recall(self) -> float:
        """``beta**2 / (1 + beta**2)``, without overflow."""
        return 1.0 / (1.0 + (1.0 / self.beta) * (1.0 / self.beta))


@dataclass(frozen=True, repr=False)
class ReciprocalRank(CallableMetric):
    r"""Reciprocal rank: one over the rank of the first positive.

    See Also
    --------
    sklearn.metrics.label_ranking_average_precision_score : Mean of the reciprocal rank over rows
        with one label each.

    Notes
    -----
    If the first positive is in a block of g equal scores, y of them positive, after :math:`a`
    items with better scores, the value is the expectation over random tie-breaking [1]_,

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

    of_one_item = True
    distribution = "listed"
    has_exact_mean = True
    of_open_lists = True

    @property
    def symbol(self) -> str:
        return "RR"

    def best(self, n_samples: int, n_positives: int) -> float:
        return 1.0 if n_positives else 0.0

    def evaluate(self, tie_sizes: Integers, hits: Integers) -> float:
        found = np.flatnonzero(hits)
        if not found.size:
            return 0.0
        first = found[0]
        start = np.array([tie_sizes[:first].sum()])
        values = mean_reciprocals_of_firsts(start, tie_sizes[first : first + 1])
        return float(values[hits[first] - 1])

    def of_retrieved(self, tie_sizes: Integers, hits: Integers, n_positives: int) -> float:
        return self.evaluate(tie_sizes, hits)

    def hit_values(self, n_samples: int, n_positives: int, tie_sizes: Integers | None) -> HitValues:
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
        return first_hit_atoms(n_samples, n_positives, tie_sizes)

    def significant_hits(
        self, alpha: float, n_samples: int, n_positives: int
    ) -> tuple[float, int, int]:
        ranks = range(1, n_samples - n_positives + 1)
        level = float(log_level(alpha))
        k = bisect_right(ranks, level, key=lambda k: float(log_tail(1, n_samples, n_positives, k)))
        return (1.0 / k if k else math.nan), 1, k

    def expected_in(self, model: Any, effect: float, n_samples: int, n_positives: int) -> float:
        return float(model.expected_reciprocal_rank(n_samples, n_positives, effect))


def _first_reciprocals(ranks: Integers) -> Floats:
    """One over the first rank, which starts at 0, of each row."""
    return np.asarray(1.0 / (ranks[:, 0] + 1.0))


def _first_mean_reciprocals(starts: Integers, values: Floats, places: Integers) -> Floats:
    """Values of the first blocks with hits, by the number of hits in them."""
    n_first = np.sum(places == places[:, :1], axis=1)
    return np.asarray(values[starts[places[:, 0]] + n_first - 1])


def first_hit_atoms(n: int, m: int, tie_sizes: Integers | None) -> tuple[Floats, Floats]:
    """Ascending values, and logarithms of their weights, if possible numbers of placements.

    If the first block with hits has y of them among g items, after a items, there are
    ``C(n - a - g, m - y) C(g, y)`` placements.
    """
    if m == 0:
        return np.zeros(1), np.zeros(1)
    if tie_sizes is None:
        ahead = np.arange(n - m + 1.0)
        values, hit = 1.0 / (ahead + 1.0), m / (n - ahead)
        misses = np.cumsum(np.log1p(-hit[:-1]), dtype=np.longdouble)
        log_p = np.log(hit)
        log_p[1:] += misses.astype(float)
    else:
        values, log_p = _atoms_of_blocks(n, m, tie_sizes)
    return sorted_atoms(values, log_p, n, m)


def _atoms_of_blocks(n: int, m: int, sizes: Integers) -> tuple[Floats, Floats]:
    """Values for each number of hits in the first block with hits, and their log probabilities."""
    starts = np.cumsum(sizes) - sizes
    start, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    found = np.arange(n) - start + 1
    possible = (found <= m) & (m - found <= n - start - size)
    start, size, found = start[possible], size[possible], found[possible]
    log_p = log_pmf(0, n, m, start) + log_pmf(found, n - start, m, size)
    return mean_reciprocals_of_firsts(starts, sizes)[possible], log_p


def mean_reciprocals_of_firsts(starts: Integers, sizes: Integers) -> Floats:
    """``E 1 / (a + J)`` with J the first of y random places of g, for y = 1, ..., g block by block.

    The recursion ``(a + g - y + 1) E_y = 1 + E_{y+1} y (g - y) / (y + 1)`` starts at
    ``E_g = 1 / (a + 1)`` and has only positive terms. The affine steps of all blocks are composed
    in pairs, over distances that double.
    """
    a, g = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    before = np.cumsum(sizes) - sizes
    y = np.arange(1.0, a.size + 1.0) - np.repeat(before, sizes)
    level = 1.0 / (a + g - y + 1.0)
    slope = y * (g - y) / (y + 1.0) * level
    reach = 1
    while reach < sizes.max() and slope.any():
        level[:-reach] += slope[:-reach] * level[reach:]
        slope[:-reach] *= slope[reach:]
        slope[-reach:] = 0.0
        reach *= 2
    return np.asarray(level)
