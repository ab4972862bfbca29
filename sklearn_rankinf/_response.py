"""Scores of an estimator and rows of data, by public means only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_rankinf._ranking import PosLabel


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
        Methods to take, the first one that the estimator has.

    Returns
    -------
    ndarray of shape (n_samples,)
        The scores.

    Raises
    ------
    TypeError
        If the estimator has none of the methods.
    ValueError
        If `pos_label` is none of its classes, or if it has more than two classes.
    """
    names = [response_method] if isinstance(response_method, str) else list(response_method)
    name = next((name for name in names if hasattr(estimator, name)), None)
    if name is None:
        raise TypeError(
            f"{type(estimator).__name__} has no {' or '.join(names)} to rank samples by: name a "
            "method that it has as response_method, or pass scores to from_predictions."
        )
    response = np.asarray(getattr(estimator, name)(X), dtype=np.float64)
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
    # One column of a decision function is in favour of the second class.
    return response if column == 1 else -response


def rows(data: Any, indices: ArrayLike) -> Any:
    """Rows of an array, a sparse matrix, a data frame, a series or a list."""
    if hasattr(data, "iloc"):
        return data.iloc[indices]
    if isinstance(data, list | tuple):
        return [data[index] for index in np.asarray(indices)]
    return data[indices]
