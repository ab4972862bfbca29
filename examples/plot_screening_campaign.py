"""
========================================
A screening campaign from plan to report
========================================

A laboratory searches for compounds that inhibit an enzyme. A docking program ranks whole libraries.
The laboratory first validates the program on 5000 compounds, all of which are assayed. Before the
study, it asks how many active compounds are needed to show that the ranking is better than chance.
After the study, it asks how far down the list compounds should be tested, and how large the
enrichment over chance is. All data are simulated.
"""

# %%
# Plan: how many actives are needed?
# ----------------------------------
# The effect size is given as ROC AUC, the probability that an active compound is ranked above an
# inactive one. Results for similar enzymes suggest 0.65. In one model the odds of an active
# compound are the same at every rank, AUC / (1 - AUC) = 1.86. In the other model scores are normal,
# and there are more actives at the top. How many actives are needed for the enrichment of the first
# 2 % to be significant at the 5 % level with a probability of 80 %, if 1 % of the library is
# active?

from sklearn_rankinf import EnrichmentAtK, min_positives

at_the_top = EnrichmentAtK(0.02)
for model in ("wallenius", "binormal"):
    needed = min_positives(prevalence=0.01, metric=at_the_top, auc=0.65, model=model)
    print(f"{model:10} {needed:4d} actives")

# %%
# The two models differ a lot. For metrics of the top it matters whether some actives are easy to
# find, and this is not yet known. Average precision uses all ranks and needs fewer actives. The
# laboratory can afford 5000 compounds, and therefore about 50 actives. The plots show the power of
# both metrics for this size and for smaller and larger ones:

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
        n_resamples=2000,
        despine=True,
    )
    power.ax_.set_title(title)
plt.show()

# %%
# Hits among the first 2 % are integers, so their power is a sawtooth curve. With 50 actives the
# study has sufficient power for average precision if the top is rich in actives, and little more
# than a coin toss otherwise. What is the smallest AUC that it can detect?

from sklearn_rankinf import min_detectable_odds

for metric in metrics:
    for model in ("wallenius", "binormal"):
        odds = min_detectable_odds(5000, 50, metric=metric, model=model, n_resamples=2000)
        print(f"{metric!s:25} {model:10} AUC {odds / (1 + odds):.2f}")

# %%
# Screen
# ------
# The results are available. Of 5000 compounds 50 are active. Twelve of them bind as the program
# assumes and have higher scores; the scores of the other 38 are noise. Two decisions were made
# before the assays: nobody will order more than 2000 compounds of a list, and the report will
# contain the enrichment of the first 100.

rng = np.random.default_rng(1)
is_active = np.arange(5000) < 50
score = rng.normal(size=5000)
score[:12] += 2.2

# %%
# Down to which rank is the list better than chance? The pointwise bound answers the question for a
# number of compounds that was fixed in advance. The simultaneous bound holds for all numbers up to
# 2000 at once, so the number may be chosen from the curve.

from sklearn_rankinf import TopKSignificanceDisplay

display = TopKSignificanceDisplay.from_predictions(
    is_active, score, alpha=0.05, max_rank=2000, plot_pointwise=True, name="docking", despine=True
)
curve = display.results
print(curve.summary())
plt.show()

# %%
# Beyond about k = 700 the curve is mostly below the solid line, but remains above the dotted line
# until k = 1150. The pointwise bound would have suggested a much larger k. The gain from another
# hundred assays is easiest to see as recall on a linear scale:

display.plot(y_axis="recall", log_scale=False, despine=True)
plt.show()

# %%
# 100 assays find two of every ten actives. Further assays find hardly more than by chance. A
# cumulative count does not show this: the lead of the first 100 is still visible at 700. In
# numbers:

needed = curve.hits_needed_simultaneous[0]
print("assays   actives   recall   needed at any k   by chance")
for k in (50, 100, 200, 400, 700, 2000):
    print(
        f"{k:6d}{curve.hits[k - 1]:10d}{curve.recall[k - 1]:9.2f}{needed[k - 1]:18.0f}"
        f"{curve.expected[k - 1]:12.1f}"
    )

# %%
# Does the program order the rest of the list, below rank 100, better than chance? The rest is a
# separate ranking. Testing it is valid, since 100 was fixed in advance.

from sklearn_rankinf import average_precision_test

rest = np.argsort(-score)[100:]
print(f"p = {average_precision_test(is_active[rest], score[rest]).pvalue:.2f}")

# %%
# There is no evidence that it does. The laboratory will order the first hundred compounds of the
# next library, or a few hundred if assays are cheap, and choose further compounds by other methods.
#
# Report
# ------
# A p-value shows that there is an effect; an interval shows how large it is. For the first 100
# compounds:

from sklearn_rankinf import metric_interval

enrichment = metric_interval(is_active, score, metric="enrichment@100")
print(enrichment.summary())

# %%
# The report also contains one p-value for the whole list, wherever its top ends. The smallest of
# all p-values is not itself a p-value. The minimum hypergeometric test computes the probability
# that a ranking has one as small by chance.

from sklearn_rankinf import minimum_hypergeometric_test

top = minimum_hypergeometric_test(is_active, score, max_rank=2000)
print(f"smallest of all p-values {top.statistic:.1e}, p-value of the list {top.pvalue:.1e}")

# %%
# The sentences for the report:

first, last = curve.crossovers_simultaneous[0][0]
print(
    f"Of the {curve.n_positives} active compounds among {curve.n_samples}, {curve.hits[99]} were "
    f"among the first 100 of the ranking ({curve.expected[99]:.0f} expected), an enrichment of "
    f"{enrichment.statistic:.0f} (95 % confidence interval {enrichment.low:.0f} to "
    f"{enrichment.high:.0f}).\nActives were concentrated at the top of the list (minimum "
    f"hypergeometric test over the first {top.max_rank} ranks, p = {top.pvalue:.0e}).\nThe list "
    f"was better than chance at all cuts from {first} to {last} compounds, at 5 % over all cuts up "
    f"to {curve.k[-1]}."
)
