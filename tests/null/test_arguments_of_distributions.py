"""Every method of a null distribution under every kind of argument, as in scipy.stats.

Each problem is walked through with all warnings, and all floating-point errors that numpy reports,
turned into errors.
"""

import warnings

import numpy as np
import pytest
from by_name import ap_null_distribution
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from sklearn_rankinf._engine.exact import bounds

PROBLEMS = {
    "nothing to find": (20, 0, {}),
    "one item": (1, 1, {}),
    "all positive": (12, 12, {"tie_sizes": (3, 4, 5)}),
    "one value": (12, 5, {"tie_sizes": (12,)}),
    "one positive": (50, 1, {}),
    "enumerated": (30, 4, {}),
    "enumerated, tied": (25, 5, {"tie_sizes": (3, 1, 5, 1, 10, 5)}),
    "by halves": (22, 11, {}),
    "by halves, tied": (400, 60, {"tie_sizes": (50,) * 8}),
    "few positives": (400, 8, {}),
    "many positives": (90, 27, {}),
    "many positives, tied": (60, 18, {"tie_sizes": (1,) * 14 + (2,) * 23}),
    "few negatives": (120, 84, {}),
    "few negatives, tied": (120, 84, {"tie_sizes": (1,) * 30 + (2,) * 45}),
    "two negatives": (400, 398, {}),
    "few at the top": (2000, 40, {"tie_sizes": (1,) * 200 + (1800,)}),
    "a large block at the top": (600, 40, {"tie_sizes": (400,) + (1,) * 200}),
    "long list": (10**6, 1000, {}),
    "top 5": (400, 60, {"k": 5}),
    "top 50": (400, 60, {"k": 50}),
    "top 50, tied": (400, 60, {"k": 50, "tie_sizes": (1,) * 40 + (20,) * 18}),
    "normal": (400, 60, {"method": "normal"}),
    "pearson3": (400, 60, {"method": "pearson3"}),
    "zhang_su": (400, 60, {"method": "zhang_su"}),
    "permutation": (400, 60, {"method": "permutation", "n_resamples": 99}),
}
SLOW = (
    "many positives, tied",
    "by halves, tied",
    "few negatives, tied",
    "few positives",
    "few at the top",
    "a large block at the top",
    "long list",
    "top 50",
    "top 50, tied",
)
APPROXIMATIONS = ("normal", "pearson3", "zhang_su")

OF_VALUES = ("cdf", "sf", "logcdf", "logsf", "pvalue", "log_pvalue", "relative_error")
OF_LEVELS = ("ppf", "isf")

EXTREME = (-np.inf, -1e308, -1.0, -5e-324, 0.0, 5e-324, 1e-300, 1.0, 1 + 1e-9, 2.0, 1e308, np.inf)
LEVELS = (0.0, 1e-12, 0.3, 0.5, 1 - 1e-12, 1.0)
EXTREME_LEVELS = (0.0, 5e-324, 1e-300, *LEVELS[1:-1], 1 - 2**-53, 1.0)


@pytest.fixture(autouse=True)
def nothing_escapes():
    with warnings.catch_warnings(), np.errstate(all="warn", under="ignore"):
        warnings.simplefilter("error")
        yield


@pytest.fixture(
    params=[pytest.param(name, marks=pytest.mark.long if name in SLOW else ()) for name in PROBLEMS]
)
def null(request):
    n_samples, n_positives, options = PROBLEMS[request.param]
    return ap_null_distribution(n_samples, n_positives, **options)


def some_values(null):
    """Both ends, just beyond them, the body, and the extremes of floating point."""
    inner = null.mean() + null.std() * np.array([-8, -2, -1e-9, 0, 1e-9, 0.5, 4, 12, 60])
    ends = np.array(null.support())
    ends = ends[np.isfinite(ends)]
    beside = [end * (1 + step) for end in ends for step in (-1e-9, 1e-15, 1e-9)]
    return np.concatenate([EXTREME, inner, ends, beside])


def test_every_value_has_a_result(null):
    x = some_values(null)
    for name in OF_VALUES:
        assert not np.any(np.isnan(getattr(null, name)(x))), name
    for alternative in ("greater", "less", "two-sided"):
        p, log_p = null.pvalue(x, alternative), null.log_pvalue(x, alternative)
        assert np.all((p >= 0.0) & (p <= 1.0))
        assert np.all(log_p <= 0.0)
        assert np.all(null.relative_error(x, alternative) >= 1e-13)
        representable = p > 1e-290
        assert_allclose(np.exp(log_p[representable]), p[representable], rtol=1e-10)


def test_bounds_of_extreme_values(null, monkeypatch):
    monkeypatch.setattr(bounds, "SETTINGS", bounds.BoundSettings(max_cells=1000))
    for alternative, x in (("greater", EXTREME), ("less", EXTREME), ("two-sided", EXTREME[::3])):
        lower, upper = null.pvalue_bounds(x, alternative)
        assert np.all((lower >= 0.0) & (lower <= upper) & (upper <= 1.0))


def test_probabilities_are_monotone_and_complementary(null):
    x = np.sort(some_values(null))
    rounding = 1e-12 + 2 * np.minimum(null.relative_error(x), null.relative_error(x, "less"))
    rounding = np.where(np.isfinite(rounding), np.minimum(rounding, 1.0), 1e-12)
    for name, sign in (("cdf", 1), ("sf", -1), ("logcdf", 1), ("logsf", -1), ("pvalue", -1)):
        # -inf may follow -inf.
        values = np.maximum(getattr(null, name)(x), -1e300)
        scale = np.maximum(np.abs(values[1:]), np.abs(values[:-1]))
        assert np.all(sign * np.diff(values) >= -rounding[1:] * np.maximum(scale, 1.0)), name
    assert np.all(np.abs(null.cdf(x) + null.sf(x) - 1.0) <= rounding)


def test_outside_the_support_as_scipy(null):
    reference = stats.uniform()
    low, high = null.support()
    if np.isfinite([low, high]).all():
        for x, same in ((low - 1.0, -1.0), (-np.inf, -np.inf), (high + 1.0, 2.0), (np.inf, np.inf)):
            for name in ("cdf", "sf", "logcdf", "logsf"):
                with np.errstate(divide="ignore"):
                    expected = getattr(reference, name)(same)
                assert getattr(null, name)(x) == expected, (name, x)
    for x in (-np.inf, np.inf):
        assert null.cdf(x) == float(x > 0)
        assert null.sf(x) == float(x < 0)


def test_quantiles_as_scipy(null, long):
    low, high = null.support()
    assert (null.ppf(0.0), null.ppf(1.0)) == (low, high)
    assert (null.isf(1.0), null.isf(0.0)) == (low, high)
    reference = stats.uniform()
    for name in OF_LEVELS:
        impossible = [-0.1, 1.1, -np.inf, np.inf, np.nan]
        assert_array_equal(getattr(null, name)(impossible), getattr(reference, name)(impossible))
        values = getattr(null, name)(EXTREME_LEVELS if long else LEVELS)
        slack = 1e-12  # the ends of the support are found by other sums than the atoms there
        assert np.all((values >= low * (1 - slack)) & (values <= high * (1 + slack)))
        steps = np.diff(np.clip(values, -1e300, 1e300)) * (1 if name == "ppf" else -1)
        assert np.all(steps >= -slack)


def test_shapes_and_nan_as_scipy(null):
    reference = stats.norm(null.mean(), null.std() or 1.0)
    for argument in (0.3, [0.3], [[0.3, np.nan]], np.empty((0, 3)), np.full((2, 1, 2), 0.3)):
        for name in (*OF_VALUES, *OF_LEVELS):
            out = getattr(null, name)(argument)
            same_name = name if hasattr(reference, name) else "sf"
            expected = getattr(reference, same_name)(argument)
            assert np.shape(out) == np.shape(expected), name
            assert_array_equal(np.isnan(out), np.isnan(argument), name)
            assert np.ndim(argument) or isinstance(out, float)


def test_numbers_of_other_types(null):
    for argument in (1, True, np.float32(0.5), np.int64(1), [0, 1], (0.5,), np.float16(0.25)):
        for name in OF_VALUES:
            assert_array_equal(
                getattr(null, name)(argument),
                getattr(null, name)(np.asarray(argument, dtype=float)),
                name,
            )


@pytest.mark.parametrize("argument", ["high", None, [[0.1], [0.1, 0.2]], {}, 1j, [0.1, None]])
def test_values_that_are_no_numbers_raise_as_in_scipy(argument):
    null = ap_null_distribution(30, 4)
    for name in (*OF_VALUES, *OF_LEVELS, "solver", "pvalue_bounds"):
        message = f"{'q' if name in OF_LEVELS else 'x'} must (hold real numbers|have rows of equal)"
        with pytest.raises((TypeError, ValueError), match=message):
            getattr(null, name)(argument)
    with pytest.raises(TypeError, match="confidence must hold real numbers; got None"):
        null.interval(None)
    for order in (True, 1.0, "2", 5, None):
        with pytest.raises(ValueError, match="order must be an integer from 0 to 4"):
            null.moment(order)
    for moments in (None, "", "x", ["m"], 3):
        with pytest.raises(ValueError, match="moments must be letters of 'mvsk'"):
            null.stats(moments)
    for size in (True, 1.0, "2", (2, -1), (2, None), None):
        with pytest.raises(ValueError, match="size must be an int of at least 0 or a tuple"):
            null.rvs(size)


@pytest.mark.parametrize("level", [-0.1, 1.1, -np.inf, np.inf])
def test_impossible_confidence_is_refused(level):
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        ap_null_distribution(30, 4).interval(level)


def test_moments_and_draws(null):
    low, high = null.support()
    mean, variance = null.stats("mv")
    assert (mean, variance) == (null.mean(), null.var())
    if null.method not in APPROXIMATIONS:
        assert low * (1 - 1e-12) <= mean <= high * (1 + 1e-12) or null.method == "permutation"
        draws = null.rvs((3, 2), random_state=1)
        assert draws.shape == (3, 2)
        assert null.method == "permutation" or np.all(
            (draws >= low * (1 - 1e-12)) & (draws <= high * (1 + 1e-12))
        )
    assert null.rvs(0, random_state=1).shape == (0,)
    assert low <= null.median() <= high
    inner = null.interval(0.9)
    outer = null.interval([0.0, 0.9, 1.0])
    # Sums for one value and for several round differently.
    assert_allclose((outer[0][1], outer[1][1]), inner, rtol=1e-12)
    assert (outer[0][2], outer[1][2]) == (low, high)
