"""
========================
Which classifier to take
========================

Three classifiers rank the same held-out samples, of which few are positives. How sure is the
average precision of each? Is one better than another, or would another sample of positives turn
the order round? And which of the three may be the best? One display answers each question.
"""

# %%
# Three classifiers
# -----------------
# 4000 samples, 5 % of them positives. Half of the samples train the classifiers, and the other half
# is ranked: the labels that are used for inference must not have trained anything.

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
print(f"{y_test.sum()} positives among {y_test.size} samples to rank")

# %%
# How sure is each value?
# -----------------------
# An interval tells where the average precision of a classifier is in the population from which the
# samples were drawn. The dashed line is what a random order would have on average.

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
# The intervals of logistic regression and of naive Bayes overlap, but that is no answer. Both rank
# the same samples, and a positive that is hard for one is often hard for the other, so that their
# difference is known better than either value. The test swaps the two ranks of a sample at random:
# if the classifiers were equally good, that would change nothing but by chance.

pair = ComparisonDisplay.from_estimator(
    models["logistic regression"],
    models["naive Bayes"],
    X_test,
    y_test,
    name=["logistic regression", "naive Bayes"],
    plot_chance_level=True,
    despine=True,
)
print(pair.result.summary())
plt.show()

# %%
# If only so many samples can be looked at, what counts is how many positives are among them. The
# dotted line marks the cut-off, here the first 100 samples.

top = ComparisonDisplay.from_estimator(
    models["random forest"],
    models["logistic regression"],
    X_test,
    y_test,
    metric="recall_at_k",
    k=100,
    name=["random forest", "logistic regression"],
    xscale="log",
    plot_chance_level=True,
    despine=True,
)
print(top.result.summary())
plt.show()

# %%
# Which may be the best?
# ----------------------
# With several classifiers the p-values of all pairs are adjusted for their number, and the set of
# those that may be best holds the truly best one with the confidence that is stated. A star marks
# pairs that differ; names in bold are in the set.

from sklearn_rankinf import metric_multiple_comparison_test

scores = {name: model.predict_proba(X_test)[:, 1] for name, model in models.items()}
pairs = ComparisonDisplay(metric_multiple_comparison_test(y_test, scores)).plot()
print(pairs.result.summary())
plt.show()

# %%
# All of this is said of these three trained models and of samples like those that were ranked.
# Other training data would make other models; :ref:`model_selection` says what cross-validation can
# tell about that.
