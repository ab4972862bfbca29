"""Display of a null distribution, as p-values or as a density, with the observed one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import stats
from scipy.interpolate import PchipInterpolator

from sklearn_rankinf._null import NullDistribution, n_listed
from sklearn_rankinf._plot.base import (
    RankersDisplay,
    foreground,
    hide_spines,
    merged_style,
    new_figure,
    ranker_style,
    reference_style,
    short,
    with_minus,
    write_legend,
)
from sklearn_rankinf._ranking import check_integer, check_option
from sklearn_rankinf._results import format_value, state_pvalue
from sklearn_rankinf._significance import MetricTestResult, QueriesTestResult, metric_test
from sklearn_rankinf._statistics import Floats

# Each side of the body ends at the first value beyond which the distribution has less than this
# probability, and at most the given number of standard deviations below and above the mean.
_BEYOND_BODY = 1e-4
_BODY = (4.0, 7.0)
# Step of the search for the ends of the body from the mean, in standard deviations.
_STEP = 0.25
_N_BINS = 120
_N_FAR_BINS = 24
# A tail that is extended to an observed value ends when less than this fraction of the p-value is
# beyond, or at most the given number of standard deviations further on.
_BEYOND_OBSERVED = 1e-2
_MARGIN = 0.5
# Numbers of values in the body and beyond it at which p-values are computed; their curve is smooth.
_N_TAIL, _N_FAR_TAIL = 40, 12
# Of distributions with more items times positives a p-value takes a second. Few are computed, the
# curve between them is interpolated, and the body is within these standard deviations of the mean.
_SLOW, _SLOW_BODY = 10**6, (-2.5, 5.0)
_N_SLOW, _N_FAR_SLOW = 12, 8
# Largest number of counts of hits that are drawn as separate bars; more counts are grouped.
_MAX_BARS = 80
# Below this log10 the axis is that of the logarithm, because the p-value underflows. P-values are
# drawn down to the second log10 at least, where the distribution has such values.
_UNDERFLOWS, _SEEN = -300.0, -3.0
# Relative distance from the observed value that counts as equal.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class DistributionShape:
    """Exact probabilities of the bins between ascending edges.

    `step` is the distance of neighbouring values, if each bin contains one of evenly spaced values.
    """

    edges: Floats
    probabilities: Floats
    step: float | None = None
    underflows: ClassVar[bool] = False

    @property
    def ends(self) -> tuple[float, float]:
        return float(self.edges[0]), float(self.edges[-1])

    @property
    def unit(self) -> float:
        """Factor from density to height: the step of evenly spaced values, otherwise 1."""
        return 1.0 if self.step is None else self.step

    @property
    def heights(self) -> Floats:
        """Probability of each of evenly spaced values, or the density of each bin."""
        return self.probabilities / np.diff(self.edges) * self.unit

    @property
    def ylabel(self) -> str:
        return "Density" if self.step is None else "Probability"

    def draw(self, ax: Any, style: Mapping[str, Any]) -> Any:
        """Draw bars for evenly spaced values, or a filled outline for a density."""
        style = {"alpha": 0.35, **style}
        if self.step is None:
            return ax.stairs(self.heights, self.edges, fill=True, **style)
        centres = 0.5 * (self.edges[1:] + self.edges[:-1])
        return ax.bar(centres, self.heights, width=0.85 * self.step, **style)

    def draw_outline(self, ax: Any, style: Mapping[str, Any]) -> Any:
        return ax.stairs(self.heights, self.edges, **style)

    def draw_extreme(self, ax: Any, observed: float, greater: bool, color: Any) -> Any:
        """Draw the bins of the values at least as extreme as the observed one, at an edge."""
        # The observed value is in the middle of a bin of hits, and at the end of any other bin.
        centres = 0.5 * (self.edges[1:] + self.edges[:-1])
        slack = _SAME * abs(observed)
        extreme = (centres >= observed - slack) if greater else (centres <= observed + slack)
        if not extreme.any():
            return None
        tail = replace(self, probabilities=np.where(extreme, self.probabilities, 0.0))
        return tail.draw(ax, {"color": color, "alpha": 0.75})

    def normal(self, null: NullDistribution, alternative: str) -> tuple[Floats, Floats]:
        """Points of the normal density with the mean and standard deviation of a distribution."""
        mean, deviation = null.mean(), null.std()
        # A curve below the smallest value would be one of values that do not exist.
        low = max(min(self.ends[0], mean - 3.5 * deviation), null.support()[0])
        x = np.linspace(low, self.ends[1], 400)
        return x, stats.norm.pdf(x, mean, deviation) * self.unit

    def draw_sample(self, ax: Any, sample: Floats, style: Mapping[str, Any]) -> Any:
        """Draw the histogram of a sample from the distribution, on the same scale."""
        counts, _ = np.histogram(sample, self.edges)
        heights = counts / sample.size / np.diff(self.edges) * self.unit
        return ax.stairs(heights, self.edges, **style)

    def limits(self, log10_pvalues: Sequence[float], log_scale: bool) -> tuple[float, float]:
        """Limits of the axis of heights."""
        positive = self.heights[self.heights > 0.0]
        if log_scale:
            return max(float(positive.min()) * 0.3, 1e-300), float(positive.max()) * 3.0
        return 0.0, 1.05 * float(positive.max())


@dataclass(frozen=True, eq=False)
class TailCurve:
    """Logarithms to base 10 of the p-values of ascending values.

    Values with `is_lattice` are evenly spaced, and between them there are no others.
    """

    values: Floats
    log10_pvalues: Floats
    alternative: str
    is_lattice: bool = False
    underflows: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        return float(self.values[0]), float(self.values[-1])

    @property
    def ylabel(self) -> str:
        what = {
            "greater": "Probability of a value as large",
            "less": "Probability of a value as small",
        }
        label = what.get(self.alternative, "Two-sided p-value")
        return f"{label} (log10)" if self.underflows else label

    def height(self, log10_pvalues: Any) -> Any:
        """The p-value, or its logarithm if p-values underflow."""
        return log10_pvalues if self.underflows else 10.0 ** np.asarray(log10_pvalues)

    def _style(self, style: Mapping[str, Any]) -> dict[str, Any]:
        return {"drawstyle": "steps-mid" if self.is_lattice else "default", **style}

    def draw(self, ax: Any, style: Mapping[str, Any]) -> Any:
        """Draw the p-values."""
        (line,) = ax.plot(self.values, self.height(self.log10_pvalues), **self._style(style))
        return line

    draw_outline = draw

    def draw_extreme(self, ax: Any, observed: float, greater: bool, color: Any) -> Any:
        """Fill below the p-values of the values at least as extreme as the observed one."""
        slack = _SAME * max(abs(observed), float(np.ptp(self.values)))
        extreme = (
            (self.values >= observed - slack) if greater else (self.values <= observed + slack)
        )
        if extreme.sum() < 2:
            return None
        x, y = self.values[extreme], self.height(self.log10_pvalues[extreme])
        step = "mid" if self.is_lattice else None
        low = -1e9 if self.underflows else 0.0
        return ax.fill_between(x, low, y, step=step, color=color, alpha=0.75, linewidth=0.0)

    def normal(self, null: NullDistribution, alternative: str) -> tuple[Floats, Floats]:
        """P-values of the normal distribution with the mean and standard deviation of another."""
        x = np.linspace(*self.ends, 400)
        z = (x - null.mean()) / null.std()
        return x, self.height(_of_tails(stats.norm.logsf(z), stats.norm.logcdf(z), alternative))

    def draw_sample(self, ax: Any, sample: Floats, style: Mapping[str, Any]) -> Any:
        """Draw the p-values of a sample, the shares of its values that are as extreme."""
        slack = _SAME * (self.values[-1] - self.values[0])
        ordered = np.sort(sample)
        below = np.searchsorted(ordered, self.values + slack, side="right") / sample.size
        above = 1.0 - np.searchsorted(ordered, self.values - slack, side="left") / sample.size
        with np.errstate(divide="ignore"):
            found = _of_tails(np.log(above), np.log(below), self.alternative)
        kept = np.isfinite(found)
        style = {"drawstyle": "steps-mid" if self.is_lattice else "default", **style}
        (line,) = ax.plot(self.values[kept], self.height(found[kept]), **style)
        return line

    def limits(self, log10_pvalues: Sequence[float], log_scale: bool) -> tuple[float, float]:
        """Limits of the axis of p-values, which holds the given ones."""
        if not log_scale:
            return 0.0, 1.05
        given = [value for value in log10_pvalues if math.isfinite(value)]
        lowest = min([-1.0, max(_SEEN, float(self.log10_pvalues.min())), *given])
        low, high = 1.08 * lowest - 0.15, 0.04 - 0.03 * lowest
        return float(self.height(low)), float(self.height(high))


def _of_tails(log_above: Floats, log_below: Floats, alternative: str) -> Floats:
    """Base-10 logarithms of p-values, from natural ones of both tails."""
    if alternative == "two-sided":
        found = np.minimum(np.minimum(log_above, log_below) + math.log(2.0), 0.0)
    else:
        found = log_above if alternative == "greater" else log_below
    return np.asarray(found / math.log(10.0))


def distribution_shape(
    null: NullDistribution, observed: float, *, greater: bool, with_tail: bool
) -> DistributionShape:
    """Bins and their probabilities around the body of a null distribution.

    There is an edge at the observed value. `greater` is whether values greater than it are more
    extreme; `with_tail` is whether the bins extend to it if it is beyond the body on that side.
    """
    edges, step = _grid(null, observed, greater, with_tail, (_n_bins(null), _N_FAR_BINS))
    if edges.size == 2:
        return DistributionShape(edges, np.ones(1), step)
    return DistributionShape(edges, _bin_probabilities(null, edges), step)


def tail_curve(
    null: NullDistribution, observed: float, *, greater: bool, alternative: str
) -> TailCurve:
    """P-values of the values from the body of a null distribution to the observed value."""
    is_listed = n_listed(null) is not None
    is_slow = not is_listed and np.max(np.multiply(null.n_samples, null.n_positives)) > _SLOW
    sizes = (_N_BINS, _N_FAR_BINS) if is_listed else (_N_TAIL, _N_FAR_TAIL)
    if is_slow and not null.statistic.counts_hits:
        sizes = _N_SLOW, _N_FAR_SLOW
    edges, step = _grid(null, observed, greater, True, sizes)
    values = edges if step is None else 0.5 * (edges[1:] + edges[:-1])
    # From the end of the body on, the p-value of an observed value beyond it is almost constant.
    tiny = _SAME * null.std()
    if observed > values[-1]:
        values = np.r_[values, values[-1] + tiny, observed]
    elif observed < values[0]:
        values = np.r_[observed, values[0] - tiny, values]
    found = null.log_pvalue(values, alternative) / math.log(10.0)
    kept = np.isfinite(found)
    found = found[kept]
    values, underflows = values[kept], bool(found.min(initial=0.0) < _UNDERFLOWS)
    if sizes[0] == _N_SLOW:
        grid = np.union1d(values, np.linspace(values[0], values[-1], _N_BINS))
        # The root is close to linear in the tails of a normal distribution.
        found, values = -(PchipInterpolator(values, np.sqrt(-found))(grid) ** 2), grid
    return TailCurve(values, found, alternative, step is not None, underflows)


def _grid(
    null: NullDistribution,
    observed: float,
    greater: bool,
    with_tail: bool,
    sizes: tuple[int, int],
) -> tuple[Floats, float | None]:
    """Edges of bins around the body, and the step of evenly spaced values, one in each bin.

    `sizes` are the numbers of bins in the body and beyond it.
    """
    mean, deviation = null.mean(), null.std()
    if deviation == 0.0:
        return np.array([mean - 0.01, mean + 0.01]), 0.02
    if sizes[0] == _N_SLOW:
        ends = null.support()
        body = (
            max(mean + _SLOW_BODY[0] * deviation, ends[0]),
            min(mean + _SLOW_BODY[1] * deviation, ends[1]),
        )
        low = max(min(body[0], observed - _STEP * deviation), ends[0])
        high = min(max(body[1], observed + _STEP * deviation), ends[1])
        edges = _edges(null, body, low, high, observed, greater, sizes)
        # Neighbours that are very close would make the curve between them flat.
        return edges[np.diff(edges, append=math.inf) > 0.01 * deviation], None
    beyond = math.log(_BEYOND_BODY)
    low = _end(null, mean, -1, beyond, _BODY[0] * deviation)
    high = _end(null, mean, 1, beyond, _BODY[1] * deviation)
    body = low, high
    if with_tail and not low <= observed <= high:
        side = 1 if greater else -1
        log_pvalue = float(null.log_pvalue(observed, "greater" if greater else "less"))
        beyond = log_pvalue + math.log(_BEYOND_OBSERVED)
        end = _end(null, observed, side, beyond, _MARGIN * deviation)
        low, high = (low, max(high, end)) if greater else (min(low, end), high)
    if null.statistic.counts_hits:
        return _edges_of_hits(null, null.statistic, low, high, observed, greater)
    return _edges(null, body, low, high, observed, greater, sizes), None


def _end(null: NullDistribution, start: float, side: int, log_beyond: float, most: float) -> float:
    """First value from `start` on beyond which the tail probability is small enough.

    The search is stepwise, because far tails, the lower one above all, are the most expensive to
    compute and are not visible.
    """
    ends = null.support()
    log_tail = null.logsf if side > 0 else null.logcdf
    step = _STEP * null.std()
    for distance in np.arange(step, most + 0.5 * step, step):
        value = start + side * distance
        if not ends[0] < value < ends[1]:
            return ends[side > 0]
        if log_tail(value) < log_beyond:
            return float(value)
    return start + side * most


def _edges(
    null: NullDistribution,
    inner: tuple[float, float],
    low: float,
    high: float,
    observed: float,
    greater: bool,
    sizes: tuple[int, int],
) -> Floats:
    """Edges that are close together in the body and further apart beyond it."""
    deviation = null.std()
    # Bins exclude their lower edge; the smallest value must be inside the first bin.
    edges = [np.linspace(inner[0] - 1e-9 * deviation, inner[1], sizes[0] + 1)]
    if low < inner[0]:
        edges.append(np.linspace(low, inner[0], sizes[1])[:-1])
    if high > inner[1]:
        edges.append(np.linspace(inner[1], high, sizes[1])[1:])
    slack = _SAME * max(abs(observed), deviation)
    cut = observed - slack if greater else observed + slack
    if low < cut < high:
        edges.append(np.array([cut]))
    joined = np.unique(np.concatenate(edges))
    # An edge very close to the one at the observed value would create a very narrow bin.
    near = (np.abs(joined - cut) < 0.02 * deviation) & (joined != cut)
    near[[0, -1]] = False
    return np.asarray(joined[~near])


def _n_bins(null: NullDistribution) -> int:
    """Number of bins in the body; fewer for few values or few resamples."""
    n_values = n_listed(null)
    if n_values is None:
        return _N_BINS
    return min(_N_BINS, max(12, n_values // (30 if null.method == "analytic" else 150)))


def _bin_probabilities(null: NullDistribution, edges: Floats) -> Floats:
    """Probabilities of the bins, from the tail on their side of the mean to avoid cancellation."""
    upper = edges >= null.mean()
    above, below = np.exp(null.logsf(edges[upper])), np.exp(null.logcdf(edges[~upper]))
    parts = [np.diff(below), -np.diff(above)]
    if above.size and below.size:
        parts.insert(1, np.array([1.0 - below[-1] - above[0]]))
    return np.asarray(np.maximum(np.concatenate(parts), 0.0))


def _edges_of_hits(
    null: NullDistribution,
    statistic: Any,
    low: float,
    high: float,
    observed: float,
    greater: bool,
) -> tuple[Floats, float | None]:
    """Edges of bins of one hit each, or of a few if there are many, with one at the observed."""
    divisor = float(statistic.divided_by(null.n_samples, null.n_positives))
    _, size, _ = statistic.straddling(null.tie_sizes)
    group = math.ceil((high - low) * divisor / _MAX_BARS)
    step = group / divisor
    is_lattice = group == 1 and int(size) == 1
    # Half a hit from the observed value; with ties across rank k values lie between whole hits.
    offset = 0.5 / divisor if int(size) == 1 else _SAME / divisor
    cut = observed - offset if greater else observed + offset
    first = math.floor((low - cut) / step - 1e-6)
    last = math.ceil((high - cut) / step + 1e-6)
    edges = np.asarray(cut + step * np.arange(first, last + 1), dtype=np.float64)
    if not is_lattice:
        # There are no hits below 0; bins exclude their lower edge.
        edges = np.maximum(edges, -_SAME / divisor)
        edges = edges[edges.searchsorted(edges[0], side="right") - 1 :]
    return edges, step if is_lattice else None


_DISTRIBUTION_NAMES: Mapping[str, str] = {
    "analytic": "exact null distribution",
    "permutation": "null distribution from random labellings",
    "normal": "normal approximation",
    "binomial": "binomial approximation",
    "pearson3": "Pearson III approximation",
    "zhang_su": "Zhang-Su approximation",
}
_SCALES = ("linear", "log")
_VIEWS = ("tail", "density")


class NullDistributionDisplay(RankersDisplay):
    """Null distribution of a ranking statistic, with the observed value and its p-value.

    Use :meth:`from_estimator`, :meth:`from_predictions` or :meth:`from_cv_results` with the options
    of :func:`metric_test`, or pass the result of a test. A result contains its null distribution,
    so that the test is not repeated.

    Parameters
    ----------
    results : test result, or sequence or dict of test results
        Result of :func:`average_precision_test`, :func:`metric_test` or any other test of this
        package; for several queries the mean is drawn. Several results, for example of the folds of
        a cross-validation or of several classes, are drawn in one plot.
    name : str or sequence of str, optional
        Names of the rankings in the legend, one for each result. By default the keys of a dict, or
        the numbers of several results.

    Attributes
    ----------
    line_ : matplotlib artist or list of artists
        The null distribution: the p-value of each value; or a filled density, or bars if the values
        are evenly spaced, as for hits at k, and outlines for several results.
    observed_line_ : matplotlib artist or list of artists
        Vertical line at the observed value.
    point_ : matplotlib artist or list of artists or None
        The observed value and its p-value, and a line to the axis of p-values.
    text_ : matplotlib artist or None
        The observed value and its p-value as numbers, above the line; of several results they are
        in the legend.
    tail_ : matplotlib artist or None
        The part of the null distribution that is at least as extreme as the observed value.
    normal_line_ : matplotlib artist or None
        The normal distribution with the exact mean and standard deviation.
    chance_level_ : matplotlib artist or None
        Vertical line at the mean of the null distribution.
    histogram_ : matplotlib artist or None
        P-values or histogram of random labellings.
    ax_ : matplotlib axes
        The axes of the plot.
    figure_ : matplotlib figure
        The figure that contains the axes.

    Raises
    ------
    TypeError
        If a result has no null distribution.
    ValueError
        If there is no result or not one name for each.

    See Also
    --------
    average_precision_test : A test of one ranking, or of the rankings of several queries.
    sklearn.metrics.PrecisionRecallDisplay : The curve summarized by average precision.

    Notes
    -----
    By default the height is the p-value of a value: the probability that chance gives one at least
    as extreme, ``P(S >= s)`` if large values are extreme. The curve is exact at the observed value
    and at some twenty values or more, and interpolated between them unless the values are evenly
    spaced. P-values below 1e-300 are drawn as their logarithm to base 10.

    The height of a density over a bin from a to b is ``(P(S > a) - P(S > b)) / (b - a)``, computed
    from the exact tails without sampling.

    The distribution is drawn up to where a probability of less than 0.0001 is left, and at most 4
    standard deviations below the mean and 7 above it. P-values, and a density on a logarithmic
    scale, extend beyond the observed value until less than a hundredth of its p-value is left, by
    at most half a standard deviation.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import NullDistributionDisplay, average_precision_test
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.repeat([1, 0], [10, 190])
    >>> result = average_precision_test(y_true, y_true + rng.normal(size=200))
    >>> display = NullDistributionDisplay(result, name="my ranker")
    >>> display.plot()  # doctest: +SKIP
    <...>
    """

    line_: Any
    observed_line_: Any
    point_: Any
    text_: Any
    tail_: Any
    normal_line_: Any
    chance_level_: Any
    histogram_: Any

    _compute = staticmethod(metric_test)
    _kind = "results of a test such as average_precision_test"

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | Sequence[str] | None = None,
        y_axis: str = "tail",
        yscale: str | None = None,
        curve_kwargs: Mapping[str, Any] | None = None,
        observed_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = True,
        chance_level_kw: Mapping[str, Any] | None = None,
        plot_normal: bool = True,
        normal_kwargs: Mapping[str, Any] | None = None,
        n_resamples: int = 0,
        random_state: Any = 0,
        histogram_kwargs: Mapping[str, Any] | None = None,
        despine: bool = False,
    ) -> Self:
        """Draw the null distribution and the observed value.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; by default new axes.
        name : str or sequence of str, optional
            Names of the rankings in the legend, instead of those of the display.
        y_axis : {"tail", "density"}, default="tail"
            The p-value of each value, so that the observed p-value can be read off; or the density,
            for hits at k the probability, of each value.
        yscale : {"linear", "log"}, optional
            Scale of the y-axis. By default logarithmic for p-values and linear for a density. A
            density on a logarithmic scale extends to the observed value.
        curve_kwargs : dict, optional
            Keywords of matplotlib for the null distribution.
        observed_kwargs : dict, optional
            Keywords of matplotlib's ``axvline`` for the observed value.
        plot_chance_level : bool, default=True
            Whether to mark the mean of the null distribution; for several results their average.
        chance_level_kw : dict, optional
            Keywords of matplotlib's ``axvline`` for the mean.
        plot_normal : bool, default=True
            Whether to draw the normal distribution with the exact mean and standard deviation for
            comparison. It is not drawn for several results, nor if the null distribution is normal.
        normal_kwargs : dict, optional
            Keywords of matplotlib's ``plot`` for the normal distribution.
        n_resamples : int, default=0
            Number of random labellings whose p-values or histogram are drawn for a single result.
        random_state : int, RandomState, Generator or None, default=0
            Source of the random labellings.
        histogram_kwargs : dict, optional
            Keywords of matplotlib's ``plot`` for the p-values of random labellings, or of
            ``stairs`` for their histogram.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        display : NullDistributionDisplay
            The display, with its artists as attributes.
        """
        y_axis = check_option(y_axis, "y_axis", _VIEWS)
        if yscale is None:
            yscale = "log" if y_axis == "tail" else "linear"
        yscale = check_option(yscale, "yscale", _SCALES)
        n_resamples = check_integer(n_resamples, "n_resamples", 0)
        named = self._read(name)
        results = list(named.values())
        views = [_view(result, y_axis, yscale, len(results) > 1) for result in results]
        ax = self._start(ax)
        self.tail_ = self.normal_line_ = self.chance_level_ = self.histogram_ = None
        self.text_ = self.point_ = None
        is_log = yscale == "log" and not views[0].underflows
        if is_log:
            ax.set_yscale("log")
        ax.set_xlim(*_x_limits(results, views))
        limits = [view.limits([r.log10_pvalue for r in results], yscale == "log") for view in views]
        ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
        if len(results) == 1:
            (label,), (view,), (result,) = named, views, results
            self._plot_one(view, result, label, curve_kwargs, observed_kwargs)
            null = result.null_distribution
            if n_resamples:
                sample = _random_labellings(null, n_resamples, random_state)
                style = {"color": foreground(), "linewidth": 1.0}
                style["label"] = f"{sample.size} random labellings"
                self.histogram_ = view.draw_sample(
                    ax, sample, merged_style(style, histogram_kwargs)
                )
            if plot_normal and null.method not in ("normal", "zhang_su") and null.std() > 0.0:
                style = {"color": foreground(), "linestyle": ":"}
                style["label"] = "normal, same mean and sd"
                points = view.normal(null, result.alternative)
                (self.normal_line_,) = ax.plot(*points, **merged_style(style, normal_kwargs))
        else:
            self._plot_several(views, named, curve_kwargs, observed_kwargs)
        if plot_chance_level:
            chance = float(np.mean([result.null_distribution.mean() for result in results]))
            style = reference_style(label=f"chance level ({format_value(chance)})")
            self.chance_level_ = ax.axvline(chance, **merged_style(style, chance_level_kw))
        ax.set_xlabel(_title(results[0]))
        ax.set_ylabel(views[0].ylabel)
        first = [self.observed_line_, self.line_] if self.text_ else self.observed_line_
        others = (self.histogram_, self.normal_line_, self.chance_level_)
        handles = [*first, *(artist for artist in others if artist is not None)]
        labels = [artist.get_label() for artist in handles]
        write_legend(ax, handles, labels, lines_below=1.0 if self.text_ else 0.0)
        if despine:
            hide_spines(ax)
        return self

    def _is_result(self, result: Any) -> bool:
        return hasattr(result, "null_distribution")

    # Parts of the plot.

    def _plot_one(
        self,
        view: DistributionShape | TailCurve,
        result: Any,
        name: str,
        curve_kwargs: Mapping[str, Any] | None,
        observed_kwargs: Mapping[str, Any] | None,
    ) -> None:
        observed, color = float(result.statistic), ranker_style(1)["color"]
        style = {"color": color, "label": short(name) if name else "observed"}
        self.observed_line_ = self.ax_.axvline(observed, **merged_style(style, observed_kwargs))
        label = _DISTRIBUTION_NAMES.get(result.null_distribution.method, "null distribution")
        style = {"color": ranker_style(0)["color"], "label": label}
        self.line_ = view.draw(self.ax_, merged_style(style, curve_kwargs))
        greater = _greater_is_extreme(result)
        self.tail_ = view.draw_extreme(self.ax_, observed, greater, color)
        self.point_ = self._plot_point(view, result, color)
        low, high = self.ax_.get_xlim()
        # The text is on the side of the line where the axes are wider, above all that is drawn.
        side = "left" if observed < 0.5 * (low + high) else "right"
        self.text_ = self.ax_.text(
            observed,
            1.01,
            _stated(result),
            transform=self.ax_.get_xaxis_transform(),
            color=self.observed_line_.get_color(),
            ha=side,
            va="bottom",
            fontsize="small",
        )

    def _plot_several(
        self,
        views: Sequence[DistributionShape | TailCurve],
        results: Mapping[str, Any],
        curve_kwargs: Mapping[str, Any] | None,
        observed_kwargs: Mapping[str, Any] | None,
    ) -> None:
        self.line_, self.observed_line_, self.point_ = [], [], []
        for number, (view, (name, result)) in enumerate(zip(views, results.items(), strict=True)):
            style = ranker_style(number)
            self.line_.append(view.draw_outline(self.ax_, merged_style(style, curve_kwargs)))
            style["label"] = f"{short(name)}: {_stated(result)}"
            self.observed_line_.append(
                self.ax_.axvline(float(result.statistic), **merged_style(style, observed_kwargs))
            )
            self.point_.append(self._plot_point(view, result, style["color"]))

    def _plot_point(self, view: DistributionShape | TailCurve, result: Any, color: Any) -> Any:
        """Mark the observed p-value on the curve, and draw a line from there to its axis."""
        if isinstance(view, DistributionShape) or not math.isfinite(result.log10_pvalue):
            return None
        x, y = [float(result.statistic), self.ax_.get_xlim()[0]], view.height(result.log10_pvalue)
        style = {"color": color, "linestyle": ":", "marker": "o", "markevery": [0]}
        (point,) = self.ax_.plot(x, [float(y)] * 2, linewidth=1.0, **style)
        return point


def _view(
    result: Any, y_axis: str, yscale: str, are_several: bool
) -> DistributionShape | TailCurve:
    """What is drawn of the null distribution of a result."""
    null, observed = result.null_distribution, float(result.statistic)
    greater = _greater_is_extreme(result)
    if y_axis == "tail":
        return tail_curve(null, observed, greater=greater, alternative=result.alternative)
    shape = distribution_shape(null, observed, greater=greater, with_tail=yscale == "log")
    # Of several results densities are drawn, because the steps of folds may differ.
    return replace(shape, step=None) if are_several else shape


def _x_limits(
    results: Sequence[Any], views: Sequence[DistributionShape | TailCurve]
) -> tuple[float, float]:
    """Limits of the axis of values, which holds the distributions and the observed values."""
    ends = [end for view in views for end in view.ends]
    ends += [float(result.statistic) for result in results]
    low, high = min(ends), max(ends)
    margin = 0.03 * (high - low) or abs(high) or 1.0
    return low - margin, high + margin


def _greater_is_extreme(result: Any) -> bool:
    """Whether the upper tail is drawn; for a two-sided test the tail with the smaller p-value."""
    if result.alternative != "two-sided":
        return bool(result.alternative == "greater")
    null, observed = result.null_distribution, float(result.statistic)
    return bool(null.log_pvalue(observed, "greater") <= null.log_pvalue(observed, "less"))


def _random_labellings(null: NullDistribution, size: int, random_state: Any) -> Any:
    """Values of the statistic under random labellings, for any method of the distribution."""
    exact = copy(null)
    if null.method != "permutation":
        # An approximation would be sampled from the approximation.
        exact.method = "analytic"
    return exact.rvs(size, random_state=random_state)


def _stated(result: Any) -> str:
    """The observed value and its p-value."""
    log10_pvalue = float(result.log10_pvalue)
    pvalue = state_pvalue(log10_pvalue, bool(result.pvalue_is_bound))
    pvalue = pvalue if log10_pvalue > -math.inf else "p underflows"
    return with_minus(format_value(float(result.statistic))) + f", {pvalue}"


def _title(result: Any) -> str:
    title = str(result.metric.title)
    return f"Mean {result.metric.title_in_text}" if isinstance(result, QueriesTestResult) else title


def null_figure(test: MetricTestResult, name: str, what: str) -> Any:
    """Draw the null distribution and the observed value of a test, for `what` needs a figure."""
    figure = new_figure(what)
    NullDistributionDisplay(test, name=name).plot(figure.add_subplot())
    return figure
