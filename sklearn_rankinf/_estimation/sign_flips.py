"""Multiple comparisons of runs over the same queries: the maximum under random signs of queries.

The standard errors of runs over a few queries are errors of each pair by itself, and a multivariate
t distribution, which has one common scale and takes the correlations as known, has too small a
maximum. Random signs keep both as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sklearn_rankinf._estimation.simultaneous import level_of_tests
from sklearn_rankinf._permutation import DesignWarning, Draws, RunFlipSampler, pvalue_of_draws
from sklearn_rankinf._ranking import warn_caller
from sklearn_rankinf._statistics import Floats, Integers

# A critical value is larger than the draw it is, because the observed statistic is often one of
# the draws, by this multiple of the distance within which statistics, at most 1, are equal.
_ABOVE = 1e3


@dataclass(frozen=True, eq=False)
class FlippedRuns:
    """The largest differences of runs over queries, under random signs of the queries.

    `observed` are the statistics of all pairs, the run of the column minus that of the row, `drawn`
    the rows of `RunFlipSampler`, all of them if the signs are few. `standard_error` is that of the
    mean difference of each pair, 0 where the differences are all equal. Statistics within
    `tolerance` are equal.
    """

    observed: Floats
    standard_error: Floats
    tolerance: float
    drawn: Floats
    n_queries: int
    is_complete: bool

    @classmethod
    def of(cls, values: Floats, draws: Draws) -> FlippedRuns:
        """Values of shape (n_queries, n_runs)."""
        sampler = RunFlipSampler(values)
        n_listed = sampler.n_listed
        is_complete = n_listed is not None and n_listed <= draws.n_resamples
        if is_complete and n_listed is not None:
            drawn = draws.listed(sampler, n_listed)
        else:
            drawn = draws.of(sampler)
        (observed,) = sampler.statistics(np.ones((1, len(values))))
        known = observed, sampler.standard_error, sampler.tolerance
        return cls(*known, drawn, len(values), is_complete)

    def warn_of_few_signs(self, confidence_level: float) -> None:
        """Warn if no p-value can be significant."""
        least = 2.0 / len(self.drawn) if self.is_complete else 1.0 / (len(self.drawn) + 1.0)
        level = level_of_tests(confidence_level)
        if least > level:
            few, more = f"{len(self.drawn)} draws", "more n_resamples"
            if self.is_complete:
                few = f"{self.n_queries} queries"
                more = "more queries, or correction='holm', whose p-values are those of t tests"
            warn_caller(
                f"With {few} no adjusted p-value can be below {least:.3g}, so that no difference "
                f"is significant at {level:.3g}, and limits are infinite: use {more}.",
                DesignWarning,
            )

    def single_step(self, pairs: Integers, confidence_level: float) -> tuple[Floats, float]:
        """Two-sided p-values, and the critical value of Student's t that agrees with them.

        `pairs` are all pairs, or those with one run, which comes second. A p-value is at most
        ``1 - confidence_level`` if and only if its t is beyond the critical value, which is
        infinite if signs are so few that no p-value can be so small.
        """
        first, second = pairs.T
        column = 1 + second[0] if np.all(second == second[0]) else 0
        largest = np.sort(self.drawn[:, column])
        pvalue = self._pvalue(np.abs(self.observed[first, second]), largest)
        n_random = 0 if self.is_complete else 1
        n_beyond = math.floor(level_of_tests(confidence_level) * (largest.size + n_random))
        n_beyond -= n_random
        # A complete list contains the observed signs and their opposite.
        if n_beyond < (2 if self.is_complete else 0):
            return pvalue, math.inf
        critical = float(largest[-1 - n_beyond]) + _ABOVE * self.tolerance
        if critical >= 1.0:
            return pvalue, math.inf
        return pvalue, critical * math.sqrt((self.n_queries - 1) / (1.0 - critical**2))

    def best_pvalues(self) -> Floats:
        """For each run the p-value of "its mean is the largest"."""
        highest = self.observed.max(axis=1)
        columns = self.drawn[:, 1 + len(highest) :].T
        pairs = zip(highest, columns, strict=True)
        return np.array([self._pvalue(one, np.sort(column)) for one, column in pairs])

    def _pvalue(self, statistic: Floats, drawn: Floats) -> Floats:
        """Share of sorted draws that are as large, with the observed one if draws are random."""
        n_beyond = drawn.size - np.searchsorted(drawn, statistic - self.tolerance)
        if self.is_complete:
            return np.asarray(n_beyond / drawn.size)
        return np.asarray(pvalue_of_draws(n_beyond, drawn.size))
