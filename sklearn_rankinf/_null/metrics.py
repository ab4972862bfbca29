"""Null distributions of any metric, of one list or of the mean over queries."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_rankinf._engine import Distribution, Part, mean_distribution
from sklearn_rankinf._metrics import AveragePrecision, as_metric
from sklearn_rankinf._null.distribution import OF_LABELS, NullDistribution
from sklearn_rankinf._null.hits import TopKNullDistribution
from sklearn_rankinf._null.ranks import ListedNullDistribution, RankNullDistribution
from sklearn_rankinf._permutation import MeanSampler, Sampler
from sklearn_rankinf._ranking import (
    as_seed_sequence,
    check_counts,
    check_integer,
    check_n_jobs,
    check_no_closed_form,
    check_option,
    check_tie_sizes,
    check_verbose,
)
from sklearn_rankinf._statistics import Integers, Metric, cached_property


class MeanNullDistribution(NullDistribution):
    """Frozen null distribution of the mean of a metric over independent queries.

    It has the methods of every null distribution.

    Attributes
    ----------
    method : str
        Method of the null distribution: ``"analytic"``, ``"permutation"``, ``"normal"`` or
        ``"pearson3"``.
    n_samples, n_positives : ndarray of shape (n_queries,)
        Number of samples and of positives of each query.
    tie_sizes : tuple of ndarray or None
        Sizes of the blocks of equal scores of each query, best score first; None without ties.
    statistic : object
        The statistic that is averaged.

    See Also
    --------
    sklearn_rankinf.metric_null_distribution : Function that returns this distribution.
    sklearn_rankinf.metric_test : Test whose result has this distribution.

    Examples
    --------
    >>> from sklearn_rankinf import metric_null_distribution
    >>> null = metric_null_distribution([10, 20, 30], [2, 2, 3])
    >>> round(null.mean(), 4), round(null.pvalue(0.5), 4)
    (0.2625, 0.0209)
    """

    n_samples: Any
    n_positives: Any
    tie_sizes: Any

    def __init__(
        self,
        statistic: Any,
        queries: Sequence[NullDistribution],
        method: str,
        n_resamples: int,
        seeds: np.random.SeedSequence,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(statistic, 1, 1, None, method, n_resamples, seeds, n_jobs, verbose)
        self.n_samples = np.array([null.n_samples for null in queries], dtype=np.int64)
        self.n_positives = np.array([null.n_positives for null in queries], dtype=np.int64)
        self.tie_sizes = tuple(null.tie_sizes for null in queries)
        # Queries with equal sizes and ties share one distribution.
        first = {null._key: null for null in reversed(queries)}
        counts = Counter(null._key for null in queries)
        self._counts = [(first[key], count) for key, count in counts.items()]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.statistic}, n_queries={self.n_samples.size}, "
            f"n_samples={self.n_samples.sum()}, n_positives={self.n_positives.sum()}, "
            f"method={self.method!r})"
        )

    @cached_property
    def _distribution(self) -> Distribution:
        return self._new_distribution()

    def _exact_distribution(self) -> Distribution:
        return mean_distribution(
            [
                Part(null.statistic, null.n_samples, null.n_positives, null.tie_sizes, count)
                for null, count in self._counts
            ]
        )

    @cached_property
    def _sampler(self) -> Sampler:
        varying = [(null._sampler, n) for null, n in self._counts if null.var() > 0.0]
        constant = math.fsum(null.mean() * n for null, n in self._counts if not null.var())
        return MeanSampler(varying, constant, self.n_samples.size)

    @cached_property
    def _mean_and_variance(self) -> tuple[float, float]:
        n = self.n_samples.size
        mean = math.fsum(count * null.mean() for null, count in self._counts) / n
        return mean, math.fsum(count * null.var() for null, count in self._counts) / n**2

    @cached_property
    def _skewness_and_kurtosis(self) -> tuple[float, float]:
        # Cumulants of independent variables add up.
        total, found = self.var() * self.n_samples.size**2, []
        for order in (3, 4):
            cumulants = (
                count * null._standardized_cumulant(order) * null.var() ** (order / 2)
                for null, count in self._counts
                if null.var() > 0.0
            )
            found.append(math.fsum(cumulants) / total ** (order / 2))
        return found[0], found[1]

    def _best(self) -> float:
        return float(sum(n * null._best() for null, n in self._counts) / self.n_samples.size)

    @cached_property
    def _rounding(self) -> float:
        """Distance within which values near 0 are equal after adding larger constants."""
        return max(null._rounding for null, _ in self._counts)


def checked_sizes(
    n_samples: ArrayLike, n_positives: ArrayLike, tie_sizes: Sequence[ArrayLike | None] | None
) -> list[tuple[int, int, Integers | None]]:
    columns = [np.ravel(np.asarray(values, dtype=object)) for values in (n_samples, n_positives)]
    n_queries = len(columns[0])
    if n_queries == 0:
        raise ValueError("n_samples is empty: pass the number of samples of at least one query.")
    if len(columns[1]) != n_queries:
        raise ValueError(
            "n_samples and n_positives must have one entry per query; they have "
            f"{n_queries} and {len(columns[1])}."
        )
    ties = [None] * n_queries if tie_sizes is None else list(tie_sizes)
    if len(ties) != n_queries:
        raise ValueError(
            f"tie_sizes must have one entry (or None) for each of the {n_queries} queries; it has "
            f"{len(ties)}."
        )
    sizes = []
    for n, m, own in zip(*columns, ties, strict=True):
        n, m = check_counts(n, m)
        sizes.append((n, m, check_tie_sizes(own, n)))
    return sizes


# Longer lists of reciprocal ranks would take too much memory.
_MAX_LISTED = 20_000_000
# The classes of null distributions, for sums of increments, sums of weights of ranks, numbers of
# hits, and metrics with few enough values to list them all.
_KINDS: dict[str, Callable[..., NullDistribution]] = {
    "increments": NullDistribution,
    "weights": RankNullDistribution,
    "hits": TopKNullDistribution,
    "listed": ListedNullDistribution,
}


def metric_null_distribution(
    n_samples: ArrayLike,
    n_positives: ArrayLike,
    *,
    metric: str | Metric = "average_precision",
    tie_sizes: Any = None,
    method: str = "auto",
    n_resamples: int = 9999,
    random_state: Any = 0,
) -> NullDistribution:
    r"""Null distribution of a metric under random labelling.

    All choices of `n_positives` of the `n_samples` ranks as the ranks of the positives are equally
    likely, with the ties held fixed.

    Parameters
    ----------
    n_samples : int or sequence of int
        Number of samples. A sequence contains the number of samples of each query; the null
        distribution is then that of the mean of the metric over independent queries.
    n_positives : int or sequence of int
        Number of positives among them; of each query, if `n_samples` is a sequence. A query
        without positives counts as 0.
    metric : str or metric, default="average_precision"
        A metric, such as ``AveragePrecision(k=100)`` or an instance of a subclass of
        :class:`RankStatistic`; or its name: ``"average_precision"``, ``"recall@50"``,
        ``"precision@50"``, ``"enrichment@0.01"``, ``"f_score@50"``, ``"roc_auc"``, ``"dcg"``,
        ``"ndcg"``, ``"bedroc"``, ``"rie"`` or ``"reciprocal_rank"``. The cut-off after the @ is a
        number of samples, or a fraction of them between 0 and 1, rounded up; average precision,
        DCG and NDCG may have one too, as in ``"ndcg@10"``.
    tie_sizes : array-like of shape (n_blocks,), optional
        Sizes of the blocks of equal scores, best score first; by default no scores are equal. For
        several queries a sequence of such sizes, or None for a query without equal scores.
    method : str, default="auto"
        ``"analytic"``, the choice of ``"auto"``, is the exact null distribution, with a stated
        numerical error; ``"permutation"`` uses `n_resamples` random labellings; ``"normal"`` and
        ``"pearson3"`` are approximations with the exact moments. Average precision also has
        ``"zhang_su"``; recall, precision, enrichment and F-score at k have ``"binomial"``, which
        treats the hits as draws with replacement, in whole numbers, instead of ``"pearson3"``, and
        a continuity correction with ``"normal"``. If a metric can take only one value, all methods
        agree. Means over queries have neither ``"zhang_su"`` nor ``"binomial"``. The mean of a
        custom metric has no exact null distribution: ``"auto"`` is then permutation.
    n_resamples : int, default=9999
        Number of random labellings for ``method="permutation"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.

    Returns
    -------
    null_distribution : NullDistribution
        A frozen distribution with the methods of scipy's (``mean``, ``std``, ``cdf``, ``sf``,
        ``ppf``, ``isf``, ``rvs`` and others) and with ``pvalue``, ``log_pvalue``,
        ``relative_error`` and ``pvalue_bounds``. Computation is lazy.

    Raises
    ------
    TypeError
        If `metric` is a class, or a number has the wrong type.
    ValueError
        If `metric` is unknown, its cut-off is missing or it has none, a number is out of its
        range, the tie sizes do not add up to `n_samples`, sequences differ in length, a weight of a
        custom metric is negative, not finite or larger than that of a better rank, or the metric
        does not have the `method`.

    See Also
    --------
    metric_test : Test of a ranking, or of a run over queries, against this null distribution.
    ap_null_distribution : Null distribution of average precision.

    Notes
    -----
    With positives at the ranks :math:`r_i` the value of a :class:`RankStatistic` is
    :math:`S = \sum_i w(r_i) + c`; a positive in a block of equal scores contributes the mean weight
    of the block. Small distributions are listed in full. The tails of larger ones are computed by
    contour inversion of the moment generating function of S, or as the midpoint of guaranteed
    bounds. The weights of the first 100,000 ranks are checked, and those of a sample of later
    ranks.

    Over Q independent queries, :math:`\bar S = \frac{1}{Q} \sum_q S_q` has the mean
    :math:`\frac{1}{Q} \sum_q \mathrm{E}\, S_q` and the variance
    :math:`\frac{1}{Q^2} \sum_q \mathrm{Var}\, S_q`, both exact here. If few different values are
    possible, all of them are listed. If all values are multiples of a step, such as those of hits
    at k, their probabilities are convolved. Otherwise the moment generating function, which is the
    product of those of the queries, is inverted along a contour. The distribution of short rankings
    can be too coarse for this inversion; then values rounded down to a lattice are convolved, which
    bounds the tail on both sides.

    Examples
    --------
    Three positives and five negatives form 15 pairs. Two of the 56 ways to place the positives have
    at most one pair in the wrong order:

    >>> from sklearn_rankinf import RankStatistic, metric_null_distribution
    >>> null = metric_null_distribution(8, 3, metric="roc_auc")
    >>> round(null.mean(), 6), round(null.pvalue(14 / 15) * 56, 9)
    (0.5, 2.0)

    A custom metric gives a positive at rank r the weight 1 / r. Two of four samples are positive:

    >>> class Zipf(RankStatistic):
    ...     def weights(self, ranks, n_samples, n_positives):
    ...         return 1.0 / ranks
    >>> null = metric_null_distribution(4, 2, metric=Zipf())
    >>> round(null.mean(), 6), round(null.pvalue(1 + 1 / 3) * 6, 9)
    (1.041667, 2.0)

    Two queries have one positive each among four samples. The probability that the positive is
    first in both is 1/16:

    >>> round(metric_null_distribution([4, 4], [1, 1]).pvalue(1.0) * 16, 9)
    1.0
    """
    statistic = as_metric(metric)
    if np.ndim(n_samples) > 0 or np.ndim(n_positives) > 0:
        return frozen_mean_distribution(
            statistic,
            checked_sizes(n_samples, n_positives, tie_sizes),
            method=method,
            n_resamples=n_resamples,
            random_state=random_state,
        )
    return frozen_null_distribution(
        statistic,
        n_samples,
        n_positives,
        tie_sizes=tie_sizes,
        method=method,
        n_resamples=n_resamples,
        random_state=random_state,
    )


def ap_null_distribution(
    n_samples: int,
    n_positives: int,
    *,
    tie_sizes: ArrayLike | None = None,
    method: str = "auto",
    n_resamples: int = 9999,
    random_state: Any = 0,
) -> NullDistribution:
    r"""Null distribution of average precision under random labelling.

    All choices of `n_positives` of the `n_samples` ranks as the ranks of the positives are equally
    likely, with the ties held fixed.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_positives : int
        Number of positives among them.
    tie_sizes : array-like of shape (n_blocks,), optional
        Sizes of the blocks of equal scores, best score first; by default no scores are equal.
    method : str, default="auto"
        ``"analytic"``, the choice of ``"auto"``, is the exact null distribution, with a stated
        numerical error; ``"permutation"`` uses `n_resamples` random labellings. The others are
        approximations: ``"normal"`` and ``"pearson3"`` match the exact moments; ``"zhang_su"`` is
        the normal distribution with the approximate moments of [1]_, with the variance
        reconstructed from its values at two sizes; it needs a ranking without ties, at least 2
        positives. If the statistic can take only one value, all methods agree.
    n_resamples : int, default=9999
        Number of random labellings for ``method="permutation"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.

    Returns
    -------
    null_distribution : NullDistribution
        A frozen distribution with the methods of scipy's: ``mean()``, ``var()``, ``std()``,
        ``median()``, ``stats(moments)``, ``moment(order)``, ``support()``,
        ``interval(confidence)``, ``cdf(x)``, ``sf(x)``, ``logcdf(x)``, ``logsf(x)``, ``ppf(q)``,
        ``isf(q)``, ``rvs(size, random_state)``. For significance it has ``pvalue(x, alternative)``,
        which includes values equal to x, P(S >= x), its natural logarithm ``log_pvalue``,
        ``relative_error`` and ``pvalue_bounds``. The attribute ``method`` is the method in use.
        Computation is lazy; mean and variance are exact for every method.

    Raises
    ------
    TypeError
        If a number has the wrong type.
    ValueError
        If a number is out of its range, the tie sizes do not add up to `n_samples`, or `method` is
        not one of those above.

    See Also
    --------
    average_precision_test : Test of a ranking against this null distribution.
    metric_null_distribution : That of average precision at k, by ``metric="average_precision@50"``.

    Notes
    -----
    Block b contains :math:`g_b` samples with equal scores, :math:`y_b` of the :math:`m` positives
    among them, and ends at rank :math:`T_b`. With :math:`H_b` positives down to its end,

    .. math:: \mathrm{AP} = \frac{1}{m} \sum_b \frac{y_b H_b}{T_b},

    and without ties the mean is
    :math:`\mathrm{E\,AP} = \frac{1}{n} \left[ H_n + \frac{m-1}{n-1} (n - H_n) \right]`, with
    :math:`H_n` the harmonic number. If there are at most five million different outcomes, or more
    with few blocks, the tail probability is an exact sum. Otherwise it is computed by contour
    inversion of the moment generating function, or, if the distribution is too coarse for the
    inversion, as the midpoint of guaranteed bounds; see ``relative_error`` and
    ``pvalue_bounds``.

    References
    ----------
    .. [1] Zhang, P., & Su, W. (2012). Statistical inference on recall, precision and average
       precision under random selection. 9th International Conference on Fuzzy Systems and Knowledge
       Discovery, 1348-1352.

    Examples
    --------
    Two of the 56 ways to place three positives among eight ranks reach 11/12:

    >>> from sklearn_rankinf import ap_null_distribution
    >>> null = ap_null_distribution(8, 3)
    >>> round(null.mean(), 6), round(null.pvalue(11 / 12) * 56, 9)
    (0.52838, 2.0)
    """
    return frozen_null_distribution(
        AveragePrecision(),
        n_samples,
        n_positives,
        tie_sizes=tie_sizes,
        method=method,
        n_resamples=n_resamples,
        random_state=random_state,
    )


def frozen_null_distribution(
    metric: Metric,
    n_samples: Any,
    n_positives: Any,
    *,
    tie_sizes: ArrayLike | None = None,
    method: str = "auto",
    n_resamples: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> NullDistribution:
    """Check the arguments and return the null distribution of a metric."""
    n, m = check_counts(n_samples, n_positives)
    sizes = check_tie_sizes(tie_sizes, n)
    statistic, method = check_metric_and_method(metric, method, n, m, sizes)
    return _KINDS[statistic.distribution](
        statistic,
        n,
        m,
        sizes,
        method,
        check_integer(n_resamples, "n_resamples", 1),
        as_seed_sequence(random_state),
        check_n_jobs(n_jobs),
        check_verbose(verbose),
    )


def frozen_mean_distribution(
    metric: Metric, sizes: Sequence[tuple[int, int, Integers | None]], **options: Any
) -> MeanNullDistribution:
    """The null distribution of the mean of a metric over independent queries, from their sizes."""
    method_of_mean(metric, options.get("method", "auto"))
    # All null distributions share one seed, so that a generator is drawn from only once.
    options["random_state"] = as_seed_sequence(options.get("random_state", 0))
    nulls = [
        frozen_null_distribution(metric, n, m, tie_sizes=ties, **options) for n, m, ties in sizes
    ]
    return mean_of(metric, nulls, **options)


def mean_of(
    metric: Metric,
    nulls: Sequence[NullDistribution],
    *,
    method: str = "auto",
    n_resamples: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> MeanNullDistribution:
    """The null distribution of the mean of independent values of a metric."""
    return MeanNullDistribution(
        metric,
        nulls,
        method_of_mean(metric, method),
        check_integer(n_resamples, "n_resamples", 1),
        as_seed_sequence(random_state),
        check_n_jobs(n_jobs),
        check_verbose(verbose),
    )


def method_of_mean(metric: Metric, method: Any) -> str:
    """Read a method of the null distributions of a mean over queries."""
    methods = [name for name in _methods_of(metric) if name not in ("zhang_su", "binomial")]
    method = check_option(method, "method", methods, f" for mean {metric.title_in_text}")
    if not metric.has_exact_mean and method in ("auto", "analytic"):
        check_no_closed_form(method, f"the mean of {metric!r}")
        return "permutation"
    return str(method)


def check_metric_and_method(
    metric: Metric, method: Any, n: int, m: int, tie_sizes: Integers | None = None
) -> tuple[Metric, str]:
    """Read a metric and a method of its null distribution for lists of one size."""
    statistic = metric.at(n)
    method = check_method(statistic, method)
    if method == "zhang_su":
        _check_zhang_su(n, m, statistic.horizon, tie_sizes)
    if statistic.distribution == "listed" and n > _MAX_LISTED:
        raise ValueError(
            f"n_samples must be at most {_MAX_LISTED} for reciprocal rank, whose null distribution "
            f"lists every rank; got {n}."
        )
    statistic.check_weights(n, m)
    return statistic, method


def check_method(metric: Metric, method: Any) -> str:
    """Read a method of the null distributions of a metric."""
    return str(check_option(method, "method", _methods_of(metric), f" for {metric.title}"))


def check_method_of_test(metric: Metric, method: Any, alternative: str) -> str:
    """Read a method of the tests of one ranking by a metric."""
    of_labels = [OF_LABELS] if metric.takes_weights else []
    methods = _methods_of(metric, "permutation", "sequential", *of_labels)
    found = str(check_option(method, "method", methods, f" for {metric.title}"))
    if found == "sequential" and alternative == "two-sided":
        raise ValueError(
            "method='sequential' needs a one-sided alternative; got alternative='two-sided': use "
            "alternative='greater' or 'less', or method='permutation'."
        )
    return found


def _methods_of(metric: Metric, *drawn: str) -> list[str]:
    return ["auto", "analytic", *(drawn or ("permutation",)), *metric.approximations]


def _check_zhang_su(n: int, m: int, k: int | None, tie_sizes: Integers | None) -> None:
    """Raise an error for rankings that the moments of Zhang and Su do not cover."""
    if k is not None or tie_sizes is not None:
        raise ValueError(
            "method='zhang_su' is an approximation for average precision of the whole ranking "
            "without ties; use method='analytic' or 'normal' with k or with equal scores."
        )
    if m == 1 and n > 1:
        raise ValueError(
            "method='zhang_su' needs at least 2 positives: its variance is undefined for "
            "n_positives=1; use method='analytic'."
        )
