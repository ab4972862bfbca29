"""Randomization and matched-pair tests of two classifications of the same items."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import betainc, logsumexp
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._permutation import Draws, chunk_sizes
from sklearn_rankinf._ranking import (
    Design,
    PosLabel,
    Sample,
    check_alternative,
    check_option,
    read_labels,
    warn_caller,
)
from sklearn_rankinf._results import Result, state_pvalue
from sklearn_rankinf._statistics import Floats, Integers, is_smallest

Booleans: TypeAlias = NDArray[np.bool_]
Score: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], float]

_METRICS = ("f1", "precision", "recall")
_MATCHED_PAIR_TESTS = ("t", "sign", "wilcoxon")
_METHODS = ("auto", "analytic", "permutation", *_MATCHED_PAIR_TESTS)
# Maximum number of swaps that are enumerated, and maximum cost of counting them.
_MOST_LISTED_UNITS = 20
_MOST_COUNTED_UNITS = 1000
_MOST_OPERATIONS = 300_000_000
_MOST_CELLS = 4_000_000
# Number of random swaps in a chunk for a callable metric.
_CALLS_PER_CHUNK = 100
# Relative difference up to which two values of a callable count as equal.
_SAME = 1e-12
# Binomial probabilities below this are added up on the logarithmic scale.
_TINY = 1e-290
_NAMES = {"f1": "F1", "t": "Matched-pair t test", "sign": "Sign test"}
_NAMES |= {"wilcoxon": "Wilcoxon signed-rank test", "analytic": "Exact randomization test"}


@dataclass(frozen=True, eq=False, repr=False)
class RandomizationTestResult(Result):
    """Result of :func:`randomization_test`.

    Attributes
    ----------
    statistic_a, statistic_b : float
        Value of the metric for each system.
    difference : float
        ``statistic_a - statistic_b``.
    pvalue : float
        Probability, under random swaps of the outputs of the two systems, of a difference at least
        as extreme as the observed one; for matched-pair tests, the p-value of their statistic.
    log10_pvalue : float
        Base-10 logarithm of the p-value, finite even if `pvalue` underflows to 0.
    metric : str
        Name of the metric.
    method : {"analytic", "permutation", "t", "sign", "wilcoxon"}
        The method that was used.
    alternative : {"two-sided", "greater", "less"}
        The alternative hypothesis about system a.
    n_samples : int
        Number of items.
    n_discordant : int
        Number of items whose two outputs differ.
    n_resamples : int or None
        Number of random swaps of all items; None if none were drawn.

    See Also
    --------
    randomization_test : The test that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import randomization_test
    >>> y_true = [1, 1, 1, 1, 1, 0, 0, 0]
    >>> result = randomization_test(y_true, [1, 1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 0, 0])
    >>> result
    RandomizationTestResult(metric='f1', statistic_a=1, statistic_b=0.2857, difference=0.7143,
    pvalue=0.0625, alternative='two-sided', method='analytic', n_samples=8, n_discordant=5)
    """

    metric: str
    statistic_a: float
    statistic_b: float
    difference: float
    pvalue: float
    log10_pvalue: float = field(repr=False)
    alternative: str
    method: str
    n_samples: int
    n_discordant: int
    n_resamples: int | None

    def _sentences(self) -> Iterable[str]:
        test = _NAMES.get(self.method, f"Approximate randomization test, {self.n_resamples} swaps")
        n_drawn = self.n_resamples
        is_bound = n_drawn is not None and is_smallest(self.pvalue, n_drawn)
        shown = state_pvalue(self.log10_pvalue, is_bound)
        sided = self.alternative if self.alternative == "two-sided" else "one-sided"
        return [
            f"{test}, {self.n_samples} items of which {self.n_discordant} differ in output: "
            f"{_NAMES.get(self.metric, self.metric)} {self.statistic_a:.3f} against "
            f"{self.statistic_b:.3f}, difference {self.difference:.3f}, {sided} {shown}."
        ]


def randomization_test(
    y_true: ArrayLike,
    y_pred_a: ArrayLike,
    y_pred_b: ArrayLike,
    *,
    metric: str | Score = "f1",
    pos_label: PosLabel = 1,
    alternative: str = "two-sided",
    method: str = "auto",
    clusters: Iterable[Hashable] | None = None,
    n_resamples: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> RandomizationTestResult:
    r"""Test whether two systems that classify the same items differ.

    If the systems do not differ, the two outputs for an item are exchangeable. The test swaps the
    outputs of each item with probability 1/2, and compares the observed difference of the metric
    with the differences after swapping [1]_. For F1, precision and recall the p-value is exact,
    without random swaps.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels: numbers, booleans or strings; binary unless `metric` is a callable.
    y_pred_a, y_pred_b : array-like of shape (n_samples,)
        Labels that the two systems predict.
    metric : {"f1", "precision", "recall"} or callable, default="f1"
        The metric that is compared. A callable takes ``(y_true, y_pred)``, with the original
        labels, and returns a number.
    pos_label : int, float, bool or str, default=1
        The label of the positives; not used for a callable.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        Whether the metric of system a differs from that of system b, is greater or is less.
    method : str, default="auto"
        Method of the p-value:

        - ``"analytic"``: all swaps, counted for named metrics and enumerated for a callable;
        - ``"permutation"``: `n_resamples` random swaps;
        - ``"auto"``: exact if it takes moderate time (for a callable, no more calls than random
          swaps would take), otherwise random swaps;
        - ``"t"``, ``"sign"``, ``"wilcoxon"``: matched-pair tests, only for recall.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each item, such as a document or a patient; any hashable values. The outputs
        for all items of a cluster are swapped together.
    n_resamples : int, default=9999
        Number of random swaps of all items.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random swaps.
    n_jobs : int, optional
        Number of jobs for the random swaps. The result does not depend on it.
    verbose : int, default=0
        Verbosity of joblib; larger values print more messages.

    Returns
    -------
    result : RandomizationTestResult
        Both values of the metric, their difference and its p-value.

    Raises
    ------
    TypeError
        If labels have an unsupported type or different types, or if an argument has the wrong type.
    ValueError
        If the lengths differ, if a label is missing, if there are more than two labels without a
        callable, if an option is not one of those above, if a callable returns a value that is not
        finite, or if the method is not available for this metric or this number of items.

    Warns
    -----
    UndefinedMetricWarning
        If the metric of a system is 0/0, which counts as 0: precision if it predicts no positives.

    See Also
    --------
    PrecisionRecallPosterior : Posterior distributions of precision, recall and F-scores.
    paired_outcome_posterior : Posterior of the proportion of items that one system wins.

    Notes
    -----
    With the observed difference :math:`\Delta` and :math:`\Delta^*` after random swaps,

    .. math:: p = P(|\Delta^*| \ge |\Delta|)

    over all equally likely swaps, or :math:`p = (c + 1)/(B + 1)` if c of B random swaps have a
    difference at least as large. The null hypothesis is that the two outputs for an item, or for a
    cluster, are exchangeable. The test is exact for this hypothesis under any dependence of the
    outputs.

    Only items whose outputs differ affect the test; for F1, precision and recall, only the number
    of positives among them does. If swaps give system a the positive outputs of X of the
    :math:`D_1` positives and of Z of the :math:`D_0` negatives among these items, X and Z are
    independent and binomial with probability 1/2, and :math:`\Delta^*` does not decrease as X
    increases. The p-value is therefore a sum over Z of binomial tails,

    .. math:: P(\Delta^* \ge \Delta) = \sum_z 2^{-D_0} \binom{D_0}{z} P(X \ge x(z)),

    where x(z) is the smallest x for which the difference is large enough, determined in integer
    arithmetic. The sum takes time proportional to :math:`D_0 \log D_1`. With clusters, the swaps
    that lead to each (X, Z) are counted cluster by cluster, if that takes moderate time. If swaps
    leave a system without predicted positives, its precision is 0 as in scikit-learn.

    Swaps keep every output with its item, and hence within its stratum. The test is therefore
    stratified for any strata, and a parameter `strata` is not needed.

    The matched-pair tests compare the numbers of positives that the systems find in each pair: a
    positive, or all positives of a cluster. The t test is that of the mean of the differences. The
    sign test counts the pairs that each system wins; without clusters it is the exact randomization
    test of recall. The signed-rank test leaves out pairs without a difference. It is exact given
    the ties for up to about 600 pairs, and uses the normal approximation that accounts for ties for
    more. Tests that treat the outputs of the two systems as independent lose power and are not
    available.

    References
    ----------
    .. [1] Yeh, A. (2000). More accurate tests for the statistical significance of result
       differences. In COLING 2000, 947-953.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import randomization_test
    >>> rng = np.random.default_rng(0)
    >>> y_true = np.arange(1000) < 100
    >>> y_pred_a = y_true ^ (rng.random(1000) < 0.05)
    >>> y_pred_b = y_true ^ (rng.random(1000) < 0.06)
    >>> print(randomization_test(y_true, y_pred_a, y_pred_b, metric="precision").summary())
    Exact randomization test, 1000 items of which 114 differ in output: precision 0.707 against
    0.570, difference 0.137, two-sided p = 0.0021.
    """
    alternative = check_alternative(alternative)
    _check_method(method, metric)
    draws = Draws.read(n_resamples, random_state, n_jobs, verbose)
    if callable(metric):
        comparison = _compare_by_calls(
            metric, y_true, y_pred_a, y_pred_b, clusters, method, alternative, draws
        )
    else:
        sample = Sample.read(
            y_true,
            {"y_pred_a": y_pred_a, "y_pred_b": y_pred_b},
            pos_label=pos_label,
            columns="predictions",
            clusters=clusters,
        )
        comparison = _compare_counts(metric, sample, method, alternative, draws)
    is_random = comparison.method == "permutation"
    return RandomizationTestResult(
        statistic_a=comparison.statistic_a,
        statistic_b=comparison.statistic_b,
        difference=comparison.statistic_a - comparison.statistic_b,
        pvalue=math.exp(comparison.log_pvalue),
        log10_pvalue=comparison.log_pvalue / math.log(10.0),
        metric=metric if isinstance(metric, str) else _name_of(metric),
        method=comparison.method,
        alternative=alternative,
        n_samples=comparison.n_samples,
        n_discordant=comparison.n_discordant,
        n_resamples=draws.n_resamples if is_random else None,
    )


def _check_method(method: Any, metric: Any) -> None:
    check_option(method, "method", _METHODS)
    if not callable(metric):
        check_option(metric, "metric", _METRICS, ", or a callable of (y_true, y_pred)")
    if method in _MATCHED_PAIR_TESTS and metric != "recall":
        shown = repr(metric) if isinstance(metric, str) else _name_of(metric)
        raise ValueError(
            f"method={method!r} is a matched-pair test of recall; got metric={shown}: pass "
            "metric='recall', or method='auto'."
        )


def _name_of(metric: Any) -> str:
    return str(getattr(metric, "__name__", type(metric).__name__))


@dataclass(frozen=True, eq=False)
class _Comparison:
    """Values and p-value of the comparison of two systems."""

    statistic_a: float
    statistic_b: float
    log_pvalue: float
    method: str
    n_samples: int
    n_discordant: int


# Metrics that are ratios of counts.


def _compare_counts(
    metric: str, sample: Sample, method: str, alternative: str, draws: Draws
) -> _Comparison:
    """Compare by the numbers of true and false positives."""
    positive, (by_a, by_b), units = sample.positive, sample.scores, sample.design.clusters
    score = _Ratio(metric, int(positive.sum()))
    tp_a, tp_b = int(np.sum(by_a & positive)), int(np.sum(by_b & positive))
    fp_a, fp_b = int(by_a.sum()) - tp_a, int(by_b.sum()) - tp_b
    _warn_of_undefined(score, {"y_pred_a": (tp_a, fp_a), "y_pred_b": (tp_b, fp_b)})
    shift = by_a.astype(np.int64) - by_b
    if method in _MATCHED_PAIR_TESTS:
        found = _sums(shift[positive], None if units is None else units[positive])
        log_pvalue, used = _matched_pairs(method, found, alternative), method
    else:
        # Recall does not depend on what is predicted for negatives.
        false = np.zeros_like(shift) if metric == "recall" else shift * ~positive
        swaps = _Swaps.of_units(_sums(shift * positive, units), _sums(false, units))
        differences = _Differences.between(score, swaps, (tp_a, fp_a), (tp_b, fp_b), alternative)
        log_pvalue, used = _log_pvalue_of_swaps(differences, method, draws)
    return _Comparison(
        score.value(tp_a, fp_a),
        score.value(tp_b, fp_b),
        log_pvalue,
        used,
        positive.size,
        int(np.count_nonzero(shift)),
    )


def _sums(values: Integers, units: Integers | None) -> Integers:
    """Sums over the items of each cluster, or of each item."""
    if units is None:
        return values
    codes = np.unique(units, return_inverse=True)[1]
    return np.rint(np.bincount(codes, values)).astype(np.int64)


def _warn_of_undefined(score: _Ratio, counts: dict[str, tuple[int, int]]) -> None:
    undefined = [name for name, own in counts.items() if score.bottom(*own) == 0]
    if undefined:
        reason = {
            "precision": "no item is predicted to be positive",
            "recall": "y_true has no positives",
            "f1": "no item is positive or predicted to be positive",
        }[score.name]
        warn_caller(
            f"The {score.name} of {' and '.join(undefined)} is undefined because {reason}: it "
            "counts as 0, as in scikit-learn.",
            UndefinedMetricWarning,
        )


@dataclass(frozen=True)
class _Ratio:
    """A metric as a ratio of counts; 0/0 is 0."""

    name: str
    n_positives: int

    def top(self, tp: Any) -> Any:
        """Numerator for a number of true positives."""
        return 2 * tp if self.name == "f1" else tp

    def bottom(self, tp: Any, fp: Any) -> Any:
        """Denominator for numbers of true and false positives."""
        if self.name == "precision":
            return tp + fp
        return self.n_positives if self.name == "recall" else self.n_positives + tp + fp

    def value(self, tp: int, fp: int) -> float:
        return float(self.top(tp) / max(1, self.bottom(tp, fp)))

    def difference(self, counts_a: tuple[Any, Any], counts_b: tuple[Any, Any]) -> tuple[Any, Any]:
        """Numerator and denominator of a difference, whole numbers."""
        bottom_a = np.maximum(1, self.bottom(*counts_a))
        bottom_b = np.maximum(1, self.bottom(*counts_b))
        top = self.top(counts_a[0]) * bottom_b - self.top(counts_b[0]) * bottom_a
        return top, np.broadcast_to(bottom_a * bottom_b, np.shape(top))


@dataclass(frozen=True, eq=False)
class _Swaps:
    """Units that are swapped independently, and the counts that each moves between the systems.

    System a receives X true and Z false positives of those that are not common. A unit of kind k
    adds `true[k]`, which is not negative, to X and `false[k]` to Z, or nothing to X and to Z
    nothing but what it would otherwise take away, if `false[k]` is negative.
    """

    true: Integers
    false: Integers
    n_units: Integers

    @classmethod
    def of_units(cls, true: Integers, false: Integers) -> _Swaps:
        """Kinds of units by how much a has more than b; the two directions are alike."""
        moves = np.stack([true, false], axis=1)[(true != 0) | (false != 0)]
        sign = np.where((moves[:, 0] < 0) | ((moves[:, 0] == 0) & (moves[:, 1] < 0)), -1, 1)
        kinds, n_units = np.unique(moves * sign[:, None], axis=0, return_counts=True)
        return cls(kinds[:, 0], kinds[:, 1], n_units)

    @property
    def n_true(self) -> int:
        return int(self.n_units @ self.true)

    @property
    def n_false(self) -> int:
        return int(self.n_units @ np.abs(self.false))

    @property
    def least_false(self) -> int:
        return int(self.n_units @ np.maximum(-self.false, 0))

    @property
    def are_single(self) -> bool:
        """Whether each unit moves one item, so that X and Z are independent and binomial."""
        return bool(np.all(self.true + np.abs(self.false) == 1))

    @property
    def can_be_counted(self) -> bool:
        """Whether the distribution of (X, Z) takes moderate time, and has no underflow."""
        n_cells, n_units = (self.n_true + 1) * (self.n_false + 1), int(self.n_units.sum())
        return self.are_single or (
            n_units <= _MOST_COUNTED_UNITS
            and n_cells <= _MOST_CELLS
            and n_cells * n_units <= _MOST_OPERATIONS
        )

    def log_upper_tail(self, first: Integers) -> float:
        """Logarithm of P(X >= first[Z])."""
        if self.are_single:
            log_tails = _log_binomial_tails(self.n_true)[first]
            return float(logsumexp(log_tails + _log_binomial(self.n_false)))
        joint = self._joint_distribution()
        tails = np.zeros((joint.shape[0] + 1, joint.shape[1]))
        tails[:-1] = np.cumsum(joint[::-1], axis=0)[::-1]
        with np.errstate(divide="ignore"):
            return float(np.log(np.sum(tails[first, np.arange(first.size)])))

    def _joint_distribution(self) -> Floats:
        """Probabilities of (X, Z), adding one kind of units after the other."""
        joint = np.zeros((self.n_true + 1, self.n_false + 1))
        joint[0, self.least_false] = 1.0
        for true, false, n_units in zip(self.true, self.false, self.n_units, strict=True):
            share = np.exp(_log_binomial(int(n_units)))
            added = np.zeros_like(joint)
            for moved, probability in enumerate(share):
                up, right = moved * true, moved * false
                into = added[up:, max(right, 0) : joint.shape[1] + min(right, 0)]
                out = joint[: joint.shape[0] - up]
                into += probability * out[:, max(-right, 0) : joint.shape[1] - max(right, 0)]
            joint = added
        return joint

    def draw(self, n_draws: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
        moved = rng.binomial(self.n_units, 0.5, size=(n_draws, self.n_units.size))
        return moved @ self.true, self.least_false + moved @ self.false


@dataclass(frozen=True, eq=False)
class _Differences:
    """Differences of a metric after swaps, against the observed one.

    Both systems have the `common` true and false positives, whatever is swapped. The difference
    that is to be reached, in either direction if `is_two_sided`, is `top` by `bottom`.
    """

    score: _Ratio
    swaps: _Swaps
    common: tuple[int, int]
    top: int
    bottom: int
    is_two_sided: bool

    @classmethod
    def between(
        cls,
        score: _Ratio,
        swaps: _Swaps,
        counts_a: tuple[int, int],
        counts_b: tuple[int, int],
        alternative: str,
    ) -> _Differences:
        """Of two systems with these numbers of true and false positives."""
        top, bottom = map(int, score.difference(counts_a, counts_b))
        # As swaps are symmetric, "less" is "greater" with the systems in the other order.
        top = {"two-sided": abs(top), "greater": top, "less": -top}[alternative]
        n_true, n_false = swaps.n_true, swaps.n_false
        common = ((counts_a[0] + counts_b[0] - n_true) // 2, 0)
        if score.name != "recall":
            common = (common[0], (counts_a[1] + counts_b[1] - n_false) // 2)
        return cls(score, swaps, common, top, bottom, alternative == "two-sided")

    def first_large(self) -> Integers:
        """For each Z the least X with a difference as large as the observed one, by bisection.

        Where there is none it is one more than the largest X.
        """
        z = np.arange(self.swaps.n_false + 1)
        low, high = np.zeros_like(z), np.full_like(z, self.swaps.n_true + 1)
        while np.any(low < high):
            middle = (low + high) // 2
            large = (middle == high) | self._is_large(np.minimum(middle, self.swaps.n_true), z)
            low, high = np.where(large, low, middle + 1), np.where(large, middle, high)
        return low

    def _is_large(self, x: Integers, z: Integers) -> Booleans:
        """Whether differences are at least the one to be reached, decided in whole numbers."""
        true, false = self.common
        counts_a = true + x, false + z
        counts_b = true + self.swaps.n_true - x, false + self.swaps.n_false - z
        top, bottom = self.score.difference(counts_a, counts_b)
        value, observed = top / bottom, self.top / self.bottom
        large = np.asarray(value >= observed)
        # Products of four counts may overflow 64 bits; few are so close that they are needed.
        close = np.abs(value - observed) <= 1e-15 * abs(observed)
        tops, bottoms = top[close].astype(object), bottom[close].astype(object)
        large[close] = tops * self.bottom >= bottoms * self.top
        return large


def _log_pvalue_of_swaps(differences: _Differences, method: str, draws: Draws) -> tuple[float, str]:
    """Logarithm of the p-value, and the method that found it."""
    swaps = differences.swaps
    if method == "analytic" and not swaps.can_be_counted:
        raise ValueError(
            f"method='analytic' takes too long for {int(swaps.n_units.sum())} clusters that move "
            f"up to {swaps.n_true} true and {swaps.n_false} false positives: pass "
            "method='permutation'."
        )
    is_exact = method == "analytic" or (method == "auto" and swaps.can_be_counted)
    if is_exact and differences.is_two_sided and differences.top == 0:
        return 0.0, "analytic"
    first = differences.first_large()
    if is_exact:
        doubled = math.log(2.0) if differences.is_two_sided else 0.0
        return min(0.0, doubled + swaps.log_upper_tail(first)), "analytic"
    chunk = _CountedSwaps(swaps, first, differences.is_two_sided)
    sizes = chunk_sizes(draws.n_resamples, swaps.n_units.size)
    return _log_pvalue(draws, chunk, sizes), "permutation"


@dataclass(frozen=True, eq=False)
class _CountedSwaps:
    """Random swaps whose differences are compared with the observed one."""

    swaps: _Swaps
    first: Integers
    is_two_sided: bool

    def count_large(self, n_draws: int, rng: np.random.Generator) -> int:
        """Number of draws that are as extreme."""
        x, z = self.swaps.draw(n_draws, rng)
        large = x >= self.first[z]
        if self.is_two_sided:
            large |= self.swaps.n_true - x >= self.first[self.swaps.n_false - z]
        return int(np.sum(large))


# Binomial distributions with probability 1/2, on the logarithmic scale.


def _log_binomial(n: int) -> Floats:
    """Logarithms of the probabilities of 0 to n."""
    k = np.arange(n + 1)
    with np.errstate(divide="ignore"):
        return _where_not_tiny(stats.binom.pmf(k, n, 0.5), lambda: stats.binom.logpmf(k, n, 0.5))


def _log_binomial_tails(n: int) -> Floats:
    """Logarithms of the probabilities of at least 0 to n + 1."""
    k = np.arange(1, n + 1)
    tails = np.concatenate([[1.0], betainc(k, n - k + 1.0, 0.5), [0.0]])
    return _where_not_tiny(
        tails,
        lambda: np.append(np.logaddexp.accumulate(_log_binomial(n)[::-1])[::-1], -np.inf),
    )


def _where_not_tiny(values: Floats, logs: Callable[[], Floats]) -> Floats:
    """Logarithms of values, and those that were computed as such where values may underflow."""
    with np.errstate(divide="ignore", under="ignore"):
        direct = np.log(values)
        return direct if np.all(values > _TINY) else np.where(values > _TINY, direct, logs())


# Matched-pair tests.


def _matched_pairs(method: str, differences: Integers, alternative: str) -> float:
    """Logarithm of the p-value of a test of differences between pairs."""
    if not differences.any():
        return 0.0
    if method == "t":
        return _log_t_test(differences, alternative)
    own = differences[differences != 0]
    if method == "sign":
        weights = np.ones(own.size, dtype=np.int64)
    else:
        # Twice the mean ranks are whole numbers, and so is their ratio to the largest divisor.
        weights = np.rint(2.0 * stats.rankdata(np.abs(own))).astype(np.int64)
        weights //= np.gcd.reduce(weights)
    reached = int(weights[own > 0].sum())
    swaps = _Swaps.of_units(weights, np.zeros_like(weights))
    upper, lower = _log_tails_of_sum(swaps, reached)
    return _of_alternative(upper, lower, alternative)


def _log_t_test(differences: Integers, alternative: str) -> float:
    n = differences.size
    if np.all(differences == differences[0]):
        raise ValueError(
            f"method='t' needs differences that vary, but all {n} are {differences[0]}: pass "
            "method='sign' or method='analytic'."
        )
    t = math.sqrt(n) * differences.mean() / differences.std(ddof=1)
    upper, lower = (float(stats.t.logsf(value, n - 1)) for value in (t, -t))
    return _of_alternative(upper, lower, alternative)


def _log_tails_of_sum(swaps: _Swaps, reached: int) -> tuple[float, float]:
    """Logarithms of P(X >= reached) and P(X <= reached)."""
    beyond = swaps.n_true - reached
    if swaps.can_be_counted:
        upper, lower = (swaps.log_upper_tail(np.array([least])) for least in (reached, beyond))
        return upper, lower
    sd = 0.5 * math.sqrt(float(swaps.n_units @ swaps.true.astype(np.float64) ** 2))
    z = (reached - 0.5 * swaps.n_true) / sd
    return float(stats.norm.logsf(z)), float(stats.norm.logcdf(z))


def _of_alternative(upper: float, lower: float, alternative: str) -> float:
    """Logarithm of the p-value, from those of both tails."""
    if alternative == "two-sided":
        return min(0.0, math.log(2.0) + min(upper, lower))
    return min(0.0, upper if alternative == "greater" else lower)


# Metrics that are called.


def _compare_by_calls(
    metric: Score,
    y_true: ArrayLike,
    y_pred_a: ArrayLike,
    y_pred_b: ArrayLike,
    clusters: Iterable[Hashable] | None,
    method: str,
    alternative: str,
    draws: Draws,
) -> _Comparison:
    """Compare by a metric that takes labels as they are."""
    labels = read_labels(y_true, {"y_pred_a": y_pred_a, "y_pred_b": y_pred_b})
    differs = labels[1] != labels[2]
    units = Design.read(differs.size, clusters=clusters).clusters
    swapped = np.flatnonzero(differs)
    _, codes = np.unique(swapped if units is None else units[swapped], return_inverse=True)
    calls = _CalledSwaps(metric, labels[0], labels[1], labels[2], swapped, codes, alternative)
    values = calls.values(np.zeros(calls.n_units, dtype=bool))
    calls = calls.reaching(*values)
    log_pvalue, used = _log_pvalue_of_calls(calls, method, draws)
    return _Comparison(*values, log_pvalue, used, differs.size, swapped.size)


def _log_pvalue_of_calls(calls: _CalledSwaps, method: str, draws: Draws) -> tuple[float, str]:
    """Return the logarithm of the p-value, and the method that was used."""
    if method == "analytic" and calls.n_units > _MOST_LISTED_UNITS:
        raise ValueError(
            f"method='analytic' with a callable metric is limited to {_MOST_LISTED_UNITS} items "
            f"or clusters whose outputs differ; here {calls.n_units} differ: pass "
            "method='permutation'."
        )
    # The metric of a after a swap is that of b after the opposite swap, so half are enumerated.
    n_listed = 1 << max(calls.n_units - 1, 0)
    is_listed = calls.n_units <= _MOST_LISTED_UNITS and n_listed <= draws.n_resamples
    if method == "analytic" or (method == "auto" and is_listed):
        firsts = range(0, n_listed, _CALLS_PER_CHUNK)
        chunks = ((first, min(first + _CALLS_PER_CHUNK, n_listed)) for first in firsts)
        counts = draws.in_parallel(calls.count_listed, chunks)
        return math.log(sum(counts) / (2 * n_listed)), "analytic"
    sizes = chunk_sizes(draws.n_resamples, 1, _CALLS_PER_CHUNK)
    return _log_pvalue(draws, calls, sizes), "permutation"


def _log_pvalue(draws: Draws, swaps: _CountedSwaps | _CalledSwaps, sizes: list[int]) -> float:
    """Logarithm of the p-value of random swaps that are drawn in chunks of these sizes."""
    counts = draws.over(swaps.count_large, draws.chunks(sizes))
    return math.log(draws.pvalue(sum(counts)))


@dataclass(frozen=True, eq=False)
class _CalledSwaps:
    """Swaps after which a metric is called.

    `swapped` are the items whose outputs differ, and `units` the numbers of the units that they
    are swapped with. A difference of at least `reached` is extreme.
    """

    metric: Score
    labels: NDArray[Any]
    by_a: NDArray[Any]
    by_b: NDArray[Any]
    swapped: Integers
    units: Integers
    alternative: str
    reached: float = 0.0

    @property
    def n_units(self) -> int:
        return int(self.units.max()) + 1 if self.units.size else 0

    def reaching(self, value_a: float, value_b: float) -> _CalledSwaps:
        """The same, with the difference of these values as the observed one."""
        difference = value_a - value_b
        sign = {"two-sided": math.copysign(1.0, difference), "greater": 1.0, "less": -1.0}
        same = _SAME * max(abs(value_a), abs(value_b))
        reached = sign[self.alternative] * difference - same
        return replace(self, reached=reached)

    def values(self, is_swapped: Booleans) -> tuple[float, float]:
        """The metric of both systems after a swap of some units."""
        moved = self.swapped[is_swapped[self.units]]
        value_a = self._value(_exchanged(self.by_a, self.by_b, moved))
        return value_a, self._value(_exchanged(self.by_b, self.by_a, moved))

    def _value(self, outputs: NDArray[Any]) -> float:
        value = float(self.metric(self.labels, outputs))
        if not math.isfinite(value):
            raise ValueError(
                f"metric must return finite numbers; {_name_of(self.metric)} returned {value}: "
                "return a finite value if the metric is undefined."
            )
        return value

    def _is_large(self, rows: Booleans) -> tuple[Integers, Integers]:
        """Whether differences after swaps are extreme, as they are and in the other direction."""
        with warnings.catch_warnings():
            # Warnings about the observed outputs have already been given.
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            values = np.array([self.values(row) for row in rows])
        difference = values[:, 0] - values[:, 1]
        return difference >= self.reached, -difference >= self.reached

    def count_large(self, n_draws: int, rng: np.random.Generator) -> int:
        greater, less = self._is_large(rng.random((n_draws, self.n_units)) < 0.5)
        extreme = {"two-sided": greater | less, "greater": greater, "less": less}
        return int(np.sum(extreme[self.alternative]))

    def count_listed(self, first: int, last: int) -> int:
        """Number of extreme ones among the swaps with these numbers and their opposites."""
        numbers = np.arange(first, last)
        greater, less = self._is_large((numbers[:, None] >> np.arange(self.n_units)) & 1 == 1)
        if self.alternative == "two-sided":
            return 2 * int(np.sum(greater | less))
        return int(np.sum(greater) + np.sum(less))


def _exchanged(own: NDArray[Any], other: NDArray[Any], moved: Integers) -> NDArray[Any]:
    """Return outputs in which some are replaced by those of the other system."""
    outputs = own.astype(np.result_type(own, other))
    outputs[moved] = other[moved]
    return outputs
