"""Display of comparisons: two rankers, two runs over queries, or the pairs of several rankers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from sklearn_rankinf._estimation import (
    CURVES,
    CurveKind,
    MetricComparisonTestResult,
    MetricMultipleComparisonTestResult,
    metric_comparison_test,
    metric_multiple_comparison_test,
)
from sklearn_rankinf._plot.base import (
    ComparedDisplay,
    Keywords,
    draw_rows,
    foreground,
    hide_spines,
    merged_style,
    quantity,
    ranker_style,
    reference_style,
    rows_size,
    short,
    thinned,
    write_legend,
)
from sklearn_rankinf._ranking import (
    Ranking,
    Sample,
    check_confidence_level,
    check_option,
    check_positive,
)
from sklearn_rankinf._results import shortened, state_pvalue
from sklearn_rankinf._statistics import Floats, Metric

_SCALES = ("linear", "log")
# Largest number of queries that are named on an axis.
_MAX_QUERIES = 40
_MAX_QUERY_LENGTH = 18
# Above this total number of letters the labels are rotated.
_MAX_LETTERS = 70
# Number of ranks of a curve on a logarithmic scale, in addition to its corners.
_N_RANKS = 400

Curve = tuple[Floats, Floats]


class ComparisonDisplay(ComparedDisplay):
    """Two rankers and their difference, or the differences of several rankers (forest plot).

    Use :meth:`from_estimator` or :meth:`from_predictions` with a dict of rankers, or pass the
    result of a comparison. Options for two rankers are those of :func:`metric_comparison_test`, and
    for more those of :func:`metric_multiple_comparison_test`.

    Parameters
    ----------
    results : MetricComparisonTestResult or MetricMultipleComparisonTestResult
        Result of :func:`metric_comparison_test` or :func:`metric_multiple_comparison_test`.
    curves : sequence of two pairs of array-like, optional
        For two rankers the curve ``(x, y)`` of each: recall and precision for average
        precision, as returned by :func:`sklearn.metrics.precision_recall_curve`; false and true
        positive rates for ROC AUC; ranks and recall for other metrics. Without curves only the
        difference is drawn, or the difference below the differences of the queries.
    name : sequence of str, optional
        Names of the rankers, instead of those in the result.

    Attributes
    ----------
    line_ : list of matplotlib artists or None
        The curves of two rankers.
    k_line_ : matplotlib artist or None
        Vertical line at the cut-off of hits at k.
    chance_level_ : matplotlib artist or None
        The curve by chance.
    bars_ : list of matplotlib artists or None
        The queries in which the first run is better or equal, and those in which the second is
        better.
    interval_, point_ : matplotlib artist or None
        The difference and its confidence interval; of several rankers those of all rows.
    zero_line_ : matplotlib artist or None
        Vertical line at a difference of 0.
    margin_ : matplotlib artist or None
        The differences within the margin.
    texts_ : list of matplotlib artists or None
        For several rankers the adjusted p-values, in the order of the rows.
    ax_ : matplotlib axes or tuple of two matplotlib axes
        The axes of the plot; for two rankers the upper and the lower axes.
    figure_ : matplotlib figure
        The figure that contains the axes.

    Raises
    ------
    TypeError
        If `results` is not the result of a comparison.
    ValueError
        If there is not one name for each ranker, or if `curves` are not those of two rankings.

    See Also
    --------
    metric_comparison_test : Comparison of two rankers.
    metric_multiple_comparison_test : Comparison of several rankers.
    IntervalDisplay : Confidence intervals of each ranker.
    LeaderboardDisplay : Ranks of several rankers, and which of them are tied.

    Notes
    -----
    The p-value and the interval of the difference may come from different methods and may disagree
    close to the significance level; see :func:`metric_comparison_test`. A verdict on a margin,
    ``results.verdict(margin=...)``, depends on the interval alone.

    Of several rankers each pair is a row, or each ranker and the reference. The intervals contain
    all differences together with the stated confidence, and the p-values are adjusted for the
    number of pairs, unless the result is without a correction. Of many rankers the pairs are too
    many to be read: compare with a reference, or draw a :class:`LeaderboardDisplay`.

    Average precision is the area below the steps of the precision-recall curve, ROC AUC the area
    below the ROC curve. For metrics that weight or count ranks, recall is drawn against rank. The
    line is straight across items with equal scores, which is the mean over their orders.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import ComparisonDisplay, metric_comparison_test
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(300) < 30
    >>> strong, weak = (rng.normal(size=300) + d * y_true for d in (2.0, 1.0))
    >>> result = metric_comparison_test(
    ...     y_true, {"strong": strong, "weak": weak}, metric="roc_auc", method="delong"
    ... )
    >>> display = ComparisonDisplay(result)
    >>> display.plot()  # doctest: +SKIP
    <...>
    """

    _kind = "the result of metric_comparison_test or metric_multiple_comparison_test"

    line_: Any
    k_line_: Any
    chance_level_: Any
    bars_: Any
    interval_: Any
    point_: Any
    zero_line_: Any
    margin_: Any
    texts_: Any

    def __init__(
        self,
        results: Any,
        *,
        curves: Sequence[Any] | None = None,
        name: Sequence[str] | None = None,
    ) -> None:
        super().__init__(results, name=name)
        self.curves = curves
        is_pair = isinstance(results, MetricComparisonTestResult) and results.n_queries is None
        if curves is not None and not is_pair:
            raise ValueError(
                "curves are for the comparison of two rankings; omit them for queries and for "
                "several rankers."
            )
        if curves is not None and [len(curve) for curve in curves] != [2, 2]:
            raise ValueError(
                "curves must be two pairs (x, y) of arrays, one for each ranker; got "
                f"{len(curves)} entries of lengths {[len(curve) for curve in curves]}."
            )

    def plot(
        self,
        ax: Any = None,
        *,
        name: Sequence[str] | None = None,
        confidence_level: float = 0.95,
        margin: float | None = None,
        xscale: str = "linear",
        curve_kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        plot_chance_level: bool = False,
        chance_level_kw: Mapping[str, Any] | None = None,
        bar_kwargs: Mapping[str, Any] | None = None,
        interval_kwargs: Mapping[str, Any] | None = None,
        text_kwargs: Mapping[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the comparison.

        Parameters
        ----------
        ax : matplotlib axes or pair of matplotlib axes, optional
            Axes to draw on, a pair for curves or queries above and their difference below; by
            default new axes.
        name : sequence of str, optional
            Names of the rankers, instead of those of the display.
        confidence_level : float, default=0.95
            Nominal coverage of the interval of the difference of two rankers. The result of a
            comparison of several rankers already has a level.
        margin : float, optional
            Differences between minus and plus this margin are shaded.
        xscale : {"linear", "log"}, default="linear"
            Scale of the ranks if recall is drawn against rank.
        curve_kwargs : dict or pair of dict, optional
            Keywords of matplotlib's ``plot`` for both curves, or for each.
        plot_chance_level : bool, default=False
            Whether to draw the curve by chance.
        chance_level_kw : dict, optional
            Keywords of matplotlib's ``plot`` for the curve by chance.
        bar_kwargs : dict, optional
            Keywords of matplotlib's ``bar`` for the queries.
        interval_kwargs : dict, optional
            Keywords of matplotlib's ``hlines`` for the intervals of differences.
        text_kwargs : dict, optional
            Keywords of matplotlib's ``text`` for the p-values of several rankers.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        display : ComparisonDisplay
            The display, with its artists as attributes.
        """
        xscale = check_option(xscale, "xscale", _SCALES)
        confidence_level = check_confidence_level(confidence_level)
        names = self._read(name)
        for artist in ComparisonDisplay.__annotations__:
            setattr(self, artist, None)
        if margin is not None:
            margin = check_positive(margin, "margin")
        if isinstance(self.results, MetricMultipleComparisonTestResult):
            self._plot_rows(ax, names, margin, interval_kwargs, text_kwargs)
        else:
            if self.curves is None and self.results.query_differences is None:
                lower = self._start(ax, (6.4, 1.8))
            else:
                upper, lower = self._start_two(ax, (6.4, 6.0), height_ratios=(5, 1))
                self.ax_ = upper, lower
            if self.results.query_differences is not None:
                self._plot_queries(upper, names, bar_kwargs)
            elif self.curves is not None:
                kwargs = chance_level_kw if plot_chance_level else False
                self._plot_curves(upper, names, xscale, curve_kwargs, kwargs)
            self._plot_difference(lower, names, confidence_level, margin, interval_kwargs)
        if despine:
            for each in self.ax_ if isinstance(self.ax_, tuple) else (self.ax_,):
                hide_spines(each)
        return self

    @classmethod
    def _of_scores(cls, y_true: Any, y_score: Any, options: Any, name: Any, ax: Any) -> Self:
        sample = Sample.read(y_true, y_score, pos_label=options["pos_label"], columns="rankers")
        rankers = dict(zip(sample.names, sample.scores, strict=True))
        options["pos_label"] = True
        if len(rankers) != 2:
            own, drawn = cls._divided(metric_multiple_comparison_test, options)
            many = metric_multiple_comparison_test(sample.positive, rankers, **own)
            return cls(many, name=name).plot(ax, **drawn)
        own, drawn = cls._divided(metric_comparison_test, options)
        pair = metric_comparison_test(sample.positive, rankers, **own)
        curves = None
        # Curves of the sample would contradict values at another prevalence.
        has_curves = pair.n_queries is None and pair.prevalence is None
        if has_curves and 0 < sample.n_positives < sample.n_items:
            curves = [_corners(_curve_kind(pair.metric), one) for one in sample.rankings]
        return cls(pair, curves=curves, name=name).plot(ax, **drawn)

    def _is_result(self, result: Any) -> bool:
        return isinstance(result, MetricComparisonTestResult | MetricMultipleComparisonTestResult)

    # Two rankers.

    def _plot_curves(
        self, ax: Any, names: list[str], xscale: str, kwargs: Any, chance_level_kw: Any
    ) -> None:
        """Draw both curves, and the curve by chance unless its keywords are False."""
        result, kind = self.results, _curve_kind(self.results.metric)
        assert self.curves is not None
        is_log = kind.counts_samples and xscale == "log"
        given = kwargs if isinstance(kwargs, Sequence) else (kwargs, kwargs)
        values = result.statistic_a, result.statistic_b
        self.line_ = []
        for number, (curve, own) in enumerate(zip(self.curves, given, strict=True)):
            symbol = result.metric.symbol.replace("@", " at ")
            label = f"{short(names[number])}: {symbol} = {values[number]:.3g}"
            style = {**ranker_style(number), "label": label}
            if kind.name == "precision_recall":
                style["drawstyle"] = "steps-post"
            self.line_ += ax.plot(*_on_scale(curve, is_log), **merged_style(style, own))
        if result.metric.counts_hits:
            cut_off = reference_style(linestyle=":", label=f"k = {result.metric.k}")
            self.k_line_ = ax.axvline(result.metric.k, **cut_off)
        if chance_level_kw is not False:
            style = merged_style(reference_style(label="chance level"), chance_level_kw)
            points = _on_scale(kind.chance(result), is_log)
            (self.chance_level_,) = ax.plot(*points, **style)
        if kind.counts_samples:
            ax.set_xscale(xscale)
            ax.set_xlim(1 if is_log else 0, result.n_samples)
        else:
            ax.set_xlim(-0.01, 1.01)
        ax.set_ylim(-0.01, 1.03)
        ax.set_xlabel(kind.x_title)
        ax.set_ylabel(kind.y_title)
        write_legend(ax, *ax.get_legend_handles_labels())

    def _plot_queries(self, ax: Any, names: list[str], kwargs: Keywords) -> None:
        differences = self.results.query_differences
        order = np.argsort(-differences, kind="stable")
        heights, places = differences[order], np.arange(order.size)
        is_first = heights >= 0.0
        counts = int(np.sum(heights > 0.0)), int(np.sum(heights < 0.0))
        self.bars_ = []
        for number, chosen in enumerate((is_first, ~is_first)):
            label = f"{short(names[number])} better: {counts[number]} of {order.size} queries"
            # With many thin bars, gaps of varying width would be an artefact of rounding.
            width = 0.85 if order.size <= _MAX_QUERIES else 1.0
            style = {"color": ranker_style(number)["color"], "width": width, "label": label}
            bars = ax.bar(places[chosen], heights[chosen], **merged_style(style, kwargs))
            self.bars_.append(bars)
        ax.axhline(0.0, **reference_style(linestyle="-", linewidth=0.8))
        ax.set_xlim(-0.7, order.size - 0.3)
        ax.set_xlabel("Queries")
        if order.size <= _MAX_QUERIES:
            labels = [shortened(self.results.queries[i], _MAX_QUERY_LENGTH) for i in order]
            angle = 90 if sum(map(len, labels)) > _MAX_LETTERS else 0
            ax.set_xticks(places, labels, rotation=angle, fontsize="x-small")
        ax.set_ylabel(f"Difference in {self.results.metric.title_in_text}")
        write_legend(ax, self.bars_, [bars.get_label() for bars in self.bars_])

    def _plot_difference(
        self,
        ax: Any,
        names: list[str],
        confidence_level: float,
        margin: float | None,
        interval_kwargs: Keywords,
    ) -> None:
        result = self.results
        low, high = result.confidence_interval(confidence_level)
        self._start_differences(ax, [result.difference, low, high], margin)
        style = {"color": foreground(), "linewidth": 1.8}
        self.interval_ = ax.hlines([0.0], [low], [high], **merged_style(style, interval_kwargs))
        (self.point_,) = ax.plot([result.difference], [0.0], color=foreground(), marker="o")
        ax.set_ylim(-1.0, 1.0)
        ax.set_yticks([])
        tested = "two-sided" if result.alternative == "two-sided" else "one-sided"
        pvalue = state_pvalue(result.log10_pvalue, result.pvalue_is_bound)
        method = result.method.replace("_", " ")
        ax.set_title(f"{tested} {pvalue} ({method})", fontsize="medium")
        level = "" if math.isnan(low) else f", {100.0 * confidence_level:g} % interval"
        pair = " \N{MINUS SIGN} ".join(map(short, names))
        ax.set_xlabel(f"Difference in {quantity(result)}{level}\n{pair}")

    def _start_differences(self, ax: Any, values: Sequence[float], margin: float | None) -> None:
        """Set the limits of the axis of differences, and draw the line at 0 and the margin."""
        marks = [0.0, *values, *([] if margin is None else [-margin, margin])]
        left, right = np.nanmin(marks), np.nanmax(marks)
        # If both rankings are identical, any width of the axis is suitable.
        pad = 0.06 * (right - left) if right > left else 0.01
        ax.set_xlim(left - pad, right + pad)
        if margin is not None:
            color = ranker_style(2)["color"]
            self.margin_ = ax.axvspan(-margin, margin, color=color, alpha=0.2, linewidth=0.0)
        self.zero_line_ = ax.axvline(0.0, **reference_style())

    # Several rankers.

    def _plot_rows(
        self,
        ax: Any,
        names: list[str],
        margin: float | None,
        interval_kwargs: Keywords,
        text_kwargs: Keywords,
    ) -> None:
        result = self.results
        names = [short(name) for name in names]
        rows = [f"{names[i]} \N{MINUS SIGN} {names[j]}" for i, j in result.pairs.tolist()]
        with np.errstate(divide="ignore"):
            texts = [state_pvalue(value) for value in np.log10(result.pvalue).tolist()]
        ax = self._start(ax, rows_size(rows, texts))
        self._start_differences(ax, [*result.low, *result.difference, *result.high], margin)
        values, style = (result.difference, result.low, result.high), (interval_kwargs, None)
        drawn = draw_rows(ax, rows, *values, texts, *style, text_kwargs)
        self.interval_, self.point_, self.texts_ = drawn
        ax.set_xlabel(f"Difference in {quantity(result)}\n{_key(result)}")


def _key(result: MetricMultipleComparisonTestResult) -> str:
    """What the intervals and p-values of several rankers are."""
    level = f"{100.0 * result.confidence_level:g} % intervals"
    if result.correction == "none":
        return f"{level} of each difference by itself, unadjusted p"
    adjusted = "maxT" if result.correction == "maxt" else "Holm's method"
    return f"{level} of all differences together, p by {adjusted}"


def _curve_kind(metric: Metric) -> CurveKind:
    """Return the curve that belongs to a metric; by default recall against rank."""
    names = {"average_precision": "precision_recall", "roc_auc": "roc"}
    return CURVES[names.get(metric.family, "recall")]


def _corners(kind: CurveKind, ranking: Ranking) -> Curve:
    """Corners of a curve, in the order of scikit-learn."""
    x, y = thinned(*kind.corners(ranking), log_scale=False)
    return (x[::-1], y[::-1]) if kind.name == "precision_recall" else (x, y)


def _on_scale(curve: Curve, is_log: bool) -> Curve:
    """Add ranks to a curve, so that its straight parts are drawn curved on a logarithmic scale."""
    if not is_log:
        return curve
    x = curve[0]
    ranks = np.union1d(x, np.geomspace(1.0, max(float(np.max(x)), 1.0), _N_RANKS))
    ranks = ranks[ranks >= 1.0]
    return ranks, np.interp(ranks, *curve)
