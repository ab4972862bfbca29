"""Comparison of several rankings of the same items, or of several runs over the same queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, stdtr, stdtrit

from sklearn_rankinf._estimation.averages import ClassAverage, covariance_of_averages
from sklearn_rankinf._estimation.comparison_methods import (
    on_g_scale,
    warn_of_unknown_errors,
)
from sklearn_rankinf._estimation.estimates import (
    Estimate,
    IntervalMethod,
    check_weights,
    covariance_of_values,
    limits_around,
    recommended_interval,
)
from sklearn_rankinf._estimation.leaderboard import Leaderboard, compact_letters, rank_limits
from sklearn_rankinf._estimation.limits import (
    difference_error,
    ellipse_limits,
    g_inverse,
    g_scale,
    g_slope,
    mover_limits,
)
from sklearn_rankinf._estimation.sign_flips import FlippedRuns
from sklearn_rankinf._estimation.simultaneous import (
    Contrasts,
    all_pairs,
    best_pvalues,
    difference_contrasts,
    holm,
    level_of_tests,
    pairs_with,
    single_step,
)
from sklearn_rankinf._metrics import (
    as_metric,
    as_metric_or_average,
    check_has_influence,
    check_queries_alone,
    check_several_queries,
    values_of_queries,
    warn_of_one_class,
)
from sklearn_rankinf._permutation import Draws
from sklearn_rankinf._ranking import (
    Design,
    PosLabel,
    Sample,
    check_confidence_level,
    check_option,
    read_values,
)
from sklearn_rankinf._results import Result, format_value
from sklearn_rankinf._statistics import Floats, Integers, Metric

_CORRECTIONS = ("maxt", "holm", "none")
_COLUMNS = (
    "difference",
    "standard_error",
    "low",
    "high",
    "pvalue",
    "pvalue_unadjusted",
)


@dataclass(frozen=True, repr=False)
class TabulatedValue(Metric):
    """A metric whose values were computed elsewhere, with a name for sentences."""

    name: str

    @classmethod
    def named(cls, name: Any) -> Self:
        """Check the name."""
        if not isinstance(name, str) or not name:
            raise TypeError(f"name must be a text, such as 'NDCG at 10'; got {name!r}.")
        return cls(name)

    @property
    def title(self) -> str:
        return self.name[0].upper() + self.name[1:]

    @property
    def title_in_text(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False, repr=False)
class MetricMultipleComparisonTestResult(Result):
    """Result of :func:`metric_multiple_comparison_test`.

    Attributes
    ----------
    metric : metric
        The metric, with a number of items as its cut-off if it has one.
    names : list
        Names of the rankers.
    statistic : ndarray of shape (n_rankers,)
        Value of the metric for each ranker, or its mean over queries.
    statistic_standard_error : ndarray of shape (n_rankers,)
        Influence standard error of each value, or standard error of the mean over queries.
    pairs : ndarray of shape (n_pairs, 2)
        Indices of the rankers that are compared.
    difference : ndarray of shape (n_pairs,)
        Value of the first ranker of a pair minus that of the second.
    standard_error : ndarray of shape (n_pairs,)
        Standard error of the difference; nan if a class, or a class of a stratum, has a single
        item or cluster.
    low, high : ndarray of shape (n_pairs,)
        Confidence limits of the differences: simultaneous, or of each pair by itself if the
        correction is ``"none"``. They exclude 0 if and only if the p-value is at most
        ``1 - confidence_level``, except for p-values by Holm's method.
    pvalue : ndarray of shape (n_pairs,)
        Two-sided p-values, adjusted for the number of pairs.
    pvalue_unadjusted : ndarray of shape (n_pairs,)
        Unadjusted p-values of the pairs.
    best_pvalue : ndarray of shape (n_rankers,)
        For each ranker the p-value of the hypothesis that no other ranker is better.
    may_be_best : ndarray of bool of shape (n_rankers,)
        Rankers that may be best at the confidence level, always including the ranker with the
        largest value.
    rank : ndarray of int of shape (n_rankers,)
        One plus the number of rankers with a larger value.
    rank_low, rank_high : ndarray of int of shape (n_rankers,)
        Confidence limits of the rank in the population, which is one plus the number of better
        rankers: of all ranks together, or of each rank by itself if the correction is ``"none"``.
    letters : list of str
        Letters of each ranker. Two rankers share a letter if and only if their p-value among all
        pairs is above ``1 - confidence_level``.
    confidence_level : float
        Coverage of the limits, and of the set of rankers that may be best.
    correction : {"maxt", "holm", "none"}
        Adjustment of the p-values.
    reference : object or None
        Name of the ranker that all others are compared with; None for all pairs.
    n_samples, n_positives : int or None
        Number of items and of positives; None for a table of values.
    n_queries : int or None
        Number of queries; None for rankings of the same items.

    See Also
    --------
    metric_multiple_comparison_test : The test that returns this result.
    values_multiple_comparison_test : The same for values that were computed elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import metric_multiple_comparison_test
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(400) < 40
    >>> scores = {f"+{d}": rng.normal(size=400) + d * y_true for d in (0.5, 1.5, 3.0)}
    >>> result = metric_multiple_comparison_test(y_true, scores)
    >>> result.best()
    ['+3.0']
    """

    metric: Metric
    names: list[Any]
    statistic: Floats
    statistic_standard_error: Floats = field(repr=False)
    pairs: Integers = field(repr=False)
    difference: Floats = field(repr=False)
    standard_error: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    pvalue: Floats = field(repr=False)
    pvalue_unadjusted: Floats = field(repr=False)
    best_pvalue: Floats = field(repr=False)
    may_be_best: NDArray[np.bool_]
    rank: Integers = field(repr=False)
    rank_low: Integers = field(repr=False)
    rank_high: Integers = field(repr=False)
    letters: list[str]
    confidence_level: float = field(repr=False)
    correction: str
    reference: Any
    n_samples: int | None = field(default=None, repr=False)
    n_positives: int | None = field(default=None, repr=False)
    n_queries: int | None = None

    def best(self) -> list[Any]:
        """Names of the rankers that may be best.

        Returns
        -------
        list
            The names, in the order of the rankers.
        """
        return [name for name, kept in zip(self.names, self.may_be_best, strict=True) if kept]

    def leaderboard(self) -> Leaderboard:
        """The rankers in the order of their values, each with its rank and its letters.

        Returns
        -------
        Leaderboard
            One row for each ranker, with its difference from the reference, or from the best
            ranker without one.
        """
        order = np.argsort(-self.statistic, kind="stable")
        reference = int(order[0])
        if self.reference is not None:
            reference = self.names.index(self.reference)
        found = _Comparisons(*(getattr(self, name) for name in _COLUMNS))
        compared = found.picked(self.pairs, pairs_with(reference, order.size))
        of_reference = {"difference": 0.0, "low": math.nan, "high": math.nan, "pvalue": math.nan}
        return Leaderboard(
            metric=self.metric,
            names=[self.names[i] for i in order],
            statistic=self.statistic[order],
            standard_error=self.statistic_standard_error[order],
            rank=self.rank[order],
            rank_low=self.rank_low[order],
            rank_high=self.rank_high[order],
            letters=[self.letters[i] for i in order],
            **{
                name: np.insert(getattr(compared, name), reference, own)[order]
                for name, own in of_reference.items()
            },
            may_be_best=self.may_be_best[order],
            reference=self.names[reference],
            confidence_level=self.confidence_level,
            correction=self.correction,
            n_queries=self.n_queries,
        )

    def _columns(self) -> dict[str, list[Any]]:
        first, second = ([self.names[i] for i in column] for column in self.pairs.T)
        return {"a": first, "b": second} | {name: getattr(self, name).tolist() for name in _COLUMNS}

    def _sentences(self) -> Iterable[str]:
        what = self.metric.title_in_text
        if self.n_queries is not None:
            what = f"mean {what} over {self.n_queries} queries"
        best = int(np.argmax(self.statistic))
        level = 1.0 - self.confidence_level
        n_different = int(np.sum(_is_significant(self.pvalue, self.confidence_level)))
        kept = ", ".join(map(str, self.best()))
        limits = "maxT" if self.n_queries is None else "Bonferroni"
        how = {
            "maxt": "single-step maxT; the simultaneous limits of these pairs exclude 0",
            "holm": f"Holm's method; the simultaneous limits, by {limits}, may include 0",
            "none": "unadjusted; the limits of these pairs, by themselves, exclude 0",
        }[self.correction]
        return [
            f"Of {len(self.names)} rankers {self.names[best]} had the largest {what}, "
            f"{format_value(self.statistic[best])}. At {100 * self.confidence_level:g} % "
            f"confidence the best is among: {kept} (Hsu's multiple comparisons with the best). "
            f"{n_different} of {len(self.pairs)} pairs differed at {level:.3g} ({how})."
        ]


def metric_multiple_comparison_test(
    y_true: Any,
    y_score: Any,
    *,
    metric: str | Metric = "average_precision",
    pos_label: PosLabel = 1,
    reference: Any = None,
    correction: str = "maxt",
    confidence_level: float = 0.95,
    groups: Iterable[Hashable] | None = None,
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    sample_weight: ArrayLike | None = None,
    n_resamples: int = 9999,
    random_state: Any = 0,
) -> MetricMultipleComparisonTestResult:
    r"""Compare several rankings of the same items: which pairs differ, and which may be best.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        Binary labels; for an average over classes also labels of more than two classes, or a
        multilabel indicator matrix.
    y_score : dict, DataFrame or array-like of shape (n_samples, n_rankers)
        Scores of the rankers, by name or in columns. For an average over classes a dict with an
        array of shape (n_samples, n_classes) for each ranker.
    metric : str or metric, default="average_precision"
        A metric, or its name with a cut-off after an @, as in ``"recall@50"``; see
        :func:`metric_test`. Averages over classes are ``"average_precision_macro"`` or
        ``RocAuc().averaged("weighted")``, for instance.
    pos_label : int, float, bool or str, default=1
        The label of the positives.
    reference : object, optional
        Name of the ranker that all others are compared with, such as a baseline, or ``"best"`` for
        the one with the largest value. By default all pairs are compared.
    correction : {"maxt", "holm", "none"}, default="maxt"
        Adjustment for the number of pairs. ``"maxt"``: single-step maxT, whose p-values agree with
        the simultaneous limits. ``"none"``: neither p-values nor limits are adjusted, and they
        agree. ``"holm"``: Holm's step-down p-values, which reject at least as much as Bonferroni's
        but have no limits of their own: those of ``"maxt"``, or over queries Bonferroni's, are
        returned, and may disagree.
    confidence_level : float, default=0.95
        Coverage of the limits, simultaneous unless the correction is ``"none"``, and coverage of
        the set of rankers that may be best.
    groups : array-like of shape (n_samples,), optional
        Query of each item, or data set: runs are compared by the mean of the metric over queries.
        Items that a run did not retrieve have the score -inf, and DCG and NDCG accept grades of
        relevance; see :func:`align_runs`.
    strata : array-like of shape (n_samples,), optional
        Stratum of each item, for items with fixed numbers of positives and negatives per
        stratum.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each item. Only items of different clusters are independent.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of a sampling design, such as inverse probabilities of selection; see
        :func:`metric_interval`.
    n_resamples : int, default=9999
        Number of random signs of the queries, with `groups`; all signs are used if they are fewer.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random signs, or of the random directions for the integration of the joint
        distribution.

    Returns
    -------
    result : MetricMultipleComparisonTestResult
        Values, differences with simultaneous limits and p-values, limits of the ranks, letters of
        rankers that are tied, and the rankers that may be best.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If there are fewer than two rankers, if labels or scores are invalid, if `reference` is not
        the name of a ranker, if the metric is the reciprocal rank or an operating point without
        `groups`, or if an option is not one of those above.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives or no negatives, or if a class has a single item or cluster.
        All p-values are then 1.
    DesignWarning
        If queries are so few that no adjusted p-value can be significant.

    See Also
    --------
    metric_comparison_test : Comparison of two rankers, with permutation tests.
    best_candidate_test : Whether the best of several rankers is better than chance.

    Notes
    -----
    The joint covariance matrix of the values is estimated from their influence values. Average
    precision is compared on the scale :math:`g(t) = -\log(-\log t)`, and ROC AUC on the logit
    scale, unless one of the values is 0 or 1. DeLong's variance of ROC AUC is too small near 1:
    if Newcombe's for the same value is larger, the mean of both is used. The errors of all
    differences are assumed to have a multivariate t distribution with m - 1 degrees of freedom,
    where m is the number of positives.

    *Over queries*, or data sets, the signs of all differences of a query are flipped together at
    random, and each statistic, Student's t of the differences, is compared with the largest of all
    pairs under the same signs. The p-values are exact for all pairs that are equal, if the vector
    of their differences has a distribution that is symmetric about 0 in each query. Queries may
    have different errors. With few queries and very skewed differences p-values are too small. The
    smallest p-value is ``2 ** (1 - n_queries)``, so that fewer than 6 queries show nothing at 0.05,
    and their limits are infinite; Holm's p-values are those of t tests, with limits by Bonferroni's
    inequality. The limits of a difference are those of Student's t with the critical value of the
    largest statistic, and approximate unless it is 0; a difference that is the same in all queries
    has a p-value by random signs, and if it is significant both limits are this difference. A
    multivariate t distribution would not do: its maximum is too small for a few queries and many
    runs.

    *P-values and limits* belong to one procedure, single-step maxT [1]_. Each statistic is compared
    with the largest of all pairs, and the limits of a pair contain all differences that are not
    rejected. With the quantile c of the largest statistic (sup-t) they are the difference plus or
    minus c standard errors; for average precision and ROC AUC they are the least and the largest
    difference of two values in the confidence ellipse of radius c on the scale of the test, which
    meets the diagonal if and only if the test does not reject. Hence 0 is excluded if and only if
    the p-value is at most ``1 - confidence_level``. A t test of a difference whose standard error
    is 0 or unknown has the p-value 1, and limits that include 0, from the intervals of both values.

    *The set of rankers that may be best* is of another procedure, Hsu's one-sided comparisons of
    each ranker with all others [2]_. It asks less, and excludes more: a ranker can be outside the
    set although the limits of its difference from the best include 0. It is then not the best, at
    the confidence level, but not significantly different from any one ranker.

    *Limits of ranks* [3]_. The rank of a ranker in the population is 1 plus the number of better
    ones, so that equal rankers have the same rank. It is at least 1 plus the number of rankers that
    are better by their limits, and at most the number of rankers minus the number of those that are
    worse by their limits. All ranks are within their limits together if all differences are, which
    is where the coverage comes from; for equal rankers the limits also include all ranks that they
    would have if they differed. With the correction ``"none"`` they are limits of each rank by
    itself, from the largest statistic of the pairs with that ranker.

    *Letters* [4]_ show which rankers are tied: two share a letter if and only if they do not differ
    significantly. Not significantly different is not transitive, and a ranker may have several
    letters. Ranks and letters are those of all pairs, whatever the `reference`.

    :ref:`coverage` describes simulations of these procedures.

    With ``reference="best"`` p-values and limits are adjusted for all pairs, because the reference
    is selected by the data.

    References
    ----------
    .. [1] Hothorn, T., Bretz, F., & Westfall, P. (2008). Simultaneous inference in general
       parametric models. Biometrical Journal, 50(3), 346-363.
    .. [2] Hsu, J. C. (1981). Simultaneous confidence intervals for all distances from the "best".
       Annals of Statistics, 9(5), 1026-1034.
    .. [3] Mogstad, M., Romano, J. P., Shaikh, A. M., & Wilhelm, D. (2024). Inference for ranks with
       applications to mobility across neighbourhoods and academic achievement across countries.
       Review of Economic Studies, 91(1), 476-518.
    .. [4] Piepho, H.-P. (2004). An algorithm for a letter-based representation of all-pairwise
       comparisons. Journal of Computational and Graphical Statistics, 13(2), 456-466.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import metric_multiple_comparison_test
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(400) < 40
    >>> scores = {f"+{d}": rng.normal(size=400) + d * y_true for d in (0.5, 1.5, 1.6)}
    >>> result = metric_multiple_comparison_test(y_true, scores, reference="+0.5")
    >>> result.best()
    ['+1.5', '+1.6']
    >>> (result.pvalue < 0.05).tolist()
    [True, True]
    >>> dict(zip(result.names, result.letters))
    {'+0.5': 'b', '+1.5': 'a', '+1.6': 'a'}
    >>> result.rank_low.tolist(), result.rank_high.tolist()
    ([3, 1, 1], [3, 2, 2])
    """
    confidence_level = check_confidence_level(confidence_level)
    correction = check_option(correction, "correction", _CORRECTIONS)
    draws = Draws.read(n_resamples, random_state, None, 0)
    chosen = as_metric_or_average(metric)
    each, average = chosen.of_each_class()
    design: dict[str, Any] = {"strata": strata, "clusters": clusters}
    design["sample_weight"] = sample_weight
    if groups is not None:
        chosen = as_metric(metric)
        check_queries_alone(**design)
    if average is None:
        sample = Sample.read(
            y_true,
            y_score,
            pos_label=pos_label,
            columns="rankers",
            takes_grades=groups is not None and chosen.takes_grades,
            groups=groups,
            **design,
        ).with_weight()
        classes = {pos_label: sample}
    else:
        classes = Sample.read_classes(y_true, y_score, **design)
        if len(classes) == 1:
            as_metric(metric)  # raises an error, because one class has no average
        sample = next(iter(classes.values()))
    check_weights(each, sample.design)
    names = sample.names
    own = _pairs_of(names, reference)
    n_queries = None
    if groups is not None:
        values = values_of_queries(chosen, sample)
        family, n_queries = _Family.of_queries(chosen, values, draws), len(values)
    elif average is not None:
        family = _Family.of_classes(chosen, classes)
    else:
        family = _Family.of_sample(chosen.at(sample.n_items), sample)
    return _result_of(
        family,
        names,
        own,
        draws,
        reference=reference,
        correction=correction,
        confidence_level=confidence_level,
        n_samples=sample.n_items,
        n_positives=sum(one.n_positives for one in classes.values()),
        n_queries=n_queries,
    )


def values_multiple_comparison_test(
    values: Any,
    *,
    name: str = "value",
    reference: Any = None,
    correction: str = "maxt",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    random_state: Any = 0,
) -> MetricMultipleComparisonTestResult:
    """Compare several rankers by a table of their values for queries or data sets.

    Parameters
    ----------
    values : dict, DataFrame or array-like of shape (n_queries, n_rankers)
        Values of a metric that were computed elsewhere: one row for each query or data set, one
        column for each ranker. Larger values are better.
    name : str, default="value"
        What the values are, as in ``"NDCG at 10"``.
    reference : object, optional
        Name of the ranker that all others are compared with, or ``"best"``. By default all pairs
        are compared.
    correction : {"maxt", "holm", "none"}, default="maxt"
        Adjustment for the number of pairs.
    confidence_level : float, default=0.95
        Coverage of the limits, and of the set of rankers that may be best.
    n_resamples : int, default=9999
        Number of random signs of the rows; all signs are used if they are fewer.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random signs.

    Returns
    -------
    result : MetricMultipleComparisonTestResult
        Means, differences with simultaneous limits and p-values, limits of the ranks, letters of
        rankers that are tied, and the rankers that may be best.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If there are fewer than two rankers or two rows, if a value is missing or infinite, or if
        `reference` is not the name of a ranker.

    Warns
    -----
    DesignWarning
        If rows are so few that no adjusted p-value can be significant.

    See Also
    --------
    metric_multiple_comparison_test : The same from labels and scores, where the methods are
        described.

    Notes
    -----
    The result is that of :func:`metric_multiple_comparison_test` with ``groups``, whose values for
    each query these are. All rows have the same weight.

    Examples
    --------
    >>> from sklearn_rankinf import values_multiple_comparison_test
    >>> table = {
    ...     "small": [0.41, 0.52, 0.33, 0.61, 0.48, 0.39, 0.55, 0.44],
    ...     "large": [0.47, 0.55, 0.36, 0.66, 0.50, 0.45, 0.58, 0.49],
    ...     "tuned": [0.46, 0.57, 0.35, 0.67, 0.51, 0.43, 0.60, 0.48],
    ... }
    >>> board = values_multiple_comparison_test(table, name="NDCG at 10").leaderboard()
    >>> board.names, board.letters, board.rank_low.tolist(), board.rank_high.tolist()
    (['tuned', 'large', 'small'], ['a', 'a', 'b'], [1, 1, 3], [2, 2, 3])
    """
    confidence_level = check_confidence_level(confidence_level)
    correction = check_option(correction, "correction", _CORRECTIONS)
    draws = Draws.read(n_resamples, random_state, None, 0)
    names, table = read_values(values)
    own = _pairs_of(names, reference)
    return _result_of(
        _Family.of_queries(TabulatedValue.named(name), table, draws),
        names,
        own,
        draws,
        reference=reference,
        correction=correction,
        confidence_level=confidence_level,
        n_queries=len(table),
    )


def _result_of(
    family: _Family,
    names: list[Any],
    own: Integers | None,
    draws: Draws,
    *,
    reference: Any,
    correction: str,
    confidence_level: float,
    **counts: int | None,
) -> MetricMultipleComparisonTestResult:
    """Compare the pairs with a reference, or all pairs, of a family."""
    if correction == "maxt" and family.flipped is not None:
        family.flipped.warn_of_few_signs(confidence_level)
    rng = np.random.default_rng(draws.seeds)
    every = all_pairs(len(names))
    shown = every if own is None else own
    if own is None and reference is not None:
        best = int(np.argmax(family.values))
        shown, reference = pairs_with(best, len(names)), names[best]
    comparisons = family.compare(every if own is None else own, correction, confidence_level, rng)
    best_pvalue = family.best_pvalues(rng)
    # The ranker with the largest value is kept, even if its p-value is low for the level.
    is_excluded = _is_significant(best_pvalue, confidence_level)
    may_be_best = ~is_excluded | (family.values == family.values.max())
    all_of_them = comparisons
    if own is not None:
        all_of_them = family.compare(every, correction, confidence_level, rng)
    rank_low, rank_high = family.rank_limits(all_of_them, correction, confidence_level, rng)
    differ = _as_matrix(every, _is_significant(all_of_them.pvalue, confidence_level))
    if own is None:
        comparisons = comparisons.picked(every, shown)
    return MetricMultipleComparisonTestResult(
        metric=family.metric,
        names=names,
        statistic=family.values,
        statistic_standard_error=np.sqrt(np.diag(family.plain_covariance)),
        pairs=shown,
        difference=comparisons.difference,
        standard_error=comparisons.standard_error,
        low=comparisons.low,
        high=comparisons.high,
        pvalue=comparisons.pvalue,
        pvalue_unadjusted=comparisons.pvalue_unadjusted,
        best_pvalue=best_pvalue,
        may_be_best=may_be_best,
        rank=1 + np.sum(family.values > family.values[:, None], axis=1),
        rank_low=rank_low,
        rank_high=rank_high,
        letters=compact_letters(family.values, differ),
        confidence_level=confidence_level,
        correction=correction,
        reference=reference,
        **counts,
    )


def _pairs_of(names: list[Any], reference: Any) -> Integers | None:
    """Return the pairs with a reference, or None for all pairs, also if it is yet to be found."""
    if len(names) < 2:
        raise ValueError(f"There is one ranker, {names[0]!r}: a comparison needs at least 2.")
    if reference in names:
        return pairs_with(names.index(reference), len(names))
    if reference is None or (isinstance(reference, str) and reference == "best"):
        return None
    raise ValueError(
        f"reference={reference!r} is not the name of a ranker: pass 'best' or one of "
        f"{', '.join(map(repr, names))}."
    )


def _is_significant(pvalue: Floats, confidence_level: float) -> NDArray[np.bool_]:
    """Whether p-values are at most the level of the tests."""
    return np.asarray(pvalue <= level_of_tests(confidence_level))


def _as_matrix(pairs: Integers, of_pairs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A symmetric matrix with a value for each pair of all."""
    n_rankers = int(pairs.max()) + 1
    matrix = np.zeros((n_rankers, n_rankers), dtype=bool)
    matrix[tuple(pairs.T)] = of_pairs
    return matrix | matrix.T


def scaled_for_tests(
    metric: Metric, estimates: Sequence[Estimate | ClassAverage]
) -> tuple[Floats, Floats, Callable[[Floats], Floats] | None]:
    """Values on the scale of t tests, factors of their standard errors there, and the way back.

    The scale is g for average precision and the logit for ROC AUC, unless a value is 0 or the
    maximum; the way back leads to the share of the maximum.
    """
    values = np.array([estimate.value for estimate in estimates])
    slope = np.array([estimate.error_factor for estimate in estimates])
    maximum = estimates[0].maximum
    share = values / maximum
    if np.all((share > 0.0) & (share < 1.0 - 1e-12)):
        if on_g_scale(metric):
            return g_scale(share), slope * g_slope(share) / maximum, g_inverse
        if metric.family == "roc_auc":
            return logit(values), slope / (values * (1.0 - values)), expit
    return values, slope, None


@dataclass(frozen=True, eq=False)
class _Comparisons:
    """Results of the pairs."""

    difference: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    pvalue: Floats
    pvalue_unadjusted: Floats

    def picked(self, tested: Integers, shown: Integers) -> _Comparisons:
        """Select some of the pairs, in either direction."""
        index = {tuple(pair): i for i, pair in enumerate(tested.tolist())}
        where = [index.get((i, j), index.get((j, i), -1)) for i, j in shown.tolist()]
        sign = np.where([(i, j) in index for i, j in shown.tolist()], 1.0, -1.0)
        low, high = self.low[where], self.high[where]
        # A difference of 0 has no sign.
        return _Comparisons(
            sign * self.difference[where] + 0.0,
            self.standard_error[where],
            np.where(sign > 0.0, low, 0.0 - high),
            np.where(sign > 0.0, high, 0.0 - low),
            self.pvalue[where],
            self.pvalue_unadjusted[where],
        )


@dataclass(frozen=True, eq=False)
class _Family:
    """Estimates of several rankers, with their joint covariance.

    `scaled` and `covariance` are the values and `plain_covariance` on the scale of the tests, from
    which `back` leads to the share of the largest value; None if the values are used as they are.
    `estimates`, None over queries, and the method `way` give the interval of each ranker. Over
    queries the largest statistic is that of `flipped` signs.
    """

    metric: Metric
    values: Floats
    plain_covariance: Floats
    scaled: Floats
    covariance: Floats
    df: float
    back: Callable[[Floats], Floats] | None = None
    estimates: Sequence[Estimate | ClassAverage] | None = None
    way: IntervalMethod | None = None
    flipped: FlippedRuns | None = None

    @classmethod
    def of_sample(cls, metric: Metric, sample: Sample) -> _Family:
        """Rankings of the same items."""
        statistic = check_has_influence(metric)
        rankers = range(len(sample.scores))
        estimates = [Estimate.of_sample(statistic, sample, ranker) for ranker in rankers]
        if not sample.has_both:
            warn_of_one_class(
                sample.positive, "a comparison is not possible, and all p-values are 1"
            )
            values = np.array([estimate.value for estimate in estimates])
            nothing = np.zeros((values.size, values.size))
            return cls(metric, values, nothing * math.nan, values, nothing, 0)
        return cls._of(metric, estimates, covariance_of_values(statistic, sample), sample.design)

    @classmethod
    def of_classes(cls, metric: Metric, classes: Mapping[Any, Sample]) -> _Family:
        """Averages over classes of rankings of the same items."""
        sample = next(iter(classes.values()))
        rankers = range(len(sample.scores))
        averages = [ClassAverage.of(metric, classes, ranker) for ranker in rankers]
        covariance = covariance_of_averages(averages)
        return cls._of(averages[0].metric, averages, covariance, sample.design)

    @classmethod
    def _of(
        cls,
        metric: Metric,
        estimates: Sequence[Estimate | ClassAverage],
        covariance: Floats,
        design: Design,
    ) -> _Family:
        """Estimates on the scale of the tests."""
        if np.isnan(covariance).any():
            warn_of_unknown_errors("Comparisons need standard errors", "all p-values are 1")
        values, each = np.array([one.value for one in estimates]), metric.of_each_class()[0]
        scaled, slope, back = scaled_for_tests(each, estimates)
        df = max(min(estimate.df for estimate in estimates), 0.0)
        known = np.nan_to_num(covariance) * np.outer(slope, slope)
        way = recommended_interval(each, design)
        return cls(metric, values, covariance, scaled, known, df, back, estimates, way)

    @classmethod
    def of_queries(cls, metric: Metric, values: Floats, draws: Draws) -> _Family:
        """Runs over the same queries, of shape (n_queries, n_runs)."""
        n_queries = len(values)
        check_several_queries(n_queries)
        means, covariance = values.mean(axis=0), np.cov(values, rowvar=False) / n_queries
        return cls(
            metric,
            means,
            covariance,
            means,
            covariance,
            n_queries - 1,
            flipped=FlippedRuns.of(values, draws),
        )

    def compare(
        self, pairs: Integers, correction: str, confidence_level: float, rng: np.random.Generator
    ) -> _Comparisons:
        """Differences of pairs, their limits and p-values."""
        first, second = pairs.T
        error, rows = self._contrasts(pairs)
        scaled = self.scaled[first] - self.scaled[second]
        none = np.full(scaled.shape, math.nan)
        statistic = np.divide(scaled, error, out=none, where=error > 0.0)
        alone = np.ones(scaled.size)
        known = (error > 0.0) & (self.df > 0)
        alone[known] = 2.0 * stdtr(self.df, -np.abs(statistic[known]))
        alpha = 1.0 - confidence_level
        if correction != "none":
            alpha /= len(pairs)  # Bonferroni's level
        adjusted, critical = alone, float(-stdtrit(self.df, alpha / 2.0))
        if self.flipped is None and correction != "none":
            adjusted, critical = single_step(statistic, rows, self.df, confidence_level, rng)
        elif self.flipped is not None and correction == "maxt":
            adjusted, critical = self.flipped.single_step(pairs, confidence_level)
            # Random signs need no standard error.
            known = np.ones(known.shape, dtype=bool)
        if correction == "holm":
            adjusted = holm(alone)
        low, high = self._limits(pairs, known, error, critical, 1.0 - alpha)
        difference = self.values[first] - self.values[second]
        return _Comparisons(difference, self._errors(pairs), low, high, adjusted, alone)

    def _contrasts(self, pairs: Integers) -> Contrasts:
        """Standard errors on the scale of the tests, with the joint distribution if it is used."""
        if self.flipped is not None:
            return Contrasts(self._errors(pairs), np.empty((len(pairs), 0)))
        return difference_contrasts(self.covariance, pairs)

    def best_pvalues(self, rng: np.random.Generator) -> Floats:
        """For each ranker the p-value of the hypothesis that no other one is better."""
        if self.flipped is not None:
            return self.flipped.best_pvalues()
        return best_pvalues(self.scaled, self.covariance, self.df, rng)

    def rank_limits(
        self,
        every: _Comparisons,
        correction: str,
        confidence_level: float,
        rng: np.random.Generator,
    ) -> tuple[Integers, Integers]:
        """Limits of the ranks of all rankers together, or of each one by itself."""
        n_rankers = self.values.size
        if correction != "none":
            excludes_zero = (every.low > 0.0) | (every.high < 0.0)
            return rank_limits(self.values, _as_matrix(all_pairs(n_rankers), excludes_zero))
        is_different = np.zeros((n_rankers, n_rankers), dtype=bool)
        for ranker in range(n_rankers):
            pairs = pairs_with(ranker, n_rankers)
            own = self.compare(pairs, "maxt", confidence_level, rng)
            is_different[ranker, pairs[:, 0]] = _is_significant(own.pvalue, confidence_level)
        return rank_limits(self.values, is_different)

    def _errors(self, pairs: Integers) -> Floats:
        """Standard errors of the differences, nan if they are unknown."""
        first, second = pairs.T
        if self.flipped is not None:
            return np.asarray(self.flipped.standard_error[first, second])
        variance = np.diag(self.plain_covariance)
        shared = self.plain_covariance[first, second]
        return difference_error(variance[first], variance[second], shared)

    def _limits(
        self,
        pairs: Integers,
        known: NDArray[np.bool_],
        error: Floats,
        critical: float,
        level: float,
    ) -> tuple[Floats, Floats]:
        """All differences whose test statistic is below the critical value.

        Without a standard error there is no test, and the limits are those of `_without_test`. So
        they are for equal values at an end of the metric, whose p-value is 1.
        """
        known = known & ~self._both_at_an_end(pairs)
        low, high = np.empty((2, len(pairs)))
        if not known.all():
            low, high = self._without_test(pairs, level)
        first, second = pairs[known].T
        one = None if self.estimates is None else self.estimates[0]
        if self.back is not None and one is not None:
            variance, shared = np.diag(self.covariance), self.covariance[first, second]
            errors = variance[first], variance[second], shared
            found = ellipse_limits(
                self.back, self.scaled[first], self.scaled[second], *errors, critical
            )
            low[known], high[known] = one.maximum * np.array(found)
            return low, high
        difference = self.values[first] - self.values[second]
        half = np.full(difference.shape, math.inf)
        if math.isfinite(critical):
            half = critical * error[known]
        reach = math.inf if one is None else one.maximum - min(one.minimum, 0.0)
        low[known] = np.maximum(difference - half, -reach)
        high[known] = np.minimum(difference + half, reach)
        return low, high

    def _both_at_an_end(self, pairs: Integers) -> NDArray[np.bool_]:
        """Pairs of equal values that are 0 or the maximum, where errors are underestimated."""
        first, second = self.values[pairs.T]
        if self.estimates is None:
            return np.zeros(len(pairs), dtype=bool)
        share = first / self.estimates[0].maximum
        return np.asarray((first == second) & ((share <= 0.0) | (share > 1.0 - 1e-12)))

    def _without_test(self, pairs: Integers, level: float) -> tuple[Floats, Floats]:
        """Limits that include 0, from the interval of each ranker (MOVER)."""
        first, second = pairs.T
        if self.way is None or self.estimates is None:
            # Differences of queries are all equal; those of items of one class are undefined.
            low = high = self.values[first] - self.values[second] + 0.0 * self._errors(pairs)
        else:
            around = [limits_around(self.way, each, level) for each in self.estimates]
            value, below, above = np.array(around).T
            one, other = ((value[i], below[i], above[i]) for i in (first, second))
            variance = np.diag(self.plain_covariance)
            scale = np.sqrt(variance[first] * variance[second])
            unknown = np.full(scale.shape, math.nan)
            correlation = np.divide(
                self.plain_covariance[first, second], scale, out=unknown, where=scale > 0.0
            )
            low, high = mover_limits(*one, *other, correlation)
        return np.minimum(low, 0.0), np.maximum(high, 0.0)
