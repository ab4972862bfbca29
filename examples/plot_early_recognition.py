"""
===========================================
Which metric sees what at the top of a list
===========================================

A screening ranks 2000 compounds, 40 of them active. One ranker puts a fifth of the actives at the
very top and knows nothing of the others. Another one is mildly better than chance everywhere. Their
areas under the ROC curve are the same, but who can test the first 20 compounds only will not take
them for equals. This example asks seven metrics, each with its exact p-value, what they see of
either ranking.
"""

# %%
# Two rankers
# -----------
# The scores of inactive compounds are standard normal. The first ranker recognises a chemical
# series of eight actives, whose scores are higher by 3.3 standard deviations, and has noise for the
# other 32 actives. The second one has all actives higher by 0.4. The seed is one for which both
# areas under the ROC curve are nearly equal.

import numpy as np

N_COMPOUNDS, N_ACTIVES, N_IN_SERIES = 2000, 40, 8
active = np.repeat([1, 0], [N_ACTIVES, N_COMPOUNDS - N_ACTIVES])
rng = np.random.default_rng(12)
early = rng.normal(size=N_COMPOUNDS)
early[:N_IN_SERIES] += 3.3
mild = rng.normal(size=N_COMPOUNDS) + 0.4 * active
RANKERS = {"early": early, "mild": mild}

# %%
# The actives found among the first k compounds:

import matplotlib.pyplot as plt

COLORS = {"early": "#00798c", "mild": "#d1495b"}
cuts = np.arange(1, N_COMPOUNDS + 1)
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for name, y_score in RANKERS.items():
    found = np.cumsum(active[np.argsort(-y_score)])
    for axis in axes:
        axis.step(cuts, found, where="post", color=COLORS[name], label=name)
for axis, last, most in zip(axes, (N_COMPOUNDS, 100), (N_ACTIVES, 12), strict=True):
    axis.plot(cuts, N_ACTIVES * cuts / N_COMPOUNDS, color="#8d99ae", label="by chance")
    axis.set(xlim=(0, last), ylim=(0, most), xlabel="k", title=f"up to k = {last}")
    axis.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("actives among the first k")
axes[0].legend(frameon=False)
plt.show()

# %%
# The metrics
# -----------
# From the one that looks at the whole list to the one that looks at a single compound. BEDROC
# weighs rank r by :math:`e^{-\alpha r / n}`; the larger :math:`\alpha`, the shorter the top that
# counts:

for alpha, top in ((20.0, 0.08), (80.5, 0.02)):
    share = -np.expm1(-alpha * top) / -np.expm1(-alpha)
    print(f"alpha = {alpha}: {share:.0%} of the weight in the first {top:.0%} of the list")

# %%
# The tests:

from sklearn_rankinf import (
    AveragePrecision,
    Bedroc,
    EnrichmentAtK,
    ReciprocalRank,
    RocAuc,
    metric_test,
)

METRICS = {
    "ROC AUC": RocAuc(),
    "BEDROC, 20": Bedroc(),
    "BEDROC, 80.5": Bedroc(alpha=80.5),
    "enrichment, 5 %": EnrichmentAtK(k=0.05),
    "enrichment, 1 %": EnrichmentAtK(k=0.01),
    "average precision": AveragePrecision(),
    "reciprocal rank": ReciprocalRank(),
}
results = {
    (label, name): metric_test(active, y_score, metric=metric)
    for label, metric in METRICS.items()
    for name, y_score in RANKERS.items()
}
print("                    chance     early: value, p      mild: value, p")
for metric in METRICS:
    chance = results[metric, "early"].chance
    cells = [
        f"{result.statistic:8.3f} {result.pvalue:9.1e}"
        for result in (results[metric, name] for name in RANKERS)
    ]
    print(f"{metric:18}{chance:8.3f}  ", "   ".join(cells))

# %%
# All p-values are exact: those of enrichment and of the reciprocal rank are sums over all values
# that are possible, the others state their numerical error.

errors = [result.pvalue_relative_error for result in results.values()]
print(f"largest relative error stated {max(errors):.0e}")

# %%
# The evidence as :math:`-\log_{10} p`:

axis = plt.figure(figsize=(7, 4.2), layout="constrained").gca()
place = np.arange(len(METRICS))
for shift, name in ((-0.2, "early"), (0.2, "mild")):
    evidence = [-results[metric, name].log10_pvalue for metric in METRICS]
    axis.barh(place + shift, evidence, height=0.38, color=COLORS[name], label=name)
axis.axvline(-np.log10(0.05), color="#1b1b1b", linewidth=0.8, linestyle=":", label="p = 0.05")
axis.set(yticks=place, yticklabels=list(METRICS), xlabel="$-\\log_{10}$ p")
axis.invert_yaxis()
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False, loc="upper right")
plt.show()

# %%
# ROC AUC sees the same in both: it counts pairs of an active and an inactive compound in right
# order, wherever in the list they are. All the others see the series of the early ranker, and
# average precision and the steeper BEDROC see it best, as both weigh the very first ranks most. To
# the mild ranker they are blind: it does nothing for the top of the list, and what it does lower
# down has no weight. Enrichment at 1 % is 0 and its p-value 1, although the ranking is better than
# chance by its ROC AUC. The reciprocal rank looks at a single compound, and the smallest p-value
# that it can have is the share of actives:

print(f"{results['reciprocal rank', 'early'].null_distribution.pvalue(1.0):.3f}")

# %%
# None of the metrics is wrong. Which one to take follows from what the list is for: if all of it
# will be read, ROC AUC; if only so many compounds can be tested, hits or enrichment among these; if
# the top counts most but nobody knows how far down the reading goes, average precision or BEDROC.
#
# Choose the metric before you look
# ---------------------------------
# The p-values of several metrics of one ranking are several tests. Each is valid, the smallest of
# them is not. Of 500 random rankings, how many are significant at the 5 % level by one of six
# metrics (with one BEDROC) chosen beforehand, and how many by any of the six? A value is
# significant if it is larger than ``isf(0.05)`` of its law, so that one critical value serves all
# rankings.

from functools import partial

from sklearn.metrics import average_precision_score, roc_auc_score

from sklearn_rankinf import bedroc_score, enrichment_at_k_score, reciprocal_rank_score

SCORES = {
    "ROC AUC": roc_auc_score,
    "BEDROC, 20": bedroc_score,
    "enrichment, 5 %": partial(enrichment_at_k_score, k=0.05),
    "enrichment, 1 %": partial(enrichment_at_k_score, k=0.01),
    "average precision": average_precision_score,
    "reciprocal rank": reciprocal_rank_score,
}
noise = rng.normal(size=(500, N_COMPOUNDS))
values = np.array([[score(active, row) for row in noise] for score in SCORES.values()])


def significant(level):
    """For every metric and ranking, whether the p-value is at most the level."""
    laws = (results[metric, "early"].null_distribution for metric in SCORES)
    return values > np.array([[law.isf(level)] for law in laws])


alone = significant(0.05)
for metric, row in zip(SCORES, alone, strict=True):
    print(f"{metric:25}{row.mean():6.1%}")
print(f"any of the six           {alone.any(axis=0).mean():6.1%}")
print(f"any, at the level 0.05/6 {significant(0.05 / 6).any(axis=0).mean():6.1%}")

# %%
# To divide the level by the number of metrics (Bonferroni's rule) is valid. It is on the safe side,
# more so than with independent tests, since the metrics look at the same few compounds. A metric
# that was chosen beforehand needs no correction.
