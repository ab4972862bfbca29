"""The audit with a fixed seed, and at length with a fresh one; hypothesis shrinks what is found."""

import secrets
from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from . import enumeration
from .cases import draw_case
from .oracles import QUICK
from .rankers import draw_ranked_case
from .worker import Auditor

# Cases by default, and processor time and cases of a long run.
FIXED, LONG, MOST_CASES = 12, 600.0, 100_000
# What a case may cost by default.
EFFORT = replace(QUICK, additions=1e8, draws=5e6, tilts=3, seconds=4.0)
# Seeds of rankers by default, the last of which are queries, and the items of the longest.
RANKERS, ITEMS_OF_RANKERS = ("20252.5", "20251.2", "20255.1"), 600
# Kinds of findings that say how much a call takes.
RESOURCES = ("time", "memory")
# Seconds after which nothing new is tried to make a case smaller.
SECONDS_OF_SHRINKING = 60.0


@pytest.fixture(scope="module")
def auditor(long):
    """One process for all tests."""
    with Auditor(QUICK if long else EFFORT) as auditor:
        yield auditor


def found_in(outcome, long):
    """Findings; how long a call takes depends on the machine."""
    return [found for found in outcome.findings if long or found.kind not in RESOURCES]


def test_audit_finds_nothing(auditor, long):
    before, i = auditor.processor_time, 0
    while i < FIXED or (long and auditor.processor_time - before < LONG):
        findings = found_in(auditor.audit(draw_case(Random(f"20252.{i}"), large=long)), long)
        assert not findings, f"--seed 20252 --rankers 0 --case {i}:\n" + "\n".join(
            map(str, findings)
        )
        i += 1


@pytest.mark.long
def test_audit_of_fresh_cases_finds_nothing(auditor):
    number, before, known = secrets.randbelow(2**32), auditor.processor_time, {}

    @seed(number)
    @settings(
        max_examples=MOST_CASES,
        database=None,
        deadline=None,
        derandomize=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    @given(st.randoms(use_true_random=False))
    def finds_nothing(random):
        case = draw_case(random, large=True)
        spent = LONG + SECONDS_OF_SHRINKING if any(known.values()) else LONG
        if case not in known:
            # What follows when the time is over is not audited.
            over = auditor.processor_time - before > spent
            known[case] = [] if over else found_in(auditor.audit(case), True)
        findings = known[case]
        assert not findings, f"seed {number}:\n" + "\n".join(map(str, findings))

    finds_nothing()


def test_audit_of_rankers_finds_nothing(auditor, long):
    most = 50_000 if long else ITEMS_OF_RANKERS
    numbers = (f"20250.{i}" for i in range(MOST_CASES)) if long else RANKERS
    found, before = [], auditor.processor_time
    for number in numbers:
        found += found_in(auditor.audit(draw_ranked_case(Random(number), long, most)), long)
        if auditor.processor_time - before > LONG:
            break
    assert not found, "\n".join(map(str, found))


def test_stated_errors_cover_the_distance_from_enumeration(long, monkeypatch):
    # Two problems to which every solver applies.
    if not long:
        monkeypatch.setattr(enumeration, "ATTAINED", 6)
        monkeypatch.setattr(enumeration, "BETWEEN", 2)
    report = enumeration.run(seed=20_348, share=1.0 if long else 0.006)
    assert not report.findings, "\n".join(report.findings)
    assert set(report.by_solver) == set(enumeration.SOLVERS)
    # Whoever enumerates states no more than rounding errors, and contours state more.
    for solver in ("contours", "conditioning on a block", "branch and bound"):
        errors = report.by_solver[solver].errors
        assert len(errors) > 20
        assert max(errors) > 1e-8
