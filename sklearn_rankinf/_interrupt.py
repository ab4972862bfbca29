"""A one-line message instead of a traceback if the command line is interrupted.

Most of the time of a short command is spent on imports, before any code of ``__main__`` runs.
Therefore this module is imported before all others.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any


def is_command_line() -> bool:
    """Whether this process is ``rankinf`` or ``python -m sklearn_rankinf``."""
    # While -m imports the package, sys.argv[0] is "-m".
    as_module = sys.argv[:1] == ["-m"] and "sklearn_rankinf" in sys.orig_argv
    return as_module or Path(*sys.argv[:1]).stem == "rankinf"


def end_in_one_line(number: int, frame: Any) -> None:
    """Report the interruption, and end the process with the default action of the signal.

    An exception that is raised during imports could be swallowed.
    """
    print("rankinf: interrupted", file=sys.stderr, flush=True)
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


# A process that ignores interrupts, for instance behind nohup, continues to ignore them.
if is_command_line() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, end_in_one_line)
