"""The loop over random draws: labellings, swaps, flips, resamples, simulations.

Draws come in chunks, and every chunk has a random stream of its own: a result depends neither on
the number of workers nor on what else is drawn from the same seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from sklearn_rankinf._ranking import as_seed_sequence, check_integer, check_n_jobs, check_verbose
from sklearn_rankinf._statistics import Floats

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
