"""Planning: the power of a test, for a number of positives and an effect."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, logit

from sklearn_rankinf._metrics import as_metric
from sklearn_rankinf._null import (
    NOTHING,
    NullDistribution,
    Region,
    critical_region,
    frozen_null_distribution,
    significance,
)
from sklearn_rankinf._planning.odds import Binormal, ProportionalOdds, RankingModel, placements
from sklearn_rankinf._ranking import (
    as_seed_sequence,
    check_between,
    check_counts,
    check_integer,
    check_option,
    check_positive,
    shown,
)
from sklearn_rankinf._results import Result, format_value
from sklearn_rankinf._statistics import Floats, Integers, Metric, cached_property, log_tail

MODELS: dict[str, RankingModel] = {"wallenius": ProportionalOdds(), "binormal": Binormal()}
_METHODS = ("auto", "analytic", "simulation")
# Largest number of placements that are listed, and of ranks in all of them.
_MOST_PLACEMENTS, _MOST_RANKS = 200_000, 4_000_000
# Relative distance below a critical value within which values are equal to it.
_SAME = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class MetricPowerResult(Result):
    """Result of :func:`metric_power`.

    Attributes
    ----------
    metric : metric
        The metric; a cut-off is given as a number of items.
    power : float
        Probability that the test is significant.
    standard_error : float
        Monte Carlo standard error of the power, 0 if the power is exact or no value is significant.
    level : float
        Probability of significance by chance, at most alpha.
    critical_value : float
        Smallest significant value of the metric; nan if no value is significant.
    mean : float
        Expected value of the metric.
    mean_standard_error : float
        Monte Carlo standard error of the mean, 0 if the mean is exact.
    odds, auc : float
        The effect: the odds of a positive against a negative, and ``odds / (1 + odds)``.
    alpha : float
        Nominal significance level.
    model, method : str
        The model of the ranking, and how the power and the expected value were computed.
    n_samples, n_positives : int
        Number of items, and number of positives.
    n_resamples : int or None
        Number of simulated rankings; None if no rankings were simulated.

    See Also
    --------
    metric_power : The function that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import metric_power
    >>> print(metric_power(1000, 100, metric="recall@100", odds=2.0).summary())
    With 100 positives among 1000 items and odds of 2 (AUC 0.667), recall at 100 is significant
    at the level 0.05 with a probability of 0.712 (critical value 0.16, expected value 0.175).
    """

    metric: Metric
    power: float
    standard_error: float
    level: float
    critical_value: float
    mean: float
    mean_standard_error: float = field(repr=False)
    odds: float
    auc: float
    alpha: float = field(repr=False)
    model: str
    method: str
    n_samples: int = field(repr=False)
    n_positives: int = field(repr=False)
    n_resamples: int | None = field(default=None, repr=False)

    def _sentences(self) -> Iterable[str]:
        error = f" ± {self.standard_error:.2g}" if self.standard_error > 0.0 else ""
        start = (
            f"With {self.n_positives} positives among {self.n_samples} items and odds of "
            f"{self.odds:.3g} (AUC {self.auc:.3g}), {self.metric.title_in_text}"
        )
        if math.isnan(self.critical_value):
            return [f"{start} cannot be significant at the level {self.alpha:g}."]
        return [
            f"{start} is significant at the level {self.alpha:g} with a probability of "
            f"{format_value(self.power)}{error} (critical value "
            f"{format_value(self.critical_value)}, expected value {format_value(self.mean)})."
        ]


def metric_power(
    n_samples: int,
    n_positives: int,
    *,
    metric: str | Metric = "average_precision",
    odds: float | None = None,
    auc: float | None = None,
    alpha: float = 0.05,
    model: str = "wallenius",
    method: str = "auto",
    n_resamples: int = 10_000,
    random_state: Any = 0,
) -> MetricPowerResult:
    r"""Power of the test of a ranking by any metric.

    The power is the probability that the test against chance, :func:`metric_test`, is
    significant if positives tend to be ranked higher than negatives. No scores are equal.

    Parameters
    ----------
    n_samples : int
        Number of items.
    n_positives : int
        Number of positives among them.
    metric : str or metric, default="average_precision"
        A metric, or its name with a cut-off after an @, as in ``"recall@50"``; see
        :func:`metric_test`.
    odds : float, optional
        The effect: odds of each positive against a negative; 1 is chance. Exactly one of `odds` and
        `auc` is required.
    auc : float, optional
        The effect as the probability that a positive is ranked above a negative,
        ``odds / (1 + odds)``: the expected ROC AUC.
    alpha : float, default=0.05
        Significance level, between 0 and 1.
    model : {"wallenius", "binormal"}, default="wallenius"
        Model of the rankings; see Notes. ``"binormal"`` requires `auc`.
    method : {"auto", "analytic", "simulation"}, default="auto"
        ``"auto"`` chooses ``"analytic"`` for recall, precision, enrichment and F-score at k, for
        the reciprocal rank, and under ``"wallenius"`` if there are at most 200,000 placements of
        the positives; otherwise ``"simulation"``.
    n_resamples : int, default=10000
        Number of simulated rankings.
    random_state : int, RandomState, Generator or None, default=0
        Source of random numbers for the simulation.

    Returns
    -------
    result : MetricPowerResult
        The power with its standard error, the level and the critical value of the test, and the
        expected value of the metric.

    Raises
    ------
    TypeError
        If a number has the wrong type.
    ValueError
        If not exactly one of `odds` and `auc` is given, a number is out of its range, or the metric
        does not have the `method`.

    See Also
    --------
    min_detectable_odds : The smallest effect with a given power.
    min_positives : The smallest number of positives with a given power.
    metric_test : The test whose power is computed.

    Notes
    -----
    If the values of the metric can be listed, the critical value c is the smallest value with
    :math:`P_0(S \ge c) \le \alpha` by chance. Otherwise it is the number at which this
    probability is alpha, up to the numerical error stated by ``relative_error`` of
    :func:`metric_null_distribution`. The level is :math:`P_0(S \ge c)` and the power is
    :math:`P(S \ge c)`.

    Under ``"wallenius"`` items are drawn one by one without replacement, best first. With h of m
    positives among the first t draws, the next draw is a positive with probability

    .. math:: \frac{\omega (m - h)}{\omega (m - h) + n - m - t + h},

    for odds :math:`\omega`. Rankings have the Plackett-Luce distribution, and hits at k have the
    Wallenius distribution [1]_. Under ``"binormal"`` the scores of positives are :math:`N(d, 1)`
    and those of negatives :math:`N(0, 1)`, with :math:`d = \sqrt 2\, \Phi^{-1}(\mathrm{auc})`. In
    both models the expected ROC AUC is `auc`, and the scores of all items are independent.

    For recall, precision, enrichment and F-score at k, and for the reciprocal rank, a ranking is
    significant if enough of the first k items are positive for a certain k. Power is then exact:
    an integral over an order statistic, computed to about 1e-13. If all placements are listed,
    power is a sum of their probabilities. Otherwise rankings are simulated, in a time proportional
    to the number of positives; for the same seed, different odds use the same random numbers. The
    expected value is exact for average precision of the whole ranking, ROC AUC, reciprocal rank and
    hits at k, and if all placements are listed. If no value of the metric is significant, power is
    0, and only the expected value is simulated where it is not exact.

    References
    ----------
    .. [1] Fog, A. (2008). Calculation methods for Wallenius' noncentral hypergeometric
       distribution. Communications in Statistics - Simulation and Computation, 37(2), 258-273.

    Examples
    --------
    With 100 positives among 1000 items, at least 16 of the first 100 items must be positive for
    a significant result:

    >>> from sklearn_rankinf import metric_power
    >>> result = metric_power(1000, 100, metric="recall@100", odds=2.0)
    >>> result.critical_value, round(result.level, 7), round(result.power, 4)
    (0.16, 0.031964, 0.7122)

    >>> result = metric_power(1000, 50, odds=2.0)
    >>> result.method, round(result.mean, 3), 0.7 < result.power < 0.9
    ('simulation', 0.09, True)
    """
    n, m = check_counts(n_samples, n_positives)
    effect = read_effect(odds, auc, model)
    design = Design.read(metric, alpha, model, method, n_resamples, random_state)
    return design.of_size(n, m).result(effect)


def read_effect(odds: Any, auc: Any, model: str) -> float:
    """Logit of the AUC, computed from the AUC or from the odds."""
    if (odds is None) == (auc is None):
        raise ValueError(
            f"Pass exactly one of odds and auc, which is odds / (1 + odds); got "
            f"odds={shown(odds)} and auc={shown(auc)}."
        )
    if auc is not None:
        return float(logit(check_between(auc, "auc")))
    odds = check_positive(odds, "odds")
    if check_option(model, "model", MODELS) == "binormal":
        raise ValueError(
            "model='binormal' needs the effect as auc, the probability that a positive scores "
            f"higher than a negative; got odds={odds}: pass auc={odds / (1.0 + odds):.6g}."
        )
    return math.log(odds)


@dataclass(frozen=True, eq=False)
class Design:
    """Options of a power calculation, for any size and effect."""

    metric: Metric
    alpha: float
    model: str
    method: str
    n_resamples: int
    random_state: Any

    @classmethod
    def read(
        cls,
        metric: Any,
        alpha: Any,
        model: Any,
        method: Any,
        n_resamples: Any,
        random_state: Any,
    ) -> Design:
        chosen = as_metric(metric)
        alpha = check_between(alpha, "alpha")
        model = check_option(model, "model", MODELS)
        method = check_option(method, "method", _METHODS)
        n_resamples = check_integer(n_resamples, "n_resamples", 2)
        return cls(chosen, alpha, model, method, n_resamples, as_seed_sequence(random_state))

    def of_size(self, n_samples: int, n_positives: int, approximately: bool = False) -> SizedDesign:
        """Return the design for a number of items and positives.

        With `approximately`, the critical value is approximated, which is fast.
        """
        metric = self.metric.at(n_samples)
        return SizedDesign(self, metric, n_samples, n_positives, approximately)


class SizedDesign:
    """A test of a ranking with given numbers of items and positives, and its power."""

    def __init__(
        self,
        design: Design,
        metric: Metric,
        n_samples: int,
        n_positives: int,
        approximately: bool = False,
    ) -> None:
        self.design, self.metric = design, metric
        self.n, self.m = n_samples, n_positives
        approximate = approximately and "pearson3" in metric.approximations
        self._null_method = "pearson3" if approximate else "auto"

    def result(self, effect: float) -> MetricPowerResult:
        """Return the power at an effect, as a complete result."""
        power, error, mean, mean_error = self._power_and_mean(effect)
        is_simulated = self.method == "simulation" or mean_error > 0.0
        return MetricPowerResult(
            metric=self.metric,
            power=power,
            standard_error=error,
            level=self.region.level,
            critical_value=self.region.critical_value,
            mean=mean,
            mean_standard_error=mean_error,
            odds=math.exp(effect),
            auc=float(expit(effect)),
            alpha=self.design.alpha,
            model=self.design.model,
            method=self.method,
            n_samples=self.n,
            n_positives=self.m,
            n_resamples=self.design.n_resamples if is_simulated else None,
        )

    def power(self, effect: float) -> float:
        """Power at an effect, if the power is not simulated."""
        assert self.method != "simulation"
        if math.isnan(self.region.critical_value):
            return 0.0
        if self.event is not None:
            _, h, k = self.event
            return float(self._model.hits_tail(h, self.n, self.m, k, effect))
        return float(self._listed_probabilities(effect)[self._listed >= self.region.edge].sum())

    # The test.

    @cached_property
    def event(self) -> tuple[float, int, int] | None:
        """Critical value, and h and k such that at least h hits among the first k are the event."""
        return self.metric.significant_hits(self.design.alpha, self.n, self.m)

    @cached_property
    def region(self) -> Region:
        if self.m in (0, self.n):
            return NOTHING
        if self.event is None:
            return critical_region(self._null, self.design.alpha)
        value, h, k = self.event
        if math.isnan(value):
            return NOTHING
        level = float(np.exp(log_tail(h, self.n, self.m, k)))
        return Region(value, level, value * (1.0 - _SAME))

    @cached_property
    def _null(self) -> NullDistribution:
        seed = self.design.random_state
        return frozen_null_distribution(
            self.metric, self.n, self.m, method=self._null_method, random_state=seed
        )

    def significance(self, value: float) -> tuple[bool, float]:
        """Whether a value is significant, and the log of its p-value, which may be rough.

        There is no search for the smallest significant value. All values are equal if no item or
        every item is positive, and their p-value is 1.
        """
        if self.m in (0, self.n):
            return False, 0.0
        return significance(self._null, value, self.design.alpha)

    # Power.

    @property
    def _model(self) -> RankingModel:
        return MODELS[self.design.model]

    @cached_property
    def method(self) -> str:
        """Method by which power is computed."""
        method = self.design.method
        if method == "simulation":
            return method
        is_analytic = self._has_analytic_power
        if method == "analytic" and not is_analytic:
            if self.design.model == "binormal":
                why = "the binormal model has it only for hits at k and the reciprocal rank"
            else:
                why = (
                    f"the placements of {self.m} positives among {self.n} items are too many to "
                    f"be listed (more than {_MOST_PLACEMENTS})"
                )
            raise ValueError(
                f"method='analytic' is not available for {self.metric.title_in_text} here, "
                f"because {why}; use method='simulation'."
            )
        return "analytic" if is_analytic else "simulation"

    @property
    def _has_analytic_power(self) -> bool:
        """Whether power and mean need no simulation."""
        if self.can_be_listed or (self.event is not None and not math.isnan(self.event[0])):
            return True
        return math.isnan(self.region.critical_value) and self._known_mean(0.0) is not None

    @property
    def can_be_listed(self) -> bool:
        """Whether the placements are few, and their probabilities known."""
        if not self._model.has_placements:
            return False
        n, m = self.n, self.m
        return (
            min(m, n - m) <= 20
            and math.comb(n, m) <= _MOST_PLACEMENTS
            and math.comb(n, m) * m <= _MOST_RANKS
        )

    def _power_and_mean(self, effect: float) -> tuple[float, float, float, float]:
        """Power and mean, each with its standard error."""
        known = self._known_mean(effect)
        if self.method == "analytic" and known is None and self.can_be_listed:
            known = float(self._listed_probabilities(effect) @ self._listed)
        if known is not None and self.method != "simulation":
            return self.power(effect), 0.0, known, 0.0
        values = self.simulated(np.array([effect]), self.design.n_resamples)[:, 0]
        if self.method == "analytic":
            power, power_error = self.power(effect), 0.0
        else:
            power = float(np.mean(values >= self.region.edge))
            can_be_significant = not math.isnan(self.region.critical_value)
            power_error = share_error(power, values.size) if can_be_significant else 0.0
        mean_error = float(values.std(ddof=1)) / math.sqrt(values.size)
        if known is not None:
            return power, power_error, known, 0.0
        return power, power_error, float(values.mean()), mean_error

    def _known_mean(self, effect: float) -> float | None:
        """Expected value of the metric; None if rankings must be listed or simulated."""
        if self.m in (0, self.n):
            return float(self.metric.maximum(self.n, self.m)) if self.m else 0.0
        return self.metric.expected_in(self._model, effect, self.n, self.m)

    # All placements, and simulated placements.

    @property
    def _all_ranks(self) -> Integers:
        if not hasattr(self, "_ranks"):
            self._ranks = placements(self.n, self.m)
        return self._ranks

    @property
    def _listed(self) -> Floats:
        if not hasattr(self, "_values"):
            self._values = self._values_of(self._all_ranks)
        return self._values

    def _listed_probabilities(self, effect: float) -> Floats:
        return self._model.placement_probabilities(self._all_ranks, self.n, effect)

    def simulated(self, effects: Floats, n_draws: int) -> Floats:
        """Values of simulated rankings, of shape (n_draws, n_effects)."""
        rankings = self._model.rankings(self.n, self.m, self.design.random_state)
        return rankings.values(self._values_of, self._model.parameters(effects), n_draws)

    def _values_of(self, ranks: Integers) -> Floats:
        """Values for rows of ascending ranks, which start at 1."""
        return self.metric.hit_values(self.n, self.m, None)(ranks - 1)


def share_error(share: float, n_draws: int) -> float:
    """Monte Carlo standard error of a proportion, with one success and one failure added.

    Without the added draws the error of a proportion of 0 or 1 would be 0.
    """
    nearly = (share * n_draws + 1.0) / (n_draws + 2.0)
    return math.sqrt(nearly * (1.0 - nearly) / n_draws)
