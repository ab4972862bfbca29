"""Rankings: labels and scores reduced to blocks of equal scores and the hits in each block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_rankinf._ranking.options import check_integer, resolve_k
from sklearn_rankinf._ranking.validation import (
    PosLabel,
    as_binary,
    as_counts,
    first_wrong,
    rank_order,
)
from sklearn_rankinf._statistics import cached_property


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    r"""Sizes of the blocks of equal scores, best score first, and the positives in each block.

    A block of items with equal scores is one threshold, as in
    :func:`sklearn.metrics.average_precision_score`. The exact tests of this package depend on the
    labels and scores only through these two arrays, which are stored as read-only copies.

    Parameters
    ----------
    tie_sizes : array-like of shape (n_blocks,)
        Number of items in each block of equal scores, best score first. Without ties every size
        is 1.
    hits : array-like of shape (n_blocks,)
        Number of positives in each block.
    has_all_ties : bool, default=True
        Whether every block consists of equal scores. False means that a run of negatives without a
        positive in between may be one block, whatever the scores of these negatives are.

    Attributes
    ----------
    tie_sizes : ndarray of shape (n_blocks,), dtype int64
        Number of items in each block.
    hits : ndarray of shape (n_blocks,), dtype int64
        Number of positives in each block.
    n_samples : int
        Number of items, the sum of the tie sizes.
    n_positives : int
        Number of positives, the sum of the hits.
    n_blocks : int
        Number of blocks, which is the number of distinct scores if all ties are known.
    has_all_ties : bool
        Whether every block consists of equal scores.

    Raises
    ------
    TypeError
        If the counts are not integers, or `has_all_ties` is not a bool.
    ValueError
        If the counts are empty, not one-dimensional or of different lengths, if a tie size is
        smaller than 1, or if a number of hits is negative or larger than its tie size.

    See Also
    --------
    metric_test : A test that accepts a ranking instead of labels and scores.

    Notes
    -----
    With blocks of :math:`g_b` items that end at rank :math:`T_b = g_1 + \dots + g_b`, hits
    :math:`y_b` and cumulative hits :math:`H_b = y_1 + \dots + y_b`, average precision is
    :math:`\frac{1}{m} \sum_b y_b H_b / T_b`. Blocks without hits contribute nothing to it, nor to
    any other metric of this package, so that runs of negatives can be merged without changing the
    value. Null distributions depend on all ties, and tests do not accept a ranking with
    ``has_all_ties=False``.

    Examples
    --------
    >>> from sklearn_rankinf import Ranking
    >>> ranking = Ranking.from_scores([0, 1, 1, 0], [0.1, 0.9, 0.5, 0.5])
    >>> ranking
    Ranking(n_samples=4, n_positives=2, n_blocks=3)
    >>> ranking.tie_sizes, ranking.hits
    (array([1, 2, 1]), array([1, 1, 0]))
    """

    tie_sizes: NDArray[np.int64]
    hits: NDArray[np.int64]
    _: KW_ONLY
    has_all_ties: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.has_all_ties, bool):
            raise TypeError(
                f"has_all_ties must be True or False; got {self.has_all_ties!r} of type "
                f"{type(self.has_all_ties).__name__}."
            )
        tie_sizes = as_counts(self.tie_sizes, "tie_sizes")
        hits = as_counts(self.hits, "hits")
        _check_hits(tie_sizes, hits)
        for name, counts in (("tie_sizes", tie_sizes), ("hits", hits)):
            counts.flags.writeable = False
            object.__setattr__(self, name, counts)

    def __repr__(self) -> str:
        return (
            f"Ranking(n_samples={self.n_samples}, n_positives={self.n_positives}, "
            f"n_blocks={self.n_blocks}{'' if self.has_all_ties else ', has_all_ties=False'})"
        )

    def __reduce__(
        self,
    ) -> tuple[Callable[..., Ranking], tuple[NDArray[np.int64], NDArray[np.int64]]]:
        # NumPy does not pickle the read-only flag; constructing the object again restores it.
        return partial(type(self), has_all_ties=self.has_all_ties), (self.tie_sizes, self.hits)

    @cached_property
    def n_samples(self) -> int:
        """Number of items."""
        return int(self.tie_sizes.sum())

    @cached_property
    def n_positives(self) -> int:
        """Number of positives."""
        return int(self.hits.sum())

    @property
    def n_blocks(self) -> int:
        """Number of blocks, which is the number of distinct scores if all ties are known."""
        return len(self.tie_sizes)

    @classmethod
    def from_scores(
        cls, y_true: ArrayLike, y_score: ArrayLike, *, pos_label: PosLabel = 1
    ) -> Ranking:
        """Build a ranking from binary labels and scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Binary labels: numbers, booleans or strings.
        y_score : array-like of shape (n_samples,)
            Scores, larger for items more likely to be positive.
        pos_label : int, float, bool or str, default=1
            The label of the positives. Required if the labels are strings.

        Returns
        -------
        ranking : Ranking
            The blocks of equal scores, best score first.

        Raises
        ------
        TypeError
            If the type of `y_true` or `y_score` is not supported.
        ValueError
            If the lengths differ, if a score or label is missing or not finite, if there are
            more than two labels, or if `pos_label` is not among the labels.

        See Also
        --------
        Ranking.from_counts : Build a ranking from counts per block.
        Ranking.from_dask : Build a ranking from dask collections.

        Examples
        --------
        >>> from sklearn_rankinf import Ranking
        >>> Ranking.from_scores(["ham", "spam", "ham"], [0.2, 0.7, 0.1], pos_label="spam")
        Ranking(n_samples=3, n_positives=1, n_blocks=3)
        """
        return cls(*counts_by_block(*as_binary(y_true, y_score, pos_label)))

    @classmethod
    def from_counts(cls, tie_sizes: ArrayLike, hits: ArrayLike) -> Ranking:
        """Build a ranking from the sizes and hits of its blocks of equal scores.

        One ``GROUP BY`` over the score in a database gives these counts.

        Parameters
        ----------
        tie_sizes : array-like of shape (n_blocks,)
            Number of items in each block of equal scores, best score first.
        hits : array-like of shape (n_blocks,)
            Number of positives in each block.

        Returns
        -------
        ranking : Ranking
            The ranking with these counts.

        Raises
        ------
        TypeError
            If the counts are not integers.
        ValueError
            If the counts are empty, not one-dimensional or of different lengths, if a tie size
            is smaller than 1, or if a number of hits is negative or larger than its tie size.

        See Also
        --------
        Ranking.from_scores : Build a ranking from labels and scores.
        Ranking.from_dask : Count the blocks of dask collections.

        Examples
        --------
        >>> from sklearn_rankinf import Ranking
        >>> Ranking.from_counts([1, 3, 1000], [1, 1, 3])
        Ranking(n_samples=1004, n_positives=5, n_blocks=3)
        """
        return cls(as_counts(tie_sizes, "tie_sizes"), as_counts(hits, "hits"))

    @classmethod
    def from_dask(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        pos_label: PosLabel = 1,
        counts: str = "all",
        max_distinct: int = 10_000_000,
    ) -> Ranking:
        r"""Build a ranking from labels and scores in dask collections, chunk by chunk.

        The labels and scores need not fit in memory. The counts are exact: they equal those of
        :meth:`from_scores` for the same rows.

        Parameters
        ----------
        y_true : dask.array.Array of shape (n_samples,) or dask.dataframe.Series
            Binary labels: numbers, booleans or strings.
        y_score : dask.array.Array of shape (n_samples,) or dask.dataframe.Series
            Scores, larger for items more likely to be positive, in the same order of rows.
        pos_label : int, float, bool or str, default=1
            The label of the positives. Required if the labels are strings.
        counts : {"all", "positives"}, default="all"
            Which scores are distinguished: all of them, or only those of the positives. With
            ``"positives"`` the negatives between two neighbouring scores of positives form one
            block, whose ties are unknown: all metrics are exact, but tests do not accept the
            ranking.
        max_distinct : int, default=10_000_000
            Largest number of distinct scores, or distinct scores of positives, to keep in memory.

        Returns
        -------
        ranking : Ranking
            The blocks of equal scores, best score first. With ``counts="positives"`` and a run of
            negatives in one block, `has_all_ties` is False.

        Raises
        ------
        ImportError
            If dask is not installed.
        TypeError
            If `y_true` or `y_score` is not a dask array or series, or if its type is not
            supported.
        ValueError
            If there are more distinct scores than `max_distinct`, if the collections cannot be
            ranked (see :meth:`from_scores`), if they have unknown chunk sizes and different
            numbers of chunks, or if an option is not one of those above.

        See Also
        --------
        Ranking.from_scores : Build a ranking from labels and scores in memory.
        Ranking.from_counts : Build a ranking from counts that a database returns.

        Notes
        -----
        With ``counts="all"`` each chunk is reduced to its distinct scores with their numbers of
        items and positives, and the results are merged in pairs. A step needs memory for one
        chunk, or for two parts of at most `max_distinct` rows.

        With ``counts="positives"`` the collections are read twice: first for the scores of the
        positives, then for the numbers of items above and equal to each of these scores. A step
        needs memory for one chunk and one number for each distinct score of a positive.

        The work is done by the scheduler configured in dask: threads, processes, or a cluster.

        Examples
        --------
        >>> import dask.array as da
        >>> from sklearn_rankinf import Ranking
        >>> y_true = da.from_array([0, 1, 1, 0, 0, 0], chunks=2)
        >>> y_score = da.from_array([0.1, 0.9, 0.5, 0.5, 0.3, 0.2], chunks=2)
        >>> Ranking.from_dask(y_true, y_score)
        Ranking(n_samples=6, n_positives=2, n_blocks=5)
        >>> partial = Ranking.from_dask(y_true, y_score, counts="positives")
        >>> partial
        Ranking(n_samples=6, n_positives=2, n_blocks=3, has_all_ties=False)
        >>> partial.tie_sizes, partial.hits
        (array([1, 2, 3]), array([1, 1, 0]))
        """
        # Only this method needs dask, which is slow to import and may not be installed.
        from sklearn_rankinf._ranking.distributed import count_blocks

        largest = check_integer(max_distinct, "max_distinct", 1)
        tie_sizes, hits, has_all_ties = count_blocks(y_true, y_score, pos_label, counts, largest)
        return cls(tie_sizes, hits, has_all_ties=has_all_ties)


def counts_by_block(
    positive: NDArray[np.bool_], scores: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the items and the positives in each block of equal scores."""
    return sums_by_block(positive, scores)


def sums_by_block(
    labels: NDArray[Any], scores: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Count the items in each block of equal scores, and sum up their positives or grades."""
    order, tie_sizes = rank_order(scores)
    values = labels.astype(np.int64) if labels.dtype.kind == "b" else labels
    return tie_sizes, np.add.reduceat(values[order], np.cumsum(tie_sizes) - tie_sizes)


def _check_hits(tie_sizes: NDArray[np.int64], hits: NDArray[np.int64]) -> None:
    if len(tie_sizes) != len(hits):
        raise ValueError(
            "tie_sizes and hits must have the same length; got "
            f"{len(tie_sizes)} tie sizes and {len(hits)} hits."
        )
    for message, values, wrong in (
        ("tie_sizes must be at least 1", tie_sizes, tie_sizes < 1),
        ("hits must not be negative", hits, hits < 0),
        ("hits must not exceed the tie size of their block", hits, hits > tie_sizes),
    ):
        if wrong.any():
            raise ValueError(f"{message}; got {first_wrong(values, wrong)}.")


def read_ranking(y_true: Any, y_score: Any, pos_label: PosLabel) -> Ranking:
    """Read labels and scores, or the ranking that takes their place."""
    refuse_estimator(y_true)
    if isinstance(y_true, Ranking) or y_score is None:
        return given_ranking(y_true, y_score, needs_ties=False)
    return Ranking.from_scores(y_true, y_score, pos_label=pos_label)


def refuse_estimator(y_true: Any) -> None:
    """Raise an error if a function of labels and scores is called as a scorer."""
    if hasattr(y_true, "fit"):
        raise TypeError(
            f"y_true must be labels; got an estimator, {type(y_true).__name__}: a function of "
            "(y_true, y_score) is not a scorer; pass scoring=make_significance_scorer(...), "
            "or sklearn.metrics.make_scorer(function, response_method=('decision_function', "
            "'predict_proba')) for a score."
        )


def given_ranking(y_true: Any, y_score: Any, needs_ties: bool) -> Ranking:
    """A ranking that takes the place of labels and scores."""
    if isinstance(y_true, Ranking):
        if y_score is not None:
            raise TypeError(
                "y_score must be left out when y_true is a Ranking, which contains the order; "
                f"got y_score of type {type(y_score).__name__}."
            )
        if needs_ties and not y_true.has_all_ties:
            raise ValueError(
                "The null distribution depends on ties among the negatives, which are unknown in a "
                "Ranking with has_all_ties=False; count all scores, as "
                "Ranking.from_dask(..., counts='all') does, or, if equal scores are rare, use the "
                "null distribution without ties, such as ap_null_distribution(n_samples, "
                "n_positives)."
            )
        return y_true
    raise TypeError(
        f"y_score is missing: pass the scores with y_true (got {type(y_true).__name__}), or "
        "pass a Ranking as y_true."
    )


def ends_up_to(ranking: Ranking, last: Any, name: str) -> NDArray[np.int64]:
    """Ends of the blocks of equal scores, up to a rank if one is given."""
    ends = np.cumsum(ranking.tie_sizes)
    if last is None:
        return ends
    rank = resolve_k(last, ranking.n_samples, name)
    if rank < ends[0]:
        raise ValueError(
            f"{name}={last!r} is rank {rank}, within the first {int(ends[0])} items, which have "
            f"equal scores: {name} must be at least {int(ends[0])}."
        )
    return ends[: int(np.searchsorted(ends, rank, side="right"))]
