r"""Paired randomization tests: ranks swapped item by item, signs flipped query by query.

*Rank swap* (Venkatraman and Begg 1996 [1]_). Every item has a rank in each of two rankings. For
each item, or each cluster of items, the two ranks are swapped with probability 1/2, both lists are
ranked again, and the difference D* of the two values of a statistic is compared with the observed
difference D: ``p = (1 + #{|D*| >= |D|}) / (B + 1)`` for B random swaps. If all swaps are listed,
p is the share of swaps with ``|D*| >= |D|``. Labels do not move.

Ranks of different lists often coincide after swapping, so that ties occur even if no scores are
equal. The same treatment of ties applies to D and D*:

* ``"mean"``: the mean of the statistic over all orders of the tied items.
* ``"kept"``: equal ranks are a block, like equal scores. This differs from the mean for average
  precision only.
* ``"random"``: a random order in D*, the mean over orders in D. The order adds to the variance of
  D* but not to the variance of D, which makes the test conservative if blocks are large.

The null hypothesis is that, given the labels, the two ranks of any unit are exchangeable: swapping
them leaves the joint distribution of all ranks unchanged.

* The test is exact with ``"mean"`` or ``"kept"`` and ranks among all scores of both rankers. If the
  rankers are interchangeable, their scores are exchangeable, and the observed data are one of 2**u
  equally probable swaps of u units.
* The test is asymptotic with ranks within each list. Ranks of different items are dependent, since
  a list has every rank once, and a swapped list does not. If both lists have the same few large
  blocks of equal scores, swaps break the blocks up, which makes the test conservative, more so
  with ``"kept"``.

Strata have no effect: ranks are exchanged within an item, never between items.

*Sign flips* (Fisher's randomization test for pairs). If two systems are interchangeable in each
query, the signs of their differences are random. All signs of a cluster of queries are flipped
together. The test is exact.

*Counting replaces sorting*. Let the ranks of the hits in either list be the *levels*
``v_1 < v_2 < ...``. A statistic of a swapped list depends, for each level, on the number of items
before it, of items at it, and of hits at it. The swap of a unit changes each of these counts by a
fixed number, so that the counts of many swaps are the product of a sparse matrix and the matrix of
their bits. A swap changes the counts of the second list by the opposite amounts. Misses between the
same two levels in both lists change no count and are left out.

References
----------
.. [1] E. S. Venkatraman and C. B. Begg, "A distribution-free procedure for comparing receiver
   operating characteristic curves from a paired experiment", Biometrika 83 (1996) 835-848.
.. [2] R. W. Floyd and J. Bentley, "Programming pearls: a sample of brilliance", Communications of
   the ACM 30 (1987) 754-757.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from sklearn_rankinf._permutation.draws import CELLS_PER_CHUNK, chunk_sizes, pvalue_of_draws
from sklearn_rankinf._statistics import Floats, HitBlocks, Integers, Metric

# Largest number of units whose 2**u swaps or flips are listed.
_MOST_LISTED_UNITS = 20
# Differences are equal within this share of the largest possible difference.
_EQUAL = 1e-12
# Share of the values of two runs up to which their differences are rounding errors.
_ROUNDING = 1e-14

Ties: TypeAlias = Literal["mean", "kept", "random"]
Alternative: TypeAlias = Literal["two-sided", "greater", "less"]


class PairedSampler:
    """Differences between two systems whose outputs are swapped at random, unit by unit.

    Number 0 of the list swaps nothing.
    """

    # Array elements that a draw needs.
    _n_per_draw: int

    @property
    def n_units(self) -> int:
        """Number of units whose swap can change the difference."""
        raise NotImplementedError

    @property
    def tolerance(self) -> float:
        """Differences closer to each other than this are equal."""
        raise NotImplementedError

    def _differences(
        self, is_swapped: NDArray[np.uint8], rng: np.random.Generator | None = None
    ) -> Floats:
        """Differences for columns of swapped units; a generator may break ties."""
        raise NotImplementedError

    @property
    def n_listed(self) -> int | None:
        """Number of different swaps; None if they are not listed."""
        return 1 << self.n_units if self.n_units <= _MOST_LISTED_UNITS else None

    def observed(self) -> float:
        """Difference without any swap."""
        return float(self.listed(0, 1)[0])

    def chunks(self, n_resamples: int) -> list[int]:
        """Sizes of the chunks for `n_resamples` draws."""
        return chunk_sizes(n_resamples, self._n_per_draw, CELLS_PER_CHUNK)

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw independent differences."""
        octets = rng.integers(256, size=(self.n_units, -(-n_draws // 8)), dtype=np.uint8)
        return self._differences(np.unpackbits(octets, axis=1, count=n_draws), rng)

    def listed(self, first: int, last: int) -> Floats:
        """Differences of the swaps with the numbers from `first` to before `last`."""
        numbers = np.arange(first, last)
        bits = numbers >> np.arange(self.n_units)[:, None] & 1
        return self._differences(bits.astype(np.uint8))


def randomization_pvalue(
    observed: float,
    differences: Floats,
    *,
    alternative: Alternative,
    tolerance: float,
    is_complete: bool,
) -> float:
    """Share of differences that are at least as extreme as the observed one.

    A complete list contains the observed difference; random differences are counted with it added.
    """
    extremes = {"two-sided": np.abs, "greater": np.positive, "less": np.negative}
    extreme = extremes[alternative]
    n_extreme = int(np.sum(extreme(differences) >= extreme(observed) - tolerance))
    if is_complete:
        return n_extreme / differences.size
    return float(pvalue_of_draws(n_extreme, differences.size))


def doubled_midranks(places: Integers) -> Integers:
    """Twice the mean rank of each item, for the number from 0 of its block of equal scores."""
    sizes = np.bincount(places)
    starts = np.cumsum(sizes) - sizes
    return np.asarray((2 * starts + sizes + 1)[places])


def _hit_blocks(in_bins: Integers, hits: Integers, n_samples: int, n_positives: int) -> HitBlocks:
    """Blocks from counts of items in each gap and level, and hits at each level, by column.

    Bin 2 k + 1 is level k, and bin 2 k the gap before it.
    """
    levels, lists = np.nonzero(hits)
    found = hits[levels, lists].astype(np.int64)
    return HitBlocks(
        lists=lists,
        starts=np.cumsum(in_bins, axis=0)[::2][levels, lists],
        sizes=in_bins[1::2][levels, lists].astype(np.int64),
        before=np.cumsum(hits, axis=0)[levels, lists] - found,
        hits=found,
        n_lists=hits.shape[1],
        n_samples=n_samples,
        n_positives=n_positives,
    )


def _random_places(blocks: HitBlocks, rng: np.random.Generator) -> Integers:
    """Ascending places of the hits of each list, from 0, in a random order of each block.

    Floyd's algorithm [2]_: the t-th of y hits, t = 0, 1, ..., gets a random one of the places
    0, ..., ``g - y + t`` of its block of g items, or the last of these places if the drawn one is
    occupied. Each step is made in all blocks at once.
    """
    order = np.argsort(-blocks.hits, kind="stable")
    first = (blocks.lists * blocks.n_samples + blocks.starts)[order]
    hits, lowest = blocks.hits[order], (blocks.sizes - blocks.hits)[order]
    is_taken = np.zeros(blocks.n_lists * blocks.n_samples, dtype=bool)
    for step in range(int(hits.max(initial=0))):
        n_active = int(np.searchsorted(-hits, -step))
        last = lowest[:n_active] + step
        cells = first[:n_active] + rng.integers(last, endpoint=True)
        cells = np.where(is_taken[cells], first[:n_active] + last, cells)
        is_taken[cells] = True
    places = np.flatnonzero(is_taken) % blocks.n_samples
    return places.reshape(blocks.n_lists, blocks.n_positives)


class SwapSampler(PairedSampler):
    """Draws the difference of a statistic between two rankings with swapped ranks.

    Ranks are smaller for better items, equal for tied ones, and on one scale in both rankings:
    `doubled_midranks` of each, or ranks among all scores of both. The module describes the `ties`;
    listed differences with ``"random"`` are means over orders. Every item is swapped by itself, or
    all items of a cluster together; those with the numbers `units` can change the difference.
    """

    def __init__(
        self,
        statistic: Metric,
        is_hit: NDArray[np.bool_],
        ranks_a: Integers,
        ranks_b: Integers,
        clusters: Integers | None = None,
        ties: Ties = "mean",
    ) -> None:
        self._statistic = statistic
        self._ties: Ties = ties
        self._n_samples, self._n_positives = is_hit.size, int(is_hit.sum())
        units = np.arange(is_hit.size) if clusters is None else clusters
        levels = np.unique([ranks_a[is_hit], ranks_b[is_hit]])
        self._n_bins = 2 * levels.size + 1
        rows_a, rows_b = (_rows(levels, ranks, is_hit) for ranks in (ranks_a, ranks_b))
        self._counts_a, self._counts_b = (
            np.bincount(rows, minlength=self._n_bins + levels.size)[:, None]
            for rows in (rows_a, rows_b)
        )
        self.units, self._changes = _changes(
            rows_a, rows_b, np.append(units, units[is_hit]), len(self._counts_a)
        )
        self._n_per_draw = is_hit.size + len(self._counts_a)

    @property
    def n_units(self) -> int:
        return int(self._changes.shape[1])

    @property
    def tolerance(self) -> float:
        return _EQUAL * float(self._statistic.best(self._n_samples, self._n_positives))

    def _differences(
        self, is_swapped: NDArray[np.uint8], rng: np.random.Generator | None = None
    ) -> Floats:
        gained = self._changes @ is_swapped.astype(np.int32)
        first, second = self._counts_a + gained, self._counts_b - gained
        return self._values(first, rng) - self._values(second, rng)

    def _values(self, counts: Integers, rng: np.random.Generator | None) -> Floats:
        """Values, up to a constant, of lists with the given counts of items and of hits."""
        in_bins, hits = counts[: self._n_bins], counts[self._n_bins :]
        blocks = _hit_blocks(in_bins, hits, self._n_samples, self._n_positives)
        if rng is not None and self._ties == "random":
            values = self._statistic.hit_values(self._n_samples, self._n_positives, None)
            return values(_random_places(blocks, rng))
        return self._statistic.totals(blocks, are_kept=self._ties == "kept")


class AverageSwapSampler(PairedSampler):
    """Draws the average over classes of differences of the same items, swapped in all classes."""

    def __init__(self, classes: Sequence[SwapSampler], shares: Floats) -> None:
        self._classes, self._shares = classes, shares
        self._units = np.unique(np.concatenate([own.units for own in classes]))
        self._n_per_draw = sum(own._n_per_draw for own in classes)

    @property
    def n_units(self) -> int:
        return int(self._units.size)

    @property
    def tolerance(self) -> float:
        return float(self._shares @ [own.tolerance for own in self._classes])

    def _differences(
        self, is_swapped: NDArray[np.uint8], rng: np.random.Generator | None = None
    ) -> Floats:
        found = np.zeros(is_swapped.shape[1])
        for share, own in zip(self._shares, self._classes, strict=True):
            rows = np.searchsorted(self._units, own.units)
            found += share * own._differences(is_swapped[rows], rng)
        return found


class SignFlipSampler(PairedSampler):
    """Draws the mean difference between two systems over queries with signs flipped at random.

    The sign of each query is flipped by itself, or those of all queries of a cluster together;
    `n_units` of them change the mean.
    """

    def __init__(self, differences: Floats, clusters: Integers | None = None) -> None:
        sums = differences if clusters is None else np.bincount(clusters, differences)
        self._parts = sums[sums != 0.0] / differences.size
        self._n_per_draw = self.n_units

    @property
    def n_units(self) -> int:
        return int(self._parts.size)

    @property
    def tolerance(self) -> float:
        return _EQUAL * float(np.abs(self._parts).sum())

    def _differences(
        self, is_swapped: NDArray[np.uint8], rng: np.random.Generator | None = None
    ) -> Floats:
        return np.asarray(self._parts @ (1.0 - 2.0 * is_swapped))


class RunFlipSampler(PairedSampler):
    """Draws the largest studentised differences of several runs with signs of queries flipped.

    All differences of a query change their signs together. The statistic of a pair is the mean of
    its differences over their root mean square, r, an increasing function of Student's t, which is
    ``sqrt(Q - 1) r / sqrt(1 - r**2)`` for Q queries. The root mean square does not depend on the
    signs. A draw is a row of ``1 + 2 n_runs`` numbers: the largest ``|r|`` of all pairs, of the
    pairs with each run, and the largest r of the other runs minus each run. `standard_error` is
    that of the mean difference of each pair.

    The p-value of a pair, from the largest of any set of pairs that contains it, is valid for all
    pairs whose differences have a joint distribution that is symmetric about 0 in each query: the
    largest statistic of these pairs alone is exact, and that of the whole set is not smaller.
    """

    def __init__(self, values: Floats) -> None:
        # Squares of very small or large numbers are 0 or infinite.
        unit = float(np.abs(values).max()) or 1.0
        values = values / unit
        mean, error = _differences_of_runs(values)
        self.standard_error = unit * error
        size = np.sqrt(mean**2 + (len(values) - 1) * error**2)
        # Only differences matter, and rounding errors are smaller near 0.
        self._values = values - values.mean(axis=1, keepdims=True)
        # The differences of equal runs are 0 for any signs.
        self._size = np.where(size > 0.0, size, math.inf)
        largest = np.abs(self._values).max(axis=0)
        ratio = float(np.max(np.maximum(largest[:, None], largest) / self._size))
        self._tolerance = max(_EQUAL, _ROUNDING * ratio)
        n_runs = values.shape[1]
        self._n_per_draw = len(values) + 3 * n_runs**2

    @property
    def n_units(self) -> int:
        return len(self._values)

    @property
    def tolerance(self) -> float:
        return self._tolerance

    def statistics(self, signs: Floats) -> Floats:
        """Statistics r of all pairs, the run of the last axis minus that of the one before."""
        means = signs @ self._values / self.n_units
        return np.asarray((means[:, None, :] - means[:, :, None]) / self._size)

    def _differences(
        self, is_swapped: NDArray[np.uint8], rng: np.random.Generator | None = None
    ) -> Floats:
        statistics = self.statistics(np.where(is_swapped.T, -1.0, 1.0))
        highest = statistics.max(axis=2)
        of_runs = np.maximum(highest, -statistics.min(axis=2))
        return np.concatenate([of_runs.max(axis=1, keepdims=True), of_runs, highest], axis=1)


def _differences_of_runs(values: Floats) -> tuple[Floats, Floats]:
    """Mean difference of each pair of runs over queries, and its standard error.

    Each is computed from the differences themselves: of a covariance matrix little is left where
    other runs, or queries, differ far more. Rounding errors of equal runs, and of differences that
    are all equal, are set to 0.
    """
    n_queries, n_runs = values.shape
    mean, error = np.empty((2, n_runs, n_runs))
    for run in range(n_runs):
        differences = values - values[:, [run]]
        mean[run] = differences.mean(axis=0)
        error[run] = differences.std(axis=0, ddof=1) / math.sqrt(n_queries)
    largest = np.abs(values).max(axis=0)
    noise = _ROUNDING * np.maximum(largest[:, None], largest)
    mean[np.abs(mean) <= noise] = 0.0
    error[error <= noise] = 0.0
    return mean, error


def _rows(levels: Integers, ranks: Integers, is_hit: NDArray[np.bool_]) -> Integers:
    """Row of the count of items to which each item belongs, then rows of counts of hits."""
    bins = np.searchsorted(levels, ranks, "left") + np.searchsorted(levels, ranks, "right")
    return np.append(bins, 2 * levels.size + 1 + bins[is_hit] // 2)


def _changes(
    rows_a: Integers, rows_b: Integers, units: Integers, n_rows: int
) -> tuple[Integers, csr_array]:
    """Units whose swap changes the first list's counts, and their changes of the counts."""
    entries = np.repeat([1, -1], units.size).astype(np.int32)
    where = np.append(rows_b, rows_a), np.append(units, units)
    changes = coo_array((entries, where), shape=(n_rows, int(units.max()) + 1)).tocsc()
    changes.eliminate_zeros()
    changing = np.flatnonzero(np.diff(changes.indptr))
    return changing, changes[:, changing].tocsr()
