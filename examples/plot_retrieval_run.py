"""
======================================
Is a retrieval run better than chance?
======================================

A search engine answers 60 queries, each with a ranking of documents, few of which are relevant.
Mean average precision (MAP) is the mean of the average precisions (AP) of the queries. This example
tests whether MAP is better than chance, and finds the queries for which AP is, with an adjustment
for their number. It then shows what goes wrong if all queries rank the same documents and the test
assumes independence.
"""

# %%
# A run
# -----
# There are between 50 and 300 documents per query, 2 to 15 of them relevant. The ranker works for
# about half of the queries: there the scores of relevant documents are higher by 1.2 standard
# deviations. For the other queries the scores are noise.

import numpy as np

N_QUERIES = 60
rng = np.random.default_rng(7)
labels, scores, groups, has_signal = [], [], [], []
for query in range(N_QUERIES):
    n_documents, n_relevant = int(rng.integers(50, 301)), int(rng.integers(2, 16))
    relevant = np.zeros(n_documents, dtype=int)
    relevant[rng.choice(n_documents, size=n_relevant, replace=False)] = 1
    signal = rng.random() < 0.5
    labels.append(relevant)
    scores.append(rng.normal(size=n_documents) + 1.2 * signal * relevant)
    groups.append(np.full(n_documents, f"q{query + 1:02d}"))
    has_signal.append(signal)
labels, scores, groups = (np.concatenate(column) for column in (labels, scores, groups))
has_signal = np.array(has_signal)
print(f"{labels.size} documents, {labels.sum()} relevant, {has_signal.sum()} queries with a signal")

# %%
# The test uses the labels, the scores and the query of each document. Under the null hypothesis the
# relevant documents of each query are at random ranks, independently of the other queries.

from sklearn_rankinf import average_precision_test

result = average_precision_test(labels, scores, groups=groups)
null = result.null_distribution
print(f"MAP {result.statistic:.4f}, by chance {null.mean():.4f}, sd {null.std():.4f}")
print(f"z = {result.zscore:.1f}")
print(f"exact p = {result.pvalue:.2e}, relative error {result.pvalue_relative_error:.0e}")
permuted = average_precision_test(labels, scores, groups=groups, method="permutation")
print(f"by 9999 random labellings p = {permuted.pvalue:.1e}")

# %%
# No feasible number of random labellings can show how small this p-value is. For the first few
# queries, where 99,999 labellings are enough, the two p-values agree:

for n_queries in (1, 2, 3, 4):
    few = np.isin(groups, result.queries[:n_queries])
    pvalues = [
        average_precision_test(
            labels[few], scores[few], groups=groups[few], method=method, n_resamples=99_999
        ).pvalue
        for method in ("analytic", "permutation")
    ]
    print(f"first {n_queries} queries: exact {pvalues[0]:.2g}, by permutation {pvalues[1]:.2g}")

# %%
# The next plot shows the null distribution of MAP for the whole run. The mean over 60 queries is
# less skewed than the AP of a single query, but it is not normal, and the error of the normal
# approximation grows towards the tail:

import matplotlib.pyplot as plt
from scipy.stats import norm

from sklearn_rankinf import NullDistributionDisplay

NullDistributionDisplay(result, name="run").plot(n_resamples=9999)
plt.show()
print(f"skewness {null.stats('s'):.2f}")
print(f"normal p = {norm.sf(result.zscore):.1e}")

# %%
# The queries
# -----------
# A significant MAP shows that the run is better than chance, but not which queries it answers.
# Every query has an AP, an exact p-value and adjusted p-values. ``to_frame`` returns them as a
# pandas data frame. The table shows the ten smallest p-values:

columns = result.to_frame()
print("query    n   m     AP         p        BH        BY  signal")
for i in np.argsort(columns["pvalue"])[:10]:
    pvalues = (columns[name][i] for name in ("pvalue", "pvalue_bh", "pvalue_by"))
    print(
        f"{columns['query'][i]:5}{columns['n_samples'][i]:5d}{columns['n_positives'][i]:4d}"
        f"{columns['statistic'][i]:7.3f}",
        *(f"{pvalue:9.1e}" for pvalue in pvalues),
        f" {'yes' if has_signal[i] else 'no'}",
    )

# %%
# AP values of different queries are not comparable, because the value by chance depends on the
# numbers of documents and of relevant documents.
#
# Of 60 queries, some that are noise have p < 0.05 by chance. The adjustments control the false
# discovery rate: of the queries found, at most 5 % are expected to be false positives. The
# adjustment of Benjamini and Hochberg (BH) requires independent queries. That of Benjamini and
# Yekutieli (BY) is valid under any dependence, but has less power:

for name, adjusted in (
    ("no adjustment", result.query_pvalue),
    ("BH", result.query_pvalue_bh),
    ("BY", result.query_pvalue_by),
):
    found = adjusted <= 0.05
    print(f"{name:14}{found.sum():3d} found, {np.sum(found & has_signal):3d} of them with a signal")

# %%
# The 5 % are an expectation. The fraction in one run may be larger. BH compares the sorted p-values
# with a line through the origin and selects all up to the last one below the line.

order = np.argsort(result.query_pvalue)
rank = np.arange(1, N_QUERIES + 1)
sorted_pvalues = result.query_pvalue[order]
axis = plt.figure(figsize=(7, 4.2), layout="constrained").gca()
for signal, color, label in ((True, "#00798c", "signal"), (False, "#d1495b", "noise")):
    chosen = has_signal[order] == signal
    axis.plot(rank[chosen], sorted_pvalues[chosen], "o", color=color, markersize=5, label=label)
axis.plot(rank, 0.05 * rank / N_QUERIES, color="#1b1b1b", linewidth=1, label="BH, 5 %")
harmonic = np.sum(1.0 / rank)
axis.plot(
    rank, 0.05 * rank / (N_QUERIES * harmonic), color="#1b1b1b", lw=1, ls="--", label="BY, 5 %"
)
axis.axhline(0.05, color="#8d99ae", linewidth=0.8, label="no adjustment")
axis.set(yscale="log", xlabel="queries by p-value", ylabel="p-value")
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False, loc="lower right")
plt.show()

# %%
# The same documents for every query
# ----------------------------------
# In another kind of run every query ranks the same documents, and a document is relevant for all
# queries or for none. Examples are a library of compounds ranked by similarity to several known
# actives, and a list scored by several models. If the scores of different queries are correlated,
# so are their APs, and the null distribution of their mean is wider than for independent queries.
#
# The example has 20 rankings of the same 300 documents, 10 of them relevant. Half of the variance
# of the scores is common to all rankings. The scores are independent of the labels. 150 such data
# sets are tested in both ways:

from sklearn_rankinf import mean_average_precision_score, metric_null_distribution

N_LISTS, N_DOCUMENTS, N_RELEVANT, N_TRIALS = 20, 300, 10, 150
relevant = np.tile(np.repeat([1, 0], [N_RELEVANT, N_DOCUMENTS - N_RELEVANT]), N_LISTS)
lists = np.repeat(np.arange(N_LISTS), N_DOCUMENTS)
documents = np.tile(np.arange(N_DOCUMENTS), N_LISTS)


def random_scores():
    """Return scores of all lists that are independent of the labels."""
    common = rng.normal(size=N_DOCUMENTS)
    separate = rng.normal(size=(N_LISTS, N_DOCUMENTS))
    return ((common + separate) / np.sqrt(2.0)).ravel()


independent = metric_null_distribution([N_DOCUMENTS] * N_LISTS, [N_RELEVANT] * N_LISTS)
means, shared_pvalues = np.empty(N_TRIALS), np.empty(N_TRIALS)
for trial in range(N_TRIALS):
    y_score = random_scores()
    means[trial] = mean_average_precision_score(relevant, y_score, groups=lists)
    shared_pvalues[trial] = average_precision_test(
        relevant,
        y_score,
        groups=lists,
        clusters=documents,
        n_resamples=99,
        random_state=trial,
    ).pvalue
independent_pvalues = independent.pvalue(means)
print(f"sd of MAP {means.std():.4f}, of independent queries {independent.std():.4f}")
for name, pvalues in (("independent", independent_pvalues), ("documents", shared_pvalues)):
    print(f"{name:11} {np.mean(pvalues <= 0.05):.1%} rejected at the 5 % level")

# %%
# If the queries are treated as independent, noise is significant far too often. With
# ``clusters=documents`` the labels of the documents are permuted once for all rankings, which
# preserves the dependence of the rankings, and the size agrees with the level:

axis = plt.figure(figsize=(5, 4.2), layout="constrained").gca()
fraction = np.arange(1, N_TRIALS + 1) / N_TRIALS
for pvalues, color, label in (
    (independent_pvalues, "#d1495b", "independent queries"),
    (shared_pvalues, "#00798c", "documents as clusters"),
):
    axis.step(np.sort(pvalues), fraction, where="post", color=color, label=label)
axis.plot([0, 1], [0, 1], color="#1b1b1b", linewidth=0.8, linestyle=":", label="uniform")
axis.set(xlabel="p-value of noise", ylabel="fraction of trials", xlim=(0, 1), ylim=(0, 1))
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False, loc="lower right")
plt.show()

# %%
# The last step tests one data set in both ways. The p-values of single queries are exact in either
# case. The p-value of their mean differs, and so does the appropriate adjustment for multiple
# testing: BY is the safe choice for shared documents.

y_score = random_scores() + 0.5 * relevant
for clusters in (None, documents):
    result = average_precision_test(relevant, y_score, groups=lists, clusters=clusters)
    print(
        f"{result.method:12} MAP {result.statistic:.4f}, "
        f"sd by chance {result.null_distribution.std():.4f}, p = {result.pvalue:.2g}"
    )
