"""
===================================
Which of three classifiers is best?
===================================

Three classifiers rank the same held-out items, few of which are positive. How precise is the
average precision of each? Is one better than another, or could other items reverse the order? Which
of the three may be the best? This example answers the questions with two displays.
"""

# %%
# Three classifiers
# -----------------
# There are 4000 items, 5 % of them positive. Half of the items train the classifiers, and the other
# half is ranked. The labels used for inference must not have been used for training.

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

X, y = make_classification(
    4000, n_features=20, n_informative=6, weights=[0.95], flip_y=0.01, class_sep=0.8, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
models = {
    "logistic regression": LogisticRegression(),
    "naive Bayes": GaussianNB(),
    "random forest": RandomForestClassifier(random_state=0),
}
for model in models.values():
    model.fit(X_train, y_train)
print(f"{y_test.sum()} positives among {y_test.size} items to rank")

# %%
# How sure is each value?
# -----------------------
# A confidence interval covers the average precision of a classifier in the population from which
# the items were drawn. The dashed line is the expected value by chance.

import matplotlib.pyplot as plt

from sklearn_rankinf import ComparisonDisplay, IntervalDisplay

intervals = IntervalDisplay.from_estimator(
    models, X_test, y_test, sort=True, plot_chance_level=True, despine=True
)
for name, result in intervals.results.items():
    print(f"{name}. {result.summary()}")
plt.show()

# %%
# Is one better than another?
# ---------------------------
# The intervals of logistic regression and naive Bayes overlap, but this does not show that the two
# are equally good. Both rank the same items, and a positive that is difficult for one is often
# difficult for the other. Their difference is therefore known more precisely than either value. The
# test swaps the two ranks of each item at random and compares the observed difference with the
# differences after swapping.

two = {name: models[name] for name in ("logistic regression", "naive Bayes")}
pair = ComparisonDisplay.from_estimator(two, X_test, y_test, plot_chance_level=True, despine=True)
print(pair.results.summary())
plt.show()

# %%
# If a fixed number of items can be inspected, the relevant metric is the number of positives among
# them. The dotted line marks the cut-off, here the first 100 items.

top = ComparisonDisplay.from_estimator(
    {name: models[name] for name in ("random forest", "logistic regression")},
    X_test,
    y_test,
    metric="recall@100",
    xscale="log",
    plot_chance_level=True,
    despine=True,
)
print(top.results.summary())
plt.show()

# %%
# Which may be the best?
# ----------------------
# With several classifiers, the p-values of all pairs are adjusted for the number of pairs. The set
# of classifiers that may be best contains the truly best one with the stated confidence. The
# plot shows the difference of each pair; pairs differ if their interval excludes 0.

from sklearn_rankinf import metric_multiple_comparison_test

scores = {name: model.predict_proba(X_test)[:, 1] for name, model in models.items()}
pairs = ComparisonDisplay(metric_multiple_comparison_test(y_test, scores)).plot()
print(pairs.results.summary())
plt.show()

# %%
# Which are tied?
# ---------------
# A leaderboard has more rows, and most neighbours are tied. Here are forests of 3 to 200 trees. The
# limits of the ranks hold for all ranks together, and forests that share a letter are not
# significantly different. Overlapping limits of ranks are no test; look at the letters.

from sklearn_rankinf import LeaderboardDisplay

forests = {
    f"{n} trees": RandomForestClassifier(n, random_state=1).fit(X_train, y_train)
    for n in (3, 10, 30, 100, 200)
}
board = LeaderboardDisplay.from_estimator(
    {**forests, "naive Bayes": models["naive Bayes"]}, X_test, y_test, despine=True
)
print(board.results.leaderboard().summary())
plt.show()

# %%
# These statements concern the three trained models, and items like those that were ranked. Other
# training data would yield other models; see :ref:`model_selection` for the conclusions that
# cross-validation allows.
