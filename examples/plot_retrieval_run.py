"""
================================
Is a retrieval run above chance?
================================

A search engine answers 60 queries, each with a ranking of documents of which a few are relevant.
Mean average precision (MAP) is the mean of the average precisions (AP) of the queries. This example
tests it against random labelling, finds the queries that are above chance without being misled by
their number, and shows what goes wrong when all queries rank the same documents and the test is
not told.
"""

# %%
# A run
# -----
# Between 50 and 300 documents a query, 2 to 15 of them relevant. The ranker helps on about half
# of the queries: there the scores of relevant documents are higher by 1.2 standard deviations. On
# the others the scores are noise.

import numpy as np

N_QUERIES = 60
rng = np.random.default_rng(7)
labels, scores, groups, helped = [], [], [], []
for query in range(N_QUERIES):
    n_documents, n_relevant = int(rng.integers(50, 301)), int(rng.integers(2, 16))
    relevant = np.zeros(n_documents, dtype=int)
    relevant[rng.choice(n_documents, size=n_relevant, replace=False)] = 1
    helps = rng.random() < 0.5
    labels.append(relevant)
    scores.append(rng.normal(size=n_documents) + 1.2 * helps * relevant)
    groups.append(np.full(n_documents, f"q{query + 1:02d}"))
    helped.append(helps)
labels, scores, groups = (np.concatenate(column) for column in (labels, scores, groups))
helped = np.array(helped)
print(f"{labels.size} documents, {labels.sum()} relevant, {helped.sum()} queries helped")

# %%
# The test takes labels, scores and the query of each document. Under the null hypothesis the
# relevant documents of each query are at random places of its ranking, whatever is the case in
# other queries.

from sklearn_rankinf import mean_average_precision_test

result = mean_average_precision_test(labels, scores, groups=groups)
law = result.null_distribution
print(f"MAP {result.statistic:.4f}, by chance {law.mean():.4f}, sd {law.std():.4f}")
print(f"z = {result.zscore:.1f}")
print(f"exact p = {result.pvalue:.2e}, relative error {result.pvalue_relative_error:.0e}")
permuted = mean_average_precision_test(labels, scores, groups=groups, method="permutation")
print(f"by 9999 random labellings p = {permuted.pvalue:.1e}")

# %%
# No number of random labellings that anyone would draw tells how small this p-value is. On the
# first few queries, where 99,999 labellings reach p, the two agree:

for n_queries in (1, 2, 3, 4):
    few = np.isin(groups, result.queries[:n_queries])
    pvalues = [
        mean_average_precision_test(
            labels[few], scores[few], groups=groups[few], method=method, n_permutations=99_999
        ).pvalue
        for method in ("analytic", "permutation")
    ]
    print(f"first {n_queries} queries: exact {pvalues[0]:.2g}, by permutation {pvalues[1]:.2g}")

# %%
# The law of MAP of the whole run. The mean over 60 queries is less skewed than the AP of one of
# them, but not normal, and the difference grows with the distance from chance:

import matplotlib.pyplot as plt
from scipy.stats import norm

from sklearn_rankinf import NullDistributionDisplay

NullDistributionDisplay(result, name="run").plot(yscale="log", n_permutations=9999)
plt.show()
print(f"skewness {law.stats('s'):.2f}")
print(f"normal p = {norm.sf(result.zscore):.1e}")

# %%
# The queries
# -----------
# MAP says that the run is not random, not which queries it answers. Every query has its own AP,
# exact p-value and adjusted p-values: ``to_dict`` returns them as columns, ``to_frame`` as a table
# of pandas. The ten smallest:

columns = result.to_dict()
print("query    n   m     AP         p        BH        BY  helped")
for i in np.argsort(columns["pvalue"])[:10]:
    pvalues = (columns[name][i] for name in ("pvalue", "pvalue_bh", "pvalue_by"))
    print(
        f"{columns['query'][i]:5}{columns['n_samples'][i]:5d}{columns['n_positives'][i]:4d}"
        f"{columns['statistic'][i]:7.3f}",
        *(f"{pvalue:9.1e}" for pvalue in pvalues),
        f" {'yes' if helped[i] else 'no'}",
    )

# %%
# An AP by itself says little: what chance gives depends on the numbers of documents and of relevant
# ones.
#
# With 60 queries some unhelped ones have p < 0.05 by chance. The adjustment of Benjamini and
# Hochberg (BH) keeps the expected share of false ones among the queries found below 5 % if the
# queries are independent, that of Benjamini and Yekutieli (BY) under any dependence, at a price:

for name, adjusted in (
    ("no adjustment", result.query_pvalue),
    ("BH", result.query_pvalue_bh),
    ("BY", result.query_pvalue_by),
):
    found = adjusted <= 0.05
    print(f"{name:14}{found.sum():3d} found, {np.sum(found & helped):3d} of them helped")

# %%
# The 5 % are an expectation; in one run the share may be larger. What BH does: the sorted p-values
# are compared with a line through the origin, and all up to the last one below it are found.

order = np.argsort(result.query_pvalue)
rank = np.arange(1, N_QUERIES + 1)
sorted_pvalues = result.query_pvalue[order]
axis = plt.figure(figsize=(7, 4.2), layout="constrained").gca()
for is_helped, color, label in ((True, "#00798c", "helped"), (False, "#d1495b", "not helped")):
    chosen = helped[order] == is_helped
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
# queries or for none: one library of compounds ranked by its similarity to each of several known
# actives, or one list scored by several models. If the scores of different queries go together, so
# do their APs, and the mean over queries varies by chance more than that of independent ones.
#
# Here are 20 rankings of the same 300 documents, 10 of them relevant. Half of the variance of the
# scores belongs to the document and is common to all rankings. None knows anything of the labels.
# Data like these are drawn 150 times and tested both ways:

from sklearn_rankinf import map_null_distribution, mean_average_precision_score

N_LISTS, N_DOCUMENTS, N_RELEVANT, N_TRIALS = 20, 300, 10, 150
relevant = np.tile(np.repeat([1, 0], [N_RELEVANT, N_DOCUMENTS - N_RELEVANT]), N_LISTS)
lists = np.repeat(np.arange(N_LISTS), N_DOCUMENTS)


def random_scores():
    """Scores of all lists, which know nothing of the labels."""
    common = rng.normal(size=N_DOCUMENTS)
    own = rng.normal(size=(N_LISTS, N_DOCUMENTS))
    return ((common + own) / np.sqrt(2.0)).ravel()


independent = map_null_distribution([N_DOCUMENTS] * N_LISTS, [N_RELEVANT] * N_LISTS)
means, shared_pvalues = np.empty(N_TRIALS), np.empty(N_TRIALS)
for trial in range(N_TRIALS):
    y_score = random_scores()
    means[trial] = mean_average_precision_score(relevant, y_score, groups=lists)
    shared_pvalues[trial] = mean_average_precision_test(
        relevant,
        y_score,
        groups=lists,
        dependence="shared",
        n_permutations=99,
        random_state=trial,
    ).pvalue
independent_pvalues = independent.pvalue(means)
print(f"sd of MAP {means.std():.4f}, of independent queries {independent.std():.4f}")
for name, pvalues in (("independent", independent_pvalues), ("shared", shared_pvalues)):
    print(f"dependence={name!r}: {np.mean(pvalues <= 0.05):.1%} rejected at the 5 % level")

# %%
# Taken for independent, noise is rejected far too often. With ``dependence="shared"`` the labels of
# the documents are permuted once for all rankings, which keeps what these have in common, and the
# level is kept:

axis = plt.figure(figsize=(5, 4.2), layout="constrained").gca()
share = np.arange(1, N_TRIALS + 1) / N_TRIALS
for pvalues, color, label in (
    (independent_pvalues, "#d1495b", 'taken for "independent"'),
    (shared_pvalues, "#00798c", '"shared"'),
):
    axis.step(np.sort(pvalues), share, where="post", color=color, label=label)
axis.plot([0, 1], [0, 1], color="#1b1b1b", linewidth=0.8, linestyle=":", label="as it should be")
axis.set(xlabel="p-value of noise", ylabel="share of trials", xlim=(0, 1), ylim=(0, 1))
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False, loc="lower right")
plt.show()

# %%
# One data set, tested both ways. The p-values of single queries are exact in either case; what
# changes is that of their mean, and the adjustment for their number, for which BY is the safe
# choice here.

y_score = random_scores() + 0.5 * relevant
for dependence in ("independent", "shared"):
    result = mean_average_precision_test(relevant, y_score, groups=lists, dependence=dependence)
    print(
        f"{dependence:12} {result.method:12} MAP {result.statistic:.4f}, "
        f"sd by chance {result.null_distribution.std():.4f}, p = {result.pvalue:.2g}"
    )
