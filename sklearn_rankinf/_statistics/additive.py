"""The base classes of metrics, and the increments of a metric over the blocks of a ranking.

The sums of `increments` are known from three coefficients for each block, so a new metric is a
class that returns them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sklearn_rankinf._statistics.hypergeometric import log_binomial, min_hits
from sklearn_rankinf._statistics.increments import (
    Complexes,
    Floats,
    HitBlocks,
    HitValues,
    Increments,
    Influence,
    Integers,
    blocks_of,
    hits_around_blocks,
)

# Misses are counted if the worst ranking has this part of what all items would add as hits.
LEAST_OF_ALL = 1e-3
# Most ranks without ties whose weights are held in memory (0.5 GB).
_MOST_RANKS = 20_000_000
# Words in the name of a class: "F2", "AUC", "Score" and "10"; and words that are abbreviations.
_WORDS = re.compile(r"[A-Z][0-9]+(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ABBREVIATIONS = frozenset("ap auc bedroc cg dcg gmap map mrr ndcg pr roc rr".split())
# Steps of a lattice in a unit, at most, and the rounding error of a step relative to it.
_MOST_STEPS, _SAME_STEP = 10**7, 1e-14
# Differences below this part of the value of a perfect ranking may be due to rounding.
_NOTICEABLE = 1e-10


Denominators: TypeAlias = tuple[int, Sequence[int]]
"""A whole number c and ascending whole numbers r, for sums of multiples of 1 / (c r)."""


class Metric:
    """A function of the numbers of hits in blocks of equal scores, best block first."""

    # The parameter that is set by the number after the @ in the name of the metric.
    after_at: ClassVar[str] = "k"
    # Rows of tables of methods that belong to the metric.
    family: ClassVar[str] = "other"
    # Approximations of its null distributions.
    approximations: ClassVar[tuple[str, ...]] = ("normal", "pearson3")
    # Whether its value varies with every item, so that it has influence values and standard errors.
    has_influence: ClassVar[bool] = False
    # Whether its value is that of a single item, its first hit.
    of_one_item: ClassVar[bool] = False
    # Whether it is defined in a population, independently of the number of items.
    is_of_population: ClassVar[bool] = False
    takes_grades: ClassVar[bool] = False
    takes_weights: ClassVar[bool] = False
    # Whether the metric is undefined if every item is a hit.
    needs_misses: ClassVar[bool] = False
    # The kind of its null distributions, a row of a table; see `distribution_of`.
    distribution: ClassVar[str] = "sum"
    # Whether the metric is a number of hits among the first k, divided by a number.
    counts_hits: ClassVar[bool] = False
    # Whether the mean over independent rankings has an exact null distribution.
    has_exact_mean: ClassVar[bool] = False
    # Whether the retrieved items and the number of positives are sufficient, however many items
    # were not retrieved.
    of_open_lists: ClassVar[bool] = False

    def __repr__(self) -> str:
        """The class, and the parameters that differ from their defaults."""
        metric: Any = self
        changed = [
            f"{field.name}={value!r}"
            for field in (fields(metric) if is_dataclass(metric) else ())
            if (value := getattr(metric, field.name)) != field.default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    @property
    def title(self) -> str:
        """Name of the metric in sentences and on axes: the words of the name of its class."""
        return _in_words(type(self).__name__)

    @property
    def title_in_text(self) -> str:
        """The title inside a sentence: abbreviations keep their capitals."""
        title = self.title
        return title if title[:2].isupper() else title[0].lower() + title[1:]

    @property
    def symbol(self) -> str:
        """Name of the metric in legends and tables."""
        return self.title

    def at(self, n_samples: int) -> Self:
        """The same metric for a number of items; a cut-off that is a fraction becomes a rank."""
        return self

    def of_each_class(self) -> tuple[Metric, str | None]:
        """The metric of one class, and the average over classes that this one is, if any."""
        return self, None

    def shares_of_classes(self, n_positives: Floats) -> Floats:
        """Share of each class in the average, from the numbers of positives of the classes."""
        raise NotImplementedError

    @property
    def horizon(self) -> int | None:
        """Rank beyond which hits add nothing; None if every rank counts."""
        return None

    def best(self, n_samples: int, n_positives: int) -> Any:
        """Value of a perfect ranking without ties, before the offset is added."""
        raise NotImplementedError(f"{type(self).__name__} must define best().")

    def distribution_of(self, n_samples: int, n_positives: int, tie_sizes: Integers | None) -> str:
        """The kind of the null distribution of rankings of one size."""
        return self.distribution

    def offset(self, n_samples: int, n_positives: int) -> float:
        """Constant that is added to the sum of the increments."""
        return 0.0

    def maximum(self, n_samples: int, n_positives: int) -> Any:
        """Value of a perfect ranking without ties."""
        return self.best(n_samples, n_positives) + self.offset(n_samples, n_positives)

    def evaluate(self, tie_sizes: Integers, hits: Integers) -> Any:
        """Value for a ranking given by the sizes of its blocks and the hits in them."""
        raise NotImplementedError(f"{type(self).__name__} must define evaluate().")

    def of_retrieved(self, tie_sizes: Integers, hits: Integers, n_positives: int) -> Any:
        """Value for the blocks of the retrieved items; other positives are counted, but add 0."""
        raise NotImplementedError

    def of_grades(self, tie_sizes: Integers, gains: Floats, grades: Floats) -> float:
        """Value for the sums of grades in the blocks of a list, and the grades of all items."""
        raise NotImplementedError

    def hit_values(self, n_samples: int, n_positives: int, tie_sizes: Integers | None) -> HitValues:
        """The values as a function of rows of hits at ascending places.

        Places are ranks from 0, or blocks of equal scores if sizes of blocks are given.
        """
        raise NotImplementedError

    def block_values(self, n_samples: int, n_positives: int, tie_sizes: Integers) -> HitValues:
        """The values as a function of rows of numbers of hits in all blocks of equal scores."""
        raise NotImplementedError

    def totals(self, blocks: HitBlocks, *, are_kept: bool) -> Floats:
        """Values, up to the offset, of several lists given by their blocks with hits.

        Blocks are kept as blocks of equal scores, or are the mean over all orders of their items.
        """
        raise NotImplementedError

    def atoms(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> tuple[Floats, Floats]:
        """Ascending values, and logarithms of their weights, of a metric with few values."""
        raise NotImplementedError

    def significant_hits(
        self, alpha: float, n_samples: int, n_positives: int
    ) -> tuple[float, int, int] | None:
        """The smallest significant value without ties, and h and k of the same event.

        The value is reached if at least h hits are among the first k; without a significant value
        it is nan. None for metrics that depend on more than one number of hits.
        """
        return None

    def expected_in(
        self, model: Any, effect: float, n_samples: int, n_positives: int
    ) -> float | None:
        """Expected value in a model of rankings with an effect; None without a formula."""
        return None

    def denominators(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> Denominators | None:
        """Whole numbers c and r: values, less the offset, are sums of multiples of 1 / (c r).

        None if they are not known to be such fractions.
        """
        return None

    def span(self, n_samples: int, n_positives: int) -> float:
        """Step of a lattice of all values without ties; 0 if none is known."""
        return 0.0

    def check_weights(self, n_samples: int, n_positives: int) -> None:
        """Raise an error for weights of ranks that are not allowed."""

    def count(self, tie_sizes: Integers, hits: Integers) -> Any:
        """Number of hits among the first k ranks; None for metrics of another kind."""
        return None

    def mirrored(self, n_samples: int, n_positives: int) -> Statistic | None:
        """The same metric as a sum over the misses, of weights of their ranks from the end.

        If most items are hits, this form avoids the cancellation of a large sum and a large offset.
        None for metrics without an offset, and where the offset of the hits is small.
        """
        return None


def _in_words(name: str) -> str:
    """Name of a class in words, such as "Log AUC" for LogAuc."""
    words = _WORDS.findall(name)
    if "".join(words) != name.replace("_", ""):
        return name  # letters of other alphabets
    written = [
        word.upper() if word.lower() in _ABBREVIATIONS else word if word.isupper() else word.lower()
        for word in words
    ]
    return " ".join(written)[:1].upper() + " ".join(written)[1:]


class Statistic(Metric):
    """An additive rank statistic: the coefficients of its increments, for any block."""

    has_influence = True

    def tied(
        self, starts: ArrayLike, sizes: ArrayLike, n_samples: int, n_positives: int
    ) -> Increments:
        """Coefficients of blocks of equal scores, each given by its start and size."""
        raise NotImplementedError(f"{type(self).__name__} must define tied().")

    def shuffled(
        self, starts: ArrayLike, sizes: ArrayLike, n_samples: int, n_positives: int
    ) -> Increments:
        """Coefficients of the expected increment if the items of each block are in random order.

        The default, the coefficients of ties, is right for sums of weights of ranks.
        """
        return self.tied(starts, sizes, n_samples, n_positives)

    def log_probability_of_best(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> float:
        """Log probability of the value of a perfect ranking without ties; nan if unavailable."""
        return math.nan

    def log_mgf(
        self, z: Complexes, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> Complexes | None:
        """``log E exp(z S)`` for the sum S of the increments in closed form, if there is one."""
        return None

    def mean_and_variance(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> tuple[float, float] | None:
        """Mean and variance of the sum of the increments in closed form, if there is one."""
        return None

    def influence(self, tie_sizes: Integers, hits: Integers) -> Influence | None:
        """Influence of the items of a ranking in closed form, if there is one."""
        return None

    def weighted(self, sizes: Floats, hits: Floats) -> tuple[float, Influence] | None:
        """Value and influence of items with weights, given their sums in each block, if defined.

        The sizes are sums of the weights of all items, and hits those of the positives.
        """
        return None

    def hit_values(self, n_samples: int, n_positives: int, tie_sizes: Integers | None) -> HitValues:
        if tie_sizes is None:
            return partial(self._values_at_ranks, n_samples, n_positives)
        starts = np.cumsum(tie_sizes) - tie_sizes
        increments = self.tied(starts, tie_sizes, n_samples, n_positives)
        return partial(_values_in_blocks, increments, self.offset(n_samples, n_positives))

    def _values_at_ranks(self, n_samples: int, n_positives: int, ranks: Integers) -> Floats:
        increments = self.tied(ranks, 1, n_samples, n_positives)
        gains = increments.cross * np.arange(n_positives) + increments.linear + increments.square
        return np.asarray(gains.sum(axis=1) + self.offset(n_samples, n_positives))

    def block_values(self, n_samples: int, n_positives: int, tie_sizes: Integers) -> HitValues:
        increments = self.tied(np.cumsum(tie_sizes) - tie_sizes, tie_sizes, n_samples, n_positives)
        offset = self.offset(n_samples, n_positives)
        return partial(_values_of_counts, increments, offset)

    def totals(self, blocks: HitBlocks, *, are_kept: bool) -> Floats:
        coefficients = self.tied if are_kept else self.shuffled
        found = coefficients(blocks.starts, blocks.sizes, blocks.n_samples, blocks.n_positives)
        inside = found.linear + found.square * blocks.hits
        gains = blocks.hits * (found.cross * blocks.before + inside)
        sums = np.bincount(blocks.lists, gains, minlength=blocks.n_lists)
        return sums.astype(float, copy=False)

    def evaluate(self, tie_sizes: Integers, hits: Integers) -> Any:
        return self.of_retrieved(tie_sizes, hits, int(np.sum(hits)))

    def of_retrieved(self, tie_sizes: Integers, hits: Integers, n_positives: int) -> Any:
        starts, n_samples = np.cumsum(tie_sizes) - tie_sizes, int(np.sum(tie_sizes))
        increments = self.tied(starts, tie_sizes, n_samples, n_positives)
        return float(increments.total(hits)) + self.offset(n_samples, n_positives)


def _values_of_counts(increments: Increments, offset: float, hits: Integers) -> Floats:
    """Sums over blocks, by the numbers of hits in all of them."""
    return np.asarray(increments.total(hits) + offset)


def _values_in_blocks(increments: Increments, offset: float, blocks: Integers) -> Floats:
    """Sums over hits: each adds ``cross h + linear + square y`` with y hits in its block."""
    hits_before, hits_to_end = hits_around_blocks(blocks)
    gains = (
        increments.cross[blocks] * hits_before
        + increments.linear[blocks]
        + increments.square[blocks] * (hits_to_end - hits_before)
    )
    return np.asarray(gains.sum(axis=1) + offset)


class HitsAtK(Statistic):
    """Hits among the first k ranks, divided by a number.

    A block of equal scores that straddles rank k adds its expectation over random tie-breaking:
    ``y j / g`` for y hits among its g items, of which j are among the first k. "Ties that straddle
    k" in doc/theory.rst.
    """

    family = "hits"
    distribution = "hits"
    approximations = ("normal", "binomial")
    is_of_population = True
    counts_hits = True
    has_exact_mean = True
    k: Any

    @property
    def horizon(self) -> int:
        return int(self.k)

    def divided_by(self, n_samples: int, n_positives: int) -> Any:
        """Divisor of the number of hits."""
        raise NotImplementedError(f"{type(self).__name__} must define divided_by().")

    def best(self, n_samples: int, n_positives: int) -> Any:
        return np.minimum(n_positives, self.k) / self.divided_by(n_samples, n_positives)

    def tied(
        self, starts: ArrayLike, sizes: ArrayLike, n_samples: int, n_positives: int
    ) -> Increments:
        start, size = blocks_of(starts, sizes)
        counted = np.clip(self.k - start, 0, size)
        each = counted / (size * float(self.divided_by(n_samples, n_positives)))
        return Increments(size, np.zeros_like(each), each, np.zeros_like(each))

    def log_probability_of_best(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> float:
        """Log probability of the value of a perfect ranking.

        Either every hit is in a block that ends by k, or every block that begins before k contains
        only hits.
        """
        before, inside, counted = (int(part) for part in self.straddling(tie_sizes))
        hits, chosen_from = n_positives, before
        if n_positives > int(self.k):
            full = before + (inside if counted else 0)
            hits, chosen_from = n_positives - full, n_samples - full
        if not 0 <= hits <= chosen_from:
            return -math.inf
        return log_binomial(chosen_from, hits) - log_binomial(n_samples, n_positives)

    def significant_hits(
        self, alpha: float, n_samples: int, n_positives: int
    ) -> tuple[float, int, int]:
        k = int(self.k)
        h = int(min_hits(alpha, n_samples, n_positives, k))
        if h > min(n_positives, k):
            return math.nan, h, k
        return h / float(self.divided_by(n_samples, n_positives)), h, k

    def expected_in(self, model: Any, effect: float, n_samples: int, n_positives: int) -> float:
        hits = model.expected_hits(n_samples, n_positives, int(self.k), effect)
        return float(hits / self.divided_by(n_samples, n_positives))

    def denominators(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> Denominators | None:
        """Denominator of the contribution of a hit, or of a part of one in a straddling block."""
        _, inside, counted = (int(part) for part in self.straddling(tie_sizes))
        step = 1.0 / (float(self.divided_by(n_samples, n_positives)) * inside)
        if counted:
            step *= math.gcd(counted, inside)
        fraction = Fraction(step).limit_denominator(_MOST_STEPS)
        is_exact = abs(float(fraction) - step) <= _SAME_STEP * step
        return (fraction.denominator, (1,)) if is_exact else None

    def straddling(self, tie_sizes: Integers | None) -> tuple[Integers, Integers, Integers]:
        """Items in blocks that end by k; size of the block that straddles k; its ranks up to k.

        The size is 1 and the number of ranks 0 if no block straddles k.
        """
        k = np.asarray(self.k, dtype=np.int64)
        if tie_sizes is None:
            return k, np.ones_like(k), np.zeros_like(k)
        ends = np.cumsum(tie_sizes)
        block = np.searchsorted(ends, k, side="left")
        whole = ends[block] == k
        start = ends[block] - tie_sizes[block]
        return (
            np.where(whole, k, start),
            np.where(whole, 1, tie_sizes[block]),
            np.where(whole, 0, k - start),
        )

    def count(self, tie_sizes: Integers, hits: Integers) -> Any:
        """Number of hits among the first k ranks, a fraction if a block straddles k."""
        before, inside, counted = self.straddling(tie_sizes)
        ends = np.cumsum(tie_sizes)
        hits_before = np.append(0, np.cumsum(hits))[np.searchsorted(ends, before, side="right")]
        straddler = np.searchsorted(ends, before + 1)
        found = np.append(hits, 0)[straddler]
        return hits_before + found * counted / inside

    def of_retrieved(self, tie_sizes: Integers, hits: Integers, n_positives: int) -> Any:
        value = self.count(tie_sizes, hits) / self.divided_by(int(np.sum(tie_sizes)), n_positives)
        return float(value)


class SumOfWeights(Statistic):
    """A sum of a weight of the rank of each hit; weights do not increase with the rank."""

    def weights(self, ranks: Integers, n_samples: int, n_positives: int) -> Floats:
        """Weight of a positive at each rank from 1, not negative and nowhere increasing."""
        raise NotImplementedError(f"{type(self).__name__} must define weights().")

    def weight_sums(
        self, starts: Integers, sizes: Integers, n_samples: int, n_positives: int
    ) -> Floats:
        """Sums of the weights over blocks of ranks, each after its start.

        By default the weights are summed rank by rank. A formula makes long lists cheaper.
        """
        before = np.cumsum(sizes) - sizes
        ranks = np.arange(sizes.sum()) + np.repeat(starts + 1 - before, sizes)
        return np.asarray(np.add.reduceat(self.weights(ranks, n_samples, n_positives), before))

    def tied(
        self, starts: ArrayLike, sizes: ArrayLike, n_samples: int, n_positives: int
    ) -> Increments:
        start, size = blocks_of(starts, sizes)
        # Weights that decrease steeply become 0.
        with np.errstate(under="ignore"):
            if np.all(size == 1):
                mean = np.asarray(self.weights(start + 1, n_samples, n_positives), dtype=float)
            else:
                mean = np.asarray(self.weight_sums(start, size, n_samples, n_positives)) / size
        return Increments(size, np.zeros(mean.shape), mean, np.zeros(mean.shape))

    def evaluate(self, tie_sizes: Integers, hits: Integers) -> float:
        mirrored = self.mirrored(int(np.sum(tie_sizes)), int(np.sum(hits)))
        if mirrored is None:
            return float(super().evaluate(tie_sizes, hits))
        return float(mirrored.evaluate(tie_sizes[::-1], (tie_sizes - hits)[::-1]))

    def best(self, n_samples: int, n_positives: int) -> float:
        top = np.array([0]), np.array([n_positives])
        return float(self.weight_sums(*top, n_samples, n_positives)[0]) if n_positives else 0.0

    def log_probability_of_best(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> float:
        """Log probability of a perfect ranking.

        It is nan if moving the last positive down changes the value by no more than rounding, so
        that other rankings have the same value.
        """
        ends = np.array([n_positives, n_positives + 1, n_samples])
        last, next_one, lowest = self.weights(ends, n_samples, n_positives)
        least = _NOTICEABLE * self.best(n_samples, n_positives)
        if not (last > next_one and last - lowest > least):
            return math.nan
        return log_probability_of_hits_down_to(n_positives, n_samples, n_positives, tie_sizes)


def log_probability_of_hits_down_to(
    rank: int, n_samples: int, n_positives: int, tie_sizes: Integers | None
) -> float:
    """Log probability that every block down to a rank contains only hits."""
    if tie_sizes is not None:
        ends = np.cumsum(tie_sizes)
        rank = int(ends[np.searchsorted(ends, rank)])
    if rank > n_positives:
        return -math.inf
    return log_binomial(n_samples - rank, n_positives - rank) - log_binomial(n_samples, n_positives)


def horizon_of(statistic: Statistic, n_samples: int) -> int:
    """Number of ranks at which hits may add something."""
    return n_samples if statistic.horizon is None else min(statistic.horizon, n_samples)


def increments_of(
    statistic: Statistic, n_samples: int, n_positives: int, tie_sizes: Integers | None
) -> Increments:
    """Coefficients for every block of a ranking; without ties every item is a block.

    Ranks beyond the horizon of the statistic make one last block that adds nothing.
    """
    horizon = horizon_of(statistic, n_samples)
    if tie_sizes is None and horizon > _MOST_RANKS:
        raise ValueError(
            f"{type(statistic).__name__} of {horizon} ranks without ties needs one weight per "
            f"rank, and more than {_MOST_RANKS} weights do not fit into memory: use a "
            "cut-off k if the metric has one, or average precision, which has no such limit."
        )
    sizes = np.ones(horizon, dtype=np.int64) if tie_sizes is None else tie_sizes
    ends = np.cumsum(sizes)
    n_blocks = min(int(np.searchsorted(ends, horizon)) + 1, sizes.size)
    counted = sizes[:n_blocks]
    beyond = n_samples - int(ends[n_blocks - 1])
    increments = statistic.tied(ends[:n_blocks] - counted, counted, n_samples, n_positives)
    return increments.with_inert_block(beyond)
