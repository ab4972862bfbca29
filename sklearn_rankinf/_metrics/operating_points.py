"""Operating points: precision at a recall, recall at a precision, recall at a false-positive rate.

The hits of a ranking against its misses are one curve, straight across a block of equal scores. An
operating point is where it crosses a line. In a block of g items, y of them hits, with w misses and
h hits before it, the curve is at ``(w + t (g - y), h + t y)`` for t from 0 to 1. "Operating points"
in doc/theory.rst.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sklearn_rankinf._metrics.values import CallableMetric, set_parameters
from sklearn_rankinf._ranking import check_between
from sklearn_rankinf._statistics import (
    Denominators,
    Floats,
    HitBlocks,
    HitValues,
    Integers,
    hits_around_blocks,
    log_level,
    log_pmf,
    log_tail,
    sorted_atoms,
)

# Products of shares and counts this close to a whole number are whole.
_WHOLE = 1e-9
# Most values that are listed, which takes a second or two.
_MOST_VALUES = 2_000_000


class OperatingPoint(CallableMetric):
    """A metric of the point where the curve of hits against misses crosses a line."""

    is_of_population = True

    def __post_init__(self) -> None:
        name = self.after_at
        set_parameters(self, **{name: check_between(getattr(self, name), name)})

    @property
    def point(self) -> float:
        """The recall, precision or rate that is given."""
        return float(getattr(self, self.after_at))

    def best(self, n_samples: int, n_positives: int) -> float:
        return 1.0 if n_positives else 0.0

    def evaluate(self, tie_sizes: Integers, hits: Integers) -> float:
        values = self.block_values(int(np.sum(tie_sizes)), int(np.sum(hits)), tie_sizes)
        return float(values(np.asarray(hits)[None, :])[0])

    def hit_values(self, n_samples: int, n_positives: int, tie_sizes: Integers | None) -> HitValues:
        sizes = np.ones(n_samples, dtype=np.int64) if tie_sizes is None else tie_sizes
        return partial(_values_of_places, self, sizes, n_positives)

    def block_values(self, n_samples: int, n_positives: int, tie_sizes: Integers) -> HitValues:
        return partial(_values_of_counts, self, tie_sizes)


def _values_of_places(
    metric: OperatingPoint, sizes: Integers, n_positives: int, places: Integers
) -> Floats:
    """Values for rows of hits at ascending places, which are numbers of blocks."""
    before, to_end = hits_around_blocks(places)
    lists, first = np.nonzero(before == np.arange(n_positives))
    hits = to_end[lists, first] - first
    return _values_of(metric, sizes, places[lists, first], lists, first, hits, len(places))


def _values_of_counts(metric: OperatingPoint, sizes: Integers, hits: Integers) -> Floats:
    """Values for rows of numbers of hits in all blocks."""
    lists, own = np.nonzero(hits)
    found = hits[lists, own]
    before = np.cumsum(hits, axis=1)[lists, own] - found
    return _values_of(metric, sizes, own, lists, before, found, len(hits))


def _values_of(
    metric: OperatingPoint,
    sizes: Integers,
    own: Integers,
    lists: Integers,
    before: Integers,
    hits: Integers,
    n_lists: int,
) -> Floats:
    """Values from the numbers of the blocks with hits, of their lists, and hits before and in them.

    All lists have as many hits as the first.
    """
    starts, n_positives = np.cumsum(sizes) - sizes, int(hits[lists == 0].sum())
    shape = n_lists, int(sizes.sum()), n_positives
    blocks = HitBlocks(lists, starts[own], sizes[own], before, hits, *shape)
    return metric.totals(blocks, are_kept=True)


class _ListedPoint(OperatingPoint):
    """An operating point in the block that contains a certain hit, or a certain miss.

    Its value follows from the hits before this block and in it, so that all values are listed.
    """

    distribution = "listed"
    has_exact_mean = True

    def _certain(self, n_samples: int, n_positives: int) -> tuple[int, int]:
        """Number of the hit, or of the miss, from 1, and the number of all of them."""
        raise NotImplementedError

    def _values(self, blocks: _Blocks, n_samples: int, n_positives: int) -> Floats:
        """Values by blocks, and the hits, or misses, before and in them."""
        raise NotImplementedError

    def distribution_of(self, n_samples: int, n_positives: int, tie_sizes: Integers | None) -> str:
        number, n_of_kind = self._certain(n_samples, n_positives)
        most = float(n_samples)
        if tie_sizes is not None:
            others = n_samples - n_of_kind + 1
            before, inside = (np.minimum(tie_sizes, min(c, others)) for c in (number, n_of_kind))
            most = float(before.astype(float) @ inside)
        return self.distribution if most <= _MOST_VALUES else "permuted"

    def atoms(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> tuple[Floats, Floats]:
        n, m = n_samples, n_positives
        number, n_of_kind = self._certain(n, m)
        if m == 0 or number > n_of_kind:
            return np.array([self.best(n, m)]), np.zeros(1)
        sizes = np.ones(n, dtype=np.int64) if tie_sizes is None else tie_sizes
        blocks = _blocks_with(number, n_of_kind, n, sizes)
        log_p = log_pmf(blocks.before, n, n_of_kind, blocks.starts)
        log_p += log_pmf(blocks.inside, n - blocks.starts, n_of_kind - blocks.before, blocks.sizes)
        return sorted_atoms(self._values(blocks, n, m), log_p, n, m)


class _Blocks(NamedTuple):
    """Blocks of equal scores, and items of one kind before and in them."""

    starts: Integers
    sizes: Integers
    before: Integers
    inside: Integers


def _blocks_with(number: int, n_of_kind: int, n: int, sizes: Integers) -> _Blocks:
    """All possible blocks that contain the item of a kind with a number.

    ``before < number <= before + inside``, and as many other items as there are.
    """
    starts, others = np.cumsum(sizes) - sizes, n - n_of_kind
    least = np.maximum(np.maximum(starts - others, number - sizes), 0)
    own, before = _each_between(least, np.minimum(starts, number - 1))
    starts, sizes = starts[own], sizes[own]
    least = np.maximum(number - before, starts + sizes - others - before)
    own, inside = _each_between(least, np.minimum(sizes, n_of_kind - before))
    return _Blocks(starts[own], sizes[own], before[own], inside)


def _each_between(first: Integers, last: Integers) -> tuple[Integers, Integers]:
    """Whole numbers from the first to the last of each pair, with the number of the pair."""
    counts = np.maximum(last - first + 1, 0)
    pair = np.repeat(np.arange(counts.size), counts)
    return pair, first[pair] + np.arange(pair.size) - (np.cumsum(counts) - counts)[pair]


@dataclass(frozen=True, repr=False)
class PrecisionAtRecall(_ListedPoint):
    r"""Precision at a recall: the share of positives among the items down to a recall.

    Parameters
    ----------
    recall : float
        Share of the positives to be found, between 0 and 1.

    Raises
    ------
    TypeError
        If `recall` is not a number.
    ValueError
        If `recall` is not between 0 and 1.

    See Also
    --------
    RecallAtPrecision, RecallAtFpr : Other operating points.
    sklearn_rankinf.items_to_examine : Number of items down to a recall, with limits.
    sklearn_rankinf.metric_curve : The whole precision-recall curve with its limits.

    Notes
    -----
    With m positives, :math:`h = \lceil r m \rceil` of them are needed for a recall of at least r.
    The precision is :math:`h / k`, where the first k items contain h positives. Without ties it
    is scikit-learn's precision at the largest threshold with this recall. In a block of g equal
    scores with y positives, after a items with :math:`h_a` positives,
    :math:`k = a + g (h - h_a) / y`: the positives are evenly spread over the block.

    The null distribution is exact, also with ties: the precision is at least p if at least h
    positives are among the first :math:`h / p` items. Its values are listed. If they may be more
    than two million, which takes large blocks of equal scores and many positives,
    ``method="auto"`` is permutation.

    Examples
    --------
    Positives at ranks 1, 2 and 4 of 8. In 4 of the 56 ways to choose three ranks the last of them
    is at most 4:

    >>> from sklearn_rankinf import PrecisionAtRecall, metric_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> PrecisionAtRecall(0.9)(y_true, y_score)
    0.75
    >>> round(metric_test(y_true, y_score, metric="precision_at_recall@0.9").pvalue * 56, 9)
    4.0
    """

    recall: Any
    family = "precision_at_recall"
    after_at = "recall"

    @property
    def title(self) -> str:
        return f"Precision at recall {self.recall:g}"

    @property
    def symbol(self) -> str:
        return f"precision@recall={self.recall:g}"

    def totals(self, blocks: HitBlocks, *, are_kept: bool) -> Floats:
        wanted = self._wanted(blocks.n_positives)
        there = (blocks.before < wanted) & (wanted <= blocks.before + blocks.hits)
        own = _Blocks(*(each[there] for each in _parts(blocks)))
        values = np.zeros(blocks.n_lists)
        values[blocks.lists[there]] = self._values(own, blocks.n_samples, blocks.n_positives)
        return values

    def _wanted(self, n_positives: int) -> int:
        return max(math.ceil(self.point * n_positives - _WHOLE), 1)

    def _certain(self, n_samples: int, n_positives: int) -> tuple[int, int]:
        return self._wanted(n_positives), n_positives

    def _values(self, blocks: _Blocks, n_samples: int, n_positives: int) -> Floats:
        wanted = self._wanted(n_positives)
        share = (wanted - blocks.before) / blocks.inside
        return np.asarray(wanted / (blocks.starts + blocks.sizes * share))

    def denominators(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> Denominators | None:
        """The ranks of the hit with which the recall is reached."""
        wanted = self._wanted(n_positives)
        last = n_samples - n_positives + wanted
        return (1, range(wanted, last + 1)) if tie_sizes is None else None

    def significant_hits(
        self, alpha: float, n_samples: int, n_positives: int
    ) -> tuple[float, int, int]:
        n, m, h = n_samples, n_positives, self._wanted(n_positives)
        ranks, level = range(h, n - m + h), float(log_level(alpha))
        k = h - 1 + bisect_right(ranks, level, key=lambda k: float(log_tail(h, n, m, k)))
        return (h / k if k >= h else math.nan), h, k


@dataclass(frozen=True, repr=False)
class RecallAtFpr(_ListedPoint):
    r"""Recall at a false-positive rate: a point of the ROC curve.

    Parameters
    ----------
    fpr : float
        Share of the negatives above the threshold, between 0 and 1.

    Raises
    ------
    TypeError
        If `fpr` is not a number.
    ValueError
        If `fpr` is not between 0 and 1.

    See Also
    --------
    PrecisionAtRecall, RecallAtPrecision : Other operating points.
    sklearn_rankinf.metric_curve : The whole ROC curve with its limits.
    sklearn.metrics.roc_curve : The ROC curve.

    Notes
    -----
    With :math:`n_0` negatives, recall at the rate u is the share of positives above the first
    negative that is too many, of number :math:`\lfloor u n_0 \rfloor + 1`. A block of equal scores
    that contains it, with y positives and x negatives after w negatives, adds
    :math:`y (u n_0 - w) / x` positives. It is the largest recall at this rate of the ROC curve with
    straight lines across blocks, which is scikit-learn's with ``drop_intermediate=False``.

    The null distribution is exact, also with ties: recall is at least v if at least v m of the m
    positives are among the first :math:`u n_0 + v m` items. Without ties the number of positives
    has a negative hypergeometric distribution. Values are listed, with the limit of
    :class:`PrecisionAtRecall`.

    Examples
    --------
    Positives at ranks 1, 2 and 4 of 8, and one false positive is allowed. In 4 of the 56 ways to
    choose three ranks all of them are among the first four:

    >>> from sklearn_rankinf import RecallAtFpr, metric_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> RecallAtFpr(0.2)(y_true, y_score)
    1.0
    >>> round(metric_test(y_true, y_score, metric="recall_at_fpr@0.2").pvalue * 56, 9)
    4.0
    """

    fpr: Any
    family = "recall_at_fpr"
    after_at = "fpr"
    needs_misses = True

    @property
    def title(self) -> str:
        return f"Recall at FPR {self.fpr:g}"

    @property
    def title_in_text(self) -> str:
        return f"recall at FPR {self.fpr:g}"

    @property
    def symbol(self) -> str:
        return f"recall@FPR={self.fpr:g}"

    def totals(self, blocks: HitBlocks, *, are_kept: bool) -> Floats:
        n, m = blocks.n_samples, blocks.n_positives
        # Beyond the line by how many misses of the block, at most all of them.
        left = self._misses(n - m) - (blocks.starts - blocks.before)
        misses = blocks.sizes - blocks.hits
        share = np.where(misses > 0, np.clip(left / np.maximum(misses, 1), 0.0, 1.0), left >= 0.0)
        found = np.bincount(blocks.lists, blocks.hits * share, minlength=blocks.n_lists)
        return np.asarray(found / max(m, 1))

    def _misses(self, n_negatives: int) -> float:
        """Misses down to the line, a whole number but for rounding where it should be one."""
        misses = self.fpr * n_negatives
        return float(round(misses)) if abs(misses - round(misses)) <= _WHOLE else float(misses)

    def _certain(self, n_samples: int, n_positives: int) -> tuple[int, int]:
        n_negatives = n_samples - n_positives
        return math.floor(self._misses(n_negatives)) + 1, n_negatives

    def _values(self, blocks: _Blocks, n_samples: int, n_positives: int) -> Floats:
        left = self._misses(n_samples - n_positives) - blocks.before
        hits = (blocks.sizes - blocks.inside) * (left / blocks.inside)
        return np.asarray((blocks.starts - blocks.before + hits) / n_positives)

    def denominators(
        self, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> Denominators | None:
        """The number of hits."""
        return (n_positives, (1,)) if tie_sizes is None else None

    def significant_hits(
        self, alpha: float, n_samples: int, n_positives: int
    ) -> tuple[float, int, int]:
        n, m = n_samples, n_positives
        passed = self._certain(n, m)[0] - 1
        # The less probable a number of hits, the larger it is.
        h = 1 + bisect_left(
            range(1, m + 1),
            -float(log_level(alpha)),
            key=lambda h: -float(log_tail(h, n, m, h + passed)),
        )
        return (h / m if h <= m else math.nan), h, h + passed


@dataclass(frozen=True, repr=False)
class RecallAtPrecision(OperatingPoint):
    r"""Recall at a precision: the largest recall with at least this precision.

    Parameters
    ----------
    precision : float
        Share of positives among the items above the threshold, between 0 and 1.

    Raises
    ------
    TypeError
        If `precision` is not a number.
    ValueError
        If `precision` is not between 0 and 1.

    See Also
    --------
    PrecisionAtRecall, RecallAtFpr : Other operating points.
    sklearn_rankinf.metric_curve : The whole precision-recall curve with its limits.

    Notes
    -----
    The first k items contain H(k) positives, and H is straight across a block of equal scores.
    With the largest k at which :math:`H(k) \ge p k`, recall is :math:`H(k) / m`, and 0 if there is
    no such k. Without ties it is the largest recall of scikit-learn's curve with a precision of at
    least p.

    A ranking has at least this value if it reaches the line :math:`p k` anywhere from some k on.
    The p-value is computed by permutation, which is what ``method="auto"`` selects.

    Examples
    --------
    >>> from sklearn_rankinf import RecallAtPrecision, metric_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 1]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> RecallAtPrecision(0.7)(y_true, y_score)
    0.75
    >>> metric_test(y_true, y_score, metric="recall_at_precision@0.7").method
    'permutation'
    """

    precision: Any
    family = "recall_at_precision"
    after_at = "precision"
    distribution = "permuted"
    approximations = ()

    @property
    def title(self) -> str:
        return f"Recall at precision {self.precision:g}"

    @property
    def symbol(self) -> str:
        return f"recall@precision={self.precision:g}"

    def totals(self, blocks: HitBlocks, *, are_kept: bool) -> Floats:
        starts, sizes, before, hits = _parts(blocks)
        above = self._above(before, starts)
        after = self._above(before + hits, starts + sizes)
        # In a block that begins above the line and ends below it, the share before the line.
        ends_below = (above >= 0.0) & (after < 0.0)
        share = np.where(ends_below, above / np.where(ends_below, above - after, 1.0), after >= 0.0)
        reached = np.where((above >= 0.0) | (after >= 0.0), before + hits * share, 0.0)
        values = np.zeros(blocks.n_lists)
        np.maximum.at(values, blocks.lists, reached / max(blocks.n_positives, 1))
        return values

    def _above(self, hits: Integers, items: Integers) -> Floats:
        """How far the curve is above the line; 0 but for rounding where it should be."""
        above = hits - self.precision * items
        return np.where(np.abs(above) <= _WHOLE, 0.0, above)


def _parts(blocks: HitBlocks) -> tuple[Integers, Integers, Integers, Integers]:
    return blocks.starts, blocks.sizes, blocks.before, blocks.hits
