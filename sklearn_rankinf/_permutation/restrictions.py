"""Labels permuted within strata, between whole clusters, or along a series."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._permutation.exchange import AnyExchange, Exchange, Shifts, numbers_of_rows
from sklearn_rankinf._ranking import Sample
from sklearn_rankinf._statistics import Floats

RESTRICTED = "permutation within strata, of whole clusters or along a series"
# Fewer possible labellings than these cause a warning; shifts never outnumber the samples.
_FEW_LABELLINGS, _FEW_SHIFTS = 1000, 100


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
        f"{text}: {n_fixed} of {exchange.n_items} samples keep their label, because all others "
        f"{_companions(exchange)} have the same label."
    )


def _restrictions(exchange: AnyExchange) -> str:
    """The restrictions on the labellings, in words."""
    if isinstance(exchange, Shifts):
        return "Circular shifts"
    names = ["strata"] if exchange.n_strata > 1 else []
    names += [exchange.unit_name] if exchange.n_units < exchange.n_items else []
    return " and ".join(names) or "So few samples"


def _companions(exchange: AnyExchange) -> str:
    """Where the samples are with which a sample can exchange its label, in words."""
    if isinstance(exchange, Shifts):
        return "in their series"
    where = []
    if exchange.n_units < exchange.n_items:
        where.append(f"in {exchange.unit_name} of the same size")
    where += ["in their stratum"] if exchange.n_strata > 1 else []
    return " ".join(where)
