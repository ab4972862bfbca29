"""Size and power of tests of series, by circular shifts and by blocks of consecutive items."""

import numpy as np
import pytest
from scipy.signal import lfilter

from sklearn_rankinf import metric_test

N, M = 500, 50


def autocorrelated(rng, rho, n=N):
    """A stationary first-order autoregressive series."""
    noise = rng.normal(size=n)
    noise[0] /= np.sqrt(1.0 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise) * np.sqrt(1.0 - rho**2)


def pvalues(rho, n_data_sets, seed, signal=0.0, block_length=None, along_series=True):
    """P-values of the 50 largest values of one series, ranked by a series correlated with it."""
    rng = np.random.default_rng(seed)
    found = np.empty(n_data_sets)
    for i in range(n_data_sets):
        latent, y_score = autocorrelated(rng, rho), autocorrelated(rng, rho)
        y_true = np.zeros(N, dtype=int)
        y_true[np.argsort(-latent)[:M]] = 1
        options = {"order": range(N)} if along_series else {}
        if block_length is not None:
            options |= {"clusters": np.arange(N) // block_length}
            options |= {"n_resamples": 199, "random_state": i}
        found[i] = metric_test(y_true, y_score + signal * latent, **options).pvalue
    return found


def error(level, n_data_sets):
    return np.sqrt(level * (1.0 - level) / n_data_sets)


@pytest.mark.filterwarnings("ignore:blocks leave")
@pytest.mark.parametrize(
    ("rho", "block_length"),
    [
        (0.0, None),
        (0.95, None),
        (0.95, 50),
        *(pytest.param(*case, marks=pytest.mark.long) for case in ((0.5, None), (0.8, None))),
        pytest.param(0.8, 25, marks=pytest.mark.long),
    ],
)
def test_size(rho, block_length, long):
    n_data_sets = 10_000 if long else 80
    found = pvalues(rho, n_data_sets, seed=0, block_length=block_length)
    # Neither way is exact for a series with two ends. In 10,000 data sets shifts rejected at most
    # .0522 and .0115, and these blocks .0621 and .0158.
    limits = (0.053, 0.012) if block_length is None else (0.062, 0.016)
    for level, measured in zip((0.05, 0.01), limits, strict=True):
        assert np.mean(found <= level) <= measured + 4.0 * error(measured, n_data_sets)
    assert np.mean(found <= 0.05) >= 0.045 - 4.0 * error(0.045, n_data_sets)


def test_size_of_a_circular_series(long):
    # Both processes are stationary around a circle: every shift is as likely as any other.
    rng = np.random.default_rng(1)
    frequencies = np.exp(-np.arange(251) / 8.0)

    def circular():
        phases = rng.normal(size=251) + 1j * rng.normal(size=251)
        return np.fft.irfft(frequencies * phases, N)

    found = np.empty(5000 if long else 80)
    for i in range(found.size):
        y_true = (np.argsort(np.argsort(-circular())) < M).astype(int)
        found[i] = metric_test(y_true, circular(), order=range(N)).pvalue
    for level in (0.05, 0.01, 0.2):
        assert abs(np.mean(found <= level) - level) <= 4.0 * error(level, found.size)


@pytest.mark.parametrize(
    ("rho", "least"), [(0.95, 0.15), pytest.param(0.8, 0.08, marks=pytest.mark.long)]
)
def test_ignoring_the_series_is_invalid(rho, least):
    found = pvalues(rho, 300, seed=2, along_series=False)
    assert np.mean(found <= 0.05) > least


@pytest.mark.filterwarnings("ignore:blocks leave")
@pytest.mark.parametrize("block_length", [None, 50])
def test_power(block_length):
    found = pvalues(0.8, 100, seed=3, signal=0.6, block_length=block_length)
    assert np.mean(found <= 0.05) > 0.8
