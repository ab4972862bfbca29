"""Several rankings of the same items under one random labelling, and the largest of their values.

Which items are hits is drawn once for all rankings: any items, or those that an exchange of labels
allows. Each ranking looks up where it has them, so that what the rankings have in common stays, at
a cost proportional to the number of hits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._engine.statistics import (
    FirstHitStatistic,
    Floats,
    Integers,
    Metric,
    Statistic,
)
from sklearn_rankinf._sampling.exchange import AnyExchange, ExchangedHits, reciprocal_ranks
from sklearn_rankinf._sampling.labellings import (
    HitValues,
    NullSampler,
    chunk_sizes,
    ranks_drawn,
    uniform_hit_ranks,
)


class JointSampler:
    """Draws the largest of the scaled values of several rankings under random labelling.

    Parameters
    ----------
    statistic : Statistic or FirstHitStatistic
        The statistic of every ranking.
    is_hit : ndarray of bool of shape (n_samples,)
        The hits, at least 1 and not all items.
    places : ndarray of shape (n_rankings, n_samples)
        Block of equal scores that each ranking has each item in, from 0 for the best.
    tie_sizes : sequence of ndarray
        For each ranking the sizes of its blocks, best first.
    centers, scales : ndarray of shape (n_rankings,)
        What is taken off the values of each ranking, and what the rest is divided by.
    exchange : Exchange or Shifts, optional
        Which labels may change places; by default all of them.
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
        mirrored = statistic.mirrored()
        if mirrored is not None and 2 * n_positives > n_samples:
            # The misses have the same value, with more digits, and there are fewer of them.
            statistic, n_positives, is_hit = mirrored, n_samples - n_positives, ~is_hit
            last = np.array([sizes.size - 1 for sizes in tie_sizes])
            places, tie_sizes = last[:, None] - places, [sizes[::-1] for sizes in tie_sizes]
        self._n_samples, self._n_positives = n_samples, n_positives
        by_ties: dict[bytes, HitValues] = {}
        values = [
            by_ties.setdefault(sizes.tobytes(), _values_of(statistic, n_positives, sizes))
            for sizes in tie_sizes
        ]
        # One array of small numbers: workers share it, and it is quickly sorted.
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


def _values_of(statistic: Metric, n_positives: int, tie_sizes: Integers) -> HitValues:
    """Values of a ranking for rows of hits at ascending places."""
    ties = None if tie_sizes.max() == 1 else tie_sizes
    if isinstance(statistic, FirstHitStatistic):
        return reciprocal_ranks(ties)
    assert isinstance(statistic, Statistic)
    return NullSampler(statistic, int(tie_sizes.sum()), n_positives, ties).values
