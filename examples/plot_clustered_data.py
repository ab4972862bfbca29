"""
==============================================
Clustered data: several images of each patient
==============================================

Ten images of a patient are not ten independent pieces of evidence, because they resemble each
other. If a few ill patients get high scores by chance, all their images do. A test that permutes
the labels of single images counts this as many successes, which makes it invalid.

This example trains classifiers on data without any signal, tests each of them with and without
clusters, and shows how often the two tests are significant. The last part does the same for data
with a signal.
"""

# %%
# Images of patients
# ------------------
# There are 120 patients with 3, 6 or 9 images each; one in ten is ill. An image has twelve
# features, which depend mostly on the patient. With ``effect=0`` the disease changes none of them.
# Half of the patients are used to train the classifier, so it has never seen the patients whose
# images it scores.

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
# ``clusters`` gives the patient of each image. The labels of whole patients are permuted among
# patients with the same number of images.

from sklearn_rankinf import average_precision_test

by_image = average_precision_test(y_true, y_score)
by_patient = average_precision_test(y_true, y_score, clusters=patient, n_resamples=999)
print(f"images permuted: p = {by_image.pvalue:.1e} ({by_image.method})")
print(f"patients permuted: p = {by_patient.pvalue:.4f} ({by_patient.method})")

# %%
# How often is noise significant?
# -------------------------------
# The simulation has 300 such data sets, with 199 random labellings each. A valid test is
# significant at 5 % for at most one in twenty data sets of noise, up to the error of the
# simulation.


def pvalues(effect, n_data_sets=300):
    found = np.empty((n_data_sets, 2))
    options = {"method": "permutation", "n_resamples": 199}
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
        f"{name}: significant at 5 % in {rates[0]:.1%} ± {errors[0]:.1%} without clusters, "
        f"in {rates[1]:.1%} ± {errors[1]:.1%} with clusters"
    )

# %%
# The plot shows the empirical distribution of the p-values. Without a signal, the curve of a valid
# test follows the diagonal or stays below it.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.6), layout="constrained", sharey=True)
for ax, found, title in zip(axes, (noise, signal), ("without signal", "with signal"), strict=True):
    fractions = np.arange(1, len(found) + 1) / len(found)
    ax.step(np.sort(found[:, 0]), fractions, where="post", color="C3", label="images permuted")
    ax.step(np.sort(found[:, 1]), fractions, where="post", color="C0", label="patients permuted")
    ax.plot([0, 1], [0, 1], color="0.5", linewidth=1, linestyle="--", label="uniform")
    ax.set(title=title, xlabel="p-value")
axes[0].set_ylabel("fraction of data sets")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)

# %%
# On the left, the test that permutes images is significant far too often. On the right, both tests
# detect the signal. The smaller p-values of the first test are no advantage, because it also has
# them without a signal.
#
# Which clusters to use depends on the origin of the data. A cluster is whatever affects both label
# and score: a patient, a customer, a chemical scaffold, a day. See :ref:`permutation` for details,
# including the warning that is given if the sizes of the clusters leave too few labellings.
