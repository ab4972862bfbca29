"""Tests and null distributions of single metrics, in the words of the test modules."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.metrics import average_precision_score, dcg_score, ndcg_score, roc_auc_score

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    DiscountedCumulativeGain,
    EnrichmentAtK,
    FScoreAtK,
    PrecisionAtK,
    PrecisionAtRecall,
    RankStatistic,
    RecallAtFpr,
    RecallAtK,
    RecallAtPrecision,
    ReciprocalRank,
    RobustInitialEnhancement,
    metric_null_distribution,
    metric_test,
    precision_at_k_score,
    recall_at_k_score,
)
from sklearn_rankinf._metrics import value_of
from sklearn_rankinf._metrics.names import METRICS, needs_number
from sklearn_rankinf._ranking import Sample, resolve_k


@dataclass(frozen=True)
class Persistence(RankStatistic):
    """A metric of a user: rank-biased precision."""

    p: float = 0.8

    def weights(self, ranks, n_samples, n_positives):
        return (1 - self.p) * self.p ** (ranks - 1.0)


def _test_of(make, names):
    def test(*data, **options):
        own = {name: options.pop(name) for name in names if name in options}
        return metric_test(*data, metric=make(**own), **options)

    return test


def _null_distribution_of(make, names):
    def null_distribution(*sizes, **options):
        own = {name: options.pop(name) for name in names if name in options}
        return metric_null_distribution(*sizes, metric=make(**own), **options)

    return null_distribution


def _given(*, statistic):
    return statistic


def rank_statistic_score(y_true, y_score=None, *, statistic):
    return value_of(statistic, Sample.read(y_true, y_score, needs_ties=False).rankings[0])


_OF_DCG = DiscountedCumulativeGain, ("k", "normalize")
bedroc_test = _test_of(Bedroc, ["alpha"])
bedroc_null_distribution = _null_distribution_of(Bedroc, ["alpha"])
rie_test = _test_of(RobustInitialEnhancement, ["alpha"])
rie_null_distribution = _null_distribution_of(RobustInitialEnhancement, ["alpha"])
dcg_test = _test_of(*_OF_DCG)
dcg_null_distribution = _null_distribution_of(*_OF_DCG)
ap_null_distribution = _null_distribution_of(AveragePrecision, ["k", "normalize"])
average_precision_at_k_test = _test_of(AveragePrecision, ["k", "normalize"])
precision_at_k_test = _test_of(PrecisionAtK, ["k"])
precision_at_k_null_distribution = _null_distribution_of(PrecisionAtK, ["k"])
recall_at_k_null_distribution = _null_distribution_of(RecallAtK, ["k"])
enrichment_at_k_test = _test_of(EnrichmentAtK, ["k"])
enrichment_at_k_null_distribution = _null_distribution_of(EnrichmentAtK, ["k"])
reciprocal_rank_test = partial(metric_test, metric=ReciprocalRank())
reciprocal_rank_null_distribution = partial(metric_null_distribution, metric=ReciprocalRank())
rank_statistic_test = _test_of(_given, ["statistic"])
rank_statistic_null_distribution = _null_distribution_of(_given, ["statistic"])


def _dcg_by(function):
    def score(y_true, y_score, k=None):
        return function([y_true], [y_score], k=k and resolve_k(k, len(y_true)))

    return score


# Values by functions of labels and scores.
_SCORES = {
    "average_precision": average_precision_score,
    "recall": recall_at_k_score,
    "precision": precision_at_k_score,
    "enrichment": lambda *data, k, **options: EnrichmentAtK(k)(*data, **options),
    "f_score": lambda *data, k, **options: FScoreAtK(k)(*data, **options),
    "roc_auc": roc_auc_score,
    "dcg": _dcg_by(dcg_score),
    "ndcg": _dcg_by(ndcg_score),
    "bedroc": Bedroc(),
    "rie": RobustInitialEnhancement(),
    "reciprocal_rank": ReciprocalRank(),
    "r_precision": lambda y_true, y_score, **options: precision_at_k_score(
        y_true, y_score, k=max(int(np.sum(y_true == options.get("pos_label", 1))), 1), **options
    ),
    "precision_at_recall": PrecisionAtRecall(0.4),
    "recall_at_precision": RecallAtPrecision(0.4),
    "recall_at_fpr": RecallAtFpr(0.4),
}


def with_cut_off(name, k=0.4):
    """The name of a metric, with a cut-off, or a share of 0.4, if it needs one."""
    make = METRICS[name]
    if not needs_number(make):
        return name
    return f"{name}@{k if make.after_at == 'k' else 0.4}"


@dataclass(frozen=True)
class Named:
    """A metric by its name, with a cut-off if it needs one, and its functions."""

    name: str

    @property
    def metric(self):
        return with_cut_off(self.name)

    def score(self, y_true, y_score, **options):
        cut_off = {"k": 0.4} if self.metric != self.name and "_at_" not in self.name else {}
        return _SCORES[self.name](y_true, y_score, **(cut_off | options))

    @property
    def test(self):
        """The test, without a frame of its own, so that warnings refer to its caller."""
        return partial(metric_test, metric=self.metric)


NAMED = {name: Named(name) for name in METRICS}
# Those with an exact null distribution.
EXACT = [name for name in METRICS if name != "recall_at_precision"]
