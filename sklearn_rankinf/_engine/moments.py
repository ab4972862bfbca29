"""Exact moments of additive rank statistics under random labelling.

A statistic that is quadratic in the hits is ``sum_i w_i z_i + sum_{i<j} v_ij z_i z_j`` in the
labels ``z``. Split ``v`` into its level, its row effects and a rest whose rows sum to zero: what
is left of the statistic is a linear and a degenerate part, which are uncorrelated in a sample drawn
without replacement. The variance is a sum of two squares, the higher cumulants are sums over small
graphs, and nothing cancels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sklearn_rankinf._engine.statistics import (
    Floats,
    Increments,
    Integers,
    Statistic,
    harmonic,
    harmonic_squares,
    increments_of,
)

# Beyond so many ranks without ties the far ones are merged for the third and fourth moments: the
# first ranks stay alone, the others make blocks of this width relative to their rank.
_MANY_RANKS, _RANKS_ALONE, _RELATIVE_WIDTH = 100_000, 10_000, 0.005
# Heights at which a return of the transform is looked at.
_ABOUT_A_RETURN = 5


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

    def row_sums(self) -> tuple[Floats, Floats, Floats]:
        """``sum_j R_ij**r`` for the items of each block, for r = 2, 3 and 4."""
        earlier = [_before(self.sizes * power) for power in _powers(-self.row)]
        later = [_behind(self.sizes * power) for power in _powers(self.outer)]
        outer, row, inner = (_powers(x) for x in (self.outer, -self.row, self.inner))

        def of_power(r: int) -> Floats:
            total = (self.sizes - 1.0) * inner[r]
            for i in range(r + 1):
                total += math.comb(r, i) * (earlier[i] * outer[r - i] + row[i] * later[r - i])
            return np.asarray(total)

        return of_power(2), of_power(3), of_power(4)

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
    """What a hit in each block is worth more than one anywhere, given the mean hits elsewhere.

    These are the coefficients of Hajek's projection of the statistic on the hits of single items.
    """
    return _parts(increments, n_positives).linear


def log_size_at_return(increments: Increments, n_positives: int, block: int) -> float:
    """Log size of the transform of all other blocks about where that of a block's hits returns.

    A hit in the block instead of one elsewhere, in the median item, adds a step: the transform of
    the block's hits has the period ``2 pi / step``. The others, with binomial numbers of hits, have
    the product over their items of ``|q + p exp(i t w)|``, which may be 1 nearly, and is nothing
    where they are many and smooth.
    """
    worth, sizes = influences(increments, n_positives), increments.sizes.astype(float)
    n, p = increments.n_samples, n_positives / increments.n_samples
    others = np.arange(sizes.size) != block
    order = np.argsort(worth[others], kind="stable")
    up_to = np.cumsum(sizes[others][order])
    typical = worth[others][order][np.searchsorted(up_to, 0.5 * up_to[-1])]
    step = abs(float(worth[block] - typical))
    varies = sizes[block] * p * (1.0 - p) * (1.0 - sizes[block] / n)
    if step == 0.0 or varies == 0.0:
        return -math.inf
    # It is no narrower than one over the standard deviation of the block's hits.
    heights = (2.0 * np.pi + np.linspace(-1.0, 1.0, _ABOUT_A_RETURN) / math.sqrt(varies)) / step
    away = 1.0 - np.cos(np.multiply.outer(heights, worth[others] - typical))
    squares = np.maximum(1.0 - 2.0 * p * (1.0 - p) * away, np.finfo(float).tiny)
    logs = 0.5 * np.log(squares) @ sizes[others]
    return float(logs.max())


def adds_most_above(increments: Increments, n_positives: int) -> bool:
    """Whether the hits that stand out most add more than others, and not less."""
    worth = influences(increments, n_positives)
    return bool(worth.max() >= -worth.min())


def deviation_of_the_body(increments: Increments, n_positives: int) -> float:
    """Standard deviation without the hits far up the list, of which half a hit is expected."""
    ranks = 0.5 * increments.n_samples / n_positives
    counted = np.where(increments.starts + increments.sizes > ranks, 1.0, 0.0)
    body = Increments(
        increments.sizes,
        increments.cross * counted,
        increments.linear * counted,
        increments.square * counted,
    )
    return float(np.sqrt(mean_and_variance(body, n_positives)[1]))


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
        variance += _degenerate_factor(n, m) * _degenerate_sum_of_squares(parts)
    return mean, variance


def _degenerate_sum_of_squares(parts: _Parts) -> float:
    """``sum_{i<j} R_ij**2`` block by block, from running means of the row effects."""
    g = parts.sizes
    n_up_to = np.cumsum(g)
    before = n_up_to - g
    total_up_to = np.cumsum(g * parts.row)
    mean_before = np.zeros_like(g)
    mean_before[1:] = total_up_to[:-1] / n_up_to[:-1]
    # The spread over the items before a block grows block by block by non-negative terms.
    growth = g * before / n_up_to * (parts.row - mean_before) ** 2
    spread_before = np.cumsum(growth) - growth
    per_item = before * (parts.outer - mean_before) ** 2 + spread_before
    return float(np.sum(g * (per_item + (g - 1.0) / 2.0 * parts.inner**2)))


def _degenerate_factor(n: int, m: int) -> float:
    return m * (m - 1) / (n * (n - 1)) * ((n - m) * (n - m - 1) / ((n - 2) * (n - 3)))


def skewness_and_kurtosis(
    statistic: Statistic, n_samples: int, n_positives: int, tie_sizes: Integers | None
) -> tuple[float, float]:
    """Skewness and excess kurtosis of a statistic that varies, O(blocks), or O(log n) without ties.

    Merging far ranks neglects what varies inside a block, of the order of the squared width of the
    blocks. Halving every block divides that by four, so that it can be taken out; what remains was
    below 2e-10 of either number, and below 4e-13 where one is nearly 0, wherever it was compared
    with all ranks, from n = 1e5 to 3e6.
    """
    horizon = n_samples if statistic.horizon is None else min(statistic.horizon, n_samples)
    if tie_sizes is not None or horizon <= _MANY_RANKS:
        increments = increments_of(statistic, n_samples, n_positives, tie_sizes)
        return _standardized_cumulants(increments, n_positives)
    wide = _edges(horizon)
    halved = np.union1d(wide, (wide[:-1] + wide[1:]) // 2)
    coarse, fine = (
        _standardized_cumulants(
            _in_random_order(statistic, np.union1d(edges, n_samples), n_samples, n_positives),
            n_positives,
        )
        for edges in (wide, halved)
    )
    return (4.0 * fine[0] - coarse[0]) / 3.0, (4.0 * fine[1] - coarse[1]) / 3.0


def _edges(n_ranks: int) -> Integers:
    """Ends of blocks that are one rank each at the top, and even and ever wider behind."""
    edges = list(range(_RANKS_ALONE + 1))
    while edges[-1] < n_ranks:
        edges.append(min(n_ranks, edges[-1] + 2 * int(_RELATIVE_WIDTH / 2.0 * edges[-1])))
    return np.asarray(edges, dtype=np.int64)


def _in_random_order(
    statistic: Statistic, edges: Integers, n_samples: int, n_positives: int
) -> Increments:
    """Coefficients of the expected increments of blocks between these ranks."""
    sizes = np.diff(edges)
    shuffled = statistic.shuffled(edges[:-1], sizes, n_samples, n_positives)
    # A hit alone counts itself; in random order that is no different.
    return Increments(sizes, shuffled.cross, shuffled.linear, shuffled.square)


def _standardized_cumulants(increments: Increments, n_positives: int) -> tuple[float, float]:
    """Skewness and excess kurtosis, in time proportional to the number of blocks.

    Labels drawn independently, each a hit with probability p, have the cumulants ``s = p (1-p)``,
    ``s d`` with ``d = 1 - 2 p``, and ``s (1 - 6 s)``; a form in them has cumulants that are sums
    over connected graphs, and polynomials in p. Drawing without replacement turns ``s**a`` into
    ``even[a]``, the probability that a given items are hits and a others misses, and ``s**a d``
    into ``odd[a]``. As fractions their small differences are exact.
    """
    n, m = increments.n_samples, n_positives
    parts = _parts(increments, m)
    g, linear = parts.sizes, parts.linear
    even = [_hits_and_misses(n, m, a, 0) for a in range(5)]
    odd = [_hits_and_misses(n, m, a, 1) for a in range(4)]
    row_sums = parts.row_sums()
    squares, cubes, _ = row_sums
    walks = parts.walks(squares)
    variance = float(np.sum(g * (float(even[1]) * linear**2 + float(even[2]) / 2.0 * squares)))
    third = (
        odd[1] * float(np.sum(g * linear**3))
        + 3 * even[2] * float(np.sum(g * linear * parts.applied_to(linear)))
        + 3 * odd[2] * float(np.sum(g * linear * squares))
        + (even[2] - 4 * even[3]) / 2 * float(np.sum(g * cubes))
        + even[3] * walks[0]
    )
    fourth = _fourth_cumulant(parts, even, odd, row_sums, walks)
    return third / variance**1.5, fourth / variance**2


def _fourth_cumulant(
    parts: _Parts,
    even: list[Fraction],
    odd: list[Fraction],
    row_sums: tuple[Floats, Floats, Floats],
    walks: tuple[float, float, float, float],
) -> float:
    g, linear, applied = parts.sizes, parts.linear, parts.applied_to(parts.linear)
    squares, cubes, fourths = row_sums
    _, pointed, doubled, cycles = walks

    def total(x: Floats) -> float:
        return float(np.sum(g * x))

    first, second = total(linear**2), total(squares) / 2.0
    return (
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
        # The variance squares otherwise for labels drawn without replacement.
        + 3 * (even[2] - even[1] ** 2) * first**2
        + 6 * (even[3] - even[1] * even[2]) * first * second
        + 3 * (even[4] - even[2] ** 2) * second**2
    )


def _hits_and_misses(n: int, m: int, a: int, excess: int) -> Fraction:
    """Probability that a given items are hits and a others misses, of n items and m hits.

    With an excess of 1, the difference of the probabilities that one more item is a miss, or a hit.
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


def linear_mean_and_variance(
    weights: Floats, sizes: Floats, n_positives: int
) -> tuple[Floats, Floats]:
    """Exact mean and variance of a sum of item weights over the hits, along the last axis.

    Parameters
    ----------
    weights : ndarray of shape (..., n_blocks)
        What a hit in each block adds.
    sizes : ndarray of shape (..., n_blocks)
        Numbers of items, which may be 0.
    n_positives : int
        Number of hits.
    """
    n, m = sizes.sum(axis=-1), float(n_positives)
    average = (sizes * weights).sum(axis=-1) / n
    squares = (sizes * (weights - average[..., None]) ** 2).sum(axis=-1)
    varies = (sizes > 0.0).sum(axis=-1) > 1
    variance = m * (n - m) / np.maximum(n * (n - 1.0), 1.0) * squares
    return m * average, np.where(varies, variance, 0.0)


def linear_standardized_moment(
    weights: Floats, sizes: Floats, n_positives: int, order: int
) -> Floats:
    """Third or fourth central moment of a sum of item weights, over its standard deviation's power.

    With c the weights less their mean [1]_, the third central moment is

        m (n-m) (n-2m) / (n (n-1) (n-2)) sum c^3,

    and the fourth

        m (n-m) / (n (n-1) (n-2) (n-3))
            {[n (n+1) - 6 m (n-m)] sum c^4 + 3 (m-1) (n-m-1) (sum c^2)^2}.

    References
    ----------
    .. [1] Isserlis, L. (1931). On the moment distributions of moments in the case of samples drawn
       from a limited universe. Proceedings of the Royal Society A, 132, 586-604.
    """
    n, m = sizes.sum(axis=-1), float(n_positives)
    centred = weights - ((sizes * weights).sum(axis=-1) / n)[..., None]
    second, third, fourth = ((sizes * centred**power).sum(axis=-1) for power in (2, 3, 4))
    scale = m * (n - m) / np.maximum(n * (n - 1.0), 1.0)
    _, variance = linear_mean_and_variance(weights, sizes, n_positives)
    with np.errstate(divide="ignore", invalid="ignore"):
        if order == 3:
            # Two items: either is the hit, and the third moment is 0.
            moment = np.where(n > 2.0, scale * (n - 2.0 * m) / (n - 2.0) * third, 0.0)
        else:
            both = (n * (n + 1.0) - 6.0 * m * (n - m)) * fourth
            both = both + 3.0 * (m - 1.0) * (n - m - 1.0) * second**2
            # One hit, or one miss, is an item drawn at random.
            moment = np.where(
                (m == 1.0) | (m == n - 1.0), fourth / n, scale * both / ((n - 2.0) * (n - 3.0))
            )
        return np.asarray(np.where(variance > 0.0, moment / variance ** (order / 2.0), np.nan))
