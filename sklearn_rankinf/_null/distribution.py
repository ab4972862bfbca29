"""Frozen null distributions of a statistic."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from scipy import stats

from sklearn_rankinf._engine import (
    UNKNOWN,
    BoundedDistribution,
    Distribution,
    DistributionCache,
    EstimatedDistribution,
    ListedDistribution,
)
from sklearn_rankinf._permutation import Draws, NullSampler, Sampler, pvalue_of_draws
from sklearn_rankinf._ranking import (
    as_numbers,
    as_seed_sequence,
    as_shape,
    check_alternative,
    check_integer,
    check_n_jobs,
    check_verbose,
    shown,
)
from sklearn_rankinf._statistics import (
    FEW_BLOCKS,
    Floats,
    Integers,
    Metric,
    Statistic,
    cached_property,
    plain,
    zhang_su_mean_and_variance,
)

# Values of the statistic whose relative difference is at most this count as equal.
_SAME = 1e-12
_SMALLEST_ERROR = 1e-13
# Relative rounding error of adding a constant to a sum.
_ROUNDING = 1e-14
# Number of random labellings at least as extreme as the observed one at which the sequential test
# stops: the relative standard error of its p-value is then about a tenth.
_N_EXCEEDANCES = 100
# Probabilities with a logarithm closer to 0 than this are computed from their complement.
_NEAR_ZERO = -1e-9
# Values beyond are replaced by it, so that no difference of two overflows.
_LARGEST = float(np.finfo(float).max) / 4.0
# Exact distributions with few blocks are cheap and rarely requested twice. Of the others the most
# recent are cached by value, up to about 160 MB.
_DISTRIBUTIONS = DistributionCache(max_distributions=64, max_numbers=2e7)


class NullDistribution:
    """Frozen null distribution of a ranking statistic.

    The methods have the names of scipy's frozen distributions and are vectorised over their
    arguments. Computation is lazy. `mean`, `var`, `std`, `stats` and `moment` always refer to the
    exact null distribution; every other method refers to the distribution chosen with `method`.

    Attributes
    ----------
    method : str
        The method in use: ``"analytic"``, ``"permutation"``, ``"normal"``, ``"pearson3"`` or
        ``"zhang_su"``.
    n_samples, n_positives : int
        Size of the ranking and number of positives.
    tie_sizes : ndarray or None
        Sizes of the blocks of equal scores, best first; None without ties.
    statistic : object
        The ranking statistic, as a sum over blocks of equal scores.

    See Also
    --------
    sklearn_rankinf.ap_null_distribution : Null distribution of average precision.
    sklearn_rankinf.average_precision_test : Test whose result contains a null distribution.

    Notes
    -----
    Methods with an argument x or q accept scalars, for which they return a float, and arrays of any
    shape, for which they return an array of that shape; nan gives nan. Pickling stores the
    arguments, not the computed values. An instance can be shared between threads.

    Examples
    --------
    >>> from sklearn_rankinf import ap_null_distribution
    >>> null = ap_null_distribution(1000, 100)
    >>> round(null.mean(), 4), round(null.std(), 4)
    (0.1058, 0.0114)
    >>> null.pvalue([0.1, 0.14]).round(4)
    array([0.6674, 0.0087])
    """

    # Accepted relative error of tail probabilities.
    _tolerance = 0.0
    # Distance within which values count as equal, beside the relative one.
    _rounding: float = 0.0
    # Number of random labellings after which sampling stopped early; None if it did not.
    _stopped_after: int | None = None

    def __init__(
        self,
        statistic: Statistic,
        n_samples: int,
        n_positives: int,
        tie_sizes: Integers | None,
        method: str,
        n_resamples: int = 9999,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_samples = n_samples
        self.n_positives = n_positives
        self.tie_sizes = tie_sizes
        self.method = "analytic" if method == "auto" else method
        self.statistic = statistic
        self._n_resamples = check_integer(n_resamples, "n_resamples", 1)
        self._seeds = as_seed_sequence(random_state)
        self._n_jobs = check_n_jobs(n_jobs)
        self._verbose = check_verbose(verbose)

    def __getstate__(self) -> dict[str, Any]:
        # Recomputing millions of atoms or resamples is faster than transferring them.
        lazy = ("_distribution", "_sampler")
        return {name: value for name, value in vars(self).items() if name not in lazy}

    @property
    def _key(self) -> tuple[Any, ...]:
        """Equal for equal null distributions that were requested together."""
        ties = None if self.tie_sizes is None else self.tie_sizes.tobytes()
        return self.statistic, self.n_samples, self.n_positives, ties

    def __repr__(self) -> str:
        ties = "" if self.tie_sizes is None else f", n_blocks={self.tie_sizes.size}"
        return (
            f"{type(self).__name__}({self.statistic}, n_samples={self.n_samples}, "
            f"n_positives={self.n_positives}{ties}, method={self.method!r})"
        )

    # Moments, exact for every method.

    def mean(self) -> float:
        """Exact mean."""
        return self._mean_and_variance[0]

    def var(self) -> float:
        """Exact variance."""
        return self._mean_and_variance[1]

    def std(self) -> float:
        """Exact standard deviation."""
        return math.sqrt(self.var())

    def stats(self, moments: str = "mv") -> Any:
        """Exact mean, variance, skewness and excess kurtosis.

        Parameters
        ----------
        moments : str, default="mv"
            Letters of "mvsk" that select the moments. All are fast: without ties the cost does not
            depend on n_samples, with ties it is a few operations for each block.

        Returns
        -------
        float or tuple of float
            The moments in the order m, v, s, k; a float if only one is requested. Skewness and
            kurtosis are nan if the statistic cannot vary.

        Raises
        ------
        ValueError
            If `moments` contains another letter.

        Notes
        -----
        All four are exact up to rounding, as closed forms or sums over the blocks. For skewness and
        kurtosis of more than 100,000 ranks without ties, ranks far down are merged, with a relative
        error below 1e-9 or an absolute error below 1e-12.

        Examples
        --------
        >>> from sklearn_rankinf import ap_null_distribution
        >>> round(ap_null_distribution(1000, 100).stats("s"), 3)
        0.787
        >>> [f"{value:.2g}" for value in ap_null_distribution(10**12, 10**11).stats("sk")]
        ['2.3e-05', '1.1e-09']
        """
        given: Any = moments
        if not isinstance(given, str) or not given or set(given) - set("mvsk"):
            raise ValueError(f"moments must be letters of 'mvsk'; got {shown(moments)}.")
        known: dict[str, Callable[[], float]] = {
            "m": self.mean,
            "v": self.var,
            "s": lambda: self._standardized_cumulant(3),
            "k": lambda: self._standardized_cumulant(4),
        }
        values = tuple(known[letter]() for letter in "mvsk" if letter in moments)
        return values if len(values) > 1 else values[0]

    def moment(self, order: int) -> Any:
        """Exact raw moment ``E S**order``.

        Parameters
        ----------
        order : int
            From 0 to 4.

        Returns
        -------
        float or ndarray
            The moment; an array if the distribution has several k.

        Raises
        ------
        ValueError
            If `order` is not an integer from 0 to 4.
        """
        given: Any = order
        if isinstance(given, bool) or not isinstance(given, Integral) or not 0 <= int(given) <= 4:
            raise ValueError(f"order must be an integer from 0 to 4; got {shown(order)}.")
        order = int(order)
        mean, deviation = np.asarray(self.mean()), np.asarray(self.std())
        central = [np.ones(mean.shape), np.zeros(mean.shape), np.asarray(self.var())]
        for degree in range(3, order + 1):
            # A constant statistic has no standardized moments; its central moments are 0.
            scaled = np.nan_to_num(self._standardized_cumulant(degree))
            normal = 3.0 if degree == 4 else 0.0
            central.append((scaled + normal) * deviation**degree)
        terms = [
            math.comb(order, degree) * central[degree] * mean ** (order - degree)
            for degree in range(order + 1)
        ]
        return plain(np.sum(terms, axis=0))

    # The distribution.

    @property
    def _is_listed(self) -> bool:
        """Whether all values and probabilities are stored, so that quantiles are looked up."""
        return bool(self._distribution.is_listed)

    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        return self._distribution.support()

    def median(self) -> float:
        """Median: the smallest x with cdf(x) >= 1/2."""
        return float(self.ppf(0.5))

    def interval(self, confidence: ArrayLike) -> tuple[Any, Any]:
        """Interval with equal tails around the median.

        Parameters
        ----------
        confidence : array-like of float
            Probability of the interval, between 0 and 1.

        Returns
        -------
        low, high : float or ndarray
            ``ppf((1 - confidence) / 2)`` and ``ppf((1 + confidence) / 2)``.

        Raises
        ------
        ValueError
            If `confidence` is not between 0 and 1.
        """
        level = as_numbers(confidence, "confidence")
        if np.any((level < 0.0) | (level > 1.0)):
            raise ValueError(f"confidence must lie between 0 and 1; got {shown(confidence)}.")
        return self.ppf((1.0 - level) / 2.0), self.ppf((1.0 + level) / 2.0)

    def logsf(self, x: ArrayLike) -> Any:
        """Natural logarithm of the survival function P(S > x)."""
        return self._over(x, lambda t: self._log_tail(self._above(t), 1))

    def logcdf(self, x: ArrayLike) -> Any:
        """Natural logarithm of the distribution function P(S <= x)."""
        return self._over(x, lambda t: self._log_tail(self._above(t), -1))

    def sf(self, x: ArrayLike) -> Any:
        """Survival function P(S > x), strict as in scipy; see `pvalue` for P(S >= x)."""
        return self._over(x, lambda t: self._distribution.tail(self._above(t), 1)[0])

    def cdf(self, x: ArrayLike) -> Any:
        """Distribution function P(S <= x)."""
        return self._over(x, lambda t: self._distribution.tail(self._above(t), -1)[0])

    def ppf(self, q: ArrayLike) -> Any:
        """Quantile: the smallest x with cdf(x) >= q."""
        return self._quantile(q, -1)

    def isf(self, q: ArrayLike) -> Any:
        """Upper quantile: the smallest x with sf(x) <= q."""
        return self._quantile(q, 1)

    def rvs(self, size: int | tuple[int, ...] = 1, random_state: Any = None) -> Floats:
        """Draw independent values.

        Parameters
        ----------
        size : int or tuple of int, default=1
            Shape of the result.
        random_state : int, RandomState, Generator or None, default=None
            Source of randomness.

        Returns
        -------
        ndarray of shape `size`
            Values of the statistic for random labellings; for an approximation, draws from it.

        Raises
        ------
        ValueError
            If `size` is negative.
        """
        return self._drawn(as_shape(size), np.random.default_rng(as_seed_sequence(random_state)))

    def _drawn(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        n_draws = math.prod(shape)
        if isinstance(self._distribution, ApproximateDistribution):
            return self._distribution.draw(n_draws, rng).reshape(shape)
        sampler = self._sampler
        draws = [sampler.draw(size, rng) for size in sampler.chunks(n_draws)]
        return np.concatenate([np.empty(0), *draws]).reshape(shape)

    # Significance.

    def log_pvalue(self, x: ArrayLike, alternative: str = "greater") -> Any:
        """Natural logarithm of `pvalue`, finite where `pvalue` underflows.

        Parameters
        ----------
        x : array-like
            Observed values.
        alternative : {"greater", "less", "two-sided"}, default="greater"
            Direction of the test.

        Returns
        -------
        float or ndarray
            Logarithms; -inf for values that cannot be reached.

        Examples
        --------
        One of all ways to place 200 positives among 2200 ranks is perfect:

        >>> from sklearn_rankinf import ap_null_distribution
        >>> round(ap_null_distribution(2200, 200).log_pvalue(1.0), 2)
        -666.68
        """
        return self._over(x, lambda t: self._log_significance(t, alternative))

    def pvalue(self, x: ArrayLike, alternative: str = "greater") -> Any:
        """P-value of observed values; unlike `sf` it includes values equal to x.

        Parameters
        ----------
        x : array-like
            Observed values.
        alternative : {"greater", "less", "two-sided"}, default="greater"
            P(S >= x), P(S <= x), or twice the smaller of the two, at most 1.

        Returns
        -------
        float or ndarray
            P-values.

        Raises
        ------
        TypeError
            If `x` holds anything but real numbers.
        ValueError
            If `alternative` is none of the three.

        Notes
        -----
        Values that differ by less than 1e-12 relatively count as equal. A permutation p-value is
        (b + 1) / (B + 1), with b of B resamples at least as extreme [1]_.

        References
        ----------
        .. [1] Phipson, B., & Smyth, G. K. (2010). Permutation p-values should never be zero.
           Statistical Applications in Genetics and Molecular Biology, 9(1), 39.

        Examples
        --------
        >>> from sklearn_rankinf import ap_null_distribution
        >>> null = ap_null_distribution(4, 1)  # AP is 1, 1/2, 1/3 or 1/4
        >>> null.pvalue([1 / 3, 1.0]), null.sf([1 / 3, 1.0])
        (array([0.75, 0.25]), array([0.5, 0. ]))
        """
        return self._over(x, lambda t: self._significance(t, alternative)[0])

    def relative_error(self, x: ArrayLike, alternative: str = "greater") -> Any:
        """Estimated relative error of `pvalue`; never below 1e-13.

        Parameters
        ----------
        x : array-like
            Observed values.
        alternative : {"greater", "less", "two-sided"}, default="greater"
            Direction of the test.

        Returns
        -------
        float or ndarray
            For the exact distribution, a conservative estimate of the numerical error. If the
            p-value is the midpoint of guaranteed bounds, half the distance between them. If no
            error below 10 % can be stated, infinity; `pvalue` is then a guaranteed upper bound,
            which is a valid p-value, and `pvalue_bounds` contains the lower bound. For permutation,
            the Monte Carlo standard error divided by the p-value. For the approximations infinity,
            since their error is unknown.
        """
        return self._over(
            x, lambda t: np.maximum(self._significance(t, alternative)[2], _SMALLEST_ERROR)
        )

    def solver(self, x: ArrayLike, alternative: str = "greater") -> Any:
        """Name of the algorithm that computes `pvalue`.

        Parameters
        ----------
        x : array-like
            Observed values.
        alternative : {"greater", "less", "two-sided"}, default="greater"
            Direction of the test.

        Returns
        -------
        str or ndarray of str
            One of the algorithms in :ref:`which-algorithm`, such as ``"stratified contour"``. On
            the near side of the mean, where the p-value is the complement of a small tail, the
            algorithm that computes this tail. For other methods, the name of the method. Empty for
            nan.

        Examples
        --------
        >>> from sklearn_rankinf import ap_null_distribution
        >>> null = ap_null_distribution(10_000, 50)
        >>> null.solver([0.01, 0.99, 1.0]).tolist()
        ['stratified contour', 'near-maximum enumeration', 'closed form']
        """
        alternative = check_alternative(alternative)
        values = as_numbers(x, "x")
        names = np.full(values.size, "", dtype=object)
        known = ~np.isnan(values.ravel())
        t, null = values.ravel()[known], self._distribution
        if self.method != "analytic":
            names[known] = self.method
        elif not isinstance(null, EstimatedDistribution):
            names[known] = "hypergeometric"
        elif t.size:
            signs = {"greater": (1,), "less": (-1,), "two-sided": (1, -1)}[alternative]
            found = [null.estimates(self._with_equals(t, sign), sign) for sign in signs]
            smaller = np.argmin([each.log_p for each in found], axis=0)
            names[known] = np.choose(smaller, [each.solver for each in found])
        return names.astype(str).reshape(values.shape) if values.ndim else str(names[0])

    def pvalue_bounds(self, x: ArrayLike, alternative: str = "greater") -> tuple[Any, Any]:
        """Guaranteed lower and upper bounds of the exact p-value.

        Parameters
        ----------
        x : array-like
            Observed values.
        alternative : {"greater", "less", "two-sided"}, default="greater"
            Direction of the test.

        Returns
        -------
        lower, upper : float or ndarray
            Bounds of the exact p-value, which take ties and the tolerance for equal values into
            account. They are 0 and 1 if no bounds are known, as for permutation and the
            approximations.

        Raises
        ------
        ValueError
            If `alternative` is none of the three.

        Notes
        -----
        If every atom is known, the bounds allow for rounding alone. For larger distributions every
        increment of the statistic is rounded down to a multiple of some width. The sum of K
        increments is then too small by less than K widths, so that a single histogram of rounded
        sums bounds both tails at every value within its range (two histograms are used if far ranks
        have to be merged). Terms dropped on the way are smaller than the tails by many orders of
        magnitude; Hoeffding's inequality [1]_ bounds them, and the bound is added. With fewer
        negatives than positives, the amounts that the negatives subtract are rounded instead. The
        first call takes up to a few seconds for each range of values. Longer computations, with
        many positives in a long list or more than a million blocks, are not attempted, and the
        bounds are 0 and 1.

        References
        ----------
        .. [1] Hoeffding, W. (1963). Probability inequalities for sums of bounded random variables.
           Journal of the American Statistical Association, 58(301), 13-30.

        Examples
        --------
        >>> from sklearn_rankinf import ap_null_distribution
        >>> null = ap_null_distribution(500, 20)
        >>> lower, upper = null.pvalue_bounds(0.15)
        >>> lower < null.pvalue(0.15) < upper < 1.01 * lower
        True
        """
        alternative = check_alternative(alternative)
        if self.method != "analytic":
            return self._over(x, np.zeros_like), self._over(x, np.ones_like)
        if self._is_listed:
            p = self.pvalue(x, alternative)
            error = np.maximum(self.relative_error(x, alternative), _SAME)
            return p * np.maximum(1.0 - error, 0.0), np.minimum(p * (1.0 + error), 1.0)
        return (
            self._over(x, lambda t: self._bounds(t, alternative)[0]),
            self._over(x, lambda t: self._bounds(t, alternative)[1]),
        )

    # Computation. Each kind of null distribution has its own moments and its exact distribution.

    _mean_and_variance: cached_property[tuple[float, float]]
    _skewness_and_kurtosis: cached_property[tuple[float, float]]

    def _exact_distribution(self) -> Distribution:
        raise NotImplementedError

    @property
    def _problem(self) -> tuple[Statistic, int, int, Integers | None]:
        """The statistic as a sum over the positives or negatives, whichever is more accurate."""
        n, m, sizes = self.n_samples, self.n_positives, self.tie_sizes
        mirrored = self.statistic.mirrored(n, m)
        if mirrored is None:
            return self.statistic, n, m, sizes
        return mirrored, n, n - m, None if sizes is None else sizes[::-1]

    @cached_property
    def _sampler(self) -> Sampler:
        return NullSampler(*self._problem)

    def _standardized_cumulant(self, order: int) -> Any:
        """Skewness (order 3) or excess kurtosis (order 4); nan where the statistic cannot vary."""
        return math.nan if self.var() == 0.0 else self._skewness_and_kurtosis[order - 3]

    @cached_property
    def _distribution(self) -> Distribution:
        sizes = self.tie_sizes
        if self.method == "analytic" and sizes is not None and sizes.size <= FEW_BLOCKS:
            return self._new_distribution()
        key: tuple[Any, ...] = self.statistic, self.n_samples, self.n_positives, self.method
        key += (self._tolerance, None if sizes is None else sizes.tobytes())
        if self.method == "permutation":
            key += (self._n_resamples, str(self._seeds.entropy), self._seeds.spawn_key)
            key += (self._stopped_after,)
        null: Distribution = _DISTRIBUTIONS.find(key, self._new_distribution)
        return null

    def _new_distribution(self) -> Distribution:
        with np.errstate(under="ignore"):
            is_exact = self.method == "analytic" or self.var() == 0.0
            return METHODS["analytic" if is_exact else self.method].distribution(self)

    def _of_labellings(self) -> Distribution:
        sample = np.sort(self._permutation_sample())
        return ListedDistribution(sample, np.zeros(sample.size))

    def _normal(self) -> Distribution:
        return ApproximateDistribution(stats.norm(self.mean(), self.std()))

    def _pearson3(self) -> Distribution:
        skewness = self._standardized_cumulant(3)
        return ApproximateDistribution(stats.pearson3(skewness, self.mean(), self.std()))

    def _zhang_su(self) -> Distribution:
        mean, variance = zhang_su_mean_and_variance(self.n_samples, self.n_positives)
        return ApproximateDistribution(stats.norm(mean, math.sqrt(variance)))

    def _permutation_sample(self) -> Floats:
        """Values of the resamples."""
        if self._stopped_after is None:
            return self._draws.of(self._sampler)
        sizes = self._sampler.chunks(self._n_resamples)
        chunks = sizes[: int(np.searchsorted(np.cumsum(sizes), self._stopped_after)) + 1]
        drawn = self._draws.over(self._sampler.draw, self._draws.chunks(chunks))
        return np.concatenate(drawn)[: self._stopped_after]

    @property
    def _draws(self) -> Draws:
        return Draws(self._n_resamples, self._seeds, self._n_jobs, self._verbose)

    def _values_in_order(self) -> Iterator[Floats]:
        """Yield the values of the resamples chunk by chunk, as many chunks at a time as jobs."""
        draws, sampler = self._draws, self._sampler
        chunks = draws.chunks(sampler.chunks(self._n_resamples))
        at_a_time = effective_n_jobs(self._n_jobs)
        for first in range(0, len(chunks), at_a_time):
            yield from draws.over(sampler.draw, chunks[first : first + at_a_time])

    def _stopped_at(self, x: float, alternative: str, n_exceedances: int) -> NullDistribution:
        """Distribution of the resamples up to the one with exceedance number `n_exceedances`."""
        drawn, n_found, n_drawn = [], 0, 0
        for values in self._values_in_order():
            drawn.append(values)
            found = np.flatnonzero(self._is_extreme(values, x, alternative))
            if n_found + found.size >= n_exceedances:
                n_drawn += int(found[n_exceedances - n_found - 1]) + 1
                return self._of_resamples(np.concatenate(drawn)[:n_drawn], n_drawn)
            n_found, n_drawn = n_found + found.size, n_drawn + values.size
        return self._of_resamples(np.concatenate(drawn), None)

    def _is_extreme(self, values: Floats, x: float, alternative: str) -> Any:
        """Whether values are at least as extreme as x."""
        t = as_numbers(x, "x")
        if alternative == "greater":
            return values >= self._below(t)
        return values <= self._above(t)

    def _of_resamples(self, values: Floats, stopped_after: int | None) -> NullDistribution:
        null = copy(self)
        null._stopped_after = stopped_after
        sample = np.sort(values)
        vars(null)["_distribution"] = ListedDistribution(sample, np.zeros(sample.size))
        return null

    @property
    def _has_stopped(self) -> bool:
        """Whether drawing of resamples stopped before all of them were drawn."""
        return self._stopped_after is not None

    @property
    def _n_drawn(self) -> int:
        """Number of random labellings that were drawn."""
        return self._n_resamples if self._stopped_after is None else self._stopped_after

    def _significance(self, t: Floats, alternative: str) -> tuple[Floats, Floats, Floats]:
        """P-values, their logarithms and their relative errors."""
        alternative = check_alternative(alternative)
        if alternative != "two-sided":
            return self._one_sided(t, 1 if alternative == "greater" else -1)
        greater, less = self._one_sided(t, 1), self._one_sided(t, -1)
        p, log_p, error = (
            np.where(greater[1] <= less[1], one, other)
            for one, other in zip(greater, less, strict=True)
        )
        # Both tails add up to at least 1: if one is below half, the other one is larger even where
        # it is only bounded.
        error = np.where(p < 0.5, error, np.maximum(greater[2], less[2]))
        return np.minimum(2.0 * p, 1.0), np.minimum(log_p + math.log(2.0), 0.0), error

    def _log_significance(self, t: Floats, alternative: str) -> Floats:
        """Logarithms of p-values."""
        alternative = check_alternative(alternative)
        if alternative == "two-sided" or np.any(self._counts_resamples):
            return self._significance(t, alternative)[1]
        sign = 1 if alternative == "greater" else -1
        return self._log_tail(self._with_equals(t, sign), sign)

    def _log_tail(self, t: Floats, sign: int) -> Floats:
        """Log of ``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1); near 0 from the complement."""
        log_p = self._distribution.tail(t, sign)[1]
        near = log_p > _NEAR_ZERO
        if near.any():
            rest, _, error = self._distribution.tail(np.nextafter(t, -sign * np.inf), -sign)
            # A tail that is only bounded has 1 as its bound.
            bounded = (error > UNKNOWN) & (self.method == "analytic")
            rest = np.where(bounded, 0.0, rest)
            # A complement of 1 contains no information.
            near &= rest < 1.0
            log_p = np.where(near, np.log1p(-np.where(near, rest, 0.0)), log_p)
        return log_p

    def _one_sided(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        p, log_p, error = self._tail_with_equals(t, sign)
        counts_resamples = np.asarray(self._counts_resamples)
        if not counts_resamples.any():
            return p, log_p, error
        n_resamples = self._n_drawn
        counted = pvalue_of_draws(np.rint(p * n_resamples), n_resamples)
        monte_carlo = monte_carlo_error(counted, n_resamples)
        return (
            np.where(counts_resamples, counted, p),
            np.where(counts_resamples, np.log(counted), log_p),
            np.where(counts_resamples, monte_carlo, error),
        )

    def _tail_with_equals(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        return self._distribution.tail(self._with_equals(t, sign), sign)

    def _with_equals(self, t: Floats, sign: int) -> Floats:
        """Shift the values so that the tail includes values equal to them."""
        return self._below(t) if sign > 0 else self._above(t)

    def _n_exceedances(self, t: Floats, alternative: str) -> Any:
        """Number of resamples at least as extreme; two-sided, the smaller of the two numbers."""
        signs = {"greater": (1,), "less": (-1,), "two-sided": (1, -1)}[alternative]
        shares = [self._tail_with_equals(t, sign)[0] for sign in signs]
        return np.rint(np.minimum.reduce(shares) * self._n_drawn)

    def _bounds(self, t: Floats, alternative: str) -> tuple[Floats, Floats]:
        """Bounds of p-values if the values are not listed."""
        null = self._distribution
        assert isinstance(null, BoundedDistribution)
        if alternative == "greater":
            return null.bounds(self._below(t), 1)
        if alternative == "less":
            return null.bounds(self._above(t), -1)
        lower, upper = np.minimum(null.bounds(self._below(t), 1), null.bounds(self._above(t), -1))
        return np.minimum(2.0 * lower, 1.0), np.minimum(2.0 * upper, 1.0)

    def _above(self, t: Floats) -> Floats:
        return _up(t) + self._rounding

    def _below(self, t: Floats) -> Floats:
        return _down(t) - self._rounding

    @property
    def _counts_resamples(self) -> bool:
        return self.method == "permutation" and self.var() > 0.0

    def _best(self) -> Any:
        """Value of a perfect ranking without ties."""
        return self.statistic.maximum(self.n_samples, self.n_positives)

    def _quantile(self, q: ArrayLike, sign: int) -> Any:
        def quantile(level: Floats) -> Floats:
            value = np.full(level.shape, np.nan)
            inner = (level > 0.0) & (level < 1.0)
            if inner.any():
                value[inner] = self._distribution.quantile(level[inner], sign)
            at_an_end = (level == 0.0) | (level == 1.0)
            if at_an_end.any():
                low, high = self.support()[::-sign]
                value[at_an_end] = np.where(level[at_an_end] == 0.0, low, high)
            return value

        return self._over(as_numbers(q, "q"), quantile)

    def _over(
        self, x: ArrayLike, function: Callable[[Floats], Any], rows: tuple[int, ...] = ()
    ) -> Any:
        """Apply a function of a flat array to the finite entries of x; nan stays nan.

        The function returns an array of the same shape, or several of them as `rows`.
        """
        values = as_numbers(x, "x")
        flat = values.ravel()
        out = np.full((*rows, flat.size), np.nan)
        known = ~np.isnan(flat)
        if known.any():
            with np.errstate(under="ignore"):
                out[..., known] = function(flat[known].clip(-_LARGEST, _LARGEST))
        return out.reshape(*rows, *values.shape) if rows or values.ndim else float(out[0])


class ApproximateDistribution:
    """Continuous distribution of scipy with the interface of the exact ones."""

    is_listed = False

    def __init__(self, distribution: Any) -> None:
        self._distribution = distribution

    def tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """Upper (sign 1) or lower (sign -1) tail and its log; the error is unknown."""
        upper, frozen = sign > 0, self._distribution
        # The largest floats overflow to infinity, at which the tails are correct.
        with np.errstate(divide="ignore", over="ignore"):
            log_p = frozen.logsf(t) if upper else frozen.logcdf(t)
            p = frozen.sf(t) if upper else frozen.cdf(t)
        return np.asarray(p), np.asarray(log_p), np.full(t.shape, np.inf)

    def quantile(self, q: Floats, sign: int) -> Floats:
        """Quantiles from below (sign -1) or above (sign 1)."""
        return np.asarray(self._distribution.isf(q) if sign > 0 else self._distribution.ppf(q))

    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        low, high = self._distribution.support()
        return float(low), float(high)

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw from the approximate distribution."""
        return np.asarray(self._distribution.rvs(size=n_draws, random_state=rng))


@dataclass(frozen=True)
class NullMethod:
    """A method of a null distribution: its words in a sentence, its function, authors and year."""

    title: str
    distribution: Callable[[Any], Distribution]
    reference: str = ""


# The method that permutes labels alone, while the weights of items stay with the scores.
OF_LABELS = "permutation_of_labels"

METHODS = {
    "analytic": NullMethod("exact test", lambda null: null._exact_distribution()),
    "permutation": NullMethod("permutation test", lambda null: null._of_labellings()),
    OF_LABELS: NullMethod(
        "permutation test of the labels alone", lambda null: null._of_labellings()
    ),
    "sequential": NullMethod(
        "sequential permutation test",
        lambda null: null._of_labellings(),
        "Besag and Clifford 1991",
    ),
    "normal": NullMethod("normal approximation", lambda null: null._normal()),
    "pearson3": NullMethod("Pearson III approximation", lambda null: null._pearson3()),
    "binomial": NullMethod("binomial approximation", lambda null: null._binomial()),
    "zhang_su": NullMethod(
        "Zhang and Su's approximation", lambda null: null._zhang_su(), "Zhang and Su 2012"
    ),
}


def tolerating(null: NullDistribution, relative_error: float) -> NullDistribution:
    """Return the same distribution, computed only up to a relative error of its tails."""
    null = copy(null)
    vars(null).pop("_distribution", None)
    null._tolerance = relative_error
    return null


def pvalue_log_and_error(null: NullDistribution, x: Any, alternative: str) -> tuple[Any, Any, Any]:
    """`pvalue`, `log_pvalue` and `relative_error` at x, from a single computation."""
    p, log_p, error = null._over(x, lambda t: null._significance(t, alternative), rows=(3,))
    return plain(p), plain(log_p), plain(np.maximum(error, _SMALLEST_ERROR))


def is_upper_bound(null: NullDistribution, relative_error: Any) -> Any:
    """Whether p-values are guaranteed upper bounds, because their error cannot be stated."""
    unknown = np.isinf(relative_error)
    return unknown if null.method == "analytic" else np.zeros_like(unknown)


def pvalue_limits(
    null: NullDistribution, x: Any, alternative: str, pvalue: Any, relative_error: Any
) -> tuple[Any, Any]:
    """Limits of p-values: minus and plus their stated error; 0 and 1 for approximations.

    A p-value that is only an upper bound is the upper limit itself. Its lower limit is the
    guaranteed lower bound, which was found with the upper one.
    """
    unknown = np.isinf(relative_error)
    error = np.where(unknown, 1.0, relative_error)
    low, high = pvalue * np.maximum(1.0 - error, 0.0), np.minimum(pvalue * (1.0 + error), 1.0)
    bounded = is_upper_bound(null, relative_error)
    high = np.where(unknown, np.where(bounded, pvalue, 1.0), high)
    if np.any(bounded):
        low = np.array(low)
        guaranteed = null.pvalue_bounds(np.asarray(x)[bounded], alternative)[0]
        low[bounded] = np.minimum(guaranteed, np.asarray(pvalue)[bounded])
    return plain(low), plain(high)


def stopped_distribution(
    null: NullDistribution, x: float, alternative: str
) -> tuple[NullDistribution, tuple[float, float, float] | None]:
    """Distribution of the resamples of a sequential test, which are drawn in order until it stops.

    The p-value, its logarithm and its relative error are returned too if the test stopped early.
    """
    if not null._counts_resamples:
        return null, None  # a constant statistic needs no resamples
    null = null._stopped_at(x, alternative, _N_EXCEEDANCES)
    if null._stopped_after is None:
        return null, None
    p = _N_EXCEEDANCES / null._stopped_after
    error = max(float(monte_carlo_error(p, null._stopped_after)), _SMALLEST_ERROR)
    return null, (p, math.log(p), error)


def resamples_of(null: NullDistribution, x: Any, alternative: str) -> tuple[Any, Any]:
    """Number of resamples, and number of resamples at least as extreme as x.

    Both are 0 for a statistic with a single value, and None for other methods.
    """
    if null.method != "permutation":
        return None, None
    if not null._counts_resamples:
        return 0, 0
    n_extreme = null._n_exceedances(as_numbers(x, "x"), alternative)
    return null._n_drawn, n_extreme.astype(np.int64) if np.ndim(n_extreme) else int(n_extreme)


def n_listed(null: NullDistribution) -> int | None:
    """Number of values of a distribution that stores each; None if it does not."""
    found = null._distribution
    return found.values.size if isinstance(found, ListedDistribution) else None


def monte_carlo_error(pvalue: Any, n_resamples: int) -> Any:
    """Standard error of a permutation p-value, relative to the p-value."""
    return np.sqrt((1.0 - pvalue) / (pvalue * n_resamples))


def _up(t: Floats) -> Floats:
    """Slightly above every value that counts as equal to t."""
    least = np.finfo(float).smallest_subnormal
    above = t + _SAME * np.abs(t) + least
    # No number is between the largest negative one and 0, so that these two count as equal.
    return np.asarray(np.where(above == 0.0, least, above))


def _down(t: Floats) -> Floats:
    """Slightly below every value that counts as equal to t."""
    return t - _SAME * np.abs(t) - np.finfo(float).smallest_subnormal


def value_of_perfect_ranking(null: NullDistribution) -> Any:
    """Value of the statistic for a perfect ranking without ties."""
    return null._best()


def rounding_of(statistic: Metric, n_samples: int, n_positives: int) -> float:
    """Distance within which two values of a sum count as equal after adding a constant."""
    return _ROUNDING * abs(statistic.offset(n_samples, n_positives))
