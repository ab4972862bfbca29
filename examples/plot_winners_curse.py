"""
==================
The winner's curse
==================

Fifty models are compared on the same held-out items, and the best one is reported with its
p-value. That p-value answers a question nobody asked: how likely a model that was fixed beforehand
is to do so well by chance. The best of fifty was not fixed beforehand, and it does well even if all
of them rank at random. This example shows how often, and how
:func:`~sklearn_rankinf.best_candidate_test` takes the choice into account.
"""

# %%
# Fifty candidates on one data set
# --------------------------------
# 300 held-out items, 15 of them targets. Every candidate is noise; half of what each one says is
# shared with the others, as it is with models that were trained on the same data.

import numpy as np

N_SAMPLES, N_POSITIVES, N_CANDIDATES = 300, 15, 50
rng = np.random.default_rng(3)
scores = rng.normal(size=(N_SAMPLES, 1)) + rng.normal(size=(N_SAMPLES, N_CANDIDATES))
names = [f"model {number:02d}" for number in range(N_CANDIDATES)]


def random_labels():
    """Labels that have nothing to do with any score."""
    return (rng.permutation(N_SAMPLES) < N_POSITIVES).astype(int)


# %%
# The test takes the scores as a table with a column for each candidate, as a frame, or as a dict.

from sklearn_rankinf import best_candidate_test

y_true = random_labels()
result = best_candidate_test(y_true, dict(zip(names, scores.T, strict=True)))
print(result)
print(f"{'':10}{'AP':>8}{'z':>8}{'p by itself':>14}{'p adjusted':>14}")
for index in np.argsort(-result.zscore)[:6]:
    print(
        f"{result.names[index]:10}{result.statistic[index]:8.3f}{result.zscore[index]:8.2f}"
        f"{result.pvalue_unadjusted[index]:14.4f}{result.pvalue[index]:14.4f}"
    )

# %%
# ``pvalue_unadjusted`` is the exact p-value of each candidate by itself. ``pvalue`` compares each
# candidate with the best of all fifty under random labels that all of them share. By itself the
# winner would pass for a discovery. The adjusted p-values come from 9999 random labellings; how far
# more of them could move the winner's is known:

low, high = result.pvalue_interval()
best = result.best_index
print(f"adjusted p of the winner {result.pvalue[best]:.4f}, between {low[best]:.4f} and", end=" ")
print(f"{high[best]:.4f} with 95 % confidence")

# %%
# Many data sets
# --------------
# Once is no proof. The same candidates meet 300 sets of labels, all of them random. A p-value
# that means what it says is at most 0.05 in 5 % of them.

N_DATA_SETS = 300
naive, adjusted = np.empty(N_DATA_SETS), np.empty(N_DATA_SETS)
for trial in range(N_DATA_SETS):
    again = best_candidate_test(random_labels(), scores, n_permutations=399, random_state=trial)
    naive[trial] = again.pvalue_unadjusted[again.best_index]
    adjusted[trial] = again.pvalue[again.best_index]
for name, pvalues in (("by itself", naive), ("adjusted", adjusted)):
    share = np.mean(pvalues <= 0.05)
    error = np.sqrt(share * (1 - share) / N_DATA_SETS)
    print(f"winner's p {name}: at most 0.05 in {share:.1%} of the data sets (± {error:.1%})")

# %%
# Left: the winner's own p-value crowds near zero; adjusted, it is spread evenly, as a p-value of
# noise should be. Right: how often the winner of noise is called significant at each level.

import matplotlib.pyplot as plt

PANELS = {"by itself": (naive, "#d1495b"), "adjusted for the choice": (adjusted, "#00798c")}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
bins = np.linspace(0, 1, 21)
for name, (pvalues, color) in PANELS.items():
    left.hist(pvalues, bins=bins, alpha=0.75, color=color, edgecolor="white", label=name)
    levels = np.linspace(0, 0.3, 301)
    shares = (pvalues[:, None] <= levels + 1e-12).mean(axis=0)
    right.step(levels, shares, where="post", color=color, label=name)
left.axhline(N_DATA_SETS / 20, color="#8d99ae", linewidth=1)
left.set(xlabel="p-value of the winner", ylabel="data sets")
right.plot([0, 0.3], [0, 0.3], color="#8d99ae", linewidth=1, label="as it should be")
right.set(xlabel="level", ylabel="share of data sets called significant", ylim=(0, 1))
right.legend(frameon=False)
left.legend(frameon=False)
for axis in (left, right):
    axis.spines[["top", "right"]].set_visible(False)
figure.suptitle("The best of fifty models that are noise")
plt.show()

# %%
# One real signal
# ---------------
# The adjustment does not take a signal away. One of the fifty candidates now knows something:

signal = scores.copy()
signal[:, 7] += 2.5 * y_true
found = best_candidate_test(y_true, signal)
print(f"best: {names[found.best_index]}, p by itself {found.pvalue_unadjusted.min():.1e}, ", end="")
print(f"adjusted {found.pvalue.min():.4f}, second best {np.sort(found.pvalue)[1]:.2f}")

# %%
# All of this needs labels that trained none of the candidates. With out-of-fold scores of a
# cross-validation the labels that are tested trained the models of the other folds, and the test
# rejects noise too often; :ref:`selection` says by how much.
