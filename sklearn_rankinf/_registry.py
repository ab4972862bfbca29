"""The metrics by name, read by everything that offers a choice of metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any

from numpy.typing import ArrayLike
from sklearn.metrics import average_precision_score, roc_auc_score

from sklearn_rankinf._engine.statistics import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    HitsAtK,
    RankStatistic,
    ReciprocalRank,
    Rie,
    RocAuc,
)
from sklearn_rankinf._null_distributions import ap_null_distribution
from sklearn_rankinf._rank_statistics import (
    bedroc_null_distribution,
    bedroc_test,
    dcg_null_distribution,
    dcg_test,
    enrichment_at_k_null_distribution,
    enrichment_at_k_test,
    rank_statistic_null_distribution,
    rank_statistic_score,
    rank_statistic_test,
    reciprocal_rank_null_distribution,
    reciprocal_rank_test,
    rie_null_distribution,
    rie_test,
    roc_auc_null_distribution,
    roc_auc_test,
)
from sklearn_rankinf._ranking import Ranking, as_ranking
from sklearn_rankinf._scores import (
    bedroc_score,
    enrichment_at_k_score,
    precision_at_k_score,
    recall_at_k_score,
    reciprocal_rank_score,
    rie_score,
)
from sklearn_rankinf._significance import average_precision_test
from sklearn_rankinf._top_k import precision_at_k_test, recall_at_k_test
from sklearn_rankinf._top_k_distributions import (
    precision_at_k_null_distribution,
    recall_at_k_null_distribution,
)
from sklearn_rankinf._validation import PosLabel, resolve_k


@dataclass(frozen=True)
class Metric:
    """A ranking metric and the functions that belong to it.

    Parameters
    ----------
    name : str
        The metric's name, its key in `METRICS`.
    statistic : type
        The class of its increments over tie blocks.
    score : callable
        ``score(y_true, y_score, **options)``, the metric itself.
    null_distribution : callable
        ``null_distribution(n_samples, n_positives, **options)``, its frozen null law.
    test : callable
        ``test(y_true, y_score, **options)``, its test against random labelling.
    instance : RankStatistic or None
        The statistic of a metric that other processes do not know by its name.
    """

    name: str
    statistic: type
    score: Callable[..., float]
    null_distribution: Callable[..., Any]
    test: Callable[..., Any]
    instance: RankStatistic | None = None

    @property
    def needs_k(self) -> bool:
        """Whether the metric is not defined without a k."""
        parameter = signature(self.test).parameters.get("k")
        return parameter is not None and parameter.default is Parameter.empty

    def check_k(self, k: Any) -> None:
        """Refuse a k where the metric takes none, and no k where it needs one."""
        if k is not None and "k" not in signature(self.test).parameters:
            raise ValueError(f"metric={self.name!r} takes no k; got k={k!r}: leave it out.")
        if k is None and self.needs_k:
            raise ValueError(
                f"metric={self.name!r} needs k: pass a number of samples, or a fraction of them "
                "such as k=0.1, which suits lists of any size."
            )


def metric_of(statistic: RankStatistic, name: str | None = None) -> Metric:
    """The metric that a statistic makes."""
    return Metric(
        name=repr(statistic) if name is None else name,
        statistic=type(statistic),
        score=partial(rank_statistic_score, statistic=statistic),
        null_distribution=partial(rank_statistic_null_distribution, statistic=statistic),
        test=partial(rank_statistic_test, statistic=statistic),
        instance=statistic,
    )


def _dcg_score(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: float | None = None,
    normalize: bool = False,
    pos_label: PosLabel = 1,
) -> float:
    ranking = as_ranking(y_true, y_score, pos_label, needs_ties=False)
    cut = None if k is None else resolve_k(k, ranking.n_samples)
    return rank_statistic_score(ranking, statistic=DiscountedCumulativeGain(cut, normalize))


_metrics: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            name="average_precision",
            statistic=AveragePrecision,
            score=average_precision_score,
            null_distribution=ap_null_distribution,
            test=average_precision_test,
        ),
        Metric(
            name="recall_at_k",
            statistic=HitsAtK,
            score=recall_at_k_score,
            null_distribution=recall_at_k_null_distribution,
            test=recall_at_k_test,
        ),
        Metric(
            name="precision_at_k",
            statistic=HitsAtK,
            score=precision_at_k_score,
            null_distribution=precision_at_k_null_distribution,
            test=precision_at_k_test,
        ),
        Metric(
            name="enrichment_at_k",
            statistic=HitsAtK,
            score=enrichment_at_k_score,
            null_distribution=enrichment_at_k_null_distribution,
            test=enrichment_at_k_test,
        ),
        Metric(
            name="roc_auc",
            statistic=RocAuc,
            score=roc_auc_score,
            null_distribution=roc_auc_null_distribution,
            test=roc_auc_test,
        ),
        Metric(
            name="dcg",
            statistic=DiscountedCumulativeGain,
            score=_dcg_score,
            null_distribution=dcg_null_distribution,
            test=dcg_test,
        ),
        Metric(
            name="ndcg",
            statistic=DiscountedCumulativeGain,
            score=partial(_dcg_score, normalize=True),
            null_distribution=partial(dcg_null_distribution, normalize=True),
            test=partial(dcg_test, normalize=True),
        ),
        Metric(
            name="bedroc",
            statistic=Bedroc,
            score=bedroc_score,
            null_distribution=bedroc_null_distribution,
            test=bedroc_test,
        ),
        Metric(
            name="rie",
            statistic=Rie,
            score=rie_score,
            null_distribution=rie_null_distribution,
            test=rie_test,
        ),
        Metric(
            name="reciprocal_rank",
            statistic=ReciprocalRank,
            score=reciprocal_rank_score,
            null_distribution=reciprocal_rank_null_distribution,
            test=reciprocal_rank_test,
        ),
    )
}

METRICS: Mapping[str, Metric] = MappingProxyType(_metrics)


def register_metric(name: str, statistic: RankStatistic) -> None:
    """Make a rank statistic known by name.

    The name then goes wherever a metric is chosen by name: :func:`make_significance_scorer`,
    :class:`NullDistributionDisplay` and reports.

    Parameters
    ----------
    name : str
        The name.
    statistic : RankStatistic
        What is summed up, an instance of a subclass.

    Raises
    ------
    TypeError
        If `name` is not a str, or `statistic` not an instance of :class:`RankStatistic`.
    ValueError
        If `name` is empty, or already that of another metric.

    See Also
    --------
    RankStatistic : Base class of such statistics, with an example.
    make_significance_scorer : Takes the name, or the statistic itself.

    Notes
    -----
    A name is known to the process that registered it. Scorers carry the statistic with them, so
    that they work in other processes too. To register an equal statistic again does nothing.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from sklearn_rankinf import RankStatistic, make_significance_scorer, register_metric
    >>> @dataclass(frozen=True)
    ... class RankSum(RankStatistic):
    ...     def weights(self, ranks, n_samples, n_positives):
    ...         return n_samples + 1.0 - ranks
    >>> register_metric("rank_sum", RankSum())
    >>> scorer = make_significance_scorer("rank_sum")
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a str; got {name!r}.")
    if not name:
        raise ValueError("name is empty: give the metric a name.")
    if not isinstance(statistic, RankStatistic):
        remedy = "an instance of a subclass"
        if isinstance(statistic, type) and issubclass(statistic, RankStatistic):
            remedy = f"an instance, such as {statistic.__name__}()"
        raise TypeError(f"statistic must be a RankStatistic: pass {remedy}; got {statistic!r}.")
    if name not in _metrics:
        _metrics[name] = metric_of(statistic, name)
    elif _metrics[name].instance != statistic:
        raise ValueError(f"name={name!r} is that of another metric already: take another name.")


def metric_named(metric: Any) -> Metric:
    """The metric with this name, or the one that this statistic makes."""
    if isinstance(metric, RankStatistic):
        return metric_of(metric)
    if not isinstance(metric, str) or metric not in METRICS:
        raise ValueError(
            f"metric must be one of {', '.join(map(repr, METRICS))}, or an instance of "
            f"RankStatistic; got {metric!r}."
        )
    return METRICS[metric]
