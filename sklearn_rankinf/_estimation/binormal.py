"""Intervals from the binormal model: positives score N(d, 1), negatives N(0, 1).

A metric of a ranking depends on the scores only through the numbers of negatives between
consecutive positives. A data set of n items is therefore drawn in O(m log m) for m positives:
their scores, and then the numbers of negatives in the m + 1 gaps between them, which are
multinomial with the normal probabilities of the gaps. The draw is exact, and its cost does not
depend on n.

Data sets at several shifts d share their random numbers: the negatives keep their scores and the
positives move. If a metric does not fall when a positive moves up, a draw of it does not fall with
d, and its simulated mean and tail probabilities are monotone functions of d.

Two intervals of the expected value of a metric, at a given number of items and of positives, are
computed by simulation. The *calibrated t* of average precision uses the quantiles of its
studentized value in the model, at the fitted shift (parametric bootstrap-t). The *inversion* is the
set of shifts at which the observed value is not in a tail of the metric's distribution (Clopper and
Pearson 1934 [2]_). Brodersen et al. 2010 [1]_ describe the model.

The model has no ties: equal observed scores have an effect on the observed value only.

References
----------
.. [1] K. H. Brodersen, C. S. Ong, K. E. Stephan, J. M. Buhmann, "The binormal assumption on
   precision-recall curves", ICPR 2010.
.. [2] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the
   case of the binomial", Biometrika 26 (1934) 404-413.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.special import ndtr, ndtri

from sklearn_rankinf._estimation.limits import g_inverse, g_scale, g_slope
from sklearn_rankinf._statistics import Floats, Integers

# Ranks in one chunk of draws; all arrays of a chunk take less than 50 MB together.
_RANKS_PER_CHUNK = 200_000
# Number of equidistant shifts that are simulated together in the search for a range of shifts.
_N_SHIFTS = 9
# Half width of the interval around an estimated crossing at whose ends all draws are made, in
# distances between neighbouring shifts.
_CELLS_AROUND = 0.6
# Expected number of draws beyond each limit.
_DRAWS_BEYOND = 100
# Smallest number of draws: limits of a 95 % interval have a Monte Carlo error of 4 % of a standard
# deviation with 4000.
_FEWEST_DRAWS = 4000
# Largest number of draws.
_MOST_DRAWS = 20_000
# Draws at each shift in the first search for a range of shifts.
_N_SCOUTS = 40
# The range is narrowed further with the number of all draws divided by this number.
_SHARE_OF_SCOUTS = 10
# The first search ends when a step leaves more than this share of the range.
_SHORTER = 0.8
# The first search starts with a range at whose ends at least 1 - 2e-10 of the rankings have all
# positives first, or all positives last.
_SHARE_BEYOND = 1e-10
# Relative tolerance within which values are equal.
_EQUAL = 1e-12
# Grid points at which an interpolated curve is inverted.
_N_SEARCHED = 2001

RankValues: TypeAlias = Callable[[Integers], Floats]
"""Values of a metric for rows of ascending ranks of the positives, from 1, without ties."""


@dataclass(frozen=True)
class BinormalFit:
    """The shifts of the binormal model from which an interval was computed.

    `low_shift` and `high_shift` are those at the limits found by inversion, minus infinity where
    all positives are last and infinity where all are first; the fitted shift for the calibrated t.
    A limit is `clipped` to an end of the range where the observed value is the smallest or the
    largest possible one. `t_quantiles` are the two quantiles of the studentized value, None if
    there is no calibrated t. If one is infinite, the limit that depends on it is found by
    inversion.
    """

    low_shift: float
    high_shift: float
    low_clipped: bool
    high_clipped: bool
    t_quantiles: tuple[float, float] | None


class RankingDraws:
    """Draws of rankings in which positives and negatives score independently of each other.

    A subclass draws the noise of the positives, and computes the expected share of the negatives
    above each positive at several sizes of the effect.
    """

    def __init__(
        self,
        n_samples: int,
        n_positives: int,
        seed: int | np.random.SeedSequence | np.random.Generator,
    ) -> None:
        self.n_samples = n_samples
        self.n_positives = n_positives
        self._rng = np.random.default_rng(seed)

    def ranks(self, effects: Floats, n_draws: int) -> Iterator[Integers]:
        """Ascending ranks of the positives, from 1: chunks of shape (n_rows, n_effects, m).

        In a row the negatives and the noise of the positives are the same for all effects.
        """
        n_rows = max(1, _RANKS_PER_CHUNK // (effects.size * self.n_positives))
        for done in range(0, n_draws, n_rows):
            yield self._chunk(effects, min(n_rows, n_draws - done))

    def values(self, metric: RankValues, effects: Floats, n_draws: int) -> Floats:
        """Values of a metric, of shape (n_draws, n_effects)."""
        flat = (of.reshape(-1, self.n_positives) for of in self.ranks(effects, n_draws))
        return np.concatenate([metric(rows).reshape(-1, effects.size) for rows in flat])

    def _noise(self, n_rows: int) -> Floats:
        """Noise of the positives, of shape (n_rows, m), best positive first."""
        raise NotImplementedError(f"{type(self).__name__} must define _noise().")

    def _shares_above(self, noise: Floats, effects: Floats) -> Floats:
        """Probability that a negative is above each positive, of shape (n_rows, n_effects, m)."""
        raise NotImplementedError(f"{type(self).__name__} must define _shares_above().")

    def _chunk(self, effects: Floats, n_rows: int) -> Integers:
        """Ranks for some rows: gaps between the positives of all effects, and negatives in them."""
        m = self.n_positives
        shares = self._shares_above(self._noise(n_rows), effects).reshape(n_rows, -1)
        order = np.argsort(shares, axis=1, kind="stable")
        shares_above = np.take_along_axis(shares, order, axis=1)
        in_gaps = np.diff(shares_above, axis=1, prepend=0.0, append=1.0)
        negatives = self._rng.multinomial(self.n_samples - m, in_gaps)[:, :-1]
        negatives_above = np.empty_like(order)
        np.put_along_axis(negatives_above, order, negatives.cumsum(axis=1), axis=1)
        return negatives_above.reshape(n_rows, -1, m) + np.arange(1, m + 1)


class BinormalRankings(RankingDraws):
    """Draws of rankings whose positives score N(d, 1) and whose negatives score N(0, 1).

    The effects are the shifts d.
    """

    def largest_shift(self, share: float) -> float:
        """Shift at which at most twice this share of the rankings is not perfect.

        There is a threshold with a negative above it with at most this probability, and with a
        positive below it with at most this probability (Bonferroni's inequality).
        """
        n_negatives = self.n_samples - self.n_positives
        return -float(ndtri(share / n_negatives) + ndtri(share / self.n_positives))

    def _noise(self, n_rows: int) -> Floats:
        noise = self._rng.standard_normal((n_rows, self.n_positives))
        return np.asarray(np.sort(noise, axis=1)[:, ::-1])

    def _shares_above(self, noise: Floats, effects: Floats) -> Floats:
        return np.asarray(ndtr(-noise[:, None, :] - effects[:, None]))


def average_precision_values(ranks: Integers) -> Floats:
    """Average precision of rows of ascending ranks of the positives, from 1."""
    return np.asarray(_precisions(ranks).mean(axis=1))


def average_precision_variances(ranks: Integers, n_samples: int) -> Floats:
    r"""Influence variance of average precision at a fixed number of positives, without ties.

    The ranks of the positives ascend in each row; there are at least two positives and two
    negatives. Average precision changes with the weight of an item at the rate :math:`A` for a
    positive and :math:`B` for a negative,

    .. math:: A_i = \frac{1}{m} \Big[ P_i + \sum_{j \ge i} \frac{1 - P_j}{R_j} \Big], \qquad
        B = -\frac{1}{m} \sum_{j\ \mathrm{below}} \frac{P_j}{R_j},

    with the precision :math:`P_j = j / R_j` at the rank :math:`R_j` of the j-th positive. Both are
    centred within their class, and

    .. math:: V = \frac{m}{m - 1} \sum A^2 + \frac{n - m}{n - m - 1} \sum B^2.

    Negatives between the same two positives have the same influence, so that a row takes O(m).
    """
    m = ranks.shape[1]
    n_negatives = n_samples - m
    precisions = _precisions(ranks)
    positive = (precisions + _sums_from_here((1.0 - precisions) / ranks)) / m
    negative = -_sums_from_here(precisions / ranks) / m
    # Negatives behind the last positive have influence 0 and enter only through the mean.
    between = np.diff(ranks, axis=1, prepend=0) - 1
    n_behind = n_samples - ranks[:, -1]
    center = (between * negative).sum(axis=1) / n_negatives
    of_positives = ((positive - positive.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    of_negatives = (between * (negative - center[:, None]) ** 2).sum(axis=1) + n_behind * center**2
    return np.asarray(
        of_positives * m / (m - 1) + of_negatives * n_negatives / (n_negatives - 1),
    )


def calibrated_limits(
    value: float,
    variance: float,
    n_samples: int,
    n_positives: int,
    confidence_level: float,
    seed: int | np.random.SeedSequence | np.random.Generator,
    n_draws: int | None = None,
) -> tuple[float, float, BinormalFit]:
    r"""Interval of expected average precision, studentized, with quantiles of the binormal model.

    From the observed value and its influence variance, with :math:`g(t) = -\log(-\log t)`, the
    limits are

    .. math:: g^{-1}\big(g(\mathrm{AP}) - q \sqrt{V}\, g'(\mathrm{AP})\big), \qquad
        T = \frac{g(\mathrm{AP}) - g(E_d\,\mathrm{AP})}{\sqrt{V}\, g'(\mathrm{AP})},

    where :math:`q` is the upper or the lower quantile of :math:`T` at the shift :math:`\hat d`
    whose mean of :math:`g(\mathrm{AP})` is the observed one. In that mean a perfect ranking, where
    :math:`g` is infinite, counts as halfway to the next best.

    :math:`T` is infinite for a perfect ranking, which has :math:`V = 0`, and is set to minus
    infinity if all positives are last. If a quantile of the draws is infinite, the limit that
    depends on it is that of :func:`inverted_limits`. Both limits are those of inversion if the
    observed :math:`V` is zero, as for perfect rankings and constant scores, or if all positives
    are last, since the data then have no estimate of the error.
    """
    n_negatives = n_samples - n_positives
    if min(n_positives, n_negatives) < 2:
        raise ValueError(
            "The calibrated t interval needs at least two positives and two negatives; got "
            f"n_positives={n_positives} of n_samples={n_samples}. The binormal inversion needs "
            "one positive."
        )
    worst, _ = _range_of_values(average_precision_values, n_samples, n_positives)
    tail = (1.0 - confidence_level) / 2.0
    n_draws = _default_draws(tail) if n_draws is None else n_draws
    inverted = partial(
        inverted_limits,
        average_precision_values,
        value,
        n_samples,
        n_positives,
        confidence_level,
        seed,
        n_draws,
    )
    if np.sqrt(variance) <= _EQUAL * value or value <= worst * (1.0 + _EQUAL):
        return inverted()
    rankings = BinormalRankings(n_samples, n_positives, seed)
    shift = _fitting_shift(rankings, value, n_draws)
    t = _studentized(rankings, shift, n_draws)
    # A quantile between a finite and an infinite order statistic cannot be interpolated.
    low_t = float(np.quantile(t, tail, method="lower"))
    high_t = float(np.quantile(t, 1.0 - tail, method="higher"))
    scale = np.sqrt(variance) * g_slope(value)
    low, high = g_inverse(g_scale(value) - np.array([high_t, low_t]) * scale)
    fit = BinormalFit(shift, shift, False, False, (low_t, high_t))
    if np.isinf([low_t, high_t]).any():
        return _with_inverted_ends(float(low), float(high), fit, inverted())
    return float(low), float(high), fit


def inverted_limits(
    values: RankValues,
    value: float,
    n_samples: int,
    n_positives: int,
    confidence_level: float,
    seed: int | np.random.SeedSequence | np.random.Generator,
    n_draws: int | None = None,
) -> tuple[float, float, BinormalFit]:
    r"""Interval of the expectation of any metric, by inverting its tails in the binormal model.

    The metric must not fall when a positive moves up. The limits are :math:`E_{d_L} S` and
    :math:`E_{d_U} S` with

    .. math:: P_{d_L}(S \ge s) = \alpha / 2, \qquad P_{d_U}(S \le s) = \alpha / 2,

    where s is the observed value. At these shifts the curves of the upper and the lower quantile of
    S over d cross s. If s is the best possible value there is no :math:`d_U`, and the upper limit
    is that value; likewise for the worst. The interval contains s: where S is so skewed that its
    mean at :math:`d_U` is less than s, as near the largest value of BEDROC, s is the upper limit.

    There are 4000 draws at 95 %, and as many beyond each limit at higher levels, up to 20,000 in
    all.
    """
    worst, best = _range_of_values(values, n_samples, n_positives)
    edges = _edges(value, worst, best)
    is_worst, is_best = bool(worst > edges[0]), bool(best < edges[1])
    low_shift, low, high_shift, high = -np.inf, worst, np.inf, best
    if not (is_worst and is_best):
        # The worst value, or the best, has one tail of probability 1 at every shift: the range of
        # shifts is searched with the other tail.
        edges = edges[int(is_worst)], edges[1 - int(is_best)]
        tail = (1.0 - confidence_level) / 2.0
        at_low = _Crossing(lambda drawn: _probits(drawn > edges[0]), float(ndtri(tail)))
        at_high = _Crossing(lambda drawn: _probits(drawn > edges[1]), -at_low.height)
        crossings = [at_low] * (not is_worst) + [at_high] * (not is_best)
        rankings = BinormalRankings(n_samples, n_positives, seed)
        n_draws = _default_draws(tail) if n_draws is None else n_draws
        around, drawn = _draws_around(rankings, values, edges, crossings, n_draws)
        found = np.array([crossing.shift(around, drawn) for crossing in crossings])
        means = rankings.values(values, found, n_draws).mean(axis=0)
        if not is_worst:
            low_shift, low = float(found[0]), float(means[0])
        if not is_best:
            high_shift, high = float(found[-1]), float(means[-1])
        # Near an end of its range S is so skewed that its mean may lie beyond the observed value.
        low, high = min(low, value), max(high, value)
    return low, high, BinormalFit(low_shift, high_shift, is_worst, is_best, None)


@dataclass(frozen=True)
class _Crossing:
    """The shift at which an increasing curve, estimated from draws, has a given height."""

    curve: Callable[[Floats], Floats]
    height: float

    def shift(self, shifts: Floats, drawn: Floats) -> float:
        """The shift; an end of the range where the curve does not reach the height."""
        searched = np.linspace(shifts[0], shifts[-1], _N_SEARCHED)
        curve = PchipInterpolator(shifts, self.curve(drawn))(searched)
        return float(np.interp(self.height, curve, searched))


def _with_inverted_ends(
    low: float, high: float, fit: BinormalFit, inverted: tuple[float, float, BinormalFit]
) -> tuple[float, float, BinormalFit]:
    """Limits of the calibrated t; limits with an infinite quantile of T replaced by inversion."""
    assert fit.t_quantiles is not None
    low_t, high_t = fit.t_quantiles
    if np.isinf(high_t):
        low, fit = inverted[0], replace(fit, low_shift=inverted[2].low_shift)
    if np.isinf(low_t):
        high, fit = inverted[1], replace(fit, high_shift=inverted[2].high_shift)
    return low, high, fit


def _default_draws(tail: float) -> int:
    return int(np.clip(round(_DRAWS_BEYOND / tail), _FEWEST_DRAWS, _MOST_DRAWS))


def _range_of_values(values: RankValues, n_samples: int, n_positives: int) -> tuple[float, float]:
    """Values with all positives last and with all of them first."""
    first = np.arange(1, n_positives + 1)
    worst, best = values(np.stack([first + n_samples - n_positives, first]))
    return float(worst), float(best)


def _edges(value: float, worst: float, best: float) -> tuple[float, float]:
    """Thresholds just below and just above the value: ``> first`` is >=, ``> second`` is >."""
    rounding = _EQUAL * max(abs(worst), abs(best))
    return value - rounding, value + rounding


def _draws_around(
    rankings: BinormalRankings,
    values: RankValues,
    edges: tuple[float, float],
    crossings: Sequence[_Crossing],
    n_draws: int,
) -> tuple[Floats, Floats]:
    """Shifts on both sides of each crossing, and draws at them.

    At a crossing some draws are above the first edge and not all are above the second.
    """
    n_few = n_draws // _SHARE_OF_SCOUTS
    shifts = _shifts_between(rankings, values, edges)
    shifts = _shorter(shifts, rankings.values(values, shifts, n_few), edges, 0)
    drawn = rankings.values(values, shifts, n_few)
    away = _CELLS_AROUND * (shifts[1] - shifts[0])
    centers = np.array([crossing.shift(shifts, drawn) for crossing in crossings])
    around = np.unique([centers - away, centers + away])
    return around, rankings.values(values, around, n_draws)


def _shifts_between(
    rankings: BinormalRankings, values: RankValues, edges: tuple[float, float]
) -> Floats:
    """Shifts from no draw above the first edge to all draws above both.

    The range is found with few draws; a cell is added at each end for events that they miss.
    """
    high = rankings.largest_shift(_SHARE_BEYOND)
    shifts, width = np.linspace(-high, high, _N_SHIFTS), np.inf
    while np.ptp(shifts) < _SHORTER * width:
        width = np.ptp(shifts)
        shifts = _shorter(shifts, rankings.values(values, shifts, _N_SCOUTS), edges, 1)
    return shifts


def _shorter(shifts: Floats, drawn: Floats, edges: tuple[float, float], n_added: int) -> Floats:
    """The range from the last shift with no draw above one edge to the first with all above both.

    Both are monotone in the shift, so that the shifts without the property can be counted.
    """
    n_without = int(np.sum(~(drawn > edges[0]).any(axis=0)))
    n_mixed = int(np.sum(~(drawn > edges[1]).all(axis=0)))
    first = max(n_without - 1 - n_added, 0)
    last = min(n_mixed + n_added, shifts.size - 1)
    return np.linspace(shifts[first], shifts[last], _N_SHIFTS)


def _probits(is_above: NDArray[np.bool_]) -> Floats:
    """Normal quantiles of the shares of draws, which are nearly linear in the shift."""
    return np.asarray(ndtri((is_above.sum(axis=0) + 0.5) / (is_above.shape[0] + 1.0)))


def _fitting_shift(rankings: BinormalRankings, value: float, n_draws: int) -> float:
    """Shift at which the mean of g(AP) is the observed g(AP)."""
    m = rankings.n_positives
    worst, best = _range_of_values(average_precision_values, rankings.n_samples, m)
    edges = _edges(value, worst, best)
    # The best value below 1 is 1 - 1/(m (m + 1)).
    halfway = 1.0 - 0.5 / (m * (m + 1))

    def curve(drawn: Floats) -> Floats:
        return np.asarray(g_scale(np.minimum(drawn, halfway)).mean(axis=0))

    fit = _Crossing(curve, float(g_scale(value)))
    return fit.shift(*_draws_around(rankings, average_precision_values, edges, [fit], n_draws))


def _studentized(rankings: BinormalRankings, shift: float, n_draws: int) -> Floats:
    """Studentized g(AP) of the draws at a shift, infinite where all positives are first or last."""
    n, m = rankings.n_samples, rankings.n_positives
    values, variances, infinite = [], [], []
    for chunk in rankings.ranks(np.array([shift]), n_draws):
        ranks = chunk[:, 0]
        values.append(average_precision_values(ranks))
        variances.append(average_precision_variances(ranks, n))
        ends = [ranks[:, -1] == m, ranks[:, 0] == n - m + 1]
        infinite.append(np.select(ends, [np.inf, -np.inf], 0.0))
    ap, t = np.concatenate(values), np.concatenate(infinite)
    usual = np.isfinite(t)
    scale = np.sqrt(np.concatenate(variances)[usual]) * g_slope(ap[usual])
    t[usual] = (g_scale(ap[usual]) - g_scale(ap.mean())) / scale
    return np.asarray(t)


def _precisions(ranks: Integers) -> Floats:
    return np.asarray(np.arange(1, ranks.shape[1] + 1) / ranks)


def _sums_from_here(x: Floats) -> Floats:
    """Sums of each element of a row and all behind it."""
    return np.asarray(x[:, ::-1].cumsum(axis=1)[:, ::-1])
