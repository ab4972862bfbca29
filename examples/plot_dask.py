"""
=======================================
A ranking that does not fit into memory
=======================================

What a test of a ranking needs is not the labels and scores but how many samples share each score,
and how many of them are positive. :meth:`~sklearn_rankinf.Ranking.from_dask` counts that chunk by
chunk, on the threads of one machine or on a cluster. This example tests a ranking of two million
rows, made in chunks of 100,000; more rows take more time, not more memory. See :ref:`large-data`.
"""

# %%
# Labels and scores
# -----------------
# Nothing is made yet: these arrays are recipes. One row in ten thousand is a target, and a weak
# model gives it a slightly higher probability. Like those of many programs the probabilities have
# two digits, so that there are many ties.

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
# the work here; with a ``dask.distributed.Client`` it is the workers of a cluster.

from sklearn_rankinf import Ranking, average_precision_test

with dask.config.set(scheduler="threads"):
    ranking = Ranking.from_dask(y_true, y_score)
print(ranking)

# %%
# The test
# --------
# Is average precision (AP) better than that of random labels? The law by chance is exact given the
# ties, and nothing is sampled.

result = average_precision_test(ranking)
law = result.null_distribution
print(f"AP {result.statistic:.6f}, by chance {law.mean():.6f} with sd {law.std():.6f}")
print(f"z = {result.zscore:.2f}, p = {result.pvalue:.3g}")

# %%
# The picture
# -----------
# How likely is an AP of at least x by chance? The exact curve comes down steeply and then has a
# long tail: with so few targets among so many rows, a single one in the first block of equal
# scores makes an AP many standard deviations above the mean. That has a chance of 0.3 %, the height
# of the long step, and a z-score of 10 means no more than p = 0.003 here.

import matplotlib.pyplot as plt

x = law.mean() + np.linspace(-1.0, 14.0, 61) * law.std()
_, axis = plt.subplots(layout="constrained")
axis.plot(x, law.pvalue(x), color="#1b1b1b", label="random labels")
axis.axvline(result.statistic, color="#d1495b", linestyle="--", label="weak model")
axis.plot(result.statistic, result.pvalue, "o", color="#d1495b")
axis.set(yscale="log", xlabel="x", ylabel="P(AP ≥ x)", title="Average precision by chance")
axis.ticklabel_format(axis="x", style="sci", scilimits=(-4, -4))
axis.legend()
plt.show()

# %%
# Only the positives
# ------------------
# Scores that are never equal cannot be counted by value, or the counts would be as long as the
# data. The scores of the positives are few, and the number of rows above each of them is all that
# AP needs:

partial = Ranking.from_dask(y_true, evidence, counts="positives")
print(partial)

# %%
# Of the negatives between two positives only the number is known, so that the ranking has not all
# ties. Its metrics are exact. A test needs the ties, and refuses it. Where there are none, as
# here, the law without ties is the right one:

from sklearn_rankinf import ap_null_distribution, average_precision_at_k_score

ap = average_precision_at_k_score(partial, k=partial.n_samples)
without_ties = ap_null_distribution(partial.n_samples, partial.n_positives)
print(f"AP {ap:.6f}, p = {without_ties.pvalue(ap):.3g}")
