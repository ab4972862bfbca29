"""The ranking: labels and scores reduced to blocks of tied scores and the hits in each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from functools import partial
from inspect import currentframe
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

PosLabel: TypeAlias = float | str | bool
"""What may be named as the positive label: a number, a string or a boolean."""

_N_SHOWN = 5  # labels listed in an error message


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    r"""Sizes of the blocks of equal scores, best score first, and the positives in each.

    A block of samples with equal scores is one threshold, as it is in
    :func:`sklearn.metrics.average_precision_score`. The two arrays are all that the exact tests
    of this package need; they are read-only copies of what was given.

    Parameters
    ----------
    tie_sizes : array-like of shape (n_blocks,)
        Number of samples in each block of equal scores, best score first. Without ties these
        are ``n_samples`` ones.
    hits : array-like of shape (n_blocks,)
        Number of positives in each block.
    has_all_ties : bool, default=True
        Whether every block is of equal scores. False says that negatives with nothing but
        negatives between them may be in one block whatever their scores are.

    Attributes
    ----------
    tie_sizes : ndarray of shape (n_blocks,), dtype int64
        Number of samples in each block.
    hits : ndarray of shape (n_blocks,), dtype int64
        Number of positives in each block.
    n_samples : int
        Number of samples, the sum of the tie sizes.
    n_positives : int
        Number of positives, the sum of the hits.
    n_blocks : int
        Number of blocks: of distinct scores, if all ties are known.
    has_all_ties : bool
        Whether every block is of equal scores.

    Raises
    ------
    TypeError
        If the counts are not integers, or `has_all_ties` is not a bool.
    ValueError
        If the counts are empty, not one-dimensional or of different lengths, if a tie size is
        smaller than 1, or if a number of hits is negative or larger than its tie size.

    See Also
    --------
    average_precision_test : Takes a ranking in place of labels and scores.

    Notes
    -----
    With block sizes :math:`g_b` ending at rank :math:`T_b = g_1 + \dots + g_b`, hits
    :math:`y_b` and cumulative hits :math:`H_b = y_1 + \dots + y_b`, average precision is
    :math:`\frac{1}{m} \sum_b y_b H_b / T_b`. Blocks without hits add nothing to it, nor to any
    other metric of this package, so that runs of negatives may be merged: the value stays the same.
    Null distributions depend on all ties, and tests refuse a ranking that does not have them.

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
        # NumPy forgets the read-only flag in a pickle; building anew restores it.
        return partial(type(self), has_all_ties=self.has_all_ties), (self.tie_sizes, self.hits)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.tie_sizes.sum())

    @property
    def n_positives(self) -> int:
        """Number of positives."""
        return int(self.hits.sum())

    @property
    def n_blocks(self) -> int:
        """Number of blocks: of distinct scores, if all ties are known."""
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
            Scores, larger for samples more likely to be positive.
        pos_label : int, float, bool or str, default=1
            The label of the positives. Labels that are strings need it.

        Returns
        -------
        ranking : Ranking
            The blocks of equal scores, best score first.

        Raises
        ------
        TypeError
            If `y_true` or `y_score` is of a kind that holds no labels or no scores.
        ValueError
            If the lengths differ, if a score or label is missing or not finite, if there are
            more than two labels, or if `pos_label` is neither of two labels.

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
        return cls(*_counts_by_block(*as_binary(y_true, y_score, pos_label)))

    @classmethod
    def from_counts(cls, tie_sizes: ArrayLike, hits: ArrayLike) -> Ranking:
        """Build a ranking from the sizes and hits of its blocks of equal scores.

        A database or a cluster delivers these with one ``GROUP BY`` over the score.

        Parameters
        ----------
        tie_sizes : array-like of shape (n_blocks,)
            Number of samples in each block of equal scores, best score first.
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

        The labels and scores need not fit in memory. The counts are exact: those of
        :meth:`from_scores` for the same rows.

        Parameters
        ----------
        y_true : dask.array.Array of shape (n_samples,) or dask.dataframe.Series
            Binary labels: numbers, booleans or strings.
        y_score : dask.array.Array of shape (n_samples,) or dask.dataframe.Series
            Scores, larger for samples more likely to be positive, in the same order of rows.
        pos_label : int, float, bool or str, default=1
            The label of the positives. Labels that are strings need it.
        counts : {"all", "positives"}, default="all"
            Which scores are told apart: all of them, or those of the positives. With
            ``"positives"`` the negatives between two neighbouring scores of positives are one
            block, whose ties are not known: all metrics are exact, but tests refuse the ranking.
        max_distinct : int, default=10,000,000
            Largest number of distinct scores, or distinct scores of positives, to be held.

        Returns
        -------
        ranking : Ranking
            The blocks of equal scores, best score first. With ``counts="positives"`` and a run of
            negatives in one block its `has_all_ties` is False.

        Raises
        ------
        ImportError
            If dask is not installed.
        TypeError
            If `y_true` or `y_score` is not a dask array or series, or of a kind that holds no
            labels or no scores.
        ValueError
            If there are more distinct scores than `max_distinct`, if the collections cannot be
            ranked (see :meth:`from_scores`), if they have unknown chunk sizes and different
            numbers of chunks, or if an option is not one of those above.

        See Also
        --------
        Ranking.from_scores : Build a ranking from labels and scores in memory.
        Ranking.from_counts : Build a ranking from counts that a database delivers.

        Notes
        -----
        With ``counts="all"`` each chunk is reduced to its distinct scores with their numbers of
        samples and positives, and these are merged two by two. A step holds a chunk, or two parts
        of at most `max_distinct` rows.

        With ``counts="positives"`` the collections are read twice: first for the scores of the
        positives, then for the numbers of samples above and level with each. A step holds a
        chunk and a number for each distinct score of a positive.

        Work is done by the scheduler that dask is set to: threads, processes, or a cluster.

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
        # Nothing else needs dask, which is slow to import and need not be there.
        from sklearn_rankinf._distributed import count_blocks

        tie_sizes, hits, has_all_ties = count_blocks(
            y_true, y_score, pos_label, counts, max_distinct
        )
        return cls(tie_sizes, hits, has_all_ties=has_all_ties)


def as_ranking(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    pos_label: PosLabel = 1,
    *,
    needs_ties: bool = True,
) -> Ranking:
    """Return the ranking that is meant by the first arguments of a test or a score.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, which is returned as it is.
    y_score : array-like of shape (n_samples,), optional
        Scores; left out if and only if `y_true` is a ranking.
    pos_label : int, float, bool or str, default=1
        The label of the positives; a ranking has none.
    needs_ties : bool, default=True
        Whether ties of negatives matter, as they do for every null distribution.

    Returns
    -------
    ranking : Ranking
        The validated ranking.
    """
    if isinstance(y_true, Ranking):
        if y_score is not None:
            raise TypeError(
                "y_score must be left out when y_true is a Ranking, which holds the order "
                f"already; got y_score of type {type(y_score).__name__}."
            )
        if needs_ties and not y_true.has_all_ties:
            raise ValueError(
                "The null distribution depends on ties among the negatives, which this Ranking "
                "with has_all_ties=False does not know: count all scores, as "
                "Ranking.from_dask(..., counts='all') does, or, where scores are hardly ever "
                "equal, take the law without ties, such as ap_null_distribution(n_samples, "
                "n_positives)."
            )
        return y_true
    if y_score is None:
        raise TypeError(
            f"y_score is missing: pass the scores with y_true (got {type(y_true).__name__}), or "
            "a Ranking in place of y_true."
        )
    return Ranking.from_scores(y_true, y_score, pos_label=pos_label)


@dataclass(frozen=True, eq=False)
class LabelTable:
    """Labels and scores with one column a class.

    Attributes
    ----------
    labels : ndarray of bool of shape (n_samples, n_classes)
        Whether a sample is of a class.
    scores : ndarray of shape (n_samples, n_classes)
        Scores, larger for samples more likely to be of the class.
    """

    labels: NDArray[np.bool_]
    scores: NDArray[Any]

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.labels)

    @property
    def n_positives(self) -> NDArray[np.int64]:
        """Number of samples of each class."""
        return np.asarray(self.labels.sum(axis=0), dtype=np.int64)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.labels.shape[1])

    def column(self, index: int) -> LabelTable:
        """Labels and scores of one class."""
        columns = slice(index, index + 1)
        return LabelTable(self.labels[:, columns], self.scores[:, columns])

    def ranking(self, index: int) -> Ranking:
        """Ranking for one class."""
        return Ranking(*_counts_by_block(self.labels[:, index], self.scores[:, index]))


def as_binary(
    y_true: ArrayLike, y_score: ArrayLike, pos_label: PosLabel
) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Mark the positives of binary labels and read their scores."""
    _refuse_list_of_tables(y_score)
    labels, scores = as_labels(y_true), as_scores(y_score)
    check_lengths(len(labels), len(scores))
    positive, _ = mark_positives(labels, pos_label)
    return positive, scores


def rank_order(scores: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order the scores, best first, and count those of each value."""
    # The order within a block changes nothing, so an ascending sort read backwards will do.
    order = np.argsort(scores, kind="stable")[::-1]
    ordered = scores[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    return order, np.diff(starts, append=len(scores))


def _counts_by_block(
    positive: NDArray[np.bool_], scores: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the samples and the positives in each block of equal scores."""
    order, tie_sizes = rank_order(scores)
    starts = np.cumsum(tie_sizes) - tie_sizes
    return tie_sizes, np.add.reduceat(positive[order].astype(np.int64), starts)


def _refuse_list_of_tables(y_score: Any) -> None:
    """Refuse what predict_proba of several outputs returns, one table of probabilities each."""
    if isinstance(y_score, list | tuple) and y_score and getattr(y_score[0], "ndim", 0) == 2:
        raise ValueError(
            f"y_score is a list of {len(y_score)} tables, one for each output, as predict_proba of "
            "a multi-output classifier returns: test one output, with y_true[:, 0] and "
            "y_score[0][:, 1], or all of them by a test that has average=, with "
            "np.column_stack([table[:, 1] for table in y_score])."
        )


def has_classes(y_true: Any, y_score: Any) -> bool:
    """Whether labels and scores are of several classes, with one column of scores each."""
    if isinstance(y_true, Ranking) or y_score is None:
        return False
    n_columns = _n_columns(y_score)
    if n_columns < 2:
        return False
    # Two columns of scores for two labels are a slip: those of the positive class are meant.
    return n_columns > 2 or _n_columns(y_true) > 1 or len(_distinct(as_labels(y_true))) > 2


def _n_columns(values: Any) -> int:
    shape = getattr(values, "shape", None)
    if shape is None:
        try:
            shape = np.shape(values)
        except ValueError:
            return 1  # ragged: refused where it is read
    return int(shape[1]) if len(shape) == 2 else 1


def as_label_table(y_true: ArrayLike, y_score: ArrayLike) -> LabelTable:
    """Read multiclass labels, or an indicator matrix, and the scores of every class."""
    scores = _as_table(y_score, "y_score")
    wrong = ~np.isfinite(scores)
    if wrong.any():
        raise ValueError(
            f"y_score must be finite; got {_first_cell(scores, wrong)}: drop such samples or give "
            "them a score."
        )
    if _n_columns(y_true) > 1:
        labels = _indicators(y_true, scores.shape)
    else:
        labels = _one_column_a_class(as_labels(y_true), scores.shape)
    return LabelTable(labels, scores)


def _indicators(y_true: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    table = _as_table(y_true, "y_true")
    if table.shape != shape:
        raise ValueError(
            "y_true as an indicator matrix and y_score must have the same shape; got "
            f"{table.shape} and {shape}."
        )
    wrong = (table != 0.0) & (table != 1.0)
    if wrong.any():
        raise ValueError(
            f"y_true as an indicator matrix must hold 0 and 1; got {_first_cell(table, wrong)}."
        )
    return np.asarray(table == 1.0)


def _one_column_a_class(labels: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    check_lengths(len(labels), shape[0])
    distinct = _distinct(labels)
    if len(distinct) != shape[1]:
        raise ValueError(
            f"y_true holds {len(distinct)} classes ({_listed(distinct)}), but y_score has "
            f"{shape[1]} columns: pass one column for each class of y_true, in sorted order; if "
            "y_true lacks samples of a class, pass it as the indicator matrix that "
            "sklearn.preprocessing.label_binarize(y_true, classes=...) makes."
        )
    return np.stack([np.asarray(labels == label, dtype=bool) for label in distinct], axis=1)


def _as_table(values: Any, name: str) -> NDArray[np.float64]:
    """Read a container with several columns as numbers."""
    try:
        table = check_array(values, dtype=np.float64, ensure_all_finite=False)
    except ValueError as error:
        raise ValueError(f"{name} cannot be read as a table of numbers: {error}") from error
    return np.asarray(table)


def _first_cell(table: NDArray[Any], wrong: NDArray[np.bool_]) -> str:
    """Name the first wrong value of a table and where it is."""
    row, column = (int(index[0]) for index in np.nonzero(wrong))
    return f"{table[row, column].item()!r} at row {row}, column {column}"


def as_weights(sample_weight: ArrayLike, n_samples: int) -> NDArray[np.float64] | None:
    """Read sample weights, as parts of the largest; None if all are equal, the same as none."""
    weights = _as_reals(sample_weight, "sample_weight", "drop such samples or give them a weight")
    if len(weights) != n_samples:
        raise ValueError(
            "sample_weight must have one weight for each sample; got "
            f"{len(weights)} weights and {n_samples} samples."
        )
    weights = weights.astype(np.float64)
    wrong = weights < 0.0
    if wrong.any():
        raise ValueError(f"sample_weight must not be negative; got {_first(weights, wrong)}.")
    if not weights.any():
        raise ValueError(
            f"sample_weight is 0 for all {n_samples} samples: at least one weight must be positive."
        )
    # Only their ratios count, and sums of parts do not overflow.
    return None if np.all(weights == weights[0]) else weights / weights.max()


def check_lengths(n_labels: int, n_scores: int) -> None:
    if n_labels != n_scores:
        raise ValueError(
            f"y_true and y_score must have the same length; got {n_labels} labels and "
            f"{n_scores} scores."
        )


def _as_vector(values: Any, name: str) -> NDArray[Any]:
    """Read a container as a non-empty 1-D array; a single column counts as one."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} holds masked values: drop them, for instance with compressed().")
    try:
        array = check_array(
            values,
            dtype=None,
            ensure_2d=False,
            allow_nd=True,
            ensure_all_finite=False,
            ensure_min_samples=0,
            ensure_min_features=0,
        )
    except ValueError as error:
        raise ValueError(f"{name} cannot be read as a one-dimensional array: {error}") from error
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(not_one_dimensional(values, array, name))
    if array.size == 0:
        raise ValueError(f"{name} is empty: at least one sample is needed.")
    return np.asarray(array)


def not_one_dimensional(values: Any, array: NDArray[Any], name: str) -> str:
    """Say what was given in place of a vector, and what to do about it."""
    if array.ndim == 0:
        return (
            f"{name} must be a one-dimensional array-like; got {values!r} of type "
            f"{type(values).__name__}."
        )
    remedy = {
        "y_true": "for multilabel targets call once per class, with one column of y_true",
        "y_score": "pass the scores of the positive class, for instance predict_proba(X)[:, 1]",
        "sample_weight": "pass one weight per sample",
    }.get(name, "pass one count per block")
    return f"{name} must be one-dimensional; got shape {array.shape}: {remedy}."


def _first(values: NDArray[Any], wrong: NDArray[np.bool_]) -> str:
    """Name the first wrong value and where it is."""
    position = int(np.flatnonzero(wrong)[0])
    return f"{values[position : position + 1].tolist()[0]!r} at position {position}"


def _lacks_type(values: NDArray[Any], types: type | tuple[type, ...]) -> NDArray[np.bool_]:
    return np.fromiter((not isinstance(value, types) for value in values), bool, len(values))


def as_labels(y_true: Any) -> NDArray[Any]:
    """Read labels as an array of numbers, of booleans or of strings, without a gap."""
    if isinstance(y_true, (list, tuple)) and any(isinstance(value, str) for value in y_true):
        # NumPy would turn a missing label or a number among strings into a string.
        container = np.empty(len(y_true), dtype=object)
        container[:] = y_true
        y_true = container
    labels = _as_vector(y_true, "y_true")
    if labels.dtype == object:
        labels = _labels_from_objects(labels)
    if labels.dtype.kind not in "biufU" and not labels.dtype == object:
        raise TypeError(
            "y_true must hold numbers, booleans or strings; got values of type "
            f"{labels.dtype}, such as {labels[:1].tolist()[0]!r}."
        )
    if labels.dtype.kind == "f":
        _check_float_labels(labels)
    return labels


def _labels_from_objects(labels: NDArray[Any]) -> NDArray[Any]:
    """Check that generic Python objects are labels of one kind."""
    kind: type | tuple[type, ...] = str if isinstance(labels[0], str) else (Real, np.bool_)
    wrong = _lacks_type(labels, kind)
    if wrong.any():
        raise ValueError(
            "y_true must hold labels of one kind, numbers, booleans or strings, and none "
            f"missing; got {_first(labels, wrong)}."
        )
    return labels if kind is str else np.array(labels.tolist())


def _check_float_labels(labels: NDArray[Any]) -> None:
    wrong = ~np.isfinite(labels)
    if wrong.any():
        raise ValueError(
            f"y_true holds a missing or infinite label, {_first(labels, wrong)}: drop those "
            "samples or label them."
        )
    wrong = labels != np.trunc(labels)
    if wrong.any():
        raise ValueError(
            f"y_true must hold class labels; got the continuous value {_first(labels, wrong)}: "
            "turn it into two classes, for instance y_true > threshold."
        )


def check_pos_label(pos_label: Any) -> None:
    """Refuse what cannot be a label."""
    if not isinstance(pos_label, (Real, str, np.bool_)):
        raise TypeError(
            f"pos_label must be a number, a string or a boolean; got {pos_label!r} of type "
            f"{type(pos_label).__name__}."
        )


def mark_positives(
    labels: NDArray[Any], pos_label: PosLabel
) -> tuple[NDArray[np.bool_], list[Any]]:
    """Mark the positives, by the rules of scikit-learn's ``average_precision_score``.

    The second value returned are the distinct labels.
    """
    check_pos_label(pos_label)
    distinct = _distinct(labels)
    check_two_labels(distinct, pos_label)
    if (labels.dtype.kind in "UO") != isinstance(pos_label, str):
        # One label, of another type: no positives.
        return np.zeros(len(labels), dtype=bool), distinct
    _warn_of_the_smaller_label(distinct, pos_label)
    return np.asarray(labels == pos_label, dtype=bool), distinct


def _warn_of_the_smaller_label(distinct: list[Any], pos_label: PosLabel) -> None:
    """Warn of labels such as 1 and 2, of which the default makes 1 the positive class."""
    if len(distinct) == 2 and distinct[0] == pos_label == 1:
        other = distinct[1]
        warn_caller(
            f"y_true has the labels 1 and {other!r}, and pos_label=1 makes 1 the positive class: "
            f"pass pos_label={other!r} if that is the class to be ranked high, or y_true == 1 if "
            "it is 1.",
            UserWarning,
        )


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line outside this package that led here, however many calls ago."""
    package = __name__.partition(".")[0]
    frame, level = currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def check_two_labels(distinct: list[Any], pos_label: PosLabel) -> None:
    """Refuse more than two labels, and two without that of the positives."""
    if len(distinct) > 2:
        raise ValueError(
            f"y_true holds {len(distinct)} different labels ({_listed(distinct)}), but must hold "
            "two: call once per class, with y_true == label and the scores of that class."
        )
    if len(distinct) == 2 and pos_label not in distinct:
        raise ValueError(
            f"pos_label={pos_label!r} is not a label of y_true, whose labels are "
            f"{_listed(distinct)}: pass one of them as pos_label."
        )


def _distinct(labels: NDArray[Any]) -> list[Any]:
    """Distinct labels in order: a set is faster than sorting for strings, slower for numbers."""
    is_text = labels.dtype.kind in "UO"
    return sorted(set(labels.tolist())) if is_text else np.unique(labels).tolist()


def _listed(values: list[Any]) -> str:
    shown = ", ".join(repr(value) for value in values[:_N_SHOWN])
    return shown + (", ..." if len(values) > _N_SHOWN else "")


def as_scores(y_score: Any) -> NDArray[Any]:
    """Read scores as an array of finite real numbers."""
    return _as_reals(y_score, "y_score", "drop such samples or give them a score")


def _as_reals(values: Any, name: str, remedy: str) -> NDArray[Any]:
    """Read a vector of finite real numbers."""
    numbers = _as_vector(values, name)
    if numbers.dtype == object:
        wrong = _lacks_type(numbers, (Real, Decimal, np.bool_))
        if wrong.any():
            raise ValueError(
                f"{name} must hold numbers and none missing; got {_first(numbers, wrong)}."
            )
        numbers = numbers.astype(np.float64)
    if numbers.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} must hold real numbers; got values of type {numbers.dtype}, such as "
            f"{numbers[:1].tolist()[0]!r}."
        )
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        raise ValueError(f"{name} must be finite; got {_first(numbers, wrong)}: {remedy}.")
    return numbers


def check_integer(value: Any, name: str, least: int) -> int:
    """Read an integer that is large enough."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer; got {value!r} of type {type(value).__name__}.")
    if value < least:
        raise ValueError(f"{name} must be at least {least}; got {value}.")
    return int(value)


def check_option(value: Any, name: str, options: Iterable[Any], what: str = "") -> None:
    """Refuse what is not among the options; `what` says what they are for."""
    known = list(options)
    if value not in known:
        listed = ", ".join(map(repr, known))
        raise ValueError(f"{name} must be one of {listed}{what}; got {value!r}.")


def numbered(
    entries: Any, name: str, what: str, n_samples: int
) -> tuple[NDArray[np.int64], list[Any]]:
    """Number what the samples belong to, in the order of first samples, and list it.

    It may be anything hashable; `what` says in messages what one of it is.
    """
    values = entries.tolist() if isinstance(entries, np.ndarray) else entries
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(
            f"{name} must hold the {what} of each sample; got {entries!r} of type "
            f"{type(entries).__name__}."
        )
    numbers: dict[Any, int] = {}
    codes = []
    for row, value in enumerate(values):
        n_known = len(numbers)
        try:
            codes.append(numbers.setdefault(value, n_known))
        except TypeError as error:
            raise TypeError(
                f"{name} must be hashable; got {value!r} of type {type(value).__name__} in row "
                f"{row}: use a tuple or a string."
            ) from error
        if len(numbers) > n_known and _is_missing(value):
            raise ValueError(
                f"{name} lacks a {what} in row {row}, where it is {value!r}: name a {what} for "
                "every sample, or leave the sample out."
            )
    if len(codes) != n_samples:
        raise ValueError(
            f"{name} must name the {what} of each of the {n_samples} samples; it has {len(codes)} "
            "entries."
        )
    return np.array(codes, dtype=np.int64), list(numbers)


def _is_missing(value: Any) -> bool:
    """Whether it is None, or unlike itself, as nan and what pandas has in its place are."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True  # pandas.NA


def as_counts(values: Any, name: str) -> NDArray[np.int64]:
    """Copy integer counts into an int64 array."""
    # Nullable integers would come out of scikit-learn's conversion as floats.
    counts = _as_vector(np.asanyarray(values) if hasattr(values, "dtype") else values, name)
    if counts.dtype == object:
        wrong = _lacks_type(counts, (int, np.integer))
        if wrong.any():
            raise TypeError(f"{name} must hold integers; got {_first(counts, wrong)}.")
    elif counts.dtype.kind not in "biu":
        raise TypeError(
            f"{name} must hold integers; got values of type {counts.dtype}, such as "
            f"{counts[:1].tolist()[0]!r}: convert them with astype(int)."
        )
    return np.array(counts, dtype=np.int64)


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
            raise ValueError(f"{message}; got {_first(values, wrong)}.")
