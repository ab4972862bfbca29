"""Curves of rankings that correspond to a metric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_rankinf._ranking import Ranking
from sklearn_rankinf._statistics import Floats, Integers, Metric

Curve = tuple[Floats, Floats]
# Number of ranks of a curve on a logarithmic scale, in addition to its corners.
_N_RANKS = 400


@dataclass(frozen=True)
class CurveKind:
    """A kind of curve, the labels of its axes, and the style that connects its points."""

    name: str
    xlabel: str
    ylabel: str
    drawstyle: str = "default"

    def points(self, ranking: Ranking) -> Curve:
        """Points of the curve for a ranking."""
        ends = np.cumsum(ranking.tie_sizes)
        hits = np.cumsum(ranking.hits)
        if self.name == "precision_recall":
            return _precision_recall(ends, hits)
        x = ends - hits if self.name == "roc" else ends
        y = hits / max(int(hits[-1]), 1)
        corners = _corners(x, hits)
        x, y = np.r_[0, x[corners]], np.r_[0.0, y[corners]]
        return (x / max(int(x[-1]), 1) if self.name == "roc" else x.astype(float)), y

    def on_scale(self, curve: Curve, xscale: str) -> Curve:
        """Return the curve with enough points for the scale of its ranks."""
        return _on_log_scale(*curve) if self.name == "hits" and xscale == "log" else curve

    def chance(self, n_samples: int, n_positives: int) -> Curve:
        """Points of the curve for a random order."""
        if self.name == "precision_recall":
            return np.array([0.0, 1.0]), np.full(2, n_positives / n_samples)
        last = 1.0 if self.name == "roc" else float(n_samples)
        return np.array([0.0, last]), np.array([0.0, 1.0])


_CURVES = {
    "average_precision": CurveKind("precision_recall", "Recall", "Precision", "steps-post"),
    "roc_auc": CurveKind("roc", "False positive rate", "True positive rate"),
}
_HITS = CurveKind("hits", "Rank", "Recall")


def curve_kind(metric: Metric) -> CurveKind:
    """Return the curve that belongs to a metric; by default hits against rank."""
    return _CURVES.get(metric.family, _HITS)


def _on_log_scale(x: Floats, y: Floats) -> Curve:
    """Add ranks to a curve, so that its straight parts are drawn curved on a logarithmic scale."""
    last = max(float(np.max(x)), 1.0)
    ranks = np.unique(np.r_[x, np.geomspace(1.0, last, _N_RANKS)])
    ranks = ranks[(ranks >= 1.0) & (ranks <= last)]
    return ranks, np.interp(ranks, x, y)


def _precision_recall(ends: Integers, hits: Integers) -> Curve:
    """Precision against recall, from the last rank to the first, at the changes of recall."""
    recall, precision = hits / max(int(hits[-1]), 1), hits / ends
    before = np.diff(hits, prepend=0) > 0
    after = np.diff(hits, append=hits[-1]) > 0
    corners = np.flatnonzero(before | after)[::-1]
    return np.r_[recall[corners], 0.0], np.r_[precision[corners], 1.0]


def _corners(x: Integers, y: Integers) -> Integers:
    """Indices of the points that are not on the line through their neighbours."""
    if x.size < 3:
        return np.arange(x.size)
    dx, dy = np.diff(x, prepend=0), np.diff(y, prepend=0)
    bends = dx[1:] * dy[:-1] != dx[:-1] * dy[1:]
    return np.flatnonzero(np.r_[bends, True])
