"""Null distributions of permuted or listed labels: within strata, of rows, of grades, of lists."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from sklearn_rankinf._engine import ListedDistribution
from sklearn_rankinf._metrics import DiscountedCumulativeGain
from sklearn_rankinf._null.distribution import NullDistribution, rounding_of
from sklearn_rankinf._permutation import (
    RESTRICTED,
    AnyExchange,
    ExchangedHits,
    GradedGain,
    ListedSampler,
    NullSampler,
    PermutationSampler,
    PermutedGain,
    PermutedRows,
    chunk_sizes,
)
from sklearn_rankinf._ranking import Sample, check_integer, check_no_closed_form, check_option
from sklearn_rankinf._statistics import Floats, Integers, Metric, Statistic, cached_property

# Values of a distribution whose relative difference is at most this count as equal.
_SAME = 1e-12


class PermutationDistribution(NullDistribution):
    """Frozen null distribution that is estimated from resamples alone.

    No exact distribution is available for weighted average precision, for averages over classes,
    and for labels that are permuted within strata, as whole clusters or along a series. Support,
    moments, probabilities and quantiles are those of the resamples. The exception is the mean of an
    average over classes without weights, which is exact.

    Attributes
    ----------
    method : str
        ``"permutation"``.
    n_samples : int
        Number of items.
    n_positives : int or ndarray of shape (n_classes,)
        Number of positives; for several classes the number of items of each class.
    tie_sizes : ndarray or None
        Sizes of the blocks of equal scores, best first; None without ties, and for averages, whose
        classes have separate ties.
    statistic : object
        The statistic that is weighted or averaged.

    See Also
    --------
    sklearn_rankinf.average_precision_test : Test whose result contains such a distribution if
        weights or averages are used.

    Notes
    -----
    The resamples are drawn on first use, in chunks with separate random streams, so that they are
    the same for every number of jobs.

    Examples
    --------
    >>> from sklearn_rankinf import average_precision_test
    >>> y_true, y_score = [1, 1, 0, 0, 0, 0], [6, 5, 4, 3, 2, 1]
    >>> result = average_precision_test(y_true, y_score, sample_weight=[2, 1, 1, 1, 1, 1])
    >>> result.null_distribution.method
    'permutation'
    """

    def __init__(
        self,
        permuted: PermutationSampler,
        statistic: Statistic,
        n_samples: int,
        n_positives: Any,
        tie_sizes: Integers | None,
        rounding: float = 0.0,
        **drawing: Any,
    ) -> None:
        super().__init__(statistic, n_samples, n_positives, tie_sizes, "permutation", **drawing)
        self._permuted = permuted
        self._rounding = rounding

    @property
    def _key(self) -> tuple[Any, ...]:
        return (id(self),)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.statistic}, n_samples={self.n_samples}, "
            f"n_positives={self.n_positives}, {self._permuted})"
        )

    @property
    def labellings(self) -> str:
        """Which labellings are drawn, in words: of whole clusters, in strata, or shifts."""
        return str(getattr(self._permuted, "exchange", None) or "labellings")

    @cached_property
    def _sampler(self) -> PermutationSampler:
        return self._permuted

    @cached_property
    def _distribution(self) -> ListedDistribution:
        sample = np.sort(self._permutation_sample())
        return ListedDistribution(sample, np.zeros(sample.size))

    @cached_property
    def _mean_and_variance(self) -> tuple[float, float]:
        values = self._distribution.values
        if values[-1] - values[0] <= _SAME * abs(values[-1]):
            return float(values[0]), 0.0  # one value, up to rounding
        mean, variance = self._permuted.exact_moments()
        return (
            float(values.mean()) if mean is None else mean,
            float(values.var()) if variance is None else variance,
        )

    @cached_property
    def _skewness_and_kurtosis(self) -> tuple[float, float]:
        standardized = (self._distribution.values - self._distribution.values.mean()) / self.std()
        return float(np.mean(standardized**3)), float(np.mean(standardized**4)) - 3.0

    @property
    def _counts_resamples(self) -> bool:
        return True

    def _best(self) -> float:
        return self._permuted.best()


class ArrangementSampler(PermutationSampler, ListedSampler, Protocol):
    """Sampler of a statistic of rearranged labels, which can be listed if they are few enough."""


class ListedPermutationDistribution(PermutationDistribution):
    """Frozen null distribution over all arrangements of the labels, which are equally likely.

    It has the methods of every null distribution, all of them exact, without random labellings.

    See Also
    --------
    sklearn_rankinf.metric_test : Test whose result contains such a distribution if `order` is
        given.

    Examples
    --------
    >>> from sklearn_rankinf import metric_test
    >>> y_true, y_score = [1] * 20 + [0] * 180, range(200, 0, -1)
    >>> result = metric_test(y_true, list(y_score), order=range(200))
    >>> round(result.pvalue * 200, 9), round(result.null_distribution.support()[1], 9)
    (1.0, 1.0)
    """

    _permuted: ArrangementSampler

    def _permutation_sample(self) -> Floats:
        return self._draws.listed(self._permuted, self._n_resamples)

    @property
    def _counts_resamples(self) -> bool:
        return False


def permutation_distribution(
    permuted: Any,
    statistic: Any,
    n_samples: int,
    n_positives: Any,
    tie_sizes: Integers | None,
    *,
    n_resamples: int,
    rounding: float = 0.0,
    **drawing: Any,
) -> PermutationDistribution:
    """Distribution of all arrangements if they can be listed and number at most `n_resamples`.

    Otherwise the distribution of `n_resamples` random ones. Values that differ by less than
    `rounding` count as equal.
    """
    kind, n_drawn = PermutationDistribution, check_integer(n_resamples, "n_resamples", 1)
    if permuted.n_listed is not None and permuted.n_listed <= n_drawn:
        kind, n_drawn = ListedPermutationDistribution, permuted.n_listed
    drawing["n_resamples"] = n_drawn
    return kind(permuted, statistic, n_samples, n_positives, tie_sizes, rounding, **drawing)


def restricted(
    metric: Metric, sample: Sample, exchange: AnyExchange, *, method: str, **options: Any
) -> NullDistribution:
    """Null distribution under restricted permutations of the labels."""
    check_method(metric, method)
    check_no_closed_form(method, RESTRICTED)
    n, m = sample.n_items, sample.n_positives
    mirrored = metric.mirrored(n, m)
    own = sample if mirrored is None else sample.reversed()
    counted = metric if mirrored is None else mirrored
    values = counted.hit_values(n, own.n_positives, own.tie_sizes())
    rounding = rounding_of(counted, n, own.n_positives)
    best = float(metric.maximum(n, m))
    permuted = ExchangedHits(values, own.places(), own.positive, exchange, best)
    return permutation_distribution(
        permuted, metric, n, m, sample.tie_sizes(), rounding=rounding, **options
    )


def observe_grades(
    metric: Metric, sample: Sample, exchange: AnyExchange | None, *, method: str, **options: Any
) -> tuple[float, NullDistribution]:
    """Observe discounted cumulative gain of grades of relevance."""
    assert isinstance(metric, DiscountedCumulativeGain)
    check_method(metric, method)
    check_no_closed_form(method, f"{metric.title} with graded relevance")
    metric = metric.at(sample.n_items)
    tie_sizes = sample.tie_sizes()
    gain = GradedGain(
        DiscountedCumulativeGain(metric.k),
        sample.labels[:, 0],
        sample.places(),
        tie_sizes,
        metric.normalize,
    )
    null = permutation_distribution(
        PermutedGain(gain, exchange),
        metric,
        sample.n_items,
        sample.n_positives,
        tie_sizes,
        **options,
    )
    return gain.observed(), null


def observe_rows(
    metric: Metric,
    sample: Sample,
    exchange: AnyExchange | None,
    *,
    average: str | None,
    method: str,
    weights_stay: bool,
    **options: Any,
) -> tuple[float, NullDistribution]:
    """Observe a metric with weights, or its average over classes, whose label rows are permuted."""
    statistic: Any = metric.at(sample.n_items)
    if sample.design.weights is not None:
        check_takes_weights(metric)
        if statistic.horizon is not None:
            raise ValueError(
                f"k={statistic.horizon} cannot be combined with unequal sample_weight: average "
                "precision at k is defined for items of equal weight; omit one of them."
            )
    check_method(metric, method)
    what = f"{statistic!r} with unequal sample_weight"
    if average is not None:
        what = f"{statistic!r} with average={average!r}"
    check_no_closed_form(method, what)
    classes = [sample.single(number) for number in range(sample.n_classes)]
    permuted = PermutedRows(
        [sample] if average == "micro" else classes,
        "weighted" if average == "weighted" else "macro",
        statistic,
        weights_stay,
        exchange,
    )
    is_binary = average is None
    rounding = max(rounding_of(statistic, c.n_cells, c.n_positives) for c in permuted.rankings)
    null = permutation_distribution(
        permuted,
        statistic,
        sample.n_items,
        sample.n_positives if is_binary else np.array([own.n_positives for own in classes]),
        permuted.tie_sizes if is_binary else None,
        rounding=rounding,
        **options,
    )
    return permuted.observed(), null


def check_takes_weights(metric: Metric, what: str = "sample_weight") -> None:
    """Raise an error for sample weights of a metric other than average precision."""
    if not metric.takes_weights:
        raise ValueError(
            f"metric={metric!r} takes no {what}: leave it out, or use metric='average_precision'."
        )


class _RandomLabels(NullSampler):
    """Random labellings of a metric without an exact null distribution."""

    n_listed = None

    def __init__(
        self, metric: Metric, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> None:
        super().__init__(metric, n_samples, n_positives, tie_sizes)
        self._best = float(metric.maximum(n_samples, n_positives))

    def __repr__(self) -> str:
        return "random labellings"

    def exact_moments(self) -> tuple[float | None, float | None]:
        return None, None

    def best(self) -> float:
        return self._best


def of_random_labels(
    metric: Metric, n: int, m: int, tie_sizes: Integers | None, method: str, **drawing: Any
) -> NullDistribution:
    """Null distribution of a metric of which random labellings alone are known."""
    check_no_closed_form(method, f"{metric.title} of this ranking")
    drawing = {"n_resamples": 9999, "random_state": 0} | drawing
    permuted = _RandomLabels(metric, n, m, tie_sizes)
    return permutation_distribution(permuted, metric, n, m, tie_sizes, **drawing)


def check_method(metric: Metric, method: Any) -> str:
    """Read a method of the null distributions of a metric."""
    return str(check_option(method, "method", methods_of(metric), f" for {metric.title}"))


def methods_of(metric: Metric, *drawn: str) -> list[str]:
    exact = [] if metric.distribution == "permuted" else ["analytic"]
    return ["auto", *exact, *(drawn or ("permutation",)), *metric.approximations]


class ListedNullDistribution(NullDistribution):
    """Frozen null distribution of a statistic with few enough values to list them all.

    It has the methods of every null distribution, all computed as exact sums over the list.

    Attributes
    ----------
    method : str
        The method in use: ``"analytic"``, ``"permutation"``, ``"normal"`` or ``"pearson3"``.
    n_samples, n_positives : int
        Size of the ranking and number of positives.
    tie_sizes : ndarray or None
        Sizes of the blocks of equal scores, best first; None without ties.
    statistic : object
        The ranking statistic.

    See Also
    --------
    sklearn_rankinf.metric_null_distribution : Null distribution of any metric.

    Examples
    --------
    >>> from sklearn_rankinf import metric_null_distribution
    >>> null = metric_null_distribution(4, 2, metric="reciprocal_rank")  # 1, 1/2 or 1/3
    >>> null.pvalue([1.0, 1 / 2, 1 / 3])
    array([0.5       , 0.83333333, 1.        ])
    """

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_atoms"}

    @cached_property
    def _atoms(self) -> tuple[Floats, Floats]:
        return self.statistic.atoms(self.n_samples, self.n_positives, self.tie_sizes)

    @property
    def _values_and_shares(self) -> tuple[Floats, Floats]:
        values, log_weights = self._atoms
        with np.errstate(under="ignore"):
            shares = np.exp(log_weights - log_weights.max())
            return values, np.asarray(shares / shares.sum())

    @cached_property
    def _mean_and_variance(self) -> tuple[float, float]:
        with np.errstate(under="ignore"):
            values, shares = self._values_and_shares
            mean = float(np.sum(shares * values))
            return mean, float(np.sum(shares * (values - mean) ** 2))

    @cached_property
    def _skewness_and_kurtosis(self) -> tuple[float, float]:
        with np.errstate(under="ignore"):
            values, shares = self._values_and_shares
            standardized = (values - self.mean()) / self.std()
            third, fourth = (float(np.sum(shares * standardized**order)) for order in (3, 4))
        return third, fourth - 3.0

    def _exact_distribution(self) -> Any:
        return _ListedDistribution(*self._atoms)

    @cached_property
    def _sampler(self) -> Any:
        return _AtomSampler(*self._values_and_shares)


class _ListedDistribution(ListedDistribution):
    """Listed distribution; the relative error of its tails grows with their logarithms."""

    def tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), its log, and the relative error."""
        p, log_p, error = super().tail(t, sign)
        return p, log_p, error + 2e-15 * np.abs(np.where(np.isfinite(log_p), log_p, 0.0))


class _AtomSampler:
    """Sampler for a list of values with probabilities."""

    def __init__(self, values: Floats, shares: Floats) -> None:
        self._values, self._up_to = values, np.cumsum(shares)

    def chunks(self, n_resamples: int) -> list[int]:
        """Sizes of the chunks for `n_resamples` draws."""
        return chunk_sizes(n_resamples, 1)

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw independent values."""
        level = rng.random(n_draws) * self._up_to[-1]
        return np.asarray(self._values[np.searchsorted(self._up_to, level, side="right")])
