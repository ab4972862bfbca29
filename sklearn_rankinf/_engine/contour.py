"""Tail probabilities by tilted contour inversion of the transform.

``P(S >= s) = (1 / 2 pi i) int E exp(z S) exp(-z s) dz / z`` along ``Re z = theta > 0``; a negative
tilt gives the lower tail. The trapezoid rule with midpoint nodes ``theta + i (j + 1/2) h``
converges geometrically in 1/h, and the sum may be cut where the transform has decayed. At an atom
the integral converges to ``P(S > s) + P(S = s) / 2``, so the transform must have decayed relative
to the probability itself, or the law is too coarse for this method: `ContourLaw.log_tail` says so
by its error. One contour serves all values for which its tilt is not too far from the best one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklearn_rankinf._engine.chain import Bands, Complexes, tilted_bands
from sklearn_rankinf._engine.statistics import (
    FEW_BLOCKS,
    VERY_FEW_BLOCKS,
    Floats,
    Increments,
)
from sklearn_rankinf._engine.transform import log_transform

# Tilts in units of 1 / (standard deviation): |tilt| = _FIRST_TILT * _TILT_RATIO**index.
_FIRST_TILT, _TILT_RATIO, _N_TILTS = 0.02, 1.35, 36
# The tilt that is tried first is about 1, and less where that would weigh a single hit by more than
# exp(_MOST_PER_HIT). The log transform is computed in one pass at the tilts of the lower ladder.
_USUAL, _MOST_PER_HIT, _N_LADDER = 13, 3.0, 24
# exp(K - theta s) may exceed its minimum over theta by this factor: a larger tilt keeps the contour
# away from the pole at 0, at the price of some cancellation.
_SLACK = 2.5
# Farther from its minimum than this a contour tells little of a tail, and of a coarse or rough one
# nothing: the transform then does not show how coarse the law is at s.
_FAR_OFF, _FAR_OFF_COARSE = 1e3, 40.0
# The step in units of 1 / (standard deviation), refined by half octaves until aliasing is below
# exp(-_ALIASING) beside the tail.
_STEP, _FINEST, _ALIASING = 0.2, 24, 25.0
# The first look goes this far in the same units; each further look goes half as far again, up to
# _MAX_NODES, or _INSISTENT_NODES where nothing else will do, until no more than this is cut off.
_FIRST_REACH, _MAX_NODES, _INSISTENT_NODES, _DECAYED = 12.8, 512, 4096, 3e-9
# Answers with a smaller error are not improved by another tilt.
_GOOD = 1e-7
# Where less will do, digits are still taken while they are cheap.
_CHEAP_DIGITS, _CHEAP_NODES = 1e-5, 128
# The transform is given up if this many probes at the end of the longest contour add up to more.
_N_PROBES, _DECAYING = 24, 1e-6
# The transform of a few large blocks comes back, so that it is looked at farther out. A rough upper
# tail of few blocks, if not of very few, needs no more than these nodes.
_BLOCK_NODES, _ROUGH_NODES = 16384, 128
# With no more hits than this, dropping rows costs more than it saves.
_FEW_HITS = 64
# Paths that carry less than this share of the tilted total are left out.
_NEGLIGIBLE = 1e-22


@dataclass(eq=False)
class _Nodes:
    """Transform along one contour, extended as far as it was needed."""

    theta: float
    step: float
    z: Complexes
    log_transform: Complexes

    def up_to(self, n_nodes: int) -> _Nodes:
        """The contour as it was when it had so many nodes."""
        return _Nodes(self.theta, self.step, self.z[:n_nodes], self.log_transform[:n_nodes])

    def tail(self, s: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """Log tail at each s (-inf where the sum is not positive), the sums, and the terms' sizes.

        The sums and sizes are on one scale.
        """
        scale = self.log_transform[0].real  # the largest, or nearly so
        heights = np.exp(self.log_transform.real - scale) / np.abs(self.z)
        angles = self.log_transform.imag - np.angle(self.z)
        total = sign * (heights @ np.cos(angles[:, None] - np.outer(self.z.imag, s)))
        safe = np.where(total > 0.0, total, 1e-300)
        log_p = np.log(safe * self.step / np.pi) + scale - self.theta * s
        return np.where(total > 0.0, log_p, -np.inf), safe, heights

    def atom(self, s: Floats) -> Floats:
        """Half the mass at each s as far as the second half of the nodes resolves it.

        ``P(S = s)`` is the mean of ``E exp(z S) exp(-z s)`` along the contour. On the scale of the
        sums of `tail`.
        """
        half = slice(self.z.size // 2, None)
        sizes = np.exp(self.log_transform.real[half] - self.log_transform[0].real)
        angles = self.log_transform.imag[half, None] - np.outer(self.z.imag[half], s)
        return np.asarray(np.abs(sizes @ np.cos(angles)) / sizes.size * np.pi / (2.0 * self.step))


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
    bounds : tuple of float, optional
        Values that the support does not exceed.
    refined : Increments, optional
        Where `increments` are themselves merged: the same with half the ratio, to correct the
        transform and to state the error that merging makes.
    tolerance : float, default=0.0
        Relative error that is good enough.
    """

    def __init__(
        self,
        increments: Increments,
        coarse: Increments,
        n_positives: int,
        scale: float,
        bounds: tuple[float, float] = (-np.inf, np.inf),
        refined: Increments | None = None,
        tolerance: float = 0.0,
    ) -> None:
        self._increments = increments
        self._coarse = coarse
        self._n_positives = n_positives
        self._scale = scale
        self._support_within = bounds
        self._refined = refined
        self._good = max(_GOOD, tolerance)
        self._in_a_hurry = tolerance > _GOOD
        self._few_blocks = increments.sizes.size <= FEW_BLOCKS
        self._log_mgfs: dict[tuple[int, int], float] = {}
        self._bands: dict[tuple[int, int], Bands | None] = {}
        self._contours: dict[tuple[int, int, int], _Nodes] = {}
        self._merging: dict[tuple[int, int], float] = {}
        self._decaying: dict[tuple[int, int, int], bool] = {}

    def log_tail(self, s: Floats, sign: int, insist: bool = False) -> tuple[Floats, Floats]:
        """Log of ``P(S >= s)`` (sign 1) or ``P(S <= s)`` (sign -1), and the relative error.

        Meant for s on the same side of the mean as the tail. The error is infinite where the method
        does not apply; unless `insist` is set, a contour along which the transform will not decay
        in time is not followed to its end.
        """
        log_p, error = np.full(s.shape, -np.inf), np.full(s.shape, np.inf)
        for choose in (self._usual, self._best):
            weak = np.flatnonzero(error > self._good)
            chosen = np.array([choose(float(x), sign) for x in s[weak]], dtype=np.int64)
            for index, fineness in np.unique(chosen.reshape(-1, 2), axis=0):
                same = weak[(chosen == (index, fineness)).all(axis=1)]
                contour = int(index), sign, int(fineness)
                other, other_error = self._invert(s[same], contour, insist)
                better = other_error < error[same]
                log_p[same[better]], error[same[better]] = other[better], other_error[better]
        return log_p, error

    def tilt_for(self, s: float, sign: int) -> float:
        """The tilt (a multiple of 1 / scale from a fixed ladder) nearest the saddlepoint of s."""
        return self._theta(self._saddle(s, sign), sign)

    def log_bound(self, s: float, sign: int) -> float:
        """Chernoff's bound of the log of the tail at s, as far as merged blocks give it."""
        return min(0.0, self._exponent(s, sign, self._saddle(s, sign)))

    def _theta(self, index: int, sign: int) -> float:
        return sign * _FIRST_TILT * _TILT_RATIO**index / self._scale

    def _log_mgf(self, index: int, sign: int) -> float:
        """Log transform at a real tilt: of the usual tilts in one pass, of extreme ones alone."""
        if (0, sign) not in self._log_mgfs:
            thetas = np.array([self._theta(i, sign) for i in range(_N_LADDER)])
            values = log_transform(self._coarse, self._n_positives, thetas).real
            if np.isfinite(values).all():
                self._log_mgfs.update(((i, sign), float(v)) for i, v in enumerate(values))
        if (index, sign) not in self._log_mgfs:
            theta = self._theta(index, sign)
            self._log_mgfs[index, sign] = tilted_bands(self._coarse, self._n_positives, theta)[1]
        return self._log_mgfs[index, sign]

    def _bands_at(self, index: int, sign: int) -> Bands | None:
        """Rows that matter at a tilt; None where all of them are few, and blocks are not merged."""
        few = self._n_positives <= _FEW_HITS and self._refined is None
        if few and index < _N_LADDER:
            return None
        if (index, sign) not in self._bands:
            theta = self._theta(index, sign)
            bands, log_mgf = tilted_bands(self._coarse, self._n_positives, theta, _NEGLIGIBLE)
            self._bands[index, sign] = bands
            self._log_mgfs[index, sign] = log_mgf
        return self._bands[index, sign]

    def _exponent(self, s: float, sign: int, index: int) -> float:
        return self._log_mgf(index, sign) - self._theta(index, sign) * s

    def _saddle(self, s: float, sign: int) -> int:
        """Ladder index that minimises ``K(theta) - theta s``, which is convex in theta."""
        index = self._usual_index
        best = self._exponent(s, sign, index)
        for direction in (1, -1):
            while 0 <= index + direction < _N_TILTS:
                value = self._exponent(s, sign, index + direction)
                if value >= best:
                    break
                index, best = index + direction, value
        return index

    def _usual(self, s: float, sign: int) -> tuple[int, int]:
        """The usual tilt, which is good enough for most values, and its step for s."""
        index = self._usual_index
        if self._beyond(s, sign, 2.0 * np.pi / self._step(0)):
            return index, 0
        return index, self._fineness(s, sign, index, self._exponent(s, sign, index))

    @cached_property
    def _usual_index(self) -> int:
        one_hit = np.abs(self._increments.linear + self._increments.square).max()
        most = _MOST_PER_HIT * self._scale / one_hit
        return int(np.clip(np.log(most / _FIRST_TILT) / np.log(_TILT_RATIO), 0, _USUAL))

    def _beyond(self, s: float, sign: int, distance: float) -> bool:
        """Whether there is no value so far out from s."""
        return sign * s + distance > (
            self._support_within[1] if sign > 0 else -self._support_within[0]
        )

    def _best(self, s: float, sign: int) -> tuple[int, int]:
        """Ladder index of the best tilt for s, and its step."""
        index = self._saddle(s, sign)
        lowest = self._exponent(s, sign, index)
        slack = 0.0 if index >= _USUAL else _SLACK
        while index + 1 < _N_TILTS and self._exponent(s, sign, index + 1) <= lowest + slack:
            index += 1
        return index, self._fineness(s, sign, index, lowest)

    def _fineness(self, s: float, sign: int, index: int, log_p: float) -> int:
        """Half octaves by which the step is refined until aliasing is negligible beside p."""
        for fineness in range(_FINEST):
            period = 2.0 * np.pi / self._step(fineness)
            if self._log_aliasing(s, index, sign, period) - log_p <= -_ALIASING:
                return fineness
        return _FINEST

    def _step(self, fineness: int) -> float:
        return float(_STEP / 2.0 ** (fineness / 2) / self._scale)

    def _log_aliasing(self, s: float, index: int, sign: int, period: float) -> float:
        """Bound of the log of what the trapezoid rule picks up one period further in and out.

        Further in there is at most everything, further out what Chernoff's bound allows.
        """
        theta = abs(self._theta(index, sign))
        inside = -theta * period
        if self._beyond(s, sign, period):
            return inside
        outside = [
            self._exponent(s, sign, j) - (abs(self._theta(j, sign)) - theta) * period
            for j in range(index + 1, min(index + 5, _N_TILTS))
        ]
        return max(inside, min(outside, default=-np.inf))

    def _decays(self, index: int, sign: int, fineness: int) -> bool:
        """Whether the transform will have decayed at the last node, seen on the merged blocks."""
        key = (index, sign, fineness)
        if key not in self._decaying:
            theta, step = self._theta(index, sign), self._step(fineness)
            z = theta + 1j * step * (_MAX_NODES - np.arange(_N_PROBES) - 0.5)
            values = log_transform(self._coarse, self._n_positives, z, self._bands_at(index, sign))
            heights = np.exp(values.real - self._log_mgf(index, sign)) * np.abs(theta / z)
            self._decaying[key] = bool(heights.sum() < max(_DECAYING, 1e-3 * self._good))
        return self._decaying[key]

    def _invert(
        self, s: Floats, contour: tuple[int, int, int], insist: bool
    ) -> tuple[Floats, Floats]:
        """Log tails and their relative errors from one contour, followed as far as is needed.

        The lengths at which it is looked at are always the same, and each value takes the first
        that is enough for it, so that no answer depends on what was asked before.
        """
        log_p, error = np.full(s.shape, -np.inf), np.full(s.shape, np.inf)
        rough = not insist and self._may_be_rough(contour)
        if not (insist or rough or self._decays(*contour)):
            return log_p, error
        max_nodes = _INSISTENT_NODES if insist else _MAX_NODES
        n_nodes = _ROUGH_NODES if rough else self._first_look(contour[2])
        cut = np.full(s.shape, np.inf)
        active = np.arange(s.size)
        while active.size:
            before = cut[active]
            nodes = self._contour(contour, n_nodes)
            if not np.isfinite(nodes.log_transform).all():
                return np.full(s.shape, -np.inf), np.full(s.shape, np.inf)
            share = _share_of_rest(self._increments.sizes.size, rough, insist)
            log_p[active], error[active], cut[active] = self._along(
                s[active], contour, nodes, share
            )
            enough = _DECAYED
            if self._in_a_hurry:
                enough = _CHEAP_DIGITS if n_nodes < _CHEAP_NODES else 0.1 * self._good
            unfinished = cut[active] > enough
            if rough or (self._few_blocks and not insist):
                unfinished &= (cut[active] > 0.9 * self._good) & (cut[active] < 0.5 * before)
            active = active[unfinished]
            n_nodes += n_nodes // 2
            if n_nodes > max_nodes:
                break
        return log_p, error

    def _along(
        self,
        s: Floats,
        contour: tuple[int, int, int],
        nodes: _Nodes,
        share_of_rest: tuple[float, float],
    ) -> tuple[Floats, Floats, Floats]:
        """Log tails, their relative errors, and the part of these from cutting the sum off.

        Where the contour is too far off to be followed that part is 0, and the error infinite.
        """
        index, sign, _ = contour
        log_p, total, heights = nodes.tail(s, sign)
        last, factor = share_of_rest
        cut = factor * heights[-max(8, int(last * heights.size)) :].sum() / total
        merging = self._merging_correction(index, sign)
        log_p = log_p + 4.0 / 3.0 * merging
        period = 2.0 * np.pi / nodes.step
        aliasing = np.array([self._log_aliasing(float(x), index, sign, period) for x in s])
        rounding = 1e-15 * np.sqrt(self._increments.sizes.size) * heights.sum() / total
        error = 1e-13 + 4.0 * rounding + cut + 2.0 * abs(merging)
        error += np.exp(np.minimum(aliasing - log_p, 50.0))
        if last == 0.5:
            error += nodes.atom(s) / total
        far_off = heights.sum() / total > (_FAR_OFF_COARSE if last == 0.5 else _FAR_OFF)
        # A larger error would itself be a guess.
        usable = np.isfinite(log_p) & (log_p < 1e-6) & (error < 1.0) & ~far_off
        return log_p, np.where(usable, error, np.inf), np.where(far_off, 0.0, cut)

    def _may_be_rough(self, contour: tuple[int, int, int]) -> bool:
        """Whether a short contour will do: for the upper tail of a transform that does not decay.

        Of few blocks only if the tail may be rough, of very few not even then.
        """
        n_blocks = self._increments.sizes.size
        if contour[1] < 0 or n_blocks <= VERY_FEW_BLOCKS:
            return False
        if self._few_blocks:
            return self._in_a_hurry
        return not self._decays(*contour)

    def _first_look(self, fineness: int) -> int:
        """Nodes of the first look. The transform of a few large blocks comes back: look far."""
        if self._few_blocks:
            return int(np.clip(_BLOCK_NODES / self._increments.sizes.size, 256, 1024))
        reach = 1.5 * _FIRST_REACH if self._in_a_hurry else _FIRST_REACH
        return int(reach / _STEP * 2.0 ** (fineness / 2))

    def _contour(self, contour: tuple[int, int, int], n_nodes: int) -> _Nodes:
        """The first `n_nodes` nodes of a contour; those already there are kept."""
        index, sign, fineness = contour
        known = self._contours.get(contour)
        if known is None:
            nothing = np.empty(0, complex)
            known = _Nodes(self._theta(index, sign), self._step(fineness), nothing, nothing)
        if known.z.size < n_nodes:
            heights = (np.arange(known.z.size, n_nodes) + 0.5) * known.step
            added = known.theta + 1j * heights
            values = [
                self._transform(index, sign, chunk)
                for chunk in np.array_split(added, -(-added.size // 128))
            ]
            known = _Nodes(
                known.theta,
                known.step,
                np.concatenate([known.z, added]),
                np.concatenate([known.log_transform, *values]),
            )
            self._contours[contour] = known
        return known.up_to(n_nodes)

    def _transform(
        self, index: int, sign: int, z: Complexes, increments: Increments | None = None
    ) -> Complexes:
        increments = self._increments if increments is None else increments
        bands = self._bands_at(index, sign)
        if bands is not None:
            bands = bands.at(np.cumsum(self._coarse.sizes), np.cumsum(increments.sizes))
        return log_transform(increments, self._n_positives, z, bands)

    def _merging_correction(self, index: int, sign: int) -> float:
        """Change of the log transform at the tilt when the ratio of merged blocks is halved."""
        if self._refined is None:
            return 0.0
        if (index, sign) not in self._merging:
            z = np.array([self._theta(index, sign) + 0.0j])
            finer = self._transform(index, sign, z, self._refined)[0].real
            self._merging[index, sign] = float(finer - self._transform(index, sign, z)[0].real)
        return self._merging[index, sign]


def _share_of_rest(n_blocks: int, rough: bool, insist: bool) -> tuple[float, float]:
    """How much the terms that are cut off may add up to: a factor of the last part of the heights.

    Oscillating terms cut off where they have decayed add up to less than an eighth of them, else to
    about a tenth of the half of them, and for few blocks to almost the half.
    """
    if n_blocks <= FEW_BLOCKS or insist:
        return 0.5, 1.0
    return (0.5, 0.3) if rough else (0.125, 1.0)
