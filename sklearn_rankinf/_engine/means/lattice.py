"""Sums of independent variables on a lattice of cells, by Fourier transforms under a tilt.

The values of each variable are rounded down to multiples of the width of a cell, so that the sum
lies between the sum of the cells and that sum plus one cell for each rounding: equation
``map-bounds`` of "Sums over queries" in doc/theory.rst.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp

from sklearn_rankinf._engine.estimates import TailEstimates
from sklearn_rankinf._statistics import Floats

# Numbers that the convolutions under all tilts together keep (128 MB).
_MOST_KEPT = 1 << 24
# Rounding error of a convolution by fast Fourier transforms, relative to the tilted total.
_ROUNDING = 1e-14


class Lattice:
    """The sum of independent variables whose distributions are given in cells of a width.

    Parameters
    ----------
    parts : list of tuple
        Log probabilities of the cells of a variable, rounded down, and the number of variables with
        that distribution.
    n_cells : int
        Number of cells of the sum.
    width : float
        Width of a cell.
    n_lost : int
        The sum exceeds the sum of the rounded values by less than this many cells.
    """

    def __init__(
        self, parts: list[tuple[Floats, int]], n_cells: int, width: float, n_lost: int
    ) -> None:
        self._parts, self._n_cells, self._width, self._n_lost = parts, n_cells, width, n_lost
        self._sums: dict[float, tuple[float, Floats, Floats]] = {}

    @property
    def n_kept(self) -> float:
        """Numbers of cells and of their sums."""
        own = sum(cells.size for cells, _ in self._parts)
        return float(own + 2 * self._n_cells * len(self._sums))

    def tail(self, t: Floats, sign: int, theta: float) -> TailEstimates:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), between two tails of the cells."""
        log_scale, log_above, log_below = self._sums.get(theta) or self._tilted_sums(theta)
        log_sums = log_above if sign > 0 else log_below
        edges = t / self._width, t / self._width - self._n_lost
        if sign > 0:
            surely, possibly = (np.ceil(edge) for edge in edges)
        else:
            possibly, surely = (np.floor(edge) + 1.0 for edge in edges)
        places = np.clip(np.stack([surely, possibly]), 0, self._n_cells).astype(np.int64)
        reference = log_sums[places[1]]
        known = np.isfinite(reference)
        reference = np.where(known, reference, 0.0)
        # Rounding errors of all cells, at most, when the tilt is removed.
        log_rounding = math.log(_ROUNDING * self._n_cells)
        log_rounding = log_rounding - theta * self._width * places[1] - reference
        rounding = np.exp(np.minimum(log_rounding, 700.0))
        lower = np.exp(log_sums[places[0]] - reference) - rounding
        known &= lower > 0.0
        lower = np.where(known, lower, 1.0)
        log_p = np.log(0.5 * (lower + 1.0 + rounding)) + reference + log_scale
        return TailEstimates.of(
            np.where(known, log_p, -np.inf),
            "lattice",
            rounding=np.where(known, rounding / lower, 0.0),
            enclosure=np.where(known, 0.5 * (1.0 - rounding - lower) / lower, np.inf),
        )

    def _tilted_sums(self, theta: float) -> tuple[float, Floats, Floats]:
        """Logs of a scale and, relative to it, of the tails from each edge upwards and downwards.

        The convolution acts on cells under the tilt, which is removed afterwards.
        """
        product, log_scale = np.ones(self._n_cells // 2 + 1, dtype=complex), 0.0
        for log_cells, count in self._parts:
            tilted = log_cells + theta * self._width * np.arange(log_cells.size)
            log_total = float(logsumexp(tilted))
            product *= np.fft.rfft(np.exp(tilted - log_total), self._n_cells) ** count
            log_scale += count * log_total
        shares = np.maximum(np.fft.irfft(product, self._n_cells), 0.0)
        with np.errstate(divide="ignore"):
            logs = np.log(shares) - theta * self._width * np.arange(shares.size)
        above = np.append(np.logaddexp.accumulate(logs[::-1])[::-1], -np.inf)
        below = np.append(-np.inf, np.logaddexp.accumulate(logs))
        if 2 * self._n_cells * (len(self._sums) + 1) > _MOST_KEPT:
            self._sums.clear()
        self._sums[theta] = log_scale, above, below
        return log_scale, above, below
