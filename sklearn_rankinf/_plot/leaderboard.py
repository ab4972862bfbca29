"""Display of a leaderboard: the limits of the rank of each ranker, and letters of those tied."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from sklearn_rankinf._estimation import (
    Leaderboard,
    MetricMultipleComparisonTestResult,
    metric_multiple_comparison_test,
)
from sklearn_rankinf._plot.base import (
    ComparedDisplay,
    draw_rows,
    hide_spines,
    quantity,
    short,
    with_minus,
)
from sklearn_rankinf._results import format_value
from sklearn_rankinf._statistics import Floats

# Sizes of the largest value between which values have decimals.
_LEAST, _MOST = 1e-3, 1e3
# Above this number of rankers not every rank has a tick.
_ALL_TICKS = 20


class LeaderboardDisplay(ComparedDisplay):
    """Ranks of several rankers with their limits, one row for each ranker, the best one first.

    Use :meth:`from_estimator` or :meth:`from_predictions` with a dict of rankers and the options of
    :func:`metric_multiple_comparison_test`, or pass its result.

    Parameters
    ----------
    results : MetricMultipleComparisonTestResult
        Result of :func:`metric_multiple_comparison_test`.
    name : sequence of str, optional
        Names of the rankers, in the order of the result, instead of those in it.

    Attributes
    ----------
    points_ : matplotlib artist
        The ranks of the observed values.
    intervals_ : matplotlib artist
        The limits of the ranks, as horizontal lines.
    texts_ : list of matplotlib artists
        Values and letters, in the order of the rows; empty if they are not written.
    ax_, figure_ : matplotlib axes, matplotlib figure
        The axes of the plot, and the figure that contains them.

    Raises
    ------
    TypeError
        If `results` is not the result of a comparison of several rankers.
    ValueError
        If there is not one name for each ranker.

    See Also
    --------
    metric_multiple_comparison_test : Comparison of several rankers.
    ComparisonDisplay : The differences of all pairs with their intervals.
    IntervalDisplay : Confidence intervals of each value.

    Notes
    -----
    Rankers that share a letter are not significantly different. Limits of ranks that overlap are no
    test: rankers that differ significantly may have ranks in common. Names of rankers that may be
    best are bold.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import LeaderboardDisplay, metric_multiple_comparison_test
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(300) < 30
    >>> scores = {f"+{d}": rng.normal(size=300) + d * y_true for d in (0.5, 1.5, 1.6)}
    >>> result = metric_multiple_comparison_test(y_true, scores, metric="roc_auc")
    >>> display = LeaderboardDisplay(result)
    >>> display.plot()  # doctest: +SKIP
    <...>
    """

    _kind = "the result of metric_multiple_comparison_test"

    points_: Any
    intervals_: Any
    texts_: list[Any]

    def plot(
        self,
        ax: Any = None,
        *,
        name: Sequence[str] | None = None,
        point_kwargs: Mapping[str, Any] | None = None,
        interval_kwargs: Mapping[str, Any] | None = None,
        plot_values: bool = True,
        text_kwargs: Mapping[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the rows.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; by default new axes with a height that suits the number of rows. The
            values beside given axes need room: ``layout="constrained"`` of their figure makes it.
        name : sequence of str, optional
            Names of the rankers, instead of those of the display.
        point_kwargs, interval_kwargs : dict, optional
            Keywords of matplotlib's ``plot`` for the ranks and ``hlines`` for the limits.
        plot_values : bool, default=True
            Whether to write values and letters to the right of the axes.
        text_kwargs : dict, optional
            Keywords of matplotlib's ``text`` for the values and letters.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        display : LeaderboardDisplay
            The display, with its artists as attributes.
        """
        names = self._read(name)
        board = self.results.leaderboard()
        names = [short(names[self.results.names.index(one)]) for one in board.names]
        ax = self._start(ax, (6.4, max(1.8, 1.3 + 0.32 * len(names))))
        heading, texts = _values(board)
        style = {"family": "monospace", "fontsize": "small", **(text_kwargs or {})}
        values, styles = texts if plot_values else [], (interval_kwargs, point_kwargs, style)
        ranks = board.rank, board.rank_low, board.rank_high
        self.intervals_, self.points_, self.texts_ = draw_rows(ax, names, *ranks, values, *styles)
        if plot_values:
            ax.text(1.02, -0.8, heading, ha="left", transform=ax.get_yaxis_transform(), **style)
        ax.set_xlim(0.6, len(names) + 0.4)
        if len(names) <= _ALL_TICKS:
            ax.set_xticks(range(1, len(names) + 1))
        for kept, tick in zip(board.may_be_best, ax.get_yticklabels(), strict=True):
            tick.set_fontweight("bold" if kept else "normal")
        together = "each rank by itself" if board.correction == "none" else "all ranks together"
        level = f"{100.0 * board.confidence_level:g} % limits of {together}"
        ax.set_xlabel(f"Rank by {quantity(board)}\n({level})")
        if despine:
            hide_spines(ax)
        return self

    @classmethod
    def _of_scores(cls, y_true: Any, y_score: Any, options: Any, name: Any, ax: Any) -> Self:
        own, drawn = cls._divided(metric_multiple_comparison_test, options)
        result = metric_multiple_comparison_test(y_true, y_score, **own)
        return cls(result, name=name).plot(ax, **drawn)

    def _is_result(self, result: Any) -> bool:
        return isinstance(result, MetricMultipleComparisonTestResult)


def _values(board: Leaderboard) -> tuple[str, list[str]]:
    """Values and letters of the rows under a heading, each letter in a column of its own."""
    values = [with_minus(value) for value in _rounded(board.statistic)]
    letters = board.letters
    if not any(" " in one for one in letters):
        used = sorted(set("".join(letters)))
        letters = ["".join(one if one in own else " " for one in used) for own in letters]
    width = max(map(len, values))
    rows = [f"{value:{width}s}  {own}" for value, own in zip(values, letters, strict=True)]
    return f"{'value':{width}s}  tied", rows


def _rounded(values: Floats) -> list[str]:
    """Values with one number of decimals, three digits of the largest, or with three digits each.

    Decimals suit values of ordinary size.
    """
    largest = float(np.abs(values).max()) or 1.0
    if not _LEAST <= largest < _MOST:
        return [format_value(value) for value in values.tolist()]
    digits = max(0, 2 - math.floor(math.log10(largest)))
    return [f"{value:.{digits}f}" for value in values.tolist()]
