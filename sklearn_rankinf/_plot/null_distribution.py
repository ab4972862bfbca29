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

from sklearn_rankinf._null import NullDistribution, n_listed, tolerating
from sklearn_rankinf._plot.base import (
    RankersDisplay,
    foreground,
    heading,
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
from sklearn_rankinf._significance import MetricTestResult, metric_test
from sklearn_rankinf._statistics import Floats

# Each side of the body ends at the first value beyond which the distribution has less than this
# probability, and at most the given number of standard deviations below and above the mean.
_BEYOND_BODY = 1e-4
_BODY = (4.0, 7.0)
# Step of the search for the ends of the body from the mean, in standard deviations; bins beyond the
# body end one step beyond the observed value.
_STEP = 0.25
_N_BINS, _N_FAR_BINS = 120, 24
# Numbers of values around the mean and beyond at which p-values are computed, up to a relative
# error, and the number of points of the curve through them.
_N_TAIL, _N_FAR_TAIL, _ROUGH, _N_POINTS = 23, 10, 0.02, 200
# A power of -log p that is close to linear, so that interpolation is accurate: between 1/2, as in
# the tails of a normal distribution, and 1, as in those of an exponential one.
_POWER = 0.7
# Largest number of counts of hits that are drawn one by one; more counts are grouped.
_MAX_BARS = 80
# Below this log10 the axis is that of the logarithm, because the p-value underflows. P-values are
# drawn down to the second log10 at least, where the distribution has such values.
_UNDERFLOWS, _SEEN = -300.0, -3.0
# Relative distance from the observed value that counts as equal.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class DistributionShape:
    """Exact probabilities of the bins between ascending edges `x`, one of which is `cut`.

    `step` is the distance of neighbouring values, if each bin begins at one of evenly spaced values
    and contains no other.
    """

    x: Floats
    probabilities: Floats
    cut: float
    step: float | None = None
    underflows: ClassVar[bool] = False

    @property
    def unit(self) -> float:
        """Factor from density to height: the step of evenly spaced values, otherwise 1."""
        return self.step or 1.0

    @property
    def heights(self) -> Floats:
        """Probability of each of evenly spaced values, or the density of each bin."""
        return self.probabilities / np.diff(self.x) * self.unit

    @property
    def ylabel(self) -> str:
        return "Density" if self.step is None else "Probability"

    def draw(self, ax: Any, style: Mapping[str, Any]) -> Any:
        """Draw a line at each of evenly spaced values, or a filled outline of a density."""
        if self.step is None:
            return ax.stairs(self.heights, self.x, fill=True, **{"alpha": 0.35, **style})
        shown = self.heights > 0.0
        return ax.vlines(
            self.x[:-1][shown], 0.0, self.heights[shown], **{"linewidth": 2.5, **style}
        )

    def draw_outline(self, ax: Any, style: Mapping[str, Any]) -> Any:
        return ax.stairs(self.heights, self.x, **style)

    def draw_extreme(self, ax: Any, observed: float, greater: bool, color: Any) -> Any:
        """Draw the bins of the values at least as extreme as the observed one."""
        extreme = self.x[:-1] >= self.cut if greater else self.x[1:] <= self.cut
        tail = replace(self, probabilities=np.where(extreme, self.probabilities, 0.0))
        style = {"alpha": 0.75} if self.step is None else {"zorder": 2.1}
        return tail.draw(ax, {"color": color, **style}) if extreme.any() else None

    def normal(self, null: NullDistribution) -> tuple[Floats, Floats]:
        """Points of the normal density with the mean and standard deviation of a distribution."""
        mean, deviation = null.mean(), null.std()
        # A curve below the smallest value would be one of values that do not exist.
        low = max(min(self.x[0], mean - 3.5 * deviation), null.support()[0])
        x = np.linspace(low, self.x[-1], 400)
        return x, stats.norm.pdf(x, mean, deviation) * self.unit

    def draw_sample(self, ax: Any, sample: Floats, style: Mapping[str, Any]) -> Any:
        """Draw the histogram of a sample from the distribution, on the same scale."""
        counts, _ = np.histogram(sample, self.x)
        found = replace(self, probabilities=counts / sample.size)
        if self.step is None:
            return found.draw_outline(ax, style)
        style = {"linestyle": "none", "marker": "_", "zorder": 2.2, **style}
        return ax.plot(self.x[:-1], found.heights, **style)[0]

    def limits(self, log10_pvalues: Sequence[float], log_scale: bool) -> tuple[float, float]:
        """Limits of the axis of heights."""
        positive = self.heights[self.heights > 0.0]
        if log_scale:
            return max(float(positive.min()) * 0.3, 1e-300), float(positive.max()) * 3.0
        return 0.0, 1.05 * float(positive.max())


@dataclass(frozen=True, eq=False)
class TailCurve:
    """Logarithms to base 10 of the p-values of ascending values `x`.

    Values with `is_lattice` are evenly spaced, and between them there are no others.
    """

    x: Floats
    log10_pvalues: Floats
    alternative: str
    is_lattice: bool = False

    @property
    def underflows(self) -> bool:
        return bool(self.log10_pvalues.min() < _UNDERFLOWS)

    @property
    def ylabel(self) -> str:
        size = {"greater": "large", "less": "small"}.get(self.alternative)
        label = f"Probability of a value as {size}" if size else "Two-sided p-value"
        return f"{label} (log10)" if self.underflows else label

    def height(self, log10_pvalues: Any) -> Any:
        """The p-value, or its logarithm if p-values underflow."""
        return log10_pvalues if self.underflows else 10.0 ** np.asarray(log10_pvalues)

    def draw(self, ax: Any, style: Mapping[str, Any]) -> Any:
        """Draw the p-values."""
        style = {"drawstyle": "steps-mid" if self.is_lattice else "default", **style}
        (line,) = ax.plot(self.x, self.height(self.log10_pvalues), **style)
        return line

    draw_outline = draw

    def draw_extreme(self, ax: Any, observed: float, greater: bool, color: Any) -> Any:
        """Fill below the p-values of the values at least as extreme as the observed one."""
        slack = _SAME * max(abs(observed), float(np.ptp(self.x)))
        sign = 1.0 if greater else -1.0
        extreme = sign * (self.x - observed) >= -slack
        if extreme.sum() < 2:
            return None
        x, y = self.x[extreme], self.height(self.log10_pvalues[extreme])
        step = "mid" if self.is_lattice else None
        low = -1e9 if self.underflows else 0.0
        return ax.fill_between(x, low, y, step=step, color=color, alpha=0.75, linewidth=0.0)

    def normal(self, null: NullDistribution) -> tuple[Floats, Floats]:
        """P-values of the normal distribution with the mean and standard deviation of another."""
        x = np.linspace(self.x[0], self.x[-1], 400)
        z = (x - null.mean()) / null.std()
        return x, self.height(
            _of_tails(stats.norm.logsf(z), stats.norm.logcdf(z), self.alternative)
        )

    def draw_sample(self, ax: Any, sample: Floats, style: Mapping[str, Any]) -> Any:
        """Draw the p-values of a sample, the shares of its values that are as extreme."""
        slack = _SAME * (self.x[-1] - self.x[0])
        ordered = np.sort(sample)
        below = np.searchsorted(ordered, self.x + slack, side="right") / sample.size
        above = 1.0 - np.searchsorted(ordered, self.x - slack, side="left") / sample.size
        with np.errstate(divide="ignore"):
            found = _of_tails(np.log(above), np.log(below), self.alternative)
        kept = np.isfinite(found)
        return replace(self, x=self.x[kept], log10_pvalues=found[kept]).draw(ax, style)

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


def tail_curve(result: Any) -> TailCurve:
    """P-values of the values from the body of a null distribution to the observed value."""
    null, observed = result.null_distribution, float(result.statistic)
    mean, deviation = null.mean(), null.std()
    if deviation == 0.0:
        return TailCurve(np.array([mean]), np.zeros(1), result.alternative, is_lattice=True)
    low, high = np.clip([mean - _BODY[0] * deviation, mean + _BODY[1] * deviation], *null.support())
    is_listed, is_lattice = n_listed(null) is not None, False
    if null.statistic.counts_hits:
        values, is_lattice = _hits(null, min(low, observed), max(high, observed), observed)
        values = np.maximum(values, 0.0)
    else:
        sizes = (_N_BINS, _N_FAR_BINS) if is_listed else (_N_TAIL, _N_FAR_TAIL)
        # Beyond the body values are closest together at both ends: p-values end steeply.
        end = min(max(observed, low), high)
        far = end + (observed - end) * np.sin(np.linspace(0.0, 0.5 * np.pi, sizes[1])) ** 2
        values = np.r_[np.linspace(low, high, sizes[0]), far]
        far_enough = np.abs(values - observed) > 0.01 * deviation
        values = np.union1d(values[far_enough], observed)
        null = null if is_listed else tolerating(null, _ROUGH)
    found = null.log_pvalue(values, result.alternative) / math.log(10.0)
    at = np.argmin(np.abs(values - observed))
    found[at] = result.log10_pvalue
    # Tails beyond the body and the observed value are not drawn.
    is_drawn = (found > math.log10(_BEYOND_BODY)) & (found < math.log10(1.0 - _BEYOND_BODY))
    is_drawn[at] = True
    first, last = np.flatnonzero(is_drawn)[[0, -1]]
    drawn = np.arange(max(first - 1, 0), min(last + 2, found.size))
    drawn = drawn[np.isfinite(found[drawn])]
    values, found = values[drawn], found[drawn]
    if not is_listed and not null.statistic.counts_hits and values.size > 1:
        curve = PchipInterpolator(values, np.abs(found) ** _POWER)
        values = np.union1d(values, np.linspace(values[0], values[-1], _N_POINTS))
        found = -(np.abs(curve(values)) ** (1.0 / _POWER))
    return TailCurve(values, found, result.alternative, is_lattice)


def distribution_shape(result: Any, with_tail: bool) -> DistributionShape:
    """Bins and their probabilities around the body of a null distribution.

    There is an edge at the observed value. `with_tail` is whether the bins extend to it if it is
    beyond the body.
    """
    null, observed = result.null_distribution, float(result.statistic)
    greater = _greater_is_extreme(result)
    mean, deviation = null.mean(), null.std()
    if deviation == 0.0:
        return DistributionShape(np.array([mean, mean + 0.02]), np.ones(1), mean, 0.02)
    body = low, high = _end(null, -1, _BODY[0]), _end(null, 1, _BODY[1])
    if with_tail and not low <= observed <= high:
        margin, ends = _STEP * deviation, null.support()
        if greater:
            high = max(high, min(observed + margin, ends[1]))
        else:
            low = min(low, max(observed - margin, ends[0]))
    step, slack = None, _SAME * max(abs(observed), deviation)
    cut = observed - slack if greater else observed + slack
    if null.statistic.counts_hits:
        divisor, is_even = _unit_of_hits(null)
        # Bins of whole hits begin at one of them, and their probabilities at half a hit less.
        slack, offset = (0.0, 0.5 / divisor) if is_even else (_SAME / divisor, 0.0)
        cut = observed - slack if greater else observed + (slack or 1.0 / divisor)
        values, is_lattice = _hits(null, low, high, cut)
        edges = np.append(values, values[-1] + values[1] - values[0])
        edges[0] = max(edges[0], -slack)
        step = float(values[1] - values[0]) if is_lattice else None
    else:
        edges, offset = _edges(null, body, low, high, cut), 0.0
    return DistributionShape(edges, _bin_probabilities(null, edges - offset), cut, step)


def _end(null: NullDistribution, side: int, most: float) -> float:
    """First value beyond which there is little, at most some standard deviations from the mean.

    The search is stepwise, because far tails, the lower one above all, are the most expensive to
    compute and are not visible.
    """
    end, log_tail = null.support()[side > 0], null.logsf if side > 0 else null.logcdf
    values = null.mean() + side * null.std() * np.arange(_STEP, most + 0.5 * _STEP, _STEP)
    for value in values.tolist():
        if side * value >= side * end:
            return end
        if log_tail(value) < math.log(_BEYOND_BODY):
            break
    return float(value)


def _edges(
    null: NullDistribution, inner: tuple[float, float], low: float, high: float, cut: float
) -> Floats:
    """Edges that are close together in the body and further apart beyond it, with one at `cut`."""
    deviation, n_bins, n_values = null.std(), _N_BINS, n_listed(null)
    if n_values is not None:
        # Few values or few resamples have wider bins.
        per_bin = 30 if null.method == "analytic" else 150
        n_bins = min(_N_BINS, max(12, n_values // per_bin))
    # Bins exclude their lower edge; the smallest value must be inside the first bin.
    edges = [np.linspace(inner[0] - 1e-9 * deviation, inner[1], n_bins + 1)]
    if low < inner[0]:
        edges.append(np.linspace(low, inner[0], _N_FAR_BINS)[:-1])
    if high > inner[1]:
        edges.append(np.linspace(inner[1], high, _N_FAR_BINS)[1:])
    joined = np.unique(np.concatenate([*edges, [cut] if low < cut < high else []]))
    # An edge very close to the one at the observed value would create a very narrow bin.
    near = (np.abs(joined - cut) < 0.02 * deviation) & (joined != cut)
    near[[0, -1]] = False
    return np.asarray(joined[~near])


def _bin_probabilities(null: NullDistribution, edges: Floats) -> Floats:
    """Probabilities of the bins, from the tail on their side of the mean to avoid cancellation."""
    upper = edges >= null.mean()
    above, below = np.exp(null.logsf(edges[upper])), np.exp(null.logcdf(edges[~upper]))
    parts = [np.diff(below), -np.diff(above)]
    if above.size and below.size:
        parts.insert(1, np.array([1.0 - below[-1] - above[0]]))
    return np.asarray(np.maximum(np.concatenate(parts), 0.0))


def _unit_of_hits(null: NullDistribution) -> tuple[float, bool]:
    """Number of hits at a value of 1, and whether all values are of whole hits.

    With ties across rank k values lie between whole hits.
    """
    statistic: Any = null.statistic
    _, size, _ = statistic.straddling(null.tie_sizes)
    return float(statistic.divided_by(null.n_samples, null.n_positives)), int(size) == 1


def _hits(null: NullDistribution, low: float, high: float, start: float) -> tuple[Floats, bool]:
    """Values that are whole hits away from `start`, and whether there are none between them."""
    divisor, is_even = _unit_of_hits(null)
    group = math.ceil((high - low) * divisor / _MAX_BARS - 1e-6)
    step = max(group, 1) / divisor
    first, last = math.floor((low - start) / step + 1e-6), math.ceil((high - start) / step - 1e-6)
    values = start + step * np.arange(first, last + 1, dtype=np.float64)
    return values, group <= 1 and is_even


_DISTRIBUTION_NAMES: Mapping[str, str] = {
    "analytic": "exact null distribution",
    "permutation": "null distribution from random labellings",
    "normal": "normal approximation",
    "binomial": "binomial approximation",
    "pearson3": "Pearson III approximation",
    "zhang_su": "Zhang-Su approximation",
}
_SCALES, _VIEWS = ("linear", "log"), ("tail", "density")


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
        The null distribution: the p-value of each value; or a filled density, or a vertical line at
        each value if values are evenly spaced, as for hits at k, and outlines for several results.
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
    ax_, figure_ : matplotlib axes, matplotlib figure
        The axes of the plot, and the figure that contains them.

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
    as extreme, ``P(S >= s)`` if large values are extreme. The curve is exact at the observed value.
    Where few values are possible, as for hits at k or in a short list, it is exact elsewhere, too.
    Otherwise p-values are computed at some thirty values, with a relative error of at most 0.02,
    and interpolated between them, by cubic polynomials that keep the curve monotone: read other
    p-values from ``results.null_distribution.pvalue``. P-values below 1e-300 are drawn as their
    logarithm to base 10.

    The height of a density over a bin from a to b is ``(P(S > a) - P(S > b)) / (b - a)``, computed
    from the exact tails without sampling.

    The body is drawn up to where a probability of less than 0.0001 is left, and at most 4 standard
    deviations below the mean and 7 above it. P-values extend to the observed value, and a density
    on a logarithmic scale a quarter of a standard deviation further.

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
        curve_kwargs, observed_kwargs : dict, optional
            Keywords of matplotlib for the null distribution, and of ``axvline`` for the observed
            value.
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
            ``stairs`` (for evenly spaced values ``plot``) for their histogram.
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
        views: list[Any] = [tail_curve(result) for result in results if y_axis == "tail"]
        if y_axis == "density":
            views = [distribution_shape(result, yscale == "log") for result in results]
        if y_axis == "density" and len(views) > 1:
            # The steps of folds may differ.
            views = [replace(view, step=None) for view in views]
        ax = self._start(ax)
        self.tail_ = self.normal_line_ = self.chance_level_ = self.histogram_ = None
        self.text_ = self.point_ = None
        is_log = yscale == "log" and not views[0].underflows
        if is_log:
            ax.set_yscale("log")
        ends = [
            *(end for view in views for end in view.x[[0, -1]]),
            *(r.statistic for r in results),
        ]
        low, high = float(min(ends)), float(max(ends))
        margin = 0.03 * (high - low) or abs(high) or 1.0
        ax.set_xlim(low - margin, high + margin)
        limits = [view.limits([r.log10_pvalue for r in results], yscale == "log") for view in views]
        ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
        self._plot_each(views, named, curve_kwargs, observed_kwargs)
        if len(results) == 1:
            (view,), null = views, results[0].null_distribution
            self._plot_one(view, results[0])
            if n_resamples:
                exact = copy(null)
                if null.method != "permutation":
                    # An approximation would be sampled from the approximation.
                    exact.method = "analytic"
                sample = exact.rvs(n_resamples, random_state=random_state)
                style = {"color": foreground(), "linewidth": 1.0}
                style["label"] = f"{sample.size} random labellings"
                style = merged_style(style, histogram_kwargs)
                self.histogram_ = view.draw_sample(ax, sample, style)
            if plot_normal and null.method not in ("normal", "zhang_su") and null.std() > 0.0:
                style = {"color": foreground(), "linestyle": ":"}
                style["label"] = "normal, same mean and sd"
                style = merged_style(style, normal_kwargs)
                (self.normal_line_,) = ax.plot(*view.normal(null), **style)
        if plot_chance_level:
            chance = float(np.mean([result.null_distribution.mean() for result in results]))
            style = reference_style(label=f"chance level ({format_value(chance)})")
            self.chance_level_ = ax.axvline(chance, **merged_style(style, chance_level_kw))
        ax.set_xlabel(heading(results[0]))
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

    def _plot_each(
        self, views: Any, named: Mapping[str, Any], curve_kwargs: Any, observed_kwargs: Any
    ) -> None:
        """Draw each null distribution, and the observed value with its p-value."""
        self.line_, self.observed_line_, self.point_ = [], [], []
        for number, (view, (name, result)) in enumerate(zip(views, named.items(), strict=True)):
            draw, style = view.draw_outline, ranker_style(number)
            own = {**style, "label": f"{short(name)}: {_stated(result)}"}
            if len(views) == 1:
                method = result.null_distribution.method
                label = _DISTRIBUTION_NAMES.get(method, "null distribution")
                draw, style = view.draw, {"color": style["color"], "label": label}
                own = {"color": ranker_style(1)["color"], "label": short(name) or "observed"}
            style, own = merged_style(style, curve_kwargs), merged_style(own, observed_kwargs)
            self.observed_line_.append(self.ax_.axvline(float(result.statistic), **own))
            self.line_.append(draw(self.ax_, style))
            self.point_.append(None)
            if isinstance(view, TailCurve) and math.isfinite(result.log10_pvalue):
                # A line from the observed p-value to its axis.
                x, y = (result.statistic, self.ax_.get_xlim()[0]), view.height(result.log10_pvalue)
                style = {"color": own["color"], "linestyle": ":", "linewidth": 1.0}
                style |= {"marker": "o", "markevery": [0]}
                (self.point_[-1],) = self.ax_.plot(x, (y, y), **style)

    def _plot_one(self, view: Any, result: Any) -> None:
        """Shade the values that are as extreme, and write the observed one and its p-value."""
        (self.line_,), (self.observed_line_,), (self.point_,) = (
            self.line_,
            self.observed_line_,
            self.point_,
        )
        observed, color = float(result.statistic), ranker_style(1)["color"]
        self.tail_ = view.draw_extreme(self.ax_, observed, _greater_is_extreme(result), color)
        # The text is on the side of the line where the axes are wider, above all that is drawn.
        side = "left" if observed < 0.5 * sum(self.ax_.get_xlim()) else "right"
        style = {"color": self.observed_line_.get_color(), "fontsize": "small"}
        style |= {"transform": self.ax_.get_xaxis_transform(), "ha": side, "va": "bottom"}
        self.text_ = self.ax_.text(observed, 1.01, _stated(result), **style)


def _greater_is_extreme(result: Any) -> bool:
    """Whether the upper tail is drawn; for a two-sided test the tail with the smaller p-value."""
    if result.alternative != "two-sided":
        return bool(result.alternative == "greater")
    null, observed = result.null_distribution, float(result.statistic)
    return bool(null.log_pvalue(observed, "greater") <= null.log_pvalue(observed, "less"))


def _stated(result: Any) -> str:
    """The observed value and its p-value."""
    pvalue = state_pvalue(float(result.log10_pvalue), bool(result.pvalue_is_bound))
    if result.log10_pvalue == -math.inf:
        pvalue = "p underflows"
    return with_minus(format_value(float(result.statistic))) + f", {pvalue}"


def null_figure(test: MetricTestResult, name: str, what: str) -> Any:
    """Draw the null distribution and the observed value of a test, for `what` needs a figure."""
    figure = new_figure(what)
    NullDistributionDisplay(test, name=name).plot(figure.add_subplot())
    return figure
