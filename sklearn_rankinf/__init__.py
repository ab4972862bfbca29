"""Exact inference on rankings of rare targets, inside scikit-learn's tools."""

from sklearn_rankinf import _interrupt  # noqa: F401
from sklearn_rankinf._engine.statistics import RankStatistic
from sklearn_rankinf._model_selection import (
    CrossValSignificanceResult,
    SearchPermutationTestResult,
    SimplestWithinOneStandardError,
    cross_val_significance,
    search_permutation_test,
)
from sklearn_rankinf._null_distributions import ap_null_distribution
from sklearn_rankinf._plot.null_distribution import NullDistributionDisplay
from sklearn_rankinf._queries import (
    MeanAveragePrecisionTestResult,
    map_null_distribution,
    mean_average_precision_score,
    mean_average_precision_test,
)
from sklearn_rankinf._rank_statistics import (
    RankStatisticTestResult,
    bedroc_null_distribution,
    bedroc_test,
    dcg_null_distribution,
    dcg_test,
    enrichment_at_k_null_distribution,
    enrichment_at_k_test,
    rank_statistic_null_distribution,
    rank_statistic_test,
    reciprocal_rank_null_distribution,
    reciprocal_rank_test,
    rie_null_distribution,
    rie_test,
    roc_auc_null_distribution,
    roc_auc_test,
)
from sklearn_rankinf._ranking import Ranking
from sklearn_rankinf._registry import register_metric
from sklearn_rankinf._restricted import score_strata
from sklearn_rankinf._scorers import (
    average_precision_significance_scorer,
    make_significance_scorer,
)
from sklearn_rankinf._scores import (
    adjusted_average_precision_score,
    average_precision_at_k_score,
    average_precision_neg_log10_pvalue,
    average_precision_pvalue,
    bedroc_score,
    enrichment_at_k_score,
    precision_at_k_score,
    r_precision_score,
    recall_at_k_score,
    reciprocal_rank_score,
    rie_score,
    standardized_average_precision_score,
)
from sklearn_rankinf._selection import BestCandidateTestResult, best_candidate_test
from sklearn_rankinf._significance import AveragePrecisionTestResult, average_precision_test
from sklearn_rankinf._top_k import (
    TopKTestResult,
    min_hits_at_k,
    precision_at_k_test,
    recall_at_k_test,
)
from sklearn_rankinf._top_k_distributions import (
    precision_at_k_null_distribution,
    recall_at_k_null_distribution,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "AveragePrecisionTestResult",
    "BestCandidateTestResult",
    "CrossValSignificanceResult",
    "MeanAveragePrecisionTestResult",
    "NullDistributionDisplay",
    "RankStatistic",
    "RankStatisticTestResult",
    "Ranking",
    "SearchPermutationTestResult",
    "SimplestWithinOneStandardError",
    "TopKTestResult",
    "adjusted_average_precision_score",
    "ap_null_distribution",
    "average_precision_at_k_score",
    "average_precision_neg_log10_pvalue",
    "average_precision_pvalue",
    "average_precision_significance_scorer",
    "average_precision_test",
    "bedroc_null_distribution",
    "bedroc_score",
    "bedroc_test",
    "best_candidate_test",
    "cross_val_significance",
    "dcg_null_distribution",
    "dcg_test",
    "enrichment_at_k_null_distribution",
    "enrichment_at_k_score",
    "enrichment_at_k_test",
    "make_significance_scorer",
    "map_null_distribution",
    "mean_average_precision_score",
    "mean_average_precision_test",
    "min_hits_at_k",
    "precision_at_k_null_distribution",
    "precision_at_k_score",
    "precision_at_k_test",
    "r_precision_score",
    "rank_statistic_null_distribution",
    "rank_statistic_test",
    "recall_at_k_null_distribution",
    "recall_at_k_score",
    "recall_at_k_test",
    "reciprocal_rank_null_distribution",
    "reciprocal_rank_score",
    "reciprocal_rank_test",
    "register_metric",
    "rie_null_distribution",
    "rie_score",
    "rie_test",
    "roc_auc_null_distribution",
    "roc_auc_test",
    "score_strata",
    "search_permutation_test",
    "standardized_average_precision_score",
]
