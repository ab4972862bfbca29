"""Planning by simulation: the power of a comparison, and the width of an interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sklearn_rankinf._estimation import (
    choose_method,
    influence_of_items,
    metric_comparison_test,
    metric_interval,
)
from sklearn_rankinf._metrics import as_metric, check_of_many_items
from sklearn_rankinf._permutation import Draws
from sklearn_rankinf._planning.power import share_error
from sklearn_rankinf._ranking import (
    Sample,
    check_alternative,
    check_between,
    check_confidence_level,
    check_counts,
    check_real,
)
from sklearn_rankinf._results import Result, format_value
from sklearn_rankinf._statistics import Floats, Metric, Statistic

# Number of items, over all data sets, that are drawn and tested in one task.
_CELLS_PER_CHUNK = 100_000
# Reported quantiles of the width.
_QUANTILES = (0.1, 0.5, 0.9)
# Size of a ranking that represents the population, its smallest number of positives, and the
# largest such size.
_POPULATION, _FEWEST_POSITIVES, _LARGEST_POPULATION = 10**6, 1000, 10**7


@dataclass(frozen=True, eq=False, repr=False)
class MetricComparisonPowerResult(Result):
    """Result of :func:`metric_comparison_power`.

    Attributes
    ----------
    metric : metric
        The metric; a cut-off is given as a number of items.
    power : float
        Fraction of the simulated data sets in which the test is significant.
    standard_error : float
        Monte Carlo standard error of the power.
    mean_a, mean_b : float
        Mean value of the metric for each ranker.
    mean_difference : float
        Mean of the difference.
    mean_difference_standard_error : float
        Monte Carlo standard error of the mean difference.
    difference_standard_deviation : float
        Standard deviation of the difference over data sets.
    auc_a, auc_b, correlation : float
        Expected ROC AUC of the rankers, and the correlation of their scores within each class.
    alpha : float
        Significance level.
    alternative, method : str
        Alternative and method of the test.
    n_samples, n_positives, n_resamples : int
        Number of items, of positives, and of simulated data sets.

    See Also
    --------
    metric_comparison_power : The function that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import metric_comparison_power
    >>> result = metric_comparison_power(
    ...     200, 50, auc_a=0.9, auc_b=0.6, metric="roc_auc", n_resamples=20
    ... )
    >>> print(result.summary())
    With 50 positives among 200 items, ROC AUC of two rankers with AUC 0.9 and 0.6
    (correlation 0) differs significantly at the level 0.05 with a probability of 1 ± 0.047
    (mean difference ...; 20 simulations).
    """

    metric: Metric
    power: float
    standard_error: float
    mean_a: float = field(repr=False)
    mean_b: float = field(repr=False)
    mean_difference: float
    mean_difference_standard_error: float = field(repr=False)
    difference_standard_deviation: float = field(repr=False)
    auc_a: float
    auc_b: float
    correlation: float
    alpha: float = field(repr=False)
    alternative: str = field(repr=False)
    method: str
    n_samples: int = field(repr=False)
    n_positives: int = field(repr=False)
    n_resamples: int = field(repr=False)

    def _sentences(self) -> Iterable[str]:
        return [
            f"With {self.n_positives} positives among {self.n_samples} items, "
            f"{self.metric.title_in_text} of two rankers with AUC {self.auc_a:g} and "
            f"{self.auc_b:g} (correlation {self.correlation:g}) differs significantly at the level "
            f"{self.alpha:g} with a probability of {format_value(self.power)} ± "
            f"{self.standard_error:.2g} (mean difference {format_value(self.mean_difference)}; "
            f"{self.n_resamples} simulations)."
        ]


@dataclass(frozen=True, eq=False, repr=False)
class MetricIntervalWidthResult(Result):
    """Result of :func:`metric_interval_width`.

    Attributes
    ----------
    metric : metric
        The metric; a cut-off is given as a number of items.
    mean_width : float
        Mean width of the interval.
    standard_error : float
        Monte Carlo standard error of the mean width.
    width_q10, width_q50, width_q90 : float
        Quantiles of the width over data sets.
    mean : float
        Mean value of the metric.
    mean_standard_error : float
        Monte Carlo standard error of the mean value.
    first_order_standard_error : float
        Standard error of the metric to first order, from influence values in the population; nan
        for metrics that are not defined for a population, such as DCG, and for a prevalence below
        one in 10,000.
    auc : float
        Expected ROC AUC of the ranker.
    confidence_level : float
        Nominal coverage of the interval.
    method : str
        The method of the interval.
    n_samples, n_positives, n_resamples : int
        Number of items, of positives, and of simulated data sets.

    See Also
    --------
    metric_interval_width : The function that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import metric_interval_width
    >>> result = metric_interval_width(200, 20, auc=0.76, n_resamples=50)
    >>> print(result.summary())
    With 20 positives among 200 items and AUC 0.76, the 95 % confidence interval of average
    precision is ... wide on average (80 % of the widths between ... and ...; 50 simulations).
    """

    metric: Metric
    mean_width: float
    standard_error: float
    width_q10: float = field(repr=False)
    width_q50: float = field(repr=False)
    width_q90: float = field(repr=False)
    mean: float
    mean_standard_error: float = field(repr=False)
    first_order_standard_error: float = field(repr=False)
    auc: float
    confidence_level: float
    method: str
    n_samples: int = field(repr=False)
    n_positives: int = field(repr=False)
    n_resamples: int = field(repr=False)

    def _sentences(self) -> Iterable[str]:
        return [
            f"With {self.n_positives} positives among {self.n_samples} items and AUC "
            f"{self.auc:g}, the {100 * self.confidence_level:g} % confidence interval of "
            f"{self.metric.title_in_text} is {format_value(self.mean_width)} ± "
            f"{self.standard_error:.2g} wide on average (80 % of the widths between "
            f"{format_value(self.width_q10)} and {format_value(self.width_q90)}; "
            f"{self.n_resamples} simulations)."
        ]


# Largest number of items in a simulated data set: its scores need 16 GB.
_MOST_SIMULATED = 10**9

# Random swaps in each simulated comparison: a p-value of 0.05 has a standard error of 0.007.
_RESAMPLES_PER_TEST = 999


def metric_comparison_power(
    n_samples: int,
    n_positives: int,
    *,
    auc_a: float,
    auc_b: float,
    correlation: float = 0.0,
    metric: str | Metric = "average_precision",
    alpha: float = 0.05,
    alternative: str = "two-sided",
    method: str = "auto",
    n_resamples: int = 1000,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> MetricComparisonPowerResult:
    r"""Power of the comparison of two rankings of the same items.

    Data sets are simulated, and :func:`metric_comparison_test` is run on each of them.

    Parameters
    ----------
    n_samples : int
        Number of items.
    n_positives : int
        Number of positives among them.
    auc_a, auc_b : float
        Expected ROC AUC of the two rankers, between 0 and 1.
    correlation : float, default=0.0
        Correlation of the scores of the two rankers, within positives and within negatives, from -1
        to 1.
    metric : str or metric, default="average_precision"
        A metric, or its name with a cut-off after an @, as in ``"recall@50"``; see
        :func:`metric_test`.
    alpha : float, default=0.05
        Significance level, between 0 and 1.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        Alternative hypothesis: a difference, a better first ranker, or a worse first ranker.
    method : str, default="auto"
        The test; see :func:`metric_comparison_test`.
    n_resamples : int, default=1000
        Number of simulated data sets.
    random_state : int, RandomState, Generator or None, default=0
        Source of random numbers.
    n_jobs : int, optional
        Number of jobs over the data sets. The result does not depend on it.
    verbose : int, default=0
        Verbosity of joblib; larger values print more messages.

    Returns
    -------
    result : MetricComparisonPowerResult
        The power with its standard error, and the mean difference.

    Raises
    ------
    TypeError
        If a number has the wrong type.
    ValueError
        If a number is out of its range, there are no positives or no negatives, or the metric does
        not have the `method`.

    See Also
    --------
    metric_comparison_test : The test whose power is computed.
    metric_power : Power of the test of one ranking against chance.

    Notes
    -----
    The scores of positives are :math:`N(d, 1)` and those of negatives :math:`N(0, 1)`, with
    :math:`d = \sqrt 2\, \Phi^{-1}(\mathrm{AUC})` for each ranker. The time is that of
    `n_resamples` tests; ``"swap"``, the choice of ``"auto"``, evaluates the metric
    999 times in each.

    Examples
    --------
    >>> from sklearn_rankinf import metric_comparison_power
    >>> result = metric_comparison_power(
    ...     200, 50, auc_a=0.8, auc_b=0.7, correlation=0.5, metric="roc_auc", method="delong",
    ...     n_resamples=200,
    ... )
    >>> 0.4 < result.power < 0.8, 0.08 < result.mean_difference < 0.12
    (True, True)
    """
    n, m = _check_both_classes(n_samples, n_positives)
    chosen = as_metric(metric)
    auc_a, auc_b = check_between(auc_a, "auc_a"), check_between(auc_b, "auc_b")
    alpha = check_between(alpha, "alpha")
    correlation = check_real(correlation, "correlation")
    if not -1.0 <= correlation <= 1.0:
        raise ValueError(f"correlation must lie between -1 and 1; got {correlation}.")
    alternative = check_alternative(alternative)
    shifts = _shift(auc_a), _shift(auc_b)

    test = partial(
        metric_comparison_test,
        metric=chosen,
        alternative=alternative,
        method=method,
        n_resamples=_RESAMPLES_PER_TEST,
    )
    task = partial(_compare_once, test, n, m, shifts, correlation)
    found = _over_data_sets(task, n, n_resamples, random_state, n_jobs, verbose)
    pvalues, of_a, of_b = np.array([one[:3] for one in found], dtype=float).T
    power = float(np.mean(pvalues <= alpha))
    mean, error = _mean_and_error(of_a - of_b)
    return MetricComparisonPowerResult(
        metric=chosen.at(n),
        power=power,
        standard_error=share_error(power, pvalues.size),
        mean_a=float(of_a.mean()),
        mean_b=float(of_b.mean()),
        mean_difference=mean,
        mean_difference_standard_error=error,
        difference_standard_deviation=error * math.sqrt(pvalues.size),
        auc_a=auc_a,
        auc_b=auc_b,
        correlation=correlation,
        alpha=alpha,
        alternative=alternative,
        method=found[0][3],
        n_samples=n,
        n_positives=m,
        n_resamples=pvalues.size,
    )


def metric_interval_width(
    n_samples: int,
    n_positives: int,
    *,
    auc: float,
    metric: str | Metric = "average_precision",
    confidence_level: float = 0.95,
    method: str = "auto",
    n_resamples: int = 1000,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> MetricIntervalWidthResult:
    r"""Expected width of the confidence interval of a metric.

    Data sets are simulated, and :func:`metric_interval` is run on each of them.

    Parameters
    ----------
    n_samples : int
        Number of items.
    n_positives : int
        Number of positives among them.
    auc : float
        Expected ROC AUC of the ranker, between 0 and 1.
    metric : str or metric, default="average_precision"
        A metric, or its name with a cut-off after an @, as in ``"recall@50"``; see
        :func:`metric_test`.
    confidence_level : float, default=0.95
        Nominal coverage of the interval.
    method : str, default="auto"
        Method of the interval; see :func:`metric_interval`.
    n_resamples : int, default=1000
        Number of simulated data sets.
    random_state : int, RandomState, Generator or None, default=0
        Source of random numbers.
    n_jobs : int, optional
        Number of jobs over the data sets. The result does not depend on it.
    verbose : int, default=0
        Verbosity of joblib; larger values print more messages.

    Returns
    -------
    result : MetricIntervalWidthResult
        Mean and quantiles of the width, the mean value of the metric, and its standard error to
        first order.

    Raises
    ------
    TypeError
        If a number has the wrong type.
    ValueError
        If a number is out of its range, there are no positives or no negatives, or the metric does
        not have the `method`.

    See Also
    --------
    metric_interval : The interval.
    metric_power : Power of the test against chance.

    Notes
    -----
    The scores of positives are :math:`N(d, 1)` and those of negatives :math:`N(0, 1)`, with
    :math:`d = \sqrt 2\, \Phi^{-1}(\mathrm{AUC})`. To first order the standard error of a metric
    with m positives among n items is

    .. math:: \mathrm{SE}^2 = \frac{s_1}{m} + \frac{s_0}{n - m},

    where :math:`s_1` and :math:`s_0` are the variances of its influence values over positives and
    over negatives, computed for a long ranking of normal quantiles. Use it for a first guess of the
    number of positives; the widths are those of the simulated intervals.

    Examples
    --------
    >>> from sklearn_rankinf import metric_interval_width
    >>> result = metric_interval_width(200, 20, auc=0.76, n_resamples=50)
    >>> 0.2 < result.mean_width < 0.5, round(result.first_order_standard_error, 3)
    (True, 0.093)
    """
    n, m = _check_both_classes(n_samples, n_positives)
    chosen = as_metric(metric)
    check_of_many_items(chosen)
    statistic: Any = chosen.at(n)
    auc = check_between(auc, "auc")
    confidence_level = check_confidence_level(confidence_level)
    method = choose_method(statistic, method, False)
    shift = _shift(auc)

    interval = partial(
        metric_interval, metric=statistic, confidence_level=confidence_level, method=method
    )
    task = partial(_estimate_once, interval, n, m, shift)
    found = _over_data_sets(task, n, n_resamples, random_state, n_jobs, verbose)
    widths, values = np.array(found).T
    low, middle, high = (float(x) for x in np.quantile(widths, _QUANTILES))
    mean_width, error = _mean_and_error(widths)
    mean, mean_error = _mean_and_error(values)
    return MetricIntervalWidthResult(
        metric=statistic,
        mean_width=mean_width,
        standard_error=error,
        width_q10=low,
        width_q50=middle,
        width_q90=high,
        mean=mean,
        mean_standard_error=mean_error,
        first_order_standard_error=_first_order_standard_error(statistic, n, m, shift),
        auc=auc,
        confidence_level=confidence_level,
        method=method,
        n_samples=n,
        n_positives=m,
        n_resamples=widths.size,
    )


def _check_both_classes(n_samples: Any, n_positives: Any) -> tuple[int, int]:
    """Check the counts, and raise an error without positives or without negatives."""
    n, m = check_counts(n_samples, n_positives)
    if m in (0, n):
        raise ValueError(
            f"Simulated data sets need positives and negatives; got n_positives={m} of "
            f"n_samples={n}."
        )
    if n > _MOST_SIMULATED:
        raise ValueError(
            f"Simulated data sets of n_samples={n} do not fit into memory: pass at most "
            f"{_MOST_SIMULATED}."
        )
    return n, m


def _shift(auc: float) -> float:
    """Difference of the mean scores of positives and negatives."""
    return math.sqrt(2.0) * float(ndtri(auc))


def _compare_once(
    test: Callable[..., Any],
    n: int,
    m: int,
    shifts: tuple[float, float],
    correlation: float,
    seed: np.random.SeedSequence,
) -> tuple[Any, ...]:
    """P-value for one data set, both values, and the method."""
    y_true, scores = _two_rankers(n, m, shifts, correlation, seed)
    result = test(y_true, {"a": scores[0], "b": scores[1]}, random_state=seed.spawn(1)[0])
    return result.pvalue, result.statistic_a, result.statistic_b, result.method


def _estimate_once(
    interval: Callable[..., Any], n: int, m: int, shift: float, seed: np.random.SeedSequence
) -> tuple[Any, ...]:
    """Width of the interval for one data set, and the value."""
    y_true = np.arange(n) < m
    scores = np.random.default_rng(seed).standard_normal(n) + shift * y_true
    result = interval(y_true, scores, random_state=seed.spawn(1)[0])
    return result.high - result.low, result.statistic


def _two_rankers(
    n: int,
    m: int,
    shifts: tuple[float, float],
    correlation: float,
    seed: np.random.SeedSequence,
) -> tuple[NDArray[np.bool_], list[Floats]]:
    """Labels, and scores of both rankers."""
    y_true = np.arange(n) < m
    first, other = np.random.default_rng(seed).standard_normal((2, n))
    second = correlation * first + math.sqrt(1.0 - correlation**2) * other
    noises = (first, second)
    return y_true, [noise + shift * y_true for noise, shift in zip(noises, shifts, strict=True)]


def _over_data_sets(
    task: Callable[[np.random.SeedSequence], tuple[Any, ...]],
    n_samples: int,
    n_resamples: Any,
    random_state: Any,
    n_jobs: int | None,
    verbose: int,
) -> list[tuple[Any, ...]]:
    """Results of a task for all data sets, each with a separate seed."""
    draws = Draws.read(n_resamples, random_state, n_jobs, verbose, least=2)
    n_data_sets = draws.n_resamples
    seeds, size = iter(draws.streams(n_data_sets)), max(1, _CELLS_PER_CHUNK // n_samples)
    chunks = [list(islice(seeds, size)) for _ in range(0, n_data_sets, size)]
    found = draws.in_parallel(_run_chunk, ((task, chunk) for chunk in chunks))
    return [one for part in found for one in part]


def _run_chunk(
    task: Callable[[np.random.SeedSequence], tuple[Any, ...]], seeds: list[np.random.SeedSequence]
) -> list[tuple[Any, ...]]:
    # A seed sequence counts its spawned children; a copy starts again.
    return [task(copy(seed)) for seed in seeds]


def _mean_and_error(values: Floats) -> tuple[float, float]:
    """Mean and its Monte Carlo standard error."""
    return float(values.mean()), float(values.std(ddof=1)) / math.sqrt(values.size)


def _first_order_standard_error(metric: Statistic, n: int, m: int, shift: float) -> float:
    """Standard error from influence values in a long ranking of normal quantiles."""
    size = max(_POPULATION, math.ceil(_FEWEST_POSITIVES * n / m), 2 * n)
    is_known = metric.has_influence and metric.is_of_population
    if not is_known or size > _LARGEST_POPULATION:
        return math.nan
    n_positives = round(size * m / n)
    quantiles = [ndtri((np.arange(x) + 0.5) / x) for x in (n_positives, size - n_positives)]
    positive = np.arange(size) < n_positives
    scores = np.concatenate([quantiles[0] + shift, quantiles[1]])
    sample = Sample.read(positive, scores, pos_label=True)
    k: Any = getattr(metric, "k", None)
    whole = metric if k is None else replace(metric, k=round(k * size / n))  # type: ignore[type-var]
    influence = influence_of_items(whole.at(size), sample)
    first, second = (float(influence[of].var()) * of.sum() ** 2 for of in (positive, ~positive))
    return math.sqrt(first / m + second / (n - m))
