"""One over the rank of the first positive, which has few values.

It is not a sum over blocks. A block of ``g`` equal scores after ``a`` items counts its expectation
over random tie-breaking. "The first positive" in doc/theory.rst.
"""

from __future__ import annotations

import numpy as np

from sklearn_rankinf._statistics.hypergeometric import log_binomial, log_pmf
from sklearn_rankinf._statistics.increments import Floats, Integers

# Weights of atoms are numbers of placements up to this logarithm, and in proportion to them beyond.
_LARGE_LOG_COUNT = 40.0


def first_hit_atoms(n: int, m: int, tie_sizes: Integers | None) -> tuple[Floats, Floats]:
    """Ascending values, and logarithms of their weights, if possible numbers of placements.

    If the first block with hits has y of them among g items, after a items, there are
    ``C(n - a - g, m - y) C(g, y)`` placements.
    """
    if m == 0:
        return np.zeros(1), np.zeros(1)
    if tie_sizes is None:
        ahead = np.arange(n - m + 1.0)
        values, hit = 1.0 / (ahead + 1.0), m / (n - ahead)
        misses = np.cumsum(np.log1p(-hit[:-1]), dtype=np.longdouble)
        log_p = np.log(hit)
        log_p[1:] += misses.astype(float)
    else:
        values, log_p = _atoms_of_blocks(n, m, tie_sizes)
    order = np.argsort(values, kind="stable")
    # Differences of larger logarithms would lose digits.
    return values[order], log_p[order] + min(log_binomial(n, m), _LARGE_LOG_COUNT)


def _atoms_of_blocks(n: int, m: int, sizes: Integers) -> tuple[Floats, Floats]:
    """Values for each number of hits in the first block with hits, and their log probabilities."""
    starts = np.cumsum(sizes) - sizes
    start, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    found = np.arange(n) - start + 1
    possible = (found <= m) & (m - found <= n - start - size)
    start, size, found = start[possible], size[possible], found[possible]
    log_p = log_pmf(0, n, m, start) + log_pmf(found, n - start, m, size)
    return mean_reciprocals_of_firsts(starts, sizes)[possible], log_p


def mean_reciprocals_of_firsts(starts: Integers, sizes: Integers) -> Floats:
    """``E 1 / (a + J)`` with J the first of y random places of g, for y = 1, ..., g block by block.

    The recursion ``(a + g - y + 1) E_y = 1 + E_{y+1} y (g - y) / (y + 1)`` starts at
    ``E_g = 1 / (a + 1)`` and has only positive terms. The affine steps of all blocks are composed
    in pairs, over distances that double.
    """
    a, g = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    before = np.cumsum(sizes) - sizes
    y = np.arange(1.0, a.size + 1.0) - np.repeat(before, sizes)
    level = 1.0 / (a + g - y + 1.0)
    slope = y * (g - y) / (y + 1.0) * level
    reach = 1
    while reach < sizes.max() and slope.any():
        level[:-reach] += slope[:-reach] * level[reach:]
        slope[:-reach] *= slope[reach:]
        slope[-reach:] = 0.0
        reach *= 2
    return np.asarray(level)
