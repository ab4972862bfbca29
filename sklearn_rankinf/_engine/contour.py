"""Tail probabilities by tilted contour inversion of the transform.

``P(S >= s) = (1 / 2 pi i) int E exp(z S) exp(-z s) dz / z`` along ``Re z = theta > 0``; a negative
tilt gives the lower tail. The trapezoid rule with midpoint nodes ``theta + i (j + 1/2) h``
converges geometrically in 1/h, and the sum may be cut where the transform has decayed. At an atom
the integral converges to ``P(S > s) + P(S = s) / 2``, so the transform must have decayed relative
to the probability itself, or the law is too coarse for this method: `ContourLaw.log_tail` says so
by its error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_rankinf._engine.chain import Bands, Complexes, log_transform, tilted_bands
from sklearn_rankinf._engine.statistics import Floats, Increments

# Tilts in units of 1 / (standard deviation): |tilt| = _FIRST_TILT * _TILT_RATIO**index.
_FIRST_TILT, _TILT_RATIO, _N_TILTS = 0.02, 1.35, 36
# exp(K - theta s) may exceed its minimum over theta by this factor: a larger tilt keeps the contour
# away from the pole at 0, at the price of some cancellation.
_SLACK = 2.5
_ALIASING = 30.0
_STEP = 0.1
_DECAYED = 1e-9
# The transform is given up if this many probes at the end of the longest contour add up to more.
_N_PROBES, _DECAYING = 24, 1e-6
# Most nodes of a contour, and of one that nothing else can replace.
_MAX_NODES, _INSISTENT_NODES = 512, 4096
_FEW_BLOCKS, _BLOCK_NODES = 64, 32768


@dataclass(eq=False)
class _Tilt:
    """What is known at one tilt: the transform there, the rows that matter, the spread."""

    theta: float
    log_mgf: float
    bands: Bands


@dataclass(eq=False)
class _Nodes:
    """Transform along one contour, extended as far as it was needed."""

    step: float
    z: Complexes
    log_transform: Complexes
    log_mgf: float


class ContourLaw:
    """Tail probabilities of an additive rank statistic by contour inversion.

    Parameters
    ----------
    increments : Increments
        The statistic, block by block.
    coarse : Increments
        The same with far blocks merged, to find tilts and the rows that matter.
    n_positives : int
        Number of positives.
    scale : float
        Standard deviation of the statistic, the unit of the tilts.
    refined : Increments, optional
        Where `increments` are themselves merged: the same with half the ratio, to correct the
        transform and to state the error that merging makes.
    """

    def __init__(
        self,
        increments: Increments,
        coarse: Increments,
        n_positives: int,
        scale: float,
        refined: Increments | None = None,
    ) -> None:
        self._increments = increments
        self._coarse = coarse
        self._n_positives = n_positives
        self._scale = scale
        self._refined = refined
        self._tilts: dict[tuple[int, int], _Tilt] = {}
        self._contours: dict[tuple[int, int, int], _Nodes] = {}
        self._merging: dict[tuple[int, int], float] = {}
        self._decaying: dict[tuple[int, int, int], bool] = {}

    def log_tail(self, s: Floats, sign: int, insist: bool = False) -> tuple[Floats, Floats]:
        """Log of ``P(S >= s)`` (sign 1) or ``P(S <= s)`` (sign -1), and the relative error.

        Meant for s on the same side of the mean as the tail. The error is infinite where the method
        does not apply; unless `insist` is set, where the transform will not decay in time nothing
        is tried.
        """
        log_p = np.full(s.shape, -np.inf)
        error = np.full(s.shape, np.inf)
        chosen = np.array([self._choose(float(x), sign) for x in s], dtype=np.int64).reshape(-1, 2)
        for index, halvings in np.unique(chosen, axis=0):
            same = np.flatnonzero((chosen == (index, halvings)).all(axis=1))
            contour = int(index), sign, int(halvings)
            if insist or self._decays(*contour):
                max_nodes = _INSISTENT_NODES if insist else _MAX_NODES
                log_p[same], error[same] = self._invert(s[same], *contour, max_nodes)
        return log_p, error

    def tilt_for(self, s: float, sign: int) -> float:
        """The tilt (a multiple of 1 / scale from a fixed ladder) nearest the saddlepoint of s."""
        return self._tilt(self._saddle(s, sign), sign).theta

    def log_bound(self, s: float, sign: int) -> float:
        """Chernoff's bound of the log of the tail at s, as far as merged blocks give it."""
        return min(0.0, self._exponent(s, sign, self._saddle(s, sign)))

    def _tilt(self, index: int, sign: int) -> _Tilt:
        if (index, sign) not in self._tilts:
            theta = sign * _FIRST_TILT * _TILT_RATIO**index / self._scale
            bands, log_mgf = tilted_bands(self._coarse, self._n_positives, theta)
            self._tilts[index, sign] = _Tilt(theta, log_mgf, bands)
        return self._tilts[index, sign]

    def _exponent(self, s: float, sign: int, index: int) -> float:
        tilt = self._tilt(index, sign)
        return tilt.log_mgf - tilt.theta * s

    def _saddle(self, s: float, sign: int) -> int:
        """Ladder index that minimises ``K(theta) - theta s``, which is convex in theta."""
        index = 13
        best = self._exponent(s, sign, index)
        for direction in (1, -1):
            while 0 <= index + direction < _N_TILTS:
                value = self._exponent(s, sign, index + direction)
                if value >= best:
                    break
                index, best = index + direction, value
        return index

    def _choose(self, s: float, sign: int) -> tuple[int, int]:
        """Ladder index and number of halvings of the step for one s."""
        index = self._saddle(s, sign)
        lowest = self._exponent(s, sign, index)
        while index + 1 < _N_TILTS and self._exponent(s, sign, index + 1) <= lowest + _SLACK:
            index += 1
        tilt = self._tilt(index, sign)
        exponent = self._exponent(s, sign, index)
        step, halvings = _STEP, 0
        while halvings < 12:
            period = 2.0 * np.pi / (step / self._scale)
            below = abs(tilt.theta) * period >= _ALIASING - lowest
            above = self._bound_beyond(s, sign, index, period)
            if below and above - exponent <= -_ALIASING:
                break
            step, halvings = step / 2.0, halvings + 1
        return index, halvings

    def _bound_beyond(self, s: float, sign: int, index: int, period: float) -> float:
        """Chernoff's bound, at larger tilts, of what the rule picks up one period further out.

        Comparable with the exponent at the tilt itself.
        """
        theta = abs(self._tilt(index, sign).theta)
        bounds = [
            self._exponent(s, sign, j) - (abs(self._tilt(j, sign).theta) - theta) * period
            for j in range(index + 1, min(index + 5, _N_TILTS))
        ]
        return min(bounds, default=-np.inf)

    def _decays(self, index: int, sign: int, halvings: int) -> bool:
        """Whether the transform will have decayed at the last node, seen on the merged blocks."""
        key = (index, sign, halvings)
        if key not in self._decaying:
            tilt = self._tilt(index, sign)
            step = _STEP / 2.0**halvings / self._scale
            z = tilt.theta + 1j * step * (_MAX_NODES - np.arange(_N_PROBES) - 0.5)
            values = log_transform(self._coarse, self._n_positives, z, tilt.bands)
            heights = np.exp(values.real - tilt.log_mgf) * np.abs(tilt.theta / z)
            self._decaying[key] = bool(heights.sum() < _DECAYING)
        return self._decaying[key]

    def _invert(
        self, s: Floats, index: int, sign: int, halvings: int, max_nodes: int
    ) -> tuple[Floats, Floats]:
        theta = self._tilt(index, sign).theta
        n_blocks = self._increments.sizes.size
        # The transform of a few large blocks comes back after it has died away: look far.
        few_blocks = n_blocks <= _FEW_BLOCKS
        doubtful = few_blocks or max_nodes > _MAX_NODES
        first_look = int(np.clip(_BLOCK_NODES / n_blocks, 512, 2048)) if few_blocks else 128
        nodes = self._contour(index, sign, halvings, first_look)
        if not np.isfinite(nodes.log_transform).all():
            return np.full(s.shape, -np.inf), np.full(s.shape, np.inf)
        while True:
            heights = np.exp((nodes.log_transform - nodes.log_mgf).real) / np.abs(nodes.z)
            phases = nodes.log_transform.imag[:, None] - np.outer(nodes.z.imag, s)
            terms = heights[:, None] * np.exp(1j * (phases - np.angle(nodes.z)[:, None]))
            total = sign * terms.real.sum(axis=0)
            # Oscillating terms cut off where they have not decayed may add up to many of the last.
            last = heights[-max(8, heights.size // (2 if doubtful else 8)) :].sum()
            with np.errstate(divide="ignore", invalid="ignore"):
                cut = last / np.abs(total)
                cancellation = heights.sum() / np.abs(total)
            n_nodes = heights.size
            if np.all(cut < _DECAYED) or 2 * n_nodes > max_nodes:
                break
            nodes = self._contour(index, sign, halvings, 2 * n_nodes)
        merging = self._merging_correction(index, sign)
        usable = total > 0.0
        log_p = np.full(s.shape, -np.inf)
        log_p[usable] = (
            np.log(total[usable] * nodes.step / np.pi)
            + nodes.log_mgf
            - theta * s[usable]
            + 4.0 / 3.0 * merging
        )
        rounding = 1e-15 * np.sqrt(self._increments.sizes.size) * cancellation
        error = 1e-13 + 4.0 * rounding + cut + 2.0 * abs(merging)
        # A larger error would itself be a guess.
        return log_p, np.where(usable & (log_p < 1e-6) & (error < 1.0), error, np.inf)

    def _contour(self, index: int, sign: int, halvings: int, n_nodes: int) -> _Nodes:
        """At least `n_nodes` nodes of a contour; those already there are kept."""
        key = (index, sign, halvings)
        tilt = self._tilt(index, sign)
        known = self._contours.get(key)
        if known is None:
            step = _STEP / 2.0**halvings / self._scale
            at_tilt = self._transform(tilt, np.array([tilt.theta + 0.0j]))[0].real
            known = _Nodes(step, np.empty(0, complex), np.empty(0, complex), float(at_tilt))
        if known.z.size < n_nodes:
            heights = (np.arange(known.z.size, n_nodes) + 0.5) * known.step
            added = tilt.theta + 1j * heights
            values = [
                self._transform(tilt, chunk)
                for chunk in np.array_split(added, max(1, added.size // 128))
            ]
            known = _Nodes(
                known.step,
                np.concatenate([known.z, added]),
                np.concatenate([known.log_transform, *values]),
                known.log_mgf,
            )
            self._contours[key] = known
        return known

    def _transform(self, tilt: _Tilt, z: Complexes) -> Complexes:
        return self._transform_of(self._increments, tilt, z)

    def _transform_of(self, increments: Increments, tilt: _Tilt, z: Complexes) -> Complexes:
        ends = np.cumsum(increments.sizes)
        bands = tilt.bands.at(np.cumsum(self._coarse.sizes), ends)
        return log_transform(increments, self._n_positives, z, bands)

    def _merging_correction(self, index: int, sign: int) -> float:
        """Change of the log transform at the tilt when the ratio of merged blocks is halved."""
        if self._refined is None:
            return 0.0
        if (index, sign) not in self._merging:
            tilt = self._tilt(index, sign)
            z = np.array([tilt.theta + 0.0j])
            finer = self._transform_of(self._refined, tilt, z)[0].real
            self._merging[index, sign] = float(finer - self._transform(tilt, z)[0].real)
        return self._merging[index, sign]
