"""The frozen null distribution of average precision: exactness, conventions and errors."""

import itertools
import math
import pickle
import re
import warnings
from fractions import Fraction

import numpy as np
import oracles
import pytest
from by_name import ap_null_distribution
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.metrics import average_precision_score

from sklearn_rankinf import AveragePrecision
from sklearn_rankinf._engine.distribution import ComputedDistribution

SMALL = [
    (1, 1, None),
    (2, 1, None),
    (5, 2, None),
    (8, 3, None),
    (9, 8, None),
    (11, 5, None),
    (8, 3, (8,)),
    (8, 3, (3, 5)),
    (8, 3, (2, 3, 1, 2)),
    (9, 4, (1, 1, 4, 2, 1)),
    (10, 5, (2,) * 5),
    (10, 9, (1, 2, 3, 4)),
    (12, 2, (5, 1, 1, 5)),
]


def exact_distribution(n_samples, n_positives, tie_sizes=None, k=None, normalize="min"):
    """Values (float) and cumulative probabilities (Fraction) of the enumerated distribution."""
    values, counts = oracles.average_precision_distribution(
        n_samples, n_positives, tie_sizes, k, normalize
    )
    total = sum(counts)
    cumulative = [Fraction(c, total) for c in np.cumsum(np.array(counts, dtype=object))]
    return np.array([float(v) for v in values]), cumulative


def at_least(cumulative, index):
    """P(S >= value[index])."""
    return 1 - (cumulative[index - 1] if index else Fraction(0))


# ---------------------------------------------------------------------------------------------
# p-values are ratios of counts
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_samples", "n_positives", "tie_sizes"), SMALL)
def test_pvalues_are_ratios_of_counts_over_placements(n_samples, n_positives, tie_sizes):
    null = ap_null_distribution(n_samples, n_positives, tie_sizes=tie_sizes)
    values = oracles.sklearn_values(n_samples, n_positives, tie_sizes)
    assert null.method == "analytic"
    x = np.unique(values)
    greater = np.array([oracles.count_at_least(values, value) for value in x]) / values.size
    less = np.array([oracles.count_at_most(values, value) for value in x]) / values.size
    both = np.minimum(1.0, 2 * np.minimum(greater, less))
    assert_allclose(null.pvalue(x), greater, rtol=1e-12)
    assert_allclose(null.pvalue(x, alternative="greater"), greater, rtol=1e-12)
    assert_allclose(null.pvalue(x, alternative="less"), less, rtol=1e-12)
    assert_allclose(null.pvalue(x, alternative="two-sided"), both, rtol=1e-12)
    assert_allclose(null.log_pvalue(x), np.log(greater), rtol=1e-12, atol=1e-12)
    assert_allclose(null.log_pvalue(x, alternative="less"), np.log(less), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("normalize", ["min", "positives"])
@pytest.mark.parametrize("k", [1, 2, 4, 5, 8, 9])
@pytest.mark.parametrize("tie_sizes", [None, (2, 3, 1, 3), (9,), (1, 1, 6, 1), (4, 5)])
def test_average_precision_at_k_is_a_ratio_of_counts(tie_sizes, k, normalize):
    null = ap_null_distribution(9, 4, k=k, normalize=normalize, tie_sizes=tie_sizes)
    values, cumulative = exact_distribution(9, 4, tie_sizes, k, normalize)
    for i, x in enumerate(values):
        assert_allclose(null.pvalue(x), float(at_least(cumulative, i)), rtol=1e-12)
        assert_allclose(null.pvalue(x, "less"), float(cumulative[i]), rtol=1e-12)


def test_average_precision_at_n_is_average_precision():
    sizes = (2, 3, 1, 3)
    null = ap_null_distribution(9, 4, tie_sizes=sizes)
    at_n = ap_null_distribution(9, 4, tie_sizes=sizes, k=9)
    x = np.unique(oracles.sklearn_values(9, 4, sizes))
    assert_allclose(at_n.pvalue(x), null.pvalue(x), rtol=1e-12)


def test_constant_score_at_one_is_the_prevalence():
    null = ap_null_distribution(20, 3, tie_sizes=[20], k=1)
    assert_allclose(null.mean(), 3 / 20, rtol=1e-15)
    assert null.pvalue(3 / 20) == 1.0


def test_fraction_k_is_rounded_up():
    for share, k in ((0.3, 3), (0.31, 4), (0.05, 1), (0.999, 10), (1e-12, 1)):
        fraction = ap_null_distribution(10, 4, k=share)
        whole = ap_null_distribution(10, 4, k=k)
        assert_allclose(fraction.mean(), whole.mean(), rtol=1e-15)
        assert_allclose(fraction.pvalue(0.5), whole.pvalue(0.5), rtol=1e-12)


@pytest.mark.numeric
@pytest.mark.parametrize(
    ("n_samples", "n_positives"),
    [
        (600, 2),
        pytest.param(100, 4, marks=pytest.mark.long),
        (28, 7),
        pytest.param(24, 11, marks=pytest.mark.long),
        (20_000, 1),
    ],
)
def test_millions_of_placements_without_ties(n_samples, n_positives):
    null = ap_null_distribution(n_samples, n_positives)
    values = oracles.untied_values(n_samples, n_positives)
    rng = np.random.default_rng(0)
    picks = [*rng.choice(values, 40), *values[-3:], values[0]]
    x = np.unique([value for value in picks if oracles.is_isolated(values, value)])
    assert x.size >= 5
    greater = [oracles.count_at_least(values, value) / values.size for value in x]
    less = [oracles.count_at_most(values, value) / values.size for value in x]
    assert_allclose(null.pvalue(x), greater, rtol=1e-12)
    assert_allclose(null.pvalue(x, "less"), less, rtol=1e-12)


@pytest.mark.parametrize(
    ("tie_sizes", "n_positives"),
    [((2,) * 9, 8), ((1, 2, 3, 4, 5, 6), 8), ((5, 1) * 4, 6), ((1,) * 6 + (14,), 10)],
)
def test_tens_of_thousands_of_placements_with_ties(tie_sizes, n_positives):
    # Enumerating hits per block with their multiplicities is the same as placements, but shorter.
    null = ap_null_distribution(sum(tie_sizes), n_positives, tie_sizes=tie_sizes)
    weights: dict[Fraction, int] = {}
    for hits in hit_vectors(tie_sizes, n_positives):
        value = oracles.average_precision(tie_sizes, hits)
        ways = math.prod(math.comb(g, y) for g, y in zip(tie_sizes, hits, strict=True))
        weights[value] = weights.get(value, 0) + ways
    values = sorted(weights)
    total = math.comb(sum(tie_sizes), n_positives)
    assert sum(weights.values()) == total
    rng = np.random.default_rng(0)
    for index in {0, 1, len(values) - 1, *rng.integers(0, len(values), 25).tolist()}:
        greater = Fraction(sum(weights[v] for v in values[index:]), total)
        less = Fraction(sum(weights[v] for v in values[: index + 1]), total)
        assert_allclose(null.pvalue(float(values[index])), float(greater), rtol=1e-12)
        assert_allclose(null.pvalue(float(values[index]), "less"), float(less), rtol=1e-12)


def hit_vectors(tie_sizes, n_positives):
    """All vectors of hits per block that add up to n_positives."""
    if not tie_sizes:
        if n_positives == 0:
            yield ()
        return
    for found in range(min(tie_sizes[0], n_positives) + 1):
        for rest in hit_vectors(tie_sizes[1:], n_positives - found):
            yield (found, *rest)


# ---------------------------------------------------------------------------------------------
# scipy's conventions
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_samples", "n_positives", "tie_sizes"), SMALL)
def test_cdf_is_inclusive_and_sf_is_strict(n_samples, n_positives, tie_sizes):
    null = ap_null_distribution(n_samples, n_positives, tie_sizes=tie_sizes)
    values, cumulative = exact_distribution(n_samples, n_positives, tie_sizes)
    expected = np.array([float(c) for c in cumulative])
    beyond = np.array([float(1 - c) for c in cumulative])
    assert_allclose(null.cdf(values), expected, rtol=1e-12)
    assert_allclose(null.sf(values), beyond, rtol=1e-12, atol=1e-300)
    with np.errstate(divide="ignore"):
        assert_allclose(null.logcdf(values), np.log(expected), rtol=1e-12, atol=1e-12)
        assert_allclose(null.logsf(values), np.log(beyond), rtol=1e-12, atol=1e-12)
    between = (values[1:] + values[:-1]) / 2
    assert_allclose(null.cdf(between), expected[:-1], rtol=1e-12)
    assert_allclose(null.sf(between), beyond[:-1], rtol=1e-12)
    assert_allclose(null.pvalue(between), beyond[:-1], rtol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("tie_sizes", [None, (2, 3, 1, 3), (9,)])
def test_cdf_and_sf_of_a_statistic_that_can_be_zero(tie_sizes, k):
    null = ap_null_distribution(9, 4, tie_sizes=tie_sizes, k=k)
    values, cumulative = exact_distribution(9, 4, tie_sizes, k)
    assert_allclose(null.cdf(values), [float(c) for c in cumulative], rtol=1e-12)
    assert_allclose(null.sf(values), [float(1 - c) for c in cumulative], rtol=1e-12)


def test_zero_is_an_atom_of_a_long_list_too():
    # No hit among the first k: hypergeometric.
    null = ap_null_distribution(200, 40, k=20)
    nothing = stats.hypergeom(200, 40, 20).pmf(0)
    assert_allclose(null.cdf(0.0), nothing, rtol=1e-6)
    assert_allclose(null.sf(0.0), 1 - nothing, rtol=1e-6)
    assert_allclose(null.pvalue(0.0, "less"), nothing, rtol=1e-6)
    assert null.pvalue(0.0) == 1.0


@pytest.mark.parametrize(("n_samples", "n_positives", "tie_sizes"), SMALL)
def test_quantiles_are_the_smallest_values_that_reach_the_level(n_samples, n_positives, tie_sizes):
    null = ap_null_distribution(n_samples, n_positives, tie_sizes=tie_sizes)
    values, cumulative = exact_distribution(n_samples, n_positives, tie_sizes)
    # Levels strictly between two steps: rounding cannot decide.
    steps = np.array([0.0] + [float(c) for c in cumulative])
    q = (steps[1:] + steps[:-1]) / 2
    assert_allclose(null.ppf(q), values, rtol=1e-12)
    assert_allclose(null.isf(1 - q), values, rtol=1e-12)
    # At a step, scipy's discrete distributions return the value of the step itself.
    reference = stats.rv_discrete(values=(np.arange(len(values)), np.diff(steps)))
    assert_allclose(null.ppf(steps[1:-1]), values[reference.ppf(steps[1:-1]).astype(int)])
    assert_allclose(null.ppf(1.0), values[-1], rtol=1e-12)
    assert_allclose(null.isf(0.0), values[-1], rtol=1e-12)


@pytest.mark.numeric
def test_quantiles_of_less_than_one_placement_are_the_ends():
    null = ap_null_distribution(300, 20)
    placement = 1.0 / math.comb(300, 20)
    assert_array_equal(null.ppf([1e-300, 0.9 * placement]), null.support()[0])
    assert_array_equal(null.isf([1e-300, 0.9 * placement]), null.support()[1])
    worst = sum((i + 1) / (281 + i) for i in range(20)) / 20
    assert_allclose(null.support(), [worst, 1.0], rtol=1e-14)


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_samples": 8, "n_positives": 3},
        {"n_samples": 10, "n_positives": 5, "tie_sizes": (2,) * 5},
        {"n_samples": 300, "n_positives": 10},
        pytest.param({"n_samples": 200, "n_positives": 40}, marks=pytest.mark.long),
        {"n_samples": 40, "n_positives": 13, "tie_sizes": (4,) * 10},
        pytest.param(
            {"n_samples": 200, "n_positives": 40, "tie_sizes": (4,) * 50}, marks=pytest.mark.long
        ),
        {"n_samples": 200, "n_positives": 40, "k": 20},
    ],
    ids=str,
)
def test_cdf_and_ppf_belong_together(arguments):
    null = ap_null_distribution(**arguments)
    q = np.array([0.001, 0.025, 0.2, 0.5, 0.77, 0.975, 0.999])
    x = null.ppf(q)
    assert np.all(np.diff(x) >= 0)
    low, high = null.support()
    assert np.all((low <= x) & (x <= high))
    tolerance = 1e-9 + np.max(null.relative_error(x))
    assert np.all(null.cdf(x) >= q * (1 - tolerance))
    assert np.all(null.cdf(x - 1e-6 * (high - low)) <= q * (1 + tolerance) + 1e-4)
    assert np.all(null.sf(null.isf(q)) <= q * (1 + tolerance))
    assert_allclose(null.median(), null.ppf(0.5), rtol=1e-12)
    assert_allclose(null.interval(0.95), null.ppf([0.025, 0.975]), rtol=1e-9)


@pytest.mark.parametrize(("n_samples", "n_positives", "tie_sizes"), SMALL)
def test_support_is_the_smallest_and_largest_value(n_samples, n_positives, tie_sizes):
    values, _ = exact_distribution(n_samples, n_positives, tie_sizes)
    null = ap_null_distribution(n_samples, n_positives, tie_sizes=tie_sizes)
    assert_allclose(null.support(), (values[0], values[-1]), rtol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 4, 5])
@pytest.mark.parametrize("tie_sizes", [None, (2, 3, 1, 3), (4, 5)])
def test_support_at_k(k, tie_sizes):
    values, _ = exact_distribution(9, 6, tie_sizes, k)
    null = ap_null_distribution(9, 6, tie_sizes=tie_sizes, k=k)
    assert_allclose(null.support(), (values[0], values[-1]), rtol=1e-12, atol=1e-15)


def test_support_of_long_lists():
    n_samples, n_positives = 10000, 50
    low, high = ap_null_distribution(n_samples, n_positives).support()
    expected = sum(Fraction(i, n_samples - n_positives + i) for i in range(1, n_positives + 1))
    assert high == 1.0
    assert_allclose(low, float(expected / n_positives), rtol=1e-12)


DISTRIBUTIONS = [
    {"n_samples": 8, "n_positives": 3},
    {"n_samples": 300, "n_positives": 8},
    {"n_samples": 300, "n_positives": 90},
    {"n_samples": 300, "n_positives": 30, "tie_sizes": [3] * 100},
    {"n_samples": 8, "n_positives": 3, "method": "permutation", "n_resamples": 99},
    {"n_samples": 8, "n_positives": 3, "method": "normal"},
    {"n_samples": 8, "n_positives": 3, "method": "pearson3"},
    {"n_samples": 8, "n_positives": 3, "method": "zhang_su"},
]


@pytest.mark.parametrize("arguments", DISTRIBUTIONS, ids=str)
@pytest.mark.parametrize("name", ["cdf", "sf", "logcdf", "logsf", "pvalue", "log_pvalue"])
def test_functions_of_x_are_vectorised(arguments, name):
    function = getattr(ap_null_distribution(**arguments), name)
    x = np.array([[0.1, 0.2, 0.35], [0.5, 0.123, 1.0]])
    out = function(x)
    assert isinstance(out, np.ndarray)
    assert out.shape == (2, 3)
    single = [[function(float(value)) for value in row] for row in x]
    assert_allclose(out, single, rtol=1e-7, atol=1e-300)
    assert_allclose(function(x.tolist()), out, rtol=1e-12)
    assert function(np.array([])).shape == (0,)
    for scalar in (0.35, np.float64(0.35), np.array(0.35), 1):
        assert isinstance(function(scalar), (float, np.floating))
        assert np.ndim(function(scalar)) == 0


@pytest.mark.parametrize("arguments", DISTRIBUTIONS, ids=str)
@pytest.mark.parametrize("name", ["ppf", "isf"])
def test_quantile_functions_are_vectorised(arguments, name):
    function = getattr(ap_null_distribution(**arguments), name)
    q = np.array([[0.1, 0.2], [0.5, 0.9]])
    out = function(q)
    assert out.shape == (2, 2)
    assert_allclose(out, [[function(float(v)) for v in row] for row in q], rtol=1e-9)
    assert isinstance(function(0.3), (float, np.floating))
    assert np.all(np.isnan(function([np.nan, -0.1, 1.1])))


@pytest.mark.parametrize("arguments", DISTRIBUTIONS, ids=str)
def test_nan_gives_nan(arguments):
    null = ap_null_distribution(**arguments)
    for name in ("cdf", "sf", "logcdf", "logsf", "pvalue", "log_pvalue"):
        assert np.isnan(getattr(null, name)(np.nan)), name
        out = getattr(null, name)([0.4, np.nan])
        assert_array_equal(np.isnan(out), [False, True])
    for alternative in ("less", "two-sided"):
        assert np.isnan(null.pvalue(np.nan, alternative=alternative))


@pytest.mark.parametrize("arguments", DISTRIBUTIONS[:4], ids=str)
def test_outside_the_support(arguments):
    null = ap_null_distribution(**arguments)
    for x in (2.0, np.inf):
        assert null.sf(x) == 0.0
        assert null.cdf(x) == 1.0
        assert null.logsf(x) == -np.inf
        assert null.logcdf(x) == 0.0
        assert null.pvalue(x) == 0.0
        assert null.log_pvalue(x) == -np.inf
        assert null.pvalue(x, "less") == 1.0
        assert null.pvalue(x, "two-sided") == 0.0
    for x in (-1.0, -np.inf):
        assert null.sf(x) == 1.0
        assert null.cdf(x) == 0.0
        assert null.logcdf(x) == -np.inf
        assert null.pvalue(x) == 1.0
        assert null.pvalue(x, "less") == 0.0


@pytest.mark.numeric
@pytest.mark.parametrize(
    ("n_samples", "n_positives", "tie_sizes"),
    [(8, 3, None), (150, 8, None), (300, 90, None), (60, 9, [3] * 20)],
)
def test_pvalue_is_monotone_and_a_probability(n_samples, n_positives, tie_sizes):
    null = ap_null_distribution(n_samples, n_positives, tie_sizes=tie_sizes)
    x = np.linspace(0.0, 1.0, 21)
    pvalue, sf, cdf = null.pvalue(x), null.sf(x), null.cdf(x)
    for values in (pvalue, sf, 1 - cdf):
        assert np.all((values >= 0) & (values <= 1))
        assert np.all(np.diff(values) <= 1e-9 * values[:-1] + 1e-15)
    error = null.relative_error(x)
    assert np.all(error < 0.1)
    assert np.all(pvalue >= sf * (1 - 2 * error))
    # Each tail is within its stated error of the same distribution.
    stated = error * sf + null.relative_error(x, "less") * cdf
    assert np.all(np.abs(cdf + sf - 1.0) <= stated + 1e-15)


def test_values_equal_up_to_rounding_count_as_ties():
    null = ap_null_distribution(11, 5)
    values, _ = exact_distribution(11, 5)
    for x in values[::7]:
        for near in (x * (1 + 3e-16), x * (1 - 3e-16), np.nextafter(x, 2), np.nextafter(x, 0)):
            assert_allclose(null.pvalue(near), null.pvalue(x), rtol=1e-12)
            assert_allclose(null.pvalue(near, "less"), null.pvalue(x, "less"), rtol=1e-12)


def test_attributes():
    null = ap_null_distribution(8, 3, tie_sizes=(2, 3, 1, 2))
    assert null.n_samples == 8
    assert null.n_positives == 3
    assert_array_equal(null.tie_sizes, [2, 3, 1, 2])
    for method in ("analytic", "permutation", "normal", "pearson3", "zhang_su"):
        assert ap_null_distribution(8, 3, method=method).method == method
    assert ap_null_distribution(1000, 100).method == "analytic"


@pytest.mark.numeric
@pytest.mark.parametrize(
    "size",
    [(300, 5), *(pytest.param(size, marks=pytest.mark.long) for size in [(300, 60), (500, 50)])],
)
def test_rigorous_bounds_bracket_the_pvalue(size):
    null = ap_null_distribution(*size)
    for z in (1.0, 3.0):
        x = null.mean() + z * null.std()
        low, high = null.pvalue_bounds(x)
        assert 0.0 <= low <= null.pvalue(x) * (1 + 1e-12)
        assert null.pvalue(x) * (1 - 1e-12) <= high <= 1.0


@pytest.mark.parametrize("arguments", DISTRIBUTIONS[:4], ids=str)
def test_relative_error_is_never_below_rounding(arguments):
    null = ap_null_distribution(**arguments)
    errors = null.relative_error(np.array([0.2, 0.5, 1.0]))
    assert errors.shape == (3,)
    assert np.all(errors >= 1e-13)


# ---------------------------------------------------------------------------------------------
# Draws
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_samples", "n_positives", "tie_sizes"), [(8, 3, None), *SMALL[8:10]])
def test_draws_follow_the_enumerated_distribution(n_samples, n_positives, tie_sizes):
    values, counts = oracles.average_precision_distribution(n_samples, n_positives, tie_sizes)
    null = ap_null_distribution(n_samples, n_positives, tie_sizes=tie_sizes)
    drawn = null.rvs(size=20_000, random_state=0)
    atoms = np.array([float(v) for v in values])
    nearest = np.abs(drawn[:, None] - atoms).argmin(axis=1)
    assert_allclose(drawn, atoms[nearest], rtol=1e-12)
    observed = np.bincount(nearest, minlength=len(atoms))
    expected = np.array(counts) / sum(counts) * drawn.size
    assert stats.chisquare(observed, expected).pvalue > 1e-3


def test_draws_of_average_precision_at_k():
    values, counts = oracles.average_precision_distribution(9, 4, (2, 3, 1, 3), 4, "positives")
    null = ap_null_distribution(9, 4, tie_sizes=(2, 3, 1, 3), k=4, normalize="positives")
    drawn = null.rvs(size=20_000, random_state=1)
    atoms = np.array([float(v) for v in values])
    nearest = np.abs(drawn[:, None] - atoms).argmin(axis=1)
    assert_allclose(drawn, atoms[nearest], rtol=1e-12, atol=1e-15)
    observed = np.bincount(nearest, minlength=len(atoms))
    assert stats.chisquare(observed, np.array(counts) / sum(counts) * drawn.size).pvalue > 1e-3


@pytest.mark.parametrize("size", [(1000, 100), (1000, 5)])
def test_draws_at_larger_sizes_have_the_right_moments(size):
    null = ap_null_distribution(*size)
    mean, variance = (float(v) for v in oracles.mean_and_variance_at_k(*size))
    drawn = null.rvs(size=20_000, random_state=2)
    assert abs(drawn.mean() - mean) < 4 * math.sqrt(variance / drawn.size)
    spread = drawn.var() * math.sqrt((stats.kurtosis(drawn) + 2) / drawn.size)
    assert abs(drawn.var() - variance) < 4 * spread


@pytest.mark.parametrize("arguments", DISTRIBUTIONS, ids=str)
def test_shapes_and_reproducibility_of_draws(arguments):
    null = ap_null_distribution(**arguments)
    assert np.shape(null.rvs(size=(3, 2), random_state=0)) == (3, 2)
    assert np.shape(null.rvs(size=5, random_state=0)) == (5,)
    assert np.size(null.rvs(random_state=0)) == 1
    assert_array_equal(null.rvs(size=6, random_state=7), null.rvs(size=6, random_state=7))
    for make in (np.random.default_rng, np.random.RandomState):
        assert_array_equal(
            null.rvs(size=6, random_state=make(3)), null.rvs(size=6, random_state=make(3))
        )
        state = make(3)
        first, second = null.rvs(size=50, random_state=state), null.rvs(size=50, random_state=state)
        assert not np.array_equal(first, second)
    assert null.rvs(size=4, random_state=None).shape == (4,)


# ---------------------------------------------------------------------------------------------
# Extremes at any size
# ---------------------------------------------------------------------------------------------

LARGE = [(200, 40), (1000, 100), (2000, 500), (10000, 50), (100000, 100)]


@pytest.mark.parametrize("size", LARGE)
def test_perfect_ranking_has_probability_one_over_all_placements(size):
    null = ap_null_distribution(*size)
    assert_allclose(null.log_pvalue(1.0), -oracles.log_comb(*size), rtol=1e-12)
    assert_allclose(null.pvalue(1.0), math.exp(-oracles.log_comb(*size)), rtol=1e-9)
    assert null.sf(1.0) == 0.0
    assert null.cdf(1.0) == 1.0


@pytest.mark.parametrize(
    ("tie_sizes", "n_positives"),
    [((50,) * 20, 100), ((100, 900), 100), ((1,) * 100 + (300,) * 3, 100), ((99, 1, 900), 100)],
)
def test_perfect_ranking_with_a_block_that_ends_at_the_last_positive(tie_sizes, n_positives):
    null = ap_null_distribution(1000, n_positives, tie_sizes=tie_sizes)
    assert_allclose(null.log_pvalue(1.0), -oracles.log_comb(1000, n_positives), rtol=1e-12)
    assert null.support()[1] == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(
    ("tie_sizes", "n_positives"),
    [((1000,), 100), ((60,) * 15 + (100,), 100), ((99, 2, 899), 100), ((3, 3, 3), 4)],
)
def test_perfect_ranking_is_impossible_without_such_a_block(tie_sizes, n_positives):
    null = ap_null_distribution(sum(tie_sizes), n_positives, tie_sizes=tie_sizes)
    assert null.pvalue(1.0) == 0.0
    assert null.log_pvalue(1.0) == -np.inf
    assert null.support()[1] < 1.0


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "k"), [(1000, 100, 100), (1000, 100, 150), (1000, 100, 30)]
)
def test_perfect_top_k(n_samples, n_positives, k):
    # With "min" the value 1 needs min(m, k) positives in as many first places.
    null = ap_null_distribution(n_samples, n_positives, k=k)
    top = min(n_positives, k)
    expected = oracles.log_comb(n_samples - top, n_positives - top)
    expected -= oracles.log_comb(n_samples, n_positives)
    assert_allclose(null.log_pvalue(1.0), expected, rtol=1e-10)


@pytest.mark.parametrize("size", [*LARGE[:3], pytest.param(LARGE[3], marks=pytest.mark.long)])
def test_worst_ranking_has_probability_one_over_all_placements(size):
    null = ap_null_distribution(*size)
    low, _ = null.support()
    assert_allclose(null.log_pvalue(low, "less"), -oracles.log_comb(*size), rtol=1e-9)
    assert null.pvalue(low) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "x"),
    [(200, 40, 0.99), (1000, 100, 0.999), (10000, 50, 0.99), (2000, 500, 0.99995)],
)
def test_nearly_perfect_rankings_are_counted(n_samples, n_positives, x):
    null = ap_null_distribution(n_samples, n_positives)
    number, log_share = oracles.log_count_of_extremes(n_samples, n_positives, x)
    assert 10 < number < 10**6
    stated = float(null.relative_error(x))
    assert stated < 0.05
    assert abs(math.expm1(null.log_pvalue(x) - log_share)) <= stated


@pytest.mark.parametrize("x", [0.0, 0.3, 1.0])
def test_no_positives(x):
    null = ap_null_distribution(20, 0)
    assert null.support() == (0.0, 0.0)
    assert null.pvalue(0.0) == 1.0
    assert null.pvalue(x, "less") == 1.0
    assert null.pvalue(x) == (1.0 if x == 0.0 else 0.0)


@pytest.mark.parametrize("tie_sizes", [None, (4, 6), (10,)])
def test_only_positives(tie_sizes):
    null = ap_null_distribution(10, 10, tie_sizes=tie_sizes)
    assert null.support() == (1.0, 1.0)
    assert null.pvalue(1.0) == 1.0
    assert null.pvalue(1.0, "less") == 1.0
    assert null.pvalue(1.0, "two-sided") == 1.0
    assert null.ppf(0.5) == 1.0


# ---------------------------------------------------------------------------------------------
# Reference values, bounds and simulation where enumeration is out of reach
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "x", "expected", "rtol"),
    [
        ((1000, 100), 0.14006824569383405, 0.0085976805, 1e-6),
        ((1000, 100), 0.24274468315222714, 5.395065e-10, 1e-6),
        ((2000, 500), 0.3024249023463803, 1.378507e-5, 1e-6),
    ],
)
def test_reference_values(size, x, expected, rtol):
    null = ap_null_distribution(*size)
    # The last printed digit is rounded, whatever the tolerance.
    digits = 0.5 * 10.0 ** (math.floor(math.log10(expected)) - 6)
    assert_allclose(null.pvalue(x), expected, rtol=rtol, atol=digits)
    assert null.relative_error(x) < rtol


def test_normal_approximation_is_wrong_in_the_tail():
    # Exact tails at z = 3 and z = 5, and those of the normal approximation.
    null = ap_null_distribution(1000, 100)
    x = null.mean() + np.array([3.0, 5.0]) * null.std()
    assert_allclose(null.pvalue(x), [8.598e-3, 3.18e-4], rtol=2e-3)
    normal = ap_null_distribution(1000, 100, method="normal")
    assert_allclose(normal.pvalue(x), stats.norm.sf([3.0, 5.0]), rtol=1e-9)


BRACKETED = [
    (60, 20, None),
    (200, 8, None),
    pytest.param(400, 6, None, marks=pytest.mark.long),
    pytest.param(200, 20, None, marks=pytest.mark.long),
    pytest.param(150, 60, None, marks=pytest.mark.long),
    (120, 30, (3,) * 40),
    pytest.param(120, 10, (1,) * 30 + (10,) * 9, marks=pytest.mark.long),
    (90, 45, (30, 1, 29, 30)),
]


@pytest.mark.numeric
@pytest.mark.parametrize(("n_samples", "n_positives", "tie_sizes"), BRACKETED)
def test_pvalues_lie_between_guaranteed_bounds(n_samples, n_positives, tie_sizes):
    null = ap_null_distribution(n_samples, n_positives, tie_sizes=tie_sizes)
    for z in (-0.7, 0.2, 3.0):
        x = null.mean() + z * null.std()
        if not null.support()[0] < x < null.support()[1]:
            continue
        low, high = oracles.tail_bounds(n_samples, n_positives, x, tie_sizes=tie_sizes)
        stated = float(null.relative_error(x))
        assert stated < 0.05
        assert low * (1 - stated) <= null.pvalue(x) <= high * (1 + stated), (z, low, high)
        # No atom lies exactly at x: the lower tail is the complement, to within rounding.
        stated = float(null.relative_error(x, "less"))
        below = null.pvalue(x, "less")
        assert (1 - high) * (1 - stated) - 1e-12 <= below <= (1 - low) * (1 + stated) + 1e-12, z


@pytest.mark.numeric
@pytest.mark.parametrize(
    ("tie_sizes", "n_positives", "k"),
    [
        ((2,) * 250, 50, None),
        pytest.param((1,) * 100 + (20,) * 20, 30, None, marks=pytest.mark.long),
        ((100, 1, 1, 98, 200, 100), 100, None),
        ((1, 2, 3, 4, 5) * 40, 6, None),
        pytest.param((200, *(1,) * 200), 10, None, marks=pytest.mark.long),
        ((1,) * 300, 30, 20),
        pytest.param((2,) * 150, 30, 47, marks=pytest.mark.long),
        ((1, 2, 3, 4, 5) * 20, 6, 48),
    ],
)
def test_ties_against_simulation(tie_sizes, n_positives, k):
    n_draws = 5_000 if k is None else 2_000
    rng = np.random.default_rng(5)
    null = ap_null_distribution(sum(tie_sizes), n_positives, tie_sizes=tie_sizes, k=k)
    drawn = oracles.simulate_average_precision(rng, tie_sizes, n_positives, n_draws, k)
    drawn = np.sort(drawn)
    x = np.quantile(drawn, [0.05, 0.5, 0.9, 0.99], method="lower")
    for alternative, count in (
        ("greater", oracles.count_at_least),
        ("less", oracles.count_at_most),
    ):
        p = null.pvalue(x, alternative)
        shares = np.array([count(drawn, value) for value in x]) / n_draws
        error = np.sqrt(p * (1 - p) / n_draws)
        assert np.all(np.abs(shares - p) <= 4.5 * error + 1e-12), alternative


# ---------------------------------------------------------------------------------------------
# Approximations under their own names
# ---------------------------------------------------------------------------------------------


def skewness(null):
    """Skewness of an enumerated distribution."""
    first, second, third = (float(v) for v in oracles.distribution_moments(null, 3))
    variance = second - first**2
    return (third - 3 * first * variance - first**3) / variance**1.5


@pytest.mark.parametrize("tie_sizes", [None, (2, 3, 1, 2, 4)])
@pytest.mark.parametrize("method", ["normal", "pearson3"])
def test_approximations_use_exact_moments(method, tie_sizes):
    enumerated = oracles.average_precision_distribution(12, 4, tie_sizes)
    mean, variance = (float(v) for v in oracles.distribution_mean_and_variance(enumerated))
    if method == "normal":
        reference = stats.norm(mean, math.sqrt(variance))
    else:
        reference = stats.pearson3(skewness(enumerated), mean, math.sqrt(variance))
    null = ap_null_distribution(12, 4, tie_sizes=tie_sizes, method=method)
    x = np.array([0.3, 0.4, 0.55, 0.7, 0.95])
    assert_allclose(null.sf(x), reference.sf(x), rtol=1e-9)
    assert_allclose(null.cdf(x), reference.cdf(x), rtol=1e-9)
    assert_allclose(null.pvalue(x), reference.sf(x), rtol=1e-9)
    assert_allclose(null.pvalue(x, "less"), reference.cdf(x), rtol=1e-9)
    assert_allclose(
        null.pvalue(x, "two-sided"),
        np.minimum(1, 2 * np.minimum(reference.sf(x), reference.cdf(x))),
        rtol=1e-9,
    )
    assert_allclose(null.log_pvalue(x), reference.logsf(x), rtol=1e-9)
    q = np.array([0.1, 0.5, 0.9])
    assert_allclose(null.ppf(q), reference.ppf(q), rtol=1e-9)
    assert_allclose(null.isf(q), reference.isf(q), rtol=1e-9)


@pytest.mark.parametrize(
    ("size", "sizes_at_levels"),
    [((100, 10), (0.074, 0.035, 0.015)), ((1000, 100), (0.064, 0.024, 0.0075))],
)
def test_true_size_of_the_normal_test(size, sizes_at_levels):
    # Exact sizes of the test that rejects if the normal approximation has p <= alpha.
    exact = ap_null_distribution(*size)
    normal = ap_null_distribution(*size, method="normal")
    for alpha, expected in zip((0.05, 0.01, 0.001), sizes_at_levels, strict=True):
        assert_allclose(exact.pvalue(normal.isf(alpha)), expected, rtol=0.02)


@pytest.mark.parametrize(
    ("size", "sizes_at_levels"),
    [((1000, 100), (0.049, 0.010, 0.0012)), ((1000, 10), (0.039, 0.011, 0.0005))],
)
def test_true_size_of_the_pearson3_test(size, sizes_at_levels):
    exact = ap_null_distribution(*size)
    pearson3 = ap_null_distribution(*size, method="pearson3")
    for alpha, expected in zip((0.05, 0.01, 0.001), sizes_at_levels, strict=True):
        # Printed to two or three digits.
        half_digit = 0.5 * 10 ** -(4 if alpha == 0.001 else 3)
        assert abs(exact.pvalue(pearson3.isf(alpha)) - expected) <= 1.02 * half_digit


# ---------------------------------------------------------------------------------------------
# Wrong input
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"n_samples": 5, "n_positives": 6}, ValueError, r"n_positives.*n_samples=5.*6"),
        ({"n_samples": 5, "n_positives": -1}, ValueError, r"n_positives.*-1"),
        ({"n_samples": 0, "n_positives": 0}, ValueError, r"n_samples.*0"),
        ({"n_samples": -3, "n_positives": 0}, ValueError, r"n_samples.*-3"),
        ({"n_samples": 5.5, "n_positives": 2}, TypeError, r"n_samples.*5\.5"),
        ({"n_samples": 5, "n_positives": 2.5}, TypeError, r"n_positives.*2\.5"),
        ({"n_samples": "5", "n_positives": 2}, TypeError, r"n_samples.*5"),
        ({"n_samples": 5, "n_positives": None}, TypeError, r"n_positives.*None"),
        ({"n_samples": True, "n_positives": 1}, TypeError, r"n_samples.*True"),
        ({"tie_sizes": [2, 2]}, ValueError, r"tie_sizes.*4.*8|tie_sizes.*8.*4"),
        ({"tie_sizes": [4, 0, 4]}, ValueError, r"tie_sizes.*0"),
        ({"tie_sizes": [9, -1]}, ValueError, r"tie_sizes.*-1"),
        ({"tie_sizes": [4.5, 3.5]}, (TypeError, ValueError), r"tie_sizes.*4\.5"),
        ({"tie_sizes": []}, ValueError, r"tie_sizes"),
        ({"tie_sizes": [[4, 4]]}, ValueError, r"tie_sizes.*\(1, 2\)|tie_sizes.*2"),
        ({"tie_sizes": 8}, (TypeError, ValueError), r"tie_sizes"),
        ({"k": 0}, ValueError, r"k.*0"),
        ({"k": -2}, ValueError, r"k.*-2"),
        ({"k": 9}, ValueError, r"k.*9.*8|k.*8.*9"),
        ({"k": 1.5}, (TypeError, ValueError), r"k.*1\.5"),
        ({"k": 0.0}, ValueError, r"k.*0\.0"),
        ({"k": 1.0}, ValueError, r"k.*1\.0"),
        ({"k": float("nan")}, ValueError, r"k.*nan"),
        ({"k": "3"}, TypeError, r"k.*3"),
        ({"k": True}, TypeError, r"k.*True"),
        ({"method": "exact"}, ValueError, r"method.*'exact'"),
        ({"method": "binomial"}, ValueError, r"method.*'binomial'"),
        ({"normalize": "max"}, ValueError, r"normalize.*'max'"),
        ({"method": "permutation", "n_resamples": 0}, ValueError, r"n_resamples.*0"),
        ({"method": "permutation", "n_resamples": -5}, ValueError, r"n_resamples.*-5"),
        ({"method": "permutation", "n_resamples": 9.5}, TypeError, r"n_resamples.*9\.5"),
        ({"method": "permutation", "random_state": "a"}, (TypeError, ValueError), r"'a'"),
    ],
    ids=str,
)
def test_wrong_arguments(arguments, error, match):
    with pytest.raises(error, match=match):
        ap_null_distribution(**{"n_samples": 8, "n_positives": 3, **arguments})


@pytest.mark.parametrize("name", ["pvalue", "log_pvalue"])
def test_unknown_alternative(name):
    null = ap_null_distribution(8, 3)
    with pytest.raises(ValueError, match=r"alternative.*'bigger'"):
        getattr(null, name)(0.5, alternative="bigger")


def test_options_are_keyword_only():
    with pytest.raises(TypeError, match="positional"):
        ap_null_distribution(8, 3, 2)


def test_integers_of_numpy_are_welcome():
    null = ap_null_distribution(np.int64(8), np.uint8(3), k=np.int32(4), tie_sizes=np.array([4, 4]))
    assert null.n_samples == 8
    assert_allclose(null.mean(), ap_null_distribution(8, 3, k=4, tie_sizes=[4, 4]).mean())


def test_construction_is_cheap_and_lazy():
    # A null distribution of this size takes long to compute and much memory.
    null = ap_null_distribution(10**9, 10**6)
    assert null.mean() == pytest.approx(1e-3, rel=0.1)
    assert null.tie_sizes is None or len(null.tie_sizes) == 0


# ---------------------------------------------------------------------------------------------
# Few negatives
# ---------------------------------------------------------------------------------------------


def all_values_with_two_negatives(n_samples):
    """AP for every pair of ranks of the two negatives, by direct summation."""
    t = np.arange(1, n_samples + 1)
    from_rank = np.cumsum((1 / t)[::-1])[::-1]
    first, second = np.triu_indices(n_samples, 1)
    lost_after = from_rank[first] + from_rank[second]
    lost_there = (1 - 1 / t[first]) + (1 - 2 / t[second])
    return (n_samples - lost_after - lost_there) / (n_samples - 2)


def test_values_with_two_negatives_are_those_of_scikit_learn():
    values = all_values_with_two_negatives(9)
    expected = [
        average_precision_score([int(i not in pair) for i in range(9)], -np.arange(9))
        for pair in itertools.combinations(range(9), 2)
    ]
    assert_allclose(values, expected, rtol=1e-14)


def test_two_negatives_in_a_thousand():
    values = all_values_with_two_negatives(1000)
    q = [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999]
    x = np.quantile(values, q, method="inverted_cdf")
    null = ComputedDistribution(AveragePrecision(), 1000, 998, None)
    for sign in (1, -1):
        t = x * (1 - sign * 1e-12)
        p, _, error = null.tail(t, sign)
        expected = np.array([np.mean(sign * values >= sign * value) for value in t])
        assert np.all(np.abs(p / expected - 1) <= error)
        assert np.all(error < 0.2)
    expected = [np.mean(values >= value * (1 - 1e-12)) for value in x]
    assert_allclose(ap_null_distribution(1000, 998).pvalue(x), expected)


@pytest.mark.parametrize(
    ("n_samples", "n_positives"),
    [
        pytest.param(1000, 997, marks=pytest.mark.long),
        (1000, 990),
        pytest.param(3000, 2997, marks=pytest.mark.long),
    ],
)
def test_few_negatives_against_simulation(n_samples, n_positives):
    rng = np.random.default_rng(5)
    n_draws = 10_000
    t = np.arange(1, n_samples + 1)
    from_rank = np.cumsum((1 / t)[::-1])[::-1]
    misses = np.array(
        [np.sort(rng.choice(n_samples, n_samples - n_positives, False)) for _ in range(n_draws)]
    )
    order = np.arange(1, n_samples - n_positives + 1)
    lost = from_rank[misses].sum(axis=1) + (1 - order / t[misses]).sum(axis=1)
    values = (n_samples - lost) / n_positives
    null = ap_null_distribution(n_samples, n_positives)
    for q in (0.02, 0.1, 0.5, 0.9, 0.98):
        x = float(np.quantile(values, q, method="inverted_cdf"))
        share = np.mean(values >= x * (1 - 1e-12))
        standard_error = np.sqrt(share * (1 - share) / n_draws)
        p = null.pvalue(x)
        assert abs(p - share) <= 4.5 * standard_error + null.relative_error(x) * p


@pytest.mark.numeric
def test_nearly_all_positive_and_tied_is_a_ratio_of_counts():
    # The tie holds none, one or both of the two negatives: 499,500 placements in all.
    tie_sizes = [2] + [1] * 998
    null = ap_null_distribution(1000, 998, tie_sizes=tie_sizes)
    worst, _ = null.support()
    assert_allclose(null.pvalue(worst, "less"), 1 / math.comb(1000, 2), rtol=1e-12)
    assert null.relative_error(0.9999) == 1e-13


@pytest.mark.parametrize(
    "tie_sizes",
    [(2,) * 1250, (1,) * 1500 + (1500,), pytest.param((1, 2) * 1000, marks=pytest.mark.long)],
)
def test_large_tied_problems_raise_no_warning(tie_sizes):
    n_samples = sum(tie_sizes)
    null = ap_null_distribution(n_samples, n_samples // 2, tie_sizes=tie_sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = null.pvalue(null.mean() + 2 * null.std())
    assert 0.015 < p < 0.035


# ---------------------------------------------------------------------------------------------
# Distributions as objects
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["analytic", "permutation"])
def test_a_pickle_holds_the_arguments_and_no_computed_values(method):
    null = ap_null_distribution(40, 4, method=method)
    p = null.pvalue(0.5)
    pickled = pickle.dumps(null)
    assert len(pickled) < 10_000
    assert pickle.loads(pickled).pvalue(0.5) == p


@pytest.mark.parametrize("size", [-1, 2.5, (3, -1)])
def test_wrong_size_of_draws(size):
    with pytest.raises(ValueError, match=re.escape(f"got {size!r}")):
        ap_null_distribution(8, 3).rvs(size)


def test_negative_random_state():
    with pytest.raises(ValueError, match="random_state must be at least 0; got -1"):
        ap_null_distribution(8, 3, random_state=-1)


def test_steep_lower_tail():
    # Between the bounds of a floor and a ceiling lattice, computed apart from this package.
    x = float.fromhex("0x1.3c37db0ba1d98p-4")
    assert_allclose(ap_null_distribution(604, 83).log_pvalue(x, "less"), -81.550049, atol=1e-6)


def test_few_large_blocks():
    # By enumeration of the hits in the four blocks, in a loop over the first three.
    x = float.fromhex("0x1.7eba5ff104d34p-2")
    null = ap_null_distribution(1960, 895, tie_sizes=[490] * 4)
    assert_allclose(null.log_pvalue(x, "less"), -124.42375941002206, rtol=1e-12)
    assert null.relative_error(x, "less") < 1e-11


@pytest.mark.parametrize("arguments", [{"k": 8}, {"tie_sizes": [1000, 1000]}])
def test_few_outcomes_with_many_placements_raise_no_warning(arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        null = ap_null_distribution(2000, 700, **arguments)
        p, log_p = null.pvalue(0.4), null.log_pvalue(0.4)
    assert_allclose(math.exp(log_p), p, rtol=1e-12)
