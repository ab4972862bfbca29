"""Values of metrics for rankings and classes, and warnings where they are undefined."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._ranking import (
    PosLabel,
    Ranking,
    check_average,
    check_k,
    no_positives,
    read_ranking,
    resolve_k,
    shown,
    warn_caller,
)
from sklearn_rankinf._statistics import (
    Floats,
    HitsAtK,
    Influence,
    Metric,
    Statistic,
    delete_one_influence,
)


@dataclass(frozen=True, repr=False)
class AveragedMetric(Metric):
    """The average of a metric over classes, as `averaged` of the metric returns it."""

    metric: Metric
    average: str

    def __post_init__(self) -> None:
        if self.metric.of_one_item:
            raise ValueError(
                f"{self.metric!r} has no average over classes; got average={self.average!r}: "
                "use the metric itself, which is that of each class."
            )
        if self.average == "micro" and self.metric.horizon is not None:
            raise ValueError(
                f"{self.metric!r} is not defined with average='micro', which ranks the items of "
                "all classes in one list; use 'macro' or 'weighted', for which k counts items "
                "per class."
            )

    def __repr__(self) -> str:
        return f"{self.metric!r}.averaged({self.average!r})"

    @property
    def title(self) -> str:
        return f"{self.average.capitalize()} average of {self.metric.title_in_text}"

    @property
    def symbol(self) -> str:
        return f"{self.average} {self.metric.symbol}"

    def at(self, n_samples: int) -> Self:
        return replace(self, metric=self.metric.at(n_samples))

    def of_each_class(self) -> tuple[Metric, str | None]:
        return self.metric, self.average

    def shares_of_classes(self, n_positives: Floats) -> Floats:
        if self.average == "micro":
            raise ValueError(
                f"{self!r} ranks the items of all classes in one list, whose items are not "
                "independent, so that it has no interval: use 'macro' or 'weighted'."
            )
        numbers = n_positives if self.average == "weighted" else np.ones(n_positives.size)
        return np.asarray(numbers / numbers.sum())


class CallableMetric(Metric):
    """A metric that is also a function of labels and scores, as `make_scorer` needs it."""

    @property
    def __name__(self) -> str:
        return repr(self)

    def averaged(self, average: str | None) -> Metric:
        """Average of the metric over classes.

        Parameters
        ----------
        average : {"macro", "weighted", "micro"} or None
            The mean over the classes, the mean weighted by their numbers of positives, or the
            metric of all classes' items in one list, as in scikit-learn; None for no average.

        Returns
        -------
        metric : metric
            The average, for tests, scorers, and, but for ``"micro"``, intervals and comparisons.

        Raises
        ------
        ValueError
            If the average is not one of these, or the metric has no such average.

        Examples
        --------
        >>> from sklearn_rankinf import Bedroc
        >>> Bedroc(alpha=50).averaged("macro")
        Bedroc(alpha=50.0).averaged('macro')
        """
        average = check_average(average)
        return self if average is None else AveragedMetric(self, average)

    def __call__(
        self,
        y_true: ArrayLike | Ranking,
        y_score: ArrayLike | None = None,
        *,
        pos_label: PosLabel = 1,
    ) -> float:
        """Value of the metric for labels and scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or Ranking
            Binary labels, or a ranking, in which case `y_score` is omitted.
        y_score : array-like of shape (n_samples,), optional
            Scores, larger for items more likely to be positive. Required unless `y_true` is a
            ranking.
        pos_label : int, float, bool or str, default=1
            The label of the positives. Ignored if `y_true` is a ranking.

        Returns
        -------
        value : float
            The value, with a warning and 0.0 if it is undefined.
        """
        check_of_user(self)
        ranking = read_ranking(y_true, y_score, pos_label)
        value = float(value_of(self, ranking))
        message = undefined_value(self, ranking)
        if message is not None:
            warn_caller(message, UndefinedMetricWarning)
        return value


class WithCutOff(CallableMetric):
    """A metric that may count the first k ranks alone."""

    k: Any

    def __post_init__(self) -> None:
        if self.k is not None:
            set_parameters(self, k=check_k(self.k))

    def at(self, n_samples: int) -> Self:
        k = None if self.k is None else resolve_k(self.k, n_samples)
        return replace(self, k=None if k == n_samples else k)  # type: ignore[type-var]

    @property
    def horizon(self) -> int | None:
        return None if self.k is None else int(self.k)


def set_parameters(metric: Metric, **parameters: Any) -> None:
    """Set parameters of a frozen metric, as Python's own numbers, while it is made."""
    for name, value in parameters.items():
        object.__setattr__(metric, name, value)


def at_k(k: Any) -> str:
    """Suffix of a metric's name for a cut-off."""
    return "" if k is None else f" at {k}"


def value_of(metric: Metric, ranking: Ranking) -> Any:
    """Value of a metric for a ranking; 0 without positives."""
    if ranking.n_positives == 0 and not isinstance(metric, HitsAtK):
        return 0.0
    statistic = metric.at(ranking.n_samples)
    statistic.check_weights(ranking.n_samples, ranking.n_positives)
    return statistic.evaluate(ranking.tie_sizes, ranking.hits)


def undefined_value(metric: Metric, ranking: Ranking) -> str | None:
    """Text of the warning about a metric that is undefined for a ranking, otherwise None."""
    if ranking.n_positives == 0:
        return no_positives(metric.title, "0.0")
    if metric.needs_misses and ranking.n_positives == ranking.n_samples:
        value = value_of(metric, ranking)
        return f"{metric.title} is undefined without negatives in y_true and is set to {value:.1f}."
    return None


def warn_of_one_class(positive: NDArray[np.bool_], consequence: str) -> None:
    """Warn about labels of a single class, and state the consequence."""
    warn_caller(
        f"y_true contains only one class, {int(positive.sum())} positives among {positive.size} "
        f"items: {consequence}.",
        UndefinedMetricWarning,
    )


def influence_of(metric: Statistic, ranking: Ranking) -> Influence:
    """Influence values of the items of a ranking, in closed form or by deletion."""
    n, m = ranking.n_samples, ranking.n_positives
    statistic = metric.at(n)
    known = statistic.influence(ranking.tie_sizes, ranking.hits)
    if known is not None:
        return known
    # In a sum, the contribution of a hit at the top does not depend on the number of hits.
    top = [statistic.tied([0], [1], n, hits).of_one_hit[0] for hits in (m, max(m - 1, 1))]
    is_sum = bool(top[0] == top[1]) and m > 1
    return delete_one_influence(statistic, ranking.tie_sizes, ranking.hits, is_sum=is_sum)


def check_has_influence(
    metric: Metric,
    remedy: str = "pass groups, the queries of several rankings, whose mean has an interval",
) -> Statistic:
    """Raise an error for a metric without standard errors."""
    if isinstance(metric, Statistic) and metric.has_influence:
        return metric
    raise ValueError(f"{without_errors(metric)}: {remedy}.")


def check_of_many_items(metric: Metric) -> None:
    """Raise an error for a metric of which one ranking has no interval."""
    if metric.of_one_item:
        check_has_influence(metric)


def without_errors(metric: Metric) -> str:
    """Why a metric of one ranking has no standard error."""
    if metric.of_one_item:
        return (
            f"{metric.title} of one ranking depends on a single item, its best positive, so its "
            "variance cannot be estimated"
        )
    return (
        f"{metric.title} of one ranking depends on the items near one point, so its standard "
        "error is not reliable"
    )


def check_of_user(statistic: Metric) -> None:
    """Raise an error for a statistic that cannot be hashed, or with a fraction that stays one."""
    try:
        hash(statistic)
    except TypeError:
        name = type(statistic).__name__
        raise TypeError(
            f"metric must be hashable, because null distributions are cached by its value; got "
            f"{name}: make that class a frozen dataclass with hashable parameters."
        ) from None
    k = getattr(statistic, "k", None)
    if k is None or type(statistic).at is not Metric.at:
        return
    check_k(k)
    if not isinstance(k, Integral):
        raise ValueError(
            f"metric={statistic!r} needs k as a number of items; got the fraction k={shown(k)}: "
            "pass an int, or define at(n_samples) in that class."
        )
