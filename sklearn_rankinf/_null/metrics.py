"""The null distribution of any metric, of one list or of the mean over queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_rankinf._metrics import AveragePrecision, Metric, as_metric
from sklearn_rankinf._null.distribution import NullDistribution
from sklearn_rankinf._null.frozen import frozen_null_distribution, mean_of, method_of_mean
from sklearn_rankinf._ranking import as_seed_sequence, check_counts, check_tie_sizes
from sklearn_rankinf._statistics import Integers


def checked_sizes(
    n_samples: ArrayLike, n_positives: ArrayLike, tie_sizes: Sequence[ArrayLike | None] | None
) -> list[tuple[int, int, Integers | None]]:
    columns = [np.ravel(np.asarray(values, dtype=object)) for values in (n_samples, n_positives)]
    n_queries = len(columns[0])
    if n_queries == 0:
        raise ValueError("n_samples is empty: pass the number of items of at least one query.")
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
    r"""Null distribution of a metric.

    All choices of `n_positives` of the `n_samples` ranks as the ranks of the positives are equally
    likely, with the ties held fixed.

    Parameters
    ----------
    n_samples : int or sequence of int
        Number of items. A sequence contains the number of items of each query; the null
        distribution is then that of the mean of the metric over independent queries.
    n_positives : int or sequence of int
        Number of positives among them; of each query, if `n_samples` is a sequence. A query
        without positives counts as 0.
    metric : str or metric, default="average_precision"
        A metric, such as ``AveragePrecision(k=100)`` or an instance of a subclass of
        :class:`RankStatistic`; or its name: ``"average_precision"``, ``"recall@50"``,
        ``"precision@50"``, ``"enrichment@0.01"``, ``"f_score@50"``, ``"roc_auc"``, ``"dcg"``,
        ``"ndcg"``, ``"bedroc"``, ``"rie"``, ``"reciprocal_rank"``, ``"precision_at_recall@0.8"``,
        ``"recall_at_precision@0.5"`` or ``"recall_at_fpr@0.01"``. The cut-off after the @ is a
        number of items, or a fraction of them between 0 and 1, rounded up; average precision,
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

    A custom metric gives a positive at rank r the weight 1 / r. Two of four items are positive:

    >>> class Zipf(RankStatistic):
    ...     def weights(self, ranks, n_samples, n_positives):
    ...         return 1.0 / ranks
    >>> null = metric_null_distribution(4, 2, metric=Zipf())
    >>> round(null.mean(), 6), round(null.pvalue(1 + 1 / 3) * 6, 9)
    (1.041667, 2.0)

    Two queries have one positive each among four items. The probability that the positive is
    first in both is 1/16:

    >>> round(metric_null_distribution([4, 4], [1, 1]).pvalue(1.0) * 16, 9)
    1.0
    """
    statistic = as_metric(metric)
    drawing: dict[str, Any] = {"method": method, "n_resamples": n_resamples}
    if np.ndim(n_samples) == np.ndim(n_positives) == 0:
        sizes = n_samples, n_positives
        return frozen_null_distribution(
            statistic, *sizes, tie_sizes=tie_sizes, random_state=random_state, **drawing
        )
    queries = checked_sizes(n_samples, n_positives, tie_sizes)
    method_of_mean(statistic, method)
    # All null distributions share one seed, so that a generator is drawn from only once.
    drawing["random_state"] = as_seed_sequence(random_state)
    nulls = [
        frozen_null_distribution(statistic, n, m, tie_sizes=ties, **drawing)
        for n, m, ties in queries
    ]
    return mean_of(statistic, nulls, **drawing)


def ap_null_distribution(
    n_samples: int,
    n_positives: int,
    *,
    tie_sizes: ArrayLike | None = None,
    method: str = "auto",
    n_resamples: int = 9999,
    random_state: Any = 0,
) -> NullDistribution:
    r"""Null distribution of average precision.

    All choices of `n_positives` of the `n_samples` ranks as the ranks of the positives are equally
    likely, with the ties held fixed.

    Parameters
    ----------
    n_samples : int
        Number of items.
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
    Block b contains :math:`g_b` items with equal scores, :math:`y_b` of the :math:`m` positives
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
