"""Test of the best of several rankings, corrected for the selection."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_rankinf._metrics import as_metric, value_of, warn_of_one_class
from sklearn_rankinf._null import (
    NullDistribution,
    frozen_null_distribution,
    is_upper_bound,
    pvalue_log_and_error,
)
from sklearn_rankinf._permutation import (
    AnyExchange,
    Draws,
    JointSampler,
    check_permutations,
    exchange_of,
)
from sklearn_rankinf._ranking import PosLabel, Sample
from sklearn_rankinf._results import format_value, state_drawn_pvalue
from sklearn_rankinf._significance import DrawnResult, significance_of
from sklearn_rankinf._statistics import Floats, Integers, Metric

# Relative difference up to which two values of the statistic count as equal.
_SAME = 1e-12
_COLUMNS = (
    "statistic",
    "zscore",
    "pvalue",
    "pvalue_standard_error",
    "pvalue_unadjusted",
    "pvalue_unadjusted_is_bound",
)


@dataclass(frozen=True, eq=False, repr=False)
class BestCandidateTestResult(DrawnResult):
    """Result of :func:`best_candidate_test`.

    Attributes
    ----------
    metric : metric
        The metric, with a number of items as its cut-off if it has one.
    statistic : ndarray of shape (n_candidates,)
        Value of the metric for each ranker.
    zscore : ndarray of shape (n_candidates,)
        (statistic - E) / sd, with the exact mean E and standard deviation sd of the ranker's
        null distribution; 0 for a ranker whose statistic cannot vary. With strata, clusters or
        an order, E and sd are those of `n_resamples` random labellings.
    pvalue : ndarray of shape (n_candidates,)
        P-values adjusted for the choice among all rankers. The p-value of the best ranker
        accounts for its selection.
    pvalue_unadjusted : ndarray of shape (n_candidates,)
        P-value of each ranker without adjustment: exact, or by permutation with strata, clusters
        or an order.
    pvalue_unadjusted_is_bound : ndarray of bool of shape (n_candidates,)
        Whether `pvalue_unadjusted` is an upper bound; see :class:`MetricTestResult`.
    best_index : int
        The ranker with the largest z-score or, without standardisation, the largest statistic;
        the first one if several are equal.
    best_name : object
        Name of the best ranker.
    names : list
        Names of the rankers: keys, columns of a frame, or numbers from 0.
    n_resamples : int
        Number of random labellings.
    n_samples, n_positives : int
        Number of items and of positives among them.
    pvalue_standard_error : ndarray of shape (n_candidates,)
        Monte Carlo standard error of `pvalue`.

    See Also
    --------
    best_candidate_test : The test that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import best_candidate_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> scores = {"a": [8, 7, 6, 5, 4, 3, 2, 1], "b": [1, 8, 2, 7, 3, 6, 4, 5]}
    >>> result = best_candidate_test(y_true, scores)
    >>> result.best_name, result.pvalue_unadjusted.round(4)
    ('a', array([0.0357, 0.125 ]))
    """

    metric: Metric
    statistic: Floats
    zscore: Floats = field(repr=False)
    pvalue: Floats
    pvalue_unadjusted: Floats = field(repr=False)
    pvalue_unadjusted_is_bound: NDArray[np.bool_] = field(repr=False)
    best_index: int = field(repr=False)
    names: list[Any]
    n_resamples: int
    n_samples: int
    n_positives: int

    @property
    def best_name(self) -> Any:
        """Name of the best ranker."""
        return self.names[self.best_index]

    def _columns(self) -> dict[str, Any]:
        return {"ranker": self.names} | {name: getattr(self, name).tolist() for name in _COLUMNS}

    def _sentences(self) -> Iterable[str]:
        best = self.best_index
        pvalue = state_drawn_pvalue(self.pvalue[best], self.n_resamples)
        return [
            f"Of {len(self.names)} rankers {self.best_name} was best, with "
            f"{self.metric.title_in_text} {format_value(self.statistic[best])} "
            f"(z = {self.zscore[best]:.2f}); {pvalue} against chance, adjusted for the "
            f"choice among all rankers (single-step maxT with {self.n_resamples} random "
            f"labellings; {self.n_positives} positives among {self.n_samples} items)."
        ]


def best_candidate_test(
    y_true: ArrayLike,
    y_score: Any,
    *,
    metric: str | Metric = "average_precision",
    standardize: bool = True,
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
    pos_label: PosLabel = 1,
    n_resamples: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> BestCandidateTestResult:
    r"""Test the best of several rankings, corrected for the selection.

    The best of many rankers looks good even if all of them rank at random (selection bias). This
    test permutes the labels for all rankers together, and compares each ranker with the best
    of all rankers in every random labelling. It is the single-step maxT procedure of Westfall
    and Young [1]_.

    **The labels must not have been used to train any ranker.** Out-of-fold scores do not satisfy
    this condition: each label was in the training data of the scores of other folds; see Notes.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Binary labels of items that were held out from the training of every ranker.
    y_score : array-like of shape (n_samples, n_candidates), or mapping
        Scores, larger for items more likely to be positive, with one column per ranker: an
        array, a pandas or polars data frame, or a dict of names and scores.
    metric : str or metric, default="average_precision"
        A metric, or its name with a cut-off after an @, as in ``"recall@50"``; see
        :func:`metric_test`.
    standardize : bool, default=True
        Whether the statistic of each ranker is standardised by the mean and standard deviation
        of its null distribution, given its ties, before the maximum is taken. Without equal scores,
        strata, clusters and an order, all rankers have the same null distribution, and
        `standardize` does not change the result.
    strata : array-like of shape (n_samples,), optional
        Stratum of each item, any hashable values. Labels are permuted only within strata.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each item, any hashable values. All items of a cluster must have the same
        label. The labels of whole clusters are permuted, among clusters of the same size and, with
        `strata`, of the same stratum.
    order : array-like of shape (n_samples,), optional
        Time or position of each item, for a series whose labels are autocorrelated. Labels are
        shifted along the series; each stratum is a separate series. With `clusters`, blocks of
        consecutive items, the blocks are permuted instead.
    pos_label : int, float, bool or str, default=1
        The label of the positives.
    n_resamples : int, default=9999
        Number of random labellings.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings.
    n_jobs : int, optional
        Number of jobs for the random labellings and for the exact null distributions of rankers
        with different ties. The result does not depend on it.
    verbose : int, default=0
        Verbosity of joblib; larger values print more messages.

    Returns
    -------
    result : BestCandidateTestResult
        The statistic, z-score, adjusted p-value and unadjusted p-value of each ranker, and the
        best ranker.

    Raises
    ------
    TypeError
        If `y_true` is a ranking, or an argument has the wrong type.
    ValueError
        If there is no ranker, if names repeat, if labels or scores are invalid (see
        :meth:`Ranking.from_scores`), if the metric is unknown, if a cluster has different
        labels or is in several strata, if two items of a series have the same time, or if the
        observed labelling is the only possible one.

    Warns
    -----
    UndefinedMetricWarning
        If all labels are the same: no ranker can be better than chance, and all p-values are 1.
    UserWarning
        If only a few different labellings are possible; see :func:`metric_test`.

    See Also
    --------
    average_precision_test : Test of one ranking that was fixed in advance.

    Notes
    -----
    Ranker j has the statistic :math:`T_j` for the observed labels and :math:`T_j^{(b)}` for the
    b-th of B random labellings. Its adjusted p-value is

    .. math:: \tilde p_j = \frac{1 + \#\{b : \max_i T_i^{(b)} \ge T_j\}}{B + 1}.

    If the labels are independent of the scores of all rankers, the smallest :math:`\tilde p_j`
    is at most :math:`\alpha` with a probability of at most :math:`\alpha`, for any number of
    rankers and any dependence between them. If some rankers are better than chance, any
    :math:`\tilde p_j` of the others is at most :math:`\alpha` with a probability of at most
    :math:`\alpha`, as long as the labels are jointly independent of the scores of these others. The
    test does not show that the winner is better than the other rankers. :math:`T_j` is
    :math:`(S_j - \mathrm{E} S_j) / \mathrm{sd}\, S_j` or, with ``standardize=False``, the metric
    :math:`S_j` itself, whose mean and spread depend on the ties. Without standardisation a
    ranker with a wide null distribution dominates the maximum. Values that differ by rounding
    count as equal.

    The test is not valid for out-of-fold scores from a cross-validation on the same labels: the
    scores of a fold were trained on the labels of all other folds, and a permutation destroys this
    dependence. Rankers without any predictive value are then significant too often
    (:ref:`coverage-selection`). To test the winner of a search on the same labels, the whole search
    has to be refitted under permuted labels (see :func:`search_permutation_test`). A winner that
    was chosen on other labels needs no correction: use :func:`average_precision_test` on the
    held-out labels.

    With `strata`, `clusters` or `order`, the random labellings are those that these restrictions
    allow, jointly for all rankers. There is no exact null distribution in this case: the
    unadjusted p-value of each ranker, and the mean and standard deviation of its null
    distribution, come from `n_resamples` separate random labellings, whose independence keeps
    the test valid.

    The time is proportional to the product of `n_resamples`, the number of positives and the
    number of rankers. Memory does not grow with `n_resamples` if all labels are exchangeable,
    and otherwise by one number per random labelling.

    References
    ----------
    .. [1] Westfall, P. H., & Young, S. S. (1993). Resampling-based multiple testing: examples and
       methods for p-value adjustment. Wiley, New York.

    Examples
    --------
    Twenty rankers are noise. The unadjusted p-value of the best one is misleadingly small:

    >>> import numpy as np
    >>> from sklearn_rankinf import best_candidate_test
    >>> rng = np.random.default_rng(2)
    >>> y_true = np.arange(200) < 20
    >>> result = best_candidate_test(y_true, rng.normal(size=(200, 20)))
    >>> best = result.best_index
    >>> print(f"{result.pvalue_unadjusted[best]:.3f}, {result.pvalue[best]:.2f}")
    0.016, 0.27
    """
    chosen = as_metric(metric)
    draws = Draws.read(n_resamples, random_state, n_jobs, verbose)
    n_resamples = draws.n_resamples
    sample = Sample.read(
        y_true,
        y_score,
        pos_label=pos_label,
        columns="rankers",
        strata=strata,
        clusters=clusters,
        order=order,
    )
    exchange = exchange_of(sample)
    if exchange is None or not sample.has_both:
        observed = _observe(sample, chosen, draws)
    else:
        check_permutations(sample)
        own, rest = draws.streams(2)
        draws = replace(draws, seeds=rest)
        options = {"method": "permutation", "n_resamples": n_resamples, "n_jobs": None}
        options["random_state"] = int(own.generate_state(1)[0])
        observed = _observe_by_permutation(sample, chosen, options, draws)
    ranked_by = observed.zscore if standardize else observed.statistic
    if not sample.has_both:
        warn_of_one_class(
            sample.positive, "no ranker can be better than chance, and all p-values are 1"
        )
        counts = np.full(len(sample.names), n_resamples)
    else:
        sampler = _joint_sampler(sample, exchange, observed, standardize)
        thresholds = _thresholds(sample, observed, standardize)
        counts = _exceedances(sampler, thresholds, draws)
    pvalue = draws.pvalue(counts)
    return BestCandidateTestResult(
        metric=observed.metric,
        statistic=observed.statistic,
        zscore=observed.zscore,
        pvalue=pvalue,
        pvalue_unadjusted=observed.pvalue,
        pvalue_unadjusted_is_bound=observed.is_bound,
        best_index=int(np.argmax(ranked_by)),
        names=sample.names,
        n_resamples=n_resamples,
        n_samples=sample.n_items,
        n_positives=sample.n_positives,
    )


# Statistics and null distributions.


@dataclass(frozen=True, eq=False)
class _Observed:
    """Statistics, moments and p-values of the single rankers, and their common statistic."""

    metric: Any
    statistic: Floats
    mean: Floats
    std: Floats
    zscore: Floats
    pvalue: Floats
    is_bound: NDArray[np.bool_]


def _observe(sample: Sample, metric: Metric, draws: Draws) -> _Observed:
    """Statistics, exact moments and exact p-values, one null distribution per set of ties."""
    members: dict[bytes, list[int]] = {}
    for index, ranking in enumerate(sample.rankings):
        members.setdefault(ranking.tie_sizes.tobytes(), []).append(index)
    nulls = {
        key: frozen_null_distribution(
            metric,
            sample.n_items,
            sample.n_positives,
            tie_sizes=sample.rankings[first].tie_sizes,
        )
        for key, (first, *_) in members.items()
    }
    null = [nulls[ranking.tie_sizes.tobytes()] for ranking in sample.rankings]
    mean, std = np.array([[own.mean(), own.std()] for own in null]).T
    # A statistic that cannot vary is set to its only value, without rounding errors.
    varies = std > 0.0
    statistic = np.array(
        [
            float(value_of(own.statistic, ranking)) if own_varies else own.mean()
            for own, ranking, own_varies in zip(null, sample.rankings, varies, strict=True)
        ]
    )
    zscore = (statistic - mean) / np.where(varies, std, 1.0)
    pvalue, is_bound = np.empty(std.size), np.empty(std.size, dtype=bool)
    tasks = ((nulls[key], statistic[indices]) for key, indices in members.items())
    found = draws.in_parallel(_pvalues, tasks)
    for indices, (values, are_bounds) in zip(members.values(), found, strict=True):
        pvalue[indices], is_bound[indices] = values, are_bounds
    return _Observed(null[0].statistic, statistic, mean, std, zscore, pvalue, is_bound)


def _observe_by_permutation(
    sample: Sample, metric: Metric, options: dict[str, Any], draws: Draws
) -> _Observed:
    """Statistics with moments and p-values by permutation, with the same labellings for all."""
    rankers = range(len(sample.scores))
    tasks = ((metric, sample.single(number), options) for number in rankers)
    metrics, *numbers = zip(*draws.in_parallel(_test_alone, tasks), strict=True)
    statistic, mean, std, zscore, pvalue, is_bound = map(np.array, numbers)
    return _Observed(metrics[0], statistic, mean, std, np.nan_to_num(zscore), pvalue, is_bound)


def _test_alone(
    metric: Metric, sample: Sample, options: dict[str, Any]
) -> tuple[Any, float, float, float, float, float, bool]:
    result = significance_of(metric, sample, **options)
    null = result.null_distribution
    moments = null.mean(), null.std()
    tested = result.zscore, result.pvalue, result.pvalue_is_bound
    return (null.statistic, result.statistic, *moments, *tested)


def _pvalues(null: NullDistribution, statistic: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """P-values, and whether they are guaranteed upper bounds."""
    pvalue, _, error = pvalue_log_and_error(null, statistic, "greater")
    return pvalue, is_upper_bound(null, error)


def _scaling(observed: _Observed, standardize: bool) -> tuple[Floats, Floats]:
    """Return the offsets that are subtracted from the statistics, and the divisors."""
    if not standardize:
        return np.zeros(observed.statistic.size), np.ones(observed.statistic.size)
    # A statistic that cannot vary is divided by infinity and becomes 0.
    return observed.mean, np.where(observed.std > 0.0, observed.std, np.inf)


def _joint_sampler(
    sample: Sample, exchange: AnyExchange | None, observed: _Observed, standardize: bool
) -> JointSampler:
    places = np.stack([sample.places(number) for number in range(len(sample.scores))])
    tie_sizes = [ranking.tie_sizes for ranking in sample.rankings]
    scaling = _scaling(observed, standardize)
    return JointSampler(observed.metric, sample.positive, places, tie_sizes, *scaling, exchange)


def _thresholds(sample: Sample, observed: _Observed, standardize: bool) -> Floats:
    """Smallest maxima that count as reaching the values of the rankers."""
    own = observed.zscore if standardize else observed.statistic
    centers, scales = _scaling(observed, standardize)
    # The rounding error is relative to the terms of the difference.
    offset = abs(observed.metric.offset(sample.n_items, sample.n_positives))
    terms = np.abs(own) + np.max((np.abs(centers) + offset) / scales)
    return np.asarray(own - _SAME * terms - np.finfo(float).tiny)


def _exceedances(sampler: JointSampler, thresholds: Floats, draws: Draws) -> Integers:
    """For each ranker, count the random labellings whose maximum reaches its value."""
    count = partial(sampler.count_at_least, thresholds)
    counts = draws.over(count, draws.chunks(sampler.chunks(draws.n_resamples)))
    return np.asarray(np.sum(counts, axis=0))
