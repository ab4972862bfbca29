"""The base of results, and numbers and p-values as they are stated."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import Any, NamedTuple

import numpy as np

from sklearn_rankinf._statistics import cached_property, is_smallest

# Numbers of values of an array, of lines and of rows that a short description shows.
_N_SHOWN, _ROWS_SHOWN = 5, 20
# Fields that compute, and are no data.
_OBJECTS = ("null_distribution", "ranking", "curve")
# Words of titles that differ from those of the names of fields.
_WORDS = {"pvalue": "p-value", "zscore": "z-score", "auc": "AUC", "n": "number of"}
# Equations such as "p = 0.01", and numbers with an exponent.
_UNBROKEN = re.compile(r"\b[pzk] [=≤] -?\d+(\.\d+)?(e-?\d+)?\b|\b\d+(\.\d+)?e-\d+\b")


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Base class of results.

    A result is a frozen dataclass that declares its fields and the sentences of its summary.
    Everything else follows from the fields: a field is written with four digits under its name in
    words, and fields with ``repr=False`` are left out of the short description. Public properties
    are computed fields. Fields whose names start with an underscore are not shown.
    """

    def _sentences(self) -> Iterable[str]:
        """Return the sentences of the summary, one for each line."""
        raise NotImplementedError

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the columns of the table: one row with all single values."""
        values = self._values().items()
        return {name: [value] for name, value in values if not isinstance(value, list | dict)}

    def _values(self) -> dict[str, Any]:
        """Return all fields and properties by name, as plain numbers, words and lists."""
        names = [field.name for field in fields(self)]
        for kind in reversed(type(self).__mro__):
            members = vars(kind).items()
            names += [name for name, of in members if isinstance(of, property | cached_property)]
        shown = [name for name in dict.fromkeys(names) if not name.startswith("_")]
        return {name: plain_value(getattr(self, name)) for name in shown if name not in _OBJECTS}

    def __repr__(self) -> str:
        shown = [field.name for field in fields(self) if field.repr and field.name[0] != "_"]
        values = ((name, getattr(self, name)) for name in shown)
        given = ((name, of) for name, of in values if of is not None and of is not False)
        parts = [f"{name}={self._text(name, of)}" for name, of in given]
        return f"{type(self).__name__}({', '.join(parts)})"

    def _text(self, name: str, value: Any) -> str:
        """Return a field as text; a p-value that is too small for a float from its logarithm."""
        log10_value = getattr(self, f"log10_{name}", None)
        is_tiny = log10_value is not None and np.ndim(value) == 0 and value == 0.0
        return format_pvalue(log10_value) if is_tiny and log10_value is not None else text_of(value)

    def _repr_html_(self) -> str:
        return _as_html(self._columns(), self.summary())

    def summary(self) -> str:
        """Return sentences that are suitable for a paper.

        Returns
        -------
        str
            The sentences, in one or several lines.
        """
        return "\n".join(self._sentences())

    def to_dict(self) -> dict[str, Any]:
        """Return all fields in a form that can be written as JSON.

        Returns
        -------
        dict
            Numbers, words and lists by the names of the attributes, without null distributions,
            rankings and curves. Numbers that are not finite, which JSON lacks, are None.
        """
        plain: dict[str, Any] = without_nan(self._values())
        return plain

    def to_frame(self) -> Any:
        """Return the result as a table.

        Returns
        -------
        pandas.DataFrame
            One row, or one row for each of the things that are tested or compared.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return as_frame(self._columns())


class ConfidenceInterval(NamedTuple):
    """Limits of an interval, which is asked for with a `confidence_level`.

    Attributes
    ----------
    low, high : float or ndarray
        The limits; nan if there is no interval.
    """

    low: Any
    high: Any


def plain_value(value: Any) -> Any:
    """Return a value as numbers, words, lists and dicts of Python; other objects as text."""
    if isinstance(value, Result):
        return value._values()
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): plain_value(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(part) for part in value]
    return value if value is None or isinstance(value, int | float | str) else str(value)


def without_nan(value: Any) -> Any:
    """Replace numbers that JSON lacks, which are not finite, by None."""
    if isinstance(value, dict):
        return {key: without_nan(part) for key, part in value.items()}
    if isinstance(value, list):
        return [without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def one_below_another(results: Iterable[Result]) -> dict[str, list[Any]]:
    """Return the columns of several results of one class as columns with one row for each."""
    rows = [result._columns() for result in results]
    return {name: [value for row in rows for value in row[name]] for name in rows[0]}


def format_pvalue(log10_pvalue: float) -> str:
    """Format a p-value from its logarithm, so that tiny p-values are not shown as zero.

    Values of at least 0.001 have four decimals, smaller ones a mantissa and an exponent.
    """
    if log10_pvalue == -math.inf:
        return "0"  # only for approximations: no exact p-value of a ranking is 0
    if log10_pvalue >= -3.0:
        return f"{10.0**log10_pvalue:.4f}"
    exponent = math.floor(log10_pvalue)
    mantissa = round(10.0 ** (log10_pvalue - exponent), 1)
    if mantissa >= 10.0:
        mantissa, exponent = 1.0, exponent + 1
    return f"{mantissa:.1f}e{exponent:03d}"


def state_pvalue(log10_pvalue: float, is_bound: bool = False, is_guaranteed: bool = False) -> str:
    """State a p-value in a sentence: after "p = ", or after "p ≤ " for an upper bound.

    A bound is the smallest possible p-value for its number of random permutations, or guaranteed by
    the exact null distribution.
    """
    certainty = ", a guaranteed bound" if is_bound and is_guaranteed else ""
    return f"p {'≤' if is_bound else '='} {format_pvalue(log10_pvalue)}{certainty}"


def format_value(value: float) -> str:
    """Format a value with three significant digits, or as a whole number from a thousand on."""
    return f"{value:.0f}" if 999.5 <= abs(value) < 1e6 else f"{value:.3g}"


def state_drawn_pvalue(pvalue: float, n_drawn: int) -> str:
    """State a p-value (b + 1) / (B + 1) of B random draws, which is a bound if b is 0."""
    return state_pvalue(math.log10(pvalue), is_smallest(pvalue, n_drawn))


def state_interval(low: float, high: float, confidence_level: float) -> str:
    """State a confidence interval in a sentence."""
    limits = f"{format_value(low)} to {format_value(high)}"
    return f"{100 * confidence_level:g} % confidence interval {limits}"


def format_count(count: float) -> str:
    """Format a number of hits: without decimals if it is whole, as it may not be with ties."""
    return str(round(count)) if abs(count - round(count)) < 1e-9 else f"{count:.2f}"


def format_table(headings: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> str:
    """Return cells as an aligned table: two lines of heading, a rule, and one line per row.

    The first column is left-aligned, the others right-aligned.
    """
    columns = [
        [*heads, *cells] for heads, cells in zip(headings, zip(*rows, strict=True), strict=True)
    ]
    widths = [max(map(len, column)) for column in columns]
    lines = [
        "  ".join(
            text.rjust(width) if position else text.ljust(width)
            for position, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in zip(*columns, strict=True)
    ]
    lines.insert(2, "-" * max(map(len, lines)))
    return "\n".join(lines)


def as_frame(columns: Mapping[str, Any]) -> Any:
    """Return columns as a pandas DataFrame; the first column may contain any objects."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            'to_frame needs pandas: pip install "sklearn-rankinf[report]", or use to_dict.'
        ) from error
    # A tuple is one name, not a row of columns.
    first = next(iter(columns))
    names = np.empty(len(columns[first]), dtype=object)
    names[:] = columns[first]
    return pd.DataFrame({**columns, first: pd.Series(names).infer_objects()})


def _as_html(columns: Mapping[str, Sequence[Any]], sentences: str) -> str:
    """Return columns as an HTML table for a notebook, below the first few lines of a text.

    The table scrolls if it is wide, and of many rows it shows some. Numbers are not broken.
    """
    lines = sentences.splitlines()
    if len(lines) > _N_SHOWN:
        lines = [*lines[:_N_SHOWN], "..."]
    given = {name: values for name, values in columns.items() if any(v is not None for v in values)}
    n_rows = max(map(len, given.values()))
    kept = np.unique(np.linspace(0, n_rows - 1, _ROWS_SHOWN).astype(np.int64)).tolist()
    if len(kept) < n_rows:
        lines.append(f"{len(kept)} of {n_rows} rows; to_frame returns all.")
    # Style sheets of notebooks break cells, unless the cells themselves have a style.
    style = ' style="white-space: nowrap"'
    heads = "".join(f"<th>{escape(title_of(name))}</th>" for name in given)
    body = "".join(
        "<tr>"
        + "".join(f"<td{style}>{escape(_cell(values[row]))}</td>" for values in given.values())
        + "</tr>"
        for row in kept
    )
    return (
        "".join(f"<p>{unbroken(escape(line))}</p>" for line in lines)
        + '<div style="overflow-x: auto">'
        + f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def title_of(name: str) -> str:
    """Return the name of a field in words."""
    return " ".join(_WORDS.get(word, word) for word in name.split("_"))


def unbroken(html: str) -> str:
    """Mark equations and small numbers in HTML text, so that they are not broken across lines."""
    return _UNBROKEN.sub(r'<span style="white-space: nowrap">\g<0></span>', html)


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def text_of(value: Any) -> str:
    """Format a value with four digits, or the first few values of an array or list."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list):
        parts = [text_of(part) for part in value[:_N_SHOWN]]
        return f"[{', '.join(parts)}{', ...' if len(value) > _N_SHOWN else ''}]"
    if isinstance(value, float):
        return f"{value:.4g}"
    return repr(value) if isinstance(value, str | tuple) else str(value)


def shortened(name: Any, length: int) -> str:
    """A name as text; the middle of a name that is too long is replaced by an ellipsis."""
    text, n_last = str(name), length // 3
    if len(text) <= length:
        return text
    return f"{text[: length - n_last - 1].rstrip()}…{text[-n_last:].lstrip()}"


def counted(number: int, what: str) -> str:
    """Return a number with its noun in the singular or plural."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def enumerated(parts: Iterable[str], word: str = "and") -> str:
    """Return the parts of a list in a sentence, such as "a, b and c"."""
    *first, last = parts
    return f"{', '.join(first)} {word} {last}" if first else last
