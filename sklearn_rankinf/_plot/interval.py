"""Display of confidence intervals: one row for each ranker or class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from sklearn_rankinf._estimation import MetricIntervalResult, metric_interval
from sklearn_rankinf._null import frozen_null_distribution
from sklearn_rankinf._plot.base import (
    Keywords,
    RankersDisplay,
    check_shared,
    draw_rows,
    heading,
    hide_spines,
    merged_style,
    reference_style,
    rows_size,
    with_minus,
    write_legend,
)
from sklearn_rankinf._statistics import Floats

# Number of decimals if no interval determines it.
_DECIMALS = 3


class IntervalDisplay(RankersDisplay):
    """Values of a metric with confidence intervals, one row for each ranker or class (forest plot).

    Use :meth:`from_estimator`, :meth:`from_predictions` or :meth:`from_cv_results` with the options
    of :func:`metric_interval`, or pass results.

    Parameters
    ----------
    results : MetricIntervalResult, or sequence or dict of them
        Results of :func:`metric_interval` or of the method ``confidence_interval`` of a test.
    name : str or sequence of str, optional
        Label of the row; a list contains one label for each result. By default the keys of a dict,
        or the numbers of several results.

    Attributes
    ----------
    points_ : matplotlib artist
        The values.
    intervals_ : matplotlib artist
        The intervals, as horizontal lines.
    texts_ : list of matplotlib artists
        Values and limits as numbers, in the order of the rows; empty if they are not written.
    chance_level_ : matplotlib artist or None
        Vertical line at the mean by chance, or one line segment for each row.
    ax_, figure_ : matplotlib axes, matplotlib figure
        The axes of the plot, and the figure that contains them.

    Raises
    ------
    TypeError
        If a result is not a confidence interval.
    ValueError
        If metrics or confidence levels differ, if some are means over queries and others are not,
        or if there is no result, or not one name for each result.

    See Also
    --------
    metric_interval : Confidence interval of a metric.
    ComparisonDisplay : Differences of rankers, which cannot be judged from separate intervals.

    Notes
    -----
    Rankings of the same items are correlated: overlapping intervals do not mean that the rankers
    are equally good.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import IntervalDisplay, metric_interval
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(300) < 30
    >>> shifts = {"weak": 0.5, "strong": 2.0}
    >>> results = {
    ...     name: metric_interval(y_true, rng.normal(size=300) + shift * y_true)
    ...     for name, shift in shifts.items()
    ... }
    >>> display = IntervalDisplay(results)
    >>> display.plot(sort=True)  # doctest: +SKIP
    <...>
    """

    _compute = staticmethod(metric_interval)
    _kind = "results of metric_interval"

    texts_: list[Any]

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | Sequence[str] | None = None,
        sort: bool = False,
        point_kwargs: Mapping[str, Any] | None = None,
        interval_kwargs: Mapping[str, Any] | None = None,
        plot_values: bool = True,
        text_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = False,
        chance_level_kw: Mapping[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the rows.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; by default new axes with a height that suits the number of rows.
        name : str or sequence of str, optional
            Labels of the rows, instead of those of the display.
        sort : bool, default=False
            Whether to sort the rows, largest value first; by default rows are in the given order.
        point_kwargs, interval_kwargs : dict, optional
            Keywords of matplotlib's ``plot`` for the values and ``hlines`` for the intervals.
        plot_values : bool, default=True
            Whether to write values and limits to the right of the axes.
        text_kwargs : dict, optional
            Keywords of matplotlib's ``text`` for the values and limits.
        plot_chance_level : bool, default=False
            Whether to mark the mean by chance of the same number of items and positives, without
            ties; in each row separately if the means differ.
        chance_level_kw : dict, optional
            Keywords of matplotlib's ``axvline`` for the mean, or of ``vlines`` if the means differ.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        display : IntervalDisplay
            The display, with its artists as attributes.
        """
        results = self._read(name)
        if sort:
            results = dict(sorted(results.items(), key=lambda row: -row[1].statistic))
        rows = list(results.values())
        chances = _chance_levels(rows) if plot_chance_level else None
        texts = _values(rows) if plot_values else []
        ax = self._start(ax, rows_size(list(results), texts))
        values, low, high = np.array([(row.statistic, row.low, row.high) for row in rows]).T
        styles = interval_kwargs, point_kwargs, text_kwargs
        drawn = draw_rows(ax, list(results), values, low, high, texts, *styles)
        self.intervals_, self.points_, self.texts_ = drawn
        self.chance_level_ = None
        if chances is not None:
            symbol = rows[0].metric.symbol
            self.chance_level_ = draw_chance_levels(ax, symbol, chances, chance_level_kw)
        level = f"{100.0 * rows[0].confidence_level:g} % confidence interval"
        ax.set_xlabel(f"{heading(rows[0])} ({level})")
        if despine:
            hide_spines(ax)
        return self

    def _is_result(self, result: Any) -> bool:
        return isinstance(result, MetricIntervalResult)

    def _read(self, name: Any) -> dict[str, MetricIntervalResult]:
        results: dict[str, MetricIntervalResult] = super()._read(name)
        rows = list(results.values())
        check_shared("metric", [row.metric for row in rows])
        check_shared("confidence_level", [row.confidence_level for row in rows])
        kinds = ("a mean over queries", "of one ranking")
        check_shared("kind of value", [kinds[row.n_queries is None] for row in rows])
        return results


def _values(rows: list[MetricIntervalResult]) -> list[str]:
    """Values and limits as texts."""
    # The median width of the intervals has two digits.
    widths = [row.high - row.low for row in rows if row.high > row.low]
    digits, texts = _DECIMALS, []
    if widths:
        digits = max(0, 1 - math.floor(math.log10(float(np.median(widths)))))
    for row in rows:
        value, low, high = (f"{x:.{digits}f}" for x in (row.statistic, row.low, row.high))
        texts.append(with_minus(f"{value} [{low}, {high}]"))
    return texts


def draw_chance_levels(ax: Any, symbol: str, chances: Floats, kwargs: Keywords = None) -> Any:
    """Draw one vertical line at the mean by chance, or a segment for each row."""
    style: dict[str, Any] = reference_style(label="chance level")
    if np.all(chances == chances[0]):
        style["label"] = f"chance level ({symbol} = {chances[0]:.3g})"
        line = ax.axvline(chances[0], **merged_style(style, kwargs))
    else:
        places = np.arange(chances.size)
        line = ax.vlines(chances, places - 0.4, places + 0.4, **merged_style(style, kwargs))
    write_legend(ax, [line], [line.get_label()])
    return line


def _chance_levels(rows: list[MetricIntervalResult]) -> Floats:
    """Mean of the metric of each row by chance, without ties."""
    if rows[0].n_queries is not None:
        raise ValueError(
            "plot_chance_level=True needs intervals of one ranking; for a mean over queries the "
            "chance level is not in the result: omit it, and draw display.ax_.axvline at the mean "
            "of its null distribution."
        )
    means = [frozen_null_distribution(row.metric, row.n_samples, row.n_positives) for row in rows]
    return np.array([null.mean() for null in means])
