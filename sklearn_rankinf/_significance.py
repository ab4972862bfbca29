"""Tests of a ranking against random labelling, of any metric and of some by name."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._engine.statistics import HitsAtK, Metric
from sklearn_rankinf._frozen_distributions import plain
from sklearn_rankinf._guard import result_function
from sklearn_rankinf._metrics import (
    AveragePrecision,
    PrecisionAtK,
    RecallAtK,
    RocAuc,
    as_metric,
)
from sklearn_rankinf._observations import (
    GradedProblem,
    Observation,
    Problem,
    check_takes_weights,
    is_graded,
    one_of_each_k,
    read_problem,
)
from sklearn_rankinf._ranking import Ranking
from sklearn_rankinf._restricted import Restrictions
from sklearn_rankinf._results import MetricTestResult, results_as_one, significance_fields
from sklearn_rankinf._validation import PosLabel, as_seed_sequence, check_stopping, warn_caller


@result_function
def metric_test(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    metric: str | Metric = "average_precision",
    k: Any = None,
    pos_label: PosLabel = 1,
    average: str | None = None,
    alternative: str = "greater",
    method: str = "auto",
    sample_weight: ArrayLike | None = None,
    weights_follow: str = "label",
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
    block_length: int | None = None,
    n_permutations: int = 9999,
    n_exceedances: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> MetricTestResult:
    r"""Test whether a ranking is better, by any metric, than random labelling gives.

    The null hypothesis is random selection: with the scores and their ties as they are, every
    choice of `n_positives` of the `n_samples` samples as the positives is equally likely.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes), or Ranking
        Binary labels; labels of more than two classes; a matrix of 0 and 1 that says which samples
        are of which classes; for DCG and NDCG also grades of relevance, numbers of more than two
        values that are not negative; or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), optional
        Scores, larger for samples more likely to be positive, with one column for each class
        where there are several, in sorted order of the labels. Required unless `y_true` is a
        ranking.
    metric : str or metric, default="average_precision"
        A metric, such as ``AveragePrecision(k=100)`` or an instance of a subclass of
        :class:`RankStatistic`; or the name of one: ``"average_precision"``, ``"recall_at_k"``,
        ``"precision_at_k"``, ``"enrichment_at_k"``, ``"f_score_at_k"``, ``"roc_auc"``, ``"dcg"``,
        ``"ndcg"``, ``"bedroc"``, ``"rie"``, ``"reciprocal_rank"`` or one that was registered.
    k : int or float, optional
        Cut-off of a metric that is given by its name, or by an object without one: a number of
        samples, or a fraction of them between 0 and 1, rounded up. Of names, those of recall,
        precision, enrichment and F-score at k need it; they take an array-like too, which makes one
        test for each entry.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking or of several classes.
    average : {"macro", "weighted", "micro"}, optional
        Test one average over the classes, formed as in scikit-learn: the mean over the classes,
        the mean by their numbers of samples, or the metric of all classes' samples in one list. By
        default each class is tested by itself. Binary labels ignore it.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values are for rankings better than chance, worse than chance, or
        either. Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : str, default="auto"
        How the p-value is computed: ``"auto"``, ``"analytic"``, ``"permutation"``, ``"normal"`` and
        what else the metric has; see :func:`metric_null_distribution`. Weights, averages, strata,
        clusters and order have no null distribution in closed form: ``"auto"`` takes permutation,
        and methods other than these two are errors.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights, for average precision without `k` only, as in scikit-learn. Equal
        weights are the same as none.
    weights_follow : {"label", "score"}, default="label"
        What the null hypothesis leaves a weight with. With ``"label"`` labels and weights are
        permuted together over the scores: valid if the weights are related to the scores by nothing
        but the labels, as class weights are. With ``"score"`` the weights stay with the scores and
        the labels are permuted: valid if the weights are related to the labels by nothing but the
        scores. A warning says where a rank test finds another relation.
    strata : array-like of shape (n_samples,), optional
        Stratum of each sample: anything hashable. Labels are permuted within strata only, which is
        the null hypothesis where the strata differ in their shares of positives for reasons that
        the scores know as well. By permutation.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample: anything hashable. Samples of a cluster must have the same label;
        the labels of whole clusters are permuted among clusters of the same size, and of the same
        stratum if there are `strata`. By permutation.
    order : array-like of shape (n_samples,), optional
        Time or position of each sample, numbers or datetimes, for a series whose labels and scores
        are correlated in time. The sequence of the labels is shifted along the samples, what leaves
        the end coming in at the beginning; each stratum is a series of its own if there are
        `strata`. Only the order counts, not the length of the steps. If there are no more shifts
        than `n_permutations`, all are counted and none is drawn. By permutation.
    block_length : int, optional
        With `order`, permute blocks of so many consecutive samples as wholes instead of shifting.
        What is left at the end of a series keeps its labels.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    n_exceedances : int, optional
        Stop drawing at the labelling that is the `n_exceedances`-th at least as extreme as the
        observed one: the p-value is then `n_exceedances` over the number drawn. Permutation and
        one-sided alternatives only.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.
    n_jobs : int, optional
        Number of jobs for ``method="permutation"``. The result does not depend on it.
    verbose : int, default=0
        Progress messages of joblib for ``method="permutation"``, more of them for larger numbers.

    Returns
    -------
    result : MetricTestResult
        The statistic, its p-value, and the null distribution they were compared with; arrays of
        shape (n_classes,) for several classes, and of the shape of `k` where that is an array.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given with a ranking, if weights, strata, clusters or order are
        given with a ranking, or if an argument is of a wrong type.
    ValueError
        If labels or scores cannot be ranked (see :meth:`Ranking.from_scores`), if `y_score` lacks
        a column for a class, if weights are negative or all 0, if a cluster holds different labels
        or lies in several strata, if two samples of a series have the same time, or if an option is
        not one of those above or has no meaning with another.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives, or only ones without weight: the statistic is then 0.0, the
        p-value 1.0, and the z-score and adjusted statistic are nan. Or if a class has none, or a
        metric is undefined without negatives.
    UserWarning
        If weights that follow labels are related to the scores of samples with the same label, or
        weights that follow scores to the labels of samples with similar scores, or if
        strata, clusters or blocks leave fewer than 1000 different labellings, or shifts fewer than
        100.

    See Also
    --------
    metric_null_distribution : The null distribution by itself.
    average_precision_test : The same for average precision, by name.
    make_significance_scorer : Scorers of the p-value, for cross-validation and searches.
    score_strata : Strata of samples with similar scores.
    sklearn.model_selection.permutation_test_score : Test of an estimator by refitting it.

    Notes
    -----
    The metrics and what they do with equal scores are described with their classes, such as
    :class:`AveragePrecision`. The p-value :math:`P(S \ge s)` counts equality. The labels must not
    have trained the model that made the scores.

    With weights the counts of samples and positives are sums of weights. Averages
    over classes, and weights that follow labels, are tested by permuting whole rows of labels, so
    that the labels of a sample stay together. Weights made from the labels, such as class weights,
    reject a true null hypothesis almost always if the labels leave them, and weights made from the
    scores reject it too often if they follow the labels: 12 percent at the level of 5 for weights
    exp(score), with 50 positives among 500. Related to both, neither choice is valid. A warning is
    given if the rank correlation of weights and scores within labels, or that of weights and labels
    within runs of ten samples of similar scores, has a p-value below .001; strata are respected,
    clusters count as one sample, and nothing is checked along a series.

    Samples of one cluster, such as images of one patient, are no independent evidence. To ignore
    clusters is the commonest invalid use of tests like this one: with 100 clusters of 5, whose
    scores are nearly equal, 22 percent of true null hypotheses were rejected at 5 percent without
    `clusters`, and 4 percent with them. Only clusters of the same size exchange their labels; else
    the number of positives would change, and 16 percent were rejected where larger clusters were
    more often positive.

    Labels and scores that are each correlated in time meet by chance more often than separate
    samples do: at an autocorrelation of .8, with 50 positives among 500, 13 percent of true null
    hypotheses were rejected at 5 percent, and 5.0 percent with `order`. Shifts are an exact test of
    labels that are stationary around a circle, and approximate for other stationary ones (5.2
    percent at an autocorrelation of .95). The smallest p-value is 1 over the number of shifts.

    Strata of the scores of another model, by :func:`score_strata`, ask whether this one adds
    anything to it. To compare scores within strata only, average precision within strata has an
    exact law: :func:`mean_average_precision_test` with the strata as queries.

    Grades of relevance are gains as they are, as in :func:`sklearn.metrics.dcg_score`. Mean and
    variance of DCG under permutation of the grades are exact, and the p-value is by permutation.

    P-values for several `k` are each valid by themselves: choosing the smallest of them is not.

    If drawing stops at the l-th labelling, the h-th that is as extreme, the p-value is
    :math:`h / l` [1]_; else, with b of B labellings as extreme, :math:`(b + 1) / (B + 1)`.

    References
    ----------
    .. [1] Besag, J., & Clifford, P. (1991). Sequential Monte Carlo p-values. Biometrika, 78(2),
       301-304.

    Examples
    --------
    Positives at ranks 1, 2 and 4 of 8; of the 56 ways to choose three ranks, two have an average
    precision that high:

    >>> from sklearn_rankinf import metric_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> result = metric_test(y_true, y_score, metric="average_precision")
    >>> round(result.statistic, 4), round(result.pvalue * 56, 9)
    (0.9167, 2.0)

    Three classes, each tested by itself and all by their mean:

    >>> y_true = ["a", "a", "b", "b", "c", "c"]
    >>> y_score = [[3, 1, 0], [2, 1, 1], [1, 3, 0], [0, 2, 1], [0, 0, 2], [1, 2, 2]]
    >>> metric_test(y_true, y_score).pvalue.round(4)
    array([0.0667, 0.1333, 0.0667])
    >>> metric_test(y_true, y_score, average="macro").method
    'permutation'

    Forty clusters of three samples with one label each:

    >>> import numpy as np
    >>> clusters = np.repeat(np.arange(40), 3)
    >>> y_true = clusters < 8
    >>> y_score = np.random.default_rng(0).normal(size=40)[clusters]
    >>> ignoring = metric_test(y_true, y_score)
    >>> respecting = metric_test(y_true, y_score, clusters=clusters)
    >>> bool(ignoring.pvalue < respecting.pvalue), respecting.n_resamples
    (True, 9999)
    """
    return _test(
        as_metric(metric, k),
        y_true,
        y_score,
        pos_label=pos_label,
        average=average,
        alternative=alternative,
        method=method,
        sample_weight=sample_weight,
        weights_follow=weights_follow,
        restrictions=Restrictions(strata, clusters, order, block_length),
        n_permutations=n_permutations,
        n_exceedances=n_exceedances,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )


def _test(
    metric: Metric,
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None,
    *,
    pos_label: PosLabel,
    average: str | None,
    alternative: str,
    restrictions: Restrictions,
    n_exceedances: int | None,
    sample_weight: ArrayLike | None = None,
    weights_follow: str = "label",
    **options: Any,
) -> MetricTestResult:
    """Read labels and scores once, observe the metric, and compare it with random labelling."""
    check_stopping(n_exceedances, alternative)
    problem: Problem | GradedProblem
    if is_graded(y_true, y_score, metric):
        if sample_weight is not None:
            check_takes_weights(metric)
        problem = GradedProblem.read(y_true, y_score, restrictions)
    else:
        problem = read_problem(
            y_true,
            y_score,
            pos_label=pos_label,
            average=average,
            sample_weight=sample_weight,
            weights_follow=weights_follow,
            restrictions=restrictions,
        )
    several_k = isinstance(metric, HitsAtK) and np.ndim(metric.k) > 0
    one_by_one = several_k and (problem.table is not None or n_exceedances is not None)
    if one_by_one and problem.classes is not None:
        raise ValueError(
            f"{metric!r} has several cut-offs and the labels several classes: pass one k, or call "
            "once per class."
        )
    options["random_state"] = as_seed_sequence(options["random_state"])
    observations = [
        seen
        for one in (one_of_each_k(metric) if one_by_one else [metric])
        for seen in problem.observe(one, options)
    ]
    _warn_of_undefined(observations, problem.classes is not None)
    results = [_result(seen, alternative, n_exceedances) for seen in observations]
    if problem.classes is not None:
        return results_as_one(results, (len(results),), classes=problem.classes)
    if not one_by_one:
        return results[0]
    at_k = metric.at(results[0].n_samples)
    common = {"metric": at_k, "n_positives": results[0].n_positives}
    return results_as_one(results, np.shape(at_k.k), **common)  # type: ignore[attr-defined]


def _result(observed: Observation, alternative: str, n_exceedances: int | None) -> MetricTestResult:
    """Compare a value with its null distribution."""
    metric, ranking = observed.metric, observed.ranking
    hits = None
    if isinstance(metric, HitsAtK) and ranking is not None:
        hits = plain(metric.count(ranking.tie_sizes, ranking.hits))
    result = MetricTestResult(
        metric=metric,
        **significance_fields(
            observed.statistic, observed.null, alternative, n_exceedances=n_exceedances
        ),
        hits=hits,
        ranking=ranking if observed.is_free else None,
    )
    if observed.is_defined:
        return result
    nothing = plain(np.full(np.shape(observed.statistic), math.nan))
    return replace(result, zscore=nothing, adjusted_statistic=nothing)


def _warn_of_undefined(observations: list[Observation], has_classes: bool) -> None:
    """Warn once of what is undefined in one observation or several, naming the classes."""
    columns = tuple(c for seen in observations for c in seen.columns_without_positives)
    first = next((seen for seen in observations if seen.undefined() is not None), None)
    if first is None:
        return
    if has_classes and columns:
        first = replace(first, columns_without_positives=columns, is_defined=True, ranking=None)
    warn_caller(str(first.undefined()), UndefinedMetricWarning)


@result_function
def average_precision_test(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: float | None = None,
    normalize: str = "min",
    pos_label: PosLabel = 1,
    average: str | None = None,
    alternative: str = "greater",
    method: str = "auto",
    sample_weight: ArrayLike | None = None,
    weights_follow: str = "label",
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
    block_length: int | None = None,
    n_permutations: int = 9999,
    n_exceedances: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> MetricTestResult:
    r"""Test whether a ranking has a better average precision than random labelling gives.

    The null hypothesis is random selection: with the scores and their ties as they are, every
    choice of `n_positives` of the `n_samples` samples as the positives is equally likely. It is
    :func:`metric_test` by name, where all parameters, warnings and errors are described in full.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes), or Ranking
        Binary labels; labels of more than two classes; a matrix of 0 and 1 that says which samples
        are of which classes; or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), optional
        Scores, larger for samples more likely to be positive, with one column for each class
        where there are several, in sorted order of the labels. Required unless `y_true` is a
        ranking.
    k : int or float, optional
        Test average precision at `k` instead: an int of at least 1 counts samples, a float
        between 0 and 1 is a fraction of `n_samples`, rounded up.
    normalize : {"min", "positives"}, default="min"
        Divisor of average precision at `k`: the smaller of `n_positives` and `k`, or
        `n_positives`. Without `k` the two are the same.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking or of several classes.
    average : {"macro", "weighted", "micro"}, optional
        Test one average over the classes in place of each class by itself.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values are for rankings better than chance, worse than chance, or
        either. Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : {"auto", "analytic", "permutation", "normal", "pearson3", "zhang_su"}, default="auto"
        How the p-value is computed; see :func:`ap_null_distribution`.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights, without `k`.
    weights_follow : {"label", "score"}, default="label"
        What the null hypothesis leaves a weight with.
    strata, clusters, order : array-like of shape (n_samples,), optional
        Stratum, cluster or time of each sample, which restrict how labels are permuted.
    block_length : int, optional
        With `order`, number of consecutive samples that are permuted as wholes.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    n_exceedances : int, optional
        Stop drawing at the labelling that is the `n_exceedances`-th as extreme as the observed one.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.
    n_jobs : int, optional
        Number of jobs for ``method="permutation"``. The result does not depend on it.
    verbose : int, default=0
        Progress messages of joblib for ``method="permutation"``, more of them for larger numbers.

    Returns
    -------
    result : MetricTestResult
        The statistic, its p-value, and the null distribution they were compared with.

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
    ap_null_distribution : The null distribution by itself.
    average_precision_pvalue : Only the p-value, for use as a scorer.
    sklearn.metrics.average_precision_score : The statistic.

    Notes
    -----
    The statistic is :math:`\mathrm{AP} = \frac{1}{m} \sum_b y_b H_b / T_b` over the blocks of
    equal scores, with :math:`y_b` of the :math:`m` positives in block :math:`b`, :math:`H_b`
    positives and :math:`T_b` samples down to its end. Its null distribution starts from [1]_.

    References
    ----------
    .. [1] Zhang, P., & Su, W. (2012). Statistical inference on recall, precision and average
       precision under random selection. 9th International Conference on Fuzzy Systems and
       Knowledge Discovery, 1348-1352.

    Examples
    --------
    Positives at ranks 1, 2 and 4 of 8; of the 56 ways to choose three ranks, two have an average
    precision that high:

    >>> from sklearn_rankinf import average_precision_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> result = average_precision_test(y_true, y_score)
    >>> round(result.statistic, 4), round(result.pvalue * 56, 9)
    (0.9167, 2.0)
    """
    return _test(
        AveragePrecision(k, normalize),
        y_true,
        y_score,
        pos_label=pos_label,
        average=average,
        alternative=alternative,
        method=method,
        sample_weight=sample_weight,
        weights_follow=weights_follow,
        restrictions=Restrictions(strata, clusters, order, block_length),
        n_permutations=n_permutations,
        n_exceedances=n_exceedances,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )


@result_function
def recall_at_k_test(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: Any,
    pos_label: PosLabel = 1,
    average: str | None = None,
    alternative: str = "greater",
    method: str = "auto",
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
    block_length: int | None = None,
    n_permutations: int = 9999,
    n_exceedances: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> MetricTestResult:
    r"""Test whether the first k samples hold more of the positives than random labelling gives.

    The null hypothesis is random selection: with the scores and their ties as they are, every
    choice of `n_positives` of the `n_samples` samples as the positives is equally likely. It is
    :func:`metric_test` by name, where all parameters, warnings and errors are described in full.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes), or Ranking
        Binary labels; labels of more than two classes; a matrix of 0 and 1 that says which samples
        are of which classes; or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), optional
        Scores, larger for samples more likely to be positive, with one column for each class
        where there are several, in sorted order of the labels. Required unless `y_true` is a
        ranking.
    k : int, float or array-like of them
        Number of samples at the top of the ranking: an int of at least 1, or a float between 0 and
        1 for a fraction of `n_samples`, rounded up. An array makes one test for each entry.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking or of several classes.
    average : {"macro", "weighted", "micro"}, optional
        Test one average over the classes in place of each class by itself.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values are for rankings better than chance, worse than chance, or
        either. Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : {"auto", "analytic", "permutation", "binomial", "normal"}, default="auto"
        How the p-value is computed; see :func:`recall_at_k_null_distribution`.
    strata, clusters, order : array-like of shape (n_samples,), optional
        Stratum, cluster or time of each sample, which restrict how labels are permuted.
    block_length : int, optional
        With `order`, number of consecutive samples that are permuted as wholes.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    n_exceedances : int, optional
        Stop drawing at the labelling that is the `n_exceedances`-th as extreme as the observed one.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.
    n_jobs : int, optional
        Number of jobs for ``method="permutation"``. The result does not depend on it.
    verbose : int, default=0
        Progress messages of joblib for ``method="permutation"``, more of them for larger numbers.

    Returns
    -------
    result : MetricTestResult
        The statistic, its p-value, and the null distribution they were compared with.

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
    recall_at_k_null_distribution : The null distribution by itself.
    recall_at_k_score : The statistic.
    min_hits_at_k : The number of hits that is significant.

    Notes
    -----
    Without ties across rank k the p-value is the hypergeometric tail [1]_

    .. math:: P(H \ge h) = \sum_{i \ge h} \binom{m}{i} \binom{n - m}{k - i} \Big/ \binom{n}{k}.

    Where equal scores straddle rank k the statistic is its average over random tie-breaking, and
    the p-value is exact given these ties. P-values for several k are each valid by itself: choosing
    the smallest of them is not.

    References
    ----------
    .. [1] Macskassy, S. A. (2005). Working paper CeDER-05-09, Stern School of Business, New York
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
    return _test(
        RecallAtK(k),
        y_true,
        y_score,
        pos_label=pos_label,
        average=average,
        alternative=alternative,
        method=method,
        restrictions=Restrictions(strata, clusters, order, block_length),
        n_permutations=n_permutations,
        n_exceedances=n_exceedances,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )


@result_function
def precision_at_k_test(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: Any,
    pos_label: PosLabel = 1,
    average: str | None = None,
    alternative: str = "greater",
    method: str = "auto",
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
    block_length: int | None = None,
    n_permutations: int = 9999,
    n_exceedances: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> MetricTestResult:
    r"""Test whether more of the first k samples are positive than random labelling gives.

    The null hypothesis is random selection: with the scores and their ties as they are, every
    choice of `n_positives` of the `n_samples` samples as the positives is equally likely. It is
    :func:`metric_test` by name, where all parameters, warnings and errors are described in full.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes), or Ranking
        Binary labels; labels of more than two classes; a matrix of 0 and 1 that says which samples
        are of which classes; or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), optional
        Scores, larger for samples more likely to be positive, with one column for each class
        where there are several, in sorted order of the labels. Required unless `y_true` is a
        ranking.
    k : int, float or array-like of them
        Number of samples at the top of the ranking: an int of at least 1, or a float between 0 and
        1 for a fraction of `n_samples`, rounded up. An array makes one test for each entry.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking or of several classes.
    average : {"macro", "weighted", "micro"}, optional
        Test one average over the classes in place of each class by itself.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values are for rankings better than chance, worse than chance, or
        either. Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : {"auto", "analytic", "permutation", "binomial", "normal"}, default="auto"
        How the p-value is computed; see :func:`precision_at_k_null_distribution`.
    strata, clusters, order : array-like of shape (n_samples,), optional
        Stratum, cluster or time of each sample, which restrict how labels are permuted.
    block_length : int, optional
        With `order`, number of consecutive samples that are permuted as wholes.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    n_exceedances : int, optional
        Stop drawing at the labelling that is the `n_exceedances`-th as extreme as the observed one.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.
    n_jobs : int, optional
        Number of jobs for ``method="permutation"``. The result does not depend on it.
    verbose : int, default=0
        Progress messages of joblib for ``method="permutation"``, more of them for larger numbers.

    Returns
    -------
    result : MetricTestResult
        The statistic, its p-value, and the null distribution they were compared with.

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
    precision_at_k_null_distribution : The null distribution by itself.
    precision_at_k_score : The statistic.
    min_hits_at_k : The number of hits that is significant.

    Notes
    -----
    Precision at k is recall at k times m / k, so that the p-values are the same; see
    :func:`recall_at_k_test` for them and for ties.

    Examples
    --------
    >>> from sklearn_rankinf import precision_at_k_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> result = precision_at_k_test(y_true, y_score, k=0.5)
    >>> result.k, result.statistic, round(result.pvalue * 56, 9)
    (4, 0.75, 4.0)
    """
    return _test(
        PrecisionAtK(k),
        y_true,
        y_score,
        pos_label=pos_label,
        average=average,
        alternative=alternative,
        method=method,
        restrictions=Restrictions(strata, clusters, order, block_length),
        n_permutations=n_permutations,
        n_exceedances=n_exceedances,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )


@result_function
def roc_auc_test(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    pos_label: PosLabel = 1,
    average: str | None = None,
    alternative: str = "greater",
    method: str = "auto",
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
    block_length: int | None = None,
    n_permutations: int = 9999,
    n_exceedances: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> MetricTestResult:
    r"""Test whether a ranking has a larger area under the ROC curve than random labelling gives.

    The null hypothesis is random selection: with the scores and their ties as they are, every
    choice of `n_positives` of the `n_samples` samples as the positives is equally likely. It is
    :func:`metric_test` by name, where all parameters, warnings and errors are described in full.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes), or Ranking
        Binary labels; labels of more than two classes; a matrix of 0 and 1 that says which samples
        are of which classes; or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), optional
        Scores, larger for samples more likely to be positive, with one column for each class
        where there are several, in sorted order of the labels. Required unless `y_true` is a
        ranking.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking or of several classes.
    average : {"macro", "weighted", "micro"}, optional
        Test one average over the classes in place of each class by itself.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values are for rankings better than chance, worse than chance, or
        either. Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : {"auto", "analytic", "permutation", "normal", "pearson3"}, default="auto"
        How the p-value is computed; see :func:`roc_auc_null_distribution`.
    strata, clusters, order : array-like of shape (n_samples,), optional
        Stratum, cluster or time of each sample, which restrict how labels are permuted.
    block_length : int, optional
        With `order`, number of consecutive samples that are permuted as wholes.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    n_exceedances : int, optional
        Stop drawing at the labelling that is the `n_exceedances`-th as extreme as the observed one.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.
    n_jobs : int, optional
        Number of jobs for ``method="permutation"``. The result does not depend on it.
    verbose : int, default=0
        Progress messages of joblib for ``method="permutation"``, more of them for larger numbers.

    Returns
    -------
    result : MetricTestResult
        The statistic, its p-value, and the null distribution they were compared with.

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
    roc_auc_null_distribution : The null distribution by itself.
    sklearn.metrics.roc_auc_score : The statistic.

    Notes
    -----
    The area is the share of the pairs of a positive and a negative in which the positive has the
    larger score, pairs of equal scores counting half. It is Mann and Whitney's U over the number of
    pairs [1]_, and the p-value is that of their test, exact also with ties.

    References
    ----------
    .. [1] Mann, H. B., & Whitney, D. R. (1947). On a test of whether one of two random variables is
       stochastically larger than the other. Annals of Mathematical Statistics, 18(1), 50-60.

    Examples
    --------
    >>> from sklearn_rankinf import roc_auc_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> result = roc_auc_test(y_true, y_score)
    >>> round(result.statistic, 4), round(result.pvalue * 56, 9)
    (0.9333, 2.0)
    """
    return _test(
        RocAuc(),
        y_true,
        y_score,
        pos_label=pos_label,
        average=average,
        alternative=alternative,
        method=method,
        restrictions=Restrictions(strata, clusters, order, block_length),
        n_permutations=n_permutations,
        n_exceedances=n_exceedances,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )
