"""
================================
A screening campaign, end to end
================================

A laboratory looks for compounds that inhibit an enzyme, with a docking program that ranks whole
libraries. Before it relies on the program it validates it on 5000 compounds, all of which are
assayed. Beforehand: with how many active compounds would such a study tell that the ranking is
better than chance? Afterwards: how far down a list is it worth going, how many times as many
actives are found as by blind picking, and how sure is that? All data are simulated.
"""

# %%
# Plan: how many actives are needed to tell?
# ------------------------------------------
# The effect is given as ROC AUC, the probability that an active compound is ranked above an
# inactive one; similar enzymes let us hope for .65. In one model the odds of an active compound are
# the same at every rank, AUC / (1 - AUC) = 1.86. In the other scores are normal, and the top is
# richer. How many actives does it take to find the enrichment of the first 2 % significant at the 5
# % level with a probability of 80 %, if 1 % of the library is active?

from sklearn_rankinf import EnrichmentAtK, min_positives

at_the_top = EnrichmentAtK(0.02)
for model in ("wallenius", "binormal"):
    needed = min_positives(prevalence=0.01, metric=at_the_top, auc=0.65, model=model)
    print(f"{model:10} {needed:4d} actives")

# %%
# The models differ a lot. What counts for metrics of the top is whether some actives are easy to
# find, and nobody knows that yet. Average precision looks at all ranks and needs fewer. The
# laboratory has money for 5000 compounds, and so for some 50 actives. The power of both metrics for
# that size, for smaller and for larger ones:

import matplotlib.pyplot as plt
import numpy as np

from sklearn_rankinf import PowerDisplay

n_actives = np.arange(20, 141, 15)
metrics = ["average_precision", at_the_top]
for model, title in {"wallenius": "Same odds at every rank", "binormal": "Normal scores"}.items():
    power = PowerDisplay.from_design(
        100 * n_actives,
        n_actives,
        metric=metrics,
        auc=0.65,
        model=model,
        n_simulations=2000,
        despine=True,
    )
    power.ax_.set_title(title)
plt.show()

# %%
# Hits among the first 2 % are whole numbers, which makes their power a saw. With 50 actives the
# study will do for average precision if the top is rich, and be little more than a coin toss if it
# is not. What is the smallest AUC that it would show?

from sklearn_rankinf import min_detectable_odds

for metric in metrics:
    for model in ("wallenius", "binormal"):
        odds = min_detectable_odds(5000, 50, metric=metric, model=model, n_simulations=2000)
        print(f"{metric!s:25} {model:10} AUC {odds / (1 + odds):.2f}")

# %%
# Screen
# ------
# The results are in. Of 5000 compounds 50 are active. Twelve of them bind as the program assumes,
# and it scores them higher; it knows nothing of the other 38. Two numbers were fixed before the
# assays: nobody will ever order more than 2000 compounds of a list, and the enrichment of the first
# 100 goes into the report.

rng = np.random.default_rng(1)
is_active = np.arange(5000) < 50
score = rng.normal(size=5000)
score[:12] += 2.2

# %%
# Down to where is the list better than picking compounds blindly? The pointwise bound answers for a
# number of compounds that was fixed beforehand. The simultaneous bound holds for all numbers up to
# 2000 at once, so that the number may be chosen by looking at the curve.

from sklearn_rankinf import TopKSignificanceDisplay

display = TopKSignificanceDisplay.from_predictions(
    is_active, score, alpha=0.05, max_k=2000, name="docking", despine=True
)
curve = display.results
print(curve.summary())
plt.show()

# %%
# Past k = 700 or so the curve is below the solid line, and mostly above the dotted one for a good
# while: a choice of k by the pointwise bound would have gone much further. What another hundred
# assays bring is best seen as recall, on a scale that is not logarithmic:

display.plot(y_axis="recall", log_scale=False, despine=True)
plt.show()

# %%
# Of every ten actives two are found by 100 assays, and after that hardly more than by chance. A
# cumulative count does not say that: the lead of the first 100 is still there at 700. In numbers:

needed = curve.hits_needed_simultaneous[0]
print("assays   actives   recall   needed at any k   by chance")
for k in (50, 100, 200, 400, 700, 2000):
    print(
        f"{k:6d}{curve.hits[k - 1]:10d}{curve.recall[k - 1]:9.2f}{needed[k - 1]:18.0f}"
        f"{curve.expected[k - 1]:12.1f}"
    )

# %%
# Does the program order the rest of the list, below rank 100, any better than chance? The rest is a
# ranking by itself, and testing it is fair since 100 was fixed beforehand.

from sklearn_rankinf import average_precision_test

rest = np.argsort(-score)[100:]
print(f"p = {average_precision_test(is_active[rest], score[rest]).pvalue:.2f}")

# %%
# There is no evidence that it does. The laboratory will order the first hundred of the next
# library, a few hundred if assays are cheap, and choose others by other means.
#
# Report
# ------
# A p-value says that there is something, an interval how much. For the first 100 compounds:

from sklearn_rankinf import metric_interval

enrichment = metric_interval(is_active, score, metric="enrichment_at_k", k=100)
print(enrichment.summary())

# %%
# And one p-value for the whole list, wherever its top ends. The smallest of all p-values is none
# itself; the minimum hypergeometric test says how often a random ranking has one as small.

from sklearn_rankinf import minimum_hypergeometric_test

top = minimum_hypergeometric_test(is_active, score, max_rank=2000)
print(f"smallest of all p-values {top.statistic:.1e}, p-value of the list {top.pvalue:.1e}")

# %%
# The sentences to write:

first, last = curve.crossovers_simultaneous[0][0]
print(
    f"Of the {curve.n_positives} active compounds among {curve.n_samples}, {curve.hits[99]} were "
    f"among the first 100 of the ranking ({curve.expected[99]:.0f} expected), an enrichment of "
    f"{enrichment.statistic:.0f} (95 % confidence interval {enrichment.low:.0f} to "
    f"{enrichment.high:.0f}).\nActives were concentrated at the top of the list (minimum "
    f"hypergeometric test over the first {top.max_rank} ranks, p = {top.pvalue:.0e}).\nThe list "
    f"beat random selection at all cuts from {first} to {last} compounds, at 5 % over all cuts up "
    f"to {curve.k[-1]}."
)
