from sklearn_rankinf._classification.posteriors import (
    PrecisionRecallPosterior,
    paired_outcome_posterior,
)
from sklearn_rankinf._classification.randomization import randomization_test
from sklearn_rankinf._estimation.binormal_curve import (
    BinormalPrecisionRecallCurve,
    binormal_average_precision_score,
)
from sklearn_rankinf._estimation.comparison import metric_comparison_test
from sklearn_rankinf._estimation.curves import metric_curve
from sklearn_rankinf._estimation.group_comparison import metric_group_comparison_test
from sklearn_rankinf._estimation.intervals import metric_interval
from sklearn_rankinf._estimation.multiple_comparison import (
    metric_multiple_comparison_test,
    values_multiple_comparison_test,
)
from sklearn_rankinf._estimation.operating_points import items_to_examine, optimal_cutoff
from sklearn_rankinf._estimation.threshold import threshold_interval
from sklearn_rankinf._metrics.average_precision import AveragePrecision
from sklearn_rankinf._metrics.hits_at_k import (
    EnrichmentAtK,
    FScoreAtK,
    PrecisionAtK,
    RecallAtK,
    ReciprocalRank,
)
from sklearn_rankinf._metrics.operating_points import (
    PrecisionAtRecall,
    RecallAtFpr,
    RecallAtPrecision,
)
from sklearn_rankinf._metrics.rank_sums import (
    Bedroc,
    DiscountedCumulativeGain,
    RankStatistic,
    RobustInitialEnhancement,
    RocAuc,
    RPrecision,
)
from sklearn_rankinf._model_selection.best_candidate import best_candidate_test
from sklearn_rankinf._model_selection.comparison import (
    cross_val_comparison,
)
from sklearn_rankinf._model_selection.scorers import (
    average_precision_significance_scorer,
    make_significance_scorer,
)
from sklearn_rankinf._model_selection.search import search_permutation_test
from sklearn_rankinf._model_selection.significance import cross_val_significance
from sklearn_rankinf._null.metrics import (
    ap_null_distribution,
    metric_null_distribution,
)
from sklearn_rankinf._planning.power import metric_power
from sklearn_rankinf._planning.sample_size import min_detectable_odds, min_positives
from sklearn_rankinf._planning.simulation import (
    metric_comparison_power,
    metric_interval_width,
)
from sklearn_rankinf._plot.comparison import ComparisonDisplay
from sklearn_rankinf._plot.curve import CurveDisplay
from sklearn_rankinf._plot.interval import IntervalDisplay
from sklearn_rankinf._plot.leaderboard import LeaderboardDisplay
from sklearn_rankinf._plot.null_distribution import NullDistributionDisplay
from sklearn_rankinf._plot.power import PowerDisplay
from sklearn_rankinf._plot.top_k import TopKSignificanceDisplay
from sklearn_rankinf._ranking import Ranking
from sklearn_rankinf._ranking.runs import align_runs
from sklearn_rankinf._report.report import rank_significance_report
from sklearn_rankinf._significance.metric_test import metric_test
from sklearn_rankinf._significance.min_hits import min_hits_at_k
from sklearn_rankinf._significance.minimum_hypergeometric import (
    minimum_hypergeometric_test,
)
from sklearn_rankinf._significance.named_tests import (
    average_precision_test,
    recall_at_k_test,
)
from sklearn_rankinf._significance.scores import (
    adjusted_average_precision_score,
    average_precision_at_k_score,
    average_precision_neg_log10_pvalue,
    average_precision_pvalue,
    interpolated_average_precision_score,
    mean_average_precision_score,
    precision_at_k_score,
    recall_at_k_score,
    standardized_average_precision_score,
)
from sklearn_rankinf._significance.top_k_curve import top_k_significance_curve

__version__: str

__all__ = [
    "AveragePrecision",
    "Bedroc",
    "BinormalPrecisionRecallCurve",
    "ComparisonDisplay",
    "CurveDisplay",
    "DiscountedCumulativeGain",
    "EnrichmentAtK",
    "FScoreAtK",
    "IntervalDisplay",
    "LeaderboardDisplay",
    "NullDistributionDisplay",
    "PowerDisplay",
    "PrecisionAtK",
    "PrecisionAtRecall",
    "PrecisionRecallPosterior",
    "RPrecision",
    "RankStatistic",
    "Ranking",
    "RecallAtFpr",
    "RecallAtK",
    "RecallAtPrecision",
    "ReciprocalRank",
    "RobustInitialEnhancement",
    "RocAuc",
    "TopKSignificanceDisplay",
    "adjusted_average_precision_score",
    "align_runs",
    "ap_null_distribution",
    "average_precision_at_k_score",
    "average_precision_neg_log10_pvalue",
    "average_precision_pvalue",
    "average_precision_significance_scorer",
    "average_precision_test",
    "best_candidate_test",
    "binormal_average_precision_score",
    "cross_val_comparison",
    "cross_val_significance",
    "interpolated_average_precision_score",
    "items_to_examine",
    "make_significance_scorer",
    "mean_average_precision_score",
    "metric_comparison_power",
    "metric_comparison_test",
    "metric_curve",
    "metric_group_comparison_test",
    "metric_interval",
    "metric_interval_width",
    "metric_multiple_comparison_test",
    "metric_null_distribution",
    "metric_power",
    "metric_test",
    "min_detectable_odds",
    "min_hits_at_k",
    "min_positives",
    "minimum_hypergeometric_test",
    "optimal_cutoff",
    "paired_outcome_posterior",
    "precision_at_k_score",
    "randomization_test",
    "rank_significance_report",
    "recall_at_k_score",
    "recall_at_k_test",
    "search_permutation_test",
    "standardized_average_precision_score",
    "threshold_interval",
    "top_k_significance_curve",
    "values_multiple_comparison_test",
]
