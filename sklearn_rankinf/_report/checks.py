"""Checks of a report: problems with labels and scores that limit what its numbers mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import gammaln

from sklearn_rankinf._metrics.metrics import AveragePrecision
from sklearn_rankinf._ranking import Ranking
from sklearn_rankinf._report.numbers import RankerReport
from sklearn_rankinf._results import counted
from sklearn_rankinf._significance.results import MetricTestResult

DOCUMENTATION = "https://sklearn-rankinf.readthedocs.io/en/latest/"
"""Address of the documentation."""

# Fewer independent positives or negatives are reported.
_FEW = 10
# If at least this number of scores are all shared by samples with equal labels, samples repeat.
_N_REPEATED = 20
# Below these numbers the interval of average precision covered less often than its level.
_FEW_FOR_INTERVAL, _RARE_FOR_INTERVAL = 30, 0.005


@dataclass(frozen=True)
class ReportCheck:
    """A finding of a check of a report.

    Attributes
    ----------
    code : str
        Name of the check, which does not change between versions.
    ranker : str or None
        The ranking concerned; None if the finding concerns the labels or all rankings together.
    message : str
        The finding.
    remedy : str
        The suggested remedy.
    url : str
        Page of the documentation that describes the check.
    """

    code: str
    ranker: str | None
    message: str
    remedy: str
    url: str


@dataclass(frozen=True, eq=False)
class LabelFacts:
    """Input of the checks of the labels.

    Attributes
    ----------
    n_samples, n_positives : int
        Numbers of samples and of positives.
    alpha : float
        Level of significance.
    pos_label : object
        The label of the positives; None if a ranking was given.
    labels : list
        The distinct labels; empty if a ranking was given.
    n_clusters, n_positive_clusters, n_negative_clusters : int or None
        Number of clusters, of those with positives and of those with negatives; None without
        clusters.
    mixed_clusters : tuple
        Names of the clusters whose samples have different labels.
    has_repeated_index : bool
        Whether the labels have an index with repeated entries.
    """

    n_samples: int
    n_positives: int
    alpha: float
    pos_label: Any = None
    labels: tuple[Any, ...] = ()
    n_clusters: int | None = None
    mixed_clusters: tuple[Any, ...] = ()
    n_positive_clusters: int | None = None
    n_negative_clusters: int | None = None
    has_repeated_index: bool = False

    @property
    def n_negatives(self) -> int:
        """Number of negatives."""
        return self.n_samples - self.n_positives

    @property
    def has_both(self) -> bool:
        """Whether there are positives and negatives."""
        return 0 < self.n_positives < self.n_samples

    @property
    def has_clusters(self) -> bool:
        """Whether clusters were given."""
        return self.n_positive_clusters is not None


@dataclass(frozen=True, eq=False)
class RankerFacts:
    """Input of the checks of one ranking.

    Attributes
    ----------
    labels : LabelFacts
        Facts about the labels.
    ranking : Ranking
        The ranking.
    result : MetricTestResult
        The test of the ranking.
    numbers : RankerReport
        The numbers of the ranking.
    few_labellings : str or None
        Warning of the test if the clusters allow only few different labellings.
    """

    labels: LabelFacts
    ranking: Ranking
    result: MetricTestResult
    numbers: RankerReport
    few_labellings: str | None = None

    @property
    def is_constant(self) -> bool:
        """Whether all scores are equal."""
        return self.ranking.n_blocks == 1


@dataclass(frozen=True, eq=False)
class AllFacts:
    """Input of the checks of several rankings.

    Attributes
    ----------
    labels : LabelFacts
        Facts about the labels.
    rankers : tuple of RankerFacts
        Facts about each ranking.
    scores : tuple of ndarray
        Scores of the rankings; empty if a ranking was given.
    """

    labels: LabelFacts
    rankers: tuple[RankerFacts, ...]
    scores: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Check:
    """A check of labels or scores.

    Attributes
    ----------
    code : str
        Name of the check.
    about : {"labels", "ranker", "rankers"}
        Whether the check concerns the labels, each ranking, or all rankings together.
    find : callable
        Function of the facts that returns the finding as a sentence, or None.
    remedy : str
        The suggested remedy.
    """

    code: str
    about: Literal["labels", "ranker", "rankers"]
    find: Callable[[Any], str | None]
    remedy: str

    @property
    def url(self) -> str:
        """Page of the documentation that describes the check."""
        return f"{DOCUMENTATION}report.html#{self.code}"

    def apply(self, facts: Any, ranker: str | None = None) -> list[ReportCheck]:
        """Return the finding as a list with one entry, or an empty list."""
        message = self.find(facts)
        if message is None:
            return []
        return [ReportCheck(self.code, ranker, message, self.remedy, self.url)]


def run_checks(facts: AllFacts) -> tuple[ReportCheck, ...]:
    """Return the findings of all checks in the order of `CHECKS`."""
    found: list[ReportCheck] = []
    for check in CHECKS:
        if check.about == "labels":
            found += check.apply(facts.labels)
        elif check.about == "rankers":
            found += check.apply(facts)
        else:
            for ranker in facts.rankers:
                found += check.apply(ranker, ranker.numbers.name)
    return tuple(found)


# Labels.


def _one_label(facts: LabelFacts) -> str | None:
    if facts.has_both:
        return None
    what, other = "positive", "negative"
    if facts.n_positives == 0:
        what, other = other, what
    return (
        f"All {facts.n_samples} samples are {what} and none is {other}: there is nothing to test."
    )


def _labels_1_2(facts: LabelFacts) -> str | None:
    if len(facts.labels) != 2 or isinstance(facts.pos_label, str) or facts.pos_label != 1:
        return None
    first, second = facts.labels
    if first != 1:
        return None
    return f"The labels are 1 and {second!r}, and 1 was used as the positive class."


def _positives_in_majority(facts: LabelFacts) -> str | None:
    if not facts.has_both or 2 * facts.n_positives <= facts.n_samples:
        return None
    return f"More than half of the samples are positive ({facts.n_positives} of {facts.n_samples})."


def _few_of_a_class(n_items: int, n_clusters: int | None, name: str) -> str | None:
    few = n_items if n_clusters is None else n_clusters
    if not 0 < few < _FEW:
        return None
    if n_clusters is not None:
        return f"The {name} come from only {counted(n_clusters, 'cluster')}."
    return f"There {'is' if few == 1 else 'are'} only {counted(n_items, name.removesuffix('s'))}."


def _few_positives(facts: LabelFacts) -> str | None:
    if not facts.has_both:
        return None
    return _few_of_a_class(facts.n_positives, facts.n_positive_clusters, "positives")


def _few_negatives(facts: LabelFacts) -> str | None:
    if not facts.has_both:
        return None
    return _few_of_a_class(facts.n_negatives, facts.n_negative_clusters, "negatives")


def _too_small(facts: LabelFacts) -> str | None:
    if not facts.has_both or facts.has_clusters:
        return None
    n, m = facts.n_samples, facts.n_positives
    log_labellings = float(gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1))
    if log_labellings * (1.0 + 1e-12) >= -math.log(facts.alpha):
        return None
    return (
        f"There are only {round(math.exp(log_labellings))} ways to place "
        f"{counted(m, 'positive')} among {n} samples: even a perfect ranking has "
        f"p = {math.exp(-log_labellings):.2g}, which is above {facts.alpha:g}."
    )


def _mixed_clusters(facts: LabelFacts) -> str | None:
    if not facts.mixed_clusters:
        return None
    return (
        f"Samples of one cluster have different labels in {len(facts.mixed_clusters)} of "
        f"{counted(facts.n_clusters or 0, 'cluster')}, such as {facts.mixed_clusters[0]!r}. "
        "P-values against chance are not given, because they permute the labels of whole clusters."
    )


def _index_repeats(facts: LabelFacts) -> str | None:
    if facts.has_clusters or not facts.has_repeated_index:
        return None
    return (
        "The index of y_true has repeated entries: if it identifies patients, molecules or other "
        "sources of several samples, these samples are not independent."
    )


# One ranking.


def _constant_score(facts: RankerFacts) -> str | None:
    if not facts.is_constant or facts.labels.n_samples == 1:
        return None
    return "All scores are equal, so the samples have no order."


def _two_valued_score(facts: RankerFacts) -> str | None:
    if facts.ranking.n_blocks != 2 or facts.labels.n_samples < 10:
        return None
    first, second = facts.ranking.tie_sizes.tolist()
    if min(first, second) == 1:
        return None
    return f"The scores have only two different values, for {first} and {second} samples."


def _large_tie(facts: RankerFacts) -> str | None:
    largest, n = int(facts.ranking.tie_sizes.max()), facts.labels.n_samples
    if facts.ranking.n_blocks <= 2 or 2 * largest <= n:
        return None
    return f"{largest} of {n} samples have the same score, so most of the list has no order."


def _ties_across_k(facts: RankerFacts) -> str | None:
    if facts.is_constant:
        return None
    split = [at_k for at_k in facts.numbers.at_k if at_k.splits_ties]
    if not split:
        return None
    cuts = _enumerated([str(at_k.k) for at_k in split])
    message = (
        f"A block of equal scores contains the cut-off k = {cuts}: the hits are the "
        "mean over random tie-breaking, and the hits needed are those of a ranking without ties."
    )
    for first, last in sorted({at_k.tied_ranks for at_k in split if at_k.tied_ranks is not None}):
        own = [at_k for at_k in split if at_k.tied_ranks == (first, last)]
        if len(own) > 1:
            message += (
                f" k = {_enumerated([str(at_k.k) for at_k in own])} lie in the same block, ranks "
                f"{first} to {last}, whose samples the ranking does not order"
            )
            # Hits at each k are then one and the same number, times a constant.
            message += ": they have the same p." if first == 1 else "."
    return message


def _worse_than_chance(facts: RankerFacts) -> str | None:
    numbers = facts.numbers
    if not (numbers.zscore < 0.0 and numbers.pvalue_less <= facts.labels.alpha):
        return None
    return (
        "The ranking is worse than a random order (p = "
        f"{numbers.pvalue_less:.2g} for a value this low)."
    )


def _perfect_ranking(facts: RankerFacts) -> str | None:
    if not facts.labels.has_both or facts.labels.n_positives < 2:
        return None
    hits, sizes = facts.ranking.hits, facts.ranking.tie_sizes
    positive = hits > 0
    # All positives are in the first blocks, and these blocks contain no negatives.
    n_first = int(np.argmin(positive)) if not positive.all() else positive.size
    if positive[n_first:].any() or not np.array_equal(hits[:n_first], sizes[:n_first]):
        return None
    return (
        "Every positive is above every negative, which is rare for a score that did not use the "
        "labels."
    )


def _repeated_samples(facts: RankerFacts) -> str | None:
    if facts.labels.has_clusters or facts.ranking.n_blocks < _N_REPEATED:
        return None
    hits, sizes = facts.ranking.hits, facts.ranking.tie_sizes
    is_pure = np.all((hits == 0) | (hits == sizes))
    if not (is_pure and sizes.min() >= 2 and hits.any()):
        return None
    return (
        f"Each of the {sizes.size} different scores belongs to several samples with the same "
        "label: the samples seem to be copies or to come in clusters, but p-values and intervals "
        "treat them as independent."
    )


def _k_never_significant(facts: RankerFacts) -> str | None:
    if facts.labels.has_clusters or not facts.labels.has_both:
        return None
    cuts = [str(at_k.k) for at_k in facts.numbers.at_k if at_k.hits_needed is None]
    if not cuts:
        return None
    which = _enumerated(cuts)
    return f"No number of hits at k = {which} could be significant at {facts.labels.alpha:g}."


def _pvalue_at_floor(facts: RankerFacts) -> str | None:
    result = facts.result
    if not result.n_resamples or result.n_exceedances != 0:
        return None
    return (
        f"None of {result.n_resamples} random labellings reached the observed value: the p-value "
        f"is 1/{result.n_resamples + 1}, the smallest possible for this number of labellings."
    )


def _pvalue_uncertain(facts: RankerFacts) -> str | None:
    low, high = (float(limit) for limit in facts.result.pvalue_interval())
    alpha = facts.labels.alpha
    if not low <= alpha < high:
        return None
    return (
        f"The p-value is only known to lie between {low:.3g} and {high:.3g}, on both sides of "
        f"{alpha:g}."
    )


def _few_labellings(facts: RankerFacts) -> str | None:
    hint = facts.few_labellings
    return None if hint is None else f"{hint[0].upper()}{hint[1:]}"


def _interval_unreliable(facts: RankerFacts) -> str | None:
    labels = facts.labels
    if facts.numbers.low is None or not labels.has_both:
        return None
    if facts.numbers.standard_error is None or math.isnan(facts.numbers.standard_error):
        what = "cluster" if labels.has_clusters else "sample"
        return (
            f"With a single {what} in a class the variation of the metric cannot be estimated: "
            "the interval contains almost all possible values."
        )
    is_few = labels.n_positives <= _FEW_FOR_INTERVAL
    is_rare = labels.n_positives <= _RARE_FOR_INTERVAL * labels.n_samples
    if not (is_few and is_rare and isinstance(facts.result.metric, AveragePrecision)):
        return None
    return (
        f"There are {counted(labels.n_positives, 'positive')} among {labels.n_samples} samples. "
        "With numbers like these, 95 % intervals of average precision covered the true value in 91 "
        "to 93 % of simulations if positives score high, and in only 71 % if only a few of them do."
    )


# Several rankings.


def _best_of_several(facts: AllFacts) -> str | None:
    n, alpha = len(facts.rankers), facts.labels.alpha
    smallest = min(ranker.numbers.pvalue for ranker in facts.rankers)
    if n < 2 or not smallest <= alpha < n * smallest:
        return None
    return (
        f"The smallest of {n} p-values is {smallest:.2g}: multiplied by {n}, to account for the "
        f"choice among {n} rankings, it is no longer significant at {alpha:g}."
    )


def _identical_rankings(facts: AllFacts) -> str | None:
    seen: list[tuple[str, Any]] = []
    pairs = []
    for ranker, scores in zip(facts.rankers, facts.scores, strict=False):
        name = ranker.numbers.name
        for other, previous in seen:
            if np.array_equal(scores, previous):
                pairs.append(f"{other} and {name}")
        seen.append((name, scores))
    if not pairs:
        return None
    more = "; ..." if len(pairs) > 3 else ""
    return f"These rankings have the same scores: {'; '.join(pairs[:3])}{more}."


def _complementary_scores(facts: AllFacts) -> str | None:
    if len(facts.scores) != 2 or not all(np.all((s >= 0) & (s <= 1)) for s in facts.scores):
        return None
    first, second = (np.asarray(scores, dtype=float) for scores in facts.scores)
    if np.ptp(first) == 0.0 or np.abs(first + second - 1.0).max() > 1e-6:
        return None
    return (
        "The two scores add up to 1 for every sample: they look like the two columns of "
        "predict_proba."
    )


CHECKS = (
    Check(
        "one-label",
        "labels",
        _one_label,
        "Check how the labels are coded and which one pos_label (--pos-label) selects; a test "
        "needs samples of both classes.",
    ),
    Check(
        "labels-1-2",
        "labels",
        _labels_1_2,
        "Pass pos_label (--pos-label); if 1 is the class to be ranked first, pass y_true == 1 as "
        "the labels.",
    ),
    Check(
        "positives-in-majority",
        "labels",
        _positives_in_majority,
        "If the targets are the rare class, pass its label as pos_label (--pos-label).",
    ),
    Check(
        "too-few-to-be-significant",
        "labels",
        _too_small,
        "Label more samples: metric_power and min_positives (rankinf plan) compute the number that "
        "is needed.",
    ),
    Check(
        "few-positives",
        "labels",
        _few_positives,
        "The p-value is still correct, but the value of the metric is imprecise and small effects "
        "are missed: read the interval, and label more positives (min_positives or rankinf plan "
        "computes how many).",
    ),
    Check(
        "few-negatives",
        "labels",
        _few_negatives,
        "The value of the metric is imprecise: read the interval, and label more negatives.",
    ),
    Check(
        "mixed-clusters",
        "labels",
        _mixed_clusters,
        "Read the intervals and comparisons, which count clusters. If the clusters are passed as "
        "strata to metric_test, it tests another hypothesis: that labels are random within each "
        "cluster.",
    ),
    Check(
        "clusters-not-given",
        "labels",
        _index_repeats,
        "Pass the source of each sample as clusters (--cluster).",
    ),
    Check(
        "constant-score",
        "ranker",
        _constant_score,
        "Check the scores: possible causes are a model that was not fitted, a wrong column, and "
        "rounding to 0.",
    ),
    Check(
        "two-valued-score",
        "ranker",
        _two_valued_score,
        "If they are predicted classes, pass decision_function(X) or predict_proba(X)[:, 1] "
        "instead of predict(X).",
    ),
    Check(
        "large-tie",
        "ranker",
        _large_tie,
        "All numbers take ties into account. If the scores were rounded or truncated, pass the "
        "original ones.",
    ),
    Check(
        "ties-across-k",
        "ranker",
        _ties_across_k,
        "P-values at k are correct for these ties. For a whole number of hits, choose a k at which "
        "a block of equal scores ends, or break the ties by a rule that does not use the labels.",
    ),
    Check(
        "worse-than-chance",
        "ranker",
        _worse_than_chance,
        "Larger scores must belong to samples that are more likely to be positive: negate the "
        "scores if smaller scores do (--lower-is-better, --lower-score), and check pos_label "
        "(--pos-label).",
    ),
    Check(
        "perfect-ranking",
        "ranker",
        _perfect_ranking,
        "Make sure that neither the labels nor features derived from them were used to train the "
        "model.",
    ),
    Check(
        "repeated-samples",
        "ranker",
        _repeated_samples,
        "Keep one sample from each source, or pass the source of each sample as clusters "
        "(--cluster).",
    ),
    Check(
        "few-labellings",
        "ranker",
        _few_labellings,
        "The p-value is coarse: use clusters of equal sizes, or more clusters.",
    ),
    Check(
        "k-never-significant",
        "ranker",
        _k_never_significant,
        "Choose another k: if k is very small or close to the number of samples, no result can be "
        "significant. min_hits_at_k computes the hits needed at each k.",
    ),
    Check(
        "pvalue-at-floor",
        "ranker",
        _pvalue_at_floor,
        "Report that p is at most this value; increase n_resamples to resolve smaller ones.",
    ),
    Check(
        "pvalue-uncertain",
        "ranker",
        _pvalue_uncertain,
        "Increase n_resamples before you draw a conclusion.",
    ),
    Check(
        "interval-unreliable",
        "ranker",
        _interval_unreliable,
        "Treat the interval as approximate, and label more positives.",
    ),
    Check(
        "best-of-several",
        "rankers",
        _best_of_several,
        "Test the best ranking with best_candidate_test, which accounts for the choice, or on "
        "labels that were not used for it.",
    ),
    Check(
        "identical-rankings",
        "rankers",
        _identical_rankings,
        "Leave one of them out: both have the same p-values.",
    ),
    Check(
        "complementary-scores",
        "rankers",
        _complementary_scores,
        "Pass only predict_proba(X)[:, 1], the column of the positive class.",
    ),
)
"""All checks. Those that make the others irrelevant come first."""


def _enumerated(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
