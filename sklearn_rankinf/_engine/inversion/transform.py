"""The transform ``E exp(z S)`` of an additive rank statistic, by the forward pass of `chain`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import fft, ifft, next_fast_len

from sklearn_rankinf._engine.exact.enumeration import (
    binomial_log_weights,
    log_probability_of_hits,
)
from sklearn_rankinf._engine.inversion.bands import Bands, feasible_bands
from sklearn_rankinf._engine.statistics import Complexes, Floats, Increments

# The state is brought back to the middle of the range of floats after so many blocks, or as soon as
# their weights may have moved it by this much, in logarithms.
_WINDOW, _LOG_RANGE = 32, 300.0
# Weights of up to so many rows, a power of two, are computed for all blocks of a window at once, if
# they are not more than that.
_ROWS_TOGETHER, _CACHED = 16, 32_000
# Blocks of at least so many hits, and so many products of rows and hits, are convolved by Fourier
# transforms, in parts small enough that no factor exceeds exp(_LARGEST_EXPONENT_OF_FFT): rounding
# errors, relative to the largest row, grow by that factor. Numbers transformed at once.
_LEAST_HITS_OF_FFT, _LEAST_PRODUCTS_OF_FFT, _LARGEST_EXPONENT_OF_FFT = 48, 16_000, 8.0
_FFT_AT_ONCE = 1 << 20


def log_transform(
    increments: Increments,
    n_positives: int,
    z: ArrayLike,
    bands: Bands | None = None,
    balance: Floats | None = None,
) -> Complexes:
    """Natural logarithm of ``E exp(z S)`` for every node of a vector of real or complex z.

    Costs (nodes) x (rows in the bands) for each place where a hit can fall; equally spaced nodes
    are cheapest. Rows outside the bands are dropped; without bands all feasible rows are kept.
    Under a strong tilt a row that will matter may be far below another in the middle of the pass:
    rows are kept in the range of floats by counting each hit so far ``exp(balance)`` times, block
    by block (rows of `balance`) and for all nodes or each (columns). Where a tilt is so extreme
    that the state leaves the range nevertheless the result is -inf.
    """
    if balance is None:
        balance = np.zeros((increments.sizes.size, 1))
    walk = _Walk(increments, n_positives, np.asarray(z).ravel(), bands, balance)
    return np.asarray(walk.log_transforms(n_positives)[0])


def log_transforms(
    increments: Increments, fewest: int, most: int, z: ArrayLike, bands: Bands
) -> Complexes:
    """`log_transform` for each number of hits from the fewest to the most (rows)."""
    balance = np.zeros((increments.sizes.size, 1))
    walk = _Walk(increments, most, np.asarray(z).ravel(), bands, balance, fewest)
    return walk.log_transforms(fewest)


def walked_through(
    increments: Increments,
    n_positives: int,
    p: float,
    z: NDArray[Any],
    bands: Bands,
    first: int,
    logs: NDArray[Any],
) -> tuple[int, NDArray[Any]]:
    """Log weights of each number of hits so far (rows, from the first on), some blocks later.

    Hits are binomial with probability p; of all blocks, the weight of m hits over the probability
    of so many is the transform. Raises `LeftTheRangeError`.
    """
    for begin in range(0, increments.sizes.size, _WINDOW):
        some = slice(begin, begin + _WINDOW)
        blocks, paths = increments[some], bands.of(some)
        # Rows are kept level: by those that there are, or by those that there will be.
        if logs.shape[0] > 1:
            ends, apart = logs[[0, -1], 0].real, logs.shape[0] - 1
            if not np.isfinite(ends).all():
                ends = np.zeros(2)
        else:
            rows = np.array([max(0, paths.low[-1] - first), max(1, paths.high[-1] - first)])
            rows = np.minimum(rows, min(blocks.n_samples, n_positives))
            ends = binomial_log_weights(blocks.n_samples, int(rows[1]), p)[rows]
            apart = max(1, int(rows[1] - rows[0]))
        balance = np.full((blocks.sizes.size, 1), float(ends[0] - ends[-1]) / apart)
        walk = _Walk(blocks, n_positives, z, paths, balance, p=p)
        first, logs = walk.continued(first, logs)
    return first, logs


class LeftTheRangeError(Exception):
    """Under a tilt that is so extreme the state leaves the range of floats."""


class _Walk:
    """The forward pass: rows are hits so far, columns are nodes.

    A block of g items moves the hits up by y, with weight ``C(g,y) p^y q^(g-y) exp(z c(h,y))``. The
    weights of single items are divided by q: a miss then costs nothing. Row h of the state is what
    belongs there times ``exp(balance (h - m))``, so that the last row, m, is as it should be.
    """

    def __init__(
        self,
        increments: Increments,
        n_positives: int,
        z: NDArray[Any],
        bands: Bands | None,
        balance: Floats,
        fewest: int | None = None,
        p: float | None = None,
    ) -> None:
        if p is None:
            p = n_positives / increments.n_samples
            feasible = feasible_bands(increments, n_positives, fewest)
            bands = feasible if bands is None else bands.intersection(feasible)
        assert bands is not None
        self._increments = increments
        self._n_positives = n_positives
        self._p = p
        bands = bands.ascending()
        self._low, self._high = bands.low, bands.high
        self._most, self._least = bands.most, bands.least
        self._z = z if np.iscomplexobj(z) else z.astype(float)
        self._state = np.ones((1, z.size), dtype=self._z.dtype)
        self._first = 0
        self._log_scale = np.zeros(z.size)
        self._balances, self._balance = balance, np.zeros(balance.shape[1])
        self._costs = self._log_range()

    def log_transforms(self, fewest: int) -> Complexes:
        """The results for that many hits and more (rows): the whole pass."""
        hits = np.arange(fewest, self._n_positives + 1)[:, None]
        if not self._stays():
            return np.full((hits.size, self._z.size), complex(-np.inf))
        n = self._increments.n_samples
        logs = [log_probability_of_hits(k, n, self._p) for k in hits.ravel().tolist()]
        total = np.array(logs)[:, None] + self._balance * (hits - self._n_positives)
        last = self._state[fewest - self._first :].astype(complex)
        return np.asarray(np.log(last) + self._log_scale - total)

    def continued(self, first: int, logs: NDArray[Any]) -> tuple[int, NDArray[Any]]:
        """Log weights of the last rows, from those of the rows before these blocks."""
        self._balance = self._balances[0]
        rows = first + np.arange(logs.shape[0])[:, None]
        logs = logs + self._balance * (rows - self._n_positives)
        self._log_scale = logs.real.max(axis=0)
        self._state = np.exp(logs - self._log_scale)
        self._first = first
        if not self._stays():
            raise LeftTheRangeError
        rows = self._first + np.arange(self._state.shape[0])[:, None]
        total = self._balance * (rows - self._n_positives)
        with np.errstate(divide="ignore"):
            return self._first, np.asarray(np.log(self._state) + self._log_scale - total)

    def _stays(self) -> bool:
        """Walk through all blocks; False where the state leaves the range of floats."""
        # That is noticed when a window has been walked through.
        with np.errstate(over="ignore", invalid="ignore"):
            return all(self.through(begin, end) for begin, end in self.windows())

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
        c, balances = self._increments, self._balances
        most = np.minimum(np.minimum(c.sizes, self._most), self._n_positives)
        tilts = self._z.real
        if balances.shape[1] == 1:
            tilts = np.array([tilts.min(), tilts.max()])
        odds = math.log(self._p / (1.0 - self._p))
        single, misses = c.sizes == 1, c.sizes * math.log1p(-self._p)
        costs = np.zeros(c.sizes.size)
        for before in (self._low - 1, self._high):
            for y in (1, most):
                gain = c.cross * before + c.linear + c.square * y
                of_a_hit = np.multiply.outer(gain, tilts) + balances
                least = np.abs(odds + of_a_hit).max(axis=1)
                # All weights of a block add up to (q + p exp(what a hit adds))**size.
                total = c.sizes * np.logaddexp(
                    math.log1p(-self._p), math.log(self._p) + of_a_hit.max(axis=1)
                )
                several = np.maximum(np.abs(total), most * least - misses)
                costs = np.maximum(costs, np.where(single, least, several))
        n_rows = self._high - self._low + 1
        moved = np.abs(np.diff(balances, axis=0, prepend=0.0)).max(axis=1)
        spread = np.abs(c.cross) * np.abs(tilts).max() * np.where(single, 0, most)
        return np.asarray(np.where(most > 0, costs, 0.0) + (spread + moved) * n_rows)

    def _rebalance(self, balance: Floats) -> None:
        """Count each hit so far ``exp(balance)`` times."""
        change = balance - self._balance
        if np.any(change):
            n_rows = self._state.shape[0]
            middle = n_rows // 2
            rows = np.outer(np.arange(n_rows) - middle, change)
            self._state = self._state * np.exp(rows)
            self._log_scale = self._log_scale + change * (self._first + middle - self._n_positives)
            self._balance = balance

    def through(self, begin: int, end: int) -> bool:
        """Walk through a window of blocks; False where the state has left the range of floats."""
        self._rebalance(self._balances[end - 1])
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
        log_odds = math.log(self._p / (1.0 - self._p)) + self._balance
        heads = _exponentials(self._z, one_hit, np.outer(may_hit, log_odds))
        weights = _Weights(heads, ratios, grid.shape[0])
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
            moved = weights.of_rows(i, stop - start + 1)
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
    ) -> tuple[int, Any]:
        """Any block, in place; returns the last row and the logarithm of a divisor.

        Without the ratio, ``exp(z cross)``, its weights may leave the range of floats.
        """
        c, z, high = self._increments, self._z, int(self._high[block])
        low, size = int(self._low[block]), int(c.sizes[block])
        fewest = max(int(self._least[block]), low - last)
        ys = np.arange(fewest, min(int(self._most[block]), high - lowest, size) + 1)
        if not ys.size:
            # No path of the bands leads on.
            grid[lowest - first : last - first + 1] = 0.0
            return last, 0.0
        log_weights = binomial_log_weights(size, min(size, self._n_positives), self._p)[ys, None]
        log_weights = log_weights + np.outer(ys, self._balance)
        own = ys * (c.linear[block] + c.square[block] * ys)
        slopes = ys * c.cross[block]
        before = grid[lowest - first : last - first + 1].copy()
        after = grid[low - first : high - first + 1]
        grid[lowest - first : last - first + 1] = 0.0
        reference: Any = 0.0
        n_parts = self._parts_of_convolution(block, before.shape[0], ys.size)
        if n_parts:
            sums, reference = _convolved_in_parts(
                n_parts, before, lowest, ys, log_weights, own, c.cross[block], z
            )
            first_row = lowest + int(ys[0])
            start, stop = max(first_row, low), min(first_row + sums.shape[0] - 1, high)
            after[start - low : stop - low + 1] = sums[start - first_row : stop - first_row + 1]
            return min(high, last + int(ys[-1])), reference
        if ratio is None:
            rows = np.array([np.maximum(lowest, low - ys), np.minimum(last, high - ys)])
            possible = rows[0] <= rows[1]
            if not possible.any():
                # No path of the bands leads on.
                return last, 0.0
            gains = np.multiply.outer(own + slopes * rows, z.real)
            reference = float((log_weights + gains)[:, possible].max())
        else:
            # The gain of y hits in the middle row, and exp(z cross) for every row away from it.
            middle = (lowest + last) // 2
            own = own + slopes * middle
            heads = np.exp(log_weights + np.multiply.outer(own, z.real))
            if np.iscomplexobj(z):
                heads = heads * _exponentials(1j * z.imag, own)
            powers = np.ones_like(before)
            if ys[-1] and c.cross[block]:
                geometric_rows(np.exp(z * (c.cross[block] * (lowest - middle))), ratio, powers)
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

    def _parts_of_convolution(self, block: int, n_rows: int, n_hits: int) -> int:
        """Into how many parts rows and hits are split for Fourier transforms; 0 for direct sums."""
        crossed = float(np.abs(self._z.real).max() * abs(self._increments.cross[block]))
        exponent = crossed * (0.5 * (n_rows + n_hits)) ** 2 / 2.0
        n_parts = max(1.0, math.ceil(math.sqrt(exponent / _LARGEST_EXPONENT_OF_FFT)))
        of_hits, of_rows = n_hits / n_parts, max(1.0, n_rows / n_parts)
        if of_hits < _LEAST_HITS_OF_FFT or of_rows * of_hits < _LEAST_PRODUCTS_OF_FFT:
            return 0
        return int(n_parts)

    def _keep(
        self, grid: NDArray[Any], first: int, last: int, end: int, log_divisor: float
    ) -> bool:
        """Keep the rows that matter, near 1; False where they have left the range of floats."""
        lowest = int(self._low[end - 1])
        self._state, self._first = grid[lowest - first : last - first + 1], lowest
        size = np.abs(self._state).max(axis=0, initial=0.0)
        if not (size.min() > 1e-290 and size.max() < 1e290):
            return False
        # Powers of two cost no rounding.
        shift = np.exp2(np.floor(np.log2(size)))
        self._state = self._state / shift
        self._log_scale += np.log(shift) + log_divisor
        return True


def _exponentials(z: NDArray[Any], factors: Floats, more: Floats | None = None) -> NDArray[Any]:
    """``exp(factors[:, None] * z + more)``: for equally spaced nodes by products alone.

    Each factor (row) has its own addend, or one for each node (columns).
    """
    return np.ascontiguousarray(_exponentials_by_node(z, factors, more).T)


def _exponentials_by_node(
    z: NDArray[Any], factors: Floats, more: Floats | None = None
) -> NDArray[Any]:
    """The same with a row for each node."""
    more = np.zeros((factors.size, 1)) if more is None else more
    spaced = z.size >= 8 and np.all(np.abs(np.diff(z, 2)) <= 1e-12 * np.abs(z[-1] - z[0]))
    if more.shape[1] > 1 or not spaced:
        return np.asarray(np.exp(np.outer(z, factors) + more.T))
    rows = np.empty((z.size, factors.size), dtype=z.dtype)
    step = (z[-1] - z[0]) / (z.size - 1)
    return geometric_rows(np.exp(z[0] * factors + more[:, 0]), np.exp(step * factors), rows)


class _Weights:
    """``heads[i] * ratios[i]**row`` for the blocks i of a window, in turn: a product each.

    The first rows of all blocks, and the powers of ratios by which they double, come together.
    """

    def __init__(self, heads: NDArray[Any], ratios: NDArray[Any], n_rows: int) -> None:
        most = max(1, _CACHED // heads.size)
        n_together = min(n_rows, _ROWS_TOGETHER, 1 << (most.bit_length() - 1))
        self._first = geometric_rows(
            heads, ratios, np.empty((n_together, *heads.shape), heads.dtype)
        )
        self._weights = np.empty((n_rows, heads.shape[1]), heads.dtype)
        self._powers = []
        for _ in range(n_together.bit_length() - 1):
            ratios = ratios * ratios
        while n_together < n_rows:
            self._powers.append(ratios)
            ratios, n_together = ratios * ratios, 2 * n_together

    def of_rows(self, i: int, n_rows: int) -> NDArray[Any]:
        """The first rows of block i, which the next call overwrites."""
        filled = self._first.shape[0]
        rows = self._weights[:n_rows]
        rows[:filled] = self._first[:n_rows, i]
        for powers in self._powers:
            if filled >= n_rows:
                break
            np.multiply(rows[: n_rows - filled][:filled], powers[i], out=rows[filled : 2 * filled])
            filled *= 2
        return rows


def geometric_rows(head: NDArray[Any], ratio: NDArray[Any], out: NDArray[Any]) -> NDArray[Any]:
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


def _convolved_in_parts(
    n_parts: int,
    before: NDArray[Any],
    lowest: int,
    ys: NDArray[np.int64],
    log_weights: Floats,
    own: Floats,
    cross: float,
    z: NDArray[Any],
) -> tuple[NDArray[Any], Floats]:
    """`_convolved` of parts of the rows with parts of the hits, added up."""
    if n_parts == 1:
        return _convolved(before, lowest, ys, log_weights, own, cross, z)
    total = np.zeros((before.shape[0] + ys.size - 1, z.size), dtype=before.dtype)
    reference = np.full(z.size, -np.inf)
    for rows in np.array_split(np.arange(before.shape[0]), min(n_parts, before.shape[0])):
        for hits in np.array_split(np.arange(ys.size), n_parts):
            part, log_part = _convolved(
                before[rows],
                lowest + int(rows[0]),
                ys[hits],
                log_weights[hits],
                own[hits],
                cross,
                z,
            )
            largest = np.maximum(reference, log_part)
            if np.any(largest > reference):
                total *= np.exp(reference - largest)
                reference = largest
            part *= np.exp(log_part - reference)
            first = int(rows[0] + hits[0])
            total[first : first + part.shape[0]] += part
    return total, reference


def _convolved(
    before: NDArray[Any],
    lowest: int,
    ys: NDArray[np.int64],
    log_weights: Floats,
    own: Floats,
    cross: float,
    z: NDArray[Any],
) -> tuple[NDArray[Any], Floats]:
    """What rows of hits before a block, the lowest first, become by y hits in it; and log divisors.

    With ``h = h0 + u`` hits before the block and ``y = y0 + v`` in it,
    ``y h = y h0 + y0 u + [(u + v)**2 - u**2 - v**2] / 2`` (Bluestein): sums over u and v with
    ``u + v`` given are a convolution.
    """
    n_rows = before.shape[0]
    h0, y0 = lowest + n_rows // 2, int(ys[ys.size // 2])
    u, v = np.arange(n_rows) + lowest - h0, ys - y0
    both = np.arange(n_rows + ys.size - 1) + (u[0] + v[0])
    of_rows, of_hits = cross * (y0 * u - 0.5 * u**2), own + cross * (ys * h0 - 0.5 * v**2)
    length = next_fast_len(both.size)
    sums = np.empty((both.size, z.size), dtype=before.dtype)
    reference = np.empty(z.size)
    together = max(1, _FFT_AT_ONCE // length)
    for begin in range(0, z.size, together):
        some = slice(begin, begin + together)
        nodes = z[some]
        logs = log_weights[:, some] if log_weights.shape[1] > 1 else log_weights
        largest = (logs + np.multiply.outer(of_hits, nodes.real)).max(axis=0)
        if np.iscomplexobj(z):
            # Nodes of a contour have one real part, and the same largest term.
            largest = largest.max(keepdims=True)
        reference[some] = largest
        heads = fft(_exponentials_by_node(nodes, of_hits, logs - largest), length)
        product = before[:, some].T * _exponentials_by_node(nodes, of_rows)
        product = fft(product, length, overwrite_x=True)
        product *= heads
        product = ifft(product, overwrite_x=True)[:, : both.size]
        product *= _exponentials_by_node(nodes, 0.5 * cross * both**2)
        # Of positive terms rounding alone can be negative.
        is_complex = np.iscomplexobj(before)
        sums[:, some] = (product if is_complex else np.maximum(product.real, 0.0)).T
    return sums, reference
