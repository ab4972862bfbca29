"""The computation of a report: what is tested, estimated, compared, and left out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from sklearn_rankinf._estimation import (
    MetricIntervalResult,
    check_prevalence,
    choose_method,
    metric_comparison_test,
    metric_interval,
    metric_multiple_comparison_test,
    optimal_cutoff,
)
from sklearn_rankinf._metrics import Metric, RecallAtK, without_errors
from sklearn_rankinf._permutation import few_labellings
from sklearn_rankinf._ranking import (
    Design,
    PosLabel,
    Ranking,
    Sample,
    check_k,
    check_positive,
    class_names,
    holds_rankers,
    resolve_k,
)
from sklearn_rankinf._report.checks import Facts, run_checks
from sklearn_rankinf._report.findings import difference_of_two, differences_of_pairs
from sklearn_rankinf._report.numbers import HitsReport, RankerReport
from sklearn_rankinf._significance import (
    MetricTestResult,
    TopKSignificanceCurve,
    minimum_hypergeometric_test,
    significance_of,
    top_k_significance_curve,
)

_CLUSTERS_HINT = (
    "All items were treated as independent. If several items come from one source, such as "
    "images of one patient, pass clusters (--clusters): without them p-values and intervals are "
    "wrong."
)
# Above these sizes the bounds over all k, simulated intervals, and rank swaps take long.
_POSITIVES_FOR_BOUNDS, _SAMPLES_FOR_SIMULATION = 20_000, 20_000
_SWAPPED_ITEMS = 200_000_000


def swaps_take_long(n_samples: int, n_resamples: int) -> bool:
    """Whether random rank swaps of two rankings take too long for a report."""
    return n_samples * n_resamples > _SWAPPED_ITEMS


def comparison_method(metric: Metric, n_samples: int, n_resamples: int) -> str:
    """Return the method for comparing two rankers: rank swaps unless they take long."""
    is_long = swaps_take_long(n_samples, n_resamples)
    return "influence" if is_long and metric.has_influence else "auto"


def read_facts(
    y_true: Any, y_score: Any, pos_label: PosLabel, clusters: Any, alpha: float
) -> Facts:
    """Read labels and scores, and what the checks need of the labels."""
    columns = "rankers" if holds_rankers(y_score) else ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a check reports the label in doubt
        sample = Sample.read(
            y_true, y_score, pos_label=pos_label, columns=columns, clusters=clusters
        )
    if sample.counts is not None:
        return Facts(sample, alpha, pos_label)
    names = sample.names if columns else [getattr(y_score, "name", None) or "ranking"]
    return Facts(
        replace(sample, names=[_one_line(name) for name in names]),
        alpha,
        pos_label,
        tuple(class_names(y_true)),
        not getattr(getattr(y_true, "index", None), "is_unique", True),
    )


def _one_line(name: Any) -> str:
    """Return a name as printable text without line breaks."""
    text = " ".join(str(name).split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text) or "unnamed"


def _untested(result: MetricTestResult) -> MetricTestResult:
    """Return the result without its p-value and z-score, which need independent items."""
    names = "pvalue log10_pvalue pvalue_relative_error pvalue_low pvalue_high zscore"
    unknown: dict[str, Any] = dict.fromkeys(names.split(), np.nan)
    return replace(result, **unknown, pvalue_is_bound=False, method="none", ranking=None)


class Use(NamedTuple):
    """Where rankings will be used: the prevalence there, and the value and cost that are given."""

    prevalence: float | None
    value_and_cost: dict[str, float]

    @classmethod
    def read(cls, prevalence: Any, value: Any, cost: Any, clusters: Any) -> Use:
        """Check what was given."""
        if (value is None) != (cost is None):
            raise ValueError(
                f"value={value!r} and cost={cost!r}: pass both for the cut-off with the largest "
                "net benefit, or neither."
            )
        both = {"value": value, "cost": cost} if value is not None else {}
        numbers = {name: check_positive(number, name) for name, number in both.items()}
        if clusters is not None and (prevalence is not None or numbers):
            given = "prevalence" if prevalence is not None else "value and cost"
            raise ValueError(
                f"{given} cannot be combined with clusters, because their limits need independent "
                f"items: keep one item of each cluster, or leave out {given}."
            )
        return cls(check_prevalence(prevalence), numbers)


@dataclass(frozen=True, eq=False)
class Study:
    """The computation of a report from a sample and its options."""

    facts: Facts
    metric: Metric
    drawing: dict[str, Any]
    use: Use

    @property
    def sample(self) -> Sample:
        return self.facts.sample

    def findings(self, k: Any) -> dict[str, Any]:
        """Fields of the report."""
        sample, facts = self.sample, self.facts
        cuts, notes = self._cuts(k)
        notes += self._left_out()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            uses = [self._in_use(ranking) for ranking in sample.rankings]
        notes += dict.fromkeys(str(one.message) for one in caught)
        rankers = tuple(
            replace(self._of_ranker(index, cuts), **use) for index, use in enumerate(uses)
        )
        compared: dict[str, Any] = {}
        if len(rankers) > 1 and sample.has_both:
            if len(rankers) == 2 or self.metric.has_influence:
                compared = self._comparison(rankers)
            else:
                title = self.metric.title_in_text
                notes.append(
                    f"The rankings are not compared because {title} has no standard error."
                )
        few = None if facts.mixed_clusters else few_labellings(sample)
        facts = replace(facts, rankers=rankers, few_labellings=few)
        return {
            "metric": rankers[0].test.metric,
            "alpha": facts.alpha,
            "n_samples": sample.n_items,
            "n_positives": sample.n_positives,
            "n_clusters": len(facts.clusters) if facts.has_clusters else None,
            "rankers": rankers,
            "checks": run_checks(facts),
            "notes": tuple(notes),
            "_given_k": getattr(self.metric, "k", None),
            **compared,
        }

    def _of_ranker(self, index: int, cuts: Sequence[float]) -> RankerReport:
        name, ranking = self.sample.names[index], self.sample.rankings[index]
        curve = self._curve(ranking)
        return RankerReport(
            name,
            self._test(self.metric, index),
            self._interval(index),
            tuple(self._hits(index, cut) for cut in cuts),
            curve,
            None if curve is None else minimum_hypergeometric_test(ranking),
        )

    def _in_use(self, ranking: Ranking) -> dict[str, Any]:
        """The results for the use of a ranking that are asked for, by their fields."""
        found: dict[str, Any] = {}
        options: dict[str, Any] = {"confidence_level": 1.0 - self.facts.alpha}
        prevalence, numbers = self.use
        if prevalence is not None and self.sample.has_both:
            found["in_population"] = metric_interval(
                ranking, metric=self.metric, prevalence=prevalence, **options
            )
        if numbers and not self._has_no_limits:
            options["random_state"] = self.drawing["random_state"]
            found["cutoff"] = optimal_cutoff(ranking, **numbers, **options)
        return found

    @property
    def _has_no_limits(self) -> bool:
        """Whether a class has too few items for limits of a curve."""
        m = self.sample.n_positives
        return min(m, self.sample.n_items - m) < 2

    def _cuts(self, k: Any) -> tuple[list[float], list[str]]:
        """Return the cut-offs for different numbers of items, and a note on those too large."""
        n = self.sample.n_items
        cuts: dict[int, float] = {}
        dropped = []
        if not isinstance(k, Real | Iterable):
            raise TypeError(f"k must be a number or a list of numbers; got {k!r}.")
        given: list[Any] = [k] if isinstance(k, Real) else list(k)
        for cut in given:
            check_k(cut)
            if cut > n:
                dropped.append(str(cut))
            else:
                cuts.setdefault(resolve_k(cut, n), cut)
        note = f"k = {', '.join(dropped)} was left out: there are only {n} items."
        return list(cuts.values()), [note] if dropped else []

    def _left_out(self) -> list[str]:
        """Return notes on the results that are not computed."""
        notes = []
        m = self.sample.n_positives
        if self.facts.mixed_clusters:
            notes.append(
                "P-values against chance, bounds over all k and the hits needed are left out "
                "because items of one cluster have different labels. Chance is the mean if "
                "the items are in random order."
            )
        elif self.facts.has_clusters:
            notes.append(
                "Bounds over all k, the hits needed and the minimum hypergeometric test are left "
                "out because they need independent items, and clusters were given."
            )
        elif m > _POSITIVES_FOR_BOUNDS:
            notes.append(
                "Bounds over all k and the minimum hypergeometric test are left out because they "
                f"take long with {m} positives: call top_k_significance_curve and "
                "minimum_hypergeometric_test."
            )
        if not self._has_interval:
            notes.append(f"{self.metric.title} has no interval: {without_errors(self.metric)}.")
        elif self._is_slow_interval:
            notes.append(
                f"The interval of {self.metric.title_in_text} is left out because its "
                "simulation takes long: call metric_interval."
            )
        if self.use.value_and_cost and self._has_no_limits:
            notes.append(
                "The cut-off with the largest net benefit is left out because its limits need at "
                "least 2 items of each class."
            )
        if not self.facts.has_clusters:
            notes.append(_CLUSTERS_HINT)
        return notes

    @property
    def _has_interval(self) -> bool:
        metric = self.metric
        is_independent = not self.facts.has_clusters
        return metric.has_influence or (is_independent and not metric.of_one_item)

    @property
    def _is_slow_interval(self) -> bool:
        way = choose_method(self.metric, "auto", self.facts.has_clusters)
        return way == "binormal" and self.sample.n_items > _SAMPLES_FOR_SIMULATION

    def _test(self, metric: Metric, index: int) -> MetricTestResult:
        """Test one ranking, without a p-value if items of one cluster have different labels."""
        sample = self.sample.single(index)
        if self.facts.mixed_clusters:
            sample = replace(sample, design=Design(sample.n_items))
        result = significance_of(metric, sample, method="auto", n_jobs=None, **self.drawing)
        return _untested(result) if self.facts.mixed_clusters else result

    @property
    def _by_cluster(self) -> dict[str, Any]:
        """Arguments of tests of items in clusters."""
        return {"pos_label": True, "clusters": self.sample.design.clusters}

    def _interval(self, index: int) -> MetricIntervalResult | None:
        """Return the interval of one ranking, or None if there is none or it takes long."""
        if not self._has_interval or self._is_slow_interval:
            return None
        return self._interval_of(index, self.metric)

    def _interval_of(self, index: int, metric: Metric) -> MetricIntervalResult | None:
        if not self.sample.has_both:
            return None
        options: dict[str, Any] = {"metric": metric, "confidence_level": 1.0 - self.facts.alpha}
        options["random_state"] = self.drawing["random_state"]
        data: list[Any] = [self.sample.rankings[index]]
        if self.facts.has_clusters:
            data = [self.sample.positive, self.sample.scores[index]]
            options |= self._by_cluster
        found: MetricIntervalResult = metric_interval(*data, **options)
        return found

    def _curve(self, ranking: Ranking) -> TopKSignificanceCurve | None:
        if self.facts.has_clusters or ranking.n_positives > _POSITIVES_FOR_BOUNDS:
            return None
        return top_k_significance_curve(ranking, alpha=self.facts.alpha)

    def _hits(self, index: int, cut: float) -> HitsReport:
        metric, ranking = RecallAtK(cut), self.sample.rankings[index]
        interval = self._interval_of(index, metric)
        return HitsReport.of(ranking, self._test(metric, index), cut, interval, self.facts.alpha)

    def _comparison(self, rankers: Sequence[RankerReport]) -> dict[str, Any]:
        best = int(np.argmax([ranker.test.statistic for ranker in rankers]))
        names, alpha = self.sample.names, self.facts.alpha
        if len(rankers) == 2:
            other = 1 - best
            n_resamples = self.drawing["n_resamples"]
            method = comparison_method(self.metric, self.sample.n_items, n_resamples)
            pair = metric_comparison_test(
                self.sample.positive,
                {self.sample.names[one]: self.sample.scores[one] for one in (other, best)},
                metric=self.metric,
                method=method,
                **self._by_cluster,
                **self.drawing,
            )
            pair = replace(pair, _level=1.0 - alpha)
            way = "t test of influence values" if method == "influence" else "rank swaps"
            return {
                "comparison": pair,
                "differences": (difference_of_two((names[other], names[best]), pair, alpha),),
                "comparison_method": f"metric_comparison_test, {way}, two-sided; MOVER interval.",
            }
        found = metric_multiple_comparison_test(
            self.sample.positive,
            dict(enumerate(self.sample.scores)),  # one array would round large whole numbers
            metric=self.metric,
            reference="best",
            confidence_level=1.0 - alpha,
            random_state=self.drawing["random_state"],
            **self._by_cluster,
        )
        found = replace(found, names=list(names), reference=names[best])
        return {
            "comparison": found,
            "differences": differences_of_pairs(found),
            "comparison_method": (
                "metric_multiple_comparison_test, t tests of influence values. P-values "
                "(single-step maxT) and intervals are adjusted for all pairs and agree with each "
                "other. Rankings that may be best: Hsu's one-sided comparisons of each ranking "
                "with all others, which can exclude a ranking whose interval includes 0."
            ),
        }
