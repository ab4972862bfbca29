"""Scores of an estimator, rows of data and folds, using only public interfaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags

from sklearn_rankinf._ranking.validation import PosLabel

# Methods that rank the items, the first one that an estimator has.
RESPONSE_METHODS = ("decision_function", "predict_proba")


def estimator_scores(
    estimator: Any, X: Any, pos_label: PosLabel, response_method: str | Sequence[str]
) -> NDArray[np.float64]:
    """Scores of a fitted estimator, larger for items more likely to be positive.

    They come from the first of the methods that the estimator has.
    """
    names = [response_method] if isinstance(response_method, str) else list(response_method)
    name = next((name for name in names if hasattr(estimator, name)), None)
    if name is None:
        raise TypeError(
            f"{type(estimator).__name__} has no {' or '.join(names)} to rank items: pass one of "
            "its methods as response_method, in cross-validation to make_significance_scorer, or "
            "pass scores to from_predictions."
        )
    response = getattr(estimator, name)(X)
    if isinstance(response, list):
        raise ValueError(
            f"{type(estimator).__name__} has {len(response)} outputs, each with a separate "
            f"ranking: test the scores of one output, for instance {name}(X)[0][:, 1]."
        )
    response = np.asarray(response, dtype=np.float64)
    if name == "predict" or not hasattr(estimator, "classes_"):
        return response
    classes = list(np.asarray(estimator.classes_).tolist())
    if pos_label not in classes:
        raise ValueError(
            f"pos_label={pos_label!r} is not one of the classes of "
            f"{type(estimator).__name__}: {', '.join(map(repr, classes[:5]))}."
        )
    column = classes.index(pos_label)
    if response.ndim == 2:
        return np.asarray(response[:, column])
    # A single column of a decision function refers to the second class.
    return response if column == 1 else -response


def rows(data: Any, indices: ArrayLike) -> Any:
    """Select rows of an array, a sparse matrix, a data frame, a series or a list."""
    if hasattr(data, "iloc"):
        return data.iloc[indices]
    if isinstance(data, list | tuple):
        return [data[index] for index in np.asarray(indices)]
    return data[indices]


@dataclass(frozen=True, eq=False)
class Fold:
    """A fitted estimator with the indices of its training and held-out rows."""

    estimator: Any
    train: NDArray[np.int64]
    test: NDArray[np.int64]

    def held_out(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Items and labels that were not used for fitting."""
        samples = rows(X, self.test)
        # A kernel or distance matrix has one column per training sample.
        if get_tags(self.estimator).input_tags.pairwise:
            samples = samples[:, self.train]
        return samples, rows(y, self.test)


def folds_of(fitted: Mapping[str, Any], X: Any, y: Any, what: str) -> list[Fold]:
    """Folds of a cross-validation of X and y; `what` is its name in messages."""
    missing = [key for key in ("estimator", "indices") if key not in fitted]
    if missing:
        raise ValueError(
            f"{what} has no {' and no '.join(map(repr, missing))}: call cross_validate with "
            "return_estimator=True and return_indices=True."
        )
    estimators, indices = fitted["estimator"], fitted["indices"]
    splits = list(zip(indices["train"], indices["test"], strict=True))
    if len(estimators) != len(splits):
        raise ValueError(
            f"{what} has {len(estimators)} estimators and {len(splits)} folds: pass the result of "
            "cross_validate unchanged."
        )
    n_rows = {
        name: data.shape[0] if hasattr(data, "shape") else len(data)
        for name, data in (("X", X), ("y", y))
    }
    n_needed = max((_n_needed(part) for split in splits for part in split), default=0)
    for name, length in n_rows.items():
        if length < n_needed:
            raise ValueError(
                f"{name} must be the cross-validated data with at least {n_needed} items; got "
                f"{length}."
            )
    are_frozen = all(isinstance(estimator, FrozenEstimator) for estimator in estimators)
    read = read_splits(splits, n_rows["y"], what, are_frozen)
    return [Fold(one, *split) for one, split in zip(estimators, read, strict=True)]


def _n_needed(indices: Any) -> int:
    """Number of rows that data need for these row numbers or for this mask; 0 if unknown."""
    rows = np.asarray(indices)
    if rows.dtype == bool:
        return rows.size
    return 1 + int(rows.max()) if rows.size and rows.dtype.kind in "iu" else 0


def read_splits(
    splits: Iterable[Any], n_samples: int, what: str, may_overlap: bool
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Read the training and the held-out rows of each fold as arrays of row numbers.

    A fold is a pair of row numbers, or of boolean masks with one entry for each row. A fold
    `may_overlap` with its training set where nothing is fitted to it. `what` names folds in
    messages.
    """
    read = []
    for number, split in enumerate(splits):
        fold = f"Fold {number} of {what}"
        if not isinstance(split, Sequence | np.ndarray) or len(split) != 2:
            raise ValueError(
                f"{fold} is not a pair of training and held-out rows; got an object of type "
                f"{type(split).__name__}."
            )
        train = _as_rows(split[0], n_samples, fold, "trains on")
        test = _as_rows(split[1], n_samples, fold, "holds out")
        n_times = np.bincount(test, minlength=n_samples)
        if n_times.max() > 1:
            raise ValueError(
                f"{fold} holds out row {int(n_times.argmax())} more than once, which would count "
                "as several items: give each held-out row once."
            )
        both = train[n_times[train] > 0]
        if both.size and not may_overlap:
            raise ValueError(
                f"{fold} trains on row {int(both[0])}, which it also holds out, so that its result "
                "would not be one of unseen items: leave held-out rows out of the training set."
            )
        read.append((train, test))
    if not read:
        raise ValueError(
            f"{what} has no folds: pass at least one pair of training and held-out rows."
        )
    return read


def _as_rows(indices: Any, n_samples: int, fold: str, does: str) -> NDArray[np.int64]:
    """Row numbers from row numbers or a boolean mask."""
    try:
        rows = np.asarray(indices)
    except ValueError:
        rows = np.empty((0, 0))
    if rows.ndim != 1:
        raise ValueError(
            f"{fold} {does} rows that are not a one-dimensional array of row numbers; got an "
            f"object of type {type(indices).__name__}."
        )
    if rows.dtype == bool:
        if rows.size != n_samples:
            raise ValueError(
                f"{fold} {does} the rows of a mask with {rows.size} entries: a mask needs one for "
                f"each of the {n_samples} rows."
            )
        rows = np.flatnonzero(rows)
    if rows.size == 0:
        raise ValueError(f"{fold} {does} no rows: every fold needs training and held-out rows.")
    if rows.dtype.kind not in "iu":
        raise TypeError(
            f"{fold} {does} rows that are not integers, such as {rows[:1].tolist()[0]!r}: pass row "
            "numbers or a boolean mask."
        )
    outside = (rows < 0) | (rows >= n_samples)
    if outside.any():
        raise ValueError(
            f"{fold} {does} row {int(rows[outside][0])}: rows are numbered from 0 to "
            f"{n_samples - 1}."
        )
    return rows.astype(np.int64)
