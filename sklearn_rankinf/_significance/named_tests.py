"""Tests of a ranking for single metrics by name, with what only these metrics have."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from numpy.typing import ArrayLike

from sklearn_rankinf._metrics import AveragePrecision, RecallAtK
from sklearn_rankinf._ranking import PosLabel, Ranking
from sklearn_rankinf._significance.metric_test import Labels, run_test


def average_precision_test(
    y_true: Labels,
    y_score: ArrayLike | None = None,
    *,
    pos_label: PosLabel = 1,
    average: str | None = None,
    alternative: str = "greater",
    method: str = "auto",
    sample_weight: ArrayLike | None = None,
    groups: Iterable[Hashable] | None = None,
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    n_resamples: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Any:
    r"""Test whether the average precision of a ranking is better than chance.

    The null hypothesis is chance: given the scores and their ties, all choices of
    `n_positives` of the `n_samples` items as the positives are equally likely. The function is
    :func:`metric_test` for one metric; see there for all parameters, warnings and errors.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes), or Ranking
        Binary labels; labels of more than two classes; a multilabel indicator matrix; or a ranking,
        or the ranking of each query, in which case `y_score` and `groups` are omitted.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), optional
        Scores, larger for items more likely to be positive. For several classes one column per
        class, in sorted order of the labels. Required unless `y_true` is a ranking.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored if `y_true` is a ranking or has several classes.
    average : {"macro", "weighted", "micro"}, optional
        Test one average over the classes instead of each class separately.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values indicate rankings better than chance, worse than chance, or
        either. Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : str, default="auto"
        How the p-value is computed: ``"auto"``, ``"analytic"``, ``"permutation"``,
        ``"permutation_of_labels"``, ``"sequential"``, ``"normal"``, ``"pearson3"`` or
        ``"zhang_su"``; see :func:`metric_test` and :func:`ap_null_distribution`. They differ in
        what happens to weights. With ``"permutation"``, the choice of ``"auto"`` for unequal
        weights, labels and weights are permuted together over the scores: valid if weights and
        scores are related only through the labels, as for class weights. With
        ``"permutation_of_labels"``, which needs `sample_weight`, the labels are permuted and the
        weights stay with the scores: valid if weights and labels are related only through the
        scores. A warning is given if a rank test finds another relation.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights, as in scikit-learn. Equal weights have no effect.
    groups : array-like of shape (n_samples,), optional
        The query of each item, to test mean average precision over the queries, and each query.
    strata, clusters : array-like of shape (n_samples,), optional
        Stratum or cluster of each item, which restrict how labels are permuted. For a series in
        time see `order` of :func:`metric_test`.
    n_resamples : int, default=9999
        Number of random labellings for ``method="permutation"``, and the largest number of them for
        ``method="sequential"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.
    n_jobs : int, optional
        Number of jobs for ``method="permutation"``. The result does not depend on it.
    verbose : int, default=0
        Verbosity of joblib for ``method="permutation"``; larger values print more messages.

    Returns
    -------
    result : MetricTestResult or QueriesTestResult
        The statistic, its p-value, and the null distribution; for several queries also those of
        each query.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong, see :func:`metric_test`, or weights are negative or all 0.

    Warns
    -----
    UndefinedMetricWarning, UserWarning
        If the metric is undefined, or none of the positives has a positive weight, or a permutation
        may not be valid; see :func:`metric_test`. Also if permuted weights are related to the
        scores of items with the same label, or weights that stay to the labels of items with
        similar scores.

    See Also
    --------
    metric_test : The test of any metric.
    ap_null_distribution : The null distribution.
    average_precision_pvalue : Only the p-value, for use as a scorer.
    sklearn.metrics.average_precision_score : The statistic.

    Notes
    -----
    The statistic is :math:`\mathrm{AP} = \frac{1}{m} \sum_b y_b H_b / T_b` over the blocks of equal
    scores, where block :math:`b` contains :math:`y_b` of the :math:`m` positives, and :math:`H_b`
    is the number of positives and :math:`T_b` the number of items from the top down to its end.
    Its distribution by chance was studied in [1]_.

    With weights, sums of weights replace the numbers of items and positives. If weights computed
    from the labels, such as class weights, stay with the scores, a true null hypothesis is almost
    always rejected. If weights computed from the scores are permuted with the labels, it is
    rejected too often (:ref:`coverage-dependent`). If weights are related to both, neither choice
    is valid. A warning is given if the rank correlation of weights and scores within labels, or
    that of weights and labels within runs of ten items with similar scores, has a p-value below
    0.001. This check respects strata and counts a cluster as one item.

    References
    ----------
    .. [1] Zhang, P., & Su, W. (2012). Statistical inference on recall, precision and average
       precision under random selection. 9th International Conference on Fuzzy Systems and
       Knowledge Discovery, 1348-1352.

    Examples
    --------
    Positives at ranks 1, 2 and 4 of 8. Of the 56 ways to choose three ranks, two have at least this
    average precision:

    >>> from sklearn_rankinf import average_precision_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> result = average_precision_test(y_true, y_score)
    >>> round(result.statistic, 4), round(result.pvalue * 56, 9)
    (0.9167, 2.0)
    """
    return run_test(
        AveragePrecision().averaged(average),
        y_true,
        y_score,
        pos_label=pos_label,
        alternative=alternative,
        method=method,
        sample_weight=sample_weight,
        groups=groups,
        strata=strata,
        clusters=clusters,
        n_resamples=n_resamples,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )


def recall_at_k_test(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: float,
    pos_label: PosLabel = 1,
    average: str | None = None,
    alternative: str = "greater",
    method: str = "auto",
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
    n_resamples: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Any:
    r"""Test whether the recall at k of a ranking is better than chance.

    The null hypothesis is chance: given the scores and their ties, all choices of
    `n_positives` of the `n_samples` items as the positives are equally likely. The function is
    :func:`metric_test` for one metric; see there for all parameters, warnings and errors.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes), or Ranking
        Binary labels; labels of more than two classes; a multilabel indicator matrix; or a ranking,
        in which case `y_score` is omitted.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), optional
        Scores, larger for items more likely to be positive. For several classes one column per
        class, in sorted order of the labels. Required unless `y_true` is a ranking.
    k : int or float
        Number of items at the top of the ranking: an int of at least 1, or a float between 0 and
        1 for a fraction of `n_samples`, rounded up.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored if `y_true` is a ranking or has several classes.
    average : {"macro", "weighted", "micro"}, optional
        Test one average over the classes instead of each class separately.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values indicate rankings better than chance, worse than chance, or
        either. Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : str, default="auto"
        How the p-value is computed: ``"auto"``, ``"analytic"``, ``"permutation"``,
        ``"sequential"``, ``"binomial"`` or ``"normal"``; see :func:`metric_test` and
        :func:`metric_null_distribution`.
    strata, clusters, order : array-like of shape (n_samples,), optional
        Stratum, cluster or time of each item, which restrict how labels are permuted.
    n_resamples : int, default=9999
        Number of random labellings for ``method="permutation"``, and the largest number of them for
        ``method="sequential"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.
    n_jobs : int, optional
        Number of jobs for ``method="permutation"``. The result does not depend on it.
    verbose : int, default=0
        Verbosity of joblib for ``method="permutation"``; larger values print more messages.

    Returns
    -------
    result : MetricTestResult
        The statistic, its p-value, and the null distribution.

    Raises
    ------
    TypeError, ValueError
        If an argument is wrong; see :func:`metric_test`.

    Warns
    -----
    UndefinedMetricWarning, UserWarning
        If the metric is undefined, or a permutation may not be valid; see :func:`metric_test`.

    See Also
    --------
    metric_test : The test of any metric.
    metric_null_distribution : The null distribution.
    recall_at_k_score : The statistic.
    min_hits_at_k : Smallest significant number of hits.

    Notes
    -----
    Without ties across rank k the p-value is the hypergeometric tail [1]_

    .. math:: P(H \ge h) = \sum_{i \ge h} \binom{m}{i} \binom{n - m}{k - i} \Big/ \binom{n}{k}.

    If equal scores straddle rank k, the statistic is its average over random tie-breaking, and the
    p-value is exact given these ties. The p-values of several k are each valid for a k fixed in
    advance; the smallest of them is not a valid p-value.

    References
    ----------
    .. [1] Macskassy, S. A. (2005). Significance testing against the random model for scoring models
       on top k predictions. Working paper CeDER-05-09, Stern School of Business, New York
       University.

    Examples
    --------
    >>> from sklearn_rankinf import recall_at_k_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> result = recall_at_k_test(y_true, y_score, k=2)
    >>> result.hits, round(result.statistic, 4), round(result.pvalue * 56, 9)
    (2.0, 0.6667, 6.0)
    """
    return run_test(
        RecallAtK(k).averaged(average),
        y_true,
        y_score,
        pos_label=pos_label,
        alternative=alternative,
        method=method,
        strata=strata,
        clusters=clusters,
        order=order,
        n_resamples=n_resamples,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )
