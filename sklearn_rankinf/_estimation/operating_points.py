"""Operating points of a ranking: where a share of the positives is found, and where to stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from sklearn_rankinf._estimation.curves import of_each_ranker
from sklearn_rankinf._estimation.regions import Region, observed_cut_off, vertices
from sklearn_rankinf._ranking import (
    PosLabel,
    Ranking,
    as_seed_sequence,
    check_between,
    check_confidence_level,
    check_option,
    check_positive,
)
from sklearn_rankinf._results import Result, format_value, state_interval


@dataclass(frozen=True, eq=False, repr=False)
class ItemsToExamineResult(Result):
    """Result of :func:`items_to_examine`.

    Attributes
    ----------
    recall : float
        Share of the positives to be found.
    n_items : int
        Number of items from the top that contain this share of the positives of the sample.
    low, high : int
        Limits of the number of items.
    precision : float
        Share of positives among them.
    precision_low, precision_high : float
        Limits of the precision.
    confidence_level : float
        Nominal coverage of the limits.
    method : str
        The method that was used.
    n_samples, n_positives : int
        Number of items and of positives.

    See Also
    --------
    items_to_examine : The function that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import Ranking, items_to_examine
    >>> ranking = Ranking.from_counts([1] * 100, ([1] * 4 + [1, 0]) * 3 + [0] * 82)
    >>> items_to_examine(ranking, recall=0.5)
    ItemsToExamineResult(recall=0.5, n_items=9, low=8, high=14, precision=0.8889,
    confidence_level=0.95, method='region')
    """

    recall: float
    n_items: int
    low: int
    high: int
    precision: float
    precision_low: float = field(repr=False)
    precision_high: float = field(repr=False)
    confidence_level: float
    method: str
    n_samples: int = field(repr=False)
    n_positives: int = field(repr=False)

    def _sentences(self) -> Iterable[str]:
        found = f"{100 * self.recall:g} % of the {self.n_positives} positives"
        interval = state_interval(self.low, self.high, self.confidence_level)
        yield (
            f"The first {self.n_items} of {self.n_samples} items contain {found} ({interval}; "
            f"{METHODS[self.method].title})."
        )
        limits = f"{format_value(self.precision_low)} to {format_value(self.precision_high)}"
        yield f"Their precision is {format_value(self.precision)} ({limits})."


def items_to_examine(
    y_true: ArrayLike | Ranking,
    y_score: Any = None,
    *,
    recall: float = 0.8,
    pos_label: PosLabel = 1,
    confidence_level: float = 0.95,
    method: str = "auto",
) -> Any:
    r"""Number of items from the top of the list that contain a share of the positives.

    The items are treated as a random sample of a population with fixed numbers of positives and
    negatives. The scores must come from a model that was not trained on these items.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels; or a ranking, in which case `y_score` is omitted.
    y_score : array-like of shape (n_samples,), dict or DataFrame, optional
        Scores of one ranker, larger for items more likely to be positive, or of several rankers,
        by name. Required unless `y_true` is a ranking.
    recall : float, default=0.8
        Share of the positives to be found, between 0 and 1.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored if `y_true` is a ranking.
    confidence_level : float, default=0.95
        Nominal coverage of the limits.
    method : {"auto", "region", "exact"}, default="auto"
        Method of the limits; see Notes. ``"auto"`` selects ``"region"``.

    Returns
    -------
    result : ItemsToExamineResult, or dict of ItemsToExamineResult
        The number of items, its limits, and the precision of these items with its limits; of
        several rankers a dict of results by name.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given with a ranking, or if an argument has the wrong type.
    ValueError
        If `recall` is not between 0 and 1, if a class has fewer than two items, or if an option
        is not one of those above.

    Warns
    -----
    UserWarning
        If a class has fewer than 10 items, for which the coverage of the limits is not known.

    See Also
    --------
    metric_curve : The whole curve with its limits.
    metric_interval : Interval of recall, precision or enrichment at one k.

    Notes
    -----
    The true number is that of a list of the same length and prevalence whose first items contain
    the share of all positives of the population. ``"region"`` accepts every k at which this recall
    is within the pointwise limits of :func:`metric_curve`; the limits are the first and the last k
    that is accepted, rounded outwards. The precision is the number of positives, recall times m
    rounded up, divided by k.

    ``"exact"`` uses the ranks of two positives, of numbers a and b: with the quantiles
    :math:`B^{-1}` of the binomial distribution of m and recall, a is :math:`B^{-1}(0.025)` and b is
    :math:`B^{-1}(0.975) + 1` for a level of 95 %. The limits are exact for the score threshold that
    finds this share of the positives of the population, and for the number of these items above
    it. They are wider than necessary for lists of other negatives.

    With few positives the upper limit may be near the end of the list, although all are at the top:
    15 of 15 positives do not exclude that a fifth of the positives of the population are anywhere.

    Items with equal scores are examined in random order.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import items_to_examine
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(500) < 50
    >>> y_score = rng.normal(size=500) + 1.5 * y_true
    >>> print(items_to_examine(y_true, y_score, recall=0.8).summary())
    The first 128 of 500 items contain 80 % of the 50 positives (95 % confidence interval 83 to
    185; region of all cut-offs).
    Their precision is 0.312 (0.216 to 0.482).
    """
    recall = check_between(recall, "recall")
    level = check_confidence_level(confidence_level)
    method = check_option(method, "method", ["auto", *METHODS])
    method = next(iter(METHODS)) if method == "auto" else method
    return of_each_ranker(
        lambda ranking: _found(ranking, recall, level, method), y_true, y_score, pos_label
    )


def _found(ranking: Ranking, recall: float, level: float, method: str) -> ItemsToExamineResult:
    n, m = ranking.n_samples, ranking.n_positives
    low, high = METHODS[method].limits(ranking, recall, level)
    wanted = math.ceil(recall * m - 1e-9)
    k = math.ceil(observed_cut_off(ranking, np.array([wanted / m]))[0])
    low, high = max(min(low, k), 1), min(max(high, k), n)
    return ItemsToExamineResult(
        recall=recall,
        n_items=k,
        low=low,
        high=high,
        precision=wanted / k,
        precision_low=wanted / high,
        precision_high=min(wanted / low, 1.0),
        confidence_level=level,
        method=method,
        n_samples=n,
        n_positives=m,
    )


@dataclass(frozen=True)
class PointMethod:
    """A method of limits of the number of items: what it is called, and the limits."""

    title: str
    limits: Callable[[Ranking, float, float], tuple[int, int]]


def _by_region(ranking: Ranking, recall: float, level: float) -> tuple[int, int]:
    region = Region.pointwise(ranking, level)
    (first,), (last,) = region.cut_offs_at_recall(np.array([recall]))
    least = math.ceil(recall * ranking.n_positives - 1e-9)
    return max(math.floor(first), least), math.ceil(last)


def _by_ranks(ranking: Ranking, recall: float, level: float) -> tuple[int, int]:
    n, m = ranking.n_samples, ranking.n_positives
    a, b = (int(stats.binom.ppf(share, m, recall)) for share in ((1 - level) / 2, (1 + level) / 2))
    ends, found = vertices(ranking)
    at_a, at_b = np.searchsorted(found, (a, min(b + 1, m)))
    # The first and the last place that the positives may have within their blocks.
    low = 1 if a == 0 else int(ends[at_a - 1] + a - found[at_a - 1])
    high = n if b + 1 > m else int(ends[at_b] - (found[at_b] - b - 1))
    return low, high


METHODS: Mapping[str, PointMethod] = MappingProxyType(
    {
        "region": PointMethod("region of all cut-offs", _by_region),
        "exact": PointMethod("ranks of two positives", _by_ranks),
    }
)
"""The methods by name, the recommended one first."""


# The cut-off with the largest net benefit.


@dataclass(frozen=True, eq=False, repr=False)
class OptimalCutoffResult(Result):
    """Result of :func:`optimal_cutoff`.

    Attributes
    ----------
    k : int
        Number of items from the top with the largest net benefit; 0 if it is best to examine
        none.
    net_benefit : float
        Value of the positives among them, less the costs of all of them.
    low, high : float
        Simultaneous limits of the net benefit at k.
    k_low, k_high : int
        The first and the last cut-off that may be the best.
    value, cost : float
        Value of a positive, and costs of examining an item.
    recall, precision : float
        Recall and precision at k; the precision is nan if k is 0.
    confidence_level : float
        Nominal coverage of the limits.
    n_samples, n_positives : int
        Number of items and of positives.

    See Also
    --------
    optimal_cutoff : The function that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import Ranking, optimal_cutoff
    >>> ranking = Ranking.from_counts([1] * 100, ([1] * 4 + [1, 0]) * 3 + [0] * 82)
    >>> optimal_cutoff(ranking, value=5.0, cost=1.0)
    OptimalCutoffResult(k=17, net_benefit=58, low=29.65, high=58, k_low=8, k_high=44, value=5,
    cost=1, confidence_level=0.95)
    """

    k: int
    net_benefit: float
    low: float
    high: float
    k_low: int
    k_high: int
    value: float
    cost: float
    recall: float = field(repr=False)
    precision: float = field(repr=False)
    confidence_level: float
    n_samples: int = field(repr=False)
    n_positives: int = field(repr=False)

    def _sentences(self) -> Iterable[str]:
        interval = f"{format_value(self.low)} to {format_value(self.high)}"
        level = f"{100 * self.confidence_level:g} %"
        yield (
            f"The net benefit is largest, {format_value(self.net_benefit)}, at k = {self.k} of "
            f"{self.n_samples} items ({level} simultaneous limits {interval})."
        )
        yield (
            f"The best cut-off is between k = {self.k_low} and {self.k_high} with a confidence of "
            f"{level}."
        )
        yield (
            "The cut-off was chosen on the same items, so that its net benefit is too large on "
            "average; the limits hold for all cut-offs at once."
        )


def optimal_cutoff(
    y_true: ArrayLike | Ranking,
    y_score: Any = None,
    *,
    value: float,
    cost: float,
    pos_label: PosLabel = 1,
    confidence_level: float = 0.95,
    random_state: Any = 0,
) -> Any:
    r"""Number of items from the top of the list with the largest net benefit.

    A positive that is found has a value, and examining an item has costs. The items are treated
    as a random sample of a population with fixed numbers of positives and negatives. The scores
    must come from a model that was not trained on these items.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels; or a ranking, in which case `y_score` is omitted.
    y_score : array-like of shape (n_samples,), dict or DataFrame, optional
        Scores of one ranker, larger for items more likely to be positive, or of several rankers,
        by name. Required unless `y_true` is a ranking.
    value : float
        Value of a positive that is found.
    cost : float
        Costs of examining an item, in the unit of the value.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored if `y_true` is a ranking.
    confidence_level : float, default=0.95
        Nominal coverage of the limits.
    random_state : int, RandomState, Generator or None, default=0
        Source of random numbers for the critical value.

    Returns
    -------
    result : OptimalCutoffResult, or dict of OptimalCutoffResult
        The cut-off, its net benefit with limits, and the cut-offs that may be the best; of several
        rankers a dict of results by name.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given with a ranking, or if an argument has the wrong type.
    ValueError
        If `value` or `cost` is not positive, or if a class has fewer than two items.

    Warns
    -----
    UserWarning
        If a class has fewer than 10 items, for which the coverage of the limits is not known.

    See Also
    --------
    items_to_examine : Number of items that contain a share of the positives.
    top_k_significance_curve : Down to which k a list beats chance.

    Notes
    -----
    The net benefit of the first k items is value times hits minus cost times k. It is largest
    where the share of positives about rank k falls below cost / value. The limits are those of the
    simultaneous band of recall of :func:`metric_curve`, for a list of this length with this number
    of positives. Because they hold at all k at once, they hold at the k that was chosen. A cut-off
    may be the best if its upper limit is at least the largest lower limit of all cut-offs, which
    contains the best cut-off of the population with the stated confidence.

    Items with equal scores are examined in random order.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import optimal_cutoff
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(500) < 50
    >>> y_score = rng.normal(size=500) + 1.5 * y_true
    >>> print(optimal_cutoff(y_true, y_score, value=5.0, cost=1.0).summary())
    The net benefit is largest, 91, at k = 84 of 500 items (95 % simultaneous limits 41.1 to 130).
    The best cut-off is between k = 11 and 206 with a confidence of 95 %.
    The cut-off was chosen on the same items, so that its net benefit is too large on average; the
    limits hold for all cut-offs at once.
    """
    value, cost = check_positive(value, "value"), check_positive(cost, "cost")
    level, seeds = check_confidence_level(confidence_level), as_seed_sequence(random_state)
    return of_each_ranker(
        lambda ranking: _best(ranking, value, cost, level, seeds), y_true, y_score, pos_label
    )


def _best(
    ranking: Ranking, value: float, cost: float, level: float, seeds: np.random.SeedSequence
) -> OptimalCutoffResult:
    n, m = ranking.n_samples, ranking.n_positives
    ends, found = vertices(ranking)
    # Within a block of equal scores the net benefit is straight, and largest at an end.
    benefits = value * found - cost * ends
    at = int(np.argmax(benefits))
    k, hits = int(ends[at]), int(found[at])
    region = Region.simultaneous(ranking, level, np.random.default_rng(seeds))
    low, high = (value * m * float(limit) - cost * k for limit in region.at(np.array(k)))
    least, most = (value * m * part - cost * region.k for part in (region.low, region.high))
    possible = region.k[most >= least.max()]
    return OptimalCutoffResult(
        k=k,
        net_benefit=float(benefits[at]),
        low=low,
        high=high,
        k_low=min(int(possible[0]), k),
        k_high=max(int(possible[-1]), k),
        value=value,
        cost=cost,
        recall=hits / m,
        precision=hits / k if k else math.nan,
        confidence_level=level,
        n_samples=n,
        n_positives=m,
    )
