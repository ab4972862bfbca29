"""Numbers and tables as text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from numbers import Real
from typing import Any

import numpy as np

# Number of values of an array that a short description shows.
_N_SHOWN = 5
# Equations such as "p = 0.01", and numbers with an exponent.
_UNBROKEN = re.compile(r"\b[pzk] [=≤] -?\d+(\.\d+)?(e-?\d+)?\b|\b\d+(\.\d+)?e-\d+\b")


def format_pvalue(log10_pvalue: float) -> str:
    """Format a p-value from its logarithm, so that tiny p-values are not shown as zero.

    Parameters
    ----------
    log10_pvalue : float
        Logarithm to base 10 of the p-value.

    Returns
    -------
    str
        Four decimals for values of at least 0.001, otherwise mantissa and exponent.

    Examples
    --------
    >>> from sklearn_rankinf._formatting import format_pvalue
    >>> format_pvalue(-0.5), format_pvalue(-400.25)
    ('0.3162', '5.6e-401')
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
    """State a p-value in a sentence, such as "p = 0.0123".

    Parameters
    ----------
    log10_pvalue : float
        Logarithm to base 10 of the p-value.
    is_bound : bool, default=False
        Whether the p-value is an upper bound: the smallest possible one for its number of random
        permutations, so that the p-value based on all permutations may be smaller, or a guaranteed
        bound.
    is_guaranteed : bool, default=False
        Whether a bound is guaranteed by the exact null distribution.

    Returns
    -------
    str
        The p-value after "p = ", or after "p ≤ " for a bound.

    Examples
    --------
    >>> from sklearn_rankinf._formatting import state_pvalue
    >>> state_pvalue(-4.0), state_pvalue(-4.0, is_bound=True)
    ('p = 1.0e-04', 'p ≤ 1.0e-04')
    >>> state_pvalue(-36.5, is_bound=True, is_guaranteed=True)
    'p ≤ 3.2e-37, a guaranteed bound'
    """
    certainty = ", a guaranteed bound" if is_bound and is_guaranteed else ""
    return f"p {'≤' if is_bound else '='} {format_pvalue(log10_pvalue)}{certainty}"


def format_value(value: float) -> str:
    """Format a value with three significant digits."""
    return f"{value:.3g}"


def format_count(count: float) -> str:
    """Format a number of hits, without decimals if it is whole.

    Parameters
    ----------
    count : float
        A number of hits, which may be a fraction with ties.

    Returns
    -------
    str
        The count.
    """
    return str(round(count)) if abs(count - round(count)) < 1e-9 else f"{count:.2f}"


def format_table(headings: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> str:
    """Return cells as an aligned table.

    Parameters
    ----------
    headings : sequence of (str, str)
        Two lines of heading for each column.
    rows : sequence of sequence of str
        The cells, row by row.

    Returns
    -------
    str
        Two heading lines, a rule, and one line per row. The first column is left-aligned, the
        others right-aligned.
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


def as_frame(columns: Mapping[str, Any], name: str) -> Any:
    """Return columns as a pandas DataFrame; the column of names may contain any objects.

    Parameters
    ----------
    columns : mapping of str to array-like
        The columns.
    name : str
        The column of names, which may be tuples.

    Returns
    -------
    pandas.DataFrame
        The table.

    Raises
    ------
    ImportError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            'to_frame needs pandas: pip install "sklearn-rankinf[report]", or use to_dict.'
        ) from error
    # A tuple is one name, not a row of columns.
    names = np.empty(len(columns[name]), dtype=object)
    names[:] = columns[name]
    return pd.DataFrame({**columns, name: pd.Series(names).infer_objects()})


def as_html(columns: Mapping[str, Sequence[Any]], sentences: str = "") -> str:
    """Return columns as an HTML table for a notebook.

    Parameters
    ----------
    columns : mapping of str to sequence
        The columns, by name.
    sentences : str, optional
        Lines of text above the table. Only the first few lines are shown.

    Returns
    -------
    str
        The table, which scrolls if it is wide. Numbers are not broken across lines.
    """
    lines = sentences.splitlines()
    if len(lines) > _N_SHOWN:
        lines = [*lines[:_N_SHOWN], "..."]
    # Style sheets of notebooks break cells, unless the cells themselves have a style.
    style = ' style="white-space: nowrap"'
    heads = "".join(f"<th>{escape(name)}</th>" for name in columns)
    rows = zip(*columns.values(), strict=True)
    body = "".join(
        "<tr>" + "".join(f"<td{style}>{escape(_cell(value))}</td>" for value in row) + "</tr>"
        for row in rows
    )
    return (
        "".join(f"<p>{unbroken(escape(line))}</p>" for line in lines)
        + '<div style="overflow-x: auto">'
        + f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def unbroken(html: str) -> str:
    """Mark equations and small numbers in HTML text, so that they are not broken across lines."""
    return _UNBROKEN.sub(r'<span style="white-space: nowrap">\g<0></span>', html)


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def shown(values: Any, n_digits: int = 12) -> str:
    """Format a number, or the first few values of an array or list."""
    if not isinstance(values, list) and np.ndim(values) == 0:
        return f"{values:.{n_digits}g}"
    flat = values if isinstance(values, list) else np.ravel(values).tolist()
    parts = [f"{v:.{n_digits}g}" if isinstance(v, Real) else repr(v) for v in flat[:_N_SHOWN]]
    return f"[{', '.join(parts)}{', ...' if len(flat) > _N_SHOWN else ''}]"


def shortened(name: Any, length: int) -> str:
    """A name as text; the middle of a name that is too long is replaced by an ellipsis."""
    text, n_last = str(name), length // 3
    if len(text) <= length:
        return text
    return f"{text[: length - n_last - 1].rstrip()}…{text[-n_last:].lstrip()}"
