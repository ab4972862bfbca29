"""Metrics at another prevalence against scikit-learn, copies of items, and values by hand."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from scipy.optimize import brentq
from sklearn.metrics import average_precision_score

from sklearn_rankinf import (
    AveragePrecision,
    EnrichmentAtK,
    FScoreAtK,
    Ranking,
    RecallAtK,
    metric_comparison_test,
    metric_interval,
)
from sklearn_rankinf._estimation.limits import jeffreys_limits
from sklearn_rankinf._estimation.prevalence import (
    AveragePrecisionInPopulation,
    HitsInPopulation,
    PrecisionAtPositives,
)
from sklearn_rankinf._statistics import HitBlocks

pytestmark = pytest.mark.filterwarnings("ignore:At prevalence=:UserWarning")

# 40 items, the eight positives at these ranks.
PLACES = [1, 2, 4, 7, 11, 12, 20, 33]
Y = np.isin(np.arange(1, 41), PLACES)
S = -np.arange(40.0)
RANKING = Ranking.from_scores(Y, S)


def sample(seed=0, m=60, n0=1500, shift=1.5):
    rng = np.random.default_rng(seed)
    y_true = np.arange(m + n0) < m
    return y_true, rng.normal(size=m + n0) + shift * y_true


def g(t):
    return -math.log(-math.log(t))


def weighted(y_true, y_score, prevalence):
    """Scikit-learn's value with the classes in the proportion of the population."""
    weight = np.where(y_true, prevalence / y_true.sum(), (1.0 - prevalence) / (~y_true).sum())
    return average_precision_score(y_true, y_score, sample_weight=weight)


# ---------------------------------------------------------------------------------------------
# Average precision
# ---------------------------------------------------------------------------------------------

CHECK_VALUES = {
    0.05: {
        "plain": 0.386797022979,
        "value": 0.213266659696,
        "positives": 0.010012885508,
        "negatives": 0.011090739096,
        "ends": (0.097153867109, 0.523268435860),
        "mover": (0.024755893988, 0.648302930122),
        "influence": (0.012497900261, 0.579923300893),
    },
    0.2: {
        "plain": 0.608549783550,
        "value": 0.520214832518,
        "positives": 0.015744172339,
        "negatives": 0.011063748193,
        "ends": (0.332849312015, 0.736339545867),
        "mover": (0.147269749271, 0.831504114066),
        "influence": (0.129900996402, 0.811190760966),
    },
    0.5: {
        "plain": 0.822342911688,
        "value": 0.789036228778,
        "positives": 0.005736706540,
        "negatives": 0.002696625438,
        "ends": (0.658687297889, 0.889997184701),
        "mover": (0.463653710564, 0.936538079335),
        "influence": (0.469085430704, 0.928516884187),
    },
}


@pytest.mark.parametrize("prevalence", CHECK_VALUES)
def test_values_of_a_separate_program(prevalence):
    expected = CHECK_VALUES[prevalence]
    found = PrecisionAtPositives.of(RANKING, prevalence)
    same = {"rtol": 0.0, "atol": 1e-12}
    assert_allclose(found.average(found.misses), expected["plain"], **same)
    assert_allclose(found.value, expected["value"], **same)
    assert_allclose(found.variance_of_positives, expected["positives"], **same)
    assert_allclose(found.variance_of_negatives, expected["negatives"], **same)
    few, many = jeffreys_limits(found.misses, 32)
    assert_allclose([found.average(32 * many), found.average(32 * few)], expected["ends"], **same)
    value, (worst, best) = expected["value"], expected["ends"]
    t, z = stats.t.ppf(0.975, 7), stats.norm.ppf(0.975)

    def limit(sign, end, slope_at, variance):
        of_positives = t * math.sqrt(variance) / (-slope_at * math.log(slope_at))
        distance = math.hypot(of_positives, 0.0 if end is None else t / z * (g(end) - g(value)))
        return math.exp(-math.exp(-(g(value) + sign * distance)))

    low = limit(-1.0, worst, value, expected["positives"])
    high = limit(1.0, best, value, expected["positives"])
    assert_allclose([low, high], expected["mover"], rtol=0.0, atol=1e-10)
    both = expected["positives"] + expected["negatives"]
    influence = [limit(sign, None, value, both) for sign in (-1.0, 1.0)]
    assert_allclose(influence, expected["influence"], rtol=0.0, atol=1e-10)
    # The slope at the upper end counts where it is steeper.
    steeper = limit(1.0, best, best, expected["positives"])
    limits = found.mover_limits(0.95)
    assert_allclose(limits[0], expected["mover"][0], **same)
    assert_allclose(limits[1], max(expected["mover"][1], steeper), rtol=0.0, atol=1e-10)


def test_jeffreys_limits_are_those_of_a_separate_program():
    low, high = jeffreys_limits([0, 6], 32)
    assert_allclose(low, [0.000015225304, 0.082268413517], atol=1e-12)
    assert_allclose(high, [0.074927763429, 0.346295414334], atol=1e-12)
    posterior = stats.beta(6.5, 26.5)
    assert_allclose(jeffreys_limits(6, 32, 0.8), posterior.ppf([0.1, 0.9]), rtol=1e-10)


@pytest.mark.parametrize("prevalence", [0.07, 0.2, 0.5, 0.9])
def test_the_public_function_has_these_limits(prevalence):
    found = metric_interval(Y, S, prevalence=prevalence)
    counts = PrecisionAtPositives.of(RANKING, prevalence)
    assert found.statistic == counts.value
    assert (found.low, found.high) == counts.mover_limits(0.95)
    assert found.method == "mover"
    variance = counts.variance_of_positives + counts.variance_of_negatives
    assert found.standard_error == pytest.approx(math.sqrt(variance))
    assert (found.n_samples, found.n_positives, found.prevalence) == (40, 8, prevalence)


@pytest.mark.parametrize("prevalence", [0.05, 0.5])
def test_the_interval_from_influence_values_on_the_g_scale(prevalence):
    y_true, y_score = sample()
    found = metric_interval(y_true, y_score, prevalence=prevalence, method="influence")
    reach = stats.t.ppf(0.975, 59) * found.standard_error
    reach /= -found.statistic * math.log(found.statistic)
    assert g(found.high) - g(found.statistic) == pytest.approx(reach, rel=1e-9)
    assert g(found.statistic) - g(found.low) == pytest.approx(reach, rel=1e-9)


BLOCKS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=12).filter(
    lambda blocks: sum(y for y, _ in blocks) > 0 and sum(x for _, x in blocks) > 0
)


def items_of(blocks):
    """Labels and scores of blocks of equal scores with positives and negatives."""
    blocks = [(y, x) for y, x in blocks if y + x]
    labels = np.concatenate([np.repeat([True, False], block) for block in blocks])
    return labels, -np.repeat(np.arange(len(blocks)), [y + x for y, x in blocks])


@given(BLOCKS, st.floats(0.001, 0.999))
def test_the_plain_value_is_that_of_weights(blocks, prevalence):
    y_true, y_score = items_of(blocks)
    counts = PrecisionAtPositives.of(Ranking.from_scores(y_true, y_score), prevalence)
    expected = weighted(y_true, y_score, prevalence)
    assert counts.average(counts.misses) == pytest.approx(expected, rel=1e-12)
    assert counts.value < expected


@given(BLOCKS)
def test_at_the_prevalence_of_the_sample_the_plain_value_is_average_precision(blocks):
    y_true, y_score = items_of(blocks)
    counts = PrecisionAtPositives.of(Ranking.from_scores(y_true, y_score), y_true.mean())
    expected = average_precision_score(y_true, y_score)
    assert counts.average(counts.misses) == pytest.approx(expected, rel=1e-12)


@given(BLOCKS, st.floats(0.001, 0.999), st.sampled_from([0.01, 0.5, 0.95, 0.999]))
def test_limits_are_on_either_side_of_the_value(blocks, prevalence, level):
    y_true, y_score = items_of(blocks)
    counts = PrecisionAtPositives.of(Ranking.from_scores(y_true, y_score), prevalence)
    low, high = counts.mover_limits(level)
    assert 0.0 <= low <= counts.value <= high <= 1.0
    if y_true.sum() == 1:
        assert (low, high) == (0.0, 1.0)


def smoothed(y_score, of_positives, of_negatives, y_true, prevalence):
    """The value for weights of items, with half a negative above each positive."""
    n0 = np.count_nonzero(~y_true)
    odds = n0 * prevalence / (1.0 - prevalence)
    total = 0.0
    for own, score in zip(of_positives, y_score[y_true], strict=True):
        hits = of_positives[y_score[y_true] >= score].sum() / of_positives.sum()
        misses = of_negatives[y_score[~y_true] >= score].sum()
        total += own * odds * hits / (odds * hits + misses + 0.5)
    return total / of_positives.sum()


@pytest.mark.parametrize("prevalence", [0.02, 0.3])
@pytest.mark.parametrize("digits", [0, 5])
def test_variances_are_those_of_derivatives(prevalence, digits):
    y_true, y_score = sample(m=12, n0=70)
    y_score = y_score.round(digits)
    counts = PrecisionAtPositives.of(Ranking.from_scores(y_true, y_score), prevalence)
    m, n0, step = 12, 70, 1e-5
    plain = np.ones(m), np.ones(n0)

    def derivative(which, i):
        values = []
        for sign in (1.0, -1.0):
            weights = [each.copy() for each in plain]
            weights[which][i] += sign * step
            values.append(smoothed(y_score, *weights, y_true, prevalence))
        return (values[0] - values[1]) / (2.0 * step)

    positive = np.array([derivative(0, i) for i in range(m)])
    expected = m / (m - 1) * np.sum((positive - positive.mean()) ** 2)
    assert counts.variance_of_positives == pytest.approx(expected, rel=1e-7)
    negative = np.array([derivative(1, i) for i in range(n0)])
    # Half a negative is moved from the end, where its influence is 0, to the top.
    top = negative[np.argmax(y_score[~y_true])]
    sums = negative.sum() + 0.5 * top, np.sum(negative**2) + 0.5 * top**2
    expected = n0 / (n0 - 1) * (sums[1] - sums[0] ** 2 / n0)
    if y_score[~y_true].max() > y_score[y_true].max():
        assert counts.variance_of_negatives == pytest.approx(expected, rel=1e-7)
    else:
        assert counts.variance_of_negatives > 0.0


@given(BLOCKS, st.floats(0.05, 0.95))
def test_one_more_copy_of_each_negative_is_a_sample_of_twice_as_many(blocks, prevalence):
    y_true, y_score = items_of(blocks)
    twice = np.repeat(np.arange(y_true.size), np.where(y_true, 1, 2))
    one, two = (
        PrecisionAtPositives.of(Ranking.from_scores(y_true[own], y_score[own]), prevalence)
        for own in (slice(None), twice)
    )
    assert two.average(two.misses) == pytest.approx(one.average(one.misses), rel=1e-12)
    assert two.value >= one.value
    assert two.average(two.misses + 1.0) == pytest.approx(one.value, rel=1e-12)


def test_a_single_positive_has_no_limits():
    y_true = np.arange(100) == 3
    found = metric_interval(y_true, -np.arange(100.0), prevalence=0.3)
    assert (found.low, found.high) == (0.0, 1.0)
    assert math.isnan(found.standard_error)


@pytest.mark.parametrize("m", [2, 60])
def test_all_positives_on_top(m):
    y_true = np.arange(1000) < m
    found = metric_interval(y_true, -np.arange(1000.0), prevalence=0.2)
    assert found.high == 1.0
    assert found.low <= 0.025 ** (1.0 / m) + 1e-15
    assert 0.5 < found.statistic < 1.0
    # Precision of a population whose negatives are all below is 1.
    more = metric_interval(np.arange(10**6) < m, -np.arange(1e6), prevalence=0.2)
    assert more.statistic > found.statistic


def test_all_positives_at_the_end():
    y_true = np.arange(1000) >= 940
    found = metric_interval(y_true, -np.arange(1000.0), prevalence=0.2)
    assert 0.0 < found.low < found.statistic < found.high < 0.2


def test_a_constant_score_has_the_prevalence():
    y_true = np.arange(4000) < 400
    found = metric_interval(y_true, np.ones(4000), prevalence=0.1)
    assert found.statistic == pytest.approx(0.1, rel=2e-4)
    assert found.low < 0.1 < found.high


def test_more_negatives_of_the_same_population_narrow_the_interval():
    y_true, y_score = sample(m=100, n0=40_000)
    widths = []
    for n0 in (500, 4000, 40_000):
        found = metric_interval(y_true[: 100 + n0], y_score[: 100 + n0], prevalence=0.01)
        widths.append(found.high - found.low)
    assert widths[0] > widths[1] > widths[2]


def test_the_interval_widens_with_the_level():
    data = sample()
    limits = [
        (found.low, -found.high)
        for level in (0.5, 0.8, 0.95, 0.999)
        for found in [metric_interval(*data, prevalence=0.02, confidence_level=level)]
    ]
    assert np.all(np.diff(limits, axis=0) < 0.0)


# ---------------------------------------------------------------------------------------------
# Hits in a top fraction
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [60, 150])
@pytest.mark.parametrize("name", ["recall", "precision", "enrichment", "f_score"])
def test_at_the_prevalence_of_the_sample_hits_are_those_of_the_sample(name, k):
    y_true, y_score = sample()
    plain = metric_interval(y_true, y_score, metric=f"{name}@{k}")
    found = metric_interval(
        y_true, y_score, metric=f"{name}@{k / 1560!r}", prevalence=y_true.mean()
    )
    assert found.method == "union"
    assert found.statistic == pytest.approx(plain.statistic, rel=1e-9)
    # The union holds the score limits.
    assert found.low <= plain.low * (1.0 + 1e-9)
    assert found.high >= plain.high * (1.0 - 1e-9)
    assert found.standard_error == pytest.approx(plain.standard_error, rel=0.05)


def test_limits_of_the_top_fraction_are_where_the_criteria_are_met():
    y_true, y_score = sample(m=80, n0=2000)
    fraction, prevalence, t = 0.03, 0.01, stats.t.ppf(0.975, 79)
    found = metric_interval(y_true, y_score, metric=RecallAtK(fraction), prevalence=prevalence)
    order = y_true[np.argsort(-y_score)]
    mass = np.cumsum(np.where(order, prevalence / 80, (1.0 - prevalence) / 2000))
    k = int(np.sum(mass <= fraction))
    hits = int(order[:k].sum())
    # The next item is a negative, of which a part is in the fraction.
    assert not order[k]
    assert found.statistic == pytest.approx(hits / 80)
    misses = 2000 * (fraction - prevalence * hits / 80) / (1.0 - prevalence)
    rank = round(hits + misses)
    d = max(2, round(rank**0.8 / 2))
    share = (order[rank - d : rank + d].sum() + 80 / 2080) / (2 * d + 1)
    one, other = prevalence * share / 80, (1.0 - prevalence) * (1.0 - share) / 2000
    slope = one / (one + other)

    def variance(kappa, phi):
        odds = (1.0 - prevalence) / prevalence
        of_negatives = slope**2 * odds**2 * phi * (1.0 - phi) / 2000
        return (1.0 - slope) ** 2 * kappa * (1.0 - kappa) / 80 + of_negatives

    def by_score(kappa):
        phi = (fraction - prevalence * kappa) / (1.0 - prevalence)
        return (hits / 80 - kappa) ** 2 - t**2 * variance(kappa, phi)

    smooth = (hits + 0.5) / 81
    effective = smooth * (1.0 - smooth) / variance(smooth, (misses + 0.5) / 2001)

    def by_likelihood(kappa):
        p = hits / 80
        divergence = p * math.log(p / kappa) + (1.0 - p) * math.log((1.0 - p) / (1.0 - kappa))
        return 2.0 * effective * divergence - t**2

    roots = [
        [brentq(excess, *ends, xtol=1e-13) for excess in (by_score, by_likelihood)]
        for ends in ((1e-9, hits / 80), (hits / 80, 1.0 - 1e-9))
    ]
    assert found.low == pytest.approx(min(roots[0]), rel=1e-8)
    assert found.high == pytest.approx(max(roots[1]), rel=1e-8)


@pytest.mark.parametrize("prevalence", [0.005, 0.03, 0.2])
def test_precision_and_enrichment_are_multiples_of_recall(prevalence):
    data, fraction = sample(), 0.04
    recall, precision, enrichment, f_score = (
        metric_interval(*data, metric=f"{name}@{fraction}", prevalence=prevalence)
        for name in ("recall", "precision", "enrichment", "f_score")
    )
    factors = prevalence / fraction, 1.0 / fraction, 2.0 * prevalence / (prevalence + fraction)
    for found, factor in zip((precision, enrichment, f_score), factors, strict=True):
        for part in ("statistic", "low", "high", "standard_error"):
            assert getattr(found, part) == pytest.approx(factor * getattr(recall, part), rel=1e-9)
    assert 0.0 <= precision.low <= precision.high <= 1.0
    assert precision.target == f"precision at 0.04 in a population with prevalence {prevalence:g}"
    assert enrichment.metric == EnrichmentAtK(0.04)


def test_ties_at_the_threshold_are_broken_at_random():
    y_true, y_score = sample(m=100, n0=1000)
    options = {"metric": "recall@0.05", "prevalence": 0.02}
    found = metric_interval(y_true, y_score.round(1), **options)
    rng = np.random.default_rng(3)
    broken = [
        metric_interval(y_true, y_score.round(1) + 1e-6 * rng.random(1100), **options).statistic
        for _ in range(400)
    ]
    error = np.std(broken) / 20
    assert found.statistic == pytest.approx(np.mean(broken), abs=5.0 * error + 1e-3)


def test_a_constant_score_has_the_fraction():
    y_true = np.arange(4000) < 400
    found = metric_interval(y_true, np.ones(4000), metric="recall@0.05", prevalence=0.01)
    assert found.statistic == pytest.approx(0.05)
    single = metric_interval(
        np.arange(400) < 1, -np.arange(400.0), metric="recall@0.1", prevalence=0.2
    )
    assert (single.low, single.high) == (0.0, 0.5)


@pytest.mark.filterwarnings("default")
def test_few_negatives_in_the_top_fraction_are_named():
    message = (
        r"A top fraction of 0.01 rests on about 15 of 1500 negatives, so that the interval may be "
        r"too short: 1000 more negatives are needed for a reliable one\."
    )
    with pytest.warns(UserWarning, match=message):
        metric_interval(*sample(), metric="precision@0.01", prevalence=0.01)


# ---------------------------------------------------------------------------------------------
# Other metrics
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "delong"])
def test_roc_auc_does_not_depend_on_the_prevalence(method):
    data = sample()
    options = {"metric": "roc_auc", "method": method}
    plain, found = (
        metric_interval(*data, **options, prevalence=prevalence) for prevalence in (None, 0.001)
    )
    for name in ("statistic", "low", "high", "standard_error", "method"):
        assert getattr(found, name) == getattr(plain, name)
    assert found.target == "ROC AUC in the population, which is the same at every prevalence"
    clusters = np.arange(1560) // 2
    of_clusters = metric_interval(*data, metric="roc_auc", clusters=clusters, prevalence=0.1)
    expected = metric_interval(*data, metric="roc_auc", clusters=clusters)
    assert (of_clusters.low, of_clusters.high) == (expected.low, expected.high)


# ---------------------------------------------------------------------------------------------
# Results, warnings and errors
# ---------------------------------------------------------------------------------------------


def test_the_result_names_the_prevalence():
    y_true, y_score = sample()
    found = metric_interval(y_true, y_score, prevalence=0.02)
    assert found.target == "average precision in a population with prevalence 0.02"
    assert found.summary() == (
        f"Average precision in a population with prevalence 0.02 was {found.statistic:.3g} "
        f"(95 % confidence interval {found.low:.3g} to {found.high:.3g}; MOVER with Jeffreys "
        "limits)."
    )
    assert "method='mover', prevalence=0.02)" in repr(found)
    assert found.to_dict()["prevalence"] == 0.02
    plain = metric_interval(y_true, y_score)
    assert plain.prevalence is None
    assert "prevalence" not in repr(plain)


def test_a_ranking_and_several_positive_labels():
    found = metric_interval(RANKING, prevalence=0.5)
    labels = np.where(Y, "case", "control")
    other = metric_interval(labels, S, pos_label="case", prevalence=0.5)
    assert (found.statistic, found.low) == (other.statistic, other.low)


@pytest.mark.parametrize(
    ("m", "n0", "prevalence", "message"),
    [
        (
            50,
            950,
            0.01,
            r"At prevalence=0.01 average precision rests on about 9.5 of the 950 negatives, so "
            r"that the value may be off by a third although the interval allows for it: 1050 more "
            r"negatives are needed for a reliable value\.",
        ),
        (
            20,
            980,
            0.01,
            r"about 9.8 of the 980 negatives and on 20 positives, so that the interval is too "
            r"short if only a part of the positives scores high: 4020 more negatives would be "
            r"enough\.",
        ),
        (20, 1000, 0.04, r"250 more negatives would be enough, or 30 more positives\."),
    ],
)
@pytest.mark.filterwarnings("default")
def test_few_negatives_are_named(m, n0, prevalence, message):
    with pytest.warns(UserWarning, match=message):
        metric_interval(*sample(m=m, n0=n0), prevalence=prevalence)


@pytest.mark.parametrize(
    ("m", "n0", "prevalence"), [(50, 1000, 0.02), (49, 1000, 0.05), (200, 100, 0.2)]
)
def test_enough_negatives_give_no_warning(m, n0, prevalence):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metric_interval(*sample(m=m, n0=n0), prevalence=prevalence)


DATA = sample()
WRONG = [
    ({"prevalence": 0.0}, ValueError, "prevalence must lie between 0 and 1"),
    ({"prevalence": 1}, ValueError, "prevalence must lie between 0 and 1, exclusive; got 1"),
    ({"prevalence": math.nan}, ValueError, "got nan"),
    ({"prevalence": "0.1"}, TypeError, "prevalence must be a number; got '0.1'"),
    (
        {"prevalence": 0.001},
        ValueError,
        r"rests on about 1.5 of the 1500 negatives, too few for a value: at least 2000 negatives "
        r"are needed, and 20000 for a reliable value\.",
    ),
    (
        {"prevalence": 0.01, "method": "influence"},
        ValueError,
        "too few for method='influence', which needs 2000 negatives: use method='mover'",
    ),
    (
        {"prevalence": 0.1, "method": "logit"},
        ValueError,
        "'auto', 'mover', 'influence' for average precision at another prevalence; got 'logit'",
    ),
    (
        {"prevalence": 0.1, "metric": AveragePrecision(k=50)},
        ValueError,
        "prevalence is not available for average precision at 50: pass metric='average_precision'",
    ),
    (
        {"prevalence": 0.1, "metric": "precision@50"},
        ValueError,
        r"Precision at 50 counts items, whose number means nothing at another prevalence: pass a "
        r"fraction of the population, such as PrecisionAtK\(0.01\)\.",
    ),
    (
        {"prevalence": 0.1, "metric": "enrichment@0.005"},
        ValueError,
        "A top fraction of 0.005 rests on about 7.5 of 1500 negatives, too few for an interval: "
        "use a larger fraction, or at least 2000 negatives",
    ),
    (
        {"prevalence": 0.1, "metric": "recall@0.1", "method": "score"},
        ValueError,
        "'auto', 'union' for recall at 0.1 at another prevalence; got 'score'",
    ),
    (
        {"prevalence": 0.1, "metric": "bedroc"},
        ValueError,
        "prevalence is not available for BEDROC: pass a metric such as 'average_precision'",
    ),
    (
        {"prevalence": 0.1, "groups": np.arange(1560) % 3},
        ValueError,
        "prevalence cannot be combined with groups",
    ),
    (
        {"prevalence": 0.1, "clusters": np.arange(1560) % 300},
        ValueError,
        "prevalence needs independent items of equal weight, but clusters, strata or weights",
    ),
]


@pytest.mark.parametrize(("options", "kind", "message"), WRONG)
def test_wrong_arguments(options, kind, message):
    with pytest.raises(kind, match=message):
        metric_interval(*DATA, **options)


def test_several_classes():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="prevalence is that of one class, but y_true has 3: pass"):
        metric_interval(rng.integers(3, size=90), rng.random((90, 3)), prevalence=0.1)


# ---------------------------------------------------------------------------------------------
# Two rankers
# ---------------------------------------------------------------------------------------------


def hit_blocks(rankings):
    """The blocks with hits of several lists."""
    columns = []
    for number, ranking in enumerate(rankings):
        ends, found = np.cumsum(ranking.tie_sizes), np.cumsum(ranking.hits)
        there = ranking.hits > 0
        starts, before = ends - ranking.tie_sizes, found - ranking.hits
        own = (starts, ranking.tie_sizes, before, ranking.hits)
        columns.append([np.full(there.sum(), number), *(each[there] for each in own)])
    first = rankings[0]
    parts = (np.concatenate(each) for each in zip(*columns, strict=True))
    return HitBlocks(*parts, len(rankings), first.n_samples, first.n_positives)


def orders(ranking):
    """Labels of all orders of a list with blocks of equal scores."""
    blocks = [
        set(itertools.permutations([True] * y + [False] * (g - y)))
        for g, y in zip(ranking.tie_sizes.tolist(), ranking.hits.tolist(), strict=True)
    ]
    return [np.concatenate(parts) for parts in itertools.product(*blocks)]


def half_more(labels, prevalence):
    """Average precision of a list without ties, with half a negative more above each positive."""
    misses = np.cumsum(~labels)[labels] + 0.5
    odds = np.count_nonzero(~labels) * prevalence / (1.0 - prevalence)
    found = odds * np.arange(1, labels.sum() + 1) / labels.sum()
    return np.mean(found / (found + misses))


LISTS = [
    Ranking.from_counts(*counts)
    for counts in (
        ([1, 2, 3, 1, 4], [1, 1, 0, 1, 1]),
        ([2, 1, 4, 4], [2, 0, 1, 1]),
        ([5, 1, 1, 1, 3], [1, 1, 0, 1, 1]),
        ([3, 3, 3, 2], [0, 3, 0, 1]),
    )
]


@pytest.mark.parametrize("prevalence", [0.01, 0.3, 0.8])
def test_many_lists_have_the_mean_over_orders_of_blocks(prevalence):
    metric = AveragePrecisionInPopulation(AveragePrecision(), prevalence)
    blocks = hit_blocks(LISTS)
    expected = [np.mean([half_more(own, prevalence) for own in orders(one)]) for one in LISTS]
    assert_allclose(metric.totals(blocks, are_kept=False), expected, rtol=1e-12)
    kept = [PrecisionAtPositives.of(one, prevalence).value for one in LISTS]
    assert_allclose(metric.totals(blocks, are_kept=True), kept, rtol=1e-12)
    assert_allclose([metric.evaluate(one.tie_sizes, one.hits) for one in LISTS], kept, rtol=1e-12)


@given(BLOCKS.filter(lambda blocks: sum(y + x for y, x in blocks) <= 9), st.floats(0.01, 0.99))
def test_the_mean_over_orders_of_mixed_blocks_is_nearly_exact(blocks, prevalence):
    ranking = Ranking.from_scores(*items_of(blocks))
    metric = AveragePrecisionInPopulation(AveragePrecision(), prevalence)
    values = [half_more(labels, prevalence) for labels in orders(ranking)]
    # Orders have equal probability, and all of those of labels occur equally often.
    (found,) = metric.totals(hit_blocks([ranking]), are_kept=False)
    assert min(values) - 1e-12 <= found <= max(values) + 1e-12
    assert found == pytest.approx(np.mean(values), abs=0.04)


@pytest.mark.parametrize("prevalence", [0.02, 0.3])
@pytest.mark.parametrize("digits", [0, 5])
def test_influence_is_the_derivative_of_the_value(prevalence, digits):
    y_true, y_score = sample(m=12, n0=70)
    y_score = y_score.round(digits)
    ranking = Ranking.from_scores(y_true, y_score)
    metric = AveragePrecisionInPopulation(AveragePrecision(), prevalence)
    found = metric.influence(ranking.tie_sizes, ranking.hits)
    _, places = np.unique(-y_score, return_inverse=True)
    influence, step = found.of_items(places, y_true), 1e-5
    classes = np.ones(12), np.ones(70)
    for which, members in enumerate((y_true, ~y_true)):
        derivatives = []
        for item in range(members.sum()):
            values = []
            for sign in (1.0, -1.0):
                weights = [each.copy() for each in classes]
                weights[which][item] += sign * step
                values.append(smoothed(y_score, *weights, y_true, prevalence))
            derivatives.append((values[0] - values[1]) / (2.0 * step))
        own = influence[members]
        expected = np.array(derivatives)
        assert_allclose(own - own.mean(), expected - expected.mean(), atol=1e-8)
    counts = PrecisionAtPositives.of(ranking, prevalence)
    assert found.class_variances()[0] == pytest.approx(counts.variance_of_positives, rel=1e-12)


@pytest.mark.parametrize("metric", [RecallAtK(0.05), EnrichmentAtK(0.05), FScoreAtK(0.05)])
@pytest.mark.parametrize("prevalence", [0.01, 0.2])
def test_hits_of_many_lists_are_those_of_the_interval(metric, prevalence):
    lists = []
    for digits in (0, 1, 9):
        y_true, y_score = sample(seed=digits)
        lists.append(Ranking.from_scores(y_true, y_score.round(digits)))
    own = HitsInPopulation(metric, prevalence)
    expected = [metric_interval(one, metric=metric, prevalence=prevalence) for one in lists]
    values = [one.statistic for one in expected]
    assert_allclose(own.totals(hit_blocks(lists), are_kept=False), values, rtol=1e-12)
    assert_allclose([own.evaluate(one.tie_sizes, one.hits) for one in lists], values, rtol=1e-12)
    # The variance of the interval has half a hit and half a miss more, and large blocks have less.
    variances = [own.influence(one.tie_sizes, one.hits).variance() for one in lists[1:]]
    assert_allclose(np.sqrt(variances), [one.standard_error for one in expected[1:]], rtol=0.03)


def two_rankers(seed=0, m=60, n0=1500, shifts=(1.5, 1.0)):
    rng = np.random.default_rng(seed)
    y_true = np.arange(m + n0) < m
    common = rng.normal(size=m + n0)
    return y_true, {
        name: common + rng.normal(size=m + n0) + 1.4 * shift * y_true
        for name, shift in zip("ab", shifts, strict=True)
    }


@pytest.mark.parametrize("k", [40, 150])
@pytest.mark.parametrize("name", ["recall", "enrichment"])
def test_at_the_prevalence_of_the_sample_swaps_of_hits_are_those_of_the_sample(name, k):
    y_true, scores = two_rankers()
    plain = metric_comparison_test(y_true, scores, metric=f"{name}@{k}", n_resamples=499)
    found = metric_comparison_test(
        y_true,
        scores,
        metric=f"{name}@{k / 1560!r}",
        prevalence=y_true.mean(),
        n_resamples=499,
    )
    assert found.pvalue == plain.pvalue
    assert found.difference == pytest.approx(plain.difference, rel=1e-9)
    assert (found.method, found.n_resamples, found.prevalence) == ("swap", 499, y_true.mean())
    assert found.metric.k == k / 1560
    assert found.standard_error == pytest.approx(plain.standard_error, rel=0.05)


def test_all_swaps_of_a_small_sample():
    y_true = np.array([1, 1, 0, 1, 0, 0, 0, 0], dtype=bool)
    ranks = np.array([[1, 2, 3, 4, 5, 6, 7, 8], [4, 1, 2, 7, 3, 8, 6, 5]])
    prevalence = 0.6
    differences = []
    for swapped in itertools.product([False, True], repeat=8):
        lists = np.where(swapped, ranks[::-1], ranks)
        values = []
        for own in lists:
            ranking = Ranking.from_scores(y_true, -own)
            values.append(np.mean([half_more(labels, prevalence) for labels in orders(ranking)]))
        differences.append(values[0] - values[1])
    observed = differences[0]
    expected = np.mean(np.abs(differences) >= abs(observed) - 1e-12)
    with pytest.warns(UserWarning, match="rests on about 3 of the 5 negatives"):
        found = metric_comparison_test(
            y_true, {"a": -ranks[0], "b": -ranks[1]}, prevalence=prevalence
        )
    assert found.difference == pytest.approx(observed, rel=1e-12)
    assert found.pvalue == expected


@pytest.mark.parametrize("metric", ["average_precision", "recall@0.05"])
def test_the_interval_combines_those_of_both_rankers(metric):
    y_true, scores = two_rankers()
    prevalence, level = 0.03, 0.9
    result = metric_comparison_test(
        y_true, scores, metric=metric, prevalence=prevalence, n_resamples=19
    )
    one, other = (
        metric_interval(y_true, own, metric=metric, prevalence=prevalence, confidence_level=level)
        for own in scores.values()
    )
    assert (result.statistic_a, result.statistic_b) == (one.statistic, other.statistic)
    kind = AveragePrecisionInPopulation if metric == "average_precision" else HitsInPopulation
    influence = []
    for own in scores.values():
        ranking = Ranking.from_scores(y_true, own)
        population = kind(RecallAtK(0.05), prevalence)
        found = population.influence(ranking.tie_sizes, ranking.hits)
        influence.append(found.of_items(np.argsort(np.argsort(-own)), y_true))
    covariance = sum(
        np.cov([each[members] for each in influence]) * members.sum()
        for members in (y_true, ~y_true)
    )
    scale = math.sqrt(covariance[0, 0] * covariance[1, 1])
    rho = covariance[0, 1] / scale * 60 / 70
    below, above = (
        (one.statistic - one.low, other.high - other.statistic),
        (one.high - one.statistic, other.statistic - other.low),
    )
    low, high = (
        math.sqrt(first**2 + second**2 - 2.0 * rho * first * second)
        for first, second in (below, above)
    )
    limits = result.confidence_interval(level)
    assert_allclose(limits, [result.difference - low, result.difference + high], rtol=1e-9)
    expected = covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]
    assert result.standard_error == pytest.approx(math.sqrt(expected), rel=1e-9)


def test_differences_change_their_sign():
    y_true, scores = two_rankers()
    turned = {"b": scores["b"], "a": scores["a"]}
    one, other = (
        metric_comparison_test(y_true, own, prevalence=0.03, n_resamples=199)
        for own in (scores, turned)
    )
    assert other.difference == -one.difference
    assert_allclose(other.confidence_interval(), -np.array(one.confidence_interval())[::-1])
    same = metric_comparison_test(y_true, [[s, s] for s in scores["a"]], prevalence=0.03)
    assert (same.difference, same.pvalue) == (0.0, 1.0)
    assert same.confidence_interval().low <= 0.0 <= same.confidence_interval().high


def test_what_a_comparison_at_another_prevalence_states():
    y_true, scores = two_rankers()
    found = metric_comparison_test(y_true, scores, prevalence=0.03, n_resamples=99)
    assert found.summary().startswith("Average precision in a population with prevalence 0.03 was ")
    assert repr(found.metric) == "AveragePrecision()"
    assert found.to_dict()["prevalence"] == 0.03
    verdict = found.verdict(margin=0.01)
    assert (verdict.unit, verdict.n_units) == ("items", 1560)
    plain = metric_comparison_test(y_true, scores, metric="roc_auc", method="delong")
    auc = metric_comparison_test(y_true, scores, metric="roc_auc", method="delong", prevalence=0.03)
    assert (auc.pvalue, auc.difference) == (plain.pvalue, plain.difference)
    assert (auc.prevalence, plain.prevalence) == (0.03, None)


def test_a_comparison_warns_once():
    y_true, scores = two_rankers(n0=900)
    with pytest.warns(UserWarning, match=r"rests on about 9 of the 900 negatives") as caught:
        metric_comparison_test(y_true, scores, prevalence=0.01, n_resamples=19)
    assert len(caught) == 1


def test_one_positive_has_no_interval_of_the_difference():
    y_true = np.arange(400) < 1
    scores = {"a": -np.arange(400.0), "b": -((np.arange(400) + 7.0) % 400)}
    found = metric_comparison_test(y_true, scores, prevalence=0.5, n_resamples=99)
    low, high = found.confidence_interval()
    assert math.isnan(found.standard_error)
    assert low <= found.difference <= high
    assert 0.0 < found.pvalue <= 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prevalence": 0.0}, "prevalence must lie between 0 and 1"),
        ({"prevalence": 0.001}, "too few for a value: at least 2000 negatives are needed"),
        ({"prevalence": 0.1, "metric": "bedroc"}, "prevalence is not available for BEDROC"),
        ({"prevalence": 0.1, "metric": "recall@50"}, "Recall at 50 counts items, whose number"),
        ({"prevalence": 0.1, "metric": "recall@0.001"}, "too few for an interval: use a larger"),
        (
            {"prevalence": 0.1, "method": "influence"},
            "'auto', 'swap', 'score_swap' for average precision at another prevalence; got 'infl",
        ),
        (
            {"prevalence": 0.1, "groups": np.arange(1560) % 3},
            "prevalence cannot be combined with groups",
        ),
        (
            {"prevalence": 0.1, "clusters": np.arange(1560) % 300},
            "prevalence needs independent items of equal weight, but clusters",
        ),
        (
            {"prevalence": 0.1, "strata": np.arange(1560) % 3},
            "independent items of equal weight, but clusters, strata or weights are given",
        ),
    ],
)
def test_comparisons_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        metric_comparison_test(*two_rankers(), **options)


def test_labels_of_one_class_are_not_compared():
    _, scores = two_rankers()
    with pytest.raises(ValueError, match="y_true has no negatives: an interval needs items"):
        metric_comparison_test(np.ones(1560), scores, prevalence=0.1)
