"""
=============================================
The simulation study of Zhang and Su, exactly
=============================================

Zhang and Su [1]_ study average precision (AP) by chance, with a normal approximation and a
simulation. This example repeats their simulation study, Table III and Figure 1, and compares four
null distributions: the exact one, the permutation distribution, the normal approximation with the
paper's approximate mean and variance, where equation (13) is a reconstruction (see :ref:`theory`),
and the normal approximation with the exact mean and variance. Some numbers of the paper are
misprints, which are marked.

.. [1] P. Zhang and W. Su (2012). Statistical inference on recall, precision and average
   precision under random selection. *9th International Conference on Fuzzy Systems and Knowledge
   Discovery (FSKD)*, 1348--1352.
"""

# %%
# The simulation
# --------------
# By chance the ``n_positives`` positives have ranks that are drawn without replacement. The
# simulation uses only NumPy, not the package.

import matplotlib.pyplot as plt
import numpy as np

SETTINGS = [(1000, 100), (2000, 500)]
N_DRAWS = 10_000
QUANTILES = (0.025, 0.5, 0.975)


def simulate_average_precision(n_samples, n_positives, n_draws, rng):
    """Return the AP of random labellings, straight from its definition."""
    precision_at = np.arange(1, n_positives + 1)
    values = np.empty(n_draws)
    for draw in range(n_draws):
        ranks = 1 + rng.choice(n_samples, size=n_positives, replace=False, shuffle=False)
        values[draw] = np.mean(precision_at / np.sort(ranks))
    return values


rng = np.random.default_rng(2012)
simulated = {setting: simulate_average_precision(*setting, N_DRAWS, rng) for setting in SETTINGS}

# %%
# Four null distributions
# -----------------------
# A null distribution is a frozen distribution with the method names of :mod:`scipy.stats`. Every
# object states its ``method``, and an approximation is used only if it is requested by name.

from sklearn_rankinf import ap_null_distribution

METHODS = ("analytic", "permutation", "zhang_su", "normal")
nulls = {
    setting: {method: ap_null_distribution(*setting, method=method) for method in METHODS}
    for setting in SETTINGS
}

# %%
# Table III
# ---------
# The table shows the printed values of the paper that are relevant for the comparison, and the
# values computed here. The methods ``mean`` and ``var`` of a null distribution are exact for every
# ``method``. The mean and variance of ``zhang_su``, equations (11) to (13) of the paper, are
# therefore computed from its quantiles.

PRINTED = {
    (1000, 100): {
        "empirical mean": "0.1037   misprint: the exact mean is 0.1058",
        "theoretical mean": "0.10373  agrees with (11)",
        "theoretical variance": "0.0001392  misprint: (13), reconstructed, gives 0.0002647",
        "quantiles": "0.0876 0.1044 0.1321  agree with the exact distribution",
    },
    (2000, 500): {
        "theoretical mean": "0.25217  agrees with (11)",
        "theoretical variance": "0.000142  misprint: (13), reconstructed, gives 0.0002798",
    },
}


def print_row(name, mean, variance, quantiles):
    """Print one line of the table."""
    cells = "".join(f"{value:10.5f}" for value in quantiles)
    print(f"  {name:<22}{mean:10.5f}{variance:14.4e}{cells}")


def moments_of(null, method):
    """Return the mean and the variance that a method uses."""
    if method == "zhang_su":
        half_width = null.ppf(0.975) - null.ppf(0.5)
        return null.ppf(0.5), (half_width / 1.959963984540054) ** 2
    return null.mean(), null.var()


for setting in SETTINGS:
    print(f"n = {setting[0]}, m = {setting[1]}")
    print(f"  {'':<22}{'mean':>10}{'variance':>14}{'2.5 %':>10}{'50 %':>10}{'97.5 %':>10}")
    draws = simulated[setting]
    print_row(
        f"simulated ({N_DRAWS})", draws.mean(), draws.var(ddof=1), np.quantile(draws, QUANTILES)
    )
    for method, null in nulls[setting].items():
        print_row(method, *moments_of(null, method), [null.ppf(q) for q in QUANTILES])
    print("  printed in the paper")
    for what, printed in PRINTED[setting].items():
        print(f"    {what:<22}{printed}")
    print()

# %%
# The simulation agrees with the exact null distribution, and so do the quantiles that the paper
# printed from its simulation. The paper's approximate mean is slightly too small, and its variance
# (13) is more than twice the exact one.
#
# Figure 1
# --------
# The figure shows the histogram of the simulated values, the exact density (differences of the
# exact distribution function), and the two normal curves.

STYLES = {
    "analytic": {"color": "#1b1b1b", "linewidth": 1.8, "label": "exact"},
    "normal": {"color": "#d1495b", "linestyle": "--", "label": "normal, exact moments"},
    "zhang_su": {"color": "#00798c", "linestyle": ":", "linewidth": 2, "label": "normal, paper"},
    "pearson3": {"color": "#edae49", "linestyle": "-.", "label": "Pearson III"},
}


def density(null, edges):
    """Return the mean density of a null distribution between neighbouring edges."""
    return np.diff(null.cdf(edges)) / np.diff(edges)


figure, axes = plt.subplots(1, 2, figsize=(6.4, 4), layout="constrained")
for axis, setting in zip(axes, SETTINGS, strict=True):
    exact = nulls[setting]["analytic"]
    edges = exact.mean() + exact.std() * np.linspace(-3.5, 5.5, 73)
    centres = (edges[:-1] + edges[1:]) / 2
    axis.hist(
        simulated[setting],
        bins=edges[::2],
        density=True,
        color="#c9d6df",
        edgecolor="white",
        label=f"{N_DRAWS} simulated rankings",
    )
    for method in ("analytic", "normal", "zhang_su"):
        axis.plot(centres, density(nulls[setting][method], edges), **STYLES[method])
    axis.axvline(setting[1] / setting[0], color="#8d99ae", linewidth=1)
    axis.annotate(
        "m/n",
        (setting[1] / setting[0], 0.97),
        xycoords=("data", "axes fraction"),
        xytext=(-4, 0),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=8,
        color="#5c677d",
    )
    axis.set(
        title=f"n = {setting[0]}, m = {setting[1]}",
        xlabel="average precision",
        xlim=(edges[0], edges[-1]),
    )
    axis.set_ylim(top=1.12 * axis.get_ylim()[1])
    axis.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("density")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
plt.show()

# %%
# The tail
# --------
# In the centre the normal approximation looks adequate, but a test uses the tail. The next plot
# shows the tail in units of the exact standard deviation and on a logarithmic scale. The normal
# approximation is wrong by a factor of six at z = 3 and of a thousand at z = 5. With the paper's
# variance its tail is too heavy up to z = 4 and decreases too fast beyond. The permutation p-value
# follows the exact one, within its Monte Carlo error, down to its lower limit 1/(B + 1).

setting = (1000, 100)
exact = nulls[setting]["analytic"]
zscores = np.linspace(0, 8, 65)
x = exact.mean() + zscores * exact.std()

figure, axis = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
for method in ("analytic", "pearson3", "normal", "zhang_su"):
    axis.semilogy(
        zscores, ap_null_distribution(*setting, method=method).pvalue(x), **STYLES[method]
    )
axis.semilogy(
    zscores,
    nulls[setting]["permutation"].pvalue(x),
    color="#6a4c93",
    linewidth=1.2,
    label="permutation, B = 9999",
)
axis.set(
    xlabel="z = (AP − exact mean) / exact standard deviation",
    ylabel="P(AP ≥ x) by chance",
    ylim=(1e-12, 2),
    xlim=(0, 8),
    title="Upper tail at n = 1000, m = 100",
)
axis.grid(alpha=0.25)
axis.spines[["top", "right"]].set_visible(False)
figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=2)
plt.show()

# %%
# The next table shows the same values in numbers:

normal = nulls[setting]["normal"]
for z in (2, 3, 4, 5, 6):
    value = exact.mean() + z * exact.std()
    print(
        f"z = {z}: exact p = {exact.pvalue(value):.3e}, normal p = {normal.pvalue(value):.3e}, "
        f"ratio {exact.pvalue(value) / normal.pvalue(value):.3g}"
    )
