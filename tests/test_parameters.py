"""Parameters of every numeric type: they are read as Python's numbers, or refused in one sentence.

Options, and values that are too large, too long or of a wrong type, are refused in the same way.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import sklearn_rankinf as rankinf
from sklearn_rankinf import metric_null_distribution, metric_test

Y_TRUE = np.array([1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0])
Y_SCORE = np.array([9.0, 8, 7, 6, 5, 4, 3.5, 3, 2, 1, 0.5, 0])
OTHER = np.array([8.0, 9, 3, 6, 5, 4, 1, 7, 2, 0, 0.5, 1])
GROUPS = np.repeat([0, 1, 2], 4)
DATA = Y_TRUE, Y_SCORE

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
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
    "RecallAtK, array": ("k", 3, lambda x: value(rankinf.RecallAtK(np.array(x)))),
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
    "enrichment_at_k_score": ("k", 3, lambda x: rankinf.enrichment_at_k_score(*DATA, k=x)),
    "f_score_at_k_score": ("k", 3, lambda x: rankinf.f_score_at_k_score(*DATA, k=x)),
    "bedroc_score": ("alpha", 20, lambda x: rankinf.bedroc_score(*DATA, alpha=x)),
    "rie_score": ("alpha", 20, lambda x: rankinf.rie_score(*DATA, alpha=x)),
    "interpolated_average_precision_score": (
        "n_levels",
        11,
        lambda x: rankinf.interpolated_average_precision_score(*DATA, n_levels=x),
    ),
    "metric_test": (
        "n_permutations",
        30,
        lambda x: metric_test(*DATA, method="permutation", n_permutations=x),
    ),
    "metric_test, n_exceedances": (
        "n_exceedances",
        3,
        lambda x: metric_test(*DATA, method="permutation", n_permutations=50, n_exceedances=x),
    ),
    "metric_test, random_state": (
        "random_state",
        3,
        lambda x: metric_test(*DATA, method="permutation", n_permutations=50, random_state=x),
    ),
    "metric_test, n_jobs": ("n_jobs", 1, lambda x: metric_test(*DATA, n_jobs=x)),
    "metric_test, verbose": ("verbose", 0, lambda x: metric_test(*DATA, verbose=x)),
    "metric_test, block_length": (
        "block_length",
        2,
        lambda x: metric_test(
            *DATA, order=np.arange(12), block_length=x, method="permutation", n_permutations=30
        ),
    ),
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
    "metric_null_distribution": (
        "k",
        5,
        lambda x: metric_null_distribution(50, 20, metric="recall_at_k", k=x),
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
        "max_k",
        4,
        lambda x: rankinf.top_k_significance_curve(*DATA, max_k=x),
    ),
    "metric_interval": (
        "n_resamples",
        30,
        lambda x: rankinf.metric_interval(*DATA, groups=GROUPS, method="bootstrap", n_resamples=x),
    ),
    "metric_comparison_test": (
        "n_permutations",
        30,
        lambda x: rankinf.metric_comparison_test(*DATA, OTHER, n_permutations=x),
    ),
    "best_candidate_test": (
        "n_permutations",
        30,
        lambda x: rankinf.best_candidate_test(Y_TRUE, {"a": Y_SCORE, "b": OTHER}, n_permutations=x),
    ),
    "mean_average_precision_test": (
        "n_permutations",
        30,
        lambda x: rankinf.mean_average_precision_test(
            *DATA, groups=np.repeat([0, 1], 6), method="permutation", n_permutations=x
        ),
    ),
    "randomization_test": (
        "n_permutations",
        30,
        lambda x: rankinf.randomization_test(
            Y_TRUE, Y_SCORE > 3, OTHER > 3, metric="f1", method="randomization", n_permutations=x
        ),
    ),
    "score_strata": ("n_per_stratum", 3, lambda x: rankinf.score_strata(Y_SCORE, n_per_stratum=x)),
    "metric_power": ("n_samples", 60, lambda x: rankinf.metric_power(x, 5, odds=2.0, metric="rie")),
    "metric_power, n_positives": (
        "n_positives",
        5,
        lambda x: rankinf.metric_power(60, x, odds=2.0, metric=rankinf.RecallAtK(6)),
    ),
    "metric_power, n_simulations": (
        "n_simulations",
        30,
        lambda x: rankinf.metric_power(60, 5, odds=2.0, method="simulation", n_simulations=x),
    ),
    "metric_power, odds": (
        "odds",
        3,
        lambda x: rankinf.metric_power(60, 5, odds=x, metric=rankinf.RecallAtK(6)),
    ),
    "min_detectable_odds": ("n_samples", 60, lambda x: rankinf.min_detectable_odds(x, 5, k=3)),
    "min_positives": (
        "odds",
        3,
        lambda x: rankinf.min_positives(prevalence=0.1, odds=x, metric="recall_at_k", k=0.1),
    ),
    "metric_comparison_power": (
        "n_simulations",
        3,
        lambda x: rankinf.metric_comparison_power(
            30, 9, auc_a=0.8, auc_b=0.7, metric="roc_auc", method="delong", n_simulations=x
        ),
    ),
    "metric_interval_width": (
        "n_simulations",
        3,
        lambda x: rankinf.metric_interval_width(30, 9, auc=0.8, n_simulations=x),
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
    "AveragePrecision": ("k", 0.3, lambda x: value(rankinf.AveragePrecision(k=x))),
    "RecallAtK": ("k", 0.3, lambda x: value(rankinf.RecallAtK(x))),
    "RecallAtK, list": (
        "k",
        0.3,
        lambda x: repr(metric_test(*DATA, metric=rankinf.RecallAtK([x, 2])).pvalue.tolist()),
    ),
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
    "bedroc_score": ("alpha", 20.3, lambda x: rankinf.bedroc_score(*DATA, alpha=x)),
    "metric_test": ("k", 0.3, lambda x: metric_test(*DATA, metric="recall_at_k", k=x)),
    "pvalue": ("x", 0.3, lambda x: rankinf.ap_null_distribution(90, 13).pvalue(x)),
    "ppf": ("q", 0.3, lambda x: rankinf.ap_null_distribution(90, 13).ppf(x)),
    "isf of recall": (
        "q",
        0.3,
        lambda x: metric_null_distribution(50, 20, metric="recall_at_k", k=5).isf(x),
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
        lambda x: rankinf.metric_comparison_test(*DATA, OTHER).confidence_interval(x),
    ),
    "metric_comparison_test": (
        "margin",
        0.3,
        lambda x: rankinf.metric_comparison_test(*DATA, OTHER, margin=x),
    ),
    "metric_multiple_comparison_test": (
        "confidence_level",
        0.93,
        lambda x: rankinf.metric_multiple_comparison_test(
            Y_TRUE, {"a": Y_SCORE, "b": OTHER, "c": -OTHER}, confidence_level=x
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
        lambda x: rankinf.min_positives(prevalence=x, odds=3.0, metric="recall_at_k", k=0.1),
    ),
    "metric_comparison_power": (
        "auc_a",
        0.7,
        lambda x: rankinf.metric_comparison_power(
            30, 9, auc_a=x, auc_b=0.6, metric="roc_auc", method="delong", n_simulations=3
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
            n_simulations=3,
        ),
    ),
    "metric_interval_width": (
        "confidence_level",
        0.93,
        lambda x: rankinf.metric_interval_width(
            30, 9, auc=0.8, confidence_level=x, n_simulations=3
        ),
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
        lambda x: rankinf.rank_significance_report(*DATA, alpha=x, n_permutations=30),
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


@pytest.mark.filterwarnings("ignore::UserWarning")
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
        if isinstance(one, np.ndarray) and name in ("RecallAtK, array", "metric_null_distribution"):
            continue  # several cut-offs
        if isinstance(one, np.ndarray) and parameter in ("k", "size"):
            continue
        with pytest.raises((TypeError, ValueError), match=parameter):
            call(one)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", OF_REALS)
def test_real_numbers_of_every_type(name):
    parameter, number, call = OF_REALS[name]
    for kind in REALS:
        given = kind(number)
        assert plain(call(given)) == plain(call(float(given))), kind
    wrong = ["x", complex(number), object()]
    if parameter not in ("x", "q", "confidence", "recall"):  # as in scipy
        wrong += [True, np.True_]
    for one in wrong:
        with pytest.raises((TypeError, ValueError), match=parameter):
            call(one)
