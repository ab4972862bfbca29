r"""Boundary crossing of the path of hits: the minimum hypergeometric test and its bounds.

Implements "Paths of hits" in doc/theory.rst. Let ``H(T)`` be the number of hits among the first T
of n items, m of which are hits at random ranks. A ranking is above the bound of pointwise level
:math:`\gamma` at the end T of a block of ties if :math:`P(H(T) \ge h) \le \gamma` for its h hits.
For each h there is a *last rank* :math:`L_h`, the last end of a block at which h hits reach the
level, and since H never decreases,

.. math:: \text{above the bound anywhere} \iff H(L_h) \ge h \text{ for some } h.

A path of n steps is therefore checked at m ranks at most. Misses counted from the bottom have the
same p-values as hits counted from the top, and the fewer of the two are counted.

By chance a ranking is a sequence of independent labels with probability p = m/n of a hit,
conditioned on m hits in total. The distribution of hits on paths below the bound is propagated from
one last rank to the next by convolution with binomial probabilities. Probability above the bound is
removed after each step and multiplied by the probability of the remaining hits. All terms are
positive, so that the relative error of the sum is small however small the sum is. Below 1e-200 the
convolutions are computed in logarithms.

Truncation: a state is left out if a path that ends above the bound passes through it with a
probability below :math:`e^{-46} = 10^{-20}` (Chernoff bounds of Poisson variables, which hold for
hypergeometric variables). The cost is O(m · band), whatever n is, with a band of about
:math:`20 \sqrt m` states, and memory is O(m).

With the bound at the smallest pointwise p-value of a ranking, the crossing probability is the
p-value of the minimum hypergeometric test (Eden et al. 2007 [1]_, Wagner 2015 [2]_). Solved for the
pointwise level, it gives bounds that hold for all T simultaneously.

References
----------
.. [1] E. Eden, D. Lipson, S. Yogev, Z. Yakhini, "Discovering motifs in ranked lists of DNA
   sequences", PLoS Computational Biology 3(3), e39, 2007.
.. [2] F. Wagner, "The XL-mHG test for enrichment: a technical report", arXiv:1507.07905, 2015.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.special import logsumexp

from sklearn_rankinf._statistics import (
    Floats,
    Integers,
    cached_property,
    log_binomial_pmf,
    log_tail,
    n_terms_of_tail,
)

# Truncation: minus the natural logarithm of the probability of a state that is left out.
_DEPTH = 46.0
# Natural logarithm of the pointwise level below which convolutions are computed in logarithms:
# e^-460 = 1e-200, well above the underflow of floats.
_LOG_UNDERFLOW = -460.0
# Relative difference within which p-values are equal.
_EQUAL = 1e-12
# Addition to the relative difference per unit of the logarithm of a p-value, for its rounding.
_EQUAL_PER_LOG = 2e-15
# The search for a simultaneous bound ends when the logarithm of its crossing probability is at most
# this much below log alpha, or when no attainable p-value lies in between.
_CLOSE = 1e-6
# Largest number of steps of the search for a simultaneous bound.
_MOST_STEPS = 200
# Number of binomial probabilities that are computed in one array.
_TERMS = 2**16


@dataclass(frozen=True, eq=False)
class HitBounds:
    """The numbers of hits that reach a pointwise level, at the ranks where blocks of ties end.

    `min_hits` is the smallest number that can reach a level. Hits that are mirrored are the misses
    of a ranking that is read from its bottom.
    """

    n_samples: int
    n_positives: int
    ends: Integers
    min_hits: int = 1
    is_mirrored: bool = False

    @classmethod
    def of(cls, n_samples: int, n_positives: int, ends: Integers, min_hits: int = 1) -> HitBounds:
        """Count hits, or misses from the bottom if they are fewer.

        With h of m hits among the first T of n items there are n - T - m + h misses among the
        others. A smallest number of hits has no such counterpart.
        """
        n_misses = n_samples - n_positives
        if min_hits > 1 or n_positives <= n_misses:
            return cls(n_samples, n_positives, ends, min_hits)
        return cls(n_samples, n_misses, n_samples - ends[ends < n_samples][::-1], 1, True)

    @cached_property
    def _hits(self) -> Integers:
        """Numbers of hits that may reach a level."""
        return np.arange(self.min_hits, self.n_positives + 1)

    @cached_property
    def _first(self) -> Integers:
        """Position of the first end by which there can be as many hits."""
        return np.searchsorted(self.ends, self._hits)

    def last(
        self, log_level: float, least: Integers | None = None, most: Integers | None = None
    ) -> Integers:
        """For each number of hits, number of ends up to the last at which it reaches the level.

        `least` and `most` are results for a smaller and a larger level. A number of hits that
        reaches the level nowhere has the number of ends at which it is impossible.
        """
        low = (self._first if least is None else least).copy()
        high = np.full(low.size, self.ends.size) if most is None else np.maximum(low, most)
        tolerant = _tolerant(log_level)
        while True:
            # Up to `low` ends reach the level, or are impossible; from `high` on none does.
            open_ = np.flatnonzero(low < high)
            if not open_.size:
                return low
            middle = (low[open_] + high[open_]) // 2
            log_pvalues = self._log_pvalues(open_, middle)
            # A number of hits that is certain reaches no level.
            reached = (log_pvalues <= tolerant) & (log_pvalues < 0.0)
            low[open_[reached]] = middle[reached] + 1
            high[open_[~reached]] = middle[~reached]

    def _log_pvalues(self, which: Integers, position: Integers) -> Floats:
        """Log p-values of some numbers of hits at positions among the ends."""
        return log_tail(self._hits[which], self.n_samples, self.n_positives, self.ends[position])

    def needed(self, bounds: list[Integers], ends: Integers) -> Floats:
        """Smallest numbers of hits at ends of the ranking that reach levels; nan where none does.

        Returns an array of shape (n_bounds, n_ends) for bounds as :meth:`last` returns them.
        """
        found = np.full((len(bounds), ends.size), np.nan)
        counted = self.n_samples - ends[::-1] if self.is_mirrored else ends
        for row, last in zip(found, bounds, strict=True):
            stops = np.searchsorted(counted, self._last_ranks(last), side="right")
            previous = int(np.searchsorted(counted, 1))  # skips ends with no items counted
            for hits, stop in zip(self._hits.tolist(), stops.tolist(), strict=True):
                row[previous:stop] = hits
                previous = max(previous, stop)
            row[row > counted] = np.nan
        if not self.is_mirrored:
            return found
        return found[:, ::-1] + (self.n_samples - self.n_positives) - (self.n_samples - ends)

    def largest_log_pvalue(self, last: Integers) -> float:
        """Largest log p-value that reaches the level; -inf where none does."""
        which = np.flatnonzero(last > self._first)
        return float(self._log_pvalues(which, last[which] - 1).max(initial=-np.inf))

    def next_log_pvalue(self, last: Integers) -> float:
        """Smallest log p-value that does not reach the level; 0 where all do."""
        which = np.flatnonzero(last < self.ends.size)
        return float(self._log_pvalues(which, last[which]).min(initial=0.0))

    def _last_ranks(self, last: Integers) -> Integers:
        """The last rank at which each number of hits, or a smaller one, reaches the level, else 0.

        With ties a number of hits may reach the level at no end although smaller and larger numbers
        do.
        """
        ranks = np.where(last > self._first, self.ends[np.maximum(last, 1) - 1], 0)
        return np.maximum.accumulate(ranks)

    def log_crossing_probability(self, last: Integers) -> float:
        """Log probability that the hits reach the level at any end."""
        ranks, first = np.unique(self._last_ranks(last), return_index=True)
        if ranks[:1].tolist() == [0]:
            ranks, first = ranks[1:], first[1:]
        if not ranks.size:
            return -math.inf
        highest = self._log_pvalues(first, np.searchsorted(self.ends, ranks)).max()
        paths = _Paths(self.n_samples, self.n_positives, ranks, self._hits[first])
        # The crossing probability is at least the probability of crossing at any single end.
        return min(0.0, max(float(highest), paths.log_crossing_probability(float(highest))))


def _tolerant(log_level: float) -> float:
    return log_level + _EQUAL + _EQUAL_PER_LOG * abs(log_level)


@dataclass(frozen=True, eq=False)
class _Paths:
    """Paths of hits, and the numbers of hits that are above the bound at some ranks.

    Both arrays ascend: `above` is the smallest number of hits above the bound at each of `ranks`.
    """

    n_samples: int
    n_positives: int
    ranks: Integers
    above: Integers

    def log_crossing_probability(self, log_level: float) -> float:
        """Log probability of being above the bound anywhere, from its rank of crossing."""
        n, m = self.n_samples, self.n_positives
        in_logs = log_level < _LOG_UNDERFLOW
        lowest, highest = self._band()
        weights = self._weights(lowest, highest)
        state = np.zeros(1) if in_logs else np.ones(1)
        low = 0
        crossings: list[Floats] = []
        for j, (fewest, log_weights) in enumerate(weights):
            if in_logs:
                state = _convolved_logs(state, log_weights)
            else:
                state = np.convolve(state, np.exp(log_weights))
            low += fewest
            cut, above, top = int(lowest[j]), int(self.above[j]), int(highest[j])
            crossings.append(state[above - low : top + 1 - low])
            state, low = state[max(cut - low, 0) : above - low], max(cut, low)
        lengths = np.array([len(crossing) for crossing in crossings])
        found = np.concatenate(crossings)
        with np.errstate(divide="ignore"):
            log_found = found if in_logs else np.log(found)
        hits = _ranges(self.above, lengths)
        left = np.repeat(n - self.ranks, lengths)
        log_completions = log_binomial_pmf(m - hits, left, n, m) - log_binomial_pmf(m, n, n, m)
        return float(logsumexp(log_found + log_completions))

    def _weights(self, lowest: Integers, highest: Integers) -> Iterator[tuple[int, Floats]]:
        """For each rank the fewest hits since the one before, and log binomial probabilities."""
        sizes = np.diff(self.ranks, prepend=0)
        fewest, most = self._steps(sizes, lowest, highest)
        lengths = most - fewest + 1
        stops = np.cumsum(lengths)
        # Steps are grouped so that an array has about _TERMS elements.
        parts = np.flatnonzero(np.diff(stops // _TERMS, prepend=-1))
        for first, last in zip(parts.tolist(), [*parts[1:].tolist(), lengths.size], strict=True):
            part = slice(first, last)
            items = np.repeat(sizes[part], lengths[part])
            hits = _ranges(fewest[part], lengths[part])
            log_weights = log_binomial_pmf(hits, items, self.n_samples, self.n_positives)
            pieces = np.split(log_weights, np.cumsum(lengths[part])[:-1])
            yield from zip(fewest[part].tolist(), pieces, strict=True)

    def _band(self) -> tuple[Integers, Integers]:
        """Band of states at each rank: smallest and largest numbers of hits that are kept.

        Given h hits at the rank T, the expected number at the rank t < T is h t / T.
        """
        density = self.above / self.ranks
        later = np.append(np.minimum.accumulate(density[::-1])[-2::-1], 0.0)
        lowest = _fewest(self.ranks * later)
        beyond = n_terms_of_tail(self.above, self.n_samples, self.n_positives, self.ranks)
        return np.minimum(lowest, self.above - 1), self.above + beyond - 1

    def _steps(
        self, sizes: Integers, lowest: Integers, highest: Integers
    ) -> tuple[Integers, Integers]:
        """Smallest and largest numbers of hits between consecutive ranks that are kept."""
        density = self.above / self.ranks
        least = np.minimum.accumulate(density[::-1])[::-1]
        densest = np.maximum.accumulate((highest / self.ranks)[::-1])[::-1]
        most = _most(np.asarray(sizes * np.minimum(densest, 1.0)))
        most = np.minimum(most, np.minimum(sizes, highest))
        fewest = np.minimum(_fewest(np.asarray(sizes * least)), most)
        # The first step starts from 0 hits: its band is the band of states.
        fewest[0], most[0] = lowest[0], highest[0]
        return fewest, most


def _fewest(mean: Floats) -> Integers:
    """Number below which a Poisson variable falls with probability e^-DEPTH at most (Chernoff)."""
    return np.maximum(np.floor(mean - np.sqrt(2.0 * _DEPTH * mean)), 0.0).astype(np.int64)


def _most(mean: Floats) -> Integers:
    """Number that a Poisson variable exceeds with probability e^-DEPTH at most (Bernstein)."""
    third = _DEPTH / 3.0
    return np.ceil(mean + third + np.sqrt(third**2 + 2.0 * _DEPTH * mean)).astype(np.int64)


def _ranges(starts: Integers, lengths: Integers) -> Integers:
    """Consecutive numbers from each start, as many as its length, one range after the other."""
    return np.arange(lengths.sum()) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)


def _convolved_logs(state: Floats, weights: Floats) -> Floats:
    """Logarithm of the convolution of two arrays, given their logarithms."""
    padded = np.full(state.size + 2 * (weights.size - 1), -np.inf)
    padded[weights.size - 1 : weights.size - 1 + state.size] = state
    windows = np.lib.stride_tricks.sliding_window_view(padded, weights.size)
    return np.asarray(logsumexp(windows + weights[::-1], axis=1))


class SimultaneousBounds:
    r"""Largest pointwise levels whose crossing probabilities are at most some alphas.

    The crossing probability is at least the level, and at most m times the level. Its logarithm is
    nearly linear in the logarithm of the level, up to the steps of a discrete distribution. The
    level is found by monotone interpolation between earlier trials, with bisection if
    interpolation does not halve the range. Searches for several alphas share their trials.
    """

    def __init__(self, bounds: HitBounds) -> None:
        self._bounds = bounds
        self._trials: list[Trial] = []

    def at(self, log_alpha: float) -> Trial:
        """The largest pointwise level for an alpha, given by its logarithm.

        The level is an attainable p-value, or minus infinity if no attainable p-value is small
        enough; the search ends early if the crossing probability is nearly alpha.
        """
        allowed = _tolerant(log_alpha)
        low, high = self._around(allowed)
        if low is None:
            low = self._try(log_alpha - math.log(max(self._bounds.n_positives, 1)))
        if high is None or high.log_level > log_alpha:
            high = self.pointwise(log_alpha)
        if high.log_crossing <= allowed:
            return high
        widths = [math.inf, math.inf]
        aim = target = log_alpha - _CLOSE / 2.0
        for _ in range(_MOST_STEPS):
            following = self._bounds.next_log_pvalue(low.last)
            if low.log_crossing > log_alpha - _CLOSE or following >= high.log_pvalue - _EQUAL:
                break
            level = self._interpolated(aim)
            widths.append(high.log_level - low.log_level)
            if widths[-1] > widths[-3] / 2.0 or not low.log_level < level < high.log_level:
                level = (low.log_level + high.log_level) / 2.0
            trial = self._try(max(level, following))
            low, high = (trial, high) if trial.log_crossing <= allowed else (low, trial)
            # Aiming beyond the target by the last error brackets it in a narrow range.
            aim = target + (target - trial.log_crossing)
        return low

    def pointwise(self, log_level: float) -> Trial:
        """The bound of a pointwise level, and its crossing probability."""
        known = [t for t in self._trials if t.log_level == log_level]
        return known[0] if known else self._try(log_level)

    def _around(self, log_crossing: float) -> tuple[Trial | None, Trial | None]:
        """The largest trial level crossed with at most this probability, and the smallest above."""
        fewer = [t for t in self._trials if t.log_crossing <= log_crossing]
        more = [t for t in self._trials if t.log_crossing > log_crossing]
        return max(fewer, key=_level_of, default=None), min(more, key=_level_of, default=None)

    def _try(self, log_level: float) -> Trial:
        """Compute the crossing probability of a pointwise level."""
        bounds = self._bounds
        smaller = [t for t in self._trials if t.log_level <= log_level]
        larger = [t for t in self._trials if t.log_level >= log_level]
        last = bounds.last(
            log_level,
            max(smaller, key=_level_of).last if smaller else None,
            min(larger, key=_level_of).last if larger else None,
        )
        trial = Trial(
            log_level, last, bounds.largest_log_pvalue(last), bounds.log_crossing_probability(last)
        )
        self._trials.append(trial)
        return trial

    def _interpolated(self, log_crossing: float) -> float:
        """Level with this crossing probability, interpolated; nan outside of earlier trials."""
        known = {t.log_crossing: t.log_level for t in self._trials if t.log_crossing > -math.inf}
        if len(known) < 2:
            return math.nan
        crossings = np.array(sorted(known))
        levels = np.array([known[crossing] for crossing in crossings.tolist()])
        return float(PchipInterpolator(crossings, levels, extrapolate=False)(log_crossing))


@dataclass(frozen=True, eq=False)
class Trial:
    """A requested pointwise level, and its bound as :meth:`HitBounds.last` returns it.

    With the logarithms of the largest p-value that reaches the level, -inf where none does, and of
    the probability that a ranking reaches it anywhere.
    """

    log_level: float
    last: Integers
    log_pvalue: float
    log_crossing: float


def _level_of(trial: Trial) -> float:
    return trial.log_level
