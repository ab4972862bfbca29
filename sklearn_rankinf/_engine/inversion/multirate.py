"""The transform along a contour, by a pass whose nodes become more from part to part.

A contour has as many nodes as the widest part of the distribution asks for, but only the blocks at
the top of the ranking make it wide. The pass starts at the end, with the few nodes that a period
asks for that covers what the blocks so far add, given the hits before them. Where that becomes too
wide, Fourier sums tell the transform at more nodes in between, which is exact for distributions
that a period covers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._engine.exact.enumeration import log_probability_of_hits
from sklearn_rankinf._engine.inversion.bands import Bands
from sklearn_rankinf._engine.inversion.transform import LeftTheRangeError, walked_through
from sklearn_rankinf._engine.inversion.trapezoid import faded, waves_between
from sklearn_rankinf._engine.statistics import Complexes, Floats, Increments

# Windows leave out less than this of a distribution, on either side.
LOST = 4e-11
# How wide distributions are is looked at after each so many blocks. Tilts that change a
# distribution by more than this over its width, in logarithms, tell nothing of it.
_BLOCKS, _STEEP = 6, 100.0
# Windows become wider by a power of this, and have so many nodes at least.
_WIDER, _LEAST_NODES = 4, 32
# The logarithm of the transform falls by this up to the first part of a contour, if it is not much
# farther than where it falls by less, and the rest fades out, in the last, one node in so many. It
# is looked at in some places, in one over the scale.
_FALL, _LEAST_FALL, _FARTHER = 20.0, 15.0, 1.25
_FIRST_PART, _FADES, _PLACES = 0.6, 4, 4.0 * 1.25 ** np.arange(24)
# Logarithms of the transform that are no less alike than this are the same.
_ALIKE = 1e-6
# Rows times nodes, and products of rows, that are affordable; products that are little work; and
# nodes of one pass.
_STATES, _WORK, _LITTLE_WORK, _CHUNK = 2e6, 4e8, 5e7, 2048


class Cascade:
    """A contour of a statistic whose blocks are given from the end of the ranking.

    Parameters
    ----------
    blocks : Increments
        What hits add from the end of the ranking on, with blocks merged, to plan the contour.
    n_positives : int
        Number of positives.
    theta, period : float
        Tilt, and the period of the nodes, ``theta + i (j + 1/2) 2 pi / period``.
    bands : Bands
        The paths that matter.
    log_total : float
        Log of the transform at the tilt.
    scale : float
        A distance within which the distribution is smooth, or nearly so.
    """

    def __init__(
        self,
        blocks: Increments,
        n_positives: int,
        theta: float,
        period: float,
        bands: Bands,
        log_total: float,
        scale: float,
    ) -> None:
        self._blocks, self._n_positives = blocks, n_positives
        self._p = n_positives / blocks.n_samples
        self._theta, self._period = theta, period
        self._bands, self._log_total, self._scale = bands, log_total, scale

    def log_transform(
        self, blocks: Increments, bands: Bands, insist: bool
    ) -> tuple[Complexes, Complexes] | None:
        """Nodes, and the log transform there of the same statistic with blocks merged otherwise.

        The bands are those of these blocks. As far as it is not much work, or much farther if one
        insists. None where that is too short.
        """
        try:
            return self._told(blocks, bands, self._reach(_WORK if insist else _LITTLE_WORK))
        except LeftTheRangeError:
            return None

    @property
    def is_short(self) -> bool:
        """Whether contours end where much work begins."""
        try:
            return self._reach(_LITTLE_WORK) < self._reach(_WORK)
        except LeftTheRangeError:
            return False

    def _told(
        self, blocks: Increments, bands: Bands, reach: float
    ) -> tuple[Complexes, Complexes] | None:
        parts = self._parts(reach)
        n_nodes = math.ceil(self._n_nodes(reach) / parts[0].n_windows)
        if n_nodes < _LEAST_NODES:
            return None
        ends = np.cumsum(blocks.sizes)
        first, logs, begin = 0, np.zeros((1, n_nodes), complex), 0
        before: _Part | None = None
        for part in parts:
            if before is None:
                z = self._nodes(n_nodes, part.n_windows)
            else:
                z = self._nodes(
                    (logs.shape[1] - 1) * before.n_windows // part.n_windows, part.n_windows
                )
                logs = self._told_between(logs, first, before, z)
            end = int(np.searchsorted(ends, part.n_items, side="right"))
            first, logs = self._through(blocks, bands, slice(begin, end), z, first, logs)
            begin, before = end, part
        total = log_probability_of_hits(self._n_positives, int(ends[-1]), self._p)
        return z, np.asarray(logs[-1] - total)

    def _nodes(self, n_nodes: int, n_windows: int) -> Complexes:
        """Nodes for a period that is one of so many windows; the last lie beside the real axis."""
        step = 2.0 * math.pi * n_windows / self._period
        places = np.arange(n_nodes) + (0.5 if n_windows == 1 else 0.0)
        return np.asarray(self._theta + 1j * step * places, dtype=complex)

    def _through(
        self,
        blocks: Increments,
        bands: Bands,
        some: slice,
        z: NDArray[Any],
        first: int,
        logs: NDArray[Any],
    ) -> tuple[int, NDArray[Any]]:
        """The pass through some blocks, for some nodes at a time."""
        walked = [
            walked_through(
                blocks[some],
                self._n_positives,
                self._p,
                z[chunk],
                bands.of(some),
                first,
                logs[:, chunk],
            )
            for chunk in np.array_split(np.arange(z.size), -(-z.size // _CHUNK))
        ]
        return walked[0][0], np.concatenate([rows for _, rows in walked], axis=1)

    @cached_property
    def _decayed(self) -> float:
        """How far from the real axis the transform has decayed."""
        places = np.append(0.0, _PLACES / self._scale)
        z = self._theta + 1j * places
        start = np.zeros((1, z.size), complex)
        _, logs = self._through(self._blocks, self._bands, slice(None), z, 0, start)
        total = log_probability_of_hits(self._n_positives, self._blocks.n_samples, self._p)
        if not abs(logs[-1, 0].real - total - self._log_total) < _ALIKE:
            # Rows that matter were lost.
            return 0.0
        falls = np.maximum.accumulate(logs[-1, 0].real - logs[-1].real)
        most, enough = np.interp([_FALL, _LEAST_FALL], falls, places, right=np.inf)
        return float(min(most, _FARTHER * enough))

    @cached_property
    def _stages(self) -> list[_Part]:
        """The pass, a few blocks at a time, in windows as narrow as they may be."""
        blocks, bands, period = self._blocks, self._bands, self._period
        n_blocks, ends = blocks.sizes.size, np.cumsum(blocks.sizes)
        steps = 0.5 / period * 2.0 ** np.arange(math.ceil(math.log2(period / self._scale)) + 6)
        tilts = np.concatenate([[0.0], steps, -steps])
        first, logs, widest = 0, np.zeros((1, tilts.size)), 0.0
        stages = []
        for begin in range(0, n_blocks, _BLOCKS):
            end = min(begin + _BLOCKS, n_blocks)
            z = self._theta + tilts
            first, logs = self._through(blocks, bands, slice(begin, end), z, first, logs)
            lowest, highest = _within(tilts, logs)
            widest = max(widest, float((highest - lowest).max()))
            n_windows = _power(period / widest) if end < n_blocks else 1
            stages.append(_Part(begin, end, int(ends[end - 1]), n_windows, first, lowest, highest))
            told = np.abs(tilts) * widest < _STEEP
            tilts, logs = tilts[told], logs[:, told]
        return stages

    def _parts(self, reach: float) -> list[_Part]:
        """The pass, in parts of the same nodes, each of enough of them."""
        most = _power(self._n_nodes(reach) / _LEAST_NODES)
        parts: list[_Part] = []
        for stage in self._stages:
            part = replace(stage, n_windows=min(stage.n_windows, most))
            if parts and parts[-1].n_windows <= part.n_windows:
                last = parts.pop()
                part = replace(part, begin=last.begin, n_windows=last.n_windows)
            parts.append(part)
        return parts

    def _n_nodes(self, reach: float) -> float:
        return reach * self._period / (2.0 * math.pi)

    def _reach(self, most_work: float) -> float:
        """How far from the real axis the contour goes, for so many products."""
        work, states, most = 0.0, 0.0, math.inf
        for stage in self._stages:
            bands = self._bands.of(slice(stage.begin, stage.end))
            most = min(most, stage.n_windows)
            work += bands.work() / most
            states = max(states, float((bands.high - bands.low).max() + 1) / most)
        step = 2.0 * math.pi / self._period
        enough = max(self._decayed / _FIRST_PART, _LEAST_NODES * step) if self._decayed else 0.0
        return min(enough, step * min(_STATES / states, most_work / work))

    def _told_between(self, logs: Complexes, first: int, part: _Part, z: Complexes) -> Complexes:
        """Log weights at the next nodes, from those at the last nodes of a part."""
        n_nodes, window = logs.shape[1], self._period / part.n_windows
        step = (z[1] - z[0]).imag
        factor = round(2.0 * math.pi / (window * step))
        rows = np.clip(first + np.arange(logs.shape[0]) - part.first, 0, part.lowest.size - 1)
        lowest, highest = part.lowest[rows], part.highest[rows]
        starts = lowest - 0.5 * (window - (highest - lowest))
        log_sizes = logs[:, :1].real
        known = np.isfinite(log_sizes)
        frequencies = np.arange(n_nodes) * (2.0 * math.pi / window)
        waves = np.where(known, logs - np.where(known, log_sizes, 0.0), -np.inf)
        waves = np.exp(waves - 1j * np.outer(starts, frequencies))
        if part.begin == 0:
            waves *= faded(n_nodes, 1.0 / _FADES)
        between = waves_between(waves, factor, window * z[0].imag, z.size)
        between *= np.exp(1j * np.outer(starts, z.imag))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(between) + log_sizes)


@dataclass(frozen=True, eq=False)
class _Part:
    """Blocks of the pass that have the same nodes.

    Attributes
    ----------
    begin, end : int
        First block and the last plus one, of those that contours are planned with.
    n_items : int
        Items up to there.
    n_windows : int
        How often the window, the period of the nodes, is in that of the contour.
    first : int
        Fewest hits up to there.
    lowest, highest : ndarray
        Between what nearly all of the distribution is, for each number of hits.
    """

    begin: int
    end: int
    n_items: int
    n_windows: int
    first: int
    lowest: Floats
    highest: Floats


def _power(ratio: float) -> int:
    """The highest power of the factor by which windows become wider that is no more than this."""
    return int(_WIDER ** int(math.log(max(ratio, 1.0)) / math.log(_WIDER)))


def _within(tilts: Floats, logs: Floats) -> tuple[Floats, Floats]:
    """Ends of nearly all of each distribution (row), from log transforms at tilts, the first 0.

    ``P(S > a) <= exp(K(t) - K(0) - t a)`` for any t > 0, and likewise below.
    """
    lowest, highest = np.zeros(logs.shape[0]), np.zeros(logs.shape[0])
    known = np.isfinite(logs[:, 0])
    with np.errstate(invalid="ignore"):
        edges = (logs[known, 1:] - logs[known, :1] - math.log(LOST)) / tilts[1:]
    edges = np.where(np.isfinite(edges), edges, np.nan)
    up = tilts[1:] > 0.0
    highest[known] = np.nanmin(edges[:, up], axis=1)
    lowest[known] = np.nanmax(edges[:, ~up], axis=1)
    return lowest, highest
