"""What a design lets be exchanged, and warnings about few labellings or dependent weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import pearson3, rankdata

from sklearn_rankinf._permutation.restrictions import AnyExchange, Exchange, Shifts, numbers_of_rows
from sklearn_rankinf._ranking import Sample, warn_caller
from sklearn_rankinf._statistics import Floats, Integers

RESTRICTED = "permutation within strata, of whole clusters or along a series"
# Fewer possible labellings than these cause a warning; shifts never outnumber the items.
_FEW_LABELLINGS, _FEW_SHIFTS = 1000, 100
# A rank test with a p-value this small shows that weights depend on labels or scores.
_DEPENDENT = 1e-3
# This many items with neighbouring ranks have nearly the same score.
_RUN = 10


class DesignWarning(UserWarning):
    """A warning about few labellings, or about weights that depend on labels or scores."""


def exchange_of(sample: Sample) -> AnyExchange | None:
    """Which labels can be exchanged; None if all of them can."""
    found = sample.design.exchangeable(sample.labels)
    if found is None:
        return None
    strata, units, positions, unit_name = found
    if units is None:
        assert positions is not None
        return Shifts(strata, positions)
    return Exchange(strata, units, positions, unit_name)


def few_labellings_warning(
    exchange: AnyExchange,
    labels: NDArray[Any],
    weights: Floats | None = None,
    what: str | None = None,
) -> str | None:
    """Text of a warning if few different labellings remain, otherwise None.

    Weights are given if they move with the labels; `what` names the restriction.
    """
    rows = labels if weights is None else np.column_stack([labels, weights])
    kinds = numbers_of_rows(rows)
    log_number = exchange.log_n_arrangements(kinds)
    if log_number >= math.log(_FEW_SHIFTS if isinstance(exchange, Shifts) else _FEW_LABELLINGS):
        return None
    number, n_fixed = round(math.exp(log_number)), exchange.n_fixed(kinds)
    found = f"{number} different labellings" if number > 1 else "no labelling but the observed one"
    text = f"leave {found}, so that no p-value can be below {1 / number:.2g}"
    if what is not None:
        return f"{what} {text}."
    text = f"{_restrictions(exchange)} {text}"
    if not n_fixed:
        return f"{text}."
    return (
        f"{text}: {n_fixed} of {exchange.n_items} items keep their label, because all others "
        f"{_companions(exchange)} have the same label."
    )


def few_labellings(sample: Sample) -> str | None:
    """Text of a warning if only few different labellings are possible, else None."""
    exchange = exchange_of(sample)
    return None if exchange is None else few_labellings_warning(exchange, sample.kinds[:, None])


def log_n_labellings(sample: Sample) -> float:
    """Logarithm of the number of different labellings."""
    free = Exchange(np.zeros(sample.n_items, dtype=np.int64), np.arange(sample.n_items))
    return (exchange_of(sample) or free).log_n_arrangements(sample.kinds)


def check_permutations(sample: Sample) -> None:
    """Raise an error if no permutation changes the labels, and warn if only few differ."""
    if log_n_labellings(sample) > 0.0:
        message = few_labellings(sample)
        if message is not None:
            warn_caller(message, DesignWarning)
        return
    if not sample.design.restrictions:
        raise ValueError(
            "All labels are the same, so there is nothing to permute: pass labels of both classes."
        )
    raise ValueError(
        f"{sample.design.named} leave no labelling but the observed one: each stratum or series "
        "has only one label, or all clusters of one size have the same label. Join strata, or use "
        "clusters of equal sizes."
    )


def _restrictions(exchange: AnyExchange) -> str:
    """The restrictions on the labellings, in words."""
    if isinstance(exchange, Shifts):
        return "Circular shifts"
    names = ["strata"] if exchange.n_strata > 1 else []
    names += [exchange.unit_name] if exchange.n_units < exchange.n_items else []
    return " and ".join(names) or "So few items"


def _companions(exchange: AnyExchange) -> str:
    """Where the items are with which an item can exchange its label, in words."""
    if isinstance(exchange, Shifts):
        return "in their series"
    where = []
    if exchange.n_units < exchange.n_items:
        where.append(f"in {exchange.unit_name} of the same size")
    where += ["in their stratum"] if exchange.n_strata > 1 else []
    return " ".join(where)


def weights_warning(sample: Sample, weights_stay: bool, exchange: AnyExchange | None) -> str | None:
    """Text of a warning if weights depend on what they are permuted against, otherwise None.

    Weights that stay with the scores must not depend on the labels of items with neighbouring
    ranks, and weights that follow the labels must not depend on the scores of items with the
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
    if weights_stay:
        found = _relation_to_labels(labels, scores, weights, classes)
        if found is None:
            return None
        return (
            f"sample_weight depends on the labels ({found}): with method='permutation_of_labels' "
            "only the labels are permuted, so the weights match the observed labels but not the "
            "permuted ones, and the p-value may be far too small. If the weights were computed "
            "from the labels, such as class weights, use "
            "method='permutation', which permutes labels and weights together."
        )
    found = _relation_to_scores(labels, scores, weights, classes)
    if found is None:
        return None
    return (
        f"sample_weight depends on the scores among items with the same label ({found}): with "
        "method='permutation' labels and weights are permuted together over the scores, so a "
        "relation between weights and scores counts as evidence against chance, and the "
        "p-value may be too small. If the weights were computed from the scores, or from the data "
        "behind the scores, use method='permutation_of_labels', which permutes only the labels."
    )


def _relation_to_labels(
    labels: NDArray[np.bool_], scores: NDArray[Any], weights: Floats, classes: Integers
) -> str | None:
    """Evidence that weights depend on labels: one weight per label, or a rank test."""
    kind = numbers_of_rows(labels)
    n_kinds = int(kind.max()) + 1
    if n_kinds > 1 and weights.size >= 2 * n_kinds:
        lowest, highest = np.full(n_kinds, np.inf), np.full(n_kinds, -np.inf)
        np.minimum.at(lowest, kind, weights)
        np.maximum.at(highest, kind, weights)
        if np.all(lowest == highest):
            return "items with the same label have the same weight"
    for label, score in zip(labels.T, scores.T, strict=True):
        # Runs of items with similar scores, within classes.
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
    """Evidence from a rank test that weights depend on scores among items with equal labels."""
    alike = numbers_of_rows(np.column_stack([labels, classes]))
    for score in scores.T:
        p = _rank_test(weights, score, alike)
        if p < _DEPENDENT / scores.shape[1]:
            return f"a rank test has p = {p:.1g}"
    return None


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
