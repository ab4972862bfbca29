"""Files of the command line: tables that are read, and pictures that are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_KNOWN_LABELS = ({0, 1}, {-1, 1})


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
        Scores by the name of their column.
    """

    is_positive: NDArray[np.int64]
    scores: dict[str, NDArray[np.float64]]


def read_table(
    path: str, label: str, score_columns: Sequence[str], pos_label: str | None = None
) -> Table:
    """Read labels and scores from a file of comma-separated values.

    Parameters
    ----------
    path : str
        The file; its first line names the columns.
    label : str
        Column of the labels.
    score_columns : sequence of str
        Columns of the scores, larger for likelier positives.
    pos_label : str, optional
        The label of the positives as it is written in the file. Labels 0 and 1, -1 and 1, and
        False and True do not need it.

    Returns
    -------
    Table
        Labels and scores.

    Raises
    ------
    ImportError
        If pandas is not installed.
    CommandError
        If the file cannot be read, lacks a column, or holds what are no labels or no scores.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            'reading a file needs pandas: pip install "sklearn-rankinf[report]".'
        ) from error
    try:
        # In one piece: a column read in parts may hold a number in one and its text in another.
        frame = pd.read_csv(path, low_memory=False)
    except OSError as error:
        raise CommandError(f"cannot read {path!r}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path!r} is not text in UTF-8: save it in that encoding.") from error
    except ValueError as error:  # what pandas raises for what is no table, or no text
        raise CommandError(
            f"{path!r} is not a table of comma-separated values: {_first_line(error)}."
        ) from error
    except Exception as error:  # each kind of archive has errors of its own
        raise CommandError(f"cannot unpack {path!r}: {_first_line(error)}.") from error
    columns = [str(column) for column in frame.columns]
    for name in (label, *score_columns):
        if name not in columns:
            raise CommandError(
                f"{path!r} has no column {name!r}; its columns are {', '.join(map(repr, columns))}."
            )
    if label in score_columns:
        raise CommandError(f"the label column {label!r} cannot be a score as well.")
    if frame.empty:
        raise CommandError(f"{path!r} has no rows.")
    return Table(
        _is_positive(frame[label], label, pos_label),
        {name: _as_scores(pd, frame[name], name) for name in score_columns},
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
            f"{row + 1}."
        )
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores))) + 1
        raise CommandError(f"the score column {name!r} has an infinite value in row {row}.")
    return scores


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
