"""Tests and null distributions of single metrics, in the words of the test modules."""

from functools import partial

from sklearn_rankinf import (
    Bedroc,
    DiscountedCumulativeGain,
    EnrichmentAtK,
    ReciprocalRank,
    RobustInitialEnhancement,
    metric_null_distribution,
    metric_test,
)


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


_OF_DCG = DiscountedCumulativeGain, ("k", "normalize")
bedroc_test = _test_of(Bedroc, ["alpha"])
bedroc_null_distribution = _null_distribution_of(Bedroc, ["alpha"])
rie_test = _test_of(RobustInitialEnhancement, ["alpha"])
rie_null_distribution = _null_distribution_of(RobustInitialEnhancement, ["alpha"])
dcg_test = _test_of(*_OF_DCG)
dcg_null_distribution = _null_distribution_of(*_OF_DCG)
enrichment_at_k_test = _test_of(EnrichmentAtK, ["k"])
enrichment_at_k_null_distribution = _null_distribution_of(EnrichmentAtK, ["k"])
reciprocal_rank_test = partial(metric_test, metric=ReciprocalRank())
reciprocal_rank_null_distribution = partial(metric_null_distribution, metric=ReciprocalRank())
rank_statistic_test = _test_of(_given, ["statistic"])
rank_statistic_null_distribution = _null_distribution_of(_given, ["statistic"])
