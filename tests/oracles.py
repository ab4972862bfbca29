"""Slow, plain reference computations that share no code with the package.

Everything here is written from the definitions: placements are enumerated one by one, averages
over random tie-breaking are taken over all orders, probabilities are ratios of counts, and
moments are exact fractions.  A reader can check each function against the formula in its
docstring without knowing how the package computes the same number.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln
from sklearn.metrics import average_precision_score

EQUAL = 1e-12
"""Relative difference below which two floating-point values of a statistic are the same atom."""


# ---------------------------------------------------------------------------------------------
# Placements of the positives, and the statistic of one placement
# ---------------------------------------------------------------------------------------------


def placements(n_samples: int, n_positives: int) -> Iterator[tuple[int, ...]]:
    """All sets of ranks (1-based) that the positives can take."""
    return itertools.combinations(range(1, n_samples + 1), n_positives)


def block_of_rank(tie_sizes: Sequence[int]) -> list[int]:
    """Index of the tie block of every rank, best rank first."""
    return [block for block, size in enumerate(tie_sizes) for _ in range(size)]


def hits_per_block(tie_sizes: Sequence[int], ranks: Sequence[int]) -> list[int]:
    """Number of positives in every tie block."""
    owner = block_of_rank(tie_sizes)
    counts = Counter(owner[rank - 1] for rank in ranks)
    return [counts[block] for block in range(len(tie_sizes))]


def labels_and_scores(
    tie_sizes: Sequence[int], ranks: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """A data set whose ranking has these tie blocks and these ranks of positives."""
    y_true = np.zeros(sum(tie_sizes), dtype=int)
    y_true[np.asarray(ranks, dtype=int) - 1] = 1
    return y_true, -np.asarray(block_of_rank(tie_sizes), dtype=float)


def sklearn_average_precision(tie_sizes: Sequence[int], ranks: Sequence[int]) -> float:
    """scikit-learn's own average precision of one placement."""
    return float(average_precision_score(*labels_and_scores(tie_sizes, ranks)))


def average_precision_of(y_true: np.ndarray, y_score: np.ndarray) -> float:
    """Precision at each different score, weighted by the share of the positives that have it."""
    reached = y_score >= np.unique(y_score)[::-1, None]
    hits, sizes = (reached & (y_true == 1)).sum(axis=1), reached.sum(axis=1)
    return float(np.diff(hits, prepend=0) @ (hits / sizes)) / np.sum(y_true)


def untied_average_precision_sum(ranks: Sequence[int], k: int) -> Fraction:
    """``sum(i / L_i)`` over the positives with rank ``L_i <= k``."""
    return sum(
        (Fraction(i, rank) for i, rank in enumerate(sorted(ranks), start=1) if rank <= k),
        start=Fraction(0),
    )


def average_precision(
    tie_sizes: Sequence[int],
    hits: Sequence[int],
    k: int | None = None,
    normalize: str = "min",
) -> Fraction:
    """AP, or AP at k, from the definition, as an exact fraction.

    A tie block that ends by ``k`` is one threshold: each of its ``y`` positives counts the
    precision at the block's end.  A block that straddles ``k`` counts the average, over all orders
    of its items, of the contribution of its positives with rank at most ``k``.
    """
    n_positives = sum(hits)
    if n_positives == 0:
        return Fraction(0)
    cut = sum(tie_sizes) if k is None else k
    total = Fraction(0)
    end = hits_before = 0
    for size, found in zip(tie_sizes, hits, strict=True):
        start, end = end, end + size
        if end <= cut:
            total += Fraction(found * (hits_before + found), end)
        elif start < cut:
            total += _mean_over_orders(start, size, found, hits_before, cut)
        hits_before += found
    divisor = n_positives if k is None or normalize == "positives" else min(n_positives, k)
    return total / divisor


def _mean_over_orders(start: int, size: int, found: int, hits_before: int, cut: int) -> Fraction:
    """Average contribution of a straddling block over all placements of its hits inside it."""
    total = Fraction(0)
    for inside in itertools.combinations(range(1, size + 1), found):
        for already, position in enumerate(inside, start=1):
            rank = start + position
            if rank <= cut:
                total += Fraction(hits_before + already, rank)
    return total / math.comb(size, found)


def average_precision_at_k_by_tie_breaking(
    tie_sizes: Sequence[int], hits: Sequence[int], k: int, normalize: str = "min"
) -> Fraction:
    """AP at k when only the block that straddles k is put in random order: all orders, averaged.

    The blocks that end by k stay thresholds.  This takes the average over permutations of the
    items (not over placements of the hits) and so checks `average_precision` from another side.
    """
    y_blocks = [[1] * h + [0] * (g - h) for g, h in zip(tie_sizes, hits, strict=True)]
    ends = list(itertools.accumulate(tie_sizes))
    straddling = next((b for b, end in enumerate(ends) if end - tie_sizes[b] < k < end), None)
    if straddling is None:
        return average_precision(tie_sizes, hits, k, normalize)
    orders = list(itertools.permutations(y_blocks[straddling]))
    total = Fraction(0)
    for order in orders:
        sizes = [*tie_sizes[:straddling], *[1] * len(order), *tie_sizes[straddling + 1 :]]
        found = [*hits[:straddling], *order, *hits[straddling + 1 :]]
        total += average_precision(sizes, found, k, normalize)
    return total / len(orders)


# ---------------------------------------------------------------------------------------------
# Exact null distributions by enumeration
# ---------------------------------------------------------------------------------------------


def enumerated_distribution(
    n_samples: int,
    n_positives: int,
    statistic: Callable[[tuple[int, ...]], Fraction],
) -> dict[Fraction, int]:
    """Value -> number of placements with that value, of any statistic of the ranks of positives."""
    return dict(Counter(statistic(ranks) for ranks in placements(n_samples, n_positives)))


@lru_cache(maxsize=256)
def average_precision_distribution(
    n_samples: int,
    n_positives: int,
    tie_sizes: tuple[int, ...] | None = None,
    k: int | None = None,
    normalize: str = "min",
) -> tuple[tuple[Fraction, ...], tuple[int, ...]]:
    """Sorted values of AP (or AP at k) over all placements, and how many placements have each."""
    sizes = tie_sizes or (1,) * n_samples

    @cache
    def of_hits(hits: tuple[int, ...]) -> Fraction:
        return average_precision(sizes, hits, k, normalize)

    distribution = enumerated_distribution(
        n_samples, n_positives, lambda ranks: of_hits(tuple(hits_per_block(sizes, ranks)))
    )
    values = tuple(sorted(distribution))
    return values, tuple(distribution[value] for value in values)


@lru_cache(maxsize=64)
def sklearn_values(
    n_samples: int, n_positives: int, tie_sizes: tuple[int, ...] | None = None
) -> np.ndarray:
    """scikit-learn's average precision of every placement, sorted (one entry a placement)."""
    sizes = tie_sizes or (1,) * n_samples
    # Placements with equal hits in all blocks have the same labels but for the order of equals.
    known: dict[tuple[int, ...], float] = {}
    values = []
    for ranks in placements(n_samples, n_positives):
        hits = tuple(hits_per_block(sizes, ranks)) if tie_sizes else ranks
        if hits not in known:
            known[hits] = sklearn_average_precision(sizes, ranks)
        values.append(known[hits])
    return np.sort(np.array(values))


@lru_cache(maxsize=4)
def untied_values(n_samples: int, n_positives: int) -> np.ndarray:
    """Average precision of every placement without ties, sorted; for millions of placements."""
    n_sets = math.comb(n_samples, n_positives)
    flat = itertools.chain.from_iterable(placements(n_samples, n_positives))
    ranks = np.fromiter(flat, dtype=np.int32, count=n_sets * n_positives)
    ranks = ranks.reshape(n_sets, n_positives)
    total = np.zeros(n_sets)
    for i in range(n_positives):
        total += (i + 1) / ranks[:, i]
    total /= n_positives
    total.sort()
    return total


def count_at_least(values: np.ndarray, x: float) -> int:
    """Number of entries of the sorted array that are at least x, equal ones included."""
    return len(values) - int(np.searchsorted(values, x * (1.0 - EQUAL), side="left"))


def count_at_most(values: np.ndarray, x: float) -> int:
    """Number of entries of the sorted array that are at most x, equal ones included."""
    return int(np.searchsorted(values, x * (1.0 + EQUAL), side="right"))


def is_isolated(values: np.ndarray, x: float) -> bool:
    """Whether no entry is so close to x that the meaning of "equal" decides the count."""
    near = values[(values > x * (1 - 1e-9)) & (values < x * (1 + 1e-9))]
    return bool(np.all(np.abs(near - x) <= 0.01 * EQUAL * x))


def log_count_of_extremes(n_samples: int, n_positives: int, x: float) -> tuple[int, float]:
    """Number of untied placements with AP >= x, found by search, and the log of its share.

    The ranks are chosen from the best one on, and a branch is cut as soon as even the best
    completion (all remaining positives right behind) stays below ``x``.  Feasible when few
    placements are so good, at any n and m.
    """
    target = x * n_positives * (1.0 - EQUAL)

    @cache
    def best_rest(placed: int, last: int) -> float:
        return math.fsum(i / (last + i - placed) for i in range(placed + 1, n_positives + 1))

    def count(placed: int, last: int, total: float) -> int:
        if placed == n_positives:
            return 1
        found = 0
        for rank in range(last + 1, n_samples - (n_positives - placed - 1) + 1):
            now = total + (placed + 1) / rank
            if now + best_rest(placed + 1, rank) < target:
                break
            found += count(placed + 1, rank, now)
        return found

    number = count(0, 0, 0.0)
    return number, math.log(number) - log_comb(n_samples, n_positives)


def best_rankings(n_samples: int, n_positives: int, depth: int) -> list[tuple[Fraction, int]]:
    """The best values of AP, best first, with the numbers of untied placements that reach them.

    The i-th hit lies at rank ``i + d_i`` with ``0 <= d_1 <= d_2 <= ...``, a partition of ``sum d``.
    All placements whose sum of delays is at least `depth` lose ``depth / (m + depth)`` of ``m AP``
    or more: a delay at the last hit costs least, and twice the delay there less than twice as much.
    The partitions of all smaller numbers list the placements that lose less, for any n and m.
    """
    m = n_positives
    values: Counter[Fraction] = Counter()
    for total in range(depth):
        for delays in partitions(total, min(total, n_samples - m)):
            if len(delays) <= m:
                loss = sum(
                    (Fraction(d, m - place + d) for place, d in enumerate(delays)),
                    start=Fraction(0),
                )
                if loss < Fraction(depth, m + depth):
                    values[1 - loss / m] += 1
    best = sorted(values, reverse=True)
    return list(zip(best, itertools.accumulate(values[v] for v in best), strict=True))


def partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as a sum of positive integers, in descending order."""
    if total == 0:
        yield ()
    for first in range(min(total, largest), 0, -1):
        for rest in partitions(total - first, first):
            yield (first, *rest)


def log_mgf_of_average_precision(n_samples, n_positives, theta):
    """``log E exp(theta AP)`` without ties, rank by rank, with logarithms throughout."""
    theta = np.asarray(theta, dtype=float)
    state = np.full((n_positives + 1, *theta.shape), -np.inf)
    state[0] = 0.0
    hits = np.multiply.outer(np.arange(1, n_positives + 1), theta)
    for rank in range(1, n_samples + 1):
        state[1:] = np.logaddexp(state[1:], state[:-1] + hits / (rank * n_positives))
    return state[-1] - math.log(math.comb(n_samples, n_positives))


def log_comb(n: int, k: int) -> float:
    """Natural logarithm of the exact integer C(n, k)."""
    return math.log(math.comb(n, k))


def log_choose(n: float | np.ndarray, k: float | np.ndarray) -> np.ndarray:
    """Log of C(n, k) in floating point, for many k."""
    k = np.asarray(k, dtype=float)
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


# ---------------------------------------------------------------------------------------------
# Guaranteed bounds for a tail probability at sizes that cannot be enumerated
# ---------------------------------------------------------------------------------------------


def tail_bounds(
    n_samples: int,
    n_positives: int,
    x: float,
    *,
    tie_sizes: Sequence[int] | None = None,
    n_cells: int = 8192,
) -> tuple[float, float]:
    """Lower and upper bounds for P(AP >= x), by rounding every increment down, or up, to a cell.

    The joint distribution of the hits and the sum is propagated from block to block; sums at or
    above ``m x`` are absorbed in the last cell.  Rounding every increment down can only lower the
    sum, rounding up can only raise it, so the results bracket the truth for any number of cells.
    """
    sizes = [1] * n_samples if tie_sizes is None else list(tie_sizes)
    threshold = x * n_positives * (1.0 - EQUAL)
    low = _absorbed_mass(sizes, n_positives, threshold, n_cells, math.floor)
    high = _absorbed_mass(sizes, n_positives, threshold, n_cells, math.ceil)
    return low, high


def _absorbed_mass(
    sizes: list[int],
    n_positives: int,
    threshold: float,
    n_cells: int,
    rounding: Callable[[float], int],
) -> float:
    cell = threshold / n_cells
    distribution = np.zeros((n_positives + 1, n_cells + 1))
    distribution[0, 0] = 1.0
    left, end = sum(sizes), 0
    for size in sizes:
        end += size
        new = np.zeros_like(distribution)
        for before in range(n_positives + 1):
            if not distribution[before].any():
                continue
            to_come = n_positives - before
            for found in range(max(0, size - (left - to_come)), min(size, to_come) + 1):
                chance = _hypergeometric(left, to_come, size, found)
                shift = min(n_cells, rounding(found * (before + found) / end / cell))
                new[before + found, shift:n_cells] += (
                    chance * distribution[before, : n_cells - shift]
                )
                new[before + found, n_cells] += (
                    chance * distribution[before, n_cells - shift :].sum()
                )
        distribution, left = new, left - size
    return float(distribution[n_positives, n_cells])


def _hypergeometric(population: int, good: int, draws: int, found: int) -> float:
    """P(found good ones among draws without replacement)."""
    if draws == 1:
        return good / population if found else (population - good) / population
    ways = math.comb(good, found) * math.comb(population - good, draws - found)
    return ways / math.comb(population, draws)


# ---------------------------------------------------------------------------------------------
# Tilted sampling: tail probabilities at any depth, without bias
# ---------------------------------------------------------------------------------------------


def tilted_draws(
    rng: np.random.Generator,
    tie_sizes: Sequence[int],
    n_positives: int,
    tilts: Sequence[float],
    n_draws: int,
) -> tuple[np.ndarray, np.ndarray]:
    """AP of placements drawn with probability proportional to ``exp(tilt AP)``, and log weights.

    Backwards over the blocks, the tilted number of ways to place the rest of the positives is
    counted for every number of hits found; forwards, the hits in each block are drawn in proportion
    to the ways that are left. The result is an exact sampler of the tilted distribution [1]_. Both
    results have a row a tilt: the rows are a sample from the mixture of the tilted distributions,
    and the weight of a draw is its probability by chance over that under the mixture
    [2]_.

    References
    ----------
    .. [1] Doob, J. L. (1957). Conditional Brownian motion and the boundary limits of harmonic
       functions. Bulletin de la Societe Mathematique de France, 85, 431-458.
    .. [2] Veach, E., & Guibas, L. J. (1995). Optimally combining sampling techniques for Monte
       Carlo rendering. SIGGRAPH '95, 419-428.
    """
    sizes, m = np.asarray(tie_sizes), n_positives
    ends = np.cumsum(sizes)
    theta = np.asarray(tilts, dtype=float)
    before = np.arange(m + 1)[:, None]
    # The column beyond m hits stays impossible.
    log_ways = np.full((sizes.size + 1, theta.size, m + 2), -np.inf)
    log_ways[-1, :, m] = 0.0

    def log_terms(block: int) -> np.ndarray:
        """Log of tilted ways by tilt, hits before the block and hits in it."""
        y = np.arange(min(int(sizes[block]), m) + 1)
        after = np.minimum(before + y, m + 1)
        choices = log_choose(int(sizes[block]), y)
        gain = y * (before + y) / (ends[block] * m)
        return choices + theta[:, None, None] * gain + log_ways[block + 1][:, after]

    for block in reversed(range(sizes.size)):
        log_ways[block, :, :-1] = np.logaddexp.reduce(log_terms(block), axis=2)
    which = np.arange(theta.size)[:, None]
    hits = np.zeros((theta.size, n_draws), dtype=np.int64)
    values = np.zeros(hits.shape)
    for block in range(sizes.size):
        total = np.maximum(log_ways[block, :, :-1], -1e300)
        shares = np.cumsum(np.exp(log_terms(block) - total[:, :, None]), axis=2)
        uniform = rng.random(hits.shape)
        found = np.zeros_like(hits)
        for y in range(shares.shape[2] - 1):
            found += shares[which, hits, y] <= uniform
        hits += found
        values += found * hits / (ends[block] * m)
    log_mgf = log_ways[0, :, 0] - log_choose(int(ends[-1]), m)
    mixture = theta[:, None, None] * values - log_mgf[:, None, None]
    return values, math.log(theta.size) - np.logaddexp.reduce(mixture, axis=0)


def tilted_tail(
    values: np.ndarray, log_weights: np.ndarray, x: float, alternative: str = "greater"
) -> tuple[float, float]:
    """Log of the estimate of P(AP >= x) or P(AP <= x), and its relative standard error."""
    inside = values >= x * (1 - EQUAL) if alternative == "greater" else values <= x * (1 + EQUAL)
    top = log_weights[inside].max()
    terms = np.where(inside, np.exp(np.minimum(log_weights - top, 0.0)), 0.0)
    mean = terms.mean()
    error = math.sqrt(terms.var(axis=1, ddof=1).sum() / terms.shape[1]) / terms.shape[0]
    return math.log(mean) + top, error / mean


def sampled_tail_of_means(
    queries: Sequence[tuple[Sequence[int], int]], x: float, n_draws: int = 400_000, seed: int = 0
) -> tuple[float, float]:
    """Log of P(mean AP >= x) over queries of few levels far above the mean; relative error of it.

    A query has sizes of blocks of equal scores and a number of positives. The hits in each block
    but the largest are drawn from binomial distributions, whose rates are found by cross entropy
    [1]_. The second result is the standard error.

    References
    ----------
    .. [1] Rubinstein, R. Y. (1999). The cross-entropy method for combinatorial and continuous
       optimization. Methodology and Computing in Applied Probability, 1, 127-190.
    """
    rng = np.random.default_rng(seed)
    lists = [(np.asarray(sizes), m) for sizes, m in queries]
    rates = [np.full(sizes.size, m / sizes.sum()) for sizes, m in lists]

    def draws(n_draws: int) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        drawn, values, logs = [], np.zeros(n_draws), np.zeros(n_draws)
        for (sizes, m), rate in zip(lists, rates, strict=True):
            largest = int(np.argmax(sizes))
            y = rng.binomial(sizes, rate, size=(n_draws, rate.size))
            # The ways to place the hits of the other blocks are in both probabilities.
            of_others = y * np.log(rate) + (sizes - y) * np.log1p(-rate)
            logs -= of_others.sum(axis=1) - of_others[:, largest]
            rest = m - (y.sum(axis=1) - y[:, largest])
            y[:, largest] = rest.clip(0, sizes[largest])
            logs[rest != y[:, largest]] = -np.inf
            logs += log_choose(float(sizes[largest]), y[:, largest].astype(float))
            logs -= log_choose(float(sizes.sum()), float(m))
            values += (y * np.cumsum(y, axis=1) / np.cumsum(sizes)).sum(axis=1) / m / len(lists)
            drawn.append(y)
        return drawn, values, logs

    for _ in range(25):
        drawn, values, logs = draws(5_000)
        possible = logs > -np.inf
        inside = possible & (values >= min(x, np.quantile(values[possible], 0.9)))
        weights = np.exp(logs[inside] - logs[inside].max())
        for (sizes, _), rate, y in zip(lists, rates, drawn, strict=True):
            found = weights @ y[inside] / weights.sum() / sizes
            # Single items are drawn either way.
            rate[:] = np.where(sizes > 2, found.clip(1e-6, 1.0 - 1e-6), found.clip(0.03, 0.97))
    _, values, logs = draws(n_draws)
    logs[values < x * (1.0 - EQUAL)] = -np.inf
    terms = np.exp(logs - logs.max())
    error = terms.std(ddof=1) / math.sqrt(n_draws)
    return math.log(terms.mean()) + float(logs.max()), error / float(terms.mean())


# ---------------------------------------------------------------------------------------------
# Inversion of the transform, on a fixed grid
# ---------------------------------------------------------------------------------------------


def inverted_tail(
    tie_sizes: Sequence[int],
    n_positives: int,
    values: Sequence[float],
    tilt: float,
    step: float,
    n_nodes: int,
) -> np.ndarray:
    """Logs of P(AP >= x), or of P(AP <= x) for a negative tilt, at each x in `values`.

    ``P(AP >= x) = (1 / 2 pi i) int M(z) exp(-z x) dz / z`` along ``Re z = tilt`` by the midpoint
    rule on `n_nodes` nodes `step` apart. The transform M counts placements: blocks multiply the
    ways to get there by ``C(g, y) exp(z gain)``. Whether the grid is fine and long enough is for
    the caller to see, by another grid.
    """
    z = tilt + 1j * step * (np.arange(n_nodes) + 0.5)
    ways = np.zeros((n_positives + 1, n_nodes), dtype=complex)
    ways[0] = 1.0
    log_scale = -float(log_choose(sum(tie_sizes), n_positives))
    end = 0
    for size in tie_sizes:
        end += size
        after = ways.copy()
        for y in range(1, min(size, n_positives) + 1):
            hits = np.arange(y, n_positives + 1)
            factors = np.exp(np.outer(y * hits / (end * n_positives), z) + log_choose(size, y))
            after[y:] += factors * ways[: hits.size]
        ways = after
        largest = np.abs(ways).max()
        ways /= largest
        log_scale += math.log(largest)
    x = np.asarray(values)[:, None]
    # The largest term goes into the scale, which may be far below the smallest float.
    terms = ways[n_positives] / z * np.exp(-1j * z.imag * x)
    total = np.sign(tilt) * step / math.pi * terms.real.sum(axis=1)
    return np.log(total) + log_scale - tilt * x[:, 0]


def inverted_tail_of_weights(
    weights: np.ndarray,
    n_samples: int,
    n_positives: int,
    values: Sequence[float],
    tilt: float,
    step: float,
) -> np.ndarray:
    """P(S >= x) for the sum of the weights of random positives; other items have no weight.

    The transform is the elementary symmetric polynomial of ``exp(z weight)``, from the sums of
    their powers by Newton's identities. The midpoint rule is that of `inverted_tail`, up to
    terms in a row that are less than 1e-12 of the sum over twice the distance at which weights
    that are nearly equal let the transform return.
    """
    n_others = n_samples - weights.size
    x, total = np.asarray(values), np.zeros(len(values))
    n_small, nodes = 0, itertools.count()
    enough = math.ceil(4.0 * math.pi / (np.median(weights) * step))
    while n_small < enough:
        z = tilt + 1j * step * (next(nodes) + 0.5)
        factor = np.exp(z * weights)
        power, sums = np.ones_like(factor), []
        for _ in range(n_positives):
            power = power * factor
            sums.append(power.sum() + n_others)
        # Polynomials relative to their numbers of terms C(n, j).
        polynomials = [1.0 + 0.0j]
        for j in range(1, n_positives + 1):
            ratio, value = 1.0, 0.0j
            for i in range(1, j + 1):
                ratio *= (j - i + 1) / (n_samples - j + i)
                value -= (-1) ** i * polynomials[j - i] * sums[i - 1] * ratio
            polynomials.append(value / j)
        term = polynomials[-1] * np.exp(-z * x) / z
        total += term.real
        n_small = n_small + 1 if np.all(np.abs(term) < 1e-12 * np.abs(total)) else 0
    return total * step / math.pi


# ---------------------------------------------------------------------------------------------
# Moments
# ---------------------------------------------------------------------------------------------


def distribution_moments(
    distribution: tuple[tuple[Fraction, ...], tuple[int, ...]], n_moments: int = 4
) -> list[Fraction]:
    """Raw moments 1, 2, ... of an enumerated distribution, as fractions."""
    values, counts = distribution
    total = sum(counts)
    return [
        sum((c * v**order for v, c in zip(values, counts, strict=True)), start=Fraction(0)) / total
        for order in range(1, n_moments + 1)
    ]


def distribution_mean_and_variance(
    distribution: tuple[tuple[Fraction, ...], tuple[int, ...]],
) -> tuple[Fraction, Fraction]:
    """Mean and variance of an enumerated distribution."""
    first, second = distribution_moments(distribution, 2)
    return first, second - first**2


def falling_ratio(n_samples: int, n_positives: int, order: int) -> Fraction:
    """``(m)_r / (n)_r``: the probability that r given ranks are all positive."""
    if order > n_positives:
        return Fraction(0)
    return Fraction(math.perm(n_positives, order), math.perm(n_samples, order))


def mean_and_variance_with_ties(
    tie_sizes: Sequence[int], n_positives: int
) -> tuple[Fraction, Fraction]:
    """Mean and variance of AP from joint inclusion probabilities, summed over pairs of blocks.

    With ``X_b = y_b H_b = sum_{i in b} sum_{j <= T_b} y_i y_j`` (``y_i`` is 1 for a positive at
    rank ``i``), each product is expanded into index tuples, and a tuple with r distinct indices
    has expectation ``p_r``.
    """
    n_samples = sum(tie_sizes)
    p1, p2, p3, p4 = (falling_ratio(n_samples, n_positives, r) for r in (1, 2, 3, 4))
    ends = list(itertools.accumulate(tie_sizes))
    mean = second = Fraction(0)
    for b, (g, end) in enumerate(zip(tie_sizes, ends, strict=True)):
        mean += Fraction(g, end) * (p1 + (end - 1) * p2)
        same_item = p1 + 3 * (end - 1) * p2 + (end - 1) * (end - 2) * p3
        two_items = 4 * p2 + 5 * (end - 2) * p3 + (end - 2) * (end - 3) * p4
        second += Fraction(g, end**2) * (same_item + (g - 1) * two_items)
        for g2, end2 in zip(tie_sizes[b + 1 :], ends[b + 1 :], strict=True):
            one = 2 * p2 + (end2 - 2) * p3
            other = (end - 1) * (3 * p3 + (end2 - 3) * p4)
            second += 2 * Fraction(g * g2, end * end2) * (one + other)
    mean /= n_positives
    return mean, second / n_positives**2 - mean**2


def mean_and_variance_at_k(
    n_samples: int, n_positives: int, k: int | None = None, normalize: str = "min"
) -> tuple[Decimal, Decimal]:
    """Mean and variance of untied AP at k in closed form, with 100 digits (k = n gives AP).

    References
    ----------
    Manzhos, Ianevych & Melnyk (2025), arXiv:2511.02571.
    """
    k = n_samples if k is None else k
    with localcontext() as context:
        context.prec = 100
        p = _decimal(n_positives, n_samples)
        q = _decimal(n_positives - 1, n_samples - 1)
        r = _decimal(n_positives - 2, n_samples - 2)
        t = _decimal(n_positives - 3, n_samples - 3)
        h, h2 = harmonic(k), harmonic_squares(k)
        d = min(n_positives, k) if normalize == "min" else n_positives
        a = 1 - p - q * (3 - 2 * r - p * (2 - q))
        b = q * (3 * (1 - r) - 2 * p * (1 - q))
        c = q * (r - p * q)
        dd = q * (2 - 5 * r + 3 * r * t) - p * (1 - q) ** 2
        e = q * (3 * r * (1 - t) - p * (1 - q))
        f = q * (r * (1 - t) - p * (1 - q))
        g = q * (r * t - p * q)
        mean = p / d * (k * q + h * (1 - q))
        inner = k * (c + 2 * (e - f) + (k - 1) * g) + h * (b - 2 * (e - k * f))
        variance = p / d**2 * (inner + h**2 * dd + h2 * (a - dd))
        return +mean, +variance


def _decimal(numerator: int, denominator: int) -> Decimal:
    """A ratio; 0 when it belongs to more positives (or items) than there are."""
    return Decimal(numerator) / Decimal(denominator) if numerator > 0 else Decimal(0)


_EULER_GAMMA = Decimal(
    "0.5772156649015328606065120900824024310421593359399235988057672348848677267776646709"
)
_PI = Decimal(
    "3.1415926535897932384626433832795028841971693993751058209749445923078164062862089986"
)


def harmonic(n: int) -> Decimal:
    """``1 + 1/2 + ... + 1/n``: summed up to a million, Euler-Maclaurin (70 digits) beyond."""
    if n <= 1_000_000:
        return _sum_of_powers(n, 1)
    with localcontext() as context:
        context.prec = 100
        x = Decimal(n)
        tail = [1 / (2 * x), -1 / (12 * x**2), 1 / (120 * x**4), -1 / (252 * x**6)]
        tail += [1 / (240 * x**8), -1 / (132 * x**10), Decimal(691) / (32760 * x**12)]
        return x.ln() + _EULER_GAMMA + sum(tail)


def harmonic_squares(n: int) -> Decimal:
    """``1 + 1/4 + ... + 1/n**2``, as `harmonic`."""
    if n <= 1_000_000:
        return _sum_of_powers(n, 2)
    with localcontext() as context:
        context.prec = 100
        x = Decimal(n)
        tail = [-1 / x, 1 / (2 * x**2), -1 / (6 * x**3), 1 / (30 * x**5), -1 / (42 * x**7)]
        tail += [1 / (30 * x**9), Decimal(-5) / (66 * x**11)]
        return _PI**2 / 6 + sum(tail)


@lru_cache(maxsize=64)
def _sum_of_powers(n: int, power: int) -> Decimal:
    """``sum(i**-power)`` in fixed point with 90 decimals."""
    with localcontext() as context:
        context.prec = 100
        one = 10**90
        return Decimal(sum(one // i**power for i in range(1, n + 1))) / Decimal(one)


# ---------------------------------------------------------------------------------------------
# Simulation
# ---------------------------------------------------------------------------------------------


def average_precision_tail_of_five_levels(
    sizes: Sequence[int], n_positives: int, x: float, n_deviations: float = 7.0
) -> float:
    """``P(AP >= x)`` of five blocks of equal scores, far above the mean.

    A sum over the hits found to each block's end, within a number of their standard deviations of
    the likeliest that give the value. Given those after two and three blocks the others are
    independent: the values of one are sorted and searched for each value of the other.
    """
    g, m = np.asarray(sizes, dtype=float), n_positives
    ends, n = np.cumsum(g), sum(sizes)

    def value(hits_before: np.ndarray) -> float:
        c = np.append(hits_before, m)
        return float((np.diff(c, prepend=0.0) * c / ends).sum() / m)

    def log_weight(hits_before: np.ndarray) -> float:
        hits = np.diff(np.append(hits_before, m), prepend=0.0)
        return float(log_choose(g, hits).sum())

    share = ends[:4] / n
    means, deviations = m * share, np.sqrt(m * (1.0 - m / n) * share * (1.0 - share))
    best = minimize(
        lambda u: -log_weight(means + u * deviations),
        np.ones(4),
        constraints={"type": "eq", "fun": lambda u: 100.0 * (value(means + u * deviations) - x)},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-10},
    )
    middle = np.round(means + best.x * deviations)
    reach = np.ceil(n_deviations * deviations)
    c1, c2, c3, c4 = (np.arange(a - b, a + b + 1) for a, b in zip(middle, reach, strict=True))
    upper = (c1[:, None] ** 2 / ends[0] + (c2 - c1[:, None]) * c2 / ends[1]) / m
    upper_logs = log_choose(g[0], c1)[:, None] + log_choose(g[1], c2 - c1[:, None])
    lower = ((c4 - c3[:, None]) * c4 / ends[3] + (m - c4) * m / ends[4]) / m
    lower_logs = log_choose(g[3], c4 - c3[:, None]) + log_choose(g[4], m - c4)
    middle_logs = log_choose(g[2], c3 - c2[:, None])
    top = upper_logs.max() + lower_logs.max() + middle_logs.max()
    total = 0.0
    for j, of_third in enumerate(c3):
        order = np.argsort(lower[j])
        ascending = lower[j, order]
        weights = np.exp(lower_logs[j, order] - lower_logs.max())
        from_here_on = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
        rest = x - upper - (of_third - c2) * of_third / ends[2] / m
        logs = upper_logs - upper_logs.max() + middle_logs[:, j] - middle_logs.max()
        total += (np.exp(logs) * from_here_on[np.searchsorted(ascending, rest)]).sum()
    return float(np.exp(top + math.log(total) - log_choose(float(n), float(m))))


def simulate_average_precision(
    rng: np.random.Generator,
    tie_sizes: Sequence[int],
    n_positives: int,
    n_draws: int,
    k: int | None = None,
    normalize: str = "min",
) -> np.ndarray:
    """Average precision under random labels: hits per block are multivariate hypergeometric."""
    sizes = np.asarray(tie_sizes, dtype=np.int64)
    ends = np.cumsum(sizes)
    values = []
    for start in range(0, n_draws, 10_000):
        chunk = min(10_000, n_draws - start)
        if np.all(sizes == 1):
            keys = rng.random((chunk, len(sizes)))
            found = np.zeros((chunk, len(sizes)), dtype=np.int64)
            winners = np.argpartition(keys, n_positives - 1, axis=1)[:, :n_positives]
            np.put_along_axis(found, winners, 1, axis=1)
        else:
            found = rng.multivariate_hypergeometric(
                sizes, n_positives, size=chunk, method="marginals"
            )
        if k is None:
            gains = found * np.cumsum(found, axis=1) / ends
            values.append(gains.sum(axis=1) / n_positives)
        else:
            values.append(
                [float(average_precision(tie_sizes, row.tolist(), k, normalize)) for row in found]
            )
    return np.concatenate(values)


def simulate_long_list(
    rng: np.random.Generator, tie_sizes: Sequence[int], n_positives: int, n_draws: int
) -> np.ndarray:
    """Average precision under random labels, from the positives' ranks alone."""
    ends = np.cumsum(tie_sizes)
    drawn = [
        rng.choice(int(ends[-1]), n_positives, replace=False, shuffle=False) for _ in range(n_draws)
    ]
    block = np.searchsorted(ends, np.sort(drawn, axis=1), side="right")
    hits = np.full(n_draws, n_positives)
    total = np.zeros(n_draws)
    for i in reversed(range(n_positives)):
        # The hits up to the end of a block are those up to the last of its positives.
        if i + 1 < n_positives:
            hits = np.where(block[:, i] == block[:, i + 1], hits, i + 1)
        total += hits / ends[block[:, i]]
    return total / n_positives


def placement_probability(ranks, n, odds):
    """Probability of the positives at these ranks, by draws without replacement with odds."""
    m, found, product = len(ranks), 0, Fraction(1)
    for t in range(n):
        hits, misses = odds * (m - found), n - m - t + found
        is_hit = t + 1 in ranks
        product *= (hits if is_hit else Fraction(misses)) / (hits + misses)
        found += is_hit
    return product
