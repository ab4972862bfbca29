"""One line in place of a traceback where the command line is interrupted.

Most of the time of a short command is spent on imports, before any code of ``__main__`` runs, so
that this module is imported before all others.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any


def is_command_line() -> bool:
    """Whether this process is ``rankinf`` or ``python -m sklearn_rankinf``."""
    # While -m imports the package, "-m" stands in the place of the program's name.
    as_module = sys.argv[:1] == ["-m"] and "sklearn_rankinf" in sys.orig_argv
    return as_module or Path(*sys.argv[:1]).stem == "rankinf"


def end_in_one_line(number: int, frame: Any) -> None:
    """Say that the command was interrupted, and end as the signal does by default.

    An exception could be swallowed where one is raised amid imports.
    """
    print("rankinf: interrupted", file=sys.stderr, flush=True)
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


# What ignores interrupts, as behind nohup, goes on to ignore them.
if is_command_line() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, end_in_one_line)
