"""Permuted rows of labels, for metrics with weights or averaged over classes.

Row j of the labels is assigned to item ``where[j]``; the items keep their scores. Weights either
move with the rows of labels, or stay with the items.
Neither weighted nor averaged average precision is additive in a single set of hits, so that there
is no exact null distribution, and the test is a permutation test ("Weights" and "Averages over
classes" in doc/theory.rst).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sklearn_rankinf._engine import exact_mean_and_variance
from sklearn_rankinf._permutation.draws import chunk_sizes, ranks_drawn, uniform_hit_ranks
from sklearn_rankinf._permutation.restrictions import AnyExchange, Shifts
from sklearn_rankinf._ranking import Sample, rank_order
from sklearn_rankinf._statistics import (
    Floats,
    Integers,
    Statistic,
    cached_property,
    hits_around_blocks,
)


class _Cells:
    """The cells of a sample in one list: the items of one class, or of all classes.

    `labels` and `ranks` from 0 have one row for each item, and one column or one for each class.
    """

    def __init__(self, sample: Sample) -> None:
        self.labels = sample.labels
        order, sizes = rank_order(np.column_stack(sample.scores).ravel())
        ranks = np.empty(order.size, dtype=np.int64)
        ranks[order] = np.arange(order.size)
        self.ranks: Integers = ranks.reshape(self.labels.shape)
        self.tie_sizes = None if sizes.max() == 1 else sizes

    @property
    def n_cells(self) -> int:
        return self.ranks.size

    @property
    def n_positives(self) -> int:
        return int(self.hits[0].size)

    @cached_property
    def hits(self) -> tuple[Integers, Integers]:
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
        return ranks if self.tie_sizes is None else self._block_of_rank[ranks]


class _Unweighted:
    """An additive statistic of one list without weights."""

    def __init__(self, cells: _Cells, statistic: Statistic) -> None:
        self._cells = cells
        self._statistic = statistic
        self._values = statistic.hit_values(cells.n_cells, cells.n_positives, cells.tie_sizes)

    def values(self, where: Integers) -> tuple[Floats, Floats]:
        """Values and the weight of the hits for rows of labels that move to the items `where`."""
        mass = np.full(len(where), float(self._cells.n_positives))
        if self._cells.n_positives == 0:
            return mass, mass
        ranks = np.sort(self._cells.hit_ranks(where), axis=1)
        return self._values(self._cells.blocks(ranks)), mass

    def mean(self) -> float:
        cells = self._cells
        return exact_mean_and_variance(
            self._statistic, cells.n_cells, cells.n_positives, cells.tie_sizes
        )[0]


class _WeightsOfItems:
    """Weighted average precision of one list, with weights that stay with the items."""

    def __init__(self, cells: _Cells, weights: Floats) -> None:
        self._cells = cells
        self._weight_of_rank = weights[cells.item_of_rank]
        self._weight_to_end = np.cumsum(self._weight_of_rank)[cells.ends - 1]

    def values(self, where: Integers) -> tuple[Floats, Floats]:
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

    def __init__(self, cells: _Cells, weights: Floats) -> None:
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
    cells: _Cells, blocks: Integers, weights: Floats
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

    The items are the lists whose values are averaged, plainly or by the weight of their hits:
    one, of one or all classes, or one for each class. With weights the statistic is average
    precision without a cut-off, and they move with the rows of labels or stay with the items.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        average: str,
        statistic: Statistic,
        weights_stay: bool,
        exchange: AnyExchange | None = None,
    ) -> None:
        self.rankings = rankings = [_Cells(sample) for sample in samples]
        weights = samples[0].design.weights
        self._average = average
        self._statistic = statistic
        self.exchange = exchange
        self._weights_stay = None if weights is None else weights_stay
        self._lists: list[_Unweighted | _WeightsOfItems | _WeightsOfLabels]
        if weights is None:
            self._lists = [_Unweighted(cells, statistic) for cells in rankings]
        elif weights_stay:
            self._lists = [_WeightsOfItems(cells, weights) for cells in rankings]
        else:
            self._lists = [_WeightsOfLabels(cells, weights) for cells in rankings]

    def __repr__(self) -> str:
        average = f"average={self._average!r}, n_lists={len(self._lists)}"
        return f"{average}, weights_stay={self._weights_stay!r}"

    @property
    def _n_items(self) -> int:
        return len(self.rankings[0].labels)

    @property
    def n_listed(self) -> int | None:
        return None if self.exchange is None else self.exchange.n_listed

    @property
    def tie_sizes(self) -> Integers | None:
        return self.rankings[0].tie_sizes

    def observed(self) -> float:
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
        if not self._statistic.has_influence:
            return None, None  # no sum over blocks
        means = [part.mean() for part in self._lists if isinstance(part, _Unweighted)]
        if len(means) < len(self._lists):
            return None, None
        masses = self._observed_masses()
        return float(self._mean_over_lists(np.array(means)[:, None], masses[:, None])[0]), None

    def chunks(self, n_resamples: int) -> list[int]:
        cells = self.rankings[0]
        if self._by_hits is None:
            return chunk_sizes(n_resamples, cells.n_cells)
        return chunk_sizes(n_resamples, ranks_drawn(cells.n_cells, cells.n_positives))

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        if self._by_hits is not None:
            return self._by_hits.draw(n_draws, rng)
        if self.exchange is not None:
            return self._values(self.exchange.draw_rows(n_draws, rng))
        in_order = np.broadcast_to(np.arange(self._n_items), (n_draws, self._n_items))
        return self._values(rng.permuted(in_order, axis=1))

    def listed(self, first: int, last: int) -> Floats:
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
