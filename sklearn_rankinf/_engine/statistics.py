"""What is summed: the increments of an additive rank statistic, and the base classes of metrics.

A ranking is a sequence of blocks of equal scores, best first; block b has ``size`` items and ends
at rank ``T_b``. With ``y_b`` hits (positives) in block b and ``h_b`` hits before it, every
statistic here is

    S = sum_b y_b (cross_b h_b + linear_b + square_b y_b),

a sum of increments that are quadratic in the hits. The rest of the engine knows nothing but the
three coefficients, so a new metric is a class that returns them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma, zeta

if TYPE_CHECKING:
    from sklearn_rankinf._inference.influence import Influence

# With so many blocks of equal scores or fewer a distribution is coarse, with so few very coarse.
FEW_BLOCKS, VERY_FEW_BLOCKS = 64, 16
# More ranks are not listed one by one.
_MOST_RANKS = 20_000_000
# A part of the value of a perfect ranking that is far above what counts as rounding.
_NOTICEABLE = 1e-10
# Numbers of placements are known as numbers up to this logarithm, and relative to each other else.
_LARGE_LOG_COUNT = 40.0

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Complexes = NDArray[np.complex128]


def harmonic(t: ArrayLike) -> Floats:
    """Harmonic number ``H_t = sum_{i<=t} 1/i``, elementwise and O(1) in t."""
    return np.asarray(digamma(np.asarray(t, dtype=float) + 1.0) + np.euler_gamma)


def harmonic_squares(t: ArrayLike) -> Floats:
    """``sum_{i<=t} 1/i**2``, elementwise and O(1) in t."""
    return np.asarray(zeta(2.0, 1.0) - zeta(2.0, np.asarray(t, dtype=float) + 1.0))


def harmonic_between(a: ArrayLike, b: ArrayLike) -> Floats:
    """``sum_{a<i<=b} 1/i`` without the cancellation of ``H_b - H_a`` at far ranks."""
    a, b = np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(b, dtype=float))
    near = harmonic(b) - harmonic(a)
    far = a >= 100.0
    low, high = np.where(far, a, 100.0), np.where(far, b, 100.0)
    # H_t = log t + gamma + 1/(2t) - 1/(12 t^2) + 1/(120 t^4) - ..., term by term.
    width = (high - low) / low
    difference = (
        np.log1p(width)
        - (high - low) / (2.0 * low * high)
        + (high - low) * (high + low) / (12.0 * low**2 * high**2)
        - (low**-4.0 - high**-4.0) / 120.0
    )
    return np.where(far, difference, near)


def log_binomial(n: int, m: int) -> float:
    """Natural logarithm of ``C(n, m)``, exact for small numbers and without cancellation for large.

    Sums of ``gammaln`` lose digits at n = 1e9; Stirling's series of the ratio does not.
    """
    m = min(m, n - m)
    if m == 0:
        return 0.0
    if m <= 1000:
        return math.log(math.comb(n, m))
    p = m / n
    entropy = -n * (p * math.log(p) + (1.0 - p) * math.log1p(-p))
    scale = -0.5 * math.log(2.0 * math.pi * n * p * (1.0 - p))
    return entropy + scale + _stirling_rest(n) - _stirling_rest(m) - _stirling_rest(n - m)


def _stirling_rest(x: float) -> float:
    return 1.0 / (12.0 * x) - 1.0 / (360.0 * x**3) + 1.0 / (1260.0 * x**5)


@dataclass(frozen=True, eq=False)
class Increments:
    """The coefficients of an additive rank statistic, block by block.

    Attributes
    ----------
    sizes : ndarray of shape (n_blocks,)
        Number of items in each block.
    cross, linear, square : ndarray of shape (n_blocks,)
        A block with ``h`` hits before it and ``y`` in it adds ``y (cross h + linear + square y)``.
    """

    sizes: Integers
    cross: Floats
    linear: Floats
    square: Floats

    def __getitem__(self, blocks: slice | Integers) -> Increments:
        """Some of the blocks."""
        parts = self.sizes[blocks], self.cross[blocks], self.linear[blocks], self.square[blocks]
        return Increments(*parts)

    @property
    def n_samples(self) -> int:
        """Number of items."""
        return int(self.sizes.sum())

    @property
    def starts(self) -> Integers:
        """Number of items before each block."""
        return np.cumsum(self.sizes) - self.sizes

    @property
    def of_one_hit(self) -> Floats:
        """What a hit in each block adds if it is the first and only one."""
        return self.linear + self.square

    @property
    def is_inert(self) -> NDArray[np.bool_]:
        """Which blocks add nothing."""
        return np.asarray((self.cross == 0.0) & (self.linear == 0.0) & (self.square == 0.0))

    @property
    def is_linear(self) -> bool:
        """Whether what a hit adds does not depend on the others."""
        return not (np.any(self.cross) or np.any(self.square))

    def gain(self, block: int, before: Any, y: Any) -> Any:
        """What `y` hits in a block add, with so many hits before it; elementwise."""
        return y * (self.cross[block] * before + self.linear[block] + self.square[block] * y)

    def negated(self) -> Increments:
        """Coefficients of the statistic with the opposite sign."""
        return Increments(self.sizes, -self.cross, -self.linear, -self.square)

    def from_the_end(self, n_positives: int) -> Increments:
        """The same statistic with the blocks in the opposite order, where all hits are so many.

        With h' hits in later blocks and y in a block there are ``n_positives - h' - y`` before it.
        """
        linear = self.linear + self.cross * n_positives
        square = self.square - self.cross
        return Increments(self.sizes[::-1], -self.cross[::-1], linear[::-1], square[::-1])

    def of_misses(self) -> tuple[Increments, float]:
        """The same statistic told by its misses: ``S = constant - (statistic of the misses)``.

        With ``x = size - y`` misses in a block, w before it and B items before it, the misses take
        away ``x (-cross w + linear' - square x)`` of the value that all hits would have, where
        ``linear' = cross B + linear + 2 square size + sum over later blocks of size cross``.
        """
        crossed = self.sizes * self.cross
        later = crossed.sum() - np.cumsum(crossed)
        linear = self.cross * self.starts + self.linear + 2.0 * self.square * self.sizes + later
        misses = Increments(self.sizes, -self.cross, linear, -self.square)
        return misses, float(self.total(self.sizes))

    def given(self, block: int, y: int) -> tuple[Increments, float]:
        """The statistic of all other blocks given y hits in one block; and what is added to it.

        The hits before the block are each worth ``cross_b y`` more, and a hit in a later block c
        ``cross_c y``: what is left is a statistic of the same kind.
        """
        linear = self.linear.copy()
        linear[:block] += self.cross[block] * y
        linear[block + 1 :] += self.cross[block + 1 :] * y
        others = np.delete(np.arange(self.sizes.size), block)
        parts = self.sizes[others], self.cross[others], linear[others], self.square[others]
        return Increments(*parts), float(self.gain(block, 0, y))

    def total(self, hits: ArrayLike) -> Floats:
        """Value of the statistic for hits per block, along the last axis."""
        y = np.asarray(hits, dtype=float)
        before = np.cumsum(y, axis=-1) - y
        return np.asarray((y * (self.cross * before + self.linear + self.square * y)).sum(axis=-1))


class Metric:
    """A function of the numbers of hits in blocks of equal scores, best block first."""

    # Whether it is undefined where every item is a hit.
    needs_misses: ClassVar[bool] = False

    def __repr__(self) -> str:
        """The class, and the parameters that are not the default."""
        parameters: Any = fields(self) if is_dataclass(self) else ()
        changed = [
            f"{field.name}={value!r}"
            for field in parameters
            if (value := getattr(self, field.name)) != field.default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    @property
    def title(self) -> str:
        """What the metric is called in a sentence and along an axis."""
        return type(self).__name__

    @property
    def symbol(self) -> str:
        """What the metric is called in a legend and in a table."""
        return self.title

    def at(self, n_samples: int) -> Self:
        """The same metric for a number of samples, of which a cut-off may be a fraction."""
        return self

    @property
    def horizon(self) -> int | None:
        """Rank beyond which hits add nothing; None where every rank counts."""
        return None

    def best(self, n_samples: int, n_positives: int) -> Any:
        """Value of a perfect ranking without ties, less the offset."""
        raise NotImplementedError(f"{type(self).__name__} must define best().")

    def offset(self, n_samples: int, n_positives: int) -> float:
        """What is added to the sum of the increments."""
        return 0.0

    def maximum(self, n_samples: int, n_positives: int) -> Any:
        """Value of a perfect ranking without ties."""
        return self.best(n_samples, n_positives) + self.offset(n_samples, n_positives)

    def evaluate(self, tie_sizes: Integers, hits: Integers) -> Any:
        """Value for a ranking given by the sizes of its blocks and the hits in them."""
        raise NotImplementedError(f"{type(self).__name__} must define evaluate().")

    def mirrored(self) -> Metric | None:
        """The same value as a sum over the misses, of weights of their ranks from the end.

        Where most items are hits and a large constant is added to a large sum, only the misses
        leave all digits. It is None where no constant is added.
        """
        return None


class Statistic(Metric):
    """An additive rank statistic: the coefficients of its increments, for any block."""

    def tied(
        self, starts: ArrayLike, sizes: ArrayLike, n_samples: int, n_positives: int
    ) -> Increments:
        """Coefficients of blocks of equal scores, each given by its start and size."""
        raise NotImplementedError(f"{type(self).__name__} must define tied().")

    def shuffled(
        self, starts: ArrayLike, sizes: ArrayLike, n_samples: int, n_positives: int
    ) -> Increments:
        """Coefficients of the expected increment when a block is put in random order."""
        raise NotImplementedError(f"{type(self).__name__} must define shuffled().")

    def log_probability_of_best(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> float:
        """Natural logarithm of the probability of the value of a perfect ranking without ties.

        It is nan where it is not known.
        """
        return math.nan

    def span(self, n_samples: int, n_positives: int, tie_sizes: Integers | None) -> float:
        """Distance of which all sums of increments are multiples; 0 if there is none."""
        return 0.0

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

    def evaluate(self, tie_sizes: Integers, hits: Integers) -> Any:
        """Value for a ranking given by the sizes of its blocks and the hits in them."""
        starts = np.cumsum(tie_sizes) - tie_sizes
        n_samples, n_positives = int(np.sum(tie_sizes)), int(np.sum(hits))
        increments = self.tied(starts, tie_sizes, n_samples, n_positives)
        return float(increments.total(hits)) + self.offset(n_samples, n_positives)


class HitsAtK(Statistic):
    """Hits among the first k places, divided by a number.

    A block of equal scores that straddles rank k adds its expectation over random tie-breaking:
    ``y j / g`` for y hits among its g items, j of which have a place. An array of k stands for one
    statistic each.
    """

    k: Any

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and np.array_equal(self.k, other.k)

    def __hash__(self) -> int:
        return hash((type(self), np.asarray(self.k, dtype=float).tobytes()))

    @property
    def horizon(self) -> int:
        """Rank beyond which hits add nothing."""
        return int(np.max(self.k))

    def divided_by(self, n_samples: int, n_positives: int) -> Any:
        """What the number of hits is divided by."""
        raise NotImplementedError(f"{type(self).__name__} must define divided_by().")

    def best(self, n_samples: int, n_positives: int) -> Any:
        """Value of a perfect ranking without ties."""
        return np.minimum(n_positives, self.k) / self.divided_by(n_samples, n_positives)

    def tied(
        self, starts: ArrayLike, sizes: ArrayLike, n_samples: int, n_positives: int
    ) -> Increments:
        """Coefficients of blocks of equal scores, for one k."""
        start, size = blocks_of(starts, sizes)
        counted = np.clip(self.k - start, 0, size)
        each = counted / (size * float(self.divided_by(n_samples, n_positives)))
        return Increments(size, np.zeros_like(each), each, np.zeros_like(each))

    def shuffled(
        self, starts: ArrayLike, sizes: ArrayLike, n_samples: int, n_positives: int
    ) -> Increments:
        """Coefficients of the expected increment of blocks in random order: the same."""
        return self.tied(starts, sizes, n_samples, n_positives)

    def log_probability_of_best(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> float:
        """Natural logarithm of the probability of the value of a perfect ranking, for one k.

        Either every hit is in a block that ends by k, or every block that begins before k holds
        nothing but hits.
        """
        before, inside, counted = (int(part) for part in self.straddling(tie_sizes))
        hits, chosen_from = n_positives, before
        if n_positives > int(self.k):
            full = before + (inside if counted else 0)
            hits, chosen_from = n_positives - full, n_samples - full
        if not 0 <= hits <= chosen_from:
            return -math.inf
        return log_binomial(chosen_from, hits) - log_binomial(n_samples, n_positives)

    def straddling(self, tie_sizes: Integers | None) -> tuple[Integers, Integers, Integers]:
        """Items in blocks that end by k; size of the block that straddles k, and places in it.

        Where no block straddles k it has no places, and size 1.
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
        """Number of hits among the first k places, a fraction where a block straddles k."""
        before, inside, counted = self.straddling(tie_sizes)
        ends = np.cumsum(tie_sizes)
        hits_before = np.append(0, np.cumsum(hits))[np.searchsorted(ends, before, side="right")]
        straddler = np.searchsorted(ends, before + 1)
        found = np.append(hits, 0)[straddler]
        return hits_before + found * counted / inside

    def evaluate(self, tie_sizes: Integers, hits: Integers) -> Any:
        """Value for a ranking given by the sizes of its blocks and the hits in them."""
        divisor = self.divided_by(int(np.sum(tie_sizes)), int(np.sum(hits)))
        value = self.count(tie_sizes, hits) / divisor
        return value if np.ndim(self.k) else float(value)


class RankStatistic(Statistic):
    r"""Base class of metrics that sum a weight of the rank of each positive.

    A subclass defines `weights`, the contribution of a positive at each rank. It can then be passed
    as the metric to :func:`metric_null_distribution`, :func:`metric_test`,
    :func:`make_significance_scorer` and the other functions; :func:`register_metric` makes it
    available by name. Each positive in a block of equal scores contributes the mean weight of the
    ranks of the block, which is the expectation over random tie-breaking.

    See Also
    --------
    sklearn_rankinf.metric_test : Test of a ranking by such a statistic.
    sklearn_rankinf.register_metric : Register a metric under a name.

    Notes
    -----
    If the positives are at the ranks :math:`r_1 < \dots < r_m` of n samples, the value is

    .. math:: S = \sum_{i=1}^m w(r_i; n, m) + c(n, m),

    where the weights are non-negative and do not increase with the rank, and c, returned by
    `offset`, is a constant. Instances with the same parameters should be equal, so that their null
    distributions are cached; make a subclass with parameters a frozen dataclass.

    Examples
    --------
    >>> from dataclasses import dataclass, fields, is_dataclass
    >>> import numpy as np
    >>> from sklearn_rankinf import RankStatistic, metric_test
    >>> @dataclass(frozen=True)
    ... class RankBiasedPrecision(RankStatistic):
    ...     persistence: float = 0.8
    ...
    ...     def weights(self, ranks, n_samples, n_positives):
    ...         return (1 - self.persistence) * self.persistence ** (ranks - 1.0)
    >>> y_true, y_score = [1, 1, 0, 1, 0, 0], [6, 5, 4, 3, 2, 1]
    >>> result = metric_test(y_true, y_score, metric=RankBiasedPrecision())
    >>> round(result.statistic, 4), result.pvalue
    (0.4624, 0.1)
    """

    def weights(self, ranks: Integers, n_samples: int, n_positives: int) -> Floats:
        """Contribution of a positive at each rank, elementwise.

        Parameters
        ----------
        ranks : ndarray of int
            Ranks, from 1 for the best.
        n_samples, n_positives : int
            Size of the ranking and number of positives.

        Returns
        -------
        ndarray of float
            Non-negative weights in the shape of `ranks`, which do not increase with the rank.
        """
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
        """Coefficients of blocks of equal scores."""
        start, size = blocks_of(starts, sizes)
        if np.all(size == 1):
            mean = np.asarray(self.weights(start + 1, n_samples, n_positives), dtype=float)
        else:
            mean = np.asarray(self.weight_sums(start, size, n_samples, n_positives)) / size
        return Increments(size, np.zeros(mean.shape), mean, np.zeros(mean.shape))

    def shuffled(
        self, starts: ArrayLike, sizes: ArrayLike, n_samples: int, n_positives: int
    ) -> Increments:
        """Coefficients of the expected increment of blocks in random order: the same."""
        return self.tied(starts, sizes, n_samples, n_positives)

    def evaluate(self, tie_sizes: Integers, hits: Integers) -> float:
        """Value for a ranking given by the sizes of its blocks and the hits in them."""
        mirrored = self.mirrored()
        if mirrored is None or 2 * np.sum(hits) <= np.sum(tie_sizes):
            return float(super().evaluate(tie_sizes, hits))
        return float(mirrored.evaluate(tie_sizes[::-1], (tie_sizes - hits)[::-1]))

    def best(self, n_samples: int, n_positives: int) -> float:
        """Sum of the weights of the first ranks."""
        top = np.array([0]), np.array([n_positives])
        return float(self.weight_sums(*top, n_samples, n_positives)[0]) if n_positives else 0.0

    def log_probability_of_best(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> float:
        """Natural logarithm of the probability of a perfect ranking.

        It is not known where the last positive could as well be lower, or at the bottom: where so
        little is lost by that that other rankings have the same value, up to rounding.
        """
        ends = np.array([n_positives, n_positives + 1, n_samples])
        last, next_one, lowest = self.weights(ends, n_samples, n_positives)
        least = _NOTICEABLE * self.best(n_samples, n_positives)
        if not (last > next_one and last - lowest > least):
            return math.nan
        return log_probability_of_hits_down_to(n_positives, n_samples, n_positives, tie_sizes)


class FirstHitStatistic(Metric):
    """One over the rank of the best positive.

    It is no sum over blocks, and has so few values that they are listed. A block of ``g`` equal
    scores behind ``a`` items counts its expectation over random tie-breaking.
    """

    def best(self, n_samples: int, n_positives: int) -> float:
        """Value of a perfect ranking."""
        return 1.0 if n_positives else 0.0

    def evaluate(self, tie_sizes: Integers, hits: Integers) -> float:
        """Value for a ranking given by the sizes of its blocks and the hits in them."""
        found = np.flatnonzero(hits)
        if not found.size:
            return 0.0
        first = found[0]
        start = np.array([tie_sizes[:first].sum()])
        values = mean_reciprocals_of_firsts(start, tie_sizes[first : first + 1])
        return float(values[hits[first] - 1])

    def atoms(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> tuple[Floats, Floats]:
        """Ascending values, and logarithms of their weights: numbers of placements if they are few.

        With y of m hits in the first block that has any, of g items behind a others of n, there are
        ``C(n - a - g, m - y) C(g, y)`` placements.
        """
        n, m = n_samples, n_positives
        if m == 0:
            return np.zeros(1), np.zeros(1)
        if tie_sizes is None:
            ahead = np.arange(n - m + 1.0)
            values, hit = 1.0 / (ahead + 1.0), m / (n - ahead)
            misses = np.cumsum(np.log1p(-hit[:-1]), dtype=np.longdouble)
            log_p = np.log(hit)
            log_p[1:] += misses.astype(float)
        else:
            values, log_p = _atoms_of_blocks(n, m, tie_sizes)
        order = np.argsort(values, kind="stable")
        # Logarithms of large numbers would take digits from their differences.
        return values[order], log_p[order] + min(log_binomial(n, m), _LARGE_LOG_COUNT)


def _atoms_of_blocks(n: int, m: int, sizes: Integers) -> tuple[Floats, Floats]:
    """Reciprocal ranks of every number of hits in the first block with any, and log probabilities.

    None of the items before the block is one of the hits, and so many of those in it are.
    """
    # What counts placements at any size is built upon this module.
    from sklearn_rankinf._engine.hypergeometric import log_pmf

    starts = np.cumsum(sizes) - sizes
    start, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    found = np.arange(n) - start + 1
    possible = (found <= m) & (m - found <= n - start - size)
    start, size, found = start[possible], size[possible], found[possible]
    log_p = log_pmf(0, n, m, start) + log_pmf(found, n - start, m, size)
    return mean_reciprocals_of_firsts(starts, sizes)[possible], log_p


def mean_reciprocals_of_firsts(starts: Integers, sizes: Integers) -> Floats:
    """``E 1 / (a + J)`` with J the first of y random places of g, for y = 1, ..., g block by block.

    By ``(a + g - y + 1) E_y = 1 + E_{y+1} y (g - y) / (y + 1)`` from ``E_g = 1 / (a + 1)`` on, in
    which nothing cancels; the steps of all blocks are composed pairwise, with doubled reach.
    """
    a, g = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    before = np.cumsum(sizes) - sizes
    y = np.arange(1.0, a.size + 1.0) - np.repeat(before, sizes)
    level = 1.0 / (a + g - y + 1.0)
    slope = y * (g - y) / (y + 1.0) * level
    reach = 1
    while reach < sizes.max() and slope.any():
        level[:-reach] += slope[:-reach] * level[reach:]
        slope[:-reach] *= slope[reach:]
        slope[-reach:] = 0.0
        reach *= 2
    return np.asarray(level)


def log_probability_of_hits_down_to(
    rank: int, n_samples: int, n_positives: int, tie_sizes: Integers | None
) -> float:
    """Log probability that every block down to a rank holds nothing but hits."""
    if tie_sizes is not None:
        ends = np.cumsum(tie_sizes)
        rank = int(ends[np.searchsorted(ends, rank)])
    if rank > n_positives:
        return -math.inf
    return log_binomial(n_samples - rank, n_positives - rank) - log_binomial(n_samples, n_positives)


def blocks_of(starts: ArrayLike, sizes: ArrayLike) -> tuple[Integers, Integers]:
    """Starts and sizes of blocks as integers of one shape."""
    start, size = np.broadcast_arrays(
        np.asarray(starts, dtype=np.int64), np.asarray(sizes, dtype=np.int64)
    )
    return start, size


def increments_of(
    statistic: Statistic, n_samples: int, n_positives: int, tie_sizes: Integers | None
) -> Increments:
    """Coefficients for every block of a ranking; without ties every item is a block.

    Ranks beyond the horizon of the statistic make one last block that adds nothing.
    """
    horizon = n_samples if statistic.horizon is None else min(statistic.horizon, n_samples)
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
    return _with_inert_block(increments, beyond)


def _with_inert_block(increments: Increments, size: int) -> Increments:
    if size == 0:
        return increments
    return Increments(
        np.append(increments.sizes, size),
        np.append(increments.cross, 0.0),
        np.append(increments.linear, 0.0),
        np.append(increments.square, 0.0),
    )


def grouped_increments(
    statistic: Statistic,
    n_samples: int,
    n_positives: int,
    tie_sizes: Integers | None,
    ratio: float,
    resolution: float = math.inf,
    around: int | None = None,
) -> Increments:
    """Coefficients with far blocks merged, so that their number grows like log(n) / ratio.

    Consecutive blocks are merged while the end of the merged block is at most ``1 + ratio`` times
    its start, and a single hit adds the same up to the resolution wherever it is in it; the
    increment of a merged block is its expectation given the hits before and in it. Around a rank
    blocks are also no wider than about that part of their distance from it.
    """
    horizon = n_samples if statistic.horizon is None else min(statistic.horizon, n_samples)
    apart = edges_around(around, n_samples, ratio)
    if tie_sizes is not None:
        increments = increments_of(statistic, n_samples, n_positives, tie_sizes)
        return merged_increments(increments, ratio, resolution, apart)
    edges = np.union1d(_geometric_edges(horizon, ratio), apart[apart <= horizon])
    near, far = (
        statistic.tied(ranks, 1, n_samples, n_positives).of_one_hit
        for ranks in (edges[:-1], edges[1:] - 1)
    )
    edges = _subdivided(edges, np.abs(near - far), resolution)
    sizes = np.diff(edges)
    single = statistic.tied(edges[:-1], sizes, n_samples, n_positives)
    merged = statistic.shuffled(edges[:-1], sizes, n_samples, n_positives)
    alone = sizes == 1
    increments = Increments(
        sizes,
        np.where(alone, single.cross, merged.cross),
        np.where(alone, single.linear, merged.linear),
        np.where(alone, single.square, merged.square),
    )
    return _with_inert_block(increments, n_samples - horizon)


def edges_around(around: int | None, n_ranks: int, ratio: float) -> Integers:
    """Ranks that blocks do not span: dense around a rank; none without it."""
    if around is None:
        return np.empty(0, dtype=np.int64)
    below = around - _geometric_edges(around, ratio)
    return np.concatenate([below, around + _geometric_edges(n_ranks - around, ratio)])


def _geometric_edges(n_ranks: int, ratio: float) -> Integers:
    edges = list(range(min(n_ranks, int(1.0 / ratio)) + 1))
    while edges[-1] < n_ranks:
        edges.append(min(n_ranks, edges[-1] + max(1, int(ratio * edges[-1]))))
    return np.asarray(edges, dtype=np.int64)


def _subdivided(edges: Integers, spreads: Floats, resolution: float) -> Integers:
    """Edges of intervals, each cut into equal parts of no more than about a resolution.

    What is cut is as wide as from the first place to the last, the spread, and half a place beyond
    either.
    """
    sizes = np.diff(edges)
    widths = spreads * sizes / np.maximum(sizes - 1, 1)
    parts = np.clip(np.ceil(widths / resolution), 1, sizes).astype(np.int64)
    part = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    inner = np.repeat(edges[:-1], parts) + part * np.repeat(sizes, parts) // np.repeat(parts, parts)
    return np.append(inner, edges[-1])


def merged_firsts(sizes: Integers, ratio: float) -> Integers:
    """First of the consecutive blocks that become one each, up to ``1 + ratio`` times its start."""
    ends = np.cumsum(sizes)
    firsts, block = [], 0
    while block < ends.size:
        firsts.append(block)
        start = int(ends[block] - sizes[block])
        # Compared as integers, which spares a copy of all ends.
        limit = int(start + ratio * start)
        block = max(block + 1, int(np.searchsorted(ends, limit, side="right")))
    return np.asarray(firsts)


def merged_increments(
    increments: Increments, ratio: float, resolution: float, apart: Integers
) -> Increments:
    """Coefficients with blocks merged as in `grouped_increments`, but for those set apart."""
    first = np.searchsorted(
        np.cumsum(increments.sizes), apart[apart < increments.n_samples], "right"
    )
    first = np.union1d(merged_firsts(increments.sizes, ratio), first)
    edges = np.append(first, increments.sizes.size)
    spread = np.abs(increments.of_one_hit[edges[:-1]] - increments.of_one_hit[edges[1:] - 1])
    first = _subdivided(edges, spread, resolution)[:-1]
    g = increments.sizes.astype(float)
    size = np.add.reduceat(increments.sizes, first)
    inside_before = increments.starts - np.repeat(
        increments.starts[first], np.diff([*first, len(g)])
    )
    # E[y_i] = y g_i/G, E[y_i (y_i - 1)] = y (y-1) g_i (g_i-1) / (G (G-1)), and so for i < j.
    cross = np.add.reduceat(g * increments.cross, first) / size
    alone = np.add.reduceat(g * increments.of_one_hit, first) / size
    together = np.add.reduceat(
        g * (g - 1.0) * increments.square + g * inside_before * increments.cross, first
    )
    pairs = together / np.maximum(size * (size - 1.0), 1.0)
    return Increments(size, cross, alone - pairs, pairs)
