"""The command line: ``rankinf`` or ``python -m sklearn_rankinf``."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from sklearn_rankinf import __version__

# The exit status that shells report after SIGPIPE (128 + 13): the reader closed the pipe.
CLOSED_PIPE = 128 + 13

DESCRIPTION = (
    "Test whether a ranking of rare positives is better than chance, and by how much. "
    "Exact inference for average precision and hits at k on top of scikit-learn."
)


class _Score(argparse.Action):
    """Collect the columns of scores in the order of the command line.

    ``score`` gets the columns of ``--score`` and ``--lower-score``; ``lower_score`` gets those of
    ``--lower-score``.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Add a column."""
        is_lower = self.dest == "lower_score"
        if values in namespace.score and (values in namespace.lower_score) != is_lower:
            parser.error(
                f"column {values!r} is given with --score and with --lower-score: use one of them"
            )
        # The lists of the defaults belong to the parser and must not grow.
        namespace.score = [*namespace.score, values]
        if is_lower:
            namespace.lower_score = [*namespace.lower_score, values]


def _cut_off(text: str) -> int | float:
    for number in (int, float):
        with contextlib.suppress(ValueError):
            return number(text)
    raise argparse.ArgumentTypeError(
        f"{text!r} is not a number: give a number of items, such as 100, or a fraction of them, "
        "such as 0.05 for 5 %"
    )


def _one_cut_off(text: str) -> int | float:
    """Return one of several cut-offs."""
    try:
        return _cut_off(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}; repeat --k for several") from None


def _level(text: str) -> float:
    """Return a significance level."""
    with contextlib.suppress(ValueError):
        if 0.0 < float(text) < 1.0:
            return float(text)
    raise argparse.ArgumentTypeError(
        f"{text!r} is not a number between 0 and 1: give a level such as 0.05"
    )


def _size_of_collection(text: str) -> int | str:
    if text == "retrieved":
        return text
    if text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(
        f"{text!r} is neither a number of documents, such as 8841823, nor retrieved"
    )


# The options of a command, with the arguments of ``add_argument``.
Options = dict[str, dict[str, Any]]


def _option(help: str, **arguments: Any) -> dict[str, Any]:
    return {"help": help, **arguments}


def _several(help: str, **arguments: Any) -> dict[str, Any]:
    return {"help": help, "action": "append", "default": [], **arguments}


_JSON: Options = {"--json": _option("print JSON instead of text", action="store_true")}
_PLOTS: Options = {"--plots": _option("write pictures to DIR", metavar="DIR")}
_METRIC: Options = {
    "--metric": _option(
        "the metric, such as recall@50, enrichment@0.05 or roc_auc; average_precision by default",
        metavar="NAME",
        default="average_precision",
    )
}
_FILE: Options = {
    "file": _option(
        "table with a header line and columns separated by commas, tabs, semicolons or bars, "
        "possibly compressed; a Parquet file; or - for the standard input; required unless --qrels "
        "and --run are given",
        metavar="FILE",
        nargs="?",
    ),
    "--label": _option("column of the labels; required with FILE", metavar="COLUMN"),
    "--score": _several(
        "column of scores, larger for items more likely to be positive; may be repeated; --score "
        "or --lower-score is required with FILE",
        metavar="COLUMN",
        action=_Score,
    ),
    "--lower-score": _several(
        "column of scores that are smaller for items more likely to be positive, such as energies "
        "or distances; may be repeated",
        metavar="COLUMN",
        action=_Score,
    ),
    "--lower-is-better": _option(
        "scores are smaller for items more likely to be positive, in all columns of scores",
        action="store_true",
    ),
    "--pos-label": _option(
        "label of the positives; not needed for the labels 0 and 1, -1 and 1, False and True",
        metavar="LABEL",
    ),
    "--sep": _option("column separator; detected by default", metavar="TEXT"),
    "--decimal": _option("decimal separator, '.' by default", metavar="TEXT", default="."),
}
_RUNS: Options = {
    "--qrels": _option(
        "relevance judgements in the format of TREC, possibly compressed, in place of FILE",
        metavar="FILE",
    ),
    "--run": _several(
        "retrieval run in the format of TREC, possibly compressed; may be repeated", metavar="FILE"
    ),
    "--relevance-level": _option(
        "smallest grade of a relevant document, 1 by default", metavar="GRADE", type=float
    ),
    "--judged-only": _option(
        "leave out documents without judgement; else they are not relevant", action="store_true"
    ),
    "--ties": _option(
        "documents with equal scores are a block of ties (expected, the default), or are ordered "
        "by name as in trec_eval (name)",
        choices=("expected", "name"),
    ),
}
_COLLECTION: Options = {
    "--collection-size": _option(
        "number of documents in the collection, for a test of runs against chance; or retrieved, "
        "for a test of the order of the retrieved documents alone",
        metavar="N",
        type=_size_of_collection,
    )
}
_UNITS: Options = {
    "--groups": _option(
        "column with the query of each item; items are ranked within each query", metavar="COLUMN"
    ),
    "--clusters": _option(
        "column with the cluster of each item, such as a patient or a scaffold; items of one "
        "cluster are not independent",
        metavar="COLUMN",
    ),
}
_ALPHA: Options = {
    "--alpha": _option(
        "significance level, 0.05 by default; intervals have the confidence level 1 - alpha",
        type=_level,
        default=0.05,
    )
}
_PREVALENCE: Options = {
    "--prevalence": _option(
        "proportion of positives where the ranking will be used, if it is not that of the file",
        metavar="P",
        type=float,
    )
}
_REPORT: Options = {
    "--k": _several(
        "count the hits among the first K items; a fraction such as 0.1 means this fraction of all "
        "items; may be repeated; 10, 50 and 100 by default",
        type=_one_cut_off,
    ),
    "--metric": _several(
        "also test another metric, such as roc_auc, bedroc or ndcg@10; with --groups or --qrels "
        "the metric of each query instead of average_precision; may be repeated",
        metavar="NAME",
    ),
    **_PREVALENCE,
    "--value": _option(
        "value of a positive that is found; with --cost the report has the cut-off with the "
        "largest net benefit",
        type=float,
    ),
    "--cost": _option("costs of examining an item, in the unit of --value", type=float),
    "--html": _option("also write the report as a web page with pictures to FILE", metavar="FILE"),
}
_GATE: Options = {
    "--require": _option(
        "what is required of the last of two columns of scores, compared with the first; the exit "
        "status is 0 if the interval of the difference shows it, 3 if it shows the opposite, and 4 "
        "if it shows neither; not-worse with --margin",
        choices=("not-worse", "better", "equivalent"),
    ),
    "--margin": _option(
        "the smallest difference of the metric that matters, fixed before the data are seen",
        metavar="X",
        type=float,
    ),
}
_CURVE: Options = {
    "--query": _option("query of the runs whose lists are taken", metavar="QUERY"),
    "--alpha": _several(
        "significance level, by default 0.1, 0.05 and 0.01; may be repeated", type=float
    ),
    "--max-rank": _option(
        "largest k of interest, a number of items or a fraction of them; choose it without looking "
        "at the labels",
        metavar="K",
        type=_cut_off,
    ),
}
_PLAN: Options = {
    "--n": _option("number of items", type=int),
    "--m": _option("number of positives among them", type=int),
    "--prevalence": _option(
        "proportion of positives, instead of --n and --m", metavar="P", type=float
    ),
    "--auc": _option(
        "the effect as the probability that a positive ranks above another item", type=float
    ),
    "--odds": _option(
        "the effect as the odds of a positive against another item at each rank", type=float
    ),
    "--model": _option(
        "model of the rankings: wallenius (the default), the same odds at every rank; or binormal, "
        "normal scores, which needs --auc",
        choices=("wallenius", "binormal"),
        default="wallenius",
    ),
    "--alpha": _option("significance level, 0.05 by default", type=float, default=0.05),
    "--power": _option(
        "required probability of detecting the effect, 0.8 by default", type=float, default=0.8
    ),
}
_HELD_OUT = "The scores must come from models that were not trained on these labels."
# Each command with a line about it, its description, and its options.
COMMANDS: dict[str, tuple[str, str, Options]] = {
    "demo": (
        "tune and test three rankers on real data",
        "Tune three rankers on a problem with rare positives made from scikit-learn's digits, test "
        "each on held-out data against chance, and print exact, permutation and normal p-values "
        "side by side. Takes well under a minute; needs no download and, without --plots, no "
        "optional dependency.",
        _PLOTS,
    ),
    "report": (
        "test the rankings in a file",
        "Test the rankings in a table (one row per item) against chance. The report has "
        "the exact p-values of average precision and of every --metric and, for each --k, the hits "
        "among the first k items and the number of hits that would be significant. " + _HELD_OUT,
        {**_FILE, **_UNITS, **_RUNS, **_COLLECTION, **_REPORT, **_ALPHA, **_PLOTS, **_JSON},
    ),
    "curve": (
        "show up to which k rankings are better than chance",
        "Show for every k how many positives the rankings in a table have among their first k "
        "items, up to which k they have more than chance, and at which error rate this holds "
        "for all k together. " + _HELD_OUT,
        {**_FILE, **_RUNS, **_COLLECTION, **_CURVE, **_PLOTS, **_JSON},
    ),
    "compare": (
        "compare the rankings in a file",
        "Compare rankings of the same items, one column of scores each. Two rankings are compared "
        "by their difference, with a p-value and an interval; more than two are compared in pairs, "
        "with the set of rankers that may be the best. " + _HELD_OUT,
        {**_FILE, **_UNITS, **_RUNS, **_METRIC, **_PREVALENCE, **_ALPHA, **_GATE, **_JSON},
    ),
    "plan": (
        "compute the power and the number of positives that a test needs",
        "Compute the power of a test of a ranking, the smallest effect that the test would detect, "
        "and the number of positives that it needs. Give --n and --m, or --prevalence with --auc "
        "or --odds.",
        {**_PLAN, **_METRIC, **_JSON},
    ),
}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(prog="rankinf", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (line, description, options) in COMMANDS.items():
        command = commands.add_parser(name, help=line, description=description)
        either = command.add_mutually_exclusive_group() if name == "plan" else command
        for option, arguments in options.items():
            group = either if option in ("--auc", "--odds") else command
            group.add_argument(option, **arguments)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    It is 0 if the command succeeded, 2 if its input was invalid or an optional dependency is
    missing, 1 if the output cannot be written, and 141 if the reader closed the output. Each of
    these statuses other than 0 comes with one line on the standard error stream. A requirement that
    is not met has the status 3, and an inconclusive one 4. Invalid arguments raise
    ``SystemExit`` with code 2, as usual with argparse.
    """
    # A process that ignores interrupts, for instance behind nohup, continues to ignore them.
    if argv is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_in_one_line)
    # A character of a column name that the terminal cannot show is printed as its code.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            return _run(_parse(argv))
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        return _give_up_output("the output was closed before its end", CLOSED_PIPE)
    except OSError as error:
        if error.filename is not None:  # the error concerns a file, not the output
            raise
        return _give_up_output(f"cannot write the output: {error.strerror or error}", 1)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments, of which a file with columns, or judgements and runs, are required."""
    parser = build_parser()
    arguments = parser.parse_args(argv)
    missing = _missing(arguments) if "score" in arguments else None
    if missing is not None:
        parser.exit(2, f"rankinf {arguments.command}: error: {missing}.\n")
    if getattr(arguments, "lower_is_better", False):
        arguments.lower_score = arguments.score
    return arguments


def _missing(arguments: argparse.Namespace) -> str | None:
    """Say what is missing to read a file with columns; None if nothing is, or runs are read."""
    if arguments.qrels is not None or arguments.run:
        return None
    required = {"FILE": arguments.file, "--label": arguments.label}
    missing = [name for name, value in required.items() if value is None]
    if missing:
        return (
            f"the following arguments are required: {', '.join(missing)}; or --qrels FILE and "
            "--run FILE for a retrieval run"
        )
    if arguments.score:
        return None
    return (
        "no column of scores: give --score COLUMN, or --lower-score COLUMN if smaller scores mean "
        "positives"
    )


def _run(arguments: argparse.Namespace) -> int:
    # Imported here so that --help and --version do not load any estimator.
    from sklearn_rankinf._report.files import CommandError

    shown = set()

    def show(message: Warning | str, *place: object, **options: object) -> None:
        # The test, the interval and the comparison of the same data warn of the same.
        if str(message) not in shown:
            shown.add(str(message))
            print(f"rankinf {arguments.command}: warning: {message}", file=sys.stderr)

    try:
        _check_backend(arguments)
        with warnings.catch_warnings():
            warnings.showwarning = show
            if arguments.command == "demo":
                from sklearn_rankinf._report.demo import run_demo

                run_demo(plots=arguments.plots)
            else:
                from sklearn_rankinf._report import commands as _commands

                return getattr(_commands, arguments.command)(arguments) or 0
    except (ImportError, CommandError) as error:
        reason = str(error)
    except MemoryError:
        reason = "the computation needs more memory than is available: give fewer items."
    else:
        return 0
    print(f"rankinf {arguments.command}: error: {reason}", file=sys.stderr)
    return 2


def _check_backend(arguments: argparse.Namespace) -> None:
    """Raise an error for a backend that matplotlib does not know, before anything is computed."""
    from sklearn_rankinf._report.files import CommandError

    if not any(getattr(arguments, name, None) for name in ("plots", "html")):
        return
    with contextlib.suppress(ImportError):  # the error of the picture names the option
        try:
            import matplotlib  # noqa: F401
        except ValueError as error:
            raise CommandError(
                "matplotlib does not know the backend of the environment variable "
                f"MPLBACKEND={os.environ.get('MPLBACKEND')}: unset it."
            ) from error


def _end_in_one_line(number: int, frame: Any) -> None:
    """Report an interruption, and end the process with the default action of the signal.

    An exception that is raised during imports could be swallowed.
    """
    print("rankinf: interrupted", file=sys.stderr, flush=True)
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


def _give_up_output(reason: str, status: int) -> int:
    # Flushing the rest of the buffer would fail again when the interpreter exits.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    with contextlib.suppress(OSError):
        print(f"rankinf: error: {reason}.", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
