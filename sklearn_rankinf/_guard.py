"""Errors for the mistake of passing a function of labels and scores as a scorer.

``cross_val_score(estimator, X, y, scoring=function)`` calls ``function(estimator, X, y)``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def metric_function(function: Callable[P, T]) -> Callable[P, T]:
    """Make a metric ``(y_true, y_score) -> float`` raise a helpful error for an estimator."""
    name = function.__name__
    return _refuse_estimator(
        function,
        f"{name} is a metric function of (y_true, y_score), not a scorer",
        "pass scoring=make_significance_scorer(...), or sklearn.metrics.make_scorer("
        f"{name}, response_method=('decision_function', 'predict_proba'))",
    )


def result_function(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function ``(y_true, y_score) -> result`` raise a helpful error for an estimator."""
    return _refuse_estimator(
        function,
        f"{function.__name__} is a function of (y_true, y_score), not a scorer",
        "pass scoring=make_significance_scorer(...)",
    )


def scorer_factory(function: Callable[P, T]) -> Callable[P, T]:
    """Make a factory of scorers raise a helpful error for an estimator."""
    return _refuse_estimator(
        function,
        f"{function.__name__} returns a scorer and is not a scorer",
        f"call it, as in scoring={function.__name__}()",
    )


def _refuse_estimator(function: Callable[P, T], what: str, remedy: str) -> Callable[P, T]:
    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        if args and _is_estimator(args[0]):
            raise TypeError(
                f"{what}, but its first argument is an estimator, {type(args[0]).__name__}: "
                f"{remedy}."
            )
        return function(*args, **kwargs)

    return guarded


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "fit")
