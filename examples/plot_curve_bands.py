"""
========================================
Curves with bands, and their difference
========================================

A bank ranks transactions by the probability of fraud. Investigators want to see how many frauds
they find down to any depth of the list, how reliable that curve is, and whether a new model is
better than the old one. All data are generated.
"""

# %%
# Two models
# ----------
# Three per cent of 8000 transactions are fraudulent. The old model uses fewer features than the new
# one. Both are tested on transactions that they were not trained on.

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

X, y = make_classification(
    8000, n_informative=6, weights=[0.97], flip_y=0.01, class_sep=0.8, random_state=3
)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
old = LogisticRegression().fit(X_train[:, :10], y_train)
new = HistGradientBoostingClassifier(max_depth=3, random_state=0).fit(X_train, y_train)
scores = {
    "new": new.predict_proba(X_test)[:, 1],
    "old": old.predict_proba(X_test[:, :10])[:, 1],
}
print(f"{y_test.sum()} frauds among {y_test.size} transactions")

# %%
# Precision against recall
# ------------------------
# The band of each model contains its whole true curve with a confidence of 95 %. If the bands
# overlap, the models may still differ, because both ranked the same transactions. The lower plot
# shows the difference. Where its band is above 0, the new model is better.

from sklearn_rankinf import CurveDisplay

CurveDisplay.from_predictions(y_test, scores, difference=True)
plt.show()

# %%
# Precision at a small recall is hardly known, because it depends on the few transactions at the
# top. A bootstrap of the curve gives narrower limits there, which often miss the true curve.
#
# How many frauds are found?
# --------------------------
# The gain curve shows the share of the frauds that are found in the first part of the list.
# Pointwise limits, the darker area, are narrower than the band, but hold only for a depth that was
# chosen beforehand.

CurveDisplay.from_predictions(y_test, scores["new"], curve="gain", limits="both", name="new")
plt.show()

# %%
# The numbers are in the result:

from sklearn_rankinf import metric_curve

print(metric_curve(y_test, scores["new"], curve="gain").summary())
