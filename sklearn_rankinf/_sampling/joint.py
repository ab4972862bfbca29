"""Joint permutation distribution of several rankings of the same items: the maximum statistic.

The set of positive items is drawn once for all rankings: any items, or the items that a restricted
exchange of labels allows. Every ranking has its own ranks of these items, so that the dependence
between rankings is preserved (single-step maxT; Westfall and Young 1993 [1]_). The cost of a draw
is proportional to the number of positives times the number of rankings.

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

from sklearn_rankinf._sampling.exchange import AnyExchange, ExchangedHits, reciprocal_ranks
from sklearn_rankinf._sampling.labellings import (
    HitValues,
    NullSampler,
    chunk_sizes,
    ranks_drawn,
    uniform_hit_ranks,
)
from sklearn_rankinf._statistics.additive import Metric, Statistic
from sklearn_rankinf._statistics.first_hit import FirstHitStatistic
from sklearn_rankinf._statistics.increments import Floats, Integers


class JointSampler:
    """Draws the largest of the scaled values of several rankings under random labelling.

    Parameters
    ----------
    statistic : Statistic or FirstHitStatistic
        The statistic of every ranking.
    is_hit : ndarray of bool of shape (n_samples,)
        The hits, at least 1 and not all items.
    places : ndarray of shape (n_rankings, n_samples)
        Number of the block of equal scores of each item in each ranking, from 0 for the best.
    tie_sizes : sequence of ndarray
        For each ranking the sizes of its blocks, best first.
    centers, scales : ndarray of shape (n_rankings,)
        Location and scale by which the values of each ranking are standardised.
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
            # The mirrored statistic of the misses has the same value and needs fewer items.
            statistic, n_positives, is_hit = mirrored, n_samples - n_positives, ~is_hit
            last = np.array([sizes.size - 1 for sizes in tie_sizes])
            places, tie_sizes = last[:, None] - places, [sizes[::-1] for sizes in tie_sizes]
        self._n_samples, self._n_positives = n_samples, n_positives
        by_ties: dict[bytes, HitValues] = {}
        values = [
            by_ties.setdefault(sizes.tobytes(), _values_of(statistic, n_positives, sizes))
            for sizes in tie_sizes
        ]
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


def _values_of(statistic: Metric, n_positives: int, tie_sizes: Integers) -> HitValues:
    """Values of a ranking for rows of hits at ascending places."""
    ties = None if tie_sizes.max() == 1 else tie_sizes
    if isinstance(statistic, FirstHitStatistic):
        return reciprocal_ranks(ties)
    assert isinstance(statistic, Statistic)
    return NullSampler(statistic, int(tie_sizes.sum()), n_positives, ties).values
