"""Exponentials at equally spaced nodes, by products alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._statistics import Floats


def exponentials(z: NDArray[Any], factors: Floats, more: Floats | None = None) -> NDArray[Any]:
    """``exp(factors[:, None] * z + more)``: for equally spaced nodes by products alone.

    Each factor (row) has its own addend, or one for each node (columns).
    """
    return np.ascontiguousarray(exponentials_by_node(z, factors, more).T)


def exponentials_by_node(
    z: NDArray[Any], factors: Floats, more: Floats | None = None
) -> NDArray[Any]:
    """The same with a row for each node."""
    more = np.zeros((factors.size, 1)) if more is None else more
    # Samples farther out may follow the equally spaced nodes.
    first = z[1] - z[0] if z.size > 1 else 0.0
    n_spaced = int(np.argmin(np.append(np.abs(np.diff(z, 2)) <= 1e-9 * abs(first), False))) + 2
    if more.shape[1] > 1 or n_spaced < 8:
        return np.asarray(np.exp(np.outer(z, factors) + more.T))
    rows = np.empty((z.size, factors.size), dtype=z.dtype)
    step = (z[n_spaced - 1] - z[0]) / (n_spaced - 1)
    heads = np.exp(z[0] * factors + more[:, 0])
    geometric_rows(heads, np.exp(step * factors), rows[:n_spaced])
    rows[n_spaced:] = np.exp(np.outer(z[n_spaced:], factors) + more.T)
    return rows


def geometric_rows(head: NDArray[Any], ratio: NDArray[Any], out: NDArray[Any]) -> NDArray[Any]:
    """Rows ``head * ratio**i``, by doubling: a product each."""
    n_rows = out.shape[0]
    out[0] = head
    filled = 1
    while filled < n_rows:
        take = min(filled, n_rows - filled)
        np.multiply(out[:take], ratio, out=out[filled : filled + take])
        filled += take
        if filled < n_rows:
            ratio = ratio * ratio
    return out
