"""Comparison of one ranker on different items: groups such as sites, sexes or months."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sklearn_rankinf._estimation.comparison_methods import on_g_scale
from sklearn_rankinf._estimation.estimates import (
    Estimate,
    check_both_classes,
    check_sample,
    choose_method,
    estimate_of,
    interval_methods,
    limits_around,
    takes_prevalence,
)
from sklearn_rankinf._estimation.limits import (
    difference_error,
    metric_difference_test,
    mover_limits,
    t_test,
)
from sklearn_rankinf._estimation.multiple_comparison import scaled_for_tests
from sklearn_rankinf._estimation.simultaneous import all_pairs, holm
from sklearn_rankinf._metrics import as_metric, check_has_influence
from sklearn_rankinf._permutation import (
    DesignWarning,
    Draws,
    Exchange,
    chunk_sizes,
    few_labellings_warning,
)
from sklearn_rankinf._ranking import (
    PosLabel,
    Sample,
    check_alternative,
    check_between,
    check_confidence_level,
    check_option,
    numbered,
    warn_caller,
)
from sklearn_rankinf._results import (
    Result,
    format_value,
    state_drawn_pvalue,
    state_interval,
    state_pvalue,
)
from sklearn_rankinf._statistics import Floats, Integers, Metric, Statistic, log10_of

# Statistics closer to each other than this share of their size are equal.
_EQUAL = 1e-9
# How extreme a statistic is, by alternative.
_EXTREMES: dict[str, Callable[[Floats], Floats]] = {
    "two-sided": np.abs,
    "greater": np.positive,
    "less": np.negative,
}
_COLUMNS = ("difference", "standard_error", "low", "high", "pvalue", "pvalue_unadjusted")


@dataclass(frozen=True, eq=False, repr=False)
class MetricGroupComparisonTestResult(Result):
    """Result of :func:`metric_group_comparison_test`.

    Attributes
    ----------
    metric : metric
        The metric; a cut-off that is a fraction is one of each group's list.
    names : list
        Names of the groups, in sorted order.
    statistic : ndarray of shape (n_groups,)
        Value of the metric in each group, at the prevalence if there is one.
    statistic_standard_error : ndarray of shape (n_groups,)
        Influence standard error of each value.
    group_n_samples, group_n_positives : ndarray of shape (n_groups,)
        Number of items and of positives of each group.
    pairs : ndarray of shape (n_pairs, 2)
        Indices of the groups that are compared.
    difference : ndarray of shape (n_pairs,)
        Value of the first group of a pair minus that of the second.
    standard_error : ndarray of shape (n_pairs,)
        Standard error of the difference.
    low, high : ndarray of shape (n_pairs,)
        Confidence limits of the differences, simultaneous if there are several pairs.
    pvalue : ndarray of shape (n_pairs,)
        P-values, adjusted for the number of pairs.
    pvalue_unadjusted : ndarray of shape (n_pairs,)
        Unadjusted p-values of the pairs.
    alternative : {"two-sided", "greater", "less"}
        The alternative hypothesis.
    method : {"permutation", "influence"}
        The method of the p-values.
    confidence_level : float
        Coverage of the limits.
    prevalence : float or None
        Prevalence at which all groups are compared; None if they are compared as they are.
    n_samples, n_positives : int
        Number of items and of positives of all groups.
    n_resamples : int or None
        Number of random permutations; None for the other method.

    See Also
    --------
    metric_group_comparison_test : The test that returns this result.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import metric_group_comparison_test
    >>> y_true, site = np.arange(400) % 8 == 0, np.repeat(["A", "B"], 200)
    >>> y_score = np.random.default_rng(0).normal(size=400) + np.where(site == "A", 2, 1) * y_true
    >>> result = metric_group_comparison_test(
    ...     y_true, y_score, group=site, metric="roc_auc"
    ... )
    >>> print(result.summary())
    ROC AUC was 0.956 in A and 0.787 in B (difference 0.169, 95 % confidence interval
    0.0708 to 0.276; two-sided p = 0.0033 by t test of influence values).
    """

    metric: Metric
    names: list[Any]
    statistic: Floats
    statistic_standard_error: Floats = field(repr=False)
    group_n_samples: Integers = field(repr=False)
    group_n_positives: Integers = field(repr=False)
    pairs: Integers = field(repr=False)
    difference: Floats
    standard_error: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    pvalue: Floats
    pvalue_unadjusted: Floats = field(repr=False)
    alternative: str
    method: str
    confidence_level: float = field(repr=False)
    prevalence: float | None
    n_samples: int = field(repr=False)
    n_positives: int = field(repr=False)
    n_resamples: int | None = field(default=None, repr=False)

    def _columns(self) -> dict[str, list[Any]]:
        first, second = ([self.names[i] for i in column] for column in self.pairs.T)
        return {"a": first, "b": second} | {name: getattr(self, name).tolist() for name in _COLUMNS}

    def _sentences(self) -> Iterable[str]:
        at = "" if self.prevalence is None else f" at a prevalence of {self.prevalence:.3g}"
        values = [
            f"{format_value(value)} in {name}"
            for name, value in zip(self.names, self.statistic, strict=True)
        ]
        start = f"{self.metric.title}{at} was {', '.join(values[:-1])} and {values[-1]}"
        tested = "two-sided" if self.alternative == "two-sided" else "one-sided"
        way = _METHODS[self.method].title
        if len(self.pairs) == 1:
            interval = state_interval(self.low[0], self.high[0], self.confidence_level)
            return [
                f"{start} (difference {format_value(self.difference[0])}, {interval}; "
                f"{tested} {self._stated(float(self.pvalue[0]))} by {way})."
            ]
        level = 1.0 - self.confidence_level
        differing = [
            f"{a} and {b}"
            for a, b, p in zip(*list(self._columns().values())[:2], self.pvalue, strict=True)
            if p <= level
        ]
        which = f": {'; '.join(differing)}" if differing else ""
        return [
            f"{start}. {len(differing)} of {len(self.pairs)} pairs differed at {level:.3g}{which} "
            f"({tested} p-values by {way}, adjusted by {_METHODS[self.method].adjusted_by}; "
            f"the smallest was {self._stated(float(self.pvalue.min()))}).",
        ]

    def _stated(self, pvalue: float) -> str:
        if self.n_resamples is None:
            return state_pvalue(log10_of(pvalue))
        return state_drawn_pvalue(pvalue, self.n_resamples)


def metric_group_comparison_test(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    group: Iterable[Hashable],
    metric: str | Metric = "average_precision",
    pos_label: PosLabel = 1,
    alternative: str = "two-sided",
    method: str = "auto",
    confidence_level: float = 0.95,
    prevalence: float | None = None,
    clusters: Iterable[Hashable] | None = None,
    n_resamples: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> MetricGroupComparisonTestResult:
    r"""Test whether one ranker does equally well on groups of different items.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Binary labels.
    y_score : array-like of shape (n_samples,)
        Scores, larger for items more likely to be positive. Items of each group are ranked
        among themselves.
    group : array-like of shape (n_samples,)
        Group of each item, such as its site, sex or month. Differences are those of an earlier
        group minus a later one in sorted order.
    metric : str or metric, default="average_precision"
        A metric, or its name with a cut-off after an @, as in ``"recall@0.1"``; see
        :func:`metric_test`. A fraction is that of each group's own list.
    pos_label : int, float, bool or str, default=1
        The label of the positives.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        The alternative hypothesis: the metric differs between the groups, is larger in the earlier
        group of a pair, or is smaller there.
    method : {"auto", "permutation", "influence"}, default="auto"
        Method of the p-values; see Notes. ``"auto"`` selects ``"influence"`` for ROC AUC, for which
        it has more power and fails less, and ``"permutation"`` for all other metrics.
    confidence_level : float, default=0.95
        Coverage of the limits of the differences, simultaneous for more than two groups.
    prevalence : float, optional
        Prevalence of the population in which the groups are compared, for average precision and for
        metrics at a fraction, which depend on it. By default it is that of all items together if
        the prevalences of the groups differ; the result says so.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each item. Only items of different clusters are independent, and a cluster
        lies in one group. Clusters with the same numbers of positives and of negatives are
        permuted.
    n_resamples : int, default=9999
        Number of random permutations.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random permutations.
    n_jobs : int, optional
        Number of jobs for random permutations. The result does not depend on it.
    verbose : int, default=0
        Verbosity of joblib; larger values print more messages.

    Returns
    -------
    result : MetricGroupComparisonTestResult
        The values, and for each pair of groups the difference, its limits and its p-value.

    Raises
    ------
    TypeError
        If `y_true` is a ranking, or if an argument has the wrong type.
    ValueError
        If labels, scores or groups are invalid, if there are fewer than two groups, if a group has
        fewer than two positives or negatives, or fewer than two clusters that have them, if a
        cluster lies in several groups, if the metric means something else in each group because
        their sizes differ, or if a group is too small for the prevalence.

    Warns
    -----
    DesignWarning
        If clusters leave only few different permutations.
    UserWarning
        If precision at the prevalence rests on few negatives of a group.

    See Also
    --------
    metric_comparison_test : Comparison of two rankers of the same items.
    metric_interval : Confidence interval of one value, also at another prevalence.

    Notes
    -----
    *What is compared.* Precision rises with the prevalence, so that a ranker has a larger average
    precision where positives are more frequent, without being better there. Groups of different
    prevalence are therefore compared by the values that they would have at one common prevalence
    (:ref:`another-prevalence`). This is possible for average precision, and for hits at a fraction.
    ROC AUC needs no prevalence. Other metrics, and a cut-off k that is a number of items, mean
    something else in each group if numbers of items and of positives differ, and are refused.

    ``"permutation"`` exchanges the groups of items, among positives and among negatives, so that
    each group keeps its numbers of both. The statistic of a pair of groups is the difference of
    their values divided by its influence standard error, which is computed again in each
    permutation; average precision is compared on the scale :math:`g(t) = -\log(-\log t)`. The
    p-value is (b + 1) / (B + 1) if b of B permutations have a statistic at least as extreme. It is
    exact if, given their labels, the scores of all groups have the same distribution. If the
    distributions differ and only the values of the metric are equal, the test is approximate, and
    holds its level in large samples because the statistic is studentised [1]_: without division by
    the standard error it would not. The measured sizes are in :ref:`coverage`. By ROC AUC it
    rejects far too often if the ranker is strong, a group has few positives, and in that group
    alone a few of them are left far behind. Scores move between groups together with their labels,
    so they should be on one scale: those of one model.

    ``"influence"`` takes each statistic as one of Student's t distribution, with m - 1 degrees of
    freedom, where m is the smaller number of positives of the two groups. ROC AUC is compared on
    the logit scale, with standard errors that are enlarged near 1, as in
    :func:`metric_multiple_comparison_test`. Scores of different groups are never compared, and may
    be on different scales.

    *Limits* of a difference are those of the two independent values, combined by the method of
    variance estimates recovery (MOVER) [2]_, and belong to neither test: where p is near
    ``1 - confidence_level`` they can disagree with it.

    *More than two groups.* All pairs are compared. P-values of permutations are adjusted by
    single-step maxT: each statistic is compared with the largest of all pairs in each permutation.
    If all groups are alike, the probability of any p-value below alpha is at most alpha. With other
    groups that differ this holds approximately. P-values of ``"influence"`` are adjusted by Holm's
    method. The limits are simultaneous by Bonferroni's inequality.

    References
    ----------
    .. [1] Chung, E., & Romano, J. P. (2013). Exact and asymptotically robust permutation tests.
       Annals of Statistics, 41(2), 484-507.
    .. [2] Zou, G. Y., & Donner, A. (2008). Construction of confidence limits about effect measures:
       a general approach. Statistics in Medicine, 27(10), 1693-1702.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import metric_group_comparison_test
    >>> rng = np.random.default_rng(0)
    >>> site = np.repeat(["north", "south", "west"], 500)
    >>> y_true = rng.random(1500) < np.repeat([0.15, 0.25, 0.15], 500)
    >>> y_score = rng.normal(size=1500) + np.repeat([2.0, 2.0, 0.5], 500) * y_true
    >>> result = metric_group_comparison_test(y_true, y_score, group=site, n_resamples=999)
    >>> f"{result.prevalence:.3f}", f"{y_true.mean():.3f}"
    ('0.185', '0.185')
    >>> (result.pvalue < 0.05).tolist()  # north - south, north - west, south - west
    [False, True, True]
    """
    alternative = check_alternative(alternative)
    method = check_option(method, "method", ["auto", *_METHODS])
    confidence_level = check_confidence_level(confidence_level)
    draws = Draws.read(n_resamples, random_state, n_jobs, verbose)
    groups = _Groups.of(
        check_has_influence(
            as_metric(metric), "use another metric, such as 'average_precision', to compare groups"
        ),
        _read(y_true, y_score, pos_label, clusters),
        group,
        None if prevalence is None else check_between(prevalence, "prevalence"),
    )
    if method == "auto":
        method = "influence" if groups.metric.family == "roc_auc" else "permutation"
    found = _METHODS[method].test(groups, alternative, draws)
    low, high = groups.limits(confidence_level)
    values, variances = groups.moments(groups.estimates)
    first, second = groups.pairs.T
    sizes, positives = np.array([one.size for one in groups.estimates]).T
    return MetricGroupComparisonTestResult(
        metric=groups.metric,
        names=groups.names,
        statistic=values,
        statistic_standard_error=np.sqrt(variances),
        group_n_samples=sizes,
        group_n_positives=positives,
        pairs=groups.pairs,
        difference=values[first] - values[second],
        standard_error=difference_error(variances[first], variances[second]),
        low=low,
        high=high,
        pvalue=found.pvalue,
        pvalue_unadjusted=found.unadjusted,
        alternative=alternative,
        method=method,
        confidence_level=confidence_level,
        prevalence=groups.prevalence,
        n_samples=groups.sample.n_items,
        n_positives=groups.sample.n_positives,
        n_resamples=found.n_resamples,
    )


def _read(y_true: Any, y_score: Any, pos_label: PosLabel, clusters: Any) -> Sample:
    sample = Sample.read(y_true, y_score, pos_label=pos_label, clusters=clusters)
    if sample.counts is not None:
        raise TypeError(
            "y_true is a Ranking, which does not identify the items; pass the labels and the "
            "scores of the items, whose groups are compared."
        )
    return sample


@dataclass(frozen=True, eq=False)
class _Groups:
    """Items in groups, numbered in sorted order, and the metric by which these are compared."""

    metric: Statistic
    sample: Sample
    codes: Integers
    names: list[Any]
    prevalence: float | None
    interval_method: str
    estimates: list[Estimate]

    @classmethod
    def of(cls, metric: Statistic, sample: Sample, group: Any, prevalence: float | None) -> _Groups:
        codes, names = _in_order(*numbered(group, "group", "group", sample.n_items))
        if len(names) < 2:
            raise ValueError(
                f"group has one group, {names[0]!r}: a comparison needs at least 2; use "
                "metric_interval for the value of one."
            )
        in_clusters = sample.design.clusters is not None
        if in_clusters:
            _check_clusters(sample, codes)
        parts = [sample.of_rows(np.flatnonzero(codes == code)) for code in range(len(names))]
        for name, part in zip(names, parts, strict=True):
            check_both_classes(part.rankings[0], f"group {name!r}")
            if min(part.n_independent) < 2:
                units = "cluster" if in_clusters else "item"
                kind = "positives" if part.n_independent[0] < 2 else "negatives"
                raise ValueError(
                    f"The {kind} of group {name!r} are a single {units}, whose variance cannot be "
                    "estimated: leave the group out, or join it with another one."
                )
        prevalence = _common_prevalence(metric, names, parts, prevalence, in_clusters)
        way = choose_method(metric, "auto", in_clusters, prevalence)
        for part in parts:
            check_sample(metric, (part.n_items, part.n_positives), prevalence, way)
        estimates = [estimate_of(metric, part, prevalence) for part in parts]
        return cls(metric, sample, codes, names, prevalence, way, estimates)

    @property
    def pairs(self) -> Integers:
        return all_pairs(len(self.names))

    def estimates_for(self, codes: Integers) -> list[Estimate]:
        """Estimates of other groups of the same sizes."""
        return [
            estimate_of(
                self.metric, self.sample.of_rows(np.flatnonzero(codes == code)), self.prevalence
            )
            for code in range(len(self.names))
        ]

    @staticmethod
    def moments(estimates: Iterable[Estimate]) -> tuple[Floats, Floats]:
        """Values and variances."""
        values, variances = np.array([(one.value, one.variance) for one in estimates]).T
        return values, variances

    def statistics(self, values: Floats, variances: Floats) -> Floats:
        """Studentised differences of all pairs along the last axis; 0 if the error is 0."""
        first, second = self.pairs.T
        found = metric_difference_test(
            values[..., first],
            values[..., second],
            variances[..., first],
            variances[..., second],
            0.0,
            2,
            on_g_scale=on_g_scale(self.metric),
            maximum=self.estimates[0].maximum if on_g_scale(self.metric) else 1.0,
        )
        return np.nan_to_num(found.statistic)

    def limits(self, confidence_level: float) -> tuple[Floats, Floats]:
        """MOVER limits of the differences, simultaneous by Bonferroni's inequality."""
        level = 1.0 - (1.0 - confidence_level) / len(self.pairs)
        way = interval_methods(self.metric, self.prevalence)[self.interval_method]
        around = np.array([limits_around(way, one, level) for one in self.estimates])
        first, second = self.pairs.T
        return mover_limits(*around[first].T, *around[second].T)


def _in_order(codes: Integers, names: list[Any]) -> tuple[Integers, list[Any]]:
    """Number the groups in sorted order; groups that cannot be compared, in that of their text."""
    numbers = range(len(names))
    try:
        order = sorted(numbers, key=names.__getitem__)
    except TypeError:
        order = sorted(numbers, key=lambda number: str(names[number]))
    return np.argsort(order)[codes], [names[number] for number in order]


def _check_clusters(sample: Sample, codes: Integers) -> None:
    """Raise an error for a cluster that lies in several groups."""
    clusters = sample.design.clusters
    assert clusters is not None
    _, first = np.unique(clusters, return_index=True)
    wrong = codes[first][clusters] != codes
    if wrong.any():
        name = sample.design.names["clusters"][clusters[np.argmax(wrong)]]
        raise ValueError(
            f"Cluster {name!r} lies in several groups, whose values then vary together: leave its "
            "items out of all groups but one."
        )


def _common_prevalence(
    metric: Statistic,
    names: list[Any],
    parts: list[Sample],
    given: float | None,
    in_clusters: bool,
) -> float | None:
    """The prevalence at which groups are compared; None if they are compared as they are."""
    if given is not None:
        return given
    sizes = [(part.n_items, part.n_positives) for part in parts]
    if metric.family == "roc_auc" or len(set(sizes)) == 1:
        return None
    k = getattr(metric, "k", None)
    (n, m), *others = sizes
    are_alike = all(m * other_n == other_m * n for other_n, other_m in others)
    if are_alike and metric.is_of_population and (k is None or k < 1):
        return None
    counts = ", ".join(f"{m} of {n} in {name!r}" for name, (n, m) in zip(names, sizes, strict=True))
    if not takes_prevalence(metric):
        raise ValueError(
            f"{metric.title} means something else in each group, because the numbers of positives "
            f"and of items differ ({counts}): use a metric such as 'roc_auc', "
            "'average_precision' or 'recall@0.1'."
        )
    if in_clusters:
        raise ValueError(
            f"The prevalences of the groups differ ({counts}), and {metric.title_in_text} at a "
            "common prevalence needs independent items, but clusters are given: use "
            "metric='roc_auc', or keep one item of each cluster."
        )
    return sum(m for _, m in sizes) / sum(n for n, _ in sizes)


# Methods of p-values.


class _Tested(NamedTuple):
    """P-values of the pairs, adjusted for their number and not, and the number of random draws."""

    pvalue: Floats
    unadjusted: Floats
    n_resamples: int | None = None


@dataclass(frozen=True, eq=False)
class GroupSampler:
    """Statistics of all pairs of groups that are exchanged among positives and among negatives."""

    groups: _Groups
    exchange: Exchange
    extreme: Callable[[Floats], Floats]

    @classmethod
    def of(cls, groups: _Groups, alternative: str) -> GroupSampler:
        """Exchange items with the same label, or clusters with the same numbers of both."""
        sample, clusters = groups.sample, groups.sample.design.clusters
        if clusters is None:
            units, alike = np.arange(sample.n_items), sample.kinds
        else:
            units = clusters
            n_positives = np.bincount(clusters, sample.positive).astype(np.int64)
            kinds = np.bincount(clusters) * (sample.n_items + 1) + n_positives
            alike = np.unique(kinds, return_inverse=True)[1][clusters]
        return cls(groups, Exchange(alike, units), _EXTREMES[alternative])

    def chunks(self, n_resamples: int) -> list[int]:
        return chunk_sizes(n_resamples, self.groups.sample.n_items)

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        where = self.exchange.draw_rows(n_draws, rng)
        return self.statistics(self.groups.codes[where])

    def statistics(self, rows: Integers) -> Floats:
        """How extreme the statistic of each pair is, for rows of numbers of groups."""
        moments = [self.groups.moments(self.groups.estimates_for(codes)) for codes in rows]
        values, variances = np.moveaxis(np.array(moments), 1, 0)
        return self.extreme(self.groups.statistics(values, variances))


def _by_permutation(groups: _Groups, alternative: str, draws: Draws) -> _Tested:
    sampler = GroupSampler.of(groups, alternative)
    codes, way = groups.codes, "Permutations of the groups among items with the same label"
    if groups.sample.design.clusters is not None:
        way = "Permutations of the groups among clusters with the same numbers of both labels"
    if sampler.exchange.log_n_arrangements(codes) == 0.0:
        raise ValueError(f"{way} change nothing: use method='influence', or clusters of one size.")
    message = few_labellings_warning(sampler.exchange, codes[:, None], what=way)
    if message is not None:
        warn_caller(message, DesignWarning)
    drawn, (observed,) = draws.of(sampler), sampler.statistics(codes[None])
    least = observed - _EQUAL * np.abs(observed)
    unadjusted = draws.pvalue(np.sum(drawn >= least, axis=0))
    largest = drawn.max(axis=1)
    adjusted = draws.pvalue(np.sum(largest[:, None] >= least, axis=0))
    return _Tested(adjusted, unadjusted, draws.n_resamples)


def _by_influence(groups: _Groups, alternative: str, draws: Draws) -> _Tested:
    first, second = groups.pairs.T
    scaled, slope, _ = scaled_for_tests(groups.metric, groups.estimates)
    variances = slope**2 * groups.moments(groups.estimates)[1]
    fewest = np.array([one.n_positives for one in groups.estimates])[groups.pairs].min(axis=1)
    error = difference_error(variances[first], variances[second])
    alone = t_test(scaled[first] - scaled[second], error, fewest - 1.0, alternative).pvalue
    return _Tested(holm(alone), alone)


@dataclass(frozen=True)
class GroupMethod:
    """A method of p-values, and that of their adjustment for several pairs."""

    title: str
    test: Callable[[_Groups, str, Draws], _Tested]
    adjusted_by: str


_METHODS = {
    "permutation": GroupMethod(
        "studentised permutation of the groups", _by_permutation, "single-step maxT"
    ),
    "influence": GroupMethod("t test of influence values", _by_influence, "Holm's method"),
}
