"""Labels permuted within strata, between whole clusters, or along a series."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.parallel import Parallel, delayed

from sklearn_rankinf._frozen_distributions import PermutationDistribution, permutation_distribution
from sklearn_rankinf._ranking import (
    Ranking,
    Sample,
    as_scores,
    block_of_each,
    check_integer,
    numbered,
)
from sklearn_rankinf._sampling.exchange import AnyExchange, Exchange, Shifts
from sklearn_rankinf._sampling.labellings import PermutationSampler
from sklearn_rankinf._statistics.increments import Floats, Integers

RESTRICTED = "permutation within strata, of whole clusters or along a series"
# Fewer possible labellings than these cause a warning; shifts never outnumber the samples.
_FEW_LABELLINGS, _FEW_SHIFTS = 1000, 100


class DesignWarning(UserWarning):
    """A warning about few labellings, or about weights that depend on labels or scores."""


def exchange_of(sample: Sample) -> AnyExchange | None:
    """Which labels can be exchanged; None if all of them can."""
    found = sample.design.exchangeable(sample.labels)
    if found is None:
        return None
    strata, units, positions, unit_name = found
    if units is None:
        assert positions is not None
        return Shifts(strata, positions)
    return Exchange(strata, units, positions, unit_name)


class ArrangementSampler(PermutationSampler, Protocol):
    """Sampler of a statistic of rearranged labels, which can be listed if they are few enough."""

    @property
    def n_listed(self) -> int | None:
        """Number of arrangements, or None if they cannot be listed."""

    def listed(self, first: int, last: int) -> Floats:
        """Values of the arrangements with numbers from `first` to `last`, `last` excluded."""


class ListedPermutationDistribution(PermutationDistribution):
    """Frozen null distribution over all arrangements of the labels, which are equally likely.

    It has the methods of every null distribution, all of them exact, without random labellings.

    See Also
    --------
    sklearn_rankinf.average_precision_test : Test whose result contains such a distribution if
        `order` is given.

    Examples
    --------
    >>> from sklearn_rankinf import average_precision_test
    >>> y_true, y_score = [1] * 20 + [0] * 180, range(200, 0, -1)
    >>> result = average_precision_test(y_true, list(y_score), order=range(200))
    >>> round(result.pvalue * 200, 9), round(result.null_distribution.support()[1], 9)
    (1.0, 1.0)
    """

    _permuted: ArrangementSampler

    def _permutation_sample(self) -> Floats:
        sizes = self._permuted.chunks(self._n_permutations)
        ends = np.cumsum(sizes).tolist()
        values: list[Floats] = Parallel(n_jobs=self._n_jobs, verbose=self._verbose)(
            delayed(_list_values)(self._permuted, end - size, end)
            for size, end in zip(sizes, ends, strict=True)
        )
        return np.concatenate(values)

    @property
    def _counts_resamples(self) -> bool:
        return False


def _list_values(sampler: ArrangementSampler, first: int, last: int) -> Floats:
    return sampler.listed(first, last)


def distribution_of_arrangements(
    permuted: ArrangementSampler,
    statistic: Any,
    n_samples: int,
    n_positives: Any,
    tie_sizes: Integers | None,
    *,
    n_permutations: int,
    random_state: Any,
    n_jobs: int | None,
    verbose: int = 0,
    rounding: float = 0.0,
) -> PermutationDistribution:
    """Distribution of all arrangements if they can be listed and number at most `n_permutations`.

    Otherwise the distribution of `n_permutations` random ones. Values that differ by less than
    `rounding` count as equal.
    """
    n_listed = permuted.n_listed
    null = permutation_distribution(
        permuted,
        statistic,
        n_samples,
        n_positives,
        tie_sizes,
        n_permutations=n_permutations,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
        rounding=rounding,
    )
    if n_listed is None or n_listed > n_permutations:
        return null
    return ListedPermutationDistribution(
        permuted,
        statistic,
        n_samples,
        n_positives,
        tie_sizes,
        n_listed,
        null._seeds,
        n_jobs,
        verbose,
        rounding,
    )


def check_has_rows(y_true: Any, y_score: Any, name: str) -> None:
    """Raise an error for a ranking if values for each sample are given."""
    if isinstance(y_true, Ranking) or y_score is None:
        raise TypeError(
            f"{name} needs y_true and y_score, because a Ranking contains counts and does not "
            f"identify the samples; got y_true of type {type(y_true).__name__} and y_score of "
            f"type {type(y_score).__name__}."
        )


@dataclass(frozen=True, eq=False)
class Restrictions:
    """Restrictions on the permutation of labels, as passed to a test.

    Attributes
    ----------
    strata, clusters, order : array-like of shape (n_samples,) or None
        Stratum, cluster and time or position of each sample.
    block_length : int or None
        Number of consecutive samples that are permuted as a block; None for shifts.
    """

    strata: Iterable[Hashable] | None = None
    clusters: Iterable[Hashable] | None = None
    order: Iterable[Any] | None = None
    block_length: int | None = None

    def __post_init__(self) -> None:
        if self.block_length is not None:
            length = check_integer(self.block_length, "block_length", 1)
            object.__setattr__(self, "block_length", length)
            if self.order is None:
                raise ValueError(
                    f"block_length={self.block_length} needs order, the time or position of each "
                    "sample, to form blocks of consecutive samples; pass order."
                )
        if self.order is not None and self.clusters is not None:
            raise ValueError(
                "order and clusters cannot be combined: labels are either shifted along a series "
                "or exchanged between clusters; omit one of them (pass several series as strata)."
            )

    @property
    def given(self) -> list[str]:
        """Names of the arguments that are given for each sample."""
        return [name for name in ("strata", "clusters", "order") if getattr(self, name) is not None]

    @property
    def are_none(self) -> bool:
        """Whether all labels can be exchanged."""
        return not self.given

    def exchange(self, labels: NDArray[Any]) -> AnyExchange | None:
        """Which labels, one row per sample, can be exchanged; None if all of them can."""
        if self.are_none:
            return None
        n_samples = len(labels)
        strata = np.zeros(n_samples, dtype=np.int64)
        if self.strata is not None:
            strata, _ = numbered(self.strata, "strata", "stratum", n_samples)
        if self.order is not None:
            return self._along_series(strata)
        clusters = np.arange(n_samples)
        if self.clusters is not None:
            clusters, names = numbered(self.clusters, "clusters", "cluster", n_samples)
            check_clusters(clusters, names, strata, labels)
        return Exchange(strata, clusters)

    def _along_series(self, strata: Integers) -> AnyExchange:
        positions = _as_positions(self.order, strata, self.strata is not None)
        if self.block_length is None:
            return Shifts(strata, positions)
        lengths = np.bincount(strata)
        if 2 * self.block_length > lengths.max():
            raise ValueError(
                f"block_length={self.block_length} leaves no two blocks to exchange in series of "
                f"at most {lengths.max()} samples: it must be at most "
                f"{lengths.max() // 2}."
            )
        starts = np.cumsum(lengths) - lengths
        in_order = np.lexsort((positions, strata))
        places = np.arange(strata.size) - starts[strata[in_order]]
        first_block = np.cumsum(-(-lengths // self.block_length))
        first_block = np.r_[0, first_block[:-1]]
        blocks = np.empty_like(strata)
        blocks[in_order] = first_block[strata[in_order]] + places // self.block_length
        return Exchange(strata, blocks, positions, unit_name="blocks")


def check_clusters(
    clusters: Integers, names: list[Any], strata: Integers, labels: NDArray[Any]
) -> None:
    """Raise an error for clusters whose samples have different labels or strata."""
    differs = _differs_within(clusters, labels)
    if differs is not None:
        raise ValueError(
            f"The labels in cluster {names[differs]!r} differ, but the labels of whole clusters "
            "are permuted; if labels differ within clusters, pass the clusters as strata, so that "
            "labels are permuted within them, which tests another hypothesis. metric_interval and "
            "metric_comparison_test accept clusters with different labels."
        )
    differs = _differs_within(clusters, strata[:, None])
    if differs is not None:
        raise ValueError(
            f"Cluster {names[differs]!r} lies in several strata, but a cluster must lie in one; "
            "omit strata or clusters, or split the cluster."
        )


def _differs_within(codes: Integers, rows: NDArray[Any]) -> int | None:
    """First cluster whose rows are not all equal; None if there is no such cluster."""
    first = np.empty(int(codes.max()) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(codes.size)[::-1]
    differs = np.any(rows != rows[first[codes]], axis=1)
    return int(codes[np.argmax(differs)]) if differs.any() else None


def _as_positions(order: Any, strata: Integers, has_strata: bool) -> Integers:
    """Number the times or positions of samples in ascending order."""
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise TypeError(
            "order must contain the time or position of each sample; got "
            f"{order!r} of type {type(order).__name__}."
        )
    times = np.asarray(order if hasattr(order, "__array__") else list(order))
    if times.ndim == 2 and times.shape[1] == 1:
        times = times[:, 0]
    if times.shape != strata.shape:
        raise ValueError(
            f"order must contain the time or position of each of the {strata.size} samples; got an "
            f"array of shape {times.shape}."
        )
    if times.dtype.kind not in "iufMmO":
        raise TypeError(
            f"order must contain numbers or times, which can be sorted; got values of type "
            f"{times.dtype}, such as {times[:1].tolist()[0]!r}."
        )
    # A missing value differs from itself, and None or pandas.NA cannot be compared.
    try:
        missing = np.asarray(times != times, dtype=bool)
        distinct, positions = np.unique(times, return_inverse=True)
    except TypeError as error:
        raise TypeError(
            f"order must contain numbers or times without missing values: {error}."
        ) from error
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(f"order is missing in row {row}; omit samples without order.")
    in_order = np.lexsort((positions, strata))
    same = (np.diff(positions[in_order]) == 0) & (np.diff(strata[in_order]) == 0)
    if same.any():
        at = int(np.argmax(same))
        first, second = sorted(in_order[at : at + 2].tolist())
        where = "within a stratum" if has_strata else "unless strata separate several series"
        raise ValueError(
            f"order must be different for all samples {where}; rows {first} and {second} both have "
            f"{distinct[positions[first]]!s}."
        )
    return np.asarray(positions, dtype=np.int64)


def score_strata(y_score: ArrayLike, *, n_per_stratum: int = 5) -> Integers:
    """Group samples with neighbouring scores into strata.

    The scores are those of an existing model, the incumbent. Passed as ``strata=`` to the test of a
    new score of the same samples, the strata make it a test of added value: whether the new score
    ranks the positives higher among samples with nearly the same incumbent score.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        The incumbent's scores.
    n_per_stratum : int, default=5
        Number of samples in each stratum. Equal scores are always in the same stratum, so some
        strata may be larger.

    Returns
    -------
    strata : ndarray of int of shape (n_samples,)
        Number of the stratum of each sample, 0 for the lowest scores.

    Raises
    ------
    TypeError
        If the scores are not numbers, or `n_per_stratum` is not an integer.
    ValueError
        If a score is missing, or there are too few samples for two strata.

    See Also
    --------
    metric_test : A test with the parameter `strata`.
    average_precision_test : The same test of average precision.

    Notes
    -----
    Strata must be small. Within a wide stratum, such as a tenth of all samples, the incumbent still
    ranks the positives, and so does any score related to the incumbent. In a simulation with 100
    positives among 1000 and log odds of 1.5 times the incumbent, the incumbent plus normal noise
    with a standard deviation of 0.3 was significant at 5 percent in 94 percent of data sets with
    tenths, 8 percent with strata of ten and 5.5 percent with strata of five; with noise of 0.1 in
    6.5 percent with strata of five and 5.2 percent with pairs. Narrower strata compare fewer pairs
    of samples: a variable with log odds of 0.5 was detected in 99, 97 and 88 percent of data sets
    with strata of ten, five and two.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rankinf import average_precision_test, score_strata
    >>> rng = np.random.default_rng(0)
    >>> incumbent, other = rng.normal(size=(2, 1000))
    >>> y_true = incumbent + other + rng.normal(size=1000) > 2.5
    >>> strata = score_strata(incumbent)
    >>> for score in (incumbent + 0.3 * rng.normal(size=1000), incumbent + other):
    ...     print(f"p = {average_precision_test(y_true, score, strata=strata).pvalue:.4f}")
    p = 0.7897
    p = 0.0001
    """
    scores = as_scores(y_score)
    size = check_integer(n_per_stratum, "n_per_stratum", 2)
    if scores.size < 2 * size:
        raise ValueError(
            f"n_per_stratum={size} leaves a single stratum of {scores.size} samples: it must be at "
            "most half of the number of samples."
        )
    places, tie_sizes = block_of_each(scores)
    first_of_equals = (scores.size - np.cumsum(tie_sizes))[places]
    return np.asarray(first_of_equals * (scores.size // size) // scores.size)


def few_labellings_warning(
    exchange: AnyExchange,
    labels: NDArray[Any],
    weights: Floats | None = None,
    what: str | None = None,
) -> str | None:
    """Text of a warning if few different labellings remain, otherwise None.

    Weights are given if they move with the labels; `what` names the restriction.
    """
    rows = labels if weights is None else np.column_stack([labels, weights])
    if rows.shape[1] == 1 and rows.dtype.kind != "f":
        kinds = rows[:, 0].astype(np.int64)
    else:
        kinds = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    log_number = exchange.log_n_arrangements(kinds)
    if log_number >= math.log(_FEW_SHIFTS if isinstance(exchange, Shifts) else _FEW_LABELLINGS):
        return None
    number, n_fixed = round(math.exp(log_number)), exchange.n_fixed(kinds)
    found = f"{number} different labellings" if number > 1 else "no labelling but the observed one"
    text = f"leave {found}, so that no p-value can be below {1 / number:.2g}"
    if what is not None:
        return f"{what} {text}."
    text = f"{_restrictions(exchange)} {text}"
    if not n_fixed:
        return f"{text}."
    return (
        f"{text}: {n_fixed} of {exchange.n_items} samples keep their label, because all others "
        f"{_companions(exchange)} have the same label."
    )


def _restrictions(exchange: AnyExchange) -> str:
    """The restrictions on the labellings, in words."""
    if isinstance(exchange, Shifts):
        return "Circular shifts"
    names = ["strata"] if exchange.n_strata > 1 else []
    names += [exchange.unit_name] if exchange.n_units < exchange.n_items else []
    return " and ".join(names) or "So few samples"


def _companions(exchange: AnyExchange) -> str:
    """Where the samples are with which a sample can exchange its label, in words."""
    if isinstance(exchange, Shifts):
        return "in their series"
    where = []
    if exchange.n_units < exchange.n_items:
        where.append(f"in {exchange.unit_name} of the same size")
    where += ["in their stratum"] if exchange.n_strata > 1 else []
    return " ".join(where)
