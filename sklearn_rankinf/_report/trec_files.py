"""Retrieval runs and relevance judgements of the command line, in the formats of TREC."""

from __future__ import annotations

import argparse
import csv
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_rankinf._ranking import AlignedRuns, Ranking, align_runs, shown
from sklearn_rankinf._report.files import (
    CommandError,
    Table,
    compression_of,
    import_pandas,
    open_once,
    readable,
)
from sklearn_rankinf._results import counted

# The values in a row of each kind of file.
_ROWS = {
    "judgements": ("query", "iteration", "document", "relevance"),
    "a run": ("query", "Q0", "document", "rank", "score", "tag"),
}
# Options that name columns of a table, or are for a single list of items.
_OF_TABLES = (
    *("label", "score", "lower_score", "lower_is_better", "pos_label", "sep", "decimal"),
    *("groups", "clusters"),
)
_OF_LISTS = ("k", "plots", "html", "prevalence", "value", "cost")
_OF_RUNS = ("judged_only", "collection_size", "relevance_level", "ties", "query")


def check_run_options(arguments: argparse.Namespace) -> None:
    """Raise an error for options of runs that are incomplete or contradict others."""
    given = vars(arguments)
    if arguments.qrels is None:
        for name in ("run", *_OF_RUNS):
            if _is_given(given, name):
                raise CommandError(
                    f"{_option(name)} is for retrieval runs and needs --qrels FILE with their "
                    "judgements."
                )
        return
    if not arguments.run:
        raise CommandError("--qrels needs at least one --run FILE.")
    if arguments.file is not None:
        raise CommandError(
            f"--qrels takes the place of the file {arguments.file!r}: leave out one of the two."
        )
    is_curve = arguments.command == "curve"
    for name in (*_OF_TABLES, *(() if is_curve else _OF_LISTS)):
        if _is_given(given, name):
            reason = "names or describes columns of a table"
            if name in _OF_LISTS:
                reason = "is for a single list of items"
            remedy = "write the cut-off after the name of the metric, such as --metric ndcg@10"
            raise CommandError(
                f"{_option(name)} {reason}, and cannot be combined with --qrels: "
                f"{remedy if name == 'k' else 'leave it out'}."
            )
    if [arguments.qrels, *arguments.run].count("-") > 1:
        raise CommandError("only one of --qrels and --run can be the standard input.")


def _is_given(arguments: dict[str, Any], name: str) -> bool:
    """Whether an option, which the command may not have, differs from its default."""
    value = arguments.get(name)
    return value not in (None, []) and value is not False and (name, value) != ("decimal", ".")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def read_runs(arguments: argparse.Namespace) -> Table:
    """Read judgements and runs from files, and align them."""
    pd = import_pandas()
    qrels = _read(pd, arguments.qrels, "judgements", "relevance")
    frames = [_read(pd, path, "a run", "score") for path in arguments.run]
    names = _names([str(frame["tag"].iloc[0]) for frame in frames], arguments.run)
    try:
        aligned = align_runs(
            qrels,
            dict(zip(names, frames, strict=True)),
            relevance_level=1 if arguments.relevance_level is None else arguments.relevance_level,
            judged_only=arguments.judged_only,
            ties=arguments.ties or "expected",
        )
    except ValueError as error:
        raise CommandError(str(error)) from error
    if aligned.n_queries < 2 and arguments.command != "curve":
        raise CommandError(
            "the judgements have a single query, and means over queries with their intervals and "
            "comparisons need two or more: rankinf curve takes one query."
        )
    labels = aligned.y_true.astype(np.int64)
    return Table(labels, dict(aligned.y_score), groups=aligned.groups, runs=aligned)


def _read(pd: Any, path: str, what: str, of_value: str) -> Any:
    """Read the rows of a file, whose values are separated by white space."""
    columns = _ROWS[what]
    with readable(pd, path), open_once(path) as file:
        compression = compression_of(path, file)
        file.seek(0)
        try:
            frame = pd.read_csv(
                file,
                sep=r"\s+",
                header=None,
                # One more column, which is empty unless a row has too many values.
                names=[*columns, "more"],
                index_col=False,
                dtype=str,
                quoting=csv.QUOTE_NONE,
                keep_default_na=False,
                compression=compression,
            )
        except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
            raise _wrong_rows(path, what, "a row with too many values") from error
    if not len(frame):
        raise CommandError(f"{path!r} is empty.")
    frame = frame.fillna("")
    wrong = np.asarray((frame[columns[-1]] == "") | (frame["more"] != ""))
    if wrong.any():
        row = int(np.argmax(wrong))
        n_values = counted(int(np.sum(frame.iloc[row] != "")), "value")
        raise _wrong_rows(path, what, f"{n_values} in row {row + 1}")
    frame = frame.rename(columns={"query": "query_id", "document": "doc_id"})
    frame[of_value] = _as_floats(frame[of_value].tolist(), of_value, path)
    return frame


def _wrong_rows(path: str, what: str, found: str) -> CommandError:
    columns = _ROWS[what]
    return CommandError(
        f"{path!r} has {found}, but each row of {what} in the format of TREC has {len(columns)}, "
        f"separated by spaces or tabs: {', '.join(columns)}."
    )


def _as_floats(texts: list[str], name: str, path: str) -> list[float]:
    numbers = []
    for row, text in enumerate(texts, 1):
        try:
            numbers.append(float(text))
        except ValueError:
            numbers.append(math.nan)
        if not math.isfinite(numbers[-1]):
            raise CommandError(
                f"{path!r} has the {name} {shown(text)} in row {row}, which is not a finite number."
            )
    return numbers


def _names(tags: list[str], paths: list[str]) -> list[str]:
    """Names of runs: their tags, or their files' names if tags repeat."""
    names = tags
    if len(set(tags)) < len(tags):
        names = [Path(path.removesuffix(".gz")).stem for path in paths]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise CommandError(
            f"several runs have the tag and the file name {repeated[0]!r}: rename one of the files."
        )
    return names


def rankings_to_test(
    aligned: AlignedRuns, name: str, arguments: argparse.Namespace
) -> dict[Any, Ranking] | None:
    """Rankings of the queries for a test against chance; None if the collection is not known."""
    if arguments.collection_size is None and not aligned.judged_only:
        return None
    try:
        return aligned.rankings(name, collection_size=arguments.collection_size)
    except ValueError as error:
        text = str(error).replace("collection_size=", "--collection-size ")
        text = text.replace("collection_size", "--collection-size")
        raise CommandError(text.replace("judged_only=True", "--judged-only")) from error


def in_collection(aligned: AlignedRuns, arguments: argparse.Namespace) -> str:
    """Say among which documents a value of a test is, which differs from that of trec_eval."""
    last = "those that were not retrieved in the last place"
    if aligned.judged_only:
        return f"Among the judged documents, {last}:"
    if arguments.collection_size == "retrieved":
        return "Among the retrieved documents:"
    return f"Among {arguments.collection_size} documents, {last}:"


def ranking_of_query(aligned: AlignedRuns, name: str, arguments: argparse.Namespace) -> Ranking:
    """The ranking of the query for which a curve is computed."""
    rankings = rankings_to_test(aligned, name, arguments)
    if rankings is None:
        raise CommandError(
            "a curve compares the list with random orders of a collection: give its number of "
            "documents with --collection-size, or --collection-size retrieved for the order of "
            "the retrieved documents."
        )
    query = arguments.query
    known = list(dict.fromkeys(aligned.groups.tolist()))
    if query is None:
        if len(known) > 1:
            raise CommandError(
                f"a curve is that of one list, and the judgements have {len(known)} queries: give "
                f"one of them with --query, such as --query {known[0]}."
            )
        query = known[0]
    if query not in known:
        raise CommandError(f"--query {query} has no judgements; there are {_some(known)}.")
    if query not in rankings:
        raise CommandError(f"run {name!r} retrieved nothing for query {query!r}.")
    return rankings[query]


def _some(names: list[Any]) -> str:
    return ", ".join(map(str, names[:5])) + (", ..." if len(names) > 5 else "")
