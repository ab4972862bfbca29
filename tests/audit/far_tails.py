"""Logarithms of far upper tails, for values of good rankers, in three ways of their own.

A good ranker attains a value whose p-value underflows. Each way gives bounds of ``log P(S >= x)``:
guaranteed ones from the transform on a finite band, confidence limits from labellings drawn under
an exponential tilt, and, for sums of whole numbers, the number of placements itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from .oracles import MAYBE_SAME, MISSES, SURELY_SAME, Atoms, Sum, draw_sums

# Of the tilted probability, what one step of a pass may leave out. All of it is added up, and is
# part of the bounds.
_RARE = 1e-19
# Rounding of logarithms of numbers of placements.
_ROUNDING = 1e-7
# Sums of probabilities below it may have lost some of them.
_SMALLEST = 1e-290


@dataclass(frozen=True)
class FarEffort:
    """What the ways may cost: cells of a pass, cells times nodes, draws, and bits times steps."""

    cells: float = 4e5
    transforms: float = 3e7
    draws: int = 10_000
    bits: float = 4e9


QUICK, THOROUGH = FarEffort(), FarEffort(2e7, 2e9, 100_000, 1e12)


class FarTail(Protocol):
    """Bounds of the logarithm of an upper tail."""

    name: str

    def log_pvalue(self, x: float) -> tuple[float, float]:
        """A lower and an upper bound of ``log P(S >= x)``."""


# ---------------------------------------------------------------------------------------------
# Under a tilt
# ---------------------------------------------------------------------------------------------


class Tilted:
    """Counted items in blocks, with probabilities proportional to ``exp(theta * scale * sum)``.

    Backwards over the blocks, the weighted number of ways to place the rest of the counted items is
    added up for each number before the block. The shares of these ways are the probabilities of the
    numbers in the block.
    """

    def __init__(self, total: Sum, scale: float) -> None:
        self.total, self.scale = total, scale
        self.ends = np.cumsum(total.sizes)
        self.starts = self.ends - total.sizes
        c, n = total.n_counted, total.n
        self.low = [*np.maximum(0, c - (n - self.starts)).tolist(), c]
        self.high = [*np.minimum(c, self.starts).tolist(), c]
        widths = np.minimum(total.sizes, c) + 1.0
        rows = np.array(self.high[:-1]) - np.array(self.low[:-1]) + 1.0
        self.n_cells = float((rows * widths).sum())
        y = np.arange(min(int(total.sizes.max()), c) + 1.0)
        self._log_ways = {
            size: (gammaln(size + 1.0) - gammaln(y + 1.0) - gammaln(size - y + 1.0))[: size + 1]
            for size in set(total.sizes.tolist())
        }
        everything = gammaln(n + 1.0) - gammaln(c + 1.0) - gammaln(n - c + 1.0)
        self._log_placements = float(everything)

    def gains(self, block: int) -> np.ndarray:
        """What y counted items add behind h, in units of the statistic."""
        h = np.arange(self.low[block], self.high[block] + 1.0)[:, None]
        y = np.arange(min(int(self.total.sizes[block]), self.total.n_counted) + 1.0)
        gains = self.scale * self.total.gain(block, h, y)
        return np.broadcast_to(gains, (h.size, y.size))

    def _terms(self, theta: float, block: int, after: np.ndarray) -> np.ndarray:
        size = int(self.total.sizes[block])
        gains = self.gains(block)
        h = np.arange(self.low[block], self.high[block] + 1)[:, None]
        place = h + np.arange(gains.shape[1]) - self.low[block + 1]
        outside = (place < 0) | (place >= after.size)
        ways = np.where(outside, -np.inf, after[np.clip(place, 0, after.size - 1)])
        return self._log_ways[size][: gains.shape[1]] + theta * gains + ways

    def most(self) -> float:
        """The largest sum, in units of the statistic."""
        after = np.zeros(1)
        for block in reversed(range(self.total.sizes.size)):
            gains = self.gains(block)
            h = np.arange(self.low[block], self.high[block] + 1)[:, None]
            place = h + np.arange(gains.shape[1]) - self.low[block + 1]
            outside = (place < 0) | (place >= after.size)
            best = np.where(outside, -np.inf, after[np.clip(place, 0, after.size - 1)])
            after = (gains + best).max(axis=1)
        return float(after[0])

    def log_mean(self, theta: float) -> float:
        """The logarithm of the mean of ``exp(theta * scale * sum)``."""
        after = np.zeros(1)
        for block in reversed(range(self.total.sizes.size)):
            after = _log_sum(self._terms(theta, block, after))
        return float(after[0]) - self._log_placements

    def shares(self, theta: float) -> list[np.ndarray]:
        """For each block, the probabilities of y in the block given h before it."""
        after, shares = np.zeros(1), []
        for block in reversed(range(self.total.sizes.size)):
            terms = self._terms(theta, block, after)
            after = _log_sum(terms)
            possible = np.where(np.isfinite(after), after, 0.0)
            shares.append(np.exp(terms - possible[:, None]))
        return shares[::-1]

    def means(self, shares: Sequence[np.ndarray]) -> np.ndarray:
        """Mean numbers of counted items in the blocks."""
        reached, means = np.ones(1), []
        for block, share in enumerate(shares):
            joint = reached[:, None] * share
            means.append(float((joint.sum(axis=0) * np.arange(share.shape[1])).sum()))
            reached = np.zeros(self.high[block + 1] - self.low[block + 1] + 1)
            rows, found = np.nonzero(joint)
            place = rows + self.low[block] + found - self.low[block + 1]
            np.add.at(reached, place, joint[rows, found])
        return np.array(means)

    def draw(
        self,
        shares: Sequence[np.ndarray],
        rng: np.random.Generator,
        n_draws: int,
        other: Sum | None = None,
    ) -> Any:
        """Sums, in units of the statistic, of placements that are drawn with these shares.

        With another sum of the same blocks, its values for these placements as well.
        """
        others = np.zeros(n_draws)
        hits, sums = np.zeros(n_draws, dtype=np.int64), np.zeros(n_draws)
        for block, share in enumerate(shares):
            cumulated = np.cumsum(share, axis=1)
            cumulated /= np.where(cumulated[:, -1:] > 0.0, cumulated[:, -1:], 1.0)
            rows = np.arange(share.shape[0])
            at = hits - self.low[block]
            # Each row has its own unit interval.
            flat = (np.minimum(cumulated, 1.0) + rows[:, None]).ravel()
            found = np.searchsorted(flat, at + rng.random(n_draws), side="right")
            found = np.minimum(found - at * share.shape[1], share.shape[1] - 1)
            sums += self.scale * self.total.gain(block, hits, found)
            if other is not None:
                others += other.gain(block, hits, found)
            hits += found
        return sums if other is None else (sums, others)

    def banded(self, shares: Sequence[np.ndarray]) -> tuple[list[np.ndarray], float]:
        """Where probabilities matter, as masks of the shares, and the probability elsewhere."""
        reached, masks, left_out = np.ones(1), [], 0.0
        for block, share in enumerate(shares):
            joint = reached[:, None] * share
            mask = joint > _RARE
            left_out += float(joint[~mask].sum())
            masks.append(mask)
            after = np.zeros(self.high[block + 1] - self.low[block + 1] + 1)
            rows, found = np.nonzero(mask)
            place = rows + self.low[block] + found - self.low[block + 1]
            np.add.at(after, place, joint[rows, found])
            reached = after
        return masks, left_out

    def transform(
        self, shares: Sequence[np.ndarray], masks: Sequence[np.ndarray], u: np.ndarray
    ) -> np.ndarray:
        """The mean of ``exp(i u scale sum)`` under the tilt."""
        reached = np.ones((1, u.size), dtype=complex)
        for block, (share, mask) in enumerate(zip(shares, masks, strict=True)):
            gains = self.gains(block)
            n_after = self.high[block + 1] - self.low[block + 1] + 1
            after = np.zeros((n_after, u.size), dtype=complex)
            for y in np.flatnonzero(mask.any(axis=0)).tolist():
                rows = np.flatnonzero(mask[:, y])
                turned = np.exp(1j * np.outer(gains[rows, y], u))
                turned *= share[rows, y][:, None]
                turned *= reached[rows]
                after[rows + self.low[block] + y - self.low[block + 1]] += turned
            reached = after
        return reached[0]


def _log_sum(terms: np.ndarray) -> np.ndarray:
    most = terms.max(axis=1)
    finite = np.where(np.isfinite(most), most, 0.0)
    with np.errstate(divide="ignore"):
        return finite + np.log(np.exp(terms - finite[:, None]).sum(axis=1))


class TiltedMean:
    """A mean of independent statistics under one tilt; of one statistic mostly."""

    def __init__(self, totals: Sequence[Sum], effort: FarEffort, seed: int) -> None:
        n = len(totals)
        self.rng, self.effort = np.random.default_rng(seed), effort
        self.parts: dict[int, tuple[Tilted, int]] = {}
        for total in totals:
            part, count = self.parts.get(id(total), (Tilted(total, total.slope / n), 0))
            self.parts[id(total)] = part, count + 1
        self.intercept = math.fsum(total.intercept / n for total in totals)
        self.constant = max(total.constant + total.error for total in totals)
        n_steps = sum(part.total.sizes.size for part, _ in self.parts.values())
        n_cells = sum(part.n_cells for part, _ in self.parts.values())
        # A step of a pass costs some hundred cells.
        self.is_affordable = n_cells + 300.0 * n_steps <= effort.cells
        self._known: dict[float, tuple[float, float]] = {}

    @cached_property
    def deviation(self) -> float:
        """The standard deviation without a tilt, roughly."""
        variance = 0.0
        for part, count in self.parts.values():
            variance += count * float((part.scale * draw_sums(part.total, self.rng, 500)).var())
        return math.sqrt(variance)

    def log_mean(self, theta: float) -> float:
        return math.fsum(count * part.log_mean(theta) for part, count in self.parts.values())

    def tilt_at(self, x: float) -> tuple[float, float]:
        """A tilt for ``P(S >= x)``, and the logarithm of Chernoff's bound with it.

        The bound divided by the tilt, to which the probability is close, is made least: near the
        mean, too, the tilt is then that of a standard deviation.
        """
        key = float(f"{x:.9g}")
        if key in self._known:
            return self._known[key]
        s = x - self.intercept

        def log_estimate(log_steps: float) -> float:
            theta = math.exp(log_steps) / self.deviation
            return self.log_mean(theta) - theta * s - log_steps

        ends = math.log(1e-3), math.log(500.0)
        best = minimize_scalar(log_estimate, bounds=ends, method="bounded", options={"xatol": 1e-3})
        theta = math.exp(float(best.x)) / self.deviation
        self._known[key] = theta, float(best.fun + best.x)
        return self._known[key]

    def thresholds(self, x: float) -> tuple[float, float]:
        """Sums that are surely, and maybe, those of values of at least x."""
        sure = x - SURELY_SAME * abs(x) - 2e-15 * self.constant
        maybe = x - MAYBE_SAME * abs(x) - 1e-11 * self.constant - 1e-300
        return sure - self.intercept, maybe - self.intercept


class ImportanceSampling:
    """Limits of a far tail from placements that are drawn under the tilt.

    The mean of weights, none of which is more than that at the threshold, has limits by Bernstein's
    inequality with the empirical variance [1]_.

    References
    ----------
    .. [1] Maurer, A., & Pontil, M. (2009). Empirical Bernstein bounds and sample-variance
       penalization. Proceedings of the 22nd Annual Conference on Learning Theory.
    """

    name = "importance sampling"

    def __init__(self, mean: TiltedMean) -> None:
        self.mean = mean

    def log_pvalue(self, x: float) -> tuple[float, float]:
        theta, log_most = self.mean.tilt_at(x)
        sums = np.zeros(self.mean.effort.draws)
        for part, count in self.mean.parts.values():
            shares = part.shares(theta)
            for _ in range(count):
                sums += part.draw(shares, self.mean.rng, sums.size)
        # Sums that are equal but for rounding errors may count as those of x, or not.
        sure, maybe = self.mean.thresholds(x)
        least, _ = self._limits(sums - sure, theta)
        _, most = self._limits(sums - maybe, theta)
        slack = _ROUNDING * (1.0 + abs(log_most))
        lower = log_most + math.log(least) - slack if least > 0.0 else -math.inf
        return lower, min(log_most + theta * (sure - maybe) + math.log(most) + slack, 0.0)

    def _limits(self, beyond: np.ndarray, theta: float) -> tuple[float, float]:
        """Limits of the mean of weights, in units of the weight at the threshold."""
        weights = np.where(beyond >= 0.0, np.exp(np.minimum(-theta * beyond, 0.0)), 0.0)
        n, log_misses = self.mean.effort.draws, math.log(2.0 / MISSES)
        width = math.sqrt(2.0 * log_misses / n) * float(weights.std(ddof=1))
        width += 7.0 * log_misses / (3.0 * (n - 1.0))
        return float(weights.mean()) - width, float(weights.mean()) + width


class BandLimited:
    """Bounds of a far tail from the transform on a finite band [1]_.

    With the tilt ``theta``, the probability is ``exp(K - theta s)`` times the tilted mean of
    ``exp(-theta (S - s))`` over ``S >= s``. Functions of exponential type ``2 pi delta`` lie above
    and below the truncated exponential, and their periodic means are finite sums. Repeated with
    period T, a function above stays above; what the one below gains by its repetitions is at most
    ``1 / (exp(theta T) - 1)`` of a probability, since it is nowhere more than the exponential.

    References
    ----------
    .. [1] Graham, S. W., & Vaaler, J. D. (1981). A class of extremal functions for the Fourier
       transform. Transactions of the American Mathematical Society, 265(1), 283-302.
    """

    name = "band-limited bounds"

    def __init__(self, mean: TiltedMean, types_per_tilt: float = 12.0) -> None:
        self.mean, self.types_per_tilt = mean, types_per_tilt

    def log_pvalue(self, x: float) -> tuple[float, float]:
        theta, log_most = self.mean.tilt_at(x)
        sure, maybe = self.mean.thresholds(x)
        delta = self.types_per_tilt * theta
        period, above = self._period(theta, sure, log_most)
        n_nodes = math.ceil(delta * period)
        period = n_nodes / delta
        u = 2.0 * math.pi * np.arange(1.0, n_nodes) / period
        phi, left_out, n_cells = np.ones(u.size, dtype=complex), 0.0, 0.0
        banded = []
        for part, count in self.mean.parts.values():
            shares = part.shares(theta)
            masks, omitted = part.banded(shares)
            left_out += count * omitted
            n_cells += sum(float(mask.sum()) for mask in masks) + 50.0 * len(masks)
            banded.append((part, count, shares, masks))
        if n_cells * n_nodes > self.mean.effort.transforms:
            return -math.inf, 0.0
        step = max(1, int(4e6 / max(1.0, max(m.shape[0] for *_, ms in banded for m in ms))))
        for first in range(0, u.size, step):
            for part, count, shares, masks in banded:
                phi[first : first + step] *= (
                    part.transform(shares, masks, u[first : first + step]) ** count
                )
        t = np.arange(1.0, n_nodes) / n_nodes
        ratio = 1.0 / self.types_per_tilt
        at_zero = -1.0 / math.expm1(-ratio)
        q = np.exp(-ratio - 2j * math.pi * t)
        majorant = (1.0 - t) / (1.0 - q)
        majorant += (ratio / math.expm1(ratio) - ratio * q / (1.0 - q)) / (2j * math.pi)
        absolute = (at_zero + 2.0 * float(np.abs(majorant).sum())) / n_nodes
        # Angles are rounded, too.
        top = math.fsum(count * part.most() for part, count in self.mean.parts.values())
        rounded = 1e-13 + 1e-15 * 2.0 * math.pi * delta * (top + abs(sure))
        error = (left_out + rounded) * absolute

        def periodic(of: np.ndarray, of_zero: float, s: float) -> float:
            turned = of * phi * np.exp(-1j * u * s)
            return (of_zero + 2.0 * float(turned.real.sum())) / n_nodes

        upper = max(periodic(majorant, at_zero, maybe), 0.0) + error
        below = periodic(majorant - (1.0 - t), at_zero - 1.0, sure) - error - above
        slack = _ROUNDING * (1.0 + abs(log_most))
        log_upper = float(log_most + theta * (sure - maybe) + math.log(upper) + slack)
        log_lower = -math.inf
        if below > 0.0:
            log_lower = log_most + math.log(below) - slack
            log_repeated = -theta * period - math.log(-math.expm1(-theta * period))
            kept = -math.expm1(log_repeated - log_lower)
            log_lower = log_lower + math.log(kept) if kept > 0.0 else -math.inf
        return log_lower, min(log_upper, 0.0)

    def _period(self, theta: float, s: float, log_most: float) -> tuple[float, float]:
        """A period, and at most how much more the function below has by sums above s + T.

        There its repetitions are at most 1, so that they add no more than the tilted probability of
        ``S >= s + j T`` for each j, for which Chernoff's bound is taken.
        """
        top = math.fsum(count * part.most() for part, count in self.mean.parts.values())
        log_mean, further = self.mean.log_mean(theta), theta * np.array([0.1, 0.3, 1.0, 3.0])
        logs = np.array([self.mean.log_mean(theta + more) - log_mean for more in further.tolist()])
        period = (14.0 + abs(log_most)) / theta
        while period <= top - s:
            j = np.arange(1.0, (top - s) / period + 1.0)[:, None]
            above = float(np.exp(np.minimum(logs - further * (s + j * period), 0.0).min(1)).sum())
            if above < 1e-8:
                return period, above
            period *= 1.2
        return period, 0.0


class CountsSampling:
    """A lower limit of a far tail from placements that are drawn with likelier blocks.

    Where hits in one block add the more the more there are, a value far out may be reached by no
    tilt of the sum: some tilt has its mass below it, and a slightly larger one above. Blocks are
    tilted instead, each by the gradient of the sum at the mean counts, until these have the value.
    Other ways to reach the value may be missed, so that there is a lower limit alone: seven
    standard errors below the mean, and less by what no draw may have shown.
    """

    name = "importance sampling of counts"

    def __init__(self, mean: TiltedMean, total: Sum) -> None:
        self.mean, self.total = mean, total

    def _value(self, counts: np.ndarray) -> float:
        before = np.cumsum(counts) - counts
        return math.fsum(
            float(self.total.gain(block, np.float64(h), np.float64(y)))
            for block, (h, y) in enumerate(zip(before.tolist(), counts.tolist(), strict=True))
        )

    def _gradient(self, counts: np.ndarray) -> np.ndarray:
        steps = 1e-4 * np.eye(counts.size)
        return np.array(
            [(self._value(counts + step) - self._value(counts - step)) / 2e-4 for step in steps]
        )

    def _tilted(self, slopes: np.ndarray) -> Tilted:
        def gain(block: int, h: np.ndarray, y: np.ndarray) -> np.ndarray:
            return y * slopes[block]

        return Tilted(Sum(self.total.sizes, self.total.n_counted, gain), 1.0)

    def log_pvalue(self, x: float) -> tuple[float, float]:
        sure, _ = self.mean.thresholds(x)
        s = sure / self.total.slope
        slopes = 1.0 / np.cumsum(self.total.sizes)
        tilted, steepness = self._tilted(slopes), 0.0
        for _ in range(6):
            slopes = slopes / np.abs(slopes).max()
            tilted = self._tilted(slopes)
            low, high = 0.0, 40.0
            for _ in range(14):
                steepness = 0.5 * (low + high)
                if self._value(tilted.means(tilted.shares(steepness))) < s:
                    low = steepness
                else:
                    high = steepness
            slopes = self._gradient(tilted.means(tilted.shares(steepness)))
        log_mean = tilted.log_mean(steepness)
        tilts, sums = tilted.draw(
            tilted.shares(steepness), self.mean.rng, self.mean.effort.draws, self.total
        )
        inside = sums >= s
        if not inside.any():
            return -math.inf, 0.0
        logs = np.where(inside, log_mean - steepness * tilts, -math.inf)
        most = float(logs.max())
        weights = np.exp(logs - most)
        n = weights.size
        lower = float(weights.mean()) - 7.0 * float(weights.std(ddof=1)) / math.sqrt(n)
        # What no draw has shown has at most this share, and may not count.
        lower *= 1.0 - math.log(2.0 / MISSES) / n
        return (most + math.log(lower) if lower > 0.0 else -math.inf), 0.0


# ---------------------------------------------------------------------------------------------
# Whole numbers
# ---------------------------------------------------------------------------------------------


class WholeNumbers:
    """The numbers of placements with each sum, for sums of multiples of a step.

    A distribution is one whole number: the number of placements with sum j steps is its j-th digit
    in a base that no number of placements reaches. So a gain is a shift, and the placements from a
    threshold on are the sum of the digits that are left, the rest after division by the base
    minus 1.
    """

    name = "whole numbers"

    def __init__(self, total: Sum, effort: FarEffort) -> None:
        self.total, self.is_affordable = total, False
        self.scale = 1
        if total.weights is not None:
            most = int(total.sizes.max())
            parts = [Fraction(w).limit_denominator(most) for w in total.weights.tolist()]
            self.scale = math.lcm(*(part.denominator for part in parts))
            if self.scale > 10**6:
                return
            scaled = total.weights * self.scale
            if np.abs(scaled - np.rint(scaled)).max() > 1e-9 * self.scale:
                return
        elif not total.is_whole:
            return
        tilted = Tilted(total, 1.0)
        n, c = total.n, total.n_counted
        if tilted.n_cells > 1e5:
            return
        gains = [
            np.rint(self.scale * tilted.gains(block)).astype(np.int64)
            for block in range(total.sizes.size)
        ]
        self.step = math.gcd(*(int(np.gcd.reduce(each, axis=None)) for each in gains)) or 1
        self.placements = math.comb(n, c)
        bits = self.placements.bit_length() + 1
        top = sum(int(each.max()) for each in gains) // self.step + 1
        if tilted.n_cells * top * bits > effort.bits:
            return
        self.is_affordable, self.base = True, 1 << bits
        self.bits = bits
        known = {0: 1}
        for block, size in enumerate(total.sizes.tolist()):
            after: dict[int, int] = {}
            for h, ways in known.items():
                for y in range(max(0, tilted.low[block + 1] - h), min(size, c - h) + 1):
                    gain = int(gains[block][h - tilted.low[block], y]) // self.step
                    more = (ways * math.comb(size, y)) << (bits * gain)
                    after[h + y] = after.get(h + y, 0) + more
            known = after
        self.ways = known[c]

    def n_at_least(self, s: float) -> int:
        """Number of placements whose sum is at least s."""
        place = max(0, math.ceil(s * self.scale / self.step))
        return (self.ways >> (self.bits * place)) % (self.base - 1)

    def log_pvalue(self, x: float) -> tuple[float, float]:
        error = self.total.constant
        ends = (
            x - SURELY_SAME * abs(x) - 2e-15 * error,
            x - MAYBE_SAME * abs(x) - 1e-11 * error - 1e-300,
        )
        numbers = [self.n_at_least((e - self.total.intercept) / self.total.slope) for e in ends]
        logs = [math.log(k) - math.log(self.placements) if k else -math.inf for k in numbers]
        return logs[0], logs[1]


@dataclass(frozen=True)
class Listed:
    """A distribution given by its atoms."""

    atoms: Atoms
    name = "all values"

    def log_pvalue(self, x: float) -> tuple[float, float]:
        low, high = self.atoms.at_least(x - SURELY_SAME * abs(x), x - MAYBE_SAME * abs(x))
        # Smaller probabilities are out of the range of floats.
        log_low = math.log(min(low, 1.0)) if low > _SMALLEST else -math.inf
        return log_low, math.log(min(max(high, _SMALLEST), 1.0))


def far_tails(totals: Sequence[Sum], effort: FarEffort, seed: int) -> list[FarTail]:
    """The ways that are affordable for a mean of independent statistics."""
    ways: list[FarTail] = []
    if len(totals) == 1 and totals[0].slope > 0.0:
        whole = WholeNumbers(totals[0], effort)
        if whole.is_affordable:
            return [whole]
    mean = TiltedMean(totals, effort, seed)
    if mean.is_affordable and mean.deviation > 0.0:
        ways += [ImportanceSampling(mean), BandLimited(mean)]
        few = len(totals) == 1 and totals[0].sizes.size <= 30
        # The tilt of the blocks takes some hundred passes.
        few &= sum(part.n_cells for part, _ in mean.parts.values()) <= effort.cells / 10.0
        if few and totals[0].weights is None and totals[0].slope > 0.0:
            ways.append(CountsSampling(mean, totals[0]))
    return ways
