"""Hypergeometric probabilities and tails at any size, vectorised, as logarithms.

``H`` counts the hits among k items drawn without replacement from n, m of which are hits. All cells
of the 2x2 table of hits and misses, drawn and left,

    h,  m - h,  k - h,  n - m - k + h,

differ from their expected counts by the same deviation ``d = h - m k / n``, up to its sign.
Single probabilities use Loader's saddle-point form (Loader 2000), equation (loader) of "The far
tails" in doc/theory.rst. A tail is the probability at its end nearest to the mode times a sum of
products of ratios, or, for a tail of many terms, times an integral by Gauss-Legendre quadrature
with the corrections of the Euler-Maclaurin formula. All terms are positive. Relative errors are
about 1e-13, plus 1e-16 times the logarithm of the probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import gammaln, log_ndtr, ndtr, ndtri

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Products of integers below this fit into 64 bits; larger ones are computed in Python's integers.
_SAFE = 2.0**62
# Weights are numbers of placements up to this logarithm.
_LARGE_LOG_COUNT = 40.0
# The terms left out of a sum are smaller than this part of it.
_NEGLIGIBLE = 1e-17
# Terms held in memory at a time, over all tails that are summed together.
_TERMS = 2**18
# Tables that are computed together, so that all of their terms stay in the processor's cache.
_AT_ONCE = 2**10
# Tails of more terms than this are integrated; the Euler-Maclaurin corrections are then exact to
# about 1e-13 of the sum.
_LONG_TAIL = 2000.0
# log(x!) is exact from a table below this x, and Stirling's series from there on.
_TABLED = 16
_REST = np.array(
    [0.0] + [math.log(math.factorial(x)) - x * math.log(x) + x for x in range(1, _TABLED)]
)
# Binomial probabilities in blocks of at most this size are products of ratios, which is ten times
# faster than Loader's form: the sum of the logarithms of all ratios is off by 1e-12.
_MOST_RATIOS = 10_000
# Gauss-Legendre rule on (0, 1) for a function that falls by 50 nats: a single panel of 64 nodes
# integrates exp(-50 u) and exp(-50 u^2) to rounding.
_NODES, _WEIGHTS = (np.polynomial.legendre.leggauss(64) + np.array([[1.0], [0.0]])) / 2.0


def log_binomial(n: int, m: int) -> float:
    """Natural logarithm of ``C(n, m)``, without the cancellation of sums of log-gamma functions.

    Exact up to 1000 of the smaller part, and ``n`` times the entropy of ``m / n`` plus Stirling's
    remainders beyond.
    """
    m = min(m, n - m)
    if m <= 1000:
        return math.log(math.comb(n, m))
    p = m / n
    entropy = -n * (p * math.log(p) + (1.0 - p) * math.log1p(-p))
    rests = _stirling_rest(np.array([n, m, n - m], dtype=float))
    return entropy + float(rests[0] - rests[1] - rests[2])


def log_pmf(h: ArrayLike, n: ArrayLike, m: ArrayLike, k: ArrayLike) -> Floats:
    r"""Natural logarithm of ``P(H = h)``; -inf for an impossible h.

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
    return _in_parts(_log_pmfs, table.raveled()).reshape(table.shape)


def _log_pmfs(table: _Tables) -> Floats:
    out = np.full(table.shape, -np.inf)
    possible = (table.h >= table.lowest) & (table.h <= table.highest)
    if possible.any():
        out[possible] = table[possible].log_pmf()
    return out


def log_tail(h: ArrayLike, n: ArrayLike, m: ArrayLike, k: ArrayLike, sign: int = 1) -> Floats:
    """Natural logarithm of ``P(H >= h)`` (sign 1) or ``P(H <= h)`` (sign -1).

    A tail that does not contain the mode is summed; a tail that does is 1 minus the other one. The
    counts are broadcast against each other.
    """
    table = _Tables.of(h, n, m, k)
    flat = (table if sign > 0 else table.of_misses(0)).raveled()
    return _in_parts(_log_tails, flat).reshape(table.shape)


def _in_parts(function: Callable[[_Tables], Floats], flat: _Tables) -> Floats:
    """A function of many tables, computed for some of them at a time."""
    parts = (slice(i, i + _AT_ONCE) for i in range(0, max(1, flat.h.size), _AT_ONCE))
    return np.concatenate([function(flat[part]) for part in parts])


def _log_tails(table: _Tables) -> Floats:
    out = np.where(table.h <= table.lowest, 0.0, -np.inf)
    inside = (table.h > table.lowest) & (table.h <= table.highest)
    far = inside & (table.h > table.mode())
    if far.any():
        out[far] = _sum_upwards(table[far])
    near = inside & ~far
    if near.any():
        out[near] = np.log1p(-np.exp(_sum_upwards(table[near].of_misses(1))))
    return out


def sorted_atoms(values: Floats, log_p: Floats, n: int, m: int) -> tuple[Floats, Floats]:
    """Ascending values with log probabilities, and logarithms of their weights.

    The weights are numbers of placements, if these are not too large, and in proportion otherwise.
    """
    order = np.argsort(values, kind="stable")
    # Differences of larger logarithms would lose digits.
    return values[order], log_p[order] + min(log_binomial(n, m), _LARGE_LOG_COUNT)


def log_binomial_pmf(h: ArrayLike, k: ArrayLike, n: int, m: int) -> Floats:
    r"""Logarithm of the probability of h hits in k items that are hits with probability m / n.

    Such items, conditioned on m hits in n of them, are drawn without replacement. With :math:`R`
    and :math:`\phi` of :func:`log_pmf`, :math:`d = h - k m / n` and the expected numbers
    :math:`e_1 = k m / n` and :math:`e_2 = k (n - m) / n` it is

    .. math:: R(k) - R(h) - R(k - h) - e_1 \phi(d / e_1) - e_2 \phi(-d / e_2).
    """
    shape = np.broadcast_shapes(np.shape(h), np.shape(k))
    table = _Tables.of(np.atleast_1d(h), n, m, k)
    hits, items, d = table.h.astype(float), table.k.astype(float), table.deviation
    log_p = _stirling_rest(items) - _cell(hits, items * (m / n), d)
    return np.asarray(log_p - _cell(items - hits, items * ((n - m) / n), -d)).reshape(shape)


@lru_cache(maxsize=1024)
def binomial_log_weights(size: int, most: int, n: int, m: int) -> Floats:
    """`log_binomial_pmf` of 0 to `most` hits in `size` items; cached, as passes repeat blocks."""
    y = np.arange(most + 1)
    if size > _MOST_RATIOS:
        weights = log_binomial_pmf(y, size, n, m)
    else:
        p = m / n
        ratios = np.log((size + 1.0 - y[1:]) / y[1:]) + (math.log(p) - math.log1p(-p))
        weights = size * math.log1p(-p) + np.append(0.0, np.cumsum(ratios))
    weights.flags.writeable = False
    return weights


def log_probability_of_hits(n: int, m: int) -> float:
    """Log probability of m hits in all n items, if each is a hit with probability m / n.

    The logarithms of m / n are rounded as in `binomial_log_weights`, so that these errors cancel.
    """
    p = m / n
    return log_binomial(n, m) + m * math.log(p) + (n - m) * math.log1p(-p)


def n_terms_of_tail(h: ArrayLike, n: ArrayLike, m: ArrayLike, k: ArrayLike) -> Integers:
    """Number of terms of ``P(H >= h)``, h not below the mode, that are not negligible."""
    table = _Tables.of(h, n, m, k)
    inner = _Tables(np.minimum(table.h, table.highest - 1), table.n, table.m, table.k)
    # Twice the estimate: the curvature decreases along the tail.
    n_terms = np.where(table.h < table.highest, 2.0 * _n_terms(inner), 1.0)
    return np.asarray(np.minimum(np.ceil(n_terms).astype(np.int64), table.highest - table.h + 1))


def log_level(alpha: ArrayLike) -> Floats:
    """Logarithm of a level, for tails that are equal to it up to rounding.

    A tail of probability 1 is above every level, also above the level 1.
    """
    with np.errstate(divide="ignore"):
        most = np.log(np.asarray(alpha, dtype=float) * (1.0 + 1e-12))
    return np.asarray(np.minimum(most, -np.finfo(float).tiny))


def min_hits(alpha: ArrayLike, n: ArrayLike, m: ArrayLike, k: ArrayLike) -> Integers:
    """Smallest h with ``P(H >= h) <= alpha``; the largest possible h plus 1 if there is none."""
    level, total, hits, drawn = np.broadcast_arrays(
        np.asarray(alpha, dtype=float), *(np.asarray(x, dtype=np.int64) for x in (n, m, k))
    )
    most = log_level(level)
    mean, deviation = mean_and_deviation(total, hits, drawn)
    needed = smallest(
        lambda h: log_tail(h, total, hits, drawn) <= most,
        np.maximum(0, drawn - (total - hits)),
        np.minimum(drawn, hits) + 1,
        mean - ndtri(np.clip(level, 1e-300, 1.0 - 1e-16)) * deviation,
        deviation,
    )
    return np.asarray(needed)


def mean_and_deviation(n: Any, m: Any, k: Any) -> tuple[Floats, Floats]:
    total, hits, drawn = (np.asarray(x, dtype=float) for x in (n, m, k))
    share = drawn / total
    spread = hits * (1.0 - hits / total) * share * (total - drawn) / np.maximum(total - 1.0, 1.0)
    return hits * share, np.sqrt(spread)


def smallest(
    reached: Callable[[Any], NDArray[np.bool_]], low: Any, high: Any, guess: Floats, width: Floats
) -> Any:
    """Smallest integers from `low` to `high` at which a monotone condition holds, elementwise.

    `high` is returned if the condition holds nowhere below. The search leaves the guess in steps of
    about `width`, doubled until the integer is bracketed, and bisects. Arrays of objects (Python's
    integers) may exceed 64 bits.
    """
    if np.ndim(low) == 0:

        def one_reached(at: Any) -> NDArray[np.bool_]:
            return np.asarray(reached(at[0])).reshape(1)

        return smallest(one_reached, np.array([low]), np.array([high]), guess, width)[0]
    below, above = np.asarray(low) - 1, np.asarray(high)
    step, at = np.maximum(np.rint(width / 4.0), 1.0), _whole(np.rint(guess), below.dtype)
    direction: Any = None
    while True:
        is_open = above - below > 1
        if not is_open.any():
            return above
        at = np.minimum(np.maximum(at, below + 1), above - is_open)
        holds = np.asarray(reached(at)) & True
        above, below = np.where(is_open & holds, at, above), np.where(is_open & ~holds, at, below)
        direction = holds if direction is None else direction
        # A step of 0 stands for bisection, which begins when the condition changes.
        step = np.where(holds == direction, step * 2.0, 0.0)
        stride = _whole(step, below.dtype)
        onward = np.where(holds, above - stride, below + stride)
        at = np.where(step > 0.0, onward, below + (above - below) // 2)


def _whole(values: Floats, dtype: Any) -> Any:
    """Whole floats as integers of a type."""
    finite = np.nan_to_num(values, posinf=1e30, neginf=-1e30)
    if dtype.kind == "i":
        return np.clip(finite, -9e18, 9e18).astype(np.int64)
    return np.frompyfunc(int, 1, 1)(finite)


@dataclass(frozen=True, eq=False)
class _Tables:
    """Arrays of 2x2 tables, given by their integers h, n, m and k."""

    h: Integers
    n: Integers
    m: Integers
    k: Integers

    @classmethod
    def of(cls, *counts: ArrayLike) -> _Tables:
        """Broadcast counts of any kind of integer."""
        return cls(*np.broadcast_arrays(*(np.asarray(x, dtype=np.int64) for x in counts)))

    def __getitem__(self, index: Any) -> _Tables:
        return _Tables(self.h[index], self.n[index], self.m[index], self.k[index])

    def raveled(self) -> _Tables:
        """The same tables as flat arrays."""
        return _Tables(*(x.ravel() for x in (self.h, self.n, self.m, self.k)))

    def of_misses(self, more: int) -> _Tables:
        """Tables that count the misses drawn, and `more`, in place of the hits."""
        return _Tables(self.k - self.h + more, self.n, self.n - self.m, self.k)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.h.shape

    @property
    def lowest(self) -> Integers:
        """Smallest possible number of hits."""
        return np.maximum(0, self.k - (self.n - self.m))

    @property
    def highest(self) -> Integers:
        """Largest possible number of hits."""
        return np.minimum(self.k, self.m)

    @property
    def cells(self) -> list[Floats]:
        """Hits drawn, hits left, misses drawn and misses left, as differences of integers."""
        h, m, k = self.h, self.m, self.k
        return [cell.astype(float) for cell in (h, m - h, k - h, self.n - m - k + h)]

    def mode(self) -> Floats:
        """A mode: every term beyond it is smaller than the one before."""
        return np.asarray((self.m + 1.0) * ((self.k + 1.0) / (self.n + 2.0)), dtype=float)

    @property
    def deviation(self) -> Floats:
        """``h - m k / n``, rounded once."""
        h, n, m, k = self.h, self.n, self.m, self.k
        if float(n.max()) * float(max(h.max(), m.max(), k.max())) < _SAFE:
            return np.asarray((h * n - m * k) / n)
        exact = h.astype(object) * n - m.astype(object) * k
        return np.asarray(exact / n.astype(object), dtype=float)

    def log_pmf(self, more: Floats | float = 0.0) -> Floats:
        """Log probability of h hits and `more`, which need not be an integer."""
        n, m, k = (x.astype(float) for x in (self.n, self.m, self.k))
        d = self.deviation + more
        # All at once: in short arrays most of the time is that of calls.
        rest = _stirling_rest(np.array([m, n - m, k, n - k, n]))
        log_p = rest[0] + rest[1] + rest[2] + rest[3] - rest[4]
        hits, misses, drawn, left = m, n - m, k / n, (n - k) / n
        expected = np.array([hits * drawn, hits * left, misses * drawn, misses * left])
        signs = (1.0, -1.0, -1.0, 1.0)
        moved = [cell + sign * more for cell, sign in zip(self.cells, signs, strict=True)]
        cells = _cell(np.array(moved), expected, np.array([d, -d, -d, d]))
        for cell in cells:
            log_p = log_p - cell
        return np.asarray(log_p)


def _cell(x: Floats, expected: Floats, d: Floats) -> Floats:
    """``R(x) + e phi(d / e)`` for a cell x with the expected count e and ``d = x - e``."""
    empty = x <= 0.0
    u = np.where(empty, 0.0, d / np.where(expected > 0.0, expected, 1.0))
    phi = (1.0 + u) * np.log1p(u) - u
    small = np.abs(u) < 0.03
    if small.any():
        v = u[small]
        series = np.zeros_like(v)
        for power in range(11, 1, -1):  # u^2/2 - u^3/6 + u^4/12 - ...
            series = (-1.0) ** power / (power * (power - 1.0)) + v * series
        phi[small] = v * v * series
    # phi(-1) = 1.
    return np.asarray(_stirling_rest(x) + np.where(empty, expected, expected * phi))


def _stirling_rest(x: Floats) -> Floats:
    """``R(x) = log(x!) - x log(x) + x``: from a table of integers, or from Stirling's series."""
    large = np.maximum(x, _TABLED)
    y = 1.0 / large**2
    series = 1.0 / 12.0 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))
    rest = 0.5 * np.log(2.0 * np.pi * large) + series / large
    return np.where(x < _TABLED, _REST[np.clip(x, 0, _TABLED - 1).astype(np.int64)], rest)


def _sum_upwards(table: _Tables) -> Floats:
    """Log of ``P(H >= h)`` for h above the mode: the first term times the sum of all ratios."""
    first = table.log_pmf()
    n_terms = _n_terms(table)
    total = np.empty_like(first)
    long = n_terms > _LONG_TAIL
    with np.errstate(under="ignore"):
        if long.any():
            total[long] = _integrated(table[long], first[long], n_terms[long])
        if not long.all():
            total[~long] = _added(table[~long])
    return np.minimum(first + np.log(total), 0.0)


def _n_terms(table: _Tables) -> Floats:
    """Number of terms above e^-50 of the first, at the decline slope i + curvature i^2 / 2."""
    slope, curvature = _decline(table)
    n_terms = 100.0 / (slope + np.sqrt(slope**2 + 100.0 * curvature))
    return np.asarray(np.minimum(n_terms, table.highest - table.h + 1.0))


def _decline(table: _Tables) -> tuple[Floats, Floats]:
    """Decline of log P(H = h) to the next h, and minus its second derivative to first order."""
    drawn, left, drawn_misses, left_misses = table.cells
    with np.errstate(divide="ignore"):
        ratio = (left / (drawn + 1.0)) * (drawn_misses / (left_misses + 1.0))
        decline = np.maximum(-np.log(ratio), 0.0)
        curvature = 1.0 / (drawn + 1.0) + 1.0 / (left_misses + 1.0) + 1.0 / left
        curvature += 1.0 / drawn_misses
    return np.minimum(decline, 1e3), np.minimum(curvature, 1e3)


def _added(table: _Tables) -> Floats:
    """``1 + r_1 + r_1 r_2 + ...`` term by term, for all tails at once."""
    total = np.ones(table.shape)
    active = np.arange(table.h.size)
    # Factors of the ratio (m-h)(k-h) / ((h+1)(n-m-k+h+1)) at the next term.
    drawn, left, drawn_misses, left_misses = table.cells
    factors = [left, drawn_misses, drawn + 1.0, left_misses + 1.0]
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
        # The ratios decrease, so a geometric series bounds the remainder.
        going = term * last > _NEGLIGIBLE * total[active] * (1.0 - last)
        active, term = active[going], term[going]
        shift = (-length, -length, length, length)
        factors = [f[going] + s for f, s in zip(factors, shift, strict=True)]
    return total


def _integrated(table: _Tables, first: Floats, n_terms: Floats) -> Floats:
    """The sum of a long tail in units of its first term, by the Euler-Maclaurin formula.

    ``sum_{i>=0} f(i) = integral of f + f(0)/2 - f'(0)/12 + f'''(0)/720 - ...``, where f changes
    slowly if many terms are needed. The derivative of ``log f`` at 0 is the change to the next term
    less half the second derivative.
    """
    integral = np.zeros_like(first)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        integral += n_terms * weight * np.exp(table.log_pmf(n_terms * node) - first)
    decline, curvature = _decline(table)
    slope = decline - 0.5 * curvature
    third = -(slope**3) + 3.0 * slope * curvature
    return integral + 0.5 + slope / 12.0 + third / 720.0


# Approximations.


def binomial_tail(hits: Any, trials: Any, share: float, sign: int) -> tuple[Floats, Floats]:
    """``P(B >= hits)`` (sign 1) or ``P(B <= hits)`` (sign -1) and its logarithm.

    Where the probability underflows the logarithm is that of its bound by a geometric series.
    """
    distribution = stats.binom(trials, share)
    hits = np.ceil(hits) if sign > 0 else np.floor(hits)
    p = np.asarray(distribution.sf(hits - 1.0) if sign > 0 else distribution.cdf(hits))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p = np.log(p)
        possible = (hits >= 0.0) & (hits <= trials) & (0.0 < share < 1.0)
        odds = share / (1.0 - share) if share < 1.0 else np.inf
        up = (trials - hits) / (hits + 1.0) * odds
        down = hits / ((trials - hits + 1.0) * odds)
        bound = distribution.logpmf(hits) - np.log1p(-(up if sign > 0 else down))
    return p, np.asarray(np.where((p < 1e-290) & possible, bound, log_p))


def normal_tail(
    hits: Any, mean: Any, deviation: Any, sign: int, half: Any
) -> tuple[Floats, Floats]:
    """Upper or lower normal tail from half a step before `hits`, and its logarithm."""
    z = sign * (mean - hits) / deviation + half / deviation
    return np.asarray(ndtr(z)), np.asarray(log_ndtr(z))


def log_rarity(log_expected: float, hits: Integers) -> Floats:
    """Bound of the log probability of more positives among some items than given numbers.

    ``P(H > k) <= e**(k + 1) / (k + 1)!`` with e expected positives: the items of any set of k + 1
    are all positive with at most the probability ``(m / n)**(k + 1)``, and Boole's inequality.
    """
    return np.asarray((hits + 1.0) * log_expected - gammaln(hits + 2.0))
