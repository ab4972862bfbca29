"""Display of precision-recall, ROC, recall and gain curves with their limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from sklearn_rankinf._estimation import MetricCurve, MetricCurveDifference, metric_curve
from sklearn_rankinf._plot.base import (
    MANY_SAMPLES,
    Keywords,
    RankersDisplay,
    check_shared,
    foreground,
    hide_spines,
    merged_style,
    ranker_style,
    reference_style,
    short,
    thinned,
    write_legend,
)
from sklearn_rankinf._ranking import check_option

_LIMITS = {"simultaneous": ("_simultaneous",), "pointwise": ("",), "none": ()}
_LIMITS["both"] = (*_LIMITS["simultaneous"], *_LIMITS["pointwise"])
# Opacity of the bands.
_OPACITY = {"_simultaneous": 0.16, "": 0.25}
# Heights of the axes of curves and of their difference.
_HEIGHTS = (2.6, 1.0)


class CurveDisplay(RankersDisplay):
    """Precision-recall, ROC, recall or gain curves with their limits.

    Use :meth:`from_estimator`, :meth:`from_predictions` or :meth:`from_cv_results` with the options
    of :func:`metric_curve`, or pass its results. Columns of scores are rankers. With
    ``difference=True`` the difference of two rankers is drawn below their curves.

    Parameters
    ----------
    results : MetricCurve, or sequence or dict of them
        The curve of one ranker, or the curves of several.
    difference : MetricCurveDifference, optional
        The difference of two curves.
    name : str or sequence of str, optional
        Names of the rankers in the legend. By default the keys of a dict, or the numbers of several
        results.

    Attributes
    ----------
    line_ : list of matplotlib artists
        The curve of each ranker.
    bands_ : list of matplotlib artists
        The limits of each ranker, as areas.
    chance_level_ : matplotlib artist or None
        The curve by chance.
    difference_line_ : matplotlib artist or None
        The difference of two rankers.
    difference_bands_ : list of matplotlib artists
        Its limits, as areas.
    ax_ : matplotlib axes
        The axes of the curves.
    difference_ax_ : matplotlib axes or None
        The axes of the difference.
    figure_ : matplotlib figure
        The figure that contains the axes.

    Raises
    ------
    TypeError
        If a result is not a curve.
    ValueError
        If there is no result or not one name for each, or if the results are different curves or
        have different confidence levels.

    See Also
    --------
    metric_curve : Curves with pointwise and simultaneous limits.
    TopKSignificanceDisplay : Hits at every k compared with chance.
    sklearn.metrics.PrecisionRecallDisplay : The curve without limits.

    Notes
    -----
    By default the band contains the whole true curve with the stated confidence. Pointwise limits
    are narrower and hold for one point that was chosen before the data were seen. Limits are drawn
    where their coverage is known. Bands of two rankers of the same items may overlap although the
    rankers differ: draw their difference.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import CurveDisplay, metric_curve
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(500) < 50
    >>> result = metric_curve(y_true, rng.normal(size=500) + y_true, curve="roc")
    >>> display = CurveDisplay(result, name="my ranker")
    >>> display.plot(limits="both")  # doctest: +SKIP
    <...>
    """

    _compute = staticmethod(metric_curve)
    _kind = "results of metric_curve"
    _has_columns = True

    line_: list[Any]
    bands_: list[Any]
    chance_level_: Any
    difference_line_: Any
    difference_bands_: list[Any]
    difference_ax_: Any

    def __init__(
        self,
        results: Any,
        *,
        difference: MetricCurveDifference | None = None,
        name: str | Sequence[str] | None = None,
    ) -> None:
        if difference is not None and not isinstance(difference, MetricCurveDifference):
            raise TypeError(
                "difference must be a result of metric_curve(..., difference=True); got "
                f"{type(difference).__name__}."
            )
        self.difference = difference
        super().__init__(results, name=name)

    @classmethod
    def _of_scores(cls, y_true: Any, y_score: Any, options: Any, name: Any, ax: Any) -> Self:
        own, drawn = cls._divided(metric_curve, options)
        has_difference = own.pop("difference", False)
        between = metric_curve(y_true, y_score, difference=True, **own) if has_difference else None
        results = metric_curve(y_true, y_score, **own)
        return cls(results, difference=between, name=name).plot(ax, **drawn)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | Sequence[str] | None = None,
        limits: str = "simultaneous",
        log_scale: bool | None = None,
        curve_kwargs: Mapping[str, Any] | None = None,
        band_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = True,
        chance_level_kw: Mapping[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the curves and their limits.

        Parameters
        ----------
        ax : matplotlib axes or sequence of two, optional
            Axes to draw on, two if there is a difference; by default new axes.
        name : str or sequence of str, optional
            Names of the rankers, instead of those of the display.
        limits : {"simultaneous", "pointwise", "both", "none"}, default="simultaneous"
            The limits that are drawn.
        log_scale : bool, optional
            Whether the axis of items is logarithmic; by default it is for more than 2000 items,
            and never for rates and recall.
        curve_kwargs, band_kwargs : dict, optional
            Keywords of matplotlib's ``plot`` for the curves and ``fill_between`` for the limits.
        plot_chance_level : bool, default=True
            Whether to draw the curve by chance.
        chance_level_kw : dict, optional
            Keywords of matplotlib's ``plot`` for the curve by chance.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        display : CurveDisplay
            The display, with its artists as attributes.
        """
        parts = _LIMITS[check_option(limits, "limits", _LIMITS)]
        curves = self._read(name)
        first = next(iter(curves.values()))
        kind = first._kind
        self.difference_ax_ = None
        if self.difference is None:
            ax = self._start(ax)
        else:
            heights = {"sharex": True, "height_ratios": _HEIGHTS}
            ax, self.difference_ax_ = self._start_two(ax, (6.4, 6.4), **heights)
        self.line_, self.bands_, self.difference_bands_ = [], [], []
        self.chance_level_ = self.difference_line_ = None
        for number, (label, curve) in enumerate(curves.items()):
            self._plot_curve(number, label, curve, parts, curve_kwargs, band_kwargs)
        if plot_chance_level:
            style = reference_style(linestyle=":", label="chance")
            style = merged_style(style, chance_level_kw)
            (self.chance_level_,) = ax.plot(*first._chance, **style)
        ax.set_ylabel(kind.y_title)
        ax.set_ylim(-0.01, 1.01)
        lowest = self.ax_ if self.difference_ax_ is None else self.difference_ax_
        lowest.set_xlabel(kind.x_title)
        if self.difference_ax_ is not None:
            self._plot_difference(parts, curve_kwargs, band_kwargs)
        if log_scale is None:
            log_scale = kind.counts_samples and first.n_samples > MANY_SAMPLES
        if log_scale:
            ax.set_xscale("log")
        last = first.n_samples if kind.x_name == "k" else 1.0
        ax.set_xlim(float(first.x[0]) if log_scale else -0.01 * last, 1.01 * last)
        self._write_legend(first, parts)
        for each in (self.ax_, self.difference_ax_):
            if despine and each is not None:
                hide_spines(each)
        return self

    def _plot_curve(
        self,
        number: int,
        name: str,
        curve: MetricCurve,
        parts: Sequence[str],
        curve_kwargs: Keywords,
        band_kwargs: Keywords,
    ) -> None:
        x, y = thinned(*curve._corners, log_scale=False)
        style = {**ranker_style(number), "linewidth": 1.6}
        style["label"] = short(name) if name else "observed"
        if curve.curve == "precision_recall":
            # From one recall to the next the precision is that of the next, as in scikit-learn.
            style["drawstyle"] = "steps-pre"
        self.line_ += self.ax_.plot(x, y, **merged_style(style, curve_kwargs))
        drawn = self.line_[-1].get_color()
        self.bands_ += _bands(self.ax_, curve, parts, drawn, band_kwargs)

    def _plot_difference(
        self, parts: Sequence[str], curve_kwargs: Keywords, band_kwargs: Keywords
    ) -> None:
        between, ax = self.difference, self.difference_ax_
        assert between is not None
        color = foreground()
        style = merged_style({"color": color, "linewidth": 1.4}, curve_kwargs)
        (self.difference_line_,) = ax.plot(between.x, between.value, **style)
        self.difference_bands_ = _bands(ax, between, parts, color, band_kwargs)
        ax.axhline(0.0, **reference_style(linestyle=":"))
        a, b = (short(name) for name in between.names)
        ax.set_ylabel(f"{a} \N{MINUS SIGN} {b}")

    def _write_legend(self, first: MetricCurve, parts: Sequence[str]) -> None:
        level = f"{100 * first.confidence_level:g} %"
        words = {"_simultaneous": f"{level} band of the curve", "": f"{level} limits at one point"}
        chance = [] if self.chance_level_ is None else [self.chance_level_]
        labels = [line.get_label() for line in self.line_] + [words[part] for part in parts]
        labels += [line.get_label() for line in chance]
        write_legend(self.ax_, [*self.line_, *self.bands_[: len(parts)], *chance], labels)

    def _is_result(self, result: Any) -> bool:
        return isinstance(result, MetricCurve)

    def _read(self, name: Any) -> dict[str, MetricCurve]:
        curves: dict[str, MetricCurve] = super()._read(name)
        between = [] if self.difference is None else [self.difference]
        for field in ("curve", "confidence_level", "prevalence"):
            check_shared(field, [getattr(each, field) for each in (*curves.values(), *between)])
        return curves


def _bands(ax: Any, curve: Any, parts: Sequence[str], color: Any, kwargs: Keywords) -> list[Any]:
    """Draw the limits as areas, the widest first."""
    found = []
    for part in parts:
        low, high = getattr(curve, f"low{part}"), getattr(curve, f"high{part}")
        style = {"facecolor": color, "alpha": _OPACITY[part], "linewidth": 0.0}
        found.append(ax.fill_between(curve.x, low, high, **{**style, **(kwargs or {})}))
    return found
