"""Influence values of the items of a ranking on a metric, and the variance that they give."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._statistics.increments import Floats, Integers


@dataclass(frozen=True, eq=False)
class Influence:
    """Influence of the items of a ranking on a metric, block by block, best score first.

    `positive` and `negative` are the influence of one positive and of one negative of each block,
    not centred. The value of a class without items in a block has no meaning; it is nan if it is
    computed by deletion. Variances are nan if a class has a single item, since one item has no
    variance, and 0 if one class is empty, since no metric then varies at fixed numbers of positives
    and negatives.
    """

    tie_sizes: Integers
    hits: Integers
    positive: Floats
    negative: Floats

    def class_variances(self) -> tuple[float, float]:
        """Variance terms of the positives and of the negatives, whose numbers are fixed.

        That of m positives is ``m / (m - 1)`` times the sum of squares of their centred values.
        """
        misses = self.tie_sizes - self.hits
        sizes = int(self.hits.sum()), int(misses.sum())
        if 0 in sizes:
            return 0.0, 0.0
        of_positives = _sum_of_squares(self.positive, self.hits) * _factor(sizes[0])
        of_negatives = _sum_of_squares(self.negative, misses) * _factor(sizes[1])
        return of_positives, of_negatives

    def variance(self, *, random_positives: bool = False) -> float:
        """Variance of the metric over samples of items.

        The numbers of positives and of negatives are fixed, or random as in a sample of n items
        from a population.
        """
        if not random_positives:
            return sum(self.class_variances())
        values = np.concatenate([self.positive, self.negative])
        return _sum_of_squares(values, np.concatenate([self.hits, self.tie_sizes - self.hits]))

    def of_items(self, blocks: Integers, is_positive: NDArray[np.bool_]) -> Floats:
        """Influence of single items in given blocks, from 0 for the best scores, not centred."""
        return np.where(is_positive, self.positive[blocks], self.negative[blocks])

    def times(self, factor: float) -> Influence:
        """Influence on a multiple of the metric."""
        values = self.positive * factor, self.negative * factor
        return Influence(self.tie_sizes, self.hits, *values)


def _factor(n: int) -> float:
    """``n / (n - 1)``; nan for one."""
    return n / (n - 1) if n > 1 else math.nan


def _sum_of_squares(values: Floats, counts: Integers) -> float:
    """Sum of squares about the mean of values that occur `counts` times."""
    there = counts > 0
    v, c = values[there], counts[there]
    return float(c @ (v - (c @ v) / c.sum()) ** 2)
