"""The exact distribution of the number of hits at k, given the ties.

"Ties that straddle k" in doc/theory.rst. With a items in blocks that end by k, and j of the g items
of the block that straddles k among the first k, the number of hits at k is ``H + Y j / g``: H hits
among the a, Y among the g. With ``j / g = p / q`` in lowest terms its values are integer multiples
of 1 / q, called units below. Without a straddling block a tail is hypergeometric; otherwise it is a
sum of hypergeometric tails, weighted with hypergeometric probabilities (equation hits-ties). All
terms are positive.

An array of k stands for one distribution per entry; values are broadcast against k.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sklearn_rankinf._statistics import (
    Floats,
    HitsAtK,
    Integers,
    log_pmf,
    log_tail,
    mean_and_deviation,
    smallest,
)

# A sum ends where its terms are smaller than the largest by this many nats: e^-42 = 6e-19.
_DEPTH = 42.0
# Half width of the first window of a sum, in standard deviations, and hits added to it.
_WINDOW = 8.0
# Terms of sums over a straddling block that are held in memory at a time.
_TERMS = 2**17
# numpy's generator of hypergeometric numbers accepts fewer items than this.
_GENERATOR_LIMIT = 10**9


class HitsDistribution:
    """The exact distribution of the number of hits at k over the divisor of the statistic.

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
        # 64-bit integers, or those of Python if they are too small for a number of units.
        most = float(np.max(self.n_units)) * float(np.max(self.before + self.inside))
        self._integer = np.dtype(np.int64 if most < 2.0**61 else object)
        k = np.asarray(statistic.k)
        divided_by = np.asarray(statistic.divided_by(n_samples, n_positives))
        self.divisor = np.broadcast_to(divided_by, k.shape)

    @property
    def step(self) -> Floats:
        """Distance between neighbouring values."""
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
        """Whole floats as integers of the type in use."""
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
        """Relative error: rounding of the logarithm and of the sum of the terms."""
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
        low, high = self._ends()
        everything = units <= low if sign > 0 else units >= high
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
                # At most this many hits are at least the other places in misses.
                units, m = before * n_units + inside * places - units, n - m
            out[cut] = _StraddledTails(units, n, m, before, inside, n_units, places).log_p()
        return np.where(everything, 0.0, out)


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
        growing = np.arange(self.outer.size)
        while growing.size:
            down, up = (np.zeros(growing.size, dtype=bool) for _ in range(2))
            for part in _portions(high[growing] - low[growing] + 1):
                which = growing[part]
                first, last, top, out[which] = self._sums(which, low[which], high[which])
                empty = top == -np.inf
                down[part] = (low[which] > self.least[which]) & (empty | (first > top - _DEPTH))
                up[part] = (high[which] < self.most[which]) & (empty | (last > top - _DEPTH))
            # Windows grow until the terms at both ends are negligible.
            width = high[growing] - low[growing] + 1
            low[growing] = np.maximum(low[growing] - down * width, self.least[growing])
            high[growing] = np.minimum(high[growing] + up * width, self.most[growing])
            growing = growing[down | up]
        return np.asarray(np.minimum(out, 0.0))

    def _window(self) -> tuple[Integers, Integers]:
        """Range of the outer hits given the sum, by a bivariate normal approximation."""
        outer, other = self.outer.astype(float), self.other.astype(float)
        w1, w2 = self.w_outer.astype(float), self.w_other.astype(float)
        p = self.m / self.n
        unit = p * (1.0 - p) / max(self.n - 1.0, 1.0)
        spread, cross = outer * (self.n - outer) * unit, -outer * other * unit
        with_sum = w1 * spread + w2 * cross
        of_sum = w1 * with_sum + w2 * (w2 * other * (self.n - other) * unit + w1 * cross)
        excess = np.maximum(self.units.astype(float) - p * (w1 * outer + w2 * other), 0.0)
        centre = outer * p + with_sum / np.where(of_sum > 0.0, of_sum, 1.0) * excess
        reach = _WINDOW * (np.sqrt(spread) + 1.0)
        low, high = np.clip(
            [np.floor(centre - reach), np.ceil(centre + reach)], self.least, self.most
        )
        return low.astype(np.int64), high.astype(np.int64)

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
        inner = log_tail(needed, self.n - self.outer[entry], self.m - x, other)
        terms = terms + inner
        top = np.maximum.reduceat(terms, starts)
        shift = np.where(np.isfinite(top), top, 0.0)
        sums = np.add.reduceat(np.exp(terms - np.repeat(shift, widths)), starts)
        with np.errstate(divide="ignore"):
            total = shift + np.log(sums)
        return terms[starts], terms[ends - 1], top, total


def _portions(widths: Integers) -> Iterator[slice]:
    """Consecutive entries with about `_TERMS` terms together."""
    group = (np.cumsum(widths) - widths) // _TERMS
    edges = np.flatnonzero(np.diff(group, prepend=-1))
    for start, stop in zip(edges, np.append(edges[1:], widths.size), strict=True):
        yield slice(int(start), int(stop))
