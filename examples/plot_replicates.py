"""
=======================================
Do replicates find each other?
=======================================

A profiling experiment measures many features of every well of a plate, such as the shape of cells
after treatment with a compound. A compound is active if the profiles of its replicates are more
similar to each other than to those of untreated wells. Each replicate therefore ranks other wells
by similarity: the other replicates of its compound, which are the positives, and the controls.
Average precision shows how close the positives are to the top (Kalinin et al., 2025, Nature
Communications 16, 5181). Such an experiment has thousands of small rankings. This example tests all
of them at once, with exact p-values, and then decides which compounds are active.
"""

# %%
# Profiles
# --------
# There are 64 controls and 300 compounds with 6 replicates of 200 features each. One third of the
# compounds does nothing. The others shift a share of the features, from 2 to 50 percent, by one
# standard deviation.

import numpy as np
import pandas as pd
from sklearn.metrics.pairwise import cosine_similarity

N_COMPOUNDS, N_REPLICATES, N_CONTROLS, N_FEATURES = 300, 6, 64, 200
rng = np.random.default_rng(0)
share = np.where(np.arange(N_COMPOUNDS) % 3 == 0, 0.0, rng.uniform(0.02, 0.5, N_COMPOUNDS))
is_shifted = rng.random((N_COMPOUNDS, 1, N_FEATURES)) < share[:, None, None]
profiles = rng.normal(size=(N_COMPOUNDS, N_REPLICATES, N_FEATURES)) + is_shifted
controls = rng.normal(size=(N_CONTROLS, N_FEATURES))

# %%
# Every replicate is a query. The rows of its list are the other replicates, with the label 1, and
# the controls.

others = [np.delete(np.arange(N_REPLICATES), one) for one in range(N_REPLICATES)]
scores = np.concatenate(
    [
        cosine_similarity(own[[one]], np.concatenate([own[others[one]], controls]))[0]
        for own in profiles
        for one in range(N_REPLICATES)
    ]
)
n_items, n_queries = N_REPLICATES - 1 + N_CONTROLS, N_COMPOUNDS * N_REPLICATES
labels = np.tile(np.arange(n_items) < N_REPLICATES - 1, n_queries)
wells = pd.MultiIndex.from_product([range(N_COMPOUNDS), range(N_REPLICATES)])
groups = np.repeat(np.arange(n_queries), n_items)

# %%
# All replicates at once
# ----------------------
# All lists have one shape, so they share one null distribution. The table has a row for each
# replicate. Renamed, its columns are those that users of copairs know.

import time

from sklearn_rankinf import metric_test

start = time.perf_counter()
result = metric_test(labels, scores, groups=groups, metric="average_precision")
seconds = time.perf_counter() - start
NAMES = {
    "n_positives": "n_pos_pairs",
    "n_samples": "n_total_pairs",
    "statistic": "average_precision",
    "pvalue": "p_value",
    "pvalue_bh": "corrected_p_value",
}
table = result.to_frame().set_index(wells.rename(["compound", "replicate"]))
table = table.rename(columns=NAMES)[list(NAMES.values())]
print(f"{n_queries} exact p-values in {seconds:.1f} s")
print(table.iloc[[0, 1, 6, 7, 12]].round(4).to_string())

# %%
# The usual way is to compare with random labellings. Here are 9,999 of them for each list:

start = time.perf_counter()
drawn = metric_test(labels, scores, groups=groups, metric="average_precision", method="permutation")
seconds_drawn = time.perf_counter() - start
print(f"by 9,999 labellings in {seconds_drawn:.1f} s")
print(f"smallest p-values: exact {table.p_value.min():.2g}, drawn {drawn.query_pvalue.min():.2g}")

import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(5, 4.5), layout="constrained")
axes.loglog(table.p_value, drawn.query_pvalue, ".", alpha=0.3)
axes.plot([1e-7, 1], [1e-7, 1], color="0.5", linewidth=1)
axes.axhline(1e-4, color="0.5", linestyle="--", linewidth=1)
axes.text(1, 0.8e-4, "least p-value of 9,999 labellings", fontsize="small", va="top", ha="right")
axes.set(xlabel="exact p-value", ylabel="p-value by 9,999 labellings")
plt.show()

# %%
# Which compounds are active?
# ---------------------------
# The replicates of a compound rank each other. Their average precisions are therefore dependent,
# and the mean of six varies more than that of six independent queries. A test of the mean that
# assumes independence rejects too often. The compounds that do nothing show how often:

from sklearn_rankinf import metric_null_distribution

null = metric_null_distribution([n_items] * N_REPLICATES, [N_REPLICATES - 1] * N_REPLICATES)
by_compound = table.groupby(level="compound")
of_mean = null.pvalue(by_compound.average_precision.mean())
is_idle = share == 0.0
print(f"idle compounds with p <= 0.05, as if independent: {np.mean(of_mean[is_idle] <= 0.05):.2f}")

# %%
# The smallest of the six p-values, times six, is valid under any dependence (Bonferroni). Exact
# p-values are small enough for that. Those of 9,999 labellings hardly are, after the adjustment for
# the number of compounds.

from scipy.stats import false_discovery_control

pvalue = np.minimum(N_REPLICATES * by_compound.p_value.min(), 1.0)
is_active = false_discovery_control(pvalue) <= 0.05
print(f"idle compounds with p <= 0.05, by the smallest: {np.mean(pvalue[is_idle] <= 0.05):.2f}")
print(f"active at a false discovery rate of 5 %: {is_active.sum()} of {(~is_idle).sum()}")
print(f"of these idle: {(is_active & is_idle).sum()}")
