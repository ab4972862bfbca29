"""Designs and draws: what may be exchanged, and random labellings, swaps and resamples.

draws           the loop over random draws, and p-values of draws
labellings      random labellings of one ranking, or of several queries
restrictions    restricted permutations: strata, clusters, blocks, series
rows            permuted rows of labels, for weights and averages over classes
joint           joint permutations of several rankings
swaps           ranks that are swapped between two rankings
graded          permuted grades of relevance
"""

from sklearn_rankinf._permutation.draws import (
    CELLS_PER_CHUNK,
    Draws,
    ListedSampler,
    Sampler,
    chunk_sizes,
    in_parallel,
    pvalue_of_draws,
)
from sklearn_rankinf._permutation.graded import GradedGain, PermutedGain
from sklearn_rankinf._permutation.joint import JointLists, JointSampler, ObservedLists
from sklearn_rankinf._permutation.labellings import MeanSampler, NullSampler, PermutationSampler
from sklearn_rankinf._permutation.restrictions import (
    RESTRICTED,
    AnyExchange,
    DesignWarning,
    Exchange,
    ExchangedHits,
    exchange_of,
    few_labellings_warning,
)
from sklearn_rankinf._permutation.rows import PermutedRows, weights_warning
from sklearn_rankinf._permutation.swaps import (
    PairedSampler,
    SignFlipSampler,
    SwapSampler,
    doubled_midranks,
    randomization_pvalue,
)
