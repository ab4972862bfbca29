"""Base of displays: reads results, rankers, estimators and folds; a display only draws them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from sklearn_rankinf._plot._matplotlib import import_pyplot
from sklearn_rankinf._ranking import Sample, estimator_scores, folds_of

RESPONSE_METHODS = ("decision_function", "predict_proba")
# Longer names are shortened in legends and on axes.
MAX_LENGTH = 28
REFERENCE_LINE: Mapping[str, Any] = {"color": "k", "linestyle": "--", "linewidth": 1.0}


class Display:
    """Base of displays.

    Attributes
    ----------
    results : result, or sequence or dict of results
        What is drawn.
    name : str, sequence of str or None
        Names, instead of the keys or numbers of the results.
    ax_ : matplotlib axes
        The axes of the plot.
    figure_ : matplotlib figure
        The figure that contains the axes.
    """

    # The function that computes the result of one ranking, and what a result is in messages.
    _compute: ClassVar[Callable[..., Any]]
    _kind: ClassVar[str]
    # Whether the columns of an array are rankers; otherwise they are classes.
    _has_columns: ClassVar[bool] = False

    results: Any
    name: Any
    ax_: Any
    figure_: Any

    def __init__(self, results: Any, *, name: str | Sequence[str] | None = None) -> None:
        self.results = results
        self.name = name
        self._read(name)

    def plot(self, ax: Any = None) -> Self:
        """Draw the results."""
        raise NotImplementedError

    def _read(self, name: Any) -> Any:
        """Return what is drawn by name; raise an error if it does not fit in one plot."""
        return self._named(*self._parts(self.results), name)

    def _is_result(self, result: Any) -> bool:
        """Whether an object can be drawn."""
        raise NotImplementedError

    def _parts(self, results: Any) -> tuple[list[str], list[Any]]:
        """Return the keys or numbers of the results, and the results."""
        if isinstance(results, Mapping):
            names, parts = [str(key) for key in results], list(results.values())
        elif isinstance(results, Sequence | np.ndarray):
            names, parts = [str(number) for number in range(len(results))], list(results)
        else:
            names, parts = [""], [results]
        if not parts:
            raise ValueError("results must contain at least one result; got an empty container.")
        for part in parts:
            if not self._is_result(part):
                raise TypeError(
                    f"results must be {self._kind}, or a sequence or a dict of them; got "
                    f"{type(part).__name__}."
                )
        return names, parts

    def _named(self, names: list[str], parts: list[Any], name: Any) -> dict[str, Any]:
        """Return the results by the given name, by that of the display, or by their own names."""
        name = self.name if name is None else name
        if name is not None:
            names = [name] if isinstance(name, str) else [str(given) for given in name]
        if len(names) != len(parts) or len(set(names)) != len(names):
            raise ValueError(
                f"name must have a different entry for each of the {len(parts)} results; got "
                f"{names}."
            )
        return dict(zip(names, parts, strict=True))

    def _start(self, ax: Any, size: tuple[float, float] = (6.4, 4.8)) -> Any:
        """Set the given axes, or new ones of a size, and return them."""
        plt = import_pyplot(f"{type(self).__name__}.plot")
        if ax is None:
            _, ax = plt.subplots(figsize=size, layout="constrained")
        if not hasattr(ax, "figure"):
            raise TypeError(f"ax must be a single matplotlib Axes; got {type(ax).__name__}.")
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    @classmethod
    def _of_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        options: Mapping[str, Any],
        name: Any,
        plot_options: Mapping[str, Any],
    ) -> Self:
        """Compute the result of one ranker, or of each of several, and draw it."""
        import_pyplot(f"{cls.__name__}.from_predictions")
        results: Any
        if cls._holds_rankers(y_score):
            sample = Sample.read(y_true, y_score, pos_label=options["pos_label"], columns="rankers")
            results = {
                ranker: cls._compute(sample.positive, column, **{**options, "pos_label": True})
                for ranker, column in zip(sample.names, sample.scores, strict=True)
            }
        else:
            results = cls._compute(y_true, y_score, **options)
        return cls(results, name=name).plot(**plot_options)

    @classmethod
    def _of_estimators(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        response_method: str | Sequence[str],
        options: Mapping[str, Any],
        name: Any,
        plot_options: Mapping[str, Any],
    ) -> Self:
        """Compute the result of one fitted estimator, or of each of a dict, and draw it."""
        import_pyplot(f"{cls.__name__}.from_estimator")
        if isinstance(estimator, Mapping):
            scores: Any = {
                key: estimator_scores(one, X, options["pos_label"], response_method)
                for key, one in estimator.items()
            }
        else:
            scores = estimator_scores(estimator, X, options["pos_label"], response_method)
            name = type(estimator).__name__ if name is None else name
        return cls._of_predictions(y, scores, options, name, plot_options)

    @classmethod
    def _of_folds(
        cls,
        cv_results: Mapping[str, Any],
        X: Any,
        y: Any,
        response_method: str | Sequence[str],
        options: Mapping[str, Any],
        name: Any,
        plot_options: Mapping[str, Any],
    ) -> Self:
        """Compute the result of each held-out fold, and draw them."""
        import_pyplot(f"{cls.__name__}.from_cv_results")
        results = {}
        for number, fold in enumerate(folds_of(cv_results, X, y, "cv_results")):
            samples, labels = fold.held_out(X, y)
            scores = estimator_scores(
                fold.estimator, samples, options["pos_label"], response_method
            )
            results[f"fold {number}"] = cls._compute(labels, scores, **options)
        return cls(results, name=name).plot(**plot_options)

    @classmethod
    def _holds_rankers(cls, y_score: Any) -> bool:
        """Whether the scores are those of several rankers."""
        if isinstance(y_score, Mapping) or hasattr(y_score, "columns"):
            return True
        try:
            return cls._has_columns and np.ndim(y_score) == 2
        except ValueError:
            return False  # ragged input raises an error when it is read
