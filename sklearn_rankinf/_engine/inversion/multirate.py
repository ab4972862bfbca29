"""The transform along a contour by a pass from coarse to fine nodes.

The trapezoidal rule needs nodes whose spacing is 2 pi over a period that covers the whole
distribution. Most ranks do not need that many: the hits far from the top add up to a narrow
distribution, given their number, and only the top ranks make it wide. The forward pass therefore
starts at the end of the ranking. Each row of its state is a number of hits found, and the
transform of what these hits add. A row whose distribution lies within a window is determined by
nodes with a spacing of 2 pi over the window (the sampling theorem, with frequency and value
exchanged). When the windows have grown to a multiple of the present one, the transform is
interpolated by Fourier sums at nodes that are denser by the same factor, and the pass goes on.

The windows come from Chernoff bounds of every row, ``P(S > a) <= exp(K(t) - t a)``, so that what
they leave out is known: `LOST` of the probability of a row, at each side.

See "Stratified contours" in doc/theory.rst.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import ifft, irfft, next_fast_len

from sklearn_rankinf._engine.inversion.bands import Bands
from sklearn_rankinf._engine.inversion.forward_pass import LeftTheRangeError, walked_through
from sklearn_rankinf._engine.inversion.nodes import LOST, fade
from sklearn_rankinf._statistics import (
    Complexes,
    Floats,
    Increments,
    cached_property,
    log_probability_of_hits,
)


@dataclass(frozen=True)
class MultirateSettings:
    """Settings of a pass."""

    # Blocks after which the windows of the rows are determined again.
    blocks_of_stage: int = 12
    # Ratio of the windows of consecutive parts.
    ratio: int = 2
    # Tilts times widths above which a bound of a row's width is not accurate, as a logarithm.
    steepest: float = 100.0
    # Nodes of the coarsest part, at least.
    least_nodes: int = 32
    # The same where its windows lose too much, as they do if rows of very few hits carry some of
    # the distribution; or, if more, nodes that times the rows make a pass that is cheap anyway.
    more_nodes: int = 128
    cheap_states: int = 1536
    # Positives up to which all contours have as many.
    few_positives: int = 8
    # Lost share of the transform at the tilt after which further damped and lower contours have
    # more nodes, and after which any contour is computed again with more.
    loses_too_much: float = 1e-11
    loses_far_too_much: float = 1e-7
    # Fall of the log transform after which a contour ends, if that is not much farther out than a
    # smaller fall; and the same where half a percent is accepted.
    falls: tuple[float, float] = (26.0, 14.0)
    rough_falls: tuple[float, float] = (16.0, 10.0)
    farther: float = 1.25
    # Share of a contour that reaches that fall; the rest is faded out by a taper. Below the mean,
    # where the transform falls more slowly at last, the contour is longer.
    first_part: float = 0.6
    first_part_below: float = 0.42
    # Distances at which the fall is determined: 4 over the scale, and 14 more by a ratio.
    first_place: float = 4.0
    place_ratio: float = 1.45
    n_places: int = 15
    # Logs of the transform at the tilt, by two ways, that differ by less agree.
    agrees: float = 1e-6
    # Share of the nodes of the first part that fades out, as one over it.
    n_fades: int = 4
    # The part of a window at either end, as one over it, in which there must be next to nothing.
    edges: int = 32
    # Rows times nodes that memory allows.
    most_states: float = 2e6
    # Products of a node that take as long as the exponentials of a block of several items.
    of_several: float = 50.0
    # Products that a contour may take at first, and at most.
    little_work: float = 5e7
    most_work: float = 4e8
    # Nodes of a short contour below the mean: of few positives the transform falls slowly, and more
    # nodes add nothing.
    most_nodes_below: int = 2048
    # Ratio of the distances at which a long and a short contour end at the latest.
    longer: float = 4.0
    # Nodes of one call of the forward pass.
    chunk: int = 1024


SETTINGS = MultirateSettings()


class MultiratePass:
    """A contour of a statistic whose blocks are given from the end of the ranking.

    Parameters
    ----------
    blocks : Increments
        What hits add, from the end of the ranking on. These blocks plan the contour.
    n_positives : int
        Number of positives.
    theta, period : float
        Tilt, and the period of the trapezoidal rule: nodes are ``theta + i (j + 1/2) 2 pi / T``.
    bands : Bands
        Numbers of hits that carry the tilted distribution.
    log_mgf : float
        Log transform at the tilt.
    scale : float
        Standard deviation of the distribution without its top positives.
    farthest : float, default=inf
        Distance from the real axis, in one over the scale, at which a short contour ends at the
        latest.
    is_tolerant : bool, default=False
        Whether a relative error of half a percent is accepted.
    """

    def __init__(
        self,
        blocks: Increments,
        n_positives: int,
        theta: float,
        period: float,
        bands: Bands,
        log_mgf: float,
        scale: float,
        farthest: float = math.inf,
        is_tolerant: bool = False,
    ) -> None:
        self._blocks, self._n_positives = blocks, n_positives
        self.theta, self.step = theta, 2.0 * math.pi / period
        self._period = period
        self._bands, self._log_mgf, self._scale = bands, log_mgf, scale
        self._farthest, self._is_tolerant = farthest / scale, is_tolerant
        # The first pass decides on the number of nodes of all passes.
        self._is_first, self._least_nodes = True, SETTINGS.least_nodes
        if n_positives <= SETTINGS.few_positives:
            self.need_more_nodes()

    def log_transform(
        self, blocks: Increments, bands: Bands, is_long: bool
    ) -> tuple[Complexes, Complexes, float] | None:
        """Nodes, the log transform there with blocks merged otherwise, and what windows lose.

        The bands are those of these blocks. The loss is a share of the transform at the tilt. A
        long contour may take more work. None where the affordable contour has too few nodes, or
        floats do not reach far enough.
        """
        try:
            found = self._from_coarse_to_fine(blocks, bands, self._reach(is_long))
        except LeftTheRangeError:
            found = None
        share, few = found[2] if found and self._is_first else 0.0, self._least_nodes
        self._is_first, is_far_too_much = False, share > SETTINGS.loses_far_too_much
        if is_far_too_much or (share > SETTINGS.loses_too_much and self.theta < 0.0):
            self.need_more_nodes()
        is_repeated = is_far_too_much and self._least_nodes > few
        return (self.log_transform(blocks, bands, is_long) if is_repeated else None) or found

    def need_more_nodes(self, ratio: int = 4) -> None:
        """Let the coarsest part have more nodes from now on."""
        cheap = SETTINGS.cheap_states // (self._n_positives + 1)
        self._least_nodes = max(min(ratio * self._least_nodes, SETTINGS.more_nodes), cheap)

    @property
    def may_be_longer(self) -> bool:
        """Whether a long contour has more nodes."""
        try:
            return self._reach(False) < self._reach(True)
        except LeftTheRangeError:
            return False

    def _from_coarse_to_fine(
        self, blocks: Increments, bands: Bands, reach: float
    ) -> tuple[Complexes, Complexes, float] | None:
        parts = self._parts(reach)
        n_nodes = math.ceil(reach / self.step / parts[0].n_windows)
        if n_nodes < self._least_nodes:
            return None
        ends = np.cumsum(blocks.sizes)
        z = self._nodes(n_nodes, parts[0].n_windows)
        first, logs, begin = 0, np.zeros((1, n_nodes), complex), 0
        # Log weights, at the tilt, of what windows have lost, by the number of hits found.
        lost = np.full(self._n_positives + 1, -np.inf)
        for part, following in zip(parts, [*parts[1:], None], strict=True):
            end = int(np.searchsorted(ends, part.n_items, side="right"))
            some = slice(begin, end)
            first, logs = self._through(blocks[some], bands.of(some), z, first, logs)
            lost = self._carried(lost, part)
            begin = end
            if following is not None:
                factor = part.n_windows // following.n_windows
                z = self._nodes((logs.shape[1] - 1) * factor, following.n_windows)
                logs, lost_here = self._interpolated(logs, first, part, z)
                rows = slice(first, first + logs.shape[0])
                lost[rows] = np.logaddexp(lost[rows], lost_here)
        total = log_probability_of_hits(int(ends[-1]), self._n_positives)
        share = math.exp(min(float(lost[-1]) - total - self._log_mgf, 0.0))
        return z, np.asarray(logs[-1] - total), share

    def _carried(self, lost: Floats, part: _Part) -> Floats:
        """Log weights of what windows have lost, by the hits behind a part of the pass."""
        rows = np.flatnonzero(lost > -np.inf)
        carried = np.full(lost.shape, -np.inf)
        if rows.size:
            first, some = int(rows[0]), slice(part.begin, part.end)
            logs = lost[first : rows[-1] + 1, None]
            at_tilt, bands = np.array([self.theta]), self._bands.of(some)
            first, logs = self._through(self._blocks[some], bands, at_tilt, first, logs)
            carried[first : first + logs.shape[0]] = logs[:, 0]
        return carried

    def _nodes(self, n_nodes: int, n_windows: int) -> Complexes:
        """Nodes for a period divided into windows; those of a whole period avoid the real axis."""
        step = self.step * n_windows
        places = np.arange(n_nodes) + (0.5 if n_windows == 1 else 0.0)
        return np.asarray(self.theta + 1j * step * places, dtype=complex)

    def _through(
        self, blocks: Increments, bands: Bands, z: NDArray[Any], first: int, logs: NDArray[Any]
    ) -> tuple[int, NDArray[Any]]:
        """First row and log weights of all rows behind some blocks, chunks of nodes at a time."""
        chunks = np.array_split(np.arange(z.size), -(-z.size // SETTINGS.chunk))
        n, m = self._blocks.n_samples, self._n_positives
        passed = [
            walked_through(blocks, n, m, z[chunk], bands, first, logs[:, chunk]) for chunk in chunks
        ]
        return passed[0][0], np.concatenate([rows for _, rows in passed], axis=1)

    @cached_property
    def _decayed(self) -> float:
        """Distance from the real axis at which the transform has decayed; 0 if it is unknown."""
        places = SETTINGS.place_ratio ** np.arange(SETTINGS.n_places)
        places = np.append(0.0, places * SETTINGS.first_place / self._scale)
        start = np.zeros((1, places.size), complex)
        z = self.theta + 1j * places
        _, logs = self._through(self._blocks, self._bands, z, 0, start)
        total = log_probability_of_hits(self._blocks.n_samples, self._n_positives)
        if not abs(logs[-1, 0].real - total - self._log_mgf) < SETTINGS.agrees:
            # Rows that carry some of it were lost.
            return 0.0
        falls = np.maximum.accumulate(logs[-1, 0].real - logs[-1].real)
        ends = SETTINGS.rough_falls if self._is_tolerant else SETTINGS.falls
        most, enough = np.interp(ends, falls, places, right=np.inf)
        return float(min(most, SETTINGS.farther * enough))

    @cached_property
    def _stages(self) -> list[_Part]:
        """The pass, some blocks at a time, with windows as narrow as Chernoff bounds allow."""
        blocks, bands, period = self._blocks, self._bands, self._period
        n_blocks, ends = blocks.sizes.size, np.cumsum(blocks.sizes)
        n_steps = math.ceil(0.5 * math.log2(period / self._scale)) + 3
        steps = 0.5 / period * 4.0 ** np.arange(n_steps)
        tilts = np.concatenate([[0.0], steps, -steps])
        first, logs, widest = 0, np.zeros((1, tilts.size)), 0.0
        stages = []
        for begin in range(0, n_blocks, SETTINGS.blocks_of_stage):
            end = min(begin + SETTINGS.blocks_of_stage, n_blocks)
            z, some = self.theta + tilts, slice(begin, end)
            first, logs = self._through(blocks[some], bands.of(some), z, first, logs)
            lowest, highest = _edges(tilts, logs)
            widest = max(widest, float((highest - lowest).max()))
            n_windows = _power(period / widest) if end < n_blocks else 1
            stages.append(_Part(begin, end, int(ends[end - 1]), n_windows, first, lowest, highest))
            is_accurate = np.abs(tilts) * widest < SETTINGS.steepest
            tilts, logs = tilts[is_accurate], logs[:, is_accurate]
        return stages

    def _parts(self, reach: float) -> list[_Part]:
        """The pass in parts of equal spacing, each with enough nodes."""
        most = _power(reach / self.step / self._least_nodes)
        parts: list[_Part] = []
        for stage in self._stages:
            part = replace(stage, n_windows=min(stage.n_windows, most))
            if parts and parts[-1].n_windows <= part.n_windows:
                last = parts.pop()
                part = replace(part, begin=last.begin, n_windows=last.n_windows)
            parts.append(part)
        return parts

    def _reach(self, is_long: bool) -> float:
        """Distance from the real axis at which the contour ends, within an amount of work."""
        work, states, most = 0.0, 0.0, math.inf
        for stage in self._stages:
            bands = self._bands.of(slice(stage.begin, stage.end))
            most = min(most, stage.n_windows)
            n_several = np.count_nonzero(self._blocks.sizes[stage.begin : stage.end] > 1)
            work += (bands.work() + SETTINGS.of_several * n_several) / most
            states = max(states, float((bands.high - bands.low).max() + 1) / most)
        least = self._least_nodes * self.step
        ascends, is_damped = self.theta > 0.0, math.isfinite(self._farthest)
        part = SETTINGS.first_part if ascends or is_damped else SETTINGS.first_part_below
        enough = max(self._decayed / part, least) if self._decayed else 0.0
        is_short = not (is_long or is_damped)
        most_work = SETTINGS.little_work if is_short else SETTINGS.most_work
        affordable = self.step * min(SETTINGS.most_states / states, most_work / work)
        if is_short and not ascends:
            affordable = min(affordable, self.step * SETTINGS.most_nodes_below)
        farthest = self._farthest * (SETTINGS.longer if is_long else 1.0)
        return min(enough, farthest, affordable)

    def _interpolated(
        self, logs: Complexes, first: int, part: _Part, z: Complexes
    ) -> tuple[Complexes, Floats]:
        """Log weights of the rows at denser nodes, and of what their windows lose.

        The probability near the ends of a window is what has leaked over them from the other side;
        of ringing, which changes its sign, only sums matter to a tail.
        """
        n_nodes, window = logs.shape[1], self._period / part.n_windows
        factor = round(2.0 * math.pi / (window * (z[1] - z[0]).imag))
        rows = np.clip(first + np.arange(logs.shape[0]) - part.first, 0, part.lowest.size - 1)
        lowest, highest = part.lowest[rows], part.highest[rows]
        starts = lowest - 0.5 * (window - (highest - lowest))
        log_sizes = logs[:, :1].real
        known = np.isfinite(log_sizes)
        frequencies = np.arange(n_nodes) * (2.0 * math.pi / window)
        waves = np.where(known, logs - np.where(known, log_sizes, 0.0), -np.inf)
        waves = np.exp(waves - 1j * np.outer(starts, frequencies))
        if part.begin == 0:
            waves *= fade(n_nodes, 1.0 / SETTINGS.n_fades)
        values = _over_a_period(waves)
        edge = max(1, values.shape[1] // SETTINGS.edges)
        ends = values[:, :edge], values[:, : -edge - 1 : -1]
        # What appears on one side is missing on the other.
        at_ends = 2.0 * sum(np.abs(np.cumsum(end, axis=1)).max(axis=1) for end in ends)
        between = _interpolated(values, factor, window * z[0].imag, z.size)
        between *= np.exp(1j * np.outer(starts, z.imag))
        with np.errstate(divide="ignore"):
            lost = np.log(at_ends) + log_sizes[:, 0]
            return np.asarray(np.log(between) + log_sizes), lost


@dataclass(frozen=True, eq=False)
class _Part:
    """Blocks of the pass whose nodes have the same spacing.

    Attributes
    ----------
    begin, end : int
        First block and the last plus one, of those that plan the contour.
    n_items : int
        Items up to there, from the end of the ranking on.
    n_windows : int
        Windows in a period: the spacing is 2 pi times their number over the period.
    first : int
        Fewest hits up to there.
    lowest, highest : ndarray
        Ends of nearly all of the distribution, for each number of hits.
    """

    begin: int
    end: int
    n_items: int
    n_windows: int
    first: int
    lowest: Floats
    highest: Floats


def _over_a_period(waves: Complexes) -> Floats:
    """Distributions (rows) over a period, from their transforms at multiples of 2 pi over it."""
    return np.asarray(irfft(waves.conj(), next_fast_len(2 * waves.shape[1]), axis=1))


def _interpolated(values: Floats, factor: int, offset: float, n_nodes: int) -> Complexes:
    """Transforms (rows) of distributions over a period at nodes denser by a factor.

    The first node is the offset over the period.
    """
    n_places = values.shape[1]
    values = values * np.exp(1j * offset / n_places * np.arange(n_places))
    between = ifft(values, n_places * factor, axis=1)[:, :n_nodes]
    return np.asarray(between * (n_places * factor))


def _power(ratio: float) -> int:
    """The highest power of the ratio of consecutive windows that is no more than a ratio."""
    base = SETTINGS.ratio
    return int(base ** int(math.log(max(ratio, 1.0)) / math.log(base) + 1e-9))


def _edges(tilts: Floats, logs: Floats) -> tuple[Floats, Floats]:
    """Ends of nearly all of each distribution (row), from log transforms at tilts, the first 0.

    ``P(S > a) <= exp(K(t) - K(0) - t a)`` is `LOST` at the end, for the best t > 0; likewise below.
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
