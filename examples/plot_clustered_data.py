"""
===================================
Clustered data: who is exchangeable
===================================

Ten images of a patient are not ten pieces of evidence. A classifier of images recognises the
patient long before it recognises the disease, and when a few ill patients happen to get high
scores, all their images do. A test that permutes the labels of single images takes that for a
success of many; it is the commonest invalid use of permutation tests.

This example trains classifiers on data without any signal, tests each of them with and without
regard to the clusters, and shows how often either is significant. At the end the same is done where
there is a signal.
"""

# %%
# Images of patients
# ------------------
# 120 patients with 3, 6 or 9 images each; one in ten is ill. An image has twelve features, mostly
# those of its patient, and with ``effect=0`` the disease changes none of them. Half of the patients
# train the classifier, so that it has never seen those whose images it scores.

import numpy as np
from sklearn.linear_model import LogisticRegression


def scored_images(seed, effect):
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(120), rng.permutation(np.repeat([3, 6, 9], 40)))
    ill = np.zeros(120, dtype=int)
    ill[rng.choice(60, 6, replace=False)] = 1
    ill[60 + rng.choice(60, 6, replace=False)] = 1
    features = rng.normal(size=(120, 12)) + effect * ill[:, None]
    X = features[patient] + 0.5 * rng.normal(size=(patient.size, 12))
    train, test = patient < 60, patient >= 60
    model = LogisticRegression().fit(X[train], ill[patient[train]])
    return ill[patient[test]], model.decision_function(X[test]), patient[test]


y_true, y_score, patient = scored_images(seed=1, effect=0.0)
n_patients = np.unique(patient).size
print(f"{y_true.size} images of {n_patients} patients, {y_true.sum()} of them positive")

# %%
# Two tests of one ranking
# ------------------------
# ``clusters`` names the patient of each image. The labels of whole patients are permuted, among
# those with the same number of images.

from sklearn_rankinf import average_precision_test

ignoring = average_precision_test(y_true, y_score)
respecting = average_precision_test(y_true, y_score, clusters=patient, n_permutations=999)
print(f"images exchanged: p = {ignoring.pvalue:.1e}, by the {ignoring.method} law")
print(f"patients exchanged: p = {respecting.pvalue:.4f}, by {respecting.method}")

# %%
# How often noise is significant
# ------------------------------
# Three hundred such data sets, with 199 random labellings each. A valid test is significant at 5 %
# in one of twenty of them.


def pvalues(effect, n_data_sets=300):
    found = np.empty((n_data_sets, 2))
    options = {"method": "permutation", "n_permutations": 199}
    for seed in range(n_data_sets):
        y_true, y_score, patient = scored_images(1000 + seed, effect)
        found[seed, 0] = average_precision_test(y_true, y_score, **options).pvalue
        found[seed, 1] = average_precision_test(y_true, y_score, clusters=patient, **options).pvalue
    return found


noise, signal = pvalues(0.0), pvalues(0.4)
for name, found in (("without signal", noise), ("with signal", signal)):
    rates = (found <= 0.05).mean(axis=0)
    errors = np.sqrt(rates * (1.0 - rates) / len(found))
    print(
        f"{name}: significant at 5 % in {rates[0]:.1%} ± {errors[0]:.1%} if clusters are ignored, "
        f"in {rates[1]:.1%} ± {errors[1]:.1%} if they are respected"
    )

# %%
# The p-values in order: a valid test stays on or below the diagonal when there is no signal.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
for ax, found, title in zip(axes, (noise, signal), ("without signal", "with signal"), strict=True):
    shares = np.arange(1, len(found) + 1) / len(found)
    ax.step(np.sort(found[:, 0]), shares, where="post", color="C3", label="images exchanged")
    ax.step(np.sort(found[:, 1]), shares, where="post", color="C0", label="patients exchanged")
    ax.plot([0, 1], [0, 1], color="0.5", linewidth=1, linestyle="--", label="uniform")
    ax.set(title=title, xlabel="p-value")
axes[0].set_ylabel("share of data sets")
axes[0].legend()

# %%
# On the left the test that exchanges images is significant far too often. On the right both see the
# signal; the small p-values of the first are no merit, as it has them without a signal too.
#
# What to name as the cluster is a question of how the data arose: whatever brings label and score
# together, a patient, a customer, a chemical scaffold, a day. :ref:`permutation` has more, with the
# warning that comes when the sizes of clusters leave too few labellings.
