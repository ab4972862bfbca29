"""
================================================
How many hits among the first k are significant?
================================================

A screening campaign can test 50 compounds; an auditor can read 100 files. The value of a ranking is
then the number of positives among the first k items, the hits. If 4 of the first 50 items are
positive, is this better than chance? This example computes the number of hits needed for every k,
compares the exact numbers with two textbook approximations [1]_, tests an observed ranking, and
shows the effects of tied scores and of a free choice of k.

.. [1] S. A. Macskassy (2005). Significance testing against the random model for scoring models on
   top k predictions. Working paper CeDER-05-09, Stern School of Business, New York University.
"""

# %%
# Hits needed
# -----------
# There are 2000 items, 40 of them positive. By chance the hits among the first k have a
# hypergeometric distribution. :func:`~sklearn_rankinf.min_hits_at_k` returns the smallest number of
# hits with a p-value of at most ``alpha``. It accepts arrays:

import numpy as np

from sklearn_rankinf import min_hits_at_k

n_samples, n_positives = 2000, 40
cuts = np.array([10, 20, 50, 100, 200, 400, 800, 1200])
print("k                      ", *(f"{k:5d}" for k in cuts))
print("hits by chance         ", *(f"{n_positives * k / n_samples:5.1f}" for k in cuts))
for alpha in (0.05, 0.001):
    for method in ("analytic", "binomial", "normal"):
        needed = min_hits_at_k(n_samples, n_positives, k=cuts, alpha=alpha, method=method)
        print(f"needed, {alpha:<5} {method:9}", *(f"{hits:5d}" for hits in needed))

# %%
# The two approximations fail in different places. The normal approximation has the exact mean and
# variance and a continuity correction, but its tail is too thin where few hits are expected. At the
# top of the list it requires one hit too few at many k, so rankings of noise are significant too
# often. The binomial approximation assumes sampling with replacement, as if a positive could be
# found twice. This has no effect at the top. Further down, where a large part of the list has been
# selected, it requires too many hits. At k = 1200 and the 0.1 % level it requires 41 hits, more
# than the number of positives, so no number of hits is significant.
#
# The plots show the difference from the exact number for every k up to 1600:

import matplotlib.pyplot as plt

STYLES = {
    "analytic": {"color": "#1b1b1b", "label": "exact"},
    "binomial": {"color": "#00798c", "label": "binomial"},
    "normal": {"color": "#d1495b", "label": "normal"},
}
every_k = np.arange(1, 1601)
figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.6), layout="constrained", sharey=True)
for axis, alpha in zip(axes, (0.05, 0.001), strict=True):
    exact = min_hits_at_k(n_samples, n_positives, k=every_k, alpha=alpha)
    for method in ("binomial", "normal"):
        other = min_hits_at_k(n_samples, n_positives, k=every_k, alpha=alpha, method=method)
        axis.plot(every_k, other - exact, drawstyle="steps-mid", linewidth=1.2, **STYLES[method])
    axis.axhline(0.0, color="#1b1b1b", linewidth=0.8)
    axis.set(xscale="log", xlabel="k", title=f"level {alpha}")
    axis.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("hits needed, minus the exact number")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
plt.show()

# %%
# Hits are integers, so the exact curve is a step function. For most k its significance level is
# well below ``alpha``. ``interpolate=True`` returns a smooth curve between the last number of hits
# that is not significant and the first that is. The smooth curve shows trends in a plot. A test
# needs the integer.

figure, axis = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for alpha, color in ((0.05, "#1b1b1b"), (0.001, "#6a4c93")):
    needed = min_hits_at_k(n_samples, n_positives, k=every_k, alpha=alpha)
    smooth = min_hits_at_k(n_samples, n_positives, k=every_k, alpha=alpha, interpolate=True)
    axis.step(every_k, needed, where="mid", color=color, label=f"needed at level {alpha}")
    axis.plot(every_k, smooth, color=color, linewidth=0.9, linestyle=":")
axis.plot(every_k, n_positives * every_k / n_samples, color="#8d99ae", label="expected by chance")
axis.plot([], [], color="#1b1b1b", linewidth=0.9, linestyle=":", label="interpolated")
axis.set(xlabel="k", ylabel="hits among the first k", xlim=(0, 400), ylim=(0, 18))
axis.spines[["top", "right"]].set_visible(False)
figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=2)
plt.show()

# %%
# An observed ranking
# -------------------
# A model is fitted on one half of a data set and ranks the other half, in which 40 of 2000 items
# are positive.

from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

X, y = make_classification(
    4000, n_informative=3, weights=[0.98], flip_y=0.0, class_sep=0.35, random_state=1
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
model = LogisticRegression(class_weight="balanced").fit(X_train, y_train)
y_score = model.decision_function(X_test)
print(f"{y_test.sum()} positives among {y_test.size} items")

# %%
# Recall at k and precision at k have the same test. They report the hits as a fraction of the
# positives, or as a fraction of the first k items. k may also be a fraction of the list.

from sklearn_rankinf import metric_test, recall_at_k_test

cuts = [20, 50, 100, 200]
needed = min_hits_at_k(n_samples, n_positives, k=cuts)
print("   k  hits  needed  recall         p  precision         p")
for k, fewest in zip(cuts, needed, strict=True):
    recall = recall_at_k_test(y_test, y_score, k=k)
    precision = metric_test(y_test, y_score, metric=f"precision@{k}")
    print(
        f"{k:4d}{recall.hits:6.0f}{fewest:8d}{recall.statistic:8.3f}{recall.pvalue:10.1e}"
        f"{precision.statistic:11.3f}{precision.pvalue:10.1e}"
    )

# %%
# At every k the p-values of recall and precision are the same, since both count the same hits.
#
# The plot compares the hits of this ranking with the numbers needed:

from sklearn_rankinf import top_k_significance_curve

hits = top_k_significance_curve(y_test, y_score, max_rank=1600).hits
figure, axis = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
axis.step(every_k, hits, where="mid", color="#00798c", linewidth=2, label="this ranking")
for alpha, linestyle in ((0.05, "-"), (0.001, "--")):
    needed = min_hits_at_k(n_samples, n_positives, k=every_k, alpha=alpha)
    label = f"needed at level {alpha}"
    axis.step(every_k, needed, where="mid", color="#1b1b1b", ls=linestyle, lw=1, label=label)
axis.plot(every_k, n_positives * every_k / n_samples, color="#8d99ae", label="expected by chance")
axis.set(xlabel="k", ylabel="hits among the first k", xlim=(0, 400), ylim=(0, 21))
axis.set_yticks(range(0, 21, 4))
axis.spines[["top", "right"]].set_visible(False)
figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=2)
plt.show()

# %%
# Choose k before looking at the data
# -----------------------------------
# Each p-value is valid for a k that was fixed in advance. Reporting the k at which the curve looks
# best is a multiple test. A simulation shows the size of the effect: of 2000 rankings of noise, how
# many reach the 5 % curve somewhere among the first 200 ranks?

rng = np.random.default_rng(0)
needed = min_hits_at_k(n_samples, n_positives, k=every_k[:200])
at_fifty = somewhere = 0
for _ in range(2000):
    ranks = rng.choice(n_samples, size=n_positives, replace=False)
    curve = np.cumsum(np.bincount(ranks, minlength=n_samples))[:200]
    at_fifty += curve[49] >= needed[49]
    somewhere += bool(np.any(curve >= needed))
print(f"at k = 50: {at_fifty / 2000:.1%}; somewhere up to k = 200: {somewhere / 2000:.1%}")

# %%
# At a fixed k, rankings of noise are significant less often than the nominal 5 %, because hits are
# integers. At a k that is chosen after looking at the data, they are significant far more often.
# :func:`~sklearn_rankinf.top_k_significance_curve` has a simultaneous bound: rankings of noise
# reach it anywhere no more often than the level. With this bound k may be chosen from the curve;
# see :ref:`top-k` and :ref:`sphx_glr_auto_examples_plot_screening_campaign.py`.
#
# Tied scores across rank k
# -------------------------
# With coarse scores, here the same scores rounded, a block of equal scores may extend across rank
# k. The order of its items is then arbitrary. The hits are therefore averaged over random
# tie-breaking and may be a fraction. The p-value is exact for this statistic with these ties.

from sklearn_rankinf import Ranking

ranking = Ranking.from_scores(y_test, np.round(y_score))
print("blocks of equal scores: ", ranking.tie_sizes.tolist())
print("hits in them:           ", ranking.hits.tolist())
for k in (20, 50, 100):
    result = recall_at_k_test(ranking, k=k)
    print(f"k = {k:3d}: {result.hits:.2f} hits, p = {result.pvalue:.1e}")

# %%
# The numbers of :func:`~sklearn_rankinf.min_hits_at_k` are for rankings without ties across rank k.
# With such ties, use ``isf(alpha)`` of the null distribution, the largest value that is not
# significant.

from sklearn_rankinf import metric_null_distribution

null = metric_null_distribution(
    n_samples, n_positives, metric="recall@50", tie_sizes=ranking.tie_sizes
)
print(f"hits to be exceeded at k = 50: {n_positives * null.isf(0.05):.3f}")
print(f"without ties: {min_hits_at_k(n_samples, n_positives, k=50) - 1}")
