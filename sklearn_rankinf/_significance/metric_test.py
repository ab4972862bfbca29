"""Test of a ranking, or of the rankings of several queries, against chance."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sklearn_rankinf._metrics import (
    as_metric_or_average,
    at_query,
    check_queries_alone,
)
from sklearn_rankinf._null import (
    OF_LABELS,
    check_method_of_test,
    masses,
    mean_of,
    method_of_mean,
    observe,
    observe_queries,
    stopped_distribution,
    warn_of_design,
    warn_of_undefined,
)
from sklearn_rankinf._ranking import (
    PosLabel,
    Ranking,
    Sample,
    as_seed_sequence,
    check_alternative,
    check_n_jobs,
    check_verbose,
)
from sklearn_rankinf._significance.queries import (
    JointRows,
    QueriesTestResult,
    are_rankings,
    read_queries,
    result_of_queries,
)
from sklearn_rankinf._significance.results import (
    MetricTestResult,
    pvalue_fields,
    significance_fields,
)
from sklearn_rankinf._statistics import Metric, plain

Labels: TypeAlias = ArrayLike | Ranking | Mapping[Any, Ranking] | Sequence[Ranking]
"""Labels, one ranking, or one ranking for each query."""


def metric_test(
    y_true: Labels,
    y_score: ArrayLike | None = None,
    *,
    metric: str | Metric = "average_precision",
    pos_label: PosLabel = 1,
    alternative: str = "greater",
    method: str = "auto",
    groups: Iterable[Hashable] | None = None,
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
    n_resamples: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Any:
    r"""Test whether a ranking is better than chance by any metric.

    The null hypothesis is chance: given the scores and their ties, all choices of
    `n_positives` of the `n_samples` items as the positives are equally likely.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes), or Ranking
        Binary labels; labels of more than two classes; a multilabel indicator matrix; for DCG and
        NDCG also grades of relevance, which are non-negative numbers with more than two distinct
        values, or 0 and another one if it is neither 1 nor `pos_label`; or a ranking, or a mapping
        or sequence with the ranking of each query, in which case `y_score` and `groups` are
        omitted.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), optional
        Scores, larger for items more likely to be positive. For several classes one column per
        class, in sorted order of the labels. Required unless `y_true` is a ranking.
    metric : str or metric, default="average_precision"
        A metric, such as ``AveragePrecision(k=100)`` or an instance of a subclass of
        :class:`RankStatistic`; or its name: ``"average_precision"``, ``"recall@50"``,
        ``"precision@50"``, ``"enrichment@0.01"``, ``"f_score@50"``, ``"roc_auc"``, ``"dcg"``,
        ``"ndcg"``, ``"bedroc"``, ``"rie"``, ``"reciprocal_rank"``, ``"precision_at_recall@0.8"``,
        ``"recall_at_precision@0.5"`` or ``"recall_at_fpr@0.01"``. The cut-off after the @ is a
        number of items, or a fraction of them between 0 and 1, rounded up; average precision,
        DCG and NDCG may have one too, as in ``"ndcg@10"``. With several classes each is tested
        separately, or one average over them: ``"recall_macro@50"``, ``"ndcg_weighted@10"``,
        ``"bedroc_micro"``, ``Bedroc(alpha=50).averaged("macro")``. Averages are defined as in
        scikit-learn: the mean over the classes, the mean weighted by their numbers of positives, or
        the metric of all classes' items in one list. Binary labels need no average and ignore it.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored if `y_true` is a ranking or has several classes.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values indicate rankings better than chance, worse than chance, or
        either. Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : str, default="auto"
        How the p-value is computed: ``"auto"``, ``"analytic"``, ``"permutation"``,
        ``"sequential"``, ``"normal"`` and any further methods of the metric; see
        :func:`metric_null_distribution`. With averages, strata, clusters or order the null
        distribution has no closed form: ``"auto"`` uses permutation, and only these two and
        ``"sequential"`` are available. ``"sequential"`` is permutation that stops when 100 random
        labellings were at least as extreme as the observed one; it needs a one-sided alternative
        and no `groups`.
    groups : array-like of shape (n_samples,), optional
        The query of each item: any hashable values, in any order. The mean of the metric over the
        queries is tested, and each query. Scores are compared, and labels permuted, only within
        queries.
    strata : array-like of shape (n_samples,), optional
        Stratum of each item, any hashable values. Labels are permuted only within strata. Use
        strata if their prevalences differ for reasons that also affect the scores. The p-value is
        computed by permutation.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each item, any hashable values. Items of a cluster must have the same label;
        the labels of whole clusters are permuted among clusters of the same size, and of the same
        stratum if `strata` are given. The p-value is computed by permutation. With `groups` a
        cluster may have items in several queries, which keep one label, and is exchanged with
        clusters that have as many items in each query: if queries rank the same items, the
        clusters are the items.
    order : array-like of shape (n_samples,), optional
        Time or position of each item, numbers or datetimes, for a series whose labels and scores
        are autocorrelated. The sequence of labels is shifted along the items, and labels shifted
        past the end re-enter at the beginning. With `strata`, each stratum is a separate series.
        Only the order of the items matters, not the time between them. If there are at most
        `n_resamples` shifts, all of them are enumerated. With `clusters`, blocks of consecutive
        items such as ``rank_of_time // 50``, blocks of the same size are permuted instead, with
        whatever labels they have. The p-value is computed by permutation.
    n_resamples : int, default=9999
        Number of random labellings for ``method="permutation"``, and the largest number of them for
        ``method="sequential"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.
    n_jobs : int, optional
        Number of jobs for permutations, and for the exact p-values of many queries. The result
        does not depend on it.
    verbose : int, default=0
        Verbosity of joblib for ``method="permutation"``; larger values print more messages.

    Returns
    -------
    result : MetricTestResult or QueriesTestResult
        The statistic, its p-value, and the null distribution. For several queries also the
        value of each query, its p-value, and adjustments for their number.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given with a ranking, if strata, clusters or order are given
        with a ranking, or if an argument has the wrong type.
    ValueError
        If labels or scores cannot be ranked (see :meth:`Ranking.from_scores`), if `y_score` lacks
        a column for a class, if a cluster has different labels or lies in several strata, if two
        items of a series have the same time, if a cluster along a series is not a block of
        consecutive items, or if an option is not one of those above or cannot be combined with
        another.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives: the statistic is then 0.0, the p-value 1.0, and the z-score and
        adjusted statistic are nan. Also if a class or a query has no positives, or if a metric is
        undefined without negatives.
    UserWarning
        If strata, clusters or blocks leave fewer than 1000 different labellings, or shifts fewer
        than 100.

    See Also
    --------
    metric_null_distribution : The null distribution.
    average_precision_test : The test for average precision.
    make_significance_scorer : Scorers of the p-value, for cross-validation and searches.
    sklearn.model_selection.permutation_test_score : Test of an estimator by refitting it.

    Notes
    -----
    The metrics and their treatment of equal scores are described in their classes, such as
    :class:`AveragePrecision`. The p-value :math:`P(S \ge s)` includes equality. The labels must not
    have been used to train the model whose scores are tested.

    Averages over classes are tested by permuting whole rows of labels, so that the labels of an
    item stay together.

    Items of one cluster, such as images of one patient, are not independent evidence. Ignoring
    clusters is the most common invalid use of tests like this one: a true null hypothesis is then
    rejected several times too often (:ref:`coverage-dependent`). Labels are exchanged only between
    clusters of the same size. If clusters of different sizes were exchanged, the number of
    positives would change, and the test would not be valid where larger clusters are positive more
    often.

    Labels and scores that are both correlated in time agree by chance more often than those of
    independent items: pass `order`. Shifts are an exact test for labels that are stationary around
    a circle, and approximate for other stationary labels (:ref:`coverage-dependent`). The smallest
    p-value is 1 over the number of shifts.

    With strata of the scores of another model, five neighbouring scores each, the test
    examines whether the tested score adds information. To compare scores only within strata, pass
    them as `groups`.

    The mean over independent queries has an exact null distribution, except for recall at a
    precision, a custom metric and graded relevance, for which ``"auto"`` uses permutation. A query
    without positives counts as 0 and has the p-value 1; it is left out of the adjustments for
    multiple queries. The adjustment of Benjamini and Hochberg [2]_ bounds the expected proportion
    of false discoveries among the significant queries, and is valid for independent queries; that
    of Benjamini and Yekutieli [3]_ is valid under any dependence. Holm's [4]_ adjustment bounds the
    probability of any false discovery, under any dependence. With strata or clusters the labels of
    all queries are permuted together, which preserves the dependence between queries. The step-down
    maxT [5]_ compares the standardised value of a query with the largest one of this query and of
    all less extreme queries in each random labelling; it bounds the same probability as Holm's
    adjustment, and its p-values are smaller if queries are dependent.

    Grades of relevance are used as gains without a transformation, as in
    :func:`sklearn.metrics.dcg_score`. Mean and variance of DCG under permutation of the grades are
    exact, and the p-value is computed by permutation.

    The p-values of several `k` are each valid for a `k` fixed in advance; the smallest of them is
    not a valid p-value.

    If b of all B random labellings are at least as extreme as the observed one, the p-value is
    :math:`(b + 1) / (B + 1)`. If ``method="sequential"`` stops at labelling number l, the p-value
    is :math:`100 / l` [1]_.

    References
    ----------
    .. [1] Besag, J., & Clifford, P. (1991). Sequential Monte Carlo p-values. Biometrika, 78(2),
       301-304.
    .. [2] Benjamini, Y., & Hochberg, Y. (1995). Controlling the false discovery rate. Journal of
       the Royal Statistical Society B, 57(1), 289-300.
    .. [3] Benjamini, Y., & Yekutieli, D. (2001). The control of the false discovery rate in
       multiple testing under dependency. Annals of Statistics, 29(4), 1165-1188.
    .. [4] Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian
       Journal of Statistics, 6(2), 65-70.
    .. [5] Westfall, P. H., & Young, S. S. (1993). Resampling-based multiple testing. Wiley.

    Examples
    --------
    Positives at ranks 1, 2 and 4 of 8. Of the 56 ways to choose three ranks, two have at least this
    average precision:

    >>> from sklearn_rankinf import metric_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> result = metric_test(y_true, y_score, metric="average_precision")
    >>> round(result.statistic, 4), round(result.pvalue * 56, 9)
    (0.9167, 2.0)

    Three classes, tested separately and by the mean of the metric over the classes:

    >>> y_true = ["a", "a", "b", "b", "c", "c"]
    >>> y_score = [[3, 1, 0], [2, 1, 1], [1, 3, 0], [0, 2, 1], [0, 0, 2], [1, 2, 2]]
    >>> {name: round(of.pvalue, 4) for name, of in metric_test(y_true, y_score).items()}
    {'a': 0.0667, 'b': 0.1333, 'c': 0.0667}
    >>> metric_test(y_true, y_score, metric="average_precision_macro").method
    'permutation'

    Two queries, tested by the mean of their reciprocal ranks and each by itself:

    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0]
    >>> y_score = [9, 8, 7, 6, 5, 4, 3, 2, 6, 5, 4, 3, 2, 1]
    >>> groups = ["cats"] * 8 + ["dogs"] * 6
    >>> result = metric_test(y_true, y_score, metric="reciprocal_rank", groups=groups)
    >>> result.statistic, round(result.pvalue * 35, 9)
    (0.75, 11.0)
    >>> result.query_pvalue_bh.round(4)
    array([0.6, 0.6])

    Forty clusters of three items with one label each:

    >>> import numpy as np
    >>> clusters = np.repeat(np.arange(40), 3)
    >>> y_true = clusters < 8
    >>> y_score = np.random.default_rng(0).normal(size=40)[clusters]
    >>> ignoring = metric_test(y_true, y_score)
    >>> respecting = metric_test(y_true, y_score, clusters=clusters)
    >>> bool(ignoring.pvalue < respecting.pvalue), respecting.n_resamples
    (True, 9999)
    """
    return run_test(
        as_metric_or_average(metric),
        y_true,
        y_score,
        pos_label=pos_label,
        alternative=alternative,
        method=method,
        groups=groups,
        strata=strata,
        clusters=clusters,
        order=order,
        n_resamples=n_resamples,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )


def run_test(
    metric: Metric,
    y_true: Labels,
    y_score: ArrayLike | None,
    *,
    pos_label: PosLabel,
    alternative: str,
    method: str,
    random_state: Any,
    sample_weight: ArrayLike | None = None,
    strata: Iterable[Hashable] | None,
    clusters: Iterable[Hashable] | None,
    order: Iterable[Any] | None = None,
    groups: Iterable[Hashable] | None = None,
    **options: Any,
) -> Any:
    """Read labels and scores once, compute the metric, and compare it with chance."""
    alternative = check_alternative(alternative)
    each, average = metric.of_each_class()
    if groups is not None or are_rankings(y_true):
        check_queries_alone(sample_weight=sample_weight, order=order)
        if average is not None:
            raise ValueError(
                f"{metric!r} is an average over classes, which queries do not have: use {each!r}."
            )
        return significance_of_queries(
            each,
            y_true,
            y_score,
            groups,
            pos_label=pos_label,
            alternative=alternative,
            method=method,
            strata=strata,
            clusters=clusters,
            random_state=random_state,
            **options,
        )
    sample = Sample.read(
        y_true,
        y_score,
        pos_label=pos_label,
        columns="classes",
        takes_grades=each.takes_grades,
        sample_weight=sample_weight,
        strata=strata,
        clusters=clusters,
        order=order,
    )
    method = check_method_of_test(each.at(sample.n_items), method, alternative)
    if sample.n_classes == 1:
        metric = each
    warn_of_design(sample, metric, method)
    options |= {"alternative": alternative, "method": method}
    options["random_state"] = as_seed_sequence(random_state)
    if sample.n_classes > 1 and average is None:
        classes = [sample.single(number) for number in range(sample.n_classes)]
        results = [significance_of(metric, own, **options) for own in classes]
        warn_of_undefined(results[0].metric, sample)
        return dict(zip(sample.names, results, strict=True))
    result = significance_of(metric, sample, **options)
    warn_of_undefined(result.metric, sample)
    return result


def significance_of(
    metric: Metric,
    sample: Sample,
    *,
    alternative: str = "greater",
    method: str,
    **options: Any,
) -> MetricTestResult:
    """Test one class of a sample, or the average over its classes."""
    is_sequential = method == "sequential"
    drawn = "permutation" if is_sequential else method
    statistic, null = observe(metric, sample, method=drawn, **options)
    computed = None
    if is_sequential:
        null, known = stopped_distribution(null, statistic, alternative)
        computed = pvalue_fields(null, statistic, alternative, known)
    fields = significance_fields(statistic, null, alternative, computed)
    if is_sequential or method == OF_LABELS:
        fields["method"] = method
    metric = metric.at(sample.n_items)
    is_of_rows = sample.n_classes > 1 or sample.design.weights is not None or sample.is_graded
    hits, ranking = None, None if is_of_rows else sample.rankings[0]
    if metric.counts_hits and ranking is not None:
        hits = plain(metric.count(ranking.tie_sizes, ranking.hits))
    result = MetricTestResult(
        metric=metric,
        **fields,
        hits=hits,
        ranking=None if sample.design.restrictions else ranking,
    )
    if masses(sample).any():
        return result
    nothing = plain(np.full(np.shape(statistic), math.nan))
    return replace(result, zscore=nothing, adjusted_statistic=nothing)


def significance_of_queries(
    metric: Metric,
    y_true: Any,
    y_score: Any,
    groups: Iterable[Hashable] | None,
    *,
    alternative: str,
    method: str,
    n_resamples: int,
    random_state: Any,
    n_jobs: int | None,
    verbose: int,
    **options: Any,
) -> QueriesTestResult:
    """Test the mean of a metric over queries, and each query, against chance."""
    running: dict[str, Any] = {"n_jobs": check_n_jobs(n_jobs), "verbose": check_verbose(verbose)}
    method_of_mean(metric, method)
    # All null distributions share one seed, so that a generator is drawn from only once.
    drawing: dict[str, Any] = {"n_resamples": n_resamples}
    drawing["random_state"] = as_seed_sequence(random_state)
    sample, queries = read_queries(metric, y_true, y_score, groups, **options)
    is_graded = sample is not None and sample.is_graded
    null, joint = None, None
    if sample is not None and sample.design.restrictions:
        joint = JointRows(metric, sample, method)
    if sample is not None and is_graded:
        if joint is not None:
            raise ValueError(
                f"{sample.design.named} cannot be combined with groups for graded relevance: leave "
                "out one of them."
            )
        drawing_each = {**drawing, "method": method, "n_jobs": None}
        observed = {
            query: observe(at_query(metric, query, rows.size), sample.of_rows(rows), **drawing_each)
            for query, rows in sample.design.rows_of_queries().items()
        }
        method = "permutation"
    else:
        observed = observe_queries(queries, metric, method=method, **drawing)
    if joint is None:
        nulls = [own for _, own in observed.values()]
        null = mean_of(metric, nulls, method=method, **drawing, **running)
    return result_of_queries(metric, observed, null, joint, alternative, **drawing, **running)
