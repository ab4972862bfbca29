"""Items with their labels, their scores by one or several rankers, and the design of the sample."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._ranking.ranking import (
    Ranking,
    counts_by_block,
    given_ranking,
    refuse_estimator,
)
from sklearn_rankinf._ranking.tables import as_label_table, class_names, has_classes
from sklearn_rankinf._ranking.validation import (
    PosLabel,
    as_binary,
    as_labels,
    as_numpy,
    as_relevances,
    as_scores,
    as_weights,
    block_of_each,
    check_lengths,
    has_grades,
    mark_positives,
    numbered,
    read_predictions,
)
from sklearn_rankinf._statistics import Floats, Integers, cached_property

_UNITS = (("strata", "stratum"), ("clusters", "cluster"), ("groups", "query"))


@dataclass(frozen=True, eq=False)
class Design:
    """How items were sampled, as numbers: what may be exchanged, and over what errors are summed.

    `strata`, `clusters` and `groups` number from 0 the stratum, the cluster and the query of each
    item, in order of appearance, and `names` lists what was numbered. `positions` are numbers in
    the order of the times of the items: labels are shifted along them, or clusters are blocks that
    are permuted. `weights` are relative to the largest one, and None if they are equal;
    `is_weighted` says whether any were given. The weights of estimates are those of a sampling
    design: an item of weight w stands for w items of the population.
    """

    n_items: int
    strata: Integers | None = None
    clusters: Integers | None = None
    groups: Integers | None = None
    positions: Integers | None = None
    weights: Floats | None = None
    is_weighted: bool = False
    names: dict[str, list[Any]] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        n_items: int,
        *,
        order: Any = None,
        sample_weight: Any = None,
        **units: Any,
    ) -> Design:
        """Number strata, clusters and groups, and read order and weights."""
        codes, names = {}, {}
        for name, what in _UNITS:
            if units.get(name) is not None:
                codes[name], names[name] = numbered(units[name], name, what, n_items)
        strata = codes.get("strata")
        return cls(
            n_items,
            **codes,
            positions=None if order is None else _as_positions(order, strata, n_items),
            weights=None if sample_weight is None else as_weights(sample_weight, n_items),
            is_weighted=sample_weight is not None,
            names=names,
        )

    def of_rows(self, rows: Integers) -> Design:
        codes, names = {}, {}
        for name in self.names:
            codes[name], kept = _renumbered(getattr(self, name)[rows])
            names[name] = [self.names[name][code] for code in kept.tolist()]
        return Design(
            rows.size,
            **codes,
            positions=None if self.positions is None else self.positions[rows],
            weights=None if self.weights is None else self.weights[rows],
            is_weighted=self.is_weighted,
            names=names,
        )

    def of_one_value(self) -> Design:
        """The design of a sample of one class, whose only value no design changes."""
        return Design(self.n_items, is_weighted=self.is_weighted)

    def rows_of_queries(self) -> dict[Any, Integers]:
        assert self.groups is not None
        order = np.argsort(self.groups, kind="stable")
        ends = np.cumsum(np.bincount(self.groups))
        return dict(zip(self.names["groups"], np.split(order, ends[:-1]), strict=True))

    @property
    def restrictions(self) -> list[str]:
        """Names of what restricts the permutation of labels."""
        given = {"strata": self.strata, "clusters": self.clusters, "order": self.positions}
        return [name for name, values in given.items() if values is not None]

    @property
    def named(self) -> str:
        return " and ".join(self.restrictions)

    def exchangeable(
        self, labels: NDArray[Any]
    ) -> tuple[Integers, Integers | None, Integers | None, str] | None:
        """Units that may exchange their labels, of which each item has a row; None for all items.

        The stratum and the unit of each item, the place of each item in its unit, and a word for
        units. Without units the labels of each stratum, a series, are shifted by their positions.
        """
        if not self.restrictions:
            return None
        strata = np.zeros(self.n_items, dtype=np.int64) if self.strata is None else self.strata
        if self.positions is not None:
            if self.clusters is not None:
                self._check_blocks(strata)
            return strata, self.clusters, self.positions, "blocks"
        if self.clusters is None:
            return strata, np.arange(self.n_items), None, "clusters"
        self.check_clusters(strata, labels)
        return strata, self.clusters, None, "clusters"

    def check_clusters(self, strata: Integers, labels: NDArray[Any]) -> None:
        """Raise an error for clusters whose items have different labels or strata."""
        clusters, names = self.clusters, self.names["clusters"]
        assert clusters is not None
        differs = _differs_within(clusters, labels)
        if differs is not None:
            raise ValueError(
                f"The labels in cluster {names[differs]!r} differ, but the labels of whole "
                "clusters are permuted; if labels differ within clusters, pass the clusters as "
                "strata, so that labels are permuted within them, which tests another hypothesis. "
                "metric_interval and metric_comparison_test accept clusters with different labels."
            )
        differs = _differs_within(clusters, strata[:, None])
        if differs is not None:
            raise ValueError(
                f"Cluster {names[differs]!r} lies in several strata, but a cluster must lie in "
                "one; omit strata or clusters, or split the cluster."
            )

    def _check_blocks(self, series: Integers) -> None:
        """Raise an error for clusters that are not blocks of consecutive items of one series."""
        clusters, names = self.clusters, self.names["clusters"]
        assert clusters is not None
        assert self.positions is not None
        in_order = clusters[np.lexsort((self.positions, series))]
        is_first = np.r_[True, np.diff(in_order) != 0]
        n_parts = np.bincount(in_order[is_first])
        differs = _differs_within(clusters, series[:, None])
        if differs is not None or n_parts.max() > 1:
            cluster = int(np.argmax(n_parts)) if differs is None else differs
            raise ValueError(
                f"Cluster {names[cluster]!r} is not a block of consecutive items of one series, "
                "but with order the clusters are the blocks that are permuted: number them along "
                "the series, as in rank_of_time // 50, or omit clusters or order."
            )

    @property
    def is_simple(self) -> bool:
        """Whether items are sampled independently, without strata and with equal weights."""
        return self.clusters is None and self.strata is None and self.weights is None

    @property
    def mean_one_weights(self) -> Floats:
        """Weights of the items whose mean is 1."""
        weights = np.ones(self.n_items) if self.weights is None else self.weights
        return np.asarray(weights / weights.mean())

    def errors(self, values: Floats, positive: NDArray[np.bool_]) -> Floats:
        r"""Values whose squares and products add up to variances and covariances.

        These are the influence of each item on the metric of one or several rankings, or its sums
        over clusters. Each class, within each stratum, is centred at its mean and multiplied by
        :math:`\sqrt{c/(c-1)}`, with the number c of clusters that have an item of the class; for
        single items that is :math:`\sqrt{m/(m-1)}` and :math:`\sqrt{n_0/(n_0-1)}`. Means are those
        of items with weights, by which the centred values are multiplied: an item of weight w is a
        cluster of w equal ones. These are
        Obuchowski's factors [1]_ for the classes; for the product of both classes hers is
        :math:`c/(c-1)` with all clusters, and here it is the geometric mean of those of the
        classes, so that no variance is negative. A class that lies in a single cluster gives nan,
        and if all items are of one class, without strata, all is 0.

        References
        ----------
        .. [1] Obuchowski, N. A. (1997). Nonparametric analysis of clustered ROC curve data.
           Biometrics, 53(2), 567-578.
        """
        weights = self.mean_one_weights
        if self.strata is not None:
            _, cells, sizes = np.unique(
                2 * self.strata + positive, return_inverse=True, return_counts=True
            )
            totals = np.bincount(cells, weights)
            means = (_sums_by_number((values.T * weights).T, cells).T / totals).T
            apart = sizes
            if self.clusters is not None:
                # The number of clusters that have an item in each cell.
                apart = np.bincount(np.unique(np.stack([cells, self.clusters]), axis=1)[0])
            factors = np.sqrt(apart / np.where(apart > 1, apart - 1.0, math.nan))
            found: Floats = ((values - means[cells]).T * factors[cells]).T
        elif np.all(positive == positive[0]):
            found = np.zeros(values.shape)
        else:
            found = np.empty(values.shape)
            for members, c in zip((positive, ~positive), self.n_independent(positive), strict=True):
                own = values[members]
                factor = c / (c - 1) if c > 1 else math.nan
                centre = np.average(own, axis=0, weights=weights[members])
                found[members] = (own - centre) * math.sqrt(factor)
        found = (found.T * weights).T
        return found if self.clusters is None else _sums_by_number(found, self.clusters)

    def n_independent(self, positive: NDArray[np.bool_]) -> tuple[int, int]:
        """Numbers of independent positives and negatives, or of clusters that have them."""
        if self.clusters is None:
            return int(positive.sum()), int((~positive).sum())
        return np.unique(self.clusters[positive]).size, np.unique(self.clusters[~positive]).size


@dataclass(frozen=True, eq=False)
class Sample:
    """Labels of items, their scores by one or several rankers, and the design of the sample.

    `labels` has one column of positives or of grades of relevance, or one column for each class.
    There are scores, larger for items more likely to be positive, and a name for each ranker or
    each class. `counts` is the ranking, where it was given without its items.
    """

    labels: NDArray[Any]
    scores: tuple[NDArray[Any], ...]
    names: list[Any]
    design: Design
    counts: Ranking | None = None

    @classmethod
    def read(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        pos_label: PosLabel = 1,
        columns: str = "",
        takes_grades: bool = False,
        needs_ties: bool = True,
        **design: Any,
    ) -> Sample:
        """Read labels, scores and design, whose arguments are those of `Design.read`.

        The columns of the scores are those of one ranker by default, or of ``"classes"``,
        ``"rankers"`` or ``"predictions"``: a dict of predicted classes, which score 1 for positives
        and 0 for negatives; ``"none"`` reads labels alone. With `groups`, the queries, items that a
        ranker did not retrieve have the score -inf. Ties of negatives, which `needs_ties`, matter
        for every null distribution.
        """
        refuse_estimator(y_true)
        y_true, y_score = as_numpy(y_true, "y_true"), as_numpy(y_score, "y_score")
        if columns in ("", "classes") and (isinstance(y_true, Ranking) or y_score is None):
            _check_has_items(y_true, y_score, design)
            ranking = given_ranking(y_true, y_score, needs_ties)
            read = Design.read(ranking.n_samples, **design)
            return cls(np.empty((0, 1)), (), ["ranking"], read, ranking)
        takes_unretrieved = design.get("groups") is not None
        labels: NDArray[Any]
        if columns == "classes" and has_classes(y_true, y_score):
            labels, table = as_label_table(y_true, y_score)
            names, scores = class_names(y_true), list(table.T)
        elif takes_grades and has_grades(y_true, pos_label):
            labels = as_relevances(y_true)[:, None]
            if columns == "rankers":
                names, scores = _read_rankers(labels[:, 0] > 0.0, y_score, takes_unretrieved)
            else:
                names, scores = ["ranking"], [as_scores(y_score, "y_score", takes_unretrieved)]
                check_lengths(len(labels), scores[0].size)
        else:
            positive, names, scores = _read_binary(
                y_true, y_score, pos_label, columns, takes_unretrieved
            )
            labels = positive[:, None]
        return cls(labels, tuple(scores), names, Design.read(len(labels), **design))

    @classmethod
    def read_classes(cls, y_true: Any, y_score: Any, **design: Any) -> dict[Any, Sample]:
        """Read a table of scores of all classes for each ranker: a sample of each class by name."""
        if not isinstance(y_score, Mapping):
            raise TypeError(
                "y_score must be a dict with an array of shape (n_samples, n_classes) for each "
                "ranker, because the metric is an average over classes; got "
                f"{type(y_score).__name__}."
            )
        tables = []
        for name, table in y_score.items():
            try:
                sample = cls.read(y_true, table, columns="classes", **design).with_weight()
            except (TypeError, ValueError) as error:
                raise type(error)(f"Ranker {name!r}: {error}") from error
            tables.append(sample)
        return {
            label: cls(
                sample.labels[:, [number]],
                tuple(own.scores[number] for own in tables),
                list(y_score),
                sample.design,
            )
            for number, label in enumerate(sample.names)
        }

    @property
    def n_items(self) -> int:
        return self.design.n_items

    @property
    def positive(self) -> NDArray[np.bool_]:
        return np.asarray(self.labels[:, 0], dtype=bool)

    @property
    def kinds(self) -> Integers:
        """Numbers of the labels of the first class; equal labels have equal numbers."""
        return np.asarray(self.labels[:, 0], dtype=np.int64)

    @property
    def n_positives(self) -> int:
        return self.rankings[0].n_positives if self.counts else int(self.positive.sum())

    @property
    def is_graded(self) -> bool:
        return self.counts is None and self.labels.dtype.kind == "f"

    @property
    def has_unretrieved(self) -> bool:
        """Whether some items of queries have the score -inf and no rank."""
        return any(bool(np.any(own == -math.inf)) for own in self.scores)

    @property
    def has_both(self) -> bool:
        return 0 < self.n_positives < self.n_items

    @cached_property
    def _blocks(self) -> list[tuple[Integers, Integers]]:
        return [block_of_each(scores) for scores in self.scores]

    def places(self, ranker: int = 0) -> Integers:
        """Block of equal scores of each item in the list of a ranker, from 0 for the best."""
        return self._blocks[ranker][0]

    @cached_property
    def rankings(self) -> list[Ranking]:
        """The ranking of each ranker, or of each class."""
        if self.counts is not None:
            return [self.counts]
        rankings = []
        for number, (places, tie_sizes) in enumerate(self._blocks):
            column = number if self.labels.shape[1] > 1 else 0
            hits = np.bincount(places[self.labels[:, column] > 0], minlength=tie_sizes.size)
            rankings.append(Ranking(tie_sizes, hits))
        return rankings

    def weighted_blocks(self, ranker: int = 0) -> tuple[Floats, Floats]:
        """Sums of the weights of the items and of the positives in each block of equal scores.

        The weights have the mean 1.
        """
        weights = self.design.mean_one_weights
        places, tie_sizes = self._blocks[ranker]
        n_blocks = tie_sizes.size
        sizes, hits = (
            np.asarray(np.bincount(places, own, minlength=n_blocks), dtype=float)
            for own in (weights, weights * self.positive)
        )
        return sizes, hits

    def tie_sizes(self, ranker: int = 0) -> Integers | None:
        """Sizes of the blocks of equal scores; None if every item is a block by itself."""
        sizes = self.rankings[ranker].tie_sizes
        return None if sizes.max() == 1 else sizes

    @property
    def lists_of_queries(self) -> list[dict[Any, Ranking]]:
        """The rankings of all queries by each ranker."""
        return [dict(self.queries(ranker)) for ranker in range(len(self.scores))]

    def queries(self, ranker: int = 0) -> Iterator[tuple[Any, Ranking]]:
        """The ranking of each query by a ranker, one after the other."""
        positive, scores = self.positive, self.scores[ranker]
        for query, rows in self.design.rows_of_queries().items():
            yield query, Ranking(*counts_by_block(positive[rows], scores[rows]))

    @property
    def n_without_positives(self) -> int:
        assert self.design.groups is not None
        return int(np.sum(np.bincount(self.design.groups, self.positive) == 0))

    @property
    def n_classes(self) -> int:
        """Number of classes with a column of labels; 1 for binary labels."""
        return int(self.labels.shape[1])

    def single(self, number: int) -> Sample:
        """Labels and scores of one class, or of one ranker."""
        if self.counts is not None:
            return self
        own = slice(number, number + 1)
        labels = self.labels[:, own] if self.n_classes > 1 else self.labels
        return Sample(labels, self.scores[own], self.names[own], self.design)

    def classes(self) -> dict[Any, Sample]:
        """Labels and scores of each class by its name."""
        return {name: self.single(number) for number, name in enumerate(self.names)}

    def of_rows(self, rows: Integers) -> Sample:
        scores = tuple(own[rows] for own in self.scores)
        return Sample(self.labels[rows], scores, self.names, self.design.of_rows(rows))

    def with_weight(self) -> Sample:
        """The sample without the items of weight 0."""
        weights = self.design.weights
        if weights is None or weights.all():
            return self
        return self.of_rows(np.flatnonzero(weights))

    def reversed(self) -> Sample:
        """The negatives as positives of the reversed lists."""
        worst_first = tuple(places for places, _ in self._blocks)
        return Sample(~self.labels, worst_first, self.names, self.design)

    def errors(self, values: Floats) -> Floats:
        """Values whose squares and products add up to variances and covariances."""
        return self.design.errors(values, self.positive)

    @property
    def n_independent(self) -> tuple[int, int]:
        return self.design.n_independent(self.positive)

    @property
    def n_effective(self) -> tuple[float, float]:
        r"""Numbers of independent positives and negatives of equal weights with the same variance.

        They are Kish's :math:`(\sum w)^2 / \sum w^2`, of the weights of clusters.
        """
        weights = self.design.mean_one_weights
        units = np.arange(self.n_items) if self.design.clusters is None else self.design.clusters
        sums = (np.bincount(units, weights * own) for own in (self.positive, ~self.positive))
        one, other = (float(own.sum() ** 2 / (own @ own)) if own.any() else 0.0 for own in sums)
        return one, other


def _check_has_items(y_true: Any, y_score: Any, design: Mapping[str, Any]) -> None:
    """Raise an error if values for each item are given with a ranking."""
    for name, values in design.items():
        if values is not None:
            raise TypeError(
                f"{name} needs y_true and y_score, because a Ranking contains counts and does not "
                f"identify the items; got y_true of type {type(y_true).__name__} and y_score of "
                f"type {type(y_score).__name__}."
            )


def _read_binary(
    y_true: Any, y_score: Any, pos_label: PosLabel, columns: str, takes_unretrieved: bool
) -> tuple[NDArray[np.bool_], list[Any], list[NDArray[Any]]]:
    """Positives, names of the rankers, and their scores."""
    if columns in ("", "classes"):
        positive, own = as_binary(y_true, y_score, pos_label, takes_unretrieved=takes_unretrieved)
        return positive, ["ranking"], [own]
    if columns == "predictions":
        positive, *classes = read_predictions(y_true, pos_label, **y_score)
        return positive, list(y_score), classes
    if isinstance(y_true, Ranking):
        raise TypeError(
            "y_true is a Ranking, which does not identify the items; pass the labels of the "
            "items, and the scores of all rankers for these items."
        )
    labels = as_labels(y_true)
    positive, _ = mark_positives(labels, pos_label)
    if columns == "none":
        return positive, [], []
    return positive, *_read_rankers(positive, y_score, takes_unretrieved)


def _read_rankers(
    positive: NDArray[np.bool_], y_score: Any, takes_unretrieved: bool
) -> tuple[list[Any], list[NDArray[Any]]]:
    """Names and scores of rankers of items whose positives are known."""
    names, given = _columns(y_score, positive.size)
    scores = []
    for name, own in zip(names, given, strict=True):
        try:
            scores.append(as_binary(positive, own, True, takes_unretrieved=takes_unretrieved)[1])
        except (TypeError, ValueError) as error:
            raise type(error)(f"Ranker {name!r}: {error}") from error
    return names, scores


def read_values(values: Any) -> tuple[list[Any], Floats]:
    """Names of rankers, and their values in a table with a row for each query."""
    names, columns = _columns(values, None, "values")
    remedy = "drop such rows, or give the value"
    table = [
        np.asarray(as_scores(own, f"values of {name!r}", remedy=remedy), dtype=float)
        for name, own in zip(names, columns, strict=True)
    ]
    for name, own in zip(names, table, strict=True):
        if own.size != table[0].size:
            raise ValueError(
                f"values has {table[0].size} rows for {names[0]!r} and {own.size} for {name!r}: "
                "every ranker needs a value in each row."
            )
    if table[0].size < 2:
        raise ValueError(
            f"values has too few rows, {table[0].size}: a comparison over queries or data sets "
            "needs at least 2."
        )
    return names, np.column_stack(table)


def _columns(
    y_score: Any, n_samples: int | None, argument: str = "y_score"
) -> tuple[list[Any], list[Any]]:
    """Names and columns of the rankers in a dict, a frame or a table."""
    names, columns = _named_columns(y_score, n_samples, argument)
    if not names:
        raise ValueError(f"{argument} contains no ranker; pass the scores of at least one.")
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"{argument} has several rankers named {repeated[0]!r}; rename them.")
    return names, columns


def _named_columns(
    y_score: Any, n_samples: int | None, argument: str
) -> tuple[list[Any], list[Any]]:
    if isinstance(y_score, Mapping):
        return list(y_score), list(y_score.values())
    if hasattr(y_score, "columns"):
        names = list(y_score.columns)
        # A repeated name selects several columns; the check of names raises an error for it.
        return names, [y_score[name] for name in names]
    try:
        table = np.asanyarray(y_score)
    except ValueError as error:
        raise ValueError(f"{argument} cannot be read as a table: {error}") from error
    if n_samples is None:
        if table.ndim != 2:
            raise ValueError(
                f"{argument} must have one row for each query and one column for each ranker; got "
                f"shape {table.shape}."
            )
        n_samples = len(table)
    if table.ndim != 2 or len(table) != n_samples:
        remedy = "pass y_score.T if its rows are the rankers"
        if table.ndim < 2:
            remedy = "for a single ranker pass a table with one column, y_score.reshape(-1, 1)"
        raise ValueError(
            f"y_score must have one row for each of the {n_samples} items and one column for "
            f"each ranker; got shape {table.shape}: {remedy}."
        )
    return list(range(table.shape[1])), list(table.T)


def _differs_within(codes: Integers, rows: NDArray[Any]) -> int | None:
    """First cluster whose rows are not all equal; None if there is no such cluster."""
    first = np.empty(int(codes.max()) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(codes.size)[::-1]
    differs = np.any(rows != rows[first[codes]], axis=1)
    return int(codes[np.argmax(differs)]) if differs.any() else None


def _as_positions(order: Any, strata: Integers | None, n_items: int) -> Integers:
    """Number the times or positions of items in ascending order."""
    order = as_numpy(order, "order")
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise TypeError(
            "order must contain the time or position of each item; got "
            f"{order!r} of type {type(order).__name__}."
        )
    times = np.asarray(order if hasattr(order, "__array__") else list(order))
    if times.ndim == 2 and times.shape[1] == 1:
        times = times[:, 0]
    if times.shape != (n_items,):
        raise ValueError(
            f"order must contain the time or position of each of the {n_items} items; got an "
            f"array of shape {times.shape}."
        )
    if times.dtype.kind not in "iufMmO":
        raise TypeError(
            f"order must contain numbers or times, which can be sorted; got values of type "
            f"{times.dtype}, such as {times[:1].tolist()[0]!r}."
        )
    # A missing value differs from itself, and None or pandas.NA cannot be compared.
    try:
        missing = np.asarray(times != times, dtype=bool)
        distinct, positions = np.unique(times, return_inverse=True)
    except TypeError as error:
        raise TypeError(
            f"order must contain numbers or times without missing values: {error}."
        ) from error
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(f"order is missing in row {row}; omit items without order.")
    series = np.zeros(n_items, dtype=np.int64) if strata is None else strata
    in_order = np.lexsort((positions, series))
    same = (np.diff(positions[in_order]) == 0) & (np.diff(series[in_order]) == 0)
    if same.any():
        at = int(np.argmax(same))
        first, second = sorted(in_order[at : at + 2].tolist())
        where = "unless strata separate several series" if strata is None else "within a stratum"
        raise ValueError(
            f"order must be different for all items {where}; rows {first} and {second} both have "
            f"{distinct[positions[first]]!s}."
        )
    return np.asarray(positions, dtype=np.int64)


def _renumbered(codes: Integers) -> tuple[Integers, Integers]:
    """Numbers from 0 in order of appearance, and the former number of each."""
    former, first, own = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    return number[own], former[order]


def _sums_by_number(values: Floats, numbers: Integers) -> Floats:
    """Sums of the rows with the same number, for example the number of their cluster."""
    total = np.zeros((int(numbers.max()) + 1, *values.shape[1:]))
    np.add.at(total, numbers, values)
    return total
