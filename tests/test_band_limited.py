"""Bounds from the transform on a finite band.

Oracles: Graham and Vaaler's series, numerical Fourier inversion, enumeration in exact fractions,
log p-values of a prototype and of importance sampling, sums over five levels.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import oracles
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import simpson

from sklearn_rankinf import (
    DiscountedCumulativeGain,
)
from sklearn_rankinf._engine.canonical import CanonicalSum
from sklearn_rankinf._engine.computed import ComputedDistribution, tails_of
from sklearn_rankinf._engine.inversion.band_limited import majorant_and_gap
from sklearn_rankinf._metrics import AveragePrecision, RocAuc
from sklearn_rankinf._scorers import resolution
from sklearn_rankinf._statistics.increments import Increments
from sklearn_rankinf._statistics.moments import mean_and_variance

pytestmark = pytest.mark.numeric

DECAYS = [0.01, 0.125, 0.5, 2.0, 5.0]
N_NODES = 4000
# Scorers accept this relative error of a p-value near 1.
TOLERANCE = math.log(10.0) * resolution(0.0)


def inverted(decay, x):
    """The majorant and the gap at x, by Simpson's rule over their Fourier transforms."""
    t = np.append(np.arange(N_NODES), N_NODES) / N_NODES
    waves = np.exp(2j * np.pi * np.outer(x, t))
    both = []
    for transform in majorant_and_gap(decay, N_NODES):
        # Transforms are continuous, and 0 at 1. All values but the first stand for two.
        values = np.append(transform, 0.0)
        values[0] *= 2.0
        both.append(simpson((waves * values).real, x=t, axis=1))
    return both


@pytest.mark.parametrize("decay", DECAYS)
def test_majorant_and_minorant_enclose_the_truncated_exponential(decay):
    x = np.setdiff1d(np.linspace(-25.0, 25.0, 1501), [0.0])
    majorant, gap = inverted(decay, x)
    exponential = np.where(x > 0.0, np.exp(-decay * np.abs(x)), 0.0)
    assert np.all(majorant >= exponential - 1e-8)
    assert np.all(majorant - gap <= exponential + 1e-8)
    assert_allclose(gap, np.sinc(x) ** 2, atol=1e-8)


@pytest.mark.parametrize("decay", DECAYS)
def test_majorant_is_the_series_of_graham_and_vaaler(decay):
    x = np.array([-7.3, -0.4, 0.2, 0.5, 1.7, 3.25, 12.6])
    n = np.arange(math.ceil(40.0 / decay) + 1)
    damped = np.exp(-decay * n)
    squares = (damped / (x[:, None] - n) ** 2).sum(axis=1)
    firsts = (damped * (1.0 / (x[:, None] - n) - 1.0 / x[:, None]))[:, 1:].sum(axis=1)
    series = (np.sin(np.pi * x) / np.pi) ** 2 * (squares - decay * firsts)
    assert_allclose(inverted(decay, x)[0], series, atol=1e-8)


@pytest.mark.parametrize("decay", DECAYS)
def test_majorant_interpolates_the_exponential_at_whole_numbers(decay):
    x = np.arange(-20.0, 21.0)
    expected = np.where(x >= 0.0, np.exp(-decay * np.abs(x)), 0.0)
    assert_allclose(inverted(decay, x)[0], expected, atol=1e-8)


@pytest.mark.parametrize("decay", DECAYS[1:])
def test_integrals_of_the_majorant_and_of_the_minorant(decay):
    majorant, gap = majorant_and_gap(decay, N_NODES)
    assert_allclose(majorant[0].real, 1.0 / (1.0 - math.exp(-decay)), rtol=1e-13)
    assert_allclose((majorant - gap)[0].real, 1.0 / (math.exp(decay) - 1.0), rtol=1e-11)
    # Beyond 100 a function that falls like a square has about 1 % of its integral.
    x = np.linspace(-100.0, 100.0, 4001)
    values, gaps = inverted(decay, x)
    assert_allclose(simpson(values, x=x), 1.0 / (1.0 - math.exp(-decay)), rtol=1e-2)
    assert_allclose(simpson(values - gaps, x=x), 1.0 / (math.exp(decay) - 1.0), atol=1e-2)


# Enumeration


def enumerated(sizes, m, value):
    """Values of all outcomes, ascending, and shares of the placements, in fractions."""
    counts = Counter()
    for hits in itertools.product(*(range(min(size, m) + 1) for size in sizes)):
        if sum(hits) == m:
            ways = math.prod(math.comb(size, y) for size, y in zip(sizes, hits, strict=True))
            counts[value(hits)] += ways
    assert sum(counts.values()) == math.comb(sum(sizes), m)
    values = sorted(counts)
    return values, [Fraction(counts[v], math.comb(sum(sizes), m)) for v in values]


def assert_encloses(bounds, values, shares, at_values=True):
    """Logs of bounds enclose both tails at all values, and between them."""
    x = np.array([float(v) for v in values])
    points = np.concatenate([x, 0.5 * (x[1:] + x[:-1])]) if at_values else 0.5 * (x[1:] + x[:-1])
    n_known = 0
    for sign in (1, -1):
        lower, upper = bounds(points, sign)
        for point, low, high in zip(points.tolist(), lower, upper, strict=True):
            beyond = [sign * (v - point) >= -1e-12 * max(1.0, abs(point)) for v in x.tolist()]
            p = sum(itertools.compress(shares, beyond), Fraction(0))
            log_p = math.log(p.numerator) - math.log(p.denominator) if p else -math.inf
            assert low <= log_p + 1e-12
            assert high >= log_p - 1e-12
            n_known += low > -math.inf
    return n_known


def bounds_of(increments, m):
    """Bounds of a sum that is given by its increments, by value and sign."""
    canonical = CanonicalSum.of_increments(increments, m)
    mean, variance = mean_and_variance(canonical.blocks, canonical.n_counted)
    within = -math.inf, math.inf

    def nothing(t, sign):
        return np.zeros(t.shape), np.ones(t.shape)

    tails = tails_of(canonical, mean, math.sqrt(variance), within, nothing, canonical.n_counted)
    return lambda t, sign: tails.log_bounds(*canonical.form.value(t, sign))


@st.composite
def sums(draw):
    """Blocks of a few items, and whole numbers as coefficients."""
    sizes = draw(st.lists(st.integers(1, 7), min_size=2, max_size=6))
    m = draw(st.integers(1, min(sum(sizes) - 1, 9)))
    largest = draw(st.sampled_from([3, 40, 1000]))
    number = st.integers(0, largest)
    whole = st.lists(number, min_size=len(sizes), max_size=len(sizes))
    none = [0] * len(sizes)
    linear = draw(whole)
    cross, square = (draw(whole), draw(whole)) if draw(st.booleans()) else (none, none)
    return sizes, m, cross, linear, square


@given(sums())
def test_bounds_of_drawn_sums_enclose_enumeration(drawn):
    sizes, m, cross, linear, square = drawn

    def value(hits):
        before = [0, *itertools.accumulate(hits)]
        parts = zip(hits, before, cross, linear, square, strict=False)
        return sum(y * (c * h + a + q * y) for y, h, c, a, q in parts)

    values, shares = enumerated(sizes, m, value)
    assume(len(values) > 1)
    coefficients = (np.array(each, dtype=float) for each in (cross, linear, square))
    assert_encloses(bounds_of(Increments(np.array(sizes), *coefficients), m), values, shares)


STRUCTURES = [
    ([1, 2, 3, 4, 5, 6], 4),
    ([6, 5, 4, 3, 2, 1], 4),
    ([5] * 5, 7),
    ([20, 1, 1, 1, 20], 5),
    ([1, 30, 2, 40, 3], 4),
    ([3, 3, 60], 5),
    ([2, 2, 2, 2, 2, 2], 9),
    ([50, 50], 20),
    ([1] * 12, 5),
]


def average_precision(sizes):
    return lambda hits: oracles.average_precision(sizes, list(hits))


def area(sizes):
    """Share of pairs of a positive and a negative in order, ties half."""

    def value(hits):
        m, misses_below, pairs = sum(hits), 0, Fraction(0)
        for size, y in list(zip(sizes, hits, strict=True))[::-1]:
            pairs += y * (misses_below + Fraction(size - y, 2))
            misses_below += size - y
        return pairs / (m * (sum(sizes) - m))

    return value


def weighted(weight):
    """Sums of weights of ranks, means over ties, rounded to distinguish equal sums."""

    def of_sizes(sizes):
        ends = np.cumsum(sizes)
        means = [
            np.mean([weight(rank) for rank in range(end - size + 1, end + 1)])
            for end, size in zip(ends.tolist(), sizes, strict=True)
        ]
        return lambda hits: round(float(np.dot(hits, means)), 11)

    return of_sizes


METRICS = {
    "average precision": (AveragePrecision(), average_precision, True),
    "roc auc": (RocAuc(), area, True),
    "dcg": (DiscountedCumulativeGain(), weighted(lambda r: 1.0 / math.log2(r + 1.0)), False),
}


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize(("sizes", "m"), STRUCTURES, ids=str)
def test_bounds_of_metrics_enclose_enumeration(name, sizes, m):
    metric, value, at_values = METRICS[name]
    values, shares = enumerated(sizes, m, value(sizes))
    distribution = ComputedDistribution(metric, sum(sizes), m, np.array(sizes))
    form, tails = distribution._form, distribution._tails
    offset = metric.offset(sum(sizes), m)

    def bounds(x, sign):
        # Just before a value, which is rounded.
        return tails.log_bounds(*form.value(x - offset - sign * 1e-12, sign))

    n_known = assert_encloses(bounds, values, shares, at_values)
    # Bounds of more than nothing, on either side of the mean.
    assert n_known > 0.5 * len(values)
