"""What every public function does first.

Floating-point errors are treated as NumPy does by default: numbers that are too small for a float
become 0, also for a user who has called ``np.seterr(all="raise")``.

Passing a function of labels and scores as a scorer is a mistake that gets a helpful error:
``cross_val_score(estimator, X, y, scoring=function)`` calls ``function(estimator, X, y)``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


def default_errors(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function treat floating-point errors as NumPy does by default."""

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        with np.errstate(all="warn", under="ignore"):
            return function(*args, **kwargs)

    return guarded


def metric_function(function: Callable[P, T]) -> Callable[P, T]:
    """Make a metric ``(y_true, y_score) -> float`` raise a helpful error for an estimator."""
    return _refuse_estimator(function, *_no_scorer(function.__name__))


def metric_call(call: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Make the call of a metric with labels and scores raise a helpful error for an estimator."""
    computed = default_errors(call)

    @wraps(call)
    def guarded(metric: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        _check_no_estimator(args, *_no_scorer(repr(metric)))
        return computed(metric, *args, **kwargs)

    return guarded


def _no_scorer(name: str) -> tuple[str, str]:
    return (
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
    computed = default_errors(function)

    @wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        _check_no_estimator(args, what, remedy)
        return computed(*args, **kwargs)

    return guarded


def _check_no_estimator(args: tuple[Any, ...], what: str, remedy: str) -> None:
    if args and hasattr(args[0], "fit"):
        raise TypeError(
            f"{what}, but its first argument is an estimator, {type(args[0]).__name__}: {remedy}."
        )
