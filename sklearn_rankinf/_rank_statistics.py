"""Tests of rankings by weights of ranks, by the first positive, and by enrichment at the top.

The laws of ROC AUC, discounted cumulative gain, RIE and BEDROC are those of sums of weights of the
ranks of the positives, as is any law that a user's :class:`RankStatistic` describes. The reciprocal
rank has few values, which are listed; the enrichment factor is a count of hits at k.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._engine.exchange import reciprocal_ranks
from sklearn_rankinf._engine.law import AtomicLaw, exact_law, exact_mean_and_variance
from sklearn_rankinf._engine.moments import skewness_and_kurtosis
from sklearn_rankinf._engine.sampling import NullSampler, chunk_sizes
from sklearn_rankinf._engine.statistics import (
    Bedroc,
    DiscountedCumulativeGain,
    Floats,
    Integers,
    RankStatistic,
    ReciprocalRank,
    Rie,
    RocAuc,
)
from sklearn_rankinf._guard import significance_test
from sklearn_rankinf._null_distributions import NullDistribution, PermutationDistribution
from sklearn_rankinf._ranking import Ranking, as_ranking
from sklearn_rankinf._restricted import RESTRICTED, RestrictedLabels, Restrictions
from sklearn_rankinf._significance import (
    RankTestResult,
    no_positives,
    restricted_labels,
    significance_fields,
)
from sklearn_rankinf._top_k import TopKTestResult, hits_test
from sklearn_rankinf._top_k_distributions import TopKNullDistribution, frozen_top_k_law
from sklearn_rankinf._validation import (
    PosLabel,
    as_seed_sequence,
    check_alpha,
    check_counts,
    check_integer,
    check_no_closed_form,
    check_option,
    check_stopping,
    check_tie_sizes,
    resolve_k,
    warn_caller,
)

_METHODS = ("auto", "analytic", "permutation", "normal", "pearson3")
# All of the first ranks are looked at for weights that are wrong, and so many of the others.
_RANKS_CHECKED, _FAR_RANKS_CHECKED = 100_000, 1000
# A weight that is larger than one before by this part of the first is no larger.
_SAME_WEIGHT = 1e-12
# Adding a constant to a sum makes an error of no more than this part of it.
_ROUNDING = 1e-14
# Longer lists of reciprocal ranks take too much memory.
_MAX_LISTED = 20_000_000


class RankStatisticTestResult(RankTestResult):
    """Result of :func:`rank_statistic_test` and of the tests of single metrics of that kind.

    Attributes
    ----------
    statistic : float
        Value of the metric.
    pvalue : float
        Probability, when labels are assigned to the ranks at random, of a statistic at least as
        extreme as the observed one.
    log10_pvalue : float
        Base-10 logarithm of the p-value, finite where `pvalue` underflows to 0.
    pvalue_relative_error : float
        Estimate, on the large side, of the relative error of `pvalue`: numerical for an exact
        law, the Monte Carlo standard error for ``method="permutation"``, and infinite, that is
        unknown, for the approximations.
    zscore : float
        (statistic - E) / sd with the exact mean E and standard deviation sd under random
        labelling; nan when the statistic cannot vary.
    adjusted_statistic : float
        (statistic - E) / (best - E), with the value of a perfect ranking without ties: 0 is
        chance, 1 is perfect; nan when there is only one class.
    null_distribution : NullDistribution
        The law of the statistic under random labelling, given the ties.
    n_samples : int
        Number of samples.
    n_positives : int
        Number of positives.
    alternative : {"greater", "less", "two-sided"}
        The alternative hypothesis.
    method : str
        The method that ran.
    n_resamples : int or None
        Number of random labellings that were drawn, 0 for a statistic with one value and where all
        labellings were counted; None if `method` is not ``"permutation"``.
    n_exceedances : int or None
        Number of them at least as extreme as the observed labelling; two-sided, on the side where
        they are fewer.
    pvalue_standard_error : float or None
        Monte Carlo standard error of `pvalue`; None if `method` is not ``"permutation"``.

    See Also
    --------
    rank_statistic_test : The test of any metric that adds up weights of ranks.
    roc_auc_test : A test that returns this result.

    Examples
    --------
    >>> from sklearn_rankinf import Ranking, roc_auc_test
    >>> ranking = Ranking.from_counts([1] * 8, [1, 1, 0, 1, 0, 0, 0, 0])
    >>> result = roc_auc_test(ranking)
    >>> round(result.statistic, 4), round(result.adjusted_statistic, 4)
    (0.9333, 0.8667)
    """


class RankNullDistribution(NullDistribution):
    """A frozen law of a sum of weights of ranks.

    It has the methods of every null distribution. Where most samples are positive and a constant is
    added to the sum, it is computed from the negatives, which leaves all digits.

    Attributes
    ----------
    method : str
        What runs: ``"analytic"``, ``"permutation"``, ``"normal"`` or ``"pearson3"``.
    n_samples, n_positives : int
        Size of the ranking and number of positives.
    tie_sizes : ndarray or None
        Sizes of the blocks of equal scores, best first; None without ties.
    statistic : RankStatistic
        What the law is of.

    See Also
    --------
    sklearn_rankinf.rank_statistic_null_distribution : Makes such a law.

    Examples
    --------
    >>> from sklearn_rankinf import roc_auc_null_distribution
    >>> law = roc_auc_null_distribution(4, 1)  # 0, 1/3, 2/3 or 1
    >>> law.pvalue([1.0, 2 / 3])
    array([0.25, 0.5 ])
    """

    statistic: RankStatistic

    @property
    def _problem(self) -> tuple[RankStatistic, int, int, Integers | None]:
        """The statistic, of the hits or of the misses, whichever leaves more digits."""
        n, m, sizes = self.n_samples, self.n_positives, self.tie_sizes
        mirrored = _of_misses(self.statistic, n, m)
        if mirrored is None:
            return self.statistic, n, m, sizes
        return mirrored, n, n - m, None if sizes is None else sizes[::-1]

    @cached_property
    def _mean_and_variance(self) -> tuple[float, float]:
        return exact_mean_and_variance(*self._problem)

    @cached_property
    def _skewness_and_kurtosis(self) -> tuple[float, float]:
        return skewness_and_kurtosis(*self._problem)

    def _new_law(self) -> Any:
        if self.method == "analytic" or self.var() == 0.0:
            return exact_law(*self._problem, self._tolerance)
        return super()._new_law()

    @cached_property
    def _sampler(self) -> NullSampler:
        return NullSampler(*self._problem)

    def _above(self, t: Floats) -> Floats:
        return super()._above(t) + self._rounding

    def _below(self, t: Floats) -> Floats:
        return super()._below(t) - self._rounding

    def _bounds(self, t: Floats, alternative: str) -> tuple[Floats, Floats]:
        if alternative == "greater":
            return super()._bounds(t - self._rounding, alternative)
        if alternative == "less":
            return super()._bounds(t + self._rounding, alternative)
        lower, upper = np.minimum(self._bounds(t, "greater"), self._bounds(t, "less"))
        return np.minimum(2.0 * lower, 1.0), np.minimum(2.0 * upper, 1.0)

    @property
    def _rounding(self) -> float:
        """Distance within which values near 0 are equal, what is added to them being larger."""
        statistic, n, m, _ = self._problem
        return _rounding(statistic, n, m)


def _of_misses(statistic: RankStatistic, n_samples: int, n_positives: int) -> RankStatistic | None:
    """The statistic as a sum over the misses, where that leaves more digits."""
    if 2 * n_positives <= n_samples or n_positives == n_samples:
        return None
    return statistic.mirrored()


def _rounding(statistic: RankStatistic, n_samples: int, n_positives: int) -> float:
    return _ROUNDING * abs(statistic.offset(n_samples, n_positives))


class ListedNullDistribution(NullDistribution):
    """A frozen law of a statistic whose values are few enough to be listed, each with its weight.

    It has the methods of every null distribution, all of them exact sums over the list.

    Attributes
    ----------
    method : str
        What runs: ``"analytic"``, ``"permutation"``, ``"normal"`` or ``"pearson3"``.
    n_samples, n_positives : int
        Size of the ranking and number of positives.
    tie_sizes : ndarray or None
        Sizes of the blocks of equal scores, best first; None without ties.
    statistic : object
        What the law is of.

    See Also
    --------
    sklearn_rankinf.reciprocal_rank_null_distribution : Makes such a law.

    Examples
    --------
    >>> from sklearn_rankinf import reciprocal_rank_null_distribution
    >>> law = reciprocal_rank_null_distribution(4, 2)  # 1, 1/2 or 1/3
    >>> law.pvalue([1.0, 1 / 2, 1 / 3])
    array([0.5       , 0.83333333, 1.        ])
    """

    statistic: ReciprocalRank  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_atoms"}

    @cached_property
    def _atoms(self) -> tuple[Floats, Floats]:
        return self.statistic.atoms(self.n_samples, self.n_positives, self.tie_sizes)

    @property
    def _values_and_shares(self) -> tuple[Floats, Floats]:
        values, log_weights = self._atoms
        shares = np.exp(log_weights - log_weights.max())
        return values, np.asarray(shares / shares.sum())

    @cached_property
    def _mean_and_variance(self) -> tuple[float, float]:
        values, shares = self._values_and_shares
        mean = float(np.sum(shares * values))
        return mean, float(np.sum(shares * (values - mean) ** 2))

    @cached_property
    def _skewness_and_kurtosis(self) -> tuple[float, float]:
        values, shares = self._values_and_shares
        standardized = (values - self.mean()) / self.std()
        third, fourth = (float(np.sum(shares * standardized**order)) for order in (3, 4))
        return third, fourth - 3.0

    def _new_law(self) -> Any:
        if self.method == "analytic" or self.var() == 0.0:
            return _ListedLaw(*self._atoms)
        return super()._new_law()

    @cached_property
    def _sampler(self) -> Any:
        return _AtomSampler(*self._values_and_shares)


class _ListedLaw(AtomicLaw):
    """A law whose weights are as good as their logarithms, also where these are large."""

    def tail(self, t: Floats, sign: int) -> tuple[Floats, Floats, Floats]:
        """``P(S >= t)`` (sign 1) or ``P(S <= t)`` (sign -1), its log, and the relative error."""
        p, log_p, error = super().tail(t, sign)
        return p, log_p, error + 2e-15 * np.abs(np.where(np.isfinite(log_p), log_p, 0.0))


class _AtomSampler:
    """Draws from a list of values with their shares."""

    def __init__(self, values: Floats, shares: Floats) -> None:
        self._values, self._up_to = values, np.cumsum(shares)

    def chunks(self, n_resamples: int) -> list[int]:
        """Sizes of the chunks for `n_resamples` draws."""
        return chunk_sizes(n_resamples, 1)

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw independent values."""
        level = rng.random(n_draws) * self._up_to[-1]
        return np.asarray(self._values[np.searchsorted(self._up_to, level, side="right")])


def rank_statistic_null_distribution(
    n_samples: int,
    n_positives: int,
    *,
    statistic: RankStatistic,
    tie_sizes: ArrayLike | None = None,
    method: str = "auto",
    n_permutations: int = 9999,
    random_state: Any = 0,
) -> NullDistribution:
    r"""Law of a metric that adds up weights of ranks, under random labelling.

    Every choice of `n_positives` of the `n_samples` ranks as the ranks of the positives is equally
    likely; the ties are held fixed.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_positives : int
        Number of positives among them.
    statistic : RankStatistic
        The metric: an instance of a subclass of :class:`RankStatistic`, which says what a positive
        is worth at each rank.
    tie_sizes : array-like of shape (n_blocks,), optional
        Sizes of the blocks of equal scores, best score first; without it no scores are equal.
    method : {"auto", "analytic", "permutation", "normal", "pearson3"}, default="auto"
        ``"analytic"`` is the exact law, with a stated numerical error, and what ``"auto"`` takes;
        ``"permutation"`` is the law of `n_permutations` random labellings; ``"normal"`` and
        ``"pearson3"`` match the exact moments. A statistic that cannot vary has its one value under
        every method.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.

    Returns
    -------
    law : NullDistribution
        A frozen law with the methods of the law of :func:`ap_null_distribution`.

    Raises
    ------
    TypeError
        If `statistic` or a number is not of the right type.
    ValueError
        If a number is out of its range, the tie sizes do not add up to `n_samples`, a weight is
        negative, not finite or larger than that of a better rank, or `method` is not one of
        those above.

    See Also
    --------
    RankStatistic : Base class of such metrics.
    rank_statistic_test : Test of a ranking against this law.
    roc_auc_null_distribution : The law of a metric of this kind.

    Notes
    -----
    With positives at the ranks :math:`r_i` the value is :math:`S = \sum_i w(r_i) + c`; a positive
    in a block of equal scores counts the mean weight of the block. Small laws are listed. Tails of
    others are found by contour inversion of the moment generating function of S, or between
    guaranteed bounds, as for :func:`ap_null_distribution`. The weights of the first 100,000 ranks
    are checked, and of some that lie further apart behind them.

    Examples
    --------
    Positives at two of four ranks are worth 1, 1/2, 1/3 and 1/4:

    >>> from sklearn_rankinf import RankStatistic, rank_statistic_null_distribution
    >>> class Zipf(RankStatistic):
    ...     def weights(self, ranks, n_samples, n_positives):
    ...         return 1.0 / ranks
    >>> law = rank_statistic_null_distribution(4, 2, statistic=Zipf())
    >>> round(law.mean(), 6), round(law.pvalue(1 + 1 / 3) * 6, 9)
    (1.041667, 2.0)
    """
    check_statistic(statistic)
    n, m = check_counts(n_samples, n_positives)
    check_weights(statistic, n, m)
    return frozen_rank_law(
        statistic,
        n_samples,
        n_positives,
        tie_sizes=tie_sizes,
        method=method,
        n_permutations=n_permutations,
        random_state=random_state,
    )


@significance_test
def rank_statistic_test(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    statistic: RankStatistic,
    pos_label: PosLabel = 1,
    alternative: str = "greater",
    method: str = "auto",
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
    block_length: int | None = None,
    n_permutations: int = 9999,
    n_exceedances: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> RankStatisticTestResult:
    r"""Test whether a metric that adds up weights of ranks is better than random labelling has it.

    The null hypothesis is random selection: with the scores and their ties as they are, every
    choice of `n_positives` of the `n_samples` samples as the positives is equally likely.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for samples more likely to be positive. Required unless `y_true` is a
        ranking.
    statistic : RankStatistic
        The metric: an instance of a subclass of :class:`RankStatistic`, which says what a positive
        is worth at each rank.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values are for rankings better than chance, worse than chance, or
        either. Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : {"auto", "analytic", "permutation", "normal", "pearson3"}, default="auto"
        How the p-value is computed; see :func:`rank_statistic_null_distribution`.
    strata : array-like of shape (n_samples,), optional
        Stratum of each sample, anything hashable: labels are permuted within strata only. By
        permutation; see :func:`average_precision_test`.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, anything hashable: labels of whole clusters are permuted, among
        those of the same size and stratum. By permutation; see :func:`average_precision_test`.
    order : array-like of shape (n_samples,), optional
        Time or position of each sample in a series whose labels and scores are correlated in time:
        labels are shifted along it. By permutation; see :func:`average_precision_test`.
    block_length : int, optional
        With `order`, permute blocks of so many consecutive samples instead; see
        :func:`average_precision_test`.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    n_exceedances : int, optional
        Stop drawing at the labelling that is the `n_exceedances`-th at least as extreme as the
        observed one: the p-value is then `n_exceedances` over the number drawn. Permutation and
        one-sided alternatives only.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.
    n_jobs : int, optional
        Number of jobs for ``method="permutation"``. The result does not depend on it.

    Returns
    -------
    result : RankStatisticTestResult
        The statistic, its p-value, and the null distribution they were compared with.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given with a ranking, if strata, clusters or order are given
        with a ranking, or if an argument is of a wrong type.
    ValueError
        If labels or scores cannot be ranked (see :meth:`Ranking.from_scores`), if a weight
        is negative, not finite or larger than that of a better rank, or if
        an option is not one of those above.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives: the statistic is then 0.0, the p-value 1.0, and the z-score
        and adjusted statistic are nan.
    UserWarning
        If strata and clusters leave fewer than 1000 different labellings, or shifts fewer than 100.

    See Also
    --------
    RankStatistic : Base class of such metrics.
    rank_statistic_null_distribution : The null distribution by itself.
    roc_auc_test : The test of a metric of this kind.

    Notes
    -----
    With positives at the ranks :math:`r_i` the statistic is :math:`S = \sum_i w(r_i) + c`; a
    positive in a block of equal scores counts the mean weight of the block, the expectation over
    random tie-breaking. The p-value :math:`P(S \ge s)` counts equality. ROC AUC and BEDROC are
    undefined also without negatives; they are then a constant, with a warning.

    Examples
    --------
    >>> from sklearn_rankinf import RankStatistic, rank_statistic_test
    >>> class Zipf(RankStatistic):
    ...     def weights(self, ranks, n_samples, n_positives):
    ...         return 1.0 / ranks
    >>> result = rank_statistic_test([1, 0, 1, 0], [4, 3, 2, 1], statistic=Zipf())
    >>> round(result.statistic, 4), round(result.pvalue * 6, 9)
    (1.3333, 2.0)
    """
    check_stopping(n_exceedances, alternative)
    check_statistic(statistic)
    ranking = as_ranking(y_true, y_score, pos_label)
    check_weights(statistic, ranking.n_samples, ranking.n_positives)
    return _rank_test(
        ranking,
        statistic,
        _name_of(statistic),
        alternative=alternative,
        method=method,
        restricted=restricted_labels(
            y_true, y_score, pos_label, Restrictions(strata, clusters, order, block_length)
        ),
        n_permutations=n_permutations,
        n_exceedances=n_exceedances,
        random_state=random_state,
        n_jobs=n_jobs,
    )


def rank_statistic_score(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    statistic: RankStatistic | ReciprocalRank,
    pos_label: PosLabel = 1,
) -> float:
    """Value of a metric for labels and scores; a warning where it is undefined."""
    ranking = as_ranking(y_true, y_score, pos_label, needs_ties=False)
    value = _value_of(statistic, ranking)
    _warn_if_undefined(statistic, _name_of(statistic), ranking, value)
    return value


def frozen_rank_law(
    statistic: RankStatistic,
    n_samples: int,
    n_positives: int,
    *,
    tie_sizes: ArrayLike | None = None,
    method: str = "auto",
    n_permutations: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> RankNullDistribution:
    """Law of a statistic whose weights are known to be right, the other arguments checked."""
    n, m = check_counts(n_samples, n_positives)
    sizes = check_tie_sizes(tie_sizes, n)
    _check_method(method)
    return RankNullDistribution(
        statistic,
        n,
        m,
        sizes,
        method,
        check_integer(n_permutations, "n_permutations", 1),
        as_seed_sequence(random_state),
        n_jobs,
    )


def frozen_reciprocal_rank_law(
    n_samples: int,
    n_positives: int,
    *,
    tie_sizes: ArrayLike | None = None,
    method: str = "auto",
    n_permutations: int = 9999,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> ListedNullDistribution:
    """`reciprocal_rank_null_distribution`, with a number of jobs for its permutations."""
    n, m = check_counts(n_samples, n_positives)
    sizes = check_tie_sizes(tie_sizes, n)
    _check_method(method)
    if n > _MAX_LISTED:
        raise ValueError(
            f"n_samples must be at most {_MAX_LISTED} for reciprocal rank, whose law lists every "
            f"rank; got {n}."
        )
    return ListedNullDistribution(
        ReciprocalRank(),  # type: ignore[arg-type]
        n,
        m,
        sizes,
        method,
        check_integer(n_permutations, "n_permutations", 1),
        as_seed_sequence(random_state),
        n_jobs,
    )


def _rank_test(
    ranking: Ranking,
    statistic: RankStatistic | ReciprocalRank,
    name: str,
    *,
    alternative: str,
    restricted: RestrictedLabels | None,
    n_exceedances: int | None,
    **options: Any,
) -> RankStatisticTestResult:
    check_stopping(n_exceedances, alternative)
    size = ranking.n_samples, ranking.n_positives
    law: NullDistribution
    if restricted is not None:
        law = _restricted_law(restricted, statistic, **options)
    elif isinstance(statistic, ReciprocalRank):
        law = frozen_reciprocal_rank_law(*size, tie_sizes=ranking.tie_sizes, **options)
    else:
        law = frozen_rank_law(statistic, *size, tie_sizes=ranking.tie_sizes, **options)
    # Labels of one class have one value, whatever rounding makes of the ranking's own.
    is_constant = ranking.n_positives in (0, ranking.n_samples)
    value = law.mean() if is_constant else _value_of(statistic, ranking)
    _warn_if_undefined(statistic, name, ranking, value)
    return RankStatisticTestResult(
        **significance_fields(value, law, alternative, n_exceedances=n_exceedances)
    )


def _restricted_law(
    labels: RestrictedLabels,
    statistic: RankStatistic | ReciprocalRank,
    *,
    method: str,
    **options: Any,
) -> PermutationDistribution:
    """Law of a statistic when labels are permuted within strata or as whole clusters."""
    _check_method(method)
    check_no_closed_form(method, RESTRICTED)
    n, m = labels.positive.size, labels.n_positives
    best = statistic.best(n, m) + statistic.offset(n, m)
    if isinstance(statistic, ReciprocalRank):
        hits = labels.exchanged(reciprocal_ranks(labels.tie_sizes), best)
        return labels.law(hits, statistic, **options)
    counted, own = statistic, labels
    mirrored = _of_misses(statistic, n, m)
    if mirrored is not None:
        counted, own = mirrored, labels.of_misses()
    rounding = _rounding(counted, n, own.n_positives)
    return labels.law(own.exchanged_sums(counted, best), statistic, rounding=rounding, **options)


def _value_of(statistic: RankStatistic | ReciprocalRank, ranking: Ranking) -> float:
    if ranking.n_positives == 0:
        return 0.0
    return statistic.evaluate(ranking.tie_sizes, ranking.hits)


def _warn_if_undefined(
    statistic: RankStatistic | ReciprocalRank, name: str, ranking: Ranking, value: float
) -> None:
    if ranking.n_positives == 0:
        warn_caller(no_positives(name, "0.0"), UndefinedMetricWarning)
    elif ranking.n_positives == ranking.n_samples and isinstance(statistic, RocAuc | Bedroc):
        warn_caller(
            f"{name} is undefined without negatives in y_true and is set to {value:.1f}.",
            UndefinedMetricWarning,
        )


def _name_of(statistic: RankStatistic | ReciprocalRank) -> str:
    """What a metric is called in a sentence."""
    known: dict[type, str] = {
        Bedroc: "BEDROC",
        DiscountedCumulativeGain: "Discounted cumulative gain",
        ReciprocalRank: "Reciprocal rank",
        Rie: "RIE",
        RocAuc: "ROC AUC",
    }
    return known.get(type(statistic), type(statistic).__name__)


def check_statistic(statistic: Any) -> None:
    """Refuse what is no metric that adds up weights of ranks, or cannot be found again by value."""
    if isinstance(statistic, type) and issubclass(statistic, RankStatistic):
        raise TypeError(
            f"statistic must be an instance of a RankStatistic; got the class "
            f"{statistic.__name__}: pass {statistic.__name__}()."
        )
    if not isinstance(statistic, RankStatistic):
        raise TypeError(
            "statistic must be an instance of a subclass of RankStatistic; got "
            f"{statistic!r} of type {type(statistic).__name__}."
        )
    try:
        hash(statistic)
    except TypeError:
        name = type(statistic).__name__
        raise TypeError(
            f"statistic must be hashable, since laws are found again by its value; got {name}: "
            "make that class a frozen dataclass."
        ) from None


def check_weights(statistic: RankStatistic, n_samples: int, n_positives: int) -> None:
    """Refuse weights that are negative, not finite, grow with the rank, or are not one each."""
    if n_positives == 0:
        return  # the statistic is 0.0, whatever the weights are
    ranks = np.arange(1, min(n_samples, _RANKS_CHECKED) + 1)
    if n_samples > _RANKS_CHECKED:
        far = np.geomspace(_RANKS_CHECKED, n_samples, _FAR_RANKS_CHECKED)
        ranks = np.union1d(ranks, np.minimum(far.astype(np.int64), n_samples))
    name = f"{type(statistic).__name__}.weights"
    weights = np.asarray(statistic.weights(ranks, n_samples, n_positives))
    if weights.shape != ranks.shape:
        raise ValueError(
            f"{name} must return one number for each rank; got an array of shape {weights.shape} "
            f"for ranks of shape {ranks.shape}."
        )
    if weights.dtype.kind not in "fiub":
        raise ValueError(f"{name} must return floats; got an array of dtype {weights.dtype}.")
    weights = weights.astype(float)
    before = np.append(np.inf, weights[:-1])
    for wrong, rule in (
        (~np.isfinite(weights), "be finite"),
        (weights < 0.0, "not be negative"),
        (weights > before + _SAME_WEIGHT * weights[0], "not grow with the rank"),
    ):
        if wrong.any():
            first = int(np.argmax(wrong))
            previous = f" after {before[first]}" if "grow" in rule else ""
            raise ValueError(
                f"{name} must {rule}; got the weight {weights[first]} at rank {ranks[first]}"
                f"{previous}, with n_samples={n_samples} and n_positives={n_positives}."
            )


def _check_method(method: str) -> None:
    if method == "zhang_su":
        raise ValueError(
            "method='zhang_su' is an approximation for average precision; use 'analytic', which is "
            "exact, or 'normal'."
        )
    check_option(method, "method", _METHODS)


def _gain(k: float | None, normalize: bool, n_samples: int) -> DiscountedCumulativeGain:
    """Discounted cumulative gain with its options checked."""
    if not isinstance(normalize, bool | np.bool_):
        raise TypeError(
            f"normalize must be True or False; got {normalize!r} of type "
            f"{type(normalize).__name__}."
        )
    cut = None if k is None else resolve_k(k, n_samples)
    return DiscountedCumulativeGain(None if cut == n_samples else cut, bool(normalize))


def roc_auc_null_distribution(
    n_samples: int,
    n_positives: int,
    *,
    tie_sizes: ArrayLike | None = None,
    method: str = "auto",
    n_permutations: int = 9999,
    random_state: Any = 0,
) -> NullDistribution:
    r"""Law of the area under the ROC curve under random labelling.

    Every choice of `n_positives` of the `n_samples` ranks as the ranks of the positives is equally
    likely; the ties are held fixed.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_positives : int
        Number of positives among them.
    tie_sizes : array-like of shape (n_blocks,), optional
        Sizes of the blocks of equal scores, best score first; without it no scores are equal.
    method : {"auto", "analytic", "permutation", "normal", "pearson3"}, default="auto"
        ``"analytic"`` is the exact law, with a stated numerical error, and what ``"auto"`` takes;
        ``"permutation"`` is the law of `n_permutations` random labellings; ``"normal"`` and
        ``"pearson3"`` match the exact moments. A statistic that cannot vary has its one value under
        every method.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.

    Returns
    -------
    law : NullDistribution
        A frozen law with the methods of the law of :func:`ap_null_distribution`.

    Raises
    ------
    TypeError
        If a number is not of the right type.
    ValueError
        If a number is out of its range, the tie sizes do not add up to `n_samples`, or
        `method` is not one of those above.

    See Also
    --------
    roc_auc_test : Test of a ranking against this law.
    rank_statistic_null_distribution : The law of any metric that adds up weights of ranks.
    scipy.stats.mannwhitneyu : The same law without ties, for the statistic U.

    Notes
    -----
    With m positives at the ranks :math:`r_i` of n samples,

    .. math:: \mathrm{AUC} = \frac{1}{m (n - m)} \sum_{i=1}^m (n - r_i) - \frac{m - 1}{2 (n - m)},

    the share of the pairs of a positive and a negative that are in the right order, which is Mann
    and Whitney's U over :math:`m (n - m)` [1]_. Pairs of equal scores count half.

    References
    ----------
    .. [1] Mann, H. B., & Whitney, D. R. (1947). On a test of whether one of two random variables is
       stochastically larger than the other. Annals of Mathematical Statistics, 18(1), 50-60.

    Examples
    --------
    Three positives and five negatives make 15 pairs; two of the 56 ways to place them have at most
    one in the wrong order:

    >>> from sklearn_rankinf import roc_auc_null_distribution
    >>> law = roc_auc_null_distribution(8, 3)
    >>> round(law.mean(), 6), round(law.pvalue(14 / 15) * 56, 9)
    (0.5, 2.0)
    """
    return frozen_rank_law(
        RocAuc(),
        n_samples,
        n_positives,
        tie_sizes=tie_sizes,
        method=method,
        n_permutations=n_permutations,
        random_state=random_state,
    )


@significance_test
def roc_auc_test(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    pos_label: PosLabel = 1,
    alternative: str = "greater",
    method: str = "auto",
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
    block_length: int | None = None,
    n_permutations: int = 9999,
    n_exceedances: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> RankStatisticTestResult:
    r"""Test whether a ranking has a larger area under the ROC curve than random labelling gives.

    The null hypothesis is random selection: with the scores and their ties as they are, every
    choice of `n_positives` of the `n_samples` samples as the positives is equally likely.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for samples more likely to be positive. Required unless `y_true` is a
        ranking.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values are for rankings better than chance, worse than chance, or
        either. Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : {"auto", "analytic", "permutation", "normal", "pearson3"}, default="auto"
        How the p-value is computed; see :func:`roc_auc_null_distribution`.
    strata : array-like of shape (n_samples,), optional
        Stratum of each sample, anything hashable: labels are permuted within strata only. By
        permutation; see :func:`average_precision_test`.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, anything hashable: labels of whole clusters are permuted, among
        those of the same size and stratum. By permutation; see :func:`average_precision_test`.
    order : array-like of shape (n_samples,), optional
        Time or position of each sample in a series whose labels and scores are correlated in time:
        labels are shifted along it. By permutation; see :func:`average_precision_test`.
    block_length : int, optional
        With `order`, permute blocks of so many consecutive samples instead; see
        :func:`average_precision_test`.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    n_exceedances : int, optional
        Stop drawing at the labelling that is the `n_exceedances`-th at least as extreme as the
        observed one: the p-value is then `n_exceedances` over the number drawn. Permutation and
        one-sided alternatives only.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.
    n_jobs : int, optional
        Number of jobs for ``method="permutation"``. The result does not depend on it.

    Returns
    -------
    result : RankStatisticTestResult
        The statistic, its p-value, and the null distribution they were compared with.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given with a ranking, if strata, clusters or order are given
        with a ranking, or if an argument is of a wrong type.
    ValueError
        If labels or scores cannot be ranked (see :meth:`Ranking.from_scores`), or if
        an option is not one of those above.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives, or no negatives: the statistic is then 0.0, the p-value 1.0,
        and the z-score and adjusted statistic are nan.
    UserWarning
        If strata and clusters leave fewer than 1000 different labellings, or shifts fewer than 100.

    See Also
    --------
    roc_auc_null_distribution : The null distribution by itself.
    sklearn.metrics.roc_auc_score : The statistic.
    scipy.stats.mannwhitneyu : The same test, exact only without ties.

    Notes
    -----
    The area is the share of the pairs of a positive and a negative in which the positive has the
    larger score, pairs of equal scores counting half. It is Mann and Whitney's U over the number of
    pairs [1]_, and the p-value is that of their test, exact also with ties.

    References
    ----------
    .. [1] Mann, H. B., & Whitney, D. R. (1947). On a test of whether one of two random variables is
       stochastically larger than the other. Annals of Mathematical Statistics, 18(1), 50-60.

    Examples
    --------
    >>> from sklearn_rankinf import roc_auc_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> result = roc_auc_test(y_true, y_score)
    >>> round(result.statistic, 4), round(result.pvalue * 56, 9)
    (0.9333, 2.0)
    """
    return _rank_test(
        as_ranking(y_true, y_score, pos_label),
        RocAuc(),
        "ROC AUC",
        alternative=alternative,
        method=method,
        restricted=restricted_labels(
            y_true, y_score, pos_label, Restrictions(strata, clusters, order, block_length)
        ),
        n_permutations=n_permutations,
        n_exceedances=n_exceedances,
        random_state=random_state,
        n_jobs=n_jobs,
    )


def dcg_null_distribution(
    n_samples: int,
    n_positives: int,
    *,
    k: float | None = None,
    normalize: bool = False,
    tie_sizes: ArrayLike | None = None,
    method: str = "auto",
    n_permutations: int = 9999,
    random_state: Any = 0,
) -> NullDistribution:
    r"""Law of discounted cumulative gain under random labelling.

    Every choice of `n_positives` of the `n_samples` ranks as the ranks of the positives is equally
    likely; the ties are held fixed.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_positives : int
        Number of positives among them.
    k : int or float, optional
        Count only the first `k` samples: an int of at least 1 counts samples, a float between 0 and
        1 is a fraction of `n_samples`, rounded up.
    normalize : bool, default=False
        Whether to divide by the value of a perfect ranking, which is nDCG.
    tie_sizes : array-like of shape (n_blocks,), optional
        Sizes of the blocks of equal scores, best score first; without it no scores are equal.
    method : {"auto", "analytic", "permutation", "normal", "pearson3"}, default="auto"
        ``"analytic"`` is the exact law, with a stated numerical error, and what ``"auto"`` takes;
        ``"permutation"`` is the law of `n_permutations` random labellings; ``"normal"`` and
        ``"pearson3"`` match the exact moments. A statistic that cannot vary has its one value under
        every method.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.

    Returns
    -------
    law : NullDistribution
        A frozen law with the methods of the law of :func:`ap_null_distribution`.

    Raises
    ------
    TypeError
        If a number is not of the right type.
    ValueError
        If a number is out of its range, the tie sizes do not add up to `n_samples`, or
        `method` is not one of those above.

    See Also
    --------
    dcg_test : Test of a ranking against this law.
    rank_statistic_null_distribution : The law of any metric that adds up weights of ranks.

    Notes
    -----
    With the m positives at the ranks :math:`r_i` and gains of 0 and 1 [1]_,

    .. math:: \mathrm{DCG} = \sum_{r_i \le k} \frac{1}{\log_2(r_i + 1)}, \qquad
              \mathrm{nDCG} = \mathrm{DCG} \Big/ \sum_{r=1}^{\min(m, k)} \frac{1}{\log_2(r + 1)}.

    A positive in a block of equal scores counts the mean over the block, as in scikit-learn.

    References
    ----------
    .. [1] Järvelin, K., & Kekäläinen, J. (2002). Cumulated gain-based evaluation of IR techniques.
       ACM Transactions on Information Systems, 20(4), 422-446.

    Examples
    --------
    >>> from sklearn_rankinf import dcg_null_distribution
    >>> law = dcg_null_distribution(8, 3, normalize=True)
    >>> round(law.pvalue(1.0) * 56, 9)
    1.0
    """
    n, _ = check_counts(n_samples, n_positives)
    return frozen_rank_law(
        _gain(k, normalize, n),
        n_samples,
        n_positives,
        tie_sizes=tie_sizes,
        method=method,
        n_permutations=n_permutations,
        random_state=random_state,
    )


@significance_test
def dcg_test(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: float | None = None,
    normalize: bool = False,
    pos_label: PosLabel = 1,
    alternative: str = "greater",
    method: str = "auto",
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
    block_length: int | None = None,
    n_permutations: int = 9999,
    n_exceedances: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> RankStatisticTestResult:
    r"""Test whether a ranking has more discounted cumulative gain than random labelling gives.

    The null hypothesis is random selection: with the scores and their ties as they are, every
    choice of `n_positives` of the `n_samples` samples as the positives is equally likely.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for samples more likely to be positive. Required unless `y_true` is a
        ranking.
    k : int or float, optional
        Count only the first `k` samples: an int of at least 1 counts samples, a float between 0 and
        1 is a fraction of `n_samples`, rounded up.
    normalize : bool, default=False
        Whether to divide by the value of a perfect ranking, which is nDCG.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values are for rankings better than chance, worse than chance, or
        either. Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : {"auto", "analytic", "permutation", "normal", "pearson3"}, default="auto"
        How the p-value is computed; see :func:`dcg_null_distribution`.
    strata : array-like of shape (n_samples,), optional
        Stratum of each sample, anything hashable: labels are permuted within strata only. By
        permutation; see :func:`average_precision_test`.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, anything hashable: labels of whole clusters are permuted, among
        those of the same size and stratum. By permutation; see :func:`average_precision_test`.
    order : array-like of shape (n_samples,), optional
        Time or position of each sample in a series whose labels and scores are correlated in time:
        labels are shifted along it. By permutation; see :func:`average_precision_test`.
    block_length : int, optional
        With `order`, permute blocks of so many consecutive samples instead; see
        :func:`average_precision_test`.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    n_exceedances : int, optional
        Stop drawing at the labelling that is the `n_exceedances`-th at least as extreme as the
        observed one: the p-value is then `n_exceedances` over the number drawn. Permutation and
        one-sided alternatives only.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.
    n_jobs : int, optional
        Number of jobs for ``method="permutation"``. The result does not depend on it.

    Returns
    -------
    result : RankStatisticTestResult
        The statistic, its p-value, and the null distribution they were compared with.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given with a ranking, if strata, clusters or order are given
        with a ranking, or if an argument is of a wrong type.
    ValueError
        If labels or scores cannot be ranked (see :meth:`Ranking.from_scores`), if `k` is out
        of its range, or if
        an option is not one of those above.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives: the statistic is then 0.0, the p-value 1.0, and the z-score
        and adjusted statistic are nan.
    UserWarning
        If strata and clusters leave fewer than 1000 different labellings, or shifts fewer than 100.

    See Also
    --------
    dcg_null_distribution : The null distribution by itself.
    sklearn.metrics.dcg_score : The statistic.
    sklearn.metrics.ndcg_score : The statistic with ``normalize=True``.

    Notes
    -----
    With the m positives at the ranks :math:`r_i` and gains of 0 and 1 [1]_,

    .. math:: \mathrm{DCG} = \sum_{r_i \le k} \frac{1}{\log_2(r_i + 1)}, \qquad
              \mathrm{nDCG} = \mathrm{DCG} \Big/ \sum_{r=1}^{\min(m, k)} \frac{1}{\log_2(r + 1)}.

    A positive in a block of equal scores counts the mean over the block, as in scikit-learn.

    References
    ----------
    .. [1] Järvelin, K., & Kekäläinen, J. (2002). Cumulated gain-based evaluation of IR techniques.
       ACM Transactions on Information Systems, 20(4), 422-446.

    Examples
    --------
    >>> from sklearn_rankinf import dcg_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> result = dcg_test(y_true, y_score, normalize=True)
    >>> round(result.statistic, 4), round(result.pvalue * 56, 9)
    (0.9675, 2.0)
    """
    ranking = as_ranking(y_true, y_score, pos_label)
    return _rank_test(
        ranking,
        _gain(k, normalize, ranking.n_samples),
        "Discounted cumulative gain",
        alternative=alternative,
        method=method,
        restricted=restricted_labels(
            y_true, y_score, pos_label, Restrictions(strata, clusters, order, block_length)
        ),
        n_permutations=n_permutations,
        n_exceedances=n_exceedances,
        random_state=random_state,
        n_jobs=n_jobs,
    )


def bedroc_null_distribution(
    n_samples: int,
    n_positives: int,
    *,
    alpha: float = 20.0,
    tie_sizes: ArrayLike | None = None,
    method: str = "auto",
    n_permutations: int = 9999,
    random_state: Any = 0,
) -> NullDistribution:
    r"""Law of the Boltzmann-enhanced discrimination of ROC (BEDROC) under random labelling.

    Every choice of `n_positives` of the `n_samples` ranks as the ranks of the positives is equally
    likely; the ties are held fixed.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_positives : int
        Number of positives among them.
    alpha : float, default=20.0
        How fast the weight of a rank falls off: with 20, 80 % of it is in the first 8 % of the
        ranks.
    tie_sizes : array-like of shape (n_blocks,), optional
        Sizes of the blocks of equal scores, best score first; without it no scores are equal.
    method : {"auto", "analytic", "permutation", "normal", "pearson3"}, default="auto"
        ``"analytic"`` is the exact law, with a stated numerical error, and what ``"auto"`` takes;
        ``"permutation"`` is the law of `n_permutations` random labellings; ``"normal"`` and
        ``"pearson3"`` match the exact moments. A statistic that cannot vary has its one value under
        every method.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.

    Returns
    -------
    law : NullDistribution
        A frozen law with the methods of the law of :func:`ap_null_distribution`.

    Raises
    ------
    TypeError
        If a number is not of the right type.
    ValueError
        If a number is out of its range, the tie sizes do not add up to `n_samples`, or
        `method` is not one of those above.

    See Also
    --------
    bedroc_test : Test of a ranking against this law.
    rie_null_distribution : The same on the scale of chance.

    Notes
    -----
    With :math:`x = \frac{1}{m} \sum_i e^{-\alpha r_i / n}` over the ranks :math:`r_i` of the m
    positives, and its values :math:`x_{\max}` and :math:`x_{\min}` with all positives at the top
    and at the bottom [1]_,

    .. math:: \mathrm{BEDROC} = \frac{x - x_{\min}}{x_{\max} - x_{\min}}.

    A positive in a block of equal scores counts the mean weight of the block.

    References
    ----------
    .. [1] Truchon, J.-F., & Bayly, C. I. (2007). Evaluating virtual screening methods: good and bad
       metrics for the "early recognition" problem. Journal of Chemical Information and Modeling,
       47(2), 488-508.

    Examples
    --------
    >>> from sklearn_rankinf import bedroc_null_distribution
    >>> law = bedroc_null_distribution(8, 3)
    >>> round(law.pvalue(1.0) * 56, 9)
    1.0
    """
    return frozen_rank_law(
        Bedroc(check_alpha(alpha)),
        n_samples,
        n_positives,
        tie_sizes=tie_sizes,
        method=method,
        n_permutations=n_permutations,
        random_state=random_state,
    )


@significance_test
def bedroc_test(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    alpha: float = 20.0,
    pos_label: PosLabel = 1,
    alternative: str = "greater",
    method: str = "auto",
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
    block_length: int | None = None,
    n_permutations: int = 9999,
    n_exceedances: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> RankStatisticTestResult:
    r"""Test whether a ranking has a larger BEDROC than random labelling gives.

    The null hypothesis is random selection: with the scores and their ties as they are, every
    choice of `n_positives` of the `n_samples` samples as the positives is equally likely.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for samples more likely to be positive. Required unless `y_true` is a
        ranking.
    alpha : float, default=20.0
        How fast the weight of a rank falls off: with 20, 80 % of it is in the first 8 % of the
        ranks.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values are for rankings better than chance, worse than chance, or
        either. Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : {"auto", "analytic", "permutation", "normal", "pearson3"}, default="auto"
        How the p-value is computed; see :func:`bedroc_null_distribution`.
    strata : array-like of shape (n_samples,), optional
        Stratum of each sample, anything hashable: labels are permuted within strata only. By
        permutation; see :func:`average_precision_test`.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, anything hashable: labels of whole clusters are permuted, among
        those of the same size and stratum. By permutation; see :func:`average_precision_test`.
    order : array-like of shape (n_samples,), optional
        Time or position of each sample in a series whose labels and scores are correlated in time:
        labels are shifted along it. By permutation; see :func:`average_precision_test`.
    block_length : int, optional
        With `order`, permute blocks of so many consecutive samples instead; see
        :func:`average_precision_test`.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    n_exceedances : int, optional
        Stop drawing at the labelling that is the `n_exceedances`-th at least as extreme as the
        observed one: the p-value is then `n_exceedances` over the number drawn. Permutation and
        one-sided alternatives only.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.
    n_jobs : int, optional
        Number of jobs for ``method="permutation"``. The result does not depend on it.

    Returns
    -------
    result : RankStatisticTestResult
        The statistic, its p-value, and the null distribution they were compared with.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given with a ranking, if strata, clusters or order are given
        with a ranking, or if an argument is of a wrong type.
    ValueError
        If labels or scores cannot be ranked (see :meth:`Ranking.from_scores`), if `alpha` is out
        of its range, or if
        an option is not one of those above.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives, or no negatives: the statistic is then 0.0, the p-value 1.0,
        and the z-score and adjusted statistic are nan.
    UserWarning
        If strata and clusters leave fewer than 1000 different labellings, or shifts fewer than 100.

    See Also
    --------
    bedroc_null_distribution : The null distribution by itself.
    bedroc_score : The statistic.
    rie_test : The same test, told on the scale of chance.

    Notes
    -----
    With :math:`x = \frac{1}{m} \sum_i e^{-\alpha r_i / n}` over the ranks :math:`r_i` of the m
    positives, and its values :math:`x_{\max}` and :math:`x_{\min}` with all positives at the top
    and at the bottom [1]_,

    .. math:: \mathrm{BEDROC} = \frac{x - x_{\min}}{x_{\max} - x_{\min}}.

    A positive in a block of equal scores counts the mean weight of the block.

    References
    ----------
    .. [1] Truchon, J.-F., & Bayly, C. I. (2007). Evaluating virtual screening methods: good and bad
       metrics for the "early recognition" problem. Journal of Chemical Information and Modeling,
       47(2), 488-508.

    Examples
    --------
    >>> from sklearn_rankinf import bedroc_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> result = bedroc_test(y_true, y_score, alpha=5.0)
    >>> round(result.pvalue * 56, 9)
    2.0
    """
    return _rank_test(
        as_ranking(y_true, y_score, pos_label),
        Bedroc(check_alpha(alpha)),
        "BEDROC",
        alternative=alternative,
        method=method,
        restricted=restricted_labels(
            y_true, y_score, pos_label, Restrictions(strata, clusters, order, block_length)
        ),
        n_permutations=n_permutations,
        n_exceedances=n_exceedances,
        random_state=random_state,
        n_jobs=n_jobs,
    )


def rie_null_distribution(
    n_samples: int,
    n_positives: int,
    *,
    alpha: float = 20.0,
    tie_sizes: ArrayLike | None = None,
    method: str = "auto",
    n_permutations: int = 9999,
    random_state: Any = 0,
) -> NullDistribution:
    r"""Law of the robust initial enhancement (RIE) under random labelling.

    Every choice of `n_positives` of the `n_samples` ranks as the ranks of the positives is equally
    likely; the ties are held fixed.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_positives : int
        Number of positives among them.
    alpha : float, default=20.0
        How fast the weight of a rank falls off: with 20, 80 % of it is in the first 8 % of the
        ranks.
    tie_sizes : array-like of shape (n_blocks,), optional
        Sizes of the blocks of equal scores, best score first; without it no scores are equal.
    method : {"auto", "analytic", "permutation", "normal", "pearson3"}, default="auto"
        ``"analytic"`` is the exact law, with a stated numerical error, and what ``"auto"`` takes;
        ``"permutation"`` is the law of `n_permutations` random labellings; ``"normal"`` and
        ``"pearson3"`` match the exact moments. A statistic that cannot vary has its one value under
        every method.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.

    Returns
    -------
    law : NullDistribution
        A frozen law with the methods of the law of :func:`ap_null_distribution`.

    Raises
    ------
    TypeError
        If a number is not of the right type.
    ValueError
        If a number is out of its range, the tie sizes do not add up to `n_samples`, or
        `method` is not one of those above.

    See Also
    --------
    rie_test : Test of a ranking against this law.
    bedroc_null_distribution : The same on a scale from 0 to 1.

    Notes
    -----
    With the ranks :math:`r_i` of m positives among n samples [1]_, in the form of [2]_,

    .. math:: \mathrm{RIE} = \frac{\frac{1}{m} \sum_i e^{-\alpha r_i / n}}
              {\frac{1}{n} \sum_{r=1}^n e^{-\alpha r / n}},

    so that chance has 1. BEDROC is a linear function of it, with the same p-values. A positive in a
    block of equal scores counts the mean weight of the block.

    References
    ----------
    .. [1] Sheridan, R. P., Singh, S. B., Fluder, E. M., & Kearsley, S. K. (2001). Protocols for
       bridging the peptide to nonpeptide gap in topological similarity searches. Journal of
       Chemical Information and Computer Sciences, 41(5), 1395-1406.
    .. [2] Truchon, J.-F., & Bayly, C. I. (2007). Evaluating virtual screening methods: good and bad
       metrics for the "early recognition" problem. Journal of Chemical Information and Modeling,
       47(2), 488-508.

    Examples
    --------
    >>> from sklearn_rankinf import rie_null_distribution
    >>> law = rie_null_distribution(1000, 20)
    >>> round(law.mean(), 9)
    1.0
    """
    return frozen_rank_law(
        Rie(check_alpha(alpha)),
        n_samples,
        n_positives,
        tie_sizes=tie_sizes,
        method=method,
        n_permutations=n_permutations,
        random_state=random_state,
    )


@significance_test
def rie_test(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    alpha: float = 20.0,
    pos_label: PosLabel = 1,
    alternative: str = "greater",
    method: str = "auto",
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
    block_length: int | None = None,
    n_permutations: int = 9999,
    n_exceedances: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> RankStatisticTestResult:
    r"""Test whether a ranking has a larger robust initial enhancement than random labelling gives.

    The null hypothesis is random selection: with the scores and their ties as they are, every
    choice of `n_positives` of the `n_samples` samples as the positives is equally likely.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for samples more likely to be positive. Required unless `y_true` is a
        ranking.
    alpha : float, default=20.0
        How fast the weight of a rank falls off: with 20, 80 % of it is in the first 8 % of the
        ranks.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values are for rankings better than chance, worse than chance, or
        either. Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : {"auto", "analytic", "permutation", "normal", "pearson3"}, default="auto"
        How the p-value is computed; see :func:`rie_null_distribution`.
    strata : array-like of shape (n_samples,), optional
        Stratum of each sample, anything hashable: labels are permuted within strata only. By
        permutation; see :func:`average_precision_test`.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, anything hashable: labels of whole clusters are permuted, among
        those of the same size and stratum. By permutation; see :func:`average_precision_test`.
    order : array-like of shape (n_samples,), optional
        Time or position of each sample in a series whose labels and scores are correlated in time:
        labels are shifted along it. By permutation; see :func:`average_precision_test`.
    block_length : int, optional
        With `order`, permute blocks of so many consecutive samples instead; see
        :func:`average_precision_test`.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    n_exceedances : int, optional
        Stop drawing at the labelling that is the `n_exceedances`-th at least as extreme as the
        observed one: the p-value is then `n_exceedances` over the number drawn. Permutation and
        one-sided alternatives only.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.
    n_jobs : int, optional
        Number of jobs for ``method="permutation"``. The result does not depend on it.

    Returns
    -------
    result : RankStatisticTestResult
        The statistic, its p-value, and the null distribution they were compared with.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given with a ranking, if strata, clusters or order are given
        with a ranking, or if an argument is of a wrong type.
    ValueError
        If labels or scores cannot be ranked (see :meth:`Ranking.from_scores`), if `alpha` is out
        of its range, or if
        an option is not one of those above.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives: the statistic is then 0.0, the p-value 1.0, and the z-score
        and adjusted statistic are nan.
    UserWarning
        If strata and clusters leave fewer than 1000 different labellings, or shifts fewer than 100.

    See Also
    --------
    rie_null_distribution : The null distribution by itself.
    rie_score : The statistic.
    bedroc_test : The same test, told on a scale from 0 to 1.

    Notes
    -----
    With the ranks :math:`r_i` of m positives among n samples [1]_, in the form of [2]_,

    .. math:: \mathrm{RIE} = \frac{\frac{1}{m} \sum_i e^{-\alpha r_i / n}}
              {\frac{1}{n} \sum_{r=1}^n e^{-\alpha r / n}},

    so that chance has 1. BEDROC is a linear function of it, with the same p-values. A positive in a
    block of equal scores counts the mean weight of the block.

    References
    ----------
    .. [1] Sheridan, R. P., Singh, S. B., Fluder, E. M., & Kearsley, S. K. (2001). Protocols for
       bridging the peptide to nonpeptide gap in topological similarity searches. Journal of
       Chemical Information and Computer Sciences, 41(5), 1395-1406.
    .. [2] Truchon, J.-F., & Bayly, C. I. (2007). Evaluating virtual screening methods: good and bad
       metrics for the "early recognition" problem. Journal of Chemical Information and Modeling,
       47(2), 488-508.

    Examples
    --------
    >>> from sklearn_rankinf import rie_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> result = rie_test(y_true, y_score, alpha=5.0)
    >>> round(result.pvalue * 56, 9)
    2.0
    """
    return _rank_test(
        as_ranking(y_true, y_score, pos_label),
        Rie(check_alpha(alpha)),
        "RIE",
        alternative=alternative,
        method=method,
        restricted=restricted_labels(
            y_true, y_score, pos_label, Restrictions(strata, clusters, order, block_length)
        ),
        n_permutations=n_permutations,
        n_exceedances=n_exceedances,
        random_state=random_state,
        n_jobs=n_jobs,
    )


def reciprocal_rank_null_distribution(
    n_samples: int,
    n_positives: int,
    *,
    tie_sizes: ArrayLike | None = None,
    method: str = "auto",
    n_permutations: int = 9999,
    random_state: Any = 0,
) -> ListedNullDistribution:
    r"""Law of the reciprocal rank of the best positive under random labelling.

    Every choice of `n_positives` of the `n_samples` ranks as the ranks of the positives is equally
    likely; the ties are held fixed.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_positives : int
        Number of positives among them.
    tie_sizes : array-like of shape (n_blocks,), optional
        Sizes of the blocks of equal scores, best score first; without it no scores are equal.
    method : {"auto", "analytic", "permutation", "normal", "pearson3"}, default="auto"
        ``"analytic"`` is the exact law, with a stated numerical error, and what ``"auto"`` takes;
        ``"permutation"`` is the law of `n_permutations` random labellings; ``"normal"`` and
        ``"pearson3"`` match the exact moments. A statistic that cannot vary has its one value under
        every method.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.

    Returns
    -------
    law : ListedNullDistribution
        A frozen law with the methods of the law of :func:`ap_null_distribution`.

    Raises
    ------
    TypeError
        If a number is not of the right type.
    ValueError
        If a number is out of its range, the tie sizes do not add up to `n_samples`, `n_samples` is
        above 20,000,000, or
        `method` is not one of those above.

    See Also
    --------
    reciprocal_rank_test : Test of a ranking against this law.
    reciprocal_rank_score : The statistic.

    Notes
    -----
    The reciprocal rank [1]_ is 1 over the rank of the best positive. In a block of g equal scores
    behind a samples with better ones, y of them positive, it is the expectation over random
    tie-breaking,

    .. math:: \sum_{j=1}^{g-y+1} \binom{g-j}{y-1} \Big/ \binom{g}{y} \cdot \frac{1}{a + j}.

    It takes one value for each number of positives in the first block that has any, with
    :math:`\binom{n-a-g}{m-y} \binom{g}{y}` placements, and so the law is a list.

    References
    ----------
    .. [1] Voorhees, E. M. (1999). The TREC-8 question answering track report. Proceedings of the
       8th Text REtrieval Conference, 77-82.

    Examples
    --------
    Of the 56 ways to place three positives among eight ranks, 21 have one at the top:

    >>> from sklearn_rankinf import reciprocal_rank_null_distribution
    >>> law = reciprocal_rank_null_distribution(8, 3)
    >>> round(law.pvalue(1.0) * 56, 9), round(law.pvalue(1 / 2) * 56, 9)
    (21.0, 36.0)
    """
    return frozen_reciprocal_rank_law(
        n_samples,
        n_positives,
        tie_sizes=tie_sizes,
        method=method,
        n_permutations=n_permutations,
        random_state=random_state,
    )


@significance_test
def reciprocal_rank_test(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    pos_label: PosLabel = 1,
    alternative: str = "greater",
    method: str = "auto",
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
    block_length: int | None = None,
    n_permutations: int = 9999,
    n_exceedances: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> RankStatisticTestResult:
    r"""Test whether the best positive is ranked higher than random labelling gives.

    The null hypothesis is random selection: with the scores and their ties as they are, every
    choice of `n_positives` of the `n_samples` samples as the positives is equally likely.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for samples more likely to be positive. Required unless `y_true` is a
        ranking.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values are for rankings better than chance, worse than chance, or
        either. Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : {"auto", "analytic", "permutation", "normal", "pearson3"}, default="auto"
        How the p-value is computed; see :func:`reciprocal_rank_null_distribution`.
    strata : array-like of shape (n_samples,), optional
        Stratum of each sample, anything hashable: labels are permuted within strata only. By
        permutation; see :func:`average_precision_test`.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, anything hashable: labels of whole clusters are permuted, among
        those of the same size and stratum. By permutation; see :func:`average_precision_test`.
    order : array-like of shape (n_samples,), optional
        Time or position of each sample in a series whose labels and scores are correlated in time:
        labels are shifted along it. By permutation; see :func:`average_precision_test`.
    block_length : int, optional
        With `order`, permute blocks of so many consecutive samples instead; see
        :func:`average_precision_test`.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    n_exceedances : int, optional
        Stop drawing at the labelling that is the `n_exceedances`-th at least as extreme as the
        observed one: the p-value is then `n_exceedances` over the number drawn. Permutation and
        one-sided alternatives only.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.
    n_jobs : int, optional
        Number of jobs for ``method="permutation"``. The result does not depend on it.

    Returns
    -------
    result : RankStatisticTestResult
        The statistic, its p-value, and the null distribution they were compared with.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given with a ranking, if strata, clusters or order are given
        with a ranking, or if an argument is of a wrong type.
    ValueError
        If labels or scores cannot be ranked (see :meth:`Ranking.from_scores`), if there are
        more than 20,000,000 samples, or if
        an option is not one of those above.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives: the statistic is then 0.0, the p-value 1.0, and the z-score
        and adjusted statistic are nan.
    UserWarning
        If strata and clusters leave fewer than 1000 different labellings, or shifts fewer than 100.

    See Also
    --------
    reciprocal_rank_null_distribution : The null distribution by itself.
    reciprocal_rank_score : The statistic.

    Notes
    -----
    The reciprocal rank [1]_ is 1 over the rank of the best positive. In a block of g equal scores
    behind a samples with better ones, y of them positive, it is the expectation over random
    tie-breaking,

    .. math:: \sum_{j=1}^{g-y+1} \binom{g-j}{y-1} \Big/ \binom{g}{y} \cdot \frac{1}{a + j}.

    Without ties the p-value of a best rank r is :math:`1 - \binom{n-r}{m} / \binom{n}{m}`. It
    cannot be smaller than the share of positives, whatever the other positives do.

    References
    ----------
    .. [1] Voorhees, E. M. (1999). The TREC-8 question answering track report. Proceedings of the
       8th Text REtrieval Conference, 77-82.

    Examples
    --------
    >>> from sklearn_rankinf import reciprocal_rank_test
    >>> y_true = [0, 1, 0, 1, 0, 0, 1, 0]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> result = reciprocal_rank_test(y_true, y_score)
    >>> result.statistic, round(result.pvalue * 56, 9)
    (0.5, 36.0)
    """
    return _rank_test(
        as_ranking(y_true, y_score, pos_label),
        ReciprocalRank(),
        "Reciprocal rank",
        alternative=alternative,
        method=method,
        restricted=restricted_labels(
            y_true, y_score, pos_label, Restrictions(strata, clusters, order, block_length)
        ),
        n_permutations=n_permutations,
        n_exceedances=n_exceedances,
        random_state=random_state,
        n_jobs=n_jobs,
    )


def enrichment_at_k_null_distribution(
    n_samples: int,
    n_positives: int,
    *,
    k: Any,
    tie_sizes: ArrayLike | None = None,
    method: str = "auto",
    n_permutations: int = 9999,
    random_state: Any = 0,
) -> TopKNullDistribution:
    r"""Law of the enrichment factor at k under random labelling.

    Every choice of `n_positives` of the `n_samples` ranks as the ranks of the positives is equally
    likely; the ties are held fixed.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_positives : int
        Number of positives among them.
    k : int, float or array-like of them
        Number of samples at the top of the ranking: an int of at least 1, or a float between 0 and
        1 for a fraction of `n_samples`, rounded up. An array makes one law for each entry.
    tie_sizes : array-like of shape (n_blocks,), optional
        Sizes of the blocks of equal scores, best score first; without it no scores are equal.
    method : {"auto", "analytic", "permutation", "binomial", "normal"}, default="auto"
        How the law is computed; see :func:`recall_at_k_null_distribution`.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.

    Returns
    -------
    law : TopKNullDistribution
        A frozen law with the methods of the law of :func:`ap_null_distribution`, which for an array
        of k broadcast their argument against k.

    Raises
    ------
    TypeError
        If a number is not of the right type.
    ValueError
        If a number is out of its range, the tie sizes do not add up to `n_samples`, or
        `method` is not one of those above.

    See Also
    --------
    enrichment_at_k_test : Test of a ranking against this law.
    precision_at_k_null_distribution : The same, not divided by the share of positives.

    Notes
    -----
    With H of the m positives among the first k of n samples,

    .. math:: \mathrm{EF} = \frac{H / k}{m / n},

    precision at k over the share of positives, so that chance has 1. It is recall at k times
    n / k, with the same p-values; see :func:`recall_at_k_null_distribution` for its law and for
    ties.

    Examples
    --------
    >>> from sklearn_rankinf import enrichment_at_k_null_distribution
    >>> law = enrichment_at_k_null_distribution(1000, 100, k=50)
    >>> round(law.mean(), 6), round(law.std(), 5), round(law.isf(0.05), 6)
    (1.0, 0.41373, 1.8)
    """
    return frozen_top_k_law(
        "chance",
        n_samples,
        n_positives,
        k=k,
        tie_sizes=tie_sizes,
        method=method,
        n_permutations=n_permutations,
        random_state=random_state,
    )


@significance_test
def enrichment_at_k_test(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    k: Any,
    pos_label: PosLabel = 1,
    alternative: str = "greater",
    method: str = "auto",
    strata: Iterable[Hashable] | None = None,
    clusters: Iterable[Hashable] | None = None,
    order: Iterable[Any] | None = None,
    block_length: int | None = None,
    n_permutations: int = 9999,
    n_exceedances: int | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> TopKTestResult:
    r"""Test whether the first k samples are more enriched in positives than random labelling gives.

    The null hypothesis is random selection: with the scores and their ties as they are, every
    choice of `n_positives` of the `n_samples` samples as the positives is equally likely.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, with `y_score` left out.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for samples more likely to be positive. Required unless `y_true` is a
        ranking.
    k : int, float or array-like of them
        Number of samples at the top of the ranking: an int of at least 1, or a float between 0 and
        1 for a fraction of `n_samples`, rounded up. An array makes one test for each entry.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored when `y_true` is a ranking.
    alternative : {"greater", "less", "two-sided"}, default="greater"
        Whether small p-values are for rankings better than chance, worse than chance, or
        either. Two-sided is twice the smaller of the one-sided p-values, at most 1.
    method : {"auto", "analytic", "permutation", "binomial", "normal"}, default="auto"
        How the p-value is computed; see :func:`recall_at_k_null_distribution`.
    strata : array-like of shape (n_samples,), optional
        Stratum of each sample, anything hashable: labels are permuted within strata only. By
        permutation; see :func:`average_precision_test`.
    clusters : array-like of shape (n_samples,), optional
        Cluster of each sample, anything hashable: labels of whole clusters are permuted, among
        those of the same size and stratum. By permutation; see :func:`average_precision_test`.
    order : array-like of shape (n_samples,), optional
        Time or position of each sample in a series whose labels and scores are correlated in time:
        labels are shifted along it. By permutation; see :func:`average_precision_test`.
    block_length : int, optional
        With `order`, permute blocks of so many consecutive samples instead; see
        :func:`average_precision_test`.
    n_permutations : int, default=9999
        Number of random labellings for ``method="permutation"``.
    n_exceedances : int, optional
        Stop drawing at the labelling that is the `n_exceedances`-th at least as extreme as the
        observed one: the p-value is then `n_exceedances` over the number drawn. Permutation and
        one-sided alternatives only.
    random_state : int, RandomState, Generator or None, default=0
        Source of the random labellings for ``method="permutation"``.
    n_jobs : int, optional
        Number of jobs for strata, clusters and order, whose result does not depend on it. Without
        them a random labelling is a few random numbers, so that one job draws all.

    Returns
    -------
    result : TopKTestResult
        The statistic, its p-value, and the null distribution they were compared with; arrays of
        the shape of `k` where that is an array. With strata, clusters, order or `n_exceedances` the
        null distribution is then a tuple with one for each.

    Raises
    ------
    TypeError
        If `y_score` is missing, or given with a ranking, if strata, clusters or order are given
        with a ranking, or if an argument is of a wrong type.
    ValueError
        If labels or scores cannot be ranked (see :meth:`Ranking.from_scores`), if `k` is out
        of its range, or if
        an option is not one of those above.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives: the statistic is then 0.0, the p-value 1.0, and the z-score
        and adjusted statistic are nan.
    UserWarning
        If strata and clusters leave fewer than 1000 different labellings, or shifts fewer than 100.

    See Also
    --------
    enrichment_at_k_null_distribution : The null distribution by itself.
    enrichment_at_k_score : The statistic.
    precision_at_k_test : The same test, told by the share of positives among the first k.

    Notes
    -----
    With H of the m positives among the first k of n samples,

    .. math:: \mathrm{EF} = \frac{H / k}{m / n},

    precision at k over the share of positives, so that chance has 1. It is precision at k over a
    constant, with the same p-values; see :func:`recall_at_k_test` for them and for ties.

    Examples
    --------
    >>> from sklearn_rankinf import enrichment_at_k_test
    >>> y_true = [1, 1, 0, 1, 0, 0, 0, 0]
    >>> y_score = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    >>> result = enrichment_at_k_test(y_true, y_score, k=4)
    >>> round(result.statistic, 6), round(result.pvalue * 56, 9)
    (2.0, 4.0)
    """
    return hits_test(
        "chance",
        as_ranking(y_true, y_score, pos_label),
        alternative,
        k=k,
        method=method,
        restricted=restricted_labels(
            y_true, y_score, pos_label, Restrictions(strata, clusters, order, block_length)
        ),
        n_permutations=n_permutations,
        n_exceedances=n_exceedances,
        random_state=random_state,
        n_jobs=n_jobs,
    )
