"""Significance inside scikit-learn's model selection.

scorers         significance scorers
folds           permutation of labels over folds, checks of folds, and means over folds
search          significance of whole searches
significance    significance over folds
comparison      comparison of two estimators by cross-validation
best_candidate  the best of several rankers
"""

from sklearn_rankinf._model_selection.scorers import average_precision_significance_scorer
