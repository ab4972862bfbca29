"""Tables of rates that the documentation shows, in files of ``doc/tables``."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

DIRECTORY = Path(__file__).parents[2] / "doc" / "tables"


def shown(rate: float | None, kind: str = "coverage") -> str:
    """A rate of coverage, size or power; bold where the method fails."""
    if rate is None:
        return ""
    fails = {"coverage": rate < 0.93, "size": rate > 0.06, "power": False}
    return f"**{rate:.3f}**" if fails[kind] else f"{rate:.3f}"


def write(name: str, rows: Iterable[Iterable[str]]) -> None:
    """Write a table, its header first."""
    with (DIRECTORY / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
