"""Laws that were computed once are found again by the value of their arguments."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any


class LawCache:
    """The laws used last, found by the value of their arguments; for all threads.

    Parameters
    ----------
    max_laws : int
        Number of laws that are kept.
    max_numbers : float
        Numbers that all laws together keep: the attribute `n_kept` of those that have one. Laws
        list values when they are asked for tails, so that it is looked at for every new law.
    """

    def __init__(self, max_laws: int, max_numbers: float) -> None:
        self._max_laws = max_laws
        self._max_numbers = max_numbers
        self._laws: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = Lock()

    def find(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The law with this key, made if it is not there."""
        with self._lock:
            if key in self._laws:
                self._laws.move_to_end(key)
                return self._laws[key]
        # Making one takes long; two threads may make the same.
        law = make()
        with self._lock:
            self._laws[key] = law
            while len(self._laws) > self._max_laws or self._n_kept > self._max_numbers:
                self._laws.popitem(last=False)
        return law

    @property
    def _n_kept(self) -> float:
        return sum(getattr(law, "n_kept", 0) for law in self._laws.values())

    def __len__(self) -> int:
        return len(self._laws)

    def clear(self) -> None:
        """Forget all laws."""
        with self._lock:
            self._laws.clear()
