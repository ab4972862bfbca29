"""The leaderboard of several rankers: limits of their ranks, and letters of those that are tied."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._results import Result, format_value
from sklearn_rankinf._statistics import Floats, Integers, Metric

_COLUMNS = (
    *("statistic", "standard_error", "rank", "rank_low", "rank_high", "letters"),
    *("difference", "low", "high", "pvalue", "may_be_best"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Result):
    """Rankers in the order of their values, returned by ``leaderboard`` of a comparison of several.

    Attributes
    ----------
    metric : metric
        The metric by which the rankers are ordered.
    names : list
        Names of the rankers, the one with the largest value first.
    statistic, standard_error : ndarray of shape (n_rankers,)
        Value of the metric for each ranker, or its mean over queries, with its standard error.
    rank : ndarray of int of shape (n_rankers,)
        One plus the number of rankers with a larger value.
    rank_low, rank_high : ndarray of int of shape (n_rankers,)
        Confidence limits of the rank, which is 1 plus the number of better rankers.
    letters : list of str
        Rankers that share a letter are not significantly different.
    difference : ndarray of shape (n_rankers,)
        Value minus that of the reference.
    low, high : ndarray of shape (n_rankers,)
        Confidence limits of the difference; nan for the reference.
    pvalue : ndarray of shape (n_rankers,)
        Two-sided p-value of the difference, adjusted as in the comparison; nan for the reference.
    may_be_best : ndarray of bool of shape (n_rankers,)
        Rankers that may be best at the confidence level.
    reference : object
        Name of the ranker that the others are compared with: that of the comparison, or the best.
    confidence_level : float
        Coverage of the limits.
    correction : {"maxt", "holm", "none"}
        Adjustment of the p-values; with ``"none"`` each rank by itself is within its limits.
    n_queries : int or None
        Number of queries; None for rankings of the same items.

    See Also
    --------
    metric_multiple_comparison_test : The test whose result has the leaderboard.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import metric_multiple_comparison_test
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(400) < 40
    >>> scores = {f"+{d}": rng.normal(size=400) + d * y_true for d in (0.5, 1.5, 1.6)}
    >>> board = metric_multiple_comparison_test(y_true, scores).leaderboard()
    >>> print(board.summary())
    Average precision: 1. +1.5 0.576 (rank 1 to 2; a), 2. +1.6 0.499 (rank 1 to 2; a),
    3. +0.5 0.146 (rank 3; b).
    All ranks are within these limits with 95 % confidence. Rankers that share a letter are not
    significantly different at 0.05.
    """

    metric: Metric
    names: list[Any]
    statistic: Floats
    standard_error: Floats = field(repr=False)
    rank: Integers
    rank_low: Integers
    rank_high: Integers
    letters: list[str]
    difference: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    pvalue: Floats = field(repr=False)
    may_be_best: NDArray[np.bool_] = field(repr=False)
    reference: Any
    confidence_level: float = field(repr=False)
    correction: str = field(repr=False)
    n_queries: int | None = None

    def _columns(self) -> dict[str, list[Any]]:
        columns = {name: list(getattr(self, name)) for name in _COLUMNS}
        return {"ranker": self.names} | columns

    def _sentences(self) -> Iterable[str]:
        title, queries = str(self.metric.title), ""
        if self.n_queries is not None:
            title, queries = f"Mean {self.metric.title_in_text}", f" over {self.n_queries} queries"
        rows = (
            f"{rank}. {name} {format_value(value)} (rank {state_ranks(low, high)}; {letters})"
            for rank, name, value, low, high, letters in zip(
                *(self.rank, self.names, self.statistic, self.rank_low, self.rank_high),
                self.letters,
                strict=True,
            )
        )
        level = 1.0 - self.confidence_level
        which, adjusted = "All ranks are within these limits", ""
        if self.correction == "none":
            which, adjusted = "Each rank by itself is within its limits", ", without adjustment"
        return [
            f"{title}{queries}: {', '.join(rows)}.",
            f"{which} with {100 * self.confidence_level:g} % confidence. Rankers that share a "
            f"letter are not significantly different at {level:.3g}{adjusted}.",
        ]


def state_ranks(low: int, high: int) -> str:
    """State the limits of a rank."""
    return f"{low}" if low == high else f"{low} to {high}"


def rank_limits(values: Floats, is_different: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """Limits of the rank of each ranker, where row i of the matrix are the others that differ.

    A rank is 1 plus the number of rankers that are better. It is at least 1 plus the number of
    those that are significantly better, and at most the number of rankers minus the number of those
    that are significantly worse.
    """
    is_better = values > values[:, None]
    low = 1 + np.sum(is_different & is_better, axis=1)
    high = values.size - np.sum(is_different & is_better.T, axis=1)
    return low, high


def compact_letters(values: Floats, is_different: NDArray[np.bool_]) -> list[str]:
    """Letters of rankers: two have one in common if and only if they are not different.

    A letter stands for a set of rankers of which no two are different. Sets are added until they
    contain all pairs that are alike: each begins with such a pair, the best ranker and the worst
    one that is alike, and takes all that are alike to those in it. Then sets, and rankers in sets,
    that are not needed are left out, as in Piepho's sweep [1]_. His first step lists all sets that
    cannot be enlarged, whose number can grow exponentially. Letters are in the order of the values.

    References
    ----------
    .. [1] Piepho, H.-P. (2004). An algorithm for a letter-based representation of all-pairwise
       comparisons. Journal of Computational and Graphical Statistics, 13(2), 456-466.
    """
    order = np.argsort(-values, kind="stable")
    is_alike = ~is_different[np.ix_(order, order)]
    sets = _swept(_alike_sets(is_alike), len(order))
    names = list(itertools.islice(_letters(), len(sets)))
    # Names of several letters side by side would be read as other names.
    between = "" if len(sets) <= len(ascii_lowercase) else " "
    found = [""] * len(order)
    for place, ranker in enumerate(order.tolist()):
        own = [name for name, members in zip(names, sets, strict=True) if place in members]
        found[ranker] = between.join(own)
    return found


def _alike_sets(is_alike: NDArray[np.bool_]) -> list[list[int]]:
    """Sets that together contain all pairs that are alike, and no pair that is not."""
    n_rankers = len(is_alike)
    is_covered = np.zeros(is_alike.shape, dtype=bool)
    sets = []
    for i, j in itertools.product(range(n_rankers), reversed(range(n_rankers))):
        if i > j or not is_alike[i, j] or is_covered[i, j]:
            continue
        members = sorted({i, j})
        # First those whose pairs are in no set yet.
        for k in np.argsort(is_covered[members].sum(axis=0), kind="stable").tolist():
            if k not in members and is_alike[k, members].all():
                members.append(k)
        is_covered[np.ix_(members, members)] = True
        sets.append(members)
    return sets


def _swept(sets: list[list[int]], n_rankers: int) -> list[list[int]]:
    """Sets without those, and without members, whose pairs are all in other sets as well."""
    counts = np.zeros((n_rankers, n_rankers), dtype=np.int64)
    for members in sets:
        counts[np.ix_(members, members)] += 1
    kept = []
    for members in sets:
        if counts[np.ix_(members, members)].min() > 1:
            counts[np.ix_(members, members)] -= 1
        else:
            kept.append(sorted(members))
    for members in kept:
        for one in list(members):
            if counts[one, members].min() > 1:
                counts[one, members] -= 1
                counts[members, one] = counts[one, members]
                members.remove(one)
    return sorted(kept)


def _letters() -> Iterator[str]:
    """The letters a to z, then aa, ab and so on."""
    for length in itertools.count(1):
        yield from map("".join, itertools.product(ascii_lowercase, repeat=length))
