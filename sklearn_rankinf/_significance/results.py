"""Results of tests of a ranking against chance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from scipy.special import betaincinv

from sklearn_rankinf._estimation import MetricIntervalResult, interval_of_ranking
from sklearn_rankinf._null import (
    METHODS,
    NullDistribution,
    is_upper_bound,
    pvalue_limits,
    pvalue_log_and_error,
    resamples_of,
    value_of_perfect_ranking,
)
from sklearn_rankinf._ranking import check_confidence_level
from sklearn_rankinf._results import (
    ConfidenceInterval,
    Result,
    format_pvalue,
    format_value,
    state_pvalue,
)
from sklearn_rankinf._statistics import Metric, as_log10, plain

# Level of the interval for a p-value by permutation.
_CONFIDENCE_LEVEL = 0.95
# With a p-value this large for "better than chance" a ranking is worse than chance.
_SURELY_WORSE = 0.999
_SIDES = {
    "greater": "better than chance",
    "less": "worse than chance",
    "two-sided": "different from chance",
}


@dataclass(frozen=True, eq=False, repr=False)
class MetricTestResult(Result):
    """Result of :func:`metric_test` and of the tests of single metrics.

    Attributes
    ----------
    metric : metric
        The metric; a cut-off is given as a number of items.
    statistic : float
        Value of the metric.
    chance : float
        Exact mean of the null distribution; with weights or averages the mean of the resamples.
    pvalue : float
        Probability by chance of a statistic at least as extreme as the observed one.
    log10_pvalue : float
        Base-10 logarithm of the p-value, finite where `pvalue` underflows to 0.
    pvalue_relative_error : float
        Conservative estimate of the relative error of `pvalue`: the numerical error for an exact
        test, infinity if `pvalue` is a guaranteed upper bound of the exact p-value, the Monte Carlo
        standard error for ``method="permutation"``, and infinity (unknown) for the approximations.
    pvalue_low, pvalue_high : float
        Interval for the p-value, as returned by `pvalue_interval` with its default level.
    pvalue_is_bound : bool
        Whether `pvalue` is an upper bound: a guaranteed bound of the exact p-value where no error
        below 10 % can be stated, or the smallest possible p-value of the random labellings, none of
        which was as extreme as the observed one.
    zscore : float
        (statistic - E) / sd with the exact mean E and standard deviation sd by chance; nan if the
        statistic cannot vary. With weights or averages E and sd are those of the resamples.
    adjusted_statistic : float
        (statistic - E) / (best - E), where best is the value of a perfect ranking without ties: 0
        for chance, 1 for a perfect ranking; nan if all items have the same label.
    null_distribution : NullDistribution
        The null distribution of the statistic, given the ties.
    n_samples : int
        Number of items.
    n_positives : int or tuple of int
        Number of positives; for an average over classes the number of items of each class.
    alternative : {"greater", "less", "two-sided"}
        The alternative hypothesis.
    method : str
        The method in use. ``"sequential"`` is permutation that stops early.
    n_resamples : int or None
        Number of random labellings that were drawn; 0 if the statistic has a single possible value
        or all labellings were enumerated; None without permutation.
    n_exceedances : int or None
        Number of random labellings at least as extreme as the observed labelling; for a two-sided
        test, the smaller of the numbers on the two sides. None without permutation.
    hits : float or None
        Number of positives among the first `k`, a fraction if equal scores straddle k; None for
        metrics that do not count hits.
    ranking : Ranking or None
        The ranking; None for averages, and if weights, strata, clusters or a series were given.
    k : int or None
        The cut-off of the metric.
    pvalue_standard_error : float or None
        Monte Carlo standard error of `pvalue`; None without permutation.

    See Also
    --------
    metric_test : The test of any metric, which returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import Ranking, average_precision_test
    >>> ranking = Ranking.from_counts([1] * 8, [1, 1, 0, 1, 0, 0, 0, 0])
    >>> result = average_precision_test(ranking)
    >>> round(result.statistic, 4), round(result.adjusted_statistic, 4)
    (0.9167, 0.8233)
    >>> print(result.summary())
    Average precision was 0.917 (chance 0.528, z = 2.19), p = 0.0357 for better than chance
    (exact test, one-sided; 3 positives among 8 items).
    """

    metric: Metric
    statistic: Any
    chance: Any
    pvalue: Any
    log10_pvalue: Any = field(repr=False)
    pvalue_relative_error: Any = field(repr=False)
    pvalue_low: Any = field(repr=False)
    pvalue_high: Any = field(repr=False)
    pvalue_is_bound: Any
    zscore: Any
    adjusted_statistic: Any = field(repr=False)
    null_distribution: Any = field(repr=False)
    n_samples: int
    n_positives: Any
    alternative: str
    method: str
    n_resamples: Any = field(repr=False)
    n_exceedances: Any = field(repr=False)
    _: KW_ONLY
    hits: Any = field(default=None, repr=False)
    ranking: Any = field(default=None, repr=False)

    def __repr__(self) -> str:
        return super().__repr__() + self._hint

    @property
    def _title(self) -> str:
        """Name of the metric, for a sentence."""
        return self.metric.title

    @property
    def _hint(self) -> str:
        """A line about a ranking that is significantly worse than chance."""
        is_worse = self.pvalue >= _SURELY_WORSE and self.zscore < 0.0
        if self.alternative != "greater" or not is_worse:
            return ""
        return "\nworse than chance: is the direction of the score reversed?"

    @property
    def k(self) -> Any:
        """The cut-off of the metric."""
        return getattr(self.metric.of_each_class()[0], "k", None)

    @property
    def pvalue_standard_error(self) -> Any:
        """Monte Carlo standard error of a p-value by permutation; None for other methods."""
        if self.n_resamples is None:
            return None
        return self.pvalue * self.pvalue_relative_error if self.n_resamples else 0.0

    def pvalue_interval(self, confidence_level: float = _CONFIDENCE_LEVEL) -> ConfidenceInterval:
        """Interval for the p-value that accounts for the error of its computation.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Confidence level of the interval for a p-value by permutation.

        Returns
        -------
        interval : ConfidenceInterval
            The limits. For ``method="permutation"`` Clopper and Pearson's interval for the p-value
            that all labellings would give; for an exact test the p-value minus and plus its
            numerical error or, if the p-value is only bounded, its guaranteed bounds; for an
            approximation, whose error is unknown, 0 and 1.
        """
        confidence_level = check_confidence_level(confidence_level)
        limits = drawn_interval(
            (self.pvalue_low, self.pvalue_high),
            self.n_exceedances,
            self.n_resamples,
            self.null_distribution._has_stopped,
            self.alternative,
            confidence_level,
        )
        return ConfidenceInterval(*limits)

    def confidence_interval(
        self, confidence_level: float = 0.95, method: str = "auto", random_state: Any = 0
    ) -> MetricIntervalResult:
        """Confidence interval of the metric, as returned by :func:`metric_interval`.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Nominal coverage of the interval.
        method : str, default="auto"
            Method of the interval; see :func:`metric_interval`.
        random_state : int, RandomState, Generator or None, default=0
            Source of random numbers for intervals that are simulated.

        Returns
        -------
        result : MetricIntervalResult
            The limits, the standard error and the target of the interval.

        Raises
        ------
        ValueError
            If an average, weights, strata, clusters or a series were tested, if there are no
            positives or no negatives, or if the metric does not have the `method`.
        """
        confidence_level = check_confidence_level(confidence_level)
        if self.ranking is None:
            raise ValueError(
                "confidence_interval needs a single ranking of independently drawn items, and "
                "this test had an average, weights, strata, clusters or a series; call "
                "metric_interval, which accepts clusters (averages and weights have no interval)."
            )
        return interval_of_ranking(
            self.metric, self.ranking, confidence_level, method, random_state
        )

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        return {name: [value] for name, value in self._values().items()}

    def _sentences(self) -> Iterable[str]:
        title, positives = self._title, str(self.n_positives)
        if isinstance(self.n_positives, tuple):
            title = f"{title} over {len(self.n_positives)} classes"
            *others, last = map(str, self.n_positives)
            positives = f"{', '.join(others)} and {last}"
        way = METHODS[self.method].title
        if self.n_resamples is not None:
            labellings = getattr(self.null_distribution, "labellings", "labellings")
            drawn = f"{self.n_resamples} random" if self.n_resamples else "all"
            way = f"{way} with {drawn} {labellings}"
        is_guaranteed = self.pvalue_is_bound and self.method == "analytic"
        pvalue = state_pvalue(self.log10_pvalue, self.pvalue_is_bound, is_guaranteed)
        if is_guaranteed:
            pvalue += ","
            way = "upper bound from the exact null distribution"
            if self.pvalue_low > 0.0:
                way = f"{way}, lower bound {format_pvalue(math.log10(self.pvalue_low))}"
        sides = "two-sided" if self.alternative == "two-sided" else "one-sided"
        return [
            f"{title} was {format_value(self.statistic)} (chance {format_value(self.chance)}, "
            f"z = {self.zscore:.2f}), {pvalue} for {_SIDES[self.alternative]} ({way}, {sides}; "
            f"{positives} positives among {self.n_samples} items)."
        ]


def limits_of_pvalue(
    null: NullDistribution, x: Any, alternative: str, pvalue: Any, relative_error: Any
) -> tuple[Any, Any, Any]:
    """Interval for a p-value, with a level of 95 % for permutation, and whether it is a bound."""
    near = pvalue_limits(null, x, alternative, pvalue, relative_error)
    n_resamples, n_extreme = resamples_of(null, x, alternative)
    low, high = drawn_interval(near, n_extreme, n_resamples, null._has_stopped, alternative)
    if n_resamples is None:
        is_bound = is_upper_bound(null, relative_error)
    else:
        is_bound = (np.asarray(n_resamples) > 0) & (np.asarray(n_extreme) == 0)
    is_bound = np.broadcast_to(is_bound, np.shape(pvalue))
    return low, high, is_bound if is_bound.ndim else bool(is_bound)


def drawn_interval(
    otherwise: tuple[Any, Any],
    n_exceedances: Any,
    n_resamples: Any,
    stopped: Any,
    alternative: str,
    confidence_level: float = _CONFIDENCE_LEVEL,
) -> tuple[Any, Any]:
    """Clopper and Pearson's interval where labellings were drawn, otherwise the given one."""
    if n_resamples is None:
        return otherwise
    low, high = binomial_interval(n_exceedances, n_resamples, stopped, confidence_level)
    if alternative == "two-sided":
        low, high = np.minimum(2.0 * low, 1.0), np.minimum(2.0 * high, 1.0)
    drawn = np.asarray(n_resamples) > 0
    return plain(np.where(drawn, low, otherwise[0])), plain(np.where(drawn, high, otherwise[1]))


class DrawnResult(Result):
    """Base class of results with p-values (b + 1) / (B + 1) of B random labellings."""

    pvalue: Any
    n_resamples: int

    @property
    def pvalue_standard_error(self) -> Any:
        """Monte Carlo standard error of the p-value."""
        return plain(np.sqrt(self.pvalue * (1.0 - self.pvalue) / self.n_resamples))

    def pvalue_interval(self, confidence_level: float = _CONFIDENCE_LEVEL) -> ConfidenceInterval:
        """Confidence interval for the p-value that all random labellings would give.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Nominal coverage, between 0 and 1.

        Returns
        -------
        interval : ConfidenceInterval
            Limits of the Clopper-Pearson interval [1]_, arrays for several p-values.

        Raises
        ------
        ValueError
            If `confidence_level` is not between 0 and 1.

        References
        ----------
        .. [1] Clopper, C. J., & Pearson, E. S. (1934). The use of confidence or fiducial limits
           illustrated in the case of the binomial. Biometrika, 26(4), 404-413.
        """
        confidence_level = check_confidence_level(confidence_level)
        counts = np.rint(np.asarray(self.pvalue) * (self.n_resamples + 1.0)) - 1.0
        low, high = binomial_interval(counts, self.n_resamples, False, confidence_level)
        return ConfidenceInterval(plain(low), plain(high))


def binomial_interval(
    n_exceedances: Any, n_resamples: Any, stopped: Any, confidence_level: float
) -> tuple[Any, Any]:
    """Clopper and Pearson's interval of a proportion, also if sampling stopped at an exceedance."""
    b, outside = np.asarray(n_exceedances), 0.5 * (1.0 - confidence_level)
    others = np.asarray(n_resamples) - b
    with_last = np.where(stopped, b, b + 1)
    low = betaincinv(np.maximum(b, 1), others + 1.0, outside)
    high = betaincinv(with_last, np.maximum(others, 1), 1.0 - outside)
    return np.where(b > 0, low, 0.0), np.where(others > 0, high, 1.0)


def significance_fields(
    statistic: Any,
    null: NullDistribution,
    alternative: str,
    computed: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Fields shared by the results of all tests.

    `computed` contains the fields of the p-value if they are already known.
    """
    if computed is None:
        computed = pvalue_fields(null, statistic, alternative)
    n_resamples, n_extreme = resamples_of(null, statistic, alternative)
    return {
        "statistic": statistic,
        "chance": null.mean(),
        **computed,
        "zscore": standardized(statistic, null),
        "adjusted_statistic": adjusted(statistic, null),
        "null_distribution": null,
        "n_samples": null.n_samples,
        "n_positives": _counts(null.n_positives),
        "alternative": alternative,
        "method": null.method,
        "n_resamples": n_resamples,
        "n_exceedances": n_extreme,
    }


def pvalue_fields(
    null: NullDistribution,
    statistic: Any,
    alternative: str,
    known: tuple[Any, Any, Any] | None = None,
) -> dict[str, Any]:
    """Fields on the p-value; `known` are the p-value, its logarithm and its relative error."""
    pvalue, log_pvalue, error = known or pvalue_log_and_error(null, statistic, alternative)
    low, high, is_bound = limits_of_pvalue(null, statistic, alternative, pvalue, error)
    return {
        "pvalue": pvalue,
        "log10_pvalue": as_log10(log_pvalue),
        "pvalue_relative_error": error,
        "pvalue_low": low,
        "pvalue_high": high,
        "pvalue_is_bound": is_bound,
    }


def _counts(n_positives: Any) -> int | tuple[int, ...]:
    """The number of positives, or those of the classes of an average."""
    return tuple(n_positives.tolist()) if np.ndim(n_positives) else int(n_positives)


def standardized(statistic: Any, null: NullDistribution) -> Any:
    """Distance from chance in standard deviations; nan when the statistic cannot vary."""
    deviation = np.asarray(null.std())
    varies = deviation > 0.0
    score = (statistic - null.mean()) / np.where(varies, deviation, 1.0)
    return plain(np.where(varies, score, math.nan))


def adjusted(statistic: Any, null: NullDistribution) -> Any:
    """Rescale a statistic so that chance is 0 and a perfect ranking is 1.

    The result is nan if all rankings are equally good, for example with a single class.
    """
    mean, best = np.asarray(null.mean()), value_of_perfect_ranking(null)
    if np.all((null.n_positives == 0) | (null.n_positives == null.n_samples)):
        return plain(np.full(mean.shape, math.nan))
    # A constant statistic equals its mean; rounding must not change the difference of 0.
    excess = np.where(np.asarray(null.std()) > 0.0, statistic - mean, 0.0)
    room = best - mean
    can_differ = room > 1e-14 * np.abs(best)
    return plain(np.where(can_differ, excess / np.where(can_differ, room, 1.0), math.nan))
