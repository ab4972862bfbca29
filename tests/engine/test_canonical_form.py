"""One distribution in several descriptions: lattices, plateaus, horizons, shifts and scales.

The oracles here share no code with the package: counts of integer sums, sums of hypergeometric
probabilities, and a double contour integral over numbers of hits and values.
"""

import dataclasses
import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, special, stats

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    RankStatistic,
    RobustInitialEnhancement,
    RocAuc,
    metric_null_distribution,
)
from sklearn_rankinf._engine import canonical
from sklearn_rankinf._engine.distribution import ComputedDistribution, exact_distribution
from sklearn_rankinf._engine.exact import integer_weights
from sklearn_rankinf._statistics.increments import Increments


def null_of(metric, n_samples, n_positives, tie_sizes=None):
    return metric_null_distribution(n_samples, n_positives, metric=metric, tie_sizes=tie_sizes)


def shares_of_integer_sums(sizes, weights, n_hits):
    """Probabilities of all sums of whole weights of hits, block by block, of positive terms."""
    top = int(np.sort(np.repeat(weights, sizes))[-n_hits:].sum())
    counts = np.zeros((n_hits + 1, top + 1))
    counts[0, 0] = 1.0
    for size, weight in zip(sizes, weights, strict=True):
        after = np.zeros_like(counts)
        for y in range(min(size, n_hits) + 1):
            moved = counts[: n_hits + 1 - y, : top + 1 - y * weight]
            after[y:, y * weight :] += math.comb(size, y) * moved
        counts = after
    return counts[n_hits] / counts[n_hits].sum()


def roc_auc_tails(sizes, n_positives, z):
    """Areas near given z, and the probabilities of no less, by counting.

    With B items below a block of g, ``2 U = sum y (2 B + g) - m**2`` for U correctly ordered pairs.
    """
    sizes, m = np.asarray(sizes), n_positives
    n = int(sizes.sum())
    doubled = 2 * (n - np.cumsum(sizes)) + sizes
    least = int(doubled.min())
    step = int(np.gcd.reduce(doubled - least))
    shares = shares_of_integer_sums(sizes.tolist(), ((doubled - least) // step).tolist(), m)
    places = np.arange(shares.size)
    mean = float(shares @ places)
    std = math.sqrt(float(shares @ (places - mean) ** 2))
    at = np.rint(mean + np.asarray(z) * std).astype(int)
    areas = (step * at + m * least - m * m) / (2.0 * m * (n - m))
    return areas, np.cumsum(shares[::-1])[::-1][at]


def tail_of_weights(weights, sizes, n_positives, x, n_nodes=26, step=0.4, whole_circle=False):
    """P(S >= x) above the mean for a sum of weights, by a double contour integral.

    Through the saddle point of the product of ``1 + exp(eta + i phi + z w)`` over all items, in
    which phi counts the hits and z the values. Where the transform returns, at a large z, hits are
    counted elsewhere on the circle of phi.
    """
    w, g, m = np.asarray(weights, float), np.asarray(sizes, float), n_positives
    n, middle, unit = g.sum(), w.mean(), w.std()
    per_hit = (x / m - middle) / unit

    def missing(at):
        p = special.expit(at[0] + at[1] * (w - middle) / unit)
        return [(g @ p) / m - 1.0, (g * p) @ (w - middle) / unit / m - per_hit]

    found = optimize.root(missing, [special.logit(m / n), 0.1], tol=1e-13)
    theta = found.x[1] / unit
    p = special.expit(found.x[0] + theta * (w - middle))
    spread = g * p * (1.0 - p)
    centre = (spread @ w) / spread.sum()
    eta = found.x[0] + theta * (centre - middle)
    assert theta > 0.0
    w, x = w - centre, x - m * centre
    of_values, of_hits = math.sqrt(spread @ w**2), math.sqrt(spread.sum())
    turn = step / of_hits
    phi = turn * np.arange(-26, 27)
    if whole_circle:
        phi = 2.0 * math.pi / math.ceil(2.0 * math.pi / turn) * np.arange(2.0 * math.pi / turn)
        turn = phi[1]
    total, scale = 0.0, None
    # A few factors of one size in each product, whose logarithm may be that of any branch.
    starts = np.unique(np.append(np.arange(0, g.size, 16), np.flatnonzero(np.diff(g)) + 1))
    for j in range(n_nodes):
        z = theta + 1j * (j + 0.5) * step / of_values
        factors = 1.0 + np.exp(eta + 1j * phi)[:, None] * np.exp(z * w)
        logs = np.log(np.multiply.reduceat(factors, starts, axis=1)) @ g[starts]
        logs = logs - z * x - m * (eta + 1j * phi) - np.log(z)
        scale = logs.real.max() if scale is None else scale
        total += np.exp(logs - scale).sum().real
    log_ways = special.gammaln(n + 1) - special.gammaln(m + 1) - special.gammaln(n - m + 1)
    factor = turn / (2.0 * math.pi) * step / of_values / math.pi
    return math.exp(math.log(total * factor) + scale - log_ways)


def assert_within_stated(null, x, exact, slack=1e-9):
    """Tails at x are off by no more than their stated errors."""
    found, stated = null.pvalue(x), null.relative_error(x)
    assert np.all(np.abs(found / exact - 1.0) <= stated + slack), (found / exact - 1.0, stated)


# Lattices


@pytest.mark.parametrize("sizes", [(2,) * 60, (10,) * 20, (1, 3) * 40, (4, 8, 12) * 22], ids=str)
def test_roc_auc_on_a_coarse_lattice(sizes):
    # All scores in pairs, blocks of one size, or of sizes with a common divisor: the step is larger
    # than half a pair, and the transform returns at multiples of 2 pi over it.
    m = 40
    areas, exact = roc_auc_tails(sizes, m, [0.5, 2.0, 4.0, 7.0])
    null = ComputedDistribution(RocAuc(), sum(sizes), m, np.array(sizes))
    offset = RocAuc().offset(sum(sizes), m)
    p, _, stated = null.tail((areas - offset) * (1.0 - 1e-12), 1)
    assert np.all(np.abs(p / exact - 1.0) <= stated + 1e-9)
    assert np.all(stated < 1e-6)


def test_roc_auc_in_blocks_of_one_size_that_are_too_many_to_count(monkeypatch):
    few = dataclasses.replace(integer_weights.SETTINGS, most_work=1e8)
    monkeypatch.setattr(integer_weights, "SETTINGS", few)
    sizes = (15,) * 65
    areas, exact = roc_auc_tails(sizes, 150, [2.0, 7.0, 10.0])
    null = null_of(RocAuc(), sum(sizes), 150, sizes)
    assert null.solver(areas[0]) == "contour"
    assert_allclose(null.pvalue(areas), exact, rtol=1e-8)
    assert_within_stated(null, areas, exact)


@pytest.mark.parametrize(
    ("weights", "step"),
    [
        ([3.0, 1.0, 0.0], 1.0),
        ([0.9, 0.3, 0.1], 0.2),
        ([1.0, 0.75, 0.7, 0.0], 0.05),
        ([7 / 9, 5 / 9, 2 / 9, 2 / 9], 1 / 9),
        ([1e6 + 30, 1e6 + 12, 1e6], 6.0),
        ([math.pi, math.sqrt(2.0), 1.0, 0.1], 0.0),
        ([6e-200, 3e-200, 1e-200], 1e-200),
        ([1.0, 1e-7, 0.0], 0.0),
    ],
    ids=str,
)
def test_step_is_the_greatest_common_divisor(weights, step):
    nothing = np.zeros(len(weights))
    increments = Increments(np.arange(2, 2 + len(weights)), nothing, np.array(weights), nothing)
    assert_allclose(canonical.step_of(increments), step, rtol=1e-9)


@pytest.mark.parametrize("sizes", [(2,) * 250, (1, 3) * 100, (3, 5, 7) * 60], ids=str)
def test_step_of_roc_auc_with_ties(sizes):
    m, n = 40, sum(sizes)
    doubled = 2 * (n - np.cumsum(sizes)) + sizes
    of_pairs = np.gcd.reduce(doubled - doubled.min()) / 2
    found = canonical.CanonicalSum.of_problem(RocAuc(), n, m, np.array(sizes))
    assert_allclose(
        canonical.step_of(found.blocks) * found.form.scale, of_pairs / (m * (n - m)), rtol=1e-12
    )


# Shifts


@pytest.mark.parametrize(
    ("n", "m", "z"),
    [
        pytest.param(20_000, 3200, [1.0], marks=pytest.mark.long),
        (6000, 1500, [1.0, 2.5, 5.0]),
    ],
)
def test_gain_with_many_positives_without_ties(n, m, z):
    null = null_of(DiscountedCumulativeGain(), n, m)
    x = null.mean() + np.array(z) * null.std()
    weights = 1.0 / np.log2(np.arange(2.0, n + 2.0))
    exact = [tail_of_weights(weights, np.ones(n), m, value) for value in x]
    assert_within_stated(null, x, exact, 1e-7)
    assert np.all(null.relative_error(x) < 1e-2)


@pytest.mark.parametrize(
    ("n", "m"),
    [
        pytest.param(40_000, 6400, marks=pytest.mark.long),
        (217_216, 2508),
        pytest.param(150_000, 1600, marks=pytest.mark.long),
        pytest.param(300_000, 3200, marks=pytest.mark.long),
    ],
)
def test_gain_is_answered_at_all_sizes(n, m):
    null = null_of(DiscountedCumulativeGain(), n, m)
    x = null.mean() + np.array([1.0, 1.5]) * null.std()
    p = null.pvalue(x)
    # Near the normal distribution: a Berry-Esseen bound of it is .1.
    assert np.all(np.abs(p - stats.norm.sf([1.0, 1.5])) < 0.05)
    assert np.all(null.relative_error(x) < 0.03)


# Plateaus


@dataclass(frozen=True)
class Levels(RankStatistic):
    """Weights of levels of ranks, without ties."""

    sizes: tuple[int, ...]
    levels: tuple[float, ...]

    def weights(self, ranks, n_samples, n_positives):
        return np.repeat(self.levels, self.sizes)[np.asarray(ranks) - 1]


def levels_tail(sizes, levels, n_positives, x):
    """P(S >= x) for three levels: a sum over the hits in the first two, in whole numbers."""
    a, b, c = sizes
    total = 0
    for i in range(min(a, n_positives) + 1):
        for j in range(min(b, n_positives - i) + 1):
            rest = n_positives - i - j
            if i * levels[0] + j * levels[1] + rest * levels[2] >= x * (1.0 - 1e-13):
                total += math.comb(a, i) * math.comb(b, j) * math.comb(c, rest)
    return total / math.comb(a + b + c, n_positives)


@pytest.mark.parametrize(
    ("sizes", "levels", "m"),
    [
        ((250, 250, 500), (2.0, math.sqrt(2.0), 1.0), 200),
        ((300, 300, 400), (1.0, math.exp(-1.0), 0.0), 40),
    ],
)
@pytest.mark.parametrize("factor", [1.0, 1e-200, 1e155])
def test_weights_with_plateaus(sizes, levels, m, factor):
    levels = tuple(factor * level for level in levels)
    null = null_of(Levels(sizes, levels), sum(sizes), m)
    weights = np.repeat(np.array(levels) / factor, sizes)
    mean, n = m * weights.mean(), weights.size
    std = math.sqrt(m * (n - m) / (n - 1) * weights.var())
    x = [factor * (mean + z * std) for z in (0.5, 2.0, 4.0, 6.0)]
    exact = [levels_tail(sizes, levels, m, value) for value in x]
    assert_allclose(null.pvalue(x), exact, rtol=1e-9)
    assert_within_stated(null, x, exact)
    # The variance may be beyond floats, the standard deviation is not.
    assert_allclose(null.std(), factor * std, rtol=1e-12)


@pytest.mark.parametrize("c", [1.0, 1e-300, 1e-307, 1e300])
def test_scale_of_the_weights_does_not_matter(c):
    @dataclass(frozen=True)
    class Reciprocal(RankStatistic):
        c: float

        def weights(self, ranks, n_samples, n_positives):
            return self.c / np.asarray(ranks, dtype=float)

    n, m = 60, 3
    of_rank = 1.0 / np.arange(1.0, n + 1.0)
    sums = np.array([of_rank[list(ranks)].sum() for ranks in itertools.combinations(range(n), m)])
    x = np.array([0.2, 0.5, 1.6])
    exact = [np.mean(sums >= value * (1.0 - 1e-13)) for value in x]
    assert_allclose(null_of(Reciprocal(c), n, m).pvalue(c * x), exact, rtol=1e-12)


def test_blocks_of_equal_weights_are_one():
    nothing = np.zeros(6)
    increments = Increments(
        np.array([1, 2, 3, 4, 5, 6]), nothing, np.array([3.0, 3.0, 1.0, 0.5, 0.5, 0.5]), nothing
    )
    merged = canonical.with_equal_blocks_merged(increments)
    assert_array_equal(merged.sizes, [3, 3, 15])
    assert_array_equal(merged.linear, [3.0, 1.0, 0.5])
    apart = Increments(increments.sizes, nothing, np.arange(6.0), nothing)
    assert canonical.with_equal_blocks_merged(apart) is apart
    # Hits in an inert block count as hits before later blocks, not where they are in it.
    crossed = Increments(increments.sizes, increments.linear, nothing, nothing)
    assert canonical.with_equal_blocks_merged(crossed) is crossed


# Horizons


@pytest.mark.parametrize("metric", [AveragePrecision(100), DiscountedCumulativeGain(100)], ids=repr)
def test_cut_off_in_a_long_list(metric):
    # The hits among the first hundred ranks are few: all their placements are listed.
    n, m, k = 1_000_000, 200, 100
    hits = np.arange(5)
    ways = stats.hypergeom(n, k, m)
    weights = 1.0 / np.log2(np.arange(2.0, k + 2.0))
    values, shares = [0.0], [ways.pmf(0)]
    for h in hits[1:]:
        placed = np.array(list(itertools.combinations(range(k), int(h)))) if h < 4 else None
        if placed is None:
            break
        if isinstance(metric, AveragePrecision):
            sums = (np.arange(1, h + 1) / (placed + 1.0)).sum(axis=1) / min(m, k)
        else:
            sums = weights[placed].sum(axis=1)
        values.extend(sums)
        shares.extend(np.full(sums.size, ways.pmf(h) / sums.size))
    values, shares = np.array(values), np.array(shares)
    left_out = ways.sf(3)
    x = {"AveragePrecision": [1e-4, 1e-3, 4e-3, 0.01, 0.012]}.get(
        type(metric).__name__, [0.16, 0.3, 0.5, 0.9, 1.05]
    )
    exact = np.array([shares[values >= v].sum() for v in x])
    null = null_of(metric, n, m)
    found, stated = null.pvalue(x), null.relative_error(x)
    assert np.all(np.abs(found - exact) <= (stated + 1e-9) * exact + left_out)
    assert np.all(stated < 0.1)


# Near periods of sums of irrational weights


@pytest.mark.parametrize(("alpha", "size", "n_blocks", "m"), [(50.0, 15, 65, 120)])
def test_bedroc_in_blocks_of_one_size(alpha, size, n_blocks, m):
    metric, sizes = Bedroc(alpha), np.full(n_blocks, size)
    n = size * n_blocks
    null = null_of(metric, n, m, sizes)
    of_rank = np.exp(-alpha * np.arange(1, n + 1) / n)
    weights = of_rank.reshape(n_blocks, size).mean(axis=1)
    mean = m * weights.mean()
    std = math.sqrt(m * (n - m) / (n - 1) * weights.var())
    # The metric is an increasing affine function of the sum of the weights.
    at = mean + 1.7 * std
    exact = tail_of_weights(weights, sizes, m, at, n_nodes=4800, step=0.5, whole_circle=True)
    assert_within_stated(null, null.mean() + 1.7 * null.std(), exact)


# A single hit, or a single miss


@pytest.mark.parametrize("n", [60, 6_000_000, 4_000_000_000])
def test_a_single_positive(n):
    null = null_of(AveragePrecision(), n, 1)
    x = np.array([1.0, 0.5, 0.4, 0.3, 1e-3, 1.5 / n])
    exact = np.floor(1.0 / x) / n
    exact = np.minimum(exact, 1.0)
    assert_allclose(null.pvalue(x), exact, rtol=1e-12)
    assert_allclose(null.sf(x), np.maximum(np.ceil(1.0 / x) - 1.0, 0.0).clip(max=n) / n, rtol=1e-12)
    assert_allclose(null.isf([0.3, 0.5]), 1.0 / np.floor(np.array([0.3, 0.5]) * n + 1.0), rtol=1e-9)
    assert np.all(null.relative_error(x) < 1e-12)


@pytest.mark.parametrize("n", [30, 200_000])
def test_a_single_negative(n):
    # With the miss at rank r the precisions of the hits behind it are 1 - 1 / rank.
    null = null_of(AveragePrecision(), n, n - 1)
    losses = np.cumsum(1.0 / np.arange(n, 1.0, -1.0))[::-1]
    values = np.append(1.0 - losses / (n - 1), 1.0)
    for rank in (1, 2, n // 2, n):
        assert_allclose(null.pvalue(values[rank - 1]), (n - rank + 1) / n, rtol=1e-9)


@pytest.mark.parametrize("alpha", [100.0, 300.0, 1000.0])
@pytest.mark.parametrize("n", range(3, 8))
def test_a_single_negative_on_top_of_steep_weights(n, alpha):
    # The hit that is missing at rank 1 adds all but a part below the rounding of floats.
    metric = RobustInitialEnhancement(alpha)
    null = null_of(metric, n, n - 1)
    lowest = metric(np.arange(n) > 0, -np.arange(n))
    weights = np.exp(-alpha / n * np.arange(1, n + 1))
    assert_allclose(lowest, weights[1:].mean() / weights.mean(), rtol=1e-9)
    assert_allclose(null.pvalue(lowest, "less"), 1.0 / n, rtol=1e-12)
    assert_allclose(null.pvalue(lowest), 1.0, rtol=1e-12)


# One value, one answer

ALONE_AND_TOGETHER = [
    (DiscountedCumulativeGain(), 91, 14, None),
    pytest.param(AveragePrecision(), 116, 10, None, marks=pytest.mark.long),
    (AveragePrecision(), 40, 6, None),
    pytest.param(AveragePrecision(), 600, 60, None, marks=pytest.mark.long),
    (AveragePrecision(), 200, 30, (20,) * 10),
    (Bedroc(), 975, 120, (15,) * 65),
]


@pytest.mark.parametrize(("metric", "n", "m", "sizes"), ALONE_AND_TOGETHER, ids=str)
def test_a_value_has_one_answer(metric, n, m, sizes):
    def fresh():
        ties = None if sizes is None else np.array(sizes)
        return exact_distribution(metric, n, m, ties)

    null = null_of(metric, n, m, sizes)
    offset = metric.offset(n, m)
    x = null.mean() + np.array([-1.0, 3.5]) * null.std() - offset
    upper, lower = (fresh().tail(x + offset, sign) for sign in (1, -1))
    for sign, together in ((1, upper), (-1, lower)):
        alone = [fresh().tail(x[i : i + 1] + offset, sign) for i in range(x.size)]
        assert_array_equal(together, np.concatenate(alone, axis=1))
    backwards = fresh()
    one_by_one = [backwards.tail(x[i : i + 1] + offset, -1) for i in reversed(range(x.size))]
    assert_array_equal(lower, np.concatenate(one_by_one[::-1], axis=1))
    shared = fresh()
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda i: shared.tail(x[i : i + 1] + offset, 1), range(x.size)))
    assert_array_equal(np.concatenate(found, axis=1), upper)


def test_weights_that_fall_below_rounding_have_no_step():
    # Each of 13 blocks weighs 2e-17 of the one before: a value between the weights of two blocks is
    # reached if there is a positive in one of the blocks before.
    n, m, size = 650, 23, 50
    null = metric_null_distribution(n, m, metric=Bedroc(alpha=500.0), tie_sizes=[size] * 13)
    for n_blocks, value in ((1, 1e-10), (2, 1e-25), (3, 1e-42)):
        none = Fraction(math.comb(n - n_blocks * size, m), math.comb(n, m))
        assert_allclose(null.pvalue(value), float(1 - none), rtol=1e-9)
        assert_allclose(null.pvalue(value, "less"), float(none), rtol=1e-9)
