"""Null distributions of mean average precision over queries."""

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import oracles
import pytest
from runs import ALTERNATIVES, RUNS, enumerated, null_of, share
from scipy import stats
from scipy.special import logsumexp

from sklearn_rankinf import (
    AveragePrecision,
    Ranking,
    ap_null_distribution,
    average_precision_test,
    metric_null_distribution,
)
from sklearn_rankinf._engine.distribution import exact_distribution
from sklearn_rankinf._engine.estimates import TailEstimates
from sklearn_rankinf._engine.inversion.band_limited import BandLimitedTails
from sklearn_rankinf._engine.inversion.contour import ContourInversion
from sklearn_rankinf._engine.means import lattice
from sklearn_rankinf._engine.means.distribution import MeanDistribution
from sklearn_rankinf._engine.means.variables import Part

# Number of samples, number of positives, blocks and number of such rankings.
COARSE = {
    "two short": [(8, 2, None, 1), (6, 3, None, 1)],
    "single positives": [(38, 1, None, 3)],
    "long, single positives": [(700, 1, None, 2)],
    "(3, 1) 20 times": [(3, 1, None, 20)],
    "(2, 1) 60 times": [(2, 1, None, 60)],
    "(4, 2) 15 times": [(4, 2, None, 15)],
    "(13, 1) 6 times": [(13, 1, None, 6)],
    "two sizes": [(30, 2, None, 1), (9, 1, None, 2)],
    "mostly positives": [(10, 8, None, 2), (7, 6, None, 2)],
    "few ties": [(12, 3, (2, 4, 1, 5), 1), (9, 2, (3, 3, 3), 2)],
    "two blocks": [(10, 4, (5, 5), 3), (7, 2, (1, 6), 2)],
    "equal blocks": [(60, 3, (6,) * 10, 4)],
    "all tied but one": [(6, 2, (2, 2, 2), 12), (5, 1, (5,), 3)],
    "constants": [(10, 2, None, 2), (5, 0, None, 1), (4, 4, None, 2)],
    "one of many": [(25, 3, None, 1), (4, 4, None, 9)],
    "one long": [(150, 3, None, 1)],
    "half": [(14, 7, None, 1), (10, 3, None, 1)],
}


def parts_of(problem):
    return [
        Part(
            AveragePrecision(),
            n,
            m,
            None if ties is None else np.array(ties),
            count,
            exact_distribution,
        )
        for n, m, ties, count in problem
    ]


def null_of_problem(problem, **options):
    each = [part for part in problem for _ in range(part[3])]
    n, m, ties, _ = zip(*each, strict=True)
    return metric_null_distribution(n, m, tie_sizes=ties, **options)


@pytest.mark.numeric
@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("name", RUNS)
def test_null_distribution_equals_enumeration(name, alternative):
    values, null = enumerated(name), null_of(name)
    for x in np.r_[np.unique(values), values[0] - 0.01, values[-1] + 0.01]:
        expected = share(values, x, alternative)
        assert null.pvalue(x, alternative) == pytest.approx(expected, rel=1e-12, abs=1e-300)
        if expected > 0.0:
            log_p = null.log_pvalue(x, alternative)
            assert log_p == pytest.approx(math.log(expected), rel=1e-11, abs=1e-12)
        assert null.relative_error(x, alternative) <= 1e-11


@pytest.mark.numeric
@pytest.mark.parametrize("name", RUNS)
def test_functions_of_the_null_distribution_equal_enumeration(name):
    values, null = enumerated(name), null_of(name)
    assert null.support() == pytest.approx((values[0], values[-1]), rel=1e-12)
    for x in np.unique(values):
        assert null.cdf(x) == pytest.approx(share(values, x, "less"), rel=1e-12)
        assert null.sf(x) == pytest.approx(1.0 - share(values, x, "less"), rel=1e-11, abs=1e-12)
    for q in (0.03, 0.377, 0.5, 0.91):
        quantile = values[math.ceil(q * len(values)) - 1]
        assert null.ppf(q) == pytest.approx(quantile, rel=1e-12)


@pytest.mark.parametrize("method", ["analytic", "permutation", "normal", "pearson3"])
@pytest.mark.parametrize("name", RUNS)
def test_moments_equal_enumeration(name, method):
    values, null = enumerated(name), null_of(name, method=method)
    mean, deviation = math.fsum(values) / len(values), values.std()
    assert null.mean() == pytest.approx(mean, rel=1e-12)
    if name == "none varies":
        assert null.var() == 0.0
        assert np.isnan(null.stats("sk")).all()
        return
    assert null.var() == pytest.approx(values.var(), rel=1e-11)
    skewness, kurtosis = null.stats("sk")
    standardized = (values - mean) / deviation
    assert skewness == pytest.approx(np.mean(standardized**3), rel=1e-9, abs=1e-9)
    assert kurtosis == pytest.approx(np.mean(standardized**4) - 3.0, rel=1e-9, abs=1e-9)
    assert null.moment(3) == pytest.approx(np.mean(values**3), rel=1e-9)


def test_null_distribution_of_one_query_is_its_own():
    rng = np.random.default_rng(0)
    for n, m, ties in ((12, 4, None), (9, 3, [2, 4, 3]), (600, 3, None), (400, 5, None)):
        one = ap_null_distribution(n, m, tie_sizes=ties)
        null = metric_null_distribution([n], [m], tie_sizes=[ties])
        x = np.r_[one.rvs(5, random_state=rng), 0.3, 1.0]
        for alternative in ALTERNATIVES:
            expected = one.log_pvalue(x, alternative)
            assert null.log_pvalue(x, alternative) == pytest.approx(expected, rel=1e-12)
            error = one.relative_error(x, alternative)
            assert null.relative_error(x, alternative) == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize(
    ("n_positives", "precision"), [pytest.param(3, 1e-3, marks=pytest.mark.long), (30, 1e-8)]
)
def test_null_distribution_where_one_query_of_several_varies(n_positives, precision):
    one = ap_null_distribution(400, n_positives)
    null = metric_null_distribution([400, 7, 5, 5], [n_positives, 0, 5, 5])
    x = np.r_[one.isf([0.999, 0.9, 0.5, 0.1, 1e-3]), 1.0]
    assert null.support()[1] == pytest.approx(0.75, rel=1e-12)
    assert null.pvalue((x + 2.0) / 4.0) == pytest.approx(one.pvalue(x), rel=precision)
    assert null.isf(0.01) == pytest.approx((one.isf(0.01) + 2.0) / 4.0, rel=1e-6)


# Distributions too large to list, on problems that can be listed


def atoms_of(null, rng):
    """Some atoms: of both ends, of the whole range, and as they are drawn."""
    listed = null.listed()
    values = listed.values
    chosen = np.r_[
        np.arange(min(15, values.size)),
        values.size - 1 - np.arange(min(15, values.size)),
        rng.integers(values.size, size=60),
    ]
    drawn = listed.quantile(rng.uniform(size=60), -1)
    return listed, np.unique(np.r_[values[chosen], drawn])


# Of these there are others of the same kind.
ONLY_LONG = (
    "(13, 1) 6 times",
    "long, single positives",
    "(2, 1) 60 times",
    "(4, 2) 15 times",
    "two sizes",
    "mostly positives",
    "two blocks",
    "equal blocks",
    "one long",
    "one of many",
    "single positives",
    "half",
)


@pytest.mark.numeric
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name in ONLY_LONG)) for name in COARSE],
)
def test_computed_distribution_keeps_its_stated_error(name):
    null = MeanDistribution(parts_of(COARSE[name]))
    listed, atoms = atoms_of(null, np.random.default_rng(0))
    for sign in (1, -1):
        t = atoms * (1.0 - sign * 1e-12)
        p, log_p, error = null.tail(t, sign)
        expected = listed.tail(t, sign)[1]
        assert p == pytest.approx(np.exp(log_p), rel=1e-12)
        known = np.isfinite(error)
        # The list states rounding errors too.
        off, of_list = np.abs(np.expm1(log_p - expected)), listed.tail(t, sign)[2]
        assert np.all(off[known] <= error[known] + of_list[known]), sign
        # Where no error is stated there is a bound.
        assert np.all(log_p[~known] >= expected[~known] - of_list[~known]), sign
        # Of values that do occur most are accurate.
        usual = np.abs(expected) < 12.0
        assert np.mean(error[usual] < 0.3) > 0.65, sign


@pytest.mark.parametrize("name", ["single positives", "two sizes", "few ties", "half"])
def test_listed_distribution_is_that_of_its_draws(name):
    listed = MeanDistribution(parts_of(COARSE[name])).listed()
    draws = np.sort(null_of_problem(COARSE[name]).rvs(20_000, random_state=5))
    for q in (0.01, 0.1, 0.5, 0.9, 0.99):
        t = listed.quantile(np.array([q]), -1) * (1.0 + 1e-12)
        p = float(listed.tail(t, -1)[0][0])
        found = oracles.count_at_most(draws, t[0]) / draws.size
        assert abs(found - p) < 5.0 * math.sqrt(p * (1.0 - p) / draws.size)


LARGE = {
    "50 x (1000, 10)": [(1000, 10, None, 50)],
    "sizes": [(100, 3, None, 10), (1000, 20, None, 5), (50, 1, None, 7), (600, 60, None, 2)],
    "ties": [(200, 8, (5,) * 40, 6), (300, 4, None, 4), (120, 60, (20,) * 6, 3)],
    "few": [(1000, 2, None, 2), (300, 3, None, 1)],
    "single positives": [(500, 1, None, 12)],
    "constants": [(400, 6, None, 3), (10, 0, None, 2), (3, 3, None, 4)],
}


@pytest.mark.numeric
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] * name.startswith(("single", "few")))
        for name in LARGE
    ],
)
def test_large_runs_against_simulation(name):
    null = null_of_problem(LARGE[name])
    assert isinstance(null._distribution, MeanDistribution)
    n_draws = 10_000
    draws = np.sort(null.rvs(n_draws, random_state=11))
    assert abs(draws.mean() - null.mean()) < 5.0 * null.std() / math.sqrt(n_draws)
    assert draws.std() == pytest.approx(null.std(), rel=0.06)
    x = np.unique(draws[[20, 1_000, 5_000, 9_000, 9_980]])
    for alternative, count in (
        ("greater", oracles.count_at_least),
        ("less", oracles.count_at_most),
    ):
        p = null.pvalue(x, alternative)
        assert np.all(null.relative_error(x, alternative) < 0.01)
        found = np.array([count(draws, value) for value in x])
        # An order statistic is not a fixed point; that adds one draw.
        assert np.all(np.abs(found - n_draws * p) < 1 + 5.0 * np.sqrt(n_draws * p * (1.0 - p)))


@pytest.mark.numeric
def test_simulated_means():
    rng = np.random.default_rng(2)
    sizes, ties = [(30, 4), (20, 1), (25, 10)], [(1,) * 30, (1,) * 20, (5,) * 5]
    null = metric_null_distribution(*zip(*sizes, strict=True), tie_sizes=ties)
    draws = np.mean(
        [
            oracles.simulate_average_precision(rng, own, m, 200)
            for (_, m), own in zip(sizes, ties, strict=True)
        ],
        axis=0,
    )
    assert isinstance(null._distribution, MeanDistribution)
    assert stats.kstest(draws, null.cdf).pvalue > 1e-3


@pytest.mark.numeric
@pytest.mark.parametrize(
    "sizes",
    [
        [(1000, 10)] * 50,
        [(100, 3)] * 4 + [(700, 5)] * 9,
        [(1000, 10)] * 10 + [(5, 5)] * 1000,
    ],
)
def test_all_perfect(sizes):
    n, m = np.array(sizes).T
    null = metric_null_distribution(n, m)
    expected = -math.fsum(math.log(math.comb(n, m)) for n, m in sizes)
    assert null.log_pvalue(1.0) == pytest.approx(expected, rel=1e-12)
    assert null.relative_error(1.0) < 1e-11
    assert null.pvalue(1.0) == pytest.approx(math.exp(expected), rel=1e-12, abs=0.0)
    assert null.log_pvalue(1.0 + 1e-9) == -math.inf
    assert null.log_pvalue(1.0, "less") == 0.0
    result = average_precision_test(
        [Ranking.from_counts([1] * n, [1] * m + [0] * (n - m)) for n, m in sizes[:60]]
    )
    assert result.statistic == pytest.approx(1.0, rel=1e-12)
    if len(sizes) < 60:
        assert result.log10_pvalue == pytest.approx(expected / math.log(10.0), rel=1e-12)


def test_best_mean_of_queries_whose_best_values_are_among_ties():
    # Blocks across the hits: the largest value of a query is that of some way to fill them. The
    # mean has its own if all queries have theirs.
    runs = [(1984, 12, [3, 6, 16, 11, 16, 28, 100, 200, 400, 504, 700]), (200, 3, [1] * 200)]
    runs += [(2974, 6, [1, 2, 1, 3, 5, 1] + [64] * 45 + [81])]
    expected, best = 0.0, 0.0
    for n, m, sizes in runs:
        values = {}
        for hits in itertools.product(*(range(min(size, m) + 1) for size in sizes[:4])):
            rest = m - sum(hits)
            if rest:
                # Of the best values none has a hit behind these blocks.
                continue
            ends, found = np.cumsum(sizes[:4]), np.cumsum(hits)
            value = math.fsum(y * k / e / m for y, k, e in zip(hits, found, ends, strict=True))
            ways = math.prod(math.comb(s, y) for s, y in zip(sizes[:4], hits, strict=True))
            values[round(value, 12)] = values.get(round(value, 12), 0) + ways
        best += max(values) / 3.0
        expected += math.log(values[max(values)]) - math.log(math.comb(n, m))
    null = metric_null_distribution(
        [n for n, *_ in runs], [m for _, m, _ in runs], tie_sizes=[own for *_, own in runs]
    )
    assert null.log_pvalue(best) == pytest.approx(expected, rel=1e-11)
    assert null.relative_error(best) < 1e-10


@pytest.mark.numeric
def test_far_tail_is_monotone(long):
    null = metric_null_distribution([500] * 30, [8] * 30)
    x = np.linspace(0.01, 0.9, 25 if long else 6)
    for alternative, step in (("greater", -1.0), ("less", 1.0)):
        log_p = null.log_pvalue(x, alternative)
        assert np.all(np.diff(log_p) * step >= 0.0)
        assert np.all(null.relative_error(x, alternative)[log_p > -300.0] < 1e-4)
    # P(mean >= x) is at least that of every query reaching x by itself.
    x = x[x < 0.6][::2]
    one = ap_null_distribution(500, 8).log_pvalue(x)
    assert np.all(null.log_pvalue(x) >= 30 * one - 1e-9)
    assert null.log_pvalue(0.9) < math.log(1e-300)


def fine_bounds(problem, count, t):
    """Bounds of P(mean >= t) for `count` rankings, from values rounded down on a fine lattice.

    A sum of so many lacks less than `count` cells of what it is; nothing is tilted.
    """
    n, m, ties = problem
    each = oracles.sklearn_values(n, m, ties) if ties else oracles.untied_values(n, m)
    values, counts = np.unique(each, return_counts=True)
    n_cells = 1 << 20
    width = count * values[-1] / (n_cells - count - 2)
    cells = np.bincount((values / width).astype(int), counts / counts.sum(), minlength=n_cells)
    sums = np.fft.irfft(np.fft.rfft(cells) ** count, n_cells)
    at_least = np.append(np.cumsum(sums[::-1])[::-1], 0.0)
    surely = np.ceil(t * count / width).astype(int)
    maybe = np.ceil((t * count - count * width) / width).astype(int)
    return at_least[surely] - 1e-11, at_least[maybe] + 1e-11


@pytest.mark.numeric
@pytest.mark.parametrize(("n", "m", "count"), [(9, 3, 20), (9, 3, 40), (10, 2, 30)])
def test_values_with_a_common_denominator_are_within_the_stated_error(n, m, count):
    # The transform returns in full, far out and for a short interval.
    distribution = MeanDistribution(parts_of([(n, m, None, count)]))
    denominator = m * math.lcm(*range(1, n + 1))
    values = np.rint(oracles.untied_values(n, m) * denominator).astype(int)
    n_cells = 1 << int(count * values.max()).bit_length()
    of_one = np.bincount(values, minlength=n_cells) / values.size
    cells = np.maximum(np.fft.irfft(np.fft.rfft(of_one) ** count, n_cells), 0.0)
    above = np.cumsum(cells[::-1])[::-1]
    middle = distribution._mean * count * denominator
    step = distribution._std * count * denominator
    for z in (-1.5, 0.5, 1.5, 2.5):
        # A large atom near the value.
        start = int(middle + z * step)
        atom = start + int(np.argmax(cells[start : start + 2000]))
        t = np.array([atom / denominator / count * (1.0 - 1e-12)])
        p, _, error = distribution.tail(t, 1)
        assert abs(p[0] / above[atom] - 1.0) <= error[0] + 1e-10
        assert error[0] < 5e-3


@pytest.mark.numeric
@pytest.mark.parametrize(
    ("n", "m", "count"), [(8, 3, 14), pytest.param(9, 3, 20, marks=pytest.mark.long)]
)
def test_short_untied_queries_equal_whole_numbers(n, m, count):
    # Multiplied by a common multiple of all ranks and m the APs are whole numbers.
    multiple = m * math.lcm(*range(1, n + 1))
    # A whole number whose digits are the numbers of placements of one query: its power has those of
    # all queries as digits.
    n_bytes = (math.comb(n, m) ** count).bit_length() // 8 + 1
    one = sum(
        1 << 8 * n_bytes * sum(hits * multiple // m // rank for hits, rank in enumerate(ranks, 1))
        for ranks in itertools.combinations(range(1, n + 1), m)
    )
    digits = (one**count).to_bytes(n_bytes * (multiple * count + 2), "little")
    placements = np.array(
        [int.from_bytes(digits[i : i + n_bytes], "little") for i in range(0, len(digits), n_bytes)],
        dtype=object,
    )
    above = np.cumsum(placements[::-1])[::-1]
    null = metric_null_distribution([n] * count, [m] * count)
    possible = np.flatnonzero(placements)
    for place in possible[np.linspace(5, possible.size - 5, 9).astype(int)].tolist():
        exact_p = float(Fraction(int(above[place]), math.comb(n, m) ** count))
        exact_cdf = float(1 - Fraction(int(above[place + 1]), math.comb(n, m) ** count))
        x = place / (multiple * count)
        assert null.solver(x) == "lattice"
        assert abs(null.pvalue(x) - exact_p) <= null.relative_error(x) * exact_p
        assert abs(null.cdf(x) - exact_cdf) <= null.relative_error(x, "less") * exact_cdf
        assert exact_p < 1e-6 or null.relative_error(x) < 1e-5


@pytest.mark.numeric
def test_what_rounding_hides_on_a_lattice_of_the_span_has_an_upper_bound(monkeypatch):
    # With larger rounding errors the lattice leaves the far tail unknown.
    queries = parts_of([(9, 3, None, 20)])
    exact = MeanDistribution(queries)
    t = exact._mean + np.array([2.0, 6.0, 9.0]) * exact._std
    log_p = exact.estimates(t, 1).log_p
    monkeypatch.setattr(lattice, "_ROUNDING", 1e-3)
    for inversion in (ContourInversion, BandLimitedTails):
        monkeypatch.setattr(inversion, "tail", lambda self, s, sign: unknown(s))
    monkeypatch.setattr(MeanDistribution, "_sums", None)
    monkeypatch.setattr(MeanDistribution, "_lattice", None)
    found = MeanDistribution(queries).estimates(t, 1)
    assert set(found.solver) == {"upper bound"}
    assert np.all(np.isinf(found.error.total))
    assert np.all(found.log_p >= log_p)
    assert np.all(found.log_p < 0.0)


def unknown(s):
    return TailEstimates.unknown(s.shape)


@pytest.mark.numeric
def test_every_solver_of_means_states_its_name():
    short = MeanDistribution(parts_of([(20, 3, None, 9)]))
    t = short._mean + short._std * np.array([-1.0, 2.0, 6.0])
    found = short.estimates(t, 1)
    assert set(found.solver) == {"contour", "lattice"}
    p, log_p, error = short.tail(t, 1)
    assert np.array_equal(log_p, found.log_p)
    assert np.array_equal(error, found.error.total)
    assert np.array_equal(p, np.exp(log_p))
    assert short.estimates(np.array([1.0]), 1).solver[0] == "enumeration"


# Tie sizes of queries of 250 positives, any of which may have most of its hits on top.
LEVELS_OF_QUERIES = [
    [1, 17, 443, 1929, 2118, 470, 22],
    [1, 30, 402, 1757, 2070, 654, 86],
    [1, 13, 84, 467, 1289, 1642, 1117, 332, 49, 6],
    [1, 84, 1110, 2560, 1159, 86],
    [1, 2, 31, 295, 1178, 1890, 1256, 312, 35],
]


def log_mgf_of_levels(sizes, m, z):
    """Log of E exp(z AP), all ways to place the hits added up in logarithms."""
    logs = np.full(m + 1, -np.inf, dtype=complex)
    logs[0] = 0.0
    for size, end in zip(sizes, np.cumsum(sizes), strict=True):
        terms = np.full((min(size, m) + 1, m + 1), -np.inf, dtype=complex)
        for y in range(min(size, m) + 1):
            gain = y * np.arange(y, m + 1) / (end * m)
            terms[y, y:] = logs[: m + 1 - y] + oracles.log_choose(float(size), float(y)) + z * gain
        logs = logsumexp(terms, axis=0)
    return logs[m] - oracles.log_choose(float(sum(sizes)), float(m))


@pytest.mark.numeric
@pytest.mark.parametrize("sizes", LEVELS_OF_QUERIES[2::2])
def test_transforms_of_queries_at_a_jump(sizes):
    m, theta = 250, 744.1
    query = MeanDistribution(parts_of([(5000, m, tuple(sizes), 1)]))._parts[0]
    z = theta + 1j * np.arange(2) * 40.0
    offset = z * query.offset
    found = query.transform[0].at(theta, z, False, False) + offset
    expected = [log_mgf_of_levels(sizes, m, node) for node in z.tolist()]
    assert np.all(np.abs(np.expm1(found - expected)) < 1e-9)
    assert query.transform[0].log_mgf(theta) + offset[0].real == pytest.approx(expected[0].real)


@pytest.mark.numeric
def test_mean_between_the_jumps_of_its_queries():
    m, value = 250, 0.16
    queries = [(sizes, m) for sizes in LEVELS_OF_QUERIES[:3]]
    null = metric_null_distribution([5000] * 3, [m] * 3, tie_sizes=LEVELS_OF_QUERIES[:3])
    log_p = null.log_pvalue(value)
    assert null.relative_error(value) < 0.1
    # The mean of weights exceeds 1e9 times the probability once in 1e9 samples.
    assert log_p >= oracles.sampled_tail_of_means(queries, value, 5_000)[0] - math.log(1e9)
    tilts = 3.0 * np.array([700.0, 760.0])
    chernoff = [
        sum(log_mgf_of_levels(*query, tilt / 3.0).real for query in queries) - tilt * value
        for tilt in tilts.tolist()
    ]
    assert log_p <= min(chernoff)


def test_means_of_equal_queries_share_a_distribution():
    first, second = (metric_null_distribution([60] * 20, [4] * 20) for _ in range(2))
    assert first._distribution is second._distribution
    other = metric_null_distribution([60] * 21, [4] * 21)
    assert other._distribution is not first._distribution


# The transforms of means of short lists come back after they have decayed.
@pytest.mark.numeric
@pytest.mark.parametrize(
    ("problem", "count"),
    [
        ((10, 5, None), 7),
        pytest.param((12, 4, None), 5, marks=pytest.mark.long),
        pytest.param((14, 7, None), 5, marks=pytest.mark.long),
        pytest.param((15, 2, None), 6, marks=pytest.mark.long),
        pytest.param((16, 3, None), 6, marks=pytest.mark.long),
        pytest.param((20, 3, None), 5, marks=pytest.mark.long),
        pytest.param((20, 3, None), 9, marks=pytest.mark.long),
        ((30, 2, None), 5),
        ((15, 4, (3,) * 5), 8),
        pytest.param((18, 3, (2,) * 9), 8, marks=pytest.mark.long),
        ((9, 3, None), 20),
        pytest.param((9, 3, None), 40, marks=pytest.mark.long),
    ],
)
def test_means_of_short_lists_between_bounds(problem, count):
    null = MeanDistribution(parts_of([(*problem, count)]))
    z = np.array([-3.0, -2.1, -1.2, -0.5, -0.1, 0.01, 0.3, 0.7, 1.0, 1.4, 1.8, 2.2, 2.6, 3.0, 3.3])
    t = null._mean + z * null._std
    t = t[t > null.support()[0]]
    lower, upper = fine_bounds(problem, count, t)
    p, _, error = null.tail(t, 1)
    assert np.all(error < 5e-3)
    assert np.all(p * (1.0 + error) >= lower)
    assert np.all(p * (1.0 - error) <= upper)
    q, _, error = null.tail(t, -1)
    assert np.all(q * (1.0 + error) >= 1.0 - upper)
    assert np.all(q * (1.0 - error) <= 1.0 - lower)


@pytest.mark.numeric
def test_a_lattice_is_held_within_the_bounds_of_sums():
    null = metric_null_distribution([13] * 7, [2] * 7, metric="bedroc")
    x = np.linspace(null.mean(), null.support()[1], 7)[1:-1]
    lower, upper = null.pvalue_bounds(x)
    assert np.all((lower <= null.pvalue(x)) & (null.pvalue(x) <= upper))


def test_sums_over_halves_of_different_queries_are_exact():
    # One positive each: AP is the reciprocal of the last rank of its block. Half of the queries
    # have some thousands of sums, all of them have 33 million.
    sizes = [[1] * 39, [1] * 21, [1] * 100 + [70], [1] * 100 + [970], [1] * 4]
    n = [sum(own) for own in sizes]
    null = metric_null_distribution(n, [1] * 5, tie_sizes=sizes)
    values, masses = zip(*((1.0 / np.cumsum(own), np.array(own)) for own in sizes), strict=True)
    order = np.argsort(np.add.outer(*values[2:4]).ravel())
    pairs = np.add.outer(*values[2:4]).ravel()[order]
    counts = np.multiply.outer(*masses[2:4]).ravel()[order]
    from_each = np.append(np.cumsum(counts[::-1])[::-1], 0)
    rest = [values[i] for i in (0, 1, 4)]
    rest = np.add.outer(np.add.outer(rest[0], rest[1]), rest[2]).ravel()
    for x in (0.0903, 0.2797, 0.4213):
        tail = sum(from_each[np.searchsorted(pairs, 5.0 * x - rest)].tolist())
        assert null.pvalue(x) == pytest.approx(tail / math.prod(n), rel=1e-11)


@pytest.mark.numeric
@pytest.mark.parametrize(
    "parts",
    [
        [(60, 2, None, 4), (9, 3, (2, 1, 6), 3)],
        pytest.param([(20, 3, None, 5)], marks=pytest.mark.long),
        pytest.param([(10, 5, None, 9)], marks=pytest.mark.long),
    ],
)
def test_lattice_and_contour_agree(parts, long):
    null = MeanDistribution(parts_of(parts))
    assert null.listed() is None
    high = null.support()[1]
    above = np.linspace(null._mean, 0.7 * high, 9 if long else 2)
    for sign, t in ((1, above), (-1, [null._mean, 0.8 * null._mean])):
        t = np.asarray(t) * (1.0 - sign * 1e-9)
        found, on_lattice = null._far_tail(t, sign), null._on_lattice(null._lattice, t, sign)
        log_p, error = found.log_p, found.error.total
        lattice, lattice_error = on_lattice.log_p, on_lattice.error.total
        assert np.all(np.isfinite(lattice_error))
        assert np.median(lattice_error) < 0.05
        assert np.all(error <= np.maximum(lattice_error, 1e-4))
        assert np.all(np.abs(np.expm1(log_p - lattice)) <= 1.1 * (error + lattice_error))


@pytest.fixture(scope="module")
def values_of_three_hits():
    """Average precision of all 280,840 placements of three hits among 120 items."""
    first, second, third = np.array(list(itertools.combinations(range(1, 121), 3))).T
    return np.sort((1.0 / first + 2.0 / second + 3.0 / third) / 3.0)


@pytest.mark.numeric
@pytest.mark.parametrize("sign", [1, -1])
def test_mean_of_two_long_lists_of_few_hits(values_of_three_hits, sign):
    # Too many outcomes to be listed, and clusters of them that no contour resolves.
    values = values_of_three_hits
    null = MeanDistribution(parts_of([(120, 3, None, 2)]))
    assert null.listed() is None
    t = null._mean + null._std * np.array([-0.6, 0.4, 5.0])
    _, log_p, error = null.tail(t, sign)
    assert np.all(error < 0.01)
    for value, log_tail, stated in zip(t.tolist(), log_p.tolist(), error.tolist(), strict=True):
        rest = 2.0 * value - values
        below = np.searchsorted(values, rest, side="left" if sign > 0 else "right")
        counts = values.size - below if sign > 0 else below
        share = counts.sum(dtype=np.int64) / values.size**2
        assert abs(math.expm1(log_tail - math.log(share))) <= stated


def test_draws_follow_the_null_distribution():
    null = metric_null_distribution([30, 30, 8], [3, 3, 1], tie_sizes=[None, None, [2, 6]])
    draws = null.rvs(4000, random_state=3)
    assert draws.shape == (4000,)
    assert abs(draws.mean() - null.mean()) < 5.0 * null.std() / math.sqrt(4000)
    assert np.array_equal(draws, null.rvs(4000, random_state=3))


def test_quantiles_invert_the_computed_distribution():
    null = metric_null_distribution([1000] * 20, [10] * 20)
    for q in (1e-6, 0.01, 0.5, 0.99):
        assert null.cdf(null.ppf(q)) == pytest.approx(q, rel=1e-6)
        assert null.sf(null.isf(q)) == pytest.approx(q, rel=1e-6)


def test_permutation_distribution_agrees_with_the_exact_one():
    exact = metric_null_distribution([40, 40, 12], [4, 2, 3])
    sampled = metric_null_distribution([40, 40, 12], [4, 2, 3], method="permutation")
    assert (sampled.mean(), sampled.var()) == (exact.mean(), exact.var())
    x = exact.rvs(8, random_state=1)
    for alternative in ALTERNATIVES:
        p, found = exact.pvalue(x, alternative), sampled.pvalue(x, alternative)
        assert np.all(np.abs(found - p) < 10.0 * np.sqrt(p / 9999) + 2e-4), alternative
        assert np.all(sampled.relative_error(x, alternative) > 0.0), alternative


@pytest.mark.parametrize("method", ["normal", "pearson3"])
def test_approximations_have_the_moments(method):
    null = metric_null_distribution([300] * 40, [9] * 40, method=method)
    exact = metric_null_distribution([300] * 40, [9] * 40)
    assert null.relative_error(0.1) == math.inf
    x = exact.isf(0.05)
    assert null.pvalue(x) == pytest.approx(0.05, rel=0.3 if method == "normal" else 0.05)
    frozen = stats.norm(exact.mean(), exact.std())
    if method == "pearson3":
        frozen = stats.pearson3(exact.stats("s"), exact.mean(), exact.std())
    assert null.pvalue(0.08) == pytest.approx(frozen.sf(0.08), rel=1e-9)


def test_repr_and_pickle_of_a_null_distribution():
    null = metric_null_distribution([20, 30], [2, 3], tie_sizes=[None, [10, 20]])
    assert repr(null) == (
        "MeanNullDistribution(AveragePrecision(), n_queries=2, n_samples=50, n_positives=5, "
        "method='analytic')"
    )
    p = null.pvalue(0.4)
    copy = pickle.loads(pickle.dumps(null))
    assert copy.pvalue(0.4) == p
    assert copy.n_samples.tolist() == [20, 30]
    assert copy.n_positives.tolist() == [2, 3]
    assert [None if own is None else own.tolist() for own in copy.tie_sizes] == [None, [10, 20]]


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (([], []), {}, ValueError, "n_samples is empty"),
        (([5, 5], [1]), {}, ValueError, "they have 2 and 1"),
        (([5, 5], [1, 6]), {}, ValueError, "n_positives must be between 0 and n_samples=5; got 6"),
        (([5, 0], [1, 0]), {}, ValueError, "n_samples must be at least 1; got 0"),
        (([5, 5], [1, -1]), {}, ValueError, "n_positives must be at least 0; got -1"),
        (([5.0], [1]), {}, TypeError, "n_samples must be an integer; got 5.0 of type float"),
        (([5], [True]), {}, TypeError, "n_positives must be an integer; got True"),
        (([5, 5], [1, 1]), {"tie_sizes": [None]}, ValueError, "each of the 2 queries.* has 1"),
        (([5], [1]), {"tie_sizes": [[2, 2]]}, ValueError, "must add up to n_samples=5; .* to 4"),
        (([5], [1]), {"tie_sizes": [[5, 0]]}, ValueError, "tie_sizes must be at least 1; got 0"),
        (([5], [1]), {"method": "zhang_su"}, ValueError, "for mean average precision; got 'zhang_"),
        (([5], [1]), {"n_resamples": 0}, ValueError, "n_resamples must be at least 1; got 0"),
        (([5], [1]), {"metric": "recall@6"}, ValueError, "k must be between 1 and n_samples=5"),
    ],
)
def test_arguments_of_the_null_distribution(arguments, options, error, message):
    with pytest.raises(error, match=message):
        metric_null_distribution(*arguments, **options)
