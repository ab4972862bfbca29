"""Distributions that are kept, and found by the values of their arguments.

A null distribution depends only on the statistic, the numbers of samples and positives, and the
sizes of blocks: all folds of one size, and all candidates without ties, share one.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any


class DistributionCache:
    """The most recently used distributions, for all threads.

    Parameters
    ----------
    max_distributions : int
        Number of distributions that are kept.
    max_numbers : float
        Numbers that all distributions together keep: the sum of their attributes `n_kept`, if they
        have one. It grows with use, and is checked when a distribution is added.
    """

    def __init__(self, max_distributions: int, max_numbers: float) -> None:
        self._max_distributions = max_distributions
        self._max_numbers = max_numbers
        self._distributions: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = lock = Lock()
        # A process that is forked while another thread holds the lock would wait for it for ever.
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
            )

    def find(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The distribution with this key, made if it is missing."""
        with self._lock:
            if key in self._distributions:
                self._distributions.move_to_end(key)
                return self._distributions[key]
        # Without the lock, since making one takes long: two threads may make the same.
        distribution = make()
        with self._lock:
            kept = self._distributions
            kept[key] = distribution
            while len(kept) > self._max_distributions or self._n_kept > self._max_numbers:
                kept.popitem(last=False)
        return distribution

    @property
    def _n_kept(self) -> float:
        return sum(getattr(kept, "n_kept", 0) for kept in self._distributions.values())

    def __len__(self) -> int:
        return len(self._distributions)

    def clear(self) -> None:
        """Remove all distributions."""
        with self._lock:
            self._distributions.clear()
