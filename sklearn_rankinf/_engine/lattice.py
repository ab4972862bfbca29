"""The whole law of a statistic on a value lattice.

The forward pass carries a histogram of the sum so far for every number of hits. An increment that
falls between two cells is split between them so that the mean is kept; what passes the top is
absorbed. Only positive terms are added, so the tail keeps its relative precision. It serves laws
that are too coarse for contour inversion: few positives in a long list, where single top ranks make
visible atoms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from sklearn_rankinf._engine.chain import Bands, binomial_log_weights, feasible_bands
from sklearn_rankinf._engine.statistics import Floats, Increments


@dataclass(frozen=True, eq=False)
class LatticeLaw:
    """Distribution function of a statistic at the edges between the cells of a lattice.

    Attributes
    ----------
    edges : ndarray of shape (n_cells + 1,)
        Ascending values; the cell centres lie half way between them.
    below : ndarray of shape (n_cells + 1,)
        Probability below each edge.
    above : ndarray of shape (n_cells + 1,)
        Probability above each edge, summed from the top.
    """

    edges: Floats
    below: Floats
    above: Floats

    def tail(self, s: Floats, sign: int) -> Floats:
        """``P(S >= s)`` (sign 1) or ``P(S <= s)`` (sign -1), linear between edges."""
        return np.interp(s, self.edges, self.above if sign > 0 else self.below)


def lattice_law(
    increments: Increments,
    n_positives: int,
    top: float,
    n_cells: int,
    bands: Bands | None = None,
) -> LatticeLaw:
    """Law of the statistic on `n_cells` cells from 0 to `top`, with the rest absorbed above.

    Paths outside `bands` are left out.
    """
    feasible = feasible_bands(increments, n_positives)
    bands = feasible if bands is None else bands.intersection(feasible)
    width = top / n_cells
    n, p = increments.n_samples, n_positives / increments.n_samples
    ends = np.cumsum(increments.sizes)
    log_total = binom.logpmf(n_positives, n, p)
    state = np.zeros((1, n_cells))
    state[0, 0] = 1.0
    first, absorbed = 0, 0.0
    for block in range(increments.sizes.size):
        low, high = int(bands.low[block]), int(bands.high[block])
        after = np.zeros((high - low + 1, n_cells))
        lost = np.zeros(high - low + 1)
        size = int(increments.sizes[block])
        weights = np.exp(binomial_log_weights(size, min(size, n_positives), p))
        tails = np.zeros((state.shape[0], n_cells + 1))
        tails[:, :-1] = np.cumsum(state[:, ::-1], axis=1)[:, ::-1]
        for row, histogram in enumerate(state):
            h = first + row
            for y in range(max(0, low - h), min(int(bands.most[block]), high - h) + 1):
                gain = increments.gain(block, h, y)
                target = h + y - low
                lost[target] += _add_shifted(
                    after[target], weights[y], histogram, tails[row], gain / width
                )
        # The weights are those of independent labels: what is absorbed still has to end at m hits.
        rest = binom.logpmf(n_positives - np.arange(low, high + 1), n - int(ends[block]), p)
        absorbed += float(np.sum(lost * np.exp(rest - log_total)))
        state, first = after, low
    mass = state[n_positives - first] * np.exp(-log_total)
    edges = (np.arange(n_cells + 1) - 0.5) * width
    below = np.concatenate([[0.0], np.cumsum(mass)])
    above = np.concatenate([np.cumsum(mass[::-1])[::-1], [0.0]]) + absorbed
    return LatticeLaw(edges.astype(float), below, above)


def _add_shifted(
    target: NDArray[np.float64],
    weight: float,
    histogram: NDArray[np.float64],
    tails: NDArray[np.float64],
    shift: float,
) -> float:
    """Add a histogram moved up by a fractional number of cells; return what passed the top.

    `tails` are the sums of the histogram from each cell on.
    """
    n_cells = histogram.size
    whole = int(shift)
    if whole >= n_cells:
        return weight * float(tails[0])
    part = shift - whole
    target[whole:] += (weight * (1.0 - part)) * histogram[: n_cells - whole]
    passed = (1.0 - part) * tails[n_cells - whole]
    if part:
        target[whole + 1 :] += (weight * part) * histogram[: n_cells - whole - 1]
        passed += part * tails[n_cells - whole - 1]
    return weight * float(passed)
