"""Draws of the mean of a statistic over independent queries, each under random labelling.

The queries are drawn one after the other; queries whose value cannot vary add a constant.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sklearn_rankinf._permutation.draws import Sampler
from sklearn_rankinf._statistics import Floats


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
