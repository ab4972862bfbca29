"""Display of power against the number of positives or against the effect."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sklearn_rankinf._metrics import as_metric
from sklearn_rankinf._planning import MetricPowerResult, metric_power, min_detectable_odds
from sklearn_rankinf._plot.base import (
    Display,
    check_shared,
    hide_spines,
    import_pyplot,
    merged_style,
    ranker_marker,
    ranker_style,
    reference_style,
    short,
    write_legend,
)
from sklearn_rankinf._ranking import check_option
from sklearn_rankinf._results import format_value
from sklearn_rankinf._statistics import Floats, Metric

_X_AXES = {
    "n_positives": "Number of positives",
    "n_samples": "Number of items",
    "odds": "Odds of a positive against a negative",
    "auc": "Expected ROC AUC",
}
# What stands before and after a number of each axis.
_UNITS = {
    "n_positives": ("", " positives"),
    "n_samples": ("", " items"),
    "odds": ("odds ", ""),
    "auc": ("AUC ", ""),
}
_TARGET = 0.8
# Largest number of numbers of positives that are all tried for power that is not monotone.
_ALL_TRIED = 2000
# Powers that are equal up to the precision of the smallest effect.
_SAME = 1e-8
# Half the width of the band, in standard errors.
_N_ERRORS = 2.0


class PowerDisplay(Display):
    """Power of tests against the number of positives, or against the effect.

    Use :meth:`from_design` to create a display, or pass results of :func:`metric_power`.

    Parameters
    ----------
    results : sequence of MetricPowerResult, or dict of such sequences
        Results with different sizes and the same effect, or with different effects and the same
        size: the points of one line. A dict contains the points of several lines, by name.
    name : str or sequence of str, optional
        Names of the lines in the legend. By default the keys of a dict, or the metric.

    Attributes
    ----------
    line_ : list of matplotlib artists
        The power, one line for each name.
    band_ : list of matplotlib artists or None
        Two standard errors around each line; None for a line without simulation.
    target_line_ : matplotlib artist or None
        Line at the target power.
    reached_ : list of matplotlib artists or None
        Where each line reaches the target; None if it does not, or if only the two points between
        which it does are known.
    level_line_ : matplotlib artist
        Line at the significance level, the largest power without an effect.
    ax_, figure_ : matplotlib axes, matplotlib figure
        The axes of the plot, and the figure that contains them.

    Raises
    ------
    TypeError
        If a result is not a result of :func:`metric_power`.
    ValueError
        If there is no result or not one name for each line, if significance levels differ, or if
        both sizes and effects differ.

    See Also
    --------
    metric_power : Power of one design.
    min_positives : Smallest number of positives with a given power.
    min_detectable_odds : Smallest effect with a given power.

    Notes
    -----
    :meth:`from_design` computes where each line reaches the target between two of the given points,
    and adds it to the points: the number of positives that has the target power while one fewer
    has not, or the smallest effect, as :func:`min_detectable_odds`. Of results that were computed
    elsewhere the legend states the points between which the target is reached. The power of hits at
    k rises and falls as the critical value, a whole number, changes.

    The band extends two Monte Carlo standard errors to each side. A line without a band is exact.

    Examples
    --------
    >>> from sklearn_rankinf import PowerDisplay, metric_power
    >>> results = [
    ...     metric_power(500, m, metric="recall@50", odds=3.0) for m in (10, 20, 40)
    ... ]
    >>> display = PowerDisplay(results)
    >>> display.plot()  # doctest: +SKIP
    <...>
    """

    _kind = "results of metric_power"

    line_: list[Any]
    band_: list[Any]
    reached_: list[Any]
    # The unit in which the effect was given: "odds" or "auc"; None if it is not known.
    _effect: str | None = None

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | Sequence[str] | None = None,
        x_axis: str | None = None,
        target: float | None = _TARGET,
        curve_kwargs: Mapping[str, Any] | None = None,
        band_kwargs: Mapping[str, Any] | None = None,
        target_kwargs: Mapping[str, Any] | None = None,
        level_kwargs: Mapping[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the power.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; by default new axes. The legend is above them if there is room.
        name : str or sequence of str, optional
            Names of the lines, instead of that of the display.
        x_axis : {"n_positives", "n_samples", "odds", "auc"}, optional
            Quantity on the x-axis. By default the number of positives, the number of items, or
            the odds (in the binormal model the AUC), the first of these that varies.
        target : float, default=0.8
            The power that is wanted, between 0 and 1; None for no line.
        curve_kwargs, band_kwargs : dict, optional
            Keywords of matplotlib's ``plot`` for the lines and ``fill_between`` for the bands.
        target_kwargs, level_kwargs : dict, optional
            Keywords of ``axhline`` for the target power and for the significance level.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        display : PowerDisplay
            The display, with its artists as attributes.
        """
        lines = self._read(name)
        design = _Design.of(lines, x_axis, self._effect)
        if target is not None and not 0.0 < target < 1.0:
            raise ValueError(
                f"The target power must lie between 0 and 1, exclusive; got {target!r}."
            )
        ax = self._start(ax)
        self.line_, self.band_, self.reached_ = [], [], []
        self.target_line_ = None
        for number, (label, results) in enumerate(lines.items()):
            style = {**ranker_style(number), "marker": ranker_marker(number), "markersize": 4.0}
            style = merged_style({**style, "zorder": 3}, curve_kwargs)
            self._plot_line(design, label, results, target, style, band_kwargs)
        if target is not None:
            style = reference_style(label=f"power of {target:g}")
            self.target_line_ = ax.axhline(target, **merged_style(style, target_kwargs))
        style = reference_style(linestyle=":")
        style["label"] = f"significance level {design.alpha:g}"
        self.level_line_ = ax.axhline(design.alpha, **merged_style(style, level_kwargs))
        ax.set_ylim(0.0, 1.02)
        ax.set_xlabel(design.xlabel)
        ax.set_ylabel("Power")
        write_legend(ax, *ax.get_legend_handles_labels())
        if despine:
            hide_spines(ax)
        return self

    @classmethod
    def from_design(
        cls,
        n_samples: ArrayLike,
        n_positives: ArrayLike,
        *,
        metric: str | Metric | Sequence[str | Metric] = "average_precision",
        odds: ArrayLike | None = None,
        auc: ArrayLike | None = None,
        name: str | Sequence[str] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Compute the power of one or several metrics at several sizes or effects, and draw it.

        Parameters
        ----------
        n_samples : int or array-like of shape (n_points,)
            Number of items. An array is combined with an array of `n_positives`, for example for
            a fixed prevalence.
        n_positives : int or array-like of shape (n_points,)
            Number of positives among them.
        metric : str or metric or sequence of them, default="average_precision"
            One or several metrics, such as ``RecallAtK(100)``, or their names; see
            :func:`metric_test`.
        odds, auc : float or array-like of shape (n_points,), optional
            The effect, as one of the two; see :func:`metric_power`.
        name : str or sequence of str, optional
            Names in the legend; by default the names of the metrics.
        ax : matplotlib axes, optional
            Axes to draw on; by default new axes.
        **options
            Other options of :func:`metric_power`, and of :meth:`plot`.

        Returns
        -------
        display : PowerDisplay
            The display, after plotting.

        Examples
        --------
        >>> from sklearn_rankinf import PowerDisplay, RecallAtK
        >>> PowerDisplay.from_design(
        ...     1000, [20, 40, 60, 80], metric=["roc_auc", RecallAtK(100)], odds=2.0
        ... )  # doctest: +SKIP
        <...>
        """
        import_pyplot(f"{cls.__name__}.from_design")
        points = _points(n_samples, n_positives, odds, auc)
        own, drawn = cls._divided(metric_power, options)
        several = isinstance(metric, Sequence) and not isinstance(metric, str)
        metrics: Any = metric if several else [metric]
        target = drawn.get("target", _TARGET)
        results: dict[str, list[MetricPowerResult]] = {}
        for one in map(as_metric, metrics):
            line = [metric_power(**point, metric=one, **own) for point in points]
            if target is not None:
                line += _where_reached(points, line, one, own, target)
            results[one.title] = line
        if auc is not None and np.ndim(auc):
            drawn.setdefault("x_axis", "auc")
        display = cls(results, name=name)
        display._effect = "odds" if auc is None else "auc"
        return display.plot(ax, **drawn)

    def _is_result(self, result: Any) -> bool:
        return isinstance(result, MetricPowerResult)

    def _read(self, name: Any) -> dict[str, list[MetricPowerResult]]:
        are_lines = isinstance(self.results, Mapping) and self.results
        by_key = self.results if are_lines else {"": self.results}
        lines = [self._parts(points)[1] for points in by_key.values()]
        named = self._named([str(key) for key in by_key], lines, name)
        _Design.of(named, None)
        return {label or line[0].metric.title: line for label, line in named.items()}

    # Parts of the plot.

    def _plot_line(
        self, design: _Design, label: str, results: Any, target: Any, style: Any, band_kwargs: Any
    ) -> None:
        results = sorted(results, key=lambda result: getattr(result, design.x_axis))
        x = design.places(results)
        power = np.array([result.power for result in results])
        error = _N_ERRORS * np.array([result.standard_error for result in results])
        text, at = short(label), None
        if target is not None:
            where, at = design.where(results, target)
            text += f": power {target:g} {where}"
        self.line_ += self.ax_.plot(x, power, **{"label": text, **style})
        style = {"color": self.line_[-1].get_color()}
        band = reached = None
        if error.any():
            limits = np.clip([power - error, power + error], 0.0, 1.0)
            shaded = merged_style({**style, "alpha": 0.2, "linewidth": 0.0}, band_kwargs)
            band = self.ax_.fill_between(x, *limits, **shaded)
        if at is not None:
            style |= {"linestyle": "-.", "linewidth": 0.8}
            (reached,) = self.ax_.plot([x[at], x[at]], [power[at], 0.0], **style)
        self.band_.append(band)
        self.reached_.append(reached)


@dataclass(frozen=True)
class _Design:
    """Quantities that vary between the points, and quantities they have in common."""

    x_axis: str
    xlabel: str
    alpha: float

    @classmethod
    def of(
        cls,
        lines: Mapping[str, Sequence[MetricPowerResult]],
        x_axis: Any,
        effect: str | None = None,
    ) -> _Design:
        results = [result for line in lines.values() for result in line]
        check_shared("alpha", [result.alpha for result in results])
        differing = {
            field
            for field in _X_AXES
            for line in lines.values()
            if len({getattr(result, field) for result in line}) > 1
        }
        of_size = differing & {"n_positives", "n_samples"}
        if of_size and len(differing) > len(of_size):
            raise ValueError(
                "The results of a line differ in their numbers of items or positives and in "
                "their effects; draw one line for each effect by passing a dict of results."
            )
        if x_axis is None:
            fields = [field for field in _X_AXES if field in differing]
            is_binormal = results[0].model == "binormal" and "auc" in fields
            x_axis = "auc" if is_binormal and not of_size else (fields or ["n_positives"])[0]
        x_axis = check_option(x_axis, "x_axis", _X_AXES)
        if differing and x_axis not in differing:
            raise ValueError(
                f"x_axis={x_axis!r} is the same for all points of a line; choose from "
                f"{' and '.join(sorted(differing))}."
            )
        return cls(x_axis, _xlabel(x_axis, results, effect), results[0].alpha)

    def places(self, results: Sequence[MetricPowerResult]) -> Floats:
        return np.array([getattr(result, self.x_axis) for result in results], dtype=float)

    def where(self, results: Sequence[MetricPowerResult], target: float) -> tuple[str, int | None]:
        """State where ascending points reach a power; and at which point, if it is known."""
        at = next((i for i, result in enumerate(results) if _reaches(result, target)), None)
        if at is None:
            return "not reached", None
        x, this = self.places(results), results[at]
        before, unit = _UNITS[self.x_axis]
        value = before + format_value(x[at])
        is_equal = abs(this.power - target) <= max(_SAME, this.standard_error)
        fewer = results[at - 1].n_positives if at else 0
        if is_equal or this.n_positives - fewer == 1:
            about = "about " if this.standard_error > 0.0 else ""
            return f"at {about}{value}{unit}", at
        if at == 0:
            return f"at {value}{unit} or fewer" if unit else f"at {value} or less", None
        return f"between {before}{format_value(x[at - 1])} and {format_value(x[at])}{unit}", None


def _reaches(result: MetricPowerResult, target: float) -> bool:
    """Whether a power is the target or more, or its Monte Carlo error leaves that open."""
    return result.power >= target - max(_SAME, result.standard_error)


def _where_reached(
    points: Sequence[dict[str, Any]],
    results: Sequence[MetricPowerResult],
    metric: Metric,
    options: Mapping[str, Any],
    target: float,
) -> list[MetricPowerResult]:
    """Further results where a line reaches a power between two of its points, if it does."""
    field = next(
        name
        for name in ("odds", "auc", "n_positives")
        if len({point[name] for point in points}) > 1
    )
    order = sorted(range(len(points)), key=lambda i: points[i][field])
    at = next((i for i, j in enumerate(order) if _reaches(results[j], target)), 0)
    if at == 0:
        return []
    low, high = points[order[at - 1]], points[order[at]]

    @cache
    def result(value: Any) -> MetricPowerResult:
        share = (value - low[field]) / (high[field] - low[field])
        n_samples = round(low["n_samples"] + share * (high["n_samples"] - low["n_samples"]))
        return metric_power(
            **{**high, field: value, "n_samples": n_samples}, metric=metric, **options
        )

    if field != "n_positives":
        odds = min_detectable_odds(
            high["n_samples"], high["n_positives"], metric=metric, power=target, **options
        )
        return [result(odds if field == "odds" else odds / (1.0 + odds))]

    def reaches(m: int) -> bool:
        return _reaches(result(m), target)

    between = range(low[field] + 1, high[field])
    if metric.counts_hits and len(between) < _ALL_TRIED:
        first = next((i for i, m in enumerate(between) if reaches(m)), len(between))
    else:
        first = bisect_left(between, True, key=reaches)
    return [result(m) for m in between[max(first - 1, 0) : first + 1]]


def _xlabel(x_axis: str, results: Sequence[MetricPowerResult], effect: str | None) -> str:
    """Label of the x-axis: the varying quantity, and the quantities common to all points."""
    effects = (effect,) if effect else ("odds", "auc")
    if results[0].model == "binormal":
        effects = ("auc",)
    rest = []
    for field in ("n_positives", "n_samples", *(effects if x_axis not in ("odds", "auc") else ())):
        values = {getattr(result, field) for result in results}
        if field != x_axis and len(values) == 1:
            before, after = _UNITS[field]
            rest.append(f"{before}{values.pop():{'.3g' if before else ''}}{after}")
        elif field == "n_samples" and x_axis == "n_positives":
            n = sum(result.n_samples for result in results)
            m = sum(result.n_positives for result in results)
            if all(abs(one.n_positives - m / n * one.n_samples) <= 1.0 for one in results):
                rest.append(f"prevalence {m / n:.3g}")
    return f"{_X_AXES[x_axis]} ({', '.join(rest)})" if rest else _X_AXES[x_axis]


def _points(n_samples: Any, n_positives: Any, odds: Any, auc: Any) -> list[dict[str, Any]]:
    given = {"n_samples": n_samples, "n_positives": n_positives, "odds": odds, "auc": auc}
    arrays = {name: np.asarray(value) for name, value in given.items() if np.ndim(value)}
    for name, values in arrays.items():
        if values.ndim > 1 or not values.size:
            raise ValueError(
                f"{name} must be a number or a list of at least one; got shape {values.shape}."
            )
    names = list(arrays)
    if names not in (["n_positives"], ["odds"], ["auc"], ["n_samples", "n_positives"]):
        got = " and ".join(names) if names else "none"
        raise ValueError(
            "Exactly one of n_positives, odds and auc must be an array, for the x-axis "
            f"(or n_samples and n_positives together); got {got}."
        )
    sizes = {values.size for values in arrays.values()}
    if len(sizes) > 1:
        raise ValueError(
            f"n_samples and n_positives must have the same length; got {arrays['n_samples'].size} "
            f"and {arrays['n_positives'].size}."
        )
    columns = [part.tolist() for part in np.broadcast_arrays(*given.values())]
    return [dict(zip(given, row, strict=True)) for row in zip(*columns, strict=True)]
