"""Simulated data sets, and how often intervals cover and tests reject in them.

Scores of negatives are standard normal. Those of positives are normal or of Student's t
distribution, and shifted; or half of them are at chance; or scores are cut into five levels. Where
the classes are sampled apart, they have other distributions. Values in the population come from
quadrature, and expectations of samples from simulation, with separate formulas. Intervals and
p-values are those of the package: of its functions behind ``metric_interval`` and
``metric_comparison_test``, which spare the reading of labels and scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from scipy.special import ndtr

from sklearn_rankinf import Ranking
from sklearn_rankinf._estimation.comparison import _compare
from sklearn_rankinf._estimation.comparison_methods import Difference, pvalue_of_swaps
from sklearn_rankinf._estimation.estimates import Estimate, interval_methods, mean_interval
from sklearn_rankinf._estimation.limits import t_quantile, union_limits
from sklearn_rankinf._estimation.prevalence import PrecisionAtPositives, top_fraction
from sklearn_rankinf._permutation.draws import Draws
from sklearn_rankinf._permutation.swaps import SignFlipSampler
from sklearn_rankinf._ranking import Sample

LEVEL = 0.95
SEED = np.random.SeedSequence(0)
# Borders of five levels of scores.
BORDERS = np.array([-1.2, -0.2, 0.8, 1.8])
# Mid-points of equal parts of the recall axis.
SHARES = (np.arange(200_000) + 0.5) / 200_000


# Populations.


@dataclass(frozen=True)
class Population:
    """How positives score: a mixture of equal parts, each shifted by its own amount."""

    name: str
    shifts: tuple[float, ...]
    df: float = np.inf
    has_levels: bool = False

    def above(self, x):
        """Share of the positives that score x or more."""
        return np.mean([stats.t.sf(x - shift, self.df) for shift in self.shifts], axis=0)

    def noise(self, rng, size):
        """Scores of positives without their shifts."""
        return rng.standard_normal(size) if np.isinf(self.df) else rng.standard_t(self.df, size)

    def moved(self, rng, size):
        """Shifts of positives, each of a random part."""
        return np.asarray(self.shifts)[rng.integers(len(self.shifts), size=size)]

    def scores(self, rng, size):
        """Scores of positives before they are cut into levels."""
        return self.noise(rng, size) + self.moved(rng, size)

    def shares_of_levels(self):
        """Shares of the positives, and of the negatives, at each level, the best first."""
        borders = BORDERS[::-1]
        above = self.above(borders), ndtr(-borders)
        return tuple(np.diff(shares, prepend=0.0, append=1.0) for shares in above)


NORMAL = tuple(Population(f"d = {d:g}", (d,)) for d in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0))
HEAVY = tuple(Population(f"t + {d:g}", (d,), df=3.0) for d in (1.0, 2.5))
MIX = Population("mix", (0.0, 2.0))
LEVELS = Population("levels", (1.5,), has_levels=True)
CONTINUOUS = (*NORMAL, *HEAVY, MIX)
POPULATIONS = (*CONTINUOUS, LEVELS)
# Heavier tails: no mean; and a strong ranker that leaves a few positives far behind.
CAUCHY = Population("Cauchy + 1", (1.0,), df=1.0)
STRAGGLERS = Population("t(2) + 5", (5.0,), df=2.0)
BY_NAME = {population.name: population for population in POPULATIONS}


@lru_cache
def quantiles(df):
    """Of the noise of positives, at the mid-points of the recall axis, falling."""
    return stats.t.isf(SHARES, df)


@lru_cache
def average_precision_in(population, prevalence, threshold=-np.inf):
    """Mean precision over the recall axis, down to a threshold."""
    if population.has_levels:
        positives, negatives = population.shares_of_levels()
        hits = prevalence * positives.cumsum()
        return positives @ (hits / (hits + (1.0 - prevalence) * negatives.cumsum()))
    parts = []
    for shift in population.shifts:
        x = shift + quantiles(population.df)
        hits = prevalence * population.above(x)
        parts.append(np.mean(hits / (hits + (1.0 - prevalence) * ndtr(-x)) * (x >= threshold)))
    return np.mean(parts)


def roc_auc_in(population):
    """Probability that a positive scores more than a negative, ties counting half."""
    if population.has_levels:
        positives, negatives = population.shares_of_levels()
        return positives @ (1.0 - negatives.cumsum() + negatives / 2.0)
    x = quantiles(population.df)
    return np.mean([ndtr(shift + x).mean() for shift in population.shifts])


def threshold_in(population, prevalence, share):
    """Score that this share of all items reaches."""
    return brentq(
        lambda x: prevalence * population.above(x) + (1.0 - prevalence) * ndtr(-x) - share, -50, 50
    )


def recall_in(population, prevalence, share):
    """Share of the positives among the best items."""
    return float(population.above(threshold_in(population, prevalence, share)))


def average_precision_at_k_in(population, n_samples, n_positives, k):
    """Average precision of the best k of n items, divided by that of a perfect ranking."""
    prevalence = n_positives / n_samples
    threshold = threshold_in(population, prevalence, k / n_samples)
    area = average_precision_in(population, prevalence, threshold)
    return area * n_positives / min(n_positives, k)


def with_average_precision(value, prevalence, df):
    """The shifted t distribution of this average precision."""

    def excess(shift):
        return average_precision_in(Population("", (shift,), df), prevalence) - value

    return Population("other shape", (brentq(excess, -1.0, 8.0, xtol=1e-4),), df)


# Populations whose classes are sampled apart.


@dataclass(frozen=True)
class Classes:
    """Scores of both classes; those above the cap are recorded as the cap, or scores as levels."""

    name: str
    positives: Any
    negatives: Any
    cap: float = np.inf
    borders: tuple[float, ...] = ()

    def least(self, x):
        """The smallest score that is recorded as x is."""
        if self.borders:
            return np.array([-np.inf, *self.borders])[np.digitize(x, self.borders)]
        return np.minimum(x, self.cap)

    @cached_property
    def curve(self):
        """Recall and false-positive rate at all thresholds, the highest first."""
        thresholds = np.unique(self.least(self.positives.isf(SHARES)))[::-1]
        return self.positives.sf(thresholds), self.negatives.sf(thresholds)

    def average_precision(self, prevalence):
        """Mean precision over the positives."""
        recall, rate = self.curve
        precision = prevalence * recall / (prevalence * recall + (1.0 - prevalence) * rate)
        return np.diff(recall, prepend=0.0) @ precision

    def recall(self, prevalence, fraction):
        """Recall at the top fraction; ties are broken at random."""
        recall, rate = (np.append(0.0, share) for share in self.curve)
        above = prevalence * recall + (1.0 - prevalence) * rate
        return float(np.interp(fraction, above, recall))

    def rankings(self, n_positives, n_negatives, n_data_sets, rng):
        """Draw rankings."""
        for _ in range(n_data_sets):
            scores = [
                self.least(of.isf(rng.random(size)))
                for of, size in ((self.positives, n_positives), (self.negatives, n_negatives))
            ]
            _, places = np.unique(-np.concatenate(scores), return_inverse=True)
            sizes = np.bincount(places)
            yield Ranking(sizes, np.bincount(places[:n_positives], minlength=sizes.size))


CLASSES = (
    Classes("d = 1", stats.norm(1.0), stats.norm()),
    Classes("log-normal + 2", stats.lognorm(1.0, loc=2.0), stats.lognorm(1.0)),
    Classes("log-normal", stats.lognorm(1.0, scale=np.e), stats.lognorm(0.6)),
    Classes("beta", stats.beta(3.0, 1.0), stats.beta(1.0, 4.0), cap=0.95),
    Classes("strong beta", stats.beta(6.0, 1.0), stats.beta(1.0, 6.0), cap=0.9),
    Classes("ten levels", stats.norm(1.5), stats.norm(), borders=tuple(np.linspace(-1.0, 3.0, 9))),
)


# Data sets.


def gaps(population, n_samples, n_positives, n_data_sets, rng):
    """Numbers of negatives before, between and behind the positives, a row for each data set."""
    scores = -np.sort(-population.scores(rng, (n_data_sets, n_positives)), axis=1)
    shares = np.diff(ndtr(-scores), axis=1, prepend=0.0, append=1.0)
    return rng.multinomial(n_samples - n_positives, shares)


def ranks(population, n_samples, n_positives, n_data_sets, rng):
    """Ascending ranks of the positives, from 1, a row for each data set."""
    before = gaps(population, n_samples, n_positives, n_data_sets, rng)[:, :-1]
    return (before + 1).cumsum(axis=1)


def ranking_of(row, n_samples, k=None):
    """Ranking with these ranks of the positives; runs of negatives are one block up to k."""
    ends = np.unique(np.concatenate([row - 1, row, [n_samples], [] if k is None else [k]]))
    ends = ends[ends > 0].astype(int)
    hits = np.zeros_like(ends)
    hits[np.searchsorted(ends, row)] = 1
    return Ranking(np.diff(ends, prepend=0), hits)


def rankings(population, n_samples, n_positives, n_data_sets, rng, k=None) -> Iterator[Ranking]:
    """Draw rankings."""
    sizes = n_samples, n_positives, n_data_sets
    if not population.has_levels:
        for row in ranks(population, *sizes, rng):
            yield ranking_of(row, n_samples, k)
        return
    of_positives, of_negatives = population.shares_of_levels()
    hits = rng.multinomial(n_positives, of_positives, size=n_data_sets)
    misses = rng.multinomial(n_samples - n_positives, of_negatives, size=n_data_sets)
    for y, x in zip(hits, misses, strict=True):
        there = y + x > 0
        yield Ranking((y + x)[there], y[there])


def scores_of_two(populations, n_samples, n_positives, correlation, rng):
    """Scores of two rankers, the positives first; the same positives are at chance for both."""
    common, *own = rng.standard_normal((3, n_samples))
    parts = rng.integers(max(len(of.shifts) for of in populations), size=n_positives)
    both = []
    for population, noise in zip(populations, own, strict=True):
        scores = np.sqrt(correlation) * common + np.sqrt(1.0 - correlation) * noise
        of_positives = scores[:n_positives]
        if np.isfinite(population.df):
            of_positives = stats.t.ppf(ndtr(of_positives), population.df)
        shifts = np.asarray(population.shifts)[parts % len(population.shifts)]
        scores[:n_positives] = of_positives + shifts
        both.append(np.digitize(scores, BORDERS) if population.has_levels else scores)
    return both


def scores_in_clusters(population, n_clusters, n_positive_clusters, size, correlation, rng):
    """Labels, scores and clusters; the items of a cluster have one label and correlated scores."""
    of_cluster, own = rng.standard_normal((n_clusters, 1)), rng.standard_normal((n_clusters, size))
    scores = np.sqrt(correlation) * of_cluster + np.sqrt(1.0 - correlation) * own
    positive = np.arange(n_clusters) < n_positive_clusters
    scores += population.shifts[0] * positive[:, None]
    clusters = np.repeat(np.arange(n_clusters), size)
    return np.repeat(positive, size), scores.ravel(), clusters


def query_values(n_queries, shifts, rng, n_samples=50, n_positives=5):
    """Average precision of two runs in each query, of shape (n_queries, 2).

    The runs share half of the variance of their scores, and how hard a query is.
    """
    common = rng.standard_normal((n_queries, 1, n_samples))
    own = rng.standard_normal((n_queries, 2, n_samples))
    ease = np.asarray(shifts) + 0.5 * rng.standard_normal((n_queries, 1))
    scores = (common + own) / np.sqrt(2.0)
    scores[..., :n_positives] += ease[..., None]
    of_positives = -np.sort(-scores[..., :n_positives])
    places = np.sum(scores[..., None, :] >= of_positives[..., None], axis=-1)
    return np.mean(np.arange(1, n_positives + 1) / places, axis=-1)


# Metrics of ranks, for expectations.


def dcg_of(rows, n_samples):
    """Discounted cumulative gain of rows of ranks."""
    return np.sum(1.0 / np.log2(rows + 1.0), axis=1)


def bedroc_of(rows, n_samples, alpha=20.0):
    """BEDROC of rows of ranks: equation 36 of Truchon and Bayly (2007)."""
    share = rows.shape[1] / n_samples
    chance = (1.0 - np.exp(-alpha)) / np.expm1(alpha / n_samples) / n_samples
    enhancement = np.exp(-alpha * rows / n_samples).mean(axis=1) / chance
    width = np.cosh(alpha / 2.0) - np.cosh(alpha / 2.0 - alpha * share)
    return enhancement * share * np.sinh(alpha / 2.0) / width + 1.0 / (
        1.0 - np.exp(alpha * (1.0 - share))
    )


def average_precision_of(rows, n_samples):
    """Average precision of rows of ranks."""
    return np.mean(np.arange(1, rows.shape[1] + 1) / rows, axis=1)


# Rates of intervals.


def coverage(metric, method, data_sets, target):
    """Share of the intervals of these rankings that hold the target."""
    way = interval_methods(metric)[method]
    limits = [
        way.limits(Estimate.of_ranking(metric, ranking), LEVEL, SEED) for ranking in data_sets
    ]
    low, high = np.transpose(limits)
    return np.mean((low <= target) & (target <= high))


def coverage_at_prevalences(classes, sizes, prevalences, n_data_sets, rng):
    """Share of the intervals of average precision that hold the target, at each prevalence."""
    targets = [classes.average_precision(prevalence) for prevalence in prevalences]
    covered = np.zeros(len(targets))
    for ranking in classes.rankings(*sizes, n_data_sets, rng):
        for number, (prevalence, target) in enumerate(zip(prevalences, targets, strict=True)):
            low, high = PrecisionAtPositives.of(ranking, prevalence).mover_limits(LEVEL)
            covered[number] += low <= target <= high
    return covered / n_data_sets


def coverage_at_fractions(classes, sizes, cells, n_data_sets, rng):
    """Share of the intervals of recall that hold the target, at prevalences and fractions."""
    targets = [classes.recall(*cell) for cell in cells]
    covered = np.zeros(len(targets))
    critical_value = t_quantile(sizes[0] - 1.0, LEVEL)
    for ranking in classes.rankings(*sizes, n_data_sets, rng):
        for number, (prevalence, fraction) in enumerate(cells):
            top = top_fraction(ranking, fraction, prevalence)
            low, high = union_limits(top, critical_value)
            covered[number] += low <= targets[number] <= high
    return covered / n_data_sets


def covering_values(metric, n_samples, n_positives, target, edges, n_halvings=10):
    """Least and largest observed value whose binormal interval holds the target.

    Both limits depend on the sample through the observed value alone, and rise with it.
    """
    way = interval_methods(metric)["binormal"]
    start = Estimate.of_ranking(metric, ranking_of(np.arange(1, n_positives + 1), n_samples))

    def limit(value, side):
        estimate = Estimate(start.metric, start.size, value, 0.0, n_positives, n_samples)
        return way.limits(estimate, LEVEL, SEED)[side]

    def crossing(is_beyond: Callable[[float], bool]) -> float:
        below, above = edges
        for _ in range(n_halvings):
            middle = (below + above) / 2.0
            below, above = (below, middle) if is_beyond(middle) else (middle, above)
        return (below + above) / 2.0

    return crossing(lambda v: limit(v, 1) >= target), crossing(lambda v: limit(v, 0) > target)


def binormal_coverage(metric, values_of, population, n_samples, n_positives, n_data_sets, rng):
    """Share of binormal intervals that hold the expectation."""
    sizes = n_samples, n_positives
    target = values_of(ranks(population, *sizes, 50_000, rng), n_samples).mean()
    best = np.arange(1, n_positives + 1)
    edges = values_of(np.stack([best + n_samples - n_positives, best]), n_samples)
    low, high = covering_values(metric, *sizes, target, edges)
    values = values_of(ranks(population, *sizes, n_data_sets, rng), n_samples)
    return np.mean((low <= values) & (values <= high))


def cluster_coverage(metric, target, n_data_sets, rng, in_clusters=True, **design):
    """Share of intervals that hold the target, of data in clusters."""
    way = next(iter(interval_methods(metric).values()))
    covered = 0
    for _ in range(n_data_sets):
        positive, scores, clusters = scores_in_clusters(rng=rng, **design)
        sample = Sample.read(positive, scores, clusters=clusters if in_clusters else None)
        estimate = Estimate.of_sample(metric, sample)
        low, high = way.limits(estimate, LEVEL, SEED)
        covered += low <= target <= high
    return covered / n_data_sets


def mean_coverage(method, n_queries, shift, n_data_sets, rng, n_targets=100_000, n_resamples=999):
    """Share of intervals of mean average precision that hold its expectation."""
    target = query_values(n_targets, (shift, shift), rng).mean()
    covered = 0
    for _ in range(n_data_sets):
        values = query_values(n_queries, (shift, shift), rng)[:, 0]
        low, high = mean_interval(values, LEVEL, method, n_resamples, rng)
        covered += low <= target <= high
    return covered / n_data_sets


# Rates of comparisons.


def pair_of(metric, positive, scores_a, scores_b):
    """Two rankings of the same items."""
    both = {"a": scores_a, "b": scores_b}
    sample = Sample.read(positive, both, pos_label=True, columns="rankers")
    return Difference(metric.at(positive.size), sample)


def comparison_rates(
    metric,
    methods: Sequence[str],
    populations,
    n_samples,
    n_positives,
    n_data_sets,
    rng,
    *,
    correlation=0.5,
    difference=None,
    n_resamples=199,
):
    """Share of p-values up to .05, by method, and of intervals that hold the difference."""
    found = dict.fromkeys([*methods, *([] if difference is None else ["interval"])], 0)
    positive = np.arange(n_samples) < n_positives
    for seed in rng.integers(2**31, size=n_data_sets):
        scores = scores_of_two(populations, n_samples, n_positives, correlation, rng)
        pair = pair_of(metric, positive, *scores)
        for method in methods:
            draws = Draws(n_resamples, np.random.SeedSequence(int(seed)))
            found[method] += _compare(pair, "two-sided", method, draws).pvalue <= 0.05
        if difference is not None:
            low, high = pair.interval()(LEVEL)
            found["interval"] += low <= difference <= high
    return {name: count / n_data_sets for name, count in found.items()}


def query_rates(n_queries, shifts, n_data_sets, rng, n_resamples=199):
    """Share of p-values up to .05 of two runs over queries, by method."""
    found = {"sign_flip": 0, "t": 0}
    for seed in rng.integers(2**31, size=n_data_sets):
        differences = query_values(n_queries, shifts, rng) @ [1.0, -1.0]
        draws = Draws(n_resamples, np.random.SeedSequence(int(seed)))
        pvalue, *_ = pvalue_of_swaps(SignFlipSampler(differences), draws, "two-sided")
        found["sign_flip"] += pvalue <= 0.05
        found["t"] += stats.ttest_1samp(differences, 0.0).pvalue <= 0.05
    return {name: count / n_data_sets for name, count in found.items()}


# Limits of rates.


def lowest(n_data_sets, rate):
    """Share that a rate, or a larger one, falls short of once in ten thousand seeds."""
    return stats.binom.ppf(1e-4, n_data_sets, rate) / n_data_sets


def highest(n_data_sets, rate):
    """Share that a rate, or a smaller one, exceeds once in ten thousand seeds."""
    return stats.binom.isf(1e-4, n_data_sets, rate) / n_data_sets
