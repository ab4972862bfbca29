"""
========================================
Several classes, separately and together
========================================

A classifier of ten classes produces ten rankings of the same items. Is each of them better than
chance? Is their average? The first question has an exact answer for every class. The second has no
exact answer, because the classes are dependent: they share their items, and each item belongs to
one class only. For this question whole rows of labels are permuted, for all classes together.

The data are scikit-learn's handwritten digits. The classifier is trained on too few of them.
"""

# %%
# A poor classifier
# -----------------
# There are ten digits. 30 images train the model and 300 others test it. The features have a low
# resolution: the four quarters of each image, plus noise.

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

images, digit = load_digits(return_X_y=True)
quarters = images.reshape(-1, 2, 4, 2, 4).mean(axis=(2, 4)).reshape(-1, 4)
X = quarters + 2.5 * np.random.default_rng(0).normal(size=quarters.shape)
X_train, X_test, y_train, y_test = train_test_split(
    X, digit, train_size=30, test_size=300, stratify=digit, random_state=0
)
model = LogisticRegression(max_iter=1000).fit(X_train, y_train)
y_score = model.decision_function(X_test)

# %%
# Class by class
# --------------
# With more than two classes, scores have one column per class. The results are a dict, with
# the exact test of each class.

from scipy.stats import false_discovery_control

from sklearn_rankinf import average_precision_test

results = average_precision_test(y_test, y_score)
pvalues = [result.pvalue for result in results.values()]
adjusted_pvalues = false_discovery_control(pvalues)
print("digit  images     AP  chance         p  adjusted")
for (digit, result), adjusted in zip(results.items(), adjusted_pvalues, strict=True):
    print(
        f"{digit:5d}  {result.n_positives:6d}  {result.statistic:.3f}   {result.chance:.3f}  "
        f"{result.pvalue:.2e}  {adjusted:.2e}"
    )

# %%
# All classes together
# --------------------
# ``average="macro"`` tests the mean of the ten average precisions. It has no exact null
# distribution. The rows of labels are permuted, so each random labelling contains every digit as
# often as the data.

macro = average_precision_test(y_test, y_score, average="macro", n_resamples=1999)
low, high = macro.pvalue_interval()
print(f"macro average: AP = {macro.statistic:.3f}, chance {macro.null_distribution.mean():.3f}")
print(f"p = {macro.pvalue:.4f}, by {macro.method}; with 95 % confidence {low:.4f} to {high:.4f}")

# %%
# With 1999 random labellings no p-value is below 1/2000. The exact p-values of the classes have no
# such limit. Bonferroni's rule turns the smallest of them into a valid p-value for all classes
# together:

print(f"ten times the smallest p of a class: {10 * min(pvalues):.2e}")

# %%
# The plots show the null distribution and the observed value of each class.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(
    2, 5, figsize=(7.2, 4.5), layout="constrained", sharex=True, sharey=True
)
for ax, (digit, result) in zip(axes.ravel(), results.items(), strict=True):
    null = result.null_distribution
    x = np.linspace(*null.support(), 400)
    ax.semilogy(x, null.pvalue(x), color="C0")
    ax.axvline(result.statistic, color="C3")
    ax.set(xlim=(0, 0.6), ylim=(1e-12, 2))
    ax.set_title(f"digit {digit}\np = {result.pvalue:.1e}", fontsize="medium")
figure.supxlabel("average precision")
figure.supylabel("p-value")

# %%
# An average hides classes that are no better than chance. The p-values of the classes identify
# them. The p-values do not show how good the other classes are. For that use AP itself, or the
# adjusted value, which is 0 at chance and 1 for a perfect ranking.
