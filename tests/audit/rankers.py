"""Rankers as they are met in practice: what scores they give, with how many levels, how good.

The scores of forests, boosted trees, neighbours, naive Bayes, logistic regression, risk scores,
embeddings and buckets are drawn from what such a model gives for a feature that positives have more
of by `signal` standard deviations; the families that end in "fit" are fitted by scikit-learn. A
signal of 0 is none, and from 8 on most rankings are perfect.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from .cases import AT_K, Case, Ranked, draw_case, draw_options, joined, log_integer

Scores = Callable[[np.random.Generator, np.ndarray, np.ndarray, int], np.ndarray]
# Items that a model is fitted to, and ranks.
MOST_FITTED = 4000
# Ten buckets of 95,010 items with 165 positives.
FRAUDS = (
    (210, 400, 700, 1100, 1800, 2900, 5100, 9800, 21000, 52000),
    (31, 23, 19, 21, 15, 14, 10, 12, 9, 11),
)


@dataclass(frozen=True)
class Ranker:
    """A ranking with its labels.

    Attributes
    ----------
    family : str
        A key of `FAMILIES` or of `FITTED`, or ``"frauds"`` for the counts of `FRAUDS`.
    setting : int
        Number of trees, of neighbours, of buckets; depth; decimals.
    n, m : int
        Number of items, and of positives among them.
    signal : float
        By how many standard deviations positives are better.
    seed : int
        Of the features.
    """

    family: str
    setting: int
    n: int
    m: int
    signal: float
    seed: int

    def scores(self) -> tuple[np.ndarray, np.ndarray]:
        """Labels and scores."""
        if self.family == "frauds":
            sizes, hits = (np.array(counts) for counts in FRAUDS)
            labels = np.concatenate(
                [np.arange(size) < some for size, some in zip(sizes, hits, strict=True)]
            )
            return labels.astype(np.int64), -np.repeat(np.arange(sizes.size), sizes).astype(float)
        rng = np.random.default_rng(self.seed)
        y = np.zeros(self.n, dtype=np.int64)
        y[rng.choice(self.n, self.m, replace=False)] = 1
        if self.family in FITTED:
            return y, _fitted(self.family, rng, y, self.signal, self.setting)
        feature = rng.normal(size=self.n) + self.signal * y
        return y, np.asarray(FAMILIES[self.family][0](rng, y, feature, self.setting))

    def blocks(self) -> tuple[np.ndarray, np.ndarray]:
        """Sizes and hits of the blocks of equal scores, best first."""
        return _blocks(self)

    def ranked(self) -> Ranked:
        sizes, _ = self.blocks()
        if sizes.size == self.n:
            return Ranked(self.n, self.m, None)
        return Ranked(self.n, self.m, joined([(size, 1) for size in sizes.tolist()]))


@lru_cache(maxsize=64)
def _blocks(ranker: Ranker) -> tuple[np.ndarray, np.ndarray]:
    y, scores = ranker.scores()
    distinct, which = np.unique(-scores.astype(float), return_inverse=True)
    hits = np.bincount(which, weights=y, minlength=distinct.size).astype(np.int64)
    return np.bincount(which), hits


def _probability(y: np.ndarray, feature: np.ndarray, rate: float = 1.0) -> np.ndarray:
    """Of being a positive, as a model that sees the feature says it."""
    return expit(rate * (1.5 * feature - 2.0) + logit(max(y.mean(), 1e-6)) / 4.0)


def _votes(rng: np.random.Generator, y: np.ndarray, feature: np.ndarray, trees: int) -> np.ndarray:
    """Shares of trees grown to pure leaves that vote for an item."""
    return rng.binomial(trees, _probability(y, feature)) / trees


def _leaves(rng: np.random.Generator, y: np.ndarray, feature: np.ndarray, trees: int) -> np.ndarray:
    """Means over trees of the share of positives in the leaf, one of four by the feature."""
    total = np.zeros(y.size)
    for _ in range(min(trees, 40)):
        noisy = feature + rng.normal(size=y.size)
        leaf = np.searchsorted(np.quantile(noisy, [0.5, 0.9, 0.99]), noisy)
        shares = np.bincount(leaf, y, minlength=4) / np.maximum(np.bincount(leaf, minlength=4), 1)
        total += np.round(shares, 3)[leaf]
    return np.round(total / min(trees, 40), 12)


def _boosted(
    rng: np.random.Generator, y: np.ndarray, feature: np.ndarray, depth: int
) -> np.ndarray:
    """Twelve boosted trees that ask the same question at each depth, of noisy features."""
    features = [feature + rng.normal(size=y.size) for _ in range(4)]
    margin = np.full(y.size, logit(y.mean()))
    for _ in range(12):
        leaf = np.zeros(y.size, dtype=np.int64)
        for _ in range(depth):
            one = features[int(rng.integers(4))]
            leaf = 2 * leaf + (one > np.quantile(one, rng.uniform(0.3, 0.995)))
        p = expit(margin)
        step = np.bincount(leaf, y - p, minlength=2**depth)
        step /= np.bincount(leaf, p * (1.0 - p), minlength=2**depth) + 1.0
        margin = margin + np.round(0.3 * np.clip(step, -4.0, 4.0), 4)[leaf]
    return np.round(margin, 9)


def _neighbours(rng: np.random.Generator, y: np.ndarray, feature: np.ndarray, k: int) -> np.ndarray:
    return rng.binomial(k, _probability(y, feature, 1.5)) / k


def _naive_bayes(
    rng: np.random.Generator, y: np.ndarray, feature: np.ndarray, n: int
) -> np.ndarray:
    """Evidence counted n times for correlated features: much is 1, and much 0, to all digits."""
    return np.asarray(expit(n * (1.5 * feature - 3.0)), dtype=np.float32)


def _logistic(rng: np.random.Generator, y: np.ndarray, feature: np.ndarray, d: int) -> np.ndarray:
    return np.round(_probability(y, feature), d)


def _risk(rng: np.random.Generator, y: np.ndarray, feature: np.ndarray, n: int) -> np.ndarray:
    """Points for n findings, whole numbers."""
    total = np.zeros(y.size)
    for _ in range(n):
        points = int(rng.integers(1, 6))
        total += points * (feature + rng.normal(size=y.size) > rng.uniform(0.0, 2.5))
    return total


def _embedding(rng: np.random.Generator, y: np.ndarray, feature: np.ndarray, _: int) -> np.ndarray:
    return np.asarray(np.tanh(0.3 * feature), dtype=np.float16)


def _buckets(rng: np.random.Generator, y: np.ndarray, feature: np.ndarray, n: int) -> np.ndarray:
    """Buckets that grow from the top down."""
    at = np.sort(feature)[::-1]
    last = np.unique(np.geomspace(max(2, y.size // 400), y.size, n).astype(np.int64)) - 1
    return -np.searchsorted(-at[last], -feature).astype(float)


def _clipped(rng: np.random.Generator, y: np.ndarray, feature: np.ndarray, d: int) -> np.ndarray:
    """A normal score clipped to [0, 1] and rounded."""
    return np.round(np.clip(0.1 + 0.1 * feature, 0.0, 1.0), d)


def _continuous(rng: np.random.Generator, y: np.ndarray, feature: np.ndarray, _: int) -> np.ndarray:
    return feature


FAMILIES: dict[str, tuple[Scores, tuple[int, ...]]] = {
    "forest": (_votes, (10, 30, 100, 100, 200, 500)),
    "shallow forest": (_leaves, (10, 20, 40)),
    "boosted trees": (_boosted, (1, 2, 3, 4)),
    "neighbours": (_neighbours, (5, 10, 15, 25, 50, 100)),
    "naive Bayes": (_naive_bayes, (2, 5, 10, 40)),
    "logistic regression": (_logistic, (1, 2, 2, 3, 4)),
    "risk score": (_risk, (3, 6, 10)),
    "embedding": (_embedding, (16,)),
    "buckets": (_buckets, (5, 10, 20, 100, 500)),
    "clipped": (_clipped, (2, 2, 3)),
    "continuous": (_continuous, (0,)),
}
"""Scores of a model by its setting, and the settings that are drawn."""


def _boosting(depth: int) -> Any:
    return GradientBoostingClassifier(max_depth=depth, n_estimators=15, random_state=0)


class _Model:
    """What is fitted, by its setting."""

    forest = staticmethod(lambda s: RandomForestClassifier(s, random_state=0))
    boosting = staticmethod(lambda s: _boosting(s))
    neighbours = staticmethod(lambda s: KNeighborsClassifier(s))
    bayes = staticmethod(lambda _: GaussianNB())
    logistic = staticmethod(lambda _: LogisticRegression())


FITTED: dict[str, tuple[Callable[[int], Any], tuple[int, ...]]] = {
    "forest fit": (_Model.forest, (10, 30, 100)),
    "boosting fit": (_Model.boosting, (1, 2, 3, 4)),
    "neighbours fit": (_Model.neighbours, (5, 15, 50)),
    "naive Bayes fit": (_Model.bayes, (0,)),
    "logistic fit": (_Model.logistic, (0,)),
}


def _fitted(
    family: str, rng: np.random.Generator, y: np.ndarray, signal: float, setting: int
) -> np.ndarray:
    """Probabilities by a model that was fitted to as many items of the same kind."""
    of_all = np.ones(5) * signal / math.sqrt(5.0)
    train, test = (rng.normal(size=(y.size, 5)) + np.outer(y, of_all) for _ in range(2))
    return FITTED[family][0](setting).fit(train, y).predict_proba(test)[:, 1]


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose scores are the only feature."""

    def fit(self, X: Any, y: Any) -> Given:
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        return np.asarray(X)[:, 0]


# ---------------------------------------------------------------------------------------------
# Cases
# ---------------------------------------------------------------------------------------------

SIGNALS = (0.0, 0.3, 0.6, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 20.0)


@dataclass(frozen=True)
class RankedCase(Case):
    """A case whose value is the one that a ranker attains; for a mean one ranker for each query."""

    rankers: tuple[Ranker, ...] = ()

    @property
    def n_items(self) -> int:
        return sum(ranker.n for ranker in self.rankers)

    def shown(self) -> str:
        """A line that gives the rankers, and the statistic."""
        return f"{self.statistic()} of {', '.join(map(repr, self.rankers))}"


def draw_ranked_case(random: Random, large: bool = False, most: int = 50_000) -> RankedCase:
    """A ranker of at most so many items, or some of them as queries, with a metric."""
    seed = random.randint(0, 9999)
    if random.randint(1, 8) == 1:
        n_queries = random.choice([2, 5, 10])
        rankers = tuple(_draw_ranker(random, 300, min(most, 3000)) for _ in range(n_queries))
        ranked = tuple(ranker.ranked() for ranker in rankers)
        return RankedCase("map", (), ranked, "mean over queries", seed, rankers=rankers)
    if large and random.randint(0, 2) == 0:
        most = 10**6
    ranker = _draw_ranker(random, 500, most)
    if len(ranker.blocks()[0]) == 1:
        # The only value of a list of equal scores is that of its oracles up to rounding.
        return draw_ranked_case(random, large, most)
    metric = random.choice(_METRICS)
    ranked = ranker.ranked()
    options = draw_options(random, metric, ranked)
    return RankedCase(metric, options, (ranked,), ranker.family, seed, rankers=(ranker,))


_METRICS = [
    *["average_precision"] * 6,
    *["roc_auc", "dcg", "ndcg", "bedroc"] * 2,
    *["rie", "user", *AT_K, "reciprocal_rank"],
]


def _draw_ranker(random: Random, least: int, most: int) -> Ranker:
    if most >= 50_000 and random.randint(1, 50) == 1:
        return Ranker("frauds", 10, sum(FRAUDS[0]), sum(FRAUDS[1]), 0.0, 0)
    family = random.choice([*FAMILIES, *FAMILIES, *FITTED])
    settings = (FITTED if family in FITTED else FAMILIES)[family][1]
    n = log_integer(random, least, MOST_FITTED if family in FITTED and most > MOST_FITTED else most)
    m = log_integer(random, 5, n // 10)
    return Ranker(
        family, random.choice(settings), n, m, random.choice(SIGNALS), random.randint(0, 999)
    )


def draw_any_case(random: Random, large: bool, share_of_rankers: int) -> Case:
    """A ranker in so many of a hundred cases, and a structure of ties otherwise."""
    if random.randint(1, 100) <= share_of_rankers:
        return draw_ranked_case(random, large)
    return draw_case(random, large)
