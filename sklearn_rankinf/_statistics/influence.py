r"""Influence values of the items of a ranking on a metric, in O(n) after sorting.

Infinitesimal jackknife and delete-one jackknife. A ranking is a sequence of blocks of equal scores,
best first, with the numbers of items and of hits (positives) of each block. All positives of a
block have the same influence, and so have its negatives: there are two values a block. The
influence of an item is the derivative of the metric by the item's weight, including the totals (the
number of positives is the sum of their weights), or a substitute. Average precision, ROC AUC, and
recall and its multiples also take sums of weights in place of numbers of items:

=====================  ==========================================================================
average precision,     the derivative
ROC AUC
metrics of the first   the derivative with the set of the first k items held fixed, less the loss
k places               by the item that is pushed out of the first k: the share of positives at
                       rank k, smoothed over its neighbours, times the gain of a positive there
other sums over the    the exact difference from deleting the item, since a derivative by a weight
ranks of positives     is no measure of the loss of weight from rank 1 to rank 2
=====================  ==========================================================================

The influence values give the variance of the metric. With fixed numbers of positives and of
negatives the values are centred within each class, and

.. math:: V = \frac{m}{m-1} \sum_{\text{positives}} (A_i - \bar A)^2
              + \frac{n_0}{n_0-1} \sum_{\text{negatives}} (B_i - \bar B)^2

with m positives and n_0 negatives, which is DeLong's variance [1]_ for ROC AUC. If the number of
positives is random, the values are centred together and V is the sum of their squares.

References
----------
.. [1] DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the areas under two
   or more correlated receiver operating characteristic curves: a nonparametric approach.
   Biometrics, 44(3), 837-845.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sklearn_rankinf._statistics.additive import Statistic
from sklearn_rankinf._statistics.increments import Floats, Influence, Integers, Totals

# Exponent: the share of positives at rank k is averaged over about k**0.8 neighbouring ranks.
_NEIGHBOURS = 0.8


def average_precision_influence(tie_sizes: Totals, hits: Totals) -> Influence:
    r"""Influence on average precision; all 0 without positives.

    With precision :math:`P_b` at the end of block b, at rank :math:`R_b`, and :math:`y_b` hits,

    .. math:: A_\beta = \frac1m \Big[P_\beta + \sum_{b \ge \beta} \frac{y_b (1 - P_b)}{R_b}
                        - S\Big], \qquad
              B_\beta = -\frac1m \sum_{b \ge \beta} \frac{y_b P_b}{R_b}.
    """
    n_positives = float(hits.sum()) or 1.0
    ends = np.cumsum(tie_sizes)
    precision = np.cumsum(hits) / ends
    value = float(hits @ precision) / n_positives
    positive = precision + sums_from_here(hits * (1.0 - precision) / ends) - value
    negative = -sums_from_here(hits * precision / ends)
    return Influence(tie_sizes, hits, positive / n_positives, negative / n_positives)


def roc_auc_influence(tie_sizes: Totals, hits: Totals) -> Influence:
    r"""Influence on the area under the ROC curve; all 0 without positives or negatives.

    With h hits and w misses before the block, y and x in it,

    .. math:: A = \frac{n_0 - w - x/2}{m n_0} - \frac Sm, \qquad
              B = \frac{h + y/2}{m n_0} - \frac S{n_0}:

    the placement values of DeLong, DeLong and Clarke-Pearson, centred and divided by their number.
    """
    misses = tie_sizes - hits
    n_positives, n_negatives = float(hits.sum()) or 1.0, float(misses.sum()) or 1.0
    below = (misses.sum() - np.cumsum(misses) + 0.5 * misses) / n_negatives
    above = (np.cumsum(hits) - 0.5 * hits) / n_positives
    value = float(hits @ below) / n_positives
    return Influence(tie_sizes, hits, (below - value) / n_positives, (above - value) / n_negatives)


def slope_at(tie_sizes: Totals, hits: Totals, k: int) -> float:
    """Share of positives about rank k: the expected number of hits in the next place."""
    return float(slopes_at(tie_sizes, hits, np.asarray(k)))


def slopes_at(tie_sizes: Totals, hits: Totals, k: Integers) -> Floats:
    r"""Shares of positives about ranks k: the expected number of hits in the next place.

    With :math:`d = \max(2, [k^{0.8}/2])`, but no more than :math:`k - 1` and :math:`n - k`,

    .. math:: \hat\Lambda = \frac{H_{k+d} - H_{k-d} + m/n}{2d + 1},

    where :math:`H_r` are the hits in the first r places. A rank inside a block of equal scores
    counts the block's share of hits, the expectation over random tie-breaking.
    """
    n_samples = round(float(tie_sizes.sum()))
    d = np.maximum(2, np.round(0.5 * k**_NEIGHBOURS)).astype(np.int64)
    d = np.minimum(d, np.minimum(k - 1, n_samples - k))
    low, high = hits_up_to(tie_sizes, hits, k - d), hits_up_to(tie_sizes, hits, k + d)
    return np.asarray((high - low + hits.sum() / n_samples) / (2 * d + 1))


def recall_at_k_influence(tie_sizes: Totals, hits: Totals, k: int) -> Influence:
    r"""Influence on recall at k; that of negatives is 0 without positives.

    With the share q of an item's block that is in the first k places (1 or 0 except in the block
    that straddles rank k),

    .. math:: A = \frac{q (1 - \hat\Lambda) - S}{m}, \qquad B = -\frac{q \hat\Lambda}{m}.

    With a random number of positives the variance is that of Ash and Hughes-Oliver [1]_.

    References
    ----------
    .. [1] Ash, J. R. and Hughes-Oliver, J. M. (2022). Confidence bands and hypothesis tests for hit
       enrichment curves. Journal of Cheminformatics, 14, 50.
    """
    n_positives = float(hits.sum()) or 1.0
    recall = float(hits_up_to(tie_sizes, hits, k)) / n_positives
    count = _hits_at_k_influence(tie_sizes, hits, k)
    positive = (count.positive - recall) / n_positives
    return Influence(tie_sizes, hits, positive, count.negative / n_positives)


def precision_at_k_influence(tie_sizes: Totals, hits: Totals, k: int) -> Influence:
    """Influence on precision at k, m / k times that on recall up to a constant."""
    return _hits_at_k_influence(tie_sizes, hits, k).times(1.0 / k)


def enrichment_at_k_influence(tie_sizes: Totals, hits: Totals, k: int) -> Influence:
    """Influence on the enrichment factor at k: n / k times that on recall."""
    return recall_at_k_influence(tie_sizes, hits, k).times(tie_sizes.sum() / k)


def average_precision_at_k_influence(
    tie_sizes: Integers, hits: Integers, k: int, normalize: str = "min"
) -> Influence:
    r"""Influence on average precision of the first k places; all 0 without positives.

    Blocks that end by k are treated as in average precision. In the block that straddles rank k
    the value is the expectation over random tie-breaking. A positive at rank k adds
    :math:`J = H_k / (k D)` with :math:`H_k` hits in the first k places and the divisor D, so that
    :math:`q J \hat\Lambda` is subtracted, with the share q of an item's block that is in the first
    k places. If D is the number of positives, S / D is subtracted from the positives.
    """
    ends = np.cumsum(tie_sizes)
    n_positives = max(int(hits.sum()), 1)
    whole, counted = ends <= k, _counted(tie_sizes, k)
    found = np.cumsum(hits)
    precision = np.where(whole, found / ends, 0.0)
    gained, lost = hits * (whole - precision) / ends, -hits * precision / ends
    positive, negative = precision.copy(), np.zeros(ends.size)
    value = float(hits @ precision)
    cut = int(np.count_nonzero(whole))
    if cut < ends.size and counted[cut]:
        block = _CutBlock.of(tie_sizes, hits, cut, int(counted[cut]))
        gained[cut], lost[cut] = block.gained, block.lost
        positive[cut], negative[cut] = block.positive - block.gained, block.negative - block.lost
        value += block.value
    divisor = n_positives if normalize == "positives" else min(n_positives, k)
    worth = float(hits_up_to(tie_sizes, hits, k)) / k
    pushed_out = counted / tie_sizes * worth * slope_at(tie_sizes, hits, k)
    positive += sums_from_here(gained) - pushed_out
    negative += sums_from_here(lost) - pushed_out
    if divisor == n_positives:
        positive -= value / divisor
    return Influence(tie_sizes, hits, positive / divisor, negative / divisor)


@dataclass(frozen=True)
class _CutBlock:
    """The sum of precisions over the first places of a block whose items are in random order.

    Its expected value; its derivatives by the weight of a positive, or a negative, before the block
    (`gained`, `lost`), and in the block, over random orders (`positive`, `negative`).
    """

    value: float
    gained: float
    lost: float
    positive: float
    negative: float

    @classmethod
    def of(cls, tie_sizes: Integers, hits: Integers, cut: int, counted: int) -> _CutBlock:
        """Sums over the first `counted` places of block number `cut`, fewer than all its places."""
        before, h = int(tie_sizes[:cut].sum()), int(hits[:cut].sum())
        g, y = int(tie_sizes[cut]), int(hits[cut])
        ahead = np.arange(float(counted))  # places of the block before the place
        rank = before + 1.0 + ahead
        # Expected hits to a place with a hit; given a hit, or a miss, at an earlier place as well.
        precision = (h + 1.0 + ahead * (y - 1.0) / (g - 1.0)) / rank
        rest = np.maximum(ahead - 1.0, 0.0) / max(g - 2.0, 1.0)
        after_positive = (h + 2.0 + rest * (y - 2.0)) / rank
        after_negative = (h + 1.0 + rest * (y - 1.0)) / rank
        own = (precision + (1.0 - precision) / rank).sum() / g
        # Probability that a given item is earlier in the block and another one is here, over rank.
        later = ahead / (g * (g - 1.0) * rank)
        return cls(
            value=float(y * precision.sum() / g),
            gained=float(y * ((1.0 - precision) / rank).sum() / g),
            lost=-float(y * (precision / rank).sum() / g),
            positive=float(own + (y - 1.0) * (later * (1.0 - after_positive)).sum()),
            negative=-float(y * (later * after_negative).sum()),
        )


def delete_one_influence(
    statistic: Statistic, tie_sizes: Integers, hits: Integers, *, is_sum: bool = False
) -> Influence:
    r"""Influence on any additive statistic, from its exact values without each item.

    A value is a mean over the positives, or any ratio that is unchanged if all items are
    duplicated; or with `is_sum` a sum over them whose divisor does not depend on their number, such
    as discounted cumulative gain that is not normalized, or a metric of the first k places with a
    divisor that is a function of k. Influence is nan where a block has no item of the class.

    With the value S and the value without the item,

    .. math:: A = \frac{m-1}{m} (S - S_{-i}), \qquad B = \frac{n_0-1}{n_0} (S - S_{-i}),

    which are pseudo-values divided by the number of items of the class. V is then the two-sample
    jackknife variance [1]_, :math:`\frac{m-1}{m} \sum (S_{-i} - \bar S_-)^2` over the positives and
    likewise over the negatives; for ROC AUC the values are its derivatives.

    At a fixed number of positives the others replace the deleted one, with the weight
    :math:`m/(m-1)` each. A mean includes this weight; the effect of the changed share of positives
    is the same for all items and is removed by centring. A sum does not include it, and
    :math:`S_{-i}` of a sum is multiplied by :math:`m/(m-1)`, which gives :math:`A = S - S_{-i}` up
    to a constant.

    With a horizon k the deletion of an item moves another item into the first k places. The gain of
    that item is removed from :math:`S_{-i}`, and :math:`q J \hat\Lambda` is subtracted instead,
    with the gain J of a hit at rank k and the share q of the item's block in the first k places.

    References
    ----------
    .. [1] Arvesen, J. N. (1969). Jackknifing U-statistics. Annals of Mathematical Statistics,
       40(6), 2076-2100.
    """
    n, m = int(tie_sizes.sum()), int(hits.sum())
    value = _value(statistic, tie_sizes, hits)
    of_positive = 1.0 if is_sum else (m - 1) / max(m, 1)
    of_negative = (n - m - 1) / max(n - m, 1)
    without_positive, without_negative = delete_one_values(statistic, tie_sizes, hits)
    if statistic.horizon is not None and statistic.horizon < n:
        passing = _passing(statistic, statistic.horizon, tie_sizes, hits)
    else:
        passing = (np.zeros(hits.size),) * 3
    positive = of_positive * (value - (without_positive - passing[0])) - passing[2]
    negative = of_negative * (value - (without_negative - passing[1])) - passing[2]
    return Influence(tie_sizes, hits, positive, negative)


def _passing(
    statistic: Statistic, k: int, tie_sizes: Integers, hits: Integers
) -> tuple[Floats, Floats, Floats]:
    """Gains at rank k when an item of each block is deleted or added.

    The first two are the gains of the item that moves into the first k places when a positive, or a
    negative, is deleted; the last is the expected loss by the item that an added one pushes out.
    """
    n, m = int(tie_sizes.sum()), int(hits.sum())
    share = _counted(tie_sizes, k) / tie_sizes
    found, with_next = hits_up_to(tie_sizes, hits, [k, k + 1])
    entering = share * (with_next - found)
    return (
        entering * _worth(statistic, k, found - 1.0, n - 1, max(m - 1, 0)),
        entering * _worth(statistic, k, found, n - 1, m),
        share * slope_at(tie_sizes, hits, k) * _worth(statistic, k, found - 1.0, n, m),
    )


def delete_one_values(
    statistic: Statistic, tie_sizes: Integers, hits: Integers
) -> tuple[Floats, Floats]:
    r"""Value of a statistic without one positive, or without one negative, of each block.

    It is nan where a block has no such item, and where there is no other item.

    Blocks before the block of the item are unchanged except for the totals, the block loses the
    item, and blocks behind it start one rank earlier:

    .. math:: S_{-i} = \sum_{b < \beta} c(h_b, y_b) + c(h_\beta, y_\beta - 1)
                       + \sum_{b > \beta} c(h_b - 1, y_b)

    without a positive of block :math:`\beta`; without a negative the numbers of hits are unchanged.
    """
    return (
        _values_without(statistic, tie_sizes, hits, 1),
        _values_without(statistic, tie_sizes, hits, 0),
    )


def _values_without(
    statistic: Statistic, tie_sizes: Integers, hits: Integers, label: int
) -> Floats:
    """Values without one item of each block that has the label, 1 or 0."""
    there = hits > 0 if label else hits < tie_sizes
    n, m = int(tie_sizes.sum()) - 1, int(hits.sum()) - label
    if n == 0 or not there.any():
        return np.full(hits.size, math.nan)
    starts, before = np.cumsum(tie_sizes) - tie_sizes, np.cumsum(hits) - hits

    def gains(first: Integers, sizes: Integers, h: Integers, y: Integers) -> Floats:
        increments = statistic.tied(first, sizes, n, m)
        return np.asarray(y * (increments.cross * h + increments.linear + increments.square * y))

    # The sums run over blocks before (all but the last) and blocks behind (all but the first).
    ahead = gains(starts[:-1], tie_sizes[:-1], before[:-1], hits[:-1])
    behind = gains(starts[1:] - 1, tie_sizes[1:], before[1:] - label, hits[1:])
    # An emptied block has no hits and gains 0; its size and start are clipped to valid values.
    rest, place = np.maximum(tie_sizes - 1, 1), np.minimum(starts, n - 1)
    own = gains(place, rest, before, hits - label)
    total = np.append(0.0, np.cumsum(ahead)) + own + np.append(sums_from_here(behind), 0.0)
    return np.where(there, total + statistic.offset(n, m), math.nan)


def _value(statistic: Statistic, tie_sizes: Integers, hits: Integers) -> float:
    """Value of a statistic, summed in the same order as the values without an item."""
    n, m = int(tie_sizes.sum()), int(hits.sum())
    increments = statistic.tied(np.cumsum(tie_sizes) - tie_sizes, tie_sizes, n, m)
    return float(increments.total(hits)) + statistic.offset(n, m)


def _worth(statistic: Statistic, rank: int, before: float, n: int, m: int) -> float:
    """Gain of a hit at a rank, with `before` hits above it."""
    increments = statistic.tied([rank - 1], [1], n, m)
    return float(increments.gain(0, before, 1.0))


def _hits_at_k_influence(tie_sizes: Totals, hits: Totals, k: int) -> Influence:
    """Influence on the number of hits in the first k places."""
    share = _counted(tie_sizes, k) / tie_sizes
    slope = slope_at(tie_sizes, hits, k)
    return Influence(tie_sizes, hits, share * (1.0 - slope), -share * slope)


def _counted(tie_sizes: Totals, k: int) -> Totals:
    """Places of each block among the first k."""
    return np.asarray(np.clip(k - np.cumsum(tie_sizes) + tie_sizes, 0, tie_sizes))


def hits_up_to(tie_sizes: Totals, hits: Totals, ranks: ArrayLike) -> Floats:
    """Expected hits in the first places, over random orders within blocks."""
    ends, found = np.cumsum(tie_sizes), np.cumsum(hits)
    return np.asarray(np.interp(np.asarray(ranks), np.append(0, ends), np.append(0, found)))


def sums_from_here(x: Floats) -> Floats:
    """Sums over each block and all blocks behind it."""
    return np.asarray(np.cumsum(x[::-1])[::-1])
