"""Draws of the mean of a statistic over independent queries, each under random labelling.

The queries are drawn one after the other with :class:`NullSampler`; queries whose value cannot
vary add a constant.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sklearn_rankinf._engine.distribution import constant_value
from sklearn_rankinf._engine.means.distribution import Part
from sklearn_rankinf._permutation.labellings import NullSampler
from sklearn_rankinf._statistics.additive import Statistic
from sklearn_rankinf._statistics.increments import Floats


class MeanSampler:
    """Draws values of the mean of a statistic over independent rankings."""

    def __init__(self, statistic: Statistic, parts: Sequence[Part]) -> None:
        self._n = sum(part.count for part in parts)
        self._constant = sum(
            constant_value(statistic, part.n_samples, part.n_positives) * part.count
            for part in parts
            if part.is_constant()
        )
        self._samplers = [
            (NullSampler(statistic, part.n_samples, part.n_positives, part.tie_sizes), part.count)
            for part in parts
            if not part.is_constant()
        ]

    def chunks(self, n_resamples: int) -> list[int]:
        """Sizes of the chunks for `n_resamples` draws: those of the most expensive ranking."""
        chunks = [sampler.chunks(n_resamples) for sampler, _ in self._samplers]
        return max(chunks, key=len, default=[n_resamples])

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw independent values of the mean."""
        total = np.full(n_draws, float(self._constant))
        for sampler, count in self._samplers:
            for _ in range(count):
                total += sampler.draw(n_draws, rng)
        return np.asarray(total / self._n)
