"""Score functions with the signature ``(y_true, y_score) -> float`` for scikit-learn's scorers."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._metrics import (
    AveragePrecision,
    PrecisionAtK,
    RecallAtK,
    values_of_queries,
)
from sklearn_rankinf._null import NullDistribution, observe_ranking, pvalue_log_and_error
from sklearn_rankinf._ranking import (
    PosLabel,
    Ranking,
    Sample,
    check_alternative,
    check_integer,
    check_k,
    check_option,
    no_positives,
    warn_caller,
)
from sklearn_rankinf._significance.results import adjusted, standardized
from sklearn_rankinf._statistics import as_log10

_ROUNDINGS = ("exact", "trec_eval", "trec_eval_9")


def average_precision_pvalue(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: float | None = None,
    normalize: str = "min",
    pos_label: PosLabel = 1,
    alternative: str = "greater",
    method: str = "auto",
    n_resamples: int = 9999,
    random_state: Any = 0,
) -> float:
    r"""P-value of average precision against chance.

    Smaller is better, so a scorer needs ``greater_is_better=False``. For a search prefer
    :func:`average_precision_neg_log10_pvalue`, which does not underflow.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, in which case `y_score` is omitted.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for items more likely to be positive. Required unless `y_true` is a
        ranking.
    k : int or float, optional
        Cut-off, for average precision at `k`: a number of items, or a fraction of them between 0
        and 1, rounded up. By default the whole ranking.
    normalize : {"min", "positives"}, default="min"
        Divisor of average precision at `k`: the smaller of the number of positives and `k`, or the
        number of positives. Without `k` both are the same.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored if `y_true` is a ranking.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Direction of the test.
    method : str, default="auto"
        How the p-value is computed; see :func:`ap_null_distribution`.
    n_resamples : int, default=9999
        Number of random labellings for ``method="permutation"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.

    Returns
    -------
    pvalue : float
        The p-value, between 0 and 1; 1.0 if all labels or all scores are equal. A guaranteed upper
        bound of the exact p-value where no error below 10 % can be stated.

    Raises
    ------
    TypeError, ValueError
        As for :func:`average_precision_test`.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives.

    See Also
    --------
    average_precision_neg_log10_pvalue : The p-value on a scale on which greater is better.
    average_precision_test : The complete test.

    Notes
    -----
    The p-value is :math:`P(\mathrm{AP} \ge \mathrm{ap})` if all choices of the positives among the
    items are equally likely, given the scores.

    Examples
    --------
    >>> from sklearn.metrics import make_scorer
    >>> from sklearn_rankinf import average_precision_pvalue
    >>> round(average_precision_pvalue([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 6)
    0.333333
    >>> scorer = make_scorer(
    ...     average_precision_pvalue,
    ...     response_method=("decision_function", "predict_proba"),
    ...     greater_is_better=False,
    ... )
    """
    alternative = check_alternative(alternative)
    drawing = {"method": method, "n_resamples": n_resamples, "random_state": random_state}
    ranking, statistic, null = _observed(y_true, y_score, pos_label, k, normalize, **drawing)
    if ranking.n_positives == 0:
        warn_caller(no_positives("The p-value", "1.0"), UndefinedMetricWarning)
    return float(null.pvalue(statistic, alternative))


def average_precision_neg_log10_pvalue(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: float | None = None,
    normalize: str = "min",
    pos_label: PosLabel = 1,
    alternative: str = "greater",
    method: str = "auto",
    n_resamples: int = 9999,
    random_state: Any = 0,
) -> float:
    r"""Evidence against chance: minus the base-10 logarithm of the p-value.

    Greater is better, 0 is no evidence, and the value stays finite if the p-value underflows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, in which case `y_score` is omitted.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for items more likely to be positive. Required unless `y_true` is a
        ranking.
    k : int or float, optional
        Cut-off, for average precision at `k`: a number of items, or a fraction of them between 0
        and 1, rounded up. By default the whole ranking.
    normalize : {"min", "positives"}, default="min"
        Divisor of average precision at `k`: the smaller of the number of positives and `k`, or the
        number of positives. Without `k` both are the same.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored if `y_true` is a ranking.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Direction of the test.
    method : str, default="auto"
        How the p-value is computed; see :func:`ap_null_distribution`.
    n_resamples : int, default=9999
        Number of random labellings for ``method="permutation"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.

    Returns
    -------
    score : float
        A number of at least 0; 0.0 if all labels or all scores are equal. A guaranteed lower bound
        where no error of the p-value below 10 % can be stated.

    Raises
    ------
    TypeError, ValueError
        As for :func:`average_precision_test`.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives.

    See Also
    --------
    average_precision_pvalue : The p-value.
    average_precision_test : The complete test.

    Notes
    -----
    The score is :math:`-\log_{10} P(\mathrm{AP} \ge \mathrm{ap})` if all choices of the positives
    among the items are equally likely, given the scores.

    Examples
    --------
    >>> from sklearn.metrics import make_scorer
    >>> from sklearn_rankinf import average_precision_neg_log10_pvalue
    >>> y_true, y_score = [1] * 3 + [0] * 17, range(20, 0, -1)
    >>> round(average_precision_neg_log10_pvalue(y_true, y_score), 4)  # log10 of C(20, 3)
    3.0569
    >>> scorer = make_scorer(
    ...     average_precision_neg_log10_pvalue,
    ...     response_method=("decision_function", "predict_proba"),
    ... )
    """
    alternative = check_alternative(alternative)
    drawing = {"method": method, "n_resamples": n_resamples, "random_state": random_state}
    ranking, statistic, null = _observed(y_true, y_score, pos_label, k, normalize, **drawing)
    if ranking.n_positives == 0:
        message = no_positives("-log10 of the p-value", "0.0")
        warn_caller(message, UndefinedMetricWarning)
    return float(abs(as_log10(pvalue_log_and_error(null, statistic, alternative)[1])))


def adjusted_average_precision_score(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: float | None = None,
    normalize: str = "min",
    pos_label: PosLabel = 1,
) -> float:
    r"""Average precision, rescaled so that chance is 0 and a perfect ranking is 1.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, in which case `y_score` is omitted.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for items more likely to be positive. Required unless `y_true` is a
        ranking.
    k : int or float, optional
        Cut-off, for average precision at `k`: a number of items, or a fraction of them between 0
        and 1, rounded up. By default the whole ranking.
    normalize : {"min", "positives"}, default="min"
        Divisor of average precision at `k`: the smaller of the number of positives and `k`, or the
        number of positives. Without `k` both are the same.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored if `y_true` is a ranking.

    Returns
    -------
    score : float
        The adjusted average precision; negative below chance, nan if all labels are equal.

    Raises
    ------
    TypeError, ValueError
        As for :func:`average_precision_test`.

    Warns
    -----
    UndefinedMetricWarning
        If all labels are equal.

    See Also
    --------
    standardized_average_precision_score : Distance from chance in standard deviations.
    sklearn.metrics.average_precision_score : Average precision without the adjustment.

    Notes
    -----
    The score is :math:`(\mathrm{AP} - E) / (1 - E)` with the exact mean :math:`E` of average
    precision by chance, given the ties; with ``normalize="positives"`` the value
    :math:`\min(m, k) / m` of a perfect ranking replaces the 1. Without ties and with :math:`m` of
    :math:`n` items positive,
    :math:`E = \frac{1}{n}\left[H_n + \frac{m - 1}{n - 1}(n - H_n)\right]` with the harmonic number
    :math:`H_n`, which is larger than the prevalence :math:`m / n`. The adjustment
    does not make values comparable across prevalences.

    Examples
    --------
    >>> from sklearn_rankinf import adjusted_average_precision_score
    >>> adjusted_average_precision_score([1, 1, 0, 0], [0.9, 0.8, 0.3, 0.1])
    1.0
    >>> adjusted_average_precision_score([1, 1, 0, 0], [0.5, 0.5, 0.5, 0.5])
    0.0
    """
    found = _observed(y_true, y_score, pos_label, k, normalize)
    return _defined(adjusted, "Adjusted average precision", *found)


def standardized_average_precision_score(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: float | None = None,
    normalize: str = "min",
    pos_label: PosLabel = 1,
) -> float:
    r"""Distance of average precision from chance in standard deviations.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, in which case `y_score` is omitted.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for items more likely to be positive. Required unless `y_true` is a
        ranking.
    k : int or float, optional
        Cut-off, for average precision at `k`: a number of items, or a fraction of them between 0
        and 1, rounded up. By default the whole ranking.
    normalize : {"min", "positives"}, default="min"
        Divisor of average precision at `k`: the smaller of the number of positives and `k`, or the
        number of positives. Without `k` both are the same.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored if `y_true` is a ranking.

    Returns
    -------
    score : float
        The z-score of average precision; nan if average precision cannot vary, because all labels
        or all scores are equal.

    Raises
    ------
    TypeError, ValueError
        As for :func:`average_precision_test`.

    Warns
    -----
    UndefinedMetricWarning
        If average precision cannot vary.

    See Also
    --------
    adjusted_average_precision_score : Average precision with chance at 0 and the maximum at 1.
    average_precision_test : Test with a p-value. The z-score does not give a p-value: for rare
        positives the upper tail is far heavier than that of the normal distribution.

    Notes
    -----
    The score is :math:`(\mathrm{AP} - E) / \sigma` with the exact mean :math:`E` and standard
    deviation :math:`\sigma` of average precision by chance, given the ties.

    Examples
    --------
    The ranking is the best of the six ways to place two positives among four ranks. Its average
    precision is 1.59 standard deviations above the mean over all six:

    >>> from sklearn_rankinf import standardized_average_precision_score
    >>> score = standardized_average_precision_score([1, 1, 0, 0], [0.9, 0.8, 0.3, 0.1])
    >>> round(score, 4)
    1.5909
    """
    found = _observed(y_true, y_score, pos_label, k, normalize)
    return _defined(standardized, "Standardized average precision", *found)


def recall_at_k_score(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: float,
    pos_label: PosLabel = 1,
) -> float:
    r"""Recall at k: the fraction of the positives that are among the first k items.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, in which case `y_score` is omitted.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for items more likely to be positive. Required unless `y_true` is a
        ranking.
    k : int or float
        Number of items at the top of the ranking: an int of at least 1, or a float between 0 and
        1 for a fraction of the items, rounded up.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored if `y_true` is a ranking.

    Returns
    -------
    score : float
        Recall at `k`, between 0 and 1.

    Raises
    ------
    TypeError, ValueError
        As for :func:`recall_at_k_test`.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives; the score is then 0.0.

    See Also
    --------
    precision_at_k_score : The fraction of the first k items that are positive.
    recall_at_k_test : Test against chance.

    Notes
    -----
    If a block of g equal scores straddles rank k, after :math:`a` items with better scores, each
    of its positives counts :math:`(k - a) / g`, the average over random tie-breaking.

    Examples
    --------
    >>> from sklearn_rankinf import recall_at_k_score
    >>> recall_at_k_score([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.1], k=2)
    0.5
    >>> recall_at_k_score([1, 0, 1, 0, 0], [0.9, 0.5, 0.5, 0.5, 0.5], k=2)
    0.625
    """
    return RecallAtK(check_k(k))(y_true, y_score, pos_label=pos_label)


def precision_at_k_score(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: float,
    pos_label: PosLabel = 1,
) -> float:
    r"""Precision at k: the fraction of the first k items that are positive.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, in which case `y_score` is omitted.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for items more likely to be positive. Required unless `y_true` is a
        ranking.
    k : int or float
        Number of items at the top of the ranking: an int of at least 1, or a float between 0 and
        1 for a fraction of the items, rounded up.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored if `y_true` is a ranking.

    Returns
    -------
    score : float
        Precision at `k`, between 0 and 1.

    Raises
    ------
    TypeError, ValueError
        As for :func:`recall_at_k_test`.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives; the score is then 0.0.

    See Also
    --------
    recall_at_k_score : The fraction of the positives that are among the first k items.
    RPrecision : Precision at the number of positives.
    recall_at_k_test : Test against chance, with the same p-value.

    Notes
    -----
    If a block of g equal scores straddles rank k, after :math:`a` items with better scores, each
    of its positives counts :math:`(k - a) / g`, the average over random tie-breaking. If all scores
    are equal, precision at every k is the prevalence.

    Examples
    --------
    >>> from sklearn_rankinf import precision_at_k_score
    >>> precision_at_k_score([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.1], k=2)
    0.5
    >>> precision_at_k_score([1, 0, 1, 0, 0], [0.5, 0.5, 0.5, 0.5, 0.5], k=2)
    0.4
    """
    return PrecisionAtK(check_k(k))(y_true, y_score, pos_label=pos_label)


def interpolated_average_precision_score(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    n_levels: int = 11,
    rounding: str = "exact",
    pos_label: PosLabel = 1,
) -> float:
    r"""Interpolated average precision: the mean of interpolated precisions at levels of recall.

    With the 11 levels 0, 0.1, ..., 1 it is the 11-point average precision of information retrieval.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, in which case `y_score` is omitted.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for items more likely to be positive. Required unless `y_true` is a
        ranking.
    n_levels : int, default=11
        Number of equally spaced levels of recall from 0 to 1.
    rounding : {"exact", "trec_eval", "trec_eval_9"}, default="exact"
        Number of the m positives that is required for a recall of r: ``"exact"`` is the smallest
        number that reaches r; ``"trec_eval"`` is r m rounded to the nearest integer, as in
        trec_eval after version 9; ``"trec_eval_9"`` is r m + 0.9 rounded down, as in trec_eval 9.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored if `y_true` is a ranking.

    Returns
    -------
    score : float
        Interpolated average precision, between 0 and 1; 1 for a perfect ranking.

    Raises
    ------
    TypeError
        If labels or scores have the wrong type, or `n_levels` is not an integer.
    ValueError
        If labels or scores are invalid or not binary, `n_levels` is less than 2, or `rounding` is
        not one of those above.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives; the score is then 0.0.

    See Also
    --------
    sklearn.metrics.average_precision_score : The mean precision at the positives, without
        interpolation.
    sklearn.metrics.precision_recall_curve : The curve before interpolation.
    binormal_average_precision_score : Average precision of a smooth curve.

    Notes
    -----
    With the precision :math:`p` and the recall :math:`\rho` at each threshold and L levels, the
    score is

    .. math:: \frac{1}{L} \sum_{j=0}^{L-1} \max_{\rho \ge j / (L - 1)} p(\rho),

    see chapter 8 of [1]_. A block of equal scores is one threshold, as in scikit-learn. The point
    with recall 0 and precision 1 that scikit-learn adds to its curve is not a threshold and is not
    used. Integer arithmetic determines whether recall reaches a level.

    The trec_eval variants use the cut-offs of the source code of trec_eval [2]_, in the same
    floating-point arithmetic, but treat ties as this function does. trec_eval itself breaks ties by
    document name. In version 9, :math:`0.7 \cdot 3 + 0.9` is slightly less than 3.

    References
    ----------
    .. [1] Manning, C. D., Raghavan, P., & Schutze, H. (2008). Introduction to Information
       Retrieval. Cambridge University Press.
    .. [2] trec_eval. National Institute of Standards and Technology.
       https://github.com/usnistgov/trec_eval

    Examples
    --------
    >>> from sklearn_rankinf import interpolated_average_precision_score
    >>> y_true, y_score = [1, 1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6, 0.5]
    >>> round(interpolated_average_precision_score(y_true, y_score), 6)
    0.909091
    >>> round(interpolated_average_precision_score(y_true, y_score, rounding="trec_eval"), 6)
    0.954545
    """
    n_levels = check_integer(n_levels, "n_levels", 2)
    rounding = check_option(rounding, "rounding", _ROUNDINGS)
    ranking = Sample.read(y_true, y_score, pos_label=pos_label, needs_ties=False).rankings[0]
    if ranking.n_positives == 0:
        message = no_positives("Interpolated average precision", "0.0")
        warn_caller(message, UndefinedMetricWarning)
        return 0.0
    found = np.cumsum(ranking.hits)
    precision = found / np.cumsum(ranking.tie_sizes)
    interpolated = np.maximum.accumulate(precision[::-1])[::-1]
    needed = [
        _hits_at_level(level, n_levels - 1, ranking.n_positives, rounding)
        for level in range(n_levels)
    ]
    return math.fsum(interpolated[np.searchsorted(found, needed)]) / n_levels


def _hits_at_level(level: int, last: int, n_positives: int, rounding: str) -> int:
    """Number of hits required for a recall of ``level / last``."""
    if rounding == "exact":
        return -(-level * n_positives // last)
    share = level / last * n_positives
    if rounding == "trec_eval_9":
        return int(share + 0.9)
    # Halves are rounded up, as in C's lround.
    below = math.floor(share)
    return below + (share - below >= 0.5)


def average_precision_at_k_score(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: float,
    normalize: str = "min",
    pos_label: PosLabel = 1,
) -> float:
    r"""Average precision at k: the mean precision at the positives among the first k items.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, in which case `y_score` is omitted.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for items more likely to be positive. Required unless `y_true` is a
        ranking.
    k : int or float
        Number of items at the top of the ranking: an int of at least 1, or a float between 0 and
        1 for a fraction of the items, rounded up.
    normalize : {"min", "positives"}, default="min"
        Divisor: the smaller of the number of positives and `k`, so that a perfect ranking scores 1,
        or the number of positives.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored if `y_true` is a ranking.

    Returns
    -------
    score : float
        Average precision at `k`, between 0 and 1.

    Raises
    ------
    TypeError, ValueError
        As for :func:`average_precision_test`.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives; the score is then 0.0.

    See Also
    --------
    average_precision_test : Test against chance, with the same `k` and `normalize`.
    sklearn.metrics.average_precision_score : Average precision of the whole ranking; the same if
        `k` is the number of items.

    Notes
    -----
    Each block of equal scores that ends at or before rank k is one threshold, as in scikit-learn: a
    block with y positives that ends at rank T, with h positives before it, contributes
    :math:`y (h + y) / T`. A block of g that straddles rank k, after a items, contributes its
    expectation over random tie-breaking. With :math:`j = k - a` and
    :math:`S = \sum_{i=a+1}^{k} 1 / i` the expectation is

    .. math:: \frac{h y S}{g} + \frac{y S}{g}
              + \frac{y (y - 1)}{g (g - 1)} \bigl(j - (a + 1) S\bigr).

    Examples
    --------
    >>> from sklearn_rankinf import average_precision_at_k_score
    >>> y_true, y_score = [1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.1]
    >>> average_precision_at_k_score(y_true, y_score, k=2)
    0.5
    >>> round(average_precision_at_k_score(y_true, y_score, k=3), 4)
    0.8333
    """
    return AveragePrecision(check_k(k), normalize)(y_true, y_score, pos_label=pos_label)


def mean_average_precision_score(
    y_true: ArrayLike, y_score: ArrayLike, *, groups: Iterable[Hashable], pos_label: PosLabel = 1
) -> float:
    r"""Mean average precision over queries.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Binary labels.
    y_score : array-like of shape (n_samples,)
        Scores, larger for items more likely to be positive.
    groups : array-like of shape (n_samples,)
        The query of each item: any hashable values, in any order.
    pos_label : int, float, bool or str, default=1
        The label of the positives.

    Returns
    -------
    score : float
        Mean of the average precisions of the queries. A query without positives counts as 0, like
        a class without positives in scikit-learn.

    Raises
    ------
    TypeError
        If a query is not hashable.
    ValueError
        If the lengths differ, a query is missing, or labels or scores cannot be ranked.

    Warns
    -----
    UndefinedMetricWarning
        If a query has no positives.

    See Also
    --------
    average_precision_test : Significance test, also of mean average precision.
    sklearn.metrics.average_precision_score : Average precision of one query.

    Notes
    -----
    Query q has :math:`m_q` positives, of which :math:`y_{qb}` are in its block b of equal scores.
    Down to the end of the block there are :math:`H_{qb}` positives and :math:`T_{qb}` items:

    .. math:: \mathrm{MAP} = \frac{1}{Q} \sum_{q=1}^Q \frac{1}{m_q} \sum_b y_{qb}
              \frac{H_{qb}}{T_{qb}}.

    Examples
    --------
    >>> from sklearn_rankinf import mean_average_precision_score
    >>> y_true, y_score = [1, 0, 1, 0, 1, 0], [6, 5, 4, 3, 2, 1]
    >>> groups = ["a", "a", "a", "b", "b", "b"]
    >>> round(mean_average_precision_score(y_true, y_score, groups=groups), 4)
    0.6667
    """
    if groups is None:
        raise TypeError("groups must hold the query of each item; got None of type NoneType.")
    sample = Sample.read(y_true, y_score, pos_label=pos_label, groups=groups)
    return float(values_of_queries(AveragePrecision(), sample).mean())


def _observed(
    y_true: Any, y_score: Any, pos_label: PosLabel, k: Any, normalize: str, **options: Any
) -> tuple[Ranking, Any, NullDistribution]:
    """A ranking, its average precision, and the null distribution."""
    ranking = Sample.read(y_true, y_score, pos_label=pos_label).rankings[0]
    return ranking, *observe_ranking(ranking, AveragePrecision(k, normalize), **options)


def _defined(
    scale: Callable[..., Any], what: str, ranking: Ranking, statistic: Any, null: NullDistribution
) -> float:
    """A value on another scale, with a warning if it is undefined."""
    score = float(scale(statistic, null))
    if math.isnan(score):
        lacks_misses = ranking.n_positives == ranking.n_samples
        reason = "negatives in y_true" if lacks_misses else "unequal scores"
        message = f"{what} is undefined without {reason} and is set to nan."
        if ranking.n_positives == 0:
            message = no_positives(what, "nan")
        warn_caller(message, UndefinedMetricWarning)
    return score
