"""
====================================================
The winner's curse: testing the best of fifty models
====================================================

Fifty models are compared on the same held-out items, and the best one is reported with its p-value.
That p-value is the probability that a model fixed in advance does so well by chance. The best of
fifty was not fixed in advance: it does well even if all fifty rank no better than chance. This
example shows how often the best model appears significant, and how
:func:`~sklearn_rankinf.best_candidate_test` takes the selection into account.
"""

# %%
# Fifty models on one data set
# ----------------------------
# There are 300 held-out items, 15 of them positive. Every model is noise. Half of the variance of
# the scores is common to all models, as if they were trained on the same data.

import numpy as np

N_SAMPLES, N_POSITIVES, N_MODELS = 300, 15, 50
rng = np.random.default_rng(3)
scores = rng.normal(size=(N_SAMPLES, 1)) + rng.normal(size=(N_SAMPLES, N_MODELS))
names = [f"model {number:02d}" for number in range(N_MODELS)]


def random_labels():
    """Return labels that are independent of all scores."""
    return (rng.permutation(N_SAMPLES) < N_POSITIVES).astype(int)


# %%
# The scores are an array with one column per model, a data frame, or a dict.

from sklearn_rankinf import best_candidate_test

y_true = random_labels()
result = best_candidate_test(y_true, dict(zip(names, scores.T, strict=True)))
print(result)
print(f"{'':10}{'AP':>8}{'z':>8}{'p unadjusted':>14}{'p adjusted':>14}")
for index in np.argsort(-result.zscore)[:6]:
    print(
        f"{result.names[index]:10}{result.statistic[index]:8.3f}{result.zscore[index]:8.2f}"
        f"{result.pvalue_unadjusted[index]:14.4f}{result.pvalue[index]:14.4f}"
    )

# %%
# ``pvalue_unadjusted`` is the exact p-value of each model as if it had been fixed in advance.
# ``pvalue`` compares each model with the best of all fifty under random labels. All models get the
# same random labels. The unadjusted p-value of the winner would be reported as a discovery. The
# adjusted p-values come from 9999 random labellings, and an interval gives their Monte Carlo error:

low, high = result.pvalue_interval()
best = result.best_index
print(f"adjusted p of the winner {result.pvalue[best]:.4f}, between {low[best]:.4f} and", end=" ")
print(f"{high[best]:.4f} with 95 % confidence")

# %%
# Many data sets
# --------------
# The result of one data set may be chance. The same models are therefore tested with 300 sets of
# random labels. A valid p-value is at most 0.05 in 5 % of them.

N_DATA_SETS = 300
naive, adjusted = np.empty(N_DATA_SETS), np.empty(N_DATA_SETS)
for trial in range(N_DATA_SETS):
    again = best_candidate_test(random_labels(), scores, n_resamples=399, random_state=trial)
    naive[trial] = again.pvalue_unadjusted[again.best_index]
    adjusted[trial] = again.pvalue[again.best_index]
for name, pvalues in (("unadjusted", naive), ("adjusted", adjusted)):
    share = np.mean(pvalues <= 0.05)
    error = np.sqrt(share * (1 - share) / N_DATA_SETS)
    print(f"winner's p {name}: at most 0.05 in {share:.1%} of the data sets (± {error:.1%})")

# %%
# On the left, the unadjusted p-values of the winner are concentrated near zero. The adjusted
# p-values are uniformly distributed, as p-values of noise should be. The right plot shows how often
# the winner among noise is significant at each level.

import matplotlib.pyplot as plt

PANELS = {"unadjusted": (naive, "#d1495b"), "adjusted for selection": (adjusted, "#00798c")}
figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3.6), layout="constrained")
bins = np.linspace(0, 1, 21)
for name, (pvalues, color) in PANELS.items():
    left.hist(pvalues, bins=bins, alpha=0.75, color=color, edgecolor="white", label=name)
    levels = np.linspace(0, 0.3, 301)
    shares = (pvalues[:, None] <= levels + 1e-12).mean(axis=0)
    right.step(levels, shares, where="post", color=color, label=name)
left.axhline(N_DATA_SETS / 20, color="#8d99ae", linewidth=1)
left.set(xlabel="p-value of the winner", ylabel="data sets")
right.plot([0, 0.3], [0, 0.3], color="#8d99ae", linewidth=1, label="nominal level")
right.set(xlabel="level", ylabel="fraction of data sets significant", ylim=(0, 1))
figure.legend(*right.get_legend_handles_labels(), loc="outside upper center", ncols=3)
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# One real signal
# ---------------
# The adjustment does not hide a real effect. One of the fifty models now has a signal:

signal = scores.copy()
signal[:, 7] += 2.5 * y_true
found = best_candidate_test(y_true, signal)
print(f"best: {names[found.best_index]}, unadjusted p {found.pvalue_unadjusted.min():.1e}")
print(f"adjusted p {found.pvalue.min():.4f}, second best {np.sort(found.pvalue)[1]:.2f}")

# %%
# All of this requires labels that were not used to train any of the models. Out-of-fold scores of a
# cross-validation violate this: the labels that are tested were used to train the models of the
# other folds, and noise is significant too often. See :ref:`selection`.
