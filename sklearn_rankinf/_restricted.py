"""Labels that are permuted within strata, or as the labels of whole clusters."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_rankinf._engine.exchange import Exchange, ExchangedHits
from sklearn_rankinf._engine.sampling import HitValues, NullSampler
from sklearn_rankinf._engine.statistics import Floats, Integers, Statistic
from sklearn_rankinf._null_distributions import (
    PermutationDistribution,
    permuted_law,
)
from sklearn_rankinf._ranking import PosLabel, Ranking, as_binary, numbered, rank_order

RESTRICTED = "permutation within strata or of whole clusters"
# Fewer labellings than this are worth a warning.
_FEW_LABELLINGS = 1000


@dataclass(frozen=True, eq=False)
class RestrictedLabels:
    """Binary labels with the places of their samples, and which of them change places.

    Attributes
    ----------
    positive : ndarray of bool of shape (n_samples,)
        The positives.
    places : ndarray of shape (n_samples,)
        Block of equal scores of each sample, best first.
    tie_sizes : ndarray or None
        Sizes of the blocks; None where every sample is its own block.
    exchange : Exchange
        Which labels change places.
    """

    positive: NDArray[np.bool_]
    places: Integers
    tie_sizes: Integers | None
    exchange: Exchange

    @classmethod
    def from_scores(
        cls, positive: NDArray[np.bool_], scores: NDArray[Any], exchange: Exchange
    ) -> RestrictedLabels:
        """Rank the samples."""
        order, tie_sizes = rank_order(scores)
        places = np.empty(order.size, dtype=np.int64)
        places[order] = np.repeat(np.arange(tie_sizes.size), tie_sizes)
        return cls(positive, places, None if tie_sizes.max() == 1 else tie_sizes, exchange)

    def of_misses(self) -> RestrictedLabels:
        """The negatives as positives of the reversed ranking."""
        last = self.places.max()
        sizes = None if self.tie_sizes is None else self.tie_sizes[::-1]
        return RestrictedLabels(~self.positive, last - self.places, sizes, self.exchange)

    @property
    def n_positives(self) -> int:
        """Number of positives."""
        return int(self.positive.sum())

    def exchanged(self, values: HitValues, best: float) -> ExchangedHits:
        """Draws of a statistic of the positives, with the value of a perfect ranking."""
        return ExchangedHits(values, self.places, self.positive, self.exchange, best)

    def exchanged_sums(self, statistic: Statistic, best: float) -> ExchangedHits:
        """Draws of a sum over blocks."""
        size = self.positive.size, self.n_positives
        return self.exchanged(NullSampler(statistic, *size, self.tie_sizes).values, best)

    def law(
        self,
        permuted: ExchangedHits,
        statistic: Any,
        *,
        n_permutations: int,
        random_state: Any,
        n_jobs: int | None,
        rounding: float = 0.0,
    ) -> PermutationDistribution:
        """Law of such draws; values closer than `rounding` are equal."""
        return permuted_law(
            permuted,
            statistic,
            self.positive.size,
            self.n_positives,
            self.tie_sizes,
            n_permutations=n_permutations,
            random_state=random_state,
            n_jobs=n_jobs,
            rounding=rounding,
        )


def read_restricted_labels(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None,
    pos_label: PosLabel,
    strata: Iterable[Hashable] | None,
    clusters: Iterable[Hashable] | None,
) -> RestrictedLabels | None:
    """Read binary labels with strata or clusters; None without either."""
    if strata is None and clusters is None:
        return None
    check_has_rows(y_true, y_score, "clusters" if strata is None else "strata")
    assert not isinstance(y_true, Ranking)
    assert y_score is not None
    positive, scores = as_binary(y_true, y_score, pos_label)
    exchange = read_exchange(strata, clusters, positive[:, None])
    assert exchange is not None
    return RestrictedLabels.from_scores(positive, scores, exchange)


def check_has_rows(y_true: Any, y_score: Any, name: str) -> None:
    """Refuse a ranking where each sample is told something about."""
    if isinstance(y_true, Ranking) or y_score is None:
        raise TypeError(
            f"{name} needs y_true and y_score, since a Ranking holds counts of samples and does "
            f"not know which is which; got y_true of type {type(y_true).__name__} and y_score of "
            f"type {type(y_score).__name__}."
        )


def read_exchange(
    strata: Iterable[Hashable] | None,
    clusters: Iterable[Hashable] | None,
    labels: NDArray[np.bool_],
) -> Exchange | None:
    """Which labels, one row for each sample, change places; None if all of them do."""
    if strata is None and clusters is None:
        return None
    n_samples = len(labels)
    strata_codes, cluster_codes = np.zeros(n_samples, dtype=np.int64), np.arange(n_samples)
    if strata is not None:
        strata_codes, _ = numbered(strata, "strata", "stratum", n_samples)
    if clusters is not None:
        cluster_codes, names = numbered(clusters, "clusters", "cluster", n_samples)
        differs = _differs_within(cluster_codes, labels)
        if differs is not None:
            raise ValueError(
                f"The labels in cluster {names[differs]!r} differ: labels of whole clusters are "
                "permuted, which must be of one label each. If labels differ within clusters, pass "
                "the clusters as strata, which permutes within them."
            )
        differs = _differs_within(cluster_codes, strata_codes[:, None])
        if differs is not None:
            raise ValueError(
                f"Cluster {names[differs]!r} lies in several strata: a cluster must lie in one. "
                "Leave out strata or clusters, or divide the cluster."
            )
    return Exchange(strata_codes, cluster_codes)


def _differs_within(codes: Integers, rows: NDArray[Any]) -> int | None:
    """First cluster whose rows are not all the same."""
    first = np.empty(int(codes.max()) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(codes.size)[::-1]
    differs = np.any(rows != rows[first[codes]], axis=1)
    return int(codes[np.argmax(differs)]) if differs.any() else None


def few_labellings_warning(
    exchange: Exchange, labels: NDArray[np.bool_], weights: Floats | None = None
) -> str | None:
    """Text of a warning if strata and clusters leave few different labellings, else None.

    Weights are given if they move with the labels.
    """
    rows = labels if weights is None else np.column_stack([labels, weights])
    if rows.shape[1] == 1:
        kinds = rows[:, 0].astype(np.int64)
    else:
        kinds = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    log_number = exchange.log_n_arrangements(kinds)
    if log_number >= math.log(_FEW_LABELLINGS):
        return None
    number, n_fixed = round(math.exp(log_number)), exchange.n_fixed(kinds)
    found = f"{number} different labellings" if number > 1 else "no labelling but the observed one"
    text = (
        f"{_restrictions(exchange)} leave {found}, so that no p-value can be below {1 / number:.2g}"
    )
    if not n_fixed:
        return f"{text}."
    return (
        f"{text}: {n_fixed} of {exchange.n_items} samples keep their label, since all others "
        f"{_companions(exchange)} have the same."
    )


def _restrictions(exchange: Exchange) -> str:
    """What restricts the labellings."""
    names = ["strata"] if exchange.n_strata > 1 else []
    names += ["clusters"] if exchange.n_units < exchange.n_items else []
    return " and ".join(names) or "So few samples"


def _companions(exchange: Exchange) -> str:
    """Where the samples are whose labels a sample can have."""
    where = ["in clusters of the same size"] if exchange.n_units < exchange.n_items else []
    where += ["in their stratum"] if exchange.n_strata > 1 else []
    return " ".join(where)
