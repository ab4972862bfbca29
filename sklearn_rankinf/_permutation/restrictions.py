"""Restricted permutations of labels: within strata, of whole clusters or blocks, along a series.

A *unit* is an item, a cluster of items with the same label, or a block of consecutive items. The
units of one stratum and one size are an exchangeability *class*: under the null hypothesis every
arrangement of a class's labels over its units is equally likely. Units of different sizes are in
different classes, since exchanging their labels would change the number of hits.

The labels of a *series* are shifted circularly: labels that leave its end enter at its beginning.

Both kinds of arrangements are groups, which makes the tests exact (Hemerik and Goeman 2018 [1]_;
"Restricted permutation" in doc/theory.rst).

References
----------
.. [1] Hemerik, J. and Goeman, J. (2018). Exact testing with random permutations. TEST, 27(4),
   811-825.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sklearn_rankinf._permutation.draws import chunk_sizes, ranks_drawn, uniform_hit_ranks
from sklearn_rankinf._statistics import Floats, HitValues, Integers


class HitItems(Protocol):
    """Draws the items to which the hits are assigned."""

    @property
    def n_drawn(self) -> int:
        """Number of random numbers for a draw."""

    def draw(self, n_draws: int, rng: np.random.Generator) -> Integers:
        """Draw items, one row for each draw, in any order within a row."""


class Exchange:
    """The classes of units, each of one stratum, whose labels may change places.

    Items of two units with the same position correspond to each other; by default their positions
    are the order of the items. `shapes` are the items of the classes, those of the same shape
    together, as arrays of shape (n_classes, n_units, n_items_in_a_unit). `unit_name` is the word
    for units of several items.
    """

    # Arrangements of classes are never listed: None.
    n_listed: int | None = None

    def __init__(
        self,
        strata: Integers,
        units: Integers,
        positions: Integers | None = None,
        unit_name: str = "clusters",
    ) -> None:
        self.unit_name = unit_name
        self.n_items = units.size
        self.n_strata = int(strata.max()) + 1
        sizes = np.bincount(units)
        stratum = np.empty_like(sizes)
        stratum[units] = strata
        _, class_of_unit = np.unique(stratum * (self.n_items + 1) + sizes, return_inverse=True)
        inner = np.arange(self.n_items) if positions is None else positions
        order = np.lexsort((inner, units, class_of_unit[units]))
        n_units = np.bincount(class_of_unit)
        n_items = np.bincount(class_of_unit[units])
        starts = np.cumsum(n_items) - n_items
        _, shape = np.unique(n_units * (self.n_items + 1) + n_items, return_inverse=True)
        self.shapes = []
        for classes in _members(shape):
            n_own, items = n_units[classes[0]], n_items[classes[0]]
            of_class = order[starts[classes][:, None] + np.arange(items)]
            self.shapes.append(of_class.reshape(classes.size, n_own, items // n_own))

    def __repr__(self) -> str:
        return f"n_units={self.n_units}, n_classes={sum(map(len, self.shapes))}"

    def __str__(self) -> str:
        units = f" of {self.n_units} {self.unit_name}" if self.n_units < self.n_items else ""
        return f"labellings{units}" + (f" in {self.n_strata} strata" if self.n_strata > 1 else "")

    @property
    def n_units(self) -> int:
        return sum(items.shape[0] * items.shape[1] for items in self.shapes)

    def first_items(self) -> tuple[Integers, Integers]:
        """The first item of each unit, and the number of the unit's class."""
        firsts = [items[:, :, 0] for items in self.shapes]
        sizes = np.concatenate([np.full(len(own), own.shape[1]) for own in firsts])
        return np.concatenate([own.ravel() for own in firsts]), np.repeat(
            np.arange(sizes.size), sizes
        )

    def hit_items(self, is_hit: NDArray[np.bool_]) -> HitItems:
        """Draws of the items to which the hits are assigned."""
        of_units = (is_hit[items] for items in self.shapes)
        if all(np.all(hits == hits[:, :, :1]) for hits in of_units):
            return _HitsOfWholeUnits(self.shapes, is_hit)
        return _HitsInsideUnits(self.shapes, is_hit)

    def draw_rows(self, n_draws: int, rng: np.random.Generator) -> Integers:
        """For random arrangements, the item to which the label of each item moves.

        The items of a unit stay in their order.
        """
        where = np.empty((n_draws, self.n_items), dtype=np.int64)
        for items in self.shapes:
            n_classes = items.shape[0]
            drawn = items[np.arange(n_classes)[:, None], _orders(items, n_draws, rng)]
            where[:, items.ravel()] = drawn.reshape(n_draws, -1)
        return where

    def log_n_arrangements(self, kinds: Integers) -> float:
        """Logarithm of the number of different arrangements; equal kinds are equal labels."""
        return float(sum(np.sum(_log_arrangements(items, kinds)) for items in self.shapes))

    def n_fixed(self, kinds: Integers) -> int:
        """Number of items whose label is the same in every arrangement."""
        n_fixed = 0
        for items in self.shapes:
            n_fixed += int(np.sum(_log_arrangements(items, kinds) == 0.0)) * items[0].size
        return n_fixed


class _HitsOfWholeUnits:
    """Items of hits if every unit has only hits or only misses: random sets of units."""

    def __init__(self, shapes: list[Integers], is_hit: NDArray[np.bool_]) -> None:
        classes = list(_units_with_hits(shapes, is_hit))
        self._drawn = [(items, n_hits) for items, n_hits in classes if n_hits < items.shape[1]]
        fixed = [items.ravel() for items, n_hits in classes if n_hits == items.shape[1]]
        self._fixed = np.concatenate([np.empty(0, dtype=np.int64), *fixed])

    @property
    def n_drawn(self) -> int:
        return sum(len(items) * ranks_drawn(items.shape[1], hits) for items, hits in self._drawn)

    def draw(self, n_draws: int, rng: np.random.Generator) -> Integers:
        found = [np.broadcast_to(self._fixed, (n_draws, self._fixed.size))]
        for items, n_hits in self._drawn:
            n_classes, n_units, _ = items.shape
            units = uniform_hit_ranks(n_units, n_hits, n_draws * n_classes, rng)
            units = units.reshape(n_draws, n_classes, n_hits)
            found.append(items[np.arange(n_classes)[:, None], units].reshape(n_draws, -1))
        return np.concatenate(found, axis=1)


class _HitsInsideUnits:
    """Items of hits if labels differ within units: random orders of the units."""

    def __init__(self, shapes: list[Integers], is_hit: NDArray[np.bool_]) -> None:
        self._items, self._hits = [], []
        for items in shapes:
            with_hits = items[is_hit[items].any(axis=(1, 2))]
            if len(with_hits):
                self._items.append(with_hits)
                self._hits.append(np.nonzero(is_hit[with_hits]))

    @property
    def n_drawn(self) -> int:
        return sum(items.shape[0] * items.shape[1] for items in self._items)

    def draw(self, n_draws: int, rng: np.random.Generator) -> Integers:
        found = [np.empty((n_draws, 0), dtype=np.int64)]
        for items, (classes, units, places) in zip(self._items, self._hits, strict=True):
            order = _orders(items, n_draws, rng)
            found.append(items[classes, order[:, classes, units], places])
        return np.concatenate(found, axis=1)


class Shifts:
    """Series of items, sorted by position, whose labels are shifted circularly and independently.

    `n_listed` is the number of ways to shift all series.
    """

    def __init__(self, series: Integers, positions: Integers) -> None:
        self.n_items = series.size
        self._series = series
        self._lengths = np.bincount(series)
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._in_order = np.lexsort((positions, series))
        self._places = np.empty_like(self._in_order)
        self._places[self._in_order] = np.arange(self.n_items)
        self._places -= self._starts[series]
        self.n_listed: int | None = math.prod(self._lengths.tolist())

    def __repr__(self) -> str:
        return f"n_series={self.n_strata}, n_shifts={self.n_listed}"

    def __str__(self) -> str:
        return "circular shifts" + (f" of {self.n_strata} series" if self.n_strata > 1 else "")

    @property
    def n_strata(self) -> int:
        return self._lengths.size

    def hit_items(self, is_hit: NDArray[np.bool_]) -> ShiftedHits:
        return ShiftedHits(self, np.flatnonzero(is_hit))

    def draw_rows(self, n_draws: int, rng: np.random.Generator) -> Integers:
        """For random shifts, the item to which the label of each item moves."""
        return self.shifted(np.arange(self.n_items), self.draw(n_draws, rng))

    def list_rows(self, first: int, last: int) -> Integers:
        """Items as in `draw_rows` for the shifts numbered `first` to `last` - 1; 0 is no shift."""
        return self.shifted(np.arange(self.n_items), self.listed(first, last))

    def draw(self, n_draws: int, rng: np.random.Generator) -> Integers:
        """Draw shifts of the series, one row for each draw."""
        return rng.integers(self._lengths, size=(n_draws, self.n_strata))

    def listed(self, first: int, last: int) -> Integers:
        """Shifts of the series with the numbers from `first` to before `last`."""
        numbers = np.arange(first, last)
        return np.stack(np.unravel_index(numbers, self._lengths), axis=1)

    def shifted(self, items: Integers, shifts: Integers) -> Integers:
        """Items to which the labels of some items move, one row for each row of shifts."""
        series = self._series[items]
        places = (self._places[items] + shifts[:, series]) % self._lengths[series]
        return self._in_order[self._starts[series] + places]

    def log_n_arrangements(self, kinds: Integers) -> float:
        return math.fsum(math.log(_period(own)) for own in self._kinds_of_series(kinds))

    def n_fixed(self, kinds: Integers) -> int:
        return sum(own.size for own in self._kinds_of_series(kinds) if np.all(own == own[0]))

    def _kinds_of_series(self, kinds: Integers) -> list[Integers]:
        return np.split(kinds[self._in_order], self._starts[1:])


class ShiftedHits:
    """Items of hits whose series are shifted."""

    def __init__(self, shifts: Shifts, hits: Integers) -> None:
        self._shifts, self._hits = shifts, hits

    @property
    def n_drawn(self) -> int:
        return max(self._hits.size, self._shifts.n_strata)

    def draw(self, n_draws: int, rng: np.random.Generator) -> Integers:
        return self._shifts.shifted(self._hits, self._shifts.draw(n_draws, rng))

    def listed(self, first: int, last: int) -> Integers:
        return self._shifts.shifted(self._hits, self._shifts.listed(first, last))


AnyExchange: TypeAlias = Exchange | Shifts
"""Set of equally likely arrangements of the labels."""


def numbers_of_rows(rows: NDArray[Any]) -> Integers:
    """Integer codes from 0, equal for equal rows."""
    if rows.shape[1] == 1 and rows.dtype.kind != "f":
        return np.asarray(rows[:, 0], dtype=np.int64)
    return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1].ravel())


def _orders(items: Integers, n_draws: int, rng: np.random.Generator) -> Integers:
    """Random orders of the units of each class, of shape (n_draws, n_classes, n_units)."""
    n_classes, n_units, _ = items.shape
    in_order = np.broadcast_to(np.arange(n_units), (n_draws * n_classes, n_units))
    return rng.permuted(in_order, axis=1).reshape(n_draws, n_classes, n_units)


def _units_with_hits(
    shapes: list[Integers], is_hit: NDArray[np.bool_]
) -> Iterator[tuple[Integers, int]]:
    """Groups of classes with equal numbers of hit units, and the number; classes without none."""
    for items in shapes:
        n_hits = is_hit[items[:, :, 0]].sum(axis=1)
        for classes in _members(n_hits):
            if n_hits[classes[0]]:
                yield items[classes], int(n_hits[classes[0]])


def _period(kinds: Integers) -> int:
    """Smallest circular shift of a series that changes nothing: its number of distinct shifts."""
    n = kinds.size
    small = [d for d in range(1, math.isqrt(n) + 1) if n % d == 0]
    for shift in sorted({*small, *(n // d for d in small)}):
        if np.array_equal(kinds[shift:], kinds[: n - shift]):
            return shift
    return n


def _members(numbers: Integers) -> list[Integers]:
    """Positions of each number that occurs."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)


def _log_arrangements(items: Integers, kinds: Integers) -> Floats:
    """Logarithms of the multinomial coefficients that count the arrangements of each class."""
    n_classes, n_units, size = items.shape
    kind = numbers_of_rows(kinds[items].reshape(-1, size))
    n_kinds = int(kind.max()) + 1
    owner = np.repeat(np.arange(n_classes), n_units)
    found, counts = np.unique(owner * n_kinds + kind, return_counts=True)
    several = counts > 1
    equal = np.bincount(
        found[several] // n_kinds, gammaln(counts[several] + 1.0), minlength=n_classes
    )
    alike = np.bincount(found // n_kinds, minlength=n_classes) == 1
    return np.where(alike, 0.0, gammaln(n_units + 1.0) - equal)


class ExchangedHits:
    """Draws values of a statistic of the hits under a restricted permutation of the labels.

    The place of an item is its rank from 0, or its block of equal scores. `best` is the value of a
    perfect ranking.
    """

    def __init__(
        self,
        values: HitValues,
        places: Integers,
        is_hit: NDArray[np.bool_],
        exchange: AnyExchange,
        best: float,
    ) -> None:
        self._values = values
        self._places = places
        self._n_hits = int(is_hit.sum())
        self.exchange = exchange
        self._best = best
        self._hits = exchange.hit_items(is_hit)

    def __repr__(self) -> str:
        return repr(self.exchange)

    @property
    def n_listed(self) -> int | None:
        return self.exchange.n_listed

    def best(self) -> float:
        return self._best

    def exact_moments(self) -> tuple[float | None, float | None]:
        return None, None

    def chunks(self, n_resamples: int) -> list[int]:
        return chunk_sizes(n_resamples, max(self._hits.n_drawn, self._n_hits))

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        return self._of_items(self._hits.draw(n_draws, rng))

    def listed(self, first: int, last: int) -> Floats:
        assert isinstance(self._hits, ShiftedHits)
        return self._of_items(self._hits.listed(first, last))

    def _of_items(self, items: Integers) -> Floats:
        places = np.sort(self._places[items], axis=1)
        return self._values(places) if places.shape[1] else np.zeros(len(places))
