"""Nodes of a contour: the trapezoidal rule, exponentials at the nodes, and samples beyond the last.

``M(z) exp(-z s) / z`` with ``M(z) = E exp(z S)`` is the two-sided Laplace transform of the tail
``P(S >= s + u)`` where ``Re z > 0``, and of ``-P(S < s + u)`` where ``Re z < 0``. The trapezoidal
rule with nodes ``theta + i (j + 1/2) 2 pi / T`` gives the tail at u = 0, and aliases at the
multiples u of the period T, with alternating signs and weights ``exp(theta u)`` (Abate and Whitt,
1992). See "Exponential tilting" in doc/theory.rst.

A transform decays along a contour, but it returns where the values of the statistic are nearly
multiples of something: where a large block of equal scores, or few ranks at the top, decide. The
terms of the trapezoidal sum beyond its last node are therefore sampled, and their estimated sum is
a truncation error. At multiples of a span the returns of integer weights are known (see "Integer
weights" in doc/theory.rst), and the terms around them are added to the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import fft

from sklearn_rankinf._statistics import Complexes, Floats, cached_property

# Lengths of the shorter contours, as parts of the whole, that estimate what is cut off: one of them
# may agree with the whole by chance.
_SHORTER = (0.67, 0.76, 0.87)
# Share of a row's probability that a window of a pass may leave out, at each side.
LOST = 4e-11
# Number of values that are summed together.
_VALUES_TOGETHER = 4
# Samples reach from the end of the first nodes to this many times as far.
_SPREAD = 1e4
# Samples are spread evenly in the logarithm of the distance by the fractional parts of multiples of
# the golden ratio (Weyl), which are in step with no period.
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
# Equally spaced nodes from which on products take less time than exponentials.
_WORTH_PRODUCTS = 8

# Log transforms at nodes of one contour.
LogTransform = Callable[[Complexes], Complexes]


@dataclass(eq=False)
class Nodes:
    """Transform at the nodes of one contour.

    Attributes
    ----------
    theta, step : float
        Tilt, and the distance of the nodes, 2 pi over the period.
    span : float
        Distance of which all values are multiples; 0 if there is none.
    z, log_transform : ndarray of shape (n_nodes,)
        Nodes, and the log transform there.
    log_harmless : float, default=0.0
        Log of the probability a period away on the side where aliases are damped.
    begin : int, default=0
        Index of the first node; larger for nodes around a return of the transform.
    scale : float, default=None
        Log size of the transform at the first node of the contour, if that is none of these.
    """

    theta: float
    step: float
    span: float
    z: Complexes
    log_transform: Complexes
    log_harmless: float = 0.0
    begin: int = 0
    scale: float | None = None

    def up_to(self, n_nodes: int) -> Nodes:
        """The first nodes."""
        if n_nodes >= self.z.size:
            return self
        z, log_transform = self.z[:n_nodes], self.log_transform[:n_nodes]
        return Nodes(self.theta, self.step, self.span, z, log_transform, self.log_harmless)

    @property
    def is_whole(self) -> bool:
        """Whether it covers a period of the transform of values that are multiples of a span."""
        return self.span > 0.0 and self.z.size > np.pi / (self.step * self.span) - 0.5

    @property
    def side(self) -> int:
        """The tail that it gives: 1 the upper, -1 the lower."""
        return 1 if self.theta > 0.0 else -1

    @cached_property
    def _terms(self) -> Complexes:
        """``M(z) / z`` over the size of the first, which is the largest, or nearly so.

        Of values that are multiples of a span h it is ``M(z) h / (1 - exp(-z h))``, the sum over
        all of them from a multiple on.
        """
        scale = self.log_transform[0].real if self.scale is None else self.scale
        return np.asarray(np.exp(self.log_transform - scale) / self._divisors)

    @property
    def _divisors(self) -> Complexes:
        whole = -np.expm1(-self.z * self.span) / self.span if self.span else self.z
        return np.asarray(whole)

    @cached_property
    def weights(self) -> Floats:
        """Sizes of the terms of a transform that does not decay."""
        return 1.0 / np.abs(self._divisors)

    @cached_property
    def sizes(self) -> Floats:
        """Sizes of the terms of the sum."""
        return np.abs(self._terms)

    def log_scale(self, s: Floats) -> Floats:
        """Log of the factor that makes a sum of terms a probability."""
        return np.asarray(self.log_transform[0].real - self.theta * s + np.log(self.step / np.pi))

    def mean_less(self, s: Floats) -> Floats:
        """The mean under the tilt less each s, nearly, up to multiples of twice the period."""
        height = self.z[0].imag
        turn = np.exp(1j * (self.log_transform[0].imag - height * s))
        return np.asarray(np.angle(turn) / height)

    def behind(self, n_nodes: int) -> Nodes:
        """Nodes that are not among the first ones of the contour."""
        first = max(0, n_nodes - self.begin)
        return replace(
            self,
            z=self.z[first:],
            log_transform=self.log_transform[first:],
            begin=self.begin + first,
        )

    def tail(
        self,
        s: Floats,
        sign: int,
        taper: bool,
        farther: Sequence[Nodes] = (),
        are_complete: ArrayLike = True,
    ) -> tuple[Floats, Floats]:
        """Log tails, and their relative errors if the sum of the terms is off by 1.

        The tail of the other side is the complement of that of the contour's. A taper lets the
        second half of the terms fade out, so that truncation rings only close to jumps. Terms of
        nodes farther out are added, and to some values the probability on the damped side.
        """
        log_scale = self.log_scale(s)
        total = self.side * self._sum(self._terms * fade(self.z.size) if taper else self._terms, s)
        for nodes in farther:
            total = total + self.side * nodes._sum(nodes._terms, s)
        # Aliases on the damped side add 1 / (exp(|theta| T) + 1) of their probability.
        inside = self.log_harmless - np.logaddexp(0.0, abs(self.theta) * 2.0 * np.pi / self.step)
        total = total + np.where(are_complete, np.exp(np.minimum(inside - log_scale, 700.0)), 0.0)
        log_factor = log_scale
        if self.side != sign:
            total = 1.0 - total * np.exp(np.minimum(log_scale, 50.0))
            log_factor = np.zeros(s.shape)
        positive = total > 0.0
        log_p = np.where(positive, np.log(np.where(positive, total, 1.0)) + log_factor, -np.inf)
        safe = np.where(positive, log_p, 0.0)
        return log_p, np.exp(np.minimum(log_scale - safe, 50.0))

    def cut(self, s: Floats, sign: int, log_p: Floats) -> Floats:
        """The largest relative change of tapered tails on shorter contours."""
        most = np.zeros(s.shape)
        for factor in _SHORTER:
            other = self.up_to(int(factor * self.z.size)).tail(s, sign, taper=True)[0]
            known = np.isfinite(log_p) & np.isfinite(other)
            difference = np.where(known, other, 0.0) - np.where(known, log_p, 0.0)
            change = np.abs(np.expm1(np.minimum(difference, 50.0)))
            most = np.maximum(most, np.where(known, change, np.inf))
        return most

    def jump(self, s: Floats) -> Floats:
        """Half the mass at each s that shorter contours resolve otherwise than the whole.

        Where the distribution is smooth the mass within the resolution falls in proportion to the
        resolution, and nothing is left. A larger change shows structure as fine as the resolution.
        """
        terms = np.exp(self.log_transform - self.log_transform[0].real)

        def within_reach(n_nodes: int) -> Floats:
            weights = np.zeros(terms.size)
            weights[:n_nodes] = fade(n_nodes)
            return np.asarray(np.abs(self._sum(terms * weights, s)) / weights.sum())

        mass, whole = np.zeros(s.shape), within_reach(terms.size)
        for factor in _SHORTER:
            n_nodes = int(factor * terms.size)
            part = n_nodes / terms.size
            left = np.abs(whole - part * within_reach(n_nodes)) / (1.0 - part)
            mass = np.maximum(mass, left)
        return np.asarray(mass * np.pi / (2.0 * self.step))

    def tails_over_period(self, n_places: int) -> Floats:
        """The tail on the contour's side, with a taper, at 0 and further places in a period."""
        wave = fft(self._terms * fade(self.z.size), n_places)
        places = np.arange(n_places) / n_places
        total = (wave * np.exp(-1j * np.pi * places)).real
        s = places * (2.0 * np.pi / self.step)
        return np.asarray(self.side * total * np.exp(self.log_scale(s)))

    def _sum(self, terms: Complexes, s: Floats) -> Floats:
        """Real part of the sum of ``terms * exp(-i z.imag s)`` for each s: powers of powers.

        Values are summed a few at a time, in arrays of one shape, so that no sum depends on which
        others there are.
        """
        width = int(np.ceil(np.sqrt(terms.size)))
        rows = np.zeros((-(-terms.size // width), width), dtype=complex)
        rows.ravel()[: terms.size] = terms
        together = _VALUES_TOGETHER
        padded = np.zeros(-(-s.size // together) * together)
        padded[: s.size] = s
        sums = np.empty(padded.size)
        for first in range(0, padded.size, together):
            turn = -1j * self.step * padded[first : first + together]
            within = geometric_rows(
                np.exp(0.5 * turn), np.exp(turn), np.empty((width, together), complex)
            )
            outer = np.empty((rows.shape[0], together), complex)
            geometric_rows(np.exp(self.begin * turn), np.exp(width * turn), outer)
            inner = np.einsum("ij,jk->ik", rows, within)
            sums[first : first + together] = (inner * outer).sum(axis=0).real
        return sums[: s.size]


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
    silent: float,
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
    silent : float
        The nodes around these heights, and at the end of a period, belong to the sum where their
        terms, relative to the largest, add up to more.
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
    # Rounding may have left nothing of the transform, not even of its first node.
    if np.isfinite(values[0]):
        reached = first
        for i in np.flatnonzero(is_peak & (sums > silent)).tolist():
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


def fade(n_nodes: int, part: float = 0.5) -> Floats:
    """Weights that fade out in the last part of a contour: a taper."""
    left = (n_nodes - 0.5 - np.arange(n_nodes)) / (part * n_nodes)
    return np.asarray(np.sin(0.5 * np.pi * np.minimum(left, 1.0)) ** 2)


class Exponentials:
    """``exp(z factor)`` at some nodes z: at equally spaced ones by products alone.

    Samples farther out may follow the equally spaced nodes.

    Parameters
    ----------
    z : ndarray of shape (n_nodes,)
        Real or complex nodes.
    """

    def __init__(self, z: NDArray[Any]) -> None:
        self.z = z
        apart = np.abs(np.diff(z, 2)) > 1e-9 * abs(z[1] - z[0]) if z.size > 1 else np.empty(0)
        n_spaced = int(np.argmax(apart)) + 2 if apart.any() else z.size
        self._n_spaced = n_spaced if n_spaced >= _WORTH_PRODUCTS else 0
        if self._n_spaced:
            self._step = (z[n_spaced - 1] - z[0]) / (n_spaced - 1)

    def by_node(self, factors: Floats, more: Floats | None = None) -> NDArray[Any]:
        """``exp(z[:, None] * factors + more.T)``.

        Each factor (column) has its own addend, or one for each node.
        """
        z, n_spaced = self.z, self._n_spaced
        if not n_spaced or (more is not None and more.shape[1] > 1):
            exponents = np.multiply.outer(z, factors)
            return np.asarray(np.exp(exponents if more is None else exponents + more.T))
        rows = np.empty((z.size, factors.size), dtype=z.dtype)
        exponents = np.multiply.outer(z[n_spaced:], factors)
        head = z[0] * factors
        if more is not None:
            exponents, head = exponents + more.T, head + more[:, 0]
        np.exp(exponents, out=rows[n_spaced:])
        geometric_rows(np.exp(head), np.exp(self._step * factors), rows[:n_spaced])
        return rows

    def by_factor(self, factors: Floats, more: Floats | None = None) -> NDArray[Any]:
        """The same with a row for each factor."""
        return np.ascontiguousarray(self.by_node(factors, more).T)


def geometric_rows(head: NDArray[Any], ratio: NDArray[Any], out: NDArray[Any]) -> NDArray[Any]:
    """Rows ``head * ratio**i``, by doubling: a product each."""
    n_rows = out.shape[0]
    out[0] = head
    filled = 1
    while filled < n_rows:
        take = min(filled, n_rows - filled)
        np.multiply(out[:take], ratio, out=out[filled : filled + take])
        filled += take
        if filled < n_rows:
            ratio = ratio * ratio
    return out
