"""Score functions ``(y_true, y_score) -> float`` for scikit-learn's scorers."""

from __future__ import annotations

import math
import warnings
from typing import Any

from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._null_distributions import check_alternative
from sklearn_rankinf._ranking import PosLabel, Ranking
from sklearn_rankinf._significance import (
    adjusted,
    log10_pvalue,
    no_positives,
    observe_average_precision,
    standardized,
)


def average_precision_pvalue(
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
) -> float:
    r"""P-value of average precision against random labelling.

    Smaller is better, so a scorer is made with ``greater_is_better=False``. For a search prefer
    :func:`average_precision_neg_log10_pvalue`, which does not underflow.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for samples more likely to be positive.
    k : int or float, optional
        Use average precision at `k`: a number of samples, or a fraction of them between 0 and 1.
    normalize : {"min", "positives"}, default="min"
        Divisor of average precision at `k`.
    pos_label : int, float, bool or str, default=1
        The label of the positives.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Direction of the test.
    method : str, default="auto"
        How the p-value is computed; see :func:`ap_null_distribution`.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.

    Returns
    -------
    pvalue : float
        The p-value, between 0 and 1; 1.0 when there is only one class or one score.

    Raises
    ------
    TypeError, ValueError
        As :func:`average_precision_test` does.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives.

    See Also
    --------
    average_precision_neg_log10_pvalue : The same on a scale where greater is better.
    average_precision_test : The complete test.

    Notes
    -----
    The p-value is :math:`P(\mathrm{AP} \ge \mathrm{ap})` when every choice of the positives
    among the samples is equally likely and the scores stay as they are.

    Examples
    --------
    >>> from sklearn.metrics import make_scorer
    >>> from sklearn_rankinf import average_precision_pvalue
    >>> round(average_precision_pvalue([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 6)
    0.333333
    >>> scorer = make_scorer(
    ...     average_precision_pvalue,
    ...     response_method=("decision_function", "predict_proba"),
    ...     greater_is_better=False,
    ... )
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
    )
    if ranking.n_positives == 0:
        warnings.warn(no_positives("The p-value", "1.0"), UndefinedMetricWarning, stacklevel=2)
    return float(law.pvalue(statistic, alternative=alternative))


def average_precision_neg_log10_pvalue(
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
) -> float:
    r"""Evidence against random labelling: minus the base-10 logarithm of the p-value.

    Greater is better, 0 is no evidence, and the value stays finite where the p-value underflows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for samples more likely to be positive.
    k : int or float, optional
        Use average precision at `k`: a number of samples, or a fraction of them between 0 and 1.
    normalize : {"min", "positives"}, default="min"
        Divisor of average precision at `k`.
    pos_label : int, float, bool or str, default=1
        The label of the positives.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Direction of the test.
    method : str, default="auto"
        How the p-value is computed; see :func:`ap_null_distribution`.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.

    Returns
    -------
    score : float
        A number of at least 0; 0.0 when there is only one class or one score.

    Raises
    ------
    TypeError, ValueError
        As :func:`average_precision_test` does.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives.

    See Also
    --------
    average_precision_pvalue : The p-value itself.
    average_precision_test : The complete test.

    Notes
    -----
    The score is :math:`-\log_{10} P(\mathrm{AP} \ge \mathrm{ap})` when every choice of the
    positives among the samples is equally likely and the scores stay as they are.

    Examples
    --------
    >>> from sklearn.metrics import make_scorer
    >>> from sklearn_rankinf import average_precision_neg_log10_pvalue
    >>> y_true, y_score = [1] * 3 + [0] * 17, range(20, 0, -1)
    >>> round(average_precision_neg_log10_pvalue(y_true, y_score), 4)  # log10 of C(20, 3)
    3.0569
    >>> scorer = make_scorer(
    ...     average_precision_neg_log10_pvalue,
    ...     response_method=("decision_function", "predict_proba"),
    ... )
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
    )
    if ranking.n_positives == 0:
        message = no_positives("-log10 of the p-value", "0.0")
        warnings.warn(message, UndefinedMetricWarning, stacklevel=2)
    return abs(log10_pvalue(law, statistic, alternative))


def adjusted_average_precision_score(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: float | None = None,
    normalize: str = "min",
    pos_label: PosLabel = 1,
) -> float:
    r"""Average precision on a scale where chance is 0 and a perfect ranking is 1.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for samples more likely to be positive.
    k : int or float, optional
        Use average precision at `k`: a number of samples, or a fraction of them between 0 and 1.
    normalize : {"min", "positives"}, default="min"
        Divisor of average precision at `k`.
    pos_label : int, float, bool or str, default=1
        The label of the positives.

    Returns
    -------
    score : float
        The adjusted average precision; negative below chance, nan when there is only one class.

    Raises
    ------
    TypeError, ValueError
        As :func:`average_precision_test` does.

    Warns
    -----
    UndefinedMetricWarning
        If there is only one class.

    See Also
    --------
    standardized_average_precision_score : Distance from chance in standard deviations.
    sklearn.metrics.average_precision_score : Average precision without the adjustment.

    Notes
    -----
    The score is :math:`(\mathrm{AP} - E) / (1 - E)` with the exact mean :math:`E` of average
    precision under random labelling, given the ties. Without ties and for :math:`m` of :math:`n`
    positive, :math:`E = \frac{1}{n}\left[H_n + \frac{m - 1}{n - 1}(n - H_n)\right]` with the
    harmonic number :math:`H_n`, which is larger than the prevalence :math:`m / n`. The adjustment
    does not make values comparable across prevalences.

    Examples
    --------
    >>> from sklearn_rankinf import adjusted_average_precision_score
    >>> adjusted_average_precision_score([1, 1, 0, 0], [0.9, 0.8, 0.3, 0.1])
    1.0
    >>> adjusted_average_precision_score([1, 1, 0, 0], [0.5, 0.5, 0.5, 0.5])
    0.0
    """
    ranking, statistic, law = observe_average_precision(
        y_true, y_score, k=k, normalize=normalize, pos_label=pos_label
    )
    score = adjusted(statistic, law)
    if math.isnan(score):
        message = _undefined("Adjusted average precision", ranking)
        warnings.warn(message, UndefinedMetricWarning, stacklevel=2)
    return score


def standardized_average_precision_score(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: float | None = None,
    normalize: str = "min",
    pos_label: PosLabel = 1,
) -> float:
    r"""Distance of average precision from chance, in standard deviations.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for samples more likely to be positive.
    k : int or float, optional
        Use average precision at `k`: a number of samples, or a fraction of them between 0 and 1.
    normalize : {"min", "positives"}, default="min"
        Divisor of average precision at `k`.
    pos_label : int, float, bool or str, default=1
        The label of the positives.

    Returns
    -------
    score : float
        The z-score of average precision; nan when average precision cannot vary, because there
        is only one class or one score.

    Raises
    ------
    TypeError, ValueError
        As :func:`average_precision_test` does.

    Warns
    -----
    UndefinedMetricWarning
        If average precision cannot vary.

    See Also
    --------
    adjusted_average_precision_score : Average precision with chance at 0 and the best at 1.
    average_precision_test : A p-value. The z-score has none to offer: for rare positives the
        upper tail is far heavier than the normal law's.

    Notes
    -----
    The score is :math:`(\mathrm{AP} - E) / \sigma` with the exact mean :math:`E` and standard
    deviation :math:`\sigma` of average precision under random labelling, given the ties.

    Examples
    --------
    Of the six ways to place two positives in four ranks this is the best one, and 1.59 standard
    deviations above the mean of all six:

    >>> from sklearn_rankinf import standardized_average_precision_score
    >>> score = standardized_average_precision_score([1, 1, 0, 0], [0.9, 0.8, 0.3, 0.1])
    >>> round(score, 4)
    1.5909
    """
    ranking, statistic, law = observe_average_precision(
        y_true, y_score, k=k, normalize=normalize, pos_label=pos_label
    )
    score = standardized(statistic, law)
    if math.isnan(score):
        message = _undefined("Standardized average precision", ranking)
        warnings.warn(message, UndefinedMetricWarning, stacklevel=2)
    return score


def _undefined(what: str, ranking: Ranking) -> str:
    """Text of the warning about a score that is nan."""
    if ranking.n_positives == 0:
        return no_positives(what, "nan")
    reason = "negatives in y_true" if ranking.n_positives == ranking.n_samples else "unequal scores"
    return f"{what} is undefined without {reason} and is set to nan."
