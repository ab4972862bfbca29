"""Parameters of every numeric type: they are read as Python's numbers, or refused in one sentence.

Options, and values that are too large, too long or of a wrong type, are refused in the same way.
"""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import sklearn_rankinf as rankinf
from sklearn_rankinf import (
    RankStatistic,
    metric_null_distribution,
    metric_test,
)
from sklearn_rankinf._planning import simulation

Y_TRUE = np.array([1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0])
Y_SCORE = np.array([9.0, 8, 7, 6, 5, 4, 3.5, 3, 2, 1, 0.5, 0])
OTHER = np.array([8.0, 9, 3, 6, 5, 4, 1, 7, 2, 0, 0.5, 1])
BOTH = {"a": Y_SCORE, "b": OTHER}
GROUPS = np.repeat([0, 1, 2], 4)
DATA = Y_TRUE, Y_SCORE

INTEGERS = [np.int8, np.int32, np.int64, np.uint8, np.uint64]
REALS = [np.float16, np.float32, np.float64, np.longdouble, Fraction, lambda x: Decimal(repr(x))]


def plain(result):
    """All that a result says, with the types of its numbers."""
    if hasattr(result, "to_dict"):
        return repr(result.to_dict())
    if hasattr(result, "pvalue") and callable(result.pvalue):
        points = [0.1, 0.35, 0.5, 0.75, 1.0, 2.5]
        return repr((result.pvalue(points).tolist(), result.mean(), result.n_samples, result))
    return repr(result.tolist() if isinstance(result, np.ndarray) else result)


def value(metric):
    """The metric, its value and its null distribution."""
    return repr(metric), hash(metric), plain(metric_test(*DATA, metric=metric))


# By name: the parameter, a Python number, and a call.

OF_INTEGERS = {
    "AveragePrecision": ("k", 3, lambda x: value(rankinf.AveragePrecision(k=x))),
    "RecallAtK": ("k", 3, lambda x: value(rankinf.RecallAtK(x))),
    "PrecisionAtK": ("k", 3, lambda x: value(rankinf.PrecisionAtK(x))),
    "EnrichmentAtK": ("k", 3, lambda x: value(rankinf.EnrichmentAtK(x))),
    "FScoreAtK": ("k", 3, lambda x: value(rankinf.FScoreAtK(x))),
    "DiscountedCumulativeGain": (
        "k",
        3,
        lambda x: value(rankinf.DiscountedCumulativeGain(x, normalize=True)),
    ),
    "Bedroc": ("alpha", 20, lambda x: value(rankinf.Bedroc(alpha=x))),
    "RobustInitialEnhancement": (
        "alpha",
        20,
        lambda x: value(rankinf.RobustInitialEnhancement(alpha=x)),
    ),
    "average_precision_at_k_score": (
        "k",
        3,
        lambda x: rankinf.average_precision_at_k_score(*DATA, k=x),
    ),
    "interpolated_average_precision_score": (
        "n_levels",
        11,
        lambda x: rankinf.interpolated_average_precision_score(*DATA, n_levels=x),
    ),
    "metric_test": (
        "n_resamples",
        30,
        lambda x: metric_test(*DATA, method="permutation", n_resamples=x),
    ),
    "metric_test, random_state": (
        "random_state",
        3,
        lambda x: metric_test(*DATA, method="permutation", n_resamples=50, random_state=x),
    ),
    "metric_test, n_jobs": ("n_jobs", 1, lambda x: metric_test(*DATA, n_jobs=x)),
    "metric_test, verbose": ("verbose", 0, lambda x: metric_test(*DATA, verbose=x)),
    "ap_null_distribution, n_samples": (
        "n_samples",
        100,
        lambda x: rankinf.ap_null_distribution(x, 7),
    ),
    "ap_null_distribution, n_positives": (
        "n_positives",
        100,
        lambda x: rankinf.ap_null_distribution(103, x),
    ),
    "AlignedRuns.rankings": (
        "collection_size",
        100,
        lambda x: (
            rankinf.align_runs({"q": {"a": 1}}, {"q": {"a": 1.0}})
            .rankings("run", collection_size=x)["q"]
            .tie_sizes
        ),
    ),
    "min_hits_at_k": ("k", 5, lambda x: rankinf.min_hits_at_k(50, 20, k=x)),
    "min_hits_at_k, n_samples": ("n_samples", 100, lambda x: rankinf.min_hits_at_k(x, 20, k=9)),
    "minimum_hypergeometric_test": (
        "min_hits",
        2,
        lambda x: rankinf.minimum_hypergeometric_test(*DATA, min_hits=x),
    ),
    "minimum_hypergeometric_test, max_rank": (
        "max_rank",
        4,
        lambda x: rankinf.minimum_hypergeometric_test(*DATA, max_rank=x),
    ),
    "top_k_significance_curve": (
        "max_rank",
        4,
        lambda x: rankinf.top_k_significance_curve(*DATA, max_rank=x),
    ),
    "metric_curve": (
        "n_resamples",
        30,
        lambda x: rankinf.metric_curve(*DATA, curve="roc", method="campbell", n_resamples=x),
    ),
    "metric_interval": (
        "n_resamples",
        30,
        lambda x: rankinf.metric_interval(*DATA, groups=GROUPS, method="bootstrap", n_resamples=x),
    ),
    "metric_comparison_test": (
        "n_resamples",
        30,
        lambda x: rankinf.metric_comparison_test(Y_TRUE, BOTH, n_resamples=x),
    ),
    "metric_group_comparison_test": (
        "n_resamples",
        30,
        lambda x: rankinf.metric_group_comparison_test(
            *DATA, group=np.arange(12) % 2, metric="roc_auc", method="permutation", n_resamples=x
        ),
    ),
    "best_candidate_test": (
        "n_resamples",
        30,
        lambda x: rankinf.best_candidate_test(Y_TRUE, BOTH, n_resamples=x),
    ),
    "randomization_test": (
        "n_resamples",
        30,
        lambda x: rankinf.randomization_test(
            Y_TRUE, Y_SCORE > 3, OTHER > 3, metric="f1", method="permutation", n_resamples=x
        ),
    ),
    "metric_power": ("n_samples", 20, lambda x: rankinf.metric_power(x, 3, odds=2.0, metric="rie")),
    "metric_power, n_positives": (
        "n_positives",
        5,
        lambda x: rankinf.metric_power(60, x, odds=2.0, metric=rankinf.RecallAtK(6)),
    ),
    "metric_power, n_resamples": (
        "n_resamples",
        30,
        lambda x: rankinf.metric_power(20, 3, odds=2.0, method="simulation", n_resamples=x),
    ),
    "metric_power, odds": (
        "odds",
        3,
        lambda x: rankinf.metric_power(60, 5, odds=x, metric=rankinf.RecallAtK(6)),
    ),
    "min_detectable_odds": (
        "n_samples",
        20,
        lambda x: rankinf.min_detectable_odds(x, 3, metric="average_precision@3"),
    ),
    "min_positives": (
        "odds",
        3,
        lambda x: rankinf.min_positives(prevalence=0.1, odds=x, metric="recall@0.1"),
    ),
    "metric_comparison_power": (
        "n_resamples",
        3,
        lambda x: rankinf.metric_comparison_power(
            30, 9, auc_a=0.8, auc_b=0.7, metric="roc_auc", method="delong", n_resamples=x
        ),
    ),
    "metric_interval_width": (
        "n_resamples",
        3,
        lambda x: rankinf.metric_interval_width(30, 9, auc=0.8, n_resamples=x),
    ),
    "paired_outcome_posterior": (
        "n_only_a",
        7,
        lambda x: rankinf.paired_outcome_posterior(x, 4).mean(),
    ),
    "PrecisionRecallPosterior": (
        "tp",
        7,
        lambda x: rankinf.PrecisionRecallPosterior(x, 4, 5).f_score().mean(),
    ),
    "BinormalPrecisionRecallCurve.curve": (
        "n_points",
        5,
        lambda x: rankinf.BinormalPrecisionRecallCurve(0.5, 1.0, 1.0, 0.0, 1.0).curve(x)[0],
    ),
    "rvs": (
        "size",
        3,
        lambda x: rankinf.ap_null_distribution(9, 3).rvs(x, random_state=0),
    ),
    "moment": ("order", 3, lambda x: rankinf.ap_null_distribution(9, 3).moment(x)),
}

OF_REALS = {
    "align_runs": (
        "relevance_level",
        1.5,
        lambda x: rankinf.align_runs(
            {"q": {"a": 1, "b": 1.5}}, {"q": {"a": 1.0}}, relevance_level=x
        ).summary(),
    ),
    "AveragePrecision": ("k", 0.3, lambda x: value(rankinf.AveragePrecision(k=x))),
    "RecallAtK": ("k", 0.3, lambda x: value(rankinf.RecallAtK(x))),
    "DiscountedCumulativeGain": (
        "k",
        0.3,
        lambda x: value(rankinf.DiscountedCumulativeGain(x, normalize=True)),
    ),
    "FScoreAtK": ("beta", 0.7, lambda x: value(rankinf.FScoreAtK(4, beta=x))),
    "Bedroc": ("alpha", 20.3, lambda x: value(rankinf.Bedroc(alpha=x))),
    "RobustInitialEnhancement": (
        "alpha",
        20.3,
        lambda x: value(rankinf.RobustInitialEnhancement(alpha=x)),
    ),
    "RecallAtK of a test": ("k", 0.3, lambda x: metric_test(*DATA, metric=rankinf.RecallAtK(x))),
    "pvalue": ("x", 0.3, lambda x: rankinf.ap_null_distribution(90, 13).pvalue(x)),
    "ppf": ("q", 0.3, lambda x: rankinf.ap_null_distribution(90, 13).ppf(x)),
    "isf of recall": (
        "q",
        0.3,
        lambda x: metric_null_distribution(50, 20, metric="recall@5").isf(x),
    ),
    "interval": (
        "confidence",
        0.3,
        lambda x: repr(rankinf.ap_null_distribution(90, 13).interval(x)),
    ),
    "min_hits_at_k": ("alpha", 0.03, lambda x: rankinf.min_hits_at_k(50, 20, k=9, alpha=x)),
    "top_k_significance_curve": (
        "alpha",
        0.03,
        lambda x: rankinf.top_k_significance_curve(*DATA, alpha=x),
    ),
    "optimal_cutoff": (
        "value",
        6.0,
        lambda x: rankinf.optimal_cutoff(*DATA, value=x, cost=1),
    ),
    "items_to_examine": (
        "recall",
        0.6,
        lambda x: rankinf.items_to_examine(*DATA, recall=x),
    ),
    "threshold_interval": (
        "prevalence",
        0.3,
        lambda x: rankinf.threshold_interval(*DATA, threshold=0.5, prevalence=x),
    ),
    "metric_curve": (
        "confidence_level",
        0.93,
        lambda x: rankinf.metric_curve(*DATA, confidence_level=x),
    ),
    "metric_interval": (
        "confidence_level",
        0.93,
        lambda x: rankinf.metric_interval(*DATA, confidence_level=x),
    ),
    "confidence_interval of a test": (
        "confidence_level",
        0.93,
        lambda x: metric_test(*DATA).confidence_interval(x),
    ),
    "confidence_interval of a comparison": (
        "confidence_level",
        0.93,
        lambda x: rankinf.metric_comparison_test(Y_TRUE, BOTH).confidence_interval(x),
    ),
    "verdict of a comparison": (
        "margin",
        0.3,
        lambda x: rankinf.metric_comparison_test(Y_TRUE, BOTH).verdict(margin=x),
    ),
    "metric_group_comparison_test": (
        "prevalence",
        0.3,
        lambda x: rankinf.metric_group_comparison_test(
            *DATA, group=np.arange(12) % 2, metric="roc_auc", method="influence", prevalence=x
        ),
    ),
    "metric_multiple_comparison_test": (
        "confidence_level",
        0.93,
        lambda x: rankinf.metric_multiple_comparison_test(
            Y_TRUE, {"a": Y_SCORE, "b": OTHER, "c": -OTHER}, confidence_level=x
        ),
    ),
    "values_multiple_comparison_test": (
        "confidence_level",
        0.93,
        lambda x: rankinf.values_multiple_comparison_test(
            np.stack([Y_SCORE, OTHER], axis=1), confidence_level=x
        ),
    ),
    "metric_power": (
        "odds",
        2.3,
        lambda x: rankinf.metric_power(60, 5, odds=x, metric=rankinf.RecallAtK(6)),
    ),
    "metric_power, auc": (
        "auc",
        0.7,
        lambda x: rankinf.metric_power(60, 5, auc=x, metric=rankinf.RecallAtK(6)),
    ),
    "metric_power, alpha": (
        "alpha",
        0.03,
        lambda x: rankinf.metric_power(60, 5, auc=0.8, alpha=x, metric=rankinf.RecallAtK(6)),
    ),
    "min_detectable_odds": (
        "power",
        0.7,
        lambda x: rankinf.min_detectable_odds(60, 5, power=x, metric=rankinf.RecallAtK(6)),
    ),
    "min_positives": (
        "prevalence",
        0.13,
        lambda x: rankinf.min_positives(prevalence=x, odds=3.0, metric="recall@0.1"),
    ),
    "metric_comparison_power": (
        "auc_a",
        0.7,
        lambda x: rankinf.metric_comparison_power(
            30, 9, auc_a=x, auc_b=0.6, metric="roc_auc", method="delong", n_resamples=3
        ),
    ),
    "metric_comparison_power, correlation": (
        "correlation",
        0.3,
        lambda x: rankinf.metric_comparison_power(
            30,
            9,
            auc_a=0.8,
            auc_b=0.6,
            correlation=x,
            metric="roc_auc",
            method="delong",
            n_resamples=3,
        ),
    ),
    "metric_interval_width": (
        "confidence_level",
        0.93,
        lambda x: rankinf.metric_interval_width(30, 9, auc=0.8, confidence_level=x, n_resamples=3),
    ),
    "PrecisionRecallPosterior": (
        "prior",
        0.7,
        lambda x: rankinf.PrecisionRecallPosterior(7, 4, 5, prior=x).f_score().mean(),
    ),
    "f_score": (
        "beta",
        0.7,
        lambda x: rankinf.PrecisionRecallPosterior(7, 4, 5).f_score(x).mean(),
    ),
    "paired_outcome_posterior": (
        "prior",
        0.7,
        lambda x: rankinf.paired_outcome_posterior(7, 4, prior=x).mean(),
    ),
    "rank_significance_report": (
        "alpha",
        0.03,
        lambda x: rankinf.rank_significance_report(*DATA, alpha=x, n_resamples=30),
    ),
    "binormal precision": (
        "recall",
        0.3,
        lambda x: rankinf.BinormalPrecisionRecallCurve(0.5, 1.0, 1.0, 0.0, 1.0).precision(x),
    ),
    "binormal curve": (
        "prevalence",
        0.3,
        lambda x: rankinf.BinormalPrecisionRecallCurve(x, 1.0, 1.0, 0.0, 1.0),
    ),
    "binormal curve, mean": (
        "mean_positive",
        0.3,
        lambda x: rankinf.BinormalPrecisionRecallCurve(0.5, x, 1.0, 0.0, 1.0),
    ),
}


@pytest.fixture
def small_population(monkeypatch):
    """Widths of intervals are approximated in a shorter list."""
    monkeypatch.setattr(simulation, "_POPULATION", 1000)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.usefixtures("small_population")
@pytest.mark.parametrize("name", OF_INTEGERS)
def test_integers_of_every_type(name):
    parameter, number, call = OF_INTEGERS[name]
    expected = plain(call(number))
    for kind in INTEGERS:
        assert plain(call(kind(number))) == expected, kind
    wrong = [True, np.True_, str(number), complex(number), np.array([number, number])]
    if parameter not in ("k", "alpha", "odds", "margin"):
        wrong += [number + 0.5, np.float32(number), Fraction(number), Decimal(number)]
    if name == "metric_test, verbose":
        wrong.remove(True)
    for one in wrong:
        if isinstance(one, np.ndarray) and (parameter == "size" or name == "min_hits_at_k"):
            continue
        with pytest.raises((TypeError, ValueError), match=parameter):
            call(one)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.usefixtures("small_population")
@pytest.mark.parametrize("name", OF_REALS)
def test_real_numbers_of_every_type(name):
    parameter, number, call = OF_REALS[name]
    expected = {}  # by float: several types hold the same one
    for kind in REALS:
        given = kind(number)
        if float(given) not in expected:
            expected[float(given)] = plain(call(float(given)))
        assert plain(call(given)) == expected[float(given)], kind
    wrong = ["x", complex(number), object()]
    if parameter not in ("x", "q", "confidence", "recall"):  # as in scipy
        wrong += [True, np.True_]
    for one in wrong:
        with pytest.raises((TypeError, ValueError), match=parameter):
            call(one)


# Metrics of users.


@dataclass(frozen=True)
class TopShare(RankStatistic):
    """Share of the positives among the first k."""

    k: float | None = None

    def weights(self, ranks, n_samples, n_positives):
        return (ranks <= self.k) / n_positives


@dataclass(frozen=True)
class ResolvedShare(TopShare):
    def at(self, n_samples):
        return ResolvedShare(self.k if self.k >= 1 else math.ceil(self.k * n_samples))


def test_a_fraction_in_a_metric_that_does_not_convert_it_is_refused():
    message = (
        r"metric=TopShare\(k=0\.25\) needs k as a number of items; got the fraction k=0\.25: "
        r"pass an int, or define at\(n_samples\) in that class"
    )
    for call in (
        lambda metric: metric_test(*DATA, metric=metric),
        lambda metric: rankinf.metric_interval(*DATA, metric=metric),
        lambda metric: metric_null_distribution(12, 4, metric=metric),
        lambda metric: rankinf.metric_power(12, 4, metric=metric, auc=0.7),
        lambda metric: rankinf.make_significance_scorer(metric),
    ):
        with pytest.raises(ValueError, match=message):
            call(TopShare(0.25))
    # 3 of the 12 samples, 2 of them among the 4 positives.
    expected = metric_test(*DATA, metric="recall@3")
    for metric in (TopShare(3), TopShare(np.uint8(3)), ResolvedShare(0.25)):
        result = metric_test(*DATA, metric=metric)
        assert (result.statistic, result.pvalue) == pytest.approx((0.5, expected.pvalue))
    with pytest.raises(ValueError, match="k must be at least 1 as a number of items; got 0"):
        metric_test(*DATA, metric=TopShare(0))


@pytest.mark.parametrize(
    ("name", "title", "inside"),
    [
        ("NetBenefit", "Net benefit", "net benefit"),
        ("LogAuc", "Log AUC", "log AUC"),
        ("LogAUC", "Log AUC", "log AUC"),
        ("AUCOfTop", "AUC of top", "AUC of top"),
        ("RankBiasedPrecision", "Rank biased precision", "rank biased precision"),
        ("Zipf", "Zipf", "zipf"),
        ("Net_Benefit", "Net benefit", "net benefit"),
        ("F2Score", "F2 score", "F2 score"),
        ("HitsAt10", "Hits at 10", "hits at 10"),
        ("Größe", "Größe", "größe"),
    ],
)
def test_titles_of_metrics_of_users_are_words(name, title, inside):
    def weights(self, ranks, n_samples, n_positives):
        return 1.0 / ranks

    metric = type(name, (RankStatistic,), {"weights": weights})()
    assert metric.title == title
    assert f", {inside} " in rankinf.metric_power(20, 4, auc=0.9, metric=metric).summary()
    result = metric_test(*DATA, metric=metric)
    assert inside in result.summary() or title in result.summary()


# Options.

OPTIONS = {
    "alternative": lambda x: metric_test(*DATA, alternative=x),
    "method": lambda x: metric_test(*DATA, method=x),
    "average": lambda x: rankinf.average_precision_test(*DATA, average=x),
    "normalize": lambda x: rankinf.AveragePrecision(3, normalize=x),
    "output": lambda x: rankinf.make_significance_scorer(output=x),
    "model": lambda x: rankinf.metric_power(20, 5, odds=2.0, model=x),
    "correction": lambda x: rankinf.metric_multiple_comparison_test(
        Y_TRUE, {"a": Y_SCORE, "b": OTHER}, correction=x
    ),
    "rounding": lambda x: rankinf.interpolated_average_precision_score(*DATA, rounding=x),
    "metric": lambda x: metric_test(*DATA, metric=x),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_strings(name):
    known = {
        "alternative": "less",
        "method": "normal",
        "average": None,
        "normalize": "positives",
        "output": "zscore",
        "model": "wallenius",
        "correction": "holm",
        "rounding": "trec_eval",
        "metric": "roc_auc",
    }[name]
    call = OPTIONS[name]
    if known is not None and name != "metric":
        assert repr(call(np.str_(known))) == repr(call(known))
    for wrong in (np.array([known]), np.array([known] * 2), [known], b"less", 1, {}, "x" * 10**6):
        with pytest.raises((TypeError, ValueError), match=f"{name} must be ") as raised:
            call(wrong)
        assert len(str(raised.value)) < 600


def test_jobs_and_verbosity():
    for function, data in (
        (metric_test, DATA),
        (rankinf.metric_interval, DATA),
        (rankinf.metric_comparison_test, (Y_TRUE, BOTH)),
        (rankinf.best_candidate_test, (Y_TRUE, {"a": Y_SCORE, "b": OTHER})),
        (rankinf.randomization_test, (Y_TRUE, Y_SCORE > 3, OTHER > 3)),
    ):
        with pytest.raises(ValueError, match="n_jobs=0 has no meaning: pass the number of jobs"):
            function(*data, n_jobs=0)
        for wrong in (1.5, "2", True, [1]):
            with pytest.raises(TypeError, match="n_jobs must be an integer; got "):
                function(*data, n_jobs=wrong)
        if function is rankinf.metric_interval:
            continue
        for wrong in (None, "2", 1.5):
            with pytest.raises(TypeError, match="verbose must be an integer; got "):
                function(*data, verbose=wrong)
        with pytest.raises(ValueError, match="verbose must be at least 0; got -1"):
            function(*data, verbose=-1)


# Values that are too large, and levels that are too near to 1.


def test_numbers_that_are_too_large():
    huge = 10**30
    for call in (
        lambda: rankinf.ap_null_distribution(huge, 5),
        lambda: rankinf.metric_power(huge, 5, odds=2.0),
        lambda: rankinf.min_detectable_odds(huge, 5),
        lambda: rankinf.min_hits_at_k(huge, 5, k=10),
        lambda: rankinf.metric_interval_width(huge, 5, auc=0.7),
    ):
        with pytest.raises(ValueError, match=r"n_samples must be at most 2\*\*62; got 1000"):
            call()
    with pytest.raises(ValueError, match="Simulated data sets of n_samples=4611686018427387904 do"):
        rankinf.metric_comparison_power(2**62, 9, auc_a=0.7, auc_b=0.8)
    with pytest.raises(ValueError, match="odds is too large for a float; got 1000"):
        rankinf.min_positives(prevalence=0.1, odds=10**400)
    with pytest.raises(ValueError, match=r"prevalence must be at least .*; got 1e-30"):
        rankinf.min_positives(prevalence=Decimal("1e-30"), odds=2.0)
    with pytest.raises(ValueError, match="got a number of type int with thousands of digits"):
        metric_test(*DATA, metric=rankinf.RecallAtK(10**5000))


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, object])
def test_sizes_whose_sum_is_too_large(dtype):
    # Four of these sizes add up to 0 in 64-bit integers.
    sizes = np.array([2**62, 2**62, 2**62, 2**62, 10], dtype=dtype)
    message = r"tie_sizes must add up to at most 2\*\*62; they add up to 1\.845e\+19"
    with pytest.raises(ValueError, match=message):
        rankinf.ap_null_distribution(10, 2, tie_sizes=sizes)
    with pytest.raises(ValueError, match=message):
        rankinf.Ranking.from_counts(sizes, [1, 0, 0, 0, 1])
    for one in (2**63, 2**70):
        if one < 2**64 or dtype is object:
            large = np.array([one], dtype=np.uint64 if one < 2**64 else object)
            with pytest.raises(ValueError, match=rf"at most 2\*\*62; got {one} at position 0"):
                rankinf.Ranking.from_counts(large, [1])


def test_confidence_level_next_to_1():
    for call in (
        lambda x: rankinf.metric_interval(*DATA, confidence_level=x),
        lambda x: metric_test(*DATA).confidence_interval(x),
        lambda x: rankinf.metric_comparison_test(Y_TRUE, BOTH).confidence_interval(x),
        lambda x: rankinf.metric_interval_width(30, 9, auc=0.7, confidence_level=x),
    ):
        with pytest.raises(ValueError, match=r"confidence_level=0\.9999999999999999 is too near"):
            call(np.nextafter(1.0, 0.0))
        with pytest.raises(ValueError, match=r"confidence_level must lie between .*; got 1"):
            call(np.longdouble(1))


def test_messages_do_not_repeat_long_values():
    long, many = "x" * 10**6, list(range(10**5))
    for call in (
        lambda: metric_test(*DATA, pos_label=long),
        lambda: metric_test(*DATA, metric=f"recall@{long}"),
        lambda: metric_test(*DATA, metric=long),
        lambda: metric_test(*DATA, random_state=long),
        lambda: metric_test([long, "b"] * 6, Y_SCORE),
        lambda: metric_test(Y_TRUE, [long] * 12),
        lambda: metric_test(long, Y_SCORE),
        lambda: rankinf.metric_interval(*DATA, groups=long),
        lambda: rankinf.metric_interval(*DATA, clusters=[[long]] * 12),
        lambda: rankinf.metric_interval(*DATA, confidence_level=many),
        lambda: rankinf.metric_power(20, 5, odds=many),
        lambda: rankinf.min_hits_at_k(20, 5, k=3, alpha=many),
        lambda: rankinf.ap_null_distribution(9, 3).pvalue(["a"] * 10**5),
        lambda: rankinf.ap_null_distribution(9, 3).interval(many),
    ):
        with pytest.raises((TypeError, ValueError)) as raised:
            call()
        assert len(str(raised.value)) < 600


@pytest.mark.parametrize("wrong", ["x", b"x", ["x"], 3, None])
def test_displays_of_other_objects(wrong):
    for display in (
        rankinf.NullDistributionDisplay,
        rankinf.CurveDisplay,
        rankinf.IntervalDisplay,
        rankinf.ComparisonDisplay,
        rankinf.LeaderboardDisplay,
        rankinf.PowerDisplay,
        rankinf.TopKSignificanceDisplay,
    ):
        with pytest.raises(TypeError, match=r"(results?|curve) must be "):
            display(wrong)


# Floating-point errors.


def many_samples():
    rng = np.random.default_rng(0)
    positive = np.arange(400) < 30
    return positive, rng.normal(size=400) + 2 * positive, rng.normal(size=400) + positive


def moments_and_draws(null):
    return null.stats("mvsk"), null.rvs(50, random_state=0).tolist()


UNDER_ANY_ERRORS = {
    "metric_test": lambda y, a, b: metric_test(y, a),
    "metric_test of ties": lambda y, a, b: metric_test(y, a.round(1), metric="dcg"),
    "metric_test of Bedroc": lambda y, a, b: metric_test(y, a, metric=rankinf.Bedroc(2000.0)),
    "metric_test of RIE": lambda y, a, b: metric_test(
        y, a, metric=rankinf.RobustInitialEnhancement(5000.0)
    ),
    "metric_interval": lambda y, a, b: rankinf.metric_interval(y, a, metric=rankinf.Bedroc(2000.0)),
    "metric_comparison_test": lambda y, a, b: rankinf.metric_comparison_test(
        y, {"a": a, "b": b}, metric=rankinf.RobustInitialEnhancement(5000.0), n_resamples=99
    ),
    "metric_curve": lambda y, a, b: rankinf.metric_curve(y, a),
    "pvalue": lambda y, a, b: metric_null_distribution(300, 20, metric="bedroc").pvalue(
        [-1e308, 0.0, 0.5, 1.0, 2.0, 1e308]
    ),
    "pvalue of recall": lambda y, a, b: metric_null_distribution(
        300, 20, metric="recall@50"
    ).pvalue([-1e308, 0.0, 0.5, 1.0, 2.0, 1e308]),
    "moments and rvs of listed values": lambda y, a, b: moments_and_draws(
        metric_null_distribution(20_000, 2000, metric=rankinf.ReciprocalRank())
    ),
    "moments and rvs": lambda y, a, b: moments_and_draws(
        metric_null_distribution(5000, 50, metric=rankinf.Bedroc(2000.0))
    ),
    "rvs of F": lambda y, a, b: (
        rankinf.PrecisionRecallPosterior(0, 0, 3, prior=0.01).f_score().rvs(1000, random_state=0)
    ),
    "ppf": lambda y, a, b: rankinf.ap_null_distribution(60, 8).ppf([0.0, 1e-300, 0.5, 1.0]),
    "metric_power": lambda y, a, b: rankinf.metric_power(300, 20, auc=0.9, n_resamples=50),
    "min_positives": lambda y, a, b: rankinf.min_positives(
        prevalence=0.01, odds=3.0, metric="recall@0.01"
    ),
    "binormal": lambda y, a, b: (
        rankinf.BinormalPrecisionRecallCurve(1e-5, 3.0, 1.0, 0.0, 1.0).average_precision
    ),
    "best_candidate_test": lambda y, a, b: rankinf.best_candidate_test(
        y, {"a": a, "b": b}, n_resamples=99
    ),
    "rank_significance_report": lambda y, a, b: rankinf.rank_significance_report(
        y, {"a": a, "b": b}, n_resamples=99
    ),
    "average_precision_test": lambda y, a, b: rankinf.average_precision_test(
        y, a, groups=np.arange(400) % 5
    ),
}


@pytest.mark.parametrize("name", UNDER_ANY_ERRORS)
def test_floating_point_errors_that_raise(name):
    call = UNDER_ANY_ERRORS[name]
    data = many_samples()
    with np.errstate(all="raise"):
        # First, so that nothing of it is found in a cache.
        found = plain(call(*data))
    assert found == plain(call(*data))
