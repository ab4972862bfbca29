"""Guaranteed bounds of p-values: they enclose the truth, are tight, and are affordable."""

from __future__ import annotations

import functools
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import oracles
import pytest
from by_name import ap_null_distribution
from combinations import checkered
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_rankinf import AveragePrecision, RankStatistic
from sklearn_rankinf._engine import solvers
from sklearn_rankinf._engine.distribution import ComputedDistribution
from sklearn_rankinf._engine.exact import bounds, lattice
from sklearn_rankinf._statistics.additive import increments_of
from sklearn_rankinf._statistics.increments import Increments
from sklearn_rankinf._statistics.merging import bounding_increments

pytestmark = pytest.mark.numeric

SMALL = [
    (14, 4, None, None),
    (12, 6, None, None),
    (12, 9, None, None),
    (9, 1, None, None),
    (9, 8, None, None),
    (13, 5, (1, 3, 1, 1, 4, 1, 2), None),
    (13, 9, (2, 1, 1, 5, 4), None),
    (15, 4, (1, 1, 1, 12), None),
    (12, 5, None, 4),
    (13, 4, (1, 3, 1, 1, 4, 1, 2), 7),
    (12, 8, None, 5),
    (12, 8, (3, 3, 3, 3), 5),
]


def continued(n_samples, n_positives, tie_sizes, k):
    """A small null distribution, treated as if it had too many atoms to list."""
    null = ap_null_distribution(n_samples, n_positives, tie_sizes=tie_sizes, k=k)
    null._distribution = ComputedDistribution(
        null.statistic, null.n_samples, null.n_positives, null.tie_sizes
    )
    return null


def coarse(monkeypatch, n_cells, ratios=(0.0,)):
    """Few cells, and merging, so that the bounds have something to enclose."""
    settings = bounds.BoundSettings(max_cells=n_cells, ratios=ratios, widest=1e9, close=1e-30)
    monkeypatch.setattr(bounds, "SETTINGS", settings)


@functools.cache
def enumerated(n_samples, n_positives, tie_sizes, k):
    """Values and shares of all placements."""
    sizes = tie_sizes or (1,) * n_samples

    def value(ranks):
        return oracles.average_precision(sizes, oracles.hits_per_block(sizes, ranks), k)

    counts = oracles.enumerated_distribution(n_samples, n_positives, value)
    values = sorted(counts)
    shares = np.array([counts[v] for v in values]) / math.comb(n_samples, n_positives)
    return np.array([float(v) for v in values]), shares


def unknown(t):
    return np.full(t.shape, -np.inf), np.zeros(t.shape)


@pytest.mark.parametrize(
    ("problem", "n_cells", "merged"), checkered(SMALL, [7, 200], [False, True]), ids=str
)
def test_bounds_enclose_enumeration(problem, n_cells, merged, monkeypatch):
    coarse(monkeypatch, n_cells, (0.4,) if merged else (0.0,))
    if merged or n_cells < 200:
        # The lattice alone, which a finite band cannot help.
        monkeypatch.setattr(solvers.Tails, "log_bounds", lambda self, t, sign: unknown(t))
    values, shares = enumerated(*problem)
    null = continued(*problem)
    between = (values[1:] + values[:-1]) / 2
    # A finite band takes longer than a lattice.
    step = 1 if merged or n_cells < 200 else 12
    for x in (values, values * (1 + 4e-13), values * (1 - 4e-13), between):
        x = x[::step]
        above = np.array([shares[values >= v * (1 - 1e-12)].sum() for v in x])
        below = np.array([shares[values <= v * (1 + 1e-12)].sum() for v in x])
        both = np.minimum(1.0, 2.0 * np.minimum(above, below))
        exact = {"greater": above, "less": below, "two-sided": both}
        for alternative, p in exact.items():
            lower, upper = null._bounds(x, alternative)
            assert np.all((lower <= p * (1 + 1e-13)) & (p <= upper * (1 + 1e-13)))
            assert np.all((lower >= 0.0) & (upper <= 1.0))


@pytest.mark.parametrize("problem", SMALL, ids=str)
def test_bounds_close_in_on_enumeration(problem):
    values, shares = enumerated(*problem)
    null = continued(*problem)
    wide = np.flatnonzero(np.diff(values) > 2e-3)
    above = np.cumsum(shares[::-1])[::-1][wide + 1]
    # Off the atoms nothing but what was left out and rounding lies between the bounds.
    lower, upper = null._bounds((values[wide] + values[wide + 1]) / 2, "greater")
    assert_allclose(lower, above, rtol=1e-6)
    assert_allclose(upper, above, rtol=1e-6)


@pytest.mark.parametrize(("problem", "ratio"), checkered(SMALL, [0.1, 0.3, 1.0]), ids=str)
def test_merged_blocks_enclose_every_placement(problem, ratio):
    n_samples, n_positives, tie_sizes, k = problem
    sizes = None if tie_sizes is None else np.array(tie_sizes)
    increments = increments_of(AveragePrecision(k), n_samples, n_positives, sizes)
    for blocks, m in (
        (increments, n_positives),
        (increments.of_misses()[0], n_samples - n_positives),
    ):
        least, most = bounding_increments(blocks, ratio)
        owner = np.searchsorted(np.cumsum(least.sizes), np.cumsum(blocks.sizes))
        of_rank = np.repeat(np.arange(blocks.sizes.size), blocks.sizes)
        for ranks in itertools.combinations(range(n_samples), m):
            hits = np.bincount(of_rank[list(ranks)], minlength=blocks.sizes.size)
            merged = np.bincount(owner, weights=hits, minlength=least.sizes.size)
            value = float(blocks.total(hits))
            assert least.total(merged) <= value + 1e-12
            assert most.total(merged) >= value - 1e-12


@pytest.mark.parametrize(("n_samples", "n_positives"), [(60, 7), (60, 30), (200, 4)])
@pytest.mark.parametrize("log_omitted", [-2.0, -10.0, -25.0])
def test_bands_leave_out_no_more_than_stated(n_samples, n_positives, log_omitted):
    blocks = increments_of(AveragePrecision(), n_samples, n_positives, None)
    merged, _ = bounding_increments(blocks, 0.2)
    for increments in (blocks, merged):
        bands = bounds.probable_bands(increments, n_positives, log_omitted)
        # Numbers of placements of the hits in the blocks so far that stay in the bands.
        counts = {0: 1}
        for block, size in enumerate(increments.sizes.tolist()):
            grown: dict[int, int] = {}
            for (h, count), y in itertools.product(counts.items(), range(bands.most[block] + 1)):
                if bands.low[block] <= h + y <= bands.high[block]:
                    grown[h + y] = grown.get(h + y, 0) + count * math.comb(size, y)
            counts = grown
        kept = Fraction(counts[n_positives], math.comb(n_samples, n_positives))
        assert float(1 - kept) <= math.exp(log_omitted)


# ---------------------------------------------------------------------------------------------
# Larger problems
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "x", "pvalue", "width"),
    [
        # Computed with other lattices, apart from this package.
        (1000, 5, 0.05, 0.0235363, 0.001),
        pytest.param(100_000, 100, 0.005, 0.00206234, 0.5, marks=pytest.mark.long),
        pytest.param(10_000, 50, 0.0123, 0.0148377, 0.06, marks=pytest.mark.long),
    ],
)
def test_reference_values(n_samples, n_positives, x, pvalue, width):
    lower, upper = ap_null_distribution(n_samples, n_positives).pvalue_bounds(x)
    assert lower <= pvalue * (1 + 1e-5)
    assert upper >= pvalue * (1 - 1e-5)
    assert upper - lower < width * pvalue


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "tie_sizes", "z"),
    [
        (200, 40, None, (1.0, 3.5)),
        (200, 175, None, (-2.0,)),
        pytest.param(500, 10, None, (-0.5, 3.0), marks=pytest.mark.long),
        (300, 30, (3,) * 40 + (1,) * 80 + (100,), (-1.0,)),
    ],
)
def test_bounds_agree_with_other_bounds(n_samples, n_positives, tie_sizes, z):
    null = ap_null_distribution(n_samples, n_positives, tie_sizes=tie_sizes)
    x = null.mean() + np.array(z) * null.std()
    lower, upper = null.pvalue_bounds(x)
    assert np.all(upper < 1.1 * lower)
    for value, low, high in zip(x, lower, upper, strict=True):
        least, most = oracles.tail_bounds(
            n_samples, n_positives, value, tie_sizes=tie_sizes, n_cells=512
        )
        assert max(low, least) <= min(high, most)


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "body", "tail"),
    [
        (200, 40, 0.01, 0.02),
        pytest.param(1000, 10, 0.01, 0.01, marks=pytest.mark.long),
        pytest.param(500, 50, 0.02, 0.03, marks=pytest.mark.long),
        pytest.param(1000, 100, 0.06, 0.08, marks=pytest.mark.long),
    ],
)
def test_bounds_are_tight_around_the_p_value(n_samples, n_positives, body, tail):
    null = ap_null_distribution(n_samples, n_positives)
    x = null.mean() + np.array([0.5, 3.5]) * null.std()
    lower, upper = null.pvalue_bounds(x)
    assert np.all(upper - lower < np.array([body, tail]) * lower)
    p, error = null.pvalue(x), null.relative_error(x)
    assert np.all(error < 1e-2)
    assert np.all((lower <= p) & (p <= upper))


def test_best_rankings_are_far_beyond_what_is_left_out():
    n_samples, n_positives = 120, 20
    null = ap_null_distribution(n_samples, n_positives)
    best = oracles.best_rankings(n_samples, n_positives, 9)
    total = math.comb(n_samples, n_positives)
    values = np.array([float(value) for value, _ in best])
    exact = np.array([count / total for _, count in best])
    lower, upper = null.pvalue_bounds(values[20:])
    assert np.all((lower <= exact[20:]) & (exact[20:] <= upper))
    assert np.all(upper < 3.0 * exact[20:])


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_bounds_are_monotone(alternative, monkeypatch):
    coarse(monkeypatch, 1000)
    null = ap_null_distribution(80, 10)
    sign = 1 if alternative == "greater" else -1
    x = np.linspace(-0.1, 1.1, 121)
    lower, upper = null.pvalue_bounds(x, alternative)
    # Each range of values has a histogram of its own: below the mean, and up to 4, 5.7 ... standard
    # deviations above it.
    edges = null.mean() + np.append(0.0, 4.0 * 2.0 ** (0.5 * np.arange(10))) * null.std()
    same = np.diff(np.searchsorted(edges, x)) == 0
    assert np.all(sign * np.diff(lower)[same] <= 0.0)
    assert np.all(sign * np.diff(upper)[same] <= 0.0)
    assert np.all(lower <= upper)
    shuffled = np.random.default_rng(0).permutation(x.size)
    assert_array_equal(null.pvalue_bounds(x[shuffled], alternative)[0], lower[shuffled])
    p, error = null.pvalue(x[::12], alternative), null.relative_error(x[::12], alternative)
    assert np.all(error < 0.1)
    assert np.all(lower[::12] <= p * (1 + error))
    assert np.all(p <= upper[::12] * (1 + error))


@pytest.mark.parametrize("n_positives", [12, 110])
def test_outside_the_support(n_positives, monkeypatch):
    coarse(monkeypatch, 1000)
    null = ap_null_distribution(120, n_positives)
    lowest, _ = null.support()
    assert null.pvalue_bounds(1.01) == (0.0, 0.0)
    for x, below in ((np.inf, 1.0), (1e300, 1.0), (-1e300, 0.0), (-np.inf, 0.0)):
        assert null.pvalue_bounds(x) == (1.0 - below, 1.0 - below)
        assert null.pvalue_bounds(x, "less") == (below, below)
    assert null.pvalue_bounds(1.01, "less") == (1.0, 1.0)
    assert null.pvalue_bounds(lowest)[0] == 1.0
    assert null.pvalue_bounds(0.5 * lowest, "less") == (0.0, 0.0)
    assert null.pvalue_bounds(1.01, "two-sided") == (0.0, 0.0)
    assert null.pvalue_bounds(1.0)[0] <= 1 / math.comb(120, n_positives)
    assert null.pvalue_bounds(1.0)[1] >= 1 / math.comb(120, n_positives)


def test_shape_of_bounds(monkeypatch):
    coarse(monkeypatch, 4000)
    null = ap_null_distribution(300, 30)
    lower, upper = null.pvalue_bounds([[0.1, np.nan], [0.2, 0.9]])
    assert lower.shape == upper.shape == (2, 2)
    assert np.isnan(lower).tolist() == np.isnan(upper).tolist() == [[False, True], [False, False]]
    assert all(isinstance(bound, float) for bound in null.pvalue_bounds(0.1))
    again = pickle.loads(pickle.dumps(null))
    assert "_tail_bounds" not in vars(again)
    assert again.pvalue_bounds(0.2) == null.pvalue_bounds(0.2)


# ---------------------------------------------------------------------------------------------
# Cost
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "size",
    [
        (10**7, 50),
        pytest.param((1200, 600), marks=pytest.mark.long),
        pytest.param((10**6, 1000), marks=pytest.mark.long),
        pytest.param((3000, 900), marks=pytest.mark.long),
    ],
)
def test_what_is_not_affordable_is_not_tried(size, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a pass was made")

    monkeypatch.setattr(bounds, "histograms", refuse)
    null = ap_null_distribution(*size)
    mean, std = null.mean(), null.std()
    for alternative in ("greater", "less"):
        x = [0.8 * mean, mean + 6 * std]
        lower, upper = null.pvalue_bounds(x, alternative)
        # A finite band may have bounds nevertheless.
        if null.n_samples > 5000:
            assert_array_equal(lower, 0.0)
            assert_array_equal(upper, 1.0)
        p, error = null.pvalue(x, alternative), null.relative_error(x, alternative)
        assert np.all(lower <= p * (1.0 + error))
        assert np.all(p * (1.0 - error) <= upper)


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "k"),
    [
        pytest.param(1000, 100, None, marks=pytest.mark.long),
        (20_000, 20, None),
        (100_000, 100, None),
        (900, 880, None),
        (5000, 60, 9),
    ],
)
def test_work_is_bounded(n_samples, n_positives, k, monkeypatch):
    passes = []

    def record(increments, n_hits, width, n_cells, bands, needed):
        before, last = np.append(0, bands.low[:-1]), np.append(0, bands.high[:-1])
        n_additions = 0
        for y in range(1, int(bands.most.max()) + 1):
            # From h - y hits before the block to h behind it, both in their bands.
            fewest, most = np.maximum(before + y, bands.low), np.minimum(last + y, bands.high)
            n_additions += int(np.sum((most - fewest + 1).clip(0) * (y <= bands.most)))
        passes.append(n_additions * n_cells)
        nothing = lattice.Histogram.of(np.zeros(n_cells), 1.0)
        return nothing, nothing

    monkeypatch.setattr(bounds, "histograms", record)
    null = ap_null_distribution(n_samples, n_positives, k=k)
    for x in (null.mean() - null.std(), null.mean() + null.std(), null.mean() + 7 * null.std()):
        passes.clear()
        null.pvalue_bounds(x)
        assert len(passes) <= 2
        assert sum(passes) <= 3e9


FAR_OUT = [
    (14, 4, None, None),
    (13, 5, (1, 3, 1, 1, 4, 1, 2), None),
    (15, 4, (1, 1, 1, 12), None),
    (16, 5, (6, 1, 1, 1, 1, 1, 5), None),
    (13, 9, (2, 1, 1, 5, 4), None),
    (12, 5, None, 4),
]


@pytest.mark.parametrize("problem", FAR_OUT, ids=str)
@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("n_cells", [40, 3000])
def test_cells_that_are_not_needed_change_nothing_above(problem, n_cells, merged, monkeypatch):
    # Whatever cannot reach the values from `bottom` on is left out, on either side of them.
    coarse(monkeypatch, n_cells, ratios=(0.3,) if merged else (0.0,))
    values, shares = enumerated(*problem)
    null = continued(*problem)
    increments = increments_of(null.statistic, *problem[:2], null.tie_sizes)
    for quarter in (1, 2, 3):
        bottom = float(values[quarter * values.size // 4])
        at = values[values >= bottom]
        upper = np.array([shares[values >= x].sum() for x in at])
        lower = np.array([shares[values <= x].sum() for x in at])
        numbers = increments, problem[1], 1.01 * values[-1], 1e-30, math.inf, -700.0, 3e9
        found = bounds.enclosure(*numbers, bottom)
        whole = bounds.enclosure(*numbers)
        # Some are left out.
        assert found.smaller.below[0] > 0.0 or quarter < 3 or n_cells < 1000
        for sign, tail in ((1, upper), (-1, lower)):
            # Values of a sum in another order of additions.
            low, high = found.bounds(at * (1.0 - sign * 1e-12), sign)
            assert np.all(low <= tail * (1.0 + 1e-12))
            assert np.all(high >= tail * (1.0 - 1e-12))
            other_low, other_high = whole.bounds(at * (1.0 - sign * 1e-12), sign)
            assert np.all(low <= other_high)
            assert np.all(high <= other_high * (1.0 + 1e-6) + 1e-12)
            if sign > 0:
                assert np.all(low >= other_low * (1.0 - 1e-6) - 1e-12)


@pytest.mark.parametrize("method", ["permutation", "normal", "pearson3", "zhang_su"])
def test_other_methods_have_no_bounds(method):
    null = ap_null_distribution(300, 30, method=method, n_resamples=99)
    assert null.pvalue_bounds(0.2) == (0.0, 1.0)
    with pytest.raises(ValueError, match="alternative must be one of 'greater', 'less'"):
        null.pvalue_bounds(0.2, "larger")


def enclosed_on_its_lattice(increments, n_hits, unit, finer, largest):
    """An enclosure with `finer` cells per unit, of which all increments are multiples."""
    n_cells = finer * largest
    top = n_cells * unit / finer
    close = bounds.usual_roundings(increments, n_hits) * top / (n_cells - 0.5)
    found = bounds.enclosure(increments, n_hits, top, close, math.inf, -700.0)
    assert_allclose(found.width * finer, unit, rtol=1e-12)
    return found


@pytest.mark.parametrize("finer", [1, 3, 7, 10])
@pytest.mark.parametrize("unit", [0.1, 0.7, 1 / 3, 1e-5])
def test_increments_that_are_multiples_of_the_width(unit, finer):
    # Sums are at the edges of cells but for rounding, which decides about atoms as large as 1/792.
    steps, n_hits = np.array([1, 2, 3, 4, 5, 6, 7, 9, 11, 12, 13, 29]), 5
    nothing = np.zeros(steps.size)
    increments = Increments(np.ones(steps.size, dtype=int), nothing, unit * steps, nothing)
    placements = np.array(list(itertools.combinations(steps.tolist(), n_hits)))
    sums = placements.sum(axis=1)
    enclosed = enclosed_on_its_lattice(increments, n_hits, unit, finer, int(sums.max()))
    for values in (unit * np.unique(sums), np.unique((unit * placements).sum(axis=1))):
        whole = np.rint(values / unit)[:, None]
        for sign, exact in ((1, sums >= whole), (-1, sums <= whole)):
            lower, upper = enclosed.bounds(values, sign)
            p = exact.mean(axis=1)
            assert np.all((lower <= p) & (p <= upper))


class RankSum(RankStatistic):
    """A tenth for every rank from the end."""

    def weights(self, ranks, n_samples, n_positives):
        return 0.1 * (n_samples - np.asarray(ranks, dtype=float))


@pytest.mark.parametrize("finer", [1, pytest.param(3, marks=pytest.mark.long), 7])
def test_what_misses_leave_of_a_large_sum_is_rounded(monkeypatch, finer):
    # Of 0.8 million, of which two misses take away up to 800, digits are lost.
    n, n_misses = 4000, 2
    found = ComputedDistribution(RankSum(), n, n - n_misses, None)
    form, misses = found._canonical.form, found._canonical.blocks
    assert form.by_misses
    everything = form.constant
    enclosed = enclosed_on_its_lattice(misses, n_misses, 0.1 / form.scale, finer, n_misses * n)
    monkeypatch.setattr(bounds.TailBounds, "_enclosure", lambda *args: enclosed)
    steps = np.arange(n)
    ways = np.convolve(np.ones(n), np.ones(n))
    ways[2 * steps] -= 1.0
    shares = ways / ways.sum()
    taken = np.flatnonzero(ways > 0.0)[::7]
    p_less = np.cumsum(shares[::-1])[::-1][taken]
    p_greater = np.cumsum(shares)[taken]
    for values in (everything - 0.1 * taken, 0.1 * (steps.sum() - taken)):
        for sign, p in ((1, p_greater), (-1, p_less)):
            lower, upper = found._tail_bounds.bounds(*form.value(values, sign))
            assert np.all((lower <= p * (1.0 + 1e-12)) & (p <= upper * (1.0 + 1e-12)))


def test_a_list_that_is_too_long_to_be_listed_has_a_bound():
    # One hit among the first 14 ranks, of probability 14 m / n, gives a value of 1 / 1400 at least.
    n, m, x = 10**8, 100, 0.0007
    null = ComputedDistribution(AveragePrecision(), n, m, None)
    (bound,) = null._log_upper_bound(np.array([x]), 1)
    assert math.log(14 * m / n) - 0.01 < bound < 0.0
