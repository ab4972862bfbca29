"""Exact moments of additive rank statistics under random labelling, in closed form.

A statistic that is quadratic in the hits is ``sum_i w_i z_i + sum_{i<j} v_ij z_i z_j`` in the
labels ``z``. Split ``v`` into its mean, its row effects and a rest whose rows sum to zero: the
linear and the degenerate part of a sample drawn without replacement are uncorrelated, so the
variance is a sum of two squares and nothing cancels.
"""

from __future__ import annotations

import numpy as np

from sklearn_rankinf._engine.statistics import Floats, Increments, harmonic, harmonic_squares


def mean_and_variance(increments: Increments, n_positives: int) -> tuple[float, float]:
    """Exact mean and variance, in time proportional to the number of blocks."""
    n, m = increments.n_samples, n_positives
    g = increments.sizes.astype(float)
    before = increments.starts.astype(float)
    alone = increments.linear + increments.square
    inside = 2.0 * increments.square
    pairs = float(np.sum(g * before * increments.cross + g * (g - 1.0) * increments.square))
    mean = m / n * float(np.sum(g * alone))
    if n > 1:
        mean += m / n * (m - 1) / (n - 1) * pairs
    if m in (0, n) or increments.sizes.size == 1:
        return mean, 0.0

    after = np.sum(g * increments.cross) - np.cumsum(g * increments.cross)
    rows = increments.cross * before + inside * (g - 1.0) + after
    row_effects = np.zeros_like(rows)
    if n > 2:
        row_effects = (rows - np.sum(g * rows) / n) / (n - 2)
    linear = alone + (m - 1) * row_effects
    linear -= np.sum(g * linear) / n
    variance = m * (n - m) / (n * (n - 1)) * float(np.sum(g * linear**2))
    if n > 3 and 1 < m < n - 1:
        level = pairs / (n * (n - 1) / 2.0)
        rest = _degenerate_sum_of_squares(increments, row_effects, level)
        variance += _degenerate_factor(n, m) * rest
    return mean, variance


def _degenerate_sum_of_squares(increments: Increments, row_effects: Floats, level: float) -> float:
    """``sum_{i<j} (v_ij - level - u_i - u_j)**2`` block by block, from running means of u."""
    g = increments.sizes.astype(float)
    n_up_to = np.cumsum(g)
    before = n_up_to - g
    total_up_to = np.cumsum(g * row_effects)
    mean_before = np.zeros_like(row_effects)
    mean_before[1:] = total_up_to[:-1] / n_up_to[:-1]
    # The spread of u over the items before a block grows block by block by non-negative terms.
    growth = g * before / n_up_to * (row_effects - mean_before) ** 2
    spread_before = np.cumsum(growth) - growth
    distance = increments.cross - level - row_effects - mean_before
    within = 2.0 * increments.square - level - 2.0 * row_effects
    return float(
        np.sum(g * (before * distance**2 + spread_before)) + np.sum(g * (g - 1.0) / 2.0 * within**2)
    )


def _degenerate_factor(n: int, m: int) -> float:
    return m * (m - 1) / (n * (n - 1)) * ((n - m) * (n - m - 1) / ((n - 2) * (n - 3)))


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
