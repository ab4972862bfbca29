"""Checks of a report: problems with labels and scores that limit what its numbers mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.special import gammaln

from sklearn_rankinf._ranking import Ranking, Sample
from sklearn_rankinf._report.numbers import RankerReport, ReportCheck, is_worse
from sklearn_rankinf._results import counted, enumerated

DOCUMENTATION = "https://sklearn-rankinf.readthedocs.io/en/latest/"
"""Address of the documentation."""

# Fewer independent positives or negatives are reported.
_FEW = 10
# Positives are seldom more frequent than this, unless others were left out.
_ENRICHED = 0.2
# If at least this number of scores are all shared by items with equal labels, items repeat.
_N_REPEATED = 20
# Below these numbers the interval of average precision covered less often than its level.
_FEW_FOR_INTERVAL, _RARE_FOR_INTERVAL = 30, 0.005


@dataclass(frozen=True, eq=False)
class Facts:
    """What the checks read.

    There are no `labels` if a ranking was given. `few_labellings` is the warning of the tests if
    the clusters allow only few different labellings.
    """

    sample: Sample
    alpha: float
    pos_label: Any
    labels: tuple[Any, ...] = ()
    has_repeated_index: bool = False
    rankers: tuple[RankerReport, ...] = ()
    few_labellings: str | None = None

    @property
    def has_clusters(self) -> bool:
        return self.sample.design.clusters is not None

    @property
    def clusters(self) -> list[Any]:
        return self.sample.design.names.get("clusters", [])

    @property
    def mixed_clusters(self) -> list[Any]:
        """Names of the clusters whose items have different labels."""
        codes = self.sample.design.clusters
        if codes is None:
            return []
        share = np.bincount(codes, self.sample.positive) / np.bincount(codes)
        return [self.clusters[code] for code in np.flatnonzero((share > 0.0) & (share < 1.0))]


class Check(NamedTuple):
    """A check of the labels and all rankings together, or of each ranking.

    It finds a sentence in the facts, or None.
    """

    code: str
    find: Callable[..., str | None]
    remedy: str
    is_of_each: bool

    def apply(self, facts: Facts) -> Iterator[ReportCheck]:
        rankings = zip(facts.rankers, facts.sample.rankings, strict=True)
        cases: Any = [(one.name, one, ranking) for one, ranking in rankings]
        for name, *about in cases if self.is_of_each else [(None,)]:
            message = self.find(facts, *about)
            if message is not None:
                url = f"{DOCUMENTATION}report.html#{self.code}"
                yield ReportCheck(self.code, name, message, self.remedy, url)


CHECKS: list[Check] = []
"""All checks. Those that make the others irrelevant come first."""


def run_checks(facts: Facts) -> tuple[ReportCheck, ...]:
    """Return the findings of all checks in the order of `CHECKS`."""
    return tuple(found for check in CHECKS for found in check.apply(facts))


F = TypeVar("F", bound=Callable[..., str | None])


def of_all(remedy: str, is_of_each: bool = False) -> Callable[[F], F]:
    """List a check of the labels, or of all rankings; its code is the name of the function."""

    def listed(find: F) -> F:
        CHECKS.append(Check(find.__name__.replace("_", "-"), find, remedy, is_of_each))
        return find

    return listed


def of_each(remedy: str) -> Callable[[F], F]:
    """List a check of each ranking."""
    return of_all(remedy, is_of_each=True)


@of_all(
    "Check how the labels are coded and which one pos_label (--pos-label) selects; a test "
    "needs items of both classes."
)
def one_label(facts: Facts) -> str | None:
    if facts.sample.has_both:
        return None
    what, other = "positive", "negative"
    if facts.sample.n_positives == 0:
        what, other = other, what
    n = facts.sample.n_items
    return f"All {n} items are {what} and none is {other}: there is nothing to test."


@of_all(
    "Pass pos_label (--pos-label); if 1 is the class to be ranked first, pass y_true == 1 as "
    "the labels."
)
def labels_1_2(facts: Facts) -> str | None:
    if len(facts.labels) != 2 or isinstance(facts.pos_label, str) or facts.pos_label != 1:
        return None
    first, second = facts.labels
    if first != 1:
        return None
    return f"The labels are 1 and {second!r}, and 1 was used as the positive class."


@of_all("If the positives are the rare class, pass its label as pos_label (--pos-label).")
def positives_in_majority(facts: Facts) -> str | None:
    n, m = facts.sample.n_items, facts.sample.n_positives
    if not facts.sample.has_both or 2 * m <= n:
        return None
    return f"More than half of the items are positive ({m} of {n})."


@of_all(
    "Was it, as a case-control or a downsampled sample? If positives are rarer where the ranker "
    "will work, average precision and precision are lower there: metric_interval with prevalence "
    "estimates them. P-values need no correction."
)
def enriched_sample(facts: Facts) -> str | None:
    n, m = facts.sample.n_items, facts.sample.n_positives
    if not facts.sample.has_both or m <= _ENRICHED * n:
        return None
    return f"{100 * m / n:.3g} % of the items are positive: the sample may have been enriched."


@of_all(
    "Label more items: metric_power and min_positives (rankinf plan) compute the number that "
    "is needed."
)
def too_few_to_be_significant(facts: Facts) -> str | None:
    if not facts.sample.has_both or facts.has_clusters:
        return None
    n, m = facts.sample.n_items, facts.sample.n_positives
    log_labellings = float(gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1))
    if log_labellings * (1.0 + 1e-12) >= -math.log(facts.alpha):
        return None
    return (
        f"There are only {round(math.exp(log_labellings))} ways to place "
        f"{counted(m, 'positive')} among {n} items: even a perfect ranking has "
        f"p = {math.exp(-log_labellings):.2g}, which is above {facts.alpha:g}."
    )


@of_all(
    "The p-value is still correct, but the value of the metric is imprecise and small effects "
    "are missed: read the interval, and label more positives (min_positives or rankinf plan "
    "computes how many)."
)
def few_positives(facts: Facts) -> str | None:
    return _few_of_a_class(facts, 0, "positive")


@of_all("The value of the metric is imprecise: read the interval, and label more negatives.")
def few_negatives(facts: Facts) -> str | None:
    return _few_of_a_class(facts, 1, "negative")


@of_all(
    "Read the intervals and comparisons, which count clusters. If the clusters are passed as "
    "strata to metric_test, it tests another hypothesis: that labels are random within each "
    "cluster."
)
def mixed_clusters(facts: Facts) -> str | None:
    if not facts.mixed_clusters:
        return None
    return (
        f"Items of one cluster have different labels in {len(facts.mixed_clusters)} of "
        f"{counted(len(facts.clusters), 'cluster')}, such as {facts.mixed_clusters[0]!r}. "
        "P-values against chance are not given, because they permute the labels of whole clusters."
    )


@of_all("Pass the source of each item as clusters (--clusters).")
def clusters_not_given(facts: Facts) -> str | None:
    if facts.has_clusters or not facts.has_repeated_index:
        return None
    return (
        "The index of y_true has repeated entries: if it identifies patients, molecules or other "
        "sources of several items, these items are not independent."
    )


@of_each(
    "Check the scores: possible causes are a model that was not fitted, a wrong column, and "
    "rounding to 0."
)
def constant_score(facts: Facts, ranker: RankerReport, ranking: Ranking) -> str | None:
    if ranking.n_blocks != 1 or facts.sample.n_items == 1:
        return None
    return "All scores are equal, so the items have no order."


@of_each(
    "If they are predicted classes, pass decision_function(X) or predict_proba(X)[:, 1] "
    "instead of predict(X)."
)
def two_valued_score(facts: Facts, ranker: RankerReport, ranking: Ranking) -> str | None:
    if ranking.n_blocks != 2 or facts.sample.n_items < 10:
        return None
    first, second = ranking.tie_sizes.tolist()
    if min(first, second) == 1:
        return None
    return f"The scores have only two different values, for {first} and {second} items."


@of_each(
    "All numbers take ties into account. If the scores were rounded or truncated, pass the "
    "original ones."
)
def large_tie(facts: Facts, ranker: RankerReport, ranking: Ranking) -> str | None:
    largest, n = int(ranking.tie_sizes.max()), facts.sample.n_items
    if ranking.n_blocks <= 2 or 2 * largest <= n:
        return None
    return f"{largest} of {n} items have the same score, so most of the list has no order."


@of_each(
    "P-values at k are correct for these ties. For a whole number of hits, choose a k at which "
    "a block of equal scores ends, or break the ties by a rule that does not use the labels."
)
def ties_across_k(facts: Facts, ranker: RankerReport, ranking: Ranking) -> str | None:
    if ranking.n_blocks == 1:
        return None
    split = [at_k for at_k in ranker.at_k if at_k.tied_ranks]
    if not split:
        return None
    cuts = enumerated([str(at_k.k) for at_k in split])
    message = (
        f"A block of equal scores contains the cut-off k = {cuts}: the hits are the "
        "mean over random tie-breaking, and the hits needed are those of a ranking without ties."
    )
    for first, last in sorted({at_k.tied_ranks for at_k in split if at_k.tied_ranks}):
        own = [at_k for at_k in split if at_k.tied_ranks == (first, last)]
        if len(own) > 1:
            message += (
                f" k = {enumerated([str(at_k.k) for at_k in own])} lie in the same block, ranks "
                f"{first} to {last}, whose items the ranking does not order"
            )
            # Hits at each k are then one and the same number, times a constant.
            message += ": they have the same p." if first == 1 else "."
    return message


@of_each(
    "Larger scores must belong to items that are more likely to be positive: negate the "
    "scores if smaller scores do (--lower-is-better, --lower-score), and check pos_label "
    "(--pos-label)."
)
def worse_than_chance(facts: Facts, ranker: RankerReport, ranking: Ranking) -> str | None:
    if not (ranker.is_tested and is_worse(ranker.test, facts.alpha)):
        return None
    less = ranker.pvalue_less
    return f"The ranking is worse than chance (p = {less:.2g} for a value this low)."


@of_each(
    "Make sure that neither the labels nor features derived from them were used to train the model."
)
def perfect_ranking(facts: Facts, ranker: RankerReport, ranking: Ranking) -> str | None:
    if not facts.sample.has_both or facts.sample.n_positives < 2:
        return None
    hits, sizes = ranking.hits, ranking.tie_sizes
    positive = hits > 0
    # All positives are in the first blocks, and these blocks contain no negatives.
    n_first = int(np.argmin(positive)) if not positive.all() else positive.size
    if positive[n_first:].any() or not np.array_equal(hits[:n_first], sizes[:n_first]):
        return None
    return (
        "Every positive is above every negative, which is rare for a score that did not use the "
        "labels."
    )


@of_each(
    "Keep one item from each source, or pass the source of each item as clusters (--clusters)."
)
def repeated_items(facts: Facts, ranker: RankerReport, ranking: Ranking) -> str | None:
    if facts.has_clusters or ranking.n_blocks < _N_REPEATED:
        return None
    hits, sizes = ranking.hits, ranking.tie_sizes
    is_pure = np.all((hits == 0) | (hits == sizes))
    if not (is_pure and sizes.min() >= 2 and hits.any()):
        return None
    return (
        f"Each of the {sizes.size} different scores belongs to several items with the same "
        "label: the items seem to be copies or to come in clusters, but p-values and intervals "
        "treat them as independent."
    )


@of_each("The p-value is coarse: use clusters of equal sizes, or more clusters.")
def few_labellings(facts: Facts, ranker: RankerReport, ranking: Ranking) -> str | None:
    hint = facts.few_labellings
    return None if hint is None else f"{hint[0].upper()}{hint[1:]}"


@of_each(
    "Choose another k: if k is very small or close to the number of items, no result can be "
    "significant. min_hits_at_k computes the hits needed at each k."
)
def k_never_significant(facts: Facts, ranker: RankerReport, ranking: Ranking) -> str | None:
    if facts.has_clusters or not facts.sample.has_both:
        return None
    cuts = [str(at_k.k) for at_k in ranker.at_k if at_k.hits_needed is None]
    if not cuts:
        return None
    which = enumerated(cuts)
    return f"No number of hits at k = {which} could be significant at {facts.alpha:g}."


@of_each("Report that p is at most this value; increase n_resamples to resolve smaller ones.")
def pvalue_at_floor(facts: Facts, ranker: RankerReport, ranking: Ranking) -> str | None:
    result = ranker.test
    if not result.n_resamples or result.n_exceedances != 0:
        return None
    return (
        f"None of {result.n_resamples} random labellings reached the observed value: the p-value "
        f"is 1/{result.n_resamples + 1}, the smallest possible for this number of labellings."
    )


@of_each("Increase n_resamples before you draw a conclusion.")
def pvalue_uncertain(facts: Facts, ranker: RankerReport, ranking: Ranking) -> str | None:
    low, high = (float(limit) for limit in ranker.test.pvalue_interval())
    alpha = facts.alpha
    if not low <= alpha < high:
        return None
    return (
        f"The p-value is only known to lie between {low:.3g} and {high:.3g}, on both sides of "
        f"{alpha:g}."
    )


@of_each("Treat the interval as approximate, and label more positives.")
def interval_unreliable(facts: Facts, ranker: RankerReport, ranking: Ranking) -> str | None:
    n, m = facts.sample.n_items, facts.sample.n_positives
    if ranker.interval is None or not facts.sample.has_both:
        return None
    if ranker.interval.metric.has_influence and math.isnan(ranker.interval.standard_error):
        what = "cluster" if facts.has_clusters else "item"
        return (
            f"With a single {what} in a class the variation of the metric cannot be estimated: "
            "the interval contains almost all possible values."
        )
    is_rare = m <= min(_FEW_FOR_INTERVAL, _RARE_FOR_INTERVAL * n)
    if not (is_rare and ranker.test.metric.family == "average_precision"):
        return None
    return (
        f"There are {counted(m, 'positive')} among {n} items. "
        "With numbers like these, intervals of average precision miss the true value too often, "
        "above all if only a few positives score high."
    )


@of_all(
    "Test the best ranking with best_candidate_test, which accounts for the choice, or on "
    "labels that were not used for it."
)
def best_of_several(facts: Facts) -> str | None:
    n, alpha = len(facts.rankers), facts.alpha
    smallest = min(ranker.test.pvalue for ranker in facts.rankers)
    if n < 2 or not smallest <= alpha < n * smallest:
        return None
    return (
        f"The smallest of {n} p-values is {smallest:.2g}: multiplied by {n}, to account for the "
        f"choice among {n} rankings, it is no longer significant at {alpha:g}."
    )


@of_all("Leave one of them out: both have the same p-values.")
def identical_rankings(facts: Facts) -> str | None:
    named = zip(facts.sample.names, facts.sample.scores, strict=False)
    pairs = [
        f"{name} and {other}"
        for (name, scores), (other, others) in combinations(named, 2)
        if np.array_equal(scores, others)
    ]
    if not pairs:
        return None
    more = "; ..." if len(pairs) > 3 else ""
    return f"These rankings have the same scores: {'; '.join(pairs[:3])}{more}."


@of_all("Pass only predict_proba(X)[:, 1], the column of the positive class.")
def complementary_scores(facts: Facts) -> str | None:
    scores = [np.asarray(one, dtype=float) for one in facts.sample.scores]
    if len(scores) != 2 or not all(np.all((one >= 0) & (one <= 1)) for one in scores):
        return None
    first, second = scores
    if np.ptp(first) == 0.0 or np.abs(first + second - 1.0).max() > 1e-6:
        return None
    return (
        "The two scores add up to 1 for every item: they look like the two columns of "
        "predict_proba."
    )


def _few_of_a_class(facts: Facts, number: int, name: str) -> str | None:
    n, m = facts.sample.n_items, facts.sample.n_positives
    few = facts.sample.n_independent[number] if facts.has_clusters else (m, n - m)[number]
    if not facts.sample.has_both or few >= _FEW:
        return None
    if facts.has_clusters:
        return f"The {name}s come from only {counted(few, 'cluster')}."
    return f"There {'is' if few == 1 else 'are'} only {counted(few, name)}."
