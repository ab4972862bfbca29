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
CURVE_DESCRIPTION = (
    "Show for every k how many targets the rankings in a file of comma-separated values have among "
    "their first k items, where they stop beating random selection, and at which k the list may be "
    "cut at which error rate. The labels must not have trained the scores."
)
COMPARE_DESCRIPTION = (
    "Compare rankings of the same items, one column of scores each: two by their difference with a "
    "p-value and an interval, more by all pairs and the rankers that may be best. The labels must "
    "not have trained the scores."
)
PLAN_DESCRIPTION = (
    "Say how probable it is that a test of a ranking is significant, how small an effect it would "
    "see, and how many targets it takes. Give --n and --m, or --prevalence with --auc or --odds."
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
    _add_file(report)
    _add_units(report)
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
    report.add_argument("--plots", metavar="DIR", help="write a picture of each test to DIR")
    report.add_argument(
        "--html",
        metavar="FILE",
        help="write the report with pictures to FILE, a web page",
    )
    report.add_argument("--json", action="store_true", help="print JSON instead of tables")
    curve = commands.add_parser(
        "curve", help="show up to which k rankings beat chance", description=CURVE_DESCRIPTION
    )
    _add_file(curve)
    curve.add_argument(
        "--alpha",
        type=float,
        action="append",
        default=[],
        help="level of significance, by default 0.1, 0.05 and 0.01; may be repeated",
    )
    curve.add_argument(
        "--max-k",
        type=_cut_off,
        metavar="K",
        help="largest number of items that is of interest, or a fraction of them, chosen without "
        "looking at the labels",
    )
    curve.add_argument("--plots", metavar="DIR", help="write a picture of the curves to DIR")
    curve.add_argument("--json", action="store_true", help="print JSON instead of sentences")
    _add_compare(commands)
    _add_plan(commands)
    return parser


def _add_file(command: argparse.ArgumentParser) -> None:
    """Add the arguments that name a file and its columns."""
    command.add_argument(
        "file",
        metavar="FILE",
        help="table with a heading line, separated by commas, tabs, semicolons or bars, maybe "
        "compressed; a Parquet file; or - for the standard input",
    )
    command.add_argument("--label", metavar="COLUMN", required=True, help="column of the labels")
    command.add_argument(
        "--score",
        metavar="COLUMN",
        required=True,
        action="append",
        help="column of scores, larger for likelier targets; may be repeated",
    )
    command.add_argument(
        "--lower-is-better",
        action="store_true",
        help="smaller scores are those of likelier targets",
    )
    command.add_argument(
        "--pos-label", metavar="LABEL", help="label of the targets, needed unless it is 1 or True"
    )
    command.add_argument(
        "--sep", metavar="TEXT", help="what separates columns; found out by default"
    )
    command.add_argument(
        "--decimal", metavar="TEXT", default=".", help="the decimal point, '.' by default"
    )


def _add_units(command: argparse.ArgumentParser) -> None:
    """Add the columns of what samples belong to."""
    command.add_argument(
        "--group", metavar="COLUMN", help="column of the query of each item: ranks are within one"
    )
    command.add_argument(
        "--cluster",
        metavar="COLUMN",
        help="column of the cluster of each item, such as a patient or a scaffold, whose items are "
        "not independent",
    )


def _add_compare(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command that compares rankings."""
    compare = commands.add_parser(
        "compare", help="compare the rankings in a file", description=COMPARE_DESCRIPTION
    )
    _add_file(compare)
    _add_units(compare)
    compare.add_argument(
        "--metric",
        metavar="NAME",
        default="average_precision",
        help="metric to compare by, such as recall_at_k or roc_auc; average_precision by default",
    )
    compare.add_argument(
        "--k", type=_cut_off, help="cut-off of the metric: a number of items, or a fraction of them"
    )
    compare.add_argument("--json", action="store_true", help="print JSON instead of sentences")


def _add_plan(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command that plans a study."""
    plan = commands.add_parser(
        "plan", help="say how many targets it takes to see an effect", description=PLAN_DESCRIPTION
    )
    plan.add_argument("--n", type=int, help="number of items")
    plan.add_argument("--m", type=int, help="number of targets among them")
    plan.add_argument(
        "--prevalence", type=float, metavar="P", help="share of targets, in place of --n and --m"
    )
    plan.add_argument(
        "--metric",
        metavar="NAME",
        default="average_precision",
        help="metric of the test, such as recall_at_k or roc_auc; average_precision by default",
    )
    plan.add_argument(
        "--k", type=_cut_off, help="cut-off of the metric: a number of items, or a fraction of them"
    )
    effect = plan.add_mutually_exclusive_group()
    effect.add_argument(
        "--auc", type=float, help="the effect: how often a target is above another item"
    )
    effect.add_argument(
        "--odds", type=float, help="the effect: odds of a target against another item at each rank"
    )
    plan.add_argument("--alpha", type=float, default=0.05, help="level of significance, 0.05")
    plan.add_argument("--power", type=float, default=0.8, help="probability of seeing it, 0.8")
    plan.add_argument("--json", action="store_true", help="print JSON instead of sentences")


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
    from sklearn_rankinf._files import CommandError

    try:
        if arguments.command == "demo":
            from sklearn_rankinf._demo import run_demo

            run_demo(plots=arguments.plots)
        else:
            from sklearn_rankinf import _commands

            getattr(_commands, arguments.command)(arguments)
    except (ImportError, CommandError) as error:
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


if __name__ == "__main__":
    sys.exit(main())
