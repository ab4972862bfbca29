"""Distributions of the number of hits at k: exact given the ties, and two approximations.

With a items in blocks that end by k, and j places left for the g items of the block that straddles
k, the number of hits at k is ``H + Y j / g``: H hits among the a, Y among the g. In lowest terms
``j / g = p / q``, its values are whole multiples of 1 / q, here called units.

All distributions hold one problem for every entry of k, and take values of a shape that k
broadcasts to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import log_ndtr, ndtr, ndtri

from sklearn_rankinf._engine.hypergeometric import (
    log_pmf,
    log_tail,
    mean_and_deviation,
    smallest,
)
from sklearn_rankinf._engine.statistics import Floats, HitsAtK, Integers

# Terms this far below the largest, in nats, are left out of a sum.
_DEPTH = 42.0
# Terms of sums over a straddling block that are held in memory at a time.
_TERMS = 2**17
# numpy's generator of hypergeometric numbers is limited to fewer items than this.
_GENERATOR_LIMIT = 10**9


class HitsDistribution:
    """The exact distribution of the number of hits at k, divided as the statistic says.

    Parameters
    ----------
    statistic : HitsAtK
        The statistic; its k may be an array.
    n_samples, n_positives : int
        Size of the ranking and number of positives.
    tie_sizes : ndarray or None
        Sizes of the blocks of equal scores; None without ties.
    """

    is_listed = True

    def __init__(
        self, statistic: HitsAtK, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> None:
        self.n_samples, self.n_positives = n_samples, n_positives
        self.before, self.inside, self.counted = statistic.straddling(tie_sizes)
        divisor = np.gcd(self.counted, self.inside)
        self._places = self.counted // divisor
        self.n_units = self.inside // divisor
        # The type of integers that holds every number of units.
        most = float(np.max(self.n_units)) * float(np.max(self.before + self.inside))
        self._integer = np.dtype(np.int64 if most < 2.0**61 else object)
        k = np.asarray(statistic.k)
        divided_by = np.asarray(statistic.divided_by(n_samples, n_positives))
        self.divisor = np.broadcast_to(divided_by, k.shape)

    @property
    def step(self) -> Floats:
        """Distance of neighbouring values."""
        return np.asarray(1.0 / (self.n_units * self.divisor.astype(float)))

    def tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), its log, and the relative error."""
        units = np.asarray(t * self.divisor * self.n_units)
        units = np.ceil(units) if sign > 0 else np.floor(units)
        log_p = self._log_tail(self._as_integers(units), sign)
        return np.exp(log_p), log_p, self._error(log_p)

    def quantile(self, q: Floats, sign: int) -> Floats:
        """Smallest value v with ``P(S <= v) >= q`` (sign -1) or ``P(S > v) <= q`` (sign 1)."""
        q = np.asarray(np.broadcast_arrays(q, self.divisor)[0], dtype=float)
        with np.errstate(divide="ignore"):
            level = np.log(q) + sign * 1e-12

        def reached(units: Any) -> NDArray[np.bool_]:
            if sign > 0:
                return np.asarray(self._log_tail(units + 1, 1) <= level)
            return np.asarray(self._log_tail(units, -1) >= level)

        low, high = (np.broadcast_to(end, q.shape) for end in self._ends())
        mean, deviation = mean_and_deviation(
            self.n_samples, self.n_positives, self.before + self.counted
        )
        guess = (mean - sign * ndtri(q) * deviation) * self.n_units
        width = np.broadcast_to(deviation * self.n_units, q.shape)
        units = smallest(reached, low, high, guess, width)
        return self._value(units)

    def support(self) -> tuple[Any, Any]:
        """Smallest and largest value."""
        low, high = (self._value(units) for units in self._ends())
        return (low, high) if low.ndim else (float(low), float(high))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw from the distribution, for every entry of k independently."""
        shape = shape + self.before.shape
        n, m = self.n_samples, self.n_positives
        if n >= _GENERATOR_LIMIT:
            return self.quantile(rng.uniform(1e-300, 1.0, size=shape), -1)
        hits = rng.hypergeometric(m, n - m, self.before, size=shape)
        left = m - hits
        size = np.where(self.counted > 0, self.inside, 0)
        found = rng.hypergeometric(left, n - self.before - left, size)
        return np.asarray((hits + found * self.counted / self.inside) / self.divisor)

    def _value(self, units: Any) -> Floats:
        return np.asarray(units / self.n_units / self.divisor, dtype=float)

    def _as_integers(self, units: Floats) -> Any:
        """Whole floats as integers, of Python where they are too large for 64 bits."""
        low, high = self._ends()
        limited = np.clip(units, low.astype(float) * (1.0 - 1e-9) - 2.0, high.astype(float) + 2.0)
        if self._integer.kind == "i":
            return limited.astype(np.int64)
        return np.asarray(np.frompyfunc(int, 1, 1)(limited), dtype=object)

    def _ends(self) -> tuple[Any, Any]:
        """Smallest and largest value in units."""
        m, misses = self.n_positives, self.n_samples - self.n_positives
        size = np.where(self.counted > 0, self.inside, 0)
        before, n_units, places = self._exactly(self.before, self.n_units, self._places)

        def largest(n_hits: int) -> Any:
            first = np.minimum(before, n_hits)
            return first * n_units + np.minimum(size, n_hits - first) * places

        everything = before * n_units + size * places
        low, high = self._exactly(everything - largest(misses), largest(m))
        return low, high

    def _exactly(self, *values: Any) -> list[Any]:
        return [np.asarray(value).astype(self._integer) for value in values]

    def _error(self, log_p: Floats) -> Floats:
        """Relative error: rounding of the logarithm, and of sums of many terms."""
        return 1e-13 + 2e-15 * np.abs(np.where(np.isfinite(log_p), log_p, 0.0))

    def _log_tail(self, units: Any, sign: int) -> Floats:
        """Tails beyond integer numbers of units."""
        units, before, inside, counted, places, n_units = np.broadcast_arrays(
            np.asarray(units, dtype=self._integer),
            self.before,
            self.inside,
            self.counted,
            self._places,
            self.n_units,
        )
        out = np.empty(units.shape)
        whole = counted == 0
        n, m = self.n_samples, self.n_positives
        if whole.any():
            hits = units[whole].astype(np.int64)
            out[whole] = log_tail(hits, n, m, before[whole], sign)
        if not whole.all():
            cut = ~whole
            units, before, inside = units[cut], before[cut], inside[cut]
            places, n_units = self._exactly(places[cut], n_units[cut])
            if sign < 0:
                # As many misses as the places hold, less the hits: more of them is fewer hits.
                units, m = before * n_units + inside * places - units, n - m
            out[cut] = _StraddledTails(units, n, m, before, inside, n_units, places).log_p()
        return out


class _StraddledTails:
    """``P(w_1 X_1 + w_2 X_2 >= units)`` for hits X_1, X_2 in two blocks, entry by entry.

    The sum runs over the block whose hits vary less: given x there, the hits in the other are
    hypergeometric among the items that are left.
    """

    def __init__(
        self,
        units: Any,
        n: int,
        m: int,
        before: Integers,
        inside: Integers,
        w_before: Any,
        w_inside: Any,
    ) -> None:
        self.units, self.n, self.m = units, n, m
        inner = before.astype(float) * (n - before) < inside.astype(float) * (n - inside)
        self.outer, self.other = np.where(inner, before, inside), np.where(inner, inside, before)
        self.w_outer = np.where(inner, w_before, w_inside).astype(units.dtype)
        self.w_other = np.where(inner, w_inside, w_before).astype(units.dtype)
        self.least = np.maximum(0, self.outer - (n - m))
        self.most = np.minimum(self.outer, m)

    def log_p(self) -> Floats:
        """Natural logarithms of the tails."""
        low, high = self._window()
        out = np.full(self.outer.shape, -np.inf)
        open_ = np.arange(self.outer.size)
        while open_.size:
            grow_low, grow_high = (np.zeros(open_.size, dtype=bool) for _ in range(2))
            for part in _portions(high[open_] - low[open_] + 1):
                which = open_[part]
                first, last, top, total = self._sums(which, low[which], high[which])
                out[which] = total
                unseen = top == -np.inf
                rise = high[which] < self.most[which]
                grow_high[part] = rise & (unseen | (last > top - _DEPTH))
                fall = low[which] > self.least[which]
                grow_low[part] = fall & (unseen | (first > top - _DEPTH))
            # Until the terms at both ends are negligible, or there are no others.
            width = high[open_] - low[open_] + 1
            low[open_] = np.where(
                grow_low, np.maximum(low[open_] - width, self.least[open_]), low[open_]
            )
            high[open_] = np.where(
                grow_high, np.minimum(high[open_] + width, self.most[open_]), high[open_]
            )
            open_ = open_[grow_low | grow_high]
        return np.asarray(np.minimum(out, 0.0))

    def _window(self) -> tuple[Integers, Integers]:
        """Where the outer hits are, given the sum, if all were normal."""
        n, m = float(self.n), float(self.m)
        outer, other = self.outer.astype(float), self.other.astype(float)
        w1, w2 = self.w_outer.astype(float), self.w_other.astype(float)
        p = m / n
        unit = p * (1.0 - p) / max(n - 1.0, 1.0)
        spread, cross = outer * (n - outer) * unit, -outer * other * unit
        with_sum = w1 * spread + w2 * cross
        of_sum = w1 * with_sum + w2 * (w2 * other * (n - other) * unit + w1 * cross)
        excess = np.maximum(self.units.astype(float) - p * (w1 * outer + w2 * other), 0.0)
        centre = outer * p + with_sum / np.where(of_sum > 0.0, of_sum, 1.0) * excess
        reach = 8.0 * np.sqrt(spread) + 8.0
        low = np.clip(np.floor(centre - reach), self.least, self.most).astype(np.int64)
        high = np.clip(np.ceil(centre + reach), self.least, self.most).astype(np.int64)
        return low, high

    def _sums(
        self, which: Integers, low: Integers, high: Integers
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """First, last and largest log term, and log sum, over the windows of some entries."""
        widths = high - low + 1
        ends = np.cumsum(widths)
        starts = ends - widths
        entry = np.repeat(which, widths)
        x = np.arange(int(ends[-1])) - np.repeat(starts - low, widths)
        w2 = self.w_other[entry]
        needed = -((x * self.w_outer[entry] - self.units[entry]) // w2)
        other = self.other[entry]
        needed = np.clip(needed, -1, other + 1).astype(np.int64)
        terms = log_pmf(x, self.n, self.m, self.outer[entry])
        inner = log_tail_in_parts(needed, self.n - self.outer[entry], self.m - x, other)
        terms = terms + inner
        top = np.maximum.reduceat(terms, starts)
        shift = np.where(np.isfinite(top), top, 0.0)
        sums = np.add.reduceat(np.exp(terms - np.repeat(shift, widths)), starts)
        with np.errstate(divide="ignore"):
            total = shift + np.log(sums)
        return terms[starts], terms[ends - 1], top, total


def log_tail_in_parts(h: Integers, n: Integers, m: Integers, k: Integers) -> Floats:
    """`log_tail` of many tables, so many at a time that they stay in the processor's cache."""
    parts = [slice(i, i + 2**15) for i in range(0, h.size, 2**15)]
    return np.concatenate([log_tail(h[s], n[s], m[s], k[s]) for s in parts])


def _portions(widths: Integers) -> Iterator[slice]:
    """Consecutive entries with about `_TERMS` terms together."""
    group = (np.cumsum(widths) - widths) // _TERMS
    edges = np.flatnonzero(np.diff(group, prepend=-1))
    for start, stop in zip(edges, np.append(edges[1:], widths.size), strict=True):
        yield slice(int(start), int(stop))


class ApproximateHits:
    """An approximation of the distribution of hits at k, on the values that hits can have.

    Where the exact distribution has a single value, so has the approximation.

    Parameters
    ----------
    exact : HitsDistribution
        The distribution that is approximated.
    """

    is_listed = False

    def __init__(self, exact: HitsDistribution) -> None:
        self._exact = exact
        low, high = exact.support()
        self._constant = np.asarray(low) == np.asarray(high)

    def tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """Upper (sign 1) or lower (sign -1) tail and its log; the error is unknown."""
        p, log_p = self._approximate_tail(t * self._exact.divisor, sign)
        error = np.full(p.shape, np.inf)
        if not self._constant.any():
            return p, log_p, error
        exact = self._exact.tail(t, sign)
        return tuple(  # type: ignore[return-value]
            np.where(self._constant, one, other)
            for one, other in zip(exact, (p, log_p, error), strict=True)
        )

    def quantile(self, q: Floats, sign: int) -> Floats:
        """Smallest value v with ``P(S <= v) >= q`` (sign -1) or ``P(S > v) <= q`` (sign 1)."""
        value = self._approximate_quantile(q, sign) / self._exact.divisor
        return np.asarray(np.where(self._constant, self._exact.support()[0], value))

    def support(self) -> tuple[Any, Any]:
        """Smallest and largest value."""
        ends = tuple(
            np.where(self._constant, exact, np.asarray(end) / self._exact.divisor)
            for exact, end in zip(self._exact.support(), self._approximate_ends(), strict=True)
        )
        low, high = ends
        return (low, high) if low.ndim else (float(low), float(high))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        """Draw from the distribution, for every entry of k independently."""
        shape = shape + self._exact.before.shape
        return self.quantile(rng.uniform(1e-300, 1.0, size=shape), -1)

    def _approximate_tail(self, hits: Floats, sign: int) -> tuple[Floats, Floats]:
        raise NotImplementedError

    def _approximate_quantile(self, q: Floats, sign: int) -> Floats:
        raise NotImplementedError

    def _approximate_ends(self) -> tuple[Any, Any]:
        raise NotImplementedError


class BinomialHits(ApproximateHits):
    """Hits as if items were drawn with replacement: binomial with k trials, whole numbers only."""

    def __init__(self, exact: HitsDistribution) -> None:
        super().__init__(exact)
        self._trials = exact.before + exact.counted
        self._share = exact.n_positives / exact.n_samples

    def _approximate_tail(self, hits: Floats, sign: int) -> tuple[Floats, Floats]:
        return binomial_tail(hits, self._trials, self._share, sign)

    def _approximate_quantile(self, q: Floats, sign: int) -> Floats:
        distribution = stats.binom(self._trials, self._share)
        return np.asarray(distribution.isf(q) if sign > 0 else distribution.ppf(q), dtype=float)

    def _approximate_ends(self) -> tuple[Any, Any]:
        return np.zeros_like(self._trials), self._trials


class NormalHits(ApproximateHits):
    """The normal approximation by mean and variance, with a continuity correction.

    Parameters
    ----------
    exact : HitsDistribution
        The distribution that is approximated.
    mean, deviation : ndarray
        Exact mean and standard deviation of the statistic, given the ties.
    """

    def __init__(self, exact: HitsDistribution, mean: Floats, deviation: Floats) -> None:
        super().__init__(exact)
        self._mean = np.asarray(mean * exact.divisor)
        deviation = np.asarray(deviation * exact.divisor)
        self._deviation = np.where(self._constant, 1.0, deviation)
        self._half = 0.5 / exact.n_units

    def _approximate_tail(self, hits: Floats, sign: int) -> tuple[Floats, Floats]:
        units = hits * self._exact.n_units
        hits = (np.ceil(units) if sign > 0 else np.floor(units)) / self._exact.n_units
        return normal_tail(hits, self._mean, self._deviation, sign, self._half)

    def _approximate_quantile(self, q: Floats, sign: int) -> Floats:
        limit = self._mean - sign * ndtri(q) * self._deviation - self._half
        # A limit on a value, up to rounding, is that value.
        return np.asarray(np.ceil(limit * self._exact.n_units - 1e-9) / self._exact.n_units)

    def _approximate_ends(self) -> tuple[Any, Any]:
        everywhere = np.full(self._half.shape, np.inf)
        return -everywhere, everywhere


def binomial_tail(hits: Any, trials: Any, share: float, sign: int) -> tuple[Floats, Floats]:
    """``P(B >= hits)`` (sign 1) or ``P(B <= hits)`` (sign -1) and its logarithm.

    Where the probability underflows the logarithm is that of its bound by a geometric series.
    """
    distribution = stats.binom(trials, share)
    hits = np.ceil(hits) if sign > 0 else np.floor(hits)
    p = np.asarray(distribution.sf(hits - 1.0) if sign > 0 else distribution.cdf(hits))
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p = np.log(p)
        possible = (hits >= 0.0) & (hits <= trials) & (0.0 < share < 1.0)
        odds = share / (1.0 - share) if share < 1.0 else np.inf
        up = (trials - hits) / (hits + 1.0) * odds
        down = hits / ((trials - hits + 1.0) * odds)
        bound = distribution.logpmf(hits) - np.log1p(-(up if sign > 0 else down))
    return p, np.asarray(np.where((p < 1e-290) & possible, bound, log_p))


def normal_tail(
    hits: Any, mean: Any, deviation: Any, sign: int, half: Any
) -> tuple[Floats, Floats]:
    """Upper or lower normal tail from half a step before `hits`, and its logarithm."""
    z = sign * (mean - hits) / deviation + half / deviation
    return np.asarray(ndtr(z)), np.asarray(log_ndtr(z))
