"""
========================================
The tail of average precision, four ways
========================================

P-values are read in the upper tail of a law, and that is where laws that agree on mean and standard
deviation part. This example draws the upper tail of average precision (AP) under random labelling
for three sizes of problems: exactly, by the normal law, by a Pearson type III law, which has the
exact skewness too, and by permutation. How the exact curve is computed, and how exact it is, is
told in :ref:`exact-null-distribution`.
"""

# %%
# The four answers
# ----------------
# The laws differ in ``method`` alone. All share the exact mean and standard deviation, so one scale
# serves all: z, the distance of an AP from its mean by chance in standard deviations. All values
# from z = 0 to z = 8 are asked for in one call.

import numpy as np

from sklearn_rankinf import ap_null_distribution

SIZES = [(1000, 100), (1000, 10), (10_000, 50)]
METHODS = ("analytic", "normal", "pearson3", "permutation")
z = np.linspace(0.0, 8.0, 161)

laws, tails = {}, {}
for size in SIZES:
    for method in METHODS:
        law = ap_null_distribution(*size, method=method, n_permutations=9999, random_state=1)
        laws[size, method] = law
        tails[size, method] = law.pvalue(law.mean() + z * law.std())

# %%
# The pictures
# ------------
# On a logarithmic scale a normal tail is a parabola. The exact tail is closer to a straight line,
# and where positives are few it comes down in steps: a single positive at the very top of the list
# adds several standard deviations, and p hardly changes until the next placement of a few positives
# at the top comes within reach. A smooth curve with the right first moments cannot follow that.

import matplotlib.pyplot as plt

STYLES = {
    "analytic": {"color": "#1b1b1b", "linewidth": 1.8, "label": "exact law"},
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
figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained", sharey=True)
for axis, size in zip(axes, SIZES, strict=True):
    for method, style in STYLES.items():
        axis.plot(z, tails[size, method], **style)
    axis.axhline(1e-4, color="#8d99ae", linewidth=0.8)
    axis.set(yscale="log", ylim=(1e-9, 1.5), xlabel="z", title=f"n = {size[0]}, m = {size[1]}")
axes[0].set_ylabel("p-value")
axes[0].annotate("1/(B + 1)", (0.2, 1.3e-4), color="#5c677d", fontsize="small")
axes[0].legend(loc="lower left", fontsize="small")
plt.show()

# %%
# The ratios
# ----------
# What the two smooth laws say, as a multiple of the exact p-value:

print("(n, m)          z     exact p   normal/exact   Pearson III/exact")
for size in SIZES:
    for at in (3.0, 5.0):
        place = int(np.argmin(np.abs(z - at)))
        exact, normal, pearson, _ = (tails[size, method][place] for method in METHODS)
        ratios = f"{normal / exact:12.2g}   {pearson / exact:17.2f}"
        print(f"{size!s:14} {at:2.0f}   {exact:.3e}   {ratios}")

# %%
# At z = 3 the normal law is too small by a factor of six to sixteen, and at z = 5 by a thousand or
# by tens of thousands. It is the more wrong the more it matters.
#
# Pearson III is another matter. With 100 positives among 1000 it is 4 % too small at z = 3 and 24 %
# at z = 5, at no cost at all. With few positives it crosses the exact curve several times, since it
# goes straight through the steps; at these places it is between a quarter too small and half as
# large again, and nothing tells which.
#
# Permutation
# -----------
# The permutation p-values follow the exact law as far as they can. None of 9999 permutations gives
# less than 1/10,000, and near that floor a p-value rests on a handful of permutations, so that
# the points scatter. Neighbouring points come from the same permutations and stray together. With
# their standard errors, and what the exact law states of its own relative error:

print("(n, m)          z   by permutation        exact p (relative error)")
for size in SIZES:
    for at in (3.0, 5.0):
        sampled, exact = laws[size, "permutation"], laws[size, "analytic"]
        x = exact.mean() + at * exact.std()
        p, share = sampled.pvalue(x), sampled.relative_error(x)
        by_law = f"{exact.pvalue(x):.5f} ({exact.relative_error(x):.0e})"
        print(f"{size!s:14} {at:2.0f}   {p:.5f} ± {share * p:.5f}     {by_law}")

# %%
# Permutation knows nothing of contours and transforms, so it checks the exact law independently, as
# far down as it reaches. The guaranteed bounds of ``pvalue_bounds`` check it further down, here at
# z = 8:

for size in SIZES:
    law = laws[size, "analytic"]
    x = law.mean() + 8.0 * law.std()
    lower, upper = law.pvalue_bounds(x)
    print(f"{size!s:14} {lower:.4e} < {law.pvalue(x):.4e} < {upper:.4e}")
