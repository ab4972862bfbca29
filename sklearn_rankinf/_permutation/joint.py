"""Joint permutation distributions of several rankings: of the same items, or of several queries.

For rankings of the same items the statistic is the maximum. The set of positive items is drawn once
for all rankings: any items, or the items that a restricted exchange of labels allows. Every ranking
has its own ranks of these items, so that the dependence between rankings is preserved (single-step
maxT; Westfall and Young 1993 [1]_). The cost of a draw is proportional to the number of positives
times the number of rankings.

References
----------
.. [1] Westfall, P. H. and Young, S. S. (1993). Resampling-Based Multiple Testing. Wiley.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._permutation.draws import chunk_sizes, ranks_drawn, uniform_hit_ranks
from sklearn_rankinf._permutation.restrictions import AnyExchange, Exchange, ExchangedHits
from sklearn_rankinf._statistics import Floats, HitValues, Integers, Metric, cached_property


class JointSampler:
    """Draws the largest of the scaled values of several rankings by chance.

    Each ranking places every item in a block of equal scores, from 0 for the best, and its values
    are standardised by a center and a scale. There is at least 1 hit, and not all items are hits.
    """

    def __init__(
        self,
        statistic: Metric,
        is_hit: NDArray[np.bool_],
        places: Integers,
        tie_sizes: Sequence[Integers],
        centers: Floats,
        scales: Floats,
        exchange: AnyExchange | None = None,
    ) -> None:
        n_samples, n_positives = is_hit.size, int(is_hit.sum())
        mirrored = statistic.mirrored(n_samples, n_positives)
        if mirrored is not None:
            # The mirrored statistic of the misses has the same value and needs fewer items.
            statistic, n_positives, is_hit = mirrored, n_samples - n_positives, ~is_hit
            last = np.array([sizes.size - 1 for sizes in tie_sizes])
            places, tie_sizes = last[:, None] - places, [sizes[::-1] for sizes in tie_sizes]
        self._n_samples, self._n_positives = n_samples, n_positives
        by_ties = {sizes.tobytes(): _ties(sizes) for sizes in tie_sizes}
        known = {
            key: statistic.hit_values(n_samples, n_positives, ties) for key, ties in by_ties.items()
        }
        values = [known[sizes.tobytes()] for sizes in tie_sizes]
        # Integers of 32 bits halve the array that workers share and sort faster.
        small: NDArray[Any] = places.astype(np.int32 if n_samples < 2**31 else np.int64)
        self._largest = _Largest(small, values, centers, scales)
        self._exchanged: ExchangedHits | None = None
        if exchange is not None:
            items = np.arange(n_samples)
            self._exchanged = ExchangedHits(self._largest, items, is_hit, exchange, math.nan)

    def chunks(self, n_resamples: int) -> list[int]:
        """Sizes of the chunks for `n_resamples` draws, the same for any number of rankings."""
        if self._exchanged is not None:
            return self._exchanged.chunks(n_resamples)
        return chunk_sizes(n_resamples, ranks_drawn(self._n_samples, self._n_positives))

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw independent maxima of ``(value - center) / scale`` over the rankings."""
        if self._exchanged is not None:
            return self._exchanged.draw(n_draws, rng)
        return self._largest(uniform_hit_ranks(self._n_samples, self._n_positives, n_draws, rng))

    def count_at_least(
        self, thresholds: Floats, n_draws: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """For each threshold the number of `n_draws` maxima that are not below it."""
        maxima = np.sort(self.draw(n_draws, rng))
        return n_draws - np.searchsorted(maxima, thresholds, side="left")


@dataclass(frozen=True, eq=False)
class _Largest:
    """For rows of items that are hits, the largest of the scaled values of all rankings."""

    places: NDArray[np.signedinteger[Any]]
    values: list[HitValues]
    centers: Floats
    scales: Floats

    def __call__(self, items: Integers) -> Floats:
        largest = np.full(len(items), -np.inf)
        for places, values, center, scale in zip(
            self.places, self.values, self.centers, self.scales, strict=True
        ):
            scaled = (values(np.sort(places[items], axis=1)) - center) / scale
            np.maximum(largest, scaled, out=largest)
        return largest


def _ties(sizes: Integers) -> Integers | None:
    """Sizes of blocks of equal scores; None if every item is a block by itself."""
    return None if sizes.max() == 1 else sizes


class JointLists:
    """A statistic of several lists whose labels change places together, and its mean.

    A row is an item of a list, placed in a block of its equal scores from 0. Every arrangement of
    the rows leaves each list its number of hits. `mean` is the exact mean of the mean over the
    lists, where it is known.
    """

    n_listed = None

    def __init__(
        self,
        statistics: Sequence[Metric],
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
        best = [own.maximum(n, m) for own, (n, m, _) in zip(statistics, sizes, strict=True) if m]
        self._best = float(sum(best)) / len(sizes)
        first_place = np.cumsum([0, *(ties.size for _, _, ties in sizes[:-1])])
        # Places that ascend over all lists keep the hits of a list together.
        self._places = first_place[lists] + places
        self._hits = exchange.hit_items(is_hit)
        self._n_hits = int(n_hits.sum())
        first_hit = np.cumsum(n_hits) - n_hits
        same: dict[tuple[Metric, int, bytes], list[int]] = {}
        for number, (own, (_, m, ties)) in enumerate(zip(statistics, sizes, strict=True)):
            if m:
                same.setdefault((own, m, ties.tobytes()), []).append(number)
        # For each group of lists with the same distribution: numbers of the lists, columns of their
        # sorted hits, first places, values.
        self._parts: list[tuple[Integers, Integers, Integers, HitValues]] = []
        for (statistic, m, _), numbers in same.items():
            of_part, (n, _, ties) = np.array(numbers), sizes[numbers[0]]
            values = statistic.hit_values(n, m, _ties(ties))
            columns = first_hit[of_part][:, None] + np.arange(m)
            self._parts.append((of_part, columns, first_place[of_part], values))

    def __repr__(self) -> str:
        return f"n_lists={self._n_lists}, {self._exchange!r}"

    def best(self) -> float:
        return self._best

    def exact_moments(self) -> tuple[float | None, float | None]:
        """Exact mean, where it is known; no variance."""
        return self._mean, None

    def chunks(self, n_resamples: int) -> list[int]:
        per_draw = max(self._hits.n_drawn, self._n_hits, self._n_lists)
        return chunk_sizes(n_resamples, per_draw)

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
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

    Values closer than `same` are equal. `varying` are the lists whose value can vary.
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
