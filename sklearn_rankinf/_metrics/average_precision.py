"""Average precision, of a whole ranking and of its first k ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sklearn_rankinf._metrics.values import WithCutOff, at_k, set_parameters
from sklearn_rankinf._ranking import check_option
from sklearn_rankinf._statistics import (
    Denominators,
    Floats,
    Increments,
    Influence,
    Integers,
    Statistic,
    average_precision_at_k_influence,
    average_precision_influence,
    average_precision_mean_and_variance,
    blocks_of,
    harmonic_between,
    log_probability_of_hits_down_to,
)


@dataclass(frozen=True, repr=False)
class AveragePrecision(WithCutOff, Statistic):
    r"""Average precision of the whole ranking or of its first k ranks.

    Parameters
    ----------
    k : int, float or None, default=None
        Cut-off: a number of items, or a fraction of them between 0 and 1, rounded up; None means
        the whole ranking.
    normalize : {"min", "positives"}, default="min"
        Divisor: the smaller of the number of positives and `k`, or the number of positives.

    Raises
    ------
    TypeError
        If `k` is not a number.
    ValueError
        If `k` is out of its range, or `normalize` is not one of the two.

    See Also
    --------
    sklearn_rankinf.metric_test : Test of any metric.
    sklearn_rankinf.average_precision_test : Test of average precision.

    Notes
    -----
    A block of equal scores is one threshold, as in scikit-learn: with :math:`H_b` positives among
    the first :math:`T_b` items at the end of block b, and :math:`y_b` positives in it,

    .. math:: \mathrm{AP} = \frac{1}{m} \sum_b y_b \frac{H_b}{T_b}.

    With `k` only the first k ranks count, and a block that straddles k contributes its expectation
    over random tie-breaking.

    Examples
    --------
    >>> from sklearn_rankinf import AveragePrecision, metric_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> round(metric_test(y_true, y_score, metric=AveragePrecision(k=3)).statistic, 4)
    0.6667
    """

    family = "average_precision"
    approximations = ("normal", "pearson3", "zhang_su")
    is_of_population = True
    takes_weights = True
    has_exact_mean = True
    of_open_lists = True
    k: Any = None
    normalize: str = "min"

    def __post_init__(self) -> None:
        super().__post_init__()
        set_parameters(
            self, normalize=check_option(self.normalize, "normalize", ("min", "positives"))
        )

    @property
    def title(self) -> str:
        return "Average precision" + at_k(self.k)

    @property
    def symbol(self) -> str:
        return "AP" if self.k is None else f"AP@{self.k}"

    def at(self, n_samples: int) -> Self:
        found = super().at(n_samples)
        return type(self)() if found.k is None else found

    def divisor(self, n_positives: int) -> float:
        """Divisor of the sum of precisions."""
        if self.k is None or self.normalize == "positives":
            return float(max(n_positives, 1))
        return float(max(min(n_positives, self.k), 1))

    def denominators(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> Denominators | None:
        """The divisor, and the ranks at which precisions are summed."""
        ranks: Sequence[int] = range(1, (self.horizon or n_samples) + 1)
        if tie_sizes is not None:
            if self.k is not None:
                return None  # a block that straddles k adds sums of other fractions
            ranks = np.cumsum(tie_sizes).tolist()
        return round(self.divisor(n_positives)), ranks

    def best(self, n_samples: int, n_positives: int) -> float:
        counted = n_positives if self.k is None else min(n_positives, self.k)
        return counted / self.divisor(n_positives)

    def tied(
        self, starts: ArrayLike, sizes: ArrayLike, n_samples: int, n_positives: int
    ) -> Increments:
        start, size = blocks_of(starts, sizes)
        divisor = self.divisor(n_positives)
        whole = np.asarray(1.0 / ((start + size) * divisor), dtype=float)
        increments = Increments(size, whole, np.zeros_like(whole), whole)
        if self.k is None:
            return increments
        cut = start + size > self.k
        partial = self.shuffled(start, size, n_samples, n_positives)
        return Increments(
            size,
            np.where(cut, partial.cross, increments.cross),
            np.where(cut, partial.linear, increments.linear),
            np.where(cut, partial.square, increments.square),
        )

    def shuffled(
        self, starts: ArrayLike, sizes: ArrayLike, n_samples: int, n_positives: int
    ) -> Increments:
        """Coefficients of the expected increment of blocks in random order, up to rank k.

        With a = ``starts``, g = ``sizes``, j counted ranks of the block and ``S = H_{a+j} - H_a``:
        ``h y S/g + y S/g + y (y-1) (j - (a+1) S) / (g (g-1))``.
        """
        start, size = blocks_of(starts, sizes)
        divisor = self.divisor(n_positives)
        counted = size if self.k is None else np.clip(self.k - start, 0, size)
        one_hit = harmonic_between(start, start + counted)
        each = one_hit / (size * divisor)
        # j - (a+1) S sums, over the counted ranks, the number of earlier ranks divided by the rank.
        behind = np.where(counted > 1, counted - (start + 1.0) * one_hit, 0.0)
        pairs = behind / (np.maximum(size * (size - 1.0), 1.0) * divisor)
        return Increments(size, each, each - pairs, pairs)

    def log_probability_of_best(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> float:
        """Natural logarithm of the probability of the value of a perfect ranking without ties.

        The value requires only hits in every block down to rank ``min(n_positives, k)``.
        """
        reached = n_positives if self.k is None else min(n_positives, self.k)
        return log_probability_of_hits_down_to(reached, n_samples, n_positives, tie_sizes)

    def mean_and_variance(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> tuple[float, float] | None:
        """Mean and variance in closed form for long rankings without ties; otherwise None."""
        if self.k is not None or tie_sizes is not None or n_samples < 100:
            return None
        return average_precision_mean_and_variance(n_samples, n_positives)

    def expected_in(
        self, model: Any, effect: float, n_samples: int, n_positives: int
    ) -> float | None:
        """Expected value in a model of rankings with an effect; None for a value at k."""
        if self.k is not None:
            return None
        return float(model.expected_average_precision(n_samples, n_positives, effect))

    def weighted(self, sizes: Floats, hits: Floats) -> tuple[float, Influence] | None:
        if self.k is not None:
            return None
        value = hits @ (np.cumsum(hits) / np.cumsum(sizes)) / hits.sum()
        return float(value), average_precision_influence(sizes, hits)

    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence:
        if self.k is None:
            return average_precision_influence(tie_sizes, hits)
        return average_precision_at_k_influence(tie_sizes, hits, self.k, self.normalize)
