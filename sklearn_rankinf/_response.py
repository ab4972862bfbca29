"""Scores of an estimator, rows of data and folds, using only public interfaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import get_tags

from sklearn_rankinf._validation import PosLabel


def estimator_scores(
    estimator: Any, X: Any, pos_label: PosLabel, response_method: str | Sequence[str]
) -> NDArray[np.float64]:
    """Scores of a fitted estimator, larger for samples more likely to be positive.

    Parameters
    ----------
    estimator : object
        A fitted classifier, or a regressor with ``response_method="predict"``.
    X : array-like of shape (n_samples, n_features)
        The samples.
    pos_label : int, float, bool or str
        The label of the positives.
    response_method : str or sequence of str
        Methods that return the scores; the first available one is used.

    Returns
    -------
    ndarray of shape (n_samples,)
        The scores.

    Raises
    ------
    TypeError
        If the estimator has none of the methods.
    ValueError
        If `pos_label` is not one of the classes, or if the estimator has several outputs.
    """
    names = [response_method] if isinstance(response_method, str) else list(response_method)
    name = next((name for name in names if hasattr(estimator, name)), None)
    if name is None:
        raise TypeError(
            f"{type(estimator).__name__} has no {' or '.join(names)} to rank samples: pass one of "
            "its methods as response_method, or pass scores to from_predictions."
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
    """A fitted estimator with its training and held-out rows.

    Attributes
    ----------
    estimator : object
        The estimator.
    train, test : ndarray of int
        Indices of the rows.
    """

    estimator: Any
    train: NDArray[np.int64]
    test: NDArray[np.int64]

    @property
    def last_row(self) -> int:
        """The largest index."""
        return int(max(self.train.max(), self.test.max()))

    def held_out(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Samples and labels that were not used for fitting."""
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
    parts = fitted["estimator"], fitted["indices"]["train"], fitted["indices"]["test"]
    folds = [Fold(*fold) for fold in zip(*parts, strict=True)]
    n_samples = 1 + max(fold.last_row for fold in folds)
    for name, data in (("X", X), ("y", y)):
        length = data.shape[0] if hasattr(data, "shape") else len(data)
        if length < n_samples:
            raise ValueError(
                f"{name} must be the cross-validated data with at least {n_samples} samples; got "
                f"{length}."
            )
    return folds
