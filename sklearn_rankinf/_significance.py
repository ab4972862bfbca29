"""Tests of a ranking against random labelling, and what they return."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._engine.exchange import AnyExchange
from sklearn_rankinf._engine.statistics import Floats
from sklearn_rankinf._guard import significance_test
from sklearn_rankinf._null_distributions import (
    NullDistribution,
    check_permutation,
    frozen_ap_law,
    plain,
    resamples_of,
    stopped_law,
    value_of_perfect_ranking,
    with_known_error,
)
from sklearn_rankinf._ranking import LabelTable, Ranking, as_ranking
from sklearn_rankinf._restricted import (
    RESTRICTED,
    RestrictedLabels,
    Restrictions,
    check_has_rows,
    few_labellings_warning,
    read_restricted_labels,
)
from sklearn_rankinf._row_permutations import average_precision, observe_rows, weights_warning
from sklearn_rankinf._validation import (
    PosLabel,
    as_binary,
    as_label_table,
    as_weights,
    check_average,
    check_confidence_level,
    check_stopping,
    check_weights_follow,
    has_classes,
)
from sklearn_rankinf._validation import warn_caller as warn_caller

R = TypeVar("R", bound="RankTestResult")

_N_SHOWN = 5  # values of an array in a short description
# A p-value for better than chance as large as this says that a ranking is worse.
_SURELY_WORSE = 0.999
_UNRESTRICTED = Restrictions()


@dataclass(frozen=True, eq=False, repr=False)
class RankTestResult:
    """What every test of one ranking against random labelling returns."""

    # One test has numbers; several tests in one result have arrays.
    statistic: Any
    pvalue: Any
    log10_pvalue: Any
    pvalue_relative_error: Any
    zscore: Any
    adjusted_statistic: Any
    null_distribution: Any
    n_samples: int
    n_positives: Any
    alternative: str
    method: str
    n_resamples: Any
    n_exceedances: Any

    def __repr__(self) -> str:
        pvalue = (
            f"pvalue={_shown(self.pvalue, 4)}"
            if np.all(self.pvalue > 0.0)
            else f"log10_pvalue={_shown(self.log10_pvalue, 6)}"
        )
        return (
            f"{type(self).__name__}(statistic={_shown(self.statistic, 4)}, {pvalue}, "
            f"n_samples={self.n_samples}, n_positives={_shown(self.n_positives, 12)}, "
            f"alternative={self.alternative!r}, method={self.method!r}){self._hint}"
        )

    @property
    def _hint(self) -> str:
        """A line about a ranking that is significantly worse than chance."""
        is_worse = (np.asarray(self.pvalue) >= _SURELY_WORSE) & (np.asarray(self.zscore) < 0.0)
        if self.alternative != "greater" or not np.any(is_worse):
            return ""
        return "\nworse than chance: is the direction of the score reversed?"

    @property
    def pvalue_standard_error(self) -> Any:
        """Monte Carlo standard error of a p-value by permutation; None for other methods."""
        if self.n_resamples is None:
            return None
        drawn = np.asarray(self.n_resamples) > 0
        return plain(np.where(drawn, self.pvalue * self.pvalue_relative_error, 0.0))

    def pvalue_interval(self, confidence_level: float = 0.95) -> tuple[Any, Any]:
        """Interval for the p-value that is free of the error of its computation.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Probability, at least, with which the interval of a p-value by permutation covers the
            p-value of all labellings. It has no meaning for other methods.

        Returns
        -------
        low, high : float or ndarray
            By permutation the interval of Clopper and Pearson; for an exact law the p-value less
            and plus its numerical error; for an approximation, whose error is not known, 0 and 1.

        Raises
        ------
        ValueError
            If `confidence_level` is not between 0 and 1.

        Notes
        -----
        With b of B random labellings at least as extreme as the observed one the limits are
        quantiles of Beta(b, B - b + 1) and Beta(b + 1, B - b) [1]_. If drawing stopped at the b-th
        of them, the upper one is of Beta(b, B - b): the number of draws is then what is random.
        Two-sided, the interval is twice that of the smaller one-sided p-value.

        References
        ----------
        .. [1] Clopper, C. J., & Pearson, E. S. (1934). The use of confidence or fiducial limits
           illustrated in the case of the binomial. Biometrika, 26(4), 404-413.

        Examples
        --------
        >>> from sklearn_rankinf import Ranking, average_precision_test
        >>> ranking = Ranking.from_counts([1] * 8, [1, 1, 0, 1, 0, 0, 0, 0])
        >>> result = average_precision_test(ranking, method="permutation", n_permutations=999)
        >>> low, high = result.pvalue_interval()
        >>> low < 2 / 56 < high
        True
        """
        check_confidence_level(confidence_level)
        near = _widened(self.pvalue, self.pvalue_relative_error)
        if self.n_resamples is None:
            return near
        low, high = binomial_interval(
            self.n_exceedances, self.n_resamples, self._stopped, confidence_level
        )
        if self.alternative == "two-sided":
            low, high = np.minimum(2.0 * low, 1.0), np.minimum(2.0 * high, 1.0)
        drawn = np.asarray(self.n_resamples) > 0
        return plain(np.where(drawn, low, near[0])), plain(np.where(drawn, high, near[1]))

    @property
    def _stopped(self) -> Any:
        """Whether drawing stopped before all random labellings were drawn."""
        laws = self.null_distribution
        if not isinstance(laws, tuple):
            return laws._has_stopped
        return np.reshape([law._has_stopped for law in laws], np.shape(self.n_resamples))


def _shown(values: Any, n_digits: int) -> str:
    """A number, or the first few of an array."""
    if np.ndim(values) == 0:
        return f"{values:.{n_digits}g}"
    flat = np.ravel(values)
    shown = ", ".join(f"{value:.{n_digits}g}" for value in flat[:_N_SHOWN])
    return f"[{shown}{', ...' if flat.size > _N_SHOWN else ''}]"


def _widened(pvalue: Any, relative_error: Any) -> tuple[Any, Any]:
    """P-values less and plus their relative error; 0 and 1 where that is not known."""
    unknown = np.isinf(relative_error)
    error = np.where(unknown, 1.0, relative_error)
    low, high = pvalue * np.maximum(1.0 - error, 0.0), np.minimum(pvalue * (1.0 + error), 1.0)
    return plain(low), plain(np.where(unknown, 1.0, high))


def permutation_interval(
    pvalue: Any, n_permutations: int, confidence_level: float
) -> tuple[Any, Any]:
    """Clopper and Pearson's interval for p-values (b + 1) / (B + 1) of B random labellings."""
    check_confidence_level(confidence_level)
    counts = np.rint(np.asarray(pvalue) * (n_permutations + 1.0)) - 1.0
    return binomial_interval(counts, n_permutations, False, confidence_level)


def binomial_interval(
    n_exceedances: Any, n_resamples: Any, stopped: Any, confidence_level: float
) -> tuple[Any, Any]:
    """Clopper and Pearson's interval of a share, also if the last draw was the one to stop at."""
    b, outside = np.asarray(n_exceedances), 0.5 * (1.0 - confidence_level)
    others = np.asarray(n_resamples) - b
    with_last = np.where(stopped, b, b + 1)
    low = betaincinv(np.maximum(b, 1), others + 1.0, outside)
    high = betaincinv(with_last, np.maximum(others, 1), 1.0 - outside)
    return np.where(b > 0, low, 0.0), np.where(others > 0, high, 1.0)


class AveragePrecisionTestResult(RankTestResult):
    """Result of :func:`average_precision_test`.

    For labels of several classes, tested without `average`, the first six fields are arrays of
    shape (n_classes,) and the seventh is a tuple of laws.

    Attributes
    ----------
    statistic : float or ndarray of shape (n_classes,)
        Average precision, or average precision at `k`.
    pvalue : float or ndarray of shape (n_classes,)
        Probability, when labels are assigned to the ranks at random, of a statistic at least as
        extreme as the observed one.
    log10_pvalue : float or ndarray of shape (n_classes,)
        Base-10 logarithm of the p-value, finite where `pvalue` underflows to 0.
    pvalue_relative_error : float or ndarray of shape (n_classes,)
        Estimate, on the large side, of the relative error of `pvalue`: numerical for an exact
        law, the Monte Carlo standard error for ``method="permutation"``, and infinite, that is
        unknown, for the approximations.
    zscore : float or ndarray of shape (n_classes,)
        (statistic - E) / sd with the exact mean E and standard deviation sd under random
        labelling; nan when the statistic cannot vary. With weights or averages E and sd are those
        of the resamples.
    adjusted_statistic : float or ndarray of shape (n_classes,)
        (statistic - E) / (best - E), with the value of a perfect ranking without ties, which is 1
        but for average precision at `k` with ``normalize="positives"`` and averages over classes
        some of which are empty: 0 is chance, 1 is perfect; nan when there is only one class.
    null_distribution : NullDistribution or tuple of NullDistribution
        The law of the statistic under random labelling, given the ties.
    n_samples : int
        Number of samples.
    n_positives : int or ndarray of shape (n_classes,)
        Number of positives, or of the samples of each class.
    alternative : {"greater", "less", "two-sided"}
        The alternative hypothesis.
    method : str
        The method that ran.
    n_resamples : int, ndarray of shape (n_classes,) or None
        Number of random labellings that were drawn, 0 for a statistic with one value and where all
        labellings were counted; None if `method` is not ``"permutation"``.
    n_exceedances : int, ndarray of shape (n_classes,) or None
        Number of them at least as extreme as the observed labelling; two-sided, on the side where
        they are fewer.
    pvalue_standard_error : float, ndarray of shape (n_classes,) or None
        Monte Carlo standard error of `pvalue`; None if `method` is not ``"permutation"``.

    See Also
    --------
    average_precision_test : The test that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import Ranking, average_precision_test
    >>> ranking = Ranking.from_counts([1] * 8, [1, 1, 0, 1, 0, 0, 0, 0])
    >>> result = average_precision_test(ranking)
    >>> round(result.statistic, 4), round(result.adjusted_statistic, 4)
    (0.9167, 0.8233)
    """


@significance_test
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
) -> AveragePrecisionTestResult:
    r"""Test whether a ranking has a better average precision than random labelling gives.

    The null hypothesis is random selection: with the scores and their ties as they are, every
    choice of `n_positives` of the `n_samples` samples as the positives is equally likely.

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
        Test one average over the classes, formed as in scikit-learn: the mean over the classes,
        the mean by their numbers of samples, or average precision of all classes' samples in one
        list. By default each class is tested by itself. Binary labels ignore it.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values are for rankings better than chance, worse than chance, or
        either. Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : str, default="auto"
        How the p-value is computed: ``"auto"``, ``"analytic"``, ``"permutation"``,
        ``"normal"``, ``"pearson3"`` or ``"zhang_su"``; see :func:`ap_null_distribution`. Weights,
        averages, strata and clusters have no law in closed form: ``"auto"`` takes permutation, and
        methods other than these two are errors.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights, for average precision as in scikit-learn, without `k`. Equal weights
        are the same as none.
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

    Returns
    -------
    result : AveragePrecisionTestResult
        The statistic, its p-value, and the null distribution they were compared with.

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
        p-value 1.0, and the z-score and adjusted statistic are nan. Or if a class has none.
    UserWarning
        If weights that follow labels are related to the scores of samples with the same label, or
        weights that follow scores to the labels of samples with similar scores, or if
        strata, clusters or blocks leave fewer than 1000 different labellings, or shifts fewer than
        100.

    See Also
    --------
    ap_null_distribution : The null distribution by itself.
    average_precision_pvalue : Only the p-value, for use as a scorer.
    score_strata : Strata of samples with similar scores.
    sklearn.metrics.average_precision_score : The statistic.
    sklearn.model_selection.permutation_test_score : Test of an estimator by refitting it.

    Notes
    -----
    The statistic is :math:`\mathrm{AP} = \frac{1}{m} \sum_b y_b H_b / T_b` over the blocks of
    equal scores, with :math:`y_b` of the :math:`m` positives in block :math:`b`, :math:`H_b`
    positives and :math:`T_b` samples down to its end. The p-value
    :math:`P(\mathrm{AP} \ge \mathrm{ap})` counts equality. The labels must not have trained the
    model that made the scores.

    With weights :math:`y_b`, :math:`H_b`, :math:`T_b` and :math:`m` are sums of weights. Averages
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

    If drawing stops at the l-th labelling, the h-th that is as extreme, the p-value is
    :math:`h / l` [2]_; else, with b of B labellings as extreme, :math:`(b + 1) / (B + 1)`.

    References
    ----------
    .. [1] Zhang, P., & Su, W. (2012). Statistical inference on recall, precision and average
       precision under random selection. 9th International Conference on Fuzzy Systems and
       Knowledge Discovery, 1348-1352.
    .. [2] Besag, J., & Clifford, P. (1991). Sequential Monte Carlo p-values. Biometrika, 78(2),
       301-304.

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

    Three classes, each tested by itself and all by their mean:

    >>> y_true = ["a", "a", "b", "b", "c", "c"]
    >>> y_score = [[3, 1, 0], [2, 1, 1], [1, 3, 0], [0, 2, 1], [0, 0, 2], [1, 2, 2]]
    >>> average_precision_test(y_true, y_score).pvalue.round(4)
    array([0.0667, 0.1333, 0.0667])
    >>> average_precision_test(y_true, y_score, average="macro").method
    'permutation'

    Forty clusters of three samples with one label each:

    >>> import numpy as np
    >>> clusters = np.repeat(np.arange(40), 3)
    >>> y_true = clusters < 8
    >>> y_score = np.random.default_rng(0).normal(size=40)[clusters]
    >>> ignoring = average_precision_test(y_true, y_score)
    >>> respecting = average_precision_test(y_true, y_score, clusters=clusters)
    >>> bool(ignoring.pvalue < respecting.pvalue), respecting.n_resamples
    (True, 9999)
    """
    check_stopping(n_exceedances, alternative)
    observed = observe_any_average_precision(
        y_true,
        y_score,
        average=average,
        sample_weight=sample_weight,
        weights_follow=weights_follow,
        restrictions=Restrictions(strata, clusters, order, block_length),
        pos_label=pos_label,
        k=k,
        normalize=normalize,
        method=method,
        n_permutations=n_permutations,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    parts = observed if isinstance(observed, list) else [observed]
    message = _undefined_parts(parts)
    if message is not None:
        warn_caller(message, UndefinedMetricWarning)
    results = [_average_precision_result(part, alternative, n_exceedances) for part in parts]
    return results_as_one(results, (len(results),)) if isinstance(observed, list) else results[0]


def _average_precision_result(
    observed: Observation, alternative: str, n_exceedances: int | None
) -> AveragePrecisionTestResult:
    fields_of_all = significance_fields(
        observed.statistic, observed.law, alternative, n_exceedances=n_exceedances
    )
    result = AveragePrecisionTestResult(**fields_of_all)
    return result if observed.is_defined else _without_scale(result)


def _without_scale(result: AveragePrecisionTestResult) -> AveragePrecisionTestResult:
    return replace(result, zscore=math.nan, adjusted_statistic=math.nan)


def significance_fields(
    statistic: Any,
    law: NullDistribution,
    alternative: str,
    computed: tuple[Any, Any, Any] | None = None,
    n_exceedances: int | None = None,
) -> dict[str, Any]:
    """Fields that the results of all tests have; arrays where the statistic is one.

    The p-value, its logarithm and its relative error may have been computed already. Drawing of
    resamples stops at a number of exceedances.
    """
    if n_exceedances is not None:
        law, computed = _stopped(law, statistic, alternative, n_exceedances)
    if computed is None:
        law, computed = with_known_error(law, statistic, alternative)
    pvalue, log_pvalue, error = computed
    n_resamples, n_extreme = resamples_of(law, statistic, alternative)
    return {
        "statistic": statistic,
        "pvalue": pvalue,
        "log10_pvalue": as_log10(log_pvalue),
        "pvalue_relative_error": error,
        "zscore": standardized(statistic, law),
        "adjusted_statistic": adjusted(statistic, law),
        "null_distribution": law,
        "n_samples": law.n_samples,
        "n_positives": law.n_positives,
        "alternative": alternative,
        "method": law.method,
        "n_resamples": n_resamples,
        "n_exceedances": n_extreme,
    }


def _stopped(
    law: NullDistribution, statistic: Any, alternative: str, n_exceedances: int
) -> tuple[NullDistribution, tuple[Any, Any, Any] | None]:
    if law.method != "permutation":
        raise ValueError(
            f"n_exceedances={n_exceedances} stops the drawing of labellings, and there is none "
            f"with method={law.method!r}: use method='permutation', or leave n_exceedances out."
        )
    return stopped_law(law, statistic, alternative, n_exceedances)


def results_as_one(results: list[R], shape: tuple[int, ...], common: tuple[str, ...] = ()) -> R:
    """One result with an array of a shape in each field, but for those that all have in common."""
    columns: dict[str, Any] = {}
    for field in fields(results[0]):
        values = [getattr(result, field.name) for result in results]
        if field.name in ("n_samples", "alternative", "method", *common) or values[0] is None:
            columns[field.name] = values[0]
        elif field.name == "null_distribution":
            columns[field.name] = tuple(values)
        else:
            columns[field.name] = np.reshape(values, shape)
    return type(results[0])(**columns)


def _undefined_parts(parts: list[Observation]) -> str | None:
    """Text of the warning about what has no positives, if there is any."""
    if all(not part.columns_without_positives for part in parts):
        return None
    if len(parts) == 1 and not parts[0].is_defined:
        return no_positives("Average precision", "0.0")
    columns = [column for part in parts for column in part.columns_without_positives]
    named = ", ".join(map(str, columns))
    return no_positives(f"Average precision of the class in column {named}", "0.0")


def no_positives(what: str, value: str) -> str:
    """Text of the warning about labels without positives."""
    return f"{what} is undefined without positives in y_true and is set to {value}."


def observe_average_precision(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None,
    *,
    k: float | None,
    normalize: str,
    pos_label: PosLabel,
    method: str = "auto",
    n_permutations: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> tuple[Ranking, float, NullDistribution]:
    """Return the ranking, its average precision (at k), and the null law given its ties."""
    ranking = as_ranking(y_true, y_score, pos_label)
    law = frozen_ap_law(
        ranking.n_samples,
        ranking.n_positives,
        k=k,
        normalize=normalize,
        tie_sizes=ranking.tie_sizes,
        method=method,
        n_permutations=n_permutations,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    return ranking, law.statistic.evaluate(ranking.tie_sizes, ranking.hits), law


@dataclass(frozen=True, eq=False)
class Observation:
    """A statistic with the law that it is compared with.

    Attributes
    ----------
    statistic : float
        Average precision.
    law : NullDistribution
        Its law under random labelling.
    columns_without_positives : tuple of int
        Columns of the classes whose average precision is undefined and counts as 0.
    is_defined : bool
        Whether there are positives, with weight, in any class.
    """

    statistic: float
    law: NullDistribution
    columns_without_positives: tuple[int, ...]
    is_defined: bool


def observe_any_average_precision(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None,
    *,
    average: str | None = None,
    sample_weight: ArrayLike | None = None,
    weights_follow: str = "label",
    restrictions: Restrictions = _UNRESTRICTED,
    pos_label: PosLabel = 1,
    **options: Any,
) -> Observation | list[Observation]:
    """Observe average precision of binary labels or of classes, with weights or without them.

    Labels of several classes without `average` give a list with one observation for each. The
    options are the others of `observe_average_precision`.
    """
    check_average(average)
    check_weights_follow(weights_follow)
    several = not isinstance(y_true, Ranking) and has_classes(y_true, y_score)
    given = ["sample_weight"] if sample_weight is not None else []
    given += restrictions.given
    if not given and not several:
        return _observe_ranking(as_ranking(y_true, y_score, pos_label), 0, options)
    if given:
        check_has_rows(y_true, y_score, given[0])
    assert y_score is not None
    assert not isinstance(y_true, Ranking)
    if several:
        table = LabelTable(*as_label_table(y_true, y_score))
    else:
        positive, scores = as_binary(y_true, y_score, pos_label)
        table, average = LabelTable(positive[:, None], scores[:, None]), None
    weights = None if sample_weight is None else as_weights(sample_weight, table.n_samples)
    exchange = restrictions.exchange(table.labels)
    if weights is not None:
        message = weights_warning(table, weights, weights_follow, exchange)
        if message is not None:
            warn_caller(message, UserWarning)
    rows = _Rows(table, weights, weights_follow, exchange)
    rows.warn_of_few_labellings(by_column=average is None)
    if average is not None:
        return rows.observe(average, options)
    observations = [
        rows.column(column).observe(None, options, column) for column in range(table.n_classes)
    ]
    return observations if several else observations[0]


@dataclass(frozen=True, eq=False)
class _Rows:
    """A table of labels and scores with what is permuted and how."""

    table: LabelTable
    weights: Floats | None
    weights_follow: str
    exchange: AnyExchange | None

    def column(self, index: int) -> _Rows:
        """The same for one class."""
        return replace(self, table=self.table.column(index))

    def warn_of_few_labellings(self, by_column: bool) -> None:
        """Warn once, of the first class or table whose different labellings are few."""
        if self.exchange is None:
            return
        labels = self.table.labels
        moving = self.weights if self.weights_follow == "label" else None
        for part in np.split(labels, labels.shape[1], axis=1) if by_column else [labels]:
            message = few_labellings_warning(self.exchange, part, moving)
            if message is not None:
                return warn_caller(message, UserWarning)

    def observe(
        self, average: str | None, options: dict[str, Any], first_column: int = 0
    ) -> Observation:
        """Observe an average, or average precision of a single column."""
        if average is not None or self.weights is not None:
            return self._observe_rows(average, options, first_column)
        ranking = self.table.ranking(0)
        if self.exchange is None:
            return _observe_ranking(ranking, first_column, options)
        options = dict(options)
        check_permutation(options.pop("method"), RESTRICTED)
        statistic = average_precision(
            self.table.n_samples, options.pop("k"), options.pop("normalize")
        )
        labels = RestrictedLabels.from_scores(
            self.table.labels[:, 0], self.table.scores[:, 0], self.exchange
        )
        best = statistic.best(ranking.n_samples, ranking.n_positives)
        law = labels.law(labels.exchanged_sums(statistic, best), statistic, **options)
        is_defined = ranking.n_positives > 0
        value = statistic.evaluate(ranking.tie_sizes, ranking.hits)
        return Observation(value, law, () if is_defined else (first_column,), is_defined)

    def _observe_rows(
        self, average: str | None, options: dict[str, Any], first_column: int
    ) -> Observation:
        table, weights = self.table, self.weights
        statistic, law = observe_rows(
            table,
            weights,
            average=average,
            weights_follow=self.weights_follow,
            exchange=self.exchange,
            **options,
        )
        mass = table.n_positives if weights is None else weights @ table.labels
        is_defined = bool(mass.any())
        # With these averages a class without positives counts for nothing.
        if average in ("weighted", "micro") and is_defined:
            return Observation(statistic, law, (), True)
        empty = tuple((first_column + np.flatnonzero(mass == 0.0)).tolist())
        return Observation(statistic, law, empty, is_defined)


def _observe_ranking(ranking: Ranking, column: int, options: dict[str, Any]) -> Observation:
    _, statistic, law = observe_average_precision(ranking, None, pos_label=1, **options)
    is_defined = ranking.n_positives > 0
    return Observation(statistic, law, () if is_defined else (column,), is_defined)


def restricted_labels(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None,
    pos_label: PosLabel,
    restrictions: Restrictions,
) -> RestrictedLabels | None:
    """Read binary labels with what restricts them, None if nothing does; warn of few labellings."""
    labels = read_restricted_labels(y_true, y_score, pos_label, restrictions)
    if labels is not None:
        message = few_labellings_warning(labels.exchange, labels.positive[:, None])
        if message is not None:
            warn_caller(message, UserWarning)
    return labels


def as_log10(log_pvalue: Any) -> Any:
    """Base-10 logarithm from the natural one; never -0.0 and never above 0."""
    return plain(np.minimum(0.0, np.asarray(log_pvalue) / math.log(10.0)) + 0.0)


def standardized(statistic: Any, law: NullDistribution) -> Any:
    """Distance from chance in standard deviations; nan when the statistic cannot vary."""
    deviation = np.asarray(law.std())
    varies = deviation > 0.0
    score = (statistic - law.mean()) / np.where(varies, deviation, 1.0)
    return plain(np.where(varies, score, math.nan))


def adjusted(statistic: Any, law: NullDistribution) -> Any:
    """Statistic on a scale with chance at 0 and a perfect ranking at 1.

    It is nan where no ranking is better than another, as when there is only one class.
    """
    mean, best = np.asarray(law.mean()), value_of_perfect_ranking(law)
    if np.all((law.n_positives == 0) | (law.n_positives == law.n_samples)):
        return plain(np.full(mean.shape, math.nan))
    # One value is its own mean, whatever rounding does to the difference.
    excess = np.where(np.asarray(law.std()) > 0.0, statistic - mean, 0.0)
    room = best - mean
    can_differ = room > 1e-14 * np.abs(best)
    return plain(np.where(can_differ, excess / np.where(can_differ, room, 1.0), math.nan))
