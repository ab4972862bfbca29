"""Validation of numbers and options: each reader returns Python's own type, to compute with."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from sklearn_rankinf._ranking.validation import LARGEST_COUNT, as_counts, lacks_type, shown, typed

# The complement of a confidence level needs some digits, also when it is split among pairs.
_HIGHEST_LEVEL = 1.0 - 1e-12


def _number(value: Any) -> str:
    """A number of the right type in a message, without the name of its type."""
    return shown(value) if type(value) in (int, float) else shown(str(value)).strip("'")


def check_integer(value: Any, name: str, least: int) -> int:
    """Read an integer with a lower bound."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer; got {typed(value)}.")
    number = int(value)
    if number < least:
        raise ValueError(f"{name} must be at least {least}; got {shown(number)}.")
    return number


def check_count(value: Any, name: str, least: int) -> int:
    """Read a number of things that are counted in arrays of 64-bit integers."""
    number = check_integer(value, name, least)
    if number > LARGEST_COUNT:
        raise ValueError(f"{name} must be at most 2**62; got {shown(number)}.")
    return number


def check_n_jobs(n_jobs: Any) -> int | None:
    """Read a number of jobs: None, a positive number, or a negative one as in joblib."""
    if n_jobs is None:
        return None
    number = check_integer(n_jobs, "n_jobs", -LARGEST_COUNT)
    if number == 0:
        raise ValueError(
            "n_jobs=0 has no meaning: pass the number of jobs, -1 for all processors, or None for "
            "one."
        )
    return number


def check_verbose(verbose: Any) -> int:
    """Read a level of verbosity, which may be a bool."""
    return int(verbose) if isinstance(verbose, bool) else check_integer(verbose, "verbose", 0)


def check_option(value: Any, name: str, options: Iterable[Any], what: str = "") -> Any:
    """Read one of the options; `what` names their purpose."""
    known = list(options)
    for option in known:
        if isinstance(value, type(option)) and value == option:
            return option
    listed = ", ".join(map(repr, known))
    raise ValueError(f"{name} must be one of {listed}{what}; got {shown(value)}.")


def check_alternative(alternative: Any) -> str:
    return str(check_option(alternative, "alternative", ("greater", "less", "two-sided")))


def check_k(k: Any, name: str = "k") -> float:
    """Read a cut-off: a number of items as an int, or a fraction of them as a float."""
    if isinstance(k, bool) or not isinstance(k, Real | Decimal):
        raise TypeError(f"{name} must be an int or a float; got {typed(k)}.")
    if isinstance(k, Integral):
        if k < 1:
            raise ValueError(f"{name} must be at least 1 as a number of items; got {_number(k)}.")
        return int(k)
    fraction = check_real(k, name)
    if not 0.0 < fraction < 1.0:
        raise ValueError(
            f"{name} as a float is a fraction of the items between 0 and 1, exclusive; got "
            f"{_number(k)}. Pass an int to count items."
        )
    return fraction


def resolve_k(k: Any, n_samples: int, name: str = "k") -> int:
    """Cut-off rank: an int from 1 to n, or a fraction of n in (0, 1), rounded up."""
    cut = check_k(k, name)
    if isinstance(cut, int):
        if cut > n_samples:
            raise ValueError(
                f"{name} must be between 1 and n_samples={n_samples}; got {shown(cut)}."
            )
        return cut
    # A fraction of n that is a whole number up to rounding errors is rounded to it.
    return max(1, math.ceil(cut * n_samples - 1e-9))


def check_counts(n_samples: Any, n_positives: Any) -> tuple[int, int]:
    """Read a number of items and of positives among them."""
    n, m = check_count(n_samples, "n_samples", 1), check_integer(n_positives, "n_positives", 0)
    if m > n:
        raise ValueError(f"n_positives must be between 0 and n_samples={n}; got {shown(m)}.")
    return n, m


def check_tie_sizes(tie_sizes: ArrayLike | None, n_samples: int) -> NDArray[np.int64] | None:
    """Return the sizes as integers, or None if every block has a single item."""
    if tie_sizes is None:
        return None
    sizes = as_counts(tie_sizes, "tie_sizes")
    if sizes.min() < 1:
        raise ValueError(f"tie_sizes must be at least 1; got {int(sizes.min())}.")
    total = int(sizes.sum())
    if total != n_samples:
        raise ValueError(f"tie_sizes must add up to n_samples={n_samples}; they add up to {total}.")
    if sizes.max() == 1:
        return None
    sizes.flags.writeable = False
    return sizes


def as_shape(size: Any) -> tuple[int, ...]:
    """Shape of an array of random draws."""
    parts = size if isinstance(size, tuple | list) else (size,)
    whole = [isinstance(part, Integral) and not isinstance(part, bool) for part in parts]
    if not all(whole) or any(part < 0 for part in parts):
        raise ValueError(
            f"size must be an int of at least 0 or a tuple of them; got {shown(size)}."
        )
    return tuple(int(part) for part in parts)


def as_seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return the seeds of the random streams; a generator is drawn from immediately."""
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**32, size=4).tolist())
    if isinstance(random_state, int | np.integer):
        return np.random.SeedSequence(check_integer(random_state, "random_state", 0))
    try:
        generator = check_random_state(random_state)
    except ValueError:
        raise ValueError(
            "random_state must be an int, a RandomState, a Generator or None; got "
            f"{typed(random_state)}."
        ) from None
    return np.random.SeedSequence(generator.randint(2**31 - 1, size=4).tolist())


def check_no_closed_form(method: Any, what: str) -> str:
    """Read the method of a statistic that has only permutation."""
    if not isinstance(method, str) or method not in ("auto", "permutation"):
        raise ValueError(
            f"method={shown(method)} is not available for {what}, which has no null distribution "
            "in closed form: use method='permutation' or method='auto'."
        )
    return str(method)


def check_real(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        raise TypeError(f"{name} must be a number; got {typed(value)}.")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is too large for a float; got {_number(value)}.") from None
    except ValueError:  # a signaling nan of the module decimal
        return math.nan


def check_between(value: Any, name: str) -> float:
    """Read a number between 0 and 1."""
    number = check_real(value, name)
    if not 0.0 < number < 1.0:
        raise ValueError(f"{name} must lie between 0 and 1, exclusive; got {_number(value)}.")
    return number


def check_positive(value: Any, name: str) -> float:
    number = check_real(value, name)
    if not 0.0 < number < math.inf:
        raise ValueError(f"{name} must be finite and larger than 0; got {_number(value)}.")
    return number


def check_confidence_level(confidence_level: Any) -> float:
    """Read a confidence level, a number between 0 and 1."""
    level = check_between(confidence_level, "confidence_level")
    if not level <= _HIGHEST_LEVEL:
        raise ValueError(
            f"confidence_level={level} is too near to 1 for floating point numbers: pass at most "
            "1 - 1e-12."
        )
    return level


def resolve_each_k(k: Any, n_samples: int) -> int | NDArray[np.int64]:
    """Cut-off ranks from ints and fractions: an int for a scalar, else an array."""
    try:
        n_dimensions = np.ndim(k)
    except ValueError:
        raise ValueError(
            f"k must be a number or an array with rows of equal length; got {shown(k)}."
        ) from None
    if n_dimensions == 0:
        return resolve_k(k[()] if isinstance(k, np.ndarray) else k, n_samples)
    cuts = np.asarray(k)
    if cuts.size == 0:
        raise ValueError("k is empty: pass at least one number of items.")
    if cuts.dtype.kind not in "iu" or not hasattr(k, "dtype"):
        # Lists may mix numbers of items and fractions, or contain True, which is an error.
        mixed = np.array(k, dtype=object)
        resolved = [resolve_k(cut, n_samples) for cut in mixed.ravel().tolist()]
        return np.array(resolved, dtype=np.int64).reshape(mixed.shape)
    for wrong in (cuts.min(), cuts.max()):
        resolve_k(int(wrong), n_samples)
    return cuts.astype(np.int64)


def check_average(average: Any) -> str | None:
    if isinstance(average, str) and average == "samples":
        raise ValueError(
            "average='samples' ranks the classes within each item and can't be tested by permuting "
            "the labels of the items: use 'macro', 'weighted', 'micro' or None."
        )
    found = check_option(average, "average", (None, "macro", "weighted", "micro"))
    return None if found is None else str(found)


def as_numbers(values: Any, name: str) -> NDArray[np.float64]:
    """Read one number or an array of numbers, nan included, as floats."""
    if type(values) is float or (isinstance(values, np.ndarray) and values.dtype == np.float64):
        return np.asarray(values)
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must have rows of equal length; got {shown(values)}.") from None
    if array.dtype == object:
        wrong = lacks_type(array.ravel(), Real | Decimal)
        if not wrong.any():
            return array.astype(float)
    elif array.dtype.kind in "biuf" or array.size == 0:
        return array.astype(float)
    raise TypeError(f"{name} must hold real numbers; got {typed(values)}.")


def check_levels(alpha: Any) -> NDArray[np.float64]:
    """Read one or more significance levels as floats."""
    try:
        levels = as_numbers(alpha, "alpha")
        is_wrong = np.asarray(alpha).dtype == bool
    except (TypeError, ValueError):
        is_wrong = True
    if is_wrong:
        raise TypeError(f"alpha must be a float or an array of floats; got {shown(alpha)}.")
    if not np.all((levels > 0.0) & (levels < 1.0)):
        raise ValueError(f"alpha must lie between 0 and 1, exclusive; got {shown(alpha)}.")
    return levels
