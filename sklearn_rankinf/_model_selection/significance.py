"""Significance tests over the folds of cross-validation."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp, xlogy
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score

from sklearn_rankinf._estimation import Estimate
from sklearn_rankinf._metrics import without_errors
from sklearn_rankinf._model_selection.folds import (
    FoldMean,
    check_are_different,
    check_folds,
    check_groups,
    check_makes_splits,
    check_nothing_to_fit,
    fit_folds,
    groups_for,
    held_out_sample,
    held_out_scores,
    is_default,
    split_params,
    splitter,
    with_groups,
)
from sklearn_rankinf._model_selection.scorers import Scoring
from sklearn_rankinf._model_selection.search import among_permutations
from sklearn_rankinf._null import NullDistribution, mean_of, resamples_of
from sklearn_rankinf._permutation import (
    RESTRICTED,
    Draws,
    check_permutations,
    exchange_of,
    in_parallel,
)
from sklearn_rankinf._ranking import (
    Design,
    Fold,
    Sample,
    as_seed_sequence,
    check_confidence_level,
    check_integer,
    check_no_closed_form,
    check_option,
    folds_of,
    warn_caller,
)
from sklearn_rankinf._results import (
    ConfidenceInterval,
    Result,
    format_value,
    one_below_another,
    state_pvalue,
)
from sklearn_rankinf._significance import pvalue_fields, significance_of
from sklearn_rankinf._statistics import Floats, Metric, as_log10, is_smallest, log10_of

_CONVOLVED = ("analytic", "permutation", "normal", "pearson3")
# Log p-value below which cot(pi p) equals 1 / (pi p) in floating point and may overflow.
_SMALL = -600.0
_ANOTHER_CV = "another cv, or method='bonferroni', which is valid for any folds"
_N_LABELLINGS, _N_REFITS = 9999, 99


# Folds.


@dataclass(frozen=True, eq=False, repr=False)
class CrossValSignificanceResult(Result):
    """Result of :func:`cross_val_significance`.

    Attributes
    ----------
    statistic : float
        Mean of the metric over the folds.
    pvalue : float
        P-value of all folds.
    log10_pvalue : float
        Base-10 logarithm of the p-value, finite even if `pvalue` underflows to 0.
    pvalue_low, pvalue_high : float
        Combination of the lower and of the upper limits of the p-values of the folds; see
        `pvalue_interval` of the tests. With ``"convolution"`` and ``"refit"`` the interval for the
        p-value.
    pvalue_is_bound : bool
        Whether the p-value is an upper bound, because the p-value of a fold is one: a guaranteed
        bound of the exact p-value, or the smallest possible one of the random labellings.
    fold_statistics : ndarray of shape (n_splits,)
        The metric on the held-out items of each fold.
    fold_pvalues, fold_log10_pvalues : ndarray of shape (n_splits,)
        P-value of each fold and its base-10 logarithm.
    metric : metric
        The metric.
    fold_tests : tuple of length n_splits
        The complete result of the test of each fold, with its null distribution.
    method : {"bonferroni", "twice_mean", "cauchy", "fisher", "convolution", "refit"}
        Method of the p-value.
    n_splits : int
        Number of folds.
    null_distribution : NullDistribution or None
        Null distribution of the mean over the folds; only for ``"convolution"``.
    permuted_statistics : ndarray of shape (n_resamples,) or None
        Means over the folds of the refits to permuted labels; only for ``"refit"``.
    interval_target : str
        The quantity that :meth:`confidence_interval` estimates.

    See Also
    --------
    cross_val_significance : The function that returns this result.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_rankinf import cross_val_significance
    >>> X, y = make_classification(300, weights=[0.9], random_state=0)
    >>> result = cross_val_significance(LogisticRegression(), X, y)
    >>> result.n_splits, [test.n_positives for test in result.fold_tests]
    (5, [7, 6, 6, 6, 6])
    >>> print(result.summary())
    Mean average precision over 5 folds was ... (chance ...), p = ... for better than chance
    (exact test of each fold, combined by Bonferroni's rule, one-sided; 31 positives among
    300 held-out items).
    """

    statistic: float
    pvalue: float
    log10_pvalue: float = field(repr=False)
    pvalue_low: float = field(repr=False)
    pvalue_high: float = field(repr=False)
    pvalue_is_bound: bool
    fold_statistics: Floats = field(repr=False)
    fold_pvalues: Floats = field(repr=False)
    fold_log10_pvalues: Floats = field(repr=False)
    fold_tests: tuple[Any, ...] = field(repr=False)
    method: str
    n_splits: int
    null_distribution: NullDistribution | None = field(default=None, repr=False)
    permuted_statistics: Floats | None = field(default=None, repr=False)
    _interval: FoldMean | str | None = None

    @property
    def metric(self) -> Metric:
        """The metric."""
        metric: Metric = self.fold_tests[0].metric
        return metric

    @property
    def interval_target(self) -> str:
        """The quantity that the interval of the mean over the folds estimates."""
        title = self.fold_tests[0].metric.title_in_text
        return (
            f"expected {title} of models trained on folds of this size, on held-out data of the "
            "size of a fold"
        )

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        r"""Confidence interval of the mean over the folds.

        The interval estimates the expected metric of models trained on training sets of this size,
        on held-out data of the size of a fold. It does not estimate the metric of the model that is
        fitted to all items, nor the metric on a larger list.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Nominal coverage of the interval.

        Returns
        -------
        interval : ConfidenceInterval
            The limits.

        Raises
        ------
        ValueError
            If folds hold out the same items or the same clusters, if a fold holds out fewer than
            two independent positives or negatives, if there is an `order`, or if the metric is the
            reciprocal rank, which depends on a single item of each fold.

        See Also
        --------
        metric_interval : Interval of one ranking.
        cross_val_comparison : Interval of the difference between two estimators.

        Notes
        -----
        The limits are :math:`\bar S \pm t \sqrt{\sum_k V_k} / K` with the influence variance
        :math:`V_k` of each fold, which takes clusters and strata into account. The quantile is that
        of Student's t with Satterthwaite's degrees of freedom, :math:`m_k - 1` for a fold with
        :math:`m_k` positives. The upper limit is at most the value of perfect rankings. The
        interval is conditional on the fitted models. Its coverage is slightly too
        low, most of all near chance (:ref:`coverage-folds`).

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn_rankinf import cross_val_significance
        >>> X, y = make_classification(300, weights=[0.9], flip_y=0.05, random_state=0)
        >>> result = cross_val_significance(LogisticRegression(), X, y)
        >>> low, high = result.confidence_interval()
        >>> low < result.statistic < high
        True
        >>> result.interval_target
        'expected average precision of models trained on folds of this size, on held-out data of the
        size of a fold'
        """
        confidence_level = check_confidence_level(confidence_level)
        if isinstance(self._interval, str):
            raise ValueError(self._interval)
        if self._interval is None:
            return ConfidenceInterval(math.nan, math.nan)
        return ConfidenceInterval(*self._interval.limits(confidence_level))

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return {"fold": list(range(self.n_splits)), **one_below_another(self.fold_tests)}

    def _sentences(self) -> Iterable[str]:
        tests = self.fold_tests
        is_bound = self.pvalue_is_bound
        exact = "upper bound from the exact null distribution" if is_bound else "exact test"
        ways = {"analytic": exact, "permutation": "permutation test"}
        if self.permuted_statistics is not None:
            how = f"{len(self.permuted_statistics)} refits to permuted labels"
        elif self.null_distribution is None:
            test = ways.get(tests[0].method, f"method {tests[0].method}")
            how = f"{test} of each fold, combined by {_METHODS[self.method].title}"
        else:
            null = self.null_distribution
            n_resamples, _ = resamples_of(null, self.statistic, "greater")
            how = f"{ways.get(null.method, f'method {null.method}')} of the mean"
            how += f" with {n_resamples} random labellings" if n_resamples else ""
        chance = float(np.mean([test.chance for test in tests]))
        return [
            f"Mean {tests[0].metric.title_in_text} over {self.n_splits} folds was "
            f"{format_value(self.statistic)} (chance {format_value(chance)}), "
            f"{state_pvalue(self.log10_pvalue, is_bound)} for better than "
            f"chance ({how}, "
            f"one-sided; {sum(test.n_positives for test in tests)} positives among "
            f"{sum(test.n_samples for test in tests)} held-out items)."
        ]


def cross_val_significance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
    cv: Any = None,
    metric: str | Metric = "average_precision",
    method: str = "auto",
    params: Mapping[str, Any] | None = None,
    n_resamples: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CrossValSignificanceResult:
    r"""Test by cross-validation whether an estimator ranks held-out items better than chance.

    The ranking of each fold's held-out items is tested against chance, and the p-values
    of the folds are combined into one.

    Parameters
    ----------
    estimator : estimator or dict
        The estimator to fit on each training set; or the result of
        :func:`sklearn.model_selection.cross_validate` for `X` and `y` with
        ``return_estimator=True`` and ``return_indices=True``, whose estimators are not refitted.
    X : array-like of shape (n_samples, n_features)
        The items.
    y : array-like of shape (n_samples,)
        The binary labels.
    strata : array-like of shape (n_samples,), optional
        Stratum of each item, any hashable values. Labels are permuted only within strata, in the
        tests of the folds and for the refits. Requires permutation.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each item, any hashable values. All items of a cluster must have the same
        label. The labels of whole clusters are permuted among clusters of the same size, in the
        tests of the folds and for the refits. Requires permutation.
    order : array-like of shape (n_samples,), optional
        Time or position of each item, for a series whose labels are autocorrelated. Labels are
        shifted along the held-out items of a fold, and along all items for the refits; each
        stratum is a separate series. Requires permutation and folds of consecutive items, such as
        those of :class:`sklearn.model_selection.TimeSeriesSplit`. With `clusters`, blocks of
        consecutive items, the blocks are permuted instead.
    cv : int, splitter or iterable, optional
        Cross-validation splitting strategy. An int, 5 by default, sets the number of shuffled folds
        with a fixed seed. They are stratified for classifiers and keep groups together if there are
        groups or `clusters`. Splitters and iterables of splits are used as in
        :func:`sklearn.model_selection.cross_validate`; rows may be numbers or boolean masks.
    metric : str, metric or scorer, default="average_precision"
        A metric, or its name with a cut-off after an @, as in ``"recall@50"``; see
        :func:`metric_test`. A scorer of :func:`make_significance_scorer` also says which label is
        positive, such as a string, which response of the estimator ranks, and by which method a
        fold is tested.
    method : str, default="auto"
        Method of the p-value. ``"bonferroni"``, K times the smallest of the K p-values of the folds
        and the choice of ``"auto"``, and ``"twice_mean"``, twice their mean, are valid under any
        dependence between the folds. ``"cauchy"`` is approximately valid, without a guarantee.
        ``"fisher"`` is for folds that train only on the past, and for a scorer that was fitted to
        other items. ``"convolution"`` uses the null distribution of the mean over the folds, for
        such a scorer. ``"refit"`` repeats the whole cross-validation for permuted labels.
    params : dict, optional
        Parameters for fitting and for metadata routing, as in
        :func:`sklearn.model_selection.cross_validate`. Groups of the items,
        ``params["groups"]``, go to the splitter and to an estimator that splits by groups, with and
        without metadata routing; by default they are the `clusters`, for the default splitter and
        for those that split by groups, such as
        :class:`sklearn.model_selection.StratifiedGroupKFold`.
    n_resamples : int, optional
        Number of random labellings of each fold that has no exact null distribution, by default
        9999, and of refits, by default 99.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings.
    n_jobs : int, optional
        Number of jobs for fits, predictions, tests and refits. The result does not depend on it.
    verbose : int, default=0
        Verbosity of joblib; larger values print more messages.

    Returns
    -------
    result : CrossValSignificanceResult
        The mean over the folds, the combined p-value, and the tests of the folds.

    Raises
    ------
    TypeError
        If the estimator has none of the response methods, or if an argument has the wrong type.
    ValueError
        If `method` is not one of those above, or its condition is not met; if a dict lacks the
        estimators or the indices, or is combined with arguments that only fitting needs; if there
        are no folds, or a fold has no rows, rows out of range, a held-out row twice, or rows that
        it both trains on and holds out, unless nothing is fitted; if labels, scores or options are
        invalid for the test of the metric; if the labels are constant within groups, and neither
        `clusters` nor `strata` are given; if labels differ
        within a cluster, or a cluster is in the training set and the held-out items of a fold; if
        with `order` a fold holds out items that are not consecutive; if there is nothing to
        permute; or if `cv` is an iterable of splits and ``method="refit"``.

    Warns
    -----
    UndefinedMetricWarning
        If a fold has only one class: its p-value is 1.
    UserWarning
        If folds are stratified without shuffling; if labels are more similar within groups, or
        within folds of consecutive rows, than random labels are; and if a fold has fewer different
        labellings than 1000 (with strata, clusters or blocks) or 100 (with shifts).

    See Also
    --------
    search_permutation_test : Test of a search that chooses among many estimators.
    make_significance_scorer : The same tests as scorers for scikit-learn's tools.
    sklearn.model_selection.permutation_test_score : Refits without clusters.

    Notes
    -----
    With p-values :math:`p_1, \dots, p_K` of the folds,

    * ``"bonferroni"`` is :math:`\min(1, K \min_k p_k)`;
    * ``"twice_mean"`` is :math:`\min(1, \frac{2}{K} \sum_k p_k)` [1]_;
    * ``"cauchy"`` is :math:`\frac12 - \frac1\pi \arctan \frac1K \sum_k \tan \pi (\frac12 - p_k)`
      [2]_, which is 1 if a fold has a p-value of 1;
    * ``"fisher"`` is the tail of the chi-squared distribution with 2K degrees of freedom at
      :math:`-2 \sum_k \ln p_k`. It needs folds with disjoint held-out items that are used to
      train neither their own estimator nor that of an earlier fold, such as those of
      :class:`sklearn.model_selection.TimeSeriesSplit`. Each p-value is then valid given the earlier
      ones;
    * ``"convolution"`` is :math:`P(\bar S \ge \bar s)` for the mean over the folds, given the ties,
      if labels are permuted within folds. It needs a
      :class:`sklearn.frozen.FrozenEstimator` and disjoint held-out items. The null distribution
      is exact, but for custom metrics, for which ``method="auto"`` selects permutation.

    All combinations are computed from logarithms, so that p-values below the smallest float can be
    combined too. P-values of folds that share training data are dependent: Fisher's and Stouffer's
    combinations of such p-values, and the null distribution of the mean of independent folds,
    reject a true null hypothesis too often.

    The p-value of a fold is valid if its labels are exchangeable given the split. This condition
    fails in three situations:

    * The split depends on the labels, and the order of the rows is related to the scores. Remedy:
      shuffle stratified folds.
    * Items belong together, such as several items of one patient, with similar labels and
      similar scores. Folds that keep groups together do not solve this problem. Remedy:
      `clusters`, which permutes the labels of whole clusters among the clusters that a fold holds
      out; no cluster may be in both the training set and the held-out items. If labels differ
      within groups, and some groups have more positives than others, `strata` permutes labels
      within groups.
    * Consecutive labels are similar, as in a time series, and so are consecutive scores. Remedy:
      `order`, which shifts the labels along the series.

    ``"refit"`` tests a different question: whether anything can be learned at all. It includes the
    variation of fitting. Labels are permuted over all items, with the same restrictions as in
    the tests of the folds, while groups, parameters and weights stay with their items; each
    refit makes new splits. Refits are valid for every estimator and every splitter, and their
    p-value is at least :math:`1 / (B + 1)` with B permutations. Means that differ by rounding
    count as equal.

    References
    ----------
    .. [1] Vovk, V., & Wang, R. (2020). Combining p-values via averaging. Biometrika, 107(4),
       791-808.
    .. [2] Liu, Y., & Xie, J. (2020). Cauchy combination test: a powerful test with analytic p-value
       calculation under arbitrary dependency structures. Journal of the American Statistical
       Association, 115(529), 393-402.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import StratifiedKFold
    >>> from sklearn_rankinf import cross_val_significance
    >>> X, y = make_classification(300, weights=[0.9], random_state=0)
    >>> cv = StratifiedKFold(5, shuffle=True, random_state=0)
    >>> result = cross_val_significance(LogisticRegression(), X, y, cv=cv)
    >>> print(f"{result.pvalue / min(result.fold_pvalues):.6f}")
    5.000000
    >>> options = {"method": "refit", "n_resamples": 19}
    >>> cross_val_significance(LogisticRegression(), X, y, cv=cv, **options).pvalue
    0.05
    """
    method = check_option(method, "method", ("auto", *_METHODS))
    way = _METHODS["bonferroni" if method == "auto" else method]
    refits = way.needs == "fits"
    if n_resamples is None:
        n_resamples = _N_REFITS if refits else _N_LABELLINGS
    seed = _as_seed(random_state)
    draws = Draws.read(n_resamples, seed, n_jobs, verbose)
    running: dict[str, Any] = {"n_jobs": draws.n_jobs, "verbose": draws.verbose}
    # All arguments are checked before anything is fitted.
    scoring = Scoring.of(metric, y)
    drawing: dict[str, Any] = {"n_resamples": draws.n_resamples, "random_state": seed}
    scorer = scoring.scorer("statistic", **drawing)
    X, y, groups, others = split_params(X, y, params)
    sample = scoring.labels(y, strata=strata, clusters=clusters, order=order)
    exchange = exchange_of(sample)
    _check_has_mean(way, sample.design, scoring.method)
    if isinstance(estimator, Mapping):
        check_nothing_to_fit({"cv": cv, "params": params, "method='refit'": refits or None})
        folds = folds_of(estimator, X, y, "the dict")
    else:
        check_groups(sample, groups)
        if refits:
            check_makes_splits(cv, "Refits")
            check_permutations(sample)
        if is_default(cv):
            if sample.design.positions is not None:
                raise ValueError(
                    f"cv={cv!r} shuffles, but with order the folds must be in order: pass a "
                    "splitter such as TimeSeriesSplit, with sorted rows, or one that holds out "
                    "whole series."
                )
        groups = groups_for(cv, groups, sample.design)
        fitting = with_groups(estimator, splitter(cv, y, groups, [estimator]), groups, others)
        folds = fit_folds(estimator, X, y, **fitting, **running)
    _check_independence(sample, folds, way)
    check_folds(sample, folds)
    scores = held_out_scores(folds, X, y, scoring.scores, draws.n_jobs)
    held_out = [held_out_sample(sample, *one) for one in zip(folds, scores, strict=True)]
    tested = {"method": scoring.method, **drawing}
    tests = _test(held_out, scoring.metric, tested, draws.n_jobs)
    statistics = _of_folds(tests, "statistic")
    found: dict[str, Any]
    if refits:
        mean = partial(_mean_over_folds, estimator=estimator, X=X, scoring=scorer, **fitting)
        drawn = among_permutations(statistics.mean(), mean, y, exchange, draws)
        low, high = drawn.pvalue_interval()
        found = {
            "pvalue": drawn.pvalue,
            "log10_pvalue": log10_of(drawn.pvalue),
            "pvalue_low": low,
            "pvalue_high": high,
            "pvalue_is_bound": is_smallest(drawn.pvalue, draws.n_resamples),
            "permuted_statistics": drawn.permuted_statistics,
        }
    elif way.combine is None:
        nulls = [test.null_distribution for test in tests]
        null = mean_of(scoring.metric, nulls, n_jobs=draws.n_jobs, **tested)
        found = pvalue_fields(null, float(statistics.mean()), "greater")
        del found["pvalue_relative_error"]
        found["null_distribution"] = null
    else:
        found = _combined_pvalues(tests, way.name)
    return CrossValSignificanceResult(
        statistic=float(statistics.mean()),
        **found,
        fold_statistics=statistics,
        fold_pvalues=_of_folds(tests, "pvalue"),
        fold_log10_pvalues=_of_folds(tests, "log10_pvalue"),
        fold_tests=tuple(tests),
        method=way.name,
        n_splits=len(tests),
        _interval=_estimated(scoring.metric, sample, folds, held_out),
    )


def _check_has_mean(way: _Method, design: Design, method: str) -> None:
    """Raise an error if folds need random labellings, or their mean a null distribution."""
    if design.restrictions:
        check_no_closed_form(method, RESTRICTED)
    if way.needs != "frozen":
        return
    if method not in ("auto", *_CONVOLVED):
        raise ValueError(
            f"method={method!r} of the scorer has no null distribution of the mean over folds, "
            "which method='convolution' needs: make the scorer with method='auto' or one of "
            f"{', '.join(map(repr, _CONVOLVED))}, or pass another method."
        )
    if design.restrictions:
        raise ValueError(
            "method='convolution' has no null distribution of the mean over folds with "
            f"{design.named}: pass method='fisher', which is valid for a FrozenEstimator."
        )


def _as_seed(random_state: Any) -> int:
    """Return an int seed that scikit-learn accepts; an int is returned unchanged."""
    if isinstance(random_state, int | np.integer):
        return check_integer(random_state, "random_state", 0)
    return int(as_seed_sequence(random_state).generate_state(1)[0])


def _mean_over_folds(y: Any, permuted: bool, *, estimator: Any, X: Any, **options: Any) -> float:
    with warnings.catch_warnings():
        # The tests of the folds have already warned about folds with one class.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        scores = cross_val_score(estimator, X, y, error_score="raise", **options)
    return float(scores.mean())


def _check_independence(sample: Sample, folds: Sequence[Fold], way: _Method) -> None:
    """Raise an error if a method needs independent folds and they are dependent."""
    if way.needs not in ("past", "frozen"):
        return
    check_are_different(sample, folds, f"method={way.name!r}", _ANOTHER_CV)
    if all(isinstance(fold.estimator, FrozenEstimator) for fold in folds):
        return
    if way.needs == "frozen":
        raise ValueError(
            "method='convolution' needs independent folds, but the folds of a "
            f"{type(folds[0].estimator).__name__} that is fitted in each fold are dependent: pass "
            "a FrozenEstimator that was fitted to other items, or method='bonferroni'."
        )
    held_out_in = np.full(1 + max(max(fold.train.max(), fold.test.max()) for fold in folds), -1)
    for number, fold in enumerate(folds):
        held_out_in[fold.test] = number
    for number, fold in enumerate(folds):
        if np.any(held_out_in[fold.train] >= number):
            raise ValueError(
                "method='fisher' needs folds that train only on the past, such as those of "
                f"TimeSeriesSplit, but fold {number} trains on items that are held out in a "
                f"later fold: use {_ANOTHER_CV}."
            )


def _estimated(
    metric: Metric, sample: Sample, folds: Sequence[Fold], held_out: Sequence[Sample]
) -> FoldMean | str:
    """Mean of the metric over folds, without their items, or why it has no interval."""
    if not metric.has_influence:
        return f"{without_errors(metric)}: use another metric for an interval."
    if sample.design.positions is not None:
        return (
            "The interval of the mean over folds needs independent items, but consecutive "
            "items of a series are dependent: there is no interval with order."
        )
    try:
        remedy = "another cv, such as StratifiedKFold, or StratifiedGroupKFold for clusters"
        check_are_different(sample, folds, "The interval of the mean over folds", remedy)
        estimates = [Estimate.of_sample(metric, fold) for fold in held_out]
        parts = ((one.value, one.variance, (one.n_positives, one.n_negatives)) for one in estimates)
        maximum = math.fsum(one.maximum for one in estimates) / len(estimates)
        return FoldMean.of_models(parts, maximum)
    except ValueError as error:
        return str(error)


def _test(
    held_out: Sequence[Sample],
    metric: Metric,
    options: Mapping[str, Any],
    n_jobs: int | None,
) -> list[Any]:
    """Test every fold, with a single warning for all folds that have only one class."""
    of_one_class = [number for number, fold in enumerate(held_out) if not fold.has_both]
    if of_one_class:
        warn_caller(
            f"{len(of_one_class)} of {len(held_out)} folds have only one class "
            f"({', '.join(map(str, of_one_class))}), so their p-value is set to 1: use stratified "
            "folds, which spread the positives evenly.",
            UndefinedMetricWarning,
        )
    # A fold of one class has one value, whatever restricts the permutation of its labels.
    free = [
        fold if fold.has_both else replace(fold, design=fold.design.of_one_value())
        for fold in held_out
    ]
    test = partial(significance_of, metric, n_jobs=None, **options)
    return in_parallel(test, ((fold,) for fold in free), n_jobs)


# Combinations.


def _of_folds(tests: Sequence[Any], name: str) -> NDArray[Any]:
    return np.array([getattr(test, name) for test in tests])


def _combined_pvalues(tests: Sequence[Any], method: str) -> dict[str, Any]:
    """Combine the p-values of the folds, and the limits of their intervals."""
    logs = _of_folds(tests, "log10_pvalue") * math.log(10.0)
    with np.errstate(divide="ignore"):
        log_low, log_high = (
            np.log(_of_folds(tests, name)) for name in ("pvalue_low", "pvalue_high")
        )
    log_pvalue = combined_log_pvalue(logs, method)
    return {
        "pvalue": math.exp(log_pvalue),
        "log10_pvalue": as_log10(log_pvalue),
        "pvalue_low": math.exp(combined_log_pvalue(np.minimum(log_low, logs), method)),
        # A limit that underflows is not below the p-value.
        "pvalue_high": math.exp(combined_log_pvalue(np.maximum(log_high, logs), method)),
        "pvalue_is_bound": bool(_of_folds(tests, "pvalue_is_bound").any()),
    }


def combined_log_pvalue(log_pvalues: Floats, method: str) -> float:
    """Natural logarithm of the combined p-value of the folds; see `cross_val_significance`."""
    combine = _METHODS[method].combine
    assert combine is not None
    if log_pvalues.min() == -math.inf:
        return -math.inf  # only for approximations: no exact p-value of a ranking is 0
    return min(0.0, combine(log_pvalues))


def _bonferroni(log_pvalues: Floats) -> float:
    return math.log(log_pvalues.size) + float(log_pvalues.min())


def _twice_mean(log_pvalues: Floats) -> float:
    return math.log(2.0 / log_pvalues.size) + float(logsumexp(log_pvalues))


def _fisher(log_pvalues: Floats) -> float:
    # The tail of the chi-squared distribution with an even number of degrees of freedom.
    total, powers = -math.fsum(log_pvalues), np.arange(log_pvalues.size)
    return float(logsumexp(xlogy(powers, total) - gammaln(powers + 1.0))) - total


def _cauchy(log_pvalues: Floats) -> float:
    pvalues = np.exp(log_pvalues)
    if np.any(pvalues == 1.0):
        return 0.0  # the tangent is minus infinity
    if log_pvalues.min() < _SMALL:
        # Only the largest tangents, each 1 / (pi p), contribute to the sum.
        return math.log(log_pvalues.size) - float(logsumexp(-log_pvalues))
    # tan(pi / 2 - x) = 1 / tan(x), and pi / 2 - arctan(t) is the angle of (t, 1).
    return math.log(math.atan2(1.0, np.mean(1.0 / np.tan(math.pi * pvalues))) / math.pi)


@dataclass(frozen=True)
class _Method:
    """A method of the p-value of all folds: what it is called, and what it needs.

    A method combines natural logarithms of the p-values of the folds, or has no `combine`. It needs
    nothing, folds that train on the past, a frozen estimator, or an estimator to fit again.
    """

    name: str
    title: str
    combine: Callable[[Floats], float] | None = None
    needs: str = ""
    reference: str = ""


_METHODS = {
    one.name: one
    for one in (
        _Method("bonferroni", "Bonferroni's rule", _bonferroni),
        _Method(
            "twice_mean",
            "twice the mean of the p-values",
            _twice_mean,
            reference="Vovk and Wang 2020",
        ),
        _Method("cauchy", "the Cauchy combination", _cauchy, reference="Liu and Xie 2020"),
        _Method("fisher", "Fisher's method", _fisher, needs="past"),
        _Method("convolution", "the null distribution of the mean", needs="frozen"),
        _Method("refit", "refits to permuted labels", needs="fits"),
    )
}
