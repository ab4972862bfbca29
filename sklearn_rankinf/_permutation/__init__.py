"""Designs and draws: what may be exchanged, and random labellings, swaps and resamples.

draws           the loop over random draws, their p-values, and random labellings
restrictions    restricted permutations: strata, clusters, blocks, series
designs         what a design lets be exchanged, and warnings about it
rows            permuted rows of labels, for weights and averages over classes
joint           joint permutations of several rankings
swaps           ranks that are swapped between two rankings
graded          permuted grades of relevance
"""

from sklearn_rankinf._permutation.designs import (
    RESTRICTED,
    DesignWarning,
    check_permutations,
    exchange_of,
    few_labellings,
    few_labellings_warning,
    log_n_labellings,
    weights_warning,
)
from sklearn_rankinf._permutation.draws import (
    CELLS_PER_CHUNK,
    Draws,
    ListedSampler,
    MeanSampler,
    NullSampler,
    PermutationSampler,
    Sampler,
    chunk_sizes,
    in_parallel,
    pvalue_of_draws,
)
from sklearn_rankinf._permutation.graded import GradedGain, PermutedGain
from sklearn_rankinf._permutation.joint import JointLists, JointSampler, ObservedLists
from sklearn_rankinf._permutation.restrictions import AnyExchange, Exchange, ExchangedHits
from sklearn_rankinf._permutation.rows import PermutedRows
from sklearn_rankinf._permutation.swaps import (
    AverageSwapSampler,
    PairedSampler,
    RunFlipSampler,
    SignFlipSampler,
    SwapSampler,
    doubled_midranks,
    randomization_pvalue,
)
