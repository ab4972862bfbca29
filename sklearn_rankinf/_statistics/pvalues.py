"""P-values and other results as numbers of Python, and their logarithms to base 10."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A float for a scalar, otherwise the array."""
    return value if np.ndim(value) else float(value)


def as_log10(log_pvalue: Any) -> Any:
    """Base-10 logarithm from the natural one; never -0.0 and never above 0."""
    return plain(np.minimum(0.0, np.asarray(log_pvalue) / math.log(10.0)) + 0.0)


def log10_of(pvalue: float) -> float:
    """Base-10 logarithm of a p-value; -inf of 0."""
    return float(as_log10(math.log(pvalue))) if pvalue > 0.0 else -math.inf


def is_smallest(pvalue: Any, n_drawn: Any) -> Any:
    """Whether a p-value (b + 1) / (B + 1) is a bound: none of B random draws is as extreme."""
    return pvalue * (n_drawn + 1.0) < 1.5
