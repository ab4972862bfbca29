"""Exact moments of additive rank statistics by chance.

"Exact moments" in doc/theory.rst. A statistic that is quadratic in the hits is
``sum_i w_i z_i + sum_{i<j} v_ij z_i z_j`` in the labels z. As in Hoeffding's decomposition, v is
split into its level, row effects and a remainder R whose rows sum to zero. The linear part and the
remainder are uncorrelated for labels drawn without replacement, so the variance is a sum of two
sums of squares (equation variance), the higher cumulants are sums over connected graphs (equation
third-cumulant), and nothing cancels. An entry of R is a function of the earlier block plus a
function of the later one, so all sums are running sums over the blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, zeta

from sklearn_rankinf._statistics.increments import Floats, Increments

# Heights at which a transform is evaluated around its return.
_HEIGHTS_OF_A_RETURN = 5


def harmonic(t: ArrayLike) -> Floats:
    """Harmonic number ``H_t = sum_{i<=t} 1/i``, elementwise and O(1) in t."""
    return np.asarray(digamma(np.asarray(t, dtype=float) + 1.0) + np.euler_gamma)


def harmonic_squares(t: ArrayLike) -> Floats:
    """``sum_{i<=t} 1/i**2``, elementwise and O(1) in t."""
    return np.asarray(zeta(2.0, 1.0) - zeta(2.0, np.asarray(t, dtype=float) + 1.0))


def harmonic_between(a: ArrayLike, b: ArrayLike) -> Floats:
    """``sum_{a<i<=b} 1/i`` without the cancellation of ``H_b - H_a`` at far ranks.

    From rank 100 on, the differences of the terms of
    ``H_t = log t + gamma + 1/(2t) - 1/(12 t^2) + 1/(120 t^4) - ...`` are formed one by one.
    """
    a, b = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(b, dtype=float))
    far = a >= 100.0
    low, high = np.where(far, a, 100.0), np.where(far, b, 100.0)
    width = high - low
    difference = (
        np.log1p(width / low)
        - width / (2.0 * low * high)
        + width * (high + low) / (12.0 * low**2 * high**2)
        - (low**-4.0 - high**-4.0) / 120.0
    )
    return np.where(far, difference, harmonic(b) - harmonic(a))


@dataclass(frozen=True, eq=False)
class _Parts:
    """The statistic less its mean, ``sum_i linear_i z_i + sum_{i<j} R_ij z_i z_j``, by blocks.

    ``R_ij = outer_j - row_i`` where i is in an earlier block than j, ``inner`` in the same block.
    The linear coefficients sum to zero, and so does every row of R, the diagonal being zero.
    """

    sizes: Floats
    linear: Floats
    row: Floats
    outer: Floats
    inner: Floats

    def applied_to(self, x: Floats) -> Floats:
        """``(R x)_i`` for the items of each block."""
        g = self.sizes
        earlier = self.outer * _before(g * x) - _before(g * x * self.row)
        later = _behind(g * x * self.outer) - self.row * _behind(g * x)
        return np.asarray(earlier + (g - 1.0) * self.inner * x + later)

    def row_sums(self, r: int) -> Floats:
        """``sum_j R_ij**r`` for the items of each block."""
        outer, row = _powers(self.outer), _powers(-self.row)
        total = (self.sizes - 1.0) * _powers(self.inner)[r]
        for i in range(r + 1):
            earlier, later = _before(self.sizes * row[i]), _behind(self.sizes * outer[r - i])
            total += math.comb(r, i) * (earlier * outer[r - i] + row[i] * later)
        return np.asarray(total)

    def squared_form(self) -> float:
        """``sum_ij l_i R_ij**2 l_j`` with the linear coefficients l."""
        x = self.sizes * self.linear
        of_earlier = self.outer * (self.outer * _before(x) - 2.0 * _before(x * self.row))
        of_earlier += _before(x * self.row**2)
        same = (self.sizes - 1.0) * self.inner**2 * self.linear
        return float(np.sum(x * (2.0 * of_earlier + same)))

    def walks(self, squares: Floats) -> tuple[float, float, float, float]:
        """Sums over closed walks, given the row sums of ``R_ij**2``.

        They are ``tr R^3``, ``sum_i l_i (R^3)_ii``, ``sum_ij R_ij^2 (R^2)_ij`` and ``tr R^4``. As
        the rows sum to zero, ``(R^2)_ij = head_j + slope_j row_i - tail_i`` for i before j.
        """
        g, row, outer, inner = self.sizes, self.row, self.outer, self.inner
        rows, both = np.cumsum(g * row), np.cumsum(g * outer * row)
        others = (g - 1.0) * inner
        tail = outer * _before(g * row) - _before(g * row**2) + others * row - both + row * rows
        behind = _behind(g * outer)
        slope = _before(g * row) - others + outer * (_behind(g) + g) - behind + row * _behind(g)
        head = _behind(g * outer**2) - _before(g * outer * row) + others * outer
        head -= outer * (behind + g * outer) + row * behind

        def weighted(weight: Floats) -> Floats:
            """``sum_i weight_i (R^2)_ij`` over the blocks i before each block j."""
            flat, sloped = _before(weight), _before(weight * row)
            return np.asarray(head * flat + slope * sloped - _before(weight * tail))

        flat, sloped, curved = weighted(g), weighted(g * row), weighted(g * row**2)
        once = outer * flat - sloped
        of_linear = outer * weighted(g * self.linear) - weighted(g * self.linear * row)
        twice = outer * (outer * flat - 2.0 * sloped) + curved
        fourfold = head * flat + slope * sloped - weighted(g * tail)
        same = squares - inner**2
        return (
            float(np.sum(g * (2.0 * once + others * same))),
            float(np.sum(g * (self.linear * (once + others * same) + of_linear))),
            float(np.sum(g * (2.0 * twice + others * inner * same))),
            float(np.sum(g * (2.0 * fourfold + (g - 1.0) * same**2 + squares**2))),
        )


def _before(x: Floats) -> Floats:
    return np.asarray(np.cumsum(x) - x)


def _behind(x: Floats) -> Floats:
    return np.asarray(np.cumsum(x[::-1])[::-1] - x)


def _powers(x: Floats) -> list[Floats]:
    square = x * x
    return [np.ones_like(x), x, square, square * x, square * square]


def _sum_over_pairs(increments: Increments) -> float:
    g = increments.sizes.astype(float)
    per_block = increments.starts * increments.cross + (g - 1.0) * increments.square
    return float(np.sum(g * per_block))


def _parts(increments: Increments, n_positives: int) -> _Parts:
    n, m = increments.n_samples, n_positives
    g = increments.sizes.astype(float)
    crossed = g * increments.cross
    inside = np.where(g > 1.0, 2.0 * increments.square, 0.0)
    rows = increments.cross * increments.starts + inside * (g - 1.0)
    rows += np.sum(crossed) - np.cumsum(crossed)
    row = (rows - np.sum(g * rows) / n) / (n - 2) if n > 2 else np.zeros_like(rows)
    level = _sum_over_pairs(increments) / (n * (n - 1) / 2.0)
    linear = increments.of_one_hit + (m - 1) * row
    linear -= np.sum(g * linear) / n
    inner = np.where(g > 1.0, inside - level - 2.0 * row, 0.0)
    return _Parts(g, linear, row, increments.cross - level - row, inner)


def influences(increments: Increments, n_positives: int) -> Floats:
    """Coefficients of Hajek's projection of the statistic on the hits of single items.

    The mean increase of the statistic by a hit in each block in place of a hit at a random item.
    """
    return _parts(increments, n_positives).linear


def log_size_at_return(increments: Increments, n_positives: int, block: int) -> float:
    """Log size of the transform of all other blocks near the first return of that of one block.

    A hit in the block in place of a hit in the median item adds a step w, so the transform of the
    block's hits has the period ``2 pi / w``. The transform of the others, with binomial numbers of
    hits, is the product over their items of ``|q + p exp(i t w_i)|``. It is close to 1 if their
    steps nearly share the period, and negligible if they are many and smooth.
    """
    worth, sizes = influences(increments, n_positives), increments.sizes.astype(float)
    n, p = increments.n_samples, n_positives / increments.n_samples
    varies = sizes[block] * p * (1.0 - p) * (1.0 - sizes[block] / n)
    if varies == 0.0:
        return -math.inf
    others, of_others = np.delete(worth, block), np.delete(sizes, block)
    order = np.argsort(others, kind="stable")
    up_to = np.cumsum(of_others[order])
    typical = others[order][np.searchsorted(up_to, 0.5 * up_to[-1])]
    step = abs(float(worth[block] - typical))
    if step == 0.0:
        return -math.inf
    # The return is at least as wide as 1 over the standard deviation of the block's hits.
    around = np.linspace(-1.0, 1.0, _HEIGHTS_OF_A_RETURN) / math.sqrt(varies)
    heights = (2.0 * np.pi + around) / step
    away = 1.0 - np.cos(np.multiply.outer(heights, others - typical))
    squares = np.maximum(1.0 - 2.0 * p * (1.0 - p) * away, np.finfo(float).tiny)
    return float((0.5 * np.log(squares) @ of_others).max())


def adds_most_above(increments: Increments, n_positives: int) -> bool:
    """Whether the largest influence of a hit is positive."""
    worth = influences(increments, n_positives)
    return bool(worth.max() >= -worth.min())


def deviation_of_the_body(increments: Increments, n_positives: int) -> float:
    """Standard deviation without the first ranks, among which half a hit is expected."""
    ranks = 0.5 * increments.n_samples / n_positives
    counted = np.where(increments.starts + increments.sizes > ranks, 1.0, 0.0)
    body = Increments(increments.sizes, *(part * counted for part in increments.coefficients))
    return math.sqrt(mean_and_variance(body, n_positives)[1])


def mean_and_variance(increments: Increments, n_positives: int) -> tuple[float, float]:
    """Exact mean and variance, in time proportional to the number of blocks."""
    n, m = increments.n_samples, n_positives
    mean = m / n * float(np.sum(increments.sizes * increments.of_one_hit))
    if n > 1:
        mean += m / n * (m - 1) / (n - 1) * _sum_over_pairs(increments)
    if m in (0, n) or increments.sizes.size == 1:
        return mean, 0.0
    parts = _parts(increments, m)
    variance = m * (n - m) / (n * (n - 1)) * float(np.sum(parts.sizes * parts.linear**2))
    if n > 3 and 1 < m < n - 1:
        squares = float(np.sum(parts.sizes * parts.row_sums(2))) / 2.0
        variance += _degenerate_factor(n, m) * squares
    return mean, variance


def _degenerate_factor(n: int, m: int) -> float:
    """Factor of ``sum_{i<j} R_ij**2`` in the variance."""
    return m * (m - 1) / (n * (n - 1)) * ((n - m) * (n - m - 1) / ((n - 2) * (n - 3)))


def standardized_cumulants(increments: Increments, n_positives: int) -> tuple[float, float]:
    """Skewness and excess kurtosis, in time proportional to the number of blocks.

    Labels drawn independently, each a hit with probability p, have the cumulants ``s = p (1-p)``,
    ``s d`` with ``d = 1 - 2 p``, and ``s (1 - 6 s)``. The cumulants of a quadratic form in them are
    sums over connected graphs, and polynomials in p. Drawing without replacement replaces ``s**a``
    by ``even[a]``, the probability that a given items are hits and a others misses, and ``s**a d``
    by ``odd[a]``. As fractions their small differences are exact.
    """
    n, m = increments.n_samples, n_positives
    parts = _parts(increments, m)
    g, linear = parts.sizes, parts.linear
    even = [_hits_and_misses(n, m, a, 0) for a in range(5)]
    odd = [_hits_and_misses(n, m, a, 1) for a in range(4)]
    squares, cubes, fourths = (parts.row_sums(r) for r in (2, 3, 4))
    triangles, pointed, doubled, cycles = parts.walks(squares)
    applied = parts.applied_to(linear)

    def total(x: Floats) -> float:
        return float(np.sum(g * x))

    first, second = total(linear**2), total(squares) / 2.0
    variance = float(even[1]) * first + float(even[2]) * second
    third = (
        odd[1] * total(linear**3)
        + 3 * even[2] * total(linear * applied)
        + 3 * odd[2] * total(linear * squares)
        + (even[2] - 4 * even[3]) / 2 * total(cubes)
        + even[3] * triangles
    )
    fourth = (
        (even[1] - 6 * even[2]) * total(linear**4)
        + 12 * odd[2] * total(linear**2 * applied)
        + 6 * (even[2] - 6 * even[3]) * total(linear**2 * squares)
        + 6 * (even[2] - 4 * even[3]) * parts.squared_form()
        + 12 * even[3] * total(applied**2)
        + 4 * (odd[2] - 6 * odd[3]) * total(linear * cubes)
        + 12 * odd[3] * (total(squares * applied) + pointed)
        + (even[2] - 12 * even[3] + 36 * even[4]) / 2 * total(fourths)
        + 3 * (even[3] - 6 * even[4]) * total(squares**2)
        + 6 * (even[3] - 4 * even[4]) * doubled
        + 3 * even[4] * cycles
        # Replacement changes the square of the variance too: the differences, in exact fractions.
        + 3 * (even[2] - even[1] ** 2) * first**2
        + 6 * (even[3] - even[1] * even[2]) * first * second
        + 3 * (even[4] - even[2] ** 2) * second**2
    )
    return third / variance**1.5, fourth / variance**2


def _hits_and_misses(n: int, m: int, a: int, excess: int) -> Fraction:
    """Probability that a given items are hits and a others misses, of n items and m hits.

    With an excess of 1, times the probability that one more item is a miss less that of a hit.
    """
    if 2 * a + excess > n:
        return Fraction(0)
    probability = Fraction(math.perm(m, a) * math.perm(n - m, a), math.perm(n, 2 * a))
    return probability * Fraction(n - 2 * m, n - 2 * a) if excess else probability


def average_precision_mean_and_variance(n_samples: int, n_positives: int) -> tuple[float, float]:
    """Exact mean and variance of AP without ties, O(1) in n.

    The sums of `mean_and_variance` in closed form: with ``D_i = H_n - H_i``, ``sum D = n - H``,
    ``sum D**2 = 2n - H - H**2`` and ``sum D_i / i = (H**2 - H2) / 2``.
    """
    n, m = float(n_samples), float(n_positives)
    h, h2 = float(harmonic(n)), float(harmonic_squares(n))
    mean = (h + (m - 1.0) / (n - 1.0) * (n - h)) / n
    if n_positives == n_samples:
        return mean, 0.0
    slope = (m - 1.0) / (n - 2.0)
    own = h2 - h * h / n
    crossed = (h * h - 3.0 * h2) / 2.0 - h + 2.0 * h * h / n
    rows = n + 3.0 * h - 2.0 * h * h + 2.0 * h2 - 4.0 * h * h / n
    linear = own + 2.0 * slope * crossed + slope * slope * rows
    squares = h - h2 - 2.0 * (n - h) ** 2 / (n * (n - 1.0)) - rows / (n - 2.0)
    variance = m * (n - m) / (n * (n - 1.0)) * linear
    variance += _degenerate_factor(n_samples, n_positives) * squares
    return mean, variance / m**2


def zhang_su_mean_and_variance(n_samples: int, n_positives: int) -> tuple[float, float]:
    """The approximate mean and variance of AP of Zhang and Su, their equations (11) to (13).

    With ``mu_i = i n / m``, ``V_i = i (m-i) n (n-m) / (m^2 (m+1))`` and
    ``C_ij = i (n-m) / (m (m-1)) (n - 1 + j n / m)`` for i < j,

        mean = (1/m) sum_i i (1/mu_i + V_i/mu_i^3),
        variance = (1/m^2) [sum_i i^2 (V_i/mu_i^4 - V_i^2/mu_i^6)
                            + 2 sum_{i<j} i j C_ij / (mu_i mu_j)^2].

    The variance is reconstructed from the values that the printed equations take at (1000, 100) and
    (2000, 500), 2.647e-4 and 2.798e-4, which it gives to all digits.
    """
    n, m = float(n_samples), float(n_positives)
    h, h2 = float(harmonic(m)), float(harmonic_squares(m))
    c = (n - m) / (n * (m + 1.0))
    mean = m / n + c * m * (h - 1.0) / n
    diagonal = (c * m * (h - 1.0) - c * c * (m * m * h2 - 2.0 * m * h + m)) / n**2
    crossed = m * (n - m) / n**3 * (0.5 + (n - 1.0) * (m - h) / (n * (m - 1.0)))
    return mean, diagonal + 2.0 * crossed


def linear_moments(
    weights: Floats, sizes: Floats, n_positives: int
) -> tuple[Floats, Floats, Floats]:
    """Exact variance, skewness and excess kurtosis of a sum of item weights over the hits.

    The blocks stand in the last axis of weights and sizes, which may be 0. With c the weights less
    their mean [1]_, the second, third and fourth central moments are

        m (n-m) / (n (n-1)) sum c^2,
        m (n-m) (n-2m) / (n (n-1) (n-2)) sum c^3,
        m (n-m) / (n (n-1) (n-2) (n-3))
            {[n (n+1) - 6 m (n-m)] sum c^4 + 3 (m-1) (n-m-1) (sum c^2)^2}.

    Skewness and kurtosis are nan if the sum does not vary.

    References
    ----------
    .. [1] Isserlis, L. (1931). On the moment distributions of moments in the case of samples drawn
       from a limited universe. Proceedings of the Royal Society A, 132, 586-604.
    """
    n, m = sizes.sum(axis=-1), float(n_positives)
    centred = weights - ((sizes * weights).sum(axis=-1) / n)[..., None]
    second, third, fourth = ((sizes * centred**power).sum(axis=-1) for power in (2, 3, 4))
    scale = m * (n - m) / np.maximum(n * (n - 1.0), 1.0)
    variance = np.where((sizes > 0.0).sum(axis=-1) > 1, scale * second, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Two items: either is the hit, and the third moment is 0.
        third = np.where(n > 2.0, scale * (n - 2.0 * m) / (n - 2.0) * third, 0.0)
        both = (n * (n + 1.0) - 6.0 * m * (n - m)) * fourth
        both = both + 3.0 * (m - 1.0) * (n - m - 1.0) * second**2
        # A single hit, or a single miss, is an item drawn at random.
        fourth = np.where(
            (m == 1.0) | (m == n - 1.0), fourth / n, scale * both / ((n - 2.0) * (n - 3.0))
        )
        spread = np.where(variance > 0.0, variance, np.nan)
        return variance, third / spread**1.5, fourth / spread**2 - 3.0
