"""Distributions of sums of weights that are multiples of a step, value by value.

In the Mann-Whitney statistic with ties, for example, a positive is worth a whole number of half
pairs at every rank. The number of values is at most the number of steps between the smallest and
the largest one, and a forward pass over (block, positives before it, value) carries the probability
of each ("Integer weights" in doc/theory.rst). The
characteristic function of such a sum has period 2 pi / step, and may nearly return to 1 before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.fft import next_fast_len, rfft
from scipy.optimize import minimize_scalar

from sklearn_rankinf._engine.canonical import step_of
from sklearn_rankinf._engine.exact.enumeration import Atoms, largest_value
from sklearn_rankinf._statistics import FEW_BLOCKS, Floats, Increments, Integers, log_binomial


@dataclass(frozen=True)
class IntegerWeightsSettings:
    """Settings of the pass, and of the search for steps and peaks."""

    # Largest number of additions of a pass; in few blocks, whose characteristic functions return on
    # every scale, contours are no alternative.
    most_work: float = 2.5e9
    most_work_of_few: float = 5e9
    most_work_roughly: float = 5e8
    # Largest number of floats in memory.
    most_numbers: float = 1e7
    # Largest number of steps between two weights.
    most_steps: int = 1_000_000
    # Weights are nearly multiples of a step if they are off by no more than this part of the step.
    nearly: float = 1e-6
    # Peaks of the characteristic function of one item that are located, and the accuracy, as a part
    # of the spacing of the Fourier transform.
    most_peaks: int = 16
    accuracy_of_peaks: float = 1e-4
    # Beyond this logarithm of the number of placements some probabilities underflow.
    largest_log_count: float = 600.0


SETTINGS = IntegerWeightsSettings()


def nearly_step_of(increments: Increments) -> float:
    """Step of which differences are nearly multiples: the transform then nearly has a period."""
    if not increments.is_linear:
        return 0.0
    differences = np.unique(increments.linear - increments.linear.min())
    largest = float(differences[-1])
    step, rest = largest, differences[differences > 0.0]
    # Euclid's algorithm, for all differences at once.
    while rest.size:
        step = float(rest.min())
        if step * SETTINGS.most_steps < largest:
            return 0.0
        rest = np.abs(differences - step * np.rint(differences / step))
        rest = rest[rest > SETTINGS.nearly * step]
    return largest / round(largest / step) if step else 0.0


def near_periods(increments: Increments, step: float) -> Floats:
    """Heights on the imaginary axis, within a period, at which the transform may nearly return.

    The characteristic function of the sum over many items is large only where that of one item is,
    and that has high peaks where nearly all weights are congruent modulo a larger number. The
    highest of them are found by a Fourier transform of the numbers of items at each multiple.
    """
    steps = _in_steps(increments, step)
    length = next_fast_len(2 * int(steps.max()) + 2, real=True)
    if length > SETTINGS.most_numbers:
        return np.empty(0)
    sizes = increments.sizes.astype(float)
    modulus = np.abs(rfft(np.bincount(steps, sizes, length)))
    # The modulus is symmetric about half a period, where it may have a peak.
    before, after = modulus[:-1], np.append(modulus[2:], -1.0)
    inner = np.flatnonzero((modulus[1:] >= before) & (modulus[1:] > after)) + 1
    apart = 2.0 * np.pi / length
    heights = []
    for peak in inner[np.argsort(-modulus[inner], kind="stable")[: SETTINGS.most_peaks]].tolist():
        around = (peak - 1) * apart, (peak + 1) * apart
        found = minimize_scalar(
            lambda height: -abs(sizes @ np.exp(1j * height * steps)),
            bounds=around,
            method="bounded",
            options={"xatol": SETTINGS.accuracy_of_peaks * apart},
        )
        heights.append(found.x / step)
    return np.sort(np.array(heights))


def counted_atoms(increments: Increments, n_positives: int, roughly: bool = False) -> Atoms | None:
    """Every value with the logarithm of its number of placements.

    None if weights are not multiples of a step, or the work is too much. All terms are positive, so
    that the rounding of a probability grows only with the number of blocks.
    """
    n = increments.n_samples
    if (
        increments.sizes.size > SETTINGS.most_numbers
        or log_binomial(n, n_positives) > SETTINGS.largest_log_count
    ):
        return None
    step = step_of(increments)
    if step == 0.0:
        return None
    few = min(n_positives, n - n_positives)
    lowest, steps = float(increments.linear.min()), _in_steps(increments, step)
    in_steps = replace(increments, linear=steps.astype(float))
    n_values = round(largest_value(in_steps, few)) + 1
    # Sums of fewer hits, in blocks of smaller weights, are lower.
    n_additions = 0.5 * few**2 * float(np.minimum(increments.sizes, few) @ (steps + 1.0))
    n_numbers = float(few + 1) * n_values
    most_work = SETTINGS.most_work_of_few if steps.size <= FEW_BLOCKS else SETTINGS.most_work
    if roughly:
        most_work = SETTINGS.most_work_roughly
    if n_numbers > SETTINGS.most_numbers or n_additions > most_work:
        return None
    probabilities = _probabilities(increments.sizes, steps, few, n_values)
    taken = np.flatnonzero(probabilities)
    log_counts = np.asarray(np.log(probabilities[taken]) + log_binomial(n, n_positives))
    values = np.asarray(few * lowest + step * taken, dtype=float)
    if few < n_positives:
        # The negatives have been counted: the positives have the rest of the sum of all weights.
        everything = float(increments.sizes @ increments.linear)
        return Atoms((everything - values)[::-1], log_counts[::-1])
    return Atoms(values, log_counts)


def _in_steps(increments: Increments, step: float) -> Integers:
    """Weights above the smallest one, in steps."""
    weights = increments.linear
    return np.asarray(np.rint((weights - weights.min()) / step), dtype=np.int64)


def _probabilities(sizes: Integers, steps: Integers, n_hits: int, n_values: int) -> Floats:
    """Probabilities of all values of the sum over `n_hits` items, from numbers of placements."""
    counts = np.zeros((n_hits + 1, n_values))
    counts[0, 0] = 1.0
    last_step, last_hits = 0, 0
    # So many hits add no more steps than the last block gives them.
    order = np.argsort(steps, kind="stable")
    for size, step in zip(sizes[order].tolist(), steps[order].tolist(), strict=True):
        most = min(size, n_hits)
        taken = np.arange(most)
        ways = np.cumprod((size - taken) / (taken + 1.0)).tolist()
        # Rows with fewer hits are still those of the blocks before.
        for hits in range(min(last_hits + most, n_hits), 0, -1):
            for y in range(max(1, hits - last_hits), min(most, hits) + 1):
                width = min((hits - y) * last_step + 1, n_values - y * step)
                if width > 0:
                    before = counts[hits - y, :width]
                    counts[hits, y * step : y * step + width] += (
                        before if ways[y - 1] == 1.0 else ways[y - 1] * before
                    )
        last_step, last_hits = step, min(last_hits + most, n_hits)
    return np.asarray(counts[n_hits] / counts[n_hits].sum())
