"""Mean average precision over queries: distribution, test, and what is reported of each query."""

import itertools
import math
import pickle
import warnings
from fractions import Fraction
from functools import cache

import numpy as np
import oracles
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from sklearn_rankinf import (
    Bedroc,
    Ranking,
    RankStatistic,
    RecallAtK,
    ap_null_distribution,
    average_precision_test,
    mean_average_precision_score,
    metric_null_distribution,
    metric_test,
)
from sklearn_rankinf._engine.estimates import TailEstimates
from sklearn_rankinf._engine.inversion.band_limited import BandLimitedTails
from sklearn_rankinf._engine.inversion.contour import ContourInversion
from sklearn_rankinf._engine.means import lattice
from sklearn_rankinf._engine.means.distribution import MeanDistribution
from sklearn_rankinf._engine.means.variables import Part
from sklearn_rankinf._metrics.metrics import AveragePrecision, as_metric, in_sentence
from sklearn_rankinf._significance.queries import QueriesTestResult

ALTERNATIVES = ("greater", "less", "two-sided")
COLUMNS = (
    "n_samples n_positives statistic pvalue log10_pvalue pvalue_relative_error pvalue_low "
    "pvalue_high pvalue_is_bound pvalue_bh pvalue_by pvalue_holm"
).split()

# Number of positives and sizes of blocks of equal scores, of each query.
RUNS = {
    "two": [(2, (1,) * 5), (1, (1,) * 6)],
    "same twice": [(2, (1,) * 6), (2, (1,) * 6)],
    "three": [(2, (1,) * 5), (1, (1,) * 4), (3, (1,) * 5)],
    "ties": [(2, (2, 1, 3)), (2, (1, 1, 3))],
    "ties and none": [(3, (2, 2, 1)), (1, (1,) * 5), (2, (4,))],
    "all tied": [(2, (5,)), (1, (1, 3))],
    "one empty": [(2, (1,) * 6), (0, (1, 2)), (1, (1,) * 3)],
    "one full": [(4, (1, 2, 1)), (2, (1,) * 6)],
    "one varies": [(0, (2,)), (3, (1,) * 7), (2, (1, 1))],
    "none varies": [(0, (1, 1)), (2, (1, 1))],
}
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
    "one of many": [(40, 3, None, 1), (4, 4, None, 9)],
    "one long": [(150, 3, None, 1)],
    "half": [(14, 7, None, 1), (10, 3, None, 1)],
}


@cache
def enumerated(name):
    """scikit-learn's mean over every joint placement of the positives, sorted."""
    values = []
    for m, tie_sizes in RUNS[name]:
        n = sum(tie_sizes)
        if m == 0:
            values.append([0.0])
        else:
            values.append(oracles.sklearn_values(n, m, tie_sizes))
    return np.sort([math.fsum(joint) / len(joint) for joint in itertools.product(*values)])


def null_of(name, **options):
    run = RUNS[name]
    return metric_null_distribution(
        [sum(ties) for _, ties in run],
        [m for m, _ in run],
        tie_sizes=[ties for _, ties in run],
        **options,
    )


def rankings_of(name, rng):
    """Random placements in the run."""
    rankings = []
    for m, ties in RUNS[name]:
        ranks = 1 + rng.choice(sum(ties), size=m, replace=False)
        rankings.append(Ranking.from_counts(ties, oracles.hits_per_block(ties, ranks)))
    return rankings


def share(values, x, alternative):
    greater = oracles.count_at_least(values, x) / len(values)
    less = oracles.count_at_most(values, x) / len(values)
    both = min(1.0, 2.0 * min(greater, less))
    return {"greater": greater, "less": less, "two-sided": both}[alternative]


def parts_of(problem):
    return [
        Part(AveragePrecision(), n, m, None if ties is None else np.array(ties), count)
        for n, m, ties, count in problem
    ]


def null_of_problem(problem, **options):
    each = [part for part in problem for _ in range(part[3])]
    n, m, ties, _ = zip(*each, strict=True)
    return metric_null_distribution(n, m, tie_sizes=ties, **options)


def random_run(rng, sizes, decimals=None, effect=0.0):
    """Labels, scores and queries in random order of rows."""
    y_true = np.concatenate([np.arange(n) < m for n, m in sizes]).astype(int)
    groups = np.repeat(np.arange(len(sizes)), [n for n, _ in sizes])
    y_score = rng.normal(size=y_true.size) + effect * y_true
    if decimals is not None:
        y_score = y_score.round(decimals)
    order = rng.permutation(y_true.size)
    return y_true[order], y_score[order], groups[order]


def sklearn_average_precisions(y_true, y_score, groups):
    """By query, in the order in which they first appear."""
    names = list(dict.fromkeys(groups.tolist()))
    chosen = [groups == name for name in names]
    return names, [average_precision_score(y_true[rows], y_score[rows]) for rows in chosen]


# The distribution


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
    for n, m, ties in ((12, 4, None), (9, 3, [2, 4, 3]), (3000, 3, None), (400, 5, None)):
        one = ap_null_distribution(n, m, tie_sizes=ties)
        null = metric_null_distribution([n], [m], tie_sizes=[ties])
        x = np.r_[one.rvs(5, random_state=rng), 0.3, 1.0]
        for alternative in ALTERNATIVES:
            expected = one.log_pvalue(x, alternative)
            assert null.log_pvalue(x, alternative) == pytest.approx(expected, rel=1e-12)
            error = one.relative_error(x, alternative)
            assert null.relative_error(x, alternative) == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize(("n_positives", "precision"), [(3, 1e-3), (30, 1e-8)])
def test_null_distribution_where_one_query_of_several_varies(n_positives, precision):
    one = ap_null_distribution(1000, n_positives)
    null = metric_null_distribution([1000, 7, 5, 5], [n_positives, 0, 5, 5])
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
    "long, single positives",
    "(2, 1) 60 times",
    "(4, 2) 15 times",
    "two sizes",
    "mostly positives",
    "two blocks",
    "equal blocks",
    "one long",
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
    "sizes": [(100, 3, None, 10), (1000, 20, None, 5), (50, 1, None, 7), (2000, 200, None, 2)],
    "ties": [(200, 8, (5,) * 40, 6), (300, 4, None, 4), (120, 60, (20,) * 6, 3)],
    "few": [(1000, 2, None, 2), (300, 3, None, 1)],
    "single positives": [(500, 1, None, 12)],
    "constants": [(400, 6, None, 3), (10, 0, None, 2), (3, 3, None, 4)],
}


@pytest.mark.numeric
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * name.startswith("single")) for name in LARGE],
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
            oracles.simulate_average_precision(rng, own, m, 400)
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
@pytest.mark.parametrize(("n", "m", "count"), [(9, 3, 20), (9, 3, 40), (12, 2, 30), (12, 4, 20)])
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
@pytest.mark.parametrize(("n", "m", "count"), [(9, 3, 20), (8, 3, 30)])
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
    """Average precision of all 1,313,400 placements of three hits among 200 items."""
    first, second, third = np.array(list(itertools.combinations(range(1, 201), 3))).T
    return np.sort((1.0 / first + 2.0 / second + 3.0 / third) / 3.0)


@pytest.mark.numeric
@pytest.mark.parametrize("sign", [1, -1])
def test_mean_of_two_long_lists_of_few_hits(values_of_three_hits, sign):
    # Too many outcomes to be listed, and clusters of them that no contour resolves.
    values = values_of_three_hits
    null = MeanDistribution(parts_of([(200, 3, None, 2)]))
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


# The test


@pytest.mark.numeric
@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("name", RUNS)
def test_pvalue_equals_enumeration(name, alternative):
    rng, values = np.random.default_rng(4), enumerated(name)
    for _ in range(5):
        rankings = rankings_of(name, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            result = average_precision_test(rankings, alternative=alternative)
        observed = [
            float(oracles.average_precision(ranking.tie_sizes.tolist(), ranking.hits.tolist()))
            for ranking in rankings
        ]
        assert result.statistic == pytest.approx(np.mean(observed), rel=1e-12)
        assert result.query_statistic == pytest.approx(observed, rel=1e-12)
        expected = share(values, result.statistic, alternative)
        assert result.pvalue == pytest.approx(expected, rel=1e-12)
        assert result.log10_pvalue == pytest.approx(math.log10(expected), rel=1e-11, abs=1e-12)
        if name != "none varies":
            z = (result.statistic - values.mean()) / values.std()
            assert result.zscore == pytest.approx(z, rel=1e-9, abs=1e-9)
            best = np.mean([m > 0 for m, _ in RUNS[name]])
            adjusted = (result.statistic - values.mean()) / (best - values.mean())
            assert result.adjusted_statistic == pytest.approx(adjusted, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("decimals", "alternative"),
    [
        (None, "greater"),
        (None, "less"),
        (1, "two-sided"),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in ((None, "two-sided"), (1, "greater"), (1, "less"))
        ),
    ],
)
def test_queries_are_tested_as_by_themselves(alternative, decimals):
    rng = np.random.default_rng(6)
    y_true, y_score, groups = random_run(rng, [(60, 5), (40, 4), (60, 5), (25, 1)], decimals, 0.8)
    result = average_precision_test(y_true, y_score, groups=groups, alternative=alternative)
    names, expected = sklearn_average_precisions(y_true, y_score, groups)
    assert result.queries == names
    assert result.query_statistic == pytest.approx(expected, rel=1e-12)
    assert result.statistic == pytest.approx(np.mean(expected), rel=1e-12)
    for i, name in enumerate(names):
        rows = groups == name
        one = average_precision_test(y_true[rows], y_score[rows], alternative=alternative)
        assert result.query_pvalue[i] == pytest.approx(one.pvalue, rel=1e-12)
        assert result.query_log10_pvalue[i] == pytest.approx(one.log10_pvalue, rel=1e-11)
        assert result.query_pvalue_relative_error[i] == pytest.approx(one.pvalue_relative_error)
        assert result.query_n_samples[i] == one.n_samples
        assert result.query_n_positives[i] == one.n_positives
    assert (result.n_samples, result.n_positives) == (185, 15)
    assert result.method == "analytic"


def test_score_is_the_mean_of_scikit_learn():
    y_true, y_score, groups = random_run(np.random.default_rng(7), [(30, 3), (9, 9), (50, 2)], 1)
    expected = np.mean(sklearn_average_precisions(y_true, y_score, groups)[1])
    assert mean_average_precision_score(y_true, y_score, groups=groups) == pytest.approx(expected)
    labels = np.where(y_true == 1, "hit", "miss")
    score = mean_average_precision_score(labels, y_score, groups=groups, pos_label="hit")
    assert score == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(4))
def test_false_discovery_rates(seed):
    rng = np.random.default_rng(seed)
    sizes = [(30, 3)] * 6 + [(20, 0)] * 2 + [(40, 4)] * 5
    y_true, y_score, groups = random_run(rng, sizes, effect=1.0)
    with pytest.warns(UndefinedMetricWarning, match="2 of 13 queries have no positives"):
        result = average_precision_test(y_true, y_score, groups=groups)
    tested = result.query_n_positives > 0
    assert tested.sum() == 11
    assert result.n_queries_without_positives == 2
    for method, adjusted in (("bh", result.query_pvalue_bh), ("by", result.query_pvalue_by)):
        expected = stats.false_discovery_control(result.query_pvalue[tested], method=method)
        assert adjusted[tested] == pytest.approx(expected, rel=1e-12)
        assert np.all(adjusted[~tested] == 1.0)
    assert np.all(result.query_pvalue[~tested] == 1.0)
    assert np.all(result.query_statistic[~tested] == 0.0)
    names, values = np.array(result.queries), result.query_statistic
    assert set(names[~tested]) == {6, 7}
    assert result.statistic == pytest.approx(values[tested].sum() / 13)


def test_warning_names_queries_without_positives():
    y_true, y_score = [1, 0] + [0] * 14, list(range(16))
    groups = ["one", "one"] + [f"q{i // 2}" for i in range(14)]
    for function in (average_precision_test, mean_average_precision_score):
        with pytest.warns(UndefinedMetricWarning) as caught:
            function(y_true, y_score, groups=groups)
        messages = [str(w.message) for w in caught]
        assert messages == [
            "7 of 8 queries have no positives in y_true ('q0', 'q1', 'q2', 'q3', 'q4', ...); their "
            "average precision counts as 0."
        ]
        assert caught[0].filename == __file__


def test_no_positives_at_all():
    with pytest.warns(UndefinedMetricWarning, match="2 of 2 queries"):
        result = average_precision_test([0, 0, 0], [1, 2, 3], groups=["a", "a", "b"])
    assert (result.statistic, result.pvalue) == (0.0, 1.0)
    assert math.isnan(result.zscore)
    assert math.isnan(result.adjusted_statistic)
    assert result.query_pvalue.tolist() == result.query_pvalue_bh.tolist() == [1.0, 1.0]


# Queries of all kinds


def numbers_of(result):
    columns = result.to_frame()
    by_query = {
        query: tuple(float(columns[name][i]) for name in COLUMNS)
        for i, query in enumerate(columns["query"])
    }
    return by_query, (result.statistic, result.pvalue, result.zscore)


@pytest.mark.parametrize(
    ("name", "container"),
    [
        (lambda i: f"query {i}", list),
        (lambda i: i, list),
        (lambda i: i, np.array),
        (lambda i: i / 4, np.array),
        (lambda i: (i, "x"), list),
        (lambda i: f"q{i}", np.array),
        (lambda i: f"q{i}", pd.Series),
        (lambda i: f"q{i}", pd.Categorical),
        (lambda i: i, pd.Series),
        (lambda i: i, pl.Series),
        (lambda i: f"q{i}", pl.Series),
        (lambda i: (i,), iter),
        (lambda i: frozenset([i]), tuple),
        (lambda i: pd.Timestamp(2020, 1, 1 + i), pd.Series),
    ],
)
def test_groups_of_any_kind(name, container):
    y_true, y_score, groups = random_run(np.random.default_rng(9), [(20, 3), (9, 1), (20, 3)], 1)
    plain = average_precision_test(y_true, y_score, groups=groups)
    names = [name(i) for i in groups.tolist()]
    result = average_precision_test(y_true, y_score, groups=container(names))
    assert result.queries == list(dict.fromkeys(names))
    expected, overall = numbers_of(plain)
    found, found_overall = numbers_of(result)
    assert found == {name(i): values for i, values in expected.items()}
    assert found_overall == overall
    score = mean_average_precision_score(y_true, y_score, groups=container(names))
    assert score == plain.statistic


@pytest.mark.numeric
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))]
)
def test_order_of_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    y_true, y_score, groups = random_run(rng, [(20, 3), (9, 1), (20, 3), (300, 4)], 1)
    first, overall = numbers_of(average_precision_test(y_true, y_score, groups=groups))
    order = rng.permutation(y_true.size)
    rows = y_true[order], y_score[order]
    again, overall_again = numbers_of(average_precision_test(*rows, groups=groups[order]))
    assert again == first
    assert overall_again == pytest.approx(overall, rel=1e-12)


def test_scores_are_compared_within_a_query_only():
    y_true, y_score, groups = random_run(np.random.default_rng(1), [(20, 3), (9, 2)], 1)
    shifted = y_score + 100.0 * groups
    one = average_precision_test(y_true, y_score, groups=groups)
    other = average_precision_test(y_true, np.exp(shifted / 50.0), groups=groups)
    assert numbers_of(one) == numbers_of(other)


def test_rankings_in_place_of_rows():
    y_true, y_score, groups = random_run(np.random.default_rng(3), [(20, 3), (9, 2), (9, 1)], 1)
    by_rows = average_precision_test(y_true, y_score, groups=groups)
    rankings = {
        name: Ranking.from_scores(y_true[groups == name], y_score[groups == name])
        for name in by_rows.queries
    }
    by_mapping = average_precision_test(rankings)
    assert by_mapping.queries == by_rows.queries
    assert numbers_of(by_mapping) == numbers_of(by_rows)
    for container in (list, tuple):
        by_sequence = average_precision_test(container(rankings.values()))
        assert by_sequence.queries == [0, 1, 2]
        assert by_sequence.pvalue == by_rows.pvalue
        assert np.array_equal(by_sequence.query_pvalue, by_rows.query_pvalue)


def test_labels_with_pos_label():
    y_true, y_score, groups = random_run(np.random.default_rng(3), [(20, 3), (9, 2)])
    labels = np.where(y_true == 1, "match", "other")
    named = average_precision_test(labels, y_score, groups=groups, pos_label="match")
    plain = average_precision_test(y_true, y_score, groups=groups)
    assert numbers_of(named) == numbers_of(plain)


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        (["a", "a", None, "b"], ValueError, "lacks a query in row 2, where it is None"),
        (["a", "a", math.nan, "b"], ValueError, "lacks a query in row 2, where it is nan"),
        (np.array([1.0, np.nan, 1.0, 2.0]), ValueError, "row 1, where it is nan"),
        (pd.Series(["a", pd.NA, "b", "b"], dtype="string"), ValueError, "row 1, where it is <NA>"),
        (pd.to_datetime(["2020", None, "2020", "2020"]), ValueError, "row 1, where it is NaT"),
        (pl.Series([1, None, 1, 2]), ValueError, "lacks a query in row 1, where it is None"),
        ([["a"], "a", "b", "b"], TypeError, r"hashable; got \['a'\] of type list in row 0"),
        (np.array([["a"], ["a"], ["b"], ["b"]]), TypeError, "of type list in row 0"),
        ([np.arange(2)] * 4, TypeError, "hashable; got array.* of type ndarray in row 0"),
        (["a", "a", "b"], ValueError, "each of the 4 samples; it has 3 entries"),
        (["a"] * 5, ValueError, "each of the 4 samples; it has 5 entries"),
        ([], ValueError, "each of the 4 samples; it has 0 entries"),
        (7, TypeError, "must hold the query of each sample; got 7 of type int"),
        ("abab", TypeError, "must hold the query of each sample; got 'abab' of type str"),
    ],
)
@pytest.mark.parametrize("function", [average_precision_test, mean_average_precision_score])
def test_wrong_groups(groups, error, message, function):
    with pytest.raises(error, match=message):
        function([1, 0, 1, 0], [4, 3, 2, 1], groups=groups)


RANKING = Ranking.from_counts([1, 1], [1, 0])
ROWS = ([1, 0, 1, 0], [4, 3, 2, 1])
PAIRS = {"groups": ["a", "a", "b", "b"]}


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (([1, 0],), {}, TypeError, "y_score is missing"),
        (([1, 0],), {"groups": ["a", "a"]}, TypeError, "groups needs y_true and y_score"),
        ((RANKING,), {"groups": ["a", "a"]}, TypeError, "groups needs y_true and y_score"),
        (([RANKING], [1, 2]), {}, TypeError, "y_score must be left out"),
        (([RANKING],), {"groups": ["a"]}, TypeError, "groups must be left out"),
        (([],), {}, TypeError, "y_score is missing"),
        (({},), {}, TypeError, "y_score is missing"),
        (([RANKING, 3],), {}, TypeError, "y_score is missing"),
        (ROWS, {**PAIRS, "alternative": "more"}, ValueError, "alternative must be"),
        (ROWS, {**PAIRS, "method": "zhang_su"}, ValueError, "mean average precision; got 'zhang"),
        (ROWS, {**PAIRS, "n_resamples": 0}, ValueError, "n_resamples must be at least 1"),
        (
            ROWS,
            {**PAIRS, "clusters": [0, 1, 0, 1], "method": "analytic"},
            ValueError,
            "method='analytic' is not available for permutation within strata, of whole clusters",
        ),
        *(
            (ROWS, {**PAIRS, **option}, ValueError, f"{next(iter(option))} cannot be combined with")
            for option in (
                {"sample_weight": [1, 2, 1, 2]},
                {"order": range(4)},
                {"average": "macro"},
                {"n_exceedances": 3},
            )
        ),
        (([1, 0, 1], [1, 2]), {"groups": ["a", "a"]}, ValueError, "(?i)y_true.*y_score|length"),
        (([1, 0, 1, 0], [4, 3, math.nan, 1]), PAIRS, ValueError, "y_score must be finite"),
        (([1, 0, 2, 0], [4, 3, 2, 1]), PAIRS, ValueError, "label"),
        ((LogisticRegression(), [1, 0]), PAIRS, TypeError, "not a scorer, but its first argument"),
    ],
)
def test_wrong_arguments(arguments, options, error, message):
    with pytest.raises(error, match=message):
        average_precision_test(*arguments, **options)


def test_score_refuses_an_estimator():
    with pytest.raises(TypeError, match="not a scorer, but its first argument is an estimator"):
        mean_average_precision_score(LogisticRegression(), [1, 0], groups=["a", "a"])


# Permutation, and labels that queries share


def test_permutation_agrees_with_the_exact_test():
    y_true, y_score, groups = random_run(
        np.random.default_rng(5), [(18, 3)] * 3 + [(12, 2)], 1, 0.5
    )
    exact = average_precision_test(y_true, y_score, groups=groups)
    sampled = average_precision_test(y_true, y_score, groups=groups, method="permutation")
    assert sampled.method == "permutation"
    for p, found, error in (
        (exact.pvalue, sampled.pvalue, sampled.pvalue_relative_error),
        *zip(
            exact.query_pvalue,
            sampled.query_pvalue,
            sampled.query_pvalue_relative_error,
            strict=True,
        ),
    ):
        assert found == pytest.approx((round(found * 10_000)) / 10_000, rel=1e-12)
        assert abs(found - p) < 5.0 * math.sqrt(p * (1.0 - p) / 9999) + 2e-4
        assert error == pytest.approx(math.sqrt((1.0 - found) / (found * 9999)), rel=1e-9)
    other = average_precision_test(
        y_true, y_score, groups=groups, method="permutation", random_state=1
    )
    assert np.any(other.query_pvalue != sampled.query_pvalue)


def items(groups):
    """The place of each row in its query, for queries that rank the same items."""
    return np.arange(groups.size) % np.count_nonzero(groups == groups[0])


def shared_run(rng, n_samples, n_positives, n_queries, noise, decimals=None):
    """All queries rank the same samples, with scores that have much in common."""
    y_true = rng.permutation(np.arange(n_samples) < n_positives).astype(int)
    common = rng.normal(size=n_samples)
    scores = common + noise * rng.normal(size=(n_queries, n_samples))
    if decimals is not None:
        scores = scores.round(decimals)
    groups = np.repeat(np.arange(n_queries), n_samples)
    return np.tile(y_true, n_queries), scores.ravel(), groups


@cache
def enumerated_shared_runs(decimals):
    """Three small runs, and scikit-learn's mean over the queries for every labelling."""
    rng = np.random.default_rng(12)
    n, m, n_queries = 9, 3, 3
    runs = []
    for _ in range(3):
        run = shared_run(rng, n, m, n_queries, 0.7, decimals)
        scores = run[1].reshape(n_queries, n)
        values = []
        for chosen in itertools.combinations(range(n), m):
            labels = np.isin(np.arange(n), chosen)
            values.append(np.mean([average_precision_score(labels, own) for own in scores]))
        runs.append((*run, values))
    return runs


@pytest.mark.numeric
@pytest.mark.parametrize("decimals", [None, 0])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_shared_labels_equal_enumeration(decimals, alternative):
    for y_true, y_score, groups, values in enumerated_shared_runs(decimals):
        result = average_precision_test(
            y_true, y_score, groups=groups, clusters=items(groups), alternative=alternative
        )
        p = share(np.sort(values), result.statistic, alternative)
        assert result.method == "permutation"
        # Twice as much for a two-sided p-value.
        assert abs(result.pvalue - p) < 8.0 * math.sqrt(p / 9999) + 2e-4
        null = result.null_distribution
        assert null.mean() == pytest.approx(np.mean(values), rel=1e-12)
        assert null.std() == pytest.approx(np.std(values), rel=0.05)
        z = (result.statistic - np.mean(values)) / np.std(values)
        assert result.zscore == pytest.approx(z, rel=0.05, abs=1e-9)


def test_same_scores_in_every_query():
    # Then the mean is the average precision of one query.
    rng = np.random.default_rng(0)
    y_true, y_score, groups = shared_run(rng, 40, 5, 6, 0.0)
    y_score = y_score + 2.0 * y_true
    shared = average_precision_test(
        y_true, y_score, groups=groups, clusters=items(groups), n_resamples=49_999
    )
    alone = average_precision_test(y_true[:40], y_score[:40])
    independent = average_precision_test(y_true, y_score, groups=groups)
    assert shared.statistic == pytest.approx(alone.statistic)
    error = math.sqrt(alone.pvalue * (1.0 - alone.pvalue) / 49_999)
    assert abs(shared.pvalue - alone.pvalue) < 5.0 * error + 2e-5
    # Six queries that say the same six times look like far more.
    assert independent.pvalue < 0.2 * alone.pvalue
    assert independent.zscore == pytest.approx(math.sqrt(6.0) * alone.zscore, rel=1e-9)
    assert (shared.n_samples, shared.n_positives) == (240, 30)
    assert (independent.n_samples, independent.n_positives) == (240, 30)
    # What is stated of each query does not depend on the others.
    for query in range(6):
        assert shared.query_n_samples[query] == 40
        p = independent.query_pvalue[query]
        assert shared.query_pvalue[query] == pytest.approx(p, rel=1e-9)


def test_items_must_have_the_same_label_in_all_queries():
    with pytest.raises(ValueError, match="The labels in cluster 0 differ"):
        average_precision_test(
            [1, 0, 0, 0, 1, 0], range(6), groups=list("aaabbb"), clusters=[0, 1, 2] * 2
        )


# Results


def test_number_of_jobs_does_not_matter():
    y_true, y_score, groups = random_run(np.random.default_rng(5), [(60, 4), (12, 2), (90, 4)], 1)
    for options in ({}, {"method": "permutation", "n_resamples": 2000}):
        one, two = (
            average_precision_test(y_true, y_score, groups=groups, n_jobs=n_jobs, **options)
            for n_jobs in (1, 2)
        )
        assert numbers_of(one) == numbers_of(two)
    rng = np.random.default_rng(1)
    y_true, y_score, groups = shared_run(rng, 30, 4, 3, 1.0)
    one, two = (
        average_precision_test(
            y_true,
            y_score,
            groups=groups,
            clusters=items(groups),
            n_resamples=2000,
            n_jobs=n_jobs,
        )
        for n_jobs in (1, 2)
    )
    assert numbers_of(one) == numbers_of(two)


def test_columns_and_table():
    y_true, y_score, groups = random_run(np.random.default_rng(5), [(60, 4), (12, 2), (90, 4)], 1)
    result = average_precision_test(y_true, y_score, groups=groups)
    table = result.to_frame()
    assert list(table.columns) == ["query", *COLUMNS]
    assert table["query"].tolist() == result.queries
    assert table["query"].dtype == np.int64
    assert len(table) == 3
    for name in COLUMNS:
        assert np.array_equal(table[name], getattr(result, f"query_{name}"))
    pairs = [(i, "x") for i in groups.tolist()]
    table = average_precision_test(y_true, y_score, groups=pairs).to_frame()
    assert table["query"].tolist() == list(dict.fromkeys(pairs))


def test_repr_and_sentence():
    result = average_precision_test(
        {"x": Ranking.from_counts([1] * 4, [1, 0, 0, 0]), "y": Ranking.from_counts([2], [1])}
    )
    # Average precisions 1 and 1/2, of which the second is the only one possible.
    assert repr(result) == (
        "QueriesTestResult(metric=AveragePrecision(), statistic=0.75, "
        "chance=0.5104, pvalue=0.25, zscore=1.647, n_samples=6, n_positives=2, "
        "alternative='greater', method='analytic', queries=['x', 'y'])"
    )
    assert result.summary() == (
        "Mean average precision over 2 queries was 0.75 (chance 0.51, z = 1.65), p = 0.2500 for "
        "better than random labelling (exact test, one-sided; 2 positives among 6 samples)."
    )
    assert isinstance(result, QueriesTestResult)
    for name in ("statistic", "pvalue", "log10_pvalue", "zscore", "adjusted_statistic"):
        assert type(getattr(result, name)) is float
    assert type(result.n_samples) is type(result.n_queries_without_positives) is int


def test_random_generator_as_the_source():
    y_true, y_score, groups = random_run(np.random.default_rng(5), [(60, 4), (12, 2)])
    options = {"groups": groups, "method": "permutation", "n_resamples": 500}
    first, second = (
        average_precision_test(y_true, y_score, random_state=np.random.default_rng(8), **options)
        for _ in range(2)
    )
    assert numbers_of(first) == numbers_of(second)
    with pytest.raises(ValueError, match="random_state"):
        average_precision_test(y_true, y_score, random_state=-1, **options)


# Size


@pytest.mark.numeric
def test_pvalues_of_random_runs_are_uniform(long):
    rng = np.random.default_rng(20)
    sizes = [(60, 3)] * 6 + [(25, 2)] * 5
    null = metric_null_distribution(*zip(*sizes, strict=True))
    values = []
    n_runs = 1000 if long else 120
    for _ in range(n_runs):
        y_true, y_score, groups = random_run(rng, sizes)
        values.append(mean_average_precision_score(y_true, y_score, groups=groups))
    pvalues = null.pvalue(values)
    assert stats.kstest(pvalues, "uniform").pvalue > 1e-3
    limit = 4.0 * math.sqrt(0.05 * 0.95 / n_runs)
    assert 0.0 < np.mean(pvalues <= 0.05) < 0.05 + limit
    assert stats.kstest(null.pvalue(values, "less"), "uniform").pvalue > 1e-3


@pytest.mark.numeric
def test_pvalues_of_queries_of_random_runs():
    rng = np.random.default_rng(22)
    y_true, y_score, groups = random_run(rng, [(25, 3)] * 1500)
    result = average_precision_test(y_true, y_score, groups=groups, method="auto")
    # A single query has atoms: its size is at most the level.
    for level in (0.05, 0.2):
        rejected = np.mean(result.query_pvalue <= level)
        assert level - 0.03 < rejected < level + 5.0 * math.sqrt(level * (1.0 - level) / 1500)
    assert result.query_pvalue_bh.min() > 1e-3
    assert abs(result.zscore) < 5.0


@pytest.mark.numeric
def test_size_with_shared_labels(long):
    rng = np.random.default_rng(21)
    shared, values = [], []
    for _ in range(300 if long else 150):
        y_true, y_score, groups = shared_run(rng, 40, 3, 10, 0.5)
        options = {"groups": groups, "clusters": items(groups), "n_resamples": 499}
        result = average_precision_test(y_true, y_score, **options)
        shared.append(result.pvalue)
        values.append(result.statistic)
    assert stats.kstest(shared, "uniform").pvalue > 1e-3
    # As if they were independent, which they are not, many more than 5% are rejected.
    draws = metric_null_distribution([40] * 10, [3] * 10).rvs(20_000, random_state=0)
    assert np.mean(values >= np.quantile(draws, 0.95)) > 0.12


# Other metrics


def first_hit(labels, scores):
    return 1.0 / (1 + np.argmax(labels[np.argsort(-scores)])) if labels.any() else 0.0


def dcg_of(labels, scores):
    return ndcg_score([labels], [scores]) if np.any(labels) else 0.0


METRICS = {
    "roc_auc": roc_auc_score,
    "ndcg": dcg_of,
    "reciprocal_rank": first_hit,
    "recall@2": RecallAtK(2),
    "bedroc": Bedroc(),
}


def all_labellings(labels):
    """Every order of the labels of a query, or of its grades."""
    return [np.array(own) for own in set(itertools.permutations(labels.tolist()))]


@pytest.mark.numeric
@pytest.mark.parametrize("metric", METRICS)
def test_queries_of_other_metrics_equal_enumeration(metric):
    rng, value = np.random.default_rng(8), METRICS[metric]
    y_true, y_score, groups = random_run(rng, [(6, 2), (5, 1), (6, 3)], effect=1.0)
    result = metric_test(y_true, y_score, metric=metric, groups=groups)
    members = [groups == query for query in result.queries]
    values = [
        [value(labels, y_score[own]) for labels in all_labellings(y_true[own])] for own in members
    ]
    observed = [value(y_true[own], y_score[own]) for own in members]
    assert result.method == "analytic"
    assert result.query_statistic == pytest.approx(observed, rel=1e-12)
    means = np.sort([math.fsum(own) / 3 for own in itertools.product(*values)])
    assert result.pvalue == pytest.approx(share(means, np.mean(observed), "greater"), rel=1e-11)
    alone = [share(np.sort(own), x, "greater") for own, x in zip(values, observed, strict=True)]
    assert result.query_pvalue == pytest.approx(alone, rel=1e-11)
    assert result.to_dict()["pvalue"] == result.pvalue
    assert len(result.to_frame()) == 3
    title = as_metric(metric).title
    assert result.summary().startswith(f"Mean {in_sentence(title)} over 3 queries was")
    by_rankings = metric_test(
        [Ranking.from_scores(y_true[own], y_score[own]) for own in members], metric=metric
    )
    assert by_rankings.pvalue == result.pvalue


@pytest.mark.numeric
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_queries_with_grades_equal_enumeration(alternative):
    grades, scores = np.array([3, 0, 1, 0, 2, 0, 0, 1, 0, 0, 1, 1, 1]), np.arange(13) % 5 / 4
    groups = np.repeat(["a", "b", "c"], [6, 4, 3])
    result = metric_test(
        grades, scores, metric="ndcg", groups=groups, alternative=alternative, n_resamples=4999
    )
    members = [groups == query for query in "abc"]
    values = [
        [dcg_of(labels, scores[own]) for labels in all_labellings(grades[own])] for own in members
    ]
    means = np.sort([math.fsum(own) / 3 for own in itertools.product(*values)])
    observed = [dcg_of(grades[own], scores[own]) for own in members]
    assert result.method == "permutation"
    assert result.query_statistic == pytest.approx(observed, rel=1e-12)
    null = result.null_distribution
    assert null.stats("mv") == pytest.approx((means.mean(), means.var()), rel=1e-9)
    p = share(means, result.statistic, alternative)
    assert abs(result.pvalue - p) <= 10.0 * math.sqrt(p / 4999) + 4e-4
    for query in range(3):
        p = share(np.sort(values[query]), observed[query], alternative)
        assert abs(result.query_pvalue[query] - p) <= 10.0 * math.sqrt(p / 4999) + 4e-4
    with pytest.raises(ValueError, match="not available for NDCG with graded relevance"):
        metric_test(grades, scores, metric="ndcg", groups=groups, method="analytic")
    with pytest.raises(ValueError, match="strata cannot be combined with groups for graded"):
        metric_test(grades, scores, metric="ndcg", groups=groups, strata=np.arange(13) % 2)


def test_grades_of_a_query_without_any():
    grades, scores = [3, 0, 1, 0, 2, 0, 0, 0, 0], np.arange(9.0)
    with pytest.warns(UndefinedMetricWarning, match="1 of 2 queries have no positives"):
        result = metric_test(grades, scores, metric="ndcg", groups=[0] * 6 + [1] * 3)
    assert result.query_pvalue[1] == 1.0
    assert result.query_statistic[1] == 0.0
    one = metric_test(grades[:6], scores[:6], metric="ndcg")
    assert result.statistic == pytest.approx(one.statistic / 2)


def test_the_mean_of_a_custom_metric_is_drawn_and_its_queries_are_exact():
    class Zipf(RankStatistic):
        def weights(self, ranks, n_samples, n_positives):
            return 1.0 / ranks

    metric = Zipf()
    y_true, y_score, groups = random_run(np.random.default_rng(8), [(6, 2), (5, 1), (6, 3)])
    result = metric_test(y_true, y_score, metric=metric, groups=groups)
    assert result.method == "permutation"
    own = groups == result.queries[0]
    alone = metric_test(y_true[own], y_score[own], metric=metric)
    assert result.query_pvalue[0] == alone.pvalue
    assert alone.method == "analytic"


def test_queries_without_negatives_are_named():
    with pytest.warns(UndefinedMetricWarning, match="1 of 2 queries have no negatives"):
        result = metric_test([1, 0, 1, 1], [4, 3, 2, 1], metric="roc_auc", groups=list("aabb"))
    assert result.query_statistic.tolist() == [1.0, 0.0]
    assert result.query_pvalue.tolist() == [0.5, 1.0]
