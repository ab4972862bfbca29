"""Significance of whole searches, by searches under permuted labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from sklearn_rankinf._model_selection.folds import (
    check_groups,
    check_makes_splits,
    groups_of_clusters,
    permuted,
    sample_of_labels,
    split_params,
    splits_by_groups,
)
from sklearn_rankinf._permutation import AnyExchange, Draws, check_permutations, exchange_of
from sklearn_rankinf._results import format_value, state_drawn_pvalue
from sklearn_rankinf._significance import DrawnResult
from sklearn_rankinf._statistics import Floats

# Relative difference up to which two scores count as equal.
_SAME = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class SearchPermutationTestResult(DrawnResult):
    """Result of :func:`search_permutation_test`.

    Attributes
    ----------
    statistic : float
        The best score of the search.
    pvalue : float
        Proportion of searches, the observed one included, with a best score at least as large as
        the observed one.
    permuted_statistics : ndarray of shape (n_resamples,)
        Best scores of the searches under permuted labels.
    n_resamples : int
        Number of permutations.

    See Also
    --------
    search_permutation_test : The test that returns this result.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf._model_selection.search import SearchPermutationTestResult
    >>> result = SearchPermutationTestResult(0.5, 0.1, np.linspace(0.1, 0.4, 9), 9)
    >>> [round(end, 4) for end in result.pvalue_interval()]
    [0.0, 0.3363]
    >>> print(result.summary())
    The best score of the search was 0.5 (mean under permuted labels 0.25), p ≤ 0.1000 for better
    than chance (permutation test that repeats the whole search with 9 random
    labellings, one-sided).
    """

    statistic: float
    pvalue: float
    permuted_statistics: Floats = field(repr=False)
    n_resamples: int

    def _sentences(self) -> Iterable[str]:
        return [
            f"The best score of the search was {format_value(self.statistic)} (mean under permuted "
            f"labels {format_value(float(np.mean(self.permuted_statistics)))}), "
            f"{state_drawn_pvalue(self.pvalue, self.n_resamples)} for better than "
            "chance (permutation test that repeats the whole search with "
            f"{self.n_resamples} random labellings, one-sided)."
        ]


def search_permutation_test(
    search: Any,
    X: Any,
    y: Any,
    *,
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
    params: Mapping[str, Any] | None = None,
    n_resamples: int = 99,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> SearchPermutationTestResult:
    r"""Test the best score of a search by running the search under permuted labels.

    The best score of many parameter settings is too optimistic, because the largest score tends to
    have a favourable random error (winner's curse). This test repeats the whole search, with the
    choice of a winner, for each permutation of the labels.

    Parameters
    ----------
    search : estimator
        An unfitted search of scikit-learn, such as :class:`sklearn.model_selection.GridSearchCV`.
        It is not changed.
    X : array-like of shape (n_samples, n_features)
        The items.
    y : array-like of shape (n_samples,)
        The labels.
    strata : array-like of shape (n_samples,), optional
        Stratum of each item, any hashable values. Labels are permuted only within strata.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each item, any hashable values. All items of a cluster must have the same
        label. The labels of whole clusters are permuted, among clusters of the same size.
    order : array-like of shape (n_samples,), optional
        Time or position of each item, for a series whose labels are autocorrelated. Labels are
        shifted along the series; each stratum is a separate series. With `clusters`, blocks of
        consecutive items, the blocks are permuted instead.
    params : dict, optional
        Parameters for the `fit` method of the search, for fitting its parameter settings and for
        metadata routing. Groups of the items, ``params["groups"]``, go to the splitter with and
        without metadata routing; by default they are the `clusters`, if the splitter of the search
        splits by groups.
    n_resamples : int, default=99
        Number of permutations. The p-value is never below ``1 / (n_resamples + 1)``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the permutations.
    n_jobs : int, optional
        Number of searches that run in parallel, each on a single job. By default the searches run
        one after the other, with the `n_jobs` of the search. The result does not depend on it.
    verbose : int, default=0
        Verbosity of joblib; larger values print more messages.

    Returns
    -------
    result : SearchPermutationTestResult
        The best score, its p-value, and the best scores under permuted labels.

    Raises
    ------
    TypeError
        If `search` is not a search over parameter settings, or an argument has the wrong type.
    ValueError
        If the search has no single best score, or if this score is nan or infinite; if its `cv` is
        an iterable of splits; if the labels are constant within groups, and neither `clusters`
        nor `strata` are given; if labels differ within a cluster; or if there is nothing to
        permute.

    Warns
    -----
    UserWarning
        If labels are more similar within groups than random labels are, and if only a few
        different labellings are possible.

    See Also
    --------
    cross_val_significance : Test of one estimator.
    sklearn.model_selection.permutation_test_score : Refits of one estimator to permuted labels.

    Notes
    -----
    The p-value is :math:`(b + 1) / (B + 1)` for :math:`b` of :math:`B` permutations with a best
    score at least as large as the observed one; scores that differ by rounding, relatively by
    1e-12, count as equal. It is valid for every search, splitter and score if the labels are
    exchangeable: all of them, or within strata, or those of whole clusters. The test stays valid if
    clusters are split between training sets and held-out items, but then the search may choose a
    parameter setting that memorises clusters: use a splitter that keeps groups together, such as
    :class:`sklearn.model_selection.StratifiedGroupKFold`.

    Splits that depend on the labels, such as stratified ones, are made again for each permutation,
    in the same way as for the observed labels, shuffled or not. An iterable of fixed splits cannot
    be made again and raises an error; use :class:`sklearn.model_selection.PredefinedSplit` for
    fixed splits that are independent of the labels. Each search refits its winner only if `refit`
    is a callable or the name of one of several scores.

    If the search itself is random, for instance because of a splitter or parameter settings without
    a fixed `random_state`, the searches differ in this respect too, and the result varies from call
    to call.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn_rankinf import average_precision_significance_scorer, search_permutation_test
    >>> X, y = make_classification(100, weights=[0.8], random_state=0)
    >>> search = GridSearchCV(
    ...     LogisticRegression(), {"C": [0.1, 10.0]}, scoring=average_precision_significance_scorer
    ... )
    >>> search_permutation_test(search, X, y, n_resamples=19).pvalue
    0.05
    """
    draws = Draws.read(n_resamples, random_state, n_jobs, verbose)
    X, y, groups, params = split_params(X, y, params)
    search = _prepared(search)
    sample = sample_of_labels(y, strata=strata, clusters=clusters, order=order)
    exchange = exchange_of(sample)
    check_groups(sample, groups)
    check_permutations(sample)
    if groups is None and splits_by_groups(search.cv):
        groups = groups_of_clusters(sample.design)
    if groups is not None:
        params["groups"] = groups
    if n_jobs is not None and "n_jobs" in search.get_params(deep=False):
        search.set_params(n_jobs=1)
    best_score = partial(_best_score, search=search, X=X, params=params)
    return among_permutations(best_score(y, False), best_score, y, exchange, draws)


def _prepared(search: Any) -> Any:
    """Return a copy of the search without an unnecessary refit."""
    parameters = search.get_params(deep=False) if hasattr(search, "get_params") else {}
    if not {"estimator", "cv", "refit"} <= set(parameters):
        raise TypeError(
            "search must be an unfitted search over parameter settings, such as GridSearchCV; got "
            f"{type(search).__name__}."
        )
    check_makes_splits(search.cv, "Searches")
    prepared = clone(search)
    return prepared.set_params(refit=False) if search.refit is True else prepared


def _best_score(y: Any, permuted: bool, *, search: Any, X: Any, params: dict[str, Any]) -> float:
    """Best score of the search."""
    score = _score_of_winner(clone(search).fit(X, y, **params))
    where = f"The best score of the search{' under permuted labels' if permuted else ''}"
    if math.isnan(score):
        raise ValueError(
            f"{where} is nan: pass error_score='raise' to the search to see why fits or scores "
            "failed."
        )
    if math.isinf(score):
        raise ValueError(
            f"{where} is {score}, and infinite scores have no order: use a scoring with "
            "finite values."
        )
    return score


def _score_of_winner(search: Any) -> float:
    if hasattr(search, "best_score_"):
        return float(search.best_score_)
    # The score of several by which a callable chose the winner is unknown.
    if getattr(search, "multimetric_", False) or not hasattr(search, "best_index_"):
        raise ValueError(
            f"The search has several scores, and refit={search.refit!r} does not select the one to "
            "test: pass the name of a score as refit."
        )
    return float(search.cv_results_["mean_test_score"][search.best_index_])


def among_permutations(
    observed: float,
    statistic: Callable[[Any, bool], float],
    y: Any,
    exchange: AnyExchange | None,
    draws: Draws,
) -> SearchPermutationTestResult:
    """Compare the statistic of the observed labels with those of permuted labels."""
    one_by_one = draws.chunks([1] * draws.n_resamples)
    drawn = np.array(draws.over(partial(_of_permuted, statistic, y, exchange), one_by_one))
    pvalue = draws.pvalue(int(np.sum(drawn >= observed - _SAME * abs(observed))))
    return SearchPermutationTestResult(observed, pvalue, drawn, draws.n_resamples)


def _of_permuted(
    statistic: Callable[[Any, bool], float],
    y: Any,
    exchange: AnyExchange | None,
    n_draws: int,
    rng: np.random.Generator,
) -> float:
    assert n_draws == 1
    return statistic(permuted(y, exchange, rng), True)
