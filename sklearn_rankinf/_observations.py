"""From labels and scores to the value of a metric and its null distribution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_rankinf._frozen_distributions import NullDistribution, PermutationDistribution
from sklearn_rankinf._inference.graded import GradedGain, PermutedGain
from sklearn_rankinf._metrics import (
    AveragePrecision,
    DiscountedCumulativeGain,
    as_metric,
    no_positives,
    undefined_value,
    value_of,
)
from sklearn_rankinf._null_distributions import check_method, frozen_null_distribution
from sklearn_rankinf._rank_distributions import misses_of, rounding_of
from sklearn_rankinf._ranking import (
    LabelTable,
    PosLabel,
    Ranking,
    as_binary,
    as_label_table,
    as_ranking,
    as_relevances,
    as_scores,
    as_weights,
    block_of_each,
    check_average,
    check_lengths,
    check_no_closed_form,
    check_weights_follow,
    class_names,
    has_classes,
    has_grades,
    warn_caller,
)
from sklearn_rankinf._restricted import (
    RESTRICTED,
    RestrictedLabels,
    Restrictions,
    check_has_rows,
    distribution_of_arrangements,
    few_labellings_warning,
)
from sklearn_rankinf._row_permutations import observe_rows, weights_warning
from sklearn_rankinf._sampling.exchange import AnyExchange, reciprocal_ranks
from sklearn_rankinf._statistics.additive import HitsAtK, Metric, Statistic
from sklearn_rankinf._statistics.first_hit import FirstHitStatistic
from sklearn_rankinf._statistics.increments import Floats, Integers


@dataclass(frozen=True, eq=False)
class Observation:
    """The value of a metric and its null distribution.

    Attributes
    ----------
    metric : Metric
        The metric, for the number of samples.
    statistic : float or ndarray
        Value of the metric; an array for several cut-offs.
    null : NullDistribution
        Null distribution of the metric.
    ranking : Ranking or None
        The ranking; None for averages and with weights.
    columns_without_positives : tuple of int
        Columns of the classes for which the metric is undefined and counts as 0.
    is_defined : bool
        Whether any class has positives with a positive weight.
    is_free : bool
        Whether all labels are exchangeable.
    """

    metric: Metric
    statistic: Any
    null: NullDistribution
    ranking: Ranking | None
    columns_without_positives: tuple[int, ...] = ()
    is_defined: bool = True
    is_free: bool = True

    def undefined(self) -> str | None:
        """Description of the undefined value for messages, or None if the value is defined."""
        title = self.metric.title
        if self.ranking is not None and not self.columns_without_positives:
            return undefined_value(self.metric, self.ranking)
        if not self.columns_without_positives:
            return None
        if self.is_defined or len(self.columns_without_positives) > 1:
            columns = ", ".join(map(str, self.columns_without_positives))
            title = f"{title} of the class in column {columns}"
        return no_positives(title, "0.0")


@dataclass(frozen=True, eq=False)
class Problem:
    """Labels and scores of a test, with the permutations allowed under the null hypothesis.

    Attributes
    ----------
    ranking : Ranking or None
        The ranking of all samples, which is sufficient for most tests.
    table : LabelTable or None
        Labels and scores with one column per class, for tests that need single samples.
    classes : list or None
        Names of the classes that are tested one by one; None for a single test.
    """

    ranking: Ranking | None
    table: LabelTable | None = None
    classes: list[Any] | None = None
    average: str | None = None
    weights: Floats | None = None
    weights_follow: str = "label"
    exchange: AnyExchange | None = None

    def observe(self, metric: Metric, options: dict[str, Any]) -> list[Observation]:
        """Observe a metric, once or for each class."""
        if self.table is None:
            assert self.ranking is not None
            return [observe_ranking(self.ranking, metric, **options)]
        self._check_metric(metric)
        metric = metric.at(self.table.n_samples)
        if self.average is not None:
            return [self._observe_rows(metric, self.table, 0, options)]
        return [
            self._observe_column(metric, column, options) for column in range(self.table.n_classes)
        ]

    def _check_metric(self, metric: Metric) -> None:
        """Raise an error if the metric takes no weights or averages and they are given."""
        if self.weights is not None:
            check_takes_weights(metric)
        if self.average is not None and not isinstance(metric, Statistic):
            raise ValueError(
                f"metric={metric!r} has no average over classes; got average={self.average!r}: "
                "leave it out to test each class separately."
            )

    def _observe_column(self, metric: Metric, column: int, options: dict[str, Any]) -> Observation:
        """Observe one class."""
        assert self.table is not None
        table = self.table.column(column)
        if self.weights is not None:
            return self._observe_rows(metric, table, column, options)
        ranking = table.ranking(0)
        if self.exchange is None:
            seen = observe_ranking(ranking, metric, **options)
        else:
            labels = RestrictedLabels.from_scores(
                table.labels[:, 0], table.scores[:, 0], self.exchange
            )
            null = _restricted_distribution(labels, metric, **options)
            seen = replace(_observation(metric, ranking, null), is_free=False)
        return seen if seen.is_defined else replace(seen, columns_without_positives=(column,))

    def _observe_rows(
        self, metric: Metric, table: LabelTable, first_column: int, options: dict[str, Any]
    ) -> Observation:
        """Observe with weights, or an average over the classes of a table."""
        check_method(metric, options["method"])
        assert isinstance(metric, Statistic)
        statistic, null = observe_rows(
            table,
            self.weights,
            metric,
            average=self.average,
            weights_follow=self.weights_follow,
            exchange=self.exchange,
            **options,
        )
        mass = table.n_positives if self.weights is None else self.weights @ table.labels
        is_defined = bool(mass.any())
        # These averages ignore classes without positives.
        if self.average in ("weighted", "micro") and is_defined:
            return Observation(metric, statistic, null, None)
        empty = tuple((first_column + np.flatnonzero(mass == 0.0)).tolist())
        return Observation(metric, statistic, null, None, empty, is_defined)

    def warn_of_few_labellings(self) -> None:
        """Warn once about the first class or table with few different labellings."""
        if self.exchange is None or self.table is None:
            return
        labels = self.table.labels
        moving = self.weights if self.weights_follow == "label" else None
        parts = [labels] if self.average else np.split(labels, labels.shape[1], axis=1)
        for part in parts:
            message = few_labellings_warning(self.exchange, part, moving)
            if message is not None:
                return warn_caller(message, UserWarning)


@dataclass(frozen=True, eq=False)
class GradedProblem:
    """Relevances of more than two grades, and the block of equal scores of each sample."""

    relevances: Floats
    places: Integers
    tie_sizes: Integers | None
    exchange: AnyExchange | None
    table: None = None
    classes: None = None

    @classmethod
    def read(cls, y_true: Any, y_score: Any, restrictions: Restrictions) -> GradedProblem:
        """Read relevances and scores; warn if there are few labellings."""
        relevances, scores = as_relevances(y_true), as_scores(y_score)
        check_lengths(relevances.size, scores.size)
        places, tie_sizes = block_of_each(scores)
        exchange = restrictions.exchange(relevances[:, None])
        if exchange is not None:
            message = few_labellings_warning(exchange, relevances[:, None])
            if message is not None:
                warn_caller(message, UserWarning)
        return cls(relevances, places, None if tie_sizes.max() == 1 else tie_sizes, exchange)

    def observe(self, metric: Metric, options: dict[str, Any]) -> list[Observation]:
        """Observe discounted cumulative gain."""
        assert isinstance(metric, DiscountedCumulativeGain)
        options = dict(options)
        method = options.pop("method")
        check_method(metric, method)
        check_no_closed_form(method, f"{metric.title} with graded relevance")
        metric = metric.at(self.relevances.size)
        discount = DiscountedCumulativeGain(metric.k)
        gain = GradedGain(discount, self.relevances, self.places, self.tie_sizes, metric.normalize)
        n, m = self.relevances.size, int(np.count_nonzero(self.relevances))
        null = distribution_of_arrangements(
            PermutedGain(gain, self.exchange), metric, n, m, self.tie_sizes, **options
        )
        return [Observation(metric, gain.observed(), null, None)]


def is_graded(y_true: Any, y_score: Any, metric: Metric) -> bool:
    """Whether labels are grades of relevance, which only discounted cumulative gain accepts."""
    if not isinstance(metric, DiscountedCumulativeGain) or isinstance(y_true, Ranking):
        return False
    if y_score is None or has_classes(y_true, y_score):
        return False
    return has_grades(y_true)


def check_takes_weights(metric: Any, what: str = "sample_weight") -> None:
    """Raise an error for sample weights of a metric other than average precision."""
    if not isinstance(as_metric(metric), AveragePrecision):
        raise ValueError(
            f"metric={metric!r} takes no {what}: leave it out, or use metric='average_precision'."
        )


def read_problem(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None,
    *,
    pos_label: PosLabel,
    average: str | None = None,
    sample_weight: ArrayLike | None = None,
    weights_follow: str = "label",
    restrictions: Restrictions,
) -> Problem:
    """Read labels and scores; warn about weights and few labellings."""
    average = check_average(average)
    weights_follow = check_weights_follow(weights_follow)
    several = not isinstance(y_true, Ranking) and has_classes(y_true, y_score)
    of_samples = ["sample_weight"] if sample_weight is not None else []
    of_samples += restrictions.given
    if not of_samples and not several:
        return Problem(as_ranking(y_true, y_score, pos_label))
    if of_samples:
        check_has_rows(y_true, y_score, of_samples[0])
    assert y_score is not None
    assert not isinstance(y_true, Ranking)
    classes = None
    if several:
        table = LabelTable(*as_label_table(y_true, y_score))
        classes = class_names(y_true) if average is None else None
    else:
        positive, scores = as_binary(y_true, y_score, pos_label)
        table, average = LabelTable(positive[:, None], scores[:, None]), None
    weights = None if sample_weight is None else as_weights(sample_weight, table.n_samples)
    exchange = restrictions.exchange(table.labels)
    if weights is not None:
        message = weights_warning(table, weights, weights_follow, exchange)
        if message is not None:
            warn_caller(message, UserWarning)
    problem = Problem(None, table, classes, average, weights, weights_follow, exchange)
    problem.warn_of_few_labellings()
    return problem


def observe_ranking(ranking: Ranking, metric: Metric, **options: Any) -> Observation:
    """Observe a metric of a ranking whose labels are all exchangeable."""
    null = frozen_null_distribution(
        metric, ranking.n_samples, ranking.n_positives, tie_sizes=ranking.tie_sizes, **options
    )
    return _observation(null.statistic, ranking, null)


def _observation(metric: Metric, ranking: Ranking, null: NullDistribution) -> Observation:
    is_constant = ranking.n_positives in (0, ranking.n_samples)
    if is_constant and not isinstance(metric, HitsAtK):
        value = null.mean()  # the only possible value, without rounding errors
    else:
        value = value_of(metric, ranking)
    return Observation(metric, value, null, ranking, is_defined=ranking.n_positives > 0)


def _restricted_distribution(
    labels: RestrictedLabels, metric: Metric, *, method: str, **options: Any
) -> PermutationDistribution:
    """Null distribution under restricted permutations of the labels."""
    check_method(metric, method)
    check_no_closed_form(method, RESTRICTED)
    n, m = labels.positive.size, labels.n_positives
    best = float(metric.maximum(n, m))
    if isinstance(metric, FirstHitStatistic):
        hits = labels.exchanged(reciprocal_ranks(labels.tie_sizes), best)
        return labels.distribution(hits, metric, **options)
    assert isinstance(metric, Statistic)
    counted, own = metric, labels
    mirrored = misses_of(metric, n, m)
    if mirrored is not None:
        counted, own = mirrored, labels.of_misses()
    rounding = rounding_of(counted, n, own.n_positives)
    return labels.distribution(
        own.exchanged_sums(counted, best), metric, rounding=rounding, **options
    )


def one_of_each_k(metric: Metric) -> Iterator[Metric]:
    """Split a metric with several cut-offs into metrics with one cut-off each."""
    assert isinstance(metric, HitsAtK)
    for k in np.ravel(np.asarray(metric.k, dtype=object)).tolist():
        yield replace(metric, k=k)  # type: ignore[type-var]
