"""Average precision with weights or averaged over classes, and its law by permuting label rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu

from sklearn_rankinf._engine.exchange import AnyExchange
from sklearn_rankinf._engine.resampling import PermutedAveragePrecision, RankedCells
from sklearn_rankinf._engine.statistics import AveragePrecision, Floats
from sklearn_rankinf._null_distributions import (
    PermutationDistribution,
    check_permutation,
    frozen_ap_law,
)
from sklearn_rankinf._ranking import LabelTable, rank_order
from sklearn_rankinf._restricted import law_of_arrangements

_AVERAGES = (None, "macro", "weighted", "micro")
# A rank test of the weights against the labels this small says that one follows from the other.
_DEPENDENT = 1e-3


def check_average(average: str | None) -> None:
    """Refuse an average that is not taken over classes."""
    if average == "samples":
        raise ValueError(
            "average='samples' ranks the classes within each sample, which random labelling of the "
            "samples is no null hypothesis for: use 'macro', 'weighted', 'micro' or None."
        )
    if average not in _AVERAGES:
        raise ValueError(f"average must be None, 'macro', 'weighted' or 'micro'; got {average!r}.")


def check_weights_follow(weights_follow: str) -> None:
    """Refuse weights that follow neither labels nor scores."""
    if weights_follow not in ("label", "score"):
        raise ValueError(f"weights_follow must be 'label' or 'score'; got {weights_follow!r}.")


def observe_rows(
    table: LabelTable,
    weights: Floats | None,
    *,
    average: str | None,
    k: float | None,
    normalize: str,
    method: str,
    weights_follow: str,
    n_permutations: int,
    random_state: Any,
    n_jobs: int | None,
    exchange: AnyExchange | None = None,
) -> tuple[float, PermutationDistribution]:
    """Return average precision of a table, and its law when its rows of labels are permuted.

    A table of one column has no average. An exchange says which rows change places.
    """
    what = "average precision with unequal sample_weight"
    if average is not None:
        what = f"average precision with average={average!r}"
    check_permutation(method, what)
    _check_k(k, weights, average)
    statistic = average_precision(table.n_samples, k, normalize)
    lists = [table] if average == "micro" else [table.column(c) for c in range(table.n_classes)]
    permuted = PermutedAveragePrecision(
        [_ranked(part) for part in lists],
        "weighted" if average == "weighted" else "macro",
        statistic,
        weights,
        weights_follow,
        exchange,
    )
    is_binary = average is None
    law = law_of_arrangements(
        permuted,
        statistic,
        table.n_samples,
        int(table.n_positives[0]) if is_binary else table.n_positives,
        permuted.tie_sizes if is_binary else None,
        n_permutations=n_permutations,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    return permuted.observed(), law


def dependence_warning(labels: NDArray[np.bool_], weights: Floats) -> str | None:
    """Text of a warning if weights that stay with the items follow from the labels, else None."""
    found = _dependence(labels, weights)
    if found is None:
        return None
    return (
        f"sample_weight depends on the labels ({found}): with weights_follow='score' the weights "
        "stay where they are while the labels are permuted, so that the observed weights fit the "
        "labels as no permuted ones do, and the p-value may be far too small. If the weights were "
        "made from the labels, such as class weights, use weights_follow='label', which permutes "
        "them together."
    )


def _dependence(labels: NDArray[np.bool_], weights: Floats) -> str | None:
    """What shows that weights follow from labels: one weight a label, or a rank test."""
    _, kind = np.unique(labels, axis=0, return_inverse=True)
    kind = kind.ravel()
    n_kinds = int(kind.max()) + 1
    if n_kinds > 1 and weights.size >= 2 * n_kinds:
        lowest, highest = np.full(n_kinds, np.inf), np.full(n_kinds, -np.inf)
        np.minimum.at(lowest, kind, weights)
        np.maximum.at(highest, kind, weights)
        if np.all(lowest == highest):
            return "samples with the same label have the same weight"
    for column in labels.T:
        if 0 < column.sum() < column.size:
            test = mannwhitneyu(weights[column], weights[~column], method="asymptotic")
            if test.pvalue < _DEPENDENT / labels.shape[1]:
                return f"a rank test has p = {test.pvalue:.1g}"
    return None


def _check_k(k: float | None, weights: Floats | None, average: str | None) -> None:
    if k is None:
        return
    if weights is not None:
        raise ValueError(
            f"k={k!r} and unequal sample_weight exclude each other: average precision at k is "
            "defined for samples that count alike. Leave out one of them."
        )
    if average == "micro":
        raise ValueError(
            f"k={k!r} is not defined with average='micro', which ranks the samples of all classes "
            "in one list: use 'macro', 'weighted' or None, where k counts samples of each class."
        )


def average_precision(n_samples: int, k: float | None, normalize: str) -> AveragePrecision:
    """Statistic of a list, with its options checked as those of the exact law are."""
    statistic = frozen_ap_law(n_samples, 0, k=k, normalize=normalize).statistic
    assert isinstance(statistic, AveragePrecision)
    return statistic


def _ranked(table: LabelTable) -> RankedCells:
    """Rank all cells of a table in one list."""
    order, tie_sizes = rank_order(table.scores.ravel())
    ranks = np.empty(order.size, dtype=np.int64)
    ranks[order] = np.arange(order.size)
    return RankedCells(
        table.labels,
        ranks.reshape(table.scores.shape),
        None if tie_sizes.max() == 1 else tie_sizes,
    )
