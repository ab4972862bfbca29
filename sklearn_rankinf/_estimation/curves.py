"""Curves of a ranking with pointwise and simultaneous limits, and differences of two curves."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from sklearn_rankinf._estimation.curve_kinds import (
    CURVES,
    MANY_ABOVE,
    CurveKind,
    joint_covariance,
    shrunk_correlation,
)
from sklearn_rankinf._estimation.estimates import check_both_classes
from sklearn_rankinf._estimation.limits import mover_limits, t_quantile
from sklearn_rankinf._estimation.prevalence import check_prevalence
from sklearn_rankinf._estimation.regions import Region, observed_recall
from sklearn_rankinf._estimation.simultaneous import maximum_quantile
from sklearn_rankinf._permutation import Draws, chunk_sizes
from sklearn_rankinf._ranking import (
    PosLabel,
    Ranking,
    Sample,
    check_confidence_level,
    check_option,
    holds_rankers,
    warn_caller,
)
from sklearn_rankinf._results import Result, format_value
from sklearn_rankinf._statistics import Floats

# Limits were simulated with at least this many items of each class.
_FEWEST = 10
# Resamples that one job draws at a time.
_RESAMPLES_OF_A_JOB = 16


@dataclass(frozen=True, eq=False, repr=False)
class CurveResult(Result, ABC):
    """Base of curves with limits.

    A curve has a point for each entry of `x`, and limits that hold for a single point or for the
    whole curve.
    """

    curve: str
    n_samples: int
    n_positives: int
    confidence_level: float
    method: str
    prevalence: float | None
    x: Floats = field(repr=False)
    value: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    low_simultaneous: Floats = field(repr=False)
    high_simultaneous: Floats = field(repr=False)
    critical_value: float = field(repr=False)

    @property
    def _kind(self) -> CurveKind:
        return CURVES[self.curve].in_population(self.prevalence)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        columns = {self._kind.x_name: self.x, self._y_name: self.value}
        for name in ("low", "high", "low_simultaneous", "high_simultaneous"):
            columns[name] = getattr(self, name)
        return {name: values.tolist() for name, values in columns.items()}

    @property
    def _y_name(self) -> str:
        return self._kind.y_name

    def _sentences(self) -> Iterable[str]:
        level = f"{100 * self.confidence_level:g} %"
        size = f"{self.n_positives} positives among {self.n_samples} items"
        place = self._kind.place or ","
        yield f"{self._subject} of {size}{place} with {level} limits."
        for at in self._stated():
            alone = f"{format_value(self.low[at])} to {format_value(self.high[at])}"
            low, high = self.low_simultaneous[at], self.high_simultaneous[at]
            yield (
                f"{self._y_title} was {format_value(self.value[at])} at "
                f"{self._kind.x_title_in_text} {format_value(self.x[at])} ({alone} "
                f"for this point alone, {format_value(low)} to {format_value(high)} for the curve)."
            )
        first, last = format_value(self.x[0]), format_value(self.x[-1])
        yield (
            f"With a confidence of {level} the limits for the curve contain {self._contained} from "
            f"{self._kind.x_title_in_text} {first} to {last}."
        )

    @property
    @abstractmethod
    def _subject(self) -> str:
        """The curve, or the difference, for a sentence."""

    @property
    @abstractmethod
    def _y_title(self) -> str:
        """What the values are, at the beginning of a sentence."""

    @property
    @abstractmethod
    def _contained(self) -> str:
        """What the simultaneous limits contain."""

    def _stated(self) -> list[int]:
        """Places of the points of sentences."""
        wanted = self._kind.stated(self.n_samples, self.n_positives)
        return list(dict.fromkeys(int(np.argmin(np.abs(self.x - x))) for x in wanted))


@dataclass(frozen=True, eq=False, repr=False)
class MetricCurve(CurveResult):
    """Result of :func:`metric_curve`.

    Attributes
    ----------
    curve : {"precision_recall", "roc", "recall", "gain"}
        The curve.
    n_samples, n_positives : int
        Number of items and of positives.
    confidence_level : float
        Nominal coverage of the limits.
    method : str
        Method of the simultaneous limits.
    prevalence : float or None
        Prevalence of the population; None for that of the sample.
    x : ndarray of shape (n_points,)
        Recall, false-positive rate, number of items from the top, or fraction of all items. The
        points cover the range in which limits are given.
    value : ndarray of shape (n_points,)
        Precision, true-positive rate, or recall.
    low, high : ndarray of shape (n_points,)
        Pointwise limits: for one point that was chosen before the data were seen.
    low_simultaneous, high_simultaneous : ndarray of shape (n_points,)
        Simultaneous limits: for all points at once.
    critical_value : float
        Number of standard errors of the simultaneous limits; for ``"campbell"`` and
        ``"kolmogorov"`` the width of the band along the axis of `x`.

    See Also
    --------
    metric_curve : The function that returns this result.
    CurveDisplay : Plot of the curve.

    Examples
    --------
    >>> from sklearn_rankinf import Ranking, metric_curve
    >>> ranking = Ranking.from_counts([1] * 100, ([1] * 4 + [1, 0]) * 3 + [0] * 82)
    >>> metric_curve(ranking, curve="roc")
    MetricCurve(curve='roc', n_samples=100, n_positives=15, confidence_level=0.95, method='region')
    """

    _few_up_to: float = math.nan
    _corners: tuple[Floats, Floats] = (np.empty(0), np.empty(0))
    _chance: tuple[Floats, Floats] = (np.empty(0), np.empty(0))

    def _sentences(self) -> Iterable[str]:
        yield from super()._sentences()
        if not math.isnan(self._few_up_to):
            yield (
                f"Up to {self._kind.x_title_in_text} {format_value(self._few_up_to)} fewer than "
                f"{MANY_ABOVE} negatives score higher: the observed {self._y_title.lower()} is "
                "uncertain there, and the limits allow for it."
            )

    @property
    def _subject(self) -> str:
        return self._kind.title

    @property
    def _y_title(self) -> str:
        return self._kind.y_title

    @property
    def _contained(self) -> str:
        return "all of the true curve"


@dataclass(frozen=True, eq=False, repr=False)
class MetricCurveDifference(CurveResult):
    """Difference of two curves of the same items, a result of :func:`metric_curve`.

    Attributes
    ----------
    curve : {"precision_recall", "roc", "recall", "gain"}
        The curve.
    n_samples, n_positives : int
        Number of items and of positives.
    confidence_level : float
        Nominal coverage of the limits.
    method : str
        Method of the simultaneous limits.
    prevalence : float or None
        Prevalence of the population; None for that of the sample.
    x : ndarray of shape (n_points,)
        Recall, false-positive rate, number of items from the top, or fraction of all items.
    value : ndarray of shape (n_points,)
        The first ranker's curve minus the second's.
    low, high : ndarray of shape (n_points,)
        Pointwise limits.
    low_simultaneous, high_simultaneous : ndarray of shape (n_points,)
        Simultaneous limits, for all points of `x` at once.
    critical_value : float
        Number of standard errors of the simultaneous limits.
    names : list
        Names of the two rankers.

    See Also
    --------
    metric_curve : The function that returns this result.
    metric_comparison_test : Comparison of two rankers by one number.

    Examples
    --------
    >>> from sklearn_rankinf import metric_curve
    >>> y_true = [1] * 10 + [0] * 30
    >>> first, second = range(40, 0, -1), [*range(20, 10, -1), *range(40, 10, -1)]
    >>> metric_curve(y_true, {"a": first, "b": second}, difference=True)
    MetricCurveDifference(curve='precision_recall', n_samples=40, n_positives=10,
    confidence_level=0.95, method='region', names=['a', 'b'])
    """

    names: list[Any] = field(default_factory=list)

    @property
    def _y_name(self) -> str:
        return "difference"

    @property
    def _subject(self) -> str:
        a, b = self.names
        return f"Difference of the {self._kind.title_in_text}s, {a} minus {b},"

    @property
    def _contained(self) -> str:
        return f"the true difference at all {self.x.size} points"

    @property
    def _y_title(self) -> str:
        return f"The difference in {self._kind.y_title.lower()}"


def metric_curve(
    y_true: ArrayLike | Ranking,
    y_score: Any = None,
    *,
    curve: str = "precision_recall",
    pos_label: PosLabel = 1,
    confidence_level: float = 0.95,
    method: str = "auto",
    prevalence: float | None = None,
    difference: bool = False,
    n_resamples: int = 999,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Any:
    r"""Precision-recall, ROC, recall or gain curve with pointwise and simultaneous limits.

    The items are treated as a random sample of a population with fixed numbers of positives and
    negatives. The scores must come from a model that was not trained on these items.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels; or a ranking, in which case `y_score` is omitted.
    y_score : array-like of shape (n_samples,), dict or DataFrame, optional
        Scores of one ranker, larger for items more likely to be positive, or of several rankers,
        by name. Required unless `y_true` is a ranking.
    curve : {"precision_recall", "roc", "recall", "gain"}, default="precision_recall"
        Precision against recall; recall against the false-positive rate; recall against the number
        k of items from the top; or recall against the fraction of the list.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored if `y_true` is a ranking.
    confidence_level : float, default=0.95
        Nominal coverage of the limits.
    method : {"auto", "region", "campbell", "kolmogorov"}, default="auto"
        Method of the simultaneous limits; see Notes. ``"auto"`` selects ``"region"``; the others
        are for ``curve="roc"``.
    prevalence : float, optional
        Prevalence of the population in which the ranker will work, between 0 and 1, if it is not
        that of the sample, as in case-control and downsampled samples. For the precision-recall and
        the gain curve; the ROC curve is the same at every prevalence.
    difference : bool, default=False
        Whether to return the difference of the curves of two rankers.
    n_resamples : int, default=999
        Number of resamples for ``method="campbell"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of random numbers for the critical value and the resamples.
    n_jobs : int, optional
        Number of jobs for the resamples. The result does not depend on it.
    verbose : int, default=0
        Verbosity of joblib; larger values print more messages.

    Returns
    -------
    result : MetricCurve, MetricCurveDifference, or dict of MetricCurve
        The curve and its limits; of several rankers a dict of results by name.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given with a ranking, or if an argument has the wrong type.
    ValueError
        If a class has fewer than two items, if `difference` is true and there are not two
        rankers, or if an option is not one of those above or is not available for the curve.

    Warns
    -----
    UserWarning
        If a class has fewer than 10 items, for which the coverage of the limits is not known.

    See Also
    --------
    CurveDisplay : Plot of curves with their limits.
    metric_interval : Interval of a metric, such as recall at one k or average precision.
    top_k_significance_curve : Hits at every k compared with chance.

    Notes
    -----
    Recall at k, the ROC curve and the precision-recall curve are one curve: with m positives,
    n\ :sub:`0` negatives and the false-positive rate f, k is n\ :sub:`0` f + m recall, and the
    precision is m recall / k. ``"region"`` computes limits of recall at every k and reads them
    along the abscissa of the curve. The limits at k are the wider ones of the score interval,

    .. math:: (h/m - \kappa)^2 \le c^2 [(1 - \Lambda)^2 \kappa (1 - \kappa) / m
              + \Lambda^2 n_0 f (1 - f) / m^2], \qquad f = (k - m \kappa) / n_0,

    and of a likelihood-ratio interval with an effective sample size, where h is the number of hits
    and :math:`\Lambda` the share of positives about rank k. Pointwise, c is the quantile of
    Student's t with m - 1 degrees of freedom. Simultaneously, c is the quantile of the largest t
    statistic over all k [1]_, and limits of recall do not fall, nor rise by more than one hit for
    each item.

    **Another prevalence.** At prevalence :math:`\pi` the precision is
    :math:`\pi r / (\pi r + (1 - \pi) f)` at recall r, and the abscissa of the gain curve is
    :math:`\pi r + (1 - \pi) f`, with r and f of the same ROC curve. They are those of scikit-learn
    with weights :math:`\pi / m` of positives and :math:`(1 - \pi) / n_0` of negatives. The limits
    are read from the same region. They contain the true precision if and only if they contain the
    true false-positive rate at this recall, so that their coverage does not depend on the
    prevalence. The observed precision does: where few negatives score higher, it is uncertain, and
    too large on average. The summary states up to which point fewer than 10 do.

    Limits are given where they were simulated: for k from 2 to n - 2, for recall from
    0.02 to 0.98, and for false-positive rates from one negative to 0.99. Measured rates are in
    :ref:`coverage`.

    ``"campbell"`` shifts the ROC curve by a constant distance along the direction with slope
    :math:`-\sqrt{n_0/m}`, the quantile of the largest distance of the curves of resamples within
    each class [2]_. ``"kolmogorov"`` is guaranteed for every distribution: each rate is within the
    quantile of Kolmogorov's statistic at the level :math:`\sqrt{0.95}` for 95 %. Its limits are
    about 1.5 times as wide. Percentile limits of resamples at each point often miss the true curve
    and are not available.

    The difference of two curves of the same items has limits that combine those of each curve
    (MOVER) [3]_ with the correlation of the influence of the items on both, multiplied by
    m / (m + 10). They hold for the points of `x`: 24 k from m / 10 to n / 2, 22 false-positive
    rates from 0.02 to 0.9, or 17 recalls from 0.1 to 0.9.

    Equal scores are joined by straight lines, the mean over their orders. Items in clusters or
    strata are not supported.

    References
    ----------
    .. [1] Montiel Olea, J. L., & Plagborg-Møller, M. (2019). Simultaneous confidence bands: theory,
       implementation, and an application to SVARs. Journal of Applied Econometrics, 34(1), 1-17.
    .. [2] Campbell, G. (1994). Advances in statistical methodology for the evaluation of diagnostic
       and laboratory tests. Statistics in Medicine, 13(5-7), 499-508.
    .. [3] Zou, G. Y., & Donner, A. (2008). Construction of confidence limits about effect measures:
       a general approach. Statistics in Medicine, 27(10), 1693-1702.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import metric_curve
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(500) < 50
    >>> y_score = rng.normal(size=500) + 1.5 * y_true
    >>> result = metric_curve(y_true, y_score)
    >>> print(result.summary())
    Precision-recall curve of 50 positives among 500 items, with 95 % limits.
    Precision was 0.769 at recall 0.2 (0.522 to 1 for this point alone, 0.339 to 1 for the curve).
    Precision was 0.543 at recall 0.5 (0.337 to 0.784 for this point alone, 0.298 to 0.861 for the
    curve).
    Precision was 0.312 at recall 0.8 (0.217 to 0.479 for this point alone, 0.177 to 0.536 for the
    curve).
    With a confidence of 95 % the limits for the curve contain all of the true curve from recall
    0.02 to 0.98.
    """
    kind = CURVES[check_option(curve, "curve", CURVES)]
    kind = kind.in_population(check_prevalence(prevalence))
    level = check_confidence_level(confidence_level)
    known = [name for name, way in BANDS.items() if kind.name in way.curves]
    purpose = f" for curve={kind.name!r}"
    method = check_option(method, "method", ["auto", *known], purpose)
    method = known[0] if method == "auto" else method
    draws = Draws.read(n_resamples, random_state, n_jobs, verbose)
    if difference:
        sample, _ = _read_rankers(y_true, y_score, pos_label)
        return _difference(kind, sample, level, method, draws)
    return of_each_ranker(
        lambda ranking: _curve(kind, ranking, level, method, draws), y_true, y_score, pos_label
    )


def of_each_ranker(
    compute: Callable[[Ranking], Any], y_true: Any, y_score: Any, pos_label: PosLabel
) -> Any:
    """The result of the ranking of one ranker, or those of several by name."""
    sample, has_several = _read_rankers(y_true, y_score, pos_label)
    results = [compute(ranking) for ranking in sample.rankings]
    return dict(zip(sample.names, results, strict=True)) if has_several else results[0]


def _read_rankers(y_true: Any, y_score: Any, pos_label: PosLabel) -> tuple[Sample, bool]:
    """Labels and scores with enough items of both classes, and whether rankers have names."""
    has_several = holds_rankers(y_score)
    columns = "rankers" if has_several else ""
    sample = Sample.read(y_true, y_score, pos_label=pos_label, columns=columns)
    _check_sizes(sample.rankings[0])
    return sample, has_several


def _check_sizes(ranking: Ranking) -> None:
    """Raise an error or warn if a class has too few items."""
    check_both_classes(ranking)
    n, m = ranking.n_samples, ranking.n_positives
    least, what = min((m, "positives"), (n - m, "negatives"))
    if least < 2:
        raise ValueError(
            f"y_true has only 1 of the {what}, but limits of a curve need at least 2 items of "
            "each class: compare the ranking with chance by top_k_significance_curve."
        )
    if least < _FEWEST:
        warn_caller(
            f"The curve has only {least} {what}; the coverage of its limits was simulated with at "
            f"least {_FEWEST}.",
            UserWarning,
        )


def _curve(
    kind: CurveKind, ranking: Ranking, level: float, method: str, draws: Draws
) -> MetricCurve:
    x = kind.points(ranking)
    low, high = kind.limits(Region.pointwise(ranking, level), x)
    band = BANDS[method].limits(kind, ranking, x, level, draws)
    return MetricCurve(
        curve=kind.name,
        n_samples=ranking.n_samples,
        n_positives=ranking.n_positives,
        confidence_level=level,
        method=method,
        prevalence=kind.prevalence,
        x=x,
        value=kind.value(ranking, x),
        low=low,
        high=high,
        # Limits of the region may be shorter at a single point, where no curve could be otherwise.
        low_simultaneous=np.minimum(band.low, low),
        high_simultaneous=np.maximum(band.high, high),
        critical_value=band.critical_value,
        _few_up_to=kind.few_up_to(ranking, x),
        _corners=kind.corners(ranking),
        _chance=kind.chance(ranking),
    )


# Methods of simultaneous limits.


class Band(NamedTuple):
    """Simultaneous limits, and what their width was multiplied by."""

    low: Floats
    high: Floats
    critical_value: float


@dataclass(frozen=True)
class BandMethod:
    """A method of simultaneous limits: what it is called, and the curves that it applies to."""

    title: str
    limits: Callable[[CurveKind, Ranking, Floats, float, Draws], Band]
    curves: tuple[str, ...]
    reference: str = ""


def _by_region(kind: CurveKind, ranking: Ranking, x: Floats, level: float, draws: Draws) -> Band:
    region = Region.simultaneous(ranking, level, np.random.default_rng(draws.seeds))
    return Band(*kind.limits(region, x), region.critical_value)


def _by_resamples(kind: CurveKind, ranking: Ranking, x: Floats, level: float, draws: Draws) -> Band:
    """Campbell's band: lines of slope -s each cross a rising curve once."""
    n, m = ranking.n_samples, ranking.n_positives
    rates, steepness = kind.corners(ranking), math.sqrt((n - m) / m)
    widest = partial(_widest_shifts, ranking, rates, steepness)
    sizes = chunk_sizes(draws.n_resamples, 1, _RESAMPLES_OF_A_JOB)
    shifts = np.concatenate(draws.over(widest, draws.chunks(sizes)))
    shift = float(np.quantile(shifts, level, method="higher"))
    below, above = _shifted(ranking, x, shift)
    return _clipped(below - steepness * shift, above + steepness * shift, shift)


def _widest_shifts(
    ranking: Ranking,
    rates: tuple[Floats, Floats],
    steepness: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> Floats:
    """Largest distance, in false-positive rates, of the curve of each resample."""
    hits, m = ranking.hits, ranking.n_positives
    misses, n0 = ranking.tie_sizes - hits, ranking.n_samples - m
    level = rates[1] + steepness * rates[0]
    found = np.empty(n_resamples)
    for number in range(n_resamples):
        y = np.append(0.0, np.cumsum(rng.multinomial(m, hits / m)) / m)
        x = np.append(0.0, np.cumsum(rng.multinomial(n0, misses / n0)) / n0)
        drawn = y + steepness * x
        at_corners = np.interp(level, drawn, x) - rates[0]
        at_drawn = x - np.interp(drawn, level, rates[0])
        found[number] = max(np.abs(at_corners).max(), np.abs(at_drawn).max())
    return found


def _by_kolmogorov(
    kind: CurveKind, ranking: Ranking, x: Floats, level: float, draws: Draws
) -> Band:
    n, m = ranking.n_samples, ranking.n_positives
    of_each = np.sqrt(level)
    aside, up = (float(stats.kstwo.ppf(of_each, size)) for size in (n - m, m))
    below, above = _shifted(ranking, x, aside)
    return _clipped(below - up, above + up, aside)


def _shifted(ranking: Ranking, x: Floats, aside: float) -> tuple[Floats, Floats]:
    """The observed recall at smaller and at larger false-positive rates; 0 and 1 beyond the ends.

    Where the curve is vertical, the lower end counts at the smaller rate.
    """
    smaller, larger = x - aside - 1e-6 / ranking.n_samples, x + aside
    below = np.where(smaller < 0.0, 0.0, observed_recall(ranking, np.maximum(smaller, 0.0)))
    return below, np.where(larger > 1.0, 1.0, observed_recall(ranking, np.minimum(larger, 1.0)))


def _clipped(low: Floats, high: Floats, width: float) -> Band:
    return Band(np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0), width)


_ALL = tuple(CURVES)
BANDS: Mapping[str, BandMethod] = MappingProxyType(
    {
        "region": BandMethod("region of all cut-offs", _by_region, _ALL),
        "campbell": BandMethod("Campbell's fixed width", _by_resamples, ("roc",), "Campbell 1994"),
        "kolmogorov": BandMethod("Kolmogorov's statistic", _by_kolmogorov, ("roc",)),
    }
)
"""The methods of simultaneous limits by name, the recommended one first."""


# Differences of two curves.


def _difference(
    kind: CurveKind, sample: Sample, level: float, method: str, draws: Draws
) -> MetricCurveDifference:
    if len(sample.scores) != 2:
        n_given = f"{len(sample.scores)} ranker{'' if len(sample.scores) == 1 else 's'}"
        raise ValueError(
            f"difference=True needs two rankers of the same items; got {n_given}: pass a dict "
            "with the scores of two."
        )
    if method != "region":
        raise ValueError(f"method={method!r} has no difference of two curves: use method='region'.")
    both, m = sample.rankings, sample.n_positives
    x = kind.points_of_difference(both[0])
    influence = [kind.influence(ranking, x) for ranking in both]
    one, other, shared, covariance = joint_covariance(influence, sample)
    correlation = shrunk_correlation(one, other, shared, m)
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    varies = deviation > 0.0
    quantile = float(t_quantile(m - 1.0, level))
    critical = quantile
    if varies.any():
        scales = np.outer(deviation[varies], deviation[varies])
        rng = np.random.default_rng(draws.seeds)
        found = maximum_quantile(covariance[np.ix_(varies, varies)] / scales, m - 1.0, level, rng)
        critical = max(found, quantile)
    values = [kind.value(ranking, x) for ranking in both]

    def limits_at(number: float) -> tuple[Floats, Floats]:
        one, another = (
            (value, *_around(kind.limits(Region.of(ranking, number), x), value))
            for value, ranking in zip(values, both, strict=True)
        )
        return mover_limits(*one, *another, correlation)

    return MetricCurveDifference(
        kind.name,
        sample.n_items,
        m,
        level,
        method,
        kind.prevalence,
        x,
        values[0] - values[1],
        *limits_at(quantile),
        *limits_at(critical),
        critical,
        list(sample.names),
    )


def _around(limits: tuple[Floats, Floats], value: Floats) -> tuple[Floats, Floats]:
    """Limits that include the value, as combined ones must."""
    return np.minimum(limits[0], value), np.maximum(limits[1], value)
