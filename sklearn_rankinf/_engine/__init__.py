"""Exact null distributions of additive rank statistics (numpy and scipy only).

A ranking is a sequence of blocks of equal scores, best first, of n items in all. Under the null
hypothesis each of the ``C(n, m)`` sets of ranks is equally likely to be the set of the m positives.
With ``y_b`` positives in block b and ``h_b`` before it, the engine computes

    P(S >= s)  and  P(S <= s)  for  S = sum_b y_b (cross_b h_b + linear_b + square_b y_b),

for any coefficients, with an estimate of the relative error. Metrics define the coefficients in
`sklearn_rankinf._metrics`: for average precision without ties ``cross = square = 1 / (m r)`` at
rank r, since a positive with h before it adds the precision ``(h + 1) / r``, over m. Positives and
negatives mostly exchange their roles if negatives are fewer (`canonical`).

Increments, exact moments, merged ranks and hypergeometric tails come from the package
`_statistics`. The package `means` has the distribution of the mean of S over independent queries.
Sections and equations are those of doc/theory.rst.

Modules, in reading order: calls go from `distribution` upwards
---------------------------------------------------------------
canonical           `CanonicalSum`: what is counted, in which blocks, with which weights
moments             exact mean, variance, skewness and kurtosis
estimates           `ErrorEstimate`: one error budget of six parts; `TailEstimates`; `SOLVERS`;
                    `solve_in_turn`: a sequence of solvers
exact/              enumeration, counting, branch and bound, guaranteed bounds
inversion/          tilts, transform, contours of several kinds, bounds on a finite band
solvers             `Tails`: the sequence of inversions and bounds on one side of the mean
conditioning        mixtures over the number of positives in a block of equal scores
ends                `EndsOfSupport`: closed forms at both ends, and bounds next to the lower one
listed, quantiles   distributions given by their atoms; quantiles by root finding
both_sides          `BothSides`: from tails beyond the mean to all questions; guaranteed bounds
distribution        `exact_distribution`: the choice by size; `ComputedDistribution`: the sequence
                    of all solvers, upper bounds
cache               the most recently used distributions

Solvers
-------
`NullDistribution.solver` returns these names. Parts of errors are those of `ErrorEstimate`.

name                       module and method; reference; source of the error
closed form                ends: ``P(S = best)``, ends of the support; exact/few_positives: the
                           rank of one hit by bisection; rounding
enumeration                exact/enumeration: all outcomes by a forward pass; rounding
meet in the middle         exact/enumeration: two sorted lists; Horowitz & Sahni 1974; rounding
two or three positives     exact/few_positives: counts by binary searches; rounding
integer weights            exact/integer_weights: counts for each value; rounding
hypergeometric             exact/hits: sums of hypergeometric tails; Loader 2000; rounding
near-maximum enumeration   exact/near_maximum: placements beyond s; Land & Doig 1960; rounding
contour                    inversion/contour, many_hits: trapezoidal rule near the saddle point;
                           Abate & Whitt 1992, Daniels 1954; rounding, truncation, aliasing, atoms,
                           merging
stratified contour         inversion/stratified: nodes from coarse to fine; far up only the strata
                           that matter; Abate & Whitt 1992, Jensen 1995; as for contours
conditioning on a block    conditioning: mixture over strata; Hoeffding 1963; errors of the strata,
                           truncation and enclosure of those left out
branch and bound           exact/branch_and_bound: undecided branches; Land & Doig 1960; enclosure
band-limited bounds        inversion/band_limited: majorants on a finite band; Graham & Vaaler 1981;
                           enclosure, merging
midpoint of bounds         exact/bounds, exact/lattice: increments rounded down to cells, if other
                           errors exceed 1e-2, or 1e-5 of few blocks; enclosure
hypergeometric bounds      ends: values of nearly 0, no positive above s or s / m; enclosure
lattice                    means: convolution of rounded queries, tilted; enclosure, rounding
sums of atoms              means: sums over halves of the queries; Horowitz & Sahni; enclosure
upper bound                solvers, distribution: Chernoff 1952; infinite, or 1 if negligible

A solver is tried if the error stated before is above its threshold (`estimates.solve_in_turn`), and
each value keeps the answer with the smallest error.

Glossary
--------
placement       a set of m ranks for the positives; all are equally likely
outcome         the numbers of positives in all blocks; several placements with the same value
block           items of equal scores, or merged ranks that are treated as such
hit, miss       a positive, and a negative, found at a rank
row             number of hits found by a forward pass, an index of its state
band            the rows, and hits in a block, that carry the tilted distribution
tilt            theta in the weights ``exp(theta S)``; at the saddle point s is the tilted mean
contour         the line ``Re z = theta``, and the nodes of the trapezoidal rule on it
period          T of ``P(S >= s + k T)``, the aliases; nodes are 2 pi / T apart
width           half the interval of Im z on which band-limited bounds know the transform
excess          Chernoff exponent of a tilt minus the smallest exponent of all tilts
body            the statistic without the top ranks, and its standard deviation
steep           a single hit adds more than three standard deviations
dense           with enough placements for the transform to decay like a smooth one
top stratum     ranks where a hit adds more than a quarter of the body, 16 at least
stratum         the placements with a given number of hits in the top stratum, or in a block
window          an interval that holds nearly all of a row's distribution
merged          neighbouring blocks treated as one, with the expectation of their increments
level           of merging: 0 plans contours, and 1, 2, ... are merged less and less
span            distance of which all values are multiples; 0 if there is none
horizon         ranks beyond which nothing is added, such as k
sign, side      1 for the upper tail and -1 for the lower; of a value, and of a contour
tolerance       relative error that the caller accepts
"""

from sklearn_rankinf._engine.cache import DistributionCache
from sklearn_rankinf._engine.distribution import exact_distribution
from sklearn_rankinf._engine.estimates import UNKNOWN
from sklearn_rankinf._engine.exact.hits import HitsDistribution
from sklearn_rankinf._engine.listed import (
    BoundedDistribution,
    Distribution,
    EstimatedDistribution,
    ListedDistribution,
)
from sklearn_rankinf._engine.means.distribution import mean_distribution
from sklearn_rankinf._engine.means.variables import Part
from sklearn_rankinf._engine.moments import (
    exact_mean_and_variance,
    exact_standard_deviation,
    skewness_and_kurtosis,
)
