"""How the benchmarks measure: caches are emptied, and long runs are not repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from problems import forget


@pytest.fixture
def measure(benchmark: Any) -> Callable[..., Any]:
    """Time a function that finds nothing an earlier call has kept; the label goes with it."""

    def run(
        function: Callable[[], Any],
        expected: float,
        setup: Callable[[], None] = forget,
        **label: Any,
    ) -> Any:
        benchmark.group = f"{label['table']}: {label['problem']}"
        benchmark.extra_info.update(label)
        # Three to fifty times in about a second; after more than three expected ones, once.
        rounds = 1 if expected > 3.0 else max(3, min(50, int(1.0 / expected)))
        warmup_rounds = int(rounds > 1)
        return benchmark.pedantic(function, setup=setup, rounds=rounds, warmup_rounds=warmup_rounds)

    return run
