"""The transform ``E exp(z S)`` of an additive rank statistic, by the forward pass of `chain`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from sklearn_rankinf._engine.bands import Bands, feasible_bands
from sklearn_rankinf._engine.chain import Complexes, binomial_log_weights
from sklearn_rankinf._engine.statistics import Floats, Increments

# The state is brought back to the middle of the range of floats after so many blocks, or as soon as
# their weights may have moved it by this much, in logarithms.
_WINDOW, _LOG_RANGE = 32, 300.0


def log_transform(
    increments: Increments, n_positives: int, z: ArrayLike, bands: Bands | None = None
) -> Complexes:
    """Natural logarithm of ``E exp(z S)`` for every node of a vector of real or complex z.

    Costs (nodes) x (rows in the bands) for each place where a hit can fall; equally spaced nodes
    are cheapest. Rows outside the bands are dropped; without bands all feasible rows are kept.
    Where a tilt is so extreme that the state leaves the range of floats the result is -inf.
    """
    walk = _Walk(increments, n_positives, np.asarray(z).ravel(), bands)
    for begin, end in walk.windows():
        if not walk.through(begin, end):
            return np.full(np.size(z), complex(-np.inf))
    return walk.log_transform()


class _Walk:
    """The forward pass: rows are hits so far, columns are nodes.

    A block of g items moves the hits up by y, with weight ``C(g,y) p^y q^(g-y) exp(z c(h,y))``. The
    weights of single items are divided by q: a miss then costs nothing.
    """

    def __init__(
        self, increments: Increments, n_positives: int, z: NDArray[Any], bands: Bands | None
    ) -> None:
        feasible = feasible_bands(increments, n_positives)
        bands = feasible if bands is None else bands.intersection(feasible)
        self._increments = increments
        self._n_positives = n_positives
        self._p = n_positives / increments.n_samples
        self._low = np.minimum.accumulate(bands.low[::-1])[::-1]
        self._high = np.maximum.accumulate(bands.high)
        self._most, self._least = bands.most, bands.least
        self._z = z if np.iscomplexobj(z) else z.astype(float)
        self._state = np.ones((1, z.size), dtype=self._z.dtype)
        self._first = 0
        self._log_scale = np.zeros(z.size)
        self._costs = self._log_range()

    def log_transform(self) -> Complexes:
        """The result, at the end of the pass."""
        total = binom.logpmf(self._n_positives, self._increments.n_samples, self._p)
        last = self._state[self._n_positives - self._first].astype(complex)
        return np.asarray(np.log(last) + self._log_scale - total)

    def windows(self) -> Iterator[tuple[int, int]]:
        """First block and last plus one of runs in which the state stays in the range of floats."""
        begin, spent = 0, 0.0
        for block, cost in enumerate(self._costs):
            if block > begin and (spent + cost > _LOG_RANGE or block - begin == _WINDOW):
                yield begin, block
                begin, spent = block, 0.0
            spent += cost
        yield begin, self._costs.size

    def _log_range(self) -> Floats:
        """Bounds, block by block, of how far the logarithms of the weights are from 0."""
        c = self._increments
        most = np.minimum(np.minimum(c.sizes, self._most), self._n_positives)
        gains = most * (np.abs(c.cross) * self._high + np.abs(c.linear) + np.abs(c.square) * most)
        odds = abs(math.log(self._p / (1.0 - self._p)))
        log_weights = np.where(c.sizes == 1, odds, c.sizes * -math.log1p(-self._p) + most * odds)
        return np.asarray(np.abs(self._z.real).max() * gains + log_weights)

    def through(self, begin: int, end: int) -> bool:
        """Walk through a window of blocks; False where the state has left the range of floats."""
        c, first = self._increments, self._first
        last = first + self._state.shape[0] - 1
        grid = np.zeros((self._high[end - 1] - first + 1, self._z.size), dtype=self._z.dtype)
        grid[: self._state.shape[0]] = self._state
        if self._costs[begin] > _LOG_RANGE:
            last, log_divisor = self._several(grid, first, first, last, begin, None)
            return self._keep(grid, first, last, end, log_divisor)
        window = slice(begin, end)
        may_hit = self._most[window] > 0
        ratios = _exponentials(self._z, c.cross[window] * may_hit)
        lows = np.concatenate([[first], self._low[begin : end - 1]])
        starts = np.maximum(lows, self._low[window] - 1)
        one_hit = (c.cross[window] * starts + c.linear[window] + c.square[window]) * may_hit
        heads = _exponentials(self._z, one_hit) * (self._p / (1.0 - self._p))
        weights = np.empty_like(grid)
        log_divisor = 0.0
        for block in range(begin, end):
            i = block - begin
            if c.sizes[block] > 1:
                last, log_step = self._several(grid, first, int(lows[i]), last, block, ratios[i])
                log_divisor += log_step
                continue
            log_divisor += math.log1p(-self._p)
            start, stop = int(starts[i]), min(last, int(self._high[block]) - 1)
            if stop < start or self._most[block] == 0:
                continue
            moved = _powers(heads[i], ratios[i], weights[: stop - start + 1])
            moved *= grid[start - first : stop - first + 1]
            grid[start + 1 - first : stop + 2 - first] += moved
            last = max(last, stop + 1)
        return self._keep(grid, first, last, end, log_divisor)

    def _several(
        self,
        grid: NDArray[Any],
        first: int,
        lowest: int,
        last: int,
        block: int,
        ratio: NDArray[Any] | None,
    ) -> tuple[int, float]:
        """Any block, in place; returns the last row and the logarithm of a divisor.

        Without the ratio, ``exp(z cross)``, its weights may leave the range of floats.
        """
        c, z, high = self._increments, self._z, int(self._high[block])
        low, size = int(self._low[block]), int(c.sizes[block])
        fewest = max(int(self._least[block]), low - last)
        ys = np.arange(fewest, min(int(self._most[block]), high - lowest, size) + 1)
        log_weights = binomial_log_weights(size, min(size, self._n_positives), self._p)[ys]
        own = ys * (c.linear[block] + c.square[block] * ys)
        slopes = ys * c.cross[block]
        before = grid[lowest - first : last - first + 1].copy()
        after = grid[low - first : high - first + 1]
        grid[lowest - first : last - first + 1] = 0.0
        reference = 0.0
        if ratio is None:
            rows = np.array([np.maximum(lowest, low - ys), np.minimum(last, high - ys)])
            exponents = log_weights + z.real.max() * (own + slopes * rows)
            reference = float(exponents[:, rows[0] <= rows[1]].max())
        else:
            heads = np.exp(log_weights)[:, None] * _exponentials(z, own)
            # exp(z cross h) for every row, where there may be a hit
            powers = np.ones_like(before)
            if ys[-1] and c.cross[block]:
                _powers(np.exp(z * (c.cross[block] * lowest)), ratio, powers)
                before *= powers ** int(ys[0])
        for i, y in enumerate(ys):
            start, stop = max(lowest, low - int(y)), min(last, high - int(y))
            if start <= stop:
                rows_before = before[start - lowest : stop - lowest + 1]
                target = after[start + y - low : stop + y - low + 1]
                if ratio is None:
                    h = np.arange(start, stop + 1)
                    gains = np.outer(own[i] + slopes[i] * h, z)
                    target += np.exp(log_weights[i] - reference + gains) * rows_before
                else:
                    target += heads[i] * rows_before
            if ratio is not None and y != ys[-1]:
                before *= powers
        return min(high, last + int(ys[-1])), reference

    def _keep(
        self, grid: NDArray[Any], first: int, last: int, end: int, log_divisor: float
    ) -> bool:
        """Keep the rows that matter, near 1; False where they have left the range of floats."""
        lowest = int(self._low[end - 1])
        self._state, self._first = grid[lowest - first : last - first + 1], lowest
        size = np.abs(self._state).max(axis=0)
        if not (size.min() > 1e-290 and size.max() < 1e290):
            return False
        # Powers of two cost no rounding.
        shift = np.exp2(np.floor(np.log2(size)))
        self._state = self._state / shift
        self._log_scale += np.log(shift) + log_divisor
        return True


def _exponentials(z: NDArray[Any], factors: Floats) -> NDArray[Any]:
    """``exp(factors[:, None] * z)``: for equally spaced nodes by products alone."""
    if z.size < 8 or np.any(np.abs(np.diff(z, 2)) > 1e-12 * np.abs(z[-1] - z[0])):
        return np.asarray(np.exp(np.outer(factors, z)))
    rows = np.empty((z.size, factors.size), dtype=z.dtype)
    _powers(np.exp(z[0] * factors), np.exp((z[-1] - z[0]) / (z.size - 1) * factors), rows)
    return np.ascontiguousarray(rows.T)


def _powers(head: NDArray[Any], ratio: NDArray[Any], out: NDArray[Any]) -> NDArray[Any]:
    """Rows ``head * ratio**i``, by doubling: a product each."""
    n_rows = out.shape[0]
    out[0] = head
    filled = 1
    while filled < n_rows:
        take = min(filled, n_rows - filled)
        np.multiply(out[:take], ratio, out=out[filled : filled + take])
        filled += take
        if filled < n_rows:
            ratio = ratio * ratio
    return out
