"""The transform of a sum of weights: of independent hits, given their number.

If no increment depends on other hits, the hits of the blocks are independent binomials given their
total. Under a tilt, with chances p_b for which the mean total is m,

    E exp((theta + i tau) S) / E exp(theta S)
        = sum_phi exp(i phi m) prod_b (1 + p_b (exp(i (tau w_b - phi)) - 1))**n_b / P(m) / N,

over N angles around the circle: the number of hits modulo N. A term is of the size
``exp(-sum_b v_b (1 - cos(tau w_b - phi)))`` at most, with v_b the variance of the hits in a block,
and the sum of the cosines is the real part of ``exp(-i phi) sum_b v_b exp(i tau w_b)``. So the
angles that matter are known beforehand, and nodes at which none does. The cost does not depend on
the number of hits. See "Sums of weights" in doc/theory.rst.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from sklearn_rankinf._engine.inversion.bands import hits_at_odds, products_of_pass
from sklearn_rankinf._statistics import (
    Complexes,
    Floats,
    Increments,
    Integers,
    log_probability_of_hits,
)


@dataclass(frozen=True)
class SumSettings:
    """Which angles matter, and what they cost."""

    # Sizes of blocks up to which their factors are multiplied; logarithms of others are added.
    multiplied: int = 31
    # Products of a pass that take as long as a factor, and as a logarithm, at an angle.
    work_of_factor: float = 3.0
    work_of_logarithm: float = 30.0
    # Terms below exp(-log_left_out) are left out, and aliases of the number of hits.
    log_left_out: float = 45.0
    deviations: float = 12.0
    hits: float = 60.0
    # Angles that matter, typically; and blocks times angles of one array.
    typical_angles: float = 45.0
    at_once: int = 1 << 19
    # Range of the logarithms of odds within which exponentials are safe.
    log_range: float = 300.0
    # Error of the total at the chances of a tilt, in hits.
    error_of_total: float = 0.01


SETTINGS = SumSettings()


class TiltedSum:
    """The hits of a sum of weights under a tilt.

    Attributes
    ----------
    log_mgf : float
        ``log E exp(theta S)``.
    n_angles : int
        Number of angles around the circle.
    angles : ndarray
        Those that matter, around that of the largest term.
    """

    def __init__(self, increments: Increments, n_positives: int, theta: float) -> None:
        sizes, weights = increments.sizes.astype(float), increments.linear
        n, m = increments.n_samples, n_positives
        even, log_odds = np.full((1, 1), logit(m / n)), theta * weights[None]
        enough = SETTINGS.error_of_total
        shift = hits_at_odds(sizes, m, log_odds, even, enough)[1]
        self._chances = expit(log_odds + shift)[0]
        self._sizes, self._weights, self._m = sizes, weights, m
        self._variances = sizes * self._chances * (1.0 - self._chances)
        self._by_bits = _blocks_by_bits(increments.sizes)
        self._large = np.flatnonzero(increments.sizes > SETTINGS.multiplied)
        variance = float(self._variances.sum())
        self._least = variance - SETTINGS.log_left_out
        self.n_angles = math.ceil(SETTINGS.deviations * math.sqrt(variance) + SETTINGS.hits)
        step = 2.0 * math.pi / self.n_angles
        reach = math.acos(max(self._least / max(variance, 1e-300), -1.0))
        around = step * (np.arange(self.n_angles) - self.n_angles // 2)
        self.angles = around[np.abs(around) <= reach + 0.5 * step]
        self._log_total = float(self._log_sums(np.zeros(1), np.zeros(1))[0].real)
        moved = float(shift[0, 0] - even[0, 0])
        # Odds are those without a tilt times the exponential of this, up to the range of floats.
        gain = theta * weights + moved
        in_range = np.minimum(gain, SETTINGS.log_range)
        log_factors = np.log1p(m / n * np.expm1(in_range)) + (gain - in_range)
        tilted = float((sizes * log_factors).sum()) - moved * m
        self.log_mgf = tilted + self._log_total - log_probability_of_hits(n, m)

    @property
    def work(self) -> float:
        """Products of a pass over the blocks that take as long for one node."""
        return _work_of_angle(self._sizes.astype(np.int64)) * float(self.angles.size)

    @property
    def left_out(self) -> float:
        """Share of the transform that terms left out may have."""
        return math.exp(-SETTINGS.log_left_out) * self.n_angles

    def log_transform(self, z: Complexes) -> Complexes:
        """Log transforms at nodes of the contour through the tilt."""
        heights = z.imag
        typical = np.exp(1j * np.multiply.outer(heights, self._weights)) @ self._variances
        logs = np.full(z.shape, self.log_mgf - SETTINGS.log_left_out, dtype=complex)
        matter = np.flatnonzero(np.abs(typical) > self._least)
        at_once = max(1, SETTINGS.at_once // (self._sizes.size * self.angles.size))
        for first in range(0, matter.size, at_once):
            some = matter[first : first + at_once]
            sums = self._log_sums(heights[some], np.angle(typical[some]))
            logs[some] = sums + (self.log_mgf - self._log_total)
        return logs

    def _log_sums(self, heights: Floats, largest: Floats) -> Complexes:
        """Logs of the sums over the angles around the largest term of each node."""
        angles = np.add.outer(largest, self.angles)
        terms = np.exp(1j * self._m * angles)
        turned = np.exp(-1j * angles)
        for power, blocks in self._by_bits:
            p = self._chances[blocks]
            of_hits = p * np.exp(1j * np.multiply.outer(heights, self._weights[blocks]))
            factors = turned[:, :, None] * of_hits[:, None]
            factors += 1.0 - p
            terms *= np.multiply.reduce(factors, axis=2) ** power
        if self._large.size:
            p, sizes = self._chances[self._large], self._sizes[self._large]
            turns = np.multiply.outer(heights, self._weights[self._large])
            half = 0.5 * (turns[:, None] - angles[:, :, None])
            sine = np.sin(half)
            squares = sine * sine
            imag = np.arctan2(2.0 * p * sine * np.cos(half), 1.0 - 2.0 * p * squares) @ sizes
            real = 0.5 * (np.log1p(-4.0 * p * (1.0 - p) * squares) @ sizes)
            terms *= np.exp(real + 1j * imag)
        sums = terms.sum(axis=1) / self.n_angles
        floor = math.exp(-SETTINGS.log_left_out) / self.n_angles
        return np.asarray(np.log(np.where(np.abs(sums) > floor, sums, floor)))


def _blocks_by_bits(sizes: Integers) -> list[tuple[int, Integers]]:
    """Powers of two, and the blocks whose size is a sum of powers with this one among them."""
    powers = [1 << bit for bit in range(SETTINGS.multiplied.bit_length())]
    small = np.where(sizes <= SETTINGS.multiplied, sizes, 0)
    found = [(power, np.flatnonzero(small & power)) for power in powers]
    return [(power, blocks) for power, blocks in found if blocks.size]


def _work_of_angle(sizes: Integers) -> float:
    """Products of a pass that take as long as all blocks at an angle."""
    n_factors = sum(blocks.size for _, blocks in _blocks_by_bits(sizes))
    n_logarithms = np.count_nonzero(sizes > SETTINGS.multiplied)
    return SETTINGS.work_of_factor * n_factors + SETTINGS.work_of_logarithm * n_logarithms


def is_quick_sum(increments: Increments, n_positives: int) -> bool:
    """Whether blocks are those of a sum of weights, of which a pass would take longer."""
    if not increments.is_linear:
        return False
    work = SETTINGS.typical_angles * _work_of_angle(increments.sizes)
    return work < products_of_pass(increments.sizes, n_positives)
