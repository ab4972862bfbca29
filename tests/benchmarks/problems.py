"""Rankings that the benchmarks share."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from sklearn_rankinf import ap_null_distribution
from sklearn_rankinf._null.distribution import _DISTRIBUTIONS


@dataclass(frozen=True)
class Problem:
    """A list of items, a number of positives and a pattern of equal scores."""

    n_samples: int
    n_positives: int
    name: str = ""
    tie_sizes: tuple[int, ...] | None = None
    signal: float = 0.0

    def __str__(self) -> str:
        size = f"({self.n_samples}, {self.n_positives})"
        return f"{size}, {self.name}" if self.name else size

    def null(self, **options: Any) -> Any:
        """The null distribution, of which nothing is computed yet."""
        return ap_null_distribution(
            self.n_samples, self.n_positives, tie_sizes=self.tie_sizes, **options
        )

    def value_at(self, z: Any) -> Any:
        """Average precision that lies z standard deviations above its mean under the null."""
        null = self.null()
        return null.mean() + z * null.std()

    @cached_property
    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Labels, and scores in random order with the positives raised by `signal`."""
        rng = np.random.default_rng(0)
        y_true = np.zeros(self.n_samples, dtype=int)
        y_true[rng.choice(self.n_samples, self.n_positives, replace=False)] = 1
        if self.tie_sizes is None:
            return y_true, rng.normal(size=self.n_samples) + self.signal * y_true
        levels = np.arange(len(self.tie_sizes), 0, -1, dtype=float)
        return y_true, rng.permutation(np.repeat(levels, self.tie_sizes))

    @cached_property
    def observed(self) -> float:
        """Average precision of `data`."""
        return float(average_precision_score(*self.data))


def forget() -> None:
    """Clear whatever the package keeps from one call to the next."""
    _DISTRIBUTIONS.clear()
    for name, module in list(sys.modules.items()):
        if name.startswith("sklearn_rankinf"):
            for member in vars(module).values():
                clear = getattr(member, "cache_clear", None)
                if callable(clear):
                    clear()


def _forest() -> Problem:
    # Scores of 19 trees are multiples of 1/19; those of a rare class pile up at the bottom.
    sizes = (2, 2, 3, 3, 4, 5, 6, 8, 10, 13, 17, 23, 31, 42, 58, 82, 120, 185, 330, 1056)
    return Problem(sum(sizes), 117, f"{len(sizes)} forest scores", sizes)


def _small_blocks(n_blocks: int = 900, n_samples: int = 3000, largest: int = 14) -> Problem:
    rng = np.random.default_rng(0)
    sizes = np.ones(n_blocks, dtype=int)
    propensity = rng.gamma(1.0, size=n_blocks)
    while (missing := n_samples - sizes.sum()) > 0:
        open_weight = propensity * (sizes < largest)
        sizes += rng.multinomial(missing, open_weight / open_weight.sum())
        sizes = np.minimum(sizes, largest)
    return Problem(n_samples, 300, f"{n_blocks} blocks", tuple(sizes.tolist()))


UNTIED = tuple(
    Problem(n, m)
    for n, m in (
        (29, 8),  # all 4,292,145 rankings are listed
        (106, 4),  # all 4,967,690
        (200, 40),
        (500, 50),
        (1000, 5),
        (1000, 10),
        (1000, 100),
        (2000, 500),
        (3000, 900),
        (10_000, 50),
        (100_000, 20),
        (100_000, 100),
        (1_000_000, 1000),
        (10**9, 100),
        (10**9, 1000),
    )
)
TIED = (
    _forest(),
    _small_blocks(),
    Problem(10_000, 100, "9,000 tied at the bottom", (1,) * 1000 + (9000,)),
)
COMPARED = tuple(
    Problem(n, m, signal=signal)  # p-values of about 1 %, which 10,000 resamples can see
    for n, m, signal in (
        (1000, 100, 0.3),
        (2000, 500, 0.1),
        (10_000, 50, 0.2),
        (100_000, 100, 0.7),
    )
)
