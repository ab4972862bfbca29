"""Confidence intervals of a metric of a ranking, or of its mean over queries."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from numpy.typing import ArrayLike

from sklearn_rankinf._estimation.averages import interval_of_average
from sklearn_rankinf._estimation.estimates import (
    Estimate,
    MetricIntervalResult,
    check_both_classes,
    check_sample,
    check_weights,
    choose_method,
    estimate_of,
    interval_of,
    interval_over_queries,
)
from sklearn_rankinf._estimation.prevalence import check_prevalence
from sklearn_rankinf._metrics import (
    Metric,
    as_metric,
    as_metric_or_average,
    check_of_many_items,
    check_queries_alone,
    values_of_queries,
)
from sklearn_rankinf._permutation import in_parallel
from sklearn_rankinf._ranking import (
    PosLabel,
    Ranking,
    Sample,
    as_seed_sequence,
    check_confidence_level,
    check_integer,
    check_n_jobs,
)


def metric_interval(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    metric: str | Metric = "average_precision",
    pos_label: PosLabel = 1,
    confidence_level: float = 0.95,
    method: str = "auto",
    prevalence: float | None = None,
    groups: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    sample_weight: ArrayLike | None = None,
    n_resamples: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Any:
    r"""Confidence interval of a metric of a ranking, or of its mean over queries.

    The items are treated as a random sample of a population with fixed numbers of positives and
    negatives. The scores must come from a model that was not trained on these items.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes), or Ranking
        Binary labels; labels of more than two classes; a multilabel indicator matrix; or a ranking,
        in which case `y_score` is omitted.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes), optional
        Scores, larger for items more likely to be positive. For several classes one column per
        class, in sorted order of the labels. Required unless `y_true` is a ranking.
    metric : str or metric, default="average_precision"
        A metric, or its name with a cut-off after an @, as in ``"recall@50"``; see
        :func:`metric_test`. For several classes also an average over them, such as
        ``"average_precision_macro"`` or ``RocAuc().averaged("weighted")``.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored if `y_true` is a ranking or has several classes.
    confidence_level : float, default=0.95
        Nominal coverage of the interval.
    method : str, default="auto"
        Method of the interval. ``"auto"`` selects the first one of each list; see Notes.

        * Average precision: ``"influence"``, ``"calibrated"``, and Boyd's ``"logit"`` and
          ``"binomial"``; at k ``"influence"``.
        * ROC AUC: ``"score"``, ``"delong"``.
        * Recall, precision, enrichment and F-score at k: ``"score"``, ``"clopper_pearson"``,
          ``"plus"``.
        * Precision at a recall, recall at a precision or at a false-positive rate: ``"region"``.
        * DCG, BEDROC, RIE and custom metrics: ``"binormal"``, ``"influence"``.
        * Any metric over queries: ``"t"``, ``"bootstrap"``.
        * With `prevalence`, average precision: ``"mover"``, ``"influence"``; recall, precision,
          enrichment and F-score at a fraction: ``"union"``.
    prevalence : float, optional
        Prevalence of the population in which the ranker will work, between 0 and 1, if it is not
        that of the sample, as in case-control and downsampled samples. Positives and negatives are
        taken as random samples of those of the population. For average precision of all ranks;
        recall, precision, enrichment and F-score at k, where k is a fraction of the population; and
        ROC AUC, which is the same at every prevalence.
    groups : array-like of shape (n_samples,), optional
        Query of each item. The interval is then that of the mean over queries, and the queries
        are the sampled units. Items that the ranker did not retrieve have the score -inf, and DCG
        and NDCG accept grades of relevance; see :func:`align_runs`.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each item, such as its patient. Only items of different clusters are
        independent.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of a sampling design, such as inverse probabilities of selection: an item of
        weight w stands for w items of the population. For average precision of all ranks, ROC
        AUC, and recall, precision, enrichment and F-score at k, where k is a fraction of the
        population. Items of weight 0 are left out.
    n_resamples : int, default=9999
        Number of resamples for ``method="bootstrap"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of random numbers for simulation and the bootstrap.
    n_jobs : int, optional
        Number of jobs over the classes. The result does not depend on it.

    Returns
    -------
    result : MetricIntervalResult or dict of MetricIntervalResult
        The value, limits, standard error, method and target of the interval; for several classes a
        dict with the interval of each, unless the metric is an average over classes.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given with a ranking, or if an argument has the wrong type.
    ValueError
        If there are no positives or no negatives, if the metric is the reciprocal rank of one
        ranking, if there are too few negatives for the `prevalence`, or if an option is not one of
        those above or cannot be combined with another.

    Warns
    -----
    UserWarning
        If a value at another prevalence depends on few negatives.

    See Also
    --------
    metric_test : Test of a ranking against chance.
    metric_comparison_test : Comparison of two rankings of the same items.

    Notes
    -----
    The variance V of a metric is computed from its influence values. The influence value of an
    item is the rate at which the metric changes with the weight of the item; the values are
    centred within positives and within negatives. For ROC AUC it is DeLong's variance. In the
    following, t is the quantile of Student's t distribution with m - 1 degrees of freedom, and m is
    the number of positives or, with clusters, the number of clusters with positives:

    * Average precision, also at k, on the scale :math:`g(t) = -\log(-\log t)`:
      :math:`g^{-1}(g(\mathrm{AP}) \pm t \sqrt{V} g'(\mathrm{AP}))`, and from
      :math:`(\alpha/2)^{1/m}` to 1 if AP is 1. The coverage is too low if a few positives
      dominate, because few of many score high or a strong ranker ranks a few of them far down.
    * ROC AUC: the interval contains all areas for which the observed area is within t standard
      errors. The standard error follows from a variance of binormal form, scaled to V [2]_.
    * Recall at k: the same interval with the variance of a random threshold [3]_. The intervals of
      precision, enrichment and F-score are multiples of it.
    * Operating points: the pointwise limits of recall at every k of :func:`metric_curve` are read
      along the line of the given recall, precision or false-positive rate. Recall at a precision
      has the lower limit 0 if the line is within the limits up to the top of the list: the data do
      not exclude that the precision is never reached, and the summary says so. There is no standard
      error, and clusters are not supported. Simulated with at least 20 positives.
    * DCG, BEDROC, RIE: the binormal model is inverted. The limits are the expected values of the
      metric for the two shifts of normal scores at which the observed value begins to lie in the
      upper or in the lower tail. The interval depends on this model. Influence intervals of these
      metrics have too low a coverage near chance. All measured rates are in :ref:`coverage`.

    Boyd's logit interval [1]_ is up to four times as wide as needed. Percentile bootstrap intervals
    of average precision have too low a coverage and are not available. The
    reciprocal rank of one ranking depends on a single item and has no interval; its mean over
    queries has one. With a single positive or negative, intervals that need V contain all possible
    values of the metric.

    **Several classes.** The interval of an average over classes combines the intervals of the
    classes with the correlations of their influence values, which come from the same items [4]_.

    **Weights.** The value is that of scikit-learn with `sample_weight`, and V is linearised: the
    influence value of an item, centred in its class at the weighted mean, is multiplied by its
    weight, as if it were a cluster of so many equal items. With m replaced by Kish's effective
    number of positives, :math:`(\sum w)^2 / \sum w^2`, the intervals are those for clusters. The
    cut-off of a fraction is rounded up to a multiple of the mean weight. The
    weights must be known from the design. The coverage is too low if few positives of large weight
    score low. Weights that say how much an error costs are no sampling
    design, and numbers of copies need the copies as items.

    **Another prevalence.** At prevalence :math:`\pi`, with :math:`n_0` negatives of which
    :math:`w_i` score at least as high as the positive i,

    .. math:: \mathrm{AP}_\pi = \frac1m \sum_i \frac{A_i}{A_i + w_i + 1/2}, \qquad
              A_i = n_0 \frac{\pi}{1 - \pi} \frac im,

    where i counts the positives from the top. Without 1/2 it is the value of scikit-learn with
    weights :math:`\pi / m` of positives and :math:`(1 - \pi) / n_0` of negatives, which is too
    large if few negatives are at the top. ``"mover"`` combines two intervals on the scale g [4]_:
    that of the sampling of positives, by influence values, and that of average precision with
    Jeffreys' limits of all shares of negatives above a positive. ``"influence"`` has influence
    values of both classes; it needs :math:`n_0 \pi \ge 20`. About :math:`n_0 \pi` negatives
    determine the value: below 20 of them there is a warning, also below 50 with fewer than 50
    positives, and below 2 an error. For metrics at the fraction f of the population, of which
    recall is :math:`\kappa` and :math:`\pi \kappa / f` precision, ``"union"`` are the wider ones of
    score and likelihood-ratio limits on each side, with the variance of a random threshold; they
    need :math:`n_0 f \ge 10`, and there is a warning below 25. P-values of tests against chance
    need no correction: they are valid for case-control samples.

    References
    ----------
    .. [1] Boyd, K., Eng, K. H., & Page, C. D. (2013). Area under the precision-recall curve: point
       estimates and confidence intervals. ECML PKDD 2013, 451-466.
    .. [2] Newcombe, R. G. (2006). Confidence intervals for an effect size measure based on the
       Mann-Whitney statistic. Part 2. Statistics in Medicine, 25(4), 559-573.
    .. [3] Ash, J. R., & Hughes-Oliver, J. M. (2022). Confidence bands and hypothesis tests for hit
       enrichment curves. Journal of Cheminformatics, 14, 50.
    .. [4] Zou, G. Y., & Donner, A. (2008). Construction of confidence limits about effect measures:
       a general approach. Statistics in Medicine, 27(10), 1693-1702.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import metric_interval
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(500) < 50
    >>> y_score = rng.normal(size=500) + 1.5 * y_true
    >>> result = metric_interval(y_true, y_score)
    >>> bool(result.low < result.statistic < result.high), result.method
    (True, 'influence')
    >>> result.target
    'average precision in the population, at the prevalence of the sample'
    >>> metric_interval(y_true, y_score, metric="recall@0.1").method
    'score'
    >>> rare = metric_interval(y_true, y_score, prevalence=0.05)
    >>> rare.target
    'average precision in a population with prevalence 0.05'
    >>> print(f"{rare.statistic:.2f} in [{rare.low:.2f}, {rare.high:.2f}]")
    0.36 in [0.21, 0.55]
    """
    confidence_level = check_confidence_level(confidence_level)
    n_resamples = check_integer(n_resamples, "n_resamples", 1)
    n_jobs = check_n_jobs(n_jobs)
    chosen = as_metric_or_average(metric)
    prevalence = check_prevalence(prevalence)
    if groups is not None:
        chosen = as_metric(metric)
        check_queries_alone(clusters=clusters, sample_weight=sample_weight, prevalence=prevalence)
        sample = Sample.read(
            y_true,
            y_score,
            pos_label=pos_label,
            takes_grades=chosen.takes_grades,
            groups=groups,
        )
        return interval_over_queries(
            chosen,
            values_of_queries(chosen, sample)[:, 0],
            (sample.n_items, sample.n_positives),
            confidence_level,
            method,
            n_resamples,
            random_state,
            sample.n_without_positives,
        )
    each, average = chosen.of_each_class()
    check_of_many_items(each)
    sample = Sample.read(
        y_true,
        y_score,
        pos_label=pos_label,
        columns="classes",
        needs_ties=False,
        clusters=clusters,
        sample_weight=sample_weight,
    ).with_weight()
    method = choose_method(each, method, not sample.design.is_simple, prevalence)
    check_weights(each, sample.design)
    if sample.n_classes > 1:
        if prevalence is not None:
            raise ValueError(
                f"prevalence is that of one class, but y_true has {sample.n_classes}: pass "
                "y_true == label and the scores of that label."
            )
        if average is not None:
            return interval_of_average(chosen, sample, confidence_level, method, random_state)
        return _intervals_of_classes(sample, each, confidence_level, method, random_state, n_jobs)
    as_metric(metric)  # raises an error for an average, which one class does not have
    ranking = sample.rankings[0]
    is_local = getattr(each, "k", None) is not None or not each.has_influence
    if is_local and not ranking.has_all_ties:
        raise ValueError(
            f"The interval of {each.title} depends on the items at one rank, but this Ranking "
            "with has_all_ties=False has negatives of different scores in one block: count all "
            "scores, as Ranking.from_dask(..., counts='all') does."
        )
    check_both_classes(ranking)
    check_sample(chosen, (sample.n_items, sample.n_positives), prevalence, method)
    estimate = estimate_of(chosen, sample, prevalence)
    return interval_of(estimate, confidence_level, method, random_state)


def _intervals_of_classes(
    sample: Sample,
    metric: Metric,
    confidence_level: float,
    method: str,
    random_state: Any,
    n_jobs: int | None,
) -> dict[Any, MetricIntervalResult]:
    estimates = []
    for number, (name, ranking) in enumerate(zip(sample.names, sample.rankings, strict=True)):
        check_both_classes(ranking, f"the class {name!r}")
        estimates.append(Estimate.of_sample(metric, sample.single(number)))
    seeds = as_seed_sequence(random_state)
    tasks = ((estimate, confidence_level, method, seeds) for estimate in estimates)
    results = in_parallel(interval_of, tasks, n_jobs)
    return dict(zip(sample.names, results, strict=True))
