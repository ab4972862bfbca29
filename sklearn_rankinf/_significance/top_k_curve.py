"""Hits among the first k items compared with chance, for all k at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_rankinf._ranking import (
    PosLabel,
    Ranking,
    Sample,
    check_levels,
    ends_up_to,
    no_positives,
    one_class_sentence,
    warn_caller,
)
from sklearn_rankinf._results import Result, format_pvalue, format_value
from sklearn_rankinf._significance.boundary_crossing import HitBounds, SimultaneousBounds
from sklearn_rankinf._statistics import Floats, Integers, as_log10, cached_property, log_tail

Run = tuple[int, int]
"""First and last cut-off of a run."""

# Runs of cut-offs listed in a sentence.
_RUNS_LISTED = 3
_CAUTION = (
    "Hits are cumulative: the first k items may beat chance although the last of them do not."
)


@dataclass(frozen=True, eq=False, repr=False)
class TopKSignificanceCurve(Result):
    """Result of :func:`top_k_significance_curve`.

    Every array has one entry for each end of a block of equal scores, which is one entry per item
    without ties.

    Attributes
    ----------
    k : ndarray of int of shape (n_k,)
        Numbers of items at the top of the ranking: the ends of blocks of equal scores.
    hits : ndarray of int of shape (n_k,)
        Positives among the first k items.
    expected : ndarray of shape (n_k,)
        Expected number of positives among k randomly selected items.
    pvalue, log10_pvalue : ndarray of shape (n_k,)
        Probability of at least as many positives by chance, for each k separately, and
        its logarithm to base 10. Computed on first use.
    alpha : ndarray of shape (n_alpha,)
        The significance levels.
    hits_needed : ndarray of shape (n_alpha, n_k)
        Smallest number of hits with a p-value of at most alpha, pointwise: for one k that was
        chosen before the data were seen. nan if no number of hits is enough.
    hits_needed_simultaneous : ndarray of shape (n_alpha, n_k)
        The same for all k at once: at most a fraction alpha of all random rankings has enough hits
        at any k.
    pointwise_level : ndarray of shape (n_alpha,)
        The pointwise level of the simultaneous bounds: the largest possible p-value for which the
        probability of enough hits at any k is at most alpha, or one whose probability is within a
        relative 1e-6 of alpha; 0 if there is none.
    attained_level : ndarray of shape (n_alpha,)
        The probability of enough hits at any k for the simultaneous bounds.
    pointwise_crossing_probability : ndarray of shape (n_alpha,)
        Probability by chance of enough hits for the pointwise bound at any k.
    crossovers, crossovers_simultaneous : list of list of (int, int)
        For each alpha the first and the last k of every run of k with enough hits.
    recall, precision, enrichment : ndarray of shape (n_k,)
        Hits as a fraction of all positives, as a fraction of k, and relative to `expected`.
    n_samples, n_positives : int
        Number of items, and number of positives.

    See Also
    --------
    top_k_significance_curve : The function that returns this result.
    TopKSignificanceDisplay : Plot of the curve.

    Examples
    --------
    >>> from sklearn_rankinf import Ranking, top_k_significance_curve
    >>> ranking = Ranking.from_counts([1] * 20, [1, 1, 0, 1, 1, 0, 1] + [0] * 13)
    >>> curve = top_k_significance_curve(ranking, alpha=0.05)
    >>> curve
    TopKSignificanceCurve(n_samples=20, n_positives=5, k=[1, 2, 3, 4, 5, ...], alpha=[0.05])
    >>> curve.crossovers, curve.crossovers_simultaneous
    ([[(4, 11)]], [[(5, 11)]])
    """

    n_samples: int
    n_positives: int
    k: Integers
    hits: Integers = field(repr=False)
    alpha: Floats
    hits_needed: Floats = field(repr=False)
    hits_needed_simultaneous: Floats = field(repr=False)
    pointwise_level: Floats = field(repr=False)
    attained_level: Floats = field(repr=False)
    pointwise_crossing_probability: Floats = field(repr=False)

    @cached_property
    def expected(self) -> Floats:
        """Expected number of positives among k randomly selected items."""
        return np.asarray(self.k * (self.n_positives / self.n_samples))

    @cached_property
    def _log_pvalue(self) -> Floats:
        n, m = (np.full(self.k.size, of) for of in (self.n_samples, self.n_positives))
        return log_tail(self.hits, n, m, self.k)

    @cached_property
    def pvalue(self) -> Floats:
        """Probability of at least as many positives by chance, for each k."""
        return np.exp(self._log_pvalue)

    @cached_property
    def log10_pvalue(self) -> Floats:
        """Logarithm of the p-value to base 10."""
        return np.asarray(as_log10(self._log_pvalue))

    @property
    def recall(self) -> Floats:
        """Hits as a fraction of all positives; 0 without positives."""
        return np.asarray(self.hits / max(self.n_positives, 1))

    @property
    def precision(self) -> Floats:
        """Hits as a fraction of k."""
        return np.asarray(self.hits / self.k)

    @property
    def enrichment(self) -> Floats:
        """Hits relative to the number expected by chance; nan without positives."""
        if self.n_positives == 0:
            return np.full(self.k.size, np.nan)
        return np.asarray(self.hits / self.expected)

    @cached_property
    def crossovers(self) -> list[list[Run]]:
        """Runs of k with enough hits for the pointwise bound, for each alpha."""
        return [self._runs(needed) for needed in self.hits_needed]

    @cached_property
    def crossovers_simultaneous(self) -> list[list[Run]]:
        """Runs of k with enough hits for the simultaneous bound, for each alpha."""
        return [self._runs(needed) for needed in self.hits_needed_simultaneous]

    def _runs(self, needed: Floats) -> list[Run]:
        """First and last k of every run with at least the needed number of hits."""
        enough = np.concatenate([[False], self.hits >= needed, [False]])
        starts = np.flatnonzero(enough[1:] & ~enough[:-1])
        stops = np.flatnonzero(enough[:-1] & ~enough[1:])
        return list(zip(self.k[starts].tolist(), self.k[stops - 1].tolist(), strict=True))

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        columns: dict[str, Any] = {"k": self.k, "hits": self.hits, "expected": self.expected}
        columns["pvalue"] = self.pvalue
        for bound in ("hits_needed", "hits_needed_simultaneous"):
            for level, needed in zip(self.alpha.tolist(), getattr(self, bound), strict=True):
                columns[f"{bound}_{level:g}"] = needed
        return {name: values.tolist() for name, values in columns.items()}

    def _sentences(self) -> Iterable[str]:
        if self.n_positives in (0, self.n_samples):
            return [one_class_sentence(self.n_samples, self.n_positives)]
        levels = zip(
            self.alpha.tolist(),
            self.pointwise_level.tolist(),
            self.crossovers_simultaneous,
            self.crossovers,
            strict=True,
        )
        return [self._best(), *(self._at_level(*level) for level in levels), _CAUTION]

    def _best(self) -> str:
        """Return a sentence on the k with the smallest p-value."""
        at = int(np.argmin(self._log_pvalue))
        return (
            f"The p-value is smallest at k = {self.k[at]}, with {self.hits[at]} of "
            f"{self.n_positives} positives where {format_value(float(self.expected[at]))} are "
            f"expected: {format_pvalue(float(self.log10_pvalue[at]))} for this k alone, not "
            "adjusted for the choice among all k."
        )

    def _at_level(
        self, alpha: float, level: float, simultaneous: list[Run], pointwise: list[Run]
    ) -> str:
        """Return the sentences on one alpha."""
        percent = f"{100 * alpha:g} %" if alpha >= 1e-4 else f"the level {alpha:g}"
        if simultaneous:
            everywhere = (
                f"At {percent} over all k the list beats chance up to "
                f"k = {simultaneous[-1][1]} ({_listed(simultaneous)}; pointwise level "
                f"{format_value(level)}): any of these cut-offs may be chosen after looking at the "
                "data."
            )
        elif level == 0.0:
            everywhere = f"At {percent} over all k no ranking of this size can be significant."
        else:
            everywhere = (
                f"At {percent} over all k the list does not beat chance at any k "
                f"(pointwise level {format_value(level)})."
            )
        alone = _listed(pointwise) if pointwise else "no k"
        return f"{everywhere} A single k fixed in advance is significant at {alone}."


def top_k_significance_curve(
    y_true: ArrayLike | Ranking,
    y_score: ArrayLike | None = None,
    *,
    alpha: ArrayLike = (0.1, 0.05, 0.01),
    max_rank: float | None = None,
    pos_label: PosLabel = 1,
) -> TopKSignificanceCurve:
    r"""Compare the hits among the first k items with chance, for every k.

    The curve shows where a ranking stops beating chance, and at which k it may be cut,
    with a stated error rate.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or Ranking
        Binary labels, or a ranking, in which case `y_score` is omitted.
    y_score : array-like of shape (n_samples,), optional
        Scores, larger for items more likely to be positive. Required unless `y_true` is a
        ranking.
    alpha : float or array-like of shape (n_alpha,), default=(0.1, 0.05, 0.01)
        Significance levels, between 0 and 1.
    max_rank : int or float, optional
        Largest cut-off of interest: a number of items, or a fraction of them between 0 and 1,
        rounded up. Fewer cut-offs lower the simultaneous bounds. It must be chosen without looking
        at the labels. By default all items.
    pos_label : int, float, bool or str, default=1
        The label of the positives. Ignored if `y_true` is a ranking.

    Returns
    -------
    curve : TopKSignificanceCurve
        For every end of a block of equal scores the hits, the expected number, the p-value, and the
        numbers of hits needed pointwise and simultaneously; and the runs of k with enough hits.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If labels or scores are missing, not finite or of different lengths, if an alpha is not
        between 0 and 1, or if `max_rank` is out of its range or within the first block of equal
        scores.

    Warns
    -----
    UndefinedMetricWarning
        If there are no positives: no k is significant.

    See Also
    --------
    minimum_hypergeometric_test : One p-value over all k.
    recall_at_k_test : Test at one k.
    min_hits_at_k : The smallest significant number of hits at one k.
    TopKSignificanceDisplay : Plot of the curve.

    Notes
    -----
    By chance the number of positives among the first k items is hypergeometric
    [1]_. Items with equal scores have no order, so only the ends of blocks of equal scores are
    cut-offs; the null hypothesis is conditional on the ties.

    The pointwise bound :math:`c_\gamma(k)` is the smallest h with :math:`P(H_k \ge h) \le \gamma`
    at the level :math:`\gamma = \alpha`. It is valid for a k that was fixed before the data were
    seen. If many k are examined, far more than a fraction alpha of random rankings reach it at some
    k. The simultaneous bound is :math:`c_\gamma` with :math:`\gamma` the largest possible p-value
    for which

    .. math:: P\big(H_k \ge c_\gamma(k) \text{ for some } k \le k_\mathrm{max}\big) \le \alpha.

    The probability is computed exactly from the paths of H (relative errors were below 1e-12 in all
    comparisons), in at most as many steps as there are positives or negatives. The search for the
    largest level ends early if the probability is within a relative 1e-6 of alpha.

    A significant cumulative count at k means that the first k items contain more positives than
    expected by chance, not that the last of these items do.

    References
    ----------
    .. [1] Macskassy, S. A. (2005). Significance testing against the random model for scoring models
       on top k predictions. Working paper CeDER-05-09, Stern School of Business, New York
       University.

    Examples
    --------
    >>> from sklearn_rankinf import top_k_significance_curve
    >>> y_true = [1, 1, 0, 1, 1, 0, 1] + [0] * 13
    >>> y_score = list(range(20, 0, -1))
    >>> curve = top_k_significance_curve(y_true, y_score, alpha=[0.05])
    >>> curve.hits[:6], curve.hits_needed[0, :6]
    (array([1, 2, 2, 3, 4, 4]), array([nan, nan,  3.,  3.,  4.,  4.]))
    >>> print(curve.summary())
    The p-value is smallest at k = 7, with 5 of 5 positives where 1.75 are expected: 0.0014 for
    this k alone, not adjusted for the choice among all k.
    At 5 % over all k the list beats chance up to k = 11 (k = 5 to 11; pointwise level
    0.0298): any of these cut-offs may be chosen after looking at the data. A single k fixed in
    advance is significant at k = 4 to 11.
    Hits are cumulative: the first k items may beat chance although the last of them
    do not.
    """
    levels = np.atleast_1d(check_levels(alpha))
    if levels.ndim != 1 or not levels.size:
        raise ValueError(
            f"alpha must be a number or a list of at least one number; got shape {levels.shape}."
        )
    ranking = Sample.read(y_true, y_score, pos_label=pos_label).rankings[0]
    n, m = ranking.n_samples, ranking.n_positives
    if m == 0:
        warn_caller(no_positives("The number of hits", "0"), UndefinedMetricWarning)
    ends = ends_up_to(ranking, max_rank, "max_rank")
    bounds = HitBounds.of(n, m, ends)
    search = SimultaneousBounds(bounds)
    pointwise = [search.pointwise(math.log(level)) for level in levels.tolist()]
    found = [search.at(math.log(level)) for level in levels.tolist()]
    return TopKSignificanceCurve(
        k=ends,
        hits=np.cumsum(ranking.hits)[: ends.size],
        alpha=levels,
        hits_needed=bounds.needed([trial.last for trial in pointwise], ends),
        hits_needed_simultaneous=bounds.needed([trial.last for trial in found], ends),
        pointwise_level=np.exp([trial.log_pvalue for trial in found]),
        attained_level=np.exp([trial.log_crossing for trial in found]),
        pointwise_crossing_probability=np.exp([trial.log_crossing for trial in pointwise]),
        n_samples=n,
        n_positives=m,
    )


def _listed(runs: list[Run]) -> str:
    """The first few runs of k, in words."""
    shown = [
        str(first) if first == last else f"{first} to {last}" for first, last in runs[:_RUNS_LISTED]
    ]
    n_others = len(runs) - len(shown)
    others = f" and {n_others} more run{'s' if n_others > 1 else ''}" if n_others else ""
    return f"k = {', '.join(shown)}{others}"
