"""Draws of an additive statistic under random labelling: the Monte Carlo null distribution.

A draw is a uniformly distributed set of ranks of the positives, found by one of three methods:

* few positives: ranks with replacement, duplicates redrawn (rejection until all are distinct);
* many positives: the positions of the smallest of n random keys;
* fewer blocks of equal scores than positives: hits in every block at once, which have a
  multivariate hypergeometric distribution.

Memory is proportional to (resamples) x (positives) within a chunk of resamples. How p-values are
computed from the draws: "Permutation p-values" in doc/theory.rst.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from sklearn_rankinf._permutation.draws import Sampler, chunk_sizes
from sklearn_rankinf._statistics import Floats, Integers, Statistic


def uniform_hit_ranks(
    n_samples: int, n_positives: int, n_sets: int, rng: np.random.Generator
) -> Integers:
    """Random sets of hits: `n_sets` rows of `n_positives` distinct ascending ranks from 0 to n - 1.

    If the hits are a small part of the ranks, ranks are drawn independently and duplicates are
    drawn again until all are distinct. The result is uniformly distributed: it is a sequence of
    independent draws, stopped at its m-th distinct value. Otherwise every rank gets a random key,
    and the ranks with the smallest keys are selected.
    """
    dtype = np.int32 if n_samples < 2**31 else np.int64
    if ranks_drawn(n_samples, n_positives) > n_positives:
        keys = rng.random((n_sets, n_samples))
        return np.sort(np.argpartition(keys, n_positives - 1, axis=1)[:, :n_positives], axis=1)
    ranks = np.sort(rng.integers(n_samples, size=(n_sets, n_positives), dtype=dtype), axis=1)
    rows = np.arange(n_sets)
    while True:
        repeated = np.zeros((rows.size, n_positives), dtype=bool)
        repeated[:, 1:] = ranks[rows, 1:] == ranks[rows, :-1]
        unfinished = repeated.any(axis=1)
        rows, repeated = rows[unfinished], repeated[unfinished]
        if not rows.size:
            return ranks.astype(np.int64, copy=False)
        redrawn = ranks[rows]
        redrawn[repeated] = rng.integers(n_samples, size=int(repeated.sum()), dtype=dtype)
        ranks[rows] = np.sort(redrawn, axis=1)


def ranks_drawn(n_samples: int, n_positives: int) -> int:
    """Random numbers for a set of hits: one a hit if hits are few, otherwise one a rank."""
    return n_positives if n_positives <= max(1, n_samples // 4) else n_samples


class PermutationSampler(Sampler, Protocol):
    """Draws of a statistic that has no exact null distribution, only resamples."""

    def exact_moments(self) -> tuple[float | None, float | None]:
        """Exact mean and variance; None for a moment without a formula."""

    def best(self) -> float:
        """Value of a perfect ranking."""


class NullSampler:
    """Draws values of a statistic under random labelling; without ties `tie_sizes` is None."""

    def __init__(
        self, statistic: Statistic, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> None:
        self._statistic = statistic
        self._n_samples = n_samples
        self._n_positives = n_positives
        self._offset = statistic.offset(n_samples, n_positives)
        self._ends = None if tie_sizes is None else np.cumsum(tie_sizes)
        if self._ends is not None and tie_sizes is not None and self._by_block:
            starts = self._ends - tie_sizes
            self._tied = statistic.tied(starts, tie_sizes, n_samples, n_positives)
        else:
            self._values = statistic.hit_values(n_samples, n_positives, tie_sizes)

    def chunks(self, n_resamples: int) -> list[int]:
        drawn = ranks_drawn(self._n_samples, self._n_positives)
        return chunk_sizes(n_resamples, self._n_blocks if self._by_block else drawn)

    @property
    def _n_blocks(self) -> int:
        return self._n_samples if self._ends is None else int(self._ends.size)

    @property
    def _by_block(self) -> bool:
        """Whether hits are drawn block by block, which is cheaper if blocks are fewer than hits.

        The multivariate hypergeometric generator of numpy is limited to 10**9 items.
        """
        return self._n_blocks <= self._n_positives and self._n_samples < 10**9

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        if self._n_positives == 0:
            return np.zeros(n_draws)
        if self._by_block and self._ends is not None:
            hits = rng.multivariate_hypergeometric(
                self._tied.sizes, self._n_positives, size=n_draws, method="marginals"
            )
            return self._tied.total(hits) + self._offset
        ranks = uniform_hit_ranks(self._n_samples, self._n_positives, n_draws, rng)
        places = ranks if self._ends is None else np.searchsorted(self._ends, ranks, side="right")
        return self._values(places)


class MeanSampler:
    """Draws values of the mean of a statistic over independent rankings.

    Each sampler of values that vary stands for a number of rankings; `constant` is the sum of the
    other values.
    """

    def __init__(
        self, samplers: Sequence[tuple[Sampler, int]], constant: float, n_rankings: int
    ) -> None:
        self._samplers, self._constant, self._n = samplers, constant, n_rankings

    def chunks(self, n_resamples: int) -> list[int]:
        """Sizes of the chunks for `n_resamples` draws: those of the most expensive ranking."""
        chunks = [sampler.chunks(n_resamples) for sampler, _ in self._samplers]
        return max(chunks, key=len, default=[n_resamples])

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        total = np.full(n_draws, float(self._constant))
        for sampler, count in self._samplers:
            for _ in range(count):
                total += sampler.draw(n_draws, rng)
        return np.asarray(total / self._n)
