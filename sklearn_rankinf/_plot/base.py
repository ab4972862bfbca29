"""Base of displays: reads results, rankers, estimators and folds; a display only draws them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from inspect import signature
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from sklearn_rankinf._ranking import (
    RESPONSE_METHODS,
    PosLabel,
    Sample,
    estimator_scores,
    folds_of,
    holds_rankers,
)
from sklearn_rankinf._results import shortened
from sklearn_rankinf._statistics import Floats


def import_pyplot(what: str, module: str = "pyplot") -> Any:
    """Import ``matplotlib.pyplot``, or raise an error that explains how to install it."""
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError(
            f'{what} needs matplotlib: pip install "sklearn-rankinf[plot]".'
        ) from error


def new_figure(what: str, figsize: tuple[float, float] = (6.4, 4.8)) -> Any:
    """Create a figure outside of pyplot's registry, for writing to a file."""
    return import_pyplot(what, "figure").Figure(figsize=figsize, layout="constrained")


def merged_style(default: Mapping[str, Any], given: Keywords) -> dict[str, Any]:
    """Keywords for an artist under matplotlib's long names; given keywords override defaults."""
    names = {"c": "color", "ls": "linestyle", "lw": "linewidth"}
    return {**default, **{names.get(key, key): value for key, value in (given or {}).items()}}


def hide_spines(ax: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)


def quantity(result: Any) -> str:
    """What a result is about, in a sentence."""
    title = str(result.metric.title_in_text)
    if getattr(result, "prevalence", None) is not None:
        title += f" at prevalence {result.prevalence:g}"
    queries = getattr(result, "n_queries", getattr(result, "queries", None))
    return title if queries is None else f"mean {title}"


def heading(result: Any) -> str:
    """What a result is about, on an axis."""
    return quantity(result)[0].upper() + quantity(result)[1:]


def check_shared(what: str, values: Iterable[Any]) -> None:
    """Raise an error for results that differ in something that one plot has once."""
    first, *others = values
    for other in others:
        if other != first:
            raise ValueError(
                f"All results share one plot, but {what} is {first!r} and {other!r}: compute all "
                f"with the same {what}, or draw one display for each."
            )


def with_minus(text: str) -> str:
    """Text of a number with a minus sign, as in matplotlib's tick labels."""
    return text.replace("-", "\N{MINUS SIGN}")


def blended(color: Any, share: float) -> Any:
    """A colour mixed with that of the background; `share` is the fraction of the colour."""
    import matplotlib as mpl
    from matplotlib.colors import to_rgb

    behind = to_rgb(mpl.rcParams["axes.facecolor"])
    return tuple(
        share * part + (1.0 - share) * other
        for part, other in zip(to_rgb(color), behind, strict=True)
    )


def write_legend(
    ax: Any, handles: Sequence[Any], labels: Sequence[str], lines_below: float = 0.0
) -> None:
    """Write a legend above the axes, where nothing is drawn, in as many columns as they allow.

    Artists in a tuple are side by side. `lines_below` is the number of lines of text between the
    axes and the legend. Without a layout that makes room, the axes become lower, and the letters
    smaller where they have to.
    """
    from matplotlib.legend_handler import HandlerTuple
    from matplotlib.transforms import ScaledTranslation

    if not handles:
        return
    style = {"frameon": False, "handlelength": 2.6, "columnspacing": 1.2, "loc": "lower left"}
    style |= {"bbox_to_anchor": (-0.02, 1.0), "borderpad": 0.2, "labelspacing": 0.3}
    style["borderaxespad"] = pad = 0.2 + 1.6 * lines_below
    style["handler_map"] = {tuple: HandlerTuple(ndivide=None, pad=0.15)}
    figure, has_layout = ax.figure, ax.figure.get_layout_engine() is not None
    room = math.inf if has_layout else 0.5 * ax.get_position(original=True).height
    sizes = ("small",) if has_layout else ("small", "x-small", "xx-small")
    for size, n_columns in product(sizes, range(min(len(handles), _MAX_COLUMNS), 0, -1)):
        legend = ax.legend(handles, labels, ncols=n_columns, fontsize=size, **style)
        extent = legend.get_window_extent()
        height = extent.height / figure.dpi + pad * legend.get_texts()[0].get_fontsize() / 72.0
        is_low = height * figure.dpi <= room * figure.bbox.height
        if is_low and extent.width <= 1.04 * ax.bbox.width:
            break
    if not has_layout and isinstance(ax.get_axes_locator(), partial | None):
        ax.set_axes_locator(partial(_below, height))
        ax.apply_aspect(_below(height, ax))
    # Titles are placed above axes inside of others, here empty ones at the top of the legend.
    for spacer in [child for child in ax.child_axes if child.get_label() == _SPACER]:
        spacer.remove()
    up = ScaledTranslation(0.0, height, figure.dpi_scale_trans)
    ax.inset_axes([0.0, 1.0, 1.0, 1e-6], transform=ax.transAxes + up, label=_SPACER).set_axis_off()


def _below(height: float, ax: Any, renderer: Any = None) -> Any:
    """Place of axes below a legend of a height in inches, which is in their original place."""
    from matplotlib.transforms import Bbox

    place, figure = ax.get_position(original=True), ax.figure
    top = place.y1 - min(height * figure.dpi / figure.bbox.height, 0.7 * place.height)
    return Bbox.from_extents(place.x0, place.y0, place.x1, top)


def reference_style(**style: Any) -> dict[str, Any]:
    """Style of lines for comparison, in the colour of the axes, which are light in dark styles."""
    return {"color": foreground(), "linestyle": "--", "linewidth": 1.0, **style}


def foreground() -> Any:
    """The colour of the axes in the style that is in use."""
    import matplotlib as mpl

    return mpl.rcParams["axes.edgecolor"]


# Colours of rankers, those of Okabe and Ito (2008) with others for the light ones: colour-blind
# readers distinguish them, and all have a contrast of at least 3 with white and with black. Line
# styles and markers distinguish rankers in prints in grey.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#A67500", "#767676")
_STYLES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (5, 1.5, 1.2, 1.5)),
    (0, (9, 2)),
    (0, (5, 1.5, 1.2, 1.5, 1.2, 1.5)),
)
_MARKERS = ("o", "s", "^", "D", "v", "P")


def ranker_style(number: int) -> dict[str, Any]:
    """Colour and line style of a ranker; both together differ for the first 36."""
    n = len(_COLORS)
    return {"color": _COLORS[number % n], "linestyle": _STYLES[(number + number // n) % n]}


def ranker_marker(number: int) -> str:
    """Marker of a ranker."""
    return _MARKERS[number % len(_MARKERS)]


# Keywords for an artist.
Keywords = Mapping[str, Any] | None
# Largest number of columns of a legend, and the label of the axes that make room for it.
_MAX_COLUMNS = 3
_SPACER = "legend"
# Number of columns of a plot; a line has at most four points in each.
N_COLUMNS = 1500
# Above this number of items an axis of items is logarithmic.
MANY_SAMPLES = 2000
# Longer names are shortened in legends and on axes.
_MAX_LENGTH = 28


class Display:
    """Base of displays: results, what they are called in the plot, and the axes of the plot."""

    # What a result is in messages.
    _kind: ClassVar[str]

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
            named: dict[str, Any] = {}
            for key, of in results.items():
                # The classes of a ranker have the names of both.
                inner = of.items() if isinstance(of, Mapping) else ()
                named |= {f"{key}: {one}": part for one, part in inner} or {str(key): of}
            names, parts = list(named), list(named.values())
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

    def _start_two(self, ax: Any, size: tuple[float, float], **options: Any) -> tuple[Any, Any]:
        """Return the given pair of axes, or new ones of a size, one below the other."""
        if ax is None:
            plt = import_pyplot(f"{type(self).__name__}.plot")
            _, ax = plt.subplots(2, 1, figsize=size, layout="constrained", **options)
        elif np.shape(ax) != (2,):
            raise TypeError(
                "ax must be a pair of axes, for the rankers and for their difference, as made by "
                f"plt.subplots(2, 1); got {type(ax).__name__}."
            )
        upper, lower = ax
        return self._start(upper), lower

    @classmethod
    def _divided(
        cls, function: Callable[..., Any], options: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the options of a function, and those of `plot`."""
        own, drawn = signature(function).parameters, signature(cls.plot).parameters
        for key in options:
            if key not in own and key not in drawn:
                raise TypeError(
                    f"{key!r} is not an option of {function.__name__} or {cls.__name__}.plot; "
                    "remove it or check its name."
                )
        of_function = {key: value for key, value in options.items() if key in own}
        return of_function, {key: value for key, value in options.items() if key not in own}


class ScoresDisplay(Display):
    """Base of displays whose results are computed from labels and scores."""

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any = None,
        *,
        pos_label: PosLabel = 1,
        name: str | Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Compute results from labels and scores, and draw them.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or Ranking
            Binary labels; or a ranking, in which case `y_score` is omitted.
        y_score : array-like of shape (n_samples,), dict or DataFrame, optional
            Scores of one ranker, larger for items more likely to be positive, or of several
            rankers, by name.
        pos_label : int, float, bool or str, default=1
            The label of the positives.
        name : str or sequence of str, optional
            Names in the plot; by default the names of several rankers.
        ax : matplotlib axes, optional
            Axes to draw on; by default new axes.
        **options
            Options of the function that computes the result, such as `metric`, and of :meth:`plot`.
            An option of both is one of the function.

        Returns
        -------
        display : object
            The display, after plotting.
        """
        import_pyplot(f"{cls.__name__}.from_predictions")
        options["pos_label"] = pos_label
        return cls._of_scores(y_true, y_score, options, name, ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        pos_label: PosLabel = 1,
        response_method: str | Sequence[str] = RESPONSE_METHODS,
        name: str | Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Compute the results of fitted estimators on held-out data, and draw them.

        Parameters
        ----------
        estimator : object or dict of objects
            A fitted classifier, or a pipeline that ends in one; or a dict of several, by name.
        X : array-like of shape (n_samples, n_features)
            Features of items that were not used to train the estimators.
        y : array-like of shape (n_samples,)
            Binary labels.
        pos_label : int, float, bool or str, default=1
            The label of the positives.
        response_method : str or sequence of str, default=("decision_function", "predict_proba")
            Methods of the estimators that return the scores; the first available one is used.
        name : str or sequence of str, optional
            Names in the plot; by default the class of the estimator, or the keys of a dict.
        ax : matplotlib axes, optional
            Axes to draw on; by default new axes.
        **options
            Options of the function that computes the result, such as `metric`, and of :meth:`plot`.
            An option of both is one of the function.

        Returns
        -------
        display : object
            The display, after plotting.
        """
        import_pyplot(f"{cls.__name__}.from_estimator")
        options["pos_label"] = pos_label
        if isinstance(estimator, Mapping):
            scores: Any = {
                key: estimator_scores(one, X, pos_label, response_method)
                for key, one in estimator.items()
            }
        else:
            scores = estimator_scores(estimator, X, pos_label, response_method)
            name = type(estimator).__name__ if name is None else name
        return cls._of_scores(y, scores, options, name, ax)

    @classmethod
    def _of_scores(cls, y_true: Any, y_score: Any, options: Any, name: Any, ax: Any) -> Self:
        """Compute the results of one ranker or of several, and draw them."""
        raise NotImplementedError


class ComparedDisplay(ScoresDisplay):
    """Base of displays of one result of several rankers."""

    def _read(self, name: Any) -> list[str]:
        """Return the names of the rankers."""
        if not self._is_result(self.results):
            raise TypeError(f"results must be {self._kind}; got {type(self.results).__name__}.")
        own = self.results.names
        given = next(names for names in (name, self.name, own) if names is not None)
        if isinstance(given, str) or len(given) != len(own):
            raise ValueError(
                f"name must have one entry for each of the {len(own)} rankers; got {given!r}."
            )
        return [str(one) for one in given]


class RankersDisplay(ScoresDisplay):
    """Base of displays of a result of each ranker, or of each fold."""

    # The function that computes the result of one ranking.
    _compute: ClassVar[Callable[..., Any]]
    # Whether the columns of an array are rankers; otherwise they are classes.
    _has_columns: ClassVar[bool] = False

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        pos_label: PosLabel = 1,
        response_method: str | Sequence[str] = RESPONSE_METHODS,
        name: str | Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Compute the result of each test fold with the estimator of the fold, and draw all.

        Parameters
        ----------
        cv_results : dict
            Result of :func:`sklearn.model_selection.cross_validate` with
            ``return_estimator=True`` and ``return_indices=True``.
        X : array-like of shape (n_samples, n_features)
            Features of the items that were cross-validated.
        y : array-like of shape (n_samples,)
            Binary labels of the items.
        pos_label : int, float, bool or str, default=1
            The label of the positives.
        response_method : str or sequence of str, default=("decision_function", "predict_proba")
            Methods of the estimators that return the scores; the first available one is used.
        name : sequence of str, optional
            Names in the plot, one for each fold; by default "fold 0" and so on.
        ax : matplotlib axes, optional
            Axes to draw on; by default new axes.
        **options
            Options of the function that computes the result, such as `metric`, and of :meth:`plot`.
            An option of both is one of the function.

        Returns
        -------
        display : object
            The display, after plotting.

        Notes
        -----
        The training sets of the folds overlap, so the results of the folds are dependent: their
        p-values must not be multiplied or averaged.
        """
        import_pyplot(f"{cls.__name__}.from_cv_results")
        own, drawn = cls._divided(cls._compute, {**options, "pos_label": pos_label})
        results = {}
        for number, fold in enumerate(folds_of(cv_results, X, y, "cv_results")):
            samples, labels = fold.held_out(X, y)
            scores = estimator_scores(fold.estimator, samples, pos_label, response_method)
            results[f"fold {number}"] = cls._compute(labels, scores, **own)
        return cls(results, name=name).plot(ax, **drawn)

    @classmethod
    def _of_scores(cls, y_true: Any, y_score: Any, options: Any, name: Any, ax: Any) -> Self:
        own, drawn = cls._divided(cls._compute, options)
        results: Any
        if holds_rankers(y_score, cls._has_columns):
            sample = Sample.read(y_true, y_score, pos_label=own["pos_label"], columns="rankers")
            own["pos_label"] = True
            results = {
                ranker: cls._compute(sample.positive, column, **own)
                for ranker, column in zip(sample.names, sample.scores, strict=True)
            }
        else:
            results = cls._compute(y_true, y_score, **own)
            if isinstance(results, Mapping) and isinstance(name, str):
                results, name = {name: results}, None
        return cls(results, name=name).plot(ax, **drawn)


def draw_rows(
    ax: Any,
    labels: Sequence[str],
    values: Floats,
    low: Floats,
    high: Floats,
    texts: Sequence[str],
    interval_kwargs: Keywords,
    point_kwargs: Keywords,
    text_kwargs: Keywords,
) -> tuple[Any, Any, list[Any]]:
    """Draw a forest plot: intervals, values and texts beside the axes, one row for each label."""
    places = np.arange(len(labels))
    color = _COLORS[0]
    intervals = ax.hlines(
        places, low, high, **merged_style({"color": color, "linewidth": 1.8}, interval_kwargs)
    )
    style = {"color": color, "marker": "o", "linestyle": "none"}
    (points,) = ax.plot(values, places, **merged_style(style, point_kwargs))
    # The x coordinate of texts is relative to the axes, the y coordinate is that of the row.
    style = {"ha": "left", "va": "center", "transform": ax.get_yaxis_transform()}
    style = merged_style(style, text_kwargs)
    written = [ax.text(1.02, place, text, **style) for place, text in enumerate(texts)]
    ax.set_ylim(len(labels) - 0.4, -0.6)
    named = {place: label for place, label in enumerate(labels) if label}
    ax.set_yticks(list(named), list(named.values()))
    return intervals, points, written


def rows_size(labels: Sequence[str], texts: Sequence[str] = ()) -> tuple[float, float]:
    """Width and height of a figure with room for rows, their labels and the texts beside them."""
    length = max(map(len, labels)) + max(map(len, texts), default=0)
    return max(6.4, 3.4 + 0.085 * length), max(1.6, 1.0 + 0.32 * len(labels))


def short(name: Any) -> str:
    """A name for a legend or an axis."""
    return shortened(name, _MAX_LENGTH)


def thinned(x: Floats, y: Floats, log_scale: bool) -> tuple[Floats, Floats]:
    """Thin a line to its first, last, smallest and largest value in each column of a plot."""
    if x.size <= 4 * N_COLUMNS:
        return x, y
    position = np.log(x) if log_scale else x
    span = position[-1] - position[0]
    column = ((position - position[0]) * (N_COLUMNS / span)).astype(np.int64)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    lengths = np.diff(starts, append=x.size)
    kept = [starts, starts + lengths - 1]
    for extreme in (np.minimum, np.maximum):
        values = np.repeat(extreme.reduceat(y, starts), lengths)
        reached = np.flatnonzero(y == values)
        kept.append(reached[np.flatnonzero(np.diff(column[reached], prepend=-1))])
    at = np.unique(np.concatenate(kept))
    return x[at], y[at]
