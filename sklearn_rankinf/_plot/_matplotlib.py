"""Imports of matplotlib, and helpers for plots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def import_pyplot(what: str) -> Any:
    """Import ``matplotlib.pyplot``, or raise an error that explains how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise missing_matplotlib(what) from error
    return plt


def new_figure(what: str, figsize: tuple[float, float] = (6.4, 4.8)) -> Any:
    """Create a figure outside of pyplot's registry, for writing to a file."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_matplotlib(what) from error
    return Figure(figsize=figsize, layout="constrained")


def missing_matplotlib(what: str) -> ImportError:
    """Error that names the function that needs matplotlib, and the extra that installs it."""
    return ImportError(f'{what} needs matplotlib: pip install "sklearn-rankinf[plot]".')


def merged_style(default: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keywords for an artist under matplotlib's long names; given keywords override defaults."""
    names = {"c": "color", "ls": "linestyle", "lw": "linewidth"}
    return {**default, **{names.get(key, key): value for key, value in (given or {}).items()}}


def hide_spines(ax: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)


def with_minus(text: str) -> str:
    """Text of a number with a minus sign, as in matplotlib's tick labels."""
    return text.replace("-", "\N{MINUS SIGN}")


def blended(color: Any, share: float) -> Any:
    """A colour mixed with white; `share` is the fraction of the colour."""
    from matplotlib.colors import to_rgb

    return tuple(1.0 - share * (1.0 - part) for part in to_rgb(color))


def side_by_side(handles: list[Any]) -> tuple[Any, dict[Any, Any]]:
    """Several artists as one legend entry, and the `handler_map` that the entry requires."""
    from matplotlib.legend_handler import HandlerTuple

    return tuple(handles), {tuple: HandlerTuple(ndivide=None, pad=0.15)}


def legend_place(ax: Any) -> dict[str, Any]:
    """Keywords that place a legend beside the axes, if the figure's layout makes room for it."""
    if ax.figure.get_layout_engine() is None:
        return {"loc": "best"}
    return {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
