"""Permutation distribution of weighted or class-averaged average precision: rows are permuted.

Row j of the labels is assigned to item ``where[j]``; the items keep their scores. Weights either
move with the rows of labels (``weights_follow="label"``) or stay with the items (``"score"``).
Neither weighted nor averaged average precision is additive in a single set of hits, so that there
is no exact null distribution, and the test is a permutation test ("Weights" and "Averages over
classes" in doc/theory.rst).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._engine.distribution import exact_mean_and_variance
from sklearn_rankinf._sampling.exchange import AnyExchange, Exchange, Shifts
from sklearn_rankinf._sampling.labellings import (
    HitValues,
    NullSampler,
    chunk_sizes,
    hits_around_blocks,
    ranks_drawn,
    uniform_hit_ranks,
)
from sklearn_rankinf._statistics.additive import Statistic
from sklearn_rankinf._statistics.caching import cached_property
from sklearn_rankinf._statistics.increments import Floats, Integers


@dataclass(frozen=True, eq=False)
class RankedCells:
    """A ranking of the items of one class, or of the items of all classes in one list.

    Attributes
    ----------
    labels : ndarray of bool of shape (n_items, n_columns)
        Labels, one row for each item; one column, or one for each class.
    ranks : ndarray of shape (n_items, n_columns)
        Rank of each cell in the list, from 0.
    tie_sizes : ndarray or None
        Sizes of the blocks of equal scores, best first; None where every cell is its own block.
    """

    labels: NDArray[np.bool_]
    ranks: Integers
    tie_sizes: Integers | None

    @property
    def n_cells(self) -> int:
        """Length of the list."""
        return self.ranks.size

    @property
    def n_positives(self) -> int:
        """Number of hits in the list."""
        return int(self.hits[0].size)

    @cached_property
    def hits(self) -> tuple[Integers, Integers]:
        """Rows and columns of the hits."""
        rows, columns = np.nonzero(self.labels)
        return rows, columns

    @cached_property
    def item_of_rank(self) -> Integers:
        """Item whose cell has each rank."""
        items = np.empty(self.n_cells, dtype=np.int64)
        items[self.ranks] = np.arange(self.ranks.shape[0])[:, None]
        return items

    @cached_property
    def ends(self) -> Integers:
        """Number of cells down to the end of each block."""
        if self.tie_sizes is None:
            return np.arange(1, self.n_cells + 1)
        return np.cumsum(self.tie_sizes)

    @cached_property
    def _block_of_rank(self) -> Integers:
        assert self.tie_sizes is not None
        return np.repeat(np.arange(self.tie_sizes.size), self.tie_sizes)

    def hit_ranks(self, where: Integers) -> Integers:
        """Ranks of the hits for rows of labels that move to the items `where`."""
        rows, columns = self.hits
        if self.ranks.shape[1] == 1:
            return self.ranks[:, 0][where[:, rows]]
        return self.ranks[where[:, rows], columns]

    def blocks(self, ranks: Integers) -> Integers:
        """Blocks of ranks."""
        return ranks if self.tie_sizes is None else self._block_of_rank[ranks]


class _Unweighted:
    """An additive statistic of one list without weights."""

    def __init__(self, cells: RankedCells, statistic: Statistic) -> None:
        self._cells = cells
        self._statistic = statistic
        self._sampler = NullSampler(statistic, cells.n_cells, cells.n_positives, cells.tie_sizes)

    def values(self, where: Integers) -> tuple[Floats, Floats]:
        """Values and the weight of the hits for rows of labels that move to the items `where`."""
        mass = np.full(len(where), float(self._cells.n_positives))
        if self._cells.n_positives == 0:
            return mass, mass
        ranks = np.sort(self._cells.hit_ranks(where), axis=1)
        return self._sampler.values(self._cells.blocks(ranks)), mass

    def mean(self) -> float:
        """Exact mean for one column of labels."""
        cells = self._cells
        return exact_mean_and_variance(
            self._statistic, cells.n_cells, cells.n_positives, cells.tie_sizes
        )[0]


class _WeightsOfItems:
    """Weighted average precision of one list, with weights that stay with the items."""

    def __init__(self, cells: RankedCells, weights: Floats) -> None:
        self._cells = cells
        self._weight_of_rank = weights[cells.item_of_rank]
        self._weight_to_end = np.cumsum(self._weight_of_rank)[cells.ends - 1]

    def values(self, where: Integers) -> tuple[Floats, Floats]:
        """Values and the weight of the hits for rows of labels that move to the items `where`."""
        return self._of_ranks(np.sort(self._cells.hit_ranks(where), axis=1))

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw values for one column of labels; only its hits are drawn."""
        cells = self._cells
        return self._of_ranks(uniform_hit_ranks(cells.n_cells, cells.n_positives, n_draws, rng))[0]

    def _of_ranks(self, ranks: Integers) -> tuple[Floats, Floats]:
        blocks = self._cells.blocks(ranks)
        hits, _ = _weight_of_hits(self._cells, blocks, self._weight_of_rank[ranks])
        return _weighted_average_precision(hits, self._weight_to_end[blocks])


class _WeightsOfLabels:
    """Weighted average precision of one list, with weights that move with the rows of labels."""

    def __init__(self, cells: RankedCells, weights: Floats) -> None:
        self._cells = cells
        self._weights = weights
        self._hit_weights = weights[cells.hits[0]]

    @cached_property
    def weight_of_misses(self) -> float | None:
        """The common weight of all misses, None if they differ; if common, only hits are drawn."""
        weights = self._weights[~self._cells.labels[:, 0]]
        if self._cells.labels.shape[1] > 1 or np.any(weights != weights[:1]):
            return None
        return float(weights[0]) if weights.size else 0.0

    def values(self, where: Integers) -> tuple[Floats, Floats]:
        """Values and the weight of the hits for rows of labels that move to the items `where`."""
        ranks = self._cells.hit_ranks(where)
        order = np.argsort(ranks, axis=1)
        blocks = self._cells.blocks(np.take_along_axis(ranks, order, axis=1))
        hits, _ = _weight_of_hits(self._cells, blocks, self._hit_weights[order])
        row_on_item = np.empty_like(where)
        np.put_along_axis(row_on_item, where, np.arange(where.shape[1])[None, :], axis=1)
        weights = self._weights[row_on_item[:, self._cells.item_of_rank]]
        last = self._cells.ends[blocks] - 1
        return _weighted_average_precision(
            hits, np.take_along_axis(np.cumsum(weights, axis=1), last, axis=1)
        )

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw values for one column of labels whose misses all have the same weight."""
        cells = self._cells
        ranks = uniform_hit_ranks(cells.n_cells, cells.n_positives, n_draws, rng)
        weights = np.broadcast_to(self._hit_weights, ranks.shape)
        if np.any(self._hit_weights != self._hit_weights[:1]):
            weights = rng.permuted(weights, axis=1)
        blocks = cells.blocks(ranks)
        hits, n_hits = _weight_of_hits(cells, blocks, weights)
        assert self.weight_of_misses is not None
        misses = self.weight_of_misses * (cells.ends[blocks] - n_hits)
        return _weighted_average_precision(hits, hits[0] + misses)[0]


def _weight_of_hits(
    cells: RankedCells, blocks: Integers, weights: Floats
) -> tuple[tuple[Floats, Floats], Integers]:
    """For hits in ascending blocks: cumulative weight to the end of each hit's block, own weight.

    The second result is the number of hits to the end of the block.
    """
    to_here = np.cumsum(weights, axis=1)
    if cells.tie_sizes is None:
        return (to_here, weights), np.arange(1, blocks.shape[1] + 1)
    n_hits = hits_around_blocks(blocks)[1]
    return (np.take_along_axis(to_here, n_hits - 1, axis=1), weights), n_hits


def _weighted_average_precision(
    hits: tuple[Floats, Floats], to_end: Floats
) -> tuple[Floats, Floats]:
    """Mean precision over the hits by their weights, and the weight of all hits.

    As in scikit-learn a precision of 0/0 is 0, and so is the value when all hits weigh 0.
    """
    hits_to_end, weights = hits
    precision = np.divide(hits_to_end, to_end, out=np.zeros(to_end.shape), where=to_end > 0.0)
    mass = weights.sum(axis=1)
    gained = (weights * precision).sum(axis=1)
    return np.divide(gained, mass, out=np.zeros(mass.shape), where=mass > 0.0), mass


class PermutedRows:
    """A statistic with weights or averages, for rows of labels in a random order.

    Parameters
    ----------
    rankings : sequence of RankedCells
        The lists whose values are averaged: one, or one for each class.
    average : {"macro", "weighted"}
        Mean over the lists, or the mean by the weight of their hits.
    statistic : Statistic
        The statistic of a list: with weights it is average precision without a cut-off.
    weights : ndarray of shape (n_items,) or None
        Non-negative weights.
    weights_follow : {"label", "score"}
        Whether weights move with the rows of labels or stay with the items.
    exchange : Exchange or Shifts, optional
        Which rows change places; by default all of them.
    """

    def __init__(
        self,
        rankings: Sequence[RankedCells],
        average: str,
        statistic: Statistic,
        weights: Floats | None,
        weights_follow: str,
        exchange: AnyExchange | None = None,
    ) -> None:
        self.rankings = rankings
        self._average = average
        self._statistic = statistic
        self.exchange = exchange
        self._weights_follow = None if weights is None else weights_follow
        self._lists: list[_Unweighted | _WeightsOfItems | _WeightsOfLabels]
        if weights is None:
            self._lists = [_Unweighted(cells, statistic) for cells in rankings]
        elif weights_follow == "score":
            self._lists = [_WeightsOfItems(cells, weights) for cells in rankings]
        else:
            self._lists = [_WeightsOfLabels(cells, weights) for cells in rankings]

    def __repr__(self) -> str:
        average = f"average={self._average!r}, n_lists={len(self._lists)}"
        return f"{average}, weights_follow={self._weights_follow!r}"

    @property
    def _n_items(self) -> int:
        return len(self.rankings[0].labels)

    @property
    def n_listed(self) -> int | None:
        """Number of arrangements; None if they are not listed."""
        return None if self.exchange is None else self.exchange.n_listed

    @property
    def tie_sizes(self) -> Integers | None:
        """Sizes of the blocks of equal scores in the first list."""
        return self.rankings[0].tie_sizes

    def observed(self) -> float:
        """Value for the labels as they are."""
        return float(self._values(np.arange(self._n_items)[None, :])[0])

    def best(self) -> float:
        """Value when every class is ranked perfectly; a class without weight in its hits has 0."""
        masses = self._observed_masses()
        sizes = [(cells.n_cells, cells.n_positives) for cells in self.rankings]
        best = np.array([self._statistic.maximum(*n) for n in sizes])
        best[masses == 0.0] = 0.0
        return float(self._mean_over_lists(best[:, None], masses[:, None])[0])

    def exact_moments(self) -> tuple[float | None, float | None]:
        """Exact mean, if every list has an exact mean; no variance."""
        # Placements of the hits are equally likely only in a list of one column.
        if self.exchange is not None or self.rankings[0].labels.shape[1] > 1:
            return None, None
        means = [part.mean() for part in self._lists if isinstance(part, _Unweighted)]
        if len(means) < len(self._lists):
            return None, None
        masses = self._observed_masses()
        return float(self._mean_over_lists(np.array(means)[:, None], masses[:, None])[0]), None

    def chunks(self, n_resamples: int) -> list[int]:
        """Sizes of the chunks for `n_resamples` draws."""
        cells = self.rankings[0]
        if self._by_hits is None:
            return chunk_sizes(n_resamples, cells.n_cells)
        return chunk_sizes(n_resamples, ranks_drawn(cells.n_cells, cells.n_positives))

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw independent values."""
        if self._by_hits is not None:
            return self._by_hits.draw(n_draws, rng)
        if self.exchange is not None:
            return self._values(self.exchange.draw_rows(n_draws, rng))
        in_order = np.broadcast_to(np.arange(self._n_items), (n_draws, self._n_items))
        return self._values(rng.permuted(in_order, axis=1))

    def listed(self, first: int, last: int) -> Floats:
        """Values of the arrangements with the numbers from `first` to before `last`."""
        assert isinstance(self.exchange, Shifts)
        return self._values(self.exchange.list_rows(first, last))

    @cached_property
    def _by_hits(self) -> _WeightsOfItems | _WeightsOfLabels | None:
        """The only list, if it has one column and draws need its hits only."""
        first, cells = self._lists[0], self.rankings[0]
        if self.exchange is not None:
            return None
        if len(self._lists) > 1 or cells.labels.shape[1] > 1 or cells.n_positives == 0:
            return None
        if isinstance(first, _WeightsOfLabels):
            return None if first.weight_of_misses is None else first
        return first if isinstance(first, _WeightsOfItems) else None

    def _values(self, where: Integers) -> Floats:
        parts = [part.values(where) for part in self._lists]
        return self._mean_over_lists(
            np.stack([values for values, _ in parts]), np.stack([mass for _, mass in parts])
        )

    def _mean_over_lists(self, values: Floats, masses: Floats) -> Floats:
        if self._average == "macro":
            return np.asarray(values.mean(axis=0))
        total = masses.sum(axis=0)
        gained = (values * masses).sum(axis=0)
        mean: Floats = np.divide(gained, total, out=np.zeros(total.shape), where=total > 0.0)
        return mean

    def _observed_masses(self) -> Floats:
        where = np.arange(self._n_items)[None, :]
        return np.array([float(part.values(where)[1][0]) for part in self._lists])


class JointLists:
    """A statistic of several lists whose labels change places together, and its mean.

    Parameters
    ----------
    statistic : Statistic
        The statistic of each list.
    sizes : sequence of (n_items, n_hits, tie_sizes)
        Size, number of hits and sizes of blocks of equal scores of each list.
    lists, places : ndarray of int of shape (n_rows,)
        List of each row, and the block of equal scores in which the list has it, from 0.
    is_hit : ndarray of bool of shape (n_rows,)
        The hits.
    exchange : Exchange
        Which rows change places; every arrangement leaves each list its number of hits.
    mean : float, optional
        Exact mean of the mean over the lists, where it is known.
    """

    n_listed = None

    def __init__(
        self,
        statistic: Statistic,
        sizes: Sequence[tuple[int, int, Integers]],
        lists: Integers,
        places: Integers,
        is_hit: NDArray[np.bool_],
        exchange: Exchange,
        mean: float | None = None,
    ) -> None:
        self._exchange, self._mean = exchange, mean
        self._n_lists = len(sizes)
        n_hits = np.array([hits for _, hits, _ in sizes])
        self._best = float(np.mean(n_hits > 0))
        first_place = np.cumsum([0, *(ties.size for _, _, ties in sizes[:-1])])
        # Places that ascend over all lists keep the hits of a list together.
        self._places = first_place[lists] + places
        self._hits = exchange.hit_items(is_hit)
        self._n_hits = int(n_hits.sum())
        first_hit = np.cumsum(n_hits) - n_hits
        same: dict[tuple[int, int, bytes], list[int]] = {}
        for number, (n, m, ties) in enumerate(sizes):
            if m:
                same.setdefault((n, m, ties.tobytes()), []).append(number)
        # For each group of lists with the same distribution: numbers of the lists, columns of their
        # sorted hits, first places, values.
        self._parts: list[tuple[Integers, Integers, Integers, HitValues]] = []
        for (n, m, _), numbers in same.items():
            own = np.array(numbers)
            ties = sizes[numbers[0]][2]
            values = NullSampler(statistic, n, m, None if ties.max() == 1 else ties).values
            columns = first_hit[own][:, None] + np.arange(m)
            self._parts.append((own, columns, first_place[own], values))

    def __repr__(self) -> str:
        return f"n_lists={self._n_lists}, {self._exchange!r}"

    def best(self) -> float:
        """Mean over the lists when each of them is ranked perfectly."""
        return self._best

    def exact_moments(self) -> tuple[float | None, float | None]:
        """Exact mean, where it is known; no variance."""
        return self._mean, None

    def chunks(self, n_resamples: int) -> list[int]:
        """Sizes of the chunks for `n_resamples` draws."""
        per_draw = max(self._hits.n_drawn, self._n_hits, self._n_lists)
        return chunk_sizes(n_resamples, per_draw)

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw independent means over the lists."""
        return np.asarray(self.draw_lists(n_draws, rng).mean(axis=1))

    def draw_lists(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw the values of all lists, one row for each draw."""
        places = np.sort(self._places[self._hits.draw(n_draws, rng)], axis=1)
        drawn = np.zeros((n_draws, self._n_lists))
        for own, columns, first_place, values in self._parts:
            of_lists = places[:, columns] - first_place[:, None]
            found = values(of_lists.reshape(-1, columns.shape[1]))
            drawn[:, own] = found.reshape(n_draws, own.size)
        return drawn

    def draw_moments(
        self, n_draws: int, rng: np.random.Generator, origin: Floats
    ) -> tuple[Floats, Floats]:
        """Sums of the distances of the values of each list from an origin, and of their squares."""
        distances = self.draw_lists(n_draws, rng) - origin
        return distances.sum(axis=0), (distances**2).sum(axis=0)

    def draw_counts(
        self, n_draws: int, rng: np.random.Generator, observed: ObservedLists
    ) -> tuple[Floats, Integers, Integers, Integers]:
        """Means over the lists, and counts of draws at least as extreme as observed (maxT).

        The three counts are: draws in which the value of a list is at least the observed one, at
        most the observed one, and draws in which the maximum of the scaled values of this list and
        of all lists with smaller observed values reaches the observed scaled value (step-down).
        """
        drawn = self.draw_lists(n_draws, rng)
        above = np.sum(drawn >= observed.values - observed.same, axis=0)
        below = np.sum(drawn <= observed.values + observed.same, axis=0)
        scaled = observed.scaled(drawn)[:, observed.ascending]
        np.maximum.accumulate(scaled, axis=1, out=scaled)
        largest = np.sum(scaled >= observed.thresholds[observed.ascending], axis=0)
        return drawn.mean(axis=1), above, below, largest


@dataclass(frozen=True, eq=False)
class ObservedLists:
    """Observed values of lists, and the location and scale that standardise them.

    Attributes
    ----------
    values, same : ndarray of shape (n_lists,)
        Observed values, and the tolerance within which other values are equal to them.
    centers, scales : ndarray of shape (n_lists,)
        Location and scale by which the values are standardised.
    alternative : {"greater", "less", "two-sided"}
        Whether large, small or both kinds of values are extreme.
    varying : ndarray of int
        Lists whose value can vary.
    """

    values: Floats
    same: Floats
    centers: Floats
    scales: Floats
    alternative: str
    varying: Integers

    def scaled(self, values: Floats) -> Floats:
        """Standardised values, larger for more extreme ones."""
        scaled = (values - self.centers) / self.scales
        if self.alternative == "two-sided":
            return np.asarray(np.abs(scaled))
        return scaled if self.alternative == "greater" else -scaled

    @cached_property
    def thresholds(self) -> Floats:
        """Scaled observed values, less the tolerance within which other values are equal."""
        return np.asarray(self.scaled(self.values) - self.same / self.scales)

    @cached_property
    def ascending(self) -> Integers:
        """Numbers of the lists that can vary, in ascending order of their thresholds."""
        return self.varying[np.argsort(self.thresholds[self.varying], kind="stable")]
