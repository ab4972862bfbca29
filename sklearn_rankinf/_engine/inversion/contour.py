"""Tail probabilities by numerical inversion of the transform along vertical contours.

With ``M(z) = E exp(z S)``, the tail ``P(S >= s)`` is the integral of ``M(z) exp(-z s) / z`` along
``Re z = theta > 0``, over ``2 pi i``; for ``theta < 0`` the integral is ``-P(S < s)``. It is
computed by the trapezoidal rule, the Fourier-series method of Abate and Whitt (1992), under an
exponential tilt ``theta`` near the saddle point of ``M(z) exp(-z s)`` (Daniels, 1954). For each
value

1. choose a tilt, shared by neighbouring values (`Tilts.choose`),
2. choose the period of the rule, so that Chernoff bounds of the tails a period away (aliasing) are
   negligible beside the tail (`_log_aliasing`),
3. add nodes until the transform has decayed (truncation), and sum (`_invert`, `_summed`).

Where that takes long, a value has a contour of the paths that carry its tail (`tail_of_paths`).

The terms of the stated error are the parts of `ErrorEstimate`. Implements "Contour inversion" in
doc/theory.rst, equations ``contour`` to ``inversion``.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._engine.estimates import (
    DOUBT_FAR_UP,
    DOUBT_OF_MERGING,
    ROUGH_TOLERANCE,
    TailEstimates,
    accepted_error,
    exp_of_error,
    without_merging,
)
from sklearn_rankinf._engine.inversion.nodes import Nodes, Returns, first_nodes_and_returns
from sklearn_rankinf._engine.inversion.tilts import EXTREME, Tilts, TiltsOfPaths
from sklearn_rankinf._engine.inversion.transform import Transform, largest_increment
from sklearn_rankinf._statistics import Complexes, Floats, Increments, Integers, cached_method


@dataclass(frozen=True)
class ContourSettings:
    """Settings of contour inversion; relative errors are those of a tail probability."""

    # The scale of positive tilts is at least this part of the largest increment of a single hit; a
    # distribution with a larger increment is steep.
    scale_per_increment: float = 1.0 / 3.0
    # Periods are shortest * 2**(index / 2) bodies, the scale of negative tilts, for every second
    # index up to n_periods; under extreme tilts they start at first_extreme.
    shortest: float = 8.0
    n_periods: int = 48
    first_extreme: int = -12
    # Other first periods have at most this index.
    longest_first: int = 6
    # Aliasing is at most exp(-aliasing) of the tail, of dense distributions exp(-aliasing_dense).
    aliasing: float = 25.0
    aliasing_dense: float = 18.5
    # The same with a tolerance above rough, and the part of a rough tolerance that it may take.
    aliasing_rough: float = 16.0
    aliases_of_tolerance: float = 0.05
    # A tail is smaller than the exponential of its bound less this only far out.
    below_bound: float = 5.0
    # Log of a tail below which that a period away on the damped side is small itself.
    log_far: float = -20.0

    # First nodes: to this height in units of one over the standard deviation under the tilt, which
    # comes from differences, and is from a part of the body to the body, or with a rough tolerance
    # a multiple of it; of few blocks, a number.
    height: float = 12.0
    least_deviation: float = 0.1
    most_deviation_rough: float = 8.0
    n_nodes_of_few_blocks: int = 256
    # Nodes times rows of a pass below which fewer nodes cost as much.
    cheap_pass: int = 8192
    cheap_pass_rough: int = 4500
    # Nodes of one pass: at least the first, and as many as keep its state in the cache.
    chunk: int = 512
    state: int = 32_768
    # The longest contour: nodes times products, with a tolerance, and of a whole period; and limits
    # of the number of nodes.
    most_work: float = 5e8
    most_work_rough: float = 1.5e8
    most_work_of_period: float = 1.5e9
    fewest_nodes: int = 64
    most_nodes: int = 8192
    # Truncation that is worth no more nodes; of merged blocks; of contours that are `patience`
    # times as long as at first; of contours of more than a part of the most work; and as a part of
    # the tolerance. A larger one than the last, or than a tolerance, is no estimate: the transform
    # has not decayed.
    decayed: float = 3e-9
    decayed_merged: float = 1e-5
    decayed_slowly: float = 5e-7
    decayed_late: float = 1e-4
    part_of_work: float = 0.3
    part_of_tolerance: float = 0.1
    largest_truncation: float = 0.01
    # Tolerances above this save nodes. From half a percent on, cheap passes are filled up to this
    # number of nodes.
    rough: float = 1e-4
    filled_roughly: int = 80
    # A contour this many times longer than at first is given up if its last extension has not
    # reduced the truncation by the factor.
    patience: int = 3
    progress: float = 0.7

    # First nodes times products above which a contour of a distribution that is not dense is not
    # computed far out: the paths that carry the tail of a value take less time.
    costly_far: float = 3e8
    # Logs of the ratio of two tails up to which the paths of the larger one serve both: the first
    # that is small enough near the mean.
    steps_of_paths: tuple[float, ...] = (0.5, 0.25, 0.125, 0.0625)

    # Samples of the transform beyond the first nodes: where the number of positives in a single
    # block varies by several, or blocks with ties are no more than this; of dense distributions and
    # merged blocks, of others.
    samples_large_blocks: int = 256
    many_blocks: int = 300
    samples_smooth: int = 16
    samples: int = 32
    # Known returns that add up to less, relative to the largest term, are not followed; and the
    # same with a rough tolerance.
    silent: float = 1e-13
    silent_rough: float = 1e-7

    # Rounding errors are at least this, beside that of the transform, relative to the sum of sizes.
    precision: float = 3e-10
    # Outcomes of few blocks that may lie too close together to be distinguished.
    cluster: float = 50.0
    # Terms that are larger than their sum by these factors leave the error unknown: of dense
    # distributions, and of others.
    largest_terms_dense: float = 1e9
    largest_terms: float = 5e4


SETTINGS = ContourSettings()


class Contour(NamedTuple):
    """Side (1 for positive tilts), and the indices of the tilt and the period of a contour."""

    side: int
    tilt_index: float
    period_index: int


class ContourInversion:
    """Tail probabilities of a statistic by contour inversion.

    Parameters
    ----------
    transform : Transform
        Its transform. An error by merged blocks is corrected, and stated, by comparison with blocks
        merged further.
    scale, body : float
        Standard deviation of the statistic, and that without the contributions of the top ranks.
    bounds : tuple of float, optional
        Values that the support does not exceed.
    tolerance : float, default=0.0
        Relative error that is sufficient.
    span : float, default=0.0
        Distance of which all values are multiples; 0 if there is none.
    near_periods : ndarray, optional
        Heights at which the transform of values on a lattice may return before the end of its
        period.
    most_work : float, optional
        Nodes times products of the longest contour; those of the settings by default.
    tilts : Tilts, optional
        Tilts of the transform, if they are known.
    """

    def __init__(
        self,
        transform: Transform,
        scale: float,
        body: float,
        bounds: tuple[float, float] = (-np.inf, np.inf),
        tolerance: float = 0.0,
        span: float = 0.0,
        near_periods: Floats | None = None,
        most_work: float | None = None,
        tilts: Tilts | None = None,
    ) -> None:
        self._transform, self._span, self._tolerance = transform, span, tolerance
        self._most_work = SETTINGS.most_work if most_work is None else most_work
        self._near_periods = np.empty(0) if near_periods is None else near_periods
        upper = max(scale, SETTINGS.scale_per_increment * transform.largest_increment)
        lower = body if 0.0 < body < scale else scale
        self._is_rough = tolerance >= ROUGH_TOLERANCE
        is_steep = upper > scale or transform.merged
        is_rough = span > 0.0 or (is_steep and not (transform.merged and self._is_rough))
        self._tilts = tilts or Tilts(transform, upper, lower, bounds, is_rough)
        self.log_bound, self.cheap_log_bound = self._tilts.log_bound, self._tilts.cheap_log_bound
        self.unbounded_up_to = self._tilts.unbounded_up_to
        self._is_dense = self._tilts.is_dense
        # Contours of dense distributions are shorter at first with a rough tolerance.
        self.is_short = self._is_rough and self._is_dense
        # With a tolerance, half the height and the samples, and shorter periods, are enough.
        self._effort = 0.5 if tolerance > SETTINGS.rough else 1.0
        self._most_filled = SETTINGS.filled_roughly if self._is_rough else sys.maxsize
        most = SETTINGS.aliasing_dense if self._is_dense else SETTINGS.aliasing
        self._most_aliasing = -min(most, SETTINGS.aliasing_rough) if self._effort < 1.0 else -most
        enough = SETTINGS.decayed_merged if transform.merged else SETTINGS.decayed
        self._enough = max(enough, SETTINGS.part_of_tolerance * tolerance)
        self._known: dict[tuple[Contour, bool], Nodes] = {}

    def tail(self, s: Floats, sign: int, most_work: float = math.inf) -> TailEstimates:
        """Tails, ``P(S >= s)`` (sign 1) or ``P(S <= s)`` (sign -1), and their errors.

        Meant for s on the same side of the mean as the tail. The error is infinite where the method
        does not apply. A contour along which the transform does not decay in time, or within
        `most_work`, is not followed to its end.
        """
        if self._span:
            # P(S <= s) is the complement of the tail from the next multiple of the span on.
            whole = np.ceil(s / self._span) if sign > 0 else np.floor(s / self._span) + 1.0
            s = whole * self._span
        found, (contours, best) = TailEstimates.unknown(s.shape), self._chosen(s, sign)
        for contour, chosen in contours.items():
            found.put(chosen, self._invert(s[chosen], contour, best[chosen], most_work))
        return found

    @property
    def may_be_limited(self) -> bool:
        """Whether tails may come from contours of the paths that carry them alone."""
        return self._transform.has_paths and not self._transform.is_limited

    def jumps(self, s: Floats, sign: int) -> NDArray[np.bool_]:
        """Whether no tilt puts the mean near a value."""
        return np.array([self._transform.jumps(value, sign) for value in s.tolist()], dtype=bool)

    def tail_of_paths(self, s: Floats, sign: int) -> TailEstimates:
        """The same, from contours of the paths that carry the tail of a value nearer to the mean.

        Other paths, between the humps of a tilted distribution, make its contours long.
        """
        found, (low, high) = TailEstimates.unknown(s.shape), self._tilts.support
        open_ = np.flatnonzero((low <= s) & (s <= high))
        for part in SETTINGS.steps_of_paths:
            start = self._starts(s[open_], sign, part)
            for value in np.unique(start).tolist():
                same = open_[start == value]
                found.put(same, self._tail_of_paths(s[same], sign, value))
            # Paths that carry the tail of a value at the mean, or on its other side, are not known.
            open_ = open_[[self._limited(value, sign) is None for value in start.tolist()]]
        return found

    def _starts(self, s: Floats, sign: int, part: float) -> Floats:
        """Values, a little nearer to the mean, whose tails are larger by at most exp(part) or so.

        They are multiples of a power of 2, so that all between two of them have the same.
        """
        slope = np.abs(self.tilts(s, sign))
        with np.errstate(divide="ignore"):
            step = np.exp2(np.floor(np.log2(part / slope)))
        start = np.where(np.isfinite(step), sign * np.floor(sign * s / step) * step, s)
        low, high = self._tilts.support
        return np.where((low <= start) & (start <= high), start, s)

    def _tail_of_paths(self, s: Floats, sign: int, start: float) -> TailEstimates:
        """Tails of values from the paths that carry the tail of another; unknown without these."""
        limited = self._limited(start, sign)
        if limited is None:
            return TailEstimates.unknown(s.shape)
        inversion, log_rest = limited
        found = inversion.tail(s, sign)
        if log_rest > -math.inf:
            rest = log_rest - np.maximum(found.log_p, log_rest)
            found.error.truncation[:] += exp_of_error(rest)
        return found

    @cached_method
    def _limited(self, start: float, sign: int) -> tuple[ContourInversion, float] | None:
        """Inversion of the paths that carry a tail, and the log of a bound of the rest."""
        limited = self._transform.limited(start, sign)
        if limited is None:
            return None
        numbers = limited.deviation, limited.deviation, self._tilts.support, self._tolerance
        tilts = TiltsOfPaths(limited.transform, *limited[2:], self._tilts.support)
        inversion = ContourInversion(
            limited.transform, *numbers, self._span, self._near_periods, tilts=tilts
        )
        return inversion, limited.log_rest

    def tilts(self, s: Floats, sign: int) -> Floats:
        """Tilts under which the values s, on the tail's side of the mean, are near the mean."""
        return self._tilts.theta(sign, self._tilts.choose(s, sign)[0])

    # Choice of contours.

    def _chosen(self, s: Floats, sign: int) -> tuple[dict[Contour, Integers], Floats]:
        """Contours, the places of the values that each serves, and the best bounds of tails."""
        indices, log_p = self._tilts.choose(s, sign)
        chosen: dict[Contour, Integers] = {}
        for index in sorted(set(indices.tolist())):
            open_ = np.flatnonzero(indices == index)
            first = self._first_period(sign, index)
            for period in range(first, SETTINGS.n_periods, 2):
                contour = Contour(sign, index, period)
                aliasing, _ = self._log_aliasing(s[open_], contour, log_p[open_])
                fine = aliasing <= self._largest_aliasing(log_p[open_])
                if fine.any():
                    chosen[contour] = open_[fine]
                open_ = open_[~fine]
                if not open_.size:
                    break
        return chosen, log_p

    def _length(self, period: int) -> float:
        """Length of a period; a multiple of twice the span, if there is one."""
        length = float(SETTINGS.shortest * 2.0 ** (period / 2) * self._tilts.scales[-1])
        if not self._span:
            return length
        return 2.0 * self._span * math.ceil(length / (2.0 * self._span))

    @cached_method
    def _first_period(self, side: int, index: float) -> int:
        """Index of the shortest period: the first nodes make the most of a cheap pass."""
        if index > EXTREME:
            return SETTINGS.first_extreme
        if self._span or self._tilts.are_few:
            return 0
        shortest = Contour(side, index, 0)
        ratio = min(self._n_cheap(shortest), self._most_filled) / self._n_fewest(shortest)
        # Half the height makes twice the period as cheap.
        longest = SETTINGS.longest_first - round(2.0 * math.log2(self._effort))
        return int(np.clip(math.ceil(2.0 * math.log2(ratio)), 0, longest))

    def _largest_aliasing(self, log_p: Floats) -> Floats:
        """Log of the aliasing that is negligible beside tails, or beside what is accepted."""
        if not self.is_short:
            return self._most_aliasing + log_p
        accepted = accepted_error(self._tolerance, log_p)
        return np.log(SETTINGS.aliases_of_tolerance * accepted) - SETTINGS.below_bound + log_p

    def _log_aliasing(
        self, s: Floats, contour: Contour, log_p: Floats
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Log of a bound of the aliasing, and whether tails with a bound `log_p` are completed.

        On one side of s the tail a period away is damped, on the other side magnified; see equation
        ``inversion``. Near the middle of the distribution the damped tail is nearly 1, which is
        added to the sum. Far out it is small itself.
        """
        side, length = contour.side, self._length(contour.period_index)
        damping = abs(float(self._tilts.theta(side, contour.tilt_index))) * length
        damped, nearer = np.full(s.shape, -damping), s - side * length
        are_complete = np.ones(s.shape, dtype=bool)
        visible = np.flatnonzero(damped - log_p > -SETTINGS.aliasing)
        # Without a tolerance, values at any distance share contours but those of extreme tilts.
        may_be_far = (self.is_short or contour.tilt_index > EXTREME) and self._span == 0.0
        far = visible[(log_p[visible] < SETTINGS.log_far) & may_be_far]
        far = visible if self._transform.is_limited else far
        if far.size:
            damped[far] += self._tilts.cheap_log_bound(nearer[far], side, contour.tilt_index)
            are_complete[far], visible = False, np.setdiff1d(visible, far)
        if visible.size:
            damped[visible] += self._tilts.cheap_log_bound(nearer[visible], -side)
        beyond = self._tilts.cheap_log_bound(s + side * length, side, contour.tilt_index)
        return np.maximum(damped, beyond + damping), are_complete

    # Sums along contours.

    def _invert(self, s: Floats, contour: Contour, best: Floats, most_work: float) -> TailEstimates:
        """Tails, given their best bounds, from one contour until the truncation is negligible.

        Its lengths form a fixed sequence, and each value takes the first one that is enough for it,
        so that no result depends on earlier ones.
        """
        found, open_ = TailEstimates.unknown(s.shape), np.arange(s.size)
        whole = self._n_whole(contour)
        n_nodes, first = self._n_first(contour), self._n_usual(contour)
        work = self._transform.work(*self._tilt(contour))
        affordable = int(min(self._n_affordable(contour), most_work / work))
        # A short first contour may be followed to a third beyond the usual length.
        most = min(affordable if n_nodes == first else max(affordable, 4 * first // 3), whole)
        longest = affordable if most_work < math.inf else 2 * affordable
        log_bound = self._tilts.cheap_log_bound(s, contour.side)
        is_far = self.may_be_limited and bool(np.all(log_bound < SETTINGS.log_far))
        is_costly = is_far and not self._is_dense and n_nodes * work > SETTINGS.costly_far
        if first > longest or is_costly:
            return found
        returns = self._returns(contour)
        truncation = math.inf
        while open_.size:
            nodes = self._nodes(contour, n_nodes)
            before, truncation = truncation, self._truncation(nodes)
            if math.isinf(truncation):
                break
            more = self._n_more(contour, n_nodes)
            is_long = n_nodes >= SETTINGS.patience * first
            enough = max(self._enough, SETTINGS.decayed_slowly if is_long else 0.0)
            if n_nodes > SETTINGS.part_of_work * affordable:
                enough = max(enough, SETTINGS.decayed_late)
            is_stuck = truncation > SETTINGS.progress * before and is_long and most < whole
            is_last = is_stuck or n_nodes + more > most
            # No tail exceeds its bound, and no relative truncation is smaller than this.
            scale = np.exp(np.minimum(nodes.log_scale(s[open_]) - log_bound[open_], 50.0))
            rest, left = truncation + returns.beyond(n_nodes), returns.beyond(most)
            # Most of what is missing lies beyond the longest affordable contour.
            is_beyond = (left * scale > enough) & (left > 0.5 * rest)
            ready = open_[(rest * scale <= enough) | is_beyond | is_last]
            open_ = open_[~is_beyond]
            found.put(ready, self._summed(s[ready], contour, best[ready], nodes))
            if is_last:
                break
            error = found.error.at(open_)
            is_short = np.isinf(error.enclosure) | (error.truncation > enough)
            if self._is_rough:
                accepted = accepted_error(self._tolerance, found.log_p[open_])
                is_short &= ~(np.isfinite(error.total) & (error.total <= accepted))
            open_ = open_[is_short & np.isfinite(error.rounding)]
            n_nodes += more
        return found

    def _summed(self, s: Floats, contour: Contour, best: Floats, nodes: Nodes) -> TailEstimates:
        """Tails, given their best bounds, from nodes; unknown if the transform has not decayed."""
        returns, sign = self._returns(contour), contour.side
        aliasing, are_complete = self._log_aliasing(s, contour, best)
        log_p, unit = nodes.tail(s, sign, False, returns.behind(nodes.z.size), are_complete)
        known = np.isfinite(log_p)
        safe = np.where(known, log_p, 0.0)
        truncation = (self._truncation(nodes) + returns.beyond(nodes.z.size)) * unit
        atoms: Floats = np.zeros(s.shape)
        if self._tilts.few_blocks and not nodes.is_whole:
            # The transform returns farther out than any node. No outcome beyond s is commoner than
            # the commonest under the tilt, moved there by the tilt.
            moved = nodes.theta * nodes.mean_less(s)
            commonest = self._transform.log_commonest(nodes.theta)
            atoms = SETTINGS.cluster * exp_of_error(commonest + moved - safe)
        size = nodes.sizes.sum() * unit
        rounding = SETTINGS.precision + self._transform.rounding * size
        # Unlike the transform, what is left out of it does not decay.
        left_out = self._transform.left_out(*self._tilt(contour))
        truncation = truncation + left_out * nodes.weights.sum() * unit
        merging = np.zeros(s.shape)
        if self._transform.merged:
            coarser = self._nodes(contour, nodes.z.size, coarse=True)
            coarse = coarser.tail(s, sign, False, (), are_complete)[0]
            known &= np.isfinite(coarse)
            is_irregular = self._transform.merges_ties or self._is_rough
            doubt = DOUBT_FAR_UP if self._transform.is_limited else DOUBT_OF_MERGING
            log_p, merging = without_merging(log_p, coarse, known, is_irregular, doubt)
        most = SETTINGS.largest_terms_dense if self._is_dense else SETTINGS.largest_terms
        rounding = np.where(size > most, np.inf, rounding)
        found = TailEstimates.of(
            np.minimum(log_p, 0.0),
            "contour",
            rounding=rounding,
            truncation=truncation,
            aliasing=exp_of_error(aliasing - safe),
            atoms=atoms,
            merging=merging,
        )
        # A larger error would itself be a guess.
        usable = known & (log_p < 1e-6) & (found.error.total < 1.0)
        accepted = accepted_error(self._tolerance, log_p)
        usable &= truncation <= np.maximum(accepted, SETTINGS.largest_truncation)
        found.error.truncation[~usable] = np.inf
        return found

    @cached_method
    def _truncation(self, nodes: Nodes) -> float:
        """Estimated sum of the sizes of the terms beyond the last node, without returns.

        The sums of sizes over successive parts of the contour go on to fall as the last two did,
        and the last eighth is a lower limit. Infinite if some term is not known.
        """
        if not np.isfinite(nodes.log_transform).all():
            return math.inf
        if nodes.is_whole and not self._transform.merged:
            return 0.0
        heights, n_nodes = nodes.sizes, nodes.z.size
        half = n_nodes // 2
        length = max(2, n_nodes // 8) if self._is_dense else half
        last, before = heights[-length:].sum(), heights[-2 * length : -length].sum()
        if not self._is_dense:
            before = heights[half // 2 : half].sum()
        ratio = min(last / max(before, np.finfo(float).tiny), 0.9)
        eighth = heights[-max(4, n_nodes // 8) :].sum()
        return float(max(eighth, last * ratio / (1.0 - ratio)))

    @cached_method
    def _returns(self, contour: Contour) -> Returns:
        """Samples behind the first nodes, which are kept; no others may be known before."""
        silent = math.inf
        if self._span > 0.0 and not self._transform.merged:
            silent = SETTINGS.silent_rough if self._is_rough else SETTINGS.silent
        transform = partial(self._log_transform, contour)
        # Short first contours end while the transform decays.
        first, start = self._n_first(contour), self._n_usual(contour)
        numbers = first, start, self._n_whole(contour), self._n_probes
        self._known[contour, False], returns = first_nodes_and_returns(
            transform, self._none_of(contour), *numbers, self._near_periods, silent
        )
        return returns

    @property
    def _n_probes(self) -> int:
        """Number of samples of the transform beyond the first nodes."""
        is_smooth = self._is_dense or self._transform.merged
        n_samples = SETTINGS.samples_smooth if is_smooth else SETTINGS.samples
        is_coarse = self._transform.has_ties and self._transform.n_blocks <= SETTINGS.many_blocks
        if is_coarse or self._transform.has_large_blocks:
            n_samples = SETTINGS.samples_large_blocks
        return int(self._effort * n_samples)

    # Nodes.

    def _n_fewest(self, contour: Contour, is_short: bool = True) -> int:
        """Number of nodes that a contour has at least; shorter ones are enough far out."""
        if self._tilts.few_blocks:
            return int(self._effort * SETTINGS.n_nodes_of_few_blocks)
        scale = body = self._tilts.scales[-1]
        if contour.tilt_index <= EXTREME:
            deviation = self._tilts.deviation(contour.side, contour.tilt_index)
            is_short &= self.is_short or self._transform.is_limited
            most = body * (SETTINGS.most_deviation_rough if is_short else 1.0)
            scale = np.fmin(max(deviation, SETTINGS.least_deviation * body), most)
        period = self._length(contour.period_index)
        height = self._effort * SETTINGS.height
        return math.ceil(height * period / (2.0 * np.pi * scale))

    def _n_whole(self, contour: Contour) -> int:
        """Nodes to the end of a period of the transform, which values without a span lack."""
        if not self._span:
            return sys.maxsize
        return round(self._length(contour.period_index) / (2.0 * self._span))

    @cached_method
    def _n_first(self, contour: Contour) -> int:
        """Number of nodes that a contour has at first."""
        cheap = min(self._n_cheap(contour), self._most_filled)
        return min(max(self._n_fewest(contour), cheap), self._n_whole(contour))

    @cached_method
    def _n_usual(self, contour: Contour) -> int:
        """The same without a tolerance, or nearer to the mean."""
        fewest = self._n_fewest(contour, is_short=False)
        return min(max(self._n_first(contour), fewest), self._n_whole(contour))

    @cached_method
    def _n_affordable(self, contour: Contour) -> int:
        """The longest contour that is affordable."""
        work = self._transform.work(*self._tilt(contour))
        most_work = self._most_work
        if self._effort < 1.0 and not self._transform.merged:
            most_work = SETTINGS.most_work_rough
        most = int(np.clip(most_work / work, SETTINGS.fewest_nodes, SETTINGS.most_nodes))
        # A whole period of few blocks, whose transform need not decay, is all of the distribution.
        whole = self._n_whole(contour) if self._tilts.few_blocks else sys.maxsize
        return whole if whole * work <= SETTINGS.most_work_of_period else most

    @cached_method
    def _n_cheap(self, contour: Contour) -> int:
        """Nodes of a pass of which fewer cost as much."""
        rows = self._transform.most_rows(*self._tilt(contour))
        numbers = SETTINGS.cheap_pass_rough if self.is_short else SETTINGS.cheap_pass
        return max(1, int(self._effort * numbers) // rows)

    def _tilt(self, contour: Contour) -> tuple[float, bool]:
        """The tilt, and whether it is extreme."""
        theta = float(self._tilts.theta(contour.side, contour.tilt_index))
        return theta, contour.tilt_index > EXTREME

    def _n_more(self, contour: Contour, n_nodes: int) -> int:
        """Number of nodes by which a contour is extended."""
        filled, rest = min(self._n_cheap(contour), self._most_filled), self._n_whole(contour)
        return min(max(n_nodes // 2, filled), max(rest - n_nodes, 1))

    @cached_method
    def _nodes(self, contour: Contour, n_nodes: int, coarse: bool = False) -> Nodes:
        """The first nodes of a contour; those that are known are kept.

        They are computed in the same parts whichever value needs them first: rounding depends on
        the nodes that share a pass.
        """
        known = self._known.get((contour, coarse)) or self._none_of(contour)
        while known.z.size < n_nodes:
            first = known.z.size
            size = first + self._n_more(contour, first) if first else self._n_first(contour)
            heights = (np.arange(first, size) + 0.5) * known.step
            added = np.asarray(known.theta + 1j * heights, dtype=complex)
            values = self._log_transform(contour, added, coarse)
            z = np.concatenate([known.z, added])
            values = np.concatenate([known.log_transform, values])
            known = self._known[contour, coarse] = replace(known, z=z, log_transform=values)
        return known.up_to(n_nodes)

    def _none_of(self, contour: Contour) -> Nodes:
        """A contour without nodes."""
        step, nothing = 2.0 * np.pi / self._length(contour.period_index), np.empty(0, complex)
        return Nodes(self._tilt(contour)[0], step, self._span, nothing, nothing)

    def _log_transform(self, contour: Contour, z: Complexes, coarse: bool = False) -> Complexes:
        """Log transforms at nodes of a contour, in passes whose states stay in the cache."""
        theta, is_extreme = self._tilt(contour)
        rows = self._transform.most_rows(theta, is_extreme)
        chunk = max(SETTINGS.chunk, SETTINGS.state // rows)
        parts = np.array_split(z, max(1, -(-z.size // chunk)))
        values = [self._transform.at(theta, part, is_extreme, coarse) for part in parts]
        return np.concatenate(values)


def is_steep(increments: Increments, scale: float) -> bool:
    """Whether a single hit may add several standard deviations."""
    return SETTINGS.scale_per_increment * largest_increment(increments) > scale
