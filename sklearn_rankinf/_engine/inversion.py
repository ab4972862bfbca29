"""Sums of a transform along one contour: tails by the trapezoid rule, and atoms.

``M(z) exp(-z s) / z`` with ``M(z) = E exp(z S)`` is the two-sided Laplace transform of the tail
``P(S >= s + u)`` where ``Re z > 0``, and of ``-P(S < s + u)`` where ``Re z < 0``. The trapezoid
rule with nodes ``theta + i (j + 1/2) 2 pi / T`` gives the tail at u = 0 and, with alternating signs
and weights ``exp(theta u)``, what lies at the multiples u of the period T.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sklearn_rankinf._engine.statistics import Complexes, Floats
from sklearn_rankinf._engine.transform import geometric_rows

# Merging errs like the square of the ratio: what is left of the difference between two ratios, one
# 2.5 times the other, and how much of it is doubtful.
LEFT_OF_MERGING, DOUBT_OF_MERGING = 1.0 / 5.25, 0.1


@dataclass(eq=False)
class Nodes:
    """Transform along one contour, extended as far as it was needed."""

    theta: float
    step: float
    span: float
    z: Complexes
    log_transform: Complexes

    def up_to(self, n_nodes: int) -> Nodes:
        """The contour as it was when it had so many nodes."""
        z, log_transform = self.z[:n_nodes], self.log_transform[:n_nodes]
        return Nodes(self.theta, self.step, self.span, z, log_transform)

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
        divisor = -np.expm1(-self.z * self.span) / self.span if self.span else self.z
        return np.asarray(np.exp(self.log_transform - self.log_transform[0].real) / divisor)

    @cached_property
    def heights(self) -> Floats:
        """Sizes of the terms of the sum."""
        return np.abs(self._terms)

    def log_scale(self, s: Floats) -> Floats:
        """Log of what 1 on the scale of the terms is as a probability."""
        return np.asarray(self.log_transform[0].real - self.theta * s + np.log(self.step / np.pi))

    def tail(self, s: Floats, sign: int, taper: bool) -> tuple[Floats, Floats]:
        """Log tails, and what 1 on the scale of the terms is relative to them.

        The tail of the other side is the complement of that of the contour's. A taper lets the
        second half of the terms fade out, so that what is cut off rings only close to jumps.
        """
        log_scale = self.log_scale(s)
        total = self.side * self._sum(
            self._terms * _taper(self.z.size) if taper else self._terms, s
        )
        # What the harmless side adds: 1 / (exp(|theta| T) + 1) of the probability 1.
        inside = -np.logaddexp(0.0, abs(self.theta) * 2.0 * np.pi / self.step)
        total = total + np.exp(np.minimum(inside - log_scale, 700.0))
        log_factor = log_scale
        if self.side != sign:
            total = 1.0 - total * np.exp(np.minimum(log_scale, 50.0))
            log_factor = np.zeros(s.shape)
        positive = total > 0.0
        log_p = np.where(positive, np.log(np.where(positive, total, 1.0)) + log_factor, -np.inf)
        safe = np.where(positive, log_p, 0.0)
        return log_p, np.exp(np.minimum(log_scale - safe, 50.0))

    def atom(self, s: Floats) -> Floats:
        """Half the mass at each s as far as the second half of the nodes resolves it.

        ``P(S = s)`` is the mean of ``E exp(z S) exp(-z s)`` along the contour. On the scale of the
        sums of `tail`.
        """
        terms = np.exp(self.log_transform - self.log_transform[0].real)
        half = terms.size // 2
        terms[:half] = 0.0
        mean = np.abs(self._sum(terms, s)) / (terms.size - half)
        return np.asarray(mean * np.pi / (2.0 * self.step))

    def jump(self, s: Floats, part: float = 0.5) -> Floats:
        """Half the mass at each s that a part of the nodes and all of them tell alike.

        What else there is near s gets less as the resolution gets better.
        """
        terms = np.exp(self.log_transform - self.log_transform[0].real)

        def within_reach(n_nodes: int) -> Floats:
            weights = np.zeros(terms.size)
            weights[:n_nodes] = _taper(n_nodes)
            return np.asarray(np.abs(self._sum(terms * weights, s)) / weights.sum())

        n_nodes = int(part * terms.size)
        part = n_nodes / terms.size
        mass = (within_reach(terms.size) - part * within_reach(n_nodes)) / (1.0 - part)
        return np.asarray(np.maximum(mass, 0.0) * np.pi / (2.0 * self.step))

    def _sum(self, terms: Complexes, s: Floats) -> Floats:
        """Real part of the sum of ``terms * exp(-i z.imag s)`` for each s: powers of powers."""
        width = int(np.ceil(np.sqrt(terms.size)))
        rows = np.zeros((-(-terms.size // width), width), dtype=complex)
        rows.ravel()[: terms.size] = terms
        turn = -1j * self.step * s
        within = geometric_rows(
            np.exp(0.5 * turn), np.exp(turn), np.empty((width, s.size), complex)
        )
        outer = np.empty((rows.shape[0], s.size), complex)
        geometric_rows(np.ones(s.size, complex), np.exp(width * turn), outer)
        return np.asarray((rows @ within * outer).sum(axis=0).real)


def _taper(n_nodes: int) -> Floats:
    """Weights that are 1 in the first half and fade out in the second."""
    x = np.maximum((np.arange(n_nodes) + 0.5) / n_nodes, 0.5)
    return np.asarray(np.cos(np.pi * (x - 0.5)) ** 2)
