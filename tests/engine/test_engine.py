"""Floor 0: each algorithm against enumeration, and the algorithms against each other."""

import cmath
import itertools
import math
from dataclasses import replace

import numpy as np
import oracles
import pytest
from combinations import checkered
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, special, stats

from sklearn_rankinf import AveragePrecision
from sklearn_rankinf._engine.canonical import grouped_increments
from sklearn_rankinf._engine.distribution import ComputedDistribution
from sklearn_rankinf._engine.estimates import accepted_error
from sklearn_rankinf._engine.exact import enumeration as chain
from sklearn_rankinf._engine.exact import integer_weights, lattice
from sklearn_rankinf._engine.inversion import bands, contour, forward_pass, tilts
from sklearn_rankinf._engine.inversion import ranking_transform as tilted
from sklearn_rankinf._permutation import draws as sampling
from sklearn_rankinf._permutation.draws import chunk_sizes
from sklearn_rankinf._statistics import moments
from sklearn_rankinf._statistics.additive import increments_of
from sklearn_rankinf._statistics.increments import Increments

pytestmark = pytest.mark.numeric

PATTERNS = [
    ((1,) * 9, 4, None),
    ((2, 3, 1, 3), 4, None),
    ((9,), 4, None),
    ((1, 1, 6, 1), 4, None),
    ((1,) * 9, 4, 5),
    ((2, 3, 1, 3), 4, 4),
    ((1, 1, 6, 1), 4, 5),
    ((2, 2, 2, 2), 7, 3),
]


def increments(tie_sizes, n_positives, k=None, normalize="min"):
    sizes = np.asarray(tie_sizes, dtype=np.int64)
    return increments_of(AveragePrecision(k, normalize), int(sizes.sum()), n_positives, sizes)


def contour_inversion(n_samples, n_positives, tie_sizes=None):
    statistic = AveragePrecision()
    sizes = None if tie_sizes is None else np.asarray(tie_sizes, dtype=np.int64)
    fine = increments_of(statistic, n_samples, n_positives, sizes)
    coarse = grouped_increments(statistic, n_samples, n_positives, sizes, 0.05)
    mean, variance = moments.mean_and_variance(fine, n_positives)
    body = moments.deviation_of_the_body(coarse, n_positives)
    null = contour.ContourInversion(
        tilted.RankingTransform(fine, coarse, n_positives), math.sqrt(variance), body
    )
    return null, mean, math.sqrt(variance)


# ---------------------------------------------------------------------------------------------
# Statistics
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize", ["min", "positives"])
@pytest.mark.parametrize(("tie_sizes", "n_positives", "k"), PATTERNS)
def test_increments_add_up_to_the_statistic(tie_sizes, n_positives, k, normalize):
    blocks = increments(tie_sizes, n_positives, k, normalize)
    for hits in itertools.product(*(range(size + 1) for size in tie_sizes)):
        if sum(hits) == n_positives:
            expected = oracles.average_precision(tie_sizes, hits, k, normalize)
            found = blocks.total(pooled(hits, tie_sizes, blocks.sizes))
            assert_allclose(found, float(expected), rtol=1e-13)


def pooled(hits, tie_sizes, sizes):
    """Hits per block where blocks behind the cut-off were joined."""
    hits_up_to = np.cumsum(hits)[np.searchsorted(np.cumsum(tie_sizes), np.cumsum(sizes))]
    return np.diff(hits_up_to, prepend=0)


@pytest.mark.parametrize("t", [0, 1, 2, 10, 1000, 10**5])
def test_harmonic_numbers(t):
    assert_allclose(moments.harmonic(t), float(oracles.harmonic(t)), rtol=1e-14, atol=1e-15)
    squares = float(oracles.harmonic_squares(t))
    assert_allclose(moments.harmonic_squares(t), squares, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(
    ("a", "b"), [(0, 7), (99, 100), (99, 101), (100, 101), (10**6, 10**6 + 3), (500, 10**6)]
)
def test_differences_of_harmonic_numbers(a, b):
    expected = math.fsum(1 / i for i in range(a + 1, b + 1))
    assert_allclose(moments.harmonic_between(a, b), expected, rtol=1e-12)


@pytest.mark.parametrize("tie_sizes", [None, (1,) * 40 + (3,) * 20 + (1, 2, 3, 4) * 10])
def test_merging_far_blocks_keeps_the_mean(tie_sizes):
    n_samples = 200 if tie_sizes is None else sum(tie_sizes)
    sizes = None if tie_sizes is None else np.array(tie_sizes)
    statistic = AveragePrecision()
    exact = increments_of(statistic, n_samples, 30, sizes)
    merged = grouped_increments(statistic, n_samples, 30, sizes, 0.1)
    assert merged.sizes.sum() == n_samples
    assert merged.sizes.size < exact.sizes.size
    mean = moments.mean_and_variance(exact, 30)[0]
    assert_allclose(moments.mean_and_variance(merged, 30)[0], mean, rtol=1e-12)


# ---------------------------------------------------------------------------------------------
# Forward pass
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tie_sizes", "n_positives", "k"), PATTERNS)
def test_atoms_and_their_counts(tie_sizes, n_positives, k):
    found = chain.atoms(increments(tie_sizes, n_positives, k), n_positives)
    values, counts = oracles.average_precision_distribution(
        sum(tie_sizes), n_positives, tie_sizes, k
    )
    assert np.all(np.diff(found.values) >= 0)
    assert_allclose(special.logsumexp(found.log_counts), math.log(sum(counts)), rtol=1e-12)
    for value, count in zip(values, counts, strict=True):
        here = np.isclose(found.values, float(value), rtol=1e-12, atol=1e-15)
        assert_allclose(np.exp(found.log_counts[here]).sum(), count, rtol=1e-12)


@pytest.mark.parametrize(("tie_sizes", "n_positives", "k"), PATTERNS)
def test_atoms_from_a_value_on(tie_sizes, n_positives, k):
    blocks = increments(tie_sizes, n_positives, k)
    values, counts = oracles.average_precision_distribution(
        sum(tie_sizes), n_positives, tie_sizes, k
    )
    threshold = float(values[2 * len(values) // 3]) * (1 - 1e-12)
    found = chain.atoms(blocks, n_positives, at_least=threshold)
    kept = found.values >= threshold
    expected = sum(c for v, c in zip(values, counts, strict=True) if float(v) >= threshold)
    assert_allclose(np.exp(found.log_counts[kept]).sum(), expected, rtol=1e-12)


@pytest.mark.parametrize("square", [1.0, 0.0, -1.0])
def test_atoms_from_a_value_on_with_curved_gains(square):
    # Gains that are convex in the hits reach the threshold with few and with many hits only.
    sizes, n_positives = (1, 1, 1, 6, 6), 6
    weights = np.array([0.31, 0.17, 0.08, 0.0, 0.0])
    squares = np.where(np.array(sizes) > 1, square, 0.0)
    blocks = Increments(np.array(sizes), np.zeros(5), weights, squares)
    outcomes = [
        (float(blocks.total(np.array(hits))), math.prod(map(math.comb, sizes, hits)))
        for hits in itertools.product(*(range(size + 1) for size in sizes))
        if sum(hits) == n_positives
    ]
    for threshold in sorted({value for value, _ in outcomes}):
        found = chain.atoms(blocks, n_positives, at_least=threshold - 1e-9)
        expected = sum(count for value, count in outcomes if value >= threshold - 1e-9)
        assert_allclose(np.exp(found.log_counts).sum(), expected, rtol=1e-12)


def test_atoms_of_whole_weights_that_hardly_differ():
    weights = 2.0**52 + np.arange(60) // 3
    blocks = Increments(np.ones(60, dtype=np.int64), np.zeros(60), weights, np.zeros(60))
    found = integer_weights.counted_atoms(blocks, 20)
    in_order = np.sort(weights - 2.0**52)
    assert found.values.size == in_order[-20:].sum() - in_order[:20].sum() + 1
    assert_allclose(special.logsumexp(found.log_counts), math.log(math.comb(60, 20)), rtol=1e-12)


def test_atoms_give_up_beyond_the_limit():
    assert chain.atoms(increments((1,) * 30, 10), 10, limit=1000) is None


@pytest.mark.parametrize(("tie_sizes", "n_positives", "k"), PATTERNS)
def test_number_of_outcomes(tie_sizes, n_positives, k):
    outcomes = itertools.product(*(range(size + 1) for size in tie_sizes))
    expected = sum(sum(hits) == n_positives for hits in outcomes)
    assert chain.n_outcomes(np.array(tie_sizes), n_positives) == expected


@pytest.mark.parametrize("z", [1.0, -3.0, 20.0, 2 + 5j, -4 + 50j])
@pytest.mark.parametrize(("tie_sizes", "n_positives", "k"), PATTERNS)
def test_transform(tie_sizes, n_positives, k, z):
    values, counts = oracles.average_precision_distribution(
        sum(tie_sizes), n_positives, tie_sizes, k
    )
    terms = [c * cmath.exp(z * float(v)) for v, c in zip(values, counts, strict=True)]
    expected = sum(terms) / sum(counts)
    found = forward_pass.log_transform(increments(tie_sizes, n_positives, k), n_positives, [z])
    assert_allclose(np.exp(found), [expected], rtol=1e-12)


def test_transform_at_equally_spaced_nodes_and_samples_behind_them():
    blocks = increments((1,) * 9, 4)
    values, counts = oracles.average_precision_distribution(9, 4, (1,) * 9)
    weights = np.array(counts, dtype=float) / sum(counts)
    heights = np.concatenate([0.7 * (np.arange(40) + 0.5), [28.9, 33.0, 250.0, 4e4]])
    z = 2.0 + 1j * heights
    expected = np.exp(np.outer(z, np.array(values, dtype=float))) @ weights
    assert_allclose(np.exp(forward_pass.log_transform(blocks, 4, z)), expected, rtol=1e-10)


def test_transform_in_a_narrow_band_that_climbs():
    # Each hit weighs exp(0.3 (64 - hits before it)), which a changing balance takes away.
    n, m, strength, half_width = 128, 64, -0.3, 3
    ones, path = np.ones(n, dtype=np.int64), np.arange(1, n + 1) // 2
    blocks = Increments(ones, np.full(n, strength), np.full(n, -strength * m), np.zeros(n))
    band = bands.Bands(path - half_width, path + half_width, ones, 0 * ones)
    log_ways = np.where(np.arange(m + 1) == 0, 0.0, -np.inf)
    for low, high in zip(band.low, band.high, strict=True):
        hit = np.append(-np.inf, log_ways[:-1] + strength * (np.arange(m) - m))
        log_ways = np.logaddexp(log_ways, hit)
        log_ways[: max(low, 0)] = log_ways[high + 1 :] = -np.inf
    expected = log_ways[m] - math.log(math.comb(n, m))
    balance = strength * (m - path)[:, None]
    found = forward_pass.log_transform(blocks, m, [1.0], band, balance)
    assert_allclose(found, [expected], rtol=1e-12)


@pytest.mark.parametrize("tilt", [-8.0, 0.1, 3.0, 12.0])
def test_rows_left_out_do_not_matter_under_a_tilt(tilt):
    blocks = increments((1,) * 300, 60)
    scale = math.sqrt(moments.mean_and_variance(blocks, 60)[1])
    theta = tilt / scale
    kept, log_mgf = bands.tilted_bands(blocks, 60, theta)
    z = theta + 1j * np.array([0.0, 0.5, 2.0, 8.0]) / scale
    everything = forward_pass.log_transform(blocks, 60, z)
    trimmed = forward_pass.log_transform(blocks, 60, z, kept)
    assert_allclose(np.exp(trimmed - everything), 1.0, rtol=1e-11)
    assert_allclose(log_mgf, everything[0].real, rtol=1e-12, atol=1e-12)


def test_the_share_of_the_rows_left_out_is_stated():
    blocks = increments((60, 70, 50, 90, 130, 200), 90)
    theta = 4.0 / math.sqrt(moments.mean_and_variance(blocks, 90)[1])
    kept, _ = bands.tilted_bands(blocks, 90, theta, 1e-5)
    everything, trimmed = (
        forward_pass.log_transform(blocks, 90, [theta], paths)[0].real for paths in (None, kept)
    )
    left_out = -math.expm1(trimmed - everything)
    assert 1e-6 < left_out <= kept.left_out < 1e-3


def test_mean_paths_are_those_of_the_plain_iteration():
    # The first list has two paths under some tilts, one of which vanishes under others.
    for sizes, m in (((20, 1000, 4000), 120), ((30, 80, 300, 90, 500), 100)):
        blocks = increments(sizes, m)
        tilts = np.geomspace(0.5, 60.0, 15) / math.sqrt(moments.mean_and_variance(blocks, m)[1])
        even = m * blocks.sizes / sum(sizes)
        at_top = np.diff(np.minimum(np.cumsum(sizes), m), prepend=0)
        for start in (even, 0.9 * at_top + 0.1 * even):
            found, _, converged = bands._self_consistent_hits(
                blocks, m, tilts, np.tile(start, (15, 1)), 0.02, 100
            )
            assert converged.all()
            expected = [plain_mean_hits(blocks, m, tilt, start) for tilt in tilts]
            assert np.abs(np.cumsum(found - expected, axis=1)).max() < 0.5


def plain_mean_hits(blocks, m, tilt, hits):
    """The fixed point of the mean-field equations, in steps of a half."""

    def missing(shift, gain):
        return (blocks.sizes * special.expit(gain + shift)).sum() - m

    for _ in range(1000):
        before = np.cumsum(hits) - hits
        others = 1.0 + 2.0 * hits * (1.0 - 1.0 / blocks.sizes)
        later = [(blocks.cross * hits)[i + 1 :].sum() for i in range(hits.size)]
        gain = tilt * (blocks.cross * before + blocks.linear + blocks.square * others + later)
        shift = optimize.brentq(missing, -1e5, 1e5, args=(gain,))
        hits, last = 0.5 * (hits + blocks.sizes * special.expit(gain + shift)), hits
        if np.abs(hits - last).max() < 1e-6:
            break
    return hits


# ---------------------------------------------------------------------------------------------
# Lattice and contour
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tie_sizes", "n_positives"),
    [((1,) * 120, 15), ((3, 1, 2, 5, 1, 4), 5), ((1,) * 40 + (80,), 9)],
)
def test_lattice_encloses_the_mean(tie_sizes, n_positives):
    width, n_cells = 1.2 / 4000, 4000
    blocks = increments(tie_sizes, n_positives)
    everything = bands.feasible_bands(blocks, n_positives)
    smaller, larger = lattice.histograms(blocks, n_positives, width, n_cells, everything)
    means = []
    for null in (smaller, larger):
        assert_allclose([null.below[-1] + null.above[-1], null.above[0]], 1.0, rtol=1e-12)
        assert_allclose(null.below + null.above, 1.0, rtol=1e-12)
        means.append(width * null.above[1:].sum())
    mean = float(oracles.mean_and_variance_with_ties(tie_sizes, n_positives)[0])
    assert means[0] <= mean <= means[1]
    # No more cells than there are blocks with hits.
    assert means[1] - means[0] <= min(n_positives, len(tie_sizes)) * width * (1 + 1e-9)


@pytest.mark.parametrize(
    ("size", "sign"),
    checkered([(150, 75, None), (120, 30, (2,) * 60), (200, 20, None)], [1, -1]),
)
def test_contour_against_bounds(size, sign):
    n_samples, n_positives, tie_sizes = size
    inverted, mean, scale = contour_inversion(n_samples, n_positives, tie_sizes)
    sizes = None if tie_sizes is None else np.array(tie_sizes)
    enclosed = ComputedDistribution(AveragePrecision(), n_samples, n_positives, sizes)
    s = mean + sign * np.array([0.5, 1.0, 1.7])[: 3 if sign > 0 else 2] * scale
    lower, upper = enclosed.bounds(s, sign)
    assert np.all(upper < 1.05 * lower)
    found = inverted.tail(s, sign)
    log_tail, error = found.log_p, found.error.total
    assert np.all(error < 1e-6)
    assert np.all(lower * (1 - error) <= np.exp(log_tail))
    assert np.all(np.exp(log_tail) <= upper * (1 + error))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("n_samples", "n_positives"), [(100, 10), (400, 24), (200, 40)])
def test_no_tilt_bounds_tails_up_to_the_reach_of_the_first_tilts(n_samples, n_positives, sign):
    null, _, scale = contour_inversion(n_samples, n_positives)
    tilted_by = sign * np.geomspace(0.2, 60.0, 300) / scale
    log_mgfs = oracles.log_mgf_of_average_precision(n_samples, n_positives, tilted_by)
    for enough in (-1.0, -3.0, -6.0):
        reach = sign * null.unbounded_up_to(sign, enough)
        bound = np.min(log_mgfs - tilted_by * reach)
        assert enough - 1e-6 <= bound < 0.6 * enough
        assert null.log_bound(np.array([reach]), sign)[0] >= enough - 1e-6


def test_the_first_tail_takes_one_pass_over_the_ranks(monkeypatch):
    passes, usual = [], forward_pass.log_transform

    def counted(blocks, n_positives, z, *bands_and_balance):
        passes.append((blocks.sizes.size, np.iscomplexobj(z)))
        return usual(blocks, n_positives, z, *bands_and_balance)

    monkeypatch.setattr(tilted, "log_transform", counted)
    null, mean, scale = contour_inversion(1000, 100)
    null.tail(np.array([mean + scale]), 1)
    assert [size for size, is_contour in passes if is_contour] == [1000]


class _CountedTransform(tilted.RankingTransform):
    """Counts the tilts along which, and the nodes at which, it was computed."""

    def at(self, theta, z, is_extreme, coarse):
        self.nodes = getattr(self, "nodes", {})
        self.nodes[theta] = self.nodes.get(theta, 0) + z.size
        return super().at(theta, z, is_extreme, coarse)


@pytest.mark.parametrize("z", [8.0, pytest.param(20.0, marks=pytest.mark.long), 35.0])
def test_far_tails_with_a_tolerance_need_few_nodes(z):
    n, m, tolerance = 1000, 80, 0.025
    statistic = AveragePrecision()
    fine = increments_of(statistic, n, m, None)
    coarse = grouped_increments(statistic, n, m, None, 0.05)
    mean, variance = moments.mean_and_variance(fine, m)
    std = math.sqrt(variance)
    counted = _CountedTransform(fine, coarse, m)
    body = moments.deviation_of_the_body(coarse, m)
    null = contour.ContourInversion(counted, std, body, (0.0, 1.0), tolerance)
    s = mean + z * std
    found = null.tail(np.array([s]), 1)
    # A long trapezoidal sum of a pass that leaves out no path, completed on the damped side.
    (theta,) = null.tilts(np.array([s]), 1)
    nodes = theta + 1j * (np.arange(1600) + 0.5) * 2.0 * math.pi / (3.0 * s)
    logs = forward_pass.log_transform(fine, m, nodes)
    terms = np.exp(logs - logs[0].real) * np.exp(-1j * nodes.imag * s) / nodes
    log_scale = logs[0].real - theta * s + math.log(2.0 / (3.0 * s))
    damped = math.exp(-theta * 3.0 * s - log_scale) if theta * 3.0 * s + log_scale > -700.0 else 0.0
    expected = math.log(terms.sum().real + damped) + log_scale
    assert (
        abs(found.log_p[0] - expected)
        <= found.error.total[0]
        < accepted_error(tolerance, found.log_p)
    )
    assert sum(counted.nodes.values()) <= 150


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "most_tilts", "most_nodes"),
    [(200, 40, 4, 3000), (500, 50, 2, 700), (1000, 100, 2, 350), (2000, 500, 3, 200)],
)
def test_values_of_a_dense_distribution_share_contours(
    n_samples, n_positives, most_tilts, most_nodes
):
    statistic = AveragePrecision()
    fine = increments_of(statistic, n_samples, n_positives, None)
    coarse = grouped_increments(statistic, n_samples, n_positives, None, 0.05)
    mean, variance = moments.mean_and_variance(fine, n_positives)
    counted_transform = _CountedTransform(fine, coarse, n_positives)
    body = moments.deviation_of_the_body(coarse, n_positives)
    std = math.sqrt(variance)
    null = contour.ContourInversion(counted_transform, std, body, (0.0, 1.0))
    for sign, z in ((1, np.linspace(0.01, 19.9, 200)), (-1, np.linspace(-1.8, -0.01, 30))):
        assert null.tail(mean + z * std, sign).error.total.max() < 1e-6
    assert len(counted_transform.nodes) <= most_tilts
    assert sum(counted_transform.nodes.values()) <= most_nodes


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "tie_sizes", "sign"),
    [
        pytest.param(*case, sign, marks=[pytest.mark.long] * (sign not in signs))
        for *case, signs in [
            (200, 40, None, [1]),
            (500, 150, None, [-1]),
            (300, 45, (1, 2, 1) * 75, [1]),
        ]
        for sign in (1, -1)
    ],
)
def test_shared_contours_against_contours_of_the_best_tilts(
    monkeypatch, n_samples, n_positives, tie_sizes, sign
):
    null, mean, std = contour_inversion(n_samples, n_positives, tie_sizes)
    s = mean + std * (np.linspace(0.1, 16.0, 12) if sign > 0 else np.linspace(-2.2, -0.1, 9))
    shared = null.tail(s, sign)
    n_shared = np.unique(null.tilts(s, sign)).size
    best = replace(tilts.TILTS, excess_dense=0.0, excess=0.0)
    monkeypatch.setattr(tilts, "TILTS", best)
    null = contour_inversion(n_samples, n_positives, tie_sizes)[0]
    alone = null.tail(s, sign)
    assert np.unique(null.tilts(s, sign)).size > 2 * n_shared
    errors = shared.error.total + alone.error.total
    assert np.all(np.abs(np.expm1(shared.log_p - alone.log_p)) <= errors)
    assert shared.error.total.max() < 1e-6


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "decays"),
    [
        (22, 8, False),
        (20, 15, False),
        (18, 9, False),
        (24, 11, True),
        pytest.param(40, 5, False, marks=pytest.mark.long),
        pytest.param(100, 3, False, marks=pytest.mark.long),
        pytest.param(25, 8, True, marks=pytest.mark.long),
    ],
)
def test_contour_states_when_it_does_not_apply(n_samples, n_positives, decays):
    # Atoms are visible here: what the contour states about itself has to cover that.
    values = oracles.untied_values(n_samples, n_positives)
    inverted, mean, scale = contour_inversion(n_samples, n_positives)
    n_known = 0
    for z in (-2.0, -1.5, -1.0, -0.5, 0.5, 1.0, 1.7, 2.0, 3.0):
        sign = 1 if z > 0 else -1
        s = float(values[min(np.searchsorted(values, mean + z * scale), values.size - 1)])
        count = oracles.count_at_least if sign > 0 else oracles.count_at_most
        found = inverted.tail(np.array([s]), sign)
        log_tail, error = found.log_p, found.error.total
        if np.isfinite(error[0]):
            share = count(values, s) / values.size
            assert abs(math.exp(log_tail[0]) / share - 1) <= error[0], z
            n_known += 1
    # A transform that does not decay leaves all tails unknown.
    assert (n_known > 0) == decays


def test_contour_against_guaranteed_bounds():
    inverted, mean, scale = contour_inversion(100, 40)
    for z in (1.0, 5.0):
        x = mean + z * scale
        low, high = oracles.tail_bounds(100, 40, x)
        found = inverted.tail(np.array([x]), 1)
        log_tail, error = found.log_p, found.error.total
        assert error[0] < 1e-4
        assert low * (1 - error[0]) <= math.exp(log_tail[0]) <= high * (1 + error[0])


# ---------------------------------------------------------------------------------------------
# Sampling
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_samples", "n_positives"), [(7, 3), (12, 2), (9, 1), (6, 5), (5, 5)])
def test_hit_sets_are_uniform(n_samples, n_positives):
    rng = np.random.default_rng(0)
    ranks = sampling.uniform_hit_ranks(n_samples, n_positives, 20_000, rng)
    assert ranks.shape == (20_000, n_positives)
    assert np.all(np.diff(ranks, axis=1) > 0)
    assert ranks.min() >= 0
    assert ranks.max() < n_samples
    sets, counts = np.unique(ranks, axis=0, return_counts=True)
    assert_array_equal(sets, list(itertools.combinations(range(n_samples), n_positives)))
    if len(sets) > 1:
        assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize(("n_resamples", "n_per_resample"), [(1, 1), (10_000, 100), (7, 10**9)])
def test_chunks_add_up(n_resamples, n_per_resample):
    chunks = chunk_sizes(n_resamples, n_per_resample)
    assert sum(chunks) == n_resamples
    assert min(chunks) >= 1
    assert max(chunks) * n_per_resample <= max(10**6, n_per_resample)


@pytest.mark.parametrize("tie_sizes", [None, (1,) * 9, (2, 3, 1, 3), (9,), (1, 7, 1)], ids=str)
@pytest.mark.parametrize("k", [None, 4])
@pytest.mark.parametrize("n_positives", [2, 4, 8])
def test_sampler_against_enumeration(tie_sizes, k, n_positives):
    sizes = None if tie_sizes is None else np.array(tie_sizes)
    sampler = sampling.NullSampler(AveragePrecision(k), 9, n_positives, sizes)
    drawn = sampler.draw(10_000, np.random.default_rng(1))
    values, counts = oracles.average_precision_distribution(9, n_positives, tie_sizes, k)
    atoms = np.array([float(v) for v in values])
    nearest = np.abs(drawn[:, None] - atoms).argmin(axis=1)
    assert_allclose(drawn, atoms[nearest], rtol=1e-12, atol=1e-15)
    observed = np.bincount(nearest, minlength=atoms.size)
    if atoms.size > 1:
        expected = np.array(counts) / sum(counts) * drawn.size
        assert stats.chisquare(observed, expected).pvalue > 1e-5


def test_sampler_at_ranks_of_a_long_list():
    sampler = sampling.NullSampler(AveragePrecision(), 10**12, 3, None)
    drawn = sampler.draw(100, np.random.default_rng(1))
    assert np.all((drawn > 0) & (drawn < 1))


def test_direct_sums_and_convolutions_in_one_run():
    # Hits of blocks of 20 items are summed directly, those of blocks of 200 by Fourier transforms.
    sizes, m = (20, 200, 20, 200), 150
    z = 40.0 + 30.0j * (np.arange(9) + 0.5)
    ways, end = np.zeros((m + 1, z.size), dtype=complex), 0
    ways[0] = 1.0
    for size in sizes:
        end += size
        before, ways = ways, np.zeros_like(ways)
        for y in range(min(size, m) + 1):
            hits = np.arange(y, m + 1)
            factors = math.comb(size, y) * np.exp(np.outer(y * hits / (end * m), z))
            ways[y:] += factors * before[: m + 1 - y]
    expected = np.log(ways[m] / math.comb(sum(sizes), m))
    blocks = increments(sizes, m)
    found = forward_pass.log_transform(blocks, m, z, *bands.windows(blocks, m, z.real[:1]))
    assert_allclose(np.exp(found - expected), 1.0, rtol=1e-9)


def test_far_nodes_of_a_contour_alone_are_known():
    # The transform is the coefficient of w**m in prod((1 + w exp(z c))**g) over comb(n, m).
    sizes, m, tilt = np.array([40, 83, 245, 832, 1426, 2207, 2037]), 900, 30.0
    weights = 1.0 - (np.cumsum(sizes) - 0.5 * sizes) / sizes.sum()
    zeros = np.zeros(sizes.size)
    blocks = Increments(sizes, zeros, weights / 10.0, zeros)
    z = tilt + 1j * np.linspace(8.0, 12.0, 32)

    def log_total(log_w):
        return np.sum(sizes * np.logaddexp(0.0, log_w + tilt * weights / 10.0)) - m * log_w

    log_w = optimize.minimize_scalar(log_total, bracket=(-5.0, 0.0)).x
    circle = log_w + 2j * np.pi * np.arange(4096) / 4096
    exponents = np.log1p(np.exp(circle[:, None, None] + z[:, None] * weights / 10.0)) @ sizes
    exponents -= m * circle[:, None] + log_total(log_w)
    expected = np.exp(exponents).mean(axis=0)
    log_ways = special.gammaln([sizes.sum() + 1, m + 1, sizes.sum() - m + 1]) @ [1, -1, -1]
    narrow = bands.windows(blocks, m, z.real[:1])
    found = forward_pass.log_transform(blocks, m, z, *narrow)
    assert np.isfinite(found).all()
    scale = log_total(log_w) - log_ways
    assert_allclose(np.exp(found - scale), expected, atol=1e-14)
    whole = forward_pass.log_transform(blocks, m, np.append(tilt, z), *narrow)[1:]
    assert_allclose(np.exp(found - scale), np.exp(whole - scale), atol=1e-14)


@pytest.mark.parametrize("tilt", [-40.0, 0.3, 6.0, 60.0, 900.0])
def test_real_nodes_of_large_blocks_against_sums_of_logarithms(tilt):
    # Blocks of 16 hits and more are convolved, and the first ones far from the range of floats.
    sizes, m = np.array([3, 60, 1, 1, 200, 40, 1, 500, 25, 900]), 70
    statistic, n = AveragePrecision(), int(sizes.sum())
    blocks = increments_of(statistic, n, m, sizes)
    log_ways = np.full(m + 1, -np.inf)
    log_ways[0] = 0.0
    hits = np.arange(m + 1)
    for block, size in enumerate(sizes.tolist()):
        found = np.full(m + 1, -np.inf)
        for y in range(min(size, m) + 1):
            before = hits[: m + 1 - y]
            gain = y * (blocks.cross[block] * before + blocks.linear[block])
            gain = gain + y * y * blocks.square[block]
            ways = math.log(math.comb(size, y))
            found[y:] = np.logaddexp(found[y:], log_ways[: m + 1 - y] + ways + tilt * gain)
        log_ways = found
    expected = log_ways[m] - math.log(math.comb(n, m))
    z = np.array([tilt])
    for arguments in (bands.windows(blocks, m, z), (None, bands.balances(blocks, m, z))):
        found = forward_pass.log_transform(blocks, m, z, *arguments)
        assert_allclose(found.real, [expected], rtol=1e-11, atol=1e-9)
