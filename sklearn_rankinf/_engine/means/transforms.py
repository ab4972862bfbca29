"""Transforms of statistics with few values, and of means over independent queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp

from sklearn_rankinf._engine.exact.enumeration import Atoms
from sklearn_rankinf._engine.inversion.transform import (
    LARGEST_LOG,
    ROUNDING,
    Transform,
    WithoutPaths,
)
from sklearn_rankinf._statistics import Complexes, Floats

# Nodes times values of one product.
_AT_ONCE = 1 << 22


class ListedTransform(WithoutPaths):
    """The transform of a statistic that has few values: a `Transform`, the sum over the values.

    Parameters
    ----------
    listed : Atoms
        The values.
    like : Transform, optional
        Another form of the same transform, which states how coarse it is. By default it is coarse.
    """

    def __init__(self, listed: Atoms, like: Transform | None = None) -> None:
        self.values, self.log_counts = listed.values, listed.log_counts
        self.log_weights = listed.log_counts - logsumexp(listed.log_counts)
        self.has_ties = like is None or like.has_ties
        self.has_large_blocks = like is None or like.has_large_blocks
        self.n_blocks = like.n_blocks if like else self.values.size
        self.rounding = ROUNDING * math.sqrt(self.n_blocks)
        self.n_counted = like.n_counted if like else 1.0
        self.largest_increment = like.largest_increment if like else float(np.ptp(self.values))
        self.log_placement = like.log_placement if like else float(self.log_weights.min())

    def log_commonest(self, theta: float) -> float:
        return float(self.log_weights[np.argmax(self.log_weights + theta * self.values)])

    def log_mgfs(self, thetas: Floats) -> Floats:
        exponents = self.log_weights + np.multiply.outer(thetas, self.values)
        return np.asarray(logsumexp(exponents, axis=1))

    def log_mgf(self, theta: float) -> float:
        return float(self.log_mgfs(np.array([theta]))[0])

    def work(self, theta: float, is_extreme: bool) -> float:
        return float(self.values.size)

    def most_rows(self, theta: float, is_extreme: bool) -> int:
        return self.values.size

    def at(self, theta: float, z: Complexes, is_extreme: bool, coarse: bool) -> Complexes:
        exponents = self.log_weights + theta * self.values
        top = exponents.max()
        shares = np.exp(exponents - top)
        n_spaced = _n_spaced(z.imag)
        sums = [self._spaced_sums(z.imag[:n_spaced], shares)]
        rest = z.imag[n_spaced:]
        for part in np.array_split(rest, max(1, rest.size * self.values.size // _AT_ONCE)):
            sums.append(np.exp(1j * np.multiply.outer(part, self.values)) @ shares)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.concatenate(sums)) + top)

    def _spaced_sums(self, heights: Floats, shares: Floats) -> Complexes:
        """Sums at equally spaced heights: products of waves at some, and at the distances."""
        width = max(1, math.isqrt(heights.size))
        sums = np.zeros((-(-heights.size // width), width), dtype=complex)
        at_once = max(1, _AT_ONCE // (sums.shape[0] + width))
        for begin in range(0, self.values.size, at_once):
            some = slice(begin, begin + at_once)
            values = self.values[some]
            starts = np.exp(1j * np.multiply.outer(heights[::width], values)) * shares[some]
            apart = np.exp(1j * np.multiply.outer(values, heights[:width] - heights[:1]))
            sums += starts @ apart
        return sums.ravel()[: heights.size]


def _n_spaced(heights: Floats) -> int:
    """Number of first heights that are equally spaced, up to rounding."""
    rounded = 8.0 * np.finfo(float).eps * np.maximum.accumulate(np.abs(heights))[2:]
    return min(2, heights.size) + int(
        np.argmin(np.append(np.abs(np.diff(heights, 2)) <= rounded, False))
    )


class MeanTransform(WithoutPaths):
    """The product of transforms of independent variables, some with the same distribution."""

    def __init__(
        self, parts: Sequence[tuple[Transform, int]], n_variables: int, is_coarse: bool
    ) -> None:
        self._parts, self._n = parts, n_variables
        self.merged = any(part.merged for part, _ in parts)
        self.has_ties = any(part.has_ties for part, _ in parts)
        self.merges_ties = any(part.merges_ties for part, _ in parts)
        self.has_large_blocks = is_coarse or any(part.has_large_blocks for part, _ in parts)
        self.rounding = math.sqrt(self._total(lambda part: part.rounding**2))
        self.n_blocks = int(self._total(lambda part: part.n_blocks))
        self.n_counted = float(self._total(lambda part: part.n_counted))
        self.largest_increment = max(part.largest_increment for part, _ in parts) / n_variables
        self.log_placement = float(self._total(lambda part: part.log_placement))

    def _total(self, of: Callable[[Transform], Any]) -> Any:
        return sum(count * of(part) for part, count in self._parts)

    def log_commonest(self, theta: float) -> float:
        return float(self._total(lambda part: part.log_commonest(theta / self._n)))

    def log_mgfs(self, thetas: Floats) -> Floats:
        return np.asarray(self._total(lambda part: part.log_mgfs(thetas / self._n)))

    def log_mgf(self, theta: float) -> float:
        return float(self._total(lambda part: part.log_mgf(theta / self._n)))

    def work(self, theta: float, is_extreme: bool) -> float:
        return float(sum(part.work(theta / self._n, is_extreme) for part, _ in self._parts))

    def most_rows(self, theta: float, is_extreme: bool) -> int:
        return max(part.most_rows(theta / self._n, is_extreme) for part, _ in self._parts)

    def left_out(self, theta: float, is_extreme: bool) -> float:
        return float(self._total(lambda part: part.left_out(theta / self._n, is_extreme)))

    def log_outside(self, theta: float, is_extreme: bool) -> float:
        """Any of the variables may take a path that is left out of its own transform."""

        def log_of_all(part: Transform) -> float:
            inside = part.log_mgf_within(theta / self._n, is_extreme, theta / self._n)
            outside = part.log_outside(theta / self._n, is_extreme)
            return math.log1p(math.exp(min(outside - inside, LARGEST_LOG)))

        share = math.expm1(min(float(self._total(log_of_all)), LARGEST_LOG))
        if share == 0.0:
            return -math.inf
        return math.log(share) + self.log_mgf_within(theta, is_extreme, theta)

    def log_mgf_within(self, theta: float, is_extreme: bool, other: float) -> float:
        own = theta / self._n, is_extreme, other / self._n
        return float(self._total(lambda part: part.log_mgf_within(*own)))

    def at(self, theta: float, z: Complexes, is_extreme: bool, coarse: bool) -> Complexes:
        own = theta / self._n, z / self._n, is_extreme, coarse
        with np.errstate(invalid="ignore"):  # nan where a tilt is beyond floats
            return np.asarray(self._total(lambda part: part.at(*own)))
