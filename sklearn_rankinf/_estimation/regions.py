r"""Limits of recall at every k: one region of the ROC plane, read along k, recall or shares.

Recall at k, the ROC curve and the precision-recall curve are one curve: ``k = n0 rate + m recall``,
and ``precision = m recall / k``. The true curve crosses every line of fixed k once, so that a
region between two curves ``L(k) <= recall <= U(k)`` that contains the true recall at all k contains
the true ROC and precision-recall curve as well. Direct limits of these two would need the ratio of
the densities of both classes, which has no bound, where the slope of recall along k lies between 0
and 1 hit for each item.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sklearn_rankinf._estimation.limits import (
    TopFraction,
    t_quantile,
    union_limits,
    variance_of_recall,
)
from sklearn_rankinf._estimation.simultaneous import maximum_quantile
from sklearn_rankinf._ranking import Ranking
from sklearn_rankinf._statistics import Floats, Integers, hits_up_to, slopes_at

# Cut-offs at which a region is known, and those over which its critical value is computed: of 46 in
# place of all, simultaneous limits covered 91.5 % in place of 95 %.
_MOST_CUT_OFFS, _OF_CRITICAL_VALUE = 2_000, 200


def spread_out(first: int, last: int, most: int) -> Integers:
    """Whole numbers from the first to the last, of many the denser the nearer to an end."""
    if last - first < most:
        return np.arange(first, last + 1)
    from_end = np.geomspace(1.0, (last - first + 1) / 2.0, most // 3) - 1.0
    even = np.linspace(first, last, most - 2 * from_end.size)
    found: Integers = np.unique(np.round(np.r_[first + from_end, last - from_end, even]))
    return found.astype(np.int64)


def vertices(ranking: Ranking) -> tuple[Integers, Integers]:
    """Items and hits at the ends of all blocks of equal scores, from 0."""
    return np.append(0, np.cumsum(ranking.tie_sizes)), np.append(0, np.cumsum(ranking.hits))


def top_of(ranking: Ranking, k: Integers) -> TopFraction:
    """Hits, misses and slopes at cut-offs."""
    slopes = slopes_at(ranking.tie_sizes, ranking.hits, k)
    hits = hits_up_to(ranking.tie_sizes, ranking.hits, k)
    return TopFraction.of_sample(hits, k, slopes, ranking.n_samples, ranking.n_positives)


def critical_value_of_all(ranking: Ranking, level: float, seed: np.random.Generator) -> float:
    r"""The level's quantile of the largest t statistic of recall over all cut-offs.

    The covariance of recall at :math:`k_1 \le k_2`, with slope L, is

    .. math:: (1 - L_1)(1 - L_2) \kappa_1 (1 - \kappa_2) / m + L_1 L_2 n_0 f_1 (1 - f_2) / m^2,

    that of two Brownian bridges, with half an item added to hits and misses.
    """
    n, m = ranking.n_samples, ranking.n_positives
    top = top_of(ranking, spread_out(2, n - 2, _OF_CRITICAL_VALUE))
    n0, own = n - m, np.arange(top.hits.size)
    kappa, f = (top.hits + 0.5) / (m + 1.0), (top.misses + 0.5) / (n0 + 1.0)
    first, last = np.minimum.outer(own, own), np.maximum.outer(own, own)
    bridge = kappa[first] * (1.0 - kappa[last]) / m
    other = f[first] * (1.0 - f[last]) * n0 / m**2
    below = 1.0 - top.slope
    covariance = np.outer(below, below) * bridge + np.outer(top.slope, top.slope) * other
    deviation = np.sqrt(variance_of_recall(top))
    return maximum_quantile(covariance / np.outer(deviation, deviation), m - 1.0, level, seed)


@dataclass(frozen=True, eq=False)
class Region:
    """Limits of recall at cut-offs from 0 to the number of items.

    Between two cut-offs the limits are straight. Recall of the first, the last and no item is only
    known to be possible.
    """

    n_samples: int
    n_positives: int
    k: Integers
    low: Floats
    high: Floats
    critical_value: float

    @classmethod
    def of(cls, ranking: Ranking, critical_value: float) -> Region:
        """Union of score and likelihood-ratio limits at each cut-off."""
        n, m = ranking.n_samples, ranking.n_positives
        k = spread_out(2, n - 2, _MOST_CUT_OFFS)
        low, high = union_limits(top_of(ranking, k), critical_value)
        before, behind = np.array([0, 1]), np.array([n - 1, n])
        ends = [np.maximum((part - (n - m)) / m, 0.0) for part in (before, behind)]
        tops = [np.minimum(part / m, 1.0) for part in (before, behind)]
        return cls(
            n,
            m,
            np.r_[before, k, behind],
            np.r_[ends[0], low, ends[1]],
            np.r_[tops[0], high, tops[1]],
            critical_value,
        )

    @classmethod
    def pointwise(cls, ranking: Ranking, level: float) -> Region:
        """Limits of recall at a single cut-off, or of the curve at a single point."""
        return cls.of(ranking, float(t_quantile(ranking.n_positives - 1.0, level)))

    @classmethod
    def simultaneous(cls, ranking: Ranking, level: float, seed: np.random.Generator) -> Region:
        """Limits of the whole curve."""
        return cls.of(ranking, critical_value_of_all(ranking, level, seed)).tightened()

    def tightened(self) -> Region:
        """Limits without curves that cannot be: recall rises by at most one hit for each item."""
        rise = self.k / self.n_positives
        low = np.maximum.accumulate(self.low)
        low = np.maximum.accumulate((low - rise)[::-1])[::-1] + rise
        high = np.minimum.accumulate(self.high[::-1])[::-1]
        high = np.minimum.accumulate(high - rise) + rise
        return replace(self, low=low, high=high)

    def at(self, k: Floats | Integers) -> tuple[Floats, Floats]:
        """Limits of recall at cut-offs."""
        return np.interp(k, self.k, self.low), np.interp(k, self.k, self.high)

    def cut_offs_at_recall(self, recall: Floats) -> tuple[Floats, Floats]:
        """First and last cut-off at which the recall is within the limits."""
        wanted = recall[:, None]
        return (
            _first_reach(self.k, self.high - wanted),
            _last_reach(self.k, wanted - self.low),
        )

    def recall_at_share(self, share: Floats, prevalence: float) -> tuple[Floats, Floats]:
        """Least and largest recall within the limits if this share of a population is examined.

        At prevalence 0 the share is the false-positive rate.
        """
        n0 = self.n_samples - self.n_positives
        least, most = (
            prevalence * recall + (1.0 - prevalence) * (self.k - self.n_positives * recall) / n0
            for recall in (self.low, self.high)
        )
        first = _first_reach(self.k, least - share[:, None])
        last = _last_reach(self.k, share[:, None] - most)
        return np.interp(first, self.k, self.low), np.interp(last, self.k, self.high)

    def recall_at_precision(self, precision: float, recall: float) -> tuple[float, float]:
        """Limits of the largest recall with a precision, from its observed value.

        They are the ends of the line of this precision within the limits of recall at k: of the
        part with the observed value, and of the last part. Recall is 0 if the first part reaches
        the top, and 1 if all items together have the precision.
        """
        if precision * self.n_samples <= self.n_positives * (1.0 + 1e-12):
            return 1.0, 1.0
        line = precision * self.k / self.n_positives
        excess = np.minimum(self.high - line, line - self.low)
        observed = recall * self.n_positives / precision
        is_outside = excess < 0.0
        last = float(_last_reach(self.k, excess[None, :])[0]) + 1.0
        first, before = 0.0, np.flatnonzero(is_outside & (self.k <= observed))
        if before.size:
            behind = slice(before[-1], None)
            first = float(_first_reach(self.k[behind], excess[None, behind])[0]) - 1.0
        low, high = (precision * k / self.n_positives for k in (first, last))
        return min(max(low, 0.0), recall), max(min(high, 1.0), recall)


def _first_reach(k: Integers, excess: Floats) -> Floats:
    """Where each row first reaches 0, straight between the cut-offs."""
    at = np.argmax(excess >= 0.0, axis=1)
    rows, before = np.arange(at.size), np.maximum(at - 1, 0)
    above, below = excess[rows, at], excess[rows, before]
    share = np.where(at > 0, above / np.where(above > below, above - below, 1.0), 0.0)
    return np.asarray(k[at] - np.clip(share, 0.0, 1.0) * (k[at] - k[before]))


def _last_reach(k: Integers, excess: Floats) -> Floats:
    """Where each row is last at least 0."""
    return -_first_reach(-k[::-1], excess[:, ::-1])


def observed_cut_off(ranking: Ranking, recall: Floats) -> Floats:
    """Where the observed recall is first reached, straight across blocks of equal scores."""
    ends, found = vertices(ranking)
    wanted = _counts(recall * ranking.n_positives)
    at = np.clip(np.searchsorted(found, wanted, side="left"), 1, found.size - 1)
    gained = np.maximum(found[at] - found[at - 1], 1)
    return np.asarray(ends[at] - (found[at] - wanted) / gained * (ends[at] - ends[at - 1]))


def observed_recall(ranking: Ranking, rate: Floats) -> Floats:
    """The largest observed recall at false-positive rates."""
    ends, found = vertices(ranking)
    misses = ends - found
    wanted = _counts(rate * (ranking.n_samples - ranking.n_positives))
    at = np.searchsorted(misses, wanted, side="right") - 1
    behind = np.minimum(at + 1, ends.size - 1)
    passed = np.maximum(misses[behind] - misses[at], 1)
    hits = found[at] + (wanted - misses[at]) / passed * (found[behind] - found[at])
    return np.asarray(hits / ranking.n_positives)


def _counts(products: Floats) -> Floats:
    """Products of rates and counts, which are whole numbers but for rounding where rates are."""
    return np.where(np.abs(products - np.round(products)) < 1e-9, np.round(products), products)
