"""The audit with a fixed seed and with a fresh one; hypothesis shrinks what is found."""

import secrets
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from . import enumeration
from .cases import draw_case
from .rankers import draw_ranked_case
from .worker import Auditor

# Cases by default, and seconds of processor time after which no further one is begun, of the fixed
# ones and of fresh ones. Processor time and cases of a long run.
CASES, FIXED, FRESH, LONG, MOST_CASES = 12, 10.0, 3.0, 600.0, 100_000
# Rankers by default, and the items of the longest.
RANKERS, ITEMS_OF_RANKERS = 3, 1000
# Kinds of findings that say how much a call takes.
RESOURCES = ("time", "memory")
# Seconds after which nothing new is tried to make a case smaller.
SECONDS_OF_SHRINKING = 60.0


@pytest.mark.parametrize("which", ["fixed", "fresh"])
def test_audit_finds_nothing(which, long):
    number = 20_240 if which == "fixed" else secrets.randbelow(2**32)
    budget, most = (FIXED if which == "fixed" else FRESH), CASES
    if long:
        budget, most = LONG, MOST_CASES
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
            found = [] if over else auditor.audit(case).findings
            # How long a call takes depends on the machine.
            known[case] = [finding for finding in found if long or finding.kind not in RESOURCES]
        findings = known[case]
        assert not findings, f"seed {number}:\n" + "\n".join(map(str, findings))

    with Auditor() as auditor:
        finds_nothing()
        assert len(known) >= CASES


def test_audit_of_rankers_finds_nothing(long):
    most, n_cases = (50_000, MOST_CASES) if long else (ITEMS_OF_RANKERS, RANKERS)
    found = []
    with Auditor() as auditor:
        for i in range(n_cases):
            outcome = auditor.audit(draw_ranked_case(Random(f"20250.{i}"), long, most))
            # How long a call takes depends on the machine.
            found += [f for f in outcome.findings if long or f.kind not in RESOURCES]
            if auditor.processor_time > LONG:
                break
    assert not found, "\n".join(map(str, found))


def test_stated_errors_cover_the_distance_from_enumeration(long):
    report = enumeration.run(seed=20_242, share=1.0 if long else 0.006)
    assert not report.findings, "\n".join(report.findings)
    # Whoever enumerates states no more than rounding errors, and contours state more.
    for solver in ("contours", "conditioning on a block", "branch and bound"):
        errors = report.by_solver[solver].errors
        assert len(errors) > 20
        assert max(errors) > 1e-8
