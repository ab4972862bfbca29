"""Audits cases in a process of its own, so that a hang or a lack of memory is a finding.

Run as a program, this module reads pickled cases from its standard input and writes pickled
outcomes to its standard output.
"""

from __future__ import annotations

import os
import pickle
import selectors
import subprocess
import sys
import time
from typing import Any

from .cases import Case
from .checks import Audit, Finding, Outcome
from .oracles import QUICK, Effort
from .ranker_checks import RankerAudit
from .rankers import RankedCase

# Seconds of processor time after which a case is given up, and address space beyond what the
# process begins with.
PATIENCE, ADDRESS_SPACE = 300.0, 4 * 2**30
# A process that has grown to so many bytes is not given another case.
MOST_RESIDENT = 2**30


class Auditor:
    """Audits cases one by one in another process, which is started again where one ends it."""

    def __init__(self, effort: Effort = QUICK, patience: float = PATIENCE) -> None:
        self.effort, self.patience = effort, patience
        self._process: subprocess.Popen[bytes] | None = None
        self.processor_time = 0.0

    def __enter__(self) -> Auditor:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop()

    def audit(self, case: Case) -> Outcome:
        """The outcome of a case; one that does not end, or ends the process, is a finding."""
        if self._process is None or self._process.poll() is not None:
            self._process = self._start()
        pickle.dump((case, self.effort), self._process.stdin)
        self._process.stdin.flush()
        pid, spent = self._process.pid, 0.0
        start, begun = _processor_time(pid), time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not (answered := bool(selector.select(1.0))) and spent < self.patience:
                # A process that waits for ever spends little.
                waited = (time.monotonic() - begun) / 10.0
                spent = max(_processor_time(pid) - start, waited)
        try:
            if answered:
                outcome, seconds, resident = pickle.load(self._process.stdout)
                self.processor_time += seconds
                if resident > MOST_RESIDENT:
                    self._stop()
                return outcome
            text = f"no answer in {self.patience:.0f} s of processor time"
        except EOFError:
            text = f"the process ended, with code {self._process.wait()}"
        self.processor_time += spent
        self._stop()
        return Outcome(findings=[Finding("no answer", case.call(), text, case.structure)])

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p or "." for p in sys.path)}
        # One thread, whose processor time is that of the answer.
        environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        return subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None


def main() -> None:
    """Audit the cases on standard input until it ends."""
    stdin, stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # Nothing else may write to where the outcomes go.
    os.dup2(2, 1)
    _limit_memory()
    while True:
        try:
            case, effort = pickle.load(stdin)
        except EOFError:
            return
        start = time.process_time()
        outcome = _audited(case, effort)
        pickle.dump((outcome, time.process_time() - start, _resident()), stdout)
        stdout.flush()


def _audited(case: Case, effort: Effort) -> Outcome:
    try:
        which = RankerAudit if isinstance(case, RankedCase) else Audit
        return which(case, effort).run()
    except Exception as error:  # noqa: BLE001
        import traceback

        text = f"the audit itself: {traceback.format_exc(limit=-4)}"
        finding = Finding(f"audit: {type(error).__name__}", case.call(), text, case.structure)
        return Outcome(findings=[finding])


def _limit_memory() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_pages(0) + ADDRESS_SPACE,) * 2)
    except (ImportError, OSError):
        pass


def _processor_time(pid: int) -> float:
    """Seconds of a process; of the clock where the system does not say it."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return time.monotonic()


def _resident() -> int:
    """Bytes in memory; 0 where the system does not say it."""
    try:
        return _pages(1)
    except (ImportError, OSError):
        return 0


def _pages(field: int) -> int:
    import resource

    with open("/proc/self/statm") as file:
        return int(file.read().split()[field]) * resource.getpagesize()


def merge(into: Outcome, other: Any) -> None:
    """Add the counts of one outcome to those of another."""
    into.findings += other.findings
    into.n_values += other.n_values
    into.n_compared += other.n_compared
    into.n_unknown += other.n_unknown
    into.n_cut_short += other.n_cut_short
    into.n_refused += other.n_refused
    if other.largest_ratio > into.largest_ratio:
        into.largest_ratio, into.largest_at = other.largest_ratio, other.largest_at
    into.slowest = max(into.slowest, other.slowest)
    into.largest_memory = max(into.largest_memory, other.largest_memory)


if __name__ == "__main__":
    main()
