"""Labels that change places only with some others: within strata, and by whole clusters.

A *unit* is an item, or a cluster of items that share their label. The units of one stratum and one
size are a *class*: under the null hypothesis every arrangement of a class's labels over its units
is equally likely. Units of different sizes keep apart, since exchanging their labels would change
the number of hits.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sklearn_rankinf._engine.sampling import (
    HitValues,
    chunk_sizes,
    ranks_drawn,
    uniform_hit_ranks,
)
from sklearn_rankinf._engine.statistics import Floats, Integers, mean_reciprocals_of_firsts


class Exchange:
    """The classes of units whose labels may change places.

    Parameters
    ----------
    strata, clusters : ndarray of int of shape (n_items,)
        Numbers from 0 of the stratum and of the cluster of each item. A cluster lies in one
        stratum.

    Attributes
    ----------
    shapes : list of ndarray of shape (n_classes, n_units, n_items_in_a_unit)
        Items of the classes, those of the same shape together.
    n_items, n_strata : int
        Number of items and of strata.
    """

    def __init__(self, strata: Integers, clusters: Integers) -> None:
        self.n_items = clusters.size
        self.n_strata = int(strata.max()) + 1
        sizes = np.bincount(clusters)
        stratum = np.empty_like(sizes)
        stratum[clusters] = strata
        _, class_of_unit = np.unique(stratum * (self.n_items + 1) + sizes, return_inverse=True)
        order = np.lexsort((clusters, class_of_unit[clusters]))
        n_units = np.bincount(class_of_unit)
        n_items = np.bincount(class_of_unit[clusters])
        starts = np.cumsum(n_items) - n_items
        _, shape = np.unique(n_units * (self.n_items + 1) + n_items, return_inverse=True)
        self.shapes = []
        for classes in _members(shape):
            units, items = n_units[classes[0]], n_items[classes[0]]
            of_class = order[starts[classes][:, None] + np.arange(items)]
            self.shapes.append(of_class.reshape(classes.size, units, items // units))

    def __repr__(self) -> str:
        return f"n_units={self.n_units}, n_classes={sum(map(len, self.shapes))}"

    @property
    def n_units(self) -> int:
        """Number of units."""
        return sum(items.shape[0] * items.shape[1] for items in self.shapes)

    def hits(self, is_hit: NDArray[np.bool_]) -> Iterator[tuple[Integers, int]]:
        """Classes with as many hits among their units, and that number; those without none."""
        for items in self.shapes:
            n_hits = is_hit[items[:, :, 0]].sum(axis=1)
            for classes in _members(n_hits):
                if n_hits[classes[0]]:
                    yield items[classes], int(n_hits[classes[0]])

    def draw_rows(self, n_draws: int, rng: np.random.Generator) -> Integers:
        """For random arrangements, the item on which the labels of each item fall.

        The items of a unit stay in their order.
        """
        where = np.empty((n_draws, self.n_items), dtype=np.int64)
        for items in self.shapes:
            n_classes, n_units, _ = items.shape
            in_order = np.broadcast_to(np.arange(n_units), (n_draws * n_classes, n_units))
            order = rng.permuted(in_order, axis=1).reshape(n_draws, n_classes, n_units)
            drawn = items[np.arange(n_classes)[:, None], order]
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


def _members(numbers: Integers) -> list[Integers]:
    """Positions of each number that occurs."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)


def _log_arrangements(items: Integers, kinds: Integers) -> Floats:
    """Logarithms of the multinomial coefficients that count the arrangements of each class."""
    n_classes, n_units, size = items.shape
    kind = kinds[items].ravel()
    if size > 1:
        kind = np.unique(kind.reshape(-1, size), axis=0, return_inverse=True)[1].ravel()
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
    """Draws values of a statistic of the hits when their labels change places within classes.

    Parameters
    ----------
    values : HitValues
        Values of the statistic for hits at given places.
    places : ndarray of shape (n_items,)
        Place of each item: its rank from 0, or its block of equal scores.
    is_hit : ndarray of bool of shape (n_items,)
        The hits.
    exchange : Exchange
        Which labels may change places.
    best : float
        Value of a perfect ranking.
    """

    def __init__(
        self,
        values: HitValues,
        places: Integers,
        is_hit: NDArray[np.bool_],
        exchange: Exchange,
        best: float,
    ) -> None:
        self._values = values
        self._observed = np.sort(places[is_hit])
        self._exchange = exchange
        self._best = best
        classes = [(places[items], n_hits) for items, n_hits in exchange.hits(is_hit)]
        self._drawn = [(own, n_hits) for own, n_hits in classes if n_hits < own.shape[1]]
        fixed = [own.ravel() for own, n_hits in classes if n_hits == own.shape[1]]
        self._fixed = np.concatenate([np.empty(0, dtype=np.int64), *fixed])

    def __repr__(self) -> str:
        return repr(self._exchange)

    def observed(self) -> float:
        """Value for the labels as they are."""
        return float(self._of_places(self._observed[None, :])[0])

    def best(self) -> float:
        """Value of a perfect ranking."""
        return self._best

    def exact_mean(self) -> float | None:
        """Exact mean: it is not known."""
        return None

    def chunks(self, n_resamples: int) -> list[int]:
        """Sizes of the chunks for `n_resamples` draws."""
        drawn = sum(len(own) * ranks_drawn(own.shape[1], n_hits) for own, n_hits in self._drawn)
        return chunk_sizes(n_resamples, max(drawn, self._observed.size))

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw independent values."""
        places = [np.broadcast_to(self._fixed, (n_draws, self._fixed.size))]
        for own, n_hits in self._drawn:
            n_classes, n_units, _ = own.shape
            units = uniform_hit_ranks(n_units, n_hits, n_draws * n_classes, rng)
            units = units.reshape(n_draws, n_classes, n_hits)
            places.append(own[np.arange(n_classes)[:, None], units].reshape(n_draws, -1))
        return self._of_places(np.sort(np.concatenate(places, axis=1), axis=1))

    def _of_places(self, places: Integers) -> Floats:
        return self._values(places) if places.shape[1] else np.zeros(len(places))


def reciprocal_ranks(tie_sizes: Integers | None) -> HitValues:
    """Reciprocal ranks of the first hits, expected over random tie-breaking."""
    if tie_sizes is None:
        return _untied_reciprocal_ranks
    return partial(_tied_reciprocal_ranks, tie_sizes)


def _untied_reciprocal_ranks(ranks: Integers) -> Floats:
    return np.asarray(1.0 / (ranks[:, 0] + 1.0))


def _tied_reciprocal_ranks(tie_sizes: Integers, blocks: Integers) -> Floats:
    starts = np.cumsum(tie_sizes) - tie_sizes
    n_first = np.sum(blocks == blocks[:, :1], axis=1)
    values = mean_reciprocals_of_firsts(starts, tie_sizes)
    return np.asarray(values[starts[blocks[:, 0]] + n_first - 1])
