"""The one place where matplotlib is imported."""

from __future__ import annotations

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
