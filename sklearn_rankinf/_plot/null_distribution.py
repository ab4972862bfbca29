"""Display of a null distribution, as probabilities of bins, with the observed value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sklearn_rankinf._null import NullDistribution, n_listed
from sklearn_rankinf._plot.base import (
    RankersDisplay,
    foreground,
    hide_spines,
    merged_style,
    new_figure,
    reference_style,
)
from sklearn_rankinf._ranking import check_integer, check_option
from sklearn_rankinf._results import state_pvalue
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
# Largest number of counts of hits that are drawn as separate bars; more counts are grouped.
_MAX_BARS = 80
# A picture of a smaller log10 p-value is on a logarithmic scale, to show the tail.
_FAR = -3.0
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

    def beyond(self, observed: float, *, greater: bool) -> NDArray[np.bool_]:
        """Bins of the values at least as extreme as the observed one, which must be at an edge."""
        # The observed value is in the middle of a bin of hits, and at the end of any other bin.
        if greater:
            return np.asarray(self.centres >= observed - _SAME * abs(observed))
        return np.asarray(self.centres <= observed + _SAME * abs(observed))

    @property
    def unit(self) -> float:
        """Factor from density to height: the step of evenly spaced values, otherwise 1."""
        return 1.0 if self.step is None else self.step

    @property
    def heights(self) -> Floats:
        """Probability of each of evenly spaced values, or the density of each bin."""
        return self.probabilities / np.diff(self.edges) * self.unit

    @property
    def centres(self) -> Floats:
        return 0.5 * (self.edges[1:] + self.edges[:-1])

    def heights_of(self, sample: Floats) -> Floats:
        """Heights of a sample from the distribution, on the same scale."""
        counts, _ = np.histogram(sample, self.edges)
        return counts / sample.size / np.diff(self.edges) * self.unit


def distribution_shape(
    null: NullDistribution, observed: float, *, greater: bool, with_tail: bool
) -> DistributionShape:
    """Bins and their probabilities around the body of a null distribution.

    There is an edge at the observed value. `greater` is whether values greater than it are more
    extreme; `with_tail` is whether the bins extend to it if it is beyond the body on that side.
    """
    mean, deviation = null.mean(), null.std()
    if deviation == 0.0:
        return _single_value(mean)
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
        return _shape_of_hits(null, null.statistic, low, high, observed, greater)
    edges = _edges(null, body, low, high, observed, greater)
    return DistributionShape(edges, _bin_probabilities(null, edges))


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


def _single_value(value: float) -> DistributionShape:
    return DistributionShape(np.array([value - 0.01, value + 0.01]), np.ones(1), 0.02)


def _edges(
    null: NullDistribution,
    inner: tuple[float, float],
    low: float,
    high: float,
    observed: float,
    greater: bool,
) -> Floats:
    """Edges that are close together in the body and further apart beyond it."""
    deviation = null.std()
    # Bins exclude their lower edge; the smallest value must be inside the first bin.
    edges = [np.linspace(inner[0] - 1e-9 * deviation, inner[1], _n_bins(null) + 1)]
    if low < inner[0]:
        edges.append(np.linspace(low, inner[0], _N_FAR_BINS)[:-1])
    if high > inner[1]:
        edges.append(np.linspace(inner[1], high, _N_FAR_BINS)[1:])
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


def _shape_of_hits(
    null: NullDistribution,
    statistic: Any,
    low: float,
    high: float,
    observed: float,
    greater: bool,
) -> DistributionShape:
    """Bins of one hit each, or of a few hits if there are many, with an edge at the observed."""
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
    probabilities = _bin_probabilities(null, edges)
    return DistributionShape(edges, probabilities, step if is_lattice else None)


_DISTRIBUTION_NAMES: Mapping[str, str] = {
    "analytic": "exact null distribution",
    "permutation": "null distribution from random labellings",
    "normal": "normal approximation",
    "binomial": "binomial approximation",
    "pearson3": "Pearson III approximation",
    "zhang_su": "Zhang-Su approximation",
}
_SCALES = ("linear", "log")


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
        The null distribution: a filled density, or bars if the values are evenly spaced, as for
        hits at k; outlines for several results.
    observed_line_ : matplotlib artist or list of artists
        Vertical line at the observed value.
    tail_ : matplotlib artist or None
        The part of the null distribution that is at least as extreme as the observed value.
    normal_line_ : matplotlib artist or None
        The normal density with the exact mean and standard deviation.
    chance_level_ : matplotlib artist or None
        Vertical line at the mean of the null distribution.
    histogram_ : matplotlib artist or None
        Outline of the histogram of random labellings.
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
    The height over a bin from a to b is ``(P(S > a) - P(S > b)) / (b - a)``, computed from the
    exact tails without sampling. The bins end where a probability of less than 0.0001 is left, and
    at most 4 standard deviations below the mean and 7 above it. On a logarithmic scale they extend
    beyond the observed value until less than a hundredth of its p-value is left, by at most half a
    standard deviation.

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

    _compute = staticmethod(metric_test)
    _kind = "results of a test such as average_precision_test"

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | Sequence[str] | None = None,
        yscale: str = "linear",
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
        yscale : {"linear", "log"}, default="linear"
            Scale of the heights. A logarithmic scale extends the plot to the observed value.
        curve_kwargs : dict, optional
            Keywords of matplotlib for the null distribution.
        observed_kwargs : dict, optional
            Keywords of matplotlib's ``axvline`` for the observed value.
        plot_chance_level : bool, default=True
            Whether to mark the mean under random labelling; for several results their average.
        chance_level_kw : dict, optional
            Keywords of matplotlib's ``axvline`` for the mean.
        plot_normal : bool, default=True
            Whether to draw the normal density with the exact mean and standard deviation for
            comparison. It is not drawn for several results, nor if the null distribution is normal.
        normal_kwargs : dict, optional
            Keywords of matplotlib's ``plot`` for the normal density.
        n_resamples : int, default=0
            Number of random labellings whose histogram is drawn for a single result.
        random_state : int, RandomState, Generator or None, default=0
            Source of the random labellings.
        histogram_kwargs : dict, optional
            Keywords of matplotlib's ``stairs`` for the histogram.
        despine : bool, default=False
            Whether to remove the top and right spines.

        Returns
        -------
        display : NullDistributionDisplay
            The display, with its artists as attributes.
        """
        yscale = check_option(yscale, "yscale", _SCALES)
        n_resamples = check_integer(n_resamples, "n_resamples", 0)
        named = self._read(name)
        names, results = list(named), list(named.values())
        self._start(ax)
        self.tail_ = self.normal_line_ = self.chance_level_ = self.histogram_ = None
        if len(results) == 1:
            shapes = [self._plot_one(results[0], names[0], yscale, curve_kwargs, observed_kwargs)]
            null = results[0].null_distribution
            if n_resamples:
                sample = _random_labellings(null, n_resamples, random_state)
                self._plot_histogram(shapes[0], sample, histogram_kwargs)
            if plot_normal and null.method not in ("normal", "zhang_su") and null.std() > 0.0:
                self._plot_normal(shapes[0], results[0], yscale, normal_kwargs)
        else:
            shapes = self._plot_several(named, yscale, curve_kwargs, observed_kwargs)
        if plot_chance_level:
            self._plot_chance_level(results, chance_level_kw)
        self._finish(results, shapes, yscale)
        if despine:
            hide_spines(self.ax_)
        return self

    def _is_result(self, result: Any) -> bool:
        return hasattr(result, "null_distribution")

    # Parts of the plot.

    def _plot_one(
        self,
        result: Any,
        name: str,
        yscale: str,
        curve_kwargs: Mapping[str, Any] | None,
        observed_kwargs: Mapping[str, Any] | None,
    ) -> DistributionShape:
        null, observed = result.null_distribution, float(result.statistic)
        greater = _greater_is_extreme(result)
        shape = distribution_shape(null, observed, greater=greater, with_tail=yscale == "log")
        label = _DISTRIBUTION_NAMES.get(null.method, null.method)
        self.line_ = _draw_distribution(
            self.ax_,
            shape,
            merged_style({"color": "C0", "alpha": 0.35, "label": label}, curve_kwargs),
        )
        extreme = shape.beyond(observed, greater=greater)
        if extreme.any():
            tail = replace(shape, probabilities=np.where(extreme, shape.probabilities, 0.0))
            self.tail_ = _draw_distribution(self.ax_, tail, {"color": "C3", "alpha": 0.75})
        self.observed_line_ = self.ax_.axvline(
            observed,
            **merged_style({"color": "C3", "label": _label(result, name)}, observed_kwargs),
        )
        return shape

    def _plot_several(
        self,
        results: Mapping[str, Any],
        yscale: str,
        curve_kwargs: Mapping[str, Any] | None,
        observed_kwargs: Mapping[str, Any] | None,
    ) -> list[DistributionShape]:
        shapes, self.line_, self.observed_line_ = [], [], []
        for number, (name, result) in enumerate(results.items()):
            color = f"C{number % 10}"
            shape = distribution_shape(
                result.null_distribution,
                float(result.statistic),
                greater=_greater_is_extreme(result),
                with_tail=yscale == "log",
            )
            # Densities are drawn, because the steps of the folds may differ.
            shape = replace(shape, step=None)
            style = merged_style({"color": color, "alpha": 0.6}, curve_kwargs)
            self.line_.append(self.ax_.stairs(shape.heights, shape.edges, **style))
            style = merged_style({"color": color, "label": _label(result, name)}, observed_kwargs)
            self.observed_line_.append(self.ax_.axvline(float(result.statistic), **style))
            shapes.append(shape)
        return shapes

    def _plot_histogram(
        self, shape: DistributionShape, sample: Any, kwargs: Mapping[str, Any] | None
    ) -> None:
        label = f"{sample.size} random labellings"
        style = merged_style({"color": "C0", "linewidth": 1.0, "label": label}, kwargs)
        self.histogram_ = self.ax_.stairs(shape.heights_of(sample), shape.edges, **style)

    def _plot_normal(
        self, shape: DistributionShape, result: Any, yscale: str, kwargs: Mapping[str, Any] | None
    ) -> None:
        null = result.null_distribution
        mean, deviation = null.mean(), null.std()
        low, high = shape.edges[[0, -1]]
        if yscale == "linear":
            low = min(low, mean - 3.5 * deviation)
        x = np.linspace(low, high, 400)
        label = "normal distribution, same mean and sd"
        style = merged_style({"color": foreground(), "linestyle": ":", "label": label}, kwargs)
        height = stats.norm.pdf(x, mean, deviation) * shape.unit
        (self.normal_line_,) = self.ax_.plot(x, height, **style)

    def _plot_chance_level(self, results: Sequence[Any], kwargs: Mapping[str, Any] | None) -> None:
        chance = float(np.mean([result.null_distribution.mean() for result in results]))
        style = reference_style(label=f"chance level ({_symbol(results[0])} = {chance:.3g})")
        self.chance_level_ = self.ax_.axvline(chance, **merged_style(style, kwargs))

    def _finish(self, results: list[Any], shapes: list[DistributionShape], yscale: str) -> None:
        ax = self.ax_
        observed = [float(result.statistic) for result in results]
        low = min(min(shape.edges[0] for shape in shapes), *observed, math.inf)
        high = max(max(shape.edges[-1] for shape in shapes), *observed, -math.inf)
        margin = 0.03 * (high - low)
        ax.set_xlim(low - margin, high + margin)
        heights = np.concatenate([shape.heights for shape in shapes])
        if yscale == "log":
            positive = heights[heights > 0.0]
            ax.set_yscale("log")
            ax.set_ylim(max(positive.min() * 0.3, 1e-300), positive.max() * 3.0)
        else:
            ax.set_ylim(0.0, None)
        ax.set_xlabel(_title(results[0]))
        ax.set_ylabel("Density" if shapes[0].step is None else "Probability")
        _legend(ax, self.line_, self.observed_line_)


def _legend(ax: Any, line: Any, observed: Any) -> None:
    """Legend with the observed value first, then the null distribution, then the rest."""
    first = [*observed, *line] if isinstance(observed, list) else [observed, line]
    handles, labels = ax.get_legend_handles_labels()
    order = sorted(
        range(len(handles)),
        key=lambda i: next((j for j, artist in enumerate(first) if artist is handles[i]), 99),
    )
    ax.legend([handles[i] for i in order], [labels[i] for i in order])


def _draw_distribution(ax: Any, shape: DistributionShape, style: Mapping[str, Any]) -> Any:
    """Draw bars for evenly spaced values, or a filled outline for a density."""
    if shape.step is None:
        return ax.stairs(shape.heights, shape.edges, fill=True, **style)
    return ax.bar(shape.centres, shape.heights, width=0.85 * shape.step, **style)


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


def _label(result: Any, name: str) -> str:
    value = f"{_symbol(result)} = {result.statistic:.3g}"
    log10_pvalue = float(result.log10_pvalue)
    pvalue = state_pvalue(log10_pvalue, bool(result.pvalue_is_bound))
    text = f"{value}, {pvalue if log10_pvalue > -math.inf else 'p underflows'}"
    return f"{name}: {text}" if name else text


def _symbol(result: Any) -> str:
    """Name of the statistic in a legend."""
    symbol = str(result.metric.symbol)
    if not isinstance(result, QueriesTestResult):
        return symbol
    return f"M{symbol}" if symbol.startswith(("AP", "RR")) else f"mean {symbol}"


def _title(result: Any) -> str:
    title = str(result.metric.title)
    return f"Mean {result.metric.title_in_text}" if isinstance(result, QueriesTestResult) else title


def null_figure(test: MetricTestResult, name: str, what: str) -> Any:
    """Draw the null distribution and the observed value of a test, for `what` needs a figure."""
    figure = new_figure(what)
    scale = "log" if test.log10_pvalue < _FAR else "linear"
    NullDistributionDisplay(test, name=name).plot(figure.add_subplot(), yscale=scale)
    return figure
