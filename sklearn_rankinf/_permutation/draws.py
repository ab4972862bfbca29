"""The loop over random draws of any kind, and random labellings of one ranking or of queries.

Draws come in chunks, and every chunk has a random stream of its own: a result depends neither on
the number of workers nor on what else is drawn from the same seed.

A random labelling is a uniformly distributed set of ranks of the positives, found by one of three
methods:

* few positives: ranks with replacement, duplicates redrawn (rejection until all are distinct);
* many positives: the positions of the smallest of n random keys;
* fewer blocks of equal scores than positives: hits in every block at once, which have a
  multivariate hypergeometric distribution.

Memory is proportional to (resamples) x (positives) within a chunk of resamples. How p-values are
computed from the draws: "Permutation p-values" in doc/theory.rst.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from sklearn_rankinf._ranking import as_seed_sequence, check_integer, check_n_jobs, check_verbose
from sklearn_rankinf._statistics import Floats, Integers, Metric

Result = TypeVar("Result")
Chunk: TypeAlias = tuple[int, np.random.SeedSequence]
"""A number of draws and their random stream."""

# Ranks, and array elements of other kinds, that are drawn in one chunk.
RANKS_PER_CHUNK = 500_000
CELLS_PER_CHUNK = 4_000_000


class Sampler(Protocol):
    """Random values of a statistic."""

    def chunks(self, n_resamples: int) -> list[int]:
        """Sizes of the chunks for `n_resamples` draws."""

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """Draw independent values."""


class ListedSampler(Sampler, Protocol):
    """Random values of a statistic, or all of them if they are few."""

    @property
    def n_listed(self) -> int | None:
        """Number of different values; None if they are not listed."""

    def listed(self, first: int, last: int) -> Floats:
        """Values with the numbers from `first` to before `last`."""


@dataclass(frozen=True, eq=False)
class Draws:
    """A number of draws, their random streams, and who works on them.

    The count of children of `seeds` is left alone.
    """

    n_resamples: int
    seeds: np.random.SeedSequence
    n_jobs: int | None = None
    verbose: int = 0

    @classmethod
    def read(
        cls, n_resamples: Any, random_state: Any, n_jobs: Any, verbose: Any, least: int = 1
    ) -> Draws:
        """Read the options of a function that draws."""
        n_resamples = check_integer(n_resamples, "n_resamples", least)
        n_jobs, verbose = check_n_jobs(n_jobs), check_verbose(verbose)
        return cls(n_resamples, as_seed_sequence(random_state), n_jobs, verbose)

    def streams(self, n_streams: int) -> list[np.random.SeedSequence]:
        """Seeds of random streams, the same in every call."""
        return copy(self.seeds).spawn(n_streams)

    def chunks(self, sizes: Sequence[int]) -> list[Chunk]:
        """Chunks of given sizes with their random streams."""
        return list(zip(sizes, self.streams(len(sizes)), strict=True))

    def over(
        self, function: Callable[[int, np.random.Generator], Result], chunks: Iterable[Chunk]
    ) -> list[Result]:
        """Results of a function of a number of draws and a random stream, for each chunk."""
        return self.in_parallel(_in_stream, [(function, *chunk) for chunk in chunks])

    def in_parallel(
        self, function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]]
    ) -> list[Result]:
        """Results of a function for several arguments, in order."""
        return in_parallel(function, arguments, self.n_jobs, self.verbose)

    def of(self, sampler: Sampler) -> Floats:
        """Values of a sampler."""
        return np.concatenate(
            self.over(sampler.draw, self.chunks(sampler.chunks(self.n_resamples)))
        )

    def listed(self, sampler: ListedSampler, n_listed: int) -> Floats:
        """The first values of a list."""
        ends = np.cumsum(sampler.chunks(n_listed)).tolist()
        limits = zip([0, *ends[:-1]], ends, strict=True)
        return np.concatenate(self.in_parallel(sampler.listed, limits))

    def pvalue(self, n_exceedances: Any) -> Any:
        """P-value with the observed value as one more draw."""
        return pvalue_of_draws(n_exceedances, self.n_resamples)


def in_parallel(
    function: Callable[..., Result],
    arguments: Iterable[tuple[Any, ...]],
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[Result]:
    """Results of a function for several arguments, in order."""
    tasks = (delayed(function)(*each) for each in arguments)
    return list(Parallel(n_jobs=n_jobs, verbose=verbose)(tasks))


def _in_stream(
    function: Callable[[int, np.random.Generator], Result], size: int, seed: np.random.SeedSequence
) -> Result:
    return function(size, np.random.default_rng(seed))


def chunk_sizes(n_resamples: int, n_per_resample: int, most: int | None = None) -> list[int]:
    """Sizes of the chunks in which `n_resamples` resamples are drawn, by default of ranks."""
    chunk = max(1, min(n_resamples, (most or RANKS_PER_CHUNK) // max(1, n_per_resample)))
    return [min(chunk, n_resamples - done) for done in range(0, n_resamples, chunk)]


def pvalue_of_draws(n_exceedances: Any, n_draws: Any) -> Any:
    """P-value (b + 1) / (B + 1) of b draws of B that are at least as extreme as the observed value.

    The observed value counts as one more draw, so that the p-value is never too small (Davison and
    Hinkley, 1997, section 4.2).
    """
    return (n_exceedances + 1.0) / (n_draws + 1.0)


def uniform_hit_ranks(
    n_samples: int, n_positives: int, n_sets: int, rng: np.random.Generator
) -> Integers:
    """Random sets of hits: `n_sets` rows of `n_positives` distinct ascending ranks from 0 to n - 1.

    If the hits are a small part of the ranks, ranks are drawn independently and duplicates are
    drawn again until all are distinct. The result is uniformly distributed: it is a sequence of
    independent draws, stopped at its m-th distinct value. Otherwise every rank gets a random key,
    and the ranks with the smallest keys are selected.
    """
    dtype = np.int32 if n_samples < 2**31 else np.int64
    if ranks_drawn(n_samples, n_positives) > n_positives:
        keys = rng.random((n_sets, n_samples))
        return np.sort(np.argpartition(keys, n_positives - 1, axis=1)[:, :n_positives], axis=1)
    ranks = np.sort(rng.integers(n_samples, size=(n_sets, n_positives), dtype=dtype), axis=1)
    rows = np.arange(n_sets)
    while True:
        repeated = np.zeros((rows.size, n_positives), dtype=bool)
        repeated[:, 1:] = ranks[rows, 1:] == ranks[rows, :-1]
        unfinished = repeated.any(axis=1)
        rows, repeated = rows[unfinished], repeated[unfinished]
        if not rows.size:
            return ranks.astype(np.int64, copy=False)
        redrawn = ranks[rows]
        redrawn[repeated] = rng.integers(n_samples, size=int(repeated.sum()), dtype=dtype)
        ranks[rows] = np.sort(redrawn, axis=1)


def ranks_drawn(n_samples: int, n_positives: int) -> int:
    """Random numbers for a set of hits: one a hit if hits are few, otherwise one a rank."""
    return n_positives if n_positives <= max(1, n_samples // 4) else n_samples


class PermutationSampler(Sampler, Protocol):
    """Draws of a statistic that has no exact null distribution, only resamples."""

    def exact_moments(self) -> tuple[float | None, float | None]:
        """Exact mean and variance; None for a moment without a formula."""

    def best(self) -> float:
        """Value of a perfect ranking."""


class NullSampler:
    """Draws values of a statistic by chance; without ties `tie_sizes` is None."""

    def __init__(
        self, statistic: Metric, n_samples: int, n_positives: int, tie_sizes: Integers | None
    ) -> None:
        self._n_samples = n_samples
        self._n_positives = n_positives
        self._ends = None if tie_sizes is None else np.cumsum(tie_sizes)
        if self._ends is not None and tie_sizes is not None and self._by_block:
            self._sizes = tie_sizes
            self._values = statistic.block_values(n_samples, n_positives, tie_sizes)
        else:
            self._values = statistic.hit_values(n_samples, n_positives, tie_sizes)

    def chunks(self, n_resamples: int) -> list[int]:
        drawn = ranks_drawn(self._n_samples, self._n_positives)
        return chunk_sizes(n_resamples, self._n_blocks if self._by_block else drawn)

    @property
    def _n_blocks(self) -> int:
        return self._n_samples if self._ends is None else int(self._ends.size)

    @property
    def _by_block(self) -> bool:
        """Whether hits are drawn block by block, which is cheaper if blocks are fewer than hits.

        The multivariate hypergeometric generator of numpy is limited to 10**9 items.
        """
        return self._n_blocks <= self._n_positives and self._n_samples < 10**9

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        if self._n_positives == 0:
            return np.zeros(n_draws)
        if self._by_block and self._ends is not None:
            hits = rng.multivariate_hypergeometric(
                self._sizes, self._n_positives, size=n_draws, method="marginals"
            )
            return self._values(hits)
        ranks = uniform_hit_ranks(self._n_samples, self._n_positives, n_draws, rng)
        places = ranks if self._ends is None else np.searchsorted(self._ends, ranks, side="right")
        return self._values(places)


class MeanSampler:
    """Draws values of the mean of a statistic over independent rankings.

    Each sampler of values that vary stands for a number of rankings; `constant` is the sum of the
    other values.
    """

    def __init__(
        self, samplers: Sequence[tuple[Sampler, int]], constant: float, n_rankings: int
    ) -> None:
        self._samplers, self._constant, self._n = samplers, constant, n_rankings

    def chunks(self, n_resamples: int) -> list[int]:
        """Sizes of the chunks for `n_resamples` draws: those of the most expensive ranking."""
        chunks = [sampler.chunks(n_resamples) for sampler, _ in self._samplers]
        return max(chunks, key=len, default=[n_resamples])

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        total = np.full(n_draws, float(self._constant))
        for sampler, count in self._samplers:
            for _ in range(count):
                total += sampler.draw(n_draws, rng)
        return np.asarray(total / self._n)
