"""Files of the command line: tables that are read, and pictures that are written."""

from __future__ import annotations

import gzip
import io
import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_KNOWN_LABELS = ({0, 1}, {-1, 1})
# What separates columns, unless it is named.
_SEPARATORS = (",", "\t", ";", "|")
_PARQUET = (".parquet", ".pq")


class CommandError(ValueError):
    """What is wrong with a file or an option, in one line for the person who gave it."""


@dataclass(frozen=True, eq=False)
class Table:
    """Labels and scores from a file.

    Attributes
    ----------
    is_positive : ndarray of shape (n_samples,)
        1 for a positive, 0 for any other.
    scores : dict of str to ndarray of shape (n_samples,)
        Scores by the name of their column, larger for likelier positives.
    groups, clusters : ndarray of shape (n_samples,) or None
        The query and the cluster of each sample, if columns were named for them.
    """

    is_positive: NDArray[np.int64]
    scores: dict[str, NDArray[np.float64]]
    groups: NDArray[Any] | None = None
    clusters: NDArray[Any] | None = None


def read_table(
    path: str,
    label: str,
    score_columns: Sequence[str],
    *,
    pos_label: str | None = None,
    lower_is_better: bool = False,
    group: str | None = None,
    cluster: str | None = None,
    sep: str | None = None,
    decimal: str = ".",
) -> Table:
    """Read labels and scores from a file, or from the standard input.

    Parameters
    ----------
    path : str
        The file, whose first line names the columns, as it is or compressed; a Parquet file; or
        ``"-"`` for the standard input.
    label : str
        Column of the labels.
    score_columns : sequence of str
        Columns of the scores.
    pos_label : str, optional
        The label of the positives as it is written in the file. Labels 0 and 1, -1 and 1, and
        False and True do not need it.
    lower_is_better : bool, default=False
        Whether small scores are those of likely positives: scores are negated then.
    group, cluster : str, optional
        Columns with the query and with the cluster of each sample.
    sep : str, optional
        What is between two values. By default the comma, tab, semicolon or bar that separates the
        names in the first line.
    decimal : str, default="."
        The decimal point.

    Returns
    -------
    Table
        Labels and scores.

    Raises
    ------
    ImportError
        If pandas is not installed, or pyarrow for Parquet.
    CommandError
        If the file cannot be read, lacks a column, or holds what are no labels or no scores.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            'reading a file needs pandas: pip install "sklearn-rankinf[report]".'
        ) from error
    if label in score_columns:
        raise CommandError(f"the label column {label!r} cannot be a score as well.")
    wanted = list(dict.fromkeys([label, *score_columns, *filter(None, [group, cluster])]))
    frame = _read_frame(pd, path, wanted, sep, decimal)
    if frame.empty:
        raise CommandError(f"{path!r} has no rows.")
    scores = {name: _as_scores(pd, frame[name], name) for name in score_columns}
    return Table(
        _is_positive(frame[label], label, pos_label),
        {name: -score for name, score in scores.items()} if lower_is_better else scores,
        *(None if name is None else _as_names(frame[name], name) for name in (group, cluster)),
    )


def _read_frame(pd: Any, path: str, wanted: list[str], sep: str | None, decimal: str) -> Any:
    """Read a table that has the columns that are wanted."""
    names: list[str] = []
    try:
        if Path(path).suffix.lower() in _PARQUET:
            return _read_parquet(pd, path, wanted)
        source = _standard_input() if path == "-" else path
        names, sep = _read_names(pd, source, wanted, sep)
        _check_columns(path, names, wanted)
        with warnings.catch_warnings():
            # Rows that are longer than the first line would lose values, or shift the columns.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # In one piece: a column read in parts may hold a number in one and its text in another.
            return pd.read_csv(
                _from_start(source), sep=sep, index_col=False, low_memory=False, decimal=decimal
            )
    except (CommandError, ImportError):
        raise
    except OSError as error:
        raise CommandError(f"cannot read {path!r}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path!r} is not text in UTF-8: save it in that encoding.") from error
    except pd.errors.ParserWarning as error:
        raise CommandError(
            f"{path!r} has rows with more values than the {len(names)} names in its first line."
        ) from error
    except ValueError as error:  # what pandas raises for what is no table, or no text
        raise CommandError(
            f"{path!r} is not a table of comma-separated values: {_first_line(error)}."
        ) from error
    except Exception as error:  # each kind of archive has errors of its own
        raise CommandError(f"cannot unpack {path!r}: {_first_line(error)}.") from error


def _standard_input() -> io.BytesIO:
    """All of the standard input, unpacked if it begins as gzip does."""
    content = sys.stdin.buffer.read()
    return io.BytesIO(gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content)


def _from_start(source: str | io.BytesIO) -> str | io.BytesIO:
    if isinstance(source, io.BytesIO):
        source.seek(0)
    return source


def _read_names(
    pd: Any, source: str | io.BytesIO, wanted: list[str], sep: str | None
) -> tuple[list[str], str]:
    """Names of the columns, and what separates them: what finds most of those that are wanted."""
    found: dict[str, list[str]] = {}
    for candidate in _SEPARATORS if sep is None else (sep.replace("\\t", "\t"),):
        columns = pd.read_csv(_from_start(source), sep=candidate, nrows=0).columns
        found[candidate] = [str(column) for column in columns]
    best = max(found, key=lambda each: (len({*wanted} & {*found[each]}), len(found[each])))
    return found[best], best


def _read_parquet(pd: Any, path: str, wanted: list[str]) -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            'reading Parquet needs pyarrow: pip install "sklearn-rankinf[parquet]".'
        ) from error
    _check_columns(path, parquet.read_schema(path).names, wanted)
    return pd.read_parquet(path, columns=wanted, engine="pyarrow")


def _check_columns(path: str, names: list[str], wanted: list[str]) -> None:
    for name in wanted:
        if name not in names:
            raise CommandError(
                f"{path!r} has no column {name!r}; its columns are {', '.join(map(repr, names))}."
            )


def _first_line(error: Exception) -> str:
    """What an error says, without its end."""
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".:")


def _is_positive(column: Any, name: str, pos_label: str | None) -> NDArray[np.int64]:
    _check_complete(column, name)
    labels = sorted(column.unique().tolist(), key=str)
    shown = ", ".join(map(repr, labels[:5])) + (", ..." if len(labels) > 5 else "")
    if len(labels) > 2:
        raise CommandError(
            f"the label column {name!r} must have two different labels; it has {len(labels)}: "
            f"{shown}."
        )
    positive = _positive_label(labels, pos_label)
    if positive is None:
        remedy = "name the positive one with --pos-label"
        if pos_label is not None:
            remedy = f"--pos-label {pos_label} is not one of them"
        raise CommandError(f"the label column {name!r} has the labels {shown}: {remedy}.")
    if len(labels) == 1:
        raise CommandError(
            f"the label column {name!r} has one label only, {shown}: there is nothing to test."
        )
    return np.asarray(column == positive, dtype=np.int64)


def _positive_label(labels: list[Any], pos_label: str | None) -> Any:
    """The label that counts as positive, or None if it is not known."""
    if pos_label is None:
        known = any(set(labels) <= pair for pair in _KNOWN_LABELS)
        return max(labels) if known else None
    for label in labels:
        if str(label) == pos_label or _as_number(label) == _as_number(pos_label):
            return label
    return None


def _as_number(text: Any) -> float | str:
    try:
        return float(text)
    except ValueError:
        return str(text)


def _as_scores(pd: Any, column: Any, name: str) -> NDArray[np.float64]:
    _check_complete(column, name)
    # One word makes a column of text; what is to be named is the word.
    scores = np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
    is_text = np.isnan(scores)
    if is_text.any():
        row = int(np.argmax(is_text))
        raise CommandError(
            f"the score column {name!r} is not numeric: it has {column.iloc[row]!r} in row "
            f"{row + 1}.{_decimal_comma(column.iloc[row])}"
        )
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores))) + 1
        raise CommandError(f"the score column {name!r} has an infinite value in row {row}.")
    return scores


def _decimal_comma(value: Any) -> str:
    """A hint where a number has a decimal comma."""
    is_number = re.fullmatch(r"[+-]?\d+,\d+", str(value).strip())
    return " If that is a decimal comma, add --decimal ','." if is_number else ""


def _as_names(column: Any, name: str) -> NDArray[Any]:
    """What samples belong to, as it is in the file."""
    _check_complete(column, name)
    return np.asarray(column)


def _check_complete(column: Any, name: str) -> None:
    missing = np.asarray(column.isna())
    if missing.any():
        raise CommandError(
            f"column {name!r} lacks a value in {int(missing.sum())} of {missing.size} rows, the "
            f"first time in row {int(np.argmax(missing)) + 1}: fill in or leave out these rows."
        )


def file_stem(name: str, taken: Any) -> str:
    """A file name without what file systems mind, different from those that are taken."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_") or "ranking"
    used = {Path(path).stem.lower() for path in taken}
    candidates = (stem if number == 1 else f"{stem}_{number}" for number in range(1, 10**6))
    return next(candidate for candidate in candidates if candidate.lower() not in used)


def save_figure(figure: Any, path: Path) -> str:
    """Write a figure to a file, in a directory that is made if it is not there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=120)
    except OSError as error:
        reason = error.strerror or error
        raise CommandError(f"cannot write plots to {str(path.parent)!r}: {reason}.") from error
    return str(path)


def write_text(path: str, text: str) -> str:
    """Write a text to a file."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write {path!r}: {error.strerror or error}.") from error
    return path
