"""
=======================================
A ranking that does not fit into memory
=======================================

A test of a ranking does not need the labels and scores. It needs the number of items and the number
of positives at each distinct score. :meth:`~sklearn_rankinf.Ranking.from_dask` counts these numbers
chunk by chunk, in the threads of one machine or on a cluster. This example tests a ranking of two
million rows, made in chunks of 100,000. More rows take more time, but not more memory. See
:ref:`large-data`.
"""

# %%
# Labels and scores
# -----------------
# The arrays are lazy: nothing is computed yet. One row in ten thousand is a positive, and a weak
# model assigns it a slightly higher probability. The probabilities are rounded to two digits, as in
# the output of many programs, so there are many ties.

import dask
import dask.array as da
import numpy as np

rng = da.random.default_rng(0)
y_true = rng.random(2_000_000, chunks=100_000) < 1e-4
evidence = rng.standard_normal(2_000_000, chunks=100_000) + 0.5 * y_true
y_score = (1.0 / (1.0 + np.exp(-evidence))).round(2)
print(y_score)

# %%
# The ranking
# -----------
# Each chunk is reduced to its distinct scores and their counts, which are then added up. Threads do
# the work here. With a ``dask.distributed.Client`` the workers of a cluster do it.

from sklearn_rankinf import Ranking, average_precision_test

with dask.config.set(scheduler="threads"):
    ranking = Ranking.from_dask(y_true, y_score)
print(ranking)

# %%
# The test
# --------
# Is average precision (AP) better than chance? The null distribution is exact, given the ties, and
# nothing is drawn at random.

result = average_precision_test(ranking)
null = result.null_distribution
print(f"AP {result.statistic:.6f}, by chance {null.mean():.6f} with sd {null.std():.6f}")
print(f"z = {result.zscore:.2f}, p = {result.pvalue:.3g}")

# %%
# The null distribution
# ---------------------
# How likely is an AP of at least x by chance? The exact curve falls steeply and then has a long
# tail. With so few positives among so many rows, a single positive in the first block of equal
# scores makes the AP many standard deviations larger than the mean. This has a probability of
# 0.3 %, the height of the long step, so a z-score of 10 means no more than p = 0.003 here.

import matplotlib.pyplot as plt

x = null.mean() + np.linspace(-1.0, 14.0, 61) * null.std()
_, axis = plt.subplots(layout="constrained")
axis.plot(x, null.pvalue(x), color="#1b1b1b", label="by chance")
axis.axvline(result.statistic, color="#d1495b", linestyle="--", label="weak model")
axis.plot(result.statistic, result.pvalue, "o", color="#d1495b")
axis.set(yscale="log", xlabel="x", ylabel="P(AP ≥ x)", title="Average precision by chance")
axis.ticklabel_format(axis="x", style="sci", scilimits=(-4, -4))
axis.legend()
plt.show()

# %%
# Counts around the positives only
# --------------------------------
# Scores without ties cannot be counted by value, because the counts would be as long as the data.
# The scores of the positives are few. AP needs only the number of rows above each of them:

partial = Ranking.from_dask(y_true, evidence, counts="positives")
print(partial)

# %%
# Only the number of negatives between two positives is known, so the ranking does not contain all
# ties. Its metrics are exact. A test needs the ties and raises an error for this ranking. If there
# are no ties, as here, the null distribution without ties is correct:

from sklearn_rankinf import ap_null_distribution, average_precision_at_k_score

ap = average_precision_at_k_score(partial, k=partial.n_samples)
without_ties = ap_null_distribution(partial.n_samples, partial.n_positives)
print(f"AP {ap:.6f}, p = {without_ties.pvalue(ap):.3g}")
