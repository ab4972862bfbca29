"""The one place where matplotlib is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def import_pyplot(what: str) -> Any:
    """Import ``matplotlib.pyplot``, or say in words how to get it.

    Parameters
    ----------
    what : str
        What needs it, for the message.

    Returns
    -------
    module
        ``matplotlib.pyplot``.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise missing_matplotlib(what) from error
    return plt


def new_figure(what: str, figsize: tuple[float, float] = (6.4, 4.8)) -> Any:
    """Make a figure that pyplot does not keep, for writing to a file.

    Parameters
    ----------
    what : str
        What needs it, for the message.
    figsize : tuple of float, default=(6.4, 4.8)
        Width and height in inches.

    Returns
    -------
    matplotlib.figure.Figure
        An empty figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_matplotlib(what) from error
    return Figure(figsize=figsize, layout="constrained")


def missing_matplotlib(what: str) -> ImportError:
    """Error that names what needs matplotlib and the extra that brings it."""
    return ImportError(f'{what} needs matplotlib: pip install "sklearn-rankinf[plot]".')


def merged_style(default: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keywords for an artist, the given ones first, in matplotlib's long names."""
    names = {"c": "color", "ls": "linestyle", "lw": "linewidth"}
    return {**default, **{names.get(key, key): value for key, value in (given or {}).items()}}


def hide_spines(ax: Any) -> None:
    """Leave out the spines at the top and on the right."""
    ax.spines[["top", "right"]].set_visible(False)


def with_minus(text: str) -> str:
    """Text of a number with a minus sign, as matplotlib sets those along an axis."""
    return text.replace("-", "\N{MINUS SIGN}")


def shortened(name: Any, length: int) -> str:
    """A name as text; of one that is too long for its place both ends, which tell it apart."""
    text, n_last = str(name), length // 3
    if len(text) <= length:
        return text
    return f"{text[: length - n_last - 1].rstrip()}…{text[-n_last:].lstrip()}"


def blended(color: Any, share: float) -> Any:
    """A colour mixed with white, of which it has a share."""
    from matplotlib.colors import to_rgb

    return tuple(1.0 - share * (1.0 - part) for part in to_rgb(color))


def side_by_side(handles: list[Any]) -> tuple[Any, dict[Any, Any]]:
    """Several artists as one entry of a legend, and what its `handler_map` needs for that."""
    from matplotlib.legend_handler import HandlerTuple

    return tuple(handles), {tuple: HandlerTuple(ndivide=None, pad=0.15)}


def legend_place(ax: Any) -> dict[str, Any]:
    """Keywords that put a legend beside the axes, if the layout of the figure makes room for it."""
    if ax.figure.get_layout_engine() is None:
        return {"loc": "best"}
    return {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
