"""Hypergeometric probabilities at any size, vectorised, and in logarithms far out in the tails.

``H`` counts the hits among k items drawn without replacement from n, m of which are hits. The 2x2
table of hits and misses, drawn and left, has the cells

    h,  m - h,  k - h,  n - m - k + h,

and all four differ from what is expected by the same deviation ``d = h - m k / n``, up to its sign.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from sklearn_rankinf._engine.statistics import Floats, Integers

# Products of integers stay below this in 64 bits; larger ones are taken in Python's integers.
_SAFE = 2.0**62
# What is left out of a sum is smaller than this part of it.
_NEGLIGIBLE = 1e-17
# Terms held in memory at a time, over all tails that are summed together.
_TERMS = 2**18
# A tail of more terms than this is integrated instead.
_LONG_TAIL = 2000.0
# Numbers below this take log(x!) from a table, those above from Stirling's series.
_TABLED = 16
_REST = np.array(
    [0.0] + [math.log(math.factorial(x)) - x * math.log(x) + x for x in range(1, _TABLED)]
)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)


def log_pmf(h: ArrayLike, n: ArrayLike, m: ArrayLike, k: ArrayLike) -> Floats:
    r"""Natural logarithm of ``P(H = h)``; -inf where h is out of reach.

    Loader's saddle-point form [1]_: with ``R(x) = log(x!) - x log x + x`` and the expected cells
    ``e``,

    .. math:: \log P = \sum_{\text{margins}} R - R(n) - \sum_{\text{cells}} R
              - \sum_{\text{cells}} e\, \phi(\pm d / e), \quad \phi(u) = (1+u)\log(1+u) - u,

    in which nothing cancels: the margins are m, n - m, k and n - k.

    References
    ----------
    .. [1] Loader, C. (2000). Fast and accurate computation of binomial probabilities.
    """
    table = _Tables.of(h, n, m, k)
    out = np.full(table.shape, -np.inf)
    reached = (table.h >= table.lowest) & (table.h <= table.highest)
    if reached.any():
        inner = table[reached]
        out[reached] = inner.log_pmf(inner.h.astype(float), inner.deviation())
    return out.reshape(table.shape)


def log_tail(h: ArrayLike, n: ArrayLike, m: ArrayLike, k: ArrayLike, sign: int = 1) -> Floats:
    """Natural logarithm of ``P(H >= h)`` (sign 1) or ``P(H <= h)`` (sign -1).

    On the far side of the mode the terms are summed; on the near side the other tail is, and taken
    from 1. The counts are broadcast against each other.
    """
    table = _Tables.of(h, n, m, k)
    if sign < 0:
        # k - H counts the misses drawn.
        table = _Tables(table.k - table.h, table.n, table.n - table.m, table.k)
    out = np.where(table.h <= table.lowest, 0.0, -np.inf)
    inside = (table.h > table.lowest) & (table.h <= table.highest)
    far = inside & (table.h > table.mode())
    if far.any():
        out[far] = _sum_upwards(table[far])
    near = inside & ~far
    if near.any():
        part = table[near]
        below = _Tables(part.k - part.h + 1, part.n, part.n - part.m, part.k)
        out[near] = np.log1p(-np.exp(_sum_upwards(below)))
    return out


def log_binomial_pmf(h: ArrayLike, k: ArrayLike, n: int, m: int) -> Floats:
    r"""Logarithm of the probability of h hits in k items that are hits with probability m / n.

    Such items, conditioned on m hits in n of them, are drawn without replacement. With :math:`R`
    and :math:`\phi` of :func:`log_pmf`, :math:`d = h - k m / n` and the expected numbers
    :math:`e_1 = k m / n` and :math:`e_2 = k (n - m) / n` it is

    .. math:: R(k) - R(h) - R(k - h) - e_1 \phi(d / e_1) - e_2 \phi(-d / e_2).
    """
    shape = np.broadcast_shapes(np.shape(h), np.shape(k))
    table = _Tables.of(np.atleast_1d(h), n, m, k)
    hits, items = table.h.astype(float), table.k.astype(float)
    deviation = table.deviation()
    log_p = _stirling_rest(items)
    for cell, expected, d in (
        (hits, items * (m / n), deviation),
        (items - hits, items * ((n - m) / n), -deviation),
    ):
        log_p = log_p - _stirling_rest(cell) - _deviance(expected, d, cell)
    return np.asarray(log_p).reshape(shape)


def n_terms_of_tail(h: ArrayLike, n: ArrayLike, m: ArrayLike, k: ArrayLike) -> Integers:
    """Number of terms of ``P(H >= h)``, h not below the mode, that are not negligible."""
    table = _Tables.of(h, n, m, k)
    # At the end of the range the ratio of two terms is that of nothing.
    inner = _Tables(np.minimum(table.h, table.highest - 1), table.n, table.m, table.k)
    # The curvature falls along the tail, and the terms with it more slowly than a normal density.
    n_terms = np.where(table.h < table.highest, 2.0 * _n_terms(inner), 1.0)
    return np.asarray(np.minimum(np.ceil(n_terms).astype(np.int64), table.highest - table.h + 1))


def min_hits(alpha: ArrayLike, n: ArrayLike, m: ArrayLike, k: ArrayLike) -> Integers:
    """Smallest h with ``P(H >= h) <= alpha``, one above the largest H where there is none."""
    level, total, hits, drawn = np.broadcast_arrays(
        np.asarray(alpha, dtype=float), *(np.asarray(x, dtype=np.int64) for x in (n, m, k))
    )
    with np.errstate(divide="ignore"):
        # A count that is certain reaches no level.
        log_level = np.minimum(np.log(level * (1.0 + 1e-12)), -np.finfo(float).tiny)
    mean, deviation = mean_and_deviation(total, hits, drawn)
    needed = smallest(
        lambda h: log_tail(h, total, hits, drawn) <= log_level,
        np.maximum(0, drawn - (total - hits)),
        np.minimum(drawn, hits) + 1,
        mean - ndtri(np.clip(level, 1e-300, 1.0 - 1e-16)) * deviation,
        deviation,
    )
    return np.asarray(needed)


def mean_and_deviation(n: Any, m: Any, k: Any) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the number of hits drawn."""
    total, hits, drawn = (np.asarray(x, dtype=float) for x in (n, m, k))
    share = drawn / total
    spread = hits * (1.0 - hits / total) * share * (total - drawn) / np.maximum(total - 1.0, 1.0)
    return hits * share, np.sqrt(spread)


def smallest(
    reached: Callable[[Any], NDArray[np.bool_]],
    low: Any,
    high: Any,
    guess: Floats,
    width: Floats,
) -> Any:
    """Smallest integers from `low` to `high` at which a growing condition holds, elementwise.

    `high` is taken where it holds nowhere below. The search leaves the guess in steps of about
    `width`, doubled until the place is bracketed, and bisects. Python's integers, in arrays of
    objects, may be of any size.
    """
    low, high = np.asarray(low), np.asarray(high)
    if low.ndim == 0:

        def one_reached(c: Any) -> NDArray[np.bool_]:
            return np.asarray(reached(c[0])).reshape(1)

        return smallest(one_reached, low[None], high[None], guess, width)[0]
    whole, low = low.dtype, low - 1
    step = np.maximum(np.rint(width / 4.0), 1.0)
    at = _whole(np.rint(guess), whole)
    direction: Any = None
    while True:
        # `low` fails and `high` holds all the time.
        at = np.minimum(np.maximum(at, low + 1), high - (high - low > 1))
        is_open = high - low > 1
        if not is_open.any():
            return high
        holds = np.asarray(reached(at)) & True
        high = np.where(is_open & holds, at, high)
        low = np.where(is_open & ~holds, at, low)
        direction = holds if direction is None else direction
        # Bisect as soon as the other side has been seen.
        leaving = holds == direction
        step = np.where(leaving, step * 2.0, 0.0)
        stride = _whole(step, whole)
        middle = low + (high - low) // 2
        onward = np.where(holds, high - stride, low + stride)
        at = np.where(step > 0.0, onward, middle)


def _whole(values: Floats, dtype: Any) -> Any:
    """Whole floats as integers of the type at hand."""
    finite = np.nan_to_num(values, posinf=1e30, neginf=-1e30)
    if dtype.kind == "i":
        return np.clip(finite, -9e18, 9e18).astype(np.int64)
    return np.frompyfunc(int, 1, 1)(finite)


class _Tables:
    """Arrays of 2x2 tables, given by their integers h, n, m and k."""

    def __init__(self, h: Integers, n: Integers, m: Integers, k: Integers) -> None:
        self.h, self.n, self.m, self.k = h, n, m, k

    @classmethod
    def of(cls, *counts: ArrayLike) -> _Tables:
        """Broadcast counts of any kind of integer."""
        return cls(*np.broadcast_arrays(*(np.asarray(x, dtype=np.int64) for x in counts)))

    def __getitem__(self, index: Any) -> _Tables:
        return _Tables(self.h[index], self.n[index], self.m[index], self.k[index])

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the arrays."""
        return self.h.shape

    @property
    def lowest(self) -> Integers:
        """Smallest possible number of hits."""
        return np.maximum(0, self.k - (self.n - self.m))

    @property
    def highest(self) -> Integers:
        """Largest possible number of hits."""
        return np.minimum(self.k, self.m)

    def mode(self) -> Floats:
        """A mode: from here on every term is smaller than the one before."""
        return np.asarray((self.m + 1.0) * ((self.k + 1.0) / (self.n + 2.0)), dtype=float)

    def deviation(self) -> Floats:
        """``h - m k / n``, rounded once."""
        h, n, m, k = self.h, self.n, self.m, self.k
        if float(n.max()) * float(max(h.max(), m.max(), k.max())) < _SAFE:
            return np.asarray((h * n - m * k) / n)
        exact = h.astype(object) * n - m.astype(object) * k
        return np.asarray(exact / n.astype(object), dtype=float)

    def log_pmf(self, h: Floats, deviation: Floats) -> Floats:
        """The logarithm of the probability, also between the integers."""
        n, m, k = (x.astype(float) for x in (self.n, self.m, self.k))
        # The last cell from integers: m + k may be close to n.
        rest = (self.n - self.m - self.k) + h
        rows, columns = (m, n - m), (k, n - k)
        log_p = _stirling_rest(m) + _stirling_rest(n - m)
        log_p = log_p + _stirling_rest(k) + _stirling_rest(n - k) - _stirling_rest(n)
        for cell, row, column, d in (
            (h, rows[0], columns[0], deviation),
            (m - h, rows[0], columns[1], -deviation),
            (k - h, rows[1], columns[0], -deviation),
            (rest, rows[1], columns[1], deviation),
        ):
            log_p = log_p - _stirling_rest(cell) - _deviance(row * (column / n), d, cell)
        return np.asarray(log_p)


def _deviance(expected: Floats, deviation: Floats, cell: Floats) -> Floats:
    """``e phi(d / e)`` with ``phi(u) = (1 + u) log(1 + u) - u``; an empty cell has ``u = -1``."""
    empty = cell <= 0.0
    u = np.where(empty, 0.0, deviation / np.where(expected > 0.0, expected, 1.0))
    phi = (1.0 + u) * np.log1p(u) - u
    small = np.abs(u) < 0.03
    if small.any():
        v = u[small]
        series = np.zeros_like(v)
        for power in range(11, 1, -1):  # u^2/2 - u^3/6 + u^4/12 - ...
            series = (-1.0) ** power / (power * (power - 1.0)) + v * series
        phi[small] = v * v * series
    return np.asarray(np.where(empty, expected, expected * phi))


def _stirling_rest(x: Floats) -> Floats:
    """``log(x!) - x log(x) + x``: from a table of integers, or from Stirling's series."""
    large = np.maximum(x, _TABLED)
    y = 1.0 / large**2
    series = 1.0 / 12.0 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))
    rest = 0.5 * np.log(2.0 * np.pi * large) + series / large
    return np.where(x < _TABLED, _REST[np.clip(x, 0, _TABLED - 1).astype(np.int64)], rest)


def _sum_upwards(table: _Tables) -> Floats:
    """Log of ``P(H >= h)`` for h above the mode: the first term times a sum of products."""
    first = table.log_pmf(table.h.astype(float), table.deviation())
    n_terms = _n_terms(table)
    total = np.empty_like(first)
    long = n_terms > _LONG_TAIL
    if long.any():
        total[long] = _integrated(table[long], first[long], n_terms[long])
    if not long.all():
        total[~long] = _added(table[~long])
    return np.minimum(first + np.log(total), 0.0)


def _n_terms(table: _Tables) -> Floats:
    """Terms until they fall below e^-50 of the first: like slope i + curvature i^2 / 2 in logs."""
    slope, curvature = _decline(table)
    n_terms = 100.0 / (slope + np.sqrt(slope**2 + 100.0 * curvature))
    return np.asarray(np.minimum(n_terms, table.highest - table.h + 1.0))


def _decline(table: _Tables) -> tuple[Floats, Floats]:
    """Minus the first two derivatives of log P(H = h) in h, to first order in 1 / cell."""
    h, m, k = (x.astype(float) for x in (table.h, table.m, table.k))
    rest = (table.n - table.m - table.k + table.h).astype(float)
    up, down = (m - h) * (k - h), (h + 1.0) * (rest + 1.0)
    with np.errstate(divide="ignore"):
        slope = np.maximum(-np.log(up / down), 0.0)
        curvature = 1.0 / (h + 1.0) + 1.0 / (rest + 1.0) + 1.0 / (m - h) + 1.0 / (k - h)
    return np.minimum(slope, 1e3), np.minimum(curvature, 1e3)


def _added(table: _Tables) -> Floats:
    """``1 + r_1 + r_1 r_2 + ...`` term by term, for all tails at once."""
    total = np.ones(table.shape)
    active = np.arange(table.h.size)
    # Factors of the ratio (m-h)(k-h) / ((h+1)(n-m-k+h+1)) at the next term.
    factors = [
        (table.m - table.h).astype(float),
        (table.k - table.h).astype(float),
        (table.h + 1).astype(float),
        (table.n - table.m - table.k + table.h + 1).astype(float),
    ]
    term = np.ones(table.h.size)
    while active.size:
        length = int(np.clip(_TERMS // active.size, 1, 128))
        i = np.arange(length)
        a, b, c, d = (factor[:, None] for factor in factors)
        ratios = (np.maximum(a - i, 0.0) / (c + i)) * (np.maximum(b - i, 0.0) / (d + i))
        last = ratios[:, -1].copy()
        ratios[:, 0] *= term
        products = np.cumprod(ratios, axis=1)
        total[active] += products.sum(axis=1)
        term = np.asarray(products[:, -1], dtype=float)
        # The ratios fall, so that a geometric series bounds the rest.
        going = term * last > _NEGLIGIBLE * total[active] * (1.0 - last)
        active, term = active[going], term[going]
        shift = (-length, -length, length, length)
        factors = [f[going] + s for f, s in zip(factors, shift, strict=True)]
    return total


def _integrated(table: _Tables, first: Floats, n_terms: Floats) -> Floats:
    """The sum of a long tail in units of its first term, by the Euler-Maclaurin formula.

    ``sum_{i>=0} f(i) = integral of f + f(0)/2 - f'(0)/12 + f'''(0)/720 - ...``; so many terms are
    only needed where f changes slowly, and then these are enough for full accuracy.
    """
    start, deviation = table.h.astype(float), table.deviation()
    integral = np.zeros_like(start)
    for left, right in ((0.0, 0.2), (0.2, 0.5), (0.5, 1.0)):
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            i = n_terms * (0.5 * (left + right) + 0.5 * (right - left) * node)
            f = np.exp(table.log_pmf(start + i, deviation + i) - first)
            integral += f * weight * 0.5 * (right - left) * n_terms
    slope, curvature = _exact_decline(table, deviation)
    third = -(slope**3) + 3.0 * slope * curvature
    return integral + 0.5 + slope / 12.0 + third / 720.0


def _exact_decline(table: _Tables, deviation: Floats) -> tuple[Floats, Floats]:
    """Minus the first two derivatives of log P(H = h) in h, where all cells are large."""
    n, m, k, h = (x.astype(float) for x in (table.n, table.m, table.k, table.h))
    rest = (table.n - table.m - table.k + table.h).astype(float)
    slope = np.zeros_like(h)
    curvature = np.zeros_like(h)
    for cell, row, column, sign in (
        (h, m, k, 1.0),
        (m - h, m, n - k, -1.0),
        (k - h, n - m, k, -1.0),
        (rest, n - m, n - k, 1.0),
    ):
        # digamma(x + 1) = log(x) + 1/(2x) - ..., and the expected cells cancel.
        slope += sign * (np.log1p(sign * deviation / (row * (column / n))) + 0.5 / cell)
        curvature += 1.0 / cell
    return slope, curvature
