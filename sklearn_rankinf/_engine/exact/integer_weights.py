"""Distributions of sums of weights that are multiples of a step: counted value by value.

Where a positive is worth a whole number of steps wherever it stands, as in the Mann-Whitney
statistic with ties, there are no more values than steps between the smallest and the largest, and a
forward pass over blocks, positives so far and values carries the number of placements of each. No
contour has to be long enough for the returns of the characteristic function, which such sums have
at every whole multiple of 2 pi / step.
"""

from __future__ import annotations

import numpy as np
from scipy.fft import next_fast_len, rfft
from scipy.optimize import minimize_scalar

from sklearn_rankinf._engine.exact.enumeration import Atoms, binomial_log_weights
from sklearn_rankinf._engine.hypergeometric import log_binomial
from sklearn_rankinf._engine.statistics import FEW_BLOCKS, Floats, Increments, Integers

# Additions and numbers in memory that are affordable; more where blocks are few, whose transforms
# return everywhere.
_MOST_WORK, _MOST_WORK_OF_FEW, _MOST_NUMBERS = 1e9, 5e9, 1e7
# No more steps between weights are looked for. Nearly multiples are off by up to this part of a
# step, multiples by up to this part of the largest weight.
_MOST_STEPS, _NEARLY, _ROUNDING = 1_000_000, 1e-6, 1e-12
# Peaks of the transform of one item that are looked at, found to this part of their distance.
_MOST_PEAKS, _ACCURACY_OF_PEAKS = 16, 1e-4
# Beyond this logarithm of the number of placements some are lost below the range of floats.
_LARGEST_LOG_COUNT = 600.0


def step_of(increments: Increments) -> float:
    """The distance of which all differences of weights are multiples; 0 if there is none."""
    step = nearly_step_of(increments)
    if step == 0.0:
        return 0.0
    differences = increments.linear - increments.linear.min()
    away = np.abs(differences - step * np.rint(differences / step)).max()
    return step if away <= _ROUNDING * np.abs(increments.linear).max() else 0.0


def nearly_step_of(increments: Increments) -> float:
    """The same if differences are nearly multiples: the transform then nearly has a period."""
    if not increments.is_linear:
        return 0.0
    differences = np.unique(increments.linear - increments.linear.min())
    largest = float(differences[-1])
    step, rest = largest, differences[differences > 0.0]
    # Euclid's algorithm, for all differences at once.
    while rest.size:
        step = float(rest.min())
        if step * _MOST_STEPS < largest:
            return 0.0
        rest = np.abs(differences - step * np.rint(differences / step))
        rest = rest[rest > _NEARLY * step]
    return largest / round(largest / step) if step else 0.0


def near_periods(increments: Increments, step: float) -> Floats:
    """Heights on the imaginary axis at which the transform of whole numbers of a step may return.

    It has the period 2 pi / step. It nearly returns before that where nearly all weights are
    multiples of something larger, or leave the same rest. The transform of the sum of many items is
    large only where that of a single one is: its highest peaks are found by a Fourier transform.
    """
    lowest = float(increments.linear.min())
    steps = np.rint((increments.linear - lowest) / step).astype(np.int64)
    length = next_fast_len(2 * int(steps.max()) + 2, real=True)
    if length > _MOST_NUMBERS:
        return np.empty(0)
    sizes = increments.sizes.astype(float)
    size = np.abs(rfft(np.bincount(steps, sizes, length)))
    # It is symmetric about half a period, where it may have a peak.
    inner = np.flatnonzero((size[1:] >= size[:-1]) & (size[1:] > np.append(size[2:], -1.0))) + 1
    apart = 2.0 * np.pi / length
    heights = []
    for peak in inner[np.argsort(-size[inner], kind="stable")[:_MOST_PEAKS]].tolist():
        around = (peak - 1) * apart, (peak + 1) * apart
        found = minimize_scalar(
            lambda height: -abs(sizes @ np.exp(1j * height * steps)),
            bounds=around,
            method="bounded",
            options={"xatol": _ACCURACY_OF_PEAKS * apart},
        )
        heights.append(found.x / step)
    return np.sort(np.array(heights))


def counted_atoms(increments: Increments, n_positives: int) -> Atoms | None:
    """Every value with the log of its number of placements.

    None where weights are no multiples of a step, or the work is too much.
    """
    n = increments.n_samples
    if increments.sizes.size > _MOST_NUMBERS or log_binomial(n, n_positives) > _LARGEST_LOG_COUNT:
        return None
    step = step_of(increments)
    if step == 0.0:
        return None
    few = min(n_positives, n - n_positives)
    lowest = float(increments.linear.min())
    steps = np.rint((increments.linear - lowest) / step).astype(np.int64)
    n_values = _largest_sum(increments.sizes, steps, few) + 1
    n_ways = float(np.minimum(increments.sizes, few).sum())
    n_numbers = float(few + 1) * n_values
    most_work = _MOST_WORK_OF_FEW if steps.size <= FEW_BLOCKS else _MOST_WORK
    if n_numbers > _MOST_NUMBERS or n_ways * n_numbers > most_work:
        return None
    weights = _weights(increments.sizes, steps, few, n_values)
    counts = np.flatnonzero(weights)
    log_weights = np.asarray(np.log(weights[counts]) + log_binomial(n, n_positives), dtype=float)
    values = np.asarray(few * lowest + step * counts, dtype=float)
    if few < n_positives:
        # What the items that are not positive leave of the sum of all.
        everything = float(increments.sizes @ increments.linear)
        return Atoms((everything - values)[::-1], log_weights[::-1])
    return Atoms(values, log_weights)


def _largest_sum(sizes: Integers, steps: Integers, n_hits: int) -> int:
    order = np.argsort(-steps, kind="stable")
    taken = np.diff(np.minimum(np.cumsum(sizes[order]), n_hits), prepend=0)
    return int(taken @ steps[order])


def _weights(sizes: Integers, steps: Integers, n_hits: int, n_values: int) -> Floats:
    """Probabilities of all values of the sum over `n_hits` items."""
    share = n_hits / float(sizes.sum())
    state = np.zeros((n_hits + 1, n_values))
    state[0, 0] = 1.0
    held = reached = 0
    for size, step in zip(sizes.tolist(), steps.tolist(), strict=True):
        most = min(size, n_hits)
        weights = np.exp(binomial_log_weights(size, most, share))
        before = state[: held + 1, : reached + 1].copy()
        held = min(held + most, n_hits)
        reached = min(reached + most * step, n_values - 1)
        state[: held + 1, : reached + 1] = 0.0
        for y, weight in enumerate(weights.tolist()):
            rows = min(before.shape[0], n_hits + 1 - y)
            columns = min(before.shape[1], n_values - y * step)
            if columns <= 0 or weight == 0.0:
                break
            target = state[y : y + rows, y * step : y * step + columns]
            target += weight * before[:rows, :columns]
    return np.asarray(state[n_hits] / state[n_hits].sum())
