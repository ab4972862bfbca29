"""The transform ``E exp(z S)`` of an additive rank statistic for a vector of nodes z.

Hits of a block are binomial, conditioned on their total. A forward pass over the blocks carries,
for every number of hits found (rows) and every node (columns), the sum of the weights
``C(g, y) p**y q**(g - y) exp(z c(h, y))`` of all ways there. See "One forward pass" in
doc/theory.rst.

* Rows stay in the range of floats: each hit is multiplied by a factor that balances them, and the
  state is rescaled by powers of two after every few blocks.
* Weights that form geometric sequences along rows or nodes are computed by products alone.
* Large blocks are convolved by Fourier transforms, after Bluestein's separation of the product of
  the hits before the block and in it (Bluestein, 1970; "Contour inversion" in doc/theory.rst).

Errors are those of rounding, relative to the largest row, and the paths outside the bands.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import ArrayLike, NDArray
from scipy.fft import fft, ifft, next_fast_len

from sklearn_rankinf._engine.inversion.bands import Bands, feasible_bands, separated, weights_ahead
from sklearn_rankinf._engine.inversion.nodes import Exponentials, geometric_rows
from sklearn_rankinf._statistics import (
    Complexes,
    Floats,
    Increments,
    Integers,
    binomial_log_weights,
    log_probability_of_hits,
)


@dataclass(frozen=True)
class PassSettings:
    """Settings of the forward pass."""

    # The state is rescaled after this number of blocks, or with few nodes after more: up to the
    # second number, and the third of blocks times nodes. It is rescaled as soon as the logarithms
    # of the weights may add up to the range.
    blocks_of_run: int = 32
    most_blocks_of_run: int = 128
    numbers_of_run: int = 6_000
    log_range: float = 300.0
    # Log of what a run without a range loses, of rows that it may change over it, of errors of
    # convolutions by Fourier transforms relative to the norms of their factors, and of an error of
    # the total that matters.
    log_lost: float = -690.0
    log_visible: float = 40.0
    log_fft: float = -34.5
    log_error: float = -27.0
    # Weights of single items are computed for as many blocks at once as can be cached.
    most_cached: int = 200_000
    # Weights of blocks of several items with no more hits are computed for all blocks of a run.
    hits_together: int = 16
    # Smallest number of hits in a block, and of rows times hits, that Fourier transforms convolve.
    least_hits_of_fft: int = 48
    least_products_of_fft: int = 16_000
    # Range of the logarithms of factors within a part of a convolution: rounding errors, relative
    # to the largest row, grow by the exponential.
    largest_exponent_of_fft: float = 8.0
    # The same where sums of products convolve, and only the smallest terms are lost; and the number
    # of hits from which that takes less time than one product of all rows for each.
    largest_exponent_of_sums: float = 150.0
    least_hits_of_sums: int = 12
    # Numbers that are transformed together.
    fft_at_once: int = 1 << 20


SETTINGS = PassSettings()


class LeftTheRangeError(Exception):
    """The state has left the range of floats, under an extreme tilt, or that of the bands."""


def log_transform(
    increments: Increments,
    n_positives: int,
    z: ArrayLike,
    bands: Bands | None = None,
    balance: Floats | None = None,
) -> Complexes:
    """Natural logarithm of ``E exp(z S)`` for every node of a vector of real or complex z.

    Costs (nodes) x (rows in the bands) for every item of a block; equally spaced nodes are
    cheapest. Rows outside the bands are dropped; without bands all feasible rows are kept. Under a
    strong tilt a row that matters at the end may be far below another in the middle of the pass: a
    balance, block by block (rows) and for all nodes or each (columns), multiplies every hit up to
    there by its exponential. The result is -inf where the state leaves the range of floats, or may
    have lost rows that matter.
    """
    if balance is None:
        balance = np.zeros((increments.sizes.size, 1))
    nodes, n = np.asarray(z).ravel(), increments.n_samples
    feasible = feasible_bands(increments, n_positives)
    bands = feasible if bands is None else bands.intersection(feasible)
    is_contour = np.iscomplexobj(nodes) and nodes.size > 0 and not np.ptp(nodes.real)
    if is_contour and nodes.imag.all():
        # Errors are compared with the largest transform of a contour, that of its real node.
        nodes = np.append(nodes, nodes[0].real)
    # Rows that Fourier transforms lose are kept by sums, which take longer.
    for far_rows in (False, True):
        forward = _ForwardPass(increments, n, n_positives, nodes, bands, balance, far_rows)
        try:
            logs = forward.log_rows(0, np.zeros((1, nodes.size)))[1][-1]
        except LeftTheRangeError:
            return np.full(np.size(z), complex(-np.inf))
        are_doubtful = forward.is_doubtful(logs.real)
        if not are_doubtful.any():
            break
    logs = np.where(are_doubtful, -np.inf, logs)[: np.size(z)]
    return np.asarray(logs - log_probability_of_hits(n, n_positives), dtype=complex)


def walked_through(
    increments: Increments,
    n_samples: int,
    n_positives: int,
    z: NDArray[Any],
    bands: Bands,
    first: int,
    logs: NDArray[Any],
    far_rows: bool = False,
) -> tuple[int, NDArray[Any]]:
    """First number of hits and log weights from there on (rows), after some blocks of a ranking.

    The first number and the log weights before these blocks are given. Of all blocks, the weight of
    m hits over `log_probability_of_hits` is the transform. Rows far below the largest are lost in
    the rounding errors of Fourier transforms, which are not used if `far_rows` are needed. Raises
    `LeftTheRangeError`.
    """
    begin, length = 0, _blocks_of_run(z.size)
    while begin < increments.sizes.size:
        some = slice(begin, begin + length)
        blocks, paths = increments[some], bands.of(some)
        # Rows are balanced as they are, or if there is one, as they become without a tilt.
        if logs.shape[0] > 1:
            ends, apart = logs[[0, -1], 0].real, logs.shape[0] - 1
            if not np.isfinite(ends).all():
                ends = np.zeros(2)
        else:
            size = blocks.n_samples
            rows = np.array([max(0, paths.low[-1] - first), max(1, paths.high[-1] - first)])
            rows = np.minimum(rows, min(size, n_positives))
            ends = binomial_log_weights(size, int(rows[1]), n_samples, n_positives)[rows]
            apart = max(1, int(rows[1] - rows[0]))
        balance = np.full((blocks.sizes.size, 1), float(ends[0] - ends[-1]) / apart)
        forward = _ForwardPass(blocks, n_samples, n_positives, z, paths, balance, far_rows)
        if length > SETTINGS.blocks_of_run and len(list(forward.runs())) > 1:
            # Rows are balanced more often.
            length = SETTINGS.blocks_of_run
            continue
        first, logs = forward.log_rows(first, logs)
        begin += length
    return first, logs


def _blocks_of_run(n_nodes: int) -> int:
    """Number of blocks after which the state is rescaled, if not sooner."""
    of_few = min(SETTINGS.most_blocks_of_run, SETTINGS.numbers_of_run // max(1, n_nodes))
    return max(SETTINGS.blocks_of_run, of_few)


class _WeightsOfSeveral(NamedTuple):
    """Weights of the hits in a block of several items, in factors.

    Those of y hits with h before the block are ``heads[y - fewest] (base ratio**(h - lowest))**y``
    times the exponential of `log_scale`, one for each node or for all.
    """

    fewest: int
    heads: NDArray[Any]
    base: NDArray[Any]
    ratio: NDArray[Any]
    log_scale: Floats


# Weights of some blocks, by their indices.
_Known = dict[int, _WeightsOfSeveral]


class _ForwardPass:
    """The state: weights by the number of hits found (rows) for each node (columns).

    Weights of single items are divided by q, so that a miss costs nothing. The state of h hits is
    multiplied by ``exp(balance (h - m))``, which leaves the last row, m, as it is.
    """

    def __init__(
        self,
        increments: Increments,
        n_samples: int,
        n_positives: int,
        z: NDArray[Any],
        bands: Bands,
        balances: Floats,
        far_rows: bool = False,
    ) -> None:
        self._increments, self._n_samples, self._m = increments, n_samples, n_positives
        self._z = z if np.iscomplexobj(z) else z.astype(float)
        self._exponentials = Exponentials(self._z)
        bands = bands.ascending()
        self._low, self._high = bands.low, bands.high
        self._most, self._least = bands.most, bands.least
        p = n_positives / n_samples
        self._log_odds, self._log_q = math.log(p / (1.0 - p)), math.log1p(-p)
        self._balances, self._far_rows = balances, far_rows
        self._costs = self._log_ranges()
        widest = int((self._high - self._low).max()) + 2
        size = max(SETTINGS.most_cached, widest * z.size)
        self._buffer = np.empty(size, dtype=self._z.dtype)
        # Blocks after which rows may be wrong, these, logs of their errors, and balances.
        self._errors: list[tuple[int, Integers, Floats, Floats]] = []

    def log_rows(self, first: int, logs: NDArray[Any]) -> tuple[int, NDArray[Any]]:
        """First row and log weights after all blocks, from those before them."""
        # No path leads to fewer hits than there are before these blocks.
        self._low = np.maximum(self._low, first)
        if np.any(self._low > self._high):
            raise LeftTheRangeError
        self._first, self._balance = first, self._balances[0]
        self._log_divisor, self._range = np.zeros(1), 0.0
        logs = logs + self._log_factors(logs.shape[0])
        self._log_scale = logs.real.max(axis=0)
        self._state = np.exp(logs - self._log_scale).astype(self._z.dtype, copy=False)
        # The range is checked after every run.
        with np.errstate(over="ignore", invalid="ignore"):
            for begin, end in self.runs():
                self._run(begin, end)
        with np.errstate(divide="ignore"):
            logs = np.log(self._state) + self._log_scale
        return self._first, np.asarray(logs - self._log_factors(logs.shape[0]))

    def _log_factors(self, n_rows: int) -> Floats:
        """Logarithms of the factors of the rows that balance them."""
        return np.outer(self._first - self._m + np.arange(n_rows), self._balance)

    def runs(self) -> Iterator[tuple[int, int]]:
        """First block and last plus one of runs in which the state stays in the range of floats."""
        longest, low, high = _blocks_of_run(self._z.size), self._low.tolist(), self._high.tolist()
        begin, spent, largest, moved = 0, 0.0, 0.0, 0.0
        for block, (cost, of_an_item, move) in enumerate(zip(*self._costs, strict=True)):
            # Of single items only hits count. All have the balance of the last block of the run.
            n_hits, moved = high[block] - low[begin] + 1, moved + move
            most = min(spent + cost, n_hits * max(largest, of_an_item)) + n_hits * moved
            if block > begin and (most > SETTINGS.log_range or block - begin == longest):
                yield begin, block
                begin, spent, largest, moved = block, 0.0, 0.0, move
            spent, largest = spent + cost, max(largest, of_an_item)
        yield begin, len(high)

    def _log_ranges(self) -> tuple[list[float], list[float], list[float]]:
        """Bounds, block by block, of the distance of the logarithms of the weights from 0.

        First of all blocks, then of single items alone, with infinity for other blocks. The third
        numbers are changes of the balance from block to block.
        """
        c, balances = self._increments, self._balances
        most = np.minimum(np.minimum(c.sizes, self._most), self._m)
        tilts = self._z.real
        if balances.shape[1] == 1:
            tilts = np.array([tilts.min(), tilts.max()])
        single, costs = c.sizes == 1, np.zeros(c.sizes.size)
        self._growth = np.where(single, 0.0, np.log1p(most))
        for before in (self._low - 1, self._high):
            for y in (1, most):
                gain = c.cross * before + c.linear + c.square * y
                log_odds = self._log_odds + np.multiply.outer(gain, tilts) + balances
                of_a_hit = np.abs(log_odds).max(axis=1)
                of_an_item = np.where(single, log_odds.max(axis=1), 0.0)
                self._growth = np.maximum(self._growth, of_an_item)
                # All weights of a block add up to (q + p exp(gain of a hit))**size.
                total = c.sizes * (self._log_q + np.logaddexp(0.0, log_odds.max(axis=1)))
                several = np.maximum(np.abs(total), most * of_a_hit - c.sizes * self._log_q)
                costs = np.maximum(costs, np.where(single, of_a_hit, several))
        moved = np.abs(np.diff(balances, axis=0, prepend=balances[:1])).max(axis=1)
        spread = np.abs(c.cross) * np.abs(tilts).max() * np.where(single, 0, most)
        n_rows = self._high - self._low + 1
        costs = np.where(most > 0, costs, 0.0) + spread * n_rows
        of_items = np.where(single, costs, math.inf)
        return costs.tolist(), of_items.tolist(), moved.tolist()

    def is_doubtful(self, log_totals: Floats) -> NDArray[np.bool_]:
        """Whether what rows have lost, or rounding errors of Fourier transforms, may matter.

        A product below the smallest float is lost, and with it at most that float times the
        exponential of the range of a run, or times the power of two by which it is rescaled. Unless
        a row ends a run near there, that is negligible in each row. Errors of Fourier transforms
        are those of the largest row in all of them. Either is multiplied by all that later blocks
        add, and compared with the total. No term is larger than at the real part of its node.
        """
        if not self._errors:
            return np.zeros(log_totals.shape, dtype=bool)
        tilts, last = self._z.real, self._increments.sizes.size
        if not np.ptp(tilts):
            tilts, log_totals = tilts[:1], log_totals.max(keepdims=True)
        worst, ahead = np.full(tilts.shape, -np.inf), np.full((self._m + 1, tilts.size), -np.inf)
        ahead[self._m] = 0.0
        for end, rows, log_errors, balance in self._errors[::-1]:
            for block in range(last - 1, end - 1, -1):
                ahead = self._behind(block, ahead, tilts)
            last, errors = end, log_errors[:, : tilts.size] + np.outer(self._m - rows, balance)
            worst = np.maximum(worst, (errors + ahead[rows]).max(axis=0))
        return np.broadcast_to(worst > log_totals + SETTINGS.log_error, self._z.shape)

    def _behind(self, block: int, ahead: Floats, tilts: Floats) -> Floats:
        """Log weights of a block and later ones, by the hits before, from those of later ones."""
        size = int(self._increments.sizes[block])
        y = np.arange(self._least[block], min(size, int(self._most[block]), self._m) + 1)
        log_weights = binomial_log_weights(size, min(size, self._m), self._n_samples, self._m)[y]
        if y.size > SETTINGS.hits_together:
            logs = [
                weights_ahead(self._increments, block, tilt, y, log_weights, ahead[:, i])
                for i, tilt in enumerate(tilts.tolist())
            ]
            return np.column_stack(logs)
        rows, found = np.arange(self._m + 1), np.full(ahead.shape, -np.inf)
        for hits, log_weight in zip(y.tolist(), log_weights.tolist(), strict=True):
            gain = self._increments.gain(block, rows[: rows.size - hits], hits)
            terms = log_weight + np.multiply.outer(gain, tilts) + ahead[hits:]
            np.logaddexp(found[: terms.shape[0]], terms, out=found[: terms.shape[0]])
        return found

    def _note(self, end: int, rows: Integers, log_errors: Any) -> None:
        """Note errors of rows in the unit of the state, given their logarithms."""
        logs = self._log_scale + self._log_divisor + np.atleast_2d(log_errors)
        self._errors.append((end, rows, logs, self._balance))

    def _rebalance(self, balance: Floats) -> None:
        """Multiply rows so that their factors are those of another balance."""
        change = balance - self._balance
        if np.any(change):
            n_rows = self._state.shape[0]
            middle = n_rows // 2
            exponents = np.outer(np.arange(n_rows) - middle, change)
            if np.abs(exponents[0]).max() > SETTINGS.log_range:
                with np.errstate(divide="ignore"):
                    logs = np.log(self._state.astype(complex)) + exponents
                top = logs.real.max(axis=0)
                state = np.exp(logs - top)
                self._state = state if np.iscomplexobj(self._z) else state.real
                self._log_scale = self._log_scale + top
            else:
                self._state = self._state * np.exp(exponents)
            self._log_scale = self._log_scale + change * (self._first + middle - self._m)
            self._balance = balance

    def _run(self, begin: int, end: int) -> None:
        """Pass through some blocks and rescale the state."""
        self._rebalance(self._balances[end - 1])
        c, first = self._increments, self._first
        last = first + self._state.shape[0] - 1
        grid = np.zeros((self._high[end - 1] - first + 1, self._z.size), dtype=self._z.dtype)
        grid[: self._state.shape[0]] = self._state
        self._log_divisor = np.zeros(1)
        self._range = min(float(self._growth[begin:end].sum()), SETTINGS.log_range)
        n_rows = self._high[begin] - self._low[begin] + 1
        if self._costs[0][begin] + n_rows * self._costs[2][begin] > SETTINGS.log_range:
            self._range = math.log1p(self._most[begin])
            last = self._several(grid, first, last, begin, {})
            self._keep(grid, last, end)
            return
        run = slice(begin, end)
        may_hit = self._most[run] > 0
        lows = np.concatenate([[first], self._low[begin : end - 1]])
        starts = np.maximum(lows, self._low[run] - 1)
        parts = c.sizes[run], lows, np.where(may_hit, starts, self._high[run]), self._high[run] - 1
        one_hit = (c.cross[run] * starts + c.linear[run] + c.square[run]) * may_hit
        ratios = self._exponentials.by_factor(c.cross[run] * may_hit)
        heads = self._exponentials.by_factor(
            one_hit, np.outer(may_hit, self._log_odds + self._balance)
        )
        weights = _weights_in_turn(heads, ratios, parts[3] - parts[2] + 1, self._buffer)
        are_few = (c.sizes[run] > 1) & (self._most[run] <= SETTINGS.hits_together)
        highs = np.append(last, self._high[run])[:-1]
        few = begin + np.flatnonzero(are_few)
        of_several = self._weights_of_several(few, lows[are_few], highs[are_few])
        product, n_single = np.empty_like(grid), 0
        blocks = zip(*(part.tolist() for part in parts), weights, strict=True)
        for block, (size, low, start, last_start, of_a_hit) in enumerate(blocks, begin):
            if size > 1:
                self._log_divisor, n_single = self._log_divisor + n_single * self._log_q, 0
                last = self._several(grid, low, last, block, of_several)
                continue
            n_single += 1
            n_rows = min(last, last_start) - start + 1
            if n_rows > 0:
                place, moved = start - first, product[:n_rows]
                np.multiply(of_a_hit[:n_rows], grid[place : place + n_rows], moved)
                after = grid[place + 1 : place + 1 + n_rows]
                np.add(after, moved, after)
                last = max(last, start + n_rows)
        self._log_divisor = self._log_divisor + n_single * self._log_q
        self._keep(grid, last, end)

    def _several(
        self, grid: NDArray[Any], lowest: int, last: int, block: int, known: _Known
    ) -> int:
        """Pass rows of the grid through any block; returns the last row."""
        low, high, first = int(self._low[block]), int(self._high[block]), self._first
        size, fewest = int(self._increments.sizes[block]), max(int(self._least[block]), low - last)
        ys = np.arange(fewest, min(int(self._most[block]), high - lowest, size) + 1)
        before = grid[lowest - first : last - first + 1].copy()
        grid[lowest - first : last - first + 1] = 0.0
        if not ys.size:
            # No path of the bands leads on.
            return last
        after = grid[low - first : high - first + 1]
        crossed = float(np.abs(self._z.real).max() * abs(self._increments.cross[block]))
        growth = crossed * (last - lowest + 1) * float(ys[-1])
        sizes = crossed, last - lowest + 1, ys.size, growth
        by_sums = self._are_convolved_by_sums(*sizes)
        n_parts = 1 if by_sums else self._parts_of_transforms(*sizes[:3])
        reference: Any = 0.0
        if n_parts:
            rows, log_weights = np.arange(lowest, last + 1), self._log_weights(block, ys)
            passed = self._increments, block, self._exponentials, by_sums
            sums, reference, log_errors = _convolved_in_parts(
                n_parts, before, rows, ys, log_weights, *passed
            )
            first_row = lowest + int(ys[0])
            start, stop = max(first_row, low), min(first_row + sums.shape[0] - 1, high)
            after[start - low : stop - low + 1] = sums[start - first_row : stop - first_row + 1]
            if by_sums:
                growth += SETTINGS.largest_exponent_of_sums
                self._range = min(self._range + growth, SETTINGS.log_range)
            else:
                logs = log_errors[start - first_row : stop - first_row + 1, None] + reference.max()
                self._note(block + 1, np.arange(start, stop + 1), logs)
        elif crossed * (last - lowest) * ys[-1] > SETTINGS.log_range:
            reference = self._add_logs(block, before, lowest, ys, after)
        else:
            if block not in known:
                known = self._weights_of_several(*np.array([[block], [lowest], [last]]))
            reference = self._add_sums(block, before, lowest, ys, known[block], after)
        self._log_divisor = self._log_divisor + reference
        return min(high, last + int(ys[-1]))

    def _log_weights(self, block: int, y: Integers) -> Floats:
        """Log weights of numbers of hits in a block (rows), with the balance, for all nodes."""
        size = int(self._increments.sizes[block])
        logs = binomial_log_weights(size, min(size, self._m), self._n_samples, self._m)
        return np.asarray(logs[y, None] + np.outer(y, self._balance))

    def _weights_of_several(self, blocks: Integers, lowest: Integers, highest: Integers) -> _Known:
        """Factors of the weights of blocks, given the rows before each, in few calls."""
        if not blocks.size:
            return {}
        c, z = self._increments, self._z
        middle, fewest, cross = (lowest + highest) // 2, self._least[blocks], c.cross[blocks]
        most = np.minimum(self._most[blocks], self._high[blocks] - lowest)
        n_hits = np.maximum(np.minimum(most, c.sizes[blocks]) - fewest, 0) + 1
        hits = [np.arange(few, few + n) for few, n in zip(fewest, n_hits, strict=True)]
        logs = np.concatenate([*map(self._log_weights, blocks.tolist(), hits)])
        gains = c.gain(np.repeat(blocks, n_hits), np.repeat(middle, n_hits), np.concatenate(hits))
        starts = np.cumsum(n_hits) - n_hits
        tilts = z.real if np.ptp(z.real) else z.real[:1]
        scales = np.maximum.reduceat(logs + np.outer(gains, tilts), starts)
        heads = self._exponentials.by_factor(gains, logs - np.repeat(scales, n_hits, axis=0))
        bases, ratios = (
            self._exponentials.by_factor(cross * (lowest - middle)),
            self._exponentials.by_factor(cross),
        )
        factors = fewest.tolist(), np.split(heads, starts[1:]), bases, ratios, scales
        return dict(zip(blocks.tolist(), map(_WeightsOfSeveral, *factors), strict=True))

    def _add_sums(
        self,
        block: int,
        before: NDArray[Any],
        lowest: int,
        ys: Integers,
        weights: _WeightsOfSeveral,
        after: NDArray[Any],
    ) -> Floats:
        """Add up the rows after a block; returns the log divisor."""
        low, high = int(self._low[block]), int(self._high[block])
        is_crossed = bool(self._increments.cross[block])
        powers, product = np.empty_like(before), np.empty_like(before)
        if is_crossed:
            crossed = float(np.abs(self._z.real).max() * abs(self._increments.cross[block]))
            growth = crossed * before.shape[0] * float(ys[-1])
            self._range = min(self._range + growth, SETTINGS.log_range)
            powers = geometric_rows(weights.base, weights.ratio, powers)
            if ys[0]:
                before *= powers ** int(ys[0])
        for y in ys.tolist():
            # Rows above high - y lead out of the band, with y hits and with more.
            start = max(0, low - y - lowest)
            before = before[: max(high - y - lowest + 1, 0)]
            if is_crossed and y > ys[0]:
                before *= powers[: before.shape[0]]
            moved = product[: max(before.shape[0] - start, 0)]
            np.multiply(weights.heads[y - weights.fewest], before[start:], out=moved)
            first = start + lowest + y - low
            after[first : first + moved.shape[0]] += moved
        return weights.log_scale

    def _add_logs(
        self, block: int, before: NDArray[Any], lowest: int, ys: Integers, after: NDArray[Any]
    ) -> float:
        """Add up the rows after a block, in the range of floats; returns the log divisor."""
        low, high, z = int(self._low[block]), int(self._high[block]), self._z
        terms, reference = [], -math.inf
        for y, log_weights in zip(ys.tolist(), self._log_weights(block, ys), strict=True):
            start = max(0, low - y - lowest)
            some = slice(start, max(start, min(before.shape[0], high - y - lowest + 1)))
            gain = self._increments.gain(block, np.arange(some.start, some.stop) + lowest, y)
            if gain.size:
                terms.append((some, start + lowest + y - low, log_weights, gain))
                edges = log_weights + np.outer(gain[[0, -1]], z.real)
                reference = max(reference, float(edges.max()))
        for some, first, log_weights, gain in terms:
            weights = np.exp(log_weights - reference + np.outer(gain, z))
            after[first : first + gain.size] += weights * before[some]
        return max(reference, np.finfo(float).min)

    def _are_convolved_by_sums(
        self, crossed: float, n_rows: int, n_hits: int, growth: float
    ) -> bool:
        """Whether sums of products convolve rows and hits.

        A further hit in a block adds no more than `crossed` to the log weight of one before it, and
        all hits in it no more than `growth` to those of all rows.
        """
        is_short = n_rows * n_hits < SETTINGS.least_products_of_fft or not np.iscomplexobj(self._z)
        largest = max(growth, _largest_exponent(crossed, n_rows, n_hits))
        fits = largest <= SETTINGS.largest_exponent_of_sums
        return is_short and fits and n_hits >= SETTINGS.least_hits_of_sums

    def _parts_of_transforms(self, crossed: float, n_rows: int, n_hits: int) -> int:
        """Number of parts of rows and hits that Fourier transforms convolve; 0 for none of them."""
        if self._far_rows or not np.iscomplexobj(self._z):
            return 0
        exponent = _largest_exponent(crossed, n_rows, n_hits)
        n_parts = max(1, math.ceil(math.sqrt(exponent / SETTINGS.largest_exponent_of_fft)))
        n_products = max(1.0, n_rows / n_parts) * n_hits / n_parts
        is_large = n_hits >= n_parts * SETTINGS.least_hits_of_fft
        return n_parts if is_large and n_products >= SETTINGS.least_products_of_fft else 0

    def _keep(self, grid: NDArray[Any], last: int, end: int) -> None:
        """Keep the rows of the bands, rescaled by powers of two, which are exact."""
        lowest = int(self._low[end - 1])
        state = grid[lowest - self._first : last - self._first + 1]
        sizes = np.abs(state)
        size = sizes.max(axis=0, initial=0.0)
        if not (size.min() > 1e-290 and size.max() < 1e290):
            raise LeftTheRangeError
        shift = np.exp2(np.floor(np.log2(size)))
        log_lost = SETTINGS.log_lost + max(self._range, math.log(shift.max()))
        least = math.exp(log_lost + SETTINGS.log_visible)
        if sizes.min(initial=1.0) < least:
            rows = lowest + np.flatnonzero(sizes.min(axis=1) < least)
            self._note(end, rows, log_lost)
        self._state, self._first = state / shift, lowest
        self._log_scale = self._log_scale + np.log(shift) + self._log_divisor


def _largest_exponent(crossed: float, n_rows: int, n_hits: int) -> float:
    """The largest exponent of a factor of a convolution."""
    return crossed * (0.5 * (n_rows + n_hits)) ** 2 / 2.0


def _weights_in_turn(
    heads: NDArray[Any], ratios: NDArray[Any], n_rows: Integers, buffer: NDArray[Any]
) -> Iterator[NDArray[Any]]:
    """Rows ``heads[i] * ratios[i]**row`` for the blocks i of a run.

    Those of as many blocks as the buffer holds are computed at once.
    """
    n_together = max(1, buffer.size // (max(1, int(n_rows.max())) * heads.shape[1]))
    for first in range(0, len(heads), n_together):
        some = slice(first, first + n_together)
        shape = max(1, int(n_rows[some].max())), *heads[some].shape
        rows = buffer[: math.prod(shape)].reshape(shape)
        yield from geometric_rows(heads[some], ratios[some], rows).swapaxes(0, 1)


def _convolved_in_parts(
    n_parts: int,
    before: NDArray[Any],
    rows: Integers,
    ys: Integers,
    log_weights: Floats,
    *block_and_nodes: Any,
) -> tuple[NDArray[Any], Floats, Floats]:
    """`_convolved` of parts of the rows with parts of the hits, added up."""
    if n_parts == 1:
        return _convolved(before, rows, ys, log_weights, *block_and_nodes)
    total = np.zeros((rows.size + ys.size - 1, before.shape[1]), dtype=before.dtype)
    reference, log_errors = np.full(before.shape[1], -np.inf), np.full(total.shape[0], -np.inf)
    for some in np.array_split(np.arange(rows.size), min(n_parts, rows.size)):
        for hits in np.array_split(np.arange(ys.size), n_parts):
            part, log_part, log_errors_of_part = _convolved(
                before[some], rows[some], ys[hits], log_weights[hits], *block_and_nodes
            )
            largest = np.maximum(reference, log_part)
            if np.any(largest > reference):
                total *= np.exp(reference - largest)
                log_errors += (reference - largest).max()
                reference = largest
            part *= np.exp(log_part - reference)
            first = int(some[0] + hits[0])
            here = slice(first, first + part.shape[0])
            total[here] += part
            log_errors_of_part += (log_part - reference).max()
            log_errors[here] = np.logaddexp(log_errors[here], log_errors_of_part)
    return total, reference, log_errors


def _convolved(
    before: NDArray[Any],
    rows: Integers,
    ys: Integers,
    log_weights: Floats,
    increments: Increments,
    block: int,
    exponentials: Exponentials,
    by_sums: bool,
) -> tuple[NDArray[Any], Floats, Floats]:
    """All rows after a block by one convolution, the lowest first.

    Also log divisors of nodes, and logs of the rounding errors of rows at their common real part,
    which sums do not have.
    """
    of_rows, of_hits, of_both = separated(increments, block, rows, ys)
    z = exponentials.z
    length, is_complex = next_fast_len(of_both.size), np.iscomplexobj(z)
    sums = np.empty((of_both.size, z.size), dtype=before.dtype)
    reference, log_errors = np.empty(z.size), np.full(of_both.size, -np.inf)
    together = max(1, SETTINGS.fft_at_once // length)
    for begin in range(0, z.size, together):
        some = slice(begin, begin + together)
        these = exponentials if together >= z.size else Exponentials(z[some])
        logs = log_weights[:, some] if log_weights.shape[1] > 1 else log_weights
        largest = (logs + np.multiply.outer(of_hits, these.z.real)).max(axis=0)
        if is_complex:
            # Nodes of a contour have one real part, and the same largest term.
            largest = largest.max(keepdims=True)
        reference[some] = largest
        heads = these.by_node(of_hits, logs - largest)
        product = before[:, some].T * these.by_node(of_rows)
        if by_sums:
            product = _summed(product, heads)
        else:
            norms = np.sqrt((np.abs(heads) ** 2).sum(axis=1) * (np.abs(product) ** 2).sum(axis=1))
            with np.errstate(divide="ignore"):
                log_norm = np.log(norms.max()) + SETTINGS.log_fft
            log_errors = np.maximum(log_errors, log_norm + of_both * these.z[0].real)
            heads, product = fft(heads, length), fft(product, length, overwrite_x=True)
            product *= heads
            product = ifft(product, overwrite_x=True)[:, : of_both.size]
        product *= these.by_node(of_both)
        sums[:, some] = product.T
    return sums, reference, log_errors


def _summed(rows: NDArray[Any], heads: NDArray[Any]) -> NDArray[Any]:
    """Convolutions of rows of two arrays, each number from its own products alone."""
    if not np.iscomplexobj(rows):
        return np.array([np.convolve(a, b) for a, b in zip(rows, heads, strict=True)])
    (n_nodes, n_rows), n_hits = rows.shape, heads.shape[1]
    padded = np.zeros((n_nodes, n_rows + 2 * (n_hits - 1)), dtype=complex)
    padded[:, n_hits - 1 : n_hits - 1 + n_rows] = rows
    # Products of matrices with windows that overlap.
    shape, strides = (n_nodes, n_rows + n_hits - 1, n_hits), padded.strides
    windows = as_strided(padded, shape, (*strides, strides[1]), writeable=False)
    return np.asarray((windows @ heads[:, ::-1, None])[..., 0])
