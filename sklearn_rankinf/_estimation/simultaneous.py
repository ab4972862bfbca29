r"""Multiple comparisons of rankers: the maximum of correlated t statistics.

The vector ``T = R W u / sqrt(chi2 / df)`` of the statistics of a family of contrasts of rank r is
the product of a fixed matrix W, a random direction u that is uniform on the sphere in r dimensions,
a radius R with ``R**2`` distributed as :math:`\chi^2_r`, and one common scale. Direction and radius
are independent, and ``R**2 / (r chi2 / df)`` has the F distribution. Only the direction is
simulated (conditional Monte Carlo): with ``M = max(W u)``,

.. math:: P(\max T \ge c) = E\, P(F_{r, df} \ge (c / M)^2 / r) \quad (c > 0),

which is exact for one contrast, smooth in c, and accurate in the far tail, where plain simulation
would count no draw. The average is used in

* single-step maxT tests (Westfall and Young 1993, Resampling-Based Multiple Testing),
* sup-t intervals (Montiel Olea and Plagborg-Moller 2019, J. Appl. Econometrics 34),
* comparisons with the best (Hsu 1984, Ann. Statist. 12).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import chdtr, chdtrc, fdtr, fdtrc, ndtr, stdtr, stdtrit

from sklearn_rankinf._estimation.limits import difference_error
from sklearn_rankinf._statistics import Floats, Integers

# Number of directions: a p-value near 0.05 has a standard error below 0.0004 for the pairs of
# twenty rankers, and below 0.0007 in forty dimensions with a known variance. Counting draws would
# take 100,000.
N_DIRECTIONS = 60_000
# Array elements held in memory at a time.
_NUMBERS = 2_000_000
# Statistics from which on many neighbouring maxima are replaced by their mean, but for the largest.
_MANY_STATISTICS, _N_NEIGHBOURS, _N_LARGEST = 200, 20, 2_000
# Squared lengths below this are 0 up to rounding, of rows of length 1.
_SINGULAR = 1e-12
# Slack of the bracket of a critical value for Monte Carlo error, absolute and relative.
_SLACK = 0.5


class Contrasts(NamedTuple):
    """Standard errors of the contrasts, and the matrix W of their standardised errors, row by row.

    A contrast without error has a row of zeros.
    """

    standard_error: Floats
    rows: Floats


def all_pairs(n_rankers: int) -> Integers:
    """All pairs of rankers, the first before the second, one in a row."""
    return np.stack(np.triu_indices(n_rankers, 1), axis=1)


def pairs_with(reference: int, n_rankers: int) -> Integers:
    """Pairs of every other ranker with the reference, which comes second."""
    others = np.delete(np.arange(n_rankers), reference)
    return np.stack([others, np.full(n_rankers - 1, reference)], axis=1)


def difference_contrasts(covariance: ArrayLike, pairs: Integers) -> Contrasts:
    """The differences of pairs of estimates with this covariance matrix."""
    matrix = np.asarray(covariance, dtype=float)
    first, second = pairs.T
    variance = np.diag(matrix)
    error = difference_error(variance[first], variance[second], matrix[first, second])
    root = _root(matrix)
    raw = root[first] - root[second]
    return Contrasts(error, _in_fewest_dimensions(np.where(error > 0.0, 1.0, 0.0)[:, None] * raw))


def _root(matrix: Floats) -> Floats:
    """A square root: a matrix whose product with its transpose is `matrix`."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _in_fewest_dimensions(rows: Floats) -> Floats:
    """Rows scaled to length one, or zero, in coordinates of the space that they span.

    The axes follow the rows in their order. Eigenvectors, which have any sign, and of equal
    eigenvalues any direction, would give other random directions on other machines.
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0.0)
    axes = np.empty((0, rows.shape[1]))
    for row in rows:
        if len(axes) == rows.shape[1]:
            break
        rest = row - (axes @ row) @ axes
        length = np.linalg.norm(rest)
        if length > math.sqrt(_SINGULAR):
            # A second pass removes what rounding left of the other axes.
            rest -= (axes @ rest) @ axes
            axes = np.vstack([axes, rest / np.linalg.norm(rest)])
    return np.asarray(rows @ axes.T)


# The maximum of the family.


def single_step(
    statistic: Floats,
    rows: Floats,
    df: float,
    confidence_level: float,
    rng: np.random.Generator,
    *,
    n_directions: int = N_DIRECTIONS,
) -> tuple[Floats, float]:
    """Two-sided p-values by single-step maxT, and the sup-t critical value that agrees with them.

    Each absolute statistic is compared with the maximum over the family, in the same directions as
    the critical value c: its p-value is at most ``1 - confidence_level`` if and only if it is at
    least c. Neither is below that of a single statistic. The p-value is 1 for a statistic of nan,
    of a contrast without error, and for all with fewer than one degree of freedom.
    """
    size = np.abs(statistic)
    known = ~np.isnan(size)
    pvalue = np.ones(size.shape)
    if df < 1.0 or not known.any():
        return pvalue, math.inf
    rows = rows[known]
    highest, tail = _highest(rows, n_directions, True, rng), _tail(rows.shape[1], df)
    some, weights = _thinned(highest) if len(rows) > _MANY_STATISTICS else (highest, None)
    adjusted = np.array([np.average(tail(one, some), weights=weights) for one in size[known]])
    pvalue[known] = np.maximum(adjusted, 2.0 * _lower_tail(df, -size[known]))
    least = -stdtrit(df, (1.0 - confidence_level) / 2.0)
    critical = _critical_value(some, rows, df, 1.0 - confidence_level, weights)
    return pvalue, max(critical, float(least))


def largest_pvalue(
    statistic: float,
    rows: Floats,
    df: float,
    rng: np.random.Generator,
    *,
    alternative: str = "two-sided",
    n_directions: int = N_DIRECTIONS,
) -> float:
    """Probability that the largest statistic of the family is at least `statistic`.

    The maximum is over absolute values, or one-sided; both sides have the same distribution.
    """
    if df < 1.0 or not rows.any():
        return 1.0
    highest = _highest(rows, n_directions, alternative == "two-sided", rng)
    return float(_tail(rows.shape[1], df)(statistic, highest).mean())


def maximum_quantile(
    correlation: Floats,
    df: float,
    level: float,
    rng: np.random.Generator,
    *,
    n_directions: int = N_DIRECTIONS // 12,
) -> float:
    """Quantile of the largest absolute value of t statistics with a correlation matrix."""
    rows = _in_fewest_dimensions(_root(correlation))
    highest = _highest(rows, n_directions, True, rng)
    return _critical_value(highest, rows, df, 1.0 - level)


def _thinned(highest: Floats) -> tuple[Floats, Floats]:
    """Fewer maxima with their weights.

    Tails are smooth in the maxima: p-values change by far less than their Monte Carlo error.
    """
    ordered = np.sort(highest)
    n_groups = max(ordered.size - _N_LARGEST, 0) // _N_NEIGHBOURS
    grouped, rest = np.split(ordered, [n_groups * _N_NEIGHBOURS])
    means = grouped.reshape(n_groups, _N_NEIGHBOURS).mean(axis=1)
    weights = np.repeat([float(_N_NEIGHBOURS), 1.0], [n_groups, rest.size])
    return np.concatenate([means, rest]), weights


def _critical_value(
    highest: Floats, rows: Floats, df: float, alpha: float, weights: Floats | None = None
) -> float:
    """The size that the largest statistic reaches with probability alpha.

    It lies between the quantile of one statistic and Bonferroni's.
    """
    tail = _tail(rows.shape[1], df)
    least, most = -stdtrit(df, alpha / 2.0), -stdtrit(df, alpha / 2.0 / len(rows))
    least, most = least - _SLACK * (1.0 + abs(least)), most + _SLACK * (1.0 + abs(most))

    def excess(c: float) -> float:
        return float(np.average(tail(c, highest), weights=weights)) - alpha

    return float(brentq(excess, max(least, 0.0), most, xtol=1e-9))


def _lower_tail(df: float, t: Floats) -> Floats:
    """Distribution function of Student's t; the normal one at infinite df."""
    return np.asarray(ndtr(t) if math.isinf(df) else stdtr(df, t))


def _highest(rows: Floats, n_directions: int, two_sided: bool, rng: np.random.Generator) -> Floats:
    """Maxima over the rows in random directions; one-sided maxima also in opposite directions."""
    found = []
    for errors in _projections(rows, n_directions, rng):
        if two_sided:
            found.append(np.abs(errors).max(axis=1))
        else:
            found += [errors.max(axis=1), -errors.min(axis=1)]
    return np.concatenate(found)


def _projections(rows: Floats, n_directions: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Products ``W u`` for random directions u, in chunks; u does not depend on the chunks."""
    n_rows, rank = rows.shape
    chunk = max(1, _NUMBERS // n_rows)
    for start in range(0, n_directions, chunk):
        normal = rng.standard_normal((min(chunk, n_directions - start), rank))
        yield (normal / np.linalg.norm(normal, axis=1, keepdims=True)) @ rows.T


def _tail(rank: int, df: float) -> Callable[[ArrayLike, Floats], Floats]:
    """``P(R M / s >= c)`` for radius R and scale s; 1 or 0 if the signs of c and M determine it."""

    def tail(c: ArrayLike, highest: Floats) -> Floats:
        c, highest = np.broadcast_arrays(np.asarray(c, dtype=float), highest)
        reached = np.where((c <= 0.0) & (highest >= 0.0), 1.0, 0.0)
        # If c and M are negative, the maximum is at least c if and only if the radius is small.
        for upper, where in ((True, (c > 0) & (highest > 0)), (False, (c <= 0) & (highest < 0))):
            square = (c[where] / highest[where]) ** 2
            reached[where] = _radial(square, rank, df, upper)
        return reached

    return tail


def _radial(square: Floats, rank: int, df: float, upper: bool) -> Floats:
    """A tail of the squared radius over the squared scale; chi-squared at infinite df."""
    if math.isinf(df):
        return np.asarray((chdtrc if upper else chdtr)(rank, square))
    return np.asarray((fdtrc if upper else fdtr)(rank, df, square / rank))


# Rankers of the same items.


def best_pvalues(
    values: ArrayLike,
    covariance: ArrayLike,
    df: float,
    rng: np.random.Generator,
    *,
    n_directions: int = N_DIRECTIONS,
) -> Floats:
    """For each estimate, the p-value of "its value is the largest": Hsu's multiple comparisons.

    At level alpha, ranker i leaves the set of those that may be best if ``g_i - g_j < -c_i SE_ij``
    for some j, with the one-sided critical value c_i of all comparisons with i. That is where the
    largest ``(g_j - g_i) / SE_ij`` has a p-value below alpha, which is returned. The best one stays
    in the set with probability ``1 - alpha``. A difference without error excludes no ranker.
    """
    values = np.asarray(values, dtype=float)
    pvalue = np.ones(values.size)
    for i in range(values.size):
        pairs = pairs_with(i, values.size)
        error, rows = difference_contrasts(covariance, pairs)
        known = error > 0.0
        if known.any():
            largest = np.max((values[pairs[known, 0]] - values[i]) / error[known])
            pvalue[i] = largest_pvalue(
                largest, rows[known], df, rng, alternative="greater", n_directions=n_directions
            )
    return pvalue


def level_of_tests(confidence_level: float) -> float:
    """One minus the confidence level, in which 1 - 0.9 counts as 0.1."""
    return (1.0 - confidence_level) * (1.0 + 1e-9)


def holm(pvalue: Floats) -> Floats:
    """Holm's adjusted p-values: the i-th smallest of n times n - i + 1, made non-decreasing."""
    order = np.argsort(pvalue, kind="stable")
    stepped = pvalue[order] * np.arange(pvalue.size, 0, -1)
    adjusted = np.empty(pvalue.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted
