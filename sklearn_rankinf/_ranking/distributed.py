"""Blocks of equal scores in dask collections, counted chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_rankinf._ranking.validation import (
    PosLabel,
    as_labels,
    as_scores,
    check_lengths,
    check_pos_label,
    check_two_labels,
    joined,
    mark_positives,
    not_one_dimensional,
    rank_order,
)

try:
    import dask
    import dask.array as da
    from dask.delayed import Delayed, delayed
    from dask.utils import is_series_like
except ImportError as error:
    raise ImportError(
        'Ranking.from_dask needs dask: pip install "sklearn-rankinf[distributed]".'
    ) from error


@dataclass(frozen=True, eq=False)
class _Counts:
    """Counts of one or several chunks, with at most two distinct labels.

    `scores` are the distinct scores, or those of the positives, best first; `sizes` and `hits`
    count the items (or only the positives) and the positives with each of them.
    """

    labels: list[Any]
    n_samples: int
    scores: NDArray[Any]
    sizes: NDArray[np.int64]
    hits: NDArray[np.int64]


def count_blocks(
    y_true: Any, y_score: Any, pos_label: PosLabel, counts: Any, max_distinct: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """Count the items and positives in each block of equal scores, best first.

    The third returned value is True if all blocks have equal scores, and False if some are runs of
    negatives with different scores.
    """
    check_pos_label(pos_label)
    if not isinstance(counts, str) or counts not in ("all", "positives"):
        raise ValueError(f"counts must be 'all' or 'positives'; got {counts!r}.")
    chunks = _chunks(_as_collection(y_true, "y_true"), _as_collection(y_score, "y_score"))
    options = pos_label, counts, max_distinct
    parts = [delayed(_count_chunk)(number, *pair, *options) for number, pair in enumerate(chunks)]
    found = _computed(parts, lambda one, other: delayed(_merged)(one, other, *options))
    if found.n_samples == 0:
        raise ValueError("y_true is empty: at least one item is needed.")
    if counts == "all":
        return found.sizes, found.hits, True
    return _blocks_around_positives([scores for _, scores in chunks], found)


def _as_collection(values: Any, name: str) -> Any:
    """Check that data are a vector of dask."""
    is_series = dask.is_dask_collection(values) and is_series_like(values)
    if not isinstance(values, da.Array) and not is_series:
        raise TypeError(
            f"{name} must be a dask array or a dask series; got an object of type "
            f"{type(values).__name__}: use a column of a dask frame, or pass data in memory to "
            "Ranking.from_scores."
        )
    if values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    if values.ndim != 1:
        raise ValueError(not_one_dimensional(values, values, name))
    return values


def _chunks(y_true: Any, y_score: Any) -> list[tuple[Delayed, Delayed]]:
    """Pair the chunks of labels with those of scores."""
    if all(isinstance(y, da.Array) and not np.isnan(y.size) for y in (y_true, y_score)):
        check_lengths(y_true.size, y_score.size)
        y_true = y_true.rechunk(y_score.chunks)
    if y_true.npartitions != y_score.npartitions:
        raise ValueError(
            "y_true and y_score of unknown chunk sizes must have the same number of chunks; got "
            f"{y_true.npartitions} and {y_score.npartitions}: use columns of one frame, or call "
            "compute_chunk_sizes() on arrays."
        )
    return list(zip(_delayed_chunks(y_true), _delayed_chunks(y_score), strict=True))


def _delayed_chunks(values: Any) -> list[Delayed]:
    """Return the chunks one by one, with the names of their tasks.

    Fused tasks would have different names for labels and scores, and their common inputs would be
    computed twice. Frames are still optimised to read only the required columns.
    """
    if not isinstance(values, da.Array):
        values = values.optimize(fuse=False)
    return list(values.to_delayed(optimize_graph=False))


def _computed(parts: list[Delayed], combine: Callable[[Delayed, Delayed], Delayed]) -> Any:
    """Combine neighbouring parts until one is left, to keep few parts in memory, and compute it."""
    while len(parts) > 1:
        pairs = [combine(*parts[i : i + 2]) for i in range(0, len(parts) - 1, 2)]
        parts = pairs + parts[2 * len(pairs) :]
    return parts[0].compute()


def _count_chunk(
    number: int, y_true: Any, y_score: Any, pos_label: PosLabel, counts: str, max_distinct: int
) -> _Counts:
    """Count the distinct scores of one chunk, or those of its positives."""
    nothing = np.empty(0, dtype=np.int64)
    try:
        check_lengths(len(y_true), len(y_score))
        if len(y_true) == 0:
            return _Counts([], 0, nothing, nothing, nothing)
        scores = as_scores(y_score)
        positive, labels = mark_positives(as_labels(y_true), pos_label)
    except (TypeError, ValueError) as error:
        raise type(error)(f"In chunk {number}: {error}") from error
    own, found = np.unique(scores[positive], return_counts=True)
    if counts == "all":
        distinct, sizes = np.unique(scores, return_counts=True)
        hits = np.zeros_like(sizes)
        hits[np.searchsorted(distinct, own)] = found
    else:
        distinct, sizes, hits = own, found, found
    _check_distinct(len(distinct), counts, max_distinct)
    return _Counts(labels, len(scores), distinct[::-1], sizes[::-1], hits[::-1])


def _merged(
    one: _Counts, other: _Counts, pos_label: PosLabel, counts: str, max_distinct: int
) -> _Counts:
    """Add up the counts of equal scores of two parts."""
    labels = _united(one.labels, other.labels)
    check_two_labels(labels, pos_label)
    n_samples = one.n_samples + other.n_samples
    if min(len(one.scores), len(other.scores)) == 0:
        part = one if len(one.scores) else other
        return _Counts(labels, n_samples, part.scores, part.sizes, part.hits)
    scores = joined([one.scores, other.scores])
    sizes, hits = (
        np.concatenate([getattr(part, name) for part in (one, other)]) for name in ("sizes", "hits")
    )
    order, n_equal = rank_order(scores)
    _check_distinct(len(n_equal), counts, max_distinct)
    starts = np.cumsum(n_equal) - n_equal
    return _Counts(
        labels,
        n_samples,
        scores[order[starts]],
        np.add.reduceat(sizes[order], starts),
        np.add.reduceat(hits[order], starts),
    )


def _united(one: list[Any], other: list[Any]) -> list[Any]:
    """Distinct labels of two parts, in order."""
    labels = [*one, *other]
    if len({isinstance(label, str) for label in labels}) > 1:
        raise ValueError(
            "y_true must hold labels of one kind, numbers, booleans or strings; got "
            f"{one[0]!r} and {other[0]!r} in different chunks."
        )
    return sorted(set(labels))


def _check_distinct(n_distinct: int, counts: str, max_distinct: int) -> None:
    if n_distinct <= max_distinct:
        return
    whose, remedy = ("of positives ", "")
    if counts == "all":
        whose, remedy = "", "use counts='positives', which keeps only the scores of positives, "
    raise ValueError(
        f"y_score has more distinct values {whose}than max_distinct={max_distinct}; {n_distinct} "
        f"were found so far: {remedy}round the scores to fewer digits, which makes more ties, "
        "or increase max_distinct."
    )


def _blocks_around_positives(
    chunks: list[Delayed], found: _Counts
) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """Count the items with each score of a positive, and those between two such scores."""
    scores = delayed(found.scores[::-1])
    parts = [delayed(_sizes_around)(chunk, scores) for chunk in chunks]
    sizes = _computed(parts, delayed(np.add))[::-1]
    hits = np.zeros_like(sizes)
    hits[1::2] = found.hits
    if sizes.sum() != found.n_samples or np.any(sizes < hits):
        raise ValueError(
            "y_score had different values when it was read for the second time: make it "
            "reproducible, for instance by a seed, or keep it in memory with persist()."
        )
    has_all_ties = bool(np.all(sizes[::2] <= 1))
    return sizes[sizes > 0], hits[sizes > 0], has_all_ties


def _sizes_around(y_score: Any, scores: NDArray[Any]) -> NDArray[np.int64]:
    """Count the items of a chunk below, at and above each of some scores, lowest first."""
    if len(y_score) == 0:
        return np.zeros(2 * len(scores) + 1, dtype=np.int64)
    own = as_scores(y_score)
    if own.dtype != scores.dtype:
        both = joined([own, scores])  # a common type without rounding
        own, scores = both[: own.size], both[own.size :]
    ordered = np.sort(own)
    ends = np.empty(2 * len(scores) + 1, dtype=np.int64)
    ends[:-1:2] = np.searchsorted(ordered, scores, side="left")
    ends[1::2] = np.searchsorted(ordered, scores, side="right")
    ends[-1] = len(ordered)
    return np.diff(ends, prepend=0)
