"""The audit with a fixed seed, and for longer a fresh one too; hypothesis shrinks."""

import math
import secrets

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from .cases import draw_case
from .worker import Auditor

# Cases by default, the same on every machine; processor time in seconds and cases of a long run.
CASES, LONG, MOST_CASES = 25, 600.0, 100_000
# Seconds after which nothing new is tried to make a case smaller.
SECONDS_OF_SHRINKING = 60.0


@pytest.mark.parametrize("which", ["fixed", pytest.param("fresh", marks=pytest.mark.long)])
def test_audit_finds_nothing(which, long):
    number = 20_240 if which == "fixed" else secrets.randbelow(2**32)
    budget, most = (LONG, MOST_CASES) if long else (math.inf, CASES)
    known = {}

    @seed(number)
    @settings(
        max_examples=MOST_CASES if long else MOST_CASES // 100,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    @given(st.randoms(use_true_random=False))
    def finds_nothing(random):
        case = draw_case(random, large=long)
        failed = any(findings for findings in known.values())
        spent = budget + SECONDS_OF_SHRINKING if failed else budget
        if case not in known:
            # What follows when the time is over is not audited.
            over = auditor.processor_time > spent or (len(known) >= most and not failed)
            known[case] = [] if over else auditor.audit(case).findings
        findings = known[case]
        assert not findings, f"seed {number}:\n" + "\n".join(map(str, findings))

    with Auditor() as auditor:
        finds_nothing()
        assert len(known) >= CASES
