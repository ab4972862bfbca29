"""
============================================
Which metric rewards a good top of the list?
============================================

A screening ranks 2000 compounds, 40 of them active. One ranker puts a fifth of the actives at the
very top and ranks the others at random. Another ranker is slightly better than chance everywhere.
Both have the same area under the ROC curve, but for a laboratory that can test only the first 20
compounds they are not equally good. This example compares the two rankings with seven metrics and
their exact p-values.
"""

# %%
# Two rankers
# -----------
# The scores of inactive compounds are standard normal. The first ranker recognizes a chemical
# series of eight actives, whose scores are higher by 3.3 standard deviations. The scores of the
# other 32 actives are noise. With the second ranker, the scores of all actives are higher by 0.4.
# The seed was chosen so that the two areas under the ROC curve are nearly equal.

import numpy as np

N_COMPOUNDS, N_ACTIVES, N_IN_SERIES = 2000, 40, 8
active = np.repeat([1, 0], [N_ACTIVES, N_COMPOUNDS - N_ACTIVES])
rng = np.random.default_rng(12)
early = rng.normal(size=N_COMPOUNDS)
early[:N_IN_SERIES] += 3.3
mild = rng.normal(size=N_COMPOUNDS) + 0.4 * active
RANKERS = {"early": early, "mild": mild}

# %%
# The plots show how many actives are found among the first k compounds:

import matplotlib.pyplot as plt

COLORS = {"early": "#00798c", "mild": "#d1495b"}
cuts = np.arange(1, N_COMPOUNDS + 1)
figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.6), layout="constrained")
for name, y_score in RANKERS.items():
    found = np.cumsum(active[np.argsort(-y_score)])
    for axis in axes:
        axis.step(cuts, found, where="post", color=COLORS[name], label=name)
for axis, last, most in zip(axes, (N_COMPOUNDS, 100), (N_ACTIVES, 12), strict=True):
    axis.plot(cuts, N_ACTIVES * cuts / N_COMPOUNDS, color="#8d99ae", label="by chance")
    axis.set(xlim=(0, last), ylim=(0, most), xlabel="k", title=f"Up to k = {last}")
    axis.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("actives among the first k")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
plt.show()

# %%
# The metrics
# -----------
# The metrics range from one that uses the whole list to one that uses a single compound. BEDROC
# gives rank r the weight :math:`e^{-\alpha r / n}`. The larger :math:`\alpha`, the shorter the top
# that counts:

for alpha, top in ((20.0, 0.08), (80.5, 0.02)):
    weight = -np.expm1(-alpha * top) / -np.expm1(-alpha)
    print(f"alpha = {alpha}: {weight:.0%} of the weight in the first {top:.0%} of the list")

# %%
# The next step tests both rankers by each metric:

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
# No p-value is simulated. Those of enrichment and of the reciprocal rank are sums over all possible
# values; the others are computed numerically, with an estimate of the error:

errors = [result.pvalue_relative_error for result in results.values()]
print(f"largest estimated relative error {max(errors):.0e}")

# %%
# The plot shows the evidence as :math:`-\log_{10} p`:

figure, axis = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
place = np.arange(len(METRICS))
for shift, name in ((-0.2, "early"), (0.2, "mild")):
    evidence = [-results[metric, name].log10_pvalue for metric in METRICS]
    axis.barh(place + shift, evidence, height=0.38, color=COLORS[name], label=name)
axis.axvline(-np.log10(0.05), color="#1b1b1b", linewidth=0.8, linestyle=":", label="p = 0.05")
axis.set(yticks=place, yticklabels=list(METRICS), xlabel="$-\\log_{10}$ p")
axis.invert_yaxis()
axis.spines[["top", "right"]].set_visible(False)
figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=3)
plt.show()

# %%
# ROC AUC is the same for both rankers, because it counts pairs of an active and an inactive
# compound in the right order, wherever they are in the list. All other metrics detect the series of
# the early ranker. Average precision and the steeper BEDROC give the strongest evidence, because
# they put most weight on the very first ranks. They do not detect the mild ranker, which improves
# the list further down, where ranks have little or no weight. Its enrichment at 1 % is 0 with a
# p-value of 1, although the ranking is better than chance by ROC AUC. The reciprocal rank uses a
# single compound, and its smallest possible p-value is the prevalence of actives:

print(f"{results['reciprocal rank', 'early'].null_distribution.pvalue(1.0):.3f}")

# %%
# None of the metrics is wrong. The choice depends on the use of the list. If all of it will be
# read, use ROC AUC. If only a fixed number of compounds can be tested, use the hits or the
# enrichment among them. If the top counts most but the length of the top is unknown, use average
# precision or BEDROC.
#
# Choose the metric before looking at the data
# --------------------------------------------
# The p-values of several metrics of one ranking are several tests. Each is valid, but the smallest
# of them is not. Of 500 rankings of noise, how many are significant at the 5 % level by one metric
# chosen in advance, and how many by any of six metrics (with one BEDROC)? A value is significant if
# it exceeds ``isf(0.05)`` of the null distribution, so one critical value serves all rankings.

from sklearn.metrics import average_precision_score, roc_auc_score

from sklearn_rankinf import Bedroc, EnrichmentAtK, ReciprocalRank

SCORES = {
    "ROC AUC": roc_auc_score,
    "BEDROC, 20": Bedroc(),
    "enrichment, 5 %": EnrichmentAtK(0.05),
    "enrichment, 1 %": EnrichmentAtK(0.01),
    "average precision": average_precision_score,
    "reciprocal rank": ReciprocalRank(),
}
noise = rng.normal(size=(500, N_COMPOUNDS))
values = np.array([[score(active, row) for row in noise] for score in SCORES.values()])


def significant(level):
    """Return whether the p-value is at most the level, for every metric and ranking."""
    nulls = (results[metric, "early"].null_distribution for metric in SCORES)
    return values > np.array([[null.isf(level)] for null in nulls])


alone = significant(0.05)
for metric, row in zip(SCORES, alone, strict=True):
    print(f"{metric:25}{row.mean():6.1%}")
print(f"any of the six           {alone.any(axis=0).mean():6.1%}")
print(f"any, at the level 0.05/6 {significant(0.05 / 6).any(axis=0).mean():6.1%}")

# %%
# Dividing the level by the number of metrics (Bonferroni's rule) is valid. It is more conservative
# here than with independent tests, since the metrics depend on the same few compounds. A metric
# chosen in advance needs no correction.
