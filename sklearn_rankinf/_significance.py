"""Tests of a ranking against random labelling, and what they return."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._null_distributions import (
    NullDistribution,
    check_alternative,
    frozen_ap_law,
)
from sklearn_rankinf._ranking import PosLabel, Ranking, as_ranking


@dataclass(frozen=True, eq=False, repr=False)
class _RankTestResult:
    """What every test of one ranking against random labelling returns."""

    statistic: float
    pvalue: float
    log10_pvalue: float
    pvalue_relative_error: float
    zscore: float
    adjusted_statistic: float
    null_distribution: NullDistribution
    n_samples: int
    n_positives: int
    alternative: str
    method: str

    def __repr__(self) -> str:
        pvalue = (
            f"pvalue={self.pvalue:.4g}"
            if self.pvalue > 0.0
            else f"log10_pvalue={self.log10_pvalue:.6g}"
        )
        return (
            f"{type(self).__name__}(statistic={self.statistic:.4g}, {pvalue}, "
            f"n_samples={self.n_samples}, n_positives={self.n_positives}, "
            f"alternative={self.alternative!r}, method={self.method!r})"
        )


class AveragePrecisionTestResult(_RankTestResult):
    """Result of :func:`average_precision_test`.

    Attributes
    ----------
    statistic : float
        Average precision, or average precision at `k`.
    pvalue : float
        Probability, when labels are assigned to the ranks at random, of a statistic at least as
        extreme as the observed one.
    log10_pvalue : float
        Base-10 logarithm of the p-value, finite where `pvalue` underflows to 0.
    pvalue_relative_error : float
        Estimate, on the large side, of the relative error of `pvalue`: numerical for an exact
        law, the Monte Carlo standard error for ``method="permutation"``, and infinite, that is
        unknown, for the approximations.
    zscore : float
        (statistic - E) / sd with the exact mean E and standard deviation sd under random
        labelling; nan when the statistic cannot vary.
    adjusted_statistic : float
        (statistic - E) / (1 - E): 0 is chance, 1 is perfect; nan when there is only one class.
    null_distribution : NullDistribution
        The law of the statistic under random labelling, given the ties.
    n_samples : int
        Number of samples.
    n_positives : int
        Number of positives.
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


def average_precision_test(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: float | None = None,
    normalize: str = "min",
    pos_label: PosLabel = 1,
    alternative: str = "greater",
    method: str = "auto",
    n_permutations: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> AveragePrecisionTestResult:
    r"""Test whether a ranking has a better average precision than random labelling gives.

    The null hypothesis is random selection: with the scores and their ties as they are, every
    choice of `n_positives` of the `n_samples` samples as the positives is equally likely.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for samples more likely to be positive. Required unless `y_true` is a
        ranking.
    k : int or float, optional
        Test average precision at `k` instead: an int of at least 1 counts samples, a float
        between 0 and 1 is a fraction of `n_samples`, rounded up.
    normalize : {"min", "positives"}, default="min"
        Divisor of average precision at `k`: the smaller of `n_positives` and `k`, or
        `n_positives`. Without `k` the two are the same.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values are for rankings better than chance, worse than chance, or
        either. Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : str, default="auto"
        How the p-value is computed: ``"auto"``, ``"analytic"``, ``"permutation"``,
        ``"normal"``, ``"pearson3"`` or ``"zhang_su"``; see :func:`ap_null_distribution`.
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
        If `y_score` is missing, or given with a ranking, or if an argument is of a wrong type.
    ValueError
        If labels or scores cannot be ranked (see :meth:`Ranking.from_scores`), or if an option
        is not one of those above.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives: the statistic is then 0.0, the p-value 1.0, and the z-score
        and adjusted statistic are nan.

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
    check_alternative(alternative)
    ranking, statistic, law = observe_average_precision(
        y_true,
        y_score,
        k=k,
        normalize=normalize,
        pos_label=pos_label,
        method=method,
        n_permutations=n_permutations,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    if ranking.n_positives == 0:
        warnings.warn(no_positives("Average precision", "0.0"), UndefinedMetricWarning, 2)
    return AveragePrecisionTestResult(
        statistic=statistic,
        pvalue=float(law.pvalue(statistic, alternative=alternative)),
        log10_pvalue=log10_pvalue(law, statistic, alternative),
        pvalue_relative_error=float(law.relative_error(statistic, alternative=alternative)),
        zscore=standardized(statistic, law),
        adjusted_statistic=adjusted(statistic, law),
        null_distribution=law,
        n_samples=ranking.n_samples,
        n_positives=ranking.n_positives,
        alternative=alternative,
        method=law.method,
    )


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


def log10_pvalue(law: NullDistribution, statistic: float, alternative: str) -> float:
    """Base-10 logarithm of a p-value; never -0.0 and never above 0."""
    natural = float(law.log_pvalue(statistic, alternative=alternative))
    return min(0.0, natural / math.log(10.0))


def standardized(statistic: float, law: NullDistribution) -> float:
    """Distance from chance in standard deviations; nan when the statistic cannot vary."""
    deviation = float(law.std())
    return (statistic - float(law.mean())) / deviation if deviation > 0.0 else math.nan


def adjusted(statistic: float, law: NullDistribution) -> float:
    """Statistic on a scale with chance at 0 and 1 at 1; nan when there is only one class."""
    if law.n_positives in (0, law.n_samples):
        return math.nan
    if float(law.std()) == 0.0:
        return 0.0  # one value, its own mean, whatever rounding does to the difference
    chance = float(law.mean())
    return (statistic - chance) / (1.0 - chance)
