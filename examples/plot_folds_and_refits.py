"""
==============================
One conclusion from five folds
==============================

Cross-validation yields a ranking of held-out items in each fold, and every ranking has an exact
p-value. How can the five p-values be combined? The training sets overlap, so the p-values are
dependent and must not be multiplied. This example tests a classifier of rare positives with
:func:`~sklearn_rankinf.cross_val_significance` in several valid ways. It then shows an invalid
combination, and tests the winner of a search.
"""

# %%
# Rare positives
# --------------
# There are 400 items with six features. One item in ten is positive. The positives are shifted
# slightly along the first feature. The rows are in random order.

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold


def make_data(rng, shift, n_items=400, n_positives=40):
    """Return labels in random order, and features whose first one is shifted for positives."""
    y = rng.permutation(np.repeat([1, 0], [n_positives, n_items - n_positives]))
    X = rng.normal(size=(n_items, 6))
    X[:, 0] += shift * y
    return X, y


X, y = make_data(np.random.default_rng(1), shift=1.2)
model = LogisticRegression()
folds = StratifiedKFold(5, shuffle=True, random_state=0)

# %%
# Folds, combination and refits
# -----------------------------
# The default combination is five times the smallest of the five p-values. It is valid under any
# dependence of the folds. ``method="refit"`` is another test: the whole cross-validation is
# repeated for 199 permutations of the labels.

from sklearn_rankinf import cross_val_significance

result = cross_val_significance(model, X, y, cv=folds)
refits = cross_val_significance(model, X, y, cv=folds, method="refit", n_resamples=199)
print("fold    n   m     AP        p       z")
for number, test in enumerate(result.fold_tests):
    print(
        f"{number:4d} {test.n_samples:4d} {test.n_positives:3d}  {test.statistic:.3f}  "
        f"{test.pvalue:7.5f}  {test.zscore:6.2f}"
    )
print(f"mean AP {result.statistic:.3f}")
print(f"combined p = {result.pvalue:.2g}")
print(f"p of the refits = {refits.pvalue:.4f}, at least 1/200")

# %%
# The two tests answer different questions. The p-value of a fold concerns one fitted model: does it
# rank these held-out items better than chance? The refits concern the procedure: could labels that
# are independent of the features yield such a high mean? The second test uses all folds together
# and includes the variation of the fit. It costs one cross-validation per permutation, and its
# p-value is at least 1/(B + 1) for B permutations.

import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3.6), layout="constrained")
names = [f"fold {number}" for number in range(5)] + ["Bonferroni", "refits"]
pvalues = [*result.fold_pvalues, result.pvalue, refits.pvalue]
colors = ["#8d99ae"] * 5 + ["#00798c", "#d1495b"]
left.barh(names[::-1], -np.log10(pvalues[::-1]), color=colors[::-1])
left.axvline(-np.log10(0.05), color="#1b1b1b", linewidth=0.8, linestyle="--")
left.set(xlabel="−log10 p (dashed: p = 0.05)")
right.hist(refits.permuted_statistics, bins=25, color="#d1495b", alpha=0.5, label="permuted labels")
right.axvline(refits.statistic, color="#1b1b1b", label="observed")
right.set(xlabel="mean AP over folds", ylabel="refits")
figure.legend(*right.get_legend_handles_labels(), loc="outside upper center", ncols=2)
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Other combinations
# ------------------
# Two other combinations are available for folds that are refitted. Twice the mean is as safe as
# Bonferroni's rule, but rarely finds an effect that is not visible in every fold. Cauchy's
# combination has no guarantee, and its size may slightly exceed the level. The model does not have
# to be fitted again: the result of ``cross_validate`` with estimators and indices can be reused.

from sklearn.model_selection import cross_validate

fitted = cross_validate(model, X, y, cv=folds, return_estimator=True, return_indices=True)
for method in ("bonferroni", "twice_mean", "cauchy"):
    print(f"{method:12} p = {cross_val_significance(fitted, X, y, method=method).pvalue:.2g}")

# %%
# A ranker that was fitted elsewhere is different. The folds of its test data are independent, and
# the mean over them has an exact null distribution. The ranker must be frozen. Otherwise it would
# be fitted again in each fold.

from sklearn.frozen import FrozenEstimator

ranker = FrozenEstimator(model.fit(X[:200], y[:200]))
result = cross_val_significance(ranker, X[200:], y[200:], cv=folds, method="convolution")
null = result.null_distribution
print(f"mean AP {result.statistic:.3f}, by chance {null.mean():.3f}, sd {null.std():.3f}")
print(f"p = {result.pvalue:.2g}")

# %%
# The size under noise
# --------------------
# The same model is tested on 80 data sets of noise, with five random splits each. Fisher's
# combination assumes independent folds. These folds are dependent: they share training data, and
# held-out data, too. :func:`~sklearn_rankinf.cross_val_significance` raises an error for this
# combination, so it is computed separately here.

from scipy.stats import combine_pvalues
from sklearn.model_selection import StratifiedShuffleSplit

rng = np.random.default_rng(5)
splits = StratifiedShuffleSplit(5, test_size=0.3, random_state=0)
bonferroni, fisher = [], []
for _ in range(80):
    X_noise, y_noise = make_data(rng, shift=0.0, n_items=100, n_positives=25)
    noise = cross_val_significance(model, X_noise[:, :2], y_noise, cv=splits)
    bonferroni.append(noise.pvalue)
    fisher.append(combine_pvalues(noise.fold_pvalues, method="fisher").pvalue)
for name, found in (("Bonferroni", bonferroni), ("Fisher", fisher)):
    print(f"{name:10} size {np.mean(np.array(found) <= 0.05):.1%} at the 5 % level")

# %%
# The winner of a search
# ----------------------
# The best of many parameter settings has a high score even for noise. In this example, a search
# over neighbours and weights runs on labels that are noise. The best score alone is misleading.
# :func:`~sklearn_rankinf.search_permutation_test` also runs the search on permuted labels and
# compares the observed best score with the best scores of those searches.

from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

from sklearn_rankinf import search_permutation_test

X_noise, y_noise = make_data(np.random.default_rng(0), shift=0.0, n_items=120, n_positives=30)
search = GridSearchCV(
    KNeighborsClassifier(),
    {"n_neighbors": [1, 3, 7, 15, 31], "weights": ["uniform", "distance"]},
    scoring="average_precision",
    cv=StratifiedKFold(3, shuffle=True, random_state=0),
)
tested = search_permutation_test(search, X_noise, y_noise, n_resamples=39)
low, high = tested.pvalue_interval()
print(f"best AP {tested.statistic:.3f} with {y_noise.mean():.0%} positives")
print(f"p = {tested.pvalue:.3f}, 95 % interval of its Monte Carlo error {low:.2f} to {high:.2f}")

# %%
# The choice of the winner can prefer simple models: a search accepts a rule as ``refit``. The rule
# of this example selects the largest number of neighbours whose mean over the folds is within one
# standard error of the best mean.

from sklearn_rankinf import average_precision_significance_scorer


def simplest_within_one_standard_error(cv_results):
    means, stds = cv_results["mean_test_score"], cv_results["std_test_score"]
    best = means.argmax()
    near = np.flatnonzero(means >= means[best] - stds[best] / np.sqrt(search.cv.n_splits - 1))
    return int(max(near, key=lambda i: cv_results["params"][i]["n_neighbors"]))


search.set_params(
    scoring=average_precision_significance_scorer, refit=simplest_within_one_standard_error
)
print(search.fit(X, y).best_params_)
