"""Validation of labels, scores, weights and counts, with one error message for each."""

from __future__ import annotations

import math
import warnings
from array import array
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from inspect import currentframe
from itertools import chain
from numbers import Rational, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

PosLabel: TypeAlias = float | str | bool
"""Type of a positive label: a number, a string or a boolean."""

# Numbers of labels and of characters of a value that a message repeats.
_N_SHOWN, _N_CHARACTERS = 5, 200
_NUMBERS = (Real, Decimal, np.bool_)
# Floating-point numbers hold all integers up to this one.
LARGEST_WHOLE = 2.0**53
# Counts are 64-bit integers in arrays.
LARGEST_COUNT = 2**62
# Entries of an array that are Python objects at a time.
_LISTED_AT_ONCE = 100_000
# Kinds of devices in DLPack whose memory the CPU reads: its own, and memory of it that is pinned.
_CPU_DEVICES = (1, 3)


def as_numpy(values: Any, name: str) -> Any:
    """Convert a tensor, or an array of another library, to an array of NumPy.

    Anything else is returned as it is. An array on another device than the CPU is refused, because
    to copy it there is for the caller to decide.
    """
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack_device__"):
        return values
    kind = type(values).__name__
    try:
        device, _ = values.__dlpack_device__()
        if device in _CPU_DEVICES:
            # The gradient of a score plays no part in its rank.
            held = values.detach() if getattr(values, "requires_grad", False) else values
            return np.asarray(held) if hasattr(held, "__array__") else np.from_dlpack(held)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(
            f"{name} of type {kind} cannot be read as an array of NumPy ({error}): convert it to "
            f"one, as {name}.cpu().float().numpy() does for a tensor."
        ) from error
    raise TypeError(
        f"{name} of type {kind} is on the device {getattr(values, 'device', device)}, but is read "
        f"on the CPU: copy it there, as {name}.cpu() does for a tensor."
    )


def as_binary(
    y_true: ArrayLike,
    y_score: ArrayLike,
    pos_label: PosLabel,
    name: str = "y_score",
    takes_unretrieved: bool = False,
) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Mark the positives of binary labels and read their scores."""
    _refuse_list_of_tables(y_score)
    labels, scores = as_labels(y_true), as_scores(y_score, name, takes_unretrieved)
    check_lengths(len(labels), len(scores), name)
    positive, _ = mark_positives(labels, pos_label)
    return positive, scores


def _refuse_list_of_tables(y_score: Any) -> None:
    """Raise an error for the list of tables that predict_proba of several outputs returns."""
    if isinstance(y_score, list | tuple) and y_score and getattr(y_score[0], "ndim", 0) == 2:
        raise ValueError(
            f"y_score is a list of {len(y_score)} tables, as predict_proba of a multi-output "
            "classifier returns: test one output, with y_true[:, 0] and y_score[0][:, 1], or test "
            "all outputs with np.column_stack([table[:, 1] for table in y_score])."
        )


def as_labels(y_true: Any, name: str = "y_true") -> NDArray[Any]:
    """Read labels as an array of numbers, booleans or strings without missing values."""
    if isinstance(y_true, (list, tuple)) and any(isinstance(value, str) for value in y_true):
        # NumPy would turn a missing label or a number among strings into a string.
        container = np.empty(len(y_true), dtype=object)
        container[:] = y_true
        y_true = container
    labels = _as_vector(y_true, name)
    if labels.dtype == object:
        labels = _labels_from_objects(labels, name)
    if labels.dtype.kind not in "biufUO":
        raise TypeError(
            f"{name} must hold numbers, booleans or strings; got values of type "
            f"{labels.dtype}, such as {shown(labels[:1].tolist()[0])}."
        )
    if labels.dtype.kind == "f":
        _check_float_labels(labels, name)
    return labels


def _labels_from_objects(labels: NDArray[Any], name: str) -> NDArray[Any]:
    """Check that generic Python objects are labels of one kind."""
    kind: type | tuple[type, ...] = str if isinstance(labels[0], str) else _NUMBERS
    wrong = lacks_type(labels, kind)
    if wrong.any():
        raise ValueError(
            f"{name} must hold labels of one kind, numbers, booleans or strings, "
            f"without missing values; got {first_wrong(labels, wrong)}."
        )
    if kind is str:
        return labels
    _check_finite_labels(labels, name)
    numbers = as_exact_numbers(labels.tolist())
    if numbers.dtype == object:
        fractional = np.fromiter((value != int(value) for value in numbers), bool, len(numbers))
        _check_whole_labels(numbers, fractional, name)
    return numbers


def _check_float_labels(labels: NDArray[Any], name: str) -> None:
    _check_finite_labels(labels, name)
    _check_whole_labels(labels, labels != np.trunc(labels), name)


def _check_finite_labels(labels: NDArray[Any], name: str) -> None:
    wrong = _not_finite(labels)
    if wrong.any():
        raise ValueError(
            f"{name} holds a missing or infinite label, {first_wrong(labels, wrong)}: drop or "
            "label these items."
        )


def _check_whole_labels(labels: NDArray[Any], wrong: NDArray[np.bool_], name: str) -> None:
    if wrong.any():
        raise ValueError(
            f"{name} must hold class labels; got the continuous value "
            f"{first_wrong(labels, wrong)}: convert it to two classes, for instance y_true > "
            "threshold."
        )


def check_pos_label(pos_label: Any) -> None:
    """Raise an error if pos_label cannot be a label."""
    if not isinstance(pos_label, (*_NUMBERS, str)):
        raise TypeError(
            f"pos_label must be a number, a string or a boolean; got {typed(pos_label)}."
        )


def mark_positives(
    labels: NDArray[Any], pos_label: PosLabel
) -> tuple[NDArray[np.bool_], list[Any]]:
    """Mark the positives, by the rules of scikit-learn's ``average_precision_score``.

    The second returned value is the list of distinct labels.
    """
    check_pos_label(pos_label)
    distinct = distinct_labels(labels)
    check_two_labels(distinct, pos_label)
    # NumPy rounds integers and strips null characters when it compares, Python does not.
    known = pos_label.item() if isinstance(pos_label, np.generic) else pos_label
    label = next((label for label in distinct if label == known), None)
    if label is None:
        return np.zeros(len(labels), dtype=bool), distinct
    _warn_of_the_smaller_label(distinct, pos_label)
    return np.asarray(labels == np.array(label, dtype=labels.dtype), dtype=bool), distinct


def _warn_of_the_smaller_label(distinct: list[Any], pos_label: PosLabel) -> None:
    """Warn about labels such as 1 and 2, where the default makes 1 the positive class."""
    if len(distinct) == 2 and distinct[0] == pos_label == 1:
        other = distinct[1]
        warn_caller(
            f"y_true has the labels 1 and {other!r}, and pos_label=1 makes 1 the positive class: "
            f"pass pos_label={other!r} if {other!r} is the class to be ranked first, or "
            "y_true == 1 if 1 is.",
            UserWarning,
        )


def check_two_labels(distinct: list[Any], pos_label: PosLabel) -> None:
    """Raise an error for more than two labels, or for two labels without pos_label."""
    if len(distinct) > 2:
        raise ValueError(
            f"y_true holds {len(distinct)} different labels ({listed(distinct)}), but must hold "
            "two: call once per class, with y_true == label and the scores of that class "
            "(of the metrics, only 'dcg' and 'ndcg' accept grades of relevance, in metric_test and "
            "over queries)."
        )
    if len(distinct) == 2 and pos_label not in distinct:
        raise ValueError(
            f"pos_label={shown(pos_label)} is not a label of y_true, whose labels are "
            f"{listed(distinct)}: pass one of them as pos_label."
        )


def distinct_labels(labels: NDArray[Any]) -> list[Any]:
    """Return the sorted distinct labels; a set is faster for strings, sorting for numbers."""
    by_hash = labels.dtype.kind in "UO"
    return sorted(set(labels.tolist())) if by_hash else np.unique(labels).tolist()


def read_predictions(
    y_true: ArrayLike, pos_label: PosLabel, **predictions: ArrayLike
) -> list[NDArray[np.bool_]]:
    """Mark the positives of the labels and of each of the predictions, which are passed by name."""
    labels = read_labels(y_true, predictions)
    distinct = sorted(set().union(*(np.unique(values).tolist() for values in labels)))
    if len(distinct) > 2:
        names = ", ".join(repr(label) for label in distinct[:5])
        raise ValueError(
            f"y_true and {' and '.join(predictions)} hold {len(distinct)} different labels "
            f"({names}{', ...' if len(distinct) > 5 else ''}), but must hold two: call once per "
            "class, with y_true == label and the predictions == label."
        )
    positive, _ = mark_positives(np.concatenate(labels), pos_label)
    return np.split(positive, len(labels))


def read_labels(y_true: ArrayLike, predictions: dict[str, ArrayLike]) -> list[NDArray[Any]]:
    """Read labels and predictions of the same length and kind."""
    named = {"y_true": y_true, **predictions}
    labels = [as_labels(values, name) for name, values in named.items()]
    *names, last = named
    listed = f"{', '.join(names)} and {last}"
    if len({values.size for values in labels}) > 1:
        sizes = ", ".join(str(values.size) for values in labels)
        raise ValueError(f"{listed} must have the same length; got lengths {sizes}.")
    kinds = ["strings" if values.dtype.kind in "UO" else "numbers" for values in labels]
    if len(set(kinds)) > 1:
        raise TypeError(
            f"{listed} must hold labels of one kind; got {', '.join(kinds)}: convert all of "
            "them to strings or to numbers."
        )
    return labels


def has_grades(y_true: Any, pos_label: PosLabel) -> bool:
    """Whether labels are numbers of more than two values, or 0 and one that is not `pos_label`."""
    try:
        values = np.asarray(y_true)
    except ValueError:
        return False  # ragged input raises an error when it is read
    if values.dtype == object and not lacks_type(values.ravel(), Real).any():
        values = values.astype(np.float64)
    if values.dtype.kind not in "iuf" or values.ndim > 2 or values.size == 0:
        return False
    distinct = np.unique(values)
    is_one_grade = distinct.size == 2 and distinct[0] == 0 < distinct[1]
    return distinct.size > 2 or (is_one_grade and pos_label == 1 != distinct[1])


def as_relevances(y_true: Any) -> NDArray[np.float64]:
    """Read grades of relevance as finite numbers that are not negative."""
    remedy = "drop such items or give them a grade"
    grades = as_floats(_as_reals(y_true, "y_true", remedy), "y_true")
    wrong = grades < 0.0
    if wrong.any():
        raise ValueError(
            f"y_true as grades of relevance must not be negative; got {first_wrong(grades, wrong)}."
        )
    return grades


def as_scores(
    y_score: Any,
    name: str = "y_score",
    takes_unretrieved: bool = False,
    remedy: str = "drop such items or give them a score",
) -> NDArray[Any]:
    """Read scores as an array of finite real numbers that compare exactly.

    Integers, fractions and decimals that no type of NumPy holds stay objects of Python.
    With `takes_unretrieved` items may have the score -inf.
    """
    return _as_reals(y_score, name, remedy, takes_unretrieved)


def _as_reals(values: Any, name: str, remedy: str, takes_unretrieved: bool = False) -> NDArray[Any]:
    """Read a vector of finite real numbers without rounding them."""
    numbers = _as_vector(values, name)
    is_object = numbers.dtype == object
    if is_object:
        wrong = lacks_type(numbers, _NUMBERS)
        if wrong.any():
            raise ValueError(
                f"{name} must hold numbers without missing values; got "
                f"{first_wrong(numbers, wrong)}."
            )
    elif numbers.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} must hold real numbers; got values of type {numbers.dtype}, such as "
            f"{shown(numbers[:1].tolist()[0])}."
        )
    wrong = _not_finite(numbers)
    if takes_unretrieved:
        wrong &= np.asarray(numbers != -math.inf, dtype=bool)
    if wrong.any():
        raise ValueError(f"{name} must be finite; got {first_wrong(numbers, wrong)}: {remedy}.")
    return as_exact_numbers(numbers.tolist()) if is_object else numbers


def _not_finite(numbers: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the missing and infinite numbers, also of objects."""
    if numbers.dtype != object:
        return np.asarray(~np.isfinite(numbers))
    return np.fromiter((_is_not_finite(number) for number in numbers), bool, len(numbers))


def _is_not_finite(number: Any) -> bool:
    if isinstance(number, Decimal):
        return not number.is_finite()
    # Fractions and integers are finite, but some are too large for a float.
    return not isinstance(number, Rational | np.bool_) and not math.isfinite(number)


def as_floats(numbers: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Round numbers to floats where their values are needed and not only their order."""
    try:
        return numbers.astype(np.float64)
    except OverflowError:
        raise ValueError(
            f"{name} has an integer that is too large for a floating-point number: divide all of "
            "them by a common factor."
        ) from None


def as_weights(sample_weight: ArrayLike, n_samples: int) -> NDArray[np.float64] | None:
    """Read sample weights relative to the largest one; None if all weights are equal."""
    weights = _as_reals(sample_weight, "sample_weight", "drop such items or give them a weight")
    if len(weights) != n_samples:
        raise ValueError(
            "sample_weight must have one weight per item; got "
            f"{len(weights)} weights and {n_samples} items."
        )
    weights = as_floats(weights, "sample_weight")
    wrong = weights < 0.0
    if wrong.any():
        raise ValueError(f"sample_weight must not be negative; got {first_wrong(weights, wrong)}.")
    if not weights.any():
        raise ValueError(
            f"sample_weight is 0 for all {n_samples} items: at least one weight must be positive."
        )
    # Only ratios of weights matter, and sums of ratios do not overflow.
    return None if np.all(weights == weights[0]) else weights / weights.max()


def check_lengths(n_labels: int, n_scores: int, name: str = "y_score") -> None:
    """Raise an error for labels and scores of different lengths."""
    if n_labels != n_scores:
        raise ValueError(
            f"y_true and {name} must have the same length; got {n_labels} labels and "
            f"{n_scores} scores."
        )


def _as_vector(values: Any, name: str) -> NDArray[Any]:
    """Read a container as a non-empty 1-D array; a single column counts as one."""
    values = as_numpy(values, name)
    if type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in "biuf":
        # Plain arrays of real numbers need none of the conversions of scikit-learn.
        if values.size == 0:
            raise ValueError(_empty(name))
        return values
    if np.ma.is_masked(values):
        raise ValueError(f"{name} holds masked values: drop them, for instance with compressed().")
    try:
        array = check_array(
            _without_rounding(values),
            dtype=None,
            ensure_2d=False,
            allow_nd=True,
            ensure_all_finite=False,
            ensure_min_samples=0,
            ensure_min_features=0,
        )
    except ValueError as error:
        raise ValueError(f"{name} cannot be read as a one-dimensional array: {error}") from error
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(not_one_dimensional(values, array, name))
    if array.size == 0:
        raise ValueError(_empty(name))
    return np.asarray(array)


def _without_rounding(values: Any) -> Any:
    """Convert a container in which check_array would round large integers to floats."""
    if hasattr(values, "__array__"):
        return np.asarray(values)
    if isinstance(values, list | tuple):
        array = np.asarray(values)
        if array.dtype.kind != "f":
            return array
        # NumPy makes floats of integers and floats in one list.
        return np.array(values, dtype=object) if np.any(abs(array) >= LARGEST_WHOLE) else array
    return values


def _empty(name: str) -> str:
    """Message for a container without entries."""
    return f"{name} is empty: at least one item is needed."


def not_one_dimensional(values: Any, array: NDArray[Any], name: str) -> str:
    """Message for values that are not one-dimensional, with the remedy."""
    if array.ndim == 0:
        return f"{name} must be a one-dimensional array-like; got {typed(values)}."
    remedy = {
        "y_true": "if items have several labels, call once per class, with one column of y_true",
        "y_score": (
            "pass the scores of the positive class, "
            "predict_proba(X)[:, list(model.classes_).index(pos_label)]"
        ),
        "sample_weight": "pass one weight per item",
    }.get(name.removesuffix("_a").removesuffix("_b"), "pass one count per block")
    return f"{name} must be one-dimensional; got shape {array.shape}: {remedy}."


def shown(value: Any) -> str:
    """The representation of a value in a message, shortened."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write out integers of thousands of digits
        return f"a number of type {type(value).__name__} with thousands of digits"
    return text if len(text) <= _N_CHARACTERS else f"{text[: _N_CHARACTERS - 3]}..."


def typed(value: Any) -> str:
    """A value of the wrong type in a message."""
    return f"{shown(value)} of type {type(value).__name__}"


def first_wrong(values: NDArray[Any], wrong: NDArray[np.bool_]) -> str:
    """Describe the first wrong value and its position."""
    position = int(np.flatnonzero(wrong)[0])
    return f"{shown(values[position : position + 1].tolist()[0])} at position {position}"


def lacks_type(values: NDArray[Any], types: Any) -> NDArray[np.bool_]:
    return np.fromiter((not isinstance(value, types) for value in values), bool, len(values))


def listed(values: list[Any]) -> str:
    listed = ", ".join(map(shown, values[:_N_SHOWN]))
    return listed + (", ..." if len(values) > _N_SHOWN else "")


def as_counts(values: Any, name: str) -> NDArray[np.int64]:
    """Copy integer counts into an int64 array."""
    values = as_numpy(values, name)
    # Nullable integers would come out of scikit-learn's conversion as floats.
    counts = _as_vector(np.asanyarray(values) if hasattr(values, "dtype") else values, name)
    if counts.dtype == object:
        wrong = lacks_type(counts, (int, np.integer))
        if wrong.any():
            raise TypeError(f"{name} must hold integers; got {first_wrong(counts, wrong)}.")
    elif counts.dtype.kind not in "biu":
        raise TypeError(
            f"{name} must hold integers; got values of type {counts.dtype}, such as "
            f"{shown(counts[:1].tolist()[0])}: convert them with astype(int)."
        )
    too_large = counts > LARGEST_COUNT
    if counts.dtype != np.int64 and too_large.any():
        raise ValueError(f"{name} must be at most 2**62; got {first_wrong(counts, too_large)}.")
    counts = np.array(counts, dtype=np.int64)
    total = counts.sum(dtype=float)
    if total > LARGEST_COUNT:
        raise ValueError(f"{name} must add up to at most 2**62; they add up to {total:.4g}.")
    return counts


def numbered(
    entries: Any, name: str, what: str, n_samples: int
) -> tuple[NDArray[np.int64], list[Any]]:
    """Number the units of the items, such as clusters, in order of appearance, and list them.

    Units may be any hashable values; `what` is the name of a unit in messages.
    """
    entries = as_numpy(entries, name)
    values = _listed_in_parts(entries) if isinstance(entries, np.ndarray) else entries
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must hold the {what} of each item; got {typed(entries)}.")
    numbers: dict[Any, int] = {}
    codes = array("q")
    for row, value in enumerate(values):
        n_known = len(numbers)
        try:
            codes.append(numbers.setdefault(value, n_known))
        except TypeError as error:
            raise TypeError(
                f"{name} must be hashable; got {typed(value)} in row "
                f"{row}: use a tuple or a string."
            ) from error
        if len(numbers) == n_known:
            continue
        if hasattr(value, "__dlpack_device__") and not isinstance(value, np.generic):
            raise TypeError(
                f"{name} holds objects of type {type(value).__name__}, which are never equal as "
                f"names: pass one array or tensor, or call .item() for the {what} of each item."
            )
        if _is_missing(value):
            raise ValueError(
                f"{name} lacks a {what} in row {row}, where it is {shown(value)}: pass a {what} "
                "for every item, or leave the item out."
            )
    if len(codes) != n_samples:
        raise ValueError(
            f"{name} must contain the {what} of each of the {n_samples} items; it has "
            f"{len(codes)} entries."
        )
    return np.frombuffer(codes, dtype=np.int64), list(numbers)


def _listed_in_parts(entries: NDArray[Any]) -> Any:
    """The entries as Python objects, which take several times the memory of an array."""
    if entries.ndim != 1:
        return entries.tolist()
    parts = range(0, entries.size, _LISTED_AT_ONCE)
    return chain.from_iterable(entries[i : i + _LISTED_AT_ONCE].tolist() for i in parts)


def _is_missing(value: Any) -> bool:
    """Whether a value is None, nan or a missing value of pandas."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True  # pandas.NA


# Arrays of numbers that compare exactly, whatever their types are, and their order.


def as_exact_numbers(numbers: Sequence[Any]) -> NDArray[Any]:
    """Finite numbers as an array of integers or floats if it holds all of them without rounding.

    Otherwise the array has the type object, and its numbers compare as they do in Python.
    """
    values = [_plain(number) for number in numbers]
    if values and all(isinstance(value, int) for value in values):
        least, largest = min(values), max(values)
        for dtype in (np.int64, np.uint64):
            if np.iinfo(dtype).min <= least and largest <= np.iinfo(dtype).max:
                return np.array(values, dtype=dtype)
        return _objects(values)
    try:
        floats = [float(value) for value in values]
    except OverflowError:
        floats = []
    # Python compares numbers of different types without rounding.
    if len(floats) == len(values) and all(a == b for a, b in zip(floats, values, strict=True)):
        return np.array(floats)
    if {Decimal, Fraction} <= {*map(type, values)}:
        # These two types are the only ones that Python does not compare.
        values = [Fraction(value) if isinstance(value, Decimal) else value for value in values]
    return _objects(values)


def joined(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate arrays of numbers; different types are not rounded to a common one."""
    if len({array.dtype for array in arrays}) == 1 and arrays[0].dtype != object:
        return np.concatenate(arrays)
    return as_exact_numbers([number for array in arrays for number in array.tolist()])


def _plain(number: Any) -> Any:
    """A number of NumPy as one of Python with the same value."""
    if isinstance(number, np.longdouble):
        return Fraction(*number.as_integer_ratio())
    return number.item() if isinstance(number, np.generic) else number


def _objects(values: list[Any]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def rank_order(scores: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order the scores, best first, and count the items with each value."""
    # The order within a block is arbitrary: the fastest ascending sort, reversed, is sufficient.
    order = np.argsort(scores)[::-1]
    ordered = scores[order]
    changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    edges = np.concatenate([[0], changes, [len(scores)]])
    return order, edges[1:] - edges[:-1]


def block_of_each(scores: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the block of equal scores of each item, 0 for the best, and the block sizes."""
    order, tie_sizes = rank_order(scores)
    places = np.empty(order.size, dtype=np.int64)
    places[order] = np.repeat(np.arange(tie_sizes.size), tie_sizes)
    return places, tie_sizes


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn with the location of the calling line outside this package."""
    package = __name__.partition(".")[0]
    frame, level = currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def no_positives(what: str, value: str) -> str:
    """Text of the warning about labels without positives."""
    return f"{what} is undefined without positives in y_true and is set to {value}."


def one_class_sentence(n_samples: int, n_positives: int) -> str:
    """Return the sentence for items of a single class."""
    which = "no positives" if n_positives == 0 else "only positives"
    return f"There are {which} among {n_samples} items: every ranking is the same."
