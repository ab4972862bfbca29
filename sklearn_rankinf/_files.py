"""Input and output files of the command line: tables and pictures."""

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
# Column separators that are tried unless one is given.
_SEPARATORS = (",", "\t", ";", "|")
_PARQUET = (".parquet", ".pq")
_SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
# The first bytes of a workbook: a zip archive, or a compound file.
_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")


class CommandError(ValueError):
    """An invalid file or option, described in one line for the user of the command line."""


@dataclass(frozen=True, eq=False)
class Table:
    """Labels and scores from a file.

    Attributes
    ----------
    is_positive : ndarray of shape (n_samples,)
        1 for a positive, 0 for a negative.
    scores : dict of str to ndarray of shape (n_samples,)
        Scores, keyed by the name of their column, larger for samples more likely to be positive.
    groups, clusters : ndarray of shape (n_samples,) or None
        The query and the cluster of each sample; None if no column was given for them.
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
    lower_columns: Sequence[str] = (),
    group: str | None = None,
    cluster: str | None = None,
    sep: str | None = None,
    decimal: str = ".",
) -> Table:
    """Read labels and scores from a file, or from the standard input.

    Parameters
    ----------
    path : str
        A text file with the column names in its first line, possibly compressed; a Parquet file;
        or ``"-"`` for the standard input.
    label : str
        Column of the labels.
    score_columns : sequence of str
        Columns of the scores.
    pos_label : str, optional
        The label of the positives as it is written in the file. It can be left out for labels 0
        and 1, -1 and 1, and False and True.
    lower_is_better : bool, default=False
        Whether scores are smaller for samples more likely to be positive, in all columns. If True,
        all scores are negated.
    lower_columns : sequence of str, default=()
        Those of the `score_columns` whose scores are smaller for samples more likely to be
        positive. They are negated.
    group, cluster : str, optional
        Columns with the query and with the cluster of each sample.
    sep : str, optional
        Column separator. By default it is the comma, tab, semicolon or bar that separates the
        names in the first line.
    decimal : str, default="."
        Decimal separator.

    Returns
    -------
    Table
        Labels and scores.

    Raises
    ------
    ImportError
        If pandas is not installed, or pyarrow is missing for a Parquet file.
    CommandError
        If the file cannot be read, lacks a column, or has invalid labels or scores.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            'reading a file needs pandas: pip install "sklearn-rankinf[report]".'
        ) from error
    if label in score_columns:
        raise CommandError(
            f"column {label!r} cannot be both --label and a column of scores: give another column "
            "of scores."
        )
    wanted = list(dict.fromkeys([label, *score_columns, *filter(None, [group, cluster])]))
    frame = _read_frame(pd, path, wanted, sep, decimal)
    if frame.empty:
        raise CommandError(f"{path!r} has no rows below its header line.")
    negated = score_columns if lower_is_better else lower_columns
    scores = {
        name: _as_scores(pd, frame[name], name, "higher" if name in negated else "lower")
        for name in score_columns
    }
    return Table(
        _is_positive(frame[label], label, pos_label),
        {name: -score if name in negated else score for name, score in scores.items()},
        *(None if name is None else _as_names(frame[name], name) for name in (group, cluster)),
    )


def _read_frame(pd: Any, path: str, wanted: list[str], sep: str | None, decimal: str) -> Any:
    """Read a table and check that it has the required columns."""
    names: list[str] = []
    try:
        if Path(path).suffix.lower() in _PARQUET:
            return _read_parquet(pd, path, wanted)
        source = _standard_input() if path == "-" else path
        if path != "-" and _is_spreadsheet(path):
            raise CommandError(f"{path!r} is a spreadsheet: export it as CSV.")
        names, sep = _read_names(pd, source, wanted, sep)
        _check_columns(path, names, wanted)
        with warnings.catch_warnings():
            # A row with more values than the header would lose values or shift the columns.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # Reading in chunks could give one column both numbers and strings.
            return pd.read_csv(
                _from_start(source), sep=sep, index_col=False, low_memory=False, decimal=decimal
            )
    except (CommandError, ImportError):
        raise
    except OSError as error:
        raise CommandError(f"cannot read {path!r}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path!r} is not encoded in UTF-8: save it as UTF-8 text.") from error
    except pd.errors.ParserWarning as error:
        raise CommandError(
            f"{path!r} has rows with more values than the {len(names)} names in its first line: "
            "correct these rows."
        ) from error
    except ValueError as error:  # pandas raises it for a file that is not a table
        raise CommandError(f"{path!r} cannot be read as a table: {_first_line(error)}.") from error
    except Exception as error:  # each archive format raises its own error class
        raise CommandError(f"cannot unpack {path!r}: {_first_line(error)}.") from error


def _is_spreadsheet(path: str) -> bool:
    """Whether a file is a workbook; a text file may have the same ending."""
    if Path(path).suffix.lower() not in _SPREADSHEETS:
        return False
    with Path(path).open("rb") as file:
        return file.read(4) in _WORKBOOKS


def _standard_input() -> io.BytesIO:
    """Return the whole standard input, decompressed if it is gzip data."""
    content = sys.stdin.buffer.read()
    return io.BytesIO(gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content)


def _from_start(source: str | io.BytesIO) -> str | io.BytesIO:
    if isinstance(source, io.BytesIO):
        source.seek(0)
    return source


def _read_names(
    pd: Any, source: str | io.BytesIO, wanted: list[str], sep: str | None
) -> tuple[list[str], str]:
    """Return the column names and the separator that finds most of the required columns."""
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
    """Return the first line of an error message without its final punctuation."""
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
        remedy = "give the positive one with --pos-label"
        if pos_label is not None:
            remedy = f"--pos-label {pos_label} is not one of them"
        raise CommandError(f"the label column {name!r} has the labels {shown}: {remedy}.")
    if len(labels) == 1:
        raise CommandError(
            f"the label column {name!r} has only one label, {shown}: a test needs both positives "
            "and negatives."
        )
    return np.asarray(column == positive, dtype=np.int64)


def _positive_label(labels: list[Any], pos_label: str | None) -> Any:
    """Return the label of the positives, or None if it cannot be determined."""
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


def _as_scores(pd: Any, column: Any, name: str, last: str) -> NDArray[np.float64]:
    """Return scores as numbers; the `last` ones are lower or higher than the others."""
    _check_complete(
        column,
        name,
        f"remove these rows, or put these items last by giving them all one score that is {last} "
        "than every other score",
    )
    # A single word makes pandas read the whole column as text; the message shows that word.
    scores = np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
    is_text = np.isnan(scores)
    if is_text.any():
        row = int(np.argmax(is_text))
        raise CommandError(
            f"the score column {name!r} is not numeric: row {row + 1} below the header has "
            f"{column.iloc[row]!r}.{_decimal_comma(column.iloc[row])}"
        )
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores))) + 1
        raise CommandError(
            f"the score column {name!r} has an infinite value in row {row} below the header: "
            "scores must be finite."
        )
    return scores


def _decimal_comma(value: Any) -> str:
    """Return a hint on --decimal if the value looks like a number with a decimal comma."""
    is_number = re.fullmatch(r"[+-]?\d+,\d+", str(value).strip())
    return " If the comma is a decimal separator, add --decimal ','." if is_number else ""


def _as_names(column: Any, name: str) -> NDArray[Any]:
    """Return the queries or clusters of the samples as they are written in the file."""
    _check_complete(column, name)
    return np.asarray(column)


def _check_complete(
    column: Any, name: str, remedy: str = "fill them in or remove these rows"
) -> None:
    missing = np.asarray(column.isna())
    if missing.any():
        raise CommandError(
            f"column {name!r} has missing values in {int(missing.sum())} of {missing.size} rows, "
            f"first in row {int(np.argmax(missing)) + 1} below the header: {remedy}."
        )


def file_stem(name: str, taken: Any) -> str:
    """Return a portable file name that differs from those already taken."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_") or "ranking"
    used = {Path(path).stem.lower() for path in taken}
    candidates = (stem if number == 1 else f"{stem}_{number}" for number in range(1, 10**6))
    return next(candidate for candidate in candidates if candidate.lower() not in used)


def save_figure(figure: Any, path: Path) -> str:
    """Write a figure to a file and create its directory if necessary."""
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
