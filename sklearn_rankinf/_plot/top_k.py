"""Display of the hits at every k, with the bounds by chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sklearn_rankinf._plot.base import (
    N_COLUMNS,
    Keywords,
    RankersDisplay,
    blended,
    check_shared,
    foreground,
    hide_spines,
    merged_style,
    ranker_marker,
    ranker_style,
    reference_style,
    short,
    thinned,
    write_legend,
)
from sklearn_rankinf._ranking import check_levels, check_option
from sklearn_rankinf._significance import TopKSignificanceCurve, top_k_significance_curve
from sklearn_rankinf._statistics import Floats

# The level that is drawn by default.
_USUAL_ALPHA = 0.05
# Height of a ranker's row of runs, as a fraction of the axes.
_ROW = 0.025
# Colour intensity for the largest alpha and for the smallest alpha.
_LIGHTEST, _DARKEST = 0.6, 1.0
# Up to this number of blocks the ends of blocks of equal scores are marked.
_FEW_BLOCKS = 40
# Bounds of the first few items, which are high, may be cut off at this multiple of the largest
# observed value.
_MOST_ABOVE = 1.3


@dataclass(frozen=True)
class _View:
    """Quantities on both axes: percentages of the list or numbers of items, and hits or rates."""

    ylabel: str
    in_percent: bool = False
    per_sample: bool = False


_VIEWS: Mapping[str, _View] = {
    "hits": _View("Hits at k"),
    "recall": _View("Recall at k"),
    "precision": _View("Precision at k", per_sample=True),
    "enrichment": _View("Enrichment at k", per_sample=True),
    "lift": _View("Lift", in_percent=True, per_sample=True),
    "gain": _View("Positives found (% of all)", in_percent=True),
}


class TopKSignificanceDisplay(RankersDisplay):
    """Positives found at every k, with the mean and the bounds by chance.

    Use :meth:`from_estimator`, :meth:`from_predictions` or :meth:`from_cv_results` with the options
    of :func:`top_k_significance_curve`, or pass its results. Columns of scores are rankers. The
    same curve is drawn as hits, recall, precision or enrichment against k, or against the fraction
    of the list: the cumulative gain chart and the lift chart.

    Parameters
    ----------
    results : TopKSignificanceCurve, or sequence or dict of them
        The curve of one ranker, or the curves of several.
    name : str or sequence of str, optional
        Names of the rankers in the legend. By default the keys of a dict, or the numbers of several
        results.

    Attributes
    ----------
    line_ : list of matplotlib artists
        The curve of each ranker.
    chance_level_ : matplotlib artist or None
        The mean number of positives found by chance.
    pointwise_ : list of matplotlib artists
        The pointwise bounds, one for each level that is drawn, from the largest to the smallest;
        empty if they are not drawn.
    simultaneous_ : list of matplotlib artists
        The simultaneous bounds, one for each level that is drawn, from the largest to the smallest;
        if the bounds of the rankers differ, one for each ranker.
    runs_ : list of matplotlib artists
        For each ranker and each alpha the k at which the ranker is above the simultaneous bound, as
        bars at the bottom of the axes.
    ax_, figure_ : matplotlib axes, matplotlib figure
        The axes of the plot, and the figure that contains them.

    Raises
    ------
    TypeError
        If a result is not a curve.
    ValueError
        If there is no result or not one name for each, or if the levels alpha of the results
        differ.

    See Also
    --------
    top_k_significance_curve : Hits at every k compared with chance.
    minimum_hypergeometric_test : One p-value over all k.
    sklearn.metrics.PrecisionRecallDisplay : Precision against recall instead of k.

    Notes
    -----
    A ranker is significant at one k that was chosen before the data were seen if it is above the
    *pointwise* bound (dotted) at this k. A ranker that is above the *simultaneous* bound (solid) at
    any k is significant, and may be cut at any such k, even if k is chosen after looking at the
    data; bars at the bottom of the axes mark these k. Darker lines and bars have a smaller alpha.
    The bounds are valid for one ranker: the probability that any of several rankers is above them
    by chance is larger than alpha.

    Hits and bounds are steps: they are constant from one k to the next, so that precision and
    enrichment fall between two hits. Across a block of equal scores lines are straight in hits,
    which for a ranker is the mean over the orders of the items in the block. Only the ends of
    blocks are compared with the bounds. A bound has gaps where no number of hits is enough.

    Pointwise bounds are the same for all rankers with the same number of items and positives;
    simultaneous bounds are the same if the rankers also have ties of the same sizes. Bounds that
    are the same are drawn once, in the colour of the axes. If simultaneous bounds differ, they are
    drawn for each ranker in its colour and line style, for one alpha. If numbers of items or
    positives differ, as between folds, pointwise bounds are not drawn.

    Lines with many points are drawn through the first, the last, the smallest and the largest value
    in each of 1500 columns of the plot.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import TopKSignificanceDisplay, top_k_significance_curve
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(500) < 25
    >>> curve = top_k_significance_curve(y_true, rng.normal(size=500) + y_true, alpha=[0.05, 0.01])
    >>> display = TopKSignificanceDisplay(curve, name="my ranker")
    >>> display.plot(y_axis="gain")  # doctest: +SKIP
    <...>
    """

    _compute = staticmethod(top_k_significance_curve)
    _kind = "results of top_k_significance_curve"
    _has_columns = True

    line_: list[Any]
    chance_level_: Any
    pointwise_: list[Any]
    simultaneous_: list[Any]
    runs_: list[Any]

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | Sequence[str] | None = None,
        y_axis: str | None = None,
        log_scale: bool | None = None,
        alpha: float | Sequence[float] | None = None,
        curve_kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        plot_chance_level: bool = True,
        chance_level_kw: Mapping[str, Any] | None = None,
        plot_pointwise: bool = False,
        pointwise_kwargs: Mapping[str, Any] | None = None,
        plot_simultaneous: bool = True,
        simultaneous_kwargs: Mapping[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the curves and the bounds.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; by default new axes. The legend is above them if there is room.
        name : str or sequence of str, optional
            Names of the rankers, instead of that of the display.
        y_axis : {"hits", "recall", "precision", "enrichment", "lift", "gain"}, optional
            Hits; or hits relative to all positives, to k, or to the mean by chance;
            against k. ``"lift"`` is enrichment and ``"gain"`` is recall in percent, against the
            fraction of the list. By default hits, or ``"gain"`` if rankers differ in their numbers
            of items or positives, as folds do.
        log_scale : bool, optional
            Whether the axis of k is logarithmic; by default it is, except for ``"gain"``.
        alpha : float or sequence of float, optional
            Levels whose bounds are drawn, among those of the results; a single level if the bounds
            of the rankers differ. By default the level closest to 0.05.
        curve_kwargs : dict or sequence of dict, optional
            Keywords of matplotlib's ``plot`` for all rankers, or for each.
        plot_chance_level : bool, default=True
            Whether to draw the mean by chance.
        chance_level_kw : dict, optional
            Keywords of matplotlib's ``plot`` for the mean by chance.
        plot_pointwise : bool, default=False
            Whether to draw the pointwise bounds, if they are the same for all rankers.
        pointwise_kwargs : dict, optional
            Keywords of matplotlib's ``plot`` for the pointwise bounds.
        plot_simultaneous : bool, default=True
            Whether to draw the simultaneous bounds, and the bars at the bottom of the axes.
        simultaneous_kwargs : dict, optional
            Keywords of matplotlib's ``plot`` for the simultaneous bounds.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        display : TopKSignificanceDisplay
            The display, with its artists as attributes.
        """
        if y_axis is not None:
            y_axis = check_option(y_axis, "y_axis", _VIEWS)
        curves = self._read(name)
        picture = _Picture.of(list(curves.values()), y_axis, log_scale, alpha)
        styles = _each(curve_kwargs, len(curves))
        ax = self._start(ax)
        self.line_, self.pointwise_, self.simultaneous_, self.runs_ = [], [], [], []
        self.chance_level_ = None
        self._plot_curves(picture, list(curves), styles)
        if plot_chance_level:
            self._plot_chance_level(picture, chance_level_kw)
        if plot_pointwise and picture.same_sizes:
            k, needed = _merged(picture.curves, "hits_needed")
            style = merged_style({"linestyle": ":", "linewidth": 1.2}, pointwise_kwargs)
            self.pointwise_ = self._plot_bounds(picture, k, needed, style)
        if plot_simultaneous:
            self._plot_simultaneous(picture, simultaneous_kwargs)
        self._finish(picture, plot_simultaneous)
        if plot_simultaneous:
            self._plot_runs(picture)
        runs = [bars for bars in self.runs_ if bars.get_paths()][: len(picture.levels)]
        lines = [*self.line_, *([self.chance_level_] if plot_chance_level else [])]
        entries = [(line, line.get_label()) for line in lines]
        entries.append((tuple(self.pointwise_), f"pointwise bound, {picture.listed_levels}"))
        entries.append((tuple(self.simultaneous_), f"simultaneous bound, {picture.listed_levels}"))
        entries.append((tuple(runs), "above the simultaneous bound"))
        drawn = [entry for entry in entries if entry[0]]
        write_legend(ax, [artist for artist, _ in drawn], [label for _, label in drawn])
        if despine:
            hide_spines(ax)
        return self

    def _is_result(self, result: Any) -> bool:
        return isinstance(result, TopKSignificanceCurve)

    def _read(self, name: Any) -> dict[str, TopKSignificanceCurve]:
        curves: dict[str, TopKSignificanceCurve] = super()._read(name)
        check_shared("alpha", [curve.alpha.tolist() for curve in curves.values()])
        return curves

    # Parts of the plot.

    def _plot_curves(self, picture: _Picture, names: list[str], styles: Sequence[Keywords]) -> None:
        named = zip(picture.curves, names, styles, strict=True)
        for number, (curve, name, own) in enumerate(named):
            label = short(name) if name else "observed"
            style = {**ranker_style(number), "linewidth": 1.8, "zorder": 3, "label": label}
            x, y = picture.drawn(curve, np.r_[0.0, curve.k], np.r_[0.0, curve.hits])
            if curve.k.size < min(curve.k[-1], _FEW_BLOCKS):
                style |= {"marker": ranker_marker(number), "markersize": 4.0}
                # The last points at the ends of blocks.
                places = picture.places(curve, curve.k)
                at = np.searchsorted(x, places, side="right") - 1
                style["markevery"] = at[x[at] == places].tolist()
            self.line_ += self.ax_.plot(x, y, **merged_style(style, own))

    def _plot_chance_level(self, picture: _Picture, kwargs: Keywords) -> None:
        longest = max(picture.curves, key=lambda curve: curve.k[-1] / curve.n_samples)
        k = np.array([0.0, longest.k[-1]])
        mean = k * (longest.n_positives / longest.n_samples)
        points = picture.drawn(longest, k, mean, has_steps=False)
        style = reference_style(label="chance")
        (self.chance_level_,) = self.ax_.plot(*points, **merged_style(style, kwargs))

    def _plot_simultaneous(self, picture: _Picture, kwargs: Keywords) -> None:
        if picture.same_bounds:
            k, needed = _merged(picture.curves, "hits_needed_simultaneous")
            style = merged_style({"linestyle": "-", "linewidth": 1.0}, kwargs)
            self.simultaneous_ = self._plot_bounds(picture, k, needed, style)
        else:
            (row,) = picture.levels
            for curve, line in zip(picture.curves, self.line_, strict=True):
                style = {"color": line.get_color(), "linewidth": 0.8}
                style["linestyle"] = line.get_linestyle()
                needed = curve.hits_needed_simultaneous[row]
                points = picture.drawn(curve, curve.k.astype(float), needed)
                self.simultaneous_ += self.ax_.plot(*points, **merged_style(style, kwargs))

    def _plot_bounds(
        self, picture: _Picture, k: Floats, needed: Floats, style: Mapping[str, Any]
    ) -> list[Any]:
        """Draw one line for each level, in shades of grey."""
        drawn = []
        for row, share in zip(picture.levels, picture.shares, strict=True):
            points = picture.drawn(picture.curves[0], k, needed[row])
            color = blended(style.get("color", foreground()), share)
            drawn += self.ax_.plot(*points, **{**style, "color": color})
        return drawn

    def _plot_runs(self, picture: _Picture) -> None:
        """Draw bars at the bottom of the axes, one row per ranker, darker for smaller alpha."""
        at_foot = self.ax_.get_xaxis_transform()
        for number, (curve, line) in enumerate(zip(picture.curves, self.line_, strict=True)):
            place = (len(picture.curves) - number - 0.8) * _ROW
            for row, share in zip(picture.levels, picture.shares, strict=True):
                runs = np.array(curve.crossovers_simultaneous[row], dtype=float).reshape(-1, 2)
                runs = picture.places(curve, runs)
                color = blended(line.get_color(), share)
                # The edges of the bars make a run of a single k visible.
                bars = self.ax_.broken_barh(
                    np.c_[runs[:, 0], runs[:, 1] - runs[:, 0]].tolist(),
                    (place, 0.7 * _ROW),
                    transform=at_foot,
                    facecolor=color,
                    edgecolor=color,
                    linewidth=0.8,
                )
                self.runs_.append(bars)

    def _finish(self, picture: _Picture, with_runs: bool) -> None:
        ax, view = self.ax_, picture.view
        last = max(float(picture.places(curve, curve.k[-1])) for curve in picture.curves)
        if picture.log_scale:
            ax.set_xscale("log")
        lines = [*self.line_, *self.pointwise_, *self.simultaneous_]
        starts = [float(line.get_xdata()[0]) for line in self.line_ if len(line.get_xdata())]
        first = min(starts, default=0.0)
        ax.set_xlim(first if picture.log_scale else 0.0, last)
        top = _highest(lines)
        if view.per_sample and _highest(self.line_) > 0.0:
            top = min(top, _MOST_ABOVE * _highest(self.line_))
        top = 1.04 * top or 1.0
        foot = _ROW * (len(picture.curves) + 0.3) if with_runs else 0.0
        ax.set_ylim(-top * foot / (1.0 - foot), top)
        ax.set_xlabel(f"Items from the top ({'% of all' if view.in_percent else 'k'})")
        ax.set_ylabel(view.ylabel)


@dataclass(frozen=True, eq=False)
class _Picture:
    """Curves and options of a plot, and what the curves have in common.

    `levels` are the indices of the levels alpha that are drawn, from the largest to the smallest.
    """

    curves: list[TopKSignificanceCurve]
    y_axis: str
    log_scale: bool
    levels: list[int]
    same_sizes: bool
    same_bounds: bool

    @classmethod
    def of(
        cls,
        curves: list[TopKSignificanceCurve],
        y_axis: str | None,
        log_scale: bool | None,
        alpha: Any,
    ) -> _Picture:
        """Determine what the curves have in common."""
        first = curves[0]
        sizes = [(curve.n_samples, curve.n_positives) for curve in curves]
        other = next((size for size in sizes if size != sizes[0]), None)
        y_axis = y_axis or ("hits" if other is None else "gain")
        if other is not None and not _VIEWS[y_axis].in_percent:
            raise ValueError(
                f"y_axis={y_axis!r} is drawn against numbers of items, but the results are of "
                f"{sizes[0][1]} positives among {sizes[0][0]} items and of {other[1]} among "
                f"{other[0]}; use y_axis='gain' or 'lift', which are relative to both."
            )
        same_bounds = other is None and all(
            np.array_equal(curve.pointwise_level, first.pointwise_level) for curve in curves
        )
        levels = _levels_drawn(first.alpha, alpha, same_bounds)
        if log_scale is None:
            log_scale = y_axis != "gain"
        return cls(curves, y_axis, log_scale, levels, other is None, same_bounds)

    @property
    def view(self) -> _View:
        return _VIEWS[self.y_axis]

    @property
    def shares(self) -> list[float]:
        """Colour intensity for each level."""
        shares: list[float] = np.linspace(_DARKEST, _LIGHTEST, len(self.levels))[::-1].tolist()
        return shares

    @property
    def listed_levels(self) -> str:
        alpha = self.curves[0].alpha[self.levels]
        return ", ".join(f"{100.0 * level:g}" for level in alpha.tolist()) + " %"

    def drawn(
        self, curve: TopKSignificanceCurve, k: Floats, hits: Floats, *, has_steps: bool = True
    ) -> tuple[Floats, Floats]:
        """Points of a line through numbers of hits, with a missing point in each gap of nan."""
        edges = np.flatnonzero(np.diff(np.isfinite(hits), prepend=False, append=False))
        x: list[Floats] = []
        y: list[Floats] = []
        for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            part = k[start:stop], hits[start:stop]
            part = self._drawn_part(curve, *(_vertices(*part) if has_steps else part))
            if x:
                part = np.r_[part[0][:1], part[0]], np.r_[np.nan, part[1]]
            x.append(part[0])
            y.append(part[1])
        return (np.concatenate(x), np.concatenate(y)) if x else (np.zeros(0), np.zeros(0))

    def _drawn_part(
        self, curve: TopKSignificanceCurve, k: Floats, hits: Floats
    ) -> tuple[Floats, Floats]:
        """Points of a line without gaps, thinned to what is visible in a plot."""
        if self.log_scale or self.view.per_sample:
            k, hits = _bent(k, hits, self.log_scale)
        if self.view.per_sample and k.size > 1 and k[0] == k[1] and hits[0] == 0.0:
            # There is no k before the first.
            k, hits = k[1:], hits[1:]
        y = hits * self._unit(curve)
        if self.view.per_sample:
            y /= k
        return thinned(self.places(curve, k), y, self.log_scale)

    def places(self, curve: TopKSignificanceCurve, k: Any) -> Any:
        return k * (100.0 / curve.n_samples) if self.view.in_percent else k

    def _unit(self, curve: TopKSignificanceCurve) -> float:
        """Contribution of one hit to y, at k = 1 if hits are relative to k."""
        n, m = curve.n_samples, curve.n_positives
        if self.y_axis in ("hits", "precision"):
            return 1.0
        if self.view.per_sample:
            return n / m if m else np.nan
        return (100.0 if self.view.in_percent else 1.0) / max(m, 1)


def _highest(lines: list[Any]) -> float:
    """The largest value of all lines; 0 without lines."""
    return max((float(np.nanmax(line.get_ydata(), initial=0.0)) for line in lines), default=0.0)


def _levels_drawn(levels: Floats, alpha: Any, several: bool) -> list[int]:
    """Indices of the levels to draw, from the largest to the smallest alpha."""
    if alpha is None:
        return [int(np.argmin(np.abs(levels - _USUAL_ALPHA)))]
    chosen = np.atleast_1d(check_levels(alpha))
    unknown = [level for level in chosen.tolist() if level not in levels]
    if unknown or not chosen.size:
        raise ValueError(
            f"alpha must be among the levels of the results, {levels.tolist()}; got {alpha!r}."
        )
    if chosen.size > 1 and not several:
        raise ValueError(
            f"alpha must be a single level if the bounds of the rankers differ; got {alpha!r}."
        )
    rows = {int(np.flatnonzero(levels == level)[0]) for level in chosen.tolist()}
    return sorted(rows, key=lambda row: -levels[row])


def _each(kwargs: Any, n_curves: int) -> Sequence[Mapping[str, Any] | None]:
    """Keywords for each ranker."""
    if kwargs is None or isinstance(kwargs, Mapping):
        return [kwargs] * n_curves
    if len(kwargs) != n_curves:
        raise ValueError(
            f"curve_kwargs must be a dict or contain one dict for each of the {n_curves} rankers; "
            f"got {len(kwargs)}."
        )
    return list(kwargs)


def _merged(curves: list[TopKSignificanceCurve], bound: str) -> tuple[Floats, Floats]:
    """Bounds that are the same for all curves, at all k of any curve."""
    if len(curves) == 1:
        return curves[0].k.astype(float), getattr(curves[0], bound)
    k, at = np.unique(np.concatenate([curve.k for curve in curves]), return_index=True)
    needed = np.concatenate([getattr(curve, bound) for curve in curves], axis=1)
    return k.astype(float), needed[:, at]


def _vertices(k: Floats, hits: Floats) -> tuple[Floats, Floats]:
    """Corners of a line that steps up to the hits at each k, and is straight across ties."""
    sizes = np.diff(k, prepend=k[0])
    tied, steps = sizes > 1, np.diff(hits, prepend=hits[0]) != 0
    keep = steps | tied | np.r_[tied[1:], True]
    keep[0] = True
    kept = np.flatnonzero(keep)
    # Without ties, hits are constant up to k and change at k.
    x = np.repeat(k[kept], 2)
    y = np.column_stack([hits[np.maximum(kept - 1, 0)], hits[kept]]).ravel()
    corner = np.column_stack([steps[kept] & ~tied[kept], np.full(kept.size, True)]).ravel()
    return x[corner], y[corner]


def _bent(k: Floats, hits: Floats, log_scale: bool) -> tuple[Floats, Floats]:
    """A line from k = 1 on, with enough points to draw its straight parts as curves."""
    first, last = max(float(k[0]), 1.0), float(k[-1])
    if last <= first:
        return k[k >= 1.0], hits[k >= 1.0]
    columns = (np.geomspace if log_scale else np.linspace)(first, last, N_COLUMNS)
    # The line is exact at all cut-offs, unless there are more cut-offs than columns.
    cuts = np.arange(first, last) if last - first < N_COLUMNS else np.round(columns)
    grid = np.setdiff1d(np.concatenate([columns, cuts]), k)
    at = np.searchsorted(k, grid)
    inside = (at > 0) & (at < k.size)
    grid, at = grid[inside], at[inside]
    hits = np.insert(hits, at, np.interp(grid, k, hits))
    k = np.insert(k, at, grid)
    return k[k >= 1.0], hits[k >= 1.0]
