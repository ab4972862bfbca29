"""Tests of a ranking against random labelling, and what they return."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, fields, replace
from inspect import currentframe
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._engine.statistics import Floats
from sklearn_rankinf._guard import significance_test
from sklearn_rankinf._null_distributions import (
    NullDistribution,
    check_alternative,
    frozen_ap_law,
    plain,
    pvalue_log_and_error,
    value_of_perfect_ranking,
)
from sklearn_rankinf._ranking import (
    LabelTable,
    PosLabel,
    Ranking,
    as_binary,
    as_label_table,
    as_ranking,
    as_weights,
    has_classes,
)
from sklearn_rankinf._row_permutations import (
    check_average,
    check_weights_follow,
    dependence_warning,
    observe_rows,
)

_N_SHOWN = 5  # values of an array in a short description


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

    def __repr__(self) -> str:
        pvalue = (
            f"pvalue={_shown(self.pvalue, 4)}"
            if np.all(self.pvalue > 0.0)
            else f"log10_pvalue={_shown(self.log10_pvalue, 6)}"
        )
        return (
            f"{type(self).__name__}(statistic={_shown(self.statistic, 4)}, {pvalue}, "
            f"n_samples={self.n_samples}, n_positives={_shown(self.n_positives, 12)}, "
            f"alternative={self.alternative!r}, method={self.method!r})"
        )


def _shown(values: Any, n_digits: int) -> str:
    """A number, or the first few of an array."""
    if np.ndim(values) == 0:
        return f"{values:.{n_digits}g}"
    flat = np.ravel(values)
    shown = ", ".join(f"{value:.{n_digits}g}" for value in flat[:_N_SHOWN])
    return f"[{shown}{', ...' if flat.size > _N_SHOWN else ''}]"


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
    n_permutations: int = 9999,
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
        ``"normal"``, ``"pearson3"`` or ``"zhang_su"``; see :func:`ap_null_distribution`. Weights
        and averages have no law in closed form: ``"auto"`` takes permutation, and methods other
        than these two are errors.
    sample_weight : array-like of shape (n_samples,), optional
        Non-negative weights, for average precision as in scikit-learn, without `k`. Equal weights
        are the same as none.
    weights_follow : {"label", "score"}, default="label"
        What the null hypothesis leaves a weight with: with ``"label"`` labels and weights are
        permuted together over the scores, which is valid whatever the weights were made of; with
        ``"score"`` the weights stay with the scores and the labels are permuted, for weights of
        the samples that have nothing to do with their labels.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
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
        If `y_score` is missing, or given with a ranking, if weights are given with a ranking, or
        if an argument is of a wrong type.
    ValueError
        If labels or scores cannot be ranked (see :meth:`Ranking.from_scores`), if `y_score` lacks
        a column for a class, if weights are negative or all 0, or if an option is not one of those
        above or has no meaning with another.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives, or only ones without weight: the statistic is then 0.0, the
        p-value 1.0, and the z-score and adjusted statistic are nan. Or if a class has none.
    UserWarning
        If the weights depend on the labels and ``weights_follow="score"`` separates them.

    See Also
    --------
    ap_null_distribution : The null distribution by itself.
    average_precision_pvalue : Only the p-value, for use as a scorer.
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
    reject a true null hypothesis almost always if the labels leave them.

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

    Three classes, each tested by itself and all by their mean:

    >>> y_true = ["a", "a", "b", "b", "c", "c"]
    >>> y_score = [[3, 1, 0], [2, 1, 1], [1, 3, 0], [0, 2, 1], [0, 0, 2], [1, 2, 2]]
    >>> average_precision_test(y_true, y_score).pvalue.round(4)
    array([0.0667, 0.1333, 0.0667])
    >>> average_precision_test(y_true, y_score, average="macro").method
    'permutation'
    """
    check_alternative(alternative)
    observed = observe_any_average_precision(
        y_true,
        y_score,
        average=average,
        sample_weight=sample_weight,
        weights_follow=weights_follow,
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
    results = [_average_precision_result(part, alternative) for part in parts]
    return _results_as_one(results) if isinstance(observed, list) else results[0]


def _average_precision_result(
    observed: Observation, alternative: str
) -> AveragePrecisionTestResult:
    result = AveragePrecisionTestResult(
        **significance_fields(observed.statistic, observed.law, alternative)
    )
    return result if observed.is_defined else _without_scale(result)


def _without_scale(result: AveragePrecisionTestResult) -> AveragePrecisionTestResult:
    return replace(result, zscore=math.nan, adjusted_statistic=math.nan)


def significance_fields(
    statistic: Any,
    law: NullDistribution,
    alternative: str,
    computed: tuple[Any, Any, Any] | None = None,
) -> dict[str, Any]:
    """Fields that the results of all tests have; arrays where the statistic is one.

    The p-value, its logarithm and its relative error may have been computed already.
    """
    computed = computed or pvalue_log_and_error(law, statistic, alternative)
    pvalue, log_pvalue, error = computed
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
    }


def _results_as_one(results: list[AveragePrecisionTestResult]) -> AveragePrecisionTestResult:
    """One result with an array in each field for the results of the classes."""
    columns: dict[str, Any] = {
        field.name: [getattr(result, field.name) for result in results]
        for field in fields(AveragePrecisionTestResult)
    }
    for name, values in columns.items():
        if name in ("n_samples", "alternative", "method"):
            columns[name] = values[0]
        else:
            columns[name] = tuple(values) if name == "null_distribution" else np.array(values)
    return AveragePrecisionTestResult(**columns)


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
    pos_label: PosLabel = 1,
    **options: Any,
) -> Observation | list[Observation]:
    """Observe average precision of binary labels or of classes, with weights or without them.

    Labels of several classes without `average` give a list with one observation for each. The
    options are the others of `observe_average_precision`.
    """
    check_average(average)
    check_weights_follow(weights_follow)
    several = has_classes(y_true, y_score)
    if sample_weight is None and not several:
        return _observe_ranking(as_ranking(y_true, y_score, pos_label), 0, options)
    if isinstance(y_true, Ranking) or y_score is None:
        raise TypeError(
            "sample_weight needs y_true and y_score, since a Ranking holds counts of samples and "
            f"no weights; got y_true of type {type(y_true).__name__} and y_score of type "
            f"{type(y_score).__name__}."
        )
    if several:
        table = as_label_table(y_true, y_score)
    else:
        positive, scores = as_binary(y_true, y_score, pos_label)
        table, average = LabelTable(positive[:, None], scores[:, None]), None
    weights = None if sample_weight is None else as_weights(sample_weight, table.n_samples)
    if weights is not None and weights_follow == "score":
        message = dependence_warning(table.labels, weights)
        if message is not None:
            warn_caller(message, UserWarning)
    if average is not None:
        return _observe_rows(table, weights, 0, average, weights_follow, options)
    observations = [
        _observe_ranking(table.ranking(column), column, options)
        if weights is None
        else _observe_rows(table.column(column), weights, column, None, weights_follow, options)
        for column in range(table.n_classes)
    ]
    return observations if several else observations[0]


def _observe_ranking(ranking: Ranking, column: int, options: dict[str, Any]) -> Observation:
    _, statistic, law = observe_average_precision(ranking, None, pos_label=1, **options)
    is_defined = ranking.n_positives > 0
    return Observation(statistic, law, () if is_defined else (column,), is_defined)


def _observe_rows(
    table: LabelTable,
    weights: Floats | None,
    first_column: int,
    average: str | None,
    weights_follow: str,
    options: dict[str, Any],
) -> Observation:
    statistic, law = observe_rows(
        table, weights, average=average, weights_follow=weights_follow, **options
    )
    mass = table.n_positives if weights is None else weights @ table.labels
    is_defined = bool(mass.any())
    # With these averages a class without positives counts for nothing.
    if average in ("weighted", "micro") and is_defined:
        return Observation(statistic, law, (), True)
    empty = tuple((first_column + np.flatnonzero(mass == 0.0)).tolist())
    return Observation(statistic, law, empty, is_defined)


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line outside this package that led here, however many calls ago."""
    package = __name__.partition(".")[0]
    frame, level = currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def log10_pvalue(law: NullDistribution, statistic: Any, alternative: str) -> Any:
    """Base-10 logarithm of a p-value; never -0.0 and never above 0."""
    return as_log10(law.log_pvalue(statistic, alternative=alternative))


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
