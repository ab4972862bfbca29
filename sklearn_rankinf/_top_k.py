"""Tests of hits at k against random labelling, and the number of hits that is significant."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._engine.hits import binomial_tail, normal_tail
from sklearn_rankinf._engine.hypergeometric import (
    log_tail,
    mean_and_deviation,
    min_hits,
    smallest,
)
from sklearn_rankinf._engine.statistics import Floats, HitsAtK, Integers
from sklearn_rankinf._guard import significance_test
from sklearn_rankinf._null_distributions import NullDistribution, plain
from sklearn_rankinf._ranking import Ranking, as_ranking
from sklearn_rankinf._restricted import RESTRICTED, RestrictedLabels, Restrictions
from sklearn_rankinf._significance import (
    RankTestResult,
    no_positives,
    restricted_labels,
    results_as_one,
    significance_fields,
)
from sklearn_rankinf._top_k_distributions import (
    TopKNullDistribution,
    check_top_k_method,
    frozen_top_k_law,
)
from sklearn_rankinf._validation import (
    PosLabel,
    check_counts,
    check_levels,
    check_no_closed_form,
    check_stopping,
    resolve_each_k,
    warn_caller,
)

_NAMES = {
    "positives": "Recall at k",
    "places": "Precision at k",
    "chance": "Enrichment at k",
}
_COUNT_METHODS = ("analytic", "binomial", "normal")


@dataclass(frozen=True, eq=False, repr=False)
class TopKTestResult(RankTestResult):
    """Result of :func:`recall_at_k_test`, `precision_at_k_test` and `enrichment_at_k_test`.

    For an array of k the fields that depend on k are arrays of its shape.

    Attributes
    ----------
    statistic : float or ndarray
        Recall, precision or enrichment at `k`.
    pvalue : float or ndarray
        Probability, when labels are assigned to the ranks at random, of a statistic at least as
        extreme as the observed one.
    log10_pvalue : float or ndarray
        Base-10 logarithm of the p-value, finite where `pvalue` underflows to 0.
    pvalue_relative_error : float or ndarray
        Estimate, on the large side, of the relative error of `pvalue`: numerical for an exact
        law, the Monte Carlo standard error for ``method="permutation"``, and infinite, that is
        unknown, for the approximations.
    zscore : float or ndarray
        (statistic - E) / sd with the exact mean E and standard deviation sd under random
        labelling; nan where the statistic cannot vary.
    adjusted_statistic : float or ndarray
        (statistic - E) / (best - E), with the value of a perfect ranking without ties: 0 is
        chance, 1 is perfect; nan where no ranking is better than another.
    null_distribution : TopKNullDistribution, or PermutationDistribution or tuple of laws
        The law of the statistic under random labelling, given the ties; with strata, clusters or
        `n_exceedances` one for each k.
    n_samples : int
        Number of samples.
    n_positives : int
        Number of positives.
    alternative : {"greater", "less", "two-sided"}
        The alternative hypothesis.
    method : str
        The method that ran.
    n_resamples : int, ndarray or None
        Number of random labellings that were drawn, 0 for a statistic with one value and where all
        labellings were counted; None if `method` is not ``"permutation"``.
    n_exceedances : int, ndarray or None
        Number of them at least as extreme as the observed labelling; two-sided, on the side where
        they are fewer.
    pvalue_standard_error : float, ndarray or None
        Monte Carlo standard error of `pvalue`; None if `method` is not ``"permutation"``.
    k : int or ndarray of int
        Number of samples counted.
    hits : float or ndarray
        Number of positives among the first `k` samples; a fraction where equal scores straddle
        `k`, the average over random tie-breaking.

    See Also
    --------
    recall_at_k_test : A test that returns this result.
    precision_at_k_test : A test that returns this result.
    enrichment_at_k_test : A test that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import Ranking, recall_at_k_test
    >>> ranking = Ranking.from_counts([1] * 8, [1, 1, 0, 1, 0, 0, 0, 0])
    >>> result = recall_at_k_test(ranking, k=[2, 4])
    >>> result.hits, result.pvalue.round(4)
    (array([2., 3.]), array([0.1071, 0.0714]))
    """

    k: Any
    hits: Any

    def __repr__(self) -> str:
        if not np.ndim(self.k):
            return super().__repr__().replace("(", f"(k={self.k}, hits={self.hits:.6g}, ", 1)
        return (
            f"{type(self).__name__}({np.size(self.k)} values of k from {np.min(self.k)} to "
            f"{np.max(self.k)}, smallest pvalue={np.min(self.pvalue):.4g}, "
            f"n_samples={self.n_samples}, n_positives={self.n_positives}, "
            f"alternative={self.alternative!r}, method={self.method!r}){self._hint}"
        )


@significance_test
def recall_at_k_test(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: Any,
    pos_label: PosLabel = 1,
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
) -> TopKTestResult:
    r"""Test whether the first k samples hold more of the positives than random labelling gives.

    The null hypothesis is random selection: with the scores and their ties as they are, every
    choice of `n_positives` of the `n_samples` samples as the positives is equally likely.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for samples more likely to be positive. Required unless `y_true` is a
        ranking.
    k : int, float or array-like of them
        Number of samples at the top of the ranking: an int of at least 1, or a float between 0 and
        1 for a fraction of `n_samples`, rounded up. An array makes one test for each entry.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values are for more positives than by chance, for fewer, or for either.
        Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : {"auto", "analytic", "permutation", "binomial", "normal"}, default="auto"
        How the p-value is computed; see :func:`recall_at_k_null_distribution`.
    strata : array-like of shape (n_samples,), optional
        Stratum of each sample, anything hashable: labels are permuted within strata only. By
        permutation; see :func:`average_precision_test`.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, anything hashable: labels of whole clusters are permuted, among
        those of the same size and stratum. By permutation; see :func:`average_precision_test`.
    order : array-like of shape (n_samples,), optional
        Time or position of each sample in a series whose labels and scores are correlated in time:
        labels are shifted along it. By permutation; see :func:`average_precision_test`.
    block_length : int, optional
        With `order`, permute blocks of so many consecutive samples instead; see
        :func:`average_precision_test`.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    n_exceedances : int, optional
        Stop drawing at the labelling that is the `n_exceedances`-th at least as extreme as the
        observed one: the p-value is then `n_exceedances` over the number drawn. Permutation and
        one-sided alternatives only.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.
    n_jobs : int, optional
        Number of jobs for strata, clusters and order, whose result does not depend on it. Without
        them a random labelling is a few random numbers, so that one job draws all.

    Returns
    -------
    result : TopKTestResult
        The statistic, its p-value, and the null distribution they were compared with; arrays of
        the shape of `k` where that is an array. With strata, clusters, order or `n_exceedances` the
        null distribution is then a tuple with one for each.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given with a ranking, if strata, clusters or order are given
        with a ranking, or if an argument is of a wrong type.
    ValueError
        If labels or scores cannot be ranked (see :meth:`Ranking.from_scores`), or if `k` or an
        option is not one of those above.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives: the statistic is then 0.0, the p-value 1.0, and the z-score
        and adjusted statistic are nan.
    UserWarning
        If strata and clusters leave fewer than 1000 different labellings, or shifts fewer than 100.

    See Also
    --------
    precision_at_k_test : The same test, told by the share of positives among the first k.
    min_hits_at_k : Number of hits that is significant.
    recall_at_k_null_distribution : The null distribution by itself.
    recall_at_k_score : The statistic.

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
    return hits_test(
        "positives",
        as_ranking(y_true, y_score, pos_label),
        alternative,
        k=k,
        method=method,
        restricted=restricted_labels(
            y_true, y_score, pos_label, Restrictions(strata, clusters, order, block_length)
        ),
        n_permutations=n_permutations,
        n_exceedances=n_exceedances,
        random_state=random_state,
        n_jobs=n_jobs,
    )


@significance_test
def precision_at_k_test(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: Any,
    pos_label: PosLabel = 1,
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
) -> TopKTestResult:
    r"""Test whether more of the first k samples are positive than random labelling gives.

    The null hypothesis is random selection: with the scores and their ties as they are, every
    choice of `n_positives` of the `n_samples` samples as the positives is equally likely.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for samples more likely to be positive. Required unless `y_true` is a
        ranking.
    k : int, float or array-like of them
        Number of samples at the top of the ranking: an int of at least 1, or a float between 0 and
        1 for a fraction of `n_samples`, rounded up. An array makes one test for each entry.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values are for more positives than by chance, for fewer, or for either.
        Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : {"auto", "analytic", "permutation", "binomial", "normal"}, default="auto"
        How the p-value is computed; see :func:`recall_at_k_null_distribution`.
    strata : array-like of shape (n_samples,), optional
        Stratum of each sample, anything hashable: labels are permuted within strata only. By
        permutation; see :func:`average_precision_test`.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, anything hashable: labels of whole clusters are permuted, among
        those of the same size and stratum. By permutation; see :func:`average_precision_test`.
    order : array-like of shape (n_samples,), optional
        Time or position of each sample in a series whose labels and scores are correlated in time:
        labels are shifted along it. By permutation; see :func:`average_precision_test`.
    block_length : int, optional
        With `order`, permute blocks of so many consecutive samples instead; see
        :func:`average_precision_test`.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    n_exceedances : int, optional
        Stop drawing at the labelling that is the `n_exceedances`-th at least as extreme as the
        observed one: the p-value is then `n_exceedances` over the number drawn. Permutation and
        one-sided alternatives only.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.
    n_jobs : int, optional
        Number of jobs for strata, clusters and order, whose result does not depend on it. Without
        them a random labelling is a few random numbers, so that one job draws all.

    Returns
    -------
    result : TopKTestResult
        The statistic, its p-value, and the null distribution they were compared with; arrays of
        the shape of `k` where that is an array. With strata, clusters, order or `n_exceedances` the
        null distribution is then a tuple with one for each.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given with a ranking, if strata, clusters or order are given
        with a ranking, or if an argument is of a wrong type.
    ValueError
        If labels or scores cannot be ranked (see :meth:`Ranking.from_scores`), or if `k` or an
        option is not one of those above.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives: the statistic is then 0.0, the p-value 1.0, and the z-score
        and adjusted statistic are nan.
    UserWarning
        If strata and clusters leave fewer than 1000 different labellings, or shifts fewer than 100.

    See Also
    --------
    recall_at_k_test : The same test, told by the share of the positives that is found.
    min_hits_at_k : Number of hits that is significant.
    precision_at_k_null_distribution : The null distribution by itself.
    precision_at_k_score : The statistic.

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
    return hits_test(
        "places",
        as_ranking(y_true, y_score, pos_label),
        alternative,
        k=k,
        method=method,
        restricted=restricted_labels(
            y_true, y_score, pos_label, Restrictions(strata, clusters, order, block_length)
        ),
        n_permutations=n_permutations,
        n_exceedances=n_exceedances,
        random_state=random_state,
        n_jobs=n_jobs,
    )


def hits_test(
    divisor: str,
    ranking: Ranking,
    alternative: str,
    *,
    restricted: RestrictedLabels | None,
    n_exceedances: int | None,
    **options: Any,
) -> TopKTestResult:
    """Test of hits at k, divided as a statistic of that name divides them."""
    check_stopping(n_exceedances, alternative)
    n_jobs = options.pop("n_jobs")
    law: TopKNullDistribution = frozen_top_k_law(
        divisor, ranking.n_samples, ranking.n_positives, tie_sizes=ranking.tie_sizes, **options
    )
    if ranking.n_positives == 0:
        warn_caller(no_positives(_NAMES[divisor], "0.0"), UndefinedMetricWarning)
    if restricted is None and n_exceedances is None:
        return _hits_result(ranking, law.statistic, law, alternative, None)
    results = []
    for k in np.ravel(law.statistic.k).tolist():
        own = _law_of_one_k(HitsAtK(k, divisor), law, restricted, n_jobs=n_jobs, **options)
        results.append(_hits_result(ranking, HitsAtK(k, divisor), own, alternative, n_exceedances))
    if np.ndim(law.statistic.k) == 0:
        return results[0]
    return results_as_one(results, np.shape(law.statistic.k), common=("n_positives",))


def _law_of_one_k(
    statistic: HitsAtK,
    law: TopKNullDistribution,
    restricted: RestrictedLabels | None,
    *,
    method: str,
    k: Any,
    **options: Any,
) -> NullDistribution:
    if restricted is None:
        return law._of_one_k(statistic)
    check_no_closed_form(method, RESTRICTED)
    best = float(statistic.best(law.n_samples, law.n_positives))
    return restricted.law(restricted.exchanged_sums(statistic, best), statistic, **options)


def _hits_result(
    ranking: Ranking,
    statistic: HitsAtK,
    law: NullDistribution,
    alternative: str,
    n_exceedances: int | None,
) -> TopKTestResult:
    value = statistic.evaluate(ranking.tie_sizes, ranking.hits)
    return TopKTestResult(
        **significance_fields(value, law, alternative, n_exceedances=n_exceedances),
        k=statistic.k,
        hits=plain(statistic.count(ranking.tie_sizes, ranking.hits)),
    )


def min_hits_at_k(
    n_samples: int,
    n_positives: int,
    *,
    k: Any,
    alpha: ArrayLike = 0.05,
    method: str = "analytic",
    interpolate: bool = False,
) -> Any:
    r"""Smallest number of positives among the first k that is significant.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_positives : int
        Number of positives among them.
    k : int, float or array-like of them
        Number of samples at the top of the ranking: an int of at least 1, or a float between 0 and
        1 for a fraction of `n_samples`, rounded up.
    alpha : float or array-like of float, default=0.05
        Level of significance, between 0 and 1; broadcast against `k`.
    method : {"analytic", "binomial", "normal"}, default="analytic"
        The exact law, or one of its approximations: sampling with replacement, or the normal law
        with the exact mean and variance and a continuity correction of 1/2.
    interpolate : bool, default=False
        Whether to interpolate between the p-values of the last count that is not significant and
        the first that is, for a smooth curve over k.

    Returns
    -------
    min_hits : int, float or ndarray
        The number of hits; ``min(n_positives, k) + 1``, which cannot be reached, where no number
        of hits is significant. An int, or an array of them; with `interpolate` a float, or an
        array of them, above ``min(n_positives, k)`` where no number is significant.

    Raises
    ------
    TypeError
        If a number is not of the right type.
    ValueError
        If a number is out of its range, `k` and `alpha` cannot be broadcast, or `method` is not
        one of those above.

    See Also
    --------
    recall_at_k_test : Test of a ranking.
    recall_at_k_null_distribution : The law; with ties across rank k, where the number that is
        needed may be a fraction, its ``isf(alpha)`` is the largest value that is not significant.

    Notes
    -----
    It is the smallest h with :math:`P(H \ge h) \le \alpha` for a hypergeometric H [1]_.
    Interpolated, with :math:`p(h_0) > \alpha \ge p(h_0 + 1)`, it is

    .. math:: h^* = h_0 + \frac{p(h_0) - \alpha}{p(h_0) - p(h_0 + 1)}.

    References
    ----------
    .. [1] Macskassy, S. A. (2005). Working paper CeDER-05-09, Stern School of Business, New York
       University.

    Examples
    --------
    Of the first 100 of 1000 samples, 10 are positive by chance if 100 are in all, and 16 are
    significant:

    >>> from sklearn_rankinf import min_hits_at_k
    >>> min_hits_at_k(1000, 100, k=100)
    16
    >>> min_hits_at_k(1000, 100, k=100, alpha=[0.1, 0.05, 0.01, 0.001])
    array([15, 16, 18, 21])
    >>> round(min_hits_at_k(1000, 100, k=100, interpolate=True), 3)
    15.403
    """
    n, m = check_counts(n_samples, n_positives)
    check_top_k_method(method, _COUNT_METHODS)
    cuts, levels = _broadcast(resolve_each_k(k, n), check_levels(alpha))
    needed = _needed(n, m, cuts, levels, method)
    if not interpolate:
        return needed if needed.ndim else int(needed)
    before, at = (_upper_tail(needed - less, n, m, cuts, method) for less in (1, 0))
    # Where even the largest count is not significant, an approximation may not reach the level.
    between = (before > levels) & (at <= levels)
    share = np.where(between, (before - levels) / np.where(between, before - at, 1.0), 1.0)
    return plain(needed - 1 + share)


def _needed(n: int, m: int, k: Integers, alpha: Floats, method: str) -> Integers:
    if method == "analytic":
        return np.asarray(min_hits(alpha, n, m, k))
    most = np.minimum(m, k) + 1
    if method == "normal":
        mean, deviation = mean_and_deviation(n, m, k)
        limit = np.ceil(mean + 0.5 - ndtri(alpha) * deviation - 1e-9)
        return np.asarray(np.clip(limit, 0, most).astype(np.int64))
    mean = np.asarray(m / n * k, dtype=float)
    deviation = np.sqrt((1.0 - m / n) * mean)
    return np.asarray(
        smallest(
            lambda h: _upper_tail(h, n, m, k, method) <= alpha * (1.0 + 1e-12),
            np.zeros_like(most),
            most,
            mean - ndtri(alpha) * deviation,
            deviation,
        )
    )


def _upper_tail(hits: Integers, n: int, m: int, k: Integers, method: str) -> Floats:
    if method == "analytic":
        return np.exp(log_tail(hits, n, m, k))
    if method == "binomial":
        return binomial_tail(hits, k, m / n, 1)[0]
    mean, deviation = mean_and_deviation(n, m, k)
    return normal_tail(hits, mean, np.maximum(deviation, np.finfo(float).tiny), 1, 0.5)[0]


def _broadcast(k: int | Integers, alpha: Floats) -> tuple[Integers, Floats]:
    try:
        cuts, levels = np.broadcast_arrays(np.asarray(k, dtype=np.int64), alpha)
    except ValueError:
        raise ValueError(
            f"k of shape {np.shape(k)} and alpha of shape {alpha.shape} cannot be broadcast "
            "against each other: give one of them an axis of its own, as in k[:, None]."
        ) from None
    return cuts, levels
