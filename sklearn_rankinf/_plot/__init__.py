"""Pictures of results: a display only draws, and imports matplotlib when it does.

base                 what all displays share: reading of results, rankers, estimators and folds
null_distribution    a null distribution and the observed value
top_k                hits at every k with the bounds by chance
curve                precision-recall, ROC, recall and gain curves with their limits
interval             confidence intervals, one row each
comparison           two rankers and their difference, or the differences of many
leaderboard          limits of the ranks of many, and letters of those that are tied
power                power against size or effect
"""

from sklearn_rankinf._plot.base import new_figure
from sklearn_rankinf._plot.comparison import ComparisonDisplay
from sklearn_rankinf._plot.curve import CurveDisplay
from sklearn_rankinf._plot.interval import IntervalDisplay, draw_chance_levels
from sklearn_rankinf._plot.leaderboard import LeaderboardDisplay
from sklearn_rankinf._plot.null_distribution import NullDistributionDisplay, null_figure
from sklearn_rankinf._plot.top_k import TopKSignificanceDisplay
