"""Laws that were computed once are found again by the value of their arguments."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any

from sklearn_rankinf._engine.law import AtomicLaw


class LawCache:
    """The laws used last, found by the value of their arguments; for all threads.

    Parameters
    ----------
    max_laws : int
        Number of laws that are kept.
    max_atoms : int
        Longer lists of atoms are not kept, since they take more memory than time.
    """

    def __init__(self, max_laws: int, max_atoms: int) -> None:
        self._max_laws = max_laws
        self._max_atoms = max_atoms
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
        if isinstance(law, AtomicLaw) and law.values.size > self._max_atoms:
            return law
        with self._lock:
            self._laws[key] = law
            while len(self._laws) > self._max_laws:
                self._laws.popitem(last=False)
        return law

    def __len__(self) -> int:
        return len(self._laws)

    def clear(self) -> None:
        """Forget all laws."""
        with self._lock:
            self._laws.clear()
