"""The audit as a program: ``python -m tests.audit --seconds 60 --seed 0``."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections import Counter
from random import Random

from .checks import Outcome
from .oracles import QUICK, THOROUGH
from .rankers import draw_any_case
from .worker import PATIENCE, Auditor, merge

SHARE_OF_RANKERS = 30


def main() -> int:
    """Audit cases for so many seconds, and say what was found; 1 if there is something."""
    parser = argparse.ArgumentParser(prog="python -m tests.audit", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="processor time to spend (60)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case (0)")
    parser.add_argument("--fresh", action="store_true", help="a seed of its own each time")
    parser.add_argument("--large", action="store_true", help="larger problems too, up to 1e8 items")
    parser.add_argument("--thorough", action="store_true", help="more work for the oracles")
    parser.add_argument(
        "--rankers",
        type=int,
        nargs="?",
        const=100,
        default=SHARE_OF_RANKERS,
        help=f"rankers in so many of 100 cases ({SHARE_OF_RANKERS}; 100 without a number)",
    )
    parser.add_argument("--case", type=int, help="audit this case of the seed alone")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, help="seconds of processor time for a case"
    )
    parser.add_argument("--show", type=int, default=3, help="findings shown of each kind (3)")
    parser.add_argument("--verbose", action="store_true", help="print every case and finding")
    args = parser.parse_args()
    seed = secrets.randbelow(2**32) if args.fresh else args.seed
    print(f"seed {seed}")
    total, structures, metrics, n_cases = Outcome(), Counter(), Counter(), 0
    with Auditor(THOROUGH if args.thorough else QUICK, args.patience) as auditor:
        index = args.case or 0
        try:
            while auditor.processor_time < args.seconds:
                case = draw_any_case(Random(f"{seed}.{index}"), args.large, args.rankers)
                outcome = auditor.audit(case)
                merge(total, outcome)
                structures[case.structure] += 1
                metrics[case.metric] += 1
                n_cases += 1
                if args.verbose:
                    print(f"{index}: {case.shown()}", *outcome.findings, sep="\n  ", flush=True)
                index += 1
                if args.case is not None:
                    break
        except KeyboardInterrupt:
            print("interrupted")
    _report(total, n_cases, structures, metrics, args.show)
    return 1 if total.findings else 0


def _report(
    total: Outcome,
    n_cases: int,
    structures: Counter[str],
    metrics: Counter[str],
    n_shown: int,
) -> None:
    cut, refused = total.n_cut_short, total.n_refused
    print(f"{n_cases} cases, {cut} of them cut short after some seconds, {refused} refused")
    print(f"{total.n_values} p-values, {total.n_unknown} of them upper bounds of unknown error")
    for title, counts in (
        ("compared", total.n_compared),
        ("structures", structures),
        ("metrics", metrics),
    ):
        print(f"{title}: {', '.join(f'{count} {name}' for name, count in counts.most_common())}")
    print(f"largest error over stated error {total.largest_ratio:.3g}: {total.largest_at}")
    print(f"slowest call {total.slowest[0]:.1f} s: {total.slowest[1]}")
    print(f"most memory {total.largest_memory[0] / 2**20:.0f} MB: {total.largest_memory[1]}")
    kinds = Counter(finding.kind for finding in total.findings)
    print(f"{len(total.findings)} findings")
    for kind, count in kinds.most_common():
        print(f"\n{count} x {kind}")
        seen: Counter[str] = Counter()
        for finding in total.findings:
            # One of each problem, at most so many of a kind.
            problem = finding.line.split(").")[0]
            if finding.kind == kind and problem not in seen and len(seen) < n_shown:
                seen[problem] += 1
                print(f"  {finding}")


if __name__ == "__main__":
    sys.exit(main())
