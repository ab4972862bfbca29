"""Distributions that were computed once are found again by the value of their arguments."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any


class DistributionCache:
    """The distributions used last, found by the value of their arguments; for all threads.

    Parameters
    ----------
    max_distributions : int
        Number of distributions that are kept.
    max_numbers : float
        Numbers that all distributions together keep: the attribute `n_kept` of those that have one.
        Distributions list values when they are asked for tails, so that it is looked at for every
        new distribution.
    """

    def __init__(self, max_distributions: int, max_numbers: float) -> None:
        self._max_distributions = max_distributions
        self._max_numbers = max_numbers
        self._distributions: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = Lock()

    def find(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The distribution with this key, made if it is not there."""
        with self._lock:
            if key in self._distributions:
                self._distributions.move_to_end(key)
                return self._distributions[key]
        # Making one takes long; two threads may make the same.
        distribution = make()
        with self._lock:
            self._distributions[key] = distribution
            while (
                len(self._distributions) > self._max_distributions
                or self._n_kept > self._max_numbers
            ):
                self._distributions.popitem(last=False)
        return distribution

    @property
    def _n_kept(self) -> float:
        return sum(
            getattr(distribution, "n_kept", 0) for distribution in self._distributions.values()
        )

    def __len__(self) -> int:
        return len(self._distributions)

    def clear(self) -> None:
        """Forget all distributions."""
        with self._lock:
            self._distributions.clear()
