"""Rankings that are drawn, and what is read from pictures."""

import numpy as np

STRUCTURES = ("no ties", "large blocks", "constant", "one positive", "nearly all positives")


def labels_of(structure):
    """Labels of a kind."""
    y_true = np.arange(60) % 6 == 0
    if structure == "one positive":
        return np.arange(60) == 7
    if structure == "nearly all positives":
        return np.arange(60) > 1
    return np.ones(60, dtype=bool) if structure == "only positives" else y_true


def legend_of(display):
    """Entries of the legend of a display, or of axes."""
    ax = getattr(display, "ax_", display)
    return [text.get_text() for text in ax.get_legend().get_texts()]


def ticks_of(axis):
    """Labels of an axis."""
    return [tick.get_text() for tick in axis.get_ticklabels()]


def position(line):
    """First x of a line."""
    return float(line.get_xdata()[0])
