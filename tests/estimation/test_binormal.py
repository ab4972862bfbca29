"""Intervals from the binormal model against plain simulation, quadrature and closed forms."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, special, stats
from sklearn.metrics import average_precision_score, dcg_score

from sklearn_rankinf import AveragePrecision, DiscountedCumulativeGain
from sklearn_rankinf._estimation.binormal import (
    BinormalRankings,
    average_precision_values,
    average_precision_variances,
    calibrated_limits,
    inverted_limits,
)

pytestmark = pytest.mark.numeric

# Largest distance of observed counts from their expectations, in standard errors.
N_ERRORS = 4.5


def dcg(ranks):
    return (1 / np.log2(ranks + 1)).sum(axis=1)


def bedroc_sum(ranks):
    return np.exp(-20 * ranks / 200).sum(axis=1)


def minus_rank(ranks):
    return -ranks.sum(axis=1).astype(float)


METRICS = [average_precision_values, dcg, bedroc_sum, minus_rank]

RANKS = {
    "top": ([1, 2, 3, 4], 12),
    "bottom": ([9, 10, 11, 12], 12),
    "mixed": ([1, 2, 4], 8),
    "ends": ([1, 12], 12),
    "two": ([2, 3], 4),
    "nearly all": ([1, 2, 3, 5, 6, 8, 9, 10], 10),
    "far": ([3, 20, 21, 45, 52], 70),
}


def plain_ranks(n_samples, n_positives, shifts, n_draws, seed):
    """Ranks of the positives from the scores of all items, moved by each of the shifts."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((n_draws, n_samples))
    ranks = []
    for shift in np.atleast_1d(shifts):
        moved = scores.copy()
        moved[:, :n_positives] += shift
        is_positive = np.argsort(-moved, axis=1) < n_positives
        ranks.append(np.nonzero(is_positive)[1].reshape(n_draws, -1) + 1)
    return np.stack(ranks, axis=1)


def gap_ranks(n_samples, n_positives, shifts, n_draws, seed):
    rankings = BinormalRankings(n_samples, n_positives, seed)
    return np.concatenate(list(rankings.ranks(np.atleast_1d(np.array(shifts, float)), n_draws)))


def labels(ranks, n_samples):
    return np.isin(np.arange(1, n_samples + 1), ranks).astype(int)


def item_variance(y):
    """Influence variance, item by item, from numerical derivatives of scikit-learn's metric."""
    score, step = -np.arange(float(y.size)), 1e-5

    def moved(item, by):
        return average_precision_score(y, score, sample_weight=1 + by * np.eye(y.size)[item])

    slopes = np.array([(moved(i, step) - moved(i, -step)) / (2 * step) for i in range(y.size)])
    variance = 0.0
    for own in (slopes[y == 1], slopes[y == 0]):
        variance += own.size * own.var(ddof=1)
    return variance


def assert_share(share, expected, n_draws, n_expected=np.inf):
    """Whether a share of draws is as expected; the expectation may have come from draws too."""
    error = np.sqrt(expected * (1 - expected) * (1 / n_draws + 1 / n_expected))
    assert_allclose(share, expected, atol=N_ERRORS * error)


# ------------------------------------------------------------------------------------- rankings


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "shift"),
    [(60, 8, 1.2), (60, 1, 0.5), (30, 29, 0.7), (40, 20, -1.0), (200, 20, 0.0)],
)
@pytest.mark.parametrize("metric", [average_precision_values, dcg, minus_rank])
def test_gap_counts_are_those_of_all_scores(n_samples, n_positives, shift, metric):
    # The shift of interest is drawn together with others, which must not matter.
    ranks = gap_ranks(n_samples, n_positives, [shift - 0.3, shift, shift + 2.0], 4000, seed=1)[:, 1]
    plain = plain_ranks(n_samples, n_positives, shift, 4000, seed=2)[:, 0]
    assert stats.ks_2samp(metric(ranks), metric(plain)).pvalue > 1e-4


def test_shifted_rankings_have_the_same_negatives():
    ranks = gap_ranks(60, 8, [0.0, 0.4, 1.5], 4000, seed=1)
    plain = plain_ranks(60, 8, [0.0, 0.4, 1.5], 4000, seed=2)
    for near, far in ((0, 1), (0, 2), (1, 2)):
        gained = average_precision_values(ranks[:, far]) - average_precision_values(ranks[:, near])
        expected = average_precision_values(plain[:, far]) - average_precision_values(
            plain[:, near]
        )
        assert stats.ks_2samp(gained, expected).pvalue > 1e-4
    assert np.all(np.diff(ranks, axis=1) <= 0)


def test_at_no_shift_all_placements_are_equally_likely():
    ranks = gap_ranks(6, 3, 0.0, 20_000, seed=3)[:, 0]
    _, counts = np.unique(ranks, axis=0, return_counts=True)
    assert counts.size == 20
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize(
    ("n_samples", "n_positives"), [(10**7, 20), (200, 20), (21, 20), (1000, 1)]
)
@pytest.mark.parametrize("shift", [-4.0, 0.0, 1.5, 4.0])
def test_moments_of_the_number_of_negatives_above(n_samples, n_positives, shift):
    ranks = gap_ranks(n_samples, n_positives, [shift], 4000, seed=4)[:, 0]
    above = ranks.sum(axis=1) - n_positives * (n_positives + 1) / 2
    n_negatives = n_samples - n_positives
    # Mann-Whitney: mean, and variance from pairs that share a positive or a negative.
    p = special.ndtr(-shift / np.sqrt(2))
    corner = stats.multivariate_normal([0, 0], [[2, 1], [1, 2]]).cdf([-shift, -shift])
    pairs = n_positives * n_negatives
    shared = (n_negatives - 1 + n_positives - 1) * (corner - p**2)
    variance = pairs * (p * (1 - p) + shared)
    assert_allclose(above.mean(), pairs * p, atol=N_ERRORS * np.sqrt(variance / 4000))
    spread = (above - pairs * p) ** 2
    assert_allclose(spread.mean(), variance, atol=N_ERRORS * spread.std() / np.sqrt(4000))


def test_ranks_are_ascending_and_in_range():
    for n_samples, n_positives in ((5, 5), (6, 5), (7, 1), (10**9, 3)):
        ranks = gap_ranks(n_samples, n_positives, [-9.0, 0.0, 9.0], 50, seed=0)
        assert ranks.shape == (50, 3, n_positives)
        assert np.all(np.diff(ranks, axis=2) > 0)
        assert ranks.min() >= 1
        assert ranks.max() <= n_samples


@pytest.mark.parametrize("n_negatives", [1, 180, 10**7])
def test_the_largest_shift_separates(n_negatives):
    rankings = BinormalRankings(n_negatives + 20, 20, 0)
    reach = rankings.largest_shift(1e-9)
    ranks = gap_ranks(n_negatives + 20, 20, [-reach, reach], 100, seed=0)
    assert_array_equal(ranks[:, 1], np.tile(np.arange(1, 21), (100, 1)))
    assert_array_equal(ranks[:, 0], n_negatives + np.tile(np.arange(1, 21), (100, 1)))


def test_memory_does_not_grow_with_samples_or_draws():
    tracemalloc.start()
    try:
        drawn = BinormalRankings(10**6, 1000, 0).values(dcg, np.array([0.9, 1.0, 1.1]), 300)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert drawn.shape == (300, 3)
    assert peak < 50e6


# ---------------------------------------------------------------------------- average precision


@pytest.mark.parametrize("name", RANKS)
def test_average_precision_and_its_variance(name):
    ranks, n_samples = RANKS[name]
    y, rows = labels(ranks, n_samples), np.array([ranks])
    expected = average_precision_score(y, -np.arange(n_samples))
    assert_allclose(average_precision_values(rows), expected, rtol=1e-13)
    assert_allclose(
        average_precision_variances(rows, n_samples), item_variance(y), rtol=1e-6, atol=1e-12
    )


def test_known_variance_of_average_precision():
    both = average_precision_variances(np.array([[1, 2, 4], [1, 2, 3]]), 8)
    assert_allclose(both, [0.00694444 + 0.00390625, 0.0], atol=1e-8)


@pytest.mark.parametrize(
    ("n_samples", "shift", "expected"),
    [(4000, 1.0, 0.752996), (20_000, 1.0, 0.292836), (20_000, 2.0, 0.665471)],
)
def test_mean_average_precision_is_the_area_under_the_binormal_curve(n_samples, shift, expected):
    n_positives = 2000
    drawn = BinormalRankings(n_samples, n_positives, 0).values(
        average_precision_values, np.array([shift]), 150
    )
    error = drawn.std() / np.sqrt(drawn.size)
    # The error of a finite number of positives is of the order of one over it.
    assert_allclose(drawn.mean(), expected, atol=N_ERRORS * error + 1 / n_positives)


@pytest.mark.parametrize("name", RANKS)
def test_values_of_the_samplers_statistics_fit(name):
    ranks, n_samples = RANKS[name]
    for statistic, metric, slow in (
        (AveragePrecision(), average_precision_values, average_precision_score),
        (DiscountedCumulativeGain(), dcg, lambda y, s: dcg_score([y], [s])),
    ):
        values = statistic.hit_values(n_samples, len(ranks), None)
        value = slow(labels(ranks, n_samples), -np.arange(n_samples))
        assert_allclose(values(np.array([ranks]) - 1), value, rtol=1e-12)
        assert_allclose(metric(np.array([ranks])), value, rtol=1e-12)


# ------------------------------------------------------------------------------------ inversion


def probability_of_first_ranks(rank, n_negatives, shift):
    """Probability that a single positive has this rank or a better one, by quadrature."""
    return integrate.quad(
        lambda x: (
            stats.norm.pdf(x - shift) * stats.binom.cdf(rank - 1, n_negatives, stats.norm.sf(x))
        ),
        shift - 9,
        shift + 9,
        limit=200,
    )[0]


@pytest.mark.parametrize("rank", [1, 2, 5, 12, 20, 21])
def test_limits_of_a_single_positive_are_known(rank):
    n_negatives, n_draws = 20, 20_000
    low, high, fit = inverted_limits(minus_rank, -rank, 21, 1, 0.95, 0, n_draws)
    assert fit.high_clipped == (rank == 1)
    assert fit.low_clipped == (rank == 21)
    sides = []
    if rank < 21:
        sides.append((low, fit.low_shift, probability_of_first_ranks(rank, 20, fit.low_shift)))
    else:
        assert (low, fit.low_shift) == (-21, -np.inf)
    if rank > 1:
        beyond = 1 - probability_of_first_ranks(rank - 1, 20, fit.high_shift)
        sides.append((high, fit.high_shift, beyond))
    else:
        assert (high, fit.high_shift) == (-1, np.inf)
    for limit, shift, probability in sides:
        assert_share(probability, 0.025, n_draws)
        mean = -1 - n_negatives * special.ndtr(-shift / np.sqrt(2))
        # Ranks of n items have a standard deviation of n / 2 at most.
        assert_allclose(limit, mean, atol=N_ERRORS * 21 / 2 / np.sqrt(n_draws))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("ranks", "n_samples"),
    [
        ([1, 3, 4, 9, 20, 33], 40),
        ([1, 2, 3, 4, 5, 7], 40),
        ([30, 36, 37, 38, 39, 40], 40),
        ([1, 2, 3, 4, 6, 7, 8, 9, 11, 12], 12),
    ],
)
def test_tails_at_the_limits_are_those_of_all_scores(metric, ranks, n_samples):
    m, n_draws, n_plain = len(ranks), 4000, 10_000
    value = metric(np.array([ranks]))[0]
    low, high, fit = inverted_limits(metric, value, n_samples, m, 0.95, 0)
    assert not fit.low_clipped
    assert not fit.high_clipped
    at_low, at_high = (
        metric(plain_ranks(n_samples, m, shift, n_plain, seed=5)[:, 0])
        for shift in (fit.low_shift, fit.high_shift)
    )
    rounding = 1e-9 * abs(value)
    assert_share(np.mean(at_low >= value - rounding), 0.025, n_plain, n_draws)
    assert_share(np.mean(at_high <= value + rounding), 0.025, n_plain, n_draws)
    for limit, drawn in ((low, at_low), (high, at_high)):
        error = drawn.std() * np.sqrt(1 / n_draws + 1 / n_plain)
        assert_allclose(limit, drawn.mean(), atol=N_ERRORS * error)


@pytest.mark.parametrize("metric", METRICS)
def test_ends_of_the_range(metric):
    best = metric(np.array([[1, 2, 3, 4]]))[0]
    worst = metric(np.array([[9, 10, 11, 12]]))[0]
    low, high, fit = inverted_limits(metric, best, 12, 4, 0.95, 0)
    assert (high, fit.high_shift, fit.high_clipped, fit.low_clipped) == (best, np.inf, True, False)
    # The one perfect ranking is seen with probability .025 at the lower limit.
    plain = metric(plain_ranks(12, 4, fit.low_shift, 10_000, seed=6)[:, 0])
    assert_share(np.mean(np.isclose(plain, best)), 0.025, 10_000, 4000)
    assert worst < low < best
    low, high, fit = inverted_limits(metric, worst, 12, 4, 0.95, 0)
    assert (low, fit.low_shift, fit.low_clipped, fit.high_clipped) == (worst, -np.inf, True, False)
    plain = metric(plain_ranks(12, 4, fit.high_shift, 10_000, seed=7)[:, 0])
    assert_share(np.mean(np.isclose(plain, worst)), 0.025, 10_000, 4000)
    assert worst < high < best


@pytest.mark.parametrize("n_positives", [1, 5])
def test_only_positives_have_one_value(n_positives):
    value = dcg(np.arange(1, n_positives + 1)[None])[0]
    low, high, fit = inverted_limits(dcg, value, n_positives, n_positives, 0.95, 0)
    assert low == high == value
    assert fit.low_clipped
    assert fit.high_clipped


def test_limits_rise_with_the_value_and_spread_with_the_level():
    def limits(value, level):
        return inverted_limits(average_precision_values, value, 60, 6, level, 0)[:2]

    by_value = np.array([limits(value, 0.95) for value in (0.1, 0.2, 0.35, 0.5, 0.7, 0.9)])
    assert np.all(np.diff(by_value, axis=0) > 0)
    by_level = np.array([limits(0.4, level) for level in (0.5, 0.8, 0.95, 0.99)])
    assert np.all(np.diff(by_level[:, 0]) < 0)
    assert np.all(np.diff(by_level[:, 1]) > 0)
    assert np.all((by_level[:, 0] < 0.4) & (by_level[:, 1] > 0.4))


def test_calibrated_limits_spread_with_the_variance_and_the_level():
    settings = [(0.001, 0.9), (0.004, 0.9), (0.004, 0.95), (0.004, 0.99)]
    limits = [calibrated_limits(0.4, v, 60, 6, level, 0)[:2] for v, level in settings]
    low, high = np.transpose(limits)
    assert np.all(np.diff(low) < 0)
    assert np.all(np.diff(high) > 0)
    assert low[0] < 0.4 < high[0]


def test_seeds():
    def limits(seed):
        inverted = inverted_limits(dcg, 3.0, 60, 6, 0.95, seed)
        return inverted, calibrated_limits(0.3, 0.006, 60, 6, 0.95, seed)

    assert limits(1) == limits(1) == limits(np.random.SeedSequence(1))
    assert limits(1) != limits(2)


# --------------------------------------------------------------------------------- calibrated t


def g(t):
    return -np.log(-np.log(t))


def g_slope(t):
    return -1 / (t * np.log(t))


@pytest.mark.parametrize("name", ["mixed", "ends", "nearly all", "far"])
def test_quantiles_of_t_are_those_of_all_scores(name):
    ranks, n_samples = RANKS[name]
    m, n_draws, n_plain = len(ranks), 4000, 4000
    value = average_precision_score(labels(ranks, n_samples), -np.arange(n_samples))
    variance = item_variance(labels(ranks, n_samples))
    low, high, fit = calibrated_limits(value, variance, n_samples, m, 0.95, 0)
    low_t, high_t = fit.t_quantiles
    scale = np.sqrt(variance) * g_slope(value)
    inverted = inverted_limits(average_precision_values, value, n_samples, m, 0.95, 0)
    by_t = np.exp(-np.exp(-(g(value) - np.array([high_t, low_t]) * scale)))
    expected = np.where(np.isinf([high_t, low_t]), inverted[:2], by_t)
    assert_allclose([low, high], expected, rtol=1e-12)
    assert np.isfinite([low_t, high_t]).any()
    fitted = fit.high_shift if np.isinf(high_t) else fit.low_shift
    assert fit.low_shift == (inverted[2].low_shift if np.isinf(high_t) else fitted)
    assert fit.high_shift == (inverted[2].high_shift if np.isinf(low_t) else fitted)

    drawn = plain_ranks(n_samples, m, fitted, n_plain, seed=8)[:, 0]
    ap = average_precision_values(drawn)
    shown = g(np.minimum(ap, 1 - 0.5 / (m * (m + 1))))
    error = shown.std() * np.sqrt(1 / n_plain + 1 / n_draws)
    assert_allclose(shown.mean(), g(value), atol=N_ERRORS * error)

    assert np.isinf(high_t) == (np.mean(drawn[:, -1] == m) > 0.025)
    assert np.isinf(low_t) == (np.mean(drawn[:, 0] > n_samples - m) > 0.025)
    # Both means are uncertain, and T may have atoms: so it is bounded on both sides.
    error = N_ERRORS * ap.std() * np.sqrt(1 / n_plain + 1 / n_draws)
    with np.errstate(divide="ignore", invalid="ignore"):
        scales = np.sqrt(average_precision_variances(drawn, n_samples)) * g_slope(ap)
        least, most = ((g(ap) - g(ap.mean() + by)) / scales for by in (error, -error))
    for t in (least, most):
        t[drawn[:, -1] == m] = np.inf
        t[drawn[:, 0] > n_samples - m] = -np.inf
    margin = N_ERRORS * np.sqrt(0.025 * 0.975 * 2 / least.size)
    assert np.mean(most < low_t) <= 0.025 + margin
    assert np.mean(least <= low_t) >= 0.025 - margin
    assert np.mean(least > high_t) <= 0.025 + margin
    assert np.mean(most >= high_t) >= 0.025 - margin


@pytest.mark.parametrize(
    ("value", "variance"), [(1.0, 0.0), (1.0, 1e-33), (0.1, 0.0), (average_precision_values, 1e-9)]
)
def test_tails_are_inverted_if_t_is_undefined(value, variance):
    if callable(value):
        value = value(np.arange(181, 201)[None])[0]
    limits = calibrated_limits(value, variance, 200, 20, 0.95, 3)
    assert limits == inverted_limits(average_precision_values, value, 200, 20, 0.95, 3)
    assert limits[2].t_quantiles is None


@pytest.mark.parametrize(("n_samples", "n_positives"), [(10, 1), (10, 9), (10, 10)])
def test_calibrated_t_needs_two_of_each(n_samples, n_positives):
    message = f"at least two positives and two negatives; got n_positives={n_positives} of n_s"
    with pytest.raises(ValueError, match=message):
        calibrated_limits(0.5, 0.01, n_samples, n_positives, 0.95, 0)


# ------------------------------------------------------------------------------------- coverage


def covered_by_t(n_samples, n_positives, shift, n_sets):
    """Share of data sets whose calibrated interval holds the mean; T depends on the value alone."""
    ranks = plain_ranks(n_samples, n_positives, shift, n_sets, seed=11)[:, 0]
    ap = average_precision_values(ranks)
    variances = average_precision_variances(ranks, n_samples)
    model = BinormalRankings(n_samples, n_positives, 12)
    mean = model.values(average_precision_values, np.array([shift]), 20_000).mean()
    is_usual = ap < 1
    knots = np.quantile(ap[is_usual], np.linspace(0, 1, 9), method="nearest")
    knots = np.unique(knots.round(12))
    fits = [
        calibrated_limits(x, 0.006, n_samples, n_positives, 0.95, i) for i, x in enumerate(knots)
    ]
    low_t, high_t = np.transpose([fit.t_quantiles for _, _, fit in fits])
    lows = [
        inverted_limits(average_precision_values, x, n_samples, n_positives, 0.95, i)[0]
        for i, x in enumerate(knots)
    ]
    by_inversion = np.interp(ap, knots, np.isinf(high_t)) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (g(ap) - g(mean)) / (np.sqrt(variances) * g_slope(ap))
        is_high_enough = np.interp(ap, knots, low_t) <= t
        is_low_enough = t <= np.interp(ap, knots, np.where(np.isinf(high_t), 0.0, high_t))
    held = is_high_enough & np.where(
        by_inversion, np.interp(ap, knots, lows) <= mean, is_low_enough
    )
    of_perfect = calibrated_limits(1.0, 0.0, n_samples, n_positives, 0.95, 0)[0] <= mean
    return np.mean(np.where(is_usual, held, of_perfect))


@pytest.mark.parametrize(
    ("n_samples", "n_positives", "shift"),
    [(200, 20, 1.0), pytest.param(200, 20, 3.0, marks=pytest.mark.long), (100, 5, 3.0)],
)
def test_coverage_of_the_calibrated_t(n_samples, n_positives, shift):
    n_sets = 250
    covered = covered_by_t(n_samples, n_positives, shift, n_sets)
    assert covered > 0.939 - N_ERRORS * np.sqrt(0.05 * 0.95 / n_sets)
    if n_positives == 20:
        assert covered < 0.97 + N_ERRORS * np.sqrt(0.05 * 0.95 / n_sets)


def test_coverage_of_the_inversion():
    """Limits are smooth functions of the value; so they are interpolated for all data sets."""
    n_sets, shift = 2000, 1.0
    ranks = plain_ranks(200, 20, shift, n_sets, seed=9)[:, 0]
    model = BinormalRankings(200, 20, 10)
    error = np.sqrt(0.05 * 0.95 / n_sets)

    values = dcg(ranks)
    knots = np.linspace(values.min(), values.max(), 10)
    limits = np.array([inverted_limits(dcg, x, 200, 20, 0.95, i)[:2] for i, x in enumerate(knots)])
    low, high = (np.interp(values, knots, side) for side in limits.T)
    mean = model.values(dcg, np.array([shift]), 20_000).mean()
    # Each limit has separate Monte Carlo errors, which the knots spread over data sets.
    assert_allclose(np.mean((low <= mean) & (mean <= high)), 0.95, atol=N_ERRORS * error + 0.005)
    assert_share(np.mean(low > mean), 0.025, n_sets, 4000)
    assert_share(np.mean(high < mean), 0.025, n_sets, 4000)


@pytest.mark.parametrize("lost", [1, 33])
def test_inverted_limits_hold_the_observed_value_and_are_nested(lost):
    # BEDROC near its largest value: all positives first but for the last, which is farther down.
    n, m, alpha = 100, 10, 100.0

    def bedroc(ranks):
        sums = np.exp(-alpha * ranks / n).sum(axis=1)
        first = np.exp(-alpha * np.arange(1, m + 1) / n).sum()
        last = np.exp(-alpha * np.arange(n - m + 1, n + 1) / n).sum()
        return (sums - last) / (first - last)

    value = float(bedroc(np.array([[*range(1, m), m + lost]]))[0])
    limits = [inverted_limits(bedroc, value, n, m, level, seed=0)[:2] for level in (0.5, 0.9, 0.99)]
    for low, high in limits:
        assert low <= value <= high <= 1.0
    (low, high), *wider = limits
    for other_low, other_high in wider:
        assert other_low <= low
        assert high <= other_high
        low, high = other_low, other_high
