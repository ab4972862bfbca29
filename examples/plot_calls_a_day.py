"""
======================================
A fraud team that makes 40 calls a day
======================================

A bank has 2000 suspicious payments a day, and its fraud team can call 40 customers. Only the number
of frauds among the first 40 payments of the list matters, because the budget fixes k. How many hits
are significant? Is the new model better than the old one, and can a single day show it? All data
are simulated.
"""

# %%
# One day
# -------
# About 40 payments a day are frauds. The old and the new model score the same payments. They use
# similar features, so their errors are correlated.

import matplotlib.pyplot as plt
import numpy as np

n_calls, n_payments, n_frauds = 40, 2000, 40


def one_day(seed):
    """Return the labels of one day's payments and their scores by the two models."""
    rng = np.random.default_rng(seed)
    is_fraud = np.arange(n_payments) < n_frauds
    common, old, new = rng.normal(size=(3, n_payments))
    share = np.sqrt(0.7)
    return is_fraud, {
        "old model": share * common + np.sqrt(0.3) * old + 1.2 * is_fraud,
        "new model": share * common + np.sqrt(0.3) * new + 1.6 * is_fraud,
    }


is_fraud, scores = one_day(0)

# %%
# Hits needed and hits found
# --------------------------
# By chance there are 0.8 frauds among 40 payments on average. The number of hits needed for
# significance is known before the day begins. Since k was not chosen by looking at the list, the
# test at this k is sufficient. A test of all k together would have less power at this k.

from sklearn_rankinf import metric_test, min_hits_at_k, top_k_significance_curve

needed = min_hits_at_k(n_payments, n_frauds, k=n_calls, alpha=[0.05, 0.001])
print(
    f"expected by chance {n_calls * n_frauds / n_payments:.1f}, needed at 5 % and 0.1 %: {needed}"
)
for name, score in scores.items():
    result = metric_test(is_fraud, score, metric=f"precision@{n_calls}")
    print(f"{name}: {result.hits:.0f} hits, p = {result.pvalue:.1e}")

curve = top_k_significance_curve(is_fraud, scores["new model"], alpha=[0.05, 0.001])
at_any_k = curve.hits_needed_simultaneous[:, n_calls - 1]
print(f"needed at 5 % and 0.1 % if k is chosen after looking: {at_any_k}")

# %%
# How many hits can a model of a given quality be expected to find? Before there are any scores,
# :func:`~sklearn_rankinf.metric_power` answers this question for a given ROC AUC:

from sklearn_rankinf import metric_power

for auc in (0.7, 0.8, 0.87):
    result = metric_power(
        n_payments, n_frauds, metric=f"precision@{n_calls}", auc=auc, model="binormal"
    )
    print(
        f"AUC {auc}: {n_calls * result.mean:.1f} hits expected, "
        f"significant on {result.power:.0%} of the days"
    )

# %%
# Gain and lift
# -------------
# Fraud teams often use gain and lift charts. Gain is the fraction of the frauds in a given fraction
# of the list. Lift is the ratio of the hits to those expected by chance. The vertical line is the
# budget, 2 % of the list.

from sklearn_rankinf import TopKSignificanceDisplay

display = TopKSignificanceDisplay.from_predictions(
    is_fraud, scores, alpha=0.05, y_axis="gain", despine=True
)
display.ax_.axvline(100 * n_calls / n_payments, color="#8d99ae", linewidth=0.8)
display.plot(y_axis="lift", log_scale=True, despine=True)
display.ax_.axvline(100 * n_calls / n_payments, color="#8d99ae", linewidth=0.8)
plt.show()

# %%
# Both models are far above chance at almost every fraction of the list, which was to be expected.
# Whether the two models differ is another question, which bounds for chance do not answer.
#
# Is the new model better?
# ------------------------
# The two lists of 40 payments overlap. The payments that both lists contain carry no information
# about the difference. The test uses the frauds that only one list contains.

from sklearn_rankinf import metric_comparison_test

day = metric_comparison_test(
    is_fraud,
    {"a": scores["new model"], "b": scores["old model"]},
    metric=f"precision@{n_calls}",
    method="influence",
)
print(day.summary())

# %%
# The difference is significant on this day. Was this to be expected? The next step computes the
# power of the comparison from the AUCs of the two models and the correlation of their scores. It
# does so for one day, and for the payments of several days in one list, with the number of calls in
# proportion:

from scipy.stats import norm

from sklearn_rankinf import metric_comparison_power

auc_old, auc_new = norm.cdf(np.array([1.2, 1.6]) / np.sqrt(2.0))
days = np.array([1, 2, 5, 10])
power = []
for n_days in days:
    result = metric_comparison_power(
        n_days * n_payments,
        n_days * n_frauds,
        auc_a=auc_new,
        auc_b=auc_old,
        correlation=0.7,
        metric=f"precision@{n_calls / n_payments}",
        method="influence",
        n_resamples=300,
    )
    power.append(result)
    print(
        f"{n_days:2d} days: power {result.power:.2f} ± {result.standard_error:.2f}, "
        f"difference in precision {result.mean_difference:.3f} on average"
    )

# %%
# The new model finds four more frauds a day on average, yet only a third of the days give a
# significant result. This day was one of them by chance. On the other days a reader might take "not
# significant" for "not better". Five days are enough for a power of 80 %. The band is two standard
# errors of the simulation:

axis = plt.figure(figsize=(6.4, 4), layout="constrained").gca()
values = np.array([result.power for result in power])
errors = np.array([result.standard_error for result in power])
axis.fill_between(days, values - 2 * errors, values + 2 * errors, color="#00798c", alpha=0.2)
axis.plot(days, values, color="#00798c", marker="o")
axis.axhline(0.8, color="#1b1b1b", linewidth=0.8, linestyle="--")
axis.set(xlabel="days", ylabel="power of the comparison", ylim=(0, 1.02), xticks=days)
axis.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The two models should therefore run side by side for the planned number of days and be compared
# once, at the end. To test every day and stop at the first significant difference would need
# methods for sequential testing.
