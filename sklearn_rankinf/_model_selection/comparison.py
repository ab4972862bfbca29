"""Comparison of two estimators by cross-validation: fitted models and algorithms."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sklearn_rankinf._estimation import (
    COMPARISONS,
    Difference,
    DifferenceResult,
    metric_comparison_test,
)
from sklearn_rankinf._metrics import without_errors
from sklearn_rankinf._model_selection.folds import (
    FoldMean,
    check_are_different,
    check_clusters_are_whole,
    check_nothing_to_fit,
    fit_folds,
    groups_for,
    held_out_sample,
    held_out_scores,
    split_params,
    splitter,
    with_groups,
)
from sklearn_rankinf._model_selection.scorers import Scoring
from sklearn_rankinf._permutation import doubled_midranks
from sklearn_rankinf._ranking import (
    Fold,
    Sample,
    check_integer,
    check_n_jobs,
    check_option,
    check_verbose,
    folds_of,
)
from sklearn_rankinf._results import Result, format_value
from sklearn_rankinf._statistics import Floats, Integers, Metric

Folds = Sequence[Fold]


@dataclass(frozen=True)
class _Method:
    """A comparison of fitted models: what is pooled over folds, and how it is compared.

    Ranks within folds or scores are pooled, or differences are averaged; without a quantity there
    is no comparison of the models.
    """

    quantity: str
    compared_by: str = ""

    @property
    def is_mean(self) -> bool:
        """Whether differences of folds are averaged."""
        return self.quantity == "differences"


_METHODS = {
    "swap": _Method("ranks within folds", "swap"),
    "influence": _Method("ranks within folds", "influence"),
    "swap_pooled_scores": _Method("scores", "swap"),
    "influence_pooled_scores": _Method("scores", "influence"),
    "mean": _Method("differences", "influence"),
    "algorithms": _Method(""),
}
_SIZE_OF_CORRECTED_T = (
    "approximate: conservative with 5 splits in simulations, and not always with 15"
)


# Results.


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(DifferenceResult):
    """Comparison of the fitted models of two estimators.

    Attributes
    ----------
    difference : float
        Value of the first estimator minus that of the second.
    standard_error : float
        Standard error of the difference, given the fitted models; nan for a metric without one.
    pvalue, log10_pvalue : float
        Two-sided p-value and its base-10 logarithm.
    method : {"swap", "influence"}
        The method that was used.
    df : float or None
        Degrees of freedom of the mean over folds; None for pooled rankings.
    target : str
        The quantity that `difference` estimates.
    pvalue_is_bound : bool
        Whether the p-value is the smallest possible one for the number of random swaps.
    """

    difference: float
    standard_error: float = field(repr=False)
    pvalue: float
    log10_pvalue: float = field(repr=False)
    method: str
    df: float | None = field(repr=False)
    target: str = field(repr=False)
    _interval: Callable[[float], Iterable[float]]
    pvalue_is_bound: bool = False

    def _sentences(self) -> Iterable[str]:
        yield f"Models: {self._stated('two-sided', COMPARISONS[self.method].title)}."


@dataclass(frozen=True, eq=False, repr=False)
class AlgorithmComparison(DifferenceResult):
    """Comparison of two algorithms by the corrected t test of Nadeau and Bengio.

    Attributes
    ----------
    difference : float
        Mean difference over the folds, first estimator minus second.
    standard_error : float
        Standard error of the difference, corrected for overlapping training sets.
    t : float
        The difference divided by its standard error; nan if it is the same in all folds.
    df : int
        Degrees of freedom, the number of folds minus 1.
    pvalue, log10_pvalue : float
        Two-sided p-value and its base-10 logarithm.
    target : str
        The quantity that `difference` estimates.
    note : str
        Measured size of the test.
    """

    difference: float
    standard_error: float = field(repr=False)
    t: float
    df: int
    pvalue: float
    log10_pvalue: float = field(repr=False)
    target: str = field(repr=False)
    _interval: Callable[[float], Iterable[float]]
    note: str = field(default=_SIZE_OF_CORRECTED_T, repr=False)

    def _sentences(self) -> Iterable[str]:
        yield f"Algorithms: {self._stated('two-sided', f'the corrected t test, {self.note}')}."


@dataclass(frozen=True, eq=False, repr=False)
class CrossValComparisonResult(Result):
    """Result of :func:`cross_val_comparison`.

    Attributes
    ----------
    metric : metric
        The metric.
    statistic_a, statistic_b : float
        The metric of each estimator for the pooled rankings, or its mean over the folds.
    difference : float
        The first value minus the second.
    models : ModelComparison or None
        Comparison of the models fitted in the folds; None with ``method="algorithms"``.
    algorithms : AlgorithmComparison
        Comparison of the algorithms, for any training set of this size.
    fold_statistics_a, fold_statistics_b : ndarray of shape (n_splits,)
        The metric on the held-out items of each fold.
    fold_n_samples, fold_n_positives : ndarray of int of shape (n_splits,)
        Number of held-out items and of held-out positives of each fold.
    n_splits : int
        Number of folds.
    method : str
        Method of the comparison of the models.

    See Also
    --------
    cross_val_comparison : The function that returns this result.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_rankinf import cross_val_comparison
    >>> X, y = make_classification(300, weights=[0.85], random_state=0)
    >>> result = cross_val_comparison(LogisticRegression(), GaussianNB(), X, y, method="mean")
    >>> result.n_splits, sorted(result.to_dict())[:2]
    (5, ['algorithms', 'difference'])
    """

    metric: Metric
    statistic_a: float
    statistic_b: float
    difference: float
    models: ModelComparison | None
    algorithms: AlgorithmComparison
    fold_statistics_a: Floats = field(repr=False)
    fold_statistics_b: Floats = field(repr=False)
    fold_n_samples: Integers = field(repr=False)
    fold_n_positives: Integers = field(repr=False)
    n_splits: int
    method: str

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        columns = {
            "n_samples": self.fold_n_samples,
            "n_positives": self.fold_n_positives,
            "statistic_a": self.fold_statistics_a,
            "statistic_b": self.fold_statistics_b,
            "difference": self.fold_statistics_a - self.fold_statistics_b,
        }
        folds = {"fold": list(range(self.n_splits))}
        return folds | {name: values.tolist() for name, values in columns.items()}

    def _sentences(self) -> Iterable[str]:
        title = self.metric.title_in_text
        if self.models is not None:
            taken = "over folds" if self.method == "mean" else "of pooled held-out items"
            yield (
                f"Models: {title} {taken} was {format_value(self.statistic_a)} and "
                f"{format_value(self.statistic_b)} "
                f"({self.models._stated('two-sided', COMPARISONS[self.models.method].title)}). "
                f"This concerns the models fitted in these {self.n_splits} folds."
            )
        way = f"the corrected t test, {self.algorithms.note}"
        yield (
            f"Algorithms: mean {title} over {self.n_splits} folds "
            f"({self.algorithms._stated('two-sided', way)})."
        )


# The comparison.


def cross_val_comparison(
    estimator_a: Any,
    estimator_b: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = None,
    clusters: Iterable[Hashable] | None = None,
    metric: str | Metric = "average_precision",
    method: str = "auto",
    params: Mapping[str, Any] | None = None,
    n_resamples: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CrossValComparisonResult:
    r"""Compare two estimators by cross-validation: their fitted models and their algorithms.

    Both estimators are fitted to the same training sets. The result has two parts: ``models`` shows
    whether the models fitted in the folds rank held-out items differently, and ``algorithms``
    whether the algorithms would also differ if they were trained on other items. The second part
    is less certain.

    Parameters
    ----------
    estimator_a, estimator_b : estimator or dict
        The estimators to fit on each training set; or results of
        :func:`sklearn.model_selection.cross_validate` for `X` and `y` with
        ``return_estimator=True`` and ``return_indices=True``. If only one is such a dict, the other
        estimator is fitted on its splits; two dicts must have the same splits.
    X : array-like of shape (n_samples, n_features)
        The items.
    y : array-like of shape (n_samples,)
        The binary labels.
    cv : int, splitter or iterable, optional
        Cross-validation splitting strategy. An int, 5 by default, sets the number of shuffled folds
        with a fixed seed. They are stratified for classifiers and keep groups together if there are
        groups or `clusters`. Rows may be numbers or boolean masks. Splits are
        generated once, so that random splits are the same for both estimators.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each item, any hashable values. In the comparison of the models only items of
        different clusters are independent. No fold may train on a cluster that it holds out.
    metric : str, metric or scorer, default="average_precision"
        A metric, or its name with a cut-off after an @, as in ``"recall@50"``; see
        :func:`metric_test`. A scorer of :func:`make_significance_scorer` also says which label is
        positive, such as a string, and which response of the estimators ranks.
    method : str, default="auto"
        Method of the comparison of the models. ``"swap"``, the choice of ``"auto"``, and
        ``"influence"`` compare two rankings of all held-out items by their ranks in their folds,
        ``"swap_pooled_scores"`` and ``"influence_pooled_scores"`` by their scores, if scores are on
        the same scale in all folds; see :func:`metric_comparison_test`. ``"mean"`` compares means
        over the folds. All need folds that hold out different items. ``"algorithms"`` omits the
        comparison of the models, for repeated or random splits.
    params : dict, optional
        Parameters for fitting both estimators, as in
        :func:`sklearn.model_selection.cross_validate`. Groups of the items,
        ``params["groups"]``, go to the splitter and to an estimator that splits by groups, with and
        without metadata routing; by default they are the `clusters`, for the default splitter and
        for those that split by groups, such as
        :class:`sklearn.model_selection.StratifiedGroupKFold`.
    n_resamples : int, default=9999
        Number of random swaps.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random swaps.
    n_jobs : int, optional
        Number of jobs for fits, predictions and swaps. The result does not depend on it.
    verbose : int, default=0
        Verbosity of joblib; larger values print more messages.

    Returns
    -------
    result : CrossValComparisonResult
        Both values, the difference, ``result.models`` and ``result.algorithms``, and the folds.

    Raises
    ------
    TypeError
        If an estimator has none of the response methods, or if an argument has the wrong type.
    ValueError
        If `method` is not one of those above; if folds hold out the same items and models are
        compared, or for the mean the same clusters; if there is only one fold, or
        a fold holds out only one class, or for the mean a single positive or negative; if
        reciprocal ranks are averaged; if two dicts have different splits, if a dict lacks the
        estimators or the indices, or is combined with arguments that only splitting or fitting
        needs; if a fold has no rows, rows out of range, a held-out row twice, or rows that it both
        trains on and holds out, unless nothing is fitted; or if a cluster is in the training set
        and the held-out items of a fold.

    See Also
    --------
    metric_comparison_test : Comparison of two rankings of the same items.
    cross_val_significance : Whether one estimator is better than chance.
    metric_multiple_comparison_test : Comparison of more than two rankings.

    Notes
    -----
    **Models.** Given the fitted models, held-out items are independent of each other and of the
    models that rank them.

    ``"mean"`` uses the mean :math:`\bar d` over K folds of the differences :math:`d_k`.
    Its standard error is :math:`\sqrt{\sum_k V_k} / K` with the influence variance :math:`V_k` of
    the difference in fold k. The p-value is that of Student's t distribution with Satterthwaite's
    degrees of freedom, from :math:`m_k - 1` in a fold with :math:`m_k` positives.

    ``"swap"`` and ``"influence"`` make one ranking of all held-out items, and compare two of them
    by :func:`metric_comparison_test`. The scores of different folds come from different models,
    which may have different scales. Therefore an item at rank r of n in its fold, with
    mean ranks for equal scores, has the score :math:`1 - (r - 1/2)/n`. Increasing transformations
    of the scores of a fold do not change the result, and items at the same place in their folds
    are tied. The folds are treated as samples of one population, whose prevalences differ only by
    chance, as with stratified folds. A fold with more positives than others, for instance if whole
    groups are held out, is treated as if it had the same prevalence. The methods of
    pooled scores are appropriate for scores that have the same meaning in every fold, such as
    calibrated probabilities. Otherwise the differences between the scales of the folds make the
    pooled metric lower than that of the models, and the estimator with the less stable scale
    appears worse.

    Both comparisons are conditional on the fitted models, and models of equal algorithms differ
    slightly because of random variation of their training sets. Near
    chance the swap test, which tests whether ranks are exchangeable, is most sensitive to such
    differences. When the scores of one estimator shift between folds as much as they vary within
    folds, the comparisons of the mean and of pooled ranks keep their level, and that of pooled
    scores does not. The measured rates are in :ref:`coverage-folds`.

    **Algorithms.** The training sets of folds overlap, so that the differences :math:`d_k` are
    dependent, and the usual t test rejects a true null hypothesis far too often. Nadeau
    and Bengio [1]_ correct its standard error:

    .. math:: t = \bar d \Big/ \sqrt{\Big(\frac1K + \frac{n_2}{n_1}\Big) s^2},

    with the variance :math:`s^2` of the :math:`d_k`, the mean ratio :math:`n_2 / n_1` of held-out
    to training items, and K - 1 degrees of freedom. The correction is a rule of thumb, and no
    estimator of that variance is unbiased: the test is approximate. In
    simulations it was conservative with 5 splits, and not always with 15.

    References
    ----------
    .. [1] Nadeau, C., & Bengio, Y. (2003). Inference for the generalization error. Machine
       Learning, 52(3), 239-281.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_rankinf import cross_val_comparison
    >>> X, y = make_classification(
    ...     400, weights=[0.85], n_clusters_per_class=3, n_informative=5, random_state=1
    ... )
    >>> forest = RandomForestClassifier(50, random_state=0)
    >>> result = cross_val_comparison(forest, LogisticRegression(), X, y, n_resamples=999)
    >>> result.models.pvalue < 0.05, result.algorithms.df
    (True, 4)
    >>> low, high = result.models.confidence_interval()
    >>> low < result.difference < high
    True
    """
    scoring = Scoring.of(metric, y)
    chosen = scoring.metric
    method = check_option(method, "method", ("auto", *_METHODS))
    method = "swap" if method == "auto" else method
    way = _METHODS[method]
    if way.compared_by == "influence" and not chosen.has_influence:
        raise ValueError(f"{without_errors(chosen)}: use method='swap', or another metric.")
    n_resamples = check_integer(n_resamples, "n_resamples", 1)
    n_jobs, verbose = check_n_jobs(n_jobs), check_verbose(verbose)
    X, y, groups, others = split_params(X, y, params)
    labels = scoring.labels(y, clusters=clusters)
    running: dict[str, Any] = {"n_jobs": n_jobs, "verbose": verbose}
    estimators, groups = (estimator_a, estimator_b), groups_for(cv, groups, labels.design)
    planned = _planned_folds(estimators, X, y, groups, {"cv": cv, "params": params})
    _check_folds(planned, labels, method)
    fitted = []
    for one, folds in zip(estimators, planned, strict=True):
        if not isinstance(one, Mapping):
            fitting = with_groups(one, [(fold.train, fold.test) for fold in folds], groups, others)
            folds = fit_folds(one, X, y, **fitting, **running)
        fitted += folds
    folds, n_splits = planned[0], len(planned[0])
    scores = held_out_scores(fitted, X, y, scoring.scores, n_jobs)
    pairs = []
    for fold, a, b in zip(folds, scores[:n_splits], scores[n_splits:], strict=True):
        rankers = {"estimator_a": a, "estimator_b": b}
        pairs.append(Difference(chosen, held_out_sample(labels, fold, rankers, "rankers")))
    values = np.array([pair.values for pair in pairs])
    differences, title = values[:, 0] - values[:, 1], chosen.title_in_text
    models, statistics = None, (float(values[:, 0].mean()), float(values[:, 1].mean()))
    if way.is_mean:
        models = _compare_means(pairs)
    elif way.quantity:
        drawing = {"n_resamples": n_resamples, "random_state": random_state, **running}
        statistics, models = _compare_pooled(pairs, chosen, labels, folds, way, drawing)
    ratio = float(np.mean([fold.test.size / fold.train.size for fold in folds]))
    mean = FoldMean.of_algorithms(differences, ratio)
    algorithms = AlgorithmComparison(
        t=mean.mean / mean.standard_error if mean.standard_error else math.nan,
        target=(
            f"expected difference in {title} of models that the algorithms fit to other training "
            "sets of the same size"
        ),
        **mean.comparison(),
    )
    return CrossValComparisonResult(
        metric=chosen,
        statistic_a=statistics[0],
        statistic_b=statistics[1],
        difference=algorithms.difference if models is None else models.difference,
        models=models,
        algorithms=algorithms,
        fold_statistics_a=values[:, 0],
        fold_statistics_b=values[:, 1],
        fold_n_samples=np.array([pair.sample.n_items for pair in pairs]),
        fold_n_positives=np.array([pair.sample.n_positives for pair in pairs]),
        n_splits=n_splits,
        method=method,
    )


# Folds of both.


def _planned_folds(
    estimators: tuple[Any, Any],
    X: Any,
    y: Any,
    groups: Any,
    given: Mapping[str, Any],
) -> list[list[Fold]]:
    """Folds of both estimators on the same splits, fitted unless a dict is given."""
    fitted = [folds_of(one, X, y, "the dict") for one in estimators if isinstance(one, Mapping)]
    if len(fitted) == 2:
        check_nothing_to_fit(given)
        _check_same_splits(*fitted)
        return fitted
    if fitted:
        if given["cv"] is not None:
            raise ValueError(
                f"cv={given['cv']!r} cannot be combined with a dict of cross_validate, which has "
                "its own splits: leave cv out, or pass the estimator instead of the dict."
            )
        splits = [(fold.train, fold.test) for fold in fitted[0]]
    else:
        splits = list(splitter(given["cv"], y, groups, estimators).split(X, y, groups))
    return [
        fitted[0] if isinstance(one, Mapping) else [Fold(one, *split) for split in splits]
        for one in estimators
    ]


def _check_same_splits(folds_a: Folds, folds_b: Folds) -> None:
    """Raise an error if the estimators have different training or held-out items."""
    same = len(folds_a) == len(folds_b) and all(
        np.array_equal(a.train, b.train) and np.array_equal(a.test, b.test)
        for a, b in zip(folds_a, folds_b, strict=False)
    )
    if not same:
        raise ValueError(
            f"The two dicts have different splits, of {len(folds_a)} and {len(folds_b)} folds: "
            "call cross_validate for both with the same cv and an int random_state."
        )


def _check_folds(planned: Sequence[Folds], labels: Sample, method: str) -> None:
    """Raise an error for folds that cannot be compared."""
    folds, way = planned[0], _METHODS[method]
    if len(folds) < 2:
        raise ValueError("A comparison over folds needs at least 2 folds; got 1: use another cv.")
    for number, fold in enumerate(folds):
        n_positives = int(labels.positive[fold.test].sum())
        if n_positives in (0, fold.test.size):
            raise ValueError(
                f"Fold {number} holds out {n_positives} positives among {fold.test.size} items, "
                "so its metric is the same for all rankings: use fewer folds, or stratified "
                "ones."
            )
    for own in planned:
        check_clusters_are_whole(labels, own)
    if way.quantity:
        remedy = "another cv, or method='algorithms', which compares the algorithms only"
        check_are_different(labels, folds, f"method={method!r}", remedy, way.is_mean)


def ranks_in_fold(places: Integers) -> Floats:
    """Rank of each item as a fraction of its fold, between 0 for the last and 1 for the first."""
    twice = 2 * places.size
    # A single division of integers gives equal fractions equal floats.
    return np.asarray((twice + 1 - doubled_midranks(places)) / twice)


# Models.


def _compare_means(pairs: Sequence[Difference]) -> ModelComparison:
    """Compare the means over folds that hold out different items."""
    mean = FoldMean.of_models(
        (pair.difference, pair.standard_error**2, pair.sample.n_independent) for pair in pairs
    )
    target = (
        f"mean over the folds of the difference in expected {pairs[0].metric.title_in_text} of "
        "these fitted models, on held-out data of the size of a fold"
    )
    return ModelComparison(method="influence", target=target, **mean.comparison())


def _compare_pooled(
    pairs: Sequence[Difference],
    metric: Metric,
    labels: Sample,
    folds: Folds,
    way: _Method,
    drawing: dict[str, Any],
) -> tuple[tuple[float, float], ModelComparison]:
    """Compare two rankings of the held-out items of all folds."""
    rows = np.concatenate([fold.test for fold in folds])
    scores = [
        np.concatenate(
            [
                pair.sample.scores[ranker]
                if way.quantity == "scores"
                else ranks_in_fold(pair.sample.places(ranker))
                for pair in pairs
            ]
        )
        for ranker in (0, 1)
    ]
    found = metric_comparison_test(
        labels.positive[rows],
        {"a": scores[0], "b": scores[1]},
        metric=metric,
        pos_label=True,
        method=way.compared_by,
        clusters=labels.design.of_rows(rows).clusters,
        **drawing,
    )
    target = (
        f"difference in {metric.title_in_text} of these fitted models, by their pooled "
        f"{way.quantity}"
    )
    names = "difference standard_error pvalue log10_pvalue method pvalue_is_bound".split()
    fields = {name: getattr(found, name) for name in names}
    models = ModelComparison(df=None, target=target, _interval=found.confidence_interval, **fields)
    return (found.statistic_a, found.statistic_b), models
