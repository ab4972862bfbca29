"""Distributions by their tails: from those beyond the mean to every question that is asked.

`BothSides` reduces a question to tails beyond the mean (the other side is a complement), of the
hits or of the misses, whichever are fewer. Closed forms answer at the ends of the support,
hypergeometric bounds next to its lower end. What remains unknown is at last held within guaranteed
bounds, and quantiles are found by bracketing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from sklearn_rankinf._engine.canonical import CanonicalSum, Form
from sklearn_rankinf._engine.ends import EndsOfSupport
from sklearn_rankinf._engine.estimates import UNKNOWN, TailEstimates, about_the_mean, accepted_error
from sklearn_rankinf._engine.exact.bounds import TailBounds
from sklearn_rankinf._engine.quantiles import bracketed, is_reached
from sklearn_rankinf._statistics import (
    Floats,
    Increments,
    Integers,
    Statistic,
    cached_property,
    log_binomial,
    mean_and_variance,
)


@dataclass(frozen=True)
class SideSettings:
    """Where closed forms and bounds answer, and what is negligible."""

    # Lower tails below this part of the standard deviation come from hypergeometric bounds, up to a
    # number of blocks.
    bottom: float = 1e-9
    most_blocks_at_bottom: int = 1_000_000
    # Tails of single values that are kept.
    kept_tails: int = 64
    # A probability that is negligible beside 1: lost in rounding, or this part of the tolerance.
    negligible: float = 0.25 * float(np.finfo(float).eps)
    part_of_tolerance: float = 0.1


SETTINGS = SideSettings()


class BothSides:
    """A distribution with too many atoms to list, whose tails are computed one by one."""

    is_listed = False

    def __init__(
        self,
        statistic: Statistic,
        n_samples: int,
        n_positives: int,
        tie_sizes: Integers | None,
        tolerance: float = 0.0,
    ) -> None:
        self._statistic, self._tolerance = statistic, tolerance
        self._n_samples, self._n_positives = n_samples, n_positives
        self._tie_sizes = tie_sizes
        self._problem = statistic, n_samples, n_positives, tie_sizes
        self._ends = EndsOfSupport(self._problem)

    @property
    def _canonical(self) -> CanonicalSum:
        return self._ends.canonical

    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        return self._ends.support()

    def tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), its log, and the relative error.

        Where it is 1 its log comes from a bound of the rest.
        """
        if t.size != 1:
            return self._tail(t, sign)
        p, log_p, error = self._tail_of_one(float(t[0]), sign)
        return p.copy(), log_p.copy(), error.copy()

    def _tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        found = self.estimates(t, sign)
        return np.exp(found.log_p), found.log_p, found.error.total

    @cached_property
    def _tail_of_one(self) -> Callable[[float, int], tuple[Floats, Floats, Floats]]:
        """The same for one value: candidates of a search often rank a fold alike."""
        return lru_cache(SETTINGS.kept_tails)(lambda t, sign: self._tail(np.array([t]), sign))

    def estimates(self, t: Floats, sign: int) -> TailEstimates:
        """The same with the parts of the errors, and the solvers that answered."""
        found, inside = self._ends.known(t, sign)
        at_bottom = inside & (t < SETTINGS.bottom * self._std)
        if at_bottom.any() and self._n_blocks <= SETTINGS.most_blocks_at_bottom:
            tails = self._tail_at_the_bottom(t[at_bottom], sign)
            found.put(np.flatnonzero(at_bottom), tails)
            inside[at_bottom] = False
        left = np.flatnonzero(inside)
        if left.size:
            negligible = max(SETTINGS.negligible, SETTINGS.part_of_tolerance * self._tolerance)
            rest = partial(self._far_tail, log_negligible=math.log(negligible))
            enough = self._tolerance or UNKNOWN
            tails = about_the_mean(self._far_tail, t[left], sign, self._mean, rest, enough)
            found.put(left, tails)
            self._bound_unknown(found, left, t, sign)
        np.minimum(found.log_p, 0.0, out=found.log_p)
        return found

    def _bound_unknown(self, found: TailEstimates, where: Integers, t: Floats, sign: int) -> None:
        """Keep a guaranteed upper bound, in place, of tails with an unknown or too large error.

        Or, where bounds by a lattice and others are close together, their midpoint.
        """
        weak = where[found.error.total[where] > UNKNOWN]
        if not weak.size:
            return
        upper = np.zeros(weak.size)
        if self._n_blocks <= SETTINGS.most_blocks_at_bottom:
            # Of a few steep weights most values are next to nothing beside the deviation.
            near_bottom = self._ends.tail_at_the_bottom(t[weak], sign)
            found.put_better(weak, near_bottom)
            upper = near_bottom.log_p
        error = found.error.total[weak]
        # Bounds order candidates better than what is off by more than itself.
        known = accepted_error(self._tolerance, found.log_p[weak])
        most = np.maximum(known, 1.0 if self._tolerance else UNKNOWN)
        unknown = np.flatnonzero(error > most)
        if unknown.size:
            some = t[weak[unknown]]
            log_p = np.minimum(self._log_upper_bound(some, sign), upper[unknown])
            bounds = TailEstimates.of(log_p, "upper bound", enclosure=np.inf)
            lower, high = self._bounds(some, sign)[0], np.exp(log_p)
            midpoints = TailEstimates.between(lower, high, "midpoint of bounds")
            close = np.flatnonzero(midpoints.error.total <= UNKNOWN)
            bounds.put(close, midpoints.at(close))
            found.put(weak[unknown], bounds)

    def quantile(self, q: Floats, sign: int) -> Floats:
        """Smallest v with ``P(S <= v) >= q`` (sign -1) or ``P(S > v) <= q`` (sign 1)."""
        found = np.full(q.shape, self._ends.reach[0 if sign < 0 else 1])
        if self._ends.has_support:
            # No value that is reached is rarer than one placement.
            with np.errstate(divide="ignore"):
                log_placements = log_binomial(self._n_samples, self._n_positives)
                open_ = np.flatnonzero(np.log(q) > -log_placements * (1.0 + 1e-12))
        else:
            open_ = np.arange(q.size)
        found[open_] = bracketed(self, q[open_], sign, self._mean, self._std, self._ends.reach)
        if self._statistic.horizon is None:
            return found
        # The smallest value may be an atom: 0 where no hit is counted. Just beyond it, the tail is
        # that of all other values.
        lowest, _ = self._ends.reach
        first = lowest + np.finfo(float).tiny if sign > 0 else lowest
        return np.where(is_reached(self, np.full(q.shape, first), q, sign), lowest, found)

    def bounds(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Guaranteed bounds of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1)."""
        lower, upper = self._bounds(t, sign)
        # A bound of a tail also bounds the larger tails from below and the smaller from above.
        order = np.argsort(-sign * t)
        lower[order] = np.maximum.accumulate(lower[order])
        upper[order[::-1]] = np.minimum.accumulate(upper[order[::-1]])
        return lower, upper

    def _bounds(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """The same for each value alone: tails do not depend on what else is asked for."""
        counted, side = self._form.value(t, sign)
        lower, upper = self._tail_bounds.bounds(counted, side)
        near, far = self._ends.reach[::sign]
        certain, impossible = sign * t <= sign * near, sign * t > sign * far
        beyond = np.flatnonzero((sign * (t - self._mean) > 0.0) & ~impossible)
        if beyond.size:
            low, high = np.exp(self._log_bounds(counted[beyond], side))
            lower[beyond] = np.maximum(lower[beyond], low)
            upper[beyond] = np.minimum(upper[beyond], high)
        return np.where(certain, 1.0, lower), np.where(impossible, 0.0, upper)

    def _tail_at_the_bottom(self, t: Floats, sign: int) -> TailEstimates:
        """Tails of values that are next to nothing beside the standard deviation."""
        return self._ends.tail_at_the_bottom(t, sign)

    def _far_tail(self, t: Floats, sign: int, log_negligible: float = -math.inf) -> TailEstimates:
        """Tails of values on the tail's side of the mean, unless they are negligible."""
        raise NotImplementedError

    def _log_bounds(self, t: Floats, sign: int) -> tuple[Floats, Floats]:
        """Logs of further guaranteed bounds of tails beyond the mean, of the canonical sum."""
        raise NotImplementedError

    def _log_upper_bound(self, t: Floats, sign: int) -> Floats:
        """Log of a guaranteed upper bound of the tail."""
        raise NotImplementedError

    @cached_property
    def _tail_bounds(self) -> TailBounds:
        numbers = *self._counted_mean_and_std, self._ends.within[1]
        return TailBounds(self._canonical, *numbers, self._tolerance)

    @cached_property
    def _counted_mean_and_std(self) -> tuple[float, float]:
        """Mean and standard deviation of the canonical sum."""
        form, known = self._form, self._statistic.mean_and_variance(*self._problem[1:])
        if known is not None:
            return (known[0] - form.constant) / form.factor, math.sqrt(known[1]) / form.scale
        mean, variance = mean_and_variance(self._counted, self._n_counted)
        return mean, math.sqrt(variance)

    @property
    def _mean(self) -> float:
        return self._form.constant + self._form.factor * self._counted_mean_and_std[0]

    @property
    def _std(self) -> float:
        return self._form.scale * self._counted_mean_and_std[1]

    @property
    def _form(self) -> Form:
        return self._canonical.form

    @property
    def _counted(self) -> Increments:
        """The canonical increments, block by block."""
        return self._canonical.blocks

    @property
    def _n_counted(self) -> int:
        return self._canonical.n_counted

    @property
    def _n_blocks(self) -> int:
        return self._canonical.n_blocks

    @property
    def _blocks(self) -> Increments:
        return self._canonical.blocks_of_hits
