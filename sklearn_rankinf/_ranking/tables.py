"""Labels and scores of several classes or rankers, with one column for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_array

from sklearn_rankinf._ranking.validation import (
    LARGEST_WHOLE,
    as_labels,
    check_lengths,
    distinct_labels,
    joined,
    listed,
)


def holds_rankers(y_score: Any, in_columns: bool = True) -> bool:
    """Whether scores are those of several rankers, by name, or in the columns of an array."""
    is_named = isinstance(y_score, Mapping) or hasattr(y_score, "columns")
    return is_named or (in_columns and _n_columns(y_score) != 1)


def has_classes(y_true: Any, y_score: Any) -> bool:
    """Whether labels and scores are of several classes, with one column of scores per class."""
    if y_score is None:
        return False
    n_columns = _n_columns(y_score)
    if n_columns < 2:
        return False
    # Two columns of scores for two labels are a mistake: only the positive class is needed.
    return n_columns > 2 or _n_columns(y_true) > 1 or len(distinct_labels(as_labels(y_true))) > 2


def has_several_labels(y_true: Any) -> bool:
    """Whether labels are of more than two classes, or a matrix with a column for each class."""
    if _n_columns(y_true) > 1:
        return True
    try:
        return len(distinct_labels(as_labels(y_true))) > 2
    except (TypeError, ValueError):
        return False  # wrong labels raise an error when they are read


def _n_columns(values: Any) -> int:
    shape = getattr(values, "shape", None)
    if shape is None:
        try:
            shape = np.shape(values)
        except ValueError:
            return 1  # ragged input raises an error when it is read
    return int(shape[1]) if len(shape) == 2 else 1


def as_label_table(y_true: ArrayLike, y_score: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Read multiclass labels, or an indicator matrix, and the scores of every class."""
    scores = _as_score_table(y_score)
    _check_order_of_columns(class_names(y_true), y_score)
    if _n_columns(y_true) > 1:
        labels = _indicators(y_true, scores.shape)
    else:
        labels = _one_column_a_class(as_labels(y_true), scores.shape)
    return labels, scores


def _check_order_of_columns(classes: list[Any], y_score: Any) -> None:
    """Raise an error for a frame whose columns are the classes in another order."""
    columns, classes = ([str(name) for name in names] for names in (_names_of(y_score), classes))
    if columns != classes and sorted(columns) == sorted(classes):
        raise ValueError(
            f"The columns of y_score are the classes in another order, {', '.join(columns)} in "
            f"place of {', '.join(classes)}: order them as the classes of y_true."
        )


def _names_of(table: Any) -> list[Any]:
    return list(getattr(table, "columns", ()))


def _as_score_table(y_score: Any) -> NDArray[Any]:
    """Read scores of several classes as finite numbers that compare exactly."""
    table = _as_table(y_score, "y_score")
    wrong = ~np.isfinite(table)
    if wrong.any():
        raise ValueError(
            f"y_score must be finite; got {_first_cell(table, wrong)}: drop such items or "
            "give them a score."
        )
    may_be_rounded = bool(np.abs(table).max() >= LARGEST_WHOLE)
    columns = _columns_of(y_score, may_be_rounded)
    exact = "f" if may_be_rounded else "biuf"
    if all(column.dtype.kind in exact and column.itemsize <= 8 for column in columns):
        return table
    return joined(columns).reshape(table.T.shape).T


def _columns_of(table: Any, may_be_rounded: bool) -> list[NDArray[Any]]:
    """Columns of a table, each with the type of its numbers."""
    if hasattr(table, "iloc"):
        return [np.asarray(table.iloc[:, number]) for number in range(table.shape[1])]
    if hasattr(table, "columns"):
        return [np.asarray(table[name]) for name in table.columns]
    array = np.asarray(table)
    if may_be_rounded and not hasattr(table, "dtype"):
        array = np.array(table, dtype=object)
    return list(array.T)


def class_names(y_true: Any) -> list[Any]:
    """Names of the classes: distinct labels, or the columns of an indicator matrix."""
    if _n_columns(y_true) <= 1:
        return distinct_labels(as_labels(y_true))
    return list(getattr(y_true, "columns", range(_n_columns(y_true))))


def _indicators(y_true: Any, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    # Most entries of an indicator matrix are 0, and it may be stored without them.
    table = _as_table(y_true.toarray() if sparse.issparse(y_true) else y_true, "y_true")
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
    distinct = distinct_labels(labels)
    if len(distinct) != shape[1]:
        raise ValueError(
            f"y_true holds {len(distinct)} classes ({listed(distinct)}), but y_score has "
            f"{shape[1]} columns: pass one column per class of y_true, in sorted order; if y_true "
            "lacks items of a class, pass it as an indicator matrix made by "
            "sklearn.preprocessing.label_binarize(y_true, classes=...)."
        )
    return np.stack([np.asarray(labels == label, dtype=bool) for label in distinct], axis=1)


def _as_table(values: Any, name: str) -> NDArray[np.float64]:
    """Read a container with several columns as numbers."""
    try:
        table = check_array(values, dtype=np.float64, ensure_all_finite=False)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{name} cannot be read as a table of numbers: {error}") from error
    return np.asarray(table)


def _first_cell(table: NDArray[Any], wrong: NDArray[np.bool_]) -> str:
    """Describe the first wrong value of a table and its position."""
    row, column = (int(index[0]) for index in np.nonzero(wrong))
    return f"{table[row, column].item()!r} at row {row}, column {column}"
