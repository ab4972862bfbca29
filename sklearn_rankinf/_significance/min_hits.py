"""Smallest significant number of hits among the first k items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from sklearn_rankinf._ranking import check_counts, check_levels, check_option, resolve_each_k
from sklearn_rankinf._statistics import (
    Floats,
    Integers,
    binomial_tail,
    log_tail,
    mean_and_deviation,
    min_hits,
    normal_tail,
    plain,
    smallest,
)

_COUNT_METHODS = ("analytic", "binomial", "normal")


def min_hits_at_k(
    n_samples: int,
    n_positives: int,
    *,
    k: Any,
    alpha: ArrayLike = 0.05,
    method: str = "analytic",
    interpolate: bool = False,
) -> Any:
    r"""Smallest significant number of positives among the first k items.

    Parameters
    ----------
    n_samples : int
        Number of items.
    n_positives : int
        Number of positives among them.
    k : int, float or array-like of them
        Number of items at the top of the ranking: an int of at least 1, or a float between 0 and
        1 for a fraction of `n_samples`, rounded up. An array gives one number of hits per entry.
    alpha : float or array-like of float, default=0.05
        Significance level, between 0 and 1; broadcast against `k`.
    method : {"analytic", "binomial", "normal"}, default="analytic"
        The exact null distribution, or an approximation: ``"binomial"`` is sampling with
        replacement, ``"normal"`` the normal approximation with the exact mean and variance and a
        continuity correction of 1/2.
    interpolate : bool, default=False
        Whether to interpolate between the p-values of the largest count that is not significant
        and the smallest that is, for a smooth curve over k.

    Returns
    -------
    min_hits : int, float or ndarray
        The number of hits, an int or an array of int. If no number of hits is significant, it is
        ``min(n_positives, k) + 1``, which cannot be reached. With `interpolate`, a float or an
        array of float, above ``min(n_positives, k)`` if no number is significant.

    Raises
    ------
    TypeError
        If a number has the wrong type.
    ValueError
        If a number is out of its range, `k` and `alpha` cannot be broadcast, or `method` is not
        one of those above.

    See Also
    --------
    recall_at_k_test : Test of a ranking.
    metric_null_distribution : The null distribution of recall. With ties across rank k the
        critical number may be a fraction; its ``isf(alpha)`` is the largest value that is not
        significant.

    Notes
    -----
    The result is the smallest h with :math:`P(H \ge h) \le \alpha` for a hypergeometric H [1]_.
    Interpolated, with :math:`p(h_0) > \alpha \ge p(h_0 + 1)`, it is

    .. math:: h^* = h_0 + \frac{p(h_0) - \alpha}{p(h_0) - p(h_0 + 1)}.

    References
    ----------
    .. [1] Macskassy, S. A. (2005). Significance testing against the random model for scoring models
       on top k predictions. Working paper CeDER-05-09, Stern School of Business, New York
       University.

    Examples
    --------
    With 100 positives among 1000 items, 10 of the first 100 items are positive by chance on
    average, and 16 are significant:

    >>> from sklearn_rankinf import min_hits_at_k
    >>> min_hits_at_k(1000, 100, k=100)
    16
    >>> min_hits_at_k(1000, 100, k=100, alpha=[0.1, 0.05, 0.01, 0.001])
    array([15, 16, 18, 21])
    >>> round(min_hits_at_k(1000, 100, k=100, interpolate=True), 3)
    15.403
    """
    n, m = check_counts(n_samples, n_positives)
    method = check_option(method, "method", _COUNT_METHODS, " for counts at k")
    cuts, levels = _broadcast(resolve_each_k(k, n), check_levels(alpha))
    needed = _needed(n, m, cuts, levels, method)
    if not interpolate:
        return needed if needed.ndim else int(needed)
    before, at = (_upper_tail(needed - less, n, m, cuts, method) for less in (1, 0))
    # If no count is significant, an approximation may not reach the level at the largest count.
    between = (before > levels) & (at <= levels)
    share = np.where(between, (before - levels) / np.where(between, before - at, 1.0), 1.0)
    return plain(needed - 1 + share)


def _needed(n: int, m: int, k: Integers, alpha: Floats, method: str) -> Integers:
    if method == "analytic":
        return np.asarray(min_hits(alpha, n, m, k))
    most = np.minimum(m, k) + 1
    if method == "normal":
        mean, deviation = mean_and_deviation(n, m, k)
        limit = np.ceil(mean + 0.5 - ndtri(alpha) * deviation - 1e-9)
        return np.asarray(np.clip(limit, 0, most).astype(np.int64))
    mean = np.asarray(m / n * k, dtype=float)
    deviation = np.sqrt((1.0 - m / n) * mean)
    return np.asarray(
        smallest(
            lambda h: _upper_tail(h, n, m, k, method) <= alpha * (1.0 + 1e-12),
            np.zeros_like(most),
            most,
            mean - ndtri(alpha) * deviation,
            deviation,
        )
    )


def _upper_tail(hits: Integers, n: int, m: int, k: Integers, method: str) -> Floats:
    if method == "analytic":
        return np.exp(log_tail(hits, n, m, k))
    if method == "binomial":
        return binomial_tail(hits, k, m / n, 1)[0]
    mean, deviation = mean_and_deviation(n, m, k)
    return normal_tail(hits, mean, np.maximum(deviation, np.finfo(float).tiny), 1, 0.5)[0]


def _broadcast(k: int | Integers, alpha: Floats) -> tuple[Integers, Floats]:
    try:
        cuts, levels = np.broadcast_arrays(np.asarray(k, dtype=np.int64), alpha)
    except ValueError:
        raise ValueError(
            f"k of shape {np.shape(k)} and alpha of shape {alpha.shape} cannot be broadcast "
            "against each other; add an axis to one of them, as in k[:, None]."
        ) from None
    return cuts, levels
