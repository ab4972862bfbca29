"""Precision, recall and false-positive rate of the items above a score."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from sklearn_rankinf._estimation.estimates import check_both_classes
from sklearn_rankinf._estimation.limits import precision_above_limits, wilson_limits
from sklearn_rankinf._estimation.prevalence import check_prevalence
from sklearn_rankinf._ranking import PosLabel, Sample, check_confidence_level, check_real
from sklearn_rankinf._results import Result, format_value, state_interval


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdIntervalResult(Result):
    """Result of :func:`threshold_interval`.

    Attributes
    ----------
    threshold : float
        Items with at least this score are counted.
    n_above : int
        Number of these items.
    precision : float
        Share of positives among them; nan if there are none and no prevalence is given.
    precision_low, precision_high : float
        Limits of the precision.
    recall : float
        Share of the positives that are among them.
    recall_low, recall_high : float
        Limits of the recall.
    false_positive_rate : float
        Share of the negatives that are among them.
    false_positive_rate_low, false_positive_rate_high : float
        Limits of the false-positive rate.
    confidence_level : float
        Nominal coverage of each pair of limits.
    n_samples, n_positives : int
        Number of items and of positives.
    prevalence : float or None
        Prevalence of the population of the precision; None for that of the sample.

    See Also
    --------
    threshold_interval : The function that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import threshold_interval
    >>> threshold_interval([1, 1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.2, 0.1], threshold=0.5)
    ThresholdIntervalResult(threshold=0.5, n_above=4, precision=0.75, recall=1,
    false_positive_rate=0.3333, confidence_level=0.95)
    """

    threshold: float
    n_above: int
    precision: float
    precision_low: float = field(repr=False)
    precision_high: float = field(repr=False)
    recall: float
    recall_low: float = field(repr=False)
    recall_high: float = field(repr=False)
    false_positive_rate: float
    false_positive_rate_low: float = field(repr=False)
    false_positive_rate_high: float = field(repr=False)
    confidence_level: float
    n_samples: int = field(repr=False)
    n_positives: int = field(repr=False)
    prevalence: float | None = None

    def _sentences(self) -> Iterable[str]:
        place = ""
        if self.prevalence is not None:
            place = f" in a population with prevalence {self.prevalence:g}"
        yield (
            f"The score of {self.n_above} of {self.n_samples} items is at least {self.threshold:g}."
        )
        precision = (f"precision{place}", self.precision, self.precision_low, self.precision_high)
        for name, value, low, high in (
            *([precision] if self.n_above else []),
            ("recall", self.recall, self.recall_low, self.recall_high),
            (
                "false-positive rate",
                self.false_positive_rate,
                self.false_positive_rate_low,
                self.false_positive_rate_high,
            ),
        ):
            interval = state_interval(low, high, self.confidence_level)
            yield f"Their {name} is {format_value(value)} ({interval})."


def threshold_interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    threshold: float,
    prevalence: float | None = None,
    pos_label: PosLabel = 1,
    confidence_level: float = 0.95,
) -> ThresholdIntervalResult:
    r"""Precision, recall and false-positive rate of the items above a score, with intervals.

    The threshold must not have been chosen on these items, and the scores must come from a model
    that was not trained on them. For a threshold that is a rank or a share of the positives use
    :func:`metric_interval` with a metric at k or an operating point.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Binary labels.
    y_score : array-like of shape (n_samples,)
        Scores, larger for items more likely to be positive.
    threshold : float
        Items with at least this score are counted.
    prevalence : float, optional
        Prevalence of the population in which the threshold will be used, between 0 and 1, if it is
        not that of the sample, as in case-control and downsampled samples. Recall and
        false-positive rate are the same at every prevalence.
    pos_label : int, float, bool or str, default=1
        The label of the positives.
    confidence_level : float, default=0.95
        Nominal coverage of each pair of limits.

    Returns
    -------
    result : ThresholdIntervalResult
        Precision, recall and false-positive rate, each with its limits.

    Raises
    ------
    TypeError
        If an argument has the wrong type, such as a ranking in place of labels.
    ValueError
        If a class has no items, or a number is out of its range.

    See Also
    --------
    metric_interval : Interval of precision or recall at k, or at a recall or false-positive rate.
    PrecisionRecallPosterior : Bayesian intervals of precision and recall of predicted classes.

    Notes
    -----
    With H of the m positives and W of the :math:`n_0` negatives above the threshold, recall is H/m
    and the false-positive rate :math:`W / n_0`, with Wilson's limits [1]_. At prevalence
    :math:`\pi` the precision P satisfies

    .. math:: \operatorname{logit} P = \operatorname{logit} \pi + \log S_1 - \log S_0,

    where :math:`S_1` is recall and :math:`S_0` the false-positive rate. The limits of the
    difference of the logarithms combine both Wilson intervals (MOVER) [2]_ around
    :math:`(H + 1/2)/(m + 1)` and :math:`(W + 1/2)/(n_0 + 1)`. Their coverage does not depend on
    the prevalence; measured rates are in :ref:`coverage`. The precision is :math:`H / (H + W)`
    without a `prevalence`, and otherwise that with 1/2 added, since it is too large on average if
    few negatives are above the threshold. Positives and negatives are taken as independent random
    items of those of the population; clusters are not supported.

    References
    ----------
    .. [1] Newcombe, R. G. (1998). Two-sided confidence intervals for the single proportion:
       comparison of seven methods. Statistics in Medicine, 17(8), 857-872.
    .. [2] Zou, G. Y., & Donner, A. (2008). Construction of confidence limits about effect measures:
       a general approach. Statistics in Medicine, 27(10), 1693-1702.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import threshold_interval
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(500) < 50
    >>> y_score = rng.normal(size=500) + 1.5 * y_true
    >>> print(threshold_interval(y_true, y_score, threshold=2.0, prevalence=0.01).summary())
    The score of 25 of 500 items is at least 2.
    Their precision in a population with prevalence 0.01 is 0.134 (95 % confidence interval 0.0696
    to 0.252).
    Their recall is 0.32 (95 % confidence interval 0.208 to 0.458).
    Their false-positive rate is 0.02 (95 % confidence interval 0.0106 to 0.0376).
    """
    # Whole numbers beyond 2**53 are compared exactly.
    exact, threshold = threshold, check_real(threshold, "threshold")
    if math.isnan(threshold):
        raise ValueError("threshold must be a number; got nan.")
    prevalence, level = check_prevalence(prevalence), check_confidence_level(confidence_level)
    sample = Sample.read(y_true, y_score, pos_label=pos_label, needs_ties=False)
    if not sample.scores:
        raise TypeError("y_true must be labels, not a ranking, which has no scores.")
    check_both_classes(sample.rankings[0])
    m, n0 = sample.n_positives, sample.n_items - sample.n_positives
    above = np.asarray(sample.scores[0]) >= (exact if isinstance(exact, int) else threshold)
    hits, n_above = int(np.sum(above & sample.positive)), int(above.sum())
    misses = n_above - hits
    share = m / sample.n_items if prevalence is None else prevalence
    limits = precision_above_limits(hits, misses, m, n0, share, level)
    precision, low, high = map(float, limits)
    if prevalence is None:
        precision = hits / n_above if n_above else math.nan
        low, high = float(np.fmin(low, precision)), float(np.fmax(high, precision))
    recall_limits, rate_limits = wilson_limits(hits, m, level), wilson_limits(misses, n0, level)
    return ThresholdIntervalResult(
        threshold=threshold,
        n_above=n_above,
        precision=precision,
        precision_low=low,
        precision_high=high,
        recall=hits / m,
        recall_low=float(recall_limits[0]),
        recall_high=float(recall_limits[1]),
        false_positive_rate=misses / n0,
        false_positive_rate_low=float(rate_limits[0]),
        false_positive_rate_high=float(rate_limits[1]),
        confidence_level=level,
        n_samples=sample.n_items,
        n_positives=m,
        prevalence=prevalence,
    )
