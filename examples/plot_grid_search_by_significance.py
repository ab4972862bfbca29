"""
====================================
A grid search scored by significance
====================================

A search over parameters needs a score. For rare positives the usual score is average precision
(AP). But an AP of 0.3 has no fixed meaning. With 3 positives among 100 items, one ranking in thirty
reaches it by chance. With 30 positives among 1000, fewer than one in a billion do. The evidence
against chance, −log10 p, is comparable between folds and data sets.
:func:`~sklearn_rankinf.average_precision_significance_scorer` provides it for every scikit-learn
tool with a ``scoring`` argument.

This example runs such a search for rare positives, shows why the p-values of a search must not come
from a few hundred permutations, and explains what the numbers of a search do not show.
"""

# %%
# Rare positives
# --------------
# The data set has 2000 items with 20 features; about one item in thirty is positive, and the
# positives form several groups. 40 % of the items are held out and not used in the search.

from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.svm import SVC

X, y = make_classification(
    2000,
    n_informative=6,
    n_clusters_per_class=3,
    weights=[0.97],
    class_sep=0.8,
    flip_y=0.01,
    random_state=3,
)
X_search, X_test, y_search, y_test = train_test_split(
    X, y, test_size=0.4, stratify=y, random_state=0
)
print(f"search: {y_search.sum()} positives among {len(y_search)} items")
print(f"held out: {y_test.sum()} positives among {len(y_test)} items")

# %%
# The search
# ----------
# One argument makes it a search by significance. Stratified folds distribute the few positives
# evenly. Each fold tests a ranking of 240 items with 8 positives.

from sklearn_rankinf import average_precision_significance_scorer

grid = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.003, 0.01, 0.03, 0.1, 0.3]}
folds = StratifiedKFold(5, shuffle=True, random_state=0)
search = GridSearchCV(SVC(), grid, scoring=average_precision_significance_scorer, cv=folds)
search.fit(X_search, y_search)
print(f"best parameters: {search.best_params_}")
print(f"mean of −log10 p over the folds: {search.best_score_:.2f}")

# %%
# Exact p-values and permutation p-values
# ---------------------------------------
# ``method="both"`` computes every p-value twice for the same predictions: from the exact null
# distribution, and from 999 random labellings. It returns a dict of scorers, which a search accepts
# directly; ``refit`` is the key of the score that selects the winner. The permutation scorer issues
# a warning, which is caught here in order to print it.

import warnings

from sklearn_rankinf import make_significance_scorer

both = GridSearchCV(
    SVC(),
    grid,
    scoring=make_significance_scorer(method="both", n_resamples=999),
    refit="neg_log10_pvalue_analytic",
    cv=folds,
)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", UserWarning)
    both.fit(X_search, y_search)
print(f"{len(caught)} warnings such as:\n{caught[0].message}")

# %%
# A permutation p-value is (b + 1)/(B + 1), where b of the B random labellings are at least as good
# as the observed one. It is never below 1/(B + 1), here 0.001. If all five folds are at this lower
# limit, the mean of −log10 p is exactly 3, however good the parameter setting is. The two plots
# show the same settings on the same folds.

import matplotlib.pyplot as plt
import numpy as np

METHODS = {"analytic": "exact", "permutation": "999 permutations"}
shape = len(grid["C"]), len(grid["gamma"])
evidence = {
    method: both.cv_results_[f"mean_test_neg_log10_pvalue_{method}"].reshape(shape)
    for method in METHODS
}
scale = {"vmin": 0.0, "vmax": evidence["analytic"].max(), "cmap": "YlGnBu"}

figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.6), layout="constrained", sharey=True)
for axis, (method, name) in zip(axes, METHODS.items(), strict=True):
    image = axis.imshow(evidence[method], aspect="auto", origin="lower", **scale)
    for (row, column), value in np.ndenumerate(evidence[method]):
        color = "white" if value > 0.6 * scale["vmax"] else "#1b1b1b"
        axis.text(
            column, row, f"{value:.2f}", ha="center", va="center", color=color, fontsize="small"
        )
    axis.set_xticks(range(shape[1]), grid["gamma"])
    axis.set_yticks(range(shape[0]), grid["C"])
    axis.set(xlabel="gamma", title=name)
axes[0].set_ylabel("C")
figure.colorbar(image, ax=axes, label="mean of −log10 p over five folds")
plt.show()

# %%
# Many parameter settings tie under permutation, and a search selects the first of them. The search
# by permutation and the exact p-values select the following settings, listed with their exact
# evidence and their average precision over the same folds:

permutation = both.cv_results_["mean_test_neg_log10_pvalue_permutation"]
exact = both.cv_results_["mean_test_neg_log10_pvalue_analytic"]
ap = both.cv_results_["mean_test_statistic"]
tied = np.flatnonzero(permutation >= permutation.max() - 1e-9)
print(f"{tied.size} of {permutation.size} parameter settings share the best permutation score")
for name, setting in (("by permutation", tied[0]), ("by exact p-value", np.argmax(exact))):
    parameters = both.cv_results_["params"][setting]
    print(f"{name:17} {parameters}: exact {exact[setting]:.2f}, AP {ap[setting]:.3f}")

# %%
# More permutations lower the limit, but slowly. The exact p-values of the best parameter setting
# show how many permutations would be needed in each fold to resolve them.

best = int(np.argmax(exact))
for fold in range(folds.get_n_splits()):
    pvalue = both.cv_results_[f"split{fold}_test_pvalue_analytic"][best]
    shown = both.cv_results_[f"split{fold}_test_pvalue_permutation"][best]
    print(f"fold {fold}: exact p {pvalue:.1e}, by permutation {shown:.3f}, 1/p {1 / pvalue:.0e}")

# %%
# What do these numbers not show?
# -------------------------------
# The mean of −log10 p over the folds ranks the parameter settings. It is not a measure of evidence,
# and 10 to the power of minus this mean is not a p-value, for three reasons. A mean of logarithms
# of p-values is not the logarithm of a p-value. The folds share training data, so their p-values
# are not independent. And the winner was selected because its numbers are large: the best of twenty
# settings looks good even if all twenty rank no better than chance.
#
# Two conclusions are valid. The first uses Bonferroni's rule, which holds for p-values with any
# dependence: the smallest p-value times their number. For one setting that was fixed in advance
# this number is five, one for each fold. For the winner of a search the p-values of all settings
# count:

n_pvalues = exact.size * folds.get_n_splits()
smallest = min(
    both.cv_results_[f"split{fold}_test_pvalue_analytic"].min()
    for fold in range(folds.get_n_splits())
)
print(f"{n_pvalues} p-values, the smallest {smallest:.1e}: Bonferroni {n_pvalues * smallest:.1e}")

# %%
# This p-value shows that some setting on some fold is better than chance. The rule has little
# power, and it does not test the fitted winner.
#
# The second uses held-out data that took no part in the search. A single test of the refitted
# winner on these data needs no correction. :class:`~sklearn_rankinf.NullDistributionDisplay` draws
# the exact null distribution of AP and the observed AP. The left plot shows densities, also of 9999
# random labellings. The right plot shows the p-value of each AP.

from sklearn_rankinf import NullDistributionDisplay, average_precision_test

result = average_precision_test(y_test, search.decision_function(X_test))
print(f"AP {result.statistic:.3f}, by chance {result.null_distribution.mean():.3f}")
print(f"adjusted AP {result.adjusted_statistic:.3f}, p = {result.pvalue:.1e}")

display = NullDistributionDisplay(result, name="winner of the search")
figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.8), layout="constrained")
display.plot(axes[0], y_axis="density", n_resamples=9999, despine=True)
display.plot(axes[1], despine=True)
plt.show()

# %%
# None of the random labellings comes near the observed value, so a permutation test could only have
# reported p = 0.0001. The normal approximation has the correct mean and standard deviation, but its
# p-value would be wrong by many orders of magnitude. The test shows that the ranking is better than
# chance. The adjusted AP shows how good it is.
