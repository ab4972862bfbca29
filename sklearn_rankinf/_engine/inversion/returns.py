"""Returns of a transform that has decayed, far out on its contour.

A transform decays along a contour, but it returns where the values of the statistic are nearly
multiples of something: where a large block of equal scores, or few ranks at the top, decide. The
terms of the trapezoidal sum beyond its last node are therefore sampled, and their estimated sum is
a truncation error. At multiples of a span the returns of integer weights are known (see "Integer
weights" in doc/theory.rst), and the terms around them are added to the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sklearn_rankinf._engine.inversion.trapezoid import Nodes
from sklearn_rankinf._statistics import Complexes, Floats

# Samples reach from the end of the first nodes to this many times as far.
_SPREAD = 1e4
# Samples are spread evenly in the logarithm of the distance by the fractional parts of multiples of
# the golden ratio (Weyl), which are in step with no period.
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
# Returns whose terms are smaller, relative to the largest, are not followed.
_SILENT = 1e-13

# Log transforms at nodes of one contour.
LogTransform = Callable[[Complexes], Complexes]


@dataclass(frozen=True, eq=False)
class Returns:
    """Terms of a trapezoidal sum far beyond its first nodes, on the scale of `Nodes.sizes`.

    Attributes
    ----------
    places : ndarray of shape (n_samples,)
        Indices of sampled nodes, ascending.
    sums : ndarray of shape (n_samples,)
        Estimated sum of the sizes of all terms for which each sample stands.
    followed : list of Nodes
        Nodes around known returns, whose terms belong to the sum.
    """

    places: Floats
    sums: Floats
    followed: list[Nodes]

    def beyond(self, n_nodes: int) -> float:
        """Estimated sum of the sizes of all terms beyond the first nodes."""
        return float(self.sums[self.places >= n_nodes].sum())

    def behind(self, n_nodes: int) -> list[Nodes]:
        """Nodes around known returns that are not among the first ones."""
        return [more for nodes in self.followed if (more := nodes.behind(n_nodes)).z.size]


def first_nodes_and_returns(
    log_transform: LogTransform,
    nodes: Nodes,
    first: int,
    start: int,
    whole: int,
    n_samples: int,
    known: Floats,
    follow: bool,
) -> tuple[Nodes, Returns]:
    """The first nodes of a contour, and samples of the transform beyond them, from one pass.

    Parameters
    ----------
    log_transform : callable
        Log transforms at nodes of the contour.
    nodes : Nodes
        The contour, without nodes.
    first : int
        Number of nodes.
    start : int
        Number of nodes behind which samples are taken; those up to there belong to the decay.
    whole : int
        Number of nodes to the end of a period of the transform, beyond which nothing follows.
    n_samples : int
        Number of samples.
    known : ndarray
        Heights on the contour at which the transform may return.
    follow : bool
        Whether the nodes around these heights, and at the end of a period, belong to the sum.
    """
    spread = min(_SPREAD, whole / start)
    fractions = (np.arange(1, n_samples + 1) * _GOLDEN) % 1.0
    places: Floats = np.asarray(start * spread**fractions, dtype=np.float64)
    # A sample stands for its share of the logarithms; a known return for as many terms as the first
    # nodes, to both sides, and the end of a period to one.
    shares = places * (math.log(spread) / n_samples)
    inner = known / nodes.step
    inner = inner[(first < inner) & (inner < whole - first)]
    end = np.array([whole - 0.5] if nodes.span else [])
    peaks = np.concatenate([inner, end])
    apart = (np.abs(places[:, None] - peaks) >= first).all(axis=1)
    places = np.concatenate([places[apart], peaks])
    width = np.concatenate([np.full(inner.size, 2.0 * first), np.full(end.size, 1.0 * first)])
    shares = np.concatenate([shares[apart], width])
    order = np.argsort(places, kind="stable")
    places, shares = places[order], shares[order]
    is_peak = np.isin(places, peaks)
    heights = nodes.step * np.concatenate([np.arange(first) + 0.5, places])
    z = np.asarray(nodes.theta + 1j * heights, dtype=complex)
    values = log_transform(z)
    nodes = replace(nodes, z=z[:first], log_transform=values[:first])
    with np.errstate(invalid="ignore"):
        logs = (values - values[0]).real[first:]
    sizes = np.where(np.isfinite(logs), np.exp(np.minimum(logs, 0.0)) / np.abs(z[first:]), np.inf)
    sums = np.asarray(sizes * shares, dtype=np.float64)
    followed = []
    if follow:
        reached = first
        for i in np.flatnonzero(is_peak & (sums > _SILENT)).tolist():
            begin = max(reached, int(places[i]) - first)
            stop = max(begin, min(whole, int(places[i]) + first + 1))
            reached, sums[i] = stop, 0.0
            if begin < stop:
                around = _nodes_between(log_transform, nodes, begin, stop)
                followed.append(around)
                edges = around.sizes[0] + (around.sizes[-1] if stop < whole else 0.0)
                known_all = np.isfinite(around.log_transform).all()
                sums[i] = edges * first if known_all else np.inf
    return nodes, Returns(places, sums, followed)


def _nodes_between(log_transform: LogTransform, nodes: Nodes, begin: int, stop: int) -> Nodes:
    """Nodes of the same contour from one index to another, on the same scale."""
    z = np.asarray(nodes.theta + 1j * (np.arange(begin, stop) + 0.5) * nodes.step, dtype=complex)
    scale = float(nodes.log_transform[0].real)
    return replace(nodes, z=z, log_transform=log_transform(z), begin=begin, scale=scale)
