"""Input and output files of the command line: tables and pictures."""

from __future__ import annotations

import io
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._metrics import Metric
from sklearn_rankinf._ranking import AlignedRuns, as_exact_numbers

_KNOWN_LABELS = ({0, 1}, {-1, 1})
_TRUTHS = {"false": False, "true": True}
# The characters of numbers, besides the decimal separator.
_IN_NUMBERS = "0123456789+-eE "
# Column separators that are tried unless one is given.
_SEPARATORS = (",", "\t", ";", "|")
_PARQUET = (".parquet", ".pq")
_SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_ARCHIVES = {
    ".tar": "tar",
    ".tar.gz": "tar",
    ".tar.bz2": "tar",
    ".tar.xz": "tar",
    ".gz": "gzip",
    ".bz2": "bz2",
    ".zip": "zip",
    ".xz": "xz",
    ".zst": "zstd",
}
# Addresses such as http://host/file and file:///file.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.:-]*://")
# The first bytes of a workbook: a zip archive, or a compound file.
_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")


class CommandError(ValueError):
    """An invalid file or option, described in one line for the user of the command line."""


@dataclass(frozen=True, eq=False)
class Table:
    """Labels and scores from a file: 1 for a positive, and scores by the name of their column.

    Scores are larger for items more likely to be positive. Different whole numbers beyond 2**53
    stay different, as integers or Python's numbers. Queries and clusters are as they are written.
    """

    is_positive: NDArray[np.int64]
    scores: dict[str, NDArray[Any]]
    groups: NDArray[Any] | None = None
    clusters: NDArray[Any] | None = None
    # The runs that the labels and scores are of, if they were read from judgements and runs.
    runs: AlignedRuns | None = None

    def labels(self, metric: Metric) -> NDArray[Any]:
        """Positives, or the grades of runs for a metric that takes them."""
        if self.runs is None or not metric.takes_grades:
            return self.is_positive
        return self.runs.relevance


def read_table(
    path: str,
    label: str,
    score_columns: Sequence[str],
    *,
    pos_label: str | None = None,
    lower_columns: Sequence[str] = (),
    groups: str | None = None,
    clusters: str | None = None,
    sep: str | None = None,
    decimal: str = ".",
) -> Table:
    """Read labels and scores from a file, or from the standard input.

    A file is a text with the column names in its first line, possibly compressed; a Parquet file;
    or ``"-"`` for the standard input. It is opened once, so that it may be a pipe. The label of the
    positives, `pos_label`, is compared as it is written; it can be left out for labels 0 and 1, -1
    and 1, and False and True. The scores in `lower_columns`, which are smaller for items more
    likely to be positive, are negated. The separator is found out from the first line, unless it is
    given.
    """
    pd = import_pandas()
    if label in score_columns:
        raise CommandError(
            f"column {label!r} cannot be both --label and a column of scores: give another column "
            "of scores."
        )
    if len(decimal) != 1 or decimal.isalnum() or decimal in "+-_\"'" or decimal.isspace():
        raise CommandError(f"--decimal must be a character such as '.' or ','; got {decimal!r}.")
    if sep is not None and len(sep) != 1 and sep not in ("\\t", "\\s+"):
        raise CommandError(f"--sep must be one character, '\\t' or '\\s+'; got {sep!r}.")
    wanted = list(dict.fromkeys([label, *score_columns, *filter(None, [groups, clusters])]))
    columns = _read_columns(pd, path, wanted, sep)
    if not len(columns[label]):
        raise CommandError(f"{path!r} has no rows below its header line.")
    scores = {}
    for name in score_columns:
        is_lower = name in lower_columns
        score = _as_scores(columns[name], name, "higher" if is_lower else "lower", decimal)
        scores[name] = _negative(score) if is_lower else score
    return Table(
        _is_positive(pd, columns[label], label, pos_label, decimal),
        scores,
        groups=None if groups is None else _as_names(columns[groups], groups),
        clusters=None if clusters is None else _as_names(columns[clusters], clusters),
    )


def import_pandas() -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            'reading a file needs pandas: pip install "sklearn-rankinf[report]".'
        ) from error
    return pd


def _read_columns(pd: Any, path: str, wanted: list[str], sep: str | None) -> dict[str, Any]:
    """Read the required columns of a table, those of a text file as they are written."""
    with readable(pd, path), open_once(path) as file:
        if Path(path).suffix.lower() in _PARQUET:
            return _read_parquet(file, path, wanted)
        if _is_spreadsheet(path, file):
            raise CommandError(f"{path!r} is a spreadsheet: export it as CSV.")
        options = {"compression": compression_of(path, file), "low_memory": False}
        names, sep = _read_names(pd, file, wanted, sep, options)
        _check_columns(path, names, wanted)
        file.seek(0)
        try:
            frame = pd.read_csv(
                file,
                sep=sep,
                index_col=False,
                header=0,
                names=range(len(names)),
                dtype={names.index(name): str for name in wanted},
                **options,
            )
        except pd.errors.ParserWarning as error:
            raise CommandError(
                f"{path!r} has rows with more values than the {len(names)} names in its first "
                "line: correct these rows."
            ) from error
        _check_line_breaks(pd, path, frame, names, sep)
        return {name: frame[names.index(name)] for name in wanted}


@contextmanager
def readable(pd: Any, path: str) -> Iterator[None]:
    """Report a file that cannot be read, or is no table, as an error of the command."""
    try:
        with warnings.catch_warnings():
            # A row with more values than the header would lose values or shift the columns.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except (CommandError, ImportError):
        raise
    except OSError as error:
        raise CommandError(f"cannot read {path!r}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path!r} is not encoded in UTF-8: save it as UTF-8 text.") from error
    except ValueError as error:  # pandas raises it for a file that is not a table
        unclosed = re.search(r"EOF inside string starting at row (\d+)", str(error))
        if unclosed is not None:
            raise CommandError(_open_quote(path, int(unclosed[1]))) from error
        raise CommandError(f"{path!r} cannot be read as a table: {_first_line(error)}.") from error
    except Exception as error:  # each archive format raises its own error class
        raise CommandError(f"cannot unpack {path!r}: {_first_line(error)}.") from error


def open_once(path: str) -> BinaryIO:
    """Open a file once; the content of a pipe is kept, because the header is read several times."""
    if path == "-":
        return io.BytesIO(sys.stdin.buffer.read())
    if _ADDRESS.match(path):
        raise CommandError(
            f"{path!r} is an address, and rankinf opens no connection: download the file and give "
            "its path, or pass its content to the standard input with - as the file."
        )
    file = Path(path).open("rb")
    if file.seekable():
        return file
    with file:
        return io.BytesIO(file.read())


def compression_of(path: str, file: BinaryIO) -> str | None:
    """Return the compression by the ending of the name, or by the first bytes for gzip."""
    name = path.lower()
    for ending, compression in _ARCHIVES.items():
        if name.endswith(ending):
            return compression
    return "gzip" if _first_bytes(file, 2) == b"\x1f\x8b" else None


def _first_bytes(file: BinaryIO, number: int) -> bytes:
    file.seek(0)
    return file.read(number)


def _is_spreadsheet(path: str, file: BinaryIO) -> bool:
    """Whether a file is a workbook; a text file may have the same ending."""
    return Path(path).suffix.lower() in _SPREADSHEETS and _first_bytes(file, 4) in _WORKBOOKS


def _read_names(
    pd: Any, file: BinaryIO, wanted: list[str], sep: str | None, options: dict[str, Any]
) -> tuple[list[str], str]:
    """Return the column names and the separator that finds most of the required columns."""
    found: dict[str, list[str]] = {}
    for candidate in _SEPARATORS if sep is None else (sep.replace("\\t", "\t"),):
        file.seek(0)
        # As a header, a line with a name twice would be changed.
        line = pd.read_csv(
            file, sep=candidate, header=None, nrows=1, dtype=str, keep_default_na=False, **options
        )
        found[candidate] = line.iloc[0].tolist()
    best = max(found, key=lambda each: (len({*wanted} & {*found[each]}), len(found[each])))
    return found[best], best


def _read_parquet(file: BinaryIO, path: str, wanted: list[str]) -> dict[str, Any]:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(
            'reading Parquet needs pyarrow: pip install "sklearn-rankinf[parquet]".'
        ) from error
    table = parquet.ParquetFile(file)
    _check_columns(path, table.schema_arrow.names, wanted)
    # The metadata of pandas could turn a column into the index of the frame.
    frame = table.read(columns=wanted).to_pandas(ignore_metadata=True)
    return {name: frame[name] for name in wanted}


def _check_columns(path: str, names: list[str], wanted: list[str]) -> None:
    for name in wanted:
        if name not in names:
            raise CommandError(
                f"{path!r} has no column {name!r}; its columns are {', '.join(map(repr, names))}."
            )
        if names.count(name) > 1:
            raise CommandError(
                f"{path!r} has {names.count(name)} columns with the name {name!r}: give them "
                "different names."
            )


def _check_line_breaks(pd: Any, path: str, frame: Any, names: list[str], sep: str) -> None:
    """Raise an error if a quotation mark that is not closed may have swallowed rows.

    The rows in between become one value, which then has a line break and at least one separator
    less than there are columns.
    """
    separator = sep if sep == "\\s+" else re.escape(sep)
    for position, column in frame.items():
        if pd.api.types.is_numeric_dtype(column):
            continue
        broken = column.astype(str).str.contains("[\r\n]", na=False)
        for row, value in column[broken.astype(bool)].items():
            if len(re.findall(separator, value)) >= len(names) - 1:
                raise CommandError(
                    f"{_open_quote(path, row + 1)[:-1]}; if the text of column "
                    f"{names[position]!r} does have several lines, leave this column out."
                )


def _open_quote(path: str, row: int) -> str:
    where = f"row {row} below the header" if row else "the header"
    return f"{path!r} has a quotation mark in {where} that is not closed: close or remove it."


def _first_line(error: Exception) -> str:
    """Return the first line of an error message without its final punctuation."""
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".:")


def _is_positive(
    pd: Any, column: Any, name: str, pos_label: str | None, decimal: str
) -> NDArray[np.int64]:
    _check_complete(column, name)
    codes, written = pd.factorize(column.astype(str))
    values = _as_labels(list(written), decimal)
    labels = sorted(set(values), key=lambda label: (isinstance(label, str), label))
    shown = ", ".join(repr(label) if isinstance(label, str) else str(label) for label in labels[:5])
    shown += ", ..." if len(labels) > 5 else ""
    if len(labels) > 2:
        raise CommandError(
            f"the label column {name!r} must have two different labels; it has {len(labels)}: "
            f"{shown}."
        )
    positive = _positive_label(labels, pos_label, decimal)
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
    is_positive = np.array([value == positive for value in values])
    return np.asarray(is_positive[codes], dtype=np.int64)


Label: TypeAlias = Decimal | bool | str


def _as_labels(texts: list[str], decimal: str) -> list[Label]:
    """Return labels as numbers or truth values if all of them are, otherwise as texts."""
    labels = [_as_label(text, decimal) for text in texts]
    return labels if len({type(label) for label in labels}) == 1 else list(texts)


def _as_label(text: str, decimal: str) -> Label:
    """Return a number exactly, so that large whole numbers stay different."""
    if _is_number(text, decimal):
        return _exact(text, decimal)
    return _TRUTHS.get(text.lower(), text)


def _positive_label(labels: list[Label], pos_label: str | None, decimal: str) -> Label | None:
    """Return the label of the positives, or None if it cannot be determined."""
    if pos_label is None:
        known = any(set(labels) <= pair for pair in _KNOWN_LABELS)
        return labels[-1] if known else None
    wanted = (pos_label, _as_label(pos_label, decimal))
    return next((label for label in labels if label in wanted), None)


def _as_scores(column: Any, name: str, last: str, decimal: str) -> NDArray[Any]:
    """Return scores as numbers; the `last` ones are lower or higher than the others."""
    _check_complete(
        column,
        name,
        f"remove these rows, or put these items last by giving them all one score that is {last} "
        "than every other score",
    )
    scores = np.asarray(column)
    if scores.dtype.kind not in "biuf":
        scores = _as_numbers([str(value) for value in scores.tolist()], name, decimal)
    elif scores.dtype.kind in "bf":
        scores = scores.astype(np.float64)
    if scores.dtype.kind == "f" and not np.isfinite(scores).all():
        raise _infinite(name, int(np.argmin(np.isfinite(scores))))
    return scores


def _infinite(name: str, row: int) -> CommandError:
    return CommandError(
        f"the score column {name!r} has an infinite value in row {row + 1} below the header: "
        "scores must be finite."
    )


def _as_numbers(texts: list[str], name: str, decimal: str) -> NDArray[Any]:
    """Return the numbers that the texts are, whole numbers exactly."""
    try:
        scores = np.array(_as_floats(texts, decimal))
    except ValueError:
        if {text.lower() for text in texts} <= set(_TRUTHS):
            return np.array([float(_TRUTHS[text.lower()]) for text in texts])
        row = next(row for row, text in enumerate(texts) if not _is_number(text, decimal))
        if texts[row].lower().lstrip("+-") in ("inf", "infinity"):
            raise _infinite(name, row) from None
        raise CommandError(
            f"the score column {name!r} is not numeric: row {row + 1} below the header has "
            f"{texts[row]!r}.{_hint_on_decimal(texts[row], decimal)}"
        ) from None
    for row in np.flatnonzero(np.abs(scores) < np.finfo(np.float64).tiny).tolist():
        if re.search("[1-9]", re.split("[eE]", texts[row])[0]):
            raise CommandError(
                f"the score column {name!r} has {texts[row]!r} in row {row + 1} below the header, "
                "which is too close to 0 for a floating-point number: give logarithms."
            )
    large = np.flatnonzero((np.abs(scores) >= 2.0**53) & np.isfinite(scores)).tolist()
    exact = {row: _exact(texts[row], decimal) for row in large}
    whole = {row: int(number) for row, number in exact.items() if number == int(number)}
    # Rounding keeps the order, so it matters only if it makes different numbers equal.
    if len({*whole.values()}) == np.unique(scores[list(whole)]).size:
        return scores
    numbers = [whole.get(row, score) for row, score in enumerate(scores.tolist())]
    if all(number == int(number) for number in numbers):
        return as_exact_numbers([int(number) for number in numbers])
    return np.array(numbers, dtype=object)


def _exact(text: str, decimal: str) -> Decimal:
    return Decimal(text.strip().replace(decimal, "."))


def _as_floats(texts: list[str], decimal: str) -> list[float]:
    """Return plain decimal numbers, or raise a ValueError for other texts that Python reads."""
    if not set("".join(texts)) <= {*_IN_NUMBERS, decimal}:
        raise ValueError
    return [float(text.replace(decimal, ".")) for text in texts]


def _is_number(text: str, decimal: str) -> bool:
    try:
        _as_floats([text], decimal)
    except ValueError:
        return False
    return True


def _negative(scores: NDArray[Any]) -> NDArray[Any]:
    """Return the scores with the opposite sign; whole numbers do not overflow."""
    if scores.dtype.kind in "iu":
        return as_exact_numbers([-score for score in scores.tolist()])
    return -scores


def _hint_on_decimal(text: str, decimal: str) -> str:
    """Return a hint if the text looks like a number with another decimal separator."""
    if decimal == "." and re.fullmatch(r"[+-]?\d+,\d+", text.strip()):
        return " If the comma is a decimal separator, add --decimal ','."
    if decimal != "." and _is_number(text, "."):
        return (
            f" The decimal separator is {decimal!r}: remove points between thousands, or leave out "
            "--decimal."
        )
    return ""


def _as_names(column: Any, name: str) -> NDArray[Any]:
    """Return the queries or clusters of the items as they are written in the file."""
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


def write_figures(directory: str, figures: Iterable[tuple[str, Any]]) -> dict[str, str]:
    """Write figures, given with the names of rankings, to files; return the files by name."""
    files: dict[str, str] = {}
    for name, figure in figures:
        path = Path(directory) / f"{_file_stem(name, files.values())}.png"
        files[name] = save_figure(figure, path)
    return files


def _file_stem(name: str, taken: Iterable[str]) -> str:
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


def is_same_file(path: str, source: str) -> bool:
    """Whether a path names the file that is read, possibly by another name or by a redirection."""
    try:
        # A file in memory has no number.
        read = os.fstat(sys.stdin.fileno()) if source == "-" else os.stat(source)
        return os.path.samestat(read, os.stat(path))
    except OSError:
        return False


def write_text(path: str, text: str) -> str:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write {path!r}: {error.strerror or error}.") from error
    return path
