"""
========================================
The tail of average precision, four ways
========================================

P-values are upper tail probabilities. Distributions with the same mean and standard deviation
differ most in the tail. This example computes the upper tail of average precision (AP) by chance
for three problem sizes: exactly, by the normal approximation, by the Pearson type III
approximation, which also has the exact skewness, and by permutation. See
:ref:`exact-null-distribution` for the computation of the exact curve and its accuracy.
"""

# %%
# The four methods
# ----------------
# The null distributions differ only in ``method``. All have the exact mean and standard deviation,
# so one scale serves all: z, the distance of an AP from its mean under the null hypothesis in
# standard deviations. One call computes all values from z = 0 to z = 8.

import numpy as np

from sklearn_rankinf import ap_null_distribution

SIZES = [(1000, 100), (1000, 10), (10_000, 50)]
METHODS = ("analytic", "normal", "pearson3", "permutation")
z = np.linspace(0.0, 8.0, 161)

nulls, tails = {}, {}
for size in SIZES:
    for method in METHODS:
        null = ap_null_distribution(*size, method=method, n_resamples=9999, random_state=1)
        nulls[size, method] = null
        tails[size, method] = null.pvalue(null.mean() + z * null.std())

# %%
# The tails
# ---------
# On a logarithmic scale a normal tail is a parabola. The exact tail is closer to a straight line.
# If positives are few, it decreases in steps: a single positive at the very top of the list adds
# several standard deviations, and p hardly changes until the next placement of a few positives at
# the top is reached. A smooth curve with the correct first moments cannot follow these steps.

import matplotlib.pyplot as plt

STYLES = {
    "analytic": {"color": "#1b1b1b", "linewidth": 1.8, "label": "exact"},
    "normal": {"color": "#d1495b", "linestyle": "--", "label": "normal"},
    "pearson3": {"color": "#00798c", "linestyle": "-.", "label": "Pearson III"},
    "permutation": {
        "color": "#edae49",
        "linestyle": "none",
        "marker": ".",
        "markersize": 4,
        "label": "9999 permutations",
    },
}
figure, axes = plt.subplots(1, 3, figsize=(7.2, 3.8), layout="constrained", sharey=True)
for axis, size in zip(axes, SIZES, strict=True):
    for method, style in STYLES.items():
        axis.plot(z, tails[size, method], **style)
    axis.axhline(1e-4, color="#8d99ae", linewidth=0.8)
    axis.set(yscale="log", ylim=(1e-9, 1.5), xlabel="z", title=f"n = {size[0]}, m = {size[1]}")
axes[0].set_ylabel("p-value")
axes[0].annotate("1/(B + 1)", (0.2, 1.3e-4), color="#5c677d", fontsize="small")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
plt.show()

# %%
# The ratios
# ----------
# The table lists the two smooth approximations as multiples of the exact p-value:

print("(n, m)          z     exact p   normal/exact   Pearson III/exact")
for size in SIZES:
    for at in (3.0, 5.0):
        place = int(np.argmin(np.abs(z - at)))
        exact, normal, pearson, _ = (tails[size, method][place] for method in METHODS)
        ratios = f"{normal / exact:12.2g}   {pearson / exact:17.2f}"
        print(f"{size!s:14} {at:2.0f}   {exact:.3e}   {ratios}")

# %%
# At z = 3 the p-value of the normal approximation is too small by a factor of six to sixteen, and
# at z = 5 by a factor of a thousand to tens of thousands. The error is largest where the evidence
# is strongest.
#
# The Pearson III approximation is better. With 100 positives among 1000 it is 4 % too small at z =
# 3 and 24 % at z = 5, at no cost. With few positives it is a smooth line through the steps and
# crosses the exact curve several times. At these places it is between a quarter too small and half
# as large again, and its error cannot be known without the exact value.
#
# Permutation
# -----------
# The permutation p-values follow the exact ones down to the lower limit of 1/10,000 for 9999
# permutations. Near that limit a p-value depends on a handful of permutations, so the points
# scatter. Neighbouring points come from the same permutations and deviate together. The table lists
# the permutation p-values with their standard errors, and the exact p-values with their estimated
# relative errors:

print("(n, m)          z   by permutation        exact p (relative error)")
for size in SIZES:
    for at in (3.0, 5.0):
        sampled, exact = nulls[size, "permutation"], nulls[size, "analytic"]
        x = exact.mean() + at * exact.std()
        p, error = sampled.pvalue(x), sampled.relative_error(x)
        analytic = f"{exact.pvalue(x):.5f} ({exact.relative_error(x):.0e})"
        print(f"{size!s:14} {at:2.0f}   {p:.5f} ± {error * p:.5f}     {analytic}")

# %%
# Permutation does not use contours or transforms, so it is an independent check of the exact
# p-values, as far down as it reaches. The guaranteed bounds of ``pvalue_bounds`` check them further
# down, here at z = 8:

for size in SIZES:
    null = nulls[size, "analytic"]
    x = null.mean() + 8.0 * null.std()
    lower, upper = null.pvalue_bounds(x)
    print(f"{size!s:14} {lower:.4e} < {null.pvalue(x):.4e} < {upper:.4e}")
