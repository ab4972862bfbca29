"""Arrays of numbers that compare exactly, whatever their types are, and their order."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Floating-point numbers hold all integers up to this one.
LARGEST_WHOLE = 2.0**53


def as_exact_numbers(numbers: Sequence[Any]) -> NDArray[Any]:
    """Finite numbers as an array of integers or floats if it holds all of them without rounding.

    Otherwise the array has the type object, and its numbers compare as they do in Python.
    """
    values = [_plain(number) for number in numbers]
    if values and all(isinstance(value, int) for value in values):
        least, largest = min(values), max(values)
        for dtype in (np.int64, np.uint64):
            if np.iinfo(dtype).min <= least and largest <= np.iinfo(dtype).max:
                return np.array(values, dtype=dtype)
        return _objects(values)
    try:
        floats = [float(value) for value in values]
    except OverflowError:
        floats = []
    # Python compares numbers of different types without rounding.
    if len(floats) == len(values) and all(a == b for a, b in zip(floats, values, strict=True)):
        return np.array(floats)
    if {Decimal, Fraction} <= {*map(type, values)}:
        # These two types are the only ones that Python does not compare.
        values = [Fraction(value) if isinstance(value, Decimal) else value for value in values]
    return _objects(values)


def joined(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate arrays of numbers; different types are not rounded to a common one."""
    if len({array.dtype for array in arrays}) == 1 and arrays[0].dtype != object:
        return np.concatenate(arrays)
    return as_exact_numbers([number for array in arrays for number in array.tolist()])


def _plain(number: Any) -> Any:
    """A number of NumPy as one of Python with the same value."""
    if isinstance(number, np.longdouble):
        return Fraction(*number.as_integer_ratio())
    return number.item() if isinstance(number, np.generic) else number


def _objects(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def rank_order(scores: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order the scores, best first, and count the samples with each value."""
    # The order within a block is arbitrary: the fastest ascending sort, reversed, is sufficient.
    order = np.argsort(scores)[::-1]
    ordered = scores[order]
    changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    edges = np.concatenate([[0], changes, [len(scores)]])
    return order, edges[1:] - edges[:-1]


def block_of_each(scores: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the block of equal scores of each sample, 0 for the best, and the block sizes."""
    order, tie_sizes = rank_order(scores)
    places = np.empty(order.size, dtype=np.int64)
    places[order] = np.repeat(np.arange(tie_sizes.size), tie_sizes)
    return places, tie_sizes
