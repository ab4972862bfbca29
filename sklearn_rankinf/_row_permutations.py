"""Null distributions, by permuting label rows, of metrics with weights or averaged over classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import pearson3, rankdata

from sklearn_rankinf._frozen_distributions import PermutationDistribution
from sklearn_rankinf._rank_distributions import rounding_of
from sklearn_rankinf._ranking import Sample, check_no_closed_form, rank_order
from sklearn_rankinf._restricted import distribution_of_arrangements
from sklearn_rankinf._sampling.exchange import AnyExchange, Exchange
from sklearn_rankinf._sampling.resampling import PermutedRows, RankedCells
from sklearn_rankinf._statistics.additive import Statistic
from sklearn_rankinf._statistics.increments import Floats, Integers

# A rank test with a p-value this small shows that weights depend on labels or scores.
_DEPENDENT = 1e-3
# This many samples with neighbouring ranks have nearly the same score.
_RUN = 10


def observe_rows(
    sample: Sample,
    statistic: Statistic,
    exchange: AnyExchange | None,
    *,
    average: str | None,
    method: str,
    weights_follow: str,
    **options: Any,
) -> tuple[float, PermutationDistribution]:
    """Return the statistic of a sample, and its distribution under permutation of label rows."""
    what = f"{statistic!r} with unequal sample_weight"
    if average is not None:
        what = f"{statistic!r} with average={average!r}"
    check_no_closed_form(method, what)
    weights = sample.design.weights
    _check_no_cut(statistic, weights, average)
    classes = [sample.single(number) for number in range(sample.n_classes)]
    permuted = PermutedRows(
        [_ranked(part) for part in ([sample] if average == "micro" else classes)],
        "weighted" if average == "weighted" else "macro",
        statistic,
        weights,
        weights_follow,
        exchange,
    )
    is_binary = average is None
    rounding = max(rounding_of(statistic, c.n_cells, c.n_positives) for c in permuted.rankings)
    null = distribution_of_arrangements(
        permuted,
        statistic,
        sample.n_items,
        sample.n_positives if is_binary else np.array([own.n_positives for own in classes]),
        permuted.tie_sizes if is_binary else None,
        rounding=rounding,
        **options,
    )
    return permuted.observed(), null


def weights_warning(
    sample: Sample, weights_follow: str, exchange: AnyExchange | None
) -> str | None:
    """Text of a warning if weights depend on what they are permuted against, otherwise None.

    Weights that stay with the scores must not depend on the labels of samples with neighbouring
    ranks, and weights that follow the labels must not depend on the scores of samples with the
    same label. Nothing is checked along a series, where rank tests mistake autocorrelation for
    dependence.
    """
    if exchange is None:
        rows, classes = np.arange(sample.n_items), np.zeros(sample.n_items, dtype=np.int64)
    elif isinstance(exchange, Exchange) and exchange.unit_name == "clusters":
        rows, classes = exchange.first_items()
    else:
        return None
    assert sample.design.weights is not None
    labels, weights = sample.labels[rows], sample.design.weights[rows]
    scores = np.column_stack(sample.scores)[rows]
    if weights_follow == "score":
        found = _relation_to_labels(labels, scores, weights, classes)
        if found is None:
            return None
        return (
            f"sample_weight depends on the labels ({found}): with weights_follow='score' only the "
            "labels are permuted, so the weights match the observed labels but not the permuted "
            "ones, and the p-value may be far too small. "
            "If the weights were computed from the labels, such as class weights, use "
            "weights_follow='label', which permutes labels and weights together."
        )
    found = _relation_to_scores(labels, scores, weights, classes)
    if found is None:
        return None
    return (
        f"sample_weight depends on the scores among samples with the same label ({found}): with "
        "weights_follow='label' labels and weights are permuted together over the scores, so a "
        "relation between weights and scores counts as evidence against random labelling, and the "
        "p-value may be too small. If the weights were computed from the scores, or from the data "
        "behind the scores, use weights_follow='score', which permutes only the labels."
    )


def _relation_to_labels(
    labels: NDArray[np.bool_], scores: NDArray[Any], weights: Floats, classes: Integers
) -> str | None:
    """Evidence that weights depend on labels: one weight per label, or a rank test."""
    kind = _numbers_of_rows(labels)
    n_kinds = int(kind.max()) + 1
    if n_kinds > 1 and weights.size >= 2 * n_kinds:
        lowest, highest = np.full(n_kinds, np.inf), np.full(n_kinds, -np.inf)
        np.minimum.at(lowest, kind, weights)
        np.maximum.at(highest, kind, weights)
        if np.all(lowest == highest):
            return "samples with the same label have the same weight"
    for label, score in zip(labels.T, scores.T, strict=True):
        # Runs of samples with similar scores, within classes.
        runs = np.empty_like(classes)
        order = np.lexsort((score, classes))
        starts = np.flatnonzero(np.diff(classes[order], prepend=-1))
        place = np.arange(order.size) - np.repeat(starts, np.diff(starts, append=order.size))
        runs[order] = np.cumsum(place % _RUN == 0) - 1
        p = _rank_test(weights, label, runs)
        if p < _DEPENDENT / labels.shape[1]:
            return f"a rank test has p = {p:.1g}"
    return None


def _relation_to_scores(
    labels: NDArray[np.bool_], scores: NDArray[Any], weights: Floats, classes: Integers
) -> str | None:
    """Evidence from a rank test that weights depend on scores among samples with equal labels."""
    alike = _numbers_of_rows(np.column_stack([labels, classes]))
    for score in scores.T:
        p = _rank_test(weights, score, alike)
        if p < _DEPENDENT / scores.shape[1]:
            return f"a rank test has p = {p:.1g}"
    return None


def _numbers_of_rows(rows: NDArray[Any]) -> Integers:
    """Integer codes from 0, equal for equal rows."""
    if rows.shape[1] == 1:
        return np.asarray(rows[:, 0].astype(np.int64))
    return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1].ravel())


def _rank_test(a: NDArray[Any], b: NDArray[Any], strata: Integers) -> float:
    """Two-sided p-value of the rank correlation within strata.

    The null distribution is a Pearson type III distribution with the exact variance and skewness
    of the sum of products of ranks under permutation within strata, because few unequal values on
    both sides make the sum very skewed.
    """
    n = np.maximum(np.bincount(strata), 3)
    centred = []
    for values in (a, b):
        ranks = rankdata(values)
        means = np.bincount(strata, ranks) / np.maximum(np.bincount(strata), 1)
        centred.append(ranks - means[strata])
    second, third = (
        np.prod([np.bincount(strata, values**order) for values in centred], axis=0)
        for order in (2, 3)
    )
    variance = float(np.sum(second / np.maximum(np.bincount(strata) - 1, 1)))
    if variance == 0.0:
        return 1.0
    skewness = float(np.sum(third * n / ((n - 1) * (n - 2)))) / variance**1.5
    z = float(centred[0] @ centred[1]) / math.sqrt(variance)
    null = pearson3(skewness)
    return min(1.0, 2.0 * float(min(null.sf(z), null.cdf(z))))


def _check_no_cut(statistic: Statistic, weights: Floats | None, average: str | None) -> None:
    """Raise an error for a cut-off with weights or with a micro average."""
    k = statistic.horizon
    if k is None:
        return
    if weights is not None:
        raise ValueError(
            f"k={k} cannot be combined with unequal sample_weight: average precision at k is "
            "defined for samples of equal weight; omit one of them."
        )
    if average == "micro":
        raise ValueError(
            f"k={k} is not defined with average='micro', which ranks the samples of all classes "
            "in one list; use 'macro', 'weighted' or None, for which k counts samples per class."
        )


def _ranked(sample: Sample) -> RankedCells:
    """Rank all cells of a table in one list."""
    scores = np.column_stack(sample.scores)
    order, tie_sizes = rank_order(scores.ravel())
    ranks = np.empty(order.size, dtype=np.int64)
    ranks[order] = np.arange(order.size)
    return RankedCells(
        sample.labels,
        ranks.reshape(scores.shape),
        None if tie_sizes.max() == 1 else tie_sizes,
    )
