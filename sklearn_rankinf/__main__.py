"""The command line: ``rankinf`` or ``python -m sklearn_rankinf``."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Sequence

from sklearn_rankinf import __version__

# The status of a command whose reader is gone, as shells give it: 128 and the signal SIGPIPE.
CLOSED_PIPE = 128 + 13

DESCRIPTION = (
    "Is this ranking of rare targets better than chance, by how much, and how sure are we? "
    "Exact inference for average precision and hits at k, inside scikit-learn's own tools."
)
DEMO_DESCRIPTION = (
    "Tune three rankers on a rare-target problem made from scikit-learn's digits, test each on "
    "held-out data against random selection, and print exact, permutation and normal p-values "
    "side by side. Takes well under a minute; needs no download and, without --plots, no optional "
    "dependency."
)
REPORT_DESCRIPTION = (
    "Test rankings in a file of comma-separated values, one row an item, against random "
    "selection: average precision and every --metric with their exact p-values and, for each --k, "
    "the hits among the first k and how many would be significant. The labels must not have "
    "trained the scores."
)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(prog="rankinf", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    demo = commands.add_parser(
        "demo", help="test three rankers on real data in one go", description=DEMO_DESCRIPTION
    )
    demo.add_argument(
        "--plots", metavar="DIR", help="write a picture of each ranking's test to DIR"
    )
    report = commands.add_parser(
        "report", help="test the rankings in a CSV file", description=REPORT_DESCRIPTION
    )
    report.add_argument("file", metavar="FILE", help="comma-separated values with a heading line")
    report.add_argument("--label", metavar="COLUMN", required=True, help="column of the labels")
    report.add_argument(
        "--score",
        metavar="COLUMN",
        required=True,
        action="append",
        help="column of scores, larger for likelier targets; may be repeated",
    )
    report.add_argument(
        "--k",
        type=_cut_off,
        action="append",
        default=[],
        help="count hits among the first K items, or the first K-th part of them if K is a "
        "fraction such as 0.1; may be repeated",
    )
    report.add_argument(
        "--metric",
        metavar="NAME",
        action="append",
        default=[],
        help="test another metric as well, such as roc_auc, bedroc or ndcg; may be repeated",
    )
    report.add_argument(
        "--pos-label", metavar="LABEL", help="label of the targets, needed unless it is 1 or True"
    )
    report.add_argument("--plots", metavar="DIR", help="write a picture of each test to DIR")
    report.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, default=None
        The arguments after the program's name; the process's own when None.

    Returns
    -------
    int
        0 when the command succeeded, 2 when something given to it was wrong or an optional
        dependency is missing, 1 when the output cannot be written, and 141 when its reader has
        closed it; all but 0 with one line on the standard error stream. Wrong arguments end in
        ``SystemExit`` with code 2 and a message on the standard error stream, as argparse does.
    """
    # A terminal may lack a character of a column's name, which is shown by its number then.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            return _run(build_parser().parse_args(argv))
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        return _give_up_output("the output was closed before its end", CLOSED_PIPE)
    except OSError as error:
        if error.filename is not None:  # of another file than the output
            raise
        return _give_up_output(f"cannot write the output: {error.strerror or error}", 1)


def _run(arguments: argparse.Namespace) -> int:
    # Imported late, so that --help and --version need no estimator.
    from sklearn_rankinf._report import ReportError

    try:
        if arguments.command == "demo":
            from sklearn_rankinf._demo import run_demo

            run_demo(plots=arguments.plots)
        else:
            _report(arguments)
    except (ImportError, ReportError) as error:
        print(f"rankinf {arguments.command}: error: {error}", file=sys.stderr)
        return 2
    return 0


def _give_up_output(reason: str, status: int) -> int:
    # What is left in the buffer would fail once more when the interpreter ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    with contextlib.suppress(OSError):
        print(f"rankinf: error: {reason}.", file=sys.stderr)
    return status


def _cut_off(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _report(arguments: argparse.Namespace) -> None:
    from sklearn_rankinf import Ranking, _report, average_precision_test

    table = _report.read_table(
        arguments.file, arguments.label, arguments.score, arguments.pos_label
    )
    rankings = {
        name: Ranking.from_scores(table.is_positive, score) for name, score in table.scores.items()
    }
    results = {name: average_precision_test(ranking) for name, ranking in rankings.items()}
    reports = [
        _report.report_on_ranking(name, ranking, results[name], arguments.k, arguments.metric)
        for name, ranking in rankings.items()
    ]
    plots = {} if arguments.plots is None else _report.write_plots(arguments.plots, results)
    if arguments.json:
        print(_report.report_as_json(reports, plots))
        return
    print(_report.format_report(reports))
    if plots:
        print()
        print(*(f"wrote {path}" for path in plots.values()), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
